"""`naively drift`: its output for people and programs, and its exit status."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from naively import CategoricalNB
from naively.cli.main import run


def written(path, generator, n, heavier=0.0):
    rich = generator.random(n) < 0.4
    rows = ["weight,job,label"]
    for own in rich:
        job = generator.choice(["clerk", "boss"], p=[0.2, 0.8] if own else [0.8, 0.2])
        rows.append(
            f"{generator.normal(70 + 5 * own + heavier, 5):.2f},{job},{'yes' if own else 'no'}"
        )
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """(a model, its rows, rows like these, heavier ones)."""
    folder, generator = tmp_path_factory.mktemp("drift"), np.random.default_rng(0)
    data = written(folder / "data.csv", generator, 800)
    same = written(folder / "same.csv", generator, 400)
    other = written(folder / "other.csv", generator, 400, heavier=4.0)
    model = str(folder / "a.model")
    assert run(["fit", data, "-t", "label", "-o", model]) == 0
    return model, data, same, other


def said(capsys, *words):
    """(exit status, standard output, standard error)."""
    capsys.readouterr()
    status = run([*words])
    out = capsys.readouterr()
    return status, out.out, out.err


def test_the_status_says_whether_there_is_drift(files, capsys):
    model, _, same, other = files
    status, out, _ = said(capsys, "drift", model, same)
    assert status == 0
    assert "; no evidence of a change" in out
    assert "result    no drift found (no test has p < 0.01" in out
    status, out, _ = said(capsys, "drift", model, other)
    assert status == 3
    assert "result    drift in 1 of 2 features" in out
    assert "median 7" in out
    assert out.index("weight") < out.index("job")


def test_programs_get_all_of_it(files, capsys):
    model, _, _, other = files
    status, out, _ = said(capsys, "drift", model, other, "--json")
    found = json.loads(out)
    assert status == 3
    assert found["drift"] is True
    assert found["drifted"] == ["weight"]
    assert {one["class"] for one in found["share"]["classes"]} == {"no", "yes"}
    assert all(1 <= one["row"] <= 400 for one in found["row"]["unlikely"])


def test_a_level_and_its_errors(files, capsys):
    model, _, same, other = files
    assert said(capsys, "drift", model, other, "--level", "1e-300")[0] == 0
    assert said(capsys, "drift", model, same, "--level", "0.999999")[0] == 3
    status, _, err = said(capsys, "drift", model, same, "--level", "0")
    assert status == 2
    assert "--level" in err


def test_data_that_cannot_be_compared(files, capsys, tmp_path):
    model, *_ = files
    empty = tmp_path / "empty.csv"
    empty.write_text("weight,job\n", "utf-8")
    status, _, err = said(capsys, "drift", model, str(empty))
    assert (status, "no rows" in err) == (1, True)
    empty.write_text("shoes\n1\n", "utf-8")
    status, _, err = said(capsys, "drift", model, str(empty))
    assert (status, "none of the features" in err) == (1, True)


def test_rows_are_named_as_they_are_in_the_file(files, capsys, tmp_path):
    model, *_ = files
    rows = ["weight,job", *["70,clerk"] * 30, "500,astronaut", *["71,boss"] * 30]
    path = tmp_path / "one.csv"
    path.write_text("\n".join(rows) + "\n", "utf-8")
    _, out, _ = said(capsys, "drift", model, str(path), "--json")
    (first, *_) = json.loads(out)["row"]["unlikely"]
    assert first["row"] == 31  # as `naively explain --row 31` counts
    assert first["values"] == {"weight": "500", "job": "astronaut"}


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(files, capsys, monkeypatch, width):
    model, _, _, other = files
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    _, out, _ = said(capsys, "drift", model, other)
    lines = re.sub("\x1b\\[[0-9;]*m", "", out).splitlines()
    assert len(lines) > 20
    assert max(map(len, lines)) <= width


def test_documents(capsys, tmp_path):
    generator = np.random.default_rng(0)
    words = [f"word{k}" for k in range(30)]
    for name in ("ham", "spam"):
        lines = [" ".join(generator.choice(words, 6)) for _ in range(200)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines), "utf-8")
    model = str(tmp_path / "m.model")
    assert run(["fit", str(tmp_path / "ham.txt"), str(tmp_path / "spam.txt"), "-o", model]) == 0
    new = tmp_path / "new.txt"
    new.write_text("\n".join(f"{' '.join(generator.choice(words, 6))} prize" for _ in range(90)))
    status, out, _ = said(capsys, "drift", model, str(new))
    assert status == 3
    assert "Words of text" in out
    assert "prize" in out


def test_a_model_of_codes_takes_them_from_a_table(capsys, tmp_path):
    generator = np.random.default_rng(0)
    X = generator.integers(0, 3, (300, 2))
    model = str(tmp_path / "codes.model")
    CategoricalNB().fit(X, X[:, 0] > 0).save(model)
    path = tmp_path / "new.csv"
    np.savetxt(path, generator.integers(0, 3, (200, 2)), "%d", ",", header="a,b", comments="")
    assert said(capsys, "drift", model, str(path))[0] == 0
    np.savetxt(path, generator.integers(0, 4, (200, 2)), "%d", ",", header="a,b", comments="")
    status, out, _ = said(capsys, "drift", model, str(path))
    assert status == 3
    assert "3: 0.0% → 2" in out


def test_a_column_that_cannot_be_read_any_more_has_drifted(tmp_path, monkeypatch, capsys):
    """Decimal commas in place of points, and another format of dates: all cells are invalid."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y, amount = rng.integers(0, 2, 900), rng.normal(2000, 500, 900).round(2)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 900), unit="D")
    table = pd.DataFrame({"amount": amount + 300 * y, "day": days.strftime("%Y-%m-%d"), "y": y})
    table[:600].to_csv("train.csv", index=False)
    new = table[600:]
    new.to_csv("same.csv", index=False)
    commas = new["amount"].astype(str).str.replace(".", ",")
    new.assign(amount=commas).to_csv("commas.csv", index=False)
    new.assign(day=days.strftime("%d.%m.%Y")[600:]).to_csv("days.csv", index=False)
    assert run(["fit", "train.csv", "--target", "y", "-o", "m"]) == 0
    assert run(["drift", "m", "same.csv"]) == 0
    for name, column in (("commas.csv", "amount"), ("days.csv", "day")):
        capsys.readouterr()
        assert run(["drift", "m", name, "--json"]) == 3
        features = {one["name"]: one for one in json.loads(capsys.readouterr().out)["columns"]}
        assert features[column]["missing"] == [0.0, 1.0]
