"""`greedy` beside comparing all, and beside itself without its short cuts.

Players come, leave, change and come in fired instants.
"""

import math
import random
from itertools import combinations

import pytest
from msgspec.structs import replace

from evenmatch.criteria.objective import Objective
from evenmatch.model.queue import Expansion, Format, Queue, Rule
from evenmatch.model.ticket import Player, Rating, Ticket
from evenmatch.policies.greedy import EVALUATIONS_MIN, Greedy
from evenmatch.policies.shared.greedy_matcher import GreedyMatcher
from evenmatch.policies.shared.group_search import Effort
from evenmatch.policies.shared.soonest_group import SoonestGroup
from tests.extent import extent, more

GROWING = Rule("spread", "rating", 5.0, expand=Expansion(rate=2.0, max=60.0))
QUEUE = Queue("main", Format((1, 1)), (), (GROWING,), policy="greedy")


class History:
    """A matcher, and all who wait in it."""

    def __init__(self, seed: int, queue: Queue = QUEUE, evaluations: int = EVALUATIONS_MIN) -> None:
        self.rng = random.Random(seed)
        self.matcher = Greedy(evaluations_max=evaluations).matcher(queue, seed=1)
        self.rules = Objective(queue).rules
        self.waiting: dict[str, Ticket] = {}
        self.now, self.wake_at = 0.0, math.inf
        self.told: list[tuple[float, tuple[str, ...]]] = []

    def legal_at(self, *tickets: Ticket) -> float:
        return self.rules.ready_at([(each,) for each in sorted(tickets, key=_age)])

    def decide(self, at: float, *, fired: bool) -> None:
        self.now = at
        decision = self.matcher.decide(at, fired)
        self.wake_at = decision.wake_at
        for match in decision.matches:
            assert self.legal_at(*[self.waiting.pop(each) for each in match.tickets]) <= at
            self.told.append((at, match.tickets))

    def new(self, sequence: int, at: float, size: int) -> Ticket:
        players = []
        for number in range(size):
            rating = Rating(float(self.rng.randrange(600)))
            mode = {"mode": self.rng.choice("ab")}
            players.append(Player(f"p{sequence}.{number}", rating, attributes=mode))
        return Ticket(f"t{sequence}", sequence, at, tuple(players), ("main",))

    def enter(self, ticket: Ticket) -> None:
        self.waiting[ticket.id] = ticket
        self.matcher.enter(ticket, self.now)

    def disturb(self) -> None:
        """Let somebody leave, or come back with another rating; nobody decides in between."""
        name = self.rng.choice(list(self.waiting))
        self.matcher.leave(name, self.now)
        before = self.waiting.pop(name)
        if self.rng.random() < 0.5:
            changed = self.new(before.sequence, before.enqueued_at, before.size)
            self.enter(replace(changed, id=name))

    def advance(self, until: float) -> None:
        while self.wake_at < until:
            self.decide(self.wake_at, fired=True)


def _age(ticket: Ticket) -> tuple[float, int]:
    return ticket.age_key


def played(history: History, pause: float, sizes: tuple[int, ...] = (1,)) -> History:
    """Let parties come, and some of those who wait leave or change."""
    for sequence in range(1, 161):
        arrives = history.now + history.rng.randrange(2**20) / 2**20 * pause
        history.advance(arrives)
        if history.rng.random() < 0.2 and history.now < history.wake_at < math.inf:
            # Whoever comes now comes at an instant that has been fired.
            history.decide(history.wake_at, fired=True)
        history.now = max(history.now, arrives)
        if history.waiting and history.rng.random() < 0.2:
            history.disturb()
        history.enter(history.new(sequence, history.now, history.rng.choice(sizes)))
        history.decide(history.now, fired=False)
    history.advance(history.now + 60.0)
    assert sum(len(tickets) for _, tickets in history.told) > 40
    return history


@pytest.mark.parametrize("seed", range(8))
def test_no_match_is_early_and_none_is_missed(seed: int) -> None:
    history = played(History(seed), (0.005, 0.05, 0.3)[seed % 3])
    ends = history.now + 50.0
    for one, two in combinations(history.waiting.values(), 2):
        assert history.legal_at(one, two) > ends


def _suit(one: Ticket, two: Ticket) -> bool:
    """Say which pairs a policy takes of those that are legal."""
    return (one.sequence + two.sequence) % 3 > 0


def drawn_rules(rng: random.Random) -> tuple[Rule, ...]:
    """Return one or two rules; columns do not tell about rematches."""
    expand = rng.choice(
        (
            Expansion(rate=rng.choice((0.5, 2.0, 33.3)), max=rng.choice((60.0, 600.0))),
            Expansion(steps=((1.0, 20.0), (3.5, 100.0), (8.0, 600.0))),
            Expansion(curve=((0.0, 10.0), (2.0, 40.0), (5.0, 300.0))),
        )
    )
    limit, accept = rng.choice((5.0, 10.0)), rng.choice(("both", "either"))
    first = Rule("spread", "rating", limit, expand=expand, accept=accept)
    more_rules = (
        (),
        (Rule("same", "mode", 0.0),),
        (Rule("same", "mode", 0.0, expand=Expansion(steps=((4.0, 1.0),))),),
        (Rule("rematch", "", 0.0, within=1.0),),
    )
    return first, *rng.choice(more_rules)


@more
@pytest.mark.parametrize("seed", range(extent(24, 400)))
def test_pair_found_by_one_look_is_the_one_that_a_search_finds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = drawn_rules(random.Random(seed))
    queue, pause = Queue("main", Format((1, 1)), (), rules), (0.005, 0.05, 0.3)[seed % 3]
    is_choosy = seed % 2 == 1
    if is_choosy:
        monkeypatch.setattr(GreedyMatcher, "accepts", lambda _, pair, __: _suit(*pair))
    # Enough that no work is put off: when that goes on depends on what was spent before.
    looked = played(History(seed, queue, 100_000), pause)
    with monkeypatch.context() as patch:
        patch.setattr(SoonestGroup, "_first_pair", lambda *_: None)
        searched = played(History(seed, queue, 100_000), pause)
    assert looked.told == searched.told
    if len(rules) == 1 and not is_choosy:
        assert looked.matcher.evaluations < 0.6 * searched.matcher.evaluations


@more
@pytest.mark.parametrize("seed", range(extent(6, 90)))
def test_group_found_from_the_least_wait_is_the_one_that_a_search_finds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = drawn_rules(random.Random(seed))
    players, sizes = (((2, 2), (1, 1, 2)), ((4,), (1, 2, 4)), ((1, 1, 1), (1,)))[seed % 3]
    form = Format(players)
    queue, pause = Queue("main", form, (), rules), (0.05, 0.3)[seed % 2]
    bounded = played(History(seed, queue, 1_000_000), pause, sizes)
    with monkeypatch.context() as patch:
        patch.setattr(SoonestGroup, "_not_before", lambda *_: -math.inf)
        searched = played(History(seed, queue, 1_000_000), pause, sizes)
    assert bounded.told == searched.told


@pytest.mark.parametrize("seed", [1, 2])
def test_search_among_many_begins_at_the_least_wait(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = Rule("spread", "rating", 20.0, expand=Expansion(rate=2.0, max=200.0))
    queue = Queue("main", Format((5, 5)), (), (rule,))
    bounded = played(History(seed, queue, 1_000_000), 0.3)
    monkeypatch.setattr(SoonestGroup, "_not_before", lambda *_: -math.inf)
    searched = played(History(seed, queue, 1_000_000), 0.3)
    assert bounded.told == searched.told
    assert bounded.matcher.evaluations < 0.6 * searched.matcher.evaluations


@pytest.mark.parametrize(("apart", "at"), [(0.0, 0.0), (30.0, 12.5)])
def test_party_that_fills_a_match_plays_alone(apart: float, at: float) -> None:
    queue = Queue("main", Format((3,)), (), (GROWING,))
    players = [Player(f"p{n}", Rating(apart * (n == 2))) for n in range(3)]
    matcher = Greedy().matcher(queue, seed=1)
    matcher.enter(Ticket("party", 1, 0.0, tuple(players), ("main",)), 0.0)
    decision = matcher.decide(0.0)
    if at:
        assert decision.matches == ()
        assert decision.wake_at == at
        decision = matcher.decide(at, True)
    assert [match.tickets for match in decision.matches] == [("party",)]


@pytest.mark.parametrize(("compared", "is_first"), [(20, False), (200, True)])
def test_pair_found_among_a_part_of_those_who_wait_is_not_the_first_for_good(
    compared: int, is_first: bool
) -> None:
    """When some have left, the pass compares others as well."""
    matcher = Greedy().matcher(QUEUE, seed=1)
    tickets = [
        Ticket(f"t{n}", n, 0.0, (Player(f"p{n}", Rating(600.0 + 10.0 * n)),), ("main",))
        for n in range(100)
    ]
    for ticket in tickets:
        matcher.enter(ticket, 0.0)
    anchor = Ticket("new", 100, 1.0, (Player("p", Rating(590.0)),), ("main",))
    matcher.enter(anchor, 1.0)
    soonest = matcher._soonest
    soonest._cells_max = compared * soonest._table.width
    with pytest.raises(StopIteration) as over:
        next(soonest.soonest(anchor, len(soonest._table), Effort(10**6, 10**6, 64)))
    group = over.value.value
    assert group.tickets == [tickets[0], anchor]
    assert group.is_first is is_first
