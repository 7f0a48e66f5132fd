"""Displays draw what the model contains, and look as in the baseline images.

``python tests/test_plot.py`` draws the baseline images again; look at them before they are kept.
"""

import math
import re
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from kit import slow
from matplotlib.colors import to_rgb
from matplotlib.testing.compare import compare_images
from matplotlib.text import Text
from scipy import stats
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_digits, load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

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
    MultivariateGaussian,
    NaiveBayes,
    PoissonNB,
    TextNB,
)
from naively import plot as displays
from naively.evaluation.compare import Candidate, Comparison
from naively.evaluation.learning_curves import Curve
from naively.plot import (
    BayesErrorDisplay,
    CalibrationDisplay,
    CategoriesDisplay,
    ClassDensityDisplay,
    CoinDisplay,
    DecisionBoundaryDisplay,
    EvidenceDisplay,
    IdenticalRowsDisplay,
    ImageDisplay,
    InformativeFeaturesDisplay,
    LearningCurvesDisplay,
    NaiveAssumptionDisplay,
    ParametersDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    SmoothingDisplay,
)
from naively.plot.models import gaussians, normals
from naively.plot.style import HATCHES, label, style
from naively.pooling.blocks.shapes import Bins, Shape

mpl.use("Agg")

IRIS = load_iris()
SPECIES = IRIS.target_names[IRIS.target]
PETALS, PETAL_NAMES = IRIS.data[:, [2, 3]], [IRIS.feature_names[k] for k in (2, 3)]
TWO = SPECIES != "setosa"
DIGITS = load_digits()
SHAKEN = np.random.default_rng(0).normal(0.0, 0.5, PETALS.shape)
COVARIANCES = ("full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical")
TENNIS = {
    "outlook": ["sunny", "sunny", "overcast", "rain", "rain", "rain", "overcast"],
    "wind": ["weak", "strong", "weak", "weak", "weak", "strong", "strong"],
    "play": ["no", "no", "yes", "yes", "yes", "no", "yes"],
}
MAILS = [
    "win a free prize", "meeting at noon", "free free prize", "lunch at noon?",
    "free prize, claim now", "minutes of the meeting",
]  # fmt: skip
KINDS = ["spam", "ham", "spam", "ham", "spam", "ham"]


@pytest.fixture(autouse=True)
def _nothing_global_changes():
    with plt.style.context("default"):
        before = dict(mpl.rcParams)
        yield
        changed = {name for name, value in mpl.rcParams.items() if before[name] != value}
        plt.close("all")
    assert not changed


# ---- the decision boundary -----------------------------------------------------------------------


def vertices(display):
    return np.concatenate(
        [path.vertices for lines in display.boundary_ for path in lines.get_paths()]
    )


@pytest.mark.parametrize(
    "model",
    [
        *(GaussianNB(tie=tie) for tie in (None, "classes", "features", "both")),
        *(GaussianBayes(covariance=covariance) for covariance in COVARIANCES),
        NaiveBayes(family=KernelDensity()),
        LogisticRegression(),
    ],
    ids=repr,
)
def test_on_the_boundary_the_two_most_probable_classes_are_equal(model):
    model.fit(PETALS, SPECIES)
    display = DecisionBoundaryDisplay.from_estimator(model, PETALS, SPECIES)
    proba = np.sort(model.predict_proba(vertices(display)), axis=1)
    assert len(proba) > 100
    near = abs(np.log(proba[:, -1]) - np.log(proba[:, -2]))
    assert np.quantile(near, 0.95) < 0.1  # of the log-odds, which cross 0 between grid points
    assert near.max() < 1.0  # where three regions meet, within a cell of the grid


def test_of_tied_variances_the_boundary_is_the_line_of_w_and_b():
    model = GaussianNB(tie="classes").fit(PETALS[TWO], SPECIES[TWO])
    display = DecisionBoundaryDisplay.from_estimator(model, PETALS[TWO], SPECIES[TWO])
    form = model.to_linear()
    distance = (vertices(display) @ form.coef[0] + form.intercept) / np.linalg.norm(form.coef)
    assert abs(distance).max() < 1e-9


def test_each_region_has_the_colour_of_its_class_the_stronger_the_surer():
    model = GaussianNB().fit(PETALS, SPECIES)
    display = DecisionBoundaryDisplay.from_estimator(model, PETALS, grid_resolution=50)
    image = display.surface_.get_array()
    assert image.shape == (50, 50, 3)
    rng = np.random.default_rng(0)
    depths, sure = [], []
    for i, j in rng.integers(0, 50, (200, 2)).tolist():
        x = np.array([[display.x[j], display.y[i]]])
        proba = model.predict_proba(x)[0]
        np.testing.assert_allclose(np.exp(display.log_proba[i, j]), proba, atol=1e-12)
        colour = np.array(to_rgb(style(int(proba.argmax())).colour))
        depth = (1.0 - image[i, j]) / (1.0 - colour)  # how much of the colour, in each channel
        assert np.ptp(depth[colour < 0.99]) < 1e-9
        depths.append(depth.min())
        sure.append(proba.max())
    assert (np.diff(np.array(depths)[np.argsort(sure)]) >= -1e-9).all()
    left, right, bottom, top = display.surface_.get_extent()
    step = display.x[1] - display.x[0]
    assert display.x[0] - left == pytest.approx(step / 2)
    assert (right - left, top - bottom) == pytest.approx(
        (50 * step, 50 * (display.y[1] - display.y[0]))
    )


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_the_axes_of_ellipses_are_roots_of_the_eigenvalues(covariance):
    model = GaussianBayes(covariance=covariance).fit(PETALS, SPECIES)
    display = DecisionBoundaryDisplay.from_estimator(model, PETALS, SPECIES)
    assert len(display.ellipses_) == 6
    groups = [PETALS[species == SPECIES] for species in model.classes_]
    scatters = [np.cov(rows.T, ddof=0) for rows in groups]
    pooled = np.mean(scatters, axis=0)  # there are 50 of each
    kind = covariance.removeprefix("tied_")
    for k, rows in enumerate(groups):
        sigma = pooled if covariance.startswith("tied") else scatters[k]
        if kind == "diagonal":
            sigma = np.diag(np.diag(sigma))
        elif kind == "spherical":
            sigma = np.eye(2) * np.trace(sigma) / 2
        roots = np.sqrt(np.linalg.eigvalsh(sigma))
        for times, ellipse in zip((1, 2), display.ellipses_[2 * k : 2 * k + 2], strict=True):
            np.testing.assert_allclose(ellipse.center, rows.mean(axis=0))
            axes = sorted([ellipse.width, ellipse.height])
            np.testing.assert_allclose(axes, 2 * times * roots, rtol=1e-6)
            turn = math.radians(ellipse.angle)
            t = np.linspace(0, 2 * np.pi, 50)
            circle = np.stack([ellipse.width * np.cos(t), ellipse.height * np.sin(t)]) / 2
            rotation = np.array(
                [[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]]
            )
            away = rotation @ circle
            distances = np.einsum("in,ij,jn->n", away, np.linalg.inv(sigma), away)
            np.testing.assert_allclose(distances, times**2, rtol=1e-6)


def test_on_an_ellipse_the_density_of_its_class_is_one():
    """Lecture 1: "The boundary of the ellipsoids indicate regions of equal probabilities"."""
    model = GaussianNB().fit(PETALS, SPECIES)
    display = DecisionBoundaryDisplay.from_estimator(model, PETALS, SPECIES)
    ellipse = display.ellipses_[3]  # of versicolor, at 2 standard deviations
    t = np.linspace(0, 2 * np.pi, 40)
    turn = math.radians(ellipse.angle)
    a, b = ellipse.width / 2 * np.cos(t), ellipse.height / 2 * np.sin(t)
    points = np.stack(
        [a * math.cos(turn) - b * math.sin(turn), a * math.sin(turn) + b * math.cos(turn)], axis=1
    ) + np.array(ellipse.center)
    joint = model.predict_joint_log_proba(points)[:, 1]
    peak = model.predict_joint_log_proba(np.array([ellipse.center]))[0, 1]
    np.testing.assert_allclose(joint, peak - 2.0, atol=1e-9)


def test_points_labels_and_legend():
    model = GaussianNB().fit(PETALS, SPECIES)
    display = DecisionBoundaryDisplay.from_estimator(
        model, PETALS, SPECIES, feature_names=PETAL_NAMES
    )
    for k, found in enumerate(display.points_):
        np.testing.assert_array_equal(found.get_offsets(), PETALS[IRIS.target == k])
    assert display.ax_.get_xlabel() == "petal length (cm)"
    assert display.ax_.get_ylabel() == "petal width (cm)"
    said = [text.get_text() for text in display.legend_.get_texts()]
    assert said == ["setosa", "versicolor", "virginica", "boundary", "1 st. dev.", "2 st. dev."]
    assert np.ptp(display.ax_.get_xlim()) > np.ptp(PETALS[:, 0])


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_any_kind_with_the_labels_in_a_column(kind):
    rows = dict(zip(PETAL_NAMES, PETALS.T, strict=True))
    plain = DecisionBoundaryDisplay.from_estimator(
        NaiveBayes().fit(rows, SPECIES), rows, SPECIES, grid_resolution=20
    )
    table = kind({**rows, "species": SPECIES.tolist()})
    model = NaiveBayes().fit(table, "species")
    display = DecisionBoundaryDisplay.from_estimator(model, table, "species", grid_resolution=20)
    np.testing.assert_array_equal(display.log_proba, plain.log_proba)
    assert len(display.points_) == 3
    assert len(display.ellipses_) == 6  # both columns are Gaussian
    assert display.ax_.get_xlabel() == PETAL_NAMES[0]


def test_a_classifier_of_scikit_learn_with_a_frame():
    frame = pd.DataFrame(PETALS, columns=PETAL_NAMES)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame, SPECIES)
    display = DecisionBoundaryDisplay.from_estimator(model, frame)
    assert len(display.ellipses_) == 0
    assert len(display.points_) == 1  # of no class
    cuts = [model.tree_.threshold[model.tree_.feature == k] for k in (0, 1)]
    steps = display.x[1] - display.x[0], display.y[1] - display.y[0]
    for vertex in vertices(display):  # each lies on a cut of the tree
        away = [abs(own - x).min(initial=1e9) for own, x in zip(cuts, vertex, strict=True)]
        assert away[0] < steps[0] or away[1] < steps[1]


@pytest.mark.parametrize(
    ("X", "y", "problem"),
    [
        (IRIS.data, None, "two features"),
        (PETALS, SPECIES[:-1], "150 rows"),
        (PETALS, np.repeat("tulip", 150), "'tulip'"),
        ({"a": PETALS[:, 0], "b": np.repeat("x", 150)}, None, "column .b., which holds .x."),
    ],
)
def test_a_boundary_over_what_has_none_is_refused(X, y, problem):
    model = GaussianNB().fit(PETALS, SPECIES)
    with pytest.raises(ValueError, match=problem):
        DecisionBoundaryDisplay.from_estimator(model, X, y)
    assert plt.get_fignums() == []


def test_a_boundary_needs_probabilities_and_numbers():
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba"):
        DecisionBoundaryDisplay.from_estimator(LinearSVC().fit(PETALS, SPECIES), PETALS)
    table = {"a": np.arange(150) % 3, "b": PETALS[:, 0]}
    model = NaiveBayes(columns={"a": "categorical"}).fit(table, SPECIES)
    with pytest.raises(ValueError, match=r"'a' was trained as categorical.*gaussian"):
        DecisionBoundaryDisplay.from_estimator(model, table)
    model = GaussianNB().fit(PETALS, SPECIES)
    with pytest.raises(ValueError, match="two names"):
        DecisionBoundaryDisplay.from_estimator(model, PETALS, feature_names=["a"])


def test_far_from_all_classes_the_boundary_is_still_drawn():
    """Probabilities underflow there; log-odds do not."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    X = np.concatenate([X, X + 1000.0])
    y = np.repeat([0, 1], 4)
    model = GaussianNB(tie="both").fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y)
    assert abs(vertices(display).sum(axis=1) - 1001.0).max() < 1e-6


# ---- class densities -----------------------------------------------------------------------------


def test_the_curves_are_normal_densities_of_each_feature():
    model = GaussianNB().fit(IRIS.data, SPECIES)
    display = ClassDensityDisplay.from_estimator(model, feature_names=IRIS.feature_names)
    assert len(display.axes_) == 4
    for j, (panel, curves) in enumerate(zip(display.axes_, display.curves, strict=True)):
        assert panel.get_xlabel() == IRIS.feature_names[j]
        for c, line in enumerate(panel.get_lines()):
            x, density = line.get_data()
            expected = stats.norm(model.theta_[c, j], math.sqrt(model.var_[c, j])).pdf(x)
            np.testing.assert_allclose(density, expected, rtol=1e-9, atol=1e-300)
            assert np.trapezoid(density, x) == pytest.approx(1.0, abs=0.02)
        assert curves.quantity == "density"


def test_of_two_features_the_contours_are_of_their_product():
    model = GaussianNB().fit(IRIS.data, SPECIES)
    display = ClassDensityDisplay.from_estimator(model, features=[2, "x3"])
    assert display.independent
    assert "P(x_1" in display.axes_[1].get_title()
    x, y = display.grid
    alone = [
        stats.norm(model.theta_[:, [j]], np.sqrt(model.var_[:, [j]])).pdf(axis)
        for j, axis in ((2, x), (3, y))
    ]
    product = alone[0][:, np.newaxis, :] * alone[1][:, :, np.newaxis]
    np.testing.assert_allclose(np.exp(display.joint), product, rtol=1e-9, atol=1e-300)
    middle = display.axes_[0]
    lines = [one for one in middle.collections if len(one.get_facecolor()) == 0]
    assert len(lines) == 3
    for c, contours in enumerate(lines):
        for times, path in zip((2, 1), contours.get_paths(), strict=True):
            away = (path.vertices - model.theta_[c, 2:]) / np.sqrt(model.var_[c, 2:])
            np.testing.assert_allclose(np.sqrt((away**2).sum(axis=1)), times, rtol=0.03)


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_a_covariance_is_no_product(covariance):
    model = GaussianBayes(covariance=covariance).fit(IRIS.data, SPECIES)
    display = ClassDensityDisplay.from_estimator(model, features=["x2", "x3"])
    assert not display.independent
    assert "not the product" in display.axes_[1].get_title()
    x, y = np.meshgrid(*display.grid)
    means, sigmas = gaussians(model)
    for c in range(3):
        normal = stats.multivariate_normal(means[c, 2:], sigmas[c][2:, 2:])
        np.testing.assert_allclose(display.joint[c], normal.logpdf(np.dstack([x, y])), rtol=1e-6)
    margin = stats.norm(means[1, 2], math.sqrt(sigmas[1, 2, 2]))
    curve = display.curves[0]
    np.testing.assert_allclose(curve.density[1], margin.pdf(curve.x), rtol=1e-6, atol=1e-300)


def _mixed():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    return {
        "wait": rng.gamma(1.0 + y, 2.0),
        "count": rng.poisson(2.0 + 5.0 * y),
        "size": rng.normal(y, 1.0),
        "cut": rng.normal(y, 1.0),
        "same": rng.normal(0.0, 1.0, 600),
        "word": np.where(y > 0, "a", "b"),
        "label": np.where(y > 0, "yes", "no"),
    }


def test_other_families_of_numbers():
    table = _mixed()
    columns = {
        "wait": "gamma", "count": "poisson", "size": KernelDensity(),
        "cut": Discretized("frequency", bins=4), "same": "gaussian",
    }  # fmt: skip
    model = NaiveBayes(columns=columns).fit(table, "label")
    display = ClassDensityDisplay.from_estimator(model, table, "label")
    curves = {one.name: one for one in display.curves}
    assert set(curves) == set(columns)  # a column of text has no density
    yes = table["label"] == "yes"
    parts = {block.names[0]: part for block, part in model.model_.posterior().blocks}
    gamma = parts["wait"]
    one = curves["wait"]
    assert one.x[0] >= 0.0
    shape, scale = gamma.shape[1, 0], gamma.scale[1, 0]
    np.testing.assert_allclose(one.density[1], stats.gamma(shape, scale=scale).pdf(one.x))
    one = curves["count"]
    np.testing.assert_array_equal(one.x, np.arange(len(one.x)) + one.x[0])
    rate = (table["count"][yes].sum() + 1) / (yes.sum() + 1)
    np.testing.assert_allclose(one.density[1], stats.poisson(rate).pmf(one.x))
    assert one.quantity == "P(count | class)"
    assert np.trapezoid(curves["size"].density[0], curves["size"].x) == pytest.approx(1, abs=0.02)
    one = curves["cut"]
    assert one.quantity == "P(range | class)"
    found = np.unique(one.density[1].round(9))
    np.testing.assert_allclose(found, np.unique(np.exp(parts["cut"].log_theta[0][1, :-1]).round(9)))


def test_a_feature_alike_in_all_classes_keeps_its_density():
    X = np.column_stack([np.tile([-1.0, 1.0], 4), np.repeat([0.0, 5.0], 4) + np.tile([0, 1], 4)])
    model = GaussianNB(var_smoothing=0).fit(X, np.repeat([0, 1], 4))
    display = ClassDensityDisplay.from_estimator(model, features=0)
    one = display.curves[0]
    for density in one.density:
        np.testing.assert_allclose(density, stats.norm.pdf(one.x))


def test_rows_are_drawn_behind_the_densities():
    display = ClassDensityDisplay.from_estimator(
        GaussianNB().fit(PETALS, SPECIES), PETALS, SPECIES, feature_names=PETAL_NAMES
    )
    middle, above, beside = display.axes_
    assert sum(len(one.get_offsets()) for one in middle.collections if one.get_offsets().any()) == (
        150
    )
    assert len(above.patches) == len(beside.patches) == 3
    assert middle.get_xlabel(), middle.get_ylabel() == PETAL_NAMES
    bare = ClassDensityDisplay.from_estimator(GaussianNB().fit(PETALS, SPECIES))
    assert len(bare.axes_[1].patches) == 0


def test_numbers_that_a_table_has_as_text_are_drawn_too():
    text = {"a": ["1.5", "2", "?", "7.25", "8", "9"], "b": [0.5, None, 1.5, 3.0, 4.5, 4.0]}
    y = ["low"] * 3 + ["high"] * 3
    model = NaiveBayes(family="gaussian").fit(text, y)
    display = ClassDensityDisplay.from_estimator(model, text, y)
    np.testing.assert_array_equal(display.curves[0].rows, [1.5, 2, np.nan, 7.25, 8, 9])
    boundary = DecisionBoundaryDisplay.from_estimator(model, text, y)
    np.testing.assert_array_equal(boundary.points[:, 0], display.curves[0].rows)
    for one in (display, boundary):
        one.figure_.canvas.draw()


def test_of_many_features_the_most_informative_are_shown():
    model = GaussianNB().fit(DIGITS.data, DIGITS.target)
    display = ClassDensityDisplay.from_estimator(model)
    shown = {one.name for one in display.curves}
    ranked = InformativeFeaturesDisplay.from_estimator(model, count=9).rankings[0].names
    assert shown == set(ranked)
    order = [int(one.name[1:]) for one in display.curves]
    assert order == sorted(order)


def test_densities_that_cannot_be_drawn_are_refused():
    model = GaussianNB().fit(PETALS, SPECIES)
    with pytest.raises(ValueError, match="labels y"):
        ClassDensityDisplay.from_estimator(model, PETALS)
    with pytest.raises(ValueError, match="4 columns, but the model was trained on 2"):
        ClassDensityDisplay.from_estimator(model, IRIS.data, SPECIES)
    with pytest.raises(ValueError, match=r"'x7' is not one of the features.*'x0', 'x1'"):
        ClassDensityDisplay.from_estimator(model, features=["x7"])
    with pytest.raises(ValueError, match="CategoriesDisplay"):
        ClassDensityDisplay.from_estimator(NaiveBayes().fit(TENNIS, "play"))
    with pytest.raises(TypeError, match="LogisticRegression is not a generative model of naively"):
        ClassDensityDisplay.from_estimator(LogisticRegression().fit(PETALS, SPECIES))
    with pytest.raises(ValueError, match="not fitted"):
        ClassDensityDisplay.from_estimator(GaussianNB())
    with pytest.raises(ValueError, match="different names"):
        ClassDensityDisplay.from_estimator(model, feature_names=["a", "a"])


# ---- Gaussians, whatever holds them --------------------------------------------------------------


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_means_and_covariances_of_every_rung(covariance):
    """Also where there are as many classes as features, so that shapes tell nothing."""
    X, y = IRIS.data[:, :3], SPECIES
    means, sigmas = gaussians(GaussianBayes(covariance=covariance).fit(X, y))
    assert means.shape == (3, 3)
    assert sigmas.shape == (3, 3, 3)
    tie = {"diagonal": None, "tied_diagonal": "classes", "spherical": "features",
           "tied_spherical": "both"}  # fmt: skip
    if covariance in tie:
        naive = GaussianNB(tie=tie[covariance]).fit(X, y)
        np.testing.assert_allclose(sigmas, naive.var_[:, :, np.newaxis] * np.eye(3), rtol=1e-6)
    else:
        own = [np.cov(X[y == name].T, ddof=0) for name in np.unique(y)]
        expected = own if covariance == "full" else [np.mean(own, axis=0)] * 3
        np.testing.assert_allclose(sigmas, expected, rtol=1e-6)
    mean, spread = normals(GaussianBayes(covariance=covariance).fit(X, y))
    np.testing.assert_array_equal(mean, means)
    expected = np.diagonal(sigmas, axis1=1, axis2=2) if covariance in tie else sigmas
    np.testing.assert_allclose(spread, expected)


# ---- images --------------------------------------------------------------------------------------


def test_means_and_deviations_are_images():
    model = GaussianNB().fit(DIGITS.data, DIGITS.target)
    display = ImageDisplay.from_estimator(model)
    assert display.images_.shape == (2, 10)
    for c in range(10):
        assert display.axes_[0, c].get_title() == str(c)
        mean, deviation = (image.get_array() for image in display.images_[:, c])
        np.testing.assert_allclose(mean, DIGITS.images[DIGITS.target == c].mean(axis=0))
        np.testing.assert_allclose(deviation, np.sqrt(model.var_[c]).reshape(8, 8))
    limits = {image.get_clim() for image in display.images_[0]}
    assert limits == {(0.0, model.theta_.max())}  # one scale, so that classes can be compared
    assert display.axes_[0, 0].get_ylabel() == "mean"


def test_how_far_each_class_is_from_the_mean_of_all_rows():
    model = GaussianNB().fit(DIGITS.data, DIGITS.target)
    display = ImageDisplay.from_estimator(model, (8, 8), centred=True)
    expected = DIGITS.images[DIGITS.target == 3].mean(axis=0) - DIGITS.images.mean(axis=0)
    np.testing.assert_allclose(display.images_[0, 3].get_array(), expected, atol=1e-12)
    low, high = display.images_[0, 3].get_clim()
    assert low == -high


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (BernoulliNB(binarize=7.0), lambda m: np.exp(m.feature_log_prob_)),
        (MultinomialNB(), lambda m: np.exp(m.feature_log_prob_)),
        (PoissonNB(), lambda m: m.feature_rate_),
        (GaussianBayes(shrinkage=0.1), lambda m: m.means_),
    ],
    ids=lambda one: type(one).__name__,
)
def test_images_of_other_models(model, values):
    model.fit(DIGITS.data, DIGITS.target)
    display = ImageDisplay.from_estimator(model)
    for c, image in enumerate(display.images_[0]):
        np.testing.assert_allclose(image.get_array(), values(model)[c].reshape(8, 8))


def test_voxels_lie_where_the_mask_says():
    mask = np.zeros((3, 4, 3), bool)
    mask[1, :, 0] = mask[0, 2, 2] = True  # nothing in the slice between
    X = np.arange(30.0).reshape(6, 5)
    model = GaussianNB().fit(X, [0, 0, 0, 1, 1, 1])
    display = ImageDisplay.from_estimator(model, mask=mask)
    image = display.images_[0, 1].get_array()
    assert image.shape == (3, 8)  # two slices side by side
    assert image.count() == 5
    np.testing.assert_array_equal(image[1, :4], model.theta_[1][[0 + 1, 2, 3, 4]])
    assert image[0, 4 + 2] == model.theta_[1][0]  # C order: row 0 comes before row 1
    flat = ImageDisplay.from_estimator(model, mask=np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0]]))
    assert flat.images_[0, 0].get_array().mask.sum() == 4


def test_images_that_do_not_fit_are_refused():
    model = GaussianNB().fit(PETALS, SPECIES)
    with pytest.raises(ValueError, match=r"2 features.*\(3, 3\) has 9 pixels"):
        ImageDisplay.from_estimator(model, (3, 3))
    with pytest.raises(ValueError, match="2 features"):
        ImageDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="not both"):
        ImageDisplay.from_estimator(model, (1, 2), mask=[[1, 1]])
    with pytest.raises(TypeError, match="no mean or probability of each pixel"):
        ImageDisplay.from_estimator(NaiveBayes().fit(TENNIS, "play"))


# ---- levels --------------------------------------------------------------------------------------


def test_bars_are_the_faces_of_the_dice():
    """Lecture 1, case 1: (count + l) / (n + l K)."""
    display = CategoriesDisplay.from_estimator(NaiveBayes().fit(TENNIS, "play"))
    outlook, wind = display.dice
    assert outlook.levels == ["overcast", "rain", "sunny"]
    no, yes = ([bar.get_width() for bar in bars] for bars in display.bars_[0])
    np.testing.assert_allclose(no, [(0 + 1) / (3 + 3), (1 + 1) / (3 + 3), (2 + 1) / (3 + 3)])
    np.testing.assert_allclose(yes, [3 / 7, 3 / 7, 1 / 7])
    assert wind.levels == ["strong", "weak"]
    panel = display.axes_[0]
    assert [tick.get_text() for tick in panel.get_yticklabels()] == outlook.levels
    assert panel.get_title() == "outlook"
    assert panel.yaxis_inverted()
    assert [text.get_text() for text in display.legend_.get_texts()] == ["no", "yes"]
    hatches = [bars[0].get_hatch() for bars in display.bars_[0]]
    assert hatches == list(HATCHES[:2])  # classes differ in grey, too


def test_many_levels_and_numbers_in_order():
    codes = np.arange(400) % 20
    X, y = np.column_stack([codes, codes % 2]), np.arange(400) % 3 % 2
    model = CategoricalNB(alpha=0.5).fit(X, y)
    display = CategoriesDisplay.from_estimator(model, features=0, feature_names=["code", "odd"])
    (die,) = display.dice
    assert len(die.levels) == 12
    assert die.levels[-1] == "9 others"
    numbers = [int(level) for level in die.levels[:-1]]
    assert numbers == sorted(numbers)
    np.testing.assert_allclose(die.theta.sum(axis=1), 1.0)
    theta = np.exp(model.feature_log_prob_[0])
    np.testing.assert_allclose(die.theta[:, :-1], theta[:, numbers])


def test_the_dice_of_a_joint_table_are_its_margins():
    model = JointBayes(alpha=0).fit(TENNIS, "play")
    display = CategoriesDisplay.from_estimator(model, features="wind")
    np.testing.assert_allclose(display.dice[0].theta, [[2 / 3, 1 / 3], [1 / 4, 3 / 4]])


def test_levels_of_what_has_none_are_refused():
    with pytest.raises(ValueError, match="no feature of this model is categorical"):
        CategoriesDisplay.from_estimator(GaussianNB().fit(PETALS, SPECIES))
    with pytest.raises(ValueError, match="'play' is not one of the features"):
        CategoriesDisplay.from_estimator(NaiveBayes().fit(TENNIS, "play"), features=["play"])


# ---- what tells most -----------------------------------------------------------------------------


def test_terms_are_ranked_by_information_and_drawn_by_their_log_odds():
    display = InformativeFeaturesDisplay.from_estimator(
        TextNB(weights=None).fit(MAILS, KINDS), count=3
    )
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(MAILS).toarray()
    terms = vectorizer.get_feature_names_out()
    spam = np.array(KINDS) == "spam"
    theta = np.array([X[own].sum(axis=0) + 1.0 for own in (~spam, spam)])
    theta /= theta.sum(axis=1, keepdims=True)
    for c, ranking in enumerate(display.rankings):
        odds = np.log(theta[c] / theta[1 - c])
        most = np.argsort(-theta[c] * odds, kind="stable")[:3]
        assert set(ranking.names) == set(terms[most])
        widths = [bar.get_width() for bar in display.bars_[c]]
        np.testing.assert_allclose(widths, np.sort(odds[most])[::-1])
        shown = [tick.get_text() for tick in display.axes_[c].get_yticklabels()]
        assert shown == ranking.names
    assert display.axes_[1].get_title() == "spam, against ham"
    assert display.axes_[0].get_xlabel() == "log-odds (nats)"


@pytest.mark.parametrize("model", [MultinomialNB(), ComplementNB()], ids=repr)
def test_features_that_are_counted(model):
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(MAILS)
    names = vectorizer.get_feature_names_out()
    display = InformativeFeaturesDisplay.from_estimator(
        model.fit(X, KINDS), feature_names=names, count=3
    )
    text = InformativeFeaturesDisplay.from_estimator(
        TextNB(weights=None).fit(MAILS, KINDS), count=3
    )
    for one, other in zip(display.rankings, text.rankings, strict=True):
        assert one.names == other.names
        np.testing.assert_array_equal(one.values, other.values)


def test_two_of_many_classes_are_compared_alone():
    X = np.array([[9, 1, 0], [1, 9, 0], [0, 1, 9]])
    model = MultinomialNB().fit(X, ["a", "b", "c"])
    display = InformativeFeaturesDisplay.from_estimator(model, classes=["c", "a"], count=1)
    c, a = display.rankings
    assert (c.title, c.names) == ("c, against a", ["x2"])
    np.testing.assert_allclose(c.values, [math.log((10 / 13) / (1 / 13))])
    assert (a.title, a.names) == ("a, against c", ["x0"])
    everyone = InformativeFeaturesDisplay.from_estimator(model, count=1)
    others = (0 + 1 + 1) / (10 + 10 + 3)  # x0 in b and c together
    np.testing.assert_allclose(everyone.rankings[0].values, [math.log((10 / 13) / others)])
    for classes in (["a"], ["a", "a"]):
        with pytest.raises(ValueError, match="two different ones"):
            InformativeFeaturesDisplay.from_estimator(model, classes=classes)


def test_presence_and_levels_are_events_too():
    X = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [0, 0]])
    y = [0, 0, 0, 1, 1, 1]
    first = InformativeFeaturesDisplay.from_estimator(BernoulliNB().fit(X, y)).rankings[0]
    assert first.names == ["x0"]
    np.testing.assert_allclose(first.values, [math.log((4 / 5) / (1 / 5))])
    display = InformativeFeaturesDisplay.from_estimator(CategoricalNB().fit(X, y), count=2)
    assert display.rankings[0].names == ["x0 = 1", "x1 = 0"]
    np.testing.assert_allclose(display.rankings[0].values, np.log([4, 1.5]))
    level = InformativeFeaturesDisplay.from_estimator(
        NaiveBayes().fit(TENNIS, "play"), feature="outlook"
    )
    assert level.rankings[0].names == ["sunny", "rain"][:1]
    np.testing.assert_allclose(level.rankings[0].values, [math.log((3 / 6) / (1 / 7))])


def test_missing_values_and_levels_with_a_smoothing_of_their_own():
    X = np.array([[0.0], [1.0], [1.0], [np.nan], [1.0], [0.0]])
    y = [0, 0, 0, 0, 1, 1]
    model = CategoricalNB(alpha=[[2.0, 0.5]]).fit(X, y)
    first = InformativeFeaturesDisplay.from_estimator(model).rankings[0]
    np.testing.assert_allclose(first.values, [math.log((2.5 / 5.5) / (1.5 / 4.5))])
    assert first.names == ["x0 = 1"]


def test_without_smoothing_what_only_one_class_has_is_drawn_to_the_end():
    model = MultinomialNB(alpha=0).fit([[3, 1], [0, 5]], [0, 1])
    display = InformativeFeaturesDisplay.from_estimator(model)
    assert display.rankings[0].values[0] == np.inf
    assert display.bars_[0][0].get_width() == display.axes_[0].get_xlim()[1]
    display.figure_.canvas.draw()


def test_columns_are_ranked_by_their_information():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    noisy = np.where(rng.random(4000) < 0.1, 1 - y, y)
    table = {"noisy": noisy, "noise": rng.normal(size=4000), "y": np.array(["a", "b"])[y]}
    display = InformativeFeaturesDisplay.from_estimator(NaiveBayes().fit(table, "y"))
    (ranking,) = display.rankings
    assert ranking.names == ["noisy", "noise"]
    p = np.array([[0.45, 0.05], [0.05, 0.45]])
    exact = 1.0 + (p * np.log2(p / 0.5)).sum()
    assert ranking.values[0] == pytest.approx(exact, abs=0.05)
    assert ranking.values[1] < 0.01
    assert display.axes_[0].get_xlabel() == "information about the class (bits)"


@pytest.mark.parametrize("tied", [False, True])
def test_the_evidence_of_a_column_alone_does_not_depend_on_the_others_beside_it(tied):
    names = [f"a{k}" for k in range(4)]
    table = dict(zip(names, IRIS.data.T, strict=True))
    family = MultivariateGaussian(tied=tied)
    joint = NaiveBayes(columns={tuple(names): family}).fit(table, SPECIES)
    naive = GaussianNB(tie="classes" if tied else None).fit(IRIS.data, SPECIES)
    together = InformativeFeaturesDisplay.from_estimator(joint).rankings[0]
    alone = InformativeFeaturesDisplay.from_estimator(naive, feature_names=names).rankings[0]
    one, other = (dict(zip(r.names, r.values, strict=True)) for r in (together, alone))
    for name in names:
        assert one[name] == pytest.approx(other[name], abs=0.06)
    rows = {name: TENNIS[name] * 30 for name in TENNIS}
    one, other = (
        InformativeFeaturesDisplay.from_estimator(model.fit(rows, "play")).rankings[0]
        for model in (JointBayes(alpha=1e-9), NaiveBayes(alpha=1e-9))
    )
    assert one.names == other.names
    np.testing.assert_allclose(one.values, other.values, atol=0.06)


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(ValueError, match="hashed"):
        InformativeFeaturesDisplay.from_estimator(
            TextNB(n_features=64, weights=None).fit(MAILS, KINDS)
        )
    with pytest.raises(ValueError, match="leave out `classes`"):
        InformativeFeaturesDisplay.from_estimator(
            GaussianNB().fit(PETALS, SPECIES), classes=["setosa", "virginica"]
        )
    with pytest.raises(ValueError, match="'x0' is not one of the features"):
        InformativeFeaturesDisplay.from_estimator(GaussianNB().fit(PETALS, SPECIES), feature="x0")
    texts = {"subject": MAILS, "body": MAILS[::-1]}
    model = NaiveBayes(columns={"subject": "text", "body": "text"}).fit(texts, KINDS)
    with pytest.raises(ValueError, match="name one of the columns of text: 'subject', 'body'"):
        InformativeFeaturesDisplay.from_estimator(model)
    assert (
        InformativeFeaturesDisplay.from_estimator(model, feature="subject").rankings[1].title[:4]
        == "spam"
    )
    with pytest.raises(ValueError, match="'tulip'"):
        InformativeFeaturesDisplay.from_estimator(
            TextNB(weights=None).fit(MAILS, KINDS), classes=["spam", "tulip"]
        )


# ---- parameters ----------------------------------------------------------------------------------


def test_lines_are_the_numbers_of_parameters():
    """Lecture 2, "How many parameters do we need to learn?"."""
    display = ParametersDisplay(n_classes=10, n_features=256 * 256, n_rows=60_000).plot()
    d = 256 * 256
    assert display.counts_["full covariance"] == 9 + 10 * d + 10 * d * (d + 1) // 2
    assert display.counts_["full covariance"] == pytest.approx(21.5e9, rel=0.002)
    assert display.counts_["joint table"] == 9 + 10 * (2**d - 1)
    assert display.counts_["Gaussian naive Bayes"] == 9 + 20 * d
    x, y = display.lines_["full covariance"].get_data()
    np.testing.assert_allclose(y, 9 + 10 * x + 5 * x * (x + 1))
    x, y = display.lines_["Bernoulli naive Bayes"].get_data()
    np.testing.assert_allclose(y, 9 + 10 * x)
    x, y = display.lines_["joint table"].get_data()
    np.testing.assert_allclose(y[x < 20], 9 + 10 * (2.0 ** x[x < 20] - 1))
    assert display.rows_.get_ydata()[0] == 60_000
    said = [text.get_text() for text in display.legend_.get_texts()]
    assert "full covariance\n21,475,819,529" in said
    assert said[0] == "joint table\n$2.0 \\times 10^{19729}$"
    display.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("model", "rung"),
    [
        (GaussianNB(), "Gaussian naive Bayes"),
        (GaussianBayes(), "full covariance"),
        (GaussianBayes(covariance="tied"), "tied covariance"),
        (BernoulliNB(binarize=3.0), "Bernoulli naive Bayes"),
    ],
    ids=repr,
)
def test_a_model_lies_on_the_line_of_its_rung(model, rung):
    display = ParametersDisplay.from_estimator(model.fit(IRIS.data, SPECIES))
    assert (display.n_features, display.n_rows) == (4, 150.0)
    assert display.n_parameters == model.n_parameters_ == display.counts_[rung]
    (mark,) = [one for one in display.ax_.collections if one.get_offsets().any()]
    np.testing.assert_array_equal(mark.get_offsets(), [[4, model.n_parameters_]])


def test_the_features_of_text_are_its_terms():
    model = TextNB(weights=None).fit(MAILS, KINDS)
    assert ParametersDisplay.from_estimator(model).n_features == len(model.terms_)


# ---- learning curves -----------------------------------------------------------------------------

ROWS_LEARNED = (10, 20, 50, 100, 1000)


def comparison(sizes=ROWS_LEARNED, **curves):
    """A comparison of (mean errors, mean log-losses) by name, on 3 splits 10% apart."""
    candidates = []
    for name, means in curves.items():
        kind = {"prior": "prior", "naive": "naive", "logistic": "scikit-learn"}.get(
            name.partition("_")[0], "rung"
        )
        error, loss = (np.array([[0.9], [1.0], [1.1]]) * np.asarray(mean) for mean in means)
        curve = Curve(loss, error, np.empty(0), np.empty(0), np.ones(3), "", 0.1)
        called = {"prior": "class prior", "logistic": "logistic regression"}
        called = called.get(name, name.replace("naive_Bayes", "naive Bayes").replace("_", " "))
        candidates.append(Candidate(called, "", kind, curve))
    return Comparison("y", {"a": 5, "b": 5}, 10, 10, 0, {}, sizes, 3, candidates, "Well.")


def curves():
    """Naive Bayes is ahead first; a covariance needs rows."""
    nan, half = np.nan, [0.5] * 5
    return comparison(
        prior=(half, [0.8, 0.72, 0.7, 0.7, 0.7]),
        naive_Bayes=([0.2, 0.16, 0.14, 0.13, 0.13], [1.6, 0.9, 0.6, 0.5, 0.5]),
        full_covariance=([nan, nan, 0.3, 0.15, 0.05], [nan, nan, 2.5, 0.5, 0.1]),
        naive_variance=([0.25, 0.2, 0.15, 0.15, 0.15], [0.6, 0.5, 0.45, 0.4, 0.4]),
        logistic=([0.35, 0.25, 0.16, 0.1, 0.07], [0.7, 0.6, 0.4, 0.3, 0.2]),
    )


def test_accuracy_is_what_errors_leave():
    found = curves()
    wrong = LearningCurvesDisplay.from_comparison(found)
    right = LearningCurvesDisplay.from_comparison(found, accuracy=True)
    for one in found.candidates:
        for k, (line, other) in enumerate(zip(
            wrong.lines_[one.name], right.lines_[one.name], strict=True
        )):  # fmt: skip
            expected = line.get_ydata() if k else 1 - line.get_ydata()
            np.testing.assert_allclose(other.get_ydata(), expected)
    low, high = wrong.axes_[0].get_ylim()
    assert right.axes_[0].get_ylim() == pytest.approx((1 - high, 1 - low))
    assert right.axes_[0].get_title(loc="left") == "accuracy on test rows"
    hollow = [
        [line.get_xdata().tolist() for line in display.axes_[0].lines
         if line.get_linestyle() == "None" and set(line.get_ydata()) == {edge}]
        for display, edge in ((wrong, 1), (right, 0))
    ]  # fmt: skip
    assert hollow[0] == hollow[1]
    assert right.axes_[1].get_ylim() == wrong.axes_[1].get_ylim()


def test_lines_are_means_and_bands_reach_from_least_to_most():
    found = curves()
    display = LearningCurvesDisplay.from_comparison(found)
    assert list(display.lines_) == [one.name for one in found.candidates]
    for panel, name in enumerate(("error", "log_loss")):
        bands = list(display.axes_[panel].collections)
        broad = [
            one.name == "naive Bayes" or one.kind == "scikit-learn" for one in found.candidates
        ]
        assert len(bands) == sum(broad)
        for one in found.candidates:
            line = display.lines_[one.name][panel]
            assert line.axes is display.axes_[panel]
            np.testing.assert_array_equal(line.get_xdata(), found.sizes)
            np.testing.assert_allclose(line.get_ydata(), getattr(one, name))
            if one.kind == "prior":
                assert to_rgb(line.get_color()) == (0.0, 0.0, 0.0)
                continue
            if not (one.name == "naive Bayes" or one.kind == "scikit-learn"):
                continue
            band = bands.pop(0)
            corners = np.concatenate([path.vertices for path in band.get_paths()])
            values = getattr(one.curve, name)
            for size, column in zip(found.sizes, values.T, strict=True):
                here = corners[corners[:, 0] == size, 1]
                if np.isfinite(column).all():
                    assert (here.min(), here.max()) == (column.min(), column.max())
                else:
                    assert len(here) == 0
            np.testing.assert_allclose(band.get_facecolor()[0, :3], to_rgb(line.get_color()))
    assert [axis.get_xscale() for axis in display.axes_] == ["log", "log"]


def test_every_curve_has_a_line_of_its_own_in_the_legend():
    display = LearningCurvesDisplay.from_comparison(curves())
    said = [text.get_text() for text in display.legend_.get_texts()]
    assert said[:2] == ["naive Bayes", "logistic regression"]  # the broad ones
    assert sorted(said) == sorted(display.lines_)
    looks, widths = set(), {}
    for name, shown in zip(said, display.legend_.legend_handles, strict=True):
        line = display.lines_[name][0]
        assert shown.get_color() == line.get_color()
        assert shown.get_linestyle() == line.get_linestyle()
        looks.add((line.get_color(), line.get_linestyle(), line.get_marker()))
        widths[name] = line.get_linewidth()
        other = display.lines_[name][1]
        assert (other.get_color(), other.get_marker()) == (line.get_color(), line.get_marker())
    assert len(looks) == len(said)
    assert min(widths[name] for name in said[:2]) > max(widths[name] for name in said[2:])


def within(panel, values):
    """Whether values are in view, of axes that are not upside down."""
    low, high = panel.get_ylim()
    assert low < high
    return (low <= np.asarray(values)) & (np.asarray(values) <= high)


def test_the_view_ends_where_candidates_are_worse_than_the_majority_class():
    found = curves()
    display = LearningCurvesDisplay.from_comparison(found)
    error, loss = display.axes_
    for one in found.candidates[1:]:
        assert within(error, one.error[np.isfinite(one.error)]).all()
    assert within(loss, 0.7)
    assert not within(loss, 2.5)
    assert not within(loss, 1.6)
    assert within(loss, 0.1)
    best = comparison(
        prior=([0.5] * 5, [0.7] * 5),
        naive_Bayes=([0.012, 0.011, 0.01, 0.01, 0.01], [0.05, 0.04, 0.03, 0.03, 0.03]),
    )
    display = LearningCurvesDisplay.from_comparison(best)
    assert not within(display.axes_[0], 0.1)  # what differs is seen
    assert within(display.axes_[0], [0.01, 0.012]).all()


@pytest.mark.parametrize("worse", [1.02, 1.3, 2.0])
def test_where_all_are_worse_than_the_majority_class_it_is_seen(worse):
    found = comparison(
        prior=([0.2] * 5, [0.5] * 5),
        naive_Bayes=([0.2 * worse] * 5, [0.5 * worse] * 5),
        logistic=([0.25 * worse] * 5, [0.6 * worse] * 5),
    )
    display = LearningCurvesDisplay.from_comparison(found)
    for panel, last in zip(display.axes_, (0.2, 0.5), strict=True):
        assert within(panel, last)
    display.figure_.canvas.draw()


def test_curves_without_values_or_bounds_are_drawn():
    nan, inf = [np.nan] * 5, [0.5, 0.4, np.inf, np.inf, 0.3]
    for found in (
        comparison(prior=([0.5] * 5, [0.7] * 5), naive_Bayes=([0.2] * 5, inf), full=(nan, nan)),
        comparison(prior=([0.0] * 5, [0.1] * 5), naive_Bayes=([0.0] * 5, [0.0] * 5)),
        comparison((8,), prior=([0.5], [0.7]), naive_Bayes=([0.2], [0.3])),
        comparison((2, 3), prior=([0.5] * 2, [0.7] * 2), naive_Bayes=([0.2] * 2, [1e300] * 2)),
    ):
        display = LearningCurvesDisplay.from_comparison(found)
        display.figure_.canvas.draw()
        for panel in display.axes_:
            low, high = panel.get_ylim()
            assert low < high
            assert math.isfinite(high)
            ticks = panel.get_xticks()
            assert found.sizes[-1] in ticks
            assert len(panel.get_xticklabels()) == len(ticks)
            left, right = panel.get_xlim()
            assert left <= found.sizes[0] <= found.sizes[-1] <= right


def test_sizes_are_written_where_there_is_room():
    sizes = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 80_000)
    means = np.linspace(0.5, 0.1, len(sizes))
    found = comparison(sizes, prior=([0.6] * 13, [0.7] * 13), naive_Bayes=(means, means))
    display = LearningCurvesDisplay.from_comparison(found)
    display.figure_.canvas.draw()
    for panel in display.axes_:
        said = {text.get_text(): text for text in panel.get_xticklabels()}
        assert "80,000" in said
        assert set(said) <= {f"{size:,}" for size in sizes}
        boxes = sorted((one.get_window_extent() for one in said.values()), key=lambda box: box.x0)
        assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
        assert len(boxes) >= 4
    assert all(one.get_text().endswith("%") for one in display.axes_[0].get_yticklabels())


# ---- evidence ------------------------------------------------------------------------------------


def shapes(classes, seed=0):
    """A number, a skewed one, levels, and a pair of them; each with a missing value."""
    rng = np.random.default_rng(seed)
    names = np.array(["no", "yes"] if classes == 2 else list("abcdefgh")[:classes])
    low = np.append(np.arange(12.0), np.nan)
    skewed = np.append([0.0, 100.0, 150.0, 300.0, 500.0, 1500.0, 20_000.0], np.nan)
    jobs = ["cook", "smith", "clerk", "2 others", "missing"]
    bins = {
        "age": Bins("age", [*map(str, range(12)), "missing"], low, low + 0.5),
        "gain": Bins("gain", [*map(str, range(7)), "missing"], skewed, skewed * 1.01),
        "job": Bins("job", jobs),
    }
    found = []
    for own in (("age",), ("gain",), ("job",), ("job", "age")):
        size = [*(len(bins[name]) for name in own), classes]
        rows = rng.integers(0, 40, size).astype(float)
        if len(own) == 2:
            rows[0, 3:6] = 0.0
        axes = [bins[name] for name in own]
        evidence = rng.normal(size=size)
        found.append(Shape(own, "cells", 0.5, 1.0, names, axes, evidence, rows))
    return found


@pytest.mark.parametrize("largest", [1e308, 1.7976931348623157e308])
def test_numbers_near_the_end_of_float64_are_drawn(largest):
    """An axis of them had infinite ends: pictures, and pages, ended in an error of NumPy's."""
    y = np.arange(80) % 2
    x = np.where(np.arange(80) % 9 == 0, largest * (2 * y - 1), y + np.arange(80) / 90)
    model = AutoBayes().fit({"x": x}, y)
    display = EvidenceDisplay.from_estimator(model)
    display.figure_.canvas.draw()
    low, high = display.axes_[0].get_xlim()
    assert np.isfinite([low, high]).all()
    assert low < -1e200 < 1e200 < high


def test_steps_bars_and_cells_are_weight_times_evidence():
    display = EvidenceDisplay(shapes=shapes(2), classes=np.array(["no", "yes"])).plot()
    age, gain, job, pair = display.shapes
    steps, skewed, bars, heat, *_ = display.axes_
    odds = [0.5 * (one.evidence[..., 1] - one.evidence[..., 0]) for one in display.shapes]
    for panel, shape, own in ((steps, age, odds[0]), (skewed, gain, odds[1])):
        line = next(patch for patch in panel.patches if not patch.get_fill())
        assert np.allclose(line.get_data().values, own[:-1])
        assert np.allclose(line.get_data().edges[:-1][1:], shape.bins[0].low[1:-1])
        missing = next(one for one in panel.lines if one.get_marker() not in ("", "None"))
        assert missing.get_ydata() == pytest.approx(own[-1:])
    assert (steps.get_xscale(), skewed.get_xscale()) == ("linear", "symlog")
    said = [text.get_text() for text in bars.get_yticklabels()]
    widths = [patch.get_width() for patch in bars.patches]
    assert widths == sorted(widths, reverse=True)
    drawn = dict(zip(said, widths, strict=True))
    assert drawn == pytest.approx(dict(zip(job.bins[0].labels, odds[2], strict=True)))
    counts = [text.get_text() for text in bars.texts]
    rows = dict(zip(job.bins[0].labels, job.rows.sum(axis=1), strict=True))
    assert counts == [f"{rows[name]:.0f}" for name in said]
    cells = heat.collections[0].get_array()
    assert np.allclose(cells.filled(0.0), np.where(pair.rows.sum(axis=2) > 0, odds[3], 0.0))
    assert cells.mask.sum() == 3
    assert heat.get_title() == "job × age\nweight 0.50"
    assert steps.get_ylabel() == "log-odds of yes (nats)"
    assert [text.get_text() for text in display.legend_.get_texts()] == ["for yes", "for no"]


def test_of_many_classes_each_has_a_line_and_a_heat_map_is_of_one():
    classes = np.array(list("abcdefgh"))
    display = EvidenceDisplay(shapes=shapes(8), classes=classes, label="h").plot()
    steps, _, marks, heat, *_ = display.axes_
    lines = [patch for patch in steps.patches if not patch.get_fill()]
    names = [text.get_text() for text in display.legend_.get_texts()]
    assert len(lines) == len(names) == 6
    assert "h" in names
    for line, name in zip(lines, names, strict=True):
        own = display.shapes[0].evidence[:-1, classes.tolist().index(name)]
        assert np.allclose(line.get_data().values, 0.5 * own)
    assert len({line.get_edgecolor() for line in lines}) == 6
    assert len(marks.lines) == 1 + 6
    cells = heat.collections[0].get_array()
    pair = display.shapes[3]
    seen = pair.rows.sum(axis=2) > 0
    assert np.allclose(cells.filled(0.0), np.where(seen, 0.5 * pair.evidence[..., 7], 0.0))


def test_columns_and_pairs_are_chosen():
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 2, (2, 600))
    y = np.where(rng.random(600) < 0.95, left ^ right, 1 - (left ^ right))
    table = {"left": left.astype(str), "right": right.astype(str), "size": rng.normal(size=600) + y}
    model = AutoBayes().fit(table, y)
    display = EvidenceDisplay.from_estimator(model, features=[("right", 0), "size"])
    assert [one.names for one in display.shapes] == [("left", "right"), ("size",)]
    assert {len(one.bins) for one in EvidenceDisplay.from_estimator(model).shapes} == {1, 2}
    with pytest.raises(ValueError, match="no table of left × size; it has"):
        EvidenceDisplay.from_estimator(model, features=("left", "size"))
    with pytest.raises(ValueError, match="'up' is not one of the features"):
        EvidenceDisplay.from_estimator(model, features="up")
    with pytest.raises(ValueError, match="has the label 7, which is not one of the classes"):
        EvidenceDisplay.from_estimator(model, label=7)
    with pytest.raises(ValueError, match="no feature of this model has weighted evidence"):
        EvidenceDisplay.from_estimator(GaussianNB().fit(PETALS, SPECIES))


@pytest.mark.parametrize("scale", [1.0, *slow(0.0, 1e-300, 1e300, -1e8)])
def test_evidence_of_any_numbers_is_drawn(scale):
    """One bin, a missing value alone, bins that touch, far out."""
    names = np.array(["$a$", "b"])
    for count in (0, 1, 2, 5):
        low = np.append(np.sort(np.arange(count) * scale), np.nan)
        low = low if scale else np.append(np.arange(count) * 5e-324, np.nan)
        bins = Bins("_x$", [str(k) for k in range(count + 1)], low, low)
        rows = np.ones((count + 1, 2))
        one = Shape(("_x$",), "bins", 1.0, 1.0, names, [bins], rows * 0.0, rows)
        EvidenceDisplay(shapes=[one], classes=names).plot().figure_.canvas.draw()
        square = rows[:, np.newaxis] * rows
        pair = Shape(("_x$",) * 2, "", 1.0, 1.0, names, [bins, bins], square * 0.0, square)
        EvidenceDisplay(shapes=[pair], classes=names).plot().figure_.canvas.draw()
        plt.close("all")


def test_long_and_many_levels_leave_room():
    names = np.array(["a", "b"])
    labels = [f"{'level ' * 5}{k}" for k in range(40)]
    rng = np.random.default_rng(0)
    bins = Bins("x", [*labels, "missing"])
    rows = rng.integers(1, 1000, (41, 2)).astype(float)
    shape = Shape(("x",), "levels", 1.0, 1.0, names, [bins], rng.normal(size=(41, 2)), rows)
    display = EvidenceDisplay(shapes=[shape], classes=names).plot()
    display.figure_.canvas.draw()
    (panel,) = display.axes_
    assert panel.get_position().width > 0.3
    assert "27 more" in [text.get_text() for text in panel.texts]
    shown = {text.get_text() for text in panel.texts}
    assert f"{rows.sum(axis=1).max():,.0f}" in shown


# ---- reliability --------------------------------------------------------------------------------


def test_calibration_shows_the_bins_of_the_predicted_class():
    """Three classes; scikit-learn's curve of the same bins."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1.0, 2.0, 4.0], 2000)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 2000)]
    display = CalibrationDisplay.from_predictions(y, proba, name="mine")
    right = proba.argmax(axis=1) == np.searchsorted(["a", "b", "c"], y)
    part, mean = calibration_curve(right, proba.max(axis=1), n_bins=10, strategy="quantile")
    np.testing.assert_allclose(display.marks_.get_offsets(), np.c_[mean, part], rtol=1e-12)
    (text,) = display.legend_.get_texts()
    error = abs(part - mean).mean()
    assert text.get_text().startswith(f"mine\ncalibration error\n{error:.2%} ± ")
    display.figure_.canvas.draw()
    for line in display.line_[2][0].get_segments():  # Wilson's intervals, as SciPy has them
        k = int(np.argmin(abs(mean - line[0, 0])))
        exact = stats.binomtest(round(200 * part[k]), 200).proportion_ci(method="wilson")
        np.testing.assert_allclose(line[:, 1], exact, rtol=1e-6)


def test_two_classifiers_share_the_axes():
    one = CalibrationDisplay.from_estimator(GaussianNB().fit(PETALS, SPECIES), PETALS, SPECIES)
    model = LogisticRegression().fit(PETALS, SPECIES)
    two = CalibrationDisplay.from_estimator(model, PETALS, SPECIES, ax=one.ax_)
    assert two.figure_ is one.figure_
    said = [text.get_text().split("\n")[0] for text in two.legend_.get_texts()]
    assert said == ["GaussianNB", "LogisticRegression"]
    assert one.line_[0].get_color() != two.line_[0].get_color()
    low = one.ax_.get_xlim()[0]
    for display in (one, two):
        assert (display.marks_.get_offsets() > low).all()


def test_the_probability_of_one_class_is_that_of_scikit_learn():
    """Of a rare class, which is never the predicted one."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 30, 2000)
    y = np.where(rng.random(2000) < p, "fraud", "ok")
    proba = np.stack([p, 1 - p], axis=1)
    display = CalibrationDisplay.from_predictions(y, proba, label="fraud", name="mine")
    share, mean = calibration_curve(y, p, pos_label="fraud", n_bins=10, strategy="quantile")
    np.testing.assert_allclose(display.reliability.confidence, mean)
    np.testing.assert_allclose(display.reliability.accuracy, share)
    assert display.ax_.get_xlabel() == "P(fraud | x)"
    assert display.ax_.get_ylabel() == "share of rows of class fraud"
    assert mean.max() < display.ax_.get_xlim()[1] < 0.5
    model = GaussianNB().fit(PETALS, SPECIES)
    one = CalibrationDisplay.from_estimator(model, PETALS, SPECIES, label=model.classes_[1])
    first = one.reliability.rows @ one.reliability.confidence / one.reliability.rows.sum()
    assert first == pytest.approx(model.predict_proba(PETALS)[:, 1].mean())
    with pytest.raises(ValueError, match="is not one of the classes"):
        CalibrationDisplay.from_estimator(model, PETALS, SPECIES, label="tulip")


def test_calibration_of_tables_texts_and_one_row():
    table = CalibrationDisplay.from_estimator(NaiveBayes().fit(TENNIS, "play"), TENNIS, "play")
    assert table.reliability.rows.sum() == 7
    CalibrationDisplay.from_estimator(TextNB(weights=None).fit(MAILS, KINDS), MAILS, KINDS)
    one = CalibrationDisplay.from_predictions(["a"], [[1.0, 0.0]], classes=["a", "b"])
    one.figure_.canvas.draw()
    assert one.reliability.error == 0.0


@pytest.mark.parametrize(
    ("y", "proba", "said"),
    [
        (["a", "b"], [0.2, 0.8], r"shape \(n, 2\)"),
        (["a", "b"], [[0.2, 0.8]], r"shape \(n, 2\)"),
        ([], np.empty((0, 0)), "n > 0"),
        (["a", "b"], [[0.2, 0.8], [np.nan, 1.0]], "sum to 1"),
        (["a", "b"], [[0.2, 0.8], [-0.5, 1.5]], ">= 0"),
        (["a", "b"], [[-3.0, 2.0], [1.0, 2.0]], ">= 0"),
    ],
)
def test_calibration_needs_probabilities(y, proba, said):
    with pytest.raises(ValueError, match=said):
        CalibrationDisplay.from_predictions(y, proba)
    assert plt.get_fignums() == []


def test_calibration_needs_a_classifier_and_its_labels():
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba"):
        CalibrationDisplay.from_estimator(LinearSVC(), PETALS, SPECIES)
    with pytest.raises(ValueError, match="this GaussianNB is not fitted"):
        CalibrationDisplay.from_estimator(GaussianNB(), PETALS, SPECIES)
    model = GaussianNB().fit(PETALS, SPECIES)
    with pytest.raises(ValueError, match="'rose', which is not one of the classes"):
        CalibrationDisplay.from_estimator(model, PETALS[:1], ["rose"])


# ---- ROC and precision-recall curves -------------------------------------------------------------


def test_curves_are_drawn_as_scikit_learn_does():
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[(rng.random(300) < 0.3).astype(int)]
    chance = np.round(np.clip(rng.normal(np.where(y == "yes", 0.6, 0.4), 0.2), 0, 1), 2)
    proba = np.column_stack([1 - chance, chance])
    roc = RocCurveDisplay.from_predictions(y, proba, name="mine")
    fpr, tpr, _ = metrics.roc_curve(y == "yes", chance, drop_intermediate=False)
    (line,) = roc.lines_
    np.testing.assert_allclose(line.get_xydata(), np.c_[fpr, tpr])
    (text,) = roc.legend_.get_texts()
    assert text.get_text() == f"mine\nAUC {metrics.roc_auc_score(y == 'yes', chance):.4f}"
    found = PrecisionRecallDisplay.from_predictions(y, proba)
    precision, recall, _ = metrics.precision_recall_curve(y == "yes", chance)
    (line,) = found.lines_
    np.testing.assert_allclose(line.get_xydata(), np.c_[recall, precision][::-1])
    assert found.ax_.lines[1].get_ydata() == [(y == "yes").mean()] * 2  # a random ranking
    assert found.ax_.get_xlabel() == "recall of yes"  # which has fewer rows
    other = PrecisionRecallDisplay.from_predictions(y, proba, positive="no")
    assert other.rankings["no"].positives == (y == "no").sum()


def test_of_more_classes_each_has_a_curve_against_the_others():
    model = GaussianNB().fit(PETALS, SPECIES)
    found = RocCurveDisplay.from_estimator(model, PETALS, SPECIES)
    proba = model.predict_proba(PETALS)
    texts = [text.get_text() for text in found.legend_.get_texts()]
    assert texts == [
        f"{label}\nAUC {metrics.roc_auc_score(label == SPECIES, proba[:, c]):.4f}"
        for c, label in enumerate(model.classes_)
    ]
    assert len({line.get_color() for line in found.lines_}) == 3


def test_curves_of_two_classifiers_share_the_axes():
    one = RocCurveDisplay.from_estimator(NaiveBayes().fit(TENNIS, "play"), TENNIS, "play")
    fewer = {name: TENNIS[name] for name in ("outlook", "play")}
    two = RocCurveDisplay.from_estimator(
        NaiveBayes().fit(fewer, "play"), fewer, "play", name="one", ax=one.ax_
    )
    names = [text.get_text().split("\n")[0] for text in two.legend_.get_texts()]
    assert names == ["NaiveBayes", "one"]
    assert one.lines_[0].get_color() != two.lines_[0].get_color()


def test_curves_need_two_classes_and_a_known_one():
    proba = np.tile([0.5, 0.5], (3, 1))
    with pytest.raises(ValueError, match="y_true has one class"):
        RocCurveDisplay.from_predictions(["a"] * 3, proba, classes=["a", "b"])
    with pytest.raises(ValueError, match="positive='c' is no class of y_true"):
        RocCurveDisplay.from_predictions(["a", "b", "a"], proba, positive="c")


# ---- every display -------------------------------------------------------------------------------


@cache
def flowers():
    return GaussianNB().fit(PETALS, SPECIES)


@cache
def digits():
    few = DIGITS.target < 4
    return GaussianNB().fit(DIGITS.data[few] * 0.5, DIGITS.target[few])


@cache
def coins():
    return BernoulliNB.from_parameters([[0.1, 0.5, 0.3], [0.7, 0.4, 0.3]])


DISPLAYS = {
    "boundary": lambda ax=None: DecisionBoundaryDisplay.from_estimator(
        flowers(), PETALS, SPECIES, feature_names=PETAL_NAMES, ax=ax
    ),
    "boundary-covariance": lambda ax=None: DecisionBoundaryDisplay.from_estimator(
        GaussianBayes().fit(IRIS.data[:, :2][TWO], SPECIES[TWO]),
        IRIS.data[:, :2][TWO], SPECIES[TWO], feature_names=IRIS.feature_names[:2], ax=ax,
    ),
    "calibration": lambda ax=None: CalibrationDisplay.from_estimator(
        flowers(), PETALS + SHAKEN, SPECIES, ax=ax
    ),
    "roc": lambda ax=None: RocCurveDisplay.from_estimator(flowers(), PETALS, SPECIES, ax=ax),
    "precision-recall": lambda ax=None: PrecisionRecallDisplay.from_estimator(
        flowers(), PETALS + SHAKEN, SPECIES, ax=ax
    ),
    "densities": lambda ax=None: ClassDensityDisplay.from_estimator(
        flowers(), PETALS, SPECIES, feature_names=PETAL_NAMES, ax=ax
    ),
    "densities-of-features": lambda ax=None: ClassDensityDisplay.from_estimator(
        GaussianNB().fit(IRIS.data, SPECIES), feature_names=IRIS.feature_names, ax=ax
    ),
    "evidence": lambda ax=None: EvidenceDisplay(
        shapes=shapes(2)[3:], classes=np.array(["no", "yes"])
    ).plot(ax),
    "evidence-of-classes": lambda ax=None: EvidenceDisplay(
        shapes=shapes(3)[:2], classes=np.array(["a", "b", "c"])
    ).plot(ax),
    "images": lambda ax=None: ImageDisplay.from_estimator(digits(), ax=ax),
    "levels": lambda ax=None: CategoriesDisplay.from_estimator(
        NaiveBayes().fit(TENNIS, "play"), ax=ax),
    "telling": lambda ax=None: InformativeFeaturesDisplay.from_estimator(
        TextNB(weights=None).fit(MAILS, KINDS), count=5, ax=ax
    ),
    "parameters": lambda ax=None: ParametersDisplay.from_estimator(digits(), ax=ax),
    "curves": lambda ax=None: LearningCurvesDisplay.from_comparison(curves(), ax=ax),
    "bayes-error": lambda ax=None: BayesErrorDisplay.from_estimator(
        flowers(), feature=1, feature_names=PETAL_NAMES, ax=ax
    ),
    "assumption": lambda ax=None: NaiveAssumptionDisplay.from_estimator(
        flowers(), PETALS, SPECIES, feature_names=PETAL_NAMES, ax=ax
    ),
    "coin": lambda ax=None: CoinDisplay.from_estimator(coins(), feature=0, label=1, ax=ax),
    "identical": lambda ax=None: IdenticalRowsDisplay.from_estimator(
        JointBayes().fit(TENNIS, "play"), {"wind": "weak"}, "yes", ax
    ),
    "dice": lambda ax=None: CategoriesDisplay.from_estimator(
        MultinomialNB.from_parameters([[1 / 6] * 6, [0.1] * 5 + [0.5]]), ax=ax
    ),
    "coins": lambda ax=None: CategoriesDisplay.from_estimator(coins(), ax=ax),
    "smoothing": lambda ax=None: SmoothingDisplay.from_estimator(
        NaiveBayes(), TENNIS, "play", feature="outlook", ax=ax
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DISPLAYS)
def test_a_display_draws_in_given_axes_and_again(name):
    figure, (ax, other) = plt.subplots(1, 2, layout="constrained")
    display = DISPLAYS[name](ax)
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    assert not other.has_data()
    figure.canvas.draw()
    box, rest = ax.get_position(), other.get_position()
    for panel in figure.axes:
        if panel not in (ax, other):
            assert panel.get_position().x1 < rest.x0 + 0.02
    assert box.width > 0.1
    again = display.plot()
    assert again is display
    assert display.figure_ is not figure


@pytest.mark.parametrize(
    "name", ["densities", "evidence", "images", "levels", "telling", "curves", "assumption", "coin"]
)
def test_panels_need_a_place_in_a_grid(name):
    ax = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ValueError, match=r"plt\.subplots"):
        DISPLAYS[name](ax)


@pytest.mark.parametrize(
    "display",
    [
        ClassDensityDisplay,
        EvidenceDisplay,
        ImageDisplay,
        CategoriesDisplay,
        ParametersDisplay,
        InformativeFeaturesDisplay,
    ],
)
def test_without_a_model_there_is_nothing_to_display(display):
    with pytest.raises(ValueError, match="this GaussianNB is not fitted yet"):
        display.from_estimator(GaussianNB())
    with pytest.raises(TypeError, match="NBSVM is not a generative model of naively"):
        display.from_estimator(NBSVM().fit(MAILS, KINDS))
    forgotten = GaussianNB().fit(PETALS, SPECIES).forget(PETALS, SPECIES)
    with pytest.raises(ValueError, match="every row was forgotten"):
        display.from_estimator(forgotten)
    with pytest.raises(ValueError, match="every row was forgotten"):
        DecisionBoundaryDisplay.from_estimator(forgotten, PETALS)
    assert plt.get_fignums() == []


def test_rows_that_are_missing_constant_or_far_away_are_drawn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    missing, constant = X.copy(), X.copy()
    missing[3, 0] = missing[4, 1] = np.nan
    constant[:, 0] = 7.0
    for rows in (missing, constant, X * 1e-300, X * 1e150, X + 1e8):
        model = GaussianNB().fit(rows, y)
        DecisionBoundaryDisplay.from_estimator(model, rows, y).figure_.canvas.draw()
        ClassDensityDisplay.from_estimator(model, rows, y).figure_.canvas.draw()


def test_many_classes_leave_room_for_the_picture():
    rng = np.random.default_rng(0)
    y = np.arange(320) % 32
    X = rng.normal(size=(320, 2)) + 4 * np.column_stack([y % 6, y // 6])
    display = DecisionBoundaryDisplay.from_estimator(GaussianNB().fit(X, y), X, y)
    display.figure_.canvas.draw()
    assert display.ax_.get_position().width > 0.5


def test_labels_are_shown_as_they_are():
    assert label("a $x^2$ b") == r"a \$x^2\$ b"
    assert label("line\nbreak\tand \x00") == "line break and  "
    assert len(label("x" * 200)) == 28
    X = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 6.0], [6.0, 5.0]])
    y = ["_hidden $\\frac$", "_hidden $\\frac$", "50% & {", "50% & {"]
    names = ["$\\alpha$ $\\bad", "tab\tand_under"]
    display = DecisionBoundaryDisplay.from_estimator(
        GaussianNB().fit(X, y), X, y, feature_names=names
    )
    display.figure_.canvas.draw()
    said = [text.get_text() for text in display.legend_.get_texts()]
    assert said[:2] == ["50% & {", r"_hidden \$\frac\$"]
    display = ClassDensityDisplay.from_estimator(GaussianNB().fit(X, y), feature_names=names)
    display.figure_.canvas.draw()


def test_forty_classes_all_look_different():
    styles = [style(k) for k in range(40)]
    assert len({(s.colour, str(s.line)) for s in styles}) == 40
    assert len({(s.colour, s.marker) for s in styles}) == 40
    assert len({(s.colour, s.hatch) for s in styles}) == 40


def test_without_matplotlib_the_error_says_what_to_install():
    """And neither `import naively` nor the displays import what they do not need."""
    script = """
import sys
import naively
assert "matplotlib" not in sys.modules
from naively import plot
assert naively.plot is plot
assert "sklearn" not in sys.modules
for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib" or "naively.plot" in n]:
    del sys.modules[name]
del naively.plot
sys.modules["matplotlib"] = None
try:
    naively.plot
except ImportError as error:
    assert "pip install 'naively[plot]'" in str(error), error
else:
    raise AssertionError("matplotlib was found")
"""
    subprocess.run([sys.executable, "-c", script], check=True)


# ---- how it looks --------------------------------------------------------------------------------

BASELINE = Path(__file__).parent / "baseline"
TOLERANCE = 5.0  # RMS of 255; versions 3.9 and 3.11 of matplotlib differ by less than 3, but for
SHIFTED = {"images": 20.0}  # pixels that lie between those of the screen


def picture(figure, path):
    """A figure, small and without its text, whose size depends on the version of matplotlib."""
    for ax in figure.axes:
        ax.tick_params(
            which="both", labelbottom=False, labelleft=False, labelright=False, labeltop=False
        )
        if ax.get_legend() is not None:
            ax.get_legend().remove()
    for text in figure.findobj(Text):
        text.set_visible(False)
    figure.set_size_inches(6.0, 4.0)
    figure.savefig(path, dpi=50)
    plt.close(figure)


@pytest.mark.slow
@pytest.mark.parametrize("name", DISPLAYS)
def test_it_looks_as_it_did(name, tmp_path):
    drawn = tmp_path / f"{name}.png"
    picture(DISPLAYS[name]().figure_, drawn)
    problem = compare_images(
        str(BASELINE / f"{name}.png"), str(drawn), SHIFTED.get(name, TOLERANCE)
    )
    assert problem is None, problem


@pytest.mark.slow
def test_the_tolerance_distinguishes_pictures(tmp_path):
    """Other regions, no points, images on their side."""
    model, other = GaussianNB().fit(PETALS, SPECIES), GaussianNB(tie="features")
    digits = GaussianNB().fit(DIGITS.data[DIGITS.target < 4], DIGITS.target[DIGITS.target < 4])
    turned = ImageDisplay.from_estimator(digits)
    for image in turned.images_.ravel():
        image.set_data(image.get_array().T)
    wrong = [
        ("boundary", DecisionBoundaryDisplay.from_estimator(model, PETALS)),
        ("boundary", DecisionBoundaryDisplay.from_estimator(
            other.fit(PETALS, SPECIES), PETALS, SPECIES)),
        ("images", turned),
    ]  # fmt: skip
    drawn = str(tmp_path / "drawn.png")
    for name, display in wrong:
        picture(display.figure_, drawn)
        tolerance = SHIFTED.get(name, TOLERANCE)
        assert compare_images(str(BASELINE / f"{name}.png"), drawn, tolerance) is not None


if __name__ == "__main__":
    with plt.style.context("default"):
        for each, draw in DISPLAYS.items():
            picture(draw().figure_, BASELINE / f"{each}.png")


def test_the_page_of_pictures_names_every_display():
    text = (Path(__file__).parents[1] / "docs" / "pictures.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| `(\w+Display)` \|", text, re.MULTILINE)) == displays.__all__


def test_a_legend_stays_out_of_the_next_subplot():
    model = GaussianNB().fit(PETALS, SPECIES)
    for layout in (None, "constrained"):
        figure, (ax, other) = plt.subplots(1, 2, layout=layout)
        legend = DecisionBoundaryDisplay.from_estimator(model, PETALS, SPECIES, ax=ax).legend_
        figure.canvas.draw()
        assert legend.get_window_extent().x1 <= other.get_window_extent().x0


def test_every_curve_beyond_the_view_has_a_hollow_mark():
    found = curves()
    panel = LearningCurvesDisplay.from_comparison(found).axes_[1]
    top = panel.get_ylim()[1]
    hollow = sum(
        len(line.get_xdata()) for line in panel.lines
        if line.get_linestyle() == "None" and set(line.get_ydata()) == {1}
    )  # fmt: skip
    beyond = sum(int((one.log_loss > top).sum()) for one in found.candidates if one.kind != "prior")
    assert hollow == beyond > 0
