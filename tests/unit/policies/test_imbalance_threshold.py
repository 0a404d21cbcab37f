"""`imbalance_threshold`: the most even match starts if it is even enough."""

import math

import msgspec
import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.policies.base import Matcher
from evenmatch.policies.registry import parse_policy
from evenmatch.policies.shared.balance import Balance, BalanceEntry
from evenmatch.policies.shared.imbalance_matcher import FixedLimit, ImbalanceMatcher
from evenmatch.policies.shared.learnt_limit import HELD_MAX, Trial
from evenmatch.simulation.compiled.run import play
from evenmatch.testing import ticket

RAW = Scale("none")
SKILL = Criterion("imbalance", "rating", measure="sum", scale=RAW)


def queue_of(n: int, *criteria: Criterion, **settings: object) -> Queue:
    return Queue(format=Format((n, n)), criteria=criteria or (SKILL,), **settings)  # type: ignore[arg-type]


def matcher_of(queue: Queue, delta: float | None = None) -> Matcher:
    spec = "imbalance_threshold" if delta is None else f"imbalance_threshold:delta={delta}"
    return parse_policy(spec).matcher(queue, seed=0)


def arrive(matcher: Matcher, *skills: float, first: int = 0, **facts: float) -> list[str]:
    """Let players come one a second; return the matches, as numbers of players."""
    found = []
    for number, skill in enumerate(skills, first):
        at = float(number)
        matcher.enter(ticket(str(number), skill, at=at, sequence=number + 1, **facts), at)
        found += ["+".join(group.tickets) for group in matcher.decide(at).matches]
    return found


def test_the_nearest_player_is_taken_if_he_is_near_enough() -> None:
    assert arrive(matcher_of(queue_of(1), 0.25), 1.0, 2.0, 1.5, 1.75) == ["1+3"]
    assert arrive(matcher_of(queue_of(1), 0.2), 1.0, 2.0, 1.5, 1.75) == []


def test_of_equally_near_players_the_longest_waiting_is_taken() -> None:
    assert arrive(matcher_of(queue_of(1), 0.25), 2.0, 1.5, 1.75) == ["0+2"]
    assert arrive(matcher_of(queue_of(1), 0.25), 1.5, 2.0, 1.75) == ["0+2"]


def test_a_limit_of_a_decimal_means_the_decimal() -> None:
    # As floats .4 - .3 is more than .1 by a rounding.
    assert arrive(matcher_of(queue_of(1), 0.1), 0.3, 0.4) == ["0+1"]


def test_the_most_even_teams_are_taken_though_others_have_waited_longer() -> None:
    # .7 + 14 against 4 + 12 would do, too.
    assert arrive(matcher_of(queue_of(2), 1.5), 0.7, 4.0, 12.0, 6.0, 14.0) == ["1+2+3+4"]


def test_means_are_compared_where_the_criterion_compares_means() -> None:
    mean = Criterion("imbalance", "rating", scale=RAW)
    assert arrive(matcher_of(queue_of(2, mean), 0.5), 0.0, 4.0, 9.0, 6.0) == ["0+1+2+3"]
    assert arrive(matcher_of(queue_of(2, mean), 0.4), 0.0, 4.0, 9.0, 6.0) == []


def test_on_a_scale_the_limit_is_part_of_the_scale() -> None:
    scaled = Criterion("spread", "rating", scale=Scale(min=1000.0, max=2000.0))
    assert arrive(matcher_of(queue_of(1, scaled), 0.1), 1500, 1650, 1590) == ["1+2"]
    capped = Criterion("spread", "rating", scale=Scale("capped", max=400.0))
    assert arrive(matcher_of(queue_of(1, capped), 0.25), 1500, 1601) == []
    assert arrive(matcher_of(queue_of(1, capped), 0.25), 1500, 1600) == ["0+1"]


def test_the_first_imbalance_counts_and_in_a_duel_else_the_first_number() -> None:
    blitz = Criterion("spread", "blitz", scale=RAW)
    other = Criterion("imbalance", "blitz", scale=RAW)
    assert arrive(matcher_of(queue_of(1, blitz, SKILL, other), 0.0), 1.0, 2.0, 1.0, blitz=7.0) == [
        "0+2"
    ]
    assert arrive(matcher_of(queue_of(1, blitz), 0.0), 1.0, 2.0, blitz=7.0) == ["0+1"]


def test_who_comes_back_is_asked_again() -> None:
    matcher = matcher_of(queue_of(1), 0.0)
    assert arrive(matcher, 1.0, 2.0) == []
    matcher.leave("1", 2.0)
    assert arrive(matcher, 2.0, first=2) == []
    matcher.enter(ticket("1", 2.0, at=1.0, sequence=2), 3.0)
    assert matcher.decide(3.0).matches[0].tickets == ("1", "2")


def test_in_a_duel_without_a_deadline_price_with_theta_makes_the_same_matches() -> None:
    rng = np.random.default_rng(4)
    near = Criterion("spread", "rating", weight=1.0, scale=RAW)
    queue = queue_of(1, near, on_deadline="keep")
    skills = rng.integers(0, 40, 400) / 32.0
    times = np.arange(400.0)
    # Compiled, which `imbalance_threshold` is not.
    found = play(queue, parse_policy("price:theta=0.125"), times, skills[None, :])
    expected = ["+".join(map(str, sorted(pair))) for pair in found.tickets.tolist()]
    matches = arrive(matcher_of(queue, 0.125), *skills.tolist())
    assert ["+".join(sorted(each.split("+"), key=int)) for each in matches] == expected


def test_while_nothing_is_known_everybody_plays() -> None:
    assert arrive(matcher_of(queue_of(1)), 1.0, 900.0) == ["0+1"]


def learn(matcher: Matcher, *gaps: float) -> list[float]:
    """Let players of uniform skill come, so many seconds apart; return the limits."""
    rng = np.random.default_rng(1)
    at, found = 0.0, []
    for number, gap in enumerate(gaps):
        at += gap
        skill = float(rng.random())
        matcher.enter(ticket(str(number), skill, at=at, sequence=number + 1), at)
        matcher.decide(at)
        found.append(matcher._limit.value)  # type: ignore[attr-defined]
    return found


def typical(limits: list[float]) -> float:
    return math.exp(float(np.log(limits).mean()))


@pytest.mark.parametrize("alpha", [16.0, 64.0, 256.0])
def test_in_a_duel_on_uniform_skill_the_learnt_limit_is_the_known_one(alpha: float) -> None:
    dear = msgspec.structs.replace(SKILL, weight=2.0 * alpha)
    limits = learn(matcher_of(queue_of(1, dear, wait_price=1.0)), *[1.0] * 4000)
    # Trials are a factor of 1.41 apart.
    assert typical(limits[1000:]) == pytest.approx(0.8 / math.sqrt(alpha), rel=0.2)


def test_the_learnt_limit_halves_when_four_times_as_many_come() -> None:
    dear = msgspec.structs.replace(SKILL, weight=128.0)
    matcher = matcher_of(queue_of(1, dear, wait_price=1.0))
    limits = learn(matcher, *[1.0] * 3000, *[0.25] * 2000)
    assert typical(limits[3100:]) / typical(limits[1000:3000]) == pytest.approx(0.5, rel=0.2)


def test_the_learnt_limit_grows_again_when_few_come() -> None:
    dear = msgspec.structs.replace(SKILL, weight=128.0)
    matcher = matcher_of(queue_of(1, dear, wait_price=1.0))
    limits = learn(matcher, *[0.0625] * 2000, *[1.0] * 1000)
    assert typical(limits[2200:]) / typical(limits[1000:2000]) == pytest.approx(4.0, rel=0.25)


def test_when_the_limit_grows_those_who_wait_are_asked_again() -> None:
    limit = FixedLimit(0.0)
    matcher = ImbalanceMatcher(Balance(queue_of(1), "imbalance_threshold"), limit, {})
    assert arrive(matcher, 1.0, 2.0, 2.5, 4.0) == []
    limit.value = 0.75
    assert matcher.decide(4.0).matches[0].tickets == ("1", "2")
    limit.value = 0.5
    assert matcher.decide(5.0).matches == ()
    limit.value = 3.0
    assert matcher.decide(6.0).matches[0].tickets == ("0", "3")


def test_whose_patience_has_ended_waits_in_no_trial() -> None:
    trial = Trial(Balance(queue_of(1), "imbalance_threshold"), 0.5, wait_max=10.0)
    trial.arrive(BalanceEntry(1.0, 0.0, 1, 1, ""))
    trial.arrive(BalanceEntry(1.0, 10.0, 2, 1, ""))
    trial.arrive(BalanceEntry(1.25, 19.0, 3, 1, ""))
    sums = trial.memory()["sums"]
    # After each arrival one, one and nobody waited; at last two played who were .25 apart.
    assert sums == pytest.approx([3.0, 2.0, 0.25, 0.0], abs=0.02)
    assert trial.accepts_all


def test_a_trial_drops_the_longest_waiting_when_too_many_wait() -> None:
    trial = Trial(Balance(queue_of(1), "imbalance_threshold"), 0.0, wait_max=math.inf)
    for number in range(HELD_MAX + 20):
        trial.arrive(BalanceEntry(float(number), float(number), number, 1, ""))
    held = trial.memory()["held"]
    assert len(held) == HELD_MAX  # type: ignore[arg-type]
    assert held[-1][0] == HELD_MAX + 19  # type: ignore[index]
    assert not trial.accepts_all


@pytest.mark.parametrize("n", [1, 2])
def test_what_was_learnt_survives_a_restart(n: int) -> None:
    dear = msgspec.structs.replace(SKILL, weight=64.0)
    queue = queue_of(n, dear, wait_price=1.0, wait_max=40.0)
    rng = np.random.default_rng(3)
    matcher, waiting = matcher_of(queue), {}
    restored = None
    for number in range(400):
        at = number / 2.0
        newcomer = ticket(str(number), float(rng.random()), at=at, sequence=number + 1)
        for one in (matcher, restored) if restored else (matcher,):
            one.enter(newcomer, at)
        waiting[newcomer.id] = newcomer
        decision = matcher.decide(at)
        if restored:
            assert restored.decide(at) == decision
        for group in decision.matches:
            for name in group.tickets:
                del waiting[name]
        if number == 200:
            memory = msgspec.json.decode(msgspec.json.encode(matcher.memory()))
            restored = parse_policy("imbalance_threshold").matcher(queue, seed=0, memory=memory)
            for each in waiting.values():
                restored.enter(each, at)
            assert not restored.decide(at, fired=True).matches


@pytest.mark.parametrize(
    ("queue", "delta", "sentence"),
    [
        (queue_of(1), -0.5, "delta must be between 0 and 1e15, got -0.5"),
        (queue_of(1, wait_price=0.0), None, "wait_price is 0: set it above 0 or give delta"),
        (
            queue_of(1, msgspec.structs.replace(SKILL, weight=0.0)),
            None,
            "the criterion's weight is 0: set it above 0 or give delta",
        ),
        (queue_of(2, Criterion("spread", "rating")), 1.0, "criterion of kind imbalance;"),
    ],
)
def test_what_makes_no_sense_is_refused(queue: Queue, delta: float | None, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        matcher_of(queue, delta)


def test_price_and_weight_may_be_zero_where_the_limit_is_given() -> None:
    free = msgspec.structs.replace(SKILL, weight=0.0)
    assert arrive(matcher_of(queue_of(1, free, wait_price=0.0), 0.0), 1.0, 1.0) == ["0+1"]
