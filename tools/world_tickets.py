"""Players of the world who wait at one moment, as a batch of tickets: what `solve` reads.

    python -m tools.world_tickets

writes `scenarios/evening.json` anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evenmatch.criteria.host_reach import WORDS
from evenmatch.lab.solve.arrays import (
    PING_BEST,
    PING_WORST,
    PLAYER_KNEE,
    PLAYER_WORST,
    SKILL_CAP,
    TEAM_KNEE,
    TEAM_STEP,
    TEAM_WORST,
    WEIGHTS,
)
from evenmatch.model.world import World
from evenmatch.simulation.world.parties import Geography
from papers.galactron.world_batch import world_arrays

OUT = Path(__file__).parents[1] / "scenarios" / "evening.json"
EVENING = (42, 3, 7)
"""Players, team size and seed of the file."""


def six_criteria(team_size: int) -> list[dict[str, Any]]:
    """Return the six factors of the Galactron blog as the criteria of two teams.

    Args:
        team_size: Players per team; the blog divides the difference of the sums by it, which is
            equivalent to scales that are multiplied by it.
    """
    teams = {"kind": "log", "knee": team_size * TEAM_KNEE, "max": team_size * TEAM_WORST}
    players = {"kind": "log", "knee": PLAYER_KNEE, "max": PLAYER_WORST}
    cap = {"cap": SKILL_CAP}
    by_skill = {"attribute": "skill"}
    return [
        {"kind": "imbalance", **by_skill, "measure": "sum", "step": TEAM_STEP,
         "scale": {**teams, **cap}, "weight": WEIGHTS["team"]},
        {"kind": "mean_gap", **by_skill, "scale": {**players, **cap}, "weight": WEIGHTS["player"]},
        {"kind": "party_parity", "weight": WEIGHTS["premade"]},
        {"kind": "latency", "pairs": "enemies", "best": PING_BEST, "worst": PING_WORST,
         "weight": WEIGHTS["ping"]},
        {"kind": "rematch", "matches": 1, "weight": WEIGHTS["variation"]},
        {"kind": "host_options", "weight": WEIGHTS["host"]},
    ]  # fmt: skip


def world_tickets(players: int, team_size: int, seed: int) -> dict[str, Any]:
    """Return a batch of tickets at 20:00 Central European Time.

    Args:
        players: Number of players.
        team_size: Players per team.
        seed: Of all randomness.

    Returns:
        `format`, `criteria` and `tickets`; players have `skill`, `latency` in whole milliseconds
        by region, `connect`, and `recent`: the players of their last match, 1 for an opponent, -1
        for a mate.
    """
    data = world_arrays(players, team_size, seed)
    regions = Geography(World(1.0)).names
    ids = [f"p{at + 1}" for at in range(players)]
    people = []
    for at, name in enumerate(ids):
        latency = zip(regions, data["latency"][at].tolist(), strict=True)
        facts: dict[str, Any] = {
            "skill": int(data["skill"][at]),
            "latency": {region: round(ms) for region, ms in latency},
            "connect": WORDS[int(data["network"][at])],
            "recent": _met(data, at, ids),
        }
        people.append({"id": name, "attributes": facts})
    first = np.flatnonzero(np.diff(data["party"], prepend=-1)).tolist()
    parties = [people[low:high] for low, high in zip(first, [*first[1:], players], strict=True)]
    tickets = [{"id": f"t{at}", "players": party} for at, party in enumerate(parties, 1)]
    form = {"teams": 2, "players": team_size}
    return {"format": form, "criteria": six_criteria(team_size), "tickets": tickets}


def _met(data: dict[str, Any], at: int, ids: list[str]) -> dict[str, int]:
    """Return whom a player met in the last match, by id."""
    match, team = data["previous_match"], data["previous_team"]
    if match[at] < 0:
        return {}
    met = [other for other in np.flatnonzero(match == match[at]).tolist() if other != at]
    return {ids[other]: -1 if team[other] == team[at] else 1 for other in met}


def text_of(batch: Mapping[str, Any]) -> str:
    """Return a batch as the text of a file: a line for each criterion and for each ticket."""
    parts = []
    for key, value in batch.items():
        if isinstance(value, list):
            lines = ",\n".join(f"    {json.dumps(each)}" for each in value)
            parts.append(f'  "{key}": [\n{lines}\n  ]')
        else:
            parts.append(f'  "{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    OUT.write_text(text_of(world_tickets(*EVENING)), encoding="utf-8")
