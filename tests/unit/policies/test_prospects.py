"""What players may hope for: learnt from searches, and what it changes in `rolling`."""

import json

import numpy as np
import pytest

from evenmatch.model.queue import Criterion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import Ticket
from evenmatch.policies.registry import parse_policy
from evenmatch.policies.shared.prospects import LOOKS, SLOPE_FIRST, Prospects, prospects_of
from evenmatch.policies.shared.search_matcher import SearchingMatcher
from evenmatch.policies.shared.start_rule import tentative_of
from evenmatch.policies.shared.ticket_batch import BatchRoster
from evenmatch.testing import ticket

LEVEL = Criterion("mean_gap", "rating", weight=1.0, scale=Scale(min=0.0, max=1_000.0))
TWOS = Queue("twos", Format((2, 2)), (LEVEL,))
APART = Queue("twos", TWOS.format, TWOS.criteria, (Rule("same", "mode"),))


def crowd(count: int, rating: float = 500.0, *, first: int = 1) -> list[Ticket]:
    return [
        ticket(f"t{number}", rating + number % 7, sequence=number)
        for number in range(first, first + count)
    ]


def prospects_among(tickets: list[Ticket], queue: Queue = TWOS) -> np.ndarray:
    roster = BatchRoster(queue)
    for each in tickets:
        roster.enter(each)
    return prospects_of(roster.batch(tickets, 0.0))


def knowing(tickets: list[Ticket], prospects: list[float]) -> Prospects:
    found = Prospects({})
    for each in tickets:
        found.entered(each)
    found.note(list(zip([each.sequence for each in tickets], prospects, strict=True)))
    return found


def test_who_is_far_from_everybody_lacks_more() -> None:
    found = prospects_among([*crowd(12), ticket("far", 900.0, sequence=50)])
    assert found[-1] == pytest.approx(0.4, abs=0.02)
    assert found[:-1].max() < 0.02


def test_prospect_is_about_others_and_not_about_ones_own_party() -> None:
    friends = ticket("friends", 900.0, 900.0, sequence=50)
    found = prospects_among([*crowd(12), friends])
    assert found[-1] == pytest.approx(0.4, abs=0.02)


def test_who_may_not_play_with_the_nearer_ones_lacks_as_much_as_with_the_farthest() -> None:
    def of_mode(mode: str) -> float:
        crowd_of_one_mode = [
            ticket(f"t{number}", 500.0, mode="open", sequence=number) for number in range(1, 13)
        ]
        far = ticket("far", 900.0, mode="open", sequence=49)
        one = ticket("one", 500.0, mode=mode, sequence=50)
        return float(prospects_among([*crowd_of_one_mode, far, one], APART)[-1])

    assert of_mode("open") < 0.01
    assert of_mode("other") == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_have_prospects_too(count: int) -> None:
    found = prospects_among(crowd(count))
    assert len(found) == count
    assert np.isfinite(found).all()


def test_a_crowd_is_compared_with_a_part_of_it() -> None:
    few, many = prospects_among(crowd(60)), prospects_among(crowd(300))
    assert many.mean() == pytest.approx(few.mean(), abs=0.003)


def test_slope_is_learnt_from_matches() -> None:
    tickets = crowd(40)
    lacks = [0.1 + 0.01 * each for each in range(40)]
    prospects = knowing(tickets, lacks)
    assert prospects.slope == SLOPE_FIRST
    for _ in range(400):
        prospects.learn(
            [([t.sequence], 0.9 - 0.8 * p) for t, p in zip(tickets, lacks, strict=True)]
        )
    assert prospects.slope == pytest.approx(0.8, abs=0.02)
    assert prospects.hope(1) - prospects.hope(40) == pytest.approx(0.8 * 0.39, abs=0.01)


def test_parties_of_a_size_whose_matches_are_worse_hope_for_less() -> None:
    alone, three = crowd(6), ticket("three", 500.0, 500.0, 500.0, sequence=50)
    prospects = knowing([*alone, three], [0.1] * 7)
    for _ in range(200):
        prospects.learn([([t.sequence for t in alone], 0.9), ([50], 0.7)])
    assert prospects.hope(1) - prospects.hope(50) == pytest.approx(0.2, abs=0.01)
    # Players count, not parties.
    mean = (3.0 * prospects.hope(50) + prospects.hope(1)) / 4.0
    assert prospects.hope_of([50, 1]) == pytest.approx(mean)


def test_nothing_is_hoped_for_where_pairs_say_nothing() -> None:
    tickets = crowd(8)
    prospects = knowing(tickets, [0.0] * 8)
    prospects.learn([([t.sequence for t in tickets[:4]], 0.6)])
    assert prospects.hope(1) == prospects.hope(8)


def test_first_searches_alone_count() -> None:
    (one,) = crowd(1)
    prospects = knowing([one], [0.1])
    for _ in range(LOOKS - 1):
        prospects.note([(1, 0.1)])
    before = prospects.hope(1)
    prospects.note([(1, 0.9), (99, 0.5)])
    assert prospects.hope(1) == before


def test_memory_brings_back_those_who_wait() -> None:
    tickets = crowd(6)
    prospects = knowing(tickets, [0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
    prospects.learn([([1, 2, 3], 0.8), ([4, 5, 6], 0.7)])
    saved = json.loads(json.dumps(prospects.memory()))
    again = Prospects(saved)
    assert [again.hope(each) for each in range(1, 7)] == [prospects.hope(e) for e in range(1, 7)]
    newcomer = ticket("new", 500.0, sequence=7)
    again.restored({2: tickets[1], 7: newcomer})
    assert again.hope(2) == prospects.hope(2)
    assert [known[0] for known in again.memory()["known"]] == [2, 7]
    again.left(2)
    with pytest.raises(KeyError):
        again.hope(2)


def test_of_equal_matches_that_of_players_who_may_hope_for_less_starts_first() -> None:
    matcher = parse_policy("rolling:target_wait=60").matcher(TWOS, seed=1)
    assert isinstance(matcher, SearchingMatcher)
    tickets = crowd(8)
    for each in tickets:
        matcher.enter(each, 0.0)
    central, remote = (tentative_of(part, 0.8) for part in (tickets[:4], tickets[4:]))
    data = {"asked": list(range(1, 9)), "prospects": [0.05] * 4 + [0.3] * 4}
    matcher.rule.found([central, remote], [], data, 0.0)
    assert matcher.rule.start_at(remote, tickets[4:]) <= 0.0
    assert matcher.rule.start_at(central, tickets[:4]) > 0.0
    assert matcher.rule.value(remote, 0.0) > matcher.rule.value(central, 0.0)
    assert matcher.rule.worth(tickets[4], 0.0) > matcher.rule.worth(tickets[0], 0.0)
    perfect = tentative_of(tickets[:4], 0.995)
    matcher.rule.found([perfect, remote], [], data, 0.0)
    assert matcher.rule.start_at(perfect, tickets[:4]) <= 0.0


def test_search_says_what_parties_may_hope_for_only_where_that_is_asked() -> None:
    for spec, is_asked in (("rolling", True), ("threshold", False)):
        matcher = parse_policy(spec).matcher(TWOS, seed=1)
        for each in crowd(8):
            matcher.enter(each, 0.0)
        job = matcher.decide(1.0, fired=True).job
        assert job is not None
        plan = job.combine([job.solve(part) for part in range(job.parts)])
        assert ("prospects" in plan.data) == is_asked
