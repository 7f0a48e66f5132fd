"""Evidence by a plan that was given, from counts."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from naively.evidence.calendars import Calendar
from naively.evidence.fixed import FixedPlan, PlanStatistics
from naively.evidence.plan import Cells
from naively.exact import ExactArray, Float64, Int64
from naively.families.describing import mean_contribution
from naively.families.pooled_parameters import PooledParameters
from naively.invalid import Invalid
from naively.labels import Labels
from naively.statistics.base import Arrays, Data
from naively.statistics.levels import Encoded


class PlannedParameters(PooledParameters):
    """The same by a plan that was given: from counts, without rows.

    Attributes
    ----------
    given : FixedPlan
    """

    def __init__(
        self, given: FixedPlan, statistics: PlanStatistics, class_weight: ExactArray
    ) -> None:
        self.given = given
        self._counts = [statistics.block(k).rounded().T for k in range(len(given.cells))]
        made = given.estimated(self._counts, class_weight.rounded())
        super().__init__(made, statistics)

    def kept(self) -> Arrays:
        """Nothing: it is estimated at once."""
        return {}

    def structure(self) -> Any:
        """Nothing: the plan was given."""
        return None

    def fixed(self, classes: Labels) -> FixedPlan:
        """The plan that was given."""
        return self.given

    def sample(self, codes: Int64, generator: np.random.Generator) -> Encoded:
        """Rows of which each column is drawn by itself, from its counts, as no rows are kept.

        Of a bin its first level is drawn. What the plan does not count by itself is missing.
        """
        drawn = np.array([len(known) for known in self.levels], np.int32)
        drawn = np.repeat(drawn[np.newaxis], len(codes), axis=0)
        for block, counts in zip(self.given.cells, self._counts, strict=True):
            if len(block.columns) > 1:
                continue
            (j,) = block.columns
            bins = self.plan.columns[j].bins(self.levels[j])
            first = np.full(len(counts), len(self.levels[j]))
            first[bins[::-1]] = np.arange(len(bins))[::-1]
            for c, weight in enumerate(counts.T):
                rows = np.flatnonzero(codes == c)
                if len(rows) and weight.any():
                    met = generator.choice(len(counts), len(rows), p=weight / weight.sum())
                    drawn[rows, j] = first[met]
        return Encoded(drawn, self.levels)

    def unread(self, X: Data) -> dict[int, Invalid]:
        """None: what is counted by the plan says so itself."""
        return {}

    def varies(self, column: int) -> bool:
        """True: the plan says which columns matter."""
        return True

    @cached_property
    def _moves(self) -> list[float]:
        """As of rows, from their counts; of normal densities what the plan has."""
        found, counts = [], iter(self._counts)
        for block, weight, moves in zip(
            self.plan.blocks, self.plan.weights, self.given.moves, strict=True
        ):
            if not isinstance(block, Cells):
                found.append(float(moves))
                continue
            own = next(counts)
            share = own.sum(axis=1) / max(own.sum(), 1e-300)
            prior = own.sum(axis=0) / max(own.sum(), 1e-300)
            found.append(abs(weight) * mean_contribution(block.table.T, share, prior))
        return found

    @property
    def _in_all(self) -> None:
        """Not known: the rows are not there."""

    def _met(self, block: Cells) -> Float64:
        """The counts of a block."""
        places = {(one.columns, one.way): k for k, one in enumerate(self.given.cells)}
        return self._counts[places[block.columns, block.way]]

    def _on(self, block: Calendar) -> None:
        """Not known: parts of dates are not counted, and stay as the plan has them."""

    @property
    def judged(self) -> None:  # type: ignore[override]
        """Not known: the plan is of other rows."""
