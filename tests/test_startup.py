"""What a process loads at startup: only what it needs."""

import os
import subprocess
import sys

import pytest

from naively.families.registry import FAMILIES

LOADED = "print(*sorted({one for one in sys.modules if one in HEAVY}))"
HEAVY = {
    "numpy", "pyarrow", "pyarrow.parquet", "pandas", "polars", "sklearn", "matplotlib",
    "rich", "cyclopts", "scipy", "scipy.linalg", "scipy.sparse", "scipy.special", "scipy.stats",
}  # fmt: skip
"""Modules that take long."""


def loaded(code, **environment):
    """Which of these a process has loaded after some code, that prints nothing itself."""
    program = f"import sys; HEAVY = {HEAVY}\n{code}\n{LOADED}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True,
        env=os.environ | environment,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_the_package_alone_loads_nothing():
    assert loaded("import naively; naively.__version__; dir(naively)") == set()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{k % 7},{'red' if k % 3 else 'blue'},{'yes' if k % 2 else 'no'}" for k in range(60)]
    (tmp_path / "data.csv").write_text("\n".join(["size,colour,label", *rows, ""]))
    return tmp_path


PREDICT = ["predict", "m", "data.csv"]
FIT = ["fit", "data.csv", "--target", "label", "--output", "m"]
COMMAND = """
from naively.cli.main import main
sys.argv[1:] = {}
try:
    main()
except SystemExit as end:
    assert not end.code
"""
NEEDED = {"cyclopts", "numpy", "pyarrow", "rich", "scipy"}


@pytest.mark.parametrize("options", [["--naive"], []], ids=["naive", "evidence"])
def test_a_prediction_loads_what_it_needs(folder, options):
    fit = [*FIT, *options]
    subprocess.run([sys.executable, "-m", "naively", *fit], check=True, capture_output=True)
    assert loaded(COMMAND.format(PREDICT)) == NEEDED


def test_to_learn_few_rows_loads_what_it_needs(folder):
    assert loaded(COMMAND.format(FIT)) == NEEDED


TABLE = [
    "compare --help", "fit data.csv -t label -o m --holdout 0.2", "inspect m", "merge m m -o n",
    "predict m data.csv --proba", "explain m data.csv", "update m data.csv",
    "evaluate m data.csv --positive yes --threshold 0.3 --at-recall 0.9", "forget m data.csv",
    "diagnose data.csv -t label --json",
]  # fmt: skip
DOCUMENTS = [
    "fit texts -o m --holdout 0.2", "evaluate m texts", "predict m texts/spam.txt", "inspect m",
    "explain m texts/spam.txt", "explain m texts/spam.txt --html why.html", "update m texts",
    "forget m texts",
]  # fmt: skip


@pytest.mark.parametrize("commands", [TABLE, DOCUMENTS], ids=["table", "documents"])
def test_commands_need_no_other_library(folder, commands):
    (folder / "texts").mkdir()
    for label, said in (("ham", "lunch at noon"), ("spam", "win a prize")):
        lines = [f"{said} {k % 5}\n" for k in range(40)]
        (folder / "texts" / f"{label}.txt").write_text("".join(lines))
    tokens = [one.split() for one in commands]
    code = f"from naively.cli.main import run\nassert not any(run(one) for one in {tokens})"
    assert not {"sklearn", "matplotlib", "polars"} & loaded(code)


def test_a_family_has_the_name_of_its_module():
    modules = {name: one.__module__.rpartition(".")[2] for name, one in FAMILIES.items()}
    assert modules == {name: name for name in FAMILIES}
