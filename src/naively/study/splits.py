"""Random splits into rows to learn and rows to predict, of parts that are learned once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import Int64


class Splits:
    """Training sets of growing sizes, each in the next one, and the rows that each split predicts.

    The rows are dealt into folds at random, each class evenly. A split predicts one fold, and
    learns the others one after the other; the smallest training set has a row of every class, for
    which one is moved to the front where chance has none. A class with a single row, or copies of
    one, is always learned and never predicted.

    Rows that no split tells apart make a part: all training sets are sums of parts.

    Parameters
    ----------
    codes : (n,) the class of each row.
    folds : how many.
    sizes : of the training sets, increasing, the first of at least as many rows as there are
        classes.
    seed : of the folds and their order.
    alike : (n,) a number for each row: rows of the same number are copies, and in one fold; None if
        there are none.
    whole : whether all rows of the other folds come last; else these sizes are all.

    Attributes
    ----------
    parts : tuple of (m,) rows; each row is in one.
    tests : tuple of (m,) rows that each split predicts.
    steps : for each split and size, the parts that its training set has beyond the one before.
    sizes : of the training sets; all rows of the other folds may be one more.

    Raises
    ------
    ValueError : if the sizes are all, and one has more rows than some split learns, or the first
        fewer than there are classes.
    """

    def __init__(
        self, codes: Int64, folds: int, sizes: Sequence[int] = (), seed: int = 0,
        whole: bool = True, alike: Int64 | None = None,
    ) -> None:  # fmt: skip
        self.codes, self.folds = codes, folds
        fold, rank = _dealt(codes, np.arange(len(codes)) if alike is None else alike, folds, seed)
        met = [k for k in range(folds) if (fold == k).any()]
        rest = len(fold) - max(int((fold == k).sum()) for k in met)
        if whole:
            self.sizes = (*(size for size in sizes if size < rest), rest)
        else:
            self.sizes = tuple(sizes)
            _check_sizes(self.sizes, len(np.unique(codes)), rest)
        since = np.empty((len(met), len(fold)), np.int64)  # the first size that has a row
        for own, k in zip(since, met, strict=True):
            away = np.where(fold < folds, (fold - k - 1) % folds, folds)
            order = np.lexsort([rank, away])
            order = self._with_all(order[fold[order] != k])
            own[:] = len(self.sizes)
            ends = self.sizes[:-1] if whole else self.sizes
            own[order] = np.searchsorted(ends, np.arange(len(order)), "right")
        alike, self.parts = told_apart(since)
        self.tests = tuple(np.flatnonzero(fold == k) for k in met)
        places = range(len(self.sizes))
        self.steps = tuple(tuple(np.flatnonzero(own == k) for k in places) for own in alike)

    def _with_all(self, order: Int64) -> Int64:
        """The rows in this order, but for one of each class that may not be among the first ones.

        Those that are moved push out as many others at most as there are classes.
        """
        _, met = np.unique(self.codes[order], return_index=True)
        late = np.zeros(len(order), bool)
        late[met[met >= self.sizes[0] - len(met)]] = True
        return order[np.argsort(~late, kind="stable")]


def _check_sizes(sizes: Sequence[int], least: int, most: int) -> None:
    """Raise ValueError for the first size that no training set can have, saying why."""
    for size in sizes:
        if not least <= size <= most:
            raise ValueError(
                f"sizes must be from {least:,}, a row of each class, to {most:,}, the rows that "
                f"every split has to learn; {size:,} is not"
            )


def told_apart(table: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[Int64, ...]]:
    """(the different columns of a table, where each is met): rows that are alike make a part."""
    order = np.lexsort(table[::-1])
    table = table[:, order]
    first = np.ones(len(order), bool)
    first[1:] = (table[:, 1:] != table[:, :-1]).any(axis=0)
    return table[:, first], tuple(np.split(order, np.flatnonzero(first)[1:]))


def _dealt(codes: Int64, alike: Int64, folds: int, seed: int) -> tuple[Int64, Int64]:
    """(the fold of each row, or `folds` if it is never predicted; its rank within the fold)."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    _, first, group = np.unique(alike[order], return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))  # of each group, where it first comes
    fold = np.empty(len(order), np.int64)
    fold[order] = number[group] % folds
    different = np.bincount(codes[order[first]], minlength=int(codes.max(initial=0)) + 1)
    fold[different[codes] == 1] = folds
    return fold, generator.permutation(len(order))


def growing(codes: Int64, folds: int) -> tuple[int, ...]:
    """Sizes of training sets: of 10, 20, 50, 100 and so on, those from two rows a class on.

    Parameters
    ----------
    codes : (n,) the class of each row.
    folds : how many; all rows but those of one fold are no size of its own here.
    """
    least = 2 * len(np.unique(codes))
    most = len(codes) * (folds - 1) / folds / 1.2  # one much like the last tells nothing new
    sizes = (10**k * m for k in range(1, 16) for m in (1, 2, 5))
    return tuple(size for size in sizes if least <= size <= most)
