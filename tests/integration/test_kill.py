"""kill -9 under load: what was acknowledged stays, and nobody is matched twice.

Five kills by default, one at each point; `EVENMATCH_KILLS=50` makes it fifty. `EVENMATCH_SEED`
chooses other moments.
"""

import os
from itertools import cycle, islice
from pathlib import Path

from tests.extent import kills, more
from tests.integration.kill_points import POINTS, rounds

KILLS = kills(5, 50)
SEED = int(os.environ.get("EVENMATCH_SEED", "7"))


@more
def test_kill_loses_nothing_and_matches_nobody_twice(tmp_path: Path) -> None:
    points = list(islice(cycle(POINTS), KILLS))
    witness = rounds(tmp_path, points, SEED)
    assert witness.losses == []
    assert witness.reached == points
    assert len(witness.created) > 20 * KILLS
    assert witness.matches
    assert witness.cancelled
    assert "Traceback" not in (tmp_path / "server.log").read_text()


def test_kill_finds_out_a_server_that_answers_before_it_writes(tmp_path: Path) -> None:
    witness = rounds(tmp_path, ["before_commit"], SEED, mutant="acknowledge_first")
    assert witness.reached == ["before_commit"]
    assert witness.losses
