"""Parts of a group that never meet."""

from collections import Counter

import pytest

from evenmatch.config.files import parse_scenario, parse_server
from evenmatch.errors import ConfigError
from evenmatch.lab.simulate import simulate
from evenmatch.model.group_split import PARTS_MAX, read_split
from evenmatch.model.queue import Queue
from evenmatch.model.shards import shards_of
from evenmatch.simulation.splits import name_of

DUELS = """
seed = 3
[[queue]]
policy = "price"
SPLIT
[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {kind = "linear", min = 0.0, max = 3000.0}
[arrivals]
process = "poisson"
rate = 20.0
count = 600
[attributes.rating]
distribution = "normal"
mean = 1500.0
deviation = 350.0
"""


def test_hash_spreads_players_evenly_and_the_same_everywhere() -> None:
    split = read_split("hash:4")
    assert split is not None
    counts = Counter(split.part_of(f"player-{n}", None) for n in range(4_000))
    assert set(counts) == {0, 1, 2, 3}
    assert max(counts.values()) < 1_150
    # Other processes and versions must find a repeated create again.
    assert [split.part_of(name, None) for name in ("ada", "bob", "eve")] == [0, 0, 2]


def test_bands_have_equal_shares_of_usual_ratings_or_the_cuts_that_are_named() -> None:
    four, named = read_split("bands:rating:4"), read_split("bands:mmr:-5,0.5,1e3")
    assert four is not None
    assert named is not None
    values = (0.0, 1_263.9, 1_499.9, 1_500.0, 1_800.0, 1e9)
    assert [four.part_of("p", value) for value in values] == [0, 1, 1, 2, 3, 3]
    assert (named.parts, named.attribute) == (4, "mmr")
    assert [named.part_of("p", value) for value in (-6, 0, 1, 1_000, "x", None)] == [
        0, 1, 2, 3, 2, 2,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("half", "must be hash:PARTS"),
        ("hash:1", f"2 to {PARTS_MAX} parts, got 1"),
        ("hash:65", f"2 to {PARTS_MAX} parts, got 65"),
        ("bands:mmr:4", "must name the cuts"),
        ("bands:rating:3,2", "ascending cuts"),
        ("bands:rating:1,1", "ascending cuts"),
        ("bands:rating:1,x", "must be hash:PARTS"),
        ("bands:rating:1,e", "numbers as cuts"),
        ("bands:rating:1,1e99", "ascending cuts"),
    ],
)
def test_split_that_means_nothing_is_refused_where_it_stands(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_scenario(f'[[queue]]\nsplit = "{text}"')


def test_bands_need_ratings_that_come_with_the_ticket() -> None:
    with pytest.raises(ConfigError, match="numbers that come with the ticket"):
        parse_scenario('[[queue]]\nrating = "elo"\nsplit = "bands:rating:2"')


def test_queues_that_belong_together_are_split_alike() -> None:
    with pytest.raises(ConfigError, match="must be split alike"):
        shards_of([Queue("a", split="hash:2"), Queue("b")])
    for read in (parse_scenario, parse_server):
        with pytest.raises(ConfigError, match=r"queues a and b .* must be split alike"):
            read('[[queue]]\nname = "a"\nsplit = "hash:2"\n[[queue]]\nname = "b"\n')
    found = shards_of(
        [Queue("a", split="hash:2"), Queue("b", split="hash:2"), Queue("c", group="x")]
    )
    assert [(each.name, each.queues) for each in found] == [
        ("s0", ("a", "b")),
        ("s0~1", ("a", "b")),
        ("s0.x", ("c",)),
    ]


def test_simulation_plays_the_parts_and_nobody_of_two_parts_meets() -> None:
    whole = simulate(parse_scenario(DUELS.replace("SPLIT", "")))
    split = simulate(parse_scenario(DUELS.replace("SPLIT", 'split = "hash:4"')), by="rating_decile")
    assert whole.summary["tickets"] == split.summary["tickets"] == 600
    parts = read_split("hash:4")
    assert parts is not None
    names = Counter(match["queue"] for match in split.matches)
    assert set(names) == {"main", "main.part1", "main.part2", "main.part3"}
    for match in split.matches:
        players = [split.history.tickets[int(each)].players[0].id for each in match["tickets"]]
        own = {name_of("main", parts.part_of(player, None)) for player in players}
        assert own == {match["queue"]}
    cost = [run.summary["cost"] + run.summary["cost_waiting"] for run in (whole, split)]
    # The same players; fewer to choose from for each.
    assert cost[1] > 1.2 * cost[0]


def test_best_possible_of_a_split_group_is_that_of_its_parts() -> None:
    whole = simulate(parse_scenario(DUELS.replace("SPLIT", "")), optimum=True).summary
    split = simulate(parse_scenario(DUELS.replace("SPLIT", 'split = "hash:4"')), optimum=True)
    cost = split.summary["cost"] + split.summary["cost_waiting"]
    # Nobody of two parts meets, so the best plan costs more than that of everybody together.
    assert 1.2 * whole["optimum_cost"] < split.summary["optimum_cost"] <= cost
    assert split.summary["ratio"] == cost / split.summary["optimum_cost"]


def test_bands_keep_those_together_who_would_meet_anyway() -> None:
    whole = simulate(parse_scenario(DUELS.replace("SPLIT", "")))
    bands = simulate(parse_scenario(DUELS.replace("SPLIT", 'split = "bands:rating:1500"')))
    cost = [run.summary["cost"] + run.summary["cost_waiting"] for run in (whole, bands)]
    assert cost[1] < 1.2 * cost[0]
