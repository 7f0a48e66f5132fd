"""Columns of a table in blocks: which share one."""

from __future__ import annotations

from collections.abc import Iterable

from naively.families.base import AnyFamily
from naively.schema import Block


def together(blocks: Iterable[Block], numeric: AnyFamily | None = None) -> tuple[Block, ...]:
    """Single columns of equal families in one block, for speed; and all those of `numeric`.

    Whole rows have their columns sorted, so that no bit of a plan depends on their order in the
    table.
    """
    shared: list[tuple[AnyFamily, list[str]]] = []
    for block in blocks:
        own = block.family
        alone = len(block.names) == 1 and own.by_column
        for family, names in shared:
            if own is numeric is family or (alone and family.by_column and family == own):
                names.extend(block.names)
                break
        else:
            shared.append((own, list(block.names)))
    return tuple(
        Block(family, tuple(sorted(names) if family.summary.takes == "cells" else names))
        for family, names in shared
    )
