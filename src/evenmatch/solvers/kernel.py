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
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from types import CodeType
from typing import Any, TypeVar, cast

from evenmatch.errors import NotSupported

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILING = "evenmatch: compiling kernels for this machine; it happens once and may take a minute"
on_compile: list[Callable[[], None]] = []
"""Called before the first kernel that is in no cache; whoever talks to people may add to it."""

deferred: dict[str, Deferred] | None = None
"""Kernels that are compiled when somebody asks for them, by name; None: all are compiled at once.

See `defer`."""

INSTALL = "pip install 'evenmatch[server]'"
"""What gets numba."""
HAS_NUMBA = importlib.util.find_spec("numba") is not None
"""Whether kernels are compiled; if not, install `evenmatch[server]`."""


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
        if deferred is None:
            return cast(Function, _compile(function, signature, inline, allocates))
        made = Deferred(function, signature, inline, allocates)
        if _loads_kept and made.is_kept:
            return cast(Function, made.compiled)
        deferred[made.name] = made
        return cast(Function, made)

    return decorate


_loads_kept = False


@contextmanager
def defer(*, load_kept: bool) -> Iterator[None]:
    """Compile no kernel until it is called afterwards; other processes compile it meanwhile.

    Args:
        load_kept: Whether kernels that are kept are loaded at once, as otherwise.
    """
    global deferred, _loads_kept
    deferred, _loads_kept = {}, load_kept
    try:
        yield
    finally:
        deferred = None


def settle() -> None:
    """Put the kernels themselves in the places of those that were deferred."""
    global deferred
    waiting, deferred = deferred or {}, None
    for module in list(sys.modules.values()) if waiting else ():
        for name, value in list(vars(module).items()):
            if isinstance(value, Deferred):
                setattr(module, name, value.compiled)


def check_installed() -> None:
    """Refuse to go on without numba.

    Raises:
        NotSupported: It is missing.
    """
    if not HAS_NUMBA:
        raise NotSupported(f"the solvers are compiled by numba, which is missing: {INSTALL}")


class Deferred:
    """A kernel that is compiled when it is asked for, for work that compiles many; see `warming`.

    Called before kernels are settled, it is the plain function; a kernel that calls it gets it
    compiled.

    Args:
        function: In Python.
        signature: As of `kernel`, and so the others.
        inline: Whether callers take a copy.
        allocates: Whether it makes arrays.
    """

    def __init__(
        self, function: Callable[..., Any], signature: str, inline: bool, allocates: bool
    ) -> None:
        self.name = f"{function.__module__}:{function.__qualname__}"
        self.function = function
        self._terms = (signature, inline, allocates)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run the function, in Python while kernels are deferred."""
        return (self.compiled if deferred is None else self.function)(*args, **keywords)

    @cached_property
    def compiled(self) -> Any:
        """Return the kernel, loaded or compiled now."""
        return _compile(self.function, *self._terms)

    @property
    def is_kept(self) -> bool:
        """Return whether an earlier process kept it."""
        from evenmatch.solvers.kernel_cache import KernelCache

        return KernelCache(self.function, self._terms, _say_once).is_kept

    @property
    def callees(self) -> Iterator[str]:
        """Yield the names of the kernels that it calls."""
        codes = [self.function.__code__]
        while codes:
            code = codes.pop()
            codes.extend(each for each in code.co_consts if isinstance(each, CodeType))
            for name in code.co_names:
                found = self.function.__globals__.get(name)
                if isinstance(found, Deferred):
                    yield found.name

    @property
    def _numba_type_(self) -> Any:
        return self.compiled._numba_type_


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

    loaded = kept.load(compiled)
    if loaded is None and not kept.is_kept:
        # Said before the compiler is loaded, which takes memory that is not given back.
        _say_once()
    return loaded or compiled()


def _say_once() -> None:
    while on_compile:
        on_compile.pop()()


def is_cached(module: str, name: str = "") -> bool:
    """Return whether a kernel was kept by an earlier process.

    Args:
        module: Name of its module below `evenmatch.solvers`, `batch.anneal` say.
        name: The kernel's; "" means any of the module.
    """
    if not HAS_NUMBA:
        return False
    from evenmatch.solvers import kernel_cache

    return kernel_cache.is_cached(module, name)
