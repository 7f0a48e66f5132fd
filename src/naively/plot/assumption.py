"""Plot the naive Bayes assumption in four panels: two marginals, their product, the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from scipy.special import log_softmax

from naively.core.exact import Float64, Int64
from naively.core.labels import Labels
from naively.plot import style
from naively.plot.boundary import DecisionBoundaryDisplay
from naively.plot.density import draw_curves, draw_joint, draw_rows
from naively.plot.learning import Curves, densities, joint_of


@dataclass(kw_only=True, eq=False, repr=False)
class NaiveAssumptionDisplay:
    """The steps of naive Bayes from two features to a decision, in four panels.

    Lecture 1, "Illustration behind the Naive Bayes algorithm": P(x_α | y) is estimated in each
    dimension (panels 1 and 2), P(x | y) as their product (panel 3), and P(y | x) follows by Bayes'
    rule (panel 4): each region has the colour of the predicted class, the stronger the higher its
    probability, and the boundary is black. The contours of the product are where it is e^(-1/2) and
    e^(-2) of its peak, at 1 and 2 standard deviations of a Gaussian. For a model that does not
    assume independence, panel 3 shows the model's P(x | y).

    Parameters
    ----------
    curves : two Curves, of the features.
    classes : (C,) labels.
    joint : (C, m, m) log p(x | c) over a grid of the features, rows along the second.
    grid : (x, y) of that grid.
    log_prior : (C,) log π_c.
    independent : whether the joint is the product of the curves.
    codes : (n,) positions of the classes of the rows in `curves`; None without rows.

    Attributes
    ----------
    axes_ : list of four Axes.
    figure_, legend_
    """

    curves: Sequence[Curves]
    classes: Labels
    joint: Float64
    grid: tuple[Float64, Float64]
    log_prior: Float64
    independent: bool = True
    codes: Int64 | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        features: Sequence[Any] | None = None,
        feature_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Evaluate two features of a fitted estimator of naively, and draw.

        Parameters
        ----------
        estimator : fitted.
        X : (n, d) rows to draw, optional.
        y : (n,) their labels, or the name of the column of X with the labels.
        features : names or positions of two numeric features; by default the two most informative.
            Other features are not part of the posterior.
        feature_names : for a model that was fitted to an array.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is not one of naively, or does not have two such
            features; if X is given without y.
        """
        model, curves, codes = densities(estimator, feature_names, features, X, y, 2)
        names = [curve.name for curve in curves]
        if len(set(names)) != 2 or len(names) != 2:
            raise ValueError(f"two features of numbers are drawn together, not {names}")
        joint, grid, independent = joint_of(model, curves)
        return cls(
            curves=curves, classes=model.classes, joint=joint, grid=grid,
            log_prior=model.posterior().log_prior, independent=independent, codes=codes,
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        self.figure_, grid = style.grid(ax, 2, 2, (7.6, 6.0))
        self.axes_ = [self.figure_.add_subplot(grid[divmod(k, 2)]) for k in range(4)]
        first, second = self.curves
        for panel, curves, number in zip(self.axes_, self.curves, (1, 2), strict=False):
            draw_curves(panel, curves, self.codes)
            panel.set(xlabel=style.label(curves.name), ylabel=curves.quantity)
            panel.set_title(rf"{number}.  $P(x_{number} \mid y)$", fontsize="medium")
        product, posterior = self.axes_[2:]
        draw_joint(product, self.grid, self.joint)
        draw_rows(product, first, second, self.codes)
        product.set(xlabel=style.label(first.name), ylabel=style.label(second.name))
        formula = r"P(x \mid y) = P(x_1 \mid y)\,P(x_2 \mid y)"
        product.set_title(
            f"3.  ${formula}$" if self.independent else r"3.  $P(x \mid y)$, not their product",
            fontsize="medium",
        )
        self._draw_posterior(posterior)
        posterior.set_title(r"4.  $P(y \mid x) \propto P(x \mid y)\,P(y)$", fontsize="medium")
        self.legend_ = style.class_legend(self.axes_[1], self.classes, self.codes is not None)
        return self

    def _draw_posterior(self, panel: Axes) -> None:
        """Draw the regions of the predicted classes, and the boundary."""
        log_proba = log_softmax(self.joint + self.log_prior[:, np.newaxis, np.newaxis], axis=0)
        first, second = self.curves
        points = None
        if first.rows is not None and second.rows is not None:
            points = np.column_stack([first.rows, second.rows])
        regions = DecisionBoundaryDisplay(
            x=self.grid[0], y=self.grid[1], log_proba=np.moveaxis(log_proba, 0, 2),
            classes=self.classes, feature_names=[first.name, second.name],
            points=points, codes=self.codes,
        ).plot(panel)  # fmt: skip
        regions.legend_.remove()
