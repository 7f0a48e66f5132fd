"""Why the rows of a table have their scores: by column, and by word in columns of text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively.explanation import Explanation, TextExplanation
from naively.families.product import Blocks
from naively.families.text_parameters import TextParameters
from naively.model import Model
from naively.posterior import Posterior
from naively.tables.cells import cells_of
from naively.tables.schema import Schema


@dataclass(frozen=True, eq=False)
class ColumnTexts:
    """Why columns of text have their scores, row by row.

    Attributes
    ----------
    columns : (a column, its parameters, its documents).
    told : the explanation of the rows. Its prior is part of a text only if there is no more.
    """

    columns: list[tuple[str, TextParameters, Any]]
    told: Explanation

    def __call__(self, i: int) -> dict[str, TextExplanation]:
        """Those of row i, by column."""
        told = self.told
        alone = told.contributions.shape[2] == 1
        prior = told.prior if alone else np.zeros_like(told.prior)
        return {
            name: TextExplanation(
                **vars(own.tell(documents, i)), classes=told.classes, prior=prior,
                proba=told.proba[i], code=int(told.codes[i]), column=name,
            )
            for name, own, documents in self.columns
        }  # fmt: skip


def explain(schema: Schema, model: Model | Posterior, batch: Any, rows: Blocks) -> Explanation:
    """Why each row of a table has its scores.

    Parameters
    ----------
    schema, model : the columns, and the model of their blocks, or what it answers.
    batch : the rows, as a table or `SparseTable`.
    rows : the same, encoded.
    """
    told = model.explain(rows)
    place = {name: k for k, name in enumerate(schema.names)}
    names = schema.ordered
    told = replace(
        told, features=names, cells=cells_of(batch, names, schema.missing),
        contributions=told.contributions[:, :, [place[name] for name in names]],
    )  # fmt: skip
    parameters: Any = model.parameters
    texts = [
        (block.names[0], own, documents)
        for block, own, documents in zip(schema.blocks, parameters.parts, rows.parts, strict=True)
        if isinstance(own, TextParameters)
    ]
    return replace(told, texts=ColumnTexts(texts, told)) if texts else told
