"""The dice and coins of a model: a die a feature, one die for all, or coins side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from naively.exact import Float64
from naively.families.describing import Events, in_order
from naively.model import Model
from naively.plot.models import displayed, feature, log_density, part_of
from naively.tables.telling import bits_of_event

MOST = 9  # features that are shown unless they are named
FACES = 12  # levels of a feature, the rest being one bar; sides and coins, the most telling ones
BARS, FEWEST = 72, 3  # of sides and coins there are fewer where classes are many
LEVEL, SIDE, HEADS = "P(level | class)", "P(side | class)", "P(x = 1 | class)"


@dataclass(frozen=True)
class Die:
    """One feature's probabilities, or those of features that lie side by side.

    Attributes
    ----------
    name : of the feature, or what there is side by side.
    levels : (K,) names.
    theta : (C, K) [θ_jc]_α, the probability of level j in class c; θ_αc of one event, or p_αc.
    quantity : what theta is.
    """

    name: str
    levels: list[str]
    theta: Float64
    quantity: str = LEVEL


def dice_of(model: Model, features: Sequence[Any] | Any | None) -> list[Die]:
    """A die for each feature with levels; one for all events; and one that is all coins.

    Raises
    ------
    ValueError : if there are none, or a feature is none of them.
    """
    known = model.schema.known
    levelled = [n for n in model.schema.ordered if known[n].summary.takes == "levels"]
    boards = _boards(model)
    names = [*levelled, *(name for _, _, events in boards for name in events.names)]
    if not names:
        raise ValueError("no feature of this model has levels, and there is no die and no coin")
    if features is None:
        dice = [_die(model, name) for name in displayed(model, None, levelled, MOST)]
        return dice + [_board(model, *board) for board in boards]
    listed = [features] if isinstance(features, str | int | np.integer) else list(features)
    chosen = [feature(model, one, names) for one in listed]
    dice = [_die(model, name) for name in chosen if name in levelled]
    for board in boards:
        if own := [name for name in chosen if name in board[2].names]:
            dice.append(_board(model, *board, own))
    return dice


def _boards(model: Model) -> list[tuple[str, str, Events]]:
    """(what lies side by side, what its probabilities are, the events) of coins and shared dice."""
    found = []
    for block, part in model.posterior().blocks:
        event = getattr(block.family, "event", block.family.name)
        if event in ("multinomial", "binary", "bernoulli"):
            events = part.events(block.names)
            assert events is not None
            what, quantity = ("coins", HEADS) if event == "bernoulli" else ("sides", SIDE)
            if block.family.name == "text" and len(model.schema.names) > 1:
                what = f"{what}: {block.names[0]}"
            found.append((what, quantity, events))
    return found


def _board(
    model: Model, what: str, quantity: str, events: Events, chosen: list[str] | None = None
) -> Die:
    """Those events that are chosen, or the most telling ones, in their order."""
    counts = events.counts + events.alpha
    totals = np.broadcast_to(events.totals + events.whole, counts.shape)
    size = len(events.names)
    even = np.full(counts.shape, 0.5 if quantity == HEADS else 1.0 / size)
    theta = np.divide(counts, totals, out=even, where=totals > 0)
    if chosen is not None:
        place = {name: k for k, name in enumerate(events.names)}
        kept = np.array([place[name] for name in chosen])
    else:
        told = bits_of_event(theta, model.posterior().class_prior)
        most = max(FEWEST, min(FACES, BARS // len(counts)))
        kept = np.sort(np.argsort(-told, kind="stable")[:most])
    whole = f"one die of {size:,} {what}" if quantity == SIDE else f"{size:,} {what}"
    title = whole if len(kept) == size else f"{len(kept)} of {size:,} {what}"
    return Die(title, [events.names[k] for k in kept], theta[:, kept], quantity)


def _die(model: Model, name: str) -> Die:
    """The probabilities of a feature's levels; those of the least probable ones together."""
    part, place = part_of(model, name)
    levels = part.scored_levels[place]
    names = [str(level) for level in levels[in_order(levels.tolist())].tolist()]
    theta = np.exp(log_density(model, {name: pa.array(names)}))
    if len(names) <= FACES:
        return Die(name, names, theta)
    likely = np.sort(
        np.argsort(-(model.posterior().class_prior @ theta), kind="stable")[: FACES - 1]
    )
    rest = np.delete(theta, likely, axis=1).sum(axis=1, keepdims=True)
    names = [names[k] for k in likely] + [f"{len(names) - len(likely):,} others"]
    return Die(name, names, np.hstack([theta[:, likely], rest]))
