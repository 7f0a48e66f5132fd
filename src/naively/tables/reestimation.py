"""Estimate parameters again from stored sums, after a user changed the options."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from typing import Any, cast

from naively.families.base import AnyFamily, unlike
from naively.model.model import Model
from naively.model.schema import Block, Schema, together
from naively.tables import counting
from naively.tables.inference import ColumnOptions
from naively.tables.names import few, named, no_column

AGAIN = "call `fit` again, or set the parameters back"
OF_PRIOR = {"prior", "prior_smoothing", "n_jobs"}  # parameters that do not change a family
FIXED = ("asked", "chosen", "levels")
"""Kinds of reasons (`Why.kind`) of families that `alpha` and `unseen` do not change."""
OF_NUMBERS = ("numbers", "whole numbers", "sparse numbers", "sparse counts")
"""Reasons (`Why.text`) of columns that get the numeric family, if the user names one."""


def smoothing_of(schema: Schema) -> Any:
    """Return alpha of the first inferred family that has one; 1 if none has."""
    for block in schema.blocks:
        family: Any = block.family
        smooths = hasattr(family, "alpha") and not family.alpha_is_rows
        if smooths and schema.reason(block.names[0]).kind not in FIXED:
            return family.alpha
    return 1.0


def reread(
    model: Model, before: ColumnOptions, now: ColumnOptions, changed: Collection[str]
) -> Model:
    """Return the model with changed column options; it may share its sums with the old one.

    Raises ValueError if the new options need other sums; the message names the parameter.

    before, now : the options when the families were decided, and the current ones.
    changed : names of the estimator's parameters that differ.
    """
    schema = model.counted
    if {*changed} <= OF_PRIOR:
        return model
    if before.missing != now.missing:
        raise ValueError(f"`missing` decides what is counted: {AGAIN}")
    if before.types != now.types:
        raise ValueError(f"`categorical`, `numeric` and `monotone` decide what is counted: {AGAIN}")
    if (before.whole is None) != (now.whole is None):
        raise ValueError(f"`weights` decides what is counted: {AGAIN}")
    if now.whole is not None:
        _check_text(model, now.text)
        now.whole.check_room(model.classes)
        blocks = [replace(pooled, family=_adopted(pooled, now.whole)) for pooled in schema.blocks]
        return replace(model, counted=replace(schema, blocks=tuple(blocks)))
    families = _changed_families(schema, before, now) if "columns" in changed else {}
    numeric = "family" in changed and _other_numbers(before, now)
    smoothing = {"alpha", "unseen"} & {*changed}
    if "alpha" in changed:
        now.check_alpha(list(schema.why))
    declared = replace(schema, blocks=schema.declared)
    families |= _of_numbers(declared, now) if numeric else {}
    families |= _smoothed(declared, now, smoothing)
    blocks = [*together(_alone(declared, families), now.numeric)]
    if (block := schema.open) is not None:
        family = cast(Any, block.family)
        options: dict[str, Any] = {key: getattr(now, key) for key in smoothing}
        if numeric:
            _adopted(replace(block, family=family.of_numbers), cast(AnyFamily, now.numeric))
            options["numeric"] = now.numeric
        blocks.insert(0, replace(block, family=replace(family, **options)))
    reestimated = model.under(replace(schema, blocks=tuple(blocks)).counting(*schema.summed))
    if "alpha" in changed:
        now.check_smoothed(reestimated.schema.family_of)
    return reestimated


def _check_text(model: Model, names: Collection[str]) -> None:
    """Raise ValueError if a column that is newly named as text is absent or numeric."""
    columns, counted = list(model.schema.names), cast(Any, model.statistics)
    for name in names:
        if name not in columns:
            raise ValueError(f"`text`: {no_column(name, columns)}")
        levels = counted.levels[columns.index(name)]
        if len(levels) and levels.dtype.kind != "T":
            raise ValueError(f"column {name!r} was named as text, and holds numbers")


def _changed_families(
    schema: Schema, before: ColumnOptions, now: ColumnOptions
) -> dict[str, AnyFamily]:
    """Return the families that `columns` changes, keyed by the first column of each block."""
    if before.families.keys() != now.families.keys():
        raise ValueError(f"`columns` names other columns than those of training: {AGAIN}")
    families = {}
    for key, choice in now.families.items():
        old, new = named(before.families[key]), named(choice)
        if repr(old) == repr(new):
            continue
        name = key if isinstance(key, str) else key[0]
        if old is None or new is None:
            raise ValueError(f"column {name!r} is used now, or no longer used: {AGAIN}")
        if name in schema.family_of:
            families[name] = _adopted(schema.blocks_of[name][0], new)
    return families


def _other_numbers(before: ColumnOptions, now: ColumnOptions) -> bool:
    """Return whether the family of numeric columns changed.

    Raises ValueError if the change needs other sums.
    """
    levels = (before.levels is None) != (now.levels is None)
    if before.auto or now.auto or before.numeric is None or now.numeric is None or levels:
        if before.auto == now.auto and before.numeric is now.numeric:
            return False
        raise ValueError(f"`family` decides what the families of columns are: {AGAIN}")
    return True


def _of_numbers(schema: Schema, now: ColumnOptions) -> dict[str, AnyFamily]:
    """Return the new numeric family of each column whose family the first rows decided."""
    families = {}
    for block in schema.blocks:
        for name in block.names:
            reason = schema.reason(name)
            if reason.kind == "rule" and reason.text in OF_NUMBERS:
                families[name] = _adopted(block, cast(AnyFamily, now.numeric))
    return families


def _smoothed(schema: Schema, now: ColumnOptions, changed: set[str]) -> dict[str, AnyFamily]:
    """Return inferred families with the changed options (`alpha`, `unseen`), by column."""
    families = {}
    for name, family in schema.family_of.items() if changed else ():
        reason = schema.reason(name)
        if reason.kind in FIXED or (now.numeric is not None and reason.text in OF_NUMBERS):
            continue
        instance: Any = family
        accepted = {field.name for field in fields(instance)}
        accepted -= {"alpha"} if instance.alpha_is_rows else set()
        options = {"alpha": now.alpha_of(name), "unseen": now.unseen}
        if changes := {key: options[key] for key in changed & accepted}:
            families[name] = cast(AnyFamily, replace(instance, **changes))
    return families


def _adopted(block: Block, family: AnyFamily) -> AnyFamily:
    """Return the new family of a block, with the reference documents of the old one.

    Raises ValueError if the new family needs other sums.
    """
    old: Any = block.family
    if family.refers and type(family) is type(old):
        family = cast(AnyFamily, replace(cast(Any, family), reference=vars(old)["reference"]))
    if family.summary != old.summary:
        raise ValueError(
            f"the counts of {few(block.names)} do not suit another family: "
            f"{unlike(old, family)}; {AGAIN}"
        )
    return family


def _alone(schema: Schema, families: dict[str, AnyFamily]) -> Iterator[Block]:
    """Yield the blocks with their new families, one column per block where possible."""
    for block in counting.split_blocks(schema):
        first = block.names[0]
        if first not in families:
            yield block
        elif schema.reason(first).kind == "asked":
            yield replace(block, family=families[first])
        else:
            yield from (Block(families[name], (name,)) for name in block.names)
