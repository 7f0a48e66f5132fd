"""Report columns without information, duplicate rows, and columns that changed their type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from naively.core.issues import Issue
from naively.model.model import Model
from naively.model.posterior import Posterior
from naively.model.schema import CONSTANT, NO_VALUES, Schema, brief_reasons
from naively.pooling.canonical import Canonical
from naively.pooling.dates import as_dates, seconds
from naively.statistics.base import Summary
from naively.statistics.levels import Levels
from naively.statistics.sample import SampleStatistics
from naively.tables.values import number_of


def unvaried(model: Model) -> dict[str, str]:
    """Return the categorical columns with fewer than two categories, with the reason."""
    parts = zip(model.schema.parts, model.parts, strict=True)
    return _unvaried(model.schema, [(part.summary, part.names, counted) for part, counted in parts])


def unvaried_in(posterior: Posterior) -> dict[str, str]:
    """Do the same as `unvaried`, from the estimated parameters."""
    blocks = [(b.family.summary, b.names, parameters) for b, parameters in posterior.blocks]
    return _unvaried(posterior.schema, blocks)


def _unvaried(
    schema: Schema, counted: list[tuple[Summary[Any], Sequence[str], Any]]
) -> dict[str, str]:
    """Return constant and empty columns, given (summary, column names, statistics) triples."""
    return {
        name: (CONSTANT if len(levels) else NO_VALUES).text
        for summary, names, statistics in counted
        if summary.of_levels or summary.takes == "cells"
        for k, (name, levels) in enumerate(zip(names, statistics.levels, strict=True))
        if len(levels) < 2 and schema.reason(name).kind not in ("asked", "array")
        and not (summary.takes == "cells" and statistics.varies(k))
    }  # fmt: skip


def left_out(model: Model) -> dict[str, str]:
    """Return the columns that do not contribute to predictions, with the reason."""
    schema = model.schema
    silent = unvaried(model) | {
        part.names[0]: "no terms in it so far"
        for part, counted in zip(schema.parts, model.parts, strict=True)
        if part.summary.of_texts and counted.wordless
    }
    families = schema.family_of
    return {
        name: silent.get(name, reason)
        for name, reason in schema.why.items()
        if name in silent or name not in families
    }


def odd(model: Model) -> str | None:
    """Return the most important warning about a trained model, or None."""
    silent = left_out(model)
    if len(silent) < len(model.schema.why):
        return model.family.warning(model.whole[0]) or duplicates(model)
    return f"no column has evidence yet ({brief_reasons(silent)}): predictions are the class prior"


def duplicates(model: Model) -> str | None:
    """Return a message about the share of duplicate rows; None if there are none."""
    for part in model.parts:
        if not isinstance(part, SampleStatistics) or model.rows <= len(part.codes):
            continue
        weight = part.estimated()
        if share := Canonical.of(part.canonical()).duplicates / max(weight.sum(), 1e-300):
            return (
                f"{share * model.rows:,.0f} of {model.rows:,} rows are duplicates: each distinct "
                "row counts once, and duplicates change the class shares alone"
            )
    return None


# ---- changed types -------------------------------------------------------------------------------


def kinds(model: Model) -> dict[str, str]:
    """Return "numbers" or "dates" for each such column of a model that stores rows."""
    kind_of = {}
    for name, categories in stored_levels(model):
        if len(categories) and categories.dtype.kind != "T":
            kind_of[name] = "numbers"
        elif as_dates(categories) is not None:
            kind_of[name] = "dates"
    return kind_of


def retyped(before: Mapping[str, str], after: Model) -> list[Issue]:
    """Report numeric and date columns that later data turned into categorical ones."""
    issues = []
    for name, categories in stored_levels(after):
        kind = before.get(name)
        if kind is None or categories.dtype.kind != "T":
            continue
        if kind == "dates":
            unreadable = categories[np.isnan(seconds(categories))].tolist()
        else:
            unreadable = [text for text in categories.tolist() if number_of(text) is None]
        if unreadable:
            text = (
                f"column {name!r} ({'date' if kind == 'dates' else 'numeric'}): values such as "
                f"{unreadable[0][:40]!r} cannot be read as {kind}, so the column is categorical "
                "from now on; to undo this, forget the rows with such values"
            )
            issues.append(Issue("retyped", text))
    return issues


def stored_levels(model: Model) -> Iterator[tuple[str, Levels]]:
    """Yield (name, distinct values) of each stored column whose type is not declared."""
    for part, counted in zip(model.schema.parts, model.parts, strict=True):
        if part.summary.takes == "cells":
            pairs = zip(part.names, counted.levels, strict=True)
            yield from (pair for pair in pairs if pair[0] not in model.schema.types)
