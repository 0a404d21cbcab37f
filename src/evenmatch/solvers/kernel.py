"""The one decorator of compiled kernels.

Every kernel is compiled for the one signature that it states, at its first call, so importing a
solver does not load the compiler. A process that must not wait for a compilation prepares all
imported kernels beforehand: see `settle`. `nogil=True` lets other threads run while a kernel does.
There is no fastmath and no parallel reduction, so that every run gives the same numbers.

Compiled code is kept on disk, see `kernel_cache`: numba itself notices when the kernel's own file
changes, but not when a kernel of another file that was compiled into it does. Without numba,
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

COMPILING = "evenmatch: compiling solvers for this machine; "
on_compile: list[Callable[[], None]] = []
"""Called before a kernel that is in no cache is compiled, for instance to tell the user."""

deferred_kernels: dict[str, DeferredKernel] | None = None
"""Kernels that other processes are compiling, by name; None: the first call compiles each.

See `defer`."""

_imported: dict[int, DeferredKernel] = {}
"""Kernels that were imported, and neither called nor deferred yet."""
_one_at_a_time = threading.RLock()

INSTALL = "pip install 'evenmatch[server]'"
"""The command that installs numba."""
_records: dict[str, tuple[type, str]] = {}
"""Named tuples that signatures may name: the class, and the types of its fields."""
HAS_NUMBA = importlib.util.find_spec("numba") is not None
"""Whether numba is installed, so that kernels are compiled; `evenmatch[server]` installs it."""


def kernel(
    signature: str, *, inline: bool = False, allocates: bool = True
) -> Callable[[Function], Function]:
    """Compile a function for one signature, or return it unchanged if numba is missing.

    Args:
        signature: In numba's notation, such as `int64(int64[:,::1], int64)`; it may name a
            `record`.
        inline: Whether to copy the code into the callers: for small kernels in inner loops, since
            a call passes each array as seven numbers.
        allocates: Whether it makes or returns arrays. Others are compiled without reference
            counting, which makes inner loops that take arrays out of tuples ten times slower.

    Complexity:
        Seconds per kernel for its first compilation, milliseconds when it is in the cache.

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
    """Let signatures of kernels name a named tuple, whose fields the kernels read by name.

    Args:
        fields: The types of the fields in order, in numba's notation; they may name other records.

    A call from Python costs about a microsecond more than if each field were an argument.

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
    """Numba's types by the names that a signature uses."""

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
    """Compile kernels that are imported inside this context only when called afterwards.

    Other processes compile them in the meantime.

    Args:
        load_kept: Whether kernels found in the cache are loaded at once, as without `defer`.
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
    """Run kernels as plain Python inside this context, unless numba is loaded already.

    For work that takes less time than loading numba does: a second, and a hundred megabytes.
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
    """Compile or load all imported kernels, and replace their stand-ins.

    For servers, and for measurements of time: afterwards no call waits for a compiler.
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
    """Raise an error if numba is missing.

    Raises:
        NotSupported: numba is missing.
    """
    if not HAS_NUMBA:
        raise NotSupported(f"the solvers are compiled by numba, which is missing: {INSTALL}")


class DeferredKernel:
    """A kernel that is compiled when it is first called, or when a kernel that calls it is.

    Once compiled, the kernel replaces this object wherever it is called from. While kernels are
    deferred, see `defer`, a call runs the plain function.

    Args:
        function: The Python function.
        signature: As for `kernel`; so are the other arguments.
        inline: Whether to copy the code into the callers.
        allocates: Whether it makes or returns arrays.
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
        """Run the kernel, and put it in place of this object in the module that called."""
        if deferred_kernels is not None and self._compiled is None:
            return self.function(*args, **keywords)
        made, name = self.compiled, self.function.__name__
        for names in (self.function.__globals__, sys._getframe(1).f_globals):
            if names.get(name) is self:
                names[name] = made
        return made(*args, **keywords)

    @property
    def compiled(self) -> Any:
        """Return the compiled kernel, loading or compiling it if necessary."""
        if self._compiled is None:
            with _one_at_a_time:
                if self._compiled is None:
                    self._compiled = _compile(self.function, *self._terms)
                    _imported.pop(id(self), None)
        return self._compiled

    @property
    def is_kept(self) -> bool:
        """Return whether the cache holds the kernel from an earlier process."""
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
    """Return a function that calls a kernel without checking the types of its arguments.

    The types must be right. This saves a microsecond a call, and two if an argument is a record.
    While kernels are deferred, the function itself is returned.
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

        # `_nrt` is missing from numba's own list of keywords. No kernel is called by C.
        unlisted: Any = {"_nrt": allocates, "no_cfunc_wrapper": True}
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


def compiling() -> str:
    """Say that kernels are being compiled, and whether the next process has to wait for it too."""
    from evenmatch.solvers.kernel_cache import unkept

    if problem := unkept():
        return f"{COMPILING}every command that needs them may take a minute longer: {problem}"
    return f"{COMPILING}it happens once and may take a minute"


def _say_once() -> None:
    while on_compile:
        on_compile.pop()()


def is_cached(module: str, name: str = "") -> bool:
    """Return whether the cache holds a kernel from an earlier process.

    Args:
        module: Name of its module below `evenmatch.solvers`, such as `teams.anneal`.
        name: Name of the kernel; "" means any kernel of the module.
    """
    if not HAS_NUMBA:
        return False
    from evenmatch.solvers import kernel_cache

    return kernel_cache.is_cached(module, name)
