"""The Gaussian Bayes classifier with full covariances: laws, oracles, hostile data."""

import copy
import gzip
import threading
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pytest
import sklearn
from cases import COVARIANCES as CASES
from cases import HOSTILE, clouds
from hypothesis import given
from hypothesis import strategies as st
from kit import assert_probabilities, state
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
from sklearn.utils.fixes import parse_version

import naively
from naively import GaussianBayes, GaussianNB, MultivariateGaussian, NaiveBayes
from naively.statistics.base import InvalidValueError
from naively.storage.model_files import ModelFileError

NAN = float("nan")
COVARIANCES = ("full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical")
WHOLE = {name: case for name, case in CASES.items() if case.covariance in ("full", "tied")}
every_rung = pytest.mark.parametrize("covariance", COVARIANCES)
whole = pytest.mark.parametrize("classifier", WHOLE.values(), ids=WHOLE)
both = pytest.mark.parametrize("covariance", ["full", "tied"])


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
    assert a.model_ == b.model_
    assert outcome(a, X) == outcome(b, X)


# ---- laws ----------------------------------------------------------------------------------------


@both
def test_threads_share_one_matrix(covariance):
    X, y = clouds(400, 130)
    X[:, 120] = 1e12 + np.rint(X[:, 120] * 8)  # far from 0, in the last part of the matrix
    alone = GaussianBayes(covariance, 0.01, n_jobs=1).fit(X, y)
    for n_jobs in (2, 3, 7):
        assert_same(alone, GaussianBayes(covariance, 0.01, n_jobs=n_jobs).fit(X, y), X[:50])


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


@pytest.mark.parametrize("d", [64, 72, 100])
def test_classes_that_are_left_out_early_could_not_win(d):
    rng = np.random.default_rng(d)
    X, y = clouds(1500, d, 12)
    X += rng.normal(size=X.shape) - 2.0 * y[:, np.newaxis] * (np.arange(d) % 7 > 0)
    X, probe = X[:1200], np.vstack([X[1200:], X[:50] * 3.0, rng.normal(size=(50, d)) * 40.0])
    classifier = GaussianBayes(shrinkage=0.05).fit(X, y[:1200])
    joint = classifier.predict_joint_log_proba(probe)
    assert len(set(joint.argmax(axis=1).tolist())) > 3
    assert_array_equal(classifier.predict(probe), joint.argmax(axis=1))
    log_p = joint - logsumexp(joint, axis=1, keepdims=True)
    assert_allclose(classifier.predict_log_proba(probe), log_p, rtol=1e-11, atol=1e-11)
    assert_allclose(classifier.predict_proba(probe), np.exp(log_p), rtol=1e-9, atol=1e-300)


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


@both
def test_decay_leaves_pairs_without_common_rows_apart(covariance):
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


def test_a_table_is_the_product_of_its_blocks():
    X, y = mixed()
    numbers = X[list("abcde")].to_numpy()
    table = table_model().fit(X, y)
    full = GaussianBayes().fit(numbers[:, [0, 2]], y)
    tied = GaussianBayes("tied").fit(numbers[:, [3, 4, 1]], y)
    levels = NaiveBayes(columns={"f": "categorical"}).fit(X[["f"]], y)
    joint = (
        full.predict_log_proba(numbers[:, [0, 2]])
        + tied.predict_log_proba(numbers[:, [3, 4, 1]])
        + levels.predict_log_proba(X[["f"]])
        - 2.0 * np.log(full.class_prior_)  # which all three count
    )
    joint -= logsumexp(joint, axis=1, keepdims=True)
    assert_allclose(table.predict_log_proba(X), joint, rtol=1e-10, atol=1e-10)


def test_blocks_merge_whatever_the_order_of_their_columns():
    X, y = mixed()
    rest = {"f": "skip", "d": "skip", "e": "skip"}
    one, other = ({block: MultivariateGaussian(), **rest} for block in [tuple("abc"), tuple("cab")])
    whole = NaiveBayes(columns=one).fit(X, y)
    total = NaiveBayes(columns=one).fit(X[:90], y[:90])
    total = total + NaiveBayes(columns=other).fit(X[90:], y[90:])
    assert total.model_ == whole.model_
    assert_array_equal(total.predict_log_proba(X), whole.predict_log_proba(X))


@pytest.mark.filterwarnings("ignore:X has no column")
@pytest.mark.parametrize("lacking", [["b"], ["a", "c"], ["a", "b", "c"]])
def test_columns_that_an_update_lacks_are_missing(lacking):
    X, y = mixed(300)
    X["d"] += np.arange(300)
    columns = {tuple("abc"): MultivariateGaussian(shrinkage=0.2), "d": "gaussian"}
    columns |= {"e": "skip", "f": "skip"}
    table = NaiveBayes(columns=columns).fit(X[:200], y[:200])
    table.partial_fit(X[200:].drop(columns=lacking), y[200:])
    X.loc[200:, lacking] = NAN
    holed = NaiveBayes(columns=columns).fit(X, y)
    assert table.model_ == holed.model_
    assert_array_equal(table.predict_log_proba(X), holed.predict_log_proba(X))


# ---- oracles -------------------------------------------------------------------------------------


def letters(folder):
    """The letters of the UCI data set: 20,000 rows of 16 whole numbers."""
    with gzip.open(folder / "letter" / "letter.arff.gz", "rt") as file:
        rows = [line.strip().split(",") for line in file if line[0] not in "@%\n"]
    table = np.array(rows)
    return table[:, :-1].astype(float), table[:, -1]


def satellite():
    """As many rows, features and classes as the satellite images have; neighbours correlate."""
    rng = np.random.default_rng(36)
    y = rng.choice(6, 4435, p=[0.24, 0.11, 0.22, 0.09, 0.10, 0.24])
    common = rng.normal(size=(4435, 4)).repeat(9, axis=1)
    means = rng.uniform(40, 110, (6, 4)).repeat(9, axis=1)
    spread = rng.uniform(3, 12, (6, 1))
    return means[y] + spread[y] * (common + 0.3 * rng.normal(size=(4435, 36))), y


def real(name, request):
    if name == "letter":
        return letters(request.getfixturevalue("data_folder"))
    if name == "satellite":
        return satellite()
    return {"digits": load_digits, "iris": load_iris, "wine": load_wine}[name](return_X_y=True)


def assert_same_answers(ours, theirs, X):
    """Probabilities and log-odds to 1e-8; log-odds of thousands to as many digits."""
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    a = ours.predict_joint_log_proba(X)
    b = theirs.decision_function(X)
    if b.ndim == 1:
        b = np.column_stack([np.zeros_like(b), b])
    odds, expected = a - a[:, :1], b - b[:, :1]
    assert_allclose(odds, expected, rtol=1e-8, atol=1e-8 * max(1.0, abs(expected).max() / 1e4))
    assert_array_equal(ours.predict(X), theirs.predict(X))


newest = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="scikit-learn divides by n since 1.9",
)
REAL = ["iris", "wine", "letter", "satellite", "digits"]


@newest
@pytest.mark.parametrize("name", REAL)
def test_full_is_quadratic_discriminant_analysis(name, request):
    X, y = real(name, request)
    shrinkage = 0.1 if name == "digits" else None  # some pixels never vary
    theirs = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage)
    if shrinkage is None:
        theirs.set_params(solver="svd", store_covariance=True)
    theirs.fit(X, y)
    ours = GaussianBayes(shrinkage=shrinkage).fit(X, y)
    assert_same_answers(ours, theirs, X)
    assert_allclose(ours.means_, theirs.means_, rtol=1e-13, atol=1e-13)
    if shrinkage is None:
        scale = abs(ours.covariance_).max()
        assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-9, atol=1e-13 * scale)


@newest
@pytest.mark.parametrize("shrinkage", [None, 0.1, 1.0])
@pytest.mark.parametrize("name", REAL)
def test_tied_is_linear_discriminant_analysis(name, shrinkage, request):
    X, y = real(name, request)
    if name == "digits" and shrinkage is None:
        X = X[:, X.std(axis=0) > 0]  # theirs takes a pseudo-inverse, ours refuses
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(X, y)
    ours = GaussianBayes("tied", shrinkage).fit(X, y)
    assert_same_answers(ours, theirs, X)
    form = ours.to_linear()
    apart = form.coef - theirs.coef_
    assert_allclose(apart, apart[:1] * np.ones((len(apart), 1)), atol=1e-8 * abs(form.coef).max())
    if shrinkage is None:
        other = LinearDiscriminantAnalysis(solver="svd", store_covariance=True).fit(X, y)
        assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=1e-8)
        scale = abs(ours.covariance_).max()
        assert_allclose(ours.covariance_, other.covariance_, rtol=1e-9, atol=1e-13 * scale)


@newest
def test_given_priors_count_as_in_quadratic_discriminant_analysis():
    X, y = load_wine(return_X_y=True)
    priors = [0.2, 0.7, 0.1]
    ours = GaussianBayes(prior=priors).fit(X, y)
    assert_same_answers(ours, QuadraticDiscriminantAnalysis(priors=priors).fit(X, y), X)
    assert_allclose(ours.class_prior_, priors, rtol=1e-15)


@every_rung
def test_the_diagonal_rungs_are_naive_bayes_with_tied_variances(covariance):
    X, y = load_wine(return_X_y=True)
    ties = {
        "diagonal": None, "tied_diagonal": "classes", "spherical": "features",
        "tied_spherical": "both",
    }  # fmt: skip
    if covariance in ties:
        ours = GaussianBayes(covariance, ddof=1).fit(X, y)
        naive = GaussianNB(tie=ties[covariance], ddof=1).fit(X, y)
        assert_array_equal(ours.predict_log_proba(X), naive.predict_log_proba(X))
        return
    Z = StandardScaler().fit_transform(X)  # whole covariances without correlations are the same
    whitened = Z @ np.linalg.inv(np.linalg.cholesky(np.cov(Z.T, ddof=0))).T
    labels = np.repeat([0, 1], len(X))
    twice = np.vstack([whitened, 2.0 * whitened + 1.0])
    alike = {"full": "diagonal", "tied": "tied_diagonal"}[covariance]
    assert_allclose(
        GaussianBayes(covariance).fit(twice, labels).predict_joint_log_proba(twice)
        @ [[-1.0], [1.0]],
        GaussianBayes(alike).fit(twice, labels).predict_joint_log_proba(twice) @ [[-1.0], [1.0]],
        rtol=1e-6, atol=1e-6,
    )  # fmt: skip


@both
@pytest.mark.parametrize("ddof", [0, 1])
def test_missing_values_are_dropped_pair_by_pair(covariance, ddof):
    X, y = clouds(300, 5)
    X[np.random.default_rng(0).random(X.shape) < 0.15] = NAN
    ours = GaussianBayes(covariance, ddof=ddof).fit(X, y)
    frames = [pd.DataFrame(X[y == c]) for c in range(3)]
    met = [frame.notna().T.astype(float) @ frame.notna().astype(float) for frame in frames]
    scatters = [f.cov() * (n - 1) for f, n in zip(frames, met, strict=True)]
    assert_allclose(ours.means_, [frame.mean() for frame in frames], rtol=1e-13)
    if covariance == "full":
        expected = [scatter / (n - ddof) for scatter, n in zip(scatters, met, strict=True)]
    else:
        expected = sum(scatters) / (sum(met) - 3 * ddof)
    assert_allclose(ours.covariance_, expected, rtol=1e-11, atol=1e-13)


def densities(classifier, X):
    """log p(x, c) by SciPy, from the means and covariances; missing features left out."""
    sigma = np.broadcast_to(classifier.covariance_, (len(classifier.means_), *[X.shape[1]] * 2))
    out = np.empty((len(X), len(sigma)))
    for i, x in enumerate(X):
        seen = ~np.isnan(x)
        for c, mean in enumerate(classifier.means_):
            out[i, c] = np.log(classifier.class_prior_[c])
            if seen.any():
                part = sigma[c][np.ix_(seen, seen)]
                out[i, c] += multivariate_normal(mean[seen], part).logpdf(x[seen])
    return out


@whole
def test_densities_and_marginals_are_those_of_scipy(classifier):
    X, y = clouds(300, 4)
    classifier = clone(classifier).fit(X, y)
    rows = X[:80].copy()
    rows[np.random.default_rng(1).random(rows.shape) < 0.3] = NAN
    rows[:5] = NAN
    rows[:10, :2] = X[:10, :2]
    expected = densities(classifier, rows)
    assert_allclose(classifier.score_samples(rows), logsumexp(expected, axis=1), rtol=1e-9)
    log_p = expected - logsumexp(expected, axis=1, keepdims=True)
    assert_allclose(classifier.predict_log_proba(rows), log_p, rtol=1e-9, atol=1e-9)
    nothing = np.full((1, 4), NAN)
    assert_allclose(classifier.predict_proba(nothing)[0], classifier.class_prior_, rtol=1e-14)
    assert_allclose(classifier.score_samples(nothing), 0.0, atol=1e-15)


def exact_scatter(X, w):
    """(means, Σ w (x - μ)(x - μ)ᵀ, Σ w) as Fractions."""
    x = np.vectorize(Fraction, otypes=[object])(X)
    w = np.vectorize(Fraction, otypes=[object])(w)
    n = w.sum()
    mean = (x * w[:, np.newaxis]).sum(axis=0) / n
    away = x - mean
    return mean, (away * w[:, np.newaxis]).T @ away, n


@pytest.mark.parametrize(
    "shift",
    [
        [0.0, 0.0, 0.0], [1e8, 1e8, -1e8], [1e8, 0.0, 1e-8], [1e12, 1e15, 1.0], [1e15, 1e15, 1e15],
    ],
)  # fmt: skip
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_offsets_cost_no_digits(shift, ddof, weighted):
    rng = np.random.default_rng(4)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 3)) @ [[1.0, 0.5, 0.0], [0.0, 1.0, 0.9], [0.0, 0.0, 1.0]]
    X = np.rint(X * 64) / 64 + shift + np.outer(y, [0.0, 1e8, 0.0])
    w = rng.gamma(2.0, 1.0, 90) + 0.1 if weighted else np.ones(90)
    full = GaussianBayes(ddof=ddof).fit(X, y, sample_weight=w)
    tied = GaussianBayes("tied", ddof=ddof).fit(X, y, sample_weight=w)
    total, freedom = 0, 0
    for c in range(3):
        mean, scatter, n = exact_scatter(X[y == c], w[y == c])
        total, freedom = total + scatter, freedom + n - ddof
        assert_array_equal(full.means_[c], mean.astype(float))
        sigma = (scatter / (n - ddof)).astype(float)
        assert_allclose(full.covariance_[c], sigma, rtol=1e-14, atol=1e-14)
    assert_allclose(tied.covariance_, (total / freedom).astype(float), rtol=1e-14, atol=1e-14)


@both
def test_classes_far_apart_do_not_hide_those_close_by(covariance):
    rng = np.random.default_rng(5)
    y = np.arange(300) % 3
    means = np.array([0.0, 1.0, 1e8])
    X = rng.normal(size=(300, 3)) @ [[1.0, 0.5, 0.0], [0.0, 1.0, 0.9], [0.0, 0.0, 1.0]]
    X += means[y][:, np.newaxis]
    classifier = GaussianBayes(covariance).fit(X, y)
    close = X[y < 2]
    joint = classifier.predict_joint_log_proba(close)
    sigma = np.broadcast_to(classifier.covariance_, (3, 3, 3))
    with mpmath.workdps(60):
        inverse = [mpmath.matrix(one.tolist()) ** -1 for one in sigma]
        dets = [mpmath.log(mpmath.det(mpmath.matrix(one.tolist()))) for one in sigma]
        for x, (a, b, far) in zip(close, joint, strict=True):
            scores = []
            for c in range(3):
                away = mpmath.matrix(x.tolist()) - mpmath.matrix(classifier.means_[c].tolist())
                scores.append(-(dets[c] + (away.T * inverse[c] * away)[0]) / 2)
            assert_allclose(b - a, float(scores[1] - scores[0]), rtol=1e-9, atol=1e-9)
            assert_allclose(far - a, float(scores[2] - scores[0]), rtol=1e-12)
    explained = classifier.explain(close)
    assert_allclose(explained.joint[:, 1] - explained.joint[:, 0], joint[:, 1] - joint[:, 0],
                    rtol=1e-8, atol=1e-8)  # fmt: skip
    assert (classifier.predict(X[y == 2]) == 2).all()


@newest
def test_three_hundred_features():
    X, y = clouds(1000, 300, 2, seed=2)
    theirs = QuadraticDiscriminantAnalysis(solver="eigen").fit(100.0 * X, y)  # it has its limits
    assert_same_answers(GaussianBayes().fit(100.0 * X, y), theirs, 100.0 * X[:100])
    linear = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    assert_same_answers(GaussianBayes("tied").fit(X, y), linear, X[:100])


def test_two_thousand_features():
    rng = np.random.default_rng(3)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 2000)) + 0.2 * y[:, np.newaxis]
    classifier = GaussianBayes("tied", "oas").fit(X[:150], y[:150])
    assert (classifier.predict(X[150:]) == y[150:]).mean() > 0.9
    assert classifier.n_parameters_ == 1 + 2 * 2000 + 2000 * 2001 // 2


# ---- shrinkage -----------------------------------------------------------------------------------


def correlated(X):
    """(correlations, deviations), divided by n."""
    deviation = X.std(axis=0)
    return np.cov(X.T, ddof=0) / deviation / deviation[:, np.newaxis], deviation


def published(S, n, amount):
    """Chen, Wiesel, Eldar and Hero 2010, equations 17 (Rao-Blackwell Ledoit-Wolf) and 23 (OAS)."""
    p = len(S)
    trace, squares = np.trace(S), np.trace(S @ S)
    if amount == "oas":
        rho = ((1 - 2 / p) * squares + trace**2) / ((n + 1 - 2 / p) * (squares - trace**2 / p))
    else:
        rho = ((n - 2) / n * squares + trace**2) / ((n + 2) * (squares - trace**2 / p))
    return min(rho, 1.0)


@pytest.mark.parametrize("amount", ["auto", "oas"])
@pytest.mark.parametrize(("n", "d"), [(40, 3), (60, 20), (60, 100)])
def test_the_amount_of_shrinkage_is_that_of_the_paper(n, d, amount):
    X, y = clouds(3 * n, d, 2)
    X *= 10.0 ** np.linspace(-3, 3, d)
    full = GaussianBayes(shrinkage=amount).fit(X, y)
    for c in range(2):
        S, deviation = correlated(X[y == c])
        rho = published(S, (y == c).sum(), amount)
        assert_allclose(full.shrinkage_[c], rho, rtol=1e-10)
        shrunk = ((1 - rho) * S + rho * np.eye(d)) * deviation * deviation[:, np.newaxis]
        scale = deviation * deviation[:, np.newaxis]
        assert_allclose(full.covariance_[c] / scale, shrunk / scale, rtol=1e-9, atol=1e-9)
    tied = GaussianBayes("tied", amount).fit(X, y)
    centred = X - full.means_[y]
    assert_allclose(tied.shrinkage_, published(correlated(centred)[0], len(X), amount), rtol=1e-10)


@pytest.mark.parametrize("d", [10, 30, 80])
def test_the_amounts_are_near_those_of_scikit_learn(d):
    X, y = clouds(400, d, 2, seed=d)
    for amount, theirs, near in (("oas", oas, 0.5 / d), ("auto", ledoit_wolf, 0.15)):
        ours = GaussianBayes(shrinkage=amount).fit(X, y)
        for c in range(2):  # theirs: without the terms in 2 / d; from fourth moments
            expected = theirs(StandardScaler().fit_transform(X[y == c]))[1]
            assert_allclose(ours.shrinkage_[c], expected, rtol=near)


@both
@pytest.mark.parametrize("amount", ["auto", "oas"])
def test_found_amounts_do_not_depend_on_units(covariance, amount):
    X, y = clouds(60, 8)
    units = 2.0 ** np.array([-300, -20, 0, 3, 7, 20, 100, 300])
    plain = GaussianBayes(covariance, amount).fit(X, y)
    scaled = GaussianBayes(covariance, amount).fit(X * units, y)
    assert_allclose(scaled.shrinkage_, plain.shrinkage_, rtol=1e-12)
    assert_allclose(scaled.predict_proba(X * units), plain.predict_proba(X), rtol=1e-9, atol=1e-12)


@every_rung
def test_a_number_draws_towards_the_mean_variance(covariance):
    X, y = clouds(80)
    one, none = (GaussianBayes(covariance, s).fit(X, y).covariance_ for s in (0.3, 0.0))
    if covariance in ("full", "tied"):
        target = np.trace(none, axis1=-2, axis2=-1)[..., np.newaxis, np.newaxis] / 4 * np.eye(4)
    else:
        target = np.asarray(none).mean(axis=-1, keepdims=True) if np.ndim(none) else none
        target = none if covariance.endswith("spherical") else target
    assert_allclose(one, 0.7 * none + 0.3 * target, rtol=1e-8)


# ---- hostile data --------------------------------------------------------------------------------


def refused(classifier, X, y, **more):
    """Why it does not fit; after that, it is as it was."""
    before = copy.deepcopy(vars(classifier))
    was = state(classifier) if hasattr(classifier, "model_") else None
    with pytest.raises(ValueError) as error:  # noqa: PT011
        classifier.fit(X, y, **more)
    assert vars(classifier).keys() == before.keys()
    assert was is None or state(classifier) == was
    return str(error.value)


SINGULAR = {
    "one row a class": ([[1.0, 2.0], [3.0, 5.0]], ["a", "b"], "'v' never varies"),
    "two rows a class": (
        [[1.0, 2.0], [2.0, 5.0], [3.0, 5.0], [4.0, 1.0]], list("aabb"), "2 features need at least",
    ),
    "a constant column": ([[1.0, 0.1], [2.0, 0.1], [3.0, 0.1]] * 2, list("aaabbb"), "'w' never"),
    "a column without values": ([[1.0, NAN], [2.0, NAN], [3.0, NAN]] * 2, list("aaabbb"),
                                "'w' has no values"),
    "huge numbers": ([[1.0, 1e200], [2.0, 3e200], [3.0, -1e200]] * 2, list("aaabbb"),
                     "'w' has values too large for their products"),
    "tiny numbers": ([[1.0, 1e-200], [2.0, 3e-200], [3.0, -1e-200]] * 2, list("aaabbb"),
                     "'w' never varies, or by less than 1e-154"),
    "the same column twice": ([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]] * 2, list("aaabbb"),
                              "'w' is a linear combination of others"),
    "rows all missing": ([[NAN, NAN], [NAN, NAN], [1.0, 2.0]], list("aab"), "never varies"),
}  # fmt: skip


@both
@pytest.mark.parametrize("case", SINGULAR)
def test_what_has_no_density_is_refused_with_advice(case, covariance):
    X, y, problem = SINGULAR[case]
    frame = pd.DataFrame(X, columns=["v", "w"])
    if covariance == "tied" and case == "two rows a class":
        frame, problem = frame.assign(w=frame["v"] * 2.0), "'w' is a linear combination of others"
    fitted = GaussianBayes(covariance).fit(pd.DataFrame(clouds(50, 2)[0], columns=["v", "w"]),
                                           clouds(50, 2)[1])  # fmt: skip
    for classifier in (GaussianBayes(covariance), fitted):
        message = refused(classifier, frame, y)
        assert problem in message
        where = "of class 'a'" if covariance == "full" else "shared by the classes"
        rows = y.count("a") if covariance == "full" else len(y)
        few = "1 row (one sample)" if rows == 1 else f"{rows} rows"
        assert f"the covariance {where}, from {few}, is singular" in message
        assert ("(diagonal)" if covariance == "tied" else "one covariance for all") in message
        assert 'shrinkage="auto"' in message
    if case in ("the same column twice", "two rows a class"):
        GaussianBayes(covariance, "auto").fit(frame, y)
        GaussianBayes(covariance, 0.1).fit(frame, y)


@both
@pytest.mark.parametrize("value", [0.1, -7.7, 1 / 3, 1e8 + 0.1, 1e-5, 123456.789])
def test_constants_are_found_in_any_rows(value, covariance):
    rng = np.random.default_rng(6)
    for n, classes in ((20, 2), (1000, 7), (5000, 3)):
        X, y = rng.normal(size=(n, 3)), np.arange(n) % classes
        X[:, 1] = value
        for weights in (None, rng.gamma(2.0, 1.0, n)):
            message = refused(GaussianBayes(covariance), X, y, sample_weight=weights)
            assert "feature 1 never varies" in message
        X[:, 1] = value * (1 + y)  # of each class
        assert "feature 1 never varies" in refused(GaussianBayes(covariance), X, y)


@given(st.integers(0, 2**32), st.integers(2, 24), st.booleans())
def test_combinations_are_found_whatever_their_scale(seed, d, few):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, d + 1)) if few else 4 * d
    X = rng.normal(size=(n + 4 * d, d)) * 10.0 ** rng.integers(-6, 7, d)
    X += 10.0 ** rng.integers(0, 7, d)
    if not few:
        X = rng.integers(-1000, 1000, X.shape) * 2.0 ** rng.integers(-20, 20, d)
        X[:, -1] = X[:, :-1].sum(axis=1) + 2.0**20  # exactly
    y = np.repeat(["few", "many"], [n, 4 * d])
    message = refused(GaussianBayes(), X, y)
    assert "of class 'few'" in message
    cause = f": {d} features need at least {d + 1} rows." if few else "is a linear combination of"
    assert cause in message
    assert ("leave the feature out" in message) != few


@both
def test_a_singular_start_is_mended_by_more_rows(covariance, tmp_path):
    X, y = clouds(60)
    stream = GaussianBayes(covariance).partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="is singular: feature 0 never varies"):
        stream.predict(X)
    stream.partial_fit(X[1:6], y[1:6])
    with pytest.raises(ValueError, match="is singular"):
        stream.score_samples(X)
    stream.save(tmp_path / "young")
    young = naively.load(tmp_path / "young")
    with pytest.raises(ValueError, match="is singular"):
        young.predict(X)
    for classifier in (stream, young):
        classifier.partial_fit(X[6:], y[6:])
        assert_same(classifier, GaussianBayes(covariance).fit(X, y), X)
    forgotten = clone(stream).fit(X, y).forget(X[3:], y[3:])
    with pytest.raises(ValueError, match="is singular"):
        forgotten.predict(X)


@both
def test_what_cannot_be_learned_or_scored_is_named(covariance):
    X, y = clouds(50, 3)
    names = ["height", "weight", "age"]
    classifier = GaussianBayes(covariance)
    for value in (np.inf, -np.inf):
        bad = pd.DataFrame(X, columns=names, copy=True)
        bad.loc[31, "weight"] = value
        assert "infinity: row 31, column 'weight'" in refused(classifier, bad, y)
        fitted = GaussianBayes(covariance).fit(pd.DataFrame(X, columns=names), y)
        for method in ("predict", "predict_proba", "score_samples", "explain"):
            with pytest.raises(InvalidValueError, match="infinity: row 31, column 'weight'"):
                getattr(fitted, method)(bad)
        bad.loc[31, "age"] = NAN
        with pytest.raises(InvalidValueError, match="infinity: row 31, column 'weight'"):
            fitted.predict(bad)
    held = state(fitted)
    with pytest.raises(ValueError, match="infinity"):
        fitted.partial_fit(bad, y)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(pd.DataFrame(X, columns=["height", "weight", "ages"]))
    with pytest.raises(ValueError, match="2 features, but GaussianBayes is expecting 3"):
        GaussianBayes(covariance).fit(X, y).predict(X[:, :2])
    assert state(fitted) == held
    assert "Complex data" in refused(classifier, X + 1j, y)
    assert "0 sample" in refused(classifier, X[:0], y[:0])
    assert "column 1 is 'x'" in refused(classifier, [[1, "x"], [2, "y"]], [0, 1])
    assert "zero" in refused(classifier, X, y, sample_weight=np.zeros(50))
    assert "row 3 weighs -1" in refused(
        classifier, X, y, sample_weight=np.where(np.arange(50) == 3, -1, 1)
    )


@newest
def test_features_of_one_column_bools_and_whole_numbers():
    X, y = clouds(80, 1)
    ours = GaussianBayes().fit(X, y)
    assert_same_answers(ours, QuadraticDiscriminantAnalysis().fit(X, y), X)
    assert ours.covariance_.shape == (3, 1, 1)
    truth = np.random.default_rng(7).random((80, 3)) < 0.4
    same = GaussianBayes().fit(truth.astype(float), y)
    assert_same(GaussianBayes().fit(truth, y), same, truth.astype(float))
    assert_same(GaussianBayes().fit(truth.astype(np.int64), y), same, truth.astype(float))
    assert_array_equal(same.predict_proba(truth), same.predict_proba(truth.astype(np.uint8)))


@both
def test_a_class_may_lack_a_feature(covariance):
    X, y = clouds(150)
    X[y == 1, 2] = NAN
    classifier = GaussianBayes(covariance).fit(X, y)
    assert_allclose(classifier.means_[1, 2], np.nanmean(X[:, 2]), rtol=1e-14)
    if covariance == "full":
        sigma = classifier.covariance_[1]
        assert_allclose(sigma[2], [0, 0, np.nanvar(X[:, 2]), 0], rtol=1e-12, atol=1e-15)
    p = classifier.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


def assert_sound(classifier, X):
    assert_probabilities(classifier, X)
    assert not np.isnan(classifier.score_samples(X)).any()
    assert not np.isnan(classifier.explain(X).contributions).any()


@pytest.mark.parametrize("d", [2, 9, 70])
@both
@given(data=st.data())
def test_posteriors_of_any_rows_are_probabilities(covariance, d, data):
    X, y = clouds(300, d)
    classifier = GaussianBayes(covariance, 0.1).fit(X, y)
    rows = X[:6].copy()
    for _ in range(data.draw(st.integers(1, 8))):
        cell = data.draw(st.integers(0, 5)), data.draw(st.integers(0, d - 1))
        rows[cell] = data.draw(HOSTILE["reals"])
    assert_sound(classifier, rows)


@pytest.mark.parametrize("size", [1e100, 1e154, 1e160, 1e200, 1e300, 1.7e308])
@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (1, 0)])
def test_the_nearest_class_wins_far_away(size, signs):
    rng = np.random.default_rng(8)
    y = np.arange(90) % 3
    mix = np.array([[1.0, 0.9], [0.0, 0.5]])
    X = rng.normal(size=(90, 2)) @ mix + np.array([[0, 0], [5, 0], [5, 9]])[y]
    X[y == 2] *= [1.0, 3.0]
    row = np.array([signs]) * size
    full, tied = GaussianBayes().fit(X, y), GaussianBayes("tied").fit(X, y)
    distance = [signs @ np.linalg.inv(sigma) @ signs for sigma in full.covariance_]
    assert full.predict(row)[0] == np.argmin(distance)
    lean = tied.means_ @ np.linalg.inv(tied.covariance_) @ signs
    assert tied.predict(row)[0] == np.argmax(lean)
    for classifier in (full, tied):
        assert_sound(classifier, np.vstack([row, X[:1]]))


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
@pytest.mark.parametrize("d", [2, 65])
def test_a_needle_does_not_hide_the_other_classes(order, d):
    rng = np.random.default_rng(9)
    kind = np.arange(900) % 3
    X = rng.normal(size=(900, d))
    X[kind == 1] *= 1e4
    X[kind == 2] *= 1e-150
    y = np.array(order)[kind]
    classifier = GaussianBayes(shrinkage=0.01).fit(X, y)
    rows = np.array([np.full(d, size) for size in (0.1, 1e3, 1e5, 1e120, 0.0)])
    assert_array_equal(classifier.predict(rows), np.array(order)[[0, 1, 1, 1, 2]])
    joint = classifier.predict_joint_log_proba(rows)
    for kind, row in ((0, 0), (1, 1), (1, 2), (0, 2)):
        c = order[kind]
        expected = multivariate_normal(classifier.means_[c], classifier.covariance_[c])
        assert_allclose(joint[row, c], expected.logpdf(rows[row]) - np.log(3.0), rtol=1e-9)
    assert_sound(classifier, rows)


@both
def test_columns_of_all_sizes_side_by_side(covariance):
    X, y = clouds(150, 4)
    plain = GaussianBayes(covariance).fit(X, y)
    units = np.array([1e-150, 1.0, 1e150, 1e-8])
    scaled = GaussianBayes(covariance).fit(X * units, y)
    assert_allclose(
        scaled.covariance_ / np.outer(units, units), plain.covariance_, rtol=1e-12, atol=1e-13
    )
    assert_allclose(scaled.predict_proba(X * units), plain.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert_allclose(
        scaled.score_samples(X * units) + np.log(units).sum(), plain.score_samples(X), rtol=1e-10
    )


@pytest.mark.parametrize(("unit", "weight"), [(1e-10, 1e-300), (1e100, 1e200), (1.0, 5e-324)])
def test_no_weight_leads_out_of_float64(unit, weight):
    X, y = clouds(60)
    plain = GaussianBayes().fit(X, y).covariance_
    weighted = GaussianBayes().fit(X * unit, y, sample_weight=np.full(60, weight))
    assert_allclose(weighted.covariance_ / unit / unit, plain, rtol=1e-12, atol=1e-14)


def test_marginals_are_computed_by_any_number_of_threads():
    X, y = clouds(3000, 8)
    classifier = GaussianBayes(n_jobs=1).fit(X, y)
    X[np.random.default_rng(2).random(X.shape) < 0.4] = NAN  # more patterns than are kept
    expected = classifier.predict_proba(X)
    assert_array_equal(classifier.set_params(n_jobs=8).predict_proba(X), expected)
    found = []
    threads = [threading.Thread(target=lambda: found.append(classifier.predict_proba(X)))
               for _ in range(3)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert all(np.array_equal(one, expected) for one in found)


PARAMETERS = [
    ({"covariance": "whole"}, "covariance must be one of 'full', 'tied', 'diagonal'"),
    ({"covariance": None}, "covariance must be one of"),
    ({"covariance": ["full"]}, "covariance must be one of"),
    ({"shrinkage": -0.1}, "shrinkage must be None, a number from 0 to 1"),
    ({"shrinkage": 1.5}, "shrinkage must be None, a number from 0 to 1"),
    ({"shrinkage": NAN}, "shrinkage must be None, a number from 0 to 1"),
    ({"shrinkage": "much"}, "shrinkage must be .* not 'much'"),
    ({"shrinkage": [0.1]}, "shrinkage must be None, a number from 0 to 1"),
    ({"shrinkage": np.array([0.1, 0.2])}, "shrinkage must be None, a number from 0 to 1"),
    ({"ddof": 2}, "ddof must be 0 or 1, not 2"),
    ({"ddof": None}, "ddof must be 0 or 1"),
    ({"ddof": "1"}, "ddof must be 0 or 1"),
    ({"prior": [0.5, 0.6, 0.1]}, "sum of the priors"),
    ({"prior": [0.5, 0.5]}, "Number of priors"),
    ({"prior": [1.5, -0.5, 0.0]}, "non-negative"),
    ({"prior": "equal"}, "the prior must be"),
    ({"n_jobs": 0}, "n_jobs"),
]


@pytest.mark.parametrize(("parameters", "match"), PARAMETERS)
def test_strange_parameters_are_refused(parameters, match):
    X, y = clouds(60)
    for covariance in COVARIANCES if "covariance" not in parameters else [None]:
        classifier = GaussianBayes(covariance or "full").set_params(**parameters)
        with pytest.raises(ValueError, match=match):
            classifier.fit(X, y)
        assert not hasattr(classifier, "model_")


@every_rung
@pytest.mark.parametrize("number", [np.float32(0.5), np.int64(1), np.float64(0.25), 0, 1])
def test_numbers_of_any_type_shrink(covariance, number):
    X, y = clouds(60)
    ours = GaussianBayes(covariance, number).fit(X, y)
    same = GaussianBayes(covariance, float(number)).fit(X, y)
    assert_array_equal(ours.covariance_, same.covariance_)
    assert_array_equal(ours.shrinkage_, float(number))


def test_attributes_follow_the_parameters():
    X, y = clouds(60)
    classifier = GaussianBayes("diagonal").fit(X, y)
    classifier.set_params(covariance="spherical", shrinkage=0.3).reestimate()
    same = GaussianBayes("spherical", 0.3).fit(X, y)
    assert_array_equal(classifier.covariance_, same.covariance_)
    assert classifier.shrinkage_ == 0.3
    with pytest.raises(ValueError, match="cannot continue with another family"):
        GaussianBayes("tied").fit(X, y).set_params(covariance="full").partial_fit(X, y)
    with pytest.raises(ValueError, match="tied"):
        GaussianBayes("tied").fit(X, y) + GaussianBayes("full").fit(X, y)


# ---- what a model tells --------------------------------------------------------------------------

COUNTS = {
    "full": 3 * 4 + 3 * 10, "tied": 3 * 4 + 10, "diagonal": 3 * 4 + 3 * 4,
    "tied_diagonal": 3 * 4 + 4, "spherical": 3 * 4 + 3, "tied_spherical": 3 * 4 + 1,
}  # fmt: skip
SHAPES = {
    "full": (3, 4, 4), "tied": (4, 4), "diagonal": (3, 4), "tied_diagonal": (4,),
    "spherical": (3,), "tied_spherical": (),
}  # fmt: skip


@every_rung
def test_the_number_of_parameters(covariance):
    classifier = GaussianBayes(covariance).fit(*clouds(60))
    assert classifier.n_parameters_ == 2 + COUNTS[covariance]
    assert np.shape(classifier.covariance_) == SHAPES[covariance]
    assert classifier.means_.shape == (3, 4)


@every_rung
def test_the_quadratic_form_gives_the_log_odds(covariance):
    X, y = clouds(150)
    classifier = GaussianBayes(covariance).fit(X + 3.0, y)
    form = classifier.to_quadratic()
    assert form.quadratic.shape == (3, 4, 4)
    assert_array_equal(form.classes, [0, 1, 2])
    assert (np.linalg.eigvalsh(form.quadratic) < 0).all()
    scores = np.einsum("ni,cij,nj->nc", X, form.quadratic, X) + X @ form.coef.T + form.intercept
    log_p = classifier.predict_log_proba(X)
    assert_allclose(scores - scores[:, :1], log_p - log_p[:, :1], rtol=1e-9, atol=1e-9)
    with_base = logsumexp(scores, axis=1)
    assert_allclose(with_base, classifier.score_samples(X), rtol=1e-9)


@every_rung
@pytest.mark.parametrize("classes", [2, 3])
def test_the_linear_form_gives_the_log_odds(covariance, classes):
    X, y = clouds(150, 4, classes)
    classifier = GaussianBayes(covariance).fit(X, y)
    if not covariance.startswith("tied"):
        with pytest.raises(ValueError, match="quadratic in x"):
            classifier.to_linear()
        return
    form = classifier.to_linear()
    scores = X @ form.coef.T + form.intercept
    log_p = classifier.predict_log_proba(X)
    if classes == 2:
        scores = np.column_stack([np.zeros(150), scores])
    assert_allclose(scores - scores[:, :1], log_p - log_p[:, :1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("amount", ["auto", "oas"])
def test_found_amounts_do_not_depend_on_the_unit_of_a_column_constant_in_a_class(amount):
    X, y = clouds(60, 2)
    first = np.asarray(y) == np.asarray(y)[0]
    X[first, 1] = 3.0
    scores = [
        GaussianBayes("full", amount).fit(X * [1.0, unit], y).predict_proba(X * [1.0, unit])
        for unit in (1e-4, 1.0, 1e4)
    ]
    assert_allclose(scores[0], scores[1], rtol=1e-6, atol=1e-12)
    assert_allclose(scores[2], scores[1], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("amount", ["auto", "oas"])
def test_the_fewer_rows_weigh_the_more_a_covariance_shrinks(amount):
    model = GaussianBayes("full", amount).fit(*clouds(60, 2))
    amounts = [float(model.decay(0.5).shrinkage_[0]) for _ in range(9)]
    assert amounts == sorted(amounts)


def test_weights_beyond_float64_are_refused():
    model = GaussianBayes("tied").fit([[-1.0], [1.0], [1e200], [1e200]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="beyond float64"):
        model.to_linear()
