"""Evidence pooled: weighted log-probabilities of columns, and of two to four together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, get_args

import numpy as np

from naively.exact import ExactArray
from naively.families.base import Family
from naively.labels import Labels
from naively.pooling.bins import Column
from naively.pooling.canonical import as_declared
from naively.pooling.fit import fit
from naively.pooling.fixed import FixedPlan, PlanCounts
from naively.pooling.folds import Entries
from naively.pooling.parameters import PlannedParameters, PooledParameters
from naively.pooling.screening import Interactions
from naively.pooling.structure import plan_of
from naively.statistics.base import Arrays, Summary
from naively.statistics.sample import Sample
from naively.workers import SERIAL, Workers


@dataclass(frozen=True)
class Pooled(Family[Any, PooledParameters]):
    """All columns as weighted evidence: a logarithmic opinion pool.

    The score of class c is::

        log π_c + b_c + Σ_k w_k e_kc(x)

    with e_kc(x) = log p(c | x_k) - log π_c the evidence of a block: a column, two to four of
    columns, or all numbers together. Naive Bayes has w = 1 and b = 0. Here both maximise the
    likelihood of rows by evidence that is not their own: docs/evidence.md has the recipe.

    All is estimated from the rows, which are kept. So it is a function of which rows were learned,
    whatever their order and split, and what was learned and forgotten before.

    Parameters
    ----------
    interactions : "auto" for pairs, triples and fours of columns, 3 for pairs and triples, 2 for
        pairs, 0 for none.
    limit : distinct rows that are kept, at most; see `naively.statistics.sample.Sample`.
    text : columns whose words are evidence, however short their texts are: by name, and by number
        where columns are estimated from.
    plan : a plan that is given, of other rows: then all rows are counted for it, and none is kept.
    types : (number, "categorical" or "numeric") of columns that are declared so; see `within`.
    """

    interactions: Interactions = "auto"
    limit: int = 1_000_000
    text: tuple[str | int, ...] = ()
    plan: FixedPlan | None = None
    types: tuple[tuple[int, str], ...] = ()

    name = "pooled"
    independent = False
    is_density = is_story = False

    def __post_init__(self) -> None:
        if self.interactions not in get_args(Interactions) or isinstance(self.interactions, bool):
            raise ValueError(f'interactions must be "auto", 0, 2 or 3, not {self.interactions!r}')
        if isinstance(self.limit, bool) or not isinstance(self.limit, int) or self.limit < 1:
            raise ValueError(f"limit must be a number of rows, not {self.limit!r}")
        if not isinstance(self.text, tuple) or not all(isinstance(n, str | int) for n in self.text):
            raise ValueError(f"text must be names of columns, not {self.text!r}")
        object.__setattr__(self, "text", tuple(sorted({*self.text}, key=str)))
        if not isinstance(self.plan, FixedPlan | None):
            raise ValueError("a plan is taken from a model: fit another one `like` it")

    @property
    def summary(self) -> Summary[Any]:  # type: ignore[override]
        """The rows; for a plan that was given, counts."""
        return Sample(self.limit) if self.plan is None else PlanCounts(self.plan)

    @property
    def keeps(self) -> bool:  # type: ignore[override]
        """Whether a plan is made of rows."""
        return self.plan is None

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """Whether a plan says which columns there are."""
        return self.plan is not None

    def check_room(self, classes: Labels) -> None:
        """Raise ValueError for a class that a plan which was given does not have."""
        if self.plan is not None:
            self.plan.codes(classes)

    def within(
        self, classes: Labels, names: Sequence[str], types: Mapping[str, str] | None = None
    ) -> Self:
        """With the plan for some of its classes; columns of text, and declared ones, by number."""
        text = tuple(k for k, name in enumerate(names) if name in self.text)
        known = tuple((k, types[name]) for k, name in enumerate(names) if types and name in types)
        plan = self.plan and self.plan.among(classes)
        return replace(self, text=text, plan=plan, types=known)

    @property
    def in_turn(self) -> bool:
        """Pairs are shared between their columns: no column comes before another."""
        return False

    def estimate(
        self, statistics: Any, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> PooledParameters:
        """The plan of the rows; or what was counted says by the plan that was given."""
        if self.plan is not None:
            return PlannedParameters(self.plan, statistics, class_weight)
        statistics = as_declared(statistics.canonical(), dict(self.types))
        entries, named = self._entries(statistics, class_weight), frozenset(self.text)
        places = entries.columns.tolist()
        text = {k for k, column in enumerate(places) if column in named}
        made = fit(entries, self.interactions, text, workers)
        used = dict(zip(places, made.columns, strict=True))
        columns = [
            used[j] if j in used else Column.of(known, np.ones(len(known)))
            for j, known in enumerate(statistics.levels)
        ]
        return PooledParameters(made.among(columns, places, entries.classes), statistics)

    estimate_on = estimate

    def _entries(self, statistics: Any, class_weight: ExactArray) -> Entries:
        """The training rows, read as they are declared."""
        text = frozenset(map(int, self.text))
        categorical = frozenset(j for j, kind in self.types if kind == "categorical")
        return Entries.of(statistics, class_weight.rounded(), text, categorical)

    def counted_for(
        self, structure: Any, statistics: Any, class_weight: ExactArray
    ) -> PooledParameters:
        """The plan with the bins of single columns counted anew.

        What several columns, normal densities and words tell is that of the rows at the last
        choice, as it compares rows with what was expected of them.
        """
        statistics = as_declared(statistics.canonical(), dict(self.types))
        entries = self._entries(statistics, class_weight)
        return PooledParameters(structure.recounted(entries), statistics)

    def restored(self, statistics: Any, class_weight: ExactArray, kept: Arrays) -> PooledParameters:
        """The plan that was kept."""
        if self.plan is not None:
            raise ValueError("a model that was given a plan keeps no estimate")
        classes, columns = statistics.tables["missing"].shape
        made = plan_of(kept, columns, classes)
        return PooledParameters(made, as_declared(statistics, dict(self.types)))
