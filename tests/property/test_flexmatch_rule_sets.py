"""FlexMatch rule sets drawn at random: read, written and judged.

What is drawn is small, so that every way to make a match of a pool is tried.
"""

import json
from itertools import pairwise
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.rules.flexmatch.checker.judgement import is_legal, legal_instants, objections_to
from evenmatch.rules.flexmatch.checker.match import CandidateMatch, Readings
from evenmatch.rules.flexmatch.reader import read_rule_set
from evenmatch.rules.flexmatch.rendering import render_rule_set
from tests.extent import extent, more
from tests.flexmatch_draws import MAPS, MODES, drawn_pool, drawn_rule_set, drawn_table
from tests.flexmatch_kit import divisions, first_legal, legal_matches

pytestmark = more
SEEDS = st.integers(0, 2**32 - 1)
INF = float("inf")
MANY = settings(max_examples=extent(60, 2000), deadline=None)
JUNK: list[Any] = [
    None, -1, 0, 7.5, 1e300, "", "x", "5", [], {}, True, ["a"], [[1]], {"a": 1},
    "count(teams[*].players.attributes[wishes])",
    "avg(", "teams[red].players", "count(teams[*].players)", "not(R0)", "rules[R0].maxDistance",
    "teams[*].players.attributes[maps]", "flatten(players.attributes[mode])",
]  # fmt: skip
FEW = settings(max_examples=extent(25, 500), deadline=None)


@MANY
@given(SEEDS)
def test_written_down_rule_set_is_read_as_the_same(seed: int) -> None:
    text, rule_set = drawn_rule_set(Random(seed))
    again, _ = read_rule_set(render_rule_set(rule_set))
    assert again == rule_set
    assert read_rule_set(text)[0] == rule_set


@MANY
@given(SEEDS)
def test_written_down_rule_set_keeps_empty_strings(seed: int) -> None:
    rng = Random(seed)
    rule_set, _ = read_rule_set(json.dumps(emptied(rng, drawn_rule_set(rng)[0])))
    if rule_set is not None:
        assert read_rule_set(render_rule_set(rule_set))[0] == rule_set


def emptied(rng: Random, text: str) -> Any:
    """Return a rule set of which one in two words is empty."""
    words = {*MODES, *MAPS}

    def blank(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: blank(each) for key, each in value.items()}
        if isinstance(value, list):
            return [blank(each) for each in value]
        return "" if value in words and rng.random() < 0.5 else value

    return blank(json.loads(text))


def spoiled(rng: Random, table: dict[str, Any]) -> None:
    """Change something at a random place of a rule set."""
    holder: Any = table
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(holder[key], dict | list) and rng.random() < 0.8:
            holder = holder[key]
            continue
        action = rng.random()
        if action < 0.7:
            holder[key] = rng.choice(JUNK)
        elif action < 0.85 and isinstance(holder, dict):
            del holder[key]
        elif isinstance(holder, list):
            holder.append(holder[key])
        else:
            holder[rng.choice(["quantity", "maxCount", "partyAggregation", "zzz"])] = holder[key]
        return


@MANY
@given(SEEDS)
def test_spoiled_rule_set_is_refused_or_can_be_judged_by(seed: int) -> None:
    rng = Random(seed)
    table = json.loads(json.dumps(drawn_table(rng)))
    for _ in range(rng.randint(1, 3)):
        spoiled(rng, table)
    rule_set, findings = read_rule_set(json.dumps(table))
    assert (rule_set is None) == any(each.level == "error" for each in findings)
    assert all(each.message and each.path.startswith("$") for each in findings)
    if rule_set is None:
        return
    assert read_rule_set(render_rule_set(rule_set))[0] == rule_set
    pool = drawn_pool(rng, 6)
    names = rule_set.scope.all_teams()
    teams = {name: tuple(pool[at :: len(names)]) for at, name in enumerate(names)}
    for readings in (None, Readings(party_weight="ticket", contains="ticket", stddev="sample")):
        for each in objections_to(rule_set, CandidateMatch(teams=teams), 50, readings):
            assert each.reason


def probes(instants: list[float]) -> list[float]:
    """Return instants, and one before, between and after each."""
    middles = [(one + other) / 2 for one, other in pairwise(instants)]
    return sorted([*instants, *middles, instants[-1] + 100])


def steps_of(text: str) -> list[int]:
    return [
        step["waitTimeSeconds"] for each in json.loads(text)["expansions"] for step in each["steps"]
    ]


@FEW
@given(SEEDS)
def test_instants_are_those_at_which_a_match_is_legal(seed: int) -> None:
    rng = Random(seed)
    text, rule_set = drawn_rule_set(rng)
    pool = drawn_pool(rng, 4)
    born = [each.enqueued_at for each in pool]
    times = probes(sorted({start + wait for start in born for wait in [0, *steps_of(text)]}))
    candidates = list(divisions(rule_set, pool))
    for candidate in rng.sample(candidates, min(len(candidates), 30)):
        instants = legal_instants(rule_set, candidate)
        assert all(begin < end for begin, end in instants)
        assert all(one[1] < other[0] for one, other in pairwise(instants))
        for now in times:
            within = any(begin <= now < end for begin, end in instants)
            assert within == is_legal(rule_set, candidate, now)


@FEW
@given(SEEDS)
def test_match_stays_legal_where_rules_only_widen(seed: int) -> None:
    rng = Random(seed)
    _, rule_set = drawn_rule_set(rng, only_widens=True)
    candidates = list(divisions(rule_set, drawn_pool(rng, 4)))
    for candidate in candidates:
        instants = legal_instants(rule_set, candidate)
        assert len(instants) <= 1
        assert all(end == INF for _, end in instants)


@FEW
@given(SEEDS)
def test_wider_limit_forbids_no_match(seed: int) -> None:
    rng = Random(seed)
    text, rule_set = drawn_rule_set(rng, only_widens=True)
    table = json.loads(text) | {"expansions": []}
    narrow, _ = read_rule_set(json.dumps(table))
    for rule in table["rules"]:
        for key in ("maxDistance", "maxLatency", "maxCount"):
            if key in rule:
                rule[key] += rng.randint(1, 20)
    for team in table["teams"]:
        team["minPlayers"] = max(0, team["minPlayers"] - 1)
    wide, _ = read_rule_set(json.dumps(table))
    if narrow is None:
        return  # only the expansions let its rules pass
    assert wide is not None
    for candidate in divisions(rule_set, drawn_pool(rng, 4)):
        assert not is_legal(narrow, candidate, 60) or is_legal(wide, candidate, 60)


@FEW
@given(SEEDS)
def test_finder_names_the_first_instant_of_a_legal_match(seed: int) -> None:
    rng = Random(seed)
    _, rule_set = drawn_rule_set(rng)
    pool = drawn_pool(rng, 4)
    first = first_legal(rule_set, pool)
    if first is None:
        assert legal_matches(rule_set, pool, 1000) == []
        return
    assert legal_matches(rule_set, pool, first)
    assert not legal_matches(rule_set, pool, first - 0.25)


@FEW
@given(SEEDS)
def test_order_and_names_of_tickets_decide_nothing(seed: int) -> None:
    rng = Random(seed)
    _, rule_set = drawn_rule_set(rng)
    candidates = list(divisions(rule_set, drawn_pool(rng, 4)))
    for candidate in rng.sample(candidates, min(len(candidates), 30)):
        teams = {
            name: tuple(rng.sample(tickets, len(tickets)))
            for name, tickets in reversed(candidate.teams.items())
        }
        shuffled = CandidateMatch(teams=teams)
        assert legal_instants(rule_set, candidate) == legal_instants(rule_set, shuffled)


def test_pool_of_eight_is_searched_to_the_end() -> None:
    rng = Random(8)
    _, rule_set = drawn_rule_set(rng)
    while len(rule_set.scope.all_teams()) != 2:
        _, rule_set = drawn_rule_set(rng)
    pool = drawn_pool(rng, 8)
    while len(pool) != 8:
        pool = drawn_pool(rng, 8)
    assert len(list(divisions(rule_set, pool))) == 3**8


def test_draws_are_neither_all_legal_nor_all_illegal() -> None:
    rng = Random(1)
    firsts = []
    for _ in range(40):
        _, rule_set = drawn_rule_set(rng)
        firsts.append(first_legal(rule_set, drawn_pool(rng, 4)))
    later = [each for each in firsts if each]
    assert len(later) > 5
    assert firsts.count(None) > 5
