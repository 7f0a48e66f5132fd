"""Kernels run wherever they must: without a cache folder, on any array; and only when needed."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from kit import ONE_EACH, assert_same, domain, new, numbers
from scipy import sparse
from sklearn.base import clone

from naively import GaussianBayes
from naively.kernels.jit import Kernel


def run(code, **environment):
    """Standard output of a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env=os.environ | environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_naively_imports_no_heavy_library():
    heavy = run("""
        import sys
        import naively
        dir(naively)
        print(sorted({name.split(".")[0] for name in sys.modules}
              & {"numpy", "scipy", "numba", "llvmlite", "sklearn", "pyarrow", "pandas"}))
    """)
    assert heavy.strip() == "[]"


def test_the_public_names_are_there():
    import naively

    for name in naively.__all__:
        assert callable(getattr(naively, name))
    assert set(naively.__all__) <= set(dir(naively))
    with pytest.raises(AttributeError, match="no attribute 'Normal'"):
        _ = naively.Normal


def test_kernels_compile_where_no_cache_can_be_written():
    """numba finds no folder for its cache, as in a read-only installation without a home."""
    predicted = run("""
        from numba.core import caching
        caching.CacheImpl._locator_classes = []
        from numba import njit
        try:
            njit(lambda: 0, cache=True)
        except RuntimeError:
            pass
        else:
            raise SystemExit("numba still finds a cache")
        from naively import BernoulliNB
        print(BernoulliNB().fit([[0.0], [1.0], [1.0]], [0, 1, 1]).predict([[0.0], [1.0]]))
    """)
    assert predicted.strip() == "[0 1]"


def test_kernels_compile_where_the_cache_folder_does_not_exist(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    counted = run(
        """
        import numpy as np
        from naively.kernels.labels import rows_by_class
        print(rows_by_class(np.array([0, 1, 1]), 2)[1])
        """,
        NUMBA_CACHE_DIR=str(blocked / "cache"),
    )
    assert counted.strip() == "[0 1 3]"


@pytest.mark.parametrize("name", ONE_EACH)
def test_read_only_arrays(name):
    X, y = numbers(domain(name), 200, 3)
    weights = np.linspace(1, 2, 200)
    S = sparse.csr_array(X)
    plain = new(name).fit(X, y).partial_fit(X, y, sample_weight=weights)
    for array in (X, y, weights, S.data, S.indices, S.indptr):
        array.flags.writeable = False
    assert_same(plain, new(name).fit(X, y).partial_fit(X, y, sample_weight=weights), X)
    assert_same(plain, new(name).fit(S, y).partial_fit(S, y, sample_weight=weights), X)
    np.testing.assert_allclose(plain.predict_proba(S), plain.predict_proba(X), rtol=1e-10)


def compiled():
    """How often all kernels that are there were compiled."""
    homes = [home for name, home in sys.modules.items() if name.startswith("naively.kernels.")]
    found = {id(one): one for home in homes for one in vars(home).values()}
    kernels = [one for one in found.values() if isinstance(one, Kernel)]
    return sum(len(one.compiled.signatures) for one in kernels)


@pytest.mark.parametrize(
    "classifier", [*map(new, ONE_EACH), GaussianBayes(), GaussianBayes("tied")], ids=str
)
def test_read_only_arrays_compile_nothing_anew(classifier):
    X, y = numbers(domain("categorical"), 90, 3)
    weights = np.linspace(1, 2, 90)
    counts = []
    for _ in range(2):
        for data in (X, sparse.csr_array(X)):
            if data is X or not isinstance(classifier, GaussianBayes):
                clone(classifier).fit(data, y, sample_weight=weights)
                clone(classifier).fit(data, y).predict_proba(X)
        counts.append(compiled())
        for array in (X, weights):
            array.flags.writeable = False
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", ">i4", "g", "i1", "i2", "i4", "i8",
                                   "u1", "u2", "u4", "u8", "?"])  # fmt: skip
@pytest.mark.parametrize("name", ONE_EACH)
def test_numbers_of_every_type(name, dtype):
    X, y = numbers("levels", 100, 3)
    X = X > 1 if dtype == "?" else X
    plain = new(name).fit(X.astype(float), y)
    typed = X.astype(dtype)
    assert_same(plain, new(name).fit(typed, y), X.astype(float))
    np.testing.assert_array_equal(plain.predict_proba(typed), plain.predict_proba(X.astype(float)))
    if dtype not in ("f2", "g", ">f8", ">i4"):  # SciPy has no sparse matrices of these
        assert_same(plain, new(name).fit(sparse.csr_array(typed), y), X.astype(float))


def test_data_are_never_changed():
    X, y = numbers("counts", 300, 4)
    X[5, 2] = np.nan
    S = sparse.csr_array(X)
    repeated = sparse.csr_array(
        (np.r_[1.0, 2.0, 4.0], np.r_[1, 1, 0], np.r_[0, 2, 3]), shape=(2, 2)
    )
    for name in ONE_EACH:
        for data, labels in ((X, y), (S, y), (repeated, np.array([0, 1]))):
            before = data.copy()
            classifier = new(name).fit(data, labels)
            classifier.predict_proba(data)
            classifier.explain(data)
            dense, then = (a if isinstance(a, np.ndarray) else a.data for a in (data, before))
            np.testing.assert_array_equal(dense, then)


def test_repeated_entries_of_a_sparse_matrix_add_up():
    repeated = sparse.csr_array(
        (np.r_[1.0, 2.0, 4.0], np.r_[1, 1, 0], np.r_[0, 2, 3]), shape=(2, 2)
    )
    X, y = repeated.toarray(), np.array([0, 1])
    for name in ONE_EACH:
        assert_same(new(name).fit(X, y), new(name).fit(repeated, y), X)
