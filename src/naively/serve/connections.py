"""Connections that do not ask: how many there may be, and how long each may take.

By itself the server waits for the head of a request without end, and keeps each connection. Clients
that open many and send half a head, on purpose or because they hang, would keep all others out.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST = 500
"""Connections at the same time; of more, the one that asked nothing for the longest is closed."""
PATIENCE = 10.0
"""Seconds without a request, or in which nothing of an answer is read; then, or up to as many
later, a connection is closed."""
HEAD = 1 << 16
"""Bytes of the head of a request, about."""


class Connection(HttpToolsProtocol):  # type: ignore[misc, unused-ignore]
    """A connection that is closed if it asks nothing, or does not read its answer."""

    _since = 0.0
    _head: int | None = None  # bytes of a head that has begun
    _look: asyncio.TimerHandle | None = None
    _seen: tuple[Any, int] = None, 0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._look = self.loop.call_later(PATIENCE, self._check)
        if len(self.connections) > MOST:
            self._make_room()

    def _make_room(self) -> None:
        """Close the connection that asked nothing for the longest; this one if all others ask."""
        every = [one for one in self.connections if isinstance(one, Connection)]
        there = [one for one in every if not one.transport.is_closing()]
        if len(there) > MOST:
            idle = (one for one in there if not one.asks)
            min(idle, key=lambda one: one._since, default=self).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        if self._look is not None:
            self._look.cancel()

    def on_message_begin(self) -> None:
        """Count the bytes of a head."""
        super().on_message_begin()
        self._head = 0

    def on_headers_complete(self) -> None:
        """Count no more."""
        super().on_headers_complete()
        self._head = None

    def data_received(self, data: bytes) -> None:
        """Take what was sent, unless it is a head without end."""
        begun = self._head is not None
        super().data_received(data)
        if begun and self._head is not None:
            self._head += len(data)
            if self._head > HEAD:
                self.transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._since = self.loop.time()

    @property
    def asks(self) -> bool:
        """Whether a request has begun that is not answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _check(self) -> None:
        """Close the connection if nothing happened since the last look."""
        now = self.cycle, self.transport.get_write_buffer_size()
        if now == self._seen and (now[1] or not self.asks):
            self.transport.abort()
            return
        self._seen = now
        self._look = self.loop.call_later(PATIENCE, self._check)
