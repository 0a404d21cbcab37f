"""`check_journal`: prove that a journal adapter keeps the promises of the port.

Each check is one promise, in one function, on a journal of its own. A broken promise raises
AssertionError, whose message starts with the promise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import Literal, ParamSpec, TypeAlias, TypeVar

import msgspec

from evenmatch.engine.records import Record
from evenmatch.errors import JournalCorrupt, JournalError, SequenceGap, StaleOwner
from evenmatch.journals.base import Entry, Journal, Segment
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.events import Accepted, Configured, Event, Matched
from evenmatch.model.inputs import Advance, Configure, Enqueue, Input
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player, Rating

_P = ParamSpec("_P")
_T = TypeVar("_T")
Made: TypeAlias = _T | Awaitable[_T]
"""A value, or what gives it when it is awaited: hooks may be plain or async functions."""


async def check_journal(
    make: Callable[[], Made[Journal]],
    *,
    reopen: Callable[[Journal], Made[Journal]] | None = None,
    damage: Callable[[Journal, str, Damage, int], Made[None]] | None = None,
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Raise AssertionError with a sentence unless the adapter keeps every promise of the port.

    Args:
        make: Returns a new, empty journal; it is called once for each promise, and the journal
            is closed afterwards.
        reopen: Closes the journal, or kills it, and returns another one on the same storage.
            Without it, what survives a restart is not checked.
        damage: Harms stored bytes behind the journal's back; see `Damage`. Without it, the
            detection of damage is not checked.
        wait: Lets this many seconds pass for the leases; `asyncio.sleep` unless the journals
            run on a clock of yours. The longest wait is well below a second.

    Raises:
        AssertionError: A promise is broken; the message starts with the promise.

    Example:
        >>> import asyncio
        >>> from evenmatch.journals.memory import MemoryJournal
        >>> asyncio.run(check_journal(MemoryJournal))
    """
    for promise, check in PROMISES.items():
        journal = await made_of(make())
        bench = JournalUnderTest(
            promise, journal, reopen=_awaited(reopen), harm=_awaited(damage), wait=wait
        )
        try:
            await check(bench)
        except JournalError as error:
            raise AssertionError(f"{promise}: got {type(error).__name__}: {error}") from error
        finally:
            await bench.journal.close()


def damage_memory(journal: Journal, shard: str, how: Damage, seq: int) -> None:
    """Harm what a `MemoryJournal` stores: its `damage` for `check_journal`, and an example."""
    assert isinstance(journal, MemoryJournal)
    shelf = journal.shelves[shard]
    rows = shelf.snapshots if how == "snapshot" else shelf.rows
    at = next(index for index, row in enumerate(rows) if row.sequence == seq)
    body = rows[at].body
    if how == "cut":
        del rows[at:]
    elif how == "drop":
        del rows[at]
    elif how == "swap":
        a, b = rows[at], rows[at + 1]
        rows[at] = msgspec.structs.replace(b, sequence=a.sequence)
        rows[at + 1] = msgspec.structs.replace(a, sequence=b.sequence)
    else:
        harmed = body[: len(body) // 2] if how == "tear" else flip_bit(body, 4 * len(body))
        rows[at] = msgspec.structs.replace(rows[at], body=harmed)


def flip_bit(body: bytes, bit: int) -> bytes:
    """Return the bytes with one bit changed.

    >>> flip_bit(b"a", 1)
    b'c'
    """
    changed = bytearray(body)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def _awaited(hook: Callable[_P, Made[_T]] | None) -> Callable[_P, Awaitable[_T]] | None:
    """Return the hook as an async function."""
    if hook is None:
        return None

    async def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await made_of(hook(*args, **kwargs))

    return call


async def made_of(value: Made[_T]) -> _T:
    """Return a value, or what is to be awaited for it."""
    return await value if isawaitable(value) else value


# The promises of the journal port, each a function that tries to break it.
#
# `evenmatch.testing.journals` runs them; what they share is in `JournalUnderTest`.

Damage = Literal["flip", "tear", "drop", "swap", "cut", "snapshot"]
"""What can happen to stored bytes: one bit of record n changes; the body of record n keeps its
first half; record n is lost; records n and n + 1 change places, checksums and all; record n and
all after it are lost; one bit of the snapshot after record n changes."""

Reopen: TypeAlias = Callable[[Journal], Awaitable[Journal]]
Harm: TypeAlias = Callable[[Journal, str, Damage, int], Awaitable[None]]
Wait: TypeAlias = Callable[[float], Awaitable[None]]

HOUR = 3600.0
SHORT_TTL = 0.05


def sample_records(first: int, count: int) -> list[Record]:
    """Return records numbered from `first`, with every kind of value that must survive storage."""
    return [_sample(sequence) for sequence in range(first, first + count)]


def _sample(sequence: int) -> Record:
    now, ticket = sequence + 2.0**-20, f"main-{sequence}"
    cases: tuple[tuple[Input, tuple[Event, ...]], ...] = (
        (Configure(now, (Queue("duel"),), seed=2**53), (Configured(),)),
        (Enqueue(now, (_party(sequence),), key="key"), (Accepted(0, ticket, sequence),)),
        (Advance(now), (Matched(_match(ticket, now)),)),
    )
    return Record(sequence, *cases[sequence % len(cases)])


def _party(sequence: int) -> NewTicket:
    player = Player(
        f"Zoë\n'\"\\ {sequence}",
        Rating(0.1 + 0.2, 5e-324),
        {"region": {"eu": 1e300, "us": -0.0}, "modes": ("a", "b"), "role": ""},
    )
    return NewTicket((player,), ("duel",), {"party": float(sequence)})


def _match(ticket: str, now: float) -> Match:
    return Match("m", "duel", now, (ticket,), ((ticket,),), (("Zoë",),), bots=1, cost=1 / 3)


class JournalUnderTest:
    """A journal under test, the promise that is at stake, and the steps that checks share."""

    def __init__(
        self,
        promise: str,
        journal: Journal,
        *,
        reopen: Reopen | None,
        harm: Harm | None,
        wait: Wait,
    ) -> None:
        self.promise = promise
        self.journal = journal
        self.wait = wait
        self.harm = harm
        self.shard = "main"
        self.epoch = 0
        self._reopen = reopen

    def expect(self, kept: bool, detail: str) -> None:
        """Raise the broken promise unless it is kept."""
        if not kept:
            raise AssertionError(f"{self.promise}: {detail}")

    async def reopen(self) -> None:
        """Go on with a new journal on the same storage, if the caller can make one."""
        if self._reopen is not None:
            self.journal = await self._reopen(self.journal)

    async def own(self) -> None:
        """Take the lease of the shard as owner `one`."""
        self.epoch = await self.journal.lease(self.shard, "one", HOUR)

    async def append(self, first: int, records: Sequence[Record]) -> int:
        """Append as the owner that `own` made."""
        return await self.journal.append(self.shard, "one", self.epoch, first, records)

    async def stored(self, first: int = 1) -> list[Entry]:
        """Return all that is read from `first` on."""
        return [entry async for entry in self.journal.read(self.shard, first)]

    async def expect_stored(self, records: Sequence[Record], first: int = 1) -> None:
        """Expect to read exactly these records."""
        found = [entry.record for entry in await self.stored(first)]
        expected, got = _sequences(records), _sequences(found)
        self.expect(got == expected, f"expected records {expected}, read {got}")
        wrong = _sequences([a for a, b in zip(records, found, strict=True) if a != b])
        self.expect(not wrong, f"records {wrong} came back changed")

    async def expect_refused(self, kind: type[JournalError], attempt: Awaitable[object]) -> None:
        """Expect this error, and that the journal still ends where it did."""
        before = await self.journal.last(self.shard)
        try:
            await attempt
        except kind:
            pass
        except JournalError as error:
            self.expect(False, f"expected {kind.__name__}, got {type(error).__name__}: {error}")
        else:
            self.expect(False, f"expected {kind.__name__}, and it was accepted")
        after = await self.journal.last(self.shard)
        self.expect(after == before, f"a refused append moved the end from {before} to {after}")

    async def expect_corrupt(self, what: str) -> None:
        """Expect that reading detects the damage that was just done."""
        try:
            entries = await self.stored()
        except JournalCorrupt:
            return
        got = _sequences([entry.record for entry in entries])
        self.expect(False, f"{what}, and records {got} were read without JournalCorrupt")


_Check: TypeAlias = Callable[[JournalUnderTest], Awaitable[None]]
PROMISES: dict[str, _Check] = {}
"""Sentence -> the function that tries to break it, in the order in which they are tried."""


def _promise(sentence: str) -> Callable[[_Check], _Check]:
    def keep(check: _Check) -> _Check:
        PROMISES[sentence] = check
        return check

    return keep


@_promise("appended records are read back equal and in order, also after reopening")
async def _reads_back(bench: JournalUnderTest) -> None:
    await bench.own()
    records = sample_records(1, 7)
    for first, last in ((1, 1), (2, 6), (7, 7)):
        acknowledged = await bench.append(first, records[first - 1 : last])
        bench.expect(acknowledged == last, f"the last sequence is {last}, got {acknowledged}")
        await bench.expect_stored(records[:last])
    await bench.expect_stored(records[3:], first=4)
    await bench.expect_stored([], first=8)
    end = await bench.journal.last(bench.shard)
    walls = [entry.wall for entry in await bench.stored()]
    bench.expect(end == (7, walls[-1]), f"last() must be (7, {walls[-1]}), got {end}")
    bench.expect(len(set(walls[1:6])) == 1, f"a batch has one wall time, got {walls[1:6]}")
    await bench.reopen()
    await bench.expect_stored(records)
    again = await bench.journal.last(bench.shard)
    bench.expect(again == end, f"last() was {end} before reopening and is {again} after it")


@_promise("a new shard is empty")
async def _starts_empty(bench: JournalUnderTest) -> None:
    await bench.expect_stored([])
    end = await bench.journal.last(bench.shard)
    bench.expect(end == (0, 0.0), f"last() must be (0, 0.0), got {end}")
    bench.expect(await bench.journal.latest_snapshot(bench.shard) is None, "it has a snapshot")
    bench.expect(await bench.journal.segments(bench.shard) == [], "it has segments")


@_promise("shards do not see each other's records")
async def _separates_shards(bench: JournalUnderTest) -> None:
    await bench.own()
    other = await bench.journal.lease("main-2", "two", HOUR)
    await bench.append(1, sample_records(1, 3))
    await bench.journal.append("main-2", "two", other, 1, sample_records(1, 1))
    await bench.append(4, sample_records(4, 1))
    await bench.expect_stored(sample_records(1, 4))
    end = (await bench.journal.last("main-2"))[0]
    bench.expect(end == 1, f"the second shard ends at 1, got {end}")
    names = await bench.journal.shards()
    bench.expect({bench.shard, "main-2"} <= set(names), f"shards() must name both, got {names}")


@_promise("a record is stored as it was when it was appended")
async def _stores_bytes(bench: JournalUnderTest) -> None:
    await bench.own()
    facts: dict[str, object] = {"party": 1.0}
    ticket = NewTicket((Player("a"),), (), facts)  # type: ignore[arg-type]
    await bench.append(1, [Record(1, Enqueue(0.0, (ticket,)), ())])
    before = [entry.record for entry in await bench.stored()]
    facts["party"] = 2.0
    after = [entry.record for entry in await bench.stored()]
    bench.expect(before == after, "changing an object afterwards changed the journal")


@_promise("an append is atomic")
async def _is_atomic(bench: JournalUnderTest) -> None:
    await bench.own()
    whole = sample_records(1, 50)
    broken = Record(51, Advance(object()), ())  # type: ignore[arg-type]
    accepted = True
    try:
        await bench.append(1, [*whole, broken])
    except (TypeError, ValueError, JournalError):
        accepted = False
    bench.expect(not accepted, "a batch with a record that cannot be encoded was accepted")
    await bench.expect_stored([])
    appending = asyncio.ensure_future(bench.append(1, whole))
    seen = {len(await bench.stored())}
    while not appending.done():
        seen.add(len(await bench.stored()))
        await asyncio.sleep(0)
    await appending
    bench.expect(seen <= {0, 50}, f"a part of a batch was read: {sorted(seen)} of 50 records")
    await bench.expect_stored(whole)


@_promise("an append by anyone but the present owner is refused with StaleOwner")
async def _fences_owners(bench: JournalUnderTest) -> None:
    records, append = sample_records(1, 1), bench.journal.append
    await bench.expect_refused(StaleOwner, append(bench.shard, "one", 1, 1, records))
    await bench.own()
    await bench.expect_refused(StaleOwner, append(bench.shard, "two", bench.epoch, 1, records))
    await bench.expect_stored([])


@_promise("an append in an epoch that is over, or not yet begun, is refused with StaleOwner")
async def _fences_epochs(bench: JournalUnderTest) -> None:
    old = await bench.journal.lease(bench.shard, "one", SHORT_TTL)
    await bench.wait(2 * SHORT_TTL)
    await bench.journal.lease(bench.shard, "two", SHORT_TTL)
    await bench.wait(2 * SHORT_TTL)
    await bench.own()
    records, append = sample_records(1, 1), bench.journal.append
    for epoch in (old, bench.epoch - 1, bench.epoch + 1):
        await bench.expect_refused(StaleOwner, append(bench.shard, "one", epoch, 1, records))
    await bench.append(1, records)
    await bench.expect_stored(records)


@_promise("a batch that leaves a gap or overlaps is refused with SequenceGap")
async def _refuses_gaps(bench: JournalUnderTest) -> None:
    await bench.own()
    await bench.expect_refused(SequenceGap, bench.append(2, sample_records(2, 1)))
    await bench.append(1, sample_records(1, 3))
    for first in (5, 3, 1, 0):
        await bench.expect_refused(SequenceGap, bench.append(first, sample_records(first, 2)))
    await bench.reopen()
    await bench.expect_refused(SequenceGap, bench.append(5, sample_records(5, 1)))
    await bench.expect_stored(sample_records(1, 3))


@_promise("a batch that is not numbered consecutively is refused with SequenceGap")
async def _refuses_disorder(bench: JournalUnderTest) -> None:
    await bench.own()
    a, b, c = sample_records(1, 3)
    for batch in ([a, c, b], [c, b, a], [a, a], [a, c], [b, c]):
        await bench.expect_refused(SequenceGap, bench.append(1, batch))
    await bench.expect_stored([])


@_promise("of two appends that race for a sequence, exactly one is stored")
async def _serialises(bench: JournalUnderTest) -> None:
    await bench.own()
    batches = [sample_records(1, 2), sample_records(1, 3)]
    results = await asyncio.gather(
        *(bench.append(1, batch) for batch in batches), return_exceptions=True
    )
    refused = [isinstance(result, SequenceGap) for result in results]
    bench.expect(sum(refused) == 1, f"the two appends gave {results}")
    await bench.expect_stored(batches[refused.index(False)])


@_promise("a damaged, torn, lost or misplaced record is detected, never returned")
async def _detects_damage(bench: JournalUnderTest) -> None:
    if bench.harm is None:
        return
    harms: dict[Damage, str] = {
        "tear": "record 3 was torn",
        "flip": "a bit of record 3 was changed",
        "drop": "record 3 was lost",
        "swap": "records 3 and 4 changed places",
        "cut": "the tail from record 3 on was cut off",
    }
    for how, what in harms.items():
        bench.shard = how
        await bench.own()
        await bench.append(1, sample_records(1, 3))
        await bench.append(4, sample_records(4, 3))
        await bench.harm(bench.journal, how, how, 3)
        await bench.expect_corrupt(what)
    await bench.reopen()
    for how, what in harms.items():
        bench.shard = how
        await bench.expect_corrupt(what)


@_promise("reading beyond the end is detected as a lost tail")
async def _knows_its_end(bench: JournalUnderTest) -> None:
    await bench.own()
    await bench.append(1, sample_records(1, 3))
    try:
        await bench.stored(first=5)
    except JournalCorrupt:
        return
    bench.expect(False, "records up to 4 were acknowledged, 3 are stored, and nothing was raised")


@_promise("the newest intact snapshot is returned")
async def _keeps_snapshots(bench: JournalUnderTest) -> None:
    await bench.own()
    await bench.append(1, sample_records(1, 6))
    states = {2: b"old", 4: bytes(range(256)) * 300, 6: b"new \x00\xff"}
    for seq, state in states.items():
        await bench.journal.snapshot(bench.shard, seq, state)
        await _expect_snapshot(bench, seq, state)
    await bench.reopen()
    await _expect_snapshot(bench, 6, states[6])
    if bench.harm is not None:
        await bench.harm(bench.journal, bench.shard, "snapshot", 6)
        await _expect_snapshot(bench, 4, states[4])
    await bench.journal.snapshot(bench.shard, 6, b"again")
    await _expect_snapshot(bench, 6, b"again")


async def _expect_snapshot(bench: JournalUnderTest, seq: int, state: bytes) -> None:
    snapshot = await bench.journal.latest_snapshot(bench.shard)
    got = None if snapshot is None else snapshot.sequence
    bench.expect(got == seq, f"expected the snapshot after record {seq}, got {got}")
    bench.expect(
        snapshot is not None and snapshot.state == state, f"snapshot {seq} came back changed"
    )


@_promise("a snapshot of records that are not stored is refused with SequenceGap")
async def _refuses_snapshots(bench: JournalUnderTest) -> None:
    await bench.own()
    await bench.append(1, sample_records(1, 2))
    await bench.expect_refused(SequenceGap, bench.journal.snapshot(bench.shard, 3, b"ahead"))
    snapshot = await bench.journal.latest_snapshot(bench.shard)
    bench.expect(snapshot is None, "the refused snapshot was stored")


@_promise("segments are kept in order")
async def _keeps_segments(bench: JournalUnderTest) -> None:
    await bench.own()
    expected = [Segment(first, 1, "0.1", {"duel": f"greedy-{first}"}, 0.5) for first in (1, 4, 11)]
    for segment in expected:
        await bench.journal.begin(bench.shard, segment)
    await bench.reopen()
    segments = await bench.journal.segments(bench.shard)
    bench.expect(segments == expected, f"expected {expected}, got {segments}")


@_promise("a segment takes the place of one that begins at the same record, and lowers no format")
async def _raises_formats(bench: JournalUnderTest) -> None:
    await bench.own()
    for number in (2, 1):
        await bench.journal.begin(bench.shard, Segment(4, number, f"0.{number}", {}, 0.5))
    await bench.reopen()
    segments = await bench.journal.segments(bench.shard)
    expected = [Segment(4, 2, "0.1", {}, 0.5)]
    bench.expect(segments == expected, f"expected {expected}, got {segments}")


@_promise("a lease is renewed by its owner and refused to others until its time is over")
async def _leases(bench: JournalUnderTest) -> None:
    lease, shard = bench.journal.lease, bench.shard
    first = await lease(shard, "one", SHORT_TTL)
    renewed = await lease(shard, "one", HOUR)
    bench.expect(renewed == first, f"a renewal keeps epoch {first}, got {renewed}")
    await bench.wait(2 * SHORT_TTL)
    await bench.expect_refused(StaleOwner, lease(shard, "two", HOUR))
    await bench.reopen()
    lease = bench.journal.lease
    await bench.expect_refused(StaleOwner, lease(shard, "two", HOUR))
    again = await lease(shard, "one", SHORT_TTL)
    bench.expect(again == first, f"a renewal after reopening keeps epoch {first}, got {again}")
    await bench.wait(2 * SHORT_TTL)
    taken = await lease(shard, "two", HOUR)
    bench.expect(taken == first + 1, f"a takeover gets epoch {first + 1}, got {taken}")
    await bench.expect_refused(StaleOwner, lease(shard, "one", HOUR))


@_promise("after a takeover the journal goes on where it ended")
async def _takes_over(bench: JournalUnderTest) -> None:
    epoch = await bench.journal.lease(bench.shard, "two", SHORT_TTL)
    await bench.journal.append(bench.shard, "two", epoch, 1, sample_records(1, 2))
    await bench.wait(2 * SHORT_TTL)
    await bench.own()
    late = bench.journal.append(bench.shard, "two", epoch, 3, sample_records(3, 1))
    await bench.expect_refused(StaleOwner, late)
    await bench.append(3, sample_records(3, 2))
    await bench.expect_stored(sample_records(1, 4))


def _sequences(records: Sequence[Record]) -> list[int]:
    return [record.sequence for record in records]
