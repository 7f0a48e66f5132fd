"""What the words of columns of text add, where they are evidence beside other columns."""

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
from naively.pooling.texts.scale import ROUNDING, Doubt
from naively.pooling.texts.words import Words
from naively.statistics.levels import Encoded
from naively.text.analysis import Analysis


def doubt_of_words(plan: Plan) -> Doubt | None:
    """By how much what all words of a row tell is doubted; None of a plan without words.

    Of several columns it is that with most texts: a row of a new kind is so in all of its texts.
    """
    first = plan.first_of_text.values()
    doubts = [block.words.doubt for block in first if isinstance(block, Text)]
    if not doubts:
        return None
    found = max(doubts, key=lambda one: one.documents)
    return found if found.class_weight.sum() > 0 else None


def doubted(
    told: dict[int, Float64], biases: Float64, doubt: Doubt, unseen: npt.NDArray[np.bool_]
) -> dict[int, Float64]:
    """What the doubt adds to columns of text whose words tell so much, (n, C) each.

    That of all together, and of the biases (n, C), is shared equally by those that tell something,
    or by all. `unseen` rows have no known terms.
    """
    whole = np.ascontiguousarray(sum(told.values(), biases).T)
    scores = whole.copy()
    doubt.scores(scores, unseen)
    more = (scores - whole).T
    more[np.abs(more) <= ROUNDING * np.abs(whole.T).max(axis=1, keepdims=True)] = 0.0
    tells = {j: own.any(axis=1, keepdims=True) for j, own in told.items()}
    none = ~np.any([*tells.values()], axis=0)
    tells = {j: own | none for j, own in tells.items()}
    among = np.sum([*tells.values()], axis=0)
    return {j: more * own / among for j, own in tells.items()}


def explained_texts(
    plan: Plan, X: Encoded, i: int, doubt: dict[int, Float64]
) -> dict[int, ExplainedTerms]:
    """What each term of the texts of row i adds to the score of each class, by column.

    `doubt` is what the doubt adds to each, (C,).

    The terms of words and those of characters follow each other; the latter are in quotes.
    """
    texts = {}
    for column, blocks in weighed_words(plan).items():
        levels, code = X.levels[column], X.codes[i, column]
        if code < len(levels):
            texts[column] = _explained(str(levels[code]), blocks, doubt.get(column, 0.0))
    return texts


@dataclass(frozen=True)
class ToldTerms:
    """The terms of a column of text, words and runs of characters, and what they tell.

    Attributes
    ----------
    parts : (what is counted of the texts, its weight).
    """

    parts: list[tuple[Words, float]]
    hashed = False
    chance = "word"

    def speaking(self, text: str, a: int, b: int, most: int) -> list[str]:
        """The words that a text lacks and that tell most for class a against b, at most so many."""
        found: list[tuple[float, str]] = []
        for block, weight in self.parts:
            if block.event.analysis.analyzer != "word":
                continue  # runs of characters are no words to add
            told = weight * block.told(np.arange(len(block.vocabulary)))
            odds = told[:, a] - told[:, b]
            own = {*block.of_text(text)[0]}
            places = np.argsort(-odds, kind="stable")[: most + len(own)]
            places = places[odds[places] > 0]
            names = block.vocabulary.gather(places).terms()
            found += zip(odds[places].tolist(), names, strict=True)
            found = [(odd, name) for odd, name in found if name not in own]
        return [name for _, name in sorted(found, key=lambda one: -one[0])[:most]]

    @property
    def n_terms(self) -> int:
        """How many there are."""
        return sum(len(block.vocabulary) for block, _ in self.parts)

    def named(self, places: npt.NDArray[np.integer]) -> list[str]:
        """Some of the terms; runs of characters in quotes."""
        found = np.empty(len(places), object)
        start = 0
        for block, _ in self.parts:
            own = (start <= places) & (places < start + len(block.vocabulary))
            terms = block.vocabulary.gather(places[own] - start).terms()
            found[own] = _shown(block, terms)
            start += len(block.vocabulary)
        return list(found)

    def events(self, _: Sequence[str]) -> Events:
        """The terms, which tell as much as they weigh, before what falls with the length."""
        counts = [block.counts.toarray().T[block.classes] for block, _ in self.parts]
        alpha: list[Any] = [block.scale.alpha for block, _ in self.parts]
        sizes = [len(block.vocabulary) for block, _ in self.parts]
        totals = np.column_stack([block.of_class[block.classes] for block, _ in self.parts])
        slopes: Float64 = np.hstack([
            weight * block.told(np.arange(size)).T
            for (block, weight), size in zip(self.parts, sizes, strict=True)
        ])  # fmt: skip
        events = Events(
            (), np.hstack(counts), np.repeat(totals, sizes, axis=1),
            np.repeat(alpha, sizes)[np.newaxis],
            np.repeat(np.multiply(alpha, sizes), sizes)[np.newaxis],
        )  # fmt: skip
        return events.weighing(slopes)


def told_texts(plan: Plan) -> dict[int, ToldTerms]:
    """The terms of each column of text that count."""
    return {column: ToldTerms(parts) for column, parts in weighed_words(plan).items()}


def _shown(block: Words, terms: list[str]) -> list[str]:
    """Terms as people see them: runs of characters in quotes."""
    words = block.event.analysis.analyzer == "word"
    return terms if words else [f"'{term}'" for term in terms]


def _explained(
    text: str, blocks: list[tuple[Words, float]], more: Float64 | float
) -> ExplainedTerms:
    """The terms of one text, of all blocks."""
    terms: list[str] = []
    unknown: list[str] = []
    counts, added = [], []
    rest = np.zeros(len(blocks[0][0].classes)) + more
    cuts: list[tuple[Analysis, dict[str, int]]] = []
    for block, weight in blocks:
        own, times, told, besides, new = block.of_text(text)
        analysis = block.event.analysis
        cuts.append((analysis, {term: len(terms) + k for k, term in enumerate(own)}))
        terms += _shown(block, own)
        unknown += _shown(block, new)
        counts.append(times)
        added.append(weight * told)
        rest += weight * besides
    return ExplainedTerms(
        text=text, terms=terms, counts=np.concatenate(counts), contributions=np.concatenate(added),
        rest=rest, rest_is="prior mixing", unknown=unknown, cuts=cuts,
    )  # fmt: skip
