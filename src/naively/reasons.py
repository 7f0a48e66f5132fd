"""What explanations of rows and of texts share: the classes they compare, how they read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from naively.exact import Float64, Int64
from naively.labels import Labels
from naively.markup import folded, shown, total_odds

FEW = 10
"""Rows or texts that are printed, and shown in a notebook."""
Part = tuple[str, str | None, str | None, float]
"""(column, a term of it or None, its value or how often the term is met, its log-odds)."""


@dataclass(frozen=True, eq=False, repr=False)
class Reason(ABC):
    """Why one row, or one text, has the joint log-likelihoods that it has; all in nats.

    Wherever two classes are compared, `label` is the most probable one unless it is given, and
    `against` the most probable of the others.

    Attributes
    ----------
    classes : (C,) the labels.
    prior : (C,) log π_c.
    proba : (C,) P(c | x).
    code : position of the class that is predicted.
    """

    classes: Labels
    prior: Float64
    proba: Float64
    code: int

    @property
    def predicted(self) -> Any:
        """The class that is predicted."""
        return self.classes.tolist()[self.code]

    @property
    @abstractmethod
    def joint(self) -> Float64:
        """The joint log-likelihoods, (C,): the sum of all."""

    @abstractmethod
    def log_odds(self, label: Any = None, against: Any = None) -> tuple[Any, ...]:
        """The parts of log P(label | x) - log P(against | x), in nats; NaN if both rule it out."""

    @abstractmethod
    def parts(self, label: Any = None, against: Any = None) -> list[Part]:
        """All parts of the log-odds, the largest first; what both classes rule out is 0."""

    @abstractmethod
    def to_html(
        self, label: Any = None, against: Any = None, *, heading: bool = True,
        strongest: float | None = None,
    ) -> str:  # fmt: skip
        """Why it is so, as HTML."""

    def pair(self, label: Any = None, against: Any = None) -> tuple[int, int]:
        """The positions of the two classes that are compared.

        Raises
        ------
        ValueError : if one is not one of the classes.
        """
        joint, predicted = self.joint[np.newaxis], np.array([self.code])
        first, second = compared(joint, self.prior, predicted, self.classes, label, against)
        return int(first[0]), int(second[0])

    def total(self, label: Any = None, against: Any = None) -> float:
        """log P(label | x) - log P(against | x), in nats: the sum of `log_odds`.

        What both classes rule out is 0. NaN if each rules out what the other does not.
        """
        kept = (np.where(np.isnan(part), 0.0, part) for part in self.log_odds(label, against))
        with np.errstate(invalid="ignore"):
            return float(sum(part.sum() for part in kept))

    def head(self, label: Any = None, against: Any = None) -> str:
        """A line that says how the two classes compare."""
        a, b = self.pair(label, against)
        one, other = (shown(str(self.classes[c])) for c in (a, b))
        total = total_odds([self.total(label, against)])
        return f"{one}, P = {self.proba[a]:.4f}; log-odds against {other}: {total} nats"

    def __repr__(self) -> str:
        a, b = self.pair()
        return f"<{type(self).__name__}: {self.classes[a]} rather than {self.classes[b]}>"

    def _repr_html_(self) -> str:
        return self.to_html()


One = TypeVar("One", bound=Reason)


class Reasons(Sequence[One]):
    """Why each of several rows or texts has its scores: a sequence of these."""

    has_terms: bool
    """Whether any column is text, of which each term is told."""

    def to_arrow(self, label: Any = None, against: Any = None) -> pa.Table:
        """A flat table: a line for the prior and each column, of each term of a text.

        Its log-odds sum to those of the row. The columns are ``row`` (counted from 0),
        ``predicted`` and its ``probability``; ``label`` and ``against``, which are compared;
        ``column``, ``term`` if any column is text, ``value`` (how often, of a term), both as text,
        and ``log_odds``, in nats, the largest of each row first.

        Parameters
        ----------
        label, against : two classes; by default the most probable of each row, and the next.
        """
        found: list[Part] = []
        rows, pairs = [], []
        for i, one in enumerate(self):
            parts = one.parts(label, against)
            found += parts
            rows += [i] * len(parts)
            pairs.append((one.code, one.proba[one.code], *one.pair(label, against)))
        predicted, probability, first, other = np.array(pairs, object).reshape(-1, 4).T
        at = np.array(rows, np.int64)
        names = self._classes.tolist()
        labels = pa.array([writable(one) if isinstance(one, str) else one for one in names])
        columns = {"row": pa.array(at)}
        for name, codes in (("predicted", predicted), ("label", first), ("against", other)):
            columns[name] = labels.take(pa.array(codes.astype(np.int64)[at]))
            if name == "predicted":
                columns["probability"] = pa.array(probability.astype(np.float64)[at])
        column, term, value, odds = zip(*found, strict=True) if found else ((), (), (), ())
        columns["column"] = pa.array(column, pa.string())
        if self.has_terms:
            columns["term"] = pa.array(map(writable, term), pa.string())
        columns["value"] = pa.array(map(writable, value), pa.string())
        return pa.table({**columns, "log_odds": pa.array(odds, pa.float64())})

    @property
    @abstractmethod
    def _classes(self) -> Labels:
        """The labels."""

    def __str__(self) -> str:
        shown = [f"row {i}: {self[i]}" for i in range(min(len(self), FEW))]
        return "\n\n".join([*shown, *[self._more()] * (len(self) > FEW)])

    def _more(self) -> str:
        return f"and {len(self) - FEW:,} more: [i] is the explanation of row i"

    def to_html(self, label: Any = None, against: Any = None) -> str:
        """All of them, each folded under a line that says what it is, as HTML.

        Parameters
        ----------
        label, against : two classes; by default the most probable of each row, and the next.
        """
        return self._html(iter(self), label, against)

    def _html(self, shown: Iterator[One], label: Any = None, against: Any = None) -> str:
        if len(self) == 1:
            return next(shown).to_html(label, against)
        return "\n".join(
            folded(
                f"row {i}: {one.head(label, against)}", one.to_html(label, against, heading=False)
            )
            for i, one in enumerate(shown)
        )

    def _repr_html_(self) -> str:
        html = self._html(self[i] for i in range(min(len(self), FEW)))
        return html + f"<p>{self._more()}</p>" * (len(self) > FEW)


def compared(
    joint: Float64, prior: Float64, predicted: Int64, classes: Labels, label: Any, against: Any
) -> tuple[Int64, Int64]:
    """The positions of the two classes that are compared in each row, (n,) both.

    Parameters
    ----------
    joint : (n, C), by which classes are more probable than others.
    prior : (C,), which counts where every class rules a row out.
    predicted : (n,) position of the most probable class.
    classes : (C,) the labels.
    label : a class; None for the most probable, other than `against`.
    against : a class; None for the most probable, other than `label`.

    Raises
    ------
    ValueError : if one is not one of the classes.
    """
    names = classes.tolist()
    for one in (label, against):
        if one is not None and one not in names:
            raise ValueError(f"{one!r} is not one of the classes {names}")
    rank = np.where(np.isneginf(joint).all(axis=1, keepdims=True), prior, joint)
    rank[np.arange(len(rank)), predicted] = np.inf
    order = np.argsort(-rank, axis=1, kind="stable")
    best, next_best = order[:, 0], order[:, min(1, len(names) - 1)]
    given = [None if one is None else names.index(one) for one in (label, against)]
    first = np.where(best == given[1], next_best, best) if given[0] is None else best * 0 + given[0]
    other = np.where(best == first, next_best, best) if given[1] is None else best * 0 + given[1]
    return first, other


def writable(text: str | None) -> str | None:
    """Text without halves of surrogate pairs, which no file can hold."""
    return None if text is None else text.encode("utf-8", "replace").decode()
