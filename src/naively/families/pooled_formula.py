"""What evidence scores, as data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from naively.evidence.bins import Column
from naively.evidence.calendars import Calendar
from naively.evidence.normal import FARTHEST, LEAST, Normal
from naively.evidence.plan import Plan
from naively.evidence.words import Words
from naively.exact import Float64
from naively.families.formula import (
    Cut,
    Density,
    Formula,
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
    columns, terms = plan.columns, list[Term]()
    for block, weight in zip(plan.blocks, plan.weights.tolist(), strict=True):
        if isinstance(block, Words):
            raise NoFormulaError(
                f"the words of column {names[block.column]!r} are weighed beside other columns, "
                "which cannot be exported; a model without this column can be, and one of the text "
                "alone, to SQL and JavaScript"
            )
        if isinstance(block, Normal):
            terms.append(_density(block, [names[j] for j in block.columns], weight))
            continue
        cuts: tuple[Cut, ...]
        if isinstance(block, Calendar):
            cuts = (PartCut(names[block.column], block.part, len(block.labels)),)
            sizes: tuple[int, ...] = (len(block.table),)
        else:
            cuts = tuple(_cut(names[j], columns[j], block.way) for j in block.columns)
            sizes = tuple(columns[j].size(block.way) for j in block.columns)
        terms.append(Table(cuts, sizes, weight * block.table))
    return Formula(bias, terms)


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
