"""What is predicted of rows, as columns of a table and as JSON."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from naively.exact import Float64
from naively.labels import Labels

PREDICTION = "prediction"


class Answer(NamedTuple):
    """What is predicted of some rows.

    Attributes
    ----------
    labels : (n,) labels; None where one is left open.
    proba : (n, C) P(c | x); None unless asked for.
    top : (labels, their P(c | x)), (n, k) both, of the most probable classes; None unless asked.
    """

    labels: Labels
    proba: Float64 | None = None
    top: tuple[Labels, Float64] | None = None

    def columns(self, classes: Labels, taken: Collection[str] = ()) -> dict[str, pa.Array]:
        """The answer as columns, whose names are none of those taken.

        They are prediction, P(class) of each class, top_1, P(top_1) and so on. A label that is left
        open is null.
        """
        kind = pa.array(classes).type if classes.dtype.kind in "biuf" else pa.string()
        labels = self.labels
        values = labels if labels.dtype.kind in "biuf" else labels.tolist()
        said = {_free(PREDICTION, taken): pa.array(values, kind)}
        for c, label in enumerate(classes.tolist() if self.proba is not None else []):
            assert self.proba is not None
            name = _free(f"P({label})", {*taken, *said})
            said[name] = pa.array(np.ascontiguousarray(self.proba[:, c]))
        for k in range(0 if self.top is None else self.top[0].shape[1]):
            assert self.top is not None
            each = ((f"top_{k + 1}", self.top[0], kind), (f"P(top_{k + 1})", self.top[1], None))
            for name, one, of in each:
                own = one[:, k].tolist()
                said[_free(name, {*taken, *said})] = pa.array(own, of or pa.float64())
        return said

    def fields(self, classes: Labels) -> dict[str, list[Any]]:
        """The answer as JSON has it: for each field what it is of each row."""
        names = [str(label) for label in classes.tolist()]
        fields: dict[str, list[Any]] = {PREDICTION: self.labels.tolist()}
        if self.proba is not None:
            fields["probabilities"] = [
                dict(zip(names, one, strict=True)) for one in self.proba.tolist()
            ]
        if self.top is not None:
            each = zip(*(part.tolist() for part in self.top), strict=True)
            fields["top"] = [
                [{"label": label, "probability": p} for label, p in zip(*one, strict=True)]
                for one in each
            ]
        return fields


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name
