"""What the disk takes for one small durable write: the floor under every acknowledged record."""

from __future__ import annotations

import os
import time
from pathlib import Path

SIZE = 4096


def sync_seconds(directory: Path, count: int) -> list[float]:
    """Append 4 KB and fdatasync, `count` times; return the seconds of each fdatasync."""
    block, found = os.urandom(SIZE), []
    path = directory / "probe"
    with path.open("wb", buffering=0) as file:
        for _ in range(count):
            file.write(block)
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            found.append(time.perf_counter() - began)
    path.unlink()
    return found
