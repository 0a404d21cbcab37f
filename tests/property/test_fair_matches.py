"""Whatever comes, no pair meets more often than `pair_limit` allows, and no household is more.

Few players come back again and again, as people do who want to meet each other. The matches are
judged here by brute force over everything that was played.
"""

import random
from collections import Counter
from itertools import combinations

import pytest

from evenmatch.engine.engine import Engine
from evenmatch.model.inputs import Advance, Configure, Enqueue
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Expansion, Format, Pairs, Queue, Rule, Scale
from evenmatch.model.ticket import NewTicket
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import player
from tests.extent import extent

WITHIN = 120.0
SEED_COUNT = extent(2, 3)
ARRIVALS = 120
CLOSE = (Criterion("spread", "rating", scale=Scale(max=2000.0)),)


def fair(form: Format, policy: str, most: float, pairs: Pairs, waited: float | None) -> Queue:
    """Return a queue in which a pair may meet `most` times, once more after `waited` seconds."""
    expand = None if waited is None else Expansion(steps=((waited, most + 1.0),))
    return Queue(
        "main",
        form,
        CLOSE,
        (
            Rule("pair_limit", "meetings", most, within=WITHIN, pairs=pairs, expand=expand),
            Rule("household_limit", "household", 1.0, pairs=pairs),
        ),
        wait_max=60.0,
        policy=policy,
    )


def played(queue: Queue, seed: int) -> tuple[list[Match], dict[str, NewTicket]]:
    """Return the matches of a run, and the tickets by id."""
    rng = random.Random(seed)
    engine = Engine(lambda each: parse_policy(each.policy))
    engine.step(Configure(0.0, (queue,), seed))
    tickets: dict[str, NewTicket] = {}
    now = 0.0
    for number in range(ARRIVALS):
        now += rng.choice((0.0, 1.0, 2.5, 7.0))
        while engine.next_wakeup < now:
            engine.step(Advance(engine.next_wakeup))
            for job in engine.take_jobs():
                engine.fail_job(job, RuntimeError("no policy here asks for one"))
        size = rng.choice((1, 1, 2)) if queue.format.admits(2) else 1
        names = rng.sample("abcdefghij", size)
        party = tuple(
            player(name, rng.uniform(1000, 2000), household="xyz"[ord(name) % 3]) for name in names
        )
        if rng.random() < 0.5:
            # Of some players nobody knows a household.
            party = tuple(player(each.id, 1500.0) for each in party)
        ticket = NewTicket(party, id=f"t{number}")
        tickets[f"t{number}"] = ticket
        engine.step(Enqueue(now, (ticket,)))
    assert not engine.faults
    return [kept.match for kept in engine.tables.matches.values()], tickets


def seats(match: Match, tickets: dict[str, NewTicket]) -> list[tuple[int, str, str, object]]:
    """Return team, ticket, player and household of everybody in a match."""
    return [
        (team, key, each.id, each.attributes.get("household"))
        for team, keys in enumerate(match.teams)
        for key in keys
        for each in tickets[key].players
    ]


def related(pairs: Pairs, one: int, other: int) -> bool:
    return pairs == "all" or (one == other) == (pairs == "teammates")


@pytest.mark.parametrize("seed", range(SEED_COUNT))
@pytest.mark.parametrize(
    ("form", "policy", "pairs"),
    [
        (Format(), "greedy", "all"),
        (Format(), "window:limit=400,rate=10", "enemies"),
        (Format(), "weighted", "all"),
        (Format((1, 1, 1)), "greedy", "all"),
        (Format((2, 2)), "greedy", "enemies"),
        (Format((2, 2)), "greedy", "teammates"),
    ],
    ids=lambda each: each if isinstance(each, str) else "v".join(map(str, each.players)),
)
@pytest.mark.parametrize("waited", [None, 20.0])
def test_no_pair_meets_more_often_and_no_household_is_more_than_allowed(
    form: Format, policy: str, pairs: Pairs, seed: int, waited: float | None
) -> None:
    matches, tickets = played(fair(form, policy, 2.0, pairs, waited), seed)
    met: dict[tuple[str, str], list[float]] = {}
    most = 0

    for match in matches:
        everyone = seats(match, tickets)
        for (team, key, one, _), (other, also, two, _) in combinations(everyone, 2):
            if key == also or not related(pairs, team, other):
                continue
            known = met.setdefault((min(one, two), max(one, two)), [])
            known.append(match.at)
            most = max(most, sum(at > match.at - WITHIN for at in known))
        shared = Counter((team, home) for team, _, _, home in everyone if home is not None)
        if pairs == "teammates":
            assert max(shared.values(), default=0) <= 1
        if pairs == "all":
            homes = Counter(home for _, _, _, home in everyone if home is not None)
            assert max(homes.values(), default=0) <= 1
        if pairs == "enemies":
            teams = Counter(home for _, home in shared)
            assert max(teams.values(), default=0) <= 1

    assert len(matches) >= 5
    # With so few players the limit is reached; it is never passed.
    assert 2 <= most <= (2 if waited is None else 3)
