"""Different values stay different, and equal ones equal, in every container and type."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naively
from naively import AutoBayes, GaussianNB, NaiveBayes, TextNB
from naively.io.frames import to_array
from naively.storage.digest import digest
from naively.tables import values

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


WHOLE = [2**53, 2**53 + 1, 10**20 + 1]
FORMS = {
    "objects": lambda x: {"x": np.array(x, object)},
    "decimals": lambda x: {"x": [Decimal(one) for one in x]},
    "with zeros": lambda x: {"x": [Decimal(f"{one}.00") for one in x]},
    "narrow decimals": lambda x: pa.table({"x": pa.array(map(Decimal, x), pa.decimal256(50, 20))}),
    "arrow": lambda x: pa.table({"x": pa.array(map(Decimal, x), pa.decimal128(30, 3))}),
    "text": lambda x: {"x": [str(one) for one in x]},
    "text with zeros": lambda x: pl.DataFrame({"x": [f"{one}.000" for one in x]}),
    "beside fractions": lambda x: pd.DataFrame({"x": pd.Series([*x, 0.5], dtype=object)})[:-1],
    "categories": lambda x: pd.DataFrame({"x": pd.Categorical(x)}),
    "polars": lambda x: pl.DataFrame({"x": pl.Series(x, dtype=pl.Int128)}),
    "encoded": lambda x: pa.table({"x": pa.array(map(Decimal, x)).dictionary_encode()}),
}  # fmt: skip


@pytest.mark.parametrize("learned", [AutoBayes, lambda: NaiveBayes({"x": "categorical"})])
def test_whole_numbers_beyond_float64_are_levels_of_their_own(learned, tmp_path):
    """9007199254740993.00 was the level 9007199254740992."""
    x, y = WHOLE * 10, list("uvw") * 10
    model = learned().fit({"x": x}, y)
    expected = model.predict_proba({"x": WHOLE}).tolist()
    assert model.predict({"x": WHOLE}).tolist() == ["u", "v", "w"]
    for name, form in FORMS.items():
        assert model.predict_proba(form(WHOLE)).tolist() == expected, name
        assert learned().fit(form(x), y).model_ == model.model_, name
    for spelled in ("{}", "{}.0", "+{}", '"{}"'):
        (tmp_path / "x.csv").write_text("x\n" + "".join(f"{spelled.format(n)}\n" for n in WHOLE))
        found = model.predict_proba(naively.scan(tmp_path / "x.csv")).tolist()
        assert found == expected, spelled


@pytest.mark.parametrize("learned", [AutoBayes, NaiveBayes])
def test_the_first_whole_number_beyond_float64_is_no_other_one(learned):
    """As float64 it is 2**53, below which all are told apart: that is what a row alone was."""
    x = WHOLE[:2]
    model = learned().fit({"x": x * 20}, ["u", "v"] * 20)
    assert model.predict({"x": x}).tolist() == ["u", "v"]
    for one, expected in zip(x, model.predict_proba({"x": x}).tolist(), strict=True):
        for form in ([one], [str(one)], [Decimal(one)], [None, one]):
            assert model.predict_proba({"x": form})[-1].tolist() == expected


@given(st.lists(st.decimals(-(10**9), 10**9, places=3), min_size=1, max_size=20))
def test_decimals_are_the_numbers_that_they_read_as(x):
    """Arrow's own conversion gives 3.1000000000000001 for 3.10."""
    for kind in (pa.decimal128(20, 3), pa.decimal128(30, 8), pa.decimal256(60, 10)):
        found = values.numbers(pa.array(x, kind), ()).values
        assert found.tolist() == [float(one) for one in x]
        assert values.numbers(pa.array(x, kind).dictionary_encode(), ()).values.tolist() == (
            found.tolist()
        )


NARROW = [0.1, 1 / 3, 5 * 2.0**24 + 8, 1e20, -2.5]


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_narrow_numbers_are_the_same_in_every_holder(kind):
    """The level of a number is its value, as of the same number in float64."""
    x = np.array([one for one in NARROW if one < float(np.finfo(kind).max)], kind)
    expected = [str(int(one)) if one == np.floor(one) else repr(float(one)) for one in x]
    array = pa.array(x)
    for form in (array, array.dictionary_encode(), x, list(x), pd.Series(list(x), dtype=object)):
        column = values.flat(to_array(form))
        places, texts = values.level_texts(column, ())
        assert [texts[k] for k in places] == expected
        assert values.numbers(column, ()).values.tolist() == x.astype(float).tolist()
    assert values.level_texts(to_array([*x, "x"]), ())[1] == [*expected, "x"]


@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.parametrize("model", [NaiveBayes, AutoBayes])
def test_batches_of_narrow_numbers_are_those_of_their_values(model, kind):
    """Where a column of one value, or of few, turns to numbers, sums are of the values."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300).astype(kind)
    x[:20] = kind(0.1)  # a constant first
    n, y = rng.poisson(3, 300).astype(kind), (x > 0).astype(int)
    y[:20] = np.arange(20) % 2

    def batches(dtype):
        found, parts = model(), [(0, 20), (20, 120), (120, 300)]
        for a, b in parts:
            rows = {"x": x[a:b].astype(dtype), "n": n[a:b].astype(dtype)}
            found.partial_fit(rows, y[a:b])
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        narrow, wide = batches(kind), batches(np.float64)
    assert narrow.model_ == wide.model_
    assert digest(narrow.model_) == digest(wide.model_)
    moved = narrow.forget({"x": x[120:], "n": n[120:]}, y[120:])
    wide.forget({"x": x[120:].astype(float), "n": n[120:].astype(float)}, y[120:])
    assert moved.model_ == wide.model_


@pytest.mark.parametrize("columns", [{"x": "categorical"}, {("x", "z"): "joint"}])
def test_levels_that_were_rounded_to_float32_are_known(columns):
    """Parquet, NumPy and CSV have fractions in different precisions."""
    x, y = [0.1, 0.7, -2.3, 1e-3] * 20, list("uvvu") * 20
    narrow, z = np.float32(x), [*"pq"] * 40
    for learned, others in ((x, (narrow, [*map(str, x)])), (narrow, (x, [*map(str, x)]))):
        model = NaiveBayes(columns).fit({"x": learned, "z": z}, y)
        expected = model.predict_proba({"x": learned, "z": z})
        for other in others:
            assert (model.predict_proba({"x": other, "z": z}) == expected).all()
    model = NaiveBayes(columns).fit({"x": x, "z": z}, y)
    unseen = model.predict_proba({"x": [5.5], "z": ["p"]})
    assert (model.predict_proba({"x": [0.1001], "z": ["p"]}) == unseen).all()


def test_bytes_that_are_no_text_stay_apart():
    x, y = [b"\xff\xfe", b"\xff\xfd"] * 20, ["u", "v"] * 20
    for form in ({"x": x}, pl.DataFrame({"x": x}), pd.DataFrame({"x": x}), pa.table({"x": x})):
        for kind in (NaiveBayes, AutoBayes):
            assert (
                kind({"x": "categorical"} if kind is NaiveBayes else "auto")
                .fit(form, y)
                .predict(form)
                .tolist()
                == y
            )


TRUTHS = {
    "truth values": lambda x: x,
    "text": lambda x: ["TRUE" if one else "False" for one in x],
    "numbers": lambda x: [int(one) for one in x],
    "floats": lambda x: pa.array([float(one) for one in x]),
    "numbers as text": lambda x: ["1" if one else "0" for one in x],
}


@pytest.mark.parametrize("learned", TRUTHS)
@pytest.mark.parametrize("columns", ["auto", None, {"x": "categorical"}, {("x", "z"): "joint"}])
def test_truth_values_ask_for_the_same_as_one_and_zero(columns, learned):
    """A database without truth values gives 1 and 0, which were levels that nobody had met."""
    x, y = [True, False, True, False, True, False] * 10, list("uvuvvu") * 10
    model = AutoBayes() if columns == "auto" else NaiveBayes(columns)
    model.fit({"x": TRUTHS[learned](x), "z": ["p", "q", "p"] * 20}, y)
    rows = {"z": ["p", "q"] * 3}
    expected = model.predict_proba({"x": TRUTHS[learned](x[:6]), **rows}).tolist()
    assert expected[0] != expected[1]
    for name, form in TRUTHS.items():
        found = model.predict_proba({"x": form(x[:6]), **rows}).tolist()
        assert found == expected, name
        one = model.predict_proba({"x": form(x[:1]), "z": ["p"]}).tolist()
        assert one == expected[:1], name


@pytest.mark.parametrize("kind", [NaiveBayes, AutoBayes])
def test_rows_may_be_named_by_numbers(kind):
    """A list of dicts whose keys are no text was a table without a value, in silence."""
    x, y = [1.5, 2.5, 3.5, 5.0] * 10, list("uuvv") * 10
    model = kind().fit({0: x, ("b", 2): x[::-1]}, y)
    rows = [{0: one, ("b", 2): other} for one, other in zip(x, x[::-1], strict=True)]
    assert kind().fit(rows, y).model_ == model.model_
    expected = model.predict_proba(pd.DataFrame({"0": x, "('b', 2)": x[::-1]}))
    assert np.array_equal(model.predict_proba(rows), expected)
    with pytest.raises(ValueError, match="more than one is called '0'"):
        kind().fit([{0: 1.0, "0": 2.0}] * 40, y)
