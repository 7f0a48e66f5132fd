"""Draw the plots of a report with `naively.plot`, as SVG data URIs."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from naively import plot
from naively.evaluation.calibration import Reliability
from naively.evaluation.metrics import Ranking
from naively.model.model import Model
from naively.plot import shapes as drawing
from naively.plot.learning import curves_of
from naively.plot.lectures import Die, dice_of
from naively.plot.ranking import CLASSES
from naively.pooling.blocks.shapes import Shape
from naively.rendering import Table
from naively.report.facts import Picture

SIZE = 3.7, 2.8  # width and height of a plot, in inches
LINES = 150  # cells in the table of a plot, at most: those with the most rows
FONT = "'DejaVu Sans'"
"""The font by which matplotlib measures text; Verdana, its substitute, has the same widths."""
STEADY: Any = {"svg.fonttype": "none", "svg.hashsalt": "naively", "font.family": "DejaVu Sans"}


def evidence(shapes: Sequence[Shape], classes: Any) -> tuple[Picture | None, list[Picture]]:
    """(the legend, the shape of each feature and interaction with its weight)."""
    if not shapes:
        return None, []
    with rc_context(STEADY):
        display = plot.EvidenceDisplay(shapes=shapes, classes=classes)
        return _legend(display), [_shape(shape, display.view) for shape in shapes]


def _legend(display: plot.EvidenceDisplay) -> Picture:
    handles, labels = display.entries
    figure = Figure(figsize=(0.5 + 0.1 * max(map(len, labels)) + 0.6, 0.1 + 0.2 * len(labels)))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    plot.style.legend(axes, handles, labels, place=(0.0, 1.0))
    text = "What colours and lines mean: " + ", ".join(labels)
    return Picture("", "", _svg(figure), text, Table("", [], []))


def _shape(shape: Shape, view: drawing.View) -> Picture:
    figure = Figure(figsize=SIZE, layout="constrained")
    drawing.draw(figure.add_subplot(), shape, view)
    title = shape.title
    kind = "a heat map" if len(shape.bins) == 2 else "bars" if drawing.has_bars(shape) else "steps"
    text = f"{title}: {view.quantity}, as {kind}; the table below has the numbers"
    has_others = shape.total is not None
    prefix = "its own table: " * has_others
    importance = f"importance{' without interactions' * has_others} {shape.importance:.3f}"
    caption = f"{prefix}{shape.kind}, weight {shape.weight:.2f}, {importance}"
    return Picture(title, caption, _svg(figure), text, _cells(shape, view))


def _cells(shape: Shape, view: drawing.View) -> Table:
    """The log-odds of each cell; of many cells, those with the most rows."""
    rows = shape.rows.sum(axis=-1)
    nonempty = [(place, labels) for place, labels in shape.cells() if rows[place] > 0]
    largest = sorted(nonempty, key=lambda cell: -rows[cell[0]])[:LINES]
    listed = {place for place, _ in largest}
    classes = [view.of] if view.against is not None else view.chosen.tolist()
    values = [view.values(shape, c) for c in classes]
    header = [f"log-odds of {view.labels[view.of]}"]
    if view.against is None:
        header = [f"for {view.labels[c]}" for c in classes]
    elif shape.total is not None:
        values.append(view.alone(shape, view.of))
        header = [f"{header[0]}, with interactions", "its own table"]
    lines = [
        [*labels, f"{rows[place]:,.10g}",
         *("" if np.isnan(odds[place]) else f"{odds[place]:+.3f}" for odds in values)]
        for place, labels in nonempty if place in listed
    ]  # fmt: skip
    n_more = len(nonempty) - len(lines)
    notes = [f"and {n_more:,} more with fewer rows"] * bool(n_more)
    return Table(shape.title, [*shape.names, "rows", *header], lines, len(shape.names), notes)


def family(model: Model, name: str, table: Table) -> Picture | None:
    """The distribution of a feature in each class; None if its family has no plot."""
    feature_family = model.schema.family_of[name]
    with rc_context(STEADY):
        figure = Figure(figsize=(4.4, 2.9), layout="constrained")
        panel = figure.add_subplot()
        display: plot.ClassDensityDisplay | plot.CategoriesDisplay
        if feature_family.curve is not None:
            curves = [curves_of(model, name, None)]
            display = plot.ClassDensityDisplay(curves=curves, classes=model.classes)
        elif feature_family.summary.takes == "levels":
            dice = dice_of(model, [name])
            display = plot.CategoriesDisplay(dice=dice, classes=model.classes)
            if not table.rows:  # of a joint family, whose parameters are not by column
                table = _levels(dice[0], table)
        else:
            return None
        display.plot(panel)
        display.axes_[0].set_title("")  # the page has a heading
        kind = "bars" if feature_family.curve is None else "curves"
        text = f"{name}: what each class expects, as {kind}; the table below has the numbers"
        return Picture(name, feature_family.name, _svg(figure), text, table)


def _levels(die: Die, table: Table) -> Table:
    """A table of the category probabilities of a feature, by class."""
    lines = [
        [level, "p", *(f"{100 * p:.1f}%" for p in probabilities)]
        for level, probabilities in zip(die.levels, die.theta.T, strict=True)
    ]
    return replace(table, rows=lines)


def calibration(reliability: Reliability, classes: int) -> Picture:
    """The reliability diagram."""
    columns = reliability.confidence, reliability.accuracy, reliability.rows
    lines = [
        [f"{confidence:.1%}", f"{accuracy:.1%}", f"{rows:,.0f}"]
        for confidence, accuracy, rows in zip(*columns, strict=True)
    ]
    header = ["confidence", "accuracy", "rows"]
    table = Table("Calibration", header, lines)
    with rc_context(STEADY):
        figure = Figure(figsize=(4.6, 3.1), layout="constrained")
        panel = figure.add_subplot()
        plot.CalibrationDisplay(reliability=reliability, name="", least=1.0 / classes).plot(
            panel
        ).legend_.remove()
        text = "How sure predictions are, and how often they are right; the table has the numbers"
        return Picture("", "", _svg(figure), text, table)


RECALLS = 10  # recalls in the table of a curve: 1/RECALLS and so on, up to 1


def rankings(by_class: Mapping[str, Ranking]) -> list[Picture]:
    """The ROC and the precision-recall curves, of each class against the others."""
    if not by_class:
        return []
    of_one = len(by_class) == 1
    table = _thresholds(*next(iter(by_class.items()))) if of_one else _areas(by_class)
    whose = f" of {next(iter(by_class))}" if of_one else ", each class against the others"
    plots = []
    with rc_context(STEADY):
        for kind, title, score in (
            (plot.RocCurveDisplay, "ROC curve", "auc"),
            (plot.PrecisionRecallDisplay, "Precision-recall curve", "average_precision"),
        ):
            figure = Figure(figsize=(4.6, 3.1), layout="constrained")
            display = kind(rankings=dict([*by_class.items()][:CLASSES])).plot(figure.add_subplot())
            caption = ""
            if of_one:
                display.legend_.remove()
                name = "AUC" if score == "auc" else "average precision"
                caption = f"{name} {getattr(next(iter(by_class.values())), score)():.4f}"
            text = f"{title}{whose}; the table has the numbers"
            plots.append(Picture(f"{title}{whose}", caption, _svg(figure), text, table))
    return plots


def _thresholds(name: str, ranking: Ranking) -> Table:
    """The highest thresholds of the probability of a class that reach some recalls."""
    decisions = [ranking.at_recall(k / RECALLS) for k in range(1, RECALLS + 1)]
    negatives = ranking.rows - ranking.positives
    lines = [
        [f"{decision.threshold:.10g}", f"{decision.recall:.1%}", f"{decision.precision:.1%}",
         f"{decision.false_alarms / negatives:.1%}", f"{decision.flagged:,.10g}"]
        for decision in dict.fromkeys(decisions)
    ]  # fmt: skip
    heads = [f"threshold of P({name})", "recall", "precision", "false positive rate", "flagged"]
    return Table("Thresholds", heads, lines)


def _areas(by_class: Mapping[str, Ranking]) -> Table:
    """The areas under the curves of each class."""
    lines = [
        [name, f"{ranking.positives:,.10g}", f"{ranking.auc():.4f}",
         f"{ranking.average_precision():.4f}", f"{ranking.prevalence:.4f}"]
        for name, ranking in by_class.items()
    ]  # fmt: skip
    heads = ["class", "rows", "AUC", "average precision", "at random"]
    return Table("Areas under the curves", heads, lines)


def _svg(figure: Figure) -> str:
    """Encode a figure as a data URI of SVG, reproducibly."""
    file = io.BytesIO()
    no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with warnings.catch_warnings():
        # text stays text, so that the reader's fonts are used: glyphs may be missing here
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(file, format="svg", metadata=no_metadata, transparent=True)
    text = file.getvalue().decode()
    text = text[text.index("<svg") :].replace(FONT, f"{FONT}, Verdana, sans-serif")
    return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()
