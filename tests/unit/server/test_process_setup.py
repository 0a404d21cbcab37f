"""How a process is set up that serves for months."""

import subprocess
import sys

import pytest

GROW = """
from pathlib import Path
from evenmatch.server.runtime.process_setup import return_large_buffers

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

if {is_set}:
    assert return_large_buffers()
before = resident()
large = b"x" * 30_000_000
del large  # glibc takes buffers of this size from the heap from now on, unless told otherwise
snapshot = [b"x" * 4_000_000 for _ in range(10)]
stays = b"x" * 5_000
del snapshot
print(resident() - before)
"""


def grown(*, is_set: bool) -> float:
    """Return the megabytes by which a process has grown after 40 MB of buffers are gone."""
    done = subprocess.run(
        [sys.executable, "-c", GROW.format(is_set=is_set)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="how Linux counts memory, and glibc")
def test_memory_of_large_buffers_goes_back_to_the_system() -> None:
    if grown(is_set=False) < 30.0:
        pytest.skip("NOT TESTED: this C library gives memory back by itself")

    assert grown(is_set=True) < 5.0
