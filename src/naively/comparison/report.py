"""A comparison as cells of tables and lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from naively.plain import aligned, left_out

if TYPE_CHECKING:
    from naively.comparison.comparison import Candidate, Comparison

WIDTH = 100  # characters of a line
SHOWN = 6  # sizes, in plain text
LARGE = 1000  # nats, beyond which three digits say enough
TAIL = ("±", "log-loss", "seconds")


def heads(sizes: Sequence[int]) -> tuple[str, ...]:
    """Of the columns of `cells`."""
    return ("rows learned", *(f"{size:,}" for size in sizes), *TAIL)


def cells(one: Candidate, places: Sequence[int]) -> tuple[str, ...]:
    """A line of the table: mean error in % at these sizes; at the last, its spread and log-loss."""
    errors = [f"{100 * one.error[k]:.1f}" if np.isfinite(one.error[k]) else "·" for k in places]
    spread, loss = float(one.curve.error[:, -1].std()), float(one.log_loss[-1])
    return (
        one.name, *errors, f"{100 * spread:.1f}" if np.isfinite(spread) else "·",
        "·" if np.isnan(loss) else f"{loss:.4f}" if loss < LARGE else f"{loss:.3g}",
        f"{one.curve.seconds:.2g}" if one.curve.seconds < 10 else f"{one.curve.seconds:,.0f}",
    )  # fmt: skip


def places(sizes: Sequence[int], room: int) -> list[int]:
    """The positions of so many sizes at most, the first and the last among them."""
    if len(sizes) <= room:
        return list(range(len(sizes)))
    return np.unique(np.linspace(0, len(sizes) - 1, max(room, 2)).round()).astype(int).tolist()


def notes(found: Comparison) -> list[str]:
    """What there is to say below the table."""
    said = [
        f"error in %, means of {found.splits} random splits; ±: standard deviation over them, with "
        f"{found.sizes[-1]:,} rows learned; log-loss in nats; seconds on the clock, whole curve"
    ]
    reasons: dict[str, list[str]] = {}
    for one in found.candidates:
        if one.curve.reason:
            reasons.setdefault(one.curve.reason, []).append(one.name)
    said += [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
    said += [f"{one.name} warned: {one.curve.warning}" for one in found.candidates
             if one.curve.warning]  # fmt: skip
    if any(not one.curve.reason and np.isnan(one.error).any() for one in found.candidates):
        said.append("·: not to be estimated from so few rows, or no probabilities")
    if single := [label for label, rows in found.classes.items() if rows == 1]:
        more = f", and {len(single) - 1:,} more" if len(single) > 1 else ""
        said.append(f"learned and never predicted, as it has one row only: {single[0]}{more}")
    return said + left_out(found.left_out)


def plain(found: Comparison) -> str:
    """All of it as plain text."""
    shown = places(found.sizes, SHOWN)
    table = aligned(
        heads([found.sizes[k] for k in shown]), [cells(one, shown) for one in found.candidates]
    )
    return "\n".join([textwrap.fill(found.advice, WIDTH), "", *table, "", *notes(found)])
