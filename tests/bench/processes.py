"""Processes that the benches start, and what they say."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]


def ask(command: list[str], seconds: float, given: bytes = b"") -> dict[str, float]:
    """Run a command of the repository and return the JSON object that it prints.

    Raises:
        RuntimeError: It failed; the text is what it said on standard error.
    """
    done = subprocess.run(
        command, input=given, capture_output=True, cwd=ROOT, timeout=seconds, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace").strip()[-2000:])
    return msgspec.json.decode(done.stdout, type=dict[str, float])


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process with all its threads, in steps of a clock tick."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    return resident_of(os.getpid())


def resident_of(pid: int) -> int:
    """Return the resident memory of a process, bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
