"""The decision trees of `AutoBayes`: rules of more conditions than interactions have."""

import re

import numpy as np
import pandas as pd
import pytest
from real import real

import naively
from naively import AutoBayes
from naively.pooling.blocks.trees import Trees


def rules(seed, n, noise=0.03):
    """Rows with numbers and gaps, whose class follows rules of five to six conditions."""
    rng = np.random.default_rng(seed)
    switches = np.array(["off", "on", "auto"])[rng.integers(0, 3, (n, 5))]
    size, speed = rng.normal(size=n), rng.normal(size=n)
    on = switches == "on"
    first = on[:, 0] & ~on[:, 1] & (size > -0.6) & (speed < 0.7) & (switches[:, 2] != "off")
    second = ~on[:, 0] & on[:, 1] & (size < 0.9) & (speed > -0.9) & ~on[:, 3] & ~on[:, 4]
    y = (first | second) ^ (rng.random(n) < noise)
    X = pd.DataFrame(switches.astype(object), columns=[f"switch{k}" for k in range(5)])
    X = X.assign(size=size.round(3), speed=speed.round(3))
    X.loc[rng.random(n) < 0.05, "size"] = np.nan
    return X, np.where(y, "stop", "go")


def trees(model):
    plan = model.model_.posterior().parameters.plan
    return [block for block in plan.blocks if isinstance(block, Trees)]


def log_loss(model, X, y):
    proba, classes = model.predict_proba(X), model.classes_.tolist()
    return -np.log(proba[np.arange(len(y)), [classes.index(label) for label in y]]).mean()


@pytest.fixture(scope="module")
def fitted():
    X, y = rules(0, 2600)
    return AutoBayes(n_jobs=1).fit(X[:1600], y[:1600]), X, y


def test_rules_of_five_conditions_are_learned(fitted):
    model, X, y = fitted
    assert len(trees(model)) == 1
    narrow = AutoBayes(interactions=3, n_jobs=1).fit(X[:1600], y[:1600])
    assert not trees(narrow)
    new = X[1600:], y[1600:]
    assert log_loss(model, *new) < 0.9 * log_loss(narrow, *new)


def test_a_real_table_with_deep_rules(data_folder):
    X, y = real("sick")
    model = AutoBayes(n_jobs=1).fit(X[:2500], y[:2500])
    narrow = AutoBayes(interactions=3, n_jobs=1).fit(X[:2500], y[:2500])
    assert len(trees(model)) == 1
    assert log_loss(model, X[2500:], y[2500:]) < 0.9 * log_loss(narrow, X[2500:], y[2500:])


def test_labels_by_chance_grow_no_tree():
    X, y = rules(1, 1500)
    y = np.random.default_rng(0).permutation(y)
    model = AutoBayes(n_jobs=1).fit(X, y)
    assert not trees(model)


def test_out_of_fold_log_loss_is_that_of_new_rows():
    told, new = [], []
    for seed in range(4):
        X, y = rules(seed, 4200)
        model = AutoBayes(n_jobs=1).fit(X[:1200], y[:1200])
        told.append(model.model_.posterior().parameters.plan.out_of_fold.log_loss)
        new.append(log_loss(model, X[1200:], y[1200:]))
    assert np.mean(told) == pytest.approx(np.mean(new), rel=0.08)


def test_the_path_explains(fitted):
    model, X, _ = fitted
    rows = X[1600:1700]
    told = model.explain(rows)
    odds = model.predict_log_proba(rows)
    total = told.contributions.sum(axis=2) + told.prior
    np.testing.assert_allclose(total - total[:, :1], odds - odds[:, :1], atol=1e-9)
    (tree,) = trees(model)
    on_path = tree._on_path[[k for k, node in enumerate(tree.nodes) if node[0] < 0]]
    assert on_path.any(axis=0).all()
    assert (on_path.sum(axis=1) < len(tree.columns)).any()  # some leaves need few columns


def test_files_have_it(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "rules.model")
    again = naively.load(tmp_path / "rules.model")
    assert len(trees(again)) == 1
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_merged_and_forgotten_rows_give_the_same_bits(fitted):
    model, X, y = fitted
    parts = AutoBayes(n_jobs=1).fit(X[900:], y[900:]) + AutoBayes(n_jobs=2).fit(X[:900], y[:900])
    parts.forget(X[1600:], y[1600:])
    np.testing.assert_array_equal(parts.predict_proba(X), model.predict_proba(X))


def test_orders_names_and_units_do_not_matter(fitted):
    model, X, y = fitted
    order = np.random.default_rng(2).permutation(X.shape[1])
    moved = X.assign(size=4 * X["size"]).rename(columns="column {}".format).iloc[:, order]
    other = AutoBayes(n_jobs=2).fit(moved[:1600][::-1], y[:1600][::-1] == "go")
    np.testing.assert_allclose(
        other.predict_proba(moved)[:, ::-1], model.predict_proba(X), atol=1e-12
    )


def test_other_rows_are_counted_like_it(fitted):
    model, X, y = fitted
    other = AutoBayes(n_jobs=1).fit(X[:1600], y[:1600], like=model)
    assert len(trees(other)) == 1
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_the_summary_names_it(fitted):
    model, _, _ = fitted
    assert re.search(r"(?m)^\d features +40 decision trees, [\d,]+ leaves", str(model.summary()))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda nodes: nodes[::-1], "those of trees"),
        (lambda nodes: np.where(nodes == nodes[:, 3].max(), 1, nodes), "those of trees"),
        (lambda nodes: np.where(nodes == 1, 99, nodes), "those of trees"),
        (lambda nodes: nodes + [0, 0, 1, 0] * (nodes[:, 1:2] > 1), "those of trees"),
        (lambda nodes: nodes[:1], "has more|cannot be|belong"),
    ],
)
def test_nodes_that_are_no_tree_are_refused(fitted, wrong, said):
    model, _, _ = fitted
    plan = model.model_.posterior().parameters.plan
    (block,) = trees(model)
    arrays = Trees.stored([block])
    (read,) = Trees.read(arrays, [block.columns], plan.columns, 2)
    np.testing.assert_array_equal(read.nodes, block.nodes)
    arrays["trees.nodes"] = np.ascontiguousarray(wrong(arrays["trees.nodes"]))
    with pytest.raises(ValueError, match=said):
        Trees.read(arrays, [block.columns], plan.columns, 2)


def test_roots_out_of_order_are_refused(fitted):
    model, _, _ = fitted
    plan = model.model_.posterior().parameters.plan
    (block,) = trees(model)
    arrays = Trees.stored([block])
    arrays["trees.roots"] = arrays["trees.roots"][::-1].copy()
    with pytest.raises(ValueError, match="those of trees"):
        Trees.read(arrays, [block.columns], plan.columns, 2)
