"""Counterfactuals: each change is applied, and the model then predicts what it says."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from corpora import WORDS
from hypothesis import given
from hypothesis import strategies as st
from test_cli import naive

from naively import NBSVM, AutoBayes, JointBayes, NaiveBayes, TextNB, load
from naively.rendering import as_text, on_terminal

rng = np.random.default_rng(5)
Y = rng.integers(0, 3, 300)
TABLE = pd.DataFrame(
    {
        "size": rng.normal(2.0 * Y).round(3),
        "legs": rng.poisson(2.0 + 3 * Y),
        "colour": np.where(rng.random(300) < 0.7, np.array(["red", "blue", "grey"])[Y], "green"),
        "tame": rng.random(300) < 0.3 + 0.3 * Y / 2,
    }
)
TABLE.loc[3, "size"] = np.nan
TABLE.loc[4, "colour"] = None
LABELS = np.array(["ant", "bee", "cat"])[Y]
MODELS = {
    "auto": AutoBayes(), "naive": NaiveBayes(), "kernel": NaiveBayes(family="kernel_density"),
    "joint": JointBayes(),
}  # fmt: skip
TEXTS = ["win a free prize", "meeting at noon", "free free prize", "lunch at noon?", "prize lunch"]
TEXT_LABELS = ["spam", "ham", "spam", "ham", "ham"]


def odds(model, X, a, b):
    classes = model.classes_.tolist()
    log_proba = model.predict_log_proba(X)[0]
    with np.errstate(invalid="ignore"):
        return log_proba[classes.index(a)] - log_proba[classes.index(b)]


@pytest.fixture(scope="module", params=MODELS)
def table_model(request):
    X = TABLE if request.param != "joint" else TABLE[["colour", "tame"]]
    return MODELS[request.param].fit(X, LABELS), X


@pytest.mark.parametrize("label", [None, "ant", "cat"])
def test_each_change_of_a_table_is_what_the_model_says(table_model, label):
    model, X = table_model
    rows = X.iloc[:8]
    predicted, second = model.predict(rows), model.predict_top(rows, 2)[0][:, 1]
    for i, why in enumerate(model.counterfactuals(rows, label)):
        row = rows.iloc[[i]]
        assert why.predicted == predicted[i]
        assert why.label == (second[i] if label is None else label)
        if why.label == why.predicted:
            assert (why.changes, why.terms, why.log_odds) == ([], [], 0.0)
            assert f"no change is needed: the prediction is {why.label}" in str(why)
            continue
        base = odds(model, row, why.label, why.predicted)
        assert why.log_odds == pytest.approx(base, abs=1e-9)
        assert why.log_odds <= 1e-9
        for one in why.changes:
            to = {"true": True, "false": False}.get(one.to, one.to)
            kind = X[one.feature].dtype.kind
            other = row.assign(**{one.feature: float(to) if kind in "if" else to})
            assert odds(model, other, why.label, why.predicted) - base == pytest.approx(
                one.log_odds, abs=1e-6
            )
            assert one.log_odds > 0
            assert one.predicted == model.predict(other)[0]
            assert one.enough == (one.predicted == why.label)
            assert one.value is None or one.value != one.to
        flags = [one.enough for one in why.changes]
        assert flags == sorted(flags, reverse=True)


def test_the_nearest_number_that_is_enough():
    """Two normal densities of means 0 and 4: the border is at 2."""
    x = np.concatenate([rng.normal(0, 1, 500), rng.normal(4, 1, 500)])
    model = NaiveBayes(family="gaussian").fit(pd.DataFrame({"x": x}), np.repeat(["a", "b"], 500))
    one, other = model.counterfactuals(pd.DataFrame({"x": [-1.0, 6.0]}))
    (change,) = one.changes
    assert change.enough
    assert 1.8 < float(change.to) < 2.5
    (change,) = other.changes
    assert 1.5 < float(change.to) < 2.2


def test_columns_that_are_absent_or_missing_may_be_given():
    model = NaiveBayes().fit(TABLE, LABELS)
    with pytest.warns(UserWarning, match="has no column"):
        (why,) = model.counterfactuals(TABLE[["size"]].iloc[[0]])
    assert any(one.value is None and one.feature == "legs" for one in why.changes)
    (why,) = model.counterfactuals(TABLE.iloc[[4]])
    assert any(one.feature == "colour" and one.value is None for one in why.changes)


def test_a_label_that_is_none():
    for model, X in (
        (NaiveBayes().fit(TABLE, LABELS), TABLE), (TextNB().fit(TEXTS, TEXT_LABELS), TEXTS)
    ):  # fmt: skip
        with pytest.raises(ValueError, match="'dog' is not one of the classes"):
            model.counterfactuals(X, "dog")


# ---- texts ---------------------------------------------------------------------------------------

TEXT_MODELS = [
    TextNB(), TextNB("bernoulli"), TextNB("complement"), TextNB("binary", ngram_range=(1, 2)),
    TextNB(weighting="tfidf", length_norm="l2"), TextNB(alpha=0), NBSVM(ngram_range=(1, 2)),
]  # fmt: skip


def unmixed(model, texts, why):
    """The log-odds of an explanation, without its line of prior mixing."""
    explained = model.explain(texts)[0]
    prior, terms, rest = explained.known_log_odds(why.label, why.predicted)
    return prior + terms.sum() + rest * (explained.rest_is != "prior mixing")


@pytest.mark.parametrize("model", TEXT_MODELS, ids=str)
def test_each_term_is_what_the_model_says(model):
    model.fit(TEXTS, TEXT_LABELS)
    for text in ["win a prize today", "noon", "", None, "meeting meeting lunch"]:
        (why,) = model.counterfactuals([text])
        base = odds(model, [text], why.label, why.predicted)
        assert why.changes == []
        for one in why.terms:
            assert one.feature == "text"
            assert one.to not in (text or "").split()
            more = [f"{text or ''} {one.to}"]
            after = odds(model, more, why.label, why.predicted)
            if np.isfinite([base, after]).all():
                gain = np.diff([unmixed(model, part, why) for part in ([text], more)])[0]
                assert one.log_odds == pytest.approx(gain, abs=1e-9)
            else:
                assert one.log_odds == np.inf
            assert one.predicted == model.predict(more)[0]
            assert one.enough == (one.predicted == why.label)
        gains = [one.log_odds for one in why.terms]
        assert gains == sorted(gains, reverse=True)
        for count in range(1, len(why.terms) + 1):
            said = " ".join([text or "", *(one.to for one in why.terms[:count])])
            is_enough = model.predict([said])[0] == why.label
            assert is_enough == (count == why.together) or count > (why.together or 0) > 0


@given(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
def test_hostile_texts(text):
    model = TextNB(token_pattern=r"\S+").fit(
        [" ".join(WORDS[:9]), " ".join(WORDS[7:]), "\ud800 x"], [0, 1, 1]
    )
    (why,) = model.counterfactuals([text])
    assert str(why)
    json.dumps(why.to_dict())
    assert why.predicted == model.predict([text])[0]


def test_hashed_terms_have_no_names():
    (why,) = TextNB(n_features=64).fit(TEXTS, TEXT_LABELS).counterfactuals(["noon"])
    assert why.terms == []
    assert "neither a single change nor all together are enough for spam" in str(why)


def test_text_beside_other_columns():
    frame = pd.DataFrame({"body": TEXTS * 8, "size": np.tile([1.0, 2, 1, 2, 2], 8)})
    frame["size"] += rng.normal(0, 1, 40)
    labels = TEXT_LABELS * 8
    model = NaiveBayes(columns={"body": "text"}).fit(frame, labels)
    row = frame.iloc[[1]].assign(body="noon")
    (why,) = model.counterfactuals(row, "spam")
    assert {one.feature for one in why.terms} == {"body"}
    assert [one.feature for one in why.changes] == ["size"]
    assert why.together is not None
    changed = row.assign(size=float(why.changes[0].to))
    terms = why.terms[: why.together - 1]
    changed = changed.assign(body=" ".join(["noon", *(one.to for one in terms)]))
    assert model.predict(changed)[0] == "spam"


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    TABLE.assign(kind=LABELS).to_csv("t.csv", index=False)
    naive(capsys, "fit", "t.csv", "--target", "kind", "-o", "m")
    out, _ = naive(
        capsys, "explain", "m", "t.csv", "--row", "1-9", "--counterfactual", "bee", "--json"
    )
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["row"] for row in rows] == [*range(1, 10)]
    assert {row["label"] for row in rows} == {"bee"}
    out, _ = naive(capsys, "explain", "m", "t.csv", "--row", "1-9", "--counterfactual", "bee")
    for row in rows:
        if row["predicted"] != "bee":
            assert f"predicted {row['predicted']}; P(bee) = {row['probability']:.4f}" in out
        for change in row["changes"]:
            assert change["enough"] == (change["predicted"] == "bee")
            end = change["predicted"]
            cells = [f"{change['log_odds']:+.3f}", f"{change['probability']:.4f}", end]
            assert any(line.split()[-3:] == cells for line in out.splitlines())
    assert "change to" in out
    Path("t.txt").write_text("free\nnoon\n")
    TextNB().fit(TEXTS, TEXT_LABELS).save("texts")
    out, _ = naive(capsys, "explain", "texts", "t.txt", "--row", "all", "--counterfactual", "spam")
    assert "no change is needed: the prediction is spam" in out
    assert "add prize" in out
    err = naive(capsys, "explain", "m", "t.csv", "--counterfactual", "dog", code=2)[1]
    assert "--counterfactual dog: the classes are" in err
    err = naive(
        capsys, "explain", "m", "t.csv", "--counterfactual", "ant", "--against", "bee", code=2
    )[1]
    assert "--counterfactual excludes" in err


def test_a_long_category_is_printed_whole():
    """A category must be typed as it is; words are wrapped where the line is too short."""
    category = "farming, fishing, forestry, and what else is done outdoors"
    jobs, sold = np.array([category, "clerk"] * 50), np.array(["yes", "no"] * 50)
    X = pd.DataFrame({"the occupation of a customer": jobs})
    (why,) = AutoBayes().fit(X, sold).counterfactuals(X.iloc[[1]], "yes")
    assert category in as_text(on_terminal(why.table, 160), 160)
    assert {*category.split(), "customer"} <= {*str(why).split()}


def test_printed_values_are_short_and_lead_to_the_printed_class():
    X = pd.DataFrame({"a": np.arange(60) / 7, "b": np.arange(60)[::-1] / 3})
    model = AutoBayes().fit(X, np.arange(60) // 30)
    (why,) = model.counterfactuals(X.iloc[[20]])
    lines = [line.split() for line in str(why).splitlines()]
    changes = {line[0]: line[1:] for line in lines if line[:1] in (["a"], ["b"])}
    assert changes.keys() == {"a", "b"}
    for name, (value, to, *_, probability, predicted) in changes.items():
        assert value == f"{X[name][20]:.4g}"
        changed = X.iloc[[20]].assign(**{name: float(to)})
        assert str(model.predict(changed)[0]) == predicted
        assert f"{model.predict_proba(changed)[0, 1]:.4f}" == probability


def test_only_changeable_features_change():
    model = NaiveBayes().fit(TABLE, LABELS)
    for why in model.counterfactuals(TABLE.iloc[:5], changeable=["size", "tame"]):
        assert {one.feature for one in why.changes} <= {"size", "tame"}
    with pytest.raises(ValueError, match="changeable: the model has no feature 'weight'"):
        model.counterfactuals(TABLE.iloc[:1], changeable=["weight"])
    with pytest.raises(ValueError, match=r"changeable must be a list of features, as \['size'\]"):
        model.counterfactuals(TABLE.iloc[:1], changeable="size")


def test_changes_together():
    """No single one of five weak features is enough; applied, the first ones together are."""
    y = np.arange(400) % 2
    flags = rng.random((400, 5)) < np.where(y == 1, 0.7, 0.3)[:, np.newaxis]
    frame = pd.DataFrame({f"f{k}": np.where(flags[:, k], "on", "off") for k in range(5)})
    model = NaiveBayes().fit(frame, y)
    row = pd.DataFrame({f"f{k}": ["off"] for k in range(5)})
    (why,) = model.counterfactuals(row)
    assert not any(one.enough for one in why.changes)
    assert why.together == 3
    assert "with the first 3 changes together, 1 is predicted" in str(why)
    for one in why.changes[:3]:
        assert model.predict(row)[0] == 0
        row = row.assign(**{one.feature: one.to})
    assert model.predict(row)[0] == 1


def test_decisions_are_explained(tmp_path, monkeypatch, capsys):
    """By a threshold or costs, not the most probable class; the change must alter the decision."""
    monkeypatch.chdir(tmp_path)
    two = TABLE[LABELS != "cat"].assign(kind=LABELS[LABELS != "cat"])
    two.to_csv("t.csv", index=False)
    naive(capsys, "fit", "t.csv", "--target", "kind", "-o", "m")
    model = load("m")
    chance = model.predict_proba(two.drop(columns="kind"))[:, 1]
    row = int(np.flatnonzero((chance > 0.05) & (chance < 0.4))[0])
    given = "explain", "m", "t.csv", "--row", row + 1
    low = f"{chance[row] / 2:.4f}"
    out, _ = naive(capsys, *given, "--threshold", low, "--positive", "bee")
    assert f"decision: bee (P(bee) = {chance[row]:.4f} ≥ {float(low):g})" in out
    assert "log-odds of bee against ant" in out
    found = json.loads(naive(capsys, *given, "--threshold", low, "--positive", "bee", "--json")[0])
    assert (found["decision"], found["predicted"], found["label"]) == ("bee", "ant", "bee")
    Path("costs.csv").write_text(f",ant,bee\nant,0,{low}\nbee,{1 - float(low)},0\n")
    p, low_cost = chance[row], float(low)
    said = f"(expected cost {(1 - p) * low_cost:.4g}; of ant: {p * (1 - low_cost):.4g})"
    assert f"decision: bee {said}" in naive(capsys, *given, "--costs", "costs.csv")[0]
    towards = "--counterfactual", "ant", "--immutable", "colour"
    found = json.loads(naive(capsys, *given, "--costs", "costs.csv", *towards, "--json")[0])
    assert found["predicted"] == "bee"
    assert found["changes"]
    for change in found["changes"]:
        assert change["feature"] != "colour"
        assert change["enough"] == (1 - change["probability"] < float(low))
    for tokens, says in (
        (["--threshold", "2"], "from 0 to 1"), (["--positive", "bee"], "needs --threshold"),
        (["--threshold", "0.1", "--costs", "costs.csv"], "choose one"),
        (["--immutable", "size"], "need --counterfactual"),
        (["--counterfactual", "bee", "--immutable", "x"], "the model has no feature 'x'"),
    ):  # fmt: skip
        assert says in naive(capsys, *given, *tokens, code=2)[1]


def test_immutable_features_stay_and_changes_have_the_type_of_the_column():
    rng = np.random.default_rng(0)
    legs, size = rng.integers(0, 9, 400), rng.normal(size=400).round(2)
    kind = np.where(legs + size + rng.normal(size=400) > 4, "ant", "bee")
    model = AutoBayes().fit({"legs": legs, "size": size}, kind)
    rows = {"legs": [1], "size": [-0.5]}
    (why,) = model.counterfactuals(rows, "ant")
    types = {one.feature: (type(one.value), type(one.to)) for one in why.changes}
    assert types == {"legs": (int, int), "size": (float, float)}
    texts = {"legs": ["1"], "size": ["-0.5"]}  # as a file has them
    assert model.counterfactuals(texts, "ant")[0].changes == why.changes
    few = NaiveBayes().fit({"legs": legs % 3}, legs % 3 > 1)  # numbers as categories
    (change,) = few.counterfactuals({"legs": [0]}, True)[0].changes
    assert repr((change.value, change.to)) == "(0, 2)"
    (legs_changed,) = (one for one in why.changes if one.feature == "legs")
    after = model.predict_proba({**rows, "legs": [legs_changed.to]})[0, 0]
    assert legs_changed.probability == pytest.approx(after)
    (fixed,) = model.counterfactuals(rows, "ant", immutable=["legs"])
    assert [one.feature for one in fixed.changes] == ["size"]
    (both,) = model.counterfactuals(rows, "ant", changeable=["legs", "size"], immutable=["size"])
    assert [one.feature for one in both.changes] == ["legs"]
    with pytest.raises(ValueError, match="immutable: the model has no feature 'wings'"):
        model.counterfactuals(rows, immutable=["wings"])
    with pytest.raises(ValueError, match=r"immutable must be a list of features, as \['legs'\]"):
        model.counterfactuals(rows, immutable="legs")
