"""The compiled loops of `native/`; their names and arguments are in its sources."""

from typing import Any

instructions: str
"""The instruction set that is used: baseline, avx2 or avx512."""

def __getattr__(name: str) -> Any: ...
