"""Invalid input is refused with a message that says what and where; the model is unchanged."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from kit import ONE_EACH, domain, new, numbers, state
from numpy.testing import assert_allclose
from scipy.sparse import csc_array, csr_array
from sklearn.exceptions import NotFittedError

from naively import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
)

one_each_family = pytest.mark.parametrize("name", ONE_EACH)
COUNTS = [MultinomialNB, ComplementNB, PoissonNB]


@pytest.fixture
def data(name):
    X, _ = numbers(domain(name), 12, 2)
    return X, np.arange(12) % 3


def at(X, row, column, value):
    """X with one other value."""
    X = X.astype(object if isinstance(value, str) else np.result_type(X, type(value)))
    X[row, column] = value
    return X


def frame(X, row, column, value):
    return pd.DataFrame(at(X, row, column, value), columns=["height", "weight"])


NO_LABEL = pd.Series(["a", "b", pd.NA] * 4, dtype="string")
NOT_NUMBERS = pl.DataFrame({"a": [1.0] * 12, "b": ["x"] * 12})
WORDS = np.array([1, "a", 2] * 4, object)
INF = np.inf
# what becomes of X and y, and what the message says
BAD = {
    "rows of numbers": (lambda X, y: (X[:, 0], y), "1D array"),
    "a cube": (lambda X, y: (X[np.newaxis], y), "dim 3"),
    "no rows": (lambda X, y: (X[:0], y[:0]), "0 sample"),
    "no columns": (lambda X, y: (X[:, :0], y), "0 feature"),
    "too few labels": (lambda X, y: (X, y[:-1]), "X has 12 rows, y has 11"),
    "a column too many": (lambda X, y: (np.c_[X, X], y), "4 features"),
    "labels in a table": (lambda X, y: (X, np.c_[y, y]), r"1d array|shape"),
    "no labels": (lambda X, y: (X, None), "requires y"),
    "a label that is NaN": (lambda X, y: (X, np.where(y == 2, np.nan, y)), "label of row 2"),
    "a label that is None": (lambda X, y: (X, ["a", None] * 6), "label of row 1"),
    "a label that is NA": (lambda X, y: (X, NO_LABEL), "label of row 2"),
    "a label that is infinite": (lambda X, y: (X, np.where(y == 1, INF, y)), "inf"),
    "continuous labels": (lambda X, y: (X, y + 0.5), "continuous"),
    "labels that do not compare": (lambda X, y: (X, WORDS), "label|y "),
    "an infinity": (lambda X, y: (at(X, 7, 1, INF), y), "row 7, column 1"),
    "-infinity in a frame": (lambda X, y: (frame(X, 7, 1, -INF), y), "row 7, column 'weight'"),
    "an infinity in float32": (lambda X, y: (np.float32(at(X, 7, 1, INF)), y), "row 7, column 1"),
    "an infinity in CSR": (lambda X, y: (csr_array(at(X, 7, 1, INF)), y), "row 7, column 1"),
    "an infinity in CSC": (lambda X, y: (csc_array(at(X, 7, 1, INF)), y), "row 7, column 1"),
    "a text": (lambda X, y: (at(X, 5, 1, "tall"), y), "row 5, column 1 is 'tall'"),
    "a text in pandas": (lambda X, y: (frame(X, 5, 1, "tall"), y), "row 5, column 'weight' is 't"),
    "a text in polars": (lambda X, y: (NOT_NUMBERS, y), "row 0, column 'b' is 'x'"),
    "texts": (lambda X, y: (X.astype(str), y), "row 0, column 0"),
    "complex numbers": (lambda X, y: (at(X, 5, 1, 1j), y), "[Cc]omplex"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
@one_each_family
def test_bad_rows_are_refused(name, case, data):
    X, y = data
    change, message = BAD[case]
    learned = new(name).fit(X, y)
    before = state(learned)
    bad = change(X, y)
    if case != "a column too many":
        with pytest.raises(ValueError, match=message):
            new(name).fit(*bad)
    if not hasattr(bad[0], "columns"):  # a frame is refused for its names already
        for method in (learned.partial_fit, learned.forget):
            with pytest.raises(ValueError, match=message):
                method(*bad)
            assert state(learned) == before


@pytest.mark.parametrize("case", [
    "rows of numbers", "no rows", "a column too many", "an infinity", "an infinity in CSR",
    "a text", "texts", "complex numbers",
])  # fmt: skip
@one_each_family
def test_bad_rows_are_not_scored(name, case, data):
    X, y = data
    learned = new(name).fit(X, y)
    change, message = BAD[case]
    bad, _ = change(X, y)
    for method in (learned.predict, learned.predict_proba, learned.predict_joint_log_proba,
                   learned.explain):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            method(bad)


@one_each_family
def test_a_bad_value_far_down_is_located(name):
    X, y = numbers(domain(name), 200_000, 2)
    X[[170_001, 180_000], 1] = np.inf
    learned = new(name).fit(X[:100], y[:100])
    where = "row 170001, column 1"
    for rows in (X, X.astype(np.float32), csr_array(X)):
        with pytest.raises(ValueError, match=where):
            new(name, n_jobs=2).fit(rows, y)
        with pytest.raises(ValueError, match=where):
            learned.predict(rows)
    with pytest.raises(ValueError, match=where):
        new(name).fit(X, y, sample_weight=np.where(np.arange(len(y)) < 100, 0.0, 2.0))


@one_each_family
def test_one_class_is_learned(name, data):
    """As scikit-learn's classes do: a shard may hold one class."""
    X, _ = data
    classifier = new(name).fit(X, ["a"] * 12)
    assert classifier.predict(X).tolist() == ["a"] * 12
    assert (classifier.predict_proba(X) == 1.0).all()
    assert classifier.model_ == new(name).partial_fit(X, ["a"] * 12).model_
    weighed = new(name).fit(X, np.arange(12) % 2, sample_weight=np.arange(12) % 2)
    assert weighed.classes_.tolist() == [1]
    both = classifier + new(name).fit(X, ["b"] * 12)
    assert both.model_ == new(name).fit(np.vstack([X, X]), ["a"] * 12 + ["b"] * 12).model_
    with pytest.raises(ValueError, match=r"only one class \('a'\)"):  # there is nothing to tell
        new(name).out_of_fold(X, ["a"] * 12)
    if hasattr(classifier, "alpha"):
        with pytest.raises(ValueError, match=r"only one class \('a'\)"):
            classifier.set_params(alpha="auto").fit(X, ["a"] * 12)


NAT = np.array(["2020-01-01", "NaT"] * 6, "datetime64[D]")


@pytest.mark.parametrize(("labels", "message"), [
    (["a", float("nan")] * 6, "the label of row 1 is missing"),
    (("a", float("nan")) * 6, "the label of row 1 is missing"),
    (["a", np.float64("nan"), "b"] * 4, "the label of row 1 is missing"),
    (NAT, "the label of row 1 is missing"),
    ([1, "1"] * 6, "y mixes labels that cannot be compared: int, str"),
    ([b"a", "a"] * 6, "y mixes labels that cannot be compared: bytes, str"),
    (np.array([1, "1"] * 6, object), "y mixes labels that cannot be compared: int, str"),
])  # fmt: skip
@one_each_family
def test_numpy_makes_no_text_of_labels(name, labels, message, data):
    """A missing label was the class "nan" where the labels were a list, 1 and "1" one class."""
    X, _ = data
    learned = new(name).fit(X, ["a", "b"] * 6)
    for method in (new(name).fit, new(name).partial_fit, learned.partial_fit):
        with pytest.raises(ValueError, match=message):
            method(X, labels)


@pytest.mark.parametrize(("weights", "message"), [
    (-np.ones(12), "row 0 weighs -1"),
    (np.r_[np.ones(11), -0.5], "row 11 weighs -0.5"),
    (np.r_[np.ones(11), np.nan], "NaN"),
    (np.r_[np.ones(11), np.inf], "infinity"),
    (np.r_[np.ones(11), 1e201], r"from 0 to 1e\+200: row 11 weighs 1e\+201"),
    (np.ones(11), "shape"),
    (np.ones((12, 2)), "1D"),
    (["heavy"] * 12, "heavy"),
])  # fmt: skip
@one_each_family
def test_bad_weights_are_refused(name, weights, message, data):
    X, y = data
    learned = new(name).fit(X, y)
    before = state(learned)
    for method in (new(name).fit, new(name).partial_fit, learned.partial_fit, learned.forget):
        with pytest.raises(ValueError, match=message):
            method(X, y, sample_weight=weights)
    assert state(learned) == before


@one_each_family
def test_weights_that_are_all_zero_leave_nothing_to_begin_with(name, data):
    X, y = data
    learned = new(name).fit(X, y)
    before = state(learned)
    for method in (new(name).fit, new(name).partial_fit):
        with pytest.raises(ValueError, match="zero"):
            method(X, y, sample_weight=np.zeros(12))
    for method in (learned.partial_fit, learned.forget):  # no rows: nothing to do
        assert state(method(X, y, sample_weight=np.zeros(12))) == before


@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("form", [np.asarray, csr_array, pd.DataFrame])
def test_negative_counts_are_refused(kind, form):
    X = np.array([[1.0, 2.0], [3.0, -4.0], [0.0, 1.0]])
    with pytest.raises(
        ValueError, match=rf"Negative values.*{kind.__name__}: row 1, column '?1'? is -4"
    ):
        kind().fit(form(X), [0, 1, 1])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8])
@pytest.mark.parametrize("weights", [None, [1, 1, 1]])
@pytest.mark.parametrize("bad", [-1, -2, -100])
def test_negative_levels_are_refused(dtype, weights, bad):
    X = np.array([[1, 2], [3, bad], [0, 1]], dtype)
    with pytest.raises(ValueError, match=f"row 1, column 1 is {bad}"):
        CategoricalNB().fit(X, [0, 1, 1], sample_weight=weights)
    with pytest.raises(ValueError, match=f"row 1, column 1 is {bad}"):
        CategoricalNB().fit(abs(X), [0, 1, 1]).predict(X)


@pytest.mark.parametrize("bad", [0.9, 1e-300, 2.0**53, 1e300])
@pytest.mark.parametrize("weights", [None, [1, 1, 1]])
def test_what_is_no_level_is_refused(bad, weights):
    X = np.array([[1, 2], [3, bad], [0, 1]])
    with pytest.raises(ValueError, match="row 1, column 1"):
        CategoricalNB().fit(X, [0, 1, 1], sample_weight=weights)
    with pytest.raises(ValueError, match="row 1, column 1"):
        CategoricalNB().fit(X // 2**40, [0, 1, 1]).predict(X)


def test_levels_beyond_float64_are_distinguished_or_refused():
    X = np.array([[2**53], [2**53 + 1]] * 2)
    try:
        classifier = CategoricalNB().fit(X, [0, 1, 0, 1])
    except ValueError as error:
        assert "row 0, column 0" in str(error)  # noqa: PT017 - either answer is right
    else:
        assert classifier.predict(X).tolist() == [0, 1, 0, 1]


def test_unseen_levels_can_be_refused():
    classifier = CategoricalNB(unseen="error").fit([[0, 1], [1, 7]], ["a", "b"])
    with pytest.raises(ValueError, match="row 1, column 1 is 3"):
        classifier.predict([[0, 7], [0, 3]])


def test_soft_evidence_beyond_0_and_1_is_refused():
    with pytest.raises(ValueError, match=r"row 1, column 0 is 1.5, not in \[0, 1\]"):
        BernoulliNB(binarize=None).fit([[0.5], [1.5]], [0, 1])
    with pytest.raises(ValueError, match="row 0, column 0"):
        BernoulliNB(binarize=None).fit([[0.5], [0.1]], [0, 1]).predict([[2.0]])


def test_sparse_data_with_a_negative_threshold_are_refused():
    with pytest.raises(ValueError, match="threshold < 0"):
        BernoulliNB(binarize=-1.0).fit(csr_array(np.eye(2)), [0, 1])


WIDE = csr_array(([1.0] * 4, ([0, 1, 2, 20_000], [0, 5, 7, 9_999])), shape=(20_001, 10_000))


@pytest.mark.parametrize(
    "family", ["categorical", "kernel_density", "discretized", "student", "joint", "multivariate"]
)
def test_a_sparse_matrix_that_would_fill_the_memory_is_refused(family):
    with pytest.raises(ValueError, match=r"20,001 rows and 10,000 columns would take 1\.5 GiB"):
        NaiveBayes(family=family).fit(WIDE, np.arange(20_001) % 2).predict(WIDE)


@pytest.mark.parametrize("family", ["gaussian", "multinomial", "bernoulli", "poisson"])
def test_the_families_that_the_message_names_take_it(family):
    model = NaiveBayes(family=family).fit(WIDE, np.arange(20_001) % 2)
    assert model.predict(WIDE[:3]).shape == (3,)


def test_sparse_rows_of_another_frame_are_not_laid_out_in_memory_either():
    frame = {f"c{k}": [0, 1, 2, 3] for k in range(50)}
    model = NaiveBayes(family="poisson").fit(frame, [0, 0, 1, 1])
    with pytest.warns(UserWarning, match="in their order"), pytest.raises(ValueError, match="GiB"):
        model.predict(csr_array((4_000_000, 50)))


@pytest.mark.parametrize("family", ["multivariate", "joint", "student", "categorical"])
def test_small_sparse_matrices_are_rows_like_others(family):
    X = np.random.default_rng(0).poisson(1.0, (60, 3)).astype(float)
    y = np.arange(60) % 2
    sparse, plain = (NaiveBayes(family=family).fit(rows, y) for rows in (csr_array(X), X))
    assert_allclose(sparse.predict_proba(csr_array(X)), plain.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "value", "said"),
    [
        (NaiveBayes(family="exponential"), -2.0, r"Negative .*row 2, column 'x1' is -2"),
        (BernoulliNB(binarize=None), 1.5, r"row 2, column 1 is 1\.5, not in \[0, 1\]"),
    ],
)
def test_wrong_values_of_sparse_rows_are_named_where_they_stand(model, value, said):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    model.fit(csr_array(X), [0, 1, 1])
    X[2, 1] = value
    with pytest.raises(ValueError, match=said):
        model.predict(csr_array(X))


PARAMETERS = {
    "negative alpha": (MultinomialNB(alpha=-1.0), "alpha"),
    "infinite alpha": (BernoulliNB(alpha=np.inf), "alpha"),
    "NaN alpha": (PoissonNB(alpha=np.nan), "alpha"),
    "alpha of another shape": (MultinomialNB(alpha=[1.0, 2.0, 3.0]), "alpha"),
    "alpha of other features": (CategoricalNB(alpha=[[1.0, 1.0]] * 3), "alpha"),
    "alpha of other levels": (CategoricalNB(alpha=[[1.0, 1.0, 1.0]] * 2), "alpha"),
    "infinite alpha of a level": (CategoricalNB(alpha=[[1.0, np.inf]] * 2), "alpha"),
    "alpha of text": (ComplementNB(alpha="one"), "alpha|one"),
    "fractional levels": (CategoricalNB(min_categories=2.5), "min_categories"),
    "levels of other features": (CategoricalNB(min_categories=[2, 2, 2]), "min_categories"),
    "another unseen": (CategoricalNB(unseen="guess"), "unseen"),
    "another tie": (GaussianNB(tie="all"), "tie"),
    "another floor": (GaussianNB(floor="least"), "floor"),
    "another ddof": (GaussianNB(ddof=2), "ddof"),
    "negative smoothing": (GaussianNB(var_smoothing=-1e-9), "var_smoothing"),
    "NaN smoothing": (GaussianNB(var_smoothing=np.nan), "var_smoothing"),
    "priors that sum to 10": (GaussianNB(priors=[5, 5]), "sum of the priors"),
    "negative priors": (GaussianNB(priors=[-1, 2]), "non-negative"),
    "priors of three": (GaussianNB(priors=[0.5, 0.3, 0.2]), "3 priors, 2 classes"),
    "NaN priors": (MultinomialNB(class_prior=[np.nan, 1]), "non-negative"),
    "a table of priors": (BernoulliNB(class_prior=[[0.5, 0.5]]), "flat"),
    "a text for priors": (GaussianNB(priors="flat"), "prior"),
    "negative prior smoothing": (PoissonNB(prior_smoothing=-1.0), "prior_smoothing"),
    "no threads": (GaussianNB(n_jobs=0), "n_jobs"),
    "half a thread": (GaussianNB(n_jobs=0.5), "n_jobs"),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_bad_parameters_are_refused_by_fit(case):
    classifier, message = PARAMETERS[case]
    with pytest.raises(ValueError, match=message):
        classifier.fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    assert not hasattr(classifier, "classes_")


def test_numpy_integers_count_threads():
    assert GaussianNB(n_jobs=np.int64(2)).fit([[0.0], [1.0]], [0, 1]).predict([[1.0]]) == [1]


@pytest.mark.parametrize("gamma", [0.0, -0.5, 1.5, np.nan])
def test_bad_decay_is_refused(gamma):
    classifier = GaussianNB().fit([[0.0], [1.0]], [0, 1])
    before = state(classifier)
    with pytest.raises(ValueError, match="gamma"):
        classifier.decay(gamma)
    assert state(classifier) == before


# ---- models that do not go together --------------------------------------------------------------


@one_each_family
def test_nothing_is_predicted_before_fit(name, data):
    X, y = data
    for method in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba",
                   "explain"):  # fmt: skip
        with pytest.raises(NotFittedError):
            getattr(new(name), method)(X)
    with pytest.raises(NotFittedError):
        new(name).forget(X, y)
    with pytest.raises(NotFittedError):
        _ = new(name) + new(name)


@one_each_family
def test_other_column_names_are_refused(name, data):
    X, y = data
    named = pd.DataFrame(X, columns=["height", "weight"])
    other = named.rename(columns={"weight": "age"})
    learned = new(name).fit(named, y)
    before = state(learned)
    for call in (lambda: learned.predict(other), lambda: learned.partial_fit(other, y),
                 lambda: learned.forget(other, y)):  # fmt: skip
        with pytest.raises(ValueError, match="feature names"):
            call()
    with pytest.raises(ValueError, match="different features"):
        _ = learned + new(name).fit(other, y)
    assert state(learned) == before


@one_each_family
def test_models_of_other_tables_do_not_add_up(name, data):
    X, y = data
    learned = new(name).fit(X, y)
    before = state(learned)
    with pytest.raises(ValueError, match="2 features with one of 4"):
        _ = learned + new(name).fit(np.c_[X, X], y)
    with pytest.raises(ValueError, match="labels of different kinds"):
        _ = learned + new(name).fit(X, np.array(["a", "b", "c"])[y])
    with pytest.raises(ValueError, match="labels of different kinds"):
        learned.partial_fit(X, np.array(["a", "b", "c"])[y])
    with pytest.raises(TypeError):
        _ = learned + 1
    assert state(learned) == before


def test_models_of_other_families_do_not_add_up():
    X, y = [[0.0], [1.0]], [0, 1]
    with pytest.raises(TypeError):
        _ = MultinomialNB().fit(X, y) + PoissonNB().fit(X, y)


def test_labels_that_float64_cannot_distinguish():
    """int64 with uint64 would become float64, where 2**62 + 1 is 2**62."""
    classifier = GaussianNB().partial_fit([[1.0], [2.0]], np.array([2**62, 2**62 + 1]))
    try:
        classifier.partial_fit([[3.0]], np.array([2**63], np.uint64))
    except ValueError:
        assert classifier.classes_.tolist() == [2**62, 2**62 + 1]
    else:
        assert classifier.classes_.tolist() == [2**62, 2**62 + 1, 2**63]
        assert classifier.class_count_.tolist() == [1, 1, 1]


def test_a_new_class_that_has_no_prior_is_refused():
    classifier = GaussianNB(priors=[0.5, 0.5]).partial_fit([[1.0], [2.0]], [0, 1])
    before = state(classifier)
    with pytest.raises(ValueError, match="2 priors, 3 classes"):
        classifier.partial_fit([[3.0]], [2])
    assert state(classifier) == before
    assert classifier.predict([[1.0]]) == [0]


@one_each_family
def test_a_model_that_forgot_everything_says_so(name, data):
    X, y = data
    classifier = new(name).fit(X, y).forget(X, y)
    with pytest.raises(ValueError, match="every row was forgotten"):
        classifier.predict(X)
    assert (classifier.partial_fit(X, y).predict(X) == new(name).fit(X, y).predict(X)).all()
