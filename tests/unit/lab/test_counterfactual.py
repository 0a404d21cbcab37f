"""The other world of a replay where it begins in the middle."""

from pathlib import Path

import msgspec
import pytest

from evenmatch.lab.replay.counterfactual import with_other_policy
from evenmatch.lab.replay.source import open_source
from evenmatch.model.inputs import Advance, Configure, Enqueue
from evenmatch.model.queue import Criterion, Queue, ReadyCheck, Scale
from evenmatch.testing import new_ticket
from tests.unit.lab.journals import Played, delete_before

DUEL = Queue("duel", policy="greedy", accept=ReadyCheck(4.0))


def test_who_has_no_place_in_the_other_world_is_not_counted_in_it(tmp_path: Path) -> None:
    world = Played().hand_in(Configure(0.0, (DUEL,)))
    world.hand_in(Enqueue(1.0, (new_ticket("ada", 1500.0), new_ticket("bob", 1500.0))))
    # They are in a proposal, and fit no queue any more: only the proposal's settings have a place.
    by_elo = Criterion("spread", "elo", scale=Scale(min=0.0, max=1.0))
    world.hand_in(Configure(2.0, (msgspec.structs.replace(DUEL, criteria=(by_elo,)),), 0, 2))
    taken = world.stop().engine.tables.sequence
    world.hand_in(Enqueue(3.0, (new_ticket("eve", 1500.0, elo=1.0),)))
    data = world.wait(20.0).write(tmp_path)
    delete_before(data, taken + 1)
    with open_source(data, "s0") as source:
        found = with_other_policy(source, "greedy", lambda done, total: None)
    assert found.journal["duel"]["waiting"] == 1
    assert found.other["duel"]["waiting"] == 1


@pytest.mark.parametrize("policy", ["window:attribute=rating,limit=300,every=5", "delay_greedy"])
def test_the_policy_that_was_live_does_the_same_up_to_the_last_instant(
    tmp_path: Path, policy: str
) -> None:
    near = Criterion("spread", "rating", scale=Scale(min=1000.0, max=2000.0))
    queue = Queue("duel", criteria=(near,), policy=policy, wait_max=30.0, on_deadline="expire")
    world = Played().hand_in(Configure(0.0, (queue,)))
    for number in range(4):
        arrived = new_ticket(f"p{number}", 1500.0 + 100.0 * number)
        world.hand_in(Enqueue(1.0 + number, (arrived,)))
    # Players who come at the instant of a round, but after it, have no part in it.
    late = world.engine.next_wakeup
    world.wait(late).hand_in(Enqueue(late, (new_ticket("late", 1510.0),)))
    world.hand_in(Enqueue(late + 0.5, (new_ticket("last", 1510.0),)))
    while world.engine.tables.waiting:
        world.wait(world.engine.next_wakeup)
    assert isinstance(world.records[-1].input, Advance)
    with open_source(world.write(tmp_path), "s0") as source:
        found = with_other_policy(source, policy, lambda done, total: None)
    assert found.journal["duel"]["matches"] == 3
    assert found.other == found.journal
