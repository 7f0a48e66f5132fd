"""What tells most about the class: columns, by mutual information; terms and levels, by log-odds.

One definition, for whoever shows it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from naively.exact import Float64, Int64
from naively.families.bernoulli import BernoulliParameters
from naively.families.categorical import CategoricalParameters
from naively.families.complement import ComplementParameters
from naively.families.discretized import DiscretizedParameters
from naively.families.gaussian import GaussianParameters
from naively.families.kernel_density import KernelDensityParameters
from naively.families.multinomial import MultinomialParameters
from naively.families.text_parameters import TextParameters
from naively.model import Model
from naively.tables.model import TableModel

DRAWN = 4096  # rows from which the information of columns is estimated, and
CELLS = 1 << 24  # cells of their explanations, at most
NEARLY = 0.95  # part of the entropy of the class that is nearly all,
ROWS, OTHERS, PER_LEVEL = 50, 10, 5  # in so many rows: all, not of the largest class, a level


def bits(table: TableModel) -> dict[str, float]:
    """What each column alone tells about the class: its mutual information, in bits.

    That of the model, over rows drawn from it: the mean of log p(x | y) - log p(x). Of columns
    whose counts share one distribution, that of one count being of the column. Columns of text are
    left out: their rows are long to draw, or cannot be.
    """
    model = table.model
    generator = np.random.default_rng(0)
    codes, share = _drawn(model, generator)
    found: dict[str, float] = {}
    for names, part, _ in _parts(table):
        told = _information(part, model.log_prior, codes, share, generator)
        everything = slice(0, len(names))
        if isinstance(part, MultinomialParameters):
            theta = np.exp(part.log_theta(everything))
            told = _bits_of_event(np.minimum(theta, 1.0), model.class_prior)
        elif isinstance(part, ComplementParameters):
            theta = np.exp(-part.weights(everything))  # share in the other classes
            told = _bits_of_event(np.minimum(theta, 1.0), model.class_prior)
        found.update(zip(names, told.tolist(), strict=True))
    return found


def entropy(model: Model) -> float:
    """What there is to tell about the class: the entropy of its prior, in bits."""
    prior = model.class_prior[model.class_prior > 0]
    return float(-(prior * np.log2(prior)).sum()) + 0.0


def nearly_all(table: TableModel, told: dict[str, float]) -> list[str]:
    """The columns each of which alone tells nearly all about the class: few causes do, leaks do.

    That is 95% of the entropy, in fifty rows or more, at least half of the table, ten of them not
    of the largest class. What a family only supposes does not count: normal densities must be as
    far apart with the widest class's variance in all classes, since a narrow one tells much of
    rows that it may not have; levels need five rows each; of other families than those of levels,
    ranges, kernels and normal densities nothing is said.

    Parameters
    ----------
    told : the bits of each column.
    """
    model = table.model
    least, weight = NEARLY * entropy(model), model.class_weight.rounded()
    if least <= 0 or weight.sum() - weight.max() < OTHERS:
        return []
    generator = np.random.default_rng(0)
    codes, share = _drawn(model, generator)
    found: list[str] = []
    for names, part, sums in _parts(table):
        if not any(told[name] >= least for name in names):
            continue
        rows = weight.sum() - sums.tables["missing"].rounded().sum(axis=0)
        sure = (rows >= ROWS) & (2 * rows >= weight.sum())
        if isinstance(part, CategoricalParameters):
            sure &= rows >= PER_LEVEL * np.array([len(levels) for levels in part.levels])
        elif isinstance(part, GaussianParameters):
            widest = np.broadcast_to(part.variance.max(axis=0), part.variance.shape)
            wide = type(part)(part.mean, widest.copy(), part.epsilon, part.tie)
            sure &= _information(wide, model.log_prior, codes, share, generator) >= least
        elif not isinstance(
            part, BernoulliParameters | DiscretizedParameters | KernelDensityParameters
        ):
            continue
        found += [n for n, ok in zip(names, sure, strict=True) if ok and told[n] >= least]
    return found


def _parts(table: TableModel) -> list[tuple[tuple[str, ...], Any, Any]]:
    """(names, parameters, statistics) of the blocks of columns, but for text."""
    parameters: Any = table.model.parameters
    statistics: Any = table.model.statistics
    return [
        (block.names, part, sums)
        for block, part, sums in zip(
            table.schema.blocks, parameters.parts, statistics.parts, strict=True
        )
        if not isinstance(part, TextParameters)
    ]


def _drawn(model: Model, generator: np.random.Generator) -> tuple[Int64, Float64]:
    """(classes of rows to draw, what part of all each row stands for).

    Half of the rows are spread evenly, so that rare classes have some too.
    """
    prior = model.class_prior / model.class_prior.sum()
    classes = len(prior)
    rows = max(64, min(DRAWN, CELLS // (classes * max(1, model.n_features))))
    counts = generator.multinomial(rows // 2, prior) + np.where(prior > 0, rows // 2 // classes, 0)
    share = np.divide(prior, counts, out=np.zeros(classes), where=counts > 0)
    codes = np.repeat(np.arange(classes), counts)
    return codes, share[codes] / share[codes].sum()


def _information(
    part: Any, log_prior: Float64, codes: Int64, share: Float64, generator: np.random.Generator
) -> Float64:
    """The mutual information of each column of a block and the class, (d,), in bits."""
    scores = part.alone(part.sample(codes, generator))
    with np.errstate(invalid="ignore", divide="ignore"):
        prior = log_prior[:, np.newaxis]
        top = scores.max(axis=1, keepdims=True)
        mixed = top[:, 0] + np.log(np.exp(scores - top + prior).sum(axis=1))
        gain = scores[np.arange(len(codes)), codes] - mixed
    return np.maximum(share @ np.nan_to_num(gain) / np.log(2), 0.0)


def _bits_of_event(p: Float64, prior: Float64) -> Float64:
    """Mutual information of the class and an event of probability p in each, (C, d), in bits."""
    mean = prior @ p
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.nan_to_num(p * np.log2(p / mean)) + np.nan_to_num(
            (1 - p) * np.log2((1 - p) / (1 - mean))
        )
    return np.maximum(prior @ terms, 0.0)


def most_telling(
    counts: Float64, totals: Float64, alpha: Any, whole: Any, most: int
) -> list[tuple[Int64, Float64]]:
    """The events that speak most for each class, with their log-odds against all others together.

    What an event tells of a class is θ log (θ / θ'), with θ = (count + alpha) / (total + whole)
    its probability in the class and θ' that in all other classes together, smoothed alike.

    Parameters
    ----------
    counts : (C, V), how often each event was met.
    totals : (C, 1) or (C, V), of how many.
    alpha, whole : virtual counts of the event, and of all that might be instead, itself included;
        of shapes that broadcast to those of counts and totals.
    most : how many events a class, at most.

    Returns
    -------
    for each class, (places of the events, what tells most first; their log-odds in nats, all > 0).
    """
    everything, all_totals = counts.sum(axis=0), totals.sum(axis=0)
    alphas, wholes = np.broadcast_to(alpha, counts.shape), np.broadcast_to(whole, totals.shape)
    found = []
    for mine, total, a, b in zip(counts, totals, alphas, wholes, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            theta = (mine + a) / (total + b)
            others = (everything - mine + a) / (all_totals - total + b)
            odds = np.log(theta) - np.log(others)
            told = np.nan_to_num(theta * odds, nan=0.0, posinf=np.inf)
        places = np.lexsort((-theta, -told))[:most]
        places = places[odds[places] > 0]
        found.append((places, odds[places]))
    return found


def in_order(levels: list[Any]) -> list[int]:
    """The places of sorted levels as a person lists them: numbers by their size."""
    try:
        return sorted(range(len(levels)), key=lambda k: float(levels[k]))
    except ValueError:
        return list(range(len(levels)))
