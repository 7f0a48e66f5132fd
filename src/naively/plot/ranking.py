"""Plot ROC and precision-recall curves, of each class against the others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from naively.core.exact import Float64
from naively.evaluation.metrics import Ranking
from naively.model.decisions import positive_class
from naively.plot import style
from naively.plot.models import checked_probabilities, predicted_probabilities

CLASSES = 8  # classes that are drawn, at most: those with the most rows
FINEST = 1000  # points of a curve that differ by less than 1/FINEST are drawn once


@dataclass(kw_only=True, eq=False, repr=False)
class _RankingDisplay:
    """A curve for each class, from its rows ranked by their probability of the class.

    Parameters
    ----------
    rankings : Ranking of the rows by the probability of a class, by the label of the class.
    name : of the classifier, in the legend; empty for none.

    Attributes
    ----------
    lines_ : list of Line2D, one for each class.
    ax_, figure_, legend_
    """

    rankings: Mapping[Any, Ranking]
    name: str = ""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, positive: Any = None, name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:  # fmt: skip
        """Evaluate a fitted classifier, of naively or not, on test data.

        Parameters
        ----------
        estimator : fitted, with `predict_proba`.
        X : (n, d) rows for `predict_proba`.
        y : (n,) their labels, or the name of the column of X with the labels.
        positive : the class to rank; by default, of two classes, the one with fewer of these rows,
            and of more classes each, against all others.
        name : in the legend; that of the estimator's class by default.
        ax : axes to draw in; a new figure by default.

        Raises
        ------
        TypeError : if the estimator has no `predict_proba`.
        ValueError : if it is not fitted; if labels are none of its classes, or not as many as rows;
            if all rows are of one class.
        """
        labels, proba = predicted_probabilities(estimator, X, y)
        kind = type(estimator).__name__
        return cls.from_predictions(
            labels, proba, classes=estimator.classes_, positive=positive, name=name or kind, ax=ax
        )

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_prob: Any, *, classes: Any = None, positive: Any = None,
        name: str = "classifier", ax: Axes | None = None,
    ) -> Self:  # fmt: skip
        """Draw the curves of predicted probabilities.

        Parameters
        ----------
        y_true : (n,) labels.
        y_prob : (n, C) P(c | x).
        classes : (C,) labels of the columns of `y_prob`; by default those in `y_true`, sorted.
        positive, name, ax : as for `from_estimator`.

        Raises
        ------
        ValueError : if shapes do not fit, there are no rows, labels are none of the classes, all
            rows are of one class, or `y_prob` has numbers that are not probabilities.
        """
        truth, proba, labels = checked_probabilities(y_true, y_prob, classes)
        counts = np.bincount(truth, minlength=len(labels))
        if (counts > 0).sum() < 2:
            raise ValueError("y_true has one class: there is nothing to rank its rows against")
        order = np.sort(np.argsort(-counts, kind="stable")[:CLASSES])
        if positive is not None:
            places = np.flatnonzero(labels == positive)
            if not len(places) or not counts[places[0]]:
                raise ValueError(f"positive={positive!r} is no class of y_true")
            order = places
        elif (place := positive_class(counts.astype(float))) is not None:
            order = np.array([place])
        present = [c for c in order.tolist() if counts[c]]
        rankings = {labels[c]: Ranking(proba[:, c], truth == c) for c in present}
        return cls(rankings=rankings, name=name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the given axes, or in a new figure; beside the curves that are in them."""
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        first = len(_labelled(ax))
        self.lines_ = []
        for k, (label, ranking) in enumerate(self.rankings.items(), first):
            look = style.style(k)
            x, y = self._points(ranking)
            (line,) = ax.plot(
                *_thinned(x, y), c=look.colour, ls=look.line, lw=1.6, drawstyle=self._drawstyle
            )
            called = style.label(label) if len(self.rankings) > 1 else style.label(self.name)
            line.set_label("\n".join(filter(None, (called, self._score(ranking)))))
            self.lines_.append(line)
        if not first:
            self._prepare(ax)
        handles = _labelled(ax)
        self.legend_ = style.legend(ax, handles, [str(line.get_label()) for line in handles])
        return self

    _drawstyle = "default"

    @abstractmethod
    def _points(self, ranking: Ranking) -> tuple[Float64, Float64]:
        """(x, y) of the curve."""

    @abstractmethod
    def _score(self, ranking: Ranking) -> str:
        """The area under the curve, for the legend."""

    @abstractmethod
    def _prepare(self, ax: Axes) -> None:
        """Draw the baseline, and label the axes."""

    def _of_class(self) -> str:
        """The class of the curve, if there is one only."""
        return f" of {style.label(next(iter(self.rankings)))}" * (len(self.rankings) == 1)


class RocCurveDisplay(_RankingDisplay):
    """ROC curve: true positive rate against false positive rate, for all thresholds.

    Of more than two classes there is a curve for each against all others. The legend has the area
    under the curve (AUC): the probability that a row of the class has a higher probability than
    another row. The dotted line is a random ranking, with an area of ½. `naively evaluate` prints
    the AUC of two classes. The points are those of scikit-learn's `roc_curve`.

    To compare classifiers, draw another one in the same axes: it has the next colour.
    """

    def _points(self, ranking: Ranking) -> tuple[Float64, Float64]:
        false_positive_rate, true_positive_rate, _ = ranking.roc()
        return false_positive_rate, true_positive_rate

    def _score(self, ranking: Ranking) -> str:
        return f"AUC {ranking.auc():.4f}"

    def _prepare(self, ax: Axes) -> None:
        ax.plot([0.0, 1.0], [0.0, 1.0], c="black", ls=(0, (1, 2)), lw=1.4, zorder=1)
        _square(ax, "false positive rate", f"true positive rate{self._of_class()}")


class PrecisionRecallDisplay(_RankingDisplay):
    """Precision-recall curve: precision against recall, for all thresholds.

    Of more than two classes there is a curve for each against all others. The legend has the
    average precision, the area under the steps. The dotted line is a random ranking: its precision
    is the share of the class. `naively evaluate` prints the average precision of two classes. The
    points are those of scikit-learn's `precision_recall_curve`.

    To compare classifiers, draw another one in the same axes: it has the next colour.
    """

    _drawstyle = "steps-pre"

    def _points(self, ranking: Ranking) -> tuple[Float64, Float64]:
        precision, recall, _ = ranking.precision_recall()
        return recall[::-1], precision[::-1]

    def _score(self, ranking: Ranking) -> str:
        return f"average precision {ranking.average_precision():.4f}"

    def _prepare(self, ax: Axes) -> None:
        if len(self.rankings) == 1:
            (ranking,) = self.rankings.values()
            ax.axhline(ranking.prevalence, c="black", ls=(0, (1, 2)), lw=1.4, zorder=1)
        _square(ax, f"recall{self._of_class()}", "precision")


def _labelled(ax: Axes) -> list[Line2D]:
    """The curves in the axes."""
    return [line for line in ax.lines if not str(line.get_label()).startswith("_")]


def _square(ax: Axes, x: str, y: str) -> None:
    """Label the axes of shares from 0 to 1."""
    ax.set(xlabel=x, ylabel=y, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda part, _: f"{100 * part:.3g}%")
    style.plain(ax)


def _thinned(x: Float64, y: Float64) -> tuple[Float64, Float64]:
    """Drop points between points that are drawn at the same place."""
    places = np.round(FINEST * np.stack([x, y]))
    same = (places[:, 1:] == places[:, :-1]).all(axis=0)
    kept = np.append(True, ~same) | np.append(~same, True)
    return x[kept], y[kept]
