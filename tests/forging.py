"""Write forged model files with valid checksums."""

import copy
import json

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from naively.storage.digest import checksum, digests_of, estimate_digest
from naively.storage.model_files import KEY
from naively.storage.packing import unpack

STRANGE = [
    None, True, -1, 0, 3, 2**31, 2**53, 2**62, 2**63, 10**25, 10**400, 0.5, -0.5, 5e-324, 1e308,
    "", "x", "uniform", "text", "classes", "\0", [], [1], [0.5, 0.5], [[]], ["a", "b"], {},
    {"a": 1}, {"float": "nan"}, {"float": "-inf"}, {"array": "class_weight"}, {"tuple": [1, 9]},
    {"tuple": [1, 10**9]}, {"dict": [[1, 2]]}, {"dict": [["a", "gaussian"]]}, {"family": "text"},
]  # fmt: skip
LIMBS = [0, 1, 2, -1, 255, 2**31, 2**32 - 1, 2**32, 2**53, 2**61, 2**62, -(2**61), 2**63 - 1]
FLOATS = [0.0, -0.0, -1.0, 0.5, 1e16, 5e-324, 1e308, np.nan, np.inf, -np.inf]


def parts(path):
    """(document, tensors) of a model file."""
    with safe_open(path, framework="np") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        document = json.loads(file.metadata()[KEY])
    return document | {"packed": {}}, unpack(arrays, document["packed"])


def forge(path, document, arrays, aware=True):
    """Write them, with a good checksum; of an estimate, too, if the liar is aware of it."""
    document = dict(document)
    if aware and "estimate" in document and "schema" in document:
        document["estimate"] = estimate_digest(document, digests_of(arrays))
    if "checksum" in document:
        document["checksum"] = checksum(document, digests_of(arrays))
    save_file(arrays, path, {KEY: json.dumps(document)})
    return path


def mutated(document, arrays, draw):
    """(document, tensors) with one thing changed, as a `random.Random` says."""
    document, arrays = copy.deepcopy(document), dict(arrays)
    if draw.random() < 0.6:
        *way, key = draw.choice([place for place in _places(document) if place[0] != "checksum"])
        inside = document
        for step in way:
            inside = inside[step]
        inside[key] = copy.deepcopy(_other(inside[key], draw))
    else:
        name = draw.choice(sorted(arrays))
        arrays[name] = np.ascontiguousarray(_changed(arrays[name], draw))
    return document, arrays


def _places(value, way=()):
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*way, key)
        if isinstance(inner, dict | list):
            yield from _places(inner, (*way, key))


def _other(value, draw):
    kind = draw.random()
    if kind < 0.5 and type(value) is int:
        return value + draw.choice([-1, 1, 2, 2**20, 2**53, 2**64, 10**320])
    if kind < 0.5 and type(value) is float:
        return value * draw.choice([-1, 2, 1e-300, 1e300])
    if kind < 0.5 and isinstance(value, list) and value:
        return draw.choice([value + value, value[:-1], value[::-1]])
    return draw.choice(STRANGE)


def _changed(array, draw):
    kind = draw.random()
    if kind < 0.7 and array.size:
        array = array.copy()
        at = draw.randrange(array.size)
        if array.dtype.kind == "f":
            array.flat[at] = draw.choice(FLOATS)
        else:
            limits = np.iinfo(array.dtype)
            near = [int(array.flat[at]) + 1, int(array.flat[at]) - 1]
            array.flat[at] = np.clip(draw.choice(LIMBS + near), limits.min, limits.max)
        return array
    if kind < 0.8:
        return array.astype(draw.choice(["i4", "i8", "u1", "f8"]))
    if kind < 0.9 and len(array):
        return np.delete(array, draw.randrange(len(array)), axis=0)
    return np.concatenate([array, array])
