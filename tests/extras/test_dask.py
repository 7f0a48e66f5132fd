"""Dask: the same bits as one machine, on its own schedulers."""

import numpy as np
import pytest

pytest.importorskip("dask.dataframe", reason="needs naively[dask]")

import dask
import dask.dataframe as dd
import pandas as pd
from cluster_tables import bits, silently, table
from hypothesis import given, settings
from hypothesis import strategies as st

import naively.dask
from naively import AutoBayes, GaussianNB, NaiveBayes, TextNB


@pytest.fixture(autouse=True)
def scheduler():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@settings(max_examples=6)
@given(st.integers(0, 999), st.integers(1, 120), st.integers(1, 7))
def test_the_same_bits_however_rows_are_shared_out(seed, rows, parts):
    frame = table(seed, rows).to_pandas()
    if frame["label"].isna().all():
        return
    ddf = dd.from_pandas(frame, npartitions=parts, sort=False)
    for model in (AutoBayes(), NaiveBayes(alpha=0.5)):
        whole = ddf.compute()  # Dask makes text of objects
        one = silently(type(model)(**model.get_params(deep=False)).fit, whole, "label")
        found = silently(naively.dask.fit, ddf, target="label", model=model)
        assert bits(found) == bits(one)
        assert found.get_params() == one.get_params()
        assert not hasattr(model, "classes_")


@pytest.mark.parametrize("model", [AutoBayes(), NaiveBayes()])
def test_partitions_may_hold_a_column_as_numbers_and_as_text(model):
    frame = table(3, 60).to_pandas().dropna(subset=["label"])
    frame["number"] = np.arange(len(frame)) % 7
    parts = [frame[:20], frame[20:20], frame[20:].assign(number=frame["number"][20:].map(str))]
    delayed = [dask.delayed(part) for part in parts]
    ddf = dd.from_delayed(delayed, meta=frame[:0], verify_meta=False)
    found = silently(naively.dask.fit, ddf, target="label", model=model)
    assert bits(found) == bits(silently(model.fit, pd.concat(parts), "label"))


@pytest.mark.parametrize("model", [AutoBayes(), NaiveBayes()])
def test_identifiers_are_left_out_once_all_rows_are_counted(model):
    frame = table(2, 300).to_pandas().dropna(subset=["label"])[["number", "level", "label"]]
    frame["identifier"] = [f"row {k:05d} of a table" for k in range(len(frame))]
    ddf = dd.from_pandas(frame, npartitions=4, sort=False)
    found = silently(naively.dask.fit, ddf, target="label", model=model)
    assert "identifier" not in found.model_.schema.names
    assert bits(found) == bits(silently(model.fit, ddf.compute(), "label"))


def test_documents_weights_and_a_given_plan():
    frame = table(1, 200).to_pandas().dropna(subset=["label", "text"])
    frame["weight"] = np.arange(len(frame)) % 4
    ddf = dd.from_pandas(frame, npartitions=5, sort=False)
    texts = TextNB(weighting="log-tfidf")
    found = naively.dask.fit(ddf, target="label", model=texts, features=["text"])
    assert bits(found) == bits(texts.fit(frame["text"], frame["label"].tolist()))
    assert (
        naively.dask.predict(found, ddf["text"]).compute() == texts.predict(frame["text"])
    ).all()

    weighed = silently(naively.dask.fit, ddf, target="label", model=NaiveBayes(), weight="weight")
    rows = frame.drop(columns="weight")
    one = silently(NaiveBayes().fit, rows, "label", frame["weight"])
    assert bits(weighed) == bits(one)

    plain = rows.drop(columns="text")  # a plan with words cannot be given
    half = silently(AutoBayes().fit, plain[::2], "label")
    counted = dd.from_pandas(plain, npartitions=5, sort=False)
    planned = silently(naively.dask.fit, counted, target="label", model=AutoBayes(), like=half)
    assert bits(planned) == bits(silently(AutoBayes().fit, plain, "label", like=half))


def test_what_is_predicted_has_the_index_of_the_rows():
    frame = table(1, 90).to_pandas().dropna(subset=["label"])
    frame.index = frame.index + 1000
    model = silently(NaiveBayes().fit, frame, "label")
    X = frame.drop(columns="label")
    ddf = dd.from_pandas(X, npartitions=4, sort=False)
    expected = pd.Series(silently(model.predict, X), X.index, name="prediction")
    found = silently(lambda: naively.dask.predict(model, ddf).compute())
    pd.testing.assert_series_equal(found, expected)
    proba = silently(lambda: naively.dask.predict_proba(model, ddf).compute())
    assert proba.columns.tolist() == model.classes_.tolist()
    assert proba.index.equals(X.index)
    np.testing.assert_array_equal(proba, silently(model.predict_proba, X))


def test_on_processes_of_distributed():
    distributed = pytest.importorskip("distributed", reason="needs naively[dask]")
    frame = table(1, 150).to_pandas()
    ddf = dd.from_pandas(frame, npartitions=6, sort=False)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster),
        dask.config.set(scheduler="distributed"),
    ):  # fmt: skip
        found = silently(naively.dask.fit, ddf, target="label")
        learned = bits(found)  # before it works out a plan, which files hold too
        answers = naively.dask.predict(found, ddf.drop(columns="label")).compute()
    one = silently(AutoBayes().fit, frame, "label")
    assert learned == bits(one)
    assert (answers == one.predict(frame.drop(columns="label"))).all()


def test_what_cannot_be_learned_is_refused():
    frame = table(1, 40).to_pandas()
    ddf = dd.from_pandas(frame, npartitions=3, sort=False)
    with pytest.raises(ValueError, match="'labels'"):
        naively.dask.fit(ddf, target="labels")
    with pytest.raises(ValueError, match="among the features"):
        naively.dask.fit(ddf, target="label", features=["label", "few"])
    with pytest.raises(TypeError, match="not GaussianNB"):
        naively.dask.fit(ddf, target="label", model=GaussianNB())
    with pytest.raises(ValueError, match="one column of text, but there are 11"):
        naively.dask.fit(ddf, target="label", model=TextNB())
    with pytest.raises(ValueError, match='alpha="auto"'):
        naively.dask.fit(ddf, target="label", model=NaiveBayes(alpha="auto"))
    with pytest.raises(ValueError, match="no rows"):
        naively.dask.fit(ddf[ddf["few"] > 100], target="label")
    with pytest.raises(ValueError, match="every label in column 'nothing' is missing"):
        naively.dask.fit(ddf, target="nothing", features=["few"])
