"""Plot the class densities of each feature, and of two features together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from matplotlib.axes import Axes

from naively.core.exact import Float64, Int64
from naively.core.labels import Labels
from naively.plot import style
from naively.plot.learning import DENSITY, Curves, densities, joint_of

MOST = 9  # features that are shown by default
CONTOURS = -2.0, -0.5  # nats relative to the peak: 2 and 1 standard deviations of a Gaussian


@dataclass(kw_only=True, eq=False, repr=False)
class ClassDensityDisplay:
    """Class densities of features, p(x_α | y), and of two features together, p(x | y).

    Lecture 1, "Illustration behind the Naive Bayes algorithm": P(x_α | y) is estimated in each
    dimension, and P(x | y) as the product Π_α P(x_α | y). For two features, their densities are
    drawn along the axes, and the product between them: its contours are where it is e^(-1/2) and
    e^(-2) of its peak, at 1 and 2 standard deviations of a Gaussian. For a model that does not
    assume independence, such as `GaussianBayes`, they are the contours of the model's p(x | y).

    Parameters
    ----------
    curves : list of Curves, one for each feature.
    classes : (C,) labels.
    joint : (C, m, m) log p(x | c) over a grid of two features, rows along the second; or None.
    grid : (x, y) of that grid.
    independent : whether that is the product of the curves.
    codes : (n,) positions of the classes of the rows in `curves`.

    Attributes
    ----------
    axes_ : list of Axes: one for each feature; for two features the middle, above and beside it.
    figure_, legend_
    """

    curves: Sequence[Curves]
    classes: Labels
    joint: Float64 | None = None
    grid: tuple[Float64, Float64] | None = None
    independent: bool = True
    codes: Int64 | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        features: Sequence[Any] | Any | None = None,
        feature_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Evaluate the densities of a fitted estimator of naively, and draw.

        Parameters
        ----------
        estimator : fitted; its numeric features are shown.
        X : (n, d) rows to draw behind the densities, optional.
        y : (n,) their labels, or the name of the column of X with the labels.
        features : names or positions; by default all, or the nine most informative.
        feature_names : for a model that was fitted to an array.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is not one of naively, or has no such features; if
            X is given without y.
        """
        model, curves, positions = densities(estimator, feature_names, features, X, y, MOST)
        joint = grid = None
        independent = True
        if len(curves) == 2:
            joint, grid, independent = joint_of(model, curves)
        return cls(
            curves=curves, classes=model.classes, joint=joint, grid=grid,
            independent=independent, codes=positions,
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        if self.joint is not None:
            self._plot_pair(ax)
        else:
            self._plot_features(ax)
        return self

    def _plot_features(self, ax: Axes | None) -> None:
        columns, lines = style.layout(len(self.curves))
        size = style.SIZE if columns == 1 else (2.4 * columns + 1.2, max(2.0 * lines + 0.4, 2.8))
        self.figure_, grid = style.grid(ax, lines, columns, size)
        self.axes_ = []
        for k, curves in enumerate(self.curves):
            panel = self.figure_.add_subplot(grid[divmod(k, columns)])
            self.axes_.append(panel)
            draw_curves(panel, curves, self.codes)
            panel.set_xlabel(style.label(curves.name))
            has_label = k % columns == 0 or curves.quantity != self.curves[k - 1].quantity
            panel.set_ylabel(curves.quantity if has_label else "")
        self.legend_ = style.class_legend(self.axes_[columns - 1], self.classes)

    def _plot_pair(self, ax: Axes | None) -> None:
        assert self.joint is not None
        assert self.grid is not None
        self.figure_, grid = style.grid(
            ax, 2, 2, (6.0, 4.6), width_ratios=(3.0, 1.0), height_ratios=(1.0, 2.6)
        )
        joint_panel = self.figure_.add_subplot(grid[1, 0])
        top_panel = self.figure_.add_subplot(grid[0, 0], sharex=joint_panel)
        side_panel = self.figure_.add_subplot(grid[1, 1], sharey=joint_panel)
        self.axes_ = [joint_panel, top_panel, side_panel]
        first, second = self.curves
        draw_joint(joint_panel, self.grid, self.joint)
        draw_rows(joint_panel, first, second, self.codes)
        draw_curves(top_panel, first, self.codes)
        draw_curves(side_panel, second, self.codes, across=True)
        joint_panel.set_xlabel(style.label(first.name))
        joint_panel.set_ylabel(style.label(second.name))
        top_panel.set_ylabel(first.quantity)
        side_panel.set_xlabel(second.quantity)
        top_panel.tick_params(labelbottom=False)
        side_panel.tick_params(labelleft=False)
        product = r"P(x \mid y) = P(x_1 \mid y)\,P(x_2 \mid y)"
        other = r"$P(x \mid y)$, not the product of its margins"
        top_panel.set_title(f"${product}$" if self.independent else other, fontsize="medium")
        corner = self.figure_.add_subplot(grid[0, 1])
        corner.set_axis_off()
        marked = self.codes is not None
        self.legend_ = style.class_legend(corner, self.classes, marked, (0.0, 1.0))


def draw_joint(panel: Axes, grid: tuple[Float64, Float64], joint: Float64) -> None:
    """Draw contours of p(x | c) for each class; `joint` has its logarithms over the grid."""
    for k, log_p in enumerate(joint):
        look = style.style(k)
        levels = [log_p.max() + level for level in CONTOURS]
        if not np.isfinite(levels).all() or log_p.min() >= levels[0]:
            continue
        floor = np.maximum(log_p, levels[0] - 50.0)
        panel.contourf(
            *grid, floor, levels=[*levels, np.inf], colors=[look.colour], alpha=0.18, zorder=2
        )
        panel.contour(
            *grid, floor, levels=levels, colors=[look.dark], linestyles=[look.line],
            linewidths=[1.0, 1.6], zorder=3,
        )  # fmt: skip


def draw_rows(panel: Axes, first: Curves, second: Curves, codes: Int64 | None) -> None:
    """Draw the given rows over two features."""
    if codes is None or first.rows is None or second.rows is None:
        return
    for k in np.unique(codes).tolist():
        look, in_class = style.style(k), codes == k
        panel.scatter(
            first.rows[in_class], second.rows[in_class], s=12, c=look.colour, marker=look.marker,
            alpha=0.6, lw=0, zorder=1,
        )  # fmt: skip


def draw_curves(panel: Axes, curves: Curves, codes: Int64 | None, across: bool = False) -> None:
    """Draw the curves of one feature, and a histogram of the rows; sideways if `across`."""
    orientation: Literal["horizontal", "vertical"] = "horizontal" if across else "vertical"
    for k, density in enumerate(curves.density):
        look = style.style(k)
        if codes is not None and curves.rows is not None and curves.bins is not None:
            class_rows = curves.rows[codes == k]
            class_rows = class_rows[np.isfinite(class_rows)]
            if len(class_rows):
                panel.hist(
                    class_rows, curves.bins, density=True, histtype="stepfilled", color=look.colour,
                    alpha=0.2, orientation=orientation, zorder=1,
                )  # fmt: skip
        pair = (density, curves.x) if across else (curves.x, density)
        panel.plot(
            *pair, color=look.colour, ls=look.line, lw=2.0, zorder=2,
            drawstyle="default" if curves.quantity == DENSITY else "steps-mid",
        )  # fmt: skip
    if across:
        panel.set_xlim(left=0.0)
    else:
        panel.set_ylim(bottom=0.0)
    style.plain(panel)
