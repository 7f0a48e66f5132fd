"""Kernels take any array, and change no input."""

import numpy as np
import pytest
from kit import ONE_EACH, assert_same, domain, new, numbers
from scipy import sparse


def test_the_public_names_are_there():
    import naively

    for name in naively.__all__:
        assert callable(getattr(naively, name))
    assert set(naively.__all__) <= set(dir(naively))
    with pytest.raises(AttributeError, match="no attribute 'Normal'"):
        _ = naively.Normal


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
