"""Decides a journal again from its inputs alone, from one start of its server to the next.

At each start, the server made its matchers anew: their memory came from the newest snapshot, and
that snapshot may be deleted since. So if the journal does not have it, each possibility is tried: a
server that was stopped took a snapshot of all memory, one that was killed found the snapshot of an
earlier stop, or none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import msgspec

import evenmatch
from evenmatch.engine.configuration import changed_since
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.replay import Difference, Replay
from evenmatch.engine.state.state import Tables
from evenmatch.lab.replay.source import SAY_EVERY, Say, Source, new_engine
from evenmatch.model.events import Accepted, Matched
from evenmatch.model.inputs import Configure
from evenmatch.policies.base import Memory

Memories = Mapping[str, Memory]
SEEKING_SHOWN = 5
"""Most matches with free seats at the start of a replay that are named."""


class FirstDifference(msgspec.Struct, frozen=True):
    """A difference, its time, and possible explanations.

    Args:
        difference: The first one.
        wall: When its record was written, Unix seconds.
        reasons: As sentences; none if another decision is the only explanation left.
    """

    difference: Difference
    wall: float
    reasons: tuple[str, ...]


class ReplayResult(msgspec.Struct):
    """The result of a replay.

    Args:
        shard: The shard.
        first: The first record that was decided again.
        records: How many were decided the same.
        inputs: How many of them, by kind.
        tickets: Tickets accepted in them.
        matches: Matches made in them.
        starts: Records before which the server was started again.
        first_difference: The first difference, if there is one.
        skipped: First and last of the records that were not compared, because they follow a
            difference: the replay continued at the next snapshot or the next start.
    """

    shard: str
    first: int
    records: int = 0
    inputs: Counter[str] = msgspec.field(default_factory=Counter)
    tickets: int = 0
    matches: int = 0
    starts: list[int] = []
    first_difference: FirstDifference | None = None
    skipped: list[tuple[int, int]] = []


class _Senseless(Exception):
    """A record contains something impossible, so the state after it is unknown."""


class _Attempt(msgspec.Struct):
    """A stretch decided with some memories: the engine at its end, or the difference."""

    engine: Engine
    difference: Difference | None = None
    wall: float = 0.0

    @property
    def reached(self) -> float:
        return float("inf") if self.difference is None else self.difference.record.sequence


def redecide(source: Source, say: Say) -> ReplayResult:
    """Decide all records again; after a difference, continue where the journal has the state.

    Args:
        source: The journal.
        say: Called with the progress.

    Raises:
        JournalError: The journal is damaged.

    Complexity:
        That of the server's own decisions; a stretch with a difference is tried up to four times.
    """
    return _Redecision(source, say).run()


class _Redecision:
    """The work of `redecide`, and its results so far."""

    def __init__(self, source: Source, say: Say) -> None:
        self._source = source
        self._say = say
        self.result = ReplayResult(source.shard, source.begin)
        self._counted = source.begin - 1
        # Queues that a configuration changed, by its record.
        self._changed: dict[int, set[str]] = {}

    def run(self) -> ReplayResult:
        source, result = self._source, self.result
        kept: Memories = {} if source.start is None else source.start.memories
        tables, choices = source.tables, [kept]
        for begin, end in _stretches(source):
            if begin > source.begin:
                result.starts.append(begin)
            try:
                tables, learnt = self._stretch(begin, end, tables, choices)
            except _Senseless:
                result.skipped[-1] = result.skipped[-1][0], source.last
                break
            kept = self._still(kept, begin - 1)
            stored = source.memories_before(end + 1)
            of_snapshot = None if stored is None else self._still(stored[1], stored[0])
            choices = _unlike(of_snapshot, learnt, kept, {})
            kept = choices[0]
        return result

    def _still(self, memories: Memories, after: int) -> Memories:
        """Return the memories of queues that were not changed after a record, as recovery does."""
        gone = {name for at, names in self._changed.items() if at > after for name in names}
        return {name: known for name, known in memories.items() if name not in gone}

    def _stretch(
        self, begin: int, end: int, tables: Tables, choices: list[Memories]
    ) -> tuple[Tables, Memories | None]:
        """Decide what one process wrote; after a difference, go on from its next snapshot.

        Returns:
            The state at the end, and what the matchers knew then, if they came as far.
        """
        source, result, first = self._source, self.result, begin
        while True:
            best = self._best(first, end, tables, choices)
            if best.difference is None:
                # In the form of a snapshot.
                learnt = msgspec.json.decode(msgspec.json.encode(best.engine.memories()))
                return best.engine.tables, learnt
            if result.first_difference is None:
                reasons = tuple(_reasons(source, begin, best))
                result.first_difference = FirstDifference(best.difference, best.wall, reasons)
            missed = best.difference.record.sequence
            again = source.beginning_within(missed, end)
            result.skipped.append((missed, end if again is None else again.tables.sequence))
            if again is None:
                return self._folded(first, end, tables), None
            first, choices = again.tables.sequence + 1, [again.memories]
            tables = again.tables.shallow_copy()

    def _folded(self, begin: int, end: int, tables: Tables) -> Tables:
        """Return the state after records as written, without deciding them."""
        engine = new_engine(self._source.shard)
        engine.tables = tables.shallow_copy()
        for entry in self._source.entries(begin, end):
            try:
                with self._noting(entry.record, engine):
                    engine.apply(entry.record)
            except (AssertionError, LookupError) as error:
                raise _Senseless from error
        return engine.tables

    def _best(self, begin: int, end: int, tables: Tables, choices: list[Memories]) -> _Attempt:
        """Return the best of a stretch's tries: one without a difference, or with the latest."""
        tries: list[_Attempt] = []
        for memories in choices:
            engine = new_engine(self._source.shard)
            engine.format = self._source.format_of(begin)
            engine.tables = tables.shallow_copy()
            engine.resume(tables.now, memories)
            tries.append(self._decided(begin, end, engine))
            if tries[-1].difference is None:
                break
        return max(tries, key=lambda tried: tried.reached)

    def _decided(self, begin: int, end: int, engine: Engine) -> _Attempt:
        replay = Replay(engine)
        raised = {each.first_seq: each.format for each in self._source.segments if each.raised}
        for entry in self._source.entries(begin, end):
            engine.format = raised.get(entry.record.sequence, engine.format)
            with self._noting(entry.record, engine):
                difference = replay.hear(entry.record)
            if difference is not None:
                return _Attempt(engine, difference, entry.wall)
            self._count(entry.record)
        return _Attempt(engine)

    @contextmanager
    def _noting(self, record: Record, engine: Engine) -> Iterator[None]:
        """Record which queues differ after a record."""
        before, seed = engine.tables.queues, engine.tables.seed
        yield
        if type(record.input) is Configure:
            self._changed[record.sequence] = changed_since(before, seed, engine.tables)

    def _count(self, record: Record) -> None:
        """Count a record that is decided the same, unless an earlier try got as far."""
        source, result = self._source, self.result
        if record.sequence <= self._counted:
            return
        self._counted = record.sequence
        result.records += 1
        result.inputs[kind_of(record)] += 1
        result.tickets += sum(type(event) is Accepted for event in record.events)
        result.matches += sum(type(event) is Matched for event in record.events)
        if result.records % SAY_EVERY == 0:
            self._say(result.records, source.last - source.begin + 1)


def kind_of(record: Record) -> str:
    """Return the name of a record's input, as the journal writes it."""
    return type(record.input).__name__.lower()


def _stretches(source: Source) -> Iterator[tuple[int, int]]:
    """Yield the first and last record of each stretch that one process wrote."""
    starts = [each.first_seq for each in source.segments if not each.raised]
    bounds = [source.begin, *(at for at in starts if source.begin < at <= source.last)]
    for begin, end in zip(bounds, [*bounds[1:], source.last + 1], strict=True):
        if begin < end:
            yield begin, end - 1


def _unlike(*memories: Memories | None) -> list[Memories]:
    """Return the memories that exist, without duplicates."""
    found: list[Memories] = []
    for each in memories:
        if each is not None and each not in found:
            found.append(each)
    return found


def _reasons(source: Source, begin: int, tried: _Attempt) -> Iterable[str]:
    """Yield possible reasons for a difference, other than another decision."""
    assert tried.difference is not None
    yield from (str(fault) for fault in tried.engine.faults)
    package = source.package_of(tried.difference.record.sequence)
    if package not in (None, evenmatch.__version__):
        yield (
            f"evenmatch {package} wrote the record, this is {evenmatch.__version__}: decide it "
            "again with that version"
        )
    if begin > source.begin:
        yield (
            f"the server was started again before record {begin}: what its matchers had learnt "
            "since the last snapshot was lost then, and the journal does not tell how much"
        )
    elif source.start is not None:
        yield (
            f"older records are deleted, so the replay began after record {begin - 1} with what a "
            "snapshot knew: tickets that a failed match kept apart are not in it"
        )
        if seeking := source.start.seeking:
            yield (
                f"{', '.join(seeking[:SEEKING_SHOWN])}"
                f"{' and others' if len(seeking) > SEEKING_SHOWN else ''} had seats to fill when "
                "the replay began, and when a match looks for players again is in no snapshot"
            )
