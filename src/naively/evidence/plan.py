"""A plan: what evidence there is, and what it weighs."""

from __future__ import annotations

from dataclasses import dataclass

from naively.evidence.bins import Column
from naively.evidence.calendars import Calendar
from naively.evidence.judged import Judged
from naively.evidence.normal import Normal
from naively.evidence.words import Words
from naively.exact import Float64


@dataclass(frozen=True)
class Cells:
    """A table of evidence.

    Attributes
    ----------
    columns : of which, in order.
    way : how they are cut; see `naively.evidence.bins`.
    table : (cells, C), in nats.
    """

    columns: tuple[int, ...]
    way: int
    table: Float64


Block = Cells | Calendar | Normal | Words


@dataclass(frozen=True)
class Plan:
    """What evidence there is, and what it weighs.

    Attributes
    ----------
    columns : the bins of each column.
    blocks : evidence of columns.
    weights : (K,)
    bias : (C,), in nats.
    judged : how rows were predicted, each by evidence and weights without it.
    """

    columns: list[Column]
    blocks: list[Block]
    weights: Float64
    bias: Float64
    judged: Judged
