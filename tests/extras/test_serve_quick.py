"""Fast paths of the service: parsing and writing JSON, answering small requests together."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pydantic_core", reason="needs naively[serve]")
pytest.importorskip("starlette", reason="needs naively[serve]")

from naively import TextNB
from naively.serve import bodies
from naively.serve.bodies import in_json, rows_in_json
from naively.serve.service import Direct
from naively.serve.state import RefusedError, State
from naively.serve.writer import RequestBatch
from naively.tables.answers import Answer

# ---- JSON ----------------------------------------------------------------------------------------

ODD = st.sampled_from(['"', "\\", '\\"', "\\\\", "a", ":", '":', "\n", "é", "\ud800", "{}", "[]"])
TEXT = st.lists(ODD, max_size=4).map("".join) | st.text(max_size=5)
CELL = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT)
KEYS = st.sampled_from(["a", "b", 'q"', "b\\"])
PAIRS = st.lists(st.tuples(KEYS, CELL | st.lists(CELL, max_size=2)), max_size=4)


def written(pairs, spaces):
    """An object as JSON, keys that are there twice and blanks included."""
    blank = " " * spaces
    return "{" + ",".join(f"{json.dumps(k)}{blank}:{blank}{json.dumps(v)}" for k, v in pairs) + "}"


@given(
    rows=st.lists(PAIRS, max_size=4), wrapped=st.sampled_from(['{{"rows":{}}}', "{}", '{{"a":{}}}',
    '{{"rows":[], "rows":{}}}', '{{"rows":{}, "note":"x"}}']), spaces=st.integers(0, 1),
    cut=st.integers(0, 3),
)  # fmt: skip
def test_json_that_is_read_fast_is_what_the_slow_reader_reads(rows, wrapped, spaces, cut):
    text = wrapped.format("[" + ",".join(written(row, spaces) for row in rows) + "]")
    body = text.encode()[: len(text) - cut if cut == 3 else None]

    def once(pairs):
        assert len({name for name, _ in pairs}) == len(pairs)
        return dict(pairs)

    def no_number(_):
        raise ValueError

    try:
        expected = json.loads(body, object_pairs_hook=once, parse_constant=no_number)
    except (ValueError, AssertionError):
        with pytest.raises(RefusedError):
            bodies._parsed(body)
    else:
        assert repr(bodies._parsed(body)) == repr(expected)


LABELS = st.one_of(
    st.lists(st.text(), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(-(2**60), 2**60), min_size=1, max_size=4, unique=True),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4, unique=True),
    st.just([False, True]),
)


@given(data=st.data(), labels=LABELS, n=st.integers(1, 5), unsure=st.booleans(), top=st.booleans())
def test_rows_that_are_written_at_once_are_those_of_the_fields(data, labels, n, unsure, top):
    if isinstance(labels[0], str):
        labels = [one.encode(errors="replace").decode() for one in labels]
    classes = np.array(sorted(labels), object if isinstance(labels[0], str) else None)
    places = np.array(data.draw(st.lists(st.integers(0, len(labels) - 1), min_size=n, max_size=n)))
    number = st.floats(0, 1) | st.just(np.nan)
    size = n * len(labels)
    proba = np.array(data.draw(st.lists(number, min_size=size, max_size=size))).reshape(n, -1)
    chosen = classes[places]
    if unsure:
        chosen = chosen.astype(object)
        chosen[0] = None
    best = None
    if top:
        order = np.argsort(proba, axis=1)
        best = classes[order], np.take_along_axis(proba, order, 1)
    for shown in (proba, None):
        answer = Answer(chosen, shown, best)
        fields = answer.fields(classes)
        rows = [dict(zip(fields, one, strict=True)) for one in zip(*fields.values(), strict=True)]
        assert rows_in_json(answer, classes) == in_json(rows)


# ---- requests of one moment ----------------------------------------------------------------------

WORDS = st.sampled_from(["free", "call", "lunch", "noon", "prize", "now", "", "£9"])
TEXTS = st.lists(st.none() | st.lists(WORDS, max_size=4).map(" ".join), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def states():
    """Two states of a model of texts."""
    texts = ["win a free prize", "free call now", "lunch at noon", "home for lunch now"]
    model = TextNB(weights=None).fit(texts, ["spam", "spam", "ham", "ham"])
    first = model.model_.copy()
    model.partial_fit(["call me at lunch"], ["ham"])
    return [State.of(0, first), State.of(1, model.model_)]


@given(asked=st.lists(st.tuples(st.integers(0, 1), TEXTS), min_size=1, max_size=6))
def test_each_of_several_requests_gets_what_it_gets_alone(states, asked):
    name = states[0].columns[0]
    asked = [(states[k], pa.table({name: pa.array(texts)})) for k, texts in asked]

    async def together():
        one = RequestBatch()
        return await asyncio.gather(*(one.answer(state, table) for state, table in asked))

    for (found, said), (state, table) in zip(asyncio.run(together()), asked, strict=True):
        alone, told = state.answer(table)
        assert found.labels.tolist() == alone.labels.tolist()
        np.testing.assert_array_equal(found.proba, alone.proba)
        assert said == told


def test_one_that_is_refused_leaves_the_others_alone(states):
    state = states[0]
    good, bad = (pa.table({state.columns[0]: [text]}) for text in ("free lunch", "bad"))

    def answer(table):
        if "bad" in table.column(0).to_pylist():
            raise RefusedError(422, "")
        return state.answer(table)

    async def together():
        one, refusing = RequestBatch(), SimpleNamespace(answer=answer)
        asked = (one.answer(refusing, table) for table in (good, bad, good))
        return await asyncio.gather(*asked, return_exceptions=True)

    first, refused, last = asyncio.run(together())
    assert isinstance(refused, RefusedError)
    for found, _ in (first, last):
        np.testing.assert_array_equal(found.proba, state.answer(good)[0].proba)


def test_one_that_is_cancelled_leaves_the_others_alone(states):
    table = pa.table({states[0].columns[0]: ["free lunch"]})

    async def together():
        one = RequestBatch()
        gone = asyncio.ensure_future(one.answer(states[0], table))
        stays = asyncio.ensure_future(one.answer(states[0], table))
        await asyncio.sleep(0)
        gone.cancel()
        return await stays

    assert asyncio.run(together())[0].labels.tolist() == states[0].answer(table)[0].labels.tolist()


# ---- the short way -------------------------------------------------------------------------------


def test_what_fails_on_the_short_way_is_answered_and_raised():
    """The client learns that it failed, and the server why."""
    sent = []

    async def broken(_):
        raise ZeroDivisionError

    async def said(_, error):
        async def response(scope, receive, send):
            await send(type(error).__name__)

        return response

    async def send(message):
        sent.append(message)

    way = Direct(None, broken, said, said)
    scope = {"type": "http", "path": "/predict", "method": "POST", "query_string": b""}
    with pytest.raises(ZeroDivisionError):
        asyncio.run(way(scope, SimpleNamespace, send))
    assert sent == ["ZeroDivisionError"]
