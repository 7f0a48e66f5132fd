"""Define the structure of `AutoBayes` (bins, blocks, weights), and how incomplete rows are scored.

A weight is right in the presence of the other evidence. Where cells are missing that were never
missing in training, the remaining evidence needs other weights: `Incomplete` has weights for single
columns, all numeric columns together and texts, which predict training rows best after cells were
removed at random. There is no bias, so that with every cell missing the posterior is the prior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.hashing import GOLDEN, mixed
from naively.core.issues import Invalid
from naively.formula import Formula, Gaps, MixedTexts, TextEvidence
from naively.pooling.bins import FINE, PAIRS, TRIPLES, Column, Lookup, as_numbers, fine_bins
from naively.pooling.blocks.base import Block, checked, checked_numbers
from naively.pooling.blocks.cells import cut
from naively.pooling.blocks.registry import kinds
from naively.pooling.entries import Entries, OutOfFoldPredictions
from naively.pooling.texts.term_weights import PriorMixing
from naively.statistics.base import Arrays
from naively.statistics.levels import Encoded, mixed_arrays, read_mixed

FAMILIAR = 5.0  # training rows with a missing value, at least, for the missing value to be evidence
EDGES = (0.8, 0.6, 0.4, 0.2)
"""Edges of the share of columns that are present: between two edges, one factor is used."""
FACTORS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0)  # factors of the evidence that are tried
LOOKED_AT = 20_000  # rows with missing cells that are examined, at most
SIMULATED, MOST_TIMES = 5000, 20
"""Simulated incomplete rows, about; copies of the same row among them, at most."""
PRESENT = 0.5  # share of the numbers of a normal density that must be present for it to be evidence


class Incomplete:
    """How rows with unfamiliar missing cells are scored.

    `estimate`: computes `weights` and `factors` when they are first needed: many models of
    cross-validation meet no such row. `familiar`: (d,) whether a missing value of a column is
    familiar, and so evidence. `most`: missing cells of a familiar row, at most. `together`: (P, 2)
    pairs of columns: wherever the first is missing, so is the second. `columns`: the columns of all
    blocks.
    """

    def __init__(
        self, estimate: Callable[[], tuple[Float64, Float64]],
        familiar: npt.NDArray[np.bool_], most: int, together: Int64, columns: Int64,
    ) -> None:  # fmt: skip
        self._estimate: Callable[[], tuple[Float64, Float64]] | None = estimate
        self._cached: tuple[Float64, Float64] | None = None
        self.familiar, self.most, self.together, self.columns = familiar, most, together, columns

    def estimated(self) -> tuple[Float64, Float64]:
        """The weights and the factors, computed once."""
        estimate = self._estimate
        if self._cached is None and estimate is not None:  # two threads may find the same
            self._cached = estimate()
            self._estimate = None  # which holds the training rows
        assert self._cached is not None
        return self._cached

    @property
    def weights(self) -> Float64:
        """(K,) of the blocks; 0 of interactions."""
        return self.estimated()[0]

    @property
    def factors(self) -> Float64:
        """(L,) by which evidence is multiplied, by the share of columns that are present."""
        return self.estimated()[1]

    def levels(self, missing_cells: npt.NDArray[np.bool_]) -> Int64:
        """For rows with missing cells (n, d): 0 if familiar, else 1 + the index of their factor."""
        missing = missing_cells[:, self.columns].sum(axis=1)
        unusual = (missing_cells & ~self.familiar).any(axis=1) | (missing > self.most)
        first, second = self.together.T
        unusual |= (missing_cells[:, first] & ~missing_cells[:, second]).any(axis=1)
        return np.where(unusual, 1 + places(1 - missing / max(1, len(self.columns))), 0)

    def among(self, columns: int, at: npt.NDArray[np.intp]) -> Incomplete:
        """The same in a table with `columns` columns, where these are at the positions `at`."""
        usual = np.ones(columns, bool)
        usual[at] = self.familiar
        columns_at = np.sort(at[self.columns])
        return Incomplete(self.estimated, usual, self.most, at[self.together], columns_at)


def places(share: Float64) -> Int64:
    """The index of the factor for each share of columns that are present."""
    indices: Int64 = (np.asarray(share)[..., np.newaxis] < np.array(EDGES)).sum(axis=-1)
    return indices


def familiar(
    missing_cells: npt.NDArray[np.bool_], weight: Float64, columns: Int64
) -> tuple[npt.NDArray[np.bool_], int, Int64]:
    """Find which missing cells are familiar from training.

    Return the columns whose missing values are familiar, (d,); the missing cells of a familiar
    row, at most; pairs of columns of which the second is missing wherever the first is, (P, 2).

    `missing_cells`, (R, d), are the missing cells of training rows with these weights; only
    `columns` count.
    """
    missing_cells = missing_cells[:, columns]
    usual = weight @ missing_cells >= FAMILIAR
    weight_by_count = np.bincount(missing_cells.sum(axis=1), weight)
    # the weight of rows with at least k missing cells
    tail_weight = weight_by_count[::-1].cumsum()[::-1]
    max_missing = int(np.flatnonzero(tail_weight >= FAMILIAR).max(initial=0))
    usual_columns = np.flatnonzero(usual)
    rows = np.flatnonzero(missing_cells.any(axis=1))[:LOOKED_AT]
    weighted = weight[rows, np.newaxis] * missing_cells[rows][:, usual_columns]
    weight_apart = weighted.T @ ~missing_cells[rows]
    j, k = np.nonzero(weight_apart < FAMILIAR)
    pairs = np.column_stack([usual_columns[j], k])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return usual, max_missing, columns[pairs]


def removed(rows: npt.NDArray[np.integer], columns: int) -> npt.NDArray[np.bool_]:
    """Choose cells to remove by a hash of row numbers, (n, columns): each row has another share."""
    seeds = mixed(rows.astype(np.uint64) * np.uint64(GOLDEN) + np.uint64(1))
    steps = np.arange(1, columns + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    cells: Any = seeds[:, np.newaxis] + steps
    return mixed(cells) < seeds[:, np.newaxis]


# ---- structure -----------------------------------------------------------------------------------


BINS = 1 << 16  # bins of a column, at most, in a file


@dataclass(frozen=True)
class Plan:
    """The structure of a model: bins, blocks of evidence and their weights."""

    columns: list[Column]  # the bins of each column
    blocks: list[Block]  # the evidence of columns and interactions
    weights: Float64  # (K,); 0 of blocks that only incomplete rows use
    bias: Float64  # (C,), in nats
    out_of_fold: OutOfFoldPredictions  # out-of-fold predictions of the training rows
    # how rows with unfamiliar missing cells are scored; None without evidence
    incomplete: Incomplete | None = None

    def among(self, columns: list[Column], places: Sequence[int], classes: Int64) -> Plan:
        """The same with the columns and classes of a table.

        `columns`: all columns of the table. `places`: the position in the table of each column of
        the structure. `classes`: (C,) the position in the table of each class of the structure.
        """
        table_columns, class_order = np.array(places), np.argsort(classes)
        blocks = []
        for block in self.blocks:
            at = table_columns[list(block.columns)]
            blocks.append(block.among(at, np.argsort(at), class_order, self.columns))
        incomplete = self.incomplete and self.incomplete.among(len(columns), table_columns)
        bias = self.bias[class_order]
        return replace(self, columns=columns, blocks=blocks, bias=bias, incomplete=incomplete)

    def of_classes(self, classes: Sequence[int]) -> Plan:
        """The same for some of its classes, in this order."""
        class_order = np.array(classes, np.int64)
        blocks = []
        for block in self.blocks:
            at = np.array(block.columns)
            blocks.append(block.among(at, np.arange(len(at)), class_order, self.columns))
        return replace(self, blocks=blocks, bias=self.bias[class_order])

    def recounted(self, entries: Entries) -> Plan:
        """The structure of a table with the evidence of single columns estimated again.

        With the entries that it was fitted to, the result is the structure itself, to the last bit.
        """
        positions = {j: k for k, j in enumerate(entries.columns.tolist())}
        columns = [self.columns[j] for j in positions]
        bins = [*map(Column.bins, columns, entries.levels)]
        codes = Lookup.of(columns, bins, FINE).coded(entries.codes).codes
        class_order, classes = np.argsort(entries.classes), entries.n_classes
        total = entries.class_weight()[:, 0].sum(axis=0) + 0.5
        prior = total / total.sum()

        def counted(block: Block) -> Block:
            if block.way != FINE or block.columns[0] not in positions:
                return block
            (j,) = block.columns
            cell = codes[positions[j]].astype(np.int64)[entries.row] * classes + entries.y
            size = self.columns[j].size(FINE) * classes
            counts = np.bincount(cell, entries.weight, size).reshape(-1, classes)
            at, order = np.array(block.columns), np.arange(1)
            block = block.among(at, order, entries.classes, self.columns)
            recounted = block.recounted(counts.astype(np.float64), prior, self.columns)
            return recounted.among(at, order, class_order, self.columns)

        return replace(self, blocks=[*map(counted, self.blocks)])

    def readable(
        self, X: Encoded, bins: Callable[[int], Int64]
    ) -> tuple[Encoded, dict[int, Invalid]]:
        """The rows, where text in columns that are cut as numbers or dates is missing; this text.

        Only columns with evidence are examined. `bins(j)` returns the fine bins of the values of
        column j; it is called only where one may be invalid.
        """
        invalid_values, codes, all_levels = dict[int, Invalid](), X.codes, [*X.levels]
        for j in sorted({j for block in self.blocks for j in block.columns}):
            column, levels = self.columns[j], X.levels[j]
            fits = not column.is_number or (levels.dtype.kind != "T" and not column.dated)
            if fits or not len(levels):
                continue
            counts = np.bincount(X.codes[:, j], minlength=len(levels) + 1)[:-1]
            is_invalid = (bins(j)[:-1] == column.size(FINE) - 1) & (counts > 0)
            if not is_invalid.any():
                continue
            example = min(map(str, levels[is_invalid].tolist()))
            kind = "date" if column.dated else "numeric"
            invalid_values[j] = Invalid(int(counts[is_invalid].sum()), example, kind)
            valid = levels[~is_invalid] if column.dated else as_numbers(levels[~is_invalid])
            all_levels[j], positions = np.unique(valid, return_inverse=True)
            new_codes = np.full(len(is_invalid) + 1, len(all_levels[j]))
            new_codes[np.flatnonzero(~is_invalid)] = positions
            codes = codes.copy() if codes is X.codes else codes
            codes[:, j] = new_codes[X.codes[:, j]]
        return (Encoded(codes, all_levels) if invalid_values else X), invalid_values

    @property
    def of_text(self) -> dict[int, Block]:
        """The text blocks with a weight in some rows, by their positions."""
        incomplete = self.incomplete
        return {
            k: block
            for k, block in enumerate(self.blocks)
            if block.reads_text and (self.weights[k] or (incomplete and incomplete.weights[k]))
        }

    @property
    def first_of_text(self) -> dict[int, Block]:
        """The first text block of each column: its terms decide if a text has known ones."""
        first_blocks = dict[tuple[int, ...], tuple[int, Block]]()
        for k, block in self.of_text.items():
            first_blocks.setdefault(block.columns, (k, block))
        return dict(first_blocks.values())

    def formula(self, names: Sequence[str], mixing: PriorMixing | None) -> Formula:
        """The weighted evidence as a formula.

        `names`: of all columns. `mixing`: the prior mixing of text evidence; None without.
        """
        weights = self.weights.tolist()
        incomplete = self.incomplete
        texts = {k: block.text_evidence(names) for k, block in self.of_text.items()}
        first_texts = [position for position, k in enumerate(texts) if k in self.first_of_text]
        no_bias = np.zeros_like(self.bias)
        terms = [
            block.term(names, self.columns, weight)
            for block, weight in zip(self.blocks, weights, strict=True)
            if weight and not block.reads_text
        ]
        text_terms = _mixed(texts, self.weights, self.bias, mixing, first_texts)
        formula = Formula(no_bias if texts else self.bias, [*terms, *text_terms])
        if incomplete is None:
            return formula
        columns = incomplete.columns.tolist()
        position = {j: k for k, j in enumerate(columns)}
        share = 1 - np.arange(len(columns) + 1) / max(1, len(columns))
        cuts = tuple(cut(names[j], self.columns[j], FINE) for j in columns)
        unfamiliar = tuple((~incomplete.familiar[incomplete.columns]).tolist())
        together = tuple((position[j], position[k]) for j, k in incomplete.together.tolist())
        factors = incomplete.factors[places(share)]
        present = [
            block.present_term(names, self.columns, weight)
            for block, weight in zip(self.blocks, incomplete.weights.tolist(), strict=True)
            if weight and not block.reads_text
        ]
        text_terms = _mixed(texts, incomplete.weights, no_bias, mixing, first_texts)
        gaps = Gaps(cuts, unfamiliar, incomplete.most, together, factors)
        return replace(formula, gaps=gaps, other=Formula(no_bias, [*present, *text_terms]))


def _mixed(
    texts: dict[int, TextEvidence], weights: Float64, bias: Float64, mixing: PriorMixing | None,
    first: Sequence[int],
) -> Iterator[MixedTexts]:  # fmt: skip
    """The evidence of all texts with these weights, mixed with the class prior, if there is any."""
    if not texts:
        return
    log_prior = np.zeros_like(bias) if mixing is None else mixing.log_prior
    share, unseen = (0.0, 0.0) if mixing is None else (mixing.share, mixing.unseen_share)
    yield MixedTexts(
        (*texts.values(),), tuple(weights[[*texts]].tolist()), bias, log_prior, share, unseen,
        tuple(first),
    )  # fmt: skip


# ---- files ---------------------------------------------------------------------------------------


def arrays_of(plan: Plan) -> Arrays:
    """A structure as arrays, for a file.

    ``is_text``, ``level_counts``, ``numbers``, ``text``, ``text_lengths`` : the values of each
    column, in the format of `naively.statistics.levels.mixed_arrays`.
    ``coarser`` : (6, bins of all columns) the bin of each fine bin, for the other ways to cut.
    ``kinds`` : the tags of the blocks, in UTF-8, separated by spaces.
    ``widths``, ``columns`` : (K,) how many columns each block has; the columns of all blocks.
    ``cells.tables`` and so on : the arrays of each kind of block, prefixed by its tag.
    ``weights``, ``bias`` : (K,) and (C,).
    ``dated`` : (d,) whether the numbers of each column are dates.
    ``log_loss``, ``sure``, ``right``, ``weight`` : (1,) and (n,), see `OutOfFoldPredictions`.
    ``incomplete.weights``, ``incomplete.factors``, ``incomplete.usual``, ``incomplete.most``,
    ``incomplete.together``, ``incomplete.columns`` : (K,), (L,), (d,), (1,), (P, 2) and (k,), see
    `Incomplete`; only if there is one.
    """
    coarser = [np.array(column.coarser[1:]) for column in plan.columns]
    tags = [block.tag for block in plan.blocks]
    arrays = {
        **mixed_arrays([column.levels for column in plan.columns]),
        "coarser": np.concatenate(coarser, axis=1).astype(np.uint16),
        "kinds": np.frombuffer(" ".join(tags).encode(), np.uint8),
        "widths": np.array([len(block.columns) for block in plan.blocks], np.int64),
        "columns": np.array([j for block in plan.blocks for j in block.columns], np.int64),
        "weights": plan.weights,
        "bias": plan.bias,
        "dated": np.array([column.dated for column in plan.columns], np.uint8),
        "log_loss": np.array([plan.out_of_fold.log_loss]),
        "sure": plan.out_of_fold.confidence.astype(np.float32),
        "right": plan.out_of_fold.correct.astype(np.uint8),
        "weight": plan.out_of_fold.weight.astype(np.float32),
    }
    for tag in dict.fromkeys(tags):
        same_tag = [block for block in plan.blocks if block.tag == tag]
        arrays |= same_tag[0].stored(same_tag)
    if (incomplete := plan.incomplete) is not None:
        arrays |= {
            "incomplete.weights": incomplete.weights,
            "incomplete.factors": incomplete.factors,
            "incomplete.usual": incomplete.familiar.astype(np.uint8),
            "incomplete.most": np.array([incomplete.most], np.int64),
            "incomplete.together": incomplete.together,
            "incomplete.columns": incomplete.columns,
        }
    return arrays


def plan_of(arrays: Arrays, n_columns: int, n_classes: int) -> Plan:
    """Read a structure from the arrays of `arrays_of`.

    Raises ValueError if the arrays are not a structure of this number of columns and classes.
    """
    columns = list(_columns(arrays, n_columns))
    blocks = _blocks(arrays, columns, n_classes)
    weights = checked_numbers(arrays, "weights", (len(blocks),))
    bias = checked_numbers(arrays, "bias", (n_classes,))
    incomplete = _incomplete(arrays, blocks, n_columns)
    return Plan(columns, blocks, weights, bias, _out_of_fold(arrays), incomplete)


def _incomplete(arrays: Arrays, blocks: list[Block], n_columns: int) -> Incomplete | None:
    """Read how incomplete rows are scored."""
    if "incomplete.weights" not in arrays:
        return None
    weights = checked_numbers(arrays, "incomplete.weights", (len(blocks),))
    factors = checked_numbers(arrays, "incomplete.factors", (len(EDGES) + 1,))
    usual = checked(arrays, "incomplete.usual", np.uint8, (n_columns,))
    most = int(checked(arrays, "incomplete.most", np.int64, (1,))[0])
    columns = checked(arrays, "incomplete.columns", np.int64, (None,))
    together = checked(arrays, "incomplete.together", np.int64, (None, 2))
    valid = np.append(columns, together)
    valid = (valid >= 0) & (valid < n_columns)
    if not valid.all() or (np.diff(columns) <= 0).any() or not 0 <= most <= n_columns:
        raise ValueError("incomplete rows are scored by columns that are not there")
    if (weights < 0).any() or (factors < 0).any() or (usual > 1).any():
        raise ValueError("weights of incomplete rows are negative")
    block_weights = zip(blocks, weights, strict=True)
    if any(weight > 0 and not block.fits_incomplete for block, weight in block_weights):
        raise ValueError("several columns together are no evidence of incomplete rows")
    estimates = weights, factors
    return Incomplete(lambda: estimates, usual.astype(bool), most, together, columns)


def _out_of_fold(arrays: Arrays) -> OutOfFoldPredictions:
    """Read the out-of-fold predictions."""
    log_loss = float(checked_numbers(arrays, "log_loss", (1,))[0])
    confidence = checked(arrays, "sure", np.float32, (None,))
    right = checked(arrays, "right", np.uint8, confidence.shape)
    weight = checked(arrays, "weight", np.float32, confidence.shape)
    # sums of float32 may exceed 1 by rounding
    if not ((confidence >= 0) & (confidence <= 1.001)).all():
        raise ValueError("a probability in 'sure' is none")
    if (right > 1).any() or not ((weight > 0) & np.isfinite(weight)).all():
        raise ValueError("what rows weigh, or whether they were predicted right, cannot be true")
    return OutOfFoldPredictions(log_loss, confidence, right.astype(bool), weight)


def _columns(arrays: Arrays, n_columns: int) -> Iterator[Column]:
    """Read the bins of each column."""
    levels = read_mixed(arrays, n_columns)
    sizes = [fine_bins(values) for values in levels]
    if max(sizes) > BINS:
        raise ValueError(f"a column has {max(sizes):,} bins, where {BINS:,} are the most")
    stored = checked(arrays, "coarser", np.uint16, (len(PAIRS + TRIPLES), sum(sizes)))
    coarser = stored.astype(np.int64)
    dated = checked(arrays, "dated", np.uint8, (n_columns,))
    is_text = np.array([values.dtype.kind == "T" for values in levels], bool)
    if (dated > 1).any() or (is_text & (dated > 0)).any():
        raise ValueError("dates in it are no numbers")
    bins_by_column = np.split(coarser, np.cumsum(sizes)[:-1], axis=1)
    for k, (values, bins) in enumerate(zip(levels, bins_by_column, strict=True)):
        if (bins[:, :-1] >= bins[:, -1:]).any():  # the last bin is for missing values alone
            raise ValueError(f"a bin of column {k} is none that it has")
        yield Column(values, (np.arange(bins.shape[1]), *bins), bool(dated[k]))


def _blocks(arrays: Arrays, columns: list[Column], n_classes: int) -> list[Block]:
    """Read the blocks of evidence, each by its kind."""
    widths = checked(arrays, "widths", np.int64, (None,))
    flat_columns = checked(arrays, "columns", np.int64, (None,))
    tags = bytes(checked(arrays, "kinds", np.uint8, (None,))).decode("utf-8", "replace").split()
    n_columns = len(flat_columns)
    if (widths < 1).any() or (widths > n_columns).any() or widths.sum() != n_columns:
        raise ValueError("the columns do not belong to the blocks")
    if (flat_columns < 0).any() or (flat_columns >= len(columns)).any():
        raise ValueError("a block is of a column that is not there")
    if len(tags) != len(widths):
        raise ValueError(f"it has {len(widths)} blocks, but {len(tags)} kinds of blocks")
    if unknown := set(tags) - kinds().keys():
        raise ValueError(f"it has blocks of an unknown kind, {min(unknown)!r}")
    ends = zip(widths, np.cumsum(widths), strict=True)
    block_columns = [tuple(flat_columns[end - width : end].tolist()) for width, end in ends]
    if any(a >= b for block in block_columns for a, b in pairwise(block)):
        raise ValueError("the columns of a block are out of order")
    by_kind = {}
    for tag in dict.fromkeys(tags):
        of_kind = [*compress(block_columns, [block_tag == tag for block_tag in tags])]
        by_kind[tag] = iter(kinds()[tag].read(arrays, of_kind, columns, n_classes))
    return [next(by_kind[tag]) for tag in tags]
