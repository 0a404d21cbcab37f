"""Compiled kernels on disk: a folder for each module, a file for each kernel.

The folder is named after the module and the hash of all its code depends on: the sources that
`kernel_keys` finds, and the compiler and the processor. So kernels outlive an upgrade that leaves
them as they were, and every installation of a machine shares them. What cannot be read is compiled
again, and what cannot be written is compiled at every start.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import codegen

from evenmatch.solvers.kernel_keys import Sources, root, sources

RESULT: Any = importlib.import_module("numba.core.compiler").CompileResult
DUMPS: Callable[[object], bytes] = importlib.import_module("numba.core.serialize").dumps
BROKEN = (OSError, EOFError, pickle.UnpicklingError, ValueError, TypeError, AttributeError)
"""What reading a damaged file may raise."""


class KernelCache:
    """What numba asks for the code of one kernel, and gives it to.

    Args:
        function: The kernel.
        facts: What else its code depends on: its signature and how it is compiled.
        on_missing: Called before it is compiled.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        facts: Iterable[object],
        on_missing: Callable[[], None],
    ) -> None:
        self._on_missing = on_missing
        self._module = module_of(function.__code__.co_filename)
        self.cache_path = _folder(function, self._module)
        told = "\0".join(map(str, (function.__code__.co_firstlineno, *facts)))
        mark = hashlib.sha256(told.encode()).hexdigest()[:8]
        # A closure is more than its source.
        is_kept = self.cache_path is not None and function.__closure__ is None
        name = f"{function.__name__}-{mark}.bin"
        self._path = os.path.join(self.cache_path, name) if self.cache_path and is_kept else None

    def load_overload(self, signature: object, target: Any) -> Any:
        """Return the kernel's code if it is kept, ready to be called; None if it is not."""
        target.refresh()
        if self._path is not None:
            with suppress(*BROKEN):
                parts = pickle.loads(Path(self._path).read_bytes())
                return RESULT._rebuild(target, *parts)
        self._on_missing()
        return None

    def save_overload(self, signature: object, result: Any) -> None:
        """Keep the code of a kernel, unless sources have changed since this process read them."""
        if self._path is None or result.library.has_dynamic_globals or self._is_outdated():
            return
        data = DUMPS(result._reduce())
        with suppress(OSError):
            write_whole(self._path, data)

    def _is_outdated(self) -> bool:
        if self._module is None:
            return False
        fresh = Sources(root(), sources().reader)
        return fresh.key(self._module) != sources().key(self._module)


def write_whole(path: str, data: bytes) -> None:
    """Write a file so that others see all of it or nothing; its folder is made if it is missing."""
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
    """Return whether a kernel of a module of the solvers is kept.

    Args:
        module: Its name below `evenmatch.solvers`, `batch.anneal` say.
        name: The kernel's; "" means any of the module.
    """
    folder = module_folder(module)
    start = f"{name}-" if name else ""
    return folder is not None and any(kept.startswith(start) for kept in _list(folder))


def module_of(path: str) -> str | None:
    """Return the name below `evenmatch.solvers` of a source file; None if it is elsewhere."""
    inside, end = root() + os.sep, ".py"
    if not path.startswith(inside) or not path.endswith(end):
        return None
    return path[len(inside) : -len(end)].replace(os.sep, ".")


@cache
def module_folder(module: str) -> str | None:
    """Return where the kernels of a module are kept; None if they are kept nowhere."""
    key = sources().key(module)
    top = cache_folder()
    return None if top is None or key is None else os.path.join(top, f"{module}-{_joined(key)}")


def _folder(function: Callable[..., Any], module: str | None) -> str | None:
    """Return where a kernel is kept; one of a file elsewhere may depend on every solver."""
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

    It is `$XDG_CACHE_HOME/evenmatch/kernels`, or `~/.cache/evenmatch/kernels`: a folder that only
    its owner can write to, since what lies there is executed. Where it can only be read, as in an
    image, it is read.
    """
    try:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(Path.home(), ".cache")
        folder = os.path.join(home, "evenmatch", "kernels")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.listdir(folder)
    except (OSError, RuntimeError):
        return None
    return folder


@cache
def machine() -> str:
    """Return what compiled code depends on beside its source, as text."""
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
