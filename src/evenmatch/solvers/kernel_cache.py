"""Compiled kernels on disk: a folder for each module, two files for each kernel.

The folder is named after the module and a hash of all that its code depends on: the sources that
`kernel_keys` finds, the compiler and the processor. So kernels survive an upgrade that does not
change them, and all installations on a machine share them. A kernel that cannot be read is compiled
again; one that cannot be written is compiled at every start.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import codegen

from evenmatch.solvers import kernel_loader
from evenmatch.solvers.kernel_keys import Sources, root, sources

RESULT: Any = importlib.import_module("numba.core.compiler").CompileResult
DUMPS: Callable[[object], bytes] = importlib.import_module("numba.core.serialize").dumps
CODE, PARTS = ".code", ".parts"
"""Ends of names: code to run a kernel, and parts that numba needs to compile one that calls it."""
BROKEN = (
    OSError,
    EOFError,
    pickle.UnpicklingError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ImportError,
    RuntimeError,
)
"""Errors raised by reading a damaged file, or one that numba or the loader does not understand."""


class KernelCache:
    """One kernel on disk: code that runs, and what numba needs to compile others with it.

    Args:
        function: The kernel.
        facts: What its code depends on beside sources: its signature and compiler options.
        on_missing: Called before the kernel is compiled.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        facts: Iterable[object],
        on_missing: Callable[[], None],
    ) -> None:
        self._function = function
        self._on_missing = on_missing
        self._module = module_of(function.__code__.co_filename)
        self.cache_path = _folder(function, self._module)
        told = "\0".join(map(str, (function.__code__.co_firstlineno, *facts)))
        mark = hashlib.sha256(told.encode()).hexdigest()[:8]
        # A closure is more than its source.
        is_kept = self.cache_path is not None and function.__closure__ is None
        self._path = os.path.join(self.cache_path or "", f"{function.__name__}-{mark}")
        self._may_keep = is_kept

    @property
    def is_kept(self) -> bool:
        """Return whether the kernel was kept by an earlier process."""
        return self._may_keep and os.path.exists(self._path + PARTS)

    def load(self, compiled: Callable[[], Any]) -> Any:
        """Return the kernel from the cache, without loading the compiler; None if it is not there.

        Args:
            compiled: Makes numba's own dispatcher of the kernel.
        """
        if not self._may_keep or not kernel_loader.can_load():
            return None
        with suppress(*BROKEN):
            data = Path(self._path + CODE).read_bytes()
            return kernel_loader.load(self._function, data, compiled)
        return None

    def load_overload(self, signature: object, target: Any) -> Any:
        """Return numba's compilation result from the cache, or None. numba calls this."""
        target.refresh()
        if self._may_keep:
            with suppress(*BROKEN):
                parts = pickle.loads(Path(self._path + PARTS).read_bytes())
                return RESULT._rebuild(target, *parts)
        name_symbols_apart()
        self._on_missing()
        return None

    def save_overload(self, signature: object, result: Any) -> None:
        """Save numba's compilation result, unless a source changed since this process read it."""
        if not self._may_keep or result.library.has_dynamic_globals or self._is_outdated():
            return
        machine, about, environment, types, objects, lifted, _, again, others = result._reduce()
        # Numba's type annotations are as large as the code, and only people read them.
        parts = (machine, about, environment, types, objects, lifted, "", again, others)
        code = kernel_loader.code_of(result, types.args, others)
        with suppress(OSError):
            write_whole(self._path + PARTS, DUMPS(parts))
            if code is not None:
                write_whole(self._path + CODE, code)

    def _is_outdated(self) -> bool:
        if self._module is None:
            return False
        fresh = Sources(root(), sources().reader)
        return fresh.key(self._module) != sources().key(self._module)


@cache
def name_symbols_apart() -> None:
    """Make numba's symbols unique to this process.

    Numba numbers functions from 1 in each process. Kernels compiled in two processes could
    therefore use one symbol for two things, and the linker would take the first.
    """
    kind: Any = importlib.import_module("numba.core.bytecode").FunctionIdentity
    kind._unique_ids = count(int.from_bytes(os.urandom(5)) << 16)


def write_whole(path: str, data: bytes) -> None:
    """Write a file atomically: others see all of it or nothing. Its folder is made if missing."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    number, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def is_cached(module: str, name: str = "") -> bool:
    """Return whether a kernel of a solver's module is in the cache.

    Args:
        module: Its name below `evenmatch.solvers`, such as `teams.anneal`.
        name: Name of the kernel; "" means any kernel of the module.
    """
    folder = module_folder(module)
    start = f"{name}-" if name else ""
    return folder is not None and any(kept.startswith(start) for kept in _list(folder))


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other process compiles ahead of use, so that nothing is compiled twice."""
    folder = cache_folder()
    with ExitStack() as stack:
        with suppress(ImportError, OSError):
            fcntl: Any = importlib.import_module("fcntl")
            file = stack.enter_context(Path(folder or "", "lock").open("w"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def module_of(path: str) -> str | None:
    """Return the name below `evenmatch.solvers` of a source file; None if it is elsewhere."""
    inside, end = root() + os.sep, ".py"
    if not path.startswith(inside) or not path.endswith(end):
        return None
    return path[len(inside) : -len(end)].replace(os.sep, ".")


@cache
def module_folder(module: str) -> str | None:
    """Return the folder of a module's kernels; None if there is no cache."""
    key = sources().key(module)
    top = cache_folder()
    return None if top is None or key is None else os.path.join(top, f"{module}-{_joined(key)}")


def _folder(function: Callable[..., Any], module: str | None) -> str | None:
    """Return the folder of a kernel; one outside the solvers may depend on every solver."""
    if module is not None:
        return module_folder(module)
    path = function.__code__.co_filename
    top = cache_folder()
    try:
        key = sources().key_of_all(os.fsencode(path), Path(path).read_bytes())
    except OSError:
        return None
    return None if top is None else os.path.join(top, f"{Path(path).stem}-{_joined(key)}")


@cache
def cache_folder() -> str | None:
    """Return the folder of all compiled kernels; None if there is none and none can be made.

    It is `$XDG_CACHE_HOME/evenmatch/kernels`, or `~/.cache/evenmatch/kernels`. Only its owner may
    have the right to write to it, since its files are executed. A read-only folder, as in a
    container image, is used as it is.
    """
    try:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(Path.home(), ".cache")
        folder = os.path.join(home, "evenmatch", "kernels")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.listdir(folder)
    except (OSError, RuntimeError):
        return None
    return folder


def unkept() -> str:
    """Say why no kernel that is compiled now would be kept, and what to do; "" if they are kept."""
    folder = cache_folder()
    if folder is not None and os.access(folder, os.W_OK):
        return ""
    tried = folder or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return (
        f"compiled kernels cannot be kept, since {tried} cannot be written to; name another "
        "folder in the environment variable XDG_CACHE_HOME"
    )


@cache
def machine() -> str:
    """Return, as text, what compiled code depends on beside its sources."""
    config: Any = numba.config
    host: Any = codegen
    facts = (
        numba.__version__,
        llvmlite.__version__,
        sys.implementation.cache_tag,
        host.ll.get_process_triple(),
        config.CPU_NAME or host.ll.get_host_cpu_name(),
        host.get_host_cpu_features() if config.CPU_FEATURES is None else config.CPU_FEATURES,
        config.OPT,
        bool(config.BOUNDSCHECK),
    )
    return "\0".join(map(str, facts))


def _joined(key: str) -> str:
    return hashlib.sha256(f"{key}\0{machine()}".encode()).hexdigest()[:16]


def _list(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
