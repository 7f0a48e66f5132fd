"""Parity with scikit-learn, except for intended differences.

They are: ComplementNB counts the class prior (`fit_prior=False` does not); GaussianNB's variance
floor follows from all data seen, with their weights, and not from each batch apart.
"""

import numpy as np
import pytest
import sklearn.naive_bayes as peers
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import datasets

import naively

rng = np.random.default_rng(5)


def random_data():
    y = rng.integers(0, 4, 500)
    return rng.poisson(rng.gamma(1.0, 2.0, (4, 30))[y]).astype(float), y


DATA = {
    "iris": datasets.load_iris(return_X_y=True),
    "wine": datasets.load_wine(return_X_y=True),
    "digits": datasets.load_digits(return_X_y=True),
    "breast cancer": datasets.load_breast_cancer(return_X_y=True),
    "random": random_data(),
}
PAIRS = {
    "GaussianNB": {},
    "GaussianNB, smooth": {"var_smoothing": 0.01},
    "MultinomialNB": {},
    "MultinomialNB, Lidstone": {"alpha": 0.01},
    "MultinomialNB, uniform": {"fit_prior": False},
    "ComplementNB": {"fit_prior": False},
    "ComplementNB, norm": {"fit_prior": False, "norm": True},
    "BernoulliNB": {},
    "BernoulliNB, binarize": {"binarize": 2.0, "alpha": 0.3},
    "CategoricalNB": {},
    "CategoricalNB, declared": {"min_categories": 300, "alpha": 0.1},
}
ATTRIBUTES = {
    "GaussianNB": ["theta_", "var_", "class_prior_", "epsilon_"],
    "MultinomialNB": ["feature_log_prob_", "feature_count_", "class_log_prior_"],
    "ComplementNB": ["feature_log_prob_", "feature_count_", "feature_all_"],
    "BernoulliNB": ["feature_log_prob_", "feature_count_", "class_log_prior_"],
    "CategoricalNB": ["category_count_", "feature_log_prob_", "class_log_prior_", "n_categories_"],
}
for_every_pair = pytest.mark.parametrize("pair", PAIRS)
for_all_data = pytest.mark.parametrize("data", DATA)


def both(pair, **more):
    """(ours, theirs)"""
    kind = pair.split(",")[0]
    parameters = PAIRS[pair] | more
    return getattr(naively, kind)(**parameters), getattr(peers, kind)(**parameters)


def table(pair, data):
    X, y = DATA[data]
    return (X // 1 if pair.startswith("Cat") and data != "breast cancer" else X), y


def test_zeros_are_above_a_threshold_below_0():
    """In a batch of zeros alone, too: scikit-learn has no such thresholds, but takes 0 and 1."""
    zeros, y = np.zeros((4, 2)), [0, 0, 1, 1]
    X = np.array([[-2.0, 0.0], [1.0, -3.0], [0.0, 0.0], [-2.0, -2.0]])
    parts = naively.BernoulliNB(binarize=-1.5).partial_fit(zeros, y).partial_fit(X, y)
    whole = peers.BernoulliNB(binarize=None).fit(np.vstack([zeros, X]) > -1.5, y * 2)
    assert_array_equal(parts.feature_count_, whole.feature_count_)
    assert_allclose(parts.predict_proba(X), whole.predict_proba(X > -1.5), rtol=1e-10)


def assert_alike(ours, theirs, X, pair, rtol=1e-10):
    assert_array_equal(ours.classes_, theirs.classes_)
    assert_array_equal(ours.class_count_, theirs.class_count_)
    for name in ATTRIBUTES[pair.split(",")[0]]:
        a, b = getattr(ours, name), getattr(theirs, name)
        for one, other in zip(a, b, strict=True) if isinstance(b, list) else [(a, b)]:
            assert_allclose(one, other, rtol=rtol, atol=1e-12, err_msg=name)
    mine, its = ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X)
    if isinstance(ours, naively.ComplementNB):  # whose prior is a constant of all classes there
        mine, its = mine - mine[:, :1], its - its[:, :1]
    size = abs(its).max(axis=1, keepdims=True)
    assert (abs(mine - its) <= rtol * np.maximum(size, 1.0)).all()
    log_p, its_log_p = ours.predict_log_proba(X), theirs.predict_log_proba(X)
    assert (abs(log_p - its_log_p) <= rtol * np.maximum(size, 1.0)).all()
    top = np.sort(its, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-9 * np.maximum(size[:, 0], 1.0)
    assert_array_equal(ours.predict(X)[clear], theirs.predict(X)[clear])


@for_all_data
@for_every_pair
def test_fit(pair, data):
    X, y = table(pair, data)
    if pair.startswith("Cat"):
        X = X.astype(int)
    ours, theirs = both(pair)
    # breast cancer has features of scale 1e-3 and 1e3: there scikit-learn's variances lose digits
    rtol = 1e-9 if data == "breast cancer" else 1e-10
    assert_alike(ours.fit(X, y), theirs.fit(X, y), X, pair, rtol)


@pytest.mark.parametrize("data", ["iris", "digits"])
@for_every_pair
def test_weights(pair, data):
    X, y = table(pair, data)
    weights = rng.integers(0, 5, len(y)).astype(float)
    ours, theirs = both(pair)
    if pair.startswith("Gaussian"):  # its floor does not know the weights; and digits has constants
        X = X[:, X.var(axis=0) > 1.0] if data == "digits" else X
        X = X + 0.1 * rng.normal(size=X.shape)
        ours, theirs = both(pair, var_smoothing=0.0)
    if pair.startswith("Cat"):  # its levels are also those of rows that weigh nothing
        X, weights = X.astype(int), weights + 1.0
    ours.fit(X, y, sample_weight=weights)
    theirs.fit(X, y, sample_weight=weights)
    assert_alike(ours, theirs, X, pair)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair[0] in "MB" or pair[:3] == "Com"])
def test_sparse(pair, form):
    X, y = table(pair, "digits")
    ours, theirs = both(pair)
    assert_alike(ours.fit(form(X), y), theirs.fit(form(X), y), form(X), pair)


@for_every_pair
def test_float32(pair):
    X, y = table(pair, "digits")
    ours, theirs = both(pair)
    if pair.startswith("Gaussian"):  # scikit-learn computes in float32: give it the same numbers
        wide = X.astype(np.float32).astype(np.float64)
        assert_alike(ours.fit(X.astype(np.float32), y), theirs.fit(wide, y), wide, pair)
    else:
        theirs.fit(X.astype(int) if pair.startswith("Cat") else X, y)
        assert_alike(ours.fit(X.astype(np.float32), y), theirs, X.astype(int), pair)


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if not pair.startswith("Gaussian, ")])
def test_partial_fit(pair):
    X, y = table(pair, "random")
    X = X + rng.normal(size=X.shape) if pair.startswith("Gaussian") else X
    more = {"var_smoothing": 0.0} if pair.startswith("Gaussian") else {}
    if pair == "CategoricalNB":
        more = {"min_categories": int(X.max()) + 1}
    if pair.startswith("Cat"):
        X = X.astype(int)
    ours, theirs = both(pair, **more)
    for rows in np.split(np.arange(500), [50, 51, 300]):
        ours.partial_fit(X[rows], y[rows], classes=np.arange(4))
        theirs.partial_fit(X[rows], y[rows], classes=np.arange(4))
    assert_alike(ours, theirs, X, pair)


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if not pair.startswith("Complement")])
def test_priors(pair):
    X, y = table(pair, "iris")
    if pair.startswith("Cat"):
        X = X.astype(int)
    name = "priors" if pair.startswith("Gaussian") else "class_prior"
    ours, theirs = both(pair, **{name: np.array([0.2, 0.5, 0.3])})
    assert_alike(ours.fit(X, y), theirs.fit(X, y), X, pair)


@pytest.mark.parametrize("pair", ["MultinomialNB", "ComplementNB"])
def test_smoothing_of_each_feature(pair):
    X, y = DATA["random"]
    ours, theirs = both(pair, alpha=np.linspace(0.1, 3.0, 30))
    assert_alike(ours.fit(X, y), theirs.fit(X, y), X, pair)


@pytest.mark.filterwarnings("ignore:alpha too small")  # as scikit-learn says; naively says nothing
@pytest.mark.parametrize("pair", ["MultinomialNB", "ComplementNB"])
def test_smoothing_that_is_not_forced(pair):
    X, y = DATA["random"]
    ours, theirs = both(pair, alpha=0.0, force_alpha=False)
    assert_alike(ours.fit(X, y), theirs.fit(X, y), X, pair)


@pytest.mark.parametrize(
    "labels", [["b", "a", "c"], [30, 7, -2], [True, False, True], [0.0, 1.0, 2.0]]
)
def test_labels_of_any_kind(labels):
    X, y = DATA["iris"]
    y = np.array(labels)[y]
    ours, theirs = both("GaussianNB")
    assert_alike(ours.fit(X, y), theirs.fit(X, y), X, "GaussianNB")
    assert ours.predict(X).dtype == theirs.predict(X).dtype
    assert ours.score(X, y) == theirs.score(X, y)
