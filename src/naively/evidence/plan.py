"""A plan: what evidence there is, and what it weighs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from naively.evidence.bins import Column
from naively.evidence.calendars import Calendar
from naively.evidence.incomplete import Incomplete
from naively.evidence.judged import Judged
from naively.evidence.normal import Normal
from naively.evidence.words import Words
from naively.exact import Float64, Int64


@dataclass(frozen=True)
class Cells:
    """A table of evidence.

    Attributes
    ----------
    columns : of which, in order.
    way : how they are cut; see `naively.evidence.bins`.
    table : (cells, C), in nats.
    """

    columns: tuple[int, ...]
    way: int
    table: Float64


Block = Cells | Calendar | Normal | Words


@dataclass(frozen=True)
class Plan:
    """What evidence there is, and what it weighs.

    Attributes
    ----------
    columns : the bins of each column.
    blocks : evidence of columns.
    weights : (K,); 0 of blocks that are evidence of incomplete rows alone.
    bias : (C,), in nats.
    judged : how rows were predicted, each by evidence and weights without it.
    incomplete : how rows with unfamiliar missing cells are scored; None if nothing is evidence.
    """

    columns: list[Column]
    blocks: list[Block]
    weights: Float64
    bias: Float64
    judged: Judged
    incomplete: Incomplete | None = None

    def among(self, columns: list[Column], places: Sequence[int], classes: Int64) -> Plan:
        """The same for a table.

        Parameters
        ----------
        columns : all columns of the table.
        places : which of these each column of the plan is.
        classes : (C,) which class of the table each class of the plan is.
        """
        own = np.argsort(classes)
        blocks = [self._among(block, np.array(places), own) for block in self.blocks]
        incomplete = self.incomplete and self.incomplete.among(len(columns), np.array(places))
        return replace(
            self, columns=columns, blocks=blocks, bias=self.bias[own], incomplete=incomplete
        )

    def _among(self, block: Block, places: Int64, classes: Int64) -> Block:
        """A block of other columns, in their order, with its classes in another order."""
        at = places[list(block.columns)]
        order = np.argsort(at)
        if isinstance(block, Words):
            return replace(block, column=int(at[0]), classes=block.classes[classes])
        if isinstance(block, Calendar):
            return replace(block, column=int(at[0]), table=block.table[:, classes])
        if isinstance(block, Normal):
            return block.among(at, order, classes)
        sizes = [self.columns[j].size(block.way) for j in block.columns]
        table = block.table.reshape(*sizes, -1).transpose(*order, len(order))
        table = np.ascontiguousarray(table.reshape(block.table.shape)[:, classes])
        return Cells(tuple(at[order].tolist()), block.way, table)


def present(block: Block, gone: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Of which rows, (n, d) by what is missing, a block is evidence."""
    if isinstance(block, Normal):
        return block.present(gone)
    return np.logical_not(gone[:, list(block.columns)].any(axis=1))
