"""What each character is, as Python's own strings say."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.kernels import unicode as kernel

Properties = npt.NDArray[np.int32]

CODE_POINTS = 0x110000
ASCII = 0x80
CASES = [(0, 0x20000), (0xE0000, 0xE1000)]  # the planes with letters of a case, and with tags
APART = "\x01"  # a character of no word or case


@cache
def properties() -> Properties:
    """The table that `naively.kernels.unicode` describes, (0x110000,)."""
    points = np.arange(CODE_POINTS, dtype=np.uint32)
    letters: Any = points.view("U1")
    table = points.astype(np.int32)
    for low, high in CASES:
        table[low:high] = _lower(_text(points[low:high]), high - low)
    table[kernel.DOTTED_I] = kernel.DOTTED_I  # its lower case is two characters
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
    """The first part of the table, which is quick to make."""
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
    """The lower case of each of as many different characters."""
    lower = text.replace("İ", " ").replace("Σ", "σ").lower()
    assert len(lower) == length
    return _points(lower).astype(np.int32)


def _makes_final(before: str, letters: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Whether a sigma behind `before` and each letter is written as at the end of a word.

    It is so behind a letter of a case, whatever characters without influence are between.
    """
    pieces = np.empty((len(letters), len(before) + 3), np.uint32)
    pieces[:, : len(before)] = [*map(ord, before)]
    pieces[:, -3] = np.where(letters == ord(APART), ord(" "), letters)
    pieces[:, -2:] = ord("Σ"), ord(APART)
    points = _points(_text(pieces).lower())
    return points[np.flatnonzero(points == ord(APART)) - 1] == kernel.FINAL_SIGMA
