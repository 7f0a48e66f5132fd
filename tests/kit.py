"""Helpers of several test files: every classifier, and comparison of models."""

import copy
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from naively import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
)
from naively.cli import main

TIES = (None, "classes", "features", "both")
CLASSIFIERS = {
    **{f"gaussian-{tie}-{ddof}": GaussianNB(tie=tie, ddof=ddof) for tie in TIES for ddof in (0, 1)},
    "gaussian-feature-floor": GaussianNB(floor="feature"),
    "gaussian-alpha-1": GaussianNB(alpha=0.5, ddof=1),
    "multinomial": MultinomialNB(),
    "multinomial-unsmoothed": MultinomialNB(alpha=0),
    "complement": ComplementNB(),
    "complement-norm": ComplementNB(norm=True, alpha=0.5),
    "bernoulli": BernoulliNB(),
    "bernoulli-unsmoothed": BernoulliNB(alpha=0, binarize=0.5),
    "bernoulli-soft": BernoulliNB(binarize=None),
    "categorical": CategoricalNB(),
    "categorical-unsmoothed": CategoricalNB(alpha=0, unseen="ignore"),
    "poisson": PoissonNB(),
    "poisson-unsmoothed": PoissonNB(alpha=0),
}
ONE_EACH = ("gaussian-None-0", "multinomial", "complement", "bernoulli", "categorical", "poisson")


def each(argument, cases, slow=()):
    """A test of every case, by names or a dict of them: of those in `slow`, in the gate alone."""
    values = cases.values() if isinstance(cases, dict) else cases
    return pytest.mark.parametrize(argument, [
        pytest.param(value, id=name, marks=[pytest.mark.slow] * (name in slow))
        for name, value in zip(cases, values, strict=True)
    ])  # fmt: skip


def slow(*values):
    """Parameters of a test, or tuples of them, that are for the gate alone."""
    return [
        pytest.param(*(one if isinstance(one, tuple) else [one]), marks=pytest.mark.slow)
        for one in values
    ]


def domain(name):
    """What the values of a classifier's features are."""
    kind = name.split("-")[0]
    if name == "bernoulli-soft":
        return "fractions"
    return {"gaussian": "reals", "bernoulli": "reals", "categorical": "levels"}.get(kind, "counts")


def new(name, **parameters):
    """A fresh classifier."""
    return clone(CLASSIFIERS[name]).set_params(**parameters)


def with_block(document, **changes):
    """A model file's document, with its only block of columns changed."""
    (block,) = document["schema"]["blocks"]
    return document | {"schema": document["schema"] | {"blocks": [block | changes]}}


def with_family(document, **changes):
    """A model file's document, with its only family changed."""
    (block,) = document["schema"]["blocks"]
    return with_block(document, family=block["family"] | changes)


def state(classifier):
    """What a classifier learned, as it is now: equal only if every bit is."""
    return copy.deepcopy(classifier.model_)


def assert_same(a, b, probe):
    """Two classifiers learned the same, and score the probe rows alike, bit for bit."""
    assert a.model_ == b.model_
    np.testing.assert_array_equal(
        a.predict_joint_log_proba(probe).view(np.int64),
        b.predict_joint_log_proba(probe).view(np.int64),
    )


def numbers(domain, n, d, seed=0):
    """Tame random rows of a domain, and labels 0, 1, 2."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    if domain == "reals":
        return rng.normal(y[:, None], 1.0 + np.arange(d), (n, d)), y
    if domain == "fractions":
        return rng.beta(1.0 + y[:, None], 2.0, (n, d)), y
    rates = rng.gamma(2.0, 1.0, (3, d))
    X = rng.poisson(rates[y]).astype(float)
    return (np.minimum(X, 4.0) if domain == "levels" else X), y


def assert_probabilities(classifier, X):
    """Probabilities sum to 1, their logarithms are theirs, and the most probable class is said."""
    p, log_p = classifier.predict_proba(X), classifier.predict_log_proba(X)
    assert ((p >= 0) & (p <= 1)).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert not np.isnan(log_p).any()
    assert_allclose(np.exp(log_p), p, rtol=1e-9, atol=1e-300)
    best = np.searchsorted(classifier.classes_, classifier.predict(X))
    assert_array_equal(log_p[np.arange(len(p)), best], log_p.max(axis=1))


def fitted(X, y, **options):
    """A `NaiveBayes` of a table, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return NaiveBayes(**options).fit(X, y)


def proba(model, X):
    """The probabilities of rows, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.predict_proba(X)


def said(capsys, *tokens, code=0):
    """(standard output, standard error) of a command with that exit code."""
    found = main.run([str(token) for token in tokens])
    out, err = capsys.readouterr()
    assert found == code, err
    return out, err
