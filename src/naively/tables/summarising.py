"""What is learned from batches of a table: their rows encoded, counted by class."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.exact import Float64
from naively.invalid import add_invalid
from naively.labels import Labels
from naively.model import Model
from naively.schema import Schema
from naively.statistics.base import Batch, InvalidValueError
from naively.statistics.candidates import Values
from naively.tables import opening
from naively.tables.declared import declaring
from naively.tables.encoding import encode
from naively.tables.targets import LabelCodes

MOST_LEVELS = 1_000_000
"""Levels of one column, beyond which it is no column of levels but an identifier."""

BATCH = 1 << 17
"""Rows of a table that are encoded and counted at a time."""


def slices(table: pa.Table) -> list[tuple[int, pa.Table]]:
    """(first row, rows) for each batch of a table."""
    return [(at, table.slice(at, BATCH)) for at in range(0, max(table.num_rows, 1), BATCH)]


def summarise(
    blank: Model, batch: pa.Table, labels: LabelCodes, weights: Float64 | None = None,
    declares: bool = True,
) -> Model:  # fmt: skip
    """A model like a blank one that learned these rows alone, with the types that they declare.

    Parameters
    ----------
    labels : (classes, the code of each row); rows with a code beyond the classes have no label.
    weights : (n,) or None; rows of weight 0 are absent.
    declares : whether the types that the batch declares hold; else those of the blank model do.
    """
    classes, codes = labels
    unlabelled = int((codes == len(classes)).sum())
    if unlabelled:
        kept = codes < len(classes)
        batch, codes = batch.filter(pa.array(kept)), codes[kept]
        weights = None if weights is None else weights[kept]
    schema = declaring(blank.counted, batch) if declares else blank.counted
    blank = blank if schema is blank.counted else blank.blank(schema)
    classes, codes = met(classes, codes)
    if schema.open is not None:
        return _open(blank, batch, classes, codes, weights, unlabelled)
    rows, invalid = encode(schema, batch)
    if weights is not None and not weights.all():
        kept = weights > 0
        rows, codes, weights = rows[kept], codes[kept], weights[kept]
        classes, codes = met(classes, codes)
    model = blank.summarise(rows, (classes, codes), weights)
    model.unlabelled, model.unread = unlabelled, invalid
    return model


def _open(
    blank: Model, batch: pa.Table, classes: Labels, codes: npt.NDArray[np.integer],
    weights: Float64 | None, unlabelled: int,
) -> Model:  # fmt: skip
    """The same where the types of columns follow from all that was learned."""
    rows, invalid = opening.declared(blank.counted.bare, batch)
    if weights is not None and not weights.all():
        kept = weights > 0
        rows, codes, weights = [one[kept] for one in rows], codes[kept], weights[kept]
        classes, codes = met(classes, codes)
    known = Batch(codes.astype(np.int64), len(classes), np.empty(0) if weights is None else weights)
    values = next(one for one in rows if isinstance(one, Values))
    try:
        model, unread = opening.summarise(blank, values, rows, known)
    except InvalidValueError as error:
        raise error.named(None) from None
    model.classes, model.unlabelled = classes, unlabelled
    model.unread = invalid
    add_invalid(model.unread, unread)
    return model


def met(classes: Labels, codes: npt.NDArray[np.integer]) -> LabelCodes:
    """Only the classes that rows have."""
    present = np.bincount(codes, minlength=len(classes)) > 0
    if present.all():
        return classes, codes.astype(np.int64)
    return classes[present], (np.cumsum(present) - 1)[codes]


def check_levels(model: Model) -> None:
    """Raise ValueError if a column has more than a million levels."""
    for part, counted in zip(model.counted.parts, model.counted_parts, strict=True):
        if not part.summary.of_levels:
            continue
        for name, levels in zip(part.names, counted.levels, strict=True):
            if len(levels) > MOST_LEVELS:
                raise ValueError(
                    f"column {name!r} has more than {MOST_LEVELS:,} levels, such as "
                    f"{levels[0]!r}: skip it, or cut its values to fewer"
                )


def other_columns(
    schema: Schema, target: str | None, names: Iterable[str]
) -> tuple[list[str], list[str]]:
    """(features that are not among these columns, columns that the model never met)."""
    given = dict.fromkeys(names)
    known = {*schema.why, target}
    return (
        [name for name in schema.ordered if name not in given],
        [name for name in given if name not in known],
    )
