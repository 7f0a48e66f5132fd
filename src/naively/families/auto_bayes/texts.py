"""Explain the words of text columns, whose evidence is pooled with other columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64
from naively.explain.text import ExplainedTerms
from naively.families.base import Events
from naively.pooling.blocks.text import Text, weighed_words
from naively.pooling.structure import Plan
from naively.pooling.texts.term_weights import PriorMixing
from naively.pooling.texts.words import Words
from naively.statistics.levels import Encoded
from naively.text.analysis import Analysis


def first_words(plan: Plan) -> list[Words]:
    """The first terms of each text column, which decide whether a text has any term."""
    return [block.words for block in plan.first_of_text.values() if isinstance(block, Text)]


def prior_mixing(plan: Plan) -> PriorMixing | None:
    """The prior mixing of the text evidence of a row; None without text.

    With several text columns it is that of the one with most texts: a row of a new kind is new in
    all of its texts.
    """
    mixings = [words.mixing for words in first_words(plan)]
    if not mixings:
        return None
    largest = max(mixings, key=lambda mixing: mixing.documents)
    return largest if largest.class_weight.sum() > 0 else None


def explained_texts(plan: Plan, X: Encoded, i: int) -> dict[int, ExplainedTerms]:
    """The contribution of each term in the texts of row i to the score of each class, by column.

    Words come first, then character n-grams, in quotes.
    """
    texts = {}
    for column, blocks in weighed_words(plan).items():
        levels, code = X.levels[column], X.codes[i, column]
        if code < len(levels):
            texts[column] = _explained(str(levels[code]), blocks)
    return texts


@dataclass(frozen=True)
class WeightedTerms:
    """The terms of a text column, words and character n-grams, and their evidence."""

    parts: list[tuple[Words, float]]  # (words of an event, their weight)
    hashed, weighted = False, True
    chance = "word"

    @property
    def smoothing(self) -> list[tuple[str, float]]:
        """(What is counted, its alpha) of each event."""
        blocks: list[Any] = [block for block, _ in self.parts]
        return [(block.event.analysis.unit, block.scale.alpha) for block in blocks]

    def strongest_absent(self, text: str, a: int, b: int, most: int) -> list[str]:
        """The words that are not in a text with most evidence for class a against b."""
        ranked: list[tuple[float, str]] = []
        for block, weight in self.parts:
            if block.event.analysis.analyzer != "word":
                continue  # character n-grams cannot be added as words
            evidence = weight * block.term_evidence(np.arange(len(block.vocabulary)))
            odds = evidence[:, a] - evidence[:, b]
            present = {*block.of_text(text)[0]}
            places = np.argsort(-odds, kind="stable")[: most + len(present)]
            places = places[odds[places] > 0]
            names = block.vocabulary.gather(places).terms()
            ranked += zip(odds[places].tolist(), names, strict=True)
            ranked = [(odd, name) for odd, name in ranked if name not in present]
        return [name for _, name in sorted(ranked, key=lambda pair: -pair[0])[:most]]

    @property
    def n_terms(self) -> int:
        """The number of terms."""
        return sum(len(block.vocabulary) for block, _ in self.parts)

    def named(self, places: npt.NDArray[np.integer]) -> list[str]:
        """The names of some terms; character n-grams in quotes."""
        names = np.empty(len(places), object)
        start = 0
        for block, _ in self.parts:
            in_block = (start <= places) & (places < start + len(block.vocabulary))
            terms = block.vocabulary.gather(places[in_block] - start).terms()
            names[in_block] = _shown(block, terms)
            start += len(block.vocabulary)
        return list(names)

    def events(self, _: Sequence[str]) -> Events:
        """The counts and weighted evidence of the terms, before scaling by length."""
        counts = [block.counts.toarray().T[block.classes] for block, _ in self.parts]
        alpha: list[Any] = [block.scale.alpha for block, _ in self.parts]
        sizes = [len(block.vocabulary) for block, _ in self.parts]
        totals = np.column_stack([block.of_class[block.classes] for block, _ in self.parts])
        slopes: Float64 = np.hstack([
            weight * block.term_evidence(np.arange(size)).T
            for (block, weight), size in zip(self.parts, sizes, strict=True)
        ])  # fmt: skip
        events = Events(
            (), np.hstack(counts), np.repeat(totals, sizes, axis=1),
            np.repeat(alpha, sizes)[np.newaxis],
            np.repeat(np.multiply(alpha, sizes), sizes)[np.newaxis],
        )  # fmt: skip
        return events.weighing(slopes)


def weighted_terms(plan: Plan) -> dict[int, WeightedTerms]:
    """The terms of each text column with a weight."""
    return {column: WeightedTerms(parts) for column, parts in weighed_words(plan).items()}


def _shown(block: Words, terms: list[str]) -> list[str]:
    """Terms for display: character n-grams in quotes."""
    words = block.event.analysis.analyzer == "word"
    return terms if words else [f"'{term}'" for term in terms]


def _explained(text: str, blocks: list[tuple[Words, float]]) -> ExplainedTerms:
    """The contributions of the terms of one text, from all blocks."""
    terms: list[str] = []
    unknown: list[str] = []
    counts, contributions = [], []
    cuts: list[tuple[Analysis, dict[str, int]]] = []
    for block, weight in blocks:
        block_terms, block_counts, evidence, unknown_terms = block.of_text(text)
        analysis = block.event.analysis
        cuts.append((analysis, {term: len(terms) + k for k, term in enumerate(block_terms)}))
        terms += _shown(block, block_terms)
        unknown += _shown(block, unknown_terms)
        counts.append(block_counts)
        contributions.append(weight * evidence)
    return ExplainedTerms(
        text=text, terms=terms, counts=np.concatenate(counts),
        contributions=np.concatenate(contributions), rest=np.zeros(len(blocks[0][0].classes)),
        rest_is="prior mixing", unknown=unknown, cuts=cuts,
    )  # fmt: skip
