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
    """A plot, with its numbers as a table.

    Attributes
    ----------
    title, caption : heading and caption.
    image : a data URI.
    text : alternative text for screen readers.
    table : the numbers of the plot.
    wide : whether it takes the full width of the page.
    """

    title: str
    caption: str
    image: str
    text: str
    table: Table
    wide: bool = False


@dataclass(frozen=True)
class Quality:
    """Scores of a model on some rows.

    Attributes
    ----------
    title : which rows.
    scores : of the model and of its baseline, with the calibration.
    majority : the majority class.
    notes : remarks on the scores.
    confusion : the confusion matrix; None if not known.
    rankings : Ranking of the rows by the probability of a class, by its name; empty if not known.
    """

    title: str
    scores: Scores
    majority: str
    notes: Sequence[str] = ()
    confusion: Table | None = None
    rankings: Mapping[str, Ranking] = field(default_factory=dict)

    @property
    def losses(self) -> list[str]:
        """The log-losses, formatted."""
        values = self.scores.log_loss, self.scores.baseline_log_loss
        return ["not known" if math.isnan(loss) else f"{loss:#.4g}" for loss in values]


@dataclass(frozen=True)
class Reason:
    """A contribution to the log-odds of a row.

    Attributes
    ----------
    name, value : the feature or term, and its value in the row.
    odds : contribution in nats, for the predicted class.
    colour : "a" or "b", of its bar.
    """

    name: str
    value: str
    odds: float
    colour: str

    @property
    def side(self) -> str:
        """CSS classes of its bar: colour and direction."""
        return f"{self.colour} {'up' if self.odds > 0 else 'down'}"


@dataclass(frozen=True)
class Example:
    """A row and the explanation of its prediction.

    Attributes
    ----------
    title : names the row.
    label, against : the predicted class, and the second most probable one.
    p : P(label | row).
    truth : the actual class; None if not known.
    reasons : the largest contributions, decreasing.
    more : the number and the sum of the others, in words.
    colours : the classes for which blue and orange words of a text are evidence.
    texts : (column, HTML of the text with its words marked).
    """

    title: str
    label: str
    against: str
    p: float
    truth: str | None
    reasons: Sequence[Reason]
    more: str
    colours: tuple[str, str]
    texts: Sequence[tuple[str, str]] = ()

    @property
    def widest(self) -> float:
        """The log-odds of the longest bar, at least 1 if all are 0."""
        finite = [abs(reason.odds) for reason in self.reasons if math.isfinite(reason.odds)]
        return max(finite, default=0.0) or 1.0


@dataclass
class Report:
    """All data of the page.

    Attributes
    ----------
    target : name of the target column.
    file, version : of the model file, and of the library that wrote it.
    facts : (name, value) of the model as a whole.
    classes : table of class frequencies.
    warnings : what the reader should check.
    quality : scores, by set of rows.
    unknown : why there are no scores; empty if there are.
    ranked : tables of features and interactions, by decreasing importance.
    legend : the legend of the plots; None if there are none.
    shapes : plots of features and interactions.
    shapes_note : what is not shown.
    words : tables of the most informative terms, one for each class and column.
    missing, left_out : columns with missing values; columns that are not used, and why.
    misread : categorical columns that may be meant as numeric or date, with their values.
    examples, mistakes : explained rows.
    examples_note, mistakes_note : which rows these are.
    form : columns of the form to try a row, as JSON; None if there is no form.
    numbers : parameters of the model, for the form.
    prior : the name of the prior among contributions.
    no_form : why there is no form.
    labels : the classes, as `predict.js` names them.
    names : the classes, as the page shows them.
    """

    target: str
    file: str
    version: str
    facts: list[tuple[str, str]]
    classes: Table
    warnings: list[str]
    quality: list[Quality]
    unknown: str
    ranked: list[Table]
    legend: Picture | None
    shapes: list[Picture]
    shapes_note: str
    words: list[Table]
    missing: Table | None
    left_out: Table | None
    misread: Table | None = None
    examples: list[Example] = field(default_factory=list)
    mistakes: list[Example] = field(default_factory=list)
    examples_note: str = ""
    mistakes_note: str = ""
    form: list[dict[str, Any]] | None = None
    numbers: dict[str, Any] | None = None
    prior: str = ""
    no_form: str = ""
    labels: Sequence[str] = ()
    names: Sequence[str] = ()
