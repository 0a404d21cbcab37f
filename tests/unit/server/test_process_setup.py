"""How a process is set up that serves for months."""

import asyncio
import gc
import subprocess
import sys
import weakref

import pytest

from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.queue import Queue
from evenmatch.server.runtime import runtime as runtime_module
from evenmatch.server.runtime.process_setup import calm_collector
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from tests.waiting import until

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

DECODE_IN_THREADS = """
import sys, threading, time
import msgspec
from evenmatch.engine.records import FORMAT
from evenmatch.engine.state.snapshot import Snapshot, Tables, decode_snapshot, encode_snapshot
from evenmatch.server.runtime.process_setup import prepare_structs

snapshot = encode_snapshot(Snapshot(FORMAT, "s0", Tables(), {}))

class Copied(Tables):
    pass

class Another(msgspec.Struct):
    tables: Copied

other = msgspec.json.encode(Another(Copied()))
prepare_structs()
sys.setswitchinterval(1e-6)
failures = []
barrier = threading.Barrier(6)

def decode(number):
    barrier.wait()
    time.sleep(number * 0.0005)
    try:
        decode_snapshot(snapshot)
        msgspec.json.decode(other, type=Another)
    except BaseException as error:
        failures.append(error)

threads = [threading.Thread(target=decode, args=(number,)) for number in range(6)]
for each in threads:
    each.start()
for each in threads:
    each.join()
assert not failures, failures
"""
TRIES = 6
"""Of processes that learn types in several threads, about half end by a signal."""


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


def test_types_are_learnt_before_several_threads_decode_them() -> None:
    for _ in range(TRIES):
        done = subprocess.run([sys.executable, "-c", DECODE_IN_THREADS], capture_output=True)
        assert done.returncode == 0, done.stderr.decode()


def test_snapshots_can_be_decoded_in_threads_without_preparation() -> None:
    code = DECODE_IN_THREADS.replace("prepare_structs()", "")
    code = code.replace("msgspec.json.decode(other, type=Another)", "pass")
    for _ in range(TRIES):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True)
        assert done.returncode == 0, done.stderr.decode()


def test_shard_that_is_rebuilt_is_freed_although_the_collector_was_kept_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtime_module, "REBUILD_PAUSES", (0.01,))
    before = gc.get_threshold()

    async def main() -> None:
        runtime = Runtime(ShardPlan((Queue("duel", policy="greedy"),)), MemoryJournal())
        await runtime.start()
        calm_collector()
        engine = weakref.ref(runtime.engine)
        runtime.give_up_shard(ZeroDivisionError())
        await until(lambda: runtime.unready is None)
        assert engine() is None
        # Of the next one, somebody holds a part for a moment longer.
        held, engine = runtime.engine, weakref.ref(runtime.engine)
        runtime.give_up_shard(ZeroDivisionError())
        await until(lambda: runtime.unready is None)
        del held
        gc.collect()
        assert engine() is None
        await runtime.stop()

    try:
        asyncio.run(main())
    finally:
        gc.freeze()
        gc.set_threshold(*before)
