"""All kinds of criteria and rules by name."""

from __future__ import annotations

from evenmatch.criteria.base import Comparison
from evenmatch.criteria.kinds.fullness import Fullness
from evenmatch.criteria.kinds.host_options import HostOptions
from evenmatch.criteria.kinds.household_limit import HouseholdLimit
from evenmatch.criteria.kinds.latency import Latency
from evenmatch.criteria.kinds.numeric import Numeric
from evenmatch.criteria.kinds.pair_limit import PairLimit
from evenmatch.criteria.kinds.party_parity import PartyParity
from evenmatch.criteria.kinds.rematch import Rematch
from evenmatch.criteria.kinds.role_rank import RoleRank
from evenmatch.criteria.kinds.words import Avoid, Overlap, Same
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
