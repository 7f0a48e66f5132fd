"""Keys of documents by all that is counted of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from naively.hashing import UInt64, mixed
from naively.statistics.term_counts import TermCounts
from naively.text.counting import rows_and_vocabulary
from naively.text.documents import Documents
from naively.text.keys import document_keys, term_numbers
from naively.workers import Workers


def keys_by_terms(models: Sequence[TermCounts], texts: Documents, workers: Workers) -> UInt64:
    """64 bits that stand for the terms of each document in all of some models, (n,).

    Documents whose terms are the same have equal ones, whatever else their bytes are.
    """
    keys = np.zeros(len(texts), np.uint64)
    for k, model in enumerate(models):
        rows, known = rows_and_vocabulary(texts, model.analysis, model.buckets, workers)
        numbers = term_numbers(None if model.buckets else known, model.buckets)
        data = None if model.once else rows.data
        own = document_keys(numbers, data, rows.indices, rows.indptr)
        keys = mixed(keys + own.astype(np.uint64) + np.uint64(k + 1))
    return keys
