"""Which columns a model learns from, each with its family."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from naively.exact import ExactArray
from naively.families.base import Family, difference
from naively.families.bernoulli import Bernoulli
from naively.families.categorical import Categorical
from naively.families.gaussian import Gaussian
from naively.families.joint import Joint
from naively.families.levels import Encoded, Levels
from naively.families.multinomial import Multinomial
from naively.families.multivariate import MultivariateGaussian
from naively.families.product import Blocks, Product, ProductStatistics
from naively.families.text import Text
from naively.tables import values
from naively.tables.frames import SparseTable
from naively.tables.inputs import MISSING


@dataclass(frozen=True)
class Block:
    """Columns that one family takes together.

    Attributes
    ----------
    family : Family
    names : tuple of str
    """

    family: Family
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if isinstance(self.family, Text) and len(self.names) > 1:
            raise ValueError(
                f"the columns {', '.join(map(repr, self.names))} cannot share one text family: "
                "name each by itself"
            )

    @property
    def divisible(self) -> bool:
        """Whether the family treats each column as if it were alone."""
        family = self.family
        if isinstance(family, Joint | Multinomial | MultivariateGaussian | Text):
            return False
        if any(np.ndim(value) > 0 for value in vars(family).values() if value is not None):
            return False  # hyperparameters for these very columns
        if isinstance(family, Gaussian):
            alone = family.floor == "feature" and family.tie in (None, "classes")
            return alone and family.shrinkage == 0
        return True


@dataclass
class Unfit:
    """Values that a column's family cannot take, and that count as missing.

    Attributes
    ----------
    count : int
    example : one of them.
    """

    count: int
    example: Any


@dataclass(frozen=True)
class Schema:
    """The columns of a model.

    Attributes
    ----------
    blocks : tuple of Block, in the order of the model's features.
    why : dict of str, the reason for each column's family or for leaving it out, in the order of
        the table.
    missing : spellings of a missing value.
    known : the family of each feature, by name.
    """

    blocks: tuple[Block, ...]
    why: dict[str, str]
    missing: tuple[str, ...] = MISSING
    known: dict[str, Family] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        known = {name: block.family for block in self.blocks for name in block.names}
        object.__setattr__(self, "known", known)

    @property
    def names(self) -> list[str]:
        """The features, block after block."""
        return [name for block in self.blocks for name in block.names]

    @property
    def skipped(self) -> dict[str, str]:
        """The columns that were left out, with the reason."""
        return {name: reason for name, reason in self.why.items() if name not in self.known}

    @property
    def ordered(self) -> list[str]:
        """The features in the order of the table."""
        return [name for name in self.why if name in self.known]

    @property
    def commutes(self) -> bool:
        """Whether a sum of statistics is the same in whatever order its terms are added."""
        families = self.known.values()
        return not any(isinstance(one, Text) and one.max_terms is not None for one in families)

    @property
    def product(self) -> Product:
        """The families side by side."""
        return Product(
            tuple(block.family for block in self.blocks),
            tuple(len(block.names) for block in self.blocks),
        )

    def encode(
        self, batch: pa.RecordBatch | pa.Table | SparseTable
    ) -> tuple[Blocks, dict[str, Unfit]]:
        """(the rows as the families take them, what they cannot take, by column).

        Columns that are absent count as missing.

        Raises
        ------
        ValueError : for a sparse matrix, unless a matrix of as many columns was learned.
        """
        if isinstance(batch, SparseTable):
            if len(self.blocks) != 1 or len(self.names) != batch.matrix.shape[1]:
                raise ValueError(
                    f"a sparse matrix of {batch.matrix.shape[1]} columns where "
                    f"{len(self.names)} columns in {len(self.blocks)} blocks were learned"
                )
            return Blocks([batch.matrix], batch.num_rows), {}
        given = {name: batch.column(name) for name in batch.schema.names if name in self.known}
        found = {
            name: values.flat(column)
            for name, column in given.items()
            if not isinstance(self.known[name], Text)
        }
        unfit: dict[str, Unfit] = {}
        parts: list[Any] = []
        for block in self.blocks:
            if isinstance(block.family, Text):
                column = given.get(block.names[0], pa.nulls(batch.num_rows))
                parts.append(values.documents(column, self.missing))
            elif isinstance(block.family, Categorical | Joint):
                parts.append(_levels(block, found, batch.num_rows, self.missing))
            else:
                parts.append(_numbers(block, found, batch.num_rows, self.missing, unfit))
        return Blocks(parts, batch.num_rows), unfit

    def check_any(self, purpose: str) -> None:
        """Raise ValueError, saying for what, if no column is left."""
        if not self.names:
            left = "; ".join(f"{name}: {why}" for name, why in list(self.why.items())[:10])
            raise ValueError(f"no column is left to {purpose} ({left or 'there are none'})")

    def alike(self, other: Schema) -> bool:
        """Whether the blocks are of the same columns, and their statistics add."""
        pairs = zip(self.blocks, other.blocks, strict=False)
        return len(self.blocks) == len(other.blocks) and all(
            a.names == b.names and a.family.adds_to(b.family) for a, b in pairs
        )

    def union(self, other: Schema) -> Schema:
        """The columns of both.

        Raises
        ------
        ValueError : if a column has families whose statistics differ.
        """
        mine, theirs = self.known, other.known
        for name in mine.keys() & theirs.keys():
            if mine[name].adds_to(theirs[name]):
                continue
            if mine[name].name == theirs[name].name:
                raise ValueError(
                    f"column {name!r} is of families that do not add up: "
                    f"{difference(mine[name], theirs[name])}"
                )
            raise ValueError(
                f"column {name!r} is {mine[name].name} in one model and {theirs[name].name} "
                "in the other; name its family in `columns`"
            )
        blocks = list(self.blocks)
        for block in other.blocks:
            new = tuple(name for name in block.names if name not in mine)
            if not new:
                continue
            if not block.divisible and len(new) < len(block.names):
                raise ValueError(f"the columns {block.names} are one block in one model only")
            at = next(
                (k for k, b in enumerate(blocks) if b.divisible and b.family == block.family), None
            )
            if at is None or not block.divisible:
                blocks.append(Block(block.family, new))
            else:
                blocks[at] = Block(block.family, blocks[at].names + new)
        why = {**self.why, **{n: r for n, r in other.why.items() if n not in mine}}
        return Schema(tuple(blocks), why, self.missing)

    def spread(
        self, statistics: ProductStatistics, class_weight: ExactArray, wider: Schema
    ) -> ProductStatistics:
        """The statistics under a schema with more columns, which all these rows lack."""
        (classes,) = class_weight.shape
        parts = []
        for block in wider.blocks:
            size = len(block.names)
            whole = block.family.empty(classes, size)
            place = {name: k for k, name in enumerate(block.names)}
            for mine, part in zip(self.blocks, statistics.parts, strict=True):
                own = [k for k, name in enumerate(mine.names) if name in place]
                if own:
                    places = np.array([place[mine.names[k]] for k in own])
                    whole.add(part.with_columns(np.array(own), places, size), np.arange(classes))
            lacking = [k for k, name in enumerate(block.names) if name not in self.known]
            whole.lack(np.array(lacking, np.int64), class_weight)
            parts.append(whole)
        return ProductStatistics(parts)


def _levels(
    block: Block, found: dict[str, pa.Array], rows: int, missing: Collection[str]
) -> Encoded:
    codes = np.zeros((len(block.names), rows), np.int32)
    levels: list[Levels] = []
    for k, name in enumerate(block.names):
        known: Levels = np.empty(0, values.TEXT)
        if name in found:
            codes[k], known = values.levels(found[name], missing)
        levels.append(known)
    return Encoded(codes.T, levels)


def _numbers(
    block: Block, found: dict[str, pa.Array], rows: int, missing: Collection[str],
    unfit: dict[str, Unfit],
) -> np.ndarray[Any, np.dtype[np.float64]]:  # fmt: skip
    table = np.full((len(block.names), rows), np.nan)
    low, high = block.family.support
    if isinstance(block.family, Bernoulli) and block.family.binarize is None:
        low, high = 0.0, 1.0
    for name, column in zip(block.names, table, strict=True):
        if name not in found:
            continue
        given = found[name]
        column[:], strangers = values.numbers(given, missing)
        bad = (column < low) | (column > high)
        if strangers:
            absent = int(np.isnan(column).sum()) - _missing(given, missing)
            unfit[name] = Unfit(absent, strangers[0])
        if bad.any():
            count = int(bad.sum()) + (unfit[name].count if name in unfit else 0)
            unfit[name] = Unfit(count, float(column[bad][0]))
            column[bad] = np.nan
    return table.T


def _missing(column: pa.Array, missing: Collection[str]) -> int:
    """How many values are missing."""
    codes, levels = values.levels(column, missing)
    return int((codes == len(levels)).sum())
