"""Printing: tables for people on a terminal, plain text in a pipe."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from naively.cli.inside import View
from naively.cli.metrics import Scores
from naively.cli.work import Evaluated, Fitted
from naively.files.safetensors import Saved
from naively.model import Model

LISTED = 10  # classes that a list shows


class Plain(Console):
    """A console for pipes and files: no spaces at the ends of lines."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as `Console.print` does."""
        with self.capture() as captured:
            super().print(*objects, **options)
        sys.stdout.writelines(line.rstrip() + "\n" for line in captured.get().splitlines())


def console() -> Console:
    """Standard output; labels with brackets in them are no markup."""
    if sys.stdout.isatty():
        return Console(markup=False, highlight=False, emoji=False)
    return Plain(markup=False, highlight=False, emoji=False, width=100)


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(_finite(value), allow_nan=False) + "\n")


def _finite(value: Any) -> Any:
    """The value with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def clean(value: Any, longest: int = 40) -> str:
    """A label or name as a terminal may show it: no control characters, not too long."""
    text = str(value)
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def fitted(result: Fitted, output: str, size: int) -> None:
    """What `naively fit` did."""
    model = result.model
    facts = _facts()
    facts.add_row("model", f"{model.family.name} naive Bayes, {model.n_parameters:,} parameters")
    facts.add_row("target", clean(result.target))
    facts.add_row("rows", f"{result.rows:,}{_skipped(result.unlabelled)}")
    gone = f", {result.missing:,} of their values missing" if result.missing else ""
    facts.add_row("features", f"{model.n_features:,}{gone}")
    facts.add_row("classes", _classes(model))
    facts.add_row("time", _pace(result.reading, "learned", result.learning, result.rows))
    facts.add_row("written", f"{clean(output, 200)} ({_bytes(size)})")
    out = console()
    out.print(facts)
    if result.held is not None:
        out.print()
        out.print(Text(f"On {result.held.rows:,} rows held out:", style="bold"))
        out.print(_comparison(result.held, model))


def evaluated(result: Evaluated) -> None:
    """What `naively evaluate` found."""
    scores, model = result.scores, result.model
    out = console()
    out.print(_comparison(scores, model))
    out.print()
    out.print(confusion(scores, model, out.width))
    out.print()
    facts = _facts()
    facts.add_row("rows", f"{scores.rows:,}{_skipped(result.unlabelled)}")
    if scores.strangers:
        facts.add_row(
            "unknown", f"{scores.strangers:,} of them with a label that the model never met: "
            "errors, but not in the log-loss nor in the table",
        )  # fmt: skip
    facts.add_row("time", _pace(result.reading, "predicted", result.predicting, scores.rows))
    out.print(facts)


def inspected(saved: Saved, shown: View | None, path: str) -> None:
    """What a model file holds."""
    model = saved.model
    out = console()
    facts = _facts()
    facts.add_row("file", clean(path, 200))
    if shown is not None:
        facts.add_row(
            "model", f"{model.family.name} naive Bayes, {model.n_parameters:,} parameters"
        )
    facts.add_row("estimator", f"{clean(saved.estimator)}({_params(saved.params)})")
    if target := saved.extra.get("target"):
        facts.add_row("target", clean(target))
    facts.add_row("features", f"{model.n_features:,}")
    facts.add_row("classes", f"{len(model.classes):,}")
    facts.add_row("written by", f"naively {clean(saved.written_by)}")
    out.print(facts)
    if shown is None:
        out.print("\nThe model knows no class: it learned nothing yet, or forgot everything.")
        return
    out.print()
    out.print(_priors(model))
    out.print()
    rest = f" of {shown.total:,}" if len(shown.names) < shown.total else ""
    kinds = "levels" if model.family.name == "categorical" else "features"
    title = f"{shown.meaning.capitalize()}, by class: {len(shown.names):,}{rest} {kinds}"
    out.print(Text(f"{title}, most telling first", style="bold"))
    out.print(_parameters(shown, model, out.width))


def confusion(scores: Scores, model: Model, width: int) -> Table:
    """The confusion matrix; or, if it is too wide, the mistakes that are most frequent."""
    names = [clean(label, 16) for label in model.classes.tolist()]
    widest = [max(len(n), len(f"{scores.confusion[:, j].max():,}")) for j, n in enumerate(names)]
    if sum(w + 2 for w in widest) + max(map(len, names)) + 6 > width:
        return _mistakes(scores, names)
    table = _table()
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
    table = _table()
    for name in ("true", "said"):
        table.add_column(name, no_wrap=True)
    table.add_column("rows", justify="right")
    for place in order.tolist():
        i, j = divmod(place, len(names))
        if wrong[i, j]:
            table.add_row(names[i], names[j], Text(f"{wrong[i, j]:,}", style="red"))
    return table


def _comparison(scores: Scores, model: Model) -> Group:
    usual = clean(model.classes[model.class_prior.argmax()], 30)
    table = _table()
    table.add_column("")
    table.add_column("model", justify="right", style="bold")
    table.add_column("baseline", justify="right")
    table.add_row("accuracy", f"{scores.accuracy:.2%}", f"{scores.majority:.2%}")
    table.add_row("log-loss (nats)", number(scores.log_loss), number(scores.prior_log_loss))
    table.add_row("macro F1", number(scores.macro_f1), "")
    return Group(table, _note(f"baseline: always {usual}; for the log-loss, the class prior"))


def _priors(model: Model) -> Group:
    table = _table()
    table.add_column("class", style="bold", no_wrap=True)
    table.add_column("prior", justify="right")
    table.add_column("weight of its rows", justify="right")
    weights = model.class_weight.rounded()
    order = np.argsort(-weights, kind="stable") if len(weights) > 20 else np.arange(len(weights))
    for c in order[:20]:
        table.add_row(clean(model.classes[c]), f"{model.class_prior[c]:.4f}", f"{weights[c]:,.10g}")
    if len(weights) > 20:
        return Group(table, _note(f"and {len(weights) - 20:,} classes with fewer rows"))
    return Group(table)


def _parameters(shown: View, model: Model, width: int) -> Group:
    columns = list(shown.values.values())
    say = (lambda p: f"{100 * p:.1f}") if "p" in shown.values else number
    cells = [
        [" ± ".join(say(value[row, c]) for value in columns) for c in range(len(model.classes))]
        for row in range(len(shown.names))
    ]
    names = [clean(name, 30) for name in shown.names]
    labels = [clean(label, 16) for label in model.classes.tolist()]
    room = width - max(map(len, names), default=0) - 4
    table = _table()
    table.add_column("", style="bold", no_wrap=True)
    chosen: list[int] = []
    for c in np.argsort(-model.class_weight.rounded(), kind="stable").tolist():
        room -= max([len(labels[c]), *(len(row[c]) for row in cells)]) + 2
        if room < 0 and chosen:
            break
        chosen.append(c)
    for c in sorted(chosen):
        table.add_column(labels[c], justify="right", no_wrap=True)
    for name, row in zip(names, cells, strict=True):
        table.add_row(name, *(row[c] for c in sorted(chosen)))
    if len(chosen) < len(labels):
        return Group(
            table, _note(f"and {len(labels) - len(chosen):,} more classes: widen the terminal")
        )
    return Group(table)


def _note(text: str) -> Text:
    return Text(text, style="dim")


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)


def _facts() -> Table:
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="cyan", no_wrap=True)
    facts.add_column(overflow="fold")
    return facts


def _classes(model: Model) -> str:
    weights = model.class_weight.rounded()
    order = np.argsort(-weights, kind="stable") if len(weights) > LISTED else range(len(weights))
    listed = [f"{clean(model.classes[c], 20)} {weights[c]:,.0f}" for c in list(order)[:LISTED]]
    rest = len(weights) - LISTED
    return ", ".join(listed) + (f", and {rest:,} more with fewer rows" if rest > 0 else "")


def _params(params: dict[str, Any]) -> str:
    said = {name: value for name, value in params.items() if value is not None}
    return clean(", ".join(f"{name}={value!r}" for name, value in said.items()), 120)


def _skipped(rows: int) -> str:
    return f" ({rows:,} without a label skipped)" if rows else ""


def _pace(reading: float, what: str, seconds: float, rows: int) -> str:
    rate = float(f"{rows / max(seconds, 1e-9):.3g}")
    return f"read in {reading:.3f} s, {what} in {seconds:.3g} s ({rate:,.0f} rows/s)"


def _bytes(size: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size //= 1000
    return f"{size:,} GB"


def number(value: float) -> str:
    """Four digits that matter."""
    value = float(value)
    return f"{value:.4g}" if abs(value) < 1e5 or not np.isfinite(value) else f"{value:.2e}"
