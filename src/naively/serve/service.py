"""Answer the requests of the HTTP service: its endpoints, their metrics, and request bodies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from fastapi import Query, Request
from fastapi.responses import HTMLResponse, Response
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from naively import __version__
from naively.rendering import plain_json
from naively.serve import page
from naively.serve.arrow import stream_of
from naively.serve.bodies import ARROW, JSON, Limits, RequestColumns, in_json, rows_in_json, rows_of
from naively.serve.limits import App, Body, Message, Receive, Room, Send
from naively.serve.page import form
from naively.serve.state import RefusedError, State
from naively.serve.store import ReplacedError
from naively.serve.writer import Order, RequestBatch, Writer, keyed
from naively.tables.answers import Answer
from naively.tables.names import few
from naively.tables.targets import positions

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """Prometheus metrics of requests, rows and the state.

    `paths`: of the service; other paths are counted together.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(
        self, paths: frozenset[str], state: Callable[[], State], size: Callable[[], int]
    ) -> None:
        self._paths = paths
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        self._counts: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        labels = ["path", "status"]
        self._requests = Counter("naively_requests", "Requests", labels, registry=registry)
        self._seconds = Histogram(
            "naively_request_seconds", "Seconds that requests took", ["path"], buckets=SECONDS,
            registry=registry,
        )  # fmt: skip
        self._rows = Counter("naively_rows", "Rows by what was done", ["what"], registry=registry)
        for name, description, value in (
            ("naively_state", "Changes since the model was first served", lambda: state().number),
            ("naively_model_rows", "Training rows of the model", lambda: state().model.rows),
            (
                "naively_log_bytes",
                "Size in bytes of the write-ahead log: changes that are not yet in the model file",
                size,
            ),
        ):
            Gauge(name, description, registry=registry).set_function(value)

    def seen(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        path = path if path in self._paths else "other"
        if (counts := self._counts.get((path, status))) is None:
            counts = self._requests.labels(path, str(status)), self._seconds.labels(path)
            self._counts[path, status] = counts
        counts[0].inc()
        counts[1].observe(seconds)

    def rows(self, what: str, count: int) -> None:
        """Count rows."""
        self._rows.labels(what).inc(count)

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


# ---- fast path -----------------------------------------------------------------------------------


class Direct:
    """ASGI middleware that answers ``POST /predict`` without query options, and passes on the rest.

    It skips the routing and validation of FastAPI; the answers are the same. HEAD is passed on as
    GET, as the server sends no body for it.

    `refused, failed`: answer a request that is refused, or that fails.
    """

    def __init__(
        self, app: App, predict: Callable[[Request], Awaitable[Response]],
        refused: Callable[[Request, RefusedError], Awaitable[Response]],
        failed: Callable[[Request, Exception], Awaitable[Response]],
    ) -> None:  # fmt: skip
        self.app, self.predict, self.refused, self.failed = app, predict, refused, failed

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope.get("method") == "HEAD":
            scope = {**scope, "method": "GET"}
        if (scope["type"], scope.get("path"), scope.get("method"), scope.get("query_string")) != (
            "http", "/predict", "POST", b"",
        ):  # fmt: skip
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            response = await self.predict(request)
        except RefusedError as error:
            response = await self.refused(request, error)
        except Exception as error:
            await (await self.failed(request, error))(scope, receive, send)
            raise  # the server logs it
        await response(scope, receive, send)


SMALL = 1 << 14
"""Bytes of a request that is answered on the event loop; larger ones go to another thread."""
LARGE = 8  # memory for bodies, as a multiple of the largest body
PATIENCE, PAUSE = 30.0, 5.0
"""Seconds for a body to arrive, and seconds without any byte of it, at most."""
CELLS, TERMS = 1 << 22, 1000
"""Numbers of an explanation, at most; a text column counts as this many columns."""
KEY = 200  # characters of an Idempotency-Key, at most
PATHS = frozenset({
    "/", "/columns", "/explain", "/forget", "/health", "/inspect", "/learn", "/metrics",
    "/openapi.json", "/predict",
})  # fmt: skip

Top = Annotated[int | None, Query(ge=1, description="Add so many most probable classes.")]
Unsure = Annotated[
    float | None,
    Query(gt=0, le=1, description="Abstain (null) where no class has this probability."),
]
Label = Annotated[
    str | None, Query(description="The classes to compare; by default the two most probable ones.")
]


@dataclass(frozen=True)
class Settings:
    """How a model is served."""

    name: str  # the name of the model
    limits: Limits
    hosts: frozenset[str] | None  # accepted host names; None for any
    token: str | None  # bearer token; None if none is needed
    inspect: Callable[[State], dict[str, Any]]  # returns the answer of /inspect for a state
    read_only: str | None = None  # why the model cannot be trained here; None if it can


class Service:
    """The endpoints of a served model.

    `fixed`: State of a read-only model; None if there is a writer. `writer`: Writer of a model that
    can be trained; None if it is read-only.
    """

    def __init__(self, settings: Settings, fixed: State | None, writer: Writer | None) -> None:
        self.settings, self.fixed, self.writer = settings, fixed, writer
        size: Callable[[], int] = (lambda: 0) if writer is None else (lambda: writer.store.size)
        self.metrics = Metrics(PATHS, lambda: self.state, size)
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="reader")
        # one thread: predictions mostly hold Python's lock, so that more threads would only wait
        self._predicting = ThreadPoolExecutor(1, thread_name_prefix="predicting")
        self._room = Room(LARGE * settings.limits.bytes)
        self._together = RequestBatch()

    @property
    def state(self) -> State:
        """The current state: read it once for each answer."""
        if self.writer is not None:
            return self.writer.state
        assert self.fixed is not None
        return self.fixed

    # ---- predictions -------------------------------------------------------------------------

    async def predict(
        self, request: Request, probabilities: bool = True, top: Top = None, unsure: Unsure = None
    ) -> Response:
        """The class of each row, and P(class) of all classes."""
        as_arrow = ARROW in request.headers.get("accept", "")

        def read(body: bytes, kind: str) -> tuple[State, pa.Table, list[str]]:
            state = self.state
            return state, *rows_of(body, kind, RequestColumns(state.model), self.settings.limits)

        def answered(
            state: State, remarks: list[str], predictions: Answer, more: list[str]
        ) -> Response:
            self.metrics.rows("predicted", len(predictions.labels))
            classes = state.model.classes
            if as_arrow:
                columns = predictions.columns(classes)
                return answer(stream_of(pa.table(columns)), state.number, ARROW, remarks + more)
            rows, warnings = rows_in_json(predictions, classes), in_json(remarks + more)
            body = b'{"state":%d,"rows":%b,"warnings":%b}' % (state.number, rows, warnings)
            return answer(body, state.number, JSON)

        def predict_body(body: bytes, kind: str) -> Response:
            state, table, remarks = read(body, kind)
            return answered(state, remarks, *state.answer(table, probabilities, top, unsure))

        is_default = probabilities and top is None and unsure is None
        if is_default and self.state.text is not None and _is_small(_declared(request)):
            state, table, remarks = await self._read(request, read)
            return answered(state, remarks, *await self._together.answer(state, table))
        return await self._read(request, predict_body, self._predicting)

    async def explain(
        self, request: Request, label: Label = None, against: Label = None, by_block: bool = False
    ) -> Response:
        """Why each row is of its class: the contributions of features and terms, in nats."""
        explain_body = partial(self._explained, label=label, against=against, by_block=by_block)
        return await self._read(request, explain_body)

    def _explained(
        self, body: bytes, kind: str, label: str | None, against: str | None, by_block: bool
    ) -> Response:
        state = self.state
        columns = RequestColumns(state.model)
        table, remarks = rows_of(body, kind, columns, self.settings.limits)
        texts = sum(part.summary.of_texts for part in state.model.schema.parts)
        width = max(1, len(state.model.classes)) * (len(state.columns) + TERMS * texts)
        if table.num_rows > max(1, CELLS // width):
            limit = max(1, CELLS // width)
            most = f"at most {limit:,} rows of this model can be explained at once"
            raise RefusedError(413, f"{most}: send several requests")
        pair = [self._label(state, name) for name in (label, against)]
        if pair[0] is not None and pair[0] == pair[1]:
            raise RefusedError(422, "?label and ?against are the same class: name two classes")
        explanations, notes = state.explained(table, by_block)
        self.metrics.rows("explained", table.num_rows)
        rows = []
        for explanation in explanations:
            content = explanation.to_dict(*pair)
            for name, text in explanation.texts.items():
                content["texts"][name]["text"] = text.marked
                content["texts"][name]["marks"] = [list(mark) for mark in text.marks(*pair)]
            rows.append(content)
        content = {"state": state.number, "rows": rows, "warnings": remarks + notes}
        return as_json(plain_json(content), state.number)

    def _label(self, state: State, name: str | None) -> Any:
        """The class with this name; None for None."""
        if name is None:
            return None
        classes = state.model.classes
        index = int(positions(np.array([name], object), classes)[0])
        if index < 0:
            names = few([str(label) for label in classes.tolist()])
            raise RefusedError(422, f"{name!r} is not one of the classes {names}")
        return classes[index]

    # ---- changes -----------------------------------------------------------------------------

    async def learn(self, request: Request) -> Response:
        """Learn rows, with their labels in the target column: acknowledged once on the disk."""
        return await self._change(request, "learn")

    async def forget(self, request: Request) -> Response:
        """Forget rows that were learned: acknowledged once on the disk."""
        return await self._change(request, "forget")

    async def _change(self, request: Request, what: Any) -> Response:
        writer = self.writer
        if writer is None:
            raise RefusedError(403, f"the model is served read-only: {self.settings.read_only}")
        key = request.headers.get("idempotency-key", "")
        if len(key) > KEY:
            raise RefusedError(422, f"the Idempotency-Key is longer than {KEY} characters")
        notes: list[str] = []

        def read(body: bytes, kind: str) -> Order:
            columns = RequestColumns(writer.state.model, writer.changer.spec)
            table, remarks = rows_of(body, kind, columns, self.settings.limits)
            notes.extend(remarks)
            return Order(what, table, *keyed(key, body))

        future = writer.submit(await self._read(request, read))
        try:
            result = await asyncio.shield(asyncio.wrap_future(future))
        except RefusedError as error:  # a misspelt column may be the cause
            raise RefusedError(error.status, "; ".join([error.message, *notes])) from None
        verb = "learned" if what == "learn" else "forgotten"
        if not result.repeated:
            self.metrics.rows(verb, result.rows)
        counts = {verb: result.rows, "unlabelled": result.unlabelled}
        remarks = {**counts, "warnings": notes + result.warnings}
        content = {"state": result.number, **remarks, "repeated": result.repeated}
        return as_json(content, result.number)

    # ---- the model and the service -----------------------------------------------------------

    async def inspect(self) -> Response:
        """What the model is and what it learned, as `naively inspect --json` says it."""
        state = self.state
        loop = asyncio.get_running_loop()
        facts = await loop.run_in_executor(self._pool, self.settings.inspect, state)
        return as_json(plain_json({"state": state.number, **facts}), state.number)

    async def columns(self) -> Response:
        """The columns with their levels and usual values, and the classes."""
        state = self.state
        facts = await asyncio.get_running_loop().run_in_executor(self._pool, form, state)
        content: dict[str, Any] = {"state": state.number, "model": self.settings.name, **facts}
        content["writable"] = self.writer is not None
        return as_json(plain_json(content), state.number)

    async def health(self) -> Response:
        """Whether the service answers, and can still learn."""
        broken = self.writer is not None and self.writer.store.broken
        status = "the disk takes no changes" if broken else "ok"
        content = {"status": status, "version": __version__}
        return as_json(content, self.state.number, 503 if broken else 200)

    async def scrape(self) -> Response:
        """Metrics for Prometheus."""
        return answer(self.metrics.text(), self.state.number, self.metrics.content_type)

    async def page(self) -> Response:
        """A page to try the model."""
        return HTMLResponse(page.HTML, headers={"content-security-policy": page.POLICY})

    # ---- bodies ------------------------------------------------------------------------------

    async def _read(
        self, request: Request, make: Callable[[bytes, str], Any],
        pool: ThreadPoolExecutor | None = None,
    ) -> Any:  # fmt: skip
        """Read a body, and call `make` with it: for a large body on another thread."""
        kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind not in (JSON, ARROW):
            header = f"is {kind[:40]!r}" if kind else "is missing"
            raise RefusedError(
                415, f"the header Content-Type {header}: send 'Content-Type: {JSON}' or '{ARROW}'"
            )
        encoding = request.headers.get("content-encoding", "identity")
        if encoding.strip().lower() != "identity":
            raise RefusedError(
                415, f"the header Content-Encoding is {encoding[:40]!r}: send the body "
                "uncompressed, without this header"
            )  # fmt: skip
        declared, limit = _declared(request), self.settings.limits.bytes
        if declared is not None and declared > limit:
            raise _too_large(limit)
        async with self._room.body() as request_body:
            await self._fill(request_body, request, limit)
            body = b"".join(request_body.parts)
            request_body.parts.clear()  # memory stays reserved until the answer
            if _is_small(declared):
                return make(body, kind)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(pool or self._pool, make, body, kind)

    async def _fill(self, request_body: Body, request: Request, most: int) -> None:
        """Read the body of a request; waits for memory do not count as the client's time."""
        seconds_left, unfinished = PATIENCE, True
        loop = asyncio.get_running_loop()
        while unfinished:
            start = loop.time()
            try:
                async with asyncio.timeout(min(PAUSE, seconds_left)):
                    message = await request.receive()
            except TimeoutError:
                raise RefusedError(
                    408, f"the body took longer than {PATIENCE:g} seconds, or paused for {PAUSE:g}"
                ) from None
            seconds_left -= loop.time() - start
            if message["type"] == "http.disconnect":
                raise RefusedError(400, "the client closed the connection")
            part = message.get("body", b"")
            if request_body.size + len(part) > most:
                raise _too_large(most)
            await self._room.add(request_body, part)
            unfinished = message.get("more_body", False)

    wrong: OSError | ReplacedError | None = None
    """Why the model could not be written at the end, or was written to another file; else None."""

    def stop(self) -> None:
        """Finish running requests, and write the model; if that fails, `wrong` is the error."""
        self._pool.shutdown()
        self._predicting.shutdown()
        if self.writer is not None:
            try:
                self.writer.stop()
            except (OSError, ReplacedError) as error:
                self.wrong = error


def _declared(request: Request) -> int | None:
    """The content length that a request declares; None if it does not."""
    length = request.headers.get("content-length", "")
    return int(length) if length.isdigit() else None


def _is_small(declared: int | None) -> bool:
    """Whether a request is answered on the thread of the event loop."""
    return declared is not None and declared <= SMALL


def _too_large(most: int) -> RefusedError:
    remedy = "send several requests, or serve the model with a larger --max-body"
    return RefusedError(413, f"the body is longer than {most:,} bytes: {remedy}")


def answer(
    body: bytes, number: int, kind: str, warnings: list[str] | None = None, status: int = 200
) -> Response:
    """A response with the number of its state, and warnings, in its headers."""
    headers = {"naively-state": str(number)}
    if warnings:  # the body has no place for warnings
        headers["naively-warnings"] = json.dumps(warnings)
    return Response(body, status, headers, media_type=kind)


def as_json(value: Any, number: int, status: int = 200) -> Response:
    """A JSON response; NaN and infinity are null."""
    return answer(in_json(value), number, JSON, None, status)
