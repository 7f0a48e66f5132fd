"""Rows that were never in the training data cannot be forgotten, and the model is unchanged."""

import copy

import numpy as np
import pytest
from cases import NAN, NUMERIC, numeric_case
from kit import new
from numpy.testing import assert_array_equal

from naively import GaussianBayes, TextNB

ARRAYS = {
    "other counts": ("multinomial", [[5, 0], [0, 5]], [0, 1], [[3, 0]], [0]),
    "other counts, complement": ("complement", [[5, 0], [0, 5]], [0, 1], [[3, 0]], [0]),
    "other counts, Poisson": ("poisson", [[5, 0], [0, 5]], [0, 1], [[3, 0]], [0]),
    "larger counts": ("poisson", [[5, 0], [2, 1], [0, 5]], [0, 0, 1], [[8, 0]], [0]),
    "absent for present": ("bernoulli", [[1, 0], [0, 1]], [0, 1], [[0, 0]], [0]),
    "present for absent": ("bernoulli", [[0, 0], [0, 0], [0, 1]], [0, 0, 1], [[1, 0]], [0]),
    "another level": ("categorical", [[1], [0], [2]], [0, 0, 1], [[2]], [0]),
    "another number": ("gaussian-None-0", [[1], [2], [3]], [0, 1, 1], [[5]], [0]),
    "numbers too far apart": ("gaussian-None-0", [[1], [2], [3]], [0, 0, 1], [[9]], [0]),
    "present for missing": (
        "gaussian-None-0",
        [[NAN], [NAN], [0], [1]],
        [0, 0, 0, 1],
        [[0], [0]],
        [0, 0],
    ),
    "present for missing, Poisson": (
        "poisson",
        [[NAN], [NAN], [0], [1]],
        [0, 0, 0, 1],
        [[0], [0]],
        [0, 0],
    ),
    "present for missing, multinomial": (
        "multinomial",
        [[NAN], [NAN], [0], [1]],
        [0, 0, 0, 1],
        [[0], [0]],
        [0, 0],
    ),
    "missing for present": ("gaussian-None-0", [[1], [2], [3]], [0, 0, 1], [[NAN]], [0]),
    "numbers of a missing value": (
        "gaussian-None-0",
        [[NAN], [2], [3]],
        [0, 0, 1],
        [[NAN], [3]],
        [0, 0],
    ),
}
NUMBERS = {
    "another number": ([[1], [2], [3]], [0, 1, 1], [[5]], [0]),
    "the last row, another number": ([[1], [2]], [0, 0], [[1], [2.5]], [0, 0]),
    "larger than all": ([[5], [2], [1]], [0, 0, 1], [[8]], [0]),
    "present for missing": ([[NAN], [NAN], [2], [1]], [0, 0, 0, 1], [[2], [2]], [0, 0]),
    "missing for present": ([[1], [2], [3]], [0, 0, 1], [[NAN]], [1]),
}
MATRICES = {
    "a number too far off": ([[1, 0], [2, 1], [3, 0]], [0, 0, 1], [[9, 1]], [0]),
    "the only row of a class": ([[1, 0], [2, 1], [3, 0]], [0, 1, 1], [[1, 1]], [0]),
    "a value where one was missing": ([[NAN, 2], [2, 3], [3, 0]], [0, 0, 1], [[5, 2]], [0]),
    "a value that no row has": ([[NAN, 2], [NAN, 3], [3, 0]], [0, 0, 1], [[0, 2]], [0]),
    "a missing value where one was": ([[1, 2], [2, 3], [3, 0]], [0, 0, 1], [[NAN, 2]], [0]),
    "values that never met": ([[NAN, 2], [1, NAN], [3, 0]], [0, 0, 1], [[1, 2]], [0]),
    "two missing values": ([[NAN, 2], [1, NAN], [3, 0]], [0, 0, 1], [[NAN, NAN]], [0]),
}
DOCUMENTS = {
    "another word": ({}, ["aa bb", "cc"], [0, 1], ["never learned"], [0]),
    "another count": ({}, ["aa bb bb", "cc", "aa"], [0, 0, 1], ["aa aa"], [0]),
    "of another class": ({}, ["aa bb", "bb", "aa"], [0, 0, 1], ["bb"], [1]),
    "present for missing": ({}, ["aa", None, "bb"], [0, 0, 1], ["aa", "bb"], [0, 0]),
    "empty for missing": ({}, ["aa", None, "bb"], [0, 0, 1], ["aa", ""], [0, 0]),
    "missing for present": ({}, ["aa", "aa", "bb"], [0, 0, 1], [None], [0]),
    "missing for empty": ({}, ["", "aa", "bb"], [0, 0, 1], [None], [0]),
    "all but the words": ({}, ["aa bb", "", "cc"], [0, 0, 1], ["", ""], [0, 0]),
    "absent for present": ({"event": "bernoulli"}, ["aa", "aa", "bb"], [0, 0, 1], [""], [0]),
    "binary": ({"event": "binary"}, ["aa aa", "aa bb", "bb"], [0, 0, 1], ["bb"], [0]),
    "too few documents": ({"min_df": 2}, ["aa aa", "aa", "bb"], [0, 0, 1], [""], [0]),
    "weighed, too few documents": (
        {"max_df": 0.9, "event": "binary", "length_norm": "l1"},
        *(["aa bb", "aa", "bb"], [0, 0, 1], ["bb"], [0]),
    ),
    "of another case": ({"lowercase": False}, ["aa AA", "aa", "bb"], [0, 0, 1], ["AA AA"], [0]),
    "another norm": ({"length_norm": "l2"}, ["aa bb", "aa cc", "bb"], [0, 0, 1], ["bb"], [0]),
}


def assert_refused(classifier, rows, labels):
    before = copy.deepcopy(classifier)
    with pytest.raises(ValueError, match="cannot forget rows that are not in the training data"):
        classifier.forget(rows, labels)
    assert classifier.model_ == before.model_
    assert_array_equal(classifier.class_count_, before.class_count_)


@pytest.mark.parametrize("case", ARRAYS)
def test_of_arrays(case):
    name, X, y, rows, labels = ARRAYS[case]
    assert_refused(new(name).fit(np.array(X, float), y), np.array(rows, float), labels)


@pytest.mark.parametrize("case", NUMBERS)
@pytest.mark.parametrize("name", NUMERIC)
def test_of_columns_of_numbers(name, case):
    X, y, rows, labels = NUMBERS[case]
    classifier = numeric_case(name).new().partial_fit(np.repeat(np.array(X, float), 3, axis=1), y)
    assert_refused(classifier, np.repeat(np.array(rows, float), 3, axis=1), labels)


@pytest.mark.parametrize("case", MATRICES)
@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_of_covariances(case, covariance):
    X, y, rows, labels = MATRICES[case]
    classifier = GaussianBayes(covariance).partial_fit(np.array(X, float), y)
    assert_refused(classifier, np.array(rows, float), labels)


@pytest.mark.parametrize("case", DOCUMENTS)
def test_of_documents(case):
    chosen, texts, y, others, labels = DOCUMENTS[case]
    assert_refused(TextNB(**chosen).fit(texts, y), others, labels)
