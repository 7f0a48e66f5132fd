"""Common first mistakes: the error says what to do instead."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import product
import pyarrow as pa
import pytest
from safetensors.numpy import load, save

import naively
from naively import AutoBayes, GaussianNB, MultinomialNB, NaiveBayes, TextNB

FRAME = pd.DataFrame({"age": [39, 50, 28, 61] * 5, "plan": ["a", "b", "a", "b"] * 5})
LABELS = [0, 1] * 10


@pytest.fixture(scope="module")
def model():
    return NaiveBayes().fit(FRAME, LABELS)


def run(capsys, *tokens):
    """(what a command prints, errors and notes, exit code)."""
    code = product.run([*tokens])
    return *capsys.readouterr(), code


# ---- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "row",
    [
        FRAME.iloc[0].to_dict(), {"age": 39, "plan": "a"}, {"age": [39], "plan": "a"},
        {"plan": "abc", "age": "123"}, {"age": np.float64(3), "plan": b"a"},
        {"age": [1.0], "plan": None},
        FRAME.iloc[0], FRAME["age"], pl.Series([1, 2]), pa.array([1, 2]), pa.chunked_array([[1]]),
        np.array([39.0, 1.0]), [39, 1],
    ],
)  # fmt: skip
@pytest.mark.parametrize("ask", ["predict_proba", "explain"])
def test_one_row_is_a_table_too(model, row, ask):
    with pytest.raises(
        ValueError, match=r"for one row give a frame of one row.*list with its dict"
    ):
        getattr(model, ask)(row)


def test_what_the_error_says_of_one_row_works(model):
    one = model.predict_proba(FRAME.iloc[[0]]).tolist()
    assert model.predict_proba([FRAME.iloc[0].to_dict()]).tolist() == one


@pytest.mark.parametrize("kind", [AutoBayes, NaiveBayes, GaussianNB, MultinomialNB])
@pytest.mark.parametrize("path", ["cust.csv", Path("cust.csv")])
def test_a_path_is_for_scan(kind, path):
    with pytest.raises(ValueError, match=r"'cust.csv'.*naively\.scan\('cust\.csv'\)"):
        kind().fit(path, "churn")


@pytest.mark.parametrize("path", ["cust.csv", Path("cust.csv")])
def test_a_path_is_no_column_of_text(path):
    with pytest.raises(TypeError, match=r"naively\.scan\(path\)"):
        TextNB().fit(path, "churn")


WIDE = pd.DataFrame({f"c{k}": ["free prize", "lunch"] for k in range(57)})


@pytest.mark.parametrize(
    "table",
    [WIDE, WIDE.to_dict("list"), pa.table(WIDE), pl.DataFrame(WIDE), pa.table(WIDE).to_batches()[0],
     pa.table(WIDE).to_struct_array()],
)  # fmt: skip
def test_a_table_is_no_column_of_text(table):
    with pytest.raises(TypeError) as met:
        TextNB().fit(table, ["spam", "ham"])
    assert "57 columns ('c0', 'c1', 'c2', ...)" in str(met.value)
    assert "pass the one that holds them" in str(met.value)
    assert len(str(met.value)) < 160


def test_a_table_of_one_column_is_its_documents():
    """As ColumnTransformer and BaggingClassifier of scikit-learn pass them."""
    assert TextNB().fit(WIDE[["c0"]], ["spam", "ham"]).predict(["lunch"]) == ["ham"]
    assert TextNB().fit(WIDE["c0"], ["spam", "ham"]).predict(["lunch"]) == ["ham"]


@pytest.mark.parametrize("kind", [AutoBayes, NaiveBayes])
def test_the_target_left_in_x_is_noticed(kind):
    frame = pd.DataFrame({"a": np.sqrt(np.arange(120)), "churn": ["yes", "no", "no"] * 40})
    for table in (frame, pl.DataFrame(frame)):
        with pytest.warns(UserWarning, match="column 'churn' of X holds the labels y: leave it"):
            kind().fit(table, table["churn"])
        with pytest.warns(UserWarning, match="'churn' of X holds"):
            kind().fit(table[:9], table["churn"][:9])
    with pytest.warns(UserWarning, match="'churn' of X holds"):
        kind().fit(frame, frame["churn"].to_numpy())  # which has no name: of many rows
    kind().fit(frame, "churn")
    kind().fit(frame.rename(columns={"churn": "other"})[:9], frame["churn"][:9])


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "which"), [(99, "a newer"), (1, "an older")])
def test_a_file_of_another_version_is_not_damaged(model, tmp_path, version, which):
    model.save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    size = int.from_bytes(content[:8], "little")
    document = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["naively"])
    document["version"] = version
    (tmp_path / "m").write_bytes(save(load(content), {"naively": json.dumps(document)}))
    with pytest.raises(ValueError, match=f"m was written by {which} naively") as met:
        naively.load(tmp_path / "m")
    assert "damaged" not in str(met.value)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.assign(churn=LABELS).to_csv("cust.csv", index=False)


def test_a_table_is_no_model_file(folder, capsys):
    with pytest.raises(ValueError, match=r"cust\.csv is not a model file") as met:
        naively.load("cust.csv")
    assert "eader" not in str(met.value)
    _, error, _ = run(capsys, "predict", "cust.csv", "cust.csv")
    assert "eader" not in error
    assert "cust.csv is not a model file" in error
    assert "MODEL is first" in error


# ---- names of columns ----------------------------------------------------------------------------


def test_columns_with_commas_between_are_several_options(folder, capsys):
    for command in (["fit", "-o", "m"], ["compare"], ["diagnose"]):
        tokens = [command[0], "cust.csv", "--target", "churn", "--skip", "age,plan", *command[1:]]
        _, error, code = run(capsys, *tokens)
        assert code
        assert "give the option once for each column, as --skip age --skip plan" in error, command
    FRAME.rename(columns={"age": "age,plan"}).assign(churn=LABELS).to_csv("odd.csv", index=False)
    found = run(capsys, "fit", "odd.csv", "-t", "churn", "--skip", "age,plan", "-o", "m")
    assert found[2] == 0


def test_a_misspelt_name_is_reported(folder, capsys):
    assert run(capsys, "fit", "cust.csv", "-t", "churn", "-o", "m")[2] == 0
    Path("new.csv").write_text('"Plan ",age,churn\na,30,1\nb,50,0\n')
    said = "new.csv has no column 'plan' (it has 'Plan'): its values count as missing"
    for command in ("predict", "update"):
        assert said in run(capsys, command, "m", "new.csv")[1], command
    Path("new.csv").write_text("plann,age,churn\na,30,1\n")
    assert "no column 'plan' (it has 'plann')" in run(capsys, "predict", "m", "new.csv")[1]
    Path("new.csv").write_text("scheme,age,churn\na,30,1\n")
    assert "new.csv has no column 'plan': its values" in run(capsys, "predict", "m", "new.csv")[1]


@pytest.mark.parametrize("key", [0, (0, 1)])
def test_a_column_goes_by_name_and_not_by_place(key):
    with pytest.raises(ValueError, match=r"neither a name nor .* array are 'x0', 'x1'"):
        NaiveBayes({key: "categorical"}).fit(np.eye(4), [0, 1, 0, 1])


# ---- sums ----------------------------------------------------------------------------------------


def test_the_left_model_s_parameters_are_reported_where_the_right_one_has_others():
    one, other = (
        NaiveBayes(alpha=alpha, n_jobs=k).fit(FRAME, LABELS) for alpha, k in ((1.0, 1), (5.0, 2))
    )
    with pytest.warns(UserWarning, match=r"left model: alpha=1\.0, not 5\.0$"):
        assert (one + other).alpha == 1.0


@pytest.mark.parametrize("kind", [AutoBayes, NaiveBayes])
def test_columns_that_only_one_of_two_models_has_are_reported(kind, tmp_path, capsys):
    one, other = (
        kind().fit(FRAME.rename(columns=names).assign(y=LABELS), "y")
        for names in ({}, {"age": "agee"})
    )
    remark = "only {} has the column 'age'; only {} has the column 'agee'"
    with pytest.warns(UserWarning, match=remark.format("the left model", "the right model")):
        total = one + other
    assert total.model_.rows == 2 * len(FRAME)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (one + one).model_.rows == total.model_.rows
    paths = [str(tmp_path / name) for name in ("one", "other", "sum")]
    one.save(paths[0])
    other.save(paths[1])
    _, said, code = run(capsys, "merge", *paths[:2], "-o", paths[2])
    assert code == 0
    assert remark.format(*paths) in said


@pytest.mark.parametrize("kind", [AutoBayes, NaiveBayes])
def test_the_target_s_name_is_suggested(kind):
    with pytest.raises(ValueError, match="no column 'Age'; did you mean 'age'"):
        kind().fit(FRAME[["age"]].assign(x=1.0), "Age")


def test_an_sqlite_file_is_read_by_a_query(folder, capsys):
    Path("t.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    _, said, code = run(capsys, "fit", "t.db", "--target", "y", "-o", "m")
    assert code == 1, said
    assert '--database sqlite:t.db --sql "select * from TABLE"' in said


def test_other_files_than_tables_are_reported(folder, capsys):
    """A model where rows belong, and a database of another kind."""
    _, said, code = run(capsys, "fit", "cust.csv", "--target", "churn", "-o", "m")
    assert code == 0, said
    for command in (["fit", "m", "--target", "y", "-o", "n"], ["predict", "m", "m"]):
        _, said, code = run(capsys, *command)
        assert code == 1
        assert said == "naively: m: this is a model file of naively, where rows are expected\n"
    Path("t.duckdb").write_bytes(bytes(8) + b"DUCK" + bytes(100))
    _, said, code = run(capsys, "fit", "t.duckdb", "--target", "y", "-o", "m")
    assert code == 1
    assert '--database duckdb:t.duckdb --sql "select * from TABLE"' in said


def test_what_lacks_its_labels_is_offered_no_feature_as_such(folder, capsys):
    FRAME.assign(churns=FRAME["age"], churned=LABELS).to_csv("more.csv", index=False)
    run(capsys, "fit", "more.csv", "--target", "churned", "-o", "m")
    FRAME.assign(churns=FRAME["age"]).to_csv("new.csv", index=False)
    FRAME.assign(churns=FRAME["age"], Churned=LABELS).to_csv("late.csv", index=False)
    said = "evaluation needs the true labels: there is no column 'churned'"
    _, error, code = run(capsys, "evaluate", "m", "new.csv")
    assert (error, code) == (f"naively: new.csv: {said}\n", 1)
    _, error, code = run(capsys, "evaluate", "m", "late.csv")
    assert (error, code) == (f"naively: late.csv: {said}; did you mean 'Churned'?\n", 1)
    Path("other.csv").write_text("town,sold\nRome,1\n")  # no feature of the model
    _, error, code = run(capsys, "evaluate", "m", "other.csv")
    others = "the columns that are not features of the model are town, sold"
    assert (error, code) == (f"naively: other.csv: {said}; {others}\n", 1)


# ---- scores that are no density ------------------------------------------------------------------


def test_a_likelihood_of_weighted_text_names_the_model_that_has_one():
    texts, labels = ["free prize", "lunch at noon"], ["spam", "ham"]
    weighted, plain = TextNB().fit(texts, labels), TextNB(weights=None).fit(texts, labels)
    for method in ("predict_log_likelihood", "score_samples"):
        assert not hasattr(weighted, method)
        with pytest.raises(AttributeError, match=rf"no {method}: .*use TextNB\(weights=None\)"):
            getattr(weighted, method)(texts)
        assert np.isfinite(getattr(plain, method)(texts)).all()


# ---- training rows as test rows ------------------------------------------------------------------


def test_evaluation_on_training_rows_is_said_to_be_too_good(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.5, "yes", "no")
    frame = pd.DataFrame({"a": rng.normal(size=200).round(3), "b": rng.integers(0, 5, 200), "y": y})
    for name, rows in (("all", slice(0, 150)), ("some", slice(20, 60)), ("new", slice(150, 200))):
        frame[rows].to_csv(f"{name}.csv", index=False)
    for kind, known in ((AutoBayes, True), (NaiveBayes, False)):
        kind().fit(pd.read_csv("all.csv"), "y").save("m")
        notes = [run(capsys, "evaluate", "m", f"{name}.csv")[1] for name in ("all", "some", "new")]
        assert (
            "150 of 150 rows that were looked up are equal to training rows" in notes[0]
        ) == known
        assert ("each class has as many rows" in notes[0]) == (not known)
        assert ("40 of 40 rows that were looked up are equal to training rows" in notes[1]) == known
        assert notes[2] == ""


def test_new_rows_that_equal_training_rows_by_chance_have_no_note(tmp_path, monkeypatch, capsys):
    """Half of the rows have duplicates: few new ones may all be equal to training rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, 4, 300) for name in "abcd"}
    frame = pd.DataFrame({**columns, "y": np.where(columns["a"] > 1, "yes", "no")})
    AutoBayes().fit(frame[:200], "y").save("m")
    old, new = frame[:200], frame[200:]
    known = new.merge(old.drop_duplicates())
    reordered = frame[["y", "d", "b", "a", "c"]]
    for rows, said in (
        (new, None), (known[:3], None), (reordered[:60], "60 of 60 rows"),
        (reordered[:260:2], "of 130 rows"),
    ):  # fmt: skip
        rows.to_csv("t.csv", index=False)
        note = run(capsys, "evaluate", "m", "t.csv")[1]
        assert (
            f"{said} that were looked up are equal to training rows" in note if said else note == ""
        )
