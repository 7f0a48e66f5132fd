"""What all tests share: the real data, and how long hypothesis looks for a counterexample."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("kit")

# The first call of a kernel compiles it, so no example has a deadline. Examples are the same in
# each run; `--hypothesis-profile thorough` draws others, and more.
settings.register_profile(
    "naively", deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)  # fmt: skip
settings.register_profile(
    "thorough", settings.get_profile("naively"), max_examples=300, derandomize=False
)
settings.load_profile("naively")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the real data sets, which are no part of the project."""
    folder = os.environ.get("NAIVELY_DATA")
    if not folder:
        pytest.skip("set NAIVELY_DATA to the folder of the public data sets to run this test")
    return Path(folder)
