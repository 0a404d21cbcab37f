"""A witness beside the SQLite journal: the last acknowledged sequence of each shard.

SQLite takes the first damaged frame of its write-ahead log for the end of the log. So a changed
bit in it, or its loss, takes back acknowledged batches without an error (seen: half of 300
records), and inside the database nothing contradicts that. This file does.

It is written after each commit and not forced to the disk. So it may lag behind the journal, and
is then a weaker witness; it is never ahead of it, and so never accuses an intact journal. An
unreadable witness counts as none.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from zlib import crc32

import msgspec

from evenmatch.errors import JournalUnavailable


class Ends:
    """Notes the ends of shards in a file; one thread calls it.

    Args:
        path: The file; its first line is a checksum and a JSON object.
        known: What the file held.
    """

    def __init__(self, path: Path, known: Mapping[str, int]) -> None:
        self._path = path
        self._ends = dict(known)
        self._file: FileIO | None = None

    def note(self, shard: str, seq: int) -> None:
        """Write down that the records of a shard are stored up to `seq`."""
        self._ends[shard] = seq
        body = msgspec.json.encode(self._ends)
        # The batch is stored already; a witness that lags is no reason to refuse it.
        with suppress(OSError):
            if self._file is None:
                self._path.touch()
                self._file = FileIO(self._path, "r+b")
            self._file.seek(0)
            self._file.write(b"%08x %b\n" % (crc32(body), body))

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._file is not None:
            self._file.close()


def load_ends(path: Path) -> dict[str, int]:
    """Return the last sequence by shard, as far as the witness is there and intact.

    Raises:
        JournalUnavailable: The file may not be read.
    """
    try:
        line = path.read_bytes().partition(b"\n")[0]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise JournalUnavailable(
            f"{path} cannot be read ({error.strerror}): allow this user to read and write it"
        ) from error
    body = line[9:]
    if line[:9] != b"%08x " % crc32(body):
        return {}
    return msgspec.json.decode(body, type=dict[str, int])
