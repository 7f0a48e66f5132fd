"""The error that no classifier avoids: what the densities of one feature share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from naively.exact import Float64
from naively.families.base import CurveKind
from naively.model import Model
from naively.plot import style
from naively.plot.curves import COUNT, DENSITY, curves_of
from naively.plot.models import feature, log_density, model_of

FINE = 1 << 14  # points at which densities are summed up
BEYOND = 2.0  # times the range that is drawn, on either side, where they are summed up
STRIP = 0.035  # height of the strip of decisions, as a part of the axes


@dataclass(kw_only=True, eq=False, repr=False)
class BayesErrorDisplay:
    """R(f*) as an area: where the classes overlap, even the best classifier makes mistakes.

    Lecture 2, "Optimal Classification". The lines are P(y) p(x | y), which is P(y | x) up to p(x);
    f*(x) is the class of the highest one, and the strip below has its colour. All that lies under
    the other lines is lost: their sum is hatched, and its area is R(f*) = P(f*(X) ≠ Y). It is the
    error of one feature, and of the truth as the model has it.

    Parameters
    ----------
    name : of the feature.
    x : (m,) its values.
    joint : (C, m) P(c) p(x | c), one over the feature's unit, or a probability.
    quantity : what p(x | c) is.
    error : R(f*), from 0 to 1.
    classes : (C,) labels.

    Attributes
    ----------
    ax_, figure_, legend_
    lines_ : list of Line2D, one a class.
    lost_ : PolyCollection, the area of the error.
    boundaries_ : list of Line2D, where f* changes.
    """

    name: str
    x: Float64
    joint: Float64
    quantity: CurveKind
    error: float
    classes: Any

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature: Any = None,
        feature_names: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Evaluate one feature of a fitted estimator of naively, and draw.

        Parameters
        ----------
        estimator : fitted; `from_parameters` makes one of given densities.
        feature : name or position of a number or count, which is judged alone; the only one by
            default.
        feature_names : for a model that learned from an array.
        ax : axes to draw in; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is none of naively, or has no such feature.
        """
        model = model_of(estimator, feature_names)
        name = _chosen(model, feature)
        curves = curves_of(model, name, None)
        prior = model.posterior().class_prior[:, np.newaxis]
        return cls(
            name=name, x=curves.x, joint=prior * curves.density, quantity=curves.quantity,
            error=_error(model, name, curves.x, curves.quantity), classes=model.classes,
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the given axes, or in a new figure."""
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        steps = self.quantity == COUNT
        lost = self.joint.sum(axis=0) - self.joint.max(axis=0)
        self.lost_ = ax.fill_between(
            self.x, lost, step="mid" if steps else None, facecolor="0.85", edgecolor="0.35",
            hatch="////", lw=0.0, zorder=1,
        )  # fmt: skip
        styles = style.styles(len(self.classes))
        self.lines_ = [
            ax.plot(
                self.x, own, c=one.colour, ls=one.line, lw=2.2, zorder=3,
                drawstyle="steps-mid" if steps else "default",
            )[0]
            for own, one in zip(self.joint, styles, strict=True)
        ]  # fmt: skip
        top = max(float(self.joint.max()), float(lost.max())) or 1.0
        self._draw_decisions(ax, styles, 0.5 if steps else 0.0)
        ax.set_ylim(-2.0 * STRIP * top, 1.05 * top)
        ax.set_xlabel(style.label(self.name))
        ax.set_ylabel("P(y) P(x | y)" if steps else "P(y) p(x | y)")
        style.plain(ax)
        handles = [Line2D([], [], c=one.colour, ls=one.line, lw=2.2) for one in styles]
        shaded = Patch(facecolor="0.85", edgecolor="0.35", hatch="////", lw=0.0)
        names = [style.label(name) for name in self.classes.tolist()]
        self.legend_ = style.legend(
            ax, [*handles, shaded], [*names, f"R(f*) = {self.error:.3g}"]
        )  # fmt: skip
        return self

    def _draw_decisions(self, ax: Axes, styles: list[style.Style], half: float) -> None:
        """The strip below, in the colours of f*(x), and lines where it changes."""
        best, low, high = self.joint.argmax(axis=0), self.x[0] - half, self.x[-1] + half
        edges = np.concatenate([[low], (self.x[:-1] + self.x[1:]) / 2, [high]])
        ax.set_xlim(low, high)
        starts = np.flatnonzero(np.diff(best, prepend=-1))
        for start, stop in zip(starts, [*starts[1:], len(best)], strict=True):
            one = styles[best[start]]
            ax.axvspan(
                edges[start], edges[stop], 0.0, STRIP, facecolor=one.colour, hatch=one.hatch,
                edgecolor="white", lw=0.0, zorder=2,
            )  # fmt: skip
        self.boundaries_ = [
            ax.axvline(edges[start], c="black", lw=1.0, ls=(0, (1, 2)), zorder=2)
            for start in starts[1:]
        ]


def _chosen(model: Model, given: Any) -> str:
    """The feature to judge, by its name or position; the only one if none is given."""
    known = model.schema.known
    curved = [n for n in model.schema.ordered if known[n].curve in (DENSITY, COUNT)]
    if not curved:
        raise ValueError("no feature of this model has a density or counts, under which to shade")
    if given is None and len(curved) > 1:
        raise ValueError(
            f"the model has {len(curved)} features of numbers: name the one to be judged alone by "
            "`feature`; `bayes_error()` tells that of all together"
        )
    return feature(model, curved[0] if given is None else given, curved)


def _error(model: Model, name: str, x: Float64, quantity: CurveKind) -> float:
    """Σ_x or ∫ of what lies under all but the highest line, with the tails."""
    wide = BEYOND * (x[-1] - x[0])
    least, most = model.schema.known[name].summary.bounds
    low, high = max(x[0] - wide, least), min(x[-1] + wide, most)
    if quantity == COUNT:
        points: npt.NDArray[Any] = np.arange(np.floor(low), min(high, low + (1 << 20)) + 1.0)
    else:
        points = np.union1d(np.linspace(low, high, FINE), x)
    with np.errstate(over="ignore"):
        density = np.exp(log_density(model, {name: points}))
    joint = model.posterior().class_prior[:, np.newaxis] * density
    widths = np.ones(len(points)) if quantity == COUNT else np.gradient(points)
    total = joint.sum(axis=0)
    return float((total - joint.max(axis=0)) @ widths / (total @ widths))
