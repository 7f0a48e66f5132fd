"""List the kinds of evidence of `AutoBayes`, by their tags in files."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from naively.pooling.blocks.base import Block

KINDS = (
    "cells.Cells",
    "calendar.Calendar",
    "gaussian.Gaussian",
    "components.Components",
    "linear.Linear",
    "text.Text",
    "trees.Trees",
)
"""Module and class of each kind, in the order of fitting."""


@cache
def kinds() -> dict[str, type[Block]]:
    """The classes by their tags."""
    homes = (kind.split(".") for kind in KINDS)
    classes: list[type[Block]] = [
        getattr(import_module(f"naively.pooling.blocks.{home}"), name) for home, name in homes
    ]
    return {kind.tag: kind for kind in classes}
