"""What would make a row of another class: each change is tried, and says what the model says."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from corpora import WORDS
from hypothesis import given
from hypothesis import strategies as st
from test_cli import naive

from naively import NBSVM, AutoBayes, JointBayes, NaiveBayes, TextNB

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
    for i, why in enumerate(model.why_not(rows, label)):
        row = rows.iloc[[i]]
        assert why.predicted == predicted[i]
        assert why.label == (second[i] if label is None else label)
        if why.label == why.predicted:
            assert (why.changes, why.terms, why.log_odds) == ([], [], 0.0)
            assert f"it is predicted to be {why.label}" in str(why)
            continue
        base = odds(model, row, why.label, why.predicted)
        assert why.log_odds == pytest.approx(base, abs=1e-9)
        assert why.log_odds <= 1e-9
        for one in why.changes:
            to = {"true": True, "false": False}.get(one.to, one.to)
            kind = X[one.column].dtype.kind
            other = row.assign(**{one.column: float(to) if kind in "if" else to})
            assert odds(model, other, why.label, why.predicted) - base == pytest.approx(
                one.log_odds, abs=1e-6
            )
            assert one.log_odds > 0
            assert one.enough == (model.predict(other)[0] == why.label)
            assert one.value is None or one.value != one.to
        flags = [one.enough for one in why.changes]
        assert flags == sorted(flags, reverse=True)


def test_the_nearest_number_that_is_enough():
    """Two normal densities of means 0 and 4: the border is at 2."""
    x = np.concatenate([rng.normal(0, 1, 500), rng.normal(4, 1, 500)])
    model = NaiveBayes(family="gaussian").fit(pd.DataFrame({"x": x}), np.repeat(["a", "b"], 500))
    one, other = model.why_not(pd.DataFrame({"x": [-1.0, 6.0]}))
    (change,) = one.changes
    assert change.enough
    assert 1.8 < float(change.to) < 2.5
    (change,) = other.changes
    assert 1.5 < float(change.to) < 2.2


def test_columns_that_are_absent_or_missing_may_be_given():
    model = NaiveBayes().fit(TABLE, LABELS)
    with pytest.warns(UserWarning, match="lacks the column"):
        (why,) = model.why_not(TABLE[["size"]].iloc[[0]])
    assert any(one.value is None and one.column == "legs" for one in why.changes)
    (why,) = model.why_not(TABLE.iloc[[4]])
    assert any(one.column == "colour" and one.value is None for one in why.changes)


def test_a_label_that_is_none():
    for model, X in (
        (NaiveBayes().fit(TABLE, LABELS), TABLE), (TextNB().fit(TEXTS, TEXT_LABELS), TEXTS)
    ):  # fmt: skip
        with pytest.raises(ValueError, match="'dog' is not one of the classes"):
            model.why_not(X, "dog")


# ---- texts ---------------------------------------------------------------------------------------

TEXT_MODELS = [
    TextNB(), TextNB("bernoulli"), TextNB("complement"), TextNB("binary", ngram_range=(1, 2)),
    TextNB(weighting="tfidf", length_norm="l2"), TextNB(alpha=0), NBSVM(ngram_range=(1, 2)),
]  # fmt: skip


@pytest.mark.parametrize("model", TEXT_MODELS, ids=str)
def test_each_term_is_what_the_model_says(model):
    model.fit(TEXTS, TEXT_LABELS)
    for text in ["win a prize today", "noon", "", None, "meeting meeting lunch"]:
        (why,) = model.why_not([text])
        base = odds(model, [text], why.label, why.predicted)
        assert why.changes == []
        for one in why.terms:
            assert one.column == "text"
            assert one.to not in (text or "").split()
            more = [f"{text or ''} {one.to}"]
            after = odds(model, more, why.label, why.predicted)
            if np.isfinite([base, after]).all():
                assert one.log_odds == pytest.approx(after - base, abs=1e-9)
            else:
                assert one.log_odds == np.inf
            assert one.enough == (model.predict(more)[0] == why.label)
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
    (why,) = model.why_not([text])
    assert str(why)
    json.dumps(why.to_dict())
    assert why.predicted == model.predict([text])[0]


def test_hashed_terms_have_no_names():
    (why,) = TextNB(n_features=64).fit(TEXTS, TEXT_LABELS).why_not(["noon"])
    assert why.terms == []
    assert "no single change that was tried makes it spam" in str(why)


def test_text_beside_other_columns():
    frame = pd.DataFrame({"body": TEXTS * 8, "size": np.tile([1.0, 2, 1, 2, 2], 8)})
    frame["size"] += rng.normal(0, 1, 40)
    labels = TEXT_LABELS * 8
    model = NaiveBayes(columns={"body": "text"}).fit(frame, labels)
    row = frame.iloc[[1]].assign(body="noon")
    (why,) = model.why_not(row, "spam")
    assert {one.column for one in why.terms} == {"body"}
    assert [one.column for one in why.changes] == ["size"]
    assert why.together is not None
    said = " ".join(["noon", *(one.to for one in why.terms[: why.together])])
    assert model.predict(row.assign(body=said))[0] == "spam"


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    TABLE.assign(kind=LABELS).to_csv("t.csv", index=False)
    naive(capsys, "fit", "t.csv", "--target", "kind", "-o", "m")
    out, _ = naive(capsys, "explain", "m", "t.csv", "--row", "1-9", "--why-not", "bee", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["row"] for row in rows] == [*range(1, 10)]
    assert {row["label"] for row in rows} == {"bee"}
    out, _ = naive(capsys, "explain", "m", "t.csv", "--row", "1-9", "--why-not", "bee")
    for row in rows:
        if row["predicted"] != "bee":
            assert f"{row['predicted']}; bee is {-row['log_odds']:.3f} nats behind" in out
        for change in row["changes"]:
            assert f"{change['log_odds']:+.3f}{' *' * change['enough']}" in out
    assert "would be" in out
    Path("t.txt").write_text("free\nnoon\n")
    TextNB().fit(TEXTS, TEXT_LABELS).save("texts")
    out, _ = naive(capsys, "explain", "texts", "t.txt", "--row", "all", "--why-not", "spam")
    assert "it is predicted to be spam" in out
    assert "+ prize" in out
    err = naive(capsys, "explain", "m", "t.csv", "--why-not", "dog", code=2)[1]
    assert "'dog' is none of the classes" in err
    err = naive(capsys, "explain", "m", "t.csv", "--why-not", "ant", "--against", "bee", code=2)[1]
    assert "--why-not goes with" in err
