"""The one decorator of compiled kernels.

Every kernel is compiled when its module is imported, for the one signature that it states, so no
decision ever waits for a compiler; `nogil=True` lets other threads run meanwhile. No fastmath and
no parallel reductions: the same numbers come out on every run.

What was compiled is kept on disk, see `kernel_cache`: numba itself notices when the kernel's own
file changes, but not when a kernel of another file that was compiled into it does. Without numba
kernels are plain functions.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILING = "evenmatch: compiling kernels for this machine; it happens once and may take a minute"
on_compile: list[Callable[[], None]] = []
"""Called before the first kernel that is in no cache; whoever talks to people may add to it."""

HAS_NUMBA = importlib.util.find_spec("numba") is not None
"""Whether kernels are compiled; if not, install `evenmatch[solve]`."""


def kernel(
    signature: str, *, inline: bool = False, allocates: bool = True
) -> Callable[[Function], Function]:
    """Compile a function for one signature, or return it as it is where numba is missing.

    Args:
        signature: As numba writes it, `int64(int64[:,::1], int64)` say.
        inline: Whether callers take a copy of the code: for small kernels in inner loops, since a
            call hands over each array as seven numbers.
        allocates: Whether it makes or returns arrays. One that does not is compiled without the
            counting of references, which slows inner loops that take arrays out of tuples by ten.

    Complexity:
        Seconds per kernel when it is compiled first, milliseconds from the cache.

    >>> @kernel("int64(int64, int64)")
    ... def add(a, b):
    ...     return a + b
    >>> int(add(2, 3))
    5
    """

    def decorate(function: Function) -> Function:
        if not HAS_NUMBA:
            return function
        return cast(Function, _compile(function, signature, inline, allocates))

    return decorate


def _compile(function: Callable[..., Any], signature: str, inline: bool, allocates: bool) -> object:
    import numba

    from evenmatch.solvers.kernel_cache import KernelCache

    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    kept = KernelCache(function, (signature, inline, allocates), _say_once)

    def compiled() -> Any:
        from numba.core import typeinfer

        # `_nrt` is missing from numba's own list of keywords.
        unlisted: Any = {"_nrt": allocates}
        made: Any = numba.njit(nogil=True, forceinline=inline, **unlisted)(function)
        made._cache = kept
        with typeinfer.register_dispatcher(made):
            made.compile(signature)
            made.disable_compile()
        return made

    return kept.load(compiled) or compiled()


def _say_once() -> None:
    while on_compile:
        on_compile.pop()()


def is_cached(module: str, name: str = "") -> bool:
    """Return whether a kernel was kept by an earlier process.

    Args:
        module: Name of its module below `evenmatch.solvers`, `batch.trades` say.
        name: The kernel's; "" means any of the module.
    """
    if not HAS_NUMBA:
        return False
    from evenmatch.solvers import kernel_cache

    return kernel_cache.is_cached(module, name)
