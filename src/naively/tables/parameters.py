"""All estimated numbers of a model as one flat table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from naively.families.describing import Listed
from naively.posterior import Posterior


def parameters(posterior: Posterior) -> pa.Table:
    """A row for each number of each class.

    Columns: `class`; `feature` and `level`, null where the number is of none; `parameter`, what it
    is called; `value`. A covariance has the second feature for its level. A cell of a joint table
    has all features, joined by " × ", and all levels; no level stands for cells that were not met.
    """
    labels = pa.array(posterior.classes.tolist())
    batches = [_rows(labels, *one) for one in _numbers(posterior)]
    return pa.concat_tables(batches)


def _numbers(posterior: Posterior) -> Iterator[tuple[Sequence[str], Listed]]:
    """The class prior, then what each block lists, with the names of its columns."""
    yield (), Listed("prior", None, None, posterior.class_prior[:, np.newaxis])
    for block, own in posterior.blocks:
        for one in own.listed():
            yield block.names, one


def _rows(labels: Any, names: Sequence[str], one: Listed) -> pa.Table:
    """Numbers of one kind: those of each feature and level side by side, class by class."""
    classes, size = one.values.shape
    known, none = pa.array(list(names), pa.string()), pa.nulls(size, pa.string())
    whole = pa.array([" × ".join(names)] * size, pa.string()) if names else none
    features = whole if one.features is None else known.take(pa.array(one.features))
    levels = none if one.levels is None else pa.array(one.levels, pa.string())
    if one.others is not None:
        levels = known.take(pa.array(one.others))
    each = np.repeat(np.arange(size), classes)
    return pa.table({
        "class": labels.take(pa.array(np.tile(np.arange(classes), size))),
        "feature": features.take(pa.array(each)),
        "level": levels.take(pa.array(each)),
        "parameter": pa.array([one.name] * len(each)),
        "value": pa.array(one.values.T.ravel(), pa.float64()),
    })  # fmt: skip
