"""Run the command line as a process: ``python -m naively`` or ``naively``."""

import atexit
import os
import sys
from contextlib import suppress

from naively.cli.main import main


def command() -> None:
    """Run one command, and end the process."""
    codes: list[int] = []
    atexit.register(_leave, codes)  # registered first, so that it runs last
    try:
        main()
    except SystemExit as end:
        codes.append(int(end.code or 0))
        raise


def _leave(codes: list[int]) -> None:
    """Exit without Python's teardown of loaded modules, which takes time."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or never open
            stream.flush()
    for code in codes:  # empty after an exception, so that Python prints it
        os._exit(code)


if __name__ == "__main__":
    command()
