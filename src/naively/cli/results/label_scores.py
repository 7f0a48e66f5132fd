"""Evaluate multilabel models, for `naively evaluate`."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from naively.cli import models, progress, terminal
from naively.cli.errors import UsageError, UserError
from naively.cli.multilabel import LabelRule, separator_of
from naively.cli.sources import Opened, compared_target
from naively.cli.terminal import clean, facts, new_table, with_notes
from naively.core.exact import Float64
from naively.core.markup import counted
from naively.core.workers import in_order, workers
from naively.evaluation.metrics import LabelScores, LabelTally
from naively.storage.model_files import Saved
from naively.tables.encoding import encode
from naively.tables.targets import LabelCells

LISTED = 30  # labels in the table, at most: those with the most rows


def check(positive: Any, at_recall: Any, unsure: Any, costs: Any, threshold: Any) -> None:
    """Refuse options that multilabel models do not support."""
    options = {
        "--positive": positive, "--at-recall": at_recall, "--unsure": unsure, "--costs": costs,
    }  # fmt: skip
    if unsupported := [name for name, value in options.items() if value is not None]:
        raise UsageError(f"{unsupported[0]} is for models that give each row one label")
    if threshold is not None and not 0 < threshold < 1:
        raise UsageError(f"--threshold is a probability above 0 and below 1, not {threshold:g}")


class Evaluated(NamedTuple):
    """The scores of rows, the number of rows without labels, and more."""

    scores: LabelScores
    skipped: int
    threshold: float  # the smallest probability of a predicted label
    seconds: float


def evaluate(
    saved: Saved, source: Opened, target: str | None, threshold: float | None
) -> Evaluated:
    """Score the predicted labels of rows."""
    start = time.perf_counter()
    target = compared_target(saved, source, target or saved.model.target)
    names = [name for name in source.names if name != target]
    model = models.with_columns(saved, names, source.name)
    posterior: Any = model.posterior()
    cells, missing = LabelCells(separator_of(saved)), models.spellings(saved)
    minimum = LabelRule.of(saved, True).threshold if threshold is None else threshold

    def score_task(task: Any) -> tuple[list[list[str]], Any, Float64, int]:
        batch = pa.Table.from_batches([task()])
        try:
            sets, has_labels = cells.read(batch, target, missing)
        except ValueError as error:
            raise UserError(f"{source.name}: column {target!r}: {error}") from None
        labelled_rows = np.flatnonzero(has_labels)
        rows, _ = encode(model.schema, batch.take(pa.array(labelled_rows)))
        predicted = posterior.proba(rows) >= minimum
        lists = sets.some(labelled_rows).lists()
        return lists, predicted, posterior.log_odds(rows), batch.num_rows - len(labelled_rows)

    labels = [str(label) for label in posterior.classes.tolist()]
    tally, skipped = LabelTally(labels, posterior.log_prior), 0
    with progress.bar("evaluating", source.files):
        for *rows, unlabelled in in_order(score_task, source.tasks(), workers(None).count):
            tally.add(*rows)
            skipped += unlabelled
    if tally.rows == 0:
        raise UserError(f"{source.name}: there are no rows with labels")
    return Evaluated(tally.scores(), skipped, float(minimum), time.perf_counter() - start)


def run(
    saved: Saved, source: Opened, target: str | None, threshold: float | None, json: bool
) -> None:
    """Evaluate a multilabel model, and print the scores."""
    evaluation = evaluate(saved, source, target, threshold)
    if json:
        details = {name: getattr(evaluation, name) for name in ("skipped", "threshold", "seconds")}
        terminal.print_json(evaluation.scores.as_json() | details)
    else:
        evaluated(evaluation)


def evaluated(result: Evaluated) -> None:
    """Print the scores of a multilabel model."""
    scores, out = result.scores, terminal.console()
    note = f" ({result.skipped:,} without labels skipped)" * bool(result.skipped)
    summary = new_table("", "model", "baseline")
    summary.columns[1].style = "bold"
    summary.add_row("micro F1", f"{scores.hits.micro_f1:.4f}", "")
    summary.add_row("macro F1", f"{scores.macro_f1:.4f}", "")
    summary.add_row("subset accuracy", f"{scores.exact / scores.rows:.1%}", "")
    summary.add_row("log-loss", f"{scores.log_loss:.4f}", f"{scores.baseline_log_loss:.4f}")
    baseline = "baseline: the label frequencies; log-loss: nats a row, summed over the labels"
    least = f"a label is predicted if its probability is at least {result.threshold:g}"
    out.print(with_notes(summary, baseline, least))
    out.print()
    table = new_table("label", "rows", "precision", "recall", "F1")
    label_rows = scores.hits.right + scores.hits.missed
    order = np.argsort(-label_rows, kind="stable")
    columns = scores.hits.precision, scores.hits.recall, scores.hits.f1
    for k in order[:LISTED].tolist():
        table.add_row(
            clean(scores.labels[k]), f"{label_rows[k]:,}",
            *("" if np.isnan(score[k]) else f"{score[k]:.3f}" for score in columns),
        )  # fmt: skip
    n_more = len(order) - LISTED
    more = f"and {counted(n_more, 'more label')} with fewer rows" if n_more > 0 else None
    out.print(with_notes(table, more))
    out.print()
    out.print(facts(rows=f"{scores.rows:,}{note}"))
