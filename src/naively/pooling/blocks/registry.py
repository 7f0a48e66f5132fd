"""List the kinds of evidence of `AutoBayes`, by their tags in files."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from naively.pooling.blocks.base import Block

KINDS = (
    "cells.Cells", "calendar.Calendar", "gaussian.Gaussian", "components.Components",
    "linear.Linear", "text.Text", "trees.Trees",
)  # fmt: skip
"""Module and class of each kind, in the order of fitting."""


@cache
def kinds() -> dict[str, type[Block]]:
    """The classes by their tags."""
    by_tag = {}
    for home, name in (kind.split(".") for kind in KINDS):
        block: type[Block] = getattr(import_module(f"naively.pooling.blocks.{home}"), name)
        by_tag[block.tag] = block
    return by_tag
