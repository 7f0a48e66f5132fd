"""Models that are the sum of named parts: learning, forgetting and replacing a part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from naively.files.parts import REST, Part, utc_now
from naively.files.safetensors import ModelFileError, Saved, from_bytes, to_bytes
from naively.model import NEVER, Model
from naively.tables import union
from naively.tables.inference import Wishes, reconsidered
from naively.tables.likeness import counted_alike

LIES = "the parts in the file do not add up to its model: another program changed one of them"


def kept(model: Model) -> Part:
    """A model as a part."""
    return Part(to_bytes(Saved(model.copy())), model.rows, utc_now())  # without its estimate


def model_of(part: Part, name: str = REST) -> Model:
    """What a part learned. Raises ModelFileError if it is damaged."""
    return from_bytes(part.content, f"the part {name!r}").model


def learn(saved: Saved, more: Model, wishes: Wishes, name: str = REST) -> None:
    """Let a model, and a part of it, learn what another model did, in place.

    Parameters
    ----------
    more : a model of the new rows alone.
    wishes : what was said of columns when the model was fitted.
    name : of the part; `REST` for rows without one.
    """
    parts = dict(saved.parts)
    if name and not parts and saved.model.rows:
        parts[REST] = kept(saved.model)
    saved.model = reconsidered(wishes, union.merge(saved.model, more))
    if name or parts:
        known = [parts[name]] if name in parts else []
        parts[name] = kept(summed(saved.model, [*known, more]))
    saved.parts = parts


def forget(saved: Saved, gone: Mapping[str, Model | None]) -> Model:
    """Let a model forget parts, or rows of parts, in place: it is then the sum of all that is left.

    The sum is made anew, so it is the model that never met the rows even where subtracting would
    leave a trace: in samples of rows and in grids that are coarser than those left need.

    Parameters
    ----------
    gone : the rows to forget of each part, by its name; None for all of them.

    Returns
    -------
    Model : what was forgotten.

    Raises
    ------
    ValueError : if there is no such part, or it did not learn these rows as far as its sums can
        tell; then nothing is changed.
    """
    if not saved.parts and [*gone] == [REST] and (only := gone[REST]) is not None:
        saved.model.forget(only)
        return only
    total, parts = saved.model, saved.parts
    for name in gone:
        if name not in parts:
            raise ValueError(f"{NEVER}{said(name)}")
    if refused := total.statistics.refused():
        raise ValueError(f"{NEVER}{refused}")
    left = {name: part for name, part in parts.items() if name not in gone}
    rest = summed(total, [*left.values()])
    rest.declare_classes(total.declared)
    touched = {name: summed(total, [parts[name]]) for name in gone}
    if summed(total, [rest, *touched.values()]) != total:
        raise ModelFileError(LIES)
    removed = total.blank()
    for name, asked in gone.items():
        part = touched[name]
        rows = part.copy() if asked is None else summed(total, [asked])
        part.forget(rows)
        removed.absorb(rows)
        if part.class_weight.nonzero().any():
            rest.absorb(part)
            left[name] = kept(part)
    saved.model = rest
    saved.parts = left if {*left} - {REST} else {}
    return removed


def merged(total: Model, saved: Sequence[Saved]) -> dict[str, Part]:
    """The parts of the sum of some models; parts of the same name are one."""
    if not any(one.parts for one in saved):
        return {}
    own: dict[str, list[Part]] = {}
    for one in saved:
        parts = one.parts or {REST: kept(one.model)}
        for name, part in parts.items():
            own.setdefault(name, []).append(part)
    return {
        name: same[0] if len(same) == 1 else kept(summed(total, same))
        for name, same in own.items()
    }  # fmt: skip


def summed(total: Model, models: Sequence[Model | Part]) -> Model:
    """The sum of some models, counted under the families that a model has by now."""
    whole = total.blank()
    if len(models) == 1:
        (one,) = models
        model = model_of(one) if isinstance(one, Part) else one
        whole.absorb(union.under(counted_alike(model, whole)[0], total.schema, strict=False))
    elif models:
        half = len(models) // 2  # each sum is of two alike: long ones are seldom copied
        whole = summed(total, models[:half])
        whole.absorb(summed(total, models[half:]))
    return whole


def said(name: str) -> str:
    """A part, in words."""
    return f"the part {name!r}" if name else "rows without a part"
