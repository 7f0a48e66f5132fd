"""How the bins of a number, of dates and of parts of dates lie along an axis."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import MaxNLocator

from naively.exact import Float64, Int64
from naively.pooling.blocks.shapes import Bins

FAR = 1e250
"""Numbers beyond are drawn here: near the end of float64 an axis has no room for its margins."""
FACES = 14
"""Levels of a column that are drawn, those with the most rows."""
TICKS = 5
"""Numbers that are written along an axis."""
DAY = 86_400
UNITS = (1e9, "G"), (1e6, "M"), (1e3, "k")
END = 0.08
"""Part of an axis that its first and last bin take, at most: they have no end."""
CROWDED = 0.15
"""Where half of the bins are in so small a part of the axis, it is logarithmic."""


def edges_of(panel: Axes, bins: Bins, met: Int64) -> Float64:
    """The edges of these bins along an axis, which is scaled so that they are told apart."""
    if bins.low is None or bins.high is None:
        return _parts(panel, bins)
    low, high = (np.clip(one[met], -FAR, FAR) for one in (bins.low, bins.high))
    if bins.dated:
        return _dates(panel, np.append(low, high[-1]))
    if 1 < len(low) <= FACES and (low == high).all():  # each value has a step around it
        gaps = np.diff(low / 2)
        edges = np.concatenate([low[:1] - gaps[0], low[:-1] + gaps, low[-1:] + gaps[-1]])
        at = low[:: -(-len(low) // (TICKS + 2))]
        panel.set_xticks(at, [*map(short, at)])
        panel.set_xlim(edges[0], edges[-1])
        return edges
    edges = np.append(low, high[-1])
    if len(low) > FACES:  # the first and the last bin go on: a part of them shows it
        inner = END * (low[-1] - low[1]) / (1 - 2 * END)
        edges[0], edges[-1] = max(low[0], low[1] - inner), min(high[-1], low[-1] + inner)
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
    names = bins.labels[:-1]  # the last is the missing value
    at = np.arange(0, len(names), 1 if len(names) <= FACES else -(-len(names) // (TICKS - 1)))
    panel.set_xticks(at, [names[k][: 5 if ":" in names[k] else 3] for k in at])
    panel.tick_params(axis="x", rotation=40 if len(at) > 2 * TICKS else 0)
    panel.set_xlim(-0.5, len(names) - 0.5)
    edges: Float64 = np.arange(len(names) + 1, dtype=np.float64) - 0.5
    return edges


def _dates(panel: Axes, moments: Float64) -> Float64:
    """The edges of bins of dates or times of a day, from seconds, as the days of Matplotlib."""
    edges = moments / DAY
    if edges[-1] == edges[-2]:
        edges[-1] += max(np.diff(edges).max() / 4, 1 / DAY)
    locator = AutoDateLocator(minticks=2, maxticks=TICKS)  # type: ignore[no-untyped-call]
    within = edges[0] >= 0 and edges[-1] <= 1
    panel.xaxis.set_major_locator(locator)
    written = ConciseDateFormatter(locator, show_offset=not within)  # type: ignore[no-untyped-call]
    panel.xaxis.set_major_formatter(written)
    panel.set_xlim(edges[0], edges[-1])
    return edges


def _decades(least: float, edges: Float64) -> list[float]:
    """Powers of ten along an axis, of both signs, and 0 if it is there; a few of them."""
    most = float(np.abs(edges).max())
    powers = np.arange(np.ceil(np.log10(least)), np.log10(most))
    powers = powers[:: -(-len(powers) // (TICKS - 2)) or 1]
    found = [0.0] * bool(edges[0] <= 0.0)
    found += [sign * 10.0**power for power in powers for sign in (-1, 1)]
    return sorted(one for one in found if edges[0] <= one <= edges[-1])


def short(value: float) -> str:
    """A number in few characters."""
    for unit, sign in UNITS:
        if abs(value) >= 10 * unit or abs(value) >= unit > 1e3:
            return f"{value / unit:.3g}{sign}"
    return f"{value:.4g}"
