"""Tallies of predictions add up, and give the scores of scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from naively.core.exact import ExactArray
from naively.evaluation.metrics import LabelTally, RuleTally, Tally
from naively.model.decisions import DecisionRule

LABELS = np.array(["a", "b", "c"])


def predictions(seed, n=200, classes=3):
    """(truth, -1 for some; log P(c | x), some of it equal; weights, some of them 0)."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, classes)).round(1) * rng.choice([1, 300], (n, 1), p=[0.9, 0.1])
    log_proba = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    return rng.integers(-1, classes, n), log_proba, rng.integers(0, 4, n) / 3


def tallied(*parts, classes=3, positive=1):
    tally = Tally(LABELS[:classes], np.log(np.full(classes, 1 / classes)), 0, positive)
    for truth, log_proba, weights in parts:
        tally.add(truth, log_proba, weights=weights)
    return tally


def said(tally):
    """All that a tally says, bit for bit; NaN is NaN."""
    found = tally.scores()
    return repr((found.as_json(), found.calibration, found.mistaken.tolist()))


# ---- it adds up ----------------------------------------------------------------------------------


@given(st.integers(0, 100), st.booleans(), st.lists(st.integers(0, 200), max_size=3))
def test_parts_add_up_in_any_order_bit_for_bit(seed, weighed, cuts):
    truth, log_proba, weights = predictions(seed)
    weights = weights if weighed else None
    whole = tallied((truth, log_proba, weights))
    mixed = np.random.default_rng(seed).permutation(len(truth))
    tallies = [
        tallied((truth[rows], log_proba[rows], None if weights is None else weights[rows]))
        for rows in np.split(mixed, sorted(cuts))
    ]
    total = tallied()
    for one in tallies:
        total = one + total
    assert said(total) == said(whole)
    assert said(total + tallied()) == said(whole)


def test_a_sum_changes_neither_part():
    first, second = (tallied((*predictions(seed)[:2], None)) for seed in (0, 1))
    before = said(first), said(second)
    assert said(first + second) == said(second + first)
    assert (said(first), said(second)) == before


def test_rows_of_weight_w_count_as_w_rows():
    truth, log_proba, _ = predictions(2)
    weights = np.random.default_rng(2).integers(0, 4, len(truth))
    weighed = tallied((truth, log_proba, weights.astype(float))).scores()
    rows = np.repeat(np.arange(len(truth)), weights)
    repeated = tallied((truth[rows], log_proba[rows], None)).scores()
    found, expected = weighed.as_json(), repeated.as_json()
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, float) and "standard_error" not in name:
            assert found[name] == pytest.approx(value, rel=1e-12, nan_ok=True), name
        elif not isinstance(value, float):
            assert found[name] == value
    assert weighed.accuracy_standard_error == pytest.approx(repeated.accuracy_standard_error)


# ---- the scores ----------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighed", [False, True])
def test_scores_are_those_of_sklearn(classes, weighed):
    truth, log_proba, weights = predictions(3, classes=classes)
    known = truth >= 0
    truth, log_proba, weights = truth[known], log_proba[known], weights[known]
    w = weights if weighed else None
    found = tallied((truth, log_proba, w), classes=classes).scores()
    proba, predicted = np.exp(log_proba), log_proba.argmax(axis=1)
    both = {"sample_weight": w}
    assert found.accuracy == pytest.approx(metrics.accuracy_score(truth, predicted, **both))
    assert found.error == pytest.approx(1 - found.accuracy)
    losses = -log_proba[np.arange(len(truth)), truth]
    assert found.log_loss == pytest.approx(np.average(losses, weights=w))
    matrix = metrics.confusion_matrix(truth, predicted, **both)
    np.testing.assert_allclose(found.confusion, matrix)
    balanced = metrics.balanced_accuracy_score(truth, predicted, **both)
    assert found.balanced_accuracy == pytest.approx(balanced)
    assert found.macro_f1 == pytest.approx(
        metrics.f1_score(truth, predicted, average="macro", **both)
    )
    each = metrics.f1_score(truth, predicted, average=None, **both)
    np.testing.assert_allclose(found.by_class.f1, each)
    brier = ((proba - np.eye(classes)[truth]) ** 2).sum(axis=1)
    assert found.brier == pytest.approx(np.average(brier, weights=w))
    assert found.ranking.auc() == pytest.approx(
        metrics.roc_auc_score(truth == 1, proba[:, 1], **both)
    )
    average = metrics.average_precision_score(truth == 1, proba[:, 1], **both)
    assert found.ranking.average_precision() == pytest.approx(average)
    if not weighed:
        assert found.log_loss_standard_error == pytest.approx(
            losses.std(ddof=1) / len(truth) ** 0.5
        )
        assert found.brier_standard_error == pytest.approx(brier.std(ddof=1) / len(truth) ** 0.5)
        assert found.confusion.dtype == np.int64


def test_each_class_is_ranked_against_the_others():
    truth, log_proba, _ = predictions(3, classes=3)
    tallies = [Tally(np.arange(3), ranked=[0, 2]) for _ in range(2)]
    for tally, rows in zip(tallies, np.split(np.arange(len(truth)), [70]), strict=True):
        tally.add(truth[rows], log_proba[rows])
    found = (tallies[1] + tallies[0]).scores()
    assert [*found.rankings] == [0, 2]
    assert found.ranking is None  # no class is the positive one
    known = truth >= 0
    for c, ranking in found.rankings.items():
        ours, theirs = ranking.roc(), metrics.roc_curve(
            truth[known] == c, np.exp(log_proba[known, c]), drop_intermediate=False
        )  # fmt: skip
        for own, their in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(own, their, rtol=1e-12)
    nothing = Tally(np.arange(3), ranked=[0, 2]).scores().rankings
    assert [one.rows for one in nothing.values()] == [0, 0]


def test_standard_errors_are_how_much_scores_vary():
    rng = np.random.default_rng(0)
    scores, errors = [], []
    for _ in range(400):
        truth = rng.integers(0, 2, 150)
        x = (rng.normal(size=150) + truth).round(1)  # with ties
        log_proba = -np.logaddexp(0.0, np.column_stack([x - 0.5, 0.5 - x]))
        found = tallied((truth, log_proba, None), classes=2).scores()
        scores.append((found.accuracy, found.log_loss, found.brier, found.ranking.auc()))
        errors.append((
            found.accuracy_standard_error, found.log_loss_standard_error,
            found.brier_standard_error, found.ranking.auc_standard_error(),
        ))  # fmt: skip
    np.testing.assert_allclose(np.mean(errors, axis=0), np.std(scores, axis=0), rtol=0.1)


def test_unknown_labels_are_errors_without_a_log_loss():
    truth, log_proba, _ = predictions(4)
    known = truth >= 0
    found = tallied((truth, log_proba, None)).scores()
    others = tallied((truth[known], log_proba[known], None)).scores()
    assert (found.rows, found.unknown) == (200, (~known).sum())
    assert found.log_loss == others.log_loss
    assert found.accuracy == pytest.approx(others.accuracy * known.mean())
    assert found.ranking.rows == known.sum()
    assert found.mistaken.sum() == found.unknown


def test_a_class_that_is_impossible_has_an_infinite_loss():
    log_proba = np.log(np.array([[0.5, 0.5], [0.25, 0.75]]))
    log_proba[1] = -np.inf, 0.0
    found = tallied((np.array([0, 0]), log_proba, None), classes=2).scores()
    assert (found.log_loss, found.brier) == (math.inf, 1.25)
    assert math.isnan(found.log_loss_standard_error)
    assert found.worse_than_prior


def test_few_rows_do_not_make_a_model_worse_than_the_prior():
    surprised, prior = np.log([[0.8, 0.2]]), np.log([0.5, 0.5])
    for rows, is_worse in ((1, False), (2, False), (4, False), (5, True), (100, True)):
        tally = Tally(np.arange(2), prior)
        tally.add(np.ones(rows, np.int64), surprised.repeat(rows, 0))
        found = tally.scores()
        assert found.log_loss > found.baseline_log_loss
        assert found.worse_than_prior == is_worse == (rows * np.log(0.5 / 0.2) > np.log(40))


def test_labels_without_probabilities():
    tally = Tally(LABELS)
    losses, wrong = tally.add(np.array([0, 1, 2]), None, np.array([0, 2, -1]))
    assert np.isnan(losses).all()
    assert wrong.tolist() == [0, 1, 1]
    found = tally.scores()
    assert (found.rows, found.unknown, found.accuracy) == (3, 0, 1 / 3)
    assert found.by_class.missed.tolist() == [0, 1, 1]
    assert math.isnan(found.log_loss)
    assert found.confusion.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_no_rows():
    found = tallied().scores()
    assert (found.rows, found.unknown) == (0, 0)
    assert all(map(math.isnan, (found.accuracy, found.log_loss, found.brier, found.macro_f1)))


# ---- rules, and any number of labels -------------------------------------------------------------


def test_a_rule_that_leaves_labels_open():
    costs = np.array([[0.0, 1.0], [5.0, 0.0]])
    tally = RuleTally(DecisionRule.of(costs, 0.8, np.array(["no", "yes"])), 2)
    proba = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9], [0.95, 0.05]])
    tally.add(np.array([1, 0, -1, 0]), np.log(proba))
    plain, by_cost, rule = tally.scores().values()
    assert plain == (0.0, 0.5, 5 / 3)
    assert by_cost == (0.0, 0.25, (5 + 1 + 0) / 3)  # the second row is "yes": 0.5 against 2.5
    assert rule.share_open == 0.25
    assert rule.accuracy == pytest.approx(1 / 3)
    assert isinstance(tally.counts["by_rule"], ExactArray)


def test_labels_of_rows_that_have_any_number_of_them():
    rng = np.random.default_rng(5)
    truth, given_, odds = (
        rng.random((50, 3)) < 0.4,
        rng.random((50, 3)) < 0.5,
        rng.normal(size=(50, 3)),
    )
    lists = [LABELS[own].tolist() for own in truth]
    lists[0] = [*lists[0], "new"]
    tally = LabelTally(LABELS.tolist(), np.zeros(3))
    for rows in np.split(np.arange(50), [20]):
        tally.add([lists[i] for i in rows], given_[rows], odds[rows])
    found = tally.scores()
    assert found.labels == ["a", "b", "c", "new"]
    both = (
        np.column_stack([one, zero])
        for one, zero in ((truth, np.eye(50)[0]), (given_, np.zeros(50)))
    )
    truth, given_ = both
    micro, macro = (
        metrics.f1_score(truth, given_, average=how, zero_division=0) for how in ("micro", "macro")
    )
    assert (found.hits.micro_f1, found.macro_f1) == pytest.approx((micro, macro))
    assert found.exact == (truth == given_).all(axis=1).sum()
    assert found.baseline_log_loss == pytest.approx(3 * math.log(2))
