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
    """The bins of a numeric or date column.

    Attributes
    ----------
    column : its name.
    starts : (B,) sorted; a number is in the last bin that starts at or below it, or in the first.
    bins : (B,) the index of each bin.
    missing : the bin of a missing value.
    dated : whether the numbers are seconds since 1970 of dates, or of times of the day.
    """

    column: str
    starts: Float64
    bins: Int64
    missing: int
    dated: bool = False


@dataclass(frozen=True)
class LevelCut:
    """The bins of a categorical column.

    Attributes
    ----------
    column : its name.
    levels : the categories, as text.
    bins : the bin of each category.
    other : the bin of unseen categories.
    missing : the bin of a missing value.
    endless : whether infinity and NaN are categories, rather than missing values.
    """

    column: str
    levels: list[str]
    bins: Int64
    other: int
    missing: int
    endless: bool = True

    @classmethod
    def of(
        cls, column: str, levels: list[str], bins: Int64, other: int, missing: int,
        endless: bool = True,
    ) -> LevelCut:  # fmt: skip
        """Make bins of text; if all are booleans, other spellings (1 and true) share their bins."""
        bin_of = dict(zip(levels, bins.tolist(), strict=True))
        bin_of |= {name: bin_of[level] for name, level in twins(levels).items() if level in bin_of}
        return cls(
            column, [*bin_of], np.array([*bin_of.values()], np.int64), other, missing, endless
        )


@dataclass(frozen=True)
class PartCut:
    """A recurring part of the dates of a column, such as the month.

    Attributes
    ----------
    column : its name.
    part : 0 for the hour, 1 for the day of the week from Monday, 2 for the day of the month, 3 for
        the month, all counted from 0, in UTC: see `naively.pooling.blocks.calendar`.
    missing : the bin of a missing value.
    """

    column: str
    part: int
    missing: int
    dated = True


Cut = NumberCut | LevelCut | PartCut


@dataclass(frozen=True)
class Table:
    """Scores by the bins of some columns; the bins of the last column change fastest.

    Attributes
    ----------
    cuts : of each column.
    sizes : number of bins of each column.
    added : (cells, C), added to the scores, in nats.
    """

    cuts: tuple[Cut, ...]
    sizes: tuple[int, ...]
    added: Float64

    def without(self, columns: Collection[str]) -> Table:
        """Return the table for rows in which these columns are missing."""
        axes = [k for k, cut in enumerate(self.cuts) if cut.column not in columns]
        index = tuple(slice(None) if k in axes else cut.missing for k, cut in enumerate(self.cuts))
        added = self.added.reshape(*self.sizes, -1)[index]
        cuts, sizes = [self.cuts[k] for k in axes], [self.sizes[k] for k in axes]
        return Table(tuple(cuts), tuple(sizes), added.reshape(-1, added.shape[-1]))


@dataclass(frozen=True)
class Trees:
    """Scores by the leaves of decision trees, which add up.

    Attributes
    ----------
    cuts : of each column.
    roots : (T,) the first node of each tree; its others follow.
    nodes : (M, 4) a row (column, first, last, child) for each node. Rows whose bin in the cut of
        the column, an index into `cuts`, is from `first` to `last` go to the node `child`, others
        to the next one. Of leaves the column is -1. Children are after their parents.
    added : (M, C) what each leaf adds to the scores, in nats.
    """

    cuts: tuple[Cut, ...]
    roots: Int64
    nodes: Int64
    added: Float64


@dataclass(frozen=True)
class Line:
    """zero + slope · x; 0 if x is missing, below `low` or above `high`.

    Attributes
    ----------
    column : its name.
    zero, slope : (C,) in nats, and nats per unit of x.
    threshold : x becomes 1 above it and else 0; None to use x itself.
    """

    column: str
    zero: Float64
    slope: Float64
    threshold: float | None = None
    low: float = -np.inf
    high: float = np.inf


@dataclass(frozen=True)
class Parabola:
    """norm - ((x - mean) · scale)²; 0 if x is missing, below `low` or above `high`.

    Attributes
    ----------
    column : its name.
    norm, mean, scale : (C,)
    """

    column: str
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

    Attributes
    ----------
    columns : their names, k.
    centre, spread : (k,)
    base : (C,)
    mean : (C, k); the slopes if there is no whitening.
    whitening : (C, m, k)
    weight, farthest, least : float
    fewest : the least number of present values; with fewer the density adds nothing.
    """

    columns: tuple[str, ...]
    centre: Float64
    spread: Float64
    base: Float64
    mean: Float64
    whitening: Float64 | None
    weight: float
    farthest: float
    least: float
    fewest: int = 0


@dataclass(frozen=True)
class Bag:
    """The terms of a text: L^-γ Σ_t x_t slope_t, and Σ_t zero_t; `missing` if there is no text.

    x_t is the count of term t in the document after `once`, `weighting`, `idf` and `length_norm`,
    see `naively.families.text.text.Text`; L = Σ_t x_t.

    Attributes
    ----------
    column : its name.
    analysis : how a document becomes terms; one that kernels support.
    terms : the V terms of the vocabulary.
    once : whether a term counts once a document.
    weighting, length_norm : how the counts of a document are changed.
    idf : (V,), or None.
    slope : (V, C) in nats.
    zero : (V, C) in nats; None if all are 0.
    quarters : 4 γ.
    missing : (C,) in nats.
    quoted : whether terms are shown in quotes, to distinguish them from other terms of the text.
    as_level : whether a text is normalized as a category: 1.50 to 1.5, surrounding blanks removed.
    """

    column: str
    analysis: Analysis
    terms: list[str]
    once: bool
    weighting: str | None
    length_norm: str | None
    idf: Float64 | None
    slope: Float64
    zero: Float64 | None
    quarters: int
    missing: Float64
    quoted: bool = False
    as_level: bool = False


@dataclass(frozen=True)
class TextEvidence:
    """The evidence of a text: of all its bags of terms, or of its own counts if the text recurs.

    A recurring text is identified by the sum of the numbers of its terms, with their multiplicity,
    in the first of `bags`.

    Attributes
    ----------
    base : (C,) added for every text with known terms, in nats.
    bags : the evidence of the terms.
    numbers : (V,) integers of the terms of the first bag; None if no text recurs.
    keys, recurring : (R,) and (R, C) the sum of each recurring text, and its scores.
    """

    base: Float64
    bags: list[Bag]
    numbers: Int64 | None
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

    Attributes
    ----------
    texts : the evidence of each text.
    weights : of each.
    base : (C,) in nats.
    log_prior : (C,) log π_c of the training documents.
    share : e, see `naively.pooling.texts.scale`.
    unseen_share : the e of rows whose texts have no known terms.
    first : indices in `texts` that decide whether a row has known terms: the first of each column.
    """

    texts: tuple[TextEvidence, ...]
    weights: tuple[float, ...]
    base: Float64
    log_prior: Float64
    share: float
    unseen_share: float
    first: tuple[int, ...]


Term = Table | Trees | Line | Parabola | Density | Bag | MixedTexts


@dataclass(frozen=True)
class Gaps:
    """Detects rows with unfamiliar missing cells: see `naively.pooling.structure`.

    Attributes
    ----------
    cuts : of the columns whose missing cells are counted.
    unusual : (k,) whether a missing cell of the column is unfamiliar by itself.
    most : the most missing cells of a familiar row.
    together : pairs of columns (indices in `cuts`); the second is missing wherever the first is.
    factors : (k + 1,) the factor of a row's terms, by its number of missing cells.
    """

    cuts: tuple[Cut, ...]
    unusual: tuple[bool, ...]
    most: int
    together: tuple[tuple[int, int], ...]
    factors: Float64


@dataclass(frozen=True)
class Formula:
    """The score of each class: a constant, and the terms of the columns.

    Attributes
    ----------
    base : (C,) in nats.
    terms : list of Term
    gaps : selects the rows that use the formula `other`; None if all rows use this one.
    other : the formula of these rows; its terms are multiplied by a factor of `gaps`.
    """

    base: Float64
    terms: list[Term] = field(default_factory=list)
    gaps: Gaps | None = None
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
