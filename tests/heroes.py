"""Players of a hero shooter: five against five with roles, parties and pings to regions."""

import random
from collections.abc import Callable, Iterator

from evenmatch.criteria.roles import role_problem
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player, Rating, Ticket, Value

ROLES = (("tank", 1), ("damage", 2), ("support", 2))
REGIONS = ("america", "asia", "europe", "oceania")
SIZES = (1, 1, 1, 1, 1, 1, 2, 2, 3, 5)
WISHES = (
    ("damage",),
    ("damage",),
    ("damage", "support"),
    ("support",),
    ("support", "tank"),
    ("tank",),
    (),
)
QUEUE = Queue(
    "hero",
    Format((5, 5), roles=ROLES),
    (Criterion("latency", "latency", pairs="region"), Criterion("imbalance", "rating")),
    (Rule("latency", "latency", 90.0, expand=Expansion(rate=1.0, max=200.0), pairs="region"),),
    wait_max=300.0,
)

Change = Callable[[Ticket], Ticket]


def heroes(count: int, *, seed: int = 1, pause: float = 0.5) -> Iterator[Ticket]:
    """Yield tickets, one every `pause` seconds, of players from four regions."""
    rng = random.Random(seed)
    for number in range(count):
        home = rng.randrange(len(REGIONS))
        players = tuple(_player(rng, home, f"p{number}.{n}") for n in range(rng.choice(SIZES)))
        if role_problem(NewTicket(players), ROLES):
            players = players[:1]
        yield Ticket(f"t{number}", number + 1, number * pause, players, (QUEUE.name,))


def _player(rng: random.Random, home: int, name: str) -> Player:
    pings: dict[str, float] = {}
    for place, region in enumerate(REGIONS):
        apart = min((place - home) % 4, (home - place) % 4)
        pings[region] = round(20.0 + 75.0 * apart + rng.expovariate(1 / 20.0), 1)
    known: dict[str, Value] = {"latency": pings}
    rating = round(rng.gauss(1500.0, 300.0))
    return Player(name, Rating(float(rating)), known, roles=rng.choice(WISHES))
