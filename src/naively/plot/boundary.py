"""Plot decision regions over two features, the boundary, and the ellipses of Gaussian classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse

from naively.core.exact import Float64
from naively.io.frames import is_named
from naively.io.inputs import MISSING
from naively.model.model import Model
from naively.plot import style
from naively.plot.models import check_predicts, codes, gaussians, rows
from naively.tables.names import few
from naively.tables.values import flat, numbers

MARGIN = 0.08  # of the range of the rows, on either side
DEVIATIONS = 1, 2
FAINT, STRONG = 0.05, 0.45  # strength of the colour where classes are tied, and at probability 1
MANY = 1000  # rows beyond which points are smaller
MAX_LOG_ODDS = 700.0  # nats at which log-odds are clipped: more makes no difference


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionBoundaryDisplay:
    """Decision regions over two features.

    Lecture 1, "Naive Bayes is a linear classifier", and lecture 2, "Decision Boundary of Gaussian
    Bayes". Each region has the colour of the predicted class, the stronger the higher P(class | x);
    the boundary, where the two most probable classes are tied, is black. Gaussian classes show
    their means and the ellipses at 1 and 2 standard deviations, "regions of equal probabilities
    P(x | y)": 39% and 86% of a class's rows are expected inside.

    Parameters
    ----------
    x : (m,) values of the first feature, the columns of the grid.
    y : (m,) values of the second feature, its rows.
    log_proba : (m, m, C) log P(c | x), in nats.
    classes : (C,) labels.
    feature_names : two names.
    points : (n, 2) rows to draw.
    codes : (n,) positions of their classes; None if unknown.
    means, covariances : (C, 2) and (C, 2, 2) of Gaussian classes; None for others.

    Attributes
    ----------
    ax_, figure_
    surface_ : AxesImage
    boundary_ : list of contour sets, one for each class, or one for two classes.
    ellipses_ : list of Ellipse, two for each class.
    points_ : list of PathCollection, one for each class with rows.
    legend_ : Legend
    """

    x: Float64
    y: Float64
    log_proba: Float64
    classes: npt.NDArray[Any]
    feature_names: Sequence[str]
    points: Float64 | None = None
    codes: npt.NDArray[Any] | None = None
    means: Float64 | None = None
    covariances: Float64 | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        grid_resolution: int = 200,
        ax: Axes | None = None,
    ) -> Self:
        """Evaluate a fitted classifier of two numeric features, of naively or not, and draw.

        Parameters
        ----------
        estimator : fitted, with `predict_proba`.
        X : (n, 2) array or table of its features: the range to draw, and the points.
        y : (n,) labels of the rows, or the name of the column of X with the labels.
        feature_names : two names; those of X by default.
        grid_resolution : points of the grid along each feature.
        ax : axes to draw in; a new figure by default.

        Raises
        ------
        ValueError : if X does not have two numeric columns, y has labels that are none of the
            classes, or the classifier is not fitted.
        TypeError : if the estimator has no `predict_proba`.
        """
        check_predicts(estimator)
        table, labels = rows(X, y)
        points, names = _two_columns(table), table.column_names
        if feature_names is not None and len(feature_names) != 2:
            raise ValueError(f"feature_names must be two names, not {list(feature_names)}")
        classes = np.asarray(estimator.classes_)
        _refuse_levels(estimator, names)
        means, covariances = gaussians(estimator, names) or (None, None)
        extents = [points]
        if means is not None and covariances is not None:
            variance = np.diagonal(covariances, axis1=1, axis2=2)
            deviation = DEVIATIONS[-1] * np.sqrt(np.maximum(variance, 0.0))
            extents += [means - deviation, means + deviation]
        grid = [_grid(values, grid_resolution) for values in np.vstack(extents).T]
        grid_columns = [axis.ravel() for axis in np.meshgrid(*grid)]
        shape = len(grid[1]), len(grid[0]), len(classes)
        return cls(
            x=grid[0], y=grid[1],
            log_proba=_log_proba(estimator, _like(X, names, grid_columns)).reshape(shape),
            classes=classes, feature_names=feature_names or names, points=points,
            codes=None if labels is None else codes(labels, classes),
            means=means, covariances=covariances,
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the given axes, or in a new figure."""
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        self._regions(ax)
        self._draw_points(ax)
        self._draw_ellipses(ax)
        ax.set_xlabel(style.label(self.feature_names[0]))
        ax.set_ylabel(style.label(self.feature_names[1]))
        handles = [
            Line2D([], [], ls="", marker=look.marker, c=look.colour, mec=look.dark, mew=0.7)
            for look in style.styles(len(self.classes))
        ]
        labels = [style.label(name) for name in self.classes.tolist()]
        if self.boundary_:
            handles.append(Line2D([], [], c="black", lw=1.8))
            labels.append("boundary")
        if self.ellipses_:
            handles += [Line2D([], [], c="0.35", lw=1.4), Line2D([], [], c="0.35", lw=1.4, ls="--")]
            labels += ["1 st. dev.", "2 st. dev."]
        self.legend_ = style.legend(ax, handles, labels)
        return self

    def _regions(self, ax: Axes) -> None:
        predicted = self.log_proba.argmax(axis=2)
        shade = np.exp(self.log_proba.max(axis=2))
        min_proba = 1.0 / len(self.classes)
        shade = (shade - min_proba) / max(1.0 - min_proba, min_proba)
        colours = np.array([look.rgb for look in style.styles(len(self.classes))])
        depth = FAINT + (STRONG - FAINT) * np.clip(shade, 0.0, 1.0)[:, :, np.newaxis]
        step = (self.x[1] - self.x[0]) / 2, (self.y[1] - self.y[0]) / 2
        self.surface_ = ax.imshow(
            1.0 - depth * (1.0 - colours[predicted]), origin="lower", aspect="auto",
            interpolation="bilinear", zorder=0,
            extent=(self.x[0] - step[0], self.x[-1] + step[0],
                    self.y[0] - step[1], self.y[-1] + step[1]),
        )  # fmt: skip
        self.boundary_ = []
        for k in range(len(self.classes) if len(self.classes) > 2 else 1):
            others = np.delete(self.log_proba, k, axis=2)
            if others.shape[2] == 0:
                continue
            margin = self.log_proba[:, :, k] - others.max(axis=2)
            margin = np.clip(margin, -MAX_LOG_ODDS, MAX_LOG_ODDS)
            if margin.min() < 0.0 < margin.max():
                lines = ax.contour(
                    self.x, self.y, margin, levels=[0.0], colors="black", linewidths=1.8, zorder=2
                )
                self.boundary_.append(lines)

    def _draw_points(self, ax: Axes) -> None:
        self.points_ = []
        if self.points is None:
            return
        size = 22.0 if len(self.points) <= MANY else 6.0
        if self.codes is None:
            x, y = self.points.T
            markers = ax.scatter(x, y, s=size / 2, c="0.25", lw=0, alpha=0.6, zorder=1)
            self.points_.append(markers)
            return
        for k in np.unique(self.codes).tolist():
            look = style.style(k)
            x, y = self.points[self.codes == k].T
            markers = ax.scatter(
                x, y, s=size, c=look.colour, marker=look.marker,
                edgecolors=look.dark, linewidths=0.7, zorder=1,
            )  # fmt: skip
            self.points_.append(markers)

    def _draw_ellipses(self, ax: Axes) -> None:
        self.ellipses_ = []
        if self.means is None or self.covariances is None:
            return
        for k, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            look = style.style(k)
            values, vectors = np.linalg.eigh(covariance)
            width, height = 2.0 * np.sqrt(np.maximum(values, 0.0))
            angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
            for times, line in zip(DEVIATIONS, ("solid", "dashed"), strict=True):
                ellipse = Ellipse(
                    mean.tolist(), times * width, times * height, angle=angle, fill=False,
                    ec=look.dark, lw=1.6, ls=line, zorder=3, path_effects=style.CASING,
                )  # fmt: skip
                self.ellipses_.append(ax.add_patch(ellipse))
            ax.scatter(
                mean[0], mean[1], s=90, c=look.colour, marker=look.marker, edgecolors="black",
                linewidths=1.2, zorder=4,
            )  # fmt: skip


def _two_columns(table: pa.Table) -> Float64:
    """The values of the two features, (n, 2)."""
    if len(table.column_names) != 2:
        raise ValueError(_two(f"the columns {few(table.column_names)}"))
    columns = [numbers(flat(column), MISSING) for column in table.columns]
    for name, column_values in zip(table.column_names, columns, strict=True):
        if column_values.example is not None:
            raise ValueError(_two(f"column {name!r}, which holds {column_values.example!r}"))
    return np.column_stack([column_values.values for column_values in columns])


def _two(description: str) -> str:
    return (
        f"a boundary is drawn over two features of numbers, not over {description}: fit a "
        "classifier on two of them, and pass these"
    )


def _refuse_levels(estimator: Any, names: list[str]) -> None:
    """Raise ValueError if a column of numbers is categorical in the model: it has no regions."""
    model = getattr(estimator, "model_", None)
    if not isinstance(model, Model) or model.schema.reasons is None:
        return
    for name in names:
        family = model.schema.family_of.get(name)
        if family is not None and family.summary.takes == "levels":
            raise ValueError(
                f"column {name!r} was trained as {family.name}, and categories have no values "
                f'between them: name a family of numbers, columns={{{name!r}: "gaussian"}}'
            )


def _like(X: Any, names: list[str], columns: list[Float64]) -> Any:
    """Two columns as a table of the type of X."""
    if not is_named(X):
        return np.column_stack(columns)
    if not isinstance(X, Mapping) and hasattr(X, "columns") and not hasattr(X, "column_names"):
        keys = [key for key in X.columns if str(key) in names]
        return type(X)(dict(zip(keys, columns, strict=True)))  # a frame of pandas or polars
    table = dict(zip(names, columns, strict=True))
    return table if isinstance(X, Mapping) else pa.table(table)


def _grid(values: Float64, count: int) -> Float64:
    """`count` points over the range of the values and a margin."""
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    margin = MARGIN * (high - low) or 0.5
    first = low - margin
    if low >= 0.0:  # features that are never negative stay so
        first = max(first, 0.0)
    step = (high + margin - first) / count
    return np.asarray(first + step * (np.arange(count) + 0.5), np.float64)


def _log_proba(estimator: Any, grid: Any) -> Float64:
    """log P(c | x), (n, C); from `predict_proba` if there is no `predict_log_proba`."""
    with np.errstate(divide="ignore"):
        if hasattr(estimator, "predict_log_proba"):
            return np.asarray(estimator.predict_log_proba(grid), np.float64)
        return np.log(np.asarray(estimator.predict_proba(grid), np.float64))
