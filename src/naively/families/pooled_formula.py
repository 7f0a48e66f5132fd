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
    MixedTexts,
    NumberCut,
    PartCut,
    Table,
    Term,
    TextEvidence,
)
from naively.families.pooled_texts import doubt_of_words


def formula_of(plan: Plan, bias: Float64, names: Sequence[str]) -> Formula:
    """The tables of evidence, the densities and the texts of a plan, weighed."""
    texts, how = _texts(plan, names), plan.incomplete
    found = Formula(bias, [*_terms(plan, plan.weights, names), *_mixed(plan, plan.weights, texts)])
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
    terms: list[Term] = [_present(one) for one in _terms(plan, how.weights, names)]
    terms += _mixed(plan, how.weights, texts)
    return replace(found, gaps=gaps, other=Formula(np.zeros_like(bias), terms))


def _terms(plan: Plan, weights: Float64, names: Sequence[str]) -> Iterator[Term]:
    """What each block adds that has a weight."""
    columns = plan.columns
    for block, weight in zip(plan.blocks, weights.tolist(), strict=True):
        if not weight or isinstance(block, Words):
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


def _texts(plan: Plan, names: Sequence[str]) -> dict[int, TextEvidence]:
    """What each block of words adds that has a weight in complete or incomplete rows, by place."""
    weights = plan.weights != 0
    if plan.incomplete is not None:
        weights |= plan.incomplete.weights != 0
    return {
        k: block.text_evidence(names[block.column])
        for k, block in enumerate(plan.blocks)
        if isinstance(block, Words) and weights[k]
    }


def _mixed(plan: Plan, weights: Float64, texts: dict[int, TextEvidence]) -> Iterator[MixedTexts]:
    """All texts with these weights, mixed with the prior; nothing if there are none."""
    if not texts:
        return
    doubt = doubt_of_words(plan)
    own = tuple(weights[[*texts]].tolist())
    log_prior = np.zeros(len(plan.bias)) if doubt is None else doubt.log_prior
    yield MixedTexts((*texts.values(),), own, log_prior, 0.0 if doubt is None else doubt.share)


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
