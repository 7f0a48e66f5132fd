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
from naively.evaluation.drift import two_samples as test
from naively.evaluation.drift.columns import ColumnDrift, Compared, compared, percent
from naively.evaluation.drift.marginals import Cells, Marginal, Terms, marginals
from naively.evaluation.folds import alike
from naively.explain.rendering import rounded
from naively.families.text.distinct import repeated_part
from naively.model.model import Model
from naively.model.multilabel import Multilabel
from naively.model.posterior import Posterior
from naively.model.prior import adapted
from naively.pooling.canonical import Canonical
from naively.rendering import Part, Table, as_text, facts, html_of, on_page, plain_json
from naively.statistics.base import Data
from naively.statistics.rows import number_text
from naively.statistics.sample import SampleStatistics
from naively.statistics.terms import PooledTerms
from naively.tables.counting import other_columns
from naively.tables.encoding import encode_for, silenced
from naively.tables.learning import labelled
from naively.tables.left_out import unvaried_in
from naively.tables.names import few
from naively.tables.targets import positions

SHOWN = 20  # features that are printed, at most; and
WORDS, CLASSES = 5, 10  # words of each text column, and classes
COLUMN_HEADS = ("feature", "largest change", "distance", "expected", "p-value")
WORD_HEADS = ("word", "training", "new", "p-value")
HALF = 0.5
"""Share of the feature drift that label shift must explain, for its estimate to be trusted."""
ASSUMED = "assuming that the features of each class are unchanged"
METHODS = {
    "EM": "by EM (Saerens et al. 2002)", "means": "from the means of the features' evidence",
}  # fmt: skip
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
    rows, which = smaller_sample(drift)
    needed = min((column.rows_needed for column in drift.columns), default=0)
    if not signals and rows < needed:
        return f"too few {which} rows to test for drift: {rows:,.10g} of the {needed:,} needed"
    if not signals and drift.untested:
        features = f"{len(drift.untested):,} of {counted(len(drift.columns), 'feature')}"
        return f"no drift found (no test has {corrected}); too few rows for {features}"
    if not signals:
        return f"no drift found (no test has {corrected})"
    return f"drift in {', '.join(signals)} ({corrected})"


def smaller_sample(drift: Drift) -> tuple[float, str]:
    """The number of rows of the smaller sample, without duplicates, and which it is."""
    return min((drift.sampled - drift.duplicates, "new"), (drift.counted_as, "training"))


def new_rows(drift: Drift) -> str:
    """The number of new rows."""
    sample_text = f", a sample of {drift.sampled:,} of them compared"
    return f"{counted(drift.rows, 'row')}{sample_text * (drift.sampled < drift.rows)}"


def column_rows(drift: Drift) -> list[tuple[str, ...]]:
    """Table rows under `COLUMN_HEADS`, for the features that are printed."""
    return [
        (
            column.name, column.change, _share(column.distance), _share(column.expected),
            p_cell(math.nan if column.untested else column.adjusted),
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
        "distance to expect without drift; p-value: how often rows without drift would differ at "
        "least this much, corrected for the number of tests (Holm)"
    )
    if drift.untested:
        lines.append(
            f"too few rows: two categories or ranges need {test.EXPECTED:g} expected rows each, a "
            f"mean {test.LEAST} rows, texts {test.LEAST_ROWS}"
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
    if smaller_sample(drift)[0] < test.LEAST:
        return f"likelihood of the rows: not tested, as this needs {test.LEAST} rows or more"
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
            ", ".join(f"{name} {rounded(value)}" for name, value in row.values.items()),
            f"{-row.surprise:.1f}",
        )
        for row in drift.row.unlikely
    ]  # fmt: skip


def share_columns(drift: Drift) -> dict[str, Float64]:
    """The class shares of training and new rows by heading, without those that are not known."""
    share = drift.share
    columns = {
        "training": share.learned, "new, predicted": share.predicted,
        "new, estimated": share.estimated, "±": share.error, "new, actual": share.actual,
    }  # fmt: skip
    return {head: shares for head, shares in columns.items() if not np.isnan(shares).all()}


def share_rows(drift: Drift) -> list[tuple[str, ...]]:
    """Table rows under "class" and `share_columns`, for the classes with the most rows."""
    share, columns = drift.share, share_columns(drift).values()
    order = np.argsort(-share.learned, kind="stable")[:CLASSES]
    return [
        (str(share.classes[c]), *(_share(shares[c]) for shares in columns))
        for c in sorted(order.tolist())
    ]


def share_notes(drift: Drift) -> list[str]:
    """Notes below the table of classes."""
    share, lines = drift.share, []
    if len(share.classes) > CLASSES:
        lines.append(f"and {len(share.classes) - CLASSES:,} more classes with fewer rows")
    line = "new, predicted: share of the new rows that are predicted as the class"
    if share.method:
        method = METHODS[share.method]
        line += f"; new, estimated: class frequencies of the new rows, {method}, {ASSUMED}"
    if not np.isnan(share.actual).all():
        line += "; new, actual: frequencies of their labels"
    lines.append(line)
    if share.unknown_labels:
        rows = counted(share.unknown_labels, "label")
        lines.append(f"{rows} of the new rows: not a class of the model")
    few = smaller_sample(drift)[0] < test.LEAST
    if few or (not share.method and len(share.classes) > 1):
        reason = f"this needs {test.LEAST} rows or more" if few else "the features are too skewed"
        return [*lines, f"label shift: neither estimated nor tested, as {reason}"]
    no_evidence = "; no evidence of a change" * (drift.share_p >= drift.level)
    lines.append(
        f"p-value of unchanged class frequencies: {p_in_words(drift.share_p)}{no_evidence}"
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


LISTED, REASONS = 5, 3  # least probable rows to list, and features to name for each


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
    values : dict, the values of these features as text, in full.
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
    lower : mean log p(x) of the training rows less that of the new rows, in nats; NaN for fewer
        than 25 rows.
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
    features: Sequence[Marginal], columns: Sequence[Compared], n: float, at: Int64
) -> RowDrift:
    """Test the likelihood of the new rows, and find the least probable ones.

    `at`: (m,) the position of each new row in the data.
    """
    pairs = [*zip(features, columns, strict=True)]
    bounded = [c for marginal, c in pairs if isinstance(marginal, Cells) and c.surprise is not None]
    selected = bounded or columns  # one outlier of an unbounded feature would outweigh all others
    surprises = [(c.surprise, c.excess) for c in selected if c.surprise is not None]
    rarities = [(marginal, c.odd) for marginal, c in pairs if c.odd is not None]
    total = np.sum([values for _, values in rarities], axis=0)
    rarest = np.argsort(-total, kind="stable")[:LISTED].tolist() if rarities else []
    unlikely = [_unlikely(i, rarities, float(total[i]), int(at[i])) for i in rarest]
    if not surprises or min(len(at), n) < test.LEAST:
        return RowDrift(len(surprises), math.nan, math.nan, math.nan, unlikely)
    above = np.sum([values - excess for values, excess in surprises], axis=0)
    error = float(above.std(ddof=1)) * math.sqrt(1 / len(at) + 1 / n)
    mean, p = float(above.mean()), test.of_rises(above, n, 0.0)
    return RowDrift(len(surprises), mean, error, p, unlikely)


def _unlikely(i: int, odd: list[tuple[Marginal, Float64]], total: float, row: int) -> UnlikelyRow:
    reasons = sorted(odd, key=lambda pair: -pair[1][i])[:REASONS]
    reasons = [pair for pair in reasons if pair[1][i] > 0]
    return UnlikelyRow(
        row, total, {marginal.name: float(rarity[i]) for marginal, rarity in reasons},
        {marginal.name: value_text(marginal, i) for marginal, _ in reasons},
    )  # fmt: skip


def value_text(marginal: Marginal, i: int) -> str:
    """The value of new row i, which is not missing."""
    assert not isinstance(marginal, Terms)
    if isinstance(marginal, Cells):
        value = marginal.levels[marginal.codes[i]]
    else:
        value = math.exp(min(marginal.values[i], 709.0)) if marginal.of_logs else marginal.values[i]
    return number_text(float(value)) if isinstance(value, float | np.floating) else str(value)


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
    actual : (C,) share of the labelled new rows; NaN without labels. No test uses it.
    unknown_labels : number of new rows with a label that is no class of the model.
    estimated : (C,) estimated share of the new rows, assuming that the features of each class are
        unchanged; NaN if it cannot be estimated, or from fewer than 25 rows.
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
    actual: Float64
    unknown_labels: int
    estimated: Float64
    error: Float64
    method: str
    p_value: float
    explained: float
    changed: float
    moved: float


def shares(
    posterior: Posterior, weight: Float64, evidence: Float64, means: Float64, log_p: Float64,
    columns: Sequence[Compared], truth: Int64,
) -> ShareDrift:  # fmt: skip
    """Estimate the class frequencies of new rows, and test whether they have changed.

    `weight, evidence, means`: as in `by_means`. `log_p`: (m, C) log P(c | x) of the new rows, in
    nats. `truth`: the class of each labelled new row, -1 if it is no class of the model.
    """
    classes = len(weight)
    learned, nans = weight / weight.sum(), np.full(classes, np.nan)
    best = log_p.argmax(axis=1)
    predicted = np.bincount(best, minlength=classes) / len(best)
    actual = np.bincount(truth + 1, minlength=classes + 1) / len(truth) if len(truth) else nans
    observed = posterior.classes, learned, predicted, actual[-classes:], int((truth < 0).sum())
    estimated, error, method, p = nans, nans, "", math.nan
    if classes > 1:
        estimated, error, p = by_means(evidence, means, weight)
        method = "means" if not np.isnan(estimated).any() else ""
    enough = min(len(log_p), weight.sum()) >= test.LEAST
    if posterior.parameters.out_of_fold is not None and classes > 1 and enough:
        with np.errstate(invalid="ignore"):
            odds = log_p - posterior.log_prior
        estimated, error, method = adapted(odds, posterior.class_prior), nans, "EM"
    if not method:
        return ShareDrift(*observed, nans, nans, "", p, math.nan, math.nan, math.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        other = log_p + np.log(estimated) - posterior.log_prior
    other = np.where(np.isnan(other), -np.inf, other)
    impossible = np.isneginf(other).all(axis=1)
    other[impossible] = log_p[impossible]
    q = np.exp(other - other.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    return ShareDrift(
        *observed, estimated, error, method, p, _explained(columns, learned, estimated),
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

    `evidence`: (m, C) evidence of each new row for each class, in nats. `means`: (C, C) its mean
    over the training rows of each class (first axis). `weight`: (C,) training rows of each class.
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
    if not all(test.is_normal(summand, n) for summand in by_row.T):
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
    def untested(self) -> list[str]:
        """The features whose distribution was not compared: they have too few rows."""
        return [column.name for column in self.columns if column.rows_needed]

    @property
    def has_drift(self) -> bool:
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
            if item.words and not item.untested:
                title = f"Words of {item.name}"
                result.append(Table(title, WORD_HEADS, word_rows(item), 1, word_notes(item)))
        if self.row.unlikely:
            lines, rows = [row_sentence(self), ROW_NOTE], unlikely_rows(self)
            result.append(Table("Least likely rows", ROW_HEADS, rows, 2, lines, elastic=1))
        title = "Class frequencies (label shift)"
        heads = "class", *share_columns(self)
        return [*result, Table(title, heads, share_rows(self), 1, share_notes(self))]

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
        arrays = {n: pa.array(column, kinds.get(n, pa.float64())) for n, column in columns.items()}
        return pa.table(arrays)

    def to_dict(self) -> dict[str, Any]:
        """All attributes as JSON values: null for unknown ones; rows are counted from 1."""
        values = dict(vars(self))
        values["drift"] = self.has_drift
        values["drifted"], values["untested"] = self.drifted, self.untested
        values["columns"] = [
            {**asdict(item), "drifted": item.adjusted < self.level} for item in self.columns
        ]
        unlikely = [{**asdict(item), "row": item.row + 1} for item in self.row.unlikely]
        values["row"] = {**asdict(self.row), "adjusted": values.pop("row_p"), "unlikely": unlikely}
        share = vars(self.share)
        by_class = ("classes", "learned", "predicted", "estimated", "error", "actual")
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
    model: Model, posterior: Posterior, rows: Data, workers: Workers, level: float = LEVEL,
    at: Int64 | None = None, total: int | None = None, absent: Sequence[str] = (),
    unknown: Sequence[str] = (), invalid: dict[str, Invalid] | None = None,
    truth: Int64 | None = None,
) -> Drift:  # fmt: skip
    """Compare new rows with the training rows of a model.

    `rows`: the new rows, encoded; invalid values are missing. `at`: (m,) the positions of these
    rows in the data; None for all of them. `total`: rows of the data; None if these are all.
    `absent, unknown, invalid`: as in `Drift`. `truth`: as in `shares`; None without labels. Raises
    ValueError if there are no new rows, or no training rows.
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
    first_equal = alike(model.schema, rows, np.zeros(m, np.int64))
    if len(distinct := np.flatnonzero(first_equal == np.arange(m))) < m:
        rows, at = rows[distinct], at[distinct]
    scale = min(1.0, model.rows / learned) * _different(model)
    features = marginals(model, rows, workers)
    columns: list[Compared] = []
    evidence, means = np.zeros((len(distinct), len(weight))), np.zeros((len(weight), len(weight)))
    for feature in features:  # summed at once: the evidence of each feature is (m, C)
        comparison = compared(feature, scale)
        if comparison.evidence is not None and comparison.means is not None:
            evidence, means = evidence + comparison.evidence, means + comparison.means
        columns.append(replace(comparison, evidence=None))
    row = rows_drift(features, columns, learned * scale, at)
    parts = [rows] if model.schema.is_single else rows.parts
    parts = silenced(model.schema, parts, unvaried_in(posterior))
    log_p = posterior.log_proba(model.schema.rows(parts, len(distinct)), workers)
    truth = np.empty(0, np.int64) if truth is None else truth
    share = shares(posterior, weight * scale, evidence, means, log_p, columns, truth)
    p_values = [*(column.drift.p_value for column in columns), row.p_value, share.p_value]
    p = test.holm(np.array(p_values))
    pairs = zip(columns, p.tolist(), strict=False)
    drifts = [replace(column.drift, adjusted=adjusted) for column, adjusted in pairs]
    drifts.sort(key=lambda column: _rank(column, level))
    return Drift(
        level, m if total is None else total, m, m - len(distinct), learned, learned * scale,
        drifts, row, share, float(p[-2]), float(p[-1]), [*absent], [*unknown],
        [name for name in model.schema.ordered if name not in {item.name for item in features}],
        {name: item.count for name, item in (invalid or {}).items()},
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

    Columns that the model does not have are left out; labels are counted.

    Raises ValueError also if the table has none of the model's features.
    """
    absent, unknown = other_columns(model.schema, target, table.column_names)
    if len(absent) == len(model.schema.names):
        raise ValueError(
            f"X has none of the features of the model: {few(absent)}; it has the columns "
            f"{few(table.column_names)}"
        )
    rows, invalid = encode_for(posterior, table)
    truth = None
    if target is not None:
        labels, codes = labelled(table, target, model.schema.missing)
        truth = positions(labels, posterior.classes)[codes[codes < len(labels)]]
    return examine(
        model, posterior, rows, workers, level, at, total, absent, unknown, invalid, truth
    )


def check_level(level: float) -> None:
    """Raise ValueError unless it is a probability above 0 and below 1."""
    if not 0 < level < 1:
        raise ValueError(f"the level is a probability above 0 and below 1, as 0.01, not {level!r}")


def _rank(column: ColumnDrift, level: float) -> tuple[Any, ...]:
    if column.adjusted < level:
        return 0, -column.distance
    return 1, math.isnan(column.p_value), column.p_value
