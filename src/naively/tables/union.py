"""Adding up models of tables whose columns, or the families of these, differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from naively.exact import ExactArray, Float64, Int64
from naively.families.base import Batch, Family, Statistics, difference
from naively.families.bernoulli import Bernoulli
from naively.families.categorical import Categorical
from naively.families.gaussian import Gaussian
from naively.families.levels import Levels, LevelStatistics
from naively.families.poisson import Poisson
from naively.families.product import ProductStatistics
from naively.tables import values
from naively.tables.schema import COUNTS, FEW_NUMBERS, NO_VALUES, Block, Schema, together
from naively.workers import Serial


def same_blocks(a: Schema, b: Schema) -> bool:
    """Whether models of the two have the same statistics, and what is estimated is that of a."""
    pairs = zip(a.blocks, b.blocks, strict=False)
    return len(a.blocks) == len(b.blocks) and all(
        one.names == other.names
        and one.family.adds_to(other.family)
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
    said = {
        name: _decisive(name, a, b, open_a, open_b) if name in a.why and name in b.why
        else a if name in a.why else b
        for name in (*a.why, *b.why)
    }  # fmt: skip
    return Schema(
        together(_blocks(said, a)), {name: one.why[name] for name, one in said.items()}, a.missing
    )


def _hyperparameters(name: str, family: Family, first: Schema) -> Family:
    """The family, with the hyperparameters that the first model has for it."""
    mine = first.known.get(name)
    same = mine is not None and mine.adds_to(family) and not _is_wider(family, mine)
    return mine if mine is not None and same else family


def _blocks(said: dict[str, Schema], first: Schema) -> Iterator[Block]:
    """The blocks of columns, each as its schema has it, in the order of the columns."""
    done: set[str] = set()
    for name, schema in said.items():
        if name in done or name not in schema.known:
            continue
        block = schema.block_of[name]
        if block.divisible:
            yield Block(_hyperparameters(name, block.family, first), (name,))
            continue
        own = [said[other].block_of.get(other) for other in block.names]
        if done & {*block.names} or any(one is None or one.names != block.names for one in own):
            raise ValueError(f"the columns {block.names} are one block in one model only")
        yield block
        done.update(block.names)


def _decisive(
    name: str, a: Schema, b: Schema, open_a: Mapping[str, str], open_b: Mapping[str, str]
) -> Schema:
    """The schema that says what becomes of a column that both met."""
    mine, theirs = a.known.get(name), b.known.get(name)
    if mine is None or theirs is None:
        if mine is theirs or open_b.get(name) == NO_VALUES:
            return a
        if open_a.get(name) == NO_VALUES:
            return b
        left_out, family = (b, mine) if theirs is None else (a, theirs)
        assert family is not None
        raise ValueError(
            f"column {name!r} was left out of one model ({left_out.why[name]}) and is "
            f"{family.name} in the other; skip it in both, name its family in `columns`, or fit "
            "one `like` the other"
        )
    if mine.adds_to(theirs):
        return b if (name in open_a and name not in open_b) or _is_wider(theirs, mine) else a
    if open_a.get(name) == NO_VALUES or (
        (name in open_a or is_few(a, name)) and not _may_be_no_count(b, name)
    ):
        return b
    if open_b.get(name) == NO_VALUES or (
        (name in open_b or is_few(b, name)) and not _may_be_no_count(a, name)
    ):
        return a
    if mine.name == theirs.name:
        raise ValueError(
            f"column {name!r} is of families that do not add up: {difference(mine, theirs)}"
        )
    raise ValueError(
        f"column {name!r} is {mine.name} in one model and {theirs.name} in the other; name its "
        "family in `columns`, or fit one `like` the other"
    )


def _may_be_no_count(schema: Schema, name: str) -> bool:
    """Whether a column is of counts by the rule, which other values may no longer be."""
    return isinstance(schema.known[name], Poisson) and schema.why[name] == COUNTS


def _is_wider(one: Family, other: Family) -> bool:
    """Whether one is of numbers where the other is of whole numbers."""
    plain = Gaussian(floor="feature")
    return one == plain and other == replace(plain, resolution=1.0)


def is_few(schema: Schema, name: str) -> bool:
    """Whether a column is one of levels only because it has few different whole numbers."""
    reason, family = schema.why[name], schema.known[name]
    return isinstance(family, Categorical) and reason.startswith(FEW_NUMBERS.split("{}")[0])


def spread(
    schema: Schema, statistics: ProductStatistics, class_weight: ExactArray, wider: Schema,
    strict: bool,
) -> ProductStatistics:  # fmt: skip
    """The statistics of a schema under one with more columns, which all these rows lack.

    Raises
    ------
    ValueError : if a column has another family there, which cannot take its values.
    """
    (classes,) = class_weight.shape
    every = np.arange(classes)
    parts = []
    for block in wider.blocks:
        size = len(block.names)
        whole = block.family.empty(classes, size)
        place = {name: k for k, name in enumerate(block.names)}
        for mine, part in zip(schema.blocks, statistics.parts, strict=True):
            own = [k for k, name in enumerate(mine.names) if name in place]
            if own and mine.family.adds_to(block.family):
                places = np.array([place[mine.names[k]] for k in own])
                whole.add(part.with_columns(np.array(own), places, size), every)
                continue
            offsets: Any = part.offsets if own else None  # type: ignore[attr-defined]
            for k in own:
                name = mine.names[k]
                counted: Any = recounted(part, k, name, block.family, offsets, strict)
                at = np.array([place[name]])
                whole.add(counted.with_columns(np.zeros(1, np.int64), at, size), every)
        lacking = [k for k, name in enumerate(block.names) if name not in schema.known]
        whole.lack(np.array(lacking, np.int64), class_weight)
        parts.append(whole)
    return ProductStatistics(parts)


def recounted(
    part: Any, column: int, name: str, family: Family, offsets: Int64, strict: bool
) -> Statistics:
    """What was counted of a column of levels, as the statistics of another family.

    Each level and class is a row that weighs as much as its count.

    Raises
    ------
    ValueError : if the family cannot take a level, or it is a code or a truth value where others
        are numbers; unless that is not to be `strict`, as the rule has looked at the levels.
    """
    levels, codes, classes, weights = counts(part, column, offsets)
    known = pa.array([*levels.tolist(), None], pa.string())
    schema = Schema((Block(family, (name,)),), {name: ""}, ())
    rows, unfit = schema.encode(pa.table({name: known.take(pa.array(codes))}))
    odd = [one for one in levels.tolist() if not values.NUMBER.fullmatch(one)]
    if strict and not isinstance(family, Categorical | Bernoulli) and (unfit or odd):
        example = unfit[name].example if unfit else odd[0]
        raise ValueError(
            f"column {name!r} is {family.name} in one model, which cannot take {example!r} of the "
            "other; name its family in `columns`"
        )
    n_classes = part.tables["missing"].shape[0]
    if len(codes) == 0:
        return family.empty(n_classes, 1)
    return family.summarise(rows.parts[0], Batch(classes, n_classes, weights), Serial())


def counts(part: Any, column: int, offsets: Int64) -> tuple[Levels, Int64, Int64, Float64]:
    """(levels of a column; level, class and weight of each of some rows with the same counts).

    `offsets` are those of the part. The level of a missing value is the number of levels. An exact
    count takes several rows if it is no float64.
    """
    assert isinstance(part, LevelStatistics)
    levels = part.levels[column]
    first = int(offsets[column])
    count = part.tables["count"].taken(1, slice(first, first + len(levels)))
    missing = part.tables["missing"].taken(1, slice(column, column + 1))
    codes, classes, weights = [], [], []
    for table, base in ((count, 0), (missing, len(levels))):
        digits, low = table.digits
        own, level, digit = digits.nonzero()
        codes.append(base + level)
        classes.append(own)
        weights.append(np.ldexp(digits[own, level, digit].astype(np.float64), 32 * (low + digit)))
    return levels, np.concatenate(codes), np.concatenate(classes), np.concatenate(weights)


def refamilied(schema: Schema, changed: dict[str, tuple[Family, str]]) -> Schema:
    """The schema with other families, and reasons, for some columns."""
    said = dict.fromkeys(schema.ordered, schema)
    blocks = [
        Block(changed[block.names[0]][0], block.names) if block.names[0] in changed else block
        for block in _blocks(said, schema)
    ]
    why = {name: changed[name][1] if name in changed else why for name, why in schema.why.items()}
    return replace(schema, blocks=together(blocks), why=why)
