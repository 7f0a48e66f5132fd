"""Small requests that arrive at the same moment, answered together: it costs little more than one.

The answer of a row does not depend on the rows beside it, so each request gets what it gets alone.
That is for documents. Of other columns it is told which values are odd, of all rows together: such
requests are answered one by one.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import pyarrow as pa

from naively.serve.state import State
from naively.tables.answers import Answer

ROWS = 1000
"""Rows that are answered together, at most, if each request has fewer."""

Found = tuple[Answer, list[str]]


class Asked(NamedTuple):
    """A request that waits: its rows, and its answer."""

    table: pa.Table
    found: asyncio.Future[Found]


class Together:
    """Answers requests on the thread of the event loop, those of one round of it at once."""

    def __init__(self) -> None:
        self._state: State | None = None
        self._asked: list[Asked] = []
        self._rows = 0

    async def answer(self, state: State, table: pa.Table) -> Found:
        """As `State.answer` of a model of documents."""
        if self._state is not state or self._rows + table.num_rows > ROWS:
            self._answer_all()
        loop = asyncio.get_running_loop()
        asked = Asked(table, loop.create_future())
        if not self._asked:
            self._state = state
            loop.call_soon(self._answer_all)  # after the requests that are there already
        self._asked.append(asked)
        self._rows += table.num_rows
        return await asked.found

    def _answer_all(self) -> None:
        state, asked = self._state, self._asked
        self._state, self._asked, self._rows = None, [], 0
        if state is None:
            return
        alike: dict[pa.Schema, list[Asked]] = {}
        for one in asked:
            alike.setdefault(one.table.schema, []).append(one)
        for same in alike.values():
            _tell(state, same)


def _tell(state: State, asked: list[Asked]) -> None:
    """Answer requests of one schema together."""
    try:
        found, said = state.answer(pa.concat_tables([one.table for one in asked]))
    except Exception as error:
        if len(asked) == 1:
            _end(asked[0], error)
        else:  # it may be the fault of one of them
            for one in asked:
                _tell(state, [one])
        return
    start = 0
    for one in asked:
        rows = slice(start, start := start + one.table.num_rows)
        proba = None if found.proba is None else found.proba[rows]
        _end(one, (Answer(found.labels[rows], proba), said))


def _end(asked: Asked, found: Found | Exception) -> None:
    if asked.found.done():  # whoever asked has gone
        return
    if isinstance(found, Exception):
        asked.found.set_exception(found)
    else:
        asked.found.set_result(found)
