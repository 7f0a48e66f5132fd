"""Weights of columns that are looked up, where there are millions and rows have a few of them."""

from __future__ import annotations

import math
from threading import Lock

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Float64, Int64
from naively.families.linear import LinearParameters, aligned_zeros
from naively.kernels import linear as kernel
from naively.kernels.simd import LANES

Ids = npt.NDArray[np.int32]

ROOM = 256  # different columns that there is room for at first
NONE = np.empty(0)


class LookedUp:
    """The weights of columns, each computed when a row that has it is first scored.

    Columns with the same sums have the same weights, which are kept once: most terms were met
    once or twice, all of these in the same class are one, and so the weights stay in the cache.
    Several threads may score at once.

    Parameters
    ----------
    inner : parameters whose weights depend on the sums of a column alone, all of them finite, and
        that add nothing for a value of 0.
    sums : (C, d) ExactArray

    Attributes
    ----------
    weight : (r, C or a few more) the weights of the columns that differ.
    """

    def __init__(self, inner: LinearParameters, sums: ExactArray) -> None:
        self.inner = inner
        self.sums = sums.limbs
        self.width = -(-inner.n_classes // LANES) * LANES
        self.base = np.zeros(self.width)
        self.places = np.zeros(inner.n_features, np.int32)
        self.weight = aligned_zeros((ROOM, self.width))
        self._slots = np.zeros(2 * ROOM, np.int32)
        self._known = np.zeros((ROOM, len(self.sums) * self.sums.shape[2]), np.int64)
        self._first = np.zeros(ROOM, np.int32)
        self._count = np.zeros(1, np.int64)
        self._weighed = 0
        self._lock = Lock()

    def score(self, data: Float64, indices: Ids, indptr: Int64, out: Float64) -> None:
        """The scores of CSR rows of finite values, into `out`; `indices` are lost."""
        if not kernel.places_of(indices, self.places, indices):
            with self._lock:
                self._look_up(indices)
        kernel.linear_sparse(
            data, indices, indptr, 0, len(indptr) - 1, self.weight.reshape(-1), NONE, self.width,
            self.base, math.nan, out,
        )  # fmt: skip

    def _look_up(self, indices: Ids) -> None:
        """Replace columns, which are -1 - the column where they are new, by their places."""
        new = np.flatnonzero(indices < 0)
        columns = -1 - indices[new]
        places = np.empty_like(columns)
        done = 0
        while done < len(columns):
            done = kernel.place_columns(
                columns, done, self.sums, self._slots, self._known, self._first, self._count, places
            )
            if done < len(columns):
                self._enlarge()
        rows = slice(self._weighed, int(self._count[0]))
        if rows.start < rows.stop:
            slope = self.inner.terms(self._first[rows]).slope  # type: ignore[arg-type]
            self.weight[rows, : self.inner.n_classes] = slope.T
            self._weighed = rows.stop
        self.places[columns] = places + 1  # last: other threads may look
        indices[new] = places

    def _enlarge(self) -> None:
        """Make room for as many columns again."""
        weight = aligned_zeros((2 * len(self.weight), self.width))
        weight[: len(self.weight)] = self.weight
        self.weight = weight
        self._known = np.append(self._known, np.zeros_like(self._known), 0)
        self._first = np.append(self._first, np.zeros_like(self._first))
        self._slots = np.zeros(2 * len(self._slots), np.int32)
        kernel.fill_slots(self._slots, self._known, int(self._count[0]))
