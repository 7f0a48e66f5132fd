"""Concurrent training and prediction, copying, tuning, pickling and masking of estimators."""

import copy
import os
import pickle
import re
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from kit import each
from product import run
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from naively import (
    NBSVM,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Gaussian,
    GaussianBayes,
    GaussianNB,
    JointBayes,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    Poisson,
    PoissonNB,
    Text,
    TextNB,
    compare,
    load,
)
from naively.explain.text import TextExplanations

# ---- one thread learns, others predict -----------------------------------------------------------

STEPS = 5
SECONDS = float(os.environ.get("NAIVELY_STRESS", "0.7"))


def parts(kind):
    """(rows to ask about, [(rows, labels)]): each part has new classes, and new levels or words."""
    rng = np.random.default_rng(5)
    labels = [rng.permutation(np.arange(24) % (2 + k)) for k in range(STEPS)]
    if kind == "texts":
        words = np.array([f"w{k}" for k in range(40 * STEPS)])
        rows = [
            [" ".join(rng.choice(words[: 40 * (k + 1)], 9)) for _ in y]
            for k, y in enumerate(labels)
        ]
        return [" ".join(words[k::9]) for k in range(9)], list(zip(rows, labels, strict=True))
    if kind == "table":

        def table(k, n):
            return {
                "number": rng.normal(size=n).tolist(),
                "level": [f"v{j}" for j in rng.integers(0, 4 * (k + 1), n)],
                "count": rng.poisson(2.0, n).tolist(),
            }

        return table(STEPS, 20), [(table(k, len(y)), y) for k, y in enumerate(labels)]
    if kind == "numbers":
        draw = [
            rng.normal(size=(24, 30)) * 10.0 ** rng.integers(-25 * k, 25 * k + 1, (24, 30))
            for k in range(STEPS)
        ]
    elif kind == "plane":
        draw = [rng.normal(size=(24, 4)) * 4.0**k for k in range(STEPS)]
    else:
        draw = [rng.integers(0, 3 * (k + 1), (24, 30)).astype(float) for k in range(STEPS)]
    return draw[-1][:20], list(zip(draw, labels, strict=True))


TAUGHT = {
    "gaussian": (GaussianNB(n_jobs=1), "numbers"),
    "covariances": (GaussianBayes(shrinkage=0.1, n_jobs=1), "plane"),
    "categorical": (CategoricalNB(n_jobs=1), "levels"),
    "multinomial": (MultinomialNB(n_jobs=1), "levels"),
    "complement": (ComplementNB(n_jobs=1), "levels"),
    "bernoulli": (BernoulliNB(n_jobs=1), "levels"),
    "poisson": (PoissonNB(n_jobs=1), "levels"),
    "texts": (TextNB(n_jobs=1), "texts"),
    "hashed texts": (TextNB(n_features=64, n_jobs=1), "texts"),
    "binary texts": (TextNB("bernoulli", min_df=2, n_jobs=1), "texts"),
    "table": (
        NaiveBayes(
            {"number": "kernel_density", "level": "categorical", "count": "poisson"}, n_jobs=1
        ),
        "table",
    ),
    "joint table": (JointBayes(n_jobs=1), "table"),
}  # fmt: skip


def told(answer):
    """All of an answer, to compare: labels, probabilities or explanations."""
    if isinstance(answer, list | TextExplanations):
        return tuple(map(told, answer))
    if isinstance(answer, np.ndarray):
        return answer.shape, tuple(answer.ravel().tolist())
    return tuple(told(getattr(answer, name)) for name in ("classes", "prior", "contributions"))


QUESTIONS = {
    "predict": lambda model, rows: model.predict(rows),
    "predict_proba": lambda model, rows: model.predict_proba(rows),
    "explain": lambda model, rows: model.explain(rows),
    "pickle": lambda model, rows: pickle.loads(pickle.dumps(model)).predict_proba(rows),
    "class_count_": lambda model, _: model.class_count_,
}


@each("name", [*TAUGHT], {*TAUGHT} - {"gaussian", "categorical", "texts", "table"})
def test_every_answer_is_that_of_one_state_while_another_thread_learns(name):
    model, kind = copy.deepcopy(TAUGHT[name])
    rows, given = parts(kind)
    states = {question: set() for question in QUESTIONS}
    for part in given:
        model.partial_fit(*part)
        for question, ask in QUESTIONS.items():
            states[question].add(told(ask(model, rows)))
    other = copy.deepcopy(model)
    stop, wrong, asked = threading.Event(), [], []

    def keep_asking(question):
        while not stop.is_set():
            try:
                answer = told(QUESTIONS[question](model, rows))
            except Exception as error:
                wrong.append(repr(error))
            else:
                asked.append(question)
                if answer not in states[question]:
                    wrong.append(f"{question}: of no state")

    threads = [threading.Thread(target=keep_asking, args=(question,)) for question in QUESTIONS]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for part in given[:0:-1]:
                model.forget(*part)
            for part in given[1:]:
                model.partial_fit(*part)
            _ = model + other
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert wrong == []
    assert set(asked) == set(QUESTIONS)
    assert model.model_ == other.model_


def test_what_a_family_has_computed_is_not_pickled():
    """Another thread may just be adding it."""
    used, unused = Text(stop_words=["a"]), Text(stop_words=["a"])
    assert [term for term, _ in used.analysis.spans("an a to b")] == ["an", "to"]
    assert pickle.dumps(used) == pickle.dumps(unused)
    assert pickle.loads(pickle.dumps(used)) == used


@pytest.mark.parametrize("name", TAUGHT)
def test_what_is_learned_later_changes_no_answer_in_progress(name):
    model, kind = copy.deepcopy(TAUGHT[name])
    rows, given = parts(kind)
    model.partial_fit(*given[0])
    encoded = model._rows(rows)
    held, same = model.model_.posterior(), copy.deepcopy(model).model_.posterior()
    for part in given:  # the first one has no new classes: its sums could be added in place
        model.partial_fit(*part)
    model.forget(*given[1]).decay(0.5)
    assert told(held.explain(encoded)) == told(same.explain(encoded))
    assert told(held.proba(encoded)) == told(same.proba(encoded))
    assert told(held.predict(encoded)) == told(same.predict(encoded))


@pytest.mark.parametrize("name", TAUGHT)
def test_a_shallow_copy_learns_apart(name):
    model, kind = copy.deepcopy(TAUGHT[name])
    _, given = parts(kind)
    first = model.partial_fit(*given[0]).model_
    before = first.copy()
    twin = copy.copy(first)
    part = copy.deepcopy(model).partial_fit(*given[0]).model_
    twin.absorb(part)
    assert first == before
    twin = copy.copy(first)
    first.absorb(part)
    assert twin == before
    assert first != before


@pytest.mark.parametrize("name", ["gaussian", "multinomial", "texts"])
def test_a_row_learned_after_a_prediction_copies_nothing(name):
    model, kind = copy.deepcopy(TAUGHT[name])
    rows, given = parts(kind)
    model.partial_fit(*given[0])
    sums = model.model_.statistics
    for x, y in zip(*given[0], strict=True):
        model.predict(rows)
        model.partial_fit([x], [y])
    assert model.model_.statistics is sums


# ---- searches over the parameters of families ----------------------------------------------------


MAILS = {
    "body": ["win a prize", "meeting at noon", "a free prize", "lunch at noon", "prize!", "noon"],
    "size": [3.5, 1.25, 7.0, 2.5, 4.5, 2.0],
}
KINDS = ["spam", "ham"] * 3


def test_a_search_reaches_the_parameters_of_a_columns_family():
    columns = {"body": Text(alpha=0.5), "size": "gaussian"}
    frame = pd.DataFrame(MAILS)
    grid = {"columns__body__alpha": [0.1, 2.0], "columns__size": ["gaussian", "gamma"]}
    search = GridSearchCV(NaiveBayes(columns), grid, cv=2).fit(frame, KINDS)
    best = search.best_params_
    for params in search.cv_results_["params"]:
        model = NaiveBayes(columns).set_params(**params)
        assert model.columns == {
            "body": Text(alpha=params["columns__body__alpha"]), "size": params["columns__size"],
        }  # fmt: skip
    chosen = search.best_estimator_.model_.schema.family_of
    assert chosen["body"].alpha == best["columns__body__alpha"]
    assert chosen["size"].name == best["columns__size"]
    assert columns == {"body": Text(alpha=0.5), "size": "gaussian"}  # they are the user's


def test_nested_parameters_are_those_of_families():
    model = NaiveBayes({"a": Text("binary", alpha=3.0), "b": "skip"}, family=Gaussian(ddof=1))
    deep, shallow = model.get_params(), model.get_params(deep=False)
    assert {name: deep[name] for name in shallow} == shallow
    assert deep["columns__a__alpha"] == 3.0
    assert deep["columns__a"] is model.columns["a"]
    assert deep["columns__b"] == "skip"
    assert deep["family__ddof"] == 1
    assert all("__" not in name for name in shallow)
    for name, value in deep.items():  # each can be set to what it is
        model.set_params(**{name: value})
    assert model.get_params() == deep
    assert clone(model).get_params() == deep
    model.set_params(family__tie="classes", columns__a__event="complement", columns__a__norm=True)
    assert model.family == Gaussian("classes", ddof=1)
    assert model.columns["a"] == Text("complement", alpha=3.0, norm=True)
    model.set_params(columns={"c": Poisson()}, columns__c__alpha=0.25, family=None)
    assert model.columns == {"c": Poisson(0.25)}
    assert "_repr_html_" in dir(model)
    assert "Poisson" in model._repr_html_()


def test_names_of_columns_that_look_nested():
    columns = {
        "a__b": Poisson(2.0), "a__b__alpha": "skip", ("c", "d"): Multinomial(), "e": Poisson(),
    }  # fmt: skip
    model = NaiveBayes(columns).set_params(**{"columns__c,d__alpha": 0.5})
    assert model.columns["c", "d"] == Multinomial(0.5)
    assert model.set_params(columns__e__alpha=3.0).columns["e"] == Poisson(3.0)
    assert model.set_params(columns__a__b=Poisson(7.0)).columns["a__b"] == Poisson(7.0)
    # which is the name of a column first of all
    assert model.set_params(columns__a__b__alpha="poisson").columns["a__b__alpha"] == "poisson"
    assert model.columns["a__b"] == Poisson(7.0)


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"columns__b__alpha": 1.0}, "`columns` has no 'b', only 'a', 's'"),
        ({"columns__b": "skip"}, "`columns` has no"),
        ({"columns__a__beta": 1.0}, "`columns__a` has no 'beta', only 'alpha'"),
        ({"columns__s__alpha": 1.0}, "`columns__s` is 'gaussian', which has no parameters"),
        ({"family__alpha": 1.0}, "`family` is None"),
        ({"alpha__alpha": 1.0}, "`alpha` is 1.0"),
        ({"stranger__alpha": 1.0}, "Invalid parameter 'stranger'"),
        ({"columns__a__alpha": -1.0}, "alpha must be from 0"),
    ],
    ids=str,
)
def test_nested_parameters_that_are_not_there(params, problem):
    model = NaiveBayes({"a": Poisson(), "s": "gaussian"})
    with pytest.raises(ValueError, match=problem):
        model.set_params(**params)
    assert model.columns == {"a": Poisson(), "s": "gaussian"}


def test_nested_parameters_in_a_pipeline():
    model = make_pipeline(FunctionTransformer(), NaiveBayes({"body": Text()}))
    model.set_params(naivebayes__columns__body__alpha=0.125)
    assert model.get_params()["naivebayes__columns__body__alpha"] == 0.125


# ---- masked arrays -------------------------------------------------------------------------------

NUMERIC = {
    "gaussian": GaussianNB(),
    "multinomial": MultinomialNB(),
    "complement": ComplementNB(),
    "bernoulli": BernoulliNB(),
    "categorical": CategoricalNB(),
    "poisson": PoissonNB(),
    "covariances": GaussianBayes(shrinkage=0.1),
    "table": NaiveBayes(),
    "joint table": JointBayes(),
}


def holed(dtype):
    """(masked array, the same as float64 with NaN, labels)."""
    rng = np.random.default_rng(0)
    X, mask = rng.poisson(2.0, (60, 4)).astype(dtype), rng.random((60, 4)) < 0.2
    return np.ma.array(X, mask=mask), np.where(mask, np.nan, X.astype(float)), np.arange(60) % 3


@pytest.mark.parametrize("dtype", [float, np.float32, np.int64, np.uint8, ">i4", object])
@pytest.mark.parametrize("name", NUMERIC)
def test_a_masked_cell_is_a_missing_value(name, dtype):
    masked, plain, y = holed(dtype)
    model, same = clone(NUMERIC[name]).fit(masked, y), clone(NUMERIC[name]).fit(plain, y)
    assert model.model_ == same.model_
    assert told(model.predict_proba(masked)) == told(same.predict_proba(plain))
    assert told(model.explain(masked)) == told(same.explain(plain))
    model.partial_fit(masked, y).forget(masked, y)
    assert model.model_ == same.model_
    whole = np.ma.array(masked.data)  # with a mask that hides nothing
    filled = clone(NUMERIC[name]).fit(masked.data, y)
    assert clone(NUMERIC[name]).fit(whole, y).model_ == filled.model_


def test_masked_columns_and_documents_are_missing():
    levels = np.ma.array(["a", "b", "a", "c"] * 6, mask=[0, 0, 1, 0] * 6)
    numbers = np.ma.array([1.5, 2.5, 3.5, 1.25] * 6, mask=[1, 0, 0, 0] * 6)
    y = [0, 1, 1, 0] * 6
    model = NaiveBayes().fit({"l": levels, "n": numbers, "o": levels.astype(object)}, y)
    lists = levels.tolist(), numbers.tolist()
    assert lists[0][2] is None
    same = NaiveBayes().fit({"l": lists[0], "n": lists[1], "o": lists[0]}, y)
    assert model.model_ == same.model_
    mixed = np.ma.array([[1, "a"], [2, "b"], [3, "a"], [4, "b"]] * 6, object)
    mixed[2, 1] = np.ma.masked
    listed = mixed.tolist()
    assert listed[2][1] is None
    assert NaiveBayes().fit(mixed, y).model_ == NaiveBayes().fit(listed, y).model_
    texts = np.ma.array(["one two", "two three", "three", "one"], mask=[0, 1, 0, 0])
    for kind in (TextNB("bernoulli"), NBSVM()):
        model = clone(kind).fit(texts, [0, 1, 1, 0])
        same = clone(kind).fit(["one two", None, "three", "one"], [0, 1, 1, 0])
        assert told(model.predict(texts)) == told(same.predict(texts))
        assert model.terms_.tolist() == ["one", "three", "two"]


@pytest.mark.parametrize(
    "model", [GaussianNB(), CategoricalNB(), GaussianBayes("tied"), TextNB(), NBSVM()], ids=str
)
def test_masked_labels_and_weights_are_refused(model):
    X = ["one", "two", "one", "two"] if isinstance(model, TextNB | NBSVM) else np.eye(4)[:, :2]
    y = np.ma.array([0, 1, 0, 1], mask=[0, 0, 1, 0])
    with pytest.raises(ValueError, match="Input y contains NaN: row 2 is masked"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="Input sample_weight contains NaN: row 2 is masked"):
        model.fit(X, y.data, sample_weight=y)
    if hasattr(model, "partial_fit"):
        with pytest.raises(ValueError, match="Input y contains NaN: row 2 is masked"):
            model.partial_fit(X, y.data, classes=y)


def test_a_table_leaves_masked_labels_out_and_refuses_masked_weights():
    X = {"a": [1.5, 2.5, 3.25, 1.0, 7.0]}
    y = np.ma.array([0, 1, 0, 1, 1], mask=[0, 0, 1, 0, 0])
    with pytest.warns(UserWarning, match="1 of 5 rows have no label"):
        model = NaiveBayes().fit(X, y)
    assert model.class_count_.tolist() == [1.0, 3.0]
    with pytest.raises(ValueError, match="Input y contains NaN: row 2 is masked"):
        NaiveBayes().fit(X, y.reshape(5, 1))
    with pytest.raises(ValueError, match="Input sample_weight contains NaN: row 2 is masked"):
        NaiveBayes().fit(X, y.data, sample_weight=y)
    with pytest.raises(ValueError, match="Input y contains NaN: row 2 is masked"):
        NaiveBayes().partial_fit(X, y.data, classes=y)


def test_a_table_can_be_fitted_to_an_array_of_another_width():
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = np.arange(20) % 2
    model = NaiveBayes().fit(np.hstack([X, X]), y).fit(X, y)
    assert model.n_features_in_ == 3
    assert model.model_ == NaiveBayes().fit(X, y).model_
    with pytest.raises(ValueError, match="X has 6 features, but NaiveBayes is expecting 3"):
        model.partial_fit(np.hstack([X, X]), y)


# ---- what is no class ----------------------------------------------------------------------------

CONTINUOUS = (
    "Unknown label type: continuous: {} holds 0.25, but classes are text, whole numbers or truth "
    "values. Cut measurements into ranges first; write names as text, such as v2.1 for 2.1"
)


def naive(capsys, *tokens):
    """(exit code, standard output, standard error) of a command."""
    code = run(tokens)
    return code, *capsys.readouterr()


def written(name, header, rows):
    Path(name).write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")


def test_python_and_the_command_line_refuse_a_continuous_target_in_the_same_words(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    x, y = [1.5, 2.5, 3.5, 4.5] * 10, [0.25, 1.0, 2.0, 1.0] * 10
    for model in (GaussianNB(), NaiveBayes()):
        with pytest.raises(ValueError, match=re.escape(CONTINUOUS.format("y"))):
            model.fit(np.array(x)[:, np.newaxis], y)
    written("price.csv", "x,price", zip(x, y, strict=True))
    written("whole.csv", "x,price", zip(x, [0, 1.0, 2, 1.0] * 10, strict=True))
    column = CONTINUOUS.format("the target column 'price'")
    said = (1, "", f"naively: price.csv: {column}\n")
    assert naive(capsys, "fit", "price.csv", "-t", "price", "-o", "m") == said
    assert not Path("m").exists()
    assert naive(capsys, "fit", "whole.csv", "-t", "price", "-o", "m")[0] == 0
    assert load("m").classes_.tolist() == [0, 1, 2]
    before = Path("m").read_bytes()
    for command in ("update", "forget"):
        assert naive(capsys, command, "m", "price.csv") == said
        assert Path("m").read_bytes() == before
    with pytest.raises(ValueError, match=re.escape(CONTINUOUS.format("the target 'price'"))):
        compare("price.csv", "price")


def test_fractions_that_a_file_has_as_text_are_classes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x = [1.5, 2.5, 3.5, 4.5] * 10
    written("versions.csv", "x,version", zip(x, ["1.5", "2.0-beta", "0.25", "x"] * 10, strict=True))
    assert naive(capsys, "fit", "versions.csv", "-t", "version", "-o", "m")[0] == 0
    assert load("m").classes_.tolist() == ["0.25", "1.5", "2.0-beta", "x"]


def test_fractions_that_come_late_are_found(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    n = 400_000
    written("late.csv", "x,price", ((k % 7, k % 3) for k in range(n)))
    with Path("late.csv").open("a") as file:
        file.write("3,0.25\n")
    column = CONTINUOUS.format("the target column 'price'")
    said = naive(capsys, "fit", "late.csv", "-t", "price", "-o", "m")
    assert said == (1, "", f"naively: late.csv: {column}\n")


# ---- rows drawn from a model ---------------------------------------------------------------------

TABLE = {
    "level": ["a", "b", "c", "a"] * 15,
    "few": [1, 2, 3, 2] * 15,
    "number": np.random.default_rng(0).normal(size=60).tolist(),
}
LABELS = ["x", "y", "y"] * 20


@pytest.mark.parametrize(
    "kind", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=["pandas", "polars", "arrow", "dict"]
)
@pytest.mark.parametrize("model", [NaiveBayes(), JointBayes()], ids=str)
def test_rows_drawn_are_of_the_kind_that_was_learned(model, kind):
    X = kind(TABLE)
    model = clone(model).fit(X, LABELS)
    for one in (
        model,
        pickle.loads(pickle.dumps(model)),
        model + model,
        clone(model).fit(pa.table(TABLE), LABELS).partial_fit(X, LABELS),
    ):
        drawn, labels = one.sample(20, random_state=0)
        assert type(drawn) is type(X)
        assert pa.table(drawn).column_names == list(TABLE)
        assert {*labels} <= {*LABELS}
        assert model.predict(drawn).shape == (20,)
        assert {*drawn["level"]} <= {*"abc"} | {pa.scalar(level) for level in "abc"}


def test_rows_drawn_from_a_model_of_an_array_are_an_array():
    numbers = np.array([TABLE["few"], TABLE["number"]]).T
    model = NaiveBayes({"x0": "categorical"}).fit(numbers, LABELS)
    for one in (model, NaiveBayes({"x0": "poisson"}).fit(numbers, LABELS)):
        drawn, _ = one.sample(200, random_state=0)
        assert (type(drawn), drawn.shape, drawn.dtype) == (np.ndarray, (200, 2), np.float64)
        assert (drawn[:, 0] == drawn[:, 0].round()).all()
        assert one.fit(drawn, one.predict(drawn)).n_features_in_ == 2
    assert {*model.sample(200, 0)[0][:, 0].tolist()} <= {1.0, 2.0, 3.0}
    assert NaiveBayes().fit(csr_matrix(numbers), LABELS).sample(3, 0)[0].dtype == np.float64
    objects = np.array([TABLE["level"], TABLE["number"]], object).T
    drawn, _ = NaiveBayes().fit(objects, LABELS).sample(9, random_state=0)
    assert (drawn.shape, drawn.dtype) == ((9, 2), object)
    assert {*drawn[:, 0]} <= {*"abc"}
    assert all(isinstance(x, float) for x in drawn[:, 1])


def test_a_file_names_no_kind(tmp_path):
    """Equal models are equal files, and who loads one may not have pandas."""
    files = []
    for kind in (pd.DataFrame, pl.DataFrame, pa.table, dict):
        NaiveBayes().fit(kind(TABLE), LABELS).save(tmp_path / "m")
        files.append((tmp_path / "m").read_bytes())
    assert len({*files}) == 1
    model = load(tmp_path / "m")
    assert isinstance(model.sample(3, 0)[0], pa.Table)
    model.partial_fit(pd.DataFrame(TABLE), LABELS)
    assert isinstance(model.sample(3, 0)[0], pd.DataFrame)


# ---- warnings ------------------------------------------------------------------------------------


def test_a_warning_names_the_line_of_the_user():
    table = {"a": [1.0, -2.0, 3.0, 4.0, 5.0], "b": [1.0, 2.0, 3.5, 4.0, 5.0]}
    model = NaiveBayes({"a": "gamma"})
    for ask in (
        lambda: model.fit(table, [0, 1, 0, 1, None]),
        lambda: model.partial_fit(table, [0, 1, 0, 1, None]),
        lambda: model.predict({"a": [-1.0], "c": [1.0]}),
        lambda: model.explain({"a": [-1.0], "c": [1.0]}),
        lambda: model.score_samples({"a": [-1.0], "c": [1.0]}),
    ):
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always")
            ask()
        assert len(met) > 1
        assert {one.filename for one in met} == {__file__}
