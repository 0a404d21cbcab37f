"""Jobs in a simulation: solved at once, their plans handed in `solve_time` later."""

from itertools import pairwise

import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.errors import PolicyError
from evenmatch.lab.simulate import simulate
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.base import Policy
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import History
from evenmatch.simulation.simulator import Simulator
from evenmatch.testing import queue
from tests.shuffles import Pairing, Shuffles

MAIN = queue()


def arrival(at: float, name: str, leaves_at: float | None = None) -> Arrival:
    return Arrival(at, NewTicket((Player(name),), id=name), leaves_at)


def simulated(
    in_queue: Queue,
    *rows: Arrival,
    solve_time: float = 0.0,
    until: float | None = None,
    policy: Policy | None = None,
) -> History:
    chosen = policy or Shuffles(every=4.0)
    history = History(in_queue.name)
    simulator = Simulator(
        (in_queue,),
        lambda _: chosen,
        history,
        until=until,
        solve_time=solve_time,
        is_checked=True,
    )
    return simulator.run(rows)


def ends(history: History) -> dict[str, tuple[str, float | None]]:
    return {row["ticket"]: (row["state"], row["ended_at"]) for row in history.ticket_rows()}


def test_plan_is_played_at_once_without_solve_time() -> None:
    history = simulated(MAIN, arrival(0.1, "a"), arrival(2.0, "b"))
    assert ends(history) == {"a": ("matched", 4.1), "b": ("matched", 4.1)}
    assert history.end == 4.1


def test_plan_is_played_when_the_solve_time_is_over() -> None:
    history = simulated(MAIN, arrival(0.1, "a"), arrival(2.0, "b"), solve_time=1.5)
    assert ends(history) == {"a": ("matched", 5.6), "b": ("matched", 5.6)}


def test_arrival_during_the_solve_time_waits_for_the_next_round() -> None:
    rows = [arrival(0.0, "a"), arrival(0.0, "b"), arrival(5.0, "c"), arrival(5.0, "d")]
    history = simulated(MAIN, *rows, solve_time=1.5)
    assert [at for _, at in ends(history).values()] == [5.5, 5.5, 9.5, 9.5]


def test_ticket_that_left_during_the_solve_time_is_not_matched() -> None:
    history = simulated(MAIN, arrival(0.0, "a", leaves_at=5.0), arrival(0.0, "b"), solve_time=1.5)
    assert ends(history) == {"a": ("cancelled", 5.0), "b": ("waiting", None)}


def test_plan_due_now_comes_before_the_deadlines_of_now() -> None:
    history = simulated(queue(wait_max=4.0), arrival(0.0, "a"), arrival(0.0, "b"))
    assert ends(history) == {"a": ("matched", 4.0), "b": ("matched", 4.0)}


def test_deadlines_hold_while_a_job_runs() -> None:
    history = simulated(queue(wait_max=5.0), arrival(0.0, "a"), arrival(0.0, "b"), solve_time=1.5)
    assert ends(history) == {"a": ("expired", 5.0), "b": ("expired", 5.0)}


def test_bots_fill_at_the_deadline_while_a_job_runs() -> None:
    in_queue = queue(wait_max=4.5, on_deadline="bots")
    history = simulated(in_queue, arrival(0.0, "a"), arrival(0.0, "b"), solve_time=1.0)
    assert ends(history) == {"a": ("matched", 4.5), "b": ("matched", 4.5)}


def test_run_waits_for_a_plan_but_not_for_ever() -> None:
    history = simulated(MAIN, arrival(0.0, "a"), arrival(1.0, "b"), arrival(2.0, "c"), solve_time=3)
    assert sorted(state for state, _ in ends(history).values()) == [
        "matched",
        "matched",
        "waiting",
    ]
    assert history.end < 20.0


def test_run_that_ends_before_the_plan_comes_leaves_its_tickets_waiting() -> None:
    history = simulated(MAIN, arrival(0.0, "a"), arrival(0.0, "b"), solve_time=2.0, until=5.0)
    assert ends(history) == {"a": ("waiting", None), "b": ("waiting", None)}
    assert history.end == 5.0


def test_solve_time_longer_than_a_round_skips_rounds() -> None:
    rows = [arrival(0.5 * step, f"t{step}") for step in range(60)]
    history = simulated(MAIN, *rows, solve_time=6.0)
    made = sorted({match.at for match in history.matches})
    assert made[0] == 10.0
    assert all(later - sooner == 8.0 for sooner, later in pairwise(made))


def test_job_that_raises_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Pairing, part: int) -> object:
        raise ValueError(f"part {part} is odd")

    monkeypatch.setattr(Pairing, "solve", broken)
    with pytest.raises(PolicyError, match=r"failed in its job: ValueError: part 0 is odd \(test_j"):
        simulated(MAIN, arrival(0.0, "a"), arrival(1.0, "b"))


def test_every_part_counts() -> None:
    gaps = []
    for parts in (1, 16):
        scenario = parse_scenario(
            f"""
            seed = 3
            [[queue]]
            policy = "tests.shuffles.Shuffles:every=10,parts={parts}"
            criteria = [{{ kind = "spread", attribute = "rating", scale = {{ max = 400.0 }} }}]
            [arrivals]
            rate = 2.0
            count = 300
            [attributes]
            rating = {{ distribution = "uniform", max = 400.0 }}
            """
        )
        gaps.append(simulate(scenario).summary["quality"]["mean"])
    assert gaps[1] > gaps[0] + 0.01


def test_scenario_says_how_long_a_job_takes() -> None:
    text = """
    solve_time = 2.0
    [[queue]]
    policy = "tests.shuffles.Shuffles:every=10"
    [arrivals]
    process = "regular"
    interval = 1
    count = 2
    """
    assert simulate(parse_scenario(text)).summary["wait"]["mean"] == 11.5
