"""What is counted of rows, whoever estimates from it: sums by class that add up exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from naively.core.exact import LARGEST, ExactArray, Float64, Int64
from naively.core.issues import Invalid
from naively.core.workers import Workers

Data = Any
"""Rows to count or to score: a 2-d NumPy array of real numbers, a SciPy CSR matrix, or what a
summary of levels or documents takes."""

Arrays = dict[str, npt.NDArray[Any]]

FORGOTTEN = "more was forgotten than was learned"
NOT_LEARNED = "these rows were not all learned before"
DENSE = 1 << 30  # bytes of a sparse matrix as an array, at most


class InvalidValueError(ValueError):
    """A value that cannot be counted or scored: what is wrong, and where.

    Attributes
    ----------
    row, column : int
        Position in the data that were given.
    problem : str
        What is wrong, as a clause with ``{where}`` for the place.
    """

    def __init__(self, row: int, column: int, problem: str) -> None:
        self.row = int(row)
        self.column = int(column)
        self.problem = problem
        super().__init__(problem.format(where=f"row {self.row}, column {self.column}"))

    def named(self, names: Sequence[str] | None) -> Self:
        """The same error, with the column's name if columns have names."""
        column = self.column if names is None else repr(names[self.column])
        self.args = (self.problem.format(where=f"row {self.row}, column {column}"),)
        return self

    def __reduce__(self) -> Any:  # for the process pools of model selection
        return type(self).__new__, (type(self), *self.args), vars(self)


def raise_infinite(position: int, n_features: int) -> None:
    """Raise the error for a kernel's report of an infinite value, if it is one."""
    if position >= 0:
        row, column = divmod(int(position), n_features)
        raise InvalidValueError(row, column, "Input X contains infinity: {where} is infinite")


@dataclass(frozen=True)
class Batch:
    """Which class each row of some data belongs to, and what it weighs; or which classes.

    Parameters
    ----------
    codes : (m,) int64, positions in the classes of the batch; those of row after row.
    n_classes : int
    weights : (m,) float64 above 0, or empty if every row weighs 1.
    starts : (n + 1,) where the codes of each row begin, and those of the last end; None if each row
        has one, so that m = n. Summaries of documents alone take others.
    """

    codes: Int64
    n_classes: int
    weights: Float64 = field(default_factory=lambda: np.empty(0))
    starts: Int64 | None = None

    def __post_init__(self) -> None:
        """Lay codes and weights out as kernels take them, which no reversed view is."""
        object.__setattr__(self, "codes", np.ascontiguousarray(self.codes))
        object.__setattr__(self, "weights", np.ascontiguousarray(self.weights))

    def part(self, rows: slice) -> Batch:
        """Of some of the rows, each of which has one class, with the same classes."""
        return Batch(self.codes[rows], self.n_classes, self.weights[rows])

    def some(self, rows: npt.NDArray[np.integer]) -> Batch:
        """Of some of the rows, with the same classes."""
        if self.starts is None:
            chosen, starts = rows, None
        else:
            sizes = np.diff(self.starts)[rows]
            starts = np.append(0, np.cumsum(sizes))
            chosen = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], sizes)
        weights = self.weights[chosen] if len(self.weights) else self.weights
        return Batch(self.codes[chosen], self.n_classes, weights, starts)

    def of_rows(self, values: Any) -> Any:
        """What is known of each row, (n, ...), for each of the codes, (m, ...)."""
        if self.starts is None:
            return values
        return values[np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))]


@dataclass
class Statistics:
    """Exact sums over the rows of each class.

    Attributes
    ----------
    tables : dict of ExactArray, the first axis of each being the class. ``missing``, (C, d), is
        the weight of the rows in which each feature is missing.
    """

    tables: dict[str, ExactArray]

    signed: ClassVar[tuple[str, ...]] = ()
    """Tables whose numbers may be negative."""
    of_rows: ClassVar[tuple[str, ...]] = ("missing",)
    """Tables whose numbers together are weights of rows, for each class and feature."""
    sized_by: ClassVar[str] = "sum"
    """The table whose shape says how many features there are."""
    pooled_tables: ClassVar[tuple[str, ...]] = ()
    """Tables that are sums over all classes, as of one."""

    # ---- the algebra -------------------------------------------------------------------------

    def accumulate(self, other: Self, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) `other` in place; its class k is self's classes[k]."""
        for name, table in other.tables.items():
            rows = None if name in self.pooled_tables else classes
            self.tables[name] = self.tables[name].accumulate(table, rows=rows, sign=sign)

    def scaled(self, gamma: float) -> Self:
        """Every sum times gamma."""
        return self._mapped(lambda table: table.scaled(gamma))

    def copy(self) -> Self:
        """A copy that shares nothing."""
        return self._mapped(ExactArray.copy)

    def canonical(self) -> Self:
        """The same statistics in their one smallest form."""
        return self._mapped(ExactArray.trimmed)

    def readable(self) -> Self:
        """The same statistics, at least as canonical as estimates from them need."""
        return self.canonical()

    def scatter_classes(self, positions: Int64, n_classes: int) -> Self:
        """Among more classes: class k becomes positions[k], the others have no rows."""
        return self._by_class(lambda table: table.scatter(0, positions, n_classes))

    def gather_classes(self, classes: Int64) -> Self:
        """Of some classes only."""
        return self._by_class(lambda table: table.gather(0, classes))

    def against(self, code: int) -> Self:
        """Of two classes, where class 0 is all rows: the rows but those of a class, and those."""
        return self._by_class(lambda table: two_classes(table, code))

    def gather_columns(self, columns: Any) -> Self:
        """Of some features only, by a slice or by their positions."""
        return self._mapped(lambda table: table.gather(1, columns))

    def reindex_columns(self, own: Int64, positions: Int64, n_features: int) -> Self:
        """Some of the features among others, which have no values: own[k] is positions[k]."""
        return self._mapped(lambda table: table.gather(1, own).scatter(1, positions, n_features))

    def add_missing(self, columns: Int64, class_weight: ExactArray) -> None:
        """Count some features, in place, as missing in rows of these weights."""
        gone = class_weight.repeated(len(columns))
        self.tables["missing"] = self.tables["missing"].accumulate(gone, columns=columns)

    # ---- what they say -----------------------------------------------------------------------

    def observed(self, class_weight: ExactArray, columns: slice = slice(None)) -> ExactArray:
        """The weight of the rows in which each feature is not missing, (C, b)."""
        gone = self.tables["missing"].gather(1, columns)
        return class_weight.repeated(gone.shape[1]).accumulate(gone, sign=-1)

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no data can have these statistics, or None if some might."""
        observed = self.observed(class_weight)
        if observed.below_zero(self.tables["missing"]) or self.tables["missing"].any_negative():
            return FORGOTTEN
        nothing = ~observed.nonzero()
        for name, table in self.tables.items():
            if name != "missing" and (table.nonzero() & nothing).any():
                return NOT_LEARNED
        return None

    def refused(self) -> str | None:
        """Why nothing can be forgotten, or None if it can."""
        return None

    @property
    def reversible(self) -> bool:
        """Whether subtracting what was added gives, bit for bit, what was there before."""
        return True

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """The shape of each table, for so many classes and features."""
        return dict.fromkeys(self.tables, (n_classes, n_features))

    def stored(self) -> dict[str, ExactArray]:
        """The tables that a file has to hold."""
        return self.tables

    def arrays(self) -> Arrays:
        """What it has to hold beside them."""
        return {}

    @property
    def nbytes(self) -> int:
        """The memory that the tables take."""
        return sum(table.limbs.nbytes for table in self.tables.values())

    def _mapped(self, function: Callable[[ExactArray], ExactArray]) -> Self:
        return self._with({name: function(table) for name, table in self.tables.items()})

    def _by_class(self, function: Callable[[ExactArray], ExactArray]) -> Self:
        """As `_mapped`, of the tables that have a row for each class."""
        pooled = self.pooled_tables
        tables = self.tables.items()
        return self._with({name: t if name in pooled else function(t) for name, t in tables})

    def _with(self, tables: dict[str, ExactArray], **others: Any) -> Self:
        """The same with these tables, and with these values of other attributes."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__, tables=tables, **others)
        return new

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        a, b = self.canonical(), other.canonical()
        return a.tables == b.tables and a._agrees(b)

    def _agrees(self, other: Self) -> bool:
        """Whether what canonical statistics hold beside their tables is the same."""
        return True

    __hash__ = None  # type: ignore[assignment]


def two_classes(sums: ExactArray, code: int) -> ExactArray:
    """Of sums by class, of which class 0 is all: what is not of a class, and what is; (2, ...)."""
    both, own = sums.gather(0, np.array([0, code])), sums.gather(0, np.array([code]))
    return both.accumulate(own, rows=np.zeros(1, np.int64), sign=-1)


S = TypeVar("S", bound=Statistics)

Takes = Literal["numbers", "truths", "levels", "cells", "documents", "values"]


class Summary(ABC, Generic[S]):
    """What to count of some columns. What equal summaries count adds up."""

    takes: ClassVar[Takes] = "numbers"
    """What rows are made of: numbers or truth values as an array of numbers, NaN being a missing
    one; `Encoded` levels, as text or, of "cells", as numbers where all are; documents; or `Values`,
    of which each is a number or a text."""
    by_column: ClassVar[bool] = True
    """Whether each column is counted by itself, so that columns can be taken out of the sums."""
    takes_sparse: ClassVar[bool] = True
    """Whether a CSR matrix is counted too; each summary that reads columns one by one does."""
    bounds: tuple[float, float] = (-LARGEST, LARGEST)
    """The least and the greatest number that can be counted."""

    @property
    def of_texts(self) -> bool:
        """Whether it counts the terms of documents."""
        return self.takes == "documents"

    @property
    def of_levels(self) -> bool:
        """Whether it counts the levels of each column."""
        return self.takes == "levels" and self.by_column

    @abstractmethod
    def summarise(self, X: Data, batch: Batch, workers: Workers) -> S:
        """The statistics of a batch of rows. Raises `InvalidValueError`; keeps nothing."""

    kind: type[S]
    tables: ClassVar[tuple[str, ...]] = ()
    """The class of its statistics, and their tables, where each of these is (C, d)."""

    def unread(self, X: Data) -> dict[int, Invalid]:
        """Values that count as missing as they are of another kind, by the column."""
        return {}

    def empty(self, n_classes: int, n_features: int) -> S:
        """The statistics of no rows."""
        shape = n_classes, n_features
        return self.kind({name: ExactArray.zeros(shape) for name in self.tables})

    def of_rows(self, rows: Statistics) -> S | None:
        """The same of rows that another summary kept; None where that cannot be."""
        return None

    def read(self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int) -> S:
        """The statistics that a file holds, as `Statistics.arrays` and its tables have them.

        Raises
        ------
        ValueError : if they cannot be true, saying why.
        """
        return self.empty(0, n_features)._with(tables)


def is_sparse(X: Data) -> bool:
    """Whether the data are a CSR matrix."""
    return not isinstance(X, np.ndarray)


def dense(X: Data) -> npt.NDArray[Any]:
    """The data as a NumPy array.

    Raises ValueError for a sparse matrix that would take more than 1 GiB: zeros that nobody wrote
    would fill the memory.
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
    """The array as kernels are given rows: read-only, whether it may be written or not."""
    view = X.view()
    view.flags.writeable = False
    return view
