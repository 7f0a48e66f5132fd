"""Log-densities of rows under normal distributions with any covariance."""

import numpy as np
import numpy.typing as npt

from naively.kernels.native import add_distances, projections, unpack
from naively.kernels.sizes import TILE

__all__ = ["add_distances", "pack", "packed_size", "projections", "unpack"]

Float64 = npt.NDArray[np.float64]


def packed_size(features: int) -> int:
    """The room that a packed lower triangular matrix takes."""
    return sum(min(features, first + TILE) * TILE for first in range(0, features, TILE))


def pack(A: Float64, packed: Float64) -> None:
    """Write a matrix by bands of eight rows, column after column; the last is padded by zeros.

    If A is lower triangular, which the room in `packed` tells, only the columns up to a band's
    last row are written.
    """
    rows, columns = A.shape
    triangular = rows == columns and packed.size == packed_size(rows)
    at = 0
    for first in range(0, rows, TILE):
        width = min(columns, first + TILE) if triangular else columns
        band = np.zeros((width, TILE))
        own = A[first : first + TILE, :width]
        band[:, : len(own)] = own.T
        packed[at : at + band.size] = band.ravel()
        at += band.size
