"""`AutoBayes`: pitfalls of pooled evidence, interactions it finds, exact forgetting."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_info, threadpool_limits

import naively
from naively import AutoBayes, GaussianNB, NaiveBayes
from naively.core.workers import one_thread
from naively.pooling import entries
from naively.statistics import sample as sample_rows
from naively.statistics.sample import Sample

duplicates_are_said = pytest.mark.filterwarnings("ignore:.*rows are duplicates")
DATA = os.environ.get("NAIVELY_DATA")


def loss(model, X, y, Z, t):
    """The log-loss of rows that were not learned, in nats."""
    proba = model.fit(X, y).predict_proba(Z)
    return log_loss(t, proba, labels=model.classes_)


def plan(model):
    return model.model_.posterior().parameters.plan


def halves(n, seed=0):
    order = np.random.default_rng(seed).permutation(n)
    return order[: n // 2], order[n // 2 :]


def normal_table(n=1200, seed=0):
    """Four columns of which two tell the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 4))
    X[:, :2] += y[:, np.newaxis]
    return pd.DataFrame(X, columns=list("abcd")), y


def test_rows_of_a_large_batch_are_predicted_as_few_are():
    X, y = normal_table()
    rng = np.random.default_rng(5)
    model = AutoBayes().fit(X.mask(rng.random(X.shape) < 0.1), y)
    kinds = {block.tag for block in plan(model).blocks}
    assert "gaussian" in kinds
    new = pd.DataFrame(rng.normal(size=(40_000, 4)), columns=X.columns)
    new = new.mask(rng.random(new.shape) < 0.1)
    some = new.iloc[-100:]
    assert np.array_equal(model.predict_proba(new)[-100:], model.predict_proba(some))


# ---- traps ---------------------------------------------------------------------------------------


def with_random_levels(X, rng, y):
    return X.assign(z=[f"level {k}" for k in rng.integers(0, 20_000, len(X))])


def with_a_constant(X, rng, y):
    return X.assign(z="same", w=1.0)


def with_a_copy(X, rng, y):
    return X.assign(z=X["a"], w=X["b"])


def with_noise(X, rng, y):
    return X.assign(**{f"z{k}": rng.normal(size=len(X)) for k in range(20)})


@pytest.mark.parametrize(
    ("more", "harm"),
    [(with_random_levels, 1.06), (with_a_constant, 1.06), (with_a_copy, 1.06),
     (with_noise, 1.15)],
)  # fmt: skip
def test_redundant_columns_do_little_harm(more, harm):
    X, y = normal_table()
    a, b = halves(len(y))
    plain = loss(AutoBayes(), X.iloc[a], y[a], X.iloc[b], y[b])
    wide = more(X, np.random.default_rng(1), y)
    assert loss(AutoBayes(), wide.iloc[a], y[a], wide.iloc[b], y[b]) <= harm * plain


def test_noise_alone_is_believed_less_than_by_others():
    ours, others = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(332, 60)), rng.integers(0, 2, 332)
        a, b = halves(332)
        ours.append(loss(AutoBayes(), X[a], y[a], X[b], y[b]))
        others.append(loss(LogisticRegression(), X[a], y[a], X[b], y[b]))
    assert np.mean(ours) < np.log(2) + 0.2
    assert np.mean(ours) < 0.7 * np.mean(others)


def test_a_noisy_copy_of_the_label_is_believed_as_far_as_it_is_right():
    X, y = normal_table(4000)
    rng = np.random.default_rng(1)
    X = X.assign(z=np.where(rng.random(len(y)) < 0.9, y, 1 - y))
    a, b = halves(len(y))
    model = AutoBayes().fit(X.iloc[a], y[a])
    proba = model.predict_proba(X.iloc[b])[:, 1]
    for low in (0.0, 0.1, 0.3, 0.7, 0.9):
        rows = (proba >= low) & (proba < low + 0.2)
        if rows.sum() > 100:
            assert abs(y[b][rows].mean() - proba[rows].mean()) < 0.07


@pytest.mark.parametrize("order", [2, 3, 4])
def test_parity_is_found(order):
    rng = np.random.default_rng(order)
    X = rng.integers(0, 2, (1500, 5))
    y = X[:, :order].sum(axis=1) % 2
    a, b = halves(len(y))
    model = AutoBayes().fit(pd.DataFrame(X[a], columns=list("abcde")), y[a])
    assert (model.predict(pd.DataFrame(X[b], columns=list("abcde"))) == y[b]).mean() > 0.99
    alone = AutoBayes(interactions=0).fit(X[a].astype(str), y[a])
    assert (alone.predict(X[b].astype(str)) == y[b]).mean() < 0.6
    assert tuple(range(order)) in [getattr(b, "columns", None) for b in plan(model).blocks]


def test_xor_of_numbers_is_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    a, b = halves(len(y))
    model = AutoBayes().fit(X[a], y[a])
    assert (model.predict(X[b]) == y[b]).mean() > 0.93


@pytest.mark.parametrize(("order", "stripes"), [(2, 12), (3, 4)])
def test_fine_rules_of_numbers_are_found_in_many_rows(order, stripes):
    rng = np.random.default_rng(5)
    X = rng.random((12_000, order + 2))
    y = np.floor(X[:, :order] * stripes).sum(axis=1) % 2
    assert AutoBayes().fit(X[:10_000], y[:10_000]).score(X[10_000:], y[10_000:]) > 0.75


def test_a_class_of_three_rows_has_small_probabilities():
    X, y = normal_table()
    y = y.copy()
    y[:3] = 2
    proba = AutoBayes().fit(X, y).predict_proba(X)
    assert proba[3:, 2].mean() < 0.02
    assert np.isfinite(np.log(proba)).all()


@pytest.mark.parametrize("value", [1.0, "same", None, True])
def test_rows_that_are_all_alike_give_the_prior(value):
    X = pd.DataFrame({"a": [value] * 40, "b": [value] * 40})
    y = np.arange(40) % 4 == 0
    with pytest.warns(UserWarning, match="no column has evidence"):
        model = AutoBayes().fit(X, y)
    assert model.predict_proba(X)[0] == pytest.approx([0.75, 0.25], abs=1e-12)


def test_an_identifier_is_no_evidence_and_new_levels_are_as_rare_ones():
    X, y = normal_table(400)
    named = X.assign(id=[f"row {k}" for k in range(400)])
    model = AutoBayes().fit(named, y)
    assert all(4 not in getattr(block, "columns", ()) for block in plan(model).blocks)
    towns = np.where(y == 1, "rare " + pd.Series(np.arange(400)).astype(str), "town")
    model = AutoBayes().fit(pd.DataFrame({"town": towns}), y)
    proba = model.predict_proba(pd.DataFrame({"town": ["never met", "town"]}))[:, 1]
    assert proba[0] > 0.9 > 0.1 > proba[1]


def test_separable_classes_have_finite_weights():
    X = np.linspace(-1, 1, 200)[:, np.newaxis] * [1, 2, 3]
    y = X[:, 0] > 0
    model = AutoBayes().fit(X, y)
    assert (model.predict(X) != y).sum() <= 2  # at the border
    assert np.abs(plan(model).weights).max() < 100
    assert np.isfinite(model.predict_log_proba(X * 1e6)).all()


def test_missing_values_are_evidence_where_they_depend_on_the_class():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    x = np.where(rng.random(2000) < np.where(y == 1, 0.6, 0.1), np.nan, rng.normal(size=2000))
    proba = AutoBayes().fit(pd.DataFrame({"x": x}), y).predict_proba(pd.DataFrame({"x": [np.nan]}))
    assert proba[0, 1] == pytest.approx(0.6 / 0.7, abs=0.04)


# ---- quality, on tables that scikit-learn bundles ------------------------------------------------


@pytest.mark.parametrize("table", [load_wine, load_breast_cancer])
def test_probabilities_are_better_than_naive_ones(table):
    X, y = table(return_X_y=True)
    ours, naive = [], []
    for a, b in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        ours.append(loss(AutoBayes(), X[a], y[a], X[b], y[b]))
        naive.append(min(loss(GaussianNB(), X[a], y[a], X[b], y[b]),
                         loss(NaiveBayes(family="auto"), X[a], y[a], X[b], y[b])))  # fmt: skip
    assert np.mean(ours) < 1.1 * np.mean(naive)


# ---- it stays additive ---------------------------------------------------------------------------


def real_table():
    """Rows of adult, which has numbers, levels and missing values."""
    if DATA is None:
        pytest.skip("NAIVELY_DATA is not set")
    path = Path(DATA, "adult", "adult-train.csv.gz")
    table = pd.read_csv(path, header=None, skipinitialspace=True, na_values="?", nrows=3000)
    return table.iloc[:, :-1].rename(columns=str), table.iloc[:, -1].to_numpy()


def same(a, b, X):
    assert a.model_ == b.model_
    one, other = plan(a), plan(b)
    assert one.weights.tobytes() == other.weights.tobytes()
    assert [getattr(k, "columns", None) for k in one.blocks] == [
        getattr(k, "columns", None) for k in other.blocks
    ]
    assert a.predict_proba(X).tobytes() == b.predict_proba(X).tobytes()


def test_merging_and_forgetting_real_rows_gives_the_model_of_those_that_are_left(tmp_path):
    X, y = real_table()
    left = AutoBayes().fit(X[:2000], y[:2000])
    whole = AutoBayes(n_jobs=1).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    same(whole, AutoBayes().fit(X.iloc[order], y[order]), X)
    parts = AutoBayes().fit(X[2000:], y[2000:]) + left
    same(whole, parts, X)
    whole.save(tmp_path / "model")
    loaded = naively.load(tmp_path / "model")
    same(whole, loaded, X)
    same(left, loaded.forget(X[2000:], y[2000:]), X)


@duplicates_are_said
def test_a_row_of_weight_three_is_three_rows():
    X, y = normal_table(300)
    weight = np.random.default_rng(0).integers(0, 4, 300).astype(float)
    rows = np.repeat(np.arange(300), weight.astype(int))
    same(AutoBayes().fit(X, y, weight), AutoBayes().fit(X.iloc[rows], y[rows]), X)


def noisy_table(n=400, seed=0):
    """Five columns of which one tells a little; rows by chance equal are none."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    return X, rng.random(n) < 1 / (1 + np.exp(-X["a"]))


@duplicates_are_said
@pytest.mark.parametrize("often", [2, 20])
def test_copies_of_all_rows_add_no_evidence(often):
    X, y = noisy_table()
    once, copied = AutoBayes().fit(X, y), AutoBayes().fit(pd.concat([X] * often), np.tile(y, often))
    np.testing.assert_allclose(copied.predict_proba(X), once.predict_proba(X), atol=1e-3)
    assert plan(copied).out_of_fold.log_loss == pytest.approx(
        plan(once).out_of_fold.log_loss, abs=1e-3
    )


def copied_of_one_class(rng, y):
    return np.append(np.arange(len(y)), np.tile(np.flatnonzero(y), 4)), None


def a_third_copied(rng, y):
    return np.append(np.arange(len(y)), np.arange(0, len(y), 2)), None


def heavy(rng, y):
    return np.arange(len(y)), rng.exponential(50.0, len(y))


@duplicates_are_said
@pytest.mark.parametrize("copies", [copied_of_one_class, a_third_copied, heavy])
def test_copies_are_not_known_by_each_other(copies):
    """What is said of left-out rows holds of new ones."""
    X, y = noisy_table()
    Z, t = noisy_table(4000, seed=1)
    rows, weight = copies(np.random.default_rng(2), y.to_numpy())
    model = AutoBayes().fit(X.iloc[rows], y.to_numpy()[rows], weight)
    if copies is copied_of_one_class:  # to which new rows are as well
        more = np.flatnonzero(t)
        Z, t = pd.concat([Z, *[Z.iloc[more]] * 4]), np.append(t, np.tile(t.to_numpy()[more], 4))
    new = log_loss(t, model.predict_proba(Z), labels=model.classes_)
    assert plan(model).out_of_fold.log_loss > new - 0.1
    assert new < log_loss(t, np.full(len(t), np.mean(t))) + 0.02


@pytest.mark.parametrize("weight", [1e-12, 1 / 400, 0.5, 3.0, 1e6])
def test_equal_weights_of_all_rows_change_nothing(weight):
    X, y = noisy_table()
    model = AutoBayes().fit(X, y, np.full(400, weight))
    np.testing.assert_allclose(
        model.predict_proba(X), AutoBayes().fit(X, y).predict_proba(X), atol=1e-3
    )


@pytest.mark.parametrize("q", [2.0, 3.0, 10.0])
def test_levels_of_heavy_rows_are_as_rare_as_those_of_others(q):
    """An identifier tells nothing, also where one class is weighed or copied."""
    rng = np.random.default_rng(0)
    y, x = rng.random(600) < 0.2, rng.normal(size=600)
    table = pd.DataFrame({"id": [f"u{k}" for k in range(600)], "x": x})
    model = AutoBayes().fit(table, y, np.where(y, q, 1.0))
    fair = q * y.sum() / (q * y.sum() + (~y).sum())
    new = pd.DataFrame({"id": [f"v{k}" for k in range(600)], "x": x})
    assert model.predict_proba(new)[:, 1].mean() == pytest.approx(fair, abs=0.03)


def cities(rng, n):
    """Cities that come again, by name and number, with the label that each has."""
    city = rng.integers(0, 100, n)
    names = [f"city {k}" for k in city]
    return pd.DataFrame({"id": city, "name": names, "state": city % 17}), (7 * city) % 13 > 5


def designs(rng, n):
    """Four choices of five each, one column a choice, and a rule of their sum."""
    chosen = rng.integers(0, 5, (n, 4))
    columns = {f"{j}={k}": chosen[:, j] == k for j in range(4) for k in range(5)}
    return pd.DataFrame(columns).astype(int), chosen.sum(axis=1) > 8


@pytest.mark.parametrize("table", [cities, designs])
def test_recurring_rows_are_no_copies(table):
    """Though columns depend on each other, and labels are certain."""
    rng = np.random.default_rng(0)
    (X, y), (Z, t) = table(rng, 3000), table(rng, 1000)
    model = AutoBayes().fit(X, y)
    assert log_loss(t, model.predict_proba(Z), labels=model.classes_) < 0.05
    found = entries.Entries.of(model.model_.parts[0])
    assert found.weight.sum() == 3000
    assert len(found) >= 1000


def test_numbers_and_their_text_are_the_same_levels():
    X, y = normal_table(200)
    whole = X.assign(n=np.arange(200) % 7)
    text = whole.assign(n=[str(k) for k in whole["n"]])
    same(AutoBayes().fit(whole, y), AutoBayes().fit(text, y), X.assign(n=3))
    mixed = whole.assign(n="none").iloc[:5]
    both = AutoBayes().fit(text, y)
    with pytest.warns(UserWarning, match="column 'n' .*'none'.* is categorical .* to undo"):
        both.partial_fit(mixed, y[:5])
    same(AutoBayes().fit(whole, y), both.forget(mixed, y[:5]), whole)


def test_columns_that_come_later_are_missing_before():
    X, y = normal_table(200)
    model = AutoBayes().fit(X[["a", "b"]][:100], y[:100]).partial_fit(X[["b", "c"]][100:], y[100:])
    full = pd.concat([X[["a", "b"]][:100], X[["b", "c"]][100:]])
    same(AutoBayes().fit(full[["a", "b", "c"]], y), model, X[["a", "b", "c"]])


def test_beyond_the_limit_a_sample_is_stored_whatever_the_order_and_split():
    X, y = normal_table(900)
    order = np.random.default_rng(3).permutation(900)
    model = AutoBayes(limit=300).fit(X, y)
    assert len(model.model_.parts[0].codes) == 300
    shuffled = AutoBayes(limit=300).fit(X.iloc[order[:400]], y[order[:400]])
    shuffled.partial_fit(X.iloc[order[400:]], y[order[400:]])
    same(model, shuffled, X)
    assert model.class_count_.sum() == 900
    assert (model.predict(X) == y).mean() > 0.75
    kept = np.isin(np.arange(900), rows_kept(model, X))
    assert AutoBayes().fit(X[kept], y[kept]).model_.parts[0] != model.model_.parts[0]


def test_the_order_of_columns_changes_no_bit():
    """Weights differed by 2e-8, and what is left out was dealt otherwise."""
    X, y = normal_table(400)
    X, other = X.round(2).assign(t=list("uvwv") * 100), list("tcadb")
    a, b = halves(400)
    model = AutoBayes().fit(X, y)
    same(model, AutoBayes().fit(X[other], y), X)
    parts = AutoBayes().fit(X.iloc[a], y[a]), AutoBayes().fit(X.iloc[b][other], y[b])
    same(model, parts[0] + parts[1], X)
    same(model, parts[1] + parts[0], X[other])
    assert model.out_of_fold(X, y).log_loss == model.out_of_fold(X[other], y).log_loss
    for table, names in ((X, tuple("abcd")), (X[other], tuple("cadb"))):  # as the table has them
        shapes = AutoBayes().fit(table, y).evidence_
        assert {one.names for one in shapes if not one.bins} == {names}


def rows_kept(model, X):
    """Where the rows of the sample are among the rows that were learned."""
    sample = model.model_.parts[0]
    first = sample.levels[0][sample.codes[:, 0]]
    return np.flatnonzero(np.isin(X["a"], first))


def test_hashes_are_of_values_not_of_types():
    codes = {"a": ["1", "2", "x"], "b": [0.5, 1.5, 2.5]}
    summary = AutoBayes().fit(codes, [0, 1, 1]).model_.parts[0]
    assert isinstance(AutoBayes().fit(codes, [0, 1, 1]).model_.schema.summary, Sample)
    numbers = AutoBayes().fit({"a": [1, 2], "b": [0.5, 1.5]}, [0, 1]).model_.parts[0]
    assert set(numbers.rows.keys.tolist()) < set(summary.rows.keys.tolist())


def test_different_rows_of_one_key_stay_apart(monkeypatch):
    """Hashes of 64 bits are never met twice in a test: these have two."""
    monkeypatch.setattr(sample_rows, "mixed", lambda states: states % np.uint64(4))
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 5, 300), "b": rng.choice(["u", "v", None], 300)})
    y = rng.integers(0, 2, 300)
    whole = AutoBayes().fit(X, y)
    sample = whole.model_.parts[0]
    assert len(sample.codes) == 15
    assert sample.tables["count"].rounded().sum() == 300
    for cut in ([30, 31], [20, 150], [299, 299]):
        model = AutoBayes().fit(X[: cut[0]], y[: cut[0]])
        for part in (slice(*cut), slice(cut[1], None)):
            if len(X[part]):
                model.partial_fit(X[part], y[part])
        assert model.model_ == whole.model_
        model.forget(X[:3], y[:3])
        assert model.model_ == AutoBayes().fit(X[3:], y[3:]).model_


def test_rows_that_recur_less_are_assigned_to_fewer_folds(monkeypatch):
    """If entries would be too many; classes and folds stay even, and no weight is lost."""
    X, y = normal_table(420)
    X, weight = X.round().clip(-1, 1), np.tile([1.0, 0.7, 3.2], 140)
    for most in (1000, 600, 250):
        monkeypatch.setattr(entries, "MOST", most)
        model = AutoBayes().fit(X, y, sample_weight=weight)
        found = entries.Entries.of(model.model_.parts[0])
        own = np.unique(np.column_stack([found.row, found.y]), axis=0)
        assert len(found) - len(own) <= most
        folds = [len(np.unique(found.part[(found.row == r) & (found.y == c)])) for r, c in own]
        heavy = [found.weight[(found.row == r) & (found.y == c)].sum() for r, c in own]
        assert (np.diff(np.array(folds)[np.argsort(heavy)]) >= 0).all()
        whole = np.bincount(y, weight)[found.classes]
        np.testing.assert_allclose(found.class_weight().sum(axis=(0, 1)), whole)
        assert np.bincount(found.part, minlength=10).min() > len(found) // 15
        pairs = np.column_stack([found.row, found.y, found.part])
        assert len(np.unique(pairs, axis=0)) == len(pairs)
        assert (model.predict(X) == y).mean() > 0.75


# ---- what it says --------------------------------------------------------------------------------


def test_contributions_add_up_to_the_log_odds():
    X, y = load_wine(return_X_y=True)
    model = AutoBayes().fit(X, y)
    told = model.explain(X)
    log_proba = model.predict_log_proba(X)
    total = told.contributions.sum(axis=2) + told.prior
    odds = total[:, 0] - total[:, 1]
    np.testing.assert_allclose(odds, log_proba[:, 0] - log_proba[:, 1], atol=1e-9)


def test_columns_have_no_part_of_what_a_class_is_too_far_behind_to_have():
    rng = np.random.default_rng(0)
    n = 1000  # of class 0 nearly all are in one place: others are thousands of nats away
    X = rng.normal(size=(2 * n, 3))
    X[:n, 0] *= rng.random(n) < 0.01
    X[:n, 1] *= 0.01
    model = AutoBayes().fit(X, np.repeat([0, 1], n))
    far = np.array([[-2.0, 2.0, 0.0], [2.0, -3.0, 1.0], [0.0, 4.0, -1.0]])
    columns = np.diff(model.explain(far).contributions, axis=1)[:, 0]
    told = model.explain(far, by_block=True)
    assert sorted(told.blocks) == [(0,), (0, 1, 2), (1,), (2,)]
    by_block = dict(zip(told.blocks, np.diff(told.contributions, axis=1)[:, 0].T, strict=True))
    together = by_block.pop((0, 1, 2))
    alone = [by_block[j,] for j in range(3)]
    shares = np.abs(columns - np.transpose(alone)).max(axis=1)
    assert (shares < 2 * np.abs(together)).all()  # of about 0.3 nats; they were 5 to 14


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"interactions": 4}, "interactions must be"), ({"limit": 0}, "limit must be"),
     ({"interactions": True}, "interactions must be")],
)  # fmt: skip
def test_wrong_parameters_are_refused(wrong, said):
    X, y = normal_table(50)
    with pytest.raises(ValueError, match=said):
        AutoBayes(**wrong).fit(X, y)


def test_many_columns_that_say_the_same_and_err_together():
    """Where all evidence is sure, and wrong of the same rows, the weights say how sure to be."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 3000)
    seen = y ^ (rng.random(3000) < 0.013)
    X = pd.DataFrame({f"x{k}": (seen + rng.normal(0, 0.02, 3000)).round(2) for k in range(30)})
    best = -(0.987 * np.log(0.987) + 0.013 * np.log(0.013))
    for interactions in (0, "auto"):
        model = AutoBayes(interactions=interactions)
        assert loss(model, X[:1000], y[:1000], X[1000:], y[1000:]) < best + 0.03


def wide_table(n, seed):
    """Two columns whose parity tells the class, as each does a little, beside 1,100 of noise."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (2, n))
    y = (a ^ b) | (rng.random(n) < 0.1)
    table = pd.DataFrame(rng.integers(0, 4, (n, 1100)).astype(str)).add_prefix("noise")
    told = [(one + 2 * (rng.random(n) < 0.5 * y)).astype(str) for one in (a, b)]
    return table.assign(a=told[0], b=told[1]), y


@pytest.mark.slow
def test_of_very_many_columns_the_informative_ones_are_weighted_and_combined():
    X, y = wide_table(400, 0)
    Z, t = wide_table(2000, 9)
    model = AutoBayes()
    assert loss(model, X, y, Z, t) < 0.1  # .59 if all columns are weighed
    assert ("a", "b") in [one.names for one in model.evidence_]
    same(model, AutoBayes().fit(X[::-1], y[::-1]), X[:5])


@pytest.mark.parametrize("informative", [0, 20])
@pytest.mark.parametrize(("n", "width"), [(200, 800), (400, 600)])
def test_the_best_of_many_columns_of_chance_are_not_believed(n, width, informative):
    """New rows are predicted about as well as cross-validation says, and as by the class prior."""
    rng = np.random.default_rng(n)
    y = rng.integers(0, 3, n + 2000)
    X = rng.normal(size=(len(y), width))
    X[:, :informative] += 0.5 * rng.normal(size=(3, informative))[y]
    model = AutoBayes(n_jobs=1).fit(X[:n], y[:n])
    new = log_loss(y[n:], model.predict_proba(X[n:]))
    said = model.model_.posterior().parameters.plan.out_of_fold.log_loss
    assert new < (0.95 if informative else 1.06) * np.log(3)
    assert 0.85 < said / new < 1.15


def test_a_column_of_text_is_weighed_beside_very_many_others():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    table = pd.DataFrame(rng.integers(0, 4, (200, 1100)).astype(str)).add_prefix("noise")
    table["text"] = [f"{'good' if k else 'bad'} thing of {i}" for i, k in enumerate(y)]
    model = AutoBayes(text=["text"]).fit(table, y)
    assert model.evidence_[0].names == ("text",)


def test_a_table_without_evidence_has_the_prior():
    """Where every weight would be negative, there is no evidence."""
    for seed in range(12):
        draw = np.random.default_rng(seed)
        table = {"a": draw.normal(size=60), "b": draw.integers(0, 3, 60).astype(str)}
        model = AutoBayes().fit(table, draw.choice(["p", "q"], 60))
        assert (model.model_.posterior().parameters.plan.weights > 0).any() or (
            np.ptp(model.predict_proba(table), axis=0) == 0
        ).all()


def blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_blas_has_one_thread_until_the_last_has_left():
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        first, second = one_thread(), one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_blas_has_one_thread_in_any_thread():
    """threadpoolctl lets one thread set limits, and ignores what others ask for."""

    def inside():
        with one_thread():
            return blas_threads()

    with threadpool_limits(2, "blas"):
        before = blas_threads()
        assert inside() == {1}
        with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
            for pool in (one, other, one):
                assert pool.submit(inside).result() == {1}
                assert blas_threads() == before


def test_others_can_limit_blas_afterwards():
    """Their limits were ignored while the thread that had made a model lived."""

    def limited():
        with threadpool_limits(1, "blas"):
            return blas_threads()

    with threadpool_limits(2, "blas"):
        before = blas_threads()
        with one_thread():
            pass
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(limited).result() == {1}
            assert blas_threads() == before


@pytest.mark.parametrize("split", [1, 4])
def test_a_state_that_is_much_of_the_data_is_as_much_of_a_sample(split):
    """The rows beyond the limit: the state was in the sample as one row, or not in it."""
    rng = np.random.default_rng(0)
    n = 20_000
    idle = rng.random(n) < 0.3
    y = rng.random(n) < np.where(idle, 0.02, 0.5)
    X = pd.DataFrame({"a": np.where(idle, 0.0, rng.normal(size=n) + y), "idle": idle.astype(str)})
    model = AutoBayes(limit=1000)
    for part in np.array_split(np.arange(n), split):
        model.partial_fit(X.iloc[part], y[part])
    proba = model.predict_proba(X)
    assert proba[idle, 1].mean() == pytest.approx(y[idle].mean(), abs=0.02)
    assert proba[~idle, 1].mean() == pytest.approx(y[~idle].mean(), abs=0.05)
    whole = log_loss(y, AutoBayes().fit(X, y).predict_proba(X))
    assert log_loss(y, proba) < 1.05 * whole
    assert plan(model).out_of_fold.log_loss == pytest.approx(log_loss(y, proba), rel=0.1)


@duplicates_are_said
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_sampled_in_proportion_to_their_weight(seed):
    """Sums over a sample are those over all rows, about; heavy rows are exact."""
    rng = np.random.default_rng(seed)
    often = rng.geometric(1 / (1 + 200 * (np.arange(5000) % 100 == 0)))
    X = rng.normal(size=(5000, 1))
    rows = rng.permutation(np.repeat(np.arange(5000), often))
    y = (X[rows, 0] > 0).astype(int)
    statistics = AutoBayes(limit=500).fit(X[rows], y).model_.parts[0]
    assert len(statistics.codes) <= 500
    found = statistics.estimated()
    assert found.sum() == pytest.approx(len(rows), rel=0.1)
    known = dict(zip(statistics.levels[0], statistics.tables["count"].rounded().sum(axis=0)[
        np.argsort(statistics.codes[:, 0])], strict=True))  # fmt: skip
    heavy = np.flatnonzero(often > 150)
    assert all(known[X[k, 0]] == often[k] for k in heavy)
    forgotten = AutoBayes(limit=500).fit(X[rows], y).forget(X[rows[:300]], y[:300])
    assert not forgotten.model_.parts[0].tables["count"].any_negative()
