"""`compare`: splits are sums of parts, curves equal refitting, and the recommendation."""

import json
import math
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import naively
from naively import Joint, MultivariateGaussian, NaiveBayes, Text, compare
from naively.calls import named_call
from naively.core.workers import workers
from naively.evaluation import alternatives, learning_curves
from naively.evaluation import samples as looked
from naively.evaluation.alternatives import Refits
from naively.evaluation.compare import Candidate, examine, sentence
from naively.evaluation.learning_curves import Curve, Splits, Trial, growing
from naively.evaluation.model_ladder import kinds, ladder
from naively.evaluation.samples import of_table
from naively.io.inputs import MISSING
from naively.tables.inference import ColumnOptions, infer

IRIS = load_iris()


@pytest.fixture(autouse=True, scope="module")
def _no_processes():
    """Fits are short here, but a busy machine may make them long enough to start processes.

    And threads that wait for each other take most of the time of fits this small. Boosting, which
    takes longest, is tried in test_compare_chosen.py.
    """
    with pytest.MonkeyPatch.context() as patch, threadpool_limits(1, "blas"):
        patch.setattr(alternatives, "PATIENCE", math.inf)
        patch.setattr(alternatives, "USUAL", alternatives.USUAL[:1])
        yield


# ---- splits ---------------------------------------------------------------------------------


def learned(splits, split, size):
    """The rows of a training set, sorted; they may not repeat."""
    steps = splits.steps[split][: size + 1]
    return np.sort(np.concatenate([splits.parts[part] for step in steps for part in step]))


@st.composite
def dealt(draw):
    """Splits of rows in any order; the first size has room for all classes, hardly or well."""
    counts = draw(st.lists(st.integers(1, 30), min_size=1, max_size=7))
    counts.append(draw(st.integers(2, 60)))
    codes = np.repeat(np.arange(len(counts)), counts)
    codes = codes[np.random.default_rng(draw(st.integers(0, 99))).permutation(len(codes))]
    sizes = draw(st.sets(st.integers(len(counts), max(len(codes), len(counts))), max_size=6))
    seed = draw(st.integers(0, 99))
    return Splits(codes, draw(st.integers(2, 7)), tuple(sorted(sizes)), seed)


@given(dealt())
def test_training_sets_grow_to_all_rows_that_are_not_predicted(splits):
    codes = splits.codes
    n, classes = len(codes), set(codes.tolist())
    assert sorted(np.concatenate(splits.parts).tolist()) == list(range(n))
    assert list(splits.sizes) == sorted(set(splits.sizes))
    for k, test in enumerate(splits.tests):
        assert len(test) > 0
        before = np.empty(0, int)
        for size, rows in enumerate(splits.sizes):
            train = learned(splits, k, size)
            assert len(np.unique(train)) == len(train)
            assert np.isin(before, train).all()
            assert set(codes[train].tolist()) == classes
            if size + 1 < len(splits.sizes):
                assert len(train) == rows
            before = train
        assert len(before) >= splits.sizes[-1]
        np.testing.assert_array_equal(before, np.setdiff1d(np.arange(n), test))
    assert min(n - len(test) for test in splits.tests) == splits.sizes[-1]


@given(st.integers(0, 99), st.integers(2, 6))
def test_sizes_that_are_all_have_the_same_rows(seed, folds):
    codes = np.repeat(np.arange(4), [1, 2, 30, 40])
    sizes = (4, 10, 36)
    some = Splits(codes, folds, sizes, seed, whole=False)
    more = Splits(codes, folds, sizes, seed)
    assert some.sizes == sizes
    for k, test in enumerate(some.tests):
        np.testing.assert_array_equal(test, more.tests[k])
        for size in range(len(sizes)):
            np.testing.assert_array_equal(learned(some, k, size), learned(more, k, size))


@given(dealt())
def test_every_row_is_predicted_once_and_classes_are_even(splits):
    codes = splits.codes
    many = np.flatnonzero(np.bincount(codes)[codes] > 1)
    np.testing.assert_array_equal(np.sort(np.concatenate(splits.tests)), many)
    for c in np.unique(codes[many]):
        counts = [int((codes[test] == c).sum()) for test in splits.tests]
        counts += [0] * (splits.folds - len(counts))
        assert max(counts) - min(counts) <= 1
    if len(many) == len(codes):
        lengths = [len(test) for test in splits.tests]
        assert max(lengths) - min(lengths) <= 1


@given(dealt())
def test_parts_are_few(splits):
    """Each split cuts each of the others' folds at most where a size ends."""
    cuts = splits.folds * (len(splits.sizes) + 1)
    moved = splits.folds * len(np.unique(splits.codes))
    assert len(splits.parts) <= cuts + moved + 1


def test_many_rows_have_hardly_more_parts_than_few():
    codes = np.random.default_rng(0).integers(0, 3, 100_000)
    assert len(Splits(codes, 5, growing(codes, 5)).parts) < 100


def test_the_seed_decides():
    codes = np.arange(60) % 3
    one, same, other = (Splits(codes, 5, (10, 20), seed) for seed in (3, 3, 4))
    for k in range(5):
        for size in range(3):
            np.testing.assert_array_equal(learned(one, k, size), learned(same, k, size))
    assert any(learned(one, k, 0).tolist() != learned(other, k, 0).tolist() for k in range(5))
    assert any(one.tests[k].tolist() != other.tests[k].tolist() for k in range(5))


def test_every_row_is_as_likely_to_be_learned_early():
    codes = np.arange(30) % 3
    met = np.zeros(30)
    for seed in range(400):
        splits = Splits(codes, 3, (6,), seed)
        for k in range(3):
            met[learned(splits, k, 0)] += 1
    assert abs(met / 1200 - 0.2).max() < 0.05  # its standard deviation is 0.012


def test_rare_classes_push_no_other_out():
    """Where all of the first rows are wanted for classes that come late."""
    codes = np.array([0] * 100 + [1] * 2 + [2] * 2 + [3] * 2)
    for seed in range(50):
        splits = Splits(codes, 3, (4, 5, 12), seed)
        for k in range(len(splits.tests)):
            assert sorted(codes[learned(splits, k, 0)].tolist()) == [0, 1, 2, 3]


def test_sizes_are_round_and_begin_with_two_rows_a_class():
    assert growing(np.arange(1000) % 2, 5) == (10, 20, 50, 100, 200, 500)
    assert growing(np.arange(1000) % 10, 5) == (20, 50, 100, 200, 500)
    assert growing(np.arange(1000) % 11, 5) == (50, 100, 200, 500)
    assert growing(np.arange(12) % 6, 2) == ()


# ---- curves of rungs ------------------------------------------------------------------------


def mixed(n=90, seed=0):
    """(a table of numbers, levels, truth values, text and holes; labels of three classes)."""
    generator = np.random.default_rng(seed)
    y = np.arange(n) % 3
    a = generator.normal(size=n) + y
    c = generator.normal(size=n)
    words = np.array(["gold", "win", "cash", "noon", "lunch", "minutes", "room", "free", "prize"])
    texts = [" ".join(words[(generator.integers(0, 6, 8) + 2 * one) % 9]) for one in y]
    job = np.array(["cook", "smith", "clerk", "king"])
    picked = generator.choice(4, n, p=[0.45, 0.3, 0.22, 0.03])
    return pa.table(
        {
            "a": a,
            "b": a + 0.3 * generator.normal(size=n),
            "c": pa.array(np.where(generator.random(n) < 0.2, np.nan, c), from_pandas=True),
            "job": pa.array([None if k % 11 == 0 else job[j] for k, j in enumerate(picked)]),
            "rooms": generator.integers(1, 4, n) + y,
            "owner": (generator.random(n) < 0.3 + 0.2 * y).tolist(),
            "note": pa.array([None if k % 13 == 0 else text for k, text in enumerate(texts)]),
        }
    ), np.array(["x", "y", "z"])[y]


def trial_of(table, y, folds=3, columns=None):
    """(rows, rule, splits, rungs, trial) of a table."""
    rows, options = of_table(table, y, 0, MISSING), ColumnOptions(dict(columns or {}))
    rule = infer(options, rows.table, (rows.classes, rows.codes))
    splits = Splits(rows.codes, folds, growing(rows.codes, folds), 0)
    rungs = ladder(rule, *kinds(rule, options, rows), len(rows.classes))
    return rows, rule, splits, rungs, Trial(rows, rule, splits, workers(None))


def fitted(model, X, y):
    """The model, fitted; None if a covariance is singular."""
    try:
        return model.fit(X, y)
    except ValueError as error:
        if "singular" not in str(error):
            raise
    return None


def scored(model, X, codes):
    """(-log P(y | x), whether another class is more probable) of rows by a fitted model."""
    log_proba = model.predict_log_proba(X)
    return -log_proba[np.arange(len(codes)), codes], log_proba.argmax(axis=1) != codes


def test_curves_are_those_of_models_fitted_anew():
    """All rungs of all kinds of columns, levels and words that are met late among them."""
    table, y = mixed()
    rows, _, splits, rungs, trial = trial_of(table, y)
    curves = dict(zip([one.name for one in rungs], trial.curves(rungs), strict=True))
    assert {"naive Bayes", "one variance", "shrunk tied covariance", "shrunk full covariance",
            "joint table of categories", "naive Bayes, binary"} <= curves.keys()  # fmt: skip
    failed = 0
    for rung in rungs[1:]:
        families = {block.names: block.family for block in rung.blocks}
        curve = curves[rung.name]
        for k, test in enumerate(splits.tests):
            for size in range(len(splits.sizes)):
                train = learned(splits, k, size)
                model = fitted(NaiveBayes(columns=families), rows.table.take(train), y[train])
                if model is None:
                    assert math.isnan(curve.error[k, size])
                    assert math.isnan(curve.log_loss[k, size])
                    failed += 1
                    continue
                losses, wrong = scored(model, rows.table.take(test), rows.codes[test])
                assert curve.error[k, size] == wrong.mean(), rung.name
                assert curve.log_loss[k, size] == pytest.approx(losses.mean(), rel=1e-9)
            if not math.isnan(curve.error[k, -1]):
                np.testing.assert_allclose(curve.losses[test], losses, rtol=1e-6, atol=1e-12)
                np.testing.assert_array_equal(curve.wrong[test], wrong)
    assert failed < len(splits.tests) * len(splits.sizes)


NUMBERS = np.round(IRIS.data[:, :3] + np.random.default_rng(1).normal(size=(150, 3)) * 1e-3, 4)
LEVELS = {
    "u": np.random.default_rng(2).choice(list("pqrs"), 80, p=[0.5, 0.3, 0.15, 0.05]),
    "v": np.random.default_rng(3).choice(list("abc"), 80),
}
MAILS = [
    "win a free prize", "meeting at noon", "free free prize", "lunch at noon?",
    "free lunch, claim now", "minutes of the meeting", "now or never", "a prize meeting",
]  # fmt: skip


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (NUMBERS, IRIS.target_names[IRIS.target]),
        (pa.table({k: v.tolist() for k, v in LEVELS.items()}), np.arange(80) % 2),
        (np.array(MAILS * 6, object), np.array(["spam", "ham"] * 24)),
    ],
    ids=["numbers", "levels", "documents"],
)
def test_what_a_candidate_says_to_use_has_its_curve_bit_for_bit(X, y):
    codes = np.unique(y, return_inverse=True)[1]
    alike = np.arange(len(y))
    if isinstance(X, np.ndarray) and X.dtype == object:  # copies of a document are in one fold
        alike = np.unique(X, return_inverse=True)[1]
    splits = Splits(codes, 3, growing(codes, 3), 0, alike=alike)
    found = compare(X, y, splits=3)
    assert found.sizes == splits.sizes
    take = X.take if isinstance(X, pa.Table) else X.__getitem__
    met = 0
    for one in found.candidates:
        if one.kind in ("prior", "scikit-learn"):
            continue
        met += 1
        for k, test in enumerate(splits.tests):
            for size in range(len(splits.sizes)):
                train = learned(splits, k, size)
                model = eval(one.use, {name: getattr(naively, name) for name in naively.__all__})
                if fitted(model, take(train), y[train]) is None:
                    assert math.isnan(one.curve.error[k, size])
                    continue
                losses, wrong = scored(model, take(test), codes[test])
                assert one.curve.error[k, size] == wrong.mean(), one.name
                assert one.curve.log_loss[k, size] == pytest.approx(losses.mean(), rel=1e-14)
            if not math.isnan(one.error[-1]):
                np.testing.assert_array_equal(one.curve.losses[test], losses)
    assert met == {150: 7, 80: 3, 48: 5}[len(y)]


def test_the_majority_class_is_scikit_learns_dummy():
    table, _ = mixed()
    y = np.array(["rare", "most", "some"])[np.repeat([0, 1, 2], [9, 50, 31])]
    found = compare(table, y, splits=4, columns={"note": "skip"})
    codes = np.unique(y, return_inverse=True)[1]
    splits = Splits(codes, 4, growing(codes, 4), 0)
    prior = found.candidates[0]
    assert (prior.name, prior.kind, prior.use) == ("class prior", "prior", "")
    for k, test in enumerate(splits.tests):
        for size in range(len(splits.sizes)):
            train = learned(splits, k, size)
            dummy = DummyClassifier(strategy="prior").fit(train[:, None], codes[train])
            losses, wrong = scored(dummy, test[:, None], codes[test])
            assert prior.curve.error[k, size] == wrong.mean()
            assert prior.curve.log_loss[k, size] == pytest.approx(losses.mean(), rel=1e-12)


def test_rungs_that_share_sums_do_not_disturb_each_other():
    table, y = mixed(60)
    _, _, _, rungs, trial = trial_of(table, y)
    first = trial.curves(rungs)
    again = trial.curves(rungs)
    back = trial_of(table, y)[-1].curves(rungs[::-1])[::-1]
    alone = [trial_of(table, y)[-1].curves([rung])[0] for rung in rungs]
    for one, *others in zip(first, again, back, alone, strict=True):
        for other in others:
            for name in ("log_loss", "error", "losses", "wrong"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
            assert one.reason == other.reason


def test_progress_is_one_step_a_rung_split_and_size():
    table, y = mixed(60)
    _, _, splits, rungs, trial = trial_of(table, y)
    done = []
    trial.curves(rungs, lambda: done.append(1))
    assert len(done) == len(rungs) * len(splits.tests) * len(splits.sizes)


def test_covariances_without_a_density_have_no_value_at_those_sizes_only():
    generator = np.random.default_rng(0)
    y = np.where(np.arange(200) < 8, 2, np.arange(200) % 2)
    X = generator.normal(size=(200, 12)) + y[:, None]
    found = {one.name: one for one in examined(X, y, 4)}
    full = found["shrunk full covariance"]  # a class of one row has none
    assert np.isnan(full.error).tolist() == [True, True, False, False, False]  # 10, 20, 50, ...
    assert np.isnan(full.log_loss).tolist() == np.isnan(full.error).tolist()
    assert full.reason == ""
    assert np.isfinite(found["naive Bayes"].log_loss).all()


def examined(X, y, folds):
    """The curves of all rungs, their means over the splits as `error` and `log_loss`."""
    _, _, _, rungs, trial = trial_of(X, y, folds)
    for rung, curve in zip(rungs, trial.curves(rungs), strict=True):
        mean = Candidate(rung.name, rung.use, "ladder", curve)
        yield type(
            "Means", (), {"name": rung.name, "error": mean.error, "log_loss": mean.log_loss,
                          "reason": curve.reason, "curve": curve}
        )  # fmt: skip


@pytest.mark.parametrize("n", [60, 61, 62, 63, 64])
def test_whatever_cannot_be_estimated_in_the_end_says_why(n):
    """A class of two rows: two of the splits have but one row of it, first ones or last ones."""
    generator = np.random.default_rng(0)
    y = np.array([0] * (n // 2) + [1] * (n - n // 2 - 2) + [2] * 2)
    for one in examined(generator.normal(size=(n, 2)), y, 5):
        lacking = np.isnan(one.curve.error[:, -1]).any()
        assert bool(one.reason) == lacking, one.name
        assert lacking == (one.name == "shrunk full covariance")


# ---- scikit-learn's classifiers --------------------------------------------------------------


def curve_of(found, name):
    return next(one for one in found.candidates if one.name == name)


def test_logistic_regression_is_a_pipeline_fitted_by_hand():
    """Of numbers, levels, truth values and text, with holes in all of them."""
    table, y = mixed()
    found = compare(table, y, splits=2)
    frame = table.to_pandas()
    frame["owner"] = frame["owner"].astype(float)
    frame["job"] = frame["job"].fillna("?")
    frame["note"] = frame["note"].fillna("")
    codes = np.unique(y, return_inverse=True)[1]
    splits = Splits(codes, 2, growing(codes, 2), 0)
    curve = curve_of(found, "logistic regression").curve
    for k, test in enumerate(splits.tests):
        for size in range(len(splits.sizes)):
            train = learned(splits, k, size)
            model = make_pipeline(
                make_column_transformer(
                    (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
                     ["a", "b", "c", "owner"]),
                    (OneHotEncoder(handle_unknown="ignore"), ["job", "rooms"]),
                    (TfidfVectorizer(), "note"),
                ),
                LogisticRegression(max_iter=1000),
            )  # fmt: skip
            model.fit(frame.iloc[train], y[train])
            losses, wrong = scored(model, frame.iloc[test], codes[test])
            assert curve.error[k, size] == wrong.mean()
            assert curve.log_loss[k, size] == pytest.approx(losses.mean(), rel=1e-3)
        np.testing.assert_allclose(curve.losses[test], losses, rtol=0.01, atol=1e-3)


def test_of_documents_it_weighs_words():
    y = np.array(["spam", "ham"] * 24)
    curve = curve_of(compare(MAILS * 6, y, splits=2), "logistic regression").curve
    codes = (y == "spam").astype(int)
    texts = np.array(MAILS * 6, object)
    alike = np.unique(texts, return_inverse=True)[1]  # copies are in one fold
    splits = Splits(codes, 2, growing(codes, 2), 0, alike=alike)
    for k, test in enumerate(splits.tests):
        model = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000))
        model.fit(texts[learned(splits, k, 0)], codes[learned(splits, k, 0)])
        losses, wrong = scored(model, texts[test], codes[test])
        assert curve.error[k, 0] == wrong.mean()
        assert curve.log_loss[k, 0] == pytest.approx(losses.mean(), rel=1e-3)


class Fussy(ClassifierMixin, BaseEstimator):
    """Raises where rows are fewer or more than it likes; else says the first class."""

    def __init__(self, least=0, most=math.inf):
        self.least = least
        self.most = most

    def fit(self, X, y):
        if not self.least <= len(y) <= self.most:
            raise RuntimeError("not so many rows\nand more lines")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[0])


def test_classifiers_without_probabilities_have_errors_only():
    found = compare(NUMBERS, IRIS.target, splits=2, estimators=["sklearn.svm.LinearSVC(C=0.5)"])
    one = found.candidates[-1]
    assert (one.name, one.use, one.kind) == ("LinearSVC(C=0.5)", "LinearSVC(C=0.5)", "scikit-learn")
    assert np.isnan(one.log_loss).all()
    assert np.isnan(one.curve.losses).all()
    assert one.curve.reason == ""
    splits = Splits(IRIS.target, 2, growing(IRIS.target, 2), 0)
    for k, test in enumerate(splits.tests):
        train = learned(splits, k, 0)
        model = make_pipeline(StandardScaler(), LinearSVC(C=0.5, random_state=0))
        model.fit(NUMBERS[train], IRIS.target[train])
        wrong = model.predict(NUMBERS[test]) != IRIS.target[test]
        assert one.curve.error[k, 0] == pytest.approx(wrong.mean(), abs=0.03)  # order of rows
    assert one.error[-1] < 0.3
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))


def test_what_fails_is_said_and_stops_nothing():
    given = Fussy(most=20), KNeighborsClassifier(15), Fussy(least=60), Fussy(least=1000)
    found = compare(NUMBERS, IRIS.target, splits=2, estimators=given)
    assert found.sizes == (10, 20, 50, 75)
    late, near, early, never = found.candidates[-4:]
    assert late.curve.reason == never.curve.reason == "RuntimeError: not so many rows"
    assert np.isnan(late.error).tolist() == [False, False, True, True]
    assert np.isnan(near.error).tolist() == [True, False, False, False]  # 10 rows, 15 neighbours
    assert np.isnan(early.error).tolist() == [True, True, True, False]
    assert near.curve.reason == early.curve.reason == ""
    plain = compare(NUMBERS, IRIS.target, splits=2)
    for one, other in zip(plain.candidates, found.candidates, strict=False):
        np.testing.assert_array_equal(one.curve.error, other.curve.error)
        np.testing.assert_array_equal(one.curve.losses, other.curve.losses)
    assert "RuntimeError: not so many rows" in str(found)
    assert found.advice == plain.advice


def test_instances_and_import_paths_are_the_same_and_forests_can_be_repeated():
    def forest(one):
        found = compare(NUMBERS, IRIS.target, splits=2, estimators=[one])
        return found.candidates[-1]

    path = "sklearn.ensemble.RandomForestClassifier(max_depth=2, n_estimators=5)"
    mine = RandomForestClassifier(max_depth=2, n_estimators=5)
    one, again, instance = forest(path), forest(path), forest(mine)
    assert one.name == instance.name == "RandomForestClassifier(max_depth=2, n_estimators=5)"
    assert mine.random_state is None
    assert not hasattr(mine, "classes_")
    for other in (again, instance):
        np.testing.assert_array_equal(one.curve.losses, other.curve.losses)
    seeded = forest(RandomForestClassifier(max_depth=2, n_estimators=5, random_state=1))
    assert (seeded.curve.losses != one.curve.losses).any()


def test_naive_bayes_refitted_is_naive_bayes():
    found = compare(NUMBERS, IRIS.target, splits=2, estimators=["naively.GaussianNB"])
    ours, theirs = found.candidates[1], found.candidates[-1]
    assert (ours.name, theirs.name) == ("naive Bayes", "GaussianNB()")
    np.testing.assert_array_equal(ours.curve.wrong, theirs.curve.wrong)
    np.testing.assert_allclose(ours.curve.losses, theirs.curve.losses, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_other_processes_find_the_same(monkeypatch):
    rows, rule, splits, _, _ = trial_of(*mixed(40), folds=2)
    refits = Refits(rows, rule, None, splits, math.inf)
    here = refits.curve(alternatives.USUAL[0])
    # so that work this short goes to other processes
    monkeypatch.setattr(alternatives, "PATIENCE", 0.0)
    done = []
    there = refits.curve(alternatives.USUAL[0], lambda: done.append(1))
    assert len(done) == here.error.size
    for name in ("error", "log_loss", "losses", "wrong"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("SVC", "name its module too, as sklearn.svm.SVC"),
        ("sklearn.svm.SVM", "sklearn.svm has no SVM"),
        ("sklearn.vsm.SVC", "No module named 'sklearn.vsm'"),
        ("sklearn.svm.SVC(10)", "write it as sklearn.svm.SVC or"),
        ("sklearn.svm.SVC(D=10)", "unexpected keyword argument 'D'"),
        ("sklearn.svm.SVC(C=ten)", "write it as"),
        ("sklearn.svm.SVC(C=10", "write it as"),
        ("sklearn.svm.SVC(C={[]: 1})", "write it as"),
        ("", "write it as"),
        ("sklearn.svm", "not a scikit-learn classifier"),
        ("math.pi", "not a scikit-learn classifier"),
        ("sklearn.svm.SVR", "is not a scikit-learn classifier"),
        ("sklearn.cluster.KMeans", "is not a scikit-learn classifier"),
        ("sklearn.preprocessing.StandardScaler", "is not a scikit-learn classifier"),
        ("collections.OrderedDict", "is not a scikit-learn classifier"),
        (SVR(), "is not a scikit-learn classifier"),
        (LogisticRegression, "is not a scikit-learn classifier"),
        (object(), "is not a scikit-learn classifier"),
        (None, "is not a scikit-learn classifier"),
        (42, "is not a scikit-learn classifier"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_estimators_that_are_none(given, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        compare(NUMBERS, IRIS.target, estimators=[given])


def test_the_same_estimator_twice_is_refused():
    with pytest.raises(ValueError, match=re.escape("LinearSVC() is compared more than once")):
        compare(NUMBERS, IRIS.target, estimators=["sklearn.svm.LinearSVC", LinearSVC()])


def test_names_and_arguments():
    assert named_call("gamma") == ("gamma", {})
    assert named_call(" a.b ( x = 1, y = [2.5, 'z'], n = -3, t = None ) ") == (
        "a.b", {"x": 1, "y": [2.5, "z"], "n": -3, "t": None}
    )  # fmt: skip
    for text in ("a(1)", "a(x=y)", "a(", "a)", "a(x=1)(y=2)", "a b", "a; b()", "a()()", ""):
        with pytest.raises(ValueError, match="write it as"):
            named_call(text)


# ---- what is advised ------------------------------------------------------------------------

SIZES = (10, 20, 50, 100)


def made(name, errors, kind="ladder", losses=1.0, spread=0.0, start=0):
    """A candidate of these mean errors, on 1000 rows and 5 splits that differ by `spread`."""
    errors = np.asarray(errors, float)
    wrong = np.zeros(1000)
    if np.isfinite(errors[-1]):
        wrong[(start + np.arange(round(1000 * errors[-1]))) % 1000] = 1.0
    else:
        wrong[:] = np.nan
    losses = np.broadcast_to(np.asarray(losses, float), 1000)
    error = errors + spread * np.linspace(-1.0, 1.0, 5)[:, None] * np.linspace(1, 0, len(errors))
    with np.errstate(over="ignore"):
        log_loss = np.full(error.shape, losses.mean())
    curve = Curve(log_loss, error, losses, wrong, np.full(5, 200), "", 0.1)
    return Candidate(name, "", kind, curve)


def said(*candidates, sizes=SIZES):
    prior = made("class prior", [0.5] * len(sizes), "prior", start=500)
    return sentence([prior, *candidates], sizes)


def naive(*errors, **rest):
    return made("naive Bayes", errors, "naive", **rest)


def logistic(*errors, **rest):
    return made("logistic regression", errors, "scikit-learn", **rest)


def test_naive_bayes_within_noise_is_recommended():
    text = said(naive(0.2, 0.15, 0.12, 0.1), logistic(0.3, 0.2, 0.12, 0.098, start=300))
    assert text.startswith("Least error: logistic regression, 9.8%; naive Bayes 10.0%, 0.2 ± 1.4")
    assert "points more (within noise)" in text
    assert "Recommendation: naive Bayes" in text
    assert "100" in text
    assert "Recommendation: naive Bayes" in said(naive(0.2, 0.15, 0.12, 0.1))


def test_clearly_better_probabilities_are_recommended():
    noise = np.tile([0.1, -0.1], 500)
    better = logistic(0.3, 0.2, 0.1, 0.05, losses=0.3 + noise)
    text = said(naive(0.2, 0.18, 0.17, 0.16, losses=0.9 + noise[::-1]), better)
    assert "Least error: logistic regression, 5.0%; naive Bayes 16.0%" in text
    assert "log-loss 0.3000; naive Bayes 0.9000, 0.6000 ± 0.0063 nats more (beyond noise)" in text
    assert "Recommendation: logistic regression: it has the best probabilities" in text


def test_fewer_errors_are_worth_a_word():
    noise = np.tile([0.1, -0.1], 500)
    fewer = logistic(0.3, 0.2, 0.1, 0.05, losses=0.5)
    text = said(naive(0.2, 0.18, 0.17, 0.16, losses=0.3 + noise), fewer)
    assert (
        "Recommendation: naive Bayes: it has the best probabilities; for labels rather than "
        in (text)
    )
    assert "for labels rather than probabilities, logistic regression" in text


def test_nothing_is_better_than_the_majority_class():
    text = said(naive(0.6, 0.5, 0.5, 0.49), logistic(0.5, 0.5, 0.5, 0.51))
    assert "Recommendation: none: no model is clearly better than always predicting" in text
    assert "rows" not in text


@pytest.mark.parametrize(
    ("errors", "spread", "says"),
    [
        ((0.3, 0.25, 0.2, 0.1), 0.0, "More rows: would help: "),
        ((0.3, 0.25, 0.2, 0.1), 0.5, "More rows: may help: "),
        ((0.3, 0.25, 0.1005, 0.1), 0.0, "More rows: would hardly help: "),
        ((0.1, 0.1, 0.09, 0.1), 0.0, "More rows: would hardly help: "),
        ((0.2, np.nan, 0.11, 0.1), 0.0, "More rows: would help: "),
        ((np.nan, np.nan, np.nan, 0.1), 0.0, "More rows: unknown, as there are too few"),
    ],
)
def test_more_rows(errors, spread, says):
    text = said(naive(*errors, spread=spread))
    assert says in text
    if "help: " in text:
        assert f"error {errors[2]:.1%} with 50, {errors[3]:.1%} with 100" in text


def test_the_size_to_compare_with_is_about_half():
    text = said(naive(0.4, 0.3, 0.2, 0.15, 0.1), sizes=(10, 20, 50, 100, 110))
    assert "error 20.0% with 50" in text


def test_one_size_only():
    text = said(naive(0.1), logistic(0.1), sizes=(8,))
    assert "More rows: unknown, as there is one training size" in text
    assert "nan" not in text


def test_an_alternative_without_values_is_left_out():
    nothing = made("full covariance", [np.nan] * 4)
    text = said(naive(0.2, 0.15, 0.12, 0.1), nothing)
    assert "full covariance" not in text
    assert text == said(naive(0.2, 0.15, 0.12, 0.1))
    late = made("full covariance", [np.nan, np.nan, np.nan, 0.02])
    text = said(naive(0.2, 0.15, 0.12, 0.1), late)
    assert text.startswith("Least error: full covariance, 2.0%")
    assert "nan" not in text


@pytest.mark.parametrize("ours", [np.inf, 1.0])
@pytest.mark.parametrize("theirs", [np.inf, 1.0])
def test_infinite_losses_are_no_nonsense(ours, theirs):
    """A probability of 0 for what was there: the labels decide."""
    one, other = np.ones(1000), np.ones(1000)
    one[3], other[5] = ours, theirs
    text = said(naive(0.2, 0.2, 0.12, 0.1, losses=one), logistic(0.2, 0.2, 0.12, 0.1, losses=other))
    assert "nan" not in text
    if ours == np.inf:
        assert "its probabilities are worse than the class frequencies (log-loss inf" in text


@given(st.data())
def test_there_is_always_one_sentence(data):
    size = data.draw(st.integers(1, 4))
    part = st.floats(0, 1)
    ours = st.lists(part, min_size=size, max_size=size)
    theirs = st.lists(part | st.just(math.nan), min_size=size, max_size=size)
    text = said(
        naive(*data.draw(ours), spread=data.draw(st.floats(0, 0.3))),
        made("tied covariance", data.draw(theirs)),
        logistic(*data.draw(theirs), losses=data.draw(st.sampled_from([0.0, 1.0, np.inf, np.nan]))),
        sizes=SIZES[:size],
    )
    assert text.endswith(".")
    assert "\n" not in text
    assert "nan" not in text


# ---- which rows and columns -----------------------------------------------------------------


def told(found):
    """What must not depend on how the rows were held, nor on the clock."""
    plain = found.to_dict()
    for one in plain["candidates"]:
        assert one.pop("seconds") >= 0
    del plain["target"]
    return json.loads(json.dumps(plain, allow_nan=False))


def few(n=40):
    """A small table, and its labels."""
    table, y = mixed(n)
    return table.select(["a", "b", "job", "owner"]), y


def test_frames_dicts_and_files_of_the_same_values(tmp_path):
    table, y = few()
    whole = table.append_column("y", pa.array(y))
    first = compare(table, y, splits=2)
    assert first.target is None
    pyarrow.csv.write_csv(whole, tmp_path / "t.csv")
    pyarrow.csv.write_csv(whole.slice(0, 15), tmp_path / "1.csv")
    pyarrow.csv.write_csv(whole.slice(15), tmp_path / "2.csv")
    pyarrow.parquet.write_table(whole, tmp_path / "t.parquet")
    for X, labels in (
        (table.to_pandas(), y),
        (pl.from_arrow(table), pl.Series(y.tolist())),
        ({name: table[name].to_pylist() for name in table.column_names}, y.tolist()),
        (table.to_pylist(), pd.Series(y, dtype="category")),
        (table.combine_chunks().to_batches()[0], pa.array(y)),
        (whole, "y"),
        (whole.to_pandas(), "y"),
        (tmp_path / "t.csv", "y"),
        (str(tmp_path / "t.parquet"), "y"),
        ([tmp_path / "1.csv", tmp_path / "2.csv"], "y"),
    ):
        found = compare(X, labels, splits=2)
        assert found.target == ("y" if isinstance(labels, str) else None)
        assert told(found) == told(first)


def test_arrays_are_tables_of_numbers():
    found = compare(NUMBERS.tolist(), IRIS.target, splits=2)
    assert told(found) == told(compare(NUMBERS, IRIS.target, splits=2))
    assert found.classes == {0: 50, 1: 50, 2: 50}


TEXTS, KINDS = MAILS * 3, ["spam", "ham"] * 12


@pytest.mark.parametrize(
    "hold",
    [
        tuple, np.array, lambda texts: np.array(texts, object), pd.Series, pl.Series, pa.array,
        lambda texts: pa.chunked_array([texts[:7], texts[7:]]),
        lambda texts: pd.Series(texts, dtype="category"),
        lambda texts: pd.Series(texts, index=range(100, 124)),
        lambda texts: [text.encode() for text in texts],
    ],
    ids=["tuple", "U", "object", "pandas", "polars", "arrow", "chunked", "category", "index",
         "bytes"],
)  # fmt: skip
def test_documents_in_whatever_they_are_held(hold):
    first = compare(TEXTS, KINDS, splits=2)
    names = ["naive Bayes", "TextNB", "naive Bayes, binary"]
    assert [one.name for one in first.candidates[1:4]] == names
    assert told(compare(hold(TEXTS), KINDS, splits=2)) == told(first)


@pytest.mark.parametrize("place", [0, 5])
def test_a_missing_document_is_missing(place):
    texts = list(TEXTS)
    texts[place] = None
    found = compare(texts, KINDS, splits=2)
    assert found.rows == 24


def test_documents_in_files_and_folders(tmp_path):
    """As the command line takes them: short as they are, they are texts."""
    first = told(compare(TEXTS, KINDS, splits=2))
    lines = {kind: [t for t, k in zip(TEXTS, KINDS, strict=True) if k == kind] for kind in KINDS}
    for kind, texts in lines.items():
        (tmp_path / f"{kind}.txt").write_text("\n".join(texts) + "\n")
        (tmp_path / "all" / kind).mkdir(parents=True)
        for k, text in enumerate(texts):
            (tmp_path / "all" / kind / f"{k:02}.txt").write_text(text)
    for source in ([tmp_path / "ham.txt", tmp_path / "spam.txt"], tmp_path / "all"):
        found = compare(source, "label", splits=2)
        assert found.target == "label"
        assert found.classes == {"ham": 12, "spam": 12}
        names = [one["name"] for one in first["candidates"]]
        assert [one.name for one in found.candidates] == names


def test_a_column_of_text_beside_others():
    table, y = mixed(40)
    found = compare(table, y, splits=2)
    names = {one.name for one in found.candidates}
    assert {"naive Bayes, binary", "one variance", "joint table of categories"} <= names
    skipped = compare(table, y, splits=2, columns={"note": "skip"})
    assert skipped.left_out == {"note": "as specified"}
    assert (
        told(skipped)["candidates"]
        == (told(compare(table.drop_columns(["note"]), y, splits=2))["candidates"])
    )


@pytest.mark.parametrize("family", [Joint(), MultivariateGaussian()], ids=repr)
def test_a_block_of_the_user_need_not_be_naive(family):
    generator = np.random.default_rng(0)
    y = np.arange(40) % 2
    table = {"u": generator.integers(0, 3, 40) + y, "v": generator.integers(0, 3, 40)}
    if isinstance(family, MultivariateGaussian):
        table = {name: column + 0.5 * generator.random(40) for name, column in table.items()}
    found = compare(table, y, columns={("u", "v"): family}, splits=2)
    assert found.advice.endswith(".")


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a"], {"a": 20, "b": 20}),
        ([2, 1], {1: 20, 2: 20}),
        ([True, False], {False: 20, True: 20}),
        ([2.0, -1.0], {-1.0: 20, 2.0: 20}),
        (["1", "01"], {"01": 20, "1": 20}),
    ],
)
def test_labels_keep_their_type(labels, classes):
    table, _ = few()
    found = compare(table, labels * 20, splits=2)
    assert found.classes == classes
    kinds_of = [type(one) for one in found.classes]
    assert kinds_of == [type(one) for one in classes]
    told_classes = told(found)["classes"]
    assert told_classes == [{"class": c, "rows": n} for c, n in classes.items()]


@pytest.mark.parametrize(
    "hold", [list, pd.Series, pl.Series, lambda y: np.array(y, object), pa.array]
)
@pytest.mark.parametrize("labels", [["a", None, "b", "a"], [1, None, 2, 1]])
def test_rows_without_a_label_are_left_out(hold, labels):
    table, _ = few()
    found = compare(table, hold(labels * 10), splits=2)
    assert (found.rows, found.sampled, found.unlabelled) == (30, 30, 10)
    assert list(found.classes.values()) == [20, 10]
    kept = [k for k in range(40) if k % 4 != 1]
    rest = compare(table.take(kept), [labels[k % 4] for k in kept], splits=2)
    assert told(found)["candidates"] == told(rest)["candidates"]
    assert "10 without a label" not in str(rest)


def test_a_class_of_one_row_is_always_learned_and_never_predicted():
    table, _ = few()
    y = np.array(["a", "b"] * 19 + ["lone", "sole"])
    found = compare(table, y, splits=3)
    assert found.classes["lone"] == 1
    for one in found.candidates:
        for known in (one.curve.losses, one.curve.wrong):
            assert np.isnan(known[-2:]).all()
            if one.name != "shrunk full covariance":  # of one row there is none
                assert np.isfinite(known[:-2]).all()
    assert "as it has one row: class lone, and 1 more" in str(found)


def test_the_fewest_rows():
    found = compare([[0.5], [1.5], [2.5]], ["a", "a", "b"])
    assert (found.splits, found.sizes, found.rows) == (2, (2,), 3)
    assert found.advice.endswith(".")
    assert told(found)["classes"] == [{"class": "a", "rows": 2}, {"class": "b", "rows": 1}]
    found = compare([[0.5], [1.5], [2.5], [0.2]], ["a", "a", "b", "b"], splits=50)
    assert found.splits == 4
    assert found.sizes == (3,)


def test_more_splits_than_rows_leave_each_row_out():
    found = compare(NUMBERS[::10], IRIS.target[::10], splits=100)
    assert found.splits == 15
    assert found.sizes[-1] == 14
    logistic_one = curve_of(found, "logistic regression")
    assert set(np.unique(logistic_one.curve.error)) <= {0.0, 1.0}


def test_many_classes_of_few_rows():
    y = np.repeat(np.arange(30), 4)
    X = np.random.default_rng(0).normal(size=(120, 2)) + 3 * np.column_stack([y % 6, y // 6])
    found = compare(X, y, splits=2)
    assert found.sizes == (60,)
    found = compare(X, y, splits=4, estimators=["sklearn.tree.DecisionTreeClassifier"])
    assert found.sizes == (90,)
    assert found.candidates[0].error[-1] == pytest.approx(29 / 30)
    assert found.candidates[1].error[-1] < 0.6
    assert found.candidates[-1].error[-1] < 0.8
    assert "unknown, as there is one training size" in found.advice


def test_constant_columns_are_left_out():
    table, y = few()
    wider = table.append_column("planet", pa.array(["earth"] * 40))
    wider = wider.append_column("void", pa.nulls(40, pa.float64()))
    found = compare(wider, y, splits=2)
    assert found.left_out == {"planet": "constant", "void": "no values"}
    assert "left out: planet (constant)" in str(found)
    assert products(found) == products(compare(table, y, splits=2))


def products(found):
    """What was told of all but `AutoBayes`, which deals rows by all that is in them."""
    return [one for one in told(found)["candidates"] if one["name"] != "AutoBayes"]


def test_values_that_are_extreme():
    generator = np.random.default_rng(0)
    y = np.arange(40) % 2
    holes = np.where(generator.random((40, 2)) < 0.3, np.nan, generator.normal(size=(40, 2)))
    endless = np.where(generator.random((40, 2)) < 0.2, np.inf, holes)
    for X in (holes, endless, holes * 1e-200, np.nan_to_num(holes) + 1e9):
        found = compare(X, y, splits=2)
        assert told(found)
        assert np.isfinite(found.candidates[1].error).all()
        assert np.isfinite(curve_of(found, "logistic regression").error).all()


def test_infinite_labels_are_refused():
    """As models refuse them."""
    with pytest.raises(ValueError, match="holds inf"):
        compare(NUMBERS[:20], [0.0, np.inf] * 10)


@pytest.mark.parametrize(
    ("X", "y", "options", "says"),
    [
        (NUMBERS[:20], [0, 1] * 10, {"splits": 1}, "a whole number of at least 2, not 1"),
        (NUMBERS[:20], [0, 1] * 10, {"splits": -3}, "a whole number of at least 2, not -3"),
        (NUMBERS[:20], [0, 0.5] * 10, {}, "the target holds 0.5"),
        (NUMBERS[:20], [0, 1] * 9, {}, "X has 20 rows, y has 18"),
        (NUMBERS[:20], [0] * 20, {}, "one class only (0)"),
        (NUMBERS[:20], [None] * 20, {}, "no label"),
        (NUMBERS[:4], list("abcd"), {}, "one row of each class"),
        (NUMBERS[:0], [], {}, "no label"),
        (np.ones((20, 2)), [0, 1] * 10, {}, "no column is left to compare (x0: constant"),
        (csr_matrix(np.eye(20)), [0, 1] * 10, {}, "sparse matrix"),
        (np.arange(20.0), [0, 1] * 10, {}, "Reshape your data"),
        ({"a": [1.5, 2, 3, 4] * 5}, [0, 1] * 10, {"columns": {"a": "skip"}}, "a: as specified"),
        ({"a": [1.5, 2, 3, 4] * 5}, [0, 1] * 10, {"columns": {"b": "skip"}}, "'b'"),
        ({"a": [1.5, 2, 3, 4] * 5}, [0, 1] * 10, {"columns": {"a": "magic"}}, "not a family"),
        ({"a": [1.5, 2, 3, 4] * 5}, "b", {}, "there is no column 'b'"),
        ({"a": [1, 2, 3, 4] * 5, "y": [0, 1] * 10}, "Y", {}, "'Y'; did you mean 'y'?"),
        ("some.csv", [0, 1], {}, "name the column of a file that has the labels"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(X, y, options, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        compare(X, y, **options)


def test_labels_that_are_none_are_explained():
    with pytest.raises(ValueError, match="y"):
        compare(NUMBERS, None)


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError):
        compare(tmp_path / "none.csv", "y")
    (tmp_path / "t.csv").write_text("a,y\n1,x\n2,x\n3,z\n")
    with pytest.raises(ValueError, match="there is no column 'x'"):
        compare(tmp_path / "t.csv", "x")
    (tmp_path / "e.csv").write_text("a,y\n")
    with pytest.raises(ValueError, match="there are no rows"):
        compare(tmp_path / "e.csv", "y")


def test_spellings_of_missing_values():
    table = {"a": ["1.5", "none", "2.5", "3.25"] * 5, "job": ["cook", "none", "king", "cook"] * 5}
    marked = {"a": [1.5, None, 2.5, 3.25] * 5, "job": ["cook", None, "king", "cook"] * 5}
    y = [0, 1, 1, 0] * 5
    found = compare(table, y, missing=["none"], splits=2)
    assert told(found) == told(compare(marked, y, splits=2))
    assert told(found) != told(compare(table, y, splits=2))


def test_a_sample_of_many_rows(monkeypatch, tmp_path):
    monkeypatch.setattr(looked, "ROWS", 1000)  # of 100,000, which take long to compare
    generator = np.random.default_rng(0)
    y = np.arange(3000) % 2
    table = pa.table({"a": generator.normal(size=3000) + y, "b": generator.normal(size=3000)})
    whole = table.append_column("y", pa.array(y))
    pyarrow.parquet.write_table(whole, tmp_path / "t.parquet", row_group_size=700)
    for X in (whole, tmp_path / "t.parquet"):
        found = compare(X, "y", splits=2)
        assert (found.rows, found.sampled) == (3000, 1000)
        assert sum(found.classes.values()) == 1000
        assert found.sizes[-1] == 500
        assert told(compare(X, "y", splits=2)) == told(found)
        other = told(compare(X, "y", splits=2, seed=1))
        assert other["candidates"] != told(found)["candidates"]


def test_the_seed_and_the_splits():
    first = compare(NUMBERS, IRIS.target, splits=2)
    assert told(compare(NUMBERS, IRIS.target, splits=2)) == told(first)
    assert told(compare(NUMBERS, IRIS.target, splits=2, seed=1)) != told(first)
    assert first.splits == 2
    for one in first.candidates:
        assert one.curve.error.shape == one.curve.log_loss.shape == (2, len(first.sizes))
        np.testing.assert_allclose(one.error, one.curve.error.mean(axis=0))
        last = np.average(one.curve.error[:, -1])  # folds are of one size here
        assert last == pytest.approx(one.curve.wrong.mean())
        assert one.log_loss[-1] == pytest.approx(one.curve.losses.mean())


def test_names_and_order_of_classes_and_units_do_not_matter():
    table, y = few()
    first = told(compare(table, y, splits=2))["candidates"]
    named = told(compare(table, np.char.add("class ", y), splits=2))["candidates"]
    assert named == first
    doubled = table.set_column(0, "a", pa.array(8.0 * table["a"].to_numpy()))
    units = products(compare(doubled, y, splits=2))
    first = [one for one in first if one["name"] != "AutoBayes"]
    for one, other in zip(first, units, strict=True):
        if "one variance" not in one["name"] or "column" in one["name"]:  # those have a unit
            assert one["error"] == other["error"], one["name"]


def test_what_it_says():
    found = compare(NUMBERS, IRIS.target_names[IRIS.target], splits=3)
    text = str(found)
    assert repr(found) == text
    words = " ".join(text.split())
    assert all(f"{key} {line}" in words for key, line in found.verdict.items())
    lines = text[text.index("training rows") :].splitlines()
    assert re.fullmatch(r"training rows +10 +20 +50 +100 +± +log-loss +seconds", lines[0])
    for one, line in zip(found.candidates, lines[2:], strict=False):
        assert line.startswith(one.name)
        cells = line[len(one.name) :].split()
        assert len(cells) == 7
        for cell, error in zip(cells[:4], one.error, strict=True):
            assert cell == ("·" if math.isnan(error) else f"{100 * error:.1f}")
        assert float(cells[4]) == pytest.approx(100 * one.curve.error[:, -1].std(), abs=0.051)
        assert float(cells[5]) == pytest.approx(one.log_loss[-1], abs=5e-5)
    assert len({len(line) for line in lines[: 2 + len(found.candidates)]}) == 1
    assert "test rows of 3 splits" in text


def test_json_has_all_curves():
    found = compare(NUMBERS, IRIS.target, splits=3, estimators=[LinearSVC()])
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert set(plain) == {
        "target", "classes", "rows", "sampled", "unlabelled", "left_out", "sizes", "splits",
        "candidates", "advice", "apart", "method", "verdict",
    }  # fmt: skip
    for one, got in zip(plain["candidates"], found.candidates, strict=True):
        for name, values in (
            ("error", got.error), ("log_loss", got.log_loss),
            ("errors", got.curve.error.T), ("log_losses", got.curve.log_loss.T),
        ):  # fmt: skip
            read = np.array(one[name], float)  # null is NaN
            np.testing.assert_array_equal(read, values)
    assert plain["candidates"][-1]["log_loss"] == [None] * len(found.sizes)


def test_progress_is_reported():
    table, y = few()
    said_of = []

    class Told:
        def __init__(self, what, steps):
            self.what, self.steps, self.done = what, steps, 0
            said_of.append(self)

        def __enter__(self):
            return self.step

        def __exit__(self, *_):
            pass

        def step(self):
            self.done += 1

    found = examine(
        of_table(table, y, 0, MISSING),
        ColumnOptions({}),
        alternatives.alternatives([LinearSVC()]),
        2,
        0,
        progress=Told,
    )
    assert [one.what for one in said_of] == [
        "naive Bayes and the rest of the ladder", "logistic regression", "LinearSVC()",
    ]  # fmt: skip
    assert all(one.done == one.steps > 0 for one in said_of)
    assert said_of[1].steps == found.splits * len(found.sizes)


VALUES = st.sampled_from([None, 0, 1, 2, 7, -1.5, 2.25, 1e9, "", "a", "b", "c d", True])


@settings(max_examples=12)
@given(st.lists(st.tuples(VALUES, VALUES, VALUES, st.sampled_from("xyz")), max_size=12))
def test_small_tables_of_anything(table):
    """An answer, or a sentence that says why there is none."""
    columns = {name: [row[k] for row in table] for k, name in enumerate("abc")}
    found, why = None, ""
    try:
        found = compare(columns, [row[3] for row in table], splits=2)
    except ValueError as error:
        why = str(error)
    if found is None:
        assert "no column is left" in why or "the target has" in why
        return
    assert all(line in " ".join(str(found).split()) for line in found.verdict.values())
    assert told(found)
    for one in found.candidates:
        known = one.curve.error[np.isfinite(one.curve.error)]
        assert ((known >= 0) & (known <= 1)).all()
        assert not (one.curve.log_loss < 0).any()


# ---- a real table ---------------------------------------------------------------------------


def test_votes(data_folder):
    """Votes go together: naive Bayes counts them all, and errs in one row in ten."""
    found = compare(data_folder / "vote" / "vote.arff", "Class", splits=3)
    curves = {one.name: one for one in found.candidates}
    assert (found.rows, found.splits, found.sizes[-1]) == (435, 3, 290)
    assert 0.08 < curves["naive Bayes"].error[-1] < 0.12
    assert curves["logistic regression"].error[-1] < 0.06
    assert curves["naive Bayes"].log_loss[-1] > 2 * curves["logistic regression"].log_loss[-1]
    assert not found.verdict["recommendation"].startswith("naive Bayes")


# ---- what a reviewer found ------------------------------------------------------------------


def test_the_error_is_that_of_what_is_predicted():
    """Which need not be the most probable class."""
    model = LogisticRegression(max_iter=1000)
    careful = FixedThresholdClassifier(model, threshold=0.99)
    y = (IRIS.target == 1).astype(int)
    found = {one.name: one for one in compare(NUMBERS, y, estimators=[careful]).candidates}
    strict = next(one for name, one in found.items() if name.startswith("FixedThreshold"))
    plain = found["logistic regression"]
    np.testing.assert_allclose(strict.log_loss, plain.log_loss)
    assert strict.error[-1] > plain.error[-1] + 0.03


class Boastful(DecisionTreeClassifier):
    def predict_proba(self, X):
        return 2.0 * super().predict_proba(X)


def test_probabilities_that_are_none_are_reported():
    found = compare(NUMBERS, IRIS.target, splits=2, estimators=[Boastful()])
    assert "no probabilities" in found.candidates[-1].curve.reason
    assert np.isnan(found.candidates[-1].curve.losses).all()


def test_a_rare_class_that_is_never_predicted_is_reported():
    generator = np.random.default_rng(0)
    y = (generator.random(3000) < 0.03).astype(int)
    found = compare({"x": generator.normal(1.5 * y, 1.0)}, y, splits=3)
    assert found.verdict["recommendation"]


@pytest.mark.parametrize(
    "family", [Text(weighting="tfidf"), Text(length_norm="l2"), Text("complement", norm=True)]
)
def test_events_that_do_not_take_the_options_of_text_are_left_out(family):
    found = compare({"t": TEXTS}, KINDS, columns={"t": family}, splits=2)
    met = [one.name for one in found.candidates]
    assert "naive Bayes" in met
    assert "naive Bayes, Bernoulli" not in met or family.norm


def test_sums_that_take_too_much_memory_are_not_tried(monkeypatch):
    monkeypatch.setattr(learning_curves, "MEMORY", 5_000)  # of 1.5 GB, which no small table needs
    found = compare(NUMBERS, IRIS.target, splits=3)
    reasons = {one.name: one.curve.reason for one in found.candidates}
    assert "too much memory" in reasons["shrunk full covariance"]
    assert reasons["naive Bayes"] == ""


def test_a_classifier_that_no_process_takes_does_not_stop_the_others(monkeypatch):
    # so that work this short goes to other processes
    monkeypatch.setattr(alternatives, "PATIENCE", 0.0)
    monkeypatch.setattr(alternatives.Refits, "_scores", _ends)
    found = compare(NUMBERS, IRIS.target, splits=2)
    assert "the process has died" in found.candidates[-1].curve.reason
    assert found.candidates[1].curve.reason == ""


def _ends(self, model):
    yield alternatives._score(model, self._task(0, 0))
    raise RuntimeError("the process has died")


def test_warnings_are_notes_and_fill_no_screen():
    class Warns(DecisionTreeClassifier):
        def fit(self, X, y):
            warnings.warn("the day is long", UserWarning, stacklevel=2)
            return super().fit(X, y)

    found = compare(NUMBERS, IRIS.target, splits=2, estimators=[Warns()])
    assert "warned: UserWarning: the day is long" in str(found)
    assert found.candidates[-1].curve.reason == ""
