"""The options of `naively serve`."""

from __future__ import annotations

from pathlib import Path

from naively.cli import arguments
from naively.cli.app import app
from naively.cli.errors import UsageError


@app.command
def serve(
    model: arguments.ModelFile,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token_file: Path | None = None,
    read_only: bool = False,
    max_body: int = 16,
    max_rows: int = 10_000,
) -> None:
    """Serve a model over HTTP: predict, explain, update and forget, and a page to try it.

    Acknowledged updates are on disk, in a write-ahead log beside the model file. The log is
    written into the model file when the service stops (Ctrl-C or SIGTERM), when rows are forgotten,
    or when it is long; after a kill, at the next start. While it runs, no other command can change
    the file. Models with named parts, models of arrays and NBSVM are served for reading only.

    Everybody on this machine has access. For other machines (--host) a token is required: in the
    environment variable NAIVELY_TOKEN, or in a file.

    Needs naively[serve].

    Parameters
    ----------
    host
        The address to listen at; 0.0.0.0 for all addresses of this machine.
    port
        The port; 0 for any free one.
    token_file
        A file with the token that requests must carry.
    read_only
        Refuse updates and deletions; the model file is only read.
    max_body
        Maximum size of a request, in megabytes.
    max_rows
        Maximum number of rows in a request.
    """
    from naively.cli import serving as serving

    arguments.check_count("port", port)
    for option, value in (("max-body", max_body), ("max-rows", max_rows)):
        if value < 1:
            raise UsageError(f"--{option} must be 1 or more, but is {value}")
    token = serving.token(token_file, host)
    serving.run(model, host, port, token, read_only, (max_body << 20, max_rows))
