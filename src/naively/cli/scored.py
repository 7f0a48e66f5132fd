"""How good predictions are, as people and programs read it."""

from __future__ import annotations

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from naively.cli import layout
from naively.cli.layout import clean, new_facts, new_table, note
from naively.cli.metrics import Scores
from naively.cli.work import Evaluated
from naively.model import Model


def evaluated(result: Evaluated) -> None:
    """What `naively evaluate` found."""
    scores, model = result.scores, result.table.model
    out = layout.console()
    out.print(comparison(scores, model))
    if scores.strangers < scores.rows:
        out.print()
        out.print(confusion(scores, model, out.width))
    out.print()
    facts = new_facts()
    facts.add_row("rows", f"{scores.rows:,}{layout.skipped(result.unlabelled)}")
    if scores.strangers:
        facts.add_row(
            "unknown", f"{scores.strangers:,} of them with a label that the model never met: "
            "errors, but not in the log-loss nor in the table",
        )  # fmt: skip
    facts.add_row("time", layout.pace(result.seconds, scores.rows))
    out.print(facts)


def confusion(scores: Scores, model: Model, width: int) -> Table:
    """The confusion matrix; or, if it is too wide, the mistakes that are most frequent."""
    names = [clean(label, 16) for label in model.classes.tolist()]
    widest = [max(len(n), len(f"{scores.confusion[:, j].max():,}")) for j, n in enumerate(names)]
    if sum(w + 2 for w in widest) + max(map(len, names)) + 6 > width:
        return _mistakes(scores, [clean(label, 30) for label in model.classes.tolist()])
    table = new_table()
    table.add_column("true \\ said", style="bold", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for i, name in enumerate(names):
        counts = scores.confusion[i].tolist()
        table.add_row(
            name,
            *(
                Text(f"{count:,}" if count else "·",
                     style="bold green" if i == j else "red" if count else "dim")
                for j, count in enumerate(counts)
            ),
        )  # fmt: skip
    return table


def _mistakes(scores: Scores, names: list[str]) -> Table:
    wrong = scores.confusion.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:10]
    table = new_table()
    for name in ("true", "said"):
        table.add_column(name, no_wrap=True)
    table.add_column("rows", justify="right")
    for place in order.tolist():
        i, j = divmod(place, len(names))
        if wrong[i, j]:
            table.add_row(names[i], names[j], Text(f"{wrong[i, j]:,}", style="red"))
    return table


def comparison(scores: Scores, model: Model) -> Group:
    """How the predictions do, beside those that look at no column."""
    usual = clean(model.classes[model.class_weight.rounded().argmax()], 30)
    table = new_table()
    table.add_column("")
    table.add_column("model", justify="right", style="bold")
    table.add_column("baseline", justify="right")
    table.add_row("accuracy", f"{scores.accuracy:.2%}", f"{scores.majority:.2%}")
    losses = (f"{loss:#.4g}" for loss in (scores.log_loss, scores.prior_log_loss))
    table.add_row("log-loss (nats)", *losses)
    table.add_row("balanced accuracy", f"{scores.balanced_accuracy:.2%}", "")
    table.add_row("macro F1", f"{scores.macro_f1:.4f}", "")
    table.add_row("Brier score", f"{scores.brier:.4f}", "")
    table.add_row("calibration error", f"{scores.calibration_error:.2%}", "")
    return Group(table, note(f"baseline: always {usual}; for the log-loss, the class prior"))
