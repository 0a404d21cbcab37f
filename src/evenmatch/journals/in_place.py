"""Whether the files that are written are the ones that a restart would read.

A process keeps writing to files that somebody has removed, renamed or put others in the place of,
and everything seems well until it ends: then all that it had acknowledged since is gone. So the
names are looked at with each batch, before anybody hears that it is stored.
"""

from __future__ import annotations

from pathlib import Path

from evenmatch.errors import JournalUnavailable

PARTS = ("", "-wal", "-shm")
"""Ends of the names of the files that belong together while a journal is open."""


class InPlace:
    """Remembers which files a journal's names stood for; one thread calls it.

    Args:
        path: The journal's file.
    """

    def __init__(self, path: Path) -> None:
        self._paths = [path.with_name(path.name + part) for part in PARTS]
        self._known: dict[Path, tuple[int, int]] = {}

    def check(self) -> None:
        """Look at the names; what was not there before is remembered.

        Raises:
            JournalUnavailable: One of them stands for another file than before, or for none.
        """
        for path in self._paths:
            try:
                found = path.stat()
            except OSError as error:
                if path in self._known:
                    raise _moved(path, error.strerror or str(error)) from None
                continue
            here = found.st_dev, found.st_ino
            if self._known.setdefault(path, here) != here:
                raise _moved(path, "another file is in its place")


def _moved(path: Path, why: str) -> JournalUnavailable:
    return JournalUnavailable(
        f"{path} is not the file any more that this server writes ({why}): what was written there "
        f"would be lost at a restart, so nothing more is acknowledged; put the file back, or stop "
        f"the server and start it on a backup"
    )
