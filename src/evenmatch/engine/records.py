"""A record is an input with its events; a journal holds records and snapshots, nothing else.

A record is encoded as one line of JSON, so that a journal can be read with any tool at hand.
Numbers survive the round trip exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from evenmatch.errors import JournalCorrupt
from evenmatch.model.condition import Condition, TeamProperty
from evenmatch.model.events import Event, Existing, Refused
from evenmatch.model.inputs import Configure, Enqueue, Input, Open, Register, Skip
from evenmatch.model.queue import Criterion

FORMAT = 4
"""Number of the record and snapshot format; a newer one is refused, an older one migrated."""
GROWN = frozenset({Configure, Open, Register, Skip})
"""Inputs that later formats brought, or gave fields to; all others stand in every format."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """An input and its events.

    Args:
        sequence: Position in the shard's journal, from 1; 0 if nothing changed, and then the
            record is never journalled.
        input: What was handed in.
        events: What came of it, in order.
    """

    sequence: int
    input: Input
    events: tuple[Event, ...]


ANSWERS = frozenset({Existing, Refused})
"""Events that only say what became of a request."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Record)


def encode(record: Record) -> bytes:
    """Return the record as one line of JSON."""
    return _encoder.encode(record)


def decode(body: bytes) -> Record:
    """Return the record of a line written by `encode`.

    Raises:
        JournalCorrupt: The line is not a record of this format.
    """
    try:
        return _decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise JournalCorrupt(
            f"a journal line is not a record of format {FORMAT}: {error}"
        ) from None


def needs(input_: Input) -> int:
    """Return the first record format in which an input can be written.

    A reader of an older one would refuse it, or read it without what it does not know.

    Complexity:
        O(1) but for `Configure`, whose queues are looked through.
    """
    if type(input_) not in GROWN:
        return 1
    return max((_since(each) for each in _structs_in(input_)), default=1)


def _since(value: msgspec.Struct) -> int:
    """Return the format that brought a value, or what stands in it."""
    if type(value) is Skip:
        return 3
    is_new = _IS_NEW.get(type(value))
    return 4 if is_new is not None and is_new(value) else 1


# What format 4 can say, and format 3 cannot.
_IS_NEW: dict[type[msgspec.Struct], Callable[[Any], bool]] = {
    Register: lambda _: True,
    Open: lambda given: bool(given.ticket or given.steps),
    Criterion: lambda given: given.sort is not None,
    Condition: lambda given: given.clock == "each",
    TeamProperty: lambda given: given.is_optional or given.what == "party_sizes",
}


def _structs_in(value: object) -> Iterator[msgspec.Struct]:
    """Return a value of ours and all that stand in it."""
    if isinstance(value, msgspec.Struct):
        yield value
        for name in value.__struct_fields__:
            yield from _structs_in(getattr(value, name))
    elif isinstance(value, tuple):
        for each in value:
            yield from _structs_in(each)


def changes_state(input_: Input, events: tuple[Event, ...]) -> bool:
    """Return whether any event changes the tables; if none does, the input needs no record.

    Finding a ticket that exists already is a change where the answer has a key to be kept under.
    """
    has_key = type(input_) is Enqueue and input_.key is not None
    for event in events:
        if type(event) is not Refused and (has_key or type(event) is not Existing):
            return True
    return False
