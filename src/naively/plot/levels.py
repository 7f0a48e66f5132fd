"""Dice: the probability of each level of a categorical feature in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from naively.exact import Float64
from naively.families.describing import in_order
from naively.model import Model
from naively.plot import style
from naively.plot.models import displayed, log_density, model_of, part_of

MOST = 9  # features that are shown unless they are named
FACES = 12  # levels of a feature, the rest being one bar
BAR = 0.11  # inches


@dataclass(frozen=True)
class Die:
    """One feature's probabilities.

    Attributes
    ----------
    name : of the feature.
    levels : (K,) names.
    theta : (C, K) [θ_jc]_α, the probability of level j in class c.
    """

    name: str
    levels: list[str]
    theta: Float64


@dataclass(kw_only=True, eq=False, repr=False)
class LevelsDisplay:
    """The probability of each level in each class, [θ_jc]_α, as bars side by side.

    Lecture 1, case 1: "there exist d independent dice for each class". Of more than twelve levels
    the most probable ones are shown, and the rest as one bar.

    Parameters
    ----------
    dice : list of Die, one a feature.
    classes : (C,) labels.

    Attributes
    ----------
    axes_ : list of Axes, one a feature.
    bars_ : list of lists of BarContainer, one a class for each feature.
    figure_, legend_
    """

    dice: Sequence[Die]
    classes: Any

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        features: Sequence[Any] | Any | None = None,
        feature_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Take the categorical features of a fitted estimator of naively, and draw.

        Parameters
        ----------
        estimator : fitted `NaiveBayes`, `CategoricalNB` or `JointBayes`; of a joint table each
            feature by itself is shown.
        features : names or positions; all by default, or the nine most telling of more.
        feature_names : for a model that learned from an array.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is none of naively, or has no such features.
        """
        model = model_of(estimator, feature_names)
        known = model.schema.known
        among = [n for n in model.schema.ordered if known[n].summary.takes == "levels"]
        if not among:
            raise ValueError("no feature of this model has levels")
        dice = [_die(model, name) for name in displayed(model, features, among, MOST)]
        return cls(dice=dice, classes=model.classes).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        columns, lines = style.layout(len(self.dice))
        styles = style.styles(len(self.classes))
        tallest = max(len(die.levels) for die in self.dice) * (len(styles) * BAR + 0.12)
        size = 6.0 if columns == 1 else 2.5 * columns + 1.0, max(lines * (tallest + 0.5), 2.5)
        self.figure_, grid = style.grid(ax, lines, columns, size)
        self.axes_, self.bars_ = [], []
        for k, die in enumerate(self.dice):
            panel = self.figure_.add_subplot(grid[divmod(k, columns)])
            at, height = np.arange(len(die.levels)), 0.8 / len(styles)
            bars = [
                panel.barh(
                    at - 0.4 + (c + 0.5) * height, theta, height, color=own.colour,
                    hatch=own.hatch, edgecolor="white", linewidth=0.0,
                )
                for c, (theta, own) in enumerate(zip(die.theta, styles, strict=True))
            ]  # fmt: skip
            panel.set_yticks(at, [style.label(level) for level in die.levels], fontsize="small")
            panel.set_ylim(len(at) - 0.4, -0.6)
            panel.set_title(style.label(die.name), fontsize="medium" if columns < 3 else "small")
            panel.set_xlim(0.0, min(1.05 * float(die.theta.max()) or 1.0, 1.0))
            if k + columns >= len(self.dice):
                panel.set_xlabel("P(level | class)")
            style.plain(panel)
            self.axes_.append(panel)
            self.bars_.append(bars)
        handles = [
            Patch(facecolor=own.colour, hatch=own.hatch, edgecolor="white", lw=0.0)
            for own in styles
        ]
        names = [style.label(name) for name in self.classes.tolist()]
        self.legend_ = style.legend(self.axes_[columns - 1], handles, names)
        return self


def _die(model: Model, name: str) -> Die:
    """The probabilities of a feature's levels; those of the least probable ones together."""
    part, place = part_of(model, name)
    levels = part.scored_levels[place]
    names = [str(level) for level in levels[in_order(levels.tolist())].tolist()]
    theta = np.exp(log_density(model, {name: pa.array(names)}))
    if len(names) <= FACES:
        return Die(name, names, theta)
    likely = np.sort(
        np.argsort(-(model.posterior().class_prior @ theta), kind="stable")[: FACES - 1]
    )
    rest = np.delete(theta, likely, axis=1).sum(axis=1, keepdims=True)
    names = [names[k] for k in likely] + [f"{len(names) - len(likely):,} others"]
    return Die(name, names, np.hstack([theta[:, likely], rest]))
