"""Combine families of different columns in one model, and infer the family of each column."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import is_
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from naively.core.exact import LARGEST, ExactArray, Float64, Int64
from naively.core.issues import Categories
from naively.core.labels import Labels
from naively.core.workers import SERIAL, Workers
from naively.families.base import AnyFamily, Family, FeatureError, Parameters
from naively.families.discrete.categorical import Categorical, Unseen
from naively.families.numeric.gaussian import Gaussian
from naively.families.text.text import Text
from naively.statistics.base import Data, Statistics, is_sparse
from naively.statistics.blocks import BlockPlace, Blocks, BlockStatistics, Summaries, numbered
from naively.statistics.candidates import FEW_NUMBERS, Candidates, CandidateStatistics

ALL_NUMBERS = 1_000_000
"""The most distinct numbers that are counted where each number is a category."""


@dataclass(frozen=True)
class Inferred(Family[CandidateStatistics, Any]):
    """A placeholder for columns of which the types are not known: see `naively.model.column_types`.

    It estimates nothing: a model of such columns is read as a model with a family for each column.

    alpha, unseen : of categories, booleans and terms; alpha may be a dict by column, of numbers or
        of the dicts that `Categorical` takes.
    numeric : Family of the numeric columns; None to choose by the default rule.
    """

    alpha: Any = 1.0
    unseen: Unseen = "smooth"
    numeric: AnyFamily | None = None

    name = "inferred"

    @property
    def summary(self) -> Candidates:  # type: ignore[override]
        """Count the distinct values of each column."""
        levels = self.numeric is not None and self.numeric.summary.of_levels
        return Candidates(ALL_NUMBERS if levels else FEW_NUMBERS)

    @property
    def by_column(self) -> bool:
        """True: each column has its own type."""
        return True

    @property
    def levels(self) -> AnyFamily | None:
        """The requested family, if it models categories and is not a plain `Categorical`."""
        family = self.numeric
        of_levels = family is not None and family.summary.of_levels
        return family if of_levels and repr(family) != repr(Categorical()) else None

    @property
    def of_numbers(self) -> AnyFamily:
        """The family of a column with many distinct numbers."""
        return self.numeric or Gaussian(floor="feature")

    def of_texts(self, name: str) -> AnyFamily:
        """The family of a column with many distinct texts."""
        return Text(alpha=self.alpha_of(name))

    def alpha_of(self, name: str) -> Any:
        """The smoothing of one column; 1 for columns that a dict does not name."""
        return self.alpha.get(name, 1.0) if isinstance(self.alpha, Mapping) else self.alpha

    def of_column(self, name: str) -> Inferred:
        """Return the family with the smoothing of one column."""
        return replace(self, alpha=self.alpha_of(name))

    def categorical(self, name: str) -> AnyFamily:
        """The family of a column that is declared categorical."""
        return self.levels or Categorical(self.alpha_of(name), unseen=self.unseen)

    def estimate(self, statistics: CandidateStatistics, class_weight: ExactArray) -> Any:
        """Not available: the families of the columns estimate."""
        raise NotImplementedError("the families of these columns are estimated, not their types")


# ---- product -------------------------------------------------------------------------------------


DOWN = 2.0 ** -np.arange(100.0, 1100.0, 100.0)
"""Factors by which numbers are scaled down if their scores overflow float64."""


@dataclass(frozen=True)
class Product(Family[BlockStatistics, "ProductParameters"]):
    """Independent families over blocks of columns; their log-probabilities add up."""

    families: tuple[AnyFamily, ...]
    places: tuple[BlockPlace, ...]
    summary: Summaries
    n_features: int

    name = "product"

    @property
    def is_density(self) -> bool:  # type: ignore[override]
        """Whether each block's scores are a density or probability of x."""
        return all(family.is_density for family in self.families)

    @property
    def is_story(self) -> bool:  # type: ignore[override]
        """Whether each block draws rows from the distribution that scores them."""
        return all(family.is_story for family in self.families)

    @property
    def may_be_singular(self) -> bool:  # type: ignore[override]
        """Whether the family of any block may reject its statistics."""
        return any(family.may_be_singular for family in self.families)

    def check(self, statistics: BlockStatistics, class_weight: ExactArray) -> None:
        """Raise ValueError if hyperparameters do not fit these classes and features.

        A text column without terms is allowed beside other features: its evidence is 0 until later
        documents have terms.
        """
        parts = [self._of(statistics, place) for place in self.places]
        wordless = [getattr(part, "wordless", False) for part in parts]
        for k, (family, place) in enumerate(zip(self.families, self.places, strict=True)):
            if not wordless[k] or all(wordless):
                with _blamed(place.features):
                    family.check(parts[k], class_weight)

    def check_named(self, classes: Labels) -> None:
        """Raise ValueError if hyperparameters name a class that is not among these."""
        for family, place in zip(self.families, self.places, strict=True):
            with _blamed(place.features):
                family.check_named(classes)

    def within(
        self, classes: Labels, names: Sequence[str], types: Mapping[str, str] | None = None
    ) -> Product:
        """Return the families for these classes and their columns."""
        families = tuple(
            family.within(classes, [names[k] for k in place.features], types)
            for family, place in zip(self.families, self.places, strict=True)
        )
        return self if all(map(is_, families, self.families)) else replace(self, families=families)

    def warning(self, statistics: BlockStatistics) -> str | None:
        """Return the first warning of any family."""
        pairs = zip(self.families, self.places, strict=True)
        messages = (family.warning(self._of(statistics, place)) for family, place in pairs)
        return next(filter(None, messages), None)

    def estimate(
        self, statistics: BlockStatistics, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> ProductParameters:
        """Estimate the parameters of each block."""
        parts = []
        for family, place in zip(self.families, self.places, strict=True):
            with _blamed(place.features):
                block_statistics = self._of(statistics, place)
                parts.append(family.estimate_on(block_statistics, class_weight, workers))
        return ProductParameters(parts, self.places, self.n_features)

    estimate_on = estimate

    @staticmethod
    def _of(statistics: BlockStatistics, place: BlockPlace) -> Statistics:
        """Return the statistics of the columns of a block."""
        part = statistics.parts[place.part]
        return part if place.columns is None else part.gather_columns(place.columns)


@contextmanager
def _blamed(features: Int64) -> Iterator[None]:
    """Renumber the feature of an error from the block's features to those of the model."""
    try:
        yield
    except FeatureError as error:
        error.feature = int(features[error.feature])
        raise


class ProductParameters(Parameters):
    """The parameters of each block."""

    def __init__(
        self, parts: list[Parameters], places: tuple[BlockPlace, ...], n_features: int
    ) -> None:
        self.parts = parts
        self.places = places
        self.n_features = n_features
        self.n_free = sum(part.n_free for part in parts)
        self.bias = sum(part.bias for part in parts)

    def _blocks(self, X: Blocks) -> Iterator[tuple[BlockPlace, Parameters, Data]]:
        """Yield (position of its columns, its parameters, its data) of each block."""
        for k, (place, part) in enumerate(zip(self.places, self.parts, strict=True)):
            yield place, part, X.of(k, place)

    def chunk(self, X: Blocks, n_classes: int) -> int:
        """Number of rows that are scored at a time."""
        return min(part.chunk(data, n_classes) for _, part, data in self._blocks(X))

    def prepare(self, X: Blocks, workers: Workers) -> None:
        """Compute what `log_prob` needs for such rows."""
        for _, part, data in self._blocks(X):
            part.prepare(data, workers)

    def categories(self, X: Blocks, but: Container[int]) -> dict[int, Categories]:
        """Return the categories of the rows in each categorical feature, except those in `but`."""
        categories: dict[int, Categories] = {}
        for place, part, data in self._blocks(X):
            features = place.features.tolist()
            excluded = {k for k, j in enumerate(features) if j in but}
            categories |= {features[k]: c for k, c in part.categories(data, excluded).items()}
        return categories

    def log_prob(self, X: Blocks, start: int, stop: int, out: Float64) -> None:
        """Compute Σ_b log p_b(x_b | c); clip sums that overflow, to keep the ranking."""
        out[:] = 0.0
        scores = np.empty(out.shape)
        for place, part, data in self._blocks(X):
            with numbered(place.features):
                part.log_prob(data, start, stop, scores)
            _add(out, scores)
        self._settle(X, start, out)

    def leading(
        self, X: Blocks, start: int, stop: int, before: Float64, margin: float, out: Float64
    ) -> None:
        """As the base class; blocks that skip classes come last, and then skip the most."""
        if margin == np.inf or not any(part.leaves_out for part in self.parts):
            super().leading(X, start, stop, before, margin, out)
            return
        total = np.array(np.broadcast_to(before, out.shape))
        scores = np.empty(out.shape)
        for place, part, data in sorted(self._blocks(X), key=lambda block: block[1].leaves_out):
            with numbered(place.features):
                if part.leaves_out:
                    part.leading(data, start, stop, total, margin, out)
                    total[:] = out
                else:
                    part.log_prob(data, start, stop, scores)
                    _add(total, scores)
        self._settle(X, start, out)

    def _settle(self, X: Blocks, start: int, out: Float64) -> None:
        """Choose a class for rows of which blocks beyond float64 favour different classes.

        The class is the best one after the values of these blocks are scaled down until the
        scores are finite.
        """
        rows = np.flatnonzero(np.isneginf(out.max(axis=0)))
        if not len(rows):
            return
        blocks = [(part, data[start + rows]) for _, part, data in self._blocks(X)]
        scores = [_scored(part, data, len(out)) for part, data in blocks]
        extreme = np.array([abs(block_scores.max(axis=0)) == LARGEST for block_scores in scores])
        for k in np.flatnonzero(extreme.any(axis=0)):
            for factor in DOWN:
                total, row = np.zeros((len(out), 1)), slice(k, k + 1)
                for b, (part, data) in enumerate(blocks):
                    if extreme[b, k]:
                        _add(total, _scored(part, data[row] * factor, len(out)))
                    else:
                        _add(total, scores[b][:, row])
                best = total.max()
                if -LARGEST < best < LARGEST:
                    winner = np.where(total == best, np.copysign(LARGEST, best), -np.inf)
                    out[:, rows[k]] = winner[:, 0]
                    break

    def contributions(self, X: Blocks) -> Float64:
        """Compute the contribution of each feature to `log_prob`: (n, C, d), in nats."""
        return self._by_feature(X, lambda part, data: part.contributions(data))

    def biases(self, X: Blocks) -> Float64 | float:
        """Add up the constants of all blocks."""
        return sum(part.biases(data) for _, part, data in self._blocks(X))

    def mixing(self, X: Blocks) -> Float64 | float:
        """Add up the prior mixing of all blocks."""
        return sum(part.mixing(data) for _, part, data in self._blocks(X))

    def alone(self, X: Blocks) -> Float64:
        """Compute what each feature alone would add to `log_prob`: (n, C, d), in nats."""
        return self._by_feature(X, lambda part, data: part.alone(data))

    def _by_feature(self, X: Blocks, what: Callable[[Parameters, Data], Float64]) -> Float64:
        """Add up a quantity by feature over the blocks."""
        block_terms = [(place, what(part, data)) for place, part, data in self._blocks(X)]
        out = np.zeros((*block_terms[0][1].shape[:2], self.n_features))
        for place, terms in block_terms:
            out[:, :, place.features] += terms
        return out

    def log_base(self, X: Blocks) -> Float64:
        """Add up the terms in x alone."""
        return np.sum([part.log_base(data) for _, part, data in self._blocks(X)], axis=0)

    def sample(self, codes: Int64, generator: np.random.Generator) -> list[Any]:
        """Draw for each block one row for each class code."""
        return [part.sample(codes, generator) for part in self.parts]

    @property
    def has_length(self) -> bool:  # type: ignore[override]
        """Whether any block has a length."""
        return any(part.has_length for part in self.parts)

    def sample_events(self, codes: Int64, length: int, generator: np.random.Generator) -> list[Any]:
        """Draw rows with `length` events in each block that has a length."""
        return [part.sample_events(codes, length, generator) for part in self.parts]

    def linear(self) -> tuple[Float64, Float64]:
        """Concatenate the slopes of all blocks, and add up their constants."""
        forms = [part.linear() for part in self.parts]
        weight = np.concatenate([weight for weight, _ in forms], axis=1)
        return weight, np.sum([bias for _, bias in forms], axis=0)

    def linear_rows(self, X: Blocks) -> Any:
        """Concatenate the linear inputs of all blocks."""
        rows = []
        for place, part, data in self._blocks(X):
            with numbered(place.features):
                rows.append(part.linear_rows(data))
        if any(map(is_sparse, rows)):
            return scipy.sparse.hstack(rows, format="csr")
        return np.hstack(rows)

    def linear_columns(self) -> tuple[Int64, npt.NDArray[np.object_]]:
        """Return (feature, level) of each column of `linear_rows`."""
        features, levels = [], []
        for place, part in zip(self.places, self.parts, strict=True):
            size = len(place.features)
            columns, column_levels = part.linear_columns() or (np.arange(size), np.full(size, None))
            features.append(place.features[columns])
            levels.append(column_levels)
        return np.concatenate(features), np.concatenate(levels)


def _scored(part: Parameters, rows: Data, n_classes: int) -> Float64:
    """Compute the scores of a block for some rows, (C, n)."""
    scores = np.empty((n_classes, rows.shape[0]))
    part.log_prob(rows, 0, rows.shape[0], scores)
    return scores


def _add(total: Float64, scores: Float64) -> None:
    """Add scores in place; clip sums that overflow, to keep the ranking."""
    with np.errstate(over="ignore"):
        sums = total + scores
    infinite = np.isinf(sums)
    if infinite.any():
        infinite &= np.isfinite(total) & np.isfinite(scores)
        sums[infinite] = np.copysign(LARGEST, sums[infinite])
    total[:] = sums
