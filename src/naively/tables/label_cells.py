"""Cells of a table that hold any number of labels: lists, or text with a separator."""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from token import STRING
from tokenize import TokenError, generate_tokens
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.exact import Float64
from naively.label_sets import LabelSets
from naively.model import Model
from naively.tables import values
from naively.tables.encoding import encode

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
