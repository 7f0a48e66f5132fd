"""The bins of single columns, counted anew for a plan that is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from naively.evidence.bins import FINE, Column, Lookup
from naively.evidence.entries import Entries
from naively.evidence.plan import Block, Cells, Plan
from naively.evidence.smoothing import levels, tree


def recounted(plan: Plan, entries: Entries) -> Plan:
    """The plan of a table, with the evidence of single columns by all entries.

    Of the entries that the plan was made from it is the plan itself, to the last bit.
    """
    place = {j: k for k, j in enumerate(entries.columns.tolist())}
    columns = [plan.columns[j] for j in place]
    bins = [*map(Column.bins, columns, entries.levels)]
    codes = Lookup.of(columns, bins, FINE).coded(entries.codes).codes
    own, classes = np.argsort(entries.classes), entries.n_classes
    total = entries.class_weight().sum(axis=0) + 0.5
    prior = total / total.sum()

    def counted(block: Block) -> Block:
        if not isinstance(block, Cells) or len(block.columns) > 1 or block.columns[0] not in place:
            return block
        (j,) = block.columns
        cell = codes[place[j]].astype(np.int64)[entries.row] * classes + entries.y
        counts = np.bincount(cell, entries.weight, block.table.size).reshape(-1, classes)
        smooth = tree if plan.columns[j].is_number else levels
        return replace(block, table=smooth(counts.astype(np.float64), prior)[:, own])

    return replace(plan, blocks=[*map(counted, plan.blocks)])
