"""pyarrow without pandas, which it would load at the first array, and which no command needs."""

from __future__ import annotations

import sys
from typing import Any


class _Absent:
    """A finder of modules by which there is no pandas."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Nothing to say of other modules."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed")


def without_pandas() -> None:
    """Load pyarrow, and let it look for pandas in vain: it looks but once.

    That is a quarter of a second less; and a Ctrl-C, which pyarrow would take for a sign that
    there is no pandas, is not lost. For the process of a command alone: pyarrow knows no series of
    pandas afterwards.
    """
    absent: Any = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        import pyarrow as pa

        pa.array([0]).to_numpy()
    finally:
        sys.meta_path.remove(absent)
