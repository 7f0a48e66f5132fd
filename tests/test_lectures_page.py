"""docs/lectures.md prints what it shows: each line is run, each block after the first one only."""

import doctest
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from pages import BLOCK

mpl.use("Agg")

PAGE = Path(__file__).parents[1] / "docs" / "lectures.md"


def run(code, names):
    """Run a block with these names. (how many lines it has, the names after it)"""
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(code, names, PAGE.name, str(PAGE), 0)
    found = doctest.DocTestRunner(optionflags=options).run(test, clear_globs=False)
    assert found.failed == 0
    return found.attempted, test.globs


@pytest.mark.slow
def test_each_block_prints_what_it_says_after_the_first_one():
    first, *blocks = [match[2] for match in BLOCK.finditer(PAGE.read_text("utf-8"))]
    with np.printoptions():  # the page rounds; other tests do not
        number, setup = run(first, {})
        for block in blocks:
            lines, names = run(block, setup)
            assert not [name for name in setup if names[name] is not setup[name]]
            number += lines
    plt.close("all")
    assert number >= 190


def test_every_lecture_has_its_section():
    titles = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("## ")]
    assert [title[3:5] for title in titles if title[4] == "."] == ["1.", "2.", "3.", "4.", "5."]
