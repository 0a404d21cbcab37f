"""A policy that has divided its tickets into teams is held to the format and the rules."""

import pytest

from evenmatch.engine.matching.decision_check import check_grouping
from evenmatch.engine.matching.pool import Pool
from evenmatch.errors import PolicyError
from evenmatch.model.condition import Condition, FixedValue, FoldOf, TeamProperty, ValueTest
from evenmatch.model.queue import Format, Queue, Rule
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.base import Grouping
from evenmatch.policies.by_rules import ByRules

RED = TeamProperty(teams=(0,), is_grouped=False, what="attribute", attribute="skill")
LOW = ValueTest(measured=(FoldOf("max", RED),), operator="<", reference=FixedValue(2.0))
QUEUE = Queue(
    format=Format((2, 2), ("red", "blue"), players_min=(1, 1)),
    rules=(Rule("condition", condition=Condition("low reds", LOW)),),
    policy="by_rules",
)


@pytest.fixture
def pool() -> Pool:
    found = Pool(QUEUE, ByRules(), seed=0)
    for number in range(4):
        player = Player(f"p{number}", attributes={"skill": float(number)})
        side = {"side": "blue"} if number == 3 else {}
        found.enter(Ticket(f"t{number}", number + 1, 0.0, (player,), ("main",), side), 0.0)
    return found


def test_the_teams_of_the_policy_are_kept(pool: Pool) -> None:
    teams = (("t1", "t0"), ("t3",))
    tickets, seating = check_grouping(pool, Grouping(("t0", "t1", "t3"), teams=teams), 0.0, True)
    assert [each.id for each in tickets] == ["t0", "t1", "t3"]
    assert tuple(tuple(each.id for each in team) for team in seating.teams) == teams


@pytest.mark.parametrize(
    ("tickets", "teams", "sentence"),
    [
        (("t0", "t2"), (("t2",), ("t0",)), "condition low reds does not allow it"),
        (("t0", "t1"), (("t0", "t1"), ()), "do not fill the teams"),
        (("t0", "t1"), (("t0",),), "do not fill the teams"),
        (("t0", "t1"), (("t0",), ("t0",)), "do not fill the teams"),
        (("t0", "t3"), (("t3",), ("t0",)), "do not fill the teams"),
        (("t0", "t1", "t2"), (("t0",), ("t1",)), "do not fill the teams"),
    ],
)
def test_teams_that_are_none_are_refused(
    pool: Pool, tickets: tuple[str, ...], teams: tuple[tuple[str, ...], ...], sentence: str
) -> None:
    with pytest.raises(PolicyError, match=sentence):
        check_grouping(pool, Grouping(tickets, teams=teams), 0.0, True)


def test_without_teams_the_engine_finds_a_legal_division(pool: Pool) -> None:
    _, seating = check_grouping(pool, Grouping(("t0", "t2")), 0.0, True)
    assert [[each.id for each in team] for team in seating.teams] == [["t0"], ["t2"]]
