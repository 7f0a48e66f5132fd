"""Show the features of plain naive Bayes: counts, probabilities by class, and a plot of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text
from scipy.special import softmax

from naively.cli import terminal
from naively.cli.errors import UsageError, UserError
from naively.cli.results import pictures
from naively.cli.terminal import clean, new_table, note
from naively.core.exact import Float64
from naively.core.labels import Label
from naively.core.markup import counted
from naively.explain.importance import most_informative, probabilities
from naively.families.discrete.categorical import CategoricalParameters
from naively.families.discrete.joint import JointParameters
from naively.families.text.parameters import TextParameters
from naively.model.model import Model
from naively.model.posterior import Posterior
from naively.model_summary import left_out
from naively.statistics.levels import Encoded
from naively.storage.model_files import Saved
from naively.tables.names import no_column


@dataclass(frozen=True)
class Counts:
    """Categories of a feature, cells of a joint table or terms of a text, counted by class."""

    names: tuple[str, ...]  # of the feature, or of d features of a joint table
    cells: list[list[str]]  # K lists of a category for each feature, as text
    # (C, K) weight of the training rows of each class in each cell: |C| of lecture 1; of a term its
    # count
    rows: Float64
    probability: Float64  # (C, K) P(x | class), smoothed
    posterior: Float64  # (C, K) P(class | x), if these features alone are known
    classes: list[Label]  # the labels
    title: str  # what is counted, for display
    # number of terms of a text, of which the most informative are listed; None of others
    n_terms: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON."""
        single = len(self.names) == 1
        return {
            **({"feature": self.names[0]} if single else {"features": list(self.names)}),
            "classes": self.classes,
            "terms" if self.n_terms is not None else "categories":
                [cell[0] for cell in self.cells] if single else self.cells,
            "rows" if self.n_terms is None else "count": self.rows.tolist(),
            "probability": self.probability.tolist(),
            "posterior": self.posterior.tolist(),
        }  # fmt: skip


def chosen(model: Model | None, columns: Sequence[str], most: int) -> list[Counts]:
    """Return the counts of these features; those of one joint table are counted together.

    Of a text they are those of the `most` most informative terms of each class. Raises UserError or
    UsageError for a feature that the model does not have, or that is not counted.
    """
    if model is None:
        raise UserError("the model has no class: it has no training rows")
    reasons, blocks = left_out(model), model.posterior().blocks
    posterior, tables = model.posterior(), list[Counts]()
    counted_names = set[str]()
    for name in columns:
        if name in reasons:
            raise UserError(f"--column {name}: it is left out ({reasons[name]})")
        if name not in model.schema.names:
            raise UsageError(f"--column: {no_column(name, model.schema.ordered)}")
        if name in counted_names:
            continue
        block, parameters = next(item for item in blocks if name in item[0].names)
        if isinstance(parameters, CategoricalParameters):
            names = [name]
            table = _categories(parameters, block.names.index(name), name, posterior)
        elif isinstance(parameters, JointParameters):
            names = [feature for feature in block.names if feature in columns]
            features = [block.names.index(feature) for feature in names]
            table = _cells(parameters, features, tuple(names), posterior)
        elif isinstance(parameters, TextParameters) and not (
            parameters.weighted or parameters.hashed
        ):
            names = [name]
            table = _terms(parameters, name, posterior, most)
        else:
            family = model.schema.family_of[name]
            what = "terms" if family.summary.of_texts else "parameters"
            raise UserError(
                f"--column {name}: counts are of categories, or of terms without weights, and "
                f"this feature is {family.name.replace('_', ' ')}: `naively inspect` prints its "
                f"{what}, and --plot draws them"
            )
        counted_names.update(names)
        tables.append(table)
    return tables


def _categories(
    parameters: CategoricalParameters, feature: int, name: str, posterior: Posterior
) -> Counts:
    """Return the counts of a categorical feature."""
    levels = parameters.levels[feature]
    rows = parameters.count[:, slice(*parameters.offsets[feature : feature + 2])]
    log_theta = parameters.log_theta(feature, levels)
    return Counts(
        (name,), [[str(level)] for level in levels.tolist()], np.asarray(rows, float),
        np.exp(log_theta), _posterior(log_theta, posterior), posterior.classes.tolist(),
        counted(len(levels), "category", "categories"),
    )  # fmt: skip


def _cells(
    parameters: JointParameters, features: list[int], names: tuple[str, ...], posterior: Posterior
) -> Counts:
    """Return the cells of a joint table that have training rows, summed over other features."""
    cells = np.unique(parameters.cells[:, features], axis=0)
    missing = [len(levels) for levels in parameters.levels]
    codes = np.tile(np.array(missing, np.int32), (len(cells), 1))
    codes[:, features] = cells
    encoded = Encoded(codes, parameters.levels)
    log_p = np.empty((len(parameters.count), len(cells)))
    parameters.log_prob(encoded, 0, len(cells), log_p)
    levels = [parameters.levels[k] for k in features]
    shown = [[str(of[k]) for of, k in zip(levels, cell, strict=True)] for cell in cells.tolist()]
    return Counts(
        names, shown,
        parameters.matching(encoded).T, np.exp(log_p), _posterior(log_p, posterior),
        posterior.classes.tolist(),
        f"joint table, {counted(len(cells), 'cell')} with training rows",
    )  # fmt: skip


def _terms(parameters: TextParameters, name: str, posterior: Posterior, most: int) -> Counts:
    """Return the counts of the most informative terms of a text, those of the first class first."""
    events = parameters.events(())
    assert events is not None
    by_class = [places for places, _ in most_informative(events, most)]
    places = np.array([*dict.fromkeys(np.concatenate(by_class).tolist())], np.int64)
    p, terms = probabilities(events)[:, places], counted(parameters.n_terms, "term")
    with np.errstate(divide="ignore"):
        log_p = np.log(p)
    return Counts(
        (name,), [[term] for term in parameters.named(places)], events.counts[:, places], p,
        _posterior(log_p, posterior), posterior.classes.tolist(), terms, parameters.n_terms,
    )  # fmt: skip


def _posterior(log_p: Float64, posterior: Posterior) -> Float64:
    """Return P(class | x), (C, K), from log P(x | class); the prior if no class can have x."""
    possible = np.where(np.isneginf(log_p).all(axis=0), 0.0, log_p)
    return np.asarray(softmax(possible + posterior.log_prior[:, np.newaxis], axis=0))


def printed(tables: Sequence[Counts]) -> None:
    """Print the counts and the probabilities of each category, cell or term, by class."""
    out = terminal.console()
    for k, table in enumerate(tables):
        if k:
            out.print()
        labels = [clean(label, 16) for label in table.classes]
        names = [clean(name, 24) for name in table.names]
        out.print(Text(f"{' × '.join(names)}: {table.title}", style="bold"))
        out.print()
        printed_table = new_table(*names, "class", "rows" if table.n_terms is None else "count",
                                  "P(x|class)", "P(class|x)", style="",
                                  names=len(names) + 1)  # fmt: skip
        for j, cell in enumerate(table.cells):
            shown = [clean(category, 24) for category in cell]
            for c, label in enumerate(labels):
                shares = _share(table.probability[c, j]), _share(table.posterior[c, j])
                printed_table.add_row(*shown, label, f"{table.rows[c, j]:,.10g}", *shares)
                shown = [""] * len(shown)
        out.print(printed_table)
        if (more := (table.n_terms or 0) - len(table.cells)) > 0:
            out.print(
                note(f"and {counted(more, 'less informative term')}; --features 100 shows more")
            )
    out.print(note("P(x|class): probability of x given the class, smoothed if alpha > 0"))
    out.print(note("P(class|x): by Bayes' rule, if only x is known"))


def _share(p: float) -> str:
    return f"{p:.4f}" if p == 0 or p >= 1e-4 else f"{p:.1e}"


def draw(saved: Saved, columns: Sequence[str] | None, picture: Path) -> None:
    """Draw the densities of numeric features, or the probabilities of categories."""
    displays = pictures.displays()
    from naively.estimators.files import fitted

    estimator, features = fitted(saved, str(picture)), list(columns) if columns else None
    families = saved.model.schema.family_of
    names = features or saved.model.schema.ordered
    is_numeric = all(families[name].curve is not None for name in names if name in families)
    display = displays.ClassDensityDisplay if is_numeric else displays.CategoriesDisplay
    try:
        drawn = display.from_estimator(estimator, features=features)
    except ValueError as error:
        raise UserError(f"--plot: {error}") from None
    pictures.write(drawn, picture)
