"""The six criteria of Galactron against a second judge, on batches that it draws."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from evenmatch.config.files import load_scenario
from evenmatch.criteria.base import Seats
from evenmatch.criteria.objective import Objective
from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.model.ticket import Player, Ticket, Value
from tests import galactron
from tests.shared import ROOT

TEAM_SIZE = 3
"""Of the shipped scenario."""
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


def checked(batch: galactron.Batch, matches: Sequence[Seats]) -> list[Checked]:
    """Return what the checker says of each match: its quality, and its factors by name."""
    found = []
    for match in matches:
        red, blue = (
            [int(player.id) for ticket in team for player in ticket.players] for team in match
        )
        found.append((galactron.quality(batch, red, blue), galactron.factors(batch, red, blue)))
    return found


@pytest.mark.parametrize(
    ("players", "team_size", "seed"), [(40, 2, 5), (60, 3, 1), (60, 3, 2), (90, 5, 4)]
)
def test_six_criteria_agree_with_the_checker(players: int, team_size: int, seed: int) -> None:
    batch = galactron.drawn(players, team_size, seed)
    rng = np.random.default_rng(seed)
    parties = parties_of(batch)
    objective = Objective(queue_of(team_size))
    drawn = [draw_match(parties, team_size, rng) for _ in range(MATCHES)]
    seated = [objective.seat([ticket for team in match for ticket in team]) for match in drawn]
    chosen = [seating.teams for seating in seated if seating is not None]
    assert len(chosen) == MATCHES

    expected = checked(batch, [*drawn, *chosen])

    for teams, (_, factors) in zip((*drawn, *chosen), expected, strict=True):
        qualities = [1.0 - cost for cost in objective.factors(teams)]
        assert qualities == pytest.approx([factors[name] for name in galactron.NAMES], abs=1e-6)
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
