"""Weights of columns that are looked up, where there are millions and rows have a few of them."""

from __future__ import annotations

import math
from threading import Lock

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Float64, Int64
from naively.families.linear import LinearParameters, aligned
from naively.kernels import linear as kernel
from naively.kernels.sizes import LANES

Ids = npt.NDArray[np.int32]

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
    unmet : whether there are columns whose sums are all 0, which count as unknown.

    Attributes
    ----------
    weight : (d, C or a few more) the weights of the columns that differ, from the first row on.
    """

    def __init__(self, inner: LinearParameters, sums: ExactArray, unmet: bool = False) -> None:
        self.inner = inner
        self.unmet = unmet
        self.sums = sums.limbs
        self.width = -(-inner.n_classes // LANES) * LANES
        self.base = np.zeros(self.width)
        columns = inner.n_features  # memory that nobody writes to costs nothing
        self.places = np.zeros(columns, np.int32)
        self.weight = aligned((columns, self.width))
        self._slots = np.zeros(2 << columns.bit_length(), np.int32)
        self._known = np.zeros((columns, len(self.sums) * self.sums.shape[2]), np.int64)
        self._first = np.zeros(columns, np.int32)
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
        kernel.place_columns(
            columns, self.sums, self._slots, self._known, self._first, self._count, places
        )
        rows = slice(self._weighed, int(self._count[0]))
        if rows.start < rows.stop:
            slope = self.inner.terms(self._first[rows]).slope  # type: ignore[arg-type]
            if self.unmet:  # 0 changes no score
                slope[:, ~self._known[rows].any(axis=1)] = 0.0
            self.weight[rows, : self.inner.n_classes] = slope.T
            self._weighed = rows.stop
        self.places[columns] = places + 1  # last: other threads may look
        indices[new] = places


def with_group(total: ExactArray, group: Int64, n_groups: int) -> ExactArray:
    """Sums by which terms of different weights differ, (C or C + 1, V)."""
    if n_groups == 1 or not total.limbs.size:
        return total
    limbs = np.zeros((1, *total.limbs.shape[1:]), np.int64)
    limbs[0, :, 0] = group
    return ExactArray(np.concatenate([total.limbs, limbs]), total.low)
