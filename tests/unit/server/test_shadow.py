"""A shadow: the same tickets under another policy, counted; the live shard never knows."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.shadow import extract
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Advance, Cancel, Configure, Enqueue, Input
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Format, Queue, ReadyCheck, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.policies.base import NOTHING, Decision
from evenmatch.ratings.periods import rate_period
from evenmatch.server.runtime.recovery import ShardPlan, resolve
from evenmatch.server.runtime.services import Services, assemble
from evenmatch.server.views import shadow as shadows_module
from evenmatch.server.views.shadow import Shadow, figures_of
from evenmatch.wire.operate import WorldFigures
from tests.waiting import until

CLOSE = Criterion("spread", "rating", scale=Scale(min=1000.0, max=2000.0))
DUEL = Queue(name="duel", policy="greedy", shadow="window:limit=50", criteria=(CLOSE,))


def new(player: str, rating: float) -> NewTicket:
    return NewTicket((Player(player, Rating(rating)),), ("duel",))


class Live:
    """A live engine whose durable records a shadow hears."""

    def __init__(self, queue: Queue = DUEL) -> None:
        self.shadow: Shadow | None = None
        self.engine = Engine(resolve, rate=rate_period)
        self.step(Configure(0.0, (queue,)))

    def step(self, given: Input) -> None:
        while (at := self.engine.next_wakeup) < given.now:
            self._tell(self.engine.step(Advance(at)))
        self._tell(self.engine.step(given))

    def _tell(self, record: Record) -> None:
        if self.shadow is not None and record.sequence:
            self.shadow.hear(record)

    def begin(self) -> None:
        self.shadow = Shadow(extract(self.engine.tables))

    def figures(self) -> tuple[WorldFigures, WorldFigures]:
        """Return those of the live world and of the shadow."""
        assert self.shadow is not None
        stats = self.shadow.of("duel")
        assert stats is not None
        assert stats.live is not None
        assert stats.shadow is not None
        return stats.live, stats.shadow


def test_ticket_that_the_live_policy_matched_waits_on_in_the_shadow() -> None:
    live = Live()
    live.begin()
    live.step(Enqueue(1.0, (new("ada", 1500.0), new("bob", 1700.0))))
    live.step(Enqueue(5.0, (new("cid", 1510.0), new("dan", 1900.0))))
    real, shadow = live.figures()
    # Live: ada with bob, cid with dan, at once; the shadow takes 50 points at most: ada with cid.
    assert (real.matches, real.players, real.wait_mean) == (2, 4, 0.0)
    assert (shadow.matches, shadow.players, shadow.wait_mean) == (1, 2, 2.0)
    assert (real.waiting, shadow.waiting, shadow.waiting_age) == (0, 2, 2.0)
    assert real.quality_mean == pytest.approx(1 - (0.2 + 0.39) / 2)
    assert shadow.quality_mean == pytest.approx(0.99)


def test_shadow_begins_without_proposed_tickets_whose_queue_is_gone_or_another() -> None:
    checked = msgspec.structs.replace(DUEL, accept=ReadyCheck(seconds=15.0))
    gone, other = (msgspec.structs.replace(checked, name=name) for name in ("gone", "other"))
    live = Live()
    live.step(Configure(1.0, (checked, gone, other), version=2))
    for name in ("gone", "other"):
        pair = (f"{name}1", f"{name}2")
        live.step(
            Enqueue(2.0, tuple(NewTicket((Player(p, Rating(1500.0)),), (name,)) for p in pair))
        )
    live.step(Enqueue(3.0, (new("ada", 1500.0),)))
    assert len(live.engine.tables.proposals) == 2
    trios = Queue(name="other", policy="greedy", format=Format((3, 3), party_sizes=(3,)))
    live.step(Configure(4.0, (DUEL, trios), version=3))
    live.begin()
    live.step(Cancel(5.0, "s0-1"))
    live.step(Enqueue(6.0, (new("bob", 1510.0),)))

    assert live.shadow is not None
    assert list(live.shadow.engine.tables.ended) == ["s0-5", "s0-6"]
    assert figures_of(live.shadow.mine, "other", since=4.0, now=6.0).waiting == 0
    live.shadow.engine.tables._check()


@pytest.mark.parametrize("policy", ["window:limit=0.2,unit=percentile", "window:attribute=elo"])
def test_shadow_begins_without_those_who_lack_what_its_policy_compares(policy: str) -> None:
    live = Live(msgspec.structs.replace(DUEL, policy="window:limit=50", shadow=policy))
    live.step(Enqueue(1.0, (new("ada", 1500.0), new("bob", 1700.0))))
    live.begin()
    live.step(Enqueue(2.0, (new("cid", 1900.0),)))
    live.step(Cancel(3.0, "s0-1"))
    real, shadow = live.figures()
    assert real.waiting == 2
    assert shadow.waiting == (1 if "percentile" in policy else 0)


def test_shadow_begins_with_those_who_wait_and_their_age() -> None:
    live = Live(msgspec.structs.replace(DUEL, policy="window:limit=10"))
    live.step(Enqueue(1.0, (new("ada", 1500.0),)))
    live.begin()
    live.step(Enqueue(11.0, (new("bob", 1540.0),)))
    real, shadow = live.figures()
    assert (shadow.matches, shadow.wait_mean, real.matches) == (1, 5.0, 0)


def test_cancel_counts_in_both_worlds_and_comes_too_late_where_a_match_was_first() -> None:
    live = Live(msgspec.structs.replace(DUEL, policy="window:limit=10"))
    live.begin()
    live.step(Enqueue(1.0, (new("ada", 1500.0), new("bob", 1540.0), new("cid", 1900.0))))
    for ticket in ("s0-1", "s0-3"):
        live.step(Cancel(2.0, ticket))
    real, shadow = live.figures()
    assert (shadow.matches, shadow.waiting, real.waiting) == (1, 0, 1)


def test_player_who_comes_back_while_he_waits_in_the_shadow_is_merged_there() -> None:
    live = Live()
    live.begin()
    for now in (1.0, 600.0):
        live.step(Enqueue(now, (new("ada", 1500.0), new("bob", 1700.0))))
    _, shadow = live.figures()
    assert live.shadow is not None
    assert (live.shadow.merged, shadow.waiting, shadow.matches) == (2, 2, 0)


def test_timers_jobs_and_deadlines_of_the_shadow_fire_at_their_own_instants() -> None:
    rounds = msgspec.structs.replace(DUEL, shadow="rounds:every=10", wait_max=25.0)
    live = Live(rounds)
    live.begin()
    live.step(Enqueue(1.0, (new("ada", 1500.0), new("bob", 1600.0))))
    live.step(Enqueue(40.0, (new("cid", 1500.0),)))
    live.step(Enqueue(70.0, (new("dan", 1500.0),)))
    _, shadow = live.figures()
    assert (shadow.matches, shadow.expired) == (1, 1)
    assert shadow.wait_mean is not None
    assert 0.0 <= shadow.wait_mean <= 10.0


def test_ticket_without_a_rating_has_the_one_that_the_live_server_knew() -> None:
    rated = msgspec.structs.replace(DUEL, policy="window:limit=10", rating="elo")
    live = Live(rated)
    live.begin()
    live.step(Enqueue(1.0, (NewTicket((Player("ada"),), ("duel",)), new("bob", 1530.0))))
    _, shadow = live.figures()
    assert (shadow.matches, shadow.quality_mean) == (1, pytest.approx(0.97))


def test_matches_of_the_shadow_need_no_acceptance() -> None:
    live = Live(msgspec.structs.replace(DUEL, accept=ReadyCheck(), shadow="greedy"))
    live.begin()
    live.step(Enqueue(1.0, (new("ada", 1500.0), new("bob", 1700.0))))
    real, shadow = live.figures()
    assert (shadow.matches, real.matches) == (1, 0)


@pytest.mark.parametrize("given", [{"backfill": "automatic"}, {"allocation": "fleet"}])
def test_nobody_joins_matches_of_the_shadow_nor_finds_them_a_server(given: dict[str, str]) -> None:
    pairs = Format((2, 2), players_min=(1, 1))
    live = Live(msgspec.structs.replace(DUEL, format=pairs, wait_max=5.0, shadow="greedy", **given))
    live.begin()
    assert live.shadow is not None
    live.step(Enqueue(1.0, (new("ada", 1500.0), new("bob", 1500.0))))
    live.step(Enqueue(7.0, (new("cid", 1500.0),)))
    live.step(Advance(8.0))
    _, shadow = live.figures()
    assert (shadow.matches, shadow.waiting) == (1, 1)
    world = live.shadow.engine
    assert not world.tables.rosters
    assert not any(row.live for row in world.tables.matches.values())


def test_shadow_knows_who_played_with_whom_before_it_began() -> None:
    once = Rule("pair_limit", "meetings", limit=1, within=3_600.0)
    live = Live(msgspec.structs.replace(DUEL, shadow="greedy", rules=(once,)))
    live.step(Enqueue(1.0, (new("ada", 1500.0), new("bob", 1510.0))))
    live.begin()
    assert live.shadow is not None
    live.step(Enqueue(2.0, (new("ada", 1500.0), new("bob", 1510.0))))
    live.step(Enqueue(3.0, (new("cid", 1500.0), new("dan", 1510.0))))
    real, shadow = live.figures()
    assert (real.matches, shadow.matches) == (2, 2), "each plays with somebody new"
    theirs = live.shadow.engine.tables.matches.values()
    assert all({"s0-3", "s0-4"} != set(kept.match.tickets) for kept in theirs)
    assert len(live.engine.tables.played["default"].rows) == 3


class Faulty:
    """A policy that fails as soon as somebody waits."""

    def matcher(self, queue: Queue, *, seed: int, memory: object = None) -> Any:
        return _FaultyMatcher()


class _FaultyMatcher:
    def enter(self, entry: object, now: float) -> None:
        raise RuntimeError("a shadow that fails")

    def leave(self, entry_id: str, now: float) -> None: ...

    def decide(self, now: float, fired: bool = False) -> Decision:
        return NOTHING

    def memory(self) -> dict[str, object]:
        return {}


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            await scene()

    asyncio.run(bounded())


async def started(queue: Queue) -> Services:
    parts = assemble(ShardPlan((queue,)), MemoryJournal())
    await parts.runtime.start()
    return parts


async def enqueue(parts: Services, player: str, rating: float) -> None:
    await parts.runtime.ask(Enqueue(parts.runtime.now(), (new(player, rating),)))


def test_shadow_of_a_server_begins_when_it_is_set_and_leaves_the_live_matcher_alone() -> None:
    async def scene() -> None:
        parts = await started(msgspec.structs.replace(DUEL, shadow=None, policy="window:limit=10"))
        await enqueue(parts, "ada", 1500.0)
        pool = parts.runtime.engine.pools["duel"]
        assert parts.shadows.of("duel") is None
        await parts.operator.set_shadow("duel", "window:limit=50", by="test")
        await enqueue(parts, "bob", 1540.0)

        def matched() -> bool:
            stats = parts.shadows.of("duel")
            return stats is not None and stats.shadow is not None and stats.shadow.matches == 1

        await until(matched)
        await parts.operator.set_shadow("duel", None, by="test")
        assert parts.shadows.of("duel") is None
        assert parts.runtime.engine.pools["duel"] is pool
        await parts.runtime.stop()

    play(scene)


def test_shadow_that_fails_is_dropped_and_the_live_matches_are_the_same() -> None:
    async def matches_with(shadow: str | None) -> tuple[Services, list[Match]]:
        parts = await started(msgspec.structs.replace(DUEL, shadow=shadow))
        for number in range(20):
            await parts.runtime.ask(Enqueue(1.0 + number, (new(f"p{number}", 1500.0 + number),)))
        kept = parts.runtime.engine.tables.matches.values()
        return parts, [each.match for each in kept]

    async def scene() -> None:
        parts, matches = await matches_with(f"{__name__}.Faulty")
        plain, same = await matches_with(None)
        assert len(matches) == 10
        assert matches == same

        def reason() -> str:
            stats = parts.shadows.of("duel")
            return str(stats.reason) if stats is not None else ""

        await until(lambda: "a shadow that fails" in reason())
        for each in (parts, plain):
            await each.runtime.stop()

    play(scene)


def test_shadow_that_lags_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Shadow):
        def hear(self, record: Record) -> None:
            time.sleep(0.2)

    monkeypatch.setattr(shadows_module, "Shadow", Slow)

    async def scene() -> None:
        parts = await started(DUEL)
        parts.shadows._lag_max = 5
        for number in range(12):
            await enqueue(parts, f"p{number}", 1500.0)
        stats = parts.shadows.of("duel")
        assert stats is not None
        assert "5 records behind" in str(stats.reason)
        assert parts.runtime.engine.tables.counters.matches == 6
        await parts.runtime.stop()

    play(scene)
