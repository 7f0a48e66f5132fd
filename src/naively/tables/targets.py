"""The labels of a table's target column: what they are, and of which type."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from naively.exact import Int64
from naively.labels import Labels, check_ends
from naively.numerals import NUMBER, WHOLE
from naively.tables import values
from naively.tables.frames import to_array

CONTAINERS = (list, tuple, dict, set, np.ndarray)
LabelCodes = tuple[Labels, Any]
"""(sorted classes, code of each row, the number of classes where its label is missing)."""


def label_column(y: Any) -> pa.Array:
    """Labels as people hold them, as an Arrow array.

    Raises ValueError if they are no plain values.
    """
    known = hasattr(y, "dtype") or isinstance(y, list | pa.Array | pa.ChunkedArray)
    column = values.flat(to_array(y if known else np.asarray(y)))
    nested = pa.types.is_nested(column.type) and not pa.types.is_dictionary(column.type)
    if nested or any(isinstance(one, CONTAINERS) for one in (y if isinstance(y, list) else ())):
        raise ValueError("the labels y must be text, numbers or truth values, not lists of them")
    return column


def coded(column: pa.Array, missing: Collection[str], like: Labels | None = None) -> LabelCodes:
    """(sorted class labels; code of each row, or their number if the label is missing).

    Labels stay as they are: text is not made shorter, nor taken for numbers.

    Parameters
    ----------
    column : as `naively.tables.values.flat` makes it.
    missing : spellings of a missing value; null, NaN and empty text are missing anyway.
    like : labels of a model. Where they are numbers or truth values, text that reads as such is.

    Raises
    ------
    ValueError : if the labels of the model are numbers or truth values, and one here is none.
    """
    places, known = values.encoded(column)
    labels = known.to_pylist()
    types, kind = pa.types, known.type
    plain = types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
    if not (plain or values.is_text(kind)):
        at, distinct = values.level_texts(known, ())  # b"1" and "1" may both be known
        labels = np.array([*distinct, None], object)[at].tolist()
    texts = [values.level_text(label, missing) for label in labels]
    present = [k for k, text in enumerate(texts) if text not in (None, "")]
    check_ends(labels)
    found: Labels = np.array([labels[k] for k in present])
    if like is not None and len(like) and len(found):
        found = typed_like(found, like)
    found, order = np.unique(found, return_inverse=True)
    remap = np.full(len(texts) + 1, len(found), np.int32)
    remap[present] = order
    return found, remap[places]


def spelled_missing(column: pa.Array, missing: Collection[str]) -> str:
    """A label that is text and means a missing value, such as None or NA; empty if there is none.

    Parameters
    ----------
    column : as `naively.tables.values.flat` makes it.
    """
    _, known = values.encoded(column)
    if not values.is_text(known.type):
        return ""
    spelled = {text.strip() for text in known.to_pylist() if text} & {*missing}
    return min(spelled - {""}, default="")


def are_text(labels: Labels) -> bool:
    """Whether labels are text rather than numbers or truth values."""
    return labels.dtype.kind in "OUT"


def typed_like(labels: Labels, like: Labels) -> Labels:
    """Labels as what those of a model are: text, numbers or truth values."""
    if are_text(like):
        return labels if are_text(labels) else as_text(labels)
    if not are_text(labels):
        return labels
    truths = like.dtype.kind == "b"
    for label in labels.tolist():
        text = label.strip()
        if not (text in values.TRUTH if truths else NUMBER.fullmatch(text)):
            kind = "true and false" if truths else "numbers"
            raise ValueError(f"the classes of the model are {kind}; {label!r} cannot be one more")
    return typed(labels)


def as_text(labels: Labels) -> Labels:
    """Labels as text."""
    return np.array([values.level_text(label, ()) for label in labels.tolist()], str)


def typed(labels: Labels) -> Labels:
    """Labels of a file of text as what all of them read as: whole numbers, numbers, truth values.

    Text stays text, and so do digits with leading zeros, and fractions of which two are one number
    (`_versions`). Two texts may read as the same label, as 1 and 1.0.
    """
    texts = [text.strip() for text in labels.tolist()]
    if all(WHOLE.fullmatch(text) for text in texts):
        numbers = [int(text) for text in texts]
        if all(-(2**63) <= number < 2**63 for number in numbers):
            return np.array(numbers, np.int64)
        return labels  # as numbers some might be the same
    if all(NUMBER.fullmatch(text) for text in texts):
        read = np.array([float(text) for text in texts])
        return labels if _versions(texts, read.tolist()) else read
    if all(text in values.TRUTH for text in texts):
        return np.array([values.TRUTH[text] == 1.0 for text in texts])
    return labels


def _versions(texts: Sequence[str], read: Sequence[float]) -> bool:
    """Whether fractions are names, as versions are: 2.1 and 2.10 are different ones.

    1.0 is the same label as 1.
    """
    named = {(text, value) for text, value in zip(texts, read, strict=True) if value % 1}
    return len({value for _, value in named}) < len({text for text, _ in named})


def positions(labels: Labels, classes: Labels) -> Int64:
    """The position among `classes` of each label, -1 if it is not there.

    Labels that a file has as text may be numbers in the model, and the other way round.
    """
    if (labels.dtype.kind in "OUT") == (classes.dtype.kind in "OUT"):
        known = {label: place for place, label in enumerate(classes.tolist())}
        return np.array([known.get(label, -1) for label in labels.tolist()], np.int64)
    known = {values.level_text(label, ()): place for place, label in enumerate(classes.tolist())}
    texts = [values.level_text(label, ()) for label in labels.tolist()]
    return np.array([known.get(text, -1) for text in texts], np.int64)
