"""Kernels are loaded with a queue, which may take a minute the first time, not by a decision."""

import subprocess
import sys
from pathlib import Path

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


TINY = """
[[queue]]
name = "duel"
policy = "{policy}"
wait_max = 60
criteria = [{{kind = "spread", attribute = "rating", scale = {{min = 0, max = 3000}}}}]

[arrivals]
process = "poisson"
rate = 1
count = {count}

[attributes.rating]
distribution = "normal"
mean = 1500
deviation = 300
"""


@pytest.mark.parametrize("policy", ["price", "gap_value", "greedy"])
@pytest.mark.parametrize("command", ["check", "simulate"])
def test_a_few_duels_need_no_compiler(tmp_path: Path, policy: str, command: str) -> None:
    scenario = tmp_path / "tiny.toml"
    scenario.write_text(TINY.format(policy=policy, count=50))
    program = (
        "import sys\nfrom evenmatch.cli.main import main\n"
        f"assert main(['{command}', {str(scenario)!r}]) == 0\nassert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_a_few_duels_come_out_as_they_do_compiled(tmp_path: Path) -> None:
    scenario = tmp_path / "some.toml"
    scenario.write_text(TINY.format(policy="price", count=300))
    program = (
        "import sys, json, evenmatch\n{load}\n"
        f"print(json.dumps(evenmatch.simulate({str(scenario)!r}).matches))"
    )
    plain, compiled = (
        subprocess.run(
            [sys.executable, "-c", program.format(load=load)], check=True, capture_output=True
        ).stdout
        for load in ("", "import numba")
    )
    assert plain == compiled != b""
