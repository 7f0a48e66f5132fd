"""``python -m naively``, and ``naively``: the command line, in a process of its own."""

import atexit
import os
import sys
from contextlib import suppress

from naively.cli.main import main


def command() -> None:
    """Run one command, and end the process."""
    codes: list[int] = []
    atexit.register(_leave, codes)  # before all others, so that it comes after them
    try:
        main()
    except SystemExit as end:
        codes.append(int(end.code or 0))
        raise


def _leave(codes: list[int]) -> None:
    """Leave what was loaded to the system: Python takes it down bit by bit, which takes time."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or never open
            stream.flush()
    for code in codes:  # none after an error of the program, which Python tells of
        os._exit(code)


if __name__ == "__main__":
    command()
