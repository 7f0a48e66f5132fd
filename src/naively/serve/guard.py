"""Who may ask: the names the service goes by, the token, no pages of other sites; and what is told.

A browser lets any page send requests to this machine. A page of another site must not teach the
model: its requests have its own `Origin`, or a body type that a browser asks leave for, which it
does not get. Nor may it read by a name of its own that it lets point here (DNS rebinding): without
a token the `Host` must be one of this machine's own names.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from time import perf_counter
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
OPEN = ("/", "/health")
"""What needs no token: they tell the version and the number of the state, and no more."""
NAME = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(:[0-9]*)?")
TOLD = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]


class Guard:
    """An ASGI application that lets some requests through to another.

    Parameters
    ----------
    app : the other one.
    hosts : names that a request may ask for; None for any.
    token : that requests must bear; None if they need none.
    seen : called after each request with its path, its status and the seconds it took.
    """

    def __init__(
        self, app: App, hosts: Collection[str] | None, token: str | None,
        seen: Callable[[str, int, float], None],
    ) -> None:  # fmt: skip
        self.app, self.hosts, self.seen = app, hosts, seen
        self.bearer = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *TOLD]
            await send(message)

        try:
            if (refused := self._refused(scope)) is None:
                await self.app(scope, receive, noted)
            else:
                await _say(noted, *refused)
        finally:
            self.seen(scope["path"], status, perf_counter() - start)

    def _refused(self, scope: Message) -> tuple[int, str] | None:
        """(status, what is wrong) with a request; None if nothing is."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = NAME.fullmatch(host)
        if self.hosts is not None and (name is None or name[1] not in self.hosts):
            return 400, f"the service does not go by the name {host[:100]!r}"
        origin = headers.get(b"origin")
        if origin is not None and scope["method"] not in ("GET", "HEAD"):
            own = origin.decode("latin-1").lower()
            if own not in (f"http://{host}", f"https://{host}"):
                return 403, f"pages of {own[:100]!r} may not ask this service"
        if self.bearer is not None and scope["path"] not in OPEN:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, self.bearer):
                return 401, "the request needs the header Authorization: Bearer, and the token"
        return None


async def _say(send: Send, status: int, said: str) -> None:
    body = json.dumps({"detail": said}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
