"""Arrow requests from untrusted clients: the service reports errors, and continues."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs naively[serve]")
pytest.importorskip("prometheus_client", reason="needs naively[serve]")

from arrow_bodies import unreadable


@pytest.fixture(scope="module")
def statuses(tmp_path_factory):
    """The statuses of answers; of a process of its own, as a crash would end this one."""
    script = Path(__file__).with_name("arrow_requests.py")
    folder = tmp_path_factory.mktemp("requests")
    done = subprocess.run(
        [sys.executable, str(script), str(folder), "0", "2000"], capture_output=True, text=True
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert not done.stderr
    return json.loads(done.stdout)


def test_what_a_damaged_body_is_answered(statuses):
    expected = {"200", "400", "409", "413", "415", "422"}
    for path, tally in statuses["damaged"].items():
        assert {*tally} <= expected, path
        assert tally["200"] > 15
        assert tally["400"] > 100


def test_what_an_odd_body_is_answered(statuses):
    for name, found in statuses["named"].items():
        if name in unreadable():
            assert found == [422] * 4, name
        else:
            assert found[:2] == [200, 200], name
            # rows are learned and forgotten, or refused as another type than the column has
            assert found[2:] in ([200, 200], [422, 409], [422, 422]), name
    # labels are text, which takes any type but a duration
    refused = [name for name, found in statuses["named"].items() if found[2:] != [200, 200]]
    labels = [name for name in refused if name.endswith(" in rich") and name not in unreadable()]
    assert labels == ["a long duration in ns in rich"]
