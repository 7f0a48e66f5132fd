"""Evidence of the leaves of a decision tree: rules of more conditions than tables of cells have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.markup import counted
from naively.core.workers import Workers
from naively.formula import Tree as TreeTerm
from naively.kernels import scores as kernel
from naively.pooling.bins import FINE, Coded, Column
from naively.pooling.blocks.base import (
    Block,
    Bools,
    FoldedRows,
    OutOfFold,
    Rows,
    checked,
    checked_numbers,
    relative,
)
from naively.pooling.blocks.cells import cut
from naively.pooling.entries import PARTS
from naively.pooling.screening import Expected
from naively.pooling.weights import Float32
from naively.statistics.base import Arrays

LEAVES = 256
"""Leaves, at most."""
FEWEST, LEAST = 2.0, 2.0
"""Rows on each side of a cut, at least; nats of log-likelihood that a cut gains, at least."""
STRENGTH = 1.0
"""Expected rows that each leaf has in addition."""
GROWN, LEAST_GROWN = 2_000_000, 20_000
"""Rows × columns that trees are grown from, at most; but at least this many rows."""
TRIED = 3
"""Folds that show whether a tree may gain enough."""
WIDEST = 256
"""Bins of a column, at most: columns of more categories are in no tree."""
LEAF = -1


@dataclass(frozen=True)
class Tree(Block):
    """A decision tree.

    It is grown from the counts of classes, greedily: each cut separates the classes of the rows of
    a leaf best. The evidence of a leaf follows from the classes of its rows and from what the model
    expects of them, as that of the cells of an interaction.

    Attributes
    ----------
    columns : their numbers, sorted.
    nodes : (M, 4) int64, a row (column, first, last, child) for each node. Rows whose fine bin of
        the column, an index into `columns`, is from `first` to `last` go to the node `child`,
        others to the next one. Of leaves the column is -1.
    table : (M, C), the evidence of each leaf, in nats; 0 of other nodes.
    """

    nodes: Int64
    table: Float64 = field()

    tag = "tree"

    # ---- fitting ---------------------------------------------------------------------------------

    @classmethod
    def beyond(
        cls, rows: FoldedRows, columns: Sequence[int], expected: Expected, min_gain: float,
        workers: Workers,
    ) -> OutOfFold | None:  # fmt: skip
        """Fit the evidence of a tree of some columns beyond the expectations of the model.

        The tree that scores a fold is grown without it. Return None if the tree does not gain more
        than `min_gain` in out-of-fold log-likelihood, in nats. The first folds show whether it may,
        and the others are left out if not.
        """
        entries, once = rows.entries, rows.entries.once
        n, coded = len(once), rows.coded[FINE]
        columns = [j for j in columns if coded.sizes[j] <= WIDEST]
        sample, sample_weight = once.first(max(LEAST_GROWN, GROWN // max(1, len(columns))))
        codes = np.ascontiguousarray(coded.codes[columns][:, :n])
        sampled_codes = np.ascontiguousarray(codes[:, sample])
        ordered = np.array([rows.columns[j].is_number for j in columns], np.int64)
        means, variances = expected.weighed(once.weight, slice(n))

        def grown(part: int) -> Tree:
            is_used = once.part != part
            nodes = kernel.grow_tree(
                sampled_codes, coded.sizes[columns], ordered, once.y[sample],
                sample_weight * is_used[sample], once.n_classes, FEWEST, LEAST, LEAVES,
            )  # fmt: skip
            leaves = kernel.leaves_of(codes, nodes)
            nested = part < PARTS and len(expected.others) > 0
            hoped = expected.others[:n, part].astype(np.float64) if nested else means
            counts = kernel.table(
                leaves, len(nodes), 1, np.zeros(n, np.int64), once.y, once.weight * is_used,
                hoped * is_used[:, np.newaxis], variances * is_used, np.empty(0, np.float32),
            )  # fmt: skip
            table = kernel.left_out_surprises(counts, rows.prior, STRENGTH)[:, 1]
            return cls(tuple(columns), nodes, table.astype(np.float64))._narrowed()

        without = list[Tree]()
        evidence = np.zeros((len(entries), entries.n_classes))
        for first, end in ((0, TRIED), (TRIED, PARTS)):
            without += workers.map(grown, range(first, end))
            for part in range(first, end):
                own = np.flatnonzero(entries.home == part)
                evidence[own] = without[part].table[without[part].leaves(coded, own)]
            if expected.gain(entries, evidence) * PARTS / end <= min_gain:
                return None
        return _OutOfFoldTree(grown(PARTS), entries, relative(evidence), without, coded)

    def _narrowed(self) -> Self:
        """The same without the columns that are in no node."""
        tests = self.nodes[:, 0]
        used, places = np.unique(tests[tests != LEAF], return_inverse=True)
        nodes = self.nodes.copy()
        nodes[tests != LEAF, 0] = places
        return replace(self, columns=tuple(self.columns[k] for k in used), nodes=nodes)

    def among(self, at: Int64, order: Int64, classes: Int64, columns: Sequence[Column]) -> Tree:
        """As the base class."""
        nodes, is_test = self.nodes.copy(), self.nodes[:, 0] != LEAF
        nodes[is_test, 0] = np.argsort(order)[nodes[is_test, 0]]
        table = np.ascontiguousarray(self.table[:, classes])
        return replace(self, columns=tuple(at[order].tolist()), nodes=nodes, table=table)

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return (len(self.nodes) + 1) // 2

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return self.n_leaves * self.table.shape[1]

    # ---- scores ----------------------------------------------------------------------------------

    def leaves(self, coded: Coded, rows: npt.NDArray[np.intp] | None = None) -> npt.NDArray[Any]:
        """The leaf of each row, or of the given rows, (n,)."""
        codes = coded.codes[list(self.columns)] if self.columns else coded.codes[:0]
        codes = codes if rows is None else codes[:, rows]
        return kernel.leaves_of(np.ascontiguousarray(codes), self.nodes)

    def add(self, rows: Rows, weight: float, out: Float64) -> None:
        """As the base class."""
        kernel.add_scores(self.leaves(rows.coded(FINE)), self.table, weight, out)

    @property
    def fits_incomplete(self) -> bool:
        """False: other columns may be missing."""
        return False

    def contributions(self, rows: Rows, weight: Float64, evidence: Float64) -> Float64:
        """As the base class: the columns on the path to the leaf share its evidence."""
        on_path = self._on_path[self.leaves(rows.coded(FINE))]
        share = on_path / on_path.sum(axis=1, keepdims=True)
        weighted: Float64 = weight[:, np.newaxis] * evidence.T
        return weighted[:, :, np.newaxis] * share[:, np.newaxis]

    @cached_property
    def _on_path(self) -> Bools:
        """Whether each column is on the path to each node, (M, k)."""
        on_path = np.zeros((len(self.nodes), len(self.columns)), bool)
        for k, (column, _, _, child) in enumerate(self.nodes.tolist()):
            if column != LEAF:
                on_path[child : child + 2] = on_path[k]
                on_path[child : child + 2, column] = True
        return on_path

    # ---- for people ------------------------------------------------------------------------------

    def what(self, columns: Sequence[Column], texts: Collection[int]) -> str:
        """As the base class."""
        return f"decision tree, {counted(self.n_leaves, 'leaf', 'leaves')}"

    # ---- files and exports -----------------------------------------------------------------------

    @classmethod
    def stored(cls, blocks: Sequence[Tree]) -> Arrays:
        """``tree.sizes`` : (K,) the nodes of each tree. ``tree.nodes``, ``tree.tables``: of all."""
        return {
            "tree.sizes": np.array([len(block.nodes) for block in blocks], np.int64),
            "tree.nodes": np.concatenate([block.nodes for block in blocks]),
            "tree.tables": np.concatenate([block.table for block in blocks]),
        }

    @classmethod
    def read(
        cls, arrays: Arrays, places: Sequence[tuple[int, ...]], columns: Sequence[Column],
        n_classes: int,
    ) -> list[Tree]:  # fmt: skip
        """As the base class."""
        sizes = checked(arrays, "tree.sizes", np.int64, (len(places),))
        nodes = checked(arrays, "tree.nodes", np.int64, (None, 4))
        tables = checked_numbers(arrays, "tree.tables", (len(nodes), n_classes))
        if (sizes < 1).any() or (sizes > len(nodes)).any() or sizes.sum() != len(nodes):
            raise ValueError("the nodes do not belong to the trees")
        ends = pairwise(np.cumsum([0, *sizes]).tolist())
        blocks = [
            cls(block, nodes[start:end], tables[start:end])
            for block, (start, end) in zip(places, ends, strict=True)
        ]
        if not all(map(cls._is_tree, blocks)):
            raise ValueError("nodes in it are not those of a tree")
        return blocks

    def _is_tree(self) -> bool:
        """Whether each node but the first is the child of one before it, and all columns occur."""
        tests, child = self.nodes[:, 0], self.nodes[:, 3]
        is_test = tests != LEAF
        children = child[is_test]
        return (
            len(self.nodes) > 1
            and np.array_equal(np.unique(tests[is_test]), np.arange(len(self.columns)))
            and bool((children > np.flatnonzero(is_test)).all())
            and np.array_equal(np.sort(children), np.arange(1, len(self.nodes), 2))
            and len(self.nodes) % 2 == 1
        )

    def term(self, names: Sequence[str], columns: Sequence[Column], weight: float) -> TreeTerm:
        """As the base class."""
        cuts = tuple(cut(names[j], columns[j], FINE) for j in self.columns)
        return TreeTerm(cuts, self.nodes, weight * self.table)


@dataclass(frozen=True, eq=False)
class _OutOfFoldTree(OutOfFold):
    """A tree, with the trees without each fold of the first assignment.

    Attributes
    ----------
    without : (folds,)
    coded : the bins of the entries.
    """

    without: Sequence[Tree]
    coded: Coded

    @cached_property
    def _all(self) -> Float32:
        """The evidence without each fold, and of all, (entries, folds + 1, C - 1)."""
        assert isinstance(self.block, Tree)
        first = np.arange(len(self.entries.once))
        trees = (*self.without, self.block)
        return np.stack([relative(one.table[one.leaves(self.coded, first)]) for one in trees], 1)

    def add_all(self, weight: float, rows: npt.NDArray[np.intp], out: Float32) -> None:
        """As the base class; the folds are those of the first assignment alone."""
        first = self.entries.repeat[rows] == 0
        out[first] += np.float32(weight) * self._all[rows[first]]
