"""Bugs of well-known implementations that must not occur here, one test each."""

import tracemalloc

import numpy as np
import pytest
from kit import ONE_EACH, assert_same, domain, new, numbers
from numpy.testing import assert_allclose, assert_array_equal

from naively import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, PoissonNB

NAN = float("nan")


def peak_megabytes(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


# ---- statistics ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("offset", "dtype"), [(1e8, np.float64), (1e4, np.float32)])
def test_variance_at_an_offset(offset, dtype):
    X = (offset + np.array([[-1.0], [1.0]] * 50)).astype(dtype)
    fitted = GaussianNB(var_smoothing=0).fit(np.vstack([X, X]), np.repeat([0, 1], 100))
    assert fitted.var_.tolist() == [[1.0], [1.0]]


def test_float32_counts_pass_2_to_the_24():
    X = np.full((3, 1), 2**24, np.float32)
    X[2] = 1
    fitted = MultinomialNB().fit(X, [0, 1, 0])
    assert fitted.feature_count_.tolist() == [[2**24 + 1], [2**24]]


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_integers_do_not_overflow(dtype):
    top = np.iinfo(dtype).max
    X = np.full((6, 1), top, dtype)
    for kind in (GaussianNB, MultinomialNB, PoissonNB):
        fitted = kind().fit(X, [0, 0, 0, 0, 0, 1])
        total = fitted.model_.statistics.tables["sum"].fractions()[0, 0]
        assert total == 5 * int(top)


def test_variance_smoothing_does_not_depend_on_the_cut():
    X, y = numbers("reals", 60, 3)
    X[:30] *= 1000
    rows = GaussianNB(var_smoothing=0.1)
    for i in range(60):
        rows.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same(GaussianNB(var_smoothing=0.1).fit(X, y), rows, X)
    assert (rows.var_ > 0).all()


@pytest.mark.parametrize("kind", [GaussianNB, MultinomialNB, BernoulliNB, PoissonNB])
def test_labels_are_not_made_one_hot(kind):
    y = np.arange(20_000) % 5000  # one-hot: 800 MB
    X = np.ones((20_000, 2))
    assert peak_megabytes(lambda: kind().fit(X, y)) < 60


def test_a_large_code_takes_no_memory():
    X = np.array([[20_000_000], [3]])

    def work():
        fitted = CategoricalNB().fit(X, [0, 1])
        assert fitted.predict(X).tolist() == [0, 1]

    assert peak_megabytes(work) < 20


@pytest.mark.parametrize("name", ONE_EACH)
def test_an_update_of_one_class_leaves_the_others(name):
    X, y = numbers(domain(name), 30, 3)
    fitted = new(name).fit(X, y)
    tables = fitted.model_.canonical().copy().statistics.tables
    fitted.partial_fit(X[:4], [2, 2, 2, 2])
    for key, table in fitted.model_.statistics.tables.items():
        assert_array_equal(table.fractions()[:2], tables[key].fractions()[:2])


def test_counts_of_categories_follow_an_update():
    fitted = CategoricalNB().fit([[0], [1]], ["a", "b"])
    before = fitted.predict_proba([[5]])
    fitted.partial_fit([[5]] * 9, ["b"] * 9)
    assert_array_equal(fitted.category_count_[0], [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 9]])
    assert fitted.predict_proba([[5]])[0, 1] > before[0, 1]


# ---- estimation ----------------------------------------------------------------------------------


def test_a_small_feature_beside_a_large_one():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = np.c_[1e-3 * (y + 0.1 * rng.normal(size=200)), 1e6 * rng.normal(size=200)]
    assert GaussianNB(floor="feature").fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize(
    "kind", [MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB, PoissonNB]
)
def test_alpha_0_gives_probabilities(kind):
    X = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1]])
    fitted = kind(alpha=0).fit(X, [0, 0, 1])
    rows = np.vstack([X, np.zeros((1, 3), int), np.ones((1, 3), int), [[0, 0, 5]]])
    p = fitted.predict_proba(rows)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert fitted.predict(X).tolist() == [0, 0, 1]


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_complement_of_one_feature_or_of_words_of_one_class(norm, alpha):
    for X in ([[5], [2]], [[5, 0, 1], [0, 5, 1]], [[0, 0], [1, 0]]):
        p = ComplementNB(alpha=alpha, norm=norm).fit(X, [0, 1]).predict_proba(X)
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


def test_log_of_one_minus_p_comes_from_counts():
    n = 10**6
    X = np.array([[1.0], [0.0]])
    fitted = BernoulliNB(alpha=1e-12).fit(X, [0, 1], sample_weight=[n, 1])
    absent = fitted.explain([[0.0]]).contributions[0, 0, 0]
    assert_allclose(absent, np.log(1e-12) - np.log(n), rtol=1e-14)


@pytest.mark.parametrize("name", ONE_EACH)
def test_priors_that_do_not_sum_to_1(name):
    X, y = numbers(domain(name), 20, 2)
    key = type(new(name))._prior_parameter
    with pytest.raises(ValueError, match="should be 1, not 10"):
        new(name, **{key: [5, 5]}).fit(X, y % 2)


@pytest.mark.parametrize("name", ONE_EACH)
def test_priors_are_used_and_not_smoothed_by_default(name):
    X, y = numbers(domain(name), 20, 2)
    key = type(new(name))._prior_parameter
    missing = np.full((1, 2), NAN)
    fitted = new(name, **{key: [0.9, 0.1]}).fit(X, y % 2)
    assert_allclose(fitted.predict_proba(missing), [[0.9, 0.1]], rtol=1e-12)
    empirical = new(name).fit(X, y % 2).predict_proba(missing)
    assert_allclose(empirical[0], np.bincount(y % 2) / 20, rtol=1e-12)


@pytest.mark.parametrize("name", ONE_EACH)
def test_a_class_without_rows(name):
    X, y = numbers(domain(name), 20, 2)
    fitted = new(name).partial_fit(X, y % 2, classes=[0, 1, 2])
    p = fitted.predict_proba(X)
    assert (p[:, 2] == 0).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    smooth = new(name, prior_smoothing=1.0).partial_fit(X, y % 2, classes=[0, 1, 2])
    assert (smooth.predict_proba(X)[:, 2] > 0).all()


def test_all_variances_zero():
    X = np.full((6, 2), 0.1)
    for classifier in (GaussianNB(), GaussianNB(var_smoothing=0), GaussianNB(tie="both", ddof=1)):
        p = classifier.fit(X, [0, 0, 0, 0, 1, 1]).predict_proba(X)
        assert_allclose(p, [[4 / 6, 2 / 6]] * 6, rtol=1e-12)


# ---- prediction ----------------------------------------------------------------------------------


@pytest.mark.parametrize("far", [1e2, 1e5, 1e10])
def test_far_from_the_means_the_nearer_class_wins(far):
    X, y = [[-1.0], [-1.1], [1.0], [1.1]], ["low", "low", "up", "up"]
    fitted = GaussianNB(tie="classes").fit(X, y)
    assert fitted.predict([[far], [-far]]).tolist() == ["up", "low"]
    assert_allclose(fitted.predict_proba([[far]]), [[0.0, 1.0]], atol=1e-12)


@pytest.mark.parametrize("far", [1e2, 1e10, 1e100, 1e154, 1e160, 1e300])
def test_far_from_the_means_the_wider_class_wins(far):
    fitted = GaussianNB().fit([[-1.0], [1.0], [-3.0], [3.0]], ["narrow", "narrow", "wide", "wide"])
    assert fitted.predict([[far], [-far], [0.0]]).tolist() == ["wide", "wide", "narrow"]
    assert_allclose(fitted.predict_proba([[far]]), [[0.0, 1.0]], atol=1e-12)


def test_large_log_likelihoods_are_shifted_before_exp():
    X = np.array([[1000.0, 0.0], [0.0, 1000.0]])
    fitted = PoissonNB().fit(X, [0, 1])
    assert (fitted.predict_joint_log_proba(X).max(axis=1) > 5000).all()
    assert_allclose(fitted.predict_proba(X), np.eye(2), atol=1e-12)


@pytest.mark.parametrize("unseen", ["smooth", "ignore"])
def test_an_unseen_category_reads_no_other(unseen):
    X = [[0, 1], [0, 2], [1, 0], [1, 2]]
    fitted = CategoricalNB(unseen=unseen).fit(X, ["a", "a", "b", "b"])
    assert_allclose(fitted.predict_proba([[9, 9]]), [[0.5, 0.5]], rtol=1e-12)
    assert fitted.predict([[0, 10**6], [1, 3]]).tolist() == ["a", "b"]
    for wrapped in (-1, -2):
        with pytest.raises(ValueError, match="row 0, column 1"):
            fitted.predict([[0, wrapped]])


def test_fractions_are_not_cut_to_codes():
    with pytest.raises(ValueError, match=r"row 0, column 0 is 0\.9"):
        CategoricalNB().fit([[0.9], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "labels", [[3, 1, 2], ["c", "a", "b"], [True, False, True], [2.0, 0.0, 1.0]]
)
def test_labels_keep_their_type(labels):
    y = np.array(labels)[np.arange(9) % 3]
    fitted = GaussianNB().fit(np.arange(9.0)[:, np.newaxis], y)
    assert fitted.classes_.tolist() == sorted(set(labels))
    assert fitted.predict([[1.0]]).dtype == y.dtype


# ---- long-standing wishes ------------------------------------------------------------------------


def test_smoothing_means_virtual_rows():
    """alpha is that many rows more of each kind, whatever the number of classes or of rows."""
    X, y = np.array([[1, 0], [1, 1], [0, 1]]), np.array([0, 0, 1])
    smooth = BernoulliNB(alpha=2).fit(X, y)
    more = np.vstack([X, [[1, 1], [0, 0]] * 4])
    plain = BernoulliNB(alpha=0).fit(more, np.r_[y, 0, 0, 0, 0, 1, 1, 1, 1])
    assert_allclose(smooth.feature_log_prob_, plain.feature_log_prob_, rtol=1e-14)


def test_many_classes_take_little_memory():
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = sparse.random_array((5000, 1000), density=0.01, random_state=rng, format="csr")
    y = np.arange(5000) % 1000
    size = 1000 * 1000 * 8 / 2**20  # one number for each class and feature

    def work():
        MultinomialNB().fit(X, y).predict(X[:100])

    assert peak_megabytes(work) < 12 * size


def test_scores_farther_apart_than_floats_reach():
    X = np.array([[0.0, np.nan], [0.0, 3.0], [np.nan, 0.0], [0.0, 3.0]])
    model = PoissonNB().fit(X, [0, 0, 1, 0])
    assert model.predict_proba([[0.0, 1.7e308]]).tolist() == [[1.0, 0.0]]
