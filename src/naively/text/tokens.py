"""Documents to units: the words or characters that terms are made of."""

from __future__ import annotations

import numpy as np

from naively.kernels import tokens as kernel
from naively.kernels import vocabulary as vocabulary_kernel
from naively.text.analysis import WORDS, Analysis
from naively.text.documents import Documents
from naively.text.unicode import Properties, ascii_properties, properties
from naively.text.vocabulary import Units, Vocabulary

SHORT = 1 << 12  # bytes that are copied faster than NumPy is asked


class Tokens:
    """Cuts documents as an `Analysis` says; in one thread at a time.

    The units that it gives are good until it is asked again: the memory is used again.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.low, self.high = analysis.ngram_range if analysis.compiled else (1, 1)
        self._text = np.empty(0, np.uint8)
        self._begins = self._ends = np.empty(0, np.int32)
        words = [word.encode("utf-8", "surrogatepass") for word in analysis.stop_words or ()]
        self._stops = Vocabulary()
        if analysis.analyzer == "word" and words:
            self._stops.add(of_terms([words]))

    def units(self, documents: Documents, first: int, last: int) -> Units:
        """Of documents first:last."""
        if not self.analysis.compiled:
            return of_terms([self._terms(documents, i) for i in range(first, last)])
        data = documents.data[documents.offsets[first] : documents.offsets[last]]
        is_ascii = data.tobytes().isascii() if len(data) < SHORT else int(data.max()) < 0x80
        table = ascii_properties() if is_ascii else properties()
        cut = self._words if self.analysis.analyzer == "word" else self._characters
        return cut(documents, first, last, len(data), table)

    def _terms(self, documents: Documents, i: int) -> list[bytes]:
        """Those of one document by the definition."""
        if documents.valid is not None and not documents.valid[i]:
            return []
        return [_encoded(term) for term in self.analysis.terms(documents.text(i))]

    def _reserve(self, size: int, units: int) -> None:
        if len(self._text) < size + kernel.ROOM:
            self._text = np.empty(size + kernel.ROOM, np.uint8)
        if len(self._begins) < units:
            self._begins, self._ends = np.empty(units, np.int32), np.empty(units, np.int32)

    def _words(
        self, documents: Documents, first: int, last: int, size: int, table: Properties
    ) -> Units:
        count = last - first
        self._reserve(kernel.GROWTH * size, size // 2 + count + 2)
        groups = np.empty(count, np.int64)
        shortest = 2 if self.analysis.token_pattern == WORDS else 1
        found = kernel.split_words(
            documents.data, documents.offsets, first, last, shortest, self.analysis.lowercase,
            table, self._text, self._begins, self._ends, groups,
        )  # fmt: skip
        begins, ends = self._begins[:found], self._ends[:found]
        units = Units(self._text, begins, ends, groups, np.arange(count), count)
        if len(self._stops):
            ids, _ = self._stops.number(units)
            found = vocabulary_kernel.keep_others(ids, begins, ends, groups)
            begins, ends = begins[:found], ends[:found]
            units = Units(self._text, begins, ends, groups, units.documents, count)
        if self.high > 1:
            kernel.join_words(self._text, begins, ends, groups)
        return units

    def _characters(
        self, documents: Documents, first: int, last: int, size: int, table: Properties
    ) -> Units:
        count = last - first
        bounded = self.analysis.analyzer == "char_wb"
        # a piece has at least one byte and a space behind it, and gets a space on either side
        self._reserve(kernel.GROWTH * size + 2 * count, 2 * size + 2 * count + 1)
        groups = np.empty((2, size // 2 + count), np.int64)
        units, pieces = kernel.split_characters(
            documents.data, documents.offsets, first, last, bounded, self.analysis.lowercase, table,
            self._text, self._begins, groups,
        )  # fmt: skip
        return Units(
            self._text, self._begins[:units], self._begins[1 : units + 1], groups[0, :pieces],
            groups[1, :pieces], count, bounded,
        )  # fmt: skip


def _encoded(term: object) -> bytes:
    if not isinstance(term, str):
        raise TypeError(f"an analyzer or tokenizer must give text, not {term!r}")
    return term.encode("utf-8", "surrogatepass")


def of_terms(documents: list[list[bytes]]) -> Units:
    """The terms of each document, as units."""
    text = b"".join(term for terms in documents for term in terms) + bytes(kernel.ROOM)
    lengths = [len(term) for terms in documents for term in terms]
    starts = np.cumsum([0, *lengths])
    count = len(documents)
    groups = np.cumsum([len(terms) for terms in documents], dtype=np.int64)
    return Units(
        np.frombuffer(text, np.uint8), starts[:-1], starts[1:], groups, np.arange(count), count
    )
