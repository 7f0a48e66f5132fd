"""What a model scores, as one formula of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from naively.core.model import Model
from naively.core.multilabel import Multilabel
from naively.core.numerals import MOMENT, is_whole
from naively.core.posterior import Posterior
from naively.families.base import Parameters
from naively.families.formula import Formula
from naively.tables.left_out import unvaried_in
from naively.tables.names import first_names
from naively.tables.values import level_text


class NotExportableError(ValueError):
    """What a model has that cannot be said in another language."""


def model_of(estimator: Any) -> Model:
    """The model of a fitted estimator; or the model itself, as files hold it.

    Raises
    ------
    TypeError : if it is neither.
    sklearn.exceptions.NotFittedError : if it was not fitted.
    """
    if isinstance(estimator, Model):
        return estimator
    if not hasattr(estimator, "_summarised"):
        raise TypeError(
            f"estimators of naively can be exported, not {type(estimator).__name__}; of a pipeline "
            "that is its last step"
        )
    estimator._posterior()  # an error if nothing was learned
    found: Model = estimator._summarised()
    return found


def formula_of(model: Model) -> tuple[Posterior, Formula]:
    """(the posterior, the score of each of its classes: log π_c is among what every row has).

    Columns that tell nothing yet are in no term, as in predictions.

    Raises
    ------
    NotExportableError : if a column cannot be said so, naming it and the reason.
    """
    if not len(model.classes):
        raise NotExportableError("the model has no class")
    if isinstance(model, Multilabel):
        raise NotExportableError("a model of rows with many labels cannot be exported")
    posterior = model.posterior()
    schema = posterior.schema
    parts: list[Parameters] = schema.parts_of(posterior.parameters)
    found = Formula(posterior.log_prior)
    for block, part in zip(schema.blocks, parts, strict=True):
        try:
            own = part.formula(block.names)
        except ValueError as error:
            raise NotExportableError(f"{_said(block.names)}: {error}") from None
        if own is None:
            raise NotExportableError(
                f"{_said(block.names)}: the family {block.family.name} cannot be exported"
            )
        found += own.within(*block.family.summary.bounds)
    return posterior, found.without(unvaried_in(posterior))


def spelled(level: str) -> list[str]:
    """How others may write a level: 5 as 5.0, 0 as -0.0, true as they like, 12:30 as 12:30:00."""
    if level == "0":
        return ["0", "0.0", "-0", "-0.0"]
    if is_whole(level) and int(float(level)) == int(level):
        return [level, f"{level}.0"]
    if level_text(level, ()) == level and level and (found := MOMENT.fullmatch(level)):
        return [*dict.fromkeys([level, *_moments(*found.groups())])]
    return [level, level.title(), level.upper()] if level in ("true", "false") else [level]


def _moments(
    date: str | None, clock: str | None, seconds: str | None, fraction: str | None, zone: str | None
) -> list[str]:
    """How databases and Python write a date, a time or both."""
    clock = clock or "00:00"
    clocks = [clock, f"{clock}:00"]
    if seconds:
        clocks = [f"{clock}:{seconds}{part}" for part in _fractions(fraction or "")]
    zones = ["+00:00", "Z", "+00", "+0000"] if zone == "+00:00" else [zone or ""]
    starts = [f"{date} ", f"{date}T"] if date else [""]
    return [start + one + end for start in starts for one in clocks for end in zones]


def _fractions(part: str) -> list[str]:
    """A part of a second, with three and with six digits too."""
    return [part, *(part.ljust(size, "0") for size in (4, 7) if 0 < len(part) < size)]


def _said(names: Sequence[str]) -> str:
    return f"column {first_names(names)}" if len(names) == 1 else f"columns {first_names(names)}"
