"""Explain rows of tables, with the text of their cells as in the source."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import scipy

from naively.explain.explanation import Cells, Explanation, TextExplanation
from naively.explain.text import ExplainedTerms
from naively.io.frames import SparseTable
from naively.model.posterior import Posterior
from naively.model.schema import Block
from naively.statistics.base import Data
from naively.tables.values import level_text, readable


def cell_text(value: Any, missing: Collection[str]) -> str | None:
    """Return the text of a value; None if it is missing."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        return None if value.strip() in missing else value
    return level_text(value, missing)


def table_cells(
    columns: list[Any], missing: Collection[str], rows: range
) -> list[list[str | None]]:
    """Return the text of the cells of some rows, column by column."""
    if rows.step == 1:
        parts = [column.slice(rows.start, len(rows)) for column in columns]
    else:
        parts = [column.take(pa.array(rows, pa.int64())) for column in columns]
    return [[cell_text(value, missing) for value in readable(part).to_pylist()] for part in parts]


def array_cells(X: Any, rows: range) -> list[list[str | None]]:
    """Return the text of the numbers in rows of an (n, d) array or CSR matrix, column by column."""
    part = X[np.array(rows, np.int64)]
    part = part.toarray() if scipy.sparse.issparse(part) else part
    return [[cell_text(value, ()) for value in column] for column in part.T.tolist()]


def cells_of(table: Any, names: list[str], missing: Collection[str]) -> Cells:
    """Return the function from rows to the text of the cells of these columns."""
    if isinstance(table, SparseTable):
        return partial(array_cells, table.matrix)
    columns = dict(zip(table.column_names, table.columns, strict=True))
    nulls = pa.nulls(table.num_rows)
    return partial(table_cells, [columns.get(name, nulls) for name in names], missing)


WHOLE = "(text as a whole)"
"""Evidence that no term has: bias of the words, missing or recurring text, and interactions."""


def _texts(
    columns: list[tuple[Block, Any, Data]], whole: Explanation, i: int
) -> dict[str, TextExplanation]:
    """Explain the text columns of row i, by name.

    `columns`: (a block of columns, its parameters, its rows). `whole`: the explanation of the rows.
    A text includes its prior and prior mixing only if it is the sole column.
    """
    only_text = len(whole.features or ()) == 1
    prior, mixing = (
        part[i] if only_text else np.zeros_like(part[i]) for part in (whole.prior, whole.mixing)
    )
    explained: dict[str, ExplainedTerms] = {}
    for block, part, rows in columns:
        if block.family.summary.of_texts:
            explained[block.names[0]] = part.explain_document(rows, i)
        else:
            texts = part.explained_texts(rows, i)
            explained |= {block.names[column]: terms for column, terms in texts.items()}
    for name, terms in explained.items():
        if terms.rest_is == "prior mixing":
            explained[name] = _with_rest(replace(terms, rest=mixing), whole, name, i)
    return {
        name: TextExplanation(
            **vars(terms), classes=whole.classes, prior=prior, proba=whole.proba[i],
            code=int(whole.codes[i]), column=name, has_bias=whole.has_bias,
        )
        for name, terms in explained.items()
    }  # fmt: skip


def _with_rest(terms: ExplainedTerms, whole: Explanation, name: str, i: int) -> ExplainedTerms:
    """Add other evidence of the column to its terms, so that these sum to its contribution."""
    names = whole.features or []
    place = names.index(name)
    if whole.blocks is not None:
        place = whole.blocks.index((place,))
    rest = whole.contributions[i, :, place] - terms.contributions.sum(axis=0)
    rest -= rest.max()
    if rest.min() > -1e-9:
        return terms
    return replace(
        terms, terms=[*terms.terms, WHOLE], counts=np.append(terms.counts, 0),
        contributions=np.concatenate([terms.contributions, rest[np.newaxis]]),
    )  # fmt: skip


def explain(
    posterior: Posterior, batch: pa.Table | pa.RecordBatch, rows: Data, by_block: bool = False
) -> Explanation:
    """Explain each row of a table.

    `batch`: the rows, as a table or `SparseTable`. `rows`: the same rows, encoded for the model.
    `by_block`: whether interactions are entries, instead of shared between their columns.
    """
    schema = posterior.schema
    place = {name: k for k, name in enumerate(schema.names)}
    names = schema.ordered
    explanation = posterior.explain(rows, by_block=by_block)
    contributions, blocks = explanation.contributions, explanation.blocks
    if blocks is None:
        contributions = contributions[:, :, [place[name] for name in names]]
    else:
        rank = {name: k for k, name in enumerate(names)}
        blocks = [tuple(sorted(rank[schema.names[j]] for j in block)) for block in blocks]
    explanation = replace(
        explanation, features=names, cells=cells_of(batch, names, schema.missing),
        contributions=contributions, blocks=blocks,
        conditional=any(block.family.in_turn and len(block.names) > 1 for block in schema.blocks),
    )  # fmt: skip
    data = schema.rows_of(rows)
    texts = [
        (block, parameters, part)
        for (block, parameters), part in zip(posterior.blocks, data, strict=True)
        if block.family.summary.of_texts or parameters.has_texts
    ]
    return replace(explanation, texts=partial(_texts, texts, explanation)) if texts else explanation
