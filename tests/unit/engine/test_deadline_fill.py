"""Smaller matches and bots at a deadline."""

import random

import pytest

from evenmatch.criteria.rules import Rules
from evenmatch.engine.matching.deadlines import fill_at_deadline, ready_beside
from evenmatch.engine.matching.pool import Pool
from evenmatch.model.queue import Accept, Format, OnDeadline, Queue, Rule
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.greedy import Greedy
from evenmatch.testing import rule, ticket


def filled(queue: Queue, *tickets: Ticket, barred: str = "") -> tuple[list[list[str]], int] | None:
    """Return the teams and bots of the match that the first ticket gets at 10 s.

    Sets of one-letter ids in `barred`, with spaces between them, may not play just among
    themselves.
    """
    pool = Pool(queue, Greedy(), seed=1)
    for each in tickets:
        pool.enter(each, each.enqueued_at)
    found = fill_at_deadline(
        pool, tickets[0], 10.0, lambda them: "".join([t.id for t in them]) in barred.split()
    )
    return None if found is None else ([[t.id for t in s] for s in found[1].teams], found[2])


def squads(on_deadline: OnDeadline = "expire", **keys: object) -> Queue:
    form = Format((3, 3), players_min=(2, 2), **keys)  # type: ignore[arg-type]
    return Queue(format=form, wait_max=10.0, on_deadline=on_deadline)


SOLOS = [ticket(name, 1500 + n, at=n, sequence=n) for n, name in enumerate("abcdefgh")]


@pytest.mark.parametrize(
    ("count", "teams"),
    [(3, None), (4, [["a", "b"], ["c", "d"]]), (5, [["a", "b", "c"], ["d", "e"]])],
)
def test_smaller_match_starts_at_the_deadline(count: int, teams: list[list[str]] | None) -> None:
    found = filled(squads(), *SOLOS[:count])

    assert found == (None if teams is None else (teams, 0))


def test_everybody_who_fits_plays_along() -> None:
    assert filled(squads(), *SOLOS) == ([["a", "b", "c"], ["d", "e", "f"]], 0)


def test_bots_fill_up_to_the_minimum_only() -> None:
    assert filled(squads("bots"), *SOLOS[:3]) == ([["a", "b"], ["c"]], 1)
    assert filled(squads("bots"), *SOLOS[:5]) == ([["a", "b", "c"], ["d", "e"]], 0)


def test_party_takes_more_bots_than_its_size_lets_guess() -> None:
    trio = ticket("t", 1500, 1500, 1500)

    assert filled(squads("bots"), trio) == ([["t"], []], 2)
    assert filled(squads(), trio) is None


@pytest.mark.parametrize("on_deadline", ["expire", "keep"])
def test_full_format_starts_nothing_smaller(on_deadline: OnDeadline) -> None:
    queue = Queue(format=Format((2, 2)), wait_max=10.0, on_deadline=on_deadline)

    assert filled(queue, *SOLOS[:3]) is None


def test_rules_hold_for_a_smaller_match() -> None:
    near = Queue(format=Format((2, 2), players_min=(1, 1)), rules=(rule(limit=100),), wait_max=10.0)
    far, close = ticket("far", 1700, at=1, sequence=2), ticket("close", 1590, at=2, sequence=3)

    assert filled(near, SOLOS[0], far, close) == ([["a"], ["close"]], 0)
    assert filled(near, SOLOS[0], far) is None


def test_roles_hold_for_a_smaller_match() -> None:
    queue = squads(roles=(("tank", 1), ("dps", 2)))
    tanks = [ticket(n, Player(n, roles=("tank",)), at=0, sequence=ord(n)) for n in "abc"]
    dps = [ticket(n, Player(n, roles=("dps",)), at=1, sequence=ord(n)) for n in "xy"]

    assert filled(queue, *tanks, *dps) == ([["a", "x"], ["b", "y"]], 0)


@pytest.mark.parametrize(
    ("barred", "teams", "bots"),
    [
        ("ab", [["a"], ["c"]], 0),
        ("ab ac", [["a"], []], 1),
        ("ab ac a", None, 0),
    ],
)
def test_set_that_is_kept_apart_costs_nobody_another_match(
    barred: str, teams: list[list[str]] | None, bots: int
) -> None:
    duel = Queue(format=Format((1, 1)), wait_max=10.0, on_deadline="bots")

    found = filled(duel, *SOLOS[:3], barred=barred)

    assert found == (None if teams is None else (teams, bots))


def test_who_is_kept_apart_may_play_beside_others() -> None:
    form = Format((2, 2), players_min=(1, 1))
    pairs = Queue(format=form, wait_max=10.0)

    assert filled(pairs, *SOLOS[:4], barred="ab") == ([["a", "b"], ["c", "d"]], 0)
    assert filled(pairs, *SOLOS[:4], barred="ab abcd") == ([["a", "c"], ["d"]], 0)
    assert filled(pairs, *SOLOS[:2], barred="ab") is None


def test_rules_are_asked_only_about_those_who_may_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    duel = Queue(format=Format((1, 1)), rules=(rule(limit=1.0),), wait_max=10.0, on_deadline="bots")
    others = [ticket(f"t{n}", 10 * n, sequence=n) for n in range(1, 300)]
    asked: list[str] = []
    ready_at = Rules.pair_ready_at

    def count(rules: Rules, one: Ticket, two: Ticket) -> float:
        asked.append(two.id)
        return ready_at(rules, one, two)

    monkeypatch.setattr(Rules, "pair_ready_at", count)

    assert filled(duel, ticket("a", 0, sequence=0), *others) == ([["a"], []], 1)
    assert filled(duel, ticket("a", 1500.5, sequence=0), *others) == ([["a"], ["t150"]], 0)
    assert asked == ["t150"]


@pytest.mark.parametrize("players", [1, 3])
@pytest.mark.parametrize("accept", ["both", "either"])
def test_those_who_fit_are_the_same_as_by_the_rules_alone(players: int, accept: Accept) -> None:
    rules = (rule(limit=50, rate=20.0, accept=accept), Rule("same", "map"))
    form = Format((players, players), players_min=(1, 1) if players > 1 else ())
    queue = Queue(format=form, rules=rules, wait_max=10.0)
    pool, rng = Pool(queue, Greedy(), seed=1), random.Random(players)
    for n in range(200):
        word, at = rng.choice(["x", "y"]), rng.uniform(0, 9)
        pool.enter(ticket(f"t{n}", rng.uniform(1000, 3000), at=at, sequence=n, map=word), at)
    ready_at = pool.objective.rules.pair_ready_at

    for one in list(pool.tickets.values())[:40]:
        fit = [t for t in pool.tickets.values() if ready_at(one, t) <= 10.0]
        early = ready_beside(pool, one, 10.0)
        assert [t for t in early if ready_at(one, t) <= 10.0] == fit
        assert len(fit) <= len(early) < len(pool.tickets)
