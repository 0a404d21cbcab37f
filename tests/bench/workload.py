"""The duels that the benches play: a queue whose rule widens, and tickets for it."""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec

from evenmatch.model.queue import Criterion, Expansion, Queue, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating, Ticket

QUEUE = "duel"


class Load(msgspec.Struct, frozen=True):
    """A queue in equilibrium: its rule and its arrivals set the size of the pool.

    Args:
        name: For people.
        limit: Largest gap accepted at once, rating points.
        rate: Points per second by which it widens.
        arrival_rate: Tickets per second.
    """

    name: str
    limit: float
    rate: float
    arrival_rate: float


SMALL = Load("pool 140", limit=1.0, rate=0.35, arrival_rate=20.0)
LARGE = Load("pool 1,500", limit=0.05, rate=0.02, arrival_rate=100.0)

Arrival = tuple[float, NewTicket]
"""(instant, ticket)."""


def duel(limit: float = 150.0, rate: float = 2.0, wait_max: float | None = None) -> Queue:
    """Return a queue of duels by rating: a criterion, and a rule that widens up to 500 points."""
    return Queue(
        name=QUEUE,
        criteria=(Criterion("spread", "rating", scale=Scale(max=3000.0)),),
        rules=(Rule("spread", "rating", limit, expand=Expansion(rate=rate, max=500.0)),),
        wait_max=wait_max,
        policy="window",
    )


def duel_toml() -> str:
    """Return the configuration of a server with the same queue; it matches nearly at once."""
    return f"""
[[queue]]
name = "{QUEUE}"
teams = 2
players = 1
wait_max = 120.0
policy = "window"
[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {{kind = "linear", min = 0.0, max = 3000.0}}
[[queue.rules]]
kind = "spread"
attribute = "rating"
limit = 150.0
expand = {{rate = 2.0, max = 500.0}}
"""


def rating(rng: random.Random) -> float:
    """Return a rating between 600 and 2,400, most of them in the middle."""
    return 600.0 + 1800.0 * rng.betavariate(3.0, 3.0)


def player_id(rng: random.Random) -> str:
    """Return an id such as accounts have: 32 hexadecimal digits."""
    return f"{rng.getrandbits(128):032x}"


def new_ticket(rng: random.Random) -> NewTicket:
    return NewTicket((Player(player_id(rng), Rating(rating(rng), 80.0)),), (QUEUE,))


def body(player: str, mean: float) -> bytes:
    """Return the JSON with which a game asks for a ticket."""
    return b'{"queues":["%b"],"players":[{"id":"%b","rating":{"mean":%a,"deviation":80.0}}]}' % (
        QUEUE.encode(),
        player.encode(),
        mean,
    )


def arrivals(load: Load, seed: int) -> Iterator[Arrival]:
    """Yield Poisson arrivals without end."""
    rng, now = random.Random(seed), 0.0
    while True:
        now += rng.expovariate(load.arrival_rate)
        yield now, new_ticket(rng)


def accepted(number: int, arrival: Arrival, shard: str = "s0") -> Ticket:
    """Return the ticket that an engine makes of its n-th arrival."""
    now, new = arrival
    return Ticket(f"{shard}-{number}", number, now, new.players, new.queues)
