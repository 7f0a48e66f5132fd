"""Data of a report, which the template of the page renders."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from naively.evaluation.metrics import Ranking, Scores
from naively.rendering import Table


@dataclass(frozen=True)
class Picture:
    """A plot, with its numbers as a table."""

    # title, caption: heading and caption
    title: str
    caption: str
    image: str  # a data URI
    text: str  # alternative text for screen readers
    table: Table  # the numbers of the plot
    wide: bool = False  # whether it takes the full width of the page


@dataclass(frozen=True)
class Quality:
    """Scores of a model on some rows."""

    title: str  # which rows
    scores: Scores  # of the model and of its baseline, with the calibration
    majority: str  # the majority class
    notes: Sequence[str] = ()  # remarks on the scores
    confusion: Table | None = None  # the confusion matrix; None if not known
    # Ranking of the rows by the probability of a class, by its name; empty if not known
    rankings: Mapping[str, Ranking] = field(default_factory=dict)

    @property
    def losses(self) -> list[str]:
        """The log-losses, formatted."""
        values = self.scores.log_loss, self.scores.baseline_log_loss
        return ["not known" if math.isnan(loss) else f"{loss:#.4g}" for loss in values]


@dataclass(frozen=True)
class Reason:
    """A contribution to the log-odds of a row."""

    # name, value: the feature or term, and its value in the row
    name: str
    value: str
    odds: float  # contribution in nats, for the predicted class
    colour: str  # "a" or "b", of its bar

    @property
    def side(self) -> str:
        """CSS classes of its bar: colour and direction."""
        return f"{self.colour} {'up' if self.odds > 0 else 'down'}"


@dataclass(frozen=True)
class Example:
    """A row and the explanation of its prediction."""

    title: str  # names the row
    # label, against: the predicted class, and the second most probable one
    label: str
    against: str
    p: float  # P(label | row)
    truth: str | None  # the actual class; None if not known
    reasons: Sequence[Reason]  # the largest contributions, decreasing
    more: str  # the number and the sum of the others, in words
    colours: tuple[str, str]  # the classes for which blue and orange words of a text are evidence
    texts: Sequence[tuple[str, str]] = ()  # (column, HTML of the text with its words marked)

    @property
    def widest(self) -> float:
        """The log-odds of the longest bar, at least 1 if all are 0."""
        finite = [abs(reason.odds) for reason in self.reasons if math.isfinite(reason.odds)]
        return max(finite, default=0.0) or 1.0


@dataclass
class TableResults:
    """The results on the rows of a table."""

    quality: Quality | None = None  # scores; None if not known
    unknown: str = ""  # why there are no scores
    examples: list[Example] = field(default_factory=list)  # explained rows
    # explained rows that were predicted wrongly, the most confident ones
    mistakes: list[Example] = field(default_factory=list)
    examples_note: str = ""  # which rows the examples are
    mistakes_note: str = ""  # how many mistakes there are
    # the values of the first example, by column
    first: dict[str, Any] = field(default_factory=dict)


@dataclass
class Report:
    """All data of the page."""

    target: str  # name of the target column
    # file, version: of the model file, and of the library that wrote it
    file: str
    version: str
    facts: list[tuple[str, str]]  # (name, value) of the model as a whole
    classes: Table  # table of class frequencies
    warnings: list[str]  # what the reader should check
    quality: list[Quality]  # scores, by set of rows
    unknown: str  # why there are no scores; empty if there are
    ranked: list[Table]  # tables of features and interactions, by decreasing importance
    legend: Picture | None  # the legend of the plots; None if there are none
    shapes: list[Picture]  # plots of features and interactions
    shapes_note: str  # what is not shown
    words: list[Table]  # tables of the most informative terms, one for each class and column
    # missing, left_out: columns with missing values; columns that are not used, and why
    missing: Table | None
    left_out: Table | None
    # categorical columns that may be meant as numeric or date, with their values
    misread: Table | None = None
    rows: TableResults = field(default_factory=TableResults)
    # columns of the form to try a row, as JSON; None if there is no form
    form: list[dict[str, Any]] | None = None
    numbers: dict[str, Any] | None = None  # parameters of the model, for the form
    prior: str = ""  # the name of the prior among contributions
    no_form: str = ""  # why there is no form
    labels: Sequence[str] = ()  # the classes, as `predict.js` names them
    names: Sequence[str] = ()  # the classes, as the page shows them
