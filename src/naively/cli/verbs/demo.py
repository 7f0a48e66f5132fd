"""`naively demo`: train on loans, explain a refusal, and forget a row."""

from __future__ import annotations

import shlex
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyarrow import csv
from rich.console import Console
from rich.text import Text

from naively import summary_tables
from naively.cli import models, parts, sources, terminal, work
from naively.cli.arguments import CHANGE, LEARNING
from naively.cli.terminal import note
from naively.cli.verbs import summary
from naively.datasets import make_credit
from naively.explain.counterfactuals import Search
from naively.explain.explanation import RowExplanation
from naively.explain.markup import more_of
from naively.explain.rendering import Listing, table
from naively.rendering import on_terminal
from naively.storage.atomic import replacing
from naively.storage.digest import digest
from naively.storage.model_files import Saved

NEW_SEED, NEW, REFUSED = 22, 10, 5
"""Seed and number of the applications, and the one that is explained, counted from 1."""
FORGOTTEN = 17
"""The training row that is forgotten, counted from 1."""
CHANGEABLE = "credit_amount", "duration"
REASONS = 4
"""Contributions that are printed, at most."""


def run(folder: Path) -> None:
    """Write the tables, and run the commands, printing the most important lines of each."""
    loans, applications, row, model, other = (
        folder / name
        for name in ("credit.csv", "new.csv", "row.csv", "credit.model", "without-row.model")
    )
    out = terminal.console()
    training, new = make_credit(), make_credit(NEW, NEW_SEED).drop_columns("risk")
    forgotten_row = training.slice(FORGOTTEN - 1, 1)
    folder.mkdir(parents=True, exist_ok=True)
    for path, rows in ((loans, training), (applications, new), (row, forgotten_row)):
        _write(rows, path)
    content = f"{len(training):,} loans and {len(new)} applications, generated at random"
    out.print(f"{content}; no row is of a real person")

    _command(out, "fit", loans, "--target risk -o", model)
    saved = _fit(out, loans)
    models.write(saved, model)

    explain = "explain", model, applications, f"--row {REFUSED}"
    _command(out, *explain)
    predictor = models.predictor(saved, new.column_names, str(applications))
    refused_row = new.slice(REFUSED - 1, 1)
    _explanation(out, predictor.explain(refused_row)[0])

    changeable = [f"--changeable {name}" for name in CHANGEABLE]
    _command(out, *explain, "--counterfactual good", *changeable)
    for change in Search(predictor.posterior, CHANGEABLE).row(refused_row, "good").changes:
        predicted = "good" if change.enough else "still bad"
        probability = f"P(good) = {change.probability:.4f}, predicted {predicted}"
        out.print(f"{change.column} {change.value} → {change.to}: {probability}")

    _command(out, "forget", model, row, "-o", other)
    other_rows = pa.concat_tables([training.slice(0, FORGOTTEN - 1), training.slice(FORGOTTEN)])
    _forget(out, saved, row, other_rows)
    models.write(saved, other)
    out.print(note("\nThe commands themselves print more. All commands: naively --help"))


def _command(out: Console, *words: str | Path) -> None:
    """Print a command in shell syntax."""
    arguments = (shlex.quote(str(word)) if isinstance(word, Path) else word for word in words)
    out.print(Text(f"\n$ {' '.join(['naively', *arguments])}", style="bold"), soft_wrap=True)


def _write(rows: pa.Table, path: Path) -> None:
    with replacing(path) as temporary:
        csv.write_csv(rows, temporary)


def _fit(out: Console, loans: Path) -> Saved:
    """Train the default model, and print its cross-validation."""
    source, estimator, spec = sources.opened_new([str(loans)], "risk", LEARNING)
    fitted = work.fit(source, spec)
    saved = Saved(fitted.model, estimator.name, dict(estimator.params))
    model_summary = summary.summary_of(saved, 0, fitted)
    assert model_summary is not None
    scores = summary_tables.cross_validation(model_summary)
    assert scores is not None
    out.print(on_terminal(replace(scores, notes=scores.notes[:1]), out.width))
    return saved


def _explanation(out: Console, row: RowExplanation) -> None:
    """Print the largest contributions to a prediction, and the sum of the others."""
    pair = row.labels()
    listing = row.listed(*pair)
    remaining = more_of(listing.rows[REASONS:], "feature")
    shortened = Listing(listing.rows[:REASONS], [*remaining, *listing.closing])
    out.print(row.head())
    out.print(table(("feature", "value"), shortened, row.total(*pair), out.width, (24, 24)))


def _forget(out: Console, saved: Saved, row: Path, others: pa.Table) -> None:
    """Forget a training row, and compare with a model trained on the other rows."""
    start = time.perf_counter()
    source, spec = sources.opened_to_learn(saved, [str(row)], CHANGE)
    names = parts.to_forget(saved, None, True)
    parts.forget(saved, names, work.learned_alone(saved, source, spec))
    seconds = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "others.csv"
        _write(others, path)
        source, spec = sources.opened_to_learn(saved, [str(path)], CHANGE)
        is_equal = digest(work.learned_alone(saved, source, spec)) == digest(saved.model)
    comparison = "equal to" if is_equal else "different from"
    other_rows = f"{len(others):,} other rows"
    out.print(
        f"forgot 1 row in {seconds:.2g} s: the model is {comparison} one trained on the "
        f"{other_rows}"
    )
