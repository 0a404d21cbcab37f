"""Which running match gets a look when many of them ask for players."""

import pytest
from msgspec.structs import replace

from evenmatch.engine.matching.pool import FunctionPolicy
from evenmatch.model.events import Opened
from evenmatch.model.inputs import Accept, Cancel, Configure, Enqueue, Open
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.queue import ReadyCheck as Check
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, rule
from tests.unit.engine import test_backfill
from tests.unit.engine.test_backfill import House, filled, fills

EVEN = Criterion("imbalance", "rating", scale=Scale("linear", 1000.0, 3000.0))
ROLES = (("tank", 1), ("dps", 1))
OPEN = 60


@pytest.fixture
def _nobody_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    idle = FunctionPolicy(lambda pool, now: ())
    monkeypatch.setattr(
        test_backfill, "parse_policy", lambda spec: idle if spec == "none" else parse_policy(spec)
    )


@pytest.fixture
def house() -> House:
    """Two duos who play, `b` the match's only dps of the first team, and nobody who waits."""
    form = Format((2, 2), roles=ROLES)
    widens = rule(limit=100, rate=10)
    made = House(Queue("main", form, rules=(widens,), backfill="manual"))
    for name, role in (("a", "tank"), ("b", "dps"), ("c", "tank"), ("d", "dps")):
        made.enter(1.0, person(name, role, 1500.0))
    return made


def person(name: str, role: str, rating: float) -> NewTicket:
    return NewTicket((Player(name, roles=(role,), attributes={"rating": rating}),))


def test_who_is_ready_later_is_not_forgotten_behind_many_who_are_ready(house: House) -> None:
    for number in range(16):
        house.enter(1.25, person(f"tank {number}", "tank", 1500.0))
    house.enter(1.5, person("late", "dps", 1650.0))
    house.open(2.0, "b", lease=60.0)
    house.pass_to(3.0)
    for number in range(16):
        house.hand(Cancel(4.0, f"s0-{5 + number}"))

    (fill,) = fills(house.pass_to(61.0))
    assert (fill.at, fill.players) == (6.5, (("late",), ()))


@pytest.mark.parametrize(("older", "after"), [(15, 0.0), (16, 0.25), (40, 0.5), (200, 3.0)])
def test_who_is_ready_is_seen_behind_any_number_of_others_who_have_no_seat(
    house: House, older: int, after: float
) -> None:
    for number in range(older):
        house.enter(1.25, person(f"tank {number}", "tank", 1500.0))
    house.enter(1.5, person("last", "dps", 1500.0))
    opened = house.open(2.0, "b", lease=60.0)

    (fill,) = fills([*opened, *house.pass_to(61.0)])
    assert (fill.at, fill.players) == (2.0 + after, (("last",), ()))


def test_heartbeats_do_not_let_a_look_begin_anew(house: House) -> None:
    for number in range(200):
        house.enter(1.25, person(f"tank {number}", "tank", 1500.0))
    house.enter(1.5, person("last", "dps", 1500.0))
    for second in (2.0, 3.0, 4.0):
        house.open(second, "b", lease=2.0)
    assert len([r for r in house.journal if type(r.events[0]) is Opened]) == 3

    (fill,) = fills(house.pass_to(61.0))
    assert (fill.at, fill.players) == (5.0, (("last",), ()))


@pytest.mark.parametrize("beats", [0, 3])
def test_heartbeats_leave_a_match_in_its_place(beats: int) -> None:
    house = House(filled(1, 1))
    house.enter(1.0, "a", "b", "c", "d")
    house.open(2.0, "b", lease=30.0)
    house.hand(Open(3.0, "s0-m2", 0, ("d",), lease=600.0))
    for beat in range(beats):
        house.open(20.0 * (beat + 1), "b", lease=30.0)
    (fill,) = fills(house.enter(20.0 * beats + 10.0, "e"))
    assert fill.extends == "s0-m1"


def test_older_ticket_that_is_ready_while_a_look_goes_on_is_seen_by_the_rest_of_it(
    house: House,
) -> None:
    house.enter(1.25, person("older", "dps", 1609.0))
    for number in range(40):
        house.enter(1.5, person(f"tank {number}", "tank", 1500.0))
    house.open(2.0, "b", lease=60.0)

    (fill,) = fills(house.pass_to(61.0))
    assert (fill.at, fill.players) == (2.25, (("older",), ()))


def test_many_teams_with_free_seats_do_not_use_up_a_look_before_all_have_their_turn() -> None:
    even = Rule("imbalance", "rating", 50.0)
    house = House(Queue("main", Format((2,) * 10), rules=(even,), backfill="manual"))
    house.enter(1.0, *(new_ticket(f"player {seat}", 1500) for seat in range(20)))
    house.pass_to(1.5)
    made = house.engine.tables.matches["s0-m1"].match
    for number in range(15):
        house.enter(1.5, new_ticket(f"bad {number}", 1900))
    house.enter(1.75, new_ticket("good", 1500))
    left = [team[0] for team in made.players]
    opened = house.open(2.0, *left, lease=600.0)

    (fill,) = fills([*opened, *house.pass_to(61.0)])
    assert (fill.at, sum(fill.players, ())) == (2.25, ("good",))


def test_newcomers_of_one_instant_are_all_divided_where_many_teams_have_free_seats() -> None:
    even = Rule("imbalance", "rating", 50.0)
    house = House(Queue("main", Format((2,) * 10), rules=(even,), backfill="manual"))
    house.enter(1.0, *(new_ticket(f"player {seat}", 1500) for seat in range(20)))
    house.pass_to(1.5)
    made = house.engine.tables.matches["s0-m1"].match
    house.open(2.0, *(team[0] for team in made.players), lease=600.0)
    bad = [new_ticket(f"bad {number}", 1900) for number in range(15)]
    came = house.enter(3.0, *bad, new_ticket("good", 1500))

    (fill,) = fills([*came, *house.pass_to(61.0)])
    assert (fill.at, sum(fill.players, ())) == (3.5, ("good",))


def test_older_ticket_below_the_quality_floor_takes_no_seat_from_one_above_it() -> None:
    house = House(Queue("main", Format((2, 2)), criteria=(EVEN,), backfill="manual"))
    house.enter(1.0, *(new_ticket(name, 1500) for name in "abcd"))
    house.enter(2.0, new_ticket("old", 2900))
    house.enter(30.0, new_ticket("good", 1500))
    opened = house.open(31.0, "b", lease=600.0, quality_floor=0.9)

    (fill,) = fills([*opened, *house.pass_to(61.0)])
    assert (fill.at, sum(fill.players, ())) == (31.0, ("good",))


def test_many_newcomers_of_one_instant_are_all_seen(house: House) -> None:
    house.open(2.0, "b", lease=60.0)
    tanks = [person(f"tank {number}", "tank", 1500.0) for number in range(20)]
    came = house.enter(3.0, *tanks, person("last", "dps", 1500.0))

    (fill,) = fills([*came, *house.pass_to(61.0)])
    assert (fill.at, fill.players) == (3.5, (("last",), ()))


@pytest.mark.parametrize(("tanks", "odd"), [(16, 0), (16, 1), (17, 3), (33, 0)])
def test_instant_at_which_a_rule_on_the_match_allows_one_of_the_first_is_kept(
    tanks: int, odd: int
) -> None:
    widens = Rule("imbalance", "rating", 50.0, expand=Expansion(rate=10.0, max=200.0))
    form = Format((2, 2), roles=ROLES)
    house = House(Queue("main", form, rules=(widens,), backfill="manual"))
    for name, role in (("a", "tank"), ("b", "dps"), ("c", "tank"), ("d", "dps")):
        house.enter(1.0, person(name, role, 1500.0))
    for number in range(tanks):
        house.enter(1.5, person(f"tank {number}", "tank", 1700.0))
    for number in range(odd):
        house.enter(1.75, person(f"odd {number}", "tank", 9000.0))
    house.open(2.0, "a", lease=600.0)

    (fill,) = fills(house.pass_to(61.0))
    assert (fill.at, fill.players) == (6.5, (("tank 0",), ()))


def test_older_ticket_that_comes_back_while_a_look_goes_on_is_seen_by_the_rest_of_it() -> None:
    form, checked = Format((2, 2), roles=ROLES), Check(1.0, repair=0.0, newcomers=False)
    house = House(Queue("main", form, rules=(rule(limit=100),), backfill="manual", accept=checked))
    for name, role in (("a", "tank"), ("b", "dps"), ("c", "tank"), ("d", "dps")):
        house.enter(1.0, person(name, role, 1500.0))
    for number in (1, 2, 3, 4):
        house.hand(Accept(1.0, "s0-m1", f"s0-{number}"))
    for name, role in (("p", "tank"), ("older", "dps"), ("q", "tank"), ("silent", "dps")):
        house.enter(1.25, person(name, role, 1500.0))
    for number in (5, 6, 7):
        house.hand(Accept(1.375, "s0-m2", f"s0-{number}"))
    for number in range(40):
        house.enter(1.5, person(f"tank {number}", "tank", 1500.0))
    opened = house.open(2.0, "b", lease=600.0)

    (fill,) = fills([*opened, *house.pass_to(61.0)])
    assert (fill.at, fill.players) == (2.25, (("older",), ()))


def test_match_that_is_opened_anew_looks_at_all_from_the_oldest_on() -> None:
    form = Format((2, 2), roles=ROLES)
    house = House(Queue("main", form, rules=(rule(limit=100),), backfill="manual"))
    for rating, others in ((1500.0, ""), (5000.0, "x")):
        for name, role in (("a", "tank"), ("b", "dps"), ("c", "tank"), ("d", "dps")):
            house.enter(1.0, person(name + others, role, rating))
    # Another open match keeps the columns of the queue.
    house.hand(Open(1.25, "s0-m2", 0, ("bx",), lease=60.0))
    for number in range(16):
        house.enter(1.5, person(f"tank {number}", "tank", 1500.0))
    house.enter(1.5, person("odd", "tank", 1500.0))
    house.open(2.0, "b", lease=60.0)
    again = house.open(2.125, "a", lease=60.0)

    (fill,) = fills([*again, *house.pass_to(61.0)])
    assert (fill.at, fill.players) == (2.125, (("tank 0",), ()))


@pytest.mark.usefixtures("_nobody_decides")
@pytest.mark.parametrize(("queues", "within"), [(("main", "side"), 0.0), (("main",), 30.0)])
def test_no_match_and_no_queue_starves_while_others_search(
    queues: tuple[str, ...], within: float
) -> None:
    # Somebody comes each second whom no open match may take, whom all look at, and who soon leaves.
    # The one whom only the last match takes comes at 30 s.
    main = filled(2, 2, criteria=(EVEN,))
    side = replace(main, name="side")
    house = House(main, side)
    last = queues[-1]
    for number in range(OPEN):
        house.enter(1.0, *(new_ticket(f"m{number}.{seat}", 1500) for seat in range(4)))
    house.enter(1.25, *(new_ticket(f"last.{seat}", 1500, queues=(last,)) for seat in range(4)))
    house.hand(Configure(1.5, tuple(replace(each, policy="none") for each in (main, side))))
    for number in range(OPEN):
        left, floor = (f"m{number}.0",), 0.9999
        house.hand(Open(3.0, f"s0-m{number + 1}", 0, left, lease=600.0, quality_floor=floor))
    last_match = f"s0-m{OPEN + 1}"
    house.hand(Open(6.0, last_match, 0, ("last.0",), lease=600.0, quality_floor=0.99))
    found, here = [], []
    for second in range(10, 61):
        rating = 1505 if second == 30 else 1700 + second
        found += fills(house.enter(float(second), new_ticket(f"w{second}", rating, queues=queues)))
        if second != 30:
            here.append(house.engine.tables.counters.accepted)
        if len(here) > 10:
            house.hand(Cancel(float(second), f"s0-{here.pop(0)}"))
        found += fills(house.pass_to(second + 0.99))

    assert [fill.extends for fill in found] == [last_match]
    assert 30.0 <= found[0].at <= 30.0 + within


def test_error_in_a_search_stops_its_queue_alone(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> float:
        raise TypeError("planted")

    house.open(2.0, "b", lease=600.0)
    house.pass_to(2.5)
    with monkeypatch.context() as patch:
        patch.setattr("evenmatch.engine.backfill.candidates.may_join_at", broken)
        patch.setattr("evenmatch.engine.backfill.open_match_table.may_join_at", broken)
        house.engine.step(Enqueue(2.5, (person("late", "dps", 1500.0),)))

    (fault,) = house.engine.faults
    assert "queue main failed in the search for newcomers: TypeError: planted" in str(fault)
    assert house.engine.view("s0-5").state == "waiting"
