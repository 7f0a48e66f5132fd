"""Arrays in model files: fewer bytes, the same bits, and no memory that a file does not pay for."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from test_like import table

from naively import AutoBayes
from naively.storage.packing import SMALL, pack, unpack

SHAPES = st.sampled_from([(SMALL,), (SMALL // 4, 5), (3, SMALL // 8, 1), (2, 700, 3)])
WHOLE = st.sampled_from(["i1", "i4", "i8", "u1", "u2", "u8"])


def bits(array):
    return array.dtype.str, array.shape, array.tobytes()


def round_trip(array):
    stored, forms = pack({"a": array})
    forms = json.loads(json.dumps(forms))
    assert sum(own.nbytes for own in stored.values()) <= array.nbytes
    assert bits(unpack(stored, forms)["a"]) == bits(array)
    return stored["a"]


@given(st.data())
@settings(max_examples=60)
def test_whole_numbers_are_read_as_they_were(data):
    dtype = np.dtype(data.draw(WHOLE))
    limits = np.iinfo(dtype)
    least = data.draw(st.sampled_from([0, 0, limits.min]))
    most = data.draw(st.integers(max(least, 0), limits.max))
    seed, shape = data.draw(st.integers(0, 99)), data.draw(SHAPES)
    draw = np.random.default_rng(seed)
    array = draw.integers(least, most, shape, dtype=dtype, endpoint=True)
    array[draw.random(shape) < data.draw(st.sampled_from([0.0, 0.9, 1.0]))] = 0
    round_trip(array)


@given(
    arrays_of.arrays(
        st.sampled_from([np.float64, np.float32]), SHAPES,
        elements=st.sampled_from([0.0, -0.0, 1.5, np.inf, np.nan, 0.125, 1e-45]),
        fill=st.sampled_from([0.0, -0.0, 0.1]),
    ),
    st.integers(0, 2**20),
)  # fmt: skip
@settings(max_examples=60)
def test_floats_are_read_as_they_were(array, seed):
    some = np.random.default_rng(seed).random(array.shape) < 0.2
    array[some] *= np.array(np.pi, array.dtype)
    round_trip(array)


def test_numbers_take_the_bits_of_the_largest_in_their_column():
    draw = np.random.default_rng(0)
    codes = np.stack([draw.integers(0, 2**k, 8000, np.int32) for k in (1, 5, 12)], axis=1)
    assert round_trip(codes).nbytes == 8000 * (1 + 5 + 12) / 8
    weights = (draw.random((40, 1000, 1)) < 0.02).astype(np.int64)
    assert round_trip(weights).nbytes == 40 * 1000 / 8
    assert round_trip(draw.integers(0, 256, 5000).astype(np.float64)).dtype == np.float32
    triangle = np.tril(draw.normal(size=(100, 100)))
    assert round_trip(triangle).nbytes < 0.53 * triangle.nbytes


@pytest.mark.parametrize("form", [
    None, [], ["i8", [5000], "bits"], ["i8", [5000], "bits", []], ["i8", [5000], "bits", [0]],
    ["i8", [5000], "bits", [64]], ["u1", [5000], "bits", [9]], ["i8", [0], "bits", [1]],
    ["i8", [10**30], "bits", [1]], ["i8", [2**40, 1], "bits", [1]], ["f8", [5001], "zeros", []],
    ["f8", [2**62], "zeros", []], ["i8", [5000], "type", []], ["f8", [5000], "type", []],
    ["O", [625], "type", []], ["i8", [-5000], "bits", [1]], ["i8", [625], "else", [1]],
])  # fmt: skip
def test_forms_that_cannot_be(form):
    with pytest.raises(ValueError, match=r"stored|bits"):
        unpack({"a": np.zeros(625, np.uint8)}, {"a": form})
    with pytest.raises(ValueError, match="how its tensor 'b' is stored"):
        unpack({"a": np.zeros(625, np.uint8)}, {"b": ["i8", [5000], "bits", [1]]})


def test_a_file_is_smaller_than_its_rows_as_numbers_of_eight_bytes(tmp_path):
    X, y = table(4000)
    model = AutoBayes(interactions=0).fit(X, y)
    model.save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < model.model_.statistics.codes.size * 8
