"""`patient`: teams that can be exactly even play at once, the longest waiting first."""

import random

import pytest

from evenmatch import simulate
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Format, Queue, Rule, Scale
from evenmatch.model.scenario import Scenario
from evenmatch.policies.base import Matcher
from evenmatch.policies.patient import Patient
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import ticket

RAW = Scale("none")


def teams_of(n: int, *, party_sizes: tuple[int, ...] = (), **settings: object) -> Queue:
    balanced = Criterion("imbalance", "rating", measure="sum", scale=RAW)
    form = Format((n, n), party_sizes=party_sizes)
    return Queue(format=form, criteria=(balanced,), **settings)  # type: ignore[arg-type]


def arrive(matcher: Matcher, *skills: float) -> list[tuple[str, ...]]:
    """Let players come one a second, numbered from 0; return the matches."""
    found = []
    for number, skill in enumerate(skills):
        at = float(number)
        matcher.enter(ticket(str(number), skill, at=at, sequence=number + 1), at)
        found += [group.tickets for group in matcher.decide(at).matches]
    return found


def test_two_of_a_type_play_at_once_and_two_of_different_types_wait() -> None:
    assert arrive(Patient().matcher(teams_of(1), seed=0), 1, 0, 1) == [("0", "2")]


def test_all_play_who_divide_into_even_teams() -> None:
    assert arrive(Patient().matcher(teams_of(2), seed=0), 1, 0, 0, 1) == [("0", "1", "2", "3")]


def test_the_youngest_of_the_surplus_type_stays() -> None:
    # Three strong and one weak player wait; another strong one makes four strong ones.
    assert arrive(Patient().matcher(teams_of(2), seed=0), 1, 1, 0, 1, 1) == [("0", "1", "3", "4")]
    # Another weak one makes two: of the three strong ones the youngest stays.
    assert arrive(Patient().matcher(teams_of(2), seed=0), 1, 1, 0, 1, 0) == [("0", "1", "2", "4")]


def test_different_skills_make_even_teams_where_their_sums_agree() -> None:
    # As floats .1 + .2 is more than .3 by a rounding.
    found = arrive(Patient().matcher(teams_of(2), seed=0), 0.1, 0.7, 0.2, 0.0, 0.3)
    assert found == [("0", "2", "3", "4")]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 20, 50])
def test_of_two_types_at_most_two_teams_wait(n: int) -> None:
    rng = random.Random(n)
    matcher = Patient().matcher(teams_of(n), seed=0)
    waiting = 0
    for number in range(100 * n):
        at = float(number)
        skill = float(rng.random() < 0.3)
        matcher.enter(ticket(str(number), skill, at=at, sequence=number + 1), at)
        waiting += 1 - 2 * n * len(matcher.decide(at).matches)
        assert 0 <= waiting <= 2 * n


@pytest.mark.parametrize("n", [8, 20])
def test_large_teams_of_two_types_are_even(n: int) -> None:
    queue = teams_of(n, policy="patient")
    rng = random.Random(n)
    tickets = [
        ticket(str(at), float(rng.random() < 0.3), at=float(at), sequence=at + 1)
        for at in range(20 * n)
    ]
    run = simulate(Scenario((queue,)), arrivals=tickets)
    assert run.summary["matches"] >= 8
    skills = {each.id: each.players[0].rating.mean for each in tickets if each.players[0].rating}
    for match in run.matches:
        first, second = (sum(skills[name] for name in team) for team in match["teams"])
        assert first == second


def test_on_skill_that_is_never_equal_nobody_plays() -> None:
    rng = random.Random(1)
    assert arrive(Patient().matcher(teams_of(1), seed=0), *(rng.random() for _ in range(200))) == []


def test_a_step_makes_near_teams_even() -> None:
    criterion = Criterion("imbalance", "rating", measure="sum", scale=RAW, step=100.0)
    matcher = Patient().matcher(Queue(criteria=(criterion,)), seed=0)
    # 1510 and 1590 differ by less than a step from 1600, and the former has waited longer.
    assert arrive(matcher, 1510, 1400, 1590, 1600) == [("0", "2")]
    matcher = Patient().matcher(Queue(criteria=(criterion,)), seed=0)
    assert arrive(matcher, 1510, 1690, 1600) == [("0", "2")]


def test_parties_stay_together() -> None:
    matcher = Patient().matcher(teams_of(2), seed=0)
    found = []
    parties = ([1.0, 1.0], [1.0], [0.0], [0.0, 1.0], [1.0, 0.0])
    for number, skills in enumerate(parties):
        party = ticket(str(number), *skills, at=float(number), sequence=number + 1)
        matcher.enter(party, float(number))
        found += [group.tickets for group in matcher.decide(float(number)).matches]
    # The strong pair finds no equal; the two solos are as strong together as a mixed pair.
    assert found == [("1", "2", "3")]


def test_who_left_is_not_counted_on() -> None:
    matcher = Patient().matcher(teams_of(1), seed=0)
    matcher.enter(ticket("a", 1, sequence=1), 0.0)
    matcher.decide(0.0)
    matcher.leave("a", 1.0)
    matcher.leave("stranger", 1.0)
    matcher.enter(ticket("b", 1, at=2.0, sequence=2), 2.0)
    assert not matcher.decide(2.0).matches
    matcher.enter(ticket("a", 1, sequence=1), 3.0)
    assert matcher.decide(3.0).matches[0].tickets == ("a", "b")


@pytest.mark.parametrize(
    ("queue", "sentence"),
    [
        (Queue(format=Format((1, 1, 1))), "is for two full teams of one size"),
        (Queue(format=Format((1, 4))), "has 1 against 4"),
        (Queue(format=Format((3, 3), players_min=(2, 2))), "has 3 against 3 at most"),
        (Queue(format=Format((51, 51))), "teams of at most 50 players"),
        (teams_of(1, rules=(Rule("spread", "rating", 50.0),)), "has rules: choose price or window"),
        (teams_of(2, rules=(Rule("spread", "rating", 50.0),)), "choose rolling or greedy"),
        (Queue(format=Format(sides=("A", "B"))), "has sides"),
        (Queue(format=Format((2, 2), roles=(("tank", 1), ("dps", 1)))), "has roles"),
        (Queue(), "criterion of kind imbalance or spread; queue main has none"),
        (Queue(format=Format((2, 2)), criteria=(Criterion("spread", "c0"),)), "kind imbalance;"),
    ],
)
def test_queue_that_it_is_not_for_is_refused(queue: Queue, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_policy("patient").matcher(queue, seed=0)
