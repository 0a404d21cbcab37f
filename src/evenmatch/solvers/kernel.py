"""The one decorator of compiled kernels.

Every kernel is compiled for the one signature that it states, when it is called first, so whoever
imports a solver without calling it does not load the compiler. Where nothing may wait for that, all
that were imported are got ready beforehand: see `settle`. `nogil=True` lets other threads run
meanwhile. No fastmath and no parallel reductions: the same numbers come out on every run.

What was compiled is kept on disk, see `kernel_cache`: numba itself notices when the kernel's own
file changes, but not when a kernel of another file that was compiled into it does. Without numba
kernels are plain functions.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, TypeVar, cast

from evenmatch.errors import NotSupported

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

COMPILING = "evenmatch: compiling solvers for this machine; it happens once and may take a minute"
on_compile: list[Callable[[], None]] = []
"""Called before the first kernel that is in no cache; whoever talks to people may add to it."""

deferred_kernels: dict[str, DeferredKernel] | None = None
"""Kernels that other processes compile meanwhile, by name; None: the first call compiles each.

See `defer`."""

_imported: dict[int, DeferredKernel] = {}
"""Kernels that were imported and neither called nor deferred yet."""
_one_at_a_time = threading.RLock()

INSTALL = "pip install 'evenmatch[server]'"
"""What gets numba."""
_records: dict[str, tuple[type, str]] = {}
"""Named tuples that signatures may name: the class, and the types of its fields."""
HAS_NUMBA = importlib.util.find_spec("numba") is not None
"""Whether kernels are compiled; if not, install `evenmatch[server]`."""


def kernel(
    signature: str, *, inline: bool = False, allocates: bool = True
) -> Callable[[Function], Function]:
    """Compile a function for one signature, or return it as it is where numba is missing.

    Args:
        signature: As numba writes it, `int64(int64[:,::1], int64)` say; it may name a `record`.
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
        deferred = DeferredKernel(function, signature, inline, allocates)
        if deferred_kernels is None:
            _imported[id(deferred)] = deferred
        elif _loads_kept and deferred.is_kept:
            return cast("Function", deferred.compiled)
        else:
            deferred_kernels[deferred.name] = deferred
        return cast("Function", deferred)

    return decorate


def record(fields: str) -> Callable[[Class], Class]:
    """Let signatures of kernels name a named tuple, whose fields they then read by name.

    Args:
        fields: Their types in order, as numba writes them; they may name further records.

    A call from Python costs about a microsecond more than with the same fields one by one.

    >>> from typing import NamedTuple
    >>> @record("int64, int64")
    ... class Span(NamedTuple):
    ...     first: int
    ...     last: int
    >>> @kernel("int64(Span)")
    ... def length(span):
    ...     return span.last - span.first
    >>> int(length(Span(2, 5)))
    3
    """

    def decorate(made: Class) -> Class:
        _records[made.__name__] = (made, fields)
        return made

    return decorate


class _Types(dict[str, Any]):
    """What the names in a signature mean to numba."""

    def __missing__(self, name: str) -> Any:
        from numba import types

        if name not in _records:
            return getattr(types, name)
        made, fields = _records[name]
        parts = eval(f"({fields},)", {}, self)
        self[name] = types.BaseTuple.from_types(parts, made)  # type: ignore[no-untyped-call]
        return self[name]


_loads_kept = False


@contextmanager
def defer(*, load_kept: bool) -> Iterator[None]:
    """Compile no kernel until it is called afterwards; other processes compile it meanwhile.

    Args:
        load_kept: Whether kernels that are kept are loaded at once, as otherwise.
    """
    global deferred_kernels, _loads_kept
    deferred_kernels, _loads_kept = {}, load_kept
    for key, each in list(_imported.items()):
        if not (load_kept and each.is_kept):
            deferred_kernels[each.name] = _imported.pop(key)
    try:
        yield
    finally:
        deferred_kernels = None


@contextmanager
def uncompiled() -> Iterator[None]:
    """Run kernels as plain Python meanwhile, unless numba is loaded already.

    For work that takes less time than loading it: a second, and a hundred megabytes.
    """
    global deferred_kernels
    if deferred_kernels is not None or not HAS_NUMBA or "numba" in sys.modules:
        yield
        return
    deferred_kernels = {}
    try:
        yield
    finally:
        _imported.update({id(each): each for each in deferred_kernels.values()})
        deferred_kernels = None


def settle() -> None:
    """Get all kernels ready that were imported, and put them in the places of their stand-ins.

    For servers, and for whoever measures time: afterwards no call waits for a compiler.
    """
    global deferred_kernels
    waiting, deferred_kernels = deferred_kernels, None
    if not waiting and not _imported:
        return
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if isinstance(value, DeferredKernel):
                setattr(module, name, value.compiled)
    for each in list(_imported.values()):
        _ = each.compiled


def check_installed() -> None:
    """Refuse to go on without numba.

    Raises:
        NotSupported: It is missing.
    """
    if not HAS_NUMBA:
        raise NotSupported(f"the solvers are compiled by numba, which is missing: {INSTALL}")


class DeferredKernel:
    """A kernel that is compiled when it is needed: by its first call, or by a kernel that calls it.

    Once it is there, it takes this one's place wherever it is called from. While kernels are
    deferred, see `defer`, a call runs the plain function.

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
        self.__doc__ = function.__doc__
        self._terms = (signature, inline, allocates)
        self._compiled: Any = None

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run the kernel, which the module that calls it finds by itself from now on."""
        if deferred_kernels is not None and self._compiled is None:
            return self.function(*args, **keywords)
        made, name = self.compiled, self.function.__name__
        for names in (self.function.__globals__, sys._getframe(1).f_globals):
            if names.get(name) is self:
                names[name] = made
        return made(*args, **keywords)

    @property
    def compiled(self) -> Any:
        """Return the kernel, loaded or compiled now."""
        if self._compiled is None:
            with _one_at_a_time:
                if self._compiled is None:
                    self._compiled = _compile(self.function, *self._terms)
                    _imported.pop(id(self), None)
        return self._compiled

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
                if isinstance(found, DeferredKernel):
                    yield found.name

    @property
    def _numba_type_(self) -> Any:
        return self.compiled._numba_type_


def entry(function: Function) -> Function:
    """Return what calls a kernel without a look at the types of its arguments, which must be right.

    A call saves that look: a microsecond, and two where a record is among them. While kernels are
    deferred, it is the function that was given.
    """
    made: Any = function
    if isinstance(made, DeferredKernel):
        if deferred_kernels is not None and made._compiled is None:
            return function
        made = made.compiled
    if hasattr(made, "entry_point"):
        return cast("Function", made.entry_point)
    compiled = [each.entry_point for each in getattr(made, "overloads", {}).values()]
    return cast("Function", compiled[0]) if compiled else cast("Function", made)


def _compile(function: Callable[..., Any], signature: str, inline: bool, allocates: bool) -> object:
    import numba

    from evenmatch.solvers.kernel_cache import KernelCache

    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    cache = KernelCache(function, (signature, inline, allocates), _say_once)

    def compiled() -> Any:
        from numba.core import typeinfer

        # `_nrt` is missing from numba's own list of keywords.
        unlisted: Any = {"_nrt": allocates}
        made: Any = numba.njit(nogil=True, forceinline=inline, **unlisted)(function)
        made._cache = cache
        with typeinfer.register_dispatcher(made):
            made.compile(eval(signature, {}, _Types()))
            made.disable_compile()
        return made

    loaded = cache.load(compiled)
    if loaded is None and not cache.is_kept:
        # Said before the compiler is loaded, which takes memory that is not given back.
        _say_once()
    return loaded or compiled()


def _say_once() -> None:
    while on_compile:
        on_compile.pop()()


def is_cached(module: str, name: str = "") -> bool:
    """Return whether a kernel was kept by an earlier process.

    Args:
        module: Name of its module below `evenmatch.solvers`, `teams.anneal` say.
        name: The kernel's; "" means any of the module.
    """
    if not HAS_NUMBA:
        return False
    from evenmatch.solvers import kernel_cache

    return kernel_cache.is_cached(module, name)
