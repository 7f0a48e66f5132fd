"""Scores: held-out rows, rankings, thresholds, and features that leak the class."""

import json
import math
import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from test_cli import asked, fitted, naive

import naively
from naively.cli.main import run
from naively.evaluation.metrics import Ranking
from naively.evaluation.samples import of_stream
from naively.explain.importance import bits
from naively.io.sources import open_source
from naively.tables.inference import ColumnOptions
from naively.tables.learning import TrainingSpec
from naively.tables.one_pass import Draw, learn
from naively.tables.targets import coded


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(name, **columns):
    """A table in a file."""
    columns = {key: pa.array(np.asarray(value).tolist()) for key, value in columns.items()}
    pyarrow.csv.write_csv(pa.table(columns), name)


# ---- rows held out ----------------------------------------------------------------------------


def drawn(y, cuts, part, seed=0):
    """The draws of rows that come in batches."""
    draw = Draw(part, seed)
    pieces = np.split(np.array(y, object), sorted(cuts))
    return np.concatenate([draw.of(coded(pa.array(piece.tolist()), ())) for piece in pieces])


PARTS = st.one_of(st.sampled_from([0.2, 0.25, 0.5, 1 / 3, 0.1, 0.7, 0.9]),
                  st.floats(1e-6, 1 - 1e-6))  # fmt: skip


@given(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=120),
       st.lists(st.integers(0, 120), max_size=5), PARTS, st.integers(0, 9))  # fmt: skip
def test_each_class_keeps_its_part_wherever_the_rows_are_cut(y, cuts, part, seed):
    draws = drawn(y, [], part, seed)
    assert drawn(y, cuts, part, seed).tolist() == draws.tolist()
    held = draws < 1
    assert (held == np.isfinite(draws)).all()
    for label in "abc":
        own = np.array([one == label for one in y], bool)
        n = int(own.sum())
        share = Fraction(part).limit_denominator(10**9) * n
        assert math.floor(share) <= held[own].sum() <= math.ceil(share)
        assert n == 0 or not held[own][0]  # a class of one row is learned
    assert not held[np.array([one is None for one in y], bool)].any()


def test_any_row_but_the_first_may_be_held_out():
    y = ["a"] * 20
    often = np.mean([drawn(y, [], 0.2, seed) < 1 for seed in range(2000)], axis=0)
    assert often[0] == 0
    assert often[1:5] == pytest.approx(0.25, abs=0.05)
    assert often[5:] == pytest.approx(0.2, abs=0.05)
    pairs = np.mean([(drawn(y, [], 0.2, seed) < 1)[[7, 12]].all() for seed in range(2000)])
    assert pairs == pytest.approx(0.04, abs=0.02)  # groups are drawn each on its own


def test_few_of_those_that_are_drawn_are_a_sample_of_each_class():
    y = np.where(np.arange(40_000) % 100 == 0, "rare", "usual")
    draws = drawn(y, [], 0.5)
    for part in (0.5, 0.1, 0.013):
        for label, n in (("rare", 200), ("usual", 19_800)):
            assert (draws[y == label] < part).sum() == pytest.approx(part * n, abs=3)


def test_labels_that_turn_to_text_are_the_same_classes():
    draw = Draw(0.5, 0)
    numbers = draw.of(coded(pa.array([1, 2] * 20), ()))
    text = draw.of(coded(pa.array(["1", "2"] * 20), ()))
    whole = drawn(["1", "2"] * 40, [], 0.5)
    assert [*numbers, *text] == whole.tolist()


@pytest.mark.parametrize(
    ("labels", "written"),
    [([True, False], ["True", "False"]), ([True, False], ["TRUE", "false"]),
     ([1, 2], ["1.0", "2.0"]), ([0.5, 2.0], ["0.50", "2.0"])],
)  # fmt: skip
def test_labels_that_formats_write_otherwise_are_held_out_alike(labels, written):
    own = np.random.default_rng(0).integers(0, 2, 60)
    draws = Draw(0.3, 0).of(coded(pa.array([labels[k] for k in own]), ()))
    text = Draw(0.3, 0).of(coded(pa.array([written[k] for k in own]), ()))
    assert text.tolist() == draws.tolist()


def test_ways_to_write_a_label_are_one_class_to_be_held_out():
    own, draw = ["True", "true"] * 20, Draw(0.5, 0)
    draws = [*draw.of(coded(pa.array(own[:17]), ())), *draw.of(coded(pa.array(own[17:]), ()))]
    assert draws == Draw(0.5, 0).of(coded(pa.array([True] * 40), ())).tolist()


def rows_of(table, size):
    """Pieces of work that make batches of so many rows."""
    return [lambda one=one: one for one in table.to_batches(max_chunksize=size)]


def test_what_is_held_out_depends_on_no_batch_and_no_thread(monkeypatch):
    generator = np.random.default_rng(5)
    table = pa.table({
        "x": generator.normal(size=3000), "row": np.arange(3000) * 1.5,
        "y": np.where(generator.random(3000) < 0.02, "rare", "usual").tolist(),
    })  # fmt: skip
    for most in (100_000, 50):
        # of 100,000 rows, which take long to write and read
        monkeypatch.setattr("naively.tables.one_pass.MOST", most)
        found = []
        for size, threads in ((3000, 1), (700, 2), (64, 3)):
            model, held = learn(
                rows_of(table, size), TrainingSpec("y", ColumnOptions({}), holdout=0.3), threads
            )
            assert model.rows + held.rows == 3000
            found.append((pa.concat_tables(held.tables).combine_chunks(), model))
        for rows, model in found[1:]:
            assert rows.equals(found[0][0])
            assert model == found[0][1]


def test_rows_held_out_are_not_those_of_a_seed_that_made_the_data(capsys):
    """The same generator of random numbers may well have made the table."""
    x = np.random.default_rng(0).random(1000)
    written("t.csv", x=x, row=np.arange(1000) + 0.5, y=np.where(x < 0.2, "low", "high"))
    _, held = learn(
        open_source("t.csv").tasks(), TrainingSpec("y", ColumnOptions({}), holdout=0.2), 1
    )
    rows = pa.concat_tables(held.tables)
    assert np.mean(rows["x"].cast(pa.float64()).to_numpy()) == pytest.approx(0.5, abs=0.06)
    assert sorted(rows["y"].to_pylist()).count("low") == round((x < 0.2).sum() / 5)


def test_nor_are_the_rows_that_are_looked_at(monkeypatch):
    monkeypatch.setattr("naively.evaluation.samples.ROWS", 1000)  # of 100,000, which take long
    x = np.random.default_rng(0).random(4000)
    table = pa.table({"x": x, "y": (x < 0.5).tolist()})
    found = of_stream(rows_of(table, 4000), "y", (), 0, 1)
    assert len(found.codes) == 1000
    assert np.mean(found.table["x"].to_numpy()) == pytest.approx(0.5, abs=0.05)


def test_holdout_of_a_table_with_rare_classes(capsys):
    y = ["usual"] * 90 + ["rare"] * 9 + ["once"]
    written("t.csv", x=np.random.default_rng(0).random(100), y=np.array(y))
    found = asked(capsys, "fit", "t.csv", "-t", "y", "-o", "m", "--holdout", "0.34")["held_out"]
    own = dict(zip(found["classes"], np.sum(found["confusion"], axis=1).tolist(), strict=True))
    assert own["once"] == 0
    assert own["rare"] in (3, 4)
    assert own["usual"] in (30, 31)
    assert found["unknown"] == 0  # each class was learned
    assert Path("m").exists()
    out, _ = fitted(capsys, "--holdout", "0.999", data="t.csv", target="y")
    assert "Evaluation on 97 held-out rows; the saved model" in out
    assert naive(capsys, "inspect", "m")


# ---- ranks and thresholds ---------------------------------------------------------------------

CHANCES = st.one_of(st.sampled_from([0.0, 1e-300, 0.25, 0.5, 1.0]), st.floats(0, 1))
SCORED = st.lists(st.tuples(CHANCES, st.booleans()), min_size=1, max_size=40)


def ranking(rows, cut=0):
    """The ranking of (chance, truth) in two batches."""
    chance, truth = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], bool)
    return Ranking(chance, truth), chance, truth


@given(SCORED, st.integers(0, 40))
def test_ranks_are_those_of_sklearn(rows, cut):
    found, chance, truth = ranking(rows, cut)
    if truth.any() and not truth.all():
        assert found.auc() == pytest.approx(metrics.roc_auc_score(truth, chance), abs=1e-12)
    else:
        assert math.isnan(found.auc())
    if truth.any():
        average = metrics.average_precision_score(truth, chance)
        assert found.average_precision() == pytest.approx(average, abs=1e-12)
    else:
        assert math.isnan(found.average_precision())


@given(SCORED, st.lists(st.integers(0, 3), min_size=40, max_size=40), st.booleans())
def test_curves_are_those_of_sklearn(rows, weights, weighed):
    _, chance, truth = ranking(rows)
    weights = np.array(weights[: len(rows)], float) if weighed else np.ones(len(rows))
    present = weights > 0
    if not (truth[present].any() and (~truth[present]).any()):
        return
    found = Ranking(chance[present], truth[present], weights[present] if weighed else None)
    theirs = metrics.roc_curve(truth, chance, sample_weight=weights, drop_intermediate=False)
    kept = np.isin(theirs[2], [np.inf, *chance[present]])  # not those of weight 0 alone
    for own, their in zip(found.roc(), theirs, strict=True):
        np.testing.assert_allclose(own, their[kept], rtol=1e-12, atol=1e-15)
    theirs = metrics.precision_recall_curve(
        truth[present], chance[present], sample_weight=weights[present]
    )
    for own, their in zip(found.precision_recall(), theirs, strict=True):
        np.testing.assert_allclose(own, their, rtol=1e-12, atol=1e-15)


@given(SCORED, st.floats(0, 1), st.one_of(st.sampled_from([0.1, 0.7, 0.9, 1.0]),
                                          st.floats(1e-9, 1)))  # fmt: skip
def test_thresholds_against_counting(rows, threshold, recall):
    found, chance, truth = ranking(rows)
    one = found.at(threshold)
    flagged = chance >= threshold
    assert (one.flagged, one.caught) == (flagged.sum(), (flagged & truth).sum())
    assert one.missed == (truth & ~flagged).sum()
    assert one.false_alarms == (flagged & ~truth).sum()
    if not truth.any():
        assert math.isnan(one.recall)
        with pytest.raises(ValueError, match="no row is positive"):
            found.at_recall(recall)
        return
    least = found.at_recall(recall)
    needed = Fraction(str(recall)) * int(truth.sum())
    assert found.at(least.threshold) == least
    assert least.caught >= needed
    assert not any((truth & (chance >= t)).sum() >= needed for t in chance if t > least.threshold
                   and (chance >= t).sum() < least.flagged)  # fmt: skip


def test_a_threshold_has_no_digits_that_say_nothing():
    found, *_ = ranking([(0.123456789, True), (0.119, False), (0.9999999, True), (1e-9, False)])
    assert found.at_recall(0.5).threshold == 0.9
    assert found.at_recall(1).threshold == 0.12
    near, *_ = ranking([(0.5, True), (np.nextafter(0.5, 0), False)])
    assert near.at_recall(1).threshold == 0.5
    tenths, *_ = ranking([(k / 10, True) for k in range(10)])
    assert tenths.at_recall(0.7).caught == 7  # though 0.7 * 10 is above 7 in float64


@pytest.fixture
def spam():
    """Mails of one number and a word in train.csv and test.csv, a fifth of them spam."""
    generator = np.random.default_rng(3)
    for name, n in (("train.csv", 600), ("test.csv", 500)):
        bad = generator.random(n) < 0.2
        written(
            name, links=generator.poisson(2 + 3 * bad) * 1.5,
            word=np.where(generator.random(n) < 0.3 + 0.4 * bad, "free", "hello"),
            kind=np.where(bad, "bad", "good"),
        )  # fmt: skip


def test_evaluate_ranks_and_flags(spam, capsys):
    fitted(capsys, data="train.csv", target="kind")
    found = asked(capsys, "evaluate", "m", "test.csv", "--threshold", 0.3, "--at-recall", 0.9)
    table = pyarrow.csv.read_csv("test.csv")
    proba = naively.load("m").predict_proba(table.drop_columns(["kind"]))[:, 0]
    truth = np.array(table["kind"].to_pylist()) == "bad"
    assert found["positive"] == "bad"  # the rarer one
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(truth, proba), rel=1e-12)
    average = metrics.average_precision_score(truth, proba)
    assert found["average_precision"] == pytest.approx(average, rel=1e-12)
    for name, threshold in (("at_threshold", 0.3), ("at_recall", found["at_recall"]["threshold"])):
        one, flagged = found[name], proba >= threshold
        assert one["threshold"] == threshold
        assert one["flagged"] == flagged.sum()
        assert one["missed"] == (truth & ~flagged).sum()
        assert one["recall"] == metrics.recall_score(truth, flagged)
        assert one["precision"] == metrics.precision_score(truth, flagged)
    assert found["at_recall"]["recall"] >= 0.9
    confusion = np.array(found["confusion"])
    assert found["as_predicted"]["threshold"] is None
    assert found["as_predicted"]["caught"] == confusion[0, 0]
    assert found["as_predicted"]["false_alarms"] == confusion[1, 0]
    plain = asked(capsys, "evaluate", "m", "test.csv")
    assert "at_recall" not in plain
    assert plain["auc"] == found["auc"]


def test_another_class_may_be_looked_for(spam, capsys):
    fitted(capsys, data="train.csv", target="kind")
    bad, good = (
        asked(capsys, "evaluate", "m", "test.csv", "--positive", which, "--at-recall", 1)
        for which in ("bad", "good")
    )
    assert good["positive"] == "good"
    assert good["auc"] == pytest.approx(bad["auc"], rel=1e-12)
    assert good["average_precision"] > bad["average_precision"]
    assert good["at_recall"]["missed"] == bad["at_recall"]["missed"] == 0
    written("n.csv", x=np.arange(60) % 7 * 1.5, y=np.arange(60) % 3)  # of three, and numbers
    fitted(capsys, data="n.csv", target="y")
    assert "auc" not in asked(capsys, "evaluate", "m", "n.csv")
    found = asked(capsys, "evaluate", "m", "n.csv", "--positive", "1", "--threshold", 0.2)
    proba = naively.load("m").predict_proba(pa.table({"x": np.arange(60) % 7 * 1.5}))[:, 1]
    assert found["positive"] == 1
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(np.arange(60) % 3 == 1, proba))
    assert found["at_threshold"]["flagged"] == (proba >= 0.2).sum()


@pytest.mark.parametrize("width", [80, 100])
def test_thresholds_are_shown(width, spam, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    text = Path("train.csv").read_text().replace('"bad"', '"as bad as a mail can be"')
    Path("train.csv").write_text(text)
    fitted(capsys, data="train.csv", target="kind")
    out, _ = naive(capsys, "evaluate", "m", "train.csv", "--threshold", 0.3, "--at-recall", 0.95)
    out = re.sub("\x1b[^m]*m", "", out)
    assert max(map(len, out.splitlines())) <= width
    row = next(line.split() for line in out.splitlines() if line.startswith("0.3 "))
    found = asked(capsys, "evaluate", "m", "train.csv", "--threshold", 0.3)["at_threshold"]
    assert row[1:] == [
        f"{found['recall']:.1%}", f"{found['precision']:.1%}", f"{found['flagged']:,}",
        f"{found['missed']:,}", f"{found['false_alarms']:,}",
    ]  # fmt: skip
    assert "AUC of P(as bad as a mail ca…)" in out
    assert "most probable class" in out
    held = naive(capsys, "fit", "train.csv", "-t", "kind", "-o", "m", "--holdout", 0.3)[0]
    assert "average precision" in held


@pytest.mark.parametrize(
    ("tokens", "code", "said"),
    [
        (["--threshold", "1.5"], 2, "--threshold is a probability, from 0 to 1, not 1.5"),
        (["--threshold", "nan"], 2, "--threshold is a probability"),
        (["--at-recall", "0"], 2, "--at-recall is the share of a class to find"),
        (["--at-recall", "90"], 2, "above 0 and at most 1, not 90"),
        (["--positive", "ugly"], 2, "--positive ugly: the classes are bad, good"),
    ],
)
def test_thresholds_that_are_none(tokens, code, said, spam, capsys):
    fitted(capsys, data="train.csv", target="kind")
    assert said in naive(capsys, "evaluate", "m", "test.csv", *tokens, code=code)[1]


def test_nothing_to_look_for(spam, capsys):
    fitted(capsys, data="train.csv", target="kind")
    written("fine.csv", links=[1.5, 3.0], word=["free", "hello"], kind=["good", "good"])
    found = asked(capsys, "evaluate", "m", "fine.csv", "--threshold", "0.5")
    assert found["auc"] is found["average_precision"] is found["at_threshold"]["recall"] is None
    assert "AUC" not in naive(capsys, "evaluate", "m", "fine.csv")[0]
    error = naive(capsys, "evaluate", "m", "fine.csv", "--at-recall", "0.5", code=1)[1]
    assert "no row of class 'bad': recall is undefined" in error
    written("n.csv", x=np.arange(60) % 7 * 1.5, y=np.arange(60) % 3)
    fitted(capsys, data="n.csv", target="y")
    error = naive(capsys, "evaluate", "m", "n.csv", "--at-recall", "0.5", code=2)[1]
    assert "the model has 3 classes (0, 1, 2): name the positive one with --positive" in error


# ---- predictions as JSON ----------------------------------------------------------------------


def said(capsys, *tokens):
    """What `predict --json` prints."""
    out, _ = naive(capsys, "predict", *tokens, "--json")
    return [
        json.loads(line, parse_constant=lambda name: pytest.fail(name)) for line in out.splitlines()
    ]


def test_predictions_as_json_keep_their_rows(spam, capsys):
    fitted(capsys, data="train.csv", target="kind")
    written("new.csv", id=[2**60 + 1, 7], links=[1.5, None], word=["free", "ü,\n"],
            prediction=["mine", "too"])  # fmt: skip
    rows = said(capsys, "m", "new.csv", "--proba")
    assert list(rows[0]) == ["prediction", "probabilities", "row"]
    assert [row["row"] for row in rows] == [
        {"id": str(2**60 + 1), "links": "1.5", "word": "free", "prediction": "mine"},
        {"id": "7", "links": "", "word": "ü,\n", "prediction": "too"},
    ]
    assert {row["prediction"] for row in rows} <= {"bad", "good"}
    model = naively.load("m")
    table = pa.table({"links": [1.5, None], "word": ["free", "ü,\n"]})
    for row, proba in zip(rows, model.predict_proba(table).tolist(), strict=True):
        assert row["probabilities"] == dict(zip(["bad", "good"], proba, strict=True))
    assert [list(row) for row in said(capsys, "m", "new.csv")] == [["prediction", "row"]] * 2
    alone = said(capsys, "m", "new.csv", "--only")
    assert alone == [{"prediction": row["prediction"]} for row in rows]


def test_predictions_as_json_of_values_that_json_lacks(spam, capsys):
    fitted(capsys, data="train.csv", target="kind")
    table = pa.table({
        "links": [math.nan, math.inf], "word": ["free", None],
        "day": pa.array([0, None], pa.date32()), "cost": pa.array(["1.50", "2"]).cast(
            pa.decimal128(5, 2)), "lots": [[1.5, math.nan], None],
    })  # fmt: skip
    pyarrow.parquet.write_table(table, "odd.parquet")
    assert [row["row"] for row in said(capsys, "m", "odd.parquet")] == [
        {"links": None, "word": "free", "day": "1970-01-01", "cost": "1.50", "lots": [1.5, None]},
        {"links": None, "word": None, "day": None, "cost": "2.00", "lots": None},
    ]


def test_predictions_as_json_of_documents(capsys):
    Path("ham.txt").write_text("lunch at noon\nmeeting at noon\n")
    Path("spam.txt").write_text("win a prize\nfree prize\n")
    naive(capsys, "fit", "ham.txt", "spam.txt", "-o", "m")
    Path("new.txt").write_text("a free lunch\n")
    assert said(capsys, "m", "new.txt") == [{"prediction": "spam", "row": {"text": "a free lunch"}}]


# ---- probabilities that are worse than none ---------------------------------------------------


def bursts(name):
    """Classes told by numbers with heavy tails, the same ones twenty times over."""
    generator = np.random.default_rng(2)
    y = generator.random(400) < 0.4
    x = generator.normal(2.0 * y) * np.where(generator.random(400) < 0.03, 40.0, 1.0)
    copies = {f"x{k}": x + generator.normal(0, 0.01, 400) for k in range(20)}
    written(name, **copies, y=np.where(y, "on", "off"))


def test_worse_than_the_prior_is_said_where_it_is_so(capsys):
    bursts("t.csv")
    worse = "its probabilities are worse than the baseline's"
    for options in (("--holdout", "0.3"), ()):
        out, _ = fitted(capsys, *options, data="t.csv", target="y")
        assert f"{worse}: `AutoBayes()`, with weights, may do better" in out
    out, _ = naive(capsys, "evaluate", "m", "t.csv")
    assert f"{worse}: `AutoBayes()`, with weights, may do better" in out
    found = asked(capsys, "evaluate", "m", "t.csv")
    assert found["worse_than_prior"] is True
    assert found["log_loss"] > found["baseline_log_loss"]
    assert run(["fit", "t.csv", "-t", "y", "-o", "weighed"]) == 0
    assert worse not in capsys.readouterr().out
    written("fine.csv", x=np.arange(40) % 2 + np.arange(40) / 100, y=np.arange(40) % 2)
    fitted(capsys, data="fine.csv", target="y")
    assert "worse" not in naive(capsys, "evaluate", "m", "fine.csv")[0]
    assert asked(capsys, "evaluate", "m", "fine.csv")["worse_than_prior"] is False


# ---- columns that tell too much ---------------------------------------------------------------

TOO_MUCH = "alone almost determines the class"


def accounts(name, rows=2000, rare=0.3):
    """Customers, with what is written down only once they have left."""
    generator = np.random.default_rng(7)
    left = np.arange(rows) < rare * rows
    other = np.where(left, "moved", "none")
    written(
        name, age=generator.normal(40 + 5 * left, 10), calls=generator.poisson(3 + 2 * left),
        reason=np.where(generator.random(rows) < 0.998, other, "unknown"),
        refund=generator.normal(100.0 * left, 8), left=np.where(left, "yes", "no"),
    )  # fmt: skip


def suspects(capsys, *options, data="t.csv", target="left"):
    """The columns that tell nearly all, as `fit` says."""
    found = json.loads(fitted(capsys, *options, "--json", data=data, target=target)[0])
    return {one["feature"] for one in found["features"] if one["determines_class"]}


@pytest.mark.parametrize("options", [[], ["--family", "auto"], ["--family", "kernel_density"]])
def test_a_column_that_almost_determines_the_class_has_a_warning(options, capsys):
    accounts("t.csv")
    out, _ = fitted(capsys, *options, data="t.csv", target="left")
    for shown in (out, naive(capsys, "inspect", "m")[0]):
        for name in ("reason", "refund"):
            assert re.search(rf"feature {name} {TOO_MUCH} \(0.8[678] of 0.88 bits\)", shown)
        assert "bits):\nare they known before the class is?\n" in shown
        assert shown.count(TOO_MUCH) == 2
    assert suspects(capsys, *options) == {"reason", "refund"}
    found = asked(capsys, "inspect", "m")
    assert found["class_entropy"] == pytest.approx(0.8813, abs=1e-4)


@pytest.mark.slow
def test_a_rare_class_has_leaks_too(capsys):
    accounts("t.csv", rows=20_000, rare=0.001)
    assert suspects(capsys) == {"refund"}  # of twenty rows, levels are not so sure
    accounts("t.csv", rows=50_000, rare=0.02)
    assert suspects(capsys) == {"reason", "refund"}


def test_few_rows_are_no_leak(capsys):
    y = np.arange(40) % 2
    written("t.csv", x=y * 10 + np.arange(40) / 50, left=y)
    assert suspects(capsys) == set()  # forty rows
    y = np.arange(1000) < 5
    written("t.csv", x=y * 10 + np.arange(1000) / 1000, left=np.where(y, "yes", "no"))
    assert suspects(capsys) == set()  # five of the other class
    generator = np.random.default_rng(0)
    y = generator.random(1000) < 0.5
    written("t.csv", zip=[f"z{k}" for k in generator.integers(0, 850, 1000)], left=y)
    assert suspects(capsys, "--alpha", "1e-9") == set()  # a level a row or two
    known = np.arange(1000) % 10 == 0
    x = [float(10 * v + k / 1000) if there else None
         for k, (v, there) in enumerate(zip(y, known, strict=True))]  # fmt: skip
    written("t.csv", x=np.array(x, object), left=y)
    assert suspects(capsys) == set()  # of one row in ten
    written("t.csv", x=np.where(y, 10, 0) + generator.random(1000), left=y)
    assert suspects(capsys) == {"x"}


def test_a_narrow_density_is_no_leak(capsys):
    """Rates of 1 in one class, and mostly 1 in the other: normal densities take that for much."""
    generator = np.random.default_rng(0)
    y = generator.random(2000) < 0.5
    rate = np.where(y & (generator.random(2000) < 0.25), generator.random(2000), 1.0)
    written("t.csv", rate=rate, left=y)
    found = json.loads(fitted(capsys, "--json", data="t.csv", target="left")[0])
    assert found["features"][0]["mutual_information"] > 0.95 * found["class_entropy"]
    assert not found["features"][0]["determines_class"]


def test_many_leaks_are_not_all_listed(capsys):
    y = np.random.default_rng(0).random(300) < 0.5
    written("t.csv", **{f"copy {k}": y * 5 + np.random.default_rng(k).random(300)
                        for k in range(6)}, left=y)  # fmt: skip
    out, _ = fitted(capsys, data="t.csv", target="left")
    assert out.count(TOO_MUCH) == 3
    assert "and so does each of 3 other features:\nare they known before" in out


def test_bits_of_a_rare_class_are_no_matter_of_luck(capsys):
    generator = np.random.default_rng(10)
    y = np.arange(50_000) % 500 == 0
    level = generator.random(50_000) < np.where(y, 0.6, 0.05)
    model = naively.NaiveBayes().fit({"x": np.where(level, "u", "v")}, y).model_
    posterior = model.posterior()
    part = posterior.parameters
    theta = np.exp(part.log_theta(0, part.levels[0]))
    prior = posterior.class_prior
    exact = (prior[:, np.newaxis] * theta * np.log2(theta / (prior @ theta))).sum()
    assert bits(posterior)["x"] == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize(
    ("path", "target"),
    [("iris/iris.arff", "class"), ("mushroom/mushroom.arff.gz", "class"),
     ("sick/sick.arff.gz", "Class"), ("vote/vote.arff", "Class"), ("wine/wine.arff", "class")],
)  # fmt: skip
def test_no_column_of_these_is_a_leak(path, target, data_folder, capsys):
    out, _ = fitted(capsys, data=data_folder / path, target=target)
    assert TOO_MUCH not in out
    assert suspects(capsys, data=data_folder / path, target=target) == set()
