"""Build the ASGI application, and run it until the process gets a signal to stop."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvicorn
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from naively import __version__
from naively.core.issues import brief
from naively.model.model import Model
from naively.serve.bodies import ARROW, JSON, Limits, RequestColumns, in_json, rows_of
from naively.serve.limits import Connection, Guard
from naively.serve.page import example
from naively.serve.service import Direct, Service, as_json
from naively.serve.state import Changer, RefusedError, State

GRACE = 30  # seconds for running requests to finish after the signal to stop
SWITCH = 0.001
"""Switch interval of Python's threads, in seconds, so that training does not delay requests."""

MOST = 50_000
"""Rows of a model up to which the warm-up estimates it after a change: more rows take long."""


def warm(state: State, changer: Changer | None) -> None:
    """Predict, explain, train and forget once on a copy, so that compiled kernels are loaded."""
    if len(state.model.classes) == 0:
        return
    with suppress(ValueError):  # an unusual model may refuse this row; others need not
        row = example(state)
        columns = RequestColumns(state.model)
        table, _ = rows_of(json.dumps({"rows": [row]}).encode(), JSON, columns, Limits())
        state.answer(table, top=1)
        if len(state.model.classes) > 1:
            for explanation in state.explained(table)[0]:
                explanation.to_dict()
        if changer is not None:
            row[changer.spec.target] = state.model.classes.tolist()[0]
            if changer.spec.weight is not None:
                row[changer.spec.weight] = 1
            columns = RequestColumns(state.model, changer.spec)
            table, _ = rows_of(json.dumps([row]).encode(), JSON, columns, Limits())
            changed: Model = changer.change(state.model, "learn", table).model
            changer.change(changed, "forget", table)
            if changed.rows <= MOST:
                State.of(state.number, changed)  # loads what a change needs for estimation


def listening(host: str, port: int) -> socket.socket:
    """Open a listening socket; OSError if that fails."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the socket's protocol is given as TCP
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except BaseException:
        listener.close()
        raise
    return listener


def run(app: Guard, opened: socket.socket, ready: Callable[[], None]) -> None:
    """Answer requests until SIGTERM or Ctrl-C; then finish those that have begun."""

    class Server(uvicorn.Server):  # type: ignore[misc, unused-ignore]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    sys.setswitchinterval(SWITCH)
    gc.collect()
    gc.freeze()  # the model stays: exclude it from garbage collection
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, lifespan="on",
        timeout_graceful_shutdown=GRACE, backlog=1024, ws="none",
        proxy_headers=False,  # nothing depends on the client's address
        http=Connection,
        loop="asyncio",  # uvloop is hardly faster here, and accepts one connection at a time
    )  # fmt: skip
    # uvicorn raises SIGTERM again after it has stopped: that is no error
    handler = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with suppress(KeyboardInterrupt):
            Server(config).run(sockets=[opened])
    finally:
        signal.signal(signal.SIGTERM, handler)


ABOUT = """Rows are JSON or an Arrow stream (`application/vnd.apache.arrow.stream`); with that as
`Accept`, predictions are one too. Cells are numbers, text, truth values and null. Each answer is of
one state of the model, whose number is in it, and in the header `Naively-State`. Errors have what
is wrong in `detail`."""
ERRORS = {
    400: "The body is not JSON, or not an Arrow stream; or a query option is unknown or repeated.",
    403: "The model is served read-only.",
    408: "The body took too long.",
    409: "The model has too few classes; or rows to forget are no training rows.",
    413: "The request is too large.",
    415: "The body is of another type, or compressed.",
    422: "Invalid values in the request; the message names them.",
    503: "The disk takes no changes, or too many wait.",
}
PREDICT_ERRORS = (400, 408, 409, 413, 415, 422)
CHANGE_ERRORS = (403, *PREDICT_ERRORS, 503)


def application(service: Service) -> Guard:
    """Build the ASGI application of a service; its shutdown writes the model."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.get_running_loop().run_in_executor(None, service.stop)

    app = FastAPI(
        title=f"naively: {service.settings.name}", version=__version__, description=ABOUT,
        docs_url=None, redoc_url=None, lifespan=lifespan, redirect_slashes=False,
    )  # fmt: skip
    predict_body = _body(service, labelled=False)
    learn_body = _body(service, labelled=True)
    unavailable: dict[int | str, dict[str, Any]] = {503: {"description": "It cannot learn."}}
    for path, method, endpoint, body, errors in (
        ("/predict", "POST", service.predict, predict_body, _documented(PREDICT_ERRORS)),
        ("/explain", "POST", service.explain, predict_body, _documented(PREDICT_ERRORS)),
        ("/learn", "POST", service.learn, learn_body, _documented(CHANGE_ERRORS)),
        ("/forget", "POST", service.forget, learn_body, _documented(CHANGE_ERRORS)),
        ("/columns", "GET", service.columns, None, {}),
        ("/inspect", "GET", service.inspect, None, {}),
        ("/health", "GET", service.health, None, unavailable),
        ("/metrics", "GET", service.scrape, None, {}),
    ):
        app.add_api_route(
            path, endpoint, methods=[method], response_class=Response, openapi_extra=body,
            summary=path[1:], description=endpoint.__doc__, operation_id=path[1:],
            responses=errors, dependencies=[Depends(check_options)] if body else [],
        )  # fmt: skip
    app.add_api_route("/", service.page, methods=["GET"], include_in_schema=False)

    async def refused(_: Request, error: Any) -> Response:
        return as_json({"detail": error.message}, service.state.number, error.status)

    async def invalid(_: Request, error: Any) -> Response:
        detail = "; ".join(
            f"?{item['loc'][-1]}={str(item['input'])[:40]}: {item['msg']}"
            for item in error.errors()
        )
        return as_json({"detail": detail}, service.state.number, 422)

    async def unknown(request: Request, error: Any) -> Response:
        path = request.url.path
        routes: dict[str, Any] = {getattr(route, "path", ""): route for route in app.routes}
        if (route := routes.get(path)) is None:
            paths = [f"{min(entry.methods)} {name}" for name, entry in routes.items()]
            listed = ", ".join(sorted(paths, reverse=True))
            detail = f"there is no path {brief(path)}; the paths are {listed}"
        else:
            detail = f"{path} does not take {request.method}: use {_command(request, route)}"
        response = as_json({"detail": detail}, service.state.number, error.status_code)
        response.headers.update(error.headers or {})
        return response

    async def failed(_: Request, __: Exception) -> Response:
        detail = "internal error: see the log of the service"
        return as_json({"detail": detail}, service.state.number, 500)

    app.add_exception_handler(RefusedError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, unknown)
    app.add_exception_handler(Exception, failed)
    settings = service.settings
    direct = Direct(app, service.predict, refused, failed)
    return Guard(direct, settings.hosts, settings.token, service.metrics.seen)


def _command(request: Request, route: Any) -> str:
    """The method of a path, and for POST a curl command with an example body."""
    if "POST" not in route.methods:
        return "GET"
    (row,) = route.openapi_extra["requestBody"]["content"][JSON]["example"]["rows"]
    cells = [*row.items()]
    body = in_json({"rows": [dict(cells[:2] + cells[-1:])]}).decode().replace("'", "'\\''")
    return f"POST, as in curl {request.url.replace(query='')} -H 'Content-Type: {JSON}' -d '{body}'"


def check_options(request: Request) -> None:
    """Raise RefusedError for a query option that the path does not have, or that is repeated."""
    names = [field.alias for field in request.scope["route"].dependant.query_params]
    for name in request.query_params:
        if name not in names:
            path = request.url.path
            remedy = f"the options of {path} are {', '.join(names)}" if names else (
                f"{path} has no query options"
            )  # fmt: skip
            raise RefusedError(400, f"there is no query option {name[:40]!r}; {remedy}")
        if len(values := request.query_params.getlist(name)) > 1:
            listed = ", ".join(repr(value[:40]) for value in values[:2])
            raise RefusedError(400, f"?{name} has several values ({listed}): send one")


def _documented(statuses: Sequence[int]) -> dict[int | str, dict[str, Any]]:
    """Document the responses to refused requests."""
    properties = {"detail": {"type": "string"}}
    schema = {"type": "object", "required": ["detail"], "properties": properties}
    content = {JSON: {"schema": schema}}
    return {status: {"description": ERRORS[status], "content": content} for status in statuses}


def _body(service: Service, labelled: bool) -> dict[str, Any]:
    """Document the body of a request, with an example row of the model's columns."""
    state = service.state
    row = example(state)
    if labelled and state.model.target is not None and len(state.model.classes):
        row[state.model.target] = state.model.classes.tolist()[0]
    cell = {"type": ["string", "number", "boolean", "null"]}
    properties = dict.fromkeys(row, cell)
    item: dict[str, Any] = {"type": "object", "minProperties": 1, "properties": properties}
    item["additionalProperties"] = cell  # ignored
    limit = service.settings.limits.rows
    rows = {"type": "array", "minItems": 1, "maxItems": limit, "items": item}
    schema: dict[str, Any] = {"type": "object", "required": ["rows"], "properties": {"rows": rows}}
    schema["additionalProperties"] = False
    content = {
        JSON: {"schema": schema, "example": {"rows": [row]}},
        ARROW: {"schema": {"type": "string", "format": "binary"}},
    }
    documented: dict[str, Any] = {"requestBody": {"required": True, "content": content}}
    if labelled:
        description = (
            "A repeated request with the same key is not applied again; its answer is repeated."
        )
        key = {"name": "Idempotency-Key", "in": "header", "description": description}
        documented["parameters"] = [{**key, "schema": {"type": "string", "maxLength": 200}}]
    return documented
