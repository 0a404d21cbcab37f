"""Play by drawn FlexMatch rule sets is legal, at once, and leaves nothing unmade.

The checker and a finder that tries everything judge it; neither shares code with the engine.
"""

from random import Random

import pytest
from msgspec.structs import replace

from evenmatch.rules.flexmatch.checker.judgement import is_legal, legal_instants
from tests.extent import IS_LONG, extent, in_turn, more
from tests.flexmatch_draws import drawn_pool, drawn_rule_set
from tests.flexmatch_play import admitted, divisions, faults_of_play, left_unmade, played

SETS = 300
"""Rule sets of the quick tier; the long one draws more."""
EACH = 30
DIVISIONS_MAX = 1_100
DEAR = (10_600, 11_000, 11_100)
"""Pools that take minutes: `make test-full` has them."""


def play_of(seed: int, most: int, divisions_max: int) -> tuple[list[str], int]:
    """Return what is wrong with the play of a drawn pool, and how many matches it made."""
    rng = Random(seed)
    text, rule_set = drawn_rule_set(rng, only_widens=seed % 2 == 0)
    pool = admitted(rule_set, drawn_pool(rng, most))
    if seed % 3 == 0:
        # These come between the instants at which a timer can ring.
        pool = [replace(each, enqueued_at=each.enqueued_at + rng.random()) for each in pool]
        pool.sort(key=lambda each: each.enqueued_at)
    ways = len(rule_set.scope.all_teams()) + 1
    while ways ** len(pool) > divisions_max:
        pool.pop()
    matches = played(rule_set, pool)
    faults = faults_of_play(rule_set, pool, matches)
    return [f"seed {seed}: {fault} by {text}" for fault in faults], len(matches)


@pytest.mark.parametrize("first", range(0, SETS, EACH))
def test_matches_are_legal_at_once_and_none_is_left(first: int) -> None:
    made = 0
    for seed in range(first, first + EACH):
        faults, count = play_of(seed, 6, DIVISIONS_MAX)
        assert faults == []
        made += count
    assert made > 5


@pytest.mark.long
@more
@pytest.mark.parametrize(
    "first", in_turn([at for at in range(10_000, 12_000, 100) if IS_LONG or at not in DEAR], 2)
)
def test_many_more_with_larger_pools(first: int) -> None:
    for seed in range(first, first + extent(4, 100)):
        faults, _ = play_of(seed, 10, extent(20_000, 70_000))
        assert faults == []


@pytest.mark.parametrize("policy", ["greedy", "rounds:every=50", "rolling", "threshold"])
def test_other_policies_make_legal_matches_and_leave_none(policy: str) -> None:
    made = 0
    for seed in range(extent(8, 60)):
        rng = Random(seed)
        text, rule_set = drawn_rule_set(rng, only_widens=seed % 2 == 0)
        pool = admitted(rule_set, drawn_pool(rng, 6))
        matches = played(rule_set, pool, policy)
        for at, match in matches:
            assert is_legal(rule_set, match, at), f"seed {seed}: {match} at {at} by {text}"
        if seed % 2 == 0:
            assert left_unmade(rule_set, pool, matches) == [], f"seed {seed} by {text}"
        made += len(matches)
    assert made > 3


def test_a_refused_ticket_is_in_no_legal_match() -> None:
    refused = 0
    for seed in range(40):
        rng = Random(seed)
        _, rule_set = drawn_rule_set(rng)
        pool = drawn_pool(rng, 3)
        strangers = [each for each in pool if each not in admitted(rule_set, pool)]
        refused += len(strangers)
        for match in divisions(rule_set, pool):
            if any(each in strangers for each in match.tickets()):
                assert legal_instants(rule_set, match) == ()
    assert refused > 3


def test_the_oracle_finds_late_and_unmade_matches() -> None:
    for seed in range(300):
        rng = Random(seed)
        _, rule_set = drawn_rule_set(rng, only_widens=True)
        pool = admitted(rule_set, drawn_pool(rng, 4))
        matches = played(rule_set, pool)
        if len(matches) > 1 and not faults_of_play(rule_set, pool, matches):
            break
    late = [(matches[0][0] + 1.0, matches[0][1]), *matches[1:]]
    assert any("legal from" in fault for fault in faults_of_play(rule_set, pool, late[:1]))
    assert any("made at inf" in fault for fault in faults_of_play(rule_set, pool, matches[:-1]))
