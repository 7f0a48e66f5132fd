"""Rows that `naively report` is given: how well they are predicted, examples, mistakes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from naively.cli import models, work
from naively.cli.options import learned_question
from naively.cli.sources import Opened
from naively.evaluation.samples import Kept, kept_of
from naively.evaluation.tally import Scores, Tally
from naively.exact import Float64, Int64
from naively.explanation import RowExplanation
from naively.files.safetensors import Saved
from naively.markup import brief, colour, counted, escaped, largest, more_of, shown, squeezed
from naively.model import Model
from naively.predictor import Predictor
from naively.rendering import Table
from naively.report.facts import Example, Quality, Reason
from naively.tables.joining import together
from naively.tables.learning import Plan, Question, labelled, merge, summarise
from naively.tables.targets import positions

ROWS = 200_000
"""Rows that are looked at, the first of a table."""
EXAMPLES, MISTAKES, REASONS = 4, 6, 10
MARKED = 3000
"""Characters of a text that are shown."""
CONFUSED = 12
"""Classes of which it is shown which are taken for which."""
DOUBT = "(doubt)"
"""A part of texts that is said in words: as a bar it would hide those of the terms."""


@dataclass
class Looked:
    """What was found in the rows.

    Attributes
    ----------
    quality : how well they are predicted; None if that is not known.
    unknown : why.
    examples, mistakes : rows, and why they are predicted so.
    first : the values of the first example, by column.
    """

    quality: Quality | None = None
    unknown: str = ""
    examples: list[Example] = field(default_factory=list)
    mistakes: list[Example] = field(default_factory=list)
    examples_note: str = ""
    mistakes_note: str = ""
    first: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answered:
    """What is said of each row.

    Attributes
    ----------
    table : the rows.
    truth : (n,) the position of its class; -1 of a label that is none, -2 of a row without one.
    codes, sure : (n,) what is predicted, and how probable that is.
    """

    table: pa.Table
    truth: Int64
    codes: Int64
    sure: Float64
    log_proba: Float64


def looked_at(saved: Saved, source: Opened) -> Looked:
    """What the first rows of files say of a model."""
    target = models.target_of(saved)
    labelled_rows = target is not None and target in source.names
    names = [name for name in source.names if name != target]
    model = models.with_columns(saved, names, source.name)
    predictor = Predictor(model.posterior(), target, source.name)
    question = learned_question(saved, None) if labelled_rows else None
    kept = Kept(0) if question is None else kept_of(question)
    tables, rows = [], 0
    for task in kept.passing(source.tasks()):
        tables.append(pa.Table.from_batches([task()]))
        rows += tables[-1].num_rows
        if rows >= ROWS:
            break
    found = Looked()
    if not rows:
        found.unknown = f"{source.name} has no rows."
        return found
    said = _answered(predictor, tables, labelled_rows, models.spellings(saved))
    name = source.name if rows < ROWS else f"the first {rows:,} rows of {source.name}"
    learned = False
    if question is not None and (said.truth > -2).any():
        learned = _equal(saved.model, question, tables)
        found.quality = (_left_out(saved.model, kept, question) if learned else None) or _compared(
            model, said, name, learned
        )
        if not learned and ROWS <= rows <= model.rows:
            doubt = "These are the first rows. If the model learned them, it does worse on others."
            found.quality = replace(found.quality, notes=[*found.quality.notes, doubt])
    _choose(found, model, said, name, learned)
    return found


def _answered(
    predictor: Predictor, tables: list[pa.Table], labelled_rows: bool, missing: Any
) -> Answered:
    posterior, target = predictor.posterior, predictor.target
    truths, codes, chances = [], [], []
    for table in tables:
        truth = np.full(table.num_rows, -2)
        if labelled_rows and target is not None:
            labels, places = labelled(table, target, missing)
            truth = np.append(positions(labels, posterior.classes), -2)[places]
        rows = predictor.encode(table)
        truths.append(truth)
        codes.append(posterior.predict_codes(rows))
        chances.append(posterior.log_proba(rows))
    log_proba = np.concatenate(chances)
    code = np.concatenate(codes)
    sure = np.minimum(np.exp(log_proba[np.arange(len(code)), code]), 1.0)
    return Answered(together(tables), np.concatenate(truths), code, sure, log_proba)


# ---- how well --------------------------------------------------------------------------------


def _equal(model: Model, question: Question, tables: list[pa.Table]) -> bool:
    """Whether these are the rows that the model learned: their sums are the same."""
    made = Plan(model.blank(), question, model.classes)
    if sum(table.num_rows for table in tables) < model.rows:
        return False
    try:
        return reduce(merge, (summarise(made, table) for table in tables)) == model
    except ValueError:  # they have what the model cannot have learned
        return False


def _left_out(model: Model, kept: Kept, question: Question) -> Quality | None:
    """How the rows that it learned are predicted, each left out in turn."""
    found = work.left_out("the table", model, kept, question)
    return None if found is None else quality_of(found, model)


def quality_of(found: Scores, model: Model) -> Quality:
    """Cross-validation as a page shows it."""
    folds = "cross-validation" if found.folds is None else f"{found.folds}-fold cross-validation"
    some = found.rows < model.class_weight.rounded().sum()
    rows = f"{counted(round(found.rows), 'training row')}{' (a sample)' * bool(some)}"
    assert found.calibration is not None  # of rows with one label
    notes = [f"{found.caveat[0].upper()}{found.caveat[1:]}."] if found.caveat else []
    return Quality(
        f"{folds.capitalize()} on {rows}", found.accuracy, found.baseline_accuracy,
        found.log_loss, found.baseline_log_loss, found.calibration, usual(model),
        [*notes, *_worse(found.worse_than_prior)],
    )  # fmt: skip


def _compared(model: Model, said: Answered, name: str, learned: bool) -> Quality:
    """How rows are predicted by the model as it is."""
    tally = Tally.of_model(model)
    known = said.truth > -2
    tally.add(said.truth[known], said.log_proba[known])
    scores = tally.scores()
    notes = _worse(scores.worse_than_prior)
    if learned:
        notes.append(
            "The model learned these very rows, and none was left out: it does worse on others."
        )
    if scores.unknown:
        notes.append(
            f"{counted(int(scores.unknown), 'row')} with a label that the model never met: errors, "
            "but in no log-loss."
        )
    assert scores.calibration is not None  # of rows with one label
    return Quality(
        f"On {counted(int(known.sum()), 'row')} of {name}", scores.accuracy,
        scores.baseline_accuracy, scores.log_loss, scores.baseline_log_loss, scores.calibration,
        usual(model), notes, _confusion(model, scores),
    )  # fmt: skip


def _worse(is_so: bool) -> list[str]:
    return ["Its probabilities are worse than the shares of the classes."] if is_so else []


def _together_told(model: Model) -> bool:
    """Whether several columns are evidence together."""
    return any(len(one.names) > 1 for one in model.posterior().shapes)


def names_of(model: Model) -> list[str]:
    """The classes for people: numbers and truth values with the target that has them."""
    if model.classes.dtype.kind in "OUT" or model.target is None:
        return [str(one) for one in model.classes.tolist()]
    return [f"{model.target} = {one}" for one in model.classes.tolist()]


def usual(model: Model) -> str:
    """The class with the most rows."""
    return names_of(model)[int(model.class_weight.rounded().argmax())]


def _confusion(model: Model, scores: Scores) -> Table | None:
    """Which classes are taken for which."""
    names = [str(one) for one in model.classes.tolist()]
    if len(names) > CONFUSED:
        return None
    rows = [
        [name, *(f"{count:,}" for count in own)]
        for name, own in zip(names, scores.confusion.tolist(), strict=True)
    ]
    heads = ["true class", *(f"taken for {name}" for name in names)]
    return Table("Which classes are taken for which", heads, rows)


# ---- rows --------------------------------------------------------------------------------------


def _choose(found: Looked, model: Model, said: Answered, name: str, learned: bool) -> None:
    """Rows that are as sure as most of their class, the most doubtful one, and mistakes."""
    if len(model.classes) < 2:
        return
    right = said.codes == said.truth
    seen = said.truth > -2
    fine = right if right.any() else np.ones(len(right), bool)
    frequent = np.argsort(-np.bincount(said.codes[fine], minlength=len(model.classes)))
    chosen = []
    for c in frequent[:EXAMPLES].tolist():
        own = np.flatnonzero(fine & (said.codes == c))
        if len(own):
            order = own[np.argsort(said.sure[own], kind="stable")]
            chosen.append(int(order[len(order) // 2]))
    doubtful = int(np.argmin(said.sure))
    chosen += [doubtful] * (doubtful not in chosen)
    found.examples = [_example(model, said, i) for i in chosen]
    found.examples_note = (
        f"Of {name}: of each frequent class a row of which the model is as sure as of most, and "
        "the row of which it is least sure."
        + " What columns tell together is shared among them."
        * _together_told(model)
    )
    found.first = _values(model, said, chosen[0])
    wrong = np.flatnonzero(seen & ~right)
    if seen.any():
        worst = wrong[np.argsort(-said.sure[wrong], kind="stable")][:MISTAKES].tolist()
        found.mistakes = [_example(model, said, i) for i in worst]
        found.mistakes_note = (
            f"{len(wrong):,} of {int(seen.sum()):,} rows are predicted wrong; these are the surest."
            + " The model learned these rows: if they are left out, more may be wrong." * learned
        ) if worst else "No row is predicted wrong."  # fmt: skip


def _explained(model: Model, said: Answered, i: int) -> RowExplanation:
    posterior = model.posterior()
    row = said.table.slice(i, 1)
    return Predictor(posterior).explain(row)[0]


def _values(model: Model, said: Answered, i: int) -> dict[str, Any]:
    """The cells of a row, as a form takes them."""
    row = _explained(model, said, i)
    values = dict(zip(row.features, row.values, strict=True))
    return values | {name: text.text for name, text in row.texts.items()}


def _example(model: Model, said: Answered, i: int) -> Example:
    row = _explained(model, said, i)
    names = names_of(model)
    a, b = row.pair()
    # of two classes each has its colour, as in plots; of more the predicted one and the other
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
    doubt = sum(odds for name, _, odds in lines if name == DOUBT)
    lines = [one for one in lines if one[2] != 0 and one[0] != DOUBT]
    first, rest = lines[:REASONS], lines[REASONS:]
    notes = [more_of(rest, "part")] * bool(rest)
    notes += [f"{doubt:+.2f} of doubt: what was learned allows no more certainty"] * bool(doubt)
    truth = None if said.truth[i] == -2 else "another class"
    if said.truth[i] >= 0:
        truth = names[said.truth[i]]
    strongest = row.strongest()
    flip = side[a] == "b"
    return Example(
        f"Row {i + 1:,}", names[a], names[b], float(row.proba[a]), truth,
        [Reason(brief(name, 60), brief(value, 60), odds, side[a if odds > 0 else b])
         for name, value, odds in first],
        "; ".join(notes).replace("-", "\u2212"),
        (names[colours[0]], names[colours[1]]),
        [(name, _marked(own.text, own.marks(), strongest, flip))
         for name, own in row.texts.items()],
    )  # fmt: skip


def _marked(text: str, marks: Any, strongest: float, flip: bool) -> str:
    """A text as HTML, its words in the colour of the class that they speak for."""
    widest = strongest or largest(odds for _, _, odds in marks)
    pieces, at = [], 0
    for start, end, odds in marks:
        if end > MARKED:
            break
        style = colour(float(np.clip((-odds if flip else odds) / widest, -1.0, 1.0)))
        pieces.append(escaped(squeezed(text[at:start])))
        word = escaped(text[start:end])
        pieces.append(f'<span style="{style}" title="{odds:+.3f}">{word}</span>')
        at = end
    rest = text[at:MARKED]
    return "".join(pieces) + escaped(squeezed(rest)) + " …" * (len(text) > MARKED)
