"""`check_store`: prove that an adapter of the store beside a journal keeps its promises.

Each check is one promise, in one function, on a store of its own. A broken promise raises
AssertionError, whose message starts with the promise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from evenmatch.errors import ConfigError, JournalCorrupt, JournalError, JournalUnavailable
from evenmatch.journals.store import MISSING, MemoryStore, Note, Store
from evenmatch.testing.journals import Made, flip_bit, made_of

Reopen = Callable[[Store], Made[Store]]
Harm = Callable[[Store, str], Made[None]]

LARGE = 2_500_000
"""Bytes of a document that is larger than a message or a page of most storage."""
RIVALS = 8


async def check_store(
    make: Callable[[], Made[Store]],
    *,
    reopen: Reopen | None = None,
    damage: Harm | None = None,
) -> None:
    """Raise AssertionError with a sentence unless the adapter keeps every promise of the port.

    Args:
        make: Returns a new, empty store; it is called once for each promise, and the store is
            closed afterwards.
        reopen: Closes the store and returns another one on the same storage. Without it, what
            survives a restart is not checked.
        damage: Changes a bit of the document of a name behind the store's back. Without it, the
            detection of damage is not checked.

    Raises:
        AssertionError: A promise is broken; the message starts with the promise.

    Example:
        >>> import asyncio
        >>> from evenmatch.journals.store import MemoryStore
        >>> asyncio.run(check_store(MemoryStore))
    """
    for promise, check in PROMISES.items():
        bench = StoreUnderTest(promise, await made_of(make()), reopen, damage)
        try:
            await check(bench)
        except JournalError as error:
            raise AssertionError(f"{promise}: got {type(error).__name__}: {error}") from error
        finally:
            await bench.store.close()


def damage_memory_store(store: Store, name: str) -> None:
    """Harm what a `MemoryStore` holds: its `damage` for `check_store`, and an example."""
    assert isinstance(store, MemoryStore)
    revision, crc, body = store.shelf.documents[name]
    store.shelf.documents[name] = (revision, crc, flip_bit(body, 4 * len(body)))


class StoreUnderTest:
    """A store and what its checks share.

    Args:
        promise: What is checked.
        store: The store.
        reopen: As given to `check_store`.
        damage: As given to `check_store`.
    """

    def __init__(
        self, promise: str, store: Store, reopen: Reopen | None, damage: Harm | None
    ) -> None:
        self.promise = promise
        self.store = store
        self._reopen = reopen
        self._damage = damage

    async def again(self) -> bool:
        """Close and open the store, where that can be done."""
        if self._reopen is not None:
            self.store = await made_of(self._reopen(self.store))
        return self._reopen is not None

    async def harm(self, name: str) -> bool:
        """Damage a document, where that can be done."""
        if self._damage is not None:
            await made_of(self._damage(self.store, name))
        return self._damage is not None

    def check(self, is_kept: bool, what: str) -> None:
        """Raise unless the promise is kept."""
        if not is_kept:
            raise AssertionError(f"{self.promise}: {what}")

    async def body(self, name: str) -> bytes | None:
        """Return what a document holds, None if it is not there."""
        document = await self.store.get(name)
        return None if document is None else document.body

    async def numbers(self, after: int | None, most: int) -> list[tuple[int, bytes]]:
        """Return notes as pairs."""
        return [(each.number, each.body) for each in await self.store.notes(after, most)]


def notes_of(*bodies: str) -> list[Note]:
    """Return notes whose ids are their bodies."""
    return [Note(each, each.encode()) for each in bodies]


async def _returns_what_was_put(bench: StoreUnderTest) -> None:
    store = bench.store
    bench.check(await store.get("keys.json") is None, "there is a document that nobody put")
    for name, body in (("keys.json", b"{}\n\0\xff"), ("config/7.json", b""), ("a", b"x" * LARGE)):
        revision = await store.put(name, body)
        document = await store.get(name)
        bench.check(document is not None and document.body == body, f"{name} comes back changed")
        bench.check(
            document is not None and document.revision == revision, f"{name} has another revision"
        )
    await store.put("a", b"y" * (LARGE + 1))
    bench.check(await bench.body("a") == b"y" * (LARGE + 1), "a replaced document comes back")
    bench.check(await bench.body("keys.json") == b"{}\n\0\xff", "another document was changed")


async def _replaces_the_expected_only(bench: StoreUnderTest) -> None:
    store = bench.store
    one = await store.put("a", b"1", MISSING)
    bench.check(one is not None, "a document that is missing is not made")
    bench.check(await store.put("a", b"2", MISSING) is None, "it is replaced as if it were missing")
    two = await store.put("a", b"3", one)
    bench.check(two is not None and two != one, "the revision stays the same")
    bench.check(await store.put("a", b"4", one) is None, "an older revision is replaced")
    bench.check(await bench.body("a") == b"3", "a refused put has changed the document")
    bench.check(await store.put("b", b"5", two) is None, "a missing document has a revision")
    # The same bytes are another revision all the same: somebody has put them.
    three = await store.put("a", b"3")
    bench.check(three not in (None, two), "the same bytes keep their revision")


async def _lets_one_of_many_win(bench: StoreUnderTest) -> None:
    store, seen = bench.store, await bench.store.put("a", b"0")
    found = await asyncio.gather(*(store.put("a", b"%d" % at, seen) for at in range(RIVALS)))
    winners = [at for at, revision in enumerate(found) if revision is not None]
    bench.check(len(winners) == 1, f"{len(winners)} of {RIVALS} have replaced the same revision")
    bench.check(await bench.body("a") == b"%d" % winners[0], "another one's bytes are stored")


async def _forgets(bench: StoreUnderTest) -> None:
    store = bench.store
    old = await store.put("a", b"x" * LARGE)
    await store.put("ab", b"2")
    await store.delete("a")
    await store.delete("never")
    bench.check(await bench.body("a") is None, "a deleted document is there")
    bench.check(await bench.body("ab") == b"2", "another one went with it")
    bench.check(await store.put("a", b"3", old) is None, "the revision of a deleted one counts")
    new = await store.put("a", b"3", MISSING)
    bench.check(new not in (None, old), "a deleted document cannot be made anew")


async def _lists_names(bench: StoreUnderTest) -> None:
    store = bench.store
    for name in ("config/10.json", "config/9.json", "keys.json", "config-x"):
        await store.put(name, b"1")
    found = await store.names("config/")
    bench.check(found == ["config/10.json", "config/9.json"], f"got {found}")
    bench.check(len(await store.names()) == 4, "not all are named without a prefix")
    for bad in ("", "a b", "../a", "a//b", "x" * 101, "a\n"):
        try:
            await store.put(bad, b"1")
        except ConfigError:
            continue
        bench.check(False, f"a document may be called {bad!r}")


async def _numbers_notes(bench: StoreUnderTest) -> None:
    store = bench.store
    bench.check(await bench.numbers(None, 10) == [], "there are notes that nobody added")
    bench.check(await bench.numbers(0, 10) == [], "there are notes that nobody added")
    await store.add("audit", notes_of("1", "2"))
    await store.add("audit-often", notes_of("3"))
    await store.add("audit", notes_of("4", "5"))
    every = await bench.numbers(0, 10)
    bench.check([body for _, body in every] == [b"1", b"2", b"3", b"4", b"5"], f"got {every}")
    numbers = [number for number, _ in every]
    bench.check(numbers == sorted(set(numbers)) and numbers[0] > 0, f"numbers are {numbers}")
    bench.check(await bench.numbers(numbers[1], 2) == every[2:4], "a page goes on elsewhere")
    bench.check(await bench.numbers(None, 2) == every[-2:], "the last ones are others")
    bench.check(await bench.numbers(None, 10) == every, "the last ones are not all")
    bench.check(await bench.numbers(numbers[-1], 2) == [], "there is one after the last")


async def _adds_a_note_once(bench: StoreUnderTest) -> None:
    await bench.store.add("audit", notes_of("1", "2"))
    await bench.store.add("audit", notes_of("2", "3"))
    found = [body for _, body in await bench.numbers(None, 10)]
    bench.check(found == [b"1", b"2", b"3"], f"got {found}")


async def _survives(bench: StoreUnderTest) -> None:
    one = await bench.store.put("a", b"1")
    await bench.store.add("audit", notes_of("1"))
    before = await bench.numbers(None, 10)
    if not await bench.again():
        return
    bench.check(await bench.body("a") == b"1", "a document is lost")
    bench.check(await bench.store.put("a", b"2", one) is not None, "its revision is lost")
    bench.check(await bench.numbers(None, 10) == before, "notes are lost")
    await bench.store.add("audit", notes_of("2"))
    after = await bench.numbers(before[-1][0], 10)
    bench.check([body for _, body in after] == [b"2"], "numbers begin anew")


async def _finds_damage(bench: StoreUnderTest) -> None:
    await bench.store.put("a", b"a document")
    await bench.store.put("b", b"another one")
    if not await bench.harm("a"):
        return
    try:
        document = await bench.store.get("a")
    except JournalCorrupt:
        document = None
    else:
        bench.check(False, f"a changed document comes back as {document}")
    bench.check(await bench.body("b") == b"another one", "damage of one keeps others away")
    await bench.store.put("a", b"restored")
    bench.check(await bench.body("a") == b"restored", "a damaged document cannot be replaced")


async def _refuses_when_closed(bench: StoreUnderTest) -> None:
    await bench.store.close()
    for asked in (
        bench.store.get("a"),
        bench.store.put("a", b"1"),
        bench.store.add("audit", notes_of("1")),
    ):
        try:
            await asked
        except JournalUnavailable:
            continue
        bench.check(False, "a closed store does something")


PROMISES: dict[str, Callable[[StoreUnderTest], Awaitable[None]]] = {
    "a document comes back as it was put": _returns_what_was_put,
    "only the expected revision is replaced": _replaces_the_expected_only,
    "of many who replace a revision one does": _lets_one_of_many_win,
    "what is deleted is gone": _forgets,
    "names are listed": _lists_names,
    "notes are numbered in their order": _numbers_notes,
    "a note that is added again is stored once": _adds_a_note_once,
    "what is stored survives a restart": _survives,
    "damage is found": _finds_damage,
    "a closed store refuses": _refuses_when_closed,
}
"""The checks by the promise that each tries to break."""
