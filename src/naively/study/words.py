"""The words of columns of text as columns: which of them are in a document."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively.model import Model
from naively.prior import Prior
from naively.schema import Schema
from naively.study.pairs import Feature
from naively.study.rows import LabelledRows
from naively.tables.encoding import encode_part
from naively.tables.telling import bits_of
from naively.text.documents import Documents
from naively.workers import Workers

WORDS = 20  # of a column of text, whose pairs are tested


def words(schema: Schema, rows: LabelledRows, workers: Workers) -> dict[str, list[Feature]]:
    """The terms of each column of text that tell most about the class, as columns of two levels.

    A level is whether the term is in the document, however often.
    """
    return {
        part.names[0]: _words(
            schema.known[part.names[0]], part.names[0],
            encode_part(part, rows.table, schema)[0], rows.codes, workers,
        )
        for part in schema.parts
        if part.summary.takes == "documents"
    }  # fmt: skip


def _words(family: Any, name: str, X: Documents, codes: Any, workers: Workers) -> list[Feature]:
    """The same of one column."""
    model = Model(Schema.of_array(family.presence, 1), Prior())
    model = model.summarise(X, codes, workers=workers)
    counted: Any = model.statistics
    if counted.wordless:
        return []
    posterior = model.posterior(workers)
    own: Any = posterior.parameters
    told = bits_of(own.events(()), posterior.class_prior)
    places = np.sort(np.argsort(-told, kind="stable")[:WORDS])
    has = own.having(X, places, workers).astype(np.int64)
    if X.valid is not None:
        has[~X.valid] = 2  # missing
    terms = own.named(places)
    return [
        Feature(f"{name}: {term}", np.ascontiguousarray(column), 2)
        for term, column in zip(terms, has.T, strict=True)
    ]
