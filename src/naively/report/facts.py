"""What a page says of a model, before it is written as HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from naively.evaluation.calibration import Reliability
from naively.rendering import Table


@dataclass(frozen=True)
class Picture:
    """A plot, and the same numbers as a table.

    Attributes
    ----------
    title, said : its heading, and a few words below.
    image : a data URI.
    text : what is to be seen, for those who do not see it.
    table : its numbers.
    wide : whether it needs more room than others.
    """

    title: str
    said: str
    image: str
    text: str
    table: Table
    wide: bool = False


@dataclass(frozen=True)
class Quality:
    """How well rows were predicted.

    Attributes
    ----------
    title : on which rows.
    accuracy, majority : of the model, of always saying the most frequent class.
    log_loss, baseline_log_loss : nats a row, of the model and of the class prior; NaN if not known.
    calibration : Reliability
    usual : the most frequent class.
    notes : what is to be known of the numbers.
    confusion : which classes were taken for which; None if not known.
    """

    title: str
    accuracy: float
    majority: float
    log_loss: float
    baseline_log_loss: float
    calibration: Reliability
    usual: str
    notes: Sequence[str] = ()
    confusion: Table | None = None

    @property
    def losses(self) -> list[str]:
        """The log-losses as they are read."""
        each = self.log_loss, self.baseline_log_loss
        return ["not known" if math.isnan(one) else f"{one:#.4g}" for one in each]


@dataclass(frozen=True)
class Reason:
    """What a part of a row adds to the log-odds.

    Attributes
    ----------
    name, value : the column or term, and what the row has there.
    odds : in nats, for the class that is predicted.
    colour : "a" or "b", of its bar.
    """

    name: str
    value: str
    odds: float
    colour: str

    @property
    def side(self) -> str:
        """How its bar looks."""
        return f"{self.colour} {'up' if self.odds > 0 else 'down'}"


@dataclass(frozen=True)
class Example:
    """A row, and why it is predicted so.

    Attributes
    ----------
    title : which row it is.
    label, against : the class that is predicted, and the next best.
    p : P(label | row).
    truth : the class that it has; None if not known.
    reasons : the largest first.
    more : what the others are and add up to.
    colours : which classes the words of texts in blue and in orange speak for.
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
        """The log-odds of the longest bar."""
        known = [abs(one.odds) for one in self.reasons if math.isfinite(one.odds)]
        return max(known, default=0.0) or 1.0


@dataclass
class Report:
    """All that a page says.

    Attributes
    ----------
    target : the column that is predicted.
    file, version : of the model, and of the library that wrote it.
    facts : (name, value) of the model as a whole.
    classes : their shares.
    warnings : what should be looked at.
    quality : on which rows it was judged, and how well it does.
    unknown : why there is no quality, if there is none.
    ranked : tables of features and interactions, the most important first.
    legend : what colours and lines mean in the pictures; None if there are none.
    shapes : of columns and pairs.
    shapes_note : what is not shown.
    words : terms with the highest log-odds, a table a class and column.
    missing, left_out : columns with missing values; those that are left out, and why.
    misread : columns that people may have meant as numbers or dates, and what they hold.
    examples, mistakes : rows that were given.
    examples_note, mistakes_note : which rows these are.
    form : the columns for a row to try, as JSON takes them; None if there is none.
    numbers : of the model, for the form.
    no_form : why there is none.
    labels : the classes, as `predict.js` names them.
    names : the same for people.
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
    no_form: str = ""
    labels: Sequence[str] = ()
    names: Sequence[str] = ()
