"""All kinds of criteria and rules by name."""

from __future__ import annotations

from evenmatch.cost.comparison import Comparison
from evenmatch.cost.fullness import Fullness
from evenmatch.cost.numeric import Numeric
from evenmatch.cost.rematch import Rematch
from evenmatch.cost.role_rank import RoleRank
from evenmatch.cost.words import Same
from evenmatch.model.queue import Criterion, Queue, Rule

KINDS: dict[str, type[Comparison]] = {
    "spread": Numeric,
    "mean_gap": Numeric,
    "imbalance": Numeric,
    "rematch": Rematch,
    "same": Same,
    "fullness": Fullness,
    "role_rank": RoleRank,
}


def comparison_of(given: Criterion | Rule, queue: Queue) -> Comparison:
    """Return a criterion or a rule of a queue, ready to compare players."""
    return KINDS[given.kind](given, queue)
