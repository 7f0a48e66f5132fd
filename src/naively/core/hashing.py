"""Hash bytes and integers to 64 bits, with the same results in every process."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

UInt64 = npt.NDArray[np.uint64]
GOLDEN = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: its multiples modulo 2^64 are evenly spread."""


def mixed(states: UInt64) -> UInt64:
    """Return the SplitMix64 outputs for some states (Steele, Lea & Flood 2014)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        states = (states ^ (states >> np.uint64(shift))) * np.uint64(factor)
    return states ^ (states >> np.uint64(31))


def hashed(content: Any) -> int:
    """Return a 64-bit hash (BLAKE2b) of some bytes."""
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")
