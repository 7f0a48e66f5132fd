"""`naively diagnose`: its output for people and programs, and its error messages."""

import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from test_cli import asked, naive, piped

import naively
from naively.cli import main
from naively.evaluation import samples as rows

STATES = ["New South Wales and Norfolk Island", "the Australian Capital Territory", "Tasmania"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Patients, in data.csv: numbers that go together, levels that do, and what is of no use."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    n = 240
    ill = generator.integers(0, 2, n)
    size = generator.normal(size=n)
    state = np.array(STATES)[generator.integers(0, 3, n)]
    table = pa.table(
        {
            "patient": [f"number {k}" for k in range(n)],
            "height": (170 + 10 * size + generator.normal(size=n)).round(1),
            "weight": (70 + 9 * size + 9 * ill + generator.normal(size=n)).round(1),
            "state of birth": state.tolist(),
            "state of residence": np.where(generator.random(n) < 0.8, state, STATES[0]).tolist(),
            "smokes": np.where(generator.random(n) < 0.3 + 0.3 * ill, "yes", "no").tolist(),
            "planet": ["earth"] * n,
            "ill": np.where(np.arange(n) % 40 == 0, "", np.array(["no", "yes"])[ill]).tolist(),
        }
    )
    pyarrow.csv.write_csv(table, "data.csv")
    return tmp_path


def test_what_it_says(folder, capsys):
    out, err = naive(capsys, "diagnose", "data.csv", "--target", "ill")
    assert not err
    for text in ("target    ill", "234 (6 without a label skipped)", "2 numeric, 3 categorical",
                 "height × weight", "left out: patient (looks like an identifier",
                 "left out: planet (constant)", "class prior", "naive Bayes", "tied covariance",
                 "joint table of categories", "numeric in the Gaussian models: height, weight",
                 "The naive assumption does not hold: 2 of 10 pairs", "least error  ",
                 "best probabilities  ", "recommendation  ", "diagonal LDA"):  # fmt: skip
        assert text in out
    assert max(map(len, out.splitlines())) <= 100
    lines = out.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("───"))
    assert lines[first + 1].startswith("height × weight")
    assert "<1e-9" in lines[first + 1]
    assert lines[first + 2].startswith("state of birth × state of residence")


def test_how_many_pairs(folder, capsys):
    out, _ = naive(capsys, "diagnose", "data.csv", "-t", "ill", "--pairs", "1")
    assert "and 9 more pairs" in out
    assert "state of birth × state of residence" not in out
    out, _ = naive(capsys, "diagnose", "data.csv", "-t", "ill", "--pairs", "0")
    assert "and 10 more pairs" in out
    assert "height × weight" not in out


@pytest.mark.parametrize("width", [60, 80, 140])
def test_it_fits_the_terminal(width, folder, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    out = re.sub("\x1b[^m]*m", "", naive(capsys, "diagnose", "data.csv", "-t", "ill")[0])
    *lines, command = out.splitlines()  # a command is in one piece, to be copied
    assert command.startswith("naively fit DATA")
    assert max(map(len, lines)) <= width
    if width >= 80:
        assert "…" not in out.split("Models, by")[1].split("naive assumption")[0]
        assert "state of residence" in out
    else:
        assert re.search("state of b.*…", out)
        assert "marginal" not in out.split("given class, marginal")[0]


def test_json_is_what_python_finds(folder, capsys):
    found = asked(capsys, "diagnose", "data.csv", "-t", "ill")
    told = naively.diagnose("data.csv", "ill")
    assert found == json.loads(json.dumps(told.to_dict()))
    assert found["rows"] == 234
    assert found["classes"][0]["class"] == "no"
    assert set(found["pairs"][0]) == {
        "first", "second", "kind", "rows", "given_class", "chance", "dof", "p_value", "marginal",
        "marginal_chance", "marginal_p_value", "excess", "correlation",
    }  # fmt: skip
    assert set(found["rungs"][0]) == {
        "name", "use", "option", "parameters", "rows_per_parameter", "log_loss", "error", "reason",
    }  # fmt: skip
    assert found["recommendation"] == told.recommendation


def test_what_is_advised_can_be_done(folder, capsys):
    """The code in the report gives a model of as many parameters."""
    found = naively.diagnose("data.csv", "ill")
    table = pyarrow.csv.read_csv("data.csv")
    names = ("AutoBayes", "Gaussian", "GaussianBayes", "GaussianNB", "Joint", "JointBayes",
             "NaiveBayes", "MultivariateGaussian")  # fmt: skip
    meant = {name: getattr(naively, name) for name in names}
    meant |= {"numbers": found.numbers, "levels": found.levels}
    tried = 0
    for rung in found.rungs:
        if rung.use:
            model = eval(rung.use, meant)
            model.set_params(missing=("",))
            labelled = table.filter(pa.compute.not_equal(table["ill"], ""))
            model.fit(labelled, "ill")
            assert model.n_parameters_ == rung.parameters, rung.use
            tried += 1
    assert tried > 6


def test_the_option_for_the_command_line_does_the_same(folder, capsys):
    found = naively.diagnose("data.csv", "ill")
    options = [rung for rung in found.rungs if rung.option is not None]
    assert len(options) > 7
    last = naive(capsys, "diagnose", "data.csv", "-t", "ill")[0].splitlines()[-1]
    said = shlex.split(last.replace("DATA", "data.csv").replace("MODEL", "m"))
    assert parameters(capsys, *said[1:]) == found.advised.parameters
    for rung in options:
        words = shlex.split(rung.option)
        fitted = parameters(capsys, "fit", "data.csv", "-t", "ill", *words, "-o", "m")
        assert fitted == rung.parameters, rung.option


def parameters(capsys, *tokens):
    """How many a model has that is fitted so."""
    assert main.run([*tokens, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["n_parameters"]


def test_options_on_columns(folder, capsys):
    found = asked(
        capsys, "diagnose", "data.csv", "-t", "ill", "--skip", "weight", "--columns",
        "height=categorical", "--missing", "Tasmania", "--seed", "3",
    )  # fmt: skip
    assert found["columns"] == dict.fromkeys(
        ("height", "state of birth", "state of residence", "smokes"), "levels"
    )
    assert found["left_out"]["weight"] == "as specified"
    pairs = {(one["first"], one["second"]): one for one in found["pairs"]}
    assert pairs["height", "state of birth"]["rows"] < pairs["height", "smokes"]["rows"] == 234


def test_standard_input(folder, capsys, monkeypatch):
    piped(monkeypatch, Path("data.csv").read_bytes())
    assert asked(capsys, "diagnose", "-", "-t", "ill")["rows"] == 234


def test_a_sample_is_said(folder, capsys, monkeypatch):
    monkeypatch.setattr(rows, "ROWS", 1000)  # of 100,000, which take long to look at
    head, *lines = Path("data.csv").read_text().splitlines(keepends=True)
    Path("long.csv").write_text(head + "".join(lines * 10))
    out, _ = naive(capsys, "diagnose", "long.csv", "-t", "ill")
    said = "rows      2,340, a sample of 1,000 of them used (60 without a label skipped)"
    assert said in out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["data.csv"], 2, "--target is missing: name the column with the classes"),
        (["data.csv", "-t", "il"], 1, "there is no column 'il'; did you mean 'ill'?"),
        (["data.csv", "-t", "ill", "--skip", "wieght"], 1, "did you mean 'weight'?"),
        (["data.csv", "-t", "ill", "--pairs", "-1"], 2, "--pairs must not be negative"),
        (["data.csv", "-t", "ill", "--seed", "-1"], 2, "--seed must not be negative"),
        (["data.csv", "-t", "ill", "--columns", "weight=magic"], 2, "'magic' is not a family"),
        (["data.csv", "-t", "height"], 1, "Cut measurements into ranges"),
        (["data.csv", "-t", "planet"], 1, "one class only (earth)"),
        (["none.csv", "-t", "ill"], 1, "there is no such file"),
        (["empty.csv", "-t", "ill"], 1, "there are no rows"),
        (["blank.csv", "-t", "ill"], 1, "every cell of the target column 'ill' is empty"),
        (["alone.csv", "-t", "ill"], 1, "no column is left to diagnose"),
    ],
)
def test_mistakes(arguments, code, said, folder, capsys):
    Path("empty.csv").write_text("a,ill\n")
    Path("blank.csv").write_text("a,ill\n1,\n2,\n")
    Path("alone.csv").write_text("a,ill\n1,x\n1,y\n1,y\n")
    out, err = naive(capsys, "diagnose", *arguments, code=code)
    assert said in err
    assert not out
    assert err.count("\n") == 1


def test_control_characters_stay_harmless(folder, capsys):
    text = Path("data.csv").read_text().replace("height", "he\x1b[31might").replace("ill", "i\x07l")
    Path("odd.csv").write_text(text)
    out, _ = naive(capsys, "diagnose", "odd.csv", "-t", "i\x07l")
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "he\\x1b[31might × weight" in out
