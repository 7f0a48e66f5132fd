"""How good a model is on the rows that it learned, each judged without itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Group

from naively.calibration import Reliability
from naively.cli.inside import characters, is_wide, remedy
from naively.cli.layout import clean, new_table, with_notes
from naively.engines.threads import workers
from naively.evidence.judged import Judged
from naively.exact import Int64
from naively.markup import counted
from naively.model import Model
from naively.prior import Prior
from naively.study.dealing import dealt, left_out_in_turn
from naively.study.folds import Folds, Learnable
from naively.study.kept import Kept
from naively.study.unlearned import left_out
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


@dataclass(frozen=True)
class LeftOutScores:
    """How rows were predicted that were left out in turn; rows of weight w count as w.

    Attributes
    ----------
    rows : their weight.
    how : what each row was predicted by.
    accuracy : part of them whose class was the most probable one.
    log_loss : mean -log P(label | x) in nats.
    calibration : Reliability
    majority, prior_log_loss : accuracy and log-loss of the class prior.
    """

    rows: float
    how: str
    accuracy: float
    log_loss: float
    calibration: Reliability
    majority: float
    prior_log_loss: float

    @property
    def worse_than_prior(self) -> bool:
        """Whether the class prior alone gives better probabilities."""
        return self.log_loss > self.prior_log_loss

    def as_json(self) -> dict[str, Any]:
        """All of it for programs, by the names that `Scores` has."""
        numbers = {name: value for name, value in vars(self).items() if name != "calibration"}
        return {
            **numbers,
            "calibration_error": self.calibration.error,
            "calibration_standard_error": self.calibration.standard_error,
            "calibration_by_chance": self.calibration.by_chance,
            "worse_than_prior": self.worse_than_prior,
        }


def judged(model: Model, kept: Kept, question: Question) -> LeftOutScores | None:
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
        return _of_evidence(model, own)
    if model.statistics.nbytes > HEAVY:
        raise ValueError(f"the model takes more than {HEAVY >> 20:,} MB")
    rows = kept.learnable(model, question)
    return _of_models(rows, model if texts and model.statistics.refused() is None else None)


def by_evidence(model: Model) -> str:
    """What rows were predicted by that were left out when evidence was weighed."""
    if model.schema.family.summary.takes == "documents":
        return EVIDENCE.format("smoothing")
    return EVIDENCE.format(WIDE if is_wide(model) else "columns together")


def _of_evidence(model: Model, own: Judged) -> LeftOutScores:
    share = model.class_weight.rounded()
    share = share[share > 0] / share.sum()
    return LeftOutScores(
        own.rows, by_evidence(model), own.accuracy, own.log_loss, own.calibration,
        float(share.max()), float(-(share * np.log(share)).sum()) + 0.0,
    )  # fmt: skip


def _of_models(rows: Learnable, whole: Model | None) -> LeftOutScores | None:
    if len(np.unique(rows.labels)) < 2:
        return None
    said = left_out(*parted(rows, whole), [rows.reading])[0]
    share = np.bincount(said.codes, said.weights) / said.weights.sum()
    return LeftOutScores(
        float(said.weights.sum()), MODELS, said.accuracy, said.log_loss, said.calibration,
        float(share.max()), said.prior_log_loss,
    )  # fmt: skip


def parted(rows: Learnable, whole: Model | None = None) -> tuple[Folds, list[Int64]]:
    """(models without one part of the rows each, the rows of the parts); see `Folds`.

    A part is a tenth of what is learned: all of the rows, if the whole learned ten times as many.
    """
    codes = np.unique(rows.labels, return_inverse=True)[1]
    share = 1.0 if whole is None else len(codes) / max(1, whole.rows)
    parts = min(math.ceil(PARTS * min(share, 1.0)), len(codes))
    part = dealt(rows.blank.schema, rows.X, codes, rows.weights, parts)
    learned, tests = left_out_in_turn(part)
    return Folds(rows, learned, workers(None), whole), tests


def table(found: LeftOutScores, model: Model) -> Group:
    """The same for people, beside the class prior."""
    usual = clean(model.classes[model.class_weight.rounded().argmax()], 30)
    shown = new_table("", "model", "baseline")
    shown.columns[1].style = "bold"
    own = found.calibration
    shown.add_row("accuracy", f"{found.accuracy:.2%}", f"{found.majority:.2%}")
    losses = found.log_loss, found.prior_log_loss
    shown.add_row("log-loss (nats)", *("·" if np.isnan(one) else f"{one:#.4g}" for one in losses))
    error = f"{own.error:.2%} ± {own.standard_error:.2%}"
    shown.add_row("calibration error", error, f"{own.by_chance:.2%}")
    worse = f"its probabilities are worse than the class prior's{remedy(model)}"
    return with_notes(
        shown,
        f"baseline: always {usual}; log-loss: the class prior; calibration: by chance",
        found.how,
        worse if found.worse_than_prior else None,
    )


def title(found: LeftOutScores, model: Model) -> str:
    """What the table is of."""
    rows = counted(round(found.rows), "row")
    some = found.rows < model.class_weight.rounded().sum()
    return (
        f"On {rows} of those it learned, left out in turn:"
        if some
        else (f"On the {rows} it learned, left out in turn:")
    )
