"""Files of batches: the arrays of a round, judged by the six factors of the Galactron blog."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenmatch.errors import ConfigError
from evenmatch.solvers.batch.batch import PAIR_GAP, SUM_GAP, Batch, empty_batch, empty_facts
from evenmatch.solvers.pairs import LOG

WEIGHTS = {
    "team": 0.24,
    "player": 0.22,
    "premade": 0.12,
    "ping": 0.26,
    "variation": 0.04,
    "host": 0.12,
}
"""The weights of the six factors, as `BATCH.npz` files are judged."""
SKILL_CAP = 18_000.0
TEAM_KNEE, TEAM_WORST, TEAM_STEP = 500.0, 9_000.0, 16.0
PLAYER_KNEE, PLAYER_WORST = 2_000.0, 18_000.0
PING_BEST, PING_WORST = 25.0, 400.0
HOST_QUALITY = (0.0, 0.6, 1.0)

Arrays = Mapping[str, NDArray[Any]]


def read_arrays(path: Path) -> Batch:
    """Return the batch of a `.npz` file: two teams of `team_size`, judged by the six factors."""
    with np.load(path) as data:
        return batch_of({name: data[name] for name in data.files})


def batch_of(data: Arrays) -> Batch:
    """Return a batch of the six factors.

    Args:
        data: `team_size`, `party` (n,), `skill` (n,), `previous_match` (n,), `previous_team` (n,),
            `ping` (n, n) in milliseconds, `connect` (n, n).

    Raises:
        ConfigError: Arrays do not fit together, or numbers are out of range.

    Source:
        Galactron (Awesomenauts), "Scoring the quality of a match".
    """
    n, party = int(data["team_size"]), np.asarray(data["party"])
    starts = np.flatnonzero(np.diff(party, prepend=party[0] - 1))
    first = np.concatenate((starts, [len(party)])).astype(np.int64)
    if len(np.unique(party)) != len(starts):
        raise ConfigError("players of one party must stand next to each other in `party`")
    facts = empty_facts(len(party))._replace(
        values=np.minimum(data["skill"].astype(np.float64), SKILL_CAP)[None, :],
        gaps=np.array([[PAIR_GAP, WEIGHTS["player"], 0.0, LOG, PLAYER_WORST, PLAYER_KNEE, 0.0]]),
        ping=np.ascontiguousarray(data["ping"], dtype=np.float32),
        ping_scale=np.array([PING_BEST, PING_WORST]),
        ping_weights=np.array([WEIGHTS["ping"], 0.0, 0.0, 0.0]),
        met=_meetings(party, data["previous_match"], data["previous_team"]),
        met_weight=WEIGHTS["variation"],
        connect=np.ascontiguousarray(data["connect"], dtype=np.uint8),
    )
    # The blog compares means; sums over equal teams are the means times n, and so is the scale.
    term = [SUM_GAP, WEIGHTS["team"], 0.0, LOG, n * TEAM_WORST, n * TEAM_KNEE, TEAM_STEP]
    return empty_batch(np.array([n, n], dtype=np.int64), first, facts)._replace(
        terms=np.array([term]),
        parity=WEIGHTS["premade"],
        hosts=WEIGHTS["host"] * (1.0 - np.array(HOST_QUALITY)),
    )


def _meetings(
    party: NDArray[Any], previous_match: NDArray[Any], previous_team: NDArray[Any]
) -> NDArray[np.float64]:
    """Return who met whom in the last match, see `Facts.met`."""
    rows = []
    order = np.argsort(previous_match, kind="stable")
    order = order[previous_match[order] >= 0]
    for group in np.split(order, np.flatnonzero(np.diff(previous_match[order])) + 1):
        for place, one in enumerate(group.tolist()):
            for two in group[place + 1 :].tolist():
                if party[one] != party[two]:
                    rows.append((one, two, 1.0, float(previous_team[one] == previous_team[two])))
    return np.array(rows, dtype=np.float64).reshape(-1, 4)
