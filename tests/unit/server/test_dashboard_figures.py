"""The fold behind the dashboard: counts, who waits where, percentiles, an hour of history."""

import cProfile
import math
import random

import msgspec
import pytest

from evenmatch.criteria.gaps import KNOWN
from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import TicketLifecycle
from evenmatch.engine.records import Record
from evenmatch.model.inputs import (
    Advance,
    Assign,
    Cancel,
    Configure,
    Decline,
    Enqueue,
    Input,
    Open,
    Update,
    Void,
)
from evenmatch.model.queue import Criterion, Format, Queue, ReadyCheck, Scale
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.ratings.periods import rate_period
from evenmatch.server.dashboard.figures import MADE_MOST, Figures
from evenmatch.server.dashboard.messages import (
    CLAUSES,
    GapShown,
    gap_messages,
    match_message,
    names_of,
)
from evenmatch.server.dashboard.queue_figures import COARSE_MOST, COLUMNS, FINE_MOST, ChartHistory
from evenmatch.server.dashboard.waiting_summary import (
    OTHERS,
    REGIONS_MOST,
    WALK_SHARE,
    ShownTicket,
    WaitingCounts,
    edges_for,
)
from evenmatch.server.views.statistics import Statistics
from evenmatch.testing import builders

RATED = Criterion("spread", "rating", weight=1.0, scale=Scale(min=0.0, max=3000.0))
SLOW = Queue(name="duel", policy="periodic:rounds_of=1000", criteria=(RATED,), wait_max=100.0)
QUICK = Queue(name="duel", policy="greedy", criteria=(RATED,), wait_max=100.0)


class World:
    """An engine whose records are durable at once, and the figures that hear of them."""

    def __init__(self, *queues: Queue, step: float = 1.0) -> None:
        self.engine = Engine(lambda queue: parse_policy(queue.policy), rate=rate_period)
        self.figures = Figures(step)
        lifecycle = TicketLifecycle([self.figures])
        self.heard = [lifecycle.hear]
        lifecycle.reset(self.engine)
        self.give(Configure(0.0, queues))

    def give(self, given: Input) -> Record:
        while self.engine.next_wakeup < given.now:
            self._tell(self.engine.step(Advance(self.engine.next_wakeup)))
        record = self.engine.step(given)
        self._tell(record)
        return record

    def _tell(self, record: Record) -> None:
        for hear in self.heard:
            hear(record)

    def enqueue(self, now: float, *tickets: NewTicket) -> None:
        self.give(Enqueue(now, tickets))

    def row(self, tick: int, queue: str = "duel") -> dict[str, float | None]:
        self.figures.advance(queue, (tick + 1) * self.figures.step)
        table = self.figures.queues[queue].history.fine()
        at = table["tick"].index(tick)
        return {name: values[at] for name, values in table.items()}


def rated(name: str, rating: float, region: str = "eu") -> NewTicket:
    return builders.new_ticket(name, rating, region=region)


def test_a_tick_counts_what_happened_in_it() -> None:
    world = World(SLOW)
    world.enqueue(1.2, rated("a", 1500), rated("b", 1600))
    world.enqueue(1.9, rated("c", 1500))
    world.give(Cancel(2.5, "s0-2"))
    first, second, third = world.row(1), world.row(2), world.row(3)
    assert (first["arrivals"], first["waiting"], first["cancelled"]) == (3, 3, 0)
    assert first["longest"] == pytest.approx(0.8)
    assert (second["arrivals"], second["waiting"], second["cancelled"]) == (0, 2, 1)
    assert (third["arrivals"], third["cancelled"], third["longest"]) == (0, 0, 2.8)


def test_matches_give_waits_and_quality() -> None:
    world = World(QUICK)
    world.enqueue(1.0, rated("a", 1500))
    world.enqueue(5.0, rated("b", 1800))
    row = world.row(5)
    assert (row["matches"], row["players"], row["waiting"]) == (1, 2, 0)
    assert (row["p50"], row["p90"], row["longest"]) == (0, 4, None)
    # The criterion costs 300 of 3000, so quality is 0.9: bar 18 of 20.
    assert world.figures.queues["duel"].qualities == [0] * 18 + [1, 0]
    assert world.row(64)["p50"] == 0
    assert world.row(66)["p50"] is None


def test_rating_that_the_server_filled_in_counts_in_a_match_made_at_once() -> None:
    world = World(msgspec.structs.replace(QUICK, rating="glicko2"))
    world.enqueue(1.0, NewTicket((Player("a"),)), NewTicket((Player("b"),)))
    (made,) = world.figures.made.values()
    shown = match_message(made, world.figures.queues["duel"])
    assert shown.factors is not None
    assert [each.cost for each in shown.factors] == [0.0]


def test_a_match_says_who_waited_and_what_each_criterion_cost() -> None:
    world = World(QUICK)
    world.enqueue(1.0, rated("a", 1500))
    world.enqueue(5.0, rated("b", 1800))
    (made,) = world.figures.made.values()
    shown = match_message(made, world.figures.queues["duel"])
    assert [[party.wait for party in team] for team in shown.teams] == [[4.0], [0.0]]
    assert shown.factors is not None
    assert [(each.name, round(each.cost, 9)) for each in shown.factors] == [
        ("spread of rating", 0.1)
    ]
    assert shown.waiting == pytest.approx(0.04)
    weighted = sum(each.weighted for each in shown.factors)
    assert shown.cost == pytest.approx(weighted + shown.waiting)


def test_a_match_is_told_in_the_units_of_what_is_compared() -> None:
    world = World(QUICK)
    figures = world.figures.queues["duel"]
    assert figures.mean_gaps() == {}
    for number, gap in enumerate((300, 100)):
        world.enqueue(1.0 + number, rated(f"a{number}", 1500))
        world.enqueue(1.5 + number, rated(f"b{number}", 1500 + gap))
    shown = [match_message(made, figures).gaps for made in world.figures.made.values()]
    assert shown == [
        (GapShown("rating: gap", "", 300.0, "300", "rating 300 apart"),),
        (GapShown("rating: gap", "", 100.0, "100", "rating 100 apart"),),
    ]
    assert figures.mean_gaps() == {"rating: gap": 200.0}
    figures.configure(msgspec.structs.replace(QUICK, criteria=()))
    assert figures.mean_gaps() == {}


def test_gaps_are_told_in_clauses_with_their_units() -> None:
    gaps = {
        "skill: team gap": 51.93,
        "latency: worst ping": 120.4,
        "players off their role": 0.021,
        "teams of the same party sizes": 0.0,
        "possible hosts": 2.0,
    }
    assert [(each.shown, each.text) for each in gap_messages(gaps)] == [
        ("51.9", "skill 51.9 apart between teams"),
        ("120 ms", "a worst ping of 120 ms"),
        ("2 %", "2 % of players off their role"),
        ("0 %", "0 % of matches with the same party sizes in all teams"),
        ("2", "possible hosts 2"),
    ]
    of_one = gap_messages(gaps, is_one=True)[3]
    assert (of_one.shown, of_one.text) == ("no", "different party sizes in its teams")


def test_every_clause_is_of_a_gap_that_there_is() -> None:
    assert set(CLAUSES) <= set(KNOWN)


def test_a_match_with_bots_has_no_gaps() -> None:
    bots = msgspec.structs.replace(QUICK, on_deadline="bots", wait_max=10.0)
    world = World(bots)
    world.enqueue(1.0, rated("a", 1500))
    world.give(Advance(11.0))
    (made,) = world.figures.made.values()
    assert made.match.bots == 1
    assert match_message(made, world.figures.queues["duel"]).gaps == ()
    assert world.figures.queues["duel"].mean_gaps() == {}


def test_expired_tickets_are_counted_and_leave() -> None:
    world = World(SLOW)
    world.enqueue(1.0, rated("a", 1500))
    world.give(Advance(101.0))
    assert world.row(101)["expired"] == 1
    assert world.row(101)["waiting"] == 0


def test_a_ticket_of_two_queues_is_seen_in_both_until_it_is_matched() -> None:
    squad = msgspec.structs.replace(SLOW, name="squad")
    world = World(QUICK, squad)
    world.enqueue(1.0, builders.new_ticket("a", 1500, queues=("duel", "squad")))
    assert (world.row(1)["waiting"], world.row(1, "squad")["waiting"]) == (1, 1)
    world.enqueue(2.0, builders.new_ticket("b", 1500, queues=("duel",)))
    assert (world.row(2)["waiting"], world.row(2, "squad")["waiting"]) == (0, 0)
    assert (world.row(2)["players"], world.row(2, "squad")["players"]) == (2, 0)


def test_long_waits_are_counted_from_half_the_deadline() -> None:
    world = World(SLOW)
    world.enqueue(0.0, rated("a", 1500), rated("b", 1500))
    world.enqueue(30.0, rated("c", 1500))
    assert [world.row(tick)["overdue"] for tick in (48, 51, 78, 81)] == [0, 2, 2, 3]
    world.give(Cancel(85.0, "s0-1"))
    assert world.row(85)["overdue"] == 2


def test_heat_shows_regions_and_skills() -> None:
    world = World(SLOW)
    for number in range(40):
        world.enqueue(1.0, rated(f"p{number}", 1000 + 25 * number, "eu" if number % 2 else "us"))
    world.enqueue(1.0, NewTicket((Player("x"),), attributes={"latency": {"asia": 20.0}}))
    heat = world.figures.queues["duel"].waiting.heat()
    assert heat.regions == ("asia", "eu", "us") or heat.regions == ("eu", "us")
    assert sum(map(sum, heat.counts)) + sum(heat.unknown) == len(
        world.figures.queues["duel"].waiting
    )
    assert len(heat.edges) >= 3


def test_crowd_agrees_with_a_naive_count_after_any_moves() -> None:
    rng = random.Random(5)
    crowd = WaitingCounts(SLOW)
    present: dict[str, float] = {}
    for move in range(4_000):
        now = move * 0.05
        if rng.random() < 0.55 or not present:
            at = now if rng.random() < 0.9 else max(0.0, now - rng.random() * 80.0)
            skill = rng.gauss(1500.0, 300.0) if rng.random() < 0.95 else 1e300
            region = rng.choice(["eu", "us", "asia", ""])
            name = f"t{move}"
            crowd.enter(builders.ticket(name, skill, at=at, sequence=move, region=region))
            present[name] = at
        else:
            name = rng.choice(list(present))
            assert crowd.leave(name) is not None
            del present[name]
        overdue = crowd.overdue(now)
        grain = crowd.overdue_after / 100
        late = sum(at < now - crowd.overdue_after for at in present.values())
        early = sum(at < now - crowd.overdue_after - grain for at in present.values())
        assert early <= overdue <= late
    heat = crowd.heat()
    assert sum(map(sum, heat.counts)) == len(crowd) == len(present)
    oldest = crowd.oldest()
    assert oldest is not None
    assert oldest.enqueued_at == min(present.values())


def test_skills_that_only_grow_cost_each_ticket_a_few_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = 0
    place = WaitingCounts._count_place

    def counted(crowd: WaitingCounts, present: ShownTicket, by: int) -> None:
        nonlocal steps
        steps += 1
        place(crowd, present, by)

    monkeypatch.setattr(WaitingCounts, "_count_place", counted)
    crowd = WaitingCounts(SLOW)
    for number in range(20_000):
        crowd.enter(builders.ticket(f"t{number}", 1000.0 * number, sequence=number))
    assert steps <= (2 + 1 / WALK_SHARE) * 20_000
    assert sum(map(sum, crowd.heat().counts)) == 20_000
    assert len(crowd.heat().edges) >= 3


def test_regions_have_a_limit() -> None:
    crowd = WaitingCounts(SLOW)
    for number in range(3 * REGIONS_MOST):
        crowd.enter(builders.ticket(f"t{number}", 1500, region=f"region{number:03}" * 9))
    heat = crowd.heat()
    assert heat.regions[-1] == OTHERS
    assert len(heat.regions) <= 9
    assert sum(map(sum, heat.counts)) == len(crowd)
    for number in range(3 * REGIONS_MOST):
        crowd.leave(f"t{number}")
    assert crowd.heat().regions == ()


@pytest.mark.parametrize(
    "skills", [[0.0], [7.0] * 30, [1e300, -1e300], [5e-324, 0.0], [1e15, 1e15 + 1.0], [-3.0, 9e14]]
)
def test_columns_exist_for_any_skills(skills: list[float]) -> None:
    edges = edges_for(sorted(skills))
    assert len(edges) <= 12
    assert all(math.isfinite(edge) for edge in edges)
    assert list(edges) == sorted(set(edges))


def test_history_is_bounded_and_sums_ten_ticks() -> None:
    history = ChartHistory()
    row = [1.0] * len(COLUMNS)
    for tick in range(5_000):
        history.push(tick, row)
    fine, coarse = history.fine(), history.coarse()
    assert len(fine["tick"]) == FINE_MOST
    assert len(coarse["tick"]) == COARSE_MOST
    assert coarse["tick"][-1] == 4_990
    assert (coarse["arrivals"][-1], coarse["waiting"][-1]) == (10, 1)


def test_an_idle_hour_costs_two_rows() -> None:
    world = World(SLOW)
    world.enqueue(1.0, rated("a", 1500))
    world.figures.advance("duel", 90.0)
    table = world.figures.queues["duel"].history.fine()
    assert table["tick"][-3:] == [1, 2, 89]
    assert table["waiting"][-3:] == [1, 1, 1]
    assert table["arrivals"][-3:] == [1, 0, 0]


def test_a_new_configuration_keeps_those_who_wait() -> None:
    world = World(SLOW)
    world.enqueue(1.0, rated("a", 1500), rated("b", 1600))
    world.give(Configure(2.0, (QUICK,), version=2, pause=("duel",)))
    assert world.figures.paused == {"duel"}
    assert world.figures.version == 2
    assert len(world.figures.queues["duel"].waiting) == 2


def test_a_restart_shows_those_who_wait() -> None:
    world = World(SLOW)
    world.enqueue(1.0, rated("a", 1500), rated("b", 1600))
    again = Figures(1.0)
    TicketLifecycle([again]).reset(world.engine)
    assert len(again.queues["duel"].waiting) == 2


def test_proposals_are_counted_by_what_became_of_them() -> None:
    checked = msgspec.structs.replace(QUICK, accept=ReadyCheck(seconds=10.0))
    world = World(checked)
    world.enqueue(1.0, rated("a", 1500), rated("b", 1500))
    (first,) = world.engine.tables.proposals
    assert world.row(1)["proposed"] == 1
    world.give(Decline(2.0, first, "s0-1", ("a",)))
    world.enqueue(3.0, rated("c", 1500))
    assert world.row(3)["repaired"] == 1
    # Who is asked waits in no queue meanwhile, as the figures of the queues have it.
    assert world.row(3)["waiting"] == 0
    world.give(Advance(40.0))
    totals = world.figures.queues["duel"].totals
    assert (totals["proposed"], totals["repaired"], totals["matches"]) == (1, 1, 0)
    assert totals["failed"] == 1
    # One declined, then who stayed and who took the seat said nothing.
    assert (totals["asked"], totals["unready"]) == (3, 3)
    world.figures.advance("duel", 60.0)
    history = world.figures.queues["duel"].history
    assert (history.sum("asked"), history.sum("unready")) == (3, 3)
    world.figures.advance("duel", 304.0)
    # The first two were asked 300 ticks ago and more.
    assert (history.sum("asked"), history.sum("unready")) == (0, 2)


def test_as_many_wait_as_the_figures_of_the_queues_say() -> None:
    checked = msgspec.structs.replace(QUICK, accept=ReadyCheck(seconds=10.0))
    squad = msgspec.structs.replace(SLOW, name="squad")
    world, statistics = World(checked, squad), Statistics()
    lifecycle = TicketLifecycle([statistics])
    lifecycle.reset(world.engine)
    world.heard.append(lifecycle.hear)
    both = builders.new_ticket("a", 1500, queues=("duel", "squad"))
    seen = []
    for given in (
        Enqueue(1.0, (both,)),
        Enqueue(2.0, (rated("b", 1500), rated("c", 1500))),
        Configure(3.0, (checked, squad), version=2),
        Decline(4.0, "s0-m1", "s0-2"),
        Advance(30.0),
    ):
        world.give(given)
        shown = {name: len(each.waiting) for name, each in world.figures.queues.items()}
        assert shown == statistics.waiting_by_queue()
        again = Figures(1.0)
        TicketLifecycle([again]).reset(world.engine)
        assert {name: len(each.waiting) for name, each in again.queues.items()} == shown
        seen.append(tuple(shown.values()))
    assert seen[:3] == [(1, 1), (1, 0), (1, 0)]
    # All of them waited there: one declined, the others did not answer.
    cancelled = world.figures.queues["duel"].totals["cancelled"]
    assert cancelled == statistics.totals.cancelled == 3


def test_tickets_of_an_old_match_and_of_its_fills_wait_again_when_it_is_called_off() -> None:
    world = World(msgspec.structs.replace(QUICK, backfill="manual"))
    world.enqueue(1.0, rated("a", 1500), rated("b", 1500))
    world.give(Open(2.0, "s0-m1", left=("b",), roster_version=0))
    world.enqueue(3.0, rated("c", 1500))
    world.figures.made.pop("s0-m1")
    assert set(world.figures.made) == {"s0-m2"}
    world.give(Void(4.0, "s0-m1", "no server"))
    present = {ticket.id: ticket for ticket in world.figures.queues["duel"].waiting.tickets()}
    assert present.keys() == world.engine.tables.waiting.keys() >= {"s0-1", "s0-3"}
    assert present["s0-1"].enqueued_at == 1.0
    assert not world.figures.made


def shown_of(world: World, tick: int) -> tuple[object, ...]:
    """Return all that a page shows of matches made, as a tick ends."""
    figures = world.figures.queues["duel"]
    p99 = world.row(tick)["p99"]
    rows = [
        [(name, sum(filter(None, table[name]))) for name in ("matches", "players")]
        for table in (figures.history.fine(), figures.history.coarse())
    ]
    totals = {name: figures.totals[name] for name in ("matches", "players")}
    recent = [made.match.tickets for made in figures.recent]
    return totals, rows, figures.qualities, recent, figures.mean_gaps(), p99


@pytest.mark.parametrize("void_at", [2.5, 4.0])
def test_void_matches_were_never_played(void_at: float) -> None:
    """One match void, in its own tick or later, and one played: as if there were one alone."""
    queue = msgspec.structs.replace(QUICK, backfill="manual", policy="window:limit=10")
    both, alone = World(queue), World(queue)
    for world in (both, alone):
        world.enqueue(1.0, rated("a", 1500))
        world.enqueue(1.1, rated("c", 1600))
    both.enqueue(2.0, rated("b", 1505))
    before = shown_of(both, 3) if void_at == 4.0 else None
    both.give(Void(void_at, "s0-m1", "no server"))
    for name in ("s0-1", "s0-3"):
        both.give(Cancel(void_at, name))
    alone.give(Cancel(void_at, "s0-1"))
    for world in (both, alone):
        world.enqueue(5.0, rated("d", 1601))
    names = {made.match.tickets for made in both.figures.queues["duel"].recent}
    assert names == {("s0-2", "s0-4")}
    seen, expected = shown_of(both, 5), shown_of(alone, 5)
    assert seen != before
    # The matches have other names, but that is all.
    assert (*seen[:3], *seen[4:]) == (*expected[:3], *expected[4:])
    totals, rows, qualities, *_ = seen
    assert totals == {"matches": 1, "players": 2}
    assert rows == [[("matches", 1), ("players", 2)]] * 2
    assert sum(qualities) == 1


def test_match_that_is_assigned_counts_for_good() -> None:
    world = World(msgspec.structs.replace(QUICK, backfill="manual"))
    world.enqueue(1.0, rated("a", 1500), rated("b", 1500))
    figures = world.figures.queues["duel"]
    assert len(figures._added) == 1
    world.give(Assign(2.0, "s0-m1", {"server": "eu-1"}))
    assert not figures._added
    assert figures.totals["matches"] == 1


def test_a_ticket_matched_at_once_has_the_rating_that_was_stored() -> None:
    world = World(msgspec.structs.replace(QUICK, rating="elo"))
    world.enqueue(1.0, NewTicket((Player("a"),)), NewTicket((Player("b"),)))
    (made,) = world.figures.made.values()
    assert [ticket.players[0].rating is not None for ticket in made.tickets if ticket] == [True] * 2


def test_a_refreshed_ticket_moves_to_its_new_place() -> None:
    world = World(msgspec.structs.replace(SLOW, attributes=("region",)))
    world.enqueue(1.0, rated("a", 1500, "eu"))
    world.give(Update(2.0, "s0-1", {"region": "us"}))
    assert world.figures.queues["duel"].waiting.heat().regions == ("us",)


def test_memory_of_matches_is_bounded() -> None:
    world = World(QUICK)
    for number in range(2 * MADE_MOST):
        world.enqueue(1.0 + number, rated(f"a{number}", 1500), rated(f"b{number}", 1500))
    assert len(world.figures.made) == MADE_MOST


def test_a_record_costs_the_same_however_many_wait() -> None:
    calls = []
    for waiting in (100, 10_000):
        world = World(SLOW)
        new = tuple(rated(f"w{number}", 1000 + number % 997) for number in range(waiting))
        world.enqueue(1.0, *new)
        late = [rated(f"n{number}", 1000 + 5 * number % 997) for number in range(400)]
        records = [world.engine.step(Enqueue(2.0, (each,))) for each in late]
        records += [world.engine.step(Cancel(3.0, f"s0-{waiting + 1 + i}")) for i in range(400)]
        profile = cProfile.Profile()
        profile.enable()
        for record in records:
            world.heard[0](record)
        profile.disable()
        calls.append(sum(entry.callcount for entry in profile.getstats()))
    # Counted, not timed; a walk over those who wait would be tens of thousands more.
    assert abs(calls[1] - calls[0]) < 0.1 * calls[0]


def test_match_says_who_plays_what_and_where() -> None:
    latency = Criterion("latency", "latency", pairs="region")
    queue = Queue(
        name="duel",
        policy="greedy",
        format=Format(players=(2, 2), roles=(("tank", 1), ("dps", 1))),
        criteria=(latency, Criterion("latency", "latency", pairs="enemies")),
        group="duel",
    )
    world = World(queue)
    for name, role, eu in (("a", "tank", 20.0), ("b", "dps", 30.0), ("c", "tank", 40.0),
                           ("d", "dps", 50.0)):  # fmt: skip
        pings = {"eu": eu, "us": 45.0}
        world.enqueue(0.0, NewTicket((Player(name, None, {"latency": pings}, (role,)),)))
    figures = world.figures.queues["duel"]
    (made,) = world.figures.made.values()
    shown = match_message(made, figures)
    parties = [party for team in shown.teams for party in team]
    assert {party.players[0]: party.roles for party in parties} == {
        "a": ("tank",), "b": ("dps",), "c": ("tank",), "d": ("dps",),
    }  # fmt: skip
    assert shown.region == "eu"
    assert {party.players[0]: party.latency_delta for party in parties} == {
        "a": (0.0,), "b": (0.0,), "c": (0.0,), "d": (5.0,),
    }  # fmt: skip
    assert shown.factors is not None
    assert [each.name for each in shown.factors] == [
        "latency (pairs region)", "latency (pairs enemies)",
    ]  # fmt: skip


def test_criteria_that_differ_have_names_that_differ() -> None:
    one, other = Criterion("spread", "rating"), Criterion("spread", "rating", weight=2.0)
    assert names_of((one,)) == ["spread of rating"]
    assert len({*names_of((one, other))}) == 2
    assert names_of((one, Criterion("spread", "level"))) == ["spread of rating", "spread of level"]
