"""Checksums of what a file holds: each array is read once for all of them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from naively.statistics.base import Arrays

ESTIMATE = "estimate."
"""What the names of tensors of an estimate begin with."""

Digests = dict[str, str]
"""Of each array, by its name."""


def text_of(document: Any) -> str:
    """A document as JSON: one text for equal ones."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digests_of(arrays: Arrays) -> Digests:
    """A digest of each array: its type, its shape and all that it holds."""
    found = {}
    for name, array in arrays.items():
        digest = hashlib.blake2b(f"{array.dtype.str[1:]} {array.shape}\n".encode(), digest_size=16)
        digest.update(np.ascontiguousarray(array).data)
        found[name] = digest.hexdigest()
    return found


def checksum(document: dict[str, Any], digests: Digests) -> str:
    """A digest of everything in a file but the digest itself."""
    document = {key: value for key, value in document.items() if key != "checksum"}
    return hashlib.blake2b(text_of([document, digests]).encode(), digest_size=16).hexdigest()


def estimate_digest(document: dict[str, Any], digests: Digests) -> str:
    """A digest of an estimate and all that it was made from."""
    made_from = "class_weight", "statistics.", ESTIMATE, "array."
    own = {name: digest for name, digest in digests.items() if name.startswith(made_from)}
    return checksum({"schema": document["schema"]}, own)
