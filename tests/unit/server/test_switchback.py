"""Policies that take turns: whose turn it is, the switch itself, and how they are compared."""

import asyncio
import math
import statistics

import msgspec
import pytest

from evenmatch.config.files import parse_server
from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import TicketLifecycle
from evenmatch.errors import ConfigError
from evenmatch.forecast.student import student_t
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Cancel, Configure, Enqueue
from evenmatch.model.queue import Criterion, Queue, Scale, Switchback
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.server.runtime.recovery import ShardPlan, foresee_against, resolve
from evenmatch.server.runtime.services import assemble
from evenmatch.server.views.switchback import Switchbacks, arm_of, next_turn, with_current_policies

TURNS = Switchback(("window:limit=500", "window:limit=50"), block=100.0, seed=3, trim=0.2)
CLOSE = Criterion("spread", "rating", scale=Scale(min=1000.0, max=2000.0))
DUEL = Queue(name="duel", policy="window:limit=500", criteria=(CLOSE,), switchback=TURNS)


def new(player: str, rating: float) -> NewTicket:
    return NewTicket((Player(player, Rating(rating)),), ("duel",))


@pytest.mark.parametrize("count", [2, 3])
def test_each_round_has_every_policy_once_and_rounds_differ(count: int) -> None:
    turns = Switchback(tuple(f"p{n}" for n in range(count)), seed=5)
    rounds = [
        tuple(arm_of(turns, block, "duel") for block in range(start, start + count))
        for start in range(0, 40 * count, count)
    ]
    assert all(sorted(each) == list(range(count)) for each in rounds)
    assert len(set(rounds)) == math.factorial(count)


def test_order_depends_on_the_seed_and_on_the_queue() -> None:
    def order(seed: int, name: str) -> list[int]:
        return [arm_of(Switchback(("a", "b"), seed=seed), block, name) for block in range(40)]

    assert order(1, "duel") == order(1, "duel")
    assert order(1, "duel") != order(2, "duel")
    assert order(1, "duel") != order(1, "squad")


def test_policy_in_force_and_the_next_turn_follow_engine_time() -> None:
    plain = Queue(name="squad")
    for now in (0.0, 99.9, 100.0, 250.0):
        duel, squad = with_current_policies((DUEL, plain), now)
        assert duel.policy == TURNS.policies[arm_of(TURNS, int(now // 100.0), "duel")]
        assert squad == plain
        assert next_turn((DUEL, plain), now) == 100.0 * (now // 100.0 + 1)
    assert next_turn((plain,), 5.0) == math.inf


def test_turn_of_a_server_is_one_record_and_a_restart_knows_whose_turn_it_is() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        parts = assemble(ShardPlan((DUEL,)), journal)
        runtime = parts.runtime
        await runtime.start()
        sequence, version = runtime.engine.tables.sequence, runtime.engine.tables.version
        await parts.operator.take_turns()
        assert runtime.engine.tables.sequence == sequence, "it is the same block"
        # Time goes on to the first block that another policy has.
        first = arm_of(TURNS, 0, "duel")
        block = next(b for b in range(1, 9) if arm_of(TURNS, b, "duel") != first)
        runtime.clock._start += block * 100.0
        watch = asyncio.create_task(parts.operator.watch_turns())
        while runtime.engine.tables.sequence == sequence:
            await asyncio.sleep(0.01)
        watch.cancel()
        tables = runtime.engine.tables
        assert (tables.sequence, tables.version) == (sequence + 1, version)
        assert tables.queues["duel"].policy == TURNS.policies[1 - first]
        await runtime.stop()
        parts = assemble(ShardPlan((DUEL,)), journal.reopen())
        await parts.runtime.start()
        tables = parts.runtime.engine.tables
        assert tables.queues["duel"].policy == TURNS.policies[1 - first]
        assert tables.sequence == sequence + 1
        with pytest.raises(ConfigError, match="has a switchback"):
            await parts.operator.set_policy("duel", "greedy", by="test")
        await parts.runtime.stop()

    asyncio.run(asyncio.wait_for(scene(), 20.0))


class World:
    """An engine whose policies take turns, and the figures about them."""

    def __init__(self) -> None:
        self.engine, self.figures = Engine(resolve), Switchbacks()
        self._lifecycle = TicketLifecycle([self.figures])
        self._block = -1
        self._take_turn(0.0)
        self._lifecycle.reset(self.engine)

    def pair(self, now: float, gap: float, wait: float = 0.0) -> None:
        """Let two players come, the second `wait` seconds after the first; cancel who waits on."""
        name = f"{now}"
        for at, player, rating in ((now, "a", 1500.0), (now + wait, "b", 1500.0 + gap)):
            self._take_turn(at)
            self._step(Enqueue(at, (new(name + player, rating),)))
        for ticket in list(self.engine.tables.waiting):
            self._step(Cancel(now + wait, ticket))

    def _take_turn(self, now: float) -> None:
        if int(now // 100.0) != self._block:
            self._block = int(now // 100.0)
            self._step(Configure(now, with_current_policies((DUEL,), now)))

    def _step(self, given: Configure | Enqueue | Cancel) -> None:
        self._lifecycle.hear(self.engine.step(given))


def test_turn_that_came_meanwhile_is_no_other_configuration() -> None:
    async def scene() -> list[str]:
        plan, journal = ShardPlan((DUEL,)), MemoryJournal()
        runtime = assemble(plan, journal).runtime
        await runtime.start()
        tables = runtime.engine.tables
        queues, version = tuple(tables.queues.values()), tables.version + 1
        by = "PUT /v1/config"
        await runtime.ask(Configure(runtime.now(), queues, plan.seed, version, (), by))
        (other,) = set(TURNS.policies) - {queues[0].policy}
        # As the journal would be if the server had ended in the block before.
        queues = (msgspec.structs.replace(queues[0], policy=other),)
        await runtime.ask(Configure(runtime.now(), queues, plan.seed, version, (), by))
        await runtime.stop()
        changed = (msgspec.structs.replace(DUEL, wait_max=9.0),)
        plans = plan, msgspec.structs.replace(plan, queues=changed)
        return [(await foresee_against(journal.reopen(), each)).set_by for each in plans]

    assert asyncio.run(scene()) == ["", "PUT /v1/config"]


def test_figures_by_policy_and_their_difference_with_its_interval() -> None:
    world = World()
    waits: dict[int, list[float]] = {0: [], 1: []}
    for block in range(6):
        arm = arm_of(TURNS, block, "duel")
        wait = 2.0 + 3.0 * arm + block
        waits[arm].append(wait / 2)
        world.pair(block * 100.0 + 30.0, 20.0, wait)
    stats = world.figures.of("duel", 650.0)
    assert stats is not None
    assert (stats.rounds, stats.block_ends) == (3, 700.0)
    wide, narrow = stats.arms
    assert (wide.policy, wide.blocks, wide.tickets, wide.players) == (TURNS.policies[0], 3, 6, 6)
    assert wide.wait_mean == pytest.approx(statistics.mean(waits[0]))
    assert narrow.wait_mean == pytest.approx(statistics.mean(waits[1]))
    assert wide.quality_mean == pytest.approx(0.98)
    gaps = [b - a for a, b in zip(waits[0], waits[1], strict=True)]
    assert narrow.difference == pytest.approx(statistics.mean(gaps))
    half = student_t(2) * statistics.stdev(gaps) / math.sqrt(3)
    assert narrow.difference_half == pytest.approx(half)
    assert narrow.quality_difference == pytest.approx(0.0)
    assert wide.difference is None


def test_first_part_of_a_block_is_trimmed() -> None:
    world = World()
    for block in range(2):
        world.pair(block * 100.0 + 19.0, 20.0)
    stats = world.figures.of("duel", 200.0)
    assert stats is not None
    assert [arm.tickets for arm in stats.arms] == [0, 0]
    world.pair(220.0, 20.0)
    world.pair(320.0, 20.0)
    stats = world.figures.of("duel", 400.0)
    assert stats is not None
    assert [arm.tickets for arm in stats.arms] == [2, 2]


def test_ticket_counts_for_the_block_in_which_it_came() -> None:
    world = World()
    world.pair(90.0, 20.0, wait=40.0)
    stats = world.figures.of("duel", 200.0)
    assert stats is not None
    first = arm_of(TURNS, 0, "duel")
    assert stats.arms[first].wait_mean == 40.0
    # The other one came within the trimmed part? No: at 130 s, after it.
    assert stats.arms[1 - first].wait_mean == 0.0


def test_blocks_that_were_not_seen_from_their_beginning_are_left_out() -> None:
    figures, engine = Switchbacks(), Engine(resolve)
    engine.step(Configure(0.0, with_current_policies((DUEL,), 0.0)))
    engine.step(Configure(150.0, with_current_policies((DUEL,), 150.0)))
    TicketLifecycle([figures]).reset(engine)
    stats = figures.of("duel", 500.0)
    assert stats is not None
    assert stats.rounds == 1, "of the rounds 0-200, 200-400, 400-600 the middle one alone is whole"


def test_other_turns_begin_anew_and_a_queue_without_them_has_no_figures() -> None:
    world = World()
    world.pair(30.0, 20.0)
    longer = msgspec.structs.replace(DUEL, switchback=msgspec.structs.replace(TURNS, block=50.0))
    world._step(Configure(40.0, (longer,)))
    stats = world.figures.of("duel", 200.0)
    assert stats is not None
    assert sum(arm.tickets for arm in stats.arms) == 0
    world._step(Configure(40.0, (msgspec.structs.replace(DUEL, switchback=None),)))
    assert world.figures.of("duel", 200.0) is None


def test_ticket_that_waited_before_the_turns_changed_adds_nothing_to_the_new_sums() -> None:
    world = World()
    world._step(Enqueue(30.0, (new("a", 1500.0),)))
    longer = msgspec.structs.replace(DUEL, switchback=msgspec.structs.replace(TURNS, trim=0.0))
    world._step(Configure(40.0, (longer,)))
    world._step(Enqueue(41.0, (new("b", 1500.0),)))
    assert world.engine.tables.counters.matches == 1
    (block,) = world.figures._blocks["duel"].values()
    assert (block.tickets, block.players, block.wait) == (1, 1, 0.0)


FILE = '[[queue]]\nname = "duel"\nswitchback = {policies = ["greedy", "patient"], block = 600}\n'


def test_file_names_the_policies() -> None:
    (queue,), _, _ = parse_server(FILE)
    assert queue.switchback == Switchback(("greedy", "patient"), 600.0)
    assert queue.policy == "greedy"
    (queue,), _, _ = parse_server('[[queue]]\nshadow = "patient"')
    assert queue.shadow == "patient"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FILE + 'policy = "greedy"', 'queue "duel", policy contradicts switchback'),
        (FILE.replace(', "patient"', ""), "switchback.policies must have 2 to 10 entries"),
        (FILE.replace("patient", "patiens"), 'switchback.policies[1] = "patiens"'),
        (
            FILE.replace("patient", "window:limit=0.1,unit=percentile"),
            'unit=percentile" and "greedy" do not take the same percentiles among the last tickets',
        ),
        (FILE.replace("600", "0"), "switchback.block must be between"),
        (FILE.replace("600", "600, trim = 0.95"), "switchback.trim must be between 0 and 0.9"),
        ('[[queue]]\nshadow = "patiens"', 'queue "main", shadow = "patiens"'),
    ],
)
def test_turns_that_cannot_be_taken_are_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_server(text)
    assert said in str(refused.value)
