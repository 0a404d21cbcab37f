"""For how long a server did not answer: a client that asks 20 times a second, whatever happens.

A client that waits for an answer before it asks again would see one slow answer where twenty people
would have seen one each. So whatever was due while an answer was awaited counts from when it was
due. How late the client itself was is measured as well: it shares the machine with the server.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence

import msgspec

from tests.bench.report import percentile

EVERY = 0.05
"""Seconds from one question to the next."""
ANSWER_SECONDS = 120.0
"""After so long without an answer the client connects again."""
REQUEST = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
HEAD_END = b"\r\n\r\n"
DUE_MOST = 1_000_000


class Ping(msgspec.Struct, frozen=True):
    """One question: when it was due on the clock of all processes, and what it took, seconds."""

    due: float
    seconds: float
    late: float


class Stalls(msgspec.Struct, frozen=True):
    """What the questions of some time say; seconds.

    Args:
        longest: The longest that somebody would have waited for an answer.
        p99: What 99 of 100 would have waited at the most.
        p50: What half of them would have waited at the most.
        count: Questions.
        own: How late the client was itself, at the most.
        own_p99: How late it was in 99 of 100 cases at the most.
    """

    longest: float
    p99: float
    p50: float
    count: int
    own: float
    own_p99: float


def stalls(pings: Sequence[Ping], begin: float, end: float) -> Stalls:
    """Return what the questions say that were due from one instant to before another one."""
    chosen = [each for each in pings if begin <= each.due < end]
    if not chosen:
        raise RuntimeError("nobody asked the server anything in that time")
    seconds, late = [each.seconds for each in chosen], [each.late for each in chosen]
    return Stalls(
        longest=max(seconds),
        p99=percentile(seconds, 0.99),
        p50=percentile(seconds, 0.5),
        count=len(chosen),
        own=max(late),
        own_p99=percentile(late, 0.99),
    )


class Schedule:
    """What is due when, and what an answer says of all that was due meanwhile.

    Args:
        begin: When the first question is due.
        every: Seconds from one to the next.
    """

    def __init__(self, begin: float, every: float = EVERY) -> None:
        self.due = begin
        self.pings: list[Ping] = []
        self._every = every

    def answered(self, sent: float, now: float) -> None:
        """Note an answer to the question that was due, and to those that came due meanwhile.

        >>> schedule = Schedule(0.0, every=1.0)
        >>> schedule.answered(0.25, 2.5)
        >>> [(each.due, each.seconds, each.late) for each in schedule.pings]
        [(0.0, 2.25, 0.25), (1.0, 1.5, 0.0), (2.0, 0.5, 0.0)]
        >>> schedule.due
        3.0
        """
        # The client's own lateness is not the server's.
        self._note(now - sent, sent - self.due)
        while self.due <= now and len(self.pings) < DUE_MOST:
            self._note(now - self.due, 0.0)

    def until(self, sent: float | None, now: float) -> list[Ping]:
        """Return all questions, with what one that has no answer yet has taken so far."""
        if sent is None:
            return list(self.pings)
        so_far = Schedule(self.due, self._every)
        so_far.answered(sent, now)
        return [*self.pings, *so_far.pings]

    def _note(self, seconds: float, late: float) -> None:
        self.pings.append(Ping(self.due, seconds, late))
        self.due += self._every


class Pinger:
    """Asks from a thread of its own until it is closed.

    Args:
        port: Where the server listens on this machine.
        every: Seconds from one question to the next.
    """

    def __init__(self, port: int, every: float = EVERY) -> None:
        self.lost = 0
        self._sent: float | None = None
        self._port = port
        self._schedule = Schedule(time.monotonic(), every)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def pings(self) -> list[Ping]:
        """Return all questions so far, one that has no answer yet included."""
        return self._schedule.until(self._sent, time.monotonic())

    def __enter__(self) -> Pinger:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join(1.0)

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self._port), 5.0) as line:
                    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    line.settimeout(ANSWER_SECONDS)
                    self._ask(line)
            except OSError:
                self.lost += 1
                self._over.wait(0.5)

    def _ask(self, line: socket.socket) -> None:
        schedule = self._schedule
        while not self._over.is_set():
            if (delay := schedule.due - time.monotonic()) > 0.0:
                time.sleep(delay)
            self._sent = sent = time.monotonic()
            try:
                line.sendall(REQUEST)
                _read(line.recv)
            finally:
                # A question without an answer took at least so long.
                self._sent = None
                schedule.answered(sent, time.monotonic())


def _read(receive: Callable[[int], bytes]) -> None:
    """Read one answer.

    Raises:
        ConnectionError: The server closed the connection, or said anything but 200.
    """
    data = b""
    while (head := data.find(HEAD_END)) < 0 or len(data) < head + 4 + _length(data[:head]):
        more = receive(4096)
        if not more:
            raise ConnectionError("the server closed a connection")
        data += more
    if b" 200 " not in data[:16]:
        raise ConnectionError(f"the server said {data[:100]!r}")


def _length(head: bytes) -> int:
    at = head.lower().find(b"content-length: ") + 16
    return int(head[at : head.find(b"\r", at) if b"\r" in head[at:] else len(head)])
