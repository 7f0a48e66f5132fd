"""A single row has the same bits as among others."""

import warnings

import numpy as np
import pandas as pd
import pytest

from naively import AutoBayes, NaiveBayes

LONG = "a category of more than fifteen bytes"


@pytest.mark.parametrize("kind", [AutoBayes, NaiveBayes])
def test_a_row_alone_has_the_bits_that_it_has_among_others(kind):
    learned = pd.DataFrame({
        "number": [0.0, 1.5, -2.0, np.nan, 3.0, 7.5] * 6,
        "text": ["red", LONG, "blue", "true", None, "5"] * 6,
        "whole": [1, 2, 3, 4, 5, 6] * 6,
        "flag": [True, False, True, True, False, False] * 6,
    })  # fmt: skip
    model = kind().fit(learned, ["yes", "no", "yes", "no", "no", "yes"] * 6)
    asked = pd.DataFrame({
        "number": [-0.0, np.inf, np.nan, 1e300, 1.5, -2.0, 0.25],
        "text": [LONG, LONG + "!", " red ", "NA", None, "5.0", "never learned"],
        "whole": [1, 9, -4, 2, 3, 2**40, 6],
        "flag": [True, False, True, False, True, False, True],
    })  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of infinity
        together = model.predict_proba(asked)
        alone = [model.predict_proba(asked.iloc[[k]]) for k in range(len(asked))]
    assert np.concatenate(alone).tobytes() == together.tobytes()
