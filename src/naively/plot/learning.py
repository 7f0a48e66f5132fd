"""Evaluate class densities on a grid for plots, and plot learning curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from naively.core.exact import Float64, Int64
from naively.families.base import CurveKind
from naively.io.frames import is_named
from naively.model.model import Model
from naively.plot import style
from naively.plot.models import codes, displayed, log_density, model_of, part_of, rows
from naively.tables.values import flat, numbers

POINTS = 400  # of a curve
SIDE = 120  # points of the grid of two features along each
DRAWN = 4000  # rows that are sampled to find the range of a feature, without data
TAIL = 0.001  # share of these rows beyond the range, on either side
BINS = 20  # of a histogram
DENSITY: CurveKind = "density"
COUNT: CurveKind = "P(count | class)"


@dataclass(frozen=True)
class Curves:
    """The class densities of one feature."""

    name: str  # of the feature
    x: Float64  # (m,) values; whole numbers for counts
    density: Float64  # (C, m) p(x | c): per unit of the feature, or a probability
    quantity: CurveKind  # which of these it is
    rows: Float64 | None = None  # (n,) values of rows to draw behind the curves

    @property
    def bins(self) -> list[float] | None:
        """The edges of a histogram on the scale of the curve; None for ranges, which have none."""
        low, high = float(self.x[0]), float(self.x[-1])
        if self.quantity == DENSITY:
            return np.linspace(low, high, BINS + 1).tolist()
        if self.quantity == COUNT:
            return np.arange(low - 0.5, high + 1.0, max(1.0, (high - low) // BINS)).tolist()
        return None


def given_rows(
    model: Model, X: Any, y: Any, names: list[str]
) -> tuple[dict[str, Float64], Int64 | None]:
    """The values of these features in the given rows, and the positions of the rows' classes."""
    if X is None:
        return {}, None
    if y is None:
        raise ValueError("rows are drawn by class: pass their labels y, or no X")
    arrow, labels = rows(X, y)
    assert labels is not None
    learned = list(model.schema.why)
    if not is_named(X) or not set(names) <= set(arrow.column_names):
        if len(arrow.column_names) != len(learned):
            raise ValueError(
                f"X has {len(arrow.column_names)} columns, but the model was trained on "
                f"{len(learned)}"
            )
        arrow = arrow.rename_columns(learned)
    missing = model.schema.missing
    values = {name: numbers(flat(arrow.column(name)), missing).values for name in names}
    return values, codes(labels, model.classes)


def densities(
    estimator: Any, feature_names: Any, features: Any, X: Any, y: Any, most: int
) -> tuple[Model, list[Curves], Int64 | None]:
    """The model of an estimator, the class densities of features, and the rows' classes.

    By default of all numeric features, or of the `most` most informative ones.
    """
    model = model_of(estimator, feature_names)
    families = model.schema.family_of
    numeric = [name for name in model.schema.ordered if families[name].curve is not None]
    if not numeric:
        raise ValueError(
            "no feature of this model has a density: CategoriesDisplay shows the probabilities of "
            "categories, InformativeFeaturesDisplay the terms of text"
        )
    names = displayed(model, features, numeric, most)
    row_values, positions = given_rows(model, X, y, names)
    return model, [curves_of(model, name, row_values.get(name)) for name in names], positions


def curves_of(model: Model, name: str, row_values: Float64 | None) -> Curves:
    """The class densities of a feature over its range."""
    quantity = model.schema.family_of[name].curve
    assert quantity is not None
    low, high = _range(model, name, row_values)
    if quantity == COUNT:
        low, high = np.floor(low), np.ceil(high)
        x = np.unique(np.round(np.linspace(low, high, int(min(high - low, POINTS)) + 1)))
    else:
        x = np.linspace(low, high, POINTS)
    with np.errstate(over="ignore"):
        density = np.exp(log_density(model, {name: x}))
    return Curves(name, x, density, quantity, row_values)


def _range(model: Model, name: str, row_values: Float64 | None) -> tuple[float, float]:
    """The range of a feature, from the model and from the given rows."""
    parameters, index = part_of(model, name)
    generator = np.random.default_rng(0)
    has_rows = model.posterior().class_prior > 0
    positions = np.repeat(np.flatnonzero(has_rows), DRAWN // max(1, int(has_rows.sum())))
    values = np.asarray(parameters.sample(positions, generator)[:, index], np.float64)
    low, high = np.quantile(values, [TAIL, 1.0 - TAIL]).tolist()
    if row_values is not None:
        row_values = row_values[np.isfinite(row_values)]
        low, high = float(row_values.min(initial=low)), float(row_values.max(initial=high))
    margin = 0.05 * (high - low) or 0.5
    support = model.schema.family_of[name].summary.bounds
    return max(low - margin, support[0]), min(high + margin, support[1])


def joint_of(model: Model, curves: list[Curves]) -> tuple[Float64, tuple[Float64, Float64], bool]:
    """log p(x | c) over a grid of two features, the grid, and whether it is their product."""
    axes = [
        curve.x if curve.quantity == COUNT and len(curve.x) <= SIDE
        else np.linspace(curve.x[0], curve.x[-1], SIDE)
        for curve in curves
    ]  # fmt: skip
    x, y = np.meshgrid(*axes)
    names = [curve.name for curve in curves]
    log_p = log_density(model, {names[0]: x.ravel(), names[1]: y.ravel()})
    marginals = [log_density(model, {name: axis}) for name, axis in zip(names, axes, strict=True)]
    product = marginals[0][:, np.newaxis, :] + marginals[1][:, :, np.newaxis]
    log_p = log_p.reshape(product.shape)
    return log_p, (axes[0], axes[1]), bool(np.allclose(log_p, product, rtol=1e-6, atol=1e-6))


# ---- learning curves -----------------------------------------------------------------------------


if TYPE_CHECKING:  # the module imports scikit-learn
    from naively.evaluation.compare import Candidate, Comparison

ABOVE = 1.25  # multiple of the baseline's loss above which curves are off the scale


@dataclass(kw_only=True, eq=False, repr=False)
class LearningCurvesDisplay:
    """The learning curves of a `Comparison`: means over random splits, with bands of their range.

    Broad lines with bands are naive Bayes and the classifiers of scikit-learn. The black dotted
    line is the class prior. The axes end where candidates are worse than that, or at the worst
    of them; hollow marks at the edge are off the scale.

    Parameters
    ----------
    comparison : Comparison
    accuracy : whether the first panel shows accuracy instead of error; off the scale is then below.

    Attributes
    ----------
    axes_ : list of two Axes, of the error or accuracy, and of the log-loss.
    lines_ : dict of list of Line2D, the two lines of each candidate.
    legend_ : Legend
    figure_
    """

    comparison: Comparison
    accuracy: bool = False

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, accuracy: bool = False, ax: Axes | None = None
    ) -> Self:
        """Draw the result of `naively.compare`.

        Parameters
        ----------
        comparison : Comparison
        accuracy : draw accuracy instead of error, as in lecture 2 for twenty newsgroups.
        ax : axes of `subplots` in whose place to draw; a new figure by default.
        """
        return cls(comparison=comparison, accuracy=accuracy).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        comparison = self.comparison
        self.figure_, grid = style.grid(ax, 1, 2, (10.0, 4.2))
        self.axes_ = [self.figure_.add_subplot(grid[0, k]) for k in range(2)]
        self.lines_ = {}
        order = sorted(comparison.candidates, key=_is_broad, reverse=True)
        styles = {candidate.name: style.style(k) for k, candidate in enumerate(order)}
        prior = next(candidate for candidate in comparison.candidates if candidate.kind == "prior")
        for panel, name, unit in zip(
            self.axes_, ("error", "log_loss"), ("error", "log-loss (nats)"), strict=True
        ):
            others = [candidate for candidate in comparison.candidates if candidate is not prior]
            means = np.array([getattr(candidate, name) for candidate in others])
            means = means[np.isfinite(means)]
            worst = min(means.max(initial=0.0), getattr(prior, name)[-1]) or 1.0
            low = min(means.min(initial=np.inf), worst)
            top = min(ABOVE * worst, 1.0) if name == "error" else ABOVE * worst
            limits = max(low - 0.1 * (top - low), 0.0), top
            if self.accuracy and name == "error":
                limits, unit = (1.0 - top, 1.0 - limits[0]), "accuracy"
            panel.set_ylim(*limits)
            panel.set(xscale="log", xlabel="training rows")
            panel.set_title(f"{unit} on test rows", loc="left", fontsize="medium")
            panel.set_xticks(*_ticks(comparison.sizes))
            panel.xaxis.set_minor_locator(NullLocator())
            panel.grid(axis="y", linewidth=0.4, alpha=0.5)
            style.plain(panel)
        for candidate in comparison.candidates:
            errors, look = candidate.curve.error, styles[candidate.name]
            self.lines_[candidate.name] = [
                _line(self.axes_[0], comparison.sizes, 1.0 - errors, candidate, look, 0)
                if self.accuracy
                else _line(self.axes_[0], comparison.sizes, errors, candidate, look),
                _line(self.axes_[1], comparison.sizes, candidate.curve.log_loss, candidate, look),
            ]
        self.axes_[0].yaxis.set_major_formatter(lambda y, _: f"{100 * y:.3g}%")
        self.legend_ = style.legend(
            self.axes_[1], [self.lines_[candidate.name][0] for candidate in order],
            [style.label(candidate.name) for candidate in order],
        )  # fmt: skip
        band = f"bands: lowest to highest\nof {comparison.splits} splits;\nhollow: beyond the axis"
        self.legend_.set_title(band)
        self.legend_.get_title().set_fontsize("x-small")
        self.legend_.set_alignment("left")
        return self


def _is_broad(candidate: Candidate) -> bool:
    return candidate.name == "naive Bayes" or candidate.kind == "scikit-learn"


def _line(
    panel: Axes, sizes: tuple[int, ...], values: Float64, candidate: Candidate, stroke: style.Style,
    edge: int = 1,
) -> Line2D:  # fmt: skip
    """Draw the line of one candidate, with a band if it is broad; values are (S, K).

    Worse is below if `edge` is 0, else above.
    """
    mean = np.average(values, axis=0, weights=candidate.curve.rows)
    if candidate.kind == "prior":
        return panel.plot(sizes, mean, color="black", linestyle=(0, (1, 2)), linewidth=1.4)[0]
    limit = panel.get_ylim()[edge]
    outside = np.isinf(mean) | (mean > limit if edge else mean < limit)
    panel.plot(
        np.array(sizes)[outside], np.full(int(outside.sum()), edge), ls="none",
        marker=stroke.marker, ms=5, mfc="white", mec=stroke.colour, clip_on=False,
        transform=panel.get_xaxis_transform(), in_layout=False,
    )  # fmt: skip
    line_style: dict[str, Any] = {"c": stroke.colour, "ls": stroke.line, "marker": stroke.marker}
    if not _is_broad(candidate):
        return panel.plot(sizes, mean, linewidth=1.1, markersize=3, **line_style)[0]
    panel.fill_between(
        sizes, values.min(axis=0), values.max(axis=0), color=stroke.colour, alpha=0.2, linewidth=0
    )
    return panel.plot(sizes, mean, linewidth=2.2, markersize=5, zorder=3, **line_style)[0]


def _ticks(sizes: tuple[int, ...]) -> tuple[list[int], list[str]]:
    """The sizes that have room for a label, and the labels."""
    labelled = [sizes[-1]]
    for size in sizes[-2::-1]:
        if labelled[-1] / size >= (sizes[-1] / sizes[0]) ** 0.17:
            labelled.append(size)
    return labelled, [f"{size:,}" for size in labelled]
