"""Represent the scores of a model as data, so that they can be exported to other languages.

A score is a sum of terms, each of one or a few columns. `naively.export` writes them as code.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np

from naively.core.exact import Float64, Int64
from naively.statistics.levels import twins
from naively.text.analysis import Analysis, deciding


@dataclass(frozen=True)
class NumberCut:
    """The bins of a numeric or date column."""

    column: str  # its name
    # (B,) sorted; a number is in the last bin that starts at or below it, or in the first
    starts: Float64
    bins: Int64  # (B,) the index of each bin
    missing: int  # the bin of a missing value
    # whether the numbers are seconds since 1970 of dates, or of times of the day
    dated: bool = False


@dataclass(frozen=True)
class LevelCut:
    """The bins of a categorical column."""

    column: str  # its name
    levels: list[str]  # the categories, as text
    bins: Int64  # the bin of each category
    other: int  # the bin of unseen categories
    missing: int  # the bin of a missing value
    endless: bool = True  # whether infinity and NaN are categories, rather than missing values

    @classmethod
    def of(
        cls, column: str, levels: list[str], bins: Int64, other: int, missing: int,
        endless: bool = True,
    ) -> LevelCut:  # fmt: skip
        """Make bins of text; if all are booleans, other spellings (1 and true) share their bins."""
        bin_of = dict(zip(levels, bins.tolist(), strict=True))
        bin_of |= {name: bin_of[level] for name, level in twins(levels).items() if level in bin_of}
        bins = np.array([*bin_of.values()], np.int64)
        return cls(column, [*bin_of], bins, other, missing, endless)


@dataclass(frozen=True)
class PartCut:
    """A recurring part of the dates of a column, such as the month."""

    column: str  # its name
    # 0 for the hour, 1 for the day of the week from Monday, 2 for the day of the month, 3 for the
    # month, all counted from 0, in UTC: see `naively.pooling.blocks.calendar`
    part: int
    missing: int  # the bin of a missing value
    dated = True


Cut = NumberCut | LevelCut | PartCut


@dataclass(frozen=True)
class Table:
    """Scores by the bins of some columns; the bins of the last column change fastest."""

    cuts: tuple[Cut, ...]  # of each column
    sizes: tuple[int, ...]  # number of bins of each column
    added: Float64  # (cells, C), added to the scores, in nats

    def without(self, columns: Collection[str]) -> Table:
        """Return the table for rows in which these columns are missing."""
        axes = [k for k, cut in enumerate(self.cuts) if cut.column not in columns]
        index = tuple(slice(None) if k in axes else cut.missing for k, cut in enumerate(self.cuts))
        added = self.added.reshape(*self.sizes, -1)[index]
        cuts, sizes = [self.cuts[k] for k in axes], [self.sizes[k] for k in axes]
        return Table(tuple(cuts), tuple(sizes), added.reshape(-1, added.shape[-1]))


@dataclass(frozen=True)
class Trees:
    """Scores by the leaves of decision trees, which add up."""

    cuts: tuple[Cut, ...]  # of each column
    roots: Int64  # (T,) the first node of each tree; its others follow
    # (M, 4) a row (column, first, last, child) for each node. Rows whose bin in the cut of the
    # column, an index into `cuts`, is from `first` to `last` go to the node `child`, others to the
    # next one. Of leaves the column is -1. Children are after their parents
    nodes: Int64
    added: Float64  # (M, C) what each leaf adds to the scores, in nats


@dataclass(frozen=True)
class Line:
    """zero + slope · x; 0 if x is missing, below `low` or above `high`."""

    column: str  # its name
    # zero, slope: (C,) in nats, and nats per unit of x
    zero: Float64
    slope: Float64
    threshold: float | None = None  # x becomes 1 above it and else 0; None to use x itself
    low: float = -np.inf
    high: float = np.inf


@dataclass(frozen=True)
class Parabola:
    """norm - ((x - mean) · scale)²; 0 if x is missing, below `low` or above `high`."""

    column: str  # its name
    # norm, mean, scale: (C,)
    norm: Float64
    mean: Float64
    scale: Float64
    low: float = -np.inf
    high: float = np.inf


@dataclass(frozen=True)
class Density:
    """The log-density ratio of several numeric columns, weight · max(f_c - max f, least), where::

        f_c = base_c + Σ_j slope_cj z_j                        if `whitening` is None
        f_c = base_c - ½ Σ_i (Σ_j whitening_cij (z_j - mean_cj))²   else

    with z = (x - centre) / spread, clipped to ±`farthest`; 0 if x is missing.
    """

    columns: tuple[str, ...]  # their names, k
    # centre, spread: (k,)
    centre: Float64
    spread: Float64
    base: Float64  # (C,)
    mean: Float64  # (C, k); the slopes if there is no whitening
    whitening: Float64 | None  # (C, m, k)
    weight: float
    farthest: float
    least: float
    fewest: int = 0  # the least number of present values; with fewer the density adds nothing


@dataclass(frozen=True)
class Bag:
    """The terms of a text: L^-γ Σ_t x_t slope_t, and Σ_t zero_t; `missing` if there is no text.

    x_t is the count of term t in the document after `once`, `weighting`, `idf` and `length_norm`,
    see `naively.families.text.text.Text`; L = Σ_t x_t.
    """

    column: str  # its name
    analysis: Analysis  # how a document becomes terms; one that kernels support
    terms: list[str]  # the V terms of the vocabulary
    once: bool  # whether a term counts once a document
    # weighting, length_norm: how the counts of a document are changed
    weighting: str | None
    length_norm: str | None
    idf: Float64 | None  # (V,), or None
    slope: Float64  # (V, C) in nats
    zero: Float64 | None  # (V, C) in nats; None if all are 0
    quarters: int  # 4 γ
    missing: Float64  # (C,) in nats
    # whether terms are shown in quotes, to distinguish them from other terms of the text
    quoted: bool = False
    # whether a text is normalized as a category: 1.50 to 1.5, surrounding blanks removed
    as_level: bool = False


@dataclass(frozen=True)
class TextEvidence:
    """The evidence of a text: of all its bags of terms, or of its own counts if the text recurs.

    A recurring text is identified by the sum of the numbers of its terms, with their multiplicity,
    in the first of `bags`.
    """

    base: Float64  # (C,) added for every text with known terms, in nats
    bags: list[Bag]  # the evidence of the terms
    numbers: Int64 | None  # (V,) integers of the terms of the first bag; None if no text recurs
    # keys, recurring: (R,) and (R, C) the sum of each recurring text, and its scores
    keys: Int64
    recurring: Float64

    @property
    def deciding(self) -> list[int]:
        """The bags that decide whether a text has known terms."""
        return deciding([bag.analysis for bag in self.bags])


@dataclass(frozen=True)
class MixedTexts:
    """Texts whose evidence is mixed with the prior: s_c + log (1 - e + e Σ_k π_k exp(s_k - s_c))
    where s is the base and the weighted sum of the texts' evidence. A factor of `Gaps` multiplies
    the weights.
    """

    texts: tuple[TextEvidence, ...]  # the evidence of each text
    weights: tuple[float, ...]  # of each
    base: Float64  # (C,) in nats
    log_prior: Float64  # (C,) log π_c of the training documents
    share: float  # e, see `naively.pooling.texts.term_weights`
    unseen_share: float  # the e of rows whose texts have no known terms
    # indices in `texts` that decide whether a row has known terms: the first of each column
    first: tuple[int, ...]


Term = Table | Trees | Line | Parabola | Density | Bag | MixedTexts


@dataclass(frozen=True)
class Gaps:
    """Detects rows with unfamiliar missing cells: see `naively.pooling.structure`."""

    cuts: tuple[Cut, ...]  # of the columns whose missing cells are counted
    unusual: tuple[bool, ...]  # (k,) whether a missing cell of the column is unfamiliar by itself
    most: int  # the most missing cells of a familiar row
    # pairs of columns (indices in `cuts`); the second is missing wherever the first is
    together: tuple[tuple[int, int], ...]
    factors: Float64  # (k + 1,) the factor of a row's terms, by its number of missing cells


@dataclass(frozen=True)
class Formula:
    """The score of each class: a constant, and the terms of the columns."""

    base: Float64  # (C,) in nats
    terms: list[Term] = field(default_factory=list)
    # selects the rows that use the formula `other`; None if all rows use this one
    gaps: Gaps | None = None
    # the formula of these rows; its terms are multiplied by a factor of `gaps`
    other: Formula | None = None

    @property
    def all_terms(self) -> list[Term]:
        """The terms of both formulas."""
        return self.terms + (self.other.terms if self.other is not None else [])

    @property
    def all_cuts(self) -> list[Cut]:
        """The cuts of all tables, trees and gaps."""
        tables = [table for table in self.all_terms if isinstance(table, Table | Trees)]
        gaps = self.gaps.cuts if self.gaps is not None else ()
        return [cut for table in tables for cut in table.cuts] + [*gaps]

    def within(self, low: float, high: float) -> Formula:
        """Return the formula in which numbers outside [low, high] count as missing."""
        terms = [
            replace(term, low=low, high=high) if isinstance(term, Line | Parabola) else term
            for term in self.terms
        ]
        return replace(self, terms=terms)

    def without(self, columns: Collection[str]) -> Formula:
        """Return the formula for rows in which these columns, which have bins, are missing."""
        terms = [term.without(columns) if isinstance(term, Table) else term for term in self.terms]
        base, remaining = self.base, list[Term]()
        for term in terms:
            if isinstance(term, Table) and not term.cuts:
                base = base + term.added[0]
            else:
                remaining.append(term)
        return replace(self, base=base, terms=remaining)

    def __add__(self, other: Formula) -> Formula:
        """Add two formulas; at most one may have gaps, the other is then the class prior."""
        gaps, with_gaps = (self.gaps, self) if self.gaps is not None else (other.gaps, other)
        gap_formula = None
        if gaps is not None and with_gaps.other is not None:
            base = self.base + other.base - with_gaps.base
            gap_formula = Formula(base + with_gaps.other.base, with_gaps.other.terms)
        return Formula(self.base + other.base, [*self.terms, *other.terms], gaps, gap_formula)
