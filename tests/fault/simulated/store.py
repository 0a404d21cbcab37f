"""A store for the journals of several nodes, on the other side of the network.

    StoreJournal of a node --request--> Store: one after the other, at once --answer--> StoreJournal

It is linearisable: each request has its effect at one instant between its question and its answer.
Owner, epoch and last sequence are checked at each append; a lease is over when the newcomer has
watched it unrenewed for its whole length on its own clock; and a newer turn of the same owner makes
what an older one had under way come to nothing. `Weakness` takes one of these away, to see that
somebody notices.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeVar

import msgspec

from evenmatch.engine.records import FORMAT, Record, encode
from evenmatch.errors import JournalUnavailable, StaleOwner
from evenmatch.journals.base import Entry, Segment, StoredSnapshot, format_of, in_place_of
from evenmatch.journals.head import (
    EntryReader,
    check_append,
    check_snapshot,
    check_ttl,
    first_to_read,
    sealer,
)
from evenmatch.journals.leases import LeaseWatch
from tests.fault.simulated.loop import NodeLoop, World
from tests.fault.simulated.network import STORE, Network

TIMEOUT = 5.0
"""Seconds after which a node gives an answer up."""
RAISED_WITHIN = 15.0
"""Seconds within which a node decides in a newer format that the store has taken note of."""
LATE = (0.5, 8.0)
"""Seconds by which what was asked lies in the store before it has its effect."""

Outage = Literal["refuses", "hangs"]
_T = TypeVar("_T")


class Weakness(msgspec.Struct, frozen=True):
    """What a store lacks, of all that makes it safe.

    Args:
        is_unfenced: Appends are taken from everybody, whatever comes before them.
        by_wall: A lease is over at an instant of the wall clock of who asks.
    """

    is_unfenced: bool = False
    by_wall: bool = False


class StoreHead(msgspec.Struct, frozen=True):
    """Where the journal ends, and who may write on.

    Args:
        owner: The present owner.
        epoch: Counts owners.
        ttl: Length of the lease, seconds.
        renewals: How often it was taken or renewed.
        turn: Counts the processes of an owner, and their lost answers.
        expires: When it is over, by the owner's wall clock; only for a store that is weak so.
        last_seq: Of the last record.
        last_wall: Unix time of the last record, by the wall clock of who wrote it.
    """

    owner: str
    epoch: int
    ttl: float
    renewals: int
    turn: int
    expires: float
    last_seq: int = 0
    last_wall: float = 0.0


class Commit(msgspec.Struct, frozen=True):
    """A batch of records as the store has it.

    Args:
        at: The world's instant.
        holder: Owner and epoch.
        first_seq: Of its first record.
        wall: Unix time, by the clock of who wrote it.
        bodies: The records.
    """

    at: float
    holder: tuple[str, int]
    first_seq: int
    wall: float
    bodies: tuple[bytes, ...]


def _nothing() -> None:
    """Do nothing."""


class _Marked(msgspec.Struct, frozen=True):
    format: int


class Store:
    """What is stored of one shard, and how the store does.

    Args:
        world: Where it is.
        weakness: What it lacks.
        shard: The shard; `of` leads to others.
    """

    def __init__(self, world: World, weakness: Weakness, shard: str = "s0") -> None:
        self.world = world
        self.shard = shard
        self._others: dict[str, Store] = {}
        self.weakness = weakness
        self.head: StoreHead | None = None
        self.commits: list[Commit] = []
        self.rows: list[tuple[int, float, bytes]] = []
        self.snapshots: list[StoredSnapshot] = []
        self.segments: dict[int, Segment] = {}
        # When a segment was first marked with a newer format than all before it, and from which
        # record on; and snapshots in a newer format than the records have.
        self.raised: list[tuple[float, int, int]] = []
        self.too_new: list[int] = []
        self.on_raise: Callable[[], None] = _nothing
        self.outage: Outage | None = None
        self.answers_to_lose = 0
        self.appends_to_delay = 0
        self.writes_to_fail = 0
        self.is_full = False
        # Whose process ends when its next append is stored, and before it hears of it.
        self.kills: dict[str, Callable[[], None]] = {}
        self.refused: int = 0
        self._waiting: list[Callable[[], None]] = []

    def of(self, shard: str) -> Store:
        """Return what is stored of a shard."""
        if shard == self.shard:
            return self
        return self._others.setdefault(shard, Store(self.world, self.weakness, shard))

    def names(self) -> list[str]:
        """Return the names of all shards."""
        return [self.shard, *self._others]

    def fail(self, outage: Outage) -> None:
        """Answer nobody: say so at once, or say nothing."""
        self.outage = outage

    def mend(self) -> None:
        """Work again, first on what lies here."""
        self.outage = None
        waiting, self._waiting = self._waiting, []
        for work in waiting:
            work()

    def refusal_of_writes(self) -> str | None:
        """Return what the disk says to a write, None if it takes it."""
        if self.is_full:
            return "no space left on device"
        if self.writes_to_fail:
            self.writes_to_fail -= 1
            return "input/output error"
        return None

    def hold(self, work: Callable[[], None]) -> None:
        """Keep a request until the store works again."""
        self._waiting.append(work)

    # Requests: each is one call, so each has its effect at one instant.

    def present(self) -> StoreHead | None:
        """Return the head."""
        return self.head

    def change_lease(self, old: StoreHead | None, new: StoreHead) -> bool:
        """Store a lease where nothing but the journal's end has changed since; say whether."""
        now = self.head
        if now is None or old is None:
            is_same = now is old
        else:
            is_same = (now.owner, now.epoch, now.renewals, now.turn) == (
                old.owner,
                old.epoch,
                old.renewals,
                old.turn,
            )
        if is_same:
            end = (now.last_seq, now.last_wall) if now else (0, 0.0)
            self.head = msgspec.structs.replace(new, last_seq=end[0], last_wall=end[1])
        return is_same

    def append(self, commit: Commit, turn: int, records: Sequence[Record]) -> int:
        """Store a batch."""
        if self.weakness.is_unfenced and self.head is not None:
            # Whoever comes last overwrites what stands there.
            self.rows = [row for row in self.rows if row[0] < commit.first_seq]
        else:
            self._check(commit, turn, records)
        assert self.head is not None
        at, wall = commit.first_seq, commit.wall
        self.rows += [(at + offset, wall, body) for offset, body in enumerate(commit.bodies)]
        self.commits.append(msgspec.structs.replace(commit, at=self.world.now))
        last = self.rows[-1][0]
        self.head = msgspec.structs.replace(self.head, last_seq=last, last_wall=wall)
        return last

    def take_turn(self, holder: tuple[str, int]) -> int:
        """Void what an owner has under way, and return its new turn."""
        head = self.head
        first_seq = 1 + (head.last_seq if head else 0)
        head = check_append(head, self.shard, holder=holder, first_seq=first_seq, records=())
        self.head = msgspec.structs.replace(head, turn=head.turn + 1)
        return self.head.turn

    def _check(self, commit: Commit, turn: int, records: Sequence[Record]) -> None:
        try:
            head = check_append(
                self.head,
                self.shard,
                holder=commit.holder,
                first_seq=commit.first_seq,
                records=records,
            )
            if head.turn != turn:
                raise StaleOwner("a newer process of this owner writes, or this one asked again")
        except Exception:
            self.refused += 1
            raise

    @property
    def newer_from(self) -> tuple[float, float]:
        """Return the first record of the newest format, and the first that surely is one.

        What is decided while the store takes note of it is still as before.
        """
        numbers = [each.format for each in self.segments.values()]
        if not numbers or min(numbers) == FORMAT:
            return 1, 1
        raised = [(when, at) for when, at, number in self.raised if number == FORMAT]
        if not raised:
            return math.inf, math.inf
        when, at = raised[0]
        later = (each.first_seq for each in self.commits if each.at > when + RAISED_WITHIN)
        return at, next(later, math.inf)

    def begin(self, segment: Segment) -> None:
        """Note who writes from a record on."""
        at, before = segment.first_seq, [each.format for each in self.segments.values()]
        if before and segment.format > max(before):
            self.raised.append((self.world.now, at, segment.format))
            self.on_raise()
        self.segments[at] = in_place_of(self.segments.get(at), segment)

    def read(self, from_seq: int) -> tuple[int, list[tuple[int, float, bytes]]]:
        """Return the last sequence, and the records from one on."""
        last = self.head.last_seq if self.head else 0
        first = first_to_read(last, self.shard, from_seq)
        return last, self.rows[first - 1 :]

    def snapshot(self, seq: int, wall: float, state: bytes) -> None:
        """Keep a snapshot, and the one before it."""
        check_snapshot(self.head, self.shard, seq)
        with suppress(msgspec.DecodeError):  # What proves a journal hands in any bytes.
            number = msgspec.json.decode(state, type=_Marked).format
            if number > format_of([*self.segments.values()]):
                self.too_new.append(seq)
        others = [each for each in self.snapshots if each.sequence != seq]
        new = StoredSnapshot(seq, wall, state)
        self.snapshots = sorted([*others, new], key=lambda each: each.sequence)[-2:]


class StoreJournal:
    """The journal of one process of one node: the port, over the network.

    Args:
        store: At the other end.
        network: In between.
        node: Name of the node.
        loop: Of the process.
        wall: The node's wall clock.
    """

    def __init__(
        self,
        store: Store,
        network: Network,
        node: str,
        loop: NodeLoop,
        wall: Callable[[], float],
    ) -> None:
        self._store = store
        self._network = network
        self._node = node
        self._loop = loop
        self._wall = wall
        self._watch = LeaseWatch(loop.time)
        self._turns: dict[str, int] = {}
        self._order = asyncio.Lock()
        self._chance = network.world.chance(f"store for {node}")
        self.is_closed = False

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        """Become or stay the owner and return the epoch."""
        check_ttl(ttl)
        async with self._order:
            store = self._store.of(shard)
            head = await self._ask("head", store.present)
            new = self._granted(shard, head, owner, ttl)
            if not await self._ask(
                f"lease {new}", lambda: store.change_lease(head, new), may_be_lost=True
            ):
                raise JournalUnavailable("the lease was changed by others meanwhile: ask again")
            self._turns[shard] = new.turn
            self._watch.remaining(shard, (owner, new.epoch, new.renewals), ttl)
            return new.epoch

    def _granted(self, shard: str, head: StoreHead | None, owner: str, ttl: float) -> StoreHead:
        expires = self._wall() + ttl
        if head is None:
            return StoreHead(owner, 1, ttl, 1, 1, expires)
        epoch, turn = head.epoch, head.turn
        if head.owner != owner:
            if not self._store.weakness.by_wall:
                renewal = (head.owner, head.epoch, head.renewals)
                self._watch.check_over(shard, renewal, head.ttl, owner)
            elif self._wall() < head.expires:
                raise StaleOwner(f"shard {shard!r} is held by {head.owner!r}")
            epoch, turn = epoch + 1, turn + 1
        elif turn != self._turns.get(shard):
            turn += 1
        return msgspec.structs.replace(
            head,
            owner=owner,
            epoch=epoch,
            ttl=ttl,
            renewals=head.renewals + 1,
            turn=turn,
            expires=expires,
        )

    async def begin(self, shard: str, segment: Segment) -> None:
        """Note who writes from a record on."""
        store = self._store.of(shard)
        await self._ask("begin", lambda: store.begin(segment))

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        """Store a batch, and return its last sequence when it is durable."""
        store, holder = self._store.of(shard), (owner, epoch)
        async with self._order:
            turn = self._turns.get(shard)
            if turn is None or not records:
                turn = await self._ask("turn", lambda: store.take_turn(holder))
                self._turns[shard] = turn
            bodies = tuple([encode(record) for record in records])
            commit = Commit(0.0, holder, first_seq, self._wall(), bodies)
            try:
                return await self._ask(
                    f"append {commit}",
                    lambda: store.append(commit, turn, records),
                    may_be_lost=True,
                    may_be_late=True,
                )
            except JournalUnavailable:
                # What is under way must come to nothing before it writes on.
                self._turns.pop(shard)
                raise

    async def read(self, shard: str, from_seq: int) -> AsyncIterator[Entry]:
        """Yield the records from one on."""
        store = self._store.of(shard)
        last, rows = await self._ask(f"read {from_seq}", lambda: store.read(from_seq))
        seal = sealer(shard)
        opener = EntryReader(shard, max(from_seq, 1), last)
        for seq, wall, body in rows:
            yield opener.open(seq, wall, seal(seq, wall, body), body)

    async def snapshot(self, shard: str, seq: int, state: bytes) -> None:
        """Store a snapshot."""
        store, wall = self._store.of(shard), self._wall()
        await self._ask(f"snapshot {seq}", lambda: store.snapshot(seq, wall, bytes(state)))

    async def latest_snapshot(self, shard: str) -> StoredSnapshot | None:
        """Return the newest snapshot."""
        store = self._store.of(shard)
        return await self._ask("newest", lambda: [None, *store.snapshots][-1])

    async def forget(self, shard: str, before: float) -> int:
        """Return 0: all is kept, to be counted in the end."""
        return 0

    async def segments(self, shard: str) -> list[Segment]:
        """Return who wrote from where on."""
        store = self._store.of(shard)
        return await self._ask(
            "segments", lambda: [each for _, each in sorted(store.segments.items())]
        )

    async def last(self, shard: str) -> tuple[int, float]:
        """Return the last sequence and its wall time."""
        head = await self._ask("last", self._store.of(shard).present)
        return (head.last_seq, head.last_wall) if head else (0, 0.0)

    async def shards(self) -> list[str]:
        """Return the names of all shards."""
        return await self._ask("shards", self._store.names)

    async def close(self) -> None:
        """Ask nothing any more."""
        self.is_closed = True

    async def _ask(
        self,
        what: str,
        work: Callable[[], _T],
        *,
        may_be_lost: bool = False,
        may_be_late: bool = False,
    ) -> _T:
        """Have the store do something, and return what comes of it.

        Raises:
            JournalUnavailable: It said so, or nothing.
        """
        if self.is_closed or self._loop.is_dead:
            raise JournalUnavailable("the journal was closed: open it again")
        future: asyncio.Future[tuple[Any, BaseException | None]] = self._loop.create_future()
        request = _Request(self, what, work, future)
        request.may_be_lost, request.may_be_late = may_be_lost, may_be_late
        request.is_write = may_be_late or what.startswith("snapshot")
        self._network.carry(self._node, STORE, what.encode(), request.arrive)
        try:
            value, error = await self._loop.within(TIMEOUT, future)
        except TimeoutError:
            raise JournalUnavailable(f"the store does not answer within {TIMEOUT:g} s") from None
        if error is not None:
            raise error
        found: _T = value
        return found


class _Request:
    """One request on its way to the store and back."""

    def __init__(
        self,
        journal: StoreJournal,
        what: str,
        work: Callable[[], Any],
        future: asyncio.Future[tuple[Any, BaseException | None]],
    ) -> None:
        self._journal = journal
        self._store = journal._store
        self._what = what
        self._work = work
        self._future = future
        self.may_be_lost = False
        self.may_be_late = False
        self.is_write = False

    def arrive(self) -> None:
        store = self._store
        if store.outage == "refuses":
            self._answer(None, JournalUnavailable("the store takes no requests"))
        elif store.outage == "hangs":
            store.hold(self._do)
        elif self.is_write and (reason := store.refusal_of_writes()):
            self._journal._network.faults[f"write refused: {reason}"] += 1
            self._answer(None, JournalUnavailable(f"the store cannot write: {reason}"))
        elif self.may_be_late and store.appends_to_delay:
            store.appends_to_delay -= 1
            self._journal._network.faults["append late"] += 1
            store.world.after(self._journal._chance.uniform(*LATE), self._do)
        else:
            self._do()

    def _do(self) -> None:
        try:
            told: tuple[Any, BaseException | None] = self._work(), None
        except Exception as error:  # noqa: BLE001
            told = None, error
        if self.is_write and told[1] is None and (kill := store_kill(self)) is not None:
            kill()
        if self.may_be_lost and self._store.answers_to_lose:
            self._store.answers_to_lose -= 1
            self._journal._network.faults["answer of the store lost"] += 1
            if told[1] is None:
                told = None, JournalUnavailable("the connection to the store was lost")
        self._answer(*told)

    def _answer(self, value: Any, error: BaseException | None) -> None:
        journal = self._journal
        text = f"{self._what[:12]}: {error}" if error else self._what[:12]

        def arrive() -> None:
            # A thread of the driver may not wake a process that is gone.
            if not journal._loop.is_dead:
                journal._loop.call_soon(self._tell, value, error)

        journal._network.carry(STORE, journal._node, text.encode(), arrive)

    def _tell(self, value: Any, error: BaseException | None) -> None:
        if not self._future.done():
            self._future.set_result((value, error))


def store_kill(request: _Request) -> Callable[[], None] | None:
    """Return what ends the process whose append was just stored, if that is its fate."""
    if not request.may_be_late:
        return None
    return request._store.kills.pop(request._journal._node, None)
