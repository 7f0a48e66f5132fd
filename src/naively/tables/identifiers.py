"""Short texts that are read as levels, though their words would tell more: it is told of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from naively.core.column_types import MANY
from naively.core.exact import Float64
from naively.core.model import Model
from naively.core.schema import Schema, Why
from naively.evaluation.folds import Learnable
from naively.pooling.dates import as_dates
from naively.pooling.texts.prose import are_prose
from naively.statistics.levels import Encoded, Levels

LOOKED_AT = 10_000
"""Levels, about as many at most."""
FEWEST, ONCE = 50, 0.5
"""Levels, at least; part of them that one row has."""
WORDS, SPREAD = 3.0, 1.0
"""Words of a level on average, at least; their standard deviation. Names have two or three."""
SMALL, DIGITS = 0.2, 0.5
"""Part of the words that begin with a small letter, at least: most of names, addresses and job
titles do not. Part of the levels with a digit, at most: addresses have them."""


def wordy(levels: Sequence[str], weights: Float64) -> bool:
    """Whether levels that weigh so much look like short texts, of which most are met once."""
    if len(levels) < FEWEST or (weights <= 1).sum() <= ONCE * len(levels):
        return False
    some = levels[:: max(1, len(levels) // LOOKED_AT)]
    words = [level.split() for level in some]
    sizes = np.array([len(own) for own in words])
    small = sum(word[0].islower() for own in words for word in own)
    digits = sum(any(character.isdigit() for character in level) for level in some)
    return bool(
        sizes.mean() >= WORDS and sizes.std() >= SPREAD
        and small >= SMALL * sizes.sum() and digits <= DIGITS * len(some)
    )  # fmt: skip


def short_texts(model: Model) -> dict[str, str]:
    """The columns of levels that look like short texts, with what to say; the option follows.

    In a product of families only one that is alone: beside others it would be far too sure.
    """
    schema, found = model.schema, dict[str, str]()
    for part, counted in zip(schema.parts, model.parts, strict=True):
        weighed = part.summary.takes == "cells" and model.family.keeps
        if not weighed and not (part.summary.of_levels and len(schema.names) == 1):
            continue
        for k, name in enumerate(part.names):
            levels = counted.levels[k]
            named = schema.reason(name).kind == "asked" or name in model.family.text
            if levels.dtype.kind != "T" or named:
                continue
            weights = _weights(counted, k, weighed)
            if wordy(levels.tolist(), weights) and not (weighed and are_prose(levels, weights)):
                found[name] = said(len(levels))
    return found


def _weights(counted: Any, k: int, kept: bool) -> Float64:
    """What each level of a column weighs, of rows that are kept or counted."""
    if kept:
        codes, weights = counted.codes[:, k], counted.tables["count"].summed(0).rounded()
    else:
        own = slice(*counted.offsets[k : k + 2])
        return counted.tables["count"].gather(1, own).summed(0).rounded()
    size = len(counted.levels[k])
    return np.bincount(codes, weights, size + 1)[:size].astype(np.float64)


def said(count: int) -> str:
    """What so many such levels are; the option follows."""
    many = f"short texts, {count:,} different ones, most of them met once"
    return f"{many}: if their words matter, name it: "


# ---- identifiers ---------------------------------------------------------------------------------


IDENTIFIER = Why("like an identifier: another value in each row")


def identifiers(model: Model) -> list[str]:
    """The columns of whole rows that are text, are no dates, and differ in each row.

    Columns of text whose words are evidence are none. A row of weight 2 is two rows.
    """
    if model.counted.open is not None:
        return _among_candidates(model)
    counted: Any = model.sums
    if not _keeps_rows(model.counted):
        return []
    weight = float(model.class_weight.rounded().sum())
    if max(map(len, counted.levels)) < weight:
        return []
    return _found(model.counted, counted.canonical().levels, weight)  # without those of no row


def without_identifiers(model: Model) -> Model:
    """The model of the other columns, as if these had been skipped; itself if there are none.

    Only when all rows are there is it known which columns these are: later ones may have their
    values again. So `fit` leaves them out, and what goes on learning does not.
    """
    gone = identifiers(model)
    if model.counted.open is not None:
        found = _without_candidates(model, gone) if gone else model
    elif (narrower := _without(model.counted, gone)) is not None:
        schema, kept = narrower
        rows: Any = model.sums
        found = replace(model, counted=schema, sums=rows.gather_columns(kept).canonical())
    else:
        found = model
    if found is not model:
        known = found.counted.known
        found.unread = {name: one for name, one in model.unread.items() if name in known}
    return found


def _among_candidates(model: Model) -> list[str]:
    """The columns whose values are counted for their type, and have texts of identifiers."""
    names = [name for name, why in (model.schema.reasons or {}).items() if why.kind == "identifier"]
    sources = zip(model.counted.parts, model.counted_parts, strict=True)
    part, counted = next((part, own) for part, own in sources if part.summary.takes == "values")
    texts = dict(zip(part.names, counted.levels[counted.width :], strict=True))
    return [name for name in names if len(texts.get(name, ()))]


def _without_candidates(model: Model, gone: Sequence[str]) -> Model:
    """The model without some of the columns whose values are counted for their type."""
    schema = model.counted
    left = [
        replace(block, names=tuple(name for name in block.names if name not in gone))
        for block in schema.blocks
        if not {*gone} >= {*block.names}
    ]
    whys = {name: model.schema.reason(name) for name in gone}
    reasons = (schema.reasons or {}) | whys
    return model.under(replace(schema, blocks=tuple(left), reasons=reasons)).copy()


def learnable_without(rows: Learnable) -> Learnable:
    """Rows to learn without such columns, as `fit` leaves them out."""
    schema, X = rows.blank.counted, rows.X
    if not _keeps_rows(schema) or not isinstance(X, Encoded):
        return rows
    weight = float(len(X.codes) if rows.weights is None else rows.weights.sum())
    there = X.codes if rows.weights is None else X.codes[rows.weights > 0]
    levels = [
        known[np.unique(own[own < len(known)])] if len(known) >= weight else known[:0]
        for own, known in zip(there.T, X.levels, strict=True)
    ]
    found = _without(schema, _found(schema, levels, weight))
    if found is None:
        return rows
    narrower, kept = found
    table, *others = rows.source
    gone = [name for name in schema.names if name not in narrower.known]
    source = table.drop_columns(gone), *others
    return replace(rows, blank=rows.blank.blank(narrower), X=X[:, kept], source=source)


def _keeps_rows(schema: Schema) -> bool:
    if not schema.is_single or schema.reasons is None:
        return False
    return schema.family.keeps and schema.family.summary.takes == "cells"


def _found(schema: Schema, levels: Sequence[Levels], rows: float) -> list[str]:
    if rows < MANY:
        return []
    named = {*map(str, schema.family.text)}
    return [
        name
        for name, known in zip(schema.blocks[0].names, levels, strict=True)
        if len(known) == rows and known.dtype.kind == "T"
        and name not in named and as_dates(known) is None
        and not are_prose(known, np.ones(len(known)))
        and not wordy(known.tolist(), np.ones(len(known)))
    ]  # fmt: skip


def _without(schema: Schema, gone: Collection[str]) -> tuple[Schema, list[int]] | None:
    """(the schema without some columns, which are left); None if that is none, or all are."""
    (block,) = schema.blocks if gone else (None,)
    if block is None or schema.reasons is None:
        return None
    kept = [k for k, name in enumerate(block.names) if name not in gone]
    if not kept:
        return None
    reasons = {name: IDENTIFIER if name in gone else why for name, why in schema.reasons.items()}
    names = tuple(block.names[k] for k in kept)
    return replace(schema, blocks=(replace(block, names=names),), reasons=reasons), kept
