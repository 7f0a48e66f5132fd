"""Test, then train: how rows are predicted that are learned only afterwards.

Every row is new to the model that predicts it, and none is lost for learning (A. P. Dawid, Present
position and potential developments: some personal views: statistical theory: the prequential
approach, 1984).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from naively.exact import Float64, Int64

RECENT = 1000
"""Rows that are recent."""


class Progressive:
    """Accuracy and log-loss of all rows so far, and of the last 1,000."""

    def __init__(self) -> None:
        self.rows = self.unknown = 0
        self._right, self._loss = 0, 0.0
        self._last = np.empty((0, 2))  # (right, loss) of recent rows

    def add(self, truth: Int64, log_proba: Float64) -> None:
        """Count rows of these positions of classes, -1 for unknown labels.

        A row of a class that the model does not know yet is wrong, and has no log-loss.

        Parameters
        ----------
        truth : (n,)
        log_proba : (n, C) log P(c | x) in nats.
        """
        known = truth >= 0
        right = known & (log_proba.argmax(axis=1) == truth) if log_proba.shape[1] else known
        loss = np.full(len(truth), np.nan)
        loss[known] = -log_proba[known, truth[known]]
        self.rows += len(truth)
        self.unknown += int((~known).sum())
        self._right += int(right.sum())
        self._loss = math.fsum([self._loss, *loss[known].tolist()])
        self._last = np.concatenate([self._last, np.column_stack([right, loss])])[-RECENT:]

    def as_json(self) -> dict[str, Any]:
        """All of it, for programs; None stands for what no row tells yet."""
        last = self._last
        losses = last[~np.isnan(last[:, 1]), 1]
        return {
            "rows": self.rows,
            "unknown": self.unknown,
            "accuracy": _mean(self._right, self.rows),
            "log_loss": _mean(self._loss, self.rows - self.unknown),
            "recent_rows": len(last),
            "recent_accuracy": _mean(last[:, 0].sum(), len(last)),
            "recent_log_loss": _mean(math.fsum(losses), len(losses)),
        }


def _mean(total: float, rows: int) -> float | None:
    return float(total) / rows if rows else None
