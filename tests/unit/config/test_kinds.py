"""Kinds that compare no numbers, in a file: what is built, and the sentence of each mistake."""

import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Expansion, Queue, Rule
from evenmatch.model.ticket import Value
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import player, ticket


def queue(text: str) -> Queue:
    return parse_scenario(f"[[queue]]\nplayers = 2\n{text}").queues[0]


def criterion(text: str) -> str:
    return f"criteria = [{{kind = {text}}}]"


def rule(text: str) -> str:
    return f"rules = [{{kind = {text}}}]"


@pytest.mark.parametrize(
    ("text", "built"),
    [
        ('"latency"', Criterion("latency", "latency")),
        (
            '"latency", attribute = "ms", weight = 2.0, pairs = "region", best = 10, worst = 90',
            Criterion("latency", "ms", 2.0, pairs="region", best=10.0, worst=90.0),
        ),
        ('"party_parity", weight = 0.5', Criterion("party_parity", "", 0.5)),
        ('"host_options"', Criterion("host_options", "connect")),
        ('"same", attribute = "region"', Criterion("same", "region")),
        ('"overlap", attribute = "languages"', Criterion("overlap", "languages")),
    ],
)
def test_criterion_is_read(text: str, built: Criterion) -> None:
    assert queue(criterion(text)).criteria == (built,)


@pytest.mark.parametrize(
    ("text", "built"),
    [
        ('"latency", limit = 150', Rule("latency", "latency", 150.0)),
        ('"party_parity", limit = 0.5', Rule("party_parity", "", 0.5)),
        ('"host_options", limit = 1', Rule("host_options", "connect", 1.0)),
        ('"overlap", attribute = "languages"', Rule("overlap", "languages")),
        ('"avoid"', Rule("avoid", "avoid")),
        ('"pair_limit", limit = 2', Rule("pair_limit", "meetings", 2.0)),
        ('"pair_limit", limit = 1, within = 600, pairs = "enemies", attribute = "foes"',
         Rule("pair_limit", "foes", 1.0, pairs="enemies", within=600.0)),
        ('"household_limit", limit = 2', Rule("household_limit", "household", 2.0)),
        ('"household_limit", limit = 1, attribute = "party", pairs = "enemies"',
         Rule("household_limit", "party", 1.0, pairs="enemies")),
        ('"avoid", attribute = "blocked", pairs = "teammates"',
         Rule("avoid", "blocked", pairs="teammates")),
        ('"same", attribute = "mode", expand = {steps = [[60, 1]]}, accept = "either"',
         Rule("same", "mode", expand=Expansion(steps=((60.0, 1.0),)), accept="either")),
        ('"latency", limit = 60, pairs = "all", expand = {rate = 2, max = 200}',
         Rule("latency", "latency", 60.0, expand=Expansion(rate=2.0, max=200.0), pairs="all")),
    ],
)  # fmt: skip
def test_rule_is_read(text: str, built: Rule) -> None:
    assert queue(rule(text)).rules == (built,)


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        (
            criterion('"latency", pairs = "foes"'),
            "pairs must be one of enemies, teammates, all, reg",
        ),
        (criterion('"latency", best = 0'), "criteria[0].best must be between 0.001 and 1e6 ms"),
        (criterion('"latency", best = 50, worst = 50'), "worst must be above best = 50 ms, got 50"),
        (
            criterion('"latency", scale = {}'),
            'scale does not go with kind = "latency", which takes',
        ),
        (criterion('"latency", matches = 2'), 'matches goes only with kind = "rematch"'),
        (criterion('"party_parity", attribute = "x"'), 'attribute does not go with kind = "party_'),
        (
            criterion('"host_options", pairs = "all"'),
            'pairs does not go with kind = "host_options"',
        ),
        (criterion('"same"'), "criteria[0].attribute is missing; it names the value"),
        (
            criterion('"overlap", attribute = ""'),
            "criteria[0].attribute must be a name of 1 to 100",
        ),
        (criterion('"avoid"'), "criteria[0].kind must be one of spread"),
        (
            criterion('"spread", attribute = "r", pairs = "all"'),
            'pairs goes only with kind = "late',
        ),
        (criterion('"spread", attribute = "r", best = 5'), 'best goes only with kind = "latency"'),
        (criterion('"rematch", worst = 5'), 'worst does not go with kind = "rematch"'),
        (rule('"latency"'), "limit is missing; it is the largest ping in milliseconds"),
        (rule('"party_parity"'), "limit is missing; it is the largest difference of the teams'"),
        (rule('"party_parity", limit = 2'), "rules[0].limit must be between 0 and 1 with kind ="),
        (rule('"host_options", limit = 3'), "rules[0].limit must be between 0 and 2 with kind ="),
        (rule('"host_options"'), "limit is missing; it is how many hosts may be missing to two"),
        (rule('"overlap", attribute = "x", limit = 1'), 'limit does not go with kind = "overlap"'),
        (
            rule('"pair_limit", limit = 2, pairs = "enemy"'),
            "pairs must be one of enemies, teammates, all (did you mean enemies?), got",
        ),
        (rule('"pair_limit"'), "limit is missing; it is how many matches two players may have"),
        (
            rule('"pair_limit", limit = 0'),
            "rules[0].limit must be a whole number from 1 to 20, got 0",
        ),
        (rule('"pair_limit", limit = 1.5'), "must be a whole number from 1 to 20, got 1.5"),
        (
            rule('"pair_limit", limit = 2, within = 0.5'),
            "within must be between 1 and 604,800 s, got 0",
        ),
        (rule('"pair_limit", limit = 2, matches = 2'), 'matches goes only with kind = "rematch"'),
        (rule('"avoid", within = 60'), 'within does not go with kind = "avoid", which takes'),
        (
            rule('"spread", attribute = "r", limit = 1, within = 60'),
            'within goes only with kind = "pair',
        ),
        (rule('"household_limit"'), "limit is missing; it is how many players of one household"),
        (rule('"household_limit", limit = 101'), "must be a whole number from 1 to 100, got 101"),
        (
            rule('"household_limit", limit = 1, unit = "relative"'),
            'unit does not go with kind = "house',
        ),
        (rule('"avoid", pairs = "region"'), "pairs must be one of enemies, teammates, all, got"),
        (rule('"avoid", unit = "relative"'), 'unit does not go with kind = "avoid", which takes'),
        (rule('"latency", limit = 5, best = 5'), "best is not a known key"),
        (
            "teams = 4\nplayers = 1\n" + criterion('"latency", pairs = "teammates"'),
            'pairs = "teammates" compares players of one team, and here each plays alone',
        ),
        (
            "teams = 1\nplayers = 4\n" + criterion('"latency"'),
            'pairs = "enemies" compares teams, and this queue has one',
        ),
    ],
)
def test_mistake_gets_a_sentence(text: str, fragment: str) -> None:
    text = text if "players" in text else f"players = 2\n{text}"
    with pytest.raises(ConfigError) as caught:
        parse_scenario(f"[[queue]]\n{text}")

    assert fragment in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [criterion('"latency"'), rule('"avoid"'), rule('"overlap", attribute = "x"'),
     'criteria = [{kind = "spread", attribute = "r"}]\n'
     + rule('"same", attribute = "x", expand = {steps = [[9, 1]]}')],
)  # fmt: skip
@pytest.mark.parametrize("form", ["", "teams = 3\n"])
def test_default_policy_knows_the_queues_kinds(text: str, form: str) -> None:
    assert parse_scenario(f"[[queue]]\n{form}{text}").queues[0].policy == "greedy"


@pytest.mark.parametrize(
    ("policy", "text", "fragment"),
    [
        (
            "price",
            criterion('"latency"'),
            "policy price does not support latency, which queue main",
        ),
        ("group_price", criterion('"same", attribute = "x"'), "does not support same, which queue"),
        ("gap_value", rule('"avoid"'), "policy gap_value does not support avoid, which queue main"),
        (
            "price",
            rule('"same", attribute = "x", expand = {steps = [[9, 1]]}'),
            "policy price does not support same with expand, which queue main uses",
        ),
    ],
)
def test_policy_refuses_what_it_does_not_know(policy: str, text: str, fragment: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_policy(policy).matcher(parse_scenario(f"[[queue]]\n{text}").queues[0], seed=1)

    assert fragment in str(caught.value)


@pytest.mark.parametrize("policy", ["greedy", "window", "weighted", "closest_random"])
def test_policy_of_pairs_keeps_every_kind_of_rule(policy: str) -> None:
    text = rule(
        '"spread", attribute = "rating", limit = 500}, {kind = "latency", limit = 90}, '
        '{kind = "avoid"}, {kind = "overlap", attribute = "words"'
    )
    queue = parse_scenario(f"[[queue]]\n{text}").queues[0]

    def facts(ms: float, *avoid: str) -> dict[str, Value]:
        return {"latency": {"eu": ms}, "avoid": avoid, "words": ("en",)}

    first, second = player("a", 1500, **facts(40.0, "b")), player("b", 1500, **facts(40.0))
    third, fourth = player("c", 1500, **facts(80.0)), player("d", 1500, **facts(50.0))
    matcher = parse_policy(policy).matcher(queue, seed=1)
    for number, each in enumerate((first, second, third, fourth), 1):
        matcher.enter(ticket(each.id, each, sequence=number), 0.0)
    decision = matcher.decide(0.0)
    matches = decision.matches
    while not matches:
        decision = matcher.decide(decision.wake_at, fired=True)
        matches = decision.matches

    # a avoids b, and c is too far from everybody.
    pairs = [set(match.tickets) for match in matches]
    assert pairs in ([{"a", "d"}], [{"b", "d"}])
