"""Type stubs of the compiled loops; their names and arguments are declared in `native/`."""

from typing import Any

instructions: str
"""The instruction set that is used: baseline, avx2 or avx512."""

def __getattr__(name: str) -> Any: ...
