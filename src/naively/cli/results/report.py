"""Collect the data of `naively report`: scores, example rows, mistakes, plots and a form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from naively import __version__, summary_tables
from naively.cli import models, work
from naively.cli.errors import UserError
from naively.cli.options import update_spec
from naively.cli.results.summary import summary_of
from naively.cli.sources import Opened
from naively.core.exact import Float64, Int64
from naively.core.markup import brief, counted, html_text, largest, more_of, shown
from naively.evaluation.metrics import Ranking, Scores, Tally
from naively.evaluation.samples import RowSample, kept_of
from naively.explain.base import MIXING, name_of_prior
from naively.explain.explanation import RowExplanation
from naively.export.formulas import NotExportableError
from naively.export.js import js_name, js_text, numbers_of
from naively.io.arrow import together
from naively.io.frames import to_array
from naively.model.decisions import positive_class
from naively.model.model import Model
from naively.model_summary import ModelSummary
from naively.plot.shapes import LINES
from naively.pooling.blocks.shapes import Shape, drawable
from naively.predictor import Predictor
from naively.rendering import Table, clean, joined, number
from naively.report import pictures
from naively.report.facts import Example, Picture, Quality, Reason, Report, TableResults
from naively.serve.page import form
from naively.serve.state import State
from naively.storage.model_files import Saved
from naively.tables.learning import Plan, TrainingSpec, labelled, merge, summarise
from naively.tables.names import first_names
from naively.tables.targets import positions
from naively.tables.values import flat, level_text, numbers

ROWS = 200_000  # rows of a table that are used, at most: the first ones
EXAMPLES, MISTAKES, REASONS = 4, 6, 10
MARKED = 3000  # characters of a text that are shown, at most
CONFUSED = 12  # classes up to which a confusion matrix is shown


@dataclass(frozen=True)
class Predictions:
    """The predictions of rows."""

    table: pa.Table  # the rows
    # (n,) position of the actual class; -1 for a label that is not a class, -2 without one
    truth: Int64
    # codes, confidence: (n,) the predicted class, and its probability
    codes: Int64
    confidence: Float64
    log_proba: Float64  # (n, C) log P(c | x)


def looked_at(saved: Saved, source: Opened) -> TableResults:
    """Predict, score and explain the first rows of files."""
    target = saved.model.target
    labelled_rows = target is not None and target in source.names
    names = [name for name in source.names if name != target]
    model = models.with_columns(saved, names, source.name)
    predictor = Predictor(model.posterior(), target, source.name)
    spec = update_spec(saved, None) if labelled_rows else None
    if spec is not None:
        groups, time = (
            name if (name := saved.extra.get(key)) in source.names else None
            for key in ("groups", "time")
        )
        spec = replace(spec, groups=groups, time=time)
    kept = RowSample(0) if spec is None else kept_of(spec)
    tables, rows = [], 0
    for task in kept.passing(source.tasks()):
        tables.append(pa.Table.from_batches([task()]))
        rows += tables[-1].num_rows
        if rows >= ROWS:
            break
    result = TableResults()
    if not rows:
        result.unknown = f"{source.name} has no rows."
        return result
    answers = _answered(predictor, tables, labelled_rows, models.spellings(saved))
    name = source.name if rows < ROWS else f"the first {rows:,} rows of {source.name}"
    is_training = False
    if spec is not None and (answers.truth > -2).any():
        is_training = _equal(saved.model, spec, tables)
        evaluation = None
        if is_training:
            ranked = _ranked(saved.model)
            evaluation = work.cross_validated("the table", saved.model, kept, spec, ranked)
        if evaluation is None:
            result.quality = _compared(model, answers, name, is_training)
        else:
            result.quality = quality_of(evaluation, saved.model)
        if not is_training and ROWS <= rows <= model.rows:
            caveat = "The first rows; if they are training rows, expect worse scores on others."
            result.quality = replace(result.quality, notes=[*result.quality.notes, caveat])
    _choose(result, model, answers, name, is_training)
    return result


def _answered(
    predictor: Predictor, tables: list[pa.Table], labelled_rows: bool, missing: Any
) -> Predictions:
    posterior, target = predictor.posterior, predictor.target
    truths, codes, chances = [], [], []
    for table in tables:
        truth = np.full(table.num_rows, -2)
        if labelled_rows and target is not None:
            labels, inverse = labelled(table, target, missing)
            truth = np.append(positions(labels, posterior.classes), -2)[inverse]
        rows = predictor.encode(table)
        truths.append(truth)
        codes.append(posterior.predict_codes(rows))
        chances.append(posterior.log_proba(rows))
    log_proba = np.concatenate(chances)
    code = np.concatenate(codes)
    confidence = np.minimum(np.exp(log_proba[np.arange(len(code)), code]), 1.0)
    return Predictions(together(tables), np.concatenate(truths), code, confidence, log_proba)


# ---- scores ----------------------------------------------------------------------------------


def _equal(model: Model, spec: TrainingSpec, tables: list[pa.Table]) -> bool:
    """Whether these are exactly the training rows: their sums are equal."""
    plan = Plan(model.blank(), spec, model.classes)
    if sum(table.num_rows for table in tables) < model.rows:
        return False
    try:
        return reduce(merge, (summarise(plan, table) for table in tables)) == model
    except ValueError:  # they do not fit the model
        return False


def quality_of(scores: Scores, model: Model) -> Quality:
    """Cross-validation scores, as the page shows them."""
    n_rows = round(model.class_weight.rounded().sum())
    some = f"{round(scores.rows):,} of " * (round(scores.rows) < n_rows)
    rows = some + counted(n_rows, "training row")
    remarks = [scores.caveat] * bool(scores.caveat) + summary_tables.unknown_rows(scores)
    notes = [f"{remark[0].upper()}{remark[1:]}." for remark in remarks]
    return Quality(
        f"{scores.title[0].upper()}{scores.title[1:]} on {rows}", scores, majority_class(model),
        [*notes, *_worse(scores.worse_than_prior)], rankings=_rankings(model, scores),
    )  # fmt: skip


def _ranked(model: Model) -> list[int]:
    """The classes with ROC curves: the rarer of two, all of a few, or none."""
    positive = positive_class(model.class_weight.rounded())
    n_classes = len(model.classes)
    if positive is not None:
        return [positive]
    return list(range(n_classes if n_classes <= CONFUSED else 0))


def _rankings(model: Model, scores: Scores) -> dict[str, Ranking]:
    """The rankings by class that have rows of the class and others."""
    names = names_of(model)
    return {
        names[c]: ranking for c, ranking in scores.rankings.items()
        if 0 < ranking.positives < ranking.rows
    }  # fmt: skip


def _compared(model: Model, predictions: Predictions, name: str, learned: bool) -> Quality:
    """Score the predictions of the model itself."""
    tally = Tally.of_model(model, ranked=_ranked(model))
    has_label = predictions.truth > -2
    tally.add(predictions.truth[has_label], predictions.log_proba[has_label])
    scores = tally.scores()
    notes = _worse(scores.worse_than_prior)
    if learned:
        notes.append(
            "These are training rows, without cross-validation: expect a worse score on new rows."
        )
    if scores.unknown:
        notes.append(
            f"{counted(int(scores.unknown), 'row')} of a class unknown to the model: errors, "
            "without log-loss."
        )
    title = f"On {counted(int(has_label.sum()), 'row')} of {name}"
    confusion, rankings = _confusion(model, scores), _rankings(model, scores)
    return Quality(title, scores, majority_class(model), notes, confusion, rankings)


def _worse(is_so: bool) -> list[str]:
    return ["Its probabilities are worse than the baseline's."] if is_so else []


def names_of(model: Model) -> list[str]:
    """The names of classes; for numbers and booleans with the target, as "sold = 1"."""
    if model.classes.dtype.kind in "OUT" or model.target is None:
        return [str(label) for label in model.classes.tolist()]
    return [f"{model.target} = {label}" for label in model.classes.tolist()]


def majority_class(model: Model) -> str:
    """The majority class."""
    return names_of(model)[int(model.class_weight.rounded().argmax())]


def _confusion(model: Model, scores: Scores) -> Table | None:
    """The confusion matrix; None if there are too many classes."""
    names = [str(label) for label in model.classes.tolist()]
    if len(names) > CONFUSED:
        return None
    rows = [
        [name, *(f"{count:,}" for count in counts)]
        for name, counts in zip(names, scores.confusion.tolist(), strict=True)
    ]
    header = ["actual", *(f"predicted {name}" for name in names)]
    return Table("Confusion matrix", header, rows)


# ---- rows --------------------------------------------------------------------------------------


def _choose(
    result: TableResults, model: Model, predictions: Predictions, name: str, learned: bool
) -> None:
    """Choose typical rows of frequent classes, the least certain row, and the worst mistakes."""
    if len(model.classes) < 2:
        return
    correct = predictions.codes == predictions.truth
    has_label = predictions.truth > -2
    candidates = correct if correct.any() else np.ones(len(correct), bool)
    frequent = np.argsort(-np.bincount(predictions.codes[candidates], minlength=len(model.classes)))
    examples = []
    for c in frequent[:EXAMPLES].tolist():
        rows = np.flatnonzero(candidates & (predictions.codes == c))
        if len(rows):
            order = rows[np.argsort(predictions.confidence[rows], kind="stable")]
            examples.append(int(order[len(order) // 2]))
    least_certain = int(np.argmin(predictions.confidence))
    examples += [least_certain] * (least_certain not in examples)
    result.examples = [_example(model, predictions, i) for i in examples]
    result.examples_note = (
        f"From {name}: for each frequent class a row of median probability, and the row with the "
        "least certain prediction."
        + " Interactions are shared among their features."
        * any(len(shape.names) > 1 for shape in model.posterior().shapes)
    )
    result.first = _values(model, predictions, examples[0])
    errors = np.flatnonzero(has_label & ~correct)
    if has_label.any():
        order = np.argsort(-predictions.confidence[errors], kind="stable")
        mistakes = errors[order][:MISTAKES].tolist()
        result.mistakes = [_example(model, predictions, i) for i in mistakes]
        result.mistakes_note = (
            f"{len(errors):,} of {int(has_label.sum()):,} predictions are wrong; these have the "
            "highest probabilities."
            + " These are training rows: expect more errors on new rows." * learned
        ) if mistakes else "No prediction is wrong."  # fmt: skip


def _explained(model: Model, predictions: Predictions, i: int) -> RowExplanation:
    posterior = model.posterior()
    row = predictions.table.slice(i, 1)
    return Predictor(posterior).explain(row)[0]


def _values(model: Model, predictions: Predictions, i: int) -> dict[str, Any]:
    """The values of a row, for the form."""
    row = _explained(model, predictions, i)
    values = dict(zip(row.features, row.values, strict=True))
    return values | {name: text.text for name, text in row.texts.items()}


def _example(model: Model, predictions: Predictions, i: int) -> Example:
    row = _explained(model, predictions, i)
    names = names_of(model)
    a, b = row.pair()
    # two classes have fixed colours, as in plots; of more, only the compared pair has
    colours = (a, b) if len(names) > 2 else (0, 1)
    side = {c: "ab"[k] for k, c in enumerate(colours)}
    text = row.text
    if text is None:
        lines = [
            (name, "missing" if value is None else value, odds)
            for name, value, odds in row.lines() if name not in row.texts or odds
        ]  # fmt: skip
    else:
        lines = [
            (shown(term), f"{count:,} times" if count > 1 else "", odds)
            for term, count, odds in text.lines()
        ]
    mixing = sum(odds for name, _, odds in lines if name == MIXING)
    prior = [line for line in lines if line[0] == row.prior_name and abs(line[2]) >= 0.005]
    lines = [line for line in lines if line[2] != 0 and line[0] not in (MIXING, row.prior_name)]
    reasons = [*lines[:REASONS], *more_of(lines[REASONS:], "contribution"), *prior]
    note = f"{mixing:+.2f} by prior mixing, towards the class frequencies"
    notes = [note] * bool(mixing)
    truth = None if predictions.truth[i] == -2 else "another class"
    if predictions.truth[i] >= 0:
        truth = names[predictions.truth[i]]
    strongest = row.strongest()
    flip = side[a] == "b"
    return Example(
        f"Row {i + 1:,}", names[a], names[b], float(row.proba[a]), truth,
        [Reason(brief(name, 60), brief(value, 60), odds, side[a if odds > 0 else b])
         for name, value, odds in reasons],
        "; ".join(notes).replace("-", "\u2212"),
        (names[colours[0]], names[colours[1]]),
        [(name, _marked(row_text.text, row_text.marks(), strongest, flip))
         for name, row_text in row.texts.items()],
    )  # fmt: skip


def _marked(text: str, marks: Any, strongest: float, flip: bool) -> str:
    """The beginning of a text as HTML, each word in the colour of the class it is evidence for."""
    shown = [mark for mark in marks if mark[1] <= MARKED]
    widest = strongest or largest(odds for _, _, odds in marks)
    return html_text(text[:MARKED], shown, widest, flip) + " …" * (len(text) > MARKED)


FEATURES, PAIRS, LISTED = 40, 12, 200
"""Features and interactions that are drawn, and features that are listed, at most."""
TERMS, CLASSES = 20, 12  # terms of a class, and classes whose terms are shown, at most
HEAVIEST = 8 << 20  # bytes of parameters for the form of a page, at most


def report_of(saved: Saved, path: Path, source: Opened | None) -> Report:
    """Collect all data of the page.

    Raises UserError if the model has no class or is multilabel; if rows do not fit it.
    """
    if saved.multilabel:
        raise UserError(f"{path}: report is for models that give each row one label")
    model, summary = models.shown(saved), summary_of(saved, TERMS)
    if model is None or summary is None:
        raise UserError(f"{path}: the model has no class: it has no training rows")
    looked = TableResults() if source is None else looked_at(saved, source)
    legend, shapes, note = _shapes(model, summary)
    quality, unknown = _quality(model, summary, looked)
    numbers, reason = exported(model)
    ranked = [
        summary_tables.features(summary, LISTED), summary_tables.interactions(summary, LISTED),
    ]  # fmt: skip
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
        shapes=shapes,
        shapes_note=note,
        words=_terms(summary),
        missing=_missing(summary),
        left_out=_listed("Left out", "why", summary.left_out),
        misread=_listed("Not read as numbers or dates", "holds", summary.misread),
        rows=looked,
        form=None if numbers is None else fields(model, summary.left_out, looked),
        numbers=numbers,
        prior=name_of_prior(model.posterior().has_bias),
        no_form=reason,
        labels=[js_name(label) for label in summary.classes],
        names=names_of(model),
    )


def _warnings(summary: ModelSummary) -> list[str]:
    lines = summary_tables.leaks(summary)
    leaks = [f"{' '.join(lines)}"[0].upper() + " ".join(lines)[1:]] if lines else []
    return leaks + [
        f"The feature {name} has a different whole number in each row: if it is a row number or an "
        "id, it should be left out."
        for name in summary.row_numbers[:5]
    ]


def _quality(
    model: Model, summary: ModelSummary, results: TableResults
) -> tuple[list[Quality], str]:
    """(scores, why there are none)."""
    if results.quality is not None:
        return [results.quality], ""
    if summary.cross_validation is None:
        reason = f" {results.unknown}" * bool(results.unknown)
        return [], (
            "Not known: the model stores no training rows. Write the page with the training "
            f"table, which is then cross-validated, or with new rows.{reason}"
        )
    return [quality_of(summary.cross_validation, model)], ""


# ---- features ------------------------------------------------------------------------------------


def _shapes(model: Model, summary: ModelSummary) -> tuple[Picture | None, list[Picture], str]:
    """(the legend, plots of features and interactions, a note on them)."""
    shapes = model.posterior().shapes
    if shapes:
        with_plot = drawable(shapes)
        singles = [shape for shape in with_plot if len(shape.names) == 1]
        pairs = [shape for shape in with_plot if len(shape.names) == 2]
        selected = [*singles[:FEATURES], *pairs[:PAIRS]]
        legend, plots = pictures.evidence(selected, model.classes)
        has_many = len(model.classes) > LINES
        n_hidden = len(with_plot) - len(selected)
        note = (
            "The mean contribution of each value to the score, in nats; its number of training "
            "rows is in grey, or beside it. Pairs are heat maps: grey cells have no rows. "
            + "Features in interactions have their share of these; the thin line is their own "
            "table alone, weight times evidence. "
            * any(shape.total is not None for shape in selected)
            + f"Of the {len(model.classes):,} classes the {LINES} with the most rows are shown. "
            * has_many
        )
        remaining = f"{n_hidden:,} more of less importance" if n_hidden else ""
        if any(shape.weight < 0 for shape in selected):
            note += f"{summary_tables.NEGATIVE.capitalize()}. "
        without_plot = [shape for shape in shapes if shape not in with_plot]
        hidden = [remaining] * bool(remaining) + _no_plot(without_plot)
        return legend, plots, note + (f"Not shown: {'; '.join(hidden)}." if hidden else "")
    tables = _tables(summary)
    names = [shape.name for shape in summary.features]
    densities = [pictures.family(model, name, tables[name]) for name in names[:FEATURES]
             if name in tables]  # fmt: skip
    n_hidden = max(0, len(names) - FEATURES)
    note = "What each class expects of each feature, the most important first. "
    return (
        None,
        [shape for shape in densities if shape],
        note + f"Not shown: {n_hidden:,} more." * bool(n_hidden),
    )


def _no_plot(shapes: list[Shape]) -> list[str]:
    """Describe the blocks that have no plot."""
    large = [shape for shape in shapes if len(shape.bins) > 2]
    texts_only = [shape for shape in shapes if shape.of_text and len(shape.names) == 1]
    texts = list(dict.fromkeys(shape.names[0] for shape in texts_only))
    others = [shape for shape in shapes if shape not in [*large, *texts_only]]
    descriptions = [f"the texts of {first_names(texts)}, whose terms are above"] * bool(texts)
    several = f"{counted(len(large), 'interaction')} of three features or more"
    descriptions += [several] * bool(large)
    return descriptions + [
        f"{joined([clean(name, 24) for name in shape.names])} ({shape.kind})" for shape in others
    ]


def _tables(summary: ModelSummary) -> dict[str, Table]:
    """Tables of the parameters of each feature, by class."""
    classes = [str(item) for item in summary.classes]
    tables = {}
    for section in summary.parameters:
        for name, rows in section.rows.items():
            lines = [
                [label, key, *(number(value) for value in values)]
                for label, numbers in rows
                for key, values in numbers.items()
            ]
            title, heads = f"{name}: {section.meaning}", ["of", "what", *classes]
            tables[name] = Table(title, heads, lines[:LISTED], 2)
    return tables


def _terms(summary: ModelSummary) -> list[Table]:
    """Tables of the most informative terms, one for each class and column."""
    order = np.argsort(-np.array(summary.class_weight), kind="stable")
    single_feature = summary.n_features == 1
    tables = []
    for text in summary.texts:
        for c in np.sort(order[:CLASSES]).tolist():
            if not (terms := text.by_class[c]):
                continue
            top_odds = max(entry.log_odds for entry in terms)
            label = str(summary.classes[c])
            title = label if single_feature else f"{text.name}: {label}"
            rows = [[shown(entry.term), f"{entry.log_odds:+.2f}"] for entry in terms]
            bars = [entry.log_odds / top_odds for entry in terms]
            tables.append(Table(title, ["term", "log-odds"], rows, 1, bars=bars))
    return tables


def _missing(summary: ModelSummary) -> Table | None:
    features = sorted(
        (feature for feature in summary.features if feature.missing),
        key=lambda feature: -feature.missing,
    )
    shares = [feature.missing / summary.weight for feature in features[:LISTED]]
    lines = [
        [feature.name, f"{feature.missing:,.10g}", f"{share:.1%}"]
        for feature, share in zip(features, shares, strict=False)
    ]
    header = ["feature", "missing", "share"]
    return Table("Missing values", header, lines, 1, bars=shares) if features else None


def _listed(title: str, head: str, by_name: dict[str, str]) -> Table | None:
    """A table of features with a remark on each; None if there are none."""
    lines = [[name, remark] for name, remark in by_name.items()]
    n_more = len(lines) - LISTED
    notes = [f"and {n_more:,} more"] * (n_more > 0)
    return Table(title, ["feature", head], lines[:LISTED], 2, notes) if lines else None


# ---- the form ------------------------------------------------------------------------------------


def exported(model: Model) -> tuple[dict[str, Any] | None, str]:
    """(the parameters for prediction in the page, why there are none)."""
    try:
        parameters = numbers_of(model)
    except NotExportableError as error:
        return None, f"This model has no form here, for it is not exported to JavaScript: {error}."
    size = len(js_text(parameters))
    if size > HEAVIEST:
        return None, (
            f"This model has no form here: its numbers take {size >> 20:,} MB. `naively serve` has "
            "a page to try it, and `naively export --js` a module."
        )
    return parameters, ""


def fields(
    model: Model, left_out: Mapping[str, str], results: TableResults
) -> list[dict[str, Any]]:
    """The columns of the form, with the values of the first example, or typical ones."""
    columns = form(State.of(0, model))["columns"]
    example = results.first
    ends = _ends(model)
    form_fields = []
    for column in columns:
        name, kind = column["name"], column["kind"]
        if name in left_out:
            continue
        value = example.get(name, column.get("typical"))
        entry: dict[str, Any] = {"name": name, "kind": kind, "value": value}
        if kind == "categorical":
            entry["value"] = value = level_text(value, model.schema.missing)
            categories = [str(category) for category in column.get("categories", [])]
            entry["categories"] = categories + [value] * (value not in [None, *categories])
        elif kind == "numeric":
            entry["value"] = _as_number(value, model.schema.missing)
            values = ends.get(name) or column.get("values", [])
            values = [v for v in [*values, entry["value"]] if _is_number(v)]
            if values:
                entry |= {"low": min(values), "high": max(values),
                        "whole": all(float(v).is_integer() for v in values)}  # fmt: skip
        form_fields.append(entry)
    return form_fields


def _ends(model: Model) -> dict[str, list[float]]:
    """The smallest and largest values of numeric columns with bins."""
    ranges = {}
    for shape in model.posterior().shapes:
        for bins in shape.bins:
            if bins.low is not None and bins.high is not None and np.isfinite(bins.low).any():
                ranges[bins.name] = [float(np.nanmin(bins.low)), float(np.nanmax(bins.high))]
    return ranges


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _as_number(value: Any, missing: Sequence[str]) -> float | None:
    """A cell as a number; None if it is missing or not a number."""
    value_as_float = float(numbers(flat(to_array([value])), missing).values[0])
    if not math.isfinite(value_as_float):
        return None
    return int(value_as_float) if value_as_float.is_integer() else value_as_float
