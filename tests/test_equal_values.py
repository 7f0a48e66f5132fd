"""Values that are different stay apart, and equal ones are one, whatever holds them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from naively import AutoBayes, GaussianNB, NaiveBayes, TextNB

ENDS = ["a\0", "a"] * 20
LABELS = {
    "list": ENDS, "objects": np.array(ENDS, object),
    "pandas": pd.Series(ENDS), "polars": pl.Series(ENDS), "arrow": pa.array(ENDS),
}  # fmt: skip


@pytest.mark.parametrize("held", LABELS)
@pytest.mark.parametrize("kind", [NaiveBayes, AutoBayes, GaussianNB, TextNB])
def test_labels_that_end_in_nul_are_refused(kind, held):
    """NumPy's arrays of text drop it: "a" and "a" with NUL became one class in silence."""
    X = {NaiveBayes: {"x": [1.0, 2.0] * 20}, TextNB: ["some words", "other ones"] * 20}
    X[AutoBayes], X[GaussianNB] = X[NaiveBayes], np.array([[1.0], [2.0]] * 20)
    with pytest.raises(ValueError, match=r"the label 'a\\x00' ends in a NUL character"):
        kind().fit(X[kind], LABELS[held])


def test_levels_that_differ_by_nul_stay_apart():
    y = ["u", "v"] * 20
    for kind in (NaiveBayes, AutoBayes):
        for X in ({"x": ENDS}, pd.DataFrame({"x": ENDS}), pl.DataFrame({"x": ENDS})):
            assert kind().fit(X, y).predict(X).tolist() == y
