"""Compute class probabilities, explanations and samples from estimated parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.issues import FEW, Remarks
from naively.core.labels import Label, Labels
from naively.core.workers import SERIAL, Workers
from naively.explain.explanation import Explanation
from naively.families.base import Parameters, SingularCovarianceError
from naively.kernels import scores as kernel
from naively.model.schema import Block, Schema
from naively.pooling.blocks.shapes import Shape
from naively.rendering import Count
from naively.statistics.base import Data, InvalidValueError


def over_classes(table: Float64) -> Float64:
    """Return Σ_c of a (C, n) table, added one class after the other, (n,).

    NumPy adds the rows of a wide table in this order, but sums a single column pairwise, which
    would give other bits for one row than for many.
    """
    if table.shape[1] == 1:
        return np.asarray(np.add.accumulate(table, axis=0)[-1])
    return np.asarray(table.sum(axis=0))


# ---- posterior -----------------------------------------------------------------------------------


VANISHING = 746.0  # nats below the best class at which a probability is 0 in float64
LOST = 60.0  # nats below the best class at which a term cannot change the sum of all, which is >= 1
CHUNK = 1 << 12  # rows for which log_base is computed at a time


class SingularModelError(ValueError):
    """A covariance matrix is singular until more rows are added; names the matrix and why."""

    @classmethod
    def of(
        cls, error: SingularCovarianceError, classes: Labels, class_weight: ExactArray,
        names: Sequence[str] | None,
    ) -> SingularModelError:  # fmt: skip
        """Return the error for a covariance matrix, with the class, the feature and the remedy."""
        feature = error.feature if names is None else repr(names[error.feature])
        if error.code is None:
            place, weight = "shared by the classes", class_weight.summed(0)
        else:
            place = f"of class {classes.tolist()[error.code]!r}"
            weight = class_weight.gather(0, error.code)
        rows = float(weight.rounded())
        size = f"{rows:g} rows" if rows != 1 else "1 row (one sample)"
        cause = error.cause.format(feature=feature, problem=error.problem)
        return cls(f"the {error.what} {place}, from {size}, {error.fault}: {cause}. {error.advice}")


@contextmanager
def naming(
    classes: Labels, class_weight: ExactArray, names: Sequence[str] | None
) -> Iterator[None]:
    """Raise errors about a covariance matrix with the names of its class and its feature."""
    try:
        yield
    except SingularCovarianceError as error:
        raise SingularModelError.of(error, classes, class_weight, names) from None


@dataclass(frozen=True, eq=False)
class Posterior:
    """P(c | x), estimated from the training rows at one moment.

    Immutable, and therefore safe to use on any thread while the model is trained on.

    log_prior : (C,) log π_c; -inf for a class without rows.
    remarks : collects remarks about the rows; None to collect none. See `remarking`.
    """

    schema: Schema
    classes: Labels
    parameters: Parameters
    class_prior: Float64
    log_prior: Float64
    remarks: Remarks | None = None

    def remarking(self, few: int = FEW) -> Self:
        """Return a copy that collects remarks about the rows it predicts: see `warnings`.

        It reports that no category of a column is known from `few` rows on.
        """
        return replace(self, remarks=Remarks(few))

    @property
    def warnings(self) -> list[str]:
        """The remarks about the rows predicted so far, in sentences."""
        return [] if self.remarks is None else self.remarks.sentences(self.schema.names)

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The names of the features; None if the columns of an array have none."""
        return self.schema.feature_names

    @property
    def blocks(self) -> list[tuple[Block, Any]]:
        """(block of columns, its parameters) for each block."""
        return list(zip(self.schema.blocks, self.schema.parts_of(self.parameters), strict=True))

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: C - 1 of the prior, plus those of the families."""
        return Count(len(self.classes) - 1 + self.parameters.n_free)

    def joint(self, X: Data, start: int, stop: int, margin: float = np.inf) -> Float64:
        """Return log π_c + log p(x_i | c) for rows start:stop, (C, stop - start), in nats.

        Terms of log p(x | c) that depend on x alone are left out (see `score_samples`). Classes
        more than `margin` nats below the best may have -inf.
        """
        out = np.empty((len(self.classes), stop - start))
        try:
            self.parameters.leading(X, start, stop, self.log_prior[:, np.newaxis], margin, out)
        except InvalidValueError as error:
            raise error.named(self.feature_names) from None
        return out

    def _in_chunks(
        self, X: Data, out: Any, finish: Callable[[Float64, Any], int | None],
        workers: Workers | None, margin: float = np.inf,
    ) -> Any:  # fmt: skip
        """Call finish(joint, out[rows]) for chunks of rows, on the workers; return `out`.

        `finish` returns the number of rows that have probability 0 in every class, or None.
        """
        workers = workers or SERIAL
        self.parameters.prepare(X, workers)
        n = X.shape[0]
        rows = self.parameters.chunk(X, len(self.classes))

        def finish_chunk(start: int) -> int:
            stop = min(start + rows, n)
            return finish(self.joint(X, start, stop, margin), out[start:stop]) or 0

        impossible = sum(workers.map(finish_chunk, range(0, n, rows)))
        if self.remarks is not None:
            self.remarks.impossible.append(int(impossible))
        return out

    def predict_codes(self, X: Data, workers: Workers | None = None) -> Int64:
        """Return the position of the most probable class of each row, (n,); the first of ties."""
        out = np.empty(X.shape[0], np.int64)
        likeliest = np.int64(self.class_prior.argmax())
        return self._in_chunks(
            X, out, lambda joint, out: kernel.best_class(joint, likeliest, out), workers, margin=0.0
        )

    def predict(self, X: Data, workers: Workers | None = None) -> Labels:
        """Return the most probable class of each row, (n,)."""
        return self.classes[self.predict_codes(X, workers)]

    def joint_log_proba(self, X: Data, workers: Workers | None = None) -> Float64:
        """Return log π_c + log p(x_i | c), (n, C), up to a term in x alone."""
        out = np.empty((X.shape[0], len(self.classes)))
        return self._in_chunks(X, out, lambda joint, out: np.copyto(out, joint.T), workers)

    def log_proba(self, X: Data, workers: Workers | None = None) -> Float64:
        """Return log P(c | x_i), (n, C)."""
        out = np.empty((X.shape[0], len(self.classes)))

        def finish(joint: Float64, out: Float64) -> int:
            joint, impossible = self._below_best(joint)
            odds = np.exp(joint, out=np.zeros_like(joint), where=~(joint < -LOST))
            np.subtract(joint, np.log(over_classes(odds)), out=out.T)
            return impossible

        return self._in_chunks(X, out, finish, workers)

    def proba(self, X: Data, workers: Workers | None = None) -> Float64:
        """Return P(c | x_i), (n, C)."""
        out = np.empty((X.shape[0], len(self.classes)))
        return self._in_chunks(X, out, self._shares, workers, VANISHING)

    def codes_and_proba(self, X: Data, workers: Workers | None = None) -> tuple[Int64, Float64]:
        """Return (`predict_codes`, `proba`), scoring the rows once."""
        codes, out = np.empty(X.shape[0], np.int64), np.empty((X.shape[0], len(self.classes)))
        likeliest = np.int64(self.class_prior.argmax())

        def finish(joint: Float64, rows: range) -> int:
            kernel.best_class(joint, likeliest, codes[rows.start : rows.stop])
            return self._shares(joint, out[rows.start : rows.stop])

        self._in_chunks(X, range(X.shape[0]), finish, workers, VANISHING)
        return codes, out

    def _shares(self, joint: Float64, out: Float64) -> int:
        """Write P(c | x_i) to `out`, (n, C); return how many rows all classes rule out."""
        joint, impossible = self._below_best(joint)
        joint = np.exp(joint, out=joint)
        np.divide(joint, over_classes(joint), out=out.T)
        return impossible

    def _below_best(self, joint: Float64) -> tuple[Float64, int]:
        """Return (the (C, n) table minus the best of each row, how many rows all classes rule out).

        Rows that all classes rule out get the log prior. A distance beyond float64 is -inf.
        """
        best = joint.max(axis=0)
        impossible_rows = np.isneginf(best)
        if impossible := int(impossible_rows.sum()):
            joint[:, impossible_rows] = self.log_prior[:, np.newaxis]
            best = joint.max(axis=0)
        with np.errstate(over="ignore"):
            joint -= best
        return joint, impossible

    def score_samples(self, X: Data, workers: Workers | None = None) -> Float64:
        """Return log p(x_i), (n,), in nats: the log density or log probability of the row.

        Raises ValueError if the family's scores are no density.
        """
        self._refuse_no_density()

        def finish(joint: Float64, out: Float64) -> None:
            top = joint.max(axis=0)
            with np.errstate(invalid="ignore", over="ignore"):
                total = top + np.log(over_classes(np.exp(joint - top)))
            out[:] = np.where(np.isneginf(top), top, total)

        return self._with_base(X, self._in_chunks(X, np.empty(X.shape[0]), finish, workers))

    def log_likelihood(self, X: Data, workers: Workers | None = None) -> Float64:
        """Return log p(x_i | c), (n, C), in nats, including the terms in x alone.

        Raises ValueError if the family's scores are no density.
        """
        self._refuse_no_density()
        without_prior = replace(self, log_prior=np.zeros_like(self.log_prior))
        return self._with_base(X, without_prior.joint_log_proba(X, workers))

    def _refuse_no_density(self) -> None:
        family = self.schema.family
        if not family.is_density:
            raise ValueError(f"the scores of {family.name} naive Bayes are not a density of x")

    def _with_base(self, X: Data, out: Float64) -> Float64:
        """Add the terms of log p(x | c) that depend on x alone to scores, (n,) or (n, C)."""
        for start in range(0, len(out), CHUNK):
            rows = slice(start, start + CHUNK)
            with np.errstate(over="ignore"):
                out[rows].T[...] += self.parameters.log_base(X[rows])
        return out

    # ---- looking inside ----------------------------------------------------------------------

    def explain(
        self, X: Data, workers: Workers | None = None, by_block: bool = False
    ) -> Explanation:
        """Return the contributions of prior and features to the score of each class.

        With `by_block`, the contribution of an interaction is not divided among its features.
        """
        codes, proba = self.codes_and_proba(X, workers)
        names = self.schema.names if by_block else self.feature_names
        blocks, parameters = self.feature_groups if by_block else None, self.parameters
        contributions = parameters.contributions(X) if blocks is None else self._by_block(X)
        prior = np.broadcast_to(self.log_prior + parameters.biases(X), proba.shape)
        mixing = np.broadcast_to(parameters.mixing(X), proba.shape)
        return Explanation(
            self.classes, None if names is None else list(names),
            prior, mixing, contributions, proba, codes, blocks=blocks, has_bias=self.has_bias,
        )  # fmt: skip

    @property
    def has_bias(self) -> bool:
        """Whether scores have a bias besides log π."""
        with np.errstate(divide="ignore"):
            is_prior = np.array_equal(self.log_prior, np.log(self.class_prior))
        return bool(np.any(self.parameters.bias)) or not is_prior

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each block of evidence, in order of decreasing importance."""
        place = {name: k for k, name in enumerate(self.schema.ordered)}
        block_shapes = (part.shapes(block.names, self.classes) for block, part in self.blocks)
        return [shape.in_order(place) for shapes in block_shapes for shape in shapes]

    @property
    def feature_groups(self) -> list[tuple[int, ...]]:
        """The features, by position, of each block that has a contribution of its own."""
        place = {name: k for k, name in enumerate(self.schema.names)}
        return [
            tuple(place[block.names[j]] for j in columns)
            for block, part in self.blocks
            for columns in _blocks(block, part)
        ]

    def _by_block(self, X: Data) -> Float64:
        """Return the contribution of each block of `together`, (n, C, K)."""
        contributions = []
        for (block, part), rows in zip(self.blocks, self.schema.rows_of(X), strict=True):
            by_block, in_turn = part.by_block(rows), block.family.in_turn
            contributions.append(by_block.sum(axis=2, keepdims=True) if in_turn else by_block)
        return np.concatenate(contributions, axis=2)

    def linear(self) -> tuple[Float64, Float64]:
        """Return (w, b), (C, d) and (C,): log P(c | x) = w_c . x + b_c up to a term in x alone.

        Raises ValueError if the model is not linear in x, with the reason.
        """
        weight, bias = self.parameters.linear()
        return weight, bias + self.log_prior

    def linear_columns(self) -> tuple[Int64, npt.NDArray[np.object_]] | None:
        """Return `Parameters.linear_columns`; never None for a table, whose columns have names."""
        columns = self.parameters.linear_columns()
        if columns is None and self.schema.reasons is not None:
            size = len(self.schema.names)
            return np.arange(size), np.full(size, None)
        return columns

    # ---- the story ---------------------------------------------------------------------------

    def sample(
        self, n: int, generator: np.random.Generator, label: Label | None = None,
        length: int | None = None,
    ) -> tuple[Any, Labels]:  # fmt: skip
        """Draw N rows and their labels from the model: a class from the prior, then its row.

        Raises ValueError if the label is not a class, or if rows of the family have no length.

        label : class of all rows; None to draw each from the prior.
        length : number of events (such as words) in each row; None for 100.
        """
        if length is not None:
            self._check_length(length)
        if label is None:
            codes = generator.choice(len(self.classes), size=n, p=self.class_prior)
        else:
            codes = np.full(n, self._code(label))
        if length is None:
            return self.parameters.sample(codes, generator), self.classes[codes]
        return self.parameters.sample_events(codes, length, generator), self.classes[codes]

    def _code(self, label: Label) -> int:
        """Return the position of a class; ValueError if there is no such class."""
        classes = self.classes.tolist()
        plain = label.tolist() if isinstance(label, np.ndarray) else label
        if plain not in classes:
            examples = ", ".join(map(repr, classes[:10])) + (", ..." if len(classes) > 10 else "")
            raise ValueError(f"label must be one of the classes, {examples}, not {plain!r}")
        return classes.index(plain)

    def _check_length(self, length: object) -> None:
        if not isinstance(length, int | np.integer) or isinstance(length, bool) or length < 0:
            raise ValueError(f"length must be a number of events, 0 or more, not {length!r}")
        if not self.parameters.has_length:
            raise ValueError(
                "length is for counts of events, such as words (multinomial and complement); "
                f"a row of the family {self.schema.family.name} has none"
            )


def _blocks(block: Block, part: Parameters) -> list[tuple[int, ...]]:
    """Return the groups of columns of a block that contribute jointly.

    All columns are one group if the contribution of each depends on those before it.
    """
    places = range(len(block.names))
    if block.family.in_turn:
        return [tuple(places)]
    blocks = part.blocks()
    return [(j,) for j in places] if blocks is None else blocks
