"""Define the look of all displays: the style of each class, figures, panels and legends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colors, patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.gridspec import GridSpecBase
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from naively.core.labels import Labels

COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000",
)  # fmt: skip
"""Okabe & Ito 2008, safe for colour-blind readers; neighbours differ in grey, too."""
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*", "p", "<", ">")
LINES = ("solid", (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\")
SIZE = 6.0, 4.0  # size of a figure, in inches
LONGEST = 28  # characters of a label, at most
TALLEST = 18  # lines of a legend, at most
CASING = (patheffects.withStroke(linewidth=3.0, foreground="white", alpha=0.8),)
"""A white edge, which makes lines visible on any background."""


@dataclass(frozen=True)
class Style:
    """The style of one class. The first forty all differ, even in grey."""

    colour: str
    marker: str
    line: Any
    hatch: str

    @property
    def rgb(self) -> Any:
        """The colour, (3,) from 0 to 1."""
        return np.array(colors.to_rgb(self.colour))

    @property
    def dark(self) -> str:
        """A darker colour of the same hue, visible on the colour itself."""
        return colors.to_hex(0.6 * self.rgb)


def style(k: int) -> Style:
    """The style of the class at position k."""
    return Style(
        COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)], LINES[k % len(LINES)],
        HATCHES[k % len(HATCHES)],
    )  # fmt: skip


def styles(count: int) -> list[Style]:
    """The styles of the first classes."""
    return [style(k) for k in range(count)]


def shade(depth: float) -> str:
    """A shade for ordered quantities: the first colour, from nearly white at 0 to dark at 1."""
    stops = np.array([[0.87, 0.92, 0.97], colors.to_rgb(COLOURS[0]), [0.0, 0.18, 0.32]])
    position = np.interp(depth, [0.0, 0.6, 1.0], [0.0, 1.0, 2.0])
    red, green, blue = (float(np.interp(position, [0, 1, 2], channel)) for channel in stops.T)
    return colors.to_hex((red, green, blue))


def label(value: object) -> str:
    """Any value as a short line of text, escaped for matplotlib."""
    text = "".join(c if c.isprintable() else " " for c in str(value))
    if len(text) > LONGEST:
        text = text[: LONGEST - 1] + "…"
    return text.replace("$", r"\$")  # no mathtext


def axes(ax: Axes | None) -> Axes:
    """The given axes, or those of a new figure."""
    return ax if ax is not None else plt.subplots(figsize=SIZE, layout="constrained")[1]


def grid(
    ax: Axes | None, rows: int, columns: int, size: tuple[float, float], **ratios: Any
) -> tuple[Figure | SubFigure, GridSpecBase]:
    """The figure and a grid of panels in the place of the given axes, or in a new figure.

    Raises ValueError if the axes were not made by `subplots` or `add_subplot`.
    """
    if ax is None:
        figure = plt.figure(figsize=size, layout="constrained")
        return figure, figure.add_gridspec(rows, columns, **ratios)
    place = ax.get_subplotspec()
    if place is None:
        raise ValueError("ax must be of plt.subplots() or add_subplot(), to be cut into panels")
    ax.set_axis_off()
    return ax.figure, place.subgridspec(rows, columns, **ratios)


def layout(count: int) -> tuple[int, int]:
    """(columns, lines) for a number of panels."""
    columns = count if count <= 3 else 2 if count == 4 else 3 if count <= 9 else 4
    return columns, -(-count // columns)


def legend(
    ax: Axes, handles: Sequence[Any], labels: Iterable[str],
    place: tuple[float, float] = (1.01, 1.0),
) -> Legend:  # fmt: skip
    """Add a legend on the right of the axes, where it covers nothing.

    Beside another subplot of a figure without a layout that makes room, it is in the axes.
    """
    spec = ax.get_subplotspec()
    beside = spec is not None and not spec.get_topmost_subplotspec().is_last_col()
    if beside and ax.figure.get_layout_engine() is None:
        where: dict[str, Any] = {"loc": "best", "framealpha": 0.8}
    else:
        where = {"loc": "upper left", "bbox_to_anchor": place, "frameon": False,
                 "borderaxespad": 0.0}  # fmt: skip
    box = ax.legend(
        handles, ["" for _ in handles], ncols=-(-len(handles) // TALLEST), fontsize="small",
        handlelength=2.5, **where,
    )  # fmt: skip
    for text, name in zip(box.get_texts(), labels, strict=True):
        text.set_text(name)  # set later, because matplotlib skips labels that begin with "_"
    return box


def class_legend(
    ax: Axes, classes: Labels, marked: bool = False, place: tuple[float, float] = (1.01, 1.0)
) -> Legend:
    """Add a legend of the lines of the classes, with their marks if rows are drawn."""
    handles = [
        Line2D([], [], c=look.colour, ls=look.line, lw=2.0, marker=look.marker if marked else "")
        for look in styles(len(classes))
    ]
    return legend(ax, handles, map(label, classes.tolist()), place)


def plain(ax: Axes) -> None:
    """Remove the lines on the right and on top."""
    ax.spines[["top", "right"]].set_visible(False)
