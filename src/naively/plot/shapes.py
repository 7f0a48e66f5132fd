"""How the shape of one block of evidence is drawn: steps, bars, or a heat map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import MaxNLocator

from naively.exact import Float64, Int64
from naively.plot import style
from naively.plot.bins import FACES, TICKS, edges_of, short
from naively.pooling.blocks.shapes import MISSING, Bins, Shape

CLOSE = 10
"""Levels of an axis whose names are small; of twice as many they are smaller."""
SHARE, FAR = 0.995, 2.0
"""Part of the rows whose cells are in view; so are values up to so many times theirs."""
STRIP = 0.15
"""Height of the rows behind a curve, as a part of the panel."""
ABOVE = 1.14
"""Where the title of a heat map is, whose rows are between them."""
GREY, PALE, EMPTY = "0.4", "0.85", "0.93"


@dataclass(frozen=True)
class View:
    """Which classes are drawn.

    Attributes
    ----------
    chosen : positions of the classes that have a line each; of two classes that of `of` alone.
    of : the position of the class that heat maps show.
    against : that of the other one, if there are two.
    labels : of all classes.
    """

    chosen: Int64
    of: int
    against: int | None
    labels: Sequence[Any]

    def values(self, shape: Shape, c: int) -> Float64:
        """What the cells add to the score of a class; of two, to the log-odds."""
        added = shape.added
        return added[..., c] - (0.0 if self.against is None else added[..., self.against])

    @property
    def quantity(self) -> str:
        """What `values` are."""
        name = style.label(self.labels[self.of])
        return f"log-odds of {name} (nats)" if self.against is not None else "evidence (nats)"

    def speaks_for(self, value: float) -> str:
        """Of two classes, the colour of the one for which log-odds speak."""
        assert self.against is not None
        return style.style(self.of if value > 0 else self.against).colour

    def styles(self) -> Iterator[tuple[int, style.Style]]:
        """(its position, how it looks) of each class that has a line, all of them told apart."""
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
    """Whether the values of a column are drawn as bars: they are in no order."""
    return not (shape.bins[0].is_number or shape.bins[0].ordered)


def set_title(panel: Axes, shape: Shape) -> None:
    """Say what it is of, and what it weighs."""
    names = " × ".join(map(style.label, shape.names)) + f": {shape.part}" * bool(shape.part)
    size = "medium" if len(names) <= 34 else "small" if len(names) <= 44 else "x-small"
    above = ABOVE if len(shape.bins) == 2 else 1.0
    panel.set_title(f"{names}\nweight {shape.weight:.2f}", fontsize=size, y=above)


# ---- numbers -------------------------------------------------------------------------------------


def _steps(panel: Axes, shape: Shape, view: View) -> None:
    """A line of steps a class over the values of a number, or a part of dates; the rows below."""
    (bins,) = shape.bins
    met = np.arange(len(bins) - 1) if bins.low is None else np.flatnonzero(np.isfinite(bins.low))
    if len(met):
        edges = edges_of(panel, bins, met)
        rows = shape.rows.sum(axis=-1)
        whole = np.array([view.values(shape, c) for c in view.chosen.tolist()])
        for (_, own), values in zip(view.styles(), whole, strict=True):
            if view.against is not None:
                at, steps = np.repeat(edges, 2)[1:-1], np.repeat(values[met], 2)
                for sign in (1.0, -1.0):
                    part = np.maximum(sign * steps, 0.0) * sign
                    panel.fill_between(at, part, color=view.speaks_for(sign), alpha=0.3, lw=0.0)
            colour = "black" if view.against is not None else own.colour
            line = "solid" if view.against is not None else own.line
            panel.stairs(values[met], edges, baseline=None, color=colour, ls=line, lw=1.6)
            if rows[-1] > 0:
                panel.plot(
                    [1.05], values[-1:], marker=own.marker, c=colour, ls="", ms=5, clip_on=False,
                    transform=panel.get_yaxis_transform(),
                )  # fmt: skip
        bottom = _limit(panel, whole, rows)
        _strip(panel, edges, rows[met], bottom)
        if rows[-1] > 0:
            panel.text(
                1.05, -0.03, MISSING, transform=panel.transAxes, rotation=90, ha="center",
                va="top", fontsize="x-small", c=GREY,
            )  # fmt: skip
    panel.axhline(0.0, c=GREY, lw=0.8, zorder=1)
    panel.set_ylabel(view.quantity, fontsize="small")
    panel.tick_params(labelsize="small")
    style.plain(panel)


def _limit(panel: Axes, values: Float64, rows: Float64) -> float:
    """Show the values of nearly all rows, and room for a strip below; where the strip's top is."""
    own = values[:, rows > 0]
    most = np.abs(own).max(axis=0)
    seen = own[:, most <= FAR * _nearly_all(most, rows[rows > 0])]
    low, high = min(0.0, seen.min(initial=0.0)), max(0.0, seen.max(initial=0.0))
    pad = 0.06 * (high - low) or 1.0
    low, high = low - pad, high + pad
    panel.set_ylim(low - (high - low) * STRIP / (1 - STRIP), high)
    return STRIP


def _nearly_all(values: Float64, rows: Float64) -> float:
    """The least number which nearly all rows are not above."""
    order = np.argsort(values, kind="stable")
    heaped = np.cumsum(rows[order])
    return float(values[order][np.searchsorted(heaped, SHARE * heaped[-1])])


def _strip(panel: Axes, edges: Float64, rows: Float64, top: float) -> None:
    """How many rows there are in each bin, in grey at the bottom of a panel: their logarithm."""
    height = np.log1p(rows) / np.log1p(rows.max())
    panel.stairs(
        0.6 * top * height, edges, fill=True, color=PALE, zorder=0,
        transform=panel.get_xaxis_transform(),
    )  # fmt: skip
    least, most = (f"{count:,.10g}" for count in (rows.min(), rows.max()))
    said = f"{most} rows a bin" if least == most else f"{least} to {most} rows a bin"
    panel.text(
        0.99, 0.62 * top, said, transform=panel.transAxes, fontsize="xx-small", c=GREY,
        ha="right", va="bottom",
    )  # fmt: skip


# ---- levels --------------------------------------------------------------------------------------


def _bars(panel: Axes, shape: Shape, view: View) -> None:
    """A bar a level, or a mark for each of several classes, with how many rows it has."""
    (bins,), rows = shape.bins, shape.rows.sum(axis=-1)
    most = np.argsort(-rows, kind="stable")[:FACES]
    places = most[rows[most] > 0]
    places = places[np.argsort(-view.values(shape, view.of)[places], kind="stable")]
    at = np.arange(len(places))
    for c, own in view.styles():
        values = view.values(shape, c)[places]
        if view.against is None:
            panel.plot(values, at, marker=own.marker, c=own.colour, ls="", ms=5, alpha=0.85)
        else:
            panel.barh(at, values, 0.75, color=[view.speaks_for(value) for value in values])
    if view.against is None:
        panel.hlines(at, *_ends(view, shape, places), color=PALE, lw=1.0, zorder=0)
    for k, place in zip(at.tolist(), places.tolist(), strict=True):
        panel.text(
            1.02, k, f"{rows[place]:,.10g}", transform=panel.get_yaxis_transform(), va="center",
            fontsize="x-small", c=GREY,
        )  # fmt: skip
    left = int((rows > 0).sum()) - len(places)
    if left:
        panel.text(
            1.02, len(at), f"{left:,} more", transform=panel.get_yaxis_transform(), va="center",
            fontsize="x-small", c=GREY,
        )  # fmt: skip
    _names(panel, bins, places, "y")
    panel.set_ylim(len(at) - 0.4 + 0.8 * bool(left), -0.6)
    panel.axvline(0.0, c=GREY, lw=0.8, zorder=1)
    panel.set_xlabel(view.quantity, fontsize="small")
    panel.xaxis.set_major_locator(MaxNLocator(TICKS - 1))
    panel.tick_params(axis="x", labelsize="small")
    style.plain(panel)


def _ends(view: View, shape: Shape, places: Int64) -> tuple[Float64, Float64]:
    """The least and the largest value of each level."""
    values = np.array([view.values(shape, c)[places] for c in view.chosen.tolist()])
    return values.min(axis=0), values.max(axis=0)


# ---- pairs ---------------------------------------------------------------------------------------


def _heat(panel: Axes, shape: Shape, view: View) -> None:
    """Cells in colours, with the rows of each bin on top and on the right."""
    values, rows = view.values(shape, view.of), shape.rows.sum(axis=-1)
    along, across = shape.bins
    if along.is_number < across.is_number or (
        along.is_number == across.is_number and len(along) > len(across)
    ):  # numbers go from left to right; many levels have a line each
        along, across, values, rows = across, along, values.T, rows.T
    x, y = (np.flatnonzero(rows.sum(axis=axis) > 0) for axis in (1, 0))
    values, rows = values[np.ix_(x, y)], rows[np.ix_(x, y)]
    most = _nearly_all(np.abs(values).ravel(), rows.ravel()) or 1.0
    two = GREY, dict(view.styles())[view.of].colour
    if view.against is not None:
        two = view.speaks_for(-1.0), view.speaks_for(1.0)
    white = LinearSegmentedColormap.from_list("classes", [two[0], "white", two[1]])
    colours = white.with_extremes(bad=EMPTY)
    image = panel.pcolormesh(
        np.ma.masked_where(rows == 0, values).T, cmap=colours, vmin=-most, vmax=most,
    )  # fmt: skip
    panel.invert_yaxis()
    _ticks(panel, along, x, "x")
    _ticks(panel, across, y, "y")
    for at, heights in (((0.0, 1.02, 1.0, 0.1), rows.sum(1)), ((1.02, 0.0, 0.1, 1.0), rows.sum(0))):
        strip = panel.inset_axes(at)
        places = np.arange(len(heights)) + 0.5
        if at[0] == 0.0:
            strip.bar(places, heights, 1.0, color=PALE, edgecolor="white", lw=0.5)
            strip.set_xlim(0, len(heights))
        else:
            strip.barh(places, heights, 1.0, color=PALE, edgecolor="white", lw=0.5)
            strip.set_ylim(len(heights), 0)
        strip.set_axis_off()
    beyond = bool((np.abs(values[rows > 0]) > most).any())
    bar = panel.figure.colorbar(
        image, ax=panel, pad=0.1, aspect=25, extend="both" if beyond else "neither",
        ticks=MaxNLocator(TICKS),
    )  # fmt: skip
    what = view.quantity if view.against is not None else (
        f"evidence for {style.label(view.labels[view.of])} (nats)")  # fmt: skip
    bar.set_label(what, fontsize="small")
    bar.ax.tick_params(labelsize="small")
    bar.outline.set_visible(False)


def _ticks(panel: Axes, bins: Bins, places: Int64, axis: Literal["x", "y"]) -> None:
    """Names of levels and of single numbers in the middle of cells, others where bins begin."""
    if bins.low is None or bins.high is None:
        _names(panel, bins, places, axis, 0.5)
        return
    known = places[np.isfinite(bins.low[places])]
    every = [short(value) for value in bins.low[known]]
    if bins.dated:
        every = [bins.labels[k].partition(" to ")[0][:10] for k in known]
    most = TICKS - 2 if axis == "x" and max(map(len, every), default=0) > 4 else TICKS
    at = range(0, len(known), max(1, -(-len(known) // most)))
    middle = 0.5 if (bins.low[known] == bins.high[known]).all() else 0.0
    where, names = [k + middle for k in at], [every[k] for k in at]
    if len(known) < len(places):
        where.append(len(known) + 0.5)
        names.append("?" if axis == "x" else MISSING)
    panel.set(**{f"{axis}label": style.label(bins.name)})
    own = panel.xaxis if axis == "x" else panel.yaxis
    own.set_ticks(where, names, fontsize="small")
    own.label.set_fontsize("small")


def _names(
    panel: Axes, bins: Bins, places: Int64, axis: Literal["x", "y"], first: float = 0.0
) -> None:
    """The names of levels along an axis."""
    names = [style.label(bins.labels[k]) for k in places]
    size = "small" if len(names) <= CLOSE else "x-small" if len(names) <= 2 * CLOSE else "xx-small"
    at = np.arange(len(names)) + first
    if axis == "y":
        panel.set_yticks(at, names, fontsize=size)
    else:
        panel.set_xticks(at, names, fontsize=size, rotation=40, ha="right", rotation_mode="anchor")
