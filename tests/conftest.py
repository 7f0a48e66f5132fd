"""Shared fixtures: the real data sets, and profiles of hypothesis."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Tests run side by side. Threads of OpenMP that wait for each other take the processor meanwhile,
# which makes scikit-learn's boosting ten times slower; here they sleep. Read as it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

pytest.register_assert_rewrite("kit")

# Machines are slow at times, so no example has a deadline. Examples are the same in each run;
# the gate has three times as many, and `--hypothesis-profile thorough` draws others.
settings.register_profile(
    "naively", deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)  # fmt: skip
NAIVELY = settings.get_profile("naively")
settings.register_profile("gate", NAIVELY, max_examples=30)
settings.register_profile("thorough", NAIVELY, max_examples=300, derandomize=False)
settings.load_profile("naively")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Deal neighbours to one process: what tests of a file share is made once, not in each process.

    A process without tests takes over half of those that another still has.
    """
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the real data sets, which are no part of the project."""
    folder = os.environ.get("NAIVELY_DATA")
    if not folder:
        pytest.skip("set NAIVELY_DATA to the folder of the public data sets to run this test")
    return Path(folder)


@pytest.fixture
def unjudged(monkeypatch):
    """Fit without cross-validation, which takes several times the work of training."""
    monkeypatch.setattr("naively.cli.work.cross_validated", lambda *_: None)
