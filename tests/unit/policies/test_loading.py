"""Kernels are loaded with a queue, which may take a minute the first time, not by a decision."""

import subprocess
import sys

import pytest

PLAY = """
import sys

from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.policies.registry import parse_policy
from evenmatch.solvers.kernel import settle
from evenmatch.testing import ticket

spec, players = sys.argv[1], int(sys.argv[2])
even = Criterion("spread", "rating", scale=Scale("linear", 0.0, 3000.0))
queue = Queue("main", Format((players, players)), (even,), wait_max=60.0)
matcher = parse_policy(spec).matcher(queue, seed=1)
settle()  # as a server does
before = set(sys.modules)
for number in range(1, 9):
    matcher.enter(ticket(f"t{number}", 1500.0 + number, sequence=number), 0.0)
decision = matcher.decide(0.0)
made = len(decision.matches)
for _ in range(20):
    if made or decision.wake_at == float("inf"):
        break
    decision = matcher.decide(decision.wake_at, fired=True)
    made += len(decision.matches)
    if (job := decision.job) is not None:
        plan = job.combine([job.solve(part) for part in range(job.parts)])
        made += len(matcher.settle(plan, 0.0).matches)
assert made, "nothing was decided"
print(*sorted(name for name in set(sys.modules) - before if name.startswith("evenmatch.")))
"""


@pytest.mark.parametrize(
    ("spec", "players"),
    [
        ("rounds:every=10", 2),
        pytest.param("rounds:every=10", 1, marks=pytest.mark.long),
        ("rolling", 2),
        ("threshold", 2),
    ],
)
def test_a_queue_at_work_loads_nothing_more(spec: str, players: int) -> None:
    program = [sys.executable, "-c", PLAY, spec, str(players)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == []
