"""The joint table: |C| / |B|, smoothing, missing values, laws, hostile categories, real data."""

import csv
import gzip
import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import naively
from naively import Categorical, Gaussian, Joint, JointBayes, NaiveBayes
from naively.cli.main import run
from naively.model.model import Model
from naively.model.prior import Prior
from naively.model.schema import Schema
from naively.statistics.levels import Encoded
from naively.storage import model_files

LONG = ["a level that is longer than sixteen bytes, the first", "a level that is longer than s"]
HOSTILE = [
    "",
    "a",
    "b",
    "a\0",
    "\0",
    '"',
    "\\",
    ",",
    '","',
    "[",
    '["a","b"]',
    "\x1f",
    "ü",
    "😀",
    *LONG,
]
ALPHAS = [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3)]


# ---- what is drawn, and what is true by definition -----------------------------------------------


@st.composite
def rows_and_labels(draw, levels=HOSTILE, missing=True, least=1, most=14):
    """(rows of text or None, labels)."""
    own = draw(st.lists(st.sampled_from(levels), min_size=1, max_size=3, unique=True))
    d = draw(st.integers(1, 4))
    value = st.sampled_from([*own, None] if missing else own)
    row = st.tuples(st.tuples(*[value] * d), st.sampled_from("cde"))
    found = draw(st.lists(row, min_size=least, max_size=most))
    return [row for row, _ in found], np.array([label for _, label in found])


def probes(rows, levels=HOSTILE):
    """Rows of the values of each column, missing ones, and levels that may never have been met."""
    columns = [st.sampled_from([*column, None, *levels[:2]]) for column in zip(*rows, strict=True)]
    return st.lists(st.tuples(*columns), min_size=1, max_size=5)


def encoded(rows):
    """Rows as a table has them."""
    codes, levels = [], []
    for column in zip(*rows, strict=True):
        known = sorted({value for value in column if value is not None})
        codes.append([len(known) if v is None else known.index(v) for v in column])
        levels.append(np.array(known, np.dtypes.StringDType()))
    return Encoded(np.array(codes, np.int32).T, levels)


def learned(rows, labels, alpha=1.0, weights=None):
    """A model of these rows."""
    model = Model(Schema.of_array(Joint(float(alpha)), len(rows[0])), Prior())
    return model.summarise(encoded(rows), labels, weights)


class Definition:
    """The table with all of its cells, in fractions."""

    def __init__(self, rows, labels, alpha):
        self.whole = [(row, c) for row, c in zip(rows, labels, strict=True) if None not in row]
        self.count = Counter(self.whole)
        self.size = Counter(c for _, c in self.whole)
        self.levels = [sorted(set(column)) for column in zip(*dict(self.whole), strict=True)]
        self.alpha = alpha
        self.classes = sorted(set(labels.tolist()))
        self.prior = [Fraction(labels.tolist().count(c), len(labels)) for c in self.classes]

    def p(self, x, c):
        """p(x | c), summed over the cells that agree with x; 1 if no cell is known."""
        if not self.whole:
            return Fraction(1)
        cells = math.prod(map(len, self.levels))
        below = self.size[c] + self.alpha * cells
        choices = [own if v is None else [v] for own, v in zip(self.levels, x, strict=True)]
        agree = list(itertools.product(*choices))
        if below == 0:
            return Fraction(len(agree), cells)
        return sum((self.count[cell, c] + self.alpha for cell in agree), Fraction(0)) / below


def log(fraction):
    return math.log(fraction) if fraction else -math.inf


# ---- formulas ------------------------------------------------------------------------------------


@given(rows_and_labels(missing=False))
def test_mle_is_c_over_b(data):
    """Lectures 1 and 3: P(y | x) = |C| / |B|."""
    rows, labels = data
    B = Counter(rows)
    C = Counter(zip(rows, labels, strict=True))
    model = learned(rows, labels, 0)
    p = model.posterior().proba(encoded(rows))
    for x, own in zip(rows, p, strict=True):
        for c, value in zip(model.classes.tolist(), own.tolist(), strict=True):
            exact = Fraction(C[x, c], B[x])
            assert value == pytest.approx(float(exact), rel=1e-14, abs=0)


@given(rows_and_labels(), st.sampled_from(ALPHAS), st.data())
@example(([("a", None)], np.array(["c"])), Fraction(1), None)
def test_the_definition_cell_by_cell(data, alpha, draw):
    """Smoothing, missing values summed out, levels never met, classes without a row."""
    rows, labels = data
    x = [("a", None)] if draw is None else draw.draw(probes(rows))
    model, true = learned(rows, labels, alpha), Definition(rows, labels, alpha)
    table = encoded(x)
    posterior = model.posterior()
    joint = posterior.joint_log_proba(table) - posterior.log_prior
    told = posterior.explain(table).contributions
    density = posterior.score_samples(table)
    for i, row in enumerate(x):
        p = [true.p(row, c) for c in true.classes]
        np.testing.assert_allclose(joint[i], [*map(log, p)], rtol=1e-13, atol=1e-13)
        total = sum(pi * own for pi, own in zip(true.prior, p, strict=True))
        assert density[i] == pytest.approx(log(total), rel=1e-12, abs=1e-12)
        for k in range(len(row)):  # the chain rule: each column given those before
            before, after = (
                [true.p((*row[:j], *[None] * (len(row) - j)), c) for c in true.classes]
                for j in (k, k + 1)
            )
            chain = [log(b / a) if a else 0.0 for a, b in zip(before, after, strict=True)]
            np.testing.assert_allclose(told[i, :, k], chain, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(told.sum(axis=2), joint, rtol=1e-12, atol=1e-12)
    p = posterior.proba(table)
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize("d", [1, 2, 5, 11])
def test_number_of_parameters(d):
    """Lecture 2: K (2^d - 1), and K - 1 of the prior."""
    X = np.array([*itertools.product("01", repeat=d)], object)[::-1]
    y = np.arange(len(X)) % 3
    K = len(set(y.tolist()))
    assert JointBayes().fit(X, y).n_parameters_ == K - 1 + K * (2**d - 1)


def test_levels_of_any_class_make_the_cells():
    X = {"a": ["x", "y", "z", "x"], "b": ["u", "u", "v", None]}
    model = JointBayes().fit(X, [0, 0, 1, 1])
    assert model.n_parameters_ == 1 + 2 * (3 * 2 - 1)
    p = np.exp(model.predict_joint_log_proba({"a": ["z"], "b": ["u"]})[0])
    np.testing.assert_allclose(p, [1 / 2 * 1 / 8, 1 / 2 * 1 / 7])


def test_one_column_is_categorical():
    rng = np.random.default_rng(0)
    t = rng.choice([*"abcdefg", None], 200)
    y = rng.integers(0, 3, 200)
    probe = {"t": [*t, "new"]}
    for alpha in (0, 0.5, 1, 10):
        joint = JointBayes(alpha).fit({"t": t}, y)
        naive = NaiveBayes({"t": Categorical(alpha=alpha)}).fit({"t": t}, y)
        np.testing.assert_allclose(
            joint.predict_joint_log_proba(probe), naive.predict_joint_log_proba(probe), atol=1e-13
        )


def test_exclusive_or():
    """What no naive Bayes can learn."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 25)
    y = X[:, 0] ^ X[:, 1]
    assert JointBayes().fit(X, y).score(X, y) == 1.0
    assert NaiveBayes().fit(X, y).score(X, y) < 0.6


# ---- x was never seen ----------------------------------------------------------------------------


def test_rows_never_seen():
    X = {"a": [*"xxyyy"], "b": [*"uvuuu"]}
    y = [0, 0, 0, 1, 1]
    never = {"a": ["y", "new"], "b": ["v", "u"]}
    model = JointBayes(alpha=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(never), [[0.6, 0.4]] * 2, rtol=1e-15)
    np.testing.assert_array_equal(model.score_samples(never), [-np.inf] * 2)
    with pytest.warns(UserWarning, match="2 rows: no estimate, as every class has probability 0"):
        assert model.predict(never).tolist() == [0, 0]
    told = model.explain(never)
    said = " ".join(str(told[0]).split())
    assert "P = 0.6000 (1: 0.4000): no estimate, as every class has probability 0 (0/0)" in said
    assert told.contributions.tolist()[0] == [[math.log(1 / 3), -math.inf], [0, -math.inf]]
    assert told.contributions.tolist()[1] == [[-math.inf, 0], [-math.inf, 0]]
    odds = (3 / (3 + 2 * 4)) / (2 / (2 + 2 * 4))
    p = JointBayes(alpha=2).fit(X, y).predict_proba(never)
    np.testing.assert_allclose(p, [[odds / (1 + odds), 1 / (1 + odds)]] * 2)


@pytest.mark.slow
def test_two_to_the_65536_cells():
    d = 1 << 16
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (6, d)).astype(np.int32)
    codes[4], codes[5] = 0, 1
    X = Encoded(codes, [np.array(["0", "1"], np.dtypes.StringDType())] * d)
    y = np.array([0, 0, 1, 1, 0, 1])
    model = Model(Schema.of_array(Joint(), d), Prior()).summarise(X, y).posterior()
    assert model.n_parameters == 1 + 2 * (2**d - 1)
    p = model.proba(X)
    np.testing.assert_allclose(p[np.arange(6), y], 2 / 3, rtol=1e-9)
    np.testing.assert_allclose(model.score_samples(X), math.log(1.5) - d * math.log(2), rtol=1e-12)
    other = Encoded(codes[:1].copy(), X.levels)
    other.codes[0, -1] ^= 1
    np.testing.assert_allclose(model.proba(other), 0.5, rtol=1e-9)
    holes = Encoded(codes.copy(), X.levels)
    holes.codes[:, 1:] = 2  # one column is observed: half of all cells agree
    np.testing.assert_allclose(model.proba(holes), 0.5, rtol=1e-9)
    drawn = model.sample(3, np.random.default_rng(0))[0]
    assert 0.45 < drawn.codes.mean() < 0.55


# ---- laws ----------------------------------------------------------------------------------------


@given(rows_and_labels(least=2), st.data())
def test_columns_in_another_order(data, draw):
    rows, labels = data
    names = [f"c{k}" for k in range(len(rows[0]))]
    order = draw.draw(st.permutations(names))
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    turned = {name: columns[name] for name in order}
    first = JointBayes(missing=[]).partial_fit(columns, labels)
    both = first + JointBayes(missing=[]).partial_fit(turned, labels)
    assert both.model_ == (first + first).model_
    assert both.forget(turned, labels).model_ == first.model_
    assert first.partial_fit(turned, labels).forget(columns, labels).model_ == both.model_
    probe = first.predict_joint_log_proba(columns)
    np.testing.assert_array_equal(first.predict_joint_log_proba(turned), probe)


def test_what_was_never_learned_is_not_forgotten():
    X, y = {"a": [*"xxy", None], "b": [*"uvu", "u"]}, [0, 1, 1, 1]
    model = JointBayes().fit(X, y)
    before = model.model_.canonical()
    for a, b, label in [
        ("y", "v", 1), ("y", "u", 0), ("new", "u", 1), (None, None, 1), ("y", None, 1),
        (None, "u", 0), ("x", "u", 7),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="not in the training data"):
            model.forget({"a": [a], "b": [b]}, [label])
        assert model.model_ == before
    with pytest.raises(ValueError, match="not in the training data"):
        model.forget({"a": ["y", "y"], "b": ["u", "u"]}, [1, 1])
    model.forget({"a": [None], "b": ["u"]}, [1])
    whole = {"a": [*"xxy"], "b": [*"uvu"]}
    assert model.model_ == JointBayes().fit(whole, [0, 1, 1]).model_
    for learned, forgotten in [
        ({"a": [None, "x"], "b": ["u", None]}, {"a": [None], "b": [None]}),
        ({"a": [None], "b": [None]}, {"a": [None], "b": ["u"]}),
    ]:
        holes = JointBayes().fit(whole, [0, 1, 1])
        holes.partial_fit(learned, [1] * len(learned["a"]))
        with pytest.raises(ValueError, match="not in the training data"):
            holes.forget(forgotten, [1])


def test_missing_values_are_summed_out_of_many_rows():
    rng = np.random.default_rng(0)
    n, d = 5000, 7
    X = rng.integers(0, 3, (n, d)).astype(float)
    X[rng.random((n, d)) < 0.3] = np.nan  # 128 patterns of what is missing
    y = rng.integers(0, 3, n)
    model = JointBayes(0.5).fit(X, y)
    joint = model.predict_joint_log_proba(X)
    np.testing.assert_allclose(model.explain(X).joint, joint, atol=1e-11)
    true = Definition(
        [tuple(None if np.isnan(v) else v for v in row) for row in X.tolist()], y, Fraction(1, 2)
    )
    for i in range(0, n, 50):
        row = tuple(None if np.isnan(v) else v for v in X[i].tolist())
        p = [log(true.p(row, c)) for c in true.classes]
        np.testing.assert_allclose(joint[i] - model.model_.posterior().log_prior, p, atol=1e-12)


def test_wide_rows_are_distinguished_to_the_last_column():
    """More combinations than an int64 can number."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 3, (300, 90))
    kinds[1::2] = kinds[::2]
    kinds[1::2, -1] = (kinds[::2, -1] + 1) % 3
    X = kinds[rng.permutation(np.tile(np.arange(300), 3))]
    y = rng.integers(0, 2, len(X))
    model = JointBayes(alpha=0).fit(X, y)
    table = pd.DataFrame(X).assign(y=y)
    part = table.groupby(list(range(90)))["y"].transform("mean")
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], part, atol=1e-12)
    never = kinds.copy()
    place = np.arange(300), np.arange(300) % 89  # one of the columns but the last
    never[place] = (never[place] + 1) % 3
    assert (model.score_samples(never) == -np.inf).all()


def test_sampling_recovers_the_table():
    rng = np.random.default_rng(0)
    n = 3000
    y = rng.integers(0, 2, n)
    a = rng.choice([*"uvw"], n)
    b = np.where(rng.random(n) < 0.8, np.where(y == 1, a, "v"), "w")
    X = {"a": a, "b": b, "c": rng.integers(0, 2, n)}
    model = JointBayes(alpha=0).fit(X, y)
    drawn, labels = model.sample(60_000, 1)
    again = JointBayes(alpha=0).fit(drawn, labels)
    assert np.abs(again.predict_proba(X) - model.predict_proba(X)).max() < 0.06
    for one, other in ((model, again), (again, model)):
        assert np.isfinite(one.score_samples(other.sample(500, 2)[0])).all()
    smooth = JointBayes(alpha=1e6).fit(X, y)  # virtual counts alone: all 18 cells alike
    cells = pd.DataFrame(smooth.sample(18_000, 1)[0]).value_counts()
    assert len(cells) == 18
    assert ((cells - 1000).abs() < 160).all()
    half = JointBayes(alpha=100).fit(
        X, y
    )  # 1800 virtual counts, beside 1500 real ones of each class
    share = pd.DataFrame(half.sample(200_000, 3)[0]).value_counts(normalize=True)
    assert len(share) == 18
    expected = np.exp(half.score_samples(share.index.to_frame()))
    np.testing.assert_allclose(share, expected, rtol=0.08)


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows",
    [['["a", "b"]'], ['["a"]'], ['["a","b","c"]'], ['["a",5]'], ['["\\u0061","b"]'], ["[]"], ["x"]],
)
def test_rows_that_nobody_wrote_are_refused(tmp_path, rows):
    model = learned([("a", "b")], np.array(["c"]))
    model.statistics.levels = [np.array(rows, np.dtypes.StringDType())]
    with pytest.raises(ValueError, match="cannot be saved") as caught:
        model_files.save(model_files.Saved(model), tmp_path / "model")
    assert not isinstance(caught.value, json.JSONDecodeError)
    assert not (tmp_path / "model").exists()


# ---- tables --------------------------------------------------------------------------------------


def test_the_same_levels_from_any_source():
    y = [0, 1, 1, 0]
    sources = [
        {"n": [5, 7, 5, 7], "t": [True, False, False, True]},
        {"n": [5.0, 7.0, 5.0, 7.0], "t": ["true", "false", "False", "TRUE"]},
        pd.DataFrame({"n": ["5", "7", "5.0", " 7"], "t": [True, False, False, True]}),
    ]
    models = [JointBayes().fit(X, y) for X in sources]
    assert models[0].model_ == models[1].model_ == models[2].model_
    X = np.array([[5, 1], [7, 0], [5, 0], [7, np.nan]])
    a = Model(Schema.of_array(Joint(), 2), Prior()).summarise(X, np.array(y))
    b = JointBayes().fit(X, y).model_
    assert a.statistics == b.statistics
    assert a.posterior().proba(X).tobytes() == b.posterior().proba(X).tobytes()


def test_all_columns_count():
    """Constants and identifiers, which naive Bayes leaves out."""
    X = {"id": [f"k{i}" for i in range(60)], "one": ["x"] * 60, "x": np.arange(60) ** 2 / 7}
    y = np.arange(60) % 2
    model = JointBayes().fit(X, y)
    assert list(model.model_.schema.names) == ["id", "one", "x"]
    assert model.score(X, y) == 1.0
    assert model.n_parameters_ == 1 + 2 * (60 * 1 * 60 - 1)


def test_columns_that_come_and_go():
    X, y = {"a": [*"xxyy"], "b": [*"uvuv"]}, [0, 1, 1, 1]
    model = JointBayes().fit(X, y)
    before = model.model_.canonical()
    for columns, match in [
        ({"a": [*"xy"]}, "these lack 'b'"),
        ({**X, "c": [*"1234"]}, "these add 'c'"),
        ({"a": [*"xy"], "c": [*"uv"]}, "lack 'b' and add 'c'"),
        ({"c": [*"uv"]}, "lack 'a', 'b' and add 'c'"),
    ]:
        labels = [0, 1, 1, 1][: len(columns[next(iter(columns))])]
        with pytest.raises(ValueError, match=match):
            model.partial_fit(columns, labels)
        with pytest.raises(ValueError, match=match):
            model + JointBayes().partial_fit(columns, labels)
        assert model.model_ == before
    with pytest.warns(UserWarning, match="has no column"):
        p = model.predict_proba({"b": ["u"]})
    np.testing.assert_array_equal(p, model.predict_proba({"a": [None], "b": ["u"]}))
    model.fit({"c": [*"uv"]}, [0, 1])  # a new fit may have other columns
    assert model.feature_names_in_.tolist() == ["c"]


def test_what_is_refused():
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        JointBayes().fit(sparse.csr_array(X), y)
    for alpha in (-1.0, math.nan, math.inf, "1", [1.0, 2.0], None):
        with pytest.raises(ValueError, match="alpha"):
            JointBayes(alpha).fit(X, y)
    with pytest.raises(ValueError, match="one-hot encoded rows"):
        JointBayes().fit(X, y).to_linear()


def mixed(n=80):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    a = rng.choice([*"uvw", None], n)
    X = {"a": a, "x": rng.normal(y), "b": np.where(y == 1, a, rng.choice([*"uvw"], n))}
    return pd.DataFrame({**X, "c": rng.choice([*"st"], n)}), y


def test_a_joint_block_among_naive_columns(tmp_path):
    """p(x | y) = p(b, a | y) p(x | y) p(c | y)."""
    X, y = mixed()
    columns = {("b", "a"): Joint(0.5), "x": Gaussian(floor="feature"), "c": Categorical()}
    model = NaiveBayes(columns).fit(X, y)
    pair = JointBayes(0.5).fit(X[["a", "b"]], y)
    rest = NaiveBayes({"x": Gaussian(floor="feature"), "c": Categorical()}).fit(X[["x", "c"]], y)
    joint = pair.predict_joint_log_proba(X[["a", "b"]]) + rest.predict_joint_log_proba(
        X[["x", "c"]]
    )
    np.testing.assert_allclose(
        model.predict_joint_log_proba(X), joint - model.model_.posterior().log_prior, atol=1e-12
    )
    told = model.explain(X)
    assert told.features == ["a", "x", "b", "c"]
    np.testing.assert_allclose(told.joint, model.predict_joint_log_proba(X), atol=1e-12)
    assert model.n_parameters_ == pair.n_parameters_ + rest.n_parameters_ - 1
    named = NaiveBayes({("b", "a"): "joint"}).fit(X, y)
    assert named.model_.schema.family_of["a"] == Joint()
    model.save(tmp_path / "model")
    again = naively.load(tmp_path / "model")
    assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert (again + model).forget(X, y).model_ == model.model_
    sampled, labels = model.sample(50, 0)
    assert list(sampled.columns) == list(X.columns)
    assert again.partial_fit(sampled, labels).forget(sampled, labels).model_ == model.model_


def test_blocks_that_do_not_add_up():
    X, y = mixed()
    X = X[["a", "b", "c"]]
    a = NaiveBayes({("a", "b"): Joint(), "c": Categorical()}).fit(X, y)
    for columns, match in [
        ({"a": Joint(), "b": Joint(), "c": Categorical()}, "cannot be added"),
        ({("a", "b", "c"): Joint()}, "categorical in one model and joint in the other"),
        ({"a": Categorical(), "b": Categorical()}, "joint in one model and categorical"),
    ]:
        b = NaiveBayes(columns).fit(X, y)
        with pytest.raises(ValueError, match=match):
            a + b
    wide = JointBayes().fit(X, y)
    with pytest.raises(ValueError, match="lack 'c'"):
        wide + JointBayes().fit(X[["a", "b"]], y)
    b = NaiveBayes({"c": Categorical()}).partial_fit(X[["c"]], y)  # lacks the whole block
    missing = pd.DataFrame({"a": None, "b": None, "c": X["c"]})
    with pytest.warns(UserWarning, match="only the .* model has the columns 'a', 'b'"):
        total, turned = a + b, b + a
    assert total.model_ == a.partial_fit(missing, y).model_
    np.testing.assert_allclose(turned.predict_proba(X), total.predict_proba(X), rtol=1e-12)


# ---- real data -----------------------------------------------------------------------------------


def arff(path):
    """(X, y) of levels, "?" being one of them; the class is the last column."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = text.decode().splitlines()
    start = [line.strip().lower() for line in lines].index("@data") + 1
    data = [line for line in lines[start:] if line.strip() and not line.startswith("%")]
    rows = np.array([*csv.reader(data, quotechar="'", skipinitialspace=True)], object)
    return rows[:, :-1], rows[:, -1]


def titanic(path):
    lines = path.read_text().splitlines()
    rows = np.array([line.split("\t") for line in lines[3:] if line], object)
    return rows[:, :-1], rows[:, -1]


REAL = {
    "titanic/titanic-orange-2201.tab": (2201, 3),
    "car/car.arff": (1728, 6),
    "lenses/contact-lenses.arff": (24, 4),
    "nursery/nursery.arff.gz": (12960, 8),
    "mushroom/mushroom.arff.gz": (8124, 22),
    "vote/vote.arff": (435, 16),
    "breast-cancer/breast-cancer.arff": (286, 9),
}


@pytest.mark.parametrize("name", REAL)
def test_no_rule_does_better_on_what_was_learned(data_folder, name):
    """|C| / |B| is what an unpruned tree of scikit-learn has in its leaves."""
    path = data_folder / name
    X, y = titanic(path) if path.suffix == ".tab" else arff(path)
    assert X.shape == REAL[name]
    model = JointBayes(alpha=0, missing=()).fit(X, y)
    rows = Counter(map(tuple, X))
    best = Counter()
    for (row, _), count in Counter(zip(map(tuple, X), y, strict=True)).items():
        best[row] = max(best[row], count)
    assert model.score(X, y) == best.total() / rows.total()
    hot = OneHotEncoder().fit_transform(X)
    tree = DecisionTreeClassifier(random_state=0).fit(hot, y)
    np.testing.assert_allclose(model.predict_proba(X), tree.predict_proba(hot), atol=1e-12)
    np.testing.assert_allclose(
        np.exp(model.score_samples(X)), [rows[row] / len(X) for row in map(tuple, X)], rtol=1e-12
    )


def test_titanic_by_hand(data_folder):
    """76 of 165 women of the third class survived, 344 of all 470."""
    X, y = titanic(data_folder / "titanic" / "titanic-orange-2201.tab")
    X = dict(zip(("status", "age", "sex"), X.T, strict=True))
    model = JointBayes(alpha=0).fit(X, y)
    women = {"status": ["third"], "age": ["adult"], "sex": ["female"]}
    assert model.predict_proba(women)[0, 1] == pytest.approx(76 / 165, rel=1e-14)
    females = {"status": [None], "age": [None], "sex": ["female"]}
    assert model.predict_proba(females)[0, 1] == pytest.approx(344 / 470, rel=1e-14)
    assert model.n_parameters_ == 1 + 2 * (4 * 2 * 2 - 1)


def test_a_declared_category_is_a_level_as_any_other():
    """A batch may declare what the first one did not."""
    values, y = ["a", "b", "b", "a"], [0, 1, 0, 1]
    declared = pa.table({"u": pa.array(values).dictionary_encode(), "v": values})
    model = JointBayes().fit({"u": values, "v": values}, y).partial_fit(declared, y)
    assert model.model_ == JointBayes().fit({"u": 2 * values, "v": 2 * values}, 2 * y).model_


# ---- the command line ----------------------------------------------------------------------------


def test_the_command_line_shows_what_counts_and_predict_proba_give(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 200)
    table = pd.DataFrame({
        "a": rng.choice(["u", "v", "w"], 200), "b": rng.choice(["s", "t"], 200),
        "c": np.where(rng.random(200) < 0.8, y, "no"), "y": y,
    })  # fmt: skip
    table.to_csv("t.csv", index=False)
    assert run(["fit", "t.csv", "-t", "y", "--columns", "a,b,c=joint(alpha=0.5)", "-o", "m"]) == 0
    model = JointBayes(alpha=0.5).fit(table[["a", "b", "c"]], y)
    for columns in (["a", "b", "c"], ["c", "a"], ["b"]):
        options = [token for name in columns for token in ("--column", name)]
        capsys.readouterr()
        assert run(["inspect", "m", *options, "--json"]) == 0
        (shown,) = json.loads(capsys.readouterr().out)["features"]
        names = shown["features"] if columns[1:] else [shown["feature"]]
        assert names == sorted(columns)
        cells = pd.DataFrame(shown["categories"], columns=names).reindex(columns=["a", "b", "c"])
        assert len(cells) == len(table[names].drop_duplicates())
        assert_allclose(np.transpose(shown["rows"]), model.counts(cells))
        assert_allclose(
            np.transpose(shown["probability"]), np.exp(model.predict_log_likelihood(cells))
        )
        assert_allclose(np.transpose(shown["posterior"]), model.predict_proba(cells))
    assert run(["inspect", "m", "--column", "a", "--column", "c"]) == 0
    assert "a × c: joint table, 6 cells with training rows" in capsys.readouterr().out
    assert run(["inspect", "m"]) == 0
    assert "features    3 categorical" in capsys.readouterr().out


@pytest.mark.parametrize(("columns", "problem"), [
    (["a,y=joint"], "'y' is the target"), (["a,b=joint", "b=gaussian"], "'b' more than once"),
    (["a,d=joint"], "there is no column 'd'"), (["a,b=gaussian"], "there is no column 'a,b'"),
])  # fmt: skip
def test_columns_that_share_no_table(columns, problem, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": [1, 2] * 3, "b": [1, 2, 3] * 2, "y": ["n", "y"] * 3}).to_csv("t.csv")
    options = [token for column in columns for token in ("--columns", column)]
    assert run(["fit", "t.csv", "-t", "y", "-o", "m", *options]) != 0
    assert problem in capsys.readouterr().err
