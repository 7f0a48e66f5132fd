"""scikit-learn's own estimator checks."""

import pytest
from kit import TIES
from sklearn.utils.estimator_checks import parametrize_with_checks

from naively import (
    AutoBayes,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianBayes,
    GaussianNB,
    JointBayes,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
)

CLASSES = [
    GaussianNB(),
    MultinomialNB(),
    ComplementNB(),
    BernoulliNB(),
    CategoricalNB(),
    PoissonNB(),
    NaiveBayes(),
    JointBayes(),
    AutoBayes(),
    GaussianBayes("full", shrinkage=0.1),
]
OTHERS = [
    *(GaussianNB(tie=tie) for tie in TIES if tie),
    GaussianNB(floor="feature"),
    *(GaussianBayes(kind) for kind in ("diagonal", "tied_diagonal", "spherical", "tied_spherical")),
    GaussianBayes("tied", shrinkage=0.1),
]

# These three checks fit CategoricalNB on fractions, 0.3745 and the like. Level codes are whole
# numbers here and others are refused with their place, where scikit-learn's cuts them to 0.
FRACTIONS = dict.fromkeys(
    [
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
        "check_classifiers_one_label_sample_weights",
    ],
    "fits fractions as level codes",
)

# This one asks every estimator that has a decision_function, whatever its tags say.
NEGATIVE = {"check_decision_proba_consistency": "fits negative numbers as counts"}

# This one repeats a row, which is then all that there is of a class: no covariance to shrink.
ONE_ROW = {"check_sample_weight_equivalence_on_dense_data": "a class of one row, repeated"}


def expected_failures(estimator):
    if isinstance(estimator, GaussianBayes) and estimator.covariance == "full":
        return ONE_ROW
    if isinstance(estimator, CategoricalNB):
        return FRACTIONS | NEGATIVE
    return NEGATIVE if isinstance(estimator, MultinomialNB | ComplementNB | PoissonNB) else {}


@parametrize_with_checks(CLASSES, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHERS)
def test_scikit_learn_checks_of_other_parameters(estimator, check):
    check(estimator)
