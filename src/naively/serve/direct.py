"""Predictions without options, answered without the framework, which costs more than they do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from naively.serve.guard import App, Message, Receive, Send
from naively.serve.refused import RefusedError


class Direct:
    """An ASGI application that answers ``POST /predict`` itself, and leaves all else to another.

    Only without options: those are the other's to read. The answers are the same.

    Parameters
    ----------
    app : the other one.
    predict : what answers a request.
    refused, failed : what says why it is refused, and that it cannot be answered.
    """

    def __init__(
        self, app: App, predict: Callable[[Request], Awaitable[Response]],
        refused: Callable[[Request, RefusedError], Awaitable[Response]],
        failed: Callable[[Request, Exception], Awaitable[Response]],
    ) -> None:  # fmt: skip
        self.app, self.predict, self.refused, self.failed = app, predict, refused, failed

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
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
            raise  # the server writes it down
        await response(scope, receive, send)
