"""How training rows are predicted, each by a model or by evidence that did not learn it."""

from __future__ import annotations

import math

import numpy as np

from naively.cli.inside import characters, is_wide
from naively.engines.threads import workers
from naively.evaluation.cross_validation import scores
from naively.evaluation.folds import Folds, Learnable, k_fold
from naively.evaluation.samples import Kept
from naively.evaluation.tally import Scores
from naively.evidence.judged import Judged
from naively.exact import Int64
from naively.model import Model
from naively.prior import Prior
from naively.tables.learning import Question

PARTS = 10
SMALL = 20_000
"""Values of a table that is so small that a model which weighs evidence is made for each part,"""
SHORT = 100_000
"""and the characters of its texts."""
HEAVY = 1 << 28
"""Bytes of a model, of which there are to be no several."""
MODELS = "each row by a model that did not learn it"
EVIDENCE = "each row by evidence and weights of others; but all rows chose the {}"
WIDE = (
    "columns that count, of more than there are rows: this is far too good; --holdout 0.2 or "
    "naively.cross_validate say how new rows are predicted"
)
"""What all rows chose of a table that has fewer rows than columns."""


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
        return _of_evidence(model, by_others)
    if model.statistics.nbytes > HEAVY:
        raise ValueError(f"the model takes more than {HEAVY >> 20:,} MB")
    rows = kept.learnable(model, question)
    if len(np.unique(rows.labels)) < 2:
        return None
    whole = model if texts and model.statistics.refused() is None else None
    return scores(*parted(rows, whole), [rows.reading], MODELS)[0]


def by_evidence(model: Model) -> str:
    """What rows were predicted by that were left out when evidence was weighed."""
    if model.schema.family.summary.takes == "documents":
        return EVIDENCE.format("smoothing")
    return EVIDENCE.format(WIDE if is_wide(model) else "columns together")


def _of_evidence(model: Model, found: Judged) -> Scores:
    share = model.class_weight.rounded()
    share = share[share > 0] / share.sum()
    return Scores(
        rows=found.rows, unknown=0, accuracy=found.accuracy, log_loss=found.log_loss,
        prior_log_loss=float(-(share * np.log(share)).sum()) + 0.0, brier=math.nan,
        majority=float(share.max()), calibration=found.calibration, how=by_evidence(model),
    )  # fmt: skip


def parted(rows: Learnable, whole: Model | None = None) -> tuple[Folds, list[Int64]]:
    """(models without one part of the rows each, the rows of the parts); see `Folds`.

    A part is a tenth of what is learned: all of the rows, if the whole learned ten times as many.
    """
    n = len(rows.labels)
    share = 1.0 if whole is None else n / max(1, whole.rows)
    return k_fold(rows, min(math.ceil(PARTS * min(share, 1.0)), n), workers(None), whole)
