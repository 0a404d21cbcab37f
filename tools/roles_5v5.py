"""Write `scenarios/roles_5v5.csv`: who comes in `roles_5v5.toml`, with which roles.

    python -m tools.roles_5v5

Parties whose roles do not go together in one team are drawn again, as players would agree.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

from evenmatch.criteria.roles import role_problem
from evenmatch.model.ticket import NewTicket, Player

OUT = Path(__file__).parents[1] / "scenarios" / "roles_5v5.csv"
ROLES = (("tank", 1), ("healer", 1), ("dps", 3))
LISTS = {
    ("dps",): 0.44,
    ("dps", "tank"): 0.08,
    ("dps", "healer"): 0.08,
    ("tank",): 0.05,
    ("tank", "dps"): 0.08,
    ("healer",): 0.06,
    ("healer", "dps"): 0.07,
    ("tank", "healer"): 0.06,
    # A player without a list takes any role.
    (): 0.08,
}
SIZES = {1: 0.72, 2: 0.18, 3: 0.07, 5: 0.03}
LATENCY = {"eu": (30.0, 110.0, 180.0), "us": (110.0, 40.0, 150.0), "asia": (190.0, 160.0, 50.0)}
"""Milliseconds to eu, us and asia, by region."""
REGIONS = {"eu": 0.5, "us": 0.35, "asia": 0.15}
RATE, TICKETS, SEED = 0.35, 900, 1
"""Tickets per second; number of tickets; seed of all randomness."""


def draw(rng: random.Random, shares: dict) -> object:  # type: ignore[type-arg]
    """Return one of the keys by its share."""
    return rng.choices(list(shares), list(shares.values()))[0]


def rows() -> list[list[str]]:
    """Return the header and a row for each ticket."""
    rng = random.Random(SEED)
    found = [["at", "size", "roles", "region", "skill", "latency.eu", "latency.us", "latency.asia"]]
    at = 0.0
    for _ in range(TICKETS):
        at += rng.expovariate(RATE)
        size = int(str(draw(rng, SIZES)))
        while True:
            lists = [draw(rng, LISTS) for _ in range(size)]
            players = [Player(str(n), roles=own) for n, own in enumerate(lists)]  # type: ignore[arg-type]
            if role_problem(NewTicket(tuple(players)), ROLES) is None:
                break
        region = str(draw(rng, REGIONS))
        skill = rng.gauss(1500.0, 300.0)
        skills = "|".join(f"{rng.gauss(skill, 100.0):.0f}" for _ in range(size))
        pings = [f"{base + rng.uniform(0.0, 40.0):.0f}" for base in LATENCY[region]]
        roles = "|".join("+".join(player.roles) for player in players)
        found.append([f"{at:.3f}", str(size), roles, region, skills, *pings])
    return found


if __name__ == "__main__":
    with OUT.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows(rows())
