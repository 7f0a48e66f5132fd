"""Columns of text with another value in each row: they are left out, and not stored."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from naively.evidence.dates import as_dates
from naively.evidence.prose import are_prose
from naively.model import Model
from naively.schema import Schema, Why
from naively.statistics.levels import Encoded, Levels
from naively.study.folds import Learnable
from naively.tables.inference import MANY
from naively.tables.wordy import wordy

IDENTIFIER = Why("like an identifier: another value in each row")


def identifiers(model: Model) -> list[str]:
    """The columns of whole rows that are text, are no dates, and differ in each row.

    Columns of text whose words are evidence are none. A row of weight 2 is two rows.
    """
    counted: Any = model.statistics
    if not _keeps_rows(model.schema):
        return []
    weight = float(model.class_weight.rounded().sum())
    if max(map(len, counted.levels)) < weight:
        return []
    return _found(model.schema, counted.canonical().levels, weight)  # without those of no row


def without_identifiers(model: Model) -> Model:
    """The model of the other columns, as if these had been skipped; itself if there are none.

    Only when all rows are there is it known which columns these are: later ones may have their
    values again. So `fit` leaves them out, and what goes on learning does not.
    """
    found = _without(model.schema, identifiers(model))
    if found is None:
        return model
    schema, kept = found
    counted: Any = model.statistics
    invalid = {name: one for name, one in model.invalid.items() if name in schema.known}
    rows = counted.gather_columns(kept).canonical()
    return replace(model, schema=schema, statistics=rows, invalid=invalid)


def learnable_without(rows: Learnable) -> Learnable:
    """Rows to learn without such columns, as `fit` leaves them out."""
    schema, X = rows.blank.schema, rows.X
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
    table, labels = rows.source
    gone = [name for name in schema.names if name not in narrower.known]
    source = table.drop_columns(gone), labels
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
