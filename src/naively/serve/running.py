"""Running the service until it is told to stop."""

from __future__ import annotations

import gc
import json
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from naively.model import Model
from naively.serve.bodies import JSON, Limits, Wanted, rows_of
from naively.serve.changing import Changer
from naively.serve.connections import Connection
from naively.serve.form import example
from naively.serve.guard import Guard
from naively.serve.state import State

GRACE = 30
"""Seconds that requests may take after the service was told to stop."""
SWITCH = 0.001
"""Seconds after which the thread that learns lets others go on, if it is in Python."""

MOST = 50_000
"""Rows of a model that is estimated anew before it is served, at most: of more it takes long."""


def warm(state: State, changer: Changer | None) -> None:
    """Ask and teach the model once, in a copy: the kernels are loaded, or compiled, before use."""
    if len(state.model.classes) == 0:
        return
    with suppress(ValueError):  # a model may be odd enough to refuse this row; others will do
        row = example(state)
        wanted = Wanted(state.columns, text=state.text)
        table, _ = rows_of(json.dumps({"rows": [row]}).encode(), JSON, wanted, Limits())
        state.answer(table, top=1)
        if len(state.model.classes) > 1:
            for one in state.explained(table)[0]:
                one.to_dict()
        if changer is not None:
            row[changer.question.target] = state.model.classes.tolist()[0]
            if changer.question.weight is not None:
                row[changer.question.weight] = 1
            wanted = Wanted(changer.columns(state.model))
            table, _ = rows_of(json.dumps([row]).encode(), JSON, wanted, Limits())
            after: Model = changer.change(state.model, "learn", table).model
            changer.change(after, "forget", table)
            if after.rows <= MOST:
                State.of(state.number, after)  # what a change is estimated with


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; OSError if it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends answers at once (TCP_NODELAY) where the socket says that it is of TCP
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(1024)
    except BaseException:
        opened.close()
        raise
    return opened


def run(app: Guard, opened: socket.socket, ready: Callable[[], None]) -> None:
    """Answer requests until the process is told to stop; then finish those that have begun."""

    class Server(uvicorn.Server):  # type: ignore[misc, unused-ignore]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    sys.setswitchinterval(SWITCH)
    gc.collect()
    gc.freeze()  # the model stays: it need not be looked through for garbage
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, lifespan="on",
        timeout_graceful_shutdown=GRACE, backlog=1024, ws="none",
        proxy_headers=False,  # nothing depends on who asks
        http=Connection,
        loop="asyncio",  # uvloop is hardly faster here, and takes new connections one at a time
    )  # fmt: skip
    # the signal that stops the server is raised again when it has stopped: that is no error
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with suppress(KeyboardInterrupt):
            Server(config).run(sockets=[opened])
    finally:
        signal.signal(signal.SIGTERM, before)
