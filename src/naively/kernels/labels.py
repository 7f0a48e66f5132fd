"""Labels to codes."""

import numpy as np
import numpy.typing as npt

from naively.kernels import few_sums
from naively.kernels.jit import jit, or_few


@jit
def integer_range(y):
    """(smallest, largest) of a non-empty integer array."""
    low, high = np.int64(y[0]), np.int64(y[0])
    for i in range(y.size):
        low = min(low, np.int64(y[i]))
        high = max(high, np.int64(y[i]))
    return low, high


@jit
def integer_codes(y, low, present, codes):
    """Code each label by its rank among those met; `present` marks them on return."""
    for i in range(y.size):
        present[np.int64(y[i]) - low] = 1
    rank = np.int64(0)
    ranks = np.empty(present.size, np.int64)
    for k in range(present.size):
        ranks[k] = rank
        rank += present[k]
    for i in range(y.size):
        codes[i] = ranks[np.int64(y[i]) - low]


@or_few(few_sums.rows_by_class)
@jit
def rows_by_class(codes, classes):
    """(order, ends): the rows of class c, in their order, are order[ends[c]:ends[c + 1]]."""
    ends = np.zeros(classes + 1, np.int64)
    for i in range(codes.size):
        ends[codes[i] + 1] += 1
    for c in range(classes):
        ends[c + 1] += ends[c]
    place = np.empty(classes, np.int64)
    for c in range(classes):
        place[c] = ends[c]
    order = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        c = codes[i]
        order[place[c]] = i
        place[c] += 1
    return order, ends


def class_sizes(codes: npt.NDArray[np.int64], classes: int) -> npt.NDArray[np.int64]:
    """The number of rows of each class."""
    return np.bincount(codes, minlength=classes)
