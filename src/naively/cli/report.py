"""Printing: tables for people on a terminal, plain text in a pipe."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.console import Group
from rich.text import Text

from naively.cli import evidence, inside, layout, parting, scores, words
from naively.cli.columns import cell, print_columns, telling
from naively.cli.layout import clean, facts, new_table, note, with_notes
from naively.cli.models import labels_of, target_of
from naively.cli.work import Fitted
from naively.evaluation.tally import Scores
from naively.families.base import Family
from naively.families.describing import Section
from naively.families.text import Text as TextFamily
from naively.files.digest import digest
from naively.files.safetensors import Saved
from naively.markup import counted, magnitude
from naively.model import Model
from naively.plain import rows_in_words
from naively.tables.inputs import MISSING
from naively.tables.telling import entropy

DEFAULTS: dict[str, Any] = {  # of the estimators' parameters, besides None
    **{one.name: one.default for one in fields(TextFamily)},
    "alpha": 1.0, "prior": "empirical", "prior_smoothing": 0.0, "unseen": "smooth",
    "missing": MISSING, "var_smoothing": 1e-9, "ddof": 0, "floor": "largest", "binarize": 0.0,
    "fit_prior": True, "force_alpha": True, "norm": False, "min_categories": None,
    "interactions": "auto", "limit": 1_000_000,
}  # fmt: skip
MOST = 30  # rows of one table


def fitted(result: Fitted, output: Path, limit: int) -> None:
    """What `naively fit` did."""
    model = result.model
    out = layout.console()
    rows = rows_in_words(model.rows, model.rows, model.unlabelled)
    out.print(facts(target=clean(model.target), rows=rows, classes=_classes(model)))
    out.print()
    print_columns(out, model, inside.columns(model), limit)
    out.print()
    if result.left_out is not None:
        out.print(Text(scores.title(result.left_out, model), style="bold"))
        out.print(scores.comparison(result.left_out, model))
        out.print()
    out.print(
        facts(
            parameters=magnitude(model.posterior().n_parameters),
            time=layout.pace(result.seconds, model.rows),
            written=layout.written(output),
        )
    )
    if result.held is not None:
        out.print()
        rows = counted(int(result.held.rows), "row")
        out.print(Text(f"On {rows} held out, and learned afterwards:", style="bold"))
        out.print(scores.comparison(result.held, model))


def predicted_first(found: Scores, model: Model) -> None:
    """How well `naively update --evaluate` predicted rows before it learned them."""
    out = layout.console()
    out.print()
    out.print(
        Text(f"On {counted(int(found.rows), 'row')}, before they were learned:", style="bold")
    )
    out.print(scores.comparison(found, model))


def inspected(saved: Saved, model: Model | None, path: str, limit: int) -> None:
    """What a model file holds; `model` has names for its columns, or is None without a class."""
    out = layout.console()
    target = target_of(saved)
    out.print(
        facts(
            file=clean(path, 200),
            parameters=None if model is None else magnitude(model.posterior().n_parameters),
            estimator=estimator(saved),
            target=clean(target) if target else None,
            features=f"{saved.model.n_features:,}",
            classes=f"{len(saved.model.classes):,}",
            written_by=f"naively {clean(saved.written_by)}",
            **({} if model is None else _left_out_loss(model)),
        )
    )
    if model is None:
        out.print("\nThe model knows no class: it learned nothing yet, or forgot everything.")
        return
    out.print()
    out.print(_priors(model))
    out.print()
    columns = inside.columns(model)
    print_columns(out, model, columns, limit)
    parting.printed(out, saved)
    best = [column.name for column in telling(columns)[:limit]]
    for section in inside.sections(model):
        rows = [row for name in best for row in section.rows.get(name, ())]
        if not rows:
            continue
        shown = rows if len(rows) <= MOST else sorted(rows, key=_spread, reverse=True)[:MOST]
        out.print()
        out.print(Text(f"{section.meaning.capitalize()}, by class", style="bold"))
        out.print(_parameters(section, shown, model, out.width))
        if len(rows) > MOST:
            out.print(note(f"and {len(rows) - MOST:,} more, where the classes differ less"))
    for text in words.words_of(model, limit):
        if text.name in best:
            out.print()
            out.print(words.listed(text, model, out.width))


def _spread(row: tuple[str, dict[str, Any]]) -> float:
    """How far apart the classes are."""
    values = next(iter(row[1].values()))
    return float(np.ptp(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0


def _priors(model: Model) -> Group:
    table = new_table("class")
    table.add_column("prior", justify="right")
    table.add_column("weight of its rows", justify="right")
    weights, prior = model.class_weight.rounded(), model.posterior().class_prior
    rest = len(weights) - 20
    order = np.argsort(-weights, kind="stable") if rest > 0 else np.arange(len(weights))
    for c in order[:20]:
        table.add_row(clean(model.classes[c]), f"{prior[c]:.4f}", f"{weights[c]:,.10g}")
    more = f"and {counted(rest, 'class', 'classes')} with fewer rows"
    return with_notes(table, more if rest > 0 else None)


def _parameters(
    section: Section, rows: list[tuple[str, dict[str, Any]]], model: Model, width: int
) -> Group:
    cells = [
        [cell(section, values, c).replace("%", "") for c in range(len(model.classes))]
        for _, values in rows
    ]
    names = [clean(name, 40) for name, _ in rows]
    labels = [clean(label, 16) for label in model.classes.tolist()]
    room = width - max(map(len, names), default=0) - 4
    chosen: list[int] = []
    for c in np.argsort(-model.class_weight.rounded(), kind="stable").tolist():
        room -= max([len(labels[c]), *(len(row[c]) for row in cells)]) + 2
        if room < 0 and chosen:
            break
        chosen.append(c)
    chosen.sort()
    table = new_table("", *(labels[c] for c in chosen))
    for name, row in zip(names, cells, strict=True):
        table.add_row(name, *(row[c] for c in chosen))
    rest = len(labels) - len(chosen)
    return with_notes(table, f"and {rest:,} more classes: widen the terminal" if rest else None)


def _left_out_loss(model: Model) -> dict[str, str]:
    """That of a model that weighs evidence."""
    found = inside.evidence(model)
    return {} if found is None else {"log-loss": evidence.losses_in_words(model, found)}


def _classes(model: Model) -> str:
    labels = labels_of(model)
    weights = model.class_weight.rounded()[len(model.classes) - len(labels) :].tolist()
    return layout.classes_listed(dict(zip(labels, weights, strict=True)))


def estimator(saved: Saved) -> str:
    """The estimator with the parameters that are not the default ones."""
    usual = DEFAULTS
    if saved.estimator in ("GaussianBayes", "GaussianNB"):
        usual = {**DEFAULTS, "alpha": 0.0}  # no virtual rows
    elif saved.estimator == "TextNB":
        usual = {**DEFAULTS, "alpha": None, "weights": "auto"}
    given = {name: value for name, value in saved.params.items() if value not in ((), [])}
    said = {name: value for name, value in given.items() if value != usual.get(name)}
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


def changed(what: str, rows: int | None, model: Model, output: Path, **more: str | None) -> None:
    """What `naively update`, `forget` or `merge` did."""
    said = {} if rows is None else {what: counted(rows, "row")}
    classes = _classes(model) or "none: everything was forgotten"
    layout.console().print(facts(**said, **more, classes=classes, written=clean(output, 200)))


def fit_json(result: Fitted, output: str) -> dict[str, Any]:
    """What `naively fit` did, for programs."""
    model = result.model
    return {
        "model": output,
        "target": model.target,
        "rows": model.rows,
        "skipped": model.unlabelled,
        "seconds": result.seconds,
        **_model_json(model),
        "left_out_rows": None if result.left_out is None else result.left_out.as_json(),
        "held_out": None if result.held is None else result.held.as_json(),
    }


def inspect_json(saved: Saved, model: Model | None) -> dict[str, Any]:
    """What a model file holds, for programs; `model` as `inspected` takes it."""
    answer = {
        "estimator": saved.estimator,
        "target": target_of(saved),
        "written_by": saved.written_by,
        "n_features": saved.model.n_features,
        "rows": saved.model.rows,
        "digest": digest(saved.model),
        "parts": parting.as_json(saved),
    }
    if model is None:
        return {**answer, "classes": saved.model.classes.tolist()}
    parameters = [
        {
            "meaning": section.meaning.replace(" in %", ""),  # in which people see p
            "rows": [
                {"column": name, "label": label,
                 **{key: value.tolist() for key, value in values.items()}}
                for name, rows in section.rows.items() for label, values in rows
            ],
        }
        for section in inside.sections(model) if any(section.rows.values())
    ]  # fmt: skip
    labels = model.classes.tolist()
    texts = {text.name: text.as_json(labels) for text in words.words_of(model, MOST)}
    return {**answer, **_model_json(model), "parameters": parameters, "texts": texts}


def countable(value: int) -> int | str:
    """A number as JSON can hold it: of a joint table's cells there may be thousands of digits."""
    return value if value < 1 << 64 else magnitude(value)


def _model_json(model: Model) -> dict[str, Any]:
    posterior, found = model.posterior(), inside.evidence(model)
    return {
        "classes": model.classes.tolist(),
        "class_weight": model.class_weight.rounded().tolist(),
        "class_prior": posterior.class_prior.tolist(),
        "class_entropy": entropy(posterior),
        "n_parameters": countable(posterior.n_parameters),
        "columns": [vars(column) for column in inside.columns(model)],
        "left_out": inside.left_out(model),
        **({} if found is None else {"evidence": evidence.as_json(model, found)}),
        "invalid": {
            name: {"values": one.count, "example": str(one.example)}
            for name, one in model.invalid.items()
        },
    }
