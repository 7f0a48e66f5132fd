"""`drift` finds what changed, ranks it first, and finds nothing else, for every kind of model."""

import gzip
import json
import math
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from scipy import sparse, stats

import naively
from naively import (
    AutoBayes,
    BernoulliNB,
    CategoricalNB,
    GaussianBayes,
    GaussianNB,
    JointBayes,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    TextNB,
    drift,
)
from naively.evaluation.drift.columns import change

WORDS = [f"{a}{b}" for a in ("ba", "ko", "mi", "ru", "se") for b in ("lan", "ter", "vos", "nip")]


def people(n, seed, rich=0.3):
    """A table with columns of every kind."""
    generator = np.random.default_rng(seed)
    label = np.where(generator.random(n) < rich, "yes", "no")
    wealth = (label == "yes") * 1.0
    texts = [" ".join(generator.choice(WORDS, 8)) for _ in range(n)]
    return {
        "weight": generator.normal(70 + 5 * wealth, 10),
        "visits": generator.poisson(4 + 3 * wealth),
        "job": np.where(
            generator.random(n) < 0.2 + 0.5 * wealth, "boss", generator.choice(["clerk", "cook"], n)
        ),
        "city": generator.choice([f"city {k}" for k in range(200)], n),
        "owner": generator.random(n) < 0.3 + 0.3 * wealth,
        "when": np.datetime64("2020-01-01") + generator.integers(0, 300, n),
        "note": texts,
        "rich": label,
    }  # fmt: skip


def without_label(rows):
    return {name: column for name, column in rows.items() if name != "rich"}


@pytest.fixture(scope="module", params=[NaiveBayes, AutoBayes])
def learned(request):
    return request.param().fit(people(1500, 0), "rich")


def changed(**columns):
    """New rows, of which some columns are others."""
    rows = without_label(people(600, 1))
    return rows | {name: change(rows[name]) for name, change in columns.items()}


CHANGES = {
    "shifted": ("weight", lambda x: x + 4),
    "in grams": ("weight", lambda x: x * 1000),
    "more visits": ("visits", lambda x: x + 1),
    "a new level": ("job", lambda x: np.where(np.arange(len(x)) % 20 == 0, "pilot", x)),
    "new levels": ("city", lambda x: [f"{one} east" for one in x]),
    "empty": ("visits", lambda x: [None] * len(x)),
    "not numbers": ("weight", lambda x: ["heavy"] * len(x)),
    "other words": ("note", lambda x: [one.replace("balan", "prize") for one in x]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_changed_is_found_and_ranked_first(learned, what):
    column, change = CHANGES[what]
    found = drift(learned, changed(**{column: change}))
    assert found.drifted == [column]
    assert found.columns[0].name == column
    assert found.has_drift


def test_nothing_is_found_where_nothing_changed(learned):
    found = drift(learned, changed())
    assert not found.has_drift
    assert found.drifted == []
    assert "result    no drift found (no test has p < " in str(found)


def test_what_a_column_says_is_true(learned):
    rows = changed(job=lambda x: np.where(np.arange(len(x)) % 5 == 0, "pilot", x))
    (job,) = [one for one in drift(learned, rows).columns if one.name == "job"]
    assert job.unseen == {"pilot": 120}
    assert job.change == "pilot: 0.0% → 20%"
    before, after = (
        {level: np.mean(np.array(x) == level) for level in ("boss", "clerk", "cook", "pilot")}
        for x in (people(1500, 0)["job"], rows["job"])
    )
    assert job.distance == pytest.approx(sum(abs(after[k] - before[k]) for k in before) / 2)


def test_the_shares_of_classes_are_estimated(learned):
    new = people(2000, 5, rich=0.7)
    found = drift(learned, without_label(new))
    share = found.share
    true = np.array([np.mean(new["rich"] == c) for c in share.classes])
    assert found.share_p < 1e-6
    assert np.abs(share.estimated - true).max() < 0.06
    assert share.changed > 0.02
    assert share.explained > 0.5


def test_shares_are_not_believed_where_something_else_changed(learned):
    rows = changed(weight=lambda x: x + 40, visits=lambda x: x + 20)
    found = drift(learned, rows)
    assert found.share.explained < 0.5
    assert "the estimate may be wrong" in str(found)
    silent = replace(found, share_p=1.0)  # the test of frequencies may find nothing
    assert "the estimate may be wrong" in str(silent)


def test_the_error_of_estimated_shares_is_right():
    off, errors = [], []
    for seed in range(30):
        model = NaiveBayes(columns={"note": "skip"}).fit(people(500, seed), "rich")
        share = drift(model, without_label(people(400, 1000 + seed, rich=0.5))).share
        off.append(share.estimated[1] - 0.5)
        errors.append(share.error[1])
    assert abs(np.mean(off)) < 3 * np.std(off) / math.sqrt(30) + 0.01
    assert np.std(off) == pytest.approx(np.mean(errors), rel=0.4)


def test_unlikely_rows_are_named_with_what_is_to_blame(learned):
    rows = changed()
    rows["weight"] = np.array(rows["weight"])
    rows["weight"][17] = 260.0
    rows["job"] = np.array(rows["job"], object)
    rows["job"][17] = "astronaut"
    found = drift(learned, rows)
    first = found.row.unlikely[0]
    assert first.row == 17
    assert "job" in first.values or "weight" in first.values
    assert found.to_dict()["row"]["unlikely"][0]["row"] == 18  # counted from 1, as by `explain`
    assert f"\n{18}  " in str(found)


def test_rows_are_less_probable_by_what_their_columns_are():
    generator = np.random.default_rng(0)
    y = generator.choice(["a", "b"], 4000)
    x = generator.choice(3, 4000, p=[0.6, 0.3, 0.1]).astype(str)
    model = NaiveBayes(family="categorical").fit({"x": np.char.add("k", x), "y": y}, "y")
    new = np.char.add("k", generator.choice(3, 1000, p=[0.1, 0.3, 0.6]).astype(str))
    row = drift(model, {"x": new}).row
    p = np.array([np.mean(x == k) for k in "012"])
    q = np.array([np.mean(new == f"k{k}") for k in "012"])
    assert row.lower == pytest.approx((p - q) @ np.log(p), abs=0.01)
    assert row.p_value < 1e-9


# ---- every kind of sums --------------------------------------------------------------------------

ARRAYS = [
    GaussianNB(), GaussianBayes(), PoissonNB(), MultinomialNB(),
    BernoulliNB(binarize=1.5), CategoricalNB(), JointBayes(),
    NaiveBayes(family="kernel_density"), NaiveBayes(family="discretized"),
    NaiveBayes(family="gamma"), NaiveBayes(family="lognormal"), NaiveBayes(family="exponential"),
]  # fmt: skip


@pytest.mark.parametrize("classifier", ARRAYS, ids=repr)
def test_every_family_is_compared(classifier):
    generator = np.random.default_rng(3)
    y = generator.integers(0, 2, 800)
    X = generator.poisson(2, (1200, 3)) + 1.0
    model = classifier.fit(X[:800], y)
    assert not drift(model, X[800:]).has_drift
    shifted = X[800:].copy()
    shifted[:, 1] += 1
    found = drift(model, shifted)
    assert found.drifted == [found.columns[0].name]
    assert found.columns[0].name.endswith("1")
    assert found.uncompared == []


def test_sparse_rows():
    generator = np.random.default_rng(0)
    X, y = generator.poisson(0.4, (600, 30)), generator.integers(0, 2, 600)
    model = MultinomialNB().fit(sparse.csr_matrix(X), y)
    assert not drift(model, sparse.csr_matrix(generator.poisson(0.4, (300, 30)))).has_drift
    other = generator.poisson(0.4, (300, 30))
    other[:, 7] += generator.poisson(0.5, 300)
    assert drift(model, sparse.csr_matrix(other)).drifted == ["x7"]


DOCUMENTS = {
    "counts": {}, "documents": {"event": "binary"}, "absence": {"event": "bernoulli"},
    "logs": {"weighting": "log"}, "hashed": {"n_features": 256}, "selected": {"min_df": 2},
}  # fmt: skip
DOCUMENTS = {name: {"weights": None, **chosen} for name, chosen in DOCUMENTS.items()}
DOCUMENTS |= {"kept": {}, "pooled": {"models": "auto"}}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_words_that_became_frequent_are_found(kind):
    rows = people(700, 2)
    model = TextNB(**DOCUMENTS[kind]).fit(rows["note"][:400], rows["rich"][:400])
    same = rows["note"][400:]
    assert not drift(model, same).has_drift
    (column,) = drift(
        model, [f"{one} prize" if k % 4 else one for k, one in enumerate(same)]
    ).columns
    assert column.name == "text"
    word = column.words[0]
    assert word.word == "prize" or kind == "hashed"
    assert word.p_value < 1e-6
    assert word.new == pytest.approx(0.75, abs=0.01) or kind == "hashed"
    assert word.at_most == (kind in ("counts", "logs", "hashed"))


def test_words_that_became_rare_are_found_where_documents_are_counted():
    rows = people(900, 2)
    texts = [one.replace("balan", "") for one in rows["note"][500:]]
    for event, found in (("binary", True), ("multinomial", False)):
        model = TextNB(event, weights=None).fit(rows["note"][:500], rows["rich"][:500])
        (column,) = drift(model, texts).columns
        assert any(word.word == "balan" and word.p_value < 1e-6 for word in column.words) == found


def test_a_plan_that_was_given():
    rows = people(800, 4)
    plain = {name: column for name, column in rows.items() if name != "note"}
    made = AutoBayes().fit(plain, "rich")
    model = AutoBayes().fit(plain, "rich", like=made)
    new = without_label(people(400, 5))
    assert not drift(model, new).has_drift
    found = drift(model, new | {"weight": np.array(new["weight"]) + 10})
    assert found.drifted == ["weight"]
    assert "weight" not in found.uncompared
    elsewhere = drift(model, new | {"city": [f"{one} east" for one in new["city"]]})
    assert elsewhere.drifted == ["city"]
    assert elsewhere.columns[0].change.startswith("other categories")


# ---- weights, samples, forms ---------------------------------------------------------------------


def test_rows_of_great_weight_are_no_more_rows():
    rows, columns = people(400, 6), {"note": "text"}  # texts that come 50 times are categories
    plain = NaiveBayes(columns).fit(rows, "rich")
    heavy = NaiveBayes(columns).fit(rows, "rich", sample_weight=np.full(400, 50.0))
    new = changed()
    a, b = drift(plain, new), drift(heavy, new)
    assert b.learned == 20_000
    assert b.counted_as == 400
    assert {
        one.name: one.p_value for one in a.columns if one.kind == "categorical"
    } == pytest.approx({one.name: one.p_value for one in b.columns if one.kind == "categorical"})
    assert "20,000 by weight, count as 400 distinct ones" in str(b)


def test_faded_rows_count_as_fewer():
    rows, new = people(1000, 6), changed(job=lambda x: np.where(np.arange(len(x)) % 9, x, "boss"))
    model = NaiveBayes().fit(rows, "rich")
    before = {one.name: one.p_value for one in drift(model, new).columns}
    model.decay(0.05)
    after = {one.name: one.p_value for one in drift(model, new).columns}
    assert after["job"] > before["job"]


def test_a_model_does_not_change_when_it_predicts(learned):
    before = learned.model_.canonical()
    drift(learned, changed())
    assert learned.model_ == before


def test_results_as_a_table_and_as_json(learned):
    found = drift(learned, changed(weight=lambda x: x + 5))
    table = found.to_arrow()
    assert (
        table.column("column" if "column" in table.column_names else "name")[0].as_py() == "weight"
    )
    assert table.column("drifted").to_pylist()[0] is True
    said = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert said["drift"] is True
    assert said["drifted"] == ["weight"]
    assert said["columns"][0]["name"] == "weight"
    assert sum(one["learned"] for one in said["share"]["classes"]) == pytest.approx(1)


# ---- hostile -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_too_few_rows_are_not_compared(learned, n):
    found = drift(learned, {name: column[:n] for name, column in changed().items()})
    assert not found.has_drift
    assert set(found.untested) == {one.name for one in found.columns}
    assert all(np.isnan([one.distance, one.expected]).all() for one in found.columns)
    assert all(n < 10 <= one.rows_needed for one in found.columns)
    assert len(found.row.unlikely) == min(n, 5)  # the values of each row are known
    assert np.isnan([found.row.lower, found.row.p_value, found.share.p_value]).all()
    assert np.isnan(found.share.estimated).all()
    assert found.share.predicted.sum() == pytest.approx(1)
    for text in (str(found), found._repr_html_()):
        assert f"too few new rows to test for drift: {n} of the 10 needed" in text
        assert "nan" not in text
    said = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert said["untested"] == found.untested
    assert {one["distance"] for one in said["columns"]} == {None}


def test_few_rows_show_what_exact_tests_find(learned):
    rows = {name: list(column[:6]) for name, column in changed().items()}
    found = drift(learned, rows | {"visits": [None] * 6})
    assert found.drifted == ["visits"]
    assert found.columns[0].change == "missing 0.0% → 100%"
    assert found.columns[0].distance == pytest.approx(1)


def test_a_feature_with_too_few_rows_beside_its_most_frequent_value():
    generator = np.random.default_rng(0)
    rows = {
        "rare": generator.choice(["no", "yes"], 900, p=[0.98, 0.02]),
        "even": generator.choice(["no", "yes"], 900), "y": generator.choice(["a", "b"], 900),
    }  # fmt: skip
    model = NaiveBayes().fit(rows, "y")
    new = {name: rows[name][:60] for name in ("rare", "even")}
    found = drift(model, new)
    (rare,) = [one for one in found.columns if one.name == "rare"]
    both = np.bincount(np.append(rows["rare"], new["rare"]) == "yes")
    assert found.untested == ["rare"]
    assert rare.rows_needed == math.ceil(5 * 960 / both[1])
    assert "too few rows for 1 of 2 features" in " ".join(str(found).split())
    enough = {name: rows[name][: rare.rows_needed + 60] for name in ("rare", "even")}
    assert drift(model, enough).untested == []


def test_too_few_training_rows():
    model = GaussianNB().fit(np.random.default_rng(0).normal(size=(20, 2)), [0, 1] * 10)
    found = drift(model, np.random.default_rng(1).normal(size=(300, 2)))
    assert "too few training rows to test for drift: 20 of the 25 needed" in str(found)


def test_labels_of_new_rows_are_counted(learned):
    new = people(400, 1, rich=0.6)
    new["rich"] = np.array(new["rich"], object)
    new["rich"][:100], new["rich"][100:120] = None, "unclear"
    found = drift(learned, new)
    labels = new["rich"][100:]
    assert found.share.actual == pytest.approx([np.mean(labels == c) for c in ("no", "yes")])
    assert found.share.unknown_labels == 20
    assert "new, actual" in str(found)
    alone = drift(learned, without_label(new))
    assert np.isnan(alone.share.actual).all()
    assert "actual" not in str(alone)
    assert (alone.share_p, alone.row_p) == (found.share_p, found.row_p)  # no test uses labels


def test_numbers_are_written_as_everywhere():
    generator = np.random.default_rng(0)

    def rows(n, factor):
        return {
            "income": generator.normal(54321.5, 9000.5, n) * factor,
            "people": generator.normal(12345678, 1e6, n) * factor, "year": [2000 + 9 * factor] * n,
            "share": generator.normal(1e-3, 1e-4, n) * factor, "y": generator.choice(["a", "b"], n),
        }  # fmt: skip

    for model in (NaiveBayes(family="gaussian"), AutoBayes()):
        found = drift(model.fit(rows(600, 1), "y"), rows(400, 2))
        text = str(found)
        assert "e+" not in text
        changes = {one.name: one.change for one in found.columns}
        assert changes["year"] in ("other than 2009: 0.0% → 100%", "2009: 100% → 0.0%")
        for digits in (r"\d{2,3},\d{3}", r"\d{2},\d{3},\d{3}", r"0\.00\d+"):
            assert re.search(rf"{digits} → {digits}", text) or re.search(rf"{digits} to", text)


def test_no_rows_and_all_missing(learned):
    rows = changed()
    with pytest.raises(ValueError, match="no new rows"):
        drift(learned, {name: column[:0] for name, column in rows.items()})
    nothing = drift(learned, {name: [None] * 60 for name in rows})
    assert set(nothing.drifted) == {one.name for one in nothing.columns}
    assert all(one.change == "missing 0.0% → 100%" for one in nothing.columns)


def test_columns_that_are_absent_new_or_constant(learned):
    rows = changed()
    del rows["job"]
    found = drift(learned, rows | {"shoes": np.arange(600)})
    assert found.absent == ["job"]
    assert found.unknown == ["shoes"]
    assert found.drifted == ["job"]
    with pytest.raises(ValueError, match="none of the features"):
        drift(learned, {"shoes": [1, 2]})
    same = people(300, 8) | {"planet": ["earth"] * 300}
    model = type(learned)().fit(same, "rich")
    assert not drift(model, changed() | {"planet": ["earth"] * 600}).has_drift
    assert drift(model, changed() | {"planet": ["mars"] * 600}).drifted == ["planet"]


def test_a_column_without_a_value_in_old_and_new_rows():
    rows = {"x": np.arange(200) % 9, "to": [None] * 200, "y": ["a", "b"] * 100}
    model = naively.AutoBayes().fit(rows, "y")
    assert drift(model, rows).drifted == []
    assert drift(model, rows | {"to": ["me"] * 200}).drifted == ["to"]


def test_words_of_short_texts_that_were_named():
    draw = np.random.default_rng(0)
    title = [" ".join(draw.choice(["the", "of", "car", "house", "tree"], 3)) for _ in range(400)]
    rows = {"title": title, "x": draw.normal(size=400), "y": draw.choice(["a", "b"], 400)}
    model = naively.AutoBayes(text=["title"]).fit(rows, "y")
    found = drift(model, rows | {"title": [f"{one} prize" for one in title]})
    assert found.drifted == ["title"]
    assert found.columns[0].words[0].word == "prize"


@pytest.mark.parametrize("value", [np.inf, 1e300, -1e300])
def test_numbers_beyond_all_bounds(learned, value):
    found = drift(learned, changed(weight=lambda x: np.full(len(x), value)))
    assert found.drifted == ["weight"]
    json.dumps(found.to_dict(), allow_nan=False)


def test_models_that_know_little(learned):
    kind, rows = type(learned), people(300, 9)
    alone = kind().fit({name: column[rows["rich"] == "no"] if name == "rich" else
                        np.array(column)[rows["rich"] == "no"] for name, column in rows.items()},
                       "rich")  # fmt: skip
    found = drift(alone, changed())
    assert math.isnan(found.share_p)
    gone = kind().fit(rows, "rich")
    gone.forget(rows, "rich")
    with pytest.raises(ValueError, match="forgotten"):
        drift(gone, changed())
    with pytest.raises(ValueError, match="fitted"):
        drift(kind(), changed())
    with pytest.raises(ValueError, match="fitted classifier"):
        drift(kind, changed())
    with pytest.raises(ValueError, match="level"):
        drift(learned, changed(), level=5)


# ---- real data -----------------------------------------------------------------------------------


def test_p_values_hold_on_equal_halves_of_a_real_table(data_folder):
    with gzip.open(data_folder / "adult/adult-train.csv.gz") as file:
        table = csv.read_csv(file, csv.ReadOptions(autogenerate_column_names=True))
    generator, found = np.random.default_rng(0), []
    for _ in range(30):
        rows = table.take(generator.permutation(table.num_rows)[:900])
        model = NaiveBayes().fit(rows.slice(0, 600), "f14")
        found.append(drift(model, rows.slice(600).drop_columns(["f14"]), level=0.05))
    p = np.array([one.p_value for each in found for one in each.columns])
    assert np.nanmean(p < 0.05) < 0.08
    hits = sum(one.has_drift for one in found)
    assert stats.binom.sf(hits - 1, 30, 0.05) > 1e-3
    shares = sum(one.share.p_value < 0.05 for one in found)
    assert stats.binom.sf(shares - 1, 30, 0.05) > 1e-3


@pytest.mark.slow
def test_words_hold_on_equal_parts_of_real_messages(data_folder):
    lines = (data_folder / "sms-spam/SMSSpamCollection").read_text("utf-8").split("\n")
    label, text = np.array([line.split("\t", 1) for line in lines if line]).T
    generator, p = np.random.default_rng(0), []
    for k in range(10):
        order = generator.permutation(len(text))
        model = TextNB("binary" if k % 2 else "multinomial").fit(
            text[order[:2500]], label[order[:2500]]
        )
        found = drift(model, text[order[2500:]])
        p.append([found.columns[0].p_value, found.share.p_value])
    below = (np.array(p) < 0.05).sum(axis=0)
    assert (stats.binom.sf(below - 1, 10, 0.05) > 1e-3).all()
    spam = drift(model, text[label == "spam"])
    assert {"call", "free", "txt"} <= {word.word for word in spam.columns[0].words}
    assert spam.share.estimated[1] > 0.9


def test_nothing_but_naively_is_needed():
    assert naively.drift is drift
    assert isinstance(
        drift(NaiveBayes().fit(people(60, 1), "rich"), changed()).to_arrow(), pa.Table
    )


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [(0.262, 0.258, "26.2% → 25.8%"), (0.262, 0.29, "26% → 29%"), (0.0471, 0.0468, "4.71% → 4.68%"),
     (0.3, 0.3, "30% → 30%"), (0.0001, 0.0002, "<0.1% → <0.1%"), (0.0, 1.0, "0.0% → 100%")],
)  # fmt: skip
def test_shares_that_differ_are_written_differently(before, after, said):
    assert change(before, after) == said
