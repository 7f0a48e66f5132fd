"""Batch small predictions, and apply changes on one writer thread with group commit.

Requests for a text model that arrive together are predicted in one call, which costs little more
than one of them. A row's prediction does not depend on the rows beside it, so the answers are the
same. Other models are excluded, because their warnings about invalid values cover all rows of a
call.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import blake2b
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

import pyarrow as pa

from naively.model.model import Model
from naively.serve.arrow import stream_of
from naively.serve.checks import check_types
from naively.serve.log import Entry, path_of
from naively.serve.state import Changed, Changer, RefusedError, State, What
from naively.serve.store import Pending, ReplacedError, Store
from naively.storage.model_files import Saved
from naively.tables.answers import Answer

ROWS = 1000  # rows that are predicted in one call, at most, if each request has fewer

AnswerAndWarnings = tuple[Answer, list[str]]


class PredictRequest(NamedTuple):
    """A waiting request: its rows, and the future of its answer."""

    table: pa.Table
    future: asyncio.Future[AnswerAndWarnings]


class RequestBatch:
    """Predict requests on the event loop's thread; those of one iteration are one call."""

    def __init__(self) -> None:
        self._state: State | None = None
        self._requests: list[PredictRequest] = []
        self._rows = 0

    async def answer(self, state: State, table: pa.Table) -> AnswerAndWarnings:
        """As `State.answer`, for a text model."""
        if self._state is not state or self._rows + table.num_rows > ROWS:
            self._answer_all()
        loop = asyncio.get_running_loop()
        question = PredictRequest(table, loop.create_future())
        if not self._requests:
            self._state = state
            loop.call_soon(self._answer_all)  # after the requests that have already arrived
        self._requests.append(question)
        self._rows += table.num_rows
        return await question.future

    def _answer_all(self) -> None:
        state, requests = self._state, self._requests
        self._state, self._requests, self._rows = None, [], 0
        if state is None:
            return
        by_schema: dict[pa.Schema, list[PredictRequest]] = {}
        for request in requests:
            by_schema.setdefault(request.table.schema, []).append(request)
        for group in by_schema.values():
            _predict(state, group)


def _predict(state: State, requests: list[PredictRequest]) -> None:
    """Predict requests with the same schema in one call."""
    try:
        answers, remarks = state.answer(pa.concat_tables([request.table for request in requests]))
    except Exception as error:
        if len(requests) == 1:
            _end(requests[0], error)
        else:  # one of them may be invalid
            for request in requests:
                _predict(state, [request])
        return
    start = 0
    for request in requests:
        rows = slice(start, start := start + request.table.num_rows)
        proba = None if answers.proba is None else answers.proba[rows]
        _end(request, (Answer(answers.labels[rows], proba), remarks))


def _end(request: PredictRequest, result: AnswerAndWarnings | Exception) -> None:
    if request.future.done():  # the client has disconnected
        return
    if isinstance(result, Exception):
        request.future.set_exception(result)
    else:
        request.future.set_result(result)


WAITING = 256  # changes that may wait; further ones are refused with status 503
KEPT = 10_000  # idempotency keys that are remembered, so that repeated requests are applied once
BROKEN = "the disk does not take changes"

LOGGER = logging.getLogger(__name__)


class Done(NamedTuple):
    """The result of a committed change."""

    number: int  # the first state that includes it
    # rows, unlabelled: number of rows trained on or forgotten, and of rows without a label
    rows: int
    unlabelled: int
    warnings: list[str]
    repeated: bool = False  # whether the request had been committed before


def keyed(key: str, body: bytes) -> tuple[str, str]:
    """(a digest of an Idempotency-Key, a digest of the body); empty without a key.

    The log stores both for long, also for rows that were forgotten. So the body's digest is keyed
    with the Idempotency-Key, which is not stored: without it, nobody can test guesses of the rows.
    """
    if not key:
        return "", ""
    secret = blake2b(key.encode()).digest()
    return (
        blake2b(secret, digest_size=16, person=b"naively key").hexdigest(),
        blake2b(body, digest_size=16, key=secret, person=b"naively body").hexdigest(),
    )


@dataclass(frozen=True)
class Order:
    """A requested change."""

    what: What  # "learn" or "forget"
    table: pa.Table  # the rows
    # key, digest: from `keyed`, to apply a repeated request once, and to refuse the same key for
    # another one; empty without a key
    key: str = ""
    digest: str = ""
    done: Future[Done] = field(default_factory=Future)  # the future of its result

    def entry(self, number: int, changed: Changed) -> Entry:
        """The log entry of the change."""
        fields: dict[str, Any] = {"what": self.what, "number": number, "rows": changed.rows}
        fields |= {"unlabelled": changed.unlabelled}
        if self.key:
            fields |= {"key": self.key, "digest": self.digest}
        return Entry(fields, stream_of(self.table))


class PendingChange(NamedTuple):
    """A change that can be committed: the order, its result, its log entry."""

    order: Order
    changed: Changed
    entry: Entry


def replayed(saved: Saved, pending_log: Pending, changer: Changer | None) -> State:
    """The state after replaying a log; ValueError if it does not fit the model."""
    model, number = saved.model, pending_log.number
    if pending_log.changes and changer is not None:
        for entry in pending_log.entries:
            if entry.rows:
                table = pa.ipc.open_stream(entry.rows).read_all()
                model = changer.change(model, entry.description["what"], table).model
                number += 1
    return State.of(number, model)


class Writer:
    """Apply changes to a model and its store on one thread, in groups.

    `store`: Store, whose pending entries are replayed now. `state`: the last one on disk; read it
    once for each answer.
    """

    def __init__(self, store: Store, changer: Changer) -> None:
        self.store, self.changer = store, changer
        self.state = replayed(store.saved, store.pending, changer)
        self._by_key: OrderedDict[str, dict[str, Any]] = OrderedDict()
        for entry in store.pending.entries:
            self._remember(entry.description)
        store.begin(self.state.model, self.state.number, self._keys())
        self._waiting: SimpleQueue[Order | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, order: Order) -> Future[Done]:
        """Queue a change; RefusedError if too many wait."""
        if self._waiting.qsize() >= WAITING:
            raise RefusedError(503, f"{WAITING} changes are queued already: try again later")
        self._waiting.put(order)
        return order.done

    def stop(self) -> None:
        """Finish all queued changes, and write the model file.

        Raises OSError if it cannot be written; all acknowledged changes are in the log;
        ReplacedError if the model file had been replaced, and the model was written beside it.
        """
        self._waiting.put(None)
        self._thread.join()
        try:
            self.store.finish(self.state.model, self.state.number, self._keys())
        finally:
            self.store.close()

    # ---- the writer thread -------------------------------------------------------------------

    def _run(self) -> None:
        running = True
        while running:
            group = [self._waiting.get()]
            while len(group) < WAITING:
                try:
                    group.append(self._waiting.get_nowait())
                except Empty:
                    break
            running = None not in group
            orders = [item for item in group if item and item.done.set_running_or_notify_cancel()]
            try:
                self._commit(orders)
            except BaseException as error:  # the thread must go on: requests wait for it
                LOGGER.exception("changes could not be made")
                for order in orders:
                    if not order.done.done():
                        order.done.set_exception(error)

    def _compact(self) -> None:
        """Write the model file; if that fails, continue with the log if possible."""
        try:
            self.store.compact(self.state.model, self.state.number, self._keys())
        except ReplacedError as error:
            LOGGER.warning("%s", error)
        except OSError as error:
            path, reason = self.store.path, error.strerror or error
            LOGGER.error("%s: the model could not be written: %s", path, reason)

    def _commit(self, orders: Iterable[Order]) -> None:
        """Apply changes as one group; a change that fails is refused without the others."""
        model, number = self.state.model, self.state.number
        changes: list[PendingChange] = []
        keys: set[str] = set()
        repeats = []
        for order in orders:
            if order.key in keys:
                repeats.append(order)
                continue
            if self._repeated(order):
                continue
            try:
                if order.what == "learn":
                    check_types(model, order.table)
                changed = self.changer.change(model, order.what, order.table)
            except RefusedError as error:
                order.done.set_exception(error)
                continue
            except ValueError as error:
                order.done.set_exception(RefusedError(422, str(error)))
                continue
            model, number = changed.model, number + 1
            changes.append(PendingChange(order, changed, order.entry(number, changed)))
            keys |= {order.key} - {""}
        if changes:
            self._show(changes, model, number)
        for order in repeats:
            self._commit([order])

    def _show(self, changes: list[PendingChange], model: Model, number: int) -> None:
        """Write changes to the log, publish the new state, then acknowledge them."""
        try:
            state = State.of(number, model)
        except ValueError as error:  # parameters cannot be estimated after some change
            if len(changes) == 1:
                changes[0].order.done.set_exception(RefusedError(422, str(error)))
            else:
                for change in changes:
                    self._commit([change.order])
            return
        try:
            self.store.append([change.entry for change in changes])
        except OSError as error:
            problem = f"{BROKEN}: {error.strerror or error}"
            LOGGER.error("%s: %s", path_of(self.store.path), problem)
            for change in changes:
                change.order.done.set_exception(RefusedError(503, problem))
            return
        self.state = state
        for change in changes:
            self._remember(change.entry.description)
        if self.store.due:
            self._compact()
        for order, changed, _ in changes:
            order.done.set_result(Done(number, changed.rows, changed.unlabelled, changed.warnings))

    # ---- repeated requests -------------------------------------------------------------------

    def _repeated(self, order: Order) -> bool:
        """Answer a repeated request, or one whose key was used for another; False for a new one."""
        if (fields := self._by_key.get(order.key)) is None:
            return False
        if (fields["what"], fields["digest"]) != (order.what, order.digest):
            error = RefusedError(422, "the Idempotency-Key was used for other rows: send a new key")
            order.done.set_exception(error)
        else:
            rows, unlabelled = fields["rows"], fields["unlabelled"]
            result = Done(self.state.number, rows, unlabelled, [], repeated=True)
            order.done.set_result(result)
        return True

    def _remember(self, description: dict[str, Any]) -> None:
        if "key" in description:
            self._by_key[description["key"]] = description
            if len(self._by_key) > KEPT:
                self._by_key.popitem(last=False)

    def _keys(self) -> Iterator[Entry]:
        """The remembered requests, as entries of the next log."""
        return (Entry(fields) for fields in self._by_key.values())
