"""Uses of estimators with scikit-learn, and regressions that reviewers found."""

import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from naively import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from naively.statistics.base import InvalidValueError

X = np.array([[0.0, 1, 2], [3, 1, 0], [1, 1, 1], [0, 4, 2]])
Y = np.array([0, 1, 0, 1])


def test_in_pipelines_and_searches():
    rows, labels = load_iris(return_X_y=True)
    assert cross_val_score(make_pipeline(StandardScaler(), GaussianNB()), rows, labels).mean() > 0.9
    search = GridSearchCV(GaussianNB(), {"tie": [None, "classes", "features", "both"]})
    assert search.fit(rows, labels).best_score_ > 0.9


@pytest.mark.parametrize("indices", [[3, 0], [-1, 0], [0, 10**6]])
@pytest.mark.parametrize("name", [GaussianNB, MultinomialNB, CategoricalNB])
def test_a_matrix_whose_indices_are_out_of_range_is_refused(name, indices):
    matrix = sp.csr_matrix((np.ones(2), np.array(indices), [0, 1, 2]), shape=(2, 3))
    with pytest.raises(ValueError, match="indices"):
        name().fit(matrix, [0, 1])


@pytest.mark.parametrize("dtype", [np.uint8, bool, np.float32, np.int64])
def test_duplicate_entries_are_summed_before_they_can_overflow(dtype):
    entries = np.array([200, 100, 1]).astype(dtype)
    matrix = sp.csr_matrix((entries, [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    counts = MultinomialNB().fit(matrix, [0, 1]).feature_count_
    assert counts[0, 0] == entries[:2].astype(float).sum()


@pytest.mark.parametrize("width", [4, 2**24 + 1])
@pytest.mark.parametrize("columns", [[2, 0, 1, 3, 0], [2, 0, 1, 3, 1], [2, 0, 0, 3, 1]])
def test_entries_in_any_order_are_learned_as_sorted_ones(columns, width):
    matrix = sp.csr_matrix((np.arange(1.0, 6), columns, [0, 3, 5]), shape=(2, width))
    counts = MultinomialNB().fit(matrix, [0, 1]).feature_count_
    assert_array_equal(counts[:, :4], matrix.tocsc()[:, :4].toarray())


@pytest.mark.parametrize("gamma", [Decimal("0.9"), Fraction(1, 3), np.float32(0.5), 1])
def test_decay_takes_any_number(gamma):
    model = MultinomialNB().fit(X, Y).decay(gamma)
    assert_allclose(model.class_count_, [2 * float(gamma)] * 2)


def test_decay_for_ever_ends_at_nothing_in_bounded_memory():
    model = GaussianNB().fit(X, Y)
    for _ in range(1200):
        model.decay(0.01).partial_fit(X[:1], Y[:1])
    assert model.model_.statistics.tables["square"].limbs.shape[-1] <= 72
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_threshold_below_zero_and_sparse_rows_do_not_go_together():
    model = BernoulliNB(binarize=-1.0).fit(X, Y)
    with pytest.raises(ValueError, match="threshold < 0"):
        model.predict(sp.csr_matrix(X))


@pytest.mark.parametrize("floor", ["largest", "feature"])
@pytest.mark.parametrize("filler", [np.nan, 5.0])
def test_a_feature_without_information_drowns_no_other(filler, floor):
    rows = np.array([[filler, 0], [filler, 1], [filler, 10], [filler, 11]])
    model = GaussianNB(floor=floor).fit(rows, [0, 0, 1, 1])
    assert model.predict_proba([[1e9, 10.5]])[0, 1] > 0.999
    assert not np.isnan(model.score_samples([[1e9, 10.5]])).any()
    if filler == 5.0:
        assert model.score_samples([[1e9, 10.5]]) < model.score_samples([[5.0, 10.5]])


def test_a_partial_fit_with_priors_that_do_not_fit_changes_nothing():
    model = GaussianNB().fit(X, [0, 1, 2, 2])
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="Number of priors"):
        model.set_params(priors=[0.5, 0.5]).partial_fit(X, [0, 1, 2, 2])
    assert (model.predict_proba(X) == before).all()
    model.set_params(priors=[0.2, 0.2, 0.2, 0.4]).partial_fit(X, [0, 1, 2, 3])
    assert_allclose(model.class_prior_, [0.2, 0.2, 0.2, 0.4])


def test_models_sum_with_the_parameters_of_the_first():
    halves = [MultinomialNB().fit(X, Y), MultinomialNB(alpha=3.0).fit(X, Y)]
    with pytest.warns(UserWarning, match="left model: alpha=1.0, not 3.0"):
        total = sum(halves)
    assert total.model_ == MultinomialNB().fit(np.vstack([X, X]), np.tile(Y, 2)).model_
    first = halves[0].set_params(alpha=0.5)
    with pytest.warns(UserWarning, match="left model: alpha=0.5, not 3.0"):
        total = first + halves[1]
    assert_allclose(
        total.feature_log_prob_,
        MultinomialNB(alpha=0.5).fit(np.vstack([X, X]), np.tile(Y, 2)).feature_log_prob_,
    )


def test_labels_of_any_byte_order():
    rows, labels = np.tile(X, (5000, 1)), np.tile(Y, 5000)
    model = GaussianNB().fit(rows, labels.astype(">i8"))
    assert model.model_ == GaussianNB().fit(rows, labels).model_


def test_an_error_travels_between_processes():
    error = InvalidValueError(3, 1, "{where} is odd")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.row, copy.column) == (str(error), 3, 1)


def test_a_model_that_forgot_everything_says_so():
    model = GaussianNB().fit(X, Y).forget(X, Y)
    for ask in (model.predict, model.explain, lambda _: model.sample(2)):
        with pytest.raises(ValueError, match="every row was forgotten"):
            ask(X)
    assert model.partial_fit(X, Y).model_ == GaussianNB().fit(X, Y).model_


def test_forgetting_a_longer_label_gives_the_old_model_back():
    short = GaussianNB().fit(X, ["a", "b", "a", "b"])
    model = GaussianNB().fit(X, ["a", "b", "a", "b"]).partial_fit(X[:1], ["longer"])
    assert model.forget(X[:1], ["longer"]).classes_.dtype == short.classes_.dtype


def test_the_smallest_number_leaves_the_others_their_say():
    model = GaussianNB(var_smoothing=0.0).fit(
        [[0.0, 0], [0, 2], [1, 1e3], [1, 1e3 + 2]], Y.repeat(1)[[0, 0, 1, 1]]
    )
    assert model.predict([[5e-324, 1e200]]) == model.predict([[0.0, 1e200]])


@pytest.mark.parametrize("model", [
    MultinomialNB(alpha="1"), BernoulliNB(binarize="a"), CategoricalNB(min_categories=-3),
    CategoricalNB(alpha=[[1.0, 1.0]]), GaussianNB(tie="rows"), GaussianNB(ddof=2),
], ids=str)  # fmt: skip
def test_parameters_are_checked_by_fit(model):
    with pytest.raises(ValueError, match=r"alpha|binarize|min_categories|tie|ddof"):
        model.fit(X, Y)
