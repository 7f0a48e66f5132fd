"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file in the same folder, which takes the place of `path` if all goes well.

    If anything fails, the temporary file is removed and the old file stays as it was.

    Raises
    ------
    OSError : if the file cannot be written; or if something there is no regular file.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is there already and is no regular file")
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
    # not tempfile: its files can be read by their owner alone
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:  # names the file that was asked for
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        mode = (target if target.exists() else temporary).stat().st_mode
        yield temporary
        temporary.chmod(stat.S_IMODE(mode))  # some writers make a private file of their own
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
