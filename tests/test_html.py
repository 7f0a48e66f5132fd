"""Results as HTML for notebooks: all that is printed, escaped, with tags closed in order."""

import re
from functools import partial
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from naively import AutoBayes, GaussianNB, TextNB, compare, diagnose, drift
from naively.evaluation.compare import cells
from naively.evaluation.diagnose import rung_rows
from naively.evaluation.drift.drift import column_rows, share_rows, unlikely_rows
from naively.summary_tables import features

HOSTILE = "</td><script>alert(1)</script>"
TAGS = {"p", "b", "table", "caption", "thead", "tbody", "tr", "th", "td"}


class Page(HTMLParser):
    """The cells of the tables, and all text of HTML whose tags must be closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text, self.rows = [], "", []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        assert tag in TAGS
        assert {name for name, _ in attributes} <= {"style"}
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.text += " "

    def handle_data(self, data):
        self.text += data
        if self.open[-1:] in (["th"], ["td"]):
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    return pd.DataFrame({
        HOSTILE: rng.normal(size=300) + y,
        "job": np.array(["cook", HOSTILE, "nurse"])[(rng.integers(0, 3, 300) + y) % 3],
        "class": np.array([HOSTILE, "yes"])[y],
    })  # fmt: skip


def found_of(name, rows):
    """A result, and the tables that it has to show."""
    model = partial(AutoBayes().fit, rows, "class")
    if name == "diagnose":
        found = diagnose(rows, "class")
        return found, [found.parts()[0].rows, rung_rows(found)]
    if name == "compare":
        found = compare(rows, "class", only=["naive Bayes"], sizes=[20, 100])
        return found, [[cells(one) for one in found.candidates]]
    if name == "drift":
        found = drift(model(), rows[:150].assign(job="cook"))
        return found, [column_rows(found), unlikely_rows(found), share_rows(found)]
    if name == "cross-validation":
        found = AutoBayes().out_of_fold(rows, "class")
        error = found.scores.accuracy_standard_error
        return found, [[("accuracy", f"{found.accuracy:.1%} ± {error:.1%}")]]
    summary = model().summary()
    return summary, [features(summary).rows]


@pytest.mark.parametrize("name", ["diagnose", "compare", "drift", "cross-validation", "summary"])
def test_a_notebook_shows_what_is_printed(name, rows):
    found, tables = found_of(name, rows)
    html = found._repr_html_()
    page = Page(html)
    for table in tables:
        assert table
        for cells_ in table:
            assert any(row[: len(cells_)] == [*cells_] for row in page.rows), cells_
    printed = re.findall(r"\w+", str(found))
    missing = [word for word in {*printed} - {*re.findall(r"\w+", page.text)} if word.isalpha()]
    assert len(missing) < 0.05 * len(printed), missing


def test_a_fitted_model_shows_its_diagram_and_its_summary(rows):
    model = AutoBayes()
    diagram = model._repr_html_()
    assert "AutoBayes" in diagram
    assert "trained on" not in diagram
    model.fit(rows, "class")
    html, summary = model._repr_html_(), model.summary(0)._repr_html_()
    assert html.endswith(summary)
    assert model._repr_mimebundle_()["text/html"].endswith(summary)
    assert "trained on 300 rows" in html
    assert "<script>alert" not in html
    texts = TextNB().fit(["a prize", "a lunch", "prizes"], ["spam", "ham", "spam"])
    assert "trained on 3 rows" in texts._repr_html_()
    assert "trained on 300 rows" in GaussianNB().fit(rows[[HOSTILE]], rows["class"])._repr_html_()
    steps = make_pipeline(GaussianNB(), LogisticRegression())
    assert "trained on" not in steps._repr_html_()
    model.forget(rows, "class")
    assert "trained on" not in model._repr_html_()  # no class is left
    assert "fit" in dir(model)
