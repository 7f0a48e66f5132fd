"""The weights of terms as arrays for files, and back, checked."""

from __future__ import annotations

import numpy as np

from naively.evidence.judged import Judged
from naively.evidence.scale import ALPHAS, ASPECTS, QUARTERS, Scale
from naively.statistics.base import Arrays


def stored_scale(scale: Scale) -> Arrays:
    """The weights as arrays that files keep."""
    judged = scale.judged
    return {
        "alpha": np.array([np.nan if scale.alpha is None else scale.alpha]),
        "quarters": np.array([scale.quarters]),
        "weights": scale.weights,
        "least": scale.least,
        "most": scale.most,
        "bias": scale.bias,
        "log_loss": np.array([judged.log_loss]),
        "sure": np.asarray(judged.sure, np.float32),
        "right": np.asarray(judged.right, np.uint8),
        "weight": np.asarray(judged.weight, np.float32),
    }


def read_scale(kept: Arrays, groups: int, classes: int, chooses: bool) -> Scale:
    """The weights that a file keeps.

    Raises
    ------
    ValueError : if they are none of so many groups of terms and classes, saying why.
    """
    shapes = {
        "alpha": (1,), "quarters": (1,), "weights": (ASPECTS, groups),
        "least": (ASPECTS, groups), "most": (ASPECTS, groups), "bias": (classes,),
        "log_loss": (1,),
    }  # fmt: skip
    for name, shape in shapes.items():
        if name not in kept or kept[name].shape != shape:
            raise ValueError(f"its weights have no {name} of the shape {shape}")
        if name != "alpha" and not np.isfinite(kept[name]).all():
            raise ValueError(f"its weights have a {name} that is no number")
    rows = [kept.get(name, np.empty((0, 0))) for name in ("sure", "right", "weight")]
    if any(one.ndim != 1 or len(one) != len(rows[0]) for one in rows):
        raise ValueError("it does not say how documents were predicted")
    alpha, quarters = float(kept["alpha"][0]), int(kept["quarters"][0])
    if quarters not in QUARTERS or (alpha not in ALPHAS if chooses else not np.isnan(alpha)):
        raise ValueError("its weights were not chosen so")
    names = "weights", "least", "most", "bias"
    weights, least, most, bias = (kept[name].astype(np.float64) for name in names)
    judged = Judged(float(kept["log_loss"][0]), rows[0], rows[1].astype(bool), rows[2])
    return Scale(alpha if chooses else None, quarters, weights, least, most, bias, judged)
