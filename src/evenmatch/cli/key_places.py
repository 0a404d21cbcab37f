"""Where `evenmatch keys` finds the keys of a server: in a file, or beside a journal on a server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

from evenmatch.errors import ConfigError, JournalUnavailable
from evenmatch.journals.opening import open_store, saying_what_to_check, without_password
from evenmatch.journals.store import MISSING, Store
from evenmatch.server.auth.keys import (
    FILE_NAME,
    KEYS_MAX,
    ServiceKey,
    decode_keys,
    editing,
    encode_keys,
    read_keys,
    write_keys,
)

ATTEMPTS = 10
"""Tries to change keys that somebody else changes meanwhile."""

_T = TypeVar("_T")


class KeyPlace(Protocol):
    """Where the keys of a server are."""

    def read(self) -> tuple[ServiceKey, ...]:
        """Return the keys, none if there never were some."""
        ...

    def must_read(self) -> tuple[ServiceKey, ...]:
        """Return the keys.

        Raises:
            ConfigError: There never were some.
        """
        ...

    def write(self, keys: tuple[ServiceKey, ...]) -> None:
        """Put keys in the place of those that were read."""
        ...

    def edit(self, change: Callable[[], None]) -> None:
        """Read and write while nobody else changes them."""
        ...


class FileKeys:
    """The keys in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        """Return the path."""
        return str(self._path)

    def read(self) -> tuple[ServiceKey, ...]:
        """Return the keys, none if there is no file."""
        return read_keys(self._path) if self._path.exists() else ()

    def must_read(self) -> tuple[ServiceKey, ...]:
        """Return the keys."""
        return read_keys(self._path)

    def write(self, keys: tuple[ServiceKey, ...]) -> None:
        """Put keys in the place of those that were read."""
        _check_count(keys, str(self))
        try:
            write_keys(self._path, keys)
        except OSError as error:
            raise ConfigError(f"{self._path} cannot be written: {error.strerror}") from None

    def edit(self, change: Callable[[], None]) -> None:
        """Change the keys under the lock of their file."""
        with editing(self._path):
            change()


class JournalKeys:
    """The keys beside a journal on a server.

    Args:
        address: Of the journal.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._revision = MISSING

    def __str__(self) -> str:
        """Return the address without the password."""
        return without_password(self._address)

    def read(self) -> tuple[ServiceKey, ...]:
        """Return the keys, none if there never were some."""
        document = self._ask(lambda store: store.get(FILE_NAME))
        self._revision = MISSING if document is None else document.revision
        return () if document is None else decode_keys(document.body, f"{FILE_NAME} at {self}")

    def must_read(self) -> tuple[ServiceKey, ...]:
        """Return the keys."""
        keys = self.read()
        if self._revision == MISSING:
            raise ConfigError(f"there are no keys at {self}; make one with: evenmatch keys add")
        return keys

    def write(self, keys: tuple[ServiceKey, ...]) -> None:
        """Put keys in the place of those that were read.

        Raises:
            KeysChanged: Somebody else has changed them since.
        """
        _check_count(keys, str(self))
        body, seen = encode_keys(keys), self._revision
        if self._ask(lambda store: store.put(FILE_NAME, body, seen)) is None:
            raise KeysChanged(
                f"the keys at {self} have just been changed by somebody else: try again"
            )

    def edit(self, change: Callable[[], None]) -> None:
        """Change the keys; where somebody else was faster, do it again."""
        for attempt in range(ATTEMPTS):
            try:
                change()
            except KeysChanged:
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                return

    def keep(self, name: str, body: bytes) -> bool:
        """Put a document beside the keys; return whether it was missing."""
        return self._ask(lambda store: store.put(name, body, MISSING)) is not None

    def _ask(self, work: Callable[[Store], Awaitable[_T]]) -> _T:
        async def asked() -> _T:
            store = open_store(self._address)
            try:
                return await work(store)
            finally:
                await store.close()

        with saying_what_to_check(self._address):
            return asyncio.run(asked())


class KeysChanged(JournalUnavailable):
    """Somebody else has changed the keys meanwhile."""


def _check_count(keys: tuple[ServiceKey, ...], place: str) -> None:
    if len(keys) > KEYS_MAX:
        raise ConfigError(f"{place} holds {KEYS_MAX} keys already; start a new file")
