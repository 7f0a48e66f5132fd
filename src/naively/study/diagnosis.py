"""What `diagnose` found, and its tables and notes as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from naively.markup import magnitude
from naively.plain import aligned, left_out, rows_told
from naively.study import advice
from naively.study.margins import margin
from naively.study.pairs import LEVEL, Pair
from naively.study.report import Report, failures, loss_cell
from naively.study.results import RungResult

SHOWN = 10  # pairs, unless somebody asks for more
LISTED = 10  # columns that a rung takes
PAIR_HEADS = ("columns", "given class", "by chance", "as r", "p", "at large", "p")
RUNG_HEADS = ("rung", "parameters", "rows each", "log-loss", "error", "gain")
Cells = list[tuple[str, ...]]


@dataclass(frozen=True, repr=False)
class Diagnosis(Report):
    """What `diagnose` found.

    Attributes
    ----------
    target, classes, rows, looked_at, unlabelled : as in `Report`.
    columns : dict, whether each column that was looked at is tested as numbers or as levels.
    numbers : the columns that Gaussian rungs take together.
    levels : the columns that a joint table takes together.
    left_out : dict, the columns that were not looked at, with the reason.
    unfit : dict, how many values of a column count as missing because they do not fit it, such as
        infinite ones.
    untested : the columns whose pairs were not tested, because there are too many.
    pairs : list of Pair, those first that tell most of each other given the class.
    rungs : list of RungResult, by the number of parameters.
    recommendation : a few plain sentences.
    """

    columns: dict[str, str]
    numbers: tuple[str, ...]
    levels: tuple[str, ...]
    left_out: dict[str, str]
    unfit: dict[str, int]
    untested: tuple[str, ...]
    pairs: list[Pair]
    rungs: list[RungResult]
    recommendation: str

    @property
    def advised(self) -> RungResult:
        """The rung to use, which the recommendation names."""
        return advice.verdict(self.rungs).advised

    def _lines(self) -> list[str]:
        rows = rows_told(self.rows, self.looked_at, self.unlabelled)
        lines = [self.recommendation, "", f"rows: {rows}", ""]
        if self.pairs:
            lines += aligned(PAIR_HEADS, pair_rows(self.pairs[:SHOWN]))
        lines += [*pair_notes(self, SHOWN), "", *aligned(RUNG_HEADS, rung_rows(self))]
        return [*lines, *rung_notes(self)]

    def _nested(self) -> dict[str, Any]:
        return {
            "pairs": [
                {**asdict(pair), "excess": pair.excess, "correlation": pair.correlation}
                for pair in self.pairs
            ],
            "advised": self.advised.name,
            "rungs": [
                {key: value for key, value in vars(rung).items() if key not in ("losses", "wrong")}
                for rung in self.rungs
            ],
        }


def pair_rows(pairs: Sequence[Pair]) -> Cells:
    """The cells of `PAIR_HEADS` for each pair."""
    return [
        (
            f"{pair.first} × {pair.second}", _nats(pair.given_class), _nats(pair.chance),
            f"{pair.correlation:.2f}" if pair.dependent else "·", _p(pair.p_value),
            _nats(pair.marginal), _p(pair.marginal_p_value),
        )
        for pair in pairs
    ]  # fmt: skip


def pair_notes(found: Diagnosis, limit: int) -> list[str]:
    """What there is to say below so many pairs."""
    said = []
    rest = len(found.pairs) - limit
    if rest > 0:
        said.append(f"and {rest:,} more pair{'s' if rest > 1 else ''}")
    if found.pairs:
        said.append(
            "mutual information in nats, given the class and at large; as r: the correlation of "
            "numbers that tell as much beyond chance; p: of independence"
            + (f", times the {len(found.pairs):,} pairs (Bonferroni)" if found.pairs[1:] else "")
        )
    by_class = [one for one in found.pairs if one.marginal_p_value < LEVEL and not one.dependent]
    if by_class:
        said.append(
            f"the class explains {len(by_class):,} pair{'s' if len(by_class) > 1 else ''}: "
            "dependent at large, but not given the class, as "
            f"{by_class[0].first} × {by_class[0].second}"
        )
    if found.untested:
        tested = len(found.columns) - len(found.untested)
        said.append(
            f"pairs of the {tested:,} columns that tell most about the class were tested, not "
            f"those of the {len(found.untested):,} others"
        )
    for name, values in found.unfit.items():
        said.append(f"column {name}: {values:,} values do not fit it, and count as missing")
    return said + left_out(found.left_out)


def rung_rows(found: Diagnosis) -> Cells:
    """The cells of `RUNG_HEADS` for each rung."""
    naive = advice.verdict(found.rungs).naive
    rows: Cells = []
    for one in found.rungs:
        cells = (one.name, magnitude(one.parameters), advice.rows_each(one.rows_per_parameter))
        if one.reason:
            rows.append((*cells, "·", "·", "·"))
            continue
        gain = "·" if one is naive else str(margin(naive.losses, one.losses))
        rows.append((*cells, loss_cell(one.log_loss), f"{one.error:.2%}", gain))
    return rows


def rung_notes(found: Diagnosis) -> list[str]:
    """What there is to say below the rungs."""
    said = [
        "log-loss (nats) and error of rows that the model did not learn; gain: of log-loss over "
        "naive Bayes, ± its standard error",
        *failures((one.name, one.reason) for one in found.rungs),
    ]
    for what, columns in (("numbers", found.numbers), ("levels", found.levels)):
        if any(f"{{{what}:" in one.use for one in found.rungs):
            said.append(f"{what}: {', '.join(columns[:LISTED])}{', ...' * (len(columns) > LISTED)}")
    return said


def _nats(value: float) -> str:
    if not math.isfinite(value):
        return "∞"
    return f"{value:.3f}" if value >= 0.001 or value == 0 else f"{value:.0e}"


def _p(value: float) -> str:
    return "<1e-9" if value < 1e-9 else f"{value:.2g}"
