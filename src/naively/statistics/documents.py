"""Some of the documents themselves: a bounded sample, which adds up as sums do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Int64
from naively.hashing import UInt64
from naively.kernels import documents as kernel
from naively.statistics.base import FORGOTTEN, NOT_LEARNED, Arrays, Batch, Statistics
from naively.statistics.level_counts import count_levels
from naively.statistics.levels import Encoded
from naively.statistics.sample import ALL
from naively.text.documents import Documents
from naively.workers import Workers

KEPT = 20_000
"""Different documents that are kept, at most,"""
ROOM = 1 << 25
"""and their bytes together."""
LONGEST = 1 << 18
"""Bytes of a document that is kept, at most."""


class DocumentSample(Statistics):
    """Different documents, those whose hash is below a threshold, with their weights.

    Which they are depends on what was learned alone, not on its order and split: those of the
    smallest hashes. The threshold falls as documents come, and does not rise again.

    Attributes
    ----------
    tables : ``kept`` (C, W), the weight of each document by class; there may be room for more.
    places : the column of each document, by its bytes.
    hashes : of the documents, in the order of their columns.
    threshold : documents with a hash from here on were not kept.
    size : bytes of all of them.
    """

    sized_by = "kept"

    def __init__(
        self, kept: ExactArray, texts: Sequence[bytes] = (), hashes: Sequence[int] = (),
        threshold: int = ALL,
    ) -> None:  # fmt: skip
        super().__init__({"kept": kept})
        self.places = {text: k for k, text in enumerate(texts)}
        self.hashes = list(hashes)
        self.threshold = threshold
        self.size = sum(map(len, self.places))

    @classmethod
    def of(cls, X: Documents, batch: Batch, workers: Workers) -> Self:
        """Of the documents of a batch."""
        hashes = hashes_of(X)
        fit = np.diff(X.offsets) <= LONGEST
        if X.valid is not None:
            fit &= X.valid
        threshold = _threshold(hashes[fit])
        rows = np.flatnonzero(fit & (hashes < np.uint64(threshold)))
        places: dict[bytes, int] = {}
        texts = [X.data[X.offsets[i] : X.offsets[i + 1]].tobytes() for i in rows.tolist()]
        kinds = np.array([places.setdefault(text, len(places)) for text in texts], np.int32)
        own = batch.some(rows)
        levels = Encoded(own.of_rows(kinds).reshape(-1, 1), [np.arange(len(places))])
        count = count_levels(levels, own, workers).tables["count"]
        first = np.unique(kinds, return_index=True)[1]
        found = cls(count, [*places], hashes[rows[first]].tolist(), threshold)
        found._cut()
        return found

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def documents(self) -> Documents:
        """The documents, in the order of their columns."""
        return _documents([*self.places])

    @property
    def nbytes(self) -> int:
        """The memory that the documents and their weights take."""
        return super().nbytes + self.size

    def first(self, most: int, room: int) -> int:
        """How many of the first documents are no more than so many, and so many bytes."""
        return min(most, int(np.searchsorted(np.cumsum([*map(len, self.places)]), room, "right")))

    # ---- the algebra -------------------------------------------------------------------------

    def accumulate(self, other: Self, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) the documents of another sample."""
        if other.threshold < self.threshold:
            self._below(other.threshold)
        chosen = [k for k, own in enumerate(other.hashes) if own < self.threshold]
        if chosen:
            texts, places = [*other.places], self.places
            known = len(places)
            columns = [places.setdefault(texts[k], len(places)) for k in chosen]
            new = [k for k, own in zip(chosen, columns, strict=True) if own >= known]
            self.hashes += [other.hashes[k] for k in new]
            self.size += sum(len(texts[k]) for k in new)
            self._widen()
            count = other.tables["kept"].gather(1, np.array(chosen))
            self.tables["kept"] = self.tables["kept"].accumulate(
                count, classes, np.array(columns, np.int64), sign
            )
        self._cut()

    def _widen(self) -> None:
        """Make room for the documents; and for more, so that this is seldom needed."""
        table, size = self.tables["kept"], len(self)
        if table.shape[1] < size:
            wide = max(size, table.shape[1] * 3 // 2)
            self.tables["kept"] = table.scatter(1, np.arange(table.shape[1]), wide)

    def _cut(self) -> None:
        """Keep as many of the smallest hashes as there is room for."""
        if len(self) <= KEPT and self.size <= ROOM:
            return
        hashes = np.array(self.hashes, np.uint64)
        order = np.argsort(hashes, kind="stable")
        lengths = np.array([*map(len, self.places)])[order]
        fitting = int(np.searchsorted(np.cumsum(lengths), ROOM, "right"))
        self._below(int(hashes[order[min(KEPT, fitting)]]))

    def _below(self, threshold: int) -> None:
        """Keep the documents whose hash is below a threshold."""
        self.threshold = threshold
        self._take(np.flatnonzero(np.array(self.hashes, np.uint64) < np.uint64(threshold)))

    def _take(self, columns: npt.NDArray[np.integer]) -> None:
        """Keep some of the documents, in this order."""
        texts = [*self.places]
        self.places = {texts[k]: place for place, k in enumerate(columns.tolist())}
        self.size = sum(map(len, self.places))
        self.hashes = [self.hashes[k] for k in columns.tolist()]
        self.tables["kept"] = self.tables["kept"].gather(1, columns)

    def canonical(self) -> Self:
        """The same documents in the order of their hashes, without those of weight 0."""
        new = self.copy()
        texts, met = [*new.places], np.any(new.tables["kept"].nonzero(), axis=0)
        kept = np.flatnonzero(met).tolist()
        new._take(np.array(sorted(kept, key=lambda k: (new.hashes[k], texts[k])), np.int64))
        new.tables["kept"] = new.tables["kept"].trimmed()
        return new

    def _with(self, tables: dict[str, ExactArray], **others: Any) -> Self:
        own = {"places": dict(self.places), "hashes": list(self.hashes)}
        return super()._with(tables, **own | others)  # copies, as `accumulate` changes them

    # ---- what they say -----------------------------------------------------------------------

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no documents can be these: each that was met is one of them."""
        kept = self.tables["kept"]
        if kept.any_negative():
            return FORGOTTEN
        if (class_weight - kept.summed(1)).below_zero(class_weight):
            return NOT_LEARNED
        return None

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """The shape of the table, for so many classes."""
        return {"kept": (n_classes, len(self))}

    def arrays(self) -> Arrays:
        """The documents one after the other, their lengths, and the threshold."""
        own = self.documents
        return {
            "texts": own.data,
            "text_lengths": np.diff(own.offsets),
            "threshold": np.array([self.threshold], "<u8"),
        }

    @classmethod
    def read(cls, kept: ExactArray, arrays: Arrays) -> Self:
        """What a file holds. Raises ValueError if it cannot be true, saying why."""
        names = ("texts", "text_lengths", "threshold")
        if missing := [name for name in names if name not in arrays]:
            raise ValueError(f"it has no tensor of {missing[0]}")
        data, lengths, threshold = (arrays[name] for name in names)
        if data.dtype != np.uint8 or data.ndim != 1 or lengths.dtype != np.int64:
            raise ValueError("its documents are no text")
        if lengths.shape != kept.shape[1:] or (lengths < 0).any() or (lengths > LONGEST).any():
            raise ValueError("its documents do not belong to their weights")
        if len(lengths) > KEPT or lengths.sum() != len(data) or len(data) > ROOM:
            raise ValueError("the lengths of its documents do not add up")
        if threshold.dtype != np.uint64 or threshold.shape != (1,):
            raise ValueError("its threshold is no number")
        documents = Documents(data, np.append(0, np.cumsum(lengths)))
        hashes = hashes_of(documents)
        if (hashes >= threshold[0]).any() and int(threshold[0]) != ALL:
            raise ValueError("a document is beyond its threshold")
        offsets = documents.offsets.tolist()
        texts = [data[a:b].tobytes() for a, b in pairwise(offsets)]
        found = cls(kept, texts, hashes.tolist(), int(threshold[0]))
        if len(found.places) < len(texts):
            raise ValueError("a document is there twice")
        return found

    def _agrees(self, other: Self) -> bool:
        return self.threshold == other.threshold and [*self.places] == [*other.places]


def hashes_of(X: Documents) -> UInt64:
    """A hash of each document, by its bytes alone."""
    out = np.empty(len(X), np.uint64)
    kernel.hash_documents(X.data, X.offsets, out)
    return out


def _threshold(hashes: UInt64) -> int:
    """The hash below which so many different ones are as are kept."""
    different = np.unique(hashes)
    return ALL if len(different) <= KEPT else int(different[KEPT])


def _documents(texts: list[bytes]) -> Documents:
    data = np.frombuffer(b"".join(texts), np.uint8)
    return Documents(data, np.append(0, np.cumsum([*map(len, texts)], dtype=np.int64)))
