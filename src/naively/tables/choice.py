"""The family that predicts best, column by column, on rows it did not learn."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from naively.exact import Float64, Int64
from naively.families.base import AnyFamily
from naively.families.discretized import Discretized
from naively.families.exponential import Exponential
from naively.families.gamma import Gamma
from naively.families.gaussian import Gaussian
from naively.families.kernel_density import KernelDensity
from naively.families.lognormal import LogNormal
from naively.families.poisson import Poisson
from naively.hashing import GOLDEN, mixed
from naively.model import Model
from naively.prior import Prior
from naively.schema import Block, Schema, Why, together
from naively.tables import values
from naively.tables.targets import LabelCodes

ROWS = 6000  # rows that are looked at, taken by chance
FOLDS = 3
LEAST = -30.0  # nats that one row can cost: a surprise, but not an infinite one
CELLS = 1 << 22  # of the scores held at a time


def candidates() -> list[AnyFamily]:
    """The families to choose from; the first of equals is taken."""
    return [
        Gaussian(floor="feature"), Poisson(), Exponential(), Gamma(), LogNormal(), Discretized(),
        KernelDensity(),
    ]  # fmt: skip


def chosen(
    schema: Schema, table: pa.Table, labels: LabelCodes, asked: Collection[str],
    missing: Collection[str],
) -> Schema:  # fmt: skip
    """The schema with the best family for each column of numbers that is not asked for."""
    classes, codes = labels
    codes = codes[: table.num_rows]
    open_ = [
        name
        for name, family in schema.known.items()
        if name not in asked and family.curve is not None
    ]
    known = codes < len(classes)
    if not open_ or not known.any():
        return schema
    X = np.column_stack(
        [values.numbers(values.flat(table.column(name)), missing).values for name in open_]
    )
    X[np.isinf(X)] = np.nan
    best = dict(zip(open_, choose(X[known], codes[known], len(classes)), strict=True))
    reasons = {name: schema.reason(name) for name in schema.why}
    blocks = []
    for name, family in schema.known.items():
        if name in best:
            family, score = best[name]
            text = f"{schema.why[name]}; log P(y | x) {score:.4g} on rows held out"
            reasons[name] = Why(text, "chosen")
        elif name in asked:
            continue
        blocks.append(Block(family, (name,)))
    blocks += [block for block in schema.blocks if {*asked} & {*block.names}]
    return replace(schema, blocks=together(blocks), reasons=reasons)


def choose(X: Float64, codes: Int64, classes: int) -> list[tuple[AnyFamily, float]]:
    """For each column: the best family, and its mean log P(y | x_α) on held-out rows, in nats.

    Each candidate alone, with the class prior, learns two thirds of the rows and predicts the
    labels of the others, three times over. What families say of the class compares across
    densities and counts, as log p(x | y) does not. A later candidate, of more parameters, must
    be better by more than half a standard error.

    Parameters
    ----------
    X : (n, d) float64, NaN where missing.
    codes : (n,) class of each row.
    """
    low, high = np.fmin.reduce(X), np.fmax.reduce(X)
    with np.errstate(invalid="ignore"):
        whole = (np.isnan(X) | (np.floor(X) == X)).all(axis=0)
    kept = _by_chance(X, codes)[:ROWS]
    X, codes = X[kept], codes[kept]
    families: list[AnyFamily] = [Gaussian(floor="feature")] * X.shape[1]
    best = np.full(X.shape, -np.inf)
    for family in candidates():
        least, most = family.summary.bounds
        fits = (low >= least) & (high <= most) & (whole | (family.name != "poisson"))
        for columns in _blocks(np.flatnonzero(fits), len(X) * classes):
            scores = _held_out(family, X[:, columns], codes)
            with np.errstate(invalid="ignore"):
                gain = scores - best[:, columns]
                better = gain.mean(axis=0) > 0.5 * gain.std(axis=0) / np.sqrt(len(X))
            better |= np.isneginf(best[0, columns])
            best[:, columns[better]] = scores[:, better]
            for j in columns[better]:
                families[j] = family
    for j in np.flatnonzero(whole):
        if families[j] == Gaussian(floor="feature"):
            families[j] = Gaussian(floor="feature", resolution=1.0)
    return list(zip(families, best.mean(axis=0).tolist(), strict=True))


def _by_chance(X: Float64, codes: Int64) -> Int64:
    """The rows in an order without a pattern, which is the same in whatever order they came."""
    hashes = mixed(codes.astype(np.uint64) + np.uint64(GOLDEN))
    for column in X.T:
        bits = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)  # one NaN, one 0
        hashes = mixed(hashes + mixed(bits))
    order = np.argsort(hashes, kind="stable")
    found = hashes[order]
    new = np.append(True, found[1:] != found[:-1])
    rank = np.arange(len(X)) - np.flatnonzero(new)[np.cumsum(new) - 1]  # among equal rows
    return order[np.argsort(mixed(found + rank.astype(np.uint64) * np.uint64(GOLDEN)))]


def _held_out(family: AnyFamily, X: Float64, codes: Int64) -> Float64:
    """log P(y | x_α) of each row and column, by models that did not learn the row."""
    found = np.zeros(X.shape)
    fold = np.arange(len(X)) % FOLDS
    for k in range(FOLDS):
        blank = Model(Schema.of_array(family, X.shape[1]), Prior(smoothing=1.0))
        model = blank.summarise(X[fold != k], codes[fold != k])
        rows = np.flatnonzero(np.isin(codes, model.classes) & (fold == k))
        truth = np.searchsorted(model.classes, codes[rows])
        explained = model.posterior().explain(X[rows])
        scores = np.nan_to_num(explained.contributions + explained.prior[:, :, np.newaxis], nan=0.0)
        scores -= scores.max(axis=1, keepdims=True)
        own = scores[np.arange(len(truth)), truth]
        found[rows] = np.maximum(own - np.log(np.exp(scores).sum(axis=1)), LEAST)
    return found


def _blocks(columns: Any, size: int) -> Iterator[Any]:
    """Columns whose scores are held together."""
    width = max(1, CELLS // max(1, size))
    return (columns[at : at + width] for at in range(0, len(columns), width))
