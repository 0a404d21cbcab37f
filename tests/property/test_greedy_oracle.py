"""`greedy` against brute force: no legal match ever waits, and a restart changes nothing."""

import math
import random
from collections.abc import Sequence
from itertools import combinations, product

import pytest
from msgspec.structs import replace

from evenmatch.criteria.objective import Objective
from evenmatch.criteria.roles import assign_roles, role_problem
from evenmatch.criteria.rules import side_of
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import NewTicket, Ticket
from evenmatch.policies.base import Decision, Matcher
from evenmatch.policies.greedy import Greedy
from evenmatch.testing import ticket
from tests.extent import extent, more

pytestmark = more

FORMATS = [
    Format((2, 2)),
    Format((1, 3)),
    Format((2, 2), ("A", "B")),
    Format((1, 2), ("A", "B")),
    Format((2, 3)),
    Format((1, 1, 1)),
    Format((1, 1), ("A", "B")),
    Format((2, 2, 2)),
    Format((2, 2), roles=(("tank", 1), ("dps", 1))),
    Format((3, 3), roles=(("tank", 1), ("dps", 2))),
    Format((2, 2), ("A", "B"), roles=(("tank", 1), ("dps", 1))),
]
WIDENING = Expansion(rate=20.0)
RULES = [
    (),
    (Rule("spread", "rating", 100.0, "difference", WIDENING),),
    (Rule("imbalance", "rating", 50.0, "difference", WIDENING),),
    (Rule("mean_gap", "rating", 60.0, "difference", WIDENING),),
    (Rule("spread", "rating", 0.05, "relative", Expansion(rate=0.02)),),
    (Rule("imbalance", "rating", 100.0), Rule("spread", "rating", 300.0)),
]
SEEDS = extent(3, 12)
AMPLE = Greedy(evaluations_max=1_000_000)
"""All that is due is found within one call, so that its `wake_at` is the truth."""


class World:
    """One matcher, those who wait, and brute force over them."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.rules = Objective(queue).rules
        self.waiting: dict[str, Ticket] = {}
        self.matcher: Matcher = AMPLE.matcher(queue, seed=1)
        self.wake_at = math.inf

    def decide(self, now: float, fired: bool) -> Decision:
        decision = self.matcher.decide(now, fired)
        for group in decision.matches:
            tickets = [self.waiting.pop(name) for name in group.tickets]
            assert self.legal_at(tickets) <= now
        self.wake_at = decision.wake_at
        return decision

    def restart(self, now: float) -> None:
        """Make the matcher anew from those who wait; it must wake when the old one would."""
        self.matcher = AMPLE.matcher(self.queue, seed=1, memory=self.matcher.memory())
        for each in self.waiting.values():
            self.matcher.enter(each, now)
        wake_at = self.wake_at
        assert self.decide(now, fired=False).matches == ()
        assert self.wake_at == wake_at

    def legal_at(self, group: Sequence[Ticket]) -> float:
        """Return from when on some division of a group is legal, by trying all."""
        seats, sides = self.queue.format.players, self.queue.format.sides
        best = math.inf
        for choice in product(range(len(seats)), repeat=len(group)):
            teams = [[t for t, at in zip(group, choice, strict=True) if at == n] for n in range(9)]
            filled = tuple(sum(t.size for t in team) for team in teams[: len(seats)])
            wrong = sides and any(
                side_of(t) not in ("", sides[at]) for t, at in zip(group, choice, strict=True)
            )
            roles = self.queue.format.roles
            seated = not roles or all(assign_roles(team, roles) for team in teams[: len(seats)])
            if filled == seats and not wrong and seated:
                best = min(best, self.rules.ready_at(teams[: len(seats)]))
        return best

    def first_legal_at(self) -> float:
        """Return from when on any waiting tickets may play."""
        k = self.queue.format.k
        return min(
            (
                self.legal_at(group)
                for n in range(1, k + 1)
                for group in combinations(self.waiting.values(), n)
                if sum(t.size for t in group) == k
            ),
            default=math.inf,
        )


def newcomer(rng: random.Random, queue: Queue, number: int, now: float) -> Ticket:
    size = rng.randint(1, max(queue.format.players))
    ratings = [1000.0 + 25 * rng.randrange(16) for _ in range(size)]
    sides = queue.format.sides
    given = {"side": rng.choice(sides)} if sides and rng.random() < 0.7 else {}
    made = ticket(f"t{number}", *ratings, at=now, sequence=number, **given)
    names = [name for name, _ in queue.format.roles]
    some = [tuple(rng.sample(names, rng.choice((0, 1, 1)))) for _ in ratings if names]
    choosy = tuple(replace(p, roles=own) for p, own in zip(made.players, some, strict=False))
    if names and role_problem(NewTicket(choosy), queue.format.roles) is None:
        return replace(made, players=choosy)
    return made


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: "+".join(r.kind for r in rules) or "-")
@pytest.mark.parametrize(
    "layout", FORMATS, ids=lambda layout: f"{layout.players}{layout.sides}{len(layout.roles)}"
)
def test_no_legal_match_waits_and_the_next_one_is_known(
    layout: Format, rules: tuple[Rule, ...]
) -> None:
    criteria = (Criterion("imbalance", "rating", scale=Scale("none")),)
    for seed in range(SEEDS):
        # Drawn as before rules had a window, so that the cases stay those.
        known = f"{layout}{rules}".replace(", within=86400.0", "")
        rng = random.Random(f"{known}{seed}")
        world = World(Queue("main", layout, criteria if seed % 2 else (), rules))
        now = 0.0
        for number in range(1, 13):
            now += rng.choice((0, 0, 1, 2, 5))
            while world.wake_at < now:
                world.decide(world.wake_at, fired=True)
            if world.waiting and rng.random() < 0.2:
                world.matcher.leave(gone := rng.choice(list(world.waiting)), now)
                del world.waiting[gone]
            else:
                each = newcomer(rng, world.queue, number, now)
                world.waiting[each.id] = each
                world.matcher.enter(each, now)
            world.decide(now, fired=False)
            assert world.wake_at == world.first_legal_at(), (seed, number)
            if seed % 3 == 0:
                world.restart(now)


def test_search_that_gives_up_wakes_late_but_never_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenmatch.policies.shared.greedy_matcher.SEATINGS_MAX", 1)
    late = 0
    for seed in range(extent(1, 4)):
        rng = random.Random(seed)
        world = World(Queue("main", Format((2, 2, 2)), (), RULES[3]))
        now = 0.0
        for number in range(1, 12):
            now += rng.choice((0, 1, 2, 5))
            while world.wake_at < now:
                world.decide(world.wake_at, fired=True)
            each = newcomer(rng, world.queue, number, now)
            world.waiting[each.id] = each
            world.matcher.enter(each, now)
            world.decide(now, fired=False)
            first = world.first_legal_at()
            assert world.wake_at >= first
            late += world.wake_at > first
    assert late
