"""What the words of columns of text add, where they are evidence beside other columns."""

from __future__ import annotations

import numpy as np

from naively.evidence.plan import Plan
from naively.evidence.words import Words
from naively.statistics.levels import Encoded
from naively.text.analysis import Analysis
from naively.text.explained import ExplainedTerms


def explained_texts(plan: Plan, X: Encoded, i: int) -> dict[int, ExplainedTerms]:
    """What each term of the texts of row i adds to the score of each class, by column.

    The terms of words and those of characters follow each other; the latter are in quotes.
    """
    found: dict[int, list[tuple[Words, float]]] = {}
    for block, weight in zip(plan.blocks, plan.weights.tolist(), strict=True):
        if isinstance(block, Words) and weight != 0:
            found.setdefault(block.column, []).append((block, weight))
    texts = {}
    for column, blocks in found.items():
        levels, code = X.levels[column], X.codes[i, column]
        if code < len(levels):
            texts[column] = _explained(str(levels[code]), blocks)
    return texts


def _explained(text: str, blocks: list[tuple[Words, float]]) -> ExplainedTerms:
    """The terms of one text, of all blocks."""
    terms: list[str] = []
    unknown: list[str] = []
    counts, added = [], []
    cuts: list[tuple[Analysis, dict[str, int]]] = []
    for block, weight in blocks:
        own, times, told, new = block.of_text(text)
        analysis = block.event.analysis
        cuts.append((analysis, {term: len(terms) + k for k, term in enumerate(own)}))
        words = analysis.analyzer == "word"
        terms += own if words else [f"'{term}'" for term in own]
        unknown += new if words else [f"'{term}'" for term in new]
        counts.append(times)
        added.append(weight * told)
    contributions = np.concatenate(added)
    return ExplainedTerms(
        text=text, terms=terms, counts=np.concatenate(counts), contributions=contributions,
        rest=np.zeros(contributions.shape[1]), rest_is="absent terms", unknown=unknown, cuts=cuts,
    )  # fmt: skip
