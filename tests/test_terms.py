"""The terms of the lectures by their names: P(x | y), likelihoods, counts, parameters, priors."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import logsumexp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import log_loss
from test_cli import naive
from test_nbsvm import THREE, TWO

import naively
from naively import (
    NBSVM,
    AutoBayes,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretized,
    GaussianBayes,
    GaussianNB,
    JointBayes,
    KernelDensity,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    TextNB,
)

rng = np.random.default_rng(2017)
y = rng.choice(["a", "b", "c"], 90, p=[0.5, 0.3, 0.2])
own = np.unique(y, return_inverse=True)[1]
COUNTS = rng.poisson(rng.gamma(2.0, 1.0, (3, 4))[own])
NUMBERS = rng.normal(own[:, np.newaxis], [1.0, 2.0, 0.5], (90, 3))
LEVELS = np.column_stack([rng.integers(0, k, 90) for k in (2, 3, 4)])
TABLE = pd.DataFrame({"x": NUMBERS[:, 0], "level": [f"l{k}" for k in LEVELS[:, 2]]})
MAILS = ["win a free prize", "meeting at noon", "free free prize", "lunch at noon?"]
KINDS = ["spam", "ham", "spam", "ham"]


def gaussian(model, X, c):
    return stats.norm.logpdf(X, model.theta_[c], np.sqrt(model.var_[c])).sum(axis=1)


def multinomial(model, X, c):
    return stats.multinomial.logpmf(X, X.sum(axis=1), np.exp(model.feature_log_prob_[c]))


def bernoulli(model, X, c):
    return stats.bernoulli.logpmf(X > 0, np.exp(model.feature_log_prob_[c])).sum(axis=1)


def poisson(model, X, c):
    return stats.poisson.logpmf(X, model.feature_rate_[c]).sum(axis=1)


def full(model, X, c):
    return stats.multivariate_normal.logpdf(X, model.means_[c], model.covariance_[c])


def categorical(model, X, c):
    return sum(model.feature_log_prob_[j][c, X[:, j]] for j in range(X.shape[1]))


DENSITIES = [
    (GaussianNB(), NUMBERS, gaussian), (GaussianBayes(), NUMBERS, full),
    (MultinomialNB(), COUNTS, multinomial), (BernoulliNB(), COUNTS, bernoulli),
    (PoissonNB(), COUNTS, poisson), (CategoricalNB(), LEVELS, categorical),
]  # fmt: skip


@pytest.mark.parametrize(("model", "X", "density"), DENSITIES, ids=lambda one: type(one).__name__)
def test_log_likelihood_is_the_density_whole(model, X, density):
    """log P(x | y) with the terms in x alone, of SciPy's densities."""
    model.fit(X, y)
    ours = model.predict_log_likelihood(X)
    expected = np.column_stack([density(model, X, c) for c in range(3)])
    assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)
    whole = ours + np.log(model.class_prior_)
    assert_allclose(model.score_samples(X), logsumexp(whole, axis=1), rtol=1e-12)
    assert_allclose(model.log_likelihood(X, y), whole[np.arange(90), own].sum(), rtol=1e-12)


@pytest.mark.parametrize("model", [
    GaussianNB(), NaiveBayes(), NaiveBayes(family="kernel_density"), JointBayes(), AutoBayes(),
    ComplementNB(),
], ids=str)  # fmt: skip
def test_conditional_log_likelihood_is_the_log_loss(model):
    X = COUNTS
    proba = model.fit(X, y).predict_proba(X)
    expected = -log_loss(y, proba, normalize=False)
    assert_allclose(model.log_likelihood(X, y, conditional=True), expected, rtol=1e-9)


def test_maximum_likelihood_maximises_the_log_likelihood():
    """And the conditional one, which logistic regression maximises, is another objective."""
    best = GaussianNB(var_smoothing=0.0).fit(NUMBERS, y).log_likelihood(NUMBERS, y)
    for other in (GaussianNB(ddof=1), GaussianNB(tie="classes"), GaussianNB(priors="uniform"),
                  GaussianNB(var_smoothing=0.1)):  # fmt: skip
        assert other.fit(NUMBERS, y).log_likelihood(NUMBERS, y) < best


def test_a_class_of_prior_0_has_a_likelihood():
    model = GaussianNB(priors=[0.0, 0.5, 0.5]).fit(NUMBERS, y)
    same = GaussianNB().fit(NUMBERS, y)
    assert_array_equal(model.predict_log_likelihood(NUMBERS), same.predict_log_likelihood(NUMBERS))
    assert model.log_likelihood(NUMBERS, y) == -math.inf


def test_log_likelihood_of_tables_and_texts():
    model = NaiveBayes().fit(TABLE, y)
    expected = model.log_likelihood(TABLE, y)
    joint = model.predict_log_likelihood(TABLE) + np.log(model.class_prior_)
    assert_allclose(expected, joint[np.arange(90), own].sum(), rtol=1e-12)
    assert model.log_likelihood(TABLE.assign(kind=y), "kind") == expected
    text = TextNB(weights=None).fit(MAILS, KINDS)
    bags = np.exp(text.predict_log_likelihood(["free prize", "prize free", "free free"]))
    theta = dict(zip(text.terms_, np.exp(text.feature_log_prob_).T, strict=True))
    assert_allclose(bags[0], 2 * theta["free"] * theta["prize"])  # either order
    assert_array_equal(bags[0], bags[1])
    assert_allclose(bags[2], theta["free"] ** 2)


def test_labels_without_a_likelihood_are_refused():
    model = NaiveBayes().fit(TABLE, y)
    with pytest.raises(ValueError, match=r"label 'd' in row 89, .* has 'a', 'b', 'c'"):
        model.log_likelihood(TABLE, [*y[:-1], "d"])
    with pytest.raises(ValueError, match="label of row 3 is missing"):
        model.log_likelihood(TABLE, [*y[:3], None, *y[4:]])
    with pytest.raises(ValueError, match="89"):
        GaussianNB().fit(NUMBERS, y).log_likelihood(NUMBERS, y[1:])
    with pytest.raises(ValueError, match="not a density"):
        ComplementNB().fit(COUNTS, y).log_likelihood(COUNTS, y)
    for other in (ComplementNB().fit(COUNTS, y), AutoBayes().fit(TABLE, y)):
        assert not hasattr(other, "predict_log_likelihood")


# ---- counts of identical rows --------------------------------------------------------------------


def test_counts_are_those_of_identical_rows():
    """|C| by class, whose sum is |B|: lecture 1."""
    weights = rng.integers(0, 4, 90).astype(float)
    model = JointBayes(alpha=0).fit(LEVELS, y, sample_weight=weights)
    probe = np.vstack([LEVELS, [[9, 0, 0]]])
    expected = [
        [weights[(row == LEVELS).all(axis=1) & (y == c)].sum() for c in "abc"] for row in probe
    ]
    found = model.counts(probe)
    assert_array_equal(found, expected)
    met = found.sum(axis=1) > 0
    shares = found[met] / found[met].sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(probe)[met], shares)


def test_counts_of_rows_with_missing_values():
    table = {"rain": ["yes", "yes", "no", None], "wind": ["yes", "no", "yes", "no"]}
    model = JointBayes().fit(table, ["stay", "go", "go", "stay"])  # classes: go, stay
    found = model.counts({"rain": ["yes", None, None], "wind": [None, "yes", None]})
    assert_array_equal(found, [[1, 1], [1, 1], [2, 1]])  # the last row that was learned is no cell
    assert_array_equal(JointBayes().fit({"a": [None, None]}, [0, 1]).counts({"a": ["x"]}), [[0, 0]])


def test_pixels_that_never_vary_count_with_min_categories():
    X, kinds = np.array([[0, 0], [0, 1], [0, 1]]), [0, 0, 1]
    model = JointBayes(min_categories=2).fit(X, kinds)
    assert model.n_parameters_ == 1 + 2 * (2**2 - 1)
    seen = np.exp(model.predict_log_likelihood([[0, 1]]))
    assert_allclose(seen, [[(1 + 1) / (2 + 4), (1 + 1) / (1 + 4)]])  # lecture 1, with l = 1
    assert JointBayes(min_categories=[1, 3]).fit(X, kinds).n_parameters_ == 1 + 2 * (3 - 1)
    assert JointBayes().fit(X, kinds).n_parameters_ == 1 + 2 * (2 - 1)
    for bad in (-1, 1.5, [2, 2, 2], "two"):
        with pytest.raises(ValueError, match="min_categories"):
            JointBayes(min_categories=bad).fit(X, kinds)


# ---- parameters ----------------------------------------------------------------------------------


def listed(model):
    """The parameters by (class, feature, level, what they are)."""
    rows = model.parameters_.to_pylist()
    return {(r["class"], r["feature"], r["level"], r["parameter"]): r["value"] for r in rows}


def test_parameters_of_a_table():
    model = NaiveBayes({"x": "gaussian"}).fit(TABLE, y)
    found = listed(model)
    assert len(found) == 3 * (1 + 2 + 4)
    for c, label in enumerate("abc"):
        rows = TABLE[y == label]
        assert found[label, None, None, "prior"] == model.class_prior_[c]
        assert_allclose(found[label, "x", None, "mean"], rows.x.mean(), rtol=1e-12)
        assert_allclose(found[label, "x", None, "sd"], rows.x.std(ddof=0), rtol=1e-6)
        for k in range(4):
            share = ((rows.level == f"l{k}").sum() + 1) / (len(rows) + 4)
            assert_allclose(found[label, "level", f"l{k}", "p"], share, rtol=1e-12)


@pytest.mark.parametrize(("family", "name"), [
    ("poisson", "mean"), ("exponential", "mean"), (KernelDensity(), "sd"), ("student", "mean"),
    (Discretized(), "p"),
])  # fmt: skip
def test_every_family_of_numbers_lists_its_own(family, name):
    found = listed(NaiveBayes({"x": family}).fit({"x": COUNTS[:, 0]}, y))
    names = {key[3] for key in found}
    assert "prior" in names
    assert len(names) > 1
    assert all(math.isfinite(value) for value in found.values())
    if name == "p":  # ranges: of each class they add up to 1
        for label in "abc":
            values = [v for key, v in found.items() if key[0] == label and key[3] == "p"]
            assert_allclose(sum(values), 1.0)


def test_parameters_of_arrays_and_texts():
    found = listed(CategoricalNB(min_categories=5).fit(LEVELS, y))
    assert sum(key[3] == "p" for key in found) == 3 * 15  # those that were never met, too
    model = TextNB().fit(MAILS, KINDS)
    found = listed(model)
    free = model.terms_.tolist().index("free")
    assert_allclose(found["spam", "x0", "free", "p"], np.exp(model.feature_log_prob_[1, free]))
    hashed = TextNB(n_features=8).fit(MAILS, KINDS)
    assert_allclose(sum(v for k, v in listed(hashed).items() if k[0] == "ham" and k[3] == "p"), 1.0)
    assert {key[3] for key in listed(AutoBayes().fit(TABLE, y))} == {"prior"}


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_covariances_are_parameters(covariance):
    """Those of NumPy; each two features once, those of all classes in each class."""
    model = GaussianBayes(covariance).fit(NUMBERS, y)
    found = listed(model)
    d = NUMBERS.shape[1]
    assert sum(key[3] == "covariance" for key in found) == 3 * d * (d + 1) // 2
    centred = np.vstack([NUMBERS[y == c] - NUMBERS[y == c].mean(axis=0) for c in "abc"])
    for label in "abc":
        expected = np.cov(NUMBERS[y == label].T, ddof=0)
        if covariance == "tied":
            expected = centred.T @ centred / len(centred)
        for i, j in itertools.combinations_with_replacement(range(d), 2):
            value = found[label, f"x{i}", f"x{j}", "covariance"]
            assert_allclose(value, expected[i, j], rtol=1e-9, atol=1e-12)
            if i == j:
                assert_allclose(found[label, f"x{i}", None, "sd"], value**0.5, rtol=1e-12)


def test_cells_of_joint_tables_are_parameters():
    """(N_c(x) + l) / (N_c + l M), lecture 1; any cell that was not met stands without a level."""
    table = {"sky": ["sun", "sun", "rain", "rain"], "wind": ["no", "no", "no", None]}
    found = listed(JointBayes(alpha=0.5, min_categories=2).fit(table, ["a", "a", "b", "b"]))
    cells = {key[:3]: value for key, value in found.items() if key[3] == "p"}
    assert cells == pytest.approx({
        ("a", "sky × wind", "sun × no"): 2.5 / 4, ("b", "sky × wind", "sun × no"): 0.5 / 3,
        ("a", "sky × wind", "rain × no"): 0.5 / 4, ("b", "sky × wind", "rain × no"): 1.5 / 3,
        ("a", "sky × wind", None): 0.5 / 4, ("b", "sky × wind", None): 0.5 / 3,
    })  # fmt: skip
    for label in "ab":  # two cells of four were not met
        own = [p for key, p in cells.items() if key[0] == label]
        assert sum(own) + cells[label, "sky × wind", None] == pytest.approx(1.0)
    whole = JointBayes(alpha=0).fit({"x": ["u", "v", "v"], "z": ["1", "1", "1"]}, [0, 1, 1])
    cells = {key[:3]: value for key, value in listed(whole).items() if key[3] == "p"}
    assert cells == {
        (0, "x × z", "u × 1"): 1.0, (0, "x × z", "v × 1"): 0.0,
        (1, "x × z", "u × 1"): 0.0, (1, "x × z", "v × 1"): 1.0,
    }  # fmt: skip
    columns = {("sky", "wind"): naively.Joint()}
    part = listed(NaiveBayes(columns).fit({**table, "t": [0.1, 0.2, 0.3, 0.5]}, [0, 0, 1, 1]))
    assert {key[1] for key in part} == {None, "sky × wind", "t"}


def test_parameter_counts_of_any_size_can_be_printed():
    count = naively.parameter_counts(10, 256 * 256)["joint table"]
    assert count == 10 * (2**65536 - 1)  # exact
    assert str(count) == repr(count) == f"{count}" == "2.00e+19729"
    model = JointBayes(min_categories=2).fit(np.zeros((2, 16384)), [0, 1])
    assert str(model.n_parameters_) == "2.38e+4932"
    few = naively.parameter_counts(10, 256 * 256)["full covariance"]
    assert (str(few), json.dumps(few), f"{few:,}") == ("21475819520",) * 2 + ("21,475,819,520",)


# ---- priors under one name -----------------------------------------------------------------------


def priors_of(kind, prior, **smoothing):
    """The classifier of a kind with a prior, under the name that it has there."""
    names = {GaussianNB: "priors"}
    names |= dict.fromkeys([MultinomialNB, BernoulliNB, CategoricalNB], "class_prior")
    name = names.get(kind, "prior")
    return kind(**{name: prior}, **smoothing)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(GaussianNB, "priors"), (MultinomialNB, "class_prior"), (PoissonNB, "prior"),
     (GaussianBayes, "prior"), (TextNB, "prior"), (AutoBayes, "prior")],
)  # fmt: skip
def test_another_name_of_the_prior_is_an_error_that_says_the_right_one(kind, name):
    for other in {"prior", "priors", "class_prior"} - {name}:
        with pytest.raises(TypeError, match=f"no parameter '{other}': its class prior is {name}="):
            kind(**{other: "uniform"})
    assert getattr(kind(**{name: "uniform"}), name) == "uniform"


ALL = [
    GaussianNB, GaussianBayes, MultinomialNB, BernoulliNB, CategoricalNB, NaiveBayes, JointBayes,
    AutoBayes,
]  # fmt: skip


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(("prior", "expected"), [
    ("uniform", [1 / 3] * 3), ([0.5, 0.2, 0.3], [0.5, 0.2, 0.3]),
    ({"c": 0.3, "a": 0.5, "b": 0.2}, [0.5, 0.2, 0.3]), ({"b": 0.2, "c": 0.3}, [0.5, 0.2, 0.3]),
    ("empirical", np.bincount(own) / 90),
], ids=["uniform", "vector", "dict", "the rest", "empirical"])  # fmt: skip
def test_a_prior_is_given_in_the_same_ways_everywhere(kind, prior, expected):
    model = priors_of(kind, prior).fit(LEVELS, y)
    assert_allclose(model.class_prior_, expected, rtol=1e-12)


@pytest.mark.parametrize(("prior", "message"), [
    ({"a": 0.5, "b": 0.2, "d": 0.3}, "'d'"),
    ({"a": 0.5, "b": 0.2, "c": 0.2, "d": 0.1}, "has the class 'd'; the classes are 'a', 'b', 'c'"),
    ({"a": 0.5, "b": 0.5, "c": 0.5}, "sum of the priors should be 1, not 1.5"),
    ({"a": 0.2, "b": 0.2, "c": 0.2}, "sum of the priors should be 1, not 0.6"),
    ({"a": 0.5}, "not the class 'b', 'c': only one"),
    ({"a": 0.5, "b": 0.5}, "not the class 'c': nothing is left"),
    ({"a": -0.5, "b": 1.0, "c": 0.5}, "-0.5 of class 'a'"),
    ({"a": math.nan, "b": 0.5, "c": 0.5}, "nan of class 'a'"),
    ({"a": "much"}, "numbers"), ([0.5, 0.5], "2 priors, 3 classes"), ("often", "often"),
    ([math.nan, 0.5, 0.5], "nan"), ([[0.2, 0.3, 0.5]], "flat"),
])  # fmt: skip
@pytest.mark.parametrize("kind", [GaussianNB, MultinomialNB, NaiveBayes])
def test_priors_that_are_none_are_refused(kind, prior, message):
    with pytest.raises(ValueError, match=message):
        priors_of(kind, prior).fit(LEVELS, y)


def test_virtual_examples_with_a_prior_q():
    """(#{Y = b} + m Q(Y = b)) / (n + m): lecture 2."""
    m, q = 10, np.array([0.2, 0.5, 0.3])
    expected = (np.bincount(own) + m * q) / (90 + m)
    for virtual in (m * q, (m * q).tolist(), dict(zip("abc", m * q, strict=True))):
        for kind in ALL:
            model = kind(prior_smoothing=virtual).fit(LEVELS, y)
            assert_allclose(model.class_prior_, expected, rtol=1e-12)
    part = NaiveBayes(prior_smoothing={"b": 5}).fit(LEVELS, y)
    assert_allclose(part.class_prior_, (np.bincount(own) + np.array([0, 5, 0])) / 95, rtol=1e-12)
    for bad, said in [
        ([1, 2], "2 prior_smoothing, 3"), ({"d": 1}, "class 'd'; the"), ({"a": -1}, "-1 of class"),
        ("x", "numbers"), (math.inf, "inf"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=said):
            NaiveBayes(prior_smoothing=bad).fit(LEVELS, y)


def test_priors_by_class_go_with_the_model(tmp_path):
    """Files keep them; classes that come later must be named; numbers may be named by text."""
    given = {"a": 0.5, "c": 0.3, "b": 0.2}
    model = GaussianNB(priors=given).fit(NUMBERS, y)
    model.save(tmp_path / "m")
    loaded = naively.load(tmp_path / "m")
    assert loaded.priors == given
    assert_array_equal(loaded.predict_proba(NUMBERS), model.predict_proba(NUMBERS))
    late = GaussianNB(priors=given).partial_fit(NUMBERS[y != "c"], y[y != "c"])
    with pytest.raises(ValueError, match="no training row has the class 'c'"):
        late.predict(NUMBERS)
    late.partial_fit(NUMBERS[y == "c"], y[y == "c"])
    assert_array_equal(late.predict_proba(NUMBERS), model.predict_proba(NUMBERS))
    with pytest.raises(ValueError, match="not the class 'd'"):
        late.partial_fit(NUMBERS[:1], ["d"])
    assert_array_equal(late.predict_proba(NUMBERS), model.predict_proba(NUMBERS))
    for names in ({0: 0.5, 1: 0.2, 2: 0.3}, {"0": 0.5, "1": 0.2}, {0.0: 0.5, 1.0: 0.2}):
        numbers = GaussianNB(priors=names).fit(NUMBERS, own)
        assert_allclose(numbers.predict_proba(NUMBERS), model.predict_proba(NUMBERS), rtol=1e-12)


# ---- smoothing by name ---------------------------------------------------------------------------


def test_virtual_examples_of_levels_by_their_names():
    """m Q(X_i = a, Y = b) virtual examples: lecture 2."""
    kinds = ["spam", "ham", "spam"]
    table = {"colour": ["red", "blue", "red"], "size": ["1", "2", "1"]}
    alpha = {"red": 2.0, "green": [0.5, 3.0], "blue": 1.0}  # a number each for ham and spam
    model = NaiveBayes({"colour": naively.Categorical(alpha)}).fit(table, kinds)
    found = listed(model)
    assert_allclose(found["spam", "colour", "red", "p"], (2 + 2) / (2 + 6))
    assert_allclose(found["spam", "colour", "green", "p"], 3 / (2 + 6))  # never met
    assert_allclose(found["ham", "colour", "green", "p"], 0.5 / (1 + 3.5))
    assert_allclose(found["ham", "size", "1", "p"], 1 / 3)  # as ever
    assert_allclose(model.predict_log_likelihood({"colour": ["green"], "size": [None]}),
                    [[np.log(0.5 / 4.5), np.log(3 / 8)]])  # fmt: skip


def test_levels_by_name_are_those_by_order():
    orders = [rng.uniform(0, 3, (3, k)) for k in (2, 3, 4)]
    names = [{j: own[:, j] for j in range(own.shape[1])} for own in orders]
    by_order, by_name = (CategoricalNB(alpha=one).fit(LEVELS, y) for one in (orders, names))
    assert_allclose(by_name.predict_proba(LEVELS), by_order.predict_proba(LEVELS), rtol=1e-12)
    ones = CategoricalNB(alpha=[{}, {2: 1.0}, {}]).fit(LEVELS, y)  # what is not named has 1
    plain = CategoricalNB().fit(LEVELS, y)
    assert_array_equal(ones.predict_proba(LEVELS), plain.predict_proba(LEVELS))
    unseen = [[7, 0, 7]]
    assert_array_equal(ones.predict_proba(unseen), plain.predict_proba(unseen))
    far = CategoricalNB(alpha=[{1 << 40: 2.0}]).fit(LEVELS[:, :1], y)  # of no cost in memory
    assert far.n_categories_.tolist() == [(1 << 40) + 1]
    tiny = CategoricalNB(alpha=[{0: 0}, {0: 0.0}, {}], force_alpha=False).fit(LEVELS, y)
    assert np.isfinite(tiny.predict_log_proba(LEVELS)).all()


@pytest.mark.parametrize(("alpha", "message"), [
    ([{0: -1.0}, {}, {}], "for category 0"), ([{0: math.nan}, {}, {}], "for category 0"),
    ([{"a": 1.0}, {}, {}], "'a', which is not a category code of feature 0"),
    ([{-1: 1.0}, {}, {}], "-1, which is not a category code"), ([{0: [1, 2]}, {}, {}], "3 classes"),
    ({0: 1.0}, "of a feature, but there are 3"), ([{}, {}], "2 features, but there are 3"),
])  # fmt: skip
def test_smoothing_of_levels_that_are_none_is_refused(alpha, message):
    with pytest.raises(ValueError, match=message):
        CategoricalNB(alpha=alpha).fit(LEVELS, y)


@pytest.mark.parametrize("event", ["multinomial", "complement", "bernoulli", "binary"])
def test_smoothing_of_words(event):
    """A word with its own l, the others with 1, is a `MultinomialNB` with these l."""
    model = TextNB(event, alpha={"free": 2.0}, weights=None).fit(MAILS, KINDS)
    alpha = np.where(model.terms_ == "free", 2.0, 1.0)
    counts = model.feature_count_
    if event == "multinomial":
        theta = (counts + alpha) / (counts + alpha).sum(axis=1, keepdims=True)
        assert_allclose(np.exp(model.feature_log_prob_), theta)
    plain = TextNB(event, weights=None).fit(MAILS, KINDS)
    moved = model.predict_proba(["free"]) - plain.predict_proba(["free"])
    assert np.abs(moved).max() > 0.01
    ones = TextNB(event, alpha={"free": 1.0}, weights=None).fit(MAILS, KINDS)
    assert_allclose(ones.predict_proba(MAILS), plain.predict_proba(MAILS), rtol=1e-12)


def test_smoothing_of_words_that_are_none_is_refused(tmp_path):
    for alpha, message in (({"Free": 2}, "'Free', which is not a term of the training data"),
                           ({"free": -2}, "for 'free'"), ({"free": [1, 2]}, "'free' must be one"),
                           ({3: 1.0}, "3, which is not a term")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            TextNB(alpha=alpha).fit(MAILS, KINDS)
    with pytest.raises(ValueError, match="hashed"):
        TextNB(alpha={"free": 2}, n_features=8).fit(MAILS, KINDS)
    with pytest.raises(ValueError, match="one number"):
        naively.NBSVM(alpha={"free": 2}).fit(MAILS, KINDS)
    model = TextNB(alpha={"free": 2}).fit(MAILS, KINDS)
    model.save(tmp_path / "m")
    assert_array_equal(
        naively.load(tmp_path / "m").predict_proba(MAILS), model.predict_proba(MAILS)
    )
    assert model.out_of_fold(MAILS, KINDS, parts=2).log_loss > 0  # of a part that lacks the word


# ---- one class -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "X"), [
    (NaiveBayes(), TABLE), (NaiveBayes(family="auto"), TABLE), (JointBayes(), TABLE),
    (AutoBayes(), TABLE), (AutoBayes(interactions=0), LEVELS), (GaussianBayes(), NUMBERS),
    (GaussianBayes("tied"), NUMBERS), (TextNB(), MAILS), (TextNB("complement"), MAILS),
    (TextNB("bernoulli", weighting=None), MAILS),
], ids=str)  # fmt: skip
def test_one_class_is_predicted(model, X):
    """A shard may hold one class: what it learned adds up, and alone it predicts that one."""
    n = len(X)
    model.fit(X, ["only"] * n)
    assert model.predict(X).tolist() == ["only"] * n
    assert (model.predict_proba(X) == 1.0).all()
    assert model.explain(X)[0].proba.tolist() == [1.0]
    model.partial_fit(X, ["other"] * n)
    assert_allclose(model.class_prior_, [0.5, 0.5])


def test_no_class_is_too_few():
    with pytest.raises(ValueError, match="y has no labels"):
        NaiveBayes().fit(TABLE, [None] * 90)
    with pytest.raises(ValueError, match="only one class"):
        naively.NBSVM().fit(MAILS, ["spam"] * 4)


# ---- the terms that tell most about each class ---------------------------------------------------


MODELS = [TextNB(), TextNB("bernoulli"), TextNB("binary", ngram_range=(1, 2)), NBSVM()]


@pytest.mark.parametrize("model", [*MODELS, TextNB(models="auto")], ids=str)
@pytest.mark.parametrize("data", [TWO, THREE], ids=["two", "three"])
def test_they_are_those_that_inspect_lists(model, data, tmp_path, capsys):
    texts, y = data
    labels = np.array(["ant", "bee", "cat"])[y]
    model.fit(texts, labels)
    table = model.informative_terms(30).to_pylist()
    model.save(tmp_path / "m")
    out, _ = naive(capsys, "inspect", tmp_path / "m", "--json")
    told = json.loads(out)["texts"]["text"]["classes"]
    assert table == [{"class": one["class"], **term} for one in told for term in one["terms"]]
    assert {row["class"] for row in model.informative_terms(1).to_pylist()} <= set(labels)
    # a term of several models is that of the first
    bits = dict(zip(model.terms_[::-1], model.information_[::-1], strict=True))
    for row in table:
        assert row["log_odds"] > 0
        assert row["bits"] == bits[row["term"]]


def test_of_a_support_vector_machine_they_are_its_weights():
    texts, y = TWO
    model = NBSVM().fit(texts, y)
    added = dict(zip(model.terms_, model.scale_ * model.coef_[0], strict=True))
    for row in model.informative_terms(40).to_pylist():
        assert row["log_odds"] == pytest.approx(added[row["term"]] * (1 if row["class"] else -1))
    for label in (0, 1):
        one, *_ = [row for row in model.informative_terms(5).to_pylist() if row["class"] == label]
        (why,) = model.explain([one["term"]])
        assert why.log_odds(label, 1 - label)[1] == pytest.approx([one["log_odds"]])


@pytest.mark.parametrize("model", [TextNB(alpha=1.0), *MODELS[1:]], ids=str)
def test_names_of_features_are_scikit_learns(model):
    texts, y = TWO
    words = CountVectorizer(ngram_range=model.ngram_range).fit(texts)
    model.fit(texts, y)
    assert_array_equal(model.get_feature_names_out(), words.get_feature_names_out())
    few = type(model)(drop_most_frequent=3).fit(texts, y)
    counts = np.asarray(CountVectorizer().fit_transform(texts).sum(axis=0))[0]
    gone = set(CountVectorizer().fit(texts).get_feature_names_out()) - set(few.terms_)
    assert len(gone) == 3
    places = CountVectorizer().fit(texts).vocabulary_
    assert min(counts[places[term]] for term in gone) >= np.sort(counts)[-4]


def test_what_is_refused():
    texts, y = TWO
    with pytest.raises(ValueError, match="hashed"):
        TextNB(n_features=64).fit(texts, y).informative_terms()
    model = TextNB().fit(texts, y)
    for k in (-1, 1.5, "3", True):
        with pytest.raises(ValueError, match="k must be a number of terms"):
            model.informative_terms(k)
    none = model.informative_terms(0)
    assert none.num_rows == 0
    assert none.column_names == ["class", "term", "log_odds", "bits", "occurrences", "p"]
    assert TextNB().fit(["one", "two \ud800"], [0, 1]).informative_terms().num_rows == 2
