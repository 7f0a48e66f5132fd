"""README.md, the first steps and the tutorials print what they show: their code is run."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pages
import pytest

pytestmark = pytest.mark.slow
mpl.use("Agg")

PAGES = ["README.md", "docs/start.md", "docs/choose.md", "docs/sklearn.md", "docs/tables.md",
         "docs/text.md", "docs/text-details.md", "docs/evidence.md", "docs/evaluate.md",
         "docs/explain.md", "docs/forgetting.md", "docs/pictures.md", "docs/streams.md",
         "docs/tutorials/credit.md", "docs/tutorials/teaching.md"]  # fmt: skip
WITH_DATA = ["docs/tutorials/spam.md", "docs/tutorials/news.md", "docs/drift.md"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder; what pages say about printing and drawing ends with them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    with np.printoptions():
        yield
    plt.close("all")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(page):
    assert pages.run(page) > 0


@pytest.mark.parametrize("page", WITH_DATA)
def test_a_page_about_real_data_does_what_it_says(page, data_folder):
    assert pages.run(page) > 5
