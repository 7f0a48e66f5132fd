"""What tells most about the class: columns, by mutual information; terms and levels, by log-odds.

One definition, for whoever shows it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from naively.exact import Float64, Int64
from naively.families.complement import ComplementParameters
from naively.families.multinomial import MultinomialParameters
from naively.families.text_parameters import TextParameters
from naively.tables.model import TableModel

DRAWN = 4096  # rows from which the information of columns is estimated, and
CELLS = 1 << 24  # cells of their explanations, at most


def bits(table: TableModel) -> dict[str, float]:
    """What each column alone tells about the class: its mutual information, in bits.

    That of the model, over rows drawn from it: the mean of log p(x | y) - log p(x). Of columns
    whose counts share one distribution, that of one count being of the column. Columns of text are
    left out: their rows are long to draw, or cannot be.
    """
    model = table.model
    parameters: Any = model.parameters
    parts = [
        (block.names, part)
        for block, part in zip(table.schema.blocks, parameters.parts, strict=True)
        if not isinstance(part, TextParameters)
    ]
    rows = max(64, min(DRAWN, CELLS // (len(model.classes) * max(1, model.n_features))))
    generator = np.random.default_rng(0)
    codes = generator.choice(len(model.classes), size=rows, p=model.class_prior)
    drawn = [part.sample(codes, generator) for _, part in parts]
    found: dict[str, float] = {}
    for (names, part), values in zip(parts, drawn, strict=True):
        scores = part.alone(values)
        with np.errstate(invalid="ignore", divide="ignore"):
            prior = model.log_prior[:, np.newaxis]
            top = scores.max(axis=1, keepdims=True)
            mixed = top[:, 0] + np.log(np.exp(scores - top + prior).sum(axis=1))
            gain = scores[np.arange(len(codes)), codes] - mixed
        means = np.maximum(np.nan_to_num(gain).mean(axis=0) / np.log(2), 0.0)
        found.update(zip(names, means.tolist(), strict=True))
        everything = slice(0, len(names))
        if isinstance(part, MultinomialParameters):
            theta = np.exp(part.log_theta(everything))
        elif isinstance(part, ComplementParameters):
            theta = np.exp(-part.weights(everything))  # share in the other classes
        else:
            continue
        told = _bits_of_event(np.minimum(theta, 1.0), model.class_prior)
        found.update(zip(names, told.tolist(), strict=True))
    return found


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
