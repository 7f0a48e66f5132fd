"""The `naively` command: what it says, what it writes, and what it says of mistakes."""

import csv
import gzip
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as parquet
import pytest

import naively
from naively.cli.main import run

COMMAND = [sys.executable, "-c", "from naively.cli.main import main; main()"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table of three species, in several formats."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 3, 300)
    X = generator.normal(codes[:, np.newaxis] * 2.0, 1.0, (300, 3)).round(3)
    X[5, 1] = np.nan
    species = np.array(["ada", "bee, wild", "cat"])[codes].tolist()
    species[7] = None
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c d": X[:, 2], "species": species})
    table = table.set_column(1, "b", pa.array(X[:, 1], from_pandas=True))
    pyarrow.csv.write_csv(table, "data.csv")
    parquet.write_table(table, "data.parquet")
    Path("data.csv.gz").write_bytes(gzip.compress(Path("data.csv").read_bytes()))
    return tmp_path


def naive(capsys, *tokens, code=0):
    """(standard output, standard error) of a command with that exit code."""
    found = run([str(token) for token in tokens])
    out, err = capsys.readouterr()
    assert found == code, err
    assert "Traceback" not in err
    if code in (1, 2):
        assert err.startswith("naively: ")
        assert err.count("\n") == 1
    return out, err


def fitted(capsys, *options, data="data.csv", target="species"):
    return naive(capsys, "fit", data, "--target", target, "-o", "m", *options)


def test_fit_tells_what_it_learned(folder, capsys):
    out, err = fitted(capsys)
    assert not err
    for text in ("gaussian", "299 (1 without a label skipped)", "1 of their values missing",
                 "bee, wild", "rows/s", "m ("):  # fmt: skip
        assert text in out
    model = naively.load("m")
    assert model.feature_names_in_.tolist() == ["a", "b", "c d"]
    assert model.class_count_.sum() == 299
    assert model.classes_.tolist() == ["ada", "bee, wild", "cat"]


def test_fit_learns_what_the_estimator_does(folder, capsys):
    table = parquet.read_table("data.parquet").to_pandas().dropna(subset="species")
    here = naively.GaussianNB().fit(table.drop(columns="species"), table["species"])
    for data in ("data.csv", "data.csv.gz", "data.parquet"):
        fitted(capsys, data=data)
        there = naively.load("m")
        assert there.model_.statistics == here.model_.statistics, data
        assert there.model_.class_weight == here.model_.class_weight


def test_holdout(folder, capsys):
    out, _ = fitted(capsys, "--holdout", "0.2")
    assert "60 rows held out" in out
    assert "accuracy" in out
    first = Path("m").read_bytes()
    assert naively.load("m").class_count_.sum() == 239
    fitted(capsys, "--holdout", "0.2", "--seed", "0")
    assert Path("m").read_bytes() == first
    fitted(capsys, "--holdout", "0.2", "--seed", "1")
    assert Path("m").read_bytes() != first


def test_evaluate(folder, capsys):
    fitted(capsys)
    out, _ = naive(capsys, "evaluate", "m", "data.parquet")
    for text in ("accuracy", "log-loss", "baseline: always", "true \\ said", "rows/s"):
        assert text in out
    found = json.loads(naive(capsys, "evaluate", "m", "data.csv", "--json")[0])
    table = parquet.read_table("data.parquet").to_pandas().dropna(subset="species")
    X, y = table.drop(columns="species"), table["species"].to_numpy(object)
    model = naively.load("m")
    own = model.predict_log_proba(X)[np.arange(299), np.searchsorted(model.classes_, y)]
    assert found["accuracy"] == (model.predict(X) == y).mean()
    assert found["log_loss"] == pytest.approx(-own.mean(), rel=1e-12)
    assert found["majority"] == max(model.class_count_) / 299
    assert np.sum(found["confusion"]) == found["rows"] == 299
    assert found["confusion"][0][0] == ((model.predict(X) == "ada") & (y == "ada")).sum()
    assert (found["skipped"], found["strangers"]) == (1, 0)


def test_macro_f1_and_labels_never_met():
    from naively.cli.metrics import score

    truth, said = np.array([0, 0, 1, -1]), np.array([0, 1, 1, 0])
    half = np.log(0.5)
    found = score(truth, said, np.array([[half, half, -np.inf]] * 4), np.array([0.6, 0.4, 0.0]))
    assert found.accuracy == 0.5
    assert found.strangers == 1
    assert found.macro_f1 == pytest.approx((1 / 2 + 2 / 3 + 0) / 3)  # as scikit-learn has it
    assert found.log_loss == pytest.approx(np.log(2))
    assert found.majority == 0.5


def test_evaluate_with_strange_labels(folder, capsys):
    fitted(capsys)
    Path("new.csv").write_text("species,c d,b,a\ndog,0,0,0\nada,0,0,0\n")
    found = json.loads(naive(capsys, "evaluate", "m", "new.csv", "--json")[0])
    assert (found["rows"], found["strangers"], found["accuracy"]) == (2, 1, 0.5)
    assert "1 of them with a label that the model never met" in naive(
        capsys, "evaluate", "m", "new.csv"
    )[0]  # fmt: skip


def test_predict(folder, capsys):
    fitted(capsys)
    model = naively.load("m")
    Path("new.csv").write_text("other,c d,b,a\nx,0,,0\ny,4,4.5,4\n")
    X = np.array([[0, np.nan, 0], [4, 4.5, 4]])
    out, _ = naive(capsys, "predict", "m", "new.csv")
    with pytest.warns(UserWarning, match="feature names"):
        proba = model.predict_proba(X)
    assert out.splitlines()[1:] == ["ada", "cat"]
    answer = json.loads(naive(capsys, "predict", "m", "new.csv", "--proba", "--json")[0])
    assert answer["predictions"] == ["ada", "cat"]
    assert answer["probabilities"] == pytest.approx(proba, rel=1e-12)
    for name in ("p.csv", "p.csv.gz", "p.parquet"):
        assert naive(capsys, "predict", "m", "new.csv", "--proba", "-o", name) == ("", "")
        read = parquet.read_table if name.endswith("parquet") else pyarrow.csv.read_csv
        table = read(name)
        assert table.column_names == ["prediction", "P(ada)", "P(bee, wild)", "P(cat)"]
        assert table["prediction"].to_pylist() == ["ada", "cat"]
        assert table["P(cat)"].to_pylist() == pytest.approx(proba[:, 2], rel=1e-12)


def test_plain_labels_are_not_quoted(folder, capsys):
    Path("n.csv").write_text("x,y\n1,007\n2,a b\n1,007\n")
    fitted(capsys, data="n.csv", target="y")
    assert naive(capsys, "predict", "m", "n.csv")[0] == "prediction\n007\na b\n007\n"
    Path("n.csv").write_text('x,y\n1,"a,""b"\n2,c\n')
    fitted(capsys, data="n.csv", target="y")
    out, _ = naive(capsys, "predict", "m", "n.csv", "--proba")
    rows = list(csv.reader(out.splitlines()))
    assert rows[0] == ["prediction", 'P(a,"b)', "P(c)"]
    assert [row[0] for row in rows[1:]] == ['a,"b', "c"]


@pytest.mark.parametrize(
    ("cells", "classes"),
    [
        (["1", "0", "-3", ""], [-3, 0, 1]),
        (["1.0", "2", "NA", "2"], [1.0, 2.0]),
        (["NA", "US", "", "US"], ["NA", "US"]),
        (["01", "2", "2", "2"], ["01", "2"]),
        (["true", "false", "true", "true"], ["false", "true"]),
        (["nan", "", "1", "2"], [1, 2]),
        (["123456789012345678901", "2", "2", "2"], ["123456789012345678901", "2"]),
    ],
)
def test_labels_of_csv_files(cells, classes, folder, capsys):
    Path("n.csv").write_text("x,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells)))
    fitted(capsys, data="n.csv", target="y")
    found = naively.load("m").classes_.tolist()
    assert found == classes
    assert list(map(type, found)) == list(map(type, classes))
    assert json.loads(naive(capsys, "evaluate", "m", "n.csv", "--json")[0])["strangers"] == 0


def test_bool_and_float_labels_of_parquet_files(folder, capsys):
    for y, kind in (([True, False, None], bool), ([1.5, np.nan, 0.5], float)):
        parquet.write_table(pa.table({"x": [1, 2, 3], "y": y}), "b.parquet")
        fitted(capsys, data="b.parquet", target="y")
        assert naively.load("m").class_count_.tolist() == [1, 1]
        assert naively.load("m").classes_.dtype == kind
        found = json.loads(naive(capsys, "evaluate", "m", "b.parquet", "--json")[0])
        assert (found["strangers"], found["skipped"]) == (0, 1)


def test_number_labels_are_text_in_a_model_of_text(folder, capsys):
    Path("n.csv").write_text("x,y\n1,1\n2,b\n")
    fitted(capsys, data="n.csv", target="y")
    Path("n2.csv").write_text("x,y\n1,1\n")
    assert json.loads(naive(capsys, "evaluate", "m", "n2.csv", "--json")[0])["accuracy"] == 1


def test_types_of_columns(folder, capsys):
    table = pa.table(
        {
            "int": [1, 2, None, 4],
            "bool": [True, False, None, True],
            "single": pa.array([1, 2, 3, 4], pa.float32()),
            "none": pa.nulls(4),
            "decimal": pa.array(["1.50", "2.50", None, "1"]).cast(pa.decimal128(5, 2)),
            "text": pa.array(["1", "2", "true", None]).dictionary_encode(),
            "y": pa.array(["a", "b", "a", "b"]).dictionary_encode(),
        }
    )
    parquet.write_table(table, "t.parquet")
    fitted(capsys, data="t.parquet", target="y")
    mean = naively.load("m").theta_
    assert mean[:, 0].tolist() == [1, 3]
    assert mean[:, 1].tolist() == [1, 0.5]
    assert mean[:, 4].tolist() == [1.5, 1.75]
    assert mean[:, 5].tolist() == [1, 2]
    Path("t.csv").write_text("a,b,y\ntrue,1,x\nFALSE,2.5,y\n,1e3,y\n")
    fitted(capsys, data="t.csv", target="y")
    assert naively.load("m").theta_.tolist() == [[1, 1], [0, 501.25]]


def test_single_precision_stays_so(folder):
    from naively.cli.data import Table

    parquet.write_table(pa.table({"a": pa.array([1, 2], pa.float32())}), "s.parquet")
    assert Table(Path("s.parquet")).read(["a"], None).X.dtype == np.float32
    assert Table(Path("data.csv")).read(["a"], None).X.dtype == np.float64


@pytest.mark.parametrize(
    "kind", ["multinomial", "bernoulli", "complement", "categorical", "poisson", "gaussian"]
)
def test_every_model_can_be_used_and_inspected(kind, folder, capsys):
    generator = np.random.default_rng(0)
    X = generator.integers(0, 4, (50, 3))
    rows = "".join(f"{a},{b},{c},{(a + b) % 2}\n" for a, b, c in X.tolist())
    Path("n.csv").write_text("u,v,w,y\n" + rows)
    alpha = [] if kind == "gaussian" else ["--alpha", "0.5"]
    fitted(capsys, "--model", kind, *alpha, data="n.csv", target="y")
    estimator = naively.load("m")
    assert type(estimator).__name__.lower() == f"{kind}nb"
    if alpha:
        assert estimator.alpha == 0.5
    assert kind in naive(capsys, "inspect", "m")[0]
    seen = json.loads(naive(capsys, "inspect", "m", "--json", "--features", "2")[0])
    assert seen["n_parameters"] == estimator.n_parameters_
    assert seen["target"] == "y"
    assert seen["class_prior"] == estimator.model_.class_prior.tolist()
    assert len(seen["parameters"]["rows"]) == 2
    naive(capsys, "evaluate", "m", "n.csv")
    lines = naive(capsys, "predict", "m", "n.csv")[0].split()[1:]
    assert list(map(int, lines)) == [int(a) for a in estimator.model_.classes[
        estimator.model_.predict_codes(X)]]  # fmt: skip


def test_inspect_puts_telling_features_first(folder, capsys):
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 500)
    table = {"noise": generator.normal(size=500), "signal": y + 0.1 * generator.normal(size=500)}
    pyarrow.csv.write_csv(pa.table(table | {"y": y}), "n.csv")
    fitted(capsys, data="n.csv", target="y")
    seen = json.loads(naive(capsys, "inspect", "m", "--json")[0])["parameters"]["rows"]
    assert [row["feature"] for row in seen] == ["signal", "noise"]
    assert seen[0]["mean"] == pytest.approx([0, 1], abs=0.02)
    assert seen[0]["sd"] == pytest.approx([0.1, 0.1], abs=0.02)


def test_many_classes(folder, capsys):
    y = np.arange(400) % 100
    pyarrow.csv.write_csv(pa.table({"x": y * 1.0 + np.arange(400) / 1000, "y": y}), "n.csv")
    out, _ = fitted(capsys, data="n.csv", target="y")
    assert "and 90 more" in out
    assert "widen the terminal" in naive(capsys, "inspect", "m")[0]
    out, _ = naive(capsys, "evaluate", "m", "n.csv")
    assert max(map(len, out.splitlines())) <= 100


def test_labels_cannot_paint_the_terminal(folder, capsys):
    Path("n.csv").write_text("x,y\n1,\x1b[31mred\n2,[bold]b[/bold]\n")
    fitted(capsys, data="n.csv", target="y")
    for command in (["evaluate", "m", "n.csv"], ["inspect", "m"]):
        out, _ = naive(capsys, *command)
        assert "\x1b" not in out
        assert "[bold]b[/bold]" in out


def test_a_model_that_forgot_everything(folder, capsys):
    fitted(capsys)
    estimator = naively.GaussianNB().fit([[1.0], [2.0]], [0, 1])
    estimator.forget([[1.0], [2.0]], [0, 1]).save("m")
    assert "knows no class" in naive(capsys, "inspect", "m")[0]
    Path("n.csv").write_text("x\n1\n")
    assert "knows no class" in naive(capsys, "predict", "m", "n.csv", code=1)[1]


def test_models_without_names_go_by_order(folder, capsys):
    naively.GaussianNB().fit([[1.0, 5], [2.0, 5]], [0, 1]).save("m")
    Path("n.csv").write_text("p,q\n2,5\n1,5\n")
    assert naive(capsys, "predict", "m", "n.csv")[0].split() == ["prediction", "1", "0"]
    assert "there are 4 columns" in naive(capsys, "predict", "m", "data.csv", code=1)[1]
    assert "--target" in naive(capsys, "evaluate", "m", "n.csv", code=2)[1]


# ---- mistakes ----------------------------------------------------------------------------------

MISTAKES = {
    "empty": (b"", "the file is empty"),
    "header": (b"a,b,y\n", "there are no rows"),
    "blank": (b"\n\n", "CSV"),
    "text": (b"a,b,y\n1,2,x\n3,tall,z\n", "row 2, column 'b' is 'tall'"),
    "infinite": (b"a,b,y\n1,2,x\n\n3,inf,z\n", "row 2, column 'b' is inf"),
    "ragged": (b"a,b,y\n1,2,x\n3,z\n", "row 2 has 2 columns, where the header has 3"),
    "one class": (b"a,b,y\n1,2,x\n3,4,x\n", "one class only (x)"),
    "no labels": (b"a,b,y\n1,2,\n3,4,\n", "every cell of the target column 'y' is empty"),
    "no target": (b"a,b\n1,2\n", "no column named 'y'; the columns are a, b"),
    "nothing else": (b"y\n1\n2\n", "the only column"),
    "twice": (b"a,a,y\n1,2,3\n", "two columns are named 'a'"),
    "latin": ("a,b,y\n1,2,é\n3,4,x\n".encode("latin-1"), "no UTF-8"),
    "utf-16": ("a,b,y\n1,2,x\n".encode("utf-16"), "neither CSV in UTF-8 nor Parquet"),
    "binary": (bytes(range(256)), "neither CSV in UTF-8 nor Parquet"),
    "zip": (b"PK\x03\x04" + bytes(50), "a zip or Excel file"),
    "parquet": (b"PAR1" + bytes(50), "cannot be read as Parquet"),
    "gzip": (gzip.compress(b"a,b,y\n1,2,x\n" * 99)[:30], "cannot be read"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_the_data(mistake, folder, capsys):
    content, said = MISTAKES[mistake]
    Path("bad").write_bytes(content)
    out, err = naive(capsys, "fit", "bad", "--target", "y", "-o", "m", code=1)
    assert not out
    assert err.startswith("naively: bad: ")
    assert said in err
    assert not Path("m").exists()


def test_rows_are_counted_over_those_without_a_label(folder, capsys):
    Path("n.csv").write_text("a,y\n1,x\n2,\n3,z\n-1,z\n")
    _, err = naive(capsys, "fit", "n.csv", "--target", "y", "-o", "m", "--model", "poisson", code=1)
    assert "row 4, column 'a' is -1" in err
    assert "--model gaussian" in err


def test_mistakes_with_files(folder, capsys):
    fitted(capsys)
    fit = ["fit", "data.csv", "--target", "species", "-o"]
    for tokens, code, said in [
        (["fit", "none.csv", "--target", "y", "-o", "n"], 1, "none.csv: there is no such file"),
        (["fit", ".", "--target", "y", "-o", "n"], 1, "this is no file"),
        (["fit", os.devnull, "--target", "y", "-o", "n"], 1, "this is no file"),
        ([*fit, "none/m"], 1, "there is no folder 'none'"),
        ([*fit, "."], 1, "is a folder"),
        ([*fit, os.devnull], 1, "no regular file"),
        ([*fit, "data.csv"], 2, "the file that was read"),
        ([*fit, "n", "--alpha", "1"], 2, "gaussian model has none"),
        ([*fit, "n", "--model", "poisson", "--alpha", "-1"], 2, "--alpha must be"),
        ([*fit, "n", "--holdout", "1.5"], 2, "--holdout"),
        ([*fit, "n", "--holdout", "0.999"], 1, "hold out less"),
        ([*fit, "n", "--seed", "-1"], 2, "--seed"),
        ([*fit, "n", "--model", "magic"], 2, "magic"),
        ([*fit, "n", "--modle", "x"], 2, "--model"),
        (["fit", "data.csv"], 2, "--target"),
        (["frobnicate"], 2, "frobnicate"),
        (["predict", "none", "data.csv"], 1, "no such model file"),
        (["predict", "data.csv", "data.csv"], 1, "data.csv is no model file"),
        (["predict", "m", "data.csv", "-o", "p.txt"], 2, "name it .csv"),
        (["predict", "m", "data.csv", "-o", "p.csv", "--json"], 2, "choose one"),
        (["inspect", "m", "--features", "-1"], 2, "--features"),
        (["evaluate", "m", "data.csv", "--target", "nope"], 1, "no column named 'nope'"),
    ]:
        assert said in naive(capsys, *tokens, code=code)[1], tokens
    assert sorted(p.name for p in folder.iterdir()) == [
        "data.csv", "data.csv.gz", "data.parquet", "m",
    ]  # fmt: skip
    Path("few.csv").write_text("a,b\n1,2\n")
    assert "no column named 'c d'" in naive(capsys, "predict", "m", "few.csv", code=1)[1]
    Path("m").write_bytes(Path("m").read_bytes()[:-1])
    assert "m is no model file of naively, or a damaged one" in naive(
        capsys, "inspect", "m", code=1
    )[1]  # fmt: skip


def test_interruption(folder, capsys, monkeypatch):
    from naively.cli import work

    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(work, "load", interrupted)
    assert naive(capsys, "inspect", "m", code=130)[1] == "naively: interrupted\n"


# ---- the program -------------------------------------------------------------------------------


def program(*tokens, **options):
    return subprocess.run([*COMMAND, *tokens], capture_output=True, text=True, **options)


def test_help_and_version_are_quick():
    assert program("--version").stdout.strip() == naively.__version__
    code = (
        "import sys; from naively.cli.main import run; run(['--help']);"
        "print({'numba', 'numpy', 'pyarrow', 'sklearn'} & set(sys.modules))"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert time.perf_counter() - start < 5  # on a busy machine
    assert "demo" in done.stdout
    assert done.stdout.endswith("set()\n")


def test_commands_need_no_sklearn(folder):
    code = """
import sys
from naively.cli.main import run
assert run(["fit", "data.csv", "--target", "species", "-o", "m", "--holdout", "0.2"]) == 0
assert run(["evaluate", "m", "data.csv"]) == 0
assert run(["predict", "m", "data.csv", "--proba"]) == 0
assert run(["inspect", "m"]) == 0
assert "sklearn" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_a_closed_pipe_is_no_error(folder, capsys):
    fitted(capsys)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*COMMAND, "predict", "m", "data.csv"], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


def test_demo_twice(folder, capsys):
    first, err = naive(capsys, "demo", "--folder", "a b")
    assert not err
    second, _ = naive(capsys, "demo", "--folder", "a b")
    for text in ("accuracy", "log-loss", "true \\ said", "rows/s", "naively fit 'a b/digits-t"):
        assert text in first
    assert [line for line in first.splitlines() if "time" not in line] == [
        line for line in second.splitlines() if "time" not in line
    ]
    assert sorted(p.name for p in Path("a b").iterdir()) == [
        "digits-test.csv", "digits-train.csv", "digits.model",
    ]  # fmt: skip
    tail = second[second.index("Now you") :]
    for line in tail.splitlines()[1:]:
        naive(capsys, *shlex.split(line)[1:])
    found = json.loads(
        naive(capsys, "evaluate", "a b/digits.model", "a b/digits-test.csv", "--json")[0]
    )
    assert found["accuracy"] > 0.89


def test_evaluating_against_the_wrong_column_says_so(folder, capsys):
    fitted(capsys)
    Path("wrong.csv").write_text("species,c d,b,a\n1,0,0,0\n2,0,0,0\n")
    error = naive(capsys, "evaluate", "m", "wrong.csv", code=1)[1]
    assert "no label in column 'species' (1, 2" in error
    error = naive(capsys, "evaluate", "m", "wrong.csv", "--target", "b", code=1)[1]
    assert "'b' is a feature" in error
