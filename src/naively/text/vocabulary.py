"""Number terms in a hash table, sort them, and hash documents by their terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.core.exact import Int64
from naively.core.hashing import GOLDEN, UInt64, mixed
from naively.kernels import text as kernel
from naively.kernels.text import ROOM
from naively.text.documents import Bytes

Ids = npt.NDArray[np.int32]

SLOTS = 1 << 12
BYTES = 1 << 14
MANY = 4  # n-gram lengths, above which the longest group is looked up


@dataclass(frozen=True)
class Units:
    """Words or characters of documents, of which n-grams are built."""

    text: Bytes  # the bytes of all units, with spare room at the end
    # begins, ends: unit k is text[begins[k] : ends[k]]
    begins: npt.NDArray[np.integer]
    ends: npt.NDArray[np.integer]
    groups: Int64  # the end of each group of units; n-grams do not cross groups
    documents: Int64  # the document of each group
    count: int  # number of documents
    short: bool = False  # whether a group of fewer than n units counts as one n-gram

    def grams(self, low: int, high: int) -> int:
        """Return an upper bound of the number of n-grams."""
        if high - low > MANY and len(self.groups):  # no n-gram is longer than its group
            high = max(low, min(high, int(np.diff(self.groups, prepend=0).max())))
        return len(self.begins) * (high - low + 1)


class Vocabulary:
    """Terms as UTF-8 bytes in a hash table, numbered in order of first occurrence.

    `slots`, `arena`, `starts`, `sizes`: the hash table of `native/vocabulary.cpp`; term k is
    arena[starts[k] : starts[k + 1]].
    """

    def __init__(self, terms: int = 0, size: int = 0) -> None:
        """Reserve room for some terms of `size` bytes in total; it grows if needed."""
        terms, size = terms + kernel.CHUNK + 1, size + 9 * kernel.CHUNK
        slots = max(SLOTS, 1 << (2 * terms).bit_length())
        self.slots = np.zeros(2 * slots, np.uint64)
        self.arena = np.zeros(max(BYTES, size), np.uint8)
        self.starts = np.zeros(max(SLOTS, terms), np.int64)
        self.sizes = np.zeros(1, np.int64)

    @classmethod
    def of(cls, arena: Bytes, lengths: Int64) -> Vocabulary:
        """Return a vocabulary of distinct terms, concatenated in `arena`."""
        vocabulary = cls(len(lengths), len(arena))
        padded = np.append(arena, np.zeros(ROOM, np.uint8))
        ends = np.cumsum(lengths)
        vocabulary.add(_as_units(padded, np.append(0, ends)))
        return vocabulary

    @classmethod
    def checked(cls, terms: Any, lengths: Any) -> Vocabulary:
        """Return a vocabulary of sorted, distinct terms; ValueError if they are not."""
        kinds = [(terms, np.uint8), (lengths, np.int64)]
        if any(getattr(array, "dtype", None) != dtype or array.ndim != 1 for array, dtype in kinds):
            raise ValueError("its terms are no text")
        if (lengths < 0).any() or (lengths > len(terms)).any() or lengths.sum() != len(terms):
            raise ValueError("the lengths of its terms do not add up")
        terms.tobytes().decode("utf-8", "surrogatepass")
        starts = np.cumsum(lengths)[:-1]
        if (terms[starts[starts < len(terms)]] & 0xC0 == 0x80).any():
            raise ValueError("a term begins within a character")
        vocabulary = cls.of(terms, lengths)
        in_order = np.arange(len(lengths))
        if len(vocabulary) != len(lengths) or (vocabulary.order() != in_order).any():
            raise ValueError("its terms are not sorted and distinct")
        return vocabulary

    def __len__(self) -> int:
        return int(self.sizes[0])

    def copy(self) -> Vocabulary:
        """Return a copy that shares no memory."""
        vocabulary = Vocabulary.__new__(Vocabulary)
        vocabulary.slots, vocabulary.sizes = self.slots.copy(), self.sizes.copy()
        vocabulary.arena, vocabulary.starts = self.arena.copy(), self.starts.copy()
        return vocabulary

    def number(
        self, units: Units, low: int = 1, high: int = 1, grow: bool = False, buckets: int = 0,
        room: Ids | None = None,
    ) -> tuple[Ids, Int64]:  # fmt: skip
        """Return (numbers of all n-grams; the start of each document, and the end of the last).

        If `grow`, new terms get the next numbers; else they are -1. With `buckets`, a power of two,
        the number of a term is its hash bucket. Numbers are written to `room`, if given.
        """
        ids = np.empty(units.grams(low, high), np.int32) if room is None else room
        indptr = np.zeros(units.count + 1, np.int64)
        state = np.array([0, low, 0, 0, 0])
        while (
            kernel.number_grams(
                units.text, units.begins, units.ends, units.groups, units.documents, low, high,
                units.short, grow, buckets, self.slots, self.arena, self.starts, self.sizes, state,
                ids, indptr,
            )
            == kernel.FULL
        ):  # fmt: skip
            self._enlarge(int(state[4]))
        return ids[: state[3]], indptr

    def _enlarge(self, needed: int) -> None:
        """Make room for more terms, of about `needed` bytes in total."""
        if len(self) + kernel.CHUNK > len(self.slots) // 4:
            slots = np.zeros(2 * len(self.slots), np.uint64)
            kernel.rehash(self.slots, slots)
            self.slots = slots
        if len(self) + kernel.CHUNK >= len(self.starts):
            self.starts = np.append(self.starts, np.zeros_like(self.starts))
        n_bytes = int(self.starts[len(self)])
        if n_bytes + needed > len(self.arena):
            room = max(len(self.arena), needed)
            self.arena = np.append(self.arena, np.zeros(room, np.uint8))

    def add(self, units: Units) -> Ids:
        """Add terms, and return their numbers."""
        return self.number(units, grow=True)[0]

    def as_units(self) -> Units:
        """Return the terms as units of one document."""
        return _as_units(self.arena, self.starts[: len(self) + 1])

    def merge(self, other: Vocabulary) -> Ids:
        """Add the terms of another vocabulary, and return their numbers in this one."""
        return self.add(other.as_units())

    def find(self, other: Vocabulary) -> Ids:
        """Return the numbers of the terms of another vocabulary; -1 for unknown ones."""
        return self.number(other.as_units())[0]

    def order(self) -> Int64:
        """Return the numbers of the terms in byte order, which is also code point order."""
        starts = self.starts[: len(self)]
        lengths = np.diff(self.starts[: len(self) + 1])
        order = np.arange(len(self))
        open_ = np.arange(len(self))  # places whose terms equal a neighbour so far
        group = np.zeros(len(self), np.int64)
        for at in range(0, int(lengths.max(initial=0)) + 1, 8):
            numbers = order[open_]
            piece = kernel.pieces_of(self.arena, starts, lengths, numbers, at)
            remaining = np.minimum(lengths[numbers] - at, 9)  # a prefix precedes longer terms
            by_piece = np.lexsort((remaining, piece, group))
            order[open_] = numbers[by_piece]
            piece, remaining, group = piece[by_piece], remaining[by_piece], group[by_piece]
            is_first = np.ones(len(by_piece) + 1, bool)
            is_first[1:-1] = (np.diff(group) > 0) | (np.diff(piece) > 0) | (np.diff(remaining) > 0)
            settled = is_first[:-1] & is_first[1:]
            group = np.cumsum(is_first[:-1])[~settled]
            open_ = open_[~settled]
            if len(open_) == 0:
                break
        return order

    def term_bytes(self, k: int) -> bytes:
        """Return term k in UTF-8."""
        return self.arena[self.starts[k] : self.starts[k + 1]].tobytes()

    def term(self, k: int) -> str:
        """Return term k."""
        return self.term_bytes(k).decode("utf-8", "surrogatepass")

    def terms(self) -> list[str]:
        """Return all terms, in the order of their numbers."""
        return [self.term(k) for k in range(len(self))]

    def packed(self) -> tuple[Bytes, Int64]:
        """Return (the concatenated terms, their lengths)."""
        starts = self.starts[: len(self) + 1]
        return self.arena[: starts[-1]], np.diff(starts)

    def lengths_in(self, words: bool) -> Int64:
        """Return the number of words, or characters, of each term, (V,)."""
        arena, lengths = self.packed()
        units = arena == ord(" ") if words else arena & 0xC0 != 0x80  # skip continuation bytes
        before = np.searchsorted(np.flatnonzero(units), np.cumsum(lengths))
        return np.diff(before, prepend=0) + words

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same terms in the same order."""
        if not isinstance(other, Vocabulary):
            return NotImplemented
        (own_terms, own_lengths), (other_terms, other_lengths) = self.packed(), other.packed()
        return np.array_equal(own_lengths, other_lengths) and np.array_equal(own_terms, other_terms)

    __hash__ = None  # type: ignore[assignment]

    def gather(self, numbers: npt.NDArray[np.integer]) -> Vocabulary:
        """Return a vocabulary of some terms, in this order."""
        units = self.as_units()
        selected = Units(
            units.text, units.begins[numbers], units.ends[numbers], np.array([len(numbers)]),
            units.documents, 1,
        )  # fmt: skip
        vocabulary = Vocabulary(len(numbers), int((selected.ends - selected.begins).sum()))
        vocabulary.add(selected)
        return vocabulary


def _as_units(arena: Bytes, starts: Int64) -> Units:
    count = len(starts) - 1
    return Units(
        arena, starts[:-1].astype(np.int64), starts[1:].astype(np.int64), np.array([count]),
        np.zeros(1, np.int64), 1,
    )  # fmt: skip


# ---- keys ----------------------------------------------------------------------------------------


BITS = 40  # bits of a term's number: sums of 8,192 of them are exact in float64, too


def term_numbers(vocabulary: Vocabulary | None, buckets: int = 0) -> Int64:
    """Return a 40-bit hash of the bytes of each term, (V,); or of each bucket."""
    if vocabulary is None:
        return _short(mixed(np.arange(1, buckets + 1, dtype=np.uint64) * np.uint64(GOLDEN)))
    data, lengths = vocabulary.packed()
    if not len(lengths):
        return np.empty(0, np.int64)
    starts = np.cumsum(lengths) - lengths
    place = (np.arange(len(data)) - np.repeat(starts, lengths)).astype(np.uint64)
    hashes = mixed((place << np.uint64(8)) + data + np.uint64(GOLDEN))
    sums = np.append(np.uint64(0), np.cumsum(hashes, dtype=np.uint64))  # modulo 2^64
    ends = starts + lengths
    return _short(mixed(sums[ends] - sums[starts]))


def document_keys(numbers: Int64, data: Any, indices: Any, indptr: Any) -> Int64:
    """Return Σ x_t times the number of term t, (n,), of CSR rows; 0 for an empty row.

    `data` are the counts of terms, whole numbers; None for 1 of each term of merged rows.
    """
    summands = numbers[indices]
    if data is not None:
        summands = summands * np.asarray(data).astype(np.int64)
    sums = np.append(0, np.cumsum(summands))  # modulo 2^64
    return sums[indptr[1:]] - sums[indptr[:-1]]


def _short(numbers: UInt64) -> Int64:
    return (numbers >> np.uint64(64 - BITS)).astype(np.int64)
