"""Which columns tell nothing yet, and are left out of the product."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from naively.core.issues import Issue
from naively.core.model import Model
from naively.core.posterior import Posterior
from naively.core.schema import CONSTANT, NO_VALUES, Schema, brief_reasons
from naively.pooling.bins import as_numbers
from naively.pooling.canonical import Canonical
from naively.pooling.dates import as_dates, seconds
from naively.statistics.base import Summary
from naively.statistics.levels import Levels
from naively.statistics.sample import SampleStatistics


def unvaried(model: Model) -> dict[str, str]:
    """The columns of levels of which one was met, or none, with the reason."""
    schema = model.schema
    parts = zip(schema.parts, model.parts, strict=True)
    return _unvaried(schema, [(part.summary, part.names, counted) for part, counted in parts])


def unvaried_in(posterior: Posterior) -> dict[str, str]:
    """The same, as the parameters have it that were estimated."""
    blocks = [(block.family.summary, block.names, own) for block, own in posterior.blocks]
    return _unvaried(posterior.schema, blocks)


def _unvaried(
    schema: Schema, counted: list[tuple[Summary[Any], Sequence[str], Any]]
) -> dict[str, str]:
    """The same of (summary, columns, what has their levels)."""
    return {
        name: (CONSTANT if len(levels) else NO_VALUES).text
        for summary, names, known in counted
        if summary.of_levels or summary.takes == "cells"
        for k, (name, levels) in enumerate(zip(names, known.levels, strict=True))
        if len(levels) < 2 and schema.reason(name).kind not in ("asked", "array")
        and not (summary.takes == "cells" and known.varies(k))
    }  # fmt: skip


def left_out(model: Model) -> dict[str, str]:
    """The columns that are left out of the product, or add nothing to it, with the reason."""
    schema = model.schema
    silent = unvaried(model) | {
        part.names[0]: "no terms in it so far"
        for part, counted in zip(schema.parts, model.parts, strict=True)
        if part.summary.of_texts and counted.wordless
    }
    known = schema.known
    return {
        name: silent.get(name, why)
        for name, why in schema.why.items()
        if name in silent or name not in known
    }


def no_information(model: Model) -> str | None:
    """What to say if no column tells anything; None if one does."""
    silent = left_out(model)
    if len(silent) < len(model.schema.why):
        return None
    return (
        f"no column tells anything yet ({brief_reasons(silent)}): predictions are the class prior"
    )


def odd(model: Model) -> str | None:
    """What is odd about a model that was learned, in a sentence; None if nothing is."""
    return no_information(model) or model.family.doubt(model.whole[0]) or duplicates(model)


def duplicates(model: Model) -> str | None:
    """What to say if rows are duplicates; None if none is."""
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


# ---- retyped -------------------------------------------------------------------------------------


def kinds(model: Model) -> dict[str, str]:
    """The columns of numbers, and of dates, of a model that keeps its rows."""
    found = {}
    for name, known in _levels(model):
        if len(known) and known.dtype.kind != "T":
            found[name] = "numbers"
        elif as_dates(known) is not None:
            found[name] = "dates"
    return found


def retyped(before: Mapping[str, str], after: Model) -> list[Issue]:
    """An issue for each of these columns of numbers and dates that is categorical by now."""
    issues = []
    for name, known in _levels(after):
        what = before.get(name)
        if what is None or known.dtype.kind != "T":
            continue
        strange = known[np.isnan(seconds(known) if what == "dates" else as_numbers(known))]
        if len(strange):
            text = (
                f"column {name!r} ({what}): values such as {str(strange[0])[:40]!r} cannot be "
                f"read as {what}, so all of it are levels from now on"
            )
            issues.append(Issue("retyped", text))
    return issues


def _levels(model: Model) -> Iterator[tuple[str, Levels]]:
    """The levels of each column that is cut as its values are, if no type is declared."""
    for part, counted in zip(model.schema.parts, model.parts, strict=True):
        if part.summary.takes == "cells":
            pairs = zip(part.names, counted.levels, strict=True)
            yield from (one for one in pairs if one[0] not in model.schema.types)
