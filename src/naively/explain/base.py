"""Base classes of explanations: log-odds of two classes, printing, HTML and Arrow tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar, overload

import numpy as np
import pyarrow as pa
from rich.console import Group, RenderableType
from rich.text import Text

from naively.core.exact import Float64, Int64
from naively.core.labels import Label, Labels
from naively.core.markup import NO_ESTIMATE, brief, chance, escaped, folded, paragraph, shown
from naively.explain.rendering import Listing, legend
from naively.rendering import WIDTH, as_text

MIXING = "(prior mixing)"  # the name of prior mixing among contributions
FEW = 10  # number of rows or texts that ``print`` and notebooks show
LISTED = 4  # number of other classes whose probability is printed
Summand = tuple[str, str | None, str | None, float]
"""(column, term or None, value or count of the term, log-odds)."""
ClassPair = tuple[Label, Label]  # the two classes that are compared


@dataclass(frozen=True, eq=False, repr=False)
class SingleExplanation(ABC):
    """Explanation of one row or text: contributions to its joint log-likelihoods, in nats.

    Methods compare two classes: `label`, by default the most probable one, and `against`, by
    default the most probable one of the others.

    Attributes
    ----------
    classes : (C,) the labels.
    prior : (C,) log π_c, plus the bias of each class if the model has one.
    proba : (C,) P(c | x).
    code : position of the predicted class.
    has_bias : whether the prior includes a bias, which is learned with the weights of evidence.
    """

    classes: Labels
    prior: Float64
    proba: Float64
    code: int
    has_bias: bool = field(default=False, kw_only=True)

    @property
    def prior_name(self) -> str:
        """The name of the prior in lists."""
        return name_of_prior(self.has_bias)

    @property
    def predicted(self) -> Any:
        """The predicted class."""
        return self.classes.tolist()[self.code]

    @property
    @abstractmethod
    def _scores(self) -> tuple[Float64, ...]:
        """Summands of the joint log-likelihoods, by class: (C,) or (C, number of parts)."""

    @property
    def joint(self) -> Float64:
        """The joint log-likelihoods, (C,): the sum of all parts."""
        first, *others = (part if part.ndim == 1 else part.sum(axis=1) for part in self._scores)
        return sum(others, first)

    def log_odds(self, label: Label | None = None, against: Label | None = None) -> tuple[Any, ...]:
        """Return the parts of log P(label | x) - log P(against | x), in nats.

        Parts are NaN where both classes have probability 0.

        Parameters
        ----------
        label, against : two classes; by default the two most probable ones.

        Returns
        -------
        (prior, contributions, rest): a number; (d,) of the features of a row, or (T,) of the terms
        of a text; a number for prior mixing, or for absent terms.
        """
        a, b = self.pair(label, against)
        with np.errstate(invalid="ignore"):  # NaN where both classes have probability 0
            odds = (part[a] - part[b] for part in self._scores)
            return tuple(value if value.ndim else float(value) for value in odds)

    def known_log_odds(
        self, label: Label | None = None, against: Label | None = None
    ) -> list[Float64]:
        """Return `log_odds` as arrays, with 0 where both classes have probability 0."""
        return [np.where(np.isnan(part), 0.0, part) for part in self.log_odds(label, against)]

    @abstractmethod
    def parts(self, label: Label | None = None, against: Label | None = None) -> list[Summand]:
        """Return all parts of the log-odds, the largest first and the prior last.

        The log-odds are 0 where both classes have probability 0.

        Parameters
        ----------
        label, against : two classes; by default the two most probable ones.
        """

    def to_html(
        self, label: Label | None = None, against: Label | None = None, *, heading: bool = True,
        strongest: float | None = None,
    ) -> str:  # fmt: skip
        """Return HTML: a table of the largest contributions, and texts with their words marked.

        Blue words are evidence for `label`, orange ones for `against`; tooltips show the log-odds.

        Parameters
        ----------
        label, against : two classes; by default the two most probable ones.
        heading : whether to begin with the predicted class and its probability.
        strongest : log-odds of the strongest colour; by default the largest of a word here.
        """
        pair = self.labels(label, against)
        head = paragraph(f"<b>{escaped(self.head())}</b>") * heading
        return self._html(pair, head, strongest)

    @abstractmethod
    def _html(self, pair: ClassPair, head: str, strongest: float | None) -> str:
        """Return the HTML for two classes, below a heading."""

    @abstractmethod
    def listed(self, label: Label | None = None, against: Label | None = None) -> Listing:
        """Return the contributions to print."""

    @abstractmethod
    def _printed(self, pair: ClassPair, width: int, colours: bool) -> list[RenderableType]:
        """Return tables of contributions, and marked texts, for a terminal."""

    def printed(
        self, label: Label | None = None, against: Label | None = None, *, row: str = "",
        width: int = WIDTH, colours: bool = False, decision: str = "",
    ) -> Group:  # fmt: skip
        """Return the explanation for a terminal.

        Parameters
        ----------
        label, against : two classes; by default the two most probable ones.
        row : the number of the row.
        width : characters of a line.
        colours : whether to mark words of texts by colours, instead of numbers.
        decision : the label that was chosen by costs or a threshold, and why.
        """
        pair = self.labels(label, against)
        lines = [decision] * bool(decision) + [self.head(bool(decision))]
        title = f"row {row}: " * bool(row) + "\n".join(lines)
        parts = [Text(title, style="bold"), "", *self._printed(pair, width, colours)]
        return Group(*parts, *[legend(*pair)] * (not self.has_no_estimate))

    def pair(self, label: Label | None = None, against: Label | None = None) -> tuple[int, int]:
        """Return the positions of the two classes.

        Raises
        ------
        ValueError : if one is not one of the classes.
        """
        joint, predicted = self.joint[np.newaxis], np.array([self.code])
        first, second = compared(joint, self.prior, predicted, self.classes, label, against)
        return int(first[0]), int(second[0])

    def labels(self, label: Label | None = None, against: Label | None = None) -> ClassPair:
        """Return the labels of the two classes."""
        a, b = self.pair(label, against)
        return self.classes[a], self.classes[b]

    def total(self, label: Label | None = None, against: Label | None = None) -> float:
        """Return log P(label | x) - log P(against | x), in nats: the sum of `log_odds`.

        Parts where both classes have probability 0 count as 0. The total is NaN if each class has
        a part with probability 0 that the other has not, or if all classes have probability 0, so
        that there is no estimate. If scores overflow float64, the total is infinite in favour of
        the more probable class.
        """
        if self.has_no_estimate:
            return np.nan
        with np.errstate(invalid="ignore"):
            odds = float(sum(part.sum() for part in self.known_log_odds(label, against)))
        possible, other = (self.proba[c] > 0 for c in self.pair(label, against))
        if not np.isnan(odds) or possible == other:
            return odds
        return np.inf if possible else -np.inf

    @property
    def has_no_estimate(self) -> bool:
        """Whether all classes have probability 0 (0/0), so that the class prior is predicted.

        Scores that overflow float64 are -inf, too, but there the probabilities differ from the
        prior.
        """
        if not np.isneginf(self.joint).all():
            return False
        prior = np.exp(self.prior - self.prior.max())
        return bool(np.allclose(self.proba, prior / prior.sum(), rtol=1e-9, atol=0.0))

    def head(self, decided: bool = False) -> str:
        """Return a line with the most probable class and the probabilities of the classes.

        It is the predicted class, unless costs or a threshold have `decided`.
        """
        names = [brief(shown(str(name)), 40) for name in self.classes.tolist()]
        order = np.argsort(-self.proba, kind="stable").tolist()
        chances = [chance(p) for p in self.proba.tolist()]
        others = [f"{names[c]}: {chances[c].removeprefix('= ')}" for c in order if c != self.code]
        if len(others) > LISTED:
            others[LISTED:] = [f"{len(others) - LISTED:,} more classes"]
        alternatives = f" ({', '.join(others)})" * bool(others)
        name = f"{'most probable' if decided else 'predicted'} {names[self.code]}"
        line = f"{name}, P {chances[self.code]}{alternatives}"
        return f"{line}: {NO_ESTIMATE}" if self.has_no_estimate else line

    def __str__(self) -> str:
        return as_text(self.printed())

    def __repr__(self) -> str:
        label, against = self.labels()
        return f"<{type(self).__name__}: {label} rather than {against}>"

    def _repr_html_(self) -> str:
        return self.to_html()


def name_of_prior(has_bias: bool) -> str:
    """Return the name of the prior among contributions."""
    return "(prior and bias)" if has_bias else "(prior)"


AnyExplanation = TypeVar("AnyExplanation", bound=SingleExplanation)
AnyLine = TypeVar("AnyLine", bound=tuple[Any, ...])


@dataclass(frozen=True, eq=False, repr=False)
class Explanations(Sequence[AnyExplanation]):
    """Sequence of explanations of rows or texts.

    Attributes
    ----------
    classes : (C,) the labels.
    """

    classes: Labels

    @property
    @abstractmethod
    def has_terms(self) -> bool:
        """Whether any column is text, with contributions of its terms."""

    @abstractmethod
    def _single(self, i: int) -> AnyExplanation:
        """Return the explanation of row i, counted from 0."""

    @abstractmethod
    def _some(self, rows: slice) -> Self:
        """Return the explanations of some rows."""

    @overload
    def __getitem__(self, i: int) -> AnyExplanation: ...
    @overload
    def __getitem__(self, i: slice) -> Self: ...
    def __getitem__(self, i: Any) -> Any:
        rows = range(len(self))[i]  # IndexError for a row that does not exist
        return self._single(rows) if isinstance(rows, int) else self._some(i)

    def to_arrow(self, label: Label | None = None, against: Label | None = None) -> pa.Table:
        """Return a flat table: a line for each feature, each term of a text, and the prior.

        The columns are ``row`` (counted from 0); ``predicted`` and its ``probability``; ``label``
        and ``against``, the two classes; ``feature``; ``term``, if any column is text; ``value`` as
        text, the count for a term; and ``log_odds`` in nats. The log-odds of a row sum to its
        total; the largest comes first, and the lines ``(prior mixing)``, if there is any, and
        ``(prior)`` or ``(prior and bias)`` last.

        Parameters
        ----------
        label, against : two classes; by default the two most probable ones of each row.
        """
        summands: list[Summand] = []
        rows, heads = [], []
        for i, single in enumerate(self):
            parts = single.parts(label, against)
            summands += parts
            rows += [i] * len(parts)
            heads.append((single.code, *single.pair(label, against), single.proba[single.code]))
        *codes, probability = zip(*heads, strict=True) if heads else [()] * 4
        feature, term, value, odds = zip(*summands, strict=True) if summands else [()] * 4
        row_numbers = pa.array(rows, pa.int64())
        names = self.classes.tolist()
        labels = pa.array([writable(name) if isinstance(name, str) else name for name in names])
        predicted, first, other = (
            labels.take(pa.array(c, pa.int64())).take(row_numbers) for c in codes
        )
        columns = {
            "row": row_numbers,
            "predicted": predicted,
            "probability": pa.array(probability, pa.float64()).take(row_numbers),
            "label": first,
            "against": other,
            "feature": pa.array(feature, pa.string()),
            "term": pa.array(map(writable, term), pa.string()),
            "value": pa.array(map(writable, value), pa.string()),
            "log_odds": pa.array(odds, pa.float64()),
        }
        if not self.has_terms:
            del columns["term"]
        return pa.table(columns)

    def __str__(self) -> str:
        rows = [as_text(single.printed(row=str(i))) for i, single in enumerate(self[:FEW])]
        return "\n\n".join([*rows, *[self._more()] * (len(self) > FEW)])

    def _more(self) -> str:
        return f"and {len(self) - FEW:,} more: [i] is the explanation of row i"

    def to_html(self, label: Label | None = None, against: Label | None = None) -> str:
        """Return HTML of all explanations, each below a line with the predicted class.

        The first is open; the others open when their line is clicked.

        Parameters
        ----------
        label, against : two classes; by default the two most probable ones of each row.
        """
        if len(self) == 1:
            return self[0].to_html(label, against)
        return "\n".join(
            folded(f"row {i}: {row.head()}", row.to_html(label, against, heading=False), i == 0)
            for i, row in enumerate(self)
        )

    def _repr_html_(self) -> str:
        return self[:FEW].to_html() + f"<p>{self._more()}</p>" * (len(self) > FEW)


def largest_first(lines: list[AnyLine]) -> list[AnyLine]:
    """Sort lines by the absolute value of their last item, the log-odds."""
    return sorted(lines, key=lambda line: -abs(line[-1]))


def compared(
    joint: Float64, prior: Float64, predicted: Int64, classes: Labels, label: Label | None,
    against: Label | None,
) -> tuple[Int64, Int64]:  # fmt: skip
    """Return the positions of the two classes to compare in each row, (n,) both.

    `joint`: (n, C) joint log-likelihoods, which rank the classes. `prior`: (C,) log prior, which
    ranks them where all classes have probability 0. `label`, `against`: None for the most probable
    class other than the other one. Raises ValueError if one is not one of the classes.
    """
    names = classes.tolist()
    for name in (label, against):
        if name is not None and name not in names:
            raise ValueError(f"{name!r} is not one of the classes {', '.join(map(repr, names))}")
    rank = np.where(np.isneginf(joint).all(axis=1, keepdims=True), prior, joint)
    rank[np.arange(len(rank)), predicted] = np.inf
    order = np.argsort(-rank, axis=1, kind="stable")
    best, next_best = order[:, 0], order[:, min(1, len(names) - 1)]
    chosen = [None if name is None else names.index(name) for name in (label, against)]
    first = (
        np.where(best == chosen[1], next_best, best) if chosen[0] is None else best * 0 + chosen[0]
    )
    other = np.where(best == first, next_best, best) if chosen[1] is None else best * 0 + chosen[1]
    return first, other


def writable(text: str | None) -> str | None:
    """Replace lone surrogates, which cannot be encoded as UTF-8."""
    return None if text is None else text.encode("utf-8", "replace").decode()
