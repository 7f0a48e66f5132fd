"""Plot what is most informative about the class: terms, categories, pixels or columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from naively.core.exact import Float64
from naively.core.labels import Label
from naively.core.markup import shown
from naively.explain.importance import bits, most_informative
from naively.families.base import Events
from naively.model.model import Model
from naively.plot import style
from naively.plot.models import codes, feature, model_of, part_of
from naively.tables.names import few

BAR = 0.19  # inches


@dataclass(frozen=True)
class TopFeatures:
    """The most informative features of one class, or of all."""

    title: str  # the class; empty for all classes
    # names, values: the features and their values, largest first
    names: list[str]
    values: Float64


@dataclass(kw_only=True, eq=False, repr=False)
class InformativeFeaturesDisplay:
    """The features that are most informative about the class, as in ``naively inspect``.

    Words, and other events that are counted, have a panel for each class: the log-odds in nats
    against all other classes together, log θ - log θ', of those with the highest θ log (θ / θ')
    (`naively.explain.importance`). Columns of a table, and numeric features, share one panel: the
    mutual information of each and the class, in bits; that of text is not estimated.

    Parameters
    ----------
    rankings : list of TopFeatures
    unit : of the values.

    Attributes
    ----------
    axes_ : list of Axes, one for each ranking.
    bars_ : list of BarContainer
    figure_
    """

    rankings: Sequence[TopFeatures]
    unit: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature: Any = None,
        classes: Sequence[Label] | None = None,
        count: int = 10,
        feature_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Rank the features of a fitted estimator of naively, and draw.

        Parameters
        ----------
        estimator : fitted. `TextNB` shows terms; `MultinomialNB`, `ComplementNB` and `BernoulliNB`
            features; `CategoricalNB` categories; others features by mutual information.
        feature : name or position of one text or categorical feature, to show its terms or
            categories; by default the only feature, if it is text.
        classes : labels of the classes to compare, such as two of many; all by default. Other
            classes are ignored.
        count : features shown for each class.
        feature_names : for a model that was fitted to an array.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is not one of naively, or has no such class or
            feature; if terms are hashed, and so have no names.
        """
        model = model_of(estimator, feature_names)
        labels, schema = model.classes, model.schema
        class_codes = np.arange(len(labels))
        events = _events(model, feature)
        if classes is not None:
            class_codes = codes(np.asarray(classes), labels)
            if len(set(class_codes.tolist())) < max(len(class_codes), 2):
                raise ValueError("classes must be two different ones or more, to be compared")
        if events is None:
            if classes is not None:
                raise ValueError("information in bits is that of all classes: leave out `classes`")
            if all(part.summary.of_texts for part in schema.parts):
                raise ValueError(f"name one of the columns of text: {few(schema.ordered)}")
            information = bits(model.posterior())
            names = sorted(information, key=lambda name: -information[name])[:count]
            ranking = TopFeatures("", names, np.array([information[name] for name in names]))
            return cls(rankings=[ranking], unit="information about the class (bits)").plot(ax)
        top_events = most_informative(events.of_classes(class_codes), count)
        rankings = []
        for c, (places, odds) in zip(class_codes, top_events, strict=True):
            order = np.argsort(-odds, kind="stable")
            names = [shown(events.names[v]) for v in places[order]]
            rankings.append(TopFeatures(str(labels[c]), names, odds[order]))
        if len(rankings) == 2:
            first, second = rankings
            rankings = [
                replace(first, title=f"{first.title}, against {second.title}"),
                replace(second, title=f"{second.title}, against {first.title}"),
            ]
        return cls(rankings=rankings, unit="log-odds (nats)").plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        columns, lines = style.layout(len(self.rankings))
        max_names = max((len(ranking.names) for ranking in self.rankings), default=1)
        width = 6.0 if columns == 1 else 2.3 * columns + 0.6
        size = width, max(lines * (max_names * BAR + 0.5), 1.5)
        self.figure_, grid = style.grid(ax, lines, columns, size)
        values = np.concatenate([ranking.values for ranking in self.rankings])
        finite = values[np.isfinite(values)]
        limit = 1.05 * float(finite.max(initial=0.0)) or 1.0
        self.axes_, self.bars_ = [], []
        for k, ranking in enumerate(self.rankings):
            panel = self.figure_.add_subplot(grid[divmod(k, columns)])
            positions = np.arange(len(ranking.names))
            bars = panel.barh(
                positions, np.minimum(ranking.values, limit), 0.75, color=style.style(k).colour
            )
            labels = [style.label(name) for name in ranking.names]
            panel.set_yticks(positions, labels, fontsize="small")
            panel.set_ylim(max(len(positions), 1) - 0.4, -0.6)
            panel.set_xlim(0.0, limit)
            size_name = "medium" if columns < 3 else "small"
            panel.set_title(style.label(ranking.title), fontsize=size_name)
            if k + columns >= len(self.rankings):
                panel.set_xlabel(self.unit)
            style.plain(panel)
            self.axes_.append(panel)
            self.bars_.append(bars)
        return self


def _events(model: Model, selector: Any) -> Events | None:
    """The events of one feature, or of all features of an array; None if they are not events."""
    schema = model.schema
    event_kinds = {
        name: parameters.summary.takes
        for parameters in schema.parts
        for name in parameters.names
        if parameters.summary.by_column or parameters.summary.of_texts
    }
    if selector is not None:
        listed = ("documents", "levels")
        candidates = [name for name in schema.ordered if event_kinds.get(name) in listed]
        name = feature(model, selector, candidates)
    elif len(schema.names) == 1 and event_kinds.get(schema.names[0]) == "documents":
        name = schema.names[0]
    elif all(schema.reason(name).kind == "array" for name in schema.why):
        ((block, parameters),) = model.posterior().blocks
        return parameters.events(block.names)
    else:
        return None
    parameters, index = part_of(model, name)
    return parameters.events([name], [index])
