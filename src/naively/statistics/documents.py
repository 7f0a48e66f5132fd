"""Store a bounded sample of documents, which can be added and subtracted.

Beyond a limit, the probability of a distinct document to be in the sample is proportional to its
weight: see `naively.statistics.sample`. Frequent documents are always included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.hashing import UInt64
from naively.core.workers import Workers
from naively.kernels import text as kernel
from naively.statistics.base import FORGOTTEN, NOT_LEARNED, Arrays, Batch, Statistics
from naively.statistics.levels import Encoded, count_levels
from naively.statistics.sample import ALL, below, priorities, stands_for
from naively.text.documents import Documents

KEPT = 20_000  # largest number of distinct documents in the sample
ROOM = 1 << 25  # largest total size of the documents in the sample, in bytes
LONGEST = 1 << 18  # largest size of a document in the sample, in bytes
NEW = -1  # column of a document that is not in the sample


class DocumentSample(Statistics):
    """Distinct documents whose hash is below a threshold times their weight, with their weights.

    The sample does not depend on the order and split of the training data, except for documents
    that were dropped while their weight was small, and recur. The threshold falls as documents are
    added, and only `scaled` raises it. The weight of a document is its largest weight in a class;
    with labels, where class 0 is all documents, that is its total weight.

    tables : ``kept`` (C, W), the weight of each document by class; W may include spare columns.
    texts : the documents, in the order of their columns; those of a batch are decoded lazily.
    threshold : documents with a hash of this times their weight, or more, are dropped.
    """

    sized_by = "kept"

    def __init__(
        self, kept: ExactArray, texts: Sequence[bytes], hashes: UInt64, lengths: Int64,
        threshold: float = ALL,
    ) -> None:  # fmt: skip
        super().__init__({"kept": kept})
        self.texts, self.hashes, self.lengths = texts, hashes, lengths
        self.threshold = threshold

    @classmethod
    def empty(cls, n_classes: int) -> Self:
        """Return a sample of no documents."""
        none = np.empty(0, np.uint64), np.empty(0, np.int64)
        return cls(ExactArray.zeros((n_classes, 0)), [], *none)

    @classmethod
    def of(cls, X: Documents, batch: Batch, workers: Workers) -> Self:
        """Return a sample of the documents of a batch."""
        hashes, lengths = hashes_of(X), np.diff(X.offsets)
        fit = lengths <= LONGEST
        if X.valid is not None:
            fit &= X.valid
        rows, threshold = np.flatnonzero(fit), ALL
        distinct, kinds = np.unique(hashes[rows], return_inverse=True)
        if len(distinct) > KEPT:  # select by hash first, so that few texts become Python objects
            weight = _count(kinds, len(distinct), batch.some(rows), workers).rounded().max(axis=0)
            priority = priorities(distinct, weight)
            threshold = float(np.partition(priority, KEPT)[KEPT])
            rows = rows[(priority < threshold)[kinds]]
        kinds, first_rows = _different(Unread(X, rows), hashes[rows])
        count = _count(kinds, len(first_rows), batch.some(rows), workers)
        rows = rows[first_rows]
        # copied, since the batch may change or be freed
        own_texts = Unread(X[rows], np.arange(len(rows)))
        sample = cls(count, own_texts, hashes[rows], lengths[rows])
        sample._below(threshold)
        sample._cut(KEPT, ROOM)
        return sample

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def is_complete(self) -> bool:
        """Whether the sample has every document that is not too long."""
        return self.threshold == ALL

    @property
    def documents(self) -> Documents:
        """The documents, in the order of their columns."""
        ends = np.append(0, np.cumsum(self.lengths))
        return Documents(np.frombuffer(b"".join(self.texts), np.uint8), ends)

    @property
    def nbytes(self) -> int:
        """The memory of the documents and their weights, in bytes."""
        return super().nbytes + int(self.lengths.sum())

    @property
    def _weight(self) -> Float64:
        """The weight that decides on inclusion, (n,)."""
        weight: Float64 = self.counts.max(axis=0, initial=0.0)
        return weight

    @property
    def counts(self) -> Float64:
        """The weight of each document by class, (C, n)."""
        weights: Float64 = self.tables["kept"].rounded()[:, : len(self)]
        return weights

    @property
    def stands(self) -> Float64:
        """How many times its weight each document represents, (n,): 1 for sure inclusion."""
        return stands_for(self._weight, self.threshold)

    def smaller(self, most: int, room: int) -> tuple[Self, Int64]:
        """Return (a sample of at most `most` of the documents and `room` bytes; their columns)."""
        sample = self.copy()
        sample.texts = range(len(self))  # type: ignore[assignment]
        sample._cut(most, room)
        columns = np.array(sample.texts, np.int64)
        sample.texts = [self.texts[k] for k in columns.tolist()]
        return sample, columns

    # ---- the algebra -------------------------------------------------------------------------

    def accumulate(self, other: Self, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) the documents of another sample."""
        threshold = min(self.threshold, other.threshold)
        in_sample = np.isin(other.hashes, self.hashes) | (threshold == ALL)
        positions = np.flatnonzero(in_sample | below(other.hashes, other._weight, threshold))
        if len(positions):
            texts = [other.texts[k] for k in positions.tolist()]
            columns = self._columns(texts, other.hashes[positions])
            added = np.flatnonzero(columns == NEW)
            columns[added] = np.arange(len(self), len(self) + len(added))
            self.texts = [*self.texts, *(texts[k] for k in added.tolist())]
            self.hashes = np.append(self.hashes, other.hashes[positions[added]])
            self.lengths = np.append(self.lengths, other.lengths[positions[added]])
            self._widen()
            count = other.tables["kept"].gather(1, positions)
            self.tables["kept"] = self.tables["kept"].accumulate(count, classes, columns, sign)
        self._below(threshold)
        self._cut(KEPT, ROOM)

    def scaled(self, gamma: float) -> Self:
        """Return the sample times gamma; the threshold rises by 1 / gamma, to include the same."""
        sample = super().scaled(gamma)
        sample._below(self.threshold / gamma if gamma > 0 else ALL)
        return sample

    def _columns(self, texts: list[bytes], hashes: UInt64) -> Int64:
        """Return the columns of documents, or `NEW`."""
        order = np.argsort(self.hashes, kind="stable")
        ordered = self.hashes[order]
        starts, ends = np.searchsorted(ordered, hashes), np.searchsorted(ordered, hashes, "right")
        columns = np.full(len(texts), NEW)
        for k in np.flatnonzero(starts < ends).tolist():
            candidates = order[starts[k] : ends[k]].tolist()  # more than one only if hashes collide
            columns[k] = next((c for c in candidates if self.texts[c] == texts[k]), NEW)
        return columns

    def _widen(self) -> None:
        """Make room for the documents, with spare columns, so that this is rarely needed."""
        table, size = self.tables["kept"], len(self)
        if table.shape[1] < size:
            wide = max(size, table.shape[1] * 3 // 2)
            self.tables["kept"] = table.scatter(1, np.arange(table.shape[1]), wide)

    def _cut(self, most: int, room: int) -> None:
        """Lower the threshold until at most `most` documents of `room` bytes remain."""
        if len(self) <= most and self.lengths.sum() <= room:
            return
        priority = priorities(self.hashes, self._weight)
        order = np.argsort(priority, kind="stable")
        fitting = int(np.searchsorted(np.cumsum(self.lengths[order]), room, "right"))
        self._below(float(priority[order[min(most, fitting)]]))

    def _below(self, threshold: float) -> None:
        """Drop the documents whose hash is not below a threshold times their weight.

        In a sample, documents that would have a negative weight after a subtraction are dropped.
        """
        self.threshold = threshold
        if threshold != ALL:
            included = below(self.hashes, self._weight, threshold) & ~(self.counts < 0).any(axis=0)
            if not included.all():
                self._take(np.flatnonzero(included))

    def _take(self, columns: npt.NDArray[np.integer]) -> None:
        """Select some of the documents, in this order."""
        self.texts = [self.texts[k] for k in columns.tolist()]
        self.hashes, self.lengths = self.hashes[columns], self.lengths[columns]
        self.tables["kept"] = self.tables["kept"].gather(1, columns)

    def canonical(self) -> Self:
        """Return the documents in the order of their hashes, without those of weight 0."""
        sample = self.copy()
        order = np.flatnonzero(np.any(sample.tables["kept"].nonzero(), axis=0))
        order = order[np.argsort(sample.hashes[order], kind="stable")]
        if (np.diff(sample.hashes[order]) == 0).any():
            by_text = sorted(order.tolist(), key=lambda k: (sample.hashes[k], sample.texts[k]))
            order = np.array(by_text)
        sample._take(order)
        sample.tables["kept"] = sample.tables["kept"].trimmed()
        return sample

    # ---- what they say -----------------------------------------------------------------------

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Return why no documents can give this sample, or None if some can."""
        counts = self.tables["kept"]
        if counts.any_negative():
            return FORGOTTEN
        if (class_weight - counts.summed(1)).below_zero(class_weight):
            return NOT_LEARNED
        return None

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of the table, for this number of classes."""
        return {"kept": (n_classes, len(self))}

    def arrays(self) -> Arrays:
        """Return the concatenated documents, their lengths, and the threshold."""
        threshold = np.array([self.threshold], "<f8")
        data = self.documents.data
        return {"texts": data, "text_lengths": self.lengths, "threshold": threshold}

    @classmethod
    def read(cls, kept: ExactArray, arrays: Arrays) -> Self:
        """Return the sample stored in a file; ValueError if it is inconsistent, saying why."""
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
        if threshold.dtype != np.float64 or threshold.shape != (1,) or not threshold[0] > 0:
            raise ValueError("its threshold is no number")
        documents = Documents(data, np.append(0, np.cumsum(lengths)))
        hashes = hashes_of(documents)
        texts = [*Unread(documents, np.arange(len(documents)))]
        if len({*texts}) < len(texts):
            raise ValueError("a document is there twice")
        sample = cls(kept, texts, hashes, lengths, float(threshold[0]))
        if not sample.is_complete and not below(hashes, sample._weight, sample.threshold).all():
            raise ValueError("a document is beyond its threshold")
        return sample

    def _agrees(self, other: Self) -> bool:
        return self.threshold == other.threshold and [*self.texts] == [*other.texts]


class Unread(Sequence[bytes]):
    """Some documents of a column, converted to bytes objects on access."""

    def __init__(self, X: Documents, rows: Int64) -> None:
        self.X = X
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, k: Any) -> Any:  # slices are not needed
        i = self.rows[k]
        return self.X.data[self.X.offsets[i] : self.X.offsets[i + 1]].tobytes()


def hashes_of(X: Documents) -> UInt64:
    """Return a 64-bit hash of the bytes of each document."""
    hashes = np.empty(len(X), np.uint64)
    kernel.hash_documents(X.data, X.offsets, hashes)
    return hashes


def _count(kinds: Int64, size: int, batch: Batch, workers: Workers) -> ExactArray:
    """Return the weights (C, size) of the documents of each kind."""
    levels = Encoded(batch.of_rows(kinds.astype(np.int32)).reshape(-1, 1), [np.arange(size)])
    return count_levels(levels, batch, workers).tables["count"]


def _different(texts: Sequence[bytes], hashes: UInt64) -> tuple[Int64, Int64]:
    """Return (the number of each document among the distinct ones, their first positions)."""
    _, first_rows, kinds = np.unique(hashes, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first_rows[kinds] != np.arange(len(kinds))).tolist()
    if any(texts[k] != texts[first_rows[kinds[k]]] for k in repeated):  # hash collision
        places: dict[bytes, int] = {}
        kinds = np.array([places.setdefault(text, len(places)) for text in texts])
        first_rows = np.unique(kinds, return_index=True)[1]
    return kinds.astype(np.int32), first_rows
