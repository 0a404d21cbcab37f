"""A data directory as a server leaves it, and what a new start makes of one."""

from __future__ import annotations

import asyncio
import io
import shutil
import time
import tomllib
import traceback
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import msgspec
import structlog

from evenmatch.config.files import server_of
from evenmatch.engine.state.snapshot import state_hash
from evenmatch.errors import MatchmakingError
from evenmatch.model.inputs import Cancel, Enqueue
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.server.auth.keys import FILE_NAME, new_key, write_keys
from evenmatch.server.operations.versions import changeable
from evenmatch.server.runtime.clock import Clock
from evenmatch.server.runtime.games import Games, game
from evenmatch.server.runtime.logs import log
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.runtime.time_notes import TimeNotes

CONFIG = """
[[queue]]
name = "duel"
policy = "window:limit=100"
wait_max = 600.0

[server]
guests = true
"""
CHANGED = CONFIG.replace("limit=100", "limit=120")
TICKETS = 60
CANCELLED = 7
"""Each so many tickets are cancelled again, where they wait."""
SNAPSHOT_EVERY = 25
BORN = 12_345.0
"""Engine time at the start, seconds."""
LATE_MOST = 65.0
"""Seconds that engine time may go on from one server to the next: a minute and a slow start."""


class Truth(NamedTuple):
    """What was acknowledged.

    Args:
        state: Digest of all tickets and matches.
        sequence: Of the last record.
        now: Engine time.
        live: The text of a key that counts.
        revoked: The text of one that counts no more.
    """

    state: str
    sequence: int
    now: float
    live: str
    revoked: str


class Outcome(NamedTuple):
    """What became of a start: all is there, or a sentence, or something that is wrong."""

    is_whole: bool = False
    refusal: str = ""
    wrong: str = ""


def leave_data(folder: Path) -> dict[str, tuple[Path, Truth]]:
    """Return data directories by how they were left, each with what was acknowledged there.

    `earlier`, beside them, is a copy of the time before.
    """
    return asyncio.run(_leave(folder))


async def _leave(folder: Path) -> dict[str, tuple[Path, Truth]]:
    data = folder / "data"
    data.mkdir(parents=True)
    (folder / "config.toml").write_text(CONFIG)
    live, revoked = _make_keys(data)
    games = Games((game(plan_of(data)),), snapshot_every=SNAPSHOT_EVERY)
    await games.start()
    runtime, operator = games.services[0].runtime, games.services[0].operator
    # As old as if it had run for hours: then a wrong digit of its time is much.
    runtime.clock = Clock(BORN)
    await _play(runtime, 0, TICKETS // 2)
    shutil.copytree(data, folder / "earlier")
    await operator.change(tomllib.loads(CHANGED), by="PUT /v1/config")
    await _play(runtime, TICKETS // 2, TICKETS)
    TimeNotes(runtime.plan.data, runtime.time_note).end()
    tables = runtime.engine.tables
    truth = Truth(state_hash(runtime.engine), tables.sequence, runtime.now(), live, revoked)
    shutil.copytree(data, folder / "killed")
    await games.stop()
    return {"killed": (folder / "killed", truth), "stopped": (data, truth)}


def plan_of(data: Path) -> ShardPlan:
    """Return the plan of a start on a data directory, with the CONFIG file beside it."""
    document = tomllib.loads(CONFIG)
    queues, settings, seed = server_of(document)
    file = data.parent / "config.toml"
    return ShardPlan(queues, seed, settings, file=file, document=changeable(document), data=data)


def _make_keys(data: Path) -> tuple[str, str]:
    """Write a file of two keys and return their texts: one counts, one is revoked."""
    now = time.time()
    live, text = new_key("backend", ("tickets", "read"), now=now)
    former, old = new_key("former", ("tickets", "operate"), now=now)
    write_keys(data / FILE_NAME, (live, msgspec.structs.replace(former, revoked=now)))
    return text, old


async def _play(runtime: Runtime, first: int, end: int) -> None:
    """Create tickets, of which most pairs match, and cancel some that wait."""
    for number in range(first, end):
        rating = Rating(1_000.0 + 1_000.0 * (number // 3))
        new = NewTicket((Player(f"player-{number}", rating),))
        (view,) = await runtime.ask(Enqueue(runtime.now(), (new,)))
        if number % CANCELLED == 0 and view.id in runtime.engine.tables.waiting:
            await runtime.ask(Cancel(runtime.now(), view.id))


def outcome_of(data: Path, truth: Truth) -> Outcome:
    """Start a server's engine on a data directory, with all that `serve` reads, and judge it."""
    try:
        with patch.object(log, "_logger", structlog.PrintLogger(io.StringIO())):
            return asyncio.run(_start(data, truth))
    except MatchmakingError as error:
        text = str(error)
        if not text or "\n" in text:
            return Outcome(wrong=f"no sentence: {text!r}")
        return Outcome(refusal=text)
    except Exception:  # noqa: BLE001 - whatever comes, an operator would see a traceback.
        return Outcome(wrong=traceback.format_exc())


async def _start(data: Path, truth: Truth) -> Outcome:
    given = game(plan_of(data))
    games = Games((given,), snapshot_every=SNAPSHOT_EVERY)
    await games.start()
    try:
        runtime = games.services[0].runtime
        if wrong := _wrong_with(runtime, truth):
            return Outcome(wrong=wrong)
        ring, now = given.accounts.ring, time.time()
        if not given.accounts.is_keyed or ring.principal(truth.revoked, now) is not None:
            return Outcome(wrong="lets in who has no key that counts")
        # It goes on, too: what comes next gets a number of its own and is kept.
        new = NewTicket((Player("new", Rating(9e5)),))
        (view,) = await runtime.ask(Enqueue(runtime.now(), (new,)))
        if view.id != f"s0-{TICKETS + 1}":
            return Outcome(wrong=f"the next ticket is {view.id}")
    finally:
        await games.stop()
    return Outcome(is_whole=True)


def _wrong_with(runtime: Runtime, truth: Truth) -> str:
    """Return what is not as it was acknowledged."""
    tables, now = runtime.engine.tables, runtime.now()
    if tables.sequence != truth.sequence:
        return f"{tables.sequence} records, not {truth.sequence}"
    if state_hash(runtime.engine) != truth.state:
        return "tickets, matches or queues are others"
    if not tables.now <= now <= truth.now + LATE_MOST:
        return f"engine time is {now}, and it was {truth.now}"
    return ""
