"""What a diagnosis comes to, in a few plain sentences: which model family to use, and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from naively.core.exact import Float64
from naively.core.workers import workers
from naively.evaluation.dependence import (
    LEVEL,
    ColumnPair,
    features,
    most_telling,
    pairs,
    words,
)
from naively.evaluation.rungs import AUTO, Rung, kinds, ladder, unweighed, weighed
from naively.evaluation.samples import LabelledRows, Report, failures, of_any
from naively.evaluation.tally import CLEAR, clearly_less, loss_cell, margin
from naively.evaluation.trials import Splits, Trial, alike_of
from naively.explain.markup import as_missing, counted, magnitude
from naively.families.text.text import Text
from naively.io.inputs import MISSING
from naively.rendering import aligned, left_out, rows_in_words
from naively.tables.inference import ColumnOptions, Columns, infer

FUNCTION = 0.995  # correlation, beyond which one column all but follows from the other
FEW = 5  # rows a parameter, below which more rows are worth having


@dataclass(frozen=True, eq=False)
class RungResult:
    """How a rung does on rows that it did not learn.

    Attributes
    ----------
    name : of the rung.
    use : how to get it in Python; empty for the class prior.
    option : of `naively fit`, for the same; None if there is none.
    parameters : free ones, those of the class prior included.
    rows_per_parameter : float
    log_loss : mean -log P(y | x) in nats of held-out rows; NaN if the rung was not estimated.
    error : part of the held-out rows whose class was not the most probable one; NaN likewise.
    reason : why it was not estimated; empty if it was.
    losses : (n,) -log P(y | x) of each row; NaN likewise, and where its class has no other row.
    wrong : (n,) 1 where another class was more probable, else 0; NaN likewise.
    """

    name: str
    use: str
    option: str | None
    parameters: int
    rows_per_parameter: float
    log_loss: float
    error: float
    reason: str
    losses: Float64
    wrong: Float64


def rung_results(trial: Trial, rungs: Sequence[Rung]) -> list[RungResult]:
    """How the rungs do, by the number of parameters."""
    found = []
    for rung, curve in zip(rungs, trial.curves(rungs), strict=True):
        parameters = trial.parameters(rung)
        part = trial.rows.total / parameters if parameters.bit_length() < 1000 else 0.0
        log_loss = error = math.nan
        if not curve.reason:  # in one split or all
            log_loss, error = curve.scores.log_loss, curve.scores.error
        found.append(
            RungResult(
                rung.name, rung.use, rung.option, parameters, part, log_loss, error, curve.reason,
                curve.losses, curve.wrong,
            )
        )  # fmt: skip
    return sorted(found, key=lambda one: one.parameters)


# ---- a diagnosis: is the naive assumption true, does it matter, and what to use -----------------


class Verdict:
    """The rungs that matter, of those that were estimated.

    Attributes
    ----------
    naive : naive Bayes, by the rule.
    best : the one with the smallest held-out log-loss; without shrinkage, if that is not clearly
        worse, and rows are not few.
    clear : whether the best is clearly better than naive Bayes.
    advised : naive Bayes; or the best if it is clearly better, or better by more than one standard
        error without erring more. If the best is not clearly better than the class prior: that one
        if it errs clearly less than the prior, or the rung that errs least if that one does, or
        the prior.
    prior : the class prior.
    sure : whether the best is clearly better than the class prior.
    least : the rung that errs least; the advised one, if none errs clearly less.
    """

    def __init__(self, rungs: Sequence[RungResult]) -> None:
        tried = [one for one in rungs if not one.reason]
        self.prior = prior = next(one for one in tried if not one.use)
        self.naive = next((one for one in tried if one.name == "naive Bayes"), prior)
        self.best = min(tried, key=lambda one: one.log_loss)
        for one in tried:
            worse = margin(one.losses, self.best.losses).beyond(CLEAR)
            plain = self.best.name == f"shrunk {one.name}"
            if plain and not worse and one.rows_per_parameter >= FEW:
                self.best = one
        gained = margin(self.naive.losses, self.best.losses)
        self.clear = gained.beyond(CLEAR)
        better = gained.beyond(1.0) and self.best.error <= self.naive.error
        self.advised = self.best if self.clear or better else self.naive
        self.sure = margin(prior.losses, self.best.losses).beyond(CLEAR)
        if not self.sure:  # the losses of a few rows may be huge: labels can tell where they do not
            possible = (self.advised, _erring_least(tried, self.naive))
            self.advised = next((one for one in possible if _errs_less(one, prior)), prior)
        self.least = _erring_least(tried, self.advised)


def _erring_least(tried: Sequence[RungResult], usual: RungResult) -> RungResult:
    """The one that errs least, or the usual one if none errs clearly less."""
    least = min(tried, key=lambda one: one.error)
    return least if _errs_less(least, usual) else usual


def _errs_less(one: RungResult, other: RungResult) -> bool:
    return clearly_less(one.wrong, other.wrong)


def recommendation(
    target: str | None,
    pairs: Sequence[ColumnPair],
    rungs: Sequence[RungResult],
    what: str = "columns",
) -> str:
    """Is the naive assumption true, does it matter, and what to use; `what` the pairs are of."""
    said = [_assumption(target, pairs, what)]
    found = Verdict(rungs)
    if found.advised.use and found.best.use:
        said.append(_cost(found, any(pair.dependent for pair in pairs)))
    said += [_use(found), _trust(found), _labels(found)]
    return " ".join(filter(None, said))


def _assumption(target: str | None, pairs: Sequence[ColumnPair], of: str) -> str:
    """Whether the naive assumption is true."""
    given = "given the class" if target is None else f"given {target!r}"
    if not pairs:
        return "There is one column only: nothing is assumed."
    dependent = [pair for pair in pairs if pair.dependent]
    if not dependent:
        what = f"none of the {len(pairs):,} pairs" if len(pairs) > 1 else "the one pair"
        verb = "shows" if len(pairs) > 1 else "shows no"
        return (
            f"Nothing speaks against the naive assumption: {given}, {what} of {of} {verb} more "
            "dependence than chance does."
        )
    first = dependent[0]
    like = f"as strongly as numbers of correlation {first.correlation:.2f}"
    if first.correlation > FUNCTION:
        like = "one almost a function of the other"
    what = f"{len(dependent):,} of {len(pairs):,} pairs of {of} depend on each other, most of all"
    if len(pairs) == 1:
        what = "the two columns depend on each other,"
    return (
        f"The naive assumption is false here: {given}, {what} {first.first!r} and "
        f"{first.second!r}, {like}."
    )


def _cost(found: Verdict, dependent: bool) -> str:
    """Whether that matters."""
    naive, best = found.naive, found.best
    if best is naive:
        return (
            "No rung of the ladder predicts better than naive Bayes, whose held-out log-loss is "
            f"{naive.log_loss:.3g} nats."
        )
    less = str(margin(naive.losses, best.losses)).removeprefix("+")
    losses = (
        f"naive Bayes has a held-out log-loss of {naive.log_loss:.3g} nats, {best.name} one of "
        f"{best.log_loss:.3g}, which is {less} less"
    )
    if not found.clear:
        how = "may" if found.advised is best else "does not clearly"
        return f"It {how} matter: {losses}."
    return f"{'It matters' if dependent else 'Yet another rung predicts better'}: {losses}."


def _use(found: Verdict) -> str:
    """What to use."""
    advised = found.advised
    if not advised.use:
        return (
            "No rung gives clearly better probabilities than the class prior: these rows do not "
            "show that the columns tell anything of the class."
        )
    few = ", which is few" if advised.rows_per_parameter < FEW else ""
    return (
        f"Use {advised.name}, {advised.use}: {magnitude(advised.parameters)} parameters, "
        f"{rows_each(advised.rows_per_parameter)} rows for each{few}."
    )


def _trust(found: Verdict) -> str:
    """That only the labels are worth something, if the probabilities are not clearly so."""
    advised, prior = found.advised, found.prior
    if found.sure or not advised.use:
        return ""
    losses = f"log-loss {advised.log_loss:.3g} against {prior.log_loss:.3g}"
    errors = f"in {advised.error:.2%} of the rows, not {prior.error:.2%}"
    if advised.log_loss > prior.log_loss:
        return (
            f"It is far too sure where it errs: its probabilities are worse than the class prior's "
            f"({losses}). Use its labels alone, which are wrong {errors}."
        )
    return (
        f"Its probabilities are not clearly better than the class prior's ({losses}), but its "
        f"labels are: they are wrong {errors}."
    )


def _labels(found: Verdict) -> str:
    """Which rung errs clearly less, if one does: probabilities and labels may be at odds."""
    advised, least = found.advised, found.least
    if least is advised:
        return ""
    return (
        f"For labels rather than probabilities, {least.name} errs less: in {least.error:.2%} of "
        f"the rows, not {advised.error:.2%}."
    )


def rows_each(value: float) -> str:
    """Rows for each parameter."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


# ---- diagnosis -----------------------------------------------------------------------------------


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
        return Verdict(self.rungs).advised

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
    `naively.evaluation.dependence`), and each rung, from the class prior to the full
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
    return examine(rows, ColumnOptions(known, missing=tuple(missing)), seed)


def examine(
    rows: LabelledRows,
    options: ColumnOptions,
    seed: int,
    tell: Callable[[str], None] = lambda _: None,
) -> Diagnosis:
    """The diagnosis of some rows; `tell` is told what is being done.

    Raises
    ------
    ValueError : if no column is left.
    """
    classes = len(rows.classes)
    rule = infer(options, rows.table, (rows.classes, rows.codes)).varying
    rule.check_any("diagnose")
    found, invalid = features(rule, rows.table)
    numbers, levels = kinds(rule, options, rows)
    tell("testing the pairs of columns")
    told = words(rule, rows, workers(None))
    chosen = most_telling([*found, *chain(*told.values())], rows.codes, classes)
    what = " and ".join(["columns"] * (bool(found) or not told) + ["words"] * bool(told))
    tested = pairs(chosen, rows.codes, classes)
    trial = Trial(
        rows, rule, Splits(rows.codes, FOLDS, seed=seed, alike=alike_of(rule, rows)), workers(None)
    )
    tell("trying the rungs of the ladder")
    whole, apart = weighed(options, rows, rule), unweighed(options, rows, rule)
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
        recommendation=recommendation(rows.target, tested, tried, what)
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
    naive = Verdict(found.rungs).naive
    rows: list[tuple[str, ...]] = []
    for one in found.rungs:
        cells = (one.name, magnitude(one.parameters), rows_each(one.rows_per_parameter))
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
