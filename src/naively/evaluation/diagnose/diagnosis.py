"""`diagnose`: is the naive assumption true here, and which rung of the ladder fits a table?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from naively.engines.threads import workers
from naively.evaluation.compare.rungs import AUTO, kinds, ladder, unweighed, weighed
from naively.evaluation.compare.trial import Splits, Trial
from naively.evaluation.diagnose import advice
from naively.evaluation.diagnose.advice import RungResult, rung_results
from naively.evaluation.diagnose.pairs import (
    LEVEL,
    ColumnPair,
    features,
    most_telling,
    pairs,
    words,
)
from naively.evaluation.samples import LabelledRows, Report, failures, of_any
from naively.evaluation.tally import loss_cell, margin
from naively.families.text import Text
from naively.markup import as_missing, counted, magnitude
from naively.plain import aligned, left_out, rows_in_words
from naively.tables.inference import Columns, Wishes, infer
from naively.tables.inputs import MISSING

FOLDS = 5
SHOWN = 10  # pairs, unless somebody asks for more
LISTED = 10  # columns that a rung takes
ALL = "all"  # what a column tells of another that follows from it
PAIR_HEADS = ("columns", "given class", "by chance", "as r", "p", "at large", "p")
RUNG_HEADS = ("rung", "parameters", "rows each", "log-loss", "error", "gain")


@dataclass(frozen=True, repr=False)
class Diagnosis(Report):
    """What `diagnose` found.

    Attributes
    ----------
    target, classes, rows, looked_at, unlabelled : as in `Report`.
    columns : dict, whether each column that was looked at is tested as numbers, levels or words.
    numbers : the columns that Gaussian rungs take together.
    levels : the columns that a joint table takes together.
    left_out : dict, the columns that were not looked at, with the reason.
    invalid : dict, how many values of a column count as missing because they do not fit it, such as
        infinite ones.
    untested : the columns whose pairs were not tested, because there are too many.
    words : dict, of each column of text the words whose pairs were tested, as "column: word".
    pairs : list of ColumnPair, those first that tell most of each other given the class.
    rungs : list of RungResult, by the number of parameters.
    recommendation : a few plain sentences.
    """

    columns: dict[str, str]
    numbers: tuple[str, ...]
    levels: tuple[str, ...]
    left_out: dict[str, str]
    invalid: dict[str, int]
    untested: tuple[str, ...]
    words: dict[str, list[str]]
    pairs: list[ColumnPair]
    rungs: list[RungResult]
    recommendation: str

    @property
    def advised(self) -> RungResult:
        """The rung to use, which the recommendation names."""
        return advice.Verdict(self.rungs).advised

    def __str__(self) -> str:
        rows = rows_in_words(self.rows, self.looked_at, self.unlabelled)
        lines = [self.recommendation, "", f"rows: {rows}", ""]
        if self.pairs:
            lines += aligned(PAIR_HEADS, pair_rows(self.pairs[:SHOWN]))
        lines += [*pair_notes(self, SHOWN), "", *aligned(RUNG_HEADS, rung_rows(self))]
        return "\n".join([*lines, *rung_notes(self)]).strip()

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON takes it: null for what is infinite or unknown.

        Numbers of parameters beyond 2^53 are floats, and null beyond the largest.
        """
        return self._as_json(
            pairs=[
                {**asdict(pair), "excess": pair.excess, "correlation": pair.correlation}
                for pair in self.pairs
            ],
            advised=self.advised.name,
            rungs=[
                {key: value for key, value in vars(rung).items() if key not in ("losses", "wrong")}
                for rung in self.rungs
            ],
        )


def diagnose(
    X: Any,
    y: Any,
    *,
    columns: Columns | None = None,
    missing: Sequence[str] = MISSING,
    seed: int = 0,
) -> Diagnosis:
    """Whether the naive assumption is true for a table, and which rung of the ladder fits it.

    The mutual information of each pair of columns given the class is tested (see
    `naively.evaluation.diagnose.information`), and each rung, from the class prior to the full
    joint table, predicts rows that it did not learn, five times a fifth of them. Which columns are
    numbers or levels is inferred as by `NaiveBayes`. Of a column of text the words that tell most
    about the class are tested, each as a column: whether it is in the document. Pairs do not see
    what three columns tell only together; the joint table does.

    Of more than 100,000 rows (fewer of wide tables) a sample is looked at. Of more than 64 columns
    the pairs of those are tested that tell most about the class.

    Parameters
    ----------
    X : a data frame, Arrow table, dict of columns or array, (n, d); a list or array of n
        documents; or a path of a file, or a list of paths, as the command line takes them.
    y : (n,) labels, or the name of the column that has them. Rows without a label are left out.
    columns : dict, optional
        Families of columns, or "skip", as for `NaiveBayes`.
    missing : spellings of a missing value.
    seed : of the sample and of the folds.

    Raises
    ------
    ValueError : saying what is wrong and where.

    Examples
    --------
    >>> from naively import diagnose
    >>> days = {"coat": [1, 1, 0, 0] * 20, "accident": [1, 0, 1, 0] * 20}
    >>> diagnose(days, (["rain"] * 4 + ["dry"] * 4) * 10).pairs[0].dependent
    False
    """
    rows, texts = of_any(X, y, seed, missing)
    known: Columns = {**dict.fromkeys(texts, Text()), **(columns or {})}
    return examine(rows, Wishes(known, missing=tuple(missing)), seed)


def examine(
    rows: LabelledRows, wishes: Wishes, seed: int, tell: Callable[[str], None] = lambda _: None
) -> Diagnosis:
    """The diagnosis of some rows; `tell` is told what is being done.

    Raises
    ------
    ValueError : if no column is left.
    """
    classes = len(rows.classes)
    rule = infer(wishes, rows.table, (rows.classes, rows.codes)).varying
    rule.check_any("diagnose")
    found, invalid = features(rule, rows.table)
    numbers, levels = kinds(rule, wishes, rows)
    tell("testing the pairs of columns")
    told = words(rule, rows, workers(None))
    chosen = most_telling([*found, *chain(*told.values())], rows.codes, classes)
    what = " and ".join(["columns"] * (bool(found) or not told) + ["words"] * bool(told))
    tested = pairs(chosen, rows.codes, classes)
    trial = Trial(rows, rule, Splits(rows.codes, FOLDS, seed=seed), workers(None))
    tell("trying the rungs of the ladder")
    whole, apart = weighed(wishes, rows, rule), unweighed(wishes, rows, rule)
    tried = rung_results(trial, ladder(rule, numbers, levels, classes, whole))
    return Diagnosis(
        **rows.facts,
        columns={one.name: "levels" if one.levels else "numbers" for one in found}
        | dict.fromkeys(told, "words"),
        numbers=numbers,
        levels=tuple(levels),
        left_out=rule.skipped,
        invalid={name: one.count for name, one in invalid.items()},
        untested=tuple(one.name for one in found if one not in chosen),
        words={name: [one.name for one in own if one in chosen] for name, own in told.items()},
        pairs=tested,
        rungs=tried,
        recommendation=advice.recommendation(rows.target, tested, tried, what)
        + (f" {AUTO} was not tried, as {apart}." if apart else ""),
    )


# ---- as text -----------------------------------------------------------------------------------


def pair_rows(pairs: Sequence[ColumnPair]) -> list[tuple[str, ...]]:
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
    if any(math.isinf(one.given_class) or math.isinf(one.marginal) for one in found.pairs[:limit]):
        said.append(f"{ALL}: one of the two columns follows from the other")
    by_class = [one for one in found.pairs if one.marginal_p_value < LEVEL and not one.dependent]
    if by_class:
        said.append(
            f"the class explains {len(by_class):,} pair{'s' if len(by_class) > 1 else ''}: "
            "dependent at large, but not given the class, as "
            f"{by_class[0].first} × {by_class[0].second}"
        )
    for name, own in found.words.items():
        said.append(
            f"{name}: of its words the {len(own):,} that tell most about the class were tested, by "
            "whether they are in a text"
        )
    if found.untested:
        tested = len(found.columns) - len(found.words) - len(found.untested)
        said.append(
            f"pairs of the {tested:,} columns that tell most about the class were tested, not "
            f"those of the {len(found.untested):,} others"
        )
    for name, values in found.invalid.items():
        what = f"{counted(values, 'value')} cannot be in it, and {as_missing(values)}"
        said.append(f"column {name}: {what}")
    return said + left_out(found.left_out)


def rung_rows(found: Diagnosis) -> list[tuple[str, ...]]:
    """The cells of `RUNG_HEADS` for each rung."""
    naive = advice.Verdict(found.rungs).naive
    rows: list[tuple[str, ...]] = []
    for one in found.rungs:
        cells = (one.name, magnitude(one.parameters), advice.rows_each(one.rows_per_parameter))
        if one.reason:
            rows.append((*cells, "·", "·", "·"))
            continue
        gained = margin(naive.losses, one.losses)
        gain = "·" if one is naive or not math.isfinite(gained.mean) else str(gained)
        rows.append((*cells, loss_cell(one.log_loss), f"{one.error:.2%}", gain))
    return rows


def rung_notes(found: Diagnosis) -> list[str]:
    """What there is to say below the rungs."""
    said = [
        "log-loss (nats) and error of rows that the model did not learn; gain: of log-loss over "
        "naive Bayes, ± its standard error",
        *failures((one.name, one.reason) for one in found.rungs),
    ]
    both = {*found.numbers} & {*found.levels}
    for what, columns in (("numbers", found.numbers), ("levels", found.levels)):
        if any(f"{{{what}:" in one.use for one in found.rungs):
            listed = ", ".join(columns[:LISTED]) + ", ..." * (len(columns) > LISTED)
            said.append(f"columns that rungs take as {what}: {listed}")
    if both and len(said) > 1:
        said.append(f"{len(both):,} of them, of few whole numbers, are taken as either")
    return said


def _nats(value: float) -> str:
    if not math.isfinite(value):
        return ALL
    return f"{value:.3f}" if value >= 0.001 or value == 0 else f"{value:.0e}"


def _p(value: float) -> str:
    return "<1e-9" if value < 1e-9 else f"{value:.2g}"
