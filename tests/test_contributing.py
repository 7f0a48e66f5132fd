"""The family that CONTRIBUTING.md shows works with one file and one line, as the page says."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from naively import NaiveBayes, load
from naively.families import registry

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text("utf-8")


@pytest.fixture
def geometric(monkeypatch):
    """The page's file and line, until the test ends."""
    (line,) = re.findall(r'^    "(\w+)": "([\w.]+)",$', PAGE, re.MULTILINE)
    kind, home = line
    (source,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    module = types.ModuleType(home)
    monkeypatch.setitem(sys.modules, home, module)
    exec(compile(source, "CONTRIBUTING.md", "exec"), vars(module))
    monkeypatch.setitem(registry.HOMES, kind, home)
    return getattr(module, kind)


def test_the_family_of_the_page(geometric, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.geometric(np.where(y, 0.2, 0.5)[:, np.newaxis], (400, 2)) - 1.0
    X[::9, 1] = np.nan
    columns = {"x0": "geometric", "x1": "geometric"}
    model = NaiveBayes(columns=columns).fit(X, y)

    scores = np.log(np.bincount(y) / len(y)) + np.zeros((len(X), 2))
    for c in (0, 1):
        for x, met in zip(X.T, X[y == c].T, strict=True):
            seen = met[~np.isnan(met)]
            p = (len(seen) + 1) / (len(seen) + seen.sum() + 2)
            scores[:, c] += np.nan_to_num(stats.geom.logpmf(x, p, loc=-1))
    assert_allclose(model.model_.posterior().joint_log_proba(X), scores, rtol=1e-10)
    assert_allclose(model.explain(X).joint, scores, rtol=1e-10)

    half = NaiveBayes(columns=columns).fit(X[:200], y[:200])
    rest = NaiveBayes(columns=columns).fit(X[200:], y[200:])
    assert (half + rest).model_ == model.model_
    model.save(tmp_path / "m.model")
    assert load(tmp_path / "m.model").model_ == model.model_
    model.forget(X[200:], y[200:])
    assert model.model_ == half.model_
    drawn, _ = model.sample(4000, label=1, random_state=0)
    assert_allclose(np.mean(drawn, axis=0), 4.0, atol=1.0)  # (1 - 0.2) / 0.2 failures
    with pytest.warns(UserWarning, match=r"geometric.*-1.0 cannot be"):
        unknown = model.predict_proba([[-1.0, 2.0]])
    assert_allclose(unknown, model.predict_proba([[np.nan, 2.0]]))
