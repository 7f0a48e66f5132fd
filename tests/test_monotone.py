"""Monotone constraints: log-odds that never fall, or never rise, with a column."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression

import naively
from naively import AutoBayes
from naively.cli.main import run
from naively.cli.results.demo import make_credit
from naively.pooling.blocks.smoothing import isotonic
from naively.pooling.structure import arrays_of, plan_of

COLUMNS = ["amount", "age", "score", "part"]
GRID = np.array([-1e9, *np.linspace(-4, 4, 60), 1e9])


def table(seed, n):
    """Numbers with ties and missing values, and a class that depends on all, together too."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=COLUMNS[:3])
    X["age"] = X["age"].round(rng.integers(0, 3))
    X["part"] = rng.choice(["x", "y", "z"], n)
    effects = rng.normal(scale=2.0, size=4)
    waves = np.sin(rng.uniform(0, 4) * X["amount"]) + X["amount"] * X["age"]
    logit = X[COLUMNS[:3]] @ effects[:3] + effects[3] * waves + (X["part"] == "x")
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no")
    y[:4] = ["no", "yes", "no", "yes"]
    for name in COLUMNS:
        X.loc[rng.random(n) < rng.choice([0.0, 0.02, 0.2]), name] = None
    return X, y


def fitted(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return AutoBayes(**options).fit(X, y)


def assert_monotone(model, monotone, X):
    """The scores of both classes are in order along each column, whatever the other cells."""
    for name, sign in monotone.items():
        for k in range(len(X)):
            rows = X.iloc[np.full(len(GRID), k)].reset_index(drop=True)
            rows[name] = GRID
            first, second = model.predict_joint_log_proba(rows).T
            assert (np.diff(first) * sign <= 0).all()
            assert (np.diff(second) * sign >= 0).all()
            assert (np.diff(model.predict_proba(rows)[:, 1]) * sign >= -1e-14).all()


SIGNS = st.dictionaries(st.sampled_from(COLUMNS[:3]), st.sampled_from([1, -1]), min_size=1)


# ---- laws ----------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([20, 60, 150, 400]), SIGNS)
def test_the_log_odds_are_monotone_whatever_the_other_cells(seed, n, monotone):
    X, y = table(seed, n)
    model = fitted(X, y, monotone=monotone)
    others = pd.concat([X.head(6), table(seed + 1, 6)[0], pd.DataFrame(index=[0], columns=COLUMNS)])
    assert_monotone(model, monotone, others)


@pytest.mark.parametrize("seed", range(3))
def test_they_stay_so_however_the_rows_came(seed, tmp_path):
    X, y = table(seed, 240)
    monotone = {"amount": 1 - 2 * (seed % 2), "age": 1}
    whole = fitted(X, y, monotone=monotone)
    halves = [fitted(X[k::2], y[k::2], monotone=monotone) for k in (0, 1)]
    whole.save(tmp_path / "m")
    few_more = copy.deepcopy(whole).partial_fit(X[:20], y[:20])  # keeps the structure
    models = {
        "sum": halves[0] + halves[1],
        "partial_fit": clone(whole).partial_fit(X[:120], y[:120]).partial_fit(X[120:], y[120:]),
        "forget": copy.deepcopy(few_more).forget(X[:20], y[:20]),
        "file": naively.load(tmp_path / "m"),
    }
    for model in models.values():
        assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    like = fitted(X[:200], y[:200], monotone=monotone)
    others = AutoBayes().fit(X, y, like=like)
    for model in (few_more, others, others + AutoBayes().fit(X[:50], y[:50], like=like)):
        assert_monotone(model, monotone, X.head(5))


@pytest.mark.parametrize("monotone", [None, {}, {"amount": 0}])
def test_without_a_constraint_no_bit_changes(monotone):
    X, y = table(3, 300)
    plain, model = fitted(X, y), fitted(X, y, monotone=monotone)
    assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert (
        arrays_of(model.model_.posterior().parameters.plan).keys()
        == arrays_of(plain.model_.posterior().parameters.plan).keys()
    )


def test_the_sign_is_that_of_the_second_class():
    X, y = table(5, 300)
    yes = fitted(X, y, monotone={"amount": 1, "score": -1})
    turned = fitted(X, np.where(y == "yes", "aye", "no"), monotone={"amount": -1, "score": 1})
    assert_array_equal(turned.predict_proba(X)[:, 0], yes.predict_proba(X)[:, 1])


def test_explanations_add_up_and_the_column_is_in_no_interaction():
    X, y = table(8, 900)
    model, plain = fitted(X, y, monotone={"amount": 1}), fitted(X, y)
    with_amount = [shape.names for shape in plain.evidence_ if "amount" in shape.names]
    assert any(len(names) > 1 for names in with_amount)
    (shape,) = [shape for shape in model.evidence_ if "amount" in shape.names]
    assert shape.names == ("amount",)
    assert shape.kind.endswith("bins, monotone")
    assert shape.weight > 0
    prior, parts, _ = model.explain(X[:9]).log_odds("yes", against="no")
    joint = model.predict_joint_log_proba(X[:9])
    assert_allclose(prior + parts.sum(axis=1), joint[:, 1] - joint[:, 0], atol=1e-9)


def test_an_effect_in_the_other_direction_is_no_evidence():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"amount": rng.normal(size=500), "age": rng.normal(size=500)})
    y = X["amount"] + 0.3 * rng.normal(size=500) > 0
    model = fitted(X, y, monotone={"amount": -1})
    rows = X.head(1).loc[[0] * len(GRID)].assign(amount=GRID)
    assert np.ptp(model.predict_proba(rows)[:, 1]) < 0.05
    right = fitted(X, y, monotone={"amount": 1})
    assert right.model_.posterior().parameters.out_of_fold.accuracy > 0.85


def test_cross_validation_is_that_of_constrained_models():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"amount": rng.normal(size=300), "age": rng.normal(size=300)})
    y = X["amount"] + 0.3 * rng.normal(size=300) > 0
    right, wrong = (
        AutoBayes(monotone={"amount": sign}).out_of_fold(X, y).log_loss for sign in (1, -1)
    )
    assert right < 0.5 * wrong
    assert 0.65 < wrong < 0.75  # ln 2 is the baseline


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 70), st.sampled_from([0, 1]))
def test_pooled_shares_are_those_of_isotonic_regression(seed, bins, rising):
    rng = np.random.default_rng(seed)
    share, rows = rng.random((2, bins)), rng.integers(0, 30, (2, bins)).astype(float)
    shares = np.stack([share, 1 - share], axis=-1)
    for own, weights, found in zip(shares, rows, isotonic(shares, rows, rising), strict=True):
        for c in (0, 1):
            expected = isotonic_regression(
                own[:, c], sample_weight=weights + 1, increasing=c == rising
            )
            assert_allclose(found[:, c], expected, atol=1e-12)


# ---- parameters ----------------------------------------------------------------------------------


def test_signs_that_are_set_later_hold_from_the_next_estimate_on():
    X, y = table(13, 200)
    model = fitted(X, y, monotone={"amount": -1}).set_params(monotone={"amount": 1}).reestimate()
    again = fitted(X, y, monotone={"amount": 1})
    assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    with pytest.raises(ValueError, match="two classes, and it has 3"):
        model.partial_fit(X[:1], ["perhaps"])
    assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    with pytest.raises(ValueError, match="`monotone` decide what is counted: call `fit`"):
        model.set_params(monotone={"age": 1}).reestimate()


def test_text_among_the_numbers_is_missing():
    X, y = table(17, 200)
    stray = X["amount"].astype(object)
    stray[7] = "n/k"
    with pytest.warns(UserWarning, match="'n/k'"):
        model = AutoBayes(monotone={"amount": 1}).fit(X.assign(amount=stray), y)
    assert_monotone(model, {"amount": 1}, X.head(3))
    missing = fitted(X.assign(amount=X["amount"].mask(X.index == 7)), y, monotone={"amount": 1})
    assert_allclose(model.predict_proba(X), missing.predict_proba(X))


DATES = pd.date_range("2020-01-01", periods=100).astype(str)


@pytest.mark.parametrize(("options", "message"), [
    ({"monotone": {"ag": 1}}, "no column 'ag'; did you mean 'age'"),
    ({"monotone": {"part": 1}}, "'part' cannot be monotone: it holds 'x', no numbers"),
    ({"monotone": {"day": 1}}, "'day' cannot be monotone: it holds '2020-01-01', no numbers"),
    ({"monotone": {"kind": 1}}, "'kind' cannot be monotone, as it is categorical"),
    ({"monotone": {"age": 2}}, "column 'age' has 2, which must be 1"),
    ({"monotone": {"age": "1"}}, "column 'age' has '1', which must be 1"),
    ({"monotone": [1, 0, 0]}, "monotone is a dict of 1"),
    ({"monotone": {0: 1}}, "monotone is a dict of 1"),
    ({"monotone": {"age": 1}, "categorical": ["age"]}, "cannot be monotone, as it is categorical"),
    ({"monotone": {"part": 1}, "text": ["part"]}, "cannot be monotone, as it is text"),
])  # fmt: skip
def test_a_constraint_that_cannot_hold_is_refused(options, message):
    X, y = table(19, 100)
    X = X.assign(day=DATES, kind=pd.Categorical(np.arange(100) % 3))
    with pytest.raises(ValueError, match=message):
        fitted(X, y, **options)


def test_it_needs_two_classes():
    X, y = table(23, 100)
    y[:9] = "perhaps"
    for learn in (AutoBayes.fit, AutoBayes.partial_fit):
        with pytest.raises(ValueError, match="need a target with two classes, and it has 3"):
            learn(AutoBayes(monotone={"age": 1}), X, y)


@pytest.mark.parametrize("rising", [2, -2, 1])
def test_a_file_with_a_constraint_that_cannot_hold_is_refused(rising):
    X, y = table(29, 100)
    plan = fitted(X, y, monotone={"age": 1}).model_.posterior().parameters.plan
    arrays = arrays_of(plan)
    assert plan_of(arrays, len(COLUMNS), 2).blocks[0].columns == plan.blocks[0].columns
    arrays["cells.rising"] = np.full_like(arrays["cells.rising"], rising)  # of categories, too
    with pytest.raises(ValueError, match="monotone that cannot be"):
        plan_of(arrays, len(COLUMNS), 2)


# ---- the command line ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    path = tmp_path_factory.mktemp("loans") / "loans.csv"
    make_credit(400).to_pandas().to_csv(path, index=False)
    return path


def test_the_command_line_takes_them(loans, tmp_path, capsys):
    options = ["--monotone", "credit_amount=-1", "--monotone", "age=+1"]
    run(["fit", str(loans), "--target", "risk", "-o", str(tmp_path / "m"), *options])
    assert "bins, monotone" in capsys.readouterr().out
    model = naively.load(tmp_path / "m")
    assert model.get_params()["monotone"] == {"credit_amount": -1, "age": 1}
    X = pd.read_csv(loans)
    same = fitted(X, "risk", monotone={"credit_amount": -1, "age": 1})
    assert_array_equal(model.predict_proba(X), same.predict_proba(X))


@pytest.mark.parametrize(("options", "message"), [
    (["--monotone", "age"], 'write "column=1"'),
    (["--monotone", "age=up"], 'write "column=1"'),
    (["--monotone", "age=1", "--monotone", "age=-1"], "'age' more than once"),
    (["--monotone", "ages=1"], "did you mean 'age'"),
    (["--monotone", "housing=1"], "'housing' cannot be monotone: it holds"),
    (["--monotone", "age=1", "--naive"], "leave out --naive"),
    (["--monotone", "age=1", "--skip", "age"], "cannot be monotone, as it is left out"),
    (["--monotone", "risk=1"], "is the target"),
])  # fmt: skip
def test_options_that_cannot_hold_are_usage_errors(options, message, loans, tmp_path, capsys):
    assert run(["fit", str(loans), "--target", "risk", "-o", str(tmp_path / "m"), *options]) != 0
    assert message in capsys.readouterr().err
