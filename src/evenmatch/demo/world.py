"""What the demo plays: who comes when, and the queue they meet in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import islice, takewhile

import msgspec
import numpy as np

from evenmatch.config.files import parse_server
from evenmatch.criteria.objective import Objective
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Answers, Arrivals, Scenario
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.model.world import PARTY_MIX, RoleMix, World
from evenmatch.simulation.arrivals.arrivals import arrivals_of
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.wire.tickets import CreateTicket

HOUR = 3600.0

SERVER = """
[server]
clock_speed = %r
"""
# The ready-check stands in the table of the queue, before its first criterion.
CHECK = """
[queue.accept]
seconds = %r
repair = %r

[[queue.criteria]]"""
ANSWER_SECONDS = 0.5
"""Real seconds for an answer over HTTP, on a busy machine; the world's clock runs faster."""
ACCEPT_MIN, REPAIR_MIN = 15.0, 10.0
"""World seconds for an answer and for a repair, however slow the clock is."""
# TrueSkill points: half of the players lie within 4 points of the mean, and a gap of 4 wins 72 %.
DUEL = """
[[queue]]
name = "slayer"
teams = 2
players = 1
policy = "window:limit=2,rate=0.02,limit_max=25"

[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {kind = "linear", min = 0.0, max = 50.0}
"""
# As in scenarios/world_3v3.toml, but without a deadline, and with a dearer wait: a demonstration is
# over before those have played who would rather wait for a better match.
THREES = """
[[queue]]
name = "threes"
teams = 2
players = 3
wait_price = 0.003
attributes = ["region"]

[[queue.criteria]]
kind = "imbalance"
attribute = "rating"
measure = "sum"
step = 16.0
weight = 0.24
scale = {kind = "log", knee = 1500.0, max = 27000.0, cap = 18000.0}

[[queue.criteria]]
kind = "mean_gap"
attribute = "rating"
weight = 0.22
scale = {kind = "log", knee = 2000.0, max = 18000.0, cap = 18000.0}

[[queue.criteria]]
kind = "party_parity"
weight = 0.12

[[queue.criteria]]
kind = "latency"
attribute = "latency"
pairs = "enemies"
best = 25.0
worst = 400.0
weight = 0.26

[[queue.criteria]]
kind = "rematch"
matches = 1
weight = 0.04

[[queue.criteria]]
kind = "host_options"
attribute = "connect"
weight = 0.12
"""
# As in scenarios/hero_5v5.toml, but without a deadline: whoever ends was matched, or failed a
# ready-check.
FIVES = """
[[queue]]
name = "hero"
teams = 2
players = 5
roles = {tank = 1, damage = 2, support = 2}
target_wait = "30s"
attributes = ["region"]

[[queue.criteria]]
kind = "imbalance"
attribute = "rating"
weight = 0.35
scale = {kind = "log", knee = 500.0, max = 9000.0, cap = 18000.0}

[[queue.criteria]]
kind = "mean_gap"
attribute = "rating"
weight = 0.25
scale = {kind = "log", knee = 2000.0, max = 18000.0, cap = 18000.0}

[[queue.criteria]]
kind = "latency"
attribute = "latency"
pairs = "region"
best = 25.0
worst = 250.0
weight = 0.2

[[queue.criteria]]
kind = "role_rank"
weight = 0.1

[[queue.criteria]]
kind = "party_parity"
weight = 0.1

[[queue.rules]]
kind = "latency"
attribute = "latency"
pairs = "region"
limit = 150.0
expand = {rate = 2.0, max = 300.0}
"""
HALO = Arrivals(
    process="file",
    file="evenmatch:halo2_1v1_queue_trace.csv.gz",
    columns={
        "at": "arrival_est_unix",
        "player": "player",
        "rating": "ts_mu",
        "rating_deviation": "ts_sigma",
    },
)
EVENING = Arrivals(
    process="world",
    world=World(200.0 / 60.0, hour=19.0, follows="neither", party_shares=PARTY_MIX[3]),
)
"""200 players a minute, at 20:00 Central European Time for as long as it lasts."""
HERO_ROLES = RoleMix(
    lists=(
        ("damage",), ("support",), ("tank",), ("damage", "support"), ("support", "damage"),
        ("damage", "tank"), ("tank", "damage"), ("support", "tank"), (),
    ),
    shares=(0.26, 0.16, 0.09, 0.13, 0.10, 0.08, 0.06, 0.04, 0.08),
    seats=(("tank", 1), ("damage", 2), ("support", 2)),
)  # fmt: skip
HEROES = Arrivals(
    process="world",
    world=World(3.3333, hour=19.0, follows="shares", party_shares=PARTY_MIX[5], roles=HERO_ROLES),
)
"""200 players a minute from 20:00 Central European Time on."""
GUESTS_MAX = 200_000
SECONDS = 60.0
"""Length of a run in a world without end that nobody set a length for."""
FEED_SHARE = 0.75
"""Part of a run of given length in which players come; then the queue settles."""
PACE_MAX = 21_600.0
"""World seconds in a real one; a day, for which the server keeps matches, then lasts 4 seconds."""
HOURS = 5.0
"""The busiest hours of a recording, unless others are asked for."""


class Guest(msgspec.Struct, frozen=True, gc=False):
    """A party that comes at an instant of the world, seconds."""

    at: float
    players: tuple[Player, ...]


class ArrivalPlan(msgspec.Struct, frozen=True):
    """What a run plays.

    Args:
        guests: Who comes, in order.
        speed: World seconds per real second.
        seconds: For how long guests come, real seconds.
    """

    guests: list[Guest]
    speed: float
    seconds: float


class Setting(msgspec.Struct, frozen=True):
    """A world to show.

    Args:
        title: What it is called on the screen.
        queue: The name of its one queue.
        config: The queue, TOML, without its ready-check.
        arrivals: Who comes when.
        answers: How players answer ready-checks.
        speed: World seconds per real second, if neither a speed nor a length is asked for.
        is_recorded: Whether the arrivals end: then hours of them can be asked for.
    """

    title: str
    queue: str
    config: str
    arrivals: Arrivals
    answers: Answers
    speed: float
    is_recorded: bool = False

    def plan(self, seconds: float | None, speed: float | None, hours: float | None) -> ArrivalPlan:
        """Return who comes, and how fast.

        Args:
            seconds: Length of the whole run, real seconds, if asked for.
            speed: World seconds per real second, if asked for.
            hours: Length of the busiest part of a recording; `inf` means all of it, None 5.

        Raises:
            ConfigError: More would come than a demo can check, or so fast that the server forgets
                matches before the demo has read of them; or hours of what does not end.
        """
        coming = self._coming()
        if not self.is_recorded:
            if hours is not None:
                raise ConfigError("--hours goes with --world duel; the others have no end")
            pace = speed or self.speed
            feed = (seconds or SECONDS) * FEED_SHARE
            _check_pace(pace, "--speed less")
            return ArrivalPlan(_guests(coming, feed * pace), pace, feed)
        every = _guests(coming, math.inf)
        chosen, span = busiest(every, (hours or HOURS) * HOUR)
        feed = math.inf if seconds is None else seconds * FEED_SHARE
        pace = speed or (self.speed if seconds is None else span / feed)
        _check_pace(pace, "--speed less" if speed else "--seconds more, or --hours less")
        feed = min(feed, span / pace)
        return ArrivalPlan([guest for guest in chosen if guest.at <= feed * pace], pace, feed)

    def _coming(self) -> Iterator[Arrival]:
        """Yield the arrivals; players bring what the queue asks for, as a game's client does."""
        (queue,) = parse_server(self.config)[0]
        asked = Objective(queue).declared
        for arrival in arrivals_of(self.arrivals, np.random.SeedSequence(0)):
            players = tuple([_with(asked, player) for player in arrival.ticket.players])
            yield Arrival(arrival.at, NewTicket(players))

    def server_config(self, speed: float) -> str:
        """Return the configuration of a server whose clock runs at a speed."""
        seconds = ANSWER_SECONDS * speed
        check = CHECK % (max(ACCEPT_MIN, seconds), max(REPAIR_MIN, seconds))
        return SERVER % speed + self.config.replace("[[queue.criteria]]", check, 1)

    def scenario(self, speed: float) -> Scenario:
        """Return the scenario whose simulation meets the same players with the same queue."""
        queues: tuple[Queue, ...] = parse_server(self.server_config(speed))[0]
        return Scenario(queues=queues, seed=1, answers=self.answers)


def _check_pace(pace: float, advice: str) -> None:
    """Refuse a clock by which the server forgets matches before the demo has read of them."""
    if pace > PACE_MAX:
        raise ConfigError(
            f"the clock would run {pace:,.0f} times as fast as yours, and the server, which keeps "
            f"matches for a day, would forget them before the demo reads them; the most is "
            f"{PACE_MAX:,.0f}: make {advice}"
        )


def _with(asked: AbstractSet[str], player: Player) -> Player:
    """Return a player who brings no attributes but those."""
    own = {name: value for name, value in player.attributes.items() if name in asked}
    return msgspec.structs.replace(player, attributes=own)


def busiest(guests: list[Guest], span: float) -> tuple[list[Guest], float]:
    """Return the guests of the busiest part of a recording, timed from its start, and its length.

    Args:
        guests: All, in order.
        span: Seconds; with more than the recording has, all of it is returned.
    """
    whole = guests[-1].at - guests[0].at
    if span >= whole:
        return guests, whole
    first = last = begin = end = 0
    for last, guest in enumerate(guests):
        while guest.at - guests[first].at >= span:
            first += 1
        if last + 1 - first > end - begin:
            begin, end = first, last + 1
    since = guests[begin].at
    return [Guest(each.at - since, each.players) for each in guests[begin:end]], span


def arrivals_at(guests: Iterable[Guest]) -> list[Arrival]:
    """Return guests as a simulation takes them."""
    return [
        Arrival(guest.at, NewTicket(guest.players, id=f"{place}"))
        for place, guest in enumerate(guests)
    ]


def _guests(coming: Iterable[Arrival], end: float) -> list[Guest]:
    some = takewhile(lambda each: each.at <= end, coming)
    found = [Guest(each.at, each.ticket.players) for each in islice(some, GUESTS_MAX + 1)]
    if len(found) > GUESTS_MAX:
        raise ConfigError(
            f"more than {GUESTS_MAX:,} parties would come, which are more than the demo can "
            f"check; make --seconds or --speed less"
        )
    return found


SETTINGS = {
    "duel": Setting(
        "Halo 2 beta, August 2004", "slayer", DUEL, HALO, Answers(decline=0.08, silent=0.02),
        speed=100.0, is_recorded=True,
    ),
    "3v3": Setting(
        "three against three, 20:00 CET", "threes", THREES, EVENING,
        Answers(decline=0.03, silent=0.01), speed=30.0,
    ),
    "5v5": Setting(
        "five against five, 20:00 CET", "hero", FIVES, HEROES,
        Answers(decline=0.02, silent=0.01, seconds=3.0), speed=10.0,
    ),
}  # fmt: skip


def ticket_of(guest: Guest, queue: str) -> CreateTicket:
    """Return the ticket of a party."""
    return CreateTicket(guest.players, (queue,))
