"""What a process loads before it does anything: only what it needs."""

import os
import subprocess
import sys

import pytest

from naively.families.registry import FAMILIES

COMPILER = "numba.cpython.heapq"
"""What numba loads in order to compile."""
LOADED = "print(*sorted({one for one in sys.modules if one in HEAVY}))"
HEAVY = {
    "numpy", "numba", "pyarrow", "pyarrow.parquet", "pandas", "polars", "sklearn", "matplotlib",
    "rich", "cyclopts", "scipy.linalg", "scipy.sparse", "scipy.special", "scipy.stats",
    COMPILER,
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
NEEDED = {"cyclopts", "numpy", "pyarrow", "rich"}


@pytest.mark.parametrize("options", [["--naive"], []], ids=["naive", "evidence"])
def test_a_prediction_loads_what_it_needs(folder, options):
    fit = [*FIT, *options]
    subprocess.run([sys.executable, "-m", "naively", *fit], check=True, capture_output=True)
    assert loaded(COMMAND.format(PREDICT)) == NEEDED


def test_to_learn_few_rows_loads_what_it_needs(folder):
    assert loaded(COMMAND.format(FIT)) == NEEDED | {"numba"}


RACE = """
import sys
import threading
import numpy as np
from naively.kernels import few, jit, limbs

cell = np.zeros((1, 2), np.int64)
other = threading.Thread(target=lambda: limbs.decompose(1.5))
other.start()
while "naively.kernels.compiling" not in sys.modules:
    pass
limbs.normalise(cell)
other.join()
"""


def test_a_thread_that_needs_no_kernel_waits_for_one_that_loads_the_first():
    assert "numba" in loaded(RACE)


def test_a_family_has_the_name_of_its_module():
    assert {one.name: one.__module__ for one in FAMILIES.values()} == {
        name: f"naively.families.{name}" for name in FAMILIES
    }


BEGUN = "import numpy as np; from naively.kernels.limbs import add_value, decompose"
TAKEN_APART = "assert decompose(1.5) == (3 << 51, -52)"
ADDED = (
    "cell = np.zeros(3, np.int64); add_value(cell, 0, 0, 2.0**32 + 1); assert [*cell] == [1, 1, 0]"
)
FOUND = "hits = one.compiled.stats.cache_hits; assert sum(hits.values()) == 1, hits"


def test_a_kernel_that_was_compiled_is_loaded_without_the_compiler(tmp_path):
    def uses_compiler(*code):
        return COMPILER in loaded("\n".join([BEGUN, *code]), NUMBA_CACHE_DIR=str(tmp_path))

    assert uses_compiler(TAKEN_APART)  # nothing was compiled before
    assert list(tmp_path.rglob("*.nbc"))
    assert not uses_compiler(TAKEN_APART, FOUND.replace("one", "decompose"))
    # in the process that has loaded a kernel, another one is compiled, which calls it
    assert uses_compiler(TAKEN_APART, FOUND.replace("one", "decompose"), ADDED)
    assert not uses_compiler(ADDED, FOUND.replace("one", "add_value"), TAKEN_APART)
