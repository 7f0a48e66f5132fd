"""A tour on a made-up table of loans."""

from __future__ import annotations

import shlex
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv
from rich.console import Console
from rich.text import Text

from naively import summary_tables
from naively.cli import models, parts, sources, terminal, work
from naively.cli.arguments import CHANGE, LEARNING
from naively.cli.results import summary
from naively.cli.terminal import note
from naively.core.markup import more_of
from naively.explain.counterfactuals import Search
from naively.explain.explanation import RowExplanation
from naively.explain.rendering import Listing, table
from naively.rendering import on_terminal
from naively.storage.atomic import replacing
from naively.storage.digest import digest
from naively.storage.model_files import Saved

CHECKING = {"none": (0.39, -1.1), "below 0": (0.27, 0.9), "0 to 200": (0.27, 0.4),
            "above 200": (0.07, -0.3)}  # fmt: skip
HISTORY = {"paid duly": (0.53, 0.0), "delays": (0.09, 0.5), "critical account": (0.29, -0.7),
           "no credits": (0.09, 0.8)}  # fmt: skip
PURPOSE = {"radio or TV": (0.28, -0.2), "new car": (0.24, 0.4), "furniture": (0.19, 0.1),
           "used car": (0.12, -0.8), "business": (0.1, 0.2), "education": (0.07, 0.5)}  # fmt: skip
HOUSING = {"own": (0.71, -0.2), "rent": (0.18, 0.4), "free": (0.11, 0.3)}
"""For each category: its share of the applicants, and its effect on the log-odds of "bad"."""


def make_credit(rows: int = 1000, seed: int = 0) -> pa.Table:
    """Generate loans and whether they were repaid; no row is of a real person.

    Categories are drawn independently; durations and amounts are log-normal and correlated. The
    class is Bernoulli with logit = -1.1 + Σ effects of the categories + 0.035 (duration - 21)
    + 0.00007 (credit_amount - 3300) - 0.02 (age - 35) - 0.06 (employment_years - 6)
    - 0.3 ln(savings / 500), so that about 30% are bad and the best possible classifier is known.
    A sixth of the savings is missing, at random.

    Parameters
    ----------
    rows : how many loans.
    seed : of the generator; the same seed gives the same table.

    Returns
    -------
    pyarrow.Table
        With the columns checking_status, duration (months), credit_history, purpose,
        credit_amount, savings, employment_years, age, housing and the target risk, which is
        "good" or "bad".

    Examples
    --------
    >>> from naively.cli.results.demo import make_credit
    >>> make_credit(1000).num_columns
    10
    """
    generator = np.random.default_rng(seed)
    logit = np.full(rows, -1.1)
    columns: dict[str, Any] = {}

    def categories(effects: dict[str, tuple[float, float]]) -> list[str]:
        shares = np.array([share for share, _ in effects.values()])
        codes = generator.choice(len(effects), rows, p=shares)
        logit[:] += np.array([effect for _, effect in effects.values()])[codes]
        names = list(effects)
        return [names[code] for code in codes.tolist()]

    columns["checking_status"] = categories(CHECKING)
    months = np.exp(generator.normal(2.9, 0.55, rows))
    duration = np.clip(3 * np.round(months / 3), 6, 60)
    columns["duration"] = duration.astype(np.int64)
    columns["credit_history"] = categories(HISTORY)
    columns["purpose"] = categories(PURPOSE)
    amount = np.exp(generator.normal(5.5, 0.55, rows)) * duration**0.75
    amount = np.clip(10 * np.round(amount / 10), 250, 18000)
    columns["credit_amount"] = amount.astype(np.int64)
    savings = np.exp(generator.normal(6.2, 1.2, rows))
    has_savings = generator.random(rows) > 1 / 6
    columns["savings"] = pa.array(np.round(savings).astype(np.int64), mask=~has_savings)
    employment = np.round(generator.gamma(1.2, 5.0, rows)).clip(0, 40)
    columns["employment_years"] = employment.astype(np.int64)
    age = np.round(19 + employment + generator.gamma(2.0, 5.0, rows)).clip(19, 75)
    columns["age"] = age.astype(np.int64)
    columns["housing"] = categories(HOUSING)
    logit += 0.035 * (duration - 21) + 0.00007 * (amount - 3300) - 0.02 * (age - 35)
    logit -= 0.06 * (employment - 6) + 0.3 * np.log(savings.clip(1) / 500)
    bad = generator.random(rows) < 1 / (1 + np.exp(-logit))
    columns["risk"] = np.where(bad, "bad", "good").tolist()
    return pa.table(columns)


NEW_SEED, NEW, REFUSED = 22, 10, 5
"""Seed and number of the applications, and the one that is explained, counted from 1."""
FORGOTTEN = 17  # the training row that is forgotten, counted from 1
CHANGEABLE = "credit_amount", "duration"
REASONS = 4  # contributions that are printed, at most


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
        out.print(f"{change.feature} {change.value} → {change.to}: {probability}")

    _command(out, "forget", model, row, "-o", other)
    other_rows = pa.concat_tables([training.slice(0, FORGOTTEN - 1), training.slice(FORGOTTEN)])
    _forget(out, saved, row, other_rows)
    models.write(saved, other)
    out.print(note("\nThe commands print more than is shown here. All commands: naively --help"))


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
    equality = f"the model is {comparison} one trained on the {len(others):,} other rows"
    out.print(f"forgot 1 row in {seconds:.2g} s: {equality}")
