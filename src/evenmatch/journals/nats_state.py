"""Documents that the NATS journal keeps beside its logs, and a witness of where each log ends."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TypeVar
from zlib import crc32

import msgspec

from evenmatch.errors import JournalCorrupt, JournalError, JournalUnavailable
from evenmatch.journals.nats_link import NatsLink, NatsMessage

ATTEMPTS = 5
"""Tries to change what somebody else changes meanwhile."""
WITNESS_EVERY = 1.0
"""Seconds between two messages of the witness."""

PARTED = "list-"
"""Begins the use of a list's parts; its name and the revision before it follow."""

PARTS = re.compile("[0-9a-z-]+-[0-9]{1,6}")
"""The name of parts."""

_Item = TypeVar("_Item")


class ShardWitness:
    """Notes from time to time, beside the logs, where each shard's log ends.

    It is never ahead of the log, and so never accuses an intact one; it may lag behind, and is
    then a weaker witness.

    Args:
        link: Where.
        clock: Monotonic seconds.
    """

    def __init__(self, link: NatsLink, clock: Callable[[], float]) -> None:
        self._link = link
        self._clock = clock
        self._stored: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._due: dict[str, float] = {}
        self._publishing: set[asyncio.Task[None]] = set()

    def note(self, shard: str, seq: int) -> None:
        """Note that the records of a shard are stored up to `seq`."""
        self._ends[shard] = seq
        now = self._clock()
        if now >= self._due.get(shard, now):
            self._due[shard] = now + WITNESS_EVERY
            task = asyncio.create_task(self._publish(shard, seq))
            self._publishing.add(task)
            task.add_done_callback(self._publishing.discard)

    async def known(self, shard: str) -> int:
        """Return up to which record a log was stored before this was asked, or a little less.

        Ask before the log is read: what is read later never ends before that.
        """
        if shard not in self._stored:
            subject = self._link.state_subject(shard, "end")
            message = await self._link.last_message(self._link.state, subject)
            self._stored[shard] = max(self._stored.get(shard, 0), _whole_number(message))
        return max(self._stored[shard], self._ends.get(shard, 0))

    async def flush(self) -> None:
        """Publish what is not published yet."""
        await asyncio.gather(*self._publishing)
        for shard, seq in self._ends.items():
            if self._stored.get(shard) != seq:
                await self._publish(shard, seq)

    async def _publish(self, shard: str, seq: int) -> None:
        # The batch is stored already; a witness that lags is no reason to refuse it.
        with suppress(JournalError):
            await self._link.publish(self._link.state_subject(shard, "end"), b"%d" % seq)
            self._stored[shard] = seq


class Documents:
    """Stores what is not a log: small lists, and bytes of any length in parts.

    Args:
        link: Where.
    """

    def __init__(self, link: NatsLink) -> None:
        self._link = link
        # Subjects of lists that were seen in parts, which the next one may not need.
        self._parted: set[str] = set()

    async def get(self, shard: str, name: str, kind: type[list[_Item]]) -> list[_Item]:
        """Return a list, empty if it was never stored.

        Raises:
            JournalCorrupt: It is damaged.
        """
        return (await self.look(shard, name, kind))[1]

    async def change(
        self,
        shard: str,
        name: str,
        kind: type[list[_Item]],
        work: Callable[[list[_Item]], list[_Item]],
    ) -> None:
        """Replace a list by what `work` makes of it, although others may change it meanwhile."""
        for _ in range(ATTEMPTS):
            at, present = await self.look(shard, name, kind)
            if await self.replace(shard, name, at, work(present)):
                return
        raise changed_by_others(shard, name)

    async def replace(self, shard: str, name: str, at: int, items: list[_Item]) -> bool:
        """Store a list in the place of the one with a revision; return whether that stood there.

        One that is too large for a message goes to parts first, whose name says which revision it
        was to follow. Whoever stores a list deletes the parts of those before it.
        """
        subject = self._link.state_subject(shard, name)
        body, parts = msgspec.json.encode(items), ""
        line = b"%08x" % crc32(body, crc32(subject.encode()))
        if len(body) > await self._link.largest():
            parts = await self.put_parts(shard, body, f"{PARTED}{name}{at}")
            line, body = b"%b %b" % (line, parts.encode()), b""
        stored = await self._link.publish(subject, b"%b\n%b" % (line, body), at)
        if stored is None:
            await self.discard_parts(shard, parts)
        elif parts or subject in self._parted:
            # What is left over is deleted next time.
            with suppress(JournalError):
                for gone in await self.unused(shard, f"{PARTED}{name}", at, ()):
                    await self.delete_parts(shard, gone)
        return stored is not None

    async def put_parts(self, shard: str, body: bytes, use: str = "") -> str:
        """Store bytes of any length; return the name under which they are found.

        Args:
            shard: Whose they are.
            body: The bytes.
            use: What for, and behind that a number; `unused` understands it.
        """
        size, number = await self._link.largest(), secrets.token_hex(8)
        pieces = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
        name = f"{number}-{use}-{len(pieces)}" if use else f"{number}-{len(pieces)}"
        try:
            for at, piece in enumerate(pieces):
                subject = self._link.state_subject(shard, "part", name, str(at))
                await self._link.publish(subject, piece)
        except JournalError:
            await self.discard_parts(shard, name)
            raise
        return name

    async def get_parts(self, shard: str, name: str) -> bytes | None:
        """Return what was stored under a name; None if a part is missing."""
        pieces = []
        for at in range(int(name.rpartition("-")[2])):
            subject = self._link.state_subject(shard, "part", name, str(at))
            message = await self._link.last_message(self._link.state, subject)
            if message is None:
                return None
            pieces.append(message.data)
        return b"".join(pieces)

    async def delete_parts(self, shard: str, name: str) -> None:
        """Forget what was stored under a name."""
        subject = self._link.state_subject(shard, "part", name, ">")
        await self._link.purge(self._link.state, subject)

    async def discard_parts(self, shard: str, name: str) -> None:
        """Forget what nobody refers to; where that fails, it is left over."""
        if name:
            with suppress(JournalError):
                await self.delete_parts(shard, name)

    async def unused(self, shard: str, use: str, before: int, used: Collection[str]) -> set[str]:
        """Return the names of parts with a lower number than `before` that are not in use."""
        start = self._link.state_subject(shard, "part", "")
        subjects = await self._link.subjects(self._link.state, f"{start}>")
        names = {each.removeprefix(start).partition(".")[0] for each in subjects}
        return {each for each in names if _number_of(each, use, before) < before} - set(used)

    async def look(self, shard: str, name: str, kind: type[list[_Item]]) -> tuple[int, list[_Item]]:
        """Return the revision of a list, 0 if it was never stored, and the list.

        Raises:
            JournalCorrupt: It is damaged.
        """
        subject, seen = self._link.state_subject(shard, name), 0
        while True:
            message = await self._link.last_message(self._link.state, subject)
            if message is None:
                return 0, []
            line, _, body = message.data.partition(b"\n")
            # A name that is none is damage, which the checksum shows.
            if parts := PARTS.fullmatch(line[9:].decode(errors="replace")):
                self._parted.add(subject)
                body = await self.get_parts(shard, parts[0]) or b""
            if line[:8] == b"%08x" % crc32(body, crc32(subject.encode())):
                return message.seq, msgspec.json.decode(body, type=kind)
            # Its parts may have gone when another one took its place.
            if message.seq == seen:
                raise JournalCorrupt(
                    f"the list of {name} of shard {shard!r} fails its checksum: keep the streams "
                    "for inspection and restore a copy"
                )
            seen = message.seq


def _whole_number(message: NatsMessage | None) -> int:
    """Return what a witness says; one that cannot be read counts as none."""
    if message is None or not message.data.isdigit():
        return 0
    return int(message.data)


def _number_of(name: str, use: str, otherwise: int) -> int:
    """Return the number in the name of parts, or another one if they have a different use."""
    found = re.fullmatch(rf"[0-9a-f]+-{use}([0-9]+)-[0-9]+", name)
    return int(found[1]) if found else otherwise


def changed_by_others(shard: str, name: str) -> JournalUnavailable:
    """Return the error for a list that never stood still."""
    return JournalUnavailable(
        f"the {name} of shard {shard!r} were changed by others {ATTEMPTS} times: try again"
    )


def cut_off(shard: str, last_seq: int) -> JournalCorrupt:
    """Return the error for a log that lacks its tail."""
    return JournalCorrupt(
        f"the log of shard {shard!r} ends at record {last_seq}, but later ones were acknowledged: "
        "its tail is lost, keep the streams for inspection and restore a copy"
    )
