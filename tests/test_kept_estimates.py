"""Files and pickles that store the structure of an `AutoBayes`: the same bits; forged ones fail."""

import copy
import gzip
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from forging import forge, parts
from sklearn.datasets import load_wine
from test_auto_bayes import real_table
from test_shapes import TABLES, later, mixed

import naively
from naively import AutoBayes, GaussianNB
from naively.cli.main import run
from naively.families.auto_bayes.pooled import Pooled
from naively.storage.model_files import ESTIMATE, ModelFileError, Saved, from_bytes, load, to_bytes


def bits(model, rows):
    """All that a model says of rows and of itself, to the last bit."""
    why = model.explain(rows, by_block=True)
    said = [
        (one.names, one.kind, one.weight, one.importance, one.evidence.tobytes(),
         one.rows.tobytes(),
         [own.labels for own in one.bins])
        for one in model.evidence_
    ]  # fmt: skip
    return (
        model.predict_proba(rows).tobytes(), why.contributions.tobytes(), why.blocks, said,
        model.n_parameters_,
    )  # fmt: skip


def kept(model):
    """What a model has of an estimate, before anybody asks for one."""
    return {name: array.tobytes() for name, array in model.model_.kept().items()}


def saved(model, folder, name="m"):
    model.save(folder / name)
    return folder / name


@pytest.fixture(scope="module", params=[*TABLES, "array", "adult"])
def learned(request):
    """(a model, the rows that it learned, others)."""
    tables = {**TABLES, "array": load_wine(return_X_y=True)}
    X, y = tables.get(request.param) or real_table()
    new = later(X) if "town" in X and "age" in X else X[:50]
    return AutoBayes().fit(X, y), X, new


# ---- the same bits at once -----------------------------------------------------------------------


def test_what_is_loaded_has_its_plan_and_says_the_same(learned, tmp_path):
    model, X, new = learned
    path = saved(model, tmp_path)
    loaded = naively.load(path)
    assert kept(loaded)
    assert kept(loaded) == kept(model)
    for rows in (X, new):
        assert bits(loaded, rows) == bits(model, rows)
    assert saved(loaded, tmp_path, "again").read_bytes() == path.read_bytes()


def test_pickles_and_copies_have_it_too(learned):
    model, X, new = learned
    model.predict(new)  # whichever test comes first
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert kept(other) == kept(model)
        assert bits(other, new) == bits(model, new)
    fresh = AutoBayes().partial_fit(X, model.predict(X))
    assert not kept(fresh)
    assert not kept(pickle.loads(pickle.dumps(fresh)))


@pytest.fixture
def loaded(tmp_path):
    """(a loaded model, the rows and labels that it learned, others that it did not)."""
    X, y = mixed(3, 700)
    return naively.load(saved(AutoBayes().fit(X[:500], y[:500]), tmp_path)), X, y


def test_a_loaded_model_that_learns_and_forgets_is_estimated_anew(loaded, tmp_path):
    model, X, y = loaded
    whole = AutoBayes().fit(X, y)
    whole.predict(X)
    total = model + AutoBayes().fit(X[500:], y[500:])
    model.partial_fit(X[500:], y[500:])
    for other in (model, total):
        assert not kept(other)
        assert bits(other, X) == bits(whole, X)
        assert kept(other) == kept(whole)
    model.forget(X[:300], y[:300])
    assert not kept(model)
    left = AutoBayes().fit(X[300:], y[300:])
    assert bits(model, X) == bits(left, X)
    assert saved(model, tmp_path, "a").read_bytes() == saved(left, tmp_path, "b").read_bytes()
    assert bits(model.decay(0.5), X) == bits(left.decay(0.5), X)


def test_other_parameters_take_another_plan(loaded):
    model, X, y = loaded
    schema = model.model_.schema
    alone = model.model_.read_as(schema.with_family(Pooled(interactions=0)))
    assert not alone.kept()
    assert {len(one.bins) for one in alone.posterior().shapes} == {0, 1}
    model.set_params(interactions=0).fit(X, y)
    assert bits(model, X) == bits(AutoBayes(interactions=0).fit(X, y), X)


def test_a_prediction_uses_the_rows_of_its_start(loaded):
    model, X, y = loaded
    first = AutoBayes().fit(X[:500], y[:500])
    posterior = model.model_.posterior()  # which has not looked at the rows yet
    twin = pickle.loads(pickle.dumps(model))
    model.partial_fit(X[500:], y[500:])
    for one, two in zip(posterior.shapes, first.evidence_, strict=True):
        assert one.rows.tobytes() == two.rows.tobytes()
        assert one.importance == two.importance
    assert bits(twin, X) == bits(first, X)


def test_an_adapted_prior_keeps_the_plan(loaded):
    model, X, _ = loaded
    adapted = model.adapt_prior(X[:40])
    assert kept(adapted) == kept(model)
    np.testing.assert_allclose(
        adapted.predict_joint_log_proba(X) - np.log(adapted.class_prior_),
        model.predict_joint_log_proba(X) - np.log(model.class_prior_), atol=1e-9,
    )  # fmt: skip


# ---- what is written -----------------------------------------------------------------------------


def test_bytes_estimate_nothing_and_hold_what_was_estimated(loaded):
    _, X, y = loaded
    model = AutoBayes().partial_fit(X, y).model_
    other = AutoBayes().partial_fit(X[::-1], y[::-1]).model_
    plain = to_bytes(Saved(model))
    assert plain == to_bytes(Saved(other))
    assert not model.kept()
    assert not from_bytes(plain).model.kept()
    model.posterior()
    whole = to_bytes(Saved(model))
    assert len(whole) > len(plain)
    assert from_bytes(whole).model == model == from_bytes(plain).model
    assert from_bytes(whole).model.kept()
    other.posterior()
    assert whole == to_bytes(Saved(other))


def test_models_that_cannot_be_estimated_yet_are_saved(loaded, tmp_path):
    model, X, y = loaded
    model.forget(X[:500], y[:500])
    assert len(load(saved(model, tmp_path)).model.classes) == 0
    few = AutoBayes(prior=[0.2, 0.3, 0.5]).partial_fit(X[y < "class 2"], y[y < "class 2"])
    again = naively.load(saved(few, tmp_path)).partial_fit(X, y)
    assert again.predict_proba(X).shape == (700, 3)


def test_a_file_without_a_plan_is_as_good(loaded, tmp_path):
    model, X, _ = loaded
    path = tmp_path / "m"
    document, arrays = parts(path)
    del document["estimate"]
    rows = {name: one for name, one in arrays.items() if not name.startswith(ESTIMATE)}
    assert len(rows) < len(arrays)
    for tensors in (rows, arrays):  # a tensor that nobody asks for is none of our business
        older = naively.load(forge(path, document, tensors))
        assert not kept(older)
        assert bits(older, X) == bits(model, X)


def test_commands_write_files_that_predict_at_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = mixed(2, 500)
    for name, own in (("a", slice(0, 300)), ("b", slice(300, 500))):
        X[own].assign(label=y[own]).to_csv(f"{name}.csv", index=False)
        assert run(["fit", f"{name}.csv", "--target", "label", "-o", name]) == 0
    assert run(["merge", "a", "b", "-o", "both"]) == 0
    assert run(["update", "a", "b.csv", "-o", "more"]) == 0
    assert run(["forget", "both", "b.csv", "-o", "less"]) == 0
    for name in ("a", "b", "both", "more", "less"):
        assert load(name).model.kept(), name
    assert Path("both").read_bytes() == Path("more").read_bytes()
    assert Path("less").read_bytes() == Path("a").read_bytes()
    capsys.readouterr()
    for path in ("a", "less"):
        assert run(["inspect", path]) == 0
    assert len(set(capsys.readouterr().out.split("\n"))) > 10


# ---- hostile files -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forged(tmp_path_factory):
    """(a place for a file, its document, its tensors, rows, labels)."""
    X, y = mixed(3, 400)
    path = saved(AutoBayes().fit(X, y), tmp_path_factory.mktemp("forged"))
    return path, *parts(path), X, y


def changes(array):
    """An array with other content, sizes and types."""
    yield None
    yield array[:-1].copy()
    yield np.concatenate([array, array])
    yield array[np.newaxis].copy()
    yield array.astype(np.float32 if array.dtype.kind == "f" else np.int16)
    if array.dtype.kind == "f":
        values = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, -1.0, 1e40, 1e-40]
        with np.errstate(over="ignore"):
            values = np.array(values).astype(array.dtype)
    else:
        limits = np.iinfo(array.dtype)
        values = [0, 1, 2, 3, 254, limits.max, limits.min, limits.max // 2]
    places = {0, array.size // 2, array.size - 1} if array.size else set()
    for at in places:
        for value in values:
            other = array.copy()
            other.flat[at] = value
            yield other
    yield np.full_like(array, values[3])
    yield array[::-1].copy()


def names_of(arrays):
    return [name for name in arrays if name.startswith(ESTIMATE)]


@pytest.mark.slow
def test_a_plan_that_was_changed_is_refused(forged):
    path, document, arrays, *_ = forged
    names = names_of(arrays)
    assert len(names) > 15
    for name in names:
        for other in changes(arrays[name]):
            own = {k: v for k, v in arrays.items() if k != name}
            if other is not None:
                if other.tobytes() == arrays[name].tobytes() and other.shape == arrays[name].shape:
                    continue
                own[name] = other
            with pytest.raises(ModelFileError, match="made from other rows, or changed since"):
                naively.load(forge(path, document, own, aware=False))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:column '")  # of which a plan may say that it holds dates
def test_who_writes_its_digest_too_makes_no_nonsense(forged):
    path, document, arrays, X, y = forged
    refused = used = 0
    for name in names_of(arrays):
        for other in changes(arrays[name]):
            own = {k: v for k, v in arrays.items() if k != name}
            if other is not None:
                own[name] = other
            try:
                model = naively.load(forge(path, document, own))
            except ModelFileError as error:
                assert "the estimate in it cannot be true" in str(error)  # noqa: PT017
                refused += 1
                continue
            used += 1
            with np.errstate(all="raise", under="ignore"):
                assert np.isfinite(model.predict_proba(X)).all(), name
            if used % 8 == 0:
                model.explain(X[:9], by_block=True).to_arrow()
                assert len(model.evidence_) == len(model.model_.posterior().parameters.plan.blocks)
                assert kept(model.partial_fit(X[:9], y[:9])) == {}
    assert refused > 250
    assert used > 50


def changed(arrays, name, at, value):
    array = arrays[ESTIMATE + name].copy()
    array[at] = value
    return arrays | {ESTIMATE + name: array}


WRONG = [
    ("coarser", (0, 0), 65535, "a bin of column 0 is none that it has"),
    ("coarser", (2, -1), 0, "a bin of column 6 is none that it has"),
    ("cells.ways", 0, 7, "cut in an unknown way, 7"),
    ("kinds", 0, ord("x"), "blocks of an unknown kind, 'xells'"),
    ("kinds", 1, ord(" "), "blocks, but .* kinds of blocks"),
    ("widths", 0, 0, "do not belong to the blocks"),
    ("widths", 0, 2**62, "do not belong to the blocks"),
    ("columns", 0, -1, "a column that is not there"),
    ("columns", 0, 7, "a column that is not there"),
    ("columns", -1, 0, "out of order"),
    ("cells.tables", (3, 1), np.nan, "a number of 'cells.tables'"),
    ("cells.tables", (0, 0), np.inf, "a number of 'cells.tables'"),
    ("weights", 0, 1e300, "a number of 'weights'"),
    ("bias", 1, np.nan, "a number of 'bias'"),
    ("log_loss", 0, np.inf, "a number of 'log_loss'"),
    ("gaussian.0.centre", 0, np.nan, "cannot be standardised"),
    ("gaussian.0.spread", 0, -1.0, "cannot be standardised"),
    ("gaussian.0.means", (0, 0), -np.inf, "a number of 'gaussian.0.means'"),
    ("gaussian.0.factors", (0, 0, 1), 0.5, "no such Cholesky factor"),
    ("gaussian.1.factors", (2, 1, 1), 0.0, "no such Cholesky factor"),
    ("gaussian.1.factors", (2, 1, 1), -1.0, "no such Cholesky factor"),
    ("gaussian.1.factors", (0, 0, 0), 1e-60, "a covariance is singular"),
    ("numbers", 0, np.nan, "not finite"),
    ("numbers", 0, 1e9, "sorted and distinct"),
    ("level_counts", 0, 1, "levels|shape"),
    ("text_lengths", 0, -1, "add up"),
]


@pytest.mark.parametrize(("name", "at", "value", "said"), WRONG, ids=lambda one: str(one)[:20])
def test_what_is_wrong_with_a_plan_is_said(name, at, value, said, forged):
    path, document, arrays, *_ = forged
    own = changed(arrays, name, at, value)
    with pytest.raises(ModelFileError, match=f"the estimate in it cannot be true: .*({said})"):
        naively.load(forge(path, document, own))


def test_normal_densities_are_of_numbers(forged):
    path, document, arrays, *_ = forged
    kinds = bytes(arrays[ESTIMATE + "kinds"]).decode().split()
    first = int(arrays[ESTIMATE + "widths"][: kinds.index("gaussian")].sum())
    for column in (1, 2):  # text
        own = changed(arrays, "columns", first, column)
        with pytest.raises(ModelFileError, match=r"holds no numbers|out of order"):
            naively.load(forge(path, document, own))


def test_blocks_are_of_the_kind_whose_arrays_there_are(forged):
    path, document, arrays, *_ = forged
    kinds = bytes(arrays[ESTIMATE + "kinds"]).decode().split()
    for other, said in (("gaussian", "'gaussian.0.centre' cannot be"), ("text", "have no 'event'")):
        tags = np.frombuffer(" ".join([other, *kinds[1:]]).encode(), np.uint8)
        with pytest.raises(ModelFileError, match=f"{said}|holds no text"):
            naively.load(forge(path, document, arrays | {ESTIMATE + "kinds": tags}))


def test_tables_have_a_row_a_cell(forged):
    path, document, arrays, *_ = forged
    name = ESTIMATE + "cells.tables"
    for other, said in ((arrays[name][:-1], "fewer"), (np.vstack([arrays[name]] * 2), "more")):
        with pytest.raises(ModelFileError, match=f"'cells.tables' has {said} cells"):
            naively.load(forge(path, document, arrays | {name: other.copy()}))


def test_a_plan_of_other_rows_or_columns_is_noticed(forged, tmp_path):
    path, document, arrays, X, y = forged
    fewer = parts(saved(AutoBayes().fit(X[:-1], y[:-1]), tmp_path))
    alone = parts(saved(AutoBayes(interactions=0).fit(X, y), tmp_path))
    plan = {name: arrays[name] for name in names_of(arrays)}
    for other, tensors in (fewer, alone):
        rows = {name: one for name, one in tensors.items() if not name.startswith(ESTIMATE)}
        lie = other | {"estimate": document["estimate"]}
        with pytest.raises(ModelFileError, match="made from other rows"):
            naively.load(forge(path, lie, rows | plan, aware=False))
    narrow = parts(saved(AutoBayes().fit(X.iloc[:, 1:], y), tmp_path))
    two = parts(saved(AutoBayes().fit(X, np.where(y == "class 2", "class 1", y)), tmp_path))
    for other, tensors in (narrow, two):  # even by a liar who thinks of the digest
        rows = {name: one for name, one in tensors.items() if not name.startswith(ESTIMATE)}
        with pytest.raises(ModelFileError, match="the estimate in it cannot be true"):
            naively.load(forge(path, other, rows | plan))


@pytest.mark.parametrize("digest", [None, 1, "", "0" * 32, [], {}], ids=str)
def test_digests_that_are_none(digest, forged):
    path, document, arrays, *_ = forged
    with pytest.raises(ModelFileError, match="made from other rows"):
        naively.load(forge(path, document | {"estimate": digest}, arrays, aware=False))


def test_other_families_keep_none(forged, tmp_path):
    plan = {name: forged[2][name] for name in names_of(forged[2])}
    X, y = load_wine(return_X_y=True)
    path = saved(GaussianNB().fit(X, y), tmp_path)
    document, arrays = parts(path)
    assert "estimate" not in document
    for own in (arrays, arrays | plan):
        with pytest.raises(ModelFileError, match=r"store no estimate|estimate is not there"):
            naively.load(forge(path, document | {"estimate": ""}, own))


@pytest.mark.skipif("NAIVELY_DATA" not in os.environ, reason="NAIVELY_DATA is not set")
def test_letters_have_many_classes_and_cells(tmp_path):
    table = pd.DataFrame(
        [line.split(",") for line in letters()], columns=[f"x{k}" for k in range(17)]
    )
    X, y = table.iloc[:3000, :-1].astype(float), table.iloc[:3000, -1].to_numpy()
    model = AutoBayes().fit(X, y)
    loaded = naively.load(saved(model, tmp_path))
    assert kept(loaded) == kept(model)
    assert bits(loaded, X[::7]) == bits(model, X[::7])


def letters():
    """The lines of rows of a file of ARFF."""
    path = Path(os.environ["NAIVELY_DATA"], "letter", "letter.arff.gz")
    with gzip.open(path, "rt") as file:
        lines = [line.strip() for line in file]
    start = next(k for k, line in enumerate(lines) if line.lower() == "@data")
    return [line for line in lines[start + 1 :] if line and not line.startswith("%")]
