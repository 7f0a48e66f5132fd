"""Cross-validation by subtraction equals refitting, bit for bit."""

import numpy as np
import pandas as pd
import pytest
from cases import DRAWN, REPEATED, examples
from corpora import corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from kit import CLASSIFIERS, ONE_EACH, domain, each, new, numbers, slow
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import MultinomialNB as TheirMultinomialNB

import naively
from naively import (
    NBSVM,
    AutoBayes,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Gaussian,
    GaussianBayes,
    GaussianNB,
    JointBayes,
    KernelDensity,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    TextNB,
)
from naively.estimators.shared.cross_validation import ALPHAS
from naively.evaluation.calibration import Reliability
from naively.evaluation.folds import Folds, Learnable
from naively.evaluation.out_of_fold import out_of_fold
from naively.text.documents import Documents

SPLITTERS = {
    "int": 4,
    "k-fold": KFold(3, shuffle=True, random_state=1),
    "repeated": RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=1),
    "shuffled": ShuffleSplit(5, test_size=0.3, train_size=0.4, random_state=1),
    "growing": TimeSeriesSplit(4),
    "one row": LeaveOneOut(),
}


REFUSED = (
    "is singular", "is undefined", "no training rows", "max_terms", "the documents hold no terms",
    "no terms remain", "all terms were dropped", "are zero", "no column",
)  # fmt: skip


def refitted(whole, X, y, weights):
    """A classifier like another that learned other rows, of the same columns and families."""
    again = clone(whole)
    again._keep(*whole._summarise(X, y, weights, whole.model_))
    return again


def same_bits(a, b):
    assert_array_equal(a.view(np.int64), b.view(np.int64))


# ---- the law: left out by subtraction is refitted without ----------------------------------------


@each("case", DRAWN, REPEATED)
@settings(max_examples=8)
@given(data=st.data())
def test_out_of_fold_is_refitted_without_bit_for_bit(case, data):
    own = data.draw(examples(case, tame=data.draw(st.booleans()), least=2))
    X, y, weights = own.rows, own.y, own.weights
    parts = data.draw(st.integers(2, 5))
    if len(set(y)) < 2:
        with pytest.raises(ValueError, match="one class"):
            own.new().out_of_fold(case.given(X), y, weights, parts=parts)
        return
    try:
        with np.errstate(all="ignore"):
            found = clone(own.new()).out_of_fold(case.given(X), y, weights, parts=parts)
    except ValueError as error:  # a covariance without a density, or no row with a weight
        if not any(text in str(error) for text in REFUSED):
            raise
        return
    assert_array_equal(found.rows, np.arange(len(y)))
    whole = clone(own.new()).partial_fit(case.given(X), y, sample_weight=weights)
    for k in np.unique(found.split):
        test = np.flatnonzero(found.split == k)
        rest = np.flatnonzero(found.split != k)
        without = None if weights is None else weights[rest]
        model = refitted(whole, case.given(X[rest]), y[rest], without)
        with np.errstate(all="ignore"):
            expected = model.predict_log_proba(case.given(X[test]))
        known = np.searchsorted(found.classes, model.classes_)
        same_bits(np.ascontiguousarray(found.log_proba[test][:, known]), expected)
        others = np.setdiff1d(np.arange(len(found.classes)), known)
        assert (found.log_proba[test][:, others] == -np.inf).all()
        assert_array_equal(found.unknown[test], np.isin(found.codes[test], others))


@each("case", DRAWN, REPEATED)
@settings(max_examples=8)
@given(data=st.data())
def test_the_order_of_rows_does_not_matter(case, data):
    own = data.draw(examples(case, tame=True, least=4))
    X, y, weights = own.rows, own.y, own.weights
    order = np.array(data.draw(st.permutations(range(len(y)))))

    def told(rows):
        w = None if weights is None else weights[rows]
        try:
            found = own.new().out_of_fold(case.given(X[rows]), y[rows], w, parts=3)
        except ValueError:
            return None
        entries = np.column_stack([found.codes, found.weights, found.log_proba])
        return entries[np.lexsort(entries.T)]

    a, b = told(np.arange(len(y))), told(order)
    assert (a is None) == (b is None)
    if a is not None:
        assert_array_equal(a, b)


@pytest.mark.parametrize("splitter", SPLITTERS)
@each("name", [*CLASSIFIERS], {*CLASSIFIERS} - {*ONE_EACH})
def test_cross_validation_of_arrays_is_refitting(name, splitter):
    X, y = numbers(domain(name), 60, 4)
    X[3, 1], weights = np.nan, np.arange(60) % 4 / 2.0
    cv = SPLITTERS[splitter]
    for form, w in ((X, None), (sparse.csr_array(X), weights)):
        found = naively.cross_validate(new(name), form, y, cv=cv, sample_weight=w)
        splits = list((StratifiedKFold(cv) if isinstance(cv, int) else cv).split(X, y))
        assert len(found.rows) == sum(len(test) for _, test in splits)
        assert len(found.folds) == len(splits)
        for fold, (train, test) in zip(found.folds, splits, strict=True):
            own = None if w is None else w[train]
            model = new(name).partial_fit(form[train], y[train], sample_weight=own)
            assert_array_equal(fold.rows, np.sort(test))
            known = np.searchsorted(found.classes, model.classes_)
            expected = model.predict_log_proba(form[np.sort(test)])
            same_bits(np.ascontiguousarray(fold.log_proba[:, known]), expected)


@pytest.mark.parametrize("model", [MultinomialNB, ComplementNB])
def test_sparse_counts_are_those_of_refitting_whatever_a_split_learns(model):
    """All rows, most, few and the last of a class: counts of the columns that are scored do."""
    generator = np.random.default_rng(0)
    X = sparse.csr_array(generator.poisson(0.3, (60, 40)))
    y, every = np.arange(60) % 3, np.arange(60)
    cv = [(every, every[:9]), (every[9:], every[:9]), (every[:4], every[4:]), (every[::3], [1])]
    settings = {"alpha": [0.01, 1.0, 30.0]}
    tried = naively.cross_validate(model(), X, y, cv=cv, settings=settings)
    for found, alpha in zip(tried, settings["alpha"], strict=True):
        for fold, (train, test) in zip(found.folds, cv, strict=True):
            refitted = model(alpha=alpha).fit(X[train], y[train])
            expected = refitted.predict_log_proba(X[test])
            known = np.searchsorted(found.classes, refitted.classes_)
            same_bits(np.ascontiguousarray(fold.log_proba[:, known]), expected)
    X[7, 5] = -1
    with pytest.raises(ValueError, match="row 7, column 5 is -1"):
        naively.cross_validate(model(), X, y, cv=cv)


@pytest.mark.parametrize("n_jobs", [1, *slow(2)])
@pytest.mark.parametrize(
    "options",
    [{}, {"event": "complement", "norm": True}, {"event": "bernoulli", "min_df": 3},
     {"event": "binary", "ngram_range": (1, 2), "max_features": 9}, {"n_features": 64}],
    ids=str,
)  # fmt: skip
def test_cross_validation_of_text_is_refitting(options, n_jobs):
    texts, y = corpus(120)
    texts, model = np.array(texts, object), TextNB(**options, n_jobs=n_jobs)
    found = naively.cross_validate(model, texts, y, cv=4)
    expected = cross_val_predict(model, texts, y, cv=4, method="predict_log_proba")
    same_bits(found.log_proba, expected)
    assert_array_equal(found.predicted, cross_val_predict(model, texts, y, cv=4))


def test_an_idf_refers_to_all_documents():
    texts, y = corpus(60)
    model = TextNB(weighting="tfidf", length_norm="l2")
    found = naively.cross_validate(model, texts, y, cv=3)
    whole = clone(model).fit(texts, y)
    for train, test in StratifiedKFold(3).split(texts, y):
        own = [texts[k] for k in train]
        expected = refitted(whole, own, y[train], None).predict_log_proba([texts[k] for k in test])
        same_bits(found.log_proba[test], expected)


def table(n=90):
    rng = np.random.default_rng(5)
    y = rng.choice(["no", "yes", "so"], n)
    number = rng.normal(np.searchsorted(["no", "so", "yes"], y), 1.0, n)
    return {
        "size": np.where(rng.random(n) < 0.1, np.nan, number),
        "level": [None if k == 7 else f"level {k}" for k in rng.integers(0, 8, n)],
        "few": rng.integers(0, 3, n),
        "same": ["x"] * n,
    }, y


PAIR = {("size",): KernelDensity(), ("few", "level"): "joint"}


@pytest.mark.filterwarnings("ignore:.*none of its .* values")  # of a joint table of fractions
@pytest.mark.parametrize(
    "model", [NaiveBayes(), NaiveBayes(family="auto"), JointBayes(), NaiveBayes(PAIR)]
)
def test_cross_validation_of_tables_is_refitting_like_the_whole(model):
    columns, y = table()
    found = naively.cross_validate(model, columns, y, cv=4)
    whole = clone(model).fit(columns, y)
    for train, test in StratifiedKFold(4).split(y, y):
        part, rest = ({k: np.asarray(v)[own] for k, v in columns.items()} for own in (test, train))
        expected = clone(model).fit(rest, y[train], like=whole).predict_log_proba(part)
        same_bits(found.log_proba[test], expected)


def test_grids_that_were_coarsened_are_summed_not_subtracted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9000, 1)), rng.integers(0, 2, 9000)  # 3/4 of it fits no grid of values
    model = NaiveBayes(family=KernelDensity())
    found = naively.cross_validate(model, X, y, cv=KFold(4))
    whole = clone(model).fit(X, y)
    for train, test in KFold(4).split(X):
        expected = clone(model).fit(X[train], y[train], like=whole).predict_log_proba(X[test])
        same_bits(found.log_proba[test], expected)


# ---- what is said of it --------------------------------------------------------------------------


def test_scores_are_those_of_scikit_learn():
    X, y = load_wine(return_X_y=True)
    found = naively.cross_validate(GaussianNB(), X, y, cv=5)
    proba = cross_val_predict(GaussianNB(), X, y, cv=5, method="predict_proba")
    assert_allclose(found.proba, proba, rtol=1e-12)
    assert found.log_loss == pytest.approx(log_loss(y, proba), rel=1e-9)
    assert found.accuracy == np.mean(found.predicted == y)
    # the baseline of both: the class frequencies of all rows
    shares = np.bincount(y) / len(y)
    assert found.baseline_log_loss == pytest.approx(log_loss(y, np.tile(shares, (len(y), 1))))
    assert found.scores.baseline_accuracy == shares.max()
    confidence, right = proba.max(axis=1), proba.argmax(axis=1) == y
    assert found.calibration_error == pytest.approx(Reliability.of(confidence, right).error)
    sizes = np.array([len(fold.rows) for fold in found.folds])
    mean = np.average([fold.log_loss for fold in found.folds], weights=sizes)
    assert mean == pytest.approx(found.log_loss)


def test_a_weight_is_so_many_rows():
    X, y = load_iris(return_X_y=True)
    w = np.arange(150) % 3
    splits = list(StratifiedKFold(5).split(X, y))
    found = naively.cross_validate(GaussianNB(), X, y, cv=splits, sample_weight=w)
    again = np.repeat(np.arange(150), w)
    repeated = [tuple(np.flatnonzero(np.isin(again, own)) for own in one) for one in splits]
    expected = naively.cross_validate(GaussianNB(), X[again], y[again], cv=repeated)
    for name in ("accuracy", "log_loss", "baseline_log_loss", "calibration_error"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)


def test_a_class_in_one_part_only_is_unknown_without_it():
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) == 149, 3, y)
    found = GaussianNB().out_of_fold(X, y, parts=5)
    assert_array_equal(np.flatnonzero(found.unknown), [149])
    assert found.proba[149, 3] == 0
    assert np.isfinite(found.log_loss)
    assert found.predicted[149] != 3
    assert "1 row of a class in one fold only: errors, without log-loss" in str(found)
    rest = np.arange(150) != 149
    assert found.log_loss == pytest.approx(-found.log_proba[rest, y[rest]].mean())


def test_a_probability_of_0_for_a_known_class_is_an_infinite_loss():
    X, y = np.array([[1, 0], [2, 0], [3, 0], [0, 1], [0, 2], [1, 0]]), np.array([0, 0, 0, 1, 1, 1])
    assert MultinomialNB(alpha=0).out_of_fold(X, y, parts=6).log_loss == np.inf


def test_parts_have_their_share_of_each_class_and_equal_rows_stay_where_they_are():
    X, y = load_digits(return_X_y=True)
    found = MultinomialNB().out_of_fold(X, y)
    shares = np.array([np.bincount(y[found.split == k], minlength=10) for k in range(10)])
    assert (np.ptp(shares, axis=0) <= 1).all()
    same_bits(MultinomialNB().out_of_fold(sparse.csr_array(X), y).log_proba, found.log_proba)
    same_bits(MultinomialNB().out_of_fold(X.astype(np.float32), y).log_proba, found.log_proba)
    few = MultinomialNB().out_of_fold(X[:5], y[:5])
    assert len(np.unique(few.split)) == 5


@pytest.mark.parametrize("model", [GaussianNB(), NaiveBayes()], ids=["array", "table"])
def test_copies_of_rows_are_left_out_together(model):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((90, 5)), columns=list("abcde"))
    y = rng.integers(2, size=90)
    copies = np.concatenate([np.arange(90), np.repeat(np.flatnonzero(y == 1), 4)])
    found = model.out_of_fold(X.iloc[copies], y[copies])
    splits = pd.Series(found.split).groupby(copies).nunique()
    assert (splits == 1).all()
    shares = np.bincount(found.split[found.codes == 0])
    assert np.ptp(shares) <= 1


def test_rows_of_a_design_are_no_copies():
    """Few different rows, each as often as the others: all rows of a class were in four parts."""
    X = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 25, axis=0)
    y = np.tile(np.repeat([0, 1], [20, 5]), 4)
    found = CategoricalNB().out_of_fold(X, y)
    assert (np.bincount(found.split) == 10).all()
    assert found.log_loss < 0.52


def test_rows_that_are_equal_by_chance_are_dealt_to_all_parts():
    rng = np.random.default_rng(0)
    X, y = rng.integers(3, size=(600, 2)), rng.integers(2, size=600)
    split = CategoricalNB().out_of_fold(X, y).split
    met = pd.Series(split).groupby([y, X[:, 0], X[:, 1]]).nunique()
    assert (met == 10).all()


def test_rows_without_a_label_are_left_out_of_it():
    columns, y = table()
    y = y.astype(object)
    y[[4, 89]] = None
    found = NaiveBayes().out_of_fold(columns, y)
    assert_array_equal(found.rows, np.setdiff1d(np.arange(90), [4, 89]))
    with pytest.raises(ValueError, match="row 4 has no label"):
        naively.cross_validate(NaiveBayes(), columns, y)
    y[4] = "no"
    with pytest.raises(ValueError, match="row 89 has no label"):
        naively.cross_validate(NaiveBayes(), columns, y)


def test_the_classifier_stays_as_it_is():
    X, y = load_wine(return_X_y=True)
    model = GaussianNB().fit(X, y)
    before = model.predict_log_proba(X)
    model.out_of_fold(X[:100], y[:100])
    naively.cross_validate(model, X, y)
    same_bits(model.predict_log_proba(X), before)
    fresh = GaussianNB()
    fresh.out_of_fold(X, y)
    assert not hasattr(fresh, "model_")


def test_labels_are_the_users():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    found = GaussianNB().out_of_fold(X, names)
    assert_array_equal(found.labels, names)
    assert found.classes.tolist() == ["setosa", "versicolor", "virginica"]
    assert set(found.predicted) == set(names)


# ---- settings ------------------------------------------------------------------------------------


def test_settings_are_those_of_grid_search():
    X, y = load_digits(return_X_y=True)
    alphas = [0.01, 0.3, 2.0]
    found = naively.cross_validate(
        MultinomialNB(), X, y, settings={"alpha": alphas, "fit_prior": [True, False]}
    )
    grid = {"alpha": alphas, "fit_prior": [True, False]}
    search = GridSearchCV(TheirMultinomialNB(), grid, cv=5, scoring=likelihood).fit(X, y)
    for one, params, score in zip(
        found, search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        assert one.settings == params
        assert np.mean([fold.log_loss for fold in one.folds]) == pytest.approx(-score, abs=1e-9)
        assert str(one).startswith(f"alpha={params['alpha']}, fit_prior={params['fit_prior']}\n")


def likelihood(model, X, y):
    """Mean log P(label | x); scikit-learn's log_loss cuts it at 36 nats."""
    return model.predict_log_proba(X)[np.arange(len(y)), y].mean()


@pytest.mark.parametrize(
    ("model", "settings"),
    [(GaussianNB(), {"tie": [None, "classes"], "var_smoothing": [1e-9, 1e-2]}),
     (NaiveBayes(), {"alpha": [0.1, 5.0], "prior": ["uniform", "empirical"]}),
     (NaiveBayes(family=Gaussian(floor="feature")), {"family__tie": [None, "classes"]}),
     (JointBayes(), {"alpha": [0.0, 3.0]})],
)  # fmt: skip
def test_a_setting_is_cross_validated_as_if_alone(model, settings):
    columns, y = table()
    X = np.nan_to_num(columns["size"])[:, np.newaxis] if isinstance(model, GaussianNB) else columns
    for one in naively.cross_validate(model, X, y, settings=settings):
        alone = naively.cross_validate(clone(model).set_params(**one.settings), X, y)
        same_bits(one.log_proba, alone.log_proba)


def test_settings_of_text():
    texts, y = corpus(90)
    tried = {"alpha": [0.1, 1.0], "min_df": [2, 3], "prior": ["uniform"]}
    for one in naively.cross_validate(
        TextNB(min_df=2, weighting="tfidf"), texts, y, settings=tried
    ):
        model = TextNB(weighting="tfidf", **one.settings)
        same_bits(one.log_proba, naively.cross_validate(model, texts, y).log_proba)


# ---- alpha="auto" --------------------------------------------------------------------------------

SMOOTHED = {
    "multinomial": MultinomialNB, "bernoulli": BernoulliNB, "complement": ComplementNB,
    "categorical": CategoricalNB, "poisson": PoissonNB,
}  # fmt: skip


def least(model, X, y):
    """The alpha that predicts rows left out best, by trying one after the other."""
    losses = {a: clone(model).set_params(alpha=a).out_of_fold(X, y).log_loss for a in ALPHAS}
    return min(losses, key=lambda a: (losses[a], abs(np.log(a))))


@pytest.mark.parametrize("kind", SMOOTHED.values(), ids=SMOOTHED)
def test_auto_is_the_alpha_that_predicts_left_out_rows_best(kind):
    X, y = load_digits(return_X_y=True)
    X, y = X[::4], y[::4]
    model = kind(alpha="auto").fit(X, y)
    assert model.alpha_ == least(kind(), X, y)
    plain = kind(alpha=model.alpha_).fit(X, y)
    same_bits(model.predict_log_proba(X), plain.predict_log_proba(X))
    model.partial_fit(X[:9], y[:9])
    same_bits(model.predict_log_proba(X), plain.partial_fit(X[:9], y[:9]).predict_log_proba(X))


def test_auto_of_text_and_tables(tmp_path):
    texts, y = corpus(90)
    columns, labels = table()
    of_texts = TextNB("binary", weights=None)
    for model, X, own in ((of_texts, texts, y), (NaiveBayes(), columns, labels),
                          (JointBayes(), columns, labels)):  # fmt: skip
        fitted = clone(model).set_params(alpha="auto").fit(X, own)
        assert fitted.alpha_ == least(model, X, own)
        plain = clone(model).set_params(alpha=fitted.alpha_).fit(X, own)
        same_bits(fitted.predict_log_proba(X), plain.predict_log_proba(X))
        fitted.save(tmp_path / "model")
        again = naively.load(tmp_path / "model")
        assert (again.alpha_, again.alpha) == (fitted.alpha_, "auto")
        again.partial_fit(X, own)
        same_bits(again.predict_log_proba(X), (plain + plain).predict_log_proba(X))


def test_auto_leaves_given_families_as_they_are():
    columns, y = table()
    model = NaiveBayes({"level": naively.Categorical(alpha=7.0)}, alpha="auto").fit(columns, y)
    assert model.model_.schema.family_of["level"].alpha == 7.0
    assert model.model_.schema.family_of["few"].alpha == model.alpha_ != 7.0


def test_auto_is_chosen_by_fit_alone():
    X, y = load_digits(return_X_y=True)
    for call in ("partial_fit", "out_of_fold"):
        with pytest.raises(ValueError, match='alpha="auto" is chosen when `fit` is called'):
            getattr(MultinomialNB(alpha="auto"), call)(X, y)
    with pytest.raises(ValueError, match='alpha="auto" is chosen'):
        naively.cross_validate(MultinomialNB(alpha="auto"), X, y)
    with pytest.raises(ValueError, match='alpha must be a number: "auto"'):
        NBSVM(alpha="auto").fit(["a word", "another one"], [0, 1])


# ---- bad input -----------------------------------------------------------------------------------


def test_bad_input_is_refused():
    X, y = load_wine(return_X_y=True)
    for parts in (1, 0, 2.5, True, None):
        with pytest.raises(ValueError, match="parts must be a whole number of 2 or more"):
            GaussianNB().out_of_fold(X, y, parts=parts)
    with pytest.raises(ValueError, match="one row only"):
        GaussianNB().out_of_fold(X[:1], y[:1])
    with pytest.raises(TypeError, match="NBSVM cannot be cross-validated by subtraction"):
        naively.cross_validate(NBSVM(), ["a", "b"], [0, 1])
    with pytest.raises(ValueError, match="must not change what is counted"):
        naively.cross_validate(BernoulliNB(), X, y, settings={"binarize": [0.0, 1.0]})
    with pytest.raises(ValueError, match="without values"):
        naively.cross_validate(MultinomialNB(), X, y, settings={"alpha": []})
    with pytest.raises(ValueError, match="split 0 trains on row 3 2 times"):
        naively.cross_validate(GaussianNB(), X, y, cv=[([3, 3, 60, 150], [1])])
    with pytest.raises(ValueError, match="split 0: there are no training rows"):
        naively.cross_validate(GaussianNB(), X, y, cv=[([], [1])])
    X[70, 2] = -1.0
    with pytest.raises(
        ValueError, match=r"Negative values in data passed to MultinomialNB.*row 70"
    ):
        MultinomialNB().out_of_fold(X, y)
    texts = [f"word{k} word{k + 1} common" for k in range(40)]
    with pytest.raises(ValueError, match="max_terms"):
        TextNB(max_terms=5).out_of_fold(texts, np.arange(40) % 2)
    columns = np.array([[0], [1], [0], [1], [0], [7]])
    with pytest.raises(ValueError, match="row 5, column 0"):
        CategoricalNB(unseen="error").out_of_fold(columns, [0, 1, 0, 1, 0, 1], parts=6)


def test_rows_left_out_of_a_model_that_learned_others_too():
    """What is left is the model that learned all rows but these: its classes and bits."""
    texts, labels = corpus(60)
    model = TextNB(weights=None).fit(texts, labels).model_
    few = np.arange(0, 60, 4)
    rows = Learnable(model.blank(), Documents.of([texts[k] for k in few]), labels[few])
    part = np.arange(len(few)) % 3
    learned = np.arange(3)[:, None] != part
    tests = [np.flatnonzero(~own) for own in learned]
    folds = Folds(rows, learned, whole=model)
    said = out_of_fold(folds, tests, [rows.reading])[0]
    for split, test in enumerate(tests):
        others = np.setdiff1d(np.arange(60), few[test])
        own = TextNB(weights=None).fit([texts[k] for k in others], labels[others])
        assert folds.model(split) == own.model_
        expected = own.predict_log_proba([texts[k] for k in few[test]])
        assert_array_equal(said.log_proba[test], expected)


def test_columns_of_one_level_are_left_out_of_a_split_too():
    """Levels that only other rows have spoke for the class with fewer missing values."""
    X = {"l": ["z", "z", "z", "x", None, "z", "y", "x"], "n": [1, 2, 1, 2, 1, 1, 2, 1]}
    y = np.array([0, 0, 1, 1, 1, 0, 1, 0])
    rows = [dict(zip(X, row, strict=True)) for row in zip(*X.values(), strict=True)]
    splits = [([0, 1, 2, 4, 5], [3, 6, 7]), ([0, 2, 3, 6], [1, 4, 5, 7])]
    for columns in (None, {"n": "gaussian"}):
        model = NaiveBayes(columns=columns)
        whole = clone(model).fit(rows, y)
        found = naively.cross_validate(model, rows, y, cv=splits)
        for (train, test), one in zip(splits, found.folds, strict=True):
            own = clone(model).fit([rows[k] for k in train], y[train], like=whole)
            expected = own.predict_log_proba([rows[k] for k in test])
            assert_array_equal(one.log_proba, expected)


# ---- a prior that names classes ------------------------------------------------------------------

PRIORED = {
    "GaussianNB": (GaussianNB, "priors", "numbers"),
    "GaussianBayes": (GaussianBayes, "prior", "numbers"),
    "NaiveBayes": (NaiveBayes, "prior", "numbers"),
    "AutoBayes": (AutoBayes, "prior", "numbers"),
    "MultinomialNB": (MultinomialNB, "class_prior", "counts"),
    "ComplementNB": (ComplementNB, "class_prior", "counts"),
    "BernoulliNB": (BernoulliNB, "class_prior", "counts"),
    "PoissonNB": (PoissonNB, "prior", "counts"),
    "CategoricalNB": (CategoricalNB, "class_prior", "counts"),
    "JointBayes": (JointBayes, "prior", "counts"),
    "TextNB": (TextNB, "prior", "texts"),
}


@pytest.mark.parametrize("name", PRIORED)
def test_a_prior_by_class_is_that_of_the_refits(name):
    kind, parameter, takes = PRIORED[name]
    rng = np.random.default_rng(0)
    y = np.where(rng.random(120) < 0.3, "yes", "no")
    X = rng.normal((y == "yes")[:, np.newaxis] * 0.7, size=(120, 3))
    if takes != "numbers":
        X = rng.integers(0, 2, (120, 3)) + (y == "yes")[:, np.newaxis]
    if takes == "texts":
        X = np.array([" ".join(f"word{k}" for k in row) for row in X])
    by_class = kind(**{parameter: {"yes": 0.9}})
    in_order = kind(**{parameter: [1 - 0.9, 0.9]})
    found, other = by_class.out_of_fold(X, y, parts=4), in_order.out_of_fold(X, y, parts=4)
    same_bits(found.log_proba, other.log_proba)
    assert_allclose(found.frequencies, [np.mean(y == "no"), np.mean(y == "yes")])
    train, test = found.split != 1, found.split == 1
    refit = clone(by_class).fit(X[train], y[train])
    assert_allclose(found.proba[test], refit.predict_proba(X[test]), rtol=1e-9)
    folds = naively.cross_validate(by_class, X, y, cv=3)
    same_bits(folds.log_proba, naively.cross_validate(in_order, X, y, cv=3).log_proba)
    if hasattr(by_class, "alpha"):
        curves = [
            one.smoothing_curve(X, y, alphas=[0.1, 1], parts=3) for one in (by_class, in_order)
        ]
        same_bits(curves[0].log_loss, curves[1].log_loss)
        chosen = [clone(one).set_params(alpha="auto").fit(X, y) for one in (by_class, in_order)]
        assert chosen[0].alpha_ == chosen[1].alpha_


@pytest.mark.parametrize("given", [{"a": 0.2, "b": 0.2, "rare": 0.6}, {"a": 0.2, "b": 0.2}])
def test_a_class_that_a_part_alone_has_gives_its_prior_to_the_others(given):
    y = np.array(["a", "b"] * 20 + ["rare"])
    X = np.random.default_rng(0).normal(size=(41, 2))
    for prior in (given, [0.2, 0.2, 0.6]):
        found = GaussianNB(priors=prior).out_of_fold(X, y, parts=4)
        (alone,) = found.split[found.unknown]
        part = found.split == alone
        refit = GaussianNB(priors={"a": 0.5}).fit(X[~part], y[~part])
        same_bits(found.log_proba[part][:, :2].copy(), refit.predict_log_proba(X[part]))
        assert_allclose(found.frequencies, np.array([20, 20, 1]) / 41)
    virtual = GaussianNB(prior_smoothing={"rare": 5, "a": 30}).out_of_fold(X, y, parts=4)
    part = virtual.split == virtual.split[virtual.unknown]
    refit = GaussianNB(prior_smoothing={"a": 30}).fit(X[~part], y[~part])
    same_bits(virtual.log_proba[part][:, :2].copy(), refit.predict_log_proba(X[part]))


@pytest.mark.parametrize(
    ("model", "by_class"),
    [
        (MultinomialNB, np.array([[2.0], [1.0], [0.5]])),
        (MultinomialNB, np.arange(1.0, 7).reshape(3, 2)),
        (ComplementNB, np.arange(1.0, 7).reshape(3, 2)),
        (BernoulliNB, np.array([[2.0], [1.0], [0.5]])),
        (CategoricalNB, np.array([[2.0], [1.0], [0.5]])),
        (CategoricalNB, [{0: [2.0, 1.0, 0.5]}, np.arange(1.0, 10).reshape(3, 3)]),
        (CategoricalNB, [[1.0, 2.0, 3.0], [0.5, 0.5, 1.0]]),
    ],
)
def test_smoothing_by_class_where_a_split_lacks_a_class(model, by_class):
    """The model of a split has the smoothing of its own classes: as if refitted with that."""
    r = np.random.default_rng(0)
    X, y = r.integers(0, 3, (61, 2)), np.array([0] * 30 + [1] * 30 + [2])
    X[:3] = [[0, 0], [1, 1], [2, 2]]
    splits = [(np.arange(0, 60), np.arange(60, 61)), (np.arange(30, 61), np.arange(0, 30))]
    found = naively.cross_validate(model(alpha=by_class), X, y, cv=splits)
    assert found.unknown.sum() == 31

    def of(rows, classes):
        own = by_class
        if isinstance(by_class, np.ndarray):
            own = by_class[classes]
        elif isinstance(by_class[0], dict):
            own = [{0: np.array(by_class[0][0])[classes].tolist()}, by_class[1][classes]]
        return model(alpha=own).fit(X[rows], y[rows]).predict_log_proba(X)

    assert_allclose(found.log_proba[30, :2], of(splits[0][0], [0, 1])[60], rtol=1e-12)
    assert_allclose(found.log_proba[:30, 1:], of(splits[1][0], [1, 2])[:30], rtol=1e-12)


def copied_rows(kind):
    """Rows of numbers, each twice, or half of them drawn again."""
    r = np.random.default_rng(3)
    y = r.integers(0, 2, 600)
    X = r.normal(size=(600, 8)) + 0.4 * y[:, np.newaxis]
    again = np.arange(600) if kind == "twice" else r.choice(600, 600)
    rows = r.permutation(np.append(np.arange(600), again))
    return X[rows], y[rows], rows


@pytest.mark.parametrize("kind", ["twice", "drawn again"])
def test_copies_of_a_row_are_in_one_fold(kind):
    X, y, rows = copied_rows(kind)
    found = naively.cross_validate(GaussianNB(), X, y, cv=5)
    fold = np.full(600, -1)
    fold[rows] = found.split
    assert (fold[rows] == found.split).all()
    assert np.ptp(np.bincount(fold)) <= 2  # of different rows as many in each
