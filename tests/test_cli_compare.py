"""`naively compare`: its output, its plots, and its error messages."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from kit import slow
from matplotlib.backend_bases import FigureCanvasBase
from test_cli import asked, naive, piped
from threadpoolctl import threadpool_limits

import naively
from naively.cli.errors import UserError
from naively.cli.main import run
from naively.cli.results import compare, pictures
from naively.evaluation import alternatives
from naively.evaluation import samples as rows

FOREST = "sklearn.ensemble.RandomForestClassifier(n_estimators=3, max_depth=2)"
STATES = ["New South Wales", "Tasmania", "Victoria"]
HAM = ["meeting at noon", "minutes of the meeting", "lunch at noon?", "see you at the office"]
SPAM = ["win a free prize", "free prize, claim now", "cash now", "win cash, free, now"]


@pytest.fixture(autouse=True)
def _no_processes(monkeypatch):
    """Fits are short here, but a busy machine may make them long enough to start processes.

    Boosting, which takes longest, is tried in test_compare_chosen.py.
    """
    monkeypatch.setattr(alternatives, "PATIENCE", math.inf)
    monkeypatch.setattr(alternatives, "USUAL", alternatives.USUAL[:1])
    with threadpool_limits(1, "blas"):
        yield
    plt.close("all")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Patients, in data.csv: numbers, levels, truth values, and what is of no use."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    n = 120
    ill = generator.integers(0, 2, n)
    size = generator.normal(size=n)
    table = pa.table(
        {
            "patient": [f"number {k}" for k in range(n)],
            "height": (170 + 10 * size + generator.normal(size=n)).round(1),
            "weight": (70 + 9 * size + 9 * ill + generator.normal(size=n)).round(1),
            "state": np.array(STATES)[generator.integers(0, 3, n)].tolist(),
            "smokes": np.where(generator.random(n) < 0.3 + 0.3 * ill, "yes", "no").tolist(),
            "planet": ["earth"] * n,
            "ill": np.where(np.arange(n) % 40 == 0, "", np.array(["no", "yes"])[ill]).tolist(),
        }
    )
    pyarrow.csv.write_csv(table, "data.csv")
    Path("ham.txt").write_text("\n".join(HAM * 4) + "\n")
    Path("spam.txt").write_text("\n".join(SPAM * 4) + "\n")
    return tmp_path


def plain(found):
    """What is found, but for the clock."""
    for one in found["candidates"]:
        assert one.pop("seconds") >= 0
    return found


def names(found):
    return [one["name"] for one in found["candidates"]]


def test_what_it_says(folder, capsys):
    out, err = naive(capsys, "compare", "data.csv", "--target", "ill", "--splits", "2")
    assert not err
    found = naively.compare("data.csv", "ill", splits=2)
    for text in ("target   ill", "117 (3 without a label skipped)", "left out: planet (constant)",
                 "left out: patient (looks like an identifier", "test rows of 2 splits",
                 "per column: diagonal LDA"):  # fmt: skip
        assert text in out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    first = next(k for k, line in enumerate(lines) if line.startswith("───"))
    assert lines[first - 1].split()[:2] == ["training", "rows"]
    assert lines[first - 1].split()[2:-3] == [f"{size:,}" for size in found.sizes]
    for one, line in zip(found.candidates, lines[first + 1 :], strict=False):
        assert line.startswith(one.name)
        cells = line[len(one.name) :].split()
        assert cells[: len(found.sizes)] == [
            "·" if math.isnan(e) else f"{100 * e:.1f}" for e in one.error
        ]
    words = " ".join(out.split())
    assert all(f"{key} {text}" in words for key, text in found.verdict.items())


@pytest.mark.parametrize(
    ("width", "estimators"),
    [(60, [FOREST]), (80, []), *slow((60, []), (80, [FOREST]), (140, []), (140, [FOREST]))],
)
def test_it_fits_the_terminal(width, estimators, folder, capsys, monkeypatch):
    """Names are cut where there is no room, numbers never."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    options = [option for one in estimators for option in ("--estimators", one)]
    told = naive(capsys, "compare", "data.csv", "-t", "ill", "--splits", "2", *options)[0]
    lines = re.sub("\x1b[^m]*m", "", told).splitlines()
    assert max(map(len, lines)) <= width
    found = naively.compare("data.csv", "ill", splits=2, estimators=estimators)
    head = next(line for line in lines if line.startswith("training rows"))
    shown = head.split()[2:-3]
    assert shown[-1] == f"{found.sizes[-1]:,}"
    assert len(shown) >= min(2, len(found.sizes))
    if width > 60:
        assert head.split()[-3:] == ["±", "log-loss", "seconds"]
    if width == 140:
        assert shown == [f"{size:,}" for size in found.sizes]
    rows = lines[lines.index(head) + 2 :]
    for one, line in zip(found.candidates, rows, strict=False):
        assert line.startswith(one.name[:9])
        error = one.error[-1]
        assert ("·" if math.isnan(error) else f"{100 * error:.1f}") in line.split()
        if math.isfinite(one.log_loss[-1]):
            assert f"{one.log_loss[-1]:.4f}" in line.split()
        assert one.name in line or "…" in line


def test_json_is_what_python_finds(folder, capsys):
    found = plain(asked(capsys, "compare", "data.csv", "-t", "ill", "--splits", "2", "--seed", "2"))
    python = naively.compare("data.csv", "ill", splits=2, seed=2)
    assert found == plain(json.loads(json.dumps(python.to_dict())))
    assert found["rows"] == 117
    assert found["splits"] == 2
    assert found["target"] == "ill"
    assert len(found["candidates"][0]["errors"]) == len(found["sizes"])


def test_options_on_columns(folder, capsys):
    found = asked(
        capsys, "compare", "data.csv", "-t", "ill", "--skip", "weight", "--skip", "smokes",
        "--columns", "height=categorical", "--splits", "2", "--missing", "Tasmania",
    )  # fmt: skip
    assert found["left_out"]["weight"] == found["left_out"]["smokes"] == "as specified"
    assert "joint table" in names(found)
    assert "one variance" not in names(found)
    python = naively.compare(
        "data.csv", "ill", splits=2, missing=("", "Tasmania"),
        columns={"weight": "skip", "smokes": "skip", "height": "categorical"},
    )  # fmt: skip
    assert plain(found) == plain(json.loads(json.dumps(python.to_dict())))


def test_a_column_of_text(folder, capsys):
    found = asked(capsys, "compare", "data.csv", "-t", "ill", "--splits", "2", "--text", "state")
    assert "naive Bayes, binary" in names(found)
    assert "naive Bayes, binary" not in names(
        asked(capsys, "compare", "data.csv", "-t", "ill", "--splits", "2")
    )


def test_several_estimators(folder, capsys):
    estimators = "--estimators", FOREST, "--estimators", "sklearn.svm.LinearSVC"
    tokens = "compare", "data.csv", "-t", "ill", "--splits", "2", *estimators
    found = asked(capsys, *tokens)
    assert names(found)[-3:] == [
        "logistic regression", "RandomForestClassifier(max_depth=2, n_estimators=3)", "LinearSVC()",
    ]  # fmt: skip
    assert found["candidates"][-1]["log_loss"] == [None] * len(found["sizes"])
    assert plain(asked(capsys, *tokens)) == plain(found)
    line = next(line for line in naive(capsys, *tokens)[0].splitlines() if "LinearSVC" in line)
    assert line.split()[-2] == "·"


def test_documents(folder, capsys):
    for kind, texts in (("ham", HAM), ("spam", SPAM)):
        Path("mails", kind).mkdir(parents=True)
        for k, text in enumerate(texts * 4):
            Path("mails", kind, f"{k:02}.txt").write_text(text)
    python = naively.compare(HAM * 4 + SPAM * 4, ["ham"] * 16 + ["spam"] * 16, splits=2)
    for data in (["ham.txt", "spam.txt"], ["mails"]):
        found = asked(capsys, "compare", *data, "--splits", "2")
        assert found["target"] == "label"
        assert found["classes"] == [{"class": "ham", "rows": 16}, {"class": "spam", "rows": 16}]
        expected = plain(json.loads(json.dumps(python.to_dict())))["candidates"]
        assert plain(found)["candidates"] == expected
    assert "naive Bayes, complement" in names(found)


def test_standard_input(folder, capsys, monkeypatch):
    for tokens in (["-"], []):
        piped(monkeypatch, Path("data.csv").read_bytes())
        assert asked(capsys, "compare", *tokens, "-t", "ill", "--splits", "2")["rows"] == 117


def test_a_sample_is_said(folder, capsys, monkeypatch):
    monkeypatch.setattr(rows, "ROWS", 1000)  # of 100,000, which take long to look at
    head, *lines = Path("data.csv").read_text().splitlines(keepends=True)
    Path("long.csv").write_text(head + "".join(lines * 10))
    out, _ = naive(capsys, "compare", "long.csv", "-t", "ill", "--splits", "2")
    assert "1,170, a sample of 1,000 of them used (30 without a label skipped)" in out


# ---- pictures -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["curves.png", *slow("CURVES.PNG", "of me/curves.svg", "curves.pdf")]
)
def test_a_picture(name, folder, capsys):
    Path("of me").mkdir()
    out, err = naive(
        capsys, "compare", "data.csv", "-t", "ill", "--splits", "2", "--plot", name, "--json"
    )
    assert err.startswith(f"naively: note: saved {name} (")
    assert json.loads(out)["rows"] == 117
    content = Path(name).read_bytes()
    if name.endswith("svg"):
        text = content.decode()
        assert text.count("<path") > 50
        assert "</svg>" in text
    elif name.endswith("pdf"):
        assert content.startswith(b"%PDF")
        assert len(content) > 5000
    else:
        image = plt.imread(name)[..., :3]
        assert min(image.shape[:2]) > 400
        assert 0.01 < (image.min(axis=-1) < 0.95).mean() < 0.6
        colours = np.unique((image.reshape(-1, 3) * 15).round().astype(int), axis=0)
        assert len(colours) > 20


@pytest.fixture(scope="module")
def small():
    return naively.compare([[1.5], [2.5], [3.5], [4.5]] * 3, list("xzxz") * 3, splits=2)


@pytest.mark.parametrize("suffix", sorted(FigureCanvasBase.filetypes))
def test_a_kind_of_picture_is_drawn_or_refused_before_the_work(suffix, small, folder):
    picture = Path(f"c.{suffix}")
    try:
        pictures.check(picture, ["data.csv"])
    except UserError:
        return
    compare.draw(small, picture)
    assert picture.stat().st_size > 500


@pytest.mark.parametrize(
    ("picture", "code", "said"),
    [
        ("curves", 2, "a picture's name ends in one of"),
        ("curves.txt", 2, "a picture's name ends in one of"),
        ("curves.csv", 2, ".png"),
        ("data.csv", 2, "among the files that are read"),
        ("none/curves.png", 1, "there is no folder 'none'"),
        ("place.png", 1, "place.png is a folder"),
    ],
)
def test_pictures_that_cannot_be_drawn(picture, code, said, folder, capsys, monkeypatch):
    """Before the work, of which there is none here."""
    Path("place.png").mkdir()
    before = Path("data.csv").read_bytes()

    def never(*_):
        raise AssertionError("the work began")

    monkeypatch.setattr(compare, "run", never)
    out, err = naive(
        capsys, "compare", "data.csv", "-t", "ill", "--plot", picture, code=code
    )  # fmt: skip
    assert said in err
    assert not out
    assert err.count("\n") == 1
    assert Path("data.csv").read_bytes() == before


@pytest.mark.slow
def test_without_matplotlib_it_says_what_to_install(folder):
    code = (
        "import sys; sys.modules['matplotlib'] = None; from naively.cli.main import run; "
        "assert run(['compare', 'data.csv', '-t', 'ill', '--plot', 'c.png']) == 1; "
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )  # fmt: skip
    assert "pip install 'naively[plot]'" in done.stderr
    assert done.stderr.count("\n") == 1


# ---- mistakes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["data.csv"], 2, "--target is missing: name the column with the classes"),
        (["data.csv", "-t", "il"], 1, "there is no column 'il'; did you mean 'ill'?"),
        (["data.csv", "-t", "ill", "--skip", "wieght"], 1, "did you mean 'weight'?"),
        (["data.csv", "-t", "ill", "--text", "stat"], 1, "did you mean 'state'?"),
        (["data.csv", "-t", "ill", "--columns", "weight=magic"], 2, "'magic' is not a family"),
        (["data.csv", "-t", "ill", "--skip", "ill"], 2, "'ill' is the target"),
        (["data.csv", "-t", "ill", "--seed", "-1"], 2, "--seed must not be negative"),
        (["data.csv", "-t", "ill", "--splits", "1"], (1, 2), "at least 2, not 1"),
        (["data.csv", "-t", "ill", "--splits", "many"], 2, "--splits"),
        (["data.csv", "-t", "ill", "--estimators", "SVC"], (1, 2), "name its module too"),
        (["data.csv", "-t", "ill", "--estimators", "sklearn.svm.SVR"], (1, 2), "is not a"),
        (["data.csv", "-t", "ill", "--estimators", "os.getcwd"], (1, 2), "not a scikit-learn"),
        (["data.csv", "-t", "ill", "--estimators", "sklearn.svm.SVC(1)"], (1, 2), "write it as"),
        (["data.csv", "-t", "ill", "--estimators", "sklearn.svm.SVC(C={[]:1})"], (1, 2),
         "write it as"),
        (["data.csv", "-t", "ill", "--estimators", "a\x1bb.c"], (1, 2), "a\\x1bb"),
        (["data.csv", "-t", "height"], 1, "Cut measurements into ranges"),
        (["data.csv", "-t", "planet"], 1, "one class only (earth)"),
        (["none.csv", "-t", "ill"], 1, "there is no such file"),
        (["empty.csv", "-t", "ill"], 1, "there are no rows"),
        (["blank.csv", "-t", "ill"], 1, "every cell of the target column 'ill' is empty"),
        (["alone.csv", "-t", "ill"], 1, "no column is left to compare"),
        (["ham.txt"], 2, "the classes of documents are the names of their files"),
    ],
)  # fmt: skip
def test_mistakes(arguments, code, said, folder, capsys):
    Path("empty.csv").write_text("a,ill\n")
    Path("blank.csv").write_text("a,ill\n1,\n2,\n")
    Path("alone.csv").write_text("a,ill\n1,x\n1,y\n1,y\n")
    found = run(["compare", *arguments])
    out, err = capsys.readouterr()
    assert found in (code if isinstance(code, tuple) else (code,))
    assert err.startswith("naively: ")
    assert said in err
    assert not out
    assert err.count("\n") == 1


def test_control_characters_and_markup_stay_harmless(folder, capsys):
    text = Path("data.csv").read_text().replace("height", "he\x1b[31might").replace("ill", "i\x07l")
    text = text.replace("planet", "[bold]pla\x08net").replace(',"yes"\n', ',"[red]y\x1b[0m"\n')
    Path("odd.csv").write_text(text + 'number 999,1,2,Victoria,no,earth,"al\x07one"\n')
    out, _ = naive(capsys, "compare", "odd.csv", "-t", "i\x07l", "--splits", "2", "--plot", "c.png")
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\x08" not in out
    assert "[red]y\\x1b[0m" in out
    assert "[bold]pla\\x08net" in out
    assert "it has one row: class al\\x07one" in out


def test_many_classes_are_printed_in_short(folder, capsys):
    generator = np.random.default_rng(0)
    y = np.repeat(np.arange(30), 4)
    lines = [
        f"{v:.3f},class {k:02}" for k, v in zip(y, y + generator.normal(size=120), strict=True)
    ]
    Path("many.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    out, _ = naive(capsys, "compare", "many.csv", "-t", "y", "--splits", "2")
    assert "and 20 more" in out
    assert max(map(len, out.splitlines())) <= 100


def test_help(capsys):
    out, err = naive(capsys, "compare", "--help")
    assert not err
    for text in ("Compare models by their learning curves", "--target", "--text",
                 "--columns", "--skip", "--estimators", "--missing", "--format", "--splits",
                 "--seed", "--plot", "--json"):  # fmt: skip
        assert text in out
    assert "compare" in naive(capsys, "--help")[0]
