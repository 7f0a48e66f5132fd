"""Weights of evidence: held-out rows, and several assignments to folds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from naively import AutoBayes
from naively.core.hashing import mixed
from naively.core.workers import SERIAL
from naively.pooling import canonical
from naively.pooling import entries as folds
from naively.pooling.entries import PARTS, Entries
from naively.pooling.weights import Piece, Pool


def evidence_of(classes, n=80, blocks=5, seed=0):
    """A piece of entries whose evidence is noisy, and a ridge."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    evidence = rng.normal(size=(blocks, classes, n)) + 0.7 * (
        np.arange(classes)[:, np.newaxis] == y
    )
    evidence = (evidence[:, 1:] - evidence[:, :1]).astype(np.float32)
    weight = rng.integers(1, 3, n).astype(np.float32)
    return Piece(evidence, np.zeros((classes - 1, n), np.float32), y, weight)


def refitted(piece, penalty, kept):
    """Weights and biases that minimise the loss of some entries, by scipy."""
    some = piece.take(np.flatnonzero(kept))

    def loss(x):
        losses, slopes = some.slopes(x)
        return losses + 0.5 * x @ penalty @ x, slopes + penalty @ x

    return minimize(loss, np.zeros(len(penalty)), jac=True, options={"gtol": 1e-4}).x


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_weights_without_a_row_are_those_of_a_fit_without_it(classes):
    piece = evidence_of(classes)
    pool = Pool([piece], np.zeros(5, bool), SERIAL)
    found = pool.best(None, None)
    penalty = pool._penalty(found.ridge, found.ridge)
    at_all = np.concatenate([found.of_blocks, found.bias])
    training = piece.expected(piece.scores(at_all))[1]
    exact = np.array([
        piece.expected(piece.scores(refitted(piece, penalty, np.arange(80) != k)))[1][k]
        for k in range(80)
    ])  # fmt: skip
    approximate = found.out_of_fold.losses
    assert (approximate >= training).all()
    # the loss of a row that its weights have seen is too small: little of that is left
    assert abs((approximate - exact).mean()) < 0.2 * (exact - training).mean()
    assert np.abs(approximate - exact).max() < 0.4 * (exact - training).max()
    assert found.log_loss == pytest.approx(np.average(approximate, weights=piece.weight), rel=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_all_copies_of_a_row_are_left_out_together(classes):
    """Rows that occur in several assignments to folds are as if they occurred in one."""
    piece = evidence_of(classes)
    again = Piece(
        np.tile(piece.evidence, 4), np.tile(piece.base, 4), np.tile(piece.y, 4),
        np.tile(piece.weight, 4) / 4,
    )  # fmt: skip
    once = Pool([piece], np.zeros(5, bool), SERIAL).best(None, None)
    four = Pool([again], np.zeros(5, bool), SERIAL, copies=4).best(None, None)
    assert four.ridge == once.ridge
    assert np.allclose(four.of_blocks, once.of_blocks, atol=1e-3)
    assert four.log_loss == pytest.approx(once.log_loss, rel=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_of_many_entries_are_those_of_all_though_a_sample_chooses_the_ridge(classes):
    piece = evidence_of(classes, n=90_000)
    pool = Pool([piece], np.zeros(5, bool), SERIAL)
    in_sample = np.isin(np.arange(90_000), np.arange(90_000)[:: round(pool.sample_factor)])
    assert 20_000 <= in_sample.sum() < 40_000
    piece.evidence[:, :, in_sample] *= 3  # which the others are not like
    found = pool.best(None, None)
    weights = refitted(piece, pool._penalty(found.ridge, found.ridge), np.ones(90_000, bool))
    assert np.allclose(found.of_blocks, weights[:5], atol=0.01)  # of the sample: 0.23
    training = piece.expected(piece.scores(weights))[1]
    assert np.abs(found.out_of_fold.losses - training).mean() < 2e-3
    assert found.log_loss == pytest.approx(np.average(training, weights=piece.weight), rel=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_with_weights_below_0_are_dropped_as_refits_would(classes, seed):
    piece = evidence_of(classes, n=200, blocks=7, seed=seed)
    piece.evidence[[1, 4]] *= -1  # they say the opposite of the truth
    piece.evidence[5] = piece.evidence[0] + 0.5 * piece.evidence[1]  # depends on both
    pool = Pool([piece], np.zeros(7, bool), SERIAL)
    remaining, ridge = list(range(7)), 1.0
    while True:
        some = pool.some(np.array(remaining))
        penalty = some._penalty(ridge, ridge)
        weights = refitted(some.pieces[0], penalty, np.ones(200, bool))[: len(remaining)]
        if (weights >= 0).all():
            break
        below = sorted(weights[weights < 0])
        dropped = below[: (len(below) + 1) // 2]  # the more negative half
        remaining = [k for k, w in zip(remaining, weights, strict=True) if w not in dropped]
    assert pool.not_negative(ridge).tolist() == remaining
    assert not {1, 4} & {*remaining}


def test_no_block_is_left_where_all_say_the_opposite():
    piece = evidence_of(2)
    piece.evidence[:] *= -1
    assert not len(Pool([piece], np.zeros(5, bool), SERIAL).not_negative(100.0))


def entries_of(n, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 3, (n, 4)).astype(float), rng.integers(0, 3, n)
    X[: n // 2, 0] += rng.normal(size=n // 2)
    return Entries.of(AutoBayes().fit(X, y).model_.parts[0])


@pytest.mark.parametrize("n", [30, 200, 1500])
def test_few_entries_are_assigned_to_folds_several_times(n):
    once = entries_of(n)
    entries = once.repeated()
    assert entries.n_repeats == (4 if n == 1500 else 8)
    assert entries.weight.sum() == once.weight.sum()
    assert np.array_equal(entries.rows_met(), once.rows_met())
    assert np.array_equal(entries.once.part, once.part)
    parts = entries.part.reshape(entries.n_repeats, -1)
    assert len({tuple(part) for part in parts}) == entries.n_repeats
    for part in parts:  # stratified, and equal rows of a class are in different folds
        sizes = np.zeros((PARTS, 3))
        np.add.at(sizes, (part, once.y), once.weight)
        assert np.ptp(sizes, axis=0).max() <= 2
        assert len({*zip(once.row, once.y, part, strict=True)}) == len(once)


def test_many_entries_are_assigned_once():
    assert entries_of(7000).repeated().n_repeats == 1


def test_cross_validation_of_noise_is_no_better_than_the_class_prior():
    """Rows in several folds are never scored by evidence or weights that have seen them."""
    losses = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(80, 12)), rng.integers(0, 2, 80)
        model = AutoBayes(interactions=0).fit(X, y)
        losses.append(model.model_.posterior().parameters.out_of_fold.log_loss)
    assert np.mean(losses) > np.log(2) - 0.01


def test_which_rows_are_in_a_fold_matters_less_with_several_assignments(monkeypatch):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 150)
    X = rng.normal(size=(150, 6)) + 0.8 * (y[:, np.newaxis] == np.arange(6) % 3)
    new = rng.normal(size=(300, 6)) + 0.8 * (rng.integers(0, 3, (300, 1)) == np.arange(6) % 3)
    in_order = canonical._order

    def spread():
        """The standard deviation of log P(c | x) over five assignments to folds."""
        found = []
        for salt in range(1, 6):
            monkeypatch.setattr(
                canonical, "_order",
                lambda keys, count: in_order(mixed(keys + np.uint64(salt)), count),  # noqa: B023
            )  # fmt: skip
            found.append(AutoBayes().fit(X, y).predict_log_proba(new))
        return np.std(found, axis=0).mean()

    several = spread()
    monkeypatch.setattr(folds, "REPEATS", 1)
    assert 0 < several < 0.6 * spread()
