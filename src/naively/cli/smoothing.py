"""What other smoothing would do: the picture of `naively fit --plot`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from naively.cli import pictures, progress
from naively.cli.arguments import LearningOptions
from naively.cli.errors import UsageError, UserError
from naively.cli.options import new_question
from naively.cli.training_scores import parted
from naively.cli.work import Fitted
from naively.evaluation.cross_validation import ALPHAS, SmoothingCurve, smoothing_curve
from naively.tables.learning import Question
from naively.tables.rereading import reread


def check(question: Question, options: LearningOptions, picture: Path, data: Sequence[str]) -> None:
    """Refuse a picture that cannot be drawn, before the work."""
    pictures.check(picture, data)
    families = [one for one in question.wishes.columns.values() if not isinstance(one, str)]
    if question.wishes.whole is not None or any(one.keeps for one in families):
        raise UsageError("--plot draws the smoothing of a plain product: add --naive")
    if options.holdout:
        raise UsageError("--plot leaves all rows out in turn: leave out --holdout")


def draw(
    fitted: Fitted, question: Question, options: LearningOptions, texts: Sequence[str],
    picture: Path,
) -> None:  # fmt: skip
    """Write the picture; `texts` are columns of documents."""
    with progress.doing() as tell:
        tell("trying other smoothing")
        try:
            curve = _curve(fitted, question, options, texts)
            display = pictures.displays().SmoothingDisplay(curve=curve, alpha=options.alpha)
            pictures.write(display.plot(), picture)
        except ValueError as error:
            raise UserError(f"--plot: {error}") from None


def _curve(
    fitted: Fitted, question: Question, options: LearningOptions, texts: Sequence[str]
) -> SmoothingCurve:
    """How rows are predicted with each alpha that might have been asked for."""
    assert fitted.kept is not None
    rows = fitted.kept.learnable(fitted.model, question)
    if len(np.unique(rows.labels)) < 2:
        raise ValueError("the rows are of one class: there is nothing to predict")
    readings = []
    for alpha in ALPHAS:
        asked = new_question(question.target, texts, replace(options, alpha=alpha)).wishes
        read = reread(rows.blank, question.wishes, asked, {"alpha", "columns"})
        readings.append((read.schema, question.prior))
    return smoothing_curve(*parted(rows), ALPHAS, readings)
