"""The command that serves a model: what it is called and takes. Heavy imports wait."""

from __future__ import annotations

from pathlib import Path

from naively.cli import arguments as given
from naively.cli.app import app


@app.command
def serve(
    model: given.ModelFile,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token_file: Path | None = None,
    read_only: bool = False,
    max_body: int = 16,
    max_rows: int = 10_000,
) -> None:
    """Answer over HTTP: predict, explain, learn and forget, and a page to try the model.

    What was acknowledged as learned or forgotten is on the disk, in a log beside the model file.
    The log goes into the file when the service stops (Ctrl-C, or SIGTERM), when rows are
    forgotten, or when it has grown; if the service was killed, when it starts again. Meanwhile no
    other command changes the file.

    Anybody on this machine may ask. Beyond it (--host) a token is needed: in the environment as
    NAIVELY_TOKEN, or in a file.

    Needs naively[serve].

    Parameters
    ----------
    host
        The address to listen at, such as 0.0.0.0 for all of this machine.
    port
        0 takes one that is free.
    token_file
        A file with the token that requests have to bear.
    read_only
        Refuse to learn and to forget; the model file is only read.
    max_body
        Megabytes of a request, at most.
    max_rows
        Rows of a request, at most.
    """
    from naively.cli.verbs import serve as serving

    for option, value in (("max-body", max_body), ("max-rows", max_rows), ("port", port)):
        given.check_count(option, value)
    token = serving.token(token_file, host)
    serving.run(model, host, port, token, read_only, (max_body << 20, max_rows))
