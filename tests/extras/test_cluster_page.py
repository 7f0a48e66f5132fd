"""The tutorial about clusters prints what it shows; in a process of its own, as Spark runs once."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dask", reason="needs naively[dask]")
pytest.importorskip("pyspark", reason="needs naively[spark]")

TESTS = Path(__file__).parents[1]


def test_the_tutorial_about_clusters(tmp_path):
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java: the package openjdk-17-jre-headless")
    code = "import pages; print(pages.run('docs/tutorials/cluster.md'))"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=os.environ | {
            "COLUMNS": "80", "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)]),
        },
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-5000:]
    assert int(ended.stdout.split()[-1]) > 25
