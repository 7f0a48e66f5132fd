"""Evidence of the recurring parts of dates: hours, days of the week and so on.

Long-term trends are in the bins of the seconds, as of any number; this evidence is for what recurs.
Dates with a time zone are in UTC, others as they are written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.formula import PartCut, Table
from naively.pooling.bins import Column
from naively.pooling.blocks.base import (
    FoldedRows,
    OutOfFold,
    OutOfFoldTable,
    Rows,
    Values,
    checked,
    relative,
)
from naively.pooling.blocks.cells import TableBlock, split_tables, table_of
from naively.pooling.blocks.shapes import MISSING, Bins
from naively.pooling.blocks.smoothing import numbers
from naively.pooling.dates import is_date, seconds
from naively.pooling.entries import PARTS as FOLDS
from naively.statistics.base import Arrays
from naively.statistics.levels import Levels

DAY = 86_400
FIRST_MONDAY = 4 * DAY  # seconds from 1970-01-01, a Thursday, to a Monday

HOURS = tuple(f"{hour:02d}:00 to {hour:02d}:59" for hour in range(24))
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DAYS = tuple(map(str, range(1, 32)))
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December")  # fmt: skip
PARTS = (("hours", HOURS), ("weekdays", WEEKDAYS), ("days of the month", DAYS), ("months", MONTHS))
"""The name and the values of each part of a date."""


@dataclass(frozen=True)
class Calendar(TableBlock):
    """The evidence of a part of the dates of a column."""

    part: int  # index into `PARTS`
    table: Float64 = field()  # (values of the part and one for a missing date, C), in nats

    tag = "calendar"
    weeded = True

    @property
    def labels(self) -> tuple[str, ...]:
        """The values of the part."""
        return PARTS[self.part][1]

    @property
    def part_of_date(self) -> str:  # type: ignore[override]
        """The name of the part."""
        return PARTS[self.part][0]

    @classmethod
    def of_column(cls, rows: FoldedRows, column: int) -> Iterator[OutOfFold]:
        """Fit the parts that vary, if the column holds dates."""
        levels, entries = rows.entries.levels[column], rows.entries
        if not rows.columns[column].dated or not is_date(levels[0]):
            return  # times of day are already cut by their own seconds
        moments = seconds(levels)
        for part, (_, labels) in enumerate(PARTS):
            places = np.append(values(moments, part), len(labels))
            if (places[:-1] == places[0]).all():
                continue
            cells = places[entries.codes[:, column]][entries.row].astype(np.uint32)
            table = table_of(rows, cells.astype(np.uint16), len(labels) + 1, numbers)
            block = cls((column,), part, table[: len(labels) + 1, FOLDS])
            yield OutOfFoldTable(block, entries, relative(table), cells.__getitem__)

    def among(self, at: Int64, order: Int64, classes: Int64, columns: Sequence[Column]) -> Calendar:
        """As the base class."""
        return replace(self, columns=(int(at[0]),), table=self.table[:, classes])

    def by_level(self, values_: Values) -> Float64:
        """As the base class."""
        evidence: Float64 = self.table[self._cells(values_)]
        return evidence

    def _cells(self, values_: Values) -> Int64:
        """The cell of each value of the column, that of missing values last."""
        (column,) = self.columns
        return np.append(values(values_.seconds(column), self.part), len(self.labels))

    def what(self, columns: Sequence[Column], texts: Collection[int]) -> str:
        """As the base class."""
        return self.part_of_date

    def drawn(
        self, names: Sequence[str], columns: Sequence[Column], levels: Sequence[Levels]
    ) -> tuple[list[Bins], Float64]:
        """As the base class."""
        (column,) = self.columns
        return [Bins(names[column], [*self.labels, MISSING], ordered=True)], self.table

    def cells(self, rows: Rows) -> Int64:
        """As the base class."""
        (column,) = self.columns
        return self._cells(rows.values)[rows.codes[:, column]]

    @classmethod
    def stored(cls, blocks: Sequence[Calendar]) -> Arrays:
        """``calendar.parts`` : (K,) indices of parts. ``calendar.tables`` : (values of all, C)."""
        return {
            "calendar.parts": np.array([block.part for block in blocks], np.uint8),
            "calendar.tables": np.concatenate([block.table for block in blocks]),
        }

    @classmethod
    def read(
        cls, arrays: Arrays, places: Sequence[tuple[int, ...]], columns: Sequence[Column],
        n_classes: int,
    ) -> list[Calendar]:  # fmt: skip
        """As the base class."""
        parts = checked(arrays, "calendar.parts", np.uint8, (len(places),)).tolist()
        if unknown := [part for part in parts if part >= len(PARTS)]:
            raise ValueError(f"dates have an unknown part, {unknown[0]}")
        for part, block in zip(parts, places, strict=True):
            if len(block) > 1 or not columns[block[0]].dated:
                raise ValueError(f"{PARTS[part][0]} are of a column that holds no dates")
        sizes = [len(PARTS[part][1]) + 1 for part in parts]
        tables = split_tables(arrays, "calendar.tables", sizes, n_classes)
        return [*map(cls, places, parts, tables)]

    def term(self, names: Sequence[str], columns: Sequence[Column], weight: float) -> Table:
        """As the base class."""
        (column,) = self.columns
        cut = PartCut(names[column], self.part, len(self.labels))
        return Table((cut,), (len(self.table),), weight * self.table)


def values(moments: Float64, part: int) -> Int64:
    """The part of dates (n,) in seconds since 1970, as an index; NaN has the one after the last."""
    missing = np.isnan(moments)
    whole_seconds = np.floor(np.where(missing, 0.0, moments)).astype(np.int64)
    days: npt.NDArray[np.datetime64] = (whole_seconds // DAY).astype("datetime64[D]")
    month = days.astype("datetime64[M]")
    indices: Int64
    if part == 0:
        indices = whole_seconds % DAY // 3600
    elif part == 1:
        indices = (whole_seconds - FIRST_MONDAY) % (7 * DAY) // DAY
    elif part == 2:
        indices = (days - month.astype("datetime64[D]")).astype(np.int64)
    else:
        indices = month.astype(np.int64) % 12
    return np.where(missing, len(PARTS[part][1]), indices)
