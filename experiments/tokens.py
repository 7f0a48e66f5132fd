"""Terms and counts of all texts there are, beside scikit-learn's `CountVectorizer`.

    NAIVELY_DATA=folder python experiments/tokens.py

For each set and each way to cut it: the terms in their order, how often each is met in the
documents of each class, and the row of each document, which must be equal in every entry. What
differs is printed, and the exit code is 1 then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from data import Texts, arguments, bundled_texts, read, show, there
from sklearn.feature_extraction.text import CountVectorizer

from naively import TextNB
from naively.core.workers import workers
from naively.text.documents import Documents

WAYS: dict[str, dict[str, Any]] = {
    "words": {},
    "words of one letter too": {"token_pattern": r"(?u)\b\w+\b"},
    "case kept": {"lowercase": False},
    "words and pairs": {"ngram_range": (1, 2)},
    "characters of words": {"analyzer": "char_wb", "ngram_range": (3, 3)},
}


def differences(these: Texts, options: dict[str, Any]) -> tuple[list[str], int, int]:
    """(what differs, number of terms, how often they are met)."""
    words = CountVectorizer(**options)
    rows = words.fit_transform(these.texts)
    model = TextNB(weights=None, **options).fit(these.texts, these.labels)
    own = model.model_.posterior().parameters.matrix(Documents.of(these.texts), workers(None))
    found = []
    terms = words.get_feature_names_out()
    if model.terms_.tolist() != terms.tolist():
        found.append(f"terms: {len(model.terms_)} and {len(terms)}")
    else:
        for c, label in enumerate(model.classes_):
            theirs = rows[np.flatnonzero(these.labels == label)].sum(axis=0)
            if not np.array_equal(model.feature_count_[c], np.ravel(theirs)):
                found.append(f"counts of class {label}")
        rows.sort_indices()
        pairs = (own.indptr, rows.indptr), (own.indices, rows.indices), (own.data, rows.data)
        if not all(np.array_equal(mine, theirs) for mine, theirs in pairs):
            found.append("rows of documents")
    return found, len(terms), int(rows.sum())


def main() -> None:
    given = arguments(__doc__, "the descriptions of scikit-learn's data sets")
    results, failed = [], False
    for name in ["descriptions"] if given.small else there(given.data):
        these = bundled_texts() if given.small else read(given.data, name)
        size = sum(len(text.encode()) for text in these.texts) / 1e6
        for way, options in WAYS.items():
            found, terms, met = differences(these, options)
            failed |= bool(found)
            verdict = "; ".join(found) or "equal"
            results.append([name, f"{size:.1f}", way, f"{terms:,}", f"{met:,}", verdict])
    columns = ["set", "MB", "terms are", "terms", "met", "verdict"]
    show("Terms and counts beside CountVectorizer", columns, results)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
