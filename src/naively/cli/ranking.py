"""How well P(class | x) ranks the rows of one class before all others; thresholds on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from naively.exact import Float64, Int64


@dataclass(frozen=True)
class Decision:
    """What comes of taking some rows for positive.

    Attributes
    ----------
    threshold : the probability from which on they are; None if the model's predictions decide.
    positives : rows that are positive in truth.
    flagged : rows that are taken for positive.
    caught : rows that are both.
    """

    threshold: float | None
    positives: int
    flagged: int
    caught: int

    @property
    def missed(self) -> int:
        """Rows that are positive but not flagged."""
        return self.positives - self.caught

    @property
    def false_alarms(self) -> int:
        """Rows that are flagged but not positive."""
        return self.flagged - self.caught

    @property
    def recall(self) -> float:
        """The part of the positive rows that is flagged; NaN if there are none."""
        return self.caught / self.positives if self.positives else math.nan

    @property
    def precision(self) -> float:
        """The part of the flagged rows that is positive; NaN if there are none."""
        return self.caught / self.flagged if self.flagged else math.nan

    def as_json(self) -> dict[str, float | int | None]:
        """All of it."""
        names = ("threshold", "recall", "precision", "flagged", "caught", "missed", "false_alarms")
        return {name: getattr(self, name) for name in names}


class Ranking:
    """Rows by the probability of one class, the positive one.

    Parameters
    ----------
    chances : of each batch, (n,) P(positive | x).
    truths : of each batch, (n,) whether the rows are positive.
    """

    def __init__(self, chances: Sequence[Float64], truths: Sequence[npt.NDArray[np.bool_]]) -> None:
        chance = np.concatenate([np.empty(0), *chances])
        truth = np.concatenate([np.empty(0, bool), *truths])
        levels, places = np.unique(chance, return_inverse=True)
        rows = np.bincount(places, minlength=len(levels))
        own = np.bincount(places[truth], minlength=len(levels))
        self.levels: Float64 = levels[::-1]
        """The different probabilities, the highest first; and of the rows that have at least so"""
        self.flagged: Int64 = np.cumsum(rows[::-1])
        """much, how many there are, and"""
        self.caught: Int64 = np.cumsum(own[::-1])
        """how many of them are positive."""
        self.rows, self.positives = len(chance), int(truth.sum())

    @property
    def prevalence(self) -> float:
        """The part of the rows that is positive: the average precision of any order by chance."""
        return self.positives / self.rows if self.rows else math.nan

    def auc(self) -> float:
        """Area under the ROC curve: P(a positive row is above another one), ties count half."""
        others = self.rows - self.positives
        if not self.positives or not others:
            return math.nan
        above = np.append(0, self.caught[:-1])
        below = np.diff(self.flagged - self.caught, prepend=0)  # other rows of the same level
        return int((below * (above + self.caught)).sum()) / (2 * self.positives * others)

    def average_precision(self) -> float:
        """Σ (recall_k - recall_{k-1}) · precision_k over the levels, the highest first."""
        if not self.positives:
            return math.nan
        gained = np.diff(self.caught, prepend=0)
        return math.fsum(gained * (self.caught / self.flagged)) / self.positives

    def at(self, threshold: float) -> Decision:
        """What flagging the rows of that probability or more does."""
        return self._decision(threshold, int((self.levels >= threshold).sum()))

    def at_recall(self, recall: float) -> Decision:
        """The same by the highest threshold that flags that part of the positive rows, or more.

        It is the shortest number that does so.

        Raises ValueError if no row is positive.
        """
        if not self.positives:
            raise ValueError("no row is positive: there is no recall")
        needed = math.ceil(Fraction(str(recall)) * self.positives)
        count = int(np.searchsorted(self.caught, needed)) + 1
        next_lower = float(self.levels[count]) if count < len(self.levels) else -math.inf
        return self._decision(_shortest(next_lower, float(self.levels[count - 1])), count)

    def _decision(self, threshold: float, count: int) -> Decision:
        """What flagging the rows of so many levels does."""
        flagged, caught = (int(np.append(0, one)[count]) for one in (self.flagged, self.caught))
        return Decision(threshold, self.positives, flagged, caught)


def _shortest(low: float, high: float) -> float:
    """The number of fewest digits that is above one, and at most another one."""
    for digits in range(1, 18):
        context = Context(prec=digits, rounding=ROUND_FLOOR)
        found = float(context.create_decimal(Decimal(high)))
        if low < found:
            return found
    return high
