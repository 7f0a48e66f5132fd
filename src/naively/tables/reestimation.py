"""Estimate again from what was counted of a table, with other parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from typing import Any, cast

from naively.core.model import Model
from naively.core.schema import Block, Schema, together
from naively.families.base import AnyFamily, unlike
from naively.tables import counting
from naively.tables.inference import ColumnOptions
from naively.tables.names import few, named, no_column

AGAIN = "call `fit` again, or set the parameters back"
OF_PRIOR = {"prior", "prior_smoothing", "n_jobs"}
"""Parameters that change no family."""
GIVEN = ("asked", "chosen", "levels")
"""Why columns have families that do not follow `alpha` and `unseen`."""
OF_NUMBERS = ("numbers", "whole numbers", "sparse numbers", "sparse counts")
"""Why columns have the family of numbers, if one was asked for."""


def smoothing_of(schema: Schema) -> Any:
    """That of the families that were inferred; 1 if they have none."""
    for block in schema.blocks:
        family: Any = block.family
        smooths = hasattr(family, "alpha") and not family.alpha_is_rows
        if smooths and schema.reason(block.names[0]).kind not in GIVEN:
            return family.alpha
    return 1.0


def reread(
    model: Model, before: ColumnOptions, now: ColumnOptions, changed: Collection[str]
) -> Model:
    """The model with other options of its columns, whose families read the same sums.

    It may share the sums.

    Parameters
    ----------
    before, now : the options when the families were decided, and those of now.
    changed : the names of the estimator's parameters that differ.

    Raises
    ------
    ValueError : if something else would have to be counted, saying what.
    """
    schema = model.counted
    if {*changed} <= OF_PRIOR:
        return model
    if before.missing != now.missing:
        raise ValueError(f"`missing` decides what is counted: {AGAIN}")
    if before.types != now.types:
        raise ValueError(f"`categorical` and `numeric` decide what is counted: {AGAIN}")
    if (before.whole is None) != (now.whole is None):
        raise ValueError(f"`weights` decides what is counted: {AGAIN}")
    if now.whole is not None:
        _check_text(model, now.text)
        blocks = [replace(one, family=_adopted(one, now.whole)) for one in schema.blocks]
        return replace(model, counted=replace(schema, blocks=tuple(blocks)))
    families = _asked(schema, before, now) if "columns" in changed else {}
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
        own: dict[str, Any] = {key: getattr(now, key) for key in smoothing}
        if numeric:
            _adopted(replace(block, family=family.of_numbers), cast(AnyFamily, now.numeric))
            own["numeric"] = now.numeric
        blocks.insert(0, replace(block, family=replace(family, **own)))
    found = model.under(replace(schema, blocks=tuple(blocks)).counting(*schema.summed))
    if "alpha" in changed:
        now.check_smoothed(found.schema.known)
    return found


def _check_text(model: Model, names: Collection[str]) -> None:
    """Raise ValueError if a column that is named as text by now is not there, or is none."""
    known, counted = list(model.schema.names), cast(Any, model.statistics)
    for name in names:
        if name not in known:
            raise ValueError(f"`text`: {no_column(name, known)}")
        levels = counted.levels[known.index(name)]
        if len(levels) and levels.dtype.kind != "T":
            raise ValueError(f"column {name!r} was named as text, and holds numbers")


def _asked(schema: Schema, before: ColumnOptions, now: ColumnOptions) -> dict[str, AnyFamily]:
    """The families that `columns` names, by the first of their columns."""
    if before.families.keys() != now.families.keys():
        raise ValueError(f"`columns` names other columns than were learned: {AGAIN}")
    found = {}
    for key, choice in now.families.items():
        old, new = named(before.families[key]), named(choice)
        if repr(old) == repr(new):
            continue
        name = key if isinstance(key, str) else key[0]
        if old is None or new is None:
            raise ValueError(f"column {name!r} is to be learned, or not, by now: {AGAIN}")
        if name in schema.known:
            found[name] = _adopted(schema.blocks_of[name][0], new)
    return found


def _other_numbers(before: ColumnOptions, now: ColumnOptions) -> bool:
    """Whether another family was asked for of columns of numbers, or of levels."""
    levels = (before.levels is None) != (now.levels is None)
    if before.auto or now.auto or before.numeric is None or now.numeric is None or levels:
        if before.auto == now.auto and before.numeric is now.numeric:
            return False
        raise ValueError(f"`family` decides what the families of columns are: {AGAIN}")
    return True


def _of_numbers(schema: Schema, now: ColumnOptions) -> dict[str, AnyFamily]:
    """The family that was asked for of columns of numbers that were decided by the first rows."""
    found = {}
    for block in schema.blocks:
        for name in block.names:
            why = schema.reason(name)
            if why.kind == "rule" and why.text in OF_NUMBERS:
                found[name] = _adopted(block, cast(AnyFamily, now.numeric))
    return found


def _smoothed(schema: Schema, now: ColumnOptions, changed: set[str]) -> dict[str, AnyFamily]:
    """The families of these columns that were not named, with other smoothing and the like."""
    found = {}
    for name, family in schema.known.items() if changed else ():
        why = schema.reason(name)
        if why.kind in GIVEN or (now.numeric is not None and why.text in OF_NUMBERS):
            continue
        known: Any = family
        its = {one.name for one in fields(known)} - ({"alpha"} if known.alpha_is_rows else set())
        own = {"alpha": now.alpha_of(name), "unseen": now.unseen}
        changes = {key: own[key] for key in changed & its}
        if changes:
            found[name] = cast(AnyFamily, replace(known, **changes))
    return found


def _adopted(block: Block, family: AnyFamily) -> AnyFamily:
    """Another family of a block; one that refers to documents refers to those of the old one."""
    known: Any = block.family
    if family.refers and type(family) is type(known):
        family = cast(AnyFamily, replace(cast(Any, family), reference=vars(known)["reference"]))
    if family.summary != known.summary:
        raise ValueError(
            f"what was learned of {few(block.names)} cannot be read as another family: "
            f"{unlike(known, family)}; {AGAIN}"
        )
    return family


def _alone(schema: Schema, families: dict[str, AnyFamily]) -> Iterator[Block]:
    """The blocks of columns with the new families, each alone if it can be."""
    for block in counting.apart(schema):
        first = block.names[0]
        if first not in families:
            yield block
        elif schema.reason(first).kind == "asked":
            yield replace(block, family=families[first])
        else:
            yield from (Block(families[name], (name,)) for name in block.names)
