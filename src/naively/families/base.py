"""What parameters look like to people: the numbers of each class, words, events."""

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
from naively.families.formula import Formula
from naively.pooling.blocks.shapes import Shape
from naively.pooling.folds import OutOfFoldPredictions
from naively.statistics.base import Arrays, Data, Statistics, Summary


@dataclass
class Section:
    """What columns of one family look like.

    Attributes
    ----------
    meaning : str, what the numbers are; ``p`` is a fraction here and in % when printed.
    signs : str, what goes between two numbers of a class.
    rows : dict of column name to a list of (label, {number's name: (C,) values}).
    words : dict of column name to a few words, where numbers by class would be too many.
    """

    meaning: str
    signs: str = ""
    rows: dict[str, list[tuple[str, dict[str, Float64]]]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ClassNumbers:
    """A few numbers for each class and feature.

    Attributes
    ----------
    meaning, signs : as `Section` has them.
    values : (C, d) numbers by name.
    pictured : what they are called beside images of pixels, if they are shown so.
    """

    meaning: str
    signs: str
    values: dict[str, Float64]
    pictured: tuple[str, ...] = ()

    def section(self, names: Sequence[str]) -> Section:
        """A line a feature."""
        rows = {
            name: [(name, {key: value[:, j] for key, value in self.values.items()})]
            for j, name in enumerate(names)
        }
        return Section(self.meaning, self.signs, rows)


@dataclass(frozen=True)
class Listed:
    """Estimated numbers of one kind, of each class.

    Attributes
    ----------
    name : what they are, such as ``mean`` or ``p``.
    features : (R,) the number of the feature of each; None where they are of all features together.
    levels : (R,) its level, range or term; None where the numbers are of the feature itself.
    values : (C, R)
    others : (R,) the number of the second feature, where they are of two.
    """

    name: str
    features: Int64 | None
    levels: Sequence[str | None] | None
    values: Float64
    others: Int64 | None = None


@dataclass(frozen=True)
class Events:
    """What can be met, and how often it was.

    Attributes
    ----------
    names : (V,) terms, levels or features.
    counts : (C, V), how often each was met.
    totals : (C, 1) or (C, V), of how many.
    alpha, whole : virtual counts of the event, and of all that might be instead, itself included;
        of shapes that broadcast to those of counts and totals.
    odds : (C, V) what each tells for a class against the others, in nats, where that does not
        follow from the counts.
    """

    names: Sequence[str]
    counts: Float64
    totals: Float64
    alpha: Any
    whole: Any
    odds: Float64 | None = None

    def weighing(self, slopes: Float64) -> Events:
        """The same that tell what adds (C, V) nats to scores, against the other classes' mean."""
        others = (slopes.sum(axis=0) - slopes) / max(len(slopes) - 1, 1)
        return replace(self, odds=slopes - others)

    def of_classes(self, chosen: Int64) -> Events:
        """Of some classes only."""
        alpha, whole = (
            one[chosen] if np.ndim(one) == 2 and len(one) > 1 else one
            for one in (self.alpha, self.whole)
        )
        odds = None if self.odds is None else self.odds[chosen]
        return Events(self.names, self.counts[chosen], self.totals[chosen], alpha, whole, odds)


@dataclass(frozen=True)
class Evidence:
    """The evidence of some columns together, and how much of it counts.

    Attributes
    ----------
    names : of the columns.
    kind : what it is read from: "4 categories", "33 bins", "Gaussian, shared".
    weight : by which it is multiplied.
    importance : mean absolute contribution to the log-odds, in nats: see `mean_contribution`.
    """

    names: Sequence[str]
    kind: str
    weight: float
    importance: float


def mean_contribution(added: Float64, share: Float64, prior: Float64) -> float:
    """Mean absolute contribution to the log-odds, off its own mean, in nats.

    Of two classes that is Σ_i share_i |d_i - d̄| with d = added_1 - added_0. Of more it is the mean
    over the classes, in their shares, of the same for the log-odds of each class against the
    others: (added_c - Σ_k π_k added_k) / (1 - π_c), where the others count by their shares.

    Parameters
    ----------
    added : (C, n) to the scores of rows, in nats.
    share : (n,) of each row among all.
    prior : (C,) of each class.
    """
    off = added - (added @ share)[:, np.newaxis]  # what all rows have changes no ranking
    off -= prior @ off
    return float((prior / np.maximum(1.0 - prior, 1e-300)) @ np.abs(off) @ share)


@dataclass(frozen=True)
class Evidences:
    """All evidence of a model.

    Attributes
    ----------
    blocks : the most important first.
    columns : the importance of all that each column adds, alone and in interactions, shared as
        explanations share it; None if no training rows are stored.
    out_of_fold : predictions of training rows by evidence and weights of others; None if unknown.
    """

    blocks: Sequence[Evidence]
    columns: dict[str, float] | None
    out_of_fold: OutOfFoldPredictions | None


def labelled(labels: Sequence[str], p: Float64) -> list[tuple[str, dict[str, Float64]]]:
    """The rows of a section: the probabilities (C, K) of K labels."""
    return [(label, {"p": p[:, k]}) for k, label in enumerate(labels)]


def first_levels(levels: Sequence[str], total: int) -> str:
    """The first of so many categories."""
    return ", ".join(levels[:5]) + ", ..." * (total > 5) if total else "no values"


def in_order(levels: Sequence[Any]) -> list[int]:
    """The places of sorted levels as a person lists them: numbers by their size."""
    try:
        return sorted(range(len(levels)), key=lambda k: float(levels[k]))
    except ValueError:
        return list(range(len(levels)))


# ---- base ----------------------------------------------------------------------------------------


SCORED = 1 << 18  # cells of a chunk's table of scores: 2 MiB


class FeatureError(ValueError):
    """What is wrong with what was learned of the feature of this number."""

    def __init__(self, problem: str, feature: int = 0) -> None:
        super().__init__(problem)
        self.feature = feature


class SingularCovarianceError(FeatureError):
    """A covariance matrix that no normal density has.

    Attributes
    ----------
    feature : int
    problem : str, a clause about the feature.
    code : int, the class; None if all classes share the matrix.
    advice : str, what to do about it.
    what : what has no density.
    """

    code: int | None = None
    advice: str = ""
    what: str = "covariance"

    def __init__(self, feature: int, problem: str) -> None:
        super().__init__(f"feature {feature} {problem}", feature)
        self.problem = problem


class Parameters(ABC):
    """The estimated distribution p(x | y) of each class."""

    n_free: int
    """Number of free parameters, as the lectures count them."""
    bias: Float64 | float = 0.0
    """What `log_prob` has for every row, (C,), besides what the features add, in nats."""
    out_of_fold: OutOfFoldPredictions | None = None
    """How rows were predicted while this was estimated, each without itself, if they were."""
    has_texts: bool = False
    """Whether some of several columns are text: then it has `explained_texts` and `told_texts`."""

    # ---- scores ------------------------------------------------------------------------------

    def chunk(self, X: Data, n_classes: int) -> int:
        """How many rows to score at a time."""
        return max(64, SCORED // max(1, n_classes))

    def prepare(self, X: Data, workers: Workers) -> None:  # noqa: B027
        """Compute what `log_prob` needs for such rows, before threads call it."""

    def biases(self, X: Data) -> Float64 | float:
        """What scores have besides log π and the contributions, (n, C) or a number."""
        return self.bias

    @abstractmethod
    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """log p(x_i | c), up to a term that depends on x alone, for rows start:stop.

        `out` is (C, stop - start). Units: nats. Raises `InvalidValueError`.
        """

    leaves_out: ClassVar[bool] = False
    """Whether `leading` saves work by leaving out classes."""

    def leading(
        self, X: Data, start: int, stop: int, before: Float64, margin: float, out: Float64
    ) -> None:
        """What `log_prob` adds to the scores `before`, such as log π_c: (C, 1) or (C, n).

        -inf may stand for more than `margin` nats below the best class of a row.
        """
        self.log_prob(X, start, stop, out)
        out += before

    def unread(self, X: Data) -> dict[int, Invalid]:
        """Values that count as missing as they are of another kind, by the feature."""
        return {}

    def categories(self, X: Data, but: Container[int]) -> dict[int, Categories]:
        """What rows have in the features of which categories are known, but for some of these."""
        return {}

    def log_base(self, X: Data) -> Float64:
        """The term of log p(x | y) that depends on x alone: (n,), in nats."""
        return np.zeros(X.shape[0])

    @abstractmethod
    def contributions(self, X: Data) -> Float64:
        """What each feature adds to `log_prob`: (n, C, d), in nats."""

    def blocks(self) -> list[tuple[int, ...]] | None:
        """The features of each block that adds something of its own; None if each feature does."""
        return None

    def by_block(self, X: Data) -> Float64:
        """What each of these adds to `log_prob`: (n, C, K), in nats."""
        return self.contributions(X)

    def alone(self, X: Data) -> Float64:
        """What each feature would add to `log_prob` by itself: (n, C, d), in nats."""
        return self.contributions(X)

    @abstractmethod
    def sample(self, codes: Int64, generator: np.random.Generator) -> Any:
        """One row for each class code, (n, d), as the family takes it."""

    has_length: ClassVar[bool] = False
    """Whether a row is so many events, such as words: see `sample_events`."""

    def sample_events(self, codes: Int64, length: int, generator: np.random.Generator) -> Any:
        """As `sample`, of so many events a row; for parameters that have a length."""
        return self.sample(codes, generator)

    def kept(self) -> Arrays:
        """What a file keeps of these, where a family `keeps` its estimate."""
        return {}

    def structure(self) -> Any:
        """What was chosen that is not a sum: see `naively.core.model`; nothing if all is a sum."""
        return self.kept()

    def fixed(self, classes: Labels) -> Any:
        """The plan that other rows can be counted for, of a family that makes one; else None."""
        return None

    def formula(self, names: Sequence[str]) -> Formula | None:
        """What `log_prob` has of columns of these names, as data; None where that cannot be said.

        Raises ValueError where only these parameters cannot be said so.
        """
        return None

    # ---- linear forms ------------------------------------------------------------------------

    not_linear: ClassVar[str] = "this family is not linear in x"

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

    # ---- for people --------------------------------------------------------------------------

    def numbers(self) -> ClassNumbers | None:
        """A few numbers for each class and feature, such as means, if these say what is known."""
        return None

    def described(self, names: Sequence[str]) -> Section:
        """What the features of these names look like in each class."""
        numbers = self.numbers()
        assert numbers is not None, "a family has `numbers`, or describes itself"
        return numbers.section(names)

    def listed(self) -> list[Listed]:
        """All numbers of each class and feature; none of families that are no list of numbers."""
        numbers = self.numbers()
        values = {} if numbers is None else numbers.values
        return [Listed(name, np.arange(one.shape[1]), None, one) for name, one in values.items()]

    def evidence(self, names: Sequence[str]) -> Evidences | None:
        """What is weighed, if anything is."""
        return None

    def shapes(self, names: Sequence[str], classes: Labels) -> list[Shape]:
        """What each block that is weighed says, cell by cell; what moves the scores most first."""
        return []

    def normal(self) -> tuple[Float64, Float64] | None:
        """(means (C, d), variances (C, d) or covariances (C, d, d)) of normal features."""
        return None

    def events(self, names: Sequence[str], features: Sequence[int] | None = None) -> Events | None:
        """What can be met, and how often it was, of features (all by default) that count events."""
        return None

    def event_probabilities(self) -> Float64 | None:
        """(C, d) the probability that one event is of each feature, where all share the events."""
        return None

    claims_least: ClassVar[bool] = False
    """Whether these claim no more than was met, as frequencies do."""

    missing_tells: ClassVar[bool] = False
    """Whether a missing value is evidence, too."""

    def supposing_least(self) -> Self | None:
        """Those that claim no more than was met; None where a density may tell more than rows."""
        return self if self.claims_least else None

    def kinds(self) -> Int64 | int:
        """(d,) how many different values of a feature are told apart; 0 of numbers."""
        return 0


S = TypeVar("S", bound=Statistics)
P = TypeVar("P", bound=Parameters)

CurveKind = Literal["density", "P(count | class)", "P(range | class)"]


def alpha_of_classes(alpha: Any, classes: Int64, n_classes: int) -> Any:
    """The smoothing of some of so many classes; itself where it is not by class.

    By class are arrays of a row a class, and, in dicts by level, arrays of a number a class.
    """
    if isinstance(alpha, Mapping):
        own = {
            level: np.asarray(one)[classes] if np.shape(one) == (n_classes,) else one
            for level, one in alpha.items()
        }
        return own if any(own[level] is not one for level, one in alpha.items()) else alpha
    if alpha is None or isinstance(alpha, str) or np.ndim(alpha) != 2 or len(alpha) != n_classes:
        return alpha
    return np.asarray(alpha)[classes]


class Family(ABC, Generic[S, P]):
    """An event model p(x_α | y) over a block of columns, with its hyperparameters.

    Families with equal summaries read the same statistics: they add up, and a model of the one
    becomes a model of the other without learning again.
    """

    name: ClassVar[str]
    summary: Summary[S]
    """What it is estimated from."""
    is_density: ClassVar[bool] = True
    is_story: ClassVar[bool] = True
    """Whether rows are drawn from the p(x | y) that scores them."""
    alpha_is_rows: ClassVar[bool] = False
    """Whether its `alpha` are virtual rows of a density, rather than virtual counts of levels."""
    may_be_singular: ClassVar[bool] = False
    """Whether `estimate` may refuse statistics that more rows would mend."""
    independent: ClassVar[bool] = True
    """Whether the columns are independent of each other, given the class."""
    curve: ClassVar[CurveKind | None] = None
    """What p(x | y) of one feature looks like as a curve over numbers; None if it is none."""
    text: tuple[str | int, ...] = ()
    """The columns that were named as text, where it takes them together with others."""
    keeps: ClassVar[bool] = False
    """Whether files keep the estimate beside the sums, as it takes long."""
    closed: ClassVar[bool] = False
    """Whether it says itself which columns and classes there are: there can be no others."""

    @property
    def by_column(self) -> bool:
        """Whether each column is treated as if it were alone, so that blocks can be cut."""
        values = [one for one in vars(self).values() if one is not None]
        plain = not any(np.ndim(one) > 0 or isinstance(one, Mapping) for one in values)
        return self.summary.by_column and plain

    @property
    def in_turn(self) -> bool:
        """Whether contributions are what each column adds to those before it."""
        return not self.independent

    @property
    def refers(self) -> bool:
        """Whether parameters refer to the first data, as an idf does to its documents."""
        return False

    @property
    def met_only(self) -> bool:
        """Whether sparse rows are scored by sums of their columns, and of all: `met` of counts."""
        return False

    def of_classes(self, classes: Int64, n_classes: int) -> Self:
        """The same of some of so many classes: where `alpha` is by class, with that of these."""
        alpha = vars(self).get("alpha")
        own = alpha_of_classes(alpha, classes, n_classes)
        return self if own is alpha else replace(self, alpha=own)  # type: ignore[type-var]

    def referring(self, X: Data, workers: Workers = SERIAL) -> Self:
        """The same family, referring to these rows if it refers to any and has none."""
        return self

    def check_room(self, classes: Labels) -> None:
        """Raise ValueError if it cannot have one of these classes."""

    def check_named(self, classes: Labels) -> None:
        """Raise ValueError if hyperparameters name what is none of these classes."""

    def within(
        self, classes: Labels, names: Sequence[str], types: Mapping[str, str] | None = None
    ) -> Self:
        """The family for these classes and columns of declared types, if it makes a difference."""
        return self

    def check(self, statistics: S, class_weight: ExactArray) -> None:
        """Raise ValueError if the hyperparameters do not fit these classes and features."""

    def doubt(self, statistics: S) -> str | None:
        """What is odd about the hyperparameters for what was counted, in a sentence; None if not.

        It is no error: `check` refuses those.
        """
        return None

    @abstractmethod
    def estimate(self, statistics: S, class_weight: ExactArray) -> P:
        """The parameters that follow from statistics: all smoothing happens here."""

    def estimate_on(self, statistics: S, class_weight: ExactArray, workers: Workers) -> P:
        """The same, on several workers where that pays."""
        return self.estimate(statistics, class_weight)

    def check_labels(self) -> None:
        """Raise ValueError unless rows may have any number of labels."""
        raise ValueError(f"many labels a row are learned of text alone, not of {self.name} columns")

    def estimate_labels(self, statistics: S, class_weight: ExactArray, workers: Workers) -> P:
        """What tells labels, of which rows have any number: scores are log-odds, (L, n).

        Class 0 of the statistics is all rows, class 1 + l those that have label l.
        """
        self.check_labels()
        raise NotImplementedError

    def restored_labels(self, statistics: S, class_weight: ExactArray, kept: Arrays) -> P:
        """As `restored`, of `estimate_labels`."""
        return self.restored(statistics, class_weight, kept)

    def restored(self, statistics: S, class_weight: ExactArray, kept: Arrays) -> P:
        """The parameters that were estimated from these statistics, of which this was kept.

        Raises ValueError if it cannot be of such statistics, saying why.
        """
        raise ValueError(f"models of the family {self.name} keep no estimate")

    def counted_for(self, structure: Any, statistics: S, class_weight: ExactArray) -> P:
        """The parameters of a structure that is kept, as `Parameters.structure` has it.

        Raises ValueError if it is none of such statistics: then all is estimated.
        """
        return self.restored(statistics, class_weight, structure)


AnyFamily = Family[Any, Any]


def unlike(a: AnyFamily, b: AnyFamily) -> str:
    """In what two families differ, in a few words."""
    if type(a) is not type(b):
        return f"{a.name} and {b.name}"
    if not is_dataclass(a):
        return a.name
    pairs = [(one.name, getattr(a, one.name), getattr(b, one.name)) for one in fields(a)]
    differ = [
        f"{name} {mine!r} and {theirs!r}"
        for name, mine, theirs in pairs
        if repr(mine) != repr(theirs)
    ]
    return f"{a.name} with {', '.join(differ) or 'other reference documents'}"
