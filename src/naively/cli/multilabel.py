"""Documents with any number of labels on the command line: what is learned, said and judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from naively.cli import layout, models, progress, work
from naively.cli.arguments import LEARNING, LearningOptions
from naively.cli.errors import UsageError, UserError, some
from naively.cli.layout import clean, facts, new_table, with_notes
from naively.cli.options import missing_of, prior_of
from naively.cli.sources import Opened, no_such, opened, target_among
from naively.cli.work import Fitted
from naively.engines.threads import workers
from naively.families.registry import FAMILIES
from naively.families.text import Text
from naively.files import locks, parted
from naively.files.safetensors import Saved
from naively.labels import Labels
from naively.markup import counted, magnitude
from naively.multilabel import LabelsPosterior, Multilabel
from naively.tables.inference import Wishes
from naively.tables.label_cells import USUAL, LabelCells, notice
from naively.tables.learning import Question
from naively.tables.telling import telling_terms

TAKEN = (
    "naive",
    "text",
    "skip",
    "weight",
    "alpha",
    "prior",
    "prior_smoothing",
    "missing",
    "format",
    "sql",
    "database",
)
"""Options of `fit` that go with --multilabel."""
USUAL_THRESHOLD = 0.5
LISTED, TERMS = 30, 10
"""Labels that a terminal shows, those of most rows; terms of each for programs."""


def opened_new(
    data: Sequence[str], target: str | None, options: LearningOptions, separator: str | None
) -> tuple[Opened, Question]:
    """The tables to read, and what to learn of them: one column of text, and labels."""
    refused = [
        f"--{name.replace('_', '-')}"
        for name in vars(options)
        if name not in TAKEN and getattr(options, name) != getattr(LEARNING, name)
    ]
    if refused:
        raise UsageError(f"--multilabel does not go with {some(refused)}")
    if separator == "":
        raise UsageError("--separator is what parts the labels in a cell, as ; or |")
    prior = prior_of(options)
    if not isinstance(prior.given, str) or not np.isscalar(prior.smoothing):
        raise UsageError(
            "with --multilabel --prior is empirical or uniform, and --prior-smoothing one number"
        )
    if options.alpha != LEARNING.alpha and not options.naive:
        raise UsageError("--alpha is chosen with the weights: it goes with --naive")
    missing = missing_of(options)
    source = opened(data, options.format, missing, query=options)
    target = target_among(source, target)
    text, others = _columns(source, target, options)
    family = Text(alpha=options.alpha) if options.naive else FAMILIES["weighed_text"]()
    columns: dict[Any, Any] = {text: family, **dict.fromkeys(others, "skip")}
    if separator is None:
        first = next(iter(source.tasks()), None)
        head = [] if first is None else [pa.Table.from_batches([first()])]
        separator = notice(head, target)
    wishes = Wishes(columns, alpha=options.alpha, missing=missing)
    question = Question(target, wishes, prior, options.weight, cells=LabelCells(separator))
    return source, question


def fit(
    data: Sequence[str], target: str | None, output: Path, options: LearningOptions,
    separator: str | None, part: str | None, json: bool,
) -> None:  # fmt: skip
    """Learn labels of rows, and write the model to a file."""
    source, question = opened_new(data, target, options, separator)
    assert question.cells is not None
    result = work.fit(source, question)
    model: Any = result.model
    if not len(model.labels):
        raise UserError(f"{source.name}: no row has a label in column {question.target!r}")
    extra = {"separator": question.cells.separator, "weight": options.weight}
    said = {key: text for key, text in extra.items() if text}
    saved = Saved(model, *noted(question, model), said)
    saved.parts = {} if part is None else {part: parted.kept(model)}
    with locks.alone(output):
        models.write(saved, output)
    models.unread(model, model.invalid, "learned")
    if json:
        layout.print_json(
            {
                "model": str(output),
                "skipped": model.unlabelled,
                "seconds": result.seconds,
                "separator": question.cells.separator,
                **as_json(Saved(model, "MultilabelNB"), TERMS),
            }
        )
    else:
        fitted(result, question, output)


def _columns(source: Opened, target: str, options: LearningOptions) -> tuple[str, list[str]]:
    """(the column of text, those that are left out)."""
    for name in (target, options.weight, *(options.text or ()), *(options.skip or ())):
        if name is not None and name not in source.names:
            raise UserError(f"{source.name}: {no_such(name, source.names)}")
    skipped = {target, options.weight, *(options.skip or ())}
    rest = [name for name in source.names if name not in skipped]
    asked = options.text or rest
    if len(asked) != 1:
        said = "none is left" if not asked else f"there are {some(asked)}"
        raise UsageError(f"--multilabel learns one column of text, and {said}: name it with --text")
    text = asked[0]
    others = [name for name in source.names if name not in (text, target, options.weight)]
    if left := [name for name in others if name not in skipped]:
        progress.note(f"{source.name}: {some(left)} left out: labels are learned of {text} alone")
    return text, others


def noted(question: Question, model: Multilabel) -> tuple[str, dict[str, Any]]:
    """(the estimator, its parameters) that a model file notes."""
    own: dict[str, Any] = {"weights": "auto"}
    if not model.family.keeps:
        own = {"weights": None, "alpha": question.wishes.alpha}
    prior = {"prior": question.prior.given, "prior_smoothing": question.prior.smoothing}
    return "MultilabelNB", {**own, **prior}


def separator_of(saved: Saved) -> str:
    """What parts the labels of a row where they are written as text."""
    return saved.extra.get("separator", USUAL)


def rule(saved: Saved, costs: Path | None, unsure: float | None, lists: bool) -> Any:
    """Which labels rows get, if they have any number; UsageError for options of one label a row."""
    if not saved.multilabel:
        return None
    if costs is not None or unsure is not None:
        raise UsageError("--costs and --unsure are for models that give each row one label")
    return LabelRule.of(saved, lists)


@dataclass(frozen=True)
class LabelRule:
    """Which labels a row gets: those of this probability or more.

    Attributes
    ----------
    threshold : float
    separator : what joins them; None for lists.
    """

    threshold: float
    separator: str | None

    @classmethod
    def of(cls, saved: Saved, lists: bool) -> LabelRule:
        """As a model was fitted."""
        threshold = saved.params.get("threshold", USUAL_THRESHOLD)
        return cls(float(threshold), None if lists else separator_of(saved))

    def labels(self, posterior: LabelsPosterior, rows: Any) -> Labels:
        """The labels of each row, (n,) of objects: a list of them, or text."""
        sets = posterior.label_sets(posterior.proba(rows), self.threshold).lists()
        found = np.empty(len(sets), object)
        for row, own in enumerate(sets):
            found[row] = own if self.separator is None else self.separator.join(map(str, own))
        return found


# ---- what people see -----------------------------------------------------------------------------


def fitted(result: Fitted, question: Question, output: Path) -> None:
    """What `naively fit --multilabel` did."""
    model: Any = result.model
    out = layout.console()
    assert question.cells is not None
    skipped = f" ({model.unlabelled:,} skipped: their labels are not known)"
    out.print(
        facts(
            target=clean(model.target),
            rows=f"{model.rows:,}" + (skipped if model.unlabelled else ""),
            labels=_labels(model),
            parted_by=repr(question.cells.separator),
            terms=f"{model.parts[0].met:,} of {clean(model.feature_names[0])}",
            **_left_out(model),
            time=layout.pace(result.seconds, model.rows),
            written=layout.written(output),
        )
    )


def _labels(model: Any) -> str:
    weights = model.class_weight.rounded()[1:].tolist()
    size = len(model.labels)
    return (
        f"{size:,}: {layout.classes_listed(dict(zip(model.labels.tolist(), weights, strict=True)))}"
    )


def _left_out(model: Any) -> dict[str, str]:
    judged = model.posterior().parameters.judged
    if judged is None:
        return {}
    return {"log-loss": f"{judged.log_loss:.4f} nats a row, of all labels, each row left out"}


def inspect(saved: Saved, path: str, most: int, column: Any, plot: Path | None, json: bool) -> bool:
    """Whether rows have any number of labels; if so it shows what `naively inspect` shows."""
    if not saved.multilabel:
        return False
    if column or plot is not None:
        raise UsageError("--column and --plot are for models that give each row one label")
    if json:
        layout.print_json(as_json(saved, most))
    else:
        inspected(saved, path, most)
    return True


def inspected(saved: Saved, path: str, most: int) -> None:
    """What a model file holds."""
    model: Any = saved.model
    posterior = model.posterior(workers(None))
    out = layout.console()
    out.print(
        facts(
            file=clean(path, 200),
            parameters=magnitude(posterior.n_parameters),
            estimator=clean(saved.estimator),
            target=clean(model.target) if model.target else None,
            rows=f"{model.class_weight.rounded()[0]:,.10g}",
            labels=f"{len(posterior.classes):,}",
            written_by=f"naively {clean(saved.written_by)}",
            **_left_out(model),
        )
    )
    out.print()
    table = new_table("label")
    for name in ("rows", "share"):
        table.add_column(name, justify="right")
    table.add_column("terms that speak for it", overflow="ellipsis", no_wrap=True)
    weights = model.class_weight.rounded()[1:]
    order = np.argsort(-weights, kind="stable")
    for k in order[:LISTED].tolist():
        terms = ", ".join(clean(term) for term in _telling(posterior, k, most))
        table.add_row(
            clean(posterior.classes[k]), f"{weights[k]:,.10g}",
            f"{posterior.class_prior[k]:.4f}", terms,
        )  # fmt: skip
    rest = len(order) - LISTED
    out.print(
        with_notes(table, f"and {counted(rest, 'label')} of fewer rows" if rest > 0 else None)
    )


def _telling(posterior: LabelsPosterior, k: int, most: int) -> list[str]:
    """The terms that tell most for a label."""
    one = posterior.of(posterior.classes.tolist()[k])
    return [term for term, *_ in telling_terms(one, one.parameters, most)[1]]


def as_json(saved: Saved, most: int) -> dict[str, Any]:
    """What a model file holds, for programs."""
    model: Any = saved.model
    posterior = model.posterior(workers(None))
    weights = model.class_weight.rounded().tolist()
    judged = posterior.parameters.judged
    return {
        "estimator": saved.estimator,
        "target": model.target,
        "written_by": saved.written_by,
        "rows": weights[0],
        "n_parameters": int(posterior.n_parameters),
        "log_loss_left_out": None if judged is None else judged.log_loss,
        "labels": {
            str(label): {
                "weight": weights[1 + k],
                "prior": float(posterior.class_prior[k]),
                "terms": _telling(posterior, k, most),
            }
            for k, label in enumerate(posterior.classes.tolist())
        },
    }


def of_label(saved: Saved, source: Opened, label: str | None) -> Saved:
    """The same model; one of many labels as one of two classes: rows without a label, and with."""
    if not saved.multilabel:
        return saved
    target = models.target_of(saved)
    names = [name for name in source.names if name != target]
    model: Any = models.with_columns(saved, names, source.name)
    known = [str(one) for one in model.labels.tolist()]
    if label is None:
        raise UsageError(
            f"each label is explained by itself: name one of {some(known)} with --label; naively "
            "predict says which of them the rows get"
        )
    if label not in known:
        raise UsageError(f"{label!r} is none of the labels {some(known)}")
    return replace(saved, model=model.of_label(model.labels.tolist()[known.index(label)]))
