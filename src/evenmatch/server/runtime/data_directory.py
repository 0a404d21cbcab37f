"""One data directory, one server: a lock that the system releases however the process ends."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import IO

from evenmatch.errors import JournalUnavailable

try:
    import fcntl
except ImportError:  # Windows: SQLite's own checks stay.
    fcntl = None  # type: ignore[assignment]

from evenmatch.server.runtime.logs import log

LOCK_NAME = "server.lock"
LOOK_EVERY = 0.005
"""Seconds between two looks whether the other server has ended."""


class DataLock:
    """A lock on a data directory; without a directory it does nothing.

    Args:
        directory: The data directory.
        wait: Wait until the server that has the lock ends.
    """

    def __init__(self, directory: Path | None, *, wait: bool = False) -> None:
        self._directory = directory
        self._wait = wait
        self._file: IO[str] | None = None

    def __enter__(self) -> DataLock:
        """Take the lock.

        Raises:
            JournalUnavailable: Another server has it, or the directory cannot be used.
        """
        if self._directory is None or fcntl is None:
            return self
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._file = (self._directory / LOCK_NAME).open("w")
        except OSError as error:
            raise JournalUnavailable(
                f"the data directory {self._directory} cannot be used: {error.strerror}"
            ) from None
        if not self._take(self._file):
            self._file.close()
            raise JournalUnavailable(
                f"another server runs on {self._directory}: stop it, or name another --data"
            ) from None
        return self

    def _take(self, file: IO[str]) -> bool:
        """Return whether the lock could be taken."""
        is_told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if not self._wait:
                    return False
            else:
                return True
            if not is_told:
                is_told = True
                log.info("waiting_for_the_other_server", data=str(self._directory))
            time.sleep(LOOK_EVERY)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()
