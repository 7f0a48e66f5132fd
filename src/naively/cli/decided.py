"""How good the labels are that a rule gives, beside the most probable classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

from naively.cli.layout import new_table
from naively.decisions import OPEN, DecisionRule
from naively.exact import Float64, Int64


@dataclass
class Labelled:
    """What came of some labels.

    Attributes
    ----------
    rows : int
    left_open : int, rows without a label.
    right : int, rows whose label is the true one.
    priced : int, rows with a label whose true class the model knows, so that there is a cost.
    cost : float, the sum of their costs; NaN if none were given.
    """

    rows: int = 0
    left_open: int = 0
    right: int = 0
    priced: int = 0
    cost: float = 0.0

    def add(self, truth: Int64, codes: Int64, costs: Float64 | None) -> None:
        """Count rows of these positions of classes, -1 if unknown, and labels, `OPEN` if none."""
        given = codes != OPEN
        priced = given & (truth >= 0)
        self.rows += len(truth)
        self.left_open += int((~given).sum())
        self.right += int((given & (codes == truth)).sum())
        self.priced += int(priced.sum())
        self.cost += math.nan if costs is None else math.fsum(costs[truth[priced], codes[priced]])

    @property
    def share_open(self) -> float:
        """The part of the rows that has no label."""
        return self.left_open / self.rows if self.rows else math.nan

    @property
    def accuracy(self) -> float:
        """The part of the other rows whose label is right; NaN if there are none."""
        rest = self.rows - self.left_open
        return self.right / rest if rest else math.nan

    @property
    def mean_cost(self) -> float:
        """Of the rows with a label; NaN if there are none, or no costs."""
        return self.cost / self.priced if self.priced else math.nan

    def as_json(self) -> dict[str, float]:
        """All of it."""
        return {name: getattr(self, name) for name in ("share_open", "accuracy", "mean_cost")}


class Decided:
    """What comes of a rule, and of the most probable classes.

    Parameters
    ----------
    rule : DecisionRule
    """

    def __init__(self, rule: DecisionRule) -> None:
        self.rule = rule
        self.as_predicted, self.by_rule = Labelled(), Labelled()

    def add(self, truth: Int64, log_proba: Float64) -> None:
        """Count rows of these positions of classes, -1 if unknown; (n, C) log P(c | x)."""
        likeliest = log_proba.argmax(axis=1)
        self.as_predicted.add(truth, likeliest, self.rule.costs)
        codes = self.rule.codes(np.exp(log_proba), likeliest)
        self.by_rule.add(truth, codes, self.rule.costs)

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return {"as_predicted": self.as_predicted.as_json(), "by_rule": self.by_rule.as_json()}

    def table(self) -> Table:
        """As people read it."""
        heads = ["left open", "right of the rest"]
        costs, unsure = self.rule.costs, self.rule.unsure
        if costs is not None:
            heads.append("mean cost")
        table = new_table("labels", *heads)
        said = [] if costs is None else ["of least cost"]
        if unsure is not None:
            said.append(f"{100 * unsure:.10g}% sure")
        rows = (("as predicted", self.as_predicted, ""), (", ".join(said), self.by_rule, "bold"))
        for name, one, style in rows:
            cells = [_percent(one.share_open), _percent(one.accuracy)]
            if costs is not None:
                cells.append("·" if math.isnan(one.mean_cost) else f"{one.mean_cost:.4g}")
            table.add_row(name, *cells, style=style)
        return table


def _percent(part: float) -> str:
    return "·" if math.isnan(part) else f"{part:.2%}"
