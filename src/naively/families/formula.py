"""What parameters score, as data: so that a model can be said in another language.

A score is a sum of terms, each of one column or of a few. `naively.export` writes them down.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np

from naively.core.exact import Float64, Int64
from naively.statistics.levels import twins
from naively.text.analysis import Analysis


@dataclass(frozen=True)
class NumberCut:
    """The bins of a column of numbers.

    Attributes
    ----------
    column : its name.
    starts : (B,) sorted; a number is in the last bin that starts at it or before, or in the first.
    bins : (B,) the number of each.
    missing : the bin of a missing value.
    dated : whether the numbers are the seconds of dates since 1970, or of times of the day.
    """

    column: str
    starts: Float64
    bins: Int64
    missing: int
    dated: bool = False


@dataclass(frozen=True)
class LevelCut:
    """The bins of a column of levels.

    Attributes
    ----------
    column : its name.
    levels : their texts.
    bins : the number of the bin of each.
    other : the bin of all other levels.
    missing : the bin of a missing value.
    endless : whether infinity and NaN are levels like others, rather than missing.
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
        """Of levels that are text: 1 and 0 are true and false where these alone are known."""
        own = dict(zip(levels, bins.tolist(), strict=True))
        own |= {name: own[level] for name, level in twins(levels).items() if level in own}
        return cls(column, [*own], np.array([*own.values()], np.int64), other, missing, endless)


@dataclass(frozen=True)
class PartCut:
    """A part of the dates of a column, that comes again.

    Attributes
    ----------
    column : its name.
    part : 0 for the hour, 1 for the day of the week from Monday, 2 for the day of the month, 3 for
        the month, all from 0, in UTC: as `naively.pooling.blocks.calendar` has them.
    missing : the bin of a missing value.
    """

    column: str
    part: int
    missing: int
    dated = True


Cut = NumberCut | LevelCut | PartCut


@dataclass(frozen=True)
class Table:
    """What the cell of a row adds; the bins of the last column change fastest.

    Attributes
    ----------
    cuts : of each column.
    sizes : how many bins each has.
    added : (cells, C), in nats.
    """

    cuts: tuple[Cut, ...]
    sizes: tuple[int, ...]
    added: Float64

    def without(self, columns: Collection[str]) -> Table:
        """The same of rows that have none of these columns."""
        kept = [k for k, cut in enumerate(self.cuts) if cut.column not in columns]
        places = tuple(slice(None) if k in kept else cut.missing for k, cut in enumerate(self.cuts))
        added = self.added.reshape(*self.sizes, -1)[places]
        cuts, sizes = [self.cuts[k] for k in kept], [self.sizes[k] for k in kept]
        return Table(tuple(cuts), tuple(sizes), added.reshape(-1, added.shape[-1]))


@dataclass(frozen=True)
class Line:
    """zero + slope · x; 0 where x is missing, or below `low` or above `high`.

    Attributes
    ----------
    column : its name.
    zero, slope : (C,) in nats, and a unit of x.
    threshold : x is 1 above it and else 0; None to take it as it is.
    """

    column: str
    zero: Float64
    slope: Float64
    threshold: float | None = None
    low: float = -np.inf
    high: float = np.inf


@dataclass(frozen=True)
class Parabola:
    """norm - ((x - mean) · scale)²; 0 where x is missing.

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
    """Normal densities of all numbers together: weight · max(f_c - max f, least), where::

        f_c = base_c + Σ_j slope_cj z_j                        if `whitening` is None
        f_c = base_c - ½ Σ_i (Σ_j whitening_cij (z_j - mean_cj))²   else

    with z = (x - centre) / spread, not farther from 0 than `farthest`; 0 where x is missing.

    Attributes
    ----------
    columns : their names, k.
    centre, spread : (k,)
    base : (C,)
    mean : (C, k); the slopes if there is no whitening.
    whitening : (C, k, k)
    weight, farthest, least : float
    fewest : numbers that are present, at least; else the density adds nothing.
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

    x_t is how often the document has the term t, as `once`, `weighting`, `idf` and `length_norm`
    change it, see `naively.families.text.text.Text`; L = Σ_t x_t.

    Attributes
    ----------
    column : its name.
    analysis : how a document becomes terms; one that kernels can do.
    terms : the V that are known.
    once : whether a term counts once a document.
    weighting, length_norm : what the terms of a document count.
    idf : (V,), or None.
    slope : (V, C) in nats.
    zero : (V, C) in nats; None if all are 0.
    quarters : 4 γ.
    missing : (C,) in nats.
    quoted : whether terms are shown in quotes, so that they are told from others of the text.
    as_level : whether a text is read as a level is: 1.50 as 1.5, and without blanks about it.
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
    """What a text adds: all its bags together, or what was counted of it if it recurs.

    Texts that recur are known by the sum of the numbers of their terms, each as often as it is met,
    in the first of `bags`.

    Attributes
    ----------
    base : (C,) what every text has that has known terms, in nats.
    bags : what its terms add.
    numbers : (V,) whole numbers of the terms of the first bag; None if no text recurs.
    keys, recurring : (R,) and (R, C) the sum of each text that recurs, and what it scores.
    """

    base: Float64
    bags: list[Bag]
    numbers: Int64 | None
    keys: Int64
    recurring: Float64


@dataclass(frozen=True)
class MixedTexts:
    """Texts whose evidence is mixed with the prior: s_c + log (1 - e + e Σ_k π_k exp(s_k - s_c))
    where s is the base and the weighted sum of what each adds. A factor of `Gaps` multiplies the
    weights.

    Attributes
    ----------
    texts : what each adds.
    weights : of each.
    base : (C,) in nats.
    log_prior : (C,) log π_c of the documents that were learned.
    share : e, see `naively.pooling.texts.scale`.
    unseen_share : the e of rows that have texts, but no known terms in them.
    first : places in `texts` of those that say so: the first of each column.
    """

    texts: tuple[TextEvidence, ...]
    weights: tuple[float, ...]
    base: Float64
    log_prior: Float64
    share: float
    unseen_share: float
    first: tuple[int, ...]


Term = Table | Line | Parabola | Density | Bag | MixedTexts


@dataclass(frozen=True)
class Gaps:
    """Which rows have unfamiliar missing cells: see `naively.pooling.structure`.

    Attributes
    ----------
    cuts : of the columns whose missing cells are counted.
    unusual : (k,) whether a missing cell of these is unfamiliar by itself.
    most : missing cells of a familiar row at most.
    together : pairs of their places of which the second is missing wherever the first is.
    factors : (k + 1,) of what the terms of a row with so many missing cells add.
    """

    cuts: tuple[Cut, ...]
    unusual: tuple[bool, ...]
    most: int
    together: tuple[tuple[int, int], ...]
    factors: Float64


@dataclass(frozen=True)
class Formula:
    """The score of each class: what every row has, and the terms of its columns.

    Attributes
    ----------
    base : (C,) in nats.
    terms : list of Term
    gaps : which rows have another formula; None if all have this.
    other : it, whose terms are multiplied by a factor of `gaps`.
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
        """The cuts of all columns that have some."""
        tables = [one for one in self.all_terms if isinstance(one, Table)]
        gaps = self.gaps.cuts if self.gaps is not None else ()
        return [cut for one in tables for cut in one.cuts] + [*gaps]

    def within(self, low: float, high: float) -> Formula:
        """The same, with numbers outside as missing."""
        terms = [
            replace(one, low=low, high=high) if isinstance(one, Line | Parabola) else one
            for one in self.terms
        ]
        return replace(self, terms=terms)

    def without(self, columns: Collection[str]) -> Formula:
        """The same of rows that have none of these columns, which have levels."""
        terms = [one.without(columns) if isinstance(one, Table) else one for one in self.terms]
        base, kept = self.base, list[Term]()
        for one in terms:
            if isinstance(one, Table) and not one.cuts:
                base = base + one.added[0]
            else:
                kept.append(one)
        return replace(self, base=base, terms=kept)

    def __add__(self, other: Formula) -> Formula:
        """Both; one of them may have gaps, and is all that there is but for the class prior."""
        gaps, alone = (self.gaps, self) if self.gaps is not None else (other.gaps, other)
        rest = None
        if gaps is not None and alone.other is not None:
            base = self.base + other.base - alone.base
            rest = Formula(base + alone.other.base, alone.other.terms)
        return Formula(self.base + other.base, [*self.terms, *other.terms], gaps, rest)
