"""Evidence of the leaves of decision trees: rules of more conditions than tables of cells have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.hashing import GOLDEN, mixed
from naively.core.markup import counted
from naively.core.workers import Workers
from naively.formula import Trees as TreesTerm
from naively.kernels import scores as kernel
from naively.pooling.bins import FINE, Column
from naively.pooling.blocks.base import (
    Block,
    Bools,
    CellsOf,
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

LEFT_OUT = (0, 1, 3, 7), (0, 2, 5, 6), (0, 4, 5, 8), (0, 2, 3, 9)
"""Folds that the first ten trees are grown without, the next ten, and so on: these plus the number
of the tree, modulo ten. So sixteen trees are grown without each fold."""
TREES = PARTS * len(LEFT_OUT)  # number of trees
COLUMNS = 0.7  # share of the columns that a tree has; every `WHOLE`-th tree has all of them
WHOLE = 4
LEAVES = 256  # leaves of a tree, at most
FEWEST, LEAST = 2.0, 1.0
"""Rows on each side of a cut, at least; nats of log-likelihood that a cut gains, at least."""
STRENGTH = 0.3  # expected rows that each leaf has in addition
GROWN, LEAST_GROWN = 1_000_000, 20_000
"""Rows × columns that a tree is grown from, at most; but at least this many rows."""
WIDEST = 256  # bins of a column, at most: columns of more categories are in no tree
LEAF = -1


@dataclass(frozen=True)
class Trees(Block):
    """Decision trees, whose mean is evidence: a random forest (Breiman 2001).

    Each is grown from six of the ten folds and a part of the columns, from the counts of classes,
    greedily: each cut separates the classes of the rows of a leaf best. The evidence of a leaf
    follows from the classes of its rows and from what the model expects of them, as that of the
    cells of an interaction.
    """

    roots: Int64  # (T,) int64, the first node of each tree
    # (M, 4) int64, a row (column, first, last, child) for each node. Rows whose fine bin of the
    # column, an index into `columns`, is from `first` to `last` go to the node `child`, others to
    # the next one. Of leaves the column is -1
    nodes: Int64
    table: Float64 = field()  # (M, C), the evidence of each leaf, in nats; 0 of other nodes

    tag = "trees"

    @classmethod
    def beyond(
        cls, rows: FoldedRows, columns: Sequence[int], expected: Expected, min_gain: float,
        workers: Workers,
    ) -> OutOfFold | None:  # fmt: skip
        """Fit the evidence of trees of some columns beyond the expectations of the model.

        A fold is scored by the mean of the trees that are grown without it, with the counts of the
        other folds. Return None if they do not gain more than `min_gain` in out-of-fold
        log-likelihood, in nats, or the first of them not half of it.
        """
        entries, once, coded = rows.entries, rows.entries.once, rows.coded[FINE]
        n, moments = len(once), expected.weighed(once.weight, slice(len(once)))
        columns = [j for j in columns if coded.sizes[j] <= WIDEST]
        codes = np.ascontiguousarray(coded.codes[columns][:, :n])
        sizes = coded.sizes[columns]
        ordered = np.array([rows.columns[j].is_number for j in columns], np.int64)

        def grown(tree: int) -> tuple[Int64, CellsOf, Float32]:
            tree_columns = _columns(tree, len(columns))
            sample, weight = once.first(max(LEAST_GROWN, GROWN // len(tree_columns)), tree)
            nodes = kernel.grow_tree(
                codes[np.ix_(tree_columns, sample)], sizes[tree_columns], ordered[tree_columns],
                once.y[sample],
                weight * ~_left_out(tree)[once.part[sample]], once.n_classes,
                FEWEST, LEAST, LEAVES,
            )  # fmt: skip
            is_test = nodes[:, 0] != LEAF
            nodes[is_test, 0] = tree_columns[nodes[is_test, 0]]
            leaves = kernel.leaves_of(codes, nodes, np.zeros(1, np.int64))[0]
            counts = kernel.table(
                leaves, len(nodes), PARTS, once.part, once.y, once.weight, *moments,
                expected.others[:n],
            )  # fmt: skip
            table = kernel.left_out_surprises(counts, rows.prior, STRENGTH)
            return nodes, leaves, table if len(nodes) > 1 else np.zeros_like(table)

        total, divisor = np.zeros((n, entries.n_classes)), 0
        all_nodes, tables, roots = list[Int64](), list[Float32](), [0]
        for first in range(0, TREES, PARTS):
            group = range(first, first + PARTS)
            for tree, (nodes, leaves, table) in zip(group, workers.map(grown, group), strict=True):
                is_scored = np.flatnonzero(_left_out(tree)[once.part])
                total[is_scored] += table[leaves[is_scored], once.part[is_scored]]
                nodes[nodes[:, 0] != LEAF, 3] += roots[-1]
                all_nodes.append(nodes)
                tables.append(table[:, PARTS])
                roots.append(roots[-1] + len(nodes))
            divisor += len(LEFT_OUT[first // PARTS])
            evidence = np.tile(total / divisor, (entries.n_repeats, 1))
            gain = expected.gain(entries, evidence)
            if gain <= min_gain * (0.5 if group.stop < TREES else 1.0):
                return None
        block = cls(
            tuple(columns), np.array(roots[:-1]), np.concatenate(all_nodes),
            np.concatenate(tables).astype(np.float64),
        )  # fmt: skip
        return OutOfFold(block._narrowed(), entries, relative(evidence))

    def _narrowed(self) -> Self:
        """The same without the columns that are in no node."""
        tests = self.nodes[:, 0]
        used, places = np.unique(tests[tests != LEAF], return_inverse=True)
        nodes = self.nodes.copy()
        nodes[tests != LEAF, 0] = places
        return replace(self, columns=tuple(self.columns[k] for k in used), nodes=nodes)

    def among(self, at: Int64, order: Int64, classes: Int64, columns: Sequence[Column]) -> Trees:
        """As the base class."""
        nodes, is_test = self.nodes.copy(), self.nodes[:, 0] != LEAF
        nodes[is_test, 0] = np.argsort(order)[nodes[is_test, 0]]
        table = self.table[:, classes]
        return replace(self, columns=tuple(at[order].tolist()), nodes=nodes, table=table)

    @property
    def n_leaves(self) -> int:
        """The number of leaves of all trees."""
        return int((self.nodes[:, 0] == LEAF).sum())

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return self.n_leaves * self.table.shape[1]

    def leaves(self, rows: Rows) -> npt.NDArray[np.uint32]:
        """The leaf of each row in each tree, (T, n)."""
        codes = np.ascontiguousarray(rows.coded(FINE).codes[list(self.columns)])
        return kernel.leaves_of(codes, self.nodes, self.roots)

    def add(self, rows: Rows, weight: float, out: Float64) -> None:
        """As the base class."""
        for leaves in self.leaves(rows):
            kernel.add_scores(leaves, self.table, weight / len(self.roots), out)

    @property
    def fits_incomplete(self) -> bool:
        """False: other columns may be missing."""
        return False

    def contributions(self, rows: Rows, weight: Float64, evidence: Float64) -> Float64:
        """As the base class: the columns on the path to a leaf share its evidence."""
        shares = np.zeros((len(rows), evidence.shape[0], len(self.columns)))
        for leaves in self.leaves(rows):
            on_path = self._on_path[leaves]
            share = on_path / np.maximum(on_path.sum(axis=1, keepdims=True), 1)
            shares += self.table[leaves][:, :, np.newaxis] * share[:, np.newaxis]
        weighted: Float64 = (weight / len(self.roots))[:, np.newaxis, np.newaxis] * shares
        return weighted

    @cached_property
    def _on_path(self) -> Bools:
        """Whether each column is on the path to each node, (M, k)."""
        on_path = np.zeros((len(self.nodes), len(self.columns)), bool)
        for k, (column, _, _, child) in enumerate(self.nodes.tolist()):
            if column != LEAF:
                on_path[child : child + 2] = on_path[k]
                on_path[child : child + 2, column] = True
        return on_path

    def what(self, columns: Sequence[Column], texts: Collection[int]) -> str:
        """As the base class."""
        trees = counted(len(self.roots), "decision tree")
        return f"{trees}, {counted(self.n_leaves, 'leaf', 'leaves')}"

    @classmethod
    def stored(cls, blocks: Sequence[Trees]) -> Arrays:
        """``trees.counts``, ``trees.sizes`` : (K,) the trees and the nodes of each block.
        ``trees.roots``, ``trees.nodes``, ``trees.tables`` : of all blocks.
        """
        return {
            "trees.counts": np.array([len(block.roots) for block in blocks], np.int64),
            "trees.sizes": np.array([len(block.nodes) for block in blocks], np.int64),
            "trees.roots": np.concatenate([block.roots for block in blocks]),
            "trees.nodes": np.concatenate([_packed(block.nodes) for block in blocks]),
            "trees.tables": np.concatenate([block.table for block in blocks]),
        }

    @classmethod
    def read(
        cls, arrays: Arrays, places: Sequence[tuple[int, ...]], columns: Sequence[Column],
        n_classes: int,
    ) -> list[Trees]:  # fmt: skip
        """As the base class."""
        roots = checked(arrays, "trees.roots", np.int64, (None,))
        nodes = checked(arrays, "trees.nodes", np.int64, (None, 4))
        tables = checked_numbers(arrays, "trees.tables", (len(nodes), n_classes))
        counts = checked(arrays, "trees.counts", np.int64, (len(places),))
        sizes = checked(arrays, "trees.sizes", np.int64, (len(places),))
        parts = zip(places, _slices(counts, len(roots)), _slices(sizes, len(nodes)), strict=True)
        blocks = [
            cls(place, roots[own_roots], _unpacked(nodes[own_nodes]), tables[own_nodes])
            for place, own_roots, own_nodes in parts
        ]
        for block in blocks:
            if not block._are_trees([columns[j].size(FINE) for j in block.columns]):
                raise ValueError("nodes in it are not those of trees")
        return blocks

    def _are_trees(self, sizes: Sequence[int]) -> bool:
        """Whether nodes but the roots are children of one before them in the same tree, all columns
        occur, and bins, of which a column has `sizes`, are cut as `kernel.grow_tree` does.
        """
        is_test = self.nodes[:, 0] != LEAF
        tests, first, last, child = self.nodes[is_test].T
        if not np.array_equal(np.unique(tests), np.arange(len(self.columns))):
            return False
        places, all_children = np.arange(len(self.nodes)), np.concatenate([child, child + 1])
        if not np.array_equal(np.sort(np.concatenate([self.roots, all_children])), places):
            return False
        tree = np.searchsorted(self.roots, places, side="right")
        return bool(
            (np.diff(self.roots) > 0).all()
            and (child > places[is_test]).all()
            and (tree[all_children] == np.tile(tree[is_test], 2)).all()
            and ((first == 0) | (first == last) | (last == np.array(sizes)[tests] - 2)).all()
        )

    def term(self, names: Sequence[str], columns: Sequence[Column], weight: float) -> TreesTerm:
        """As the base class."""
        cuts = tuple(cut(names[j], columns[j], FINE) for j in self.columns)
        return TreesTerm(cuts, self.roots, self.nodes, weight / len(self.roots) * self.table)


def _left_out(tree: int) -> Bools:
    """Whether a tree is grown without each fold, (folds,)."""
    is_left_out = np.zeros(PARTS, bool)
    is_left_out[(tree + np.array(LEFT_OUT[tree // PARTS])) % PARTS] = True
    return is_left_out


def _columns(tree: int, columns: int) -> Int64:
    """The columns of a tree, chosen by a hash of their places."""
    if tree % WHOLE == 0:
        return np.arange(columns)
    keys = mixed(np.arange(columns, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(tree))
    return np.sort(np.argsort(keys)[: round(COLUMNS * columns) or 1])


def _packed(nodes: Int64) -> Int64:
    """Nodes as small numbers: plus 1, and children relative to their parents; 0 of leaves."""
    small = nodes + 1
    small[:, 3] -= np.where(nodes[:, 0] == LEAF, 0, np.arange(len(nodes)))
    return small


def _unpacked(small: Int64) -> Int64:
    """The nodes of `_packed`."""
    nodes = small - 1
    nodes[:, 3] += np.where(nodes[:, 0] == LEAF, 0, np.arange(len(nodes)))
    return nodes


def _slices(sizes: Int64, total: int) -> list[slice]:
    """Consecutive slices of these sizes. Raises ValueError if they do not add up to `total`."""
    if (sizes < 1).any() or (sizes > total).any() or sizes.sum() != total:
        raise ValueError("the nodes do not belong to the trees")
    return [slice(*ends) for ends in pairwise(np.cumsum([0, *sizes]).tolist())]
