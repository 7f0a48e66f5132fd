"""Evidence of the words of a text column, fitted by `naively.pooling.texts.words`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from naively.core.exact import Float64, Int64
from naively.core.workers import Workers
from naively.formula import TextEvidence
from naively.pooling.bins import Column
from naively.pooling.blocks.base import Block, OutOfFold, Rows, Values, relative, within
from naively.pooling.entries import Entries
from naively.pooling.structure import Plan
from naively.pooling.texts.prose import is_text
from naively.pooling.texts.words import Words, read_words, stored_words, words
from naively.statistics.base import Arrays


@dataclass(frozen=True)
class Text(Block):
    """The evidence of the terms of a text column."""

    words: Words  # its terms and their weights

    tag = "text"
    reads_text = True

    @classmethod
    def of_values(
        cls, entries: Entries, named: Collection[int | str], workers: Workers
    ) -> list[OutOfFold]:
        """Fit words and character n-grams of each text column."""
        return [
            OutOfFold(cls((j,), terms), entries, relative(evidence))
            for j in range(len(entries.levels))
            if j not in entries.categorical and is_text(entries, j, j in named)
            for terms, evidence in words(entries, j, workers)
        ]

    def among(self, at: Int64, order: Int64, classes: Int64, columns: Sequence[Column]) -> Text:
        """As the base class."""
        column = int(at[0])
        new_words = replace(self.words, column=column, classes=self.words.classes[classes])
        return Text((column,), new_words)

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return int(self.words.counts.nnz)

    def by_level(self, values: Values) -> Float64:
        """As the base class."""
        return values.text_evidence(self.words)[0]

    def biases(self, rows: Rows) -> Float64:
        """As the base class: b of texts with known terms."""
        _, unknown = rows.values.text_evidence(self.words)
        codes = rows.codes[:, self.columns[0]]
        has_terms = ~unknown[codes] & (codes < len(unknown) - 1)
        bias: Float64 = self.words.bias[self.words.classes, np.newaxis] * has_terms
        return bias

    def what(self, columns: Sequence[Column], texts: Collection[int]) -> str:
        """As the base class."""
        return f"{len(self.words.vocabulary):,} {self.words.event.name}"

    @classmethod
    def stored(cls, blocks: Sequence[Text]) -> Arrays:
        """``text.0.terms`` and so on, of each block, as in `stored_words`."""
        stored = [stored_words(block.words).items() for block in blocks]
        return {
            f"text.{k}.{name}": array for k, words in enumerate(stored) for name, array in words
        }

    @classmethod
    def read(
        cls, arrays: Arrays, places: Sequence[tuple[int, ...]], columns: Sequence[Column],
        n_classes: int,
    ) -> list[Text]:  # fmt: skip
        """As the base class."""
        for block in places:
            if len(block) > 1 or columns[block[0]].is_number:
                raise ValueError("words are of a column that holds no text")
        parts = [within(arrays, f"text.{k}.") for k in range(len(places))]
        pairs = zip(places, parts, strict=True)
        return [cls(block, read_words(kept, block[0], n_classes)) for block, kept in pairs]

    def text_evidence(self, names: Sequence[str]) -> TextEvidence:
        """As the base class."""
        return self.words.text_evidence(names[self.columns[0]])


def weighed_words(plan: Plan) -> dict[int, list[tuple[Words, float]]]:
    """The terms of each text column and their weights, without weights of 0."""
    weighted: dict[int, list[tuple[Words, float]]] = {}
    for block, weight in zip(plan.blocks, plan.weights.tolist(), strict=True):
        if isinstance(block, Text) and weight != 0:
            weighted.setdefault(block.columns[0], []).append((block.words, weight))
    return weighted
