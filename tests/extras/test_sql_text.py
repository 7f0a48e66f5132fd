"""Text in queries: databases give the predictions of Python for documents."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from corpora import LOOKALIKES, of_both_kinds, repetitive
from hypothesis import given
from hypothesis import strategies as st
from node import NODE, Node
from numpy.testing import assert_allclose

from naively import AutoBayes, MultilabelNB, NaiveBayes, Text, TextNB
from naively.cli.main import run

pytest.importorskip("sqlglot", reason="needs naively[export]")
duckdb = pytest.importorskip("duckdb", reason="needs naively[sql]")
adbc_postgresql = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="needs naively[sql]")

from naively.export.formulas import NotExportableError, formula_of  # noqa: E402
from naively.export.sql import to_sql  # noqa: E402
from naively.export.sql.texts import TextTerm  # noqa: E402
from naively.text.analysis import Analysis  # noqa: E402

SPAM = ["free win now", "WIN a Çar çar", "İstanbul free free", "日本 win_1 now now"]
HAM = ["see you at noon", "the naïve Ⅻ one", "call me now", "_x y2 z₂ see the ça"]
DOCUMENTS = [a + " " + b for a in SPAM + HAM for b in SPAM + HAM]
LABELS = [("spam" if k < 4 else "it's ham") for k in range(8) for _ in range(8)]
LABELS[3] = LABELS[40] = "rare"
MODELS = {
    "weighed": TextNB(),
    "textbook": TextNB(weights=None),
    "binary": TextNB(event="binary"),
    "bernoulli": TextNB(event="bernoulli"),
    "complement": TextNB(event="complement", norm=True),
    "pairs": TextNB(ngram_range=(1, 2), stop_words=["the", "now"]),
    "pairs alone, all letters": TextNB(ngram_range=(2, 3), token_pattern=r"(?u)\b\w+\b"),
    "case": TextNB(lowercase=False, max_features=12),
    "uniform": TextNB(prior="uniform", alpha=0.5, weights=None),
    "characters": TextNB(analyzer="char", ngram_range=(1, 3)),
    "characters of words": TextNB(analyzer="char_wb", ngram_range=(4, 6), weights=None),
    "pool": TextNB(models="auto"),
}
HOSTILE = [
    "", " ", "a", "unknown words", "FREE free Free", "İSTANBUL", "naı\u0308ve NAÏVE", "ﬁn WIN ẞ Ǆ",
    "\U00010400win \U0001d7d8\U0001d7d8 win\U0001f600now", "日本win 日本 win", "don't-win's",
    "ΟΔΟσ οδος", "\u0345win\u0301now", "①② ⅫⅫ Ⅻ", "win\u200bnow\u00adfree\u2028see", "x" * 5000,
    "free " * 3000, "'; drop table rows; --", "\\d \\w {1} $1 %s", "NA", "?", "\ufffd\uffff win",
]  # fmt: skip


def asked(query, rows):
    """The answer of DuckDB, by the id of the row."""
    with duckdb.connect() as database:
        database.register("given", rows)
        database.execute("create table rows as select * from given")
        return sorted(database.execute(query).fetchall())


def assert_same(found, proba, labels):
    assert len(found) == len(proba)
    assert_allclose(np.array([row[2:] for row in found], float), proba, rtol=0, atol=1e-9)
    first = np.sort(proba, axis=1)
    clear = first[:, -1] - first[:, -2] > 1e-9  # of equal classes rounding decides
    assert [row[1] for row, one in zip(found, clear, strict=True) if one] == list(labels[clear])


def as_rows(documents):
    return pd.DataFrame({"id": range(len(documents)), "x0": pd.Series(documents, dtype=object)})


@pytest.mark.parametrize("name", MODELS)
def test_duckdb(name):
    model = MODELS[name].fit(DOCUMENTS, LABELS)
    texts = [*DOCUMENTS[:9], *HOSTILE, None, "win\0now", "\0"]
    found = asked(to_sql(model.model_, "duckdb", "rows", ["id"]), as_rows(texts))
    assert_same(found, model.predict_proba(texts), model.predict(texts))


@pytest.mark.parametrize("options", [{"event": "binary"}, {}], ids=["corrected", "chosen"])
def test_models_of_many_documents(options):
    """Whose terms are corrected one by one; or which are chosen."""
    documents, y = repetitive(400)
    model = TextNB(**options).fit(documents, y)
    scales = np.atleast_1d(model.scale_)
    assert any(len(scale.corrections) for scale in scales) or len(scales) > 1
    texts = [*documents[:30], None, "unknown", "single0 pa1"]
    found = asked(to_sql(model.model_, "duckdb", "rows", ["id"]), as_rows(texts))
    assert_same(found, model.predict_proba(texts), model.predict(texts))


def test_texts_without_known_words_beside_characters():
    model = TextNB().fit(*of_both_kinds(500, 20))
    texts = ["bdfge klmpe", f"{LOOKALIKES[0]} bdfge", LOOKALIKES[1], "", "zz", None, "ΟΔΟΣ klmpi"]
    found = asked(to_sql(model.model_, "duckdb", "rows", ["id"]), as_rows(texts[:-1]))
    assert_same(found, model.predict_proba(texts[:-1]), model.predict(texts[:-1]))


NOBODY = [*DOCUMENTS[:20], None], [*LABELS[:20], "nobody's"]
"""Documents and labels, one of which no document has."""


@pytest.mark.parametrize("prior", ["empirical", "uniform"])
def test_a_class_without_documents(prior):
    model = TextNB(prior=prior).fit(*NOBODY)
    texts = [*DOCUMENTS[:9], *HOSTILE, None, "see you " * 500]
    found = asked(to_sql(model.model_, "duckdb", "rows", ["id"]), as_rows(texts))
    assert_same(found, model.predict_proba(texts), model.predict(texts))


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_texts_that_recur(dialect, postgresql):
    """A text of mixed labels has the shares of its labels, whatever its words tell."""
    documents = [*["your ticket is open"] * 30, *[f"word{k} other{k % 7}" for k in range(60)]]
    model = TextNB().fit(documents, [*["yes"] * 9, *["no"] * 21, *["yes", "no"] * 30])
    assert len(model._parameters.ending.repeated) == 1
    texts = [documents[0], "Your ticket, OPEN is", "your ticket", "your your ticket is open",
             None, "unknown", *documents[30:50]]  # fmt: skip
    query = to_sql(model.model_, dialect, "rows", ["id"])
    if dialect == "duckdb":
        found = asked(query, as_rows(texts))
    else:
        with adbc_postgresql.connect(postgresql) as connection, connection.cursor() as cursor:
            table = pa.table({"id": range(len(texts)), "x0": pa.array(texts, pa.string())})
            cursor.adbc_ingest("rows", table, mode="replace")
            cursor.execute(query)
            found = sorted(cursor.fetchall())
    assert_same(found, model.predict_proba(texts), model.predict(texts))


def test_a_class_without_documents_in_postgresql(postgresql):
    texts = [*DOCUMENTS[:9], None, "see you " * 500, "free " * 3000]
    model = TextNB().fit(*NOBODY)
    with adbc_postgresql.connect(postgresql) as connection, connection.cursor() as cursor:
        table = pa.table({"id": range(len(texts)), "x0": pa.array(texts, pa.string())})
        cursor.adbc_ingest("texts", table, mode="replace")
        cursor.execute(to_sql(model.model_, "postgres", "texts", ["id"]))
        assert_same(sorted(cursor.fetchall()), model.predict_proba(texts), model.predict(texts))


def test_postgresql(postgresql):
    texts = [*DOCUMENTS[:9], *HOSTILE, None]
    with adbc_postgresql.connect(postgresql) as connection, connection.cursor() as cursor:
        table = pa.table({"id": range(len(texts)), "x0": pa.array(texts, pa.string())})
        cursor.adbc_ingest("texts", table, mode="replace")
        for model in MODELS.values():
            model.fit(DOCUMENTS, LABELS)
            cursor.execute(to_sql(model.model_, "postgres", "texts", ["id"]))
            assert_same(sorted(cursor.fetchall()), model.predict_proba(texts), model.predict(texts))


@given(st.lists(st.text(max_size=12) | st.sampled_from(DOCUMENTS), min_size=1, max_size=30))
def test_any_text(texts):
    model = ANY.setdefault("model", TextNB(weights=None).fit(DOCUMENTS, LABELS))
    query = ANY.setdefault("query", to_sql(model.model_, "duckdb", "rows", ["id"]))
    found = asked(query, as_rows(texts))
    told = ["Σ" not in text for text in texts]
    assert [row[1] is not None for row in found] == told
    kept = ["", *(text for text, own in zip(texts, told, strict=True) if own)]
    none = asked(query, as_rows([""]))
    answers = none + [row for row in found if row[1] is not None]
    assert_same(answers, model.predict_proba(kept), model.predict(kept))


ANY = {}


def telling_points():
    """Characters at which those of words begin or end, and those with a lower case."""
    points = [k for k in range(1, 0x110000) if not 0xD800 <= k < 0xE000 and chr(k) != "Σ"]
    of_words = [chr(k).isalnum() for k in points]
    return [
        k
        for at, k in enumerate(points)
        if len({*of_words[max(at - 1, 0) : at + 2]}) == 2 or chr(k).lower() != chr(k)
    ]


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_all_of_unicode(dialect, postgresql):
    """Each character is a part of words or not, and in lower case, as in Python."""
    points = telling_points()
    texts = [
        " ".join(f"qq{chr(k)}qq" for k in points[start : start + 50])
        for start in range(0, len(points), 50)
    ]
    model = TextNB().fit(DOCUMENTS, LABELS)
    _, formula = formula_of(model.model_)
    (mixed,) = formula.terms
    (bag,) = mixed.texts[0].bags
    own = TextTerm(bag, dialect, "given")
    (_, words) = [*own.stages("given", "id")][1]
    query = f"{words.sql(dialect)} ORDER BY 1, 3"
    table = pa.table({"id": range(len(texts)), "given": texts})
    if dialect == "duckdb":
        with duckdb.connect() as database:
            database.register("given", table)
            found = database.execute(query).fetchall()
    else:
        with adbc_postgresql.connect(postgresql) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("given", table, mode="replace")
            cursor.execute(query)
            found = cursor.fetchall()
    expected = [word for text in texts for word in Analysis().terms(text)]
    assert [word for _, word, _ in found] == expected


def test_a_capital_sigma_has_no_answer(postgresql):
    """Its lower case depends on the letters about it: a query does not guess."""
    model = TextNB().fit(DOCUMENTS, LABELS)
    texts = ["ΟΔΟΣ", "win Σ", "win"]
    table = pa.table({"id": [0, 1, 2], "x0": texts})
    with adbc_postgresql.connect(postgresql) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("sigma", table, mode="replace")
        cursor.execute(to_sql(model.model_, "postgres", "sigma", ["id"]))
        post = sorted(cursor.fetchall())
    for found in (post, asked(to_sql(model.model_, "duckdb", "rows", ["id"]), table)):
        assert [row[1] for row in found] == [None, None, *model.predict(["win"])]
        assert set(found[0][2:]) == set(found[1][2:]) == {None}


def test_beside_other_columns():
    rows = pd.DataFrame({
        "id": range(len(DOCUMENTS)), "text": DOCUMENTS, "size": np.arange(64) % 7.0,
        "kind": np.array(["a", "b"])[np.arange(64) % 2],
    })  # fmt: skip
    rows.loc[:9, "text"] = ["", " ", "NA", " ? ", None, "NaN win", "win", "a", "Σ", "x"]
    model = NaiveBayes({"text": Text(), "id": "skip"}).fit(rows, LABELS)
    found = asked(to_sql(model.model_, "duckdb", "rows", ["id"]), rows)
    assert found.pop(8)[1:] == (None,) * 4
    rows = rows.drop(index=8)
    assert_same(found, model.predict_proba(rows), model.predict(rows))


def test_documents_have_to_be_text():
    model = TextNB().fit(DOCUMENTS, LABELS)
    with pytest.raises(duckdb.Error):
        asked(to_sql(model.model_, "duckdb", "rows", ["id"]), pd.DataFrame({"id": [1], "x0": [5]}))


@pytest.mark.parametrize("event", ["multinomial", "bernoulli"])
@pytest.mark.parametrize("weights", ["auto", None])
def test_spam(data_folder, postgresql, event, weights):
    lines = (data_folder / "sms-spam/SMSSpamCollection").read_text("utf-8").split("\n")[:-1]
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    model = TextNB(event=event, weights=weights).fit(texts[:2000], labels[:2000])
    texts = list(texts)
    proba, said = model.predict_proba(texts), model.predict(texts)
    assert_same(asked(to_sql(model.model_, "duckdb", "rows", ["id"]), as_rows(texts)), proba, said)
    table = pa.table({"id": range(len(texts)), "x0": texts})
    with adbc_postgresql.connect(postgresql) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("spam", table, mode="replace")
        cursor.execute(to_sql(model.model_, "postgres", "spam", ["id"]))
        assert_same(sorted(cursor.fetchall()), proba, said)


@pytest.mark.parametrize(("model", "problem"), [
    (TextNB(weighting="tfidf"), "weighting"),
    (TextNB(length_norm="l2", weights=None), "weighting or length_norm"),
    (TextNB(n_features=64), "hashed"),
    (TextNB(strip_accents="unicode"), "strip_accents"),
    (TextNB(token_pattern=r"\S+"), "token_pattern"),
    (TextNB(alpha=0), "alpha > 0"),
], ids=str)  # fmt: skip
def test_what_cannot_be_said_is_refused(model, problem):
    model.fit(DOCUMENTS, LABELS)
    with pytest.raises(NotExportableError, match=problem):
        to_sql(model.model_, "duckdb", "rows")


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "sqlite"])
def test_other_databases_are_refused(dialect):
    with pytest.raises(NotExportableError, match=f"duckdb and postgres alone: {dialect} cuts"):
        to_sql(TextNB().fit(DOCUMENTS, LABELS).model_, dialect, "rows")


def test_many_labels_are_refused():
    many = MultilabelNB().fit(DOCUMENTS, [[label] for label in LABELS])
    with pytest.raises(NotExportableError, match="many labels cannot be exported"):
        to_sql(many.model_, "duckdb", "rows")


# ---- texts that are weighed beside other columns -------------------------------------------------


@pytest.fixture(scope="module")
def beside():
    """(a model of two columns of text and two others, rows that are odd, those without an answer).

    Some texts recur, some cells are missing that never were, and some texts are numbers.
    """
    texts = [f"{text} {k} one more word than that" for k, text in enumerate(DOCUMENTS)] * 3
    draw = np.random.default_rng(0)
    rows = pd.DataFrame({
        "text": texts, "title": [" ".join(text.split()[:2]) for text in texts],
        "size": draw.normal(size=192), "kind": draw.choice(["a", "b"], 192),
    })  # fmt: skip
    rows.loc[:29, "text"] = "your ticket is open now"
    rows.loc[40:45, "text"] = None
    model = AutoBayes(text=["text", "title"]).fit(rows, np.array(LABELS * 3))
    odd = rows.iloc[::5].reset_index(drop=True)
    odd.loc[:18, "text"] = [
        None, "", " ", "unknown zzqq", " Your ticket,  IS open now ", "naı\u0308ve free  free", "a",
        "NaN", "inf", "İstanbul", "x" * 500, "win\u2003now\x1fcall", "12", "007", "12:30", "TRUE",
        "2020-01-31", "5.0", "12:30:00",
    ]  # fmt: skip
    odd.loc[3:9, "size"] = np.nan
    odd.loc[6:12, "kind"] = None
    odd.loc[10:25, "title"] = None
    odd.loc[26, ["text", "title", "size", "kind"]] = None
    return model, odd, [17, 18]


@pytest.mark.filterwarnings("ignore:column 'text'.*'inf' .*cannot be read")
@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_texts_weighed_beside_other_columns(beside, dialect, postgresql):
    """As in Python, those of rows with unfamiliar missing cells, too."""
    model, rows, unknown = beside
    blocks = [one.kind for one in model.evidence_ if one.weight]
    assert {"words", "n-grams"} <= {word for what in blocks for word in what.split()}
    query = to_sql(model.model_, dialect, "rows", ["id"])
    if dialect == "duckdb":
        found = asked(query, rows.assign(id=range(len(rows))))
    else:
        with adbc_postgresql.connect(postgresql) as connection, connection.cursor() as cursor:
            table = pa.Table.from_pandas(rows.assign(id=range(len(rows))), preserve_index=False)
            cursor.adbc_ingest("rows", table, mode="replace")
            cursor.execute(query)
            found = sorted(cursor.fetchall())
    assert [row[0] for row in found if row[1] is None] == unknown  # numbers Python writes shorter
    found = [row for row in found if row[1] is not None]
    rows = rows.drop(index=unknown)
    proba = model.predict_proba(rows)
    assert_allclose(np.array([row[2:] for row in found], float), proba, rtol=0, atol=1e-12)
    assert [row[1] for row in found] == list(model.predict(rows))


@pytest.mark.filterwarnings("ignore:column 'text'.*'inf' .*cannot be read")
@pytest.mark.skipif(NODE is None, reason="needs Node.js: apt-get install nodejs")
def test_texts_weighed_beside_other_columns_in_javascript(beside, tmp_path):
    model, rows, _ = beside
    with Node(model.model_, tmp_path) as node:
        found = node.ask(rows.astype(object).where(rows.notna(), None).to_dict("records"))
    proba = [[p for _, p in row["probabilities"]] for row in found]
    assert_allclose(np.array(proba), model.predict_proba(rows), rtol=0, atol=1e-12)
    for k, row in enumerate(found):
        parts = np.array([one["nats"] for one in row["contributions"]], float)
        own = parts.sum(axis=0)
        assert_allclose(own - np.logaddexp.reduce(own), np.log(proba[k]), rtol=0, atol=1e-9)
    compared = 0
    for column, reasons in model.explain(rows.iloc[30:31])[0].texts.items():
        added = found[30]["contributions"]
        own = {one["term"]: one["nats"] for one in added if one["columns"] == [column]}
        for term, nats in zip(reasons.terms, reasons.contributions, strict=True):
            if term != "(text as a whole)":
                assert_allclose(np.array(own[term], float), nats, rtol=0, atol=1e-12)
                compared += 1
    assert compared > 5


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"text": DOCUMENTS, "label": LABELS})
    table.to_csv("t.csv", index=False)
    TextNB().fit(DOCUMENTS, LABELS).save("m")
    assert run(["export", "m", "--sql", "duckdb", "--keep", "text", "-o", "q.sql"]) == 0
    capsys.readouterr()
    assert run(["predict", "m", "t.csv", "--proba", "-o", "p.csv"]) == 0
    said = pd.read_csv("p.csv")
    with duckdb.connect() as database:
        database.execute("create table rows as from 't.csv'")
        found = database.execute((tmp_path / "q.sql").read_text("utf-8")).df()
    columns = [name for name in found if name.startswith("P(")]
    found, said = (one.drop_duplicates("text").sort_values("text") for one in (found, said))
    assert_allclose(found[columns], said[columns], atol=1e-5)
    assert found["prediction"].tolist() == said["prediction"].tolist()
