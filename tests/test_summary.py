"""`summary()`: a fitted model in Python, in the terminal and as JSON."""

import json

import numpy as np
import pandas as pd
import pytest
from product import run
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import naively
from naively import (
    NBSVM,
    AutoBayes,
    BernoulliNB,
    CategoricalNB,
    GaussianBayes,
    GaussianNB,
    MultilabelNB,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    TextNB,
)

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 400)
LEFT, RIGHT = RNG.integers(0, 2, (2, 400))
TABLE = pd.DataFrame({
    "size": RNG.normal(size=400) + Y, "<b>": np.array(["in", "out"])[LEFT ^ (Y == 1)],
    "left": np.array(["no", "yes"])[LEFT], "same": 1.0, "right": np.array(["a", None])[RIGHT],
})  # fmt: skip
TEXTS = ["win a free prize", "meeting at noon", "free free prize", "lunch at noon?"]
KINDS = ["spam", "ham", "spam", "ham"]
FITTED = {
    "auto": AutoBayes().fit(TABLE, Y),
    "naive": NaiveBayes().fit(TABLE, Y),
    "array": GaussianNB().fit(TABLE[["size"]].to_numpy(), Y),
    "covariance": GaussianBayes().fit(RNG.normal(size=(400, 2)), Y),
    "counts": MultinomialNB().fit(RNG.poisson(3, (400, 4)), Y),
    "text": TextNB().fit(TEXTS, KINDS),
    "weights": NBSVM().fit(TEXTS, KINDS),
    "labels": MultilabelNB(weights=None).fit(TEXTS, [["spam", "short"], [], ["spam"], ["short"]]),
}


@pytest.mark.parametrize("name", FITTED)
def test_every_estimator_has_one(name):
    model = FITTED[name]
    summary = model.summary()
    shown = str(summary)
    assert shown == repr(summary)
    assert shown.startswith(type(model).__name__)
    assert f"trained on {summary.rows:,} rows" in shown
    assert all(line == line.rstrip() for line in shown.splitlines())
    found = summary.to_dict()
    json.dumps(found, allow_nan=False)
    frame = summary.to_frame()
    assert frame.columns.tolist() == [
        "feature", "type", "missing", "weight", "importance", "left_out",
    ]  # fmt: skip
    assert len(frame) == found["n_features"]
    assert summary._repr_html_().count("<table") >= 2
    with pytest.raises(NotFittedError):
        clone(model).summary()
    with pytest.raises(ValueError, match="terms must be a number"):
        model.summary(terms=-1)


@pytest.mark.parametrize("name", ["auto", "array"])
def test_importance_is_the_mean_distance_of_contributions_from_their_mean(name):
    """Of three classes: the mean over them, in their shares, of each against the others."""
    model = FITTED[name]
    rows = TABLE if name == "auto" else None
    listed = {one.name: one.importance for one in model.summary().features}
    if rows is None:  # over rows that are drawn from the model
        rows, _ = model.sample(40_000, random_state=0)
    added = model.explain(rows).contributions
    prior = model.class_prior_
    names = model.explain(rows[:1]).features or ["x0"]
    for name, own in zip(names, np.moveaxis(added, -1, 0), strict=True):
        expected = 0.0
        for c, share in enumerate(prior):
            odds = (own[:, c] - own @ prior) / (1 - share)
            expected += share * np.abs(odds - odds.mean()).mean()
        if name in listed:
            assert listed[name] == pytest.approx(expected, rel=1e-6 if len(rows) == 400 else 0.1)


def test_interactions_and_features_that_are_left_out():
    summary = FITTED["auto"].summary()
    assert [*summary.interactions[0].names] == ["<b>", "left"]
    assert summary.left_out["same"] == "constant"
    frame = summary.to_frame().set_index("feature")
    assert frame.loc["same", "left_out"] == "constant"
    assert frame.loc["same", "importance"] == 0
    html = summary._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html.replace("<b>AutoBayes", "")


@pytest.mark.parametrize("options", [[], ["--naive"]])
def test_the_terminal_prints_it(options, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    TABLE.assign(y=Y).to_csv("t.csv", index=False)
    assert run(["fit", "t.csv", "--target", "y", "-o", "m", *options]) == 0
    out = capsys.readouterr().out
    summary = naively.load("m").summary()
    features = str(summary).split("\n\n")[1]
    assert features.startswith("feature ")
    assert features in out
    assert run(["inspect", "m"]) == 0
    out = capsys.readouterr().out
    assert all(part in out for part in str(summary).split("\n\n")[1:])
    assert run(["inspect", "m", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {key: found[key] for key in summary.to_dict()} == json.loads(
        json.dumps(naively.load("m").summary(terms=30).to_dict())
    )


def test_models_of_any_number_of_labels_are_a_mode_of_it():
    found = FITTED["labels"].summary().to_dict()
    assert found["labels"] == ["short", "spam"]
    assert found["class_weight"] == [2, 2]
    (text,) = found["texts"].values()
    assert "free" in [one["term"] for one in text["classes"][1]["terms"]]
    assert "label  most informative terms" in str(FITTED["labels"].summary())


def test_numbers_that_are_declared_categorical_are_shown_so():
    table = {"code": [1, 2, 3] * 40, "size": [0.5 * k for k in range(120)]}
    model = AutoBayes(categorical=["code"]).fit(table, [0, 1, 1] * 40)
    types = {feature.name: feature.type for feature in model.summary().features}
    assert types["code"] == "3 categories"


ONLY = np.array([0, 0, 1, 1, 2, 2] * 9)
"""Classes, and a column of which class 2 has one value."""
SEEN = np.array([0, 1, 0, 1, 1, 1] * 9)


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (CategoricalNB(alpha=0), SEEN),
        (BernoulliNB(alpha=0), SEEN),
        (PoissonNB(alpha=0), 1 - SEEN),
        (NaiveBayes(alpha=0), np.array(["no", "yes"])[SEEN]),
    ],
)
def test_what_has_probability_0_without_smoothing_is_named(model, values):
    table = pd.DataFrame({"seen": values, "other": values[[0, 1] * 27]})  # both in each class
    shown = str(model.fit(table, ONLY).summary())
    assert "seen: a value that never occurred in a class has probability 0 there" in shown
    remedy = "to smooth: alpha=1 in place of alpha=0, in --alpha, the family of the feature, or"
    assert remedy in " ".join(shown.split())
    found = {
        one["feature"]: one["zero_probability"] for one in model.summary().to_dict()["features"]
    }
    assert found == {"seen": True, "other": False}
    smoothed = model.set_params(alpha=1e-10).fit(table, ONLY).summary()
    assert not any(one.zero_probability for one in smoothed.features)
    assert "probability 0" not in str(smoothed)


def test_a_feature_that_is_constant_in_a_class_is_named():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[np.arange(90) % 3]
    x = np.where(y == "b", 3.5, rng.normal(size=90))
    table = pd.DataFrame({"x": x, "v": rng.normal(size=90), "same": 1.0})
    summary = GaussianNB().fit(table, y).summary()
    found = {one["feature"]: one["constant_in"] for one in summary.to_dict()["features"]}
    assert found == {"x": ["b"], "v": [], "same": []}
    assert "constant: x in class b; other values are all but impossible" in str(summary)
    assert "constant" not in str(GaussianNB(alpha=1).fit(table, y).summary())


def test_bell_curves_have_no_zeros():
    assert not FITTED["array"].summary().features[0].zero_probability  # alpha is 0
