"""Training rows as they are: what they weigh by class, without folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.exact import Float64, Int64
from naively.statistics.levels import Levels
from naively.statistics.sample import SampleStatistics
from naively.statistics.sampling import KEYS, sampled


@dataclass(frozen=True)
class Training:
    """Rows of one class each.

    Attributes
    ----------
    codes : (R, d) int32, the distinct rows, as places in the levels of each column.
    levels : list of d sorted arrays of numbers or text.
    row, y, weight : (n,) which row each is, its class, and what it stands for.
    keys : (R,) hashes of the rows, in [0, 1).
    n_classes : int
    """

    codes: npt.NDArray[np.int32]
    levels: list[Levels]
    row: Int64
    y: Int64
    weight: Float64
    keys: Float64
    n_classes: int

    @classmethod
    def of(cls, statistics: SampleStatistics | Any) -> Self:
        """The rows of a sample."""
        count = statistics.estimated()
        y, row = np.nonzero(count > 0)
        keys = statistics.rows.keys / KEYS
        return cls(
            statistics.codes, statistics.levels, row, y, count[y, row], keys, len(count)
        )  # fmt: skip

    def sampled(self, most: int) -> tuple[npt.NDArray[np.intp], Float64]:
        """(which are a sample of about so many, what these weigh)."""
        return sampled(self.weight, self.keys[self.row], most)
