"""What every family has: statistics that add up, and parameters that score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Float64, Int64
from naively.workers import Workers

Data = Any
"""Rows to learn from or to score: a 2-d NumPy array of real numbers, or a SciPy CSR matrix."""

LARGEST = float(np.finfo(np.float64).max)
SCORED = 1 << 18  # cells of a chunk's table of scores: 2 MiB


class FeatureError(ValueError):
    """What is wrong with what was learned of the feature of this number."""

    def __init__(self, problem: str, feature: int = 0) -> None:
        super().__init__(problem)
        self.feature = feature


class InvalidValueError(ValueError):
    """A value that a family cannot take: what is wrong, and where.

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
        return type(self)._restored, (self.row, self.column, self.problem, self.args)

    @classmethod
    def _restored(cls, row: int, column: int, problem: str, args: tuple[str]) -> Self:
        error = cls(row, column, problem)
        error.args = args
        return error


class SingularCovarianceError(ValueError):
    """A covariance matrix that no normal density has.

    Attributes
    ----------
    feature : int
    problem : str, a clause about the feature.
    code : int, the class; None if all classes share the matrix.
    advice : str, what to do about it.
    """

    code: int | None = None
    advice: str = ""

    def __init__(self, feature: int, problem: str) -> None:
        self.feature = feature
        self.problem = problem
        super().__init__(f"feature {feature} {problem}")


@dataclass(frozen=True)
class Batch:
    """Which class each row of some data belongs to, and what it weighs.

    Parameters
    ----------
    codes : (n,) int64, positions in the classes of the batch.
    n_classes : int
    weights : (n,) float64 above 0, or empty if every row weighs 1.
    """

    codes: Int64
    n_classes: int
    weights: Float64 = field(default_factory=lambda: np.empty(0))

    def part(self, rows: slice) -> Batch:
        """Of some of the rows, with the same classes."""
        return Batch(self.codes[rows], self.n_classes, self.weights[rows])


@dataclass
class Statistics:
    """Exact sums over the rows of each class.

    Attributes
    ----------
    tables : dict of ExactArray, the first axis of each being the class.
    """

    tables: dict[str, ExactArray]

    signed: ClassVar[tuple[str, ...]] = ()
    """Tables whose numbers may be negative."""

    def with_classes(self, positions: Int64, n_classes: int) -> Self:
        """Spread over more classes: class k becomes positions[k], the others have no rows."""
        return self._mapped(lambda table: table.placed(0, positions, n_classes))

    def add(self, other: Statistics, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) the statistics of `other`, whose class k is self's classes[k]."""
        for name, table in other.tables.items():
            self.tables[name] = self.tables[name].add(table, rows=classes, sign=sign)

    def scaled(self, gamma: float) -> Self:
        """Every sum times gamma."""
        return self._mapped(lambda table: table.scaled(gamma))

    def copy(self) -> Self:
        """A copy that shares nothing."""
        return self._mapped(ExactArray.copy)

    def canonical(self) -> Self:
        """The same statistics in their one smallest form."""
        return self._mapped(ExactArray.trimmed)

    def taken_classes(self, classes: Int64) -> Self:
        """Of some classes only."""
        return self._mapped(lambda table: table.taken(0, classes))

    def with_columns(self, own: Int64, positions: Int64, n_features: int) -> Self:
        """Some of the features among others, which have no values: own[k] is positions[k]."""
        return self._mapped(lambda table: table.taken(1, own).placed(1, positions, n_features))

    def lack(self, columns: Int64, class_weight: ExactArray) -> None:
        """Count some features, in place, as missing in rows of these weights."""
        limbs = np.repeat(class_weight.limbs[:, np.newaxis, :], len(columns), axis=1)
        gone = ExactArray(limbs, class_weight.low)
        self.tables["missing"] = self.tables["missing"].add(gone, columns=columns)

    def observed(self, class_weight: ExactArray, columns: slice = slice(None)) -> ExactArray:
        """The weight of the rows in which each feature is not missing, (C, b)."""
        gone = self.tables["missing"].taken(1, columns)
        limbs = np.repeat(class_weight.limbs[:, np.newaxis, :], gone.shape[1], axis=1)
        return ExactArray(limbs, class_weight.low).add(gone, sign=-1)

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no data can have these statistics, or None if some might."""
        observed = self.observed(class_weight)
        if observed.below_zero(self.tables["missing"]) or self.tables["missing"].any_negative():
            return "more was forgotten than was learned"
        nothing = ~observed.nonzero()
        for name, table in self.tables.items():
            if name != "missing" and (table.nonzero() & nothing).any():
                return "these rows were not all learned before"
        return None

    def _mapped(self, function: Callable[[ExactArray], ExactArray]) -> Self:
        tables = {name: function(table) for name, table in self.tables.items()}
        return self._with(tables)

    def _with(self, tables: dict[str, ExactArray]) -> Self:
        return type(self)(tables)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statistics) and self.tables == other.tables

    __hash__ = None  # type: ignore[assignment]


class Parameters(ABC):
    """The estimated distribution p(x | y) of each class."""

    n_free: int
    """Number of free parameters, as the lectures count them."""

    def chunk(self, X: Data, n_classes: int) -> int:
        """How many rows to score at a time."""
        return max(64, SCORED // max(1, n_classes))

    def prepare(self, X: Data, workers: Workers) -> None:  # noqa: B027
        """Compute what `log_prob` needs for such rows, before threads call it."""

    @abstractmethod
    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """log p(x_i | c), up to a term that depends on x alone, for rows start:stop.

        `out` is (C, stop - start). Units: nats. Raises `InvalidValueError`.
        """

    def leading(
        self, X: Data, start: int, stop: int, log_prior: Float64, margin: float, out: Float64
    ) -> None:
        """log π_c + log p(x_i | c) as `log_prob` has it; -inf may stand for more than `margin`
        nats below the best class of a row.
        """
        self.log_prob(X, start, stop, out)
        out += log_prior[:, np.newaxis]

    @abstractmethod
    def contributions(self, X: Data) -> Float64:
        """What each feature adds to `log_prob`: (n, C, d), in nats."""

    def alone(self, X: Data) -> Float64:
        """What each feature would add to `log_prob` by itself: (n, C, d), in nats."""
        return self.contributions(X)

    def log_base(self, X: Data) -> Float64:
        """The term of log p(x | y) that depends on x alone: (n,), in nats."""
        return np.zeros(X.shape[0])

    @abstractmethod
    def sample(self, codes: Int64, generator: np.random.Generator) -> Any:
        """One row for each class code, (n, d), as the family takes it."""

    def linear(self) -> tuple[Float64, Float64]:
        """(w, b), (C, D) and (C,), with log p(x | c) = w_c . x + b_c up to a term in x alone.

        D is d and x is itself, unless `linear_rows` says otherwise.

        Raises
        ------
        ValueError : where the model is not linear in x, saying why.
        """
        raise ValueError(self.not_linear)

    def linear_rows(self, X: Data) -> Any:
        """What `linear` is linear in: (n, D), an array or CSR matrix; NaN for missing numbers."""
        return X

    def linear_columns(self) -> tuple[Int64, npt.NDArray[np.object_]] | None:
        """(feature, level) of each column of `linear_rows`, (D,) both; None if they are those of X.

        The level is None for the number itself, NaN for a missing value.
        """
        return None

    not_linear: ClassVar[str] = "this family is not linear in x"


class Family(ABC):
    """An event model p(x_α | y) over a block of columns, with its hyperparameters."""

    name: ClassVar[str]
    support: ClassVar[tuple[float, float]] = (-LARGEST, LARGEST)
    """The least and the greatest value that has a probability or density above 0."""
    is_density: ClassVar[bool] = True
    may_be_singular: ClassVar[bool] = False
    """Whether `estimate` may refuse statistics that more rows would mend."""

    def adds_to(self, other: Family) -> bool:
        """Whether statistics of the two mean the same."""
        return type(self) is type(other)

    def check(self, statistics: Any, class_weight: ExactArray) -> None:  # noqa: B027
        """Raise ValueError if the hyperparameters do not fit these classes and features."""

    @abstractmethod
    def summarise(self, X: Data, batch: Batch, workers: Workers) -> Statistics:
        """The statistics of a batch. Raises `InvalidValueError`; keeps nothing."""

    @abstractmethod
    def empty(self, n_classes: int, n_features: int) -> Statistics:
        """The statistics of no rows."""

    @abstractmethod
    def estimate(self, statistics: Any, class_weight: ExactArray) -> Parameters:
        """The parameters that follow from statistics: all smoothing happens here."""

    def estimate_on(
        self, statistics: Any, class_weight: ExactArray, workers: Workers
    ) -> Parameters:
        """The same, on several workers where that pays."""
        return self.estimate(statistics, class_weight)


def difference(a: Family, b: Family) -> str:
    """In what two families differ, in a few words."""
    if type(a) is not type(b):
        return f"{a.name} and {b.name}"
    if not is_dataclass(a):
        return a.name
    pairs = [(one.name, getattr(a, one.name), getattr(b, one.name)) for one in fields(a)]
    unlike = [f"{name} {mine!r} and {theirs!r}" for name, mine, theirs in pairs if
              repr(mine) != repr(theirs)]  # fmt: skip
    return f"{a.name} with {', '.join(unlike) or 'other reference documents'}"


def column_blocks(n_features: int, width: int = 8192) -> Iterator[slice]:
    """Slices that cover the features, so that no temporary is of the size of a table."""
    return (slice(at, min(at + width, n_features)) for at in range(0, n_features, width))


def is_sparse(X: Data) -> bool:
    """Whether the data are a CSR matrix."""
    return not isinstance(X, np.ndarray)


def dense(X: Data) -> npt.NDArray[Any]:
    """The data as a NumPy array."""
    return cast("npt.NDArray[Any]", X.toarray()) if is_sparse(X) else X


def raise_infinite(position: int, n_features: int) -> None:
    """Raise the error for a kernel's report of an infinite value, if it is one."""
    if position >= 0:
        row, column = divmod(int(position), n_features)
        raise InvalidValueError(row, column, "Input X contains infinity: {where} is infinite")
