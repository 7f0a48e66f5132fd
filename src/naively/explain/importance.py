"""Measure how informative features are: mutual information, importance, and the best terms.

Summaries, reports and explanations all use these definitions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.labels import Label
from naively.families.base import Events, Parameters, mean_contribution
from naively.families.numeric.gaussian import GaussianParameters
from naively.model.model import Model
from naively.model.posterior import Posterior
from naively.model.schema import Block

DRAWN = 4096  # drawn rows from which mutual information is estimated
CELLS = 1 << 24  # maximum size of their (rows, classes, features) scores
NEARLY = 0.95  # fraction of the entropy of the class that suggests a target leak
RULED_OUT = 745.0  # nats: e^-745 is the least float64 above 0
ROWS, OTHERS, PER_LEVEL = 50, 10, 5  # least rows: in all, outside the largest class, per category


class InformativeTerm(NamedTuple):
    """A term of a text, as evidence for a class."""

    term: str  # its name
    log_odds: float  # of the class against all other classes together, in nats
    bits: float  # mutual information of the term and the class
    occurrences: float  # how often it occurred in the class, or in how many documents; weighted
    p: float  # P(term | class), smoothed


def information_and_importance(
    posterior: Posterior, with_importance: bool = True
) -> tuple[dict[str, float], dict[str, float]]:
    """Return (mutual information of each feature and the class in bits, feature importance).

    Both are estimated from rows drawn from the model. The information is the mean of
    log p(x | y) - log p(x); for multinomial features, that of one count. The importance is
    `mean_contribution`. Text columns are left out: drawing them is slow or impossible.
    """
    generator = np.random.default_rng(0)
    codes, share = _drawn(posterior, generator)
    information: dict[str, float] = {}
    importance: dict[str, float] = {}
    prior = posterior.class_prior
    for block, part in _blocks(posterior):
        rows = part.sample(codes, generator)
        scores = part.alone(rows)
        theta = part.event_probabilities()
        if theta is None:
            bits = _information(scores, posterior.log_prior, codes, share)
        else:
            bits = bits_of_event(theta, prior)
        information.update(zip(block.names, bits.tolist(), strict=True))
        if not with_importance:
            continue
        contributions = scores if block.family.independent else part.contributions(rows)
        contributions = np.clip(
            np.nan_to_num(contributions, posinf=np.inf, neginf=-np.inf), -RULED_OUT, RULED_OUT
        )
        for j, name in enumerate(block.names):
            importance[name] = mean_contribution(contributions[:, :, j].T, share, prior)
    return information, importance


def bits(posterior: Posterior) -> dict[str, float]:
    """Return the mutual information of each feature and the class in bits."""
    return information_and_importance(posterior, with_importance=False)[0]


def entropy(posterior: Posterior) -> float:
    """Return the entropy of the class prior in bits, an upper bound of the mutual information."""
    prior = posterior.class_prior[posterior.class_prior > 0]
    return float(-(prior * np.log2(prior)).sum()) + 0.0


def nearly_all(model: Model, information: dict[str, float]) -> list[str]:
    """Find columns that determine the class nearly alone, as target leaks do.

    Their mutual information is at least 95% of the entropy of the class, in fifty rows or more,
    which are at least half of the table; ten rows or more are not of the largest class. Categories
    need five rows each. The information must also remain with parameters that claim no more than
    the counts: see `Parameters.supposing_least`.
    """
    posterior = model.posterior()
    threshold, weight = NEARLY * entropy(posterior), model.class_weight.rounded()
    if threshold <= 0 or weight.sum() - weight.max() < OTHERS:
        return []
    generator = np.random.default_rng(0)
    codes, share = _drawn(posterior, generator)
    missing = missing_weight(model)
    columns: list[str] = []
    for block, part in _blocks(posterior):
        cautious = part.supposing_least()
        if cautious is None or not any(information[name] >= threshold for name in block.names):
            continue
        weight_missing = [
            0.0 if part.missing_is_evidence else missing[name] for name in block.names
        ]
        rows = weight.sum() - np.array(weight_missing)
        reliable = (rows >= ROWS) & (2 * rows >= weight.sum()) & (rows >= PER_LEVEL * part.kinds())
        if cautious is not part:
            scores = cautious.alone(cautious.sample(codes, generator))
            reliable &= _information(scores, posterior.log_prior, codes, share) >= threshold
        names = [name for name, ok in zip(block.names, reliable, strict=True) if ok]
        columns += [name for name in names if information[name] >= threshold]
    return columns


def with_zeros(posterior: Posterior) -> set[str]:
    """Find features with a value of probability 0 in some classes only, for want of smoothing.

    Its contribution to the log-odds is infinite.
    """
    names: set[str] = set()
    for block, part in posterior.blocks:
        alpha = getattr(block.family, "alpha", None)
        if isinstance(alpha, int | float) and alpha > 0:
            continue
        kind = "mean" if block.family.name == "poisson" else "p"
        for listed in part.listed():
            if listed.name != kind:
                continue
            zeros = _in_some(listed.values == 0)
            if block.family.name == "bernoulli":
                zeros |= _in_some(listed.values == 1)
            features = listed.features
            numbers = range(len(block.names)) if features is None else features[zeros].tolist()
            names |= {block.names[j] for j in numbers if zeros.any()}
    return names


def constant_in(posterior: Posterior) -> dict[str, list[Label]]:
    """Find features with a bell curve of almost no width in some classes, where they are constant.

    A standard deviation of another class is at least ten of theirs, 50 nats.
    """
    classes: dict[str, list[Label]] = {}
    for block, part in posterior.blocks:
        if isinstance(part, GaussianParameters):
            narrow = part.variance <= part.epsilon
            narrow &= part.variance.max(axis=0) >= 100.0 * part.variance
            for j in np.flatnonzero(narrow.any(axis=0)).tolist():
                classes[block.names[j]] = posterior.classes[narrow[:, j]].tolist()
    return classes


def _in_some(is_true: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which columns are true in some rows, but not in all."""
    return np.asarray(is_true.any(axis=0) & ~is_true.all(axis=0))


def missing_weight(model: Model) -> dict[str, float]:
    """Return the weight of the rows in which each column is missing."""
    weights: dict[str, float] = {}
    for part, statistics in zip(model.schema.parts, model.parts, strict=True):
        missing = statistics.tables["missing"].rounded().sum(axis=0)
        weights.update(zip(part.names, missing.tolist(), strict=True))
    return weights


def _blocks(posterior: Posterior) -> list[tuple[Block, Parameters]]:
    """Return (block of columns, its parameters) of all blocks but text."""
    return [(block, part) for block, part in posterior.blocks if not block.family.summary.of_texts]


def _drawn(posterior: Posterior, generator: np.random.Generator) -> tuple[Int64, Float64]:
    """Return (class codes of rows to draw, weights of these rows, which sum to 1).

    Half of the rows are spread evenly over the classes, so that rare classes have enough.
    """
    prior = posterior.class_prior / posterior.class_prior.sum()
    classes, features = len(prior), len(posterior.schema.names)
    rows = max(64, min(DRAWN, CELLS // (classes * max(1, features))))
    counts = generator.multinomial(rows // 2, prior) + np.where(prior > 0, rows // 2 // classes, 0)
    share = np.divide(prior, counts, out=np.zeros(classes), where=counts > 0)
    codes = np.repeat(np.arange(classes), counts)
    return codes, share[codes] / share[codes].sum()


def _information(scores: Float64, log_prior: Float64, codes: Int64, share: Float64) -> Float64:
    """Return the mutual information of each feature and the class, (d,), in bits.

    `scores` are log p(x | c), (n, C, d), of rows with the classes `codes` and weights `share`.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        prior = log_prior[:, np.newaxis]
        top = scores.max(axis=1, keepdims=True)
        log_marginal = top[:, 0] + np.log(np.exp(scores - top + prior).sum(axis=1))
        gain = scores[np.arange(len(codes)), codes] - log_marginal
    return np.maximum(share @ np.nan_to_num(gain) / np.log(2), 0.0)


def bits_of_event(p: Float64, prior: Float64) -> Float64:
    """Return the mutual information of the class and events with probabilities p, (C, d), in bits.

    The result is (d,).
    """
    mean = prior @ p
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.nan_to_num(p * np.log2(p / mean))
        terms += np.nan_to_num((1 - p) * np.log2((1 - p) / (1 - mean)))
    return np.maximum(prior @ terms, 0.0)


def bits_of(events: Events, prior: Float64) -> Float64:
    """Return the mutual information of the class and each event, (V,), in bits.

    The event is that one word of a document is the term (multinomial), or that a document contains
    the term (Bernoulli). Manning, Raghavan & Schütze 2008, section 13.5.1, with smoothed counts.
    """
    return bits_of_event(probabilities(events), prior)


def probabilities(events: Events) -> Float64:
    """Return P(event | class), smoothed, (C, V)."""
    p = (events.counts + events.alpha) / np.maximum(events.totals + events.whole, 1e-300)
    return np.minimum(p, 1.0)


def most_informative(events: Events, most: int) -> list[tuple[Int64, Float64]]:
    """Return the most informative events of each class, with their log-odds against all others.

    Events are ranked by θ log (θ / θ'), where θ = (count + alpha) / (total + whole) is the
    probability in the class, and θ' that in all other classes together, with the same smoothing.

    Returns for each class, (positions of the events, the most informative first; their log-odds in
    nats, all > 0).
    """
    counts, totals = events.counts, events.totals
    all_counts, all_totals = counts.sum(axis=0), totals.sum(axis=0)
    alphas = np.broadcast_to(events.alpha, counts.shape)
    alpha_totals = np.broadcast_to(events.whole, totals.shape)
    telling = []
    for c, (count, total, a, b) in enumerate(
        zip(counts, totals, alphas, alpha_totals, strict=True)
    ):
        with np.errstate(divide="ignore", invalid="ignore"):
            theta = (count + a) / (total + b)
            theta_rest = (all_counts - count + a) / (all_totals - total + b)
            odds = np.log(theta) - np.log(theta_rest) if events.odds is None else events.odds[c]
            relevance = np.nan_to_num(theta * odds, nan=0.0, posinf=np.inf)
        places = np.lexsort((-theta, -relevance))[:most]
        places = places[odds[places] > 0]
        telling.append((places, odds[places]))
    return telling


def informative_terms(
    posterior: Posterior, parameters: Any, most: int
) -> list[list[InformativeTerm]]:
    """Return the most informative terms of a text for each class.

    Terms are those of `most_informative`, and bits those of `bits_of`; none if terms are hashed.

    `parameters`: TextParameters of the text, or `WeightedTerms` of a text column of `AutoBayes`.
    """
    if parameters.hashed:
        return [[] for _ in posterior.classes]
    events = parameters.events(())
    bits, p = bits_of(events, posterior.class_prior), probabilities(events)
    return [
        list(
            map(
                InformativeTerm, parameters.named(places), odds.tolist(), bits[places].tolist(),
                events.counts[c, places].tolist(), p[c, places].tolist(),
            )
        )
        for c, (places, odds) in enumerate(most_informative(events, most))
    ]  # fmt: skip
