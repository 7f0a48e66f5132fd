"""Add, replace and forget the named parts of a model, which is their sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from naively.core.issues import Issue
from naively.model.model import NEVER, Model, NeverLearnedError
from naively.storage.model_files import ModelFileError, Saved, from_bytes, to_bytes
from naively.storage.parts import REST, Part, utc_now
from naively.tables import counting
from naively.tables.counting import counted_alike
from naively.tables.learning import updated

LONGEST = 200  # maximum number of characters of a name
LIES = "the parts in the file do not add up to its model: another program changed one of them"


def kept(model: Model) -> Part:
    """Store a model as a part, without its estimate."""
    return Part(to_bytes(Saved(model.copy())), model.rows, utc_now())


def model_of(name: str, part: Part) -> Model:
    """Return the model of a part. Raises ModelFileError if it is damaged."""
    model = from_bytes(part.content, f"the part {name!r}").model
    if model.rows != part.rows:
        raise ModelFileError(LIES)
    return model


def learn(saved: Saved, more: Model, name: str = REST) -> list[Issue]:
    """Add a model of new rows to a model and to its part `name`, in place; return their issues."""
    parts = begun(saved.parts, saved.model, more, name)
    saved.model, issues = updated(saved.model, more)
    saved.parts = added(parts, saved.model, more, name)
    return issues


def check_name(name: str) -> None:
    """Raise ValueError for an invalid name of a part."""
    if not isinstance(name, str) or not (name.isprintable() and len(name) <= LONGEST):
        raise ValueError(f"the name of a part is text of at most {LONGEST} printable characters, "
                         f"not {name!r}")  # fmt: skip


def begun(parts: Mapping[str, Part], model: Model, more: Model, name: str) -> Mapping[str, Part]:
    """Return the parts of a model before new rows are added to the part `name`.

    The first named part makes all earlier rows the part `REST`. Raises ValueError if the name is
    invalid, or if the new rows cannot be stored.
    """
    check_name(name)
    if name or parts:
        kept(more)  # raises before anything is changed
    return {REST: kept(model)} if name and not parts and model.rows else parts


def added(parts: Mapping[str, Part], total: Model, more: Model, name: str) -> Mapping[str, Part]:
    """Return the parts after new rows were added, given those of `begun`; empty without names."""
    if not name and not parts:
        return parts
    earlier = [(name, parts[name])] if name in parts else []
    return {**parts, name: kept(summed(total, [*earlier, more]))}


def forget(saved: Saved, removed: Mapping[str, Model | None]) -> Model:
    """Forget parts, or rows of parts, in place.

    The remaining parts are summed again, so that the result equals a model that was never trained
    on the rows. Subtraction would leave a trace in samples of rows, and in grids that are coarser
    than the remaining rows need. Returns a model of the forgotten rows. Raises ValueError if there
    is no such part, or if its sums show that it does not contain the rows; nothing is changed then.

    removed : a model of the rows to forget, by name of the part; None to forget the whole part.
    """
    if not saved.parts and [*removed] == [REST] and (only := removed[REST]) is not None:
        saved.model.forget(only)
        return only
    total, parts = saved.model, saved.parts
    for name in removed:
        if name not in parts:
            missing = f"the part {name!r}" if name else "rows without a part"
            raise NeverLearnedError(NEVER + missing)
    if problem := total.statistics.refused():
        raise NeverLearnedError(f"{NEVER}{problem}")
    remaining = {name: part for name, part in parts.items() if name not in removed}
    remainder = summed(total, [*remaining.items()])
    remainder.declare_classes(total.declared)
    affected = {name: summed(total, [(name, parts[name])]) for name in removed}
    if summed(total, [remainder, *affected.values()]) != total:
        raise ModelFileError(LIES)
    forgotten = total.blank()
    for name, rows_to_forget in removed.items():
        part = affected[name]
        rows = part.copy() if rows_to_forget is None else summed(total, [rows_to_forget])
        part.forget(rows)
        forgotten = _added(forgotten, rows)
        if part.class_weight.nonzero().any():
            remainder = _added(remainder, part)
            remaining[name] = kept(part)
    saved.model = remainder
    saved.parts = remaining if {*remaining} - {REST} else {}
    return forgotten


def decayed(saved: Saved, gamma: float) -> None:
    """Multiply the sums of a model and its parts by gamma, in place; see `Model.decay`."""
    saved.model.decay(gamma)
    if not saved.parts:
        return
    parts = {}
    for name, part in saved.parts.items():
        model = model_of(name, part)
        model.decay(gamma)
        parts[name] = kept(model)
    # sum the rounded parts, so that the parts add up to the model and forgetting stays exact
    total = summed(saved.model, [*parts.items()])
    total.declare_classes(saved.model.declared)
    saved.model, saved.parts = total, parts


def merged(total: Model, saved: Sequence[Saved]) -> Mapping[str, Part]:
    """Return the parts of the sum of some models; parts of the same name are added."""
    if not any(item.parts for item in saved):
        return {}
    parts_by_name: dict[str, list[Part]] = {}
    for item in saved:
        parts = item.parts or {REST: kept(item.model)}
        for name, part in parts.items():
            parts_by_name.setdefault(name, []).append(part)
    return {
        name: group[0] if len(group) == 1 else kept(summed(total, [(name, item) for item in group]))
        for name, group in parts_by_name.items()
    }  # fmt: skip


def summed(total: Model, models: Sequence[Model | tuple[str, Part]]) -> Model:
    """Add models and named parts, with the current families of the model `total`."""
    if len(models) > 1:
        half = len(models) // 2  # pairwise: large sums are copied log2(n) times only
        return _added(summed(total, models[:half]), summed(total, models[half:]))
    combined = total.blank()
    for item in models:
        combined = _added(combined, item if isinstance(item, Model) else model_of(*item))
    return combined


def _added(total: Model, model: Model) -> Model:
    """Add a model to `total`, with the columns of `total`; the sum may be `total` itself."""
    if total.counted.open is not None:
        return counting.merge(total, model)
    total.absorb(counted_alike(model, total)[0].under(total.counted))
    return total
