"""Rows with missing cells where the training rows had none.

A weight is right beside the others: where cells are missing, the rest must not be weighed as if
they were there. Such rows are scored by the evidence of single columns, all numbers and texts that
are present, with weights of their own: those that predict training rows best from which cells were
removed at random. There is no bias: with every cell missing the posterior is the class prior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.hashing import GOLDEN, mixed
from naively.core.issues import Invalid
from naively.families.formula import Formula, Gaps, MixedTexts, TextEvidence
from naively.pooling.bins import FINE, PAIRS, TRIPLES, Column, Lookup, fine_bins
from naively.pooling.blocks.base import Block, checked, checked_numbers
from naively.pooling.blocks.cells import cut
from naively.pooling.blocks.registry import kinds
from naively.pooling.folds import Entries, OutOfFoldPredictions
from naively.pooling.texts.scale import Doubt
from naively.statistics.base import Arrays
from naively.statistics.levels import Encoded, mixed_arrays, read_mixed

FAMILIAR = 5.0
"""Training rows in which a cell is missing, at least, for that to be evidence."""
EDGES = (0.8, 0.6, 0.4, 0.2)
"""Shares of the columns that are present, between which evidence has one factor."""
FACTORS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0)
"""Factors of evidence that are tried."""
LOOKED_AT = 20_000
"""Rows with missing cells that are looked at, at most."""
SIMULATED, MOST_TIMES = 5000, 20
"""Rows, about, of which cells are removed; how often the same row is one of them."""
PRESENT = 0.5
"""Share of the numbers of a normal density that are present, at least, for it to be evidence."""


@dataclass(frozen=True)
class Incomplete:
    """How rows with unfamiliar missing cells are scored.

    Attributes
    ----------
    weights : (K,) of the blocks of evidence; 0 of several columns.
    factors : (L,) by which evidence is multiplied, for each share of columns that are present.
    usual : (d,) whether a missing value of a column is familiar: it is evidence.
    most : missing cells, at most, of a familiar row.
    together : (P, 2) columns of which the second is missing wherever the first is.
    columns : those of all blocks.
    """

    weights: Float64
    factors: Float64
    usual: npt.NDArray[np.bool_]
    most: int
    together: Int64
    columns: Int64

    def levels(self, gone: npt.NDArray[np.bool_]) -> Int64:
        """Of rows by what is missing, (n, d): 0 of familiar ones, else 1 + that of a factor."""
        missing = gone[:, self.columns].sum(axis=1)
        unusual = (gone & ~self.usual).any(axis=1) | (missing > self.most)
        first, second = self.together.T
        unusual |= (gone[:, first] & ~gone[:, second]).any(axis=1)
        return np.where(unusual, 1 + places(1 - missing / max(1, len(self.columns))), 0)

    def among(self, columns: int, at: npt.NDArray[np.intp]) -> Self:
        """The same for a table of so many columns, of which these are its own."""
        usual = np.ones(columns, bool)
        usual[at] = self.usual
        return replace(
            self, usual=usual, columns=np.sort(at[self.columns]), together=at[self.together]
        )


def places(share: Float64) -> Int64:
    """Which factor rows have of whose columns such a share is present."""
    found: Int64 = (np.asarray(share)[..., np.newaxis] < np.array(EDGES)).sum(axis=-1)
    return found


def familiar(
    gone: npt.NDArray[np.bool_], weight: Float64, columns: Int64
) -> tuple[npt.NDArray[np.bool_], int, Int64]:
    """(columns whose missing values are familiar, (d,); missing cells of a familiar row at most;
    columns of which the second is missing wherever the first is, (P, 2)).

    `gone`, (R, d), is what is missing in training rows of such weights; cells of `columns` count.
    """
    gone = gone[:, columns]
    usual = weight @ gone >= FAMILIAR
    often = np.bincount(gone.sum(axis=1), weight)
    beyond = often[::-1].cumsum()[::-1]  # rows with so many missing cells, or more
    most = int(np.flatnonzero(beyond >= FAMILIAR)[-1]) if (beyond >= FAMILIAR).any() else 0
    first = np.flatnonzero(usual)
    rows = np.flatnonzero(gone.any(axis=1))[:LOOKED_AT]
    apart = (weight[rows, np.newaxis] * gone[rows][:, first]).T @ ~gone[rows]
    j, k = np.nonzero(apart < FAMILIAR)
    pairs = np.column_stack([first[j], k])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return usual, most, columns[pairs]


def removed(rows: npt.NDArray[np.integer], columns: int) -> npt.NDArray[np.bool_]:
    """Cells that are removed of rows by their number, (n, columns): of each row another share."""
    seeds = mixed(rows.astype(np.uint64) * np.uint64(GOLDEN) + np.uint64(1))
    cells: Any = seeds[:, np.newaxis] + np.arange(1, columns + 1, dtype=np.uint64) * np.uint64(
        GOLDEN
    )
    return mixed(cells) < seeds[:, np.newaxis]


# ---- structure -----------------------------------------------------------------------------------


BINS = 1 << 16
"""Bins of a column, at most."""


@dataclass(frozen=True)
class Plan:
    """What evidence there is, and what it weighs.

    Attributes
    ----------
    columns : the bins of each column.
    blocks : evidence of columns.
    weights : (K,); 0 of blocks that are evidence of incomplete rows alone.
    bias : (C,), in nats.
    out_of_fold : how rows were predicted, each by evidence and weights without it.
    incomplete : how rows with unfamiliar missing cells are scored; None if nothing is evidence.
    """

    columns: list[Column]
    blocks: list[Block]
    weights: Float64
    bias: Float64
    out_of_fold: OutOfFoldPredictions
    incomplete: Incomplete | None = None

    def among(self, columns: list[Column], places: Sequence[int], classes: Int64) -> Plan:
        """The same for a table.

        Parameters
        ----------
        columns : all columns of the table.
        places : which of these each column of the plan is.
        classes : (C,) which class of the table each class of the plan is.
        """
        table_columns, class_order = np.array(places), np.argsort(classes)
        blocks = []
        for block in self.blocks:
            at = table_columns[list(block.columns)]
            blocks.append(block.among(at, np.argsort(at), class_order, self.columns))
        incomplete = self.incomplete and self.incomplete.among(len(columns), table_columns)
        return replace(
            self, columns=columns, blocks=blocks, bias=self.bias[class_order], incomplete=incomplete
        )

    def of_classes(self, classes: Sequence[int]) -> Plan:
        """The same for some of its classes, in this order."""
        own = np.array(classes, np.int64)
        blocks = []
        for block in self.blocks:
            at = np.array(block.columns)
            blocks.append(block.among(at, np.arange(len(at)), own, self.columns))
        return replace(self, blocks=blocks, bias=self.bias[own])

    def recounted(self, entries: Entries) -> Plan:
        """The plan of a table, with the evidence of single columns by all entries.

        Of the entries that the plan was made from it is the plan itself, to the last bit.
        """
        place = {j: k for k, j in enumerate(entries.columns.tolist())}
        columns = [self.columns[j] for j in place]
        bins = [*map(Column.bins, columns, entries.levels)]
        codes = Lookup.of(columns, bins, FINE).coded(entries.codes).codes
        class_order, classes = np.argsort(entries.classes), entries.n_classes
        total = entries.class_weight().sum(axis=0) + 0.5
        prior = total / total.sum()

        def counted(block: Block) -> Block:
            if block.way != FINE or block.columns[0] not in place:
                return block
            (j,) = block.columns
            cell = codes[place[j]].astype(np.int64)[entries.row] * classes + entries.y
            size = self.columns[j].size(FINE) * classes
            counts = np.bincount(cell, entries.weight, size).reshape(-1, classes)
            recounted = block.recounted(counts.astype(np.float64), prior, self.columns)
            at = np.array(block.columns)
            return recounted.among(at, np.arange(1), class_order, self.columns)

        return replace(self, blocks=[*map(counted, self.blocks)])

    def invalid(self, X: Encoded, bins: Callable[[int], Int64]) -> dict[int, Invalid]:
        """How many values of rows are no numbers or dates where these are cut, by the column.

        Only columns that are evidence are looked at. `bins` has the fine bins of the levels of a
        column; it is asked only where there is doubt.
        """
        found = {}
        for j in sorted({j for block in self.blocks for j in block.columns}):
            column, known = self.columns[j], X.levels[j]
            fits = not column.is_number or (known.dtype.kind != "T" and not column.dated)
            if fits or not len(known):
                continue
            wrong = bins(j)[:-1] == column.size(FINE) - 1
            met = np.bincount(X.codes[:, j], minlength=len(known) + 1)[:-1]
            wrong &= met > 0
            if wrong.any():
                example = min(map(str, known[wrong].tolist()))
                kind = "dates" if column.dated else "numbers"
                found[j] = Invalid(int(met[wrong].sum()), example, kind)
        return found

    @property
    def of_text(self) -> dict[int, Block]:
        """The blocks that read text and count in some rows, by their places."""
        how, counts = self.incomplete, self.weights != 0
        either = counts if how is None else counts | (how.weights != 0)
        return {k: block for k, block in enumerate(self.blocks) if block.reads_text and either[k]}

    @property
    def first_of_text(self) -> dict[int, Block]:
        """Those whose terms say whether a text has known ones: the first of each column."""
        found = dict[tuple[int, ...], tuple[int, Block]]()
        for k, block in self.of_text.items():
            found.setdefault(block.columns, (k, block))
        return dict(found.values())

    def formula(self, names: Sequence[str], doubt: Doubt | None) -> Formula:
        """The evidence, weighed, as data.

        Parameters
        ----------
        names : of all columns.
        doubt : by how much what texts tell is doubted; None if it is not.
        """
        own = self.weights.tolist()
        how = self.incomplete
        texts = {k: block.text_evidence(names) for k, block in self.of_text.items()}
        first = [place for place, k in enumerate(texts) if k in self.first_of_text]
        none = np.zeros_like(self.bias)
        terms = [
            block.term(names, self.columns, weight)
            for block, weight in zip(self.blocks, own, strict=True)
            if weight and not block.reads_text
        ]
        mixed = _mixed(texts, self.weights, self.bias, doubt, first)
        formula = Formula(none if texts else self.bias, [*terms, *mixed])
        if how is None:
            return formula
        columns = how.columns.tolist()
        place = {j: k for k, j in enumerate(columns)}
        share = 1 - np.arange(len(columns) + 1) / max(1, len(columns))
        gaps = Gaps(
            tuple(cut(names[j], self.columns[j], FINE) for j in columns),
            tuple((~how.usual[how.columns]).tolist()),
            how.most,
            tuple((place[j], place[k]) for j, k in how.together.tolist()),
            how.factors[places(share)],
        )
        present = [
            block.present_term(names, self.columns, weight)
            for block, weight in zip(self.blocks, how.weights.tolist(), strict=True)
            if weight and not block.reads_text
        ]
        incomplete = Formula(none, [*present, *_mixed(texts, how.weights, none, doubt, first)])
        return replace(formula, gaps=gaps, other=incomplete)


def _mixed(
    texts: dict[int, TextEvidence], weights: Float64, bias: Float64, doubt: Doubt | None,
    first: Sequence[int],
) -> Iterator[MixedTexts]:  # fmt: skip
    """What all texts add with these weights, mixed with the class prior; nothing without any."""
    if not texts:
        return
    log_prior = np.zeros_like(bias) if doubt is None else doubt.log_prior
    share, unseen = (0.0, 0.0) if doubt is None else (doubt.share, doubt.unseen_share)
    yield MixedTexts(
        (*texts.values(),), tuple(weights[[*texts]].tolist()), bias, log_prior, share, unseen,
        tuple(first),
    )  # fmt: skip


# ---- files ---------------------------------------------------------------------------------------


def arrays_of(plan: Plan) -> Arrays:
    """A plan as arrays.

    ``is_text``, ``level_counts``, ``numbers``, ``text``, ``text_lengths`` : the levels of each
    column, as `naively.statistics.levels.mixed_arrays` has them.
    ``coarser`` : (3, bins of all columns) the bin of each fine bin, for the other ways to cut.
    ``kinds`` : the tags of the blocks, in UTF-8, separated by spaces.
    ``widths``, ``columns`` : (K,) how many columns each block has; those of all blocks.
    ``cells.tables`` and so on : what each kind of block says of its own, under its tag.
    ``weights``, ``bias`` : (K,) and (C,).
    ``dated`` : (d,) whether the numbers of each column are dates.
    ``log_loss``, ``sure``, ``right``, ``weight`` : (1,) and (n,), what `OutOfFoldPredictions` has.
    ``incomplete.weights``, ``incomplete.factors``, ``incomplete.usual``, ``incomplete.most``,
    ``incomplete.together``, ``incomplete.columns`` : (K,), (L,), (d,), (1,), (P, 2) and (k,), what
    `Incomplete` has, if there is one.
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
        "sure": plan.out_of_fold.sure.astype(np.float32),
        "right": plan.out_of_fold.right.astype(np.uint8),
        "weight": plan.out_of_fold.weight.astype(np.float32),
    }
    for tag in dict.fromkeys(tags):
        own = [block for block in plan.blocks if block.tag == tag]
        arrays |= own[0].stored(own)
    if (incomplete := plan.incomplete) is not None:
        arrays |= {
            "incomplete.weights": incomplete.weights,
            "incomplete.factors": incomplete.factors,
            "incomplete.usual": incomplete.usual.astype(np.uint8),
            "incomplete.most": np.array([incomplete.most], np.int64),
            "incomplete.together": incomplete.together,
            "incomplete.columns": incomplete.columns,
        }
    return arrays


def plan_of(arrays: Arrays, n_columns: int, n_classes: int) -> Plan:
    """The plan that `arrays_of` made arrays of.

    Raises
    ------
    ValueError : if it can be no plan of so many columns and classes, saying why.
    """
    columns = list(_columns(arrays, n_columns))
    blocks = _blocks(arrays, columns, n_classes)
    weights = checked_numbers(arrays, "weights", (len(blocks),))
    bias = checked_numbers(arrays, "bias", (n_classes,))
    incomplete = _incomplete(arrays, blocks, n_columns)
    return Plan(columns, blocks, weights, bias, _out_of_fold(arrays), incomplete)


def _incomplete(arrays: Arrays, blocks: list[Block], n_columns: int) -> Incomplete | None:
    """How incomplete rows are scored."""
    if "incomplete.weights" not in arrays:
        return None
    weights = checked_numbers(arrays, "incomplete.weights", (len(blocks),))
    factors = checked_numbers(arrays, "incomplete.factors", (len(EDGES) + 1,))
    usual = checked(arrays, "incomplete.usual", np.uint8, (n_columns,))
    most = int(checked(arrays, "incomplete.most", np.int64, (1,))[0])
    columns = checked(arrays, "incomplete.columns", np.int64, (None,))
    together = checked(arrays, "incomplete.together", np.int64, (None, 2))
    known = np.append(columns, together)
    known = (known >= 0) & (known < n_columns)
    if not known.all() or (np.diff(columns) <= 0).any() or not 0 <= most <= n_columns:
        raise ValueError("incomplete rows are scored by columns that are not there")
    if (weights < 0).any() or (factors < 0).any() or (usual > 1).any():
        raise ValueError("weights of incomplete rows are negative")
    weighed = zip(blocks, weights, strict=True)
    if any(weight > 0 and not block.fits_incomplete for block, weight in weighed):
        raise ValueError("several columns together are no evidence of incomplete rows")
    return Incomplete(weights, factors, usual.astype(bool), most, together, columns)


def _out_of_fold(arrays: Arrays) -> OutOfFoldPredictions:
    """How left-out rows were predicted."""
    log_loss = float(checked_numbers(arrays, "log_loss", (1,))[0])
    sure = checked(arrays, "sure", np.float32, (None,))
    right = checked(arrays, "right", np.uint8, sure.shape)
    weight = checked(arrays, "weight", np.float32, sure.shape)
    if not ((sure >= 0) & (sure <= 1.001)).all():  # float32 may round sums of exponentials up
        raise ValueError("a probability in 'sure' is none")
    if (right > 1).any() or not ((weight > 0) & np.isfinite(weight)).all():
        raise ValueError("what rows weigh, or whether they were predicted right, cannot be true")
    return OutOfFoldPredictions(log_loss, sure, right.astype(bool), weight)


def _columns(arrays: Arrays, n_columns: int) -> Iterator[Column]:
    """The bins of each column."""
    levels = read_mixed(arrays, n_columns)
    sizes = [fine_bins(own) for own in levels]
    if max(sizes) > BINS:
        raise ValueError(f"a column has {max(sizes):,} bins, where {BINS:,} are the most")
    coarser = checked(
        arrays, "coarser", np.uint16, (len(PAIRS + TRIPLES), sum(sizes))
    ).astype(np.int64)  # fmt: skip
    dated = checked(arrays, "dated", np.uint8, (n_columns,))
    if (dated > 1).any() or any(
        own.dtype.kind == "T" for own, at in zip(levels, dated, strict=True) if at
    ):
        raise ValueError("dates in it are no numbers")
    pieces = np.split(coarser, np.cumsum(sizes)[:-1], axis=1)
    for k, (own, ways) in enumerate(zip(levels, pieces, strict=True)):
        if (ways[:, :-1] >= ways[:, -1:]).any():  # the last is the missing value's own
            raise ValueError(f"a bin of column {k} is none that it has")
        yield Column(own, (np.arange(ways.shape[1]), *ways), bool(dated[k]))


def _blocks(arrays: Arrays, columns: list[Column], n_classes: int) -> list[Block]:
    """The blocks of evidence, each read by its kind."""
    widths = checked(arrays, "widths", np.int64, (None,))
    flat = checked(arrays, "columns", np.int64, (None,))
    tags = bytes(checked(arrays, "kinds", np.uint8, (None,))).decode("utf-8", "replace").split()
    if (widths < 1).any() or (widths > len(flat)).any() or widths.sum() != len(flat):
        raise ValueError("the columns do not belong to the blocks")
    if (flat < 0).any() or (flat >= len(columns)).any():
        raise ValueError("a block is of a column that is not there")
    if len(tags) != len(widths):
        raise ValueError(f"it has {len(widths)} blocks, but {len(tags)} kinds of blocks")
    if unknown := set(tags) - kinds().keys():
        raise ValueError(f"it has blocks of an unknown kind, {min(unknown)!r}")
    places = [
        tuple(flat[end - width : end].tolist())
        for width, end in zip(widths, np.cumsum(widths), strict=True)
    ]
    if any(a >= b for block in places for a, b in pairwise(block)):
        raise ValueError("the columns of a block are out of order")
    by_kind = {
        tag: iter(kinds()[tag].read(
            arrays, [block for block, own in zip(places, tags, strict=True) if own == tag],
            columns, n_classes,
        ))
        for tag in dict.fromkeys(tags)
    }  # fmt: skip
    return [next(by_kind[tag]) for tag in tags]
