"""Which columns a model learns from, each with its family."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from naively.families.base import Family
from naively.families.bernoulli import Bernoulli
from naively.families.categorical import Categorical
from naively.families.gaussian import Gaussian
from naively.families.joint import Joint
from naively.families.levels import Encoded, Levels
from naively.families.multinomial import Multinomial
from naively.families.multivariate import MultivariateGaussian
from naively.families.product import Blocks, Product
from naively.families.text import Text
from naively.tables import values
from naively.tables.frames import SparseTable
from naively.tables.inputs import MISSING

CONSTANT, NO_VALUES = UNVARIED = ("constant", "no values")
"""Why a column tells nothing yet: its one value is counted until a second one is met."""
COUNTS = "counts, variance about the mean"
"""Why a column of whole numbers is Poisson."""
FEW_NUMBERS = "whole numbers, {} different"
"""Why a column of few whole numbers is one of levels: its counts tell all that numbers do."""


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
    known, block_of : the family, and the block, of each feature, by name.
    """

    blocks: tuple[Block, ...]
    why: dict[str, str]
    missing: tuple[str, ...] = MISSING
    known: dict[str, Family] = field(init=False, repr=False, compare=False)
    block_of: dict[str, Block] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        block_of = {name: block for block in self.blocks for name in block.names}
        object.__setattr__(self, "block_of", block_of)
        known = {name: block.family for name, block in block_of.items()}
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
        self, batch: pa.RecordBatch | pa.Table | SparseTable, without: Collection[str] = ()
    ) -> tuple[Blocks, dict[str, Unfit]]:
        """(the rows as the families take them, what they cannot take, by column).

        Columns that are absent count as missing, and so do those that are to be left out.

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
        given = {
            name: batch.column(name)
            for name in batch.schema.names
            if name in self.known and name not in without
        }
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

    @property
    def varying(self) -> Schema:
        """The schema without the columns that have one value, or none, in the first rows."""
        blocks = [
            Block(block.family, tuple(n for n in block.names if self.why[n] not in UNVARIED))
            for block in self.blocks
        ]
        return replace(self, blocks=tuple(block for block in blocks if block.names))

    def check_any(self, purpose: str) -> None:
        """Raise ValueError, saying for what, if no column is left."""
        if not self.names:
            left_out = reasons(self.why) or "there are none"
            raise ValueError(f"no column is left to {purpose} ({left_out})")


def reasons(left_out: Mapping[str, str]) -> str:
    """Why the first of some columns are left out."""
    return "; ".join(f"{name}: {why}" for name, why in list(left_out.items())[:10])


def together(blocks: Iterable[Block], numeric: Family | None = None) -> tuple[Block, ...]:
    """Single columns of equal families in one block, for speed; and all those of `numeric`."""
    shared: list[tuple[Family, list[str]]] = []
    for block in blocks:
        alone = len(block.names) == 1 and block.divisible
        names = next(
            (
                names
                for family, names in shared
                if block.family is numeric is family or (alone and _equal(family, block.family))
            ),
            None,
        )
        if names is None:
            shared.append((block.family, list(block.names)))
        else:
            names.extend(block.names)
    return tuple(Block(family, tuple(names)) for family, names in shared)


def _equal(a: Family, b: Family) -> bool:
    """Whether columns of these families can share a block."""
    return type(a) is type(b) and Block(a, ()).divisible and a == b


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
        given = values.numbers(found[name], missing)
        column[:] = given.values
        outside = (column < low) | (column > high)
        examples = [] if given.example is None else [given.example]
        if outside.any():
            examples.append(min(np.unique(column[outside]).tolist(), key=str))
            column[outside] = np.nan
        if examples:
            count = int(given.invalid.sum()) + int(outside.sum())
            unfit[name] = Unfit(count, min(examples, key=str))
    return table.T
