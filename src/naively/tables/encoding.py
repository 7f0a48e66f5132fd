"""Encode rows of a table for the summaries of a model, and decode sampled rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.core.exact import Float64
from naively.core.issues import Invalid, add_invalid
from naively.core.workers import SERIAL
from naively.io.frames import SparseTable
from naively.model.column_types import within
from naively.model.model import Model
from naively.model.posterior import Posterior
from naively.model.schema import Block, Counted, Schema
from naively.statistics.base import Batch, Data, dense
from naively.statistics.candidates import Values
from naively.statistics.levels import Encoded, Levels
from naively.statistics.powers import class_weights
from naively.tables import declared as prose
from naively.tables import values
from naively.text.documents import Documents

Arrays = Mapping[str, pa.Array]

LONGEST = 1 << 16  # maximum length of a category in stored rows; longer ones are truncated


def encode(
    schema: Schema, batch: pa.RecordBatch | pa.Table | SparseTable, without: Collection[str] = ()
) -> tuple[Data, dict[str, Invalid]]:
    """Return (rows encoded for a schema, invalid values by column): see `encode_parts`."""
    parts, invalid = encode_parts(schema, batch, without)
    return schema.rows(parts, batch.num_rows), invalid


def encode_parts(
    schema: Schema, batch: pa.RecordBatch | pa.Table | SparseTable, without: Collection[str] = ()
) -> tuple[list[Data], dict[str, Invalid]]:
    """Return (data of each part of a schema, encoded for its summary; invalid values by column).

    Absent columns, and those in `without`, are missing. Raises ValueError for a sparse matrix,
    unless the model has as many columns, of one block.
    """
    if isinstance(batch, SparseTable):
        if len(schema.parts) != 1 or len(schema.names) != batch.matrix.shape[1]:
            raise ValueError(
                f"a sparse matrix of {batch.matrix.shape[1]} columns where "
                f"{len(schema.names)} columns in {len(schema.blocks)} blocks were trained"
            )
        takes = schema.parts[0].summary.takes_sparse
        return [batch.matrix if takes else dense(batch.matrix)], {}
    parts, invalid = [], dict[str, Invalid]()
    for part in schema.parts:
        data, invalid_part = encode_part(part, batch, schema, without)
        parts.append(data)
        invalid |= invalid_part
    return parts, invalid


def silenced(schema: Schema, parts: list[Data], without: Collection[str]) -> list[Data]:
    """Return encoded rows with the categorical columns in `without` set to missing."""
    encoded = []
    for part, rows in zip(schema.parts, parts, strict=True):
        silent = [k for k, name in enumerate(part.names) if name in without]
        if silent and isinstance(rows, Encoded):
            codes = rows.codes.copy()
            codes[:, silent] = [len(rows.levels[k]) for k in silent]
            rows = replace(rows, codes=codes)
        encoded.append(rows)
    return encoded


def encode_for(
    posterior: Posterior, batch: pa.RecordBatch | pa.Table | SparseTable,
    without: Collection[str] = (),
) -> tuple[Data, dict[str, Invalid]]:  # fmt: skip
    """Encode rows for prediction; values that the parameters cannot use are missing, too."""
    rows, invalid = encode(posterior.schema, batch, without)
    if posterior.remarks is not None:
        posterior.remarks.look(posterior.parameters, rows)
    rows, unusable = posterior.parameters.readable(rows)
    names = posterior.schema.names
    add_invalid(invalid, {names[k]: invalid_values for k, invalid_values in unusable.items()})
    return rows, invalid


def encode_part(
    part: Counted, batch: pa.RecordBatch | pa.Table, schema: Schema, without: Collection[str] = ()
) -> tuple[Data, dict[str, Invalid]]:
    """Encode the columns of one summary; return (data, invalid values by column)."""
    if part.summary.takes == "values":
        numeric = {name for name, kind in schema.types.items() if kind == "numeric"}
        return read(part.names, batch, schema.missing, numeric), {}
    present = {*batch.schema.names} - {*without}
    columns = {name: batch.column(name) for name in part.names if name in present}
    rows, missing = batch.num_rows, schema.missing
    if part.summary.of_texts:
        return prose.documents(columns.get(part.names[0], pa.nulls(rows)), missing), {}
    flat = {name: values.flat(column) for name, column in columns.items()}
    if part.summary.takes == "levels":
        return _levels(part, flat, rows, missing), {}
    if part.summary.takes == "cells":
        data, invalid = _cells(part, flat, rows, missing, schema.types)
        unusable = part.summary.unread(data)
        add_invalid(invalid, {part.names[k]: values_ for k, values_ in unusable.items()})
        return data, invalid
    return _numbers(part, flat, rows, missing)


def cells_of(
    batch: pa.RecordBatch | pa.Table, names: Sequence[str], missing: Collection[str]
) -> Encoded:
    """Encode the values of some columns as numbers or text, independently of a model."""
    present = {*batch.schema.names}
    columns = {name: values.flat(batch.column(name)) for name in names if name in present}
    return _cells(Counted(None, names), columns, batch.num_rows, missing, {})[0]


def _levels(part: Counted, columns: Arrays, rows: int, missing: Collection[str]) -> Encoded:
    codes = np.zeros((len(part.names), rows), np.int32)
    levels: list[Levels] = []
    for k, name in enumerate(part.names):
        categories: Levels = np.empty(0, values.TEXT)
        if name in columns:
            codes[k], categories = values.levels(columns[name], missing)
        levels.append(categories)
    return Encoded(codes.T, levels)


def _cells(
    part: Counted, columns: Arrays, rows: int, missing: Collection[str], types: Mapping[str, str]
) -> tuple[Encoded, dict[str, Invalid]]:
    codes = np.zeros((len(part.names), rows), np.int32)
    levels: list[Levels] = []
    invalid: dict[str, Invalid] = {}
    for k, name in enumerate(part.names):
        distinct: Levels = np.empty(0)
        if name in columns:
            if types.get(name) == "numeric":
                parsed = values.numbers(columns[name], missing)
                numbers: Float64 | None = parsed.values
                if parsed.example is not None:
                    count = int(parsed.invalid.sum())
                    invalid[name] = Invalid(count, str(parsed.example), "numeric")
            else:
                numbers = _plain_numbers(columns[name], missing)
            if numbers is None:
                cut = _cut(*values.levels(columns[name], missing))
                codes[k], distinct, invalid_texts = _finite(*cut)
                invalid |= {name: invalid_texts} if invalid_texts else {}
            else:
                infinite = np.isinf(numbers)
                if infinite.any():
                    example = str(min(np.unique(numbers[infinite]).tolist(), key=str))
                    add_invalid(invalid, {name: Invalid(int(infinite.sum()), example, "numeric")})
                    numbers[infinite] = np.nan
                numbers = numbers + 0.0  # without -0.0
                if len(numbers) == 1:  # fast path for a single row
                    distinct = numbers[~np.isnan(numbers)]
                else:
                    distinct, codes[k] = np.unique(numbers, return_inverse=True)
                    distinct = distinct[: np.searchsorted(distinct, np.inf)]  # NaN is sorted last
        levels.append(distinct)
    return Encoded(codes.T, levels), invalid


def _cut(codes: values.Codes, levels: Levels) -> tuple[values.Codes, Levels]:
    """Truncate long categories, and merge those that become equal."""
    if np.strings.str_len(levels).max(initial=0) <= LONGEST:
        return codes, levels
    short = np.array([level[:LONGEST] for level in levels.tolist()], levels.dtype)
    levels, place = np.unique(short, return_inverse=True)
    return np.append(place, len(levels))[codes].astype(np.int32), levels


def _finite(codes: values.Codes, levels: Levels) -> tuple[values.Codes, Levels, Invalid | None]:
    """Remove infinity and NaN from the categories; in text, too, they are missing."""
    infinite = np.array([values.is_endless(level) for level in levels.tolist()], bool)
    if not infinite.any():
        return codes, levels, None
    places = np.append(np.cumsum(~infinite) - 1, (~infinite).sum())
    removed = np.append(infinite, False)
    places[removed] = places[-1]
    invalid = Invalid(int(removed[codes].sum()), str(levels[infinite][0]))
    return places[codes].astype(np.int32), levels[~infinite], invalid


def _plain_numbers(column: pa.Array, missing: Collection[str]) -> Float64 | None:
    """Return the values of a numeric column; None if it holds other values.

    Others are booleans, codes such as 02139, and integers that float64 cannot distinguish.
    """
    if values.begins_with_word(column, missing):
        return None  # fast path: parsing all values is slow for small batches
    parsed = values.numbers(column, missing)
    cells = values.flat(column.dictionary) if pa.types.is_dictionary(column.type) else column
    kind = cells.type
    if parsed.truths or parsed.invalid.any() or (values.is_text(kind) and values.any_code(cells)):
        return None
    finite = parsed.values[np.isfinite(parsed.values)]
    if len(finite) and np.abs(finite).max() >= 2**53 and not pa.types.is_floating(kind):
        return None
    return parsed.values


def _numbers(
    part: Counted, columns: Arrays, rows: int, missing: Collection[str]
) -> tuple[Float64, dict[str, Invalid]]:
    invalid = {}
    table = np.full((len(part.names), rows), np.nan)
    low, high = part.summary.bounds
    for name, column in zip(part.names, table, strict=True):
        if name not in columns:
            continue
        parsed = values.numbers(columns[name], missing)
        column[:] = parsed.values
        outside = (column < low) | (column > high)
        examples = [] if parsed.example is None else [parsed.example]
        if outside.any():
            examples.append(min(np.unique(column[outside]).tolist(), key=str))
            column[outside] = np.nan
        if examples:
            count = int(parsed.invalid.sum()) + int(outside.sum())
            invalid[name] = Invalid(count, min(examples, key=str))
    return table.T, invalid


def decode(schema: Schema, drawn: Data) -> pa.Table:
    """Convert sampled rows to a table, with its columns in the order of the schema.

    drawn : rows from `Parameters.sample`; a list by block if there are several blocks.
    """
    columns: dict[str, Any] = {}
    blocks = [drawn] if schema.is_single else drawn
    for block, part in zip(schema.blocks, blocks, strict=True):
        columns |= decode_block(schema, block, part)
    return pa.table({name: columns[name] for name in schema.ordered})


def decode_block(schema: Schema, block: Block, drawn: Data) -> dict[str, pa.Array]:
    """Return the columns of a block of sampled rows, by name: see `decode`."""
    columns: dict[str, Any] = {}
    for k, name in enumerate(block.names):
        if isinstance(drawn, Encoded):
            categories, text = drawn.levels[k], drawn.levels[k].dtype.kind == "T"
            places = pa.array(drawn.codes[:, k], mask=drawn.codes[:, k] == len(categories))
            kind = pa.string() if text else pa.float64()
            columns[name] = pa.array(categories.tolist(), kind).take(places)
        elif isinstance(drawn, Documents):
            columns[name] = pa.array(list(drawn.texts()), pa.string())
        elif schema.reason(name).kind == "truths":
            columns[name] = pa.array(np.asarray(drawn)[:, k] > 0)
        else:
            columns[name] = pa.array(np.asarray(drawn)[:, k], from_pandas=True)
    return columns


# ---- undeclared types ----------------------------------------------------------------------------


WHOLE = 2.0**53  # integers from here on are text if float64 cannot represent them exactly


def read(
    names: Sequence[str], batch: pa.RecordBatch | pa.Table, missing: Collection[str],
    numeric: Collection[str] = (),
) -> Values:  # fmt: skip
    """Split columns of a table into numbers and texts; absent columns are missing.

    In columns that are declared numeric, booleans and codes are numbers.
    """
    present = {*batch.schema.names}
    numbers = np.full((len(names), batch.num_rows), np.nan)
    texts: dict[int, tuple[npt.NDArray[np.int32], Levels]] = {}
    for k, name in enumerate(names):
        if name not in present:
            continue
        column = values.flat(batch.column(name))
        numbers[k], categorical = _split(column, missing)
        if categorical is not None and name in numeric:
            codes, categories = categorical
            x = values.numbers(column, missing).values
            numbers[k] = np.where(np.isfinite(x), x, np.nan)
            codes = np.where(np.isnan(numbers[k]), codes, np.int32(len(categories)))
            categorical = codes.astype(np.int32), categories
        if categorical is not None:
            texts[k] = categorical
    return Values(numbers.T, texts)


def _split(
    column: pa.Array, missing: Collection[str]
) -> tuple[Float64, tuple[npt.NDArray[np.int32], Levels] | None]:
    """Split a column into (numbers, NaN elsewhere; (codes, categories) of other values or None)."""
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        numbers_only = values.numbers(column, missing).values
        wide = pa.types.is_integer(kind) and (np.abs(numbers_only) >= WHOLE).any()
        if not (wide or np.isinf(numbers_only).any()):
            return numbers_only, None
    elif values.is_text(kind) and not values.begins_with_word(column, missing):
        parsed = values.numbers(column, missing)
        plain = not (parsed.truths or parsed.invalid.any() or values.any_code(column))
        if plain and not (np.abs(np.nan_to_num(parsed.values, posinf=np.inf)) >= WHOLE).any():
            return parsed.values, None
    places, level_list = values.level_texts(column, missing)
    numbers = np.full(len(level_list) + 1, np.nan)
    texts: list[str] = []
    is_text = np.zeros(len(level_list), bool)
    for k, text in enumerate(level_list):
        if text is None:
            continue
        if (number := values.number_of(text)) is None:
            is_text[k] = True
            texts.append(text)
        else:
            numbers[k] = number
    if not texts:
        return numbers[places], None
    distinct, order = np.unique(np.array(texts, values.TEXT), return_inverse=True)
    remap = np.full(len(level_list) + 1, len(distinct), np.int32)
    remap[:-1][is_text] = order
    return numbers[places], (remap[places], distinct)


def summarise_open(
    blank: Model, encoded: list[Data], batch: Batch
) -> tuple[Model, dict[str, Invalid]]:
    """Count rows for a schema with undeclared types; return (model, invalid values by column).

    encoded : the rows as `encode_parts` returns them for the `bare` schema.
    """
    schema = blank.counted.bare
    assert schema.open is not None
    rows = next(data for data in encoded if isinstance(data, Values))
    names = schema.open.names
    counted = schema.open.family.summary.summarise(rows, batch, SERIAL)
    many_numbers, long_texts = ([names[k] for k in columns.tolist()] for columns in counted.lacking)
    wider = schema.counting(many_numbers, long_texts)
    place = {name: k for k, name in enumerate(names)}
    invalid: dict[str, Invalid] = {}
    parts = []
    for part in wider.parts:
        if part.summary.takes == "values":
            parts.append(counted)
            continue
        if part.summary.of_texts and part.names[0] in place:
            data: Any = rows.documents(place[part.names[0]])
        else:
            data = _columns(part, rows, place, schema.parts, encoded, invalid)
        parts.append(part.summary.summarise(data, batch, SERIAL))
    model = type(blank)(
        wider, blank.prior, sums=wider.statistics(parts), class_weight=class_weights(batch),
        rows=len(batch.codes), target=blank.target, untyped=blank.untyped,
    )  # fmt: skip
    return model, invalid


def _columns(
    part: Counted, rows: Values, place: dict[str, int], parts: Sequence[Counted],
    others: list[Data], invalid: dict[str, Invalid],
) -> Any:  # fmt: skip
    """Return the data of a part: declared columns, then those with many distinct numbers."""
    names = [name for name in part.names if name not in place]
    columns = [
        data for counted, data in zip(parts, others, strict=True)
        if names and counted.summary == part.summary and {*names} <= {*counted.names}
    ]  # fmt: skip
    places = [place[name] for name in part.names if name in place]
    if not places:
        return columns[0]
    numbers = rows.numbers[:, places]
    bounded = within(numbers, part.summary)
    for k in range(len(places)):
        lost = np.isnan(bounded[:, k]) & ~np.isnan(numbers[:, k])
        if lost.any():
            example = min(np.unique(numbers[lost, k]).tolist(), key=str)
            add_invalid(invalid, {part.names[len(names) + k]: Invalid(int(lost.sum()), example)})
    return np.hstack([*columns, bounded]) if columns else bounded
