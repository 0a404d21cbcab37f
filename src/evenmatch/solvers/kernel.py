"""The one decorator of compiled kernels.

Every kernel is compiled when its module is imported, for the one signature that it states, so no
decision ever waits for a compiler; `nogil=True` lets other threads run meanwhile. No fastmath and
no parallel reductions: the same numbers come out on every run.

What was compiled is kept on disk. numba notices when the kernel's own file changes, but not when
a kernel of another file that was compiled into it does; so the folder's name contains a hash of
all solvers, of numba's version, of the processor and of whether indices are checked, as numba does
under `NUMBA_BOUNDSCHECK=1`. Without numba kernels are plain functions.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
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

    config: Any = numba.config
    folder = cache_folder() if os.path.isfile(function.__code__.co_filename) else None
    before = config.CACHE_DIR
    if not is_cached(_stem(function), function.__name__):
        while on_compile:
            on_compile.pop()()
    try:
        # The folder is a global of numba's; it is ours only while our kernel is compiled.
        config.CACHE_DIR = folder or before
        # `_nrt` is missing from numba's own list of keywords.
        unlisted: Any = {"_nrt": allocates}
        compiled: object = numba.njit(
            signature, nogil=True, cache=folder is not None, forceinline=inline, **unlisted
        )(function)
    finally:
        config.CACHE_DIR = before
    return compiled


def is_cached(module: str, name: str = "") -> bool:
    """Return whether a kernel of a module was kept by an earlier process.

    Args:
        module: The last part of the module's name.
        name: The kernel's; "" means any of the module.
    """
    return f"{module}.{name}" in _kept() if name else module in _kept()


@cache
def _kept() -> frozenset[str]:
    """Return the names of the modules and kernels in the cache when it was first asked."""
    folder = cache_folder()
    if folder is None:
        return frozenset()
    names = [path.name.partition("-")[0] for path in Path(folder).rglob("*.nbi")]
    return frozenset([*names, *(name.partition(".")[0] for name in names)])


def _stem(function: Callable[..., Any]) -> str:
    return Path(function.__code__.co_filename).stem


@cache
def cache_folder() -> str | None:
    """Return where compiled kernels are kept; None if nothing can be written there.

    It is `$XDG_CACHE_HOME/evenmatch`, or `~/.cache/evenmatch`: a folder that only its owner can
    write to, since what lies there is executed.
    """
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(Path.home(), ".cache")
    folder = os.path.join(root, "evenmatch", f"kernels-{cache_key()}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


@cache
def cache_key() -> str:
    """Return the hash of all solvers and of all else that compiled code depends on."""
    import numba
    from numba.core import codegen

    cpu: Any = codegen
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    is_checked = bool(numba.config.BOUNDSCHECK)  # type: ignore[attr-defined]
    for fact in (numba.__version__, platform.machine(), cpu.get_host_cpu_features(), is_checked):
        digest.update(str(fact).encode() + b"\0")
    return digest.hexdigest()[:16]
