"""The engine in virtual time: order of instants, ends of runs, merged rows, faults."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pytest

from evenmatch import Grouping, Player, Ticket, rate, simulate
from evenmatch.config.files import parse_scenario
from evenmatch.criteria.kinds.rematch import redraw_rule
from evenmatch.errors import ArrivalsError, ConfigError, PolicyError
from evenmatch.model.queue import (
    Criterion,
    Expansion,
    Format,
    Handicap,
    Queue,
    ReadyCheck,
    Rule,
    Scale,
)
from evenmatch.model.scenario import Answers, Arrivals, Normal, Scenario
from evenmatch.model.ticket import NewTicket, Rating
from evenmatch.policies.base import Decision, NoJobs, policy
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import History
from evenmatch.simulation.ready_check_behaviour import ACCEPT, PlayerAnswer
from evenmatch.simulation.simulator import Simulator
from evenmatch.simulation.termination import is_same_but_clock

DUEL = Queue()


def arrival(at: float, player: str, rating: float = 0.0, **fields: object) -> Arrival:
    leaves_at = fields.pop("leaves_at", None)
    person = Player(player, Rating(rating))
    ticket = NewTicket((person,), id=fields.pop("id", f"t{player}"), **fields)
    return Arrival(at, ticket, leaves_at)


def run(
    arrivals: Iterable[Arrival],
    *queues: Queue,
    until: float | None = None,
    spec: str = "greedy",
) -> History:
    chosen = parse_policy(spec)
    history = History((queues or (DUEL,))[0].name)
    simulator = Simulator(
        queues or (DUEL,), lambda queue: chosen, history, until=until, is_checked=True
    )
    return simulator.run(arrivals)


def states(history: History) -> dict[str, tuple[str, float | None]]:
    return {row["ticket"]: (row["state"], row["ended_at"]) for row in history.ticket_rows()}


def test_arrival_at_the_deadline_is_still_matched() -> None:
    queue = Queue(wait_max=5.0)
    history = run([arrival(1.0, "a"), arrival(6.0, "b")], queue)
    assert states(history) == {"ta": ("matched", 6.0), "tb": ("matched", 6.0)}


def test_ticket_leaves_before_an_arrival_of_the_same_instant() -> None:
    history = run([arrival(1.0, "a", leaves_at=4.0), arrival(4.0, "b")])
    assert states(history) == {"ta": ("cancelled", 4.0), "tb": ("waiting", None)}


def test_player_who_leaves_and_asks_again_at_once_is_taken() -> None:
    history = run([arrival(1.0, "a", leaves_at=4.0), arrival(4.0, "a", id="again")])
    assert states(history) == {"ta": ("cancelled", 4.0), "again": ("waiting", None)}
    assert history.merged == 0


def test_ticket_without_patience_plays_only_with_whom_waits_already() -> None:
    history = run(
        [arrival(1.0, "a"), arrival(2.0, "b", leaves_at=2.0), arrival(3.0, "c", leaves_at=3.0)]
    )
    assert states(history)["tb"] == ("matched", 2.0)
    assert states(history)["tc"] == ("cancelled", 3.0)


def test_leave_comes_before_a_timer_of_the_same_instant() -> None:
    queue = Queue(rules=(Rule("spread", "rating", 0.0, expand=Expansion(rate=1.0)),))
    pair = [arrival(0.0, "a", 0.0), arrival(0.0, "b", 8.0)]
    assert states(run(pair, queue))["ta"] == ("matched", 8.0)
    leaving = [arrival(0.0, "a", 0.0, leaves_at=8.0), arrival(0.0, "b", 8.0)]
    assert states(run(leaving, queue))["ta"] == ("cancelled", 8.0)


def test_row_of_a_waiting_player_is_merged_and_its_leave_forgotten() -> None:
    party = NewTicket((Player("a"), Player("b")), id="party")
    queue = Queue(format=Format(players=(2, 2)))
    history = run(
        [
            arrival(0.0, "a"),
            arrival(1.0, "a", id="same", leaves_at=2.0),
            Arrival(3.0, party),
        ],
        queue,
    )
    assert states(history) == {"ta": ("waiting", None)}
    assert history.merged == 2


def test_player_who_queues_again_has_ended_their_exclusive_match() -> None:
    queue = Queue(exclusive_match=True, match_max=7200.0)
    rows = [arrival(0.0, "a"), arrival(1.0, "b"), arrival(5.0, "a", id="x")]
    history = run([*rows, arrival(6.0, "a", id="y"), arrival(12.0, "b", id="z")], queue)
    # y came while x waited; b is free too, since its match is over.
    assert history.merged == 1
    assert "y" not in states(history)
    assert [match.tickets for match in history.matches] == [("ta", "tb"), ("x", "z")]


def test_party_that_queues_ends_each_match_of_its_players() -> None:
    queue = Queue(exclusive_match=True, format=Format(players=(2, 2)))
    pairs = [NewTicket((Player(one), Player(two)), id=one + two) for one, two in ("ab", "cd", "ac")]
    history = run([Arrival(float(at), pair) for at, pair in enumerate(pairs)], queue)
    assert (history.merged, states(history)["ac"]) == (0, ("waiting", None))


def test_until_is_inclusive_and_leaves_the_rest_unfinished() -> None:
    queue = Queue(wait_max=5.0)
    rows = [arrival(0.0, "a"), arrival(5.0, "b", 1.0), arrival(5.5, "c")]
    history = run(rows[:1], queue, until=5.0)
    assert states(history) == {"ta": ("expired", 5.0)}
    history = run([rows[0], *rows[2:]], Queue(), until=5.0)
    assert states(history) == {"ta": ("waiting", None)}
    assert history.end == 5.0


@pytest.mark.parametrize("later", [[], [3000.0]])
def test_until_waits_for_a_policy_that_looks_at_rest(later: list[float]) -> None:
    @policy(every=2.0)
    def patient(pool: Sequence[Ticket], now: float) -> list[Sequence[Ticket]]:
        return [pool[:2]] if len(pool) > 1 and now - pool[0].enqueued_at >= 100.0 else []

    rows = [arrival(0.0, "a"), arrival(1.0, "b"), *(arrival(at, "c") for at in later)]
    scenario = Scenario((DUEL,), until=3600.0)
    found = simulate(scenario, arrivals=rows, policy=patient)
    assert [match["at"] for match in found.matches] == [100.0]
    assert found.history.end == 3600.0


def test_until_in_the_far_future_costs_nothing_once_nobody_waits() -> None:
    woken = 0

    @policy(every=1.0)
    def pairs(pool: Sequence[Ticket], now: float) -> list[Sequence[Ticket]]:
        nonlocal woken
        woken += 1
        return [pool[:2]] if len(pool) > 1 else []

    rows = [arrival(0.0, "a"), arrival(1.0, "b")]
    found = simulate(Scenario((DUEL,), until=1e9), arrivals=rows, policy=pairs)
    assert len(found.matches) == 1
    assert woken < 10


def test_until_in_the_far_future_ends_where_no_wake_is_left() -> None:
    history = run([arrival(0.0, "a")], until=1e9)
    assert history.end == 1e9


def test_unfinished_ticket_has_its_wait_until_the_end_of_the_run() -> None:
    history = run([arrival(1.0, "a")], until=5.0)
    (row,) = history.ticket_rows()
    assert (row["state"], row["ended_at"], row["wait"], row["reason"]) == (
        "waiting",
        None,
        4.0,
        None,
    )


def test_run_ends_with_the_last_ticket() -> None:
    history = run([arrival(1.0, "a"), arrival(2.5, "b")])
    assert history.end == 2.5


@policy(every=10.0)
def pairs_of_equals(pool: Sequence[Ticket], now: float) -> list[Sequence[Ticket]]:
    """Match the two longest waiting tickets if their ratings are equal."""
    if len(pool) >= 2 and pool[0].players[0].rating == pool[1].players[0].rating:
        return [pool[:2]]
    return []


def simulated(queue: Queue, chosen: object, *arrivals: Arrival) -> History:
    history = History(queue.name)
    Simulator((queue,), lambda _: chosen, history, is_checked=True).run(arrivals)
    return history


def test_rounds_that_can_change_nothing_end_the_run() -> None:
    history = simulated(DUEL, pairs_of_equals, arrival(0.0, "a", 1.0), arrival(3.0, "b", 2.0))
    assert states(history) == {"ta": ("waiting", None), "tb": ("waiting", None)}
    assert history.end == 10.0


def test_rounds_go_on_while_a_limit_widens() -> None:
    @policy(every=10.0)
    def pairs(pool: Sequence[Ticket], now: float) -> list[Sequence[Ticket]]:
        return [pool[:2]] if len(pool) >= 2 and now >= 50.0 else []

    rule = Rule("spread", "rating", 0.0, expand=Expansion(rate=1.0))
    queue = Queue(rules=(rule,))
    history = simulated(queue, pairs, arrival(0.0, "a", 0.0), arrival(3.0, "b", 45.0))
    assert states(history) == {"ta": ("matched", 50.0), "tb": ("matched", 50.0)}


@pytest.mark.parametrize(
    "rule",
    [
        Rule("spread", "rating", 1.0, expand=Expansion(rate=1.0, max=20.0)),
        Rule("spread", "rating", 1.0, expand=Expansion(steps=((5.0, 2.0), (17.0, 4.0)))),
        Rule("spread", "rating", 1.0, "relative", expand=Expansion(rate=0.5)),
        Rule("imbalance", "rating", 1.0, expand=Expansion(rate=1.0), measure="sum"),
        Rule("rematch", "recent", expand=Expansion(rate=0.01)),
    ],
)
def test_run_ends_under_any_kind_of_expansion(rule: Rule) -> None:
    queue = Queue(rules=(rule,))
    rows = [arrival(0.0, "a", 0.0), arrival(1.0, "b", 50.0), arrival(2.0, "c", 900.0)]
    history = simulated(queue, pairs_of_equals, *rows)
    assert math.isfinite(history.end)
    assert len(history.ids) == 3


class Restless(NoJobs):
    """Never matches, wakes each second, and never knows twice the same."""

    def __init__(self) -> None:
        self.wakes = 1_000_000

    def matcher(self, queue: Queue, *, seed: int, memory: object = None) -> "Restless":
        return self

    def enter(self, entry: object, now: float) -> None: ...

    def leave(self, entry_id: str, now: float) -> None: ...

    def decide(self, now: float, fired: bool = False) -> Decision:
        self.wakes += fired
        return Decision(wake_at=math.floor(now) + 1.0)

    def memory(self) -> dict[str, int]:
        return {"wakes": self.wakes}


def test_policy_whose_memory_never_rests_is_given_up() -> None:
    history = simulated(DUEL, Restless(), arrival(0.0, "a"))
    assert history.end == 10_000.0


TWOS = Format((2, 2))
GROWS = Rule("spread", "rating", 10.0, expand=Expansion(rate=1.0))


def far_apart(count: int) -> list[Arrival]:
    return [arrival(float(n), f"p{n}", 1_000.0 * n) for n in range(count)]


@pytest.mark.parametrize("spec", ["rolling:effort=10", "threshold:effort=10"])
def test_run_ends_once_limits_are_at_their_widest_and_searches_find_nobody(spec: str) -> None:
    rule = Rule("spread", "rating", 10.0, expand=Expansion(rate=1.0, max=100.0))
    history = run(far_apart(5), Queue(format=TWOS, rules=(rule,)), spec=spec)
    assert history.matches == []
    # The last to come accepts most after 90 s; a search follows by an eighth of that later.
    assert 94.0 < history.end < 106.0


@pytest.mark.parametrize("spec", ["rolling:effort=10", "threshold:effort=10"])
def test_run_ends_though_a_limit_widens_for_ever_where_another_rule_keeps_all_apart(
    spec: str,
) -> None:
    rules = (GROWS, Rule("same", "mode"))
    rows = [arrival(float(n), f"p{n}", 9.0 * n, attributes={"mode": f"{n}"}) for n in range(5)]
    history = run(rows, Queue(format=TWOS, rules=rules), spec=spec)
    assert history.matches == []
    assert history.end < 100.0


def test_run_goes_on_while_a_search_has_planned_a_match() -> None:
    rows = [arrival(float(n), f"p{n}", 9.0 * n) for n in range(4)]
    near = Criterion("spread", "rating", scale=Scale(min=0.0, max=100.0))
    queue = Queue(format=TWOS, criteria=(near,), rules=(GROWS,))
    history = run(rows, queue, spec="threshold:effort=10,quality=1,relax=0")
    assert [match.at for match in history.matches] == [300.0]


def test_rounds_that_seat_nobody_are_given_up() -> None:
    queue = Queue(format=TWOS, rules=(Rule("spread", "rating", 10.0),))
    history = run(far_apart(5), queue, spec="rounds:every=10,effort=10")
    assert history.matches == []
    assert 650.0 <= history.end <= 660.0


def test_run_goes_on_while_players_are_asked_for_their_readiness() -> None:
    queue, history = Queue(accept=ReadyCheck(seconds=10.0)), History("main")
    nobody = (Answers(silent=1.0), np.random.SeedSequence(1))
    chosen = parse_policy("greedy")
    simulator = Simulator((queue,), lambda _: chosen, history, answers=nobody, is_checked=True)
    simulator.run([arrival(0.0, "a"), arrival(1.0, "b")])
    assert states(history) == {"ta": ("cancelled", 11.0), "tb": ("cancelled", 11.0)}
    assert history.checks["dissolved"] == 1


def test_all_players_of_a_party_are_turned_away_because_of_one_on_a_cooldown() -> None:
    check = ReadyCheck(seconds=5.0, cooldowns=(100.0,), again=0.0)
    queue = Queue(format=Format((3, 3)), accept=check)
    history, chosen = History("main"), parse_policy("greedy")
    nobody = (Answers(silent=1.0), np.random.SeedSequence(1))
    rows = [
        Arrival(at, NewTicket(tuple([Player(f"{name}{n}") for n in range(3)]), id=f"{name}{at}"))
        for at in (0.0, 20.0, 40.0)
        for name in "ab"
    ]
    Simulator((queue,), lambda _: chosen, history, answers=nobody).run(rows)
    assert history.checks["proposed"] == 2
    assert history.checks["turned_away"] == 6


def test_memories_are_compared_but_for_their_clocks() -> None:
    assert is_same_but_clock([1, "a", {"at": 2.0}], [1, "a", {"at": 7.0}], 5.0)
    assert not is_same_but_clock({"seen": 3}, {"seen": 4}, 5.0)
    assert not is_same_but_clock({"seen": 3}, {"other": 3}, 5.0)
    assert not is_same_but_clock("a", "b", 5.0)
    assert is_same_but_clock(None, None, 5.0)


def test_fault_of_a_policy_ends_the_run() -> None:
    @policy()
    def alone(pool: Sequence[Ticket], now: float) -> list[Sequence[Ticket]]:
        return [pool[:1]]

    with pytest.raises(PolicyError, match="do not fill the teams"):
        simulated(DUEL, alone, arrival(0.0, "a"))
    assert Grouping(("a",)).bots == 0


def test_refused_arrival_is_an_error_that_names_the_row() -> None:
    queue = Queue(rules=(Rule("spread", "skill", 1.0),))
    with pytest.raises(ArrivalsError, match=r"arrival number 0 \(from 0\), ticket ta: .*skill is"):
        run([arrival(0.0, "a")], queue)


def test_times_that_fall_are_refused() -> None:
    with pytest.raises(ArrivalsError, match=r"arrival number 1 \(from 0\), ticket tb: times"):
        run([arrival(5.0, "a"), arrival(4.0, "b")])


def test_ticket_ids_that_come_twice_are_refused() -> None:
    with pytest.raises(ArrivalsError, match="ids must differ"):
        run([arrival(5.0, "a", id="x"), arrival(6.0, "b", id="x")])


def test_ticket_that_leaves_before_it_comes_is_refused() -> None:
    with pytest.raises(ArrivalsError, match="leaves before it arrives"):
        run([arrival(5.0, "a", leaves_at=4.0)])


def test_tickets_from_python_keep_their_own_times() -> None:
    tickets = [
        Ticket(name, place, at, (Player(name),), ())
        for place, (name, at) in enumerate([("a", 1000.25), ("b", 1002.5)])
    ]
    found = simulate(Scenario((DUEL,)), arrivals=tickets)
    assert [row["enqueued_at"] for row in found.tickets] == [1000.25, 1002.5]
    assert found.matches[0]["at"] == 1002.5
    assert repr(found) == "Run(matches=1, tickets=2)"
    assert simulate(Scenario((DUEL,)), arrivals=[]).summary["wait"]["mean"] is None


def test_arrivals_from_python_without_an_id_are_numbered() -> None:
    rows = [Arrival(at, NewTicket((Player(f"p{at}"),))) for at in (3.0, 4.0)]
    found = simulate(Scenario((DUEL,)), arrivals=rows)
    assert found.matches[0]["tickets"] == ["0", "1"]


def test_arrivals_without_an_instant_are_refused() -> None:
    with pytest.raises(ArrivalsError, match="arrival 0: give a Ticket"):
        simulate(Scenario((DUEL,)), arrivals=[NewTicket((Player("a"),))])


def test_policy_object_replaces_the_policy_of_every_queue() -> None:
    poisson = Arrivals(rate=1.0, count=50)
    world = Scenario((Queue(policy="window:limit=1"),), poisson)
    found = simulate(world, policy=parse_policy("greedy"))
    assert found.summary["matches"] == 25
    with pytest.raises(ConfigError, match="policy must be a SPEC"):
        simulate(world, policy=3)


def test_optimum_stands_beside_the_run() -> None:
    world = Scenario((DUEL,), Arrivals(rate=1.0, count=60))

    plain = simulate(world).summary
    found = simulate(world, optimum=True).summary

    assert {key: found[key] for key in plain} == plain
    assert found["optimum_cost"] <= found["cost"] + found["cost_waiting"] + 1e-9
    assert found["ratio"] >= 1.0 - 1e-9


@pytest.mark.parametrize("teams", [2, 3])
def test_optimum_after_a_warmup_is_that_of_the_counted_tickets(teams: int) -> None:
    queue = Queue(format=Format(players=(1,) * teams))
    world = Scenario((queue,), Arrivals(rate=1.0, count=90), warmup=30.0)

    found = simulate(world, optimum=True).summary

    cost = found["cost"] + found["cost_waiting"]
    assert 0 < found["tickets"] < 90
    assert 0.0 < found["optimum_cost" if teams == 2 else "bound_cost"] <= cost + 1e-9
    assert found["ratio" if teams == 2 else "gap"] >= (1.0 if teams == 2 else 0.0) - 1e-9


def test_scenario_without_arrivals_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match="--arrivals FILE"):
        simulate(Scenario((DUEL,)))


def test_policies_meet_the_same_arrivals() -> None:
    ratings = {"rating": Normal(mean=1500.0, deviation=300.0)}
    world = Scenario((DUEL,), Arrivals(rate=1.0, count=200, attributes=ratings))
    first = simulate(world, policy="greedy", seed=5, by=["rating_decile"])
    second = simulate(world, policy="window:limit=100,rate=1", seed=5, by=["rating_decile"])
    assert first.history.tickets == second.history.tickets
    assert first.history.enqueued_at == second.history.enqueued_at
    other = simulate(world, policy="greedy", seed=6)
    assert other.history.enqueued_at != first.history.enqueued_at


def test_same_seed_gives_the_same_run() -> None:
    text = "[[queue]]\n[arrivals]\nrate = 3.0\ncount = 500\npatience = 1.0"
    world = parse_scenario(text)
    first, second = simulate(world, seed=9), simulate(world, seed=9)
    assert first.summary == second.summary
    assert first.matches == second.matches
    assert first.tickets == second.tickets
    assert first.summary["cancelled"] > 0


def test_handicap_of_a_match_decides_who_has_won() -> None:
    tickets = [arrival(0.0, "ann", 1800.0), arrival(0.0, "bob", 1500.0)]
    (match,) = simulate(Scenario((Queue(handicap=Handicap(0.01)),)), arrivals=tickets).matches
    played = {"teams": [["ann"], ["bob"]], "points": [10, 8], "handicap": match["handicap"]}

    after = rate("elo", {"ann": {"mean": 1800.0}, "bob": {"mean": 1500.0}}, [played])

    # Ann scored 10 points to 8, and bob was given 3.
    assert match["handicap"] == [0.0, 3.0]
    assert after["ann"]["mean"] < 1800.0
    assert after["bob"]["mean"] > 1500.0


@pytest.mark.parametrize("spec", ["window:limit=100", "greedy"])
def test_run_without_an_end_waits_for_the_redraws(spec: str) -> None:
    again = [arrival(1.0, "a", id="a2"), arrival(1.0, "b", id="b2")]
    queue = Queue(policy=spec, rules=(redraw_rule(2, every=30.0),))
    found = run([arrival(0.0, "a"), arrival(0.0, "b"), *again], queue, spec=spec)

    assert [row["at"] for row in found.match_rows()] == [0.0, 61.0]


@pytest.mark.parametrize("rate", [0.5, 4.0])
def test_greedy_pairs_wait_half_the_time_between_arrivals(rate: float) -> None:
    # Each second player waits for the next arrival, an exponential time with mean 1/rate and
    # standard deviation 1/rate; the others do not wait. With n players matched the mean wait is
    # half the mean of n/2 such times, so its standard error is 1 / (2 rate sqrt(n/2)).
    count = 20_000
    world = Scenario((DUEL,), Arrivals(rate=rate, count=count))
    summary = simulate(world, policy="greedy", seed=11).summary
    error = 1.0 / (2.0 * rate * math.sqrt(count / 2))
    assert abs(summary["wait"]["mean"] - 1.0 / (2.0 * rate)) < 4.0 * error
    # Half do not wait and half wait Exp(rate): E[w^2] = 1/rate^2, so the variance is 3/(4 rate^2).
    assert summary["wait"]["var"] == pytest.approx(0.75 / rate**2, rel=0.1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("spec", ["greedy", "window:limit=20,rate=3", "periodic:rounds_of=2"])
def test_invariants_hold_after_every_step(seed: int, spec: str) -> None:
    rng = np.random.default_rng(seed)
    at = np.cumsum(rng.integers(0, 3, 150) / 2.0).tolist()
    rows = [
        arrival(
            time,
            f"p{rng.integers(60)}",
            float(rng.integers(0, 200)),
            id=str(row),
            leaves_at=time + float(rng.integers(0, 40)) if rng.random() < 0.3 else None,
        )
        for row, time in enumerate(at)
    ]
    on_deadline = ("bots", "expire", "keep")[seed % 3]
    queue = Queue(wait_max=15.0, on_deadline=on_deadline)
    history = run(rows, queue, spec=spec)
    ids = [ticket for match in history.matches for ticket in match.tickets]
    assert len(set(ids)) == len(ids)
    assert len(history.ids) + history.merged == len(rows)
    for match in history.matches:
        assert len(match.tickets) + match.bots == 2
        players = [player for team in match.players for player in team]
        assert len(set(players)) == len(players)


@pytest.mark.parametrize(
    ("spec", "rows"), [("greedy", [0, 1, 2, 3, 4, 5]), ("periodic:rounds_of=2", [0, 1, 3, 4])]
)
def test_answers_belong_to_arrivals_even_if_a_policy_left_somebody_waiting_who_came_again(
    spec: str, rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def accept(_: object, __: object, asking: tuple[int, int], players: int) -> list[PlayerAnswer]:
        asked.append(asking[0])
        return [PlayerAnswer(ACCEPT, 0.0)] * players

    monkeypatch.setattr("evenmatch.simulation.ready_check_behaviour.answers_of", accept)
    people = zip((0.0, 0.1, 1.0, 2.0, 3.0, 4.0), "abacde", strict=True)
    arrivals = [arrival(at, who, id=str(row)) for row, (at, who) in enumerate(people)]
    run(arrivals, Queue(accept=ReadyCheck(seconds=5.0)), spec=spec, until=10.0)
    assert asked == rows
