"""Types of columns that a source or the user declares hold for any values."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

import naively
from naively import AutoBayes, NaiveBayes
from naively.cli import main

KINDS, ROWS = 40, 1200
RNG = np.random.default_rng(0)
CODES = RNG.integers(0, KINDS, ROWS)
Y = (RNG.random(ROWS) < 1 / (1 + np.exp(-RNG.normal(size=KINDS)[CODES] * 1.5))).astype(int)
TEXTS = [str(code) for code in CODES]
ALL, FIRST, REST = slice(None), slice(500), slice(500, None)


def as_arff(at, folder):
    path = folder / f"{at.start}-{at.stop}.arff"
    kinds = ",".join(map(str, range(KINDS)))
    head = f"@relation r\n@attribute k {{{kinds}}}\n@attribute y {{0,1}}\n@data\n"
    path.write_text(head + "".join(f"{k},{y}\n" for k, y in zip(CODES[at], Y[at], strict=True)))
    return naively.scan(path)


def as_file(write, suffix):
    def source(at, folder):
        path = folder / f"{at.start}-{at.stop}.{suffix}"
        write(in_memory["arrow"](at, folder).append_column("y", pa.array(Y[at])), path)
        return naively.scan(path)

    return source


def as_csv(at, folder):
    path = folder / f"{at.start}-{at.stop}.csv"
    pd.DataFrame({"k": CODES[at], "y": Y[at]}).to_csv(path, index=False)
    return path


in_memory = {
    "pandas": lambda at, _: pd.DataFrame({"k": pd.Categorical(CODES[at], categories=range(KINDS))}),
    "arrow": lambda at, _: pa.table({"k": pa.array(CODES[at]).dictionary_encode()}),
    "polars": lambda at, _: pl.DataFrame({"k": pl.Series(TEXTS[at], dtype=pl.Categorical)}),
    "enum": lambda at, _: pl.DataFrame(
        {"k": pl.Series(TEXTS[at], dtype=pl.Enum([*map(str, range(KINDS))]))}
    ),
}
sources = in_memory | {
    "arff": as_arff,
    "parquet": as_file(parquet.write_table, "parquet"),
    "feather": as_file(lambda table, path: feather.write_feather(table, str(path)), "arrow"),
}
PLAIN = {"k": CODES}


def target(source, at):
    """Labels of rows: the name of a column of files."""
    return Y[at] if source in in_memory else "y"


def by_hand():
    """The probability of class 1 of each row, from counts with one virtual count a level."""
    count = np.ones((2, KINDS))
    np.add.at(count, (Y, CODES), 1)
    joint = (count / count.sum(axis=1, keepdims=True) * np.bincount(Y)[:, None])[:, CODES]
    return joint[1] / joint.sum(axis=0)


def log_loss(proba):
    return -np.log(proba[np.arange(len(Y)), Y]).mean()


@pytest.mark.parametrize("source", sources)
def test_declared_categories_of_numbers_are_levels(source, tmp_path):
    make = sources[source]
    model = NaiveBayes().fit(make(ALL, tmp_path), target(source, ALL))
    # of numbers in another source, too: the model says what a column is
    np.testing.assert_allclose(model.predict_proba(PLAIN)[:, 1], by_hand(), rtol=1e-12)
    pooled = AutoBayes().fit(make(ALL, tmp_path), target(source, ALL))
    (shape,) = pooled.evidence_
    assert sorted(shape.bins[0].labels[:KINDS]) == sorted(map(str, range(KINDS)))
    reference = AutoBayes().fit(in_memory["pandas"](ALL, tmp_path), Y)
    assert (pooled.predict_proba(PLAIN) == reference.predict_proba(PLAIN)).all()


def test_it_is_the_model_of_the_same_categories_with_names():
    named = AutoBayes().fit({"k": [f"k{code}" for code in CODES]}, Y)
    expected = log_loss(named.predict_proba({"k": [f"k{code}" for code in CODES]}))
    declared = AutoBayes().fit(in_memory["pandas"](ALL, None), Y)
    assert log_loss(declared.predict_proba(PLAIN)) == pytest.approx(expected, rel=0.01)
    assert log_loss(AutoBayes().fit(PLAIN, Y).predict_proba(PLAIN)) > 1.005 * expected


@pytest.mark.parametrize("first", ["pandas", "plain"])
@pytest.mark.parametrize("second", ["pandas", "plain"])
def test_declared_once_is_declared(first, second, tmp_path):
    """Batches, sums and forgetting: the model does not depend on which of them declares it."""

    def part(name, at):
        return in_memory["pandas"](at, None) if name == "pandas" else {"k": CODES[at]}

    declared = "pandas" in (first, second)
    whole = AutoBayes(categorical=["k"] if declared else []).fit(PLAIN, Y)
    batches = AutoBayes().fit(part(first, FIRST), Y[FIRST]).partial_fit(part(second, REST), Y[REST])
    added = AutoBayes().fit(part(first, FIRST), Y[FIRST]) + AutoBayes().fit(
        part(second, REST), Y[REST]
    )
    loaded = tmp_path / "a.model"
    batches.save(loaded)
    for model in (batches, added, naively.load(loaded)):
        assert dict(model.model_.schema.types) == ({"k": "categorical"} if declared else {})
        assert (model.predict_proba(PLAIN) == whole.predict_proba(PLAIN)).all()
        assert [s.bins[0].labels for s in model.evidence_] == [
            s.bins[0].labels for s in whole.evidence_
        ]
    left = added.forget(part(second, REST), Y[REST])
    of_first = AutoBayes(categorical=["k"] if declared else []).fit({"k": CODES[FIRST]}, Y[FIRST])
    assert (left.predict_proba(PLAIN) == of_first.predict_proba(PLAIN)).all()
    if first == "pandas":
        declared_left = batches.forget({"k": CODES[REST]}, Y[REST])  # as undeclared rows
        assert (declared_left.predict_proba(PLAIN) == of_first.predict_proba(PLAIN)).all()


def test_a_plain_product_has_no_levels_of_what_it_learned_as_very_many_numbers():
    many = RNG.integers(0, 5000, 3000) * 1.0  # more than are stored one by one
    model = NaiveBayes().fit({"k": many}, many > 2000)
    before = model.predict_proba(PLAIN)
    rest = in_memory["pandas"](REST, None)
    with pytest.raises(ValueError, match="'k' is declared categorical here, and was trained as"):
        model.partial_fit(rest, Y[REST] == 1)
    assert (model.predict_proba(PLAIN) == before).all()
    with pytest.raises(ValueError, match="column 'k' is"):
        model + NaiveBayes().fit(rest, Y[REST] == 1)


@pytest.mark.parametrize("first", [True, False])
def test_a_plain_product_has_the_levels_of_all_its_rows(first):
    """Whichever rows declare the column, it is categorical, and was never anything else."""
    given = [in_memory["pandas"](FIRST, None), {"k": CODES[REST]}]
    if not first:
        given = [{"k": CODES[FIRST]}, in_memory["pandas"](REST, None)]
    batches = NaiveBayes().fit(given[0], Y[FIRST]).partial_fit(given[1], Y[REST])
    added = NaiveBayes().fit(given[0], Y[FIRST]) + NaiveBayes().fit(given[1], Y[REST])
    whole = NaiveBayes(categorical=["k"]).fit(PLAIN, Y)
    for model in (batches, added):
        np.testing.assert_allclose(model.predict_proba(PLAIN)[:, 1], by_hand(), rtol=1e-12)
        assert model.model_.canonical() == whole.model_.canonical()
        assert dict(model.model_.schema.types) == {"k": "categorical"}
    plain = NaiveBayes().fit(PLAIN, Y)
    plain.forget(in_memory["pandas"](REST, None), Y[REST])  # learned as undeclared rows
    assert plain.model_ == NaiveBayes().fit({"k": CODES[FIRST]}, Y[FIRST]).model_
    left = added.forget(given[1], Y[REST])
    of_first = NaiveBayes(categorical=["k"]).fit({"k": CODES[FIRST]}, Y[FIRST])
    np.testing.assert_array_equal(left.predict_proba(PLAIN), of_first.predict_proba(PLAIN))


@pytest.mark.parametrize("first", [[7] * 30, [1, 2, 3] * 10])
def test_few_declared_values_stay_levels_when_others_come(first):
    """A constant, or a few whole numbers, in the first batch settle nothing else."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no column has evidence yet")
        model = NaiveBayes().fit({"k": pd.Categorical(first)}, [0, 1] * 15)
    model.partial_fit({"k": CODES}, Y)
    assert model.model_.schema.family_of["k"].name == "categorical"
    whole = NaiveBayes(categorical=["k"]).fit({"k": [*first, *CODES]}, [*([0, 1] * 15), *Y])
    np.testing.assert_allclose(model.predict_proba(PLAIN), whole.predict_proba(PLAIN), rtol=1e-12)


def test_declared_dates_are_categories_and_long_texts_are_texts():
    days = [f"2024-01-{day:02}" for day in CODES % 20 + 1]
    model = AutoBayes().fit({"k": pd.Categorical(days)}, Y)
    assert [shape.part for shape in model.evidence_] == [""]
    assert NaiveBayes().fit({"k": pd.Categorical(days)}, Y).model_.schema.family_of["k"].name == (
        "categorical"
    )
    texts = [f"one two three four five six {k} {i}" for i, k in enumerate(CODES)]
    dictionary = {"k": pa.array(texts).dictionary_encode()}
    assert NaiveBayes().fit(dictionary, Y).model_.schema.family_of["k"].name == "text"
    assert dict(AutoBayes().fit(dictionary, Y).model_.schema.types) == {}


def test_the_user_declares_types():
    texts = [*TEXTS[:-1], "none of them"]
    with pytest.warns(UserWarning, match="'none of them'"):
        model = AutoBayes(numeric=["k"]).fit({"k": texts}, Y)
    codes = CODES.astype(float)
    codes[-1] = np.nan
    expected = AutoBayes().fit({"k": codes}, Y)
    assert (model.predict_proba(PLAIN) == expected.predict_proba(PLAIN)).all()
    few = NaiveBayes(numeric=["k"]).fit({"k": CODES % 3 - 1}, Y)
    assert few.model_.schema.family_of["k"].name == "gaussian"
    with pytest.raises(ValueError, match="`numeric` and `monotone` decide what is counted"):
        few.set_params(numeric=[]).reestimate()
    # whatever its source says
    given = NaiveBayes(numeric=["k"]).fit(in_memory["pandas"](ALL, None), Y)
    assert given.model_.schema.family_of["k"].name == "gaussian"
    with pytest.raises(ValueError, match="declared numeric in one model and categorical in"):
        AutoBayes(numeric=["k"]).fit(PLAIN, Y) + AutoBayes(categorical=["k"]).fit(PLAIN, Y)
    for wrong, said in (
        ({"categorical": ["k"], "numeric": ["k"]}, "cannot be both"),
        ({"categorical": "k"}, "is a list of names"),
        ({"categorical": ["q"]}, "no column 'q'"),
    ):
        with pytest.raises(ValueError, match=said):
            AutoBayes(**wrong).fit(PLAIN, Y)


def test_a_numeric_column_is_numeric_whatever_is_added():
    """Text that an undeclared model counted is missing where the sum is of a numeric column."""
    texts = [*TEXTS[:-1], "none of them"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [AutoBayes(numeric=["k"]).fit({"k": texts[FIRST]}, Y[FIRST]),
                 AutoBayes().fit({"k": texts[REST]}, Y[REST])]  # fmt: skip
        whole = AutoBayes(numeric=["k"]).fit({"k": texts}, Y)
    for added in (parts[0] + parts[1], parts[1] + parts[0]):
        assert (added.predict_proba(PLAIN) == whole.predict_proba(PLAIN)).all()


@pytest.mark.parametrize("naive", [[], ["--naive"]])
def test_options_declare_types_of_csv(naive, tmp_path, capsys):
    model, part, table = tmp_path / "m.model", tmp_path / "p.model", as_csv(ALL, tmp_path)
    fit = ["--target", "y", "--categorical", "k", *naive, "-o", str(model)]
    assert main.run(["fit", str(table), *fit]) == 0
    kind = NaiveBayes if naive else AutoBayes
    expected = kind(categorical=["k"]).fit({"k": CODES}, Y)
    found = naively.load(model)
    assert found.categorical == ["k"]
    assert (found.predict_proba(PLAIN) == expected.predict_proba(PLAIN)).all()
    fit[-1] = str(part)
    assert main.run(["fit", str(as_csv(FIRST, tmp_path)), *fit]) == 0
    assert main.run(["update", str(part), str(as_csv(REST, tmp_path))]) == 0
    assert (naively.load(part).predict_proba(PLAIN) == expected.predict_proba(PLAIN)).all()
    assert main.run(["fit", str(table), "--target", "y", "--numeric", "q", "-o", str(model)]) != 0
    assert "no column 'q'" in capsys.readouterr().err


# ---- laws ----------------------------------------------------------------------------------------

FORMS = {
    "plain": lambda codes: {"k": codes},
    "texts": lambda codes: {"k": [*map(str, codes)]},
    "pandas": lambda codes: pd.DataFrame({"k": pd.Categorical(codes)}),
    "arrow": lambda codes: pa.table({"k": pa.array(codes).dictionary_encode()}),
    "polars": lambda codes: pl.DataFrame(
        {"k": pl.Series([*map(str, codes)], dtype=pl.Categorical)}
    ),
    "stream": lambda codes: pa.table({"k": pa.array(codes).dictionary_encode()}).to_reader(50),
}
UNDECLARED = {"plain", "texts"}


@given(
    st.lists(st.tuples(st.integers(1, 120), st.sampled_from([*FORMS])), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_the_order_and_the_source_of_batches_change_no_bit(batches, random):
    """Law 11: what a column is follows from all that was learned, in whatever order and form."""
    ends = np.cumsum([0, *(size for size, _ in batches)])
    parts = [
        (form, CODES[a:b], Y[a:b]) for (_, form), a, b in zip(batches, ends, ends[1:], strict=False)
    ]
    declared = not UNDECLARED.issuperset(form for form, _, _ in parts)
    all_of = {"k": CODES[: ends[-1]]}, Y[: ends[-1]]

    def learned(model, form, codes, y):
        rows = FORMS[form](codes)
        if form != "stream":
            return model.partial_fit(rows, y)
        table = rows.read_all().append_column("y", pa.array(y))
        return model.partial_fit(table.to_reader(50), "y")

    shuffled = random.sample(parts, len(parts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = AutoBayes(categorical=["k"] if declared else []).fit(*all_of)
        online = AutoBayes()
        for part in shuffled:
            learned(online, *part)
        total = learned(AutoBayes(), *parts[0])
        for part in parts[1:]:
            total = total + learned(AutoBayes(), *part)
        expected = whole.predict_proba(PLAIN)
    for model in (online, total):
        assert (model.predict_proba(PLAIN) == expected).all()
        assert dict(model.model_.schema.types) == dict(whole.model_.schema.types)


def test_many_categories_of_numbers_are_no_numbers_again():
    """Categories that are all written as numbers were read as numbers once rows were counted."""
    rng = np.random.default_rng(0)
    effect, codes = rng.normal(size=100) * 2, rng.integers(0, 100, 4000)
    y = rng.random(4000) < 1 / (1 + np.exp(-effect[codes]))
    declared = pd.DataFrame({"k": pd.Categorical(codes, categories=range(100))})
    named = pd.DataFrame({"k": [f"k{code}" for code in codes]})
    model, other = AutoBayes().fit(declared, y), AutoBayes().fit(named, y)
    difference = model.predict_proba(declared) - other.predict_proba(named)
    assert np.abs(difference).max() < 0.05
