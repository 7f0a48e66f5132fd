"""Exponentials, logarithms and exact products: the same bits on every machine."""

import ctypes
import ctypes.util
import hashlib
import math
import platform
from pathlib import Path

import mpmath
import numpy as np
import pytest
from kernel_cases import fma

from naively.kernels import native

f32 = np.float32
EDGES = {
    "exp_all": [
        709.782712893384,
        -708.3964185322641,
        -744.4400719213812,
        -745.1332191019411,
        512.0,
    ],
    "log_all": [0.9375, 1.064697265625, 2.2250738585072014e-308, 5e-324, 1.7976931348623157e308],
    "expf_all": [88.72283935546875, -87.33654022216797, -103.97207641601562, -103.27893],
    "logf_all": [1.17549435e-38, 1e-45, 3.4028235e38, 0.699, 1.398],
}


def of(name, x):
    """What a kernel computes of numbers."""
    out = np.empty_like(x)
    getattr(native, name)(x, out)
    return out


def arguments(name, many=200_000):
    """Numbers of every size, where results are ordinary, and beside the edges of the method."""
    rng = np.random.default_rng(5)
    kind, bits = (f32, np.uint32) if name[3] == "f" else (np.float64, np.uint64)
    every = rng.integers(0, np.iinfo(bits).max, many, bits, endpoint=True).view(kind)
    if name.startswith("exp"):
        usual = rng.uniform(-1, 1, many) * rng.choice([750, 100, 4, 1e-3], many)
    else:
        usual = rng.choice([1, 1e6, 2.0**-1020, 0.2], many) * rng.random(many)
        usual[: many // 4] += 0.9
    edges = np.array([*EDGES[name], 0.0, -0.0, 1.0, np.inf, -np.inf, np.nan], kind)
    beside = (edges.view(bits)[:, None] + np.arange(-3, 4).astype(bits)).view(kind)
    return np.concatenate([every, usual.astype(kind), beside.ravel()])


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("exp_all", "e4a0653d96dfff45"),
        ("log_all", "6ed89b7b45ea87d7"),
        ("expf_all", "d8b369957800c2e3"),
        ("logf_all", "2ae7d1fe3d28fd0b"),
    ],
)
def test_bits_are_those_that_were_recorded(name, digest):
    found = of(name, arguments(name))
    found[np.isnan(found)] = np.nan
    assert hashlib.sha256(found.tobytes()).hexdigest()[:16] == digest


def has_fma():
    """Whether the C library is glibc's, and uses the processor's FMA."""
    named = platform.libc_ver()[0] == "glibc" and platform.machine() == "x86_64"
    return named and "fma" in Path("/proc/cpuinfo").read_text().split()


@pytest.mark.skipif(not has_fma(), reason="other C libraries and processors round otherwise")
@pytest.mark.parametrize("name", EDGES)
def test_bits_are_those_of_glibc(name):
    kind = ctypes.c_float if name[3] == "f" else ctypes.c_double
    theirs = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name.removesuffix("_all"))
    theirs.restype, theirs.argtypes = kind, [kind]
    x = arguments(name, 10_000)
    wanted = np.array([theirs(v) for v in x.tolist()], x.dtype)
    np.testing.assert_array_equal(of(name, x), wanted)


@pytest.mark.parametrize("name", EDGES)
def test_errors_in_units_in_the_last_place(name):
    x = arguments(name, 1000)
    x = x[~np.isnan(x)]
    found = of(name, x).astype(np.float64)
    exact = mpmath.exp if name.startswith("exp") else mpmath.log
    with mpmath.workprec(200):
        for v, got in zip(x.tolist(), found.tolist(), strict=True):
            if not np.isfinite(v) or not np.isfinite(got) or got == 0.0:
                continue
            unit = float(np.spacing(x.dtype.type(abs(got))))
            error = abs(exact(mpmath.mpf(v)) - got) / unit
            assert error < (0.82 if name == "logf_all" else 0.52), v


@pytest.mark.parametrize("kind", [np.float64, f32])
def test_what_is_not_an_ordinary_number(kind):
    f = "f" if kind is f32 else ""
    x = np.array([np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, np.nan, 1000.0, -1000.0], kind)
    wanted = [np.inf, 0.0, 1.0, 1.0, math.e, 1 / math.e, np.nan, np.inf, 0.0]
    np.testing.assert_array_equal(of(f"exp{f}_all", x), np.array(wanted, kind))
    wanted = [np.inf, np.nan, -np.inf, -np.inf, 0.0, np.nan, np.nan, kind(math.log(1000)), np.nan]
    np.testing.assert_array_equal(of(f"log{f}_all", x), np.array(wanted, kind))


def test_a_product_is_added_with_one_rounding():
    rng = np.random.default_rng(6)
    n = 4000
    x, y = rng.normal(size=(2, n)) * 2.0 ** rng.integers(-40, 40, (2, n))
    z = rng.normal(size=n) * 2.0 ** rng.integers(-120, 120, n)
    product = x * y
    z[::4] = -product[::4]  # what is left is the rounding error of the product
    z[1::4] = np.ldexp(np.sign(z), np.frexp(product)[1] + rng.integers(50, 58, n))[1::4]  # ties
    x[1::4], y[1::4] = (a.astype(f32)[1::4] for a in (x, y))
    far = [0.0, -0.0, 5e-324, 2.0**-1022, 1e-200, -1e200, 1.7976931348623157e308, 2.0**960, 3.0]
    corners = [(a, b, c) for a in far for b in far for c in far]
    x, y, z = np.concatenate([[x, y, z], np.array(corners).T], axis=1)
    found = np.empty_like(x)
    native.fma_all(x, y, z, found)
    wanted = list(map(fma, x.tolist(), y.tolist(), z.tolist()))
    assert found.tobytes() == np.array(wanted).tobytes()


def test_products_of_what_is_not_finite():
    inf, nan, most = np.inf, np.nan, 1.7976931348623157e308
    rows = [
        (inf, 1.0, 1.0, inf), (inf, 0.0, 1.0, nan), (inf, 1.0, -inf, nan), (most, most, -inf, -inf),
        (2.0, 3.0, inf, inf), (nan, 1.0, 1.0, nan), (1.0, 1.0, nan, nan), (0.0, nan, inf, nan),
    ]  # fmt: skip
    x, y, z, wanted = np.array(rows).T.copy()
    found = np.empty_like(x)
    native.fma_all(x, y, z, found)
    np.testing.assert_array_equal(found, wanted)
