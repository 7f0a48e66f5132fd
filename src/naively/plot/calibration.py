"""Plot a reliability diagram: predicted probabilities against the share that is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from naively.core.exact import Float64
from naively.core.labels import Label
from naively.evaluation.calibration import Reliability
from naively.plot import style
from naively.plot.models import checked_probabilities, codes, predicted_probabilities

NORMAL = 1.959964  # standard deviations on either side of 95% of a normal distribution
MARGIN = 0.02  # of the axes, beyond the probabilities
SMALLEST, LARGEST = 40.0, 70.0  # areas of marks, in square points


@dataclass(kw_only=True, eq=False, repr=False)
class CalibrationDisplay:
    """Reliability diagram of the predicted classes, or of the probability of one class.

    Each mark is about a tenth of the rows, sorted by the probability of the predicted class; rows
    with equal probability stay together, and a larger mark has more rows. Its position is the mean
    probability and the share of right predictions, with a 95% interval (Wilson 1927). With `label`
    it is P(label | x) and the share of rows of that class, as in scikit-learn's
    `calibration_curve`: for a rare class, which is seldom the predicted one. Marks on the
    dotted line are calibrated; below it predictions are overconfident, above it underconfident. The
    legend has the expected calibration error, the mean distance of marks from the line weighted by
    rows, and its standard error. `naively evaluate` prints the same.

    To compare classifiers, draw another one in the same axes: it has the next colour.

    Parameters
    ----------
    reliability : Reliability
    name : of the classifier, in the legend.
    least : the least possible probability of the most probable class.
    label : the class whose probability is shown; None for the predicted class of each row.

    Attributes
    ----------
    line_ : ErrorbarContainer, the line and the intervals.
    marks_ : PathCollection
    ax_, figure_, legend_
    """

    reliability: Reliability
    name: str
    least: float = 0.0
    label: Label | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, label: Label | None = None,
        name: str | None = None, ax: Axes | None = None,
    ) -> Self:  # fmt: skip
        """Evaluate a fitted classifier, of naively or not, on test data.

        Parameters
        ----------
        estimator : fitted, with `predict_proba`.
        X : (n, d) rows for `predict_proba`.
        y : (n,) their labels, or the name of the column of X with the labels.
        label : the class whose probability is shown; by default the predicted class of each row.
        name : in the legend; that of the estimator's class by default.
        ax : axes to draw in; a new figure by default.

        Raises
        ------
        TypeError : if the estimator has no `predict_proba`.
        ValueError : if it is not fitted; if labels are none of its classes, or not as many as
            rows; if `label` is none of its classes.
        """
        labels, proba = predicted_probabilities(estimator, X, y)
        kind = type(estimator).__name__
        return cls.from_predictions(
            labels, proba, classes=estimator.classes_, label=label, name=name or kind, ax=ax
        )

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_prob: Any, *, classes: Any = None, label: Label | None = None,
        name: str = "classifier", ax: Axes | None = None,
    ) -> Self:  # fmt: skip
        """Compare predicted probabilities with the labels of the rows.

        Parameters
        ----------
        y_true : (n,) labels.
        y_prob : (n, C) P(c | x).
        classes : (C,) labels of the columns of `y_prob`; by default those in `y_true`, sorted.
        label : the class whose probability is shown; by default the predicted class of each row.
        name : in the legend.
        ax : axes to draw in; a new figure by default.

        Raises
        ------
        ValueError : if shapes do not fit, there are no rows, labels are none of the classes, or
            `y_prob` has numbers that are not probabilities.
        """
        truth, proba, class_labels = checked_probabilities(y_true, y_prob, classes)
        if label is None:
            probability, is_true = proba.max(axis=1), proba.argmax(axis=1) == truth
            least = 1.0 / len(class_labels)
        else:
            c = int(codes(np.array([label]), class_labels)[0])
            probability, is_true, least = proba[:, c], truth == c, 0.0
        reliability = Reliability.of(np.minimum(probability, 1.0), is_true)
        return cls(reliability=reliability, name=name, least=least, label=label).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the given axes, or in a new figure."""
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        reliability, look = self.reliability, style.style(len(ax.containers))
        low, high = _wilson(reliability.accuracy, reliability.rows)
        lower_limit = min(self.least, float(low.min())) - MARGIN
        upper_limit = 1.0 + MARGIN
        if self.label is not None:  # probabilities of a rare class are near 0
            farthest = float(max(high.max(), reliability.confidence.max()))
            upper_limit = min(upper_limit, 1.1 * farthest)
            lower_limit = -MARGIN * upper_limit
        if ax.containers:
            first, last = ax.get_xlim()
            lower_limit, upper_limit = min(lower_limit, first), max(upper_limit, last)
        else:
            _prepare(ax, self.label)
        ax.set(xlim=(lower_limit, upper_limit), ylim=(lower_limit, upper_limit))
        self.line_ = ax.errorbar(
            reliability.confidence, reliability.accuracy,
            (reliability.accuracy - low, high - reliability.accuracy), c=look.colour, ls=look.line,
            lw=1.6, marker=look.marker, ms=5, elinewidth=1.2, capsize=2.5,
        )  # fmt: skip
        area = LARGEST * reliability.rows / reliability.rows.max()
        self.marks_ = ax.scatter(
            reliability.confidence, reliability.accuracy, np.maximum(area, SMALLEST), c=look.colour,
            marker=look.marker, edgecolors="white", linewidths=0.8, zorder=3,
        )  # fmt: skip
        self.line_.set_label(
            f"{style.label(self.name)}\ncalibration error\n"
            f"{reliability.error:.2%} ± {reliability.standard_error:.2%}"
        )
        handles, labels = ax.get_legend_handles_labels()
        self.legend_ = style.legend(ax, handles, labels)
        return self


def _prepare(ax: Axes, label: Label | None) -> None:
    """Draw the line of calibrated predictions, and label its two sides."""
    ax.plot([0.0, 1.0], [0.0, 1.0], c="black", ls=(0, (1, 2)), lw=1.4, zorder=1)
    above, below = ("underconfident", "overconfident") if label is None else ("too low", "too high")
    for caption, x, y, side in ((above, 0.03, 0.96, "top"), (below, 0.5, 0.04, "bottom")):
        ax.text(x, y, caption, c="0.4", fontsize="small", va=side, transform=ax.transAxes)
    if label is None:
        ax.set(xlabel="confidence: P(predicted class | x)", ylabel="accuracy")
    else:
        name = style.label(label)
        ax.set(xlabel=f"P({name} | x)", ylabel=f"share of rows of class {name}")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda part, _: f"{100 * part:.3g}%")
    style.plain(ax)


def _wilson(part: Float64, rows: Float64) -> tuple[Float64, Float64]:
    """The 95% confidence intervals of probabilities with these observed shares (Wilson 1927)."""
    scale = 1.0 + NORMAL**2 / rows
    centre = (part + NORMAL**2 / (2.0 * rows)) / scale
    half_width = NORMAL / scale * np.sqrt(part * (1.0 - part) / rows + NORMAL**2 / (4.0 * rows**2))
    return np.minimum(centre - half_width, part), np.maximum(centre + half_width, part)
