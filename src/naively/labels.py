"""Labels of classes: their codes, and their union."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from naively.exact import Int64
from naively.kernels import labels as kernel

Labels = npt.NDArray[Any]
T = TypeVar("T")
Coded = tuple[Labels, Int64]
"""(sorted distinct labels, position of each row's label among them)."""

SPAN = 1 << 20  # span of integer labels up to which they are coded by a table
_KINDS = {"b": "truth", "i": "number", "u": "number", "f": "number"}


def encode_labels(y: Labels) -> Coded:
    """(sorted distinct labels, position of each label among them)."""
    if y.dtype.kind in "iu" and y.dtype != np.uint64 and y.size > 10_000:
        y = np.ascontiguousarray(y)
        low, high = kernel.integer_range(y)
        if high - low < SPAN:
            present = np.zeros(high - low + 1, np.int64)
            codes = np.empty(y.size, np.int64)
            kernel.integer_codes(y, low, present, codes)
            return (np.flatnonzero(present) + low).astype(y.dtype), codes
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError:
        raise _mixed(y) from None
    return classes, codes.astype(np.int64, copy=False)


def narrow(labels: Labels) -> Labels:
    """Labels whose text is no wider than the longest one."""
    return np.array(labels.tolist(), str) if labels.dtype.kind == "U" else labels


def by_label(given: Mapping[Any, T], classes: Labels) -> dict[Any, T]:
    """What a dict says by label; text may stand for numbers, as in JSON and on the command line."""
    named = {as_text(label): label for label in classes.tolist()}
    return {named.get(as_text(label), label): value for label, value in given.items()}


def as_text(label: Any) -> str:
    """A label as text: 1 and 1.0 are the same one."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return str(label).lower() if isinstance(label, bool | np.bool_) else str(label)


def mixes_text(labels: Iterable[Any]) -> bool:
    """Whether there is text among labels of other kinds."""
    return len({isinstance(label, str) for label in labels}) > 1


def check_kinds(y: Labels) -> None:
    """Raise ValueError if there is text among labels of other kinds."""
    if y.dtype.kind == "O" and mixes_text(y.tolist()):
        raise _mixed(y)


def _mixed(y: Labels) -> ValueError:
    kinds = sorted({type(label).__name__ for label in y.tolist()})
    return ValueError(f"y mixes labels that cannot be compared: {', '.join(kinds)}")


def check_whole(labels: Labels, called: str = "y") -> None:
    """Raise ValueError for numbers with a fraction: they measure something, and are no classes."""
    if labels.dtype.kind != "f":
        return
    odd = labels[~(np.isfinite(labels) & (labels == np.floor(labels)))]
    if len(odd):
        raise ValueError(
            f"Unknown label type: continuous. {called} holds {odd[0]}, where classes are text, "
            "whole numbers or truth values; cut it into ranges first, or write v2.1 for 2.1 if "
            "these are names"
        )


def check_ends(labels: Iterable[Any]) -> None:
    """Raise ValueError for text that ends in NUL, which NumPy's arrays of text would drop."""
    for label in labels:
        if isinstance(label, str | bytes) and label[-1:] in ("\0", b"\0"):
            raise ValueError(
                f"the label {label!r} ends in a NUL character, which arrays of text drop: take it "
                "away, as it would be the class without it"
            )


def merge_labels(a: Labels, b: Labels) -> Labels:
    """The sorted union of two sorted sets of labels.

    Raises
    ------
    ValueError : if they are of different kinds: text and numbers would not sort.
    """
    if len(a) == 0:
        return b
    if len(b) == 0:
        return a
    if a.dtype == b.dtype:
        found = np.minimum(np.searchsorted(a, b), len(a) - 1)
        if (a[found] == b).all():  # nothing new
            return a
    kinds = {_KINDS.get(labels.dtype.kind, "text") for labels in (a, b)}
    exact = all(np.abs(labels).max() <= 2**53 for labels in (a, b) if labels.dtype.kind in "iu")
    if len(kinds) > 1 or (np.result_type(a, b).kind == "f" and not exact):
        raise ValueError(
            f"labels of different kinds: {a[:3].tolist()} and {b[:3].tolist()} cannot be classes "
            "of one model"
        )
    if "text" in kinds and a.dtype.kind != b.dtype.kind:
        a, b = a.astype(object), b.astype(object)
    return np.union1d(a, b)
