"""Which rows of a stream are held out: the same part of every class, in one pass.

A copy of a row is no new row (`naively.pooling.duplicates`): where there are copies among the
first rows, rows are held out by what is in them, so that a row and its copies are on one side.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from naively.exact import Float64, Int64
from naively.hashing import GOLDEN, UInt64, hashed, mixed
from naively.pooling.duplicates import duplicated
from naively.statistics.row_encoding import distinct
from naively.statistics.sample_rows import keys_of, ordered
from naively.tables import values
from naively.tables.encoding import cells_of
from naively.tables.targets import LabelCodes

FINEST = 10**9  # denominator of the part to hold out: no product below leaves int64


@dataclass(frozen=True)
class Copies:
    """What tells rows apart where some are copies of others.

    Attributes
    ----------
    names : of the columns.
    missing : how a missing value is spelled.
    recurring : keys of rows that recur, of which each is a draw of its own.
    """

    names: tuple[str, ...]
    missing: tuple[str, ...]
    recurring: tuple[int, ...]

    @classmethod
    def among(
        cls, rows: pa.Table, labels: LabelCodes, names: Sequence[str], missing: Collection[str]
    ) -> Copies | None:
        """Those among some rows; None if there are none."""
        known = np.flatnonzero(labels[1] < len(labels[0]))
        cells = cells_of(rows, names, missing)
        if not len(known) or not names:
            return None
        first, kind = distinct(cells.codes, [len(one) + 1 for one in cells.levels])
        size, y = len(first), labels[1][known]
        each, count = np.unique(y * size + kind[known], return_counts=True)
        if not (count > 1).any():
            return None
        different, order = ordered(cells.codes[first], [*cells.levels])
        rank = np.argsort(order, kind="stable")
        y, row = each // size, rank[each % size]
        found = duplicated(
            different.codes, different.levels, y, row, count.astype(np.float64), len(labels[0])
        )
        if not found.any():
            return None
        recurring = np.unique(different.keys[row[(count > 1) & ~found]])
        return cls((*names,), (*missing,), tuple(recurring.tolist()))

    def keys(self, rows: pa.RecordBatch | pa.Table) -> UInt64:
        """64 bits that stand for what is in each row; 0 for rows that recur."""
        cells = cells_of(rows, self.names, self.missing)
        found = keys_of(cells.codes, [*cells.levels])
        return np.where(np.isin(found, np.array(self.recurring, np.uint64)), np.uint64(0), found)


class Draw:
    """Draws the rows to hold out, batch by batch.

    The rows of a class are cut into groups, 1/part of them each, in the order in which they come,
    and one row of each group is held out; or one is learned, if most are to be held out. So of n
    rows of a class part · n are held out, rounded up or down. The first row of a class is always
    learned. Which row of a group is drawn depends on the seed, the class and the number of the
    group: not on other classes, on batches or on threads.

    Rows that have keys are drawn by a hash of these: of each class those below a bound, so that it
    has its part of the different ones among the first rows.

    Parameters
    ----------
    part : of the rows to hold out, above 0 and below 1.
    seed : which ones.
    """

    def __init__(self, part: float, seed: int) -> None:
        self.part, self.most = part, part > 0.5
        rate = Fraction(part).limit_denominator(FINEST)
        rate = min(max(1 - rate if self.most else rate, Fraction(1, FINEST)), Fraction(1, 2))
        self.over, self.under = rate.numerator, rate.denominator
        self.seed = seed
        self.met: dict[str, int] = {}
        self.bounds: dict[str, float] = {}

    def bound(self, labels: LabelCodes, known: UInt64) -> None:
        """Settle the bounds, by the first rows."""
        rows = np.flatnonzero((labels[1] < len(labels[0])) & (known != 0))
        for code, label in enumerate(labels[0].tolist()):
            own = np.unique(known[rows[labels[1][rows] == code]])
            luck = np.sort(_part(mixed(own + np.uint64(self._key(_name(label))))))
            held = min(round(self.part * len(own)), len(own) - 1)
            if held >= 0:
                self.bounds[_name(label)] = float(luck[held])

    def of(self, labels: LabelCodes, known: UInt64 | None = None) -> Float64:
        """For each row of the next batch a number from 0 to below 1 if it is held out, or else inf.

        If not all that are drawn can be held, those with the smallest numbers are a sample of
        them, in which each class has its part again.

        Parameters
        ----------
        labels : of the rows.
        known : (n,) keys of the rows that are drawn by these, 0 of others; None for no keys.
        """
        names, place = np.unique(
            np.array([_name(label) for label in labels[0].tolist()], object), return_inverse=True
        )
        codes = np.append(place, len(names))[labels[1]]
        sizes = np.bincount(codes, minlength=len(names) + 1)[:-1]
        rows = np.argsort(codes, kind="stable")[: sizes.sum()]  # those without a label come last
        before = np.array([self.met.get(name, 0) for name in names], np.int64)
        first = np.cumsum(sizes) - sizes
        number = np.arange(len(rows)) + np.repeat(before - first, sizes)
        keys = np.repeat(np.array([self._key(name) for name in names], np.uint64), sizes)
        self.met.update(zip(names, (before + sizes).tolist(), strict=True))
        draws = np.full(len(codes), np.inf)
        draws[rows] = self._drawn(number, keys)
        if known is not None:
            some = rows[known[rows] != 0]
            own = known[some]
            of_class = np.array([self._key(name) for name in names], np.uint64)[codes[some]]
            bounds = np.array([self.bounds.get(name, self.part) for name in names])[codes[some]]
            luck = _part(mixed(own + of_class))
            draws[some] = np.divide(
                luck, bounds, out=np.full(len(some), np.inf), where=luck < bounds
            )
        return draws

    def _key(self, name: str) -> int:
        """64 bits that stand for a class and the seed."""
        return hashed(f"{self.seed} {name}".encode(errors="surrogatepass"))

    def _drawn(self, number: Int64, keys: UInt64) -> Float64:
        """The draws of the rows with these numbers among those of their classes."""
        group = number * self.over // self.under
        start, end = (-(-k * self.under // self.over) for k in (group, group + 1))
        place, size = number - start, end - start
        luck = _part(mixed(_walked(keys, group)))
        one = (luck * size).astype(np.int64)
        opening = group == 0
        one[opening] = 0 if self.most else 1 + (luck * (size - 1)).astype(np.int64)[opening]
        held = place != one if self.most else place == one
        which = number - group - (place > one) if self.most else group
        return np.where(held, _part(_walked(keys, which)), np.inf)


def _name(label: Any) -> str:
    """A label as text, the same from whatever format: True of a CSV file is true of another."""
    return str(values.level_text(label, ()))


def _walked(keys: UInt64, steps: Int64) -> UInt64:
    """As many steps of the golden ratio on from each key, modulo 2^64."""
    return keys + (steps.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)


def _part(bits: UInt64) -> Float64:
    """64 bits as a number from 0 to below 1."""
    return np.ldexp((bits >> np.uint64(11)).astype(np.float64), -53)
