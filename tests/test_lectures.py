"""Every formula of the five lectures, computed as written, against the library.

1. Cornell, "Bayes Classifier and Naive Bayes" (notes); 2. CMU 10-701, "Naïve Bayes Classifier";
3. Cornell, "Naive Bayes" (slides of 2026); 4. "Bernoulli and multinomial NBC" (note); 5. EURECOM,
"Naive Bayes Classifier". Docstrings say where a formula is. Slips of the lectures are named:

- lecture 1 has a product d∏α-1 for ∏ from α = 1 to d, and "∝" after an arg max for "=";
- lecture 2 has √(2π|Σ|) for √((2π)^d |Σ|), where d = 2; and counts 2Kd parameters for variances
  σ²_i that the classes share, of which there are d and not Kd; and two bags of words, held
  against `bag_of_words` in `test_bag_of_words`: "gas" once, which is twice on the TOTAL page, and
  "the" twice, which the sleeper is told three times;
- lecture 3 has 1 / (1 - exp(y (w · x + b))) for 1 / (1 + exp(-y (w · x + b))), and
  w_α = μ_α+ - μ_α-, which is so for σ_α = 1 only;
- lecture 4 has Σ x_i / Π x_i! for (Σ x_i)! / Π x_i!, and f_k = Σ f_ik over K classes for over n
  features.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from naively import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianBayes,
    GaussianNB,
    JointBayes,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    TextNB,
)

rng = np.random.default_rng(10701)
n = 60
y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
K = range(3)
LEVELS = np.column_stack([rng.integers(0, k, n) for k in (2, 3, 4)])
LEVELS[:4] = [[0, 0, 0], [1, 1, 1], [0, 2, 2], [1, 0, 3]]  # each level is met
WORDS = rng.poisson(rng.gamma(2.0, 1.0, (3, 5))[y]) + (rng.random((n, 5)) < 0.2)
BITS = (rng.random((n, 4)) < rng.random((3, 4))[y]).astype(int)
NUMBERS = rng.normal(y[:, np.newaxis], [1.0, 2.0, 0.5], (n, 3))


def I(truth):  # noqa: E743
    """The lectures' indicator: 1 where something is true."""
    return np.asarray(truth, float)


def n_of(c):
    """n_c, the number of samples of a class."""
    return sum(I(y == c))


PI = np.array([n_of(c) / n for c in K])  # π_c


def normal(x, mean, variance):
    """N(x; μ, σ²)."""
    return np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)


def gaussian_likelihood(X):
    """P(x | y = c) of rows, (rows, C), as lecture 1, case 3 writes it."""
    mean = np.array([NUMBERS[y == c].mean(axis=0) for c in K])
    variance = np.array([NUMBERS[y == c].var(axis=0) for c in K])
    return np.array([[np.prod(normal(x, mean[c], variance[c])) for c in K] for x in X])


def likelihood(classifier, X):
    """P(x | y = c) of rows, (rows, C), as a classifier has it, up to a factor of x alone."""
    return np.exp(classifier.predict_joint_log_proba(X)) / PI


def gaussian():
    return GaussianNB(var_smoothing=0).fit(NUMBERS, y)


# ---- Bayes rule and the Bayes classifier ---------------------------------------------------------


def test_bayes_rule():
    """Lectures 1, 2 ("Optimal Classifier") and 4 ("Bayes Theorem"): P(y|x) = P(x|y) P(y) / P(x)."""
    p_x_given_y = gaussian_likelihood(NUMBERS)
    p_x = sum(p_x_given_y[:, c] * PI[c] for c in K)
    classifier = gaussian()
    assert_allclose(np.exp(classifier.score_samples(NUMBERS)), p_x, rtol=1e-10)
    p_y_given_x = p_x_given_y * PI / p_x[:, np.newaxis]
    assert_allclose(classifier.predict_proba(NUMBERS), p_y_given_x, rtol=1e-10)


def test_posterior_is_normalised_over_the_classes():
    """Lecture 5: p(y = k | x) = p(x | y = k) p(y = k) / Σ_j p(x | y = j) p(y = j)."""
    p = gaussian_likelihood(NUMBERS)
    posterior = [[p[i, k] * PI[k] / sum(p[i, j] * PI[j] for j in K) for k in K] for i in range(n)]
    ours = gaussian().predict_proba(NUMBERS)
    assert_allclose(ours, posterior, rtol=1e-10)
    assert_allclose(ours.sum(axis=1), 1, rtol=1e-14)


def test_bayes_classifier_is_the_arg_max():
    """Lectures 1, 2 and 4: h(x) = argmax_y P(y|x) = argmax_y P(x|y) P(y)."""
    classifier = gaussian()
    assert_array_equal(classifier.predict(NUMBERS), classifier.predict_proba(NUMBERS).argmax(1))
    assert_array_equal(classifier.predict(NUMBERS), (gaussian_likelihood(NUMBERS) * PI).argmax(1))


def test_optimal_classifier_still_errs():
    """Lecture 2, "Optimal Classification": R(f) = P(f(X) ≠ Y), least for f*, and R(f*) > 0."""
    draw = np.random.default_rng(2017)
    side = draw.choice([-1, 1], 100_000)
    x = draw.normal(side, 1.0)[:, np.newaxis]
    learned, tested = slice(0, 50_000), slice(50_000, None)
    f = GaussianNB(priors="uniform").fit(x[learned], side[learned])
    risk = np.mean(f.predict(x[tested]) != side[tested])
    optimal = stats.norm.cdf(-1.0)  # f* = sign(x)
    assert optimal > 0
    assert abs(risk - optimal) < 4 * np.sqrt(optimal * (1 - optimal) / 50_000)
    for other in (-0.5, 0.5):
        assert np.mean(np.where(x[tested, 0] > other, 1, -1) != side[tested]) > risk


# ---- counting the joint distribution -------------------------------------------------------------


def joint(**parameters):
    return JointBayes(alpha=0, **parameters).fit(LEVELS[:, :2], y)


def test_conditional_by_counting():
    """Lectures 1 and 3: P(y|x) = Σ I(x_i = x ∧ y_i = y) / Σ I(x_i = x) = |C| / |B|."""
    for x, p in zip(LEVELS[:, :2], joint().predict_proba(LEVELS[:, :2]), strict=True):
        same = (LEVELS[:, :2] == x).all(axis=1)
        b = sum(I(same))
        assert_allclose(p, [sum(I(same & (y == c))) / b for c in K], rtol=1e-12)


def test_joint_by_counting():
    """Lecture 3, section 1: P(x, y) = Σ I(x_i = x) I(y_i = y) / n and P(x) = Σ I(x_i = x) / n."""
    same = (LEVELS[:, np.newaxis, :2] == LEVELS[:, :2]).all(axis=2)
    p_xy = np.array([[sum(I(same[i]) * I(y == c)) / n for c in K] for i in range(n)])
    ours = np.exp(joint().predict_joint_log_proba(LEVELS[:, :2]))
    assert_allclose(ours, p_xy, rtol=1e-12)
    p_x = np.exp(joint().score_samples(LEVELS[:, :2]))
    assert_allclose(p_x, [sum(I(same[i])) / n for i in range(n)], rtol=1e-12)


def test_curse_of_dimensionality():
    """Lectures 1 and 3: |B| → 0 and |C| → 0 as d grows; there is the class prior and no more."""
    met = []
    for d in (2, 8, 30):
        draw = np.random.default_rng(d)
        rows, new = draw.integers(0, 2, (2, 200, d))
        labels = draw.integers(0, 2, 200)
        table = JointBayes(alpha=0).fit(rows, labels)
        never = np.isneginf(table.score_samples(new))
        met.append(1 - never.mean())
        prior = np.bincount(labels) / 200
        assert_allclose(table.predict_proba(new)[never], np.tile(prior, (never.sum(), 1)))
    assert met[0] == 1
    assert met[0] > met[1] > met[2] == 0


# ---- the class prior -----------------------------------------------------------------------------


def test_class_prior_mle():
    """Lectures 1 to 4: π_c = Σ I(y_i = c) / n, the empirical prior of lecture 5."""
    pi = [sum(I(y == c)) / n for c in K]
    for classifier, X in [(GaussianNB(), NUMBERS), (MultinomialNB(), WORDS), (NaiveBayes(), BITS)]:
        assert_allclose(classifier.fit(X, y).class_prior_, pi, rtol=1e-15)


def test_class_prior_map():
    """Lecture 2, "MAP estimates": Q(Y = b) times m virtual examples; l of each class is m / K."""
    l = 1.0
    expected = [(n_of(c) + l) / (n + l * len(K)) for c in K]
    for classifier in (GaussianNB(prior_smoothing=l), NaiveBayes(prior_smoothing=l)):
        assert_allclose(classifier.fit(NUMBERS, y).class_prior_, expected, rtol=1e-14)


def test_class_prior_uniform():
    """Lecture 4: P(y_k) = 1/K; then the class of most probability is that of most likelihood."""
    for classifier, X in [
        (GaussianNB(priors="uniform", var_smoothing=0), NUMBERS),
        (MultinomialNB(fit_prior=False), WORDS),
        (NaiveBayes(prior="uniform"), NUMBERS),
    ]:
        assert_allclose(classifier.fit(X, y).class_prior_, [1 / 3] * 3, rtol=1e-15)
    uniform = GaussianNB(priors="uniform", var_smoothing=0).fit(NUMBERS, y)
    assert_array_equal(uniform.predict(NUMBERS), gaussian_likelihood(NUMBERS).argmax(axis=1))


def test_class_prior_like_a_coin_flip():
    """Lecture 2, "Model based Approach": P(Y = 1) = θ and P(Y = 0) = 1 - θ, known beforehand."""
    two, theta = y < 2, 0.9
    classifier = GaussianNB(priors=[1 - theta, theta], var_smoothing=0)
    classifier.fit(NUMBERS[two], y[two])
    p = gaussian_likelihood(NUMBERS)[:, :2] * [1 - theta, theta]
    assert_allclose(classifier.predict_proba(NUMBERS), p / p.sum(axis=1, keepdims=True), rtol=1e-10)


# ---- the naive assumption ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classifier", "X"),
    [
        (GaussianNB(var_smoothing=0), NUMBERS),
        (CategoricalNB(), LEVELS),
        (BernoulliNB(), BITS),
        (PoissonNB(), WORDS),
    ],
    ids=["Gaussian", "categorical", "Bernoulli", "Poisson"],
)
def test_naive_product(classifier, X):
    """Lectures 1, 2, 4 and 5: P(x|y) = Π_α P(x_α|y), so that log P(x|y) = Σ_α log P(x_α|y).

    Each P(x_α|y) is learned from x_α alone: the estimates are uncoupled (lecture 2, "Gaussian Naïve
    Bayes vs. Logistic Regression").
    """
    together = np.log(likelihood(classifier.fit(X, y), X))
    columns = [X[:, a : a + 1] for a in range(X.shape[1])]
    apart = [np.log(likelihood(classifier.fit(x, y), x)) for x in columns]
    assert_allclose(together, sum(apart), rtol=1e-11)


def test_naive_product_of_families():
    """Lecture 1, the three cases side by side: each column has a P(x_α|y) of its own kind."""
    table = {"level": LEVELS[:, 2], "count": WORDS[:, 0], "number": NUMBERS[:, 0]}
    classifier = NaiveBayes({"level": "categorical", "count": "poisson", "number": "gaussian"})
    classifier.fit(table, y)
    apart = [
        likelihood(CategoricalNB().fit(LEVELS[:, 2:], y), LEVELS[:, 2:]),
        likelihood(PoissonNB().fit(WORDS[:, :1], y), WORDS[:, :1]),
        likelihood(GaussianNB().fit(NUMBERS[:, :1], y), NUMBERS[:, :1]),
    ]
    assert_allclose(likelihood(classifier, table), np.prod(apart, axis=0), rtol=1e-9)


def test_steps_of_the_naive_bayes_classifier():
    """Lecture 3, section 3, (1) to (5), and lecture 1: the arg max is the same in each line."""
    classifier = gaussian()
    mean, variance = classifier.theta_, classifier.var_
    p_a = np.array([[normal(x, mean[c], variance[c]) for c in K] for x in NUMBERS])  # P(x_α|y)
    p_x_given_y = p_a.prod(axis=2)
    p_x = (p_x_given_y * PI).sum(axis=1, keepdims=True)
    lines = [
        classifier.predict_proba(NUMBERS),
        p_x_given_y * PI / p_x,
        p_x_given_y * PI,
        np.prod(p_a, axis=2) * PI,
        np.log(p_a).sum(axis=2) + np.log(PI),
    ]
    for line in lines:
        assert_array_equal(classifier.predict(NUMBERS), line.argmax(axis=1))
    assert_allclose(classifier.predict_joint_log_proba(NUMBERS), lines[4], rtol=1e-11)


def test_naive_bayes_is_optimal_if_the_features_are_independent_given_the_class():
    """Lecture 2: P(X1, X2|Y) = P(X1|X2, Y) P(X2|Y) = P(X1|Y) P(X2|Y) if X1 ⊥ X2 given Y."""
    first = {0: [0, 0, 1], 1: [0, 1, 1]}
    second = {0: [0, 1, 1, 1], 1: [0, 0, 0, 1]}
    pairs = [(a, b, c) for c in (0, 1) for a in first[c] for b in second[c]]  # each with each
    rows = np.array(pairs)
    X, labels = rows[:, :2], rows[:, 2]
    naive = CategoricalNB(alpha=0).fit(X, labels)
    full = JointBayes(alpha=0).fit(X, labels)
    assert_allclose(naive.predict_proba(X), full.predict_proba(X), rtol=1e-12)
    assert_allclose(naive.score_samples(X), full.score_samples(X), rtol=1e-12)


def test_naive_bayes_is_worse_otherwise():
    """Lecture 2, "Issue 1": P(X1, X2|Y) ≠ P(X1|Y) P(X2|Y) where Y = X1 xor X2."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    labels = X[:, 0] ^ X[:, 1]
    naive = CategoricalNB(alpha=0).fit(X, labels)
    assert_allclose(naive.predict_proba(X), 0.5, rtol=1e-15)
    assert JointBayes(alpha=0).fit(X, labels).score(X, labels) == 1


# ---- categorical features ------------------------------------------------------------------------


def categorical_formula(l):
    """θ_jc of each feature, by lecture 1, case 1: arrays (C, K_α)."""
    return [
        np.array(
            [
                [
                    (sum(I(y == c) * I(LEVELS[:, a] == j)) + l) / (n_of(c) + l * size)
                    for j in range(size)
                ]
                for c in K
            ]
        )
        for a, size in enumerate((2, 3, 4))
    ]


@pytest.mark.parametrize("l", [0.0, 1.0, 0.3], ids=["MLE", "Laplace", "MAP"])
def test_categorical_estimate(l):
    """Lecture 1, case 1: (Σ I(y_i = c) I(x_iα = j) + l) / (Σ I(y_i = c) + l K_α), 1 in all."""
    classifier = CategoricalNB(alpha=l).fit(LEVELS, y)
    pairs = zip(classifier.feature_log_prob_, categorical_formula(l), strict=True)
    for ours, theta in pairs:
        assert_allclose(np.exp(ours), theta, rtol=1e-14)
        assert_allclose(theta.sum(axis=1), 1, rtol=1e-14)


def test_categorical_estimate_from_the_joint():
    """Lecture 2, "Discrete features": P(x_i, y) / P(y) = (#{x_i, y} / n) / (#{y} / n)."""
    ours = np.exp(CategoricalNB(alpha=0).fit(LEVELS, y).feature_log_prob_[2])
    for c in K:
        p_y = np.mean(y == c)
        p_xy = [np.mean((LEVELS[:, 2] == j) & (y == c)) for j in range(4)]
        assert_allclose(ours[c], np.array(p_xy) / p_y, rtol=1e-14)


def test_categorical_map_of_each_level():
    """Lecture 3, section 4: l_j in the numerator and Σ_j l_j in the denominator."""
    l = [np.array([1.0, 2.0]), np.array([0.0, 0.5, 3.0]), np.ones(4)]
    ours = CategoricalNB(alpha=l).fit(LEVELS, y).feature_log_prob_
    for a in range(3):
        counts = np.array([[sum(I(LEVELS[y == c, a] == j)) for j in range(len(l[a]))] for c in K])
        below = [[n_of(c) + sum(l[a])] for c in K]
        with np.errstate(divide="ignore"):
            assert_allclose(ours[a], np.log((counts + l[a]) / below), rtol=1e-12)


def test_categorical_prediction():
    """Lectures 1 and 3: argmax_c π_c Π_α θ_jc."""
    theta = categorical_formula(1.0)
    score = [[PI[c] * np.prod([theta[a][c, x[a]] for a in range(3)]) for c in K] for x in LEVELS]
    classifier = CategoricalNB().fit(LEVELS, y)
    assert_allclose(np.exp(classifier.predict_joint_log_proba(LEVELS)), score, rtol=1e-12)
    assert_array_equal(classifier.predict(LEVELS), np.argmax(score, axis=1))


def test_insufficient_data_for_mle():
    """Lecture 2: P(X1 = a|Y) = 0 makes Π_i P(X_i|Y) 0, whatever X2, ..., Xd are; MAP does not."""
    X = np.array([[0, 0], [0, 1], [1, 1], [1, 1]])  # X1 = 1 was never met in class 0
    mle, map_ = (CategoricalNB(alpha=l).fit(X, [0, 0, 1, 1]) for l in (0, 1))
    for x2 in (0, 1):
        assert mle.predict_joint_log_proba([[1, x2]])[0, 0] == -np.inf
    assert mle.predict_proba([[1, 0]])[0].tolist() == [0.5, 0.5]  # nor was X2 = 0 in class 1
    assert (map_.predict_proba(X) > 0).all()


def test_virtual_examples_with_a_prior():
    """Lecture 2, "MAP estimates": (#{a, b} + m Q(X = a, Y = b)) / (#{b} + m Q(Y = b))."""
    m = 6.0
    q = np.array([[0.1, 0.3, 0.2], [0.1, 0.1, 0.2]])  # Q(X = a, Y = b)
    X, labels = np.array([[0], [0], [1], [2]]), np.array([0, 0, 0, 1])
    counts = np.array([[2, 1, 0], [0, 0, 1]])
    expected = (counts + m * q) / (np.array([[3], [1]]) + m * q.sum(axis=1, keepdims=True))
    levels = CategoricalNB(alpha=[m * q]).fit(X, labels)
    assert_allclose(np.exp(levels.feature_log_prob_[0]), expected, rtol=1e-14)
    events = MultinomialNB(alpha=m * q).fit(np.eye(3)[X[:, 0]], labels)
    assert_allclose(np.exp(events.feature_log_prob_), expected, rtol=1e-14)
    pairs = m * np.stack([q[:, [1, 2]].sum(axis=1), q[:, 0]], axis=-1)[:, np.newaxis]
    present = BernoulliNB(alpha=pairs).fit((X == 0) * 1, labels)
    assert_allclose(np.exp(present.feature_log_prob_[:, 0]), expected[:, 0], rtol=1e-14)


# ---- multinomial features ------------------------------------------------------------------------


@pytest.mark.parametrize("l", [0.0, 1.0, 0.3], ids=["MLE", "Laplace", "MAP"])
def test_multinomial_estimate(l):
    """Lecture 1, case 2: (Σ I(y_i = c) x_iα + l) / (Σ I(y_i = c) Σ_β x_iβ + l d)."""
    d = WORDS.shape[1]
    theta = [
        [
            (sum(I(y == c) * WORDS[:, a]) + l) / (sum(I(y == c) * WORDS.sum(axis=1)) + l * d)
            for a in range(d)
        ]
        for c in K
    ]
    ours = np.exp(MultinomialNB(alpha=l).fit(WORDS, y).feature_log_prob_)
    assert_allclose(ours, theta, rtol=1e-14)
    assert_allclose(ours.sum(axis=1), 1, rtol=1e-14)


def test_multinomial_map_of_each_word():
    """Lecture 3, section 5: (Σ I(y_i = c) x_iα + l_α) / (Σ I(y_i = c) m_i + Σ_α l_α)."""
    l = np.array([0.5, 1.0, 2.0, 4.0, 0.25])
    m = WORDS.sum(axis=1)
    theta = [(sum(WORDS[y == c]) + l) / (sum(I(y == c) * m) + sum(l)) for c in K]
    ours = MultinomialNB(alpha=l).fit(WORDS, y).feature_log_prob_
    assert_allclose(np.exp(ours), theta, rtol=1e-14)


def test_multinomial_laplace_of_lecture_4():
    """Lecture 4, "Multinomial-NBC": (1 + f_ik) / (n + f_k), f_k = Σ f_ik over the n features."""
    f = np.array([WORDS[y == c].sum(axis=0) for c in K])
    expected = (1 + f) / (WORDS.shape[1] + f.sum(axis=1, keepdims=True))
    ours = MultinomialNB().fit(WORDS, y).feature_log_prob_
    assert_allclose(np.exp(ours), expected, rtol=1e-14)


def test_multinomial_coefficient():
    """Lecture 1, case 2, and lecture 4: P(x|m, y) = m! / (x_1! ⋯ x_d!) Π θ_α^x_α.

    Lecture 4 lacks the factorial of m. It cancels in the posterior, but not in log p(x).
    """
    classifier = MultinomialNB().fit(WORDS, y)
    theta = np.exp(classifier.feature_log_prob_)
    rows = WORDS.tolist()
    below = [math.prod(math.factorial(x) for x in row) for row in rows]
    coefficient = np.array(
        [math.factorial(sum(row)) / b for row, b in zip(rows, below, strict=True)]
    )
    p = np.array([PI[c] * coefficient * np.prod(theta[c] ** WORDS, axis=1) for c in K])
    assert_allclose(np.exp(classifier.score_samples(WORDS)), p.sum(axis=0), rtol=1e-10)
    assert_allclose(classifier.predict_proba(WORDS), (p / p.sum(axis=0)).T, rtol=1e-10)
    all_of_two = [np.bincount(ab, minlength=5) for ab in np.ndindex(5, 5) if ab[0] <= ab[1]]
    assert_allclose(np.exp(classifier.score_samples(np.array(all_of_two))).sum(), 1, rtol=1e-12)


def test_multinomial_prediction():
    """Lectures 1 to 4: argmax_c π_c Π_α θ_αc^x_α, P(y) Π_w P(w|y)^count_w in lecture 2."""
    theta = np.exp(MultinomialNB().fit(WORDS, y).feature_log_prob_)
    score = [[PI[c] * np.prod(theta[c] ** x) for c in K] for x in WORDS]
    assert_array_equal(MultinomialNB().fit(WORDS, y).predict(WORDS), np.argmax(score, axis=1))


def test_a_word_twice_as_often_is_twice_the_evidence():
    """Lecture 1, case 2: x_α = 20 is even more likely spam than 10; as a level, it says nothing."""
    counts = np.array([[10, 1], [9, 0], [1, 8], [0, 9]])
    labels = ["spam", "spam", "ham", "ham"]
    events = MultinomialNB().fit(counts, labels)
    once, twice = (events.to_linear().coef[0] @ [x, 0] for x in (10, 20))
    assert_allclose(twice, 2 * once, rtol=1e-14)
    ten, twenty = events.predict_proba([[10, 0], [20, 0]])[:, 1]
    assert twenty > ten > 0.99
    levels = CategoricalNB().fit(counts[:, :1], labels)
    assert_allclose(levels.predict_proba([[20]]), [[0.5, 0.5]], rtol=1e-14)


def test_bag_of_words():
    """Lecture 2, "Bag of words model": the position in the document does not matter."""
    documents = [
        "When the lecture is over, remember to wake up the person sitting next to you in the "
        "lecture room.",
        "in is lecture lecture next over person remember room sitting the the the to to up wake "
        "when you",
    ]
    classifier = TextNB(weights=None).fit([*documents, "the room is over there"], ["a", "a", "b"])
    one, other = classifier.predict_joint_log_proba(documents)
    assert_array_equal(one, other)


# ---- Bernoulli features --------------------------------------------------------------------------


@pytest.mark.parametrize("l", [0, 1], ids=["MLE", "Laplace"])
def test_bernoulli_estimate(l):
    """Lecture 4, "Bernoulli-NBC": m_ik / m_k, and with Laplace smoothing (1 + m_ik) / (2 + m_k)."""
    p = [[(l + sum(I(BITS[y == k, i] == 1))) / (2 * l + n_of(k)) for i in range(4)] for k in K]
    ours = BernoulliNB(alpha=l).fit(BITS, y).feature_log_prob_
    with np.errstate(divide="ignore"):
        assert_allclose(ours, np.log(p), rtol=1e-13)


def test_bernoulli_prediction():
    """Lecture 4: argmax_k P(y_k) Π_i p_ik^x_i (1 - p_ik)^(1 - x_i)."""
    classifier = BernoulliNB().fit(BITS, y)
    p = np.exp(classifier.feature_log_prob_)
    score = [[PI[k] * np.prod(p[k] ** x * (1 - p[k]) ** (1 - x)) for k in K] for x in BITS]
    assert_allclose(np.exp(classifier.predict_joint_log_proba(BITS)), score, rtol=1e-12)
    assert_array_equal(classifier.predict(BITS), np.argmax(score, axis=1))


# ---- Gaussian features ---------------------------------------------------------------------------


def scatter(c):
    """Σ_j (x_ij - μ_ik)² δ(y_j = y_k) of each feature."""
    mean = sum(NUMBERS[y == c]) / n_of(c)
    return sum((NUMBERS[y == c] - mean) ** 2)


def test_gaussian_mean():
    """Lectures 1, 2, 3 and 5: μ_αc = Σ I(y_i = c) x_iα / n_c."""
    mean = [sum(I(y == c)[:, np.newaxis] * NUMBERS) / n_of(c) for c in K]
    assert_allclose(gaussian().theta_, mean, rtol=1e-13)


def test_gaussian_variance():
    """Lectures 1, 3 and 5: σ²_αc = Σ I(y_i = c) (x_iα - μ_αc)² / n_c."""
    assert_allclose(gaussian().var_, [scatter(c) / n_of(c) for c in K], rtol=1e-12)


def test_gaussian_unbiased_variance():
    """Lecture 2, "Estimating parameters": Σ_j (x_ij - μ_ik)² δ(y_j = y_k) / (Σ_j δ - 1)."""
    ours = GaussianNB(ddof=1, var_smoothing=0).fit(NUMBERS, y).var_
    assert_allclose(ours, [scatter(c) / (n_of(c) - 1) for c in K], rtol=1e-12)


@pytest.mark.parametrize("ddof", [0, 1])
def test_gaussian_tied_variances(ddof):
    """Lecture 2, "What if features are continuous?": σ_ik; σ_i, σ_k and σ by pooling scatters."""
    s = np.array([scatter(c) for c in K])
    free = np.array([n_of(c) - ddof for c in K])
    expected = {
        None: s / free[:, np.newaxis],
        "classes": np.tile(s.sum(axis=0) / free.sum(), (3, 1)),
        "features": np.tile((s.sum(axis=1) / (3 * free))[:, np.newaxis], 3),
        "both": np.full((3, 3), s.sum() / (3 * free.sum())),
    }
    for tie, variance in expected.items():
        ours = GaussianNB(tie=tie, ddof=ddof, var_smoothing=0).fit(NUMBERS, y).var_
        assert_allclose(ours, variance, rtol=1e-12, err_msg=str(tie))


def test_gaussian_density():
    """Lectures 1 to 3 and 5: P(x_α|y = c) = exp(-((x_α - μ_αc) / σ_αc)² / 2) / (√(2π) σ_αc)."""
    assert_allclose(likelihood(gaussian(), NUMBERS), gaussian_likelihood(NUMBERS), rtol=1e-10)


def test_full_distribution_of_gaussian_naive_bayes():
    """Lectures 1 and 3: P(x|y) = N(μ_y, Σ_y) with Σ_y diagonal, [Σ_y]_αα = σ²_αy."""
    classifier = gaussian()
    for c in K:
        full = stats.multivariate_normal(classifier.theta_[c], np.diag(classifier.var_[c]))
        assert_allclose(likelihood(classifier, NUMBERS)[:, c], full.pdf(NUMBERS), rtol=1e-10)
    same = GaussianBayes(covariance="diagonal", ddof=0).fit(NUMBERS, y)
    assert_allclose(same.predict_proba(NUMBERS), classifier.predict_proba(NUMBERS), rtol=1e-6)


def test_density_of_the_gaussian_bayes_classifier():
    """Lecture 2: exp(-(x - μ_y) Σ_y⁻¹ (x - μ_y)' / 2) / √((2π)^d |Σ_y|).

    The slide of two features writes √(2π|Σ_y|), where d = 2 makes it 2π √|Σ_y|.
    """
    X = NUMBERS[:, :2]
    classifier = GaussianBayes(ddof=1).fit(X, y)
    p = np.empty((n, 3))
    for c in K:
        mean, sigma = X[y == c].mean(axis=0), np.cov(X[y == c].T)
        assert_allclose(classifier.means_[c], mean, rtol=1e-12)
        assert_allclose(classifier.covariance_[c], sigma, rtol=1e-9)
        q = np.einsum("ia,ab,ib->i", X - mean, np.linalg.inv(sigma), X - mean)
        p[:, c] = np.exp(-q / 2) / np.sqrt((2 * np.pi) ** 2 * np.linalg.det(sigma))
    assert_allclose(classifier.score_samples(X), np.log(p @ PI), rtol=1e-9)
    posterior = p * PI / (p @ PI)[:, np.newaxis]
    assert_allclose(classifier.predict_proba(X), posterior, rtol=1e-8)


# ---- decision boundaries -------------------------------------------------------------------------

TWO = y < 2


def log_ratio(classifier, X):
    """log P(Y = 1|x) / P(Y = 0|x)."""
    joint = classifier.predict_joint_log_proba(X)
    return joint[:, 1] - joint[:, 0]


def on_lines(direction, steps=5):
    """Points on a line through some of the data, (rows, steps, d)."""
    t = np.arange(steps)[:, np.newaxis]
    return NUMBERS[:8, np.newaxis, :] + t * np.asarray(direction)


def test_ratio_of_the_gaussian_bayes_classifier():
    """Lecture 2, "Decision Boundary of Gaussian Bayes": √(|Σ₀|/|Σ₁|) exp(...) θ / (1 - θ)."""
    X, labels = NUMBERS[TWO], y[TWO]
    classifier = GaussianBayes().fit(X, labels)
    theta = labels.mean()
    mean, sigma = classifier.means_, classifier.covariance_
    q = [np.einsum("ia,ab,ib->i", X - m, np.linalg.inv(s), X - m)
         for m, s in zip(mean, sigma, strict=True)]  # fmt: skip
    ratio = np.sqrt(np.linalg.det(sigma[0]) / np.linalg.det(sigma[1]))
    expected = ratio * np.exp(-q[1] / 2 + q[0] / 2) * theta / (1 - theta)
    assert_allclose(np.exp(log_ratio(classifier, X)), expected, rtol=1e-8)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
def test_boundary_is_quadratic_in_general(covariance):
    """Lecture 2: along any line the log-ratio is a parabola, third differences of which are 0."""
    classifier = GaussianBayes(covariance=covariance).fit(NUMBERS[TWO], y[TWO])
    ratio = np.array([log_ratio(classifier, line) for line in on_lines([1.0, -0.5, 0.3])])
    assert_allclose(np.diff(ratio, 3), 0, atol=1e-9 * abs(ratio).max())
    assert (abs(np.diff(ratio, 2)) > 1e-3).all()


@pytest.mark.parametrize("covariance", ["tied", "tied_diagonal", "tied_spherical"])
def test_boundary_is_linear_if_the_covariances_are_equal(covariance):
    """Lecture 2: "if Σ₁ = Σ₀, then quadratic part cancels out and equation is linear"."""
    classifier = GaussianBayes(covariance=covariance).fit(NUMBERS[TWO], y[TWO])
    ratio = np.array([log_ratio(classifier, line) for line in on_lines([1.0, -0.5, 0.3])])
    assert_allclose(np.diff(ratio, 2), 0, atol=1e-9 * abs(ratio).max())
    form = classifier.to_linear()
    assert_allclose(
        log_ratio(classifier, NUMBERS), NUMBERS @ form.coef[0] + form.intercept, rtol=1e-8,
        atol=1e-9,
    )  # fmt: skip
    mean = classifier.means_
    sigma = classifier.covariance_ * np.eye(3) if covariance != "tied" else classifier.covariance_
    assert_allclose(form.coef[0], np.linalg.solve(sigma, mean[1] - mean[0]), rtol=1e-8)


# ---- naive Bayes is a linear classifier ----------------------------------------------------------

SIGN = np.where(y == 1, 1, -1)


def test_multinomial_is_linear():
    """Lecture 1, "Naive Bayes is a linear classifier", 1: w_α = log θ_α+ - log θ_α-, b of π."""
    classifier = MultinomialNB().fit(WORDS, SIGN)
    theta_minus, theta_plus = np.exp(classifier.feature_log_prob_)
    pi_plus = np.mean(SIGN == 1)
    w = np.log(theta_plus) - np.log(theta_minus)
    b = np.log(pi_plus) - np.log(1 - pi_plus)
    form = classifier.to_linear()
    assert_allclose(form.coef, [w], rtol=1e-12)
    assert_allclose(form.intercept, [b], rtol=1e-12)
    # w · x + b > 0 ⟺ Π P(x_α|+) π₊ / Π P(x_α|-) π₋ > 1 ⟺ P(+|x) > P(-|x) ⟺ h(x) = +1
    positive = WORDS @ w + b > 0
    plus, minus = (np.prod(theta**WORDS, axis=1) for theta in (theta_plus, theta_minus))
    assert_array_equal(positive, plus * pi_plus / (minus * (1 - pi_plus)) > 1)
    proba = classifier.predict_proba(WORDS)
    assert_array_equal(positive, proba[:, 1] > proba[:, 0])
    assert_array_equal(np.where(positive, 1, -1), classifier.predict(WORDS))


def test_steps_of_the_linear_classifier_proof():
    """Lecture 3, sections 8 and 9, (6) to (10)."""
    classifier = MultinomialNB().fit(WORDS, SIGN)
    w_minus, w_plus = classifier.feature_log_prob_
    p_plus = np.mean(SIGN == 1)
    p_minus = 1 - p_plus
    given_plus = np.prod(np.exp(w_plus) ** WORDS, axis=1)  # P(x|+), but for the coefficient
    given_minus = np.prod(np.exp(w_minus) ** WORDS, axis=1)
    assert_allclose(np.log(given_plus), WORDS @ w_plus, rtol=1e-12)
    assert_allclose(np.log(given_minus), WORDS @ w_minus, rtol=1e-12)
    w, b = w_plus - w_minus, np.log(p_plus) - np.log(p_minus)
    steps = [
        given_plus * p_plus / (given_plus * p_plus + given_minus * p_minus),
        np.exp(WORDS @ w_plus) * p_plus
        / (np.exp(WORDS @ w_plus) * p_plus + np.exp(WORDS @ w_minus) * p_minus),
        1 / (1 + np.exp(-(WORDS @ w)) * p_minus / p_plus),
        1 / (1 + np.exp(-(WORDS @ w + b))),
    ]  # fmt: skip
    ours = classifier.predict_proba(WORDS)
    for step in steps:
        assert_allclose(ours[:, 1], step, rtol=1e-11)
    assert_allclose(ours[:, 0], 1 / (1 + np.exp(WORDS @ w + b)), rtol=1e-11)
    for k, sign in enumerate((-1, 1)):  # both in one; section 7 has 1 - exp(y (w · x + b)) below
        assert_allclose(ours[:, k], 1 / (1 + np.exp(-sign * (WORDS @ w + b))), rtol=1e-11)
    assert not np.allclose(ours[:, 1], 1 / (1 - np.exp(WORDS @ w + b)))


def test_gaussian_is_logistic():
    """Lecture 1, 2: P(y|x) = 1 / (1 + exp(-y (w · x + b))) if variances are of no class.

    w_α = (μ_α+ - μ_α-) / σ²_α and b = log π₊/π₋ - Σ_α (μ²_α+ - μ²_α-) / 2σ²_α.
    """
    classifier = GaussianNB(tie="classes", var_smoothing=0).fit(NUMBERS, SIGN)
    (minus, plus), variance = classifier.theta_, classifier.var_[0]
    w = (plus - minus) / variance
    pi = np.mean(SIGN == 1)
    b = np.log(pi / (1 - pi)) - sum((plus**2 - minus**2) / (2 * variance))
    form = classifier.to_linear()
    assert_allclose(form.coef, [w], rtol=1e-12)
    assert_allclose(form.intercept, [b], rtol=1e-12)
    for k, sign in enumerate((-1, 1)):
        p = 1 / (1 + np.exp(-sign * (NUMBERS @ w + b)))
        assert_allclose(classifier.predict_proba(NUMBERS)[:, k], p, rtol=1e-10)


def test_weights_of_lecture_3_are_those_of_standardised_features():
    """Lecture 3, section 7: w_α = μ_α+ - μ_α- needs σ_α = 1; else it is over σ²_α."""
    X, labels = load_iris(return_X_y=True)
    X, labels = X[:100], labels[:100]
    pooled = sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum(axis=0) for c in (0, 1))
    deviation = np.sqrt(pooled / 100)
    for scale in (deviation, np.ones(4)):
        Z = X / scale
        classifier = GaussianNB(tie="classes", var_smoothing=0).fit(Z, labels)
        difference = Z[labels == 1].mean(axis=0) - Z[labels == 0].mean(axis=0)
        w = difference / (deviation / scale) ** 2
        assert_allclose(classifier.to_linear().coef, [w], rtol=1e-11)
        assert np.allclose(w, difference) == (scale is deviation)


# ---- how many parameters -------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "d"), [(2, 5), (10, 64)])
def test_numbers_of_parameters(k, d):
    """Lecture 2, "How many parameters do we need to learn?", on top of K - 1 for the prior.

    The slide of Gaussian naive Bayes writes N(μ_i^(y), σ²_i) and counts 2Kd, which is so for
    σ²_ik; σ²_i are d. Binary features have Kd, the Gaussian Kd + Kd(d + 1)/2.
    """
    labels = np.arange(4 * k) % k
    X = np.random.default_rng(0).normal(size=(4 * k, d))
    prior = k - 1
    assert GaussianNB().fit(X, labels).n_parameters_ == prior + 2 * k * d
    assert GaussianNB(tie="classes").fit(X, labels).n_parameters_ == prior + k * d + d
    assert GaussianNB(tie="features").fit(X, labels).n_parameters_ == prior + k * d + k
    assert GaussianNB(tie="both").fit(X, labels).n_parameters_ == prior + k * d + 1
    assert BernoulliNB().fit(X, labels).n_parameters_ == prior + k * d
    assert CategoricalNB().fit((X > 0) * 1, labels).n_parameters_ == prior + k * d
    assert PoissonNB().fit(abs(X), labels).n_parameters_ == prior + k * d
    assert MultinomialNB().fit(abs(X), labels).n_parameters_ == prior + k * (d - 1)
    assert ComplementNB().fit(abs(X), labels).n_parameters_ == prior + k * (d - 1)
    matrix = d * (d + 1) // 2
    for covariance, expected in {
        "full": k * d + k * matrix,
        "tied": k * d + matrix,
        "diagonal": 2 * k * d,
        "tied_diagonal": k * d + d,
        "spherical": k * d + k,
        "tied_spherical": k * d + 1,
    }.items():
        classifier = GaussianBayes(covariance=covariance, shrinkage=0.5).fit(X, labels)
        assert classifier.n_parameters_ == prior + expected, covariance


def test_numbers_of_parameters_of_logistic_regression_and_naive_bayes():
    """Lecture 2, "Gaussian Naïve Bayes vs. Logistic Regression": 4d + 1, 3d + 1 and d + 1."""
    X, labels = NUMBERS[TWO], y[TWO]
    d = X.shape[1]
    assert GaussianNB().fit(X, labels).n_parameters_ == 4 * d + 1
    tied = GaussianNB(tie="classes").fit(X, labels)
    assert tied.n_parameters_ == 3 * d + 1
    logistic = tied.to_logistic()
    assert logistic.coef_.size + logistic.intercept_.size == d + 1


@pytest.mark.parametrize("d", [3, 10, 70])
def test_number_of_parameters_of_the_joint_table(d):
    """Lecture 2, "What about discrete features?": K (2^d - 1), exponential in d."""
    bits = np.vstack([np.zeros((2, d)), np.ones((2, d))]).astype(int)
    table = JointBayes().fit(bits, [0, 1, 1, 2])
    assert table.n_parameters_ == (3 - 1) + 3 * (2**d - 1)


def test_an_image_has_21_billion_parameters():
    """Lecture 2: "If d = 256×256 pixels, ~ 21.5 billion parameters!", for K = 10 digits."""
    from naively.evaluation.model_ladder import parameter_counts

    k, d = 10, 256 * 256
    count = parameter_counts(k, d)["full covariance"]
    assert count == k * d + k * d * (d + 1) // 2
    assert round(count / 1e9, 1) == 21.5


# ---- naive Bayes and logistic regression ---------------------------------------------------------


def simulated(copies, size=100_000):
    """Two Gaussian features with variances of no class, the first of them several times."""
    draw = np.random.default_rng(5780)
    labels = (draw.random(size) < 0.4).astype(int)
    X = draw.normal(np.outer(labels, [1.0, -0.8]), [1.0, 2.0])
    return X[:, [0] * copies + [1]], labels


def test_naive_bayes_and_logistic_regression_agree_if_the_assumption_holds():
    """Lectures 1 and 2: asymptotically they are the same model, w = (μ₁ - μ₀) / σ²."""
    X, labels = simulated(1)
    ours = GaussianNB(tie="classes").fit(X, labels).to_logistic()
    theirs = LogisticRegression(C=np.inf).fit(X, labels)
    truth = [[1.0, -0.8 / 4.0]]
    assert_allclose(ours.coef_, truth, atol=0.02)
    assert_allclose(theirs.coef_, truth, atol=0.02)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=0.02)
    assert abs(ours.score(X, labels) - theirs.score(X, labels)) < 0.001


def test_logistic_regression_is_better_if_the_assumption_does_not_hold():
    """Lecture 2, "Given infinite data": ε_dis < ε_gen: a feature 4 times counts 4 times."""
    X, labels = simulated(4)
    ours = GaussianNB(tie="classes").fit(X, labels).to_logistic()
    theirs = LogisticRegression(C=np.inf).fit(X, labels)
    assert_allclose(ours.coef_[0, :4], 1.0, atol=0.02)
    assert_allclose(theirs.coef_[0, :4].sum(), 1.0, atol=0.02)
    assert theirs.score(X, labels) > ours.score(X, labels) + 0.01


@pytest.mark.parametrize("penalty", [0.0, 0.05])
def test_gradient_ascent_of_the_docs_is_logistic_regression(penalty):
    """Lecture 2, "GNB vs. logistic regression": MLE, MCLE and MCAP; the code in docs/ladder.md."""
    page = (Path(__file__).parents[1] / "docs" / "ladder.md").read_text()
    code = page.split("## From naive Bayes to logistic regression")[1].split("```")[1]
    given = {}
    exec(code.removeprefix("python").replace("penalty = 0.0", f"penalty = {penalty}"), given)
    C = 1 / (len(given["y"]) * penalty) if penalty else np.inf
    expected = LogisticRegression(C=C, tol=1e-10).fit(given["X"], given["y"])
    assert_allclose(given["w"], expected.coef_[0], rtol=1e-5)
    assert_allclose(given["b"], expected.intercept_[0], atol=1e-5)
    assert not np.allclose(given["line"].coef[0], given["w"], rtol=0.05)  # MLE is another
