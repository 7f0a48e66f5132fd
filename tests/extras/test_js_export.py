"""Models as JavaScript: Node.js gives the predictions of Python."""

import gzip
import io
import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from corpora import LOOKALIKES, of_both_kinds
from hypothesis import given, settings
from hypothesis import strategies as st
from node import NODE, Node
from numpy.testing import assert_allclose

from naively import (
    AutoBayes,
    Bernoulli,
    Categorical,
    Multinomial,
    NaiveBayes,
    Poisson,
    Student,
    Text,
    TextNB,
)
from naively.cli.main import run
from naively.explain.rows import explain
from naively.export.formulas import NotExportableError
from naively.export.js import to_js
from naively.tables.encoding import encode
from naively.tables.left_out import unvaried_in

if NODE is None:
    pytest.skip("needs Node.js: apt-get install nodejs", allow_module_level=True)

GENERATOR = np.random.default_rng(0)
ROWS = 300
KIND = GENERATOR.integers(3, size=ROWS)
PHRASES = np.array(
    ["buy the cheap ΟΔΟΣ now now", "see you, naïve one!", "日本 x1 the_end İstanbul"]
)
TABLE = pd.DataFrame({
    "size": KIND + GENERATOR.normal(size=ROWS) * 1.5 + 1e6,
    "width": GENERATOR.normal(size=ROWS) * (1 + KIND),
    "visits": GENERATOR.poisson(2 + 2 * KIND).astype(float),
    "</script>'\\\"<b>": np.array(["red", "</script>", "2", "green"])[
        (KIND + GENERATOR.integers(2, size=ROWS)) % 4],
    "__proto__": GENERATOR.integers(5, size=ROWS) % (2 + KIND),
    "constructor": np.array(["1.5", "02139"])[(KIND == 1) ^ (GENERATOR.random(ROWS) < 0.2) * 1],
})  # fmt: skip
TEXT = pd.DataFrame({"text": [
    f"{PHRASES[k]} {PHRASES[GENERATOR.integers(3)]}" for k in KIND
]})  # fmt: skip
for column, part in (("size", 7), ("width", 5), ("</script>'\\\"<b>", 6), ("visits", 9)):
    TABLE.loc[TABLE.index % part == 0, column] = None
LABELS = np.array(["low", "the </script>'s", "__proto__"])[KIND]
NAIVE = {
    "naive": NaiveBayes(),
    "counts": NaiveBayes({"visits": Poisson(), "__proto__": "categorical"}),
    "bernoulli": NaiveBayes({"__proto__": Bernoulli(), "width": "skip"}),
    "events": NaiveBayes({("visits", "__proto__"): Multinomial(), "size": "skip"}),
    "ignoring": NaiveBayes(unseen="ignore"),
    "prior": NaiveBayes(prior="uniform", missing=("", "-9", "n/a")),
    "auto": AutoBayes(),
    "auto, few": AutoBayes(interactions=0),
}
TEXTS = {
    "textbook": TextNB(),
    "complement": TextNB(event="complement", norm=True),
    "bernoulli": TextNB(event="bernoulli", min_df=2),
    "binary": TextNB(event="binary", ngram_range=(1, 2), stop_words=["the", "see"]),
    "tfidf": TextNB(weighting="log-tfidf", length_norm="l2", token_pattern=r"(?u)\b\w+\b"),
    "log": TextNB(weighting="log", length_norm="l1"),
    "char": TextNB(analyzer="char", ngram_range=(2, 3), lowercase=False),
    "char_wb": TextNB(analyzer="char_wb", ngram_range=(1, 4)),
    "weighed": TextNB(weights="auto"),
    "pooled": TextNB(weights="auto", models=["words", "characters"]),
}


def assert_same(node, model, table):
    """Node and Python say the same of the rows of an Arrow table, and for the same reasons."""
    posterior = model.posterior()
    X, _ = encode(model.schema, table, unvaried_in(posterior))
    found = node.ask(table.to_pylist())
    assert [one.get("error") for one in found] == [None] * len(table)
    names = [str(label) for label in posterior.classes.tolist()]
    assert {tuple(name for name, _ in one["probabilities"]) for one in found} == {tuple(names)}
    proba = np.array([[p for _, p in one["probabilities"]] for one in found])
    assert_allclose(proba, posterior.proba(X), rtol=0, atol=1e-9)
    top = np.sort(posterior.proba(X))
    clear = top[:, -1] - top[:, -2] > 1e-9
    labels = np.array([one["label"] for one in found], object)
    assert labels[clear].tolist() == np.array(posterior.predict(X).tolist(), object)[clear].tolist()
    explained = explain(posterior, table, X, by_block=True)
    for own, reasons in zip(found[:40], explained[:40], strict=True):
        added, mixing = {}, np.zeros(len(names))
        for one in own["contributions"]:
            key, nats = frozenset(one["columns"]), np.array(one["nats"], float)
            if not key and one["term"] == "(prior mixing)":
                mixing += nats
            else:
                added[key] = added.get(key, 0.0) + nats
        joint = sum(added.values()) + mixing
        if np.abs(reasons.contributions).max() < 1e9:  # else sums have no digits left to compare
            assert_allclose(joint, reasons.joint, rtol=1e-9, atol=1e-9)
            assert_allclose(mixing, reasons.mixing, rtol=1e-9, atol=1e-9)
            for block, nats in zip(reasons.blocks, reasons.contributions.T, strict=True):
                mine = added.get(frozenset(reasons.features[j] for j in block), 0.0)
                assert_allclose(mine - np.max(mine), nats - nats.max(), rtol=1e-9, atol=1e-9)
        for column, text in reasons.texts.items():
            told = [c for c in own["contributions"] if c["columns"] == [column]]
            terms = {}
            for one in told:  # a term of several models is there several times
                if one["term"] is not None:
                    nats = np.array(one["nats"], float)
                    terms[one["term"]] = terms.get(one["term"], 0.0) + nats
            assert terms.keys() == {*text.terms} - {"(text as a whole)"}
            for term, nats in zip(text.terms, text.contributions, strict=True):
                if term in terms:
                    assert_allclose(terms[term], nats, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAIVE)
def test_tables(name, tmp_path):
    model = NAIVE[name].fit(TABLE, LABELS).model_
    rows = TABLE.sample(80, random_state=1).reset_index(drop=True)
    rows.loc[0:3, "</script>'\\\"<b>"] = ["new", " red ", "?", ""]
    rows.loc[4:7, "size"] = [-1e9, 1e9, 0.0, np.nan]
    rows.loc[8] = None
    with Node(model, tmp_path) as node:
        assert_same(node, model, pa.Table.from_pandas(rows, preserve_index=False))


NUMBERS = st.floats(allow_nan=False, width=64) | st.integers(-(2**53), 2**53)
ODD = [
    "", " ", "?", "NA", "nan", "abc", "</script>", "2", " 2 ", "2.0", "+2", "-0", "0x10", "1e3",
    "1.", ".5", "007", "02139", "1,000", "1_000", "١٢", "−3", "True", "true", "FALSE", "1.50",
    "2024-01-31", "2024-01-31T00:00:00", "12:30:00", "12:30:01.500Z", "\ufeff2", "\u20032", "\x1c2",
    "x" * 1000, "🙂", "123456789012345678901234567890", "1e21", "0.00001", "1e-7",
]  # fmt: skip
VALUES = st.none() | st.booleans() | NUMBERS | st.sampled_from(ODD)


@pytest.fixture(scope="module")
def same(tmp_path_factory):
    """Asks processes of Node about a row, and Python the same."""
    fitted = {name: NAIVE[name].fit(TABLE, LABELS).model_ for name in ("naive", "prior", "auto")}
    found = {name: (Node(one, tmp_path_factory.mktemp("js")), one) for name, one in fitted.items()}

    def ask(table):
        for node, model in found.values():
            assert_same(node, model, table)

    yield ask
    for node, _ in found.values():
        node.__exit__()


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(st.sampled_from([*TABLE.columns]), VALUES))
def test_hostile_values(same, row):
    table = pa.table({name: [value] for name, value in row.items()} | {"other": [1]})
    same(table)


RECURRING = [*["your ticket is open"] * 30, *[f"word{k} other{k % 7}" for k in range(60)]]
"""A text of mixed labels, met 30 times, among others."""
MIXED = [*["yes"] * 9, *["no"] * 21, *["yes", "no"] * 30]


@pytest.mark.parametrize("models", [None, "auto"])
def test_texts_that_recur(models, tmp_path):
    estimator = TextNB(models=models).fit(RECURRING, MIXED)
    assert len(estimator._parameters.ending.repeated) == 1
    model = estimator.model_.read_as(estimator.model_.schema.named(["text"], ("",)))
    new = [RECURRING[0], "Your ticket, OPEN is", "your ticket", "your your ticket is open", None,
           "unknown", *RECURRING[30:50]]  # fmt: skip
    with Node(model, tmp_path) as node:
        assert_same(node, model, pa.table({"text": new}))


@pytest.mark.filterwarnings("ignore:.*duplicates of others")
@pytest.mark.parametrize("name", TEXTS)
def test_texts(name, tmp_path):
    estimator = TEXTS[name].fit(TEXT["text"], LABELS)
    schema = estimator.model_.schema.named(["text"], ("", "?"))
    model = estimator.model_.read_as(schema)
    new = [
        *TEXT["text"][:60], None, "", " ? ", "?", "nothing known", "now " * 300, "ΟΔΟΣ Σ ΑΣ. ΑΣα",
        "a\x1cb  c\u2028\u2029 d", "don't buy_now", "the the", "x" * 5000, "🙂 🙂🙂", "ǅ ß İ",
        "５５ ½½",
    ]  # fmt: skip
    with Node(model, tmp_path) as node:
        assert_same(node, model, pa.table({"text": new}))


@pytest.mark.filterwarnings("ignore:.*duplicates of others")
def test_a_class_without_documents(tmp_path):
    estimator = TextNB().fit([*TEXT["text"], None], [*LABELS, "nobody's"])
    model = estimator.model_.read_as(estimator.model_.schema.named(["text"], ("",)))
    new = [*TEXT["text"][:9], None, "nothing known", "now " * 300]
    with Node(model, tmp_path) as node:
        assert_same(node, model, pa.table({"text": new}))


def test_texts_without_known_words_beside_characters(tmp_path):
    estimator = TextNB().fit(*of_both_kinds(500, 20))
    model = estimator.model_.read_as(estimator.model_.schema.named(["text"], ("",)))
    new = ["bdfge klmpe", f"{LOOKALIKES[0]} bdfge", LOOKALIKES[1], "zz", None, "ΟΔΟΣ klmpi"]
    with Node(model, tmp_path) as node:
        assert_same(node, model, pa.table({"text": new}))


def test_text_beside_columns(tmp_path):
    both = pd.concat([TABLE, TEXT], axis=1)
    model = NaiveBayes({"text": Text("bernoulli")}).fit(both, LABELS).model_
    rows = both.sample(50, random_state=2)
    rows.loc[rows.index[:5], "text"] = None
    with Node(model, tmp_path) as node:
        assert_same(node, model, pa.Table.from_pandas(rows, preserve_index=False))
        table = pa.table({"text": [5.0, 7.25]})
        assert_same(node, model, table)


@pytest.mark.filterwarnings("ignore:.*duplicates of others")
def test_after_forgetting(tmp_path):
    """Terms that are left in no document are unknown again."""
    estimator = TextNB().fit(TEXT["text"], LABELS)
    estimator.partial_fit(["zebra zebra"], ["low"]).forget(["zebra zebra"], ["low"])
    model = estimator.model_
    model = model.read_as(model.schema.named(["text"], ()))
    assert "zebra" not in to_js(model)
    with Node(model, tmp_path) as node:
        assert_same(node, model, pa.table({"text": ["zebra now", "see"]}))


def test_columns_without_evidence_yet(tmp_path):
    """A level that is new in a column of one level is no evidence, as in Python."""
    model = NaiveBayes().fit(TABLE[["size"]].assign(one="x"), LABELS)
    new = pd.DataFrame({"size": [1e6, 1e6], "one": ["x", "new"]})
    with Node(model.model_, tmp_path) as node:
        found = node.ask(new.to_dict("records"))
    proba = [[p for _, p in one["probabilities"]] for one in found]
    assert_allclose(proba, model.predict_proba(new), rtol=0, atol=1e-9)
    assert proba[0] == proba[1]


def test_values_that_are_none(tmp_path):
    with Node(NAIVE["naive"].fit(TABLE, LABELS).model_, tmp_path) as node:
        (found,) = node.ask([{"width": [1]}])
    assert found["error"].startswith('TypeError: "width": a value is a number')


@pytest.mark.parametrize("labels", [KIND, KIND == 1, KIND * 2.0], ids=["ints", "truths", "floats"])
def test_labels_that_are_no_text(labels, tmp_path):
    model = NaiveBayes().fit(TABLE, labels).model_
    X, _ = encode(model.schema, table := pa.Table.from_pandas(TABLE[:50], preserve_index=False))
    with Node(model, tmp_path) as node:
        found = node.ask(table.to_pylist())
    assert [one["label"] for one in found] == model.posterior().predict(X).tolist()


def of_files(name):
    """(rows to learn from, other rows, the target) of a real data set."""
    folder = os.environ.get("NAIVELY_DATA")
    if folder is None:
        pytest.skip("NAIVELY_DATA is not set")
    folder = Path(folder, name)
    if name == "adult":
        heads = [f"c{k}" for k in range(14)] + ["income"]
        with gzip.open(folder / "adult-train.csv.gz", "rt") as file:
            text = file.read().replace(", ", ",")
        table = pd.read_csv(io.StringIO(text), names=heads)
        return table[:4000], table[4000:6000], "income"
    if name == "titanic":
        table = pd.read_csv(folder / "titanic-seaborn-891.csv")
        return table[::2], table[1::2], "survived"
    if name == "iris":
        table = pd.read_csv(folder / "iris.csv", skiprows=1, names=["a", "b", "c", "d", "kind"])
        return table[::2], table[1::2], "kind"
    lines = (folder / "SMSSpamCollection").read_text("utf-8").splitlines()
    table = pd.DataFrame([line.split("\t", 1) for line in lines], columns=["label", "text"])
    return table[::2], table[1::2], "label"


@pytest.mark.parametrize("name", ["adult", "titanic", "iris", "sms-spam"])
@pytest.mark.parametrize("classifier", [AutoBayes, NaiveBayes])
def test_real_data(name, classifier, tmp_path):
    learned, new, target = of_files(name)
    if name == "sms-spam" and classifier is AutoBayes:
        model = TextNB(weights="auto").fit(learned["text"], learned[target]).model_
        model = model.read_as(model.schema.named(["text"], ("",)))
    else:
        model = classifier().fit(learned.drop(columns=target), learned[target]).model_
    table = pa.Table.from_pandas(new.drop(columns=target), preserve_index=False)
    with Node(model, tmp_path) as node:
        assert_same(node, model, table)


@pytest.mark.parametrize(("model", "problem"), [
    (NaiveBayes({"constructor": Categorical(alpha=0)}), "'constructor'.*alpha > 0"),
    (NaiveBayes({"size": Student()}), "'size'.*student cannot be exported"),
    (NaiveBayes(unseen="error"), "refuses rows"),
    (NaiveBayes({"constructor": Text(n_features=16)}), "'constructor'.*hashed"),
    (NaiveBayes({"constructor": Text(strip_accents="ascii")}), "strip_accents"),
    (NaiveBayes({"size": Text(alpha=0)}), "alpha > 0"),
])  # fmt: skip
def test_what_cannot_be_said_is_refused(model, problem):
    with pytest.raises(NotExportableError, match=problem):
        to_js(model.fit(TABLE, LABELS).model_)


def test_of_dates_it_is_said_what_takes_them():
    day = np.datetime64("2021-01-01") + GENERATOR.integers(0, 100, len(LABELS)) + 100 * KIND
    model = AutoBayes().fit(pd.DataFrame({"day": day.astype(str)}), LABELS)
    with pytest.raises(NotExportableError, match=r"'day' holds dates .* DuckDB .* and ONNX take"):
        to_js(model.model_)


def test_labels_that_javascript_takes_for_others_are_refused():
    with pytest.raises(NotExportableError, match="2\\^53"):
        to_js(NaiveBayes().fit(TABLE, KIND + 2**60).model_)


def test_nothing_in_a_module_ends_a_script():
    text = to_js(NaiveBayes().fit(TABLE, LABELS).model_)
    assert "</script" not in text
    assert text.isascii() or "</" not in text


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = NAIVE["auto"].fit(TABLE, LABELS)
    model.save("m")
    assert run(["export", "m", "--js"]) == 0
    assert capsys.readouterr().out == to_js(model.model_)
    assert run(["export", "m", "--js", "-o", "m.mjs"]) == 0
    assert Path("m.mjs").read_text("utf-8") == to_js(model.model_)
    assert run(["export", "m"]) == 2
    assert "--js" in capsys.readouterr().err
    assert run(["export", "m", "--js", "--sql", "sqlite"]) == 2
    NaiveBayes({"size": Student()}).fit(TABLE, LABELS).save("t")
    assert run(["export", "t", "--js", "-o", "no.mjs"]) == 1
    assert "student cannot be exported" in capsys.readouterr().err
    assert not Path("no.mjs").exists()


@pytest.mark.parametrize("column", [*TABLE.columns])
def test_every_way_to_write_a_value(same, column):
    for value in [None, True, False, 0, -0.0, 3, 2.5, 1e-7, 1e22, 2**53, *ODD]:
        same(pa.table({column: [value], "other": [1]}))


@pytest.mark.parametrize("value", ["1e400", "inf", "-Infinity", "NaN", math.inf, -math.inf])
def test_no_end_is_no_number(same, value):
    same(pa.table({"size": [value], "width": [value]}))


@pytest.mark.parametrize("value", [1e153, 1e160, -1e175, 1e200, -1e308])
def test_levels_do_not_outweigh_a_number_that_is_too_large(value, tmp_path):
    """Where squares have no number, all is scaled down: but tables of levels were not."""
    draw = np.random.default_rng(2)
    y = draw.integers(0, 2, 200)
    table = pd.DataFrame(
        {"x": draw.normal(y, 1.0), "level": np.where(draw.random(200) < 0.8, y, 1 - y)}
    )
    model = NaiveBayes({"level": "categorical"}).fit(table, np.array(["b", "a"])[y])
    rows = pd.DataFrame({"x": value, "level": [0, 1]})
    expected = model.predict(rows).tolist()
    assert expected[0] == expected[1]  # the number decides
    with Node(model.model_, tmp_path) as node:
        assert [row["label"] for row in node.ask(rows.to_dict("records"))] == expected


@pytest.mark.parametrize("value", [1e150, 1e155, 1e300, -1e308])
def test_a_square_outweighs_what_is_linear(value, tmp_path):
    """All values were scaled down alike, so that squares fell behind: the other class won."""
    draw = np.random.default_rng(0)
    y = draw.integers(0, 2, 200)
    table = pd.DataFrame({"x": draw.normal(y, 1.0 + y), "wait": draw.exponential(2.0 - y)})
    model = NaiveBayes({"wait": "exponential"}).fit(table, np.array(["a", "b"])[y])
    rows = pd.DataFrame({"x": [1e155, -1e155, 1e300, 0.5], "wait": abs(value)})
    with Node(model.model_, tmp_path) as node:
        found = node.ask(rows.to_dict("records"))
    assert [one["label"] for one in found] == model.predict(rows).tolist()
    proba = [[p for _, p in one["probabilities"]] for one in found]
    assert_allclose(proba, model.predict_proba(rows), atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*cannot be (used|read):UserWarning")
@pytest.mark.parametrize("kind", [NaiveBayes, AutoBayes])
def test_endless_numbers_among_levels_are_read_as_in_python(kind, tmp_path):
    levels = np.array(["red", "blue", "inf", "7"])
    codes = np.arange(200) % 4
    model = kind().fit({"code": levels[codes]}, np.array(["a", "b", "a", "b"])[codes])
    given = [
        "inf",
        "-inf",
        "Infinity",
        "+INF",
        "NAN",
        "-nan",
        "1e400",
        "-2E+999",
        "red",
        "7",
        "new",
        None,
    ]
    with Node(model.model_, tmp_path) as node:
        found = node.ask([{"code": one} for one in given])
    proba = [[p for _, p in one["probabilities"]] for one in found]
    assert_allclose(proba, model.predict_proba({"code": given}), atol=1e-12)


@pytest.mark.parametrize("known", [
    ["2020-01-01T10:00+02:00", "2020-01-01 10:30Z", "never"],
    ["0001-01-01 00:30+01:00", "0000-12-31 10:00+01:00", "2020-02-30 10:00-08:00"],
    ["9007199254740993.0", "9007199254740992", "12345678901234567891.50"],
])  # fmt: skip
def test_moments_and_long_numbers_are_the_levels_that_they_are_in_python(known, tmp_path):
    """Zones were not reckoned to UTC, and digits beyond 2^53 were lost."""
    codes = np.arange(90) % 3
    labels = np.array(["x", "y", "x"])[codes]
    model = NaiveBayes({"a": "categorical"}).fit({"a": np.array(known)[codes]}, labels)
    given = [
        *known, "2020-01-01 08:00Z", "2020-01-01T08:00:00.0-0000", "2020-01-01 00:30-1000",
        "0001-01-01 00:30Z", "9999-12-31 23:59-00:01", "0000-12-31 09:00Z", "2020-03-01 18:00Z",
        "2020-01-01 25:00Z", "2020-01-01 08:00:61Z", "2020-01-01 08:00+99:99", "10:30+02:00",
        "+9007199254740993", "9007199254740993.", "12345678901234567891.5", "9007199254740994",
    ]  # fmt: skip
    with Node(model.model_, tmp_path) as node:
        assert_same(node, model.model_, pa.table({"a": given}))


def test_classes_that_float64_cannot_distinguish_are_as_probable(tmp_path):
    """The first had probability 1; its rows were the other's as much."""
    model = NaiveBayes({"x": "gaussian"})
    model.fit({"x": [1.0, 3.0, 2.0, 4.0] * 20}, ["a", "a", "b", "b"] * 20)
    rows = pd.DataFrame({"x": [1e200, -1e300, 2.0]})
    expected = model.predict_proba(rows)
    assert expected[:2].tolist() == [[0.5, 0.5]] * 2
    with Node(model.model_, tmp_path) as node:
        found = node.ask(rows.to_dict("records"))
    assert_allclose([[p for _, p in one["probabilities"]] for one in found], expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_fractions_that_were_rounded_to_float32_are_found(kind, tmp_path):
    values = np.tile([0.1, 0.3, 0.7, 1e-9], 20)
    y = (np.arange(80) % 4 > 1).astype(int)
    model = NaiveBayes().fit({"x": values.astype(kind)}, y)
    near = np.float32([0.1, 0.7]).astype(np.float64)
    given = np.concatenate(
        [values[:4], np.float32(values[:4]), near + 3e-9, near + 5e-9, [0.2, 1.0]]
    ).tolist()
    with Node(model.model_, tmp_path) as node:
        found = node.ask([{"x": one} for one in given])
    expected = model.predict_proba({"x": given})
    proba = [[p for _, p in one["probabilities"]] for one in found]
    assert_allclose(proba, expected, atol=1e-12)
    assert expected[0] == pytest.approx(model.predict_proba({"x": np.float32([0.1])})[0])
