"""Batches that tests of `solve` share, as JSON files hold them."""

from typing import Any

import numpy as np

from tools.world_tickets import six_criteria

SKILL = {"kind": "imbalance", "attribute": "skill", "scale": {"min": 0.0, "max": 3000.0}}
SPREAD = {"kind": "spread", "attribute": "skill", "scale": {"min": 0.0, "max": 3000.0}}


def player(name: str, skill: float, **more: Any) -> dict[str, Any]:
    """Return a player with a skill and other keys."""
    return {"id": name, "attributes": {"skill": skill}, **more}


def singles(skills: list[float]) -> list[dict[str, Any]]:
    """Return a ticket for each skill."""
    return [{"id": f"t{at}", "players": [player(f"p{at}", s)]} for at, s in enumerate(skills)]


def batch_of(
    tickets: list[dict[str, Any]], *criteria: dict[str, Any], players: int = 2, **more: Any
) -> dict[str, Any]:
    """Return a batch of two teams."""
    form = {"teams": 2, "players": players}
    return {"format": form, "criteria": list(criteria) or [SKILL], "tickets": tickets, **more}


def arrays(players: int, team_size: int, seed: int) -> dict[str, Any]:
    """Return a small instance with all that a `.npz` holds."""
    rng = np.random.default_rng(seed)
    sizes = []
    while sum(sizes) < players:
        sizes.append(min(int(rng.integers(1, team_size + 1)), players - sum(sizes)))
    where = rng.uniform(0.0, 150.0, players)
    ping = (20.0 + np.abs(where[:, None] - where)).astype(np.float32)
    connect = rng.random((players, players)) < 0.9
    met = rng.permutation(players) // (2 * team_size)
    return {
        "team_size": np.int32(team_size),
        "party": np.repeat(np.arange(len(sizes)), sizes).astype(np.int32),
        "skill": rng.integers(0, 20_000, players).astype(np.uint16),
        "previous_match": np.where(rng.random(players) < 0.8, met, -1).astype(np.int32),
        "previous_team": rng.integers(0, 2, players).astype(np.int8),
        "ping": ping,
        "connect": connect,
    }


def exported(data: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays of a `.npz` as a batch of tickets, judged by the same six factors."""
    match, team = data["previous_match"].tolist(), data["previous_team"].tolist()
    tickets = []
    for party in np.unique(data["party"]).tolist():
        members = np.flatnonzero(data["party"] == party).tolist()
        people = []
        for one in members:
            met = {
                f"p{two}": (-1 if team[one] == team[two] else 1)
                for two in range(len(match))
                if two != one and match[one] >= 0 and match[two] == match[one]
            }
            facts = {"skill": int(data["skill"][one]), "recent": met}
            people.append({"id": f"p{one}", "attributes": facts})
        tickets.append({"id": f"t{party}", "players": people})
    n = int(data["team_size"])
    return {
        "format": {"teams": 2, "players": n},
        "criteria": six_criteria(n),
        "tickets": tickets,
        "pairs": {"ping": data["ping"].tolist(), "connect": data["connect"].tolist()},
    }
