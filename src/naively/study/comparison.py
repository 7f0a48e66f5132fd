"""What `compare` found, and its table and notes as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively.plain import aligned, left_out
from naively.study.report import Report, failures, loss_cell
from naively.study.results import Candidate

WIDTH = 100  # characters of a line
SHOWN = 6  # sizes, in plain text
TAIL = ("±", "log-loss", "seconds")


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Report):
    """What `compare` found.

    Attributes
    ----------
    target, classes, rows, looked_at, unlabelled : as in `Report`.
    left_out : dict, the columns that were not looked at, with the reason.
    sizes : tuple of int, rows of the training sets.
    splits : how many random splits there are.
    candidates : list of Candidate: the majority class, naive Bayes and the other rungs, then the
        classifiers of scikit-learn.
    advice : is naive Bayes enough, and would more rows help? One sentence.
    """

    left_out: dict[str, str]
    sizes: tuple[int, ...]
    splits: int
    candidates: list[Candidate]
    advice: str

    def _lines(self) -> list[str]:
        shown = places(self.sizes, SHOWN)
        table = aligned(
            heads([self.sizes[k] for k in shown]), [cells(one, shown) for one in self.candidates]
        )
        return [textwrap.fill(self.advice, WIDTH), "", *table, "", *notes(self)]

    def _nested(self) -> dict[str, Any]:
        candidates = [
            {
                "name": one.name, "use": one.use, "kind": one.kind,
                "error": one.error.tolist(), "log_loss": one.log_loss.tolist(),
                "errors": one.curve.error.T.tolist(), "log_losses": one.curve.log_loss.T.tolist(),
                "seconds": one.curve.seconds, "reason": one.curve.reason,
                "warning": one.curve.warning,
            }
            for one in self.candidates
        ]  # fmt: skip
        return {"candidates": candidates}


def heads(sizes: Sequence[int]) -> tuple[str, ...]:
    """Of the columns of `cells`."""
    return ("rows learned", *(f"{size:,}" for size in sizes), *TAIL)


def cells(one: Candidate, places: Sequence[int]) -> tuple[str, ...]:
    """A line of the table: mean error in % at these sizes; at the last, its spread and log-loss."""
    errors = [f"{100 * one.error[k]:.1f}" if np.isfinite(one.error[k]) else "·" for k in places]
    spread, loss = float(one.curve.error[:, -1].std()), float(one.log_loss[-1])
    return (
        one.name, *errors, f"{100 * spread:.1f}" if np.isfinite(spread) else "·",
        "·" if np.isnan(loss) else loss_cell(loss),
        f"{one.curve.seconds:.2g}" if one.curve.seconds < 10 else f"{one.curve.seconds:,.0f}",
    )  # fmt: skip


def places(sizes: Sequence[int], room: int) -> list[int]:
    """The positions of so many sizes at most, the first and the last among them."""
    if len(sizes) <= room:
        return list(range(len(sizes)))
    return np.unique(np.linspace(0, len(sizes) - 1, max(room, 2)).round()).astype(int).tolist()


def notes(found: Comparison) -> list[str]:
    """What there is to say below the table."""
    curves = {one.name: one.curve for one in found.candidates}
    said = [
        f"error in %, means of {found.splits} random splits; ±: standard deviation over them, with "
        f"{found.sizes[-1]:,} rows learned; log-loss in nats; seconds on the clock, whole curve",
        *failures((name, curve.reason) for name, curve in curves.items()),
        *(f"{name} warned: {curve.warning}" for name, curve in curves.items() if curve.warning),
    ]
    if any(not curve.reason and np.isnan(curve.error).any() for curve in curves.values()):
        said.append("·: not to be estimated from so few rows, or no probabilities")
    if single := [label for label, rows in found.classes.items() if rows == 1]:
        more = f", and {len(single) - 1:,} more" if len(single) > 1 else ""
        said.append(f"learned and never predicted, as it has one row only: {single[0]}{more}")
    return said + left_out(found.left_out)
