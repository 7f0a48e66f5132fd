"""`diagnose`: test the naive assumption, and recommend a model family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from naively.core.markup import as_missing, counted, magnitude
from naively.core.workers import workers
from naively.evaluation.dependence import (
    LEVEL,
    ColumnPair,
    features,
    most_informative,
    pairs,
    words,
)
from naively.evaluation.learning_curves import Progress, Splits, Trial, alike_of, silent
from naively.evaluation.metrics import Scores, loss_cell, margin
from naively.evaluation.model_ladder import (
    AUTO,
    TEXT,
    Rung,
    kinds,
    known_as,
    ladder,
    unweighed,
    weighed,
)
from naively.evaluation.samples import LabelledRows, Report, failures, of_any, unused
from naively.evaluation.verdict import Result, Verdict
from naively.families.text.text import Text
from naively.io.inputs import MISSING
from naively.model.schema import DATES
from naively.rendering import Part, Table
from naively.tables.inference import ColumnOptions, Columns, infer

FEW_ROWS = 100  # below which only a very strong dependence is significant
FUNCTION = 0.995  # correlation, above which one feature is almost a function of the other


@dataclass(frozen=True, eq=False, kw_only=True)
class RungResult(Result):
    """The result of a model of the ladder on held-out rows; NaN if it was not estimated.

    Attributes
    ----------
    use : Python code for it; empty for the class prior.
    option : option of `naively fit` for it; None if there is none.
    parameters : number of free parameters, those of the class prior included.
    rows_per_parameter : training rows for each free parameter.
    scores : of held-out rows; None if the model was not estimated.
    reason : why it was not estimated; empty if it was.
    """

    use: str
    option: str | None
    parameters: int
    rows_per_parameter: float
    scores: Scores | None
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """What `Diagnosis.to_dict` has of the model."""
        names = ("name", "use", "option", "parameters", "rows_per_parameter", "log_loss", "error")
        return {name: getattr(self, name) for name in (*names, "reason")}


def rung_results(
    trial: Trial, rungs: Sequence[Rung], progress: Progress = silent
) -> list[RungResult]:
    """Evaluate models of the ladder; sort them by number of parameters."""
    results, steps = [], len(rungs) * len(trial.splits.tests) * len(trial.splits.sizes)
    with progress("models of the ladder", steps) as advance:
        curves = trial.curves(rungs, advance)
    for rung, curve in zip(rungs, curves, strict=True):
        parameters = trial.parameters(rung)
        part = trial.rows.total / parameters if parameters.bit_length() < 1000 else 0.0
        # a model that failed in one split has no scores
        scores = None if curve.reason else curve.scores
        loss, error = (math.nan,) * 2 if scores is None else (scores.log_loss, scores.error)
        results.append(RungResult(
            name=rung.name, use=rung.use, option=rung.option, parameters=parameters,
            rows_per_parameter=part, scores=scores, reason=curve.reason, log_loss=loss,
            error=error, losses=curve.losses, wrong=curve.wrong,
        ))  # fmt: skip
    return sorted(results, key=lambda result: result.parameters)


# ---- the verdict ---------------------------------------------------------------------------------


def verdict(rungs: Sequence[RungResult]) -> Verdict:
    """Choose among the models that were estimated."""
    estimated = [rung for rung in rungs if not rung.reason]
    prior = next(rung for rung in estimated if not rung.use)
    naive = next((rung for rung in estimated if rung.name == "naive Bayes"), None)
    return Verdict(estimated, prior, naive)


def _assumption(target: str | None, pairs: Sequence[ColumnPair], of: str, rows: int) -> str:
    """Whether the naive assumption holds, as far as so many rows can tell."""
    condition = "given the class" if target is None else f"given {target!r}"
    if not pairs:
        return "There is one feature: the naive assumption is about two or more."
    dependent = [pair for pair in pairs if pair.dependent]
    if not dependent:
        number = f"none of the {len(pairs):,} pairs" if len(pairs) > 1 else "the one pair"
        verb = "is" if len(pairs) > 1 else "is not"
        sentence = (
            f"No dependence was found: {number} of {of} {verb} significantly dependent {condition}."
        )
        few = f" So few rows ({rows:,}) could show only a very strong dependence."
        return sentence + few * (rows < FEW_ROWS)
    strongest = dependent[0]
    strength = f"like a correlation of {strongest.correlation:.2f}"
    if strongest.correlation > FUNCTION:
        strength = "one almost a function of the other"
    example = f"{strongest.first!r} and {strongest.second!r} ({strength})"
    if len(pairs) == 1:
        return f"The naive assumption does not hold: {example} are dependent {condition}."
    number = f"{len(dependent):,} of {len(pairs):,} pairs of {of}"
    return (
        f"The naive assumption does not hold: {number} are dependent {condition} (p < {LEVEL:g}), "
        f"most of all {example}."
    )


FOLDS = 5
SHOWN = 10  # pairs, by default
LISTED = 10  # columns to name, at most
ALL = "∞"  # mutual information, where one numeric feature determines the other
PAIR_HEADS = ("pair", "given class", "correlation", "p-value", "marginal", "marginal p-value")
CORRELATION = 2  # its position: it is shown where any pair is dependent
RUNG_HEADS = (
    "model", "parameters", "rows per parameter", "log-loss", "error", "against naive Bayes",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Diagnosis(Report):
    """The result of `diagnose`.

    Attributes
    ----------
    target, classes, rows, sampled, unlabelled : as in `Report`.
    columns : dict, whether each column was tested as "numbers", "levels" (categories) or "words".
    numbers : numeric columns, which Gaussian models take together.
    levels : categorical columns, which a joint table takes together.
    left_out : dict, the columns that were not used, with the reason.
    invalid : dict, the number of invalid values of a column, such as infinite ones. They count as
        missing.
    untested : columns whose pairs were not tested, because there are too many.
    words : dict, for each text column the words whose pairs were tested, as "column: word".
    pairs : list of ColumnPair, by decreasing mutual information given the class.
    rungs : list of RungResult, by number of parameters.
    apart : why `AutoBayes` was not tried; empty if it was.
    method : "cross-validation", with the column that rows were split by; or "forward validation".
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
    apart: str = ""
    method: str = "cross-validation"

    @property
    def assumption(self) -> str:
        """A sentence: whether the naive assumption holds."""
        subject = " and ".join(
            ["features"] * any(kind != "words" for kind in self.columns.values())
            + ["words"] * bool(self.words)
        )
        return _assumption(self.target, self.pairs, subject, self.rows)

    @property
    def verdict(self) -> dict[str, str]:
        """The smallest error, the best probabilities and the recommendation."""
        lines = verdict(self.rungs).lines()
        if self.alone and self.advised.name == AUTO:
            names = ", ".join(self.alone[:LISTED]) + ", ..." * (len(self.alone) > LISTED)
            lines["recommendation"] += f"; it alone uses {names}"
        return lines

    @property
    def alone(self) -> list[str]:
        """The dates and times, which `AutoBayes` alone uses."""
        if all(model.name != AUTO for model in self.rungs):
            return []
        return [name for name, why in self.left_out.items() if why == DATES.text]

    @property
    def recommendation(self) -> str:
        """The assumption and the verdict as sentences."""
        sentences = [f"{key}: {text}." for key, text in self.verdict.items()]
        if self.apart:
            sentences.append(f"{AUTO} was not tried, as {self.apart}.")
        sentences = [sentence[0].upper() + sentence[1:] for sentence in sentences]
        return " ".join([self.assumption, *sentences])

    @property
    def advised(self) -> RungResult:
        """The recommended model."""
        name = verdict(self.rungs).advised.name
        return next(rung for rung in self.rungs if rung.name == name)

    def parts(self, limit: int = SHOWN) -> list[Part]:
        """The tables of the first `limit` pairs and of the models, and the assumption."""
        shown, models, advised = self.pairs[:limit], rung_rows(self), self.advised
        strong = [k for k, pair in enumerate(shown) if pair.dependent]
        best = [k for k, rung in enumerate(self.rungs) if rung is advised]
        columns = [k for k in range(len(PAIR_HEADS)) if strong or k != CORRELATION]
        heads = [PAIR_HEADS[k] for k in columns]
        rows = [[row[k] for k in columns] for row in pair_rows(shown)]
        optional = len(columns) - 1, len(columns) - 2
        dependence = Table(
            "Dependence between features", heads, rows, 1, pair_notes(self, limit),
            optional=optional, strong=strong,
        )  # fmt: skip
        notes = [*rung_notes(self), *(() if shown else pair_notes(self, limit))]
        return [
            *[dependence] * bool(shown),
            Table("Models, by number of parameters", RUNG_HEADS, models, 1, notes,
                  optional=(2, 5), strong=best),
            self.assumption,
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """All attributes as JSON values: null for infinite and unknown ones.

        Numbers of parameters above 2^53 are floats, and null above the largest float.
        """
        return self._as_json(
            pairs=[
                {**asdict(pair), "excess": pair.excess, "correlation": pair.correlation}
                for pair in self.pairs
            ],
            advised=self.advised.name,
            verdict=self.verdict,
            recommendation=self.recommendation,
            rungs=[rung.to_dict() for rung in self.rungs],
        )


def diagnose(
    X: Any,
    y: Any,
    *,
    columns: Columns | None = None,
    missing: Sequence[str] = MISSING,
    seed: int = 0,
    groups: Any = None,
    time: Any = None,
) -> Diagnosis:
    """Test the naive assumption on a table, and recommend a model of the ladder.

    The mutual information of each pair of columns given the class is tested (see
    `naively.evaluation.dependence`), and the models of the ladder, from the class prior to the full
    joint table, are compared by 5-fold cross-validation. Whether a column is numeric or categorical
    is inferred as by `NaiveBayes`. Of a text column, the words with the most information about the
    class are tested, as present or absent in a document. Pairs cannot show a dependence of three
    columns together; the joint table can.

    Tables of more than 100,000 rows (fewer if they are wide) are sampled. Of more than 64 columns,
    the pairs of those with the most information about the class are tested.

    Parameters
    ----------
    X : a data frame, Arrow table, dict of columns or array, (n, d); a list or array of n
        documents; or a path of a file, or a list of paths, as the command line takes them.
    y : (n,) labels, or the name of the column that has them. Rows without a label are left out.
    columns : dict, optional
        Families of columns, or "skip", as for `NaiveBayes`.
    missing : spellings of a missing value.
    seed : of the sample and of the folds.
    groups, time : (n,) values, or the name of a column, which is then no feature: rows of a group
        are never in training and test fold at once; or each fold is predicted from earlier rows.
        As for `out_of_fold` of the classifiers.

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
    rows, texts = of_any(X, y, seed, missing, groups, time, columns or ())
    column_families: Columns = {**dict.fromkeys(texts, Text()), **(columns or {})}
    return examine(rows, ColumnOptions(column_families, missing=tuple(missing)), seed)


def examine(
    rows: LabelledRows, options: ColumnOptions, seed: int, progress: Progress = silent
) -> Diagnosis:
    """Diagnose labelled rows. Raises ValueError if no column is left."""
    classes = len(rows.classes)
    schema = infer(options, rows.table, (rows.classes, rows.codes)).varying
    schema.check_any("diagnose")
    columns, invalid = features(schema, rows.table)
    numbers, levels = kinds(schema, options, rows)
    with progress("pairs of features", 1) as advance:
        text_terms = words(schema, rows, workers(None))
        selected = most_informative([*columns, *chain(*text_terms.values())], rows.codes, classes)
        column_pairs = pairs(selected, rows.codes, classes)
        advance()
    splits = Splits(rows.codes, FOLDS, seed=seed, alike=alike_of(schema, rows), by=rows.split)
    trial = Trial(rows, schema, splits, workers(None))
    pooled, reason = weighed(options, rows, schema), unweighed(options, rows, schema)
    rungs = ladder(schema, numbers, levels, classes, pooled)
    if any(rung.name == TEXT for rung in rungs):
        reason = None  # the default model of documents is there
    results = rung_results(trial, rungs, progress)
    return Diagnosis(
        **rows.facts,
        columns={item.name: "levels" if item.levels else "numbers" for item in columns}
        | dict.fromkeys(text_terms, "words"),
        numbers=numbers,
        levels=tuple(levels),
        left_out=schema.skipped | ({} if pooled is None else pooled.skipped),
        invalid={name: item.count for name, item in invalid.items()},
        untested=tuple(item.name for item in columns if item not in selected),
        words={
            name: [item.name for item in terms if item in selected]
            for name, terms in text_terms.items()
        },
        pairs=column_pairs,
        rungs=results,
        apart=reason or "",
    )


# ---- as text -----------------------------------------------------------------------------------


def pair_rows(pairs: Sequence[ColumnPair]) -> list[tuple[str, ...]]:
    """Table rows under `PAIR_HEADS`."""
    return [
        (
            f"{pair.first} × {pair.second}", _nats(pair.excess, pair.chance),
            f"{pair.correlation:.2f}" if pair.dependent else "·", _p(pair.p_value, pair.chance),
            _nats(pair.marginal_excess, pair.marginal_chance),
            _p(pair.marginal_p_value, pair.marginal_chance),
        )
        for pair in pairs
    ]  # fmt: skip


def pair_notes(diagnosis: Diagnosis, limit: int) -> list[str]:
    """Notes below the table of the first `limit` pairs."""
    lines = []
    n_more = len(diagnosis.pairs) - limit
    if n_more > 0:
        lines.append(f"and {n_more:,} more pair{'s' if n_more > 1 else ''}")
    if diagnosis.pairs:
        lines.append(
            "given class, marginal: mutual information of the pair in nats, within the classes and "
            "over all rows, minus what independent features are expected to show"
        )
        if any(pair.dependent for pair in diagnosis.pairs[:limit]):
            lines.append(
                "correlation: two Gaussian features of this correlation have as much mutual "
                "information given the class"
            )
        corrected = f", Bonferroni-corrected for {len(diagnosis.pairs):,} pairs"
        lines.append(f"p-value: of independence{corrected * bool(diagnosis.pairs[1:])}")
    shown = diagnosis.pairs[:limit]
    if any(math.isinf(pair.given_class) or math.isinf(pair.marginal) for pair in shown):
        lines.append(f"{ALL}: one of two numeric features is a function of the other")
    if not all(pair.chance and pair.marginal_chance for pair in shown):
        lines.append("· without a p-value: too few rows to compare")
    marginal = [pair for pair in diagnosis.pairs if pair.marginal_p_value < LEVEL]
    by_class = [pair for pair in marginal if not pair.dependent]
    if by_class:
        verb = "are" if by_class[1:] else "is"
        lines.append(
            f"{counted(len(by_class), 'pair')} {verb} dependent over all rows, but not "
            "significantly given the class, as naive Bayes assumes: "
            f"{'for example ' * bool(by_class[1:])}{by_class[0].first} × {by_class[0].second}"
        )
    for name, terms in diagnosis.words.items():
        lines.append(
            f"{name}: the {len(terms):,} words with the most information about the class were "
            "tested, as present or absent"
        )
    if diagnosis.untested:
        n_tested = len(diagnosis.columns) - len(diagnosis.words) - len(diagnosis.untested)
        lines.append(
            f"pairs of the {n_tested:,} features with the most information about the class were "
            f"tested, not of the {len(diagnosis.untested):,} others"
        )
    for name, values in diagnosis.invalid.items():
        note = f"{counted(values, 'invalid value')} {as_missing(values)}"
        lines.append(f"{name}: {note}")
    users = [model.name for model in diagnosis.rungs if model.name == AUTO]
    return lines + unused(diagnosis.left_out, users)


def rung_rows(diagnosis: Diagnosis) -> list[tuple[str, ...]]:
    """Table rows under `RUNG_HEADS`."""
    naive = verdict(diagnosis.rungs).naive
    rows: list[tuple[str, ...]] = []
    for rung in diagnosis.rungs:
        share = rung.rows_per_parameter
        each = f"{share:,.0f}" if share >= 100 else f"{share:.2g}"
        first_cells = (rung.name, magnitude(rung.parameters), each)
        if rung.reason:
            rows.append((*first_cells, "·", "·", "·"))
            continue
        gap = margin(rung.losses, naive.losses)
        gain = "·" if rung is naive or not math.isfinite(gap.mean) else str(gap)
        rows.append((*first_cells, loss_cell(rung.log_loss), f"{rung.error:.2%}", gain))
    return rows


def rung_notes(diagnosis: Diagnosis) -> list[str]:
    """Notes below the table of models."""
    lines = [
        *[f"{AUTO} was not tried, as {diagnosis.apart}"] * bool(diagnosis.apart),
        f"{FOLDS}-fold {diagnosis.method}; against naive Bayes: difference of log-loss ± standard "
        "error, negative is better",
        *known_as(rung.name for rung in diagnosis.rungs),
        *failures((rung.name, rung.reason) for rung in diagnosis.rungs),
    ]
    lists = list[str]()
    for column_type, columns in (("numbers", diagnosis.numbers), ("levels", diagnosis.levels)):
        if any(f"{{{column_type}:" in rung.use for rung in diagnosis.rungs):
            names = ", ".join(columns[:LISTED]) + ", ..." * (len(columns) > LISTED)
            models = "Gaussian models" if column_type == "numbers" else "joint table"
            kind = "numeric" if column_type == "numbers" else "categorical"
            lists.append(f"{kind} in the {models}: {names}")
    if lists[1:] and {*diagnosis.numbers} & {*diagnosis.levels}:
        lists.append("features with few different whole numbers are in both lists")
    return [*lines, *lists, "`naively compare` also tries scikit-learn's models"]


def _nats(value: float, expected: float) -> str:
    """Mutual information; "·" if independent features would show none, as no rows can."""
    if not expected:
        return "·"
    return f"{value:.4f}" if math.isfinite(value) else ALL


def _p(value: float, expected: float) -> str:
    if not expected:
        return "·"
    return "<1e-9" if value < 1e-9 else f"{value:.2g}"
