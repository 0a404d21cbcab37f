"""Signals that come before the server can do what they ask for wait until it can.

They would end the process, and systemd takes an end by SIGHUP for an orderly one: it would not
start the server again.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

HELD = {
    number for name in ("SIGHUP", "SIGUSR1") if (number := getattr(signal, name, None)) is not None
}
"""Those to read the files again and to drain; none on Windows."""


@contextmanager
def signals_held() -> Iterator[None]:
    """Let the system keep the signals until they are released, or the start has failed.

    What was kept until then would end the process before it could say why the start has failed.
    """
    if not HELD:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        yield
    finally:
        while kept := HELD & signal.sigpending():
            signal.sigwait(kept)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def release_signals() -> None:
    """Let through what came meanwhile, and all that comes from now on."""
    if HELD:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
