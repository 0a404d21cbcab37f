"""What matches are like in the units of what a queue compares."""

import math

import pytest

from evenmatch.criteria.base import Seats
from evenmatch.criteria.gaps import KNOWN, Gaps, gap_of_name
from evenmatch.criteria.registry import KINDS, numeric_kind
from evenmatch.model.queue import Criterion, Format, Queue, Rule, Sample, Scale
from evenmatch.model.ticket import Player, Rating, Ticket, Value

ROLES = (("tank", 1), ("dps", 2))
TRIO = Format((3, 3), roles=ROLES)


def ticket(name: str, *ratings: float, roles: tuple[str, ...] = (), **facts: Value) -> Ticket:
    players = tuple(
        Player(f"{name}{at}", Rating(mean), dict(facts), roles) for at, mean in enumerate(ratings)
    )
    return Ticket(name, 1, 0.0, players, ())


def gaps_of(
    queue: Queue, teams: Seats, roles: tuple[tuple[str, ...], ...] | None = None
) -> dict[str, float]:
    gaps = Gaps(queue)
    return dict(zip(gaps.names, gaps.of(teams, roles), strict=True))


NEAR, FAR = {"eu": 20.0, "us": 120.0}, {"eu": 80.0, "us": 60.0}
TEAMS: Seats = (
    (
        ticket("a", 1500.0, 1700.0, latency=NEAR),
        ticket("b", 1600.0, roles=("dps", "tank"), latency=NEAR),
    ),
    (ticket("c", 1300.0, 1900.0, latency=NEAR), ticket("d", 1300.0, roles=("tank",), latency=FAR)),
)


def test_ratings_and_pings_are_told_as_they_are_whatever_the_scale() -> None:
    criteria = (
        Criterion("imbalance", "rating", scale=Scale("log", knee=10.0, max=50.0, cap=1400.0)),
        Criterion("mean_gap", "rating", scale=Scale("percentile", sample=Sample((0.0, 3000.0)))),
        Criterion("spread", "rating", scale=Scale("linear", 1400.0, 1600.0)),
        Criterion("imbalance", "rating", measure="sum", step=1000.0, scale=Scale("none")),
        Criterion("latency", "latency", pairs="region"),
    )
    found = gaps_of(Queue(format=Format((3, 3)), criteria=criteria), TEAMS)
    assert list(found) == [
        *("rating: team gap", "rating: player gap", "rating: widest gap"),
        *("rating: team gap of sums", "latency: mean ping", "latency: worst ping"),
        "teams of the same party sizes",
    ]
    assert found["rating: team gap"] == 100.0
    assert found["rating: widest gap"] == 600.0
    assert found["rating: team gap of sums"] == 300.0
    # 1300 1300 1500 1600 1700 1900: signed sums of sorted values over 15 pairs.
    assert found["rating: player gap"] == pytest.approx(
        (-5 - 3) * 1300 / 15 + (-1500 + 1600 + 3 * 1700 + 5 * 1900) / 15
    )
    assert (found["latency: mean ping"], found["latency: worst ping"]) == (30.0, 80.0)
    assert found["teams of the same party sizes"] == 1.0


def test_pings_of_enemies_are_told_where_no_region_is_shared() -> None:
    queue = Queue(criteria=(Criterion("latency", "latency"),))
    one, two = ticket("a", 1.0, latency={"eu": 20.0}), ticket("b", 1.0, latency={"eu": 35.0})
    assert gaps_of(queue, ((one,), (two,))) == {
        "latency: mean ping": 55.0,
        "latency: worst ping": 55.0,
    }
    apart = ticket("c", 1.0, latency={"us": 35.0})
    assert all(math.isnan(value) for value in gaps_of(queue, ((one,), (apart,))).values())


def test_a_duel_has_one_gap_whatever_the_kind() -> None:
    criteria = tuple(Criterion(kind, "rating") for kind in ("spread", "mean_gap", "imbalance"))
    queue = Queue(criteria=criteria, rules=(Rule("spread", "rating", 0.1, unit="relative"),))
    assert gaps_of(queue, ((ticket("a", 1500.0),), (ticket("b", 1380.0),))) == {
        "rating: gap": 120.0
    }


def test_a_rule_on_numbers_is_told_without_a_criterion_and_others_are_not() -> None:
    rules = (
        Rule("spread", "rating", 100.0),
        Rule("latency", "latency", 90.0),
        Rule("same", "mode"),
    )
    names = Gaps(Queue(format=Format((2, 2), party_sizes=(1,)), rules=rules)).names
    assert names == ("rating: widest gap", "latency: mean ping", "latency: worst ping")


def test_players_off_their_role_are_counted_by_what_they_were_given() -> None:
    queue = Queue(format=TRIO)
    given = (("dps", "dps", "tank"), ("dps", "dps", "tank"))
    # b wanted dps and was given tank; those who name no role are content with any.
    found = gaps_of(queue, TEAMS, given)
    assert found["players off their role"] == pytest.approx(1 / 6)
    # Asked for the best way, b plays dps, and one of the others the tank.
    assert gaps_of(queue, TEAMS)["players off their role"] == 0.0


def test_party_sizes_are_the_same_in_any_order() -> None:
    queue = Queue(format=Format((3, 3)))
    pair, solo = ticket("a", 1.0, 1.0), ticket("b", 1.0)
    solos = tuple(ticket(f"s{at}", 1.0) for at in range(3))
    assert gaps_of(queue, ((pair, solo), (ticket("c", 1.0), ticket("d", 1.0, 1.0)))) == {
        "teams of the same party sizes": 1.0
    }
    assert gaps_of(queue, ((pair, solo), solos)) == {"teams of the same party sizes": 0.0}


def test_other_kinds_count_pairs_hosts_and_seats() -> None:
    criteria = (
        Criterion("same", "mode"),
        Criterion("overlap", "languages"),
        Criterion("rematch", "recent", matches=2),
        Criterion("host_options", "connect"),
        Criterion("fullness"),
    )
    queue = Queue(format=Format((2, 2), party_sizes=(1,), players_min=(1, 1)), criteria=criteria)
    facts: dict[str, Value] = {"mode": "a", "languages": ("en",), "connect": "strict"}
    one = ticket("a", 1.0, **facts)
    two = ticket("b", 1.0, **{**facts, "recent": {"a0": 2.0}, "connect": "open"})
    three = ticket("c", 1.0, **{**facts, "mode": "b", "languages": ("fr",)})
    assert gaps_of(queue, ((one, two), (three,))) == {
        "mode: pairs who differ": pytest.approx(2 / 3),
        "languages: pairs with nothing in common": pytest.approx(2 / 3),
        "pairs who met lately": pytest.approx(1 / 3),
        "possible hosts": 1.0,
        "free seats": 1.0,
    }


def test_every_kind_of_criterion_has_a_gap_that_is_known_by_its_words() -> None:
    for kind in ("latency", "party_parity", "host_options", "same", "overlap", "fullness"):
        assert KINDS[kind].raw
    for words, gap in KNOWN.items():
        assert gap_of_name(f"a: b.c: {words}" if gap.is_of_attribute else words) == gap
        assert gap.unit in ("", "ms", "%")


def test_tables_of_numbers_agree_with_single_matches() -> None:
    import numpy as np

    values = np.array([[1500.0, 1700.0, 1300.0, 1900.0], [1.0, 2.0, 3.0, 5.0]])
    for kind, name in (
        ("spread", "widest gap"),
        ("mean_gap", "player gap"),
        ("imbalance", "team gap"),
    ):
        queue = Queue(
            format=Format((2, 2), party_sizes=(1,)), criteria=(Criterion(kind, "rating"),)
        )
        table = numeric_kind(Criterion(kind)).gaps_of(values, (2, 2))
        for row, expected in zip(values.tolist(), table.tolist(), strict=True):
            a, b, c, d = [ticket(f"t{at}", value) for at, value in enumerate(row)]
            found = gaps_of(queue, ((a, b), (c, d)))
            assert found[f"rating: {name}"] == pytest.approx(expected)
