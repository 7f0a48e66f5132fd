"""Slow, hanging or very many clients: others are served meanwhile."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

import pytest

httpx = pytest.importorskip("httpx", reason="needs httpx")
uvicorn = pytest.importorskip("uvicorn", reason="needs naively[serve]")
pytest.importorskip("fastapi", reason="needs naively[serve]")
pytest.importorskip("prometheus_client", reason="needs naively[serve]")

from naively import NaiveBayes  # noqa: E402
from naively.cli.serving import service_of  # noqa: E402
from naively.serve import limits, service  # noqa: E402
from naively.serve.app import application, listening  # noqa: E402
from naively.serve.limits import Connection, Room  # noqa: E402

ROW = {"age": 33.0, "job": "boss"}
LARGE = json.dumps({"rows": [ROW] * 1000}).encode()
"""A request that is answered on another thread."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("slow") / "m.model"
    rows = {"age": [20.0 + k for k in range(40)], "job": ["clerk", "boss"] * 20}
    NaiveBayes().fit(rows | {"rich": [k % 3 == 0 for k in range(40)]}, "rich").save(path)
    return path


@contextmanager
def served(path):
    """The address of a service on another thread."""
    app = application(service_of(path, None, True, (1 << 20, 2000)))
    config = uvicorn.Config(app, log_config=None, lifespan="on", http=Connection)
    server = uvicorn.Server(config)
    with listening("127.0.0.1", 0) as opened:
        thread = threading.Thread(target=server.run, args=([opened],))
        thread.start()
        try:
            yield opened.getsockname()[:2]
        finally:
            server.should_exit = True
            thread.join()


def begun(address, sent):
    """A connection on which so much was sent."""
    own = socket.create_connection(address, timeout=20)
    own.sendall(sent)
    return own


def head(size):
    return (
        b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % size
    )


def closed(own):
    """Whether the other side closes a connection soon, whatever it says before."""
    with suppress(ConnectionResetError):
        while own.recv(1 << 16):
            pass
    return True  # else there is a timeout


def test_slow_bodies_keep_nobody_out(model):
    """Many clients that say they have much to send, and send little of it."""
    with served(model) as address, ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(begun(address, head(1_000_000) + b'{"rows": ['))
        start = time.monotonic()
        for _ in range(3):
            found = httpx.post(
                f"http://localhost:{address[1]}/predict", content=LARGE,
                headers={"content-type": "application/json"}, timeout=20,
            )  # fmt: skip
            assert len(found.json()["rows"]) == 1000
        assert time.monotonic() - start < 5  # where 30 seconds had to pass


def test_a_body_that_pauses_is_refused(model, monkeypatch):
    monkeypatch.setattr(service, "PAUSE", 0.2)
    with served(model) as address, begun(address, head(1000) + b"[") as own:
        said = b""
        while not said.endswith(b"}"):
            said += own.recv(1 << 16)
        assert said.startswith(b"HTTP/1.1 408")
        assert b"paused for 0.2" in said


def test_a_body_that_trickles_is_refused(model, monkeypatch):
    monkeypatch.setattr(service, "PATIENCE", 0.5)
    with served(model) as address, begun(address, head(1000)) as own:
        own.settimeout(0.1)
        start, said = time.monotonic(), b""
        while not said and time.monotonic() - start < 10:
            own.sendall(b" ")
            try:
                said = own.recv(1 << 16)
            except TimeoutError:
                continue
        assert said.startswith(b"HTTP/1.1 408")


def test_a_head_that_does_not_end_is_given_up(model, monkeypatch):
    monkeypatch.setattr(limits, "PATIENCE", 0.3)
    with served(model) as address:
        heads = b"", b"GET / HT", b"GET /health HTTP/1.1\r\nHost: localhost\r\nA: "
        for sent in (*heads, heads[2][:-3] + b"\r\n" + heads[2]):  # one after an answer, too
            with begun(address, sent) as own:
                if sent.count(b"GET") == 2:
                    assert b"200 OK" in own.recv(1 << 16)
                assert closed(own)


def test_a_head_may_not_be_huge(model):
    with served(model) as address, begun(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n") as own:
        sent, piece = 0, b"A: " + b"x" * 1000 + b"\r\n"
        while sent < 1 << 22 and _sends(own, piece):
            sent += len(piece)
            time.sleep(0.0005)
        assert sent < 1 << 22


def _sends(own, data):
    try:
        own.sendall(data)
    except OSError:  # reset, or a broken pipe
        return False
    return True


def test_connections_beyond_the_limit_take_the_place_of_idle_ones(model, monkeypatch):
    monkeypatch.setattr(limits, "MOST", 5)
    with served(model) as address, ExitStack() as stack:
        asking = stack.enter_context(begun(address, head(len(LARGE)) + LARGE[:100]))
        time.sleep(0.1)
        idle = [stack.enter_context(begun(address, b"GET / HT")) for _ in range(20)]
        found = httpx.get(f"http://localhost:{address[1]}/health")
        assert found.status_code == 200
        assert all(closed(own) for own in idle[:15])
        asking.sendall(LARGE[100:])  # that had begun: it is answered
        assert asking.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_an_answer_that_nobody_reads_is_given_up(model, monkeypatch):
    ended, lost = threading.Event(), Connection.connection_lost

    def noted(self, error):
        lost(self, error)
        ended.set()

    monkeypatch.setattr(Connection, "connection_lost", noted)
    monkeypatch.setattr(limits, "PATIENCE", 0.3)
    with served(model) as address, socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        own.connect(address)
        many = json.dumps({"rows": [{"job": "boss"}] * 2000}).encode()
        asking = (head(len(many)) + many) * 100  # more answers than the system keeps
        threading.Thread(target=_sends, args=(own, asking)).start()
        assert ended.wait(10)


def test_room_is_for_bytes_that_are_there():
    """Each waits but the oldest; and goes on when that one ends."""

    async def main():
        room, order = Room(100), []

        async def body(name, parts, end):
            async with room.body() as own:
                for part in parts:
                    await room.add(own, b"x" * part)
                order.append(name)
                await end.wait()
            return own.size

        ends = {name: asyncio.Event() for name in "abc"}
        bodies = (("a", (10, 60, 60)), ("b", (10, 30)), ("c", (10, 10)))
        tasks = [asyncio.create_task(body(name, parts, ends[name])) for name, parts in bodies]
        for _ in range(10):
            await asyncio.sleep(0)
        assert order == ["a"]  # 130 bytes, though there is room for 100: it is the oldest
        ends["a"].set()
        await tasks[0]
        for _ in range(10):
            await asyncio.sleep(0)
        assert sorted(order) == ["a", "b", "c"]
        for end in ends.values():
            end.set()
        return [await task for task in tasks]

    assert asyncio.run(main()) == [130, 40, 20]
