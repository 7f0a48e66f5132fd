"""Export a model as JavaScript: an ES module that predicts rows."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import numpy as np

from naively.core.exact import Float64
from naively.export.formulas import NotExportableError, formula_of, model_of
from naively.formula import (
    Bag,
    Cut,
    Density,
    Formula,
    LevelCut,
    Line,
    MixedTexts,
    NumberCut,
    Parabola,
    PartCut,
    Table,
    Term,
    TextEvidence,
    Trees,
)
from naively.model.model import Model
from naively.rendering import EXACT
from naively.text.analysis import LETTERS

Json = dict[str, Any]

ENGINE = files("naively.export").joinpath("predict.js").read_text("utf-8")
"""The script that predicts rows with the numbers of any model: ``predictor(model)``."""


def to_js(model: Any) -> str:
    """Write an ES module that predicts rows: ``predict({column: value})``.

    Parameters
    ----------
    model : a fitted estimator, or the `Model` of one.

    Raises
    ------
    NotExportableError : if the model is not supported, with the reason.
    """
    numbers = js_text(numbers_of(model_of(model)))
    # parsed, as in an object literal "__proto__" would not be an ordinary key
    data = f"export const model = JSON.parse({js_text(numbers)});\n"
    return f"{ENGINE}\n{data}\nexport const predict = predictor(model);\n"


def js_text(value: Any) -> str:
    """Write a value as JSON in ASCII that is safe inside a <script> element."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def js_name(label: Any) -> str:
    """Return the name of a class in `predict.js`."""
    if isinstance(label, bool):
        return str(label).lower()
    return f"{label:.17g}" if isinstance(label, float) else str(label)


def numbers_of(model: Model) -> Json:
    """Return the numbers that `predict.js` uses, as JSON values.

    Raises NotExportableError: see `to_js`.
    """
    posterior, formula = formula_of(model)

    labels = posterior.classes.tolist()
    if any(isinstance(label, int) and abs(label) > EXACT for label in labels):
        raise NotExportableError("labels beyond 2^53 cannot be distinguished in JavaScript")
    cuts: list[Json] = []
    texts: list[TextEvidence] = []
    terms = [_term(term, cuts, texts) for term in formula.terms]
    gaps = _gaps(formula, cuts, texts)
    return {
        "target": model.target, "classes": labels, "missing": list(model.schema.missing),
        "base": formula.base.tolist(), "terms": terms, "gaps": gaps, "cuts": cuts,
        "texts": [*map(_text, texts)],
    }  # fmt: skip


def _gaps(formula: Formula, cuts: list[Json], texts: list[TextEvidence]) -> Json | None:
    """Return the formula of rows with unfamiliar missing cells, and how to detect these rows."""
    gaps, other = formula.gaps, formula.other
    if gaps is None or other is None:
        return None
    return {
        "cuts": [_place(_cut(cut), cuts) for cut in gaps.cuts], "unusual": list(gaps.unusual),
        "most": gaps.most, "together": [*map(list, gaps.together)],
        "factors": gaps.factors.tolist(), "base": other.base.tolist(),
        "terms": [_term(term, cuts, texts) for term in other.terms],
    }  # fmt: skip


def _term(term: Term, cuts: list[Json], texts: list[TextEvidence]) -> Json:
    """Return a term; add its cuts and texts to the lists of all."""
    if isinstance(term, Table):
        cut_indices = [_place(_cut(cut), cuts) for cut in term.cuts]
        added = term.added.reshape(-1).tolist()
        return {"type": "table", "cuts": cut_indices, "sizes": list(term.sizes), "added": added}
    if isinstance(term, Trees):
        cut_indices = [_place(_cut(cut), cuts) for cut in term.cuts]
        return {"type": "trees", "cuts": cut_indices, "roots": term.roots.tolist(),
                "nodes": term.nodes.tolist(), "added": term.added.tolist()}  # fmt: skip
    if isinstance(term, Density):
        return _density(term)
    if isinstance(term, Bag):
        return _bag(term)
    if isinstance(term, MixedTexts):
        prior = [*map(_bound, term.log_prior.tolist())]
        text_indices = [_place_of(text, texts) for text in term.texts]
        return {"type": "mixed", "texts": text_indices, "weights": list(term.weights),
                "base": term.base.tolist(), "log_prior": prior, "share": term.share,
                "unseen_share": term.unseen_share, "first": list(term.first)}  # fmt: skip
    bounds = {"low": _bound(term.low), "high": _bound(term.high)}
    if isinstance(term, Line):
        return {"type": "line", "column": term.column, "zero": term.zero.tolist(),
                "slope": term.slope.tolist(), "threshold": term.threshold, **bounds}  # fmt: skip
    assert isinstance(term, Parabola)
    return {"type": "parabola", "column": term.column, "norm": term.norm.tolist(),
            "mean": term.mean.tolist(), "scale": term.scale.tolist(), **bounds}  # fmt: skip


def _place(cut: Json, cuts: list[Json]) -> int:
    """Return the index of a cut in the list of all; equal cuts share one."""
    if cut not in cuts:
        cuts.append(cut)
    return cuts.index(cut)


def _place_of(text: TextEvidence, texts: list[TextEvidence]) -> int:
    """Return the index of the same text in the list of all."""
    for k, other in enumerate(texts):
        if other is text:
            return k
    texts.append(text)
    return len(texts) - 1


def _text(text: TextEvidence) -> Json:
    numbers = None if text.numbers is None else text.numbers.tolist()
    return {"base": text.base.tolist(), "terms": [*map(_bag, text.bags)],
            "deciding": text.deciding, "numbers": numbers,
            "keys": text.keys.tolist(), "recurring": text.recurring.tolist()}  # fmt: skip


def _cut(cut: Cut) -> Json:
    if not isinstance(cut, LevelCut) and cut.dated:
        raise NotExportableError(
            f"column {cut.column!r} holds dates or times, which cannot be exported to JavaScript; "
            "SQL of DuckDB and PostgreSQL and ONNX take them"
        )
    assert not isinstance(cut, PartCut)
    shared = {"column": cut.column, "bins": cut.bins.tolist(), "missing": cut.missing}
    if isinstance(cut, NumberCut):
        return {**shared, "starts": cut.starts.tolist()}
    return {**shared, "levels": cut.levels, "other": cut.other, "endless": cut.endless}


def _density(term: Density) -> Json:
    whitening = term.whitening
    rows = None
    if whitening is not None:  # the zeros above the diagonal of a triangular matrix are omitted
        rows = [[np.trim_zeros(row, "b").tolist() for row in matrix] for matrix in whitening]
    return {
        "type": "density", "columns": list(term.columns), "centre": term.centre.tolist(),
        "spread": term.spread.tolist(), "base": term.base.tolist(), "mean": term.mean.tolist(),
        "whitening": rows, "weight": term.weight, "farthest": term.farthest, "least": term.least,
        "fewest": term.fewest,
    }  # fmt: skip


def _bag(term: Bag) -> Json:
    analysis = term.analysis
    return {
        "type": "text", "column": term.column, "terms": term.terms,
        "slope": term.slope.reshape(-1).tolist(), "zero": _flat(term.zero),
        "missing": term.missing.tolist(), "quarters": term.quarters, "once": term.once,
        "log": term.weighting in ("log", "log-tfidf"), "idf": _flat(term.idf),
        "length_norm": term.length_norm, "analyzer": analysis.analyzer,
        "low": analysis.ngram_range[0], "high": analysis.ngram_range[1],
        "lowercase": analysis.lowercase, "letters": analysis.token_pattern == LETTERS,
        "stop_words": list(analysis.stop_words or ()),
        "quoted": term.quoted, "as_level": term.as_level,
    }  # fmt: skip


def _flat(values: Float64 | None) -> list[float] | None:
    return None if values is None else values.reshape(-1).tolist()


def _bound(value: float) -> float | None:
    return value if np.isfinite(value) else None
