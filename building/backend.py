"""Build naively by scikit-build-core; without a compiler, by the one in the package `ziglang`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scikit_build_core import build as core
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable",
    "get_requires_for_build_sdist", "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel",
]  # fmt: skip

WINDOWS = sys.platform == "win32"
ZIG = ["ziglang>=0.14", *(["ninja"] if WINDOWS else [])]
PAIRS = [("cc", "c++"), ("gcc", "g++"), ("clang", "clang++")]
"""Compilers of C and C++ that the kernels are written for."""


def has_compiler() -> bool:
    """Whether CC and CXX name compilers, or PATH has some."""
    if "CC" in os.environ and "CXX" in os.environ:
        return True
    if WINDOWS:  # GCC aligns no vectors of AVX on the stack there, and Microsoft's has none
        return False
    return any(shutil.which(c) and shutil.which(cxx) for c, cxx in PAIRS)


@contextmanager
def a_compiler() -> Iterator[None]:
    """Name compilers in the environment, if it has none. Raises SystemExit if there are none."""
    if has_compiler():
        yield
        return
    try:
        import ziglang
    except ImportError:
        raise SystemExit(
            "naively is compiled, and there is no compiler: install gcc and g++, or clang; "
            "or `pip install ziglang` before `pip install --no-build-isolation`"
        ) from None
    zig = Path(ziglang.__file__).parent / ("zig.exe" if WINDOWS else "zig")
    before = os.environ.copy()
    # for any processor, not this one; and zig is not to build its library of C++, which is not used
    named = {"CC": f"{zig} cc", "CXX": f"{zig} c++"}
    named |= {"CFLAGS": "-mcpu=baseline", "CXXFLAGS": "-mcpu=baseline -nostdlib++"}
    if WINDOWS:
        named["CMAKE_GENERATOR"] = "Ninja"  # the one of Visual Studio takes no other compiler
    for name in ("CFLAGS", "CXXFLAGS"):
        named[name] = f"{before.get(name, '')} {named[name]}".strip()
    os.environ |= named
    try:
        yield
    finally:
        os.environ.clear()
        os.environ |= before


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """What is needed besides: cmake and ninja if they are not there, and a compiler."""
    needed = core.get_requires_for_build_wheel(config_settings)
    return [*needed, *([] if has_compiler() else ZIG)]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """The same for an installation in place."""
    needed = core.get_requires_for_build_editable(config_settings)
    return [*needed, *([] if has_compiler() else ZIG)]


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel."""
    with a_compiler():
        return core.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel that refers to the sources."""
    with a_compiler():
        return core.build_editable(wheel_directory, config_settings, metadata_directory)
