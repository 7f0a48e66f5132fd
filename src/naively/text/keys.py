"""Keys of documents: equal for documents of the same terms, whatever their bytes are."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively.exact import Int64
from naively.hashing import GOLDEN, UInt64, mixed
from naively.text.vocabulary import Vocabulary

BITS = 40
"""Bits of the number of a term: sums of 8,192 of them are exact in 64-bit floating point, too."""


def term_numbers(vocabulary: Vocabulary | None, buckets: int = 0) -> Int64:
    """A number below 2^40 for each term, (V,), by its bytes alone; or for each bucket of terms."""
    if vocabulary is None:
        return _short(mixed(np.arange(1, buckets + 1, dtype=np.uint64) * np.uint64(GOLDEN)))
    data, lengths = vocabulary.packed()
    if not len(lengths):
        return np.empty(0, np.int64)
    starts = np.cumsum(lengths) - lengths
    place = (np.arange(len(data)) - np.repeat(starts, lengths)).astype(np.uint64)
    each = mixed((place << np.uint64(8)) + data + np.uint64(GOLDEN))
    sums = np.append(np.uint64(0), np.cumsum(each, dtype=np.uint64))  # modulo 2^64
    ends = starts + lengths
    return _short(mixed(sums[ends] - sums[starts]))


def document_keys(numbers: Int64, data: Any, indices: Any, indptr: Any) -> Int64:
    """Σ x_t times the number of term t, (n,), of CSR rows; of none of them, 0.

    `data` is what terms count, whole numbers; None for 1 of each term of merged rows.
    """
    each = numbers[indices]
    if data is not None:
        each = each * np.asarray(data).astype(np.int64)
    sums = np.append(0, np.cumsum(each))  # modulo 2^64
    return sums[indptr[1:]] - sums[indptr[:-1]]


def _short(numbers: UInt64) -> Int64:
    return (numbers >> np.uint64(64 - BITS)).astype(np.int64)
