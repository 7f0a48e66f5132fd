"""How numba compiles a kernel."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


class _Target:
    """The compiler's target, for code that is loaded: only what such code calls is made ready."""

    def __init__(self, context):
        self._context = context

    def __getattr__(self, name):
        return getattr(self._context, name)

    def refresh(self):
        """Make memory of arrays ready."""
        rtsys.initialize(self._context)


class _Cache(FunctionCache):
    """Compiled kernels on disk, of which numba loads one without what it needs to compile others.

    Numba would prepare itself for all that it can compile, 0.3 seconds, also if there is nothing
    to compile. Where there is, it does so later, by itself.
    """

    @property
    def filled(self):
        """Whether the kernel was compiled before, for some arguments."""
        return Path(self._cache_file._index_path).exists()

    def load_overload(self, sig, target_context):
        """The compiled kernel for a signature; None if it was never compiled."""
        found = super().load_overload(sig, _Target(target_context))
        if found is None:
            _know_all()
        return found


def compiled(function: Callable[..., Any]) -> Any:
    """A function that is compiled for each type of arguments, without what only C would call."""
    kernel: Any = njit(function, **OPTIONS)
    try:
        kernel._cache = _Cache(function)
    except RuntimeError:  # numba found no folder for its cache: compile in each process
        _know_all()
    return kernel


def was_compiled(kernel: Any) -> bool:
    """Whether another process has compiled it, so that it is loaded in 0.02 seconds."""
    return isinstance(kernel._cache, _Cache) and kernel._cache.filled


def _know_all() -> None:
    """Let numba know what kernels are made of: it looks when it begins to compile, not later."""
    import_module("naively.kernels.instructions")
    import_module("naively.kernels.vectors")
