"""Prepare a model for export: the scores of its classes as one formula of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from naively.core.numerals import MOMENT, is_whole
from naively.families.base import Parameters
from naively.formula import Formula
from naively.model.model import Model
from naively.model.multilabel import Multilabel
from naively.model.posterior import Posterior
from naively.tables.left_out import unvaried_in
from naively.tables.names import first_names
from naively.tables.values import level_text


class NotExportableError(ValueError):
    """A property of a model that an export format does not support."""


def model_of(estimator: Any) -> Model:
    """Return the model of a fitted estimator, or the model itself.

    Raises TypeError if it is neither; NotFittedError if the estimator is not fitted.
    """
    if isinstance(estimator, Model):
        return estimator
    if not hasattr(estimator, "_summarised"):
        raise TypeError(
            f"estimators of naively can be exported, not {type(estimator).__name__}; of a pipeline "
            "that is its last step"
        )
    estimator._posterior()  # an error if it is not fitted
    model: Model = estimator._summarised()
    return model


def formula_of(model: Model) -> tuple[Posterior, Formula]:
    """Return (the posterior, the scores of its classes), with log π_c in the base of the scores.

    Columns without evidence yet are omitted, as in predictions. Raises NotExportableError if a
    column is not supported, with its name and the reason, or a class has probability 0.
    """
    if not len(model.classes):
        raise NotExportableError("the model has no class")
    if isinstance(model, Multilabel):
        raise NotExportableError("a model of rows with many labels cannot be exported")
    posterior = model.posterior()
    schema = posterior.schema
    parts: list[Parameters] = schema.parts_of(posterior.parameters)
    formula = Formula(posterior.log_prior)
    for block, part in zip(schema.blocks, parts, strict=True):
        try:
            block_formula = part.formula(block.names)
        except ValueError as error:
            raise NotExportableError(f"{_columns(block.names)}: {error}") from None
        if block_formula is None:
            raise NotExportableError(
                f"{_columns(block.names)}: the family {block.family.name} cannot be exported"
            )
        formula += block_formula.within(*block.family.summary.bounds)
    if not np.isfinite(posterior.log_prior).all():
        raise NotExportableError("a class without rows has probability 0")
    return posterior, formula.without(unvaried_in(posterior))


def spelled(level: str) -> list[str]:
    """List other spellings of a category: 5 as 5.0, 0 as -0.0, true as True, 12:30 as 12:30:00."""
    if level == "0":
        return ["0", "0.0", "-0", "-0.0"]
    if is_whole(level) and int(float(level)) == int(level):
        return [level, f"{level}.0"]
    if level_text(level, ()) == level and level and (match := MOMENT.fullmatch(level)):
        return [*dict.fromkeys([level, *_moments(*match.groups())])]
    return [level, level.title(), level.upper()] if level in ("true", "false") else [level]


def _moments(
    date: str | None, clock: str | None, seconds: str | None, fraction: str | None, zone: str | None
) -> list[str]:
    """List the spellings of a date, a time or both in databases and Python."""
    clock = clock or "00:00"
    clocks = [clock, f"{clock}:00"]
    if seconds:
        part = fraction or ""  # as it is, with three digits and with six
        fractions = [part, *(part.ljust(size, "0") for size in (4, 7) if 0 < len(part) < size)]
        clocks = [f"{clock}:{seconds}{digits}" for digits in fractions]
    zones = ["+00:00", "Z", "+00", "+0000"] if zone == "+00:00" else [zone or ""]
    prefixes = [f"{date} ", f"{date}T"] if date else [""]
    return [prefix + time + offset for prefix in prefixes for time in clocks for offset in zones]


def _columns(names: Sequence[str]) -> str:
    return f"column {first_names(names)}" if len(names) == 1 else f"columns {first_names(names)}"
