"""Columns whose type is not declared: the family of each follows from its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from naively.exact import ExactArray
from naively.families.base import AnyFamily, Family
from naively.families.categorical import Categorical
from naively.families.categorical_parameters import Unseen
from naively.families.gaussian import Gaussian
from naively.families.text import Text
from naively.statistics.candidates import FEW_NUMBERS, Candidates, CandidateStatistics

ALL_NUMBERS = 1_000_000
"""Different numbers that are counted where each is to be a category."""


@dataclass(frozen=True)
class Inferred(Family[CandidateStatistics, Any]):
    """What stands for the families of columns until these are known: see `naively.column_types`.

    It estimates nothing: a model of such columns is read as one with a family for each of them.

    Parameters
    ----------
    alpha, unseen : of the categories, truth values and terms; alpha may be a dict by column, of
        numbers or of what `Categorical` takes as a dict.
    numeric : Family of the columns of numbers; None for the rule.
    """

    alpha: Any = 1.0
    unseen: Unseen = "smooth"
    numeric: AnyFamily | None = None

    name = "inferred"

    @property
    def summary(self) -> Candidates:  # type: ignore[override]
        """The different values of each column."""
        levels = self.numeric is not None and self.numeric.summary.of_levels
        return Candidates(ALL_NUMBERS if levels else FEW_NUMBERS)

    @property
    def by_column(self) -> bool:
        """True: each column has a type of its own."""
        return True

    @property
    def levels(self) -> AnyFamily | None:
        """The family that was asked for, if it is one of levels and no plain one."""
        asked = self.numeric
        known = asked is not None and asked.summary.of_levels
        return asked if known and repr(asked) != repr(Categorical()) else None

    @property
    def of_numbers(self) -> AnyFamily:
        """The family whose sums are counted of a column with many different numbers."""
        return self.numeric or Gaussian(floor="feature")

    def of_texts(self, name: str) -> AnyFamily:
        """The same of a column with many different texts."""
        return Text(alpha=self.alpha_of(name))

    def alpha_of(self, name: str) -> Any:
        """The smoothing of one column; 1 of those that a dict does not name."""
        return self.alpha.get(name, 1.0) if isinstance(self.alpha, Mapping) else self.alpha

    def of_column(self, name: str) -> Inferred:
        """The same with the smoothing of one column."""
        return replace(self, alpha=self.alpha_of(name))

    def categorical(self, name: str) -> AnyFamily:
        """The family of a column that is declared categorical."""
        return self.levels or Categorical(self.alpha_of(name), unseen=self.unseen)

    def estimate(self, statistics: CandidateStatistics, class_weight: ExactArray) -> Any:
        """Nothing: the families of the columns estimate."""
        raise NotImplementedError("the families of these columns are estimated, not their types")
