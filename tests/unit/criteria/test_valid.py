"""Every queue that cannot work is refused with one sentence that names the key."""

import math
from typing import Any

import pytest
from msgspec.structs import replace

from evenmatch.criteria.kinds.rematch import redraw_rule
from evenmatch.criteria.validation.queue import check_queue
from evenmatch.errors import ConfigError
from evenmatch.model.queue import (
    Criterion,
    Expansion,
    Format,
    Handicap,
    Queue,
    ReadyCheck,
    Rule,
    Sample,
    Scale,
)


def unchecked(**keys: Any) -> Queue:
    """Return a queue that a careless program made."""
    return replace(Queue(), **keys)


def spread(**keys: Any) -> Queue:
    return unchecked(criteria=(replace(Criterion("spread", "rating"), **keys),))


def scaled(**keys: Any) -> Queue:
    return spread(scale=replace(Scale(), **keys))


def ruled(expand: Expansion | None = None, wait_max: float | None = None, **keys: Any) -> Queue:
    rule = replace(Rule("spread", "rating", 10.0, expand=expand), **keys)
    return unchecked(rules=(rule,), wait_max=wait_max)


GOOD = [
    Queue(),
    Queue(wait_max=1e-6, wait_price=0.0),
    Queue(wait_max=1e9, on_deadline="bots", wait_price=1e12),
    Queue(format=Format((1, 4), ("boss", "crew"), (1, 4))),
    Queue(format=Format((500, 500))),
    Queue(format=Format((2, 2), players_min=(1, 1), roles=(("tank", 1), ("dps", 1)))),
    Queue(format=Format((1,) * 8, players_min=(1, 1, 0, 0, 0, 0, 0, 0))),
    Queue(criteria=(Criterion("spread", "rating"),) * 2),
    Queue(
        criteria=(Criterion("rematch", "recent", matches=20),), handicap=Handicap(0.01, 5.0, 5.0)
    ),
    Queue(rules=(redraw_rule(3, every=1.99),), wait_max=6.0),
    Queue(accept=ReadyCheck(), silent_after=30.0),
    scaled(min=-1e15, max=1e15),
    scaled(kind="log", knee=1e-9, max=1e15, cap=0.0),
    ruled(Expansion(rate=1e-9, max=10.0)),
    ruled(Expansion(steps=((1.0, 20.0), (2.0, 30.0)), max=30.0), wait_max=3.0),
    ruled(Expansion(steps=((1.0, 20.0), (2.0, 30.0)), max=15.0)),  # the cap cuts them short
    ruled(Expansion(curve=((0.0, 10.0), (5.0, 10.0), (9.0, 11.0))), wait_max=6.0),
    replace(ruled(Expansion(steps=((9.0, 20.0),)), wait_max=3.0), on_deadline="keep"),
]

FALLING = Expansion(steps=((1.0, 30.0), (2.0, 20.0)))

BAD = [
    (unchecked(wait_max=-5.0), "wait_max must be between 1e-6 and 1e9 s, got -5.0"),
    (unchecked(wait_max=0.0), "wait_max must be between 1e-6 and 1e9 s, got 0.0"),
    (unchecked(wait_max=math.nan), "wait_max must be between 1e-6 and 1e9 s, got nan"),
    (unchecked(wait_max=1e-310), "wait_max must be between 1e-6 and 1e9 s, got 1e-310"),
    (
        unchecked(wait_max="5"),
        'wait_max must be seconds, or a text such as "15s", "2m" or "1h30m", got "5"',
    ),
    (unchecked(wait_max=True), 'wait_max must be seconds, or a text such as "1m30s", got true'),
    (unchecked(wait_price=1e308), "wait_price must be between 0 and 1e12 per player-second, got"),
    (unchecked(match_max=math.inf), "match_max must be between 1e-6 and 1e9 s, got inf"),
    (unchecked(silent_after=0.0), "silent_after must be between 1e-6 and 1e9 s, got 0.0"),
    (unchecked(accept=ReadyCheck(seconds=-1.0)), "accept.seconds must be between 1e-6 and 1e9 s"),
    (
        unchecked(accept=ReadyCheck(loss_max=2.0)),
        "accept.loss_max must be between 0 and 1, got 2.0",
    ),
    (
        unchecked(accept=ReadyCheck(cooldowns=(1.0, -1.0))),
        "accept.cooldowns[1] must be between 0 and",
    ),
    (
        unchecked(format=Format((2, 2), roles=(("a", 1), ("a", 1)))),
        'roles[1] repeats "a"; names must be different',
    ),
    (
        unchecked(format=Format((13, 13), roles=tuple((f"r{n}", 1) for n in range(13)))),
        "roles must be at most 12, got 13",
    ),
    (
        unchecked(format=Format((40, 40), roles=tuple((f"r{n}", 10) for n in range(4)))),
        "roles can be taken in 14,641 ways, the product of each number and 1; at most 4,096",
    ),
    (
        unchecked(format=Format((2, 2), players_min=(True, 1))),
        "players_min[0] must be a whole number, got true",
    ),
    (unchecked(on_deadline="bots"), 'on_deadline = "bots" needs wait_max, the instant at which'),
    (
        unchecked(on_deadline="bot"),
        'on_deadline must be one of bots, expire, keep (did you mean bots?), got "bot"',
    ),
    (unchecked(group="a b"), 'group must be 1 to 64 letters, digits, `_`, `-` or `.`, got "a b"'),
    (unchecked(commit_jitter=-1.0), "commit_jitter must be between 0 and 1e9 s, got -1.0"),
    (unchecked(commit_jitter=5.0, wait_max=5.0), "commit_jitter must be below wait_max = 5 s, at"),
    (unchecked(policy=" "), 'policy must be a SPEC of 1 to 500 characters such as "greedy", got'),
    (unchecked(attributes=("a", "a")), 'attributes[1] repeats "a"; names must be different'),
    (unchecked(attributes=("",)), 'attributes[0] must be a name of 1 to 100 characters, got ""'),
    (unchecked(attributes=("a",) * 65), "attributes must have at most 64 entries, got 65"),
    (unchecked(format=Format(())), "players must name the seats of at least one team"),
    (unchecked(format=Format((0, 0))), "players[0] must be between 1 and 1,000, got 0"),
    (
        unchecked(format=replace(Format(), players=(1, 1.5))),
        "players[1] must be a whole number between 1 and",
    ),
    (unchecked(format=Format((1,))), "players and teams give a match of 1 player; a match has"),
    (unchecked(format=Format((501, 500))), "players and teams give a match of 1,001 players; at"),
    (unchecked(format=Format(sides=("a",))), "sides must name each of the 2 teams, got 1 names"),
    (unchecked(format=Format(sides=("a", "a"))), 'sides[1] repeats "a"; names must be different'),
    (unchecked(format=Format(sides=("a", ""))), "sides[1] must be a name of 1 to 64 characters"),
    (unchecked(format=Format(party_sizes=(2,))), "party_sizes[0] must be between 1 and 1, the"),
    (unchecked(format=Format((2, 2), (), (1, 1))), "party_sizes[1] repeats 1; sizes must be"),
    (unchecked(format=Format((3, 3), (), (2,))), "party_sizes [2] cannot fill a team of 3 players"),
    (unchecked(criteria=(Criterion("spread", "r"),) * 17), "criteria must have at most 16"),
    (unchecked(rules=(Rule("spread", "r"),) * 17), "rules must have at most 16 entries, got 17"),
    (
        spread(kind="avoid"),
        "criteria[0].kind must be one of spread, mean_gap, imbalance, rematch",
    ),
    (spread(kind="rematch", matches=0), "criteria[0].matches must be between 1 and 20, got 0"),
    (
        spread(kind="rematch", matches=1.5),
        "criteria[0].matches must be a whole number between 1 and 20, got 1.5",
    ),
    (
        spread(kind="rematch", scale=Scale("none")),
        'criteria[0].scale does not go with kind = "rematch", which is in [0, 1] by itself',
    ),
    (
        unchecked(rules=(Rule("rematch", "recent", unit="relative"),)),
        'rules[0].unit does not go with kind = "rematch"',
    ),
    (
        unchecked(rules=(redraw_rule(3, every=2.0),), wait_max=6.0),
        "rules[0].expand.steps[0] at 6 s can never be reached: wait_max is 6 s",
    ),
    (unchecked(handicap=Handicap(0.0)), "handicap.factor must be between 1e-9 and 1e15, got 0.0"),
    (unchecked(handicap=Handicap(1.0, -1.0)), "handicap.max must be between 1e-9 and 1e15, got"),
    (unchecked(handicap=Handicap(1.0, 5.0, 6.0)), "handicap.step must be at most max = 5, got 6.0"),
    (
        unchecked(handicap=Handicap(1.0, step=-1.0)),
        "handicap.step must be 0 or between 1e-9 and 1e15",
    ),
    (unchecked(handicap=Handicap(1.0, attribute="")), "handicap.attribute must be a name of 1 to"),
    (
        unchecked(format=Format((4,)), handicap=Handicap(1.0)),
        "handicap compares teams, and this queue has one",
    ),
    (spread(attribute=""), 'criteria[0].attribute must be a name of 1 to 100 characters, got ""'),
    (spread(measure="max"), 'criteria[0].measure must be one of mean, sum, got "max"'),
    (spread(weight=-1.0), "criteria[0].weight must be between 0 and 1e12, got -1.0"),
    (spread(weight=1e308), "criteria[0].weight must be between 0 and 1e12, got 1e+308"),
    (spread(step=5e-324), "criteria[0].step must be 0 or between 1e-9 and 1e15, got 5e-324"),
    (
        replace(spread(kind="imbalance"), format=Format((4,))),
        'criteria[0].kind = "imbalance" compares teams, and this queue has one',
    ),
    (
        scaled(kind="rank"),
        "criteria[0].scale.kind must be one of linear, capped, log, percentile, none, got",
    ),
    (
        scaled(kind="percentile", sample=Sample(last=0)),
        "criteria[0].scale.last must be between 1 and 10,000, got 0",
    ),
    (scaled(min=3.0, max=3.0), "scale.max must be at least 1e-9 above min = 3, got 3.0"),
    (scaled(max=1e300), "criteria[0].scale.max must be between -1e15 and 1e15, got 1e+300"),
    (scaled(min=-math.inf), "criteria[0].scale.min must be between -1e15 and 1e15, got -inf"),
    (scaled(kind="capped", max=0.0), "criteria[0].scale.max must be between 1e-9 and 1e15, got"),
    (scaled(kind="log", knee=5e-324), "criteria[0].scale.knee must be between 1e-9 and 1e15"),
    (scaled(kind="none", cap=math.nan), "scale.cap must be between -1e15 and 1e15, got nan"),
    (
        ruled(kind="friendship"),
        "rules[0].kind must be one of spread, mean_gap, imbalance, same, rematch, latency",
    ),
    (ruled(limit=-1.0), "rules[0].limit must be between 0 and 1e15, got -1.0"),
    (ruled(unit="share"), "rules[0].unit must be one of difference, relative, percentile, got"),
    (ruled(accept="all"), 'rules[0].accept must be one of both, either, got "all"'),
    (
        ruled(unit="percentile", limit=5.0),
        "rules[0].limit must be between 0 and 1 if unit is percentile, such as 0.05 for 5 %",
    ),
    (
        ruled(unit="percentile", limit=0.1, sample=Sample(last=10_001)),
        "rules[0].last must be between 1 and 10,000, got 10001",
    ),
    (
        ruled(unit="percentile", limit=0.1, sample=Sample(quantiles=(1.0, 0.5))),
        "rules[0].quantiles[1] is 0.5; it may not fall, it was 1",
    ),
    (
        ruled(unit="percentile", limit=0.1, sample=Sample(quantiles=(1.0,) * 1002)),
        "rules[0].quantiles must have at most 1,001 entries, got 1,002",
    ),
    (
        replace(
            ruled(unit="percentile", limit=0.1),
            criteria=(
                Criterion("spread", "rating", scale=Scale("percentile", sample=Sample(last=9))),
            ),
        ),
        "percentiles of rating are taken among the last 1,000 and the last 9 values; give last",
    ),
    (ruled(Expansion()), "expand must have exactly one of rate > 0, steps and curve, got none"),
    (ruled(Expansion(rate=-1.0)), "expand.rate must be 0 or between 1e-9 and 1e15 per second"),
    (
        ruled(Expansion(rate=1.0, steps=((1.0, 20.0),))),
        "rules[0].expand must have exactly one of rate, steps and curve, got rate and steps",
    ),
    (ruled(Expansion(rate=1.0, max=1e308)), "expand.max must be between 0 and 1e15, got 1e+308"),
    (ruled(Expansion(rate=1.0, max=5.0)), "expand.max must be at least the limit 10, got 5.0"),
    (
        ruled(FALLING),
        "expand.steps[1] has limit 20; limits must increase, and the one before is 30",
    ),
    (ruled(Expansion(curve=((1.0, 9.0),))), "curve[0] has limit 9; a limit may not fall, it was"),
    (ruled(Expansion(curve=((-1.0, 20.0),))), "curve[0] has wait -1.0 s; waits must be between 0"),
    (ruled(Expansion(steps=((1e304, 20.0),))), "steps[0] has wait 1e+304 s; waits must be between"),
    (ruled(Expansion(steps=((1.0, 1e304),))), "steps[0] has limit 1e+304; limits must be between"),
    (
        ruled(Expansion(steps=((2.0, 20.0), (2.0, 30.0)))),
        "steps[1] has wait 2 s; waits must increase, and the one before is 2 s",
    ),
    (
        ruled(Expansion(steps=tuple((n, 10.0 + n) for n in range(1, 102)))),
        "steps must have at most 100 pairs [wait, limit], got 101",
    ),
    (
        ruled(Expansion(steps=((5.0, 20.0),)), wait_max=5.0),
        "rules[0].expand.steps[0] at 5 s can never be reached: wait_max is 5 s",
    ),
    (
        ruled(Expansion(curve=((5.0, 20.0), (6.0, 30.0))), wait_max=5.0),
        "rules[0].expand.curve[1] at 6 s can never be reached: wait_max is 5 s",
    ),
]


@pytest.mark.parametrize("queue", GOOD, ids=range(len(GOOD)))
def test_queue_that_can_work_passes(queue: Queue) -> None:
    check_queue(queue)


@pytest.mark.parametrize(("queue", "fragment"), BAD, ids=[fragment[:50] for _, fragment in BAD])
def test_queue_that_cannot_work_gets_a_sentence(queue: Queue, fragment: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_queue(queue)

    sentence = str(caught.value)
    assert sentence.startswith('queue "main", ')
    assert fragment in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("name", "shown"), [("", ""), ("a\nb", r"a\nb"), ("x" * 99, f"{'x' * 61}..."), (5, "5")]
)
def test_name_that_cannot_be_written_in_a_url_is_refused(name: Any, shown: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_queue(unchecked(name=name))

    assert str(caught.value).startswith(f'queue "{shown}", name must be 1 to 64 letters')
