"""Dice and coins: the probability of each level, of each side, or of heads, in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from naively.plot import style
from naively.plot.dice import Die, dice_of
from naively.plot.models import model_of

BAR = 0.11  # inches


@dataclass(kw_only=True, eq=False, repr=False)
class LevelsDisplay:
    """The dice and coins of each class, [θ_jc]_α, θ_αc or p_αc, as bars side by side.

    Lecture 1, case 1: "there exist d independent dice for each class": a panel each. Of more than
    twelve levels the most probable ones are shown, and the rest as one bar. Case 2, counts: "there
    are only as many dice as classes. Each die has d sides": one panel, of the twelve sides that
    tell most about the class. Features that are present or absent (lecture 4) are coins: one panel
    of P(present | class), of the twelve that tell most. Of many classes they are fewer.

    Parameters
    ----------
    dice : list of Die, one a feature; one for all counts, and one for all coins.
    classes : (C,) labels.

    Attributes
    ----------
    axes_ : list of Axes, one a die.
    bars_ : list of lists of BarContainer, one a class for each die.
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
        """Take the dice and coins of a fitted estimator of naively, and draw.

        Parameters
        ----------
        estimator : fitted `NaiveBayes`, `CategoricalNB`, `MultinomialNB`, `BernoulliNB` or
            `TextNB`; or `JointBayes`, of whose table each feature by itself is shown.
        features : names or positions, or terms; all by default, or the most telling of more.
        feature_names : for a model that learned from an array.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is none of naively, or has no such features.
        """
        model = model_of(estimator, feature_names)
        return cls(dice=dice_of(model, features), classes=model.classes).plot(ax)

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
                panel.set_xlabel(die.quantity)
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
