"""Entry point of the `naively` command: run a subcommand, and report errors in one line."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from cyclopts import CycloptsError, MissingArgumentError, UnusedCliTokensError

from naively.cli import commands
from naively.cli.app import DASH, app
from naively.cli.errors import UserError, printable


class _Absent:
    """An import hook that makes pandas seem absent."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Raise ModuleNotFoundError for pandas; other modules are left to other finders."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed")


def without_pandas() -> None:
    """Import pyarrow so that it does not load pandas, which takes a quarter of a second.

    pyarrow looks for pandas once, on first use. It would also take a Ctrl-C during that import for
    absence. Call it only in the process of a command, because pyarrow ignores pandas afterwards.
    """
    absent: Any = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        import pyarrow as pa

        pa.array([0]).to_numpy()
    finally:
        sys.meta_path.remove(absent)


for _command in iter_modules(commands.__path__):  # each adds a command to the application
    import_module(f"{commands.__name__}.{_command.name}")
SLEEPY = "OPENBLAS_THREAD_TIMEOUT", "4"
"""Makes BLAS threads, which NumPy and SciPy start for each processor, sleep while they wait for
work. Otherwise each keeps its processor busy for 0.1 s at the start and after each product."""


def run(tokens: Sequence[str] | None = None) -> int:
    """Run one command, and return the exit code; errors are one line on standard error."""
    tokens_given = sys.argv[1:] if tokens is None else tokens
    arguments = [DASH if token == "-" else token for token in tokens_given]
    try:
        function, bound, _ = app.parse_args(arguments, exit_on_error=False, print_error=False)
        if tokens is None and function.__module__.startswith(commands.__name__):
            _load()  # our own process, and a command to run rather than help to print
        args = [_dashed(value) for value in bound.args]
        status = function(*args, **{name: _dashed(value) for name, value in bound.kwargs.items()})
        sys.stdout.flush()
    except UserError as error:
        return _complain(str(error), error.code)
    except CycloptsError as error:
        command = " ".join(error.command_chain or ()) if hasattr(error, "command_chain") else ""
        help_command = " ".join(["naively", *command.split(), "--help"])
        return _complain(f"{_mistake(error)} See: {help_command}", 2)
    except BrokenPipeError:
        return 141  # the reader closed the pipe
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except MemoryError:
        return _complain("there is not enough memory for these data", 1)
    except OSError as error:
        prefix = f"{error.filename}: " if error.filename else ""
        return _complain(f"{prefix}{error.strerror or error}", 1)
    except ValueError as error:  # messages of models are written for users
        return _complain(str(error), 1)
    return status or 0


def main() -> None:
    """The entry point."""
    if sys.stderr is None:  # closed, as by 2>&-; print would use standard output instead
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - open to the end
    sys.stderr.reconfigure(errors="replace")  # type: ignore[union-attr]
    if sys.stdout is None:
        sys.exit(_complain("standard output is closed", 1))
    if isinstance(sys.stdout.buffer, io.RawIOBase):
        # by PYTHONUNBUFFERED; such a file may silently write less than it is asked to
        sys.stdout = open(sys.stdout.fileno(), "w", encoding=sys.stdout.encoding, buffering=1)  # noqa: PTH123, SIM115
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    code = run()
    try:
        sys.stdout.flush()
    except OSError:  # reported by `run`; else the interpreter tries again and reports it, too
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _load() -> None:
    """Import what commands share, without garbage collection: modules are never garbage."""
    os.environ.setdefault(*SLEEPY)  # read when the libraries are loaded
    gc.disable()
    try:
        without_pandas()
        import_module("naively.cli.work")
    finally:
        gc.enable()
    gc.freeze()


def _dashed(value: Any) -> Any:
    """Replace `DASH` by a dash again, in any argument."""
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{name: _dashed(field) for name, field in vars(value).items()})
    if isinstance(value, list | tuple):
        return type(value)(_dashed(item) for item in value)
    return type(value)("-") if str(value) == DASH else value


def _mistake(error: CycloptsError) -> str:
    """The message of Cyclopts, in plainer words for the most frequent errors."""
    if isinstance(error, UnusedCliTokensError):
        return f"Unexpected: {' '.join(error.unused_tokens or ())}."
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        name, tokens = error.argument.name, error.keyword or error.argument.tokens
        return f"{name} needs a value." if tokens else f"{name} is missing."
    return str(error)


def _complain(message: str, code: int) -> int:
    line = printable(" ".join(message.replace(DASH, "-").split()))
    print(f"naively: {line}", file=sys.stderr)
    return code
