"""Print the results of `naively fit` and `inspect`: a model's summary, its file, its parts."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

from rich.text import Text

from naively import summary_tables
from naively.cli import models, parts, progress, terminal
from naively.cli.results.scores import comparison
from naively.cli.terminal import clean, facts
from naively.cli.work import Fitted
from naively.core.markup import counted
from naively.evaluation.metrics import Scores
from naively.evaluation.model_ladder import lone_text, text_code
from naively.families.base import Family
from naively.families.text.text import Text as TextFamily
from naively.io.inputs import MISSING
from naively.model.model import Model
from naively.model_summary import ModelSummary, summarise
from naively.rendering import on_terminal
from naively.storage.digest import digest
from naively.storage.model_files import Saved

TERMS = 30  # terms of a class in JSON, at most
DEFAULTS: dict[str, Any] = {  # defaults of estimators that are not None
    **{field.name: field.default for field in fields(TextFamily)},
    "alpha": 1.0, "prior": "empirical", "prior_smoothing": 0.0, "unseen": "smooth",
    "missing": MISSING, "var_smoothing": 1e-9, "ddof": 0, "floor": "largest", "binarize": 0.0,
    "fit_prior": True, "force_alpha": True, "norm": False, "min_categories": None,
    "interactions": "auto", "limit": 1_000_000,
}  # fmt: skip


def summary_of(
    saved: Saved, terms: int = TERMS, result: Fitted | None = None
) -> ModelSummary | None:
    """The summary of a model, after `fit` with the scores it computed; None without a class."""
    model = saved.model if saved.multilabel else models.shown(saved)
    if model is None or len(model.classes) == 0:
        return None
    validate = result is None or saved.multilabel
    summary: ModelSummary = summarise(model, estimator(saved), terms, validate=validate)
    roles = {saved.extra.get(key): f"--{key}" for key in ("groups", "time")}
    left_out = {name: roles.get(name, why) for name, why in summary.left_out.items()}
    summary = replace(summary, left_out=left_out)
    if result is None or saved.multilabel:
        validation = summary.cross_validation
        split = saved.extra.get("groups") or saved.extra.get("time")
        if validation is None or split is None:
            return summary
        caveat = f"rows are assigned to folds at random, not by {clean(split)} as `naively fit` did"
        return replace(summary, cross_validation=replace(validation, caveat=caveat))
    return replace(summary, cross_validation=result.cross_validation)


def fitted(result: Fitted, saved: Saved, output: Path, limit: int) -> None:
    """Print the result of `naively fit`."""
    multilabel = saved.multilabel
    summary = summary_of(saved, TERMS if multilabel else 0, result)
    assert summary is not None
    _note_misread(summary, limit)
    out = terminal.console()
    out.print(summary_tables.heading(summary))
    separator = repr(saved.extra["separator"]) if "separator" in saved.extra else None
    out.print(facts(**summary_tables.target_and_features(summary), separator=separator))
    out.print()
    for part in summary_tables.body(summary, limit, out.width):
        out.print(part)
    if multilabel:
        out.print()
        out.print(on_terminal(summary_tables.classes(summary), out.width))
    if result.held is not None:
        out.print()
        rows = counted(int(result.held.rows), "held-out row")
        title = f"Evaluation on {rows}; the saved model is trained on all rows"
        out.print(Text(title, style="bold"))
        out.print(comparison(result.held, result.model))
    out.print()
    validated = result.cross_validation is not None
    work = "reading, training and cross-validation" if validated else "reading and training"
    out.print(f"saved {terminal.written(output)}; {work} took {result.seconds:.2g} s")


def _note_misread(summary: ModelSummary, limit: int = summary_tables.FEATURES) -> None:
    """Print notes on categorical features that may be meant as another type."""
    for line in summary_tables.misread(summary, limit):
        progress.note(line)


def predicted_first(scores: Scores, model: Model) -> None:
    """Print the scores of `naively update --evaluate`."""
    out = terminal.console()
    out.print()
    rows = counted(int(scores.rows), "row")
    out.print(Text(f"Evaluation on {rows}, before training on them", style="bold"))
    out.print(comparison(scores, model))


def inspected(saved: Saved, path: Path, limit: int) -> None:
    """Print the contents of a model file."""
    out = terminal.console()
    summary = summary_of(saved, limit)
    if summary is None:
        out.print(Text(clean(estimator(saved), 200), style="bold"))
        out.print("the model has no class: it has no training rows")
        return
    _note_misread(summary, limit)
    out.print(summary_tables.heading(summary))
    written = f"{terminal.written(path)}, by naively {clean(saved.written_by)}"
    out.print(facts(file=written, **summary_tables.target_and_features(summary)))
    out.print()
    out.print(on_terminal(summary_tables.classes(summary), out.width))
    out.print()
    for part in summary_tables.body(summary, limit, out.width):
        out.print(part)
    parts.printed(out, saved)
    for part in summary_tables.details(summary, limit, out.width):
        out.print(part)


def structure(model: Model) -> str | None:
    """Say on which rows the structure was chosen; None if the model has none."""
    chosen = model.structure
    if chosen is None:
        return None
    what = "weights" if model.schema.family.summary.of_texts else "bins, interactions and weights"
    if chosen.weight == model.weight:
        return (
            f"{what} chosen again: the model is trained anew on all {model.weight:,.10g} rows, and "
            "its predictions change"
        )
    return (
        f"{what} unchanged, as chosen on {chosen.weight:,.10g} rows; the next choice is above "
        f"{math.floor(chosen.limit):,} rows"
    )


def changed(what: str, rows: int | None, model: Model, output: Path, **more: str | None) -> None:
    """Print the result of `naively update`, `forget` or `merge`."""
    labels = models.labels_of(model).tolist()
    weights = model.class_weight.rounded()[len(model.classes) - len(labels) :].tolist()
    classes = terminal.classes_listed(dict(zip(labels, weights, strict=True)))
    counts = {} if rows is None else {what: counted(rows, "row")}
    no_class = "none: all training rows were forgotten"
    ends = {"classes now": classes or no_class, "saved": terminal.written(output)}
    text = facts(**counts, **more, **ends)
    terminal.console().print(text)


# ---- JSON ----------------------------------------------------------------------------------------


def fit_json(result: Fitted, saved: Saved, output: Path) -> dict[str, Any]:
    """The result of `naively fit`, as JSON."""
    summary = summary_of(saved, result=result)
    assert summary is not None
    _note_misread(summary)
    held_out = result.held
    return {
        "model": str(output),
        "seconds": result.seconds,
        **summary.to_dict(),
        "held_out": None if held_out is None else held_out.as_json(),
        **({"separator": saved.extra["separator"]} if "separator" in saved.extra else {}),
    }


def inspect_json(saved: Saved) -> dict[str, Any]:
    """The contents of a model file, as JSON."""
    file = {
        "written_by": saved.written_by,
        "digest": digest(saved.model),
        "parts": parts.as_json(saved),
    }
    if (summary := summary_of(saved, TERMS)) is not None:
        _note_misread(summary)
        return {**summary.to_dict(), **file}
    return {
        "estimator": estimator(saved), "target": saved.model.target, "rows": saved.model.rows,
        "n_features": saved.model.n_features, "classes": saved.model.classes.tolist(), **file,
    }  # fmt: skip


# ---- the estimator -------------------------------------------------------------------------------


def estimator(saved: Saved) -> str:
    """Python code of the estimator, with the parameters that differ from their defaults."""
    defaults = DEFAULTS
    if saved.estimator in ("GaussianBayes", "GaussianNB"):
        defaults = {**DEFAULTS, "alpha": 0.0}  # no pseudo-counts
    elif saved.estimator in ("TextNB", "MultilabelNB"):
        defaults = {**DEFAULTS, "alpha": None, "weights": "auto", "threshold": 0.5}
    values = {name: value for name, value in saved.params.items() if value not in ((), [])}
    changed = {name: value for name, value in values.items() if value != defaults.get(name)}
    code = [(name, _code(value)) for name, value in changed.items()]
    family = lone_text(saved.params.get("columns"), saved.model.n_features)
    if family is not None:
        return text_code(family, code).removesuffix("()")
    arguments = ", ".join(f"{name}={value}" for name, value in code)
    return f"{saved.estimator}({arguments})" if arguments else saved.estimator


def _code(value: Any) -> str:
    """A parameter as Python code."""
    if isinstance(value, dict):
        pairs = [f"{key!r}: {_code(item)}" for key, item in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, Family):
        defaults = {item.name: repr(item.default) for item in fields(cast(Any, value))}
        values = [(name, getattr(value, name)) for name in defaults]
        changed = [(name, item) for name, item in values if repr(item) != defaults[name]]
        arguments = [f"{name}={_code(item)}" for name, item in changed]
        return f"{type(value).__name__}({', '.join(arguments)})"
    if isinstance(value, tuple | list) and len(value) > 5:
        return f"({', '.join(map(repr, value[:5]))}, ...)"
    return repr(value)
