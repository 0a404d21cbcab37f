"""Two against two with sides and zones: the newcomer's match is the first by age, by brute force.

The yardstick tries every set of waiting parties with the newcomer. Sets are compared as lists of
ages, the longest waiting first; queues are asked in the order of the longest waiting in each, then
in that of configuration.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from evenmatch.engine.engine import Engine
from evenmatch.model.events import Matched
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, queue

SEEDS = range(4)
PARTIES = 150
SIDES = ("A", "B")
Party = tuple[str, int, str, tuple[str, ...]]
"""Name, size, side or "", queues."""


def fills(parties: tuple[Party, ...]) -> bool:
    """Return whether parties fill two teams of two with everybody on his side."""
    return any(
        all(
            sum(size for (_, size, _, _), at in zip(parties, teams, strict=True) if at == team) == 2
            for team in range(2)
        )
        and all(
            side in ("", SIDES[team]) for (_, _, side, _), team in zip(parties, teams, strict=True)
        )
        for teams in product(range(2), repeat=len(parties))
    )


class BruteForce:
    def __init__(self) -> None:
        self.waiting: list[Party] = []

    def arrive(self, came: Party) -> set[str]:
        """Return who plays now."""
        lines = {name: [each for each in self.waiting if name in each[3]] for name in came[3]}
        order = sorted(lines, key=lambda name: self._age(lines[name]))
        for name in order:
            found = [
                others
                for count in range(1, 4)
                for others in combinations(lines[name], count)
                if fills((*others, came))
            ]
            if found:
                first = min(found, key=lambda set_: [self.waiting.index(each) for each in set_])
                self.waiting = [each for each in self.waiting if each not in first]
                return {came[0], *(each[0] for each in first)}
        self.waiting.append(came)
        return set()

    def _age(self, line: list[Party]) -> int:
        return self.waiting.index(line[0]) if line else len(self.waiting)


def draw(seed: int, zones: tuple[tuple[str, ...], ...], sides: tuple[str, ...]) -> list[Party]:
    rng = np.random.default_rng(seed)
    return [
        (
            f"p{number}",
            int(rng.integers(1, 3)),
            sides[int(rng.choice(len(sides)))],
            zones[int(rng.choice(len(zones)))],
        )
        for number in range(PARTIES)
    ]


def request(party: Party) -> NewTicket:
    name, size, side, queues = party
    return new_ticket(name, *[1500.0] * size, queues=queues, side=side)


def assert_same(queues: tuple[Queue, ...], parties: list[Party]) -> None:
    at_work, brute = Engine(lambda each: parse_policy(each.policy)), BruteForce()
    at_work.step(Configure(0.0, queues))
    made = 0
    for now, party in enumerate(parties):
        record = at_work.step(Enqueue(float(now), (request(party),)))
        matches = [event.match for event in record.events if isinstance(event, Matched)]
        found = {f"p{int(name[3:]) - 1}" for match in matches for name in match.tickets}
        assert found == brute.arrive(party)
        made += len(matches)
        for match in matches:
            for name, team in zip(SIDES, match.teams, strict=True):
                wishes = {parties[int(ticket[3:]) - 1][2] for ticket in team}
                assert not queues[0].format.sides or wishes <= {"", name}
    assert at_work.faults == []
    assert made > 10


@pytest.mark.parametrize("policy", ["greedy", "first_come"])
@pytest.mark.parametrize("seed", SEEDS)
def test_duos_and_solos_who_insist_on_sides_play_the_first_by_age(seed: int, policy: str) -> None:
    one = (queue("map", 2, 2, sides=SIDES, policy=policy),)
    # Half of the parties are flexible, so that pools stay small enough for brute force.
    assert_same(one, draw(seed, (("map",),), ("A", "B", "", "")))


@pytest.mark.parametrize("policy", ["greedy", "first_come"])
@pytest.mark.parametrize("seed", SEEDS)
def test_duos_and_solos_in_zones_play_the_first_by_age(seed: int, policy: str) -> None:
    two = (queue("j", 2, 2, policy=policy), queue("e", 2, 2, policy=policy))
    assert_same(two, draw(seed, (("j",), ("e",), ("j", "e")), ("",)))


@pytest.mark.parametrize("policy", ["greedy", "first_come"])
@pytest.mark.parametrize("seed", SEEDS)
def test_duos_and_solos_with_sides_in_zones_play_the_first_by_age(seed: int, policy: str) -> None:
    two = tuple(queue(name, 2, 2, sides=SIDES, policy=policy) for name in "je")
    assert_same(two, draw(seed, (("j",), ("e",), ("j", "e")), ("A", "B", "", "")))
