"""Decides a record again from its input alone, and compares the events with the recorded ones.

The engine is driven as a shard drives it: before each input all timers that were due before it are
fired. What they give must be the next record of the journal, since an advance with events is one.
Jobs are not solved: their plans are inputs, which the journal holds.

Two things that a server knew are not in its journal. Its limits on requests are settings, so what
was refused for a size or a number out of range is refused again without being judged; and how a
refusal is worded is no decision. Nor are the last digits of a rating, which another processor, or
another version, may round otherwise: the replay goes on with the rating of the journal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest

import msgspec
from msgspec.structs import replace

from evenmatch.engine.admission.shard_limits import UNLIMITED
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record, decode, encode
from evenmatch.engine.state.stored_ratings import take_ratings
from evenmatch.errors import (
    InvalidTicket,
    JournalCorrupt,
    MatchmakingError,
    Overloaded,
)
from evenmatch.model.events import Event, Rated, Refused
from evenmatch.model.inputs import Advance, Enqueue, Input
from evenmatch.model.ticket import NewTicket

BY_LIMITS = frozenset({InvalidTicket.code, Overloaded.code})
"""Refusals that may come from a server's limits."""
ROUNDING = 1e-5
"""Ratings that differ by no more points were rounded otherwise, or a root was found otherwise."""


class Difference(msgspec.Struct, frozen=True):
    """A record that is decided differently now.

    Args:
        record: What the journal holds.
        at: The instant at which something else is decided now, engine time.
        decided: What is decided then; nothing if the input is refused.
        refused: Why the input is refused now, empty if it is not.
    """

    record: Record
    at: float
    decided: tuple[Event, ...]
    refused: str = ""

    @property
    def first(self) -> int:
        """Return the index of the first event that differs; 0 where instants differ."""
        if self.at != self.record.input.now:
            return 0
        recorded = _comparable(self.record.events, like=self.decided)
        decided = _comparable(self.decided)
        pairs = zip(recorded, decided, strict=False)
        same = next((n for n, (was, now) in enumerate(pairs) if was != now), None)
        return min(len(recorded), len(decided)) if same is None else same


class Replay:
    """An engine that decides a journal's inputs again, record by record.

    Args:
        engine: Resumed where the first record begins; nobody else's.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        engine.limits = UNLIMITED

    def hear(self, record: Record) -> Difference | None:
        """Decide the input of the next record; return how the result differs, if it does.

        After a difference the engine has another past than the journal: ask it no more.

        Raises:
            JournalCorrupt: The record is not the next one in time.
        """
        now, engine = record.input.now, self.engine
        if not engine.tables.now <= now < math.inf:
            raise JournalCorrupt(
                f"record {record.sequence} is at {now} s, but the one before it is at "
                f"{engine.tables.now} s: keep the damaged journal and restore a copy"
            )
        is_advance = type(record.input) is Advance
        while (at := engine.next_wakeup) < now or (is_advance and at == now):
            decided = self._step(Advance(at)).events
            if decided and at == now:
                return self._compared(record, decided)
            if decided:
                return Difference(record, at, decided)
        input_ = Advance(now) if is_advance else as_judged(record)
        try:
            return self._compared(record, self._step(input_).events)
        except MatchmakingError as error:
            return Difference(record, now, (), str(error))

    def _step(self, input_: Input) -> Record:
        record = self.engine.step(input_)
        self.engine.take_jobs()
        return record

    def _compared(self, record: Record, decided: tuple[Event, ...]) -> Difference | None:
        if _comparable(record.events) == _comparable(decided):
            return None
        # Reading back makes floats of whole numbers, as in the journal.
        read = decode(encode(Record(record.sequence, record.input, decided))).events
        if _comparable(record.events, like=read) != _comparable(read):
            return Difference(record, record.input.now, decided)
        for event in record.events:
            if type(event) is Rated:
                take_ratings(self.engine.tables, event)
        return None


def as_judged(record: Record) -> Input:
    """Return an input without the items that limits refused; each becomes one that nobody takes."""
    input_ = record.input
    if not isinstance(input_, Enqueue):
        return input_
    out = {e.item for e in record.events if type(e) is Refused and e.code in BY_LIMITS}
    if not out:
        return input_
    nobody = NewTicket(())
    tickets = [nobody if item in out else new for item, new in enumerate(input_.tickets)]
    return replace(input_, tickets=tuple(tickets))


def _comparable(events: Sequence[Event], like: Sequence[Event] = ()) -> list[Event]:
    """Return events without what is no decision, ratings as in those that they are `like`."""
    found: list[Event] = []
    for event, other in zip_longest(events, like[: len(events)]):
        if type(event) is Refused:
            found.append(_worded(event))
        elif type(event) is Rated and type(other) is Rated and _are_alike(event, other):
            found.append(replace(event, ratings=other.ratings))
        else:
            found.append(event)
    return found


def _are_alike(one: Rated, two: Rated) -> bool:
    """Return whether the same players have the same ratings but for the last digits."""
    return one.ratings.keys() == two.ratings.keys() and all(
        _is_close(rating.mean, two.ratings[player].mean)
        and _is_close(rating.deviation, two.ratings[player].deviation)
        and _is_close(rating.volatility or 0.0, two.ratings[player].volatility or 0.0)
        for player, rating in one.ratings.items()
    )


def _is_close(one: float, two: float) -> bool:
    return abs(one - two) <= ROUNDING


def _worded(event: Refused) -> Refused:
    """Return a refusal without its words; all that limits may cause are one.

    How long it lasts and which match stands in the way are worded too: older journals do not say it
    in seconds, and name another match.
    """
    code = "by_limits" if event.code in BY_LIMITS else event.code
    return replace(event, code=code, message="", where="", match=None, seconds=None)
