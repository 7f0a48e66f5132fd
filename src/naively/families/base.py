"""Define the base classes of families and of their estimated parameters.

Parameters score rows, explain and sample them, and describe themselves as the tables, events and
formulas that are printed, plotted and exported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.issues import Categories, Invalid
from naively.core.labels import Labels
from naively.core.workers import SERIAL, Workers
from naively.formula import Formula
from naively.pooling.blocks.shapes import Shape
from naively.pooling.entries import OutOfFoldPredictions
from naively.statistics.base import Arrays, Data, Statistics, Summary


@dataclass
class Section:
    """A description of the columns of one family, as it is printed.

    meaning : str, what the numbers are; ``p`` is a fraction here and in % when printed.
    signs : str, the separator between two numbers of a class.
    rows : dict of column name to a list of (label, {number's name: (C,) values}).
    words : dict of column name to a short text, for columns with too many numbers to list.
    """

    meaning: str
    signs: str = ""
    rows: dict[str, list[tuple[str, dict[str, Float64]]]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ClassNumbers:
    """A few numbers for each class and feature, such as means and deviations.

    values : (C, d) numbers by name.
    pictured : their names as captions, where the numbers of pixels are shown as images.
    """

    meaning: str
    signs: str
    values: dict[str, Float64]
    pictured: tuple[str, ...] = ()

    def section(self, names: Sequence[str]) -> Section:
        """Return a section with one row for each feature."""
        rows = {
            name: [(name, {key: value[:, j] for key, value in self.values.items()})]
            for j, name in enumerate(names)
        }
        return Section(self.meaning, self.signs, rows)


@dataclass(frozen=True)
class Listed:
    """Estimated numbers of one kind, of each class.

    name : the kind, such as ``mean`` or ``p``.
    features : (R,) the index of each number's feature; None for numbers of all features together.
    levels : (R,) the category, range or term of each; None for numbers of a feature as a whole.
    values : (C, R)
    others : (R,) the index of the second feature, for numbers of two features.
    """

    name: str
    features: Int64 | None
    levels: Sequence[str | None] | None
    values: Float64
    others: Int64 | None = None


@dataclass(frozen=True)
class Events:
    """Events that a family counts, such as terms or categories, and their counts in each class.

    names : (V,) terms, categories or features.
    counts : (C, V), how often each event occurred.
    totals : (C, 1) or (C, V), the number of trials.
    alpha, whole : virtual counts of the event, and of all possible events together;
        of shapes that broadcast to those of counts and totals.
    odds : (C, V) the log-odds that an event adds for a class against the others, in nats, where
        these do not follow from the counts.
    """

    names: Sequence[str]
    counts: Float64
    totals: Float64
    alpha: Any
    whole: Any
    odds: Float64 | None = None

    def weighing(self, slopes: Float64) -> Events:
        """Set the log-odds from (C, V) scores in nats: each less the mean of the other classes."""
        others = (slopes.sum(axis=0) - slopes) / max(len(slopes) - 1, 1)
        return replace(self, odds=slopes - others)

    def of_classes(self, chosen: Int64) -> Events:
        """Select some classes."""
        alpha, whole = (
            values[chosen] if np.ndim(values) == 2 and len(values) > 1 else values
            for values in (self.alpha, self.whole)
        )
        odds = None if self.odds is None else self.odds[chosen]
        return Events(self.names, self.counts[chosen], self.totals[chosen], alpha, whole, odds)


@dataclass(frozen=True)
class Evidence:
    """The evidence of one or several columns, and its weight.

    kind : of the evidence: "4 categories", "33 bins", "Gaussian, shared".
    importance : mean distance of the contribution to the log-odds from its mean, in nats: see
        `mean_contribution`.
    """

    names: Sequence[str]
    kind: str
    weight: float
    importance: float


def mean_contribution(added: Float64, share: Float64, prior: Float64) -> float:
    """Feature importance: mean distance of the contribution to the log-odds from its mean, in nats.

    For two classes this is Σ_i share_i |d_i - d̄| with d = added_1 - added_0. For more it is the
    mean over the classes, weighted by π, of the same for the log-odds of each class against the
    others: (added_c - Σ_k π_k added_k) / (1 - π_c), where the others are weighted by π.

    added : (C, n) added to the scores of rows, in nats.
    share : (n,) the weight of each row; the sum is 1.
    prior : (C,) π, the share of each class.
    """
    centred = added - (added @ share)[:, np.newaxis]  # a constant changes no ranking
    centred -= prior @ centred
    return float((prior / np.maximum(1.0 - prior, 1e-300)) @ np.abs(centred) @ share)


@dataclass(frozen=True)
class Evidences:
    """All evidence of a model.

    blocks : sorted by importance, the largest first.
    columns : the importance of each column, alone and in interactions, which are divided among
        their columns as in explanations; None if no training rows are stored.
    out_of_fold : out-of-fold predictions of the training rows; None if unknown.
    """

    blocks: Sequence[Evidence]
    columns: dict[str, float] | None
    out_of_fold: OutOfFoldPredictions | None


def labelled(labels: Sequence[str], p: Float64) -> list[tuple[str, dict[str, Float64]]]:
    """Return the rows of a section for the probabilities (C, K) of K labels."""
    return [(label, {"p": p[:, k]}) for k, label in enumerate(labels)]


def first_levels(levels: Sequence[str], total: int) -> str:
    """List the first five categories, with "..." if there are more; `total` is their number."""
    return ", ".join(levels[:5]) + ", ..." * (total > 5) if total else "no values"


def in_order(levels: Sequence[Any]) -> list[int]:
    """Return the order in which sorted levels are listed: numbers by their value."""
    try:
        return sorted(range(len(levels)), key=lambda k: float(levels[k]))
    except ValueError:
        return list(range(len(levels)))


# ---- base ----------------------------------------------------------------------------------------


SCORED = 1 << 18  # cells of the score table of a chunk: 2 MiB


class FeatureError(ValueError):
    """An error about the statistics of one feature, with the index of this feature."""

    def __init__(self, problem: str, feature: int = 0) -> None:
        super().__init__(problem)
        self.feature = feature


class SingularCovarianceError(FeatureError):
    """A covariance matrix that is not positive definite.

    problem : str, a clause about the feature.
    code : int, the class; None if all classes share the matrix.
    advice : str, how to avoid the error.
    what, fault : the name of the matrix, and what is wrong with it.
    cause : the reason, with places for the feature and the problem.
    """

    code: int | None = None
    advice: str = ""
    what: str = "covariance"
    fault: str = "is singular"
    cause: str = "feature {feature} {problem}"

    def __init__(self, feature: int, problem: str) -> None:
        super().__init__(f"feature {feature} {problem}", feature)
        self.problem = problem


class Parameters(ABC):
    """The estimated distribution p(x | y) of each class."""

    n_free: int  # number of free parameters, counted as in the lectures
    bias: Float64 | float = 0.0
    """The constant of `log_prob`, (C,), which no feature contributes, in nats."""
    out_of_fold: OutOfFoldPredictions | None = None
    """Out-of-fold predictions of the training rows; None if the estimate made none."""
    has_texts: bool = False
    """Whether some columns are text, with the methods `explained_texts` and `weighted_terms`."""

    # ---- scores ------------------------------------------------------------------------------

    def chunk(self, X: Data, n_classes: int) -> int:
        """Number of rows that are scored at a time."""
        return max(64, SCORED // max(1, n_classes))

    def prepare(self, X: Data, workers: Workers) -> None:  # noqa: B027
        """Compute what `log_prob` needs for such rows, before threads call it."""

    def biases(self, X: Data) -> Float64 | float:
        """Return the constants of scores, without log π: (n, C), (C,) or a number."""
        return self.bias

    def mixing(self, X: Data) -> Float64 | float:
        """Return what prior mixing adds to the scores, in nats: (n, C), or 0 without any."""
        return 0.0

    @abstractmethod
    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Compute log p(x_i | c), up to a term in x alone, for rows start:stop.

        `out` is (C, stop - start). Units: nats. Raises `InvalidValueError`.
        """

    leaves_out: ClassVar[bool] = False
    """Whether `leading` skips classes that are too improbable to matter, to save time."""

    def leading(
        self, X: Data, start: int, stop: int, before: Float64, margin: float, out: Float64
    ) -> None:
        """Add `log_prob` to the scores `before`, such as log π_c: (C, 1) or (C, n).

        Scores more than `margin` nats below the best class of a row may be replaced by -inf.
        """
        self.log_prob(X, start, stop, out)
        out += before

    def readable(self, X: Data) -> tuple[Data, dict[int, Invalid]]:
        """Return the rows with values of an invalid type as missing, and these, by feature."""
        return X, {}

    def categories(self, X: Data, but: Container[int]) -> dict[int, Categories]:
        """Return the categories of the rows in each categorical feature, except those in `but`."""
        return {}

    def log_base(self, X: Data) -> Float64:
        """Compute the term of log p(x | y) that depends on x alone: (n,), in nats."""
        return np.zeros(X.shape[0])

    @abstractmethod
    def contributions(self, X: Data) -> Float64:
        """Compute the contribution of each feature to `log_prob`: (n, C, d), in nats."""

    def blocks(self) -> list[tuple[int, ...]] | None:
        """The features of each block, interactions included; None if each feature is a block."""
        return None

    def by_block(self, X: Data) -> Float64:
        """Compute the contribution of each block to `log_prob`: (n, C, K), in nats."""
        return self.contributions(X)

    def alone(self, X: Data) -> Float64:
        """Compute what each feature alone would add to `log_prob`: (n, C, d), in nats."""
        return self.contributions(X)

    @abstractmethod
    def sample(self, codes: Int64, generator: np.random.Generator) -> Any:
        """Draw one row for each class code, (n, d), in the family's input format."""

    has_length: ClassVar[bool] = False
    """Whether a row is a sequence of events, such as words: see `sample_events`."""

    def sample_events(self, codes: Int64, length: int, generator: np.random.Generator) -> Any:
        """Draw rows of `length` events, for parameters that have a length; else as `sample`."""
        return self.sample(codes, generator)

    def complete(self) -> None:  # noqa: B027
        """Compute what was deferred, and let go of the training rows."""

    def kept(self) -> Arrays:
        """Return the arrays that are stored in the file, if the family `keeps` its estimate."""
        return {}

    def structure(self) -> Any:
        """Return the structure (bins, interactions, weights), empty if everything is a sum."""
        return self.kept()

    def fixed(self, classes: Labels) -> Any:
        """Return a fixed structure for which other rows can be counted; None without one."""
        return None

    def formula(self, names: Sequence[str]) -> Formula | None:
        """Return `log_prob` of columns of these names as data; None if it has no such form.

        Raises ValueError if the family has such a form, but not for these parameters.
        """
        return None

    # ---- linear forms ------------------------------------------------------------------------

    not_linear: ClassVar[str] = "this family is not linear in x"

    def linear(self) -> tuple[Float64, Float64]:
        """Return (w, b), (C, D) and (C,): log p(x | c) = w_c . x + b_c up to a term in x alone.

        x is a row of `linear_rows`: by default the row itself, with D = d. Raises ValueError if the
        model is not linear in x, with the reason.
        """
        raise ValueError(self.not_linear)

    def linear_rows(self, X: Data) -> Any:
        """Return the inputs of `linear`, (n, D): an array or CSR matrix; NaN if missing."""
        return X

    def linear_columns(self) -> tuple[Int64, npt.NDArray[np.object_]] | None:
        """Return (feature, level) of each column of `linear_rows`, (D,) both; None if x is the row.

        The level is None for the number itself, NaN for a missing value.
        """
        return None

    # ---- descriptions ------------------------------------------------------------------------

    def numbers(self) -> ClassNumbers | None:
        """Return a few numbers for each class and feature, such as means; None without any."""
        return None

    def described(self, names: Sequence[str]) -> Section:
        """Describe the distribution of these features in each class."""
        numbers = self.numbers()
        assert numbers is not None, "a family has `numbers`, or describes itself"
        return numbers.section(names)

    def listed(self) -> list[Listed]:
        """List all numbers of each class and feature; empty for a family without such numbers."""
        numbers = self.numbers()
        values = {} if numbers is None else numbers.values
        return [Listed(name, np.arange(x.shape[1]), None, x) for name, x in values.items()]

    def evidence(self, names: Sequence[str]) -> Evidences | None:
        """Return the weighted evidence; None if the family has no weights."""
        return None

    def shapes(self, names: Sequence[str], classes: Labels) -> list[Shape]:
        """Return the evidence of each block, bin by bin; the most important block first."""
        return []

    def normal(self) -> tuple[Float64, Float64] | None:
        """Return (means (C, d), variances (C, d) or covariances (C, d, d)) of normal features."""
        return None

    def events(self, names: Sequence[str], features: Sequence[int] | None = None) -> Events | None:
        """Return the counted events of some features (default: all); None without events."""
        return None

    def event_probabilities(self) -> Float64 | None:
        """Return P(event is of feature j), (C, d), if all features share the events; else None."""
        return None

    claims_least: ClassVar[bool] = False
    """Whether the evidence is counted, as smoothed frequencies are, not extrapolated."""

    missing_is_evidence: ClassVar[bool] = False  # whether a missing value is evidence

    def supposing_least(self) -> Self | None:
        """Return a cautious version to detect leaks: itself if `claims_least`; None without one."""
        return self if self.claims_least else None

    def kinds(self) -> Int64 | int:
        """Return the number of distinct values of each feature, (d,); 0 for numbers."""
        return 0


S = TypeVar("S", bound=Statistics)
P = TypeVar("P", bound=Parameters)

CurveKind = Literal["density", "P(count | class)", "P(range | class)"]


def alpha_of_classes(alpha: Any, classes: Int64, n_classes: int) -> Any:
    """Select the smoothing of some of `n_classes` classes; return `alpha` if it is not by class.

    Smoothing by class is an array with one row per class, or a dict by category of one array each.
    """
    if isinstance(alpha, Mapping):
        selected = {
            level: np.asarray(value)[classes] if np.shape(value) == (n_classes,) else value
            for level, value in alpha.items()
        }
        return alpha if all(selected[k] is value for k, value in alpha.items()) else selected
    if alpha is None or isinstance(alpha, str) or np.ndim(alpha) != 2 or len(alpha) != n_classes:
        return alpha
    return np.asarray(alpha)[classes]


class Family(ABC, Generic[S, P]):
    """An event model p(x_α | y) over a block of columns, with its hyperparameters.

    Families with equal summaries share their statistics: these add up, and a model of one family
    becomes a model of the other without retraining.
    """

    name: ClassVar[str]
    summary: Summary[S]  # the summary that defines the sufficient statistics
    is_density: ClassVar[bool] = True
    is_story: ClassVar[bool] = True
    """Whether `sample` draws rows from the p(x | y) that scores them."""
    alpha_is_rows: ClassVar[bool] = False
    """Whether `alpha` is virtual rows of a density, rather than virtual counts of categories."""
    may_be_singular: ClassVar[bool] = False
    """Whether `estimate` may reject statistics that more rows would make regular."""
    independent: ClassVar[bool] = True  # whether the columns are independent, given the class
    curve: ClassVar[CurveKind | None] = None
    """How p(x | y) of one numeric feature is plotted as a curve; None if it is not."""
    text: tuple[str | int, ...] = ()
    """The columns that were declared as text, if the family models several columns together."""
    monotone: tuple[tuple[str | int, int], ...] = ()
    """(column, 1 or -1) of columns with a monotone constraint, in such a family."""
    keeps: ClassVar[bool] = False
    """Whether files store the estimate beside the sums, because it takes long."""
    closed: ClassVar[bool] = False
    """Whether the family fixes the columns and classes, so that no others can be added."""

    @property
    def by_column(self) -> bool:
        """Whether each column is estimated alone, so that blocks can be split."""
        values = [value for value in vars(self).values() if value is not None]
        plain = not any(np.ndim(value) > 0 or isinstance(value, Mapping) for value in values)
        return self.summary.by_column and plain

    @property
    def in_turn(self) -> bool:
        """Whether the contribution of a column is conditional on the columns before it."""
        return False

    @property
    def refers(self) -> bool:
        """Whether parameters depend on reference rows, as an idf depends on reference documents."""
        return False

    @property
    def needs_present_columns_only(self) -> bool:
        """Whether a sparse row can be scored by the sums of its columns and the grand totals."""
        return False

    def of_classes(self, classes: Int64, n_classes: int) -> Self:
        """Select some of `n_classes` classes, and their `alpha` if it is by class."""
        alpha = vars(self).get("alpha")
        selected = alpha_of_classes(alpha, classes, n_classes)
        return self if selected is alpha else replace(self, alpha=selected)  # type: ignore[type-var]

    def referring(self, X: Data, workers: Workers = SERIAL) -> Self:
        """Set these rows as reference, if the family needs a reference and has none."""
        return self

    def check_room(self, classes: Labels) -> None:
        """Raise ValueError if the family cannot model one of these classes."""

    def check_named(self, classes: Labels) -> None:
        """Raise ValueError if hyperparameters name a class that is not among these."""

    def within(
        self, classes: Labels, names: Sequence[str], types: Mapping[str, str] | None = None
    ) -> Self:
        """Return the family for these classes and declared column types, or itself."""
        return self

    def check(self, statistics: S, class_weight: ExactArray) -> None:
        """Raise ValueError if the hyperparameters do not fit these classes and features."""

    def warning(self, statistics: S) -> str | None:
        """Return a warning about hyperparameters that suit the statistics badly; None without one.

        Hyperparameters that cannot be used raise an error in `check`.
        """
        return None

    @abstractmethod
    def estimate(self, statistics: S, class_weight: ExactArray) -> P:
        """Estimate the parameters from statistics, with all smoothing."""

    def estimate_on(self, statistics: S, class_weight: ExactArray, workers: Workers) -> P:
        """Estimate the parameters, on several workers where that is faster."""
        return self.estimate(statistics, class_weight)

    def check_labels(self) -> None:
        """Raise ValueError unless rows may have any number of labels."""
        raise ValueError(f"multilabel models are of text alone, not of {self.name} columns")

    def estimate_labels(self, statistics: S, class_weight: ExactArray, workers: Workers) -> P:
        """Estimate parameters for multi-label rows; scores are log-odds, (L, n).

        Class 0 of the statistics is all rows, class 1 + l the rows with label l.
        """
        self.check_labels()
        raise NotImplementedError

    def restored_labels(self, statistics: S, class_weight: ExactArray, kept: Arrays) -> P:
        """Restore the parameters of `estimate_labels`, as `restored`."""
        return self.restored(statistics, class_weight, kept)

    def restored(self, statistics: S, class_weight: ExactArray, kept: Arrays) -> P:
        """Restore parameters from their statistics and the stored arrays of `Parameters.kept`.

        Raises ValueError if the arrays do not fit the statistics, with the reason.
        """
        raise ValueError(f"models of the family {self.name} store no estimate")

    def counted_for(self, structure: Any, statistics: S, class_weight: ExactArray) -> P:
        """Estimate the parameters for a stored structure, see `Parameters.structure`.

        Raises ValueError if the structure does not fit the statistics; then estimate all.
        """
        return self.restored(statistics, class_weight, structure)


AnyFamily = Family[Any, Any]


def unlike(a: AnyFamily, b: AnyFamily) -> str:
    """Describe in a few words how two families differ."""
    if type(a) is not type(b):
        return f"{a.name} and {b.name}"
    if not is_dataclass(a):
        return a.name
    shown = [field.name for field in fields(a) if field.repr]
    pairs = [(name, getattr(a, name), getattr(b, name)) for name in shown]
    differences = [f"{name} {x!r} and {y!r}" for name, x, y in pairs if repr(x) != repr(y)]
    return f"{a.name} with {', '.join(differences) or 'other reference documents'}"
