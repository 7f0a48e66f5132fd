"""Describe the columns of a model: in which blocks they are, with which families, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from naively.core.exact import Int64
from naively.core.issues import Invalid, Issue, brief
from naively.core.markup import as_missing, counted
from naively.families.base import AnyFamily, unlike
from naively.families.product import Product
from naively.statistics.base import Data, Statistics, Summary
from naively.statistics.blocks import (
    BlockPlace,
    Blocks,
    BlockStatistics,
    Summaries,
    columns_among,
)

WhyKind = Literal[
    "rule", "asked", "array", "chosen", "constant", "no values", "few numbers", "counts", "truths",
    "levels", "identifier",
]  # fmt: skip
ColumnType = Literal["categorical", "numeric"]
"""A type that the source or the user declares for a column."""


@dataclass(frozen=True)
class Why:
    """Why a column has its family, or is left out.

    kind : the reason for programs; "rule" if none of them needs it.
    """

    text: str
    kind: WhyKind = "rule"

    @property
    def open(self) -> bool:
        """Whether the column's type is still open: it has at most one value so far."""
        return self.kind in ("constant", "no values")


SPECIFIED = Why("as specified", "asked")
ARRAY = Why("array", "array")
CONSTANT = Why("constant", "constant")
NO_VALUES = Why("no values", "no values")
DATES = Why("dates or times")


class NoColumnError(ValueError):
    """All columns of a table are left out."""


class ColumnNumbers(Sequence[str]):
    """x0, x1, ...: the names of array columns that have none."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __len__(self) -> int:
        return self.width

    def __getitem__(self, k: Any) -> Any:
        numbers = range(self.width)[k]
        return f"x{numbers}" if isinstance(numbers, int) else [f"x{n}" for n in numbers]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ColumnNumbers) and self.width == other.width

    def __hash__(self) -> int:
        return hash(self.width)


@dataclass(frozen=True)
class Block:
    """Columns that share one family."""

    family: AnyFamily
    names: Sequence[str]

    def __post_init__(self) -> None:
        if self.family.summary.of_texts and len(self.names) > 1:
            raise ValueError(
                f"the columns {', '.join(map(repr, self.names))} cannot share one text family: "
                "name each by itself"
            )


@dataclass(frozen=True)
class Counted:
    """Columns that share one summary."""

    summary: Any
    names: Sequence[str]


@dataclass(frozen=True)
class Schema:
    """The columns of a model.

    blocks : tuple of Block. A column may be in several.
    reasons : the `Why` of each column, in the order of the table; None for an array.
    types : column types that the source or the user declared, sorted by name.
    """

    blocks: tuple[Block, ...]
    reasons: dict[str, Why] | None
    missing: tuple[str, ...] = ()
    types: Mapping[str, ColumnType] = field(default_factory=dict)

    @classmethod
    def of_array(
        cls, family: AnyFamily, n_features: int, names: Sequence[str] | None = None
    ) -> Schema:
        """Return the schema of an array: one block of all columns, with or without names."""
        columns = ColumnNumbers(n_features) if names is None else tuple(names)
        return cls((Block(family, columns),), None)

    def __getstate__(self) -> dict[str, Any]:  # another thread may be caching a property
        return {field.name: getattr(self, field.name) for field in fields(self)}

    # ---- columns -----------------------------------------------------------------------------

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The names of the features; None if the columns of an array have none."""
        return None if self.blocks and isinstance(self.names, ColumnNumbers) else self.names

    @cached_property
    def names(self) -> Sequence[str]:
        """The feature names, block by block."""
        if len(self.blocks) == 1:
            return self.blocks[0].names
        return list(dict.fromkeys(name for block in self.blocks for name in block.names))

    @cached_property
    def why(self) -> dict[str, str]:
        """The reason for each column's family, or for leaving it out, in the order of the table."""
        reasons = dict.fromkeys(self.names, ARRAY) if self.reasons is None else self.reasons
        return {name: reason.text for name, reason in reasons.items()}

    def reason(self, name: str) -> Why:
        """Return the `Why` of one column."""
        return ARRAY if self.reasons is None else self.reasons[name]

    @cached_property
    def blocks_of(self) -> dict[str, list[Block]]:
        """The blocks of each feature, by name."""
        blocks: dict[str, list[Block]] = {}
        for block in self.blocks:
            for name in block.names:
                blocks.setdefault(name, []).append(block)
        return blocks

    @cached_property
    def family_of(self) -> dict[str, AnyFamily]:
        """The family of each feature, by name."""
        return {name: self.blocks_of[name][0].family for name in self.names}

    @property
    def ordered(self) -> list[str]:
        """The features in the order of the table."""
        return [name for name in self.why if name in self.family_of]

    @property
    def skipped(self) -> dict[str, str]:
        """The columns that are left out, with the reason."""
        return {name: why for name, why in self.why.items() if name not in self.family_of}

    # ---- what is counted, and what is estimated ----------------------------------------------

    @cached_property
    def parts(self) -> tuple[Counted, ...]:
        """The summaries to count, each with its columns, without duplicates."""
        groups: list[tuple[Summary[Any], list[Sequence[str]]]] = []
        for block in self.blocks:
            summary = block.family.summary
            for group_summary, name_lists in groups:
                if group_summary == summary and (summary.by_column or name_lists[0] == block.names):
                    name_lists.append(block.names)
                    break
            else:
                groups.append((summary, [block.names]))
        return tuple(Counted(summary, _merged(name_lists)) for summary, name_lists in groups)

    @cached_property
    def places(self) -> tuple[BlockPlace, ...]:
        """The part that holds the columns of each block, and where."""
        block_places = []
        for block in self.blocks:
            summary = block.family.summary
            k, part = next(
                (k, part)
                for k, part in enumerate(self.parts)
                if part.summary == summary and (summary.by_column or part.names == block.names)
            )
            columns = columns_among(part.names, block.names)
            block_places.append(BlockPlace(k, columns, self._numbers(block.names)))
        return tuple(block_places)

    @cached_property
    def text_column(self) -> str | None:
        """The name of the only column, if it is a text column."""
        block = self.blocks[0] if len(self.names) == 1 else None
        return block.names[0] if block and block.family.summary.of_texts else None

    @property
    def is_single(self) -> bool:
        """Whether there is one block, so that rows and statistics are those of its family."""
        return len(self.blocks) == 1

    @cached_property
    def summary(self) -> Any:
        """The summary of all columns."""
        if self.is_single:
            return self.blocks[0].family.summary
        return Summaries(
            tuple(part.summary for part in self.parts),
            tuple(len(part.names) for part in self.parts),
            tuple(self._numbers(part.names) for part in self.parts),
        )

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    def _numbers(self, names: Sequence[str]) -> Int64:
        """Return the positions of features."""
        return np.array([self._number[name] for name in names], np.int64)

    @cached_property
    def family(self) -> AnyFamily:
        """The families of all blocks combined; with a single block, its family."""
        if self.is_single:
            return self.blocks[0].family
        return Product(
            tuple(block.family for block in self.blocks), self.places, self.summary,
            len(self.names),
        )  # fmt: skip

    def rows(self, parts: list[Data], n_rows: int) -> Data:
        """Combine the rows of each part into rows for the model."""
        return parts[0] if self.is_single else Blocks(parts, n_rows)

    def statistics(self, parts: list[Statistics]) -> Statistics:
        """Combine the statistics of each part into those of the model."""
        return parts[0] if self.is_single else BlockStatistics(parts)

    def parts_of(self, whole: Any) -> list[Any]:
        """Split statistics into those of each part, or parameters into those of each block."""
        return [whole] if self.is_single else list(whole.parts)

    def rows_of(self, rows: Data) -> list[Data]:
        """Split rows into those of each block."""
        if self.is_single:
            return [rows]
        return [rows.of(k, place) for k, place in enumerate(self.places)]

    def invalid_values(self, invalid: Mapping[str, Invalid], verb: str) -> list[Issue]:
        """Return an issue for each column with values that are invalid for its family.

        `verb` completes "cannot be ...": read, or used.
        """
        return [
            Issue(
                "invalid",
                f"column {name!r} ({bad.kind or self.family_of[name].name}): "
                f"{counted(bad.count, 'value')} such as {brief(bad.example)} cannot be {verb} and "
                f"{as_missing(bad.count)}",
            )
            for name, bad in invalid.items()
        ]

    # ---- columns whose type follows from their values --------------------------------------------

    @cached_property
    def open(self) -> Block | None:
        """The block of columns without a declared type; None if there is none."""
        return next((block for block in self.blocks if block.family.name == "inferred"), None)

    @cached_property
    def declared(self) -> tuple[Block, ...]:
        """The blocks of all other columns."""
        names = {*self.open.names} if self.open else set()
        return tuple(block for block in self.blocks if names.isdisjoint(block.names))

    @cached_property
    def bare(self) -> Schema:
        """The schema without additional sums for columns of many distinct values."""
        return self.counting((), ())

    def counting(self, numbers: Iterable[str], texts: Iterable[str]) -> Schema:
        """Return the schema that also counts sums of some numeric and of some text columns.

        These have too many distinct values to store them all.
        """
        if self.open is None:
            return self
        family: Any = self.open.family
        numeric_names, text_names = {*numbers}, {*texts}
        blocks = [self.open, *self.declared]
        if numeric_columns := tuple(name for name in self.open.names if name in numeric_names):
            blocks.append(Block(family.of_numbers, numeric_columns))
        texts = [name for name in self.open.names if name in text_names]
        blocks += [Block(family.of_texts(name), (name,)) for name in texts]
        if [block.names for block in blocks] == [block.names for block in self.blocks]:
            return self
        return replace(self, blocks=tuple(blocks))

    @property
    def summed(self) -> tuple[set[str], set[str]]:
        """The numeric and the text columns whose sums are counted in addition to their values."""
        open_names = {*self.open.names} if self.open else set()
        columns: tuple[set[str], set[str]] = set(), set()
        for block in self.blocks:
            if block is not self.open and not open_names.isdisjoint(block.names):
                columns[block.family.summary.of_texts].update(block.names)
        return columns

    # ---- other schemas -----------------------------------------------------------------------

    def declaring(self, types: Mapping[str, ColumnType]) -> Schema:
        """Add the declared types of another schema.

        Raises ValueError for a column that is categorical in one and numeric in the other.
        """
        if types.items() <= self.types.items():
            return self
        for name, kind in types.items():
            if self.types.get(name, kind) != kind:
                raise ValueError(
                    f"column {name!r} was declared {self.types[name]} in one model and {kind} in "
                    "the other: declare the same in both"
                )
        schema = replace(self, types=dict(sorted({**self.types, **types}.items())))
        return schema if self.open is None else schema._settled()

    def _settled(self) -> Schema:
        """Move columns that are declared categorical from the open block to blocks of their own."""
        assert self.open is not None
        categorical = {n for n in self.open.names if self.types.get(n) == "categorical"}
        if not categorical:
            return self
        family: Any = self.open.family
        open_names = tuple(name for name in self.open.names if name not in categorical)
        declared, reasons = [*self.declared], dict(self.reasons or {})
        for name in self.open.names:
            if name in categorical:
                declared_family, reasons[name] = declared_categorical(family, name)
                declared.append(Block(declared_family, (name,)))
        blocks = [Block(family, open_names)] if open_names else []
        blocks += together(declared, family.numeric)
        settled = replace(self, blocks=tuple(blocks), reasons=reasons)
        return settled.counting(*(names - categorical for names in self.summed))

    def refuse_unlike(self, other: Schema) -> None:
        """Raise ValueError, with the reason, unless both count the same over the same columns."""
        if self.blocks is other.blocks:
            return
        for own_part, other_part in zip(self.parts, other.parts, strict=False):
            if own_part.summary != other_part.summary:
                raise ValueError(
                    "cannot combine models whose statistics differ: "
                    f"{unlike(self._reader(own_part), other._reader(other_part))}"
                )
        if len(self.names) != len(other.names):
            raise ValueError(
                f"cannot combine a model of {len(self.names)} features with one of "
                f"{len(other.names)}"
            )
        names, other_names = self.feature_names, other.feature_names
        if names is not None and other_names is not None and [*names] != [*other_names]:
            raise ValueError(f"cannot combine models of different features: {names}, {other_names}")
        if max(len(self.parts), len(other.parts)) == 1:
            return
        columns = [tuple(part.names) for part in self.parts]
        if columns != [tuple(part.names) for part in other.parts]:
            raise ValueError("cannot combine models whose blocks of columns differ")

    def _reader(self, part: Counted) -> AnyFamily:
        """Return a family that is estimated from the statistics of a part."""
        return next(b.family for b in self.blocks if b.family.summary == part.summary)

    def named(self, names: Sequence[str], missing: tuple[str, ...]) -> Schema:
        """Convert the schema of an array to that of a table with these column names."""
        (block,) = self.blocks
        return Schema((replace(block, names=tuple(names)),), dict.fromkeys(names, ARRAY), missing)

    def with_family(self, family: AnyFamily) -> Schema:
        """Return the schema with another family for its only block."""
        (block,) = self.blocks
        current = vars(block.family)
        if all(current.get(name) is value for name, value in vars(family).items()):
            return self  # equal hyperparameters: reuse what is cached
        return replace(self, blocks=(replace(block, family=family),))

    def of_classes(self, classes: Int64, n_classes: int) -> Schema:
        """Restrict the smoothing of the families to some of `n_classes` classes."""
        families = [block.family.of_classes(classes, n_classes) for block in self.blocks]
        pairs = list(zip(self.blocks, families, strict=True))
        if all(family is block.family for block, family in pairs):
            return self
        return replace(self, blocks=tuple(replace(b, family=family) for b, family in pairs))

    @property
    def varying(self) -> Schema:
        """The schema without the columns that have at most one value so far."""
        blocks = [
            Block(block.family, tuple(n for n in block.names if not self.reason(n).open))
            for block in self.blocks
        ]
        return replace(self, blocks=tuple(block for block in blocks if block.names))

    def check_any(self, purpose: str) -> None:
        """Raise NoColumnError, with the purpose, if no column is left."""
        if not self.blocks:
            left_out = brief_reasons(self.why) or "there are none"
            raise NoColumnError(f"no column is left to {purpose} ({left_out})")


def declared_categorical(family: Any, name: str) -> tuple[AnyFamily, Why]:
    """Return (the family of a column that is declared categorical, the reason).

    `family` is the `Inferred` family of the other columns.
    """
    kind: WhyKind = "rule" if family.levels is None else "levels"
    return family.categorical(name), Why("declared categorical", kind)


def together(blocks: Iterable[Block], numeric: AnyFamily | None = None) -> tuple[Block, ...]:
    """Merge single columns of equal families into one block, for speed; and those of `numeric`.

    Columns of a family that takes whole rows are sorted, so that its structure does not depend on
    their order in the table.
    """
    shared: list[tuple[AnyFamily, list[str]]] = []
    for block in blocks:
        block_family = block.family
        single_column = len(block.names) == 1 and block_family.by_column
        for family, names in shared:
            if block_family is numeric is family or (
                single_column and family.by_column and family == block_family
            ):
                names.extend(block.names)
                break
        else:
            shared.append((block_family, list(block.names)))
    return tuple(
        Block(family, tuple(sorted(names) if family.summary.takes == "cells" else names))
        for family, names in shared
    )


def brief_reasons(left_out: Mapping[str, str]) -> str:
    """Return the reasons why the first ten of some columns are left out."""
    return "; ".join(f"{name}: {why}" for name, why in list(left_out.items())[:10])


def _merged(lists: list[Sequence[str]]) -> Sequence[str]:
    """Return the union of several lists of names, in order of first occurrence."""
    if len(lists) == 1:
        return lists[0]
    return tuple(dict.fromkeys(name for names in lists for name in names))
