"""`patient` and `imbalance_threshold` against brute force, ticket by ticket.

After each arrival brute force looks at all sets of all who wait, with or without the newcomer, and
at all their divisions, and plays the most even one that the limit allows, the longest waiting
first. It adds fractions, so that rounding decides nothing.
"""

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

import pytest

from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.model.ticket import Ticket
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import ticket

RAW = Scale("none")
SEEDS = 4


def imbalance(tickets: Sequence[Ticket], players: int) -> Fraction | None:
    """Return the least difference of team sums, parties whole; None if they fill no match."""
    if sum(each.size for each in tickets) != 2 * players:
        return None
    found = []
    for signs in product((1, -1), repeat=len(tickets)):
        if sum(sign * each.size for sign, each in zip(signs, tickets, strict=True)):
            continue
        total = sum(
            (sign * skill(each) for sign, each in zip(signs, tickets, strict=True)), Fraction(0)
        )
        found.append(abs(total))
    return min(found, default=None)


def skill(each: Ticket) -> Fraction:
    return sum((Fraction(player.rating.mean) for player in each.players), Fraction(0))  # type: ignore[union-attr]


class Brute:
    """All who wait, longest waiting first, and the rule that is to be kept."""

    def __init__(self, players: int, limit: Fraction) -> None:
        self.players = players
        self.limit = limit
        self.waiting: list[Ticket] = []

    def arrive(self, newcomer: Ticket) -> list[tuple[str, ...]]:
        self.waiting.append(newcomer)
        self.waiting.sort(key=lambda each: each.age_key)
        matches = []
        while best := self._best():
            matches.append(tuple(each.id for each in best))
            self.waiting = [each for each in self.waiting if each not in best]
        return matches

    def _best(self) -> tuple[Ticket, ...]:
        least, chosen = self.limit, ()
        found: tuple[Ticket, ...] = chosen
        for count in range(2, 2 * self.players + 1):
            for places in combinations(range(len(self.waiting)), count):
                some = tuple(self.waiting[at] for at in places)
                gap = imbalance(some, self.players)
                if gap is None or gap > least:
                    continue
                if not found or gap < least or self._is_older(some, found):
                    least, found = gap, some
        return found

    def _is_older(self, some: Sequence[Ticket], others: Sequence[Ticket]) -> bool:
        """Return whether the longest waiting ticket in which two sets differ is in the first."""
        different = [each for each in self.waiting if (each in some) != (each in others)]
        return bool(different) and different[0] in some


def draw(rng: random.Random, sequence: int, at: float, size: int, kinds: int) -> Ticket:
    """Return a ticket with skill of so many types, or with any skill for 0 kinds."""
    values = [rng.randrange(kinds) / 8 if kinds else rng.random() for _ in range(size)]
    return ticket(f"t{sequence}", *values, at=at, sequence=sequence)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize(
    ("players", "kinds", "delta", "sizes"),
    [
        (1, 2, 0.0, (1,)),
        (1, 5, 0.125, (1,)),
        (1, 0, 0.05, (1,)),
        (2, 2, 0.0, (1,)),
        (2, 4, 0.125, (1,)),
        (2, 0, 0.05, (1,)),
        (2, 3, 0.0, (1, 2)),
        (2, 0, 0.1, (1, 2)),
        (3, 2, 0.0, (1,)),
        (3, 0, 0.01, (1,)),
        (3, 3, 0.125, (1, 2, 3)),
    ],
)
def test_policy_does_what_brute_force_does(
    players: int, kinds: int, delta: float, sizes: tuple[int, ...], seed: int
) -> None:
    rng = random.Random(seed)
    criterion = Criterion("imbalance", "rating", measure="sum", scale=RAW)
    queue = Queue(format=Format((players, players)), criteria=(criterion,))
    spec = "patient" if delta == 0.0 else f"imbalance_threshold:delta={delta}"
    matcher, brute = parse_policy(spec).matcher(queue, seed=0), Brute(players, Fraction(delta))
    at, sequence, played = 0.0, 0, 0
    for _ in range(40):
        at += rng.choice((0.0, 1.0, 2.5))
        if brute.waiting and rng.random() < 0.15:
            gone = brute.waiting.pop(rng.randrange(len(brute.waiting)))
            matcher.leave(gone.id, at)
            assert not matcher.decide(at).matches
            continue
        expected = []
        # Those who come together are asked one after the other.
        for _ in range(rng.choice((1, 1, 2))):
            sequence += 1
            newcomer = draw(rng, sequence, at, rng.choice(sizes), kinds)
            matcher.enter(newcomer, at)
            expected += brute.arrive(newcomer)
        assert [group.tickets for group in matcher.decide(at).matches] == expected
        played += len(expected)
        # Brute force is slow: let the longest waiting go.
        while len(brute.waiting) > 9:
            matcher.leave(brute.waiting.pop(0).id, at)
    assert played > 0
