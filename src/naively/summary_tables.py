"""Format the summary of a model as tables, for the terminal, the report and notebooks.

All headings, notes and number formats of model summaries are defined here.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.text import Text

from naively.core.markup import counted, magnitude
from naively.core.markup import shown as shown_term
from naively.evaluation.metrics import Scores
from naively.evaluation.out_of_fold import baseline_note, score_table
from naively.explain.importance import InformativeTerm
from naively.families.base import Section
from naively.model_summary import Feature, ModelSummary, TextTerms
from naively.rendering import (
    Table,
    as_text,
    classes_listed,
    clean,
    facts,
    html_of,
    joined,
    note,
    number,
    on_terminal,
)

FEATURES = 20  # default number of features, interactions and so on to list
CLASSES = 20  # number of classes to list, and to list the terms of
LEAKS = 3  # number of features that almost determine the class to list, one per line
NAMED = 8  # number of features to name in a line about several
PARAMETERS = 30  # number of rows of a table of parameters
WIDEST, GAP = 15, 3  # widths in characters: of a term, of the gap between columns
TERM_HEADS = " log-odds     MI"
PLAIN_HEADS = f"   count       P{TERM_HEADS}"
"""Headings of the numbers of a term, with their widths; the latter if terms have no weights."""
NONE = "·"
IMPORTANCE = (
    "sorted by importance: how much the feature typically raises or lowers the log-odds, in nats "
    "(0.69 nats double the odds); the mean absolute deviation of its contribution"
)
NEGATIVE = "negative weight: subtracts evidence that other features count, too"


# ---- the tables ----------------------------------------------------------------------------------


def features(summary: ModelSummary, limit: int = FEATURES) -> Table | None:
    """Return the features by decreasing importance; None if there are none."""
    listed = summary.features[:limit]
    if not listed:
        return None
    by_class = {}
    if any(feature.kind != "text" for feature in listed) and not summary.weighs:
        by_class = _by_class(summary)
    heads = ["feature", "type", "missing"]
    if summary.weighs:
        heads.append("weight")
    has_importance = any(feature.importance is not None for feature in listed)
    if has_importance:
        heads.append("importance")
    if by_class:
        heads.insert(2, "values")
    rows: list[list[str]] = []
    lengths: list[float] = []
    for feature in listed:
        cells = [clean(feature.name, 200), feature.type, f"{feature.missing:,.10g}"]
        if summary.weighs:
            cells.append(_weight(feature.weight))
        if has_importance:
            cells.append("inf" if feature.zero_probability else _importance(feature.importance))
        if by_class:
            cells.insert(2, "" if feature.kind == "text" else by_class[feature.name])
        rows.append(cells)
        lengths.append(feature.importance or 0.0)
        for block in feature.evidence if len(feature.evidence) > 1 else ():
            rows.append(["", block.kind, "", _weight(block.weight), _importance(block.importance)])
            lengths.append(block.importance)
    names = 3 if by_class else 2
    return Table(
        "Features", heads, rows, names, _features_notes(summary, limit),
        _bars(lengths), elastic=2 if by_class else 0,
    )  # fmt: skip


def _features_notes(summary: ModelSummary, limit: int) -> list[str]:
    notes = []
    if any(item.importance is not None for item in summary.features):
        notes.append(IMPORTANCE)
        if not summary.weighs:
            of_text = any(item.importance is None for item in summary.features)
            but_text = f"; of text there is no estimate ({NONE})" * of_text
            notes.append(f"importance is estimated from rows drawn from the model{but_text}")
        elif not summary.stored_rows:
            notes.append("importance is without interactions: the training rows are not stored")
        elif summary.interactions:
            notes.append("weight: of the feature's own table; importance includes its interactions")
    if zeros := [item for item in summary.features if item.zero_probability]:
        of_importance = any(item.importance is not None for item in zeros)
        infinite = f"contribution{' and importance are' if of_importance else ' is'} infinite"
        notes.append(
            f"{_listed([item.name for item in zeros])}: a value that never occurred in a class has "
            f"probability 0 there, so its {infinite}; to smooth: alpha=1 in "
            "place of alpha=0, in --alpha, the family of the feature, or the estimator in Python"
        )
    if constant := [item for item in summary.features if item.constant_in]:
        places = [f"{clean(x.name, 24)} in class {_listed(x.constant_in)}" for x in constant]
        notes.append(
            f"constant: {_listed(places, 80)}; other values are all but impossible there; to widen "
            "the bell curve: gaussian(alpha=1), or GaussianNB(alpha=1) in Python"
        )
    listed = summary.features[:limit]
    if not summary.weighs and (meanings := _meanings(summary, listed)):
        notes.append(f"values of numeric features: {meanings}, by class")
    if any("categories, " in item.detail for item in listed):
        notes.append("bins of categories: categories with one row share a bin")
    if any(item.weight < 0 for feature in listed for item in feature.evidence):
        notes.append(NEGATIVE)
    if (n_others := len(summary.features) - limit) > 0:
        order = " of less importance" * (summary.features[limit - 1].importance is not None)
        notes.append(f"and {counted(n_others, 'more feature')}{order}")
    return notes


def interactions(summary: ModelSummary, limit: int = FEATURES) -> Table | None:
    """Return the evidence of several features together; None if there is none."""
    listed = summary.interactions[:limit]
    if not listed:
        return None
    rows = [
        [joined([clean(name, 24) for name in block.names]), block.kind, _weight(block.weight),
         _importance(block.importance)]
        for block in listed
    ]  # fmt: skip
    n_others = len(summary.interactions) - limit
    notes = [f"and {counted(n_others, 'more interaction')} of less importance"] * (n_others > 0)
    importance = {feature.name: feature.importance or 0.0 for feature in summary.features}
    if summary.stored_rows and any(
        block.importance > max(importance.get(name, 0.0) for name in block.names)
        for block in listed
    ):
        notes.insert(
            0, "an interaction can be more important than its features, where contributions cancel"
        )
    if any("principal components" in block.kind for block in listed):
        notes.insert(0, "principal components: directions in which the features vary most")
    if any(block.kind.startswith("Gaussian") for block in listed):
        shared = "Gaussian: bell curves, with one covariance for all classes (shared: LDA)"
        notes.insert(0, f"{shared} or per class (QDA)")
    if any(block.weight < 0 for block in listed):
        notes.insert(0, NEGATIVE)
    if any(block.kind.endswith("cells") for block in listed):
        notes.insert(0, "cells: combinations of bins that have training rows")
    heads = ["interaction", "kind", "weight", "importance"]
    lengths = [block.importance for block in listed]
    return Table("Interactions", heads, rows, 2, notes, _bars(lengths))


def classes(summary: ModelSummary, limit: int = CLASSES) -> Table:
    """Return the classes with their priors; only those with the most rows, if there are many."""
    noun, plural = ("label", "labels") if summary.multilabel else ("class", "classes")
    weights = np.array(summary.class_weight)
    order = np.argsort(-weights, kind="stable")
    if len(order) <= limit and not summary.multilabel:
        order = np.arange(len(order))
    listed = order[:limit].tolist()
    heads, others = [noun, "rows", "prior"], ""
    rows = [
        [clean(summary.classes[c], 200), f"{weights[c]:,.10g}", f"{summary.class_prior[c]:.4f}"]
        for c in listed
    ]
    if summary.multilabel and summary.texts:
        heads.insert(1, "most informative terms")
        for row, c in zip(rows, listed, strict=True):
            row.insert(1, ", ".join(clean(term) for term, *_ in summary.texts[0].by_class[c]))
    if n_others := len(order) - len(listed):
        others = f"and {counted(n_others, noun, plural)} with fewer rows"
    bars = [summary.class_prior[c] for c in listed]
    names = len(heads) - 2
    return Table(plural.capitalize(), heads, rows, names, [others] * bool(others), bars, names - 1)


def cross_validation(summary: ModelSummary) -> Table | None:
    """Return accuracy, log-loss and calibration, with the baseline; None if not available."""
    scores = summary.cross_validation
    if scores is None:
        return None
    if summary.multilabel:
        notes = ["baseline: the label frequencies; log-loss: nats a row, summed over the labels"]
    else:
        label = clean(summary.most_frequent, 30)
        notes = [baseline_note(label)]
    warning = worse_note(scores, summary.remedy)
    notes += [scores.caveat] * bool(scores.caveat)
    notes += unknown_rows(scores)
    notes += [warning] * scores.worse_than_prior
    rows, weight = round(scores.rows), round(summary.weight)
    sampled = "" if rows >= weight else f" on {rows:,} of {counted(weight, 'row')}"
    return score_table(scores, scores.title + sampled, notes)


def worse_note(scores: Scores, remedy: str) -> str:
    """Return a warning that the baseline has better probabilities, and what may help."""
    if math.isinf(scores.log_loss):
        remedy = ": a true class had probability 0; alpha=1 smooths"
    return f"its probabilities are worse than the baseline's{remedy}"


def unknown_rows(scores: Scores) -> list[str]:
    """Return a note on rows of a class that is in one fold only, in a list; [] without any."""
    rows = counted(round(scores.unknown), "row")
    note = f"{rows} of a class without training rows: errors, without log-loss"
    return [note] * bool(scores.unknown)


def parameters(section: Section, summary: ModelSummary, rows: Any, width: int) -> Table:
    """Return parameters by class, for as many classes as fit into `width` characters."""
    cells = [
        [_cell(section, values, c).replace("%", "") for c in range(len(summary.classes))]
        for _, values in rows
    ]
    names = [clean(name, 40) for name, _ in rows]
    labels = [clean(label, 16) for label in summary.classes]
    room = width - max(map(len, names), default=0) - 4
    shown: list[int] = []
    for c in np.argsort(-np.array(summary.class_weight), kind="stable").tolist():
        room -= max([len(labels[c]), *(len(row[c]) for row in cells)]) + 2
        if room < 0 and shown:
            break
        shown.append(c)
    shown.sort()
    lines = [[name, *(row[c] for c in shown)] for name, row in zip(names, cells, strict=True)]
    n_others = len(labels) - len(shown)
    notes = [f"and {n_others:,} more classes: widen the terminal"] * bool(n_others)
    title = f"{section.meaning.capitalize()}, by class"
    return Table(title, ["", *(labels[c] for c in shown)], lines, 1, notes)


def terms(text: TextTerms, labels: Sequence[Any], weights: Sequence[float], width: int) -> Group:
    """Return the most informative terms of each class, in as many columns as fit."""
    order = "sorted by P(term | class) × log-odds"
    title = Text(f"Terms of {clean(text.name)} by class, {order}", style="bold")
    if text.hashed:
        return Group(title, note("terms are hashed: their names are not stored"))
    if not any(text.by_class):
        return Group(title, note("no term has evidence"))
    shown = np.sort(np.argsort(-np.array(weights), kind="stable")[:CLASSES]).tolist()
    heads = TERM_HEADS if text.weighted else PLAIN_HEADS
    cells = [
        [(clean(shown_term(t.term), WIDEST), _numbers(t, text.weighted)) for t in text.by_class[c]]
        for c in shown
    ]
    titles = [clean(labels[c], WIDEST) for c in shown]
    widths = [cell_len(word) for line_cells in cells for word, _ in line_cells]
    room = max(*widths, *map(cell_len, titles), 1)
    across = max(1, (width + GAP) // (room + len(heads) + GAP))
    of_document = text.unit == "document"
    event = "a text contains the term" if of_document else "a term of a text is this one"
    lines = [title]
    for start in range(0, len(shown), across):
        band = slice(start, start + across)
        labelled = [set_cell_size(label, room) + heads for label in titles[band]]
        lines += [Text(), Text((" " * GAP).join(labelled), style="bold")]
        lines.append(Text((" " * GAP).join("─" * (room + len(heads)) for _ in labelled)))
        for line_cells in zip_longest(*cells[band], fillvalue=("", "")):
            columns = [
                set_cell_size(word, room) + f"{numbers:>{len(heads)}}"
                for word, numbers in line_cells
            ]
            lines.append(Text((" " * GAP).join(columns).rstrip()))
    lines.append(Text())
    if not text.weighted:
        unit = "documents of the class that contain the term"
        counts = "occurrences in documents of the class" if text.unit == "word" else unit
        lines.append(note(f"count: {counts}; P: P(term|class), smoothed if alpha > 0"))
    lines += [
        note(
            f"log-odds: {'weighted, ' * text.weighted}of the class against the others, without "
            "n-grams that contain the term"
        ),
        note(f"MI: mutual information of the class and whether {event}, in bits × 0.001"),
    ]
    if any(word.startswith("'") for line_cells in cells for word, _ in line_cells):
        lines.append(note("in quotes: character n-grams"))
    if n_others := len(labels) - len(shown):
        lines.append(note(f"and {counted(n_others, 'class', 'classes')} with fewer rows"))
    return Group(*lines)


# ---- lines ---------------------------------------------------------------------------------------


def heading(summary: ModelSummary) -> Text:
    """Return the estimator and the number of training rows."""
    skipped = f" ({summary.unlabelled:,} without a label skipped)" * bool(summary.unlabelled)
    rows = counted(summary.rows, "row")
    return Text(f"{clean(summary.estimator, 200)}, trained on {rows}{skipped}", style="bold")


def target_and_features(summary: ModelSummary) -> dict[str, str]:
    """Return the target with its classes, the number of features by kind, and of parameters."""
    listed = classes_listed(dict(zip(summary.classes, summary.class_weight, strict=True)))
    if summary.multilabel:
        listed = f"{counted(len(summary.classes), 'label')}: {listed}"
    kinds = [f"{count:,} {kind}" for kind, count in summary.kinds.items()]
    if n_left_out := len(summary.left_out):
        kinds.append(f"{n_left_out:,} left out")
    total = f"{len(summary.features) + n_left_out:,}: " * (len(kinds) != 1)
    target = {"target": f"{clean(summary.target)}: {listed}"} if summary.target else {
        "labels" if summary.multilabel else "classes": listed
    }  # fmt: skip
    smoothing = {text.name: _smoothing(text) for text in summary.texts if text.smoothing}
    named = [f"{clean(name)}: {alphas}" for name, alphas in smoothing.items()]
    only = [*smoothing.values()] if len(summary.texts) == 1 else named
    return {
        **target,
        "features": total + ", ".join(kinds),
        "parameters": magnitude(summary.n_parameters),
        **({"smoothing": "; ".join(only)} if only else {}),
    }


def warnings(summary: ModelSummary) -> list[str]:
    """Return warnings about features that leak the class or number the rows."""
    lines = leaks(summary)
    for name in summary.row_numbers[:LEAKS]:
        text = f"feature {clean(name, 24)} has a different whole number in each row"
        lines.append(f"{text}: if it is a row number or an id, leave it out (--skip)")
    return lines


def misread(summary: ModelSummary, limit: int = FEATURES) -> list[str]:
    """Return warnings about categorical features that may be meant as another type."""
    options = {
        name: f"{text}--text {shlex.quote(name)}, or text=[{name!r}] in Python"
        for name, text in summary.short_texts.items()
    }
    by_remark = grouped(summary.misread | options)
    return [held(names, text) for text, names in list(by_remark.items())[:limit]]


def leaks(summary: ModelSummary) -> list[str]:
    """Return warnings about features that alone almost determine the class."""
    entropy = summary.class_entropy
    features = [feature for feature in summary.features if feature.determines_class]
    features.sort(key=lambda feature: -(feature.information or 0.0))
    lines = []
    for feature in features[:LEAKS]:
        information = min(feature.information or 0.0, entropy)
        form = ".2f" if entropy >= 0.1 else ".2g"
        bits, of_bits = f"{information:{form}}", f"{entropy:{form}}"
        text = f"feature {clean(feature.name, 24)} alone almost determines the class"
        lines.append(f"{text} ({bits} of {of_bits} bits)")
    if len(features) > LEAKS:
        lines.append(f"and so does each of {counted(len(features) - LEAKS, 'other feature')}")
    if lines:
        lines[-1] += ":"
        lines.append(f"{'is it' if len(features) == 1 else 'are they'} known before the class is?")
    return lines


def left_out(summary: ModelSummary, limit: int = FEATURES) -> list[str]:
    """Return the features that are left out, by reason."""
    lines = []
    for why, names in list(grouped(summary.left_out).items())[:limit]:
        lines.append(f"left out: {_listed(names)} ({clean(why, 160)})")
    if not limit and summary.left_out:
        return [f"left out: {counted(len(summary.left_out), 'feature')}"]
    return lines


def grouped(by_name: Mapping[str, str]) -> dict[str, list[str]]:
    """Group names by their text."""
    groups: dict[str, list[str]] = {}
    for name, text in by_name.items():
        groups.setdefault(text, []).append(name)
    return groups


def held(names: Sequence[str], what: str) -> str:
    """Return a warning that columns hold values that may be meant as another type."""
    if not names[1:]:
        return f"column {clean(names[0], 24)} holds {clean(what, 160)}"
    return f"columns {_listed(names)} hold {clean(what, 160)}"


def _listed(names: Sequence[object], width: int = 24) -> str:
    """Return the first of some names, and the number of the others."""
    listed = [clean(name, width) for name in names[:NAMED]]
    if len(names) == 1:
        return listed[0]
    others = f"{len(names) - NAMED:,} more" if len(names) > NAMED else listed.pop()
    return f"{', '.join(listed)} and {others}"


# ---- all of it -----------------------------------------------------------------------------------


def body(
    summary: ModelSummary, limit: int = FEATURES, width: int = 100
) -> Iterator[RenderableType]:
    """Yield features, interactions, warnings and cross-validation."""
    if limit == 0:
        n_interactions = counted(len(summary.interactions), "interaction")
        counts = f"{counted(len(summary.features), 'feature')}, {n_interactions}"
        yield note(f"{counts}; --features shows them")
    elif (table := features(summary, limit)) is None:
        yield note("no feature has evidence")
    else:
        yield on_terminal(table, width)
    if limit and (table := interactions(summary, limit)) is not None:
        yield ""
        yield on_terminal(table, width)
    yield from (Text(line, style="yellow") for line in warnings(summary))
    yield from (note(line) for line in left_out(summary, limit))
    if (table := cross_validation(summary)) is not None:
        yield ""
        yield on_terminal(table, width)
    elif not summary.stored_rows:
        yield note("no cross-validation: the structure is that of another model (--like)")


def details(summary: ModelSummary, limit: int, width: int) -> Iterator[RenderableType]:
    """Yield parameters by class, and the terms of the most important features."""
    best = [feature.name for feature in summary.features[:limit]]
    for section in summary.parameters:
        rows = [row for name in best for row in section.rows.get(name, ())]
        if not rows:
            continue
        selected = rows if len(rows) <= PARAMETERS else sorted(rows, key=_spread)[:PARAMETERS]
        yield ""
        table = parameters(section, summary, selected, width)
        yield Text(table.title, style="bold")
        yield on_terminal(table, width)
        if len(rows) > PARAMETERS:
            others = f"and {len(rows) - PARAMETERS:,} more, where the classes differ less"
            yield note(others)
    for text in [] if summary.multilabel else summary.texts:
        if text.name in best:
            yield ""
            yield terms(text, summary.classes, summary.class_weight, width)


class PrintedSummary(ModelSummary):
    """A summary that prints as `naively fit` does, and shows tables in a notebook."""

    def __str__(self) -> str:
        parts: list[RenderableType] = [heading(self), facts(**target_and_features(self)), ""]
        parts += body(self)
        if self.multilabel:
            parts += ["", on_terminal(classes(self))]
        parts += [note(line) for line in misread(self)]
        return as_text(Group(*parts))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = [features(self), interactions(self), cross_validation(self)]
        tables += [classes(self)] if self.multilabel else []
        shown = (table for table in tables if table is not None)
        remarks = [*warnings(self), *misread(self), *left_out(self)]
        return html_of(heading(self).plain, target_and_features(self), *shown, *remarks)


# ---- formats -------------------------------------------------------------------------------------


def _by_class(summary: ModelSummary) -> dict[str, str]:
    """Return the parameters of each feature in a few words."""
    labels = [clean(label, 12) for label in summary.classes]
    by_feature = {}
    for section in summary.parameters:
        for name, rows in section.rows.items():
            if name in section.words:
                by_feature[name] = clean(section.words[name], 200)
            else:
                by_feature[name] = _of_classes(section, rows[0][1], labels)
    return by_feature


def _meanings(summary: ModelSummary, listed: Sequence[Feature]) -> str:
    """Return what the parameters of the listed features are, if they are not categories."""
    names = {feature.name for feature in listed}
    sections = [
        section.meaning for section in summary.parameters
        if names & ({*section.rows} - {*section.words})
    ]  # fmt: skip
    return "; ".join(dict.fromkeys(sections))


def _of_classes(section: Section, values: dict[str, Any], labels: list[str]) -> str:
    """Return the parameters of each class; for many, of the two that differ most."""
    cells = [_cell(section, values, c) for c in range(len(labels))]
    if len(labels) <= 3:
        return ", ".join(f"{a}: {b}" for a, b in zip(labels, cells, strict=True))
    main = next(iter(values.values()))
    if np.isnan(main).all():
        return "no values"
    low, high = int(np.nanargmin(main)), int(np.nanargmax(main))
    if low == high:
        return f"{cells[low]} in every class"
    return f"{labels[low]}: {cells[low]} ... {labels[high]}: {cells[high]}"


def _cell(section: Section, values: dict[str, Any], c: int) -> str:
    """Return the parameters of a class in a few characters."""
    if "p" in values:
        return section.signs.join(f"{100 * value[c]:.1f}%" for value in values.values())
    return section.signs.join(number(value[c]) for value in values.values())


def _spread(row: tuple[str, dict[str, Any]]) -> float:
    """Return minus the range of the parameters over the classes, as a sort key."""
    values = next(iter(row[1].values()))
    return -float(np.ptp(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0


def _numbers(term: InformativeTerm, weighted: bool) -> str:
    """Return the numbers of a term under its heads."""
    evidence = f"{term.log_odds:>+9.2f}{1000 * term.bits:>7.2f}"
    return evidence if weighted else f"{term.occurrences:>8,.10g}{term.p:>8.4f}{evidence}"


def _smoothing(text: TextTerms) -> str:
    """Return the alphas of a text: "alpha 0.3 (words), 0.1 (characters)"."""
    if len(text.smoothing) == 1:
        return f"alpha {text.smoothing[0][1]:g}"
    return "alpha " + ", ".join(f"{alpha:g} ({counted})" for counted, alpha in text.smoothing)


def _weight(weight: float | None) -> str:
    """Return a weight; none of a feature whose tables have weights of their own, below it."""
    return "" if weight is None else f"{weight:.2f}"


def _importance(importance: float | None) -> str:
    return NONE if importance is None else f"{importance:.3f}"


def _bars(lengths: Sequence[float]) -> list[float]:
    longest = max(lengths, default=0.0) or 1.0
    return [length / longest for length in lengths]
