"""What tells most about the class: terms, levels or pixels by log-odds, columns by information."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from naively.exact import Float64
from naively.families.bernoulli import BernoulliParameters
from naively.families.categorical import Categorical, CategoricalParameters
from naively.families.complement import ComplementParameters
from naively.families.multinomial import MultinomialParameters, total_alpha
from naively.families.text import Text
from naively.families.text_parameters import TextParameters
from naively.markup import shown
from naively.plot import style
from naively.plot.models import codes, feature, part_of, parts, table_of
from naively.tables.model import TableModel
from naively.tables.names import few
from naively.tables.telling import bits, most_telling

BAR = 0.19  # inches


@dataclass(frozen=True)
class Events:
    """What can be met, and how often it was.

    Attributes
    ----------
    names : (V,) terms, levels or features.
    counts : (C, V), how often each was met.
    totals : (C, 1) or (C, V), of how many.
    alpha, whole : smoothing, as `most_telling` takes it.
    """

    names: Sequence[str]
    counts: Float64
    totals: Float64
    alpha: Any
    whole: Any


@dataclass(frozen=True)
class Ranking:
    """What tells most of one class, or of all.

    Attributes
    ----------
    title : the class; empty if all of them are told apart.
    names, values : what tells, and how much, the largest first.
    """

    title: str
    names: list[str]
    values: Float64


class TellingDisplay:
    """What tells most about the class, as ``naively inspect`` has it.

    For words, and other events that are counted, a panel a class: their log-odds in nats against
    all other classes together, log θ - log θ', of those that tell most, θ log (θ / θ')
    (`naively.tables.telling`). For the columns of a table, and for features of numbers, one panel:
    the mutual information of each alone and the class, in bits; that of text is not estimated.

    Parameters
    ----------
    rankings : list of Ranking
    unit : what the values are.

    Attributes
    ----------
    axes_ : list of Axes, one a ranking.
    bars_ : list of BarContainer
    figure_
    """

    def __init__(self, *, rankings: Sequence[Ranking], unit: str) -> None:
        self.rankings = rankings
        self.unit = unit

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature: Any = None,
        classes: Sequence[Any] | None = None,
        count: int = 10,
        feature_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Rank what a fitted estimator of naively learned, and draw.

        Parameters
        ----------
        estimator : fitted. Of `TextNB` terms are shown, of `MultinomialNB`, `ComplementNB` and
            `BernoulliNB` features, of `CategoricalNB` levels; of others the features, by bits.
        feature : name or position of one feature of text or of levels, to show its terms or
            levels; by default the only one, if that is text.
        classes : labels of those to compare, such as two of many; all by default. Of others
            nothing counts then.
        count : how many of each class.
        feature_names : for a model that learned from an array.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is none of naively, or a class or feature none of
            its own; if terms are hashed, so that they have no names.
        """
        table = table_of(estimator, feature_names)
        labels = table.model.classes
        chosen = np.arange(len(labels))
        events = _events(table, feature, hasattr(estimator, "table_"))
        if classes is not None:
            chosen = codes(np.asarray(classes), labels)
            if len(set(chosen.tolist())) < max(len(chosen), 2):
                raise ValueError("classes must be two different ones or more, to be compared")
        if events is None:
            if classes is not None:
                raise ValueError("features in bits tell all classes apart: leave out `classes`")
            if all(isinstance(one, Text) for one in table.schema.known.values()):
                raise ValueError(f"name one of the columns of text: {few(table.schema.ordered)}")
            told = sorted(bits(table).items(), key=lambda pair: -pair[1])[:count]
            values = np.array([value for _, value in told])
            ranking = Ranking("", [name for name, _ in told], values)
            return cls(rankings=[ranking], unit="information about the class (bits)").plot(ax)
        found = most_telling(
            events.counts[chosen], events.totals[chosen], _taken(events.alpha, chosen),
            _taken(events.whole, chosen), count,
        )  # fmt: skip
        rankings = []
        for c, (places, odds) in zip(chosen, found, strict=True):
            order = np.argsort(-odds, kind="stable")
            names = [shown(events.names[v]) for v in places[order]]
            rankings.append(Ranking(str(labels[c]), names, odds[order]))
        if len(rankings) == 2:
            one, other = rankings
            rankings = [
                replace(one, title=f"{one.title}, against {other.title}"),
                replace(other, title=f"{other.title}, against {one.title}"),
            ]
        return cls(rankings=rankings, unit="log-odds (nats)").plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        columns, lines = style.layout(len(self.rankings))
        most = max((len(one.names) for one in self.rankings), default=1)
        size = 6.0 if columns == 1 else 2.3 * columns + 0.6, max(lines * (most * BAR + 0.5), 1.5)
        self.figure_, grid = style.grid(ax, lines, columns, size)
        values = np.concatenate([one.values for one in self.rankings])
        finite = values[np.isfinite(values)]
        widest = 1.05 * float(finite.max(initial=0.0)) or 1.0
        self.axes_, self.bars_ = [], []
        for k, one in enumerate(self.rankings):
            panel = self.figure_.add_subplot(grid[k // columns, k % columns])
            at = np.arange(len(one.names))
            bars = panel.barh(at, np.minimum(one.values, widest), 0.75, color=style.style(k).colour)
            panel.set_yticks(at, [style.label(name) for name in one.names], fontsize="small")
            panel.set_ylim(max(len(at), 1) - 0.4, -0.6)
            panel.set_xlim(0.0, widest)
            panel.set_title(style.label(one.title), fontsize="medium" if columns < 3 else "small")
            if k + columns >= len(self.rankings):
                panel.set_xlabel(self.unit)
            style.plain(panel)
            self.axes_.append(panel)
            self.bars_.append(bars)
        return self


def _events(table: TableModel, given: Any, is_table: bool) -> Events | None:
    """The events of one feature, or of all features of an array; None if they are no events."""
    names = table.schema.ordered
    families = table.schema.known
    if given is not None:
        among = [name for name in names if isinstance(families[name], Text | Categorical)]
        return _of_feature(table, feature(table, given, among))
    if len(names) == 1 and isinstance(families[names[0]], Text):
        return _of_feature(table, names[0])
    return None if is_table else _of_array(table)


def _of_feature(table: TableModel, name: str) -> Events:
    """The terms or levels of a feature."""
    part, place = part_of(table, name)
    if isinstance(part, CategoricalParameters):
        return _of_levels(part, [place], [""])
    assert isinstance(part, TextParameters)
    counts, kinds = part.total.rounded(), part.total.shape[1]
    totals = counts.sum(axis=1, keepdims=True)
    if isinstance(part.inner, BernoulliParameters):
        totals, kinds = part.inner.class_weight.rounded()[:, np.newaxis], 2
    alpha = part.family.alpha
    return Events(part.terms, counts, totals, alpha, kinds * alpha)


def _of_array(table: TableModel) -> Events | None:
    """The features of an array as events."""
    ((block, part),) = parts(table)
    if isinstance(part, CategoricalParameters):
        places = list(range(len(block.names)))
        return _of_levels(part, places, [f"{name} = " for name in block.names])
    if isinstance(part, BernoulliParameters):
        totals = part.statistics.observed(part.class_weight).rounded()
        alpha = np.broadcast_to(part.alpha_present, totals.shape)
        return Events(block.names, part.present.rounded(), totals, alpha, alpha + part.alpha_absent)
    if isinstance(part, MultinomialParameters | ComplementParameters):
        counts = part.counts.rounded()
        whole = total_alpha(part.alpha, *counts.shape)[:, np.newaxis]
        totals = counts.sum(axis=1, keepdims=True)
        return Events(block.names, counts, totals, part.alpha, whole)
    return None


def _of_levels(part: CategoricalParameters, places: list[int], before: list[str]) -> Events:
    """The levels of some features side by side."""
    names: list[str] = []
    counts, totals, alphas, wholes = [], [], [], []
    for j, prefix in zip(places, before, strict=True):
        levels = part.levels[j]
        names += [f"{prefix}{level}" for level in levels.tolist()]
        own = part.count[:, part.offsets[j] : part.offsets[j + 1]]
        place = levels if levels.dtype.kind == "i" else np.arange(len(levels))
        alpha, whole = part._alpha(j, place)
        counts.append(own)
        alphas.append(np.broadcast_to(alpha, own.shape))
        totals.append(np.repeat(part.observed[:, j : j + 1], len(levels), axis=1))
        wholes.append(np.broadcast_to(np.reshape(whole, (-1, 1)), own.shape))
    return Events(names, *(np.hstack(own) for own in (counts, totals, alphas, wholes)))


def _taken(values: Any, chosen: Any) -> Any:
    """The rows of these classes, if there is one a class."""
    return values[chosen] if np.ndim(values) == 2 and len(values) > 1 else values
