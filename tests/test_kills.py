"""`benchmarks/kills.py`: a few kills of each command."""

import importlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.parametrize("case", ["update", "forget"])
def test_a_kill_loses_no_row_and_counts_none_twice(case, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    kills = importlib.import_module("kills")
    small = {
        "update": kills.Change("update", rows=2000, some=100),
        "forget": kills.Change("forget", rows=2000, some=100),
    }
    count = 2
    found = kills.run(small[case], count, seed=1)
    assert found.kills >= count
    assert found.ends >= 1
    assert found.damage == []
