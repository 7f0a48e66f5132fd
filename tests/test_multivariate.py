"""The Gaussian Bayes classifier with whole covariances: laws, oracles, hostile data."""

import copy
import pickle
import threading
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, note
from hypothesis import strategies as st
from kit import state
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf, oas
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import naively
from naively import GaussianBayes, GaussianNB, MultivariateGaussian, NaiveBayes
from naively.families import covariance as covariances
from naively.families import products
from naively.families.base import InvalidValueError
from naively.files.safetensors import ModelFileError

NAN = float("nan")
COVARIANCES = ("full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical")
WHOLE = {
    "full": GaussianBayes(),
    "full, shrunk": GaussianBayes(shrinkage=0.5),
    "full, unbiased": GaussianBayes(shrinkage="auto", ddof=1),
    "tied": GaussianBayes("tied"),
    "tied, shrunk": GaussianBayes("tied", "oas", ddof=1),
}
every_rung = pytest.mark.parametrize("covariance", COVARIANCES)
whole = pytest.mark.parametrize("name", WHOLE)
both = pytest.mark.parametrize("covariance", ["full", "tied"])


def new(name, **parameters):
    return clone(WHOLE[name]).set_params(**parameters)


def outcome(classifier, X):
    """All that it says of some rows, or why it says nothing: equal only if every bit is."""
    methods = (
        classifier.predict_joint_log_proba,
        classifier.predict_proba,
        classifier.predict_log_proba,
        classifier.score_samples,
        classifier.predict,
    )
    try:
        return [method(X).tobytes() for method in methods]
    except ValueError as error:
        return str(error)


def assert_same(a, b, X):
    """Two classifiers learned the same, and say the same, bit for bit."""
    assert state(a) == state(b)
    assert outcome(a, X) == outcome(b, X)


def clouds(n=300, d=4, classes=3, seed=0):
    """Rows of correlated normal values, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    mix = rng.normal(size=(classes, d, d)) / np.sqrt(d) + np.eye(d)
    return np.einsum("nij,nj->ni", mix[y], rng.normal(size=(n, d))) + 2.0 * y[:, np.newaxis], y


# ---- laws ----------------------------------------------------------------------------------------

SIZES = [0.0, 1.0, 3.0, 0.1, 1 / 3, 1e8, 1e8 + 1, 1e-300, 1e300, 5e-324, 2.0**60 + 256, 1.7e308]
HOSTILE = st.sampled_from([NAN, *SIZES, *(-x for x in SIZES)]) | st.floats(
    allow_nan=False, allow_infinity=False
)
TAME = st.integers(-40, 40).map(lambda k: k / 8) | st.just(NAN)
WEIGHTS = st.sampled_from([0.0, 1.0, 1.0, 2.0, 0.1, 1e-300, 5e-324, 1e8 + 1 / 3, 1e200])


@st.composite
def tables(draw, cells, least=1, most=12):
    """(X, y) of a few rows and columns; mostly tame numbers, so that many can be scored."""
    d = draw(st.integers(1, 3))
    row = st.tuples(st.lists(cells, min_size=d, max_size=d), st.integers(0, 2))
    rows = draw(st.lists(row, min_size=least, max_size=most))
    return np.array([x for x, _ in rows]), np.array([label for _, label in rows])


def forms(X):
    """The same numbers as other kinds of arrays."""
    kinds = [
        X, np.asfortranarray(X), X.tolist(), X.astype(">f8"),
        np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        X[::-1, ::-1].copy()[::-1, ::-1], pd.DataFrame(X).to_numpy(),
    ]  # fmt: skip
    with np.errstate(over="ignore"):
        if np.array_equal(X.astype(np.float32), X, equal_nan=True):
            kinds.append(X.astype(np.float32))
    return st.sampled_from(kinds)


@whole
@given(data=st.data(), cells=st.sampled_from([TAME, HOSTILE]))
def test_any_split_order_and_form_gives_the_same_model(name, data, cells):
    X, y = data.draw(tables(cells))
    weights = np.array(data.draw(st.lists(WEIGHTS, min_size=len(y), max_size=len(y))))
    weights[0] = weights[0] or 1.0
    whole = new(name, n_jobs=1).partial_fit(X, y, sample_weight=weights)
    order = np.array(data.draw(st.permutations(range(len(y)))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(y)), max_size=3)))
    total = None
    for piece in np.split(order, cuts):
        if weights[piece].any():
            rows = data.draw(forms(X[piece]))
            n_jobs = data.draw(st.sampled_from([None, 1, 3]))
            if total is not None and data.draw(st.booleans()):
                total.partial_fit(rows, y[piece], sample_weight=weights[piece])
            else:
                part = new(name, n_jobs=n_jobs)
                part.partial_fit(rows, y[piece], sample_weight=weights[piece])
                total = part if total is None else total + part
    assert_same(whole, total, X)


@whole
@given(data=st.data(), cells=st.sampled_from([TAME, HOSTILE]))
def test_forgetting_undoes_learning(name, data, cells):
    X, y = data.draw(tables(cells, least=2))
    weights = np.array(data.draw(st.lists(WEIGHTS.filter(bool), min_size=len(y), max_size=len(y))))
    cut = data.draw(st.integers(1, len(y) - 1))
    a, b = slice(0, cut), slice(cut, None)
    alone = new(name).partial_fit(X[a], y[a], sample_weight=weights[a])
    both = new(name).partial_fit(X, y, sample_weight=weights)
    both.forget(data.draw(forms(X[b])), y[b], sample_weight=weights[b])
    assert_same(alone, both, X)


@whole
@given(data=st.data(), cells=st.sampled_from([TAME, HOSTILE]))
def test_more_than_was_learned_is_not_forgotten(name, data, cells):
    X, y = data.draw(tables(cells))
    classifier = new(name).partial_fit(X, y)
    before = state(classifier)
    rows = np.append(np.arange(len(y)), data.draw(st.integers(0, len(y) - 1)))
    for labels in (y[rows], y[rows] + 1, y[rows] + 10):
        with pytest.raises(ValueError, match="cannot forget what was never learned"):
            classifier.forget(X[rows], labels)
        assert state(classifier) == before


UNKNOWN = {
    "a number too far off": ([[1, 0], [2, 1], [3, 0]], [0, 0, 1], [[9, 1]], [0]),
    "the only row of a class": ([[1, 0], [2, 1], [3, 0]], [0, 1, 1], [[1, 1]], [0]),
    "a value where one was missing": ([[NAN, 2], [2, 3], [3, 0]], [0, 0, 1], [[2, 2]], [0]),
    "a value that no row has": ([[NAN, 2], [NAN, 3], [3, 0]], [0, 0, 1], [[0, 2]], [0]),
    "a missing value where one was": ([[1, 2], [2, 3], [3, 0]], [0, 0, 1], [[NAN, 2]], [0]),
    "values that never met": ([[NAN, 2], [1, NAN], [3, 0]], [0, 0, 1], [[1, 2]], [0]),
    "two missing values": ([[NAN, 2], [1, NAN], [3, 0]], [0, 0, 1], [[NAN, NAN]], [0]),
}


@both
@pytest.mark.parametrize("case", UNKNOWN)
def test_what_was_never_learned_is_not_forgotten(case, covariance):
    X, y, rows, labels = UNKNOWN[case]
    classifier = GaussianBayes(covariance).partial_fit(np.array(X, float), y)
    before = state(classifier)
    with pytest.raises(ValueError, match="cannot forget what was never learned"):
        classifier.forget(np.array(rows, float), labels)
    assert state(classifier) == before


@whole
@given(data=st.data(), cells=st.sampled_from([TAME, HOSTILE]))
def test_a_weight_is_that_many_rows(name, data, cells):
    X, y = data.draw(tables(cells))
    times = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(y), max_size=len(y))))
    times[0] += 1
    weighted = new(name).partial_fit(X, y, sample_weight=times)
    repeated = new(name).partial_fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_same(weighted, repeated, X)


@whole
@given(data=st.data())
def test_weights_of_one_row_add_up(name, data):
    X, y = data.draw(tables(HOSTILE))
    eighths = st.lists(st.integers(1, 40), min_size=len(y), max_size=len(y))
    first, second = (np.array(data.draw(eighths)) / 8 for _ in range(2))
    once = new(name).partial_fit(X, y, sample_weight=first + second)
    twice = new(name).partial_fit(X, y, sample_weight=first)
    twice.partial_fit(X[::-1], y[::-1], sample_weight=second[::-1])
    assert_same(once, twice, X)


@both
def test_rows_without_weight_may_hold_anything(covariance):
    X, y = clouds(60)
    fitted = GaussianBayes(covariance).fit(X, y)
    bad = np.vstack([np.full((1, 4), np.inf), X, np.full((1, 4), -1e300)])
    weights = np.r_[0.0, np.ones(60), 0.0]
    weighted = GaussianBayes(covariance).fit(bad, np.r_[7, y, 8], sample_weight=weights)
    assert_same(fitted, weighted, X)


STEPS = st.lists(
    st.tuples(st.sampled_from(["learn", "add", "forget", "copy"]), st.integers(0, 5)), max_size=10
)


@whole
@given(data=st.data(), cells=st.sampled_from([TAME, HOSTILE]))
def test_any_sequence_of_operations_leaves_the_rows_that_remain(name, data, cells):
    X, y = data.draw(tables(cells, least=6, most=6))
    classifier = new(name).partial_fit(X[:1], y[:1])
    held = [0]
    for step, i in data.draw(STEPS):
        row, label = X[i : i + 1], y[i : i + 1]
        if step == "learn":
            classifier.partial_fit(row, label)
            held.append(i)
        elif step == "add":
            before = state(classifier)
            total = classifier + new(name).partial_fit(row, label)
            assert state(classifier) == before  # the parts are as they were
            classifier = total
            held.append(i)
        elif step == "forget" and i in held and len(held) > 1:
            classifier.forget(row, label)
            held.remove(i)
        elif step == "copy":
            twice = new(name).partial_fit(X[held * 2], y[held * 2])
            assert_same(classifier + classifier, twice, X)
    note(f"rows {held}")
    assert_same(classifier, new(name).partial_fit(X[held], y[held]), X)


def awkward(pattern, n, d, rng):
    """Rows that lead the sums off their fast path."""
    X = rng.normal(size=(n, d))
    if pattern == "offset":
        X += 1e8
    elif pattern == "growing":
        X *= 10.0 ** np.repeat([0, 40, -60, 3, 60, -50], -(-n // 6))[:n, np.newaxis]
    elif pattern == "extremes":
        X[n // 2, 1], X[n // 2 + 1, 0], X[n // 2 + 2, 2] = 1e150, 1e-300, 5e-324
    elif pattern == "heavy tails":
        X = rng.standard_cauchy((n, d)) ** 3
    elif pattern == "missing":
        X[rng.random((n, d)) < 0.05] = NAN
        X[: n // 3, 1] = NAN
    elif pattern == "float32":
        X = X.astype(np.float32)
    elif pattern == "integers":
        X = rng.integers(-100, 100, (n, d)).astype(np.int16)
    return X


@both
@pytest.mark.parametrize(
    "pattern",
    ["normal", "offset", "growing", "extremes", "heavy tails", "missing", "float32", "integers"],
)
def test_pieces_deposits_threads_and_parts_agree(pattern, covariance):
    rng = np.random.default_rng(len(pattern))
    n = 4001
    X, y = awkward(pattern, n, 12, rng), rng.integers(0, 3, n)
    assert n * products.cell_count(12) > products.FEW
    model = GaussianBayes(covariance, 0.01, n_jobs=1)
    bulk = clone(model).fit(X, y)
    assert not isinstance(outcome(bulk, X[:9]), str)
    assert_same(bulk, clone(model).fit(X, y, sample_weight=np.ones(n)), X[:200])
    for n_jobs in (2, 5):
        other = clone(model).set_params(n_jobs=n_jobs).fit(np.asfortranarray(X), y)
        assert_same(bulk, other, X[:200])
    halves = clone(model).fit(X[: n // 3], y[: n // 3]) + clone(model).fit(X[n // 3 :], y[n // 3 :])
    assert_same(bulk, halves, X[:200])
    halves.forget(X[::-1][:-50], y[::-1][:-50])
    assert_same(halves, clone(model).fit(X[:50], y[:50]), X[:50])


@both
def test_a_stream_of_single_rows_is_a_batch(covariance):
    X, y = clouds(400, 3)
    X[::7, 1] = NAN
    stream = GaussianBayes(covariance)
    for i in range(len(X)):
        stream.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same(GaussianBayes(covariance).fit(X, y), stream, X)


@whole
@given(data=st.data())
def test_permuted_features_give_the_permuted_model(name, data):
    X, y = clouds(40, data.draw(st.integers(1, 6)), seed=data.draw(st.integers(0, 9)))
    X[data.draw(st.integers(0, 39)), 0] = NAN
    order = np.array(data.draw(st.permutations(range(X.shape[1]))))
    plain, permuted = new(name).fit(X, y), new(name).fit(X[:, order], y)
    assert_array_equal(permuted.means_, plain.means_[:, order])
    expected = plain.covariance_[..., order[:, np.newaxis], order]
    assert_allclose(permuted.covariance_, expected, rtol=1e-12, atol=1e-13)
    assert_allclose(
        permuted.predict_joint_log_proba(X[:, order]), plain.predict_joint_log_proba(X),
        rtol=1e-10, atol=1e-10,
    )  # fmt: skip


@whole
def test_renamed_classes_give_the_permuted_model(name):
    X, y = clouds(90)
    names = np.array(["c", "a", "bb"])
    plain, renamed = new(name).fit(X, y), new(name).fit(X, names[y])
    order = np.argsort(names)
    assert_array_equal(renamed.means_, plain.means_[order])
    assert_allclose(
        renamed.predict_joint_log_proba(X), plain.predict_joint_log_proba(X)[:, order],
        rtol=1e-12, atol=1e-11,
    )  # fmt: skip
    if name.startswith("full"):
        assert_array_equal(renamed.covariance_, plain.covariance_[order])


@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 15, 16, 17, 33, 63, 64, 65, 72, 100])
@both
def test_a_row_is_scored_without_regard_to_the_others(covariance, d):
    X, y = clouds(400, d)
    classifier = GaussianBayes(covariance, 0.3, n_jobs=3).fit(X, y)
    X[40:, 0] *= 1e5  # some rows are easy
    X[17, 0] = NAN
    X[30, 0] = 1e200
    methods = ["predict_joint_log_proba", "predict_proba", "predict_log_proba", "score_samples"]
    for method in methods:
        ask = getattr(classifier, method)
        alone = np.concatenate([ask(X[i : i + 1]) for i in range(len(X))])
        assert_array_equal(ask(X), alone, method)
        assert_array_equal(ask(np.asfortranarray(X)), alone, method)
        assert_array_equal(ask(np.tile(X, (40, 1)))[-400:], alone, method)
        for size in (2, 3, 7, 8, 15, 16, 17, 31, 63, 64, 65, 70):
            assert_array_equal(ask(X[5 : 5 + size]), alone[5 : 5 + size], method)


@both
def test_classes_may_come_later(covariance):
    X, y = clouds(120)
    first = GaussianBayes(covariance).fit(X[y < 2], y[y < 2])
    assert_same(
        first.partial_fit(X[y == 2], y[y == 2]), GaussianBayes(covariance).fit(X, y), X
    )
    first.forget(X[y == 2], y[y == 2])
    assert_same(first, GaussianBayes(covariance).fit(X[y < 2], y[y < 2]), X)


@both
def test_a_class_without_rows_has_the_moments_of_all(covariance):
    X, y = clouds(120)
    plain = GaussianBayes(covariance).fit(X, y)
    classifier = GaussianBayes(covariance).partial_fit(X, y, classes=[0, 1, 2, 9])
    assert_array_equal(classifier.means_[:3], plain.means_)
    assert_allclose(classifier.means_[3], X.mean(axis=0), rtol=1e-14)
    assert_array_equal(classifier.predict(X), plain.predict(X))
    assert (classifier.predict_proba(X)[:, 3] == 0).all()
    if covariance == "tied":
        assert_array_equal(classifier.covariance_, plain.covariance_)
    else:
        assert_allclose(classifier.covariance_[3], np.diag(X.var(axis=0)), rtol=1e-12, atol=1e-15)


@whole
@given(gamma=st.floats(1e-6, 1.0))
@example(gamma=0.5)
def test_decay_scales_the_weights_and_keeps_the_rest(name, gamma):
    X, y = clouds(60)
    X[::5, 2] = NAN
    plain, decayed = new(name).fit(X, y), new(name).fit(X, y).decay(gamma)
    assert_allclose(decayed.class_count_, gamma * plain.class_count_, rtol=1e-15)
    assert_allclose(decayed.means_, plain.means_, rtol=1e-13)
    if name in ("full", "tied", "full, shrunk"):
        assert_allclose(decayed.covariance_, plain.covariance_, rtol=1e-11, atol=1e-13)


@both
def test_decay_leaves_pairs_that_never_met_apart(covariance):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    lacking = rng.permutation(60)[:25]
    X[lacking, 0] = NAN
    X[np.setdiff1d(np.arange(60), lacking), 1] = NAN
    classifier = GaussianBayes(covariance).fit(X, y)
    before = classifier.covariance_
    for gamma in rng.uniform(0.5, 1.0, 15):
        classifier.decay(gamma)
    after = classifier.covariance_
    assert_allclose(after, before, rtol=1e-12, atol=1e-14)
    assert_allclose(after[..., 0, 1], 0.0, atol=1e-15)
    held = state(classifier)
    classifier.partial_fit(X[:20] + 1.0, y[:20]).forget(X[:20] + 1.0, y[:20])
    assert state(classifier) == held


@both
def test_a_class_that_faded_can_still_be_scored(covariance):
    X, y = clouds(80)
    classifier = GaussianBayes(covariance).fit(1e-5 * X, y)
    before = classifier.covariance_
    for _ in range(20):
        classifier.decay(2.0**-52)  # all weights are now near 1e-310
    assert_allclose(classifier.covariance_, before, rtol=1e-12)


@both
def test_copies_and_pickles_are_the_same(covariance, tmp_path):
    X, y = clouds(100)
    X[::6, 1] = NAN
    labels = np.array(["é", "b", "c"])[y]
    classifier = GaussianBayes(covariance, "auto", ddof=1, priors="uniform").fit(X, labels)
    classifier.save(tmp_path / "model")
    loaded = naively.load(tmp_path / "model")
    assert loaded.get_params() == classifier.get_params()
    for other in (pickle.loads(pickle.dumps(classifier)), copy.deepcopy(classifier), loaded):
        assert_same(classifier, other, X)
        other.partial_fit(X[:10], ["d"] * 10)  # and they share nothing
    assert classifier.classes_.tolist() == ["b", "c", "é"]
    unfitted = clone(classifier)
    assert not hasattr(unfitted, "model_")
    assert unfitted.get_params() == classifier.get_params()
    loaded.save(tmp_path / "again")
    grown = classifier.partial_fit(X[:10], ["d"] * 10)
    grown.save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()


@every_rung
def test_a_file_holds_every_rung(covariance, tmp_path):
    X, y = clouds(100)
    classifier = GaussianBayes(covariance, 0.25).fit(X, y)
    classifier.save(tmp_path / "model")
    loaded = naively.load(tmp_path / "model")
    assert_array_equal(loaded.covariance_, classifier.covariance_)
    assert_same(classifier, loaded, X)
    assert loaded.shrinkage_ == 0.25 or (loaded.shrinkage_ == 0.25).all()


def test_damaged_files_are_refused(tmp_path):
    X, y = clouds(12, 2, 2)
    X[3, 0] = NAN
    path = tmp_path / "model"
    GaussianBayes("tied", 0.1).fit(X, y).save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[at] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            loaded = naively.load(path)
        except ModelFileError:
            continue
        loaded.save(tmp_path / "again")  # at most other bytes that say the same
        assert (tmp_path / "again").read_bytes() == content
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            naively.load(path)


def mixed(n=200, seed=1):
    """A table of numbers, levels and missing values."""
    X, y = clouds(n, 5, seed=seed)
    X[::9, 2] = NAN
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["f"] = np.array(["x", "y", None, "z"], object)[np.arange(n) * 7 % 4]
    return frame, np.array(["u", "v", "w"])[y]


def table_model(**more):
    blocks = {("a", "c"): MultivariateGaussian(), ("d", "e", "b"): MultivariateGaussian(tied=True)}
    return NaiveBayes(columns={**blocks, "f": "categorical"}, **more)


def test_the_laws_hold_in_mixed_tables(tmp_path):
    X, y = mixed()
    whole = table_model().fit(X, y)
    shuffled = table_model(n_jobs=3).partial_fit(X[::-1][:70], y[::-1][:70])
    shuffled.partial_fit(X[::-1][70:], y[::-1][70:])
    parts = table_model().fit(X[:90], y[:90]) + table_model().fit(X[90:], y[90:])
    whole.save(tmp_path / "model")
    loaded = naively.load(tmp_path / "model")
    expected = whole.predict_log_proba(X)
    for other in (shuffled, parts, loaded):
        assert other.table_.model == whole.table_.model
        assert_array_equal(other.predict_log_proba(X), expected)
    parts.forget(X[90:], y[90:])
    assert parts.table_.model == table_model().fit(X[:90], y[:90]).table_.model


def test_a_table_is_the_product_of_its_blocks():
    X, y = mixed()
    numbers = X[list("abcde")].to_numpy()
    table = table_model().fit(X, y)
    full = GaussianBayes().fit(numbers[:, [0, 2]], y)
    tied = GaussianBayes("tied").fit(numbers[:, [3, 4, 1]], y)
    levels = NaiveBayes(columns={"f": "categorical"}).fit(X[["f"]], y)
    joint = sum(
        one.predict_log_proba(rows)
        for one, rows in ((full, numbers[:, [0, 2]]), (tied, numbers[:, [3, 4, 1]]), (levels, X))
    ) - 2.0 * np.log(full.class_prior_)  # which all three count
    joint -= logsumexp(joint, axis=1, keepdims=True)
    assert_allclose(table.predict_log_proba(X), joint, rtol=1e-10, atol=1e-10)


