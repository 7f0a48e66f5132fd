"""What tells most about the class: columns, by mutual information; terms and levels, by log-odds.

One definition, for whoever shows it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from naively.core.exact import Float64, Int64
from naively.core.model import Model
from naively.core.posterior import Posterior
from naively.core.schema import Block
from naively.families.base import Events, Parameters, mean_contribution

DRAWN = 4096  # rows from which the information of columns is estimated, and
CELLS = 1 << 24  # cells of their explanations, at most
NEARLY = 0.95  # part of the entropy of the class that is nearly all,
RULED_OUT = 745.0  # nats: e^-745 is the least float64 above 0
ROWS, OTHERS, PER_LEVEL = 50, 10, 5  # in so many rows: all, not of the largest class, a level


def information_and_importance(
    posterior: Posterior, with_importance: bool = True
) -> tuple[dict[str, float], dict[str, float]]:
    """(mutual information of each feature and the class in bits, importance), over drawn rows.

    The information is that of the model: the mean of log p(x | y) - log p(x). Of features whose
    counts share one distribution it is that of one count. The importance is `mean_contribution`.
    Text is left out: its rows are long to draw, or cannot be.
    """
    generator = np.random.default_rng(0)
    codes, share = _drawn(posterior, generator)
    information: dict[str, float] = {}
    importance: dict[str, float] = {}
    prior = posterior.class_prior
    for block, part in _blocks(posterior):
        rows = part.sample(codes, generator)
        alone = part.alone(rows)
        theta = part.event_probabilities()
        if theta is None:
            bits = _information(alone, posterior.log_prior, codes, share)
        else:
            bits = bits_of_event(theta, prior)
        information.update(zip(block.names, bits.tolist(), strict=True))
        if not with_importance:
            continue
        added = alone if block.family.independent else part.contributions(rows)
        added = np.clip(np.nan_to_num(added, posinf=np.inf, neginf=-np.inf), -RULED_OUT, RULED_OUT)
        for j, name in enumerate(block.names):
            importance[name] = mean_contribution(added[:, :, j].T, share, prior)
    return information, importance


def bits(posterior: Posterior) -> dict[str, float]:
    """Mutual information of each feature and the class in bits: `information_and_importance`."""
    return information_and_importance(posterior, with_importance=False)[0]


def entropy(posterior: Posterior) -> float:
    """What there is to tell about the class: the entropy of its prior, in bits."""
    prior = posterior.class_prior[posterior.class_prior > 0]
    return float(-(prior * np.log2(prior)).sum()) + 0.0


def nearly_all(model: Model, told: dict[str, float]) -> list[str]:
    """The columns each of which alone tells nearly all about the class: few causes do, leaks do.

    That is 95% of the entropy, in fifty rows or more, at least half of the table, ten of them not
    of the largest class. What a family only supposes does not count: see
    `Parameters.supposing_least`; levels need five rows each.

    Parameters
    ----------
    told : the bits of each column.
    """
    posterior = model.posterior()
    least, weight = NEARLY * entropy(posterior), model.class_weight.rounded()
    if least <= 0 or weight.sum() - weight.max() < OTHERS:
        return []
    generator = np.random.default_rng(0)
    codes, share = _drawn(posterior, generator)
    missing = missing_weight(model)
    found: list[str] = []
    for block, part in _blocks(posterior):
        sober = part.supposing_least()
        if sober is None or not any(told[name] >= least for name in block.names):
            continue
        gone = [0.0 if part.missing_tells else missing[name] for name in block.names]
        rows = weight.sum() - np.array(gone)
        sure = (rows >= ROWS) & (2 * rows >= weight.sum()) & (rows >= PER_LEVEL * part.kinds())
        if sober is not part:
            scores = sober.alone(sober.sample(codes, generator))
            sure &= _information(scores, posterior.log_prior, codes, share) >= least
        found += [n for n, ok in zip(block.names, sure, strict=True) if ok and told[n] >= least]
    return found


def missing_weight(model: Model) -> dict[str, float]:
    """The weight of the rows in which each column is missing."""
    found: dict[str, float] = {}
    for part, counted in zip(model.schema.parts, model.parts, strict=True):
        missing = counted.tables["missing"].rounded().sum(axis=0)
        found.update(zip(part.names, missing.tolist(), strict=True))
    return found


def _blocks(posterior: Posterior) -> list[tuple[Block, Parameters]]:
    """(block of columns, its parameters), but for text."""
    return [(block, part) for block, part in posterior.blocks if not block.family.summary.of_texts]


def _drawn(posterior: Posterior, generator: np.random.Generator) -> tuple[Int64, Float64]:
    """(classes of rows to draw, what part of all each row stands for).

    Half of the rows are spread evenly, so that rare classes have some too.
    """
    prior = posterior.class_prior / posterior.class_prior.sum()
    classes, features = len(prior), len(posterior.schema.names)
    rows = max(64, min(DRAWN, CELLS // (classes * max(1, features))))
    counts = generator.multinomial(rows // 2, prior) + np.where(prior > 0, rows // 2 // classes, 0)
    share = np.divide(prior, counts, out=np.zeros(classes), where=counts > 0)
    codes = np.repeat(np.arange(classes), counts)
    return codes, share[codes] / share[codes].sum()


def _information(scores: Float64, log_prior: Float64, codes: Int64, share: Float64) -> Float64:
    """The mutual information of each feature and the class, (d,), in bits; scores (n, C, d)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        prior = log_prior[:, np.newaxis]
        top = scores.max(axis=1, keepdims=True)
        mixed = top[:, 0] + np.log(np.exp(scores - top + prior).sum(axis=1))
        gain = scores[np.arange(len(codes)), codes] - mixed
    return np.maximum(share @ np.nan_to_num(gain) / np.log(2), 0.0)


def bits_of_event(p: Float64, prior: Float64) -> Float64:
    """Mutual information of the class and an event of probability p in each, (C, d), in bits."""
    mean = prior @ p
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.nan_to_num(p * np.log2(p / mean)) + np.nan_to_num(
            (1 - p) * np.log2((1 - p) / (1 - mean))
        )
    return np.maximum(prior @ terms, 0.0)


def bits_of(events: Events, prior: Float64) -> Float64:
    """Mutual information of the class and each event, (V,), in bits: what one chance of it tells.

    That is one word, where each word is a roll of the class's die, or one document, where words are
    present or absent. Manning, Raghavan & Schütze 2008, section 13.5.1, with smoothed counts.

    Parameters
    ----------
    prior : (C,) π_c.
    """
    p = (events.counts + events.alpha) / np.maximum(events.totals + events.whole, 1e-300)
    return bits_of_event(np.minimum(p, 1.0), prior)


def most_telling(events: Events, most: int) -> list[tuple[Int64, Float64]]:
    """The events that speak most for each class, with their log-odds against all others together.

    What an event tells of a class is θ log (θ / θ'), with θ = (count + alpha) / (total + whole)
    its probability in the class and θ' that in all other classes together, smoothed alike.

    Parameters
    ----------
    events : what can be met, and how often it was.
    most : how many events a class, at most.

    Returns
    -------
    for each class, (places of the events, what tells most first; their log-odds in nats, all > 0).
    """
    counts, totals = events.counts, events.totals
    everything, all_totals = counts.sum(axis=0), totals.sum(axis=0)
    alphas = np.broadcast_to(events.alpha, counts.shape)
    wholes = np.broadcast_to(events.whole, totals.shape)
    found = []
    for c, (mine, total, a, b) in enumerate(zip(counts, totals, alphas, wholes, strict=True)):
        with np.errstate(divide="ignore", invalid="ignore"):
            theta = (mine + a) / (total + b)
            others = (everything - mine + a) / (all_totals - total + b)
            odds = np.log(theta) - np.log(others) if events.odds is None else events.odds[c]
            told = np.nan_to_num(theta * odds, nan=0.0, posinf=np.inf)
        places = np.lexsort((-theta, -told))[:most]
        places = places[odds[places] > 0]
        found.append((places, odds[places]))
    return found


def telling_terms(
    posterior: Posterior, own: Any, most: int
) -> list[list[tuple[str, float, float]]]:
    """(a term, its log-odds, its bits) of the terms of a text that tell most about each class.

    Of each class those of `most_telling`, with `bits_of` them; none if terms are hashed.

    Parameters
    ----------
    own : TextParameters of the text, or `ToldTerms` of one beside other columns.
    most : how many terms a class, at most.
    """
    if own.hashed:
        return [[] for _ in posterior.classes]
    events = own.events(())
    bits = bits_of(events, posterior.class_prior)
    return [
        list(
            zip(
                own.named(places), odds.tolist(), bits[places].tolist(),
                strict=True,
            )
        )
        for places, odds in most_telling(events, most)
    ]  # fmt: skip
