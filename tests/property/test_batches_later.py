"""A batch made later, in another thread, is the batch of the instant at which it was asked for."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest
from msgspec.structs import replace

from evenmatch.criteria.host_reach import reaches
from evenmatch.criteria.kinds.latency import known_latencies, ping_table
from evenmatch.criteria.kinds.rematch import freshness, matches_since_meeting
from evenmatch.criteria.kinds.rematch import known_of as remembered
from evenmatch.criteria.kinds.words import elements
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule
from evenmatch.model.ticket import Player, Ticket, attribute_of
from evenmatch.policies.shared.batch_pairs import BITS, PLACES_MAX, bits_of
from evenmatch.policies.shared.search_job import SearchJob, effort_of
from evenmatch.policies.shared.ticket_batch import BatchRoster
from evenmatch.solvers.teams.batch import Batch
from evenmatch.testing import queue
from evenmatch.testing.scripts import QUEUES, draw_script
from tests.bench.batches import EVERYTHING, crowd

NOW = 62.0
ROSTER_FIRST = 64
"""Rows of a roster before it grows."""
Change = Callable[[Ticket], Ticket]
STRANGERS = 150
"""Players who take the rows of those who left, and more."""


def parties(count: int, seed: int) -> list[Ticket]:
    """Return a crowd of players who know each other, of whom some have come together."""
    rng = np.random.default_rng(seed)
    alone = crowd(count, seed)
    for at, each in enumerate(alone):
        own = dict(each.players[0].attributes)
        # Nothing, a set, a map; who were mates count down from -1.
        kind = int(rng.integers(4))
        if kind == 0:
            own.pop("recent")
        elif kind == 1:
            own["recent"] = tuple(own["recent"])
        else:
            own["recent"] = {n: float(rng.choice((-3, -1, 1, 2))) for n in own["recent"]}
        if rng.integers(8) == 0:
            own.pop("connect")
        alone[at] = replace(each, players=(replace(each.players[0], attributes=own),))
    found: list[Ticket] = []
    while alone:
        size = min(len(alone), int(rng.choice((1, 1, 1, 2, 3))))
        mates, alone = alone[:size], alone[size:]
        found.append(replace(mates[0], players=tuple(t.players[0] for t in mates)))
    return found


def entered(given: Queue, tickets: Sequence[Ticket]) -> BatchRoster:
    roster = BatchRoster(given)
    for each in tickets:
        roster.enter(each)
    return roster


def differences(one: Batch, two: Batch) -> list[str]:
    """Return the names of the fields in which two batches differ in any bit."""
    fields = {**one._asdict(), **one.facts._asdict()}
    others = {**two._asdict(), **two.facts._asdict()}
    fields.pop("facts")
    return [
        name
        for name, value in fields.items()
        if np.asarray(value).dtype != np.asarray(others[name]).dtype
        or not np.array_equal(value, others[name], equal_nan=True)
    ]


def changed(ticket: Ticket) -> Ticket:
    """Return a ticket that says the opposite of everything, under the same name."""
    own = {
        "rating": 9.0,
        "latency": {"moon": 999.0},
        "near": {"moon": 999.0},
        "connect": "strict",
        "mode": "none",
        "words": ("none",),
    }
    players = tuple(replace(p, attributes=own, roles=()) for p in ticket.players)
    return replace(ticket, players=players, sequence=ticket.sequence + 10_000, enqueued_at=61.0)


def turn_over(
    roster: BatchRoster, tickets: Sequence[Ticket], change: Callable[[Ticket], Ticket]
) -> None:
    """Let everybody leave, change and come back, and strangers take all rows, and more."""
    for each in tickets:
        roster.leave(each.id)
    for each in tickets[::2]:
        roster.enter(change(each))
    number = 0
    while roster.players < STRANGERS + ROSTER_FIRST:
        like = change(tickets[number % len(tickets)])
        players = tuple(replace(p, id=f"s{number}-{p.id}") for p in like.players)
        roster.enter(replace(like, id=f"s{number}", sequence=50_000 + number, players=players))
        number += 1
    roster.write_some(10_000)


def as_scripted(given: Queue) -> tuple[list[Ticket], Change]:
    """Return tickets that the kit draws for a queue, and how one of them may change."""
    steps = draw_script(given, given.rules, 3).steps
    tickets = [ticket for step in steps for ticket in step.enters]
    others = {}
    for one, two in zip(tickets, reversed(tickets), strict=True):
        if one.size == two.size:
            players = tuple(
                replace(p, attributes=q.attributes, roles=q.roles)
                for p, q in zip(one.players, two.players, strict=True)
            )
            own = replace(two, id=one.id, players=players, sequence=one.sequence + 10_000)
            others[one.id] = own
    return tickets, lambda ticket: others.get(ticket.id, replace(ticket, enqueued_at=0.5))


def cases() -> list[tuple[str, Queue]]:
    found = [("everything", EVERYTHING), *((f"kit {each.name}", each) for each in QUEUES)]
    for given in (*EVERYTHING.criteria, *EVERYTHING.rules):
        is_rule = isinstance(given, Rule)
        name = f"{'rule' if is_rule else 'criterion'} {given.kind} {given.attribute}"
        own = (
            {"rules": (given,), "criteria": ()} if is_rule else {"rules": (), "criteria": (given,)}
        )
        found.append((name, replace(EVERYTHING, **own)))
    return found


@pytest.mark.parametrize(
    ("name", "given"), cases(), ids=lambda each: each if isinstance(each, str) else ""
)
def test_batch_made_later_is_that_of_its_instant(name: str, given: Queue) -> None:
    if name.startswith("kit"):
        tickets, change = as_scripted(given)
    else:
        tickets, change = parties(50, 4), changed
    worths = [0.01 * at for at in range(len(tickets))]
    roster = entered(given, tickets)
    at_once = roster.later(tickets, NOW, worths)()
    asked, weights = list(tickets), list(worths)

    make = roster.later(asked, NOW, weights)
    turn_over(roster, tickets, change)
    asked.clear()
    weights.clear()
    later = make()

    assert differences(at_once, later) == []
    # Nor does it depend on who was here before.
    again = roster.later(waiting := roster.by_age(), NOW)()
    assert differences(entered(given, waiting).later(waiting, NOW)(), again) == []


def test_batch_does_not_change_while_its_thread_makes_it() -> None:
    tickets = parties(120, 5)
    roster = entered(EVERYTHING, tickets)
    at_once = roster.batch(tickets, NOW)
    found: list[Batch] = []
    for number in range(5):
        make = roster.later(roster_tickets := tickets, NOW)
        thread = threading.Thread(target=lambda make=make: found.append(make()))
        thread.start()
        turn_over(roster, roster_tickets, changed)
        thread.join()
        roster = entered(EVERYTHING, tickets)
        assert len(found) == number + 1
    for each in found:
        assert differences(at_once, each) == []


@pytest.mark.parametrize("solver", ["anneal", "descent"])
def test_searches_share_a_batch_and_leave_it_as_it_was(solver: str) -> None:
    tickets = parties(60, 6)
    roster = entered(EVERYTHING, tickets)
    effort = effort_of(EVERYTHING, parts=2, each=5, solver=solver)
    make = roster.later(tickets, NOW)
    job = SearchJob(1, make, tickets, effort, seed=1)
    for part in range(job.parts):
        job.solve(part)

    assert make() is make()
    assert differences(roster.batch(tickets, NOW), make()) == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [2, 9, 70])
def test_pairs_are_what_their_definitions_say(count: int, seed: int) -> None:
    tickets = parties(count, seed)
    facts = entered(EVERYTHING, tickets).batch(tickets, NOW).facts
    people = [(ticket, player) for ticket in tickets for player in ticket.players]
    known = [known_latencies(ticket, player, "latency") for ticket, player in people]
    if any(two.id in own for own in known for _, two in people):
        assert np.array_equal(facts.ping, ping_table(tickets, "latency").astype(np.float32))
    else:
        assert facts.ping.size == 0
    said = [attribute_of(ticket, player, "connect") for ticket, player in people]
    reached = [
        [
            one != two
            and None not in (said[one], said[two])
            and reaches(said[one], said[two], people[two][1].id)
            for two in range(count)
        ]
        for one in range(count)
    ]
    if facts.connect.size:
        assert facts.connect.tolist() == reached
    else:
        assert not any(each is None or isinstance(each, tuple) for each in said)
    assert facts.met.tolist() == [
        [float(one), float(two), fresh, float(ago < 0.0)]
        for one, two in combinations(range(count), 2)
        if people[one][0] is not people[two][0]
        for ago in [_ago(people[one], people[two])]
        if (fresh := freshness(ago, 8)) > 0.0
    ]


def _ago(one: tuple[Ticket, Player], two: tuple[Ticket, Player]) -> float:
    return matches_since_meeting(one[1], two[1], remembered(*one), remembered(*two))


def test_ping_of_two_who_measured_each_other_is_the_larger_one() -> None:
    given = queue("near", 1, 1, criteria=(Criterion("latency", "latency"),))
    told = ({"eu": 20.0, "b": 41.0}, {"eu": 35.0, "a": 43.0}, {"eu": 10.0, "c": 1.0}, {"us": 5.0})
    tickets = [
        Ticket(name, at, 0.0, (Player(name, attributes={"latency": own}),), ("near",))
        for at, (name, own) in enumerate(zip("abcd", told, strict=True), start=1)
    ]
    ping = entered(given, tickets).batch(tickets, 0.0).facts.ping
    assert ping.tolist() == [
        [0.0, 43.0, 30.0, math.inf],
        [43.0, 0.0, 45.0, math.inf],
        [30.0, 45.0, 0.0, math.inf],
        [math.inf, math.inf, math.inf, 0.0],
    ]


def test_of_too_many_places_those_that_most_players_know_have_a_column() -> None:
    given = queue("far", 1, 1, criteria=(Criterion("latency", "latency"),))
    tickets = []
    for at in range(100):
        own = {f"z{place}": 10.0 * place + at for place in range(3)}
        own |= {f"a{at}-{place}": 1.0 for place in range(5)}
        player = Player(f"p{at}", attributes={"latency": own})
        tickets.append(Ticket(f"t{at}", at + 1, 0.0, (player,), ("far",)))
    latency = entered(given, tickets).batch(tickets, 0.0).facts.latency
    assert latency.shape == (100, PLACES_MAX)
    expected = [[10.0 * place + at for place in range(3)] for at in range(100)]
    assert latency[:, -3:].tolist() == expected


@pytest.mark.parametrize("seed", range(6))
def test_more_sets_than_bits_keep_apart_who_shares_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Whoever speaks a dialect speaks its language; everybody has words of their own.
    sets = np.empty(40, dtype=np.object_)
    for row in range(len(sets)):
        languages = {f"l{each}" for each in rng.integers(0, 50, 2)}
        dialects = {f"{each}-{rng.integers(3)}" for each in languages}
        own = {f"own{row}-{each}" for each in range(3)}
        sets[row] = tuple(sorted(languages | dialects | own))
    assert len({each for own in sets for each in own}) > 2 * BITS
    bits = bits_of(sets)
    for size in (2, 3, 4):
        for group in combinations(range(14), size):
            shared = set.intersection(*(set(elements(sets[row])) for row in group))
            assert (np.bitwise_and.reduce(bits[list(group)]) != 0) == bool(shared)


def test_rule_on_sets_tells_hundreds_of_elements_apart() -> None:
    given = Queue("maps", Format((1, 1)), rules=(Rule("overlap", "maps"),))
    tickets = [
        Ticket(f"t{at}", at + 1, 0.0, (Player(f"p{at}", attributes={"maps": own}),), ("maps",))
        for at in range(200)
        for own in [(f"m{at // 4}", *[f"own{at}-{each}" for each in range(20)])]
    ]
    sets = entered(given, tickets).batch(tickets, 0.0).facts.tongues[0]
    shared = (sets[:, None] & sets) != 0
    together = np.arange(200)[:, None] // 4 == np.arange(200) // 4
    assert np.array_equal(shared, together)


def test_limits_of_lists_are_those_of_the_rules_while_they_widen() -> None:
    rule = Rule("pair_limit", "meetings", 1.0, expand=Expansion(steps=((30.0, 3.0),)))
    tickets = [
        Ticket(
            name,
            at,
            came,
            (Player(name, attributes={"meetings": dict.fromkeys(known, times)}),),
            ("often",),
        )
        for at, (name, came, known, times) in enumerate(
            (("a", 0.0, "b", 2.0), ("b", 20.0, "", 0.0), ("c", 0.0, "b", 0.0), ("d", 0.0, "c", 1.0))
        )
    ]
    roster = entered(Queue("often", Format((1, 1)), rules=(rule,)), tickets)
    for now, apart in ((29.0, [[0, 1], [2, 3]]), (31.0, [[0, 1]]), (51.0, [])):
        facts = roster.batch(tickets, now).facts
        assert facts.avoid[:, :2].tolist() == apart
        assert facts.listed[:, [0, 1, 3]].tolist() == [[0.0, 1.0, 3.0], [2.0, 3.0, 2.0]]
