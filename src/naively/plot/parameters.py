"""Plot the number of parameters of each model of the ladder against the number of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from naively.evaluation.model_ladder import parameter_counts
from naively.plot import style
from naively.plot.models import model_of

RUNGS = (
    "joint table", "full covariance", "tied covariance", "Gaussian naive Bayes",
    "Bernoulli naive Bayes", "class prior",
)  # fmt: skip
"""The models that are drawn, from the top; the lines of other naive ones would coincide."""
WHOLE = 10**12  # from which numbers are written as powers of ten
POINTS = 120


@dataclass(kw_only=True, eq=False, repr=False)
class ParametersDisplay:
    """The free parameters of each model of the ladder against the number of features, and the rows.

    Lecture 2, "How many parameters do we need to learn?" and "Training data > number of
    parameters": a model above the line of the rows has more parameters than training rows. The
    K - 1 parameters of the class prior are included everywhere; the joint table is that of binary
    features. `naively.evaluation.model_ladder.parameter_counts` has the formulas.

    Parameters
    ----------
    n_classes : K
    n_features : d, for the numbers in the legend.
    n_rows : n
    n_parameters : of a model to be marked; optional.

    Attributes
    ----------
    counts_ : dict of the free parameters of each model at d.
    lines_ : dict of Line2D, one for each model.
    rows_ : Line2D of the rows.
    ax_, figure_, legend_
    """

    n_classes: int
    n_features: int
    n_rows: float
    n_parameters: int | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Take the classes, features and rows of a fitted estimator of naively, and draw.

        Parameters
        ----------
        estimator : fitted; its parameters are marked. The features of text are its terms.
        ax : axes to draw in; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is not one of naively, or not fitted.
        """
        model = model_of(estimator)
        posterior = model.posterior()
        features = sum(
            parameters.total.shape[1] if block.family.summary.of_texts else len(block.names)
            for block, parameters in posterior.blocks
        )
        return cls(
            n_classes=len(model.classes), n_features=features,
            n_rows=float(model.class_weight.rounded().sum()),
            n_parameters=posterior.n_parameters,
        ).plot(ax)  # fmt: skip

    def _counts(self, features: int) -> dict[str, int]:
        counts = parameter_counts(self.n_classes, features)
        prior = counts["class prior"]
        return {name: counts[name] + (prior if name != "class prior" else 0) for name in RUNGS}

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the given axes, or in a new figure."""
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        self.counts_ = self._counts(self.n_features)
        max_features = max(10.0, 3.0 * self.n_features)
        steps = np.unique(np.geomspace(1.0, max_features, POINTS).astype(int)).tolist()
        table = [self._counts(d) for d in steps]
        upper = 10 * max(int(self.n_rows), table[-1]["full covariance"])
        ax.set(xlabel="features d", ylabel="free parameters", xscale="log", yscale="log")
        self.lines_ = {}
        for k, name in enumerate(RUNGS):
            look = style.style(k)
            # counts may exceed float64
            values = [float(min(counts[name], 10 * upper)) for counts in table]
            self.lines_[name] = ax.plot(steps, values, c=look.colour, ls=look.line, lw=2.2)[0]
        ax.set(xlim=(1.0, max_features), ylim=(0.7, upper))
        self.rows_ = ax.axhline(self.n_rows, c="black", lw=1.4)
        ax.axhspan(self.n_rows, upper, color="0.92", zorder=0)
        ax.axvline(self.n_features, c="black", lw=1.0, ls=":")
        ax.annotate(
            f"n = {_short(self.n_rows)} rows", (1.0, self.n_rows), (4, 3),
            textcoords="offset points", fontsize="small", va="bottom",
        )  # fmt: skip
        ax.annotate(
            f"d = {self.n_features:,}", (self.n_features, 0.7), (-3, 4), textcoords="offset points",
            fontsize="small", ha="right", va="bottom",
        )  # fmt: skip
        handles: list[Any] = list(self.lines_.values())
        labels = [f"{name}\n{_short(self.counts_[name])}" for name in RUNGS]
        if self.n_parameters is not None:
            mark = ax.scatter(
                self.n_features, float(min(self.n_parameters, 10 * upper)), s=110, c="white",
                marker="*", edgecolors="black", zorder=5,
            )  # fmt: skip
            handles.append(mark)
            labels.append(f"this model\n{_short(self.n_parameters)}")
        self.legend_ = style.legend(ax, handles, labels)
        style.plain(ax)
        return self


def _short(count: float) -> str:
    """Format a number: whole below `WHOLE`, then with a power of ten."""
    if count < WHOLE:
        return f"{count:,.12g}"
    power = math.log10(count)
    return f"${10.0 ** (power % 1.0):.1f} \\times 10^{{{int(power)}}}$"
