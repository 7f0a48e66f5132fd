"""Smoothing curves: held-out rows and θ against l; the plot, and `naively fit --plot`."""

import json
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_digits

import naively
from naively import (
    AutoBayes,
    BernoulliNB,
    Categorical,
    CategoricalNB,
    ComplementNB,
    GaussianBayes,
    GaussianNB,
    JointBayes,
    MultinomialNB,
    NaiveBayes,
    TextNB,
)
from naively.cli.main import run
from naively.plot import SmoothingDisplay

mpl.use("Agg")
rng = np.random.default_rng(7)
y = rng.choice(["a", "b", "c"], 90, p=[0.5, 0.3, 0.2])
own = np.unique(y, return_inverse=True)[1]
COUNTS = rng.poisson(rng.gamma(2.0, 1.0, (3, 4))[own])
NUMBERS = rng.normal(own[:, np.newaxis], [1.0, 2.0, 0.5], (90, 3))
LEVELS = np.column_stack([rng.integers(0, 2 + own + k) for k in (0, 1, 2)])
TEXTS = [" ".join(rng.choice(["free", "noon", "$ lunch", "a_b"], 5)) for _ in y]
TABLE = {"job": [f"_{k}$" for k in LEVELS[:, 0]], "x": NUMBERS[:, 0]}
ALPHAS = [0.01, 1.0, 30.0]

CASES = [
    (CategoricalNB(), LEVELS), (MultinomialNB(), COUNTS), (ComplementNB(), COUNTS),
    (BernoulliNB(), LEVELS), (GaussianNB(), NUMBERS), (GaussianBayes("tied"), NUMBERS),
    (JointBayes(), LEVELS), (TextNB(), TEXTS), (NaiveBayes(), TABLE),
]  # fmt: skip
IDS = [type(model).__name__ for model, _ in CASES]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.parametrize(("model", "X"), CASES, ids=IDS)
def test_a_curve_is_what_out_of_fold_says_of_each_smoothing(model, X):
    weights = rng.integers(1, 4, 90).astype(float)
    curve = model.smoothing_curve(X, y, weights, alphas=[30, 0.01, 1, 1], parts=4)
    assert curve.alphas.tolist() == ALPHAS
    for k, alpha in enumerate(ALPHAS):
        one = type(model)(**{**model.get_params(deep=False), "alpha": alpha})
        found = one.out_of_fold(X, y, weights, parts=4)
        assert curve.log_loss[k] == pytest.approx(found.log_loss, rel=1e-12)
        assert curve.error[k] == pytest.approx(1 - found.accuracy, rel=1e-12)
        assert curve.baseline_log_loss == pytest.approx(found.baseline_log_loss, rel=1e-12)
        fitted = one.fit(X, y, weights).model_.posterior()
        np.testing.assert_array_equal(curve.model(k).posterior().class_prior, fitted.class_prior)
        for (_, part), (_, other) in zip(
            curve.model(k).posterior().blocks, fitted.blocks, strict=True
        ):
            for mine, its in zip(part.listed(), other.listed(), strict=True):
                np.testing.assert_array_equal(mine.values, its.values)


def test_auto_takes_the_least():
    fitted = MultinomialNB(alpha="auto").fit(COUNTS, y)
    display = SmoothingDisplay.from_estimator(fitted, COUNTS, y)
    assert display.best_ == display.alpha == fitted.alpha_
    assert len(display.curve.alphas) == 21


def test_rows_of_an_unknown_class_are_errors_without_a_loss():
    """A class of one row is known to no model that predicts it."""
    labels = np.append(y, "d")
    curve = GaussianNB().smoothing_curve(np.vstack([NUMBERS, NUMBERS[:1]]), labels, alphas=[1.0])
    found = GaussianNB(alpha=1.0).out_of_fold(np.vstack([NUMBERS, NUMBERS[:1]]), labels)
    assert found.unknown.sum() == 1
    assert (curve.log_loss[0], curve.error[0]) == pytest.approx(
        (found.log_loss, 1 - found.accuracy)
    )


# ---- the picture ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "X"), CASES, ids=IDS)
def test_every_kind_is_drawn(model, X):
    before = str(model.get_params())
    display = SmoothingDisplay.from_estimator(model, X, y, alphas=ALPHAS)
    display.figure_.canvas.draw()
    assert str(model.get_params()) == before
    assert len(display.axes_) == 3
    np.testing.assert_array_equal(display.axes_[1].lines[0].get_ydata(), display.curve.log_loss)
    np.testing.assert_array_equal(display.axes_[2].lines[0].get_ydata(), display.curve.error)
    assert 3 <= len(display.lines_) <= 12
    assert any(np.ptp(line.get_ydata()) > 0 for line in display.lines_.values())  # l moves them


def test_the_lines_are_theta():
    """Lecture 1: (n_jc + l) / (n_c + l K)."""
    table = {"job": TABLE["job"], "x": TABLE["x"]}
    alphas = np.array(ALPHAS)
    display = SmoothingDisplay.from_estimator(
        NaiveBayes(), table, y, feature="job", levels=["_0$", "_1$"], alphas=alphas
    )
    levels = sorted(set(table["job"]))
    assert set(display.lines_) == {(c, level) for c in "abc" for level in ("_0$", "_1$")}
    for (label, level), line in display.lines_.items():
        inside = np.array(table["job"])[y == label]
        theta = ((inside == level).sum() + alphas) / (len(inside) + alphas * len(levels))
        np.testing.assert_allclose(line.get_ydata(), theta, rtol=1e-12)
        np.testing.assert_array_equal(line.get_xdata(), alphas)
    assert display.axes_[0].get_title() == "θ of job"
    assert display.legend_.get_texts()[0].get_text() == r"_0\$, a"


def test_a_feature_is_chosen_that_smoothing_changes():
    """x tells all about the class, but has no smoothing."""
    table = {"x": own + rng.normal(0, 0.01, 90), "job": TABLE["job"], "k": TABLE["job"][::-1]}
    columns = {"k": Categorical(2.0)}
    display = SmoothingDisplay.from_estimator(NaiveBayes(columns), table, y, alphas=ALPHAS)
    assert display.axes_[0].get_title() == "θ of job"
    named = SmoothingDisplay.from_estimator(
        NaiveBayes(columns), table, y, feature="x", alphas=ALPHAS
    )
    assert named.axes_[0].get_title() == "σ of x"
    assert set(named.lines_) == {("a", None), ("b", None), ("c", None)}


def test_classes_are_many_and_axes_are_given():
    digits = load_digits()
    figure, axes = plt.subplots(1, 2)
    display = SmoothingDisplay.from_estimator(
        BernoulliNB(binarize=7), digits.data[:300], digits.target[:300], alphas=ALPHAS, ax=axes[0]
    )
    assert display.figure_ is figure
    assert len(display.lines_) == 10
    looks = {(line.get_color(), str(line.get_linestyle()), str(line._unscaled_dash_pattern))
             for line in display.lines_.values()}  # fmt: skip
    assert len(looks) == 10


@pytest.mark.parametrize(("model", "options", "error", "said"), [
    (AutoBayes(), {}, ValueError, "AutoBayes has no alpha"),
    (object(), {}, TypeError, "object is not a classifier of naively with smoothing"),
    (NaiveBayes(), {"feature": "age"}, ValueError, "'age' is not one of the features"),
    (NaiveBayes(), {"feature": "job", "levels": ["far"]}, ValueError, "'far' is not one of the"),
    (NaiveBayes(), {"alphas": []}, ValueError, "no values to try"),
    (NaiveBayes(), {"alphas": [0, 1]}, ValueError, "above 0"),
    (NaiveBayes(), {"alphas": [-1]}, ValueError, "alpha"),
    (NaiveBayes(), {"alphas": [float("nan")]}, ValueError, "alpha"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_refused(model, options, error, said):
    with pytest.raises(error, match=said):
        SmoothingDisplay.from_estimator(model, TABLE, y, **options)
    assert not plt.get_fignums()


# ---- the command line ----------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = (f"{job},{x},{label}" for job, x, label in zip(*TABLE.values(), y, strict=True))
    Path("t.csv").write_text("job,x,y\n" + "\n".join(lines) + "\n")
    for label in "abc":
        texts = np.array(TEXTS)[y == label]
        Path(f"{label}.txt").write_text("\n".join(texts) + "\n")


def test_fit_draws_what_other_smoothing_does(data, monkeypatch, capsys):
    seen = []
    plot = SmoothingDisplay.plot
    monkeypatch.setattr(
        SmoothingDisplay, "plot", lambda self, ax=None: (seen.append(self), plot(self, ax))[1]
    )
    tokens = ["fit", "t.csv", "-t", "y", "-o", "m", "--naive", "--alpha", "2", "--json"]
    assert run([*tokens, "--plot", "s.png"]) == 0
    told = json.loads(capsys.readouterr().out)["cross_validation"]
    assert Path("s.png").read_bytes().startswith(b"\x89PNG")
    assert seen[0].alpha == 2.0
    documents = ["fit", "a.txt", "b.txt", "c.txt", "-o", "m", "--plot", "s.svg"]
    assert run(documents) == 2  # their words are weighed
    assert "--naive" in capsys.readouterr().err
    assert run([*documents, "--naive"]) == 0
    assert Path("s.svg").stat().st_size > 10_000
    words = seen[1]
    assert np.ptp(words.curve.log_loss) > 0  # words follow --alpha, too
    at = words.curve.alphas.tolist().index(1.0)
    learned = naively.load("m").parameters_.to_pylist()
    theta = {(row["class"], row["level"]): row["value"] for row in learned}
    for key, line in words.lines_.items():
        assert line.get_ydata()[at] == theta[key]
    assert told["log_loss"] > 0


@pytest.mark.parametrize(("options", "said"), [
    ([], "add --naive"), (["--naive", "--holdout", "0.2"], "leave out --holdout"),
    (["--naive", "--plot", "s.txt"], "ends in one of"), (["--like", "m0"], "leave out --plot"),
])  # fmt: skip
def test_mistakes_are_found_before_the_work(data, capsys, options, said):
    shown = [] if "--plot" in options else ["--plot", "s.png"]
    assert run(["fit", "t.csv", "-t", "y", "-o", "m", *shown, *options]) == 2
    assert said in capsys.readouterr().err
    assert not Path("m").exists()


def test_one_class_has_no_curve(data, capsys):
    assert run(["fit", "a.txt", "--label", "a", "--naive", "-o", "m", "--plot", "s.png"]) == 1
    assert "--plot: the rows are of one class" in capsys.readouterr().err
    assert not Path("s.png").exists()
