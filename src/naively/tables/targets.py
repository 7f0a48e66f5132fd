"""The labels of a table's target column: what they are, and of which type."""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import pairwise
from token import STRING
from tokenize import TokenError, generate_tokens
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.core.exact import Float64, Int64
from naively.core.labels import Labels, LabelSets, check_ends
from naively.core.model import Model
from naively.core.numerals import NUMBER, WHOLE
from naively.io.frames import to_array
from naively.tables import values
from naively.tables.encoding import encode

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


# ---- relabelling ---------------------------------------------------------------------------------


def with_labels_alike(a: Model, b: Model) -> tuple[Model, Model]:
    """The models, both with text for labels if those of one are: a stream may turn to text."""
    empty = 0 in (len(a.classes), len(b.classes))
    if empty or are_text(a.classes) == are_text(b.classes):
        return a, b
    return _relabelled(a, as_text), _relabelled(b, as_text)


def with_typed_labels(model: Model) -> Model:
    """The model with labels that are what all of them read as: numbers, perhaps."""
    if model.untyped and len(model.classes):
        model = _relabelled(model, typed)
    return replace(model, untyped=False)


def _relabelled(model: Model, named: Callable[[Labels], Labels]) -> Model:
    """The model with other names for its labels; those that become equal are one class."""
    if len(model.classes) == 0 or (are_text(model.classes) and named is as_text):
        return model
    names = named(model.classes)
    total = replace(
        model.blank(model.counted), rows=model.rows, unlabelled=model.unlabelled,
        unread=dict(model.unread), skipped=model.skipped,
    )  # fmt: skip
    none = np.empty(0, np.int64)
    for k, own in enumerate(_distinct(names)):
        part = model.blank(model.counted)
        part.classes, part.class_weight = names[own], model.class_weight.gather(0, own)
        part.sums = model.sums.gather_classes(own)
        if k > 0:  # sums over all classes are in the first part
            part.sums = part.sums.copy()
            part.sums.accumulate(model.sums.gather_classes(none), none, sign=-1)
        total.absorb(part)
    if len(model.declared):
        total.declare_classes(named(model.declared))
    return total


def _distinct(labels: Labels) -> Iterator[Int64]:
    """Positions of the labels, sorted, in runs in which none is there twice."""
    order = np.argsort(labels, kind="stable")
    while len(order):
        first = np.append(True, labels[order][1:] != labels[order][:-1])
        yield order[first]
        order = order[~first]


# ---- label cells ---------------------------------------------------------------------------------


SEPARATORS = ("|", ";", ",")
"""What labels in text are parted by, if a cell has it: the first of these."""
USUAL = ";"
"""What labels are parted by where no cell says it."""


@dataclass(frozen=True)
class LabelCells:
    """How labels are written in cells.

    Cells are lists; text of a list or a set, as JSON, Python, NumPy or PostgreSQL write it, or of
    an object whose values are true and false; or text that a separator parts. Blanks about a label
    are none of it, and an empty cell is a row without labels. A cell of text that is spelled as a
    missing value does not say which labels the row has.

    Attributes
    ----------
    separator : of the labels in text.
    """

    separator: str = USUAL

    def read(
        self, batch: pa.Table, target: str, missing: Collection[str]
    ) -> tuple[LabelSets, npt.NDArray[np.bool_]]:
        """(the labels of each row of a batch, whether they are known).

        Raises
        ------
        ValueError : for a cell that is no list of labels.
        """
        if target not in batch.column_names:  # JSON lines may lack it: they have none
            column = pa.nulls(batch.num_rows, pa.string())
        else:
            column = batch.column(target)
        if isinstance(column, pa.ChunkedArray) and _is_list(column.type):
            column = column.combine_chunks()
        if _is_list(column.type):
            cells, places = column.to_pylist(), np.arange(len(column))
        else:
            places, known = values.encoded(values.flat(column))
            cells = known.to_pylist()
            cells.append(None)  # codes of missing values may be one more than the last
            places = np.where(places < 0, len(cells) - 1, places)
        spelled = frozenset(missing) - {""}
        read = [_unknown if _says_nothing(one, spelled) else self._labels(one) for one in cells]
        sets = LabelSets.of_lists([[] if own is _unknown else own for own in read], "a cell")
        told = np.array([own is not _unknown for own in read], bool)
        return sets.some(places.astype(np.int64)), told[places]

    def summarised(
        self, blank: Model, batch: pa.Table, missing: Collection[str], weights: Float64 | None
    ) -> Model:
        """A model like a blank one that learned these rows alone; ValueError as of `read`."""
        assert blank.target is not None
        labels, known = self.read(batch, blank.target, missing)
        kept = np.flatnonzero(known)
        rows, invalid = encode(blank.schema, batch.take(pa.array(kept)))
        own = None if weights is None else weights[kept]
        model = blank.summarise(rows, labels.some(kept), own)  # type: ignore[arg-type]
        model.unlabelled, model.unread = batch.num_rows - len(kept), invalid
        return model

    def _labels(self, cell: Any) -> list[str]:
        """The labels in a cell."""
        if isinstance(cell, str):
            text = cell.strip()
            parts = _listed(text) if _is_bracketed(text) else text.split(self.separator)
        elif isinstance(cell, list | tuple):
            parts = list(cell)
        else:
            parts = [cell]
        found = []
        for one in parts:
            if isinstance(one, list | tuple | dict | set):
                raise ValueError(f"the labels {cell!r} are no flat list")
            found.append((values.level_text(one, ()) or "").strip())
        return [text for text in found if text]


_unknown: list[str] = ["?"]


def notice(head: Sequence[pa.Table], target: str) -> str:
    """What parts the labels in the first rows of a table; see `SEPARATORS`."""
    met: set[str] = set()
    for table in head:
        if target not in table.column_names or _is_list(table.column(target).type):
            continue
        column = values.flat(table.column(target))
        if values.is_text(column.type) or pa.types.is_dictionary(column.type):
            known = values.encoded(column)[1].to_pylist()
            plain = (one for one in known if isinstance(one, str) and not _is_bracketed(one))
            met |= {sign for one in plain for sign in SEPARATORS if sign in one}
    return next((sign for sign in SEPARATORS if sign in met), USUAL)


def _literal(text: str) -> Any:
    """What Python reads; NumPy writes the texts of an array without commas, which Python joins."""
    tokens = [one for one in generate_tokens(StringIO(text).readline) if one.string.strip()]
    pieces = [
        one.string + "," * (one.type == after.type == STRING) for one, after in pairwise(tokens)
    ]
    return ast.literal_eval(" ".join([*pieces, tokens[-1].string]))


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _says_nothing(cell: Any, spelled: Collection[str]) -> bool:
    return isinstance(cell, str) and cell.strip() in spelled


BRACKETS = {"[": "]", "{": "}"}
ARRAY = re.compile(r"""\{((?:"[^"]*"|[^{},":\s][^{},":]*)(?:,(?:"[^"]*"|[^{},":]+))*)?\}""")
"""An array as PostgreSQL writes it: {a,"b c"}."""


def _is_bracketed(text: str) -> bool:
    """Whether text is written as a list or a set is, or as an object."""
    text = text.strip()
    return text in ("set()", "frozenset()") or BRACKETS.get(text[:1]) == text[-1:]


def _listed(text: str) -> list[Any]:
    """The list that text is of: JSON's, Python's, NumPy's or PostgreSQL's.

    A set is one, too, and an object whose values say which of its keys are labels.

    Raises ValueError if it is none.
    """
    if text in ("set()", "frozenset()"):
        return []
    for read in (json.loads, _literal):
        try:
            found = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError, TokenError):
            continue
        if isinstance(found, dict) and all(one in (0, 1) for one in found.values()):
            return [label for label, has in found.items() if has]
        if isinstance(found, list | set):
            return sorted(found, key=str) if isinstance(found, set) else found
    if ARRAY.fullmatch(text):
        return next(csv.reader([text[1:-1]]), [])
    what = "list" if text[0] == "[" else "set or an object"
    raise ValueError(f"the labels {text[:60]!r} begin as a {what} does, and are none")
