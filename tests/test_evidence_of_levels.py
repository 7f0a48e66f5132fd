"""Evidence of categories: observed rows beside expected rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold

from naively import AutoBayes, NaiveBayes
from naively.io.sources import open_source
from naively.pooling.blocks.smoothing import levels

counts = st.lists(st.integers(0, 1000), min_size=3, max_size=3)


@given(counts)
def test_expected_counts_are_no_evidence(weights):
    prior = np.array([0.7, 0.25, 0.05])
    assert levels(sum(weights) * prior[np.newaxis], prior) == pytest.approx(0, abs=1e-12)


@given(counts, st.integers(0, 2))
def test_one_row_more_of_a_class_speaks_for_it(met, own):
    prior = np.array([0.7, 0.25, 0.05])
    more = np.array(met) + np.eye(3, dtype=int)[own]
    before, after = levels(np.array([met, more], float), prior)
    assert np.isfinite(before).all()
    assert (np.delete(after, own) < np.delete(before, own)).all()
    assert after[own] > before[own]


def test_a_rare_class_is_not_ruled_out_by_a_level_that_it_could_miss_by_chance():
    """Two rows of four are expected in half of all rows: e**-2 is the chance that there is none."""
    prior = np.array([0.95, 0.05])
    gone = levels(np.array([[40.0, 0.0]]), prior)[0, 1]
    assert -2 < gone < -0.5
    assert levels(np.array([[4000.0, 0.0]]), prior)[0, 1] < -5  # here it is no chance


def test_zoo(data_folder):
    """101 animals of seven classes: what few rows of a class tell is not overrated."""
    table = open_source(data_folder / "zoo" / "zoo.arff").to_table().to_pandas()
    names = {name.lower(): name for name in table}
    y = table.pop(names["type"]).astype(str).to_numpy()
    X = table.drop(columns=names["animal"])
    loss = dict.fromkeys((AutoBayes, NaiveBayes), 0.0)
    for learned, judged in KFold(10, shuffle=True, random_state=0).split(X):
        for kind in loss:
            model = kind().fit(X.iloc[learned], y[learned])
            proba = model.predict_proba(X.iloc[judged])
            loss[kind] += log_loss(y[judged], proba, labels=model.classes_) * len(judged)
    assert loss[AutoBayes] < 1.1 * loss[NaiveBayes]
