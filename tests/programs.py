"""Scripts run as programs, in this process."""

import contextlib
import io
import runpy
import sys
from unittest.mock import patch


def as_program(path, *arguments):
    """(exit code, standard output, standard error) of a script with these arguments."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    argv = [path.name, *map(str, arguments)]
    with (
        patch.object(sys, "argv", argv),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue(), err.getvalue()
