"""Which kinds of tickets can fill a match together."""

from collections import Counter
from itertools import combinations
from random import Random

import pytest

from evenmatch.criteria.objective import Objective
from evenmatch.criteria.seat_completion import Labels
from evenmatch.model.queue import Format, Queue
from evenmatch.model.ticket import Player, Ticket
from evenmatch.testing import ticket

TRIO = Queue(format=Format((3, 3), roles=(("tank", 1), ("dps", 1), ("healer", 1))))
NAMES = ("tank", "dps", "healer")


def solo(number: int, *roles: str) -> Ticket:
    return ticket(f"t{number}", Player(f"p{number}", roles=roles), sequence=number)


@pytest.mark.parametrize("seed", range(20))
def test_answer_about_single_players_with_roles_is_exact(seed: int) -> None:
    rng = Random(seed)
    tickets = [solo(n, *rng.sample(NAMES, rng.choice((0, 1, 1, 1, 2)))) for n in range(9)]
    labels = Labels(TRIO)
    kinds = [labels.kind_of(each) for each in tickets]
    chosen = rng.randint(1, 5)

    answer = labels.may_fill(Counter(kinds[:chosen]), Counter(kinds[chosen:]))

    objective = Objective(TRIO)
    assert answer == any(
        objective.seat([*tickets[:chosen], *more]) is not None
        for more in combinations(tickets[chosen:], 6 - chosen)
    )


def test_kinds_are_alike_where_players_accept_the_same() -> None:
    labels = Labels(TRIO)

    assert labels.kind_of(solo(1, "tank", "dps")) == labels.kind_of(solo(2, "dps", "tank"))
    assert labels.kind_of(solo(1)) == labels.kind_of(solo(2, *NAMES))
    assert labels.kind_of(solo(1, "tank")) != labels.kind_of(solo(2, "dps"))


def test_kinds_that_nobody_has_any_more_are_forgotten() -> None:
    labels = Labels(TRIO)
    labels.kind_of(solo(1, "tank"))
    labels.forget()

    assert labels.kind_of(solo(2, "dps")) == (1, 0)
