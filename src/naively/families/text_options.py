"""What the options of a family of documents can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from naively.statistics.terms import Reference

MOST_BUCKETS = 1 << 30


def check_options(own: Any) -> None:
    """Raise ValueError for options of a `Text` that cannot be, saying why."""
    _among("event", own.event, "multinomial", "complement", "bernoulli", "binary")
    _among("weighting", own.weighting, None, "log", "tfidf", "log-tfidf")
    _among("length_norm", own.length_norm, None, "l1", "l2")
    if own.event == "bernoulli" and (own.weighting or own.length_norm):
        raise ValueError(
            'weighting and length_norm change counts, which event="bernoulli" has not: use "binary"'
        )
    if own.norm and own.event != "complement":
        raise ValueError('norm is for event="complement" only')
    named = own.alpha if isinstance(own.alpha, Mapping) else {"": own.alpha}
    if "" in named and np.ndim(named[""]) > 0:
        raise ValueError("alpha must be one number, or a dict by term")
    for name in ("min_df", "max_df"):
        value = getattr(own, name)
        part = isinstance(value, float) and 0.0 <= value <= 1.0
        if not part and not (_is_count(value) and value >= 1):
            raise ValueError(
                f"{name} must be a number of documents, as an int, or a part of them, as a "
                f"float from 0 to 1, not {value!r}"
            )
    for name in ("max_features", "max_terms"):
        value = getattr(own, name)
        if value is not None and not (_is_count(value) and value >= 1):
            raise ValueError(f"{name} must be an integer of at least 1, or None, not {value!r}")
    dropped = own.drop_most_frequent
    if not (_is_count(dropped) and dropped >= 0):
        raise ValueError(f"drop_most_frequent must be a number of terms, not {dropped!r}")
    if own.n_features is not None:
        size = own.n_features
        if not (_is_count(size) and 2 <= size <= MOST_BUCKETS and size & (size - 1) == 0):
            raise ValueError(f"n_features must be a power of two up to 2**30, not {size!r}")
        if own.selects or own.max_terms is not None:
            raise ValueError(
                "with n_features terms are hashed, and cannot be left out by min_df, max_df, "
                "drop_most_frequent, max_features or max_terms"
            )
        if own.weighting in ("tfidf", "log-tfidf"):
            raise ValueError("with n_features terms are hashed: weighting must be None or log")
    if not isinstance(own.reference, Reference | None):
        raise ValueError(f"reference must be a Reference or None, not {own.reference!r}")
    if own.n_features is not None and named is own.alpha:
        raise ValueError("with n_features terms are hashed, and alpha cannot name them")
    for term, one in named.items():
        if not isinstance(term, str):
            raise ValueError(f"alpha names {term!r}, which is no term")
        if term and np.ndim(one) > 0:
            raise ValueError(f"alpha of the term {term!r} must be one number, not {one!r}")
        try:
            own._inner(one)
        except ValueError as error:
            raise ValueError(f"{error}, for {term!r}" if term else str(error)) from None


def _among(name: str, value: Any, *known: Any) -> None:
    if not (value is None or isinstance(value, str)) or value not in known:
        names = ", ".join(repr(one) for one in known)
        raise ValueError(f"{name} must be one of {names}, not {value!r}")


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
