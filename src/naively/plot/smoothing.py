"""Plot the effect of smoothing on probabilities and on cross-validated predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from naively.core.exact import Float64
from naively.evaluation.out_of_fold import SmoothingCurve
from naively.explain.importance import bits, bits_of_event
from naively.model.model import Model
from naively.plot import style
from naively.plot.models import feature as feature_of
from naively.plot.models import part_of
from naively.tables.names import few

LINES = 12  # lines, at most, by default
LEVELS = 3  # categories or terms, at most, by default
SIGNS = {"p": "θ", "sd": "σ", "mean": "μ"}

Line = tuple[Any, str | None, Float64]
"""A class, a category or term, and its estimate for each smoothing."""


@dataclass(kw_only=True, eq=False, repr=False)
class SmoothingDisplay:
    """θ, and the out-of-fold log-loss and error, against the smoothing l.

    Lecture 1, "By setting l = 0 we get an MLE estimator, l > 0 leads to MAP": on the left are the
    probabilities of a few categories or terms of one feature, from observed shares to equal ones as
    l grows; for other features their estimates, such as σ of normal ones. On the right are the
    out-of-fold log-loss and error: too little smoothing is overconfident, too much is
    uninformative. The l of least log-loss is marked, and that of the model itself.

    Parameters
    ----------
    curve : SmoothingCurve
    feature : whose estimates are drawn; by default the most informative of those that l changes.
    levels : its categories or terms; by default the three most informative, or fewer.
    alpha : the smoothing of the model itself, if it is one number.

    Attributes
    ----------
    best_ : the l of least out-of-fold log-loss.
    axes_ : list of three Axes: the estimates, the log-loss, the error.
    lines_ : dict of Line2D by (class, category); the category is None where there are none.
    figure_, legend_
    """

    curve: SmoothingCurve
    feature: Any = None
    levels: Sequence[str] | None = None
    alpha: float | None = None
    lines_: dict[tuple[Any, str | None], Any] = field(init=False, default_factory=dict)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        feature: Any = None,
        levels: Sequence[str] | None = None,
        alphas: Sequence[float] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Cross-validate each smoothing, and draw.

        Parameters
        ----------
        estimator : a classifier with smoothing, fitted or not; it does not change.
        X, y : rows and labels, as for its `fit`.
        feature : name or position of the feature whose estimates are drawn.
        levels : its categories, or terms of a text.
        alphas : values of l above 0; 21 from 0.001 to 100 by default.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator has no smoothing; as its `out_of_fold`; if there is
            no such feature or category.
        """
        if not hasattr(estimator, "smoothing_curve"):
            raise TypeError(
                f"{type(estimator).__name__} is not a classifier of naively with smoothing"
            )
        options = {} if alphas is None else {"alphas": alphas}
        curve = estimator.smoothing_curve(X, y, **options)
        alpha_value = estimator.alpha
        if isinstance(alpha_value, str) and hasattr(estimator, "model_"):
            alpha_value = estimator.alpha_  # chosen by "auto"
        is_number = isinstance(alpha_value, int | float | np.number)
        alpha = float(alpha_value) if is_number else None
        return cls(curve=curve, feature=feature, levels=levels, alpha=alpha).plot(ax)

    @property
    def best_(self) -> float:
        """The l of least log-loss; the first if several are equal."""
        return float(self.curve.alphas[np.nan_to_num(self.curve.log_loss, nan=np.inf).argmin()])

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        curve = self.curve
        if not (curve.alphas > 0).all():
            raise ValueError("alphas must be above 0, to be drawn on a logarithmic scale")
        title, lines = self._numbers()
        self.figure_, grid = style.grid(ax, 2, 2, (9.5, 4.2), width_ratios=(1.1, 1.0))
        positions = (slice(None), 0), (0, 1), (1, 1)
        self.axes_ = [self.figure_.add_subplot(grid[position]) for position in positions]
        self._draw_numbers(self.axes_[0], title, lines)
        look, (_, losses, errors) = style.style(0), self.axes_
        losses.plot(curve.alphas, curve.log_loss, c=look.colour, lw=2.2)
        errors.plot(curve.alphas, curve.error, c=look.colour, lw=2.2)
        finite = curve.log_loss[np.isfinite(curve.log_loss)]
        if curve.baseline_log_loss < 2 * finite.max(initial=0.0):
            losses.axhline(curve.baseline_log_loss, c="black", ls=(0, (1, 2)), lw=1.2)
            losses.annotate(
                "class prior", (1.0, curve.baseline_log_loss), (-2, 3), fontsize="small",
                ha="right", xycoords=("axes fraction", "data"), textcoords="offset points",
            )  # fmt: skip
        best_index = int(np.flatnonzero(curve.alphas == self.best_)[0])
        losses.plot(self.best_, curve.log_loss[best_index], "o", c=look.colour, ms=7, zorder=4)
        losses.set_title(f"out-of-fold log-loss, smallest at l = {self.best_:.3g}")
        losses.set_ylabel("nats")
        errors.set_title("out-of-fold error")
        errors.yaxis.set_major_formatter(lambda y, _: f"{100 * y:.3g}%")
        low, high = curve.alphas[[0, -1]].tolist()
        for panel in self.axes_:
            panel.set_xscale("log")
            panel.title.set_fontsize("medium")
            panel.set_xlabel("" if panel is losses else "smoothing l")
            if self.alpha is not None and low <= self.alpha <= high:
                panel.axvline(self.alpha, c="black", lw=1.0, ls=":", zorder=0)
                self.axes_[0].set_xlabel("smoothing l; dotted: of this model")
            style.plain(panel)
        losses.tick_params(labelbottom=False)
        return self

    def _numbers(self) -> tuple[str, list[Line]]:
        """The title, and a line for each class and category."""
        count = len(self.curve.alphas)
        middle_model = self.curve.model(count // 2)
        name = _chosen(middle_model, self.curve.model(0), self.feature)
        quantity, levels, values = _numbers(middle_model, name)
        positions = _places(middle_model, levels, values, self.levels)
        table = np.array(
            [_numbers(self.curve.model(k), name)[2][:, positions] for k in range(count)]
        )
        classes = middle_model.classes.tolist()
        family = middle_model.schema.family_of[name].name
        title_name = {"text": "terms", "joint": "cells"}.get(family, name)
        return f"{SIGNS.get(quantity, quantity)} of {style.label(title_name)}", [
            (label, levels[position], table[:, c, k])
            for k, position in enumerate(positions) for c, label in enumerate(classes)
        ]  # fmt: skip

    def _draw_numbers(self, panel: Axes, title: str, lines: list[Line]) -> None:
        classes, levels = ([*dict.fromkeys(line_spec[k] for line_spec in lines)] for k in (0, 1))
        self.lines_, names = {}, []
        for label, level, values in lines:
            look = style.style(classes.index(label))
            linestyle = look.line if len(levels) == 1 else style.style(levels.index(level)).line
            (line,) = panel.plot(self.curve.alphas, values, c=look.colour, ls=linestyle, lw=2.0)
            self.lines_[label, level] = line
            names.append(style.label(label if level is None else f"{level}, {label}"))
        panel.set_title(title)
        if all((values >= 0).all() for *_, values in lines):
            panel.set_ylim(bottom=0.0)
        self.legend_ = style.legend(panel, list(self.lines_.values()), names)


def _chosen(model: Model, other: Model, selector: Any) -> str:
    """The given feature, or the most informative of those that the smoothing changes."""
    candidates: list[str] = []
    smoothed: list[str] = []
    for block, part in model.posterior().blocks:
        if part.listed():
            candidates += block.names
            if repr(block.family) != repr(other.schema.family_of[block.names[0]]):
                smoothed += block.names
    if not candidates:
        raise ValueError("no feature of this model has numbers of its own to draw")
    if selector is not None:
        return feature_of(model, selector, candidates)
    information = bits(model.posterior())  # without text features
    return max(smoothed or candidates, key=lambda name: information.get(name, -1.0))


def _numbers(model: Model, name: str) -> tuple[str, list[str | None], Float64]:
    """The last estimate of a feature: its name, the categories or None, the numbers (C, R)."""
    parameters, index = part_of(model, name)
    listed = [listed for listed in parameters.listed() if listed.others is None][-1]
    is_joint = listed.features is None  # the cells of a joint table
    columns = (
        np.arange(listed.values.shape[1]) if is_joint else np.flatnonzero(listed.features == index)
    )
    levels = [None] * len(columns) if listed.levels is None else [listed.levels[k] for k in columns]
    return listed.name, levels, listed.values[:, columns]


def _places(
    model: Model, levels: list[str | None], values: Float64, categories: Sequence[str] | None
) -> list[int]:
    """The positions of the given categories, or of the most informative ones."""
    if categories is not None:
        selected = [categories] if isinstance(categories, str) else list(categories)
        if missing := [category for category in selected if category not in levels]:
            names = few([level for level in levels if level is not None])
            raise ValueError(f"{missing[0]!r} is not one of the categories {names}")
        return [levels.index(category) for category in selected]
    if len(levels) == 1:
        return [0]
    n_shown = max(1, min(LEVELS, LINES // max(1, len(values))))
    information = bits_of_event(values, model.posterior().class_prior)
    return np.sort(np.argsort(-information, kind="stable")[:n_shown]).tolist()
