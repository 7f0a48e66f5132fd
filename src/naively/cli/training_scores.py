"""How training rows are predicted, each by a model or by evidence that did not learn it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from naively.engines.threads import workers
from naively.evaluation.cross_validation import scores
from naively.evaluation.folds import Folds, Learnable, k_fold
from naively.evaluation.samples import Kept
from naively.evaluation.tally import Scores
from naively.exact import Int64
from naively.model import Model
from naively.model_summary import FOLDS, characters, own_cross_validation
from naively.prior import Prior
from naively.tables.learning import Question

SMALL = 20_000
"""Values of a table that is so small that a model which weighs evidence is made for each part,"""
SHORT = 100_000
"""and the characters of its texts."""
HEAVY = 1 << 28
"""Bytes of a model, of which there are to be no several."""


def training_scores(model: Model, kept: Kept, question: Question) -> Scores | None:
    """The scores of a model that learned rows of which some were kept; None if they are too few.

    Raises ValueError if the model cannot be estimated without a part of the rows, or takes so much
    memory that there should be no others beside it.
    """
    by_others = model.posterior().parameters.judged
    texts = model.schema.family.summary.takes == "documents"
    if (
        by_others is not None
        and by_others.rows
        and model.prior == Prior()
        and (texts or model.rows * model.n_features > SMALL or characters(model) > SHORT)
    ):
        return own_cross_validation(model)
    if model.statistics.nbytes > HEAVY:
        raise ValueError(f"the model takes more than {HEAVY >> 20:,} MB")
    rows = kept.learnable(model, question)
    if len(np.unique(rows.labels)) < 2:
        return None
    whole = model if texts and model.statistics.refused() is None else None
    found = scores(*parted(rows, whole), [rows.reading])[0]
    return replace(found, folds=min(FOLDS, len(rows.labels)))


def parted(rows: Learnable, whole: Model | None = None) -> tuple[Folds, list[Int64]]:
    """(models without one part of the rows each, the rows of the parts); see `Folds`.

    A part is a tenth of what is learned: all of the rows, if the whole learned ten times as many.
    """
    n = len(rows.labels)
    share = 1.0 if whole is None else n / max(1, whole.rows)
    return k_fold(rows, min(math.ceil(FOLDS * min(share, 1.0)), n), workers(None), whole)
