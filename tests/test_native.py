"""Compiled kernels against their definitions in plain Python, bit for bit."""

import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

import fuzz_native
import kernel_cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_cases import CASES, LAZY, REST

from naively.kernels import native


def copied(arguments):
    """The same arguments, in arrays of the same layout."""
    found = []
    for one in arguments:
        if isinstance(one, np.ndarray):
            other = one.copy(order="K")
            if one.flags.writeable and not (one.flags.c_contiguous or one.flags.f_contiguous):
                other = np.zeros(tuple(3 * n for n in one.shape), one.dtype)
                other = other[tuple(slice(None, None, 3) for _ in one.shape)]
                other[...] = one
            found.append(other)
        else:
            found.append(one)
    return found


def results(name, found, arguments):
    """What a call says and what it wrote, comparable."""
    arrays = [one for one in arguments if isinstance(one, np.ndarray)]
    for place, size in LAZY.get(name, {}).items():
        kernel_cases.normalise(arguments[place].reshape(-1, arguments[size]))
    if name in REST:
        arrays = REST[name](found, arguments)
    return found, [np.ascontiguousarray(one) for one in arrays]


def bits(found, arrays):
    """The bits of results, those of all NaN alike."""
    plain = (
        np.where(np.isnan(one), np.nan, one) if one.dtype.kind == "f" else one for one in arrays
    )
    return repr(found).encode() + b"".join(one.tobytes() for one in plain)


@pytest.mark.parametrize("name", CASES)
@given(st.integers(0, 2**32 - 1))
def test_a_kernel_computes_what_its_definition_says(name, seed):
    draw, define = CASES[name]
    arguments = draw(np.random.default_rng(seed))
    mine, plain = copied(arguments), copied(arguments)
    found = results(name, getattr(native, name)(*mine), mine)
    wanted = results(name, define(*plain), plain)
    assert found[0] == wanted[0]
    for one, other in zip(found[1], wanted[1], strict=True):
        np.testing.assert_array_equal(one, other)
    assert bits(*found) == bits(*wanted)


# ---- instruction sets ----------------------------------------------------------------------------


def digest():
    """Of what all kernels compute of the same arguments."""
    whole = hashlib.sha256()
    for name, (draw, _) in CASES.items():
        for seed in range(30):
            arguments = copied(draw(np.random.default_rng(seed)))
            whole.update(bits(*results(name, getattr(native, name)(*arguments), arguments)))
    return whole.hexdigest()


def sets():
    """The instruction sets that this processor has."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return ["baseline"]
    return ["baseline", "avx2", "avx512"][: 1 + ["baseline", "avx2", "avx512"].index(highest())]


def highest():
    """The one that is used where none is asked for."""
    return asked_for("")[0]


def asked_for(name):
    """(instruction set, digest) of a process that is asked to use one."""
    code = "import test_native; print(test_native.native.instructions, test_native.digest())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parent, env=os.environ | {"NAIVELY_INSTRUCTIONS": name},
    )  # fmt: skip
    return done.stdout.split()


@pytest.mark.slow
def test_all_instruction_sets_compute_the_same_bits():
    found = dict(asked_for(name) for name in sets())
    assert list(found) == sets()
    assert len(set(found.values())) == 1


def test_an_instruction_set_that_is_not_there_is_refused():
    done = subprocess.run(
        [sys.executable, "-c", "import naively.kernels.native"], capture_output=True, text=True,
        env=os.environ | {"NAIVELY_INSTRUCTIONS": "avx1024"}, check=False,
    )  # fmt: skip
    assert "NAIVELY_INSTRUCTIONS is avx1024, which this processor does not have" in done.stderr


# ---- what is refused -----------------------------------------------------------------------------

CELLS, TABLE, OUT = np.zeros(3, np.uint32), np.ones((4, 2)), np.zeros((2, 3))
SHOWN = OUT.copy()
SHOWN.flags.writeable = False


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((CELLS.astype(np.int64), TABLE, 1.0, OUT), "array of uint32 is needed"),
        ((CELLS, TABLE.astype(np.float32), 1.0, OUT), "array of float64 is needed"),
        ((CELLS, TABLE.astype(">f8"), 1.0, OUT), "array of float64 is needed"),
        ((CELLS, TABLE, 1.0, OUT[:, ::2]), "not C-contiguous"),
        ((CELLS, TABLE[0], 1.0, OUT), "array of 2 dimensions is needed, not of 1"),
        ((CELLS, TABLE, "1", OUT), "must be real number, not str"),
        ((CELLS, TABLE, 1.0, [[0.0]]), "a bytes-like object is required, not 'list'"),
        ((CELLS, TABLE, 1.0), "4 arguments are needed, not 3"),
        ((CELLS, TABLE, 1.0, SHOWN), "read-only"),
    ],
)
def test_arguments_that_a_kernel_cannot_take(arguments, said):
    before = OUT.copy()
    with pytest.raises((TypeError, ValueError), match=said):
        native.add_scores(*arguments)
    assert np.array_equal(OUT, before)


CALL = np.array([0, 2, 1]), np.array([0, 2, 3]), 3, np.zeros(3)


@pytest.mark.parametrize(
    ("place", "wrong", "said"),
    [
        (0, np.array([0, 3, 1]), r"argument 1 \(ids\) needs values from 0 to 2, and has others"),
        (0, np.array([0, -1, 1]), r"argument 1 \(ids\) needs values from 0 to 2, and has others"),
        (1, np.array([0, 4, 3]), r"argument 2 \(indptr\) needs values from 0 to 3 that do not dec"),
        (1, np.array([0, 2, 2]), r"its arguments need indptr\[n\]==m"),
        (
            1,
            np.zeros(0, int),
            r"argument 2 \(indptr\) has length 0 in dimension 1, where 1 is needed",
        ),
        (2, -1, r"argument 3 \(below\) is -1, where a number from 0 to 2147483647 is needed"),
        (3, np.zeros(2), r"argument 4 \(counts\) has length 2 in dimension 1, where 3 is needed"),
    ],
)
def test_a_contract_says_what_is_wrong(place, wrong, said):
    given = [CALL[0].astype(np.int32), *CALL[1:]]
    given[place] = wrong.astype(np.int32) if place == 0 else wrong
    with pytest.raises(ValueError, match="distinct: " + said):
        native.distinct(*given)


def test_an_array_of_indices_is_not_written_meanwhile():
    indices = np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="shares memory with argument 3"):
        native.has_duplicates(indices, np.array([0, 2]), indices)


@pytest.mark.parametrize("child", [0, 2, 2**63 - 2, 2**63 - 1, -1])
def test_a_child_that_no_tree_has_is_refused(child):
    nodes = np.array([[0, 0, 0, child], [-1, 0, 0, 0], [-1, 0, 0, 0]])
    with pytest.raises(ValueError, match="a node is of no column, or before its parent"):
        native.leaves_of(
            np.zeros((1, 4), np.uint16), nodes, np.zeros(1, np.int64), np.empty((1, 4), np.uint32)
        )


@pytest.mark.parametrize("name", fuzz_native.KERNELS)
def test_no_call_does_harm(name):
    returned, refused = fuzz_native.fuzz(name, 200)
    assert returned > 5
    assert refused > 5


def test_all_kernels_are_called():
    assert len(fuzz_native.KERNELS) == 92
