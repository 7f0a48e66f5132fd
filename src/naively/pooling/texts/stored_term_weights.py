"""Store the weights of terms in files, and read them."""

from __future__ import annotations

import numpy as np

from naively.pooling.entries import OutOfFoldPredictions
from naively.pooling.texts.corrections import Corrections
from naively.pooling.texts.term_weights import ALPHAS, ASPECTS, QUARTERS, TermWeights
from naively.statistics.base import Arrays
from naively.text.vocabulary import Vocabulary


def stored_scale(scale: TermWeights, vocabulary: Vocabulary | None) -> Arrays:
    """The weights as arrays, for a file; `vocabulary` has the terms, None if they are hashed."""
    out_of_fold = scale.out_of_fold
    return {
        "alpha": np.array([np.nan if scale.alpha is None else scale.alpha]),
        "quarters": np.array([scale.quarters]),
        "weights": scale.weights,
        "least": scale.least,
        "most": scale.most,
        "bias": scale.bias,
        "unseen": np.array([np.nan if scale.unseen is None else scale.unseen]),
        "log_loss": np.array([out_of_fold.log_loss]),
        "sure": np.asarray(out_of_fold.confidence, np.float32),
        "right": np.asarray(out_of_fold.correct, np.uint8),
        "weight": np.asarray(out_of_fold.weight, np.float32),
        **scale.corrections.stored(vocabulary),
    }


def read_scale(
    kept: Arrays, groups: int, classes: int, chooses: bool, vocabulary: Vocabulary | None,
    n_terms: int,
) -> TermWeights:  # fmt: skip
    """Read the weights from the arrays of a file.

    Raises ValueError if they do not fit these groups of terms and classes, or are invalid.
    """
    shapes = {
        "alpha": (1,), "quarters": (1,), "weights": (ASPECTS, groups),
        "least": (ASPECTS, groups), "most": (ASPECTS, groups), "bias": (classes,),
        "log_loss": (1,), "unseen": (1,),
    }  # fmt: skip
    for name, shape in shapes.items():
        if name not in kept or kept[name].shape != shape:
            raise ValueError(f"its weights have no {name} of the shape {shape}")
        if name not in ("alpha", "unseen") and not np.isfinite(kept[name]).all():
            raise ValueError(f"its weights have a {name} that is not a number")
    rows = [kept.get(name, np.empty((0, 0))) for name in ("sure", "right", "weight")]
    if any(array.ndim != 1 or len(array) != len(rows[0]) for array in rows):
        raise ValueError("it does not say how documents were predicted")
    alpha, quarters = float(kept["alpha"][0]), int(kept["quarters"][0])
    if quarters not in QUARTERS or (alpha not in ALPHAS if chooses else not np.isnan(alpha)):
        raise ValueError("its weights were not chosen so")
    unseen = float(kept["unseen"][0])
    if unseen < 0 or np.isinf(unseen):
        raise ValueError("it does not say how many documents share no word")
    names = "weights", "least", "most", "bias"
    weights, least, most, bias = (kept[name].astype(np.float64) for name in names)
    confidence, right, weight = rows
    log_loss = float(kept["log_loss"][0])
    out_of_fold = OutOfFoldPredictions(log_loss, confidence, right.astype(bool), weight)
    return TermWeights(
        alpha if chooses else None, quarters, weights, least, most, bias, out_of_fold,
        Corrections.read(kept, classes, vocabulary, n_terms), None if np.isnan(unseen) else unseen,
    )  # fmt: skip
