"""Play by drawn PlayFab queues is legal, at once, and leaves nothing unmade.

A plain reading of the queue and a finder that tries everything judge it; neither shares code with
the package.
"""

from random import Random

import msgspec
import pytest

from evenmatch.rules.playfab.checker import legal_instants
from evenmatch.rules.playfab.compile import clock_of
from evenmatch.rules.playfab.plain_form import plain_form
from evenmatch.rules.playfab.reader import load_queues
from evenmatch.rules.playfab.rule_reader import READERS
from tests.extent import extent, in_turn, more
from tests.playfab_play import (
    admitted,
    divisions,
    drawn_pool,
    drawn_queue,
    engine_admits,
    faults_of_play,
    played,
)

QUEUES = 150
EACH = 30
DIVISIONS_MAX = 1_100


def play_of(seed: int, most: int, divisions_max: int) -> tuple[list[str], int]:
    """Return what is wrong with the play of a drawn pool, and how many matches it made."""
    rng = Random(seed)
    text = drawn_queue(rng)
    pool = admitted(text, drawn_pool(rng, most))
    ways = max(1, len(text.get("Teams", ()))) + 1
    while ways ** len(pool) > divisions_max:
        pool.pop()
    matches = played(text, pool) if pool else []
    faults = faults_of_play(text, pool, matches)
    return [f"seed {seed}: {fault} by {text}" for fault in faults], len(matches)


@pytest.mark.parametrize("first", range(0, QUEUES, EACH))
def test_matches_are_legal_at_once_and_none_is_left(first: int) -> None:
    made = 0
    for seed in range(first, first + EACH):
        faults, count = play_of(seed, 8, DIVISIONS_MAX)
        assert faults == []
        made += count
    assert made > 5


@pytest.mark.long
@more
@pytest.mark.parametrize("first", in_turn(range(10_000, 12_000, 100), 2))
def test_many_more_with_larger_pools(first: int) -> None:
    for seed in range(first, first + extent(10, 100)):
        faults, _ = play_of(seed, 8, 7_000)
        assert faults == []


def test_who_may_queue_is_who_the_engine_takes() -> None:
    refused = 0
    for seed in range(200):
        rng = Random(seed)
        text = drawn_queue(rng)
        for ticket in drawn_pool(rng, 4):
            is_taken = bool(admitted(text, [ticket]))
            refused += not is_taken
            assert engine_admits(text, ticket) == is_taken, (seed, text, ticket)
    assert refused > 50


def test_plain_form_of_a_queue_allows_the_same_matches_at_the_same_instants() -> None:
    judged = 0
    for seed in range(QUEUES):
        rng = Random(seed)
        text = drawn_queue(rng)
        (queue,) = load_queues(msgspec.json.encode(text))
        for teams in divisions(text, admitted(text, drawn_pool(rng, 4))):
            legal = legal_instants(text, teams)
            assert legal_instants(plain_form(queue), teams) == legal, f"seed {seed}: {text}"
            judged += bool(legal)
    assert judged > 100


def test_draws_have_both_forms_all_expansions_and_rules_that_tighten() -> None:
    texts = [drawn_queue(Random(seed)) for seed in range(QUEUES)]
    assert 50 < sum("Rules" in text for text in texts) < QUEUES - 50
    queues = [queue for text in texts for queue in load_queues(msgspec.json.encode(text))]
    assert {rule.expanded for queue in queues for rule in queue.rules} == {"", "linear", "custom"}
    assert {type(rule).__name__ for queue in queues for rule in queue.rules} == set(READERS)
    assert sum(clock_of(queue) == "each" for queue in queues) > 15


def test_the_oracle_finds_late_and_unmade_matches() -> None:
    for seed in range(300):
        rng = Random(seed)
        text = drawn_queue(rng)
        pool = admitted(text, drawn_pool(rng, 5))
        matches = played(text, pool) if pool else []
        if len(matches) > 1 and not faults_of_play(text, pool, matches):
            break
    assert any("made at inf" in fault for fault in faults_of_play(text, pool, matches[:-1]))
