"""Adding up models of tables whose columns, or the families of these, differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from naively.exact import ExactArray, Float64, Int64
from naively.families.base import AnyFamily, unlike
from naively.families.gaussian import Gaussian
from naively.model import Model
from naively.numerals import NUMBER
from naively.schema import NO_VALUES, Block, Counted, Schema, Why
from naively.statistics.base import Batch, Statistics
from naively.statistics.levels import Levels, LevelStatistics
from naively.tables.blocks import together
from naively.tables.encoding import encode
from naively.tables.left_out import unvaried
from naively.tables.likeness import counted_alike
from naively.tables.summarising import check_levels
from naively.workers import SERIAL


def merge(model: Model, other: Model) -> Model:
    """What both learned; columns, classes and levels merge by union.

    Returns
    -------
    Model : the sum, to be used in the place of `model`, which it may be.

    Raises
    ------
    ValueError : if the models cannot be added, then `model` is unchanged; or if a column has more
        than a million levels.
    """
    model, other = counted_alike(model, other)
    mine, theirs = model.schema, other.schema
    apart = mine.reasons is None or theirs.reasons is None
    if apart or (mine.reasons == theirs.reasons and _same_blocks(mine, theirs)):
        model.absorb(other)
    else:
        wider = union(mine, theirs, unvaried(model), unvaried(other))
        model, other = under(model, wider).copy(), under(other, wider)
        model.absorb(other)
    check_levels(model)
    return model


def _same_blocks(a: Schema, b: Schema) -> bool:
    """Whether models of the two have the same statistics, and what is estimated is that of a."""
    pairs = zip(a.blocks, b.blocks, strict=False)
    return len(a.blocks) == len(b.blocks) and all(
        one.names == other.names
        and one.family.summary == other.family.summary
        and not _is_wider(other.family, one.family)
        for one, other in pairs
    )


def union(a: Schema, b: Schema, open_a: Mapping[str, str], open_b: Mapping[str, str]) -> Schema:
    """The columns of both.

    Parameters
    ----------
    a, b : Schema
    open_a, open_b : columns of which at most one value was met, with the reason: what they are is
        up to the other.

    Raises
    ------
    ValueError : if the families of a column do not add up, or one model has left it out.
    """
    _check_rows([*a.blocks, *b.blocks])
    said = {
        name: _decisive(name, a, b, open_a, open_b) if name in a.why and name in b.why
        else a if name in a.why else b
        for name in (*a.why, *b.why)
    }  # fmt: skip
    reasons = {name: one.reason(name) for name, one in said.items()}
    types = a.declaring(b.types).types
    return Schema(together(_blocks(said, a)), reasons, a.missing, types)


def _check_rows(blocks: Sequence[Block]) -> None:
    """Raise ValueError if some blocks keep rows, and others count something else."""
    for one in blocks:
        for other in blocks:
            if _keeps_rows(one) and one.family.summary != other.family.summary:
                raise ValueError(f"models that do not add up: {unlike(one.family, other.family)}")


def _keeps_rows(block: Block) -> bool:
    """Whether a block is of whole rows, which may get any columns."""
    return bool(block.family.summary.takes == "cells")


def _hyperparameters(name: str, family: AnyFamily, first: Schema) -> AnyFamily:
    """The family, with the hyperparameters that the first model has for it."""
    mine = first.known.get(name)
    if mine is None or mine.summary != family.summary or _is_wider(family, mine):
        return family
    return mine


def _blocks(said: dict[str, Schema], first: Schema) -> Iterator[Block]:
    """The blocks of columns, each as its schema has it, in the order of the columns."""
    done: set[tuple[str, ...]] = set()
    for name, schema in said.items():
        own = schema.blocks_of.get(name, [])
        for block in own:
            if block.family.by_column:
                alone = len(own) == 1
                family = _hyperparameters(name, block.family, first) if alone else block.family
                yield Block(family, (name,))
            elif _keeps_rows(block):
                if not done:
                    known = tuple(n for n, one in said.items() if n in one.known)
                    yield Block(_hyperparameters(name, block.family, first), known)
                    done.add(known)
            elif (names := tuple(block.names)) not in done:
                theirs = [said[other].blocks_of.get(other, []) for other in names]
                if any(names not in [tuple(one.names) for one in found] for found in theirs):
                    raise ValueError(f"the columns {names} are one block in one model only")
                yield block
                done.add(names)


def apart(schema: Schema) -> Iterator[Block]:
    """The blocks of a schema, each column alone if it can be, in the order of the columns."""
    return _blocks(dict.fromkeys(schema.ordered, schema), schema)


def _decisive(
    name: str, a: Schema, b: Schema, open_a: Mapping[str, str], open_b: Mapping[str, str]
) -> Schema:
    """The schema that says what becomes of a column that both met."""
    mine, theirs = a.known.get(name), b.known.get(name)
    if mine is None or theirs is None:
        if mine is theirs or open_b.get(name) == NO_VALUES.text:
            return a
        if open_a.get(name) == NO_VALUES.text:
            return b
        left_out, family = (b, mine) if theirs is None else (a, theirs)
        assert family is not None
        raise ValueError(
            f"column {name!r} was left out of one model ({left_out.why[name]}) and is "
            f"{family.name} in the other; skip it in both, name its family in `columns`, or fit "
            "one `like` the other"
        )
    if mine.summary == theirs.summary:
        later = name in open_a and name not in open_b
        later = later or (is_few(a, name) and name in b.types)
        return b if later or _is_wider(theirs, mine) else a
    if open_a.get(name) == NO_VALUES.text or (
        (name in open_a or is_few(a, name)) and not _may_be_no_count(b, name)
    ):
        return b
    if open_b.get(name) == NO_VALUES.text or (
        (name in open_b or is_few(b, name)) and not _may_be_no_count(a, name)
    ):
        return a
    if mine.name == theirs.name:
        raise ValueError(
            f"column {name!r} is of families that do not add up: {unlike(mine, theirs)}"
        )
    raise ValueError(
        f"column {name!r} is {mine.name} in one model and {theirs.name} in the other; name its "
        "family in `columns`, or fit one `like` the other"
    )


def _may_be_no_count(schema: Schema, name: str) -> bool:
    """Whether a column is of counts by the rule, which other values may no longer be."""
    return schema.reason(name).kind == "counts"


def _is_wider(one: AnyFamily, other: AnyFamily) -> bool:
    """Whether one is of numbers where the other is of whole numbers."""
    plain = Gaussian(floor="feature")
    return one == plain and other == replace(plain, resolution=1.0)


def is_few(schema: Schema, name: str) -> bool:
    """Whether a column is one of levels only because it has few different whole numbers."""
    return schema.reason(name).kind == "few numbers" and name not in schema.types


def under(model: Model, wider: Schema, strict: bool = True) -> Model:
    """The model under a schema with more columns, which its rows lack, or other families.

    Raises ValueError if a column has another family there, which cannot take its values.
    """
    schema = model.schema
    if _same_blocks(schema, wider):
        return replace(model, schema=wider)
    sources = list(zip(schema.parts, model.parts, strict=True))
    parts = [_gathered(part, sources, wider, model.class_weight, strict) for part in wider.parts]
    return replace(model, schema=wider, statistics=wider.statistics(parts))


def _gathered(
    part: Counted, sources: list[tuple[Counted, Any]], wider: Schema, class_weight: ExactArray,
    strict: bool,
) -> Statistics:  # fmt: skip
    """What was counted of some columns, each as it was counted; columns that are new lack values.

    Raises ValueError if a column was counted otherwise, and its levels cannot be counted anew.
    """
    (classes,) = class_weight.shape
    every, size = np.arange(classes), len(part.names)
    whole = part.summary.empty(classes, size)
    place = {name: k for k, name in enumerate(part.names)}
    found: set[str] = set()
    for source, counted in sources:
        own = [k for k, name in enumerate(source.names) if name in place]
        if own and source.summary == part.summary:
            names = [source.names[k] for k in own]
            places = np.array([place[name] for name in names])
            whole.accumulate(counted.reindex_columns(np.array(own), places, size), every)
            found.update(names)
    for source, counted in sources:
        own = [k for k, n in enumerate(source.names) if n in place and n not in found]
        offsets = counted.offsets if own else np.empty(0, np.int64)
        for k in own:
            name = source.names[k]
            anew = _recounted(counted, k, offsets, name, wider.known[name], strict)
            at = np.array([place[name]])
            whole.accumulate(anew.reindex_columns(np.zeros(1, np.int64), at, size), every)
            found.add(name)
    lacking = [k for k, name in enumerate(part.names) if name not in found]
    whole.add_missing(np.array(lacking, np.int64), class_weight)
    return whole


def _recounted(
    counted: LevelStatistics, column: int, offsets: Int64, name: str, family: AnyFamily,
    strict: bool,
) -> Statistics:  # fmt: skip
    """What was counted of a column of levels, as the statistics of another family.

    Each level and class is a row that weighs as much as its count.

    Raises ValueError if the family cannot take a level, or it is a code or a truth value where
    others are numbers; unless that is not to be `strict`, as the rule has looked at the levels.
    """
    levels, codes, classes, weights = counts(counted, column, offsets)
    known = pa.array([*levels.tolist(), None], pa.string())
    schema = Schema((Block(family, (name,)),), {name: Why("")})
    rows, invalid = encode(schema, pa.table({name: known.take(pa.array(codes))}))
    odd = [one for one in levels.tolist() if not NUMBER.fullmatch(one)]
    if strict and family.summary.takes == "numbers" and (invalid or odd):
        example = invalid[name].example if invalid else odd[0]
        raise ValueError(
            f"column {name!r} is {family.name} in one model, which cannot take {example!r} of the "
            "other; name its family in `columns`"
        )
    n_classes = counted.tables["missing"].shape[0]
    if len(codes) == 0:
        return family.summary.empty(n_classes, 1)
    return family.summary.summarise(rows, Batch(classes, n_classes, weights), SERIAL)


def counts(
    part: LevelStatistics, column: int, offsets: Int64
) -> tuple[Levels, Int64, Int64, Float64]:
    """(levels of a column; level, class and weight of each of some rows with the same counts).

    `offsets` are those of the part. The level of a missing value is the number of levels. An exact
    count takes several rows if it is no float64.
    """
    levels = part.levels[column]
    first = int(offsets[column])
    count = part.tables["count"].gather(1, slice(first, first + len(levels)))
    missing = part.tables["missing"].gather(1, slice(column, column + 1))
    codes, classes, weights = [], [], []
    for table, base in ((count, 0), (missing, len(levels))):
        digits, low = table.digits
        own, level, digit = digits.nonzero()
        codes.append(base + level)
        classes.append(own)
        weights.append(np.ldexp(digits[own, level, digit].astype(np.float64), 32 * (low + digit)))
    return levels, np.concatenate(codes), np.concatenate(classes), np.concatenate(weights)


def with_families(model: Model, changed: dict[str, tuple[AnyFamily, Why]]) -> Model:
    """The model with other families, and reasons for them, of some columns of levels."""
    schema = model.schema
    blocks = [
        Block(changed[block.names[0]][0], block.names) if block.names[0] in changed else block
        for block in apart(schema)
    ]
    reasons = {
        name: changed[name][1] if name in changed else schema.reason(name) for name in schema.why
    }
    return under(model, replace(schema, blocks=together(blocks), reasons=reasons), strict=False)
