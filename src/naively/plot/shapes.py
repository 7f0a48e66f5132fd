"""Plot the evidence of `AutoBayes`, and the category probabilities of each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from naively.core.exact import Float64, Int64
from naively.core.labels import Label, Labels
from naively.model.model import Model
from naively.plot import style
from naively.plot.lectures import Die, dice_of
from naively.plot.models import codes, feature, model_of
from naively.pooling.blocks.shapes import MISSING, Bins, Shape, drawable, of_columns

FARTHEST = 1e250
"""Largest number that is drawn: near the end of float64 an axis has no room for its margins."""
FACES = 14  # categories of a column that are drawn: those with most rows
TICKS = 5  # tick labels along an axis
DAY = 86_400
UNITS = (1e9, "G"), (1e6, "M"), (1e3, "k")
END = 0.08  # share of an axis that its first and last bin take, at most, because they are open
CROWDED = 0.15  # if half of the bins are within this share of the axis, the axis is logarithmic


def edges_of(panel: Axes, bins: Bins, seen_bins: Int64) -> Float64:
    """The edges of bins along an axis, which is scaled so that the bins can be distinguished."""
    if bins.low is None or bins.high is None:
        return _parts(panel, bins)
    low, high = (
        np.clip(bounds[seen_bins], -FARTHEST, FARTHEST) for bounds in (bins.low, bins.high)
    )
    if bins.dated:
        return _dates(panel, np.append(low, high[-1]))
    if 1 < len(low) <= FACES and (low == high).all():  # one value per bin: centre a step on each
        gaps = np.diff(low / 2)
        edges = np.concatenate([low[:1] - gaps[0], low[:-1] + gaps, low[-1:] + gaps[-1]])
        ticks = low[:: -(-len(low) // (TICKS + 2))]
        panel.set_xticks(ticks, [*map(short, ticks)])
        panel.set_xlim(edges[0], edges[-1])
        return edges
    edges = np.append(low, high[-1])
    if len(low) > FACES:  # show a part of the first and the last bin, which are open
        margin = END * (low[-1] - low[1]) / (1 - 2 * END)
        edges[0], edges[-1] = max(low[0], low[1] - margin), min(high[-1], low[-1] + margin)
    if edges[-1] == edges[-2]:
        edges[-1] += max(np.diff(edges).max() / 4, np.spacing(edges[-1]) * 4)
    span = edges - edges[0]
    if len(low) > 3 and np.median(span) < CROWDED * span[-1]:
        edges = np.append(low, max(high[-1], edges[-1]))
        least = float(np.abs(edges[edges != 0]).min())
        if low[0] > 0:
            panel.set_xscale("log")
        else:
            panel.set_xscale("symlog", linthresh=least)
        panel.set_xticks(_decades(least, edges), minor=False)
    else:
        panel.xaxis.set_major_locator(MaxNLocator(TICKS - 1))
    panel.xaxis.set_major_formatter(lambda value, _: short(value))
    panel.set_xlim(edges[0], edges[-1])
    return edges


def _parts(panel: Axes, bins: Bins) -> Float64:
    """The edges of hours, days of the week and so on, in their order."""
    names = bins.labels[:-1]  # without missing values
    ticks = np.arange(0, len(names), 1 if len(names) <= FACES else -(-len(names) // (TICKS - 1)))
    panel.set_xticks(ticks, [names[k][: 5 if ":" in names[k] else 3] for k in ticks])
    panel.tick_params(axis="x", rotation=40 if len(ticks) > 2 * TICKS else 0)
    panel.set_xlim(-0.5, len(names) - 0.5)
    edges: Float64 = np.arange(len(names) + 1, dtype=np.float64) - 0.5
    return edges


def _dates(panel: Axes, moments: Float64) -> Float64:
    """The edges of bins of dates or times of day, converted from seconds to Matplotlib's days."""
    edges = moments / DAY
    if edges[-1] == edges[-2]:
        edges[-1] += max(np.diff(edges).max() / 4, 1 / DAY)
    locator = AutoDateLocator(minticks=2, maxticks=TICKS)  # type: ignore[no-untyped-call]
    in_one_day = edges[0] >= 0 and edges[-1] <= 1
    panel.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator, show_offset=not in_one_day)  # type: ignore[no-untyped-call]
    panel.xaxis.set_major_formatter(formatter)
    panel.set_xlim(edges[0], edges[-1])
    return edges


def _decades(least: float, edges: Float64) -> list[float]:
    """A few powers of ten along an axis, of both signs, and 0 if it is within."""
    largest = float(np.abs(edges).max())
    powers = np.arange(np.ceil(np.log10(least)), np.log10(largest))
    powers = powers[:: -(-len(powers) // (TICKS - 2)) or 1]
    ticks = [0.0] * bool(edges[0] <= 0.0)
    ticks += [sign * 10.0**power for power in powers for sign in (-1, 1)]
    return sorted(tick for tick in ticks if edges[0] <= tick <= edges[-1])


def short(value: float) -> str:
    """Format a number in few characters."""
    for unit, sign in UNITS:
        if abs(value) >= 10 * unit or abs(value) >= unit > 1e3:
            return f"{value / unit:.3g}{sign}"
    return f"{value:.4g}"


# ---- categories ----------------------------------------------------------------------------------


BAR = 0.11  # inches


@dataclass(kw_only=True, eq=False, repr=False)
class CategoriesDisplay:
    """The category probabilities of each class, [θ_jc]_α, θ_αc or p_αc, as bars side by side.

    Lecture 1, case 1: "there exist d independent dice for each class": one panel for each. Of more
    than twelve categories the most probable are shown, and the rest as one bar. Case 2, counts:
    "there are only as many dice as classes. Each die has d sides": one panel of the twelve most
    informative sides. Binary features (lecture 4) are coins: one panel of P(present | class) for
    the twelve most informative. With many classes there are fewer.

    Parameters
    ----------
    dice : list of Die, one for each feature; one for all counts, and one for all coins.
    classes : (C,) labels.

    Attributes
    ----------
    axes_ : list of Axes, one for each die.
    bars_ : for each die, a list of BarContainer, one for each class.
    figure_, legend_
    """

    dice: Sequence[Die]
    classes: Labels

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        features: Sequence[Any] | Any | None = None,
        feature_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Take the probabilities of a fitted estimator of naively, and draw.

        Parameters
        ----------
        estimator : fitted `NaiveBayes`, `CategoricalNB`, `MultinomialNB`, `BernoulliNB` or
            `TextNB`; or `JointBayes`, whose features are shown one by one.
        features : names or positions, or terms; by default all, or the most informative of many.
        feature_names : for a model that was fitted to an array.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is not one of naively, or has no such features.
        """
        model = model_of(estimator, feature_names)
        return cls(dice=dice_of(model, features), classes=model.classes).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        columns, lines = style.layout(len(self.dice))
        styles = style.styles(len(self.classes))
        max_height = max(len(die.levels) for die in self.dice) * (len(styles) * BAR + 0.12)
        size = 6.0 if columns == 1 else 2.5 * columns + 1.0, max(lines * (max_height + 0.5), 2.5)
        self.figure_, grid = style.grid(ax, lines, columns, size)
        self.axes_, self.bars_ = [], []
        for k, die in enumerate(self.dice):
            panel = self.figure_.add_subplot(grid[divmod(k, columns)])
            positions, height = np.arange(len(die.levels)), 0.8 / len(styles)
            bars = [
                panel.barh(
                    positions - 0.4 + (c + 0.5) * height, theta, height, color=look.colour,
                    hatch=look.hatch, edgecolor="white", linewidth=0.0,
                )
                for c, (theta, look) in enumerate(zip(die.theta, styles, strict=True))
            ]  # fmt: skip
            labels = [style.label(level) for level in die.levels]
            panel.set_yticks(positions, labels, fontsize="small")
            panel.set_ylim(len(positions) - 0.4, -0.6)
            panel.set_title(style.label(die.name), fontsize="medium" if columns < 3 else "small")
            panel.set_xlim(0.0, min(1.05 * float(die.theta.max()) or 1.0, 1.0))
            if k + columns >= len(self.dice):
                panel.set_xlabel(die.quantity)
            style.plain(panel)
            self.axes_.append(panel)
            self.bars_.append(bars)
        handles = [
            Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white", lw=0.0)
            for look in styles
        ]
        names = [style.label(name) for name in self.classes.tolist()]
        self.legend_ = style.legend(self.axes_[columns - 1], handles, names)
        return self


# ---- evidence ------------------------------------------------------------------------------------


MOST = 9  # blocks that are shown by default
LINES = 6  # classes that are shown: those with most rows
PANEL = 3.9, 2.8  # size of one of several panels, in inches
LEGEND = 1.2  # width of the legend, in inches


@dataclass(kw_only=True, eq=False, repr=False)
class EvidenceDisplay:
    """Contributions of features and pairs to the scores of `AutoBayes`, in nats.

    A feature in interactions is drawn with its share of them, as in explanations: the mean
    contribution in each bin or category, over the rows of feature importance. A thin line or small
    mark is its own table alone, weight × evidence, which may point the other way. Pairs are drawn
    as they are.

    With two classes they are contributions to the log-odds, and colours show which class they
    favour. Numbers are drawn as steps over their values, with the log of the number of rows in each
    bin in grey below; categories as bars, with their numbers of rows; pairs as a heat map, with the
    rows of each bin beside it: cells without rows are grey, and "?" is a missing number. With more
    than two classes each has a line or a mark, and a heat map shows one class. Values with few
    rows (1 of 200) may be out of view.

    Parameters
    ----------
    shapes : list of Shape, from `AutoBayes.evidence_`, of one or two columns.
    classes : (C,) labels.
    label : the class for log-odds and heat maps; by default the second of two, or the one with most
        rows of more.

    Attributes
    ----------
    axes_ : list of Axes, one for each block.
    figure_, legend_
    """

    shapes: Sequence[Shape]
    classes: Labels
    label: Label | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        features: Any = None,
        label: Label | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Take the blocks of a fitted `AutoBayes`, and draw.

        Parameters
        ----------
        estimator : fitted.
        features : a column, by name or position, or a tuple of two; or a list of these. By default
            the nine most important blocks of one or two columns.
        label : the class for log-odds and heat maps.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is not one of naively, or has no weighted evidence;
            if it has no such block, or no such class.
        """
        model = model_of(estimator)
        return cls(shapes=chosen(model, features), classes=model.classes, label=label).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        view = self.view
        columns, lines = style.layout(len(self.shapes))
        wide, high = (5.2, 4.0) if columns == 1 else PANEL
        ratios = [*[wide] * columns, LEGEND]
        size = sum(ratios), high * lines + 0.2
        self.figure_, grid = style.grid(ax, lines, columns + 1, size, width_ratios=ratios)
        self.axes_ = []
        for k, shape in enumerate(self.shapes):
            panel = self.figure_.add_subplot(grid[divmod(k, columns)])
            draw(panel, shape, view)
            set_title(panel, shape)
            self.axes_.append(panel)
        corner = self.figure_.add_subplot(grid[0, columns])
        corner.set_axis_off()
        self.legend_ = style.legend(corner, *self.entries, place=(0.0, 1.0))
        return self

    @property
    def entries(self) -> tuple[list[Any], list[str]]:
        """The handles and labels of the legend."""
        view = self.view
        names = [style.label(name) for name in self.classes.tolist()]
        handles: list[Any]
        if view.against is not None:
            handles = [Patch(facecolor=view.favoured_colour(sign)) for sign in (1.0, -1.0)]
            labels = [f"for {names[c]}" for c in (view.of, view.against)]
        else:
            handles = [
                Line2D([], [], c=look.colour, ls=look.line, marker=look.marker)
                for _, look in view.styles()
            ]
            labels = [names[c] for c in view.chosen]
        if any(shape.total is not None for shape in self.shapes):
            handles += [Line2D([], [], c="black", lw=1.6), Line2D([], [], c=GREY, **ALONE)]
            labels += ["with interactions", "its own table"]
        return handles, labels

    @property
    def view(self) -> View:
        """The classes that are shown."""
        rows = self.shapes[0].rows.reshape(-1, len(self.classes)).sum(axis=0)  # of each class
        is_binary = len(self.classes) == 2
        if self.label is not None:
            class_index = int(codes(np.array([self.label]), self.classes)[0])
        else:
            class_index = 1 if is_binary else int(rows.argmax())
        frequent = np.argsort(-rows, kind="stable")[:LINES]
        if class_index not in frequent:
            frequent[-1] = class_index
        shown = np.array([class_index]) if is_binary else np.sort(frequent)
        against = 1 - class_index if is_binary else None
        return View(shown, class_index, against, self.classes.tolist())


def chosen(model: Model, features: Any) -> list[Shape]:
    """The selected blocks of one or two columns. Raises ValueError if there are none."""
    shapes = drawable(model.posterior().shapes)
    if not shapes:
        raise ValueError("no feature of this model has weighted evidence: use AutoBayes")
    if features is None:
        return shapes[:MOST]
    names = model.schema.ordered
    selected: list[Shape] = []
    for columns_or_name in features if isinstance(features, list) else [features]:
        columns = columns_or_name if isinstance(columns_or_name, tuple) else (columns_or_name,)
        selected += of_columns(shapes, [feature(model, column, names) for column in columns])
    return selected


CLOSE = 10
"""Categories of an axis up to which labels are small; up to twice as many they are smaller."""
SHARE, FAR = 0.995, 2.0
"""Share of the rows whose values must be in view; multiple of their range that is also shown."""
STRIP = 0.15  # height of the strip of row counts below a curve, as a share of the panel
ABOVE = 1.14  # height of the title of a heat map, above its row counts
GREY, PALE, EMPTY = "0.4", "0.85", "0.93"
ALONE: dict[str, Any] = {"lw": 0.9, "ls": (0, (3, 1.5))}
"""Lines of the table of a feature alone, if it also has interactions."""


@dataclass(frozen=True)
class View:
    """The classes that are drawn."""

    chosen: Int64  # positions of the classes with a line each; with two classes that of `of` alone
    of: int  # position of the class of heat maps
    against: int | None  # position of the other class, if there are two
    labels: Sequence[Label]  # of all classes

    def values(self, shape: Shape, c: int) -> Float64:
        """The contribution of each cell to the score of a class, or to the log-odds of two."""
        return self._compared(shape.contribution, c)

    def alone(self, shape: Shape, c: int) -> Float64:
        """The same of the table of a feature alone, without its interactions."""
        return self._compared(shape.added, c)

    def _compared(self, contribution: Float64, c: int) -> Float64:
        other = 0.0 if self.against is None else contribution[..., self.against]
        return contribution[..., c] - other

    @property
    def quantity(self) -> str:
        """The name of `values`."""
        name = style.label(self.labels[self.of])
        return f"log-odds of {name} (nats)" if self.against is not None else "evidence (nats)"

    def favoured_colour(self, value: float) -> str:
        """With two classes, the colour of the one that log-odds favour."""
        assert self.against is not None
        return style.style(self.of if value > 0 else self.against).colour

    def styles(self) -> Iterator[tuple[int, style.Style]]:
        """(position, style) of each class with a line; the styles differ."""
        yield from zip(self.chosen.tolist(), style.styles(len(self.chosen)), strict=True)


def draw(panel: Axes, shape: Shape, view: View) -> None:
    """Draw a block of one or two columns."""
    if len(shape.bins) == 2:
        _heat(panel, shape, view)
    elif has_bars(shape):
        _bars(panel, shape, view)
    else:
        _steps(panel, shape, view)


def has_bars(shape: Shape) -> bool:
    """Whether the values of a column are drawn as bars, because they have no order."""
    return not (shape.bins[0].is_number or shape.bins[0].ordered)


def set_title(panel: Axes, shape: Shape) -> None:
    """Set the title: the columns and the weight."""
    names = " × ".join(map(style.label, shape.names)) + f": {shape.part}" * bool(shape.part)
    size = "medium" if len(names) <= 34 else "small" if len(names) <= 44 else "x-small"
    above = ABOVE if len(shape.bins) == 2 else 1.0
    of_table = " of its own table" * (shape.total is not None)
    panel.set_title(f"{names}\nweight{of_table} {shape.weight:.2f}", fontsize=size, y=above)


# ---- numbers -------------------------------------------------------------------------------------


def _steps(panel: Axes, shape: Shape, view: View) -> None:
    """Draw steps over a number or a part of dates, a line for each class, and rows below."""
    (bins,) = shape.bins
    nonempty = (
        np.arange(len(bins) - 1) if bins.low is None else np.flatnonzero(np.isfinite(bins.low))
    )
    if len(nonempty):
        edges = edges_of(panel, bins, nonempty)
        rows = shape.rows.sum(axis=-1)
        class_values = np.array([view.values(shape, c) for c in view.chosen.tolist()])
        alone_values = np.array([view.alone(shape, c) for c in view.chosen.tolist()])
        for (_, look), values, alone in zip(view.styles(), class_values, alone_values, strict=True):
            if view.against is not None:
                x, steps = np.repeat(edges, 2)[1:-1], np.repeat(values[nonempty], 2)
                for sign in (1.0, -1.0):
                    signed = np.maximum(sign * steps, 0.0) * sign
                    colour = view.favoured_colour(sign)
                    panel.fill_between(x, signed, color=colour, alpha=0.3, lw=0.0)
            colour = "black" if view.against is not None else look.colour
            line = "solid" if view.against is not None else look.line
            panel.stairs(values[nonempty], edges, baseline=None, color=colour, ls=line, lw=1.6)
            if shape.total is not None:
                alone_colour = GREY if view.against is not None else look.colour
                panel.stairs(alone[nonempty], edges, baseline=None, color=alone_colour, **ALONE)
            if rows[-1] > 0:
                panel.plot(
                    [1.05], values[-1:], marker=look.marker, c=colour, ls="", ms=5, clip_on=False,
                    transform=panel.get_yaxis_transform(),
                )  # fmt: skip
        _limit(panel, np.concatenate([class_values, alone_values]), rows)
        _strip(panel, edges, rows[nonempty])
        if rows[-1] > 0:
            panel.text(
                1.05, -0.03, MISSING, transform=panel.transAxes, rotation=90, ha="center",
                va="top", fontsize="x-small", c=GREY,
            )  # fmt: skip
    panel.axhline(0.0, c=GREY, lw=0.8, zorder=1)
    panel.set_ylabel(view.quantity, fontsize="small")
    panel.tick_params(labelsize="small")
    style.plain(panel)


def _limit(panel: Axes, values: Float64, rows: Float64) -> None:
    """Set limits that show the values of nearly all rows, above a strip."""
    filled = np.nan_to_num(values[:, rows > 0])
    magnitude = np.abs(filled).max(axis=0)
    usual = filled[:, magnitude <= FAR * _nearly_all(magnitude, rows[rows > 0])]
    low, high = min(0.0, usual.min(initial=0.0)), max(0.0, usual.max(initial=0.0))
    pad = 0.06 * (high - low) or 1.0
    low, high = low - pad, high + pad
    panel.set_ylim(low - (high - low) * STRIP / (1 - STRIP), high)


def _nearly_all(values: Float64, rows: Float64) -> float:
    """The smallest number that nearly all rows do not exceed."""
    order = np.argsort(values, kind="stable")
    heaped = np.cumsum(rows[order])
    return float(values[order][np.searchsorted(heaped, SHARE * heaped[-1])])


def _strip(panel: Axes, edges: Float64, rows: Float64) -> None:
    """Draw the log of the number of rows in each bin, in grey at the bottom of a panel."""
    height = np.log1p(rows) / np.log1p(rows.max())
    panel.stairs(
        0.6 * STRIP * height, edges, fill=True, color=PALE, zorder=0,
        transform=panel.get_xaxis_transform(),
    )  # fmt: skip
    min_rows, max_rows = (f"{count:,.10g}" for count in (rows.min(), rows.max()))
    caption = (
        f"{max_rows} rows a bin" if min_rows == max_rows else f"{min_rows} to {max_rows} rows a bin"
    )
    panel.text(
        0.99, 0.62 * STRIP, caption, transform=panel.transAxes, fontsize="xx-small", c=GREY,
        ha="right", va="bottom",
    )  # fmt: skip


# ---- categories ----------------------------------------------------------------------------------


def _bars(panel: Axes, shape: Shape, view: View) -> None:
    """Draw a bar for each category, or a mark for each of several classes, and numbers of rows."""
    (bins,), rows = shape.bins, shape.rows.sum(axis=-1)
    frequent = np.argsort(-rows, kind="stable")[:FACES]
    cells = frequent[rows[frequent] > 0]
    cells = cells[np.argsort(-view.values(shape, view.of)[cells], kind="stable")]
    positions = np.arange(len(cells))
    for c, look in view.styles():
        values = view.values(shape, c)[cells]
        if view.against is None:
            panel.plot(
                values, positions, marker=look.marker, c=look.colour, ls="", ms=5, alpha=0.85
            )
        else:
            colours = [view.favoured_colour(value) for value in values]
            panel.barh(positions, values, 0.75, color=colours)
        if shape.total is not None:
            colour = GREY if view.against is not None else look.colour
            alone = view.alone(shape, c)[cells]
            panel.vlines(alone, positions - 0.3, positions + 0.3, colour, **ALONE)
    if view.against is None:
        panel.hlines(positions, *_ends(view, shape, cells), color=PALE, lw=1.0, zorder=0)
    for k, cell in zip(positions.tolist(), cells.tolist(), strict=True):
        panel.text(
            1.02, k, f"{rows[cell]:,.10g}", transform=panel.get_yaxis_transform(), va="center",
            fontsize="x-small", c=GREY,
        )  # fmt: skip
    n_hidden = int((rows > 0).sum()) - len(cells)
    if n_hidden:
        panel.text(
            1.02, len(positions), f"{n_hidden:,} more", transform=panel.get_yaxis_transform(),
            va="center", fontsize="x-small", c=GREY,
        )  # fmt: skip
    _names(panel, bins, cells, "y")
    panel.set_ylim(len(positions) - 0.4 + 0.8 * bool(n_hidden), -0.6)
    panel.axvline(0.0, c=GREY, lw=0.8, zorder=1)
    panel.set_xlabel(view.quantity, fontsize="small")
    panel.xaxis.set_major_locator(MaxNLocator(TICKS - 1))
    panel.tick_params(axis="x", labelsize="small")
    style.plain(panel)


def _ends(view: View, shape: Shape, places: Int64) -> tuple[Float64, Float64]:
    """The smallest and the largest value of each category."""
    values = np.array([view.values(shape, c)[places] for c in view.chosen.tolist()])
    return values.min(axis=0), values.max(axis=0)


# ---- pairs ---------------------------------------------------------------------------------------


def _heat(panel: Axes, shape: Shape, view: View) -> None:
    """Draw cells in colours, with the rows of each bin on top and on the right."""
    values, rows = view.values(shape, view.of), shape.rows.sum(axis=-1)
    along, across = shape.bins
    if along.is_number < across.is_number or (
        along.is_number == across.is_number and len(along) > len(across)
    ):  # numbers go from left to right; many categories have a line each
        along, across, values, rows = across, along, values.T, rows.T
    x, y = (np.flatnonzero(rows.sum(axis=axis) > 0) for axis in (1, 0))
    values, rows = values[np.ix_(x, y)], rows[np.ix_(x, y)]
    limit = _nearly_all(np.abs(values).ravel(), rows.ravel()) or 1.0
    end_colours = GREY, dict(view.styles())[view.of].colour
    if view.against is not None:
        end_colours = view.favoured_colour(-1.0), view.favoured_colour(1.0)
    colour_list = [end_colours[0], "white", end_colours[1]]
    colour_map = LinearSegmentedColormap.from_list("classes", colour_list)
    colours = colour_map.with_extremes(bad=EMPTY)
    image = panel.pcolormesh(
        np.ma.masked_where(rows == 0, values).T, cmap=colours, vmin=-limit, vmax=limit,
    )  # fmt: skip
    panel.invert_yaxis()
    _ticks(panel, along, x, "x")
    _ticks(panel, across, y, "y")
    for bounds, heights in (
        ((0.0, 1.02, 1.0, 0.1), rows.sum(1)),
        ((1.02, 0.0, 0.1, 1.0), rows.sum(0)),
    ):
        strip = panel.inset_axes(bounds)
        places = np.arange(len(heights)) + 0.5
        if bounds[0] == 0.0:
            strip.bar(places, heights, 1.0, color=PALE, edgecolor="white", lw=0.5)
            strip.set_xlim(0, len(heights))
        else:
            strip.barh(places, heights, 1.0, color=PALE, edgecolor="white", lw=0.5)
            strip.set_ylim(len(heights), 0)
        strip.set_axis_off()
    is_clipped = bool((np.abs(values[rows > 0]) > limit).any())
    bar = panel.figure.colorbar(
        image, ax=panel, pad=0.1, aspect=25, extend="both" if is_clipped else "neither",
        ticks=MaxNLocator(TICKS),
    )  # fmt: skip
    colour_label = view.quantity if view.against is not None else (
        f"evidence for {style.label(view.labels[view.of])} (nats)")  # fmt: skip
    bar.set_label(colour_label, fontsize="small")
    bar.ax.tick_params(labelsize="small")
    bar.outline.set_visible(False)


def _ticks(panel: Axes, bins: Bins, places: Int64, axis: Literal["x", "y"]) -> None:
    """Label categories and single numbers in the middle of cells, other bins where they begin."""
    if bins.low is None or bins.high is None:
        _names(panel, bins, places, axis, 0.5)
        return
    numeric = places[np.isfinite(bins.low[places])]
    texts = [short(value) for value in bins.low[numeric]]
    if bins.dated:
        texts = [bins.labels[k].partition(" to ")[0][:10] for k in numeric]
    max_ticks = TICKS - 2 if axis == "x" and max(map(len, texts), default=0) > 4 else TICKS
    ticks = range(0, len(numeric), max(1, -(-len(numeric) // max_ticks)))
    offset = 0.5 if (bins.low[numeric] == bins.high[numeric]).all() else 0.0
    positions, names = [k + offset for k in ticks], [texts[k] for k in ticks]
    if len(numeric) < len(places):
        positions.append(len(numeric) + 0.5)
        names.append("?" if axis == "x" else MISSING)
    panel.set(**{f"{axis}label": style.label(bins.name)})
    tick_axis = panel.xaxis if axis == "x" else panel.yaxis
    tick_axis.set_ticks(positions, names, fontsize="small")
    tick_axis.label.set_fontsize("small")


def _names(
    panel: Axes, bins: Bins, places: Int64, axis: Literal["x", "y"], first: float = 0.0
) -> None:
    """Label categories along an axis."""
    names = [style.label(bins.labels[k]) for k in places]
    size = "small" if len(names) <= CLOSE else "x-small" if len(names) <= 2 * CLOSE else "xx-small"
    positions = np.arange(len(names)) + first
    if axis == "y":
        panel.set_yticks(positions, names, fontsize=size)
    else:
        panel.set_xticks(
            positions, names, fontsize=size, rotation=40, ha="right", rotation_mode="anchor"
        )
