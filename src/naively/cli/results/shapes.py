"""Print and draw the evidence of features, and draw smoothing curves (`naively fit --plot`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from naively import summary_tables
from naively.cli import progress, terminal
from naively.cli.arguments import LearningOptions
from naively.cli.errors import UsageError, UserError
from naively.cli.options import plain_estimator
from naively.cli.results import pictures
from naively.cli.terminal import clean, new_table, note
from naively.cli.work import Fitted
from naively.core.exact import Float64, Int64
from naively.core.markup import LONGEST, counted, largest, length
from naively.core.workers import workers
from naively.evaluation.fitted import FOLDS
from naively.evaluation.folds import k_fold
from naively.evaluation.out_of_fold import ALPHAS, SmoothingCurve, smoothing_curve
from naively.explain.rendering import AGAINST, FOR
from naively.model.model import Model
from naively.model_summary import TextTerms, importances, left_out, text_terms
from naively.pooling.blocks.shapes import Shape, drawable, of_columns
from naively.tables.learning import TrainingSpec
from naively.tables.names import no_column
from naively.tables.reestimation import reread


def check(spec: TrainingSpec, options: LearningOptions, picture: Path, data: Sequence[str]) -> None:
    """Refuse a smoothing curve that cannot be drawn, before work starts."""
    pictures.check(picture, data)
    families = [family for family in spec.columns.families.values() if not isinstance(family, str)]
    if spec.columns.whole is not None or any(family.keeps for family in families):
        raise UsageError("--plot draws the smoothing of plain naive Bayes: add --naive")
    if options.holdout:
        raise UsageError("--plot cross-validates all rows: leave out --holdout")


def draw_smoothing(
    fitted: Fitted, spec: TrainingSpec, options: LearningOptions, texts: Sequence[str],
    picture: Path,
) -> None:  # fmt: skip
    """Draw the smoothing curve; `texts` are text columns."""
    with progress.doing() as show:
        show("trying other smoothing")
        try:
            curve = _curve(fitted, spec, options, texts)
            display = pictures.displays().SmoothingDisplay(curve=curve, alpha=options.smoothing)
            pictures.write(display.plot(), picture)
        except ValueError as error:
            raise UserError(f"--plot: {error}") from None


def _curve(
    fitted: Fitted, spec: TrainingSpec, options: LearningOptions, texts: Sequence[str]
) -> SmoothingCurve:
    """Cross-validation scores for each value of alpha."""
    assert fitted.sample is not None
    rows = fitted.sample.learnable(fitted.model, spec)
    if len(np.unique(rows.labels)) < 2:
        raise ValueError("the rows are of one class: there is nothing to predict")
    readings = []
    for alpha in ALPHAS:
        estimator = plain_estimator(spec.target, texts, replace(options, alpha=alpha))
        model = reread(rows.blank, spec.columns, estimator.columns(), {"alpha", "columns"})
        readings.append((model.schema, spec.prior))
    return smoothing_curve(*k_fold(rows, FOLDS, workers(None)), ALPHAS, readings)


WITH_INTERACTIONS = "mean over the training rows, with a share of each interaction"
LINES = 100  # cells of a block that are printed, at most: those with the most rows
BLOCKS = 9  # blocks of a picture, unless columns are named


def chosen(model: Model | None, columns: Sequence[str] | None, drawn: bool) -> list[Shape]:
    """The blocks to show: those of exactly these columns, or by default the first with plots."""
    if not columns and not drawn:
        return []
    if model is None:
        raise UserError("the model has no class: it has no training rows")
    shapes = model.posterior().shapes
    if not (shapes if columns else drawable(shapes)):
        raise UserError(
            "--column and --plot show weighted evidence, and no feature of this model "
            "has any: train it without --naive"
        )
    if not columns:
        return drawable(shapes)[:BLOCKS]
    for name in columns:
        if name in (excluded := left_out(model)):
            raise UserError(f"--column {name}: it is left out ({excluded[name]})")
        if name not in model.schema.names:
            raise UsageError(f"--column: {no_column(name, model.schema.ordered)}")
    try:
        selected = of_columns(shapes, columns)
    except ValueError as error:
        raise UserError(f"--column: {error}") from None
    if drawn and not drawable(selected):
        raise UsageError("--plot draws columns and pairs: name one column or two")
    return selected


def printed(shapes: Sequence[Shape], model: Model | None, terms: int) -> None:
    """Print the cells of blocks, the interactions of a single column, and `terms` terms of text."""
    assert model is not None
    out = terminal.console()
    importance = _importance(shapes, model)
    for k, shape in enumerate(shapes):
        if k:
            out.print()
        name = " × ".join(clean(item) for item in shape.names)
        heading = f"{name}: {shape.kind}, weight {shape.weight:.2f}"
        if k == 0 and importance is not None:
            of_all = f" of all {len(shapes)} tables" * (len(shapes) > 1)
            heading += f", importance{of_all} {importance:.3f}"
        out.print(Text(heading, style="bold"))
        if shape.weight < 0:
            out.print(note(summary_tables.NEGATIVE))
        if shape.bins and not shape.of_text:
            out.print()
            _print_cells(out, shape)
    labels, weights = model.classes.tolist(), model.class_weight.rounded().tolist()
    for text in texts_of(shapes, model, terms):
        out.print()
        out.print(summary_tables.terms(text, labels, weights, out.width))
    if len(names := shapes[0].names) == 1:
        interactions = [
            f"{' × '.join(clean(feature) for feature in item.names)} ({item.weight:.2f})"
            for item in model.posterior().shapes if len(item.bins) > 1 and names[0] in item.names
        ]  # fmt: skip
        if interactions:
            out.print(note(f"in interactions (weight): {', '.join(interactions)}"))


def _importance(shapes: Sequence[Shape], model: Model) -> float | None:
    """The importance of the feature, interactions included; of an interaction, its own."""
    names = shapes[0].names
    return importances(model).get(names[0]) if len(names) == 1 else shapes[0].importance


def texts_of(shapes: Sequence[Shape], model: Model, terms: int) -> list[TextTerms]:
    """The terms with the most evidence, if the blocks are of one text column; else none."""
    names = shapes[0].names
    if len(names) > 1 or not any(shape.of_text for shape in shapes):
        return []
    return [text for text in text_terms(model, terms) if text.name in names]


def _print_cells(out: Console, shape: Shape) -> None:
    classes = [clean(label, 16) for label in shape.classes.tolist()]
    rows = shape.rows.reshape(-1, len(classes))
    total = rows.sum(axis=1)
    largest_cells = np.sort(np.argsort(-total, kind="stable")[:LINES])
    positions = largest_cells[total[largest_cells] > 0]
    labels = [cell_names for _, cell_names in shape.cells()]
    width = 36 if shape.bins[0].dated and len(shape.bins) == 1 else 24  # room for two dates
    cells = [(*(clean(text, width) for text in labels[k]), f"{total[k]:,.10g}") for k in positions]
    headings = [*(clean(name, 24) for name in shape.names), "rows"]
    contribution = shape.contribution.reshape(-1, len(classes))[positions]
    if len(classes) == 2:
        shares = rows[positions, 1] / total[positions]
        cells = [(*names, f"{100 * p:.1f}%") for names, p in zip(cells, shares, strict=True)]
        headings.append("share")
        if shape.total is not None:
            added = shape.added[positions]
            cells = [
                (*cell, f"{value:+.3f}")
                for cell, value in zip(cells, added[:, 1] - added[:, 0], strict=True)
            ]
            headings.append("own table")
        log_odds = contribution[:, 1] - contribution[:, 0]
        out.print(_with_bars(out, headings, len(shape.names), cells, log_odds))
        text, other = classes[1], classes[0]
        out.print(note(f"share: percentage of these rows that are of class {text}"))
        out.print(note(f"contribution: to the log-odds of {text} against {other}, in nats"))
        if shape.total is not None:
            own = "own table: weight × evidence, without them"
            out.print(note(f"contribution: {WITH_INTERACTIONS}; {own}"))
    else:
        _print_classes(out, headings, len(shape.names), cells, contribution, classes)
        if shape.total is not None:
            out.print(note(f"contribution: {WITH_INTERACTIONS}"))
    n_more = int((total > 0).sum()) - len(positions)
    if n_more:
        out.print(note(f"and {counted(n_more, 'more cell')} with fewer rows"))


def _with_bars(
    out: Console, heads: list[str], names: int, cells: list[tuple[str, ...]], odds: Float64
) -> Table:
    """A table of cells, with contributions to the log-odds as bars."""
    heads = [*heads, "contribution"]
    lines = [(*cell, _signed(value)) for cell, value in zip(cells, odds, strict=True)]
    table = new_table(*heads, names=names, style="")
    table.add_column("")
    room = terminal.room_beside([*zip(heads, *lines, strict=True)], out.width)
    bar_width = max(0, min(LONGEST, room))
    odds = np.nan_to_num(odds)
    widest = largest(odds)
    for cell, value in zip(lines, odds.tolist(), strict=True):
        bar = "█" * length(value, widest, bar_width)
        table.add_row(*cell, Text(bar, style=FOR[2] if value > 0 else AGAINST[2]))
    return table


def _signed(value: float) -> str:
    """A contribution; empty if it is unknown, because no row of the sample is in the bin."""
    return "" if np.isnan(value) else f"{value:+.3f}"


def _print_classes(
    out: Console, heads: list[str], names: int, cells: list[tuple[str, ...]], contribution: Float64,
    classes: list[str],
) -> None:  # fmt: skip
    """Print cells with contributions to the score of each class, for as many classes as fit."""
    free_width = terminal.room_beside([*zip(heads, *cells, strict=True)], out.width)
    shown: Int64 = np.arange(len(classes))
    magnitude = np.abs(np.nan_to_num(contribution)).max(axis=0, initial=0.0)
    order = np.argsort(-magnitude, kind="stable")
    width = max(8, *map(len, classes)) + 2
    shown = np.sort(order[: max(1, free_width // width)])
    table = new_table(*heads, *(classes[c] for c in shown), names=names, style="")
    for cell, values in zip(cells, contribution[:, shown].tolist(), strict=True):
        table.add_row(*cell, *map(_signed, values))
    out.print(table)
    out.print(note("contribution to the score of each class, in nats"))
    if n_more := len(classes) - len(shown):
        out.print(note(f"and {n_more:,} more classes: widen the terminal, or --json"))


def as_json(shapes: Sequence[Shape], model: Model | None, terms: int) -> dict[str, Any]:
    """The blocks, as JSON."""
    assert model is not None
    labels = model.classes.tolist()
    texts = {text.name: text.to_dict(labels) for text in texts_of(shapes, model, terms)}
    return {
        "classes": shapes[0].classes.tolist(),
        "importance": _importance(shapes, model),
        "blocks": [
            {
                "features": list(shape.names), "kind": shape.kind, "weight": shape.weight,
                "bins": [bins.labels for bins in shape.bins],
                "rows": shape.rows.tolist(), "evidence": shape.evidence.tolist(),
                "contribution": shape.contribution.tolist(),
            }
            for shape in shapes
        ],
        **({"texts": texts} if texts else {}),
    }  # fmt: skip


def draw(shapes: Sequence[Shape], picture: Path) -> None:
    """Draw blocks to a file."""
    drawn = drawable(shapes)
    display = pictures.displays().EvidenceDisplay(shapes=drawn, classes=drawn[0].classes)
    pictures.write(display.plot(), picture)
