"""How much more one model loses than another on the same rows, and whether that is clear."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from naively.exact import Float64

CLEAR = 2.0  # standard errors, beyond which a margin is clear
MUCH = 0.05  # part of the loss, from which on a margin is worth a word
LARGE = 1000  # nats, beyond which two or three digits say enough


class Margin(NamedTuple):
    """The mean of the differences, and its standard error."""

    mean: float
    error: float

    def beyond(self, errors: float) -> bool:
        """Whether it is above so many standard errors."""
        return self.mean > errors * self.error or self.mean == math.inf

    def __str__(self) -> str:
        """Log-losses: the margin in nats ± its standard error."""
        if not math.isfinite(self.mean):
            return "∞" if self.mean > 0 else "-∞"
        if abs(self.mean) >= LARGE:
            return f"{self.mean:+.2g} ±{self.error:.1g}"
        digits = 3 if self.error >= 0.001 else 4
        return f"{self.mean:+.{digits}f} ±{self.error:.{digits}f}"


def margin(more: Float64, less: Float64) -> Margin:
    """The mean of `more - less` over the rows that have both, and its standard error.

    The rows of a fold share a model, so that the error is a little larger in truth.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        each = more - less
        each = each[~np.isnan(each)]
        if len(each) < 2:
            return Margin(0.0, math.inf)
        return Margin(float(each.mean()), float(each.std(ddof=1) / math.sqrt(len(each))))


def clearly_less(less: Float64, more: Float64) -> bool:
    """Whether rows lose clearly less, and so much less that it is worth a word."""
    found = margin(more, less)
    return found.beyond(CLEAR) and found.mean >= MUCH * known_mean(more)


def known_mean(values: Float64) -> float:
    """The mean of those that are known, also of infinite ones."""
    known = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        return float(known.mean()) if len(known) else np.nan
