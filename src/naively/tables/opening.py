"""Columns whose type is not declared: their values as numbers and texts, and what is counted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.exact import Float64
from naively.invalid import Invalid, add_invalid
from naively.model import Model
from naively.recounting import within
from naively.schema import Counted, Schema
from naively.statistics.base import Batch
from naively.statistics.candidates import Values
from naively.statistics.levels import Levels
from naively.statistics.sums import class_weights
from naively.tables import values
from naively.tables.encoding import encode_part
from naively.workers import SERIAL

WHOLE = 2.0**53
"""Whole numbers from here on are texts where float64 has not all of their digits."""


def read(
    names: Sequence[str], batch: pa.RecordBatch | pa.Table, missing: Collection[str],
    numeric: Collection[str] = (),
) -> Values:  # fmt: skip
    """Some columns of a table; those that are absent have no values.

    Of columns that are declared numeric, truth values and codes are numbers.
    """
    there = {*batch.schema.names}
    numbers = np.full((len(names), batch.num_rows), np.nan)
    texts: dict[int, tuple[npt.NDArray[np.int32], Levels]] = {}
    for k, name in enumerate(names):
        if name not in there:
            continue
        column = values.flat(batch.column(name))
        numbers[k], others = _split(column, missing)
        if others is not None and name in numeric:
            codes, known = others
            x = values.numbers(column, missing).values
            numbers[k] = np.where(np.isfinite(x), x, np.nan)
            codes = np.where(np.isnan(numbers[k]), codes, np.int32(len(known)))
            others = codes.astype(np.int32), known
        if others is not None:
            texts[k] = others
    return Values(numbers.T, texts)


def _split(
    column: pa.Array, missing: Collection[str]
) -> tuple[Float64, tuple[npt.NDArray[np.int32], Levels] | None]:
    """(the numbers of a column, NaN elsewhere; its other values as levels, None if it has none)."""
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        found = values.numbers(column, missing).values
        wide = pa.types.is_integer(kind) and (np.abs(found) >= WHOLE).any()
        if not (wide or np.isinf(found).any()):
            return found, None
    elif values.is_text(kind) and not values.begins_with_word(column, missing):
        read = values.numbers(column, missing)
        plain = not (read.truths or read.invalid.any() or values.any_code(column))
        if plain and not (np.abs(np.nan_to_num(read.values, posinf=np.inf)) >= WHOLE).any():
            return read.values, None
    places, known = values.level_texts(column, missing)
    numbers = np.full(len(known) + 1, np.nan)
    texts: list[str] = []
    which = np.zeros(len(known), bool)
    for k, text in enumerate(known):
        if text is None:
            continue
        number = values.number_of(text)
        if number is None:
            which[k] = True
            texts.append(text)
        else:
            numbers[k] = number
    if not texts:
        return numbers[places], None
    distinct, order = np.unique(np.array(texts, values.TEXT), return_inverse=True)
    remap = np.full(len(known) + 1, len(distinct), np.int32)
    remap[:-1][which] = order
    return numbers[places], (remap[places], distinct)


def summarise(
    blank: Model, rows: Values, others: list[Any], batch: Batch
) -> tuple[Model, dict[str, Invalid]]:
    """(a model like a blank one that learned these rows, what its families cannot take).

    Parameters
    ----------
    rows : the columns whose type is not declared.
    others : the other columns, as `declared` has them.
    """
    schema = blank.counted.bare
    assert schema.open is not None
    names = schema.open.names
    counted = schema.open.family.summary.summarise(rows, batch, SERIAL)
    many, long = ([names[k] for k in own.tolist()] for own in counted.lacking)
    wider = schema.counting(many, long)
    place = {name: k for k, name in enumerate(names)}
    invalid: dict[str, Invalid] = {}
    parts = []
    for part in wider.parts:
        if part.summary.takes == "values":
            parts.append(counted)
            continue
        if part.summary.takes == "documents" and part.names[0] in place:
            given: Any = rows.documents(place[part.names[0]])
        else:
            given = _columns(part, rows, place, schema.parts, others, invalid)
        parts.append(part.summary.summarise(given, batch, SERIAL))
    model = type(blank)(
        wider, blank.prior, sums=wider.statistics(parts), class_weight=class_weights(batch),
        rows=len(batch.codes), target=blank.target, untyped=blank.untyped,
    )  # fmt: skip
    return model, invalid


def _columns(
    part: Counted, rows: Values, place: dict[str, int], known: Sequence[Counted],
    others: list[Any], invalid: dict[str, Invalid],
) -> Any:  # fmt: skip
    """What a part takes: columns that were declared, then those with many different numbers."""
    own = [name for name in part.names if name not in place]
    given = [
        data for one, data in zip(known, others, strict=True)
        if own and one.summary == part.summary and {*own} <= {*one.names}
    ]  # fmt: skip
    many = [place[name] for name in part.names if name in place]
    if not many:
        return given[0]
    numbers = rows.numbers[:, many]
    kept = within(numbers, part.summary)
    for k in range(len(many)):
        lost = np.isnan(kept[:, k]) & ~np.isnan(numbers[:, k])
        if lost.any():
            example = min(np.unique(numbers[lost, k]).tolist(), key=str)
            add_invalid(invalid, {part.names[len(own) + k]: Invalid(int(lost.sum()), example)})
    return np.hstack([*given, kept]) if given else kept


def declared(
    schema: Schema, batch: pa.RecordBatch | pa.Table
) -> tuple[list[Any], dict[str, Invalid]]:
    """(each part of a schema as its summary takes it, what it cannot take, by column)."""
    found, invalid = [], dict[str, Invalid]()
    missing = schema.missing
    numeric = {name for name, kind in schema.types.items() if kind == "numeric"}
    for part in schema.parts:
        if part.summary.takes == "values":
            found.append(read(part.names, batch, missing, numeric))
            continue
        data, unread = encode_part(part, batch, schema)
        found.append(data)
        invalid |= unread
    return found, invalid
