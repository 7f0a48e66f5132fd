"""What `like=` takes of a model, and rows that were kept, counted as another model counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from naively.families.base import unlike
from naively.model import Model
from naively.schema import Block
from naively.workers import Workers


def like(model: Model, workers: Workers) -> Model:
    """A model of which others take over the columns and families; of one that makes a plan that.

    Raises
    ------
    ValueError : if it makes a plan that cannot be given.
    """
    family = model.family
    if not family.keeps:
        return model
    plan = model.posterior(workers).parameters.fixed(model.classes)
    if plan is None:
        return model
    block = Block(replace(family, plan=plan), model.schema.names)  # type: ignore[type-var]
    schema = replace(model.schema, blocks=(block,))
    found = model.blank(schema)
    found.declare_classes(model.classes)
    return found


def counted_alike(model: Model, other: Model) -> tuple[Model, Model]:
    """Both models; if one keeps its rows, and the other was given a plan, counted for this.

    Raises
    ------
    ValueError : if they count for different plans, or rows that are not all kept.
    """
    if model.counted.open is not None or other.counted.open is not None:
        return model, other
    mine, theirs = model.family, other.family
    if mine.closed and theirs.closed and mine.summary != theirs.summary:
        raise ValueError(
            f"models of different plans do not add up: {unlike(mine, theirs)}; learn the rows of "
            "one again, `like` the other"
        )
    return _by_plan(model, other), _by_plan(other, model)


def _by_plan(model: Model, other: Model) -> Model:
    """A model that keeps rows, as one that counted them for the other one's plan, if it has one."""
    family, schema = other.family, other.schema
    if model.family.closed or not family.closed or not model.schema.is_single:
        return model
    names = {name: k for k, name in enumerate(schema.names)}
    own = [k for k, name in enumerate(model.schema.names) if name in names]
    places = np.array([names[model.schema.names[k]] for k in own], np.int64)
    rows = model.statistics.reindex_columns(np.array(own, np.int64), places, len(names))
    found = family.summary.of_rows(rows)
    return model if found is None else replace(model, counted=schema, sums=found)
