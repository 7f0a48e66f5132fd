"""Show the features of plain naive Bayes: counts, probabilities by class, and a plot of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from naively.cli import terminal
from naively.cli.errors import UsageError, UserError
from naively.cli.results import pictures
from naively.cli.terminal import clean, new_table, note
from naively.core.exact import Float64
from naively.families.discrete.categorical import CategoricalParameters
from naively.model.model import Model
from naively.model_summary import left_out
from naively.storage.model_files import Saved
from naively.tables.names import no_column


@dataclass(frozen=True)
class Counts:
    """A categorical feature: its training rows and probabilities by class.

    Attributes
    ----------
    name : of the feature.
    categories : its K categories, as text.
    rows : (C, K) weight of the training rows of each class in each category.
    probability : (C, K) P(category | class), smoothed.
    """

    name: str
    categories: list[str]
    rows: Float64
    probability: Float64

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON."""
        return {
            "feature": self.name, "categories": self.categories, "rows": self.rows.tolist(),
            "probability": self.probability.tolist(),
        }  # fmt: skip


def chosen(model: Model | None, columns: Sequence[str]) -> list[Counts]:
    """Return the counts of these features.

    Raises UserError or UsageError for a feature that the model does not have, or that is not
    categorical.
    """
    if model is None:
        raise UserError("the model has no class: it has no training rows")
    reasons, features = left_out(model), dict[str, Counts]()
    for block, parameters in model.posterior().blocks:
        if isinstance(parameters, CategoricalParameters):
            for k, name in enumerate(block.names):
                levels = parameters.levels[k]
                features[name] = Counts(
                    name, [str(level) for level in levels.tolist()],
                    np.asarray(parameters.count[:, slice(*parameters.offsets[k : k + 2])], float),
                    np.exp(parameters.log_theta(k, levels)),
                )  # fmt: skip
    for name in columns:
        if name in reasons:
            raise UserError(f"--column {name}: it is left out ({reasons[name]})")
        if name not in model.schema.names:
            raise UsageError(f"--column: {no_column(name, model.schema.ordered)}")
        if name not in features:
            family = model.schema.family_of[name]
            what = "terms" if family.summary.of_texts else "parameters"
            raise UserError(
                f"--column {name}: a table of counts needs a categorical feature, and this one is "
                f"{family.name.replace('_', ' ')}: `naively inspect` prints its {what}, and --plot "
                "draws them"
            )
    return [features[name] for name in columns]


def printed(features: Sequence[Counts], model: Model) -> None:
    """Print the rows and the probabilities of each category, by class."""
    out = terminal.console()
    labels = [clean(label, 16) for label in model.classes.tolist()]
    for k, feature in enumerate(features):
        if k:
            out.print()
        count = len(feature.categories)
        title = f"{clean(feature.name)}: {count:,} categor{'y' if count == 1 else 'ies'}"
        out.print(Text(title, style="bold"))
        out.print()
        heads = [f"rows {label}" for label in labels] + [f"P(·|{label})" for label in labels]
        table = new_table(clean(feature.name, 24), *heads, style="")
        for j, category in enumerate(feature.categories):
            rows = [f"{weight:,.10g}" for weight in feature.rows[:, j].tolist()]
            shares = [f"{p:.4f}" for p in feature.probability[:, j].tolist()]
            table.add_row(clean(category, 24), *rows, *shares)
        out.print(table)
    out.print(note("P(·|class): probability of the category given the class, smoothed by alpha"))


def draw(saved: Saved, columns: Sequence[str] | None, picture: Path) -> None:
    """Draw the densities of numeric features, or the probabilities of categories."""
    displays = pictures.displays()
    from naively.estimators.files import fitted

    estimator, features = fitted(saved, str(picture)), list(columns) if columns else None
    families = saved.model.schema.family_of
    names = features or saved.model.schema.ordered
    is_numeric = all(families[name].curve is not None for name in names if name in families)
    display = displays.ClassDensityDisplay if is_numeric else displays.LevelsDisplay
    try:
        drawn = display.from_estimator(estimator, features=features)
    except ValueError as error:
        raise UserError(f"--plot: {error}") from None
    pictures.write(drawn, picture)
