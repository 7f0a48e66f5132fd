"""The form of a page: the numbers by which it predicts, and the columns of a row to try."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from naively.cli import inside
from naively.cli.reported_rows import Looked
from naively.export.formulas import NotExportableError
from naively.export.js import js_text, numbers_of
from naively.model import Model
from naively.serve.form import form
from naively.serve.state import State
from naively.tables.frames import to_array
from naively.tables.values import flat, level_text, numbers

HEAVIEST = 8 << 20
"""Bytes of numbers that a page has for its form."""


def exported(model: Model) -> tuple[dict[str, Any] | None, str]:
    """(the numbers by which a page predicts, why it has none)."""
    try:
        found = numbers_of(model)
    except NotExportableError as error:
        return None, f"This model has no form here, for it is not exported to JavaScript: {error}."
    size = len(js_text(found))
    if size > HEAVIEST:
        return None, (
            f"This model has no form here: its numbers take {size >> 20:,} MB. `naively serve` has "
            "a page to try it, and `naively export --js` a module."
        )
    return found, ""


def fields(model: Model, looked: Looked | None) -> list[dict[str, Any]]:
    """The columns for a row to try, with the values of the first example, or usual ones."""
    columns = form(State.of(0, model))["columns"]
    given = {} if looked is None else looked.first
    silent, ends = inside.left_out(model), _ends(model)
    found = []
    for one in columns:
        name, kind = one["name"], one["kind"]
        if name in silent:
            continue
        value = given.get(name, one.get("typical"))
        own: dict[str, Any] = {"name": name, "kind": kind, "value": value}
        if kind == "level":
            own["value"] = level_text(value, model.schema.missing)
            levels = [str(level) for level in one.get("levels", [])]
            own["levels"] = levels + [own["value"]] * (own["value"] not in [None, *levels])
        elif kind == "number":
            own["value"] = _as_number(value, model.schema.missing)
            values = ends.get(name) or one.get("values", [])
            values = [v for v in [*values, own["value"]] if _is_number(v)]
            if values:
                own |= {"low": min(values), "high": max(values),
                        "whole": all(float(v).is_integer() for v in values)}  # fmt: skip
        found.append(own)
    return found


def _ends(model: Model) -> dict[str, list[float]]:
    """The least and the largest value of columns whose bins are known."""
    found = {}
    for shape in model.posterior().shapes:
        for bins in shape.bins:
            if bins.low is not None and bins.high is not None and np.isfinite(bins.low).any():
                found[bins.name] = [float(np.nanmin(bins.low)), float(np.nanmax(bins.high))]
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _as_number(value: Any, missing: Sequence[str]) -> float | None:
    """A cell as the model reads it; None if that is missing or no number."""
    found = float(numbers(flat(to_array([value])), missing).values[0])
    return (int(found) if found.is_integer() else found) if math.isfinite(found) else None
