"""The parameters of a model as tables that a person can read, most telling features first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from naively.exact import Float64
from naively.families.bernoulli import BernoulliParameters
from naively.families.categorical import CategoricalParameters
from naively.families.complement import ComplementParameters
from naively.families.gaussian import GaussianParameters
from naively.families.multinomial import MultinomialParameters
from naively.families.poisson import PoissonParameters
from naively.model import Model


@dataclass
class View:
    """Parameters by feature and class.

    Attributes
    ----------
    meaning : str, what the numbers are; ``p`` is a fraction here and in % when printed.
    names : list of str, a name for each row, in order.
    values : dict of (rows, C) float64, such as ``mean`` and ``sd``.
    total : int, how many rows there would be without a limit.
    """

    meaning: str
    names: list[str]
    values: dict[str, Float64]
    total: int

    def as_json(self) -> dict[str, Any]:
        """All of it as JSON."""
        rows = [
            {"feature": name, **{key: _plain(value[row]) for key, value in self.values.items()}}
            for row, name in enumerate(self.names)
        ]
        return {"meaning": self.meaning, "rows": rows, "rows_in_all": self.total}


def view(model: Model, limit: int) -> View:
    """The rows of the `limit` most telling features."""
    parameters, prior = model.parameters, model.class_prior
    names = model.feature_names or [f"feature {j}" for j in range(model.n_features)]
    everything = slice(0, model.n_features)
    if isinstance(parameters, CategoricalParameters):
        return _levels(parameters, prior, names, limit)
    if isinstance(parameters, GaussianParameters):
        mean, variance = parameters.mean, np.maximum(parameters.variance, 0.0)
        values = {"mean": mean, "sd": np.sqrt(variance)}
        spread = prior @ (variance + (mean - prior @ mean) ** 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            telling = 0.5 * prior @ np.log(spread / variance)
        meaning = "mean ± standard deviation"
    elif isinstance(parameters, BernoulliParameters):
        absent, present = map(np.exp, parameters.log_probabilities(everything))
        values, meaning = {"p": present}, "probability that the feature is present in %"
        telling = _information(present, prior) + _information(absent, prior)
    elif isinstance(parameters, MultinomialParameters):
        theta = np.exp(parameters.log_theta(everything))
        values, meaning = {"theta": theta}, "share of the feature in the counts of a row"
        telling = _information(theta, prior)
    elif isinstance(parameters, PoissonParameters):
        rates = parameters.rates(everything)
        values, meaning = {"rate": rates}, "mean count in a row"
        telling = _information(rates, prior)
    else:
        assert isinstance(parameters, ComplementParameters)
        weights = parameters.weights(everything)
        values, meaning = {"weight": weights}, "weight of a count: minus log of the others' share"
        telling = np.ptp(np.where(np.isfinite(weights), weights, 1e300), axis=0)
    order = np.argsort(-np.nan_to_num(telling, nan=-1.0), kind="stable")[:limit]
    return View(
        meaning, [names[j] for j in order],
        {key: value[:, order].T for key, value in values.items()}, len(names),
    )  # fmt: skip


def _levels(
    parameters: CategoricalParameters, prior: Float64, names: list[str], limit: int
) -> View:
    tables = [np.exp(parameters.log_theta(j, seen)) for j, seen in enumerate(parameters.levels)]
    rows = [np.empty((0, len(prior)))]
    labels = []
    for j in range(len(names)):
        rows.append(tables[j].T)
        labels += [f"{names[j]} = {level}" for level in parameters.levels[j].tolist()]
    table = np.concatenate(rows)
    kept = np.argsort(-_information(table.T, prior), kind="stable")[:limit]
    total = sum(map(len, parameters.levels))
    return View(
        "probability of the level in %", [labels[k] for k in kept], {"p": table[kept]}, total
    )


def _information(p: Float64, prior: Float64) -> Float64:
    """Σ_c π_c p_c log(p_c / p̄): what each column of (C, k) tells about the class, in nats."""
    mean = prior @ p
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = p * np.log(p / mean)
    return prior @ np.where(p > 0, terms, 0.0)


def _plain(values: Float64) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]
