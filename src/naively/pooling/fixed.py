"""Count rows for a fixed structure (`like=`), without storing them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.issues import Invalid
from naively.core.labels import Labels
from naively.core.workers import SERIAL, Workers
from naively.pooling.bins import Column
from naively.pooling.blocks.base import Block, Rows, Values, within
from naively.pooling.dates import seconds
from naively.pooling.structure import Plan, arrays_of, plan_of
from naively.statistics.base import FORGOTTEN, NOT_LEARNED, Arrays, Batch, Data, Statistics, Summary
from naively.statistics.levels import (
    Encoded,
    Levels,
    count_levels,
    joined,
    mixed_arrays,
    read_mixed,
)
from naively.statistics.rows import encoded
from naively.statistics.sample import SampleStatistics

AGAIN = "train it again on its rows, `like` the other"
OF_ROWS = ("sure", "right", "weight")
"""Arrays with an entry for each training row, which a fixed structure leaves out."""


@dataclass(frozen=True, eq=False, repr=False)
class FixedPlan:
    """A fixed structure: the bins, blocks and weights of another model.

    The evidence of single columns is estimated from counts. That of interactions is part of the
    structure: it compares counts with the model's expectations of the same rows, which no counts
    hold.
    """

    # as `naively.pooling.structure.arrays_of` returns them, without those with an entry for each
    # row; ``moves`` (K,), the importance of each block; and ``shown.numbers`` and so on, the values
    # that label bins for display
    arrays: Arrays
    labels: tuple[Any, ...]  # of the classes, sorted
    # plan, shown, importance: the same, read and checked
    plan: Plan = field(init=False)
    shown: list[Levels] = field(init=False)
    importance: Float64 = field(init=False)
    digest: str = field(init=False)  # a hash of all that

    def __post_init__(self) -> None:
        arrays, labels = self.arrays, self.labels
        if "dated" not in arrays or not labels:
            raise ValueError("a plan has columns and classes")
        if not all(a < b for a, b in pairwise(labels)):
            raise ValueError("the classes of a plan are not sorted and distinct")
        width = len(arrays["dated"])
        plan = plan_of(arrays, width, len(labels))
        fields = {
            "plan": plan, "shown": read_mixed(within(arrays, "shown."), width),
            "importance": _numbers(arrays, "moves", (len(plan.blocks),)), "digest": self._digest(),
        }  # fmt: skip
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls, plan: Plan, levels: list[Levels], importance: Sequence[float], classes: Labels
    ) -> Self:
        """The structure of a fitted model, to fit other rows with."""
        arrays = arrays_of(plan)
        for name in OF_ROWS:
            arrays[name] = arrays[name][:0]
        shown = mixed_arrays([*map(_shown, plan.columns, levels)])
        arrays["moves"] = np.array(importance, np.float64)
        arrays |= {f"shown.{name}": array for name, array in shown.items()}
        return cls(arrays, tuple(classes.tolist()))

    def _digest(self) -> str:
        digest = hashlib.blake2b(repr(self.labels).encode(), digest_size=16)
        for name, array in sorted(self.arrays.items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FixedPlan) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"plan {self.digest[:8]}"

    def codes(self, classes: Labels) -> list[int]:
        """The positions of these classes. Raises ValueError for a class that it does not have."""
        places = {label: k for k, label in enumerate(self.labels)}
        if unknown := [label for label in classes.tolist() if label not in places]:
            labels = ", ".join(map(repr, self.labels[:5]))
            raise ValueError(
                f"the fixed structure (`like`) has no class {unknown[0]!r}, only {labels}: fit it "
                "on rows of all classes"
            )
        return [places[label] for label in classes.tolist()]

    def among(self, classes: Labels) -> FixedPlan:
        """The structure for some of its classes. Raises ValueError for a class it does not have."""
        labels, codes = tuple(classes.tolist()), self.codes(classes)
        if labels == self.labels:
            return self
        arrays = self.arrays | arrays_of(self.plan.of_classes(codes))
        return FixedPlan(arrays, labels)

    @cached_property
    def cells(self) -> list[Block]:
        """The blocks that are counted."""
        return [block for block in self.plan.blocks if block.way is not None]

    @cached_property
    def offsets(self) -> Int64:
        """Where the cells of each counted block begin, and where those of the last end."""
        return np.cumsum([0] + [len(block.table) for block in self.cells])

    def estimated(self, counts: list[Float64], weight: Float64) -> Plan:
        """The structure with evidence estimated from counts.

        `counts`: (cells, C) of each counted block. `weight`: (C,) of all rows.
        """
        prior = (weight + 0.5) / (weight + 0.5).sum()
        block_counts = iter(counts)

        def estimate(block: Block) -> Block:
            if block.way is None:
                return block
            return block.recounted(next(block_counts), prior, self.plan.columns)

        return replace(self.plan, blocks=[*map(estimate, self.plan.blocks)])


def _numbers(arrays: Arrays, name: str, shape: tuple[int, ...]) -> Float64:
    """Return a checked array of finite, non-negative numbers; raise ValueError otherwise."""
    array = arrays.get(name)
    if array is None or array.dtype != np.float64 or array.shape != shape:
        raise ValueError(f"it has no {name!r} as its blocks have cells")
    if not ((array >= 0) & (array <= 1e50)).all():
        raise ValueError(f"a number of {name!r} is negative, or none")
    return np.array(array, order="C")


def _shown(column: Column, levels: Levels) -> Levels:
    """The values that label the bins of a column: of numbers the least and greatest in each."""
    if not column.is_number or not len(levels):
        return column.levels
    order = np.argsort(seconds(levels) if column.dated else levels, kind="stable")
    bins = column.bins(levels)[:-1][order]
    starts = np.diff(bins, prepend=-1) > 0
    return levels[np.sort(order[starts | np.append(starts[1:], True)])]


# ---- counts --------------------------------------------------------------------------------------


class PlanStatistics(Statistics):
    """Tables ``count`` (C, cells of all blocks) and ``missing`` (C, d): weights of rows."""

    plan: FixedPlan
    sized_by = "missing"

    @property
    def levels(self) -> list[Levels]:
        """The values that label the bins of each column."""
        return self.plan.shown

    def varies(self, column: int) -> bool:
        """True: the structure determines which columns are used."""
        return True

    def block(self, k: int) -> ExactArray:
        """The counts of one block, (C, cells)."""
        first, end = self.plan.offsets[k : k + 2].tolist()
        return self.tables["count"].gather(1, slice(first, end))

    def impossible(self, class_weight: ExactArray) -> str | None:
        """As the base class; moreover, each row is in exactly one cell of each block."""
        count, missing = self.tables["count"], self.tables["missing"]
        if count.any_negative() or missing.any_negative():
            return FORGOTTEN
        if self.observed(class_weight).below_zero(missing):
            return FORGOTTEN
        for k in range(len(self.plan.cells)):
            rows = self.block(k).summed(1)
            for difference in (rows - class_weight, class_weight - rows):
                if difference.below_zero(class_weight):
                    return NOT_LEARNED
        return None

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """The shape of each table."""
        n_cells = int(self.plan.offsets[-1])
        return {"count": (n_classes, n_cells), "missing": (n_classes, n_features)}


@dataclass(frozen=True)
class PlanCounts(Summary[PlanStatistics]):
    """Count the rows in each cell of each block of a fixed structure."""

    plan: FixedPlan

    takes = "cells"
    by_column = False

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> PlanStatistics:
        """The weight of the rows in each cell by class, exactly."""
        X, plan = encoded(X), self.plan.plan
        rows = Rows(X, Values(X.levels, plan.columns))
        statistics = self.empty(batch.n_classes, X.shape[1])
        tables = []
        for block in self.plan.cells:
            assert block.way is not None
            cells = rows.coded(block.way).cells(block.columns).astype(np.int32)[:, np.newaxis]
            values = np.arange(len(block.table))
            counts = count_levels(Encoded(cells, [values]), batch, workers)
            tables.append(counts.tables["count"].scatter(1, counts.levels[0], len(values)))
        bounds = np.array([len(values) for values in X.levels])
        missing_cells = Encoded((X.codes == bounds).astype(np.int32), [np.arange(1)] * len(bounds))
        missing = count_levels(missing_cells, batch, workers).tables["missing"]
        return statistics._with({"count": joined(tables, batch.n_classes), "missing": missing})

    def unread(self, X: Data) -> dict[int, Invalid]:
        """Invalid values: text in columns that the structure reads as numbers or dates."""
        rows, columns = encoded(X), self.plan.plan.columns
        return self.plan.plan.readable(rows, lambda j: columns[j].bins(rows.levels[j]))[1]

    def of_rows(self, rows: Statistics) -> PlanStatistics | None:
        """Count stored rows; None if `rows` are other statistics.

        Raises ValueError if only a sample of the training rows is stored.
        """
        if not isinstance(rows, SampleStatistics):
            return None
        if not rows.is_complete:
            raise ValueError(
                "a model that stores a sample of its rows cannot be added to one of a fixed "
                f"structure (`like`): {AGAIN}"
            )
        (digits, low), size = rows.tables["count"].digits, rows.tables["count"].shape[0]
        classes, row, digit = digits.nonzero()
        weights = np.ldexp(digits[classes, row, digit].astype(np.float64), 32 * (low + digit))
        batch = Batch(classes, size, weights)
        return self.summarise(Encoded(rows.codes[row], rows.levels), batch, SERIAL)

    def empty(self, n_classes: int, n_features: int) -> PlanStatistics:
        """The statistics of no rows."""
        sizes = {"count": int(self.plan.offsets[-1]), "missing": n_features}
        statistics = PlanStatistics({k: ExactArray.zeros((n_classes, n)) for k, n in sizes.items()})
        statistics.plan = self.plan
        return statistics

    def read(
        self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int
    ) -> PlanStatistics:
        """As the base class. Raises ValueError for another number of columns."""
        if n_features != len(self.plan.plan.columns):
            raise ValueError("its plan is of other columns")
        return super().read(tables, arrays, n_features)
