"""A diagnosis as cells of tables and lines of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from naively.diagnosis.advice import LARGE, choice, gain, part
from naively.diagnosis.pairs import LEVEL, Pair
from naively.ladder.trial import difference
from naively.markup import magnitude
from naively.plain import aligned, left_out, rows_told

if TYPE_CHECKING:
    from naively.diagnosis.diagnosis import Diagnosis

SHOWN = 10  # pairs, unless somebody asks for more
LISTED = 10  # columns that a rung takes
PAIR_HEADS = ("columns", "given class", "by chance", "as r", "p", "at large", "p")
RUNG_HEADS = ("rung", "parameters", "rows each", "log-loss", "error", "gain")
Cells = list[tuple[str, ...]]


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
    naive = choice(found.rungs).naive
    rows: Cells = []
    for one in found.rungs:
        cells = (one.name, magnitude(one.parameters), part(one.rows_per_parameter))
        if one.reason:
            rows.append((*cells, "·", "·", "·"))
            continue
        more = "·" if one is naive else gain(difference(naive.losses, one.losses))
        loss = f"{one.log_loss:.4f}" if one.log_loss < LARGE else f"{one.log_loss:.3g}"
        rows.append((*cells, loss, f"{one.error:.2%}", more))
    return rows


def rung_notes(found: Diagnosis) -> list[str]:
    """What there is to say below the rungs."""
    said = [
        "log-loss (nats) and error of rows that the model did not learn; gain: of log-loss over "
        "naive Bayes, ± its standard error"
    ]
    names: dict[str, list[str]] = {}
    for one in found.rungs:
        if one.reason:
            names.setdefault(one.reason, []).append(one.name)
    said += [f"{', '.join(own)}: {reason}" for reason, own in names.items()]
    for what, columns in (("numbers", found.numbers), ("levels", found.levels)):
        if any(f"{{{what}:" in one.use for one in found.rungs):
            said.append(f"{what}: {', '.join(columns[:LISTED])}{', ...' * (len(columns) > LISTED)}")
    return said


def plain(found: Diagnosis) -> str:
    """All of it as plain text, with the first pairs."""
    lines = [
        found.recommendation,
        "",
        f"rows: {rows_told(found.rows, found.looked_at, found.unlabelled)}",
        "",
    ]
    if found.pairs:
        lines += aligned(PAIR_HEADS, pair_rows(found.pairs[:SHOWN]))
    lines += [*pair_notes(found, SHOWN), "", *aligned(RUNG_HEADS, rung_rows(found))]
    return "\n".join([*lines, *rung_notes(found)]).strip()


def _nats(value: float) -> str:
    if not math.isfinite(value):
        return "∞"
    return f"{value:.3f}" if value >= 0.001 or value == 0 else f"{value:.0e}"


def _p(value: float) -> str:
    return "<1e-9" if value < 1e-9 else f"{value:.2g}"
