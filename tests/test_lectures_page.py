"""docs/lectures.md prints what it shows: each line is run."""

import doctest
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

mpl.use("Agg")

PAGE = Path(__file__).parents[1] / "docs" / "lectures.md"


@pytest.mark.slow
def test_the_page_prints_what_it_says():
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    with np.printoptions():  # the page rounds; other tests do not
        found = doctest.testfile(
            str(PAGE), module_relative=False, optionflags=options, encoding="utf-8"
        )
    plt.close("all")
    assert found.attempted >= 190
    assert found.failed == 0


def test_every_lecture_has_its_section():
    titles = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("## ")]
    assert [title[3:5] for title in titles if title[4] == "."] == ["1.", "2.", "3.", "4.", "5."]
