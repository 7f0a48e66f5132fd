"""Duplicate rows: resampled, joined or exported twice; and rows that recur by nature."""

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from real import TABLES, real
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import log_loss

from naively import AutoBayes, GaussianNB, NaiveBayes
from naively.pooling.duplicates import coincidences, duplicated, even
from naively.statistics.sample import sampled, threshold

DATA = os.environ.get("NAIVELY_DATA")
SAID = "rows are duplicates"
duplicates_are_said = pytest.mark.filterwarnings(f"ignore:.*{SAID}")


def out_of_fold(model):
    return model.model_.posterior().parameters.out_of_fold


def with_shares(model, X, y):
    """What a model of distinct rows says where classes have the shares of y."""
    proba = model.predict_proba(X)
    shares = np.array([np.mean(y == label) for label in model.classes_])
    proba *= shares / np.exp(model.model_.posterior().log_prior)
    return proba / proba.sum(axis=1, keepdims=True)


def once(rng, rows, y):
    return rows


def twice(rng, rows, y):
    return np.concatenate([rows, rows])


def one_to_five_times(rng, rows, y):
    return np.repeat(rows, rng.integers(1, 6, len(rows)))


def bootstrapped(rng, rows, y):
    return rng.choice(rows, len(rows))


def oversampled(rng, rows, y):
    """Rows of the smaller classes drawn again until all are as frequent."""
    labels, counts = np.unique(y[rows], return_counts=True)
    more = [
        rng.choice(rows[y[rows] == label], counts.max() - count)
        for label, count in zip(labels, counts, strict=True)
    ]
    return np.concatenate([rows, *more])


def some_twice(rng, rows, y):
    return np.concatenate([rows, rng.choice(rows, len(rows) // 8, replace=False)])


def joined(rng, rows, y):
    """Each row as often as a finer table has lines of it, a few of them very often."""
    return np.repeat(rows, rng.geometric(0.25, len(rows)))


KINDS = [twice, one_to_five_times, bootstrapped, oversampled, some_twice, joined]


def noise(n, seed, positive=0.2):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < positive).astype(int)
    return pd.DataFrame(rng.normal(size=(n, 6)) + 0.8 * np.outer(y, [1, 1, 0, 0, 0, 0])), y


def bundled(load):
    X, y = load(return_X_y=True, as_frame=True)
    return X.iloc[::2].reset_index(drop=True), y.to_numpy()[::2], X.iloc[1::2]


@duplicates_are_said
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_iris])
def test_the_model_is_that_of_the_distinct_rows_with_the_class_shares_of_all(load, kind):
    X, y, new = bundled(load)
    X = X.drop_duplicates()
    y = y[X.index]
    rows = kind(np.random.default_rng(0), np.arange(len(X)), y)
    model = AutoBayes().fit(X.iloc[rows], y[rows])
    distinct = np.unique(rows)
    once = AutoBayes().fit(X.iloc[distinct], y[distinct])
    if (kind is oversampled and load is load_iris) or (kind is oversampled and load is load_wine):
        assert len(rows) < 1.3 * len(X)  # so few more that all may be coincidences
        return
    np.testing.assert_allclose(model.predict_proba(new), with_shares(once, new, y[rows]), atol=1e-9)


@duplicates_are_said
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3), st.integers(0, 100))
def test_in_any_mixture(kinds, seed):
    X, y = noise(150, seed)
    rng, rows = np.random.default_rng(seed), np.arange(len(X))
    for kind in kinds:
        rows = kind(rng, rows, y)
    model = AutoBayes(interactions=0).fit(X.iloc[rows], y[rows])
    distinct = np.unique(rows)
    once = AutoBayes(interactions=0).fit(X.iloc[distinct], y[distinct])
    new = noise(100, seed + 1)[0]
    np.testing.assert_allclose(model.predict_proba(new), with_shares(once, new, y[rows]), atol=1e-9)


@duplicates_are_said
@pytest.mark.parametrize("kind", [once, *KINDS])
def test_what_is_said_of_left_out_rows_holds_of_new_ones(kind):
    """In the class shares of the training rows."""
    X, y = noise(1500, 0)
    Z, t = noise(20_000, 1)
    rows = kind(np.random.default_rng(2), np.arange(len(X)), y)
    model = AutoBayes().fit(X.iloc[rows], y[rows])
    weight = np.array([np.mean(y[rows] == k) / np.mean(t == k) for k in (0, 1)])[t]
    new = log_loss(t, model.predict_proba(Z), sample_weight=weight)
    assert out_of_fold(model).log_loss == pytest.approx(new, rel=0.1)
    assert out_of_fold(model).weight.sum() == pytest.approx(len(np.unique(rows)), rel=0.01)


@duplicates_are_said
@pytest.mark.parametrize("kind", [oversampled, bootstrapped, one_to_five_times])
@pytest.mark.parametrize("model", [GaussianNB(), NaiveBayes(), AutoBayes()], ids=repr)
def test_duplicates_are_left_out_together(model, kind):
    X, y = noise(300, 3)
    rows = kind(np.random.default_rng(1), np.arange(len(X)), y)
    found = model.out_of_fold(X.iloc[rows].to_numpy(), y[rows])
    assert (pd.Series(found.split).groupby(rows).nunique() == 1).all()


@pytest.mark.parametrize("family", ["gaussian", "discretized", "kernel_density"])
@pytest.mark.parametrize("how", ["weights", "oversampled", "oversampled by chance"])
def test_families_are_not_moved_by_balance(family, how):
    """Bins were cut around each heavy row, and its density was narrow: 5 nats and more."""
    X, y = noise(1000, 0, 0.1)
    Z, t = noise(10_000, 1, 0.5)
    rare = np.flatnonzero(y)
    more = np.tile(rare, 8) if how == "oversampled" else rare
    if how == "oversampled by chance":
        more = np.random.default_rng(0).choice(rare, 800)
    rows = np.concatenate([np.arange(1000), more if how != "weights" else []]).astype(int)
    weight = np.where(y, 9.0, 1.0) if how == "weights" else np.ones(len(rows))
    model = NaiveBayes(family=family).fit(X.iloc[rows], y[rows], weight)
    even = NaiveBayes(family=family, prior="uniform").fit(X, y)
    assert log_loss(t, model.predict_proba(Z)) < 1.1 * log_loss(t, even.predict_proba(Z))


@duplicates_are_said
@pytest.mark.parametrize("weight", [2, 7.5, 1 / 3])
def test_class_weights_change_the_class_shares_alone(weight):
    X, y = noise(400, 5)
    model = AutoBayes().fit(X, y, sample_weight=np.where(y, weight, 1.0))
    plain = AutoBayes().fit(X, y).predict_proba(X) * [1, weight]
    np.testing.assert_allclose(
        model.predict_proba(X), plain / plain.sum(axis=1, keepdims=True), atol=1e-9
    )


def designed():
    """All combinations of six categories once, and a label that follows from pairs of them."""
    levels = np.indices((4, 4, 3, 3, 3, 3)).reshape(6, -1).T
    rank = levels[:, 0] * levels[:, 1] + levels[:, 2] * levels[:, 3] * 2 - levels[:, 4]
    y = np.digitize(rank, [4, 9, 13])
    return pd.DataFrame(levels).map(lambda level: f"level {level}"), y


@duplicates_are_said
def test_oversampling_changes_the_class_prior_alone():
    """Interactions and weights are chosen in the class shares of the distinct rows."""
    X, y = designed()
    learned = np.random.default_rng(0).permutation(len(X))[: len(X) * 2 // 3]
    rows = oversampled(np.random.default_rng(1), learned, y)
    model = AutoBayes().fit(X.iloc[rows], y[rows])
    distinct = AutoBayes().fit(X.iloc[learned], y[learned])
    np.testing.assert_allclose(model.predict_proba(X), with_shares(distinct, X, y[rows]), atol=1e-9)


def recurring(n, seed):
    """Rows of six categories that recur by chance, most of them where both classes are frequent."""
    rng, draw = np.random.default_rng(7), np.random.default_rng(seed)
    y = (draw.random(n) < 0.3).astype(int)
    columns = [
        np.where(y, *(draw.choice(4, n, p=rng.dirichlet([1.5] * 4)) for _ in "01"))
        for _ in range(6)
    ]
    return pd.DataFrame(dict(zip("abcdef", columns, strict=True))).astype(str), y


@duplicates_are_said
@pytest.mark.parametrize("kind", [one_to_five_times, oversampled, some_twice])
def test_copies_of_rows_that_recur(kind):
    """The model is about that of the rows that were drawn, of which some are equal by chance."""
    (X, y), (Z, t) = recurring(2000, 0), recurring(20_000, 1)
    assert X.assign(y=y).duplicated().mean() > 0.3
    rows = kind(np.random.default_rng(0), np.arange(2000), y)
    model = AutoBayes(interactions=2).fit(X.iloc[rows], y[rows])
    drawn = AutoBayes(interactions=2).fit(X, y)
    weight = np.array([np.mean(y[rows] == k) / np.mean(t == k) for k in (0, 1)])[t]
    new = log_loss(t, model.predict_proba(Z), sample_weight=weight)
    assert new < 1.05 * log_loss(t, with_shares(drawn, Z, y[rows]), sample_weight=weight)
    assert out_of_fold(model).log_loss == pytest.approx(new, rel=0.1)


@duplicates_are_said
@pytest.mark.parametrize("kind", [one_to_five_times, oversampled, some_twice, joined])
def test_copies_of_all_combinations(kind):
    X, y = designed()
    learned = np.random.default_rng(0).permutation(len(X))[: len(X) * 2 // 3]
    rows = kind(np.random.default_rng(1), learned, y)
    model = AutoBayes(interactions=2).fit(X.iloc[rows], y[rows])
    distinct = AutoBayes(interactions=2).fit(X.iloc[learned], y[learned])
    np.testing.assert_allclose(model.predict_proba(X), with_shares(distinct, X, y[rows]), atol=1e-9)


def test_fit_says_so_in_one_line():
    X, y = noise(200, 0)
    rows = np.repeat(np.arange(200), 2)
    with pytest.warns(UserWarning, match=r"200 of 400 rows are duplicates: each distinct row"):
        AutoBayes().fit(X.iloc[rows], y[rows])


# ---- rows that recur -----------------------------------------------------------------------------


def idle(rng, n):
    """A third of the rows is one state, with either label."""
    state = rng.random(n) < 0.3
    y = rng.random(n) < np.where(state, 0.02, 0.5)
    a = np.where(state, 0.0, rng.normal(size=n) + y)
    return pd.DataFrame({"a": a, "state": np.where(state, "idle", "busy")}), y


def states(rng, n):
    """Twenty such states."""
    state = rng.integers(0, 40, n)
    y = rng.random(n) < np.linspace(0.05, 0.95, 40)[state]
    a = np.where(state < 20, state, rng.normal(size=n) + y)
    return pd.DataFrame({"a": a, "state": np.where(state < 20, "idle", "busy")}), y


def tenths(rng, n):
    x = rng.integers(0, 10, n)
    return pd.DataFrame({"x": x / 10}), rng.random(n) < np.array([0.1, 0.9] * 5)[x]


def categories(rng, n):
    """Few categories, some of them rare, that depend on each other."""
    a = rng.choice(8, n, p=np.array([64, 32, 16, 8, 4, 2, 1, 1]) / 128)
    b = np.where(rng.random(n) < 0.7, a // 2, rng.integers(0, 4, n))
    c = np.where(rng.random(n) < 0.7, b // 2, rng.integers(0, 3, n))
    y = rng.random(n) < (1 + a + 2 * b + c) / 20
    return pd.DataFrame({"a": a, "b": b, "c": c}).astype(str), y


def days(rng, n):
    """A date, which recurs as often as by chance."""
    day = rng.integers(0, 1500, n)
    X = pd.DataFrame({"date": pd.to_datetime("2020-01-01") + pd.to_timedelta(day, unit="D")})
    return X, rng.random(n) < np.where(day > 700, 0.8, 0.2)


def words(rng, n):
    """One column of words, a few of them frequent."""
    word = rng.zipf(1.7, n) % 5000
    return pd.DataFrame({"word": [f"w{k}" for k in word]}), rng.random(n) < (word % 7 + 1) / 9


def clusters(rng, n):
    """Eight categories that depend on each other through sixty hidden states."""
    hidden = np.random.default_rng(5).dirichlet([0.3] * 4, (60, 8)).cumsum(axis=2)
    state = rng.integers(0, 60, n)
    y = rng.random(n) < (state % 7 + 1) / 9
    X = (rng.random((n, 8, 1)) > hidden[state]).sum(axis=2)
    return pd.DataFrame(X, columns=[*"abcdefgh"]).astype(str), y


def species(rng, n):
    """Twenty species: of each, all combinations of some values are equally frequent."""
    fixed = np.random.default_rng(11)
    values, varieties = fixed.integers(0, 5, (20, 6, 3)), fixed.integers(1, 4, (20, 6))
    kind = rng.integers(0, 20, n)
    chosen = (rng.random((n, 6)) * varieties[kind]).astype(int)
    X = values[kind[:, np.newaxis], np.arange(6), chosen]
    return pd.DataFrame(X, columns=[*"abcdef"]).astype(str), rng.random(n) < (1 + kind % 9) / 10


@pytest.mark.parametrize(
    "table", [idle, states, tenths, categories, days, words, clusters, species]
)
def test_rows_that_recur_are_all_learned(table):
    rng = np.random.default_rng(0)
    (X, y), (Z, t) = table(rng, 6000), table(rng, 6000)
    model = AutoBayes().fit(X, y)
    cell = X.astype(str).agg("|".join, axis=1)
    rate = pd.Series(y).groupby(cell.to_numpy()).agg(["mean", "size"])
    often = rate.index[rate["size"] >= 100]
    proba = pd.Series(model.predict_proba(X)[:, 1]).groupby(cell.to_numpy()).mean()
    np.testing.assert_allclose(proba[often], rate["mean"][often], atol=0.06)
    new = log_loss(t, model.predict_proba(Z))
    assert out_of_fold(model).log_loss == pytest.approx(new, rel=0.1)
    assert out_of_fold(model).weight.sum() == pytest.approx(6000)


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="NAIVELY_DATA is not set")
@pytest.mark.parametrize("name", TABLES)
def test_no_real_table_is_taken_for_one_with_duplicates(name, recwarn):
    X, y = real(name)
    AutoBayes(interactions=0).fit(X, y)
    assert not [one for one in recwarn if SAID in str(one.message)]


@pytest.mark.skipif(DATA is None, reason="NAIVELY_DATA is not set")
@given(st.integers(0, 1000))
def test_mushrooms_of_which_little_is_known_recur(seed):
    """4,000 mushrooms are of at most 400 kinds, if six of their features are known."""
    X, y = real("mushroom")
    some = X.iloc[:, np.random.default_rng(seed).permutation(X.shape[1])[:6]]
    codes = some.apply(lambda column: pd.factorize(column, use_na_sentinel=False)[0])
    rows, row = np.unique(codes.to_numpy(), axis=0, return_inverse=True)
    table = np.array(
        [np.bincount(row.ravel()[y == label], minlength=len(rows)) for label in np.unique(y)]
    )
    label, place = np.nonzero(table)
    levels = [np.arange(column.max() + 1).astype(np.dtypes.StringDType()) for column in rows.T]
    count = table[label, place].astype(float)
    assert not duplicated(rows, levels, label, place, count, 2).any()


@duplicates_are_said
@pytest.mark.skipif(DATA is None, reason="NAIVELY_DATA is not set")
@pytest.mark.parametrize("kind", [bootstrapped, one_to_five_times])
@pytest.mark.parametrize("name", ["pima", "ionosphere", "sick", "glass", "titanic-891"])
def test_duplicates_of_real_rows_are_found(name, kind):
    X, y = real(name)
    rows = kind(np.random.default_rng(0), np.arange(len(X)), y)
    with pytest.warns(UserWarning, match=SAID):
        AutoBayes(interactions=0).fit(X.iloc[rows], y[rows])


# ---- what it follows from ------------------------------------------------------------------------


def test_pairs_of_equal_rows_are_as_many_as_are_expected():
    """Of independent columns, from rows that are not equal, beside those that were drawn."""
    rng = np.random.default_rng(0)
    drawn = np.column_stack([rng.choice(size, 4000, p=_falling(size)) for size in (30, 20, 12)])
    _, sizes = np.unique(drawn, axis=0, return_counts=True)
    different = np.unique(drawn, axis=0)
    levels = [np.arange(size).astype(np.dtypes.StringDType()) for size in (30, 20, 12)]
    expected, values = coincidences(different, levels)
    again = np.column_stack(
        [rng.choice(size, len(different), p=_falling(size)) for size in (30, 20, 12)]
    )
    _, pairs = np.unique(again, axis=0, return_counts=True)
    assert 0.1 < expected / (pairs * (pairs - 1) / 2).sum() < 3
    assert 10 < values < 30
    assert len(sizes) == len(different)


def _falling(size):
    found = 1 / (1.0 + np.arange(size))
    return found / found.sum()


def test_counts_that_are_as_even_as_copies_are():
    rng = np.random.default_rng(0)
    y = np.zeros(400, int)
    assert even(y, np.full(400, 3.0), 1).tolist() == [True]
    assert even(y, rng.integers(1, 6, 400).astype(float), 1).tolist() == [True]
    assert even(y, rng.poisson(8, 400) + 0.0, 1).tolist() == [False]  # as by chance
    assert even(y, rng.geometric(0.2, 400) + 0.0, 1).tolist() == [False]


def test_a_class_that_was_oversampled_is_found_among_categories():
    """Where the rows of the other class are hardly there twice."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (600, 6))
    codes = np.unique(codes, axis=0)
    y = (rng.random(len(codes)) < 0.1).astype(int)
    count = np.where(y, 1 + rng.poisson(9, len(codes)), 1.0)
    levels = [np.arange(4).astype(np.dtypes.StringDType())] * 6
    found = duplicated(codes, levels, y, np.arange(len(codes)), count, 2)
    assert found[(y == 1) & (count > 1)].all()
    assert not found[y == 0].any()


@given(st.integers(0, 1000), st.sampled_from([3, 9, 20]))
def test_an_oversampled_class_is_found_beside_one_whose_rows_recur(seed, times):
    """However often: rows of the other class recur seldom, so more rows are possible."""
    rng, rows = np.random.default_rng(seed), recurring(1000, seed)[0].to_numpy(int)
    other, few = rows[100:], rows[:100]
    few = np.concatenate([few, few[rng.integers(0, 100, 100 * times - 100)]])
    y = np.repeat([0, 1], [900, 100 * times])
    codes, place = np.unique(np.concatenate([other, few]), axis=0, return_inverse=True)
    entry, count = np.unique(2 * place.ravel() + y, return_counts=True)
    levels = [np.arange(4).astype(np.dtypes.StringDType())] * 6
    found = duplicated(codes, levels, entry % 2, entry // 2, count.astype(float), 2)
    assert found[(entry % 2 == 1) & (count >= 2)].mean() > 0.9
    assert not found[entry % 2 == 0].any()


@given(st.integers(0, 1000))
def test_frequencies_recur_in_dense_regions_alone(seed):
    """Rows recur where their neighbours do, and are copied anywhere."""
    X, _ = recurring(1000, seed)
    codes, recurring_counts = np.unique(X.to_numpy(int), axis=0, return_counts=True)
    copies = np.random.default_rng(seed).permutation(1 + np.arange(len(codes)) % 5)
    levels = [np.arange(4).astype(np.dtypes.StringDType())] * 6
    y, row = np.zeros(len(codes), int), np.arange(len(codes))
    for counts, is_copied in [(recurring_counts, False), (copies, True)]:
        found = duplicated(codes, levels, y, row, counts.astype(float), 1)
        np.testing.assert_array_equal(found, is_copied & (counts >= 2))


@given(st.lists(st.floats(1e-3, 1e4), min_size=3, max_size=200), st.integers(1, 100))
def test_samples_are_in_proportion_to_weight(weights, most):
    """An item is in it with probability min(1, w / t), and stands for max(w, t)."""
    weight = np.array(weights)
    if len(weight) <= most:
        np.testing.assert_array_equal(sampled(weight, weight * 0, most)[1], weight)
        return
    least = threshold(weight, most)
    assert np.minimum(1, weight / least).sum() == pytest.approx(most)
    some, heavy = sampled(weight, np.full(len(weight), 0.5), most)
    np.testing.assert_array_equal(some, np.flatnonzero(weight > 0.5 * least))
    np.testing.assert_allclose(heavy, np.maximum(weight[some] / least, 1))
