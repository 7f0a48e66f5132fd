"""What an ONNX graph is given: numbers and bins of its rows, and what it refuses of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from naively.exact import LARGEST, Float64
from naively.export.formulas import NotExportableError, spelled
from naively.export.graph import OUTPUTS, OWN, STRING, Graph
from naively.export.graph_dates import part_of_dates
from naively.families.formula import (
    Cut,
    Density,
    Formula,
    LevelCut,
    Line,
    NumberCut,
    Parabola,
    PartCut,
)
from naively.numerals import ANY, MOMENT, NUMBER
from naively.schema import Schema
from naively.tables.values import level_text

BLANKS = (
    r"\x{9}-\x{d}\x{1c}-\x{20}\x{85}\x{a0}\x{1680}"
    r"\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
)
"""What `str.strip` takes away."""
PLAIN = (
    r"-?[1-9][0-9]*|0|0[0-9]+|(-?[1-9][0-9]{0,14}|0)\.0|-?[1-9][0-9]{0,6}\.[0-9]{0,7}[1-9]|"
    r"-?0\.0{0,3}[1-9]([0-9]{0,9}[1-9])?"
)
"""Numbers that are no level if not spelled as `spelled` says, and codes such as 02139."""
CLOCK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9]{2}:[0-9]{2}.*"
"""What may be a date or a time."""
ENDLESS = r"(?i)[-+]?(inf(inity)?|nan)"
"""What is missing among cells that may be numbers,"""
HUGE = r"[-+]?[0-9.]+[eE]\+?[0-9]{3,}|[-+]?[0-9.]{300,}"
"""and what may be beyond float64, and missing then."""
CODES = 2.0**53
"""Levels of arrays are below."""


class Inputs:
    """The rows that a graph is given: numbers side by side, (N, d), and perhaps text.

    Attributes
    ----------
    columns : the names of what is given.
    first : one of the inputs, which has as many rows as all.
    refused : 0.0 each, or else the runtime refuses the rows.
    """

    def __init__(self, graph: Graph, columns: list[str]) -> None:
        self.graph, self.columns = graph, columns
        self.first = ""
        self.refused: list[str] = []
        self._place = {name: k for k, name in enumerate(columns)}
        self._values = self._known = ""
        self._bins: dict[Any, str] = {}

    def _hold(self, values: str, missing: Iterable[float] = ()) -> None:
        """Take these numbers, of which some mean that there is none, as infinities do."""
        graph = self.graph
        self._values = values
        self._known = graph.op("LessOrEqual", graph.op("Abs", values), graph.constant(LARGEST))
        for one in missing:
            same = graph.op("Equal", values, graph.constant(one))
            self._known = graph.op("And", self._known, graph.op("Not", same))

    def _refuse(self, bad: str, reason: str) -> None:
        self.refused.append(self.graph.refuse(bad, reason))

    def numbers(self, columns: Sequence[str]) -> tuple[str, str]:
        """(numbers of these columns, (N, k); which of them are there)."""
        if list(columns) == list(self._place):
            return self._values, self._known
        places = self.graph.constant([self._place[name] for name in columns])
        return (
            self.graph.op("Gather", self._values, places, axis=1),
            self.graph.op("Gather", self._known, places, axis=1),
        )

    def bin(self, cut: Cut) -> str:
        """The bin of each row, (N,)."""
        if isinstance(cut, PartCut):
            return self._part(cut)
        key = cut.column, cut.bins.tobytes(), cut.missing
        if key not in self._bins:
            self._bins[key] = (
                self._number_bin(cut) if isinstance(cut, NumberCut) else self._level_bin(cut)
            )
        return self._bins[key]

    def _part(self, cut: PartCut) -> str:
        graph = self.graph
        numbers, known = self._column(cut.column)
        moments = graph.op("Squeeze", numbers, graph.constant([1]))
        none = graph.constant(cut.missing)
        return graph.op("Where", known, part_of_dates(graph, moments, cut.part), none)

    def _number_bin(self, cut: NumberCut) -> str:
        graph = self.graph
        numbers, known = self._column(cut.column)
        changes = np.flatnonzero(np.diff(cut.bins)) + 1
        bins = cut.bins[np.append(0, changes)] if len(cut.bins) else np.array([cut.missing])
        found = graph.gather(bins, self._passed(numbers, cut.starts[changes]))
        return graph.op("Where", known, found, graph.constant(cut.missing))

    @abstractmethod
    def _level_bin(self, cut: LevelCut) -> str:
        """The bin of the level of each row."""

    def _column(self, name: str) -> tuple[str, str]:
        """(numbers, (N, 1); which of them are there, (N,))."""
        numbers, known = self.numbers([name])
        return numbers, self.graph.op("Squeeze", known, self.graph.constant([1]))

    def _passed(self, numbers: str, starts: Float64) -> str:
        """How many of some sorted numbers each one is not below, (N,)."""
        graph = self.graph
        beyond = graph.op("GreaterOrEqual", numbers, graph.constant(starts[np.newaxis]))
        each = graph.op("Cast", beyond, to=TensorProto.INT64)
        return graph.op("ReduceSum", each, graph.constant([1]), keepdims=0)


class ArrayInput(Inputs):
    """One table of numbers. What the model refuses of it, the graph refuses too."""

    def __init__(self, graph: Graph, formula: Formula, schema: Schema) -> None:
        super().__init__(graph, list(schema.names))
        (block,) = schema.blocks
        summary = block.family.summary
        self.first = X = graph.input("X", TensorProto.DOUBLE, len(self.columns))
        self._hold(X)
        low, high = summary.bounds
        self._refuse(graph.op("IsInf", X), "X has an infinite number")
        if summary.takes == "levels":
            low, high = 0.0, CODES - 1
            part = graph.op("Not", graph.op("Equal", graph.op("Floor", X), X))
            part = graph.op("And", self._known, part)
            self._refuse(part, "X has a number that is no whole one, as levels are")
        if low > -LARGEST:
            self._refuse(graph.op("Less", X, graph.constant(low)), f"X has a number below {low:g}")
        if high < LARGEST:
            above = graph.op("Greater", X, graph.constant(high))
            self._refuse(above, f"X has a number above {high:g}")

    def _level_bin(self, cut: LevelCut) -> str:
        graph = self.graph
        numbers, known = self._column(cut.column)
        levels = np.array([float(level) for level in cut.levels])
        order = np.argsort(levels)
        place = self._passed(numbers, levels[order])
        nearest = graph.gather(np.append(np.nan, levels[order]), place)
        same = graph.op("Equal", nearest, graph.op("Squeeze", numbers, graph.constant([1])))
        found = graph.gather(np.append(cut.other, cut.bins[order]), place)
        found = graph.op("Where", same, found, graph.constant(cut.other))
        return graph.op("Where", known, found, graph.constant(cut.missing))


class TableInputs(Inputs):
    """Each column of a table by itself, (N, 1): numbers, and text of levels."""

    def __init__(self, graph: Graph, formula: Formula, schema: Schema) -> None:
        numbers, texts = _columns(formula)
        super().__init__(graph, list(numbers))
        _check(numbers, texts)
        given = [graph.input(name, TensorProto.DOUBLE, 1) for name in numbers]
        if given:
            spelled_numbers = [one for one in schema.missing if NUMBER.fullmatch(one)]
            self._hold(graph.op("Concat", *given, axis=1), map(float, spelled_numbers))
        self._levels: dict[str, tuple[list[str], str]] = {}
        cells = {
            name for one in schema.blocks if one.family.summary.takes == "cells"
            for name in one.names
        }  # fmt: skip
        for name, levels in texts.items():
            given.append(graph.input(name, STRING, 1))
            places = self._places(name, levels, schema.missing, name in cells)
            self._levels[name] = levels, places
        self.first, self.columns = given[0], given

    def _places(self, name: str, levels: list[str], missing: Sequence[str], cells: bool) -> str:
        """The place of each row's level, (N,); one more for missing ones, two for others.

        Infinity and NaN are missing in columns of `cells`, and levels elsewhere.
        Text that Python would take for one of the levels, or for a missing value, although it is
        spelled otherwise is refused.
        """
        graph, n = self.graph, len(levels)
        places = {
            text: k for k, level in enumerate(levels) for text in spelled(level)
            if text == level or level_text(text, ()) == level  # 12:30+00 is another level of text
        }  # fmt: skip
        places |= {text: n for one in missing for text in spelled(one)}
        text = graph.op("Squeeze", name, graph.constant([1]))
        found = graph.op(
            "LabelEncoder", text, domain="ai.onnx.ml", keys_strings=list(places),
            values_int64s=list(places.values()), default_int64=n + 1,
        )  # fmt: skip
        unknown = graph.op("Equal", found, graph.constant(n + 1))
        odd = self._matches(text, rf"(?s)[{BLANKS}].*|.*[{BLANKS}]")
        if any(map(NUMBER.fullmatch, places)):
            plain = graph.op("Not", self._matches(text, PLAIN))
            odd = graph.op("Or", odd, graph.op("And", self._matches(text, ANY), plain))
        if any(text and MOMENT.fullmatch(text) for text in places):
            odd = graph.op("Or", odd, self._matches(text, CLOCK))
        if cells:
            odd = graph.op("Or", odd, self._matches(text, HUGE))
            endless = self._matches(text, ENDLESS)
            found = graph.op("Where", endless, graph.constant(n), found)
        self._refuse(
            graph.op("And", unknown, odd), f"{name} has a value with blanks about it, or one that "
            "is written otherwise than the levels"
        )  # fmt: skip
        return found

    def _matches(self, text: str, pattern: str) -> str:
        return self.graph.op("RegexFullMatch", text, pattern=pattern)

    def _level_bin(self, cut: LevelCut) -> str:
        levels, places = self._levels[cut.column]
        own = dict(zip(cut.levels, cut.bins.tolist(), strict=True))
        bins = [own.get(level, cut.other) for level in levels]
        return self.graph.gather(np.array([*bins, cut.missing, cut.other]), places)


def _columns(formula: Formula) -> tuple[list[str], dict[str, list[str]]]:
    """(the columns of numbers, the levels of the others)."""
    numbers, texts = dict[str, None](), dict[str, dict[str, None]]()
    for term in formula.all_terms:
        if isinstance(term, Density):
            numbers |= dict.fromkeys(term.columns)
        elif isinstance(term, Line | Parabola):
            numbers[term.column] = None
    for cut in formula.all_cuts:
        if isinstance(cut, LevelCut):
            texts.setdefault(cut.column, {}).update(dict.fromkeys(cut.levels))
        else:
            numbers[cut.column] = None
    return list(numbers), {name: list(levels) for name, levels in texts.items()}


def _check(numbers: Sequence[str], texts: Collection[str]) -> None:
    """Raise NotExportableError unless each column can be one input."""
    if not numbers and not texts:
        raise NotExportableError("no column tells anything")
    if both := [name for name in numbers if name in texts]:
        raise NotExportableError(f"column {both[0]!r} is read as numbers and as levels")
    for name in (*numbers, *texts):
        if not name or name in OUTPUTS or name.startswith(OWN):
            raise NotExportableError(
                f"an input of ONNX cannot be called {name!r}: rename the column"
            )
