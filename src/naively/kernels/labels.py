"""Labels to codes."""

import numpy as np
import numpy.typing as npt

from naively.kernels.native import integer_codes, integer_range, sort_rows

__all__ = ["class_sizes", "integer_codes", "integer_range", "rows_by_class"]

Int64 = npt.NDArray[np.int64]


def rows_by_class(codes: Int64, classes: int) -> tuple[Int64, Int64]:
    """(order, ends): the rows of class c, in their order, are order[ends[c]:ends[c + 1]]."""
    order, ends = np.empty(codes.size, np.int64), np.empty(classes + 1, np.int64)
    sort_rows(codes, order, ends)
    return order, ends


def class_sizes(codes: Int64, classes: int) -> Int64:
    """The number of rows of each class."""
    return np.bincount(codes, minlength=classes)
