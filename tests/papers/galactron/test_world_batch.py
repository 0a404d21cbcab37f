"""Batches of players of the world, as solvers get them."""

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.world import World
from evenmatch.simulation.world.model import shipped_model
from papers.galactron.world_batch import world_arrays, world_batch


@pytest.mark.parametrize(("players", "team_size"), [(1, 5), (99, 3), (1000, 5), (10_000, 5)])
def test_there_are_as_many_players_as_asked_for(players: int, team_size: int) -> None:
    data = world_arrays(players, team_size, 1)
    assert data["latency"].shape == (players, len(shipped_model().names))
    for name in ("party", "skill", "region", "network", "previous_match", "previous_team"):
        assert data[name].shape == (players,), name
    sizes = np.bincount(data["party"])
    assert sizes.min() >= 1
    assert sizes.max() <= team_size
    assert (np.diff(data["party"]) >= 0).all()
    assert set(data["network"].tolist()) <= {0, 1, 2}
    assert np.isfinite(data["latency"]).all()
    assert (data["latency"] > 0.0).all()


def test_equal_seeds_give_equal_players_and_others_do_not() -> None:
    one, same, other = (world_arrays(300, 3, seed) for seed in (1, 1, 2))
    for name, column in one.items():
        assert (column == same[name]).all(), name
    assert (one["skill"] != other["skill"]).any()


def test_most_players_come_from_a_full_match_of_two_teams() -> None:
    data = world_arrays(1000, 5, 1)
    came = data["previous_match"] >= 0
    assert 0.6 < came.mean() < 0.8
    assert (data["previous_team"][~came] == -1).all()
    matches = np.stack([data["previous_match"][came], data["previous_team"][came]])
    _, counts = np.unique(matches, axis=1, return_counts=True)
    assert set(counts.tolist()) == {5}


def test_batch_judges_pings_by_latencies_to_common_regions() -> None:
    batch = world_batch(60, 3, 1)
    assert batch.players == 60
    assert batch.matches_most == 10
    assert batch.facts.latency.shape == (60, len(shipped_model().names))
    assert batch.facts.network.shape == (60,)
    assert batch.facts.ping.shape == batch.facts.connect.shape == (0, 0)


def test_world_of_pairs_makes_up_no_odd_number() -> None:
    world = World(1.0, party_shares=(0.0, 1.0))
    assert len(world_arrays(10, 3, 1, world)["party"]) == 10
    with pytest.raises(ConfigError, match="do not make up 11 players"):
        world_arrays(11, 3, 1, world)


@pytest.mark.parametrize("players", [0, 2_000_000])
def test_numbers_out_of_range_are_refused(players: int) -> None:
    with pytest.raises(ConfigError, match="players must be between 1"):
        world_arrays(players, 3, 1)
