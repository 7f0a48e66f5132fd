"""Models that are the sum of named parts: learning, forgetting and replacing a part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from naively.core.issues import Issue
from naively.core.model import NEVER, Model
from naively.storage.model_files import ModelFileError, Saved, from_bytes, to_bytes
from naively.storage.parts import REST, Part, utc_now
from naively.tables import counting
from naively.tables.counting import counted_alike
from naively.tables.learning import updated

LONGEST = 200  # characters of a name
LIES = "the parts in the file do not add up to its model: another program changed one of them"


def kept(model: Model) -> Part:
    """A model as a part."""
    return Part(to_bytes(Saved(model.copy())), model.rows, utc_now())  # without its estimate


def model_of(name: str, part: Part) -> Model:
    """What a part learned. Raises ModelFileError if it is damaged."""
    model = from_bytes(part.content, f"the part {name!r}").model
    if model.rows != part.rows:
        raise ModelFileError(LIES)
    return model


def learn(saved: Saved, more: Model, name: str = REST) -> list[Issue]:
    """Let a model, and a part of it, learn what another model did, in place: see `updated`.

    Parameters
    ----------
    more : a model of the new rows alone.
    name : of the part; `REST` for rows without one.

    Returns
    -------
    list of Issue : what a user should know about the new rows.
    """
    parts = begun(saved.parts, saved.model, more, name)
    saved.model, issues = updated(saved.model, more)
    saved.parts = added(parts, saved.model, more, name)
    return issues


def check_name(name: str) -> None:
    """Raise ValueError for what can be no name of a part."""
    if not isinstance(name, str) or not (name.isprintable() and len(name) <= LONGEST):
        raise ValueError(f"the name of a part is text of at most {LONGEST} printable characters, "
                         f"not {name!r}")  # fmt: skip


def begun(parts: Mapping[str, Part], model: Model, more: Model, name: str) -> Mapping[str, Part]:
    """The parts of a model that is about to learn more, in one of this name.

    Raises
    ------
    ValueError : if this can be no name, or if what is learned cannot be kept.
    """
    check_name(name)
    if name or parts:
        kept(more)  # nothing was changed yet
    return {REST: kept(model)} if name and not parts and model.rows else parts


def added(parts: Mapping[str, Part], total: Model, more: Model, name: str) -> Mapping[str, Part]:
    """The parts once a model has learned more, of which `begun` told before; empty without names.

    Parameters
    ----------
    total : the model that has learned it.
    more : what it learned.
    """
    if not name and not parts:
        return parts
    known = [(name, parts[name])] if name in parts else []
    return {**parts, name: kept(summed(total, [*known, more]))}


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
    rest = summed(total, [*left.items()])
    rest.declare_classes(total.declared)
    touched = {name: summed(total, [(name, parts[name])]) for name in gone}
    if summed(total, [rest, *touched.values()]) != total:
        raise ModelFileError(LIES)
    removed = total.blank()
    for name, asked in gone.items():
        part = touched[name]
        rows = part.copy() if asked is None else summed(total, [asked])
        part.forget(rows)
        removed = _added(removed, rows)
        if part.class_weight.nonzero().any():
            rest = _added(rest, part)
            left[name] = kept(part)
    saved.model = rest
    saved.parts = left if {*left} - {REST} else {}
    return removed


def decayed(saved: Saved, gamma: float) -> None:
    """Let all that a model and its parts learned count less, in place; see `Model.decay`."""
    saved.model.decay(gamma)
    if not saved.parts:
        return
    parts = {}
    for name, one in saved.parts.items():
        model = model_of(name, one)
        model.decay(gamma)
        parts[name] = kept(model)
    total = summed(saved.model, [*parts.items()])  # of what was rounded: forgetting stays exact
    total.declare_classes(saved.model.declared)
    saved.model, saved.parts = total, parts


def merged(total: Model, saved: Sequence[Saved]) -> Mapping[str, Part]:
    """The parts of the sum of some models; parts of the same name are one."""
    if not any(one.parts for one in saved):
        return {}
    own: dict[str, list[Part]] = {}
    for one in saved:
        parts = one.parts or {REST: kept(one.model)}
        for name, part in parts.items():
            own.setdefault(name, []).append(part)
    return {
        name: same[0] if len(same) == 1 else kept(summed(total, [(name, one) for one in same]))
        for name, same in own.items()
    }  # fmt: skip


def summed(total: Model, models: Sequence[Model | tuple[str, Part]]) -> Model:
    """The sum of some models and named parts, under the families that a model has by now."""
    whole = total.blank()
    if len(models) == 1:
        (one,) = models
        model = one if isinstance(one, Model) else model_of(*one)
        whole = _added(whole, model)
    elif models:
        half = len(models) // 2  # each sum is of two alike: long ones are seldom copied
        whole = _added(summed(total, models[:half]), summed(total, models[half:]))
    return whole


def _added(total: Model, model: Model) -> Model:
    """What both learned, of the columns of the first; to be used in its place."""
    if total.counted.open is not None:
        return counting.merge(total, model)
    total.absorb(counted_alike(model, total)[0].under(total.counted))
    return total


def said(name: str) -> str:
    """A part, in words."""
    return f"the part {name!r}" if name else "rows without a part"
