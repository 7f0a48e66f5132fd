"""Why the rows of a table have their scores: by column, and by word in columns of text."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from naively.explanation import Explanation, TextExplanation
from naively.posterior import Posterior
from naively.schema import Block
from naively.tables.cells import cells_of
from naively.text.explained import ExplainedTerms

BESIDE = "(besides its words)"
"""What a text adds as a whole: that it is missing, or often met, alone or with other columns."""


def _texts(
    columns: list[tuple[Block, Any, Any]], whole: Explanation, i: int
) -> dict[str, TextExplanation]:
    """Why columns of text have their scores in row i, by column.

    Parameters
    ----------
    columns : (a block of columns, its parameters, its rows).
    whole : the explanation of the rows. Its prior is part of a text only if there is no more.
    """
    alone = len(whole.features or ()) == 1
    prior = whole.prior[i] if alone else np.zeros_like(whole.prior[i])
    found: dict[str, ExplainedTerms] = {}
    for block, own, rows in columns:
        if block.family.summary.takes == "documents":
            found[block.names[0]] = own.explain_document(rows, i)
        else:
            for column, terms in own.explained_texts(rows, i).items():
                name = block.names[column]
                found[name] = _with_rest(terms, whole, name, i)
    return {
        name: TextExplanation(
            **vars(terms), classes=whole.classes, prior=prior, proba=whole.proba[i],
            code=int(whole.codes[i]), column=name,
        )
        for name, terms in found.items()
    }  # fmt: skip


def _with_rest(terms: ExplainedTerms, whole: Explanation, name: str, i: int) -> ExplainedTerms:
    """The terms of a text, and what the column adds besides: they add up to the column."""
    names = whole.features or []
    place = names.index(name)
    if whole.blocks is not None:
        place = whole.blocks.index((place,))
    rest = whole.contributions[i, :, place] - terms.contributions.sum(axis=0) - terms.rest
    rest -= rest.max()
    if rest.min() > -1e-9:
        return terms
    return replace(
        terms, terms=[*terms.terms, BESIDE], counts=np.append(terms.counts, 0),
        contributions=np.concatenate([terms.contributions, rest[np.newaxis]]),
    )  # fmt: skip


def explain(posterior: Posterior, batch: Any, rows: Any, by_block: bool = False) -> Explanation:
    """Why each row of a table has its scores.

    Parameters
    ----------
    batch : the rows, as a table or `SparseTable`.
    rows : the same, as the model takes them.
    by_block : whether columns that tell something together are shown so.
    """
    schema = posterior.schema
    place = {name: k for k, name in enumerate(schema.names)}
    names = schema.ordered
    whole = posterior.explain(rows, by_block=by_block)
    added, blocks = whole.contributions, whole.blocks
    if blocks is None:
        added = added[:, :, [place[name] for name in names]]
    else:
        rank = {name: k for k, name in enumerate(names)}
        blocks = [tuple(sorted(rank[schema.names[j]] for j in own)) for own in blocks]
    whole = replace(
        whole, features=names, cells=cells_of(batch, names, schema.missing),
        contributions=added, blocks=blocks,
    )  # fmt: skip
    data = schema.rows_of(rows)
    texts = [
        (block, own, part)
        for (block, own), part in zip(posterior.blocks, data, strict=True)
        if block.family.summary.takes == "documents" or own.has_texts
    ]
    return replace(whole, texts=partial(_texts, texts, whole)) if texts else whole
