"""`drift`: compare new rows with the training rows of a model: data drift and label shift."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Group
from scipy import optimize, special

from naively.core.exact import Float64, Int64
from naively.core.issues import Invalid
from naively.core.labels import Labels
from naively.core.markup import as_missing, counted
from naively.core.workers import Workers
from naively.evaluation.drift.columns import (
    ColumnDrift,
    Compared,
    compared,
    level_text,
    number,
    percent,
)
from naively.evaluation.drift.marginals import Cells, Marginal, Terms, marginals
from naively.evaluation.drift.two_samples import holm, is_normal, of_rises
from naively.evaluation.folds import alike
from naively.families.text.distinct import repeated_part
from naively.model.model import Model
from naively.model.multilabel import Multilabel
from naively.model.posterior import Posterior
from naively.model.prior import adapted
from naively.pooling.canonical import Canonical
from naively.rendering import Part, Table, as_text, facts, html_of, on_page, plain_json
from naively.statistics.base import Data
from naively.statistics.sample import SampleStatistics
from naively.statistics.terms import PooledTerms
from naively.tables.counting import other_columns
from naively.tables.encoding import encode, encode_for
from naively.tables.left_out import unvaried_in
from naively.tables.names import few

SHOWN = 20
"""Features that are printed, at most; and"""
WORDS, CLASSES = 5, 10
"""words of each text column, and classes."""
COLUMN_HEADS = ("feature", "largest change", "distance", "expected", "p-value")
WORD_HEADS = ("word", "training", "new", "p-value")
SHARE_HEADS = ("class", "training", "predicted", "estimated", "±")
HALF = 0.5
"""Share of the feature drift that label shift must explain, for its estimate to be trusted."""
ASSUMED = "assuming that the features of each class are unchanged"
ROW_HEADS = ("row", "rarest values", "log-likelihood")
ROW_NOTE = (
    "log-likelihood: in nats, minus the mean of the training rows; features taken as independent"
)


def learned_rows(drift: Drift) -> str:
    """The number of training rows, by their weight."""
    return f"{drift.learned:,.10g} row" + ("" if drift.learned == 1 else "s")


def verdict(drift: Drift) -> str:
    """One sentence: what has drifted."""
    signals = []
    if drift.drifted:
        signals.append(f"{len(drift.drifted):,} of {counted(len(drift.columns), 'feature')}")
    if drift.row_p < drift.level:
        signals.append("likelihood of the rows")
    if drift.share_p < drift.level:
        signals.append("label shift")
    corrected = f"p < {drift.level:g}, Holm-corrected over all tests"
    if not signals:
        return f"no drift found (no test has {corrected})"
    return f"drift in {', '.join(signals)} ({corrected})"


def new_rows(drift: Drift) -> str:
    """The number of new rows."""
    sample_text = f", a sample of {drift.sampled:,} of them compared"
    return f"{counted(drift.rows, 'row')}{sample_text * (drift.sampled < drift.rows)}"


def column_rows(drift: Drift) -> list[tuple[str, ...]]:
    """Table rows under `COLUMN_HEADS`, for the features that are printed."""
    return [
        (
            column.name, column.change, _share(column.distance), _share(column.expected),
            p_cell(column.adjusted),
        )
        for column in drift.columns[:SHOWN]
    ]  # fmt: skip


def column_notes(drift: Drift) -> list[str]:
    """Notes below the table of features."""
    lines, hidden = [], drift.columns[SHOWN:]
    if hidden:
        n_drifted = sum(column.adjusted < drift.level for column in hidden)
        lines.append(
            f"and {counted(len(hidden), 'more feature')}, {n_drifted:,} of them with drift"
        )
    lines.append(
        "distance: total variation, the share of rows that would have to change; expected: the "
        "distance to expect without drift; p-value: of no drift, Holm-corrected"
    )
    for column in drift.columns:
        if column.unseen and column.adjusted < drift.level:
            unseen = ", ".join(f"{name!r} {rows:,}" for name, rows in column.unseen.items())
            lines.append(f"{column.name}: unseen in training: {unseen}")
    for heading, names in (
        ("absent from the new rows", drift.absent),
        ("not compared, as the model has no statistics of each feature alone", drift.uncompared),
        ("unknown to the model", drift.unknown),
    ):
        if names:
            dots = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
            lines.append(f"{heading}: {', '.join(names[:5])}{dots}")
    for name, values in drift.invalid.items():
        lines.append(f"{name}: {counted(values, 'invalid value')} {as_missing(values)}")
    if drift.duplicates:
        lines.append(f"{counted(drift.duplicates, 'duplicate new row')} left out")
    if drift.counted_as < drift.learned:
        lines.append(
            f"in the tests the training rows, {drift.learned:,.10g} by weight, count as "
            f"{drift.counted_as:,.10g} distinct ones"
        )
    return lines


def word_rows(column: ColumnDrift) -> list[tuple[str, ...]]:
    """Table rows under `WORD_HEADS`, for the words of a column that changed most."""
    return [
        (word.word, f"{'≤ ' * word.at_most}{percent(word.learned)}", percent(word.new),
         p_cell(word.p_value))
        for word in column.words[:WORDS]
    ]  # fmt: skip


def word_notes(column: ColumnDrift) -> list[str]:
    """Notes below the table of words."""
    if not any(word.at_most for word in column.words):
        return []
    return [
        "≤: the model counts words, not the texts that contain them: an upper bound, so only an "
        "increase is tested"
    ]


def row_sentence(drift: Drift) -> str:
    """One sentence: the mean log-likelihood of the new rows."""
    row = drift.row
    if math.isnan(row.lower):
        return ""
    direction = "below" if row.lower >= 0 else "above"
    return (
        f"likelihood of the rows: the mean log-likelihood of the new rows is "
        f"{_with_error(abs(row.lower), row.error)} nats {direction} that of the training rows "
        f"(p-value {p_in_words(drift.row_p)}); "
        f"{counted(row.columns, 'feature')}, taken as independent"
    )


def _with_error(value: float, error: float) -> str:
    """Round both to the second digit of the error, if it is between 0 and 100."""
    if not 0 < error < 100:
        return f"{value:.3g} ± {error:.2g}"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def unlikely_rows(drift: Drift) -> list[tuple[str, ...]]:
    """Table rows under `ROW_HEADS`, for the least probable rows."""
    return [
        (
            f"{row.row + 1:,}",
            ", ".join(f"{name} {value}" for name, value in row.values.items()),
            f"{-row.surprise:.1f}",
        )
        for row in drift.row.unlikely
    ]  # fmt: skip


def share_heads(drift: Drift) -> tuple[str, ...]:
    """Headings of `share_rows`, without the error if it is not known."""
    return SHARE_HEADS[: 4 if np.isnan(drift.share.error).all() else 5]


def share_rows(drift: Drift) -> list[tuple[str, ...]]:
    """Table rows under `share_heads`, for the classes with the most rows."""
    share, size = drift.share, len(share_heads(drift))
    order = np.argsort(-share.learned, kind="stable")[:CLASSES]
    class_shares = (share.learned, share.predicted, share.estimated, share.error)[: size - 1]
    return [
        (str(share.classes[c]), *(_share(shares[c]) for shares in class_shares))
        for c in sorted(order.tolist())
    ]


def share_notes(drift: Drift) -> list[str]:
    """Notes below the table of classes."""
    share, lines = drift.share, []
    if len(share.classes) > CLASSES:
        lines.append(f"and {len(share.classes) - CLASSES:,} more classes with fewer rows")
    if share.method == "EM":
        lines.append(f"estimated by EM (Saerens et al. 2002), {ASSUMED}")
    elif share.method:
        lines.append(f"estimated from the means of the features' evidence, {ASSUMED}")
    elif len(share.classes) > 1:
        lines.append("too few or too skewed rows to estimate class frequencies")
    lines.append(
        f"test that the class frequencies are unchanged: p-value {p_in_words(drift.share_p)}"
    )
    if (drift.drifted or drift.share_p < drift.level) and share.explained < HALF:
        lines.append(
            f"the estimate may be wrong: it explains {percent(max(share.explained, 0.0))} of the "
            "feature drift; the features of each class may have changed too"
        )
    elif share.method:
        points = percent(share.moved).replace("%", " percentage points")
        lines.append(
            f"with the estimate as class prior, {percent(share.changed)} of the predictions "
            f"change, and probabilities by {points} on average"
        )
    return lines


def p_cell(p: float) -> str:
    """Format a p-value for a table."""
    return "·" if math.isnan(p) else "<1e-9" if p < 1e-9 else f"{p:.2g}"


def p_in_words(p: float) -> str:
    """Format a p-value for a sentence."""
    return "not estimated" if math.isnan(p) else p_cell(p)


def _share(value: float) -> str:
    return "·" if math.isnan(value) else percent(value)


# ---- drift ---------------------------------------------------------------------------------------


LISTED, REASONS = 5, 3
"""Least probable rows to list, and features to name for each."""


@dataclass(frozen=True)
class UnlikelyRow:
    """A row of rare values.

    Attributes
    ----------
    row : its position, counted from 0.
    surprise : rarity of its values, summed over features: -log of the share of training rows with
        the category, or with a number at least as far out; if only mean and variance are known,
        -log of a normal density. In nats above the mean of training rows.
    columns : dict, the rarest features, decreasing, and the nats of each.
    values : dict, the values of these features.
    """

    row: int
    surprise: float
    columns: dict[str, float]
    values: dict[str, str]


@dataclass(frozen=True)
class RowDrift:
    """The likelihood of the new rows.

    log p(x) sums features as if they were independent, from the counts of all classes together, so
    that its mean over the training rows follows from the sums, without the rows.

    Attributes
    ----------
    columns : number of features used: those with counts of each value; if there are none, those
        with means and variances, as if they were normally distributed.
    lower : mean log p(x) of the training rows less that of the new rows, in nats.
    error : its standard error.
    p_value : of `lower` being at most 0; NaN where it cannot be tested.
    unlikely : list of UnlikelyRow, the least probable rows.
    """

    columns: int
    lower: float
    error: float
    p_value: float
    unlikely: list[UnlikelyRow]


def rows_drift(
    known: Sequence[Marginal], columns: Sequence[Compared], n: float, at: Int64
) -> RowDrift:
    """Test the likelihood of the new rows, and find the least probable ones.

    Parameters
    ----------
    known, columns : the statistics of each feature, and their comparison.
    n : number of training rows.
    at : (m,) the position of each new row in the data.
    """
    pairs = [*zip(known, columns, strict=True)]
    bounded = [c for marginal, c in pairs if isinstance(marginal, Cells) and c.surprise is not None]
    selected = bounded or columns  # one outlier of an unbounded feature would outweigh all others
    surprises = [(c.surprise, c.excess) for c in selected if c.surprise is not None]
    rarities = [(marginal, c.odd) for marginal, c in pairs if c.odd is not None]
    if not surprises:
        return RowDrift(0, math.nan, math.nan, math.nan, [])
    above = np.sum([values - excess for values, excess in surprises], axis=0)
    error = float(above.std(ddof=1)) * math.sqrt(1 / len(at) + 1 / n) if len(at) > 1 else math.nan
    total = np.sum([values for _, values in rarities], axis=0)
    rarest = np.argsort(-total, kind="stable")[:LISTED].tolist()
    return RowDrift(
        len(surprises), float(above.mean()), error, of_rises(above, n, 0.0),
        [_unlikely(i, rarities, float(total[i]), int(at[i])) for i in rarest],
    )  # fmt: skip


def _unlikely(i: int, odd: list[tuple[Marginal, Float64]], total: float, row: int) -> UnlikelyRow:
    reasons = sorted(odd, key=lambda pair: -pair[1][i])[:REASONS]
    reasons = [pair for pair in reasons if pair[1][i] > 0]
    return UnlikelyRow(
        row, total, {marginal.name: float(rarity[i]) for marginal, rarity in reasons},
        {marginal.name: value_text(marginal, i) for marginal, _ in reasons},
    )  # fmt: skip


def value_text(known: Marginal, i: int) -> str:
    """The value of new row i, which is not missing."""
    if isinstance(known, Cells):
        return level_text(known.levels[known.codes[i]])
    assert not isinstance(known, Terms)
    value = float(known.values[i])
    return number(math.exp(min(value, 709.0)) if known.of_logs else value)


# ---- label shift ---------------------------------------------------------------------------------


HEAVY = 1e3  # weight of the constraint that shares sum to 1, in least squares


@dataclass(frozen=True)
class ShareDrift:
    """The class frequencies of the new rows.

    Attributes
    ----------
    classes : (C,) labels.
    learned : (C,) share of the training rows.
    predicted : (C,) share of the new rows that are predicted as each class.
    estimated : (C,) estimated share of the new rows, assuming that the features of each class are
        unchanged; NaN if it cannot be estimated.
    error : (C,) its standard error; NaN if not known.
    method : "EM" (Saerens, Latinne & Decaestecker 2002), if the model is calibrated on
        out-of-fold predictions; otherwise "means": the shares for which the class means of the
        features' evidence in training add up to the means of the new rows. "" without an estimate.
    p_value : of unchanged shares, by the means of the features' evidence; NaN if it cannot be
        tested.
    explained : share of the feature drift that the estimate explains; NaN without drift. If it is
        small, the features of each class have changed too, and the estimate is not valid.
    changed : share of the new rows that get another label with the estimate as class prior.
    moved : mean change of their probabilities then: half of Σ_c |ΔP(c | x)|.
    """

    classes: Labels
    learned: Float64
    predicted: Float64
    estimated: Float64
    error: Float64
    method: str
    p_value: float
    explained: float
    changed: float
    moved: float


def shares(
    posterior: Posterior, weight: Float64, evidence: Float64, means: Float64, log_p: Float64,
    columns: Sequence[Compared],
) -> ShareDrift:  # fmt: skip
    """Estimate the class frequencies of new rows, and test whether they have changed.

    Parameters
    ----------
    weight, evidence, means : as in `by_means`.
    log_p : (m, C) log P(c | x) of the new rows, in nats.
    columns : the comparison of each feature.
    """
    classes = len(weight)
    learned, nans = weight / weight.sum(), np.full(classes, np.nan)
    best = log_p.argmax(axis=1)
    predicted = np.bincount(best, minlength=classes) / len(best)
    estimated, error, method, p = nans, nans, "", math.nan
    if classes > 1:
        estimated, error, p = by_means(evidence, means, weight)
        method = "means" if not np.isnan(estimated).any() else ""
    if posterior.parameters.out_of_fold is not None and classes > 1:
        with np.errstate(invalid="ignore"):
            odds = log_p - posterior.log_prior
        estimated, error, method = adapted(odds, posterior.class_prior), nans, "EM"
    if not method:
        return ShareDrift(
            posterior.classes, learned, predicted, nans, nans, "", p, math.nan, math.nan, math.nan
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        other = log_p + np.log(estimated) - posterior.log_prior
    other = np.where(np.isnan(other), -np.inf, other)
    impossible = np.isneginf(other).all(axis=1)
    other[impossible] = log_p[impossible]
    q = np.exp(other - other.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    return ShareDrift(
        posterior.classes, learned, predicted, estimated, error, method, p,
        _explained(columns, learned, estimated),
        float((other.argmax(axis=1) != best).mean()),
        float(np.abs(q - np.exp(log_p)).sum(axis=1).mean() / 2.0),
    )  # fmt: skip


def _explained(columns: Sequence[Compared], learned: Float64, estimated: Float64) -> float:
    """The share of the feature drift that the estimated class frequencies explain."""
    before = after = 0.0
    for column in columns:
        if column.by_class is not None and column.new is not None:
            before += float(np.abs(learned @ column.by_class - column.new).sum())
            after += float(np.abs(estimated @ column.by_class - column.new).sum())
    return 1.0 - after / before if before > 0 else math.nan


def by_means(evidence: Float64, means: Float64, weight: Float64) -> tuple[Float64, Float64, float]:
    """(class shares of the new rows, their standard errors, the p-value of no change).

    If the features of each class are unchanged, the mean of any function over new rows is Σ_c π_c
    times its mean in class c, which is known from the sums, even if features are dependent. The
    functions are the features' evidence for each class, summed as if they were independent,
    because it differs between classes. π is estimated by generalised least squares, and tested
    by Hotelling's test. NaN where rows are too few or too skewed for normal means.

    Parameters
    ----------
    evidence : (m, C) evidence of each new row for each class, in nats.
    means : (C, C) its mean over the training rows of each class (first axis).
    weight : (C,) training rows of each class.
    """
    (m, classes), n = evidence.shape, float(weight.sum())
    prior, present = weight / n, np.flatnonzero(weight > 0)
    unknown = np.full(classes, np.nan)
    if len(present) < 2 or m <= len(present):
        return unknown, unknown, math.nan
    deviations = evidence - prior @ means
    basis = np.zeros((len(present) - 1, classes))  # moves a share from the first class to another
    basis[:, present[0]] = -1.0
    basis[np.arange(len(present) - 1), present[1:]] = 1.0
    steps = (basis @ means).T
    precision = np.linalg.pinv(np.atleast_2d(np.cov(evidence.T)), hermitian=True)
    information = steps.T @ precision @ steps
    size = np.abs(np.linalg.eigvalsh(information))
    if not np.isfinite(size).all() or size.min() <= 1e-9 * size.max():
        return unknown, unknown, math.nan
    by_row = deviations @ precision @ steps @ np.linalg.inv(information)
    if not all(is_normal(summand, n) for summand in by_row.T):
        return unknown, unknown, math.nan
    shifts = by_row.mean(axis=0)
    covariance = np.linalg.inv(information) * (1.0 / m + 1.0 / n)
    dof = len(shifts)
    hotelling = float(shifts @ np.linalg.solve(covariance, shifts)) * (m - dof) / (dof * (m - 1.0))
    p = float(special.fdtrc(dof, m - dof, hotelling))
    shares = prior + shifts @ basis
    error = np.sqrt(np.maximum(np.einsum("kc,kl,lc->c", basis, covariance, basis), 0.0))
    if shares.min() < 0:
        values, vectors = np.linalg.eigh(precision)
        root = np.sqrt(np.maximum(values, 0.0))[:, np.newaxis] * vectors.T
        to_explain = np.append(root @ evidence.mean(axis=0), HEAVY)
        shares = optimize.nnls(np.vstack([root @ means.T, np.full(classes, HEAVY)]), to_explain)[0]
        shares /= shares.sum()
    return shares, error, p


# ---- drift ---------------------------------------------------------------------------------------


LEVEL = 0.01


@dataclass(frozen=True, repr=False, eq=False)
class Drift:
    """The result of `drift`.

    Attributes
    ----------
    level : significance level, for all tests together.
    rows : number of new rows.
    sampled : number of rows used: fewer than `rows` if they were sampled.
    duplicates : number of duplicates among these, which count once. Rows that recur by nature
        are not duplicates (`naively.pooling.duplicates`).
    learned : training rows, or their weight.
    counted_as : number of training rows in tests: at most their true number, and without
        duplicates where the model stores rows.
    columns : list of ColumnDrift: drifted features by decreasing distance, then the others.
    row : RowDrift, the likelihood of the rows.
    share : ShareDrift, the class frequencies.
    row_p, share_p : their p-values, corrected by Holm's method for all tests.
    absent : features of the model that the new rows do not have.
    unknown : columns of the new rows that the model does not have.
    uncompared : features of the model without statistics that can be compared.
    invalid : dict, the number of invalid values of a column. They count as missing.
    """

    level: float
    rows: int
    sampled: int
    duplicates: int
    learned: float
    counted_as: float
    columns: list[ColumnDrift]
    row: RowDrift
    share: ShareDrift
    row_p: float
    share_p: float
    absent: list[str]
    unknown: list[str]
    uncompared: list[str]
    invalid: dict[str, int]

    @property
    def drifted(self) -> list[str]:
        """The features that have drifted, by decreasing distance."""
        return [column.name for column in self.columns if column.adjusted < self.level]

    @property
    def found(self) -> bool:
        """Whether anything has drifted; without drift, true with probability `level` at most."""
        return bool(self.drifted) or self.row_p < self.level or self.share_p < self.level

    def parts(self) -> list[Part]:
        """The tables of features, words, rows and classes."""
        strong = [k for k, item in enumerate(self.columns) if item.adjusted < self.level]
        result: list[Part] = [
            Table("Feature drift", COLUMN_HEADS, column_rows(self), 2, column_notes(self),
                  elastic=1, optional=(3,), strong=strong)
        ]  # fmt: skip
        for item in self.columns:
            if item.words:
                title = f"Words of {item.name}"
                result.append(Table(title, WORD_HEADS, word_rows(item), 1, word_notes(item)))
        if self.row.columns:
            lines, rows = [row_sentence(self), ROW_NOTE], unlikely_rows(self)
            result.append(Table("Least likely rows", ROW_HEADS, rows, 2, lines, elastic=1))
        title = "Class frequencies (label shift)"
        return [*result, Table(title, share_heads(self), share_rows(self), 1, share_notes(self))]

    @property
    def _facts(self) -> dict[str, str]:
        return {"training": learned_rows(self), "new": new_rows(self), "result": verdict(self)}

    def __str__(self) -> str:
        return as_text(Group(facts(**self._facts), on_page(*self.parts())))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_of("Data drift", self._facts, *self.parts())

    def to_arrow(self) -> pa.Table:
        """A table with a row per feature, in the order of `columns`, and whether it drifted."""
        attributes = ("name", "kind", "change", "distance", "expected", "p_value", "adjusted")
        columns = {name: [getattr(column, name) for column in self.columns] for name in attributes}
        columns["drifted"] = [column.adjusted < self.level for column in self.columns]
        for k, name in enumerate(("missing_learned", "missing_new")):
            columns[name] = [column.missing[k] for column in self.columns]
        kinds = {name: pa.string() for name in attributes[:3]} | {"drifted": pa.bool_()}
        return pa.table(
            {
                name: pa.array(column, kinds.get(name, pa.float64()))
                for name, column in columns.items()
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """All attributes as JSON values: null for unknown ones; rows are counted from 1."""
        values = dict(vars(self))
        values["drift"] = self.found
        values["drifted"] = self.drifted
        values["columns"] = [
            {**asdict(item), "drifted": item.adjusted < self.level} for item in self.columns
        ]
        unlikely = [{**asdict(item), "row": item.row + 1} for item in self.row.unlikely]
        values["row"] = {**asdict(self.row), "adjusted": values.pop("row_p"), "unlikely": unlikely}
        share = vars(self.share)
        by_class = ("classes", "learned", "predicted", "estimated", "error")
        lists = zip(*(np.asarray(share[name]).tolist() for name in by_class), strict=True)
        names = ("class", *by_class[1:])
        values["share"] = {
            "classes": [dict(zip(names, class_values, strict=True)) for class_values in lists],
            **{name: value for name, value in share.items() if name not in by_class},
            "adjusted": values.pop("share_p"),
        }
        return dict(plain_json(values))


def check_model(model: Model) -> None:
    """Raise ValueError for a multilabel model."""
    if isinstance(model, Multilabel):
        raise ValueError(
            "drift compares rows that have one label each; those of this model have any number"
        )


def examine(
    model: Model, posterior: Posterior, rows: Data, rows_to_predict: Data, workers: Workers,
    level: float = LEVEL, at: Int64 | None = None, total: int | None = None,
    absent: Sequence[str] = (), unknown: Sequence[str] = (),
    invalid: dict[str, Invalid] | None = None,
) -> Drift:  # fmt: skip
    """Compare new rows with the training rows of a model.

    Parameters
    ----------
    posterior : of the model.
    rows : the new rows, encoded.
    rows_to_predict : the same for prediction: without columns that are constant in training.
    at : (m,) the positions of these rows in the data; None for all of them.
    total : rows of the data; None if these are all.
    absent, unknown, invalid : as in `Drift`.

    Raises
    ------
    ValueError : if there are no new rows, or no training rows.
    """
    check_level(level)
    m = rows.shape[0]
    if not m:
        raise ValueError("there are no new rows to compare")
    weight = model.class_weight.rounded()
    learned = float(weight.sum())
    if not learned or not model.rows:
        raise ValueError("the model has no training rows to compare with")
    at = np.arange(m) if at is None else at
    rows = posterior.parameters.readable(rows)
    first_equal = alike(model.schema, rows, np.zeros(m, np.int64))
    if len(distinct := np.flatnonzero(first_equal == np.arange(m))) < m:
        rows, rows_to_predict, at = rows[distinct], rows_to_predict[distinct], at[distinct]
    scale = min(1.0, model.rows / learned) * _different(model)
    features = marginals(model, rows, workers)
    columns: list[Compared] = []
    evidence, means = np.zeros((len(distinct), len(weight))), np.zeros((len(weight), len(weight)))
    for one in features:  # summed at once: the evidence of each feature is (m, C)
        comparison = compared(one, scale)
        if comparison.evidence is not None and comparison.means is not None:
            evidence, means = evidence + comparison.evidence, means + comparison.means
        columns.append(replace(comparison, evidence=None))
    row = rows_drift(features, columns, learned * scale, at)
    log_p = posterior.log_proba(rows_to_predict, workers)
    share = shares(posterior, weight * scale, evidence, means, log_p, columns)
    p = holm(np.array([*(one.drift.p_value for one in columns), row.p_value, share.p_value]))
    drifts = [replace(one.drift, adjusted=q) for one, q in zip(columns, p.tolist(), strict=False)]
    drifts.sort(key=lambda one: _rank(one, level))
    return Drift(
        level, m if total is None else total, m, m - len(distinct), learned, learned * scale,
        drifts, row, share, float(p[-2]), float(p[-1]), [*absent], [*unknown],
        [name for name in model.schema.ordered if name not in {one.name for one in features}],
        {name: one.count for name, one in (invalid or {}).items()},
    )  # fmt: skip


def _different(model: Model) -> float:
    """The share of training rows without duplicates; 1 if the model stores no rows."""
    for statistics in model.parts:
        if isinstance(statistics, SampleStatistics):
            rows = Canonical.of(statistics.canonical())
            return 1.0 - rows.duplicates / max(float(rows.class_weight.sum()), 1e-300)
        if isinstance(statistics, PooledTerms):
            return 1.0 - repeated_part(statistics.sample)
    return 1.0


def of_table(
    model: Model, posterior: Posterior, table: pa.Table, target: str | None, workers: Workers,
    level: float = LEVEL, at: Int64 | None = None, total: int | None = None,
) -> Drift:  # fmt: skip
    """Compare the rows of a table with the training rows of a model; see `examine`.

    The target, and columns that the model does not have, are left out.

    Raises
    ------
    ValueError : also if the table has none of the model's features.
    """
    absent, unknown = other_columns(model.schema, target, table.column_names)
    if len(absent) == len(model.schema.names):
        raise ValueError(
            f"X has none of the features of the model: {few(absent)}; it has the columns "
            f"{few(table.column_names)}"
        )
    rows, invalid = encode_for(posterior, table)
    unvaried = unvaried_in(posterior)
    scored_rows = encode(model.schema, table, unvaried)[0] if unvaried else rows
    return examine(
        model, posterior, rows, scored_rows, workers, level, at, total, absent, unknown, invalid
    )


def check_level(level: float) -> None:
    """Raise ValueError unless it is a probability above 0 and below 1."""
    if not 0 < level < 1:
        raise ValueError(f"the level is a probability above 0 and below 1, as 0.01, not {level!r}")


def _rank(column: ColumnDrift, level: float) -> tuple[Any, ...]:
    if column.adjusted < level:
        return 0, -column.distance
    return 1, math.isnan(column.p_value), column.p_value
