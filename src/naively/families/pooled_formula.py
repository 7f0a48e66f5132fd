"""What evidence scores, as data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from naively.evidence.bins import FINE, Column
from naively.evidence.calendars import Calendar
from naively.evidence.incomplete import PRESENT, places
from naively.evidence.normal import FARTHEST, LEAST, Normal
from naively.evidence.plan import Plan
from naively.evidence.words import Words
from naively.exact import Float64
from naively.families.formula import (
    Cut,
    Density,
    Formula,
    Gaps,
    LevelCut,
    NoFormulaError,
    NumberCut,
    PartCut,
    Table,
    Term,
)


def formula_of(plan: Plan, bias: Float64, names: Sequence[str]) -> Formula:
    """The tables of evidence and the densities of a plan, weighed.

    Raises
    ------
    NoFormulaError : if there are words, naming the column.
    """
    found = Formula(bias, [*_terms(plan, plan.weights, names)])
    how = plan.incomplete
    if how is None:
        return found
    columns = how.columns.tolist()
    place = {j: k for k, j in enumerate(columns)}
    share = 1 - np.arange(len(columns) + 1) / max(1, len(columns))
    gaps = Gaps(
        tuple(_cut(names[j], plan.columns[j], FINE) for j in columns),
        tuple((~how.usual[how.columns]).tolist()),
        how.most,
        tuple((place[j], place[k]) for j, k in how.together.tolist()),
        how.factors[places(share)],
    )
    terms = [_present(one) for one in _terms(plan, how.weights, names)]
    return replace(found, gaps=gaps, other=Formula(np.zeros_like(bias), terms))


def _terms(plan: Plan, weights: Float64, names: Sequence[str]) -> Iterator[Term]:
    """What each block adds that has a weight."""
    columns = plan.columns
    for block, weight in zip(plan.blocks, weights.tolist(), strict=True):
        if isinstance(block, Words):
            raise NoFormulaError(
                f"the words of column {names[block.column]!r} are weighed beside other columns, "
                "which cannot be exported; a model without this column can be, and one of the text "
                "alone, to SQL and JavaScript"
            )
        if not weight:
            continue
        if isinstance(block, Normal):
            yield _density(block, [names[j] for j in block.columns], weight)
            continue
        cuts: tuple[Cut, ...]
        if isinstance(block, Calendar):
            cuts = (PartCut(names[block.column], block.part, len(block.labels)),)
            sizes: tuple[int, ...] = (len(block.table),)
        else:
            cuts = tuple(_cut(names[j], columns[j], block.way) for j in block.columns)
            sizes = tuple(columns[j].size(block.way) for j in block.columns)
        yield Table(cuts, sizes, weight * block.table)


def _present(term: Term) -> Term:
    """What a term of one column, or of all numbers, adds where these are present; else nothing."""
    if isinstance(term, Density):
        return replace(term, fewest=math.ceil((1 - PRESENT) * len(term.columns)))
    assert isinstance(term, Table)
    added = term.added.copy()
    added[term.cuts[0].missing] = 0.0
    return replace(term, added=added)


def _cut(name: str, column: Column, way: int) -> Cut:
    """The bins of a column."""
    bins, count = column.coarser[way], len(column.levels)
    if column.is_number:
        return NumberCut(name, column.levels, bins[:count], int(bins[-1]), column.dated)
    texts = [str(level) for level in column.levels.tolist()]
    return LevelCut.of(name, texts, bins[:count], int(bins[-2]), int(bins[-1]), endless=False)


def _density(block: Normal, names: Sequence[str], weight: float) -> Density:
    """Normal densities of these columns."""
    scale, tied = block.scale, len(block.factors) == 1
    mean, base = block.slopes() if tied else (block.means, block.norms())
    spread = np.where(scale.spread > 0, scale.spread, 1.0)
    whitening = None if tied else block.whitening
    return Density(
        tuple(names), scale.centre, spread, base, mean, whitening, weight, FARTHEST, LEAST
    )
