"""`naively compare`: learning curves of naive Bayes and its alternatives."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from naively.cli import progress, terminal
from naively.cli.errors import UsageError
from naively.cli.results import pictures
from naively.cli.sources import Opened
from naively.cli.terminal import clean, new_table, room_beside
from naively.cli.work import sampled
from naively.evaluation import compare
from naively.evaluation.alternatives import alternatives
from naively.evaluation.compare import (
    Comparison,
    check_seconds,
    check_splits,
    checked_sizes,
    examine,
)
from naively.tables.learning import TrainingSpec

NAMES = 40  # characters of a name, at most, if sizes must give way


def run(
    source: Opened, spec: TrainingSpec, estimators: Sequence[str] | None, splits: int,
    only: Sequence[str] | None, seconds: float, sizes: str | None,
) -> Comparison:  # fmt: skip
    """Compare models on the rows of files."""
    if estimators:
        sys.path.insert(0, "")  # so that classifiers in the current folder can be imported
    try:
        option = "--splits"
        check_splits(splits)
        option = "--seconds"
        check_seconds(seconds)
        option = "--sizes"
        rows_learned = checked_sizes(_numbers(sizes))
        option = "--estimators"
        classifiers = alternatives(estimators or [])
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
    rows = sampled(source, spec)
    return examine(
        rows, spec.columns, classifiers, splits, spec.seed, only or (), seconds, rows_learned,
        progress.steps,
    )  # fmt: skip


def _numbers(text: str | None) -> list[int]:
    """Parse numbers such as 10,100,1000; ValueError if one is not a number."""
    if text is None:
        return []
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(f"write numbers of rows, as 10,100,1000, not {text!r}") from None


def draw(comparison: Comparison, picture: Path, accuracy: bool = False) -> None:
    """Draw the learning curves to a file."""
    display = pictures.displays().LearningCurvesDisplay
    pictures.write(display.from_comparison(comparison, accuracy=accuracy), picture)


def compared(comparison: Comparison, accuracy: bool, spec: TrainingSpec) -> None:
    """Print a comparison."""
    out = terminal.console()
    out.print(terminal.facts(**comparison.examined))
    out.print()
    out.print(_curves(comparison, out.width, accuracy))
    terminal.remark(out, compare.notes(comparison, accuracy))
    out.print()
    terminal.recommend(out, comparison.verdict, comparison.target, comparison.advised, spec)


def _curves(comparison: Comparison, width: int, accuracy: bool) -> Table:
    """A table with a row per candidate, and as many sizes as fit."""
    longest = min(max(len(one.name) for one in comparison.candidates), NAMES)
    for count in range(max(len(comparison.sizes), 2), 1, -1):
        columns = compare.places(comparison.sizes, count)
        headings = compare.heads([comparison.sizes[k] for k in columns])
        rows = [compare.cells(one, columns, accuracy) for one in comparison.candidates]
        name_width = room_beside(list(zip(headings, *rows, strict=True))[1:], width)
        if name_width >= longest:
            break
    table = new_table(*headings, style="")
    best = min(
        comparison.candidates, key=lambda one: (one.error[-1] != one.error[-1], one.error[-1])
    )
    for one, (name, *cells) in zip(comparison.candidates, rows, strict=True):
        style = "bold green" if one is best else "" if one.kind == "naive" else "dim"
        table.add_row(clean(name, max(name_width, 10)), *cells, style=style)
    return table
