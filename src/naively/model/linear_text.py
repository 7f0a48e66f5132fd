"""Model documents by the term weights of a linear classifier, and count their terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from naively.core.exact import Float64
from naively.core.workers import Workers
from naively.families.base import Events, Parameters
from naively.families.discrete.multinomial import SharedEvents
from naively.families.linear import Terms
from naively.families.text.parameters import Estimated, TextParameters
from naively.model.model import Model
from naively.model.posterior import Posterior


class Weights(SharedEvents):
    """The weight of each term in the score of each class, and its counts."""

    weighted = True

    def __init__(self, slopes: Float64, parameters: TextParameters) -> None:
        super().__init__(parameters.total, parameters.alpha)
        self.slopes = slopes
        self.n_free = parameters.n_free

    def terms(self, columns: slice) -> Terms:
        """Return the weights of some terms."""
        return Terms(self.slopes[:, columns])

    def events(self, names: Sequence[str], features: Sequence[int] | None = None) -> Events | None:
        """Return the terms as events, with the weights as their evidence."""
        term_events = super().events(names, features)
        return term_events and term_events.weighing(self.slopes)


@dataclass(eq=False)
class Weighed(Model):
    """Counts of documents, scored by the weights of `naively.NBSVM`.

    slopes : (C, V) nats that a term adds to the score of each class.
    bias : (C,) nats, in place of the log prior.
    """

    slopes: Float64 = field(default_factory=lambda: np.empty((0, 0)))
    bias: Float64 = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, counts: Model, coef: Float64, intercept: Float64, scale: float) -> Self:
        """Return the model of a decision function coef · x + intercept, scaled to nats.

        Raises ValueError if the shapes do not match, or the scale is not positive.

        coef : (1, V) for two classes, of the second against the first; else (C, V).
        intercept : (1,) or (C,)
        scale : log-odds, in nats, per unit of the decision function.
        """
        parameters: Any = counts.posterior().parameters
        classes, terms = parameters.total.shape
        rows = classes if classes > 2 else classes - 1
        for weights, shape in ((coef, (rows, terms)), (intercept, (rows,)), (scale, ())):
            if rows < 1 or np.shape(weights) != shape or not np.isfinite(weights).all():
                raise ValueError(f"its weights do not fit {classes} classes and {terms} terms")
        if not scale > 0:
            raise ValueError(f"its scale must be above 0, not {scale!r}")
        slopes, bias = (scale * values for values in (coef, intercept))
        if rows == 1:  # half for the second class, half against the first
            slopes, bias = (np.concatenate([-values, values]) / 2.0 for values in (slopes, bias))
        inherited = {name: getattr(counts, name) for name in Model.__dataclass_fields__
                     if Model.__dataclass_fields__[name].init}  # fmt: skip
        return cls(**inherited, slopes=slopes, bias=bias)

    def estimated(self, workers: Workers, parameters: Parameters | None = None) -> Posterior:
        """As the base class."""
        posterior = super().estimated(workers, parameters)
        text_parameters: Any = posterior.parameters
        estimated = Estimated(
            Weights(self.slopes, text_parameters), text_parameters.vocabulary,
            text_parameters.total, text_parameters.alpha,
        )  # fmt: skip
        weighed = TextParameters(text_parameters.summary, estimated)
        return replace(posterior, parameters=weighed, log_prior=self.bias)
