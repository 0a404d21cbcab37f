"""Sides as wishes: granted where the match allows it, larger parties first, then by age."""

import random
from collections.abc import Sequence
from itertools import product

import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.rules import side_of
from evenmatch.criteria.validation.queue import check_queue
from evenmatch.engine.matching.decision_check import off_side
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Format, Queue, Scale, SideChoice
from evenmatch.model.ticket import Ticket
from evenmatch.testing import ticket

SIDES = ("A", "B")


def wishing(*wishes: str, sizes: Sequence[int] = ()) -> list[Ticket]:
    """Return tickets by age, of one player each unless sizes are given."""
    return [
        ticket(
            f"t{at}", *[1500.0 + 10 * at] * (sizes[at] if sizes else 1), sequence=at + 1, side=wish
        )
        for at, wish in enumerate(wishes)
    ]


def objective(*players: int, choice: SideChoice = "prefer", criteria: bool = False) -> Objective:
    by_team = (Criterion("imbalance", "rating", scale=Scale("none")),) if criteria else ()
    return Objective(Queue("q", Format(players, SIDES, side_choice=choice), by_team))


def seated(tickets: list[Ticket], at_work: Objective) -> list[list[str]]:
    seating = at_work.seat(tickets)
    assert seating is not None
    return [[each.id for each in team] for team in seating.teams]


def placed_off(tickets: list[Ticket], at_work: Objective) -> int:
    seating = at_work.seat(tickets)
    assert seating is not None
    off = off_side(SIDES, seating.teams) or ()
    return sum(each.size for each in tickets if each.id in off)


def test_wishes_that_fit_are_granted() -> None:
    assert seated(wishing("B", "A"), objective(1, 1)) == [["t1"], ["t0"]]
    assert seated(wishing("", "A"), objective(1, 1)) == [["t1"], ["t0"]]
    assert seated(wishing("B", ""), objective(1, 1)) == [["t1"], ["t0"]]


def test_of_two_who_want_one_side_the_elder_gets_it() -> None:
    assert seated(wishing("A", "A"), objective(1, 1)) == [["t0"], ["t1"]]
    assert seated(wishing("B", "B"), objective(1, 1)) == [["t1"], ["t0"]]


def test_larger_party_gets_the_side_before_an_older_solo() -> None:
    three = wishing("A", "A", "B", sizes=(1, 2, 1))
    assert seated(three, objective(2, 2)) == [["t1"], ["t0", "t2"]]


def test_with_insist_the_same_tickets_make_no_match() -> None:
    assert objective(1, 1, choice="insist").seat(wishing("A", "A")) is None
    assert objective(2, 2, choice="insist").seat(wishing("A", "A", "A", "")) is None


def test_wishes_come_before_the_criteria_and_criteria_before_nothing() -> None:
    four = wishing("A", "A", "B", "")
    # Ratings 1500 to 1530: even teams would part t0 from t1.
    assert seated(four, objective(2, 2, criteria=True)) == [["t0", "t1"], ["t2", "t3"]]
    assert sorted(seated(wishing("A", "", "", ""), objective(2, 2, criteria=True))[0]) == [
        "t0",
        "t3",
    ]


@pytest.mark.parametrize("players", [(1, 1), (2, 2), (3, 3), (1, 3)])
def test_no_division_of_solos_grants_more_wishes(players: tuple[int, ...]) -> None:
    rng = random.Random(7)
    for _ in range(60):
        tickets = wishing(*rng.choices(("A", "B", ""), k=sum(players)))
        least = sum(players)
        for teams in product(range(2), repeat=len(tickets)):
            if teams.count(0) == players[0]:
                wrong = [
                    side_of(each) not in ("", SIDES[team])
                    for each, team in zip(tickets, teams, strict=True)
                ]
                least = min(least, sum(wrong))
        assert placed_off(tickets, objective(*players)) == least
        assert placed_off(tickets, objective(*players, criteria=True)) == least


def test_pairs_of_one_side_are_ready_at_once_and_never_with_insist() -> None:
    one, two = wishing("A", "A")
    assert objective(1, 1).rules.pair_ready_at(one, two) == 0.0
    assert objective(1, 1, choice="insist").rules.pair_ready_at(one, two) == float("inf")


def test_file_says_what_a_side_is() -> None:
    text = '[[queue]]\nsides = ["A", "B"]\nside_choice = "prefer"'
    assert parse_scenario(text).queues[0].format.side_choice == "prefer"
    assert parse_scenario('[[queue]]\nsides = ["A", "B"]').queues[0].format.strict_sides == SIDES


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ('sides = ["A", "B"]\nside_choice = "ask"', "must be one of insist, prefer"),
        ('side_choice = "prefer"', "side_choice says what a wish for a side is; name the sides"),
    ],
)
def test_side_choice_that_means_nothing_is_refused(text: str, fragment: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_scenario(f"[[queue]]\n{text}")
    assert fragment in str(caught.value)


def test_side_choice_of_another_word_is_refused_in_python_too() -> None:
    wrong = Queue("q", Format(sides=SIDES, side_choice="ask"))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="side_choice must be one of insist, prefer"):
        check_queue(wrong)
