"""Why a row is of its class: printed, as JSON and as a page of HTML."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from naively.cli import inside, layout, words
from naively.cli.layout import clean, counted, in_bytes, new_facts, new_table, note
from naively.cli.work import Explained
from naively.explanation import LISTED, TextExplanation
from naively.families.joint import Joint
from naively.families.multivariate import MultivariateGaussian
from naively.files.atomic import replacing
from naively.markup import (
    html_table,
    largest,
    left_out,
    length,
    shown,
    times,
    total_odds,
)
from naively.tables.schema import Block
from naively.tables.values import level_text

MOST = 30  # columns that are listed
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>naively explain</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font-family: system-ui, sans-serif; max-width: 54em; margin: 2em auto; padding: 0 1em }}
</style>
</head>
<body>
{}
</body>
</html>
"""


def explained(result: Explained) -> None:
    """Why a row is of its class."""
    out = layout.console()
    facts = new_facts()
    for name, value in _facts(result):
        facts.add_row(name, value)
    out.print(facts)
    a, b = (clean(label, 20) for label in _pair(result))
    if not _is_text(result):
        out.print()
        _print_columns(out, result)
    strongest = _strongest(result)
    for name in result.texts:
        out.print()
        _print_text(out, result, name, strongest)
    out.print(note(f"log-odds of {a} against {b}, in nats: {total_odds([result.total])} in all"))
    signs = note("+ speaks for ")
    signs.append(a, f"not dim {words.FOR[1]}").append(", - for ")
    signs.append(b, f"not dim {words.AGAINST[1]}")
    out.print(signs)
    if any(_in_turn(block) for block in result.table.schema.blocks):
        told = "columns taken together: what each adds to those before it; in another order the "
        out.print(note(f"{told}parts are others, and their sum is the same"))


def _in_turn(block: Block) -> bool:
    """Whether what a column adds depends on the order of the columns."""
    family = block.family
    together = isinstance(family, MultivariateGaussian) and not family.tied
    return len(block.names) > 1 and (together or isinstance(family, Joint))


def _pair(result: Explained) -> tuple[Any, Any]:
    """The classes that are compared."""
    classes = result.table.model.classes.tolist()
    return classes[result.label], classes[result.against]


def _is_text(result: Explained) -> bool:
    """Whether there is nothing but one text."""
    return bool(result.texts) and len(result.table.schema.names) == 1


def _strongest(result: Explained) -> float:
    """The largest log-odds of a word: colours mean the same in all texts."""
    marks = [mark for text in result.texts.values() for mark in text.marks(*_pair(result))]
    return largest(odds for _, _, odds in marks)


def _facts(result: Explained) -> list[tuple[str, str]]:
    classes = [clean(label, 20) for label in result.table.model.classes.tolist()]
    order = np.argsort(-result.proba, kind="stable").tolist()
    probable = ", ".join(f"{classes[c]} {result.proba[c]:.4f}" for c in order[:5])
    more = f", and {len(order) - 5:,} more classes" if len(order) > 5 else ""
    return [("predicted", classes[result.predicted]), ("probability", probable + more)]


def _lines(result: Explained) -> list[tuple[str, str, float]]:
    """(a column, its value, its log-odds) of each, and of the prior, the largest first."""
    missing = result.table.schema.missing
    lines = [("(prior)", "", result.prior)]
    lines += [
        (name, _value(result.row, name, missing), odds)
        for name, odds in zip(result.table.schema.names, result.moved.tolist(), strict=True)
    ]
    return sorted(lines, key=lambda line: -abs(line[2]))


def _value(row: Any, name: str, missing: Any) -> str:
    value = row.column(name)[0].as_py() if name in row.column_names else None
    return level_text(value, missing) or "missing"


def _print_columns(out: Any, result: Explained) -> None:
    """A line a column."""
    lines = _lines(result)
    table = _odds_table("column", "value")
    widest = largest(odds for _, _, odds in lines)
    for name, value, odds in lines[:MOST]:
        table.add_row(clean(name, 24), clean(value, 24), f"{odds:+.3f}", _bar(odds, widest))
    out.print(table)
    if len(lines) > MOST:
        left = sum(line[2] for line in lines[MOST:])
        more = counted(len(lines) - MOST, "more column")
        out.print(note(f"and {more}, {left:+.3f} together"))


def _print_text(out: Any, result: Explained, name: str, strongest: float) -> None:
    """A text with its words marked, and those that tell most."""
    text, pair = result.texts[name], _pair(result)
    lines = text.lines(*pair)
    if not _is_text(result):
        total = total_odds(odds for _, _, odds in lines)
        out.print(Text(f"The words of {clean(name)}, {total} together", style="bold"))
    colours = out.color_system is not None and not out.no_color
    out.print(words.marked(text.text, text.marks(*pair), strongest, colours))
    out.print()
    if lines:
        table = _odds_table("term", "times")
        widest = largest(odds for _, _, odds in lines)
        for term, count, odds in lines[:LISTED]:
            word = clean(shown(term), 24)
            table.add_row(word, times(count), f"{odds:+.3f}", _bar(odds, widest))
        out.print(table)
    if rest := left_out(lines[LISTED:], text.unknown):
        out.print(note(rest))


def _odds_table(first: str, second: str) -> Any:
    table = new_table()
    table.add_column(first, style="bold", no_wrap=True)
    table.add_column(second, no_wrap=True)
    table.add_column("log-odds", justify="right", no_wrap=True)
    table.add_column("")
    return table


def _bar(odds: float, widest: float) -> Text:
    return Text("█" * length(odds, widest), style=words.FOR[2] if odds > 0 else words.AGAINST[2])


def to_html(result: Explained, output: Path) -> None:
    """Write a page that explains a row, with its texts marked."""
    pair = _pair(result)
    if _is_text(result):
        parts = [text.to_html(*pair) for text in result.texts.values()]
    else:
        a, b = (clean(label, 20) for label in _pair(result))
        total, proba = total_odds([result.total]), result.proba[result.label]
        head = escape(f"{a}, P = {proba:.4f}; log-odds against {b}: {total} nats")
        lines = [(name, clean(value), odds) for name, value, odds in _lines(result)]
        parts = [f"<p><b>{head}</b></p>", html_table(("column", "value", "log-odds"), lines)]
        for name, text in result.texts.items():
            body = text.to_html(*pair, heading=False, strongest=_strongest(result))
            parts += [f"<h2>{escape(clean(name))}</h2>", body]
    with replacing(output) as temporary:
        temporary.write_text(PAGE.format("\n".join(parts)), encoding="utf-8")
    facts = new_facts()
    facts.add_row("written", f"{clean(output, 200)} ({in_bytes(output.stat().st_size)})")
    layout.console().print(facts)


def as_json(result: Explained) -> dict[str, Any]:
    """Why a row is of its class, for programs; in nats."""
    classes = result.table.model.classes.tolist()
    names = result.table.schema.names
    told = result.told
    return {
        "predicted": classes[result.predicted],
        "label": classes[result.label],
        "against": classes[result.against],
        "log_odds": {
            "total": result.total,
            "prior": result.prior,
            "columns": dict(zip(names, result.moved.tolist(), strict=True)),
        },
        "classes": classes,
        "probabilities": inside.plain(result.proba),
        "prior": inside.plain(told.prior),
        "joint": inside.plain(told.joint[0]),
        "contributions": {
            name: inside.plain(told.contributions[0, :, k]) for k, name in enumerate(names)
        },
        "texts": {name: _text_json(result, text) for name, text in result.texts.items()},
    }


def _text_json(result: Explained, text: TextExplanation) -> dict[str, Any]:
    pair = _pair(result)
    _, odds, rest = text.log_odds(*pair)
    terms = [
        {"term": term, "count": count, "log_odds": own, "contributions": inside.plain(each)}
        for term, count, own, each in zip(
            text.terms, text.counts.tolist(), odds.tolist(), text.contributions, strict=True
        )
    ]
    return {"terms": terms, "absent": rest, "unknown": text.unknown}
