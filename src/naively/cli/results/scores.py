"""Print scores: beside a baseline, as a confusion matrix, at thresholds."""

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
from naively.evaluation.metrics import Decision, RuleScores, Scores
from naively.evaluation.out_of_fold import baseline_note, with_error
from naively.model.decisions import DecisionRule
from naively.model.model import Model
from naively.model_summary import remedy
from naively.rendering import rows_in_words
from naively.storage.model_files import Saved
from naively.summary_tables import worse_note

CORNER = "actual \\ predicted"
Decisions = dict[str, Decision]
"""Recall and precision of the predicted classes and of each threshold, by name."""


def check(
    saved: Saved, positive: str | None, threshold: float | None, recall: float | None
) -> None:
    """Refuse invalid thresholds, and thresholds without a positive class."""
    if threshold is not None and not 0 <= threshold <= 1:
        raise UsageError(f"--threshold is a probability, from 0 to 1, not {threshold:g}")
    if recall is not None and not 0 < recall <= 1:
        raise UsageError(
            f"--at-recall is the share of a class to find, above 0 and at most 1, not {recall:g}"
        )
    classes = saved.model.classes
    has_option = threshold is not None or recall is not None
    if has_option and positive is None and len(classes) != 2:
        raise UsageError(
            f"the model has {len(classes):,} classes ({some(classes)}): name the positive one with "
            "--positive"
        )


def decisions(
    result: Evaluated, threshold: float | None, recall: float | None, source: str
) -> Decisions:
    """Recall and precision at the requested thresholds; empty if there are none."""
    scores = result.scores
    if scores.ranking is None or (threshold is None and recall is None):
        return {}
    results = {"as_predicted": scores.predicted()}
    if threshold is not None:
        results["at_threshold"] = scores.ranking.at(threshold)
    if recall is not None:
        if not scores.ranking.positives:
            label = result.model.classes.tolist()[scores.positive]
            raise UserError(f"{source}: no row of class {label!r}: recall is undefined")
        results["at_recall"] = scores.ranking.at_recall(recall)
    return results


def as_json(result: Evaluated, decisions: Decisions) -> dict[str, Any]:
    """The result of `naively evaluate`, as JSON."""
    rules = None if result.decided is None else result.decided.scores()
    return {
        "target": result.target,
        **result.scores.as_json(),
        **{name: decision.as_json() for name, decision in decisions.items()},
        **({} if rules is None else {"decisions": {k: v._asdict() for k, v in rules.items()}}),
        "skipped": result.unlabelled,
        "seconds": result.seconds,
    }


def evaluated(result: Evaluated, decisions: Decisions | None = None) -> None:
    """Print accuracy, log-loss and more beside the baseline, and the confusion matrix."""
    scores, model, rows = result.scores, result.model, int(result.scores.rows)
    out = terminal.console()
    out.print(comparison(scores, result.model))
    if scores.unknown < scores.rows:
        out.print()
        out.print(confusion(scores, model, out.width))
    if decisions:
        out.print()
        out.print(_thresholds(scores, model, decisions))
    if result.decided is not None:
        out.print()
        out.print(_rule(result.decided.rule, result.decided.scores()))
    unknown = (
        f"{scores.unknown:,} of them of a class unknown to the model: errors, without log-loss "
        "or a cell in the confusion matrix"
    )
    out.print()
    pace, unseen = terminal.pace(result.seconds, rows), unknown if scores.unknown else None
    row_text = rows_in_words(rows, rows, result.unlabelled)
    out.print(terminal.facts(rows=row_text, unseen=unseen, time=pace))


def _thresholds(scores: Scores, model: Model, decisions: Decisions) -> Group:
    """Recall and precision of one class at some thresholds, beside the predicted classes."""
    label = clean(model.classes[scores.positive], 30)
    headings = ("recall", "precision", "flagged", "FN", "FP")
    table = new_table("threshold", *headings)
    for decision in decisions.values():
        predicted = decision.threshold is None
        threshold = "most probable class" if predicted else str(decision.threshold)
        shares = map(_percent, (decision.recall, decision.precision))
        numbers = decision.flagged, decision.missed, decision.false_alarms
        counts = (f"{count:,}" for count in numbers)
        table.add_row(threshold, *shares, *counts, style="" if predicted else "bold")
    rows = scores.confusion.sum()
    positives = decisions["as_predicted"].positives
    return with_notes(
        table,
        f"threshold of P({label}); {positives:,} of {rows:,} rows are {label}",
        "FN, FP: false negatives, false positives",
    )


def _rule(rule: DecisionRule, scores: dict[str, RuleScores]) -> Table:
    """Accuracy, abstentions and cost of a decision rule, beside the most probable classes."""
    costs, unsure = rule.costs, rule.unsure
    of_rest = "" if unsure is None else " of the rest"
    headings = ["abstained", "accuracy of the rest"]
    table = new_table("decision", *headings, *([] if costs is None else [f"mean cost{of_rest}"]))
    by_cost = "least expected cost"
    rules = [] if costs is None else [by_cost]
    if unsure is not None:
        rules.append(f"abstain below P = {unsure:.10g}")
    names = {
        "as_predicted": ("most probable class", ""),
        "by_cost": (by_cost, ""),
        "by_rule": (", ".join(rules), "bold"),
    }
    for name, rule_scores in scores.items():
        cells = [_percent(rule_scores.share_open), _percent(rule_scores.accuracy)]
        if costs is not None:
            cells.append("·" if np.isnan(rule_scores.mean_cost) else f"{rule_scores.mean_cost:.4g}")
        table.add_row(names[name][0], *cells, style=names[name][1])
    return table


def _percent(part: float) -> str:
    return "·" if np.isnan(part) else f"{part:.1%}"


def confusion(scores: Scores, model: Model, width: int) -> Table:
    """The confusion matrix; or, if it is too wide, its most frequent errors."""
    labels = model.classes.tolist()
    names = [clean(label, 16) for label in labels]
    widest = [max(len(n), len(f"{scores.confusion[:, j].max():,}")) for j, n in enumerate(names)]
    if sum(w + 2 for w in widest) + max(len(CORNER), *map(len, names)) > width:
        return _mistakes(scores, [clean(label, 30) for label in labels])
    table = new_table(CORNER, *names)
    for i, name in enumerate(names):
        cells = [Text(f"{n:,}", style="red") if n else note("0") for n in scores.confusion[i]]
        cells[i].style = "bold green"
        table.add_row(name, *cells)
    return table


def _mistakes(scores: Scores, names: list[str]) -> Table:
    errors = scores.confusion.copy()
    np.fill_diagonal(errors, 0)
    order = np.argsort(-errors, axis=None, kind="stable")[:10]
    table = new_table("actual", "predicted", "rows", names=2, style="")
    for position in order.tolist():
        i, j = divmod(position, len(names))
        if errors[i, j]:
            table.add_row(names[i], names[j], Text(f"{errors[i, j]:,}", style="red"))
    return table


def comparison(scores: Scores, model: Model) -> Group:
    """The scores beside those of the baseline."""
    majority = clean(model.classes[model.class_weight.rounded().argmax()], 30)
    table = new_table("", "model", "baseline")
    table.columns[1].style = "bold"
    accuracy = with_error(100 * scores.accuracy, 100 * scores.accuracy_standard_error, 1, "%")
    table.add_row("accuracy", accuracy, f"{scores.baseline_accuracy:.1%}")
    table.add_row("balanced accuracy", f"{scores.balanced_accuracy:.1%}", "")
    table.add_row("macro F1", f"{scores.macro_f1:.3f}", "")
    loss = with_error(scores.log_loss, scores.log_loss_standard_error, 4)
    baseline_loss = scores.baseline_log_loss
    table.add_row("log-loss", loss, "·" if np.isnan(baseline_loss) else f"{baseline_loss:#.4g}")
    table.add_row("Brier score", with_error(scores.brier, scores.brier_standard_error, 4), "")
    calibration, of_ranking = scores.calibration, None
    assert calibration is not None  # only multilabel predictions have none
    error = f"{calibration.error:.1%} ± {calibration.standard_error:.1%}"
    table.add_row("calibration error (ECE)", error, "")
    ranking = scores.ranking
    if ranking is not None and 0 < ranking.positives < ranking.rows:
        label = clean(model.classes[scores.positive], 20)
        auc = with_error(ranking.auc(), ranking.auc_standard_error(), 4)
        table.add_row(f"AUC of P({label})", auc, "0.5000")
        average = (ranking.average_precision(), ranking.prevalence)
        table.add_row("average precision", *(f"{value:.4f}" for value in average))
        of_ranking = "baseline of AUC and average precision: a random ranking"
    return with_notes(
        table,
        f"±: standard error; {baseline_note(majority)}",
        calibration.note,
        of_ranking,
        "Brier score: summed over the classes; of two, twice that of scikit-learn",
        worse_note(scores, remedy(model)) if scores.worse_than_prior else None,
    )
