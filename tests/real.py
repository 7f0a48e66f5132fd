"""The real tables of NAIVELY_DATA, as `benchmarks/suite.py` reads them."""

import os
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import suite

TABLES = sorted(set(suite.TABLES) - {"covtype", "mnist-40", "haxby-25mm"})
MOST = 4000


@cache
def real(name):
    """Some rows of a table, in an order of chance, and their labels."""
    X, y = suite.TABLES[name](Path(os.environ["NAIVELY_DATA"]))
    rows = np.random.default_rng(0).permutation(len(X))[:MOST]
    return pd.DataFrame(X).iloc[rows].reset_index(drop=True), np.asarray(y)[rows]
