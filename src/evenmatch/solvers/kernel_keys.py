"""The key of compiled code: the sources of a module and of all solvers that it imports.

A kernel contains the code of the kernels that it calls and the constants that it reads, from
whichever module they come. So the key of a module is a hash of its own source and of the sources of
all solvers that it names, directly or through others. Imports are read from the text, anywhere in
the file; a module whose docstring mentions another one depends on that too, which costs a
compilation and never gives a wrong result. The decorator's modules are left out: their effect on
compiled code is in `COMPILER`.
"""

from __future__ import annotations

import hashlib
import os
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Protocol, cast

PACKAGE = "evenmatch.solvers"
DECORATOR = frozenset({"kernel", "kernel_cache", "kernel_keys", "kernel_loader"})
"""Modules that determine how kernels are compiled, and hold no kernel."""
COMPILER = 2
"""Version of the decorator; raise it whenever the same source would compile to other code."""

_NAMES = r"\((?:[^)#]|#[^\n]*)*\)|(?:[^\n\\]|\\\n)*"
_IMPORTS = re.compile(rf"from\s+(\.*[\w.]*)\s+import\s+({_NAMES})")
_MENTIONS = re.compile(rf"{re.escape(PACKAGE)}\.([\w.]+)")
_KERNELS = re.compile(rb"^@kernel\(", re.MULTILINE)
_WORDS = re.compile(r"\w+")


class Reader(Protocol):
    """The loader of a package, which reads further files from a folder or a zip archive."""

    def get_data(self, path: str) -> bytes:
        """Return the bytes of a file; raise OSError if there is none."""
        ...


class Sources:
    """The sources of the solvers, each read once, so that all keys of a process are consistent.

    Args:
        root: Folder of the package `evenmatch.solvers`.
        reader: Reads its files.
    """

    def __init__(self, root: str, reader: Reader) -> None:
        self._root = root
        self.reader = reader
        self._texts: dict[str, bytes | None] = {}
        self._packages: set[str] = set()
        self._imports: dict[str, frozenset[str]] = {}

    def key(self, module: str) -> str | None:
        """Return the hash of a module's source and of all it imports; None if it has no source.

        Args:
            module: Its name below `evenmatch.solvers`, such as `teams.anneal`.

        >>> len(sources().key("teams.anneal"))
        16
        """
        if self.text(module) is None:
            return None
        return self._hash(self.closure(module))

    def key_of_all(self, *texts: bytes) -> str:
        """Return the hash of all solvers and of further texts."""
        return self._hash(self.modules(), *texts)

    def closure(self, module: str) -> frozenset[str]:
        """Return a module and all solvers that it imports, directly or through others."""
        reached = {module}
        left = [module]
        while left:
            new = self.imports(left.pop()) - reached
            reached |= new
            left.extend(new)
        return frozenset(reached)

    def kernels(self, module: str) -> int:
        """Return how many kernels a module has."""
        return len(_KERNELS.findall(self.text(module) or b""))

    def imports(self, module: str) -> frozenset[str]:
        """Return the solvers that a module names, without the decorator's modules."""
        if module not in self._imports:
            self._imports[module] = frozenset(self._named(module)) - DECORATOR - {module}
        return self._imports[module]

    def modules(self, below: str = "") -> list[str]:
        """Return all solvers, or those of one package, without the decorator's modules."""
        found = []
        for each in pkgutil.iter_modules([os.path.join(self._root, *below.split("."))]):
            name = f"{below}.{each.name}" if below else each.name
            found.extend(self.modules(name) if each.ispkg else [name])
        return sorted(set(found) - DECORATOR)

    def text(self, module: str) -> bytes | None:
        """Return the source of a module or of a package's `__init__`; None if there is none."""
        if module not in self._texts:
            self._texts[module] = self._read(module)
        return self._texts[module]

    def _read(self, module: str) -> bytes | None:
        path = os.path.join(self._root, *module.split("."))
        try:
            return self.reader.get_data(f"{path}.py")
        except OSError:
            pass
        try:
            text = self.reader.get_data(os.path.join(path, "__init__.py"))
        except OSError:
            return None
        self._packages.add(module)
        return text

    def _hash(self, modules: Iterable[str], *texts: bytes) -> str:
        digest = hashlib.sha256(str(COMPILER).encode())
        for module in sorted(modules):
            source = hashlib.sha256(self.text(module) or b"").digest()
            digest.update(b"\0" + module.encode() + b"\0" + source)
        for text in texts:
            digest.update(b"\0" + hashlib.sha256(text).digest())
        return digest.hexdigest()[:16]

    def _named(self, module: str) -> Iterator[str]:
        """Yield what a module imports or mentions, possibly with repeats."""
        text = (self.text(module) or b"").decode(errors="replace")
        for origin, names in _IMPORTS.findall(text):
            below = self._below(module, origin)
            if below is None:
                continue
            for name in _WORDS.findall(names) or [""]:
                yield from self._meant(f"{below}.{name}".strip("."))
        for mention in _MENTIONS.finditer(text):
            if not text.endswith("from ", 0, mention.start()):
                yield from self._meant(mention[1].strip("."))

    def _below(self, module: str, origin: str) -> str | None:
        """Return the name of an import below the solvers; None if it is elsewhere."""
        name = origin.lstrip(".")
        dots = len(origin) - len(name)
        if dots:
            parents = module.split(".")
            kept = len(parents) - dots + (module in self._packages)
            return ".".join([*parents[: max(kept, 0)], name])
        if f"{origin}.".startswith(f"{PACKAGE}."):
            return origin[len(PACKAGE) + 1 :]
        return None

    def _meant(self, name: str) -> Iterator[str]:
        """Yield the modules that a dotted name stands for: its longest prefix that is one.

        A package that is named by itself may stand for any of its modules.
        """
        found = ""
        for part in filter(None, name.split(".")):
            below = f"{found}.{part}".strip(".")
            if (found and found not in self._packages) or self.text(below) is None:
                return
            yield below
            found = below
        if found in self._packages:
            yield from self.modules(found)


def root() -> str:
    """Return the folder of this package."""
    return os.path.dirname(__file__)


@cache
def sources() -> Sources:
    """Return the sources of this package."""
    spec = sys.modules[__name__].__spec__
    return Sources(root(), cast("Reader", spec and spec.loader))
