"""Why the rows of a table have their scores: by column, and by word in columns of text."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from naively.explanation import Explanation, TextExplanation
from naively.posterior import Posterior
from naively.tables.cells import cells_of


def _texts(
    columns: list[tuple[str, Any, Any]], whole: Explanation, i: int
) -> dict[str, TextExplanation]:
    """Why columns of text have their scores in row i, by column.

    Parameters
    ----------
    columns : (a column, its parameters, its documents).
    whole : the explanation of the rows. Its prior is part of a text only if there is no more.
    """
    alone = len(whole.features or ()) == 1
    prior = whole.prior if alone else np.zeros_like(whole.prior)
    return {
        name: TextExplanation(
            **vars(own.explain_document(documents, i)), classes=whole.classes, prior=prior,
            proba=whole.proba[i], code=int(whole.codes[i]), column=name,
        )
        for name, own, documents in columns
    }  # fmt: skip


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
        blocks = [tuple(sorted(names.index(schema.names[j]) for j in own)) for own in blocks]
    whole = replace(
        whole, features=names, cells=cells_of(batch, names, schema.missing),
        contributions=added, blocks=blocks,
    )  # fmt: skip
    data = schema.rows_of(rows)
    texts = [
        (block.names[0], own, documents)
        for (block, own), documents in zip(posterior.blocks, data, strict=True)
        if block.family.summary.takes == "documents"
    ]
    return replace(whole, texts=partial(_texts, texts, whole)) if texts else whole
