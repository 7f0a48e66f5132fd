"""Run `naively serve`: load the model and its log, check the token, start the service."""

from __future__ import annotations

import errno
import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from naively.cli import models, progress
from naively.cli.errors import UsageError, UserError
from naively.cli.models import TEXT
from naively.cli.options import update_spec
from naively.cli.results import summary
from naively.cli.terminal import clean
from naively.core.markup import counted
from naively.io.frames import array_names
from naively.io.inputs import MISSING
from naively.model.model import Model
from naively.serve.log import LogError, path_of
from naively.serve.store import Pending, ReplacedError, Store, pending
from naively.storage import model_files
from naively.storage.model_files import Saved

if TYPE_CHECKING:
    from naively.serve.service import Service

VARIABLE = "NAIVELY_TOKEN"
SHORTEST = 16  # characters of a token, at least: shorter ones can be guessed
LOCAL = ("127.0.0.1", "::1", "localhost")


def token(file: Path | None, host: str) -> str | None:
    """The bearer token of requests; None if none is needed.

    Raises UserError without a token if other machines have access.
    """
    if file is not None:
        secret, source = file.read_text("utf-8", "replace").strip(), str(file)
    else:
        secret, source = os.environ.get(VARIABLE, "").strip(), VARIABLE
    if not secret and file is None:
        if host not in LOCAL:
            raise UsageError(
                f"--host {host}: access from other machines requires a token: set "
                f"{VARIABLE}, or name a file with --token-file; `openssl rand -hex 32` makes one"
            )
        return None
    if len(secret) < SHORTEST or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise UsageError(
            f"{source}: a token has {SHORTEST} characters or more, letters and digits; "
            "`openssl rand -hex 32` makes one"
        )
    return secret


def run(
    path: Path, host: str, port: int, token: str | None, read_only: bool, limits: tuple[int, int]
) -> None:
    """Serve a model until the process is stopped; `limits` are bytes and rows of a request."""
    try:
        from naively.serve import app
        from naively.serve.app import application
    except ModuleNotFoundError as error:
        raise UserError(f"{error}: pip install 'naively[serve]'") from None
    try:
        listener = app.listening(host, port)
    except OverflowError:
        raise UsageError(f"--port {port}: a port is a number from 0 to 65535") from None
    except OSError as error:
        busy = "; choose another one with --port" * (error.errno == errno.EADDRINUSE)
        raise UserError(f"{host}:{port}: {error.strerror or error}{busy}") from None
    logging.basicConfig(format="naively: %(message)s")
    with listener:
        service = service_of(path, token, read_only, limits)
        app.warm(service.state, None if service.writer is None else service.writer.changer)

        def ready() -> None:
            name = f"[{host}]" if ":" in host else host
            restriction = ", for reading only" if service.writer is None else ""
            address = f"http://{name}:{listener.getsockname()[1]}/"
            print(f"serving {clean(path, 200)} at {address}{restriction}", flush=True)

        app.run(application(service), listener, ready)
    if isinstance(service.wrong, ReplacedError):
        raise UserError(str(service.wrong))
    if service.wrong is not None:
        raise UserError(
            f"{path} could not be written: {service.wrong.strerror or service.wrong}; the "
            f"changes are in the log {path_of(path)}: serve the model again to write them"
        )


def service_of(path: Path, token: str | None, read_only: bool, limits: tuple[int, int]) -> Service:
    """The service of a model file, after replaying its log."""
    from naively.serve.bodies import Limits
    from naively.serve.limits import LOOPBACK
    from naively.serve.service import Service, Settings
    from naively.serve.state import Changer
    from naively.serve.writer import Writer, replayed

    store = None if read_only else _store(path)
    saved, changes_pending = _read(path) if store is None else (store.saved, store.pending)
    reason = _only_read(saved)
    changer = None if reason else Changer(update_spec(saved, None))
    if store is not None and changer is not None:
        if dropped := store.pending.dropped:
            progress.note(f"the log ends with {dropped:,} unacknowledged bytes: ignored")
        if changes := store.pending.changes:
            progress.note(f"{counted(changes, 'change')} in the log: written to {path}")
        fixed_state, writer = None, Writer(store, changer)
    else:
        if store is not None:
            store.close()
            progress.note(f"read-only: {reason}")
        saved.model = _named(saved.model)
        fixed_state, writer = replayed(saved, changes_pending, changer), None
    hosts = LOOPBACK if token is None else None
    restriction = "the service was started with --read-only" if read_only else reason
    settings = Settings(
        clean(path.name),
        Limits(*limits),
        hosts,
        token,
        lambda state: summary.inspect_json(replace(saved, model=state.model)),
        restriction,
    )
    return Service(settings, fixed_state, writer)


def _read(path: Path) -> tuple[Saved, Pending]:
    """Read a model file and its log consistently, while another service may write them."""
    while True:
        saved, log_error = _loaded(path), None
        try:
            log_pending = pending(path, saved)
        except LogError as error:
            log_error = error
        if model_files.stamp_of(path) == saved.stamp:
            if log_error is not None:
                raise log_error
            return saved, log_pending


def _loaded(path: Path) -> Saved:
    """Load a model to serve. Raises UserError if it is multilabel."""
    saved = models.load(path, log_too=True)
    if saved.multilabel:
        raise UserError(
            f"{path}: a multilabel model, which cannot be served: use `naively predict`"
        )
    return saved


def _store(path: Path) -> Store:
    try:
        return Store(path, _loaded)
    except BlockingIOError:
        raise UserError(
            f"{path}: another program uses it, perhaps `naively serve`: stop that one, or serve it "
            "with --read-only"
        ) from None
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such model file") from None


def _only_read(saved: Saved) -> str | None:
    """Why a model can only be served read-only; None if it can be trained."""
    if saved.learned:
        return f"a model of {saved.estimator} is trained on all rows at once, in Python"
    if saved.model.schema.reasons is None:
        return f"a model of {saved.estimator} is trained on arrays, in Python"
    if saved.model.target is None:
        return "the model does not name its target"
    if saved.parts:
        return "it has named parts, which `naively update` and `naively forget` change"
    return None


def _named(model: Model) -> Model:
    """Name the features of a model that was trained on an array: x0, x1, ..."""
    schema = model.schema
    if schema.reasons is not None:
        return model
    text = schema.text_column is not None
    names = [TEXT] if text else array_names(len(schema.names))
    return model.read_as(schema.named(schema.feature_names or names, MISSING))
