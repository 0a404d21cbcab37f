"""Records: an input with what came of it. The journal holds nothing else but snapshots of tables.

A record is encoded as one line of JSON, so that a journal can be read with any tool at hand.
Numbers survive the round trip exactly.
"""

from __future__ import annotations

import msgspec

from evenmatch.errors import JournalCorrupt
from evenmatch.model.events import Event, Existing, Refused
from evenmatch.model.inputs import Enqueue, Input

FORMAT = 4
"""Number of the record and snapshot format; a newer one is refused, an older one migrated."""


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


def changes_state(given: Input, events: tuple[Event, ...]) -> bool:
    """Return whether any event changes the tables; if none does, the input needs no record.

    Finding a ticket that exists already is a change where the answer has a key to be kept under.
    """
    has_key = type(given) is Enqueue and given.key is not None
    for event in events:
        if type(event) is not Refused and (has_key or type(event) is not Existing):
            return True
    return False
