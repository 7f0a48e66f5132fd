"""Define summaries and sufficient statistics: exact sums by class, independent of the family."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from naively.core.exact import LARGEST, ExactArray, Float64, Index, Int64
from naively.core.issues import Invalid
from naively.core.workers import Workers

Data = Any
"""Rows to count or to score: a 2-d NumPy array of real numbers, a SciPy CSR matrix, or what a
summary of categories or documents takes.
"""

Arrays = dict[str, npt.NDArray[Any]]

FORGOTTEN = "the model has fewer rows like these"
NOT_LEARNED = "the model has no such rows, or not all of them"
DENSE = 1 << 30  # largest size of a sparse matrix as an array, in bytes


class InvalidValueError(ValueError):
    """A value that cannot be counted or scored.

    problem : what is wrong, as a clause with ``{where}`` for the position.
    """

    def __init__(self, row: int, column: int, problem: str) -> None:
        self.row = int(row)
        self.column = int(column)
        self.problem = problem
        super().__init__(problem.format(where=f"row {self.row}, column {self.column}"))

    def named(self, names: Sequence[str] | None) -> Self:
        """Return the same error, with the column's name if columns have names."""
        column = self.column if names is None else repr(names[self.column])
        self.args = (self.problem.format(where=f"row {self.row}, column {column}"),)
        return self

    def __reduce__(self) -> Any:  # for the process pools of model selection
        return type(self).__new__, (type(self), *self.args), vars(self)


def raise_infinite(position: int, n_features: int) -> None:
    """Raise the error for an infinite value at a position that a kernel reported; -1 for none."""
    if position >= 0:
        row, column = divmod(int(position), n_features)
        raise InvalidValueError(row, column, "Input X contains infinity: {where} is infinite")


@dataclass(frozen=True)
class Batch:
    """The class, or the classes, and the weight of each row of some data.

    codes : (m,) int64, positions in the classes of the batch, row by row.
    weights : (m,) float64 above 0, or empty if every row weighs 1.
    starts : (n + 1,) start of each row in `codes`, and end of the last; None if each row has one
        class, so that m = n. Only summaries of documents support several.
    """

    codes: Int64
    n_classes: int
    weights: Float64 = field(default_factory=lambda: np.empty(0))
    starts: Int64 | None = None

    def __post_init__(self) -> None:
        """Make codes and weights contiguous, as kernels require."""
        object.__setattr__(self, "codes", np.ascontiguousarray(self.codes))
        object.__setattr__(self, "weights", np.ascontiguousarray(self.weights))

    def part(self, rows: slice) -> Batch:
        """Return a slice of the rows, each of which has one class; the classes stay."""
        return Batch(self.codes[rows], self.n_classes, self.weights[rows])

    def some(self, rows: npt.NDArray[np.integer]) -> Batch:
        """Return some of the rows; the classes stay."""
        if self.starts is None:
            positions, starts = rows, None
        else:
            sizes = np.diff(self.starts)[rows]
            starts = np.append(0, np.cumsum(sizes))
            positions = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], sizes)
        weights = self.weights[positions] if len(self.weights) else self.weights
        return Batch(self.codes[positions], self.n_classes, weights, starts)

    def of_rows(self, values: Any) -> Any:
        """Repeat values of rows, (n, ...), for each of their codes, (m, ...)."""
        if self.starts is None:
            return values
        return values[np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))]


@dataclass
class Statistics:
    """Exact sums over the rows of each class.

    tables : dict of ExactArray, with the class as the first axis. ``missing``, (C, d), is the
        weight of the rows in which each feature is missing.
    """

    tables: dict[str, ExactArray]

    signed: ClassVar[tuple[str, ...]] = ()  # tables that may have negative numbers
    of_rows: ClassVar[tuple[str, ...]] = ("missing",)
    """Tables whose numbers add up to weights of rows, for each class and feature."""
    sized_by: ClassVar[str] = "sum"  # the table whose shape gives the number of features
    pooled_tables: ClassVar[tuple[str, ...]] = ()
    """Tables that are sums over all classes, with a first axis of length 1."""

    # ---- the algebra -------------------------------------------------------------------------

    def accumulate(self, other: Self, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) `other` in place; its class k is self's classes[k]."""
        for name, table in other.tables.items():
            rows = None if name in self.pooled_tables else classes
            self.tables[name] = self.tables[name].accumulate(table, rows=rows, sign=sign)

    def scaled(self, gamma: float) -> Self:
        """Return the statistics times gamma."""
        return self._mapped(lambda table: table.scaled(gamma))

    def copy(self) -> Self:
        """Return a copy that shares no memory."""
        return self._mapped(ExactArray.copy)

    def canonical(self) -> Self:
        """Return the statistics in canonical form: equal statistics have equal bits."""
        return self._mapped(ExactArray.trimmed)

    def readable(self) -> Self:
        """Return the statistics, as canonical as estimates need them."""
        return self.canonical()

    def scatter_classes(self, positions: Int64, n_classes: int) -> Self:
        """Extend the classes: class k becomes positions[k], the others have no rows."""
        return self._by_class(lambda table: table.scatter(0, positions, n_classes))

    def gather_classes(self, classes: Int64) -> Self:
        """Restrict to some classes."""
        return self._by_class(lambda table: table.gather(0, classes))

    def against(self, code: int) -> Self:
        """Reduce to two classes, if class 0 is all rows: those not in `code`, those in it."""
        return self._by_class(lambda table: two_classes(table, code))

    def gather_columns(self, columns: Index) -> Self:
        """Restrict to some features, by a slice or their positions."""
        return self._mapped(lambda table: table.gather(1, columns))

    def reindex_columns(self, sources: Int64, positions: Int64, n_features: int) -> Self:
        """Move feature own[k] to positions[k] of `n_features`; the others have no values."""
        return self._mapped(lambda t: t.gather(1, sources).scatter(1, positions, n_features))

    def add_missing(self, columns: Int64, class_weight: ExactArray) -> None:
        """Count some features, in place, as missing in rows of these weights."""
        missing = class_weight.repeated(len(columns))
        self.tables["missing"] = self.tables["missing"].accumulate(missing, columns=columns)

    # ---- what they say -----------------------------------------------------------------------

    def observed(self, class_weight: ExactArray, columns: slice = slice(None)) -> ExactArray:
        """Return the weight of the rows in which each feature is not missing, (C, b)."""
        missing = self.tables["missing"].gather(1, columns)
        return class_weight.repeated(missing.shape[1]).accumulate(missing, sign=-1)

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Return why no data can have these statistics, or None if some can."""
        observed = self.observed(class_weight)
        if observed.below_zero(self.tables["missing"]) or self.tables["missing"].any_negative():
            return FORGOTTEN
        nothing = ~observed.nonzero()
        for name, table in self.tables.items():
            if name != "missing" and (table.nonzero() & nothing).any():
                return NOT_LEARNED
        return None

    def refused(self) -> str | None:
        """Return why rows cannot be forgotten, or None if they can."""
        return None

    @property
    def reversible(self) -> bool:
        """Whether subtracting added rows restores the previous statistics, bit for bit."""
        return True

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of each table, for these numbers of classes and features."""
        return dict.fromkeys(self.tables, (n_classes, n_features))

    def stored(self) -> dict[str, ExactArray]:
        """Return the tables that are stored in a file."""
        return self.tables

    def arrays(self) -> Arrays:
        """Return what is stored besides the tables."""
        return {}

    @property
    def nbytes(self) -> int:
        """The memory of the tables, in bytes."""
        return sum(table.limbs.nbytes for table in self.tables.values())

    def _mapped(self, function: Callable[[ExactArray], ExactArray]) -> Self:
        return self._with({name: function(table) for name, table in self.tables.items()})

    def _by_class(self, function: Callable[[ExactArray], ExactArray]) -> Self:
        """Apply a function to the tables that have a row for each class."""
        pooled = self.pooled_tables
        tables = self.tables.items()
        return self._with({name: t if name in pooled else function(t) for name, t in tables})

    def _with(self, tables: dict[str, ExactArray], **others: Any) -> Self:
        """Return a copy with these tables, and these values of other attributes."""
        statistics = object.__new__(type(self))
        statistics.__dict__.update(self.__dict__, tables=tables, **others)
        return statistics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        a, b = self.canonical(), other.canonical()
        return a.tables == b.tables and a._agrees(b)

    def _agrees(self, other: Self) -> bool:
        """Return whether canonical statistics agree besides their tables."""
        return True

    __hash__ = None  # type: ignore[assignment]


def two_classes(sums: ExactArray, code: int) -> ExactArray:
    """Return sums of the rows not in a class, and in it, (2, ...); class 0 is all rows."""
    totals, in_class = sums.gather(0, np.array([0, code])), sums.gather(0, np.array([code]))
    return totals.accumulate(in_class, rows=np.zeros(1, np.int64), sign=-1)


S = TypeVar("S", bound=Statistics)

Takes = Literal["numbers", "truths", "levels", "cells", "documents", "values"]


class Summary(ABC, Generic[S]):
    """Define what to count over some columns; statistics of equal summaries add up."""

    takes: ClassVar[Takes] = "numbers"
    """The rows it takes: numbers or truth values as an array of numbers, NaN if missing; `Encoded`
    categories, as text or, for "cells", as numbers where all are; documents; or `Values`, each of
    them a number or a text.
    """
    by_column: ClassVar[bool] = True
    """Whether columns are counted separately, so that they can be removed from the sums."""
    takes_sparse: ClassVar[bool] = True
    """Whether CSR matrices are supported, as by all summaries that read columns separately."""
    bounds: tuple[float, float] = (-LARGEST, LARGEST)
    """The least and the greatest number that can be counted."""

    @property
    def of_texts(self) -> bool:
        """Whether it counts the terms of documents."""
        return self.takes == "documents"

    @property
    def of_levels(self) -> bool:
        """Whether it counts the categories of each column."""
        return self.takes == "levels" and self.by_column

    @abstractmethod
    def summarise(self, X: Data, batch: Batch, workers: Workers) -> S:
        """Return the statistics of a batch of rows. Raises `InvalidValueError`."""

    kind: type[S]
    tables: ClassVar[tuple[str, ...]] = ()
    """The class of its statistics, and their tables, if each of these is (C, d)."""

    def unread(self, X: Data) -> dict[int, Invalid]:
        """Return values of another type, which count as missing, by column."""
        return {}

    def empty(self, n_classes: int, n_features: int) -> S:
        """Return the statistics of no rows."""
        shape = n_classes, n_features
        return self.kind({name: ExactArray.zeros(shape) for name in self.tables})

    def of_rows(self, rows: Statistics) -> S | None:
        """Return the statistics of rows that another summary stored; None if impossible."""
        return None

    def read(self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int) -> S:
        """Return the statistics stored in a file, from its tables and `Statistics.arrays`.

        Raises ValueError if they are inconsistent, saying why.
        """
        return self.empty(0, n_features)._with(tables)


def is_sparse(X: Data) -> bool:
    """Return whether the data are a CSR matrix."""
    return not isinstance(X, np.ndarray)


def dense(X: Data) -> npt.NDArray[Any]:
    """Return the data as a NumPy array.

    Raises ValueError for a sparse matrix that would take more than 1 GiB as an array.
    """
    if not is_sparse(X):
        return X
    rows, columns = X.shape
    size = rows * columns * X.dtype.itemsize
    if size > DENSE:
        raise ValueError(
            f"a sparse matrix of {rows:,} rows and {columns:,} columns would take "
            f"{size / (1 << 30):,.1f} GiB as an array, and this needs one; at most 1 GiB is made: "
            "pass fewer rows at a time, fewer columns, or use a family that counts sparse rows as "
            "they are: gaussian, multinomial, complement, bernoulli or poisson"
        )
    return cast("npt.NDArray[Any]", X.toarray())


def shown(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view, as kernels require of rows."""
    view = X.view()
    view.flags.writeable = False
    return view
