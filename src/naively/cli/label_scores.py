"""How a model of rows with any number of labels does: `naively evaluate`."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.cli import layout, models, progress
from naively.cli.errors import UsageError, UserError
from naively.cli.layout import clean, facts, new_table, with_notes
from naively.cli.multilabel import LabelRule, separator_of
from naively.cli.sources import Opened, compared_target
from naively.engines.stream import in_order
from naively.engines.threads import workers
from naively.exact import Float64, Int64
from naively.files.safetensors import Saved
from naively.markup import counted
from naively.tables.encoding import encode
from naively.tables.label_cells import LabelCells

LISTED = 30
"""Labels of which a terminal shows how they were found, those of most rows."""

Truths = npt.NDArray[np.bool_]


class Judged(NamedTuple):
    """What was said of a batch.

    Attributes
    ----------
    truth, said : (n, L) whether a row has each label of the model, and was given it.
    odds : (n, L) log-odds.
    new : how many rows have each label that the model does not know.
    strange : (n,) whether a row has one of these.
    unknown : how many more rows do not say which labels they have.
    """

    truth: Truths
    said: Truths
    odds: Float64
    new: Counter[str]
    strange: Truths
    unknown: int


@dataclass
class LabelScores:
    """How a model did on rows whose labels are known.

    Attributes
    ----------
    labels : of the model, (L,); then those that it does not know, which it cannot find.
    right, extra, missed : of each label, rows that have it and got it, that got it and have it not,
        that have it and got it not.
    rows, exact, unknown : rows, those all of whose labels are right, and those skipped.
    log_loss, prior_log_loss : nats a row, of all labels of the model; of saying how frequent each
        was in training.
    threshold : the probability from which on a label was given.
    """

    labels: list[str]
    right: Int64
    extra: Int64
    missed: Int64
    rows: int
    exact: int
    unknown: int
    log_loss: float
    prior_log_loss: float
    threshold: float
    seconds: float

    @property
    def precision(self) -> Float64:
        """right / (right + extra) of each label; NaN of one that nobody got."""
        return _ratio(self.right, self.right + self.extra)

    @property
    def recall(self) -> Float64:
        """right / (right + missed) of each label; NaN of one that no row has."""
        return _ratio(self.right, self.right + self.missed)

    @property
    def f1(self) -> Float64:
        """2 right / (2 right + extra + missed) of each label; NaN of one no row has or got."""
        return _ratio(2 * self.right, 2 * self.right + self.extra + self.missed)

    @property
    def micro_f1(self) -> float:
        """F1 of all pairs of a row and a label together."""
        right, wrong = int(self.right.sum()), int(self.extra.sum() + self.missed.sum())
        return float(_ratio(np.array([2 * right]), np.array([2 * right + wrong]))[0])

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the labels that some rows have, or got."""
        f1 = self.f1
        return float(np.nanmean(f1)) if np.isfinite(f1).any() else float("nan")

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        columns = self.right, self.extra, self.missed, self.precision, self.recall, self.f1
        names = "right", "extra", "missed", "precision", "recall", "f1"
        return {
            "rows": self.rows,
            "skipped": self.unknown,
            "micro_f1": self.micro_f1,
            "macro_f1": self.macro_f1,
            "exact": self.exact / self.rows,
            "log_loss": self.log_loss,
            "prior_log_loss": self.prior_log_loss,
            "threshold": self.threshold,
            "labels": {
                label: dict(zip(names, (one.tolist() for one in own), strict=True))
                for label, *own in zip(self.labels, *columns, strict=True)
            },
            "seconds": self.seconds,
        }


def _ratio(part: Any, whole: Any) -> Float64:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def check(positive: Any, at_recall: Any, unsure: Any, costs: Any, threshold: Any) -> None:
    """Refuse options of models that give each row one label."""
    given = {
        "--positive": positive, "--at-recall": at_recall, "--unsure": unsure, "--costs": costs,
    }  # fmt: skip
    if said := [name for name, value in given.items() if value is not None]:
        raise UsageError(f"{said[0]} is for models that give each row one label")
    if threshold is not None and not 0 < threshold < 1:
        raise UsageError(f"--threshold is a probability above 0 and below 1, not {threshold:g}")


def evaluate(
    saved: Saved, source: Opened, target: str | None, threshold: float | None
) -> LabelScores:
    """Compare the labels of rows with those that the model gives them."""
    start = time.perf_counter()
    target = compared_target(saved, source, target or models.target_of(saved))
    names = [name for name in source.names if name != target]
    model = models.with_columns(saved, names, source.name)
    posterior: Any = model.posterior()
    cells, missing = LabelCells(separator_of(saved)), models.spellings(saved)
    known = [str(label) for label in posterior.classes.tolist()]
    least = LabelRule.of(saved, True).threshold if threshold is None else threshold

    def one(task: Any) -> Judged:
        batch = pa.Table.from_batches([task()])
        try:
            sets, told = cells.read(batch, target, missing)
        except ValueError as error:
            raise UserError(f"{source.name}: column {target!r}: {error}") from None
        kept = np.flatnonzero(told)
        rows, _ = encode(model.schema, batch.take(pa.array(kept)))
        lists = sets.some(kept).lists()
        place = {label: k for k, label in enumerate(known)}
        truth = np.zeros((len(kept), len(known)), bool)
        strange = np.zeros(len(kept), bool)
        new: Counter[str] = Counter()
        for i, own in enumerate(lists):
            truth[i, [place[label] for label in own if label in place]] = True
            other = [label for label in own if label not in place]
            new.update(other)
            strange[i] = bool(other)
        said = posterior.proba(rows) >= least
        return Judged(
            truth, said, posterior.log_odds(rows), new, strange, batch.num_rows - len(kept)
        )

    right, extra, missed = np.zeros((3, len(known)), np.int64)
    n, exact, unknown, loss, prior_loss = 0, 0, 0, 0.0, 0.0
    new: Counter[str] = Counter()
    with progress.bar("evaluating", source.files):
        for found in in_order(one, source.tasks(), workers(None).count):
            truth, said = found.truth, found.said
            right += (truth & said).sum(axis=0)
            extra += (~truth & said).sum(axis=0)
            missed += (truth & ~said).sum(axis=0)
            exact += int(((truth == said).all(axis=1) & ~found.strange).sum())
            n, unknown = n + len(truth), unknown + found.unknown
            loss += float(_lost(found.odds, truth).sum())
            prior_loss += float(_lost(posterior.log_prior, truth).sum())
            new += found.new
    if n == 0:
        raise UserError(f"{source.name}: there are no rows whose labels are known")
    more = np.zeros(len(new), np.int64)
    return LabelScores(
        known + list(new), np.append(right, more), np.append(extra, more),
        np.append(missed, np.array([*new.values()], np.int64)), n, exact, unknown, loss / n,
        prior_loss / n, float(least), time.perf_counter() - start,
    )  # fmt: skip


def run(
    saved: Saved, source: Opened, target: str | None, threshold: float | None, json: bool
) -> None:
    """What `naively evaluate` prints."""
    found = evaluate(saved, source, target, threshold)
    if json:
        layout.print_json(found.as_json())
    else:
        evaluated(found)


def _lost(odds: Float64, truth: Truths) -> Float64:
    """-log P of whether each row has each label, in nats."""
    return np.where(truth, np.logaddexp(0.0, -odds), np.logaddexp(0.0, odds))


def evaluated(scores: LabelScores) -> None:
    """What `naively evaluate` found."""
    out = layout.console()
    skipped = f", {scores.unknown:,} skipped: their labels are not known"
    out.print(
        facts(
            rows=f"{scores.rows:,}" + (skipped if scores.unknown else ""),
            micro_F1=f"{scores.micro_f1:.4f}, of all pairs of a row and a label",
            macro_F1=f"{scores.macro_f1:.4f}, the mean of the labels",
            exact=f"{scores.exact / scores.rows:.2%} of the rows have their labels and no others",
            log_loss=f"{scores.log_loss:.4f} nats a row, of all labels; "
            f"{scores.prior_log_loss:.4f} by how frequent they are",
            labels=f"are given from P = {scores.threshold:g} on",
        )
    )
    out.print()
    table = new_table("label", "rows", "precision", "recall", "F1")
    having = scores.right + scores.missed
    order = np.argsort(-having, kind="stable")
    columns = scores.precision, scores.recall, scores.f1
    for k in order[:LISTED].tolist():
        table.add_row(
            clean(scores.labels[k]), f"{having[k]:,}",
            *("" if np.isnan(one[k]) else f"{one[k]:.3f}" for one in columns),
        )  # fmt: skip
    rest = len(order) - LISTED
    out.print(
        with_notes(table, f"and {counted(rest, 'label')} of fewer rows" if rest > 0 else None)
    )
