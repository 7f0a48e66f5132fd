"""The one way a kernel is compiled."""

import sys
from collections.abc import Callable
from threading import RLock
from time import thread_time
from typing import Any

PATIENCE = 0.3
"""Seconds of a processor that a process spends without kernels, before it takes them;"""
LOADING = 0.02
"""and that one kernel is done without which was compiled before: loading it takes as long."""
_making = RLock()


class Kernel:
    """A function that is compiled, or loaded as it was compiled, when it is first called.

    Only then is numba imported: what needs no kernel does without it.
    """

    all_spent = 0.0  # by all of them

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__wrapped__ = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.few: Callable[..., Any] | None = None
        self._on_disk: bool | None = None
        self._spent = 0.0
        self._compiled: Any = None

    @property
    def compiled(self) -> Any:
        """What numba makes of it."""
        with _making:
            if self._compiled is None:
                from naively.kernels.compiling import compiled

                self._compiled = compiled(self.__wrapped__)
        return self._compiled

    @property
    def waits(self) -> bool:
        """Whether the process does without it yet: loading it has taken longer so far."""
        if self._compiled is not None or Kernel.all_spent >= PATIENCE:
            return False
        if "naively.kernels.compiling" in sys.modules and self._on_disk is None:
            from naively.kernels import compiling  # waits while another thread imports it

            self._on_disk = compiling.was_compiled(compiling.compiled(self.__wrapped__))
        return not self._on_disk or self._spent < LOADING

    @property
    def _numba_type_(self) -> Any:
        """By which numba knows it, in the kernels that call it."""
        return self.compiled._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns."""
        if self._compiled is not None:
            return self._compiled(*arguments)
        if self.few is not None and self.waits:
            begun = thread_time()
            found = self.few(*arguments)
            taken = thread_time() - begun
            self._spent += taken
            Kernel.all_spent += taken
            if found is not NotImplemented:
                return found
        return self.compiled(*arguments)


def jit(function: Callable[..., Any]) -> Kernel:
    """Compile on first call, without the GIL, cached on disk where a folder can be written."""
    return Kernel(function)


def or_few(few: Callable[..., Any]) -> Callable[[Kernel], Kernel]:
    """Until a kernel is loaded, do without it where there is little to do.

    `few` gives the same, to the last bit; NotImplemented, with nothing changed, where it cannot.
    """

    def beside(kernel: Kernel) -> Kernel:
        kernel.few = few
        return kernel

    return beside
