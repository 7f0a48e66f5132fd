"""Memory for the bodies of requests: of those that are there, not of those that may yet come.

A client that sends slowly takes as much as it has sent. Where all bodies together have no room,
each waits but the oldest, so that one goes on at any time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Body:
    """The bytes of a request that are there."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0


class Room:
    """Room for so many bytes.

    Parameters
    ----------
    most : bytes of all bodies together; one may go beyond.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._held = 0
        self._bodies: dict[Body, None] = {}  # the oldest is the first
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def body(self) -> AsyncIterator[Body]:
        """A body, whose bytes are held until the end of the block."""
        own = Body()
        self._bodies[own] = None
        try:
            yield own
        finally:
            del self._bodies[own]
            self._held -= own.size
            self._freed.set()
            self._freed = asyncio.Event()

    async def add(self, own: Body, part: bytes) -> None:
        """Hold more bytes of a body; waits for room."""
        while self._held + len(part) > self.most and own is not next(iter(self._bodies)):
            await self._freed.wait()
        own.parts.append(part)
        own.size += len(part)
        self._held += len(part)
