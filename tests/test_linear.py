"""Linear views: the log-odds as w · x + b, and as a logistic regression of scikit-learn."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from naively import (
    Bernoulli,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Exponential,
    Gaussian,
    GaussianBayes,
    GaussianNB,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    TextNB,
)
from naively.io.sources import open_source

REALS = st.integers(-40, 40).map(lambda k: k / 8)
COUNTS = st.integers(0, 6).map(float)
LINEAR = {
    "multinomial": (MultinomialNB(), COUNTS),
    "multinomial, l of each word": (MultinomialNB(alpha=[0.5, 1.0, 2.0]), COUNTS),
    "complement": (ComplementNB(), COUNTS),
    "complement, norm": (ComplementNB(norm=True, alpha=0.3), COUNTS),
    "bernoulli": (BernoulliNB(), REALS),
    "bernoulli, binarize": (BernoulliNB(binarize=-1.5, alpha=0.1), REALS),
    "bernoulli, soft": (BernoulliNB(binarize=None), st.integers(0, 8).map(lambda k: k / 8)),
    "categorical": (CategoricalNB(), COUNTS),
    "categorical, declared": (CategoricalNB(min_categories=9, alpha=0.2), COUNTS),
    "categorical, ignore": (CategoricalNB(unseen="ignore"), COUNTS),
    "poisson": (PoissonNB(), COUNTS),
    "gaussian, σ_i": (GaussianNB(tie="classes", var_smoothing=0.05), REALS),
    "gaussian, σ": (GaussianNB(tie="both", ddof=1, var_smoothing=0.05), REALS),
    "uniform prior": (PoissonNB(prior="uniform"), COUNTS),
    "given prior": (MultinomialNB(class_prior=[0.9, 0.1]), COUNTS),
}
every_linear_classifier = pytest.mark.parametrize("name", LINEAR)


@st.composite
def learned(draw, name):
    """(a classifier that learned something, rows to score)."""
    blank, values = LINEAR[name]
    classes = 2 if "given" in name else draw(st.integers(2, 4))
    least = classes + getattr(blank, "ddof", 0)  # an unbiased variance needs one row more
    n = draw(st.integers(least, 12))
    table = st.lists(st.lists(values, min_size=3, max_size=3), min_size=n, max_size=n)
    y = [*range(classes), *draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n))][:n]
    return clone(blank).fit(draw(table), y), np.array(draw(table))


def columns_of_form(form, X):
    """What each weight is for, as the form tells it: numbers, or indicators of levels."""
    levels = [None] * len(form.features) if form.levels is None else form.levels
    columns = []
    for feature, level in zip(form.features, levels, strict=True):
        x = X[:, feature]
        missing = isinstance(level, float) and np.isnan(level)
        columns.append(x if level is None else np.isnan(x) if missing else x == level)
    return np.column_stack(columns).astype(float)


def assert_log_odds(classifier, form, x, X):
    """The log-odds are w · x + b, and P(y | x) is their logistic function."""
    score = x @ form.coef.T + form.intercept
    joint = classifier.predict_joint_log_proba(X)
    size = abs(joint).max()
    proba = classifier.predict_proba(X)
    assert_array_equal(form.classes, classifier.classes_)
    if len(form.classes) == 2:
        assert form.coef.shape == (1, len(form.features))
        assert_allclose(score[:, 0], joint[:, 1] - joint[:, 0], rtol=1e-9, atol=1e-12 * size)
        for y, p in zip([-1, 1], proba.T, strict=True):  # lecture 3 has 1 - exp for 1 + exp(-...)
            assert_allclose(p, 1 / (1 + np.exp(-y * score[:, 0])), rtol=1e-9)
    else:
        assert form.coef.shape == (len(form.classes), len(form.features))
        for c in range(1, len(form.classes)):
            odds = joint[:, c] - joint[:, 0]
            assert_allclose(score[:, c] - score[:, 0], odds, rtol=1e-9, atol=1e-12 * size)


def assert_same_predictions(logistic, classifier, X):
    """The same labels, but for ties, and the same probabilities."""
    ours, theirs = classifier.predict_proba(X), logistic.predict_proba(X)
    assert_allclose(theirs, ours, rtol=1e-9, atol=1e-12)
    large = np.where(ours > 1e-3, ours, 1.0)
    with np.errstate(divide="ignore"):
        logs = np.where(ours > 1e-3, logistic.predict_log_proba(X), 0.0)
    assert_allclose(logs, np.log(large), atol=1e-9)
    ranked = np.sort(ours, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-9
    assert_array_equal(logistic.predict(X)[clear], classifier.predict(X)[clear])


@every_linear_classifier
@given(data=st.data())
def test_the_log_odds_are_linear(name, data):
    classifier, X = data.draw(learned(name))
    form = classifier.to_linear()
    binarize = getattr(classifier, "binarize", None)
    x = columns_of_form(form, X if binarize is None else (binarize < X).astype(float))
    assert_log_odds(classifier, form, x, X)


@every_linear_classifier
@given(data=st.data())
def test_the_logistic_regression_predicts_the_same(name, data):
    classifier, X = data.draw(learned(name))
    assert_same_predictions(classifier.to_logistic(), classifier, X)


# ---- what has no linear form ---------------------------------------------------------------------

X = np.array([[0.0, 1, 2], [3, 1, 0], [1, 1, 1], [0, 4, 2], [2, 0, 3]])
Y = np.array([0, 1, 0, 1, 1])
FULL = X + 1.0  # every class has shown every feature


@pytest.mark.parametrize(
    "classifier",
    [
        MultinomialNB(alpha=0),
        ComplementNB(alpha=0),
        BernoulliNB(alpha=0, binarize=1.5),
        CategoricalNB(alpha=0, unseen="ignore"),
        CategoricalNB(alpha=[np.zeros(4), np.zeros(5), np.zeros(4)], unseen="error"),
        PoissonNB(alpha=0),
    ],
    ids=str,
)
def test_probabilities_of_0_are_in_no_weight(classifier):
    never = np.where(Y[:, np.newaxis] == 0, X * [0, 1, 1], X)  # class 0 never shows feature 0
    for ask in (classifier.fit(never, Y).to_linear, classifier.to_logistic):
        with pytest.raises(ValueError, match=r"some probabilities are 0, .*; use alpha > 0"):
            ask()


@pytest.mark.parametrize(
    "classifier", [MultinomialNB(alpha=0), ComplementNB(alpha=0), PoissonNB(alpha=0)], ids=str
)
def test_maximum_likelihood_has_weights_where_all_counts_are_above_0(classifier):
    form = classifier.fit(FULL, Y).to_linear()
    assert_log_odds(classifier, form, X, X)


def test_an_unseen_level_of_probability_0_can_be_left_out():
    codes = np.array([[0], [1], [0], [1]])
    labels = [0, 0, 1, 1]
    with pytest.raises(ValueError, match='unseen="ignore"'):
        CategoricalNB(alpha=0).fit(codes, labels).to_linear()
    for unseen in ("ignore", "error"):
        classifier = CategoricalNB(alpha=0, unseen=unseen).fit(codes, labels)
        assert_same_predictions(classifier.to_logistic(), classifier, codes)


@pytest.mark.parametrize(
    "classifier",
    [
        GaussianNB(),
        GaussianNB(tie="features"),
        GaussianBayes("full", 0.5),
        GaussianBayes("spherical"),
    ],
    ids=str,
)
def test_variances_of_each_class_make_it_quadratic(classifier):
    classifier.fit(X, Y)
    for ask in (classifier.to_linear, classifier.to_logistic):
        with pytest.raises(ValueError, match=r"quadratic in x.* they are linear"):
            ask()


def test_a_variance_of_0_is_in_no_weight():
    rows = np.column_stack([Y, X[:, 0]])  # the label itself
    with pytest.raises(ValueError, match="var_smoothing > 0"):
        GaussianNB(tie="classes", var_smoothing=0).fit(rows, Y).to_linear()
    same = np.column_stack([np.full(5, 7.0), X[:, 0]])  # tells nothing: it needs no weight
    classifier = GaussianNB(tie="classes", var_smoothing=0).fit(same, Y)
    assert classifier.to_linear().coef[0, 0] == 0
    assert_same_predictions(classifier.to_logistic(), classifier, same)


def test_means_that_are_too_far_apart_say_so():
    rows = np.array([[-3e-154], [3e-154], [100.0], [100.0]])
    classifier = GaussianNB(tie="classes", var_smoothing=0).fit(rows, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="beyond float64"):
        classifier.to_linear()


def test_one_class_has_no_log_odds():
    classifier = MultinomialNB().partial_fit(X, ["a"] * 5)
    for ask in (classifier.to_linear, classifier.to_logistic):
        with pytest.raises(ValueError, match="one class only, 'a'"):
            ask()


def test_before_fit_there_is_no_form():
    for ask in (MultinomialNB().to_linear, NaiveBayes().to_logistic):
        with pytest.raises(NotFittedError):
            ask()


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classifier",
    [GaussianNB(tie="classes"), GaussianNB(tie="both", var_smoothing=0), GaussianBayes("tied")],
    ids=str,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_offsets_leave_the_log_odds_their_digits(classifier, classes):
    rng = np.random.default_rng(3)
    y = rng.integers(0, classes, 300)
    rows = rng.normal(y[:, np.newaxis], 1.0, (300, 4)) + 1e8
    classifier = clone(classifier).fit(rows, y)
    apart = classifier.to_logistic().predict_proba(rows) - classifier.predict_proba(rows)
    assert abs(apart).max() < 1e-6


def test_a_class_without_a_chance_keeps_none():
    classifier = PoissonNB(prior=[0.5, 0.5, 0.0]).fit(X, [0, 1, 2, 1, 0])
    proba = classifier.to_logistic().predict_proba(X)
    assert (proba[:, 2] == 0).all()
    assert_allclose(proba, classifier.predict_proba(X), rtol=1e-12)


# ---- levels --------------------------------------------------------------------------------------

CODES = np.array([[0, 2], [1, 2], [1, 0], [0, 7], [1, 7], [1, 2]])
LABELS = np.array([0, 0, 1, 1, 1, 1])


def test_each_weight_says_which_level_it_is_for():
    form = CategoricalNB(unseen="ignore").fit(CODES, LABELS).to_linear()
    assert form.features.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert str(form.levels.tolist()) == "[0, 1, nan, 0, 2, 7, nan]"
    # lecture 3: w = log θ_j+ - log θ_j-, with l = 1 and 2 or 8 levels
    theta = np.array([[2 / 4, 2 / 4, 1, 1 / 10, 3 / 10, 1 / 10, 1],
                      [2 / 6, 4 / 6, 1, 2 / 12, 2 / 12, 3 / 12, 1]])  # fmt: skip
    assert_allclose(form.coef, [np.log(theta[1]) - np.log(theta[0])], atol=1e-14)
    assert_allclose(form.intercept, [np.log(4 / 2)], rtol=1e-14)


@pytest.mark.parametrize("alpha", [1.0, [0.5, 2.0], [[0.3], [4.0]]])
@pytest.mark.parametrize("unseen", ["smooth", "ignore"])
def test_unseen_categories_and_missing_ones_score_as_the_model_says(unseen, alpha):
    classifier = CategoricalNB(unseen=unseen, alpha=np.array(alpha)).fit(CODES, LABELS)
    logistic = classifier.to_logistic()
    strange = np.array([[5, 2], [0, 3], [9, 9], [np.nan, 7], [1, np.nan], [np.nan] * 2, [3, 10**9]])
    assert_same_predictions(logistic, classifier, strange)
    whole = strange[[0, 1, 2, 6]].astype(int)
    assert_same_predictions(logistic, classifier, whole)
    told, gone = classifier.predict_proba([[5, 2], [np.nan, 2]])
    assert (abs(told - gone).max() > 1e-2) == (unseen == "smooth")  # it matters what is written


def test_unseen_categories_are_refused_where_the_model_refuses_them():
    logistic = CategoricalNB(unseen="error").fit(CODES, LABELS).to_logistic()
    with pytest.raises(ValueError, match="unknown categories"):
        logistic.predict([[5, 2]])


def test_huge_codes_take_no_memory():
    codes = CODES * 10**14
    classifier = CategoricalNB().fit(codes, LABELS)
    assert classifier.to_linear().coef.shape == (1, 7)
    assert_same_predictions(classifier.to_logistic(), classifier, codes)


def test_a_column_that_was_always_missing():
    rows = np.column_stack([CODES[:, 0], np.full(6, np.nan)])
    classifier = CategoricalNB().fit(rows, LABELS)
    assert_same_predictions(classifier.to_logistic(), classifier, np.nan_to_num(rows, nan=4.0))


# ---- as scikit-learn -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [["b", "a", "c"], [30, 7, -2], [True, False, True], [2.0, 1.0, 5.0], [np.uint8(200), 3, 3]],
    ids=str,
)
@pytest.mark.parametrize("classifier", [MultinomialNB(), BernoulliNB(), CategoricalNB()], ids=str)
def test_labels_of_any_kind(classifier, labels):
    y = np.array(labels)[[0, 1, 2, 1, 0]]
    logistic = clone(classifier).fit(X, y).to_logistic()
    assert_array_equal(logistic.classes_, np.unique(y))
    assert logistic.classes_.dtype == y.dtype == logistic.predict(X).dtype
    assert 0 <= logistic.score(X, y) <= 1


def test_labels_that_are_objects():
    y = np.array(["b", "a", "b", "a", "c"], object)
    classifier = PoissonNB().fit(X, y)
    assert_same_predictions(classifier.to_logistic(), classifier, X)


@pytest.mark.parametrize(
    "classifier",
    [GaussianNB(tie="both"), BernoulliNB(), CategoricalNB(), NaiveBayes(family="poisson")],
    ids=str,
)
def test_names_of_columns_are_carried(classifier):
    frame = pd.DataFrame(X, columns=["win", "free", "noon"])
    classifier = clone(classifier).fit(frame, Y)
    logistic = classifier.to_logistic()
    assert logistic.n_features_in_ == 3
    assert logistic.feature_names_in_.tolist() == ["win", "free", "noon"]
    assert set(classifier.to_linear().features) == {"win", "free", "noon"}
    assert_same_predictions(logistic, classifier, frame)  # and without a warning
    with pytest.raises(ValueError, match=r"[Ff]eature names|none of the features"):
        logistic.predict(frame.rename(columns=str.upper))


def test_without_names_none_are_claimed():
    logistic = GaussianNB(tie="both").fit(X, Y).to_logistic()
    assert logistic.n_features_in_ == 3
    assert not hasattr(logistic, "feature_names_in_")
    with pytest.raises(ValueError, match="3 features"):
        logistic.predict(X[:, :2])


@pytest.mark.parametrize(
    ("classifier", "steps"),
    [
        (MultinomialNB(), ["logisticregression"]),
        (BernoulliNB(binarize=None), ["logisticregression"]),
        (BernoulliNB(), ["binarizer", "logisticregression"]),
        (CategoricalNB(), ["onehotencoder", "logisticregression"]),
        (NaiveBayes(family="poisson"), ["linearcolumns", "logisticregression"]),
    ],
    ids=str,
)
def test_it_is_a_fitted_model_of_scikit_learn(classifier, steps):
    rows = X / 5 if getattr(classifier, "binarize", 0.0) is None else X
    classifier = clone(classifier).fit(rows, Y)
    logistic = classifier.to_logistic()
    last = logistic
    if len(steps) > 1:
        assert isinstance(logistic, Pipeline)
        assert list(logistic.named_steps) == steps
        check_is_fitted(logistic[0])
        last = logistic[-1]
    assert type(last) is LogisticRegression
    form = classifier.to_linear()
    assert_array_equal(last.coef_, form.coef)
    assert_array_equal(last.intercept_, form.intercept)
    check_is_fitted(logistic)
    assert_same_predictions(pickle.loads(pickle.dumps(logistic)), classifier, rows)
    fresh = clone(logistic)
    with pytest.raises(NotFittedError):
        fresh.predict(rows)
    whole = rows.astype(int) if steps[0] == "onehotencoder" else rows
    assert fresh.fit(whole, Y).predict(whole).shape == (5,)
    assert last.sparsify().coef_.nnz > 0


def test_sparse_rows():
    for classifier in (MultinomialNB(), BernoulliNB(), GaussianNB(tie="classes")):
        clone(classifier).fit(sparse.csr_array(X), Y)
        logistic = classifier.fit(sparse.csr_array(X), Y).to_logistic()
        assert_same_predictions(logistic, classifier, sparse.csr_array(X))


@pytest.mark.parametrize("classifier", [PoissonNB(), NaiveBayes(family="poisson")], ids=str)
def test_what_is_learned_later_changes_nothing(classifier):
    classifier = clone(classifier).fit(X, Y)
    form, logistic = classifier.to_linear(), classifier.to_logistic()
    before = logistic.predict_proba(X)
    coef, intercept = form.coef.copy(), form.intercept.copy()
    classifier.partial_fit(9.0 - X, Y).decay(0.5)
    assert_array_equal(logistic.predict_proba(X), before)
    assert_array_equal(form.coef, coef)
    assert_array_equal(form.intercept, intercept)
    assert abs(classifier.to_logistic().predict_proba(X) - before).max() > 1e-3


def test_parameters_that_were_set_after_fit():
    classifier = BernoulliNB().fit(X, Y).set_params(alpha=3.0).reestimate()
    fresh = BernoulliNB(alpha=3.0).fit(X, Y)
    assert_allclose(classifier.to_logistic().predict_proba(X), fresh.predict_proba(X))
    with pytest.raises(ValueError, match="call `fit` again"):
        classifier.set_params(binarize=2.0).reestimate()


@pytest.mark.parametrize(
    "classifier", [MultinomialNB(), BernoulliNB(), NaiveBayes(family="poisson")], ids=str
)
def test_missing_numbers_are_refused(classifier):
    logistic = clone(classifier).fit(X, Y).to_logistic()
    with pytest.raises(ValueError, match="NaN"):
        logistic.predict([[np.nan, 1.0, 2.0]])


# ---- tables --------------------------------------------------------------------------------------

TABLE = pd.DataFrame(
    {
        "wait": [0.5, 2.5, 0.25, 4.0, 1.5, 0.75],
        "job": ["clerk", "boss", None, "clerk", "pilot", "boss"],
        "calls": [3, 0, 1, 5, 2, 2],
        "member": [True, False, True, True, False, None],
        "rooms": [2, 3, 2, 3, 2, 2],
    }
)
RICH = ["no", "yes", "no", "yes", "yes", "no"]
FAMILIES = {
    "wait": Exponential(),
    "job": "categorical",
    "calls": "poisson",
    "member": "categorical",
    "rooms": "categorical",
}


def frames(table):
    """The same table as what people hold tables in."""
    yield table
    yield pl.from_pandas(table)
    yield table.to_dict("list")


@pytest.mark.parametrize("labels", [RICH, ["a", "b", "c", "b", "a", "c"]])
def test_tables_of_linear_columns(labels):
    classifier = NaiveBayes(FAMILIES).fit(TABLE, labels)
    logistic = classifier.to_logistic()
    new = pd.DataFrame(
        {
            "wait": [0.1, 9.0, 1.0],
            "job": ["boss", "astronaut", None],
            "calls": [7, 0, 1],
            "member": [None, False, True],
            "rooms": [3.0, 17.0, 2.0],
        }
    )
    for table in (*frames(TABLE), *frames(new)):
        assert_same_predictions(logistic, classifier, table)
    assert_same_predictions(pickle.loads(pickle.dumps(logistic)), classifier, new)


def test_columns_of_a_table_are_named():
    classifier = NaiveBayes(FAMILIES).fit(TABLE, RICH)
    form = classifier.to_linear()
    named = {(f, str(level)): w for f, level, w in
             zip(form.features, form.levels, form.coef[0], strict=True)}  # fmt: skip
    assert [key for key in named if key[0] == "job"] == [
        ("job", "boss"), ("job", "clerk"), ("job", "pilot"), ("job", "nan"),
    ]  # fmt: skip
    # rates with one virtual row: λ = (6 + 1) / (3 + 1) and (7 + 1) / (3 + 1)
    assert_allclose(named["calls", "None"], np.log(8 / 4) - np.log(7 / 4), rtol=1e-12)
    assert_allclose(named["wait", "None"], -3 / 8.0 + 3 / 1.5, rtol=1e-12)
    names = classifier.to_logistic()[:-1].get_feature_names_out().tolist()
    assert set(names) >= {"wait", "calls", "job_boss", "job_nan", "rooms_2"}
    assert len(names) == len(form.features)


def test_a_table_with_blocks_and_thresholds():
    columns = {("free", "win"): Multinomial(), "loud": Bernoulli(binarize=2.0),
               "size": Gaussian(tie="classes")}  # fmt: skip
    rng = np.random.default_rng(1)
    table = {"free": rng.poisson(2, 60), "win": rng.poisson(3, 60), "loud": rng.poisson(2, 60),
             "size": rng.normal(5, 2, 60)}  # fmt: skip
    classifier = NaiveBayes(columns).fit(table, rng.integers(0, 3, 60))
    assert_same_predictions(classifier.to_logistic(), classifier, table)


def test_the_columns_that_are_not_linear_are_named():
    with pytest.raises(ValueError, match=r"not linear in 'wait': .*quadratic"):
        NaiveBayes({**FAMILIES, "wait": "gaussian"}).fit(TABLE, RICH).to_linear()
    with pytest.raises(ValueError, match=r"not linear in 'wait': .*log x"):
        NaiveBayes({**FAMILIES, "wait": "gamma"}).fit(TABLE, RICH).to_logistic()


def test_the_columns_can_be_learned_anew():
    """A clone is a logistic regression on the indicators that naive Bayes makes of a table."""
    rows = pd.concat([TABLE] * 6, ignore_index=True)
    y = np.array(RICH * 6)
    logistic = NaiveBayes(FAMILIES).fit(TABLE.iloc[:2], RICH[:2]).to_logistic()
    assert cross_val_score(clone(logistic), rows, y, cv=3).mean() > 0.9
    with pytest.raises(ValueError, match="not linear in 'wait'"):
        clone(logistic[0]).set_params(estimator__columns={"wait": "gamma"}).fit(TABLE, RICH)


def test_mushrooms(data_folder):
    source = open_source(data_folder / "mushroom" / "mushroom.arff.gz")
    table = pa.Table.from_batches(list(source.batches()))
    classifier = NaiveBayes().fit(table, "class")
    assert_same_predictions(classifier.to_logistic(), classifier, table)


# ---- texts ---------------------------------------------------------------------------------------

MAILS = ["win a free prize", "meeting at noon", "free free prize", "lunch at noon?", "win lunch"]
SPAM = ["spam", "ham", "spam", "ham", "spam"]


@pytest.mark.parametrize("options", [
    {}, {"event": "bernoulli"}, {"event": "binary", "ngram_range": (1, 2)}, {"n_features": 16},
    {"event": "complement", "norm": True, "weighting": "log-tfidf", "length_norm": "l2"},
    {"analyzer": "char", "min_df": 2},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("labels", [SPAM, ["a", "b", "c", "b", "a"]])
def test_texts(options, labels):
    classifier = TextNB(**options, weights=None).fit(MAILS, labels)
    logistic = classifier.to_logistic()
    mails = [*MAILS, "a prize never heard of", ""]
    assert_same_predictions(logistic, classifier, mails)
    assert_same_predictions(pickle.loads(pickle.dumps(logistic)), classifier, mails)
    assert clone(logistic).fit(MAILS, labels).score(MAILS, labels) >= 0.8


def test_the_weight_of_a_word_is_its_log_ratio():
    """Lectures 1 and 3: w = log θ₊ - log θ₋, found with scikit-learn's words."""
    words = CountVectorizer()
    counts = words.fit_transform(MAILS).toarray()
    spam = np.array(SPAM) == "spam"
    sums = [counts[c].sum(axis=0) for c in (~spam, spam)]
    theta = [(1 + f) / (len(f) + f.sum()) for f in sums]
    form = TextNB(weights=None).fit(MAILS, SPAM).to_linear()
    assert form.levels.tolist() == words.get_feature_names_out().tolist()
    assert_allclose(form.coef[0], np.log(theta[1]) - np.log(theta[0]), rtol=1e-12)
    assert_allclose(form.intercept, [np.log(3 / 2)], rtol=1e-12)


@pytest.mark.parametrize("change", ["learn", "forget"])
def test_terms_and_levels_that_come_or_go_change_nothing(change):
    texts = TextNB(weights=None).fit(MAILS, SPAM)
    table = NaiveBayes(FAMILIES).fit(TABLE, RICH)
    for classifier, rows, y in [(texts, MAILS, SPAM), (table, TABLE, RICH)]:
        logistic = classifier.to_logistic()
        before = logistic.predict_proba(rows)
        if change == "forget":
            classifier.forget(rows[3:5], y[3:5])
        elif classifier is texts:
            classifier.partial_fit(["a new word"], ["ham"])
        else:
            classifier.partial_fit(TABLE.assign(job="baker"), y)
        assert_array_equal(logistic.predict_proba(rows), before)
        assert classifier.to_linear().coef.shape != logistic[-1].coef_.shape


def test_missing_documents():
    mails = [*MAILS, None]
    classifier = TextNB(weights=None).fit(MAILS, SPAM)
    assert_same_predictions(classifier.to_logistic(), classifier, mails)
    logistic = TextNB("bernoulli", weights=None).fit(MAILS, SPAM).to_logistic()
    with pytest.raises(ValueError, match=r"row 5.* missing document"):
        logistic.predict(mails)


def test_messages(data_folder):
    lines = (data_folder / "sms-spam" / "SMSSpamCollection").read_text().splitlines()
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    classifier = TextNB(weights=None).fit(texts[:4000], labels[:4000])
    logistic = classifier.to_logistic()
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # log 0 of sure ones
        assert_same_predictions(logistic, classifier, texts[4000:])
    assert logistic.score(texts[4000:], labels[4000:]) > 0.97


def test_a_table_with_text():
    table = {"text": MAILS, "hour": [3, 14, 4, 12, 13]}
    classifier = NaiveBayes({"text": "text", "hour": "poisson"}).fit(table, SPAM)
    assert_same_predictions(classifier.to_logistic(), classifier, table)
    names = classifier.to_logistic()[:-1].get_feature_names_out()
    assert {"hour", "text_free", "text_noon"} <= set(names)


# ---- real numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classifier",
    [MultinomialNB(), ComplementNB(), BernoulliNB(binarize=7.5), CategoricalNB(), PoissonNB(),
     GaussianNB(tie="classes", var_smoothing=0.1), GaussianBayes("tied", shrinkage=0.1)],
    ids=str,
)  # fmt: skip
def test_digits(classifier):
    rows, y = load_digits(return_X_y=True)
    classifier = clone(classifier).fit(rows[::2], y[::2])
    logistic = classifier.to_logistic()
    assert_array_equal(logistic.predict(rows), classifier.predict(rows))
    assert_allclose(logistic.predict_proba(rows), classifier.predict_proba(rows), atol=1e-9)
