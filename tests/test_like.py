"""`like=`: models that count for the structure of another add up, bit for bit."""

import os
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss

import naively
from naively import AutoBayes, NaiveBayes, load

DATA = os.environ.get("NAIVELY_DATA")


def table(n, seed=0):
    """Numbers, levels, dates and missing values; the class hangs on a pair."""
    draw = np.random.default_rng(seed)
    x, shop = draw.normal(size=n), draw.choice(["north", "south", "east"], n)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 300, n), unit="D")
    found = pd.DataFrame({"x": x, "shop": shop, "day": day, "size": draw.poisson(4, n)})
    found.loc[draw.random(n) < 0.1, "size"] = np.nan
    flip = draw.random(n) < 0.1
    y = np.where(((x > 0) == (shop == "north")) ^ flip, "buys", "leaves")
    return found, y


@pytest.fixture(scope="module")
def given_plan():
    X, y = table(600)
    return AutoBayes().fit(X, y)


def bits(model, X):
    return model.predict_proba(X).tobytes(), model.explain(X).contributions.tobytes()


def same(a, b, X):
    assert a.model_ == b.model_
    assert bits(a, X) == bits(b, X)


def test_its_own_rows_give_the_same_model_but_keep_none(given_plan):
    X, y = table(600)
    counted = AutoBayes().fit(X, y, like=given_plan)
    fresh, _ = table(200, seed=1)
    assert_allclose(counted.predict_proba(fresh), given_plan.predict_proba(fresh), atol=1e-6)
    assert not hasattr(counted.model_.statistics, "codes")


@given(st.data())
@settings(max_examples=12)
def test_any_split_order_and_forgetting_give_the_same_bits(given_plan, data):
    X, y = table(150, seed=2)
    weights = np.array(data.draw(st.lists(st.sampled_from([1.0, 2.0, 0.3]), min_size=150,
                                          max_size=150)))  # fmt: skip
    order = np.array(data.draw(st.permutations(range(150))))
    cuts = sorted(data.draw(st.lists(st.integers(1, 149), max_size=4, unique=True)))
    whole = AutoBayes(n_jobs=1).fit(X, y, weights, like=given_plan)
    parts = [
        AutoBayes(n_jobs=2).fit(X.iloc[rows], y[rows], weights[rows], like=given_plan)
        for rows in np.split(order, cuts)
    ]
    total = sum(parts[1:], parts[0])
    same(total, whole, X)
    gone = order[: cuts[0] if cuts else 10]
    left = np.setdiff1d(order, gone)
    total.forget(X.iloc[gone], y[gone], weights[gone])
    same(total, AutoBayes().fit(X.iloc[left], y[left], weights[left], like=given_plan), X)


def test_stored_rows_add_to_counts_as_if_counted(given_plan):
    X, y = table(600)
    more, labels = table(300, seed=3)
    shard = AutoBayes().fit(more, labels, like=given_plan)
    both = AutoBayes().fit(pd.concat([X, more]), np.append(y, labels), like=given_plan)
    for total in (given_plan + shard, shard + given_plan):
        same(total, both, more)


def test_the_next_model_may_be_like_one_that_counts(given_plan):
    X, y = table(300, seed=4)
    first = AutoBayes().fit(X, y, like=given_plan)
    same(AutoBayes().fit(X, y, like=first), first, X)


def test_partial_fit_goes_on_counting(given_plan):
    X, y = table(300, seed=4)
    model = AutoBayes().fit(X[:100], y[:100], like=given_plan)
    model.partial_fit(X[100:], y[100:])
    same(model, AutoBayes().fit(X, y, like=given_plan), X)


def test_files_and_pickles_give_the_same_bits(given_plan, tmp_path):
    X, y = table(300, seed=4)
    model = AutoBayes().fit(X, y, like=given_plan)
    model.save(tmp_path / "m")
    loaded = naively.load(tmp_path / "m")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        same(other, model, X)
    assert [one.kind for one in loaded.evidence_] == [one.kind for one in model.evidence_]
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    given_plan.save(tmp_path / "plan")  # a plan that was read is the same plan
    same(AutoBayes().fit(X, y, like=naively.load(tmp_path / "plan")), model, X)


def test_shapes_have_the_rows_that_were_counted(given_plan):
    X, y = table(300, seed=4)
    model = AutoBayes().fit(X, y, like=given_plan)
    shapes = {one.names: one for one in model.evidence_ if one.bins}
    assert ("x", "shop") in shapes or ("shop", "x") in shapes
    for shape in shapes.values():
        own = shape.rows.reshape(-1, 2).sum(axis=0)
        assert_array_equal(own, [(y == label).sum() for label in model.classes_])
    shop = shapes[("shop",)]
    met = dict(zip(shop.bins[0].labels, shop.rows.sum(axis=1), strict=True))
    assert met["north"] == (X["shop"] == "north").sum()
    assert all("20" in label for label in shapes[("day",)].bins[0].labels[:-1])


def test_plans_that_differ_do_not_add_up_and_it_says_what_to_do(given_plan):
    X, y = table(300, seed=4)
    other = AutoBayes().fit(X, y)
    a, b = (AutoBayes().fit(X, y, like=one) for one in (given_plan, other))
    with pytest.raises(ValueError, match=r"different structures cannot be added.*`like` the other"):
        a + b
    with pytest.raises(ValueError, match="different structures"):
        a.model_.copy() and b + a
    sample = AutoBayes(limit=50).fit(X, y)
    with pytest.raises(ValueError, match=r"sample of its rows.*`like` the other"):
        sample + a


def test_classes_and_columns_that_the_plan_does_not_have(given_plan):
    X, y = table(100, seed=5)
    model = AutoBayes().fit(X, y, like=given_plan)
    before = bits(model, X)
    with pytest.raises(ValueError, match="no class 'waits'"):
        model.partial_fit(X[:5], ["waits"] * 5)
    assert bits(model, X) == before
    with pytest.warns(UserWarning, match="no column.*'colour'"):
        wider = AutoBayes().fit(X.assign(colour="red"), y, like=given_plan)
    same(wider, model, X)
    only = AutoBayes().fit(X[y == "buys"], y[y == "buys"], like=given_plan)
    assert set(only.predict(X)) == {"buys"}
    rest = AutoBayes().fit(X[y == "leaves"], y[y == "leaves"], like=given_plan)
    same(only + rest, model, X)


def test_what_was_never_learned_is_not_forgotten(given_plan):
    X, y = table(100, seed=5)
    model = AutoBayes().fit(X[:50], y[:50], like=given_plan)
    before = bits(model, X)
    with pytest.raises(ValueError, match="not in the training data"):
        model.forget(X[50:], y[50:])
    assert bits(model, X) == before


def test_other_pairs_are_refused(given_plan):
    X, y = table(100, seed=5)
    model = AutoBayes().fit(X, y, like=given_plan)
    with pytest.raises(ValueError, match="call `fit` again"):
        model.set_params(interactions=0).reestimate()


def test_rows_are_drawn_from_the_counts_of_each_column(given_plan):
    X, y = table(600)
    model = AutoBayes().fit(X, y, like=given_plan)
    drawn = model.model_.posterior().parameters.sample(
        np.repeat([0, 1], 20_000), np.random.default_rng(0)
    )
    names = drawn.levels[1].tolist()
    for c, label in enumerate(model.classes_):
        own = drawn.codes[20_000 * c : 20_000 * (c + 1), 1]
        shares = np.bincount(own, minlength=4)[:3] / 20_000
        met = X["shop"][y == label].value_counts(normalize=True)
        assert_allclose(shares, [met[name] for name in names], atol=0.02)


def test_words_of_texts_stay_as_the_plan_has_them(tmp_path):
    draw = np.random.default_rng(0)
    words = [" ".join(draw.choice(list("abcdefghij"), 8)) + f" note {k}" for k in range(300)]
    X = pd.DataFrame({"text": words, "x": draw.normal(size=300)})
    y = np.array(["many" if one.count("a") > 1 else "few" for one in words])
    first = AutoBayes().fit(X[:150], y[:150])
    other = AutoBayes().fit(X[150:], y[150:], like=first)
    model = AutoBayes().fit(X, y, like=first)
    same(first + other, model, X)
    same((first + other).forget(X[150:], y[150:]), AutoBayes().fit(X[:150], y[:150], like=first), X)
    model.save(tmp_path / "model")
    same(load(tmp_path / "model"), model, X)
    plan = first.model_.posterior().parameters.plan
    own = [block.words for block in plan.blocks if block.reads_text]
    blocks = model.model_.posterior().parameters.plan.blocks
    known = [block.words for block in blocks if block.reads_text]
    levels = np.array(sorted(words[:9]), plan.columns[0].levels.dtype)
    assert len(own) == len(known) > 0
    for one, two in zip(own, known, strict=True):
        assert one.evidence(levels)[0].tobytes() == two.evidence(levels)[0].tobytes()
    few = AutoBayes().fit(X[y == "few"], y[y == "few"], like=first)
    same(few + AutoBayes().fit(X[y == "many"], y[y == "many"], like=first), model, X)


def test_terms_have_weights_of_all_classes_of_the_plan():
    draw = np.random.default_rng(0)
    y = draw.choice(["a", "b", "c"], 300)
    X = pd.DataFrame({
        "text": [f"{' '.join(draw.choice(list('abcdefgh'), 7))} {one} note {k}" for k, one in
                 enumerate(y)],
        "x": draw.normal(size=300),
    })  # fmt: skip
    first = AutoBayes().fit(X, y)
    every, some = AutoBayes().fit(X, y, like=first), y != "c"
    few = AutoBayes().fit(X[some], y[some], like=first)
    whole, part = (one.model_.posterior().parameters.plan for one in (every, few))
    levels = np.array(sorted(X["text"][:9]), whole.columns[0].levels.dtype)
    texts = [
        [block.words.evidence(levels)[0] for block in plan.blocks if block.reads_text]
        for plan in (whole, part)
    ]
    assert len(texts[0]) == len(texts[1]) > 0
    for one, two in zip(*texts, strict=True):
        np.testing.assert_allclose(
            one[:, 0] - one[:, 1], two[:, 0] - two[:, 1], rtol=1e-9, atol=1e-9
        )


def test_like_of_other_classifiers_is_as_it_was():
    X, y = table(200)
    whole = NaiveBayes().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        total = sum(NaiveBayes().fit(X[k::2], y[k::2], like=whole) for k in (0, 1))
    assert bits(total, X) == bits(whole, X)


@pytest.mark.parametrize("damage", ["weights", "moves", "labels", "levels"])
def test_a_plan_that_cannot_be_true_is_refused(given_plan, damage):
    plan = AutoBayes().fit(*table(50), like=given_plan).model_.family.plan
    arrays, labels = dict(plan.arrays), plan.labels
    if damage == "labels":
        labels = labels[::-1]
    elif damage == "levels":
        arrays["shown.level_counts"] = arrays["shown.level_counts"][:-1]
    else:
        arrays[damage] = np.full_like(arrays[damage], np.nan)
    with pytest.raises(ValueError, match=r"weights|moves|sorted|levels"):
        type(plan)(arrays, labels)


@pytest.mark.skipif(DATA is None, reason="NAIVELY_DATA names the folder of data sets")
def test_counts_of_all_rows_predict_better_than_a_sample():
    table = pd.read_csv(Path(DATA, "stream-elec", "elec.csv.gz"))
    X, y = table.iloc[:, :-1], table.iloc[:, -1].to_numpy()
    learned = np.arange(len(y)) % 5 != 0
    sample = AutoBayes(limit=2000).fit(X[learned], y[learned])
    whole = AutoBayes().fit(X[learned], y[learned], like=sample)
    halves = [AutoBayes().fit(X[learned][k::2], y[learned][k::2], like=sample) for k in (0, 1)]
    same(sum(halves), whole, X[~learned][:100])
    losses = [log_loss(y[~learned], model.predict_proba(X[~learned])) for model in (sample, whole)]
    assert losses[1] < losses[0] - 0.003
