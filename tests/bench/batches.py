"""What a search costs the event loop before its thread begins: making batches, by half.

`WaitingRoster.later` runs on the loop, what it returns on the search's thread. The queue has
every kind of criterion and rule, and its players have met, measured and reached some of each other.
Players who wait are written into columns as they come, so that is done before the clock runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.registry import parse_policy
from evenmatch.policies.shared.ticket_batch import BatchRoster
from tests.bench.report import Row, Setting

COUNTS = (400, 1_600)
SPECS = ("rolling", "rounds:every=10")
AIMS = {400: "< 3", 1_600: "< 12"}
REGIONS = ("as", "au", "eu", "jp", "sa", "us")
REMEMBERED, MEASURED, REACHED, SPOKEN = 8, 4, 12, 2
ROLES = (("tank", 1), ("damage", 2), ("support", 2))
WIDER = Expansion(rate=1.0)
LIFTED = Expansion(steps=((60.0, 3.0),))
EVERYTHING = Queue(
    "everything",
    Format((5, 5), players_min=(4, 4), roles=ROLES),
    (
        Criterion("imbalance", "rating", scale=Scale("capped", max=1_000.0)),
        Criterion("spread", "rating", scale=Scale("capped", max=1_000.0)),
        Criterion("mean_gap", "rating", scale=Scale("log", knee=100.0, max=2_000.0)),
        Criterion("latency", "latency"),
        Criterion("latency", "near", pairs="region"),
        Criterion("rematch", "recent", matches=8),
        Criterion("host_options", "connect"),
        Criterion("party_parity"),
        Criterion("same", "mode"),
        Criterion("overlap", "words"),
        Criterion("fullness"),
        Criterion("role_rank"),
    ),
    (
        Rule("spread", "rating", 800.0, expand=WIDER),
        Rule("imbalance", "rating", 300.0, expand=WIDER),
        Rule("mean_gap", "rating", 600.0, expand=WIDER),
        Rule("latency", "latency", 150.0, expand=WIDER, pairs="enemies"),
        Rule("latency", "near", 90.0, expand=WIDER, pairs="region"),
        Rule("rematch", "recent", expand=LIFTED),
        Rule("avoid", "avoid", pairs="teammates"),
        Rule("pair_limit", "meetings", 2.0, expand=LIFTED),
        Rule("household_limit", "house", 1.0),
        Rule("household_limit", "house", 1.0, expand=LIFTED),
        Rule("host_options", "connect", 1.0),
        Rule("party_parity", limit=0.5, expand=WIDER),
        Rule("same", "mode", expand=LIFTED),
        Rule("overlap", "words", expand=LIFTED),
        Rule("fullness", limit=0.0, expand=WIDER),
        Rule("role_rank", limit=0.5, expand=WIDER),
    ),
)


def crowd(count: int, seed: int = 1) -> list[Ticket]:
    """Return so many single players who know each other in every way that counts."""
    rng = np.random.default_rng(seed)
    names = [f"p{number}" for number in range(count)]
    return [_ticket(rng, names, number) for number in range(count)]


def _ticket(rng: np.random.Generator, names: list[str], number: int) -> Ticket:
    def others(most: int) -> tuple[str, ...]:
        chosen = rng.integers(0, len(names), most).tolist()
        return tuple({names[each]: None for each in chosen if each != number})

    own: dict[str, Any] = {
        "rating": float(rng.normal(1_500.0, 300.0)),
        "latency": _pings(rng) | dict.fromkeys(others(MEASURED), float(rng.integers(10, 90))),
        "near": _pings(rng),
        "recent": {each: float(rng.integers(1, 9)) for each in others(REMEMBERED)},
        "connect": ("open", "moderate", "strict", others(REACHED))[int(rng.integers(4))],
        "mode": ("ranked", "casual")[int(rng.integers(2))],
        "words": tuple({f"l{each}": None for each in rng.integers(0, 20, SPOKEN)}),
        "avoid": others(1),
        "meetings": dict.fromkeys(others(REMEMBERED), 1.0),
        "house": f"h{number // 3}",
    }
    player = Player(names[number], attributes=own, roles=("damage", "support"))
    return Ticket(f"t{number}", number + 1, float(number % 60), (player,), ("everything",))


def _pings(rng: np.random.Generator) -> dict[str, float]:
    return {region: float(rng.integers(15, 250)) for region in REGIONS}


def run(setting: Setting) -> Iterator[Row]:
    """Measure both halves for pools of several sizes."""
    rounds = 3 if setting.quick else 10
    for count in COUNTS:
        tickets = crowd(count)
        yield from _halves(tickets, rounds)
        for spec in SPECS:
            yield _asking(spec, tickets, rounds)


def _halves(tickets: list[Ticket], rounds: int) -> Iterator[Row]:
    count = len(tickets)
    roster = BatchRoster(EVERYTHING)
    for each in tickets:
        roster.enter(each)
    roster.write_some(count)
    roster.batch(tickets, 60.0)
    first, second = [], []
    for _ in range(rounds):
        took, make = _timed(lambda: roster.later(tickets, 60.0, [0.0] * count))
        first.append(took)
        second.append(_timed(make)[0])
    name = f"batch of {count:,} players, every criterion and rule"
    yield Row(f"{name}: on the loop", tuple(first), "ms", AIMS[count], "CPU time")
    yield Row(f"{name}: on the thread", tuple(second), "ms", "", "CPU time")


def _asking(spec: str, tickets: list[Ticket], rounds: int) -> Row:
    """Measure the whole decision of a policy that asks for a search."""
    took, evaluations = [], 0
    for seed in range(rounds):
        matcher = parse_policy(spec).matcher(EVERYTHING, seed=seed)
        for each in tickets:
            matcher.enter(each, 60.0)
        # Only a timer begins a search.
        wake_at = matcher.decide(60.0).wake_at
        before = matcher.evaluations
        own, decision = _timed(lambda decide=matcher.decide, at=wake_at: decide(at, fired=True))
        assert decision.job is not None
        took.append(own)
        evaluations = matcher.evaluations - before
    name = f"decision of {spec} that asks for a search, {len(tickets):,} waiting"
    note = f"CPU time, {evaluations:,} evaluations"
    return Row(name, tuple(took), "ms", AIMS[len(tickets)], note)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.thread_time()
    found = call()
    return 1e3 * (time.thread_time() - began), found
