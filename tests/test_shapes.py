"""Evidence of `AutoBayes`: blocks that add up, and complete tables."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest
from kit import said
from sklearn.datasets import load_wine

import naively
from naively import AutoBayes, GaussianBayes, MultivariateGaussian, NaiveBayes
from naively.plot import EvidenceDisplay

DATA = os.environ.get("NAIVELY_DATA")


def mixed(classes, n=900, seed=0):
    """A table of numbers and levels, some missing, whose class needs pairs too."""
    rng = np.random.default_rng(seed)
    left, right = rng.integers(0, 2, (2, n))
    y = ((left ^ right) + rng.integers(0, classes, n) * (rng.random(n) < 0.5)) % classes
    size = np.round(rng.gamma(2.0, 10.0 * (1 + y)), 1)
    size[rng.random(n) < 0.1] = np.nan
    job = np.array(["cook", "smith", "clerk", None], object)[rng.integers(0, 4, n)]
    town = [f"town {k}" for k in np.minimum(rng.geometric(0.05, n), 80)]
    return pd.DataFrame({
        "left": np.array(["no", "yes"])[left], "right": right, "size": size, "job": job,
        "age": rng.normal(size=n) + y, "town": town, "same": "same",
    }), np.array([f"class {k}" for k in y])  # fmt: skip


def later(X):
    """Rows with levels and numbers that were never met, and nothing at all."""
    X = X.head(60).copy()
    X.loc[:19, "town"] = "Atlantis"
    X.loc[10:29, "size"] = 1e9
    X.loc[15:34, "age"] = np.nan
    X.loc[25:44, "left"] = "perhaps"
    X.loc[50:, :] = None
    return X


def noise(seed):
    X, y = mixed(3, 120, seed)
    return X.sample(frac=1.0, random_state=seed).reset_index(drop=True), y


TABLES = {
    "two classes": mixed(2), "seven classes": mixed(7), "few rows": mixed(3, 60),
    "no evidence": noise(1), "numbers": load_wine(return_X_y=True, as_frame=True),
    "levels": (mixed(2)[0][["left", "right", "job", "town"]].astype(str), mixed(2)[1]),
}  # fmt: skip


@pytest.fixture(scope="module", params=TABLES)
def learned(request):
    """(a model, the rows that it learned, others)."""
    X, y = TABLES[request.param]
    return AutoBayes().fit(X, y), X, later(X) if "town" in X and "age" in X else X


# ---- explanations --------------------------------------------------------------------------------


def test_blocks_add_up_to_the_log_odds_and_so_do_columns(learned):
    model, X, others = learned
    for rows in (X, others):
        log_proba = model.predict_log_proba(rows)
        for by_block in (False, True):
            why = model.explain(rows, by_block=by_block)
            for a, b in ((0, 1), (len(model.classes_) - 1, 0)):
                prior, odds, _ = why.log_odds(model.classes_[a], model.classes_[b])
                total = prior + odds.sum(axis=1)
                np.testing.assert_allclose(total, log_proba[:, a] - log_proba[:, b], atol=1e-9)


def test_printed_and_flat_the_same_numbers(learned):
    model, _, others = learned
    why = model.explain(others, by_block=True)
    row = why[0]
    lines = row.lines()
    assert len(lines) == 1 + len(why.blocks)
    assert sum(odds for *_, odds in lines) == pytest.approx(row.total())
    names = [" × ".join(row.features[j] for j in own) for own in row.blocks if len(own) < 4]
    assert set(names) <= {name for name, _, _ in lines}
    flat = why.to_arrow().to_pandas()
    totals = flat.groupby("row")["log_odds"].sum()
    assert totals.to_numpy() == pytest.approx([one.total() for one in why])
    assert str(why[:2])
    assert why[:2].to_html()


def test_a_pair_is_there_as_itself_and_its_columns_share_it():
    X, y = TABLES["levels"]
    model = AutoBayes().fit(X, y)
    whole, why = model.explain(X), model.explain(X, by_block=True)
    assert why.features == whole.features == list(X)
    assert (0, 1) in why.blocks
    folded = np.zeros_like(whole.contributions)
    for k, own in enumerate(why.blocks):
        for j in own:
            folded[:, :, j] += why.contributions[:, :, k] / len(own)
    np.testing.assert_allclose(folded, whole.contributions, atol=1e-12)
    pair = next(line for line in why[0].lines() if line[0] == "left × right")
    assert pair[1] == f"{X['left'][0]} × {X['right'][0]}"
    assert abs(pair[2]) > 0.5


def test_all_numbers_together_are_one_block():
    X, y = TABLES["numbers"]
    why = AutoBayes().fit(X, y).explain(X, by_block=True)
    assert tuple(range(X.shape[1])) in why.blocks
    assert len(set(why.blocks)) == len(why.blocks)
    assert any((name, value) == ("13 features", "") for name, value, _ in why[0].lines())


@pytest.mark.parametrize("family", [MultivariateGaussian(), naively.Joint()], ids=repr)
def test_other_families_that_take_columns_together(family):
    X, y = mixed(2)
    X = X[["job", "age", "size", "left"]].dropna()
    y = y[X.index]
    together = ("age", "size") if isinstance(family, MultivariateGaussian) else ("job", "left")
    model = NaiveBayes(columns={together: family}).fit(X, y)
    why, whole = model.explain(X, by_block=True), model.explain(X)
    places = tuple(sorted(list(X).index(name) for name in together))
    assert sorted(why.blocks) == sorted([places, *((j,) for j in range(4) if j not in places)])
    np.testing.assert_allclose(
        why.contributions.sum(axis=2), whole.contributions.sum(axis=2), atol=1e-9
    )


# ---- tables of evidence --------------------------------------------------------------------------


def place(bins, value):
    """The bin of a cell, by what a person can read of it."""
    if pd.isna(value):
        return len(bins) - 1
    if bins.is_number:
        known = np.flatnonzero(np.isfinite(bins.low))
        return known[max(0, np.searchsorted(bins.low[known], float(value), side="right") - 1)]
    if str(value) in bins.labels[:-1]:
        return bins.labels.index(str(value))
    (rest,) = [
        k for k, label in enumerate(bins.labels) if label.endswith(("others", "1 other (rare)"))
    ]
    return rest


def test_the_tables_are_what_explanations_add():
    X, y = mixed(3)
    model = AutoBayes().fit(X, y)
    rows = later(X)
    rows = rows[rows["age"].notna()]  # which training rows always had: else other weights hold
    why = model.explain(rows, by_block=True)
    found = np.zeros_like(why.contributions)
    shapes = model.evidence_
    assert {len(shape.bins) for shape in shapes} >= {0, 1, 2}
    at = {tuple(why.features[j] for j in own): k for k, own in enumerate(why.blocks)}
    for shape in shapes:
        k = at[shape.names]
        if not shape.bins:
            assert shape.names == ("size", "age")
            continue
        cells = [
            tuple(place(own, row[own.name]) for own in shape.bins) for _, row in rows.iterrows()
        ]
        found[:, :, k] += [shape.weight * shape.evidence[cell] for cell in cells]
    tables = [k for names, k in at.items() if names != ("size", "age")]
    np.testing.assert_allclose(found[:, :, tables], why.contributions[:, :, tables], atol=1e-12)


def test_the_rows_behind_are_those_that_were_learned(learned):
    model, X, _ = learned
    shapes = model.evidence_
    assert [one.importance for one in shapes] == sorted(
        (one.importance for one in shapes), reverse=True
    )
    for shape in shapes:
        if not shape.bins:
            assert shape.rows.size == shape.evidence.size == 0
            with pytest.raises(ValueError, match="has no table of cells"):
                shape.to_arrow()
            continue
        assert shape.evidence.shape == shape.rows.shape
        assert shape.rows.shape[:-1] == tuple(map(len, shape.bins))
        whole = shape.rows.reshape(-1, len(model.classes_))
        assert whole.sum(axis=0).tolist() == model.class_count_.tolist()
        for axis, bins in enumerate(shape.bins):
            others = tuple(k for k in range(shape.rows.ndim) if k != axis)
            counts = shape.rows.sum(axis=others)
            assert bins.labels[-1] == "missing"
            missing = X[bins.name].isna() | X[bins.name].eq("None")  # as pandas 2 writes None
            assert counts[-1] == missing.sum()
            known = dict(zip(bins.labels, counts.tolist(), strict=True))
            if not bins.is_number:
                named = X[bins.name].dropna().astype(str).value_counts()
                singles = {name: n for name, n in known.items() if name in named.index}
                assert all(named[name] == n for name, n in singles.items())
            else:
                low, high = bins.low[:-1], bins.high[:-1]
                assert (low <= high).all()
                assert (low[1:] > high[:-1]).all()
                values = X[bins.name].dropna().astype(float)
                first = values.between(low[0], high[0]).sum()
                assert first == counts[0]


def rising() -> tuple[pd.DataFrame, np.ndarray]:
    """Rows whose log-odds rise with age, in a model whose table of age has a negative weight."""
    rng = np.random.default_rng(4)
    age, income = rng.normal(45, 12, 1000).round(), rng.lognormal(10, 0.5, 1000).round()
    table = pd.DataFrame({"age": age, "income": income, "visits": rng.poisson(3, 1000)})
    log_odds = -1.5 + 0.05 * (age - 45) - 0.3 * table["visits"]
    yes = rng.random(1000) < 1 / (1 + np.exp(-log_odds))
    return table, np.where(yes, "yes", "no")


def test_a_feature_is_drawn_with_its_interactions():
    """The table of age alone falls, where the model rises."""
    X, y = rising()
    model = AutoBayes().fit(X, y)
    shapes = {one.names: one for one in model.evidence_}
    why = model.explain(X)
    odds = why.log_odds("yes", against="no")[1]
    display = EvidenceDisplay.from_estimator(model, features=["age", "visits"])
    for name, panel in zip(["age", "visits"], display.axes_, strict=True):
        shape = shapes[name,]
        starts = shape.bins[0].low[:-1]
        bin_of = np.searchsorted(starts, X[name], side="right") - 1
        contribution = pd.Series(odds[:, why.features.index(name)])
        mean = contribution.groupby(bin_of).mean().reindex(range(len(starts)))
        lines = [one.get_data().values for one in panel.patches if not one.get_fill()]
        np.testing.assert_allclose(lines[0], mean, atol=1e-9)
        np.testing.assert_allclose(lines[1], shape.added[:-1, 1] - shape.added[:-1, 0])
    age = shapes["age",]
    assert age.weight < 0
    total, own = (values[:-1, 1] - values[:-1, 0] for values in (age.total, age.added))
    assert total[-9:].mean() > 0.5 > -0.5 > total[:9].mean()
    assert own[-9:].mean() < own[:9].mean()
    legend = [text.get_text() for text in display.legend_.get_texts()]
    assert legend == ["for yes", "for no", "with interactions", "its own table"]
    assert age.to_arrow().column("contribution of yes").to_pylist()[:-1] == [*age.total[:-1, 1]]


def test_a_flat_table_has_the_same_numbers():
    X, y = TABLES["levels"]
    model = AutoBayes().fit(X, y)
    shape = next(one for one in model.evidence_ if one.names == ("left", "right"))
    table = shape.to_arrow()
    assert table.column_names == [
        "left", "right", "rows", "rows of class 0", "rows of class 1", "evidence of class 0",
        "evidence of class 1", "contribution of class 0", "contribution of class 1",
    ]  # fmt: skip
    frame = table.to_pandas().set_index(["left", "right"])
    for left in ("no", "yes"):
        for right in ("0", "1"):
            own = y[(X["left"] == left) & (X["right"] == right)]
            line = frame.loc[left, right]
            assert line["rows"] == len(own)
            assert line["rows of class 1"] == (own == "class 1").sum()
            cell = shape.bins[0].labels.index(left), shape.bins[1].labels.index(right)
            assert line["evidence of class 1"] == shape.evidence[(*cell, 1)]
    assert repr(shape) == f"<Shape: left × right, {shape.kind}, weight {shape.weight:.3g}>"


def test_levels_that_are_called_like_bins_keep_theirs():
    y = np.arange(200) % 2
    level = np.where(y == 1, "missing", "3 others")
    model = AutoBayes().fit({"a": level}, y)
    (shape,) = model.evidence_
    assert shape.bins[0].labels == ["3 others", "missing", "others", "missing"]
    assert shape.rows[:, 1].tolist() == [0.0, 100.0, 0.0, 0.0]


def test_a_rare_category_is_one_other():
    y = np.arange(200) % 2
    level = np.where(y == 1, "a", "b").astype(object)
    level[0] = "once"
    (shape,) = AutoBayes().fit({"a": level}, y).evidence_
    assert shape.bins[0].labels == ["a", "b", "1 other (rare)", "missing"]


def test_models_that_weigh_nothing_have_no_shapes():
    X, y = load_wine(return_X_y=True)
    for model in (GaussianBayes(), NaiveBayes()):
        assert model.fit(X, y).model_.posterior().shapes == []


# ---- the command line ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    """A folder with a table and its model."""
    monkeypatch.chdir(tmp_path)
    X, y = mixed(2)
    X.assign(y=y).to_csv("t.csv", index=False)
    said(capsys, "fit", "t.csv", "-t", "y", "-o", "m")
    return tmp_path


def test_explain_by_block(folder, capsys):
    lines = said(capsys, "explain", "m", "t.csv", "--row", "1-5", "--by-block", "--json")[
        0
    ].splitlines()
    table = pyarrow.csv.read_csv("t.csv")
    model = naively.load("m")
    proba = model.predict_proba(table.slice(0, 5))
    for line, p in zip(map(json.loads, lines), proba, strict=True):
        log = line["log_odds"]
        assert "columns" not in log
        blocks = line["blocks"]
        assert log["prior"] + sum(b["log_odds"] for b in blocks) == pytest.approx(log["total"])
        assert log["total"] == pytest.approx(np.log(p.max() / p.min()))
        assert ["left", "right"] in [block["features"] for block in blocks]
        added = np.array([block["contributions"] for block in blocks])
        joint = np.array(line["prior"]) + added.sum(axis=0)
        assert joint == pytest.approx(np.array(line["joint"]))
        assert line["values"]["left"] in ("no", "yes")
    out, _ = said(capsys, "explain", "m", "t.csv", "--by-block")
    assert "left × right" in out
    folded, _ = said(capsys, "explain", "m", "t.csv")
    assert "left × right" not in folded
    sums = [re.findall(r"^total +(\S+)$", text, re.M) for text in (out, folded)]
    assert sums[0] == sums[1] != []
    said(capsys, "explain", "m", "t.csv", "--by-block", "-o", "why.csv")
    flat = pd.read_csv("why.csv")
    assert "left × right" in set(flat["feature"])
    folded = {json.loads(line)["row"]: json.loads(line)["log_odds"]["total"] for line in lines}
    sums = flat.groupby("row")["log_odds"].sum()
    assert sums[[*folded]].to_numpy() == pytest.approx([*folded.values()])


def test_inspect_of_a_column_and_of_a_pair(folder, capsys):
    shapes = naively.load("m").evidence_
    job = next(one for one in shapes if one.names == ("job",))
    out, _ = said(capsys, "inspect", "m", "--column", "job")
    first = next(line for line in out.splitlines() if line.startswith("clerk")).split()
    rows = job.rows[job.bins[0].labels.index("clerk")]
    assert first[1] == f"{rows.sum():,.0f}"
    assert first[2] == f"{100 * rows[1] / rows.sum():.1f}%"
    adds = job.added[job.bins[0].labels.index("clerk")]
    assert first[3] == f"{adds[1] - adds[0]:+.3f}"
    found = json.loads(
        said(capsys, "inspect", "m", "--column", "right", "--column", "left", "--json")[0]
    )
    pair = next(one for one in shapes if one.names == ("left", "right"))
    assert found["classes"] == ["class 0", "class 1"]
    (block, *_) = found["blocks"]
    assert block["features"] == ["left", "right"]
    assert block["weight"] == pair.weight
    assert np.array_equal(block["evidence"], pair.evidence)
    assert np.array_equal(block["rows"], pair.rows)
    assert block["bins"] == [own.labels for own in pair.bins]
    out, _ = said(capsys, "inspect", "m", "--column", "left")
    assert f"left × right ({pair.weight:.2f})" in out


def test_of_many_classes_those_that_fit_are_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = mixed(7, 2000)
    X.assign(y=[f"a rather long name {k}" for k in y]).to_csv("t.csv", index=False)
    said(capsys, "fit", "t.csv", "-t", "y", "-o", "m")
    out, _ = said(capsys, "inspect", "m", "--column", "size")
    assert max(map(len, out.splitlines())) <= 100
    assert "more classes: widen the terminal, or --json" in out


@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        (["--column", "agee"], 2, "did you mean 'age'"),
        (["--column", "same"], 1, "it is left out (constant)"),
        (["--column", "left", "--column", "size"], 1, "no table of left × size; it has"),
        (["--plot", "p.txt"], 2, "a picture's name ends in one of"),
        (["--plot", "m"], 2, "is among the files that are read"),
    ],
)
def test_what_cannot_be_inspected(folder, capsys, options, code, problem):
    before = Path("m").read_bytes()
    assert problem in said(capsys, "inspect", "m", *options, code=code)[1]
    assert Path("m").read_bytes() == before


def suppressed(n=1500, seed=0):
    """A column that tells how much of the other is noise."""
    rng = np.random.default_rng(seed)
    y, noise = rng.integers(0, 2, n), rng.normal(size=n)
    day = np.datetime64("2021-01-01T00:00") + rng.integers(0, 365, n) * 1440
    hour = np.clip(np.round(12 + 3 * noise + y), 0, 23).astype(int)
    return pd.DataFrame({"seen": noise + y, "day": (day + hour * 60).astype(str), "y": y})


def test_a_weight_below_zero_is_explained(folder, capsys):
    suppressed().to_csv("s.csv", index=False)
    said(capsys, "fit", "s.csv", "-t", "y", "-o", "s")
    shapes = naively.load("s").evidence_
    hours = next(one for one in shapes if one.part == "hours")
    assert hours.weight < 0
    assert any(one.weight >= 0 for one in shapes if one.names == ("seen",))
    note = "negative weight: subtracts evidence that other features count, too"
    assert said(capsys, "inspect", "s")[0].count(note) == 1
    for name in ("seen", "day"):
        below = sum(one.weight < 0 for one in shapes if one.names == (name,))
        assert said(capsys, "inspect", "s", "--column", name)[0].count(note) == below
    assert note not in said(capsys, "inspect", "m")[0] or any(
        one.weight < 0 for one in naively.load("m").evidence_
    )


def test_parts_of_dates_are_drawn_in_their_order(folder):
    """All of them, each under its own title; dates along an axis are dates."""
    table = suppressed()
    model = AutoBayes().fit(table, "y")
    display = EvidenceDisplay.from_estimator(model, features=["day"])
    found = {panel.get_title().split("\n")[0]: panel for panel in display.axes_}
    shapes = {one.title: one for one in model.evidence_ if one.names == ("day",)}
    assert found.keys() == shapes.keys() >= {"day: hours", "day: over time"}
    hours = found["day: hours"]
    shape = shapes["day: hours"]
    line = next(one for one in hours.patches if not one.get_fill())
    drawn = line.get_data()
    assert drawn.edges.tolist() == [k - 0.5 for k in range(25)]
    odds = shape.contribution[:-1, 1] - shape.contribution[:-1, 0]
    np.testing.assert_array_equal(drawn.values, odds)
    assert (np.isnan(odds) == (shape.rows[:-1].sum(axis=1) == 0)).all()
    assert [one.get_text() for one in hours.get_xticklabels()] == [
        "00:00", "06:00", "12:00", "18:00",
    ]  # fmt: skip
    time = found["day: over time"]
    display.figure_.canvas.draw()
    names = [one.get_text() for one in time.get_xticklabels()]
    assert names
    assert all(re.fullmatch("[A-Z][a-z]{2}|2021|2022", name) for name in names)


def test_plain_naive_bayes_shows_counts_and_probabilities(folder, capsys):
    said(capsys, "fit", "t.csv", "-t", "y", "-o", "n", "--naive")
    model = naively.load("n")
    table = pd.read_csv("t.csv").dropna(subset=["y"])
    shown = json.loads(said(capsys, "inspect", "n", "--column", "job", "--json")[0])["features"][0]
    for c, label in enumerate(model.classes_.tolist()):
        rows = table[table["y"] == label]["job"]
        counted = [int((rows == category).sum()) for category in shown["categories"]]
        assert shown["rows"][c] == counted
        smoothed = (np.array(counted) + 1) / (sum(counted) + len(counted))
        assert shown["probability"][c] == pytest.approx(smoothed)
    out, _ = said(capsys, "inspect", "n", "--column", "job")
    assert f"{shown['probability'][0][0]:.4f}" in out
    alone = pd.DataFrame({"job": shown["categories"]}).reindex(columns=table.columns)
    posterior = np.transpose(shown["posterior"])
    assert posterior == pytest.approx(model.predict_proba(alone))
    _, err = said(capsys, "inspect", "n", "--column", "age", code=1)
    assert "--column age: counts are of categories" in err
    assert "this feature is gaussian" in err
    for options in (["--column", "age"], ["--column", "job"]):
        said(capsys, "inspect", "n", *options, "--plot", "p.png")
        assert Path("p.png").stat().st_size > 5000


def test_pictures_of_what_matters_and_of_a_pair(folder, capsys):
    for options in ([], ["--column", "left", "--column", "right"], ["--column", "size"]):
        said(capsys, "inspect", "m", *options, "--plot", "p.png")
        assert Path("p.png").stat().st_size > 5000
        Path("p.png").unlink()


@pytest.mark.skipif(not DATA, reason="NAIVELY_DATA is not set")
def test_people_of_the_census():
    names = [f"column {k}" for k in range(15)]
    names[0], names[-1] = "age", "income"
    table = pd.read_csv(
        Path(DATA) / "adult" / "adult-train.csv.gz", names=names, skipinitialspace=True
    ).head(8000)
    model = AutoBayes().fit(table, "income")
    new = table.tail(300)
    for by_block in (False, True):
        prior, odds, _ = model.explain(new, by_block=by_block).log_odds(">50K", "<=50K")
        log_proba = model.predict_log_proba(new)
        np.testing.assert_allclose(
            prior + odds.sum(axis=1), log_proba[:, 1] - log_proba[:, 0], atol=1e-9
        )
    age = next(one for one in model.evidence_ if one.names == ("age",))
    by_age = table.groupby("age")["income"].agg(["size", lambda own: (own == ">50K").sum()])
    for k, label in enumerate(age.bins[0].labels):
        if label in ("25", "40"):
            assert age.rows[k].tolist() == [
                by_age.loc[int(label)].iloc[0] - by_age.loc[int(label)].iloc[1],
                by_age.loc[int(label)].iloc[1],
            ]
