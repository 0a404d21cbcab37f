"""All kinds of criteria and rules by name."""

from __future__ import annotations

from evenmatch.cost.comparison import Comparison
from evenmatch.cost.fullness import Fullness
from evenmatch.cost.hosts import HostOptions
from evenmatch.cost.household_limit import HouseholdLimit
from evenmatch.cost.latency import Latency
from evenmatch.cost.numeric import Numeric
from evenmatch.cost.pair_limit import PairLimit
from evenmatch.cost.parity import PartyParity
from evenmatch.cost.rematch import Rematch
from evenmatch.cost.role_rank import RoleRank
from evenmatch.cost.words import Avoid, Overlap, Same
from evenmatch.model.queue import Criterion, Queue, Rule

KINDS: dict[str, type[Comparison]] = {
    "spread": Numeric,
    "mean_gap": Numeric,
    "imbalance": Numeric,
    "rematch": Rematch,
    "latency": Latency,
    "party_parity": PartyParity,
    "host_options": HostOptions,
    "same": Same,
    "fullness": Fullness,
    "role_rank": RoleRank,
    "overlap": Overlap,
    "avoid": Avoid,
    "pair_limit": PairLimit,
    "household_limit": HouseholdLimit,
}


def comparison_of(given: Criterion | Rule, queue: Queue) -> Comparison:
    """Return a criterion or a rule of a queue, ready to compare players."""
    return KINDS[given.kind](given, queue)
