"""Which pairs of a table's columns depend on each other, given the class and at large."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.evaluation.diagnose import information
from naively.evaluation.diagnose.information import Evidence
from naively.evaluation.samples import LabelledRows
from naively.exact import Int64
from naively.invalid import Invalid
from naively.model import Model
from naively.prior import Prior
from naively.schema import Schema
from naively.tables.encoding import encode_part
from naively.tables.telling import bits_of
from naively.text.documents import Documents
from naively.workers import Workers

LEVEL = 0.05  # of the tests of all pairs together
COLUMNS = 64  # whose pairs are tested at most: 2,016 pairs, or
TABLES = 50_000  # fewer of many classes: this many tables of counts


@dataclass(frozen=True, eq=False)
class Feature:
    """A column, as levels or as numbers.

    Attributes
    ----------
    name : str
    values : (n,) int64 positions of levels, or `levels` where missing; or float64 with NaN.
    levels : how many there are; 0 of a column of numbers.
    """

    name: str
    values: npt.NDArray[Any]
    levels: int = 0


@dataclass(frozen=True)
class ColumnPair:
    """What two columns tell of each other.

    Attributes
    ----------
    first, second : names of the columns.
    kind : "levels", "numbers", or "both" for one of each.
    rows : in which both are known.
    given_class : I(first; second | Y) in nats, of the rows seen; inf if one follows from the other.
    chance : what columns that are independent given the class show on average, in nats.
    dof : degrees of freedom of the test of 2 rows given_class.
    p_value : of independence given the class, times the number of pairs (Bonferroni), at most 1.
    marginal : I(first; second) in nats, whatever the class.
    marginal_p_value : of independence, times the number of pairs, at most 1.
    """

    first: str
    second: str
    kind: str
    rows: int
    given_class: float
    chance: float
    dof: int
    p_value: float
    marginal: float
    marginal_p_value: float

    @property
    def dependent(self) -> bool:
        """Whether the two depend on each other given the class: at 5% for all pairs together."""
        return self.p_value < LEVEL

    @property
    def excess(self) -> float:
        """The information given the class beyond what chance shows, in nats; 0 if below that."""
        return max(self.given_class - self.chance, 0.0)

    @property
    def correlation(self) -> float:
        """The correlation of two normal numbers that tell as much: sqrt(1 - exp(-2 I)).

        The informational measure of correlation (Linfoot 1957), of the excess: from 0 to 1.
        """
        return math.sqrt(-math.expm1(-2.0 * self.excess))


def features(schema: Schema, table: pa.Table) -> tuple[list[Feature], dict[str, Invalid]]:
    """(the columns of a schema in the order of the table, values that their families cannot take).

    Without columns of text. The values count as missing.
    """
    invalid: dict[str, Invalid] = {}
    found: dict[str, Feature] = {}
    for part in schema.parts:
        if part.summary.takes == "documents":
            continue  # see `naively.evaluation.diagnose.pairs`
        data, unread = encode_part(part, table, schema)
        invalid |= unread
        for k, name in enumerate(part.names):
            if part.summary.takes == "levels":
                codes = data.codes[:, k].astype(np.int64)
                found[name] = Feature(name, codes, len(data.levels[k]))
            elif part.summary.takes == "truths":
                x, threshold = data[:, k], part.summary.threshold
                cut = 0.5 if threshold is None else threshold
                found[name] = Feature(name, np.where(np.isnan(x), 2, x > cut).astype(np.int64), 2)
            else:
                found[name] = Feature(name, np.ascontiguousarray(data[:, k]))
    return [found[name] for name in schema.ordered if name in found], invalid


def most_telling(features: Sequence[Feature], codes: Int64, classes: int) -> list[Feature]:
    """As many features as pairs can be tested of: those that tell most about the class."""
    tables = min(COLUMNS * (COLUMNS - 1) // 2, TABLES // classes)
    room = max(2, (1 + math.isqrt(1 + 8 * tables)) // 2)
    if len(features) <= room:
        return list(features)
    target, nothing = Feature("class", codes, classes), np.zeros_like(codes)
    told = [_all([one, target], nothing, 1)[0] for one in features]
    excess = np.array([float(one.nats - one.chance) for one in told])
    best = np.sort(np.argsort(-excess, kind="stable")[:room])
    return [features[k] for k in best]


def pairs(features: Sequence[Feature], codes: Int64, classes: int) -> list[ColumnPair]:
    """All pairs of the features, the dependent ones first, then by their excess.

    A row in which a column is missing says nothing of its pairs.

    Parameters
    ----------
    codes : (n,) class of each row.
    """
    given = _all(features, codes, classes)
    marginal = _all(features, np.zeros_like(codes), 1)
    number = len(given)
    found = [
        ColumnPair(
            a.name, b.name,
            "levels" if a.levels and b.levels else "both" if a.levels or b.levels else "numbers",
            int(own.rows), float(own.nats), float(own.chance), int(own.dof),
            min(1.0, number * float(own.p_value)),
            float(whole.nats), min(1.0, number * float(whole.p_value)),
        )
        for (a, b), own, whole in zip(combinations(features, 2), given, marginal, strict=True)
    ]  # fmt: skip
    return sorted(found, key=lambda one: (not one.dependent, -one.excess, one.p_value))


def _all(features: Sequence[Feature], codes: Int64, classes: int) -> list[Evidence]:
    """The evidence of each pair: columns of numbers all at once, each column of levels in turn."""
    numbers = {one: k for k, one in enumerate(one for one in features if not one.levels)}
    X = np.empty((len(codes), len(numbers)))
    for one, k in numbers.items():
        X[:, k] = one.values
    among = information.of_numbers(X, codes, classes)
    across = {
        one: information.of_both(one.values, one.levels, X, codes, classes)
        for one in features
        if one.levels
    }

    def evidence(a: Feature, b: Feature) -> Evidence:
        if a.levels and b.levels:
            sizes = a.levels, b.levels
            return information.of_levels(a.values, b.values, sizes, codes, classes)
        if a in numbers and b in numbers:
            return among[numbers[a], numbers[b]]
        levels, number = (a, b) if a.levels else (b, a)
        return across[levels][numbers[number]]

    return [evidence(a, b) for a, b in combinations(features, 2)]


# ---- The words of columns of text as columns: which of them are in a document.


WORDS = 20  # of a column of text, whose pairs are tested


def words(schema: Schema, rows: LabelledRows, workers: Workers) -> dict[str, list[Feature]]:
    """The terms of each column of text that tell most about the class, as columns of two levels.

    A level is whether the term is in the document, however often.
    """
    return {
        part.names[0]: _words(
            schema.known[part.names[0]], part.names[0],
            encode_part(part, rows.table, schema)[0], rows.codes, workers,
        )
        for part in schema.parts
        if part.summary.takes == "documents"
    }  # fmt: skip


def _words(family: Any, name: str, X: Documents, codes: Any, workers: Workers) -> list[Feature]:
    """The same of one column."""
    model = Model(Schema.of_array(family.presence, 1), Prior())
    model = model.summarise(X, codes, workers=workers)
    counted: Any = model.statistics
    if counted.wordless:
        return []
    posterior = model.posterior(workers)
    own: Any = posterior.parameters
    told = bits_of(own.events(()), posterior.class_prior)
    places = np.sort(np.argsort(-told, kind="stable")[:WORDS])
    has = own.having(X, places, workers).astype(np.int64)
    if X.valid is not None:
        has[~X.valid] = 2  # missing
    terms = own.named(places)
    return [
        Feature(f"{name}: {term}", np.ascontiguousarray(column), 2)
        for term, column in zip(terms, has.T, strict=True)
    ]
