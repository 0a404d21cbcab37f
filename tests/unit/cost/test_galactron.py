"""The six criteria of Galactron against the independent checker, on instances that it generates."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from evenmatch.config import load_scenario
from evenmatch.cost.comparison import Seats
from evenmatch.cost.objective import Objective
from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.model.ticket import Player, Ticket, Value
from tests.shared import ROOT, shared_file

TEAM_SIZE = 3
"""Of the shipped scenario."""
FACTORS = """
import json, runpy, sys
import numpy as np
checker = runpy.run_path(sys.argv[1])
d = dict(np.load(sys.argv[2]))
found = [[checker["quality"](d, *m), checker["factors"](d, *m)] for m in json.load(sys.stdin)]
print(json.dumps(found))
"""
NAMES = ("team", "player", "premade", "ping", "variation", "host")
MATCHES = 40
Checked = tuple[float, dict[str, float]]


def queue_of(team_size: int) -> Queue:
    """Return the shipped queue, for teams of another size."""
    queue = load_scenario(ROOT / "scenarios/galactron.toml").queues[0]
    first, *others = queue.criteria
    part = team_size / TEAM_SIZE
    scale = msgspec.structs.replace(
        first.scale, knee=first.scale.knee * part, max=first.scale.max * part
    )
    criteria = (msgspec.structs.replace(first, scale=scale), *others)
    return msgspec.structs.replace(queue, format=Format((team_size, team_size)), criteria=criteria)


def parties_of(d: dict[str, np.ndarray]) -> list[Ticket]:
    """Return the parties of an instance; players are called by their indices."""

    def facts(i: int) -> dict[str, Value]:
        found: dict[str, Value] = {
            "skill": float(d["skill"][i]),
            "latency": {str(j): float(ms) for j, ms in enumerate(d["ping"][i]) if j != i},
            "connect": tuple(str(j) for j in np.flatnonzero(d["connect"][i]) if j != i),
        }
        if d["previous_match"][i] >= 0:
            met = np.flatnonzero(d["previous_match"] == d["previous_match"][i])
            sides = d["previous_team"]
            found["recent"] = {str(j): -1.0 if sides[j] == sides[i] else 1.0 for j in met if j != i}
        return found

    parties = []
    for number in np.unique(d["party"]).tolist():
        own = np.flatnonzero(d["party"] == number).tolist()
        players = tuple(Player(str(i), attributes=facts(i)) for i in own)
        parties.append(Ticket(f"t{number}", number + 1, 0.0, players, ("main",)))
    return parties


def draw_match(parties: list[Ticket], n: int, rng: np.random.Generator) -> list[list[Ticket]]:
    """Return two full teams of whole parties in an order drawn at random."""
    while True:
        teams: list[list[Ticket]] = [[], []]
        for at in rng.permutation(len(parties)).tolist():
            for team in teams:
                if sum(each.size for each in team) + parties[at].size <= n:
                    team.append(parties[at])
                    break
        if all(sum(each.size for each in team) == n for team in teams):
            return teams


def checked(checker: Path, instance: Path, matches: Sequence[Seats]) -> list[Checked]:
    """Return what the checker says of each match: its quality, and its factors by name."""
    indices = [
        [[int(p.id) for ticket in team for p in ticket.players] for team in match]
        for match in matches
    ]
    done = subprocess.run(
        [sys.executable, "-c", FACTORS, checker, instance],
        input=json.dumps(indices), capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: list[Checked] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("players", "team_size", "seed"), [(40, 2, 5), (60, 3, 1), (60, 3, 2), (90, 5, 4)]
)
def test_six_criteria_agree_with_the_checker(
    players: int, team_size: int, seed: int, tmp_path: Path
) -> None:
    checker, instance = shared_file("batch/galactron.py"), tmp_path / "instance.npz"
    size = [str(players), str(team_size), str(seed)]
    subprocess.run([sys.executable, checker, "generate", *size, instance], check=True)
    rng = np.random.default_rng(seed)
    parties = parties_of(dict(np.load(instance)))
    objective = Objective(queue_of(team_size))
    drawn = [draw_match(parties, team_size, rng) for _ in range(MATCHES)]
    seated = [objective.seat([ticket for team in match for ticket in team]) for match in drawn]
    chosen = [seating.teams for seating in seated if seating is not None]
    assert len(chosen) == MATCHES

    expected = checked(checker, instance, [*drawn, *chosen])

    for teams, (_, factors) in zip((*drawn, *chosen), expected, strict=True):
        qualities = [1.0 - cost for cost in objective.factors(teams)]
        assert qualities == pytest.approx([factors[name] for name in NAMES], abs=1e-6)
    for match, seating in zip(expected[MATCHES:], seated, strict=True):
        assert seating is not None
        assert seating.quality == pytest.approx(match[0], abs=1e-6)
    # The split that the objective chooses is at least as good as the drawn one, by the checker.
    for before, after in zip(expected[:MATCHES], expected[MATCHES:], strict=True):
        assert after[0] >= before[0] - 1e-9


def test_scale_of_the_sums_is_that_of_the_means_times_the_players() -> None:
    # 1 - closeness(gap / n, 500, 9000), in the source's own words.
    scale = queue_of(5).criteria[0].scale
    assert scale == Scale("log", knee=2500.0, max=45000.0, cap=18000.0)


def test_shipped_queue_holds_the_six_weights_of_the_source() -> None:
    criteria: tuple[Criterion, ...] = queue_of(3).criteria
    assert [each.weight for each in criteria] == [0.24, 0.22, 0.12, 0.26, 0.04, 0.12]
