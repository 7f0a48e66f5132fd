"""The `naively` command: its output, its files, and its error messages."""

import csv
import gzip
import io
import json
import os
import re
import shlex
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as parquet
import pytest
from product import run
from sklearn import metrics

import naively
from naively.cli.main import run as default_run
from naively.cli.results.demo import make_credit
from naively.families.discrete.categorical import Categorical
from naively.io.inputs import MISSING
from naively.tables.one_pass import Draw
from naively.tables.targets import coded

COMMAND = [sys.executable, "-m", "naively"]


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


@pytest.fixture
def mixed(folder):
    """Jobs: columns of every kind, in mixed.csv and mixed.parquet; and the table."""
    generator = np.random.default_rng(1)
    n = 400
    y = generator.integers(0, 2, n)
    table = pa.table(
        {
            "id": np.arange(n) + 17,
            "name": [f"person {i}" for i in range(n)],
            "job": np.array(["cook", "smith, black", "none"])[
                np.where(generator.random(n) < 0.8, y, 2)
            ].tolist(),
            "age": generator.integers(18, 90, n) + 3 * y,
            "children": generator.poisson(40 + 9 * y),
            "rooms": generator.integers(1, 5, n),
            "height": (generator.normal(1.7 + 0.05 * y, 0.1)).round(3),
            "owner": (generator.random(n) < 0.3 + 0.4 * y).tolist(),
            "born": pa.array((np.arange(n) * 31 + 4000).astype("int32"), pa.date32()),
            "planet": ["earth"] * n,
            "void": pa.nulls(n, pa.string()),
            "weight": generator.integers(1, 4, n),
            "rich": np.array(["no", "yes"])[y].tolist(),
        }
    )
    holes = generator.random((n, 2)) < 0.1
    for k, name in enumerate(("job", "height")):
        values = [None if hole else v for v, hole in zip(table[name].to_pylist(), holes[:, k],
                                                         strict=True)]  # fmt: skip
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    parquet.write_table(table, "mixed.parquet")
    spellings = {"job": "?", "height": "NA", "void": ""}
    write_csv("mixed.csv", table, spellings)
    return table


def write_csv(path, table, missing=()):
    """A table as CSV, with spellings of missing values by column."""
    columns = {
        name: [dict(missing).get(name, "") if v is None else
               str(v).lower() if isinstance(v, bool) else v for v in table[name].to_pylist()]
        for name in table.column_names
    }  # fmt: skip
    with Path(path).open("w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(table.column_names)
        lines.writerows(zip(*columns.values(), strict=True))


def naive(capsys, *tokens, code=0):
    """(standard output, standard error) of a command with that exit code."""
    found = run([str(token) for token in tokens])
    out, err = capsys.readouterr()
    assert found == code, err
    assert "Traceback" not in err
    lines = err.splitlines()
    if code:
        assert lines.pop().startswith("naively: ")
    assert all(line.startswith("naively: note: ") for line in lines)
    return out, err


def fitted(capsys, *options, data="data.csv", target="species", output="m"):
    return naive(capsys, "fit", data, "--target", target, "-o", output, *options)


def model_of(path="m"):
    return naively.load(path).model_


def asked(capsys, *tokens):
    """What a command says with --json."""
    return json.loads(naive(capsys, *tokens, "--json")[0])


# ---- fit ---------------------------------------------------------------------------------------


def test_fit_prints_the_model(folder, capsys):
    out, err = fitted(capsys)
    assert not err
    for text in ("numeric, Gaussian", "299 rows (1 without a label skipped)", "missing",
                 "bee, wild 95", "saved m (", "importance"):  # fmt: skip
        assert text in out
    row = next(line.split() for line in out.splitlines() if line.startswith("b "))
    assert row[-2] == "1"  # one is missing, before the importance
    model = naively.load("m")
    assert model.feature_names_in_.tolist() == ["a", "b", "c d"]
    assert model.model_.class_weight.rounded().sum() == 299
    assert model.classes_.tolist() == ["ada", "bee, wild", "cat"]


def test_fit_learns_what_the_estimator_does(folder, capsys):
    table = (
        parquet.read_table("data.parquet")
        .to_pandas()
        .dropna(subset="species")
        .reset_index(drop=True)
    )
    here = naively.NaiveBayes().fit(table.drop(columns="species"), table["species"])
    for data in ("data.csv", "data.csv.gz", "data.parquet"):
        fitted(capsys, data=data)
        assert model_of() == here.model_, data


@pytest.mark.parametrize("data", ["mixed.csv", "mixed.parquet"])
def test_fit_on_a_mixed_table_prints_families_and_features_left_out(data, mixed, capsys):
    asked = ["--skip", "weight", "--json"]
    found = json.loads(fitted(capsys, *asked, data=data, target="rich")[0])
    assert {one["feature"]: one["family"] for one in found["features"]} == {
        "job": "categorical", "age": "gaussian", "children": "gaussian", "rooms": "categorical",
        "height": "gaussian", "owner": "bernoulli",
    }  # fmt: skip
    out = found["left_out"]
    assert out.pop("weight") == "as specified"
    assert list(out) == ["id", "name", "born", "planet", "void"]
    assert "identifier" in out["id"]
    assert "identifier" in out["name"]
    assert out["born"] == "dates or times"
    assert out["planet"] == "constant"
    assert out["void"] == "no values"
    found = json.loads(fitted(capsys, "--weight", "weight", "--json", data=data, target="rich")[0])
    assert list(found["left_out"]) == ["born", "planet", "void"]  # 2 rows a name and more
    assert (found["rows"], found["unlabelled"], found["target"]) == (400, 0, "rich")
    missing = {one["feature"]: one["missing"] for one in found["features"]}
    weight = mixed["weight"].to_numpy()
    assert missing["job"] == weight[mixed["job"].is_null().to_numpy()].sum() > 0
    said, err = fitted(capsys, "--weight", "weight", data=data, target="rich")
    assert not err
    for name in found["left_out"]:
        assert re.search(rf"^left out: .*\b{name}\b.* \(", said, re.MULTILINE)
    assert max(map(len, said.splitlines())) <= 100


def test_every_format_gives_the_same_model(mixed, capsys):
    fitted(capsys, data="mixed.csv", target="rich")
    fitted(capsys, data="mixed.parquet", target="rich", output="p")
    Path("mixed.jsonl").write_text(
        "".join(json.dumps(row, default=str) + "\n" for row in mixed.to_pylist())
    )
    fitted(capsys, data="mixed.jsonl", target="rich", output="j")
    assert model_of("m") == model_of("p") == model_of("j")


def test_columns_skip_and_family(mixed, capsys):
    found = json.loads(
        fitted(
            capsys, "--columns", "age=gamma", "--columns", "job=categorical(alpha=0.5)",
            "--columns", "rooms=skip", "--skip", "owner", "--family", "lognormal", "--json",
            data="mixed.csv", target="rich",
        )[0]
    )  # fmt: skip
    families = {one["feature"]: one["family"] for one in found["features"]}
    assert families["age"] == "gamma"
    assert families["height"] == families["weight"] == "lognormal"
    assert found["left_out"]["rooms"] == found["left_out"]["owner"] == "as specified"
    known = naively.load("m").model_.schema.family_of
    assert known["job"] == Categorical(alpha=0.5)
    said = naive(capsys, "inspect", "m")[0]
    assert "family=LogNormal" in said.replace("\n", "")
    assert "missing=(" not in said


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--columns", "age"], 2, 'write "column=family", as age=gamma'),
        (["--columns", "=gamma"], 2, 'write "column=family"'),
        (["--columns", "age=magic"], 2, "'magic' is not a family: use one of bernoulli"),
        (["--columns", "age=gamma(shape=1)"], 2, "gamma has no 'shape'"),
        (["--columns", "age=categorical(alpha=-1)"], 2, "alpha must be"),
        (["--columns", "age=categorical(1)"], 2, "write it as categorical or"),
        (["--columns", "age=categorical(alpha="], 2, "write it as categorical or"),
        (["--columns", "age=gamma", "--columns", "age=poisson"], 2, "'age' more than once"),
        (["--columns", "age=gamma", "--skip", "age"], 2, "'age' more than once"),
        (["--columns", "rich=gamma"], 2, "'rich' is the target"),
        (["--skip", "weight", "--weight", "weight"], 2, "'weight' is the weight"),
        (["--columns", "agee=gamma"], 1, "there is no column 'agee'; did you mean 'age'?"),
        (["--skip", "hieght"], 1, "did you mean 'height'?"),
        (["--weight", "wieght"], 1, "did you mean 'weight'?"),
        (["--weight", "rich"], 1, "cannot be the target and the weight"),
        (["--weight", "job"], 1, "the weight column 'job' holds"),
        (["--family", "magic"], 2, "'magic' is not a family"),
        (["--features", "-1"], 2, "--features"),
        (["--prior", "flat"], 2, "flat"),
        (["--unseen", "flat"], 2, "flat"),
    ],
)
def test_mistakes_in_the_options_of_fit(options, code, said, mixed, capsys):
    out, err = naive(capsys, "fit", "mixed.csv", "--target", "rich", "-o", "m", *options, code=code)
    assert said in err
    assert not out
    assert err.count("\n") == 1
    assert not Path("m").exists()


@pytest.mark.parametrize(
    "family",
    ["bernoulli", "categorical", "complement", "discretized", "exponential", "gamma", "gaussian",
     "kernel_density", "lognormal", "multinomial", "poisson"],
)  # fmt: skip
def test_every_family_can_be_used_and_inspected(family, folder, capsys):
    generator = np.random.default_rng(0)
    X = generator.integers(0, 4, (50, 3))
    rows = "".join(f"{a},{b},{c},{(a + b) % 2}\n" for a, b, c in X.tolist())
    Path("n.csv").write_text("u,v,w,y\n" + rows)
    fitted(capsys, "--family", family, data="n.csv", target="y")
    estimator = naively.load("m")
    assert {one.name for one in estimator.model_.schema.family_of.values()} == {family}
    assert family.replace("_", " ") in naive(capsys, "inspect", "m")[0].lower()
    seen = asked(capsys, "inspect", "m")
    assert seen["n_parameters"] == estimator.n_parameters_
    assert seen["target"] == "y"
    assert seen["class_prior"] == estimator.class_prior_.tolist()
    assert {row["feature"] for section in seen["parameters"] for row in section["rows"]} == set(
        "uvw"
    )
    assert not any("%" in section["meaning"] for section in seen["parameters"])  # p is a part
    naive(capsys, "evaluate", "m", "n.csv")
    naive(capsys, "explain", "m", "n.csv")
    lines = naive(capsys, "predict", "m", "n.csv", "--only")[0].split()[1:]
    table = pyarrow.csv.read_csv("n.csv")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* cannot be read")  # 0 is no value of some families
        assert list(map(int, lines)) == estimator.predict(table.drop_columns(["y"])).tolist()


def test_values_that_a_family_cannot_take_are_reported(folder, capsys):
    Path("n.csv").write_text("x,z,y\n1,tall,a\n-2,1.5,b\n3,2.5,a\n-4,3.5,b\n")
    out, err = fitted(
        capsys, "--columns", "x=gamma", "--columns", "z=gaussian", data="n.csv", target="y"
    )
    assert out
    assert err.splitlines() == [
        "naively: note: column 'x' (gamma): 2 values such as -2.0 cannot be used and count "
        "as missing",
        "naively: note: column 'z' (gaussian): 1 value such as 'tall' cannot be used and counts "
        "as missing",
    ]


def test_missing_spellings(folder, capsys):
    rows = "".join(f"{cell},{'ab'[i % 2]}\n" for i, cell in enumerate(["u", "v", "-", "?"] * 10))
    Path("n.csv").write_text("x,y\n" + rows)
    first = json.loads(fitted(capsys, "--json", data="n.csv", target="y")[0])["features"][0]
    assert (first["why"], first["missing"]) == ("text, 3 categories", 10)
    for said, missing, spelled in (
        (["-"], 20, ("-", *MISSING)),  # a hint tells to add it: "?" stays missing
        (["-", "?"], 20, ("-", *MISSING)),
        (["", "-"], 10, ("", "-")),
        ([""], 0, ("",)),
    ):
        options = [f"--missing={one}" for one in said]
        (other,) = json.loads(fitted(capsys, "--json", *options, data="n.csv", target="y")[0])[
            "features"
        ]
        levels = 4 - missing // 10
        assert (other["why"], other["missing"]) == (f"text, {levels} categories", missing)
        assert naively.load("m").missing == spelled


def test_unseen_levels(folder, capsys):
    Path("n.csv").write_text("x,y\nu,a\nv,b\nu,a\nv,b\n")
    Path("new.csv").write_text("x\nw\n")
    fitted(capsys, "--unseen", "error", data="n.csv", target="y")
    assert "'w'" in naive(capsys, "predict", "m", "new.csv", code=1)[1]
    fitted(capsys, "--unseen", "ignore", data="n.csv", target="y")
    answer = json.loads(naive(capsys, "predict", "m", "new.csv", "--proba", "--json")[0])
    assert answer["probabilities"] == pytest.approx({"a": 0.5, "b": 0.5})


def test_prior(folder, capsys):
    Path("n.csv").write_text("x,y\n1,a\n2,b\n3,b\n1,b\n")
    found = json.loads(fitted(capsys, "--json", data="n.csv", target="y")[0])
    assert found["class_prior"] == [0.25, 0.75]
    found = json.loads(fitted(capsys, "--prior", "uniform", "--json", data="n.csv", target="y")[0])
    assert found["class_prior"] == [0.5, 0.5]


def test_holdout(mixed, capsys):
    out, _ = fitted(capsys, "--family", "gaussian", data="mixed.csv", target="rich")
    whole = model_of()
    out, _ = fitted(
        capsys, "--family", "gaussian", "--holdout", "0.2", data="mixed.csv", target="rich"
    )
    assert "held-out rows; the saved model is trained on all rows" in out
    assert "accuracy" in out
    assert model_of() == whole  # they are learned too, bit for bit
    assert naively.load("m").model_.rows == 400

    def held(*options):
        options = ["--family", "gaussian", "--holdout", "0.2", "--json", *options]
        return json.loads(fitted(capsys, *options, data="mixed.csv", target="rich")[0])["held_out"]

    first = held()
    assert held("--seed", "0") == first
    assert held("--seed", "1") != first
    assert first["rows"] == 80
    assert model_of() == whole


def test_holdout_is_tested_on_before_it_is_learned(folder, capsys):
    fitted(capsys, "--holdout", "0.25", "--seed", "3", "--json", data="data.parquet")
    found = json.loads(fitted(capsys, "--holdout", "0.25", "--seed", "3", "--json")[0])["held_out"]
    table = parquet.read_table("data.parquet").to_pandas()
    out = np.isfinite(Draw(0.25, 3).of(coded(pa.array(table["species"]), ())))
    known = table["species"].notna().to_numpy()
    assert not out[~known].any()
    learned, tested = (table[rows].reset_index(drop=True) for rows in (~out & known, out))
    model = naively.NaiveBayes().fit(learned.drop(columns="species"), learned["species"])
    X, y = tested.drop(columns="species"), tested["species"].to_numpy(object)
    assert found["rows"] == len(y)
    assert found["accuracy"] == (model.predict(X) == y).mean()
    assert found["log_loss"] == pytest.approx(
        metrics.log_loss(y, model.predict_proba(X), labels=model.classes_), rel=1e-12
    )


def test_holdout_of_too_few_rows(folder, capsys):
    Path("n.csv").write_text("x,y\n1,a\n2,b\n")
    out, err = fitted(capsys, "--holdout", "0.001", data="n.csv", target="y")
    assert "too few rows to hold any out" in err
    assert "held out" not in out
    _, err = fitted(capsys, "--holdout", "0.999", data="n.csv", target="y")  # one row each
    assert "too few rows to hold any out" in err


def test_weights_are_repeated_rows(mixed, capsys):
    skip = ["--skip", "id", "--skip", "name"]
    fitted(capsys, "--weight", "weight", *skip, data="mixed.csv", target="rich")
    again = np.repeat(np.arange(400), mixed["weight"].to_numpy())
    write_csv("again.csv", mixed.take(again).drop_columns(["weight"]))
    fitted(capsys, *skip, data="again.csv", target="rich", output="n")
    assert model_of("m") == model_of("n")


def test_several_files_and_folders_are_one_table(folder, capsys):
    fitted(capsys)
    lines = Path("data.csv").read_text().splitlines(keepends=True)
    Path("parts").mkdir()
    Path("parts/1.csv").write_text("".join(lines[:100]))
    Path("parts/2.csv").write_text(lines[0] + "".join(lines[100:]))
    for data in (["parts"], ["parts/*.csv"], ["parts/1.csv", "parts/2.csv"]):
        naive(capsys, "fit", *data, "--target", "species", "-o", "n")
        assert model_of("n") == model_of("m"), data


# ---- update, forget, merge ---------------------------------------------------------------------


def halves(mixed):
    write_csv("one.csv", mixed.slice(0, 150))
    write_csv("two.csv", mixed.slice(150))
    write_csv("all.csv", mixed)


@pytest.mark.parametrize("weight", ["-1", "inf", "1e201"])
def test_what_is_no_weight_is_refused(weight, mixed, capsys):
    Path("odd.csv").write_text(f"x,w,y\n1.5,2,a\n2.5,{weight},b\n")
    _, err = naive(capsys, "fit", "odd.csv", "-t", "y", "--weight", "w", "-o", "m", code=1)
    said = f"the weight column 'w' holds {float(weight):g}, where weights are from 0 to 1e+200"
    assert said in " ".join(err.split())


@pytest.mark.parametrize("weight", [[], ["--weight", "weight"]])
def test_update_forget_and_merge_give_the_same_bits(weight, mixed, capsys):
    halves(mixed)
    columns = ["--columns", "rooms=gaussian", "--skip", "id"]
    for name in ("one", "all"):
        fitted(capsys, *weight, *columns, data=f"{name}.csv", target="rich", output=name)
    naive(capsys, "update", "one", "two.csv", "-o", "both")  # knows the column of weights
    assert model_of("both") == model_of("all")
    assert model_of("both") != model_of("one")
    out, _ = naive(capsys, "update", "one", "two.csv", "-o", "one2", *weight)
    assert "250 rows" in out
    out, _ = naive(capsys, "forget", "one2", "two.csv")
    assert "forgot" in out
    assert model_of("one2") == model_of("one")
    fitted(capsys, *weight, *columns, data="two.csv", target="rich", output="two")
    _, err = naive(capsys, "merge", "one", "two", "-o", "sum")
    assert not err
    assert model_of("sum") == model_of("all")
    naive(capsys, "fit", "one.csv", "--like", "one", "-o", "copy", *weight)
    _, err = naive(capsys, "merge", "one", "two", "copy", "-o", "twice")
    assert err == "naively: note: copy has the same rows as one: they count again\n"
    first = asked(capsys, "evaluate", "sum", "all.csv")
    second = asked(capsys, "evaluate", "all", "all.csv")
    assert {**first, "seconds": 0} == {**second, "seconds": 0}


def test_update_and_forget_in_place(mixed, capsys):
    halves(mixed)
    fitted(capsys, data="one.csv", target="rich")
    before = model_of()
    naive(capsys, "update", "m", "two.csv")
    assert naively.load("m").model_.rows == 400
    naive(capsys, "forget", "m", "two.csv")
    assert model_of() == before
    assert naively.load("m").model_.rows == 150
    written = Path("m").read_bytes()
    error = naive(capsys, "forget", "m", "two.csv", code=1)[1]
    assert "two.csv, row 1: cannot forget rows that are not in the training data" in error
    known, unknown = (Path(name).read_text().splitlines() for name in ("one.csv", "two.csv"))
    Path("both.csv").write_text("\n".join([*known[:31], unknown[1], *known[31:]]) + "\n")
    assert "both.csv, row 31: cannot" in naive(capsys, "forget", "m", "both.csv", code=1)[1]
    assert Path("m").read_bytes() == written


def test_update_reports_columns(folder, capsys):
    Path("n.csv").write_text("x,z,y\n1.5,2.5,a\n2.5,1.5,b\n0.5,1.25,a\n")
    fitted(capsys, data="n.csv", target="y")
    Path("more.csv").write_text("y,x,new\nb,0.5,u\nc,1.5,v\n")
    err = naive(capsys, "update", "m", "more.csv")[1]
    assert "more.csv has no column 'z': its values count as missing" in err
    assert "more.csv: ignored, as the model has no such feature: new" in err
    assert naively.load("m").classes_.tolist() == ["a", "b", "c"]
    Path("other.csv").write_text("y,p\na,1\n")
    for command in ("update", "forget"):
        assert "none of the features" in naive(capsys, command, "m", "other.csv", code=1)[1]
        assert "'y'" in naive(capsys, command, "m", "data.csv", code=1)[1]


def test_models_that_cannot_be_merged_or_updated(mixed, capsys):
    halves(mixed)
    fitted(capsys, data="one.csv", target="rich")
    fitted(capsys, data="one.csv", target="owner", output="n")
    fitted(capsys, "--columns", "age=poisson", data="one.csv", target="rich", output="p")
    fitted(capsys, "--columns", "age=gaussian", data="one.csv", target="rich", output="d")
    naively.GaussianNB().fit([[1.0], [2.0]], [0, 1]).save("g")
    for tokens, code, said in [
        (["merge", "m", "-o", "q"], 2, "two or more"),
        (["merge", "m", "none", "-o", "q"], 1, "no such model file"),
        (["merge", "m", "n", "-o", "q"], 1, "its target is 'owner'"),
        (["merge", "m", "g", "-o", "q"], 1, "GaussianNB"),
        (["merge", "d", "p", "-o", "q"], 1, "--columns"),
        (["merge", "m", "m", "-o", "none/q"], 1, "there is no folder 'none'"),
        (["update", "g", "one.csv"], 1, "was trained on arrays in Python"),
        (["forget", "g", "one.csv"], 1, "was trained on arrays in Python"),
        (["update", "m", "two.csv", "-o", "two.csv"], 2, "among the files that are read"),
    ]:
        assert said in naive(capsys, *tokens, code=code)[1], tokens
    assert not Path("q").exists()


def test_models_saved_in_python_can_be_merged(folder, capsys):
    X = np.arange(12.0).reshape(6, 2)
    y = [0, 1, 0, 1, 0, 1]
    naively.GaussianNB().fit(X[:4], y[:4]).save("a")
    naively.GaussianNB().fit(X[2:], y[2:]).save("b")
    out, _ = naive(capsys, "merge", "a", "b", "-o", "c")
    assert "0 4, 1 4" in out
    both = naively.load("c")
    assert isinstance(both, naively.GaussianNB)
    assert both.model_ == (naively.load("a") + naively.load("b")).model_


# ---- evaluate ----------------------------------------------------------------------------------


def test_evaluate(folder, capsys):
    fitted(capsys)
    out, _ = naive(capsys, "evaluate", "m", "data.parquet")
    for text in (
        "accuracy", "log-loss", "baseline: always predict", "actual \\ predicted", "rows/s",
        "balanced accuracy", "macro F1", "Brier score", "calibration error (ECE)",
    ):  # fmt: skip
        assert text in out
    found = asked(capsys, "evaluate", "m", "data.csv")
    table = (
        parquet.read_table("data.parquet")
        .to_pandas()
        .dropna(subset="species")
        .reset_index(drop=True)
    )
    X, y = table.drop(columns="species"), table["species"].to_numpy(object)
    model = naively.load("m")
    said, proba = model.predict(X), model.predict_proba(X)
    hits = said == y
    assert found["accuracy"] == metrics.accuracy_score(y, said)
    for name, value in {
        "balanced_accuracy": metrics.balanced_accuracy_score(y, said),
        "macro_f1": metrics.f1_score(y, said, average="macro"),
        "log_loss": metrics.log_loss(y, proba, labels=model.classes_),
        "brier": ((proba - (y[:, np.newaxis] == model.classes_)) ** 2).sum(axis=1).mean(),
        "calibration_error": calibration_error(proba.max(axis=1), hits),
        "baseline_accuracy": max(np.unique(y, return_counts=True)[1]) / 299,
        "baseline_log_loss": metrics.log_loss(y, np.tile(model.class_prior_, (299, 1))),
    }.items():
        assert found[name] == pytest.approx(value, rel=1e-12), name
    assert found["confusion"] == metrics.confusion_matrix(y, said).tolist()
    assert (found["rows"], found["skipped"], found["unknown"]) == (299, 1, 0)


def calibration_error(confidence, hits):
    """By its definition, bin by bin: no two rows are equally sure."""
    assert len(np.unique(confidence)) == len(confidence)
    order = np.argsort(confidence)
    bins = (10 * np.arange(len(order)) + 5) // len(order)  # by the middle of each row's share
    total = 0.0
    for k in range(10):
        inside = order[bins == k]
        total += len(inside) * abs(hits[inside].mean() - confidence[inside].mean())
    return total / len(order)


def test_brier_score_is_that_of_sklearn(mixed, capsys):
    fitted(capsys, data="mixed.csv", target="rich")
    found = asked(capsys, "evaluate", "m", "mixed.parquet")
    model = naively.load("m")
    y = np.array(mixed["rich"].to_pylist())
    proba = model.predict_proba(mixed.drop_columns(["rich"]))
    own = 2 * metrics.brier_score_loss(y == "yes", proba[:, 1])  # of one class: half the sum
    assert found["brier"] == pytest.approx(own, rel=1e-12)


def test_macro_f1_and_unseen_labels():
    from naively.evaluation.metrics import Tally

    truth, half = np.array([0, 0, 1, -1]), np.log(0.5)
    chosen = np.log(np.array([[0.6, 0.4, 0], [0.4, 0.6, 0], [0.4, 0.6, 0], [0.6, 0.4, 0]]) + 1e-300)
    tally = Tally(np.arange(3), np.log(np.array([0.6, 0.4, 1e-300])), majority=0)
    tally.add(truth[:2], chosen[:2])
    tally.add(truth[2:], chosen[2:])
    found = tally.scores()
    assert found.accuracy == 0.5
    assert found.unknown == 1
    assert found.macro_f1 == pytest.approx((1 / 2 + 2 / 3 + 0) / 3)  # as scikit-learn has it
    assert found.balanced_accuracy == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert found.log_loss == pytest.approx(-(2 * np.log(0.6) + np.log(0.4)) / 3)
    assert found.baseline_accuracy == 0.5
    assert half < 0


def test_evaluate_with_strange_labels(folder, capsys):
    fitted(capsys)
    Path("new.csv").write_text("species,c d,b,a\ndog,0,0,0\nada,0,0,0\n")
    found = asked(capsys, "evaluate", "m", "new.csv")
    assert (found["rows"], found["unknown"], found["accuracy"]) == (2, 1, 0.5)
    assert "1 of them of a class unknown to the model" in naive(
        capsys, "evaluate", "m", "new.csv"
    )[0]  # fmt: skip


def test_evaluating_against_the_wrong_column_says_so(folder, capsys):
    fitted(capsys)
    Path("wrong.csv").write_text("species,c d,b,a\n1,0,0,0\n2,0,0,0\n")
    error = naive(capsys, "evaluate", "m", "wrong.csv", code=1)[1]
    assert "the labels in column 'species' (1, 2" in error
    error = naive(capsys, "evaluate", "m", "wrong.csv", "--target", "b", code=1)[1]
    assert error == (
        "naively: 'b' is a feature of the model: --target names the column with the true classes; "
        "leave out --target to use 'species'\n"
    )
    error = naive(capsys, "evaluate", "m", "wrong.csv", "--target", "specie", code=1)[1]
    assert "did you mean 'species'?" in error
    Path("wrong.csv").write_text("species,a\n,1\n")
    assert "is empty" in naive(capsys, "evaluate", "m", "wrong.csv", code=1)[1]
    Path("wrong.csv").write_text("species,a\n")
    assert "there are no rows" in naive(capsys, "evaluate", "m", "wrong.csv", code=1)[1]


def test_columns_missing_from_a_table_are_reported(folder, capsys):
    fitted(capsys)
    Path("few.csv").write_text("a,b,x\n1,2,3\n")
    out, err = naive(capsys, "predict", "m", "few.csv")
    assert err == "naively: note: few.csv has no column 'c d': its values count as missing\n"
    model = naively.load("m")
    with pytest.warns(UserWarning, match="has no column"):
        said = model.predict(pa.table({"a": [1], "b": [2]}))[0]
    assert list(csv.reader(out.splitlines()))[1] == ["1", "2", "3", said]
    Path("few.csv").write_text("p,q\n1,2\n")
    assert "none of the features" in naive(capsys, "predict", "m", "few.csv", code=1)[1]


# ---- predict -----------------------------------------------------------------------------------


def test_predict(folder, capsys):
    fitted(capsys)
    model = naively.load("m")
    Path("new.csv").write_text("other,c d,b,a\nx,0,,0\ny,4,4.5,4\n")
    X = pa.table({"a": [0.0, 4.0], "b": [None, 4.5], "c d": [0.0, 4.0]})
    proba = model.predict_proba(X)
    out, err = naive(capsys, "predict", "m", "new.csv")
    assert out == "other,c d,b,a,prediction\nx,0,,0,ada\ny,4,4.5,4,cat\n"
    assert not err
    assert naive(capsys, "predict", "m", "new.csv", "--only")[0] == "prediction\nada\ncat\n"
    rows = [
        json.loads(line)
        for line in naive(capsys, "predict", "m", "new.csv", "--proba", "--json")[0].splitlines()
    ]
    assert [row["prediction"] for row in rows] == ["ada", "cat"]
    for row, own in zip(rows, proba.tolist(), strict=True):
        assert row["probabilities"] == pytest.approx(
            dict(zip(model.classes_.tolist(), own, strict=True)), rel=1e-12
        )
    added = ["prediction", "P(ada)", "P(bee, wild)", "P(cat)"]
    for name in ("p.csv", "p.csv.gz", "p.tsv", "p.parquet"):
        for only in ([], ["--only"]):
            tokens = ["predict", "m", "new.csv", "--proba", "-o", name, *only]
            out, err = naive(capsys, *tokens)
            assert (out[: len(f"saved  {name}")], err) == (f"saved  {name}", "")
            table = read(name)
            assert table.column_names == ([] if only else ["other", "c d", "b", "a"]) + added
            assert table["prediction"].to_pylist() == ["ada", "cat"]
            assert table["P(cat)"].to_pylist() == pytest.approx(proba[:, 2], rel=1e-12)


def read(name):
    if name.endswith("parquet"):
        return parquet.read_table(name)
    delimiter = "\t" if name.endswith("tsv") else ","
    return pyarrow.csv.read_csv(
        name, parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    )


@pytest.mark.parametrize("source", ["mixed.csv", "mixed.parquet"])
@pytest.mark.parametrize("output", ["p.csv", "p.parquet"])
def test_predict_keeps_columns_and_the_order_of_rows(source, output, mixed, capsys):
    fitted(capsys, data="mixed.parquet", target="rich")
    naive(capsys, "predict", "m", source, "-o", output)
    table = read(output)
    assert table.column_names == [*mixed.column_names, "prediction"]
    model = naively.load("m")
    said = model.predict(mixed.drop_columns(["rich"])).tolist()
    assert table["prediction"].to_pylist() == said
    if output == "p.parquet" and source == "mixed.csv":
        with Path(source).open(newline="") as file:
            rows = list(csv.reader(file))[1:]
        assert list(zip(*table.drop_columns(["prediction"]).to_pydict().values(), strict=True)) == [
            *map(tuple, rows)
        ], "fields are the text that they were"
        return
    for name in ("id", "name", "age", "height", "owner", "born", "rich"):
        found = [None if v in ("", "NA") else v for v in table[name].to_pylist()]
        assert found == mixed[name].to_pylist(), name
    jobs = [None if v in ("", "?") else v for v in table["job"].to_pylist()]
    assert jobs == mixed["job"].to_pylist()


def test_predict_streams_batches_in_order(folder, capsys, monkeypatch):
    from naively.io import inputs

    fitted(capsys)
    whole = naive(capsys, "predict", "m", "data.csv", "--proba")[0]
    monkeypatch.setattr(inputs, "BLOCK", 500)  # of 6 MiB, which small files fill once
    parts = naive(capsys, "predict", "m", "data.csv", "--proba")[0]
    rows = [list(csv.reader(text.splitlines())) for text in (whole, parts)]
    assert len(rows[1]) == 301
    assert rows[1] == rows[0]
    assert asked(capsys, "evaluate", "m", "data.csv")["rows"] == 299


def test_plain_labels_are_not_quoted(folder, capsys):
    Path("n.csv").write_text("x,y\n1,007\n2,a b\n1,007\n")
    fitted(capsys, data="n.csv", target="y")
    assert naive(capsys, "predict", "m", "n.csv", "--only")[0] == "prediction\n007\na b\n007\n"
    Path("n.csv").write_text('x,y\n1,"a,""b"\n2,c\n')
    fitted(capsys, data="n.csv", target="y")
    out, _ = naive(capsys, "predict", "m", "n.csv", "--proba")
    rows = list(csv.reader(out.splitlines()))
    assert rows[0] == ["x", "y", "prediction", 'P(a,"b)', "P(c)"]
    assert [row[:3] for row in rows[1:]] == [["1", 'a,"b', 'a,"b'], ["2", "c", "c"]]


def test_a_column_called_prediction_stays(folder, capsys):
    Path("n.csv").write_text("prediction,y\n1,a\n2,b\n1,a\n")
    fitted(capsys, data="n.csv", target="y")
    out, _ = naive(capsys, "predict", "m", "n.csv")
    assert out.splitlines()[:2] == ["prediction,y,prediction_", "1,a,a"]


def piped(monkeypatch, content):
    """Standard input that holds these bytes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_standard_input(folder, capsys, monkeypatch):
    piped(monkeypatch, Path("data.csv").read_bytes())
    naive(capsys, "fit", "-", "--target", "species", "-o", "m")
    first = model_of()
    fitted(capsys)
    assert model_of() == first
    whole = naive(capsys, "predict", "m", "data.csv")[0]
    for tokens in (["-"], []):  # what is piped is read if nothing is named
        piped(monkeypatch, Path("data.csv").read_bytes())
        assert naive(capsys, "predict", "m", *tokens)[0] == whole
    piped(monkeypatch, b"a,b,c d\n0,0,0\n")
    assert naive(capsys, "predict", "m", "-")[0] == "a,b,c d,prediction\n0,0,0,ada\n"
    piped(monkeypatch, Path("data.parquet").read_bytes())
    assert asked(capsys, "evaluate", "m", "-")["rows"] == 299
    piped(monkeypatch, b"")
    assert "empty" in naive(capsys, "predict", "m", "-", code=1)[1]


def test_piped_rows_are_predicted_before_they_are_learned(mixed, capsys, monkeypatch):
    halves(mixed)
    fitted(capsys, data="one.csv", target="rich")
    naive(capsys, "update", "m", "two.csv", "-o", "both")
    before = asked(capsys, "evaluate", "m", "two.csv")
    piped(monkeypatch, Path("two.csv").read_bytes())
    out, _ = naive(capsys, "update", "m", "-", "--evaluate")
    assert model_of() == model_of("both")
    assert "Evaluation on 250 rows, before training on them" in out
    assert f"{before['accuracy']:.1%}" in out
    assert f"{before['log_loss']:.4f}" in out
    piped(monkeypatch, b"p,q\n1,2\n")
    assert "standard input" in naive(capsys, "predict", "m", "-", code=1)[1]


def test_only_a_header(folder, capsys):
    fitted(capsys)
    Path("h.csv").write_text("a,b,c d,zip\n")
    assert naive(capsys, "predict", "m", "h.csv")[0] == "a,b,c d,zip,prediction\n"
    out = naive(capsys, "predict", "m", "h.csv", "--proba", "--only")[0]
    assert out == 'prediction,P(ada),"P(bee, wild)",P(cat)\n'
    assert naive(capsys, "predict", "m", "h.csv", "--json")[0] == ""
    for name in ("p.csv", "p.parquet"):
        naive(capsys, "predict", "m", "h.csv", "--proba", "-o", name)
        table = read(name)
        assert table.num_rows == 0
        assert len(table.column_names) == 8
    assert "there are no rows" in naive(
        capsys, "fit", "h.csv", "--target", "a", "-o", "n", code=1
    )[1]  # fmt: skip
    assert "there is no row 1" in naive(capsys, "explain", "m", "h.csv", code=1)[1]


def test_json_lines_whose_keys_come_and_go(folder, capsys):
    Path("1.jsonl").write_text('{"x": 1, "y": "a"}\n{"x": 2, "y": "b"}\n')
    Path("2.jsonl").write_text('{"x": 1, "z": 5}\n{"z": 6, "x": 2}\n')
    naive(capsys, "fit", "1.jsonl", "2.jsonl", "--target", "y", "-o", "m")
    assert naively.load("m").model_.unlabelled == 2
    out, err = naive(capsys, "predict", "m", "1.jsonl", "2.jsonl")
    assert out.splitlines() == ["x,y,prediction", "1,a,a", "2,b,b", "1,,a", "2,,b"]
    assert "z came after the first rows" in err
    found = asked(capsys, "evaluate", "m", "1.jsonl", "2.jsonl")
    assert (found["rows"], found["skipped"]) == (2, 2)


def test_columns_that_csv_cannot_hold_are_written_as_text(folder, capsys):
    table = pa.table(
        {
            "x": [1.5, 2.5],
            "list": [[1, 2], None],
            "struct": [{"k": "a,b"}, {"k": None}],
            "bytes": [b"a,b", None],
            "took": pa.array([1, 2], pa.duration("s")),
            "at": pa.array([0, 1], pa.timestamp("us", "UTC")),
            "dict": pa.array(["u", "v"]).dictionary_encode(),
            "none": pa.nulls(2),
            "view": pa.array(["u", "v,w"], pa.string_view()),
            "y": ["a", "b"],
        }
    )
    parquet.write_table(table, "t.parquet")
    out, _ = fitted(capsys, data="t.parquet", target="y")
    assert "left out: list (" in out
    rows = list(csv.reader(naive(capsys, "predict", "m", "t.parquet")[0].splitlines()))
    assert rows[0] == [*table.column_names, "prediction"]
    assert rows[1][1:3] == ["[1, 2]", '{"k": "a,b"}']
    assert [row[-1] for row in rows[1:]] == ["a", "b"]
    naive(capsys, "predict", "m", "t.parquet", "-o", "p.parquet")
    found = parquet.read_table("p.parquet")
    assert found["list"].to_pylist() == [[1, 2], None]
    assert found["prediction"].to_pylist() == ["a", "b"]
    span = pa.array([(1, 2, 3), None], pa.month_day_nano_interval())
    with (
        pa.OSFile("t.arrow", "wb") as file,
        pa.ipc.new_file(file, (more := table.append_column("span", span)).schema) as writer,
    ):
        writer.write_table(more)
    assert naive(capsys, "predict", "m", "t.arrow")[0].count("\n") == 3
    assert "write .csv" in naive(
        capsys, "predict", "m", "t.arrow", "-o", "q.parquet", code=2
    )[1]  # fmt: skip
    assert not Path("q.parquet").exists()


# ---- labels and types --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "classes"),
    [
        (["1", "0", "-3", ""], [-3, 0, 1]),
        (["1.0", "2", "NA", "2"], [1.0, 2.0]),
        (["UK", "US", "", "US"], ["UK", "US"]),
        (["true", "false", "true", "true"], [False, True]),
        (["nan", "", "1", "2"], [1, 2]),
        (["a", "2", "2", "2"], ["2", "a"]),
    ],
)
def test_labels_of_csv_files(cells, classes, folder, capsys):
    Path("n.csv").write_text("x,y\n" + "".join(f"{i % 3},{cell}\n" for i, cell in enumerate(cells)))
    fitted(capsys, data="n.csv", target="y")
    found = naively.load("m").classes_.tolist()
    assert found == classes
    assert list(map(type, found)) == list(map(type, classes))
    assert asked(capsys, "evaluate", "m", "n.csv")["unknown"] == 0


def test_bool_and_float_labels_of_parquet_files(folder, capsys):
    for y, kind in (([True, False, None], bool), ([2.0, np.nan, 1.0], float)):
        parquet.write_table(pa.table({"x": [1, 2, 3], "y": y}), "b.parquet")
        fitted(capsys, data="b.parquet", target="y")
        assert model_of().class_weight.rounded().tolist() == [1, 1]
        assert naively.load("m").classes_.dtype == kind
        found = asked(capsys, "evaluate", "m", "b.parquet")
        assert (found["unknown"], found["skipped"]) == (0, 1)


def test_number_labels_are_text_in_a_model_of_text(folder, capsys):
    Path("n.csv").write_text("x,y\n1,1\n2,b\n")
    fitted(capsys, data="n.csv", target="y")
    Path("n2.csv").write_text("x,y\n1,1\n")
    assert asked(capsys, "evaluate", "m", "n2.csv")["accuracy"] == 1


# ---- explain and inspect -----------------------------------------------------------------------


def test_explain_adds_up(mixed, capsys):
    fitted(capsys, data="mixed.csv", target="rich")
    model = naively.load("m")
    log_proba = model.predict_log_proba(mixed.drop_columns(["rich"]))
    for row in (1, 2, 400):
        found = asked(capsys, "explain", "m", "mixed.csv", "--row", row)
        own = log_proba[row - 1]
        assert found["classes"] == ["no", "yes"]
        assert found["predicted"] == found["label"] == ["no", "yes"][own.argmax()]
        odds = found["log_odds"]
        assert odds["prior"] + sum(odds["features"].values()) == pytest.approx(odds["total"])
        assert odds["total"] == pytest.approx(abs(own[1] - own[0]), rel=1e-9)
        assert found["probabilities"] == pytest.approx(np.exp(own), rel=1e-9)
        joint = np.array(found["prior"]) + sum(map(np.array, found["contributions"].values()))
        assert joint == pytest.approx(np.array(found["joint"]), rel=1e-9)
    other = asked(capsys, "explain", "m", "mixed.csv", "--row", 400, "--label", "no",
                  "--against", "yes")  # fmt: skip
    assert other["log_odds"]["total"] == pytest.approx(own[0] - own[1], rel=1e-9)
    out, _ = naive(capsys, "explain", "m", "mixed.csv", "--row", 400, "--label", "no")
    assert "log-odds of no against yes, in nats" in out
    assert re.search(rf"^total +{re.escape(f'{own[0] - own[1]:+.3f}')}$", out, re.M)
    for name in model.model_.schema.names:
        assert f"\n{name} " in out


def test_explain_what_is_ruled_out(folder, capsys):
    Path("n.csv").write_text("x,y\nu,a\nu,a\nv,b\nw,c\n")
    columns = ["--columns", "x=categorical(alpha=0)"]
    fitted(capsys, *columns, data="n.csv", target="y")
    out, _ = naive(capsys, "explain", "m", "n.csv")
    assert "+inf" in out
    assert "e+308" not in out
    assert asked(capsys, "explain", "m", "n.csv")["log_odds"]["total"] is None
    out, _ = naive(capsys, "explain", "m", "n.csv", "--label", "b", "--against", "c")
    assert "log-odds of b against c, in nats" in out
    assert re.search(r"^total +\+0.000$", out, re.M)


def test_mistakes_of_explain(folder, capsys):
    fitted(capsys)
    explain = ["explain", "m", "data.csv"]
    for tokens, code, said in [
        (["--row", "0"], 2, "--row counts from 1"),
        (["--row", "301"], 1, "there is no row 301; it has 300 rows"),
        (["--label", "dog"], 2, "--label dog: the classes are ada, bee, wild, cat"),
        (["--label", "ada", "--against", "ada"], 2, "compare two classes"),
    ]:
        assert said in naive(capsys, *explain, *tokens, code=code)[1]


def test_inspect_puts_informative_features_first(folder, capsys):
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 500)
    table = {"noise": generator.normal(size=500), "signal": y + 0.1 * generator.normal(size=500)}
    pyarrow.csv.write_csv(pa.table(table | {"y": y}), "n.csv")
    fitted(capsys, data="n.csv", target="y")
    seen = asked(capsys, "inspect", "m")
    bits = {one["feature"]: one["mutual_information"] for one in seen["features"]}
    assert bits["noise"] < 0.05
    assert 0.95 < bits["signal"] < 1.05
    rows = {row["feature"]: row for row in seen["parameters"][0]["rows"]}
    assert rows["signal"]["mean"] == pytest.approx([0, 1], abs=0.02)
    assert rows["signal"]["sd"] == pytest.approx([0.1, 0.1], abs=0.02)
    out, _ = naive(capsys, "inspect", "m")
    assert out.count("\nsignal") == out.count("\nnoise") == 2
    assert out.rindex("\nsignal") < out.rindex("\nnoise")
    out, _ = naive(capsys, "inspect", "m", "--features", "1")
    assert "\nnoise" not in out
    assert "and 1 more feature of less importance" in out
    assert (
        "2 features, 0 interactions; --features shows them"
        in naive(capsys, "inspect", "m", "--features", 0)[0]
    )


@pytest.mark.parametrize("kind", ["MultinomialNB", "ComplementNB"])
def test_counts_have_information_too(kind, folder, capsys):
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 200)
    X = generator.multinomial(20, np.array([[0.6, 0.1, 0.3], [0.1, 0.6, 0.3]])[y])
    getattr(naively, kind)().fit(X, y).save("m")
    features = asked(capsys, "inspect", "m")["features"]
    bits = [one["mutual_information"] for one in sorted(features, key=lambda one: one["feature"])]
    assert bits[0] > 10 * bits[2]
    assert bits[1] > 10 * bits[2]


def test_many_classes(folder, capsys):
    y = np.arange(400) % 100
    pyarrow.csv.write_csv(pa.table({"x": y * 1.0 + np.arange(400) / 1000, "y": y}), "n.csv")
    out, _ = fitted(capsys, data="n.csv", target="y")
    assert "and 90 more" in out
    assert "widen the terminal" in naive(capsys, "inspect", "m")[0]
    out, _ = naive(capsys, "evaluate", "m", "n.csv")
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize("width", [80, 100])
def test_reports_fit_the_terminal(width, folder, capsys, monkeypatch):
    from naively.cli import terminal

    def console():
        return terminal.Plain(markup=False, highlight=False, emoji=False, width=width)

    monkeypatch.setattr(terminal, "console", console)
    generator = np.random.default_rng(0)
    y = np.array(["much and more", "little and less"])[generator.integers(0, 2, 50)]
    levels = np.array([f"a level with a rather long name {k}" for k in range(9)])
    table = {
        f"a rather long name of a column {k}": levels[generator.integers(0, 9, 50)].tolist()
        for k in range(3)
    } | {"x" * 60: generator.normal(1e6, 1e5, 50)}
    pyarrow.csv.write_csv(pa.table(table | {"y": y.tolist()}), "n.csv")
    fit, _ = fitted(capsys, "--holdout", "0.3", data="n.csv", target="y")
    for out in (fit, *(naive(capsys, *tokens)[0] for tokens in (
        ["inspect", "m"], ["evaluate", "m", "n.csv"], ["explain", "m", "n.csv"]
    ))):  # fmt: skip
        assert max(map(len, out.splitlines())) <= width
    row = next(line for line in fit.splitlines() if line.startswith("xxxx"))
    assert "numeric, Gaussian" in row  # whole, and so are the numbers at the end
    assert len(row.split()[-1]) == 5


def test_labels_cannot_paint_the_terminal(folder, capsys):
    Path("n.csv").write_text(
        "x,\x1b[1mz,y\n1,\x1b[2mu,\x1b[31mred\n2,[i]v[/i],[bold]b[/bold]\n1,,\x1b[31mred\n"
    )
    out, err = fitted(capsys, data="n.csv", target="y")
    Path("few.csv").write_text("x,y\n1,\x1b[31mred\n")
    shown = [out, err]
    for command in (
        ["evaluate", "m", "n.csv"], ["inspect", "m"], ["explain", "m", "n.csv"],
        ["evaluate", "m", "few.csv"], ["update", "m", "few.csv"],
    ):  # fmt: skip
        shown += naive(capsys, *command)
    shown += naive(capsys, "fit", "n.csv", "-t", "\x1b[31mq", "-o", "n", code=1)
    shown += naive(capsys, "fit", "few.csv", "-t", "y", "-o", "n", "--skip", "x", code=1)
    shown += naive(capsys, "evaluate", "m", "few.csv", "-t", "x", code=1)
    text = "".join(shown)
    assert "\x1b" not in text
    assert "\\x1b[31mred" in text
    assert "[bold]b[/bold]" in text


# ---- models of Python --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    ["GaussianNB", "MultinomialNB", "BernoulliNB", "CategoricalNB", "ComplementNB", "PoissonNB"],
)
def test_models_saved_in_python(kind, folder, capsys):
    pandas = pytest.importorskip("pandas")
    generator = np.random.default_rng(0)
    frame = pandas.DataFrame(generator.integers(0, 4, (60, 3)), columns=["u", "v", "w"])
    y = np.array(["a", "b", "c"])[generator.integers(0, 3, 60)]
    model = getattr(naively, kind)().fit(frame, y)
    model.save("m")
    frame[["w", "u", "v"]].assign(y=y).to_csv("n.csv", index=False)  # by name, in any order
    lines = naive(capsys, "predict", "m", "n.csv", "--only")[0].split()[1:]
    assert lines == model.predict(frame).tolist()
    found = asked(capsys, "evaluate", "m", "n.csv", "--target", "y")
    assert found["accuracy"] == (model.predict(frame) == y).mean()
    out, _ = naive(capsys, "inspect", "m")
    assert out.startswith(f"{kind}, trained on ")
    naive(capsys, "explain", "m", "n.csv")
    told = asked(capsys, "explain", "m", "n.csv", "--row", 3)
    explained = model.explain(frame[2:3])
    for k, name in enumerate("uvw"):
        assert told["contributions"][name] == pytest.approx(explained.contributions[0, :, k])
    assert "--target" in naive(capsys, "evaluate", "m", "n.csv", code=2)[1]


def test_a_model_that_forgot_everything(folder, capsys):
    fitted(capsys)
    estimator = naively.GaussianNB().fit([[1.0], [2.0]], [0, 1])
    estimator.forget([[1.0], [2.0]], [0, 1]).save("m")
    Path("n.csv").write_text("x\n1\n")
    assert "has no class" in naive(capsys, "inspect", "m")[0]
    for command in ("predict", "explain"):
        assert "has no class" in naive(capsys, command, "m", "n.csv", code=1)[1]
    fitted(capsys)
    out, _ = naive(capsys, "forget", "m", "data.csv")
    assert "all training rows were forgotten" in out
    assert "has no class" in naive(capsys, "inspect", "m")[0]
    naive(capsys, "update", "m", "data.csv")
    fitted(capsys, output="n")
    assert model_of("m") == model_of("n")


def test_a_model_of_one_class(folder, capsys):
    Path("n.csv").write_text("x,y\n1.5,a\n2.5,b\n")
    Path("b.csv").write_text("x,y\n2.5,b\n")
    fitted(capsys, data="n.csv", target="y")
    naive(capsys, "forget", "m", "b.csv")
    assert naive(capsys, "predict", "m", "b.csv", "--only")[0] == "prediction\na\n"
    naive(capsys, "inspect", "m")
    assert "one class only (a)" in naive(capsys, "explain", "m", "b.csv", code=1)[1]


def test_models_without_names_go_by_order(folder, capsys):
    naively.GaussianNB().fit([[1.0, 5], [2.0, 5]], [0, 1]).save("m")
    Path("n.csv").write_text("p,q\n2,5\n1,5\n")
    assert naive(capsys, "predict", "m", "n.csv", "--only")[0].split() == ["prediction", "1", "0"]
    assert "data.csv has 4 columns" in naive(capsys, "predict", "m", "data.csv", code=1)[1]
    assert "--target" in naive(capsys, "evaluate", "m", "n.csv", code=2)[1]


# ---- mistakes ----------------------------------------------------------------------------------

MISTAKES = {
    "empty": (b"", "is empty"),
    "header": (b"a,b,y\n", "there are no rows"),
    "blank": (b"\n\n", "is empty"),
    "ragged": (b"a,b,y\n1,2,x\n3,z\n", "line 3: expected 3 fields, got 2"),
    "no labels": (b"a,b,y\n1,2,\n3,4,\n", "every cell of the target column 'y' is empty"),
    "no target": (b"a,b\n1,2\n", "there is no column 'y'; the columns are a, b"),
    "no header": (b"5,2,z\n1,2,x\n", "the first line must hold the column names"),
    "nothing else": (b"y\n1\n2\n", "no column is left to train on"),
    "twice": (b"a,a,y\n1,2,3\n", "several columns are named 'a'"),
    "latin": ("a,b,y\n1,2,é\n3,4,x\n".encode("latin-1"), "not UTF-8"),
    "utf-16": ("a,b,y\n1,2,x\n".encode("utf-16"), "text in UTF-16"),
    "binary": (bytes(range(256)), "NUL"),
    "zip": (b"PK\x03\x04" + bytes(50), "a zip or Excel file"),
    "parquet": (b"PAR1\x15" + bytes(50), "cannot be read as Parquet"),
    "gzip": (gzip.compress(b"a,b,y\n1,2,x\n" * 99)[:30], "bad"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_the_data(mistake, folder, capsys):
    content, said = MISTAKES[mistake]
    Path("bad").write_bytes(content)
    out, err = naive(capsys, "fit", "bad", "--target", "y", "-o", "m", code=1)
    assert not out
    assert said in err
    errors = [line for line in err.splitlines() if not line.startswith("naively: note: ")]
    assert len(errors) == 1
    assert not Path("m").exists()


@pytest.mark.parametrize("options", [(), ("--naive",), ("--holdout", "0.5")], ids=str)
def test_one_class_is_learned_with_a_note(options, folder, capsys):
    Path("one").write_text("a,b,y\n1,2,x\n3,4,x\n5,1,x\n7,7,x\n")
    _, err = naive(capsys, "fit", "one", "-t", "y", "-o", "m", *options)
    assert "the model has one class: `naively update m` adds others" in err
    assert "x" in naive(capsys, "predict", "m", "one")[0].splitlines()[1]
    naive(capsys, "inspect", "m")
    naive(capsys, "evaluate", "m", "one")
    Path("other").write_text("a,b,y\n9,2,z\n8,4,z\n")
    naive(capsys, "update", "m", "other")
    assert naively.load("m").classes_.tolist() == ["x", "z"]


def test_mistakes_with_files(folder, capsys):
    fitted(capsys)
    fit = ["fit", "data.csv", "--target", "species", "-o"]
    Path("folder").mkdir()
    Path("folder/p.csv").write_text("a,b,c d\n1,2,3\n")
    for tokens, code, said in [
        (["fit", "none.csv", "--target", "y", "-o", "n"], 1, "none.csv: there is no such file"),
        (["fit", "*.none", "--target", "y", "-o", "n"], 1, "no file matches *.none"),
        ([*fit, "none/m"], 1, "there is no folder 'none'"),
        ([*fit, "."], 1, "is a folder"),
        ([*fit, os.devnull], 1, "not a regular file"),
        ([*fit, "data.csv"], 2, "data.csv is among the files that are read"),
        (["fit", "d*.csv", "--target", "species", "-o", "data.csv"], 2, "among the files"),
        ([*fit, "n", "--alpha", "-1"], 2, "--alpha must be"),
        ([*fit, "n", "--holdout", "1.5"], 2, "--holdout"),
        ([*fit, "n", "--seed", "-1"], 2, "--seed"),
        ([*fit, "n", "--familly", "x"], 2, "--family"),
        (["fit", "data.csv"], 2, "--output"),
        (["fit", "data.csv", "-o", "n"], 2, "--target"),
        (["frobnicate"], 2, "frobnicate"),
        (["predict", "none", "data.csv"], 1, "no such model file"),
        (["predict", ".", "data.csv"], 1, ". is a folder, not a model file; `naively fit`"),
        (["predict", "data.csv", "data.csv"], 1, "data.csv is not a model file"),
        (["predict", "m", "none.csv"], 1, "none.csv: there is no such file"),
        (["predict", "m", "data.csv", "-o", "p.txt"], 2, "name it .csv"),
        (["predict", "m", "data.csv", "-o", "p.csv", "--json"], 2, "choose one"),
        (["predict", "m", "data.csv", "-o", "data.csv"], 2, "among the files that are read"),
        (["predict", "m", "folder", "-o", "folder/p.csv"], 2, "among the files that are read"),
        (["inspect", "m", "--features", "-1"], 2, "--features"),
        (["evaluate", "m", "data.csv", "--target", "nope"], 1, "there is no column 'nope'"),
    ]:
        assert said in naive(capsys, *tokens, code=code)[1], tokens
    assert sorted(p.name for p in folder.iterdir()) == [
        "data.csv", "data.csv.gz", "data.parquet", "folder", "m",
    ]  # fmt: skip
    whole = Path("m").read_bytes()
    for damaged in (whole[:-1], whole[:100], whole.replace(b"inferred", b"infeRRed"), b""):
        Path("m").write_bytes(damaged)
        for tokens in (["inspect", "m"], ["predict", "m", "data.csv"], ["update", "m", "data.csv"]):
            err = naive(capsys, *tokens, code=1)[1]
            assert err.startswith("naively: m is ")
            assert err.count("\n") == 1


def test_interruption(folder, capsys, monkeypatch):
    from naively.cli import models

    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(models, "load", interrupted)
    assert naive(capsys, "inspect", "m", code=130)[1] == "naively: interrupted\n"


# ---- the program -------------------------------------------------------------------------------


def program(*tokens, **options):
    return subprocess.run([*COMMAND, *tokens], capture_output=True, text=True, **options)


def test_help_and_version_are_quick():
    assert program("--version").stdout.strip() == naively.__version__
    code = (
        "import sys; from naively.cli.main import run; run(['--help']); run(['fit', '--help']);"
        "print({'numpy', 'pyarrow', 'sklearn'} & set(sys.modules))"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert time.perf_counter() - start < 5  # on a busy machine
    for command in ("demo", "fit", "update", "forget", "merge", "explain", "--holdout"):
        assert command in done.stdout
    assert done.stdout.endswith("set()\n")


@pytest.mark.parametrize("own", [None, "20"])
def test_the_threads_of_blas_wait_asleep_unless_the_user_says_otherwise(own, monkeypatch):
    name = "OPENBLAS_THREAD_TIMEOUT"
    monkeypatch.delenv(name, raising=False)
    if own is not None:
        monkeypatch.setenv(name, own)
    code = f"""
import os, sys
from naively.cli import main
assert "numpy" not in sys.modules, "it would not be read any more"
main._load()
print(os.environ["{name}"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [own or "4"]


def test_the_program_reads_a_pipe(folder, capsys):
    fitted(capsys)
    done = program("predict", "m", input="a,b,c d\n0,0,0\n")
    assert done.stdout == "a,b,c d,prediction\n0,0,0,ada\n"
    assert done.stderr == ""
    assert done.returncode == 0


def test_demo_twice(folder, capsys):
    """The tables, the model and the explanations are the same each time; the commands are real."""
    first, err = naive(capsys, "demo", "--folder", "a b")
    assert not err
    second, _ = naive(capsys, "demo", "--folder", "a b")
    timed = re.compile(r" in [0-9.e-]+ s")
    assert timed.sub("", first) == timed.sub("", second)
    assert len(first.splitlines()) < 40
    assert "the model is equal to one trained on the 999 other rows" in first
    shown = naively.digest(naively.load("a b/credit.model"))
    commands = [line for line in first.splitlines() if line.startswith("$ ")]
    assert len(commands) == 4
    outputs = []
    for line in commands:
        assert default_run(shlex.split(line)[2:]) == 0
        outputs.append(capsys.readouterr().out)
    assert naively.digest(naively.load("a b/credit.model")) == shown
    for text in ("accuracy", "log-loss", "predicted bad, P = 0.", "contribution", "total"):
        assert text in first
        assert any(text in one for one in outputs)
    table = make_credit()
    others = pa.concat_tables([table.slice(0, 16), table.slice(17)])
    pyarrow.csv.write_csv(others, "others.csv")
    assert default_run(["fit", "others.csv", "--target", "risk", "-o", "others.model"]) == 0
    forgotten, retrained = (
        naively.load(name) for name in ("a b/without-row.model", "others.model")
    )
    assert naively.digest(forgotten) == naively.digest(retrained)


def test_priors_of_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b,y\n" + "1,x,1\n2,x,0\n4,z,0\n3,x,1\n" * 5)
    for options in (("--naive",), ()):
        fitted = ("fit", "t.csv", "-t", "y", "-o", "m", *options)
        naive(capsys, *fitted, "--prior", "1=0.8")
        assert naively.load("m").class_prior_.tolist() == pytest.approx([0.2, 0.8])  # labels 0, 1
        naive(capsys, *fitted, "--prior", "1=0.8", "--prior", "0=0.2")
        assert naively.load("m").class_prior_.tolist() == pytest.approx([0.2, 0.8])
        naive(capsys, *fitted, "--prior", "0.2,0.8")
        assert naively.load("m").class_prior_.tolist() == pytest.approx([0.2, 0.8])
        naive(capsys, "update", "m", "t.csv")
        assert naively.load("m").class_prior_.tolist() == pytest.approx([0.2, 0.8])
        assert "0.8" in naive(capsys, "inspect", "m")[0]
        for bad, code, message in (
            ("2=0.8", 1, "'2'"), ("1=x", 2, "class=probability"), ("often", 2, "class=probability"),
            ("1=1.5", 2, "sum of the priors"), ("0.2,0.7", 2, "sum of the priors"),
            ("1", 1, "1 priors, 2 classes"), ("0.2,0.3,0.5", 1, "3 priors, 2 classes"),
            ("0.2,x", 2, "as 0.2,0.8"),
        ):  # fmt: skip
            assert message in naive(capsys, *fitted, "--prior", bad, code=code)[1]


def test_virtual_examples_of_the_command_line(tmp_path, monkeypatch, capsys):
    """(10 + 2) / 30 and (10 + 8) / 30 of ten rows each: lecture 2, m Q(Y)."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b,y\n" + "1,x,spam\n2,x,ham\n4,z,ham\n3,x,spam\n" * 5)
    for options in (("--naive",), ()):
        fitted = ("fit", "t.csv", "-t", "y", "-o", "m", *options)
        for given in (["2,8"], ["ham=2", "spam=8"]):
            naive(capsys, *fitted, *(f"--prior-smoothing={one}" for one in given))
            assert naively.load("m").class_prior_.tolist() == pytest.approx([0.4, 0.6])
        assert "prior_smoothing={'ham': 2.0, 'spam': 8.0}" in naive(capsys, "inspect", "m")[0]
        naive(capsys, "update", "m", "t.csv")
        assert naively.load("m").class_prior_.tolist() == pytest.approx([22 / 50, 28 / 50])
        naive(capsys, *fitted, "--prior-smoothing", "spam=5")
        assert naively.load("m").class_prior_.tolist() == pytest.approx([10 / 25, 15 / 25])
        naive(capsys, *fitted, "--prior-smoothing", "3")
        assert naively.load("m").class_prior_.tolist() == [0.5, 0.5]
    for bad, code, message in (
        (["-1"], 2, "--prior-smoothing: prior_smoothing must be finite and non-negative"),
        (["1,2,3"], 1, "3 prior_smoothing, 2 classes"), (["eggs=2"], 1, "'eggs'"),
        (["many"], 2, "class=number"), (["ham=1", "--prior-smoothing=ham=2"], 2, "more than once"),
        (["2", "--prior", "uniform"], 2, "leave out --prior"),
        (["2", "--like", "m"], 2, "leave out --prior-smoothing"),
    ):  # fmt: skip
        given = "fit", "t.csv", "-t", "y", "-o", "m2", f"--prior-smoothing={bad[0]}", *bad[1:]
        assert message in naive(capsys, *given, code=code)[1]
