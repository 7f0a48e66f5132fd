"""What an update reuses, how long, and what it counts: see `naively.model.model`."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import naively
from naively import AutoBayes, MultilabelNB, NaiveBayes, TextNB
from naively.cli.main import run
from naively.families.auto_bayes import pooled
from naively.pooling.entries import Entries

N = 400


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    shade = np.where(rng.random(n) < 0.6, y, rng.integers(0, 3, n))
    size, noise = rng.normal(size=n) + y, rng.normal(size=n)
    frame = pd.DataFrame({"size": size, "shade": np.array(["a", "b", "c"])[shade], "noise": noise})
    return frame, np.array(["no", "yes"])[y]


X, Y = table(2 * N)
WORDS = [f"word{k}" for k in range(40)]


def texts(n):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    share = np.linspace(1, 3, len(WORDS))
    shares = np.array([share, share[::-1]]) / share.sum()
    return [" ".join(rng.choice(WORDS, 8, p=shares[k])) for k in y], y


def weights_of(model):
    return [one.weights.tolist() for one in np.atleast_1d(model.scale_)]


def plan_of(model):
    return model.model_.posterior().parameters.plan


def fitted(n=N, estimator=AutoBayes):
    model = estimator().fit(X[:n], Y[:n])
    model.predict_proba(X[:1])
    return model


def check_fresh(model, rows, labels, **kwargs):
    """It is the model of one `fit` of these rows, bit for bit."""
    fresh = type(model)(**kwargs).fit(rows, labels)
    some = rows[:50]
    assert np.array_equal(model.predict_proba(some), fresh.predict_proba(some))


def test_an_update_keeps_bins_interactions_and_weights_and_counts_columns():
    model = fitted()
    before = plan_of(model)
    model.partial_fit(X[N : N + 7], Y[N : N + 7])
    after = plan_of(model)
    assert np.array_equal(after.weights, before.weights)
    assert np.array_equal(after.bias, before.bias)
    assert [one.columns for one in after.blocks] == [one.columns for one in before.blocks]
    assert all(one is two for one, two in zip(after.columns, before.columns, strict=True))
    names = list(model.model_.schema.names)
    place = names.index("shade")
    (block,) = [b for b in after.blocks if b.way is not None and b.columns == (place,)]
    # log (n_kc + 1) / (n_k π_c + 1), by counts of all rows
    rows, labels = X[: N + 7], Y[: N + 7]
    count = pd.crosstab(rows["shade"], labels).to_numpy(float)
    prior = (pd.Series(labels).value_counts().sort_index().to_numpy() + 0.5) / (N + 8)
    expected = np.log((count + 1) / (count.sum(axis=1, keepdims=True) * prior + 1))
    assert np.allclose(block.table[:3], expected, atol=1e-12)
    assert not np.allclose(block.table, before.blocks[after.blocks.index(block)].table)
    assert model.model_.posterior().class_prior[1] == np.mean(labels == "yes")


def test_the_plan_of_the_same_rows_is_the_same():
    model = fitted()
    plan = plan_of(model)
    again = plan.recounted(Entries.of(model.model_.statistics))
    for one, other in zip(again.blocks, plan.blocks, strict=True):
        assert np.array_equal(one.table, other.table)


def test_a_tenth_more_rows_choose_anew():
    model, tenth = fitted(), N // 10
    weights = plan_of(model).weights
    for k in range(tenth):
        model.partial_fit(X[N + k : N + k + 1], Y[N + k : N + k + 1]).predict(X[:1])
    assert np.array_equal(plan_of(model).weights, weights)
    model.partial_fit(X[N + tenth : N + tenth + 1], Y[N + tenth : N + tenth + 1])
    check_fresh(model, X[: N + tenth + 1], Y[: N + tenth + 1])


def test_reestimate_gives_the_bits_of_one_fit():
    model = fitted().partial_fit(X[N : N + 9], Y[N : N + 9])
    model.predict(X[:1])
    assert model.reestimate() is model
    check_fresh(model, X[: N + 9], Y[: N + 9])
    plain = fitted(estimator=NaiveBayes).partial_fit(X[N : N + 9], Y[N : N + 9])
    check_fresh(plain, X[: N + 9], Y[: N + 9])
    with pytest.raises(ValueError, match="not fitted"):
        AutoBayes().reestimate()


def test_forgetting_merging_and_decay_choose_anew():
    model = fitted().partial_fit(X[N : N + 9], Y[N : N + 9])
    model.predict(X[:1])
    model.forget(X[:1], Y[:1])
    check_fresh(model, X[1 : N + 9], Y[1 : N + 9])
    total = model + AutoBayes().fit(X[N + 9 : N + 20], Y[N + 9 : N + 20])
    check_fresh(total, X[1 : N + 20], Y[1 : N + 20])
    model = fitted().partial_fit(X[N : N + 9], Y[N : N + 9]).decay(0.5)
    fresh = AutoBayes().fit(X[: N + 9], Y[: N + 9]).decay(0.5)
    assert np.array_equal(model.predict_proba(X), fresh.predict_proba(X))


def test_parts_that_are_forgotten_choose_anew():
    model = fitted().partial_fit(X[N : N + 9], Y[N : N + 9], part="a")
    model.predict(X[:1])
    model.forget(part="a")
    check_fresh(model, X[:N], Y[:N])


def test_new_classes_and_columns_choose_anew():
    label = np.array(["other"])
    model = fitted().partial_fit(X[N : N + 1], label)
    check_fresh(model, X[: N + 1], np.append(Y[:N], label))
    wider = X.assign(more=np.arange(len(X)) % 2)
    model = fitted().partial_fit(wider[N : N + 1], Y[N : N + 1])
    assert "more" in model.feature_names_in_
    assert model.model_.structure is None


def test_a_file_knows_when_the_structure_is_due(tmp_path):
    model, tenth, path = fitted(), N // 10, tmp_path / "a.model"
    model.partial_fit(X[N : N + 9], Y[N : N + 9]).save(path)
    loaded = naively.load(path)
    assert loaded.model_.structure.weight == N
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for one in (model, loaded):
        one.partial_fit(X[N + 9 : N + tenth], Y[N + 9 : N + tenth])
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(plan_of(loaded).weights, plan_of(fitted()).weights)
    loaded.partial_fit(X[N + tenth : N + tenth + 1], Y[N + tenth : N + tenth + 1])
    check_fresh(loaded, X[: N + tenth + 1], Y[: N + tenth + 1])


def test_an_update_of_a_file_keeps_the_structure(tmp_path, monkeypatch):
    for name, part in ("first", slice(N)), ("more", slice(N, N + 5)):
        csv.write_csv(pa.table({**X[part], "y": Y[part]}), tmp_path / f"{name}.csv")
    path = str(tmp_path / "a.model")
    assert run(["fit", str(tmp_path / "first.csv"), "--target", "y", "-o", path]) == 0

    def fail(*_):
        raise AssertionError("the structure was chosen anew")

    monkeypatch.setattr(pooled, "fit", fail)
    assert run(["update", path, str(tmp_path / "more.csv")]) == 0
    assert naively.load(path).model_.rows == N + 5


def test_how_often_a_stream_chooses_anew(monkeypatch):
    made = []
    original = pooled.fit

    def counted(*arguments):
        made.append(1)
        return original(*arguments)

    model = fitted()
    monkeypatch.setattr(pooled, "fit", counted)
    for k in range(N, N + 50):
        model.predict(X[k : k + 1])
        model.partial_fit(X[k : k + 1], Y[k : k + 1])
    assert len(made) == 1


@pytest.mark.parametrize("options", [{"event": "binary"}, {}, {"models": "auto"}])
def test_texts_count_all_documents_by_stored_weights(options):
    documents, y = texts(N + 20)
    model = TextNB(**options).fit(documents[:N], y[:N])
    weights = weights_of(model)
    model.partial_fit(documents[N:], y[N:])
    assert weights_of(model) == weights
    fresh = TextNB(**options).fit(documents, y)
    if "event" in options:  # a pool keeps the models that it had
        assert np.array_equal(model.feature_count_, fresh.feature_count_)
    assert np.array_equal(
        model.model_.posterior().class_prior, fresh.model_.posterior().class_prior
    )
    assert not np.array_equal(model.predict_proba(documents), fresh.predict_proba(documents))
    model.reestimate()
    assert np.array_equal(model.predict_proba(documents), fresh.predict_proba(documents))


def test_labels_of_texts_keep_their_weights():
    documents, y = texts(N + 20)
    labels = [["a"] if k else ["b"] for k in y]
    model = MultilabelNB().fit(documents[:N], labels[:N])
    model.predict_proba(documents[:1])
    model.partial_fit(documents[N:], labels[N:])
    assert model.model_.structure.weight == N
    fresh = MultilabelNB().fit(documents, labels)
    kept = model.predict_proba(documents)
    model.reestimate()
    assert np.array_equal(model.predict_proba(documents), fresh.predict_proba(documents))
    assert np.abs(kept - model.predict_proba(documents)).max() < 0.1
