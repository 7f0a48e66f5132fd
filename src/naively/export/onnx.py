"""A model as an ONNX graph: labels and probabilities of rows, wherever there is a runtime."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper

from naively.exact import LARGEST, Float64
from naively.export.formulas import NotExportableError, formula_of
from naively.export.graph import LABEL, PROBABILITIES, Graph, kind_of
from naively.export.graph_inputs import ArrayInput, Inputs, TableInputs
from naively.families.formula import Density, Formula, Gaps, LevelCut, Line, Parabola, Table
from naively.labels import Labels
from naively.model import Model
from naively.posterior import Posterior


def to_onnx(model: Model) -> bytes:
    """The file of a graph that predicts rows, in float64.

    A model of a table has an input for each column that it needs, (N, 1): of float64, NaN where a
    number is missing, or of strings, empty where a level is. A model of an array has one input
    ``X``, (N, d) of float64. The outputs are ``label``, (N,), and ``probabilities``, (N, C), in the
    order of the classes, which the metadata have as JSON under ``classes``. Columns of dates are
    seconds since 1970, those of times the seconds of the day: ``dates`` names them.

    Raises
    ------
    NotExportableError : if the model has something that cannot be said in ONNX, with the reason.
    """
    if any(block.family.summary.takes == "documents" for block in model.schema.blocks):
        raise NotExportableError(
            "ONNX has no operator that cuts text into words, or writes it in lower case, as Python "
            "does: export a model of their counts, such as MultinomialNB"
        )
    posterior, formula = formula_of(model)
    if not np.isfinite(posterior.log_prior).all():
        raise NotExportableError("a class without rows has probability 0")
    classes = _labels(posterior.classes)
    graph = Graph()
    made = ArrayInput if model.schema.reasons is None else TableInputs
    inputs = made(graph, formula, model.schema)
    scores = _scores(graph, inputs, formula)
    behind = graph.op("Softmax", scores, out=PROBABILITIES, axis=1)
    best = graph.op("ArgMax", scores, axis=1, keepdims=0)
    graph.op("Gather", graph.constant(classes), best, out=LABEL, axis=0)
    outputs = [
        helper.make_tensor_value_info(LABEL, kind_of(classes), ["N"]),
        helper.make_tensor_value_info(behind, TensorProto.DOUBLE, ["N", len(classes)]),
    ]
    return graph.model(outputs, _said(posterior, inputs, formula)).SerializeToString()


def _labels(classes: Labels) -> npt.NDArray[Any]:
    """The labels, all of one type that ONNX has."""
    labels = classes.tolist()
    for kind, dtype in ((bool, np.bool_), (int, np.int64), (str, np.object_)):
        if all(type(one) is kind for one in labels):
            try:
                return np.array(labels, dtype)
            except OverflowError:
                break
    raise NotExportableError(
        "its labels are not all text, truth values, or whole numbers of 64 bits"
    )


def _said(posterior: Posterior, inputs: Inputs, formula: Formula) -> dict[str, str]:
    """The metadata."""
    dates = {cut.column for cut in formula.all_cuts if not isinstance(cut, LevelCut) and cut.dated}
    return {
        "classes": json.dumps(posterior.classes.tolist(), ensure_ascii=False),
        "columns": json.dumps(inputs.columns, ensure_ascii=False),
        "dates": json.dumps(sorted(dates), ensure_ascii=False),
    }


def _scores(graph: Graph, inputs: Inputs, formula: Formula) -> str:
    """log π_c and what the terms add, (N, C)."""
    found = _added(graph, inputs, formula)
    if formula.gaps is not None and formula.other is not None:
        odd, factor = _gaps(graph, inputs, formula.gaps)
        other = formula.other
        terms = _added(graph, inputs, replace(other, base=0.0 * other.base))
        scaled = graph.op("Mul", factor, terms)
        incomplete = graph.op("Add", graph.constant(other.base[np.newaxis]), scaled)
        found = graph.op("Where", odd, incomplete, found)
    large = graph.op(
        "Not", graph.op("LessOrEqual", graph.op("Abs", found), graph.constant(LARGEST))
    )
    return graph.sum([found, *inputs.refused, graph.refuse(large, "a number is too large")])


def _gaps(graph: Graph, inputs: Inputs, gaps: Gaps) -> tuple[str, str]:
    """(whether unfamiliar cells of a row are missing, (N, 1); the factor of such rows, (N, 1))."""
    axis = graph.constant([1])
    each = [graph.op("Equal", inputs.bin(cut), graph.constant(cut.missing)) for cut in gaps.cuts]
    gone = graph.op("Concat", *(graph.op("Unsqueeze", own, axis) for own in each), axis=1)
    whole = graph.op("Cast", gone, to=TensorProto.INT64)
    count = graph.op("ReduceSum", whole, axis, keepdims=0)
    odd = [graph.op("Greater", count, graph.constant(gaps.most))]
    odd += [own for own, alone in zip(each, gaps.unusual, strict=True) if alone]
    odd += [graph.op("And", each[j], graph.op("Not", each[k])) for j, k in gaps.together]
    return tuple(
        graph.op("Unsqueeze", own, axis)
        for own in (graph.any(odd), graph.gather(gaps.factors, count))
    )  # type: ignore[return-value]


def _added(graph: Graph, inputs: Inputs, formula: Formula) -> str:
    """What every row has and what the terms add, (N, C)."""
    lines = [one for one in formula.terms if isinstance(one, Line)]
    curves = [one for one in formula.terms if isinstance(one, Parabola)]
    parts = [graph.constant(formula.base[np.newaxis])]
    for threshold in dict.fromkeys(one.threshold for one in lines):
        own = [one for one in lines if one.threshold == threshold]
        parts += _lines(graph, inputs, own, threshold)
    if curves:
        parts.append(_parabolas(graph, inputs, curves))
    for term in formula.terms:
        if isinstance(term, Table):
            parts.append(graph.gather(term.added, _cell(graph, inputs, term)))
        elif isinstance(term, Density):
            parts.append(_density(graph, inputs, term))
    rows = graph.op("Shape", inputs.first, start=0, end=1)  # where no term has them
    zero = helper.make_tensor("zero", TensorProto.DOUBLE, [1], [0.0])
    zeros = graph.op("ConstantOfShape", rows, value=zero)
    parts.append(graph.op("Unsqueeze", zeros, graph.constant([1])))
    return graph.sum(parts)


# ---- terms ---------------------------------------------------------------------------------


def _within(graph: Graph, inputs: Inputs, terms: Sequence[Line | Parabola]) -> tuple[str, str]:
    """(numbers, (N, k); which of them are there and not beyond what the family takes)."""
    numbers, known = inputs.numbers([one.column for one in terms])
    low, high = (np.array([getattr(one, end) for one in terms]) for end in ("low", "high"))
    for kind, ends in (("GreaterOrEqual", low), ("LessOrEqual", high)):
        if (np.abs(ends) < LARGEST).any():
            known = graph.op("And", known, graph.op(kind, numbers, graph.constant(ends)))
    return numbers, known


def _lines(graph: Graph, inputs: Inputs, terms: list[Line], threshold: float | None) -> list[str]:
    """Σ zero + slope · x, of one threshold: (N, C)."""
    numbers, known = _within(graph, inputs, terms)
    there = graph.op("Cast", known, to=TensorProto.DOUBLE)
    if threshold is None:
        numbers = graph.op("Where", known, numbers, graph.constant(0.0))
    else:
        above = graph.op("And", known, graph.op("Greater", numbers, graph.constant(threshold)))
        numbers = graph.op("Cast", above, to=TensorProto.DOUBLE)
    slope, zero = (np.array([getattr(one, part) for one in terms]) for part in ("slope", "zero"))
    pairs = [(numbers, slope), (there, zero)]
    return [graph.op("MatMul", one, graph.constant(by)) for one, by in pairs if by.any()]


def _parabolas(graph: Graph, inputs: Inputs, terms: list[Parabola]) -> str:
    """Σ norm - ((x - mean) · scale)²: (N, C)."""
    numbers, known = (
        graph.op("Unsqueeze", one, graph.constant([1])) for one in _within(graph, inputs, terms)
    )
    mean, scale, norm = (
        np.array([getattr(one, part) for one in terms]).T[np.newaxis]
        for part in ("mean", "scale", "norm")
    )
    off = graph.op("Mul", graph.op("Sub", numbers, graph.constant(mean)), graph.constant(scale))
    each = graph.op("Sub", graph.constant(norm), graph.op("Mul", off, off))
    kept = graph.op("Where", known, each, graph.constant(0.0))
    return graph.op("ReduceSum", kept, graph.constant([2]), keepdims=0)


def _cell(graph: Graph, inputs: Inputs, term: Table) -> str:
    """The cell of each row, (N,)."""
    place = ""
    for cut, size in zip(term.cuts, term.sizes, strict=True):
        own = inputs.bin(cut)
        if place:
            own = graph.op("Add", graph.op("Mul", place, graph.constant(size)), own)
        place = own
    return place


def _density(graph: Graph, inputs: Inputs, term: Density) -> str:
    """weight · max(f_c - max f, least), (N, C)."""
    numbers, known = inputs.numbers(term.columns)
    off = graph.op("Sub", numbers, graph.constant(term.centre))
    far = graph.op("Div", off, graph.constant(term.spread))
    most, least = graph.constant(term.farthest), graph.constant(-term.farthest)
    near = graph.op("Min", graph.op("Max", far, least), most)
    z = graph.op("Where", known, near, graph.constant(0.0))
    own = (
        _slopes(graph, z, term)
        if term.whitening is None
        else _squares(graph, z, term, term.whitening)
    )
    found = graph.op("Add", own, graph.constant(term.base[np.newaxis]))
    best = graph.op("ReduceMax", found, graph.constant([1]), keepdims=1)
    behind = graph.op("Max", graph.op("Sub", found, best), graph.constant(term.least))
    weighed = graph.op("Mul", behind, graph.constant(term.weight))
    if not term.fewest:
        return weighed
    there = graph.op("Cast", known, to=TensorProto.INT64)
    count = graph.op("ReduceSum", there, graph.constant([1]), keepdims=1)
    enough = graph.op("GreaterOrEqual", count, graph.constant(term.fewest))
    return graph.op("Where", enough, weighed, graph.constant(0.0))


def _slopes(graph: Graph, z: str, term: Density) -> str:
    """Σ_j slope_cj z_j, (N, C)."""
    return graph.op("MatMul", z, graph.constant(term.mean.T))


def _squares(graph: Graph, z: str, term: Density, whitening: Float64) -> str:
    """-½ Σ_i (Σ_j whitening_cij (z_j - mean_cj))², (N, C)."""
    centred = graph.op(
        "Sub",
        graph.op("Unsqueeze", z, graph.constant([0])),
        graph.constant(term.mean[:, np.newaxis]),
    )
    white = graph.op("MatMul", centred, graph.constant(whitening.transpose(0, 2, 1)))  # (C, N, k)
    squares = graph.op("ReduceSum", graph.op("Mul", white, white), graph.constant([2]), keepdims=0)
    return graph.op("Mul", graph.op("Transpose", squares, perm=[1, 0]), graph.constant(-0.5))
