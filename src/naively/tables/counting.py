"""Count the rows of a table, and merge models: columns, classes and categories by union."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.core.exact import Float64
from naively.core.issues import add_invalid
from naively.core.labels import Labels
from naively.core.workers import Workers
from naively.families.base import AnyFamily, unlike
from naively.model.model import Model
from naively.model.schema import NO_VALUES, Block, Schema, together
from naively.statistics.base import Batch, InvalidValueError
from naively.tables.declared import declaring
from naively.tables.encoding import encode_parts, summarise_open
from naively.tables.left_out import unvaried
from naively.tables.names import columns_named, few
from naively.tables.targets import LabelCodes


def like(model: Model, workers: Workers) -> Model:
    """Return an empty model with the columns, families and structure of `model`, for `like=`.

    A model whose family stores no rows has no structure, and is returned itself. Raises ValueError
    if the structure of this model cannot be fixed.
    """
    family = model.family
    if not family.keeps:
        return model
    if (plan := model.posterior(workers).parameters.fixed(model.classes)) is None:
        return model
    block = Block(replace(family, plan=plan), model.schema.names)  # type: ignore[type-var]
    schema = replace(model.schema, blocks=(block,))
    blank = model.blank(schema)
    blank.declare_classes(model.classes)
    return blank


def counted_alike(model: Model, other: Model) -> tuple[Model, Model]:
    """Return both models, counted for the same structure.

    If one has a fixed structure (`like=`) and the other stores rows, these rows are counted for
    that structure. Raises ValueError if both have fixed structures that differ, or if only a sample
    of rows is stored.
    """
    if model.counted.open is not None or other.counted.open is not None:
        return model, other
    left, right = model.family, other.family
    if left.closed and right.closed and left.summary != right.summary:
        raise ValueError(
            f"models of different structures cannot be added: {unlike(left, right)}; train "
            "one of them again, `like` the other"
        )
    return _by_plan(model, other), _by_plan(other, model)


def _by_plan(model: Model, other: Model) -> Model:
    """Count the stored rows of `model` for the fixed structure of `other`, if it has one."""
    family, schema = other.family, other.schema
    if model.family.closed or not family.closed or not model.schema.is_single:
        return model
    names = {name: k for k, name in enumerate(schema.names)}
    columns = [k for k, name in enumerate(model.schema.names) if name in names]
    places = np.array([names[model.schema.names[k]] for k in columns], np.int64)
    rows = model.statistics.reindex_columns(np.array(columns, np.int64), places, len(names))
    counts = family.summary.of_rows(rows)
    return model if counts is None else replace(model, counted=schema, sums=counts)


# ---- counting ------------------------------------------------------------------------------------


MOST_LEVELS = 1_000_000
"""Maximum number of categories of a column; one with more is probably an identifier."""

BATCH = 1 << 17  # number of rows that are encoded and counted at a time


def slices(table: pa.Table) -> list[tuple[int, pa.Table]]:
    """Return (index of the first row, rows) for each batch of a table."""
    return [(start, table.slice(start, BATCH)) for start in range(0, max(table.num_rows, 1), BATCH)]


def summarise(
    blank: Model, batch: pa.Table, labels: LabelCodes, weights: Float64 | None = None,
    declares: bool = True,
) -> Model:  # fmt: skip
    """Count these rows for the schema of a blank model, and return a model of them alone.

    labels : (classes, code of each row); the code of a missing label is the number of classes.
    weights : (n,) or None; rows of weight 0 are skipped.
    declares : whether to apply the types that the batch declares, beside those of the model.
    """
    classes, codes = labels
    unlabelled = int((codes == len(classes)).sum())
    if unlabelled:
        mask = codes < len(classes)
        batch, codes = batch.filter(pa.array(mask)), codes[mask]
        weights = None if weights is None else weights[mask]
    schema = declaring(blank.counted, batch) if declares else blank.counted
    blank = blank if schema is blank.counted else blank.blank(schema)
    classes, codes = present_classes(classes, codes)
    parts, invalid = encode_parts(schema.bare, batch)
    if weights is not None and not weights.all():
        mask = weights > 0
        parts, codes, weights = [part[mask] for part in parts], codes[mask], weights[mask]
        classes, codes = present_classes(classes, codes)
    if schema.open is None:
        model = blank.summarise(schema.rows(parts, len(codes)), (classes, codes), weights)
    else:  # some columns have types inferred from all training rows
        row_weights = np.empty(0) if weights is None else weights
        labelled = Batch(codes.astype(np.int64), len(classes), row_weights)
        try:
            model, unsuited = summarise_open(blank, parts, labelled)
        except InvalidValueError as error:
            raise error.named(None) from None
        model.classes = classes
        add_invalid(invalid, unsuited)
    model.unlabelled, model.unread = unlabelled, invalid
    return model


def present_classes(classes: Labels, codes: npt.NDArray[np.integer]) -> LabelCodes:
    """Return the labels without classes that do not occur."""
    occurs = np.bincount(codes, minlength=len(classes)) > 0
    if occurs.all():
        return classes, codes.astype(np.int64)
    return classes[occurs], (np.cumsum(occurs) - 1)[codes]


def check_levels(model: Model) -> None:
    """Raise ValueError if a column has more than a million categories."""
    for part, counted in zip(model.counted.parts, model.counted_parts, strict=True):
        if not part.summary.of_levels:
            continue
        for name, levels in zip(part.names, counted.levels, strict=True):
            if len(levels) > MOST_LEVELS:
                raise ValueError(
                    f"column {name!r} has more than {MOST_LEVELS:,} categories, such as "
                    f"{levels[0]!r}: skip it, or cut its values to fewer"
                )


def other_columns(
    schema: Schema, target: str | None, names: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Return (features of the model that these columns lack, columns unknown to the model)."""
    columns, learned = dict.fromkeys(names), {*schema.why, target}
    absent = [name for name in schema.ordered if name not in columns]
    return absent, [name for name in columns if name not in learned]


# ---- merging -------------------------------------------------------------------------------------


def unshared(model: Model, other: Model, names: tuple[str, str]) -> str | None:
    """Return a remark on columns that only one of two merged models has; None if there are none.

    Their names may be typing errors. `names` are those of the models.
    """
    columns, other_columns_ = model.schema.why, other.schema.why
    absent_columns = (
        [n for n in columns if n not in other_columns_],
        [n for n in other_columns_ if n not in columns],
    )
    only = [
        f"only {owner} has the {columns_named(few(absent), absent)}"
        for owner, absent in zip(names, absent_columns, strict=True)
        if absent
    ]
    if not only:
        return None
    return f"{'; '.join(only)}; these columns count as missing in the rows of the other model"


def merge(model: Model, other: Model) -> Model:
    """Add two models; columns, classes and categories merge by union.

    The sum may be `model` itself, changed in place. Raises ValueError if the models cannot be added
    (`model` is then unchanged), or if a column of the sum has more than a million categories.
    """
    model, other = counted_alike(model, other)
    schema, other_schema = model.counted, other.counted
    without_reasons = schema.reasons is None or other_schema.reasons is None
    own, others = (
        [(block.names, block.family.summary) for block in part.bare.blocks]
        for part in (schema, other_schema)
    )
    if without_reasons or (schema.reasons == other_schema.reasons and own == others):
        wider = schema if without_reasons else schema.declaring(other_schema.types)
    else:
        open_a, open_b = (_empty(m) if m.counted.open else unvaried(m) for m in (model, other))
        wider = union(schema, other_schema, open_a, open_b)
    if wider.open is not None:
        overflowing = [a | b for a, b in zip(schema.summed, other_schema.summed, strict=True)]
        wider = wider.counting(*_overflowing(model, other, overflowing))
    if wider is not schema:
        model = model.under(wider).copy()
    model.absorb(other if without_reasons else other.under(wider))
    check_levels(model)
    return model


def _overflowing(model: Model, other: Model, summed: list[set[str]]) -> list[set[str]]:
    """Return the columns with too many distinct values in the sum to store all of them.

    Two sets: of columns with too many numbers, and with too much text.
    """
    block, other_block, overflowing = model.counted.open, other.counted.open, []
    if block is None or other_block is None:
        return summed
    a, b = model.candidates, other.candidates
    places = {name: k for k, name in enumerate(other_block.names)}
    for of_texts, names in enumerate(summed):
        exceeding = {
            name
            for k, name in enumerate(block.names)
            if name in places and name not in names
            and a.exceeds(of_texts * a.width + k, b, of_texts * b.width + places[name])
        }  # fmt: skip
        overflowing.append(names | exceeding)
    return overflowing


def _empty(model: Model) -> dict[str, str]:
    """Return the columns of undeclared type that have no values, with the reason."""
    assert model.counted.open is not None
    pairs = zip(model.counted.open.names, model.candidates.pairs, strict=True)
    return {n: NO_VALUES.text for n, (numbers, texts) in pairs if len(numbers) + len(texts) == 0}


def union(a: Schema, b: Schema, open_a: Mapping[str, str], open_b: Mapping[str, str]) -> Schema:
    """Return the schema with the columns of both, and their declared families.

    Raises ValueError if the families of a column cannot be added, or if one schema skips a column.

    open_a, open_b : columns with at most one distinct value, with the reason; their family is
        taken from the other schema.
    """
    blocks = [*a.blocks, *b.blocks]
    for block, other in product(blocks, blocks):
        if _keeps_rows(block) and block.family.summary != other.family.summary:
            raise ValueError(f"models that cannot be added: {unlike(block.family, other.family)}")
    schemas = {
        name: _decisive(name, a, b, open_a, open_b) if name in a.why and name in b.why
        else a if name in a.why else b
        for name in (*a.why, *b.why)
    }  # fmt: skip
    reasons = {name: source.reason(name) for name, source in schemas.items()}
    types = a.declaring(b.types).types
    declared: list[Block] = []
    open_: list[Block] = []
    for block in _blocks({n: source.bare for n, source in schemas.items()}, a.bare):
        (open_ if block.family.name == "inferred" else declared).append(block)
    if not open_:
        return Schema(together(declared), reasons, a.missing, types)
    family = next(source.open.family for source in (a, b) if source.open is not None)
    names = tuple(name for block in open_ for name in block.names)
    schema = Schema((Block(family, names), *together(declared)), reasons, a.missing, types)
    return schema.counting(*(x | y for x, y in zip(a.summed, b.summed, strict=True)))


def _keeps_rows(block: Block) -> bool:
    """Return whether a block stores rows; columns can be added to such a block."""
    return bool(block.family.summary.takes == "cells")


def _hyperparameters(name: str, family: AnyFamily, first: Schema) -> AnyFamily:
    """Return the first model's family of a column, if it has the same statistics; else `family`."""
    first_family = first.family_of.get(name, family)
    return first_family if first_family.summary == family.summary else family


def _blocks(declared: dict[str, Schema], first: Schema) -> Iterator[Block]:
    """Yield the block of each column from the schema given for it, in the order of the columns."""
    done: set[tuple[str, ...]] = set()
    for name, schema in declared.items():
        blocks = schema.blocks_of.get(name, [])
        for block in blocks:
            if block.family.by_column:
                is_single = len(blocks) == 1
                family = _hyperparameters(name, block.family, first) if is_single else block.family
                yield Block(family, (name,))
            elif _keeps_rows(block):
                if not done:
                    row_columns = tuple(n for n, item in declared.items() if n in item.family_of)
                    yield Block(_hyperparameters(name, block.family, first), row_columns)
                    done.add(row_columns)
            elif (names := tuple(block.names)) not in done:
                other_blocks = [declared[other].blocks_of.get(other, []) for other in names]
                if any(names not in {tuple(b.names) for b in others} for others in other_blocks):
                    raise ValueError(f"the columns {names} are one block in one model only")
                yield block
                done.add(names)


def split_blocks(schema: Schema) -> Iterator[Block]:
    """Yield the blocks of a schema, split by column where possible, in the order of the columns."""
    return _blocks(dict.fromkeys(schema.ordered, schema), schema)


def _decisive(
    name: str, a: Schema, b: Schema, open_a: Mapping[str, str], open_b: Mapping[str, str]
) -> Schema:
    """Return the schema whose family is used for a column of both.

    Raises ValueError if the families cannot be added.
    """
    left, right = a.family_of.get(name), b.family_of.get(name)
    if left is None or right is None:
        if left is right or open_b.get(name) == NO_VALUES.text:
            return a
        if open_a.get(name) == NO_VALUES.text:
            return b
        without, family = (b, left) if right is None else (a, right)
        assert family is not None
        raise ValueError(
            f"column {name!r} was left out of one model ({without.why[name]}) and is "
            f"{family.name} in the other; skip it in both, name its family in `columns`, or fit "
            "one `like` the other"
        )
    if left.summary == right.summary:
        return b if name in open_a and name not in open_b else a
    if left.name == "inferred":  # a declared type takes precedence over an inferred one
        return b
    if right.name == "inferred":
        return a
    if left.name == right.name:
        raise ValueError(
            f"column {name!r} has families that cannot be added: {unlike(left, right)}"
        )
    raise ValueError(
        f"column {name!r} is {left.name} in one model and {right.name} in the other; name its "
        "family in `columns`, or fit one `like` the other"
    )
