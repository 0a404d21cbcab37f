"""A store for code that cannot await: a thread asks the server, and keeps the last answer.

Keys are judged and notes are taken amid requests, where nobody may wait for a server. So a thread
with an event loop of its own keeps the connection. It looks at a document again and again, and
says what it saw last and when; it takes notes at once and stores them soon.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from itertools import islice, takewhile
from typing import Any, TypeVar

import msgspec

from evenmatch.errors import JournalError, JournalUnavailable
from evenmatch.journals.store import NOTE_BYTES_MAX, Document, Note, Store, StoredNote

LOOK_EVERY = 1.0
"""Seconds between two looks at a watched document, and between two tries to store notes."""
PATIENCE = 20.0
"""Longest wait for an answer, seconds; the store gives up before."""
NOTES_WAITING = 10_000
"""Notes that wait to be stored; beyond, the oldest are lost, and counted."""
NOTES_AT_ONCE = 100
FLUSH_SECONDS = 5.0
"""How long the last notes are waited for at the end."""

_T = TypeVar("_T")


class DocumentObservation(msgspec.Struct, frozen=True):
    """The last known version of a document.

    Args:
        document: None if it was not there.
        at: When, monotonic seconds.
    """

    document: Document | None
    at: float


class StoreThread:
    """A store behind a thread; any thread may call it.

    Args:
        open_store: Returns the store; it is called in the thread.
        look_every: Seconds between two looks at a watched document.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        *,
        look_every: float = LOOK_EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_every = look_every
        self._clock = clock
        self._seen: dict[str, DocumentObservation] = {}
        # Taken by any thread, stored by this one.
        self._lock = threading.Lock()
        self._waiting: deque[tuple[str, Note]] = deque()
        self._lost = 0
        self._trouble: JournalError | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="store", daemon=True)
        self._thread.start()
        self._is_closed = False
        self._store = self._ask(_made(open_store))
        self._tasks: set[asyncio.Task[None]] = set()
        # Looked at by turns of one task: a flood of notes wakes it once.
        self._has_notes = self._ask(_made(asyncio.Event))
        self._begin(self._store_notes())

    # Documents

    def get(self, name: str) -> Document | None:
        """Return a document; it waits for the store.

        Raises:
            JournalError: It does not answer, or the document is damaged.
        """
        return self._ask(self._store.get(name))

    def put(self, name: str, body: bytes, expected: str | None = None) -> str | None:
        """Put a document, as the store does; it waits for the store."""
        return self._ask(self._store.put(name, body, expected))

    def delete(self, name: str) -> None:
        """Forget a document; it waits for the store."""
        self._ask(self._store.delete(name))

    def names(self, prefix: str) -> list[str]:
        """Return the names that begin so; it waits for the store."""
        return self._ask(self._store.names(prefix))

    def watch(self, name: str) -> None:
        """Look at a document from now on; it waits for the first look.

        Raises:
            JournalError: The store does not answer, or the document is damaged.
        """
        self._seen[name] = DocumentObservation(self.get(name), self._clock())
        self._begin(self._watch(name))

    def seen(self, name: str) -> DocumentObservation:
        """Return the last known version of a watched document, without waiting."""
        return self._seen[name]

    def age(self, name: str) -> float:
        """Return the seconds since a watched document was seen."""
        return self._clock() - self._seen[name].at

    # Notes

    def note(self, series: str, body: bytes) -> None:
        """Store a note soon, without waiting."""
        with self._lock:
            if len(body) > NOTE_BYTES_MAX:
                self._lost += 1
                return
            if len(self._waiting) >= NOTES_WAITING:
                self._waiting.popleft()
                self._lost += 1
            self._waiting.append((series, Note(secrets.token_hex(12), body)))
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._has_notes.set)

    def notes(self, after: int | None, most: int) -> list[StoredNote]:
        """Return notes, those among them that were taken just now; it waits for the store.

        Raises:
            JournalError: The store does not answer.
        """

        async def stored() -> list[StoredNote]:
            await self._store_waiting()
            return await self._store.notes(after, most)

        return self._ask(stored())

    @property
    def trouble(self) -> JournalError | None:
        """Return why notes cannot be stored now, None if they can."""
        return self._trouble

    @property
    def lost(self) -> int:
        """Return how many notes were lost."""
        return self._lost

    def close(self) -> None:
        """Store the last notes, if that can be done soon, and end; a second call does nothing."""
        if self._is_closed:
            return
        with suppress(JournalError):
            self._ask(self._end(), FLUSH_SECONDS + PATIENCE)
        self._is_closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(FLUSH_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    # In the thread

    async def _watch(self, name: str) -> None:
        while True:
            await asyncio.sleep(self._look_every)
            with suppress(JournalError):
                document = await self._store.get(name)
                self._seen[name] = DocumentObservation(document, self._clock())

    async def _store_notes(self) -> None:
        while True:
            await self._has_notes.wait()
            self._has_notes.clear()
            try:
                await self._store_waiting()
            except JournalError as error:
                self._trouble = error
                self._has_notes.set()
                await asyncio.sleep(self._look_every)

    async def _store_waiting(self) -> None:
        """Store the notes that wait, in their order.

        Two may do so at once: a note that both add is stored once.
        """
        while batch := self._next_batch():
            await self._store.add(batch[0][0], [note for _, note in batch])
            self._trouble = None
            with self._lock:
                for each in batch:
                    with suppress(ValueError):
                        self._waiting.remove(each)

    def _next_batch(self) -> list[tuple[str, Note]]:
        """Return the first notes that wait, as far as they are of one series."""
        with self._lock:
            first = list(islice(self._waiting, NOTES_AT_ONCE))
        return list(takewhile(lambda each: each[0] == first[0][0], first))

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(JournalError, TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._store_waiting()
        await self._store.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        async def begun() -> None:
            self._tasks.add(asyncio.create_task(work))

        self._ask(begun())

    def _ask(self, work: Coroutine[Any, Any, _T], patience: float = PATIENCE) -> _T:
        if self._is_closed:
            work.close()
            raise JournalUnavailable("the store was closed: open it again")
        future: Future[_T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(patience)
        except TimeoutError:
            future.cancel()
            raise JournalUnavailable(
                f"the documents beside the journal could not be read within {patience:g} s: "
                "try again"
            ) from None


async def _made(make: Callable[[], _T]) -> _T:
    return make()
