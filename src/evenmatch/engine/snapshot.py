"""Snapshots: the tables and the matchers' memories as bytes, with a format number.

A snapshot of an older format is migrated step by step; a newer one is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.ratings import Period
from evenmatch.engine.records import FORMAT
from evenmatch.engine.tables import COPIED_BY_GROUP, Tables
from evenmatch.errors import JournalCorrupt
from evenmatch.policies.base import Memory

LARGE = ("waiting", "ended", "matches", "keys", "rosters")
"""Tables with a row for each ticket, match or key."""
SLICE = 1_000
"""Rows encoded at a time: about a millisecond."""


class Snapshot(msgspec.Struct, frozen=True):
    """The state of a shard after record `tables.sequence`."""

    format: int
    shard: str
    tables: Tables
    memories: dict[str, Any]


class _Head(msgspec.Struct):
    format: int


def _from_1(state: bytes) -> bytes:
    """Format 2 knows proposals; a snapshot of format 1 has none, and what it has stays."""
    fields = msgspec.json.decode(state, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({**fields, "format": 2})


MIGRATIONS: dict[int, Callable[[bytes], bytes]] = {1: _from_1}
"""From format n to n + 1."""


def take(engine: Engine) -> Snapshot:
    """Return a consistent snapshot; the engine may go on at once.

    Complexity:
        One shallow copy of the tables; encoding comes later and may run in a thread.
    """
    memories: dict[str, Memory] = engine.memories()
    return Snapshot(FORMAT, engine.shard, engine.tables.shallow_copy(), dict(memories))


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return the snapshot as bytes.

    Rows are encoded in slices, so that a thread that does this lets others run in between.
    """
    tables = snapshot.tables
    fields: dict[str, object] = {name: getattr(tables, name) for name in tables.__struct_fields__}
    for name in LARGE:
        fields[name] = msgspec.Raw(_in_slices(getattr(tables, name)))
    for name in COPIED_BY_GROUP:
        groups: dict[str, dict[str, object]] = getattr(tables, name)
        fields[name] = {group: msgspec.Raw(_in_slices(of)) for group, of in groups.items()}
    for name in ("periods", "closing"):
        periods: dict[str, Period] = getattr(tables, name)
        fields[name] = {ladder: _period_in_slices(period) for ladder, period in periods.items()}
    fields["played"] = {
        group: {
            "rows": msgspec.Raw(_in_slices(played.rows)),
            "of": msgspec.Raw(_in_slices(played.of)),
            "first": played.first,
            "seats": played.seats,
        }
        for group, played in tables.played.items()
    }
    whole = {name: getattr(snapshot, name) for name in snapshot.__struct_fields__}
    return msgspec.json.encode({**whole, "tables": fields})


def _period_in_slices(period: Period) -> dict[str, object]:
    fields: dict[str, object] = {name: getattr(period, name) for name in period.__struct_fields__}
    for name in ("results", "played", "before"):
        fields[name] = msgspec.Raw(_in_slices(getattr(period, name)))
    return fields


def _in_slices(rows: Mapping[str, object]) -> bytes:
    """Return a JSON object, made a slice at a time."""
    items = iter(rows.items())
    slices = []
    while part := dict(islice(items, SLICE)):
        slices.append(msgspec.json.encode(part)[1:-1])
    return b"{" + b",".join(slices) + b"}"


def decode_snapshot(state: bytes) -> Snapshot:
    """Return the snapshot of bytes written by this version or an older one.

    Raises:
        JournalCorrupt: The bytes are not a snapshot, or a newer version wrote them.
    """
    try:
        head = msgspec.json.decode(state, type=_Head)
        if head.format > FORMAT:
            raise JournalCorrupt(
                f"the snapshot has format {head.format}, this version reads up to {FORMAT}; "
                f"use a newer evenmatch"
            )
        for number in range(head.format, FORMAT):
            if number not in MIGRATIONS:
                raise JournalCorrupt(f"no version of evenmatch wrote snapshots of format {number}")
            state = MIGRATIONS[number](state)
        return msgspec.json.decode(state, type=Snapshot)
    except msgspec.MsgspecError as error:
        raise JournalCorrupt(f"the snapshot cannot be read: {error}") from None


def restore(engine: Engine, snapshot: Snapshot) -> Mapping[str, Memory]:
    """Put a snapshot's tables into a new engine; return the memories for `Engine.resume`.

    Raises:
        JournalCorrupt: It is the snapshot of another shard.
    """
    if snapshot.shard != engine.shard:
        raise JournalCorrupt(f"this is a snapshot of shard {snapshot.shard}, not {engine.shard}")
    engine.tables = snapshot.tables
    return snapshot.memories


def state_hash(engine: Engine) -> str:
    """Return a digest of the tables (I19): equal journals give equal digests anywhere."""
    # Decoding once makes whole numbers that Python callers gave the floats that journals hold.
    tables = msgspec.json.decode(msgspec.json.encode(engine.tables), type=Tables)
    return hashlib.sha256(msgspec.json.encode(tables, order="sorted")).hexdigest()
