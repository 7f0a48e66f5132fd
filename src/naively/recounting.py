"""What was counted of columns, as another family counts it: from all their different values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from naively.column_types import columns, decide
from naively.exact import ExactArray, Float64
from naively.families.base import AnyFamily
from naively.schema import Block, Counted, Schema, Why, together
from naively.statistics.base import Batch, Statistics
from naively.statistics.candidates import NO_TEXTS, CandidateStatistics, weighed_cells
from naively.statistics.levels import TRUTHS, LevelStatistics
from naively.statistics.powers import Powers, PowerStatistics
from naively.statistics.row_encoding import texts as spelled
from naively.text.documents import Documents
from naively.workers import SERIAL

Source = tuple[Counted, Any]
"""(columns, what was counted of them)."""


def typed(schema: Schema, sums: Statistics, class_weight: ExactArray) -> tuple[Schema, Statistics]:
    """The schema with a family for each column, as its values have it, and what these count.

    Raises
    ------
    NoColumnError : if all columns are left out.
    """
    if schema.open is None:
        return schema, sums
    decided = with_types(schema, sums)
    sources = list(zip(schema.parts, schema.parts_of(sums), strict=True))
    parts = [gathered(part, sources, class_weight) for part in decided.parts]
    return decided, decided.statistics(parts)


def with_types(schema: Schema, sums: Statistics) -> Schema:
    """The schema with a family for each column, as its values have it.

    Raises
    ------
    NoColumnError : if all columns are left out.
    """
    if schema.open is None:
        return schema
    sources = zip(schema.parts, schema.parts_of(sums), strict=True)
    counted = next(own for part, own in sources if part.names == schema.open.names
                   and part.summary == schema.open.family.summary)  # fmt: skip
    family: Any = schema.open.family
    found: dict[str, tuple[AnyFamily | None, Why]] = {
        name: decide(family.of_column(name), column, schema.types.get(name))
        for name, column in zip(schema.open.names, columns(counted), strict=True)
    }
    known = schema.reasons or {}
    reasons = {name: found[name][1] if name in found else why for name, why in known.items()}
    declared = {name: block for block in schema.declared for name in block.names}
    blocks: list[Block] = []
    for name in reasons:
        if name in declared:
            blocks += [declared[name]] if declared[name] not in blocks else []
        elif name in found and (own := found[name][0]) is not None:
            blocks.append(Block(own, (name,)))
    decided = Schema(together(blocks, family.numeric), reasons, schema.missing, schema.types)
    decided.check_any("learn from")
    return decided


def gathered(part: Counted, sources: Sequence[Source], class_weight: ExactArray) -> Statistics:
    """What was counted of some columns; those that are new have no values.

    Raises
    ------
    ValueError : if a column was counted otherwise, and its values are not all there.
    """
    (classes,) = class_weight.shape
    every, size = np.arange(classes), len(part.names)
    whole = part.summary.empty(classes, size)
    place = {name: k for k, name in enumerate(part.names)}
    lacking = dict.fromkeys(part.names)
    for source, counted in sources:
        own = [k for k, name in enumerate(source.names) if name in place]
        if own and source.summary == part.summary:
            names = [source.names[k] for k in own]
            places = np.array([place[name] for name in names])
            whole.accumulate(counted.reindex_columns(np.array(own), places, size), every)
            for name in names:
                lacking.pop(name, None)
    for source, counted in sources:
        own = [k for k, name in enumerate(source.names) if name in lacking]
        if not own:
            continue
        names = [source.names[k] for k in own]
        if source.summary.takes != "values":
            raise ValueError(f"the column {names[0]!r} was counted in another way")
        _check_complete(part.summary, counted, own, names)
        places = np.array([place[name] for name in names])
        anew = _recounted(part.summary, counted, own, class_weight)
        whole.accumulate(anew.reindex_columns(np.arange(len(own)), places, size), every)
        for name in names:
            lacking.pop(name)
    none = np.array([place[name] for name in lacking], np.int64)
    whole.add_missing(none, class_weight)
    return whole


def _check_complete(
    summary: Any, counted: CandidateStatistics, own: Sequence[int], names: Sequence[str]
) -> None:
    """Raise ValueError, with what to do, if the different values of a column are not all there."""
    for k, name in zip(own, names, strict=True):
        texts = counted.shifts[counted.width + k] and summary.takes != "numbers"
        if counted.shifts[k] or texts:
            what = "texts" if texts else f"numbers, more than {counted.limit:,} different ones"
            as_levels = summary.takes == "levels"
            kind = "categorical" if as_levels else "to be counted in another way"
            option = f"categorical=[{name!r}], --categorical {name}"
            raise ValueError(
                f"column {name!r} is declared {kind} here, and was learned as {what}: declare it "
                f"in the first rows too{f', or name it: {option}' if as_levels else ''}"
            )


def _recounted(
    summary: Any, counted: CandidateStatistics, own: list[int], class_weight: ExactArray
) -> Statistics:
    """What another summary counts of some columns whose different values are all there."""
    if summary.takes == "levels" and summary.by_column:
        return _levels(summary, counted, own)
    if isinstance(summary, Powers):
        return _powers(counted, own)
    each = [_column(summary, counted, k, class_weight) for k in own]
    if len(each) == 1:
        return each[0]
    whole = summary.empty(len(class_weight.limbs), len(own))
    every = np.arange(len(class_weight.limbs))
    for k, one in enumerate(each):
        whole.accumulate(one.reindex_columns(np.zeros(1, np.int64), np.array([k]), len(own)), every)
    return whole


def _levels(summary: Any, counted: CandidateStatistics, own: list[int]) -> LevelStatistics:
    """How often each level of some columns was there, numbers being levels as they are written."""
    classes = counted.tables["missing"].shape[0]
    every = np.arange(classes)
    offsets, d = counted.offsets, len(own)
    whole = summary.empty(classes, d)
    for of_texts in (False, True):
        parts = [of_texts * counted.width + k for k in own]
        cells, levels = [np.empty(0, np.int64)], []
        for part in parts:
            at = np.arange(offsets[part], offsets[part + 1])
            known = counted.levels[part]
            if not of_texts:
                known = spelled(known) if len(known) else NO_TEXTS
                order = np.argsort(known, kind="stable")
                known, at = known[order], at[order]
            levels.append(known)
            cells.append(at)
        missing = counted.tables["missing"].gather(1, np.array(own, np.int64))
        tables = {
            "count": counted.tables["count"].gather(1, np.concatenate(cells)),
            "missing": missing if of_texts else missing - missing,
        }
        whole.accumulate(LevelStatistics(tables, levels), every)
    return whole.canonical()


def _powers(counted: CandidateStatistics, own: list[int]) -> PowerStatistics:
    """Σw x and Σw x² of some columns, all in one: a column and class is a class of its own."""
    classes, d = counted.tables["missing"].shape[0], len(own)
    missing = counted.tables["missing"] + counted.tables["texts"]
    missing = missing.gather(1, np.array(own, np.int64))
    offsets = counted.offsets
    cells = np.concatenate(
        [np.empty(0, np.int64), *(np.arange(offsets[k], offsets[k + 1]) for k in own)]
    )
    values = np.concatenate([np.empty(0), *(counted.levels[k] for k in own)])
    columns = np.repeat(np.arange(d), [len(counted.levels[k]) for k in own])
    value, code, weights = weighed_cells(counted.tables["count"].gather(1, cells))
    x = np.ascontiguousarray(values[value][:, np.newaxis])
    batch = Batch(code * d + columns[value], classes * d, weights)
    if not len(x):
        empty = Powers().empty(classes, d)
        empty.tables["missing"] = missing
        return empty
    found = Powers().summarise(x, batch, SERIAL)
    tables = {
        name: ExactArray(found.tables[name].limbs.reshape(classes, d, -1), found.tables[name].low)
        for name in ("sum", "square")
    }
    return PowerStatistics(tables | {"missing": missing})


def _column(
    summary: Any, counted: CandidateStatistics, k: int, class_weight: ExactArray
) -> Statistics:
    """One column: each value and class is a row that weighs as much as it was there."""
    classes = len(class_weight.limbs)
    parts = (k, counted.width + k)
    offsets, count = counted.offsets, counted.tables["count"]
    (x, x_codes, x_weights), (t, t_codes, t_weights) = (
        weighed_cells(count.gather(1, slice(*offsets[part : part + 2]))) for part in parts
    )
    _, g_codes, g_weights = weighed_cells(counted.tables["missing"].gather(1, slice(k, k + 1)))
    codes = np.concatenate([x_codes, t_codes, g_codes])
    weights = np.concatenate([x_weights, t_weights, g_weights])
    numbers, known = (counted.levels[part] for part in parts)
    rows: Any
    if summary.takes == "documents":
        texts = [*(spelled(numbers).tolist() if len(numbers) else []), *known.tolist(), None]
        places = np.concatenate([x, len(numbers) + t, np.full(len(g_codes), len(texts) - 1)])
        rows = Documents.of(pa.array([texts[at] for at in places.tolist()], pa.string()))
    else:
        rows = np.full((len(codes), 1), np.nan)
        rows[: len(x), 0] = numbers[x]
        if summary.takes == "truths":
            texts = known.tolist()
            truths = np.array([TRUTHS.index(one) if one in TRUTHS else np.nan for one in texts])
            rows[len(x) : len(x) + len(t), 0] = truths[t] if len(t) else truths[:0]
        rows = within(rows, summary)
    if not len(codes):
        return summary.empty(classes, 1)
    return summary.summarise(rows, Batch(codes, classes, weights), SERIAL)


def within(numbers: Float64, summary: Any) -> Float64:
    """Numbers as a summary takes them: those that are out of its bounds are missing."""
    low, high = summary.bounds
    return np.where((numbers < low) | (numbers > high), np.nan, numbers)
