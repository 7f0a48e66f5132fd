"""Export a model as an ONNX graph, operator by operator."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from naively.core.exact import LARGEST, Float64
from naively.core.labels import Labels
from naively.core.numerals import ANY, MOMENT, NUMBER
from naively.export.formulas import NotExportableError, formula_of, model_of, spelled
from naively.formula import (
    Cut,
    Density,
    Formula,
    Gaps,
    LevelCut,
    Line,
    NumberCut,
    Parabola,
    PartCut,
    Table,
    Trees,
)
from naively.model.posterior import Posterior
from naively.model.schema import Schema
from naively.tables.values import level_text

OPSET, ML_OPSET, FORMAT = 21, 4, 10
"""The versions of operators and file format since onnxruntime 1.18 (2024)."""

LABEL, PROBABILITIES = OUTPUTS = "label", "probabilities"
"""The names of the outputs, as in sklearn-onnx."""
INTERNAL = "naively:"
"""Prefix of internal names of the graph, so that columns can have all other names."""
KINDS = {"f": TensorProto.DOUBLE, "i": TensorProto.INT64, "b": TensorProto.BOOL}
STRING = TensorProto.STRING


def kind_of(values: npt.NDArray[Any]) -> int:
    """Return the tensor type of these values; text unless they are numbers or booleans."""
    return KINDS.get(values.dtype.kind, STRING)


class Graph:
    """Nodes and constants of an ONNX graph, in the order of their creation."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.inputs: list[ValueInfoProto] = []

    def input(self, name: str, kind: int, columns: int) -> str:
        """Add an input, a table with this number of columns: (N, columns)."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, ["N", columns]))
        return name

    def constant(self, values: Any) -> str:
        """Add a constant of numbers, booleans or text."""
        array = np.asarray(values)
        name = f"{INTERNAL}c{len(self.constants)}"
        kind = kind_of(array)
        if kind == STRING:
            flat: Any = [str(value).encode() for value in array.ravel().tolist()]
            tensor = helper.make_tensor(name, kind, array.shape, flat)
        else:
            exact = array.astype(helper.tensor_dtype_to_np_dtype(kind))
            tensor = helper.make_tensor(name, kind, array.shape, exact.tobytes(), raw=True)
        self.constants.append(tensor)
        return name

    def op(
        self, kind: str, *inputs: str, out: str = "", node_name: str = "", **attributes: Any
    ) -> str:
        """Add an operator; `out` names its result, `node_name` names the node."""
        name = out or f"{INTERNAL}{len(self.nodes)}"
        node_name = node_name or f"{INTERNAL}{kind}{len(self.nodes)}"
        node = helper.make_node(kind, inputs, [name], name=node_name, **attributes)
        self.nodes.append(node)
        return name

    def sum(self, parts: list[str]) -> str:
        """Add up tensors."""
        return parts[0] if len(parts) == 1 else self.op("Sum", *parts)

    def any(self, parts: list[str]) -> str:
        """Whether any of some boolean tensors is true, element by element."""
        result = parts[0]
        for part in parts[1:]:
            result = self.op("Or", result, part)
        return result

    def gather(self, values: Any, places: str) -> str:
        """Select rows of a constant."""
        return self.op("Gather", self.constant(values), places, axis=0)

    def refuse(self, bad: str, reason: str) -> str:
        """Return 0.0; if any element of `bad` is true, make the runtime fail instead.

        ONNX has no errors, but reading a row beyond a table fails, and the error names the node.
        """
        count = self.op("ReduceSum", self.op("Cast", bad, to=TensorProto.INT64), keepdims=0)
        zero = self.constant(np.zeros(1))
        return self.op("Gather", zero, count, axis=0, node_name=f"refused: {reason}")

    def model(self, outputs: list[ValueInfoProto], metadata: dict[str, str]) -> ModelProto:
        """Make the model of the graph, with its metadata."""
        graph = helper.make_graph(self.nodes, "naively", self.inputs, outputs, self.constants)
        versions = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        options = {"opset_imports": versions, "ir_version": FORMAT, "producer_name": "naively"}
        model = helper.make_model(graph, **options)
        helper.set_model_props(model, metadata)
        return model


# ---- graph dates ---------------------------------------------------------------------------------


DAY, WEEK = 86_400, 7
THURSDAY = 3  # the day of the week of 1970-01-01, from Monday as 0
MARCH = 719_468  # days from the first of March of the year 0 to 1970
CENTURIES = 146_097  # days of 400 years, the period of the calendar


def part_of_dates(graph: Graph, moments: str, part: int) -> str:
    """Compute a part of each date, (N,) int64: see `naively.formula.PartCut`.

    Days and months are computed as in Howard Hinnant's `civil_from_days`, with years that begin in
    March.

    moments : seconds since 1970, (N,) float64.
    """

    def over(a: str, n: int) -> str:
        return graph.op("Floor", graph.op("Div", a, graph.constant(float(n))))

    def plus(*terms: tuple[int, str], more: int = 0) -> str:
        products = [graph.op("Mul", term, graph.constant(float(n))) for n, term in terms]
        return graph.op("Sum", *products, graph.constant(float(more)))

    def rest(a: str, n: int) -> str:
        return plus((1, a), (-n, over(a, n)))

    days = over(moments, DAY)
    if part == 0:
        value = over(plus((1, moments), (-DAY, days)), 3_600)
    elif part == 1:
        value = rest(plus((1, days), more=THURSDAY), WEEK)
    else:
        day = rest(plus((1, days), more=MARCH), CENTURIES)
        leap_days = (-1, over(day, 1_460)), (1, over(day, 36_524)), (-1, over(day, 146_096))
        year = over(plus((1, day), *leap_days), 365)
        day = plus((1, day), (-365, year), (-1, over(year, 4)), (1, over(year, 100)))
        month = over(plus((5, day), more=2), 153)
        if part == 2:
            value = plus((1, day), (-1, over(plus((153, month), more=2), 5)))
        else:
            value = rest(plus((1, month), more=2), 12)
    return graph.op("Cast", value, to=TensorProto.INT64)


# ---- graph inputs --------------------------------------------------------------------------------


BLANKS = (
    r"\x{9}-\x{d}\x{1c}-\x{20}\x{85}\x{a0}\x{1680}"
    r"\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
)
"""The characters that `str.strip` removes."""
PLAIN = (
    r"-?[1-9][0-9]*|0|0[0-9]+|(-?[1-9][0-9]{0,14}|0)\.0|-?[1-9][0-9]{0,6}\.[0-9]{0,7}[1-9]|"
    r"-?0\.0{0,3}[1-9]([0-9]{0,9}[1-9])?"
)
"""Numbers that match no category unless `spelled` lists them, and codes such as 02139."""
CLOCK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9]{2}:[0-9]{2}.*"  # text that may be a date or a time
ENDLESS = r"(?i)[-+]?(inf(inity)?|nan)"
"""Missing values in columns that may be numeric,"""
HUGE = r"[-+]?[0-9.]+[eE]\+?[0-9]{3,}|[-+]?[0-9.]{300,}"
"""and numbers that may be beyond float64, which are missing too."""
CODES = 2.0**53  # category codes in arrays are below


class Inputs:
    """The input rows of a graph: numbers side by side, (N, d), and possibly text.

    first : one of the inputs, with the number of rows of all.
    refused : tensors of 0.0, or an error of the runtime if rows are invalid.
    """

    def __init__(self, graph: Graph, columns: list[str]) -> None:
        self.graph, self.columns = graph, columns
        self.first = ""
        self.refused: list[str] = []
        self._place = {name: k for k, name in enumerate(columns)}
        self._values = self._present = ""
        self._bins: dict[Any, str] = {}

    def _hold(self, values: str, missing: Iterable[float] = ()) -> None:
        """Set the numbers; infinities and those in `missing` count as missing."""
        graph = self.graph
        self._values = values
        self._present = graph.op("LessOrEqual", graph.op("Abs", values), graph.constant(LARGEST))
        for number in missing:
            is_missing = graph.op("Equal", values, graph.constant(number))
            self._present = graph.op("And", self._present, graph.op("Not", is_missing))

    def _refuse(self, bad: str, reason: str) -> None:
        self.refused.append(self.graph.refuse(bad, reason))

    def numbers(self, columns: Sequence[str]) -> tuple[str, str]:
        """Return (numbers of these columns, (N, k); which of them are present)."""
        if list(columns) == list(self._place):
            return self._values, self._present
        indices = self.graph.constant([self._place[name] for name in columns])
        return (
            self.graph.op("Gather", self._values, indices, axis=1),
            self.graph.op("Gather", self._present, indices, axis=1),
        )

    def bin(self, cut: Cut) -> str:
        """Compute the bin of each row, (N,)."""
        if isinstance(cut, PartCut):
            graph = self.graph
            numbers, present = self._column(cut.column)
            moments = graph.op("Squeeze", numbers, graph.constant([1]))
            part = part_of_dates(graph, moments, cut.part)
            return graph.op("Where", present, part, graph.constant(cut.missing))
        key = cut.column, cut.bins.tobytes(), cut.missing
        if key not in self._bins:
            if isinstance(cut, NumberCut):
                self._bins[key] = self._number_bin(cut)
            else:
                self._bins[key] = self._level_bin(cut)
        return self._bins[key]

    def _number_bin(self, cut: NumberCut) -> str:
        graph = self.graph
        numbers, present = self._column(cut.column)
        changes = np.flatnonzero(np.diff(cut.bins)) + 1
        bins = cut.bins[np.append(0, changes)] if len(cut.bins) else np.array([cut.missing])
        row_bins = graph.gather(bins, self._passed(numbers, cut.starts[changes]))
        return graph.op("Where", present, row_bins, graph.constant(cut.missing))

    @abstractmethod
    def _level_bin(self, cut: LevelCut) -> str:
        """Compute the bin of each row's category."""

    def _column(self, name: str) -> tuple[str, str]:
        """Return (numbers, (N, 1); which of them are present, (N,))."""
        numbers, present = self.numbers([name])
        return numbers, self.graph.op("Squeeze", present, self.graph.constant([1]))

    def _passed(self, numbers: str, starts: Float64) -> str:
        """Count how many of the sorted `starts` are at most each number, (N,)."""
        graph = self.graph
        is_passed = graph.op("GreaterOrEqual", numbers, graph.constant(starts[np.newaxis]))
        passed = graph.op("Cast", is_passed, to=TensorProto.INT64)
        return graph.op("ReduceSum", passed, graph.constant([1]), keepdims=0)


class ArrayInput(Inputs):
    """One table of numbers. Values that the model rejects are errors in the graph, too."""

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
            fractional = graph.op("Not", graph.op("Equal", graph.op("Floor", X), X))
            fractional = graph.op("And", self._present, fractional)
            self._refuse(fractional, "X has a number that is not whole, as categories are")
        if low > -LARGEST:
            self._refuse(graph.op("Less", X, graph.constant(low)), f"X has a number below {low:g}")
        if high < LARGEST:
            above = graph.op("Greater", X, graph.constant(high))
            self._refuse(above, f"X has a number above {high:g}")

    def _level_bin(self, cut: LevelCut) -> str:
        graph = self.graph
        numbers, present = self._column(cut.column)
        levels = np.array([float(level) for level in cut.levels])
        order = np.argsort(levels)
        index = self._passed(numbers, levels[order])
        nearest = graph.gather(np.append(np.nan, levels[order]), index)
        is_level = graph.op("Equal", nearest, graph.op("Squeeze", numbers, graph.constant([1])))
        row_bins = graph.gather(np.append(cut.other, cut.bins[order]), index)
        row_bins = graph.op("Where", is_level, row_bins, graph.constant(cut.other))
        return graph.op("Where", present, row_bins, graph.constant(cut.missing))


class TableInputs(Inputs):
    """One input for each column of a table, (N, 1): numbers, or text of categories."""

    def __init__(self, graph: Graph, formula: Formula, schema: Schema) -> None:
        numbers, texts = _columns(formula)
        super().__init__(graph, list(numbers))
        _check(numbers, texts)
        inputs = [graph.input(name, TensorProto.DOUBLE, 1) for name in numbers]
        if inputs:
            missing = [float(spelling) for spelling in schema.missing if NUMBER.fullmatch(spelling)]
            self._hold(graph.op("Concat", *inputs, axis=1), missing)
        self._levels: dict[str, tuple[list[str], str]] = {}
        cells = {
            name for block in schema.blocks if block.family.summary.takes == "cells"
            for name in block.names
        }  # fmt: skip
        for name, levels in texts.items():
            inputs.append(graph.input(name, STRING, 1))
            indices = self._places(name, levels, schema.missing, name in cells)
            self._levels[name] = levels, indices
        self.first, self.columns = inputs[0], inputs

    def _places(self, name: str, levels: list[str], missing: Sequence[str], cells: bool) -> str:
        """Return the index of each row's category, (N,); n for missing, n + 1 for others.

        Infinity and NaN are missing in columns of `cells`, and categories elsewhere. Text that
        Python would read as a category or a missing value, but with an unlisted spelling, makes
        the runtime fail.
        """
        graph, n = self.graph, len(levels)
        indices = {
            text: k for k, level in enumerate(levels) for text in spelled(level)
            if text == level or level_text(text, ()) == level  # 12:30+00 differs as text
        }  # fmt: skip
        indices |= {text: n for value in missing for text in spelled(value)}
        text = graph.op("Squeeze", name, graph.constant([1]))
        row_indices = graph.op(
            "LabelEncoder", text, domain="ai.onnx.ml", keys_strings=list(indices),
            values_int64s=list(indices.values()), default_int64=n + 1,
        )  # fmt: skip
        unknown = graph.op("Equal", row_indices, graph.constant(n + 1))
        unusual = self._matches(text, rf"(?s)[{BLANKS}].*|.*[{BLANKS}]")
        if any(map(NUMBER.fullmatch, indices)):
            plain = graph.op("Not", self._matches(text, PLAIN))
            unusual = graph.op("Or", unusual, graph.op("And", self._matches(text, ANY), plain))
        if any(text and MOMENT.fullmatch(text) for text in indices):
            unusual = graph.op("Or", unusual, self._matches(text, CLOCK))
        if cells:
            unusual = graph.op("Or", unusual, self._matches(text, HUGE))
            infinite = self._matches(text, ENDLESS)
            row_indices = graph.op("Where", infinite, graph.constant(n), row_indices)
        self._refuse(
            graph.op("And", unknown, unusual), f"{name} has a value with blanks about it, or one "
            "that is written otherwise than the levels"
        )  # fmt: skip
        return row_indices

    def _matches(self, text: str, pattern: str) -> str:
        return self.graph.op("RegexFullMatch", text, pattern=pattern)

    def _level_bin(self, cut: LevelCut) -> str:
        levels, indices = self._levels[cut.column]
        bin_of = dict(zip(cut.levels, cut.bins.tolist(), strict=True))
        bins = [bin_of.get(level, cut.other) for level in levels]
        return self.graph.gather(np.array([*bins, cut.missing, cut.other]), indices)


def _columns(formula: Formula) -> tuple[list[str], dict[str, list[str]]]:
    """Return (the numeric columns, the categories of the others)."""
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
        raise NotExportableError("no column has evidence")
    if shared := [name for name in numbers if name in texts]:
        raise NotExportableError(f"column {shared[0]!r} is read as numbers and as categories")
    for name in (*numbers, *texts):
        if not name or name in OUTPUTS or name.startswith(INTERNAL):
            problem = f"an input of ONNX cannot be called {name!r}: rename the column"
            raise NotExportableError(problem)


# ---- onnx ----------------------------------------------------------------------------------------


def to_onnx(model: Any) -> bytes:
    """Write an ONNX file that predicts rows, in float64.

    A model of a table has an input for each column that it needs, (N, 1): float64, with NaN for
    missing numbers, or strings, empty for missing categories. A model of an array has one input
    ``X``, (N, d) of float64. The outputs are ``label``, (N,), and ``probabilities``, (N, C), in the
    order of the classes, which the metadata list as JSON under ``classes``. Dates are given as
    seconds since 1970, times as seconds of the day; ``dates`` in the metadata lists these columns.

    Parameters
    ----------
    model : a fitted estimator, or the `Model` of one.

    Raises
    ------
    NotExportableError : if the model is not supported, with the reason.
    """
    model = model_of(model)
    if any(block.family.summary.of_texts for block in model.schema.blocks):
        raise NotExportableError(
            "ONNX has no operator that cuts text into words, or writes it in lower case, as Python "
            "does: export a model of their counts, such as MultinomialNB"
        )
    posterior, formula = formula_of(model)

    classes = _labels(posterior.classes)
    graph = Graph()
    input_type = ArrayInput if model.schema.reasons is None else TableInputs
    inputs = input_type(graph, formula, model.schema)
    scores = _scores(graph, inputs, formula)
    probabilities = graph.op("Softmax", scores, out=PROBABILITIES, axis=1)
    best_class = graph.op("ArgMax", scores, axis=1, keepdims=0)
    graph.op("Gather", graph.constant(classes), best_class, out=LABEL, axis=0)
    outputs = [
        helper.make_tensor_value_info(LABEL, kind_of(classes), ["N"]),
        helper.make_tensor_value_info(probabilities, TensorProto.DOUBLE, ["N", len(classes)]),
    ]
    return graph.model(outputs, _metadata(posterior, inputs, formula)).SerializeToString()


def _labels(classes: Labels) -> npt.NDArray[Any]:
    """Return the labels as an array of one type that ONNX supports."""
    labels = classes.tolist()
    for kind, dtype in ((bool, np.bool_), (int, np.int64), (str, np.object_)):
        if all(type(label) is kind for label in labels):
            try:
                return np.array(labels, dtype)
            except OverflowError:
                break
    problem = "its labels are not all text, truth values, or whole numbers of 64 bits"
    raise NotExportableError(problem)


def _metadata(posterior: Posterior, inputs: Inputs, formula: Formula) -> dict[str, str]:
    """Return the metadata."""
    dates = {cut.column for cut in formula.all_cuts if not isinstance(cut, LevelCut) and cut.dated}
    return {
        "classes": json.dumps(posterior.classes.tolist(), ensure_ascii=False),
        "columns": json.dumps(inputs.columns, ensure_ascii=False),
        "dates": json.dumps(sorted(dates), ensure_ascii=False),
    }


def _scores(graph: Graph, inputs: Inputs, formula: Formula) -> str:
    """Compute log π_c and the terms, (N, C)."""
    scores = _added(graph, inputs, formula)
    if formula.gaps is not None and formula.other is not None:
        unfamiliar, factor = _gaps(graph, inputs, formula.gaps)
        other = formula.other
        terms = _added(graph, inputs, replace(other, base=0.0 * other.base))
        scaled = graph.op("Mul", factor, terms)
        incomplete = graph.op("Add", graph.constant(other.base[np.newaxis]), scaled)
        scores = graph.op("Where", unfamiliar, incomplete, scores)
    finite = graph.op("LessOrEqual", graph.op("Abs", scores), graph.constant(LARGEST))
    too_large = graph.op("Not", finite)
    return graph.sum([scores, *inputs.refused, graph.refuse(too_large, "a number is too large")])


def _gaps(graph: Graph, inputs: Inputs, gaps: Gaps) -> tuple[str, str]:
    """Return (whether a row has unfamiliar missing cells, the factor of such rows), (N, 1) each."""
    axis = graph.constant([1])
    missing = [graph.op("Equal", inputs.bin(cut), graph.constant(cut.missing)) for cut in gaps.cuts]
    columns = [graph.op("Unsqueeze", tensor, axis) for tensor in missing]
    missing_cells = graph.op("Concat", *columns, axis=1)
    numbers = graph.op("Cast", missing_cells, to=TensorProto.INT64)
    count = graph.op("ReduceSum", numbers, axis, keepdims=0)
    unfamiliar = [graph.op("Greater", count, graph.constant(gaps.most))]
    unfamiliar += [tensor for tensor, unusual in zip(missing, gaps.unusual, strict=True) if unusual]
    alone = [(missing[j], graph.op("Not", missing[k])) for j, k in gaps.together]
    unfamiliar += [graph.op("And", *pair) for pair in alone]
    factor = graph.op("Unsqueeze", graph.gather(gaps.factors, count), axis)
    return graph.op("Unsqueeze", graph.any(unfamiliar), axis), factor


def _added(graph: Graph, inputs: Inputs, formula: Formula) -> str:
    """Compute the base and the terms, (N, C)."""
    lines = [curve for curve in formula.terms if isinstance(curve, Line)]
    curves = [curve for curve in formula.terms if isinstance(curve, Parabola)]
    parts = [graph.constant(formula.base[np.newaxis])]
    for threshold in dict.fromkeys(curve.threshold for curve in lines):
        group = [curve for curve in lines if curve.threshold == threshold]
        parts += _lines(graph, inputs, group, threshold)
    if curves:
        parts.append(_parabolas(graph, inputs, curves))
    for term in formula.terms:
        if isinstance(term, Table):
            parts.append(graph.gather(term.added, _cell(graph, inputs, term)))
        elif isinstance(term, Trees):
            parts.append(_trees(graph, inputs, term))
        elif isinstance(term, Density):
            parts.append(_density(graph, inputs, term))
    rows = graph.op("Shape", inputs.first, start=0, end=1)  # for a formula without terms
    zero = helper.make_tensor("zero", TensorProto.DOUBLE, [1], [0.0])
    zeros = graph.op("ConstantOfShape", rows, value=zero)
    parts.append(graph.op("Unsqueeze", zeros, graph.constant([1])))
    return graph.sum(parts)


# ---- terms ---------------------------------------------------------------------------------


def _within(graph: Graph, inputs: Inputs, terms: Sequence[Line | Parabola]) -> tuple[str, str]:
    """Return (numbers, (N, k); which are present and within the family's range)."""
    numbers, present = inputs.numbers([term.column for term in terms])
    low, high = (np.array([getattr(term, bound) for term in terms]) for bound in ("low", "high"))
    for kind, bounds in (("GreaterOrEqual", low), ("LessOrEqual", high)):
        if (np.abs(bounds) < LARGEST).any():
            present = graph.op("And", present, graph.op(kind, numbers, graph.constant(bounds)))
    return numbers, present


def _lines(graph: Graph, inputs: Inputs, terms: list[Line], threshold: float | None) -> list[str]:
    """Compute Σ zero + slope · x, for lines with one threshold: (N, C)."""
    numbers, present = _within(graph, inputs, terms)
    indicator = graph.op("Cast", present, to=TensorProto.DOUBLE)
    if threshold is None:
        numbers = graph.op("Where", present, numbers, graph.constant(0.0))
    else:
        above = graph.op("And", present, graph.op("Greater", numbers, graph.constant(threshold)))
        numbers = graph.op("Cast", above, to=TensorProto.DOUBLE)
    slope, zero = (np.array([getattr(term, name) for term in terms]) for name in ("slope", "zero"))
    pairs = [(numbers, slope), (indicator, zero)]
    return [graph.op("MatMul", tensor, graph.constant(k)) for tensor, k in pairs if k.any()]


def _parabolas(graph: Graph, inputs: Inputs, terms: list[Parabola]) -> str:
    """Compute Σ norm - ((x - mean) · scale)²: (N, C)."""
    pair = _within(graph, inputs, terms)
    numbers, present = (graph.op("Unsqueeze", tensor, graph.constant([1])) for tensor in pair)
    mean, scale, norm = (
        graph.constant(np.array([getattr(term, name) for term in terms]).T[np.newaxis])
        for name in ("mean", "scale", "norm")
    )
    deviation = graph.op("Mul", graph.op("Sub", numbers, mean), scale)
    contributions = graph.op("Sub", norm, graph.op("Mul", deviation, deviation))
    masked = graph.op("Where", present, contributions, graph.constant(0.0))
    return graph.op("ReduceSum", masked, graph.constant([2]), keepdims=0)


def _cell(graph: Graph, inputs: Inputs, term: Table) -> str:
    """Compute the cell of each row in a table, (N,)."""
    cells = ""
    for cut, size in zip(term.cuts, term.sizes, strict=True):
        bins = inputs.bin(cut)
        if cells:
            bins = graph.op("Add", graph.op("Mul", cells, graph.constant(size)), bins)
        cells = bins
    return cells


def _trees(graph: Graph, inputs: Inputs, term: Trees) -> str:
    """Compute what the leaves of trees add to the scores, (N, C)."""
    present, bins = list[str](), list[str]()
    for column_cut in term.cuts:
        bins.append(inputs.bin(column_cut))
        is_missing = graph.op("Equal", bins[-1], graph.constant(column_cut.missing))
        present.append(graph.op("Where", is_missing, graph.constant(-1), bins[-1]))
    columns = [graph.op("Unsqueeze", tensor, graph.constant([1])) for tensor in bins + present]
    table = graph.op("Cast", graph.op("Concat", *columns, axis=1), to=TensorProto.FLOAT)
    nodes, leaves = list[dict[str, Any]](), list[dict[str, Any]]()
    trees = np.searchsorted(term.roots, np.arange(len(term.nodes)), side="right") - 1
    tree_nodes = zip(trees.tolist(), term.nodes.tolist(), strict=True)
    for k, (tree, (column, first, last, child)) in enumerate(tree_nodes):
        node = {"treeids": tree, "nodeids": k}
        cut = {"featureids": max(column, 0), "truenodeids": child, "falsenodeids": child + 1}
        if column < 0:
            leaves.append({**node, "ids": tree, "weights": float(k)})
            cut |= {"modes": "LEAF", "values": 0.0, "truenodeids": 0, "falsenodeids": 0}
        elif first == 0:
            cut |= {"modes": "BRANCH_LEQ", "values": float(last)}
        elif first == last:
            cut |= {"modes": "BRANCH_EQ", "values": float(first)}
        else:  # from `first` on, without missing values
            place = len(bins) + column
            cut |= {"featureids": place, "modes": "BRANCH_GTE", "values": float(first)}
        nodes.append(node | cut)
    attributes: dict[str, Any] = {f"nodes_{key}": [node[key] for node in nodes] for key in nodes[0]}
    attributes |= {f"target_{name}": [leaf[name] for leaf in leaves] for name in leaves[0]}
    # it adds up float32: so it computes the places of leaves, which are whole numbers
    places = graph.op(
        "TreeEnsembleRegressor", table, domain="ai.onnx.ml", n_targets=len(term.roots), **attributes
    )
    added = graph.gather(term.added, graph.op("Cast", places, to=TensorProto.INT64))
    return graph.op("ReduceSum", added, graph.constant([1]), keepdims=0)


def _density(graph: Graph, inputs: Inputs, term: Density) -> str:
    """Compute weight · max(f_c - max f, least), (N, C)."""
    numbers, present = inputs.numbers(term.columns)
    centred = graph.op("Sub", numbers, graph.constant(term.centre))
    scaled = graph.op("Div", centred, graph.constant(term.spread))
    upper, lower = graph.constant(term.farthest), graph.constant(-term.farthest)
    clipped = graph.op("Min", graph.op("Max", scaled, lower), upper)
    z = graph.op("Where", present, clipped, graph.constant(0.0))
    if term.whitening is None:  # Σ_j slope_cj z_j
        exponents = graph.op("MatMul", z, graph.constant(term.mean.T))
    else:
        exponents = _squares(graph, z, term.mean, term.whitening)
    log_density = graph.op("Add", exponents, graph.constant(term.base[np.newaxis]))
    maximum = graph.op("ReduceMax", log_density, graph.constant([1]), keepdims=1)
    bounded = graph.op("Max", graph.op("Sub", log_density, maximum), graph.constant(term.least))
    weighted = graph.op("Mul", bounded, graph.constant(term.weight))
    if not term.fewest:
        return weighted
    indicator = graph.op("Cast", present, to=TensorProto.INT64)
    count = graph.op("ReduceSum", indicator, graph.constant([1]), keepdims=1)
    is_enough = graph.op("GreaterOrEqual", count, graph.constant(term.fewest))
    return graph.op("Where", is_enough, weighted, graph.constant(0.0))


def _squares(graph: Graph, z: str, mean: Float64, whitening: Float64) -> str:
    """Compute -½ Σ_i (Σ_j whitening_cij (z_j - mean_cj))², (N, C)."""
    rows = graph.op("Unsqueeze", z, graph.constant([0]))
    centred = graph.op("Sub", rows, graph.constant(mean[:, np.newaxis]))
    # shape (C, N, k)
    whitened = graph.op("MatMul", centred, graph.constant(whitening.transpose(0, 2, 1)))
    products = graph.op("Mul", whitened, whitened)
    squares = graph.op("ReduceSum", products, graph.constant([2]), keepdims=0)
    return graph.op("Mul", graph.op("Transpose", squares, perm=[1, 0]), graph.constant(-0.5))
