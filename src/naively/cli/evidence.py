"""The evidence of a model that weighs it: what `fit` and `inspect` show, a line a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table

from naively.cli import layout
from naively.cli.inside import Column, is_wide
from naively.cli.layout import clean, new_table, note
from naively.families.describing import Evidence, Evidences
from naively.markup import counted
from naively.model import Model

MOVES = "moves: nats by which it shifts a class's score; mean of learned rows and classes"
IN_ALL = "in all: the same with its share of what it tells together with others"
BELOW = "a weight below 0 takes back what other columns count twice"
NUMBERS = 4
"""Columns of one block that are named; of more, how many there are is said."""


def tables(columns: list[Column], found: Evidences, limit: int, width: int) -> Group:
    """The columns, and what several of them tell together: what moves most first."""
    own: dict[str, list[Evidence | None]] = {}
    for one in found.blocks:
        if len(one.names) == 1:
            own.setdefault(one.names[0], []).append(one)
    places = found.columns or {name: -place for place, name in enumerate(own)}
    order = sorted(columns, key=lambda column: -places.get(column.name, -len(own)))
    several = [one for one in found.blocks if len(one.names) > 1]
    if not order:
        return Group(note("no column tells anything"))
    if limit == 0:
        said = f"{counted(len(order), 'column')}, {counted(len(several), 'block')} of several"
        return Group(note(f"{said}; --features shows them"))
    shown: list[Any] = [_columns(order[:limit], own, found.columns, width), note(MOVES)]
    if found.columns is not None:
        shown.append(note(IN_ALL))
    if any(one.weight < 0 for one in found.blocks):
        shown.append(note(BELOW))
    if len(order) > limit:
        shown.append(note(f"and {counted(len(order) - limit, 'more column')} that move less"))
    if several:
        shown += ["", _together(several[:limit], width)]
    if len(several) > limit:
        shown.append(note(f"and {len(several) - limit:,} more that move less"))
    return Group(*shown)


def _columns(
    columns: Sequence[Column], own: dict[str, list[Evidence | None]],
    in_all: dict[str, float] | None, width: int,
) -> Table:  # fmt: skip
    """A line for all that a column tells by itself: of dates also their parts."""
    rows, names = [], []
    for column in columns:
        total = [] if in_all is None else [f"{in_all[column.name]:.3f}"]
        for one in own.get(column.name, [None]):
            what = "with others" if one is None else one.what
            missing = f"{column.missing:,.10g}" if column.missing else "·"
            rows.append((what, missing, *_numbers(one), *total))
            names.append(column.name)
            total = ["·"] * len(total)
    heads = ("told apart", "missing", "weight", "moves") + ("in all",) * (in_all is not None)
    return _table("column", heads, names, rows, width)


def _together(several: Sequence[Evidence], width: int) -> Table:
    """Two to four columns, and all numbers, together."""
    names = [
        " × ".join(clean(name, 24) for name in one.names)
        if len(one.names) <= NUMBERS else f"{len(one.names):,} numbers"
        for one in several
    ]  # fmt: skip
    rows = [(one.what, *_numbers(one)) for one in several]
    return _table("together", ("told apart", "weight", "moves"), names, rows, width)


def _numbers(one: Evidence | None) -> tuple[str, str]:
    return ("·", "·") if one is None else (f"{one.weight:.2f}", f"{one.moves:.3f}")


def _table(
    head: str, heads: tuple[str, ...], names: Sequence[str], rows: Sequence[tuple[str, ...]],
    width: int,
) -> Table:  # fmt: skip
    """A line a name, which has the room that its numbers leave."""
    room = layout.room_beside(list(zip(heads, *rows, strict=True)), width)
    found = new_table(head, *heads, names=2)
    for name, row in zip(names, rows, strict=True):
        found.add_row(clean(name, max(room, 12)), *row)
    return found


def losses(model: Model, found: Evidences) -> dict[str, float | None]:
    """The log-loss of rows by evidence and weights of others, and by the class prior, in nats."""
    weight = model.class_weight.rounded()
    share = weight[weight > 0] / weight.sum()
    left_out = None if found.judged is None else found.judged.log_loss
    return {"left_out": left_out, "prior": float(-(share * np.log(share)).sum()) + 0.0}


def losses_in_words(model: Model, found: Evidences) -> str:
    """The same for people."""
    loss, prior = losses(model, found).values()
    if loss is None:
        return f"not known: the plan was given; class prior {prior:#.4g}"
    said = f"{loss:#.4g} nats a row, left out: by evidence and weights of other rows"
    if is_wide(model):
        said += " (far too good: all rows chose the columns, of which there are more than rows)"
    other = "" if model.prior.is_empirical else ", the classes as frequent as learned"
    return f"{said}{other}; class prior {prior:#.4g}"


def as_json(model: Model, found: Evidences) -> dict[str, Any]:
    """All evidence, for programs."""
    in_all = {} if found.columns is None else {"columns": found.columns}
    blocks = [
        {"columns": list(one.names), "told_apart": one.what, "weight": one.weight,
         "moves": one.moves}
        for one in found.blocks
    ]  # fmt: skip
    return {"log_loss": losses(model, found), "blocks": blocks, **in_all}
