"""The columns of a model as a person can read them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from naively.column_types import MANY
from naively.families.describing import Evidences, Section
from naively.model import Model
from naively.pooling.dates import as_dates
from naively.statistics.levels import Levels
from naively.tables import left_out as leaving_out
from naively.tables.identifiers import IDENTIFIER, identifiers
from naively.tables.telling import bits, missing_weight, nearly_all
from naively.tables.wordy import short_texts
from naively.written import written

WEIGHED = ("weighed_text", "pooled_text")
"""Families of documents whose evidence is weighed."""


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


def left_out(model: Model) -> dict[str, str]:
    """The columns that add nothing to the scores, with the reason."""
    silent = leaving_out.left_out(model)
    if found := evidence(model):
        told = {name for one in found.blocks for name in one.names}
        names = (name for name in model.schema.ordered if name not in told)
        silent = dict.fromkeys(names, "weight 0: it tells nothing more") | silent
        silent |= {name: IDENTIFIER.text for name in identifiers(model) if name in silent}
    return silent


def _levels(model: Model) -> Iterator[tuple[str, Levels]]:
    """The levels of each column of which they are counted, in the order of the table."""
    found: dict[str, Levels] = {}
    for part, counted in zip(model.schema.parts, model.parts, strict=True):
        if part.summary.of_levels or part.summary.takes == "cells":
            found |= zip(part.names, counted.levels, strict=True)
    return ((name, found[name]) for name in model.schema.ordered if name in found)


def characters(model: Model) -> int:
    """Characters of all levels of text."""
    texts = (levels for _, levels in _levels(model) if levels.dtype.kind == "T")
    return sum(int(np.strings.str_len(levels).sum()) for levels in texts)


def evidence(model: Model) -> Evidences | None:
    """What a model weighs, if it does."""
    whole, *others = model.posterior().blocks
    found = None if others else whole[1].evidence(whole[0].names)
    if found is None:
        return None
    place = {name: k for k, name in enumerate(model.schema.ordered)}
    blocks = [replace(one, names=sorted(one.names, key=place.__getitem__)) for one in found.blocks]
    return replace(found, blocks=blocks)


def is_wide(model: Model) -> bool:
    """Whether a table has fewer rows than columns, of which all rows chose those that count.

    How rows were predicted by evidence of others is then far too good.
    """
    return model.rows < model.n_features


def row_numbers(model: Model) -> list[str]:
    """The columns that are weighed, though they may but number the rows: whole, each once."""
    found = evidence(model)
    if found is None or model.rows < MANY:
        return []
    told = {name for one in found.blocks for name in one.names}
    ((block, own),) = model.posterior().blocks
    return [
        name
        for name, levels in zip(block.names, own.levels, strict=True)
        if name in told and len(levels) == model.rows and levels.dtype.kind != "T"
        and (levels == np.floor(levels)).all() and levels[-1] - levels[0] < 2 * model.rows
    ]  # fmt: skip


def misread(model: Model) -> dict[str, str]:
    """The columns of levels that people may have meant as numbers or dates, with what to do."""
    found = {
        name: written(levels.tolist())
        for name, levels in _levels(model)
        if levels.dtype.kind == "T" and as_dates(levels) is None
    }
    return {name: said for name, said in found.items() if said}


def by_remark(found: dict[str, str]) -> dict[str, list[str]]:
    """What is said of columns, each once, with their names."""
    said: dict[str, list[str]] = {}
    for name, how in found.items():
        said.setdefault(how, []).append(name)
    return said


def texts(model: Model) -> dict[str, str]:
    """The columns of levels that look like short texts, with what to do."""
    found = short_texts(model)
    return {name: f"{said}--text {shlex.quote(name)}" for name, said in found.items()}


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


def remedy(model: Model) -> str:
    """What may help probabilities that are worse than none."""
    schema = model.schema
    known = schema.known
    if any(family.name in WEIGHED for family in known.values()):
        return ": use its labels alone"
    if any(schema.reason(name).kind == "array" for name in known):
        return ""
    if evidence(model) is not None:
        return (
            ": these rows do not show that the columns tell the class; "
            "more rows or other columns may help"
        )
    return ": `naively fit` without --naive may do better"
