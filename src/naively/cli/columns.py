"""The columns of a model, a line each: what `fit` and `inspect` show of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.text import Text

from naively.cli import evidence, inside
from naively.cli.inside import Column, left_out
from naively.cli.layout import clean, new_table, note, number, room_beside, with_notes
from naively.families.describing import Section
from naively.markup import counted
from naively.model import Model
from naively.tables.telling import entropy

LEAKS = 3  # columns that tell nearly all, a line each
SHOWN = 8  # columns that are named where the same is said of several


def print_columns(out: Console, model: Model, columns: list[Column], limit: int) -> None:
    """The columns that were learned, and those left out."""
    if found := inside.evidence(model):
        out.print(evidence.tables(columns, found, limit, out.width))
    else:
        out.print(_columns(model, columns, limit, out.width))
    _print_leaks(out, model, columns)
    for name in inside.row_numbers(model)[:LEAKS]:
        what = f"column {clean(name, 24)} has another whole number in each row"
        out.print(Text(f"{what}: if it only counts the rows, --skip it", style="yellow"))
    remarks = inside.by_remark(inside.misread(model) | inside.texts(model))
    for how, names in list(remarks.items())[:limit]:
        out.print(Text(held(names, how), style="yellow"))
    skipped = left_out(model)
    for name, reason in list(skipped.items())[:limit]:
        out.print(note(f"left out: {clean(name)} ({clean(reason, 160)})"))
    if len(skipped) > limit:
        rest = counted(len(skipped) - limit, "more column" if limit else "column")
        out.print(note(f"left out: {rest}"))


def held(names: Sequence[str], how: str) -> str:
    """What columns hold that people may mean as something else."""
    if not names[1:]:
        return f"column {clean(names[0], 24)} holds {clean(how, 160)}"
    shown = [clean(name, 24) for name in names[:SHOWN]]
    rest = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else f" and {shown.pop()}"
    return f"columns {', '.join(shown)}{rest} hold {clean(how, 160)}"


def _print_leaks(out: Console, model: Model, columns: list[Column]) -> None:
    """A word about columns that tell too much to be true."""
    whole = entropy(model.posterior())
    found = [column for column in telling(columns) if column.nearly_all]
    lines = []
    for column in found[:LEAKS]:
        bits = min(column.bits or 0.0, whole)
        told_of, all_of = (f"{b:.2f}" if whole >= 0.1 else f"{b:.2g}" for b in (bits, whole))
        what = f"column {clean(column.name, 24)} alone tells nearly all about the class"
        lines.append(f"{what} ({told_of} of {all_of} bits)")
    if len(found) > LEAKS:
        lines.append(f"and so does each of {counted(len(found) - LEAKS, 'other column')}")
    if lines:
        lines[-1] += ":"
        lines.append(f"{'is it' if len(found) == 1 else 'are they'} known before the class is?")
    for line in lines:
        out.print(Text(line, style="yellow"))


def telling(columns: list[Column]) -> list[Column]:
    """The columns, text first, then the most telling."""
    return sorted(columns, key=lambda column: -np.inf if column.bits is None else -column.bits)


def _columns(model: Model, columns: list[Column], limit: int, width: int) -> Group:
    """A line a column, the most telling first."""
    rest = max(len(columns) - limit, 0)
    if limit == 0:
        return Group(note(f"{counted(rest, 'column')}; --features shows them"))
    order = telling(columns)
    said = {name: row for section in inside.sections(model) for name, row in _words(section, model)}
    rows = [
        (
            clean(column.name, 24), column.family, said[column.name],
            f"{column.missing:,.10g}" if column.missing else "·",
            "·" if column.bits is None else f"{column.bits:.3f}",
        )
        for column in order[:limit]
    ]  # fmt: skip
    heads = ("column", "family", "by class", "missing", "bits")
    others = [texts for texts in zip(heads, *rows, strict=True) if texts[0] != "by class"]
    room = max(room_beside(others, width) - 2, len("by class"))
    shown = new_table(*heads, names=3)
    for name, family, word, *numbers in rows:
        shown.add_row(name, family, clean(word, room), *numbers)
    bits = "bits: what the column alone tells about the class (mutual information under the model)"
    less = "" if rest and order[limit - 1].bits is None else " that tell less"
    return with_notes(
        shown,
        bits if any(column.bits is not None for column in order) else None,
        f"and {counted(rest, 'more column')}{less}" if rest else None,
    )


def _words(section: Section, model: Model) -> Iterator[tuple[str, str]]:
    """(column, its parameters in a few words)."""
    classes = [clean(label, 12) for label in model.classes.tolist()]
    for name, rows in section.rows.items():
        if name in section.words:
            yield name, clean(section.words[name], 200)
        else:
            yield name, _by_class(section, rows[0][1], classes)


def _by_class(section: Section, values: dict[str, Any], classes: list[str]) -> str:
    """The parameters of each class; of many, of the two that are furthest apart."""
    texts = [cell(section, values, c) for c in range(len(classes))]
    if len(classes) <= 3:
        return ", ".join(f"{a}: {b}" for a, b in zip(classes, texts, strict=True))
    first = next(iter(values.values()))
    if np.isnan(first).all():
        return "no values"
    low, high = int(np.nanargmin(first)), int(np.nanargmax(first))
    if low == high:
        return f"{texts[low]} in every class"
    return f"{classes[low]}: {texts[low]} ... {classes[high]}: {texts[high]}"


def cell(section: Section, values: dict[str, Any], c: int) -> str:
    """The parameters of a class in a few characters."""
    say = (lambda p: f"{100 * p:.1f}%") if "p" in values else number
    return section.signs.join(say(value[c]) for value in values.values())
