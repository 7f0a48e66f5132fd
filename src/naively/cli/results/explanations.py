"""Explain rows: in the terminal, as JSON, as an HTML page and as a flat table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from naively.cli import models, progress, terminal
from naively.cli.errors import UsageError, UserError, some
from naively.cli.results import predictions
from naively.cli.sources import Opened
from naively.cli.terminal import clean, note
from naively.core.labels import Label
from naively.core.markup import brief, counted, folded, shown
from naively.explain.counterfactuals import Counterfactual, Search
from naively.explain.explanation import Explanation, RowExplanation
from naively.explain.rendering import AGAINST, FOR, rounded
from naively.model.decisions import DecisionRule, expected_costs
from naively.model.model import Model
from naively.predictor import Predictor
from naively.rendering import on_terminal
from naively.storage.atomic import replacing
from naively.storage.model_files import Saved

BEGIN = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>naively explain</title>
<style>
:root { color-scheme: light dark }
body { font-family: system-ui, sans-serif; max-width: 54em; margin: 2em auto; padding: 0 1em }
details { border-top: 1px solid rgba(128,128,128,.4); padding: .4em 0 }
details[open] { padding-bottom: 1.5em }
@media print { details::details-content { content-visibility: visible; height: auto } }
</style>
</head>
<body>
"""
END = "</body>\n</html>\n"
LABEL = 16  # characters of a label, a column and a value in a line, at most


def decision_rule(
    model: Model, costs: Path | None, threshold: float | None, positive: str | None
) -> DecisionRule | None:
    """The rule of `--costs`, or `--threshold` and `--positive`; None if neither is given."""
    if costs is not None and threshold is not None:
        raise UsageError("--costs and --threshold both decide: choose one")
    if threshold is not None:
        return predictions.threshold_rule(model, threshold, positive)
    if positive is not None:
        raise UsageError("--positive needs --threshold")
    return predictions.rule(model.classes, costs, None)


@dataclass
class Explained:
    """The explanations of selected rows."""

    # the classes to compare; None for the decided class, and for the most probable other one
    pair: tuple[Label | None, Label | None]
    # (number of the first row, counted from 1; the explanations of some rows)
    chunks: Iterator[tuple[int, Explanation]]
    rule: DecisionRule | None = None  # None to decide for the most probable class

    def rows(self) -> Iterator[tuple[int, RowExplanation]]:
        """Yield the number and the explanation of each row."""
        for first, rows in self.chunks:
            yield from enumerate(rows, first)

    def code(self, row: RowExplanation) -> int:
        """The position of the decided class of a row."""
        if self.rule is None:
            return row.code
        return int(self.rule.codes(row.proba[np.newaxis], np.array([row.code]))[0])

    def pair_of(self, row: RowExplanation) -> tuple[Label | None, Label | None]:
        """The classes to compare for a row."""
        label, other = self.pair
        if label is None and self.rule is not None:
            decided = row.classes[self.code(row)]
            label = None if decided == other else decided
        return label, other

    def boundary(self, row: RowExplanation) -> str:
        """The log-odds from which on the decision is taken; empty for more than two classes."""
        code = self.code(row)
        if self.rule is None or len(row.classes) > 2 or (bound := self.rule.boundary(code)) is None:
            return ""
        name = clean(row.classes.tolist()[code], 20)
        if self.rule.threshold is not None and code != self.rule.threshold[0]:
            return f"{name} is decided where its log-odds are above {bound:+.3f}"
        return f"{name} is decided where its log-odds are {bound:+.3f} or more"

    def decision(self, row: RowExplanation) -> str:
        """The decision for a row, and its reason; empty without a rule."""
        if self.rule is None:
            return ""
        names, decided = [clean(label, 20) for label in row.classes.tolist()], self.code(row)
        if self.rule.threshold is not None:
            positive, least = self.rule.threshold
            sign = "≥" if decided == positive else "<"
            reason = f"P({names[positive]}) = {row.proba[positive]:.4f} {sign} {least:g}"
        else:
            assert self.rule.costs is not None
            costs = expected_costs(row.proba[np.newaxis], self.rule.costs)[0]
            order = np.argsort(costs, kind="stable").tolist()
            others = ", ".join(f"{names[c]}: {costs[c]:.4g}" for c in order if c != decided)
            reason = f"expected cost {costs[decided]:.4g}; of {others}"
        return f"decision: {names[decided]} ({reason})"


# ---- terminal ------------------------------------------------------------------------------------


def printed(result: Explained) -> None:
    """Print the explanation of each row."""
    out = terminal.console()
    colours = out.color_system is not None and not out.no_color
    for k, (number, row) in enumerate(result.rows()):
        if k:
            out.print()
            out.rule(style="dim")
        pair, decision = result.pair_of(row), result.decision(row)
        shown_row = row.printed(
            *pair, row=f"{number:,}", width=out.width, colours=colours, decision=decision
        )
        out.print(shown_row)
        if result.pair == (None, None) and (remark := result.boundary(row)):
            out.print(note(remark))


def in_brief(result: Explained) -> None:
    """Print the largest contributions of each row, one line per row."""
    out = terminal.console()
    title = "predicted" if result.rule is None else "decision"
    header = f"{'row':>7}  {title:<{LABEL}}  {'P':>6}  "
    out.print(Text(header + "largest contributions (nats)", style="bold", no_wrap=True))
    for number, row in result.rows():
        code = result.code(row)
        label = set_cell_size(clean(row.classes.tolist()[code], LABEL), LABEL)
        prefix = f"{number:>7,}  {label}  {row.proba[code]:.4f}  "
        line = Text(prefix, no_wrap=True, overflow="ellipsis")
        width = max(out.width - cell_len(prefix), LABEL)
        parts = row.parts(*result.pair_of(row))
        for k, (column, term, value, odds) in enumerate(parts):
            name = _named(column, term, value, alone=row.text is not None)
            part = f"{', ' * (k > 0)}{name} {odds:+.2f}"
            width -= cell_len(part)
            if odds == 0.0 or (width < 0 and k):
                break
            line.append(part, style=FOR[2] if odds > 0 else AGAINST[2])
        out.print(line)
    pair_label, other = result.pair
    default = "the predicted class" if result.rule is None else "the decided class"
    label_text = default if pair_label is None else clean(pair_label, 20)
    other_text = "the most probable other one" if other is None else clean(other, 20)
    out.print(note(f"+ for {label_text}, - for {other_text}; --row 3 explains row 3 in full"))


def _named(column: str, term: str | None, value: str | None, alone: bool) -> str:
    """Name a contribution; terms of the only text column stand without its name."""
    if term is not None:
        text = clean(shown(term), LABEL)
        return text if alone else f"{clean(column, LABEL)}: {text}"
    return clean(column, LABEL) + (f"={brief(rounded(value), LABEL)}" if value else "")


def print_counterfactuals(
    counterfactuals: Iterable[tuple[int, Counterfactual]], json: bool
) -> None:
    """Print the counterfactuals of rows, or one JSON object per row."""
    out = terminal.console()
    for k, (number, counterfactual) in enumerate(counterfactuals):
        if json:
            terminal.print_json({"row": number, **counterfactual.to_dict()})
            continue
        if k:
            out.print()
            out.rule(style="dim")
        out.print(Text(f"row {number:,}: {counterfactual.head}", style="bold"))
        if counterfactual.table is not None:
            out.print()
            out.print(on_terminal(counterfactual.table, out.width))
        out.print(note(counterfactual.remark))


# ---- files ---------------------------------------------------------------------------------------


def to_html(result: Explained, source: Opened, output: Path, single: bool) -> None:
    """Write an HTML page of explanations, with marked texts; several rows are folded."""
    count = 0
    with (
        progress.bar("explaining", source.files),
        replacing(output) as temporary,
        temporary.open("w", encoding="utf-8") as page,
    ):
        page.write(BEGIN)
        if not single:
            hint = "click a row to see its contributions"
            page.write(f"<p>{escape(clean(source.name, 200))}: {hint}</p>\n")
        for number, row in result.rows():
            count += 1
            decision = result.decision(row)
            body = row.to_html(*result.pair_of(row), heading=single and not decision)
            if decision:
                lines = f"<b>{escape(decision)}</b><br>\n{escape(row.head(decided=True))}"
                body = f"<p>{lines}</p>\n{body}"
            page.write(body if single else folded(f"row {number}: {row.head()}", body, count == 1))
            page.write("\n")
        page.write(END)
    terminal.console().print(terminal.facts(saved=terminal.written(output), rows=f"{count:,}"))


def to_file(result: Explained, source: Opened, output: Path) -> None:
    """Write a flat table: one line for each contribution to each row, and for the prior."""
    counts: list[int] = []

    def tables() -> Iterator[pa.Table]:
        for first, rows in result.chunks:
            counts.append(len(rows))
            table = rows.to_arrow(*result.pair)
            yield table.set_column(0, "row", pc.add(table.column("row"), first))

    with progress.bar("explaining", source.files):
        predictions.to_file(tables(), output)
    saved, rows = terminal.written(output), f"{sum(counts):,}"
    terminal.console().print(terminal.facts(saved=saved, rows=rows))


# ---- JSON ----------------------------------------------------------------------------------------


def to_json(result: Explained) -> None:
    """Print one JSON object per row."""
    for number, row in result.rows():
        decided = row.classes.tolist()[result.code(row)]
        decision = {} if result.rule is None else {"decision": decided}
        terminal.print_json({"row": number, **decision, **row.to_dict(*result.pair_of(row))})


# ---- rows ----------------------------------------------------------------------------------------


CELLS = 1 << 22  # numbers of explanations in memory at a time (32 MiB),
LINES, FEW = 1 << 16, 64
"""lines of a flat table at a time, and rows at a time, at least, to make encoding worth while."""
READ = 10  # rows that are explained in full in a terminal; of more rows, each gets one line
SPAN = re.compile(r"([0-9]+)(?:-([0-9]+))?")

RowRange = tuple[int, int | None]  # (first row, stop; None for all that follow), counted from 0


@dataclass(frozen=True)
class RowRanges:
    """Rows selected by `--row`."""

    spans: tuple[RowRange, ...]  # in order, disjoint and not adjacent

    @classmethod
    def of(cls, rows: Sequence[str]) -> RowRanges:
        """Parse ranges such as 3, 1-300 or all, counted from 1."""
        spans: list[RowRange] = []
        for first, stop in sorted(map(_span, rows), key=lambda span: span[0]):
            if spans and (spans[-1][1] is None or first <= spans[-1][1]):
                previous_end = spans[-1][1]
                end = None if previous_end is None or stop is None else max(previous_end, stop)
                spans[-1] = spans[-1][0], end
            else:
                spans.append((first, stop))
        return cls(tuple(spans))

    @property
    def is_short(self) -> bool:
        """Whether there are at most `READ` rows."""
        return all(stop is not None for _, stop in self.spans) and (
            sum((stop or first) - first for first, stop in self.spans) <= READ
        )

    @property
    def is_single(self) -> bool:
        """Whether it is a single row."""
        first, stop = self.spans[0]
        return len(self.spans) == 1 and stop == first + 1


def _span(text: str) -> RowRange:
    if text == "all":
        return 0, None
    match = SPAN.fullmatch(text)
    if match is None:
        raise UsageError(f"--row {text}: write one row as 3, several as 1-300, or all")
    first = int(match[1])
    last = first if match[2] is None else int(match[2])
    if first < 1:
        raise UsageError(f"--row counts from 1, but is {text}")
    if last < first:
        raise UsageError(f"--row {text} ends before it begins")
    return first - 1, last


def explained(
    saved: Saved, source: Opened, ranges: RowRanges, label: str | None, against: str | None,
    by_block: bool = False, rule: DecisionRule | None = None,
) -> Explained:  # fmt: skip
    """Explain the selected rows of files, in one pass."""
    predictor = models.predictor(saved, source.names, source.name)
    classes = predictor.posterior.classes
    if len(classes) < 2:
        raise UserError(f"the model has one class only ({classes[0]})")
    label_class, other_class = (
        None if text is None else classes[models.label_of(saved.model, text, option)]
        for option, text in (("--label", label), ("--against", against))
    )
    if label_class is not None and label_class == other_class:
        raise UsageError(f"--label and --against are both {label!r}; compare two classes")
    chunks = _chunks(predictor, source, ranges, by_block)
    return Explained((label_class, other_class), chunks, rule)


def _chunks(
    predictor: Predictor, source: Opened, ranges: RowRanges, by_block: bool
) -> Iterator[tuple[int, Explanation]]:
    width = len(predictor.posterior.feature_groups if by_block else predictor.schema.names)
    size = _size(predictor, max(1, width))
    for first, rows in _rows_of(source, ranges):
        for at in range(0, rows.num_rows, size):
            number = first + at + 1
            with predictor.counting_rows(number):
                yield number, predictor.explain(rows.slice(at, size), by_block)
    models.notes(issue for issue in predictor.issues if issue.kind == "invalid")


def counterfactuals(
    saved: Saved, source: Opened, ranges: RowRanges, label: str,
    changeable: Sequence[str] | None, immutable: Sequence[str] | None,
    rule: DecisionRule | None = None,
) -> Iterator[tuple[int, Counterfactual]]:  # fmt: skip
    """Yield (row number, its counterfactual for a class), in one pass."""
    posterior = models.predictor(saved, source.names, source.name).posterior
    target_class = posterior.classes[models.label_of(saved.model, label, "--counterfactual")]
    names = posterior.schema.ordered
    for option, columns in (("changeable", changeable), ("immutable", immutable)):
        for name in columns or ():
            if name not in names:
                raise UsageError(
                    f"--{option}: the model has no feature {name!r}; it has {some(names)}"
                )
    search = Search(posterior, changeable, immutable or (), rule)
    for first, rows in _rows_of(source, ranges):
        for i in range(rows.num_rows):
            yield first + i + 1, search.row(rows.slice(i, 1), target_class)


def _size(predictor: Predictor, width: int) -> int:
    """How many rows to explain at a time, with so many contributions each."""
    texts = any(part.summary.of_texts for part in predictor.schema.parts)
    lines = LINES if texts else width
    classes = len(predictor.posterior.classes)
    return max(1, min(max(FEW, LINES // lines), CELLS // (classes * width)))


def _rows_of(source: Opened, ranges: RowRanges) -> Iterator[tuple[int, pa.Table]]:
    """Yield (position of the first row, rows) for each run of selected rows."""
    before = 0
    for task in source.tasks():
        batch = task()
        after = before + batch.num_rows
        table = pa.Table.from_batches([batch])
        for first, stop in ranges.spans:
            start, end = max(first, before), after if stop is None else min(stop, after)
            if start < end:
                yield start, table.slice(start - before, end - start)
        before = after
        last = ranges.spans[-1][1]
        if last is not None and last <= before:
            return
    for first, stop in ranges.spans:
        if stop is not None and stop > before:
            row, rows = max(first, before) + 1, counted(before, "row")
            raise UserError(f"{source.name}: there is no row {row:,}; it has {rows}")
    if before == 0:
        raise UserError(f"{source.name}: there are no rows")
