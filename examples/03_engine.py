"""The engine by hand: inputs in, events out, and time is whatever you say it is.

The server and the simulator drive this same engine; it has no clock and does no input or output.
"""

import evenmatch
from evenmatch.config.files import parse_scenario
from evenmatch.model.events import Matched
from evenmatch.model.inputs import Advance, Cancel, Configure, Enqueue
from evenmatch.model.ticket import NewTicket
from evenmatch.policies.registry import parse_policy

queues = parse_scenario(
    """
    [[queue]]
    name = "duel"
    wait_max = 120
    policy = "window"

    [[queue.rules]]
    kind = "spread"
    attribute = "rating"
    limit = 150
    expand = {rate = 2.0, max = 500.0}
    """
).queues


def ask(name, rating):
    player = evenmatch.Player(name, evenmatch.Rating(mean=rating, deviation=80.0))
    return NewTicket((player,))


engine = evenmatch.Engine(lambda queue: parse_policy(queue.policy))


def step(given):
    record = engine.step(given)
    print(f"{given.now:6.1f} s  {type(given).__name__}")
    for event in record.events:
        print(f"          {type(event).__name__:10} {describe(event)}".rstrip())
    print(f"          next wake-up at {engine.next_wakeup:g} s")


def describe(event):
    if isinstance(event, Matched):
        teams = [" ".join(team) for team in event.match.players]
        return f"{event.match.id}: {' against '.join(teams)}"
    return getattr(event, "ticket", "")


step(Configure(0.0, queues))
step(Enqueue(0.0, (ask("ada", 1500.0), ask("bob", 1700.0))))

# 200 points apart: ada and bob accept each other when the limit of both has grown by 50, at 25 s.
# Nobody polls: the engine says when it wants to be asked again.
step(Advance(engine.next_wakeup))

step(Enqueue(30.0, (ask("cleo", 1600.0),)))
step(Cancel(40.0, "s0-3"))

# Folding the same records elsewhere gives the same tables; recovery does nothing else.
print(f"\n{engine.tables.counters.matched} matched, {engine.tables.counters.cancelled} cancelled")
