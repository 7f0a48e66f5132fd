"""What parameters look like to people: the numbers of each class, words, events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from naively.evidence.judged import Judged
from naively.exact import Float64, Int64


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
    judged : how rows were predicted, each by evidence and weights of others; None if not known.
    """

    blocks: Sequence[Evidence]
    columns: dict[str, float] | None
    judged: Judged | None


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
