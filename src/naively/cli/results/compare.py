"""`naively compare`: learning curves of naive Bayes and its alternatives."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from naively.cli import progress, terminal
from naively.cli.errors import UsageError
from naively.cli.results import pictures
from naively.cli.sources import Opened
from naively.cli.work import sampled
from naively.evaluation import compare
from naively.evaluation.alternatives import alternatives
from naively.rendering import on_page
from naively.tables.learning import TrainingSpec


def run(
    source: Opened, spec: TrainingSpec, estimators: Sequence[str] | None, splits: int,
    only: Sequence[str] | None, seconds: float, sizes: str | None,
) -> compare.Comparison:  # fmt: skip
    """Compare models on the rows of files."""
    if estimators:
        sys.path.insert(0, "")  # so that classifiers in the current folder can be imported
    try:
        option = "--splits"
        compare.check_splits(splits)
        option = "--seconds"
        compare.check_seconds(seconds)
        option = "--sizes"
        rows_learned = compare.checked_sizes(_numbers(sizes))
        option = "--estimators"
        classifiers = alternatives(estimators or [])
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
    rows = sampled(source, spec)
    return compare.examine(
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


def draw(comparison: compare.Comparison, picture: Path, accuracy: bool = False) -> None:
    """Draw the learning curves to a file."""
    display = pictures.displays().LearningCurvesDisplay
    pictures.write(display.from_comparison(comparison, accuracy=accuracy), picture)


def compared(comparison: compare.Comparison, accuracy: bool, spec: TrainingSpec) -> None:
    """Print a comparison."""
    out = terminal.console()
    out.print(terminal.facts(**comparison.examined))
    out.print(on_page(*comparison.parts(accuracy), width=out.width))
    out.print()
    terminal.recommend(out, comparison.verdict, comparison.target, comparison.advised, spec)
