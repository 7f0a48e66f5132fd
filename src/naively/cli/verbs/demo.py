"""`naively demo`: handwritten digits, from table to confusion matrix."""

from __future__ import annotations

import csv
import io
import shlex
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from naively.cli import models, sources, terminal, work
from naively.cli.options import parsed_family
from naively.cli.verbs import scores, summary
from naively.storage.atomic import replacing
from naively.storage.model_files import Saved
from naively.tables.inference import ColumnOptions
from naively.tables.learning import TrainingSpec

SEED = 0
TRAINED = 1200  # of 1797 rows
SHADES = " ░▒▓█"


def run(folder: Path) -> None:
    """Write the tables, then do what a user would, by the same functions as the commands."""
    train, test, model = (
        folder / name for name in ("digits-train.csv", "digits-test.csv", "digits.model")
    )
    out = terminal.console()
    X, y = _write_tables(folder, train, test)
    out.print(
        f"Handwritten digits, 8 × 8 pixels of 17 shades: {TRAINED:,} to learn from, "
        f"{len(X) - TRAINED:,} to be tested on.\n"
    )
    for row in _pictures(X, y):
        out.print(Text(row, style="dim"))
    learning = _command("fit", train, "--target digit --family categorical --features 5 -o", model)
    testing = _command("evaluate", model, test)
    out.print(Text(f"\n$ {learning}", style="bold"), soft_wrap=True)
    family = parsed_family("categorical")
    fitted = work.fit(
        sources.opened([str(train)]), TrainingSpec("digit", ColumnOptions({}, numeric=family))
    )
    saved = Saved(fitted.model, "NaiveBayes", {"family": family})
    models.write(saved, model)
    summary.fitted(fitted, saved, model, 5)
    out.print(Text(f"\n$ {testing}", style="bold"), soft_wrap=True)
    scores.evaluated(work.evaluate(models.load(model), sources.opened([str(test)]), None))
    out.print(Text("\nNow you. To do it again by hand, and to look further:", style="bold"))
    for line in (
        learning,
        testing,
        _command("inspect", model),
        _command("explain", model, test, "--row 7"),
        _command("predict", model, test, "--proba"),
    ):
        out.print(f"  {line}", soft_wrap=True)


def _command(*words: str | Path) -> str:
    """A command as a shell takes it; files are quoted where they must be."""
    said = (shlex.quote(str(word)) if isinstance(word, Path) else word for word in words)
    return " ".join(["naively", *said])


def _write_tables(folder: Path, train: Path, test: Path) -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = X.astype(np.int64)
    order = np.random.default_rng(SEED).permutation(len(X))
    X, y = X[order], y[order]
    folder.mkdir(parents=True, exist_ok=True)
    header = [f"pixel_{i}_{j}" for i in range(8) for j in range(8)] + ["digit"]
    for path, part in ((train, slice(0, TRAINED)), (test, slice(TRAINED, None))):
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(header)
        lines.writerows(np.column_stack([X[part], y[part]]).tolist())
        with replacing(path) as temporary:
            temporary.write_text(text.getvalue(), encoding="utf-8")
    return X, y


def _pictures(X: Any, y: Any) -> list[str]:
    """One picture of each of a few digits, side by side, two columns a pixel."""
    chosen = [int(np.argmax(y == digit)) for digit in (0, 2, 4, 8)]
    images = X[chosen].reshape(-1, 8, 8) * (len(SHADES) - 1) // 16
    return [
        "  " + "  ".join("".join(2 * SHADES[shade] for shade in image[row]) for image in images)
        for row in range(8)
    ]
