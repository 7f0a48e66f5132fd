"""Detect text columns that are treated as categorical, and leave out identifier columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from naively.core.exact import Float64
from naively.model.column_types import MANY
from naively.model.model import Model
from naively.model.schema import Schema, Why
from naively.pooling.dates import as_dates
from naively.pooling.texts.prose import are_prose
from naively.statistics.levels import Encoded, Levels

LOOKED_AT = 10_000  # maximum number of categories to look at (approximately)
FEWEST, ONCE = 50, 0.5
"""Minimum number of categories, and minimum share of them that occur in one row only."""
WORDS, SPREAD = 3.0, 1.0
"""Minimum mean and standard deviation of the words per category. Names have two or three words."""
SMALL, DIGITS = 0.2, 0.5
"""Minimum share of words that begin with a lower-case letter (most words of names, addresses and
job titles do not), and maximum share of categories with a digit (addresses have digits)."""


def wordy(levels: Sequence[str], weights: Float64) -> bool:
    """Return whether categories look like short texts, most of which occur once.

    weights : (len(levels),) weight of the rows of each category.
    """
    if len(levels) < FEWEST or (weights <= 1).sum() <= ONCE * len(levels):
        return False
    sample = levels[:: max(1, len(levels) // LOOKED_AT)]
    words = [level.split() for level in sample]
    sizes = np.array([len(terms) for terms in words])
    small = sum(word[0].islower() for terms in words for word in terms)
    digits = sum(any(character.isdigit() for character in level) for level in sample)
    return bool(
        sizes.mean() >= WORDS and sizes.std() >= SPREAD
        and small >= SMALL * sizes.sum() and digits <= DIGITS * len(sample)
    )  # fmt: skip


def short_texts(model: Model) -> dict[str, str]:
    """Return a message for each categorical column that looks like short texts.

    The caller appends the option to use. In a product of families a text column is suggested only
    if it is the only column: beside others, its many words would dominate the posterior.
    """
    schema, messages = model.schema, dict[str, str]()
    for part, counted in zip(schema.parts, model.parts, strict=True):
        weighed = part.summary.takes == "cells" and model.family.keeps
        if not weighed and not (part.summary.of_levels and len(schema.names) == 1):
            continue
        for k, name in enumerate(part.names):
            levels = counted.levels[k]
            is_named = schema.reason(name).kind == "asked" or name in model.family.text
            if levels.dtype.kind != "T" or is_named:
                continue
            weights = _weights(counted, k, weighed)
            if wordy(levels.tolist(), weights) and not (weighed and are_prose(levels, weights)):
                messages[name] = many_texts(len(levels))
    return messages


def _weights(counted: Any, k: int, kept: bool) -> Float64:
    """Return the weight of each category of column k, from stored rows (`kept`) or from counts."""
    if kept:
        codes, weights = counted.codes[:, k], counted.tables["count"].summed(0).rounded()
    else:
        columns = slice(*counted.offsets[k : k + 2])
        return counted.tables["count"].gather(1, columns).summed(0).rounded()
    size = len(counted.levels[k])
    return np.bincount(codes, weights, size + 1)[:size].astype(np.float64)


def many_texts(count: int) -> str:
    """Return the message about a column of this many short texts; the option follows it."""
    message = f"short texts, {count:,} different ones, most of them in one row"
    return f"{message}: if their words matter, name it: "


# ---- identifiers ---------------------------------------------------------------------------------


IDENTIFIER = Why("looks like an identifier: a different value in each row")


def identifiers(model: Model) -> list[str]:
    """Return the text columns that have a different value in each row, except for dates.

    Columns whose words are evidence are not identifiers. A row of weight 2 counts as two rows.
    """
    if model.counted.open is not None:
        return _among_candidates(model)
    counted: Any = model.sums
    if not _keeps_rows(model.counted):
        return []
    weight = float(model.class_weight.rounded().sum())
    if max(map(len, counted.levels)) < weight:
        return []
    levels = counted.canonical().levels  # without categories of no row
    return _identifiers(model.counted, levels, weight)


def without_identifiers(model: Model) -> Model:
    """Return the model without identifier columns; the same model if there are none.

    A column is an identifier only if no value repeats in all rows, so `fit` drops these columns,
    and incremental training does not: later rows may repeat a value.
    """
    names = identifiers(model)
    if model.counted.open is not None:
        reduced = _without_candidates(model, names) if names else model
    elif (narrower := _without(model.counted, names)) is not None:
        schema, places = narrower
        rows: Any = model.sums
        reduced = replace(model, counted=schema, sums=rows.gather_columns(places).canonical())
    else:
        reduced = model
    if reduced is not model:
        columns, unread = reduced.counted.family_of, model.unread
        reduced.unread = {name: unread[name] for name in unread if name in columns}
    return reduced


def _among_candidates(model: Model) -> list[str]:
    """Return the identifiers among the columns whose type is not declared."""
    assert model.counted.open is not None
    texts = model.candidates.levels[model.candidates.width :]
    reasons = model.schema.reasons or {}
    return [
        name for name, levels in zip(model.counted.open.names, texts, strict=True)
        if len(levels) and reasons[name].kind == "identifier"
    ]  # fmt: skip


def _without_candidates(model: Model, names: Sequence[str]) -> Model:
    """Return the model without some of the columns whose type is not declared."""
    schema = model.counted
    blocks = [
        replace(block, names=tuple(name for name in block.names if name not in names))
        for block in schema.blocks
        if not {*names} >= {*block.names}
    ]
    dropped = {name: model.schema.reason(name) for name in names}
    reasons = (schema.reasons or {}) | dropped
    return model.under(replace(schema, blocks=tuple(blocks), reasons=reasons)).copy()


def columns_without(
    schema: Schema, X: Any, weights: Float64 | None
) -> tuple[Schema, list[int]] | None:
    """Return (the schema without identifier columns of these rows, the positions of the others).

    None if there are no identifiers.
    """
    if not _keeps_rows(schema) or not isinstance(X, Encoded):
        return None
    weight = float(len(X.codes) if weights is None else weights.sum())
    codes = X.codes if weights is None else X.codes[weights > 0]
    levels = [
        categories[np.unique(column[column < len(categories)])]
        if len(categories) >= weight
        else categories[:0]
        for column, categories in zip(codes.T, X.levels, strict=True)
    ]
    return _without(schema, _identifiers(schema, levels, weight))


def _keeps_rows(schema: Schema) -> bool:
    if not schema.is_single or schema.reasons is None:
        return False
    return schema.family.keeps and schema.family.summary.takes == "cells"


def _identifiers(schema: Schema, levels: Sequence[Levels], rows: float) -> list[str]:
    if rows < MANY:
        return []
    texts = {*map(str, schema.family.text)}
    return [
        name
        for name, categories in zip(schema.blocks[0].names, levels, strict=True)
        if len(categories) == rows and categories.dtype.kind == "T"
        and name not in texts and as_dates(categories) is None
        and not are_prose(categories, np.ones(len(categories)))
        and not wordy(categories.tolist(), np.ones(len(categories)))
    ]  # fmt: skip


def _without(schema: Schema, dropped: Collection[str]) -> tuple[Schema, list[int]] | None:
    """Return (the schema without some columns, positions of the other columns).

    None if there is nothing to remove, or if no column would remain.
    """
    (block,) = schema.blocks if dropped else (None,)
    if block is None or schema.reasons is None:
        return None
    places = [k for k, name in enumerate(block.names) if name not in dropped]
    if not places:
        return None
    reasons = schema.reasons | dict.fromkeys(
        (n for n in schema.reasons if n in dropped), IDENTIFIER
    )
    names = tuple(block.names[k] for k in places)
    return replace(schema, blocks=(replace(block, names=names),), reasons=reasons), places
