"""Evaluate multilabel models, for `naively evaluate`."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from naively.cli import models, progress, terminal
from naively.cli.errors import UsageError, UserError
from naively.cli.sources import Opened, compared_target
from naively.cli.terminal import clean, facts, new_table, with_notes
from naively.cli.verbs.multilabel import LabelRule, separator_of
from naively.core.exact import Float64
from naively.core.workers import in_order, workers
from naively.evaluation.tally import LabelScores, LabelTally
from naively.explain.markup import counted
from naively.storage.model_files import Saved
from naively.tables.encoding import encode
from naively.tables.targets import LabelCells

LISTED = 30
"""Labels in the table, at most: those with the most rows."""


def check(positive: Any, at_recall: Any, unsure: Any, costs: Any, threshold: Any) -> None:
    """Refuse options that multilabel models do not support."""
    given = {
        "--positive": positive, "--at-recall": at_recall, "--unsure": unsure, "--costs": costs,
    }  # fmt: skip
    if said := [name for name, value in given.items() if value is not None]:
        raise UsageError(f"{said[0]} is for models with one label a row")
    if threshold is not None and not 0 < threshold < 1:
        raise UsageError(f"--threshold is a probability above 0 and below 1, not {threshold:g}")


class Evaluated(NamedTuple):
    """The scores of rows, the number of rows without labels, and more.

    Attributes
    ----------
    threshold : the smallest probability of a predicted label.
    """

    scores: LabelScores
    skipped: int
    threshold: float
    seconds: float


def evaluate(
    saved: Saved, source: Opened, target: str | None, threshold: float | None
) -> Evaluated:
    """Score the predicted labels of rows."""
    start = time.perf_counter()
    target = compared_target(saved, source, target or models.target_of(saved))
    names = [name for name in source.names if name != target]
    model = models.with_columns(saved, names, source.name)
    posterior: Any = model.posterior()
    cells, missing = LabelCells(separator_of(saved)), models.spellings(saved)
    least = LabelRule.of(saved, True).threshold if threshold is None else threshold

    def one(task: Any) -> tuple[list[list[str]], Any, Float64, int]:
        batch = pa.Table.from_batches([task()])
        try:
            sets, told = cells.read(batch, target, missing)
        except ValueError as error:
            raise UserError(f"{source.name}: column {target!r}: {error}") from None
        kept = np.flatnonzero(told)
        rows, _ = encode(model.schema, batch.take(pa.array(kept)))
        given = posterior.proba(rows) >= least
        lists = sets.some(kept).lists()
        return lists, given, posterior.log_odds(rows), batch.num_rows - len(kept)

    known = [str(label) for label in posterior.classes.tolist()]
    tally, skipped = LabelTally(known, posterior.log_prior), 0
    with progress.bar("evaluating", source.files):
        for *rows, unlabelled in in_order(one, source.tasks(), workers(None).count):
            tally.add(*rows)
            skipped += unlabelled
    if tally.rows == 0:
        raise UserError(f"{source.name}: there are no rows with labels")
    return Evaluated(tally.scores(), skipped, float(least), time.perf_counter() - start)


def run(
    saved: Saved, source: Opened, target: str | None, threshold: float | None, json: bool
) -> None:
    """Evaluate a multilabel model, and print the scores."""
    found = evaluate(saved, source, target, threshold)
    if json:
        more = {"skipped": found.skipped, "threshold": found.threshold, "seconds": found.seconds}
        terminal.print_json(found.scores.as_json() | more)
    else:
        evaluated(found)


def evaluated(found: Evaluated) -> None:
    """Print the scores of a multilabel model."""
    scores, out = found.scores, terminal.console()
    skipped = f" ({found.skipped:,} without labels skipped)" * bool(found.skipped)
    whole = new_table("", "model", "baseline")
    whole.columns[1].style = "bold"
    whole.add_row("micro F1", f"{scores.hits.micro_f1:.4f}", "")
    whole.add_row("macro F1", f"{scores.macro_f1:.4f}", "")
    whole.add_row("subset accuracy", f"{scores.exact / scores.rows:.1%}", "")
    whole.add_row("log-loss", f"{scores.log_loss:.4f}", f"{scores.baseline_log_loss:.4f}")
    out.print(
        with_notes(
            whole,
            "baseline: the label frequencies; log-loss: nats a row, summed over the labels",
            f"a label is predicted if its probability is at least {found.threshold:g}",
        )
    )
    out.print()
    table = new_table("label", "rows", "precision", "recall", "F1")
    having = scores.hits.right + scores.hits.missed
    order = np.argsort(-having, kind="stable")
    columns = scores.hits.precision, scores.hits.recall, scores.hits.f1
    for k in order[:LISTED].tolist():
        table.add_row(
            clean(scores.labels[k]), f"{having[k]:,}",
            *("" if np.isnan(one[k]) else f"{one[k]:.3f}" for one in columns),
        )  # fmt: skip
    rest = len(order) - LISTED
    out.print(
        with_notes(
            table, f"and {counted(rest, 'more label')} with fewer rows" if rest > 0 else None
        )
    )
    out.print()
    out.print(facts(rows=f"{scores.rows:,}{skipped}"))
