"""What the demo plays: who comes when, and the queue they meet in."""

from __future__ import annotations

import math
from itertools import islice, takewhile

import msgspec
import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.model.scenario import Arrivals
from evenmatch.model.ticket import Player
from evenmatch.model.world import PARTY_MIX, World
from evenmatch.sim.arrivals import arrivals_of
from evenmatch.wire import CreateTicket

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
ANSWER_SECONDS = 3.0
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
GUESTS_MAX = 200_000


class Guest(msgspec.Struct, frozen=True, gc=False):
    """A party that comes at an instant of the world, seconds."""

    at: float
    players: tuple[Player, ...]


class Setting(msgspec.Struct, frozen=True):
    """A world to show.

    Args:
        title: What it is called on the screen.
        queue: The name of its one queue.
        config: The queue, TOML.
        arrivals: Who comes when.
        speed: World seconds per real second, if none is asked for; None = so many that all come.
    """

    title: str
    queue: str
    config: str
    arrivals: Arrivals
    speed: float | None = None

    def guests(self, seconds: float, speed: float | None) -> tuple[list[Guest], float]:
        """Return who comes, in order, and the world seconds per real second.

        Args:
            seconds: For how long guests may come, real seconds.
            speed: What was asked for, if anything.

        Raises:
            ConfigError: More would come than a demo can check.
        """
        pace = speed if speed is not None else self.speed
        comers = arrivals_of(self.arrivals, np.random.SeedSequence(0))
        # Half a world second more, so that rounding leaves nobody out.
        end = math.inf if pace is None else seconds * pace + 0.5
        coming = takewhile(lambda each: each.at <= end, comers)
        found = [Guest(each.at, each.ticket.players) for each in islice(coming, GUESTS_MAX + 1)]
        if len(found) > GUESTS_MAX:
            raise ConfigError(
                f"more than {GUESTS_MAX:,} parties would come, which are more than the demo can "
                f"check; make --seconds or --speed less"
            )
        return found, found[-1].at / seconds if pace is None else pace

    def server_config(self, speed: float) -> str:
        """Return the configuration of a server whose clock runs at a speed."""
        seconds = ANSWER_SECONDS * speed
        check = CHECK % (max(ACCEPT_MIN, seconds), max(REPAIR_MIN, seconds))
        return SERVER % speed + self.config.replace("[[queue.criteria]]", check, 1)


SETTINGS = {
    "duel": Setting("Halo 2 beta, 6 to 9 August 2004", "slayer", DUEL, HALO),
    "3v3": Setting("three against three, 20:00 CET", "threes", THREES, EVENING, speed=60.0),
}


def ticket_of(guest: Guest, queue: str) -> CreateTicket:
    """Return the ticket of a party."""
    return CreateTicket(guest.players, (queue,))
