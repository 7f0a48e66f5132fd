"""Describe the columns of a model, with typical values, for the page and for examples."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import Any

import numpy as np

from naively.model.column_types import MANY
from naively.model_summary import levels_of, texts_of
from naively.serve.state import State
from naively.tables.encoding import decode
from naively.tables.left_out import unvaried_in

DRAWN, SHOWN, LEVELS = 400, 24, 1000
"""Rows to sample from the model, values to show for a column, and categories, at most."""


def form(state: State) -> dict[str, Any]:
    """The columns with their categories and typical values, and the classes.

    Typical values are sampled from the model, independently for each column, so that they show no
    training row. There are none if the model cannot be sampled.
    """
    model = state.model
    facts = {"target": model.target, "classes": model.classes.tolist(), "text": state.text}
    if len(model.classes) == 0:
        return {**facts, "columns": []}
    samples, generator = _drawn(state), np.random.default_rng(0)
    levels, text_columns = levels_of(model), texts_of(model)
    unvaried = unvaried_in(state.posterior)
    columns = []
    for name in state.columns:
        if name in unvaried:
            continue
        takes = model.schema.family_of[name].summary.takes
        kind = {"documents": "text", "levels": "categorical"}.get(takes, "numeric")
        categories = levels.get(name)
        if takes == "cells" and categories is not None and categories.dtype.kind == "T":
            kind = "text" if name in text_columns else "categorical"
            if kind == "categorical" and len(categories) == model.rows >= MANY:
                continue  # a column of unique values is no evidence
        values = [entry for entry in samples.get(name, []) if entry is not None]
        if model.schema.why[name] == "whole numbers":
            values = [float(round(entry)) for entry in values]
        entry: dict[str, Any] = {"name": name, "kind": kind}
        if kind == "categorical" and categories is not None:
            entry["categories"] = categories[:LEVELS].tolist()
        if kind != "text" and values:
            entry["typical"] = _typical(values, kind)
            indices = generator.permutation(len(values))[:SHOWN]
            entry["values"] = [_brief(values[k]) for k in indices]
        columns.append(entry)
    return {**facts, "columns": columns}


def example(state: State) -> dict[str, Any]:
    """A row of typical values, as JSON has it."""
    if state.text is not None:
        return {state.text: "call me when you are there"}
    return {column["name"]: column.get("typical") for column in form(state)["columns"]}


def _drawn(state: State) -> dict[str, list[Any]]:
    """Values of each column, sampled from the model; empty if it cannot be sampled."""
    try:
        rows, _ = state.posterior.sample(DRAWN, np.random.default_rng(0))
        return decode(state.model.schema, rows).to_pydict()
    except (ValueError, NotImplementedError):
        return {}


def _typical(values: list[Any], kind: str) -> Any:
    if kind == "categorical" or not isinstance(values[0], float):
        return max(sorted(set(values), key=str), key=values.count)
    return _brief(float(np.median(values)))


def _brief(value: Any) -> Any:
    """Round a number to three digits; an int if it is whole."""
    if not isinstance(value, float):
        return value
    rounded = float(f"{value:.3g}") if value != round(value) else value
    return int(rounded) if rounded == round(rounded) and abs(rounded) < 2**53 else rounded


HTML = files("naively.serve").joinpath("page.html").read_text("utf-8")


def _digests(tag: str) -> str:
    """The hashes of the page's scripts or styles, so that a browser runs no others."""
    inside = re.findall(f"<{tag}>(.*?)</{tag}>", HTML, re.S)
    return " ".join(
        f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'" for content in inside
    )


POLICY = (
    f"default-src 'none'; script-src {_digests('script')}; style-src {_digests('style')}; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
