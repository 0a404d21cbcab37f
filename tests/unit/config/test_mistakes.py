"""All mistakes of a file at once: none is hidden by another, and none follows from another."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenmatch.config.files import load_document, read_document, scenario_of, server_of
from evenmatch.config.mistakes import mistakes_of
from evenmatch.errors import ConfigError
from tests.extent import thinned

HERO = Path(__file__).parents[3] / "examples" / "hero" / "hero.toml"


def read(document: Mapping[str, object]) -> None:
    scenario_of(document)
    server_of(document)


def found(text: str) -> list[str]:
    return mistakes_of(read_document(text), read)


def test_each_queue_rule_criterion_and_unknown_key_is_told_of() -> None:
    told = found("""
        seeed = 1
        until = -5
        [server]
        keep_days = 0
        [server.limits]
        body_bytes_max = "x"
        [[queue]]
        name = "hero"
        players = 5
        rolls = {tank = 1}
        roles = {tank = 1, damage = 2, support = 3}
        target_wait = "soon"
        policy = "rollin"
        [[queue.criteria]]
        kind = "imbalanc"
        attribute = "rating"
        [[queue.criteria]]
        kind = "mean_gap"
        attribute = "rating"
        wieght = 3
        scale = {kind = "log", knee = 200}
        [[queue.rules]]
        kind = "latency"
        pairs = "regions"
        limit = 100
        [[queue.rules]]
        kind = "spread"
        attribute = "rating"
        limit = 100
        expand = {rate = -2, max = 300}
        [[queue]]
        name = "duel"
        silent_after = "x"
        [[queue]]
        name = "duel"
        players = 0
    """)
    beginnings = [
        "seeed is not a known key",
        'queue "hero", rolls is not a known key',
        'queue "hero", criteria[1].wieght is not a known key',
        "server.limits.body_bytes_max must be a whole number",
        'queue[2].name "duel" is taken',
        'queue "hero", criteria[0].kind must be one of',
        'queue "hero", criteria[1].scale.max is missing',
        'queue "hero", rules[0].pairs must be one of',
        'queue "hero", target_wait must be seconds',
        'queue "duel", silent_after must be seconds',
        "queue[2].players must be between 1 and 1,000",
        'queue "hero", roles add up to 6 players',
        'queue "hero", rules[1].expand.rate must be 0 or between',
        'queue "hero", policy = "rollin": no policy is called',
        "until must be between",
        "server.keep_days must be between",
    ]
    assert len(told) == len(beginnings)
    for beginning in beginnings:
        assert any(each.startswith(beginning) for each in told), beginning


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        # Without wait_max, bots would have no instant to come in.
        ('wait_max = -3\non_deadline = "bots"', "wait_max must be between"),
        # Without the criterion, there is nothing to balance.
        (
            'policy = "patient"\n[[queue.criteria]]\nkind = "imbalanc"\nattribute = "x"',
            "criteria[0].kind must be one of",
        ),
        ('[[queue.rules]]\nkind = "spread"\nattribute = 3', "rules[0].attribute must be"),
        (
            '[arrivals]\nrate = -1\ncount = 9\n[attributes.rating]\ndistribution = "uniform"',
            "arrivals.rate must be",
        ),
        # The key that was meant is there.
        (
            '[arrivals]\nrate = 1\ncount = 9\n[attributes.r]\ndistributon = "normal"\nmean = 5',
            "attributes.r.distributon is not a known key; did you mean distribution?",
        ),
        (
            'criteria = [{kind = "spread", attribute = "r", scale = {knid = "log", knee = 3}}]',
            "scale.knid is not a known key; did you mean kind?",
        ),
    ],
)
def test_what_follows_from_a_mistake_is_none(text: str, mistake: str) -> None:
    (told,) = found(f'[[queue]]\nname = "duel"\n{text}')
    assert mistake in told


def test_queue_in_single_brackets_is_one_mistake() -> None:
    (told,) = found('[queue]\nname = "duel"')
    assert told.startswith("queue must be a list of tables (double brackets: [[...]])")
    assert found("seed = 1") == ["queue is missing; a file needs at least one [[queue]]"]


def test_wrong_value_is_told_of_where_its_table_misses_a_key_too() -> None:
    told = found('[[queue]]\n[server.tokens]\nalgorithm = "HS256"\nleeway = -1\naudience = "a"')
    beginnings = ["server.tokens.leeway must be", "server.tokens.key_files is missing"]
    for each, beginning in zip(told, beginnings, strict=True):
        assert each.startswith(beginning)


def test_file_without_mistakes_has_none() -> None:
    assert mistakes_of(load_document(HERO), read) == []


@pytest.mark.parametrize("seed", thinned(range(60), 3))
def test_first_mistake_is_that_of_the_reader_and_no_junk_stops_it(seed: int) -> None:
    rng = random.Random(seed)
    document = load_document(HERO)
    for _ in range(rng.randint(1, 8)):
        _spoil(document, rng)
    before = repr(document)
    first = _first(document)
    told = mistakes_of(document, read)
    assert told[:1] == first
    assert len(set(told)) == len(told)
    assert repr(document) == before


def _first(document: Mapping[str, object]) -> list[str]:
    try:
        read(document)
    except ConfigError as error:
        return [str(error)]
    return []


def _spoil(document: dict[str, Any], rng: random.Random) -> None:
    """Put something in the place of a key, at any depth, or a key that nobody knows."""
    holder: Any = document
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = rng.choice(keys or ["x"])
        deeper = holder[key] if keys else None
        if not isinstance(deeper, dict | list) or rng.random() < 0.2:
            break
        holder = deeper
    junk: list[Any] = ["x", -1, 1e300, [], {}, {"x": 1}, [[1]], None, True, 'a"b', "\n"]
    if isinstance(holder, list):
        holder.append(rng.choice(junk))
    else:
        odd = rng.choice([key, key, key, 'a b"', "x.y", "", "queue[0]", "\u00e4"])
        holder[odd] = rng.choice(junk)
