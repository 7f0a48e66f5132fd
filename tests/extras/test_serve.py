"""The service: responses, errors, and recovery after it was killed."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import shlex
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

httpx = pytest.importorskip("httpx", reason="needs httpx")
uvicorn = pytest.importorskip("uvicorn", reason="needs naively[serve]")
pytest.importorskip("fastapi", reason="needs naively[serve]")
pytest.importorskip("prometheus_client", reason="needs naively[serve]")

from pages import ROOT  # noqa: E402

import naively  # noqa: E402
from naively import AutoBayes, GaussianNB, MultilabelNB, NaiveBayes, TextNB  # noqa: E402
from naively.cli.errors import UserError  # noqa: E402
from naively.cli.main import run  # noqa: E402
from naively.cli.serving import service_of  # noqa: E402
from naively.serve.app import application, listening  # noqa: E402
from naively.serve.bodies import ARROW, RequestColumns  # noqa: E402
from naively.serve.page import (  # noqa: E402
    HTML,
    POLICY,
    form,
)
from naively.serve.state import State  # noqa: E402
from naively.storage import model_files  # noqa: E402

TOKEN = "0123456789abcdef0123"
LIMITS = 1 << 20, 200
JOBS = ["clerk", "boss", "cook", "pilot"]
ROWS = [
    {"age": 20.5 + 7 * k % 41, "job": JOBS[k * k % 3], "member": k % 4 == 0,
     "note": f"call me {'later' if k % 2 else 'now'} about the plan number {k}",
     "rich": "yes" if k % 3 == 0 else "no"}
    for k in range(60)
]  # fmt: skip
ASKED = {"age": 33, "job": "boss", "member": True, "note": "call me later"}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The file of a model of a mixed table."""
    path = tmp_path_factory.mktemp("table") / "rich.model"
    NaiveBayes().fit(pd.DataFrame(ROWS), "rich").save(path)
    return path


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """The file of a model of texts."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "ham.txt").write_text("see you at noon\nlunch at noon?\nhome late tonight\n" * 5)
    (folder / "spam.txt").write_text("win a free prize\nfree call now\ncall to win\n" * 5)
    path = folder / "spam.model"
    sources = [str(folder / "ham.txt"), str(folder / "spam.txt")]
    assert run(["fit", *sources, "--naive", "-o", str(path)]) == 0
    return path


@contextmanager
def client_of(path, token=None, read_only=True):
    """A client of the service, which runs on another thread."""
    app = application(service_of(path, token, read_only, LIMITS))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on"))
    with listening("127.0.0.1", 0) as opened:
        thread = threading.Thread(target=server.run, args=([opened],))
        thread.start()
        try:
            url = f"http://127.0.0.1:{opened.getsockname()[1]}"
            with httpx.Client(base_url=url, timeout=60) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def client(table):
    with client_of(table) as found:
        yield found


def copied(path, folder):
    """A copy of a model file that a test may change."""
    target = folder / path.name
    target.write_bytes(path.read_bytes())
    return target


def stream(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as out:
        out.write_table(table)
    return sink.getvalue()


def in_arrow(client, body, **options):
    return client.post("/predict", content=body, headers={"content-type": ARROW, **options})


# ---- answers -------------------------------------------------------------------------------------

CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.text(),
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["12", "true", "?", "1e5"]),
)  # fmt: skip
NAMES = ["age", "job", "member", "note", "other"]
SOME_ROWS = st.lists(st.dictionaries(st.sampled_from(NAMES), CELLS), min_size=1, max_size=4).filter(
    lambda rows: any({*row} - {"other"} for row in rows)
)


@given(rows=SOME_ROWS)
def test_json_rows_are_answered_as_the_same_rows_in_python(client, table, rows):
    found = client.post("/predict", json={"rows": rows})
    assert found.status_code == 200, found.text
    told = found.json()["rows"]
    model = naively.load(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of values, and columns, as the service has
        proba, labels = model.predict_proba(rows), model.predict(rows)
    assert [one["prediction"] for one in told] == labels.tolist()
    assert [[*one["probabilities"].values()] for one in told] == proba.tolist()


def test_json_arrow_pandas_and_the_command_agree(client, table, tmp_path, capsys):
    rows = [{name: row[name] for name in NAMES[:-1]} for row in ROWS]
    frame = pd.DataFrame(rows)
    proba = naively.load(table).predict_proba(frame)
    told = client.post("/predict", json=rows).json()
    assert told["warnings"] == []
    np.testing.assert_array_equal([[*one["probabilities"].values()] for one in told["rows"]], proba)
    plain = pa.Table.from_pandas(frame)
    kinds = {"job": pa.dictionary(pa.int8(), pa.string()), "note": pa.string_view()}
    for body in (plain, plain.set_column(1, "job", plain["job"].cast(kinds["job"])).set_column(
        3, "note", plain["note"].cast(kinds["note"]))):  # fmt: skip
        found = in_arrow(client, stream(body), accept=ARROW)
        assert (found.status_code, found.headers["content-type"]) == (200, ARROW)
        answer = pa.ipc.open_stream(found.content).read_all()
        assert answer.column_names == ["prediction", "P(no)", "P(yes)"]
        np.testing.assert_array_equal(np.stack([*answer.to_pandas().values[:, 1:]]), proba)
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["predict", str(table), str(data), "--json", "--only", "--proba", "--top", "1"]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert client.post("/predict?top=1", json=rows).json()["rows"] == printed


def test_reasons_are_those_of_the_command(client, table, tmp_path, capsys):
    data = tmp_path / "rows.jsonl"
    data.write_text(json.dumps(ASKED) + "\n")
    pair = ["--label", "no", "--against", "yes"]
    for asked, options in (
        ("", []), ("?label=no&against=yes", pair), ("?by_block=true", ["--by-block"])
    ):  # fmt: skip
        assert run(["explain", str(table), str(data), "--json", *options]) == 0
        printed = json.loads(capsys.readouterr().out)
        (told,) = client.post(f"/explain{asked}", json=[ASKED]).json()["rows"]
        for text in told["texts"].values():
            marks, words = text.pop("marks"), text.pop("text")
            assert words == ASKED["note"]
            assert all(0 <= start < end <= len(words) for start, end, _ in marks)
        assert {"row": 1, **told} == printed
    assert client.post("/explain?label=maybe", json=[ASKED]).status_code == 422
    assert client.post("/explain?label=no&against=no", json=[ASKED]).status_code == 422


def test_texts_are_rows_of_one_column(texts):
    with client_of(texts) as client:
        one = client.post("/predict", json={"texts": ["free lunch", None, ""]})
        other = client.post("/predict", json=[{"text": "free lunch"}, {"text": None}, {"text": ""}])
        assert one.json() == other.json()
        assert client.post("/predict", json={"texts": "free lunch"}).status_code == 422
        assert client.post("/predict", json={"texts": [1]}).status_code == 422


def test_labels_that_are_left_open_are_null(client):
    told = client.post("/predict?unsure=1", json=[ASKED]).json()["rows"][0]
    assert told["prediction"] is None
    assert "probabilities" not in client.post(
        "/predict?probabilities=false", json=[ASKED]
    ).json()["rows"][0]  # fmt: skip
    for asked in ("unsure=0", "unsure=2", "top=0", "top=x"):
        found = client.post(f"/predict?{asked}", json=[ASKED])
        assert (found.status_code, asked.split("=")[0] in found.json()["detail"]) == (422, True)


def test_odd_rows_are_reported(client):
    odd = {"age": "old", "job": "boss", "membre": True, "size": 3}
    told = client.post("/predict", json=[odd]).json()
    said = " ".join(told["warnings"])
    for part in (
        "has the columns 'membre', 'size', unknown to the model: ignored",
        "has no columns 'member' (it has 'membre'), 'note'",
        "'age'",
        "such as 'old'",
    ):
        assert part in said
    found = in_arrow(client, stream(pa.table({"age": ["old"]})), accept=ARROW)
    assert "such as 'old'" in " ".join(json.loads(found.headers["naively-warnings"]))


def test_a_misspelt_column_among_many_absent_ones_is_named_first(tmp_path):
    names = [f"pixel_{k}" for k in range(40)]
    X = np.random.default_rng(0).normal(size=(50, 40))
    NaiveBayes().fit(pd.DataFrame(X, columns=names), X[:, 0] > 0).save(path := tmp_path / "wide")
    with client_of(path) as client:
        for sent, near in (
            (["pixel_0", "Pixel_37"], "pixel_37"),
            (["pixel_0", "piksel_9"], "pixel_9"),
        ):
            (absent, _) = client.post("/predict", json=[dict.fromkeys(sent, 1)]).json()["warnings"]
            assert absent.startswith(
                f"the request has no columns {near!r} (it has {sent[1]!r}), 'pixel_1', 'pixel_2', "
            )
            assert absent.count("it has") == 1


def test_unseen_categories_of_a_row_are_reported(client):
    odd = {**ASKED, "job": "astronaut"}
    said = (
        "column 'job': 'astronaut' is no category of the model, such as 'boss': counted as unseen"
    )
    assert client.post("/predict", json=[odd]).json()["warnings"] == [said]
    assert client.post("/predict", json=[odd, ASKED]).json()["warnings"] == []
    (several,) = client.post("/predict", json=[odd, odd]).json()["warnings"]
    assert "none of its 2 values, such as 'astronaut', is a category" in several


def test_models_of_arrays_are_served_for_reading(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = GaussianNB().fit(X, X[:, 0] > 0)
    model.save(path := tmp_path / "array.model")
    with client_of(path, read_only=False) as client:
        rows = [dict(zip(("x0", "x1", "x2"), row, strict=True)) for row in X[:5].tolist()]
        told = client.post("/predict", json=rows).json()["rows"]
        assert [[*one["probabilities"].values()] for one in told] == model.predict_proba(
            X[:5]
        ).tolist()
        assert client.post("/learn", json=rows).status_code == 403
    TextNB().fit(["one two", "three four"], [0, 1]).save(path)
    with client_of(path) as client:
        assert (
            client.post("/predict", json={"texts": ["three"]}).json()["rows"][0]["prediction"] == 1
        )


# ---- what is refused -----------------------------------------------------------------------------

DEEP = b"[" * 100_000
HOSTILE = {
    "nothing": (b"", 400, "the body is empty"),
    "no JSON": (b"{rows: []}", 400, "line 1, character 2"),
    "no UTF-8": (b'{"rows": [{"age": "\xff"}]}', 400, "not UTF-8 at byte 20"),
    "deep": (DEEP, 400, ""),
    "NaN": (b'[{"age": NaN}]', 400, "NaN"),
    "infinite": (b'[{"age": -Infinity}]', 400, "Infinity"),
    "long number": (b'[{"age": ' + b"9" * 5000 + b"}]", 400, "cannot be read"),
    "twice": (b'[{"age": 1, "age": 2}]', 422, "'age' twice"),
    "a list": (b'[{"job": 1}, {"job": ["boss"]}]', 422, "row 2, column 'job': a list"),
    "an object": (b'[{"job": {"is": "boss"}}]', 422, "row 1, column 'job': an object"),
    "no object": (b'[{"age": 1}, [1]]', 422, "row 2 must be an object"),
    "no rows": (b'{"rows": []}', 422, 'no rows: send {"rows": [{"age": ...}]}'),
    "no list": (b'{"rows": {"age": 1}}', 422, "must be a list"),
    "another key": (b'{"data": []}', 422, '"rows"'),
    "more keys": (b'{"rows": [], "top": 3}', 422, "'top'"),
    "a number": (b"3", 422, "must be a list"),
    "no columns": (b"[{}, {}]", 422, "none of the features"),
    "other columns": (b'[{"size": 1}]', 422, "none of the features"),
    "many rows": (b"[" + b'{"age":1},' * 200 + b'{"age":1}]', 413, "at most 200 rows"),
    "long": (b'[{"age": 1}]' + b" " * (1 << 20), 413, "longer than 1,048,576 bytes"),
    "texts": (b'{"texts": ["a"]}', 422, "one text column: send"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_json_that_makes_no_rows_is_refused_saying_where(client, name):
    body, status, said = HOSTILE[name]
    for path in ("/predict", "/predict?top=1", "/explain"):
        found = client.post(path, content=body, headers={"content-type": "application/json"})
        assert found.status_code == status, found.text
        assert said in found.json()["detail"]


def test_a_body_without_a_length_is_cut_off(client):
    def parts():
        for _ in range(100):
            yield b" " * 100_000

    found = client.post("/predict", content=parts(), headers={"content-type": "application/json"})
    assert found.status_code == 413


def test_arrow_that_would_unfold_is_refused(client):
    long = pa.array(["x" * 100_000])
    many = pa.DictionaryArray.from_arrays(pa.array(np.zeros(200, np.int32)), long)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([200], pa.int32()), long)
    bodies = {
        "dictionary": (stream(pa.table({"note": many})), 413),
        "runs": (stream(pa.table({"note": runs})), 422),
        "list": (stream(pa.table({"age": [[1]]})), 422),
        "rows": (stream(pa.table({"age": np.zeros(201)})), 413),
        "names": (stream(pa.table([[1], [2]], names=["age", "age"])), 422),
        "none": (stream(pa.table({"age": pa.array([], pa.int8())})), 422),
        "cut": (stream(pa.table({"age": [1.0]}))[:200], 400),
        "file": (b"ARROW1\0\0", 400),
    }
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(
        sink, (zeros := pa.table({"age": np.zeros(100)})).schema, options=options
    ) as out:
        out.write_table(zeros)
    bodies["compressed"] = sink.getvalue(), 415
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    growing = [pa.array(["a"]).dictionary_encode(), pa.array(["a", "b"]).dictionary_encode()]
    schema = pa.schema({"job": growing[0].type})
    with pa.ipc.new_stream(sink, schema, options=options) as out:
        for one in growing:
            out.write_batch(pa.record_batch([one], schema=schema))
    bodies["deltas"] = sink.getvalue(), 415
    for name, (body, status) in bodies.items():
        found = in_arrow(client, body)
        assert found.status_code == status, (name, found.text)
    views = pa.table({"note": pa.array(["x" * 50_000] * 3, pa.string_view()), "age": [1, 2, 3]})
    assert in_arrow(client, stream(views)).status_code == 200


@given(data=st.data())
def test_damaged_arrow_never_harms(client, data):
    frame = pd.DataFrame(ROWS[:5]).drop(columns="rich").astype({"job": "category"})
    body = bytearray(stream(pa.Table.from_pandas(frame)))
    for _ in range(data.draw(st.integers(1, 5))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    found = in_arrow(client, bytes(body[: data.draw(st.integers(0, len(body)))]))
    assert found.status_code in (200, 400, 413, 415, 422), found.text


def test_only_json_and_arrow_are_read(client):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        found = client.post("/predict", content=b"[]", headers={"content-type": kind})
        assert found.status_code == 415
    kind = {"content-type": "application/json"}
    for encoding, status in (("gzip", 415), ("br", 415), ("identity", 200)):
        found = client.post(
            "/predict", json=[ASKED], headers={**kind, "content-encoding": encoding}
        )
        assert found.status_code == status
        if status == 415:
            assert found.json()["detail"] == (
                f"the header Content-Encoding is {encoding!r}: send the body uncompressed, without "
                "this header"
            )


def test_head_answers_as_get_without_a_body(client):
    for path in ("/", "/health", "/columns", "/inspect", "/metrics", "/openapi.json"):
        found, full = client.head(path), client.get(path)
        assert (found.status_code, found.content) == (200, b""), path
        assert found.headers["content-type"] == full.headers["content-type"]
    assert client.head("/predict").status_code == 405
    assert client.get("/health").json()["status"] == "ok"  # over the same connection


def test_other_methods_and_paths_say_what_to_use(client):
    found = client.get("/predict?top=1")
    assert (found.status_code, found.headers["allow"]) == (405, "POST")
    detail = found.json()["detail"]
    assert detail.startswith("/predict does not take GET: use POST, as in curl http://127.0.0.1:")
    _, url, _, header, _, body = shlex.split(detail.split(" as in ")[1])
    headers = dict([header.split(": ")])
    assert client.post(url, content=body, headers=headers).status_code == 200
    assert client.post("/health").json()["detail"] == "/health does not take POST: use GET"
    for path in ("/docs", "/predict/"):
        found = client.post(path, json=[ASKED])
        assert found.status_code == 404
        assert "POST /predict, " in found.json()["detail"]


def test_pages_of_other_sites_may_not_ask(client, table):
    for origin in ("https://evil.example", "null", "http://localhost.evil.example"):
        found = client.post("/predict", json=[ASKED], headers={"origin": origin})
        assert found.status_code == 403
    own = {"origin": str(client.base_url).rstrip("/")}
    assert client.post("/predict", json=[ASKED], headers=own).status_code == 200
    for host, status in (
        ("evil.example", 400), ("localhost.evil.example", 400), ("", 400), ("127.0.0.1:80", 200),
        ("LOCALHOST:8000", 200), ("[::1]:8000", 200), ("localhost:8000@evil.example", 400),
    ):  # fmt: skip
        assert client.get("/inspect", headers={"host": host}).status_code == status, host


def test_a_token_is_required(table):
    with client_of(table, TOKEN) as client:
        client.headers["host"] = "models.example"
        for path in ("/inspect", "/columns", "/metrics", "/openapi.json", "/nowhere"):
            assert client.get(path).status_code == 401
        for given_ in ("", TOKEN, f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}"):
            found = client.get("/inspect", headers={"authorization": given_})
            assert (found.status_code, found.headers["www-authenticate"]) == (401, "Bearer")
        own = {"authorization": f"Bearer {TOKEN}"}
        assert client.post("/predict", json=[ASKED], headers=own).status_code == 200
        assert client.get("/health").json()["status"] == "ok"
        assert client.get("/").status_code == 200


def test_others_than_this_machine_need_a_token(table, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("NAIVELY_TOKEN", raising=False)
    assert run(["serve", str(table), "--host", "0.0.0.0"]) == 2
    assert "NAIVELY_TOKEN" in capsys.readouterr().err
    (short := tmp_path / "token").write_text("secret\n")
    assert run(["serve", str(table), "--token-file", str(short)]) == 2
    assert "16 characters" in capsys.readouterr().err
    assert run(["serve", str(table), "--max-rows", "0"]) == 2
    assert "--max-rows must be 1 or more" in capsys.readouterr().err
    monkeypatch.setenv("NAIVELY_TOKEN", "two words are none")
    assert run(["serve", str(table)]) == 2


def test_unknown_query_options_are_refused(client):
    for path, known in (
        ("/predict", "probabilities, top, unsure"), ("/explain", "label, against, by_block"),
        ("/learn", "no query options"),
    ):  # fmt: skip
        answer = client.post(path, json=[ASKED], params={"tresh": 3})
        assert answer.status_code == 400
        assert known in answer.json()["detail"]
        assert "'tresh'" in answer.json()["detail"]
    for path, known in (("/predict?top=1&top=2", "top"), ("/explain?label=no&label=yes", "label")):
        answer = client.post(path, json=[ASKED])
        assert answer.status_code == 400
        assert answer.json()["detail"].startswith(f"?{known} has several values ('")


def test_a_read_only_service_says_why(client, table, tmp_path):
    answer = client.post("/learn", json=[ASKED])
    assert (answer.status_code, "--read-only" in answer.json()["detail"]) == (403, True)
    path = copied(table, tmp_path)
    rows = tmp_path / "rows.csv"
    pd.DataFrame(ROWS[:9]).to_csv(rows, index=False)
    assert run(["update", str(path), str(rows), "--part", "day=1"]) == 0
    with client_of(path, read_only=False) as own:
        answer = own.post("/learn", json=[{**ASKED, "rich": "no"}])
        assert (answer.status_code, "named parts" in answer.json()["detail"]) == (403, True)


def test_texts_need_one_label_each(texts, tmp_path):
    with client_of(copied(texts, tmp_path), read_only=False) as client:
        for body, problem in (
            ({"texts": ["a"]}, 'no "labels"'),
            ({"texts": ["a"], "labels": ["ham", "spam"]}, "1 text, but 2 labels: send one"),
        ):
            answer = client.post("/learn", json=body)
            assert answer.status_code == 422
            assert problem in answer.json()["detail"]


# ---- learning ------------------------------------------------------------------------------------


def test_rows_are_learned_and_forgotten(table, tmp_path):
    path = copied(table, tmp_path)
    new = {**ASKED, "rich": "yes", "size": 3}
    with client_of(path, read_only=False) as client:
        before = client.post("/predict", json=[ASKED]).json()
        told = client.post("/learn", json=[new, {**ASKED, "rich": None}]).json()
        assert told == {
            "state": 1, "learned": 1, "unlabelled": 1, "repeated": False,
            "warnings": [
                "the request has the column 'size', unknown to the model: ignored",
                "row 2 has no label: skipped",
            ],
        }  # fmt: skip
        after = client.post("/predict", json=[ASKED])
        assert after.headers["naively-state"] == "1"
        assert after.json()["rows"] != before["rows"]
        odd = client.post("/learn", json=[{**ASKED, "rich": "maybe"}]).json()
        assert odd["warnings"] == [
            "class 'maybe' is new to the model, which has no, yes; if this is a mistake, "
            "POST these rows to /forget"
        ]
        assert client.post("/forget", json=[{**ASKED, "rich": "maybe"}]).json()["forgotten"] == 1
        for wrong in ({**ASKED, "rich": "never"}, {**ASKED, "age": 3, "rich": "yes"}, new):
            rows = [new, wrong, new, {**ASKED, "rich": "never"}]  # `new` was learned once
            answer = client.post("/forget", json=rows)
            assert answer.status_code == 409
            assert answer.json()["detail"].startswith("row 2: cannot forget rows that are not in")
        for endpoint in ("/learn", "/forget"):
            answer = client.post(endpoint, json=[{**ASKED, "Rich": "yes"}])
            assert (answer.status_code, answer.json()["detail"]) == (
                422, "the request has no column 'rich' (it has 'Rich'): send it with the label of "
                "each row",
            )  # fmt: skip
        misspelt = {**new, "jobb": new["job"]}
        answer = client.post("/forget", json=[{**misspelt, "job": None}])
        assert (answer.status_code, "'jobb'" in answer.json()["detail"]) == (409, True)
        assert client.get("/inspect").json()["state"] == 3
        assert client.get("/health").json() == {"status": "ok", "version": naively.__version__}
    expected = naively.load(table).partial_fit(pd.DataFrame([new]).drop(columns="size"), "rich")
    assert naively.load(path).model_ == expected.model_
    assert not path.with_name("rich.model.log").exists()


TYPED = {
    "age": 33,
    "job": "boss",
    "member": True,
    "born": "1990-01-31",
    "woke": "07:30",
    "rich": "no",
}
OF_OTHER_TYPES = [
    ("age", "abc", "a number"), ("age", True, "a number"), ("age", "007", "a number"),
    ("age", "1990-01-31", "a number"), ("member", "perhaps", "true or false"),
    ("member", 3, "true or false"), ("born", "yesterday", "a date such as 2020-12-31"),
    ("born", 1990, "a date such as 2020-12-31"),
]  # fmt: skip


@pytest.mark.parametrize("estimator", [AutoBayes, NaiveBayes])
def test_values_of_another_type_are_refused_and_change_nothing(estimator, tmp_path):
    rows = [
        {**TYPED, "age": 20.5 + k * 7 % 41, "job": JOBS[k % 3], "member": k % 4 == 0,
         "born": f"19{50 + k % 40}-0{1 + k % 9}-1{k % 7}", "woke": f"0{k % 10}:{10 + k % 50}",
         "rich": "yes" if k % 3 == 0 else "no"}
        for k in range(60)
    ]  # fmt: skip
    path = tmp_path / "typed.model"
    estimator().fit(pd.DataFrame(rows), "rich").save(path)
    before = naively.load(path).model_
    with client_of(path, read_only=False) as client:
        for name, value, remedy in OF_OTHER_TYPES:
            answer = client.post("/learn", json=[TYPED, {**TYPED, name: value}])
            assert answer.status_code == 422, (name, value)
            detail = answer.json()["detail"]
            assert detail.startswith(f"row 2, column {name!r}: "), detail
            assert remedy in detail
            assert repr(value).lower() in detail.lower()
        if estimator is AutoBayes:  # naive Bayes leaves out both columns of this kind
            answer = client.post("/learn", json=[{**TYPED, "woke": "1990-01-31"}])
            assert "a time of day such as 13:05" in answer.json()["detail"]
        # the same types in other words, missing values, and new categories are taken
        good = [{**TYPED, "age": "1e1", "job": "astronaut", "member": "False"},
                {**TYPED, "age": None, "member": "", "born": "NA", "woke": None},
                {**TYPED, "job": 7, "born": "1990-01-31 12:30"}]  # fmt: skip
        learned = client.post("/learn", json=good).json()
        assert (learned["learned"], learned["warnings"]) == (3, [])
        assert client.post("/forget", json=good).json()["state"] == 2
    assert naively.load(path).model_ == before


def test_answers_of_every_moment_are_of_one_state(texts, tmp_path):
    """Many ask over connections of their own while rows are learned, one by one."""
    path = copied(texts, tmp_path)
    asked = ["free lunch", "call now", "noon"]
    lessons = [{"text": f"free {word}", "label": "ham"} for word in ("lunch", "call", "noon") * 4]
    found, going = [], True
    with client_of(path, read_only=False) as client:

        def ask(kind):
            with httpx.Client(base_url=client.base_url, timeout=60) as own:
                while going:
                    one = kind(own)
                    assert one.headers["naively-state"] == str(one.json()["state"])
                    found.append((one.json()["state"], one.json()["rows"]))

        kinds = [lambda own: own.post("/predict", json={"texts": asked})] * 6
        kinds += [lambda own: own.post("/predict?top=1", json={"texts": asked})]
        askers = [threading.Thread(target=ask, args=[kind]) for kind in kinds]
        for one in askers:
            one.start()
        for lesson in lessons:
            assert client.post("/learn", json=[lesson]).status_code == 200
        going = False
        for one in askers:
            one.join()
    model = naively.load(texts)
    truth = [model.predict_proba(asked)]
    for lesson in lessons:
        rows = {name: [value] for name, value in lesson.items()}
        truth.append(model.partial_fit(pa.table(rows), "label").predict_proba(asked))
    assert len({number for number, _ in found}) > 3
    for number, rows in found:
        assert [[*one["probabilities"].values()] for one in rows] == truth[number].tolist()


def test_texts_are_learned_with_their_labels(texts, tmp_path):
    path = copied(texts, tmp_path)
    with client_of(path, read_only=False) as client:
        body = {"texts": ["win lunch"], "labels": ["ham"]}
        key = {"idempotency-key": "one"}
        assert client.post("/learn", json=body, headers=key).json()["repeated"] is False
        assert client.post("/learn", json=body, headers=key).json()["repeated"] is True
        body["labels"] = []
        assert client.post("/learn", json=body).status_code == 422
        long = {"idempotency-key": "k" * 201}
        assert client.post("/learn", json=body, headers=long).status_code == 422
    assert model_files.load(path).model.rows == model_files.load(texts).model.rows + 1


@pytest.mark.parametrize("read_only", [False, True])
def test_models_of_many_labels_are_refused(tmp_path, read_only):
    MultilabelNB(weights=None).fit(["a bank", "no"], [["money"], []]).save(path := tmp_path / "m")
    with pytest.raises(UserError, match="multilabel"):
        service_of(path, None, read_only, LIMITS)


def test_a_model_that_forgot_all_says_so(tmp_path):
    rows = pd.DataFrame({"a": ["x", "y"], "b": ["n", "y"]})
    NaiveBayes(columns={"a": "categorical"}).fit(rows, "b").save(path := tmp_path / "small.model")
    with client_of(path, read_only=False) as client:
        assert client.post("/forget", json=rows.to_dict("records")).json()["forgotten"] == 2
        for asked in ("/predict", "/explain"):
            assert client.post(asked, json=[{"a": "x"}]).status_code == 409
        assert client.get("/columns").json()["columns"] == []
        assert client.get("/inspect").json()["classes"] == []
        assert client.post("/learn", json=[{"a": "x", "b": "n"}]).json()["learned"] == 1
        assert client.post("/predict", json=[{"a": "x"}]).json()["rows"][0]["prediction"] == "n"
        assert client.post("/explain", json=[{"a": "x"}]).status_code == 409


# ---- what is told of the model -------------------------------------------------------------------


EXAMPLE = re.compile(r"^```sh\n(curl.*?)^```\n+```json\n(.*?)^```", re.M | re.S)


def test_commands_of_the_page_answer_as_it_shows(tmp_path, capsys):
    assert run(["demo", "--folder", str(tmp_path)]) == 0
    page = (ROOT / "docs" / "serve.md").read_text("utf-8")
    with client_of(tmp_path / "credit.model", read_only=False) as client:
        for command, answer in EXAMPLE.findall(page):
            _, url, _, header, _, body = shlex.split(command.replace("\\\n", ""))
            headers, path = dict([header.split(": ")]), url.removeprefix("localhost:8000")
            found = client.post(path, content=body, headers=headers).json()
            expected = json.loads(answer)
            for row, shown in zip(found.get("rows", []), expected.get("rows", []), strict=True):
                assert row.pop("probabilities") == pytest.approx(
                    shown.pop("probabilities"), abs=1e-4
                )
            assert found == expected
        assert found["learned"] == 1
        assert client.post("/forget", content=body, headers=headers).json()["forgotten"] == 1


def test_what_the_api_description_shows_works(table, tmp_path):
    with client_of(copied(table, tmp_path), read_only=False) as client:
        told = client.get("/openapi.json").json()
        for path in ("/predict", "/explain", "/learn", "/forget"):
            content = told["paths"][path]["post"]["requestBody"]["content"]["application/json"]
            assert client.post(path, json=content["example"]).status_code == 200, path
            assert "age" in content["example"]["rows"][0]
            for status, body in ((400, b"{"), (413, b" " * (1 << 21)), (415, None), (422, b"[]")):
                kind = {"content-type": "application/json"} if body is not None else {}
                found = client.post(path, content=body, headers=kind)
                assert found.status_code == status
                said = told["paths"][path]["post"]["responses"][str(status)]["content"]
                (own,) = said["application/json"]["schema"]["properties"]
                assert isinstance(found.json()[own], str)
        assert {*told["paths"]} == {
            "/predict", "/explain", "/learn", "/forget", "/columns", "/inspect", "/health",
            "/metrics",
        }  # fmt: skip


def test_rows_of_none_of_the_columns_are_refused_in_plain_words(client):
    told = client.post("/predict", json=[{"foo": 1}]).json()["detail"]
    assert told.startswith("the request has none of the features of the model: '")
    assert "' '" not in told


def test_columns_are_listed_with_their_categories(client, texts):
    told = {one["name"]: one for one in client.get("/columns").json()["columns"]}
    assert told["job"]["categories"] == ["boss", "clerk"]
    assert (told["age"]["kind"], told["note"]["kind"]) == ("numeric", "text")
    assert 20 < told["age"]["typical"] < 62
    with client_of(texts) as other:
        assert other.get("/columns").json()["text"] == "text"


def test_a_text_that_is_weighed_beside_others_is_typed():
    """No choice among the texts that were learned, which nobody else should read."""
    rng = np.random.default_rng(0)
    words = np.array(
        ["slow", "rude", "quick", "late", "never", "always", "phone", "card", "help", "thanks"]
    )
    y = rng.integers(0, 2, 80)
    note = [" ".join([*rng.choice(words, 8), ("sorry", "great")[k]]) for k in y]
    rows = {"job": rng.choice(["boss", "clerk"], 80).tolist(), "note": note}
    rows["key"] = [f"C{k}" for k in range(80)]  # tells nothing, and is nobody's business
    rows["country"] = ["FR"] * 80
    state = State.of(0, AutoBayes().fit(rows, y).model_)
    told = {one["name"]: one for one in form(state)["columns"]}
    assert [*told] == ["job", "note"]
    assert told["note"] == {"name": "note", "kind": "text"}
    assert told["job"]["categories"] == ["boss", "clerk"]
    # the page has no field for a constant, which changes nothing
    assert RequestColumns(state.model).warnings([*told]) == []
    # nor for the last of many columns, so it must not show that their values are missing
    (warning,) = RequestColumns(state.model).warnings(["job"])
    hidden = re.search(r'startsWith\("(.*?)"\)', HTML)
    assert warning.startswith(hidden[1])


def test_prometheus_counts_requests(table):
    with client_of(table) as client:
        client.post("/predict", json=[ASKED, ASKED])
        client.post("/predict", json=3)
        client.get("/a/path/that/nobody/knows")
        told = client.get("/metrics").text
    assert 'naively_requests_total{path="/predict",status="200"} 1.0' in told
    assert 'naively_requests_total{path="/predict",status="422"} 1.0' in told
    assert 'naively_requests_total{path="other",status="404"} 1.0' in told
    assert 'naively_rows_total{what="predicted"} 2.0' in told
    assert "naively_state 0.0" in told


def test_the_page_loads_nothing_from_elsewhere(client):
    page = client.get("/")
    assert page.headers["content-security-policy"] == POLICY
    assert not re.search(r"(src|href)=.?(https?:)?//", HTML)
    for tag in ("script", "style"):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", page.text, re.S)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in POLICY
    assert "innerHTML" not in HTML  # what a model's names say is never markup


# ---- a process -----------------------------------------------------------------------------------


class Served:
    """`naively serve` in a process of its own."""

    def __init__(self, path, *options):
        command = [sys.executable, "-m", "naively", "serve", str(path), "--port", "0", *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.url = re.search(r"http://\S+/", line)[0]

    def ended(self):
        """(exit code, what was said on standard error)."""
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


def test_killed_at_any_moment_no_row_is_lost_or_doubled(texts, tmp_path):
    path = copied(texts, tmp_path)
    generator = np.random.default_rng(0)
    lessons = [{"texts": [f"word{k} lunch"], "labels": ["ham"]} for k in range(1000)]
    sent = 0
    for _ in range(2):
        served = Served(path)
        threading.Timer(generator.uniform(0.1, 0.6), served.process.kill).start()
        with httpx.Client(base_url=served.url) as client:
            try:
                while True:  # the one that got no answer is sent again, with its key
                    key = {"idempotency-key": str(sent)}
                    found = client.post("/learn", json=lessons[sent], headers=key)
                    assert found.status_code == 200
                    sent += 1
            except httpx.TransportError:
                pass
        assert served.ended()[0] == -9
    served = Served(path)
    with httpx.Client(base_url=served.url) as client:
        key = {"idempotency-key": str(sent)}
        assert client.post("/learn", json=lessons[sent], headers=key).status_code == 200
        sent += 1
    served.process.terminate()
    code, said = served.ended()
    assert code == 0, said
    rows = pa.table({
        "text": [lesson["texts"][0] for lesson in lessons[:sent]],
        "label": [lesson["labels"][0] for lesson in lessons[:sent]],
    })  # fmt: skip
    expected = naively.load(texts).partial_fit(rows, "label")
    assert naively.load(path).model_ == expected.model_


def test_other_commands_wait_for_the_file_and_go_on(texts, tmp_path, capsys):
    path = copied(texts, tmp_path)
    served = Served(path)
    more = tmp_path / "ham.txt"
    more.write_text("lunch again\n")
    command = [sys.executable, "-m", "naively"]
    assert run(["serve", str(path), "--port", "0"]) == 1
    assert "another program uses it" in capsys.readouterr().err
    update = subprocess.Popen(
        [*command, "update", str(path), str(more)], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    for remark in ("the rows are read now", "waiting until that program has stopped"):
        assert re.search(f"in use by another program.*{remark}", update.stderr.readline())
    body = {"texts": ["a word"], "labels": ["spam"]}
    assert httpx.post(f"{served.url}learn", json=body).status_code == 200
    served.process.send_signal(2)  # as Ctrl-C
    assert served.ended() == (0, "")
    assert update.communicate(timeout=60)[1] == ""
    assert update.returncode == 0
    before = model_files.load(texts).model.rows
    assert model_files.load(path).model.rows == before + 2


def test_requests_are_finished_before_the_end(table, tmp_path):
    """A body that is still on its way when the service is told to stop is learned and kept."""
    path = copied(table, tmp_path)
    served = Served(path)
    begun = threading.Event()

    def parts():
        yield b'{"rows": ['
        begun.set()
        time.sleep(0.5)
        yield json.dumps({**ASKED, "rich": "yes"}).encode() + b"]}"

    def stop():
        begun.wait()
        time.sleep(0.2)
        served.process.terminate()

    threading.Thread(target=stop).start()
    kind = {"content-type": "application/json"}
    found = httpx.post(f"{served.url}learn", content=parts(), headers=kind)
    assert found.json()["learned"] == 1
    assert served.ended()[0] == 0
    assert model_files.load(path).model.rows == len(ROWS) + 1


def test_the_end_says_so_if_the_model_cannot_be_written(table, tmp_path):
    resource = pytest.importorskip("resource", reason="files cannot be kept small here")
    if not hasattr(resource, "prlimit"):
        pytest.skip("files of another process cannot be kept small here")
    path = copied(table, tmp_path)
    served = Served(path)
    lesson = {"rows": [{**ASKED, "rich": "yes"}]}
    assert httpx.post(f"{served.url}learn", json=lesson).status_code == 200
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (100, 100))  # as a full disk
    served.process.terminate()
    code, said = served.ended()
    assert code == 1
    assert said.startswith(f"naively: {path} could not be written: File too large; ")
    assert f"are in the log {path}.log: serve the model again" in said
    assert "Traceback" not in said
    assert model_files.load(path).model.rows == len(ROWS)
    served = Served(path)  # what was acknowledged is there
    served.process.terminate()
    assert served.ended()[0] == 0
    assert model_files.load(path).model.rows == len(ROWS) + 1


def test_a_model_file_that_was_replaced_is_not_written_over(table, texts, tmp_path):
    path = copied(table, tmp_path)
    served = Served(path)
    other = tmp_path / "new"
    other.write_bytes(texts.read_bytes())
    other.replace(path)
    lesson = {"rows": [{**ASKED, "rich": "yes"}]}
    for _ in range(2):
        assert httpx.post(f"{served.url}learn", json=lesson).status_code == 200
    served.process.terminate()
    code, said = served.ended()
    assert (code, said.count("was replaced while it was served")) == (1, 2)  # then, and at the end
    assert path.read_bytes() == texts.read_bytes()
    assert model_files.load(f"{path}.served").model.rows == len(ROWS) + 2
    assert sorted(one.name for one in tmp_path.iterdir()) == [path.name, f"{path.name}.served"]
