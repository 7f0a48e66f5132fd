"""The terms of the lectures by their names: P(x | y), likelihoods, counts, parameters, priors."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import logsumexp
from sklearn.metrics import log_loss

import naively
from naively import (
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
    text = TextNB().fit(MAILS, KINDS)
    bags = np.exp(text.predict_log_likelihood(["free prize", "prize free", "free free"]))
    theta = dict(zip(text.terms_, np.exp(text.feature_log_prob_).T, strict=True))
    assert_allclose(bags[0], 2 * theta["free"] * theta["prize"])  # either order
    assert_array_equal(bags[0], bags[1])
    assert_allclose(bags[2], theta["free"] ** 2)


def test_labels_without_a_likelihood_are_refused():
    model = NaiveBayes().fit(TABLE, y)
    with pytest.raises(ValueError, match=r"label 'd' in row 89, .* knows 'a', 'b', 'c'"):
        model.log_likelihood(TABLE, [*y[:-1], "d"])
    with pytest.raises(ValueError, match="label of row 3 is missing"):
        model.log_likelihood(TABLE, [*y[:3], None, *y[4:]])
    with pytest.raises(ValueError, match="89"):
        GaussianNB().fit(NUMBERS, y).log_likelihood(NUMBERS, y[1:])
    with pytest.raises(ValueError, match="no density"):
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
    for model in (JointBayes(), AutoBayes()):
        assert {key[3] for key in listed(model.fit(TABLE, y))} == {"prior"}


def test_parameter_counts_of_any_size_can_be_printed():
    count = naively.parameter_counts(10, 256 * 256)["joint table"]
    assert count == 10 * (2**65536 - 1)  # exact
    assert str(count) == repr(count) == f"{count}" == "2.00e+19729"
    model = JointBayes(min_categories=2).fit(np.zeros((2, 65536)), [0, 1])
    assert str(model.n_parameters_) == "4.01e+19728"
    few = naively.parameter_counts(10, 256 * 256)["full covariance"]
    assert (str(few), json.dumps(few), f"{few:,}") == ("21475819520",) * 2 + ("21,475,819,520",)
