"""Split documents into words or characters, by the character classes of Python's str."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.kernels import text as kernel
from naively.text.analysis import WORDS, Analysis
from naively.text.documents import Documents
from naively.text.vocabulary import Units, Vocabulary

Properties = npt.NDArray[np.int32]

CODE_POINTS = 0x110000
ASCII = 0x80
CASES = [(0, 0x20000), (0xE0000, 0xE1000)]  # the planes with cased letters, and with tags
APART = "\x01"  # neither a word character nor cased


@cache
def properties() -> Properties:
    """Return the table that `naively.kernels.text` describes, (0x110000,)."""
    points = np.arange(CODE_POINTS, dtype=np.uint32)
    letters: Any = points.view("U1")
    table = points.astype(np.int32)
    for low, high in CASES:
        table[low:high] = _lower(_text(points[low:high]), high - low)
    table[kernel.DOTTED_I] = kernel.DOTTED_I  # its lower case has two characters
    table[np.strings.isalnum(letters)] |= kernel.WORD
    table[ord("_")] |= kernel.WORD
    table[np.strings.isspace(letters)] |= kernel.SPACE
    for low, high in CASES:
        cased = _makes_final("", points[low:high])
        table[low:high][cased] |= kernel.CASED
        table[low:high][_makes_final("a", points[low:high]) & ~cased] |= kernel.IGNORABLE
    return table


@cache
def ascii_properties() -> Properties:
    """Return the ASCII part of the table, which is computed fast."""
    points = np.arange(ASCII, dtype=np.uint32)
    letters: Any = points.view("U1")
    table = _lower(_text(points), ASCII)
    table[np.strings.isalnum(letters)] |= kernel.WORD
    table[ord("_")] |= kernel.WORD
    table[np.strings.isspace(letters)] |= kernel.SPACE
    return table


def _text(points: npt.NDArray[np.uint32]) -> str:
    return points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _points(text: str) -> npt.NDArray[np.int32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<i4")


def _lower(text: str, length: int) -> Properties:
    """Return the lower case of each of `length` different characters."""
    lower = text.replace("İ", " ").replace("Σ", "σ").lower()
    assert len(lower) == length
    return _points(lower).astype(np.int32)


def _makes_final(before: str, letters: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Return whether a sigma after `before` and each letter takes the form of a word's end.

    It does after a cased letter, with any number of case-ignorable characters in between.
    """
    pieces = np.empty((len(letters), len(before) + 3), np.uint32)
    pieces[:, : len(before)] = [*map(ord, before)]
    pieces[:, -3] = np.where(letters == ord(APART), ord(" "), letters)
    pieces[:, -2:] = ord("Σ"), ord(APART)
    points = _points(_text(pieces).lower())
    return points[np.flatnonzero(points == ord(APART)) - 1] == kernel.FINAL_SIGMA


# ---- tokens --------------------------------------------------------------------------------------


SHORT = 1 << 12  # up to so many bytes, a copy is faster than a call of NumPy


class Tokens:
    """Split documents as an `Analysis` defines; for one thread at a time.

    Returned units are valid until the next call, as their memory is reused.
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
        """Return the units of documents first:last."""
        if not self.analysis.compiled:
            return of_terms([self._terms(documents, i) for i in range(first, last)])
        data = documents.data[documents.offsets[first] : documents.offsets[last]]
        is_ascii = data.tobytes().isascii() if len(data) < SHORT else int(data.max()) < 0x80
        table = ascii_properties() if is_ascii else properties()
        cut = self._words if self.analysis.analyzer == "word" else self._characters
        return cut(documents, first, last, len(data), table)

    def _terms(self, documents: Documents, i: int) -> list[bytes]:
        """Return the terms of one document, by the reference implementation."""
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
        n_words = kernel.split_words(
            documents.data, documents.offsets, first, last, shortest, self.analysis.lowercase,
            table, self._text, self._begins, self._ends, groups,
        )  # fmt: skip
        begins, ends = self._begins[:n_words], self._ends[:n_words]
        units = Units(self._text, begins, ends, groups, np.arange(count), count)
        if len(self._stops):
            ids, _ = self._stops.number(units)
            n_words = kernel.keep_others(ids, begins, ends, groups)
            begins, ends = begins[:n_words], ends[:n_words]
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
    """Return the terms of each document as units."""
    text = b"".join(term for terms in documents for term in terms) + bytes(kernel.ROOM)
    lengths = [len(term) for terms in documents for term in terms]
    starts = np.cumsum([0, *lengths])
    data, count = np.frombuffer(text, np.uint8), len(documents)
    groups = np.cumsum([len(terms) for terms in documents], dtype=np.int64)
    return Units(data, starts[:-1], starts[1:], groups, np.arange(count), count)
