"""Read the labels of a target column: their types, and cells with several labels."""

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
from naively.core.numerals import NUMBER, WHOLE
from naively.io.frames import to_array
from naively.model.model import Model
from naively.tables import values
from naively.tables.encoding import encode

CONTAINERS = (list, tuple, dict, set, np.ndarray)
LabelCodes = tuple[Labels, Int64]
"""(sorted classes, code of each row); the code of a missing label is the number of classes."""


def label_column(y: Any) -> pa.Array:
    """Convert labels (list, array, series) to an Arrow array.

    Raises ValueError if a label is a list or another container.
    """
    is_column = hasattr(y, "dtype") or isinstance(y, list | pa.Array | pa.ChunkedArray)
    column = values.flat(to_array(y if is_column else np.asarray(y)))
    nested = pa.types.is_nested(column.type) and not pa.types.is_dictionary(column.type)
    if nested or any(isinstance(label, CONTAINERS) for label in (y if isinstance(y, list) else ())):
        raise ValueError("the labels y must be text, numbers or truth values, not lists of them")
    return column


def coded(column: pa.Array, missing: Collection[str], like: Labels | None = None) -> LabelCodes:
    """Return (sorted classes, code of each row); the code of a missing label is their number.

    Text is neither trimmed nor converted to numbers, unless `like` asks for it. Raises ValueError
    if a label cannot be converted to the type of the model's labels.

    column : a column as `naively.tables.values.flat` returns it.
    missing : spellings of a missing value; null, NaN and empty text are always missing.
    like : labels of a model, to whose type (text, numbers or booleans) labels are converted.
    """
    places, dictionary = values.encoded(column)
    labels = dictionary.to_pylist()
    types, kind = pa.types, dictionary.type
    plain = types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
    if not (plain or values.is_text(kind)):
        codes, distinct = values.level_texts(dictionary, ())  # b"1" and "1" are the same label
        labels = np.array([*distinct, None], object)[codes].tolist()
    texts = [values.level_text(label, missing) for label in labels]
    valid_places = [k for k, text in enumerate(texts) if text not in (None, "")]
    check_ends(labels)
    classes: Labels = np.array([labels[k] for k in valid_places])
    if like is not None and len(like) and len(classes):
        classes = typed_like(classes, like)
    classes, order = np.unique(classes, return_inverse=True)
    remap = np.full(len(texts) + 1, len(classes), np.int32)
    remap[valid_places] = order
    return classes, remap[places]


def spelled_missing(column: pa.Array, missing: Collection[str]) -> str:
    """Return a text label that is a spelling of a missing value, such as NA; "" if there is none.

    column : a column as `naively.tables.values.flat` returns it.
    """
    _, distinct = values.encoded(column)
    if not values.is_text(distinct.type):
        return ""
    missing_labels = {text.strip() for text in distinct.to_pylist() if text} & {*missing}
    return min(missing_labels - {""}, default="")


def are_text(labels: Labels) -> bool:
    """Return whether labels are text rather than numbers or booleans."""
    return labels.dtype.kind in "OUT"


def typed_like(labels: Labels, like: Labels) -> Labels:
    """Convert labels to the type of a model's labels: text, numbers or booleans.

    Raises ValueError if a label cannot be converted.
    """
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
    """Convert labels to text."""
    return np.array([values.level_text(label, ()) for label in labels.tolist()], str)


def typed(labels: Labels) -> Labels:
    """Convert labels of a text file to integers, floats or booleans, if all of them are.

    Other labels stay text, as do digits with leading zeros and version numbers (`_versions`).
    Different texts may become the same label, such as 1 and 1.0.
    """
    texts = [text.strip() for text in labels.tolist()]
    if all(WHOLE.fullmatch(text) for text in texts):
        numbers = [int(text) for text in texts]
        if all(-(2**63) <= number < 2**63 for number in numbers):
            return np.array(numbers, np.int64)
        return labels  # beyond int64; as float64 different labels could become equal
    if all(NUMBER.fullmatch(text) for text in texts):
        numbers_ = np.array([float(text) for text in texts])
        return labels if _versions(texts, numbers_.tolist()) else numbers_
    if all(text in values.TRUTH for text in texts):
        return np.array([values.TRUTH[text] == 1.0 for text in texts])
    return labels


def _versions(texts: Sequence[str], read: Sequence[float]) -> bool:
    """Return whether fractions are version numbers: two texts, such as 2.1 and 2.10, are equal.

    Whole numbers are ignored: 1.0 is the same label as 1.
    """
    fractions = {(text, value) for text, value in zip(texts, read, strict=True) if value % 1}
    return len({value for _, value in fractions}) < len({text for text, _ in fractions})


def positions(labels: Labels, classes: Labels) -> Int64:
    """Return the position of each label among `classes`, -1 if it is not one of them.

    Labels are compared as text if only one side is text: a file may have "1" for the class 1.
    """
    if are_text(labels) == are_text(classes):
        keys, class_keys = labels.tolist(), classes.tolist()
    else:
        keys, class_keys = (
            [values.level_text(label, ()) for label in part.tolist()] for part in (labels, classes)
        )
    place_of = {key: place for place, key in enumerate(class_keys)}
    return np.array([place_of.get(key, -1) for key in keys], np.int64)


# ---- relabelling ---------------------------------------------------------------------------------


def with_labels_alike(a: Model, b: Model) -> tuple[Model, Model]:
    """Convert the labels of both models to text if those of one are text.

    Later rows of a stream may turn numeric labels into text.
    """
    empty = 0 in (len(a.classes), len(b.classes))
    if empty or are_text(a.classes) == are_text(b.classes):
        return a, b
    return _relabelled(a, as_text), _relabelled(b, as_text)


def with_typed_labels(model: Model) -> Model:
    """Return the model with labels converted from text by `typed`, if they are untyped."""
    if model.untyped and len(model.classes):
        model = _relabelled(model, typed)
    return replace(model, untyped=False)


def _relabelled(model: Model, named: Callable[[Labels], Labels]) -> Model:
    """Return the model with renamed classes; classes that get equal names are merged."""
    if len(model.classes) == 0 or (are_text(model.classes) and named is as_text):
        return model
    names = named(model.classes)
    total = replace(
        model.blank(model.counted), rows=model.rows, unlabelled=model.unlabelled,
        unread=dict(model.unread), skipped=model.skipped,
    )  # fmt: skip
    none = np.empty(0, np.int64)
    for k, members in enumerate(_distinct(names)):
        part = model.blank(model.counted)
        part.classes, part.class_weight = names[members], model.class_weight.gather(0, members)
        part.sums = model.sums.gather_classes(members)
        if k > 0:  # count the sums over all classes once
            part.sums = part.sums.copy()
            part.sums.accumulate(model.sums.gather_classes(none), none, sign=-1)
        total.absorb(part)
    if len(model.declared):
        total.declare_classes(named(model.declared))
    return total


def _distinct(labels: Labels) -> Iterator[Int64]:
    """Yield sorted positions of the labels, in runs without duplicates."""
    order = np.argsort(labels, kind="stable")
    while len(order):
        first = np.append(True, labels[order][1:] != labels[order][:-1])
        yield order[first]
        order = order[~first]


# ---- multi-label cells ---------------------------------------------------------------------------


SEPARATORS = ("|", ";", ",")
"""Separators of labels in text; the first one that occurs in a cell is used."""
USUAL = ";"  # default separator, if no cell has one


@dataclass(frozen=True)
class LabelCells:
    """Parser of cells that hold several labels.

    A cell is a list; text of a list or set as JSON, Python, NumPy or PostgreSQL write it; text of
    an object whose values are true or false; or labels with a separator between them. Labels are
    stripped of blanks. An empty cell means no labels; a spelling of a missing value means that
    the row's labels are unknown.
    """

    separator: str = USUAL

    def read(
        self, batch: pa.Table, target: str, missing: Collection[str]
    ) -> tuple[LabelSets, npt.NDArray[np.bool_]]:
        """Return (label sets of the rows, (n,) whether a row's labels are known).

        Raises ValueError if a cell is not a list of labels.
        """
        if target not in batch.column_names:  # JSON lines may omit it: these rows have no labels
            column = pa.nulls(batch.num_rows, pa.string())
        else:
            column = batch.column(target)
        if isinstance(column, pa.ChunkedArray) and _is_list(column.type):
            column = column.combine_chunks()
        if _is_list(column.type):
            cells, places = column.to_pylist(), np.arange(len(column))
        else:
            places, distinct = values.encoded(values.flat(column))
            cells = distinct.to_pylist()
            cells.append(None)  # the code of a missing value is the number of cells
            places = np.where(places < 0, len(cells) - 1, places)
        spellings = frozenset(missing) - {""}
        is_known = np.array(
            [not isinstance(cell, str) or cell.strip() not in spellings for cell in cells], bool
        )
        known = zip(cells, is_known.tolist(), strict=True)
        label_sets = LabelSets.of_lists([self._labels(c) if k else [] for c, k in known], "a cell")
        return label_sets.some(places.astype(np.int64)), is_known[places]

    def summarised(
        self, blank: Model, batch: pa.Table, missing: Collection[str], weights: Float64 | None
    ) -> Model:
        """Count these rows for the schema of a blank model. Raises ValueError as `read` does."""
        assert blank.target is not None
        labels, is_known = self.read(batch, blank.target, missing)
        labelled = np.flatnonzero(is_known)
        rows, invalid = encode(blank.schema, batch.take(pa.array(labelled)))
        row_weights = None if weights is None else weights[labelled]
        model = blank.summarise(rows, labels.some(labelled), row_weights)  # type: ignore[arg-type]
        model.unlabelled, model.unread = batch.num_rows - len(labelled), invalid
        return model

    def _labels(self, cell: Any) -> list[str]:
        """Return the labels in a cell."""
        if isinstance(cell, str):
            text = cell.strip()
            parts = _listed(text) if _is_bracketed(text) else text.split(self.separator)
        elif isinstance(cell, list | tuple):
            parts = list(cell)
        else:
            parts = [cell]
        labels = []
        for label in parts:
            if isinstance(label, list | tuple | dict | set):
                raise ValueError(f"the labels {cell!r} are not a flat list")
            labels.append((values.level_text(label, ()) or "").strip())
        return [text for text in labels if text]


def notice(head: Sequence[pa.Table], target: str) -> str:
    """Detect the label separator in the first rows of a table; see `SEPARATORS`."""
    separators: set[str] = set()
    for table in head:
        if target not in table.column_names or _is_list(table.column(target).type):
            continue
        column = values.flat(table.column(target))
        if values.is_text(column.type) or pa.types.is_dictionary(column.type):
            texts = values.encoded(column)[1].to_pylist()
            plain = [text for text in texts if isinstance(text, str) and not _is_bracketed(text)]
            separators |= {mark for mark in SEPARATORS if any(mark in text for text in plain)}
    return next((separator for separator in SEPARATORS if separator in separators), USUAL)


def _literal(text: str) -> Any:
    """Evaluate a Python literal, also a NumPy array of strings, which has no commas.

    Commas are inserted between adjacent strings, which Python would join.
    """
    tokens = [token for token in generate_tokens(StringIO(text).readline) if token.string.strip()]
    pieces = [
        token.string + "," * (token.type == following.type == STRING)
        for token, following in pairwise(tokens)
    ]
    return ast.literal_eval(" ".join([*pieces, tokens[-1].string]))


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


BRACKETS = {"[": "]", "{": "}"}
ARRAY = re.compile(r"""\{((?:"[^"]*"|[^{},":\s][^{},":]*)(?:,(?:"[^"]*"|[^{},":]+))*)?\}""")
"""A PostgreSQL array: {a,"b c"}."""


def _is_bracketed(text: str) -> bool:
    """Return whether text has the brackets of a list, a set or an object."""
    text = text.strip()
    return text in ("set()", "frozenset()") or BRACKETS.get(text[:1]) == text[-1:]


def _listed(text: str) -> list[Any]:
    """Parse the text of a list (JSON, Python, NumPy, PostgreSQL), a set, or an object.

    The labels of an object are the keys whose values are true.

    Raises ValueError if the text is none of these.
    """
    if text in ("set()", "frozenset()"):
        return []
    for parse in (json.loads, _literal):
        try:
            labels = parse(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError, TokenError):
            continue
        if isinstance(labels, dict) and all(flag in (0, 1) for flag in labels.values()):
            return [label for label, is_set in labels.items() if is_set]
        if isinstance(labels, list | set):
            return sorted(labels, key=str) if isinstance(labels, set) else labels
    if ARRAY.fullmatch(text):
        return next(csv.reader([text[1:-1]]), [])
    kind = "list" if text[0] == "[" else "set or an object"
    raise ValueError(f"the labels {text[:60]!r} begin as a {kind} does, but are not valid")
