"""The parameters of a model as tables that a person can read, most telling columns first."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from naively.exact import Float64
from naively.families.base import Parameters
from naively.families.bernoulli import BernoulliParameters
from naively.families.categorical import CategoricalParameters
from naively.families.complement import ComplementParameters
from naively.families.discretized import DiscretizedParameters
from naively.families.exponential import ExponentialParameters
from naively.families.gamma import GammaParameters
from naively.families.gaussian import GaussianParameters
from naively.families.joint import JointParameters
from naively.families.kernel_density import KernelDensityParameters
from naively.families.lognormal import LogNormalParameters
from naively.families.multinomial import MultinomialParameters
from naively.families.multivariate_parameters import MultivariateParameters
from naively.families.poisson import PoissonParameters
from naively.families.text_parameters import TextParameters
from naively.tables.model import TableModel
from naively.tables.telling import bits, in_order, nearly_all


@dataclass
class Section:
    """What columns of one family look like.

    Attributes
    ----------
    meaning : str, what the numbers are; ``p`` is a fraction here and in % when printed.
    signs : str, what goes between two numbers of a class.
    rows : dict of column name to a list of (label, {number's name: (C,) values}).
    words : dict of column name to a few words, where numbers by class would be too many.
    """

    meaning: str
    signs: str = ""
    rows: dict[str, list[tuple[str, dict[str, Float64]]]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)


@dataclass
class Column:
    """A column of a model.

    Attributes
    ----------
    name, family, why : str
    missing : weight of the rows in which it is missing.
    bits : mutual information with the class; None of text.
    nearly_all : whether it alone tells nearly all about the class.
    """

    name: str
    family: str
    why: str
    missing: float
    bits: float | None
    nearly_all: bool


def columns(table: TableModel) -> list[Column]:
    """The columns of a model, in the order of its table; but for those that are left out."""
    schema = table.schema
    silent = table.left_out
    told = bits(table)
    most = set(nearly_all(table, told))
    gone: dict[str, float] = {}
    statistics: Any = table.model.statistics
    for block, part in zip(schema.blocks, statistics.parts, strict=True):
        missing = part.tables["missing"].rounded().sum(axis=0)
        gone.update(zip(block.names, missing.tolist(), strict=True))
    return [
        Column(
            name,
            schema.known[name].name,
            schema.why[name],
            gone[name],
            told.get(name),
            name in most,
        )
        for name in schema.ordered
        if name not in silent
    ]


def sections(table: TableModel) -> list[Section]:
    """What each block's columns look like, by class."""
    parameters: Any = table.model.parameters
    return [
        _section(part, list(block.names))
        for block, part in zip(table.schema.blocks, parameters.parts, strict=True)
    ]


def _section(part: Parameters, names: list[str]) -> Section:
    everything = slice(0, len(names))
    if isinstance(part, TextParameters):
        return Section("words", rows={names[0]: []}, words={names[0]: terms(part)})
    if isinstance(part, CategoricalParameters):
        levels = [known[in_order(known.tolist())] for known in part.levels]
        return Section(
            "probability of the level in %",
            rows={
                name: _pieces([f"{name} = {level}" for level in own.tolist()],
                              np.exp(part.log_theta(j, own)))
                for j, (name, own) in enumerate(zip(names, levels, strict=True))
            },
            words={
                name: _listed([str(level) for level in own[:5].tolist()], len(own))
                for name, own in zip(names, levels, strict=True)
            },
        )  # fmt: skip
    if isinstance(part, DiscretizedParameters):
        return Section(
            "probability of the range in %",
            rows={
                name: _pieces(_ranges(name, part.cuts[j]), np.exp(part.log_theta[j][:, :-1]))
                for j, name in enumerate(names)
            },
            words={name: _cut_at(part.cuts[j]) for j, name in enumerate(names)},
        )
    if isinstance(part, LogNormalParameters):
        numbers = {"median": np.exp(part.mean), "factor": np.exp(np.sqrt(part.variance))}
        return _single("median ×÷ geometric standard deviation", " ×÷ ", names, numbers)
    if isinstance(part, GaussianParameters):
        numbers = {"mean": part.mean, "sd": np.sqrt(np.maximum(part.variance, 0.0))}
        return _single("mean ± standard deviation", " ± ", names, numbers)
    if isinstance(part, MultivariateParameters):
        deviation = np.sqrt(np.diagonal(part.covariance, axis1=1, axis2=2))
        deviation = np.broadcast_to(deviation, part.mean.shape)
        meaning = "mean ± standard deviation, with all covariances"
        return _single(meaning, " ± ", names, {"mean": part.mean, "sd": deviation})
    if isinstance(part, JointParameters):
        met = f"; {len(part.cells):,} different rows"
        words = {
            name: _listed([str(level) for level in known[:5].tolist()], len(known)) + met
            for name, known in zip(names, part.levels, strict=True)
        }
        return Section("levels of the joint table", rows={name: [] for name in names}, words=words)
    if isinstance(part, GammaParameters):
        numbers = {"mean": part.mean, "sd": part.mean / np.sqrt(part.shape)}
        return _single("mean ± standard deviation, gamma", " ± ", names, numbers)
    if isinstance(part, KernelDensityParameters):
        return _single("mean ± standard deviation, of any shape", " ± ", names, _moments(part))
    if isinstance(part, ExponentialParameters):
        return _single("mean, exponential", "", names, {"mean": part.mean})
    if isinstance(part, BernoulliParameters):
        present = np.exp(part.log_probabilities(everything)[1])
        return _single("probability of true in %", "", names, {"p": present})
    if isinstance(part, MultinomialParameters):
        theta = np.exp(part.log_theta(everything))
        return _single("share of the column in the counts of a row in %", "", names, {"p": theta})
    if isinstance(part, PoissonParameters):
        return _single("mean count", "", names, {"mean": part.rates(everything)})
    assert isinstance(part, ComplementParameters)
    weights = part.weights(everything)
    return _single("weight of a count: minus log of the others' share", "", names, {"w": weights})


def terms(part: TextParameters) -> str:
    """How many terms there are."""
    count = part.total.shape[1]
    what = "term" if part.vocabulary is not None else "bucket"
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def _single(meaning: str, signs: str, names: list[str], numbers: dict[str, Float64]) -> Section:
    rows = {
        name: [(name, {key: value[:, j] for key, value in numbers.items()})]
        for j, name in enumerate(names)
    }
    return Section(meaning, signs, rows)


def _pieces(labels: list[str], p: Float64) -> list[tuple[str, dict[str, Float64]]]:
    return [(label, {"p": p[:, k]}) for k, label in enumerate(labels)]


def _listed(levels: list[str], total: int) -> str:
    """How many levels there are, and the first of them."""
    if total == 0:
        return "no values"
    return f"{total:,} level{'s'[: total > 1]}: {', '.join(levels)}" + ", ..." * (total > 5)


def _cut_at(cuts: Float64) -> str:
    """The cuts, or the first of them."""
    if len(cuts) == 0:
        return "one range: it tells nothing"
    shown = ", ".join(f"{cut:.6g}" for cut in cuts[:6].tolist())
    return f"{len(cuts) + 1:,} ranges, cut at {shown}" + (", ..." if len(cuts) > 6 else "")


def _ranges(name: str, cuts: Float64) -> list[str]:
    edges = [f"{cut:.6g}" for cut in cuts.tolist()]
    if not edges:
        return [f"{name}: any"]
    inner = [f"{name}: {a} to {b}" for a, b in pairwise(edges)]
    return [f"{name} < {edges[0]}", *inner, f"{name} ≥ {edges[-1]}"]


def _moments(part: KernelDensityParameters) -> dict[str, Float64]:
    shape = max(map(len, part.mixtures), default=0), len(part.mixtures)
    mean, sd = np.zeros(shape), np.zeros(shape)
    for j, own in enumerate(part.mixtures):
        for c, mixture in enumerate(own):
            weights = np.exp(mixture.log_weights)
            middle = weights @ mixture.values
            variance = weights @ (mixture.values - middle) ** 2 + mixture.h**2
            mean[c, j], sd[c, j] = middle / mixture.scale, np.sqrt(variance) / mixture.scale
    return {"mean": mean, "sd": sd}


def plain(values: Float64) -> list[float | None]:
    """Numbers for JSON."""
    return [value if np.isfinite(value) else None for value in values.tolist()]
