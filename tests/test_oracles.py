"""Worked examples and published numbers, computed independently of this project."""

import csv
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import cross_val_score

from naively import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

# ---- texts ---------------------------------------------------------------------------------------

TABLE_13_1 = (
    ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"],
    ["yes", "yes", "yes", "no"],
    "Chinese Chinese Chinese Tokyo Japan",
)
EXERCISE_13_9 = (
    ["Taipei Taiwan", "Macao Taiwan Shanghai", "Japan Sapporo", "Sapporo Osaka Taiwan"],
    ["yes", "yes", "no", "no"],
    "Taiwan Taiwan Sapporo",
)
REVIEWS = (
    ["just plain boring", "entirely predictable and lacks energy",
     "no surprises and very few laughs", "very powerful", "the most fun film of the summer"],
    ["neg", "neg", "neg", "pos", "pos"],
    "predictable with no fun",
)  # fmt: skip
TEXTS = {
    "IIR table 13.1, multinomial": (MultinomialNB, TABLE_13_1, "8/59049", "81/268912"),
    "IIR table 13.1, Bernoulli": (BernoulliNB, TABLE_13_1, "16/729", "81/15625"),
    "IIR exercise 13.9, multinomial": (MultinomialNB, EXERCISE_13_9, "1/288", "1/384"),
    "IIR exercise 13.9, Bernoulli": (BernoulliNB, EXERCISE_13_9, "81/4096", "27/4096"),
    "Jurafsky & Martin": (MultinomialNB, REVIEWS, "3/49130", "4/121945"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_texts_of_the_textbooks(case):
    kind, (texts, labels, test), *scores = TEXTS[case]
    scores = [Fraction(score) for score in scores]
    words = CountVectorizer()
    classifier = kind().fit(words.fit_transform(texts), labels)
    x = words.transform([test])
    expected = np.array([float(score) for score in scores])
    for rows in (x, x.toarray()):
        assert_allclose(np.exp(classifier.predict_joint_log_proba(rows)), [expected], rtol=1e-13)
        assert_allclose(
            classifier.predict_proba(rows), [[float(s / sum(scores)) for s in scores]], rtol=1e-13
        )


def test_parameters_of_table_13_1():
    texts, labels, _ = TABLE_13_1
    words = CountVectorizer()
    X = words.fit_transform(texts)
    order = [words.vocabulary_[w] for w in ("chinese", "tokyo", "japan")]
    theta = np.exp(MultinomialNB().fit(X, labels).feature_log_prob_)[:, order]
    assert_allclose(theta, [[2 / 9, 2 / 9, 2 / 9], [3 / 7, 1 / 14, 1 / 14]], rtol=1e-14)
    p = np.exp(BernoulliNB().fit(X, labels).feature_log_prob_)[:, order]
    assert_allclose(p, [[2 / 3, 2 / 3, 2 / 3], [4 / 5, 1 / 5, 1 / 5]], rtol=1e-14)


# ---- small tables --------------------------------------------------------------------------------

TABLE = """
sunny    hot  high   weak   85 85 no
sunny    hot  high   strong 80 90 no
overcast hot  high   weak   83 86 yes
rainy    mild high   weak   70 96 yes
rainy    cool normal weak   68 80 yes
rainy    cool normal strong 65 70 no
overcast cool normal strong 64 65 yes
sunny    mild high   weak   72 95 no
sunny    cool normal weak   69 70 yes
rainy    mild normal weak   75 80 yes
sunny    mild normal strong 75 70 yes
overcast mild high   strong 72 90 yes
overcast hot  normal weak   81 75 yes
rainy    mild high   strong 71 91 no
"""
WEATHER = np.array(TABLE.split()).reshape(14, 7)


def codes(column):
    """(codes of a column of text, the code of each level)."""
    levels = sorted(set(column))
    return np.array([levels.index(v) for v in column]), {v: k for k, v in enumerate(levels)}


def coded(table):
    """Level codes of a table of text, and for each column the code of each level."""
    columns, names = zip(*(codes(column) for column in table.T), strict=True)
    return np.column_stack(columns), names


def test_play_tennis():
    X, names = coded(WEATHER[:, :4])
    day = [[name[v] for name, v in zip(names, ["sunny", "cool", "high", "strong"], strict=True)]]
    classifier = CategoricalNB(alpha=0).fit(X, WEATHER[:, 6])
    assert_allclose(
        np.exp(classifier.predict_joint_log_proba(day)), [[18 / 875, 1 / 189]], rtol=1e-13
    )
    assert_allclose(classifier.predict_proba(day)[0, 0], 0.795417, atol=5e-7)


def test_weather_with_numbers():
    y = WEATHER[:, 6]
    X, names = coded(WEATHER[:, [0, 3]])
    numbers = GaussianNB(ddof=1, var_smoothing=0).fit(WEATHER[:, 4:6].astype(float), y)
    levels = CategoricalNB(alpha=0).fit(X, y)
    assert_allclose(numbers.theta_, [[74.6, 86.2], [73, 79.1111]], atol=5e-5)
    assert_allclose(np.sqrt(numbers.var_), [[7.8930, 9.7314], [6.1644, 10.2157]], atol=5e-5)
    day = [[names[0]["sunny"], names[1]["strong"]]]
    both = numbers.predict_joint_log_proba([[66.0, 90.0]]) + levels.predict_joint_log_proba(day)
    score = np.exp(both - levels.class_log_prior_)[0]  # both count the prior
    assert_allclose(score, [1.363472e-4, 3.57871e-5], rtol=5e-6)
    assert_allclose(score[1] / score.sum(), 0.207902, atol=5e-7)


PEOPLE = np.array([[6, 180, 12], [5.92, 190, 11], [5.58, 170, 12], [5.92, 165, 10],
                   [5, 100, 6], [5.5, 150, 8], [5.42, 130, 7], [5.75, 150, 9]])  # fmt: skip


@pytest.mark.parametrize(("ddof", "female"), [(1, 0.9999884769), (0, 0.9999998456)])
def test_height_weight_foot_size(ddof, female):
    classifier = GaussianNB(ddof=ddof, var_smoothing=0).fit(PEOPLE, ["male"] * 4 + ["female"] * 4)
    x = [[6.0, 130.0, 8.0]]
    assert_allclose(classifier.predict_proba(x)[0, 0], female, atol=5e-11)
    if ddof:
        assert_allclose(
            classifier.theta_, [[5.4175, 132.5, 7.5], [5.855, 176.25, 11.25]], rtol=1e-14
        )
        female_variance, male_variance = classifier.var_
        assert_allclose(female_variance, [0.097225, 558.3333, 1.666667], rtol=2e-6)
        assert_allclose(male_variance, [0.0350333, 122.91667, 0.9166667], rtol=2e-6)
        scores = np.exp(classifier.predict_joint_log_proba(x))
        assert_allclose(scores, [[5.377909e-4, 6.197072e-9]], rtol=1e-6)


# ---- R's e1071 -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def votes(data_folder):
    """(n = 0, y = 1, missing = NaN; the parties)."""
    with (data_folder / "vote" / "mlbench-HouseVotes84.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    value = {"n": 0.0, "y": 1.0, "NA": np.nan}
    return np.array([[value[v] for v in row[1:]] for row in rows]), np.array([r[0] for r in rows])


def confusion(classifier, X, y):
    """Counts of (predicted, true) classes."""
    predicted = classifier.predict(X)
    return [[int(((predicted == p) & (y == t)).sum()) for t in classifier.classes_]
            for p in classifier.classes_]  # fmt: skip


@pytest.mark.parametrize(
    ("laplace", "table", "no_given_democrat"),
    [(0, [[238, 13], [29, 155]], 0.39534884), (3, [[237, 12], [30, 156]], 0.39772727)],
)
@pytest.mark.parametrize("kind", [CategoricalNB, BernoulliNB])
def test_votes_with_the_missing_ones_skipped(votes, kind, laplace, table, no_given_democrat):
    X, y = votes
    classifier = kind(alpha=laplace).fit(X, y)
    assert confusion(classifier, X, y) == table
    first = classifier.explain(np.zeros((1, 16))).contributions[0, 0, 0]
    assert_allclose(np.exp(first), no_given_democrat, atol=5e-9)
    if laplace == 0:
        expected = [1.0292087e-07, 5.8204151e-08, 0.0056849366, 0.99857985, 0.96667198]
        assert_allclose(classifier.predict_proba(X[:5])[:, 0], expected, rtol=5e-8)


def test_iris_as_r_fits_it():
    X, y = load_iris(return_X_y=True)
    classifier = GaussianNB(ddof=1, var_smoothing=0).fit(X, y)
    assert_allclose(classifier.theta_[0, 0], 5.006, rtol=1e-14)
    assert_allclose(np.sqrt(classifier.var_[0, 0]), 0.35248969, atol=5e-9)
    assert confusion(classifier, X, y) == [[50, 0, 0], [0, 47, 3], [0, 3, 47]]
    expected = [0.80186528, 0.16093605, 1.0310317e-10, 0.97198846]
    assert_allclose(classifier.predict_proba(X[[50, 70, 100, 106]])[:, 1], expected, rtol=5e-8)


def test_titanic(data_folder):
    with (data_folder / "titanic" / "titanic-orange-2201.tab").open() as file:
        table = np.array(list(csv.reader(file, delimiter="\t"))[3:])
    X, names = coded(table[:, :3])
    y = table[:, 3]
    assert len(y) == 2201
    classifier = CategoricalNB(alpha=0).fit(X, y)
    assert_allclose(np.exp(classifier.class_log_prior_[0]), 0.67696502, atol=5e-9)
    first = np.exp(classifier.feature_log_prob_[0][0, names[0]["first"]])
    assert_allclose(first, 0.081879195, atol=5e-10)
    boy = [[name[v] for name, v in zip(names, ["first", "child", "male"], strict=True)]]
    assert_allclose(classifier.predict_proba(boy)[0, 0], 0.31693454, atol=5e-9)


def test_weka_counts_on_the_nominal_weather():
    X, _ = coded(WEATHER[:, :4])
    classifier = CategoricalNB(prior_smoothing=1.0).fit(X, WEATHER[:, 6])
    assert (classifier.predict(X) == WEATHER[:, 6]).sum() == 13


# ---- digits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classifier", "threshold", "bound"),
    [
        (MultinomialNB(alpha=10), None, 0.86),
        (BernoulliNB(alpha=10), 4, 0.83),
        (BernoulliNB(alpha=10, binarize=4), None, 0.83),
        (GaussianNB(), None, 0.77),
        (GaussianNB(var_smoothing=0.1), None, 0.89),
    ],
)
def test_lower_bounds_on_digits(classifier, threshold, bound):
    X, y = load_digits(return_X_y=True)
    X = X if threshold is None else threshold < X
    assert cross_val_score(classifier, X, y, cv=10).mean() > bound


def test_the_two_images_of_digits_are_predicted_alike():
    X, y = load_digits(return_X_y=True)
    soft = BernoulliNB(binarize=None).fit((X > 4).astype(float), y)
    assert_array_equal(soft.predict(X > 4), BernoulliNB(binarize=4).fit(X, y).predict(X))
