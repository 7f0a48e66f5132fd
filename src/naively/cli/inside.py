"""The columns of a model as a person can read them."""

from __future__ import annotations

from dataclasses import dataclass

from naively.families.describing import Section
from naively.model import Model
from naively.tables.left_out import left_out
from naively.tables.telling import bits, missing_weight, nearly_all


@dataclass
class Column:
    """A column of a model.

    Attributes
    ----------
    name, family, why : str
    missing : weight of the rows in which it is missing.
    bits : mutual information with the class; None of text.
    nearly_all : whether it alone tells nearly all about the class.
    """

    name: str
    family: str
    why: str
    missing: float
    bits: float | None
    nearly_all: bool


def columns(model: Model) -> list[Column]:
    """The columns of a model, in the order of its table; but for those that are left out."""
    schema = model.schema
    silent, information = left_out(model), bits(model.posterior())
    most, gone = set(nearly_all(model, information)), missing_weight(model)
    return [
        Column(
            name,
            schema.known[name].name,
            schema.why[name],
            gone[name],
            information.get(name),
            name in most,
        )
        for name in schema.ordered
        if name not in silent
    ]


def sections(model: Model) -> list[Section]:
    """What each block's columns look like, by class."""
    return [part.described(block.names) for block, part in model.posterior().blocks]
