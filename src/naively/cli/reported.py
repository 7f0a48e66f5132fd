"""What `naively report` says of a model: what `fit`, `inspect` and `explain` compute, together."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from naively import __version__
from naively.cli import evidence, inside, models, report, training_scores, words
from naively.cli.errors import UserError
from naively.cli.evidence import NUMBERS
from naively.cli.inside import Column
from naively.cli.layout import number
from naively.cli.reported_form import exported, fields
from naively.cli.reported_rows import Looked, looked_at, names_of, usual
from naively.cli.sources import Opened
from naively.export.js import js_name
from naively.families.describing import Evidences
from naively.files.safetensors import Saved
from naively.markup import counted, magnitude, shown
from naively.model import Model
from naively.plain import rows_in_words
from naively.plot.evidence import LINES
from naively.pooling.blocks.shapes import Shape, drawable
from naively.report import pictures
from naively.report.facts import Picture, Quality, Report, Table
from naively.tables.names import first_names

COLUMNS, PAIRS, LISTED = 40, 12, 200
"""Columns and pairs that are drawn, and columns that are listed."""
TERMS, CLASSES = 20, 12
"""Words of a class, and classes whose words are shown."""


def report_of(saved: Saved, path: Path, source: Opened | None) -> Report:
    """All that a page says.

    Raises
    ------
    UserError : if the model knows no class, or is one of many labels a row; if rows do not fit.
    """
    if saved.multilabel:
        raise UserError(f"{path}: pages are about models of one label a row")
    model = models.shown(saved)
    if model is None:
        raise UserError(f"{path}: the model knows no class: it learned nothing yet, or forgot all")
    looked = None if source is None else looked_at(saved, source)
    columns = inside.columns(model)
    found = inside.evidence(model)
    legend, drawn, note = _shapes(model, columns)
    quality, unknown = _quality(model, found, looked)
    numbers, why = exported(model)
    return Report(
        target=model.target or "the class",
        file=path.name,
        version=__version__,
        facts=_facts(saved, model),
        classes=_classes(model),
        warnings=_warnings(model, columns),
        quality=quality,
        unknown=unknown,
        ranked=_ranked(model, columns, found),
        legend=legend,
        shapes=drawn,
        shapes_note=note,
        words=_words(model),
        missing=_missing(model, columns),
        left_out=_told("Left out", "why", inside.left_out(model)),
        misread=_told("Not read as numbers or dates", "holds", inside.misread(model)),
        examples=[] if looked is None else looked.examples,
        mistakes=[] if looked is None else looked.mistakes,
        examples_note="" if looked is None else looked.examples_note,
        mistakes_note="" if looked is None else looked.mistakes_note,
        form=None if numbers is None else fields(model, looked),
        numbers=numbers,
        no_form=why,
        labels=[js_name(one) for one in model.classes.tolist()],
        names=names_of(model),
    )


def _facts(saved: Saved, model: Model) -> list[tuple[str, str]]:
    left = inside.left_out(model)
    columns = len(model.schema.ordered) - sum(name in left for name in model.schema.ordered)
    return [
        ("learned from", f"{rows_in_words(model.rows, model.rows, model.unlabelled)} rows"),
        ("classes", f"{len(model.classes):,}"),
        ("columns used", f"{columns:,} of {len({*model.schema.ordered, *left}):,}"),
        ("parameters", magnitude(model.posterior().n_parameters)),
        ("model", report.estimator(saved)),
    ]


def _classes(model: Model) -> Table:
    weight, prior = model.class_weight.rounded(), model.posterior().class_prior
    order = np.argsort(-weight, kind="stable")
    most = order[:LISTED].tolist()
    rows = [[str(model.classes.tolist()[c]), f"{weight[c]:,.10g}", f"{prior[c]:.4f}"] for c in most]
    rest = len(order) - len(most)
    note = f"and {counted(rest, 'class', 'classes')} with fewer rows" if rest else ""
    return Table("Classes", ["class", "rows", "P(class)"], rows, 1, note, prior[most].tolist())


def _warnings(model: Model, columns: list[Column]) -> list[str]:
    leaks = [one.name for one in columns if one.nearly_all]
    said = [
        f"The column {name} alone tells nearly all about the class: is it known before the class?"
        for name in leaks[:5]
    ]
    return said + [
        f"The column {name} has another whole number in each row: if it only counts the rows, it "
        "should be left out."
        for name in inside.row_numbers(model)[:5]
    ]


# ---- how well it predicts ------------------------------------------------------------------------


def _quality(
    model: Model, found: Evidences | None, looked: Looked | None
) -> tuple[list[Quality], str]:
    """(how well rows were predicted, why there is nothing to say)."""
    if looked is not None and looked.quality is not None:
        return [looked.quality], ""
    own = model.posterior().parameters.judged
    if own is None or not own.rows:
        why = "" if looked is None else f" {looked.unknown}"
        return [], (
            "This file does not say: its model keeps no rows to leave out. Write the page with the "
            f"table that it learned, and each row is left out in turn, or with new rows.{why}"
        )
    losses = evidence.losses(model, found) if found is not None else {"prior": math.nan}
    share = model.class_weight.rounded() / model.class_weight.rounded().sum()
    known = share[share > 0]
    prior = losses["prior"] if found is not None else -float((known * np.log(known)).sum())
    return [
        Quality(
            f"On {_rows(own.rows, model)}, left out in turn", own.accuracy, float(share.max()),
            own.log_loss, math.nan if prior is None else prior, own.calibration, usual(model),
            [f"Judged {training_scores.by_evidence(model)}."],
        )
    ], ""  # fmt: skip


def _rows(rows: float, model: Model) -> str:
    some = rows < model.class_weight.rounded().sum()
    said = counted(round(rows), "row")
    return f"{said} of those it learned" if some else f"the {said} it learned"


# ---- columns -------------------------------------------------------------------------------------


def _ranked(model: Model, columns: list[Column], found: Evidences | None) -> list[Table]:
    """What tells most: columns, and what several of them tell together."""
    if found is None:
        told = sorted(columns, key=lambda one: -(one.bits or 0.0))
        told = [one for one in told if one.bits is not None][:LISTED]
        if not told:
            return []
        most = max(one.bits or 0.0 for one in told) or 1.0
        rows = [[one.name, one.family, f"{one.bits:.3f}"] for one in told]
        bars = [(one.bits or 0.0) / most for one in told]
        note = "bits: what the column alone tells about the class (mutual information)"
        return [Table("Columns", ["column", "family", "bits"], rows, 2, note, bars)]
    most = max((one.moves for one in found.blocks), default=0.0) or 1.0
    tables = [] if found.columns is None else [_in_all(found.columns, inside.left_out(model))]
    for title, head, several in (("Alone", "column", False), ("Together", "columns", True)):
        blocks = [one for one in found.blocks if (len(one.names) > 1) == several][:LISTED]
        if not blocks:
            continue
        rows = [
            [_joined(one.names), one.what, f"{one.weight:.2f}", f"{one.moves:.3f}"]
            for one in blocks
        ]
        note = "" if several else f"{_sentence(evidence.MOVES)}"
        if any(one.weight < 0 for one in blocks):
            note = f"{note} {_sentence(evidence.BELOW)}".strip()
        heads = [head, "told apart", "weight", "moves"]
        tables.append(Table(title, heads, rows, 2, note, [one.moves / most for one in blocks]))
    return tables


def _in_all(columns: dict[str, float], left_out: dict[str, str]) -> Table:
    """The columns by all that they tell, alone and with others."""
    used = [one for one in columns.items() if one[0] not in left_out]
    told = sorted(used, key=lambda one: -one[1])[:LISTED]
    most = max(columns.values(), default=0.0) or 1.0
    rows = [[name, f"{moves:.3f}"] for name, moves in told]
    bars = [moves / most for _, moves in told]
    note = (
        "Moves: nats by which all that the column tells, alone and its share of what it tells "
        "together with others, shifts a class's score; mean of learned rows and classes."
    )
    return Table("Columns", ["column", "moves"], rows, 1, note, bars)


def _sentence(said: str) -> str:
    return f"{said[:1].upper()}{said[1:]}."


def _joined(names: Any) -> str:
    return " × ".join(names) if len(names) <= NUMBERS else f"{len(names):,} numbers"


def _shapes(model: Model, columns: list[Column]) -> tuple[Picture | None, list[Picture], str]:
    """(what colours mean, the plots of columns and pairs, what they show and do not)."""
    every = model.posterior().shapes
    if every:
        can = drawable(every)
        singles = [one for one in can if len(one.names) == 1]
        pairs = [one for one in can if len(one.names) == 2]
        chosen = [*singles[:COLUMNS], *pairs[:PAIRS]]
        legend, drawn = pictures.evidence(chosen, model.classes)
        many = len(model.classes) > LINES
        rest = len(can) - len(chosen)
        note = (
            "What each value adds to the score, weight times evidence, in nats; the rows behind it "
            "are in grey, or beside it. Pairs are heat maps: grey cells have no rows. "
            + f"Of the {len(model.classes):,} classes the {LINES} with the most rows are shown. "
            * many
        )
        left = f"{rest:,} more, which move scores less" if rest else ""
        if any(one.weight < 0 for one in chosen):
            note += f"{_sentence(evidence.BELOW)} "
        more = [left] * bool(left) + _no_plot([one for one in every if one not in can])
        return legend, drawn, note + (f"Not shown: {'; '.join(more)}." if more else "")
    tables = _tables(model)
    order = sorted(columns, key=lambda one: -(one.bits or 0.0))
    found = [pictures.family(model, one.name, tables[one.name]) for one in order[:COLUMNS]
             if one.name in tables]  # fmt: skip
    rest = max(0, len(order) - COLUMNS)
    note = "What each class expects of each column, the most telling first. "
    return None, [one for one in found if one], note + f"Not shown: {rest:,} more." * bool(rest)


def _no_plot(shapes: list[Shape]) -> list[str]:
    """What blocks have no plot, in words."""
    many = [one for one in shapes if len(one.bins) > 2]
    alone = [one for one in shapes if one.of_text and len(one.names) == 1]
    texts = list(dict.fromkeys(one.names[0] for one in alone))
    rest = [one for one in shapes if one not in [*many, *alone]]
    said = [f"the texts of {first_names(texts)}, whose words are above"] * bool(texts)
    said += [f"{counted(len(many), 'block')} of three columns or more"] * bool(many)
    return said + [f"{_joined(one.names)} ({one.what})" for one in rest]


def _tables(model: Model) -> dict[str, Table]:
    """The parameters of each column, by class."""
    classes = [str(one) for one in model.classes.tolist()]
    found = {}
    for section in inside.sections(model):
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


def _words(model: Model) -> list[Table]:
    weights = model.class_weight.rounded()
    most = np.sort(np.argsort(-weights, kind="stable")[:CLASSES]).tolist()
    found = []
    for own in words.words_of(model, TERMS):
        alone = len(model.schema.names) == 1
        for c in most:
            told = own.telling[c]
            if not told:
                continue
            top = max(odds for _, odds, _ in told)
            label = str(model.classes.tolist()[c])
            title = label if alone else f"{own.name}: {label}"
            rows = [[shown(term), f"{odds:+.2f}"] for term, odds, _ in told]
            bars = [odds / top for _, odds, _ in told]
            found.append(Table(title, ["term", "log-odds"], rows, 1, "", bars))
    return found


def _missing(model: Model, columns: list[Column]) -> Table | None:
    rows = float(model.class_weight.rounded().sum())
    gone = sorted((one for one in columns if one.missing), key=lambda one: -one.missing)
    lines = [
        [one.name, f"{one.missing:,.10g}", f"{one.missing / rows:.1%}"] for one in gone[:LISTED]
    ]
    bars = [one.missing / rows for one in gone[:LISTED]]
    heads = ["column", "rows", "part"]
    return Table("Missing values", heads, lines, 1, "", bars) if gone else None


def _told(title: str, head: str, found: dict[str, str]) -> Table | None:
    """What is said of some columns."""
    lines = [[name, what] for name, what in found.items()]
    rest = len(lines) - LISTED
    note = f"and {rest:,} more" if rest > 0 else ""
    return Table(title, ["column", head], lines[:LISTED], 2, note) if lines else None
