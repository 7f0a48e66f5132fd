"""Convert predictions, and the parameters of a model, to tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from naively.core.exact import Float64
from naively.core.labels import Labels
from naively.families.base import Listed
from naively.model.posterior import Posterior


def parameters(posterior: Posterior) -> pa.Table:
    """Return all estimated parameters of a model, one per row.

    Columns: `class`; `feature` and `level`, null where they do not apply; `parameter`, its name;
    `value`. The level of a covariance is the second feature. A cell of a joint table has all
    features, joined by " × ", and all levels; a null level stands for unseen cells.
    """
    labels = pa.array(posterior.classes.tolist())
    prior = Listed("prior", None, None, posterior.class_prior[:, np.newaxis])
    tables = [_rows(labels, (), prior)]
    for block, estimates in posterior.blocks:
        tables += [_rows(labels, block.names, listed) for listed in estimates.listed()]
    return pa.concat_tables(tables)


def _rows(labels: Labels, names: Sequence[str], numbers: Listed) -> pa.Table:
    """Return the rows of one parameter, ordered by feature and level, then class."""
    classes, size = numbers.values.shape
    columns, none = pa.array(list(names), pa.string()), pa.nulls(size, pa.string())
    joint_name = pa.array([" × ".join(names)] * size, pa.string()) if names else none
    features = joint_name if numbers.features is None else columns.take(pa.array(numbers.features))
    levels = none if numbers.levels is None else pa.array(numbers.levels, pa.string())
    if numbers.others is not None:
        levels = columns.take(pa.array(numbers.others))
    level_index = np.repeat(np.arange(size), classes)
    return pa.table({
        "class": labels.take(pa.array(np.tile(np.arange(classes), size))),
        "feature": features.take(pa.array(level_index)),
        "level": levels.take(pa.array(level_index)),
        "parameter": pa.array([numbers.name] * len(level_index)),
        "value": pa.array(numbers.values.T.ravel(), pa.float64()),
    })  # fmt: skip


# ---- predictions ---------------------------------------------------------------------------------


PREDICTION = "prediction"


class Answer(NamedTuple):
    """Predictions of some rows.

    labels : (n,) labels; None where the model abstains.
    top : (labels, their P(c | x)) of the k most probable classes, both (n, k), or None.
    """

    labels: Labels
    proba: Float64 | None = None
    top: tuple[Labels, Float64] | None = None

    def columns(self, classes: Labels, taken: Collection[str] = ()) -> dict[str, pa.Array]:
        """Return the predictions as columns, with names that are not in `taken`.

        The columns are prediction, P(class) of each class, top_1, P(top_1) and so on. The label of
        an abstention is null.
        """
        kind = pa.array(classes).type if classes.dtype.kind in "biuf" else pa.string()
        labels = self.labels
        values = labels if labels.dtype.kind in "biuf" else labels.tolist()
        predictions = {_free(PREDICTION, taken): pa.array(values, kind)}
        for c, label in enumerate(classes.tolist() if self.proba is not None else []):
            assert self.proba is not None
            name = _free(f"P({label})", {*taken, *predictions})
            predictions[name] = pa.array(np.ascontiguousarray(self.proba[:, c]))
        for k in range(0 if self.top is None else self.top[0].shape[1]):
            assert self.top is not None
            top = (
                (f"top_{k + 1}", self.top[0], kind),
                (f"P(top_{k + 1})", self.top[1], pa.float64()),
            )
            for name, ranked, type_ in top:
                cells = pa.array(ranked[:, k].tolist(), type_)
                predictions[_free(name, {*taken, *predictions})] = cells
        return predictions

    def fields(self, classes: Labels) -> dict[str, list[Any]]:
        """Return the predictions for JSON: for each field, a list with a value per row."""
        names = [str(label) for label in classes.tolist()]
        fields: dict[str, list[Any]] = {PREDICTION: self.labels.tolist()}
        if self.proba is not None:
            rows = self.proba.tolist()
            fields["probabilities"] = [dict(zip(names, row, strict=True)) for row in rows]
        if self.top is not None:
            fields["top"] = [
                [{"label": label, "probability": p} for label, p in zip(*row, strict=True)]
                for row in zip(*(part.tolist() for part in self.top), strict=True)
            ]
        return fields


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name
