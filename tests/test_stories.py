"""Sampling rows of a class; models of given parameters; the Bayes error."""

import doctest
import itertools
import math
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from kit import CLASSIFIERS, domain, new, numbers
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multinomial, multivariate_normal, norm
from sklearn.datasets import load_digits

import naively
from naively import (
    AutoBayes,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretized,
    Exponential,
    Gamma,
    Gaussian,
    GaussianBayes,
    GaussianNB,
    JointBayes,
    KernelDensity,
    LogNormal,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    Student,
    TextNB,
)

FAR = 4.5  # standard errors; the seeds are fixed
PRIOR = [0.2, 0.5, 0.3]
COUNTS = np.array([[3, 0, 1], [0, 4, 1], [2, 2, 2], [5, 1, 0]])
LETTERS = ["a", "b", "a", "b"]
THREE = np.arange(60) % 3
POSITIVE = np.random.default_rng(0).gamma(2.0 + THREE[:, None], 1.0, (60, 2)), THREE


def floats(low, high):
    return st.floats(low, high, allow_subnormal=False)


def shares(rows, size):
    """Rows of probabilities."""
    weights = arrays(np.float64, (rows, size), elements=floats(0.01, 1.0))
    return weights.map(lambda w: w / w.sum(axis=1, keepdims=True))


# ---- parameters in, the same parameters out ------------------------------------------------------


@given(
    arrays(np.float64, (3, 2), elements=floats(-1e9, 1e9)),
    arrays(np.float64, (3, 2), elements=floats(1e-9, 1e9)),
    shares(1, 3),
)
def test_means_and_variances_are_those_that_were_given(mean, variance, prior):
    model = GaussianNB.from_parameters(mean, variance, prior=prior[0])
    assert_array_equal(model.theta_, mean)
    assert_array_equal(model.var_, variance)
    assert_allclose(model.class_prior_, prior[0], rtol=1e-12)
    other = GaussianNB.from_parameters(mean[:, :1] + [0, 0], variance[0], prior=prior[0])
    assert_allclose(other.var_, np.repeat(variance[:1], 3, axis=0), rtol=1e-12)


@given(
    arrays(np.float64, (2, 3), elements=floats(-1e6, 1e6)),
    arrays(np.float64, (2, 3, 3), elements=floats(-1.0, 1.0)),
    floats(0.01, 0.99),
)
def test_covariances_are_those_that_were_given(mean, roots, share):
    spread = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(3)
    prior = [share, 1 - share]
    full = GaussianBayes.from_parameters(mean, spread, prior=prior, classes=["b", "a"])
    assert_array_equal(full.means_, mean[::-1])
    assert_allclose(full.covariance_, spread[::-1], rtol=1e-9, atol=1e-12)
    assert_allclose(full.class_prior_, prior[::-1], rtol=1e-12)
    tied = GaussianBayes.from_parameters(mean, spread[0], prior=prior)
    assert_allclose(tied.covariance_, spread[0], rtol=1e-9, atol=1e-12)
    x = mean + 0.5
    told = [multivariate_normal(m, s).logpdf(x) for m, s in zip(mean, spread, strict=True)]
    whole = np.exp(told).T @ np.array(prior)
    assert_allclose(np.exp(full.score_samples(x)), whole, rtol=1e-6)


@given(shares(3, 4), shares(1, 3))
def test_probabilities_are_those_that_were_given(theta, prior):
    dice = MultinomialNB.from_parameters(theta, prior=prior[0])
    coins = BernoulliNB.from_parameters(theta, prior=prior[0])
    levels = CategoricalNB.from_parameters([theta, theta[:, ::-1]], prior=prior[0])
    words = TextNB.from_parameters(["aa", "bb", "cc", "dd"], theta, prior=prior[0])
    for found in (dice.feature_log_prob_, coins.feature_log_prob_, words.feature_log_prob_):
        assert_allclose(np.exp(found), theta, rtol=1e-12)
    for found, own in zip(levels.feature_log_prob_, (theta, theta[:, ::-1]), strict=True):
        assert_allclose(np.exp(found), own, rtol=1e-12)
    for model in (dice, coins, levels, words):
        assert_allclose(model.class_prior_, prior[0], rtol=1e-12)
        assert_allclose(model.class_count_.sum(), 1.0, rtol=1e-12)


def test_a_given_coin_may_be_certain():
    coins = BernoulliNB.from_parameters([[1.0, 0.5], [0.0, 0.5]], classes=["x", "y"])
    assert coins.predict([[1, 0], [0, 1]]).tolist() == ["x", "y"]
    die = CategoricalNB.from_parameters([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]])
    assert die.n_categories_.tolist() == [3]
    assert_allclose(die.predict_proba([[0], [1]]), [[2 / 3, 1 / 3], [0, 1]])


def test_given_parameters_learn_on_as_one_row(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.repeat([0, 1, 2], 10)
    model = GaussianNB.from_parameters([[1.0, 2.0], [0.0, 5.0], [3.0, 3.0]], 1.0, prior=PRIOR)
    model.save(tmp_path / "model")
    loaded = naively.load(tmp_path / "model")
    assert loaded.model_ == model.model_
    assert loaded.get_params() == model.get_params()
    model.partial_fit(X, y)
    expected = (0.2 * np.array([1.0, 2.0]) + X[:10].sum(axis=0)) / 10.2
    assert_allclose(model.theta_[0], expected, rtol=1e-12)
    assert (loaded + GaussianNB(tie="both").fit(X, y)).model_ == model.model_
    model.forget(X, y)
    assert model.model_ == loaded.model_


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GaussianNB.from_parameters([0, 1], 1.0), r"mean must be of shape .* not \(2,\)"),
        (lambda: GaussianNB.from_parameters([[0], ["x"]], 1.0), "mean must be numbers"),
        (lambda: GaussianNB.from_parameters([[0], [np.nan]], 1.0), "mean must be finite"),
        (lambda: GaussianNB.from_parameters([[0], [1]], 0.0), "variance must be above 0, not 0"),
        (lambda: GaussianNB.from_parameters([[0], [1]], [1, 2, 3]), r"\(3,\) does not fit mean"),
        (lambda: GaussianNB.from_parameters([[0], [1]], 1, prior=[0.5, 0.6]), "should be 1"),
        (lambda: GaussianNB.from_parameters([[0], [1]], 1, prior=[1, 0]), "class 1 is 0: leave"),
        (lambda: GaussianNB.from_parameters([[0], [1]], 1, prior=[1.0]), "1 priors, 2 classes"),
        (lambda: GaussianNB.from_parameters([[0], [1]], 1, prior="empirical"), "'empirical'"),
        (
            lambda: GaussianNB.from_parameters([[0], [1]], 1, classes=["a"]),
            "2 classes, but 1 label",
        ),
        (lambda: GaussianNB.from_parameters([[0], [1]], 1, classes=["a", "a"]), "different labels"),
        (lambda: GaussianBayes.from_parameters([[0, 0]], [[1, 2], [0, 1]]), "not symmetric"),
        (lambda: GaussianBayes.from_parameters([[0, 0]], [[1, 2], [2, 1]]), "positive definite"),
        (lambda: GaussianBayes.from_parameters([[0, 0]], np.eye(3)), "does not fit mean"),
        (lambda: MultinomialNB.from_parameters([[0.5, 0.4]]), "row 0 of theta must sum to 1"),
        (lambda: MultinomialNB.from_parameters([[1.5, -0.5]]), "it has -0.5"),
        (lambda: BernoulliNB.from_parameters([[0.5, 1.5]]), "it has 1.5"),
        (lambda: CategoricalNB.from_parameters([]), "there is none"),
        (lambda: CategoricalNB.from_parameters([[[1.0]], [[1.0], [1.0]]]), r"not \[1, 2\]"),
        (lambda: TextNB.from_parameters(["a1", "B2"], [[0.5, 0.5]] * 2), "'B2' is not a word"),
        (lambda: TextNB.from_parameters(["a1", "a1"], [[0.5, 0.5]] * 2), "'a1' is there twice"),
        (lambda: TextNB.from_parameters(["a1"], [[0.5, 0.5]] * 2), "2 words a class, but terms"),
    ],
)
def test_parameters_that_no_model_has_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()


# ---- the error of the best classifier ------------------------------------------------------------


def near(found, truth):
    assert abs(found.value - truth) < FAR * found.standard_error, (found, truth)
    assert found.standard_error < 0.003


def lost(joint):
    """Σ_x p(x) - max_c p(x, c), of a (C, cells) table."""
    return 1.0 - joint.max(axis=0).sum()


@pytest.mark.parametrize("apart", [0.5, 2.0, 5.0])
def test_the_error_of_two_gaussians_is_known(apart):
    """R(f*) = Φ(-Δ / 2), Δ² = (μ1 - μ0)ᵀ Σ⁻¹ (μ1 - μ0), for equal priors and covariances."""
    spread = np.array([[2.0, 0.8], [0.8, 1.0]])
    way = np.array([1.0, -1.0])
    way *= apart / math.sqrt(way @ np.linalg.solve(spread, way))
    model = GaussianBayes.from_parameters([[5, 5], np.array([5, 5]) + way], spread)
    near(model.bayes_error(random_state=0), norm.cdf(-apart / 2))


def test_the_error_of_two_gaussians_with_other_priors_is_known():
    """One feature, σ = 1, means 0 and 2: the boundary is at 1 + log(π0 / π1) / 2."""
    model = GaussianNB.from_parameters([[0.0], [2.0]], 1.0, prior=[0.8, 0.2])
    t = 1.0 + math.log(4.0) / 2.0
    near(model.bayes_error(random_state=1), 0.8 * norm.sf(t) + 0.2 * norm.cdf(t - 2.0))


def test_the_error_of_coins_and_dice_is_a_sum():
    p = np.array([[0.9, 0.5, 0.2], [0.3, 0.4, 0.6], [0.5, 0.1, 0.8]])
    rows = np.array(list(itertools.product([0, 1], repeat=3)))
    joint = np.prod(np.where(rows[:, None, :], p, 1 - p), axis=2).T * np.array(PRIOR)[:, None]
    near(BernoulliNB.from_parameters(p, prior=PRIOR).bayes_error(random_state=0), lost(joint))
    dice = [np.stack([1 - own, own], axis=1) for own in p.T]
    near(CategoricalNB.from_parameters(dice, prior=PRIOR).bayes_error(random_state=0), lost(joint))


def test_the_error_of_longer_documents_is_less():
    theta = np.array([[0.5, 0.3, 0.2], [0.3, 0.3, 0.4], [0.2, 0.6, 0.2]])
    counts = MultinomialNB.from_parameters(theta, prior=PRIOR)
    words = TextNB.from_parameters(["aa", "bb", "cc"], theta, prior=PRIOR)
    before = 1.0
    for m in (0, 1, 4, 12):
        x = [r for r in itertools.product(range(m + 1), repeat=3) if sum(r) == m]
        joint = [p * multinomial.pmf(x, m, own) for p, own in zip(PRIOR, theta, strict=True)]
        truth = lost(np.array(joint))
        for model in (counts, words):
            found = model.bayes_error(50_000, random_state=0, length=m)
            assert abs(found.value - truth) <= max(FAR * found.standard_error, 1e-9)
        assert truth < before or m == 1 >= truth
        before = truth


def test_the_error_of_a_table_is_that_of_its_parts():
    """A feature that is the same in each class changes nothing, whatever its family."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 200)
    x = rng.normal(np.where(y == "a", 0.0, 1.5))
    table = {"x": x, "word": np.tile(["left", "right"], 200)}
    one = NaiveBayes().fit({"x": x}, y).bayes_error(random_state=0)
    two = NaiveBayes().fit(table, y).bayes_error(random_state=1)
    assert abs(one.value - two.value) < FAR * math.hypot(one.standard_error, two.standard_error)
    assert 0.1 < one.value < 0.4


STORIES = {
    **{
        name: lambda name=name: new(name).fit(*numbers(domain(name), 60, 3))
        for name in CLASSIFIERS
        if "complement" not in name
    },
    **{
        family.__name__: lambda family=family: NaiveBayes(family=family()).fit(*POSITIVE)
        for family in (
            Discretized, Exponential, Gamma, Gaussian, KernelDensity, LogNormal, Student,
        )
    },
    "full": lambda: GaussianBayes().fit(*POSITIVE),
    "tied": lambda: GaussianBayes("tied").fit(*POSITIVE),
    "joint": lambda: JointBayes().fit(POSITIVE[0].round(), THREE),
    "table": lambda: NaiveBayes().fit({"x": POSITIVE[0][:, 0], "k": list("abcd" * 15)}, THREE),
    "words": lambda: TextNB("bernoulli").fit(["win noon", "win", "noon lunch"] * 20, THREE),
}  # fmt: skip


@pytest.mark.parametrize("name", STORIES)
def test_the_bayes_error_is_that_of_predictions_for_rows_that_are_drawn(name):
    """So rows are drawn from the very distribution that scores them."""
    model = STORIES[name]()
    found = model.bayes_error(20_000, random_state=0)
    X, y = model.sample(20_000, random_state=1)
    wrong = (model.predict(X) != y).mean()
    bar = math.hypot(found.standard_error, math.sqrt(wrong * (1 - wrong) / 20_000))
    assert abs(found.value - wrong) < FAR * bar


def test_an_image_of_a_3():
    X, y = load_digits(return_X_y=True)
    model = BernoulliNB(binarize=7).fit(X, y)
    images, labels = model.sample(200, 0, label=3)
    assert set(labels.tolist()) == {3}
    assert images.shape == (200, 64)
    assert (model.predict(images) == 3).mean() > 0.9


def test_no_bayes_error_for_scores_that_draw_no_rows():
    texts = ["win money", "noon lunch", "money money", "lunch"]
    table = {"x": [1.0, 2.5, 3.5, 4.0] * 5}
    for model in (
        ComplementNB().fit(COUNTS, LETTERS),
        TextNB(weighting="tfidf").fit(texts, LETTERS),
        TextNB("binary").fit(texts, LETTERS),
        AutoBayes().fit(table, LETTERS * 5),
    ):
        with pytest.raises(ValueError, match="no Bayes error"):
            model.bayes_error()
    for n in (1, 2.5, -3, "many"):
        with pytest.raises(ValueError, match="n_samples must be a number of rows, 2 or more"):
            MultinomialNB().fit(COUNTS, LETTERS).bayes_error(n)


def test_an_error_is_printed_with_its_bar():
    model = GaussianNB.from_parameters([[-1.0], [1.0]], 1.0)
    found = model.bayes_error(10_000, random_state=0)
    assert found == model.bayes_error(10_000, random_state=0) != model.bayes_error(10_000, 1)
    assert f"{found.value:.4f} ± {found.standard_error:.4f} (10,000 rows" in str(found)


# ---- rows of a class, of a length ----------------------------------------------------------------


def test_rows_of_a_class_have_its_distribution():
    model = GaussianNB.from_parameters([[0.0, 5.0], [3.0, -5.0]], [[1.0, 4.0], [9.0, 1.0]])
    X, y = model.sample(20_000, 0, label=1)
    assert set(y.tolist()) == {1}
    assert (abs(X.mean(axis=0) - [3.0, -5.0]) < FAR * np.array([3.0, 1.0]) / 141).all()
    assert_allclose(X.std(axis=0), [3.0, 1.0], rtol=0.03)


def test_a_document_has_the_requested_length():
    theta = [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]
    words = TextNB.from_parameters(["free", "the", "noon"], theta, classes=["spam", "ham"])
    texts, labels = words.sample(400, 0, label="spam", length=37)
    assert {len(text.split()) for text in texts} == {37}
    assert set(labels) == {"spam"}
    share = " ".join(texts).split().count("free") / (400 * 37)
    assert abs(share - 0.7) < FAR * math.sqrt(0.7 * 0.3 / (400 * 37))
    counts, labels = MultinomialNB.from_parameters(theta).sample(50, 0, length=5)
    assert set(counts.sum(axis=1).tolist()) == {5}
    assert set(labels.tolist()) == {0, 1}
    assert words.sample(2, 0, length=0)[0] == ["", ""]
    assert len(words.sample(1, 0)[0][0].split()) == 100


def test_a_length_is_of_the_text_of_a_table():
    table = {"text": ["win money now", "lunch at noon"] * 10, "n": np.arange(20.0) ** 1.5}
    model = NaiveBayes(columns={"text": naively.Text()}).fit(table, ["spam", "ham"] * 10)
    drawn, labels = model.sample(6, 0, label="ham", length=4)
    assert {len(text.split()) for text in drawn["text"]} == {4}
    assert len(drawn["n"]) == 6
    assert set(labels) == {"ham"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"label": "c"}, "label must be one of the classes, 'a', 'b', not 'c'"),
        ({"label": np.array(["a", "b"])}, "not \\['a', 'b'\\]"),
        ({"length": -1}, "length must be a number of events, 0 or more, not -1"),
        ({"length": 2.5}, "not 2.5"),
        ({"length": True}, "not True"),
        ({"n_samples": -1}, "n_samples must be a number of rows, 0 or more, not -1"),
    ],
)
def test_samples_that_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        MultinomialNB().fit(COUNTS, LETTERS).sample(**options)


@pytest.mark.parametrize("model", [GaussianNB(), PoissonNB(), BernoulliNB(), NaiveBayes()])
def test_rows_without_events_have_no_length(model):
    with pytest.raises(ValueError, match="length is for counts of events"):
        model.fit(COUNTS, LETTERS).sample(length=3)


@pytest.mark.parametrize("module", ["shared.base", "gaussian", "discrete", "text"])
def test_the_examples(module):
    found = doctest.testmod(import_module(f"naively.estimators.{module}"))
    assert found.attempted > 0 == found.failed


@pytest.mark.parametrize("length", [3, 40])
def test_few_events_and_many_are_drawn_alike(length):
    theta = np.array([[0.0, 0.2, 0.5, 0.1, 0.2, 0.0], [0.3, 0.1, 0.1, 0.1, 0.1, 0.3]])
    counts, labels = MultinomialNB.from_parameters(theta).sample(6000, 0, length=length)
    assert set(counts.sum(axis=1).tolist()) == {length}
    for c in (0, 1):
        own = counts[labels == c]
        bar = np.sqrt(length * theta[c] * (1 - theta[c]) / len(own))
        assert (abs(own.mean(axis=0) - length * theta[c]) <= FAR * bar).all()
        variance = length * theta[c] * (1 - theta[c])
        assert_allclose(own.var(axis=0), variance, rtol=0.15)
