"""What `naively report` says of a model: its summary, plots, and a form to try a row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from naively import __version__, summary_tables
from naively.cli import models
from naively.cli.errors import UserError
from naively.cli.reported_rows import Looked, looked_at, names_of, quality_of
from naively.cli.sources import Opened
from naively.cli.summary import summary_of
from naively.export.formulas import NotExportableError
from naively.export.js import js_name, js_text, numbers_of
from naively.files.safetensors import Saved
from naively.markup import counted, shown
from naively.model import Model
from naively.model_summary import ModelSummary
from naively.plot.evidence import LINES
from naively.pooling.blocks.shapes import Shape, drawable
from naively.rendering import Table, number
from naively.report import pictures
from naively.report.facts import Picture, Quality, Report
from naively.serve.form import form
from naively.serve.state import State
from naively.summary_tables import joined
from naively.tables.frames import to_array
from naively.tables.names import first_names
from naively.tables.values import flat, level_text, numbers

FEATURES, PAIRS, LISTED = 40, 12, 200
"""Features and pairs that are drawn, and features that are listed."""
TERMS, CLASSES = 20, 12
"""Terms of a class, and classes whose terms are shown."""
HEAVIEST = 8 << 20
"""Bytes of numbers that a page has for its form."""


def report_of(saved: Saved, path: Path, source: Opened | None) -> Report:
    """All that a page says.

    Raises
    ------
    UserError : if the model knows no class, or is one of many labels a row; if rows do not fit.
    """
    if saved.multilabel:
        raise UserError(f"{path}: pages are about models of one label a row")
    model, summary = models.shown(saved), summary_of(saved, TERMS)
    if model is None or summary is None:
        raise UserError(f"{path}: the model knows no class: it learned nothing yet, or forgot all")
    looked = None if source is None else looked_at(saved, source)
    legend, drawn, note = _shapes(model, summary)
    quality, unknown = _quality(model, summary, looked)
    numbers, why = exported(model)
    ranked = [
        summary_tables.features(summary, LISTED),
        summary_tables.interactions(summary, LISTED),
    ]
    return Report(
        target=model.target or "the class",
        file=path.name,
        version=__version__,
        facts=[
            ("model", summary_tables.heading(summary).plain),
            *summary_tables.target_and_features(summary).items(),
        ],
        classes=summary_tables.classes(summary, LISTED),
        warnings=_warnings(summary),
        quality=quality,
        unknown=unknown,
        ranked=[table for table in ranked if table is not None],
        legend=legend,
        shapes=drawn,
        shapes_note=note,
        words=_terms(summary),
        missing=_missing(summary),
        left_out=_listed("Left out", "why", summary.left_out),
        misread=_listed("Not read as numbers or dates", "holds", summary.misread),
        examples=[] if looked is None else looked.examples,
        mistakes=[] if looked is None else looked.mistakes,
        examples_note="" if looked is None else looked.examples_note,
        mistakes_note="" if looked is None else looked.mistakes_note,
        form=None if numbers is None else fields(model, summary.left_out, looked),
        numbers=numbers,
        no_form=why,
        labels=[js_name(one) for one in summary.classes],
        names=names_of(model),
    )


def _warnings(summary: ModelSummary) -> list[str]:
    lines = summary_tables.leaks(summary)
    leaks = [f"{' '.join(lines)}"[0].upper() + " ".join(lines)[1:]] if lines else []
    return leaks + [
        f"The feature {name} has another whole number in each row: if it only numbers the rows, it "
        "should be left out."
        for name in summary.row_numbers[:5]
    ]


def _quality(
    model: Model, summary: ModelSummary, looked: Looked | None
) -> tuple[list[Quality], str]:
    """(how well rows were predicted, why there is nothing to say)."""
    if looked is not None and looked.quality is not None:
        return [looked.quality], ""
    if summary.cross_validation is None:
        why = "" if looked is None else f" {looked.unknown}"
        return [], (
            "Not known: the model stores no training rows. Write the page with the training "
            f"table, which is then cross-validated, or with new rows.{why}"
        )
    return [quality_of(summary.cross_validation, model)], ""


# ---- features ------------------------------------------------------------------------------------


def _shapes(model: Model, summary: ModelSummary) -> tuple[Picture | None, list[Picture], str]:
    """(what colours mean, the plots of features and pairs, what they show and do not)."""
    every = model.posterior().shapes
    if every:
        can = drawable(every)
        singles = [one for one in can if len(one.names) == 1]
        pairs = [one for one in can if len(one.names) == 2]
        chosen = [*singles[:FEATURES], *pairs[:PAIRS]]
        legend, drawn = pictures.evidence(chosen, model.classes)
        many = len(model.classes) > LINES
        rest = len(can) - len(chosen)
        note = (
            "What each value adds to the score, weight times evidence, in nats; the rows behind it "
            "are in grey, or beside it. Pairs are heat maps: grey cells have no rows. "
            + f"Of the {len(model.classes):,} classes the {LINES} with the most rows are shown. "
            * many
        )
        left = f"{rest:,} more of less importance" if rest else ""
        if any(one.weight < 0 for one in chosen):
            note += f"{summary_tables.NEGATIVE[0].upper()}{summary_tables.NEGATIVE[1:]}. "
        more = [left] * bool(left) + _no_plot([one for one in every if one not in can])
        return legend, drawn, note + (f"Not shown: {'; '.join(more)}." if more else "")
    tables = _tables(summary)
    names = [one.name for one in summary.features]
    found = [pictures.family(model, name, tables[name]) for name in names[:FEATURES]
             if name in tables]  # fmt: skip
    rest = max(0, len(names) - FEATURES)
    note = "What each class expects of each feature, the most important first. "
    return None, [one for one in found if one], note + f"Not shown: {rest:,} more." * bool(rest)


def _no_plot(shapes: list[Shape]) -> list[str]:
    """What blocks have no plot, in words."""
    many = [one for one in shapes if len(one.bins) > 2]
    alone = [one for one in shapes if one.of_text and len(one.names) == 1]
    texts = list(dict.fromkeys(one.names[0] for one in alone))
    rest = [one for one in shapes if one not in [*many, *alone]]
    said = [f"the texts of {first_names(texts)}, whose terms are above"] * bool(texts)
    said += [f"{counted(len(many), 'interaction')} of three features or more"] * bool(many)
    return said + [f"{joined(one.names)} ({one.kind})" for one in rest]


def _tables(summary: ModelSummary) -> dict[str, Table]:
    """The parameters of each feature, by class."""
    classes = [str(one) for one in summary.classes]
    found = {}
    for section in summary.parameters:
        for name, rows in section.rows.items():
            lines = [
                [label, key, *(number(value) for value in values)]
                for label, numbers in rows
                for key, values in numbers.items()
            ]
            found[name] = Table(
                f"{name}: {section.meaning}", ["of", "what", *classes], lines[:LISTED], 2
            )
    return found


def _terms(summary: ModelSummary) -> list[Table]:
    """The terms with the highest log-odds for each class, a table a class and column."""
    order = np.argsort(-np.array(summary.class_weight), kind="stable")
    alone = summary.n_features == 1
    found = []
    for text in summary.texts:
        for c in np.sort(order[:CLASSES]).tolist():
            if not (terms := text.by_class[c]):
                continue
            most = max(odds for _, odds, _ in terms)
            label = str(summary.classes[c])
            title = label if alone else f"{text.name}: {label}"
            rows = [[shown(term), f"{odds:+.2f}"] for term, odds, _ in terms]
            bars = [odds / most for _, odds, _ in terms]
            found.append(Table(title, ["term", "log-odds"], rows, 1, bars=bars))
    return found


def _missing(summary: ModelSummary) -> Table | None:
    gone = sorted((one for one in summary.features if one.missing), key=lambda one: -one.missing)
    shares = [one.missing / summary.weight for one in gone[:LISTED]]
    lines = [
        [one.name, f"{one.missing:,.10g}", f"{share:.1%}"]
        for one, share in zip(gone, shares, strict=False)
    ]
    heads = ["feature", "missing", "share"]
    return Table("Missing values", heads, lines, 1, bars=shares) if gone else None


def _listed(title: str, head: str, by_name: dict[str, str]) -> Table | None:
    """What holds of some features."""
    lines = [[name, what] for name, what in by_name.items()]
    rest = len(lines) - LISTED
    notes = [f"and {rest:,} more"] * (rest > 0)
    return Table(title, ["feature", head], lines[:LISTED], 2, notes) if lines else None


# ---- the form ------------------------------------------------------------------------------------


def exported(model: Model) -> tuple[dict[str, Any] | None, str]:
    """(the numbers by which a page predicts, why it has none)."""
    try:
        found = numbers_of(model)
    except NotExportableError as error:
        return None, f"This model has no form here, for it is not exported to JavaScript: {error}."
    size = len(js_text(found))
    if size > HEAVIEST:
        return None, (
            f"This model has no form here: its numbers take {size >> 20:,} MB. `naively serve` has "
            "a page to try it, and `naively export --js` a module."
        )
    return found, ""


def fields(
    model: Model, left_out: Mapping[str, str], looked: Looked | None
) -> list[dict[str, Any]]:
    """The columns for a row to try, with the values of the first example, or usual ones."""
    columns = form(State.of(0, model))["columns"]
    given = {} if looked is None else looked.first
    ends = _ends(model)
    found = []
    for one in columns:
        name, kind = one["name"], one["kind"]
        if name in left_out:
            continue
        value = given.get(name, one.get("typical"))
        own: dict[str, Any] = {"name": name, "kind": kind, "value": value}
        if kind == "level":
            own["value"] = level_text(value, model.schema.missing)
            levels = [str(level) for level in one.get("levels", [])]
            own["levels"] = levels + [own["value"]] * (own["value"] not in [None, *levels])
        elif kind == "number":
            own["value"] = _as_number(value, model.schema.missing)
            values = ends.get(name) or one.get("values", [])
            values = [v for v in [*values, own["value"]] if _is_number(v)]
            if values:
                own |= {"low": min(values), "high": max(values),
                        "whole": all(float(v).is_integer() for v in values)}  # fmt: skip
        found.append(own)
    return found


def _ends(model: Model) -> dict[str, list[float]]:
    """The least and the largest value of columns whose bins are known."""
    found = {}
    for shape in model.posterior().shapes:
        for bins in shape.bins:
            if bins.low is not None and bins.high is not None and np.isfinite(bins.low).any():
                found[bins.name] = [float(np.nanmin(bins.low)), float(np.nanmax(bins.high))]
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _as_number(value: Any, missing: Sequence[str]) -> float | None:
    """A cell as the model reads it; None if that is missing or no number."""
    found = float(numbers(flat(to_array([value])), missing).values[0])
    return (int(found) if found.is_integer() else found) if math.isfinite(found) else None
