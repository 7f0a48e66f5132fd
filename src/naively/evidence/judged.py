"""How rows are predicted by evidence and weights that are not their own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from naively.evaluation.calibration import Reliability
from naively.exact import Float64


@dataclass(frozen=True)
class Judged:
    """What was said of rows, each by evidence and weights of others, and whether it was right.

    Attributes
    ----------
    log_loss : in nats a row.
    sure : (n,) P(c | x) of the most probable class.
    right : (n,) whether it is the row's own.
    weight : (n,) how many rows each stands for.
    losses : (n,) -log P(c | x) of the row's own class; None of those that a file holds.
    """

    log_loss: float
    sure: npt.NDArray[np.floating]
    right: npt.NDArray[np.bool_]
    weight: npt.NDArray[np.floating]
    losses: npt.NDArray[np.floating] | None = None

    @property
    def rows(self) -> float:
        """The weight of all."""
        return float(self.weight.sum(dtype=float))

    @property
    def accuracy(self) -> float:
        """Part of the rows whose class was the most probable one; NaN of no rows."""
        hits = float((self.weight * self.right).sum(dtype=float))
        return hits / self.rows if self.rows else np.nan

    @cached_property
    def calibration(self) -> Reliability:
        """The probability of the most probable class beside how often it is the row's own."""
        sure: Float64 = np.minimum(self.sure.astype(np.float64), 1.0)
        return Reliability.of(sure, self.right, self.weight.astype(np.float64))


NOBODY = Judged(0.0, *(np.empty(0, kind) for kind in (np.float32, bool, np.float32)))
"""Where no row was left out."""
