"""The journal kit on the NATS journal, on a real server."""

import asyncio
import itertools
import os
from base64 import b64decode

import msgspec
import nats
import pytest
from nats.aio.client import Client

from evenmatch.journals.base import Journal
from evenmatch.journals.nats import NatsHead, NatsJournal
from evenmatch.testing.journals import Damage, check_journal, flip_bit
from tests.journal_servers import NatsServer

pytestmark = pytest.mark.xdist_group("nats")


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now

    async def wait(self, seconds: float) -> None:
        self.now += seconds


async def call(client: Client, name: str, **asked: object) -> dict[str, object]:
    message = await client.request(f"$JS.API.{name}", msgspec.json.encode(asked), timeout=5.0)
    answer: dict[str, object] = msgspec.json.decode(message.data)
    return answer


async def messages(client: Client, stream: str, subject: str) -> list[bytes]:
    """Return the messages of a subject."""
    found, at = [], 1
    while True:
        answer = await call(client, f"STREAM.MSG.GET.{stream}", seq=at, next_by_subj=subject)
        if "error" in answer:
            return found
        message = msgspec.convert(answer["message"], dict[str, object])
        found.append(b64decode(str(message.get("data", ""))))
        at = int(str(message["seq"])) + 1


def head_of(data: bytes) -> NatsHead:
    return msgspec.json.decode(data.partition(b"\n")[0][8:], type=NatsHead)


def harmed(body: bytes, how: Damage) -> bytes:
    return body[: len(body) // 2] if how == "tear" else flip_bit(body, 4 * len(body))


async def damage_nats(journal: Journal, shard: str, how: Damage, seq: int) -> None:
    """Harm the batch that holds the record: write the log anew, with the damage in it."""
    assert isinstance(journal, NatsJournal)
    client = await nats.connect(journal.address)
    try:
        if how == "snapshot":
            await damage_snapshot(client, journal.name, shard, seq)
            return
        stream, subject = f"{journal.name}-log", f"{journal.name}-log.{shard}"
        log = await messages(client, stream, subject)
        heads = [head_of(data) for data in log]
        at = next(n for n, each in enumerate(heads) if each.first_seq <= seq <= each.last_seq
                  and each.kind == "batch")  # fmt: skip
        if how == "cut":
            del log[at:]
        elif how == "drop":
            del log[at]
        elif how == "swap":
            # The heads stay, so that each batch stands where the other one should be.
            one, two = log[at], log[at + 1]
            log[at] = one.partition(b"\n")[0] + b"\n" + two.partition(b"\n")[2]
            log[at + 1] = two.partition(b"\n")[0] + b"\n" + one.partition(b"\n")[2]
        else:
            line, _, body = log[at].partition(b"\n")
            log[at] = line + b"\n" + harmed(body, how)
        await call(client, f"STREAM.PURGE.{stream}", filter=subject)
        for data in log:
            await client.request(subject, data, timeout=5.0)
    finally:
        await client.close()


async def damage_snapshot(client: Client, name: str, shard: str, seq: int) -> None:
    stream = f"{name}-state"
    (index,) = await messages(client, stream, f"{stream}.{shard}.snapshots")
    kept = msgspec.json.decode(index.partition(b"\n")[2])
    parts = next(each["parts"] for each in kept if each["sequence"] == seq)
    subject = f"{stream}.{shard}.part.{parts}.0"
    (body,) = await messages(client, stream, subject)
    await client.request(subject, flip_bit(body, 4 * len(body)), timeout=5.0)


def test_nats_journal_keeps_every_promise(nats_server: NatsServer) -> None:
    clock, count, run = Clock(), itertools.count(), os.urandom(4).hex()

    def open_as(name: str) -> NatsJournal:
        return NatsJournal(nats_server.url, name=name, wall=clock, clock=clock)

    async def reopen(journal: Journal) -> Journal:
        assert isinstance(journal, NatsJournal)
        await journal.close()
        return open_as(journal.name)

    asyncio.run(
        check_journal(
            lambda: open_as(f"kit-{run}-{next(count)}"),
            reopen=reopen,
            damage=damage_nats,
            wait=clock.wait,
        )
    )
