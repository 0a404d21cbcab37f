"""The engine's waits in duels with sides and in two zones are those of the theory.

Rates are drawn anew for each value of EVENMATCH_SEED, which is printed.
"""

import numpy as np
import pytest

from evenmatch.config import parse_scenario
from evenmatch.lab.reproduce.xu.worlds import sides_toml, zones_toml
from evenmatch.lab.simulate import simulate
from evenmatch.theory.sides import sides
from evenmatch.theory.zones import zones
from tests.unit.theory.matching_chain import seed_of

TICKETS = 15_000
BATCHES = 30


def waits_by(history, keys):
    """Return mean and standard error by key and of all, from batches in order of arrival."""
    waits = np.asarray(history.ended_at) - np.asarray(history.enqueued_at)
    batch = np.arange(len(waits)) * BATCHES // len(waits)
    found = {}
    for key in ["", *sorted(set(keys))]:
        own = np.array([not key or each == key for each in keys])
        # The first batch starts with an empty pool, and of the last some still wait.
        middle = range(1, BATCHES - 1)
        players = np.array([(own & (batch == i)).sum() for i in middle])
        sums = np.array([waits[own & (batch == i)].sum() for i in middle])
        mean = sums.sum() / players.sum()
        scatter = sums - mean * players
        error = np.sqrt((scatter**2).sum() / (len(sums) * (len(sums) - 1))) / players.mean()
        found[key] = (float(mean), float(error))
    return found


def agrees(found, exact):
    print(found, exact)
    for key, mean in exact.items():
        simulated, error = found[key]
        # Three errors of all players; of classes there are nine, so four.
        assert abs(simulated - mean) < (4 if key else 3) * error, key


@pytest.mark.slow
def test_engine_agrees_with_the_formulas_of_sides() -> None:
    rng = seed_of("engine with sides")
    for number in range(3):
        a, b = (round(float(x), 3) for x in rng.uniform(0.1, 0.35, 2))
        rates = {"a": a, "b": b, "flexible": round(1 - a - b, 3)}
        text = sides_toml(**rates, policy="greedy", count=TICKETS, seed=number)
        history = simulate(parse_scenario(text), by=("side",)).history
        keys = [str(each.attributes.get("side", "")) or "any" for each in history.tickets]
        exact = sides(**rates)
        agrees(
            waits_by(history, keys),
            {"": exact.mean, "A": exact.mean_a, "B": exact.mean_b, "any": exact.mean_flexible},
        )


@pytest.mark.slow
def test_engine_agrees_with_the_formulas_of_zones() -> None:
    rng = seed_of("engine with zones")
    for number in range(3):
        shares = [round(float(x), 3) for x in rng.dirichlet([3, 3, 2])]
        rates = dict(zip(("junior", "expert", "flexible"), shares, strict=True))
        text = zones_toml(**rates, policy="greedy", count=TICKETS, seed=number)
        history = simulate(parse_scenario(text)).history
        keys = ["+".join(each) for each in history.queues]
        exact = zones(**rates)
        agrees(
            waits_by(history, keys),
            {
                "": exact.mean,
                "junior": exact.mean_junior,
                "expert": exact.mean_expert,
                "junior+expert": exact.mean_flexible,
            },
        )
