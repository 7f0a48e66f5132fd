"""Limit access and load: hosts, tokens, memory for bodies, connections and slow clients."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, MutableMapping
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
OPEN = ("/", "/health")
"""Paths that need no token: they reveal only the version and the number of the state."""
NAME = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(:[0-9]*)?")
RESPONSE_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]


class Guard:
    """ASGI middleware that checks host, origin and token.

    `seen`: called after each request with its path, status and duration in seconds.
    """

    def __init__(
        self, app: App, hosts: Collection[str] | None, token: str | None,
        seen: Callable[[str, int, float], None],
    ) -> None:  # fmt: skip
        self.app, self.hosts, self.seen = app, hosts, seen
        self.bearer = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *RESPONSE_HEADERS]
            await send(message)

        try:
            if (refusal := self._refused(scope)) is None:
                await self.app(scope, receive, noted)
            else:
                await _respond(noted, *refusal)
        finally:
            self.seen(scope["path"], status, perf_counter() - start)

    def _refused(self, scope: Message) -> tuple[int, str] | None:
        """(status, message) if the request is refused; else None."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = NAME.fullmatch(host)
        if self.hosts is not None and (name is None or name[1] not in self.hosts):
            return 400, (
                f"the Host {host[:100]!r} is refused: without a token the service answers only to "
                f"{', '.join(sorted(self.hosts))}; start it with a token to use any name"
            )
        origin = headers.get(b"origin")
        if origin is not None and scope["method"] not in ("GET", "HEAD"):
            origin_name = origin.decode("latin-1").lower()
            if origin_name not in (f"http://{host}", f"https://{host}"):
                return 403, (
                    f"pages of {origin_name[:100]!r} have no access to this service, "
                    f"{host[:100]!r}; a proxy must pass on the Host of the client"
                )
        if self.bearer is not None and scope["path"] not in OPEN:
            credentials = headers.get(b"authorization", b"")
            if not hmac.compare_digest(credentials, self.bearer):
                return 401, "send the token in the header 'Authorization: Bearer TOKEN'"
        return None


async def _respond(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


# ---- memory for bodies ---------------------------------------------------------------------------


class Body:
    """The bytes of a request that have arrived."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0


class Room:
    """A memory limit for the bodies of all requests.

    `most`: bytes of all bodies together. The oldest body may exceed it, so that it can finish.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._held = 0
        self._bodies: dict[Body, None] = {}  # in order of arrival
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def body(self) -> AsyncIterator[Body]:
        """A body whose bytes count until the end of the block."""
        request_body = Body()
        self._bodies[request_body] = None
        try:
            yield request_body
        finally:
            del self._bodies[request_body]
            self._held -= request_body.size
            self._freed.set()
            self._freed = asyncio.Event()

    async def add(self, request_body: Body, part: bytes) -> None:
        """Add bytes to a body; wait while the limit is reached."""
        while self._held + len(part) > self.most and request_body is not next(iter(self._bodies)):
            await self._freed.wait()
        request_body.parts.append(part)
        request_body.size += len(part)
        self._held += len(part)


# ---- connections ---------------------------------------------------------------------------------


MOST = 500  # connections at the same time; above that, the one that has been idle longest is closed
PATIENCE = 10.0
"""Seconds without a request, or without reading of an answer, after which a connection is closed.
The check runs at this interval, so that closing can take twice as long."""
HEAD = 1 << 16  # bytes of the headers of a request, about


class Connection(HttpToolsProtocol):  # type: ignore[misc, unused-ignore]
    """A connection that is closed if it is idle, or does not read its answer."""

    _since = 0.0
    _head: int | None = None  # bytes of headers that are not complete
    _look: asyncio.TimerHandle | None = None
    _seen: tuple[Any, int] = None, 0

    def connection_made(self, transport: Any) -> None:
        """Start the idle timer, and enforce the limit on connections."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._look = self.loop.call_later(PATIENCE, self._check)
        if len(self.connections) > MOST:
            self._make_room()

    def _make_room(self) -> None:
        """Close the connection that has been idle longest; this one if all others are busy."""
        open_connections = [
            connection
            for connection in self.connections
            if isinstance(connection, Connection) and not connection.transport.is_closing()
        ]
        if len(open_connections) > MOST:
            idle = (connection for connection in open_connections if not connection.is_busy)
            min(idle, key=lambda connection: connection._since, default=self).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the idle timer."""
        super().connection_lost(exc)
        if self._look is not None:
            self._look.cancel()

    def on_message_begin(self) -> None:
        """Start counting the bytes of headers."""
        super().on_message_begin()
        self._head = 0

    def on_headers_complete(self) -> None:
        """Stop counting."""
        super().on_headers_complete()
        self._head = None

    def data_received(self, data: bytes) -> None:
        """Parse what was sent; abort if the headers are too long."""
        in_head = self._head is not None
        super().data_received(data)
        if in_head and self._head is not None:
            self._head += len(data)
            if self._head > HEAD:
                self.transport.abort()

    def on_response_complete(self) -> None:
        """Restart the idle time."""
        super().on_response_complete()
        self._since = self.loop.time()

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _check(self) -> None:
        """Abort the connection if nothing happened since the last check."""
        progress = self.cycle, self.transport.get_write_buffer_size()
        if progress == self._seen and (progress[1] or not self.is_busy):
            self.transport.abort()
            return
        self._seen = progress
        self._look = self.loop.call_later(PATIENCE, self._check)
