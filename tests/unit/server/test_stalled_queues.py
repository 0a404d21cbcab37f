"""A queue stands still when those who wait could play and do not; an odd pool is no alarm."""

import asyncio
from collections.abc import Iterable

import msgspec
import pytest

import evenmatch
from evenmatch.config.server import ServerSettings
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Cancel, Configure, Enqueue
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating, Ticket
from evenmatch.server.runtime.clock import Clock
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import assemble
from evenmatch.server.views.stalled_queues import SECONDS_LEAST, TIMES_USUAL, StalledQueues

DUEL = Queue("duel", policy="tests.unit.server.test_stalled_queues.never", wait_max=100.0)
LIMIT = 20.0 * TIMES_USUAL


@evenmatch.policy()
def never(pool: object, now: float) -> list[list[Ticket]]:
    """Make no match."""
    return []


class World:
    """A server whose time passes when it is told to."""

    def __init__(self, *queues: Queue) -> None:
        self.parts = assemble(ShardPlan(queues, settings=ServerSettings()), MemoryJournal())
        self.runtime = self.parts.runtime
        self.standstills = StalledQueues(self.runtime, self.parts.statistics)
        self._now = 0.0

    async def begin(self) -> None:
        await self.runtime.start()
        self.runtime.clock = Clock(self.runtime.now(), monotonic=lambda: self._now)

    async def enter(self, *new: NewTicket) -> None:
        await self.runtime.ask(Enqueue(self.runtime.now(), new))

    def wait(self, seconds: float) -> None:
        self._now += seconds


def players(count: int, *roles: str, **attributes: str) -> list[NewTicket]:
    return [
        NewTicket((Player(f"{roles}{attributes}{number}", roles=roles),), attributes=attributes)
        for number in range(count)
    ]


def rated(means: Iterable[float]) -> list[NewTicket]:
    return [NewTicket((Player(f"r{mean}", Rating(mean, 50.0)),)) for mean in means]


def seen(queue: Queue, new: list[NewTicket], wait: float = LIMIT + 1.0) -> int:
    """Return how many matches a queue could make that has waited so long; 0 if it is no alarm."""

    async def main() -> int:
        world = World(queue)
        await world.begin()
        await world.enter(*new)
        world.wait(wait)
        found = world.standstills.of("duel")
        await world.runtime.stop()
        return 0 if found is None else found.matches

    return asyncio.run(main())


def test_pool_of_three_matches_that_makes_none_for_long() -> None:
    assert seen(DUEL, players(6)) == 3
    assert seen(DUEL, players(6), LIMIT - 1.0) == 0
    assert seen(DUEL, players(5)) == 0
    assert seen(DUEL, []) == 0


@pytest.mark.parametrize(
    ("queue", "new", "matches"),
    [
        (Format((5, 5), party_sizes=(1,)), players(171), 17),
        (Format((5, 5), party_sizes=(1,)), players(29), 0),
        (Format((1, 1), sides=("A", "B")), players(50, side="A"), 0),
        (Format((1, 1), sides=("A", "B")), players(50, side="A") + players(4, side="B"), 4),
        (Format((2, 2), party_sizes=(1,), roles=(("tank", 1), ("dps", 1))), players(40, "dps"), 0),
        (
            Format((2, 2), party_sizes=(1,), roles=(("tank", 1), ("dps", 1))),
            players(40, "dps") + players(7, "tank"),
            3,
        ),
    ],
)
def test_matches_are_counted_by_players_sides_and_roles(
    queue: Format, new: list[NewTicket], matches: int
) -> None:
    assert seen(msgspec.structs.replace(DUEL, format=queue), new) == matches


def test_players_whom_a_rule_keeps_apart_are_no_alarm_until_it_lets_them() -> None:
    apart = msgspec.structs.replace(DUEL, rules=(Rule("same", "mode"),))
    modes = [each for number in range(20) for each in players(1, mode=f"m{number}")]
    assert seen(apart, modes) == 0
    assert seen(apart, players(8, mode="one") + modes) == 4
    wide = Rule("spread", "rating", limit=10.0, expand=Expansion(rate=1.0))
    widening = msgspec.structs.replace(DUEL, rules=(wide,), wait_max=None)
    ladder = rated(1000.0 + 400.0 * number for number in range(10))
    limit = 60.0 * TIMES_USUAL
    assert seen(widening, ladder, limit + 1.0) == 0
    assert seen(widening, ladder, limit + 4000.0) == 5


def test_what_is_usual_is_learnt_from_the_matches() -> None:
    async def main() -> None:
        quick = Queue("duel", format=Format((2, 2)), policy="greedy")
        world = World(quick)
        await world.begin()
        engine = world.runtime.engine
        assert world.standstills.limit("duel", engine) == 60.0 * TIMES_USUAL
        await world.enter(*players(3, mode="a"))
        world.wait(40.0)
        await world.enter(*players(3, mode="b"))
        world.wait(40.0)
        await world.enter(*players(3, mode="c"))
        assert world.parts.statistics.usual_wait("duel") == 40.0
        assert world.standstills.limit("duel", engine) == 40.0 * TIMES_USUAL
        for number in range(3):
            await world.enter(*players(4, mode=f"at once {number}"))
        assert world.standstills.limit("duel", engine) == SECONDS_LEAST
        await world.runtime.stop()

    asyncio.run(main())


def test_queue_that_is_paused_has_an_alarm_of_its_own_and_begins_anew_afterwards() -> None:
    async def main() -> None:
        lasting = msgspec.structs.replace(DUEL, wait_max=None)
        limit = 60.0 * TIMES_USUAL
        world = World(lasting)
        await world.begin()
        await world.enter(*players(6))
        world.wait(limit + 1.0)
        assert world.standstills.of("duel") is not None
        await world.runtime.ask(Configure(world.runtime.now(), (lasting,), 1, 2, ("duel",)))
        assert world.standstills.of("duel") is None
        world.wait(limit + 1.0)
        await world.runtime.ask(Configure(world.runtime.now(), (lasting,), 1, 3))
        assert world.standstills.of("duel") is None
        world.wait(limit + 1.0)
        assert world.standstills.of("duel") is not None
        # With one player less there are no three matches, and the time begins anew.
        await world.runtime.ask(Cancel(world.runtime.now(), "s0-1"))
        assert world.standstills.of("duel") is None
        await world.enter(*players(1, mode="new"))
        assert world.standstills.of("duel") is None
        await world.runtime.stop()

    asyncio.run(main())


def test_target_of_a_queue_says_what_is_usual() -> None:
    targeted = msgspec.structs.replace(DUEL, target_wait=15.0)
    assert seen(targeted, players(6), 15.0 * TIMES_USUAL + 1.0) == 3
    assert seen(targeted, players(6), 15.0 * TIMES_USUAL - 1.0) == 0


def test_policy_with_an_aim_says_what_is_usual() -> None:
    async def main() -> None:
        even = Criterion("imbalance", "rating", scale=Scale(max=1000.0))
        squad = Queue("duel", format=Format((2, 2)), criteria=(even,), policy="rolling")
        other = msgspec.structs.replace(squad, name="other", policy="rolling:target_wait=40")
        world = World(squad, other)
        await world.begin()
        engine = world.runtime.engine
        assert world.standstills.limit("duel", engine) == 15.0 * TIMES_USUAL
        assert world.standstills.limit("other", engine) == 40.0 * TIMES_USUAL
        await world.runtime.stop()

    asyncio.run(main())
