"""Sets up a process that serves for months: its memory, threads and files."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import suppress

import msgspec

COLLECT_AFTER = (2_000, 5, 5_000)
"""Objects, then passes, after which the collector looks at what is young, older, and old.

Beside a busy search an object costs it half a microsecond: 2,000 are one millisecond.
"""
SWITCH_INTERVAL = 0.0005
"""Seconds for which a thread may keep the interpreter while another one waits for it."""
M_MMAP_THRESHOLD = -3
"""The name of the setting in glibc's `malloc.h`."""
LARGE_BUFFER = 1 << 18
"""Bytes from which a buffer is a mapping of its own."""


def keep_files_private() -> None:
    """Let nobody but this process's own user read what it writes: journals name players."""
    os.umask(0o077)


def raise_file_limit() -> None:
    """Let the process have as many connections as the system allows it."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def calm_collector() -> None:
    """Keep the garbage collector from walking over all tickets repeatedly.

    Tickets form no cycles, so there is little for it to find; a full walk over 100,000 of them
    would stop the server for 0.4 s.
    """
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


def free_frozen() -> None:
    """Free what the collector was kept from and nobody uses any more: a shard that was rebuilt.

    An engine forms cycles, which only the collector finds, and never among what is frozen. Where
    nothing is, there is nothing to do.

    Nothing is frozen again: that would keep for good what somebody still holds at this moment. By
    its thresholds, the collector walks over what is old once in tens of millions of objects; so
    only the first shard that is rebuilt stops the process for this walk.
    """
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()


def load_late_modules() -> None:
    """Load what libraries leave for later, so that no request waits for it.

    numba asks for numpy's masked arrays when a kernel is called for the first time, to see that
    what it was given is none; the import keeps the interpreter from everybody else.
    """
    import numpy.ma  # noqa: F401


def prepare_structs() -> None:
    """Let msgspec learn now, in one thread, of all types that modules have made so far.

    It learns of a type when that is decoded for the first time, and notes what it knows while it
    still learns: a second thread that meets such a note ends the process. So whoever loads modules
    whose types several threads will decode calls this before.

    Complexity:
        About 0.3 ms for each type that is new.
    """
    for kind in dict.fromkeys(_subclasses(msgspec.Struct)):
        # Of other people's types, some cannot be decoded: nobody will.
        with suppress(Exception):
            msgspec.json.Decoder(kind)


def _subclasses(kind: type) -> Iterator[type]:
    each: type
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


def share_interpreter() -> None:
    """Let the event loop have its turn soon where jobs run Python code in other threads.

    With the usual 5 ms, a loop beside two busy threads of Python was seen to wait up to 160 ms,
    with 0.5 ms 14 ms.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)


def return_large_buffers() -> bool:
    """Return the memory of large buffers to the system as soon as they are freed.

    glibc raises its threshold for that with every large buffer that is freed, up to 32 MB; from
    then on the next one grows the heap, which small things that stay keep from shrinking again:
    each snapshot of the tables could leave its size behind. A threshold that is set stays.

    Returns:
        Whether it was set; other C libraries have no such setting.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    return mallopt is not None and bool(mallopt(M_MMAP_THRESHOLD, LARGE_BUFFER))
