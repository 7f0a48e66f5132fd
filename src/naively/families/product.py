"""Blocks of columns, each with a family of its own: p(x | y) = Π_b p_b(x_b | y).

Naive Bayes is one block a column; columns whose families are equal share a block for speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import hstack

from naively.exact import ExactArray, Float64, Int64
from naively.families.base import (
    LARGEST,
    Batch,
    Data,
    Family,
    FeatureError,
    InvalidValueError,
    Parameters,
    SingularCovarianceError,
    Statistics,
    is_sparse,
)
from naively.families.terms import TextStatistics
from naively.workers import Serial, Workers


@dataclass(frozen=True)
class Blocks:
    """Rows of a table, cut into blocks of columns.

    Attributes
    ----------
    parts : list of what each block's family takes, with n rows each.
    n_rows : int
    """

    parts: list[Data]
    n_rows: int

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return self.n_rows, sum(part.shape[1] for part in self.parts)

    def __getitem__(self, rows: Any) -> Blocks:
        n_rows = len(np.arange(self.n_rows)[rows])
        return Blocks([part[rows] for part in self.parts], n_rows)


@dataclass(frozen=True)
class Product(Family):
    """Families side by side; features are numbered block after block.

    Parameters
    ----------
    families : tuple of Family, one a block.
    sizes : tuple of int, number of features of each block.
    """

    families: tuple[Family, ...]
    sizes: tuple[int, ...]

    name = "product"

    @property
    def is_density(self) -> bool:  # type: ignore[override]
        """Whether each block's scores are a density or probability of x."""
        return all(family.is_density for family in self.families)

    @property
    def may_be_singular(self) -> bool:  # type: ignore[override]
        """Whether any block's family may refuse its statistics."""
        return any(family.may_be_singular for family in self.families)

    def adds_to(self, other: Family) -> bool:
        """Whether statistics of the two mean the same."""
        return (
            isinstance(other, Product)
            and self.sizes == other.sizes
            and all(a.adds_to(b) for a, b in zip(self.families, other.families, strict=True))
        )

    def check(self, statistics: ProductStatistics, class_weight: ExactArray) -> None:
        """Raise ValueError if hyperparameters do not fit these classes and features.

        Text without a term is no error beside other features: it tells nothing, until some come.
        """
        silent = [isinstance(p, TextStatistics) and p.wordless for p in statistics.parts]
        parts = zip(self._starts(), self.families, statistics.parts, silent, strict=False)
        for first, family, part, tells_nothing in parts:
            if tells_nothing and not all(silent):
                continue
            with _placed(first):
                family.check(part, class_weight)

    def summarise(self, X: Blocks, batch: Batch, workers: Workers) -> ProductStatistics:
        """The statistics of each block."""
        parts = []
        for first, family, part in zip(self._starts(), self.families, X.parts, strict=False):
            with _placed(first):
                parts.append(family.summarise(part, batch, workers))
        return ProductStatistics(parts)

    def empty(self, n_classes: int, n_features: int) -> ProductStatistics:
        """The statistics of no rows."""
        return ProductStatistics(
            [f.empty(n_classes, size) for f, size in zip(self.families, self.sizes, strict=True)]
        )

    def estimate(self, statistics: ProductStatistics, class_weight: ExactArray) -> Any:
        """The parameters of each block."""
        return self.estimate_on(statistics, class_weight, Serial())

    def estimate_on(
        self, statistics: ProductStatistics, class_weight: ExactArray, workers: Workers
    ) -> Any:
        """The parameters of each block, one after the other."""
        parts = []
        for first, family, part in zip(
            self._starts(), self.families, statistics.parts, strict=False
        ):
            with _placed(first):
                parts.append(family.estimate_on(part, class_weight, workers))
        return ProductParameters(parts, self._starts())

    def _starts(self) -> list[int]:
        """The number of each block's first feature, and of all features."""
        return [0, *np.cumsum(self.sizes).tolist()]


@contextmanager
def _placed(first: int) -> Iterator[None]:
    """Add the number of a block's first feature to that of an error."""
    try:
        yield
    except InvalidValueError as error:
        error.column += first
        raise
    except (FeatureError, SingularCovarianceError) as error:
        error.feature += first
        raise


class ProductStatistics(Statistics):
    """The statistics of each block.

    Attributes
    ----------
    parts : list of Statistics
    """

    def __init__(self, parts: list[Statistics]) -> None:
        super().__init__({})
        self.parts = parts

    def with_classes(self, positions: Int64, n_classes: int) -> Self:
        """Spread over more classes."""
        return self._each(lambda part: part.with_classes(positions, n_classes))

    def add(self, other: Statistics, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) the statistics of `other`, whose class k is self's classes[k]."""
        assert isinstance(other, ProductStatistics)
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            mine.add(theirs, classes, sign)

    def scaled(self, gamma: float) -> Self:
        """Every sum times gamma."""
        return self._each(lambda part: part.scaled(gamma))

    def copy(self) -> Self:
        """A copy that shares nothing."""
        return self._each(lambda part: part.copy())

    def canonical(self) -> Self:
        """The same statistics in their one smallest form."""
        return self._each(lambda part: part.canonical())

    def taken_classes(self, classes: Int64) -> Self:
        """Of some classes only."""
        return self._each(lambda part: part.taken_classes(classes))

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no data can have these statistics, or None if some might."""
        problems = (part.impossible(class_weight) for part in self.parts)
        return next(filter(None, problems), None)

    def _each(self, function: Any) -> Self:
        return type(self)([function(part) for part in self.parts])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProductStatistics) and self.parts == other.parts

    __hash__ = None


class ProductParameters(Parameters):
    """The parameters of each block.

    Attributes
    ----------
    parts : list of Parameters
    starts : list of int, the number of each block's first feature, and of all features.
    """

    def __init__(self, parts: list[Parameters], starts: list[int]) -> None:
        self.parts = parts
        self.starts = starts
        self.n_free = sum(part.n_free for part in parts)

    def _pairs(self, X: Blocks) -> Iterator[tuple[int, Parameters, Data]]:
        return zip(self.starts, self.parts, X.parts, strict=False)

    def chunk(self, X: Blocks, n_classes: int) -> int:
        """How many rows to score at a time."""
        return min(p.chunk(part, n_classes) for _, p, part in self._pairs(X))

    def prepare(self, X: Blocks, workers: Workers) -> None:
        """Compute what `log_prob` needs for such rows."""
        for _, parameters, part in self._pairs(X):
            parameters.prepare(part, workers)

    def log_prob(self, X: Blocks, start: int, stop: int, out: Float64) -> None:
        """Σ_b log p_b(x_b | c); sums beyond the largest float stay there, so that they rank."""
        out[:] = 0.0
        scores = np.empty_like(out)
        for first, parameters, part in self._pairs(X):
            with _placed(first):
                parameters.log_prob(part, start, stop, scores)
            with np.errstate(over="ignore"):
                total = out + scores
            infinite = np.isinf(total)
            if infinite.any():
                infinite &= np.isfinite(out) & np.isfinite(scores)
                total[infinite] = np.copysign(LARGEST, total[infinite])
            out[:] = total

    def contributions(self, X: Blocks) -> Float64:
        """What each feature adds to `log_prob`: (n, C, d), in nats."""
        return np.concatenate([p.contributions(part) for _, p, part in self._pairs(X)], axis=2)

    def log_base(self, X: Blocks) -> Float64:
        """The terms in x alone."""
        return np.sum([p.log_base(part) for _, p, part in self._pairs(X)], axis=0)

    def sample(self, codes: Int64, generator: np.random.Generator) -> Any:
        """One row for each class code, as `Blocks`."""
        return Blocks([part.sample(codes, generator) for part in self.parts], len(codes))

    def linear(self) -> tuple[Float64, Float64]:
        """The slopes of all blocks side by side, where each is linear."""
        forms = [part.linear() for part in self.parts]
        weight = np.concatenate([weight for weight, _ in forms], axis=1)
        return weight, np.sum([bias for _, bias in forms], axis=0)

    def linear_rows(self, X: Blocks) -> Any:
        """What each block is linear in, side by side."""
        rows = []
        for first, parameters, part in self._pairs(X):
            with _placed(first):
                rows.append(parameters.linear_rows(part))
        return hstack(rows, format="csr") if any(map(is_sparse, rows)) else np.hstack(rows)

    def linear_columns(self) -> tuple[Int64, npt.NDArray[np.object_]]:
        """(feature, level) of each column of `linear_rows`."""
        features, levels = [], []
        for (first, after), part in zip(pairwise(self.starts), self.parts, strict=True):
            numbers = np.arange(after - first), np.full(after - first, None)
            own, their = part.linear_columns() or numbers
            features.append(first + own)
            levels.append(their)
        return np.concatenate(features), np.concatenate(levels)
