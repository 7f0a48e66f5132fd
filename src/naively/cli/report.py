"""Printing: tables for people on a terminal, plain text in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, cast

import numpy as np
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from naively.cli import inside, layout, progress, words
from naively.cli.layout import clean, counted, in_bytes, new_facts, new_table, note, number
from naively.cli.metrics import Scores
from naively.cli.models import target_of
from naively.cli.work import Evaluated, Fitted
from naively.families.base import Family
from naively.families.text import Text as TextFamily
from naively.files.safetensors import Saved
from naively.markup import magnitude
from naively.model import Model
from naively.tables.inputs import MISSING
from naively.tables.model import TableModel

LISTED = 10  # classes that a list shows
DEFAULTS: dict[str, Any] = {  # of the estimators' parameters, besides None
    **{one.name: one.default for one in fields(TextFamily)},
    "alpha": 1.0, "prior": "empirical", "prior_smoothing": 0.0, "unseen": "smooth",
    "missing": MISSING, "var_smoothing": 1e-9, "ddof": 0, "floor": "largest", "binarize": 0.0,
    "fit_prior": True, "force_alpha": True, "norm": False, "min_categories": None,
}  # fmt: skip
MOST = 30  # rows of one table


def fitted(result: Fitted, output: str, size: int, limit: int) -> None:
    """What `naively fit` did."""
    table = result.table
    model = table.model
    out = layout.console()
    facts = new_facts()
    facts.add_row("target", clean(table.target))
    facts.add_row("rows", f"{table.rows:,}{_skipped(table.unlabelled)}")
    facts.add_row("classes", _classes(model))
    out.print(facts)
    out.print()
    told = inside.columns(table)
    _print_columns(out, table, told, limit)
    out.print()
    facts = new_facts()
    facts.add_row("parameters", magnitude(model.n_parameters))
    facts.add_row("time", _pace(result.seconds, table.rows))
    facts.add_row("written", f"{clean(output, 200)} ({in_bytes(size)})")
    out.print(facts)
    if result.held is not None:
        out.print()
        rows = counted(result.held.rows, "row")
        out.print(Text(f"On {rows} held out, and learned afterwards:", style="bold"))
        out.print(_comparison(result.held, model))
        if result.held.log_loss > result.held.prior_log_loss:
            hint = "" if all(column.bits is None for column in told) else ": try --family auto"
            out.print(note(f"its probabilities are worse than the class prior's{hint}"))


def warned(table: TableModel) -> None:
    """Notes on values that columns could not take, on standard error."""
    for name, unfit in table.unfit.items():
        family = table.schema.known[name].name
        progress.note(
            f"column {clean(name)!r} ({family}): {counted(unfit.count, 'value')} such as "
            f"{clean(unfit.example)!r} cannot be learned and count as missing"
        )


def _print_columns(out: Console, table: TableModel, told: list[inside.Column], limit: int) -> None:
    """The columns that were learned, and those left out."""
    out.print(_columns(table, told, limit, out.width))
    skipped = table.schema.skipped | inside.wordless(table)
    for name, reason in list(skipped.items())[:limit]:
        out.print(note(f"left out: {clean(name)} ({clean(reason, 80)})"))
    if len(skipped) > limit:
        rest = counted(len(skipped) - limit, "more column" if limit else "column")
        out.print(note(f"left out: {rest}"))


def _telling(told: list[inside.Column]) -> list[inside.Column]:
    """The columns, text first, then the most telling."""
    return sorted(told, key=lambda column: -np.inf if column.bits is None else -column.bits)


def _columns(table: TableModel, told: list[inside.Column], limit: int, width: int) -> Group:
    """A line a column, the most telling first."""
    rest = max(len(told) - limit, 0)
    if limit == 0:
        return Group(note(f"{counted(rest, 'column')}; --features shows them"))
    model = table.model
    said = {name: row for section in inside.sections(table) for name, row in _words(section, model)}
    rows = [
        (
            clean(column.name, 24), column.family, said[column.name],
            f"{column.missing:,.10g}" if column.missing else "·",
            "·" if column.bits is None else f"{column.bits:.3f}",
        )
        for column in _telling(told)[:limit]
    ]  # fmt: skip
    heads = ("column", "family", "by class", "missing", "bits")
    widths = [max(map(len, cells)) for cells in zip(heads, *rows, strict=True)]
    room = max(width - sum(widths) + widths[2] - 2 * len(heads), len(heads[2]))
    shown = new_table()
    shown.add_column(heads[0], style="bold", no_wrap=True)
    shown.add_column(heads[1], no_wrap=True)
    shown.add_column(heads[2], no_wrap=True)
    for head in heads[3:]:
        shown.add_column(head, justify="right", no_wrap=True)
    for name, family, word, *numbers in rows:
        shown.add_row(name, family, clean(word, room), *numbers)
    notes = []
    if any(column.bits is not None for column in told):
        meaning = "what the column alone tells about the class (mutual information under the model)"
        notes.append(note(f"bits: {meaning}"))
    if rest:
        less = " that tell less" if _telling(told)[limit - 1].bits is not None else ""
        notes.append(note(f"and {counted(rest, 'more column')}{less}"))
    return Group(shown, *notes)


def _words(section: inside.Section, model: Model) -> Iterator[tuple[str, str]]:
    """(column, its parameters in a few words)."""
    classes = [clean(label, 12) for label in model.classes.tolist()]
    for name, rows in section.rows.items():
        if name in section.words:
            yield name, clean(section.words[name], 200)
            continue
        values = rows[0][1]
        texts = [_cell(section, values, c) for c in range(len(classes))]
        if len(classes) <= 3:
            yield name, ", ".join(f"{a}: {b}" for a, b in zip(classes, texts, strict=True))
        else:
            first = next(iter(values.values()))
            if np.isnan(first).all():
                yield name, "no values"
                continue
            low, high = int(np.nanargmin(first)), int(np.nanargmax(first))
            if low == high:
                yield name, f"{texts[low]} in every class"
                continue
            yield name, f"{classes[low]}: {texts[low]} ... {classes[high]}: {texts[high]}"


def _cell(section: inside.Section, values: dict[str, Any], c: int) -> str:
    say = (lambda p: f"{100 * p:.1f}%") if "p" in values else number
    return section.signs.join(say(value[c]) for value in values.values())


def evaluated(result: Evaluated) -> None:
    """What `naively evaluate` found."""
    scores, model = result.scores, result.table.model
    out = layout.console()
    out.print(_comparison(scores, model))
    if scores.strangers < scores.rows:
        out.print()
        out.print(confusion(scores, model, out.width))
    out.print()
    facts = new_facts()
    facts.add_row("rows", f"{scores.rows:,}{_skipped(result.unlabelled)}")
    if scores.strangers:
        facts.add_row(
            "unknown", f"{scores.strangers:,} of them with a label that the model never met: "
            "errors, but not in the log-loss nor in the table",
        )  # fmt: skip
    facts.add_row("time", _pace(result.seconds, scores.rows))
    out.print(facts)


def inspected(saved: Saved, table: TableModel | None, path: str, limit: int) -> None:
    """What a model file holds."""
    model = saved.model if isinstance(saved.model, Model) else saved.model.model
    out = layout.console()
    facts = new_facts()
    facts.add_row("file", clean(path, 200))
    if table is not None:
        facts.add_row("parameters", magnitude(model.n_parameters))
    facts.add_row("estimator", _estimator(saved))
    if target := target_of(saved):
        facts.add_row("target", clean(target))
    facts.add_row("features", f"{model.n_features:,}")
    facts.add_row("classes", f"{len(model.classes):,}")
    facts.add_row("written by", f"naively {clean(saved.written_by)}")
    out.print(facts)
    if table is None:
        out.print("\nThe model knows no class: it learned nothing yet, or forgot everything.")
        return
    out.print()
    out.print(_priors(model))
    out.print()
    told = inside.columns(table)
    _print_columns(out, table, told, limit)
    best = [column.name for column in _telling(told)[:limit]]
    for section in inside.sections(table):
        rows = [row for name in best for row in section.rows.get(name, ())]
        if not rows:
            continue
        shown = rows if len(rows) <= MOST else sorted(rows, key=_spread, reverse=True)[:MOST]
        out.print()
        out.print(Text(f"{section.meaning.capitalize()}, by class", style="bold"))
        out.print(_parameters(section, shown, model, out.width))
        if len(rows) > MOST:
            out.print(note(f"and {len(rows) - MOST:,} more, where the classes differ less"))
    for text in words.words_of(table, limit):
        if text.name in best:
            out.print()
            out.print(words.told(text, model, out.width))


def _spread(row: tuple[str, dict[str, Any]]) -> float:
    """How far apart the classes are."""
    values = next(iter(row[1].values()))
    return float(np.ptp(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0


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


def _comparison(scores: Scores, model: Model) -> Group:
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


def _priors(model: Model) -> Group:
    table = new_table()
    table.add_column("class", style="bold", no_wrap=True)
    table.add_column("prior", justify="right")
    table.add_column("weight of its rows", justify="right")
    weights = model.class_weight.rounded()
    order = np.argsort(-weights, kind="stable") if len(weights) > 20 else np.arange(len(weights))
    for c in order[:20]:
        table.add_row(clean(model.classes[c]), f"{model.class_prior[c]:.4f}", f"{weights[c]:,.10g}")
    if len(weights) > 20:
        return Group(table, note(f"and {len(weights) - 20:,} classes with fewer rows"))
    return Group(table)


def _parameters(
    section: inside.Section, rows: list[tuple[str, dict[str, Any]]], model: Model, width: int
) -> Group:
    cells = [
        [_cell(section, values, c).replace("%", "") for c in range(len(model.classes))]
        for _, values in rows
    ]
    names = [clean(name, 40) for name, _ in rows]
    labels = [clean(label, 16) for label in model.classes.tolist()]
    room = width - max(map(len, names), default=0) - 4
    table = new_table()
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
            table, note(f"and {len(labels) - len(chosen):,} more classes: widen the terminal")
        )
    return Group(table)


def _classes(model: Model) -> str:
    weights = model.class_weight.rounded()
    order = np.argsort(-weights, kind="stable") if len(weights) > LISTED else range(len(weights))
    listed = [f"{clean(model.classes[c], 20)} {weights[c]:,.10g}" for c in list(order)[:LISTED]]
    rest = len(weights) - LISTED
    return ", ".join(listed) + (f", and {rest:,} more with fewer rows" if rest > 0 else "")


def _estimator(saved: Saved) -> str:
    """The estimator with the parameters that are not the default ones."""
    said = {
        name: value
        for name, value in saved.params.items()
        if value is not None and (name not in DEFAULTS or value != DEFAULTS[name])
    }
    listed = ", ".join(f"{name}={_code(value)}" for name, value in said.items())
    return f"{clean(saved.estimator)}({clean(listed, 200)})"


def _code(value: Any) -> str:
    """A parameter as it is written in Python, but for what need not or cannot be."""
    if isinstance(value, dict):
        pairs = [f"{key!r}: {_code(one)}" for key, one in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, Family):
        usual = {one.name: repr(one.default) for one in fields(cast(Any, value))}
        given = [(name, getattr(value, name)) for name in usual]
        said = [f"{name}={_code(one)}" for name, one in given if repr(one) != usual[name]]
        return f"{type(value).__name__}({', '.join(said)})"
    if isinstance(value, tuple | list) and len(value) > 5:
        return f"({', '.join(map(repr, value[:5]))}, ...)"
    return repr(value)


def _skipped(rows: int) -> str:
    return f" ({rows:,} without a label skipped)" if rows else ""


def _pace(seconds: float, rows: int) -> str:
    rate = float(f"{rows / max(seconds, 1e-9):.3g}")
    return f"{seconds:.3g} s, reading included ({rate:,.0f} rows/s)"


def changed(what: str, rows: int | None, model: Any, output: str) -> None:
    """What `naively update`, `forget` or `merge` did."""
    inner = model if isinstance(model, Model) else model.model
    facts = new_facts()
    if rows is not None:
        facts.add_row(what, counted(rows, "row"))
    facts.add_row("classes", _classes(inner) or "none: everything was forgotten")
    facts.add_row("written", clean(output, 200))
    layout.console().print(facts)


def fit_json(result: Fitted, output: str) -> dict[str, Any]:
    """What `naively fit` did, for programs."""
    table = result.table
    labels = table.model.classes.tolist()
    return {
        "model": output,
        "target": table.target,
        "rows": table.rows,
        "skipped": table.unlabelled,
        "seconds": result.seconds,
        **_model_json(table),
        "held_out": None if result.held is None else result.held.as_json(labels),
    }


def inspect_json(saved: Saved, table: TableModel | None) -> dict[str, Any]:
    """What a model file holds, for programs."""
    model = saved.model if isinstance(saved.model, Model) else saved.model.model
    answer = {
        "estimator": saved.estimator,
        "target": target_of(saved),
        "written_by": saved.written_by,
        "n_features": model.n_features,
    }
    if table is None:
        return {**answer, "classes": model.classes.tolist()}
    parameters = [
        {
            "meaning": section.meaning,
            "rows": [
                {"column": name, "label": label,
                 **{key: inside.plain(value) for key, value in values.items()}}
                for name, rows in section.rows.items() for label, values in rows
            ],
        }
        for section in inside.sections(table) if any(section.rows.values())
    ]  # fmt: skip
    texts = {
        text.name: text.as_json(model.classes.tolist()) for text in words.words_of(table, MOST)
    }
    return {**answer, **_model_json(table), "parameters": parameters, "texts": texts}


def countable(value: int) -> int | str:
    """A number as JSON can hold it: of a joint table's cells there may be thousands of digits."""
    return value if value < 1 << 64 else magnitude(value)


def _model_json(table: TableModel) -> dict[str, Any]:
    model = table.model
    return {
        "classes": model.classes.tolist(),
        "class_weight": model.class_weight.rounded().tolist(),
        "class_prior": model.class_prior.tolist(),
        "n_parameters": countable(model.n_parameters),
        "columns": [vars(column) for column in inside.columns(table)],
        "left_out": table.schema.skipped | inside.wordless(table),
        "unfit": {
            name: {"values": one.count, "example": str(one.example)}
            for name, one in table.unfit.items()
        },
    }
