"""The bins of single columns, counted anew for a plan that is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from naively.evidence.bins import FINE, Column, Lookup
from naively.evidence.entries import Entries
from naively.evidence.plan import Block, Cells, Plan
from naively.evidence.smoothing import levels, tree


def recounted(plan: Plan, entries: Entries) -> Plan:
    """A plan whose bins of single columns tell what all entries do.

    Of the entries that the plan was made from it is the plan itself, to the last bit.
    """
    bins = [*map(Column.bins, plan.columns, entries.levels)]
    codes = Lookup.of(plan.columns, bins, FINE).coded(entries.codes).codes
    classes = entries.n_classes
    total = entries.class_weight().sum(axis=0) + 0.5
    prior = total / total.sum()

    def counted(block: Block) -> Block:
        if not isinstance(block, Cells) or len(block.columns) > 1:
            return block
        (j,) = block.columns
        cell = codes[j].astype(np.int64)[entries.row] * classes + entries.y
        counts = np.bincount(cell, entries.weight, block.table.size).reshape(-1, classes)
        smooth = tree if plan.columns[j].is_number else levels
        return replace(block, table=smooth(counts.astype(np.float64), prior))

    return replace(plan, blocks=[*map(counted, plan.blocks)])
