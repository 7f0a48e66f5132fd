"""Encode, merge and check class labels, and sets of labels for multilabel rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain, pairwise
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from naively.core.exact import Int64
from naively.kernels import tables as kernel

Labels = npt.NDArray[Any]
Label = str | float | np.generic  # one class label
T = TypeVar("T")
Coded = tuple[Labels, Int64]  # (sorted distinct labels, position of each row's label among them)

SPAN = 1 << 20  # range of integer labels up to which a lookup table encodes them
_KINDS = {"b": "truth", "i": "number", "u": "number", "f": "number"}


def encode_labels(y: Labels) -> Coded:
    """Return (sorted distinct labels, position of each label among them)."""
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
    """Shorten the item size of text labels to that of the longest one."""
    return np.array(labels.tolist(), str) if labels.dtype.kind == "U" else labels


def by_label(values: Mapping[Any, T], classes: Labels) -> dict[Any, T]:
    """Match the keys of a dict to labels; text matches numbers, as in JSON or on a command line."""
    labels = {as_text(label): label for label in classes.tolist()}
    return {labels.get(as_text(label), label): value for label, value in values.items()}


def as_text(label: Label) -> str:
    """Return a label as text; 1 and 1.0 give the same."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return str(label).lower() if isinstance(label, bool | np.bool_) else str(label)


def mixes_text(labels: Iterable[Label]) -> bool:
    """Return whether text is mixed with labels of other types."""
    return len({isinstance(label, str) for label in labels}) > 1


def check_kinds(y: Labels) -> None:
    """Raise ValueError if text is mixed with labels of other types."""
    if y.dtype.kind == "O" and mixes_text(y.tolist()):
        raise _mixed(y)


def _mixed(y: Labels) -> ValueError:
    kinds = sorted({type(label).__name__ for label in y.tolist()})
    return ValueError(f"y mixes labels that cannot be compared: {', '.join(kinds)}")


def check_whole(labels: Labels, called: str = "y") -> None:
    """Raise ValueError for numbers with a fraction, which are measurements rather than classes."""
    if labels.dtype.kind != "f":
        return
    floats = labels[~(np.isfinite(labels) & (labels == np.floor(labels)))]
    if len(floats):
        raise ValueError(
            f"Unknown label type: continuous: {called} holds {floats[0]}, but classes are text, "
            "whole numbers or truth values. Cut measurements into ranges first; write names as "
            "text, such as v2.1 for 2.1"
        )


def check_ends(labels: Iterable[Label]) -> None:
    """Raise ValueError for text that ends in NUL, which NumPy's text arrays would drop."""
    for label in labels:
        if isinstance(label, str | bytes) and label[-1:] in ("\0", b"\0"):
            raise ValueError(
                f"the label {label!r} ends in a NUL character, which arrays of text drop: take it "
                "away, as it would be the class without it"
            )


def merge_labels(a: Labels, b: Labels) -> Labels:
    """Return the sorted union of two sorted sets of labels.

    Raises ValueError if their types differ: text and numbers cannot be sorted together.
    """
    if len(a) == 0:
        return b
    if len(b) == 0:
        return a
    if a.dtype == b.dtype:
        places = np.minimum(np.searchsorted(a, b), len(a) - 1)
        if (a[places] == b).all():  # no new labels
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


# ---- label sets ----------------------------------------------------------------------------------


LEAST, MOST = -(2**63) + 1, 2**63 - 1
"""The range of numeric labels; the number below is the class of all rows."""


class LabelSets(NamedTuple):
    """The labels of rows, any number per row.

    labels : (L,) distinct labels, sorted.
    codes : (m,) positions of the labels, row after row; sorted and distinct within a row.
    starts : (n + 1,) start of each row in `codes`, and the end of the last.
    """

    labels: Labels
    codes: Int64
    starts: Int64

    def __len__(self) -> int:
        return len(self.starts) - 1

    def some(self, rows: Int64) -> LabelSets:
        """Return the label sets of some rows; `labels` stays complete."""
        sizes = np.diff(self.starts)[rows]
        starts = np.append(0, np.cumsum(sizes))
        positions = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], sizes)
        return LabelSets(self.labels, self.codes[positions], starts)

    def indicator(self) -> npt.NDArray[np.bool_]:
        """Return (n, L), whether each row has each label."""
        matrix = np.zeros((len(self.starts) - 1, len(self.labels)), bool)
        matrix[np.repeat(np.arange(len(matrix)), np.diff(self.starts)), self.codes] = True
        return matrix

    def lists(self) -> list[list[Any]]:
        """Return the labels of each row as lists."""
        labels, ends = self.labels[self.codes].tolist(), self.starts.tolist()
        return [labels[a:b] for a, b in pairwise(ends)]

    @classmethod
    def of_indicator(cls, labels: Labels, indicator: npt.NDArray[np.bool_]) -> LabelSets:
        """Return the label sets of an indicator matrix, (n, L)."""
        starts = np.append(0, np.cumsum(indicator.sum(axis=1)))
        return cls(labels, np.nonzero(indicator)[1], starts)

    @classmethod
    def of_lists(cls, rows: Iterable[Collection[Label]], called: str = "row") -> Self:
        """Return the label sets of lists; repeated labels count once, empty text is ignored.

        Raises ValueError, which names the row with an invalid label.

        rows : the labels of each row, text or whole numbers.
        """
        kinds: dict[type, int] = {}
        label_sets: list[set[Any]] = []
        for row, row_labels in enumerate(rows):
            label_sets.append(set())
            for value in row_labels:
                label = _label(value, f"{called} {row}")
                if label != "":
                    kinds.setdefault(type(label), row)
                    label_sets[-1].add(label)
        if len(kinds) > 1:
            raise ValueError(
                f"{called} {kinds[str]} has labels that are text, {called} {kinds[int]} numbers: "
                "let all be the same"
            )
        distinct = set[Any]().union(*label_sets)
        labels = np.array(sorted(distinct), np.int64 if int in kinds else str)
        place = {label: k for k, label in enumerate(labels.tolist())}
        codes = [sorted(place[value] for value in row_labels) for row_labels in label_sets]
        starts = np.cumsum([0, *map(len, codes)], dtype=np.int64)
        return cls(labels, np.array([*chain.from_iterable(codes)], np.int64), starts)


def _label(label: Any, where: str) -> str | int:
    """Return a label as text or int; ValueError if it is neither."""
    if isinstance(label, str):
        if "\0" in label:
            raise ValueError(f"{where} has the label {label!r}: text with NUL can be no label")
        return str(label)
    if isinstance(label, bool | np.bool_):
        raise ValueError(
            f"{where} has the truth value {label} among its labels, which are text or whole "
            "numbers; an indicator matrix has a column for each label"
        )
    is_float = isinstance(label, float | np.floating)
    number = int(label) if is_float and float(label).is_integer() else label
    if not isinstance(number, int | np.integer):
        missing = label is None or (is_float and np.isnan(label))
        description = "a missing label" if missing else f"the label {label!r}"
        raise ValueError(f"{where} has {description}: labels are text or whole numbers")
    if not LEAST <= int(number) <= MOST:
        raise ValueError(f"{where} has the label {label!r}, a number beyond 64 bits")
    return int(number)
