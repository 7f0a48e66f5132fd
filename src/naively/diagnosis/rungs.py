"""The ladder, from the class prior to the full joint table: parameters and held-out results."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np

from naively.diagnosis.rows import Rows
from naively.exact import Float64, Int64
from naively.families.base import Family
from naively.families.gaussian import Gaussian
from naively.families.joint import Joint
from naively.families.multivariate import MultivariateGaussian
from naively.families.product import Blocks
from naively.model import Model
from naively.prior import Prior
from naively.tables.schema import Block, Schema
from naively.workers import Workers

FOLDS = 5
MOST = 1_000_000  # parameters of a covariance rung that is tried
CELLS = 1 << 22  # of a table of probabilities

COUNTS: dict[str, Callable[[int, int], int]] = {
    "class prior": lambda k, d: k - 1,
    "Bernoulli naive Bayes": lambda k, d: k * d,
    "one variance": lambda k, d: k * d + 1,
    "one variance a class": lambda k, d: k * d + k,
    "one variance a column": lambda k, d: k * d + d,
    "Gaussian naive Bayes": lambda k, d: 2 * k * d,
    "tied covariance": lambda k, d: k * d + d * (d + 1) // 2,
    "full covariance": lambda k, d: k * d + k * d * (d + 1) // 2,
    "joint table": lambda k, d: k * (2**d - 1),
}
"""The free parameters of each rung for K classes and d features: lecture 2, "How many parameters
do we need to learn?"."""

GAUSSIANS: dict[str, Family] = {
    "one variance": Gaussian("both", floor="feature"),
    "one variance a class": Gaussian("features", floor="feature"),
    "one variance a column": Gaussian("classes", floor="feature"),
    "Gaussian naive Bayes": Gaussian(floor="feature"),
    "tied covariance": MultivariateGaussian(tied=True),
    "shrunk tied covariance": MultivariateGaussian(tied=True, shrinkage="auto"),
    "full covariance": MultivariateGaussian(),
    "shrunk full covariance": MultivariateGaussian(shrinkage="auto"),
}
"""The family of each rung of columns of numbers."""


def parameter_counts(classes: int, features: int) -> dict[str, int]:
    """The free parameters of each rung of the ladder, as lecture 2 counts them.

    ========================  =================
    rung                      free parameters
    ========================  =================
    class prior               K - 1
    Bernoulli naive Bayes     Kd
    one variance              Kd + 1
    one variance a class      Kd + K
    one variance a column     Kd + d
    Gaussian naive Bayes      2Kd
    tied covariance           Kd + d(d + 1)/2
    full covariance           Kd + Kd(d + 1)/2
    joint table               K(2^d - 1)
    ========================  =================

    All but the first are of p(x | y); those of the class prior come on top. The joint table is
    that of binary features.

    Parameters
    ----------
    classes, features : K and d.

    Examples
    --------
    >>> parameter_counts(10, 256 * 256)["full covariance"]  # "~ 21.5 billion parameters!"
    21475819520
    """
    if classes < 1 or features < 0:
        raise ValueError(f"there are no {classes} classes of {features} features")
    return {name: count(classes, features) for name, count in COUNTS.items()}


@dataclass(frozen=True)
class Rung:
    """One choice of blocks for the columns of a table.

    Attributes
    ----------
    name : str
    use : how to get it in Python; empty for the class prior.
    option : of `naively fit`, for the same; None if there is none.
    blocks : tuple of Block
    free : parameters of the first block, if they are known before an estimate.
    """

    name: str
    use: str
    option: str | None
    blocks: tuple[Block, ...]
    free: int | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """How a rung does on rows that it did not learn.

    Attributes
    ----------
    name : of the rung.
    use : how to get it in Python; empty for the class prior.
    option : of `naively fit`, for the same; None if there is none.
    parameters : free ones, those of the class prior included.
    rows_per_parameter : float
    log_loss : mean -log P(y | x) in nats of held-out rows; NaN if the rung was not estimated.
    error : part of the held-out rows whose class was not the most probable one; NaN likewise.
    reason : why it was not estimated; empty if it was.
    losses : (n,) -log P(y | x) of each row, NaN where its class had no other rows; empty likewise.
    wrong : (n,) 1 where another class was more probable, else 0; empty likewise.
    """

    name: str
    use: str
    option: str | None
    parameters: int
    rows_per_parameter: float
    log_loss: float
    error: float
    reason: str
    losses: Float64
    wrong: Float64


Difference = tuple[float, float]
"""(mean, its standard error)."""


def difference(more: Float64, less: Float64) -> Difference:
    """The mean of `more - less` over the rows that have both, and its standard error.

    The rows of a fold share a model, so that the error is a little larger in truth.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        each = more - less
        each = each[~np.isnan(each)]
        if len(each) < 2:
            return 0.0, math.inf
        return float(each.mean()), float(each.std(ddof=1) / math.sqrt(len(each)))


def _mean(losses: Float64) -> float:
    """The mean of those that are known."""
    with np.errstate(over="ignore"):
        return float(np.nanmean(losses))


def ladder(
    rule: Schema, numbers: Sequence[str], levels: dict[str, int], classes: int
) -> list[Rung]:
    """The rungs that fit the columns of a table.

    Parameters
    ----------
    rule : Schema, each column with the family that the rule gives it.
    numbers : the columns whose values are numbers, which Gaussian rungs take together.
    levels : how many there are in each column of levels.
    classes : K.
    """
    rungs = [
        Rung("class prior", "", None, ()),
        Rung("naive Bayes", "NaiveBayes()", "", rule.blocks),
    ]
    if numbers:
        rest = _without(rule, numbers)
        plain = all(isinstance(rule.known[name], Gaussian) for name in numbers)
        for name, family in GAUSSIANS.items():
            joint = isinstance(family, MultivariateGaussian)
            if (joint and len(numbers) == 1) or (plain and name == "Gaussian naive Bayes"):
                continue  # naive Bayes has a variance already, and so one for each column
            count = COUNTS[name.removeprefix("shrunk ")](classes, len(numbers))
            blocks = (Block(family, tuple(numbers)), *rest)
            use = _use(family, alone=not rest)
            option = f'--family "{_code(family.name, _said(family))}"'
            rungs.append(Rung(name, use, option, blocks, count))
    if len(levels) > 1:
        rest = _without(rule, levels)
        use = "NaiveBayes(columns={levels: Joint()})" if rest else "JointBayes()"
        name = "joint table of levels" if rest else "joint table"
        cells = math.prod(levels.values())
        blocks = Block(Joint(), tuple(levels)), *rest
        rungs.append(Rung(name, use, None, blocks, classes * (cells - 1)))
    return rungs


def _without(schema: Schema, names: Collection[str]) -> tuple[Block, ...]:
    """The blocks of a schema without some columns."""
    left = (tuple(one for one in block.names if one not in names) for block in schema.blocks)
    blocks = zip(schema.blocks, left, strict=True)
    return tuple(replace(block, names=names) for block, names in blocks if names)


def _use(family: Family, alone: bool) -> str:
    """How to get the family of the columns of numbers in Python, with nothing else or not."""
    said = _said(family)
    name = type(family).__name__
    if alone and isinstance(family, MultivariateGaussian):
        name = "GaussianBayes"
        said = {"covariance": "tied" if said.pop("tied", False) else "full", **said}
    elif alone:
        name = "GaussianNB"
    code = _code(name, said)
    return code if alone else f"NaiveBayes(columns={{numbers: {code}}})"


def _said(family: Family) -> dict[str, Any]:
    """The hyperparameters of a family that are not as usual."""
    usual = {one.name: one.default for one in fields(cast(Any, family))}
    return {name: value for name, value in vars(family).items() if value != usual[name]}


def _code(name: str, said: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{k}={v!r}' for k, v in said.items())})"


class Trial:
    """Cross-validation of rungs on the same rows and folds.

    Models are sums, so that of all folds but one is the total less that fold.

    Parameters
    ----------
    rows : Rows
    rule : Schema of the columns.
    seed : of the folds; each class is spread over them evenly.
    """

    def __init__(self, rows: Rows, rule: Schema, seed: int, workers: Workers) -> None:
        self.rows, self.rule, self.workers = rows, rule, workers
        order = np.random.default_rng(seed).permutation(len(rows.codes))
        order = order[np.argsort(rows.codes[order], kind="stable")]
        self.fold = np.empty(len(order), np.int64)
        self.fold[order] = np.arange(len(order)) % FOLDS
        self._free: dict[tuple[tuple[str, ...], ...], int] = {}

    def result(self, rung: Rung) -> Result:
        """How a rung does."""
        parameters = self._parameters(rung)
        part = self.rows.total / parameters if parameters.bit_length() < 1000 else 0.0
        losses = wrong = np.empty(0)
        log_loss = error = math.nan
        covariance = bool(rung.blocks) and isinstance(rung.blocks[0].family, MultivariateGaussian)
        reason = f"not tried: more than {MOST:,} parameters" if parameters > MOST else ""
        if not (reason and covariance):
            losses, wrong, reason = self._held_out(rung.blocks)
        if not reason:
            log_loss, error = _mean(losses), float(wrong.mean())
        return Result(
            rung.name, rung.use, rung.option, parameters, part, log_loss, error, reason, losses,
            wrong,
        )  # fmt: skip

    def _parameters(self, rung: Rung) -> int:
        """The free parameters of a rung, C - 1 of the class prior included."""
        blocks = rung.blocks if rung.free is None else rung.blocks[1:]
        key = tuple(block.names for block in blocks)
        if key not in self._free:
            model, X = self._blank(blocks)
            learned = model.summarise(X, self._labels(slice(None)), None, self.workers)
            self._free[key] = learned.parameters.n_free
        return len(self.rows.classes) - 1 + (rung.free or 0) + self._free[key]

    def _held_out(self, blocks: tuple[Block, ...]) -> tuple[Float64, Float64, str]:
        """(-log P(y | x) in nats, whether another class is more probable) of each row, (n,) both.

        By the model that learned the rows of the other folds. The third is empty, or why that
        model cannot be estimated.
        """
        blank, X = self._blank(blocks)
        codes, classes = self.rows.codes, self.rows.classes
        losses, wrong = np.empty(len(codes)), np.empty(len(codes))
        folds = [np.flatnonzero(self.fold == k) for k in range(FOLDS)]
        folds = [own for own in folds if len(own)]
        parts = [blank.summarise(X[own], self._labels(own), None, self.workers) for own in folds]
        total = blank
        for part in parts:
            total.absorb(part)
        for own, part in zip(folds, parts, strict=True):
            model = total.copy()
            model.forget(part)
            try:
                _ = model.parameters
            except ValueError as error:  # a covariance without a density
                return np.empty(0), np.empty(0), str(error)
            for rows in np.array_split(own, 1 + len(own) * len(classes) // CELLS):
                losses[rows], wrong[rows] = self._scored(model, X[rows], rows)
        return losses, wrong, ""

    def _scored(self, model: Model, X: Blocks, rows: Int64) -> tuple[Float64, Float64]:
        """(-log P(y | x), whether another class is more probable) of rows, by a model."""
        log_proba = np.broadcast_to(model.log_prior, (len(rows), len(model.classes)))
        if X.parts:
            log_proba = model.log_proba(X, self.workers)
        labels = self.rows.classes[self.rows.codes[rows]]
        known = np.flatnonzero(np.isin(labels, model.classes))
        truth = np.searchsorted(model.classes, labels[known])
        losses, wrong = np.full(len(rows), np.nan), np.ones(len(rows))
        losses[known] = -log_proba[known, truth]
        wrong[known] = log_proba[known].argmax(axis=1) != truth
        return losses, wrong

    def _blank(self, blocks: tuple[Block, ...]) -> tuple[Model, Blocks]:
        """(a model of these blocks that has learned nothing, the rows as it takes them)."""
        schema = replace(self.rule, blocks=blocks)
        X, _ = schema.encode(self.rows.table)
        return Model(schema.product, Prior(), len(schema.names), schema.names), X

    def _labels(self, rows: Any) -> tuple[Any, Int64]:
        return self.rows.classes, self.rows.codes[rows]
