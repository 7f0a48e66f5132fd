"""Train and predict multilabel text models, for `naively fit --multilabel` and others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from naively.cli import models, progress, terminal, work
from naively.cli.arguments import LEARNING, LearningOptions
from naively.cli.errors import UsageError, UserError, some
from naively.cli.options import missing_of, prior_parameters
from naively.cli.results import summary
from naively.cli.sources import Opened, no_such, opened, target_among
from naively.core.labels import Labels
from naively.model.multilabel import LabelsPosterior
from naively.storage import atomic, named_parts
from naively.storage.model_files import Saved
from naively.summary_tables import FEATURES
from naively.tables.inference import ColumnOptions
from naively.tables.learning import TrainingSpec
from naively.tables.specification import EstimatorSpec
from naively.tables.targets import USUAL, LabelCells, notice

TAKEN = (
    "naive", "text", "skip", "weight", "alpha", "prior", "prior_smoothing", "missing", "format",
    "sql", "database",
)  # fmt: skip
"""Options of `fit` that `--multilabel` supports."""
USUAL_THRESHOLD = 0.5


def opened_new(
    data: Sequence[str], target: str | None, options: LearningOptions, separator: str | None
) -> tuple[Opened, EstimatorSpec, TrainingSpec]:
    """Open tables; the estimator, and how to read rows: one text column and labels."""
    unsupported = [
        f"--{name.replace('_', '-')}"
        for name in vars(options)
        if name not in TAKEN and getattr(options, name) != getattr(LEARNING, name)
    ]
    if unsupported:
        raise UsageError(f"--multilabel cannot be combined with {some(unsupported)}")
    if separator == "":
        raise UsageError("--separator is what parts the labels in a cell, as ; or |")
    if options.class_weight is not None:
        raise UsageError("--multilabel cannot be combined with --class-weight")
    prior = prior_parameters(options)
    del prior["class_weight"]
    if not isinstance(prior["prior"], str) or not np.isscalar(prior["prior_smoothing"]):
        raise UsageError(
            "with --multilabel --prior is empirical or uniform, and --prior-smoothing one number"
        )
    if options.alpha is not None and not options.naive:
        raise UsageError("--alpha is chosen with the weights: it goes with --naive")
    missing = missing_of(options)
    source = opened(data, options.format, missing, query=options)
    target = target_among(source, target)
    text, other_columns = _columns(source, target, options)
    weighting = (
        {"weights": None, "alpha": options.smoothing} if options.naive else {"weights": "auto"}
    )
    estimator = EstimatorSpec("MultilabelNB", {**weighting, **prior})
    columns: dict[Any, Any] = {text: estimator.label_family, **dict.fromkeys(other_columns, "skip")}
    if separator is None:
        separator = notice([source.first(1)], target)
    spec = TrainingSpec(
        target, ColumnOptions(columns, missing=missing), estimator.prior, options.weight,
        cells=LabelCells(separator),
    )  # fmt: skip
    return source, estimator, spec


def fit(
    data: Sequence[str], target: str | None, output: Path, options: LearningOptions,
    separator: str | None, part: str | None, json: bool,
) -> None:  # fmt: skip
    """Train a multilabel model, write and print it."""
    source, estimator, spec = opened_new(data, target, options, separator)
    assert spec.cells is not None
    result = work.fit(source, spec)
    model: Any = result.model
    if not len(model.labels):
        raise UserError(f"{source.name}: no row has a label in column {spec.target!r}")
    properties = {"separator": spec.cells.separator, "weight": options.weight}
    stored = {key: text for key, text in properties.items() if text}
    saved = Saved(model, estimator.name, dict(estimator.params), stored)
    saved.parts = {} if part is None else {part: named_parts.kept(model)}
    with atomic.alone(output):
        models.write(saved, output)
    models.note_invalid(model, model.invalid)
    if json:
        terminal.print_json(summary.fit_json(result, saved, output))
    else:
        summary.fitted(result, saved, output, FEATURES)


def _columns(source: Opened, target: str, options: LearningOptions) -> tuple[str, list[str]]:
    """(the text column, the columns to leave out)."""
    for name in (target, options.weight, *(options.text or ()), *(options.skip or ())):
        if name is not None and name not in source.names:
            raise UserError(f"{source.name}: {no_such(name, source.names)}")
    excluded = {target, options.weight, *(options.skip or ())}
    candidates = [name for name in source.names if name not in excluded]
    texts = options.text or candidates
    if len(texts) != 1:
        problem = "none is left" if not texts else f"there are {some(texts)}"
        raise UsageError(
            f"--multilabel takes one column of text, but {problem}: name it with --text"
        )
    text = texts[0]
    other_columns = [name for name in source.names if name not in (text, target, options.weight)]
    if ignored := [name for name in other_columns if name not in excluded]:
        progress.note(
            f"{source.name}: {some(ignored)} left out: labels are predicted from {text} alone"
        )
    return text, other_columns


def separator_of(saved: Saved) -> str:
    """The separator of labels in a cell."""
    return saved.extra.get("separator", USUAL)


def rule(
    saved: Saved, costs: Path | None, unsure: float | None, lists: bool,
    threshold: float | None = None,
) -> Any:  # fmt: skip
    """The rule of a multilabel model; None for other models; UsageError for unsupported options."""
    if not saved.multilabel:
        return None
    if costs is not None or unsure is not None:
        raise UsageError("--costs and --unsure are for models that give each row one label")
    if threshold is not None and not 0 < threshold < 1:
        raise UsageError(f"--threshold is a probability above 0 and below 1, not {threshold:g}")
    label_rule = LabelRule.of(saved, lists)
    return label_rule if threshold is None else replace(label_rule, threshold=threshold)


@dataclass(frozen=True)
class LabelRule:
    """Predict the labels with at least this probability."""

    threshold: float
    separator: str | None  # joins labels to a text; None for lists

    @classmethod
    def of(cls, saved: Saved, lists: bool) -> LabelRule:
        """From the parameters of the estimator."""
        threshold = saved.params.get("threshold", USUAL_THRESHOLD)
        return cls(float(threshold), None if lists else separator_of(saved))

    def labels(self, posterior: LabelsPosterior, rows: Any) -> Labels:
        """The labels of each row, (n,) of objects: a list, or text."""
        sets = posterior.label_sets(posterior.proba(rows), self.threshold).lists()
        cells = np.empty(len(sets), object)
        for row, row_labels in enumerate(sets):
            cells[row] = (
                row_labels if self.separator is None else self.separator.join(map(str, row_labels))
            )
        return cells


def of_label(saved: Saved, source: Opened, label: str | None) -> Saved:
    """Reduce a multilabel model to one label, as two classes: rows without it and with it."""
    if not saved.multilabel:
        return saved
    target = saved.model.target
    names = [name for name in source.names if name != target]
    model: Any = models.with_columns(saved, names, source.name)
    label_names = [str(label_value) for label_value in model.labels.tolist()]
    if label is None:
        raise UsageError(
            f"labels are explained one at a time: name one of {some(label_names)} with --label; "
            "`naively predict` gives the labels of rows"
        )
    if label not in label_names:
        raise UsageError(f"{label!r} is none of the labels {some(label_names)}")
    return replace(saved, model=model.of_label(model.labels.tolist()[label_names.index(label)]))
