"""All engines give the same bits, however rows are distributed."""

from functools import reduce

import numpy as np
import pyarrow as pa
import pytest
from cluster_tables import bits, silently, table
from hypothesis import given, settings
from hypothesis import strategies as st

from naively import AutoBayes, NaiveBayes, TextNB

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
MODELS = [
    AutoBayes(), AutoBayes(limit=20), NaiveBayes(alpha=0.5), TextNB(ngram_range=(1, 2)),
    TextNB(event="bernoulli", weights=None),
]  # fmt: skip
MANY = settings.default.max_examples  # 30; 300 of the profile `thorough`


@st.composite
def dealt(draw):
    """(a classifier, a random table, its rows at random in one to seven parts, some of them empty).

    For `TextNB` there are texts and labels alone.
    """
    model = draw(st.sampled_from(MODELS))
    rows = table(draw(st.integers(0, 999)), draw(st.integers(2, 150)))
    if isinstance(model, TextNB):
        rows = rows.select(["text", "label"])
    rows = rows.filter(pa.compute.is_valid(rows["label"]))
    count, luck = draw(st.integers(1, 7)), np.random.default_rng(draw(st.integers(0, 999)))
    where = luck.integers(0, draw(st.integers(1, count)), len(rows))
    order = luck.permutation(len(rows))
    parts = [rows.take(order[where[order] == k]) for k in range(count)]
    return model, rows, parts


def at_once(model, rows):
    """What one batch gives on one thread."""
    alone = type(model)(**model.get_params(deep=False) | {"n_jobs": 1})
    if isinstance(model, TextNB):
        return bits(alone.fit(rows["text"], rows["label"].to_pylist()))
    return bits(silently(alone.fit, rows, "label"))


@settings(max_examples=2 * MANY)
@given(dealt(), st.integers(1, 4))
def test_a_stream_on_threads(drawn, threads):
    model, rows, parts = drawn
    if len(rows) == 0:
        return
    anew = type(model)(**model.get_params(deep=False) | {"n_jobs": threads})
    if isinstance(model, TextNB):
        for part in filter(len, parts):
            anew.partial_fit(part["text"], part["label"].to_pylist())
    else:
        stream = pa.RecordBatchReader.from_batches(
            rows.schema, [batch for part in parts for batch in part.to_batches()]
        )
        silently(anew.fit, stream, "label")
    assert bits(anew) == at_once(model, rows)


@settings(max_examples=MANY)
@given(dealt())
def test_dask(drawn):
    pytest.importorskip("dask.dataframe", reason="needs naively[dask]")
    import dask
    import dask.dataframe as dd

    import naively.dask

    model, rows, parts = drawn
    if len(rows) == 0:
        return
    frames = [part.to_pandas() for part in parts]
    ddf = dd.from_map(lambda frame: frame, frames, meta=rows.to_pandas().iloc[:0])
    with dask.config.set(scheduler="threads", num_workers=2):
        found = silently(naively.dask.fit, ddf, target="label", model=model)
    assert bits(found) == at_once(model, rows)


@settings(max_examples=max(4, MANY // 8))
@given(dealt(), st.booleans())
def test_spark(spark, remote, drawn, far):
    from naively.spark import Classifier

    model, rows, parts = drawn
    if len(rows) == 0:
        return
    session = remote if far else spark
    frames = [session.createDataFrame(part).coalesce(1) for part in parts if len(part)]
    found = silently(Classifier(model).fit, reduce(lambda a, b: a.union(b), frames)).model_
    assert bits(found) == at_once(model, rows)
    assert found.get_params() == model.get_params()
