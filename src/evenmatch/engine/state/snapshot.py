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
from evenmatch.engine.records import FORMAT
from evenmatch.engine.state.state import COPIED_BY_GROUP, Tables
from evenmatch.errors import JournalCorrupt
from evenmatch.policies.base import Memory

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


# Made here, where one thread is alone with the types. Shards are recovered in several threads, and
# msgspec notes what it learns of a type while it still learns it: a second thread that meets such a
# note ends the process.
_head = msgspec.json.Decoder(_Head)
_snapshot = msgspec.json.Decoder(Snapshot)
_tables = msgspec.json.Decoder(Tables)


def _numbered(number: int) -> Callable[[bytes], bytes]:
    """Return what numbers a snapshot anew, for a format that only adds to the one before."""

    def migrated(state: bytes) -> bytes:
        fields = msgspec.json.decode(state, type=dict[str, msgspec.Raw])
        return msgspec.json.encode({**fields, "format": number})

    return migrated


# Format 2 knows proposals, format 3 the input `skip`, format 4 rosters of matches made elsewhere;
# older snapshots have none.
MIGRATIONS: dict[int, Callable[[bytes], bytes]] = {
    number: _numbered(number + 1) for number in range(1, FORMAT)
}
"""From format n to n + 1."""


def take(engine: Engine, number: int = FORMAT) -> Snapshot:
    """Return a consistent snapshot; the engine may go on at once.

    Args:
        engine: At work.
        number: The format in which its journal is written. Later formats only add, so that a state
            in which nothing came of their records can be read by older versions as it is. What
            matchers remember is left out of an older format: other versions remember other things.

    Complexity:
        One shallow copy of the tables; encoding comes later and may run in a thread.
    """
    memories: dict[str, Memory] = engine.memories() if number == FORMAT else {}
    return Snapshot(number, engine.shard, engine.tables.shallow_copy(), dict(memories))


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return the snapshot as bytes.

    Rows are encoded in slices, so that a thread that does this lets others run in between, and all
    into one buffer, so that a state of many megabytes is not there several times over.
    """
    tables = snapshot.tables
    parts = _parts(tables)
    for name in COPIED_BY_GROUP:
        parts[name] = _Parts(getattr(tables, name))
    for name in ("periods", "closing", "played"):
        groups: dict[str, msgspec.Struct] = getattr(tables, name)
        parts[name] = _Parts({group: _parts(of) for group, of in groups.items()})
    buffer = bytearray()
    _write(buffer, _Parts({**_parts(snapshot), "tables": parts}))
    return bytes(buffer)


class _Parts(dict[str, object]):
    """An object of few fields, some of which may have many rows."""


def _parts(struct: msgspec.Struct) -> _Parts:
    return _Parts({name: getattr(struct, name) for name in struct.__struct_fields__})


def _write(buffer: bytearray, value: object) -> None:
    """Append a value as JSON."""
    if isinstance(value, _Parts):
        buffer += b"{"
        for number, (name, part) in enumerate(value.items()):
            buffer += b"," * (number > 0) + msgspec.json.encode(name) + b":"
            _write(buffer, part)
        buffer += b"}"
    elif isinstance(value, dict):
        _write_rows(buffer, value)
    else:
        buffer += msgspec.json.encode(value)


def _write_rows(buffer: bytearray, rows: dict[str, object]) -> None:
    items = iter(rows.items())
    buffer += b"{"
    while part := dict(islice(items, SLICE)):
        # Slices become one object: its comma, or its end, stands where a slice ended.
        buffer += msgspec.json.encode(part)[1:]
        buffer[-1] = ord(",")
    if rows:
        buffer[-1] = ord("}")
    else:
        buffer += b"}"


def decode_snapshot(state: bytes) -> Snapshot:
    """Return the snapshot of bytes written by this version or an older one.

    Raises:
        JournalCorrupt: The bytes are not a snapshot, or a newer version wrote them.
    """
    try:
        head = _head.decode(state)
        if head.format > FORMAT:
            raise JournalCorrupt(
                f"the snapshot has format {head.format}, this version reads up to {FORMAT}; "
                f"use a newer evenmatch"
            )
        for number in range(head.format, FORMAT):
            if number not in MIGRATIONS:
                raise JournalCorrupt(f"no version of evenmatch wrote snapshots of format {number}")
            state = MIGRATIONS[number](state)
        return _snapshot.decode(state)
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
    """Return a digest of the tables (I19): equal journals give equal digests anywhere.

    That is, anywhere with the same version of evenmatch; see `engine.state.reducers`.
    """
    # Decoding once makes whole numbers that Python callers gave the floats that journals hold.
    tables = _tables.decode(msgspec.json.encode(engine.tables))
    return hashlib.sha256(msgspec.json.encode(tables, order="sorted")).hexdigest()
