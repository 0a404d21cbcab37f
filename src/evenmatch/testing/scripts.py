"""What happens to the policies under test: queues of many kinds, and who enters and leaves when.

A script is drawn from a seed and from nothing else. Times and values lie on coarse grids, so that
ties, equal gaps and timers that fall on arrivals are common; they are scaled to the queue's rules
and deadline, so that limits widen while tickets come and go.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

import msgspec

from evenmatch.criteria.base import Form
from evenmatch.criteria.kinds.rematch import redraw_rule
from evenmatch.criteria.registry import NUMERIC, form_of, kind_of
from evenmatch.criteria.roles import Roles, role_problem
from evenmatch.model.condition import (
    Condition,
    DistanceTest,
    FoldOf,
    Phases,
    TeamProperty,
    ValueTest,
)
from evenmatch.model.queue import (
    Criterion,
    Expansion,
    Format,
    Queue,
    Rule,
    Sample,
    Scale,
)
from evenmatch.model.ticket import NewTicket, Player, Rating, Ticket, Value
from evenmatch.testing.builders import rule

TICKETS = 20
"""Tickets that enter in one script."""
PAUSES = (0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 5, 13, 34)
"""Units of time between two steps."""
STEPS_TO_TOP = 16
"""Values lie on so many steps of a grid above the lowest."""

_RATING = Criterion("spread", "rating", scale=Scale(min=1000.0, max=1400.0))
_TABLE = Sample(quantiles=(1000.0, 1125.0, 1250.0, 1500.0, 2000.0))
QUEUES: tuple[Queue, ...] = (
    Queue("duel", criteria=(_RATING,)),
    Queue("rated", rules=(rule(limit=100, rate=25.0),), wait_max=24.0),
    Queue("stepped", rules=(rule(limit=50, steps=((2.0, 100.0), (6.5, 200.0))),)),
    Queue("relative", rules=(rule(limit=0.0625, rate=0.015625, unit="relative"),)),
    Queue("ranked", rules=(rule(limit=0.0625, rate=0.015625, unit="percentile", sample=_TABLE),)),
    Queue("paired", rules=(rule(limit=50, rate=12.5), rule("blitz", 40, rate=10, accept="either"))),
    Queue("sided", Format(sides=("cat", "mouse")), rules=(rule(limit=100, rate=30.0),)),
    Queue("wished", Format(sides=("cat", "mouse"), side_choice="prefer"), (_RATING,)),
    Queue("hunted", Format((2, 2), ("cat", "mouse"), side_choice="prefer")),
    Queue("bots", criteria=(_RATING,), wait_max=6.0, on_deadline="bots"),
    Queue("kept", rules=(rule(limit=100, rate=10.0),), wait_max=8.0, on_deadline="keep"),
    Queue("three", Format((1, 1, 1)), (_RATING,), wait_max=12.0),
    Queue(
        "squads",
        Format((2, 2)),
        (Criterion("imbalance", "rating", scale=Scale("none")),),
        (rule(limit=150, rate=20.0),),
    ),
    Queue(
        "rematch",
        criteria=(_RATING, Criterion("rematch", "recent", matches=2)),
        rules=(rule(limit=100, rate=25.0), redraw_rule(2, every=4.0, matches=2)),
        wait_max=24.0,
    ),
    Queue("brawl", Format((1,) * 4, players_min=(1, 1, 0, 0)), (_RATING,), wait_max=12.0),
    Queue(
        "flexible",
        Format((3, 3), players_min=(2, 2)),
        (
            Criterion("imbalance", "rating", scale=Scale("capped", max=400.0)),
            Criterion("fullness"),
        ),
        wait_max=12.0,
        on_deadline="bots",
    ),
    Queue(
        "roles",
        Format((3, 3), roles=(("tank", 1), ("dps", 2))),
        (Criterion("role_rank"),),
        (Rule("role_rank", limit=0.25, expand=Expansion(rate=0.125, max=1.0)),),
        wait_max=48.0,
    ),
    Queue(
        "lagging",
        criteria=(_RATING, Criterion("latency", "latency")),
        rules=(
            rule(limit=200, rate=25.0),
            Rule("latency", "latency", 90.0, expand=Expansion(rate=10.0, max=200.0)),
            Rule("avoid", "avoid", expand=Expansion(steps=((8.0, 1.0),))),
            Rule("overlap", "words"),
        ),
        wait_max=24.0,
    ),
    Queue(
        "fair",
        Format((2, 2)),
        rules=(
            Rule("pair_limit", "meetings", 2.0, expand=Expansion(steps=((8.0, 3.0),))),
            Rule("household_limit", "household", 1.0, pairs="teammates"),
        ),
        wait_max=24.0,
    ),
    Queue(
        "parties",
        Format((2, 2)),
        (
            Criterion("latency", "latency", pairs="region"),
            Criterion("party_parity"),
            Criterion("host_options", "connect"),
            Criterion("same", "mode"),
            Criterion("overlap", "words"),
        ),
        (
            Rule("latency", "latency", 120.0, expand=Expansion(rate=10.0), pairs="enemies"),
            Rule("party_parity", limit=0.5, expand=Expansion(steps=((6.0, 1.0),))),
            Rule("avoid", "avoid", pairs="teammates"),
        ),
    ),
)
"""The queues on which a policy is checked; it may refuse some."""


def _within(most: float) -> DistanceTest:
    """Return the test that no two ratings of a match differ by more."""
    ratings = TeamProperty(teams=(0, 1), is_grouped=False, what="attribute", attribute="rating")
    ends = FoldOf("max", ratings), FoldOf("min", ratings)
    return DistanceTest(measured=ends[:1], reference=ends[1], most=most)


_PLAYERS = TeamProperty(teams=(0, 1), is_grouped=True, what="players")
_EVEN = ValueTest(measured=(FoldOf("count", _PLAYERS),), operator="=")
RULED_QUEUES: tuple[Queue, ...] = (
    Queue(
        "ruled",
        rules=(
            Rule(
                "condition",
                condition=Condition(
                    "near",
                    Phases((0.0, 2.0, 5.0, 8.0), tuple(map(_within, (50.0, 150.0, 25.0, 400.0)))),
                ),
            ),
        ),
        wait_max=24.0,
    ),
    Queue(
        "ruled_teams",
        Format((2, 2), players_min=(1, 1)),
        rules=(
            Rule("condition", condition=Condition("even", _EVEN, "oldest")),
            Rule(
                "condition",
                condition=Condition(
                    "near", Phases((0.0, 4.0), (_within(60.0), _within(250.0))), "oldest"
                ),
            ),
        ),
    ),
)
"""Queues by conditions, for policies that know these."""


class Step(msgspec.Struct, frozen=True):
    """One input: tickets enter together, or one leaves, or the last that left comes back.

    Args:
        at: Its instant.
        enters: New tickets.
        leaves: Where in the order of age the leaving ticket is among the waiting, in [0, 1).
        returns: Whether the last that left enters again, with its old `enqueued_at`.
    """

    at: float
    enters: tuple[Ticket, ...] = ()
    leaves: float | None = None
    returns: bool = False


class Script(msgspec.Struct, frozen=True):
    """All inputs in order, and the instant after which nothing is looked at any more."""

    steps: tuple[Step, ...]
    until: float


def draw_script(queue: Queue, rules: tuple[Rule, ...], seed: int) -> Script:
    """Return a script for a queue.

    Args:
        queue: As configured.
        rules: All its rules, those of the policy included.
        seed: All chance comes from it.
    """
    rng = random.Random(seed)
    unit, span = _times(queue, rules)
    at = rng.choice((0.0, 3.0))
    steps: list[Step] = []
    entered: list[Ticket] = []
    while len(entered) < TICKETS:
        at += unit * rng.choice(PAUSES)
        kind = rng.random()
        if kind < 0.2:
            steps.append(Step(at, leaves=rng.random()))
        elif kind < 0.28:
            steps.append(Step(at, returns=True))
        else:
            count = rng.choice((1, 1, 1, 1, 2, 3))
            first = len(entered) + 1
            bulk = tuple(
                draw_ticket(rng, queue, rules, sequence, at)
                for sequence in range(first, first + count)
            )
            entered.extend(bulk)
            steps.append(Step(at, bulk))
    return Script(tuple(steps), at + span)


def time_unit(queue: Queue, rules: tuple[Rule, ...]) -> float:
    """Return the unit of the time grid, a power of two: the rules' limits move in many of them."""
    return _times(queue, rules)[0]


def _times(queue: Queue, rules: tuple[Rule, ...]) -> tuple[float, float]:
    """Return the unit of the time grid, a power of two, and how long to look after the end."""
    slowest = 8.0
    for each in rules:
        expand = each.expand
        if expand is not None:
            points = expand.steps or expand.curve
            rise = STEPS_TO_TOP * (each.limit or 1.0) / (expand.rate or 1.0)
            slowest = points[-1][0] if points else rise
    wait_max = queue.wait_max or 0.0
    shortest = min(slowest, wait_max) if wait_max else slowest
    unit = 2.0 ** math.floor(math.log2(max(shortest, 2.0**-10) / 24))
    return unit, 2 * slowest + 2 * wait_max


def draw_ticket(
    rng: random.Random, queue: Queue, rules: tuple[Rule, ...], sequence: int, at: float
) -> Ticket:
    """Return a ticket whose size, roles, side and attributes are drawn as the queue admits."""
    sizes = [size for size in range(1, max(queue.format.players) + 1) if queue.format.admits(size)]
    players = tuple(
        _draw_player(rng, queue, rules, f"p{sequence:02d}{letter}")
        for letter in "abcdefghijklmnopqrstuvwxyz"[: rng.choice(sizes)]
    )
    if queue.format.roles:
        players = _with_roles(rng, queue.format.roles, players)
    side = rng.choice(("", *queue.format.sides))
    attributes: dict[str, Value] = {"side": side} if side else {}
    return Ticket(f"t{sequence:02d}", sequence, at, players, (queue.name,), attributes)


def _draw_player(
    rng: random.Random, queue: Queue, rules: tuple[Rule, ...], player_id: str
) -> Player:
    rating = 1000.0 + 25.0 * rng.randrange(STEPS_TO_TOP + 1)
    attributes: dict[str, Value] = {}
    definitions: tuple[Criterion | Rule, ...] = (*queue.criteria, *rules)
    for each in definitions:
        if each.kind not in NUMERIC and each.attribute and each.attribute not in attributes:
            _draw_other(rng, each, player_id, attributes)
    for criterion in queue.criteria:
        if criterion.kind not in NUMERIC:
            continue
        scale = criterion.scale
        part = rng.randrange(STEPS_TO_TOP + 1) / STEPS_TO_TOP
        attributes[criterion.attribute] = scale.min + part * (scale.max - scale.min)
    for limit in rules:
        if limit.kind not in NUMERIC:
            continue
        step = (limit.limit or 1.0) * (1.0 if limit.unit == "difference" else 1000.0)
        attributes[limit.attribute] = 1000.0 + step * rng.randrange(STEPS_TO_TOP + 1)
    drawn = attributes.pop("rating", rating)
    return Player(player_id, Rating(drawn if isinstance(drawn, float) else rating), attributes)


def _draw_other(
    rng: random.Random, definition: Criterion | Rule, player_id: str, attributes: dict[str, Value]
) -> None:
    """Draw what a kind compares that compares no numbers."""
    name = definition.attribute
    form = form_of(definition)
    if form is Form.WORD:
        attributes[name] = rng.choice(("red", "blue"))
    elif form is Form.SHARED:
        attributes[name] = rng.choice("abcdefgh")
    elif form is Form.SETS:
        attributes[name] = rng.choice((("de",), ("de", "en"), ("en",), ("en", "fr")))
    elif form is Form.PLACES:
        regions = rng.sample(("eu", "us", "asia"), rng.choice((1, 2, 3, 3)))
        attributes[name] = {each: 10.0 * rng.randrange(STEPS_TO_TOP + 1) for each in regions}
    elif form is Form.NETWORK and rng.random() < 0.5:
        attributes[name] = rng.choice(("open", "moderate", "strict"))
    elif form is Form.NETWORK:
        attributes[name] = _some_others(rng, player_id)
    elif rng.random() < 0.5:
        # Half of the players remember some of the others, or avoid a few.
        met = _some_others(rng, player_id)
        if kind_of(definition).is_list_of_players:
            attributes[name] = met[:2]
        elif kind_of(definition).memory == "meetings":
            attributes[name] = {each: rng.choice((1.0, 2.0, 3.0)) for each in met}
        else:
            attributes[name] = {each: rng.choice((-1.0, 1.0, 1.0, 2.0, 3.0)) for each in met}


def _some_others(rng: random.Random, player_id: str) -> tuple[str, ...]:
    others = [name for name in (f"p{n:02d}a" for n in range(1, TICKETS + 1)) if name != player_id]
    return tuple(sorted(rng.sample(others, TICKETS // 3)))


def _with_roles(
    rng: random.Random, roles: Roles, players: tuple[Player, ...]
) -> tuple[Player, ...]:
    """Let players accept some roles; a party that no team could seat stays flexible."""
    names = [name for name, _ in roles]
    some = [tuple(rng.sample(names, rng.randrange(len(names) + 1))) for _ in players]
    choosy = tuple(
        msgspec.structs.replace(player, roles=own)
        for player, own in zip(players, some, strict=True)
    )
    return players if role_problem(NewTicket(choosy), roles) else choosy


# Crowds that make a policy work hard: many at once, and many of whom hardly anybody can play.
#
# Each is a script as in `scripts.py`, for one queue and one seed.

BURST = 500
"""Tickets that enter at one instant."""
CROWD = 80
"""Tickets of every other crowd."""
CHANGES = 20
"""How often the longest waiting ticket leaves, and comes back with what it was."""
PAUSE = 0.5
"""Seconds between two tickets that do not come at once."""
FAR = 2.0**30
"""What is so far apart is so for ever."""
AFTER = 64.0
"""Seconds for which a crowd is looked at after its last step."""

_Change = Callable[[Ticket, int], Ticket]


def draw_crowds(queue: Queue, rules: tuple[Rule, ...], seed: int) -> Iterator[tuple[str, Script]]:
    """Yield crowds of a queue with what they are called.

    Args:
        queue: As configured.
        rules: All its rules, those of the policy included.
        seed: All chance comes from it.
    """
    rng = random.Random(seed)

    def drawn(count: int, change: _Change | None = None, pause: float = PAUSE) -> list[Step]:
        steps: dict[float, list[Ticket]] = {}
        for number in range(count):
            made = draw_ticket(rng, queue, rules, number + 1, number * pause)
            made = change(made, number) if change else made
            steps.setdefault(made.enqueued_at, []).append(made)
        return [Step(at, tuple(tickets)) for at, tickets in steps.items()]

    form = queue.format
    yield "a burst", _script(drawn(BURST, pause=0.0))
    if rules:
        yield "all apart", _script(drawn(CROWD, lambda t, n: _apart(t, n, rules)))
        yield "all widening at once", _script(drawn(CROWD, _spaced(rules), pause=0.0))
    if form.roles:
        names = [name for name, _ in form.roles]
        yield "all of one role", _script(drawn(CROWD, lambda t, _: _alone(t, names[:1])))
        yield "a missing role", _script(drawn(CROWD, lambda t, _: _alone(t, names[1:])))
    if form.strict_sides:
        yield "all on one side", _script(drawn(CROWD, lambda t, _: _sided(t, form.strict_sides[0])))
    if not form.solo_only:
        size = _awkward(queue)
        yield "parties of one size", _script(drawn(CROWD, lambda t, _: _sized(t, size)))
    steps = drawn(CROWD)
    for number in range(CHANGES):
        at = steps[-1].at + PAUSE
        steps.append(Step(at, leaves=0.0 if number % 2 else 0.5))
        steps.append(Step(at, returns=True))
    yield "the oldest coming back", _script(steps)


def _script(steps: list[Step]) -> Script:
    return Script(tuple(steps), steps[-1].at + AFTER)


def _with_players(ticket: Ticket, players: list[Player]) -> Ticket:
    return msgspec.structs.replace(ticket, players=tuple(players))


def _alone(ticket: Ticket, roles: list[str]) -> Ticket:
    """Return a single player who accepts these roles."""
    first = ticket.players[0]
    return _with_players(ticket, [msgspec.structs.replace(first, roles=tuple(roles))])


def _sided(ticket: Ticket, side: str) -> Ticket:
    return msgspec.structs.replace(ticket, attributes={**ticket.attributes, "side": side})


def _sized(ticket: Ticket, size: int) -> Ticket:
    """Return a party of so many players, all like the first, without roles of their own."""
    first = ticket.players[0]
    letters = "abcdefghijklmnopqrstuvwxyz"
    players = [
        msgspec.structs.replace(first, id=f"{first.id[:-1]}{letters[n]}", roles=())
        for n in range(size)
    ]
    return _with_players(ticket, players)


def _awkward(queue: Queue) -> int:
    """Return the largest party size that does not divide a team, or else the largest."""
    seats = max(queue.format.players)
    sizes = [size for size in range(1, min(seats, 26) + 1) if queue.format.admits(size)]
    return max(sizes, key=lambda size: (seats % size > 0, size))


def _apart(ticket: Ticket, number: int, rules: tuple[Rule, ...]) -> Ticket:
    """Return the ticket with nothing in common with any other."""
    values: dict[str, Value] = {}
    for each in rules:
        if each.kind in NUMERIC:
            values[each.attribute] = FAR * number
        elif form_of(each) is Form.PLACES:
            values[each.attribute] = {f"place{number}": 10.0}
        elif form_of(each) is Form.WORD:
            values[each.attribute] = f"word{number}"
        elif form_of(each) is Form.SETS:
            values[each.attribute] = (f"word{number}",)
    return _with_players(ticket, [_valued(player, values) for player in ticket.players])


def _spaced(rules: tuple[Rule, ...]) -> _Change:
    """Return what gives tickets one of two values, just farther apart than the first limits."""

    def spaced(ticket: Ticket, number: int) -> Ticket:
        values: dict[str, Value] = {}
        for each in rules:
            if each.kind in NUMERIC and each.unit == "difference":
                values[each.attribute] = 1000.0 + (number % 2) * (1.125 * (each.limit or 1.0))
        return _with_players(ticket, [_valued(player, values) for player in ticket.players])

    return spaced


def _valued(player: Player, values: dict[str, Value]) -> Player:
    attributes = {**player.attributes, **values}
    rating = attributes.pop("rating", None)
    known = Rating(rating) if isinstance(rating, float) else player.rating
    return msgspec.structs.replace(player, rating=known, attributes=attributes)
