"""How good a model is on the rows that it learned, each judged without itself."""

from __future__ import annotations

import math

import numpy as np

from naively.engines.threads import workers
from naively.exact import Int64
from naively.model import Model
from naively.model_summary import FOLDS, CrossValidation, characters, own_cross_validation
from naively.prior import Prior
from naively.study.dealing import dealt, left_out_in_turn
from naively.study.folds import Folds, Learnable
from naively.study.kept import Kept
from naively.study.unlearned import left_out
from naively.tables.learning import Question

SMALL = 20_000
"""Values of a table that is so small that a model which weighs evidence is made for each part,"""
SHORT = 100_000
"""and the characters of its texts."""
HEAVY = 1 << 28
"""Bytes of a model, of which there are to be no several."""


def judged(model: Model, kept: Kept, question: Question) -> CrossValidation | None:
    """The scores of a model that learned rows of which some were kept; None if they are too few.

    Raises ValueError if the model cannot be estimated without a part of the rows, or takes so much
    memory that there should be no others beside it.
    """
    own = model.posterior().parameters.judged
    texts = model.schema.family.summary.takes == "documents"
    if (
        own is not None
        and own.rows
        and model.prior == Prior()
        and (texts or model.rows * model.n_features > SMALL or characters(model) > SHORT)
    ):
        return own_cross_validation(model)
    if model.statistics.nbytes > HEAVY:
        raise ValueError(f"the model takes more than {HEAVY >> 20:,} MB")
    rows = kept.learnable(model, question)
    return _of_models(rows, model if texts and model.statistics.refused() is None else None)


def _of_models(rows: Learnable, whole: Model | None) -> CrossValidation | None:
    if len(np.unique(rows.labels)) < 2:
        return None
    said = left_out(*parted(rows, whole), [rows.reading])[0]
    share = np.bincount(said.codes, said.weights) / said.weights.sum()
    folds = FOLDS if len(said.codes) >= FOLDS else len(said.codes)
    return CrossValidation(
        float(said.weights.sum()), folds, "", said.accuracy, said.log_loss, said.calibration,
        float(share.max()), said.prior_log_loss,
    )  # fmt: skip


def parted(rows: Learnable, whole: Model | None = None) -> tuple[Folds, list[Int64]]:
    """(models without one part of the rows each, the rows of the parts); see `Folds`.

    A part is a tenth of what is learned: all of the rows, if the whole learned ten times as many.
    """
    codes = np.unique(rows.labels, return_inverse=True)[1]
    share = 1.0 if whole is None else len(codes) / max(1, whole.rows)
    parts = min(math.ceil(FOLDS * min(share, 1.0)), len(codes))
    part = dealt(rows.blank.schema, rows.X, codes, rows.weights, parts)
    learned, tests = left_out_in_turn(part)
    return Folds(rows, learned, workers(None), whole), tests
