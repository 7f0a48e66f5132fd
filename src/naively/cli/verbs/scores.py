"""How rows were predicted, as people and programs read it: the terminal's tables of `Scores`."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from naively.cli import terminal
from naively.cli.errors import UsageError, UserError, some
from naively.cli.terminal import clean, new_table, note, with_notes
from naively.cli.work import Evaluated
from naively.core.decisions import DecisionRule
from naively.core.model import Model
from naively.evaluation.tally import Decision, RuleScores, Scores
from naively.model_summary import remedy
from naively.rendering import rows_in_words
from naively.storage.model_files import Saved

Decisions = dict[str, Decision]
"""What comes of the predictions, and of each threshold that was asked for."""


def check(
    saved: Saved, positive: str | None, threshold: float | None, recall: float | None
) -> None:
    """Refuse thresholds that are none, or of no class in particular."""
    if threshold is not None and not 0 <= threshold <= 1:
        raise UsageError(f"--threshold is a probability, from 0 to 1, not {threshold:g}")
    if recall is not None and not 0 < recall <= 1:
        raise UsageError(
            f"--at-recall is the part of a class to find, above 0 and at most 1, not {recall:g}"
        )
    classes = saved.model.classes
    asked = threshold is not None or recall is not None
    if asked and positive is None and len(classes) != 2:
        raise UsageError(
            f"the model knows {len(classes):,} classes ({some(classes)}): name the one to look for "
            "with --positive"
        )


def decisions(
    result: Evaluated, threshold: float | None, recall: float | None, source: str
) -> Decisions:
    """What comes of the thresholds that were asked for, beside the predictions; none if of none."""
    scores = result.scores
    if scores.ranking is None or (threshold is None and recall is None):
        return {}
    found = {"as_predicted": scores.predicted()}
    if threshold is not None:
        found["at_threshold"] = scores.ranking.at(threshold)
    if recall is not None:
        if not scores.ranking.positives:
            label = result.model.classes.tolist()[scores.positive]
            raise UserError(f"{source}: no row of class {label!r}: there is no recall to reach")
        found["at_recall"] = scores.ranking.at_recall(recall)
    return found


def as_json(result: Evaluated, found: Decisions) -> dict[str, Any]:
    """What `naively evaluate` found, for programs."""
    return {
        "target": result.target,
        **result.scores.as_json(),
        **{name: one.as_json() for name, one in found.items()},
        **({"decisions": _rule_json(result)} if result.decided is not None else {}),
        "skipped": result.unlabelled,
        "seconds": result.seconds,
    }


def _rule_json(result: Evaluated) -> dict[str, dict[str, float]]:
    assert result.decided is not None
    return {name: one._asdict() for name, one in result.decided.scores().items()}


def evaluated(result: Evaluated, found: Decisions | None = None) -> None:
    """What `naively evaluate` found."""
    scores, model, rows = result.scores, result.model, int(result.scores.rows)
    out = terminal.console()
    out.print(comparison(scores, result.model))
    if scores.unknown < scores.rows:
        out.print()
        out.print(confusion(scores, model, out.width))
    if found:
        out.print()
        out.print(_thresholds(scores, model, found))
    if result.decided is not None:
        out.print()
        out.print(_rule(result.decided.rule, result.decided.scores()))
    out.print()
    unknown = (
        f"{scores.unknown:,} of them with a label that the model never met: errors, but in no "
        "log-loss, AUC or table"
    )
    out.print(
        terminal.facts(
            rows=rows_in_words(rows, rows, result.unlabelled),
            unknown=unknown if scores.unknown else None,
            time=terminal.pace(result.seconds, rows),
        )
    )


def _thresholds(scores: Scores, model: Model, found: Decisions) -> Group:
    """What comes of flagging rows from several probabilities on."""
    label = clean(model.classes[scores.positive], 30)
    heads = ("recall", "precision", "flagged", "missed", "false alarms")
    table = new_table(f"P({clean(label, 16)}) from", *heads)
    for one in found.values():
        predicted = one.threshold is None
        said = "as predicted" if predicted else str(one.threshold)
        shares = map(_percent, (one.recall, one.precision))
        counts = (f"{count:,}" for count in (one.flagged, one.missed, one.false_alarms))
        table.add_row(said, *shares, *counts, style="" if predicted else "bold")
    rows = scores.confusion.sum()
    positives = found["as_predicted"].positives
    return with_notes(table, f"{label}: {positives:,} of {rows:,} rows")


def _rule(rule: DecisionRule, found: dict[str, RuleScores]) -> Table:
    """What comes of labels by a rule, beside the most probable classes."""
    costs, unsure = rule.costs, rule.unsure
    heads = ["left open", "right of the rest", *([] if costs is None else ["mean cost"])]
    table = new_table("labels", *heads)
    said = [] if costs is None else ["of least cost"]
    if unsure is not None:
        said.append(f"{100 * unsure:.10g}% sure")
    names = {"as_predicted": ("as predicted", ""), "by_rule": (", ".join(said), "bold")}
    for name, one in found.items():
        cells = [_percent(one.share_open), _percent(one.accuracy)]
        if costs is not None:
            cells.append("·" if np.isnan(one.mean_cost) else f"{one.mean_cost:.4g}")
        table.add_row(names[name][0], *cells, style=names[name][1])
    return table


def _percent(part: float) -> str:
    return "·" if np.isnan(part) else f"{part:.2%}"


def confusion(scores: Scores, model: Model, width: int) -> Table:
    """The confusion matrix; or, if it is too wide, the mistakes that are most frequent."""
    labels = model.classes.tolist()
    names = [clean(label, 16) for label in labels]
    widest = [max(len(n), len(f"{scores.confusion[:, j].max():,}")) for j, n in enumerate(names)]
    if sum(w + 2 for w in widest) + max(map(len, names)) + 6 > width:
        return _mistakes(scores, [clean(label, 30) for label in labels])
    table = new_table("true \\ said", *names)
    for i, name in enumerate(names):
        cells = [Text(f"{n:,}", style="red") if n else note("·") for n in scores.confusion[i]]
        cells[i].style = "bold green"
        table.add_row(name, *cells)
    return table


def _mistakes(scores: Scores, names: list[str]) -> Table:
    wrong = scores.confusion.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:10]
    table = new_table("true", "said", "rows", names=2, style="")
    for place in order.tolist():
        i, j = divmod(place, len(names))
        if wrong[i, j]:
            table.add_row(names[i], names[j], Text(f"{wrong[i, j]:,}", style="red"))
    return table


def comparison(scores: Scores, model: Model) -> Group:
    """How the predictions do, beside those that look at no column."""
    usual = clean(model.classes[model.class_weight.rounded().argmax()], 30)
    shown = new_table("", "model", "baseline")
    shown.columns[1].style = "bold"
    shown.add_row("accuracy", f"{scores.accuracy:.2%}", f"{scores.baseline_accuracy:.2%}")
    losses = scores.log_loss, scores.baseline_log_loss
    shown.add_row("log-loss (nats)", *("·" if np.isnan(one) else f"{one:#.4g}" for one in losses))
    shown.add_row("balanced accuracy", f"{scores.balanced_accuracy:.2%}", "")
    shown.add_row("macro F1", f"{scores.macro_f1:.4f}", "")
    shown.add_row("Brier score", f"{scores.brier:.4f}", "")
    calibration, by_chance = scores.calibration, "calibration"
    assert calibration is not None  # of rows with one label
    error = f"{calibration.error:.2%} ± {calibration.standard_error:.2%}"
    shown.add_row("calibration error", error, f"{calibration.by_chance:.2%}")
    ranking = scores.ranking
    if ranking is not None and 0 < ranking.positives < ranking.rows:
        label = clean(model.classes[scores.positive], 20)
        shown.add_row(f"AUC of P({label})", f"{ranking.auc():.4f}", "0.5000")
        average = (ranking.average_precision(), ranking.prevalence)
        shown.add_row("its average precision", *(f"{value:.4f}" for value in average))
        by_chance += " and below"
    return with_notes(
        shown,
        f"baseline: always {usual}; log-loss: the class prior; {by_chance}: by chance",
        f"its probabilities are worse than the class prior's{remedy(model)}"
        if scores.worse_than_prior
        else None,
    )
