"""Crowds that make a policy work hard: many at once, and many of whom hardly anybody can play.

Each is a script as in `scripts.py`, for one queue and one seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import msgspec

from evenmatch.model.queue import NUMERIC, Queue, Rule
from evenmatch.model.rating import Rating
from evenmatch.model.ticket import Player, Ticket, Value
from evenmatch.testing.scripts import Script, Step, draw_ticket

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
    if form.insisted:
        yield "all on one side", _script(drawn(CROWD, lambda t, _: _sided(t, form.insisted[0])))
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
    for rule in rules:
        if rule.kind in NUMERIC:
            values[rule.attribute] = FAR * number
        elif rule.kind == "latency":
            values[rule.attribute] = {f"place{number}": 10.0}
        elif rule.kind == "same":
            values[rule.attribute] = f"word{number}"
        elif rule.kind == "overlap":
            values[rule.attribute] = (f"word{number}",)
    return _with_players(ticket, [_valued(player, values) for player in ticket.players])


def _spaced(rules: tuple[Rule, ...]) -> _Change:
    """Return what gives tickets one of two values, just farther apart than the first limits."""

    def spaced(ticket: Ticket, number: int) -> Ticket:
        values: dict[str, Value] = {}
        for rule in rules:
            if rule.kind in NUMERIC and rule.unit == "difference":
                values[rule.attribute] = 1000.0 + (number % 2) * (1.125 * (rule.limit or 1.0))
        return _with_players(ticket, [_valued(player, values) for player in ticket.players])

    return spaced


def _valued(player: Player, values: dict[str, Value]) -> Player:
    attributes = {**player.attributes, **values}
    rating = attributes.pop("rating", None)
    known = Rating(rating) if isinstance(rating, float) else player.rating
    return msgspec.structs.replace(player, rating=known, attributes=attributes)
