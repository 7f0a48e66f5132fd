"""Named parts: after any change the model is that of the remaining rows."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import CLASSIFIERS, assert_same, domain, new, numbers

import naively
from naively.core.issues import Invalid
from naively.families.auto_bayes.pooled import Pooled
from naively.families.text.weighed_text import WeighedText
from naively.storage import named_parts
from naively.storage.digest import digest
from naively.storage.model_files import Saved, from_bytes, to_bytes
from naively.storage.parts import REST
from naively.tables.inference import ColumnOptions
from naively.tables.learning import Plan, TrainingSpec, plan, summarise

OPTIONS = {
    "mixed": ColumnOptions({"grid": "kernel_density", "bins": "discretized"}),
    "auto": ColumnOptions({}, whole=Pooled()),
    "sampled": ColumnOptions({}, whole=Pooled(limit=9)),
    "text": ColumnOptions({"text": WeighedText("binary")}),
    "counted words": ColumnOptions({"text": "text", "word": "joint"}),
}
ROWS = st.fixed_dictionaries({
    "few": st.sampled_from(["1", "2", "2.0", "", "1", "17", "many"]),
    "once": st.sampled_from(["5", "5", "5", "5", "7.5", "-3", "x"]),
    "number": st.sampled_from(["0.1", "1e200", "-7.25", "", "3", "oops"]),
    "grid": st.sampled_from(["0.1", "0.30000000000000004", "1e9", "-2", ""]),
    "bins": st.sampled_from(["0.1", "5e-300", "77", "-2", ""]),
    "word": st.sampled_from(["ada", "bee", "cat", "", "?"]),
    "text": st.sampled_from(["free prize", "lunch at noon", "free lunch", "", "x y z w"]),
    "y": st.sampled_from(["a", "b", "a", "b", "c", ""]),
    "w": st.sampled_from(["1", "1", "2", "0.3", "0"]),
})  # fmt: skip
FIRST = [
    {"few": "1", "once": "5", "number": "2.5", "grid": "1", "bins": "3", "word": "ada",
     "text": "free prize now", "y": "a", "w": "1"},
    {"few": "2", "once": "5", "number": "7", "grid": "2", "bins": "4", "word": "bee",
     "text": "lunch at noon", "y": "b", "w": "1"},
]  # fmt: skip
NAMES = ["day=2026-11-20", "day=2026-11-21", "customer=17"]
STEPS = st.tuples(
    st.sampled_from(["learn", "learn", "rest", "forget", "some", "replace"]),
    st.sampled_from(NAMES),
    st.lists(ROWS, min_size=1, max_size=5),
)
SPECS = {kind: TrainingSpec("y", options, weight="w") for kind, options in OPTIONS.items()}


def columns(kind, rows):
    """Rows as a table; of text there are no other columns."""
    only = {"text": ["text"], "counted words": ["text", "word"]}.get(kind)
    names = [*(only or [name for name in FIRST[0] if name not in ("text", "y", "w")]), "y", "w"]
    return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in names})


def counted(kind, model, rows):
    """A model like another that learned these rows alone."""
    made = Plan(model.blank(), SPECS[kind], model.classes if len(model.classes) else None)
    return summarise(made, columns(kind, rows))


def begun(kind):
    """A model of the first rows, which have no name."""
    made = plan([columns(kind, FIRST)], SPECS[kind])
    return Saved(summarise(made, columns(kind, FIRST)), "NaiveBayes")


def again(saved):
    """The same from its bytes, of which those of equal models are equal."""
    data = to_bytes(saved)
    found = from_bytes(data)
    assert to_bytes(found) == data
    return found


def of_rows(kind, model, rows):
    """The model that learned all rows that are left, at once."""
    total = model.blank()
    total.absorb(counted(kind, model, rows))
    return total


@pytest.mark.parametrize("kind", OPTIONS)
@given(steps=st.lists(STEPS, min_size=1, max_size=8))
def test_it_is_the_model_of_the_rows_that_are_left(kind, steps):
    saved = begun(kind)
    left = {REST: list(FIRST)}
    for what, name, rows in steps:
        saved = again(saved)
        name = REST if what == "rest" else name
        if what in ("learn", "rest"):
            named_parts.learn(saved, counted(kind, saved.model, rows), name)
            left[name] = left.get(name, []) + rows
        elif what == "replace" and name in saved.parts:
            named_parts.forget(saved, {name: None})
            named_parts.learn(saved, counted(kind, saved.model, rows), name)
            left[name] = rows
        elif what == "forget" and name in saved.parts:
            gone = named_parts.forget(saved, {name: None})
            assert gone == of_rows(kind, saved.model, left.pop(name))
        elif what == "some" and name in saved.parts:
            some, left[name] = left[name][:2], left[name][2:]
            gone = named_parts.forget(saved, {name: counted(kind, saved.model, some)})
            assert gone == of_rows(kind, saved.model, some)
        known = [one for rows in left.values() for one in rows]
        whole = of_rows(kind, saved.model, known)
        assert saved.model == whole
        assert digest(saved.model) == digest(whole)
        assert saved.model.rows == whole.rows
    for name in list(saved.parts):
        if name != REST:
            named_parts.forget(saved, {name: None})
            del left[name]
    assert not saved.parts
    assert saved.model == of_rows(kind, saved.model, left[REST])


# ---- in Python -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_estimators_forget_parts_without_their_rows(name, tmp_path):
    X, y = numbers(domain(name), 40, 3)
    model = new(name).fit(X[:10], y[:10])
    model.partial_fit(X[10:20], y[10:20], part="a").partial_fit(X[20:], y[20:], part="b")
    model.partial_fit(X[:5], y[:5])
    model.save(tmp_path / "m")
    for one in (model, naively.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert_same(one, new(name).fit(np.r_[X, X[:5]], np.r_[y, y[:5]]), X)
        one.forget(X[:5], y[:5]).forget(X[12:14], y[12:14], part="a").forget(part="b")
        left = [*range(12), *range(14, 20)]
        assert_same(one, new(name).fit(X[left], y[left]), X)
        with pytest.raises(ValueError, match="not in the training data: the part 'b'"):
            one.forget(part="b")
        one.forget(part="a")
        one.save(tmp_path / "n")
        new(name).fit(X[:10], y[:10]).save(tmp_path / "alone")
        assert (tmp_path / "n").read_bytes() == (tmp_path / "alone").read_bytes()


def test_parts_fade_and_add_up_with_their_models():
    X, y = numbers("reals", 60, 2)
    one = naively.GaussianNB().partial_fit(X[:20], y[:20], part="a")
    one.decay(0.3)
    one.partial_fit(X[20:30], y[20:30], part="b").decay(0.7)
    other = naively.GaussianNB().fit(X[30:40], y[30:40]).partial_fit(X[40:], y[40:], part="b")
    both = one + other
    alone = naively.GaussianNB().fit(X[:20], y[:20]).decay(0.3).decay(0.7)
    rest = naively.GaussianNB().fit(X[30:40], y[30:40])
    assert both.forget(part="b").model_ == (alone + rest).model_
    assert both.forget(part="a").model_ == rest.model_
    assert "b" in one._parts
    assert not one.fit(X, y)._parts


def test_a_function_cannot_be_stored_and_nothing_is_counted():
    model = naively.TextNB(tokenizer=str.split).fit(["a b", "c"], [0, 1])
    before = model.model_.copy()
    with pytest.raises(ValueError, match="has no digest"):
        digest(model)
    with pytest.raises(ValueError, match="cannot be saved"):
        model.partial_fit(["d"], [1], part="x")
    for name in ("a\n", 3, "x" * 201):
        with pytest.raises(ValueError, match="name of a part"):
            naively.TextNB().partial_fit(["a"], [1], part=name)
    assert model.model_ == before
    assert model.forget(["c"], [1]).model_.rows == 1


def test_values_that_could_not_be_read_are_forgotten_with_their_rows():
    many = {"x": [str(k * k / 7) for k in range(30)], "y": ["a", "b"] * 15}
    model = naively.NaiveBayes().fit(many, "y")
    odd = {"x": ["zeta", "secret"], "y": ["a", "b"]}
    with pytest.warns(UserWarning, match="2 values such as 'secret'"):
        model.partial_fit(odd, "y")
    assert model.model_.invalid["x"].example == "secret"
    other = {"x": ["zzz"], "y": ["a"]}
    with pytest.warns(UserWarning, match="cannot be used"):
        model.partial_fit(other, "y")
    assert model.forget(odd, "y").model_.invalid == {"x": Invalid(1, "zzz")}
    assert model.forget(other, "y").model_.invalid == {}
    with pytest.warns(UserWarning, match="cannot be used"):
        model.partial_fit(odd, "y").partial_fit(other, "y")
    assert model.forget(other, "y").model_.invalid == {"x": Invalid(2, "secret")}


@pytest.mark.filterwarnings("ignore:column 'k':UserWarning")
def test_a_level_that_the_family_of_later_rows_cannot_take():
    rows = {"k": ["0"] * 8, "z": ["u", "v"] * 4, "y": ["a", "b"] * 4}
    model = naively.NaiveBayes(family="gamma").fit(rows, "y").partial_fit(rows, "y", part="zeros")
    more = {"k": [str(0.5 + k) for k in range(40)], "z": ["u"] * 40, "y": ["a", "b"] * 20}
    model.partial_fit(more, "y", part="more")
    assert model.model_.schema.family_of["k"].name == "gamma"
    whole = digest(model)
    assert model.forget(part="zeros").model_.rows == 48
    assert digest(model) != whole
    assert digest(model.partial_fit(rows, "y", part="zeros")) == whole
