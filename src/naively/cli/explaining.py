"""Why rows are of their classes: printed, as JSON, as a page of HTML and as a flat table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.cells import cell_len, set_cell_size
from rich.console import Group
from rich.table import Table
from rich.text import Text

from naively.cli import models, predictions, progress, terminal
from naively.cli.errors import UsageError, UserError
from naively.cli.sources import Opened
from naively.cli.terminal import clean, new_table, note
from naively.core.model import Model
from naively.explain.compared import ClassPair, SingleExplanation
from naively.explain.counterfactuals import Tried, WhyNot
from naively.explain.explanation import Explanation, RowExplanation
from naively.explain.markup import (
    LONGEST,
    NO_ESTIMATE,
    Line,
    Mark,
    brief,
    counted,
    cut_note,
    folded,
    largest,
    length,
    printable,
    shown,
    squeezed,
    total_odds,
)
from naively.explain.text import SHARED, TextExplanation
from naively.predictor import Predictor
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
LABEL = 16
"""Characters of a label, of a column and of a value in a line."""
SHOWN = 10_000
"""Characters of a text that are printed."""
STRONG, CLEAR, FAINT = 0.5, 0.2, 0.05
"""Parts of the largest log-odds of a text, by which terms are marked."""
FOR = ("bold #ffffff on #005fd7", "bold #3a8ee6", "#3a8ee6")
AGAINST = ("bold #000000 on #ff8700", "bold #d98200", "#d98200")
IN_TURN = (
    "columns taken together: what each adds to those before it; in another order the parts are "
    "others, and their sum is the same"
)


def _rows(result: Explained) -> Iterator[tuple[int, RowExplanation]]:
    """(its number, why it has its scores) of each row."""
    for first, rows in result.chunks:
        yield from enumerate(rows, first)


# ---- printed -------------------------------------------------------------------------------------


def printed(result: Explained) -> None:
    """Why rows are of their classes."""
    out = terminal.console()
    blocks = result.model.schema.blocks
    in_turn = any(block.family.in_turn and len(block.names) > 1 for block in blocks)
    for k, (number, row) in enumerate(_rows(result)):
        if k:
            out.print()
            out.rule(style="dim")
        _print_row(out, number, row, row.labels(*result.pair))
        if in_turn and row.blocks is None:
            out.print(note(IN_TURN))


def in_brief(result: Explained) -> None:
    """Why rows are of their classes, a line each: what moved the log-odds most."""
    out = terminal.console()
    heads = f"{'row':>7}  {'predicted':<{LABEL}}  {'P':>6}  "
    out.print(Text(heads + "what moved it most, in nats", style="bold", no_wrap=True))
    for number, row in _rows(result):
        label = set_cell_size(clean(row.classes.tolist()[row.code], LABEL), LABEL)
        head = f"{number:>7,}  {label}  {row.proba[row.code]:.4f}  "
        line = Text(head, no_wrap=True, overflow="ellipsis")
        room = max(out.width - cell_len(head), LABEL)
        for k, (column, term, value, odds) in enumerate(row.parts(*result.pair)):
            name = _said(column, term, value, alone=row.text is not None)
            said = f"{', ' * (k > 0)}{name} {odds:+.2f}"
            room -= cell_len(said)
            if odds == 0.0 or (room < 0 and k):
                break
            line.append(said, style=FOR[2] if odds > 0 else AGAINST[2])
        out.print(line)
    label, other = result.pair
    one = "the predicted class" if label is None else clean(label, 20)
    two = "the most probable other one" if other is None else clean(other, 20)
    out.print(note(f"+ speaks for {one}, - for {two}; --row 3 tells all of row 3"))


def _said(column: str, term: str | None, value: str | None, alone: bool) -> str:
    """A part of the log-odds in a few words; of the only text, its terms by themselves."""
    if term is not None:
        own = clean(shown(term), LABEL)
        return own if alone else f"{clean(column, LABEL)}: {own}"
    return clean(column, LABEL) + (f"={brief(value, LABEL)}" if value else "")


def _print_row(out: Any, number: int, row: RowExplanation, pair: ClassPair) -> None:
    out.print(terminal.facts(row=f"{number:,}", **_facts(row)))
    wide = 24 if out.width >= 80 else 15
    if row.text is None:
        out.print()
        half = max(wide, min((out.width - 14) // 2, 60))
        _print_listed(out, ("column", "value"), row, pair, wide if row.blocks is None else half)
    strongest = row.strongest(*pair)
    for text in row.texts.values():
        out.print()
        if row.text is None:
            out.print(Text(text.caption(*pair), style="bold"))
        colours = out.color_system is not None and not out.no_color
        out.print(_beginning(text, text.marks(*pair), strongest, colours))
        if text.has_phrases:
            out.print(note(SHARED))
        out.print()
        _print_listed(out, ("term", "times"), text, pair, wide)
    a, b = (clean(label, 20) for label in pair)
    if row.unfounded:
        out.print(note(NO_ESTIMATE))
        return
    total = total_odds(row.total(*pair))
    out.print(note(f"log-odds of {a} against {b}, in nats: {total} in all"))
    signs = note("+ speaks for ")
    signs.append(a, f"not dim {FOR[1]}").append(", - for ")
    signs.append(b, f"not dim {AGAINST[1]}")
    out.print(signs)


def _facts(row: RowExplanation) -> dict[str, str]:
    classes = [clean(label, 20) for label in row.classes.tolist()]
    order = np.argsort(-row.proba, kind="stable").tolist()
    probable = ", ".join(f"{classes[c]} {row.proba[c]:.4f}" for c in order[:5])
    more = f", and {len(order) - 5:,} more classes" if len(order) > 5 else ""
    return {"predicted": classes[row.code], "probability": probable + more}


def _print_listed(
    out: Any, heads: tuple[str, str], one: SingleExplanation, pair: ClassPair, wide: int
) -> None:
    """The most telling columns or terms, and what there is besides."""
    rows, rest = one.listed(*pair)
    if rows:
        out.print(_table(out, (*heads, "log-odds"), rows, wide))
    if rest:
        out.print(note(rest))


def _table(out: Any, heads: tuple[str, ...], rows: Sequence[Line], wide: int) -> Table:
    """Names, what belongs to them, and log-odds with bars as long as there is room for."""
    cells = [(clean(one, wide), brief(own, wide), f"{odds:+.3f}") for one, own, odds in rows]
    table = new_table(*heads, names=2)
    table.add_column("")
    widest = largest(odds for _, _, odds in rows)
    room = terminal.room_beside(list(zip(heads, *cells, strict=True)), out.width)
    for own, (_, _, odds) in zip(cells, rows, strict=True):
        bar = "█" * length(odds, widest, max(0, min(LONGEST, room)))
        table.add_row(*own, Text(bar, style=FOR[2] if odds > 0 else AGAINST[2]))
    return table


def against(found: Iterable[tuple[int, WhyNot]], json: bool) -> None:
    """What would make rows of another class: for people, or a JSON object a row."""
    out = terminal.console()
    for k, (number, one) in enumerate(found):
        if json:
            terminal.print_json({"row": number, **one.to_dict()})
            continue
        if k:
            out.print()
            out.rule(style="dim")
        predicted, label = (clean(name, 20) for name in (one.predicted, one.label))
        said = f"{predicted}; {label} is {-one.log_odds:.3f} nats behind" * (predicted != label)
        out.print(terminal.facts(row=f"{number:,}", predicted=said or predicted))
        lines, remark = one.lines()
        if lines:
            out.print()
            out.print(_changes(out, lines))
        out.print(note(remark))


def _changes(out: Any, lines: Sequence[tuple[str, str, str, float, bool]]) -> Table:
    """Columns, what they are and would be, and what that adds, with bars."""
    wide = 24 if out.width >= 80 else 15
    values = any(was for _, was, _, _, _ in lines)  # not of texts alone
    heads = ("column", *(("is", "would be") if values else ("said",)), "log-odds  ")
    table = new_table(*heads, names=len(heads) - 1)
    for name, was, to, odds, enough in lines:
        said = [brief(one, wide) for one in ((was, to) if values else (to,))]
        table.add_row(clean(name, wide), *said, f"{odds:+.3f} {'*' if enough else ' '}")
    return table


# ---- files ---------------------------------------------------------------------------------------


def to_html(result: Explained, source: Opened, output: Path, one: bool) -> None:
    """Write a page that explains rows, with their texts marked; folded if they are several."""
    count = 0
    with (
        progress.bar("explaining", source.files),
        replacing(output) as temporary,
        temporary.open("w", encoding="utf-8") as page,
    ):
        page.write(BEGIN)
        if not one:
            what = "click a row to see what moved it; log-odds are in nats"
            page.write(f"<p>{escape(clean(source.name, 200))}: {what}</p>\n")
        for number, row in _rows(result):
            count += 1
            body = row.to_html(*result.pair, heading=one)
            page.write(body if one else folded(f"row {number}: {row.head(*result.pair)}", body))
            page.write("\n")
        page.write(END)
    terminal.console().print(terminal.facts(written=terminal.written(output), rows=f"{count:,}"))


def to_file(result: Explained, source: Opened, output: Path) -> None:
    """Write a flat table: a line for the prior and each column or term of each row."""
    counts: list[int] = []

    def tables() -> Iterator[pa.Table]:
        for first, rows in result.chunks:
            counts.append(len(rows))
            table = rows.to_arrow(*result.pair)
            yield table.set_column(0, "row", pc.add(table.column("row"), first))

    with progress.bar("explaining", source.files):
        predictions.to_file(tables(), output)
    terminal.console().print(
        terminal.facts(written=terminal.written(output), rows=f"{sum(counts):,}")
    )


# ---- JSON ----------------------------------------------------------------------------------------


def to_json(result: Explained) -> None:
    """Write a JSON object a row to standard output."""
    for number, row in _rows(result):
        terminal.print_json({"row": number, **row.to_dict(*result.pair)})


# ---- texts with their terms marked ---------------------------------------------------------------


def _beginning(
    text: TextExplanation, marks: Sequence[Mark], strongest: float, colours: bool
) -> Group:
    """A text with its words marked, or as much of it as one may want to see on a terminal."""
    part = text.marked[:SHOWN]
    found = _marked(part, [mark for mark in marks if mark[1] <= SHOWN], strongest, colours)
    if len(part) == len(text.text):
        return Group(found)
    return Group(found.append("…"), Text(), note(cut_note(len(part), len(text.text))))


def _marked(text: str, marks: Sequence[Mark], strongest: float, colours: bool) -> Text:
    """A text with its words marked by their log-odds: in colours, or with numbers."""
    found, at = Text(), 0
    for start, end, odds in marks:
        found.append(_printed(text[at:start]))
        part = abs(odds) / strongest
        word = _printed(text[start:end])
        if colours:
            level = (part < STRONG) + (part < CLEAR) + (part < FAINT)
            found.append(word, (*(FOR if odds > 0 else AGAINST), "")[level])
        else:
            phrase = f"({word})" if len(word.split()) > 1 else word
            found.append(f"{phrase}[{odds:+.1f}]" if part >= CLEAR else word)
        at = end
    found.append(_printed(text[at:]))
    found.rstrip()
    return found


def _printed(text: str) -> str:
    """Text as a terminal may show it, in lines."""
    lines = squeezed(text).replace("\t", " ").split("\n")
    return "\n".join(printable(line.removesuffix("\r")) for line in lines)


# ---- rows ----------------------------------------------------------------------------------------


CELLS = 1 << 22
"""Numbers of an explanation that are held at a time, 32 MiB,"""
LINES, FEW = 1 << 16, 64
"""lines of a flat table, but for rows so few that their columns are worth the work of encoding."""
READ = 10
"""Rows of which all is told on a terminal; of more, a line each."""
SPAN = re.compile(r"([0-9]+)(?:-([0-9]+))?")

RowRange = tuple[int, int | None]
"""(first row, the one after the last; None for all that follow), counted from 0."""


@dataclass(frozen=True)
class Asked:
    """Rows that are asked for.

    Attributes
    ----------
    spans : in order, none of which touches another.
    """

    spans: tuple[RowRange, ...]

    @classmethod
    def of(cls, rows: Sequence[str]) -> Asked:
        """Of rows as a user writes them: 3, 1-300 or all, counted from 1."""
        spans: list[RowRange] = []
        for first, stop in sorted(map(_span, rows), key=lambda span: span[0]):
            if spans and (spans[-1][1] is None or first <= spans[-1][1]):
                last = spans[-1][1]
                joined = None if last is None or stop is None else max(last, stop)
                spans[-1] = spans[-1][0], joined
            else:
                spans.append((first, stop))
        return cls(tuple(spans))

    @property
    def few(self) -> bool:
        """Whether they are no more than a person reads in full."""
        return all(stop is not None for _, stop in self.spans) and (
            sum((stop or first) - first for first, stop in self.spans) <= READ
        )

    @property
    def one(self) -> bool:
        """Whether that is one row."""
        first, stop = self.spans[0]
        return len(self.spans) == 1 and stop == first + 1


def _span(text: str) -> RowRange:
    if text == "all":
        return 0, None
    found = SPAN.fullmatch(text)
    if found is None:
        raise UsageError(f"--row {text}: write one row as 3, several as 1-300, or all")
    first = int(found[1])
    last = first if found[2] is None else int(found[2])
    if first < 1:
        raise UsageError(f"--row counts from 1, but is {text}")
    if last < first:
        raise UsageError(f"--row {text} ends before it begins")
    return first - 1, last


@dataclass
class Explained:
    """Why the rows that are asked for have their scores.

    Attributes
    ----------
    model : Model
    pair : the classes that are compared; None for those that are most probable.
    chunks : (number of the first row, counted from 1; why these rows have their scores).
    """

    model: Model
    pair: tuple[Any, Any]
    chunks: Iterator[tuple[int, Explanation]]


def explained(
    saved: Saved, source: Opened, asked: Asked, label: str | None, against: str | None,
    by_block: bool = False,
) -> Explained:  # fmt: skip
    """What moves rows of files to one class rather than another, in one pass."""
    predictor = models.predictor(saved, source.names, source.name)
    classes = predictor.posterior.classes
    if len(classes) < 2:
        raise UserError(f"the model knows one class only ({classes[0]})")
    one, other = (
        None if t is None else classes[models.label_of(saved.model, t)] for t in (label, against)
    )
    if one is not None and one == other:
        raise UsageError(f"--label and --against are both {label!r}; compare two classes")
    return Explained(saved.model, (one, other), _chunks(predictor, source, asked, by_block))


def _chunks(
    predictor: Predictor, source: Opened, asked: Asked, by_block: bool
) -> Iterator[tuple[int, Explanation]]:
    width = len(predictor.posterior.together if by_block else predictor.schema.names)
    size = _size(predictor, max(1, width))
    for first, rows in _asked_rows(source, asked):
        for at in range(0, rows.num_rows, size):
            number = first + at + 1
            with predictor.counting_rows(number):
                yield number, predictor.explain(rows.slice(at, size), by_block)
    models.notes(issue for issue in predictor.issues if issue.kind == "invalid")


def reasons_against(
    saved: Saved, source: Opened, asked: Asked, label: str
) -> Iterator[tuple[int, WhyNot]]:
    """(the number of a row, what would make it of this class), in one pass."""
    posterior = models.predictor(saved, source.names, source.name).posterior
    wanted = posterior.classes[models.label_of(saved.model, label)]
    tried = Tried(posterior)
    for first, rows in _asked_rows(source, asked):
        for i in range(rows.num_rows):
            yield first + i + 1, tried.row(rows.slice(i, 1), wanted)


def _size(predictor: Predictor, width: int) -> int:
    """How many rows of so many parts are explained at a time."""
    texts = any(part.summary.of_texts for part in predictor.schema.parts)
    lines = LINES if texts else width
    classes = len(predictor.posterior.classes)
    return max(1, min(max(FEW, LINES // lines), CELLS // (classes * width)))


def _asked_rows(source: Opened, asked: Asked) -> Iterator[tuple[int, pa.Table]]:
    """(number of the first one, rows) for each run of rows that are asked for."""
    before = 0
    for task in source.tasks():
        batch = task()
        after = before + batch.num_rows
        table = pa.Table.from_batches([batch])
        for first, stop in asked.spans:
            start, end = max(first, before), after if stop is None else min(stop, after)
            if start < end:
                yield start, table.slice(start - before, end - start)
        before = after
        last = asked.spans[-1][1]
        if last is not None and last <= before:
            return
    for first, stop in asked.spans:
        if stop is not None and stop > before:
            row, rows = max(first, before) + 1, counted(before, "row")
            raise UserError(f"{source.name}: there is no row {row:,}; it has {rows}")
    if before == 0:
        raise UserError(f"{source.name}: there are no rows")
