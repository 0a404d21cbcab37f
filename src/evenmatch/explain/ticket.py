"""Why a ticket still waits: the door to `engine.explanation` for scripts and simulations.

    from evenmatch.explain.ticket import explain
    print(explain(engine, "s0-17", now).summary)

A server that explains many tickets keeps an `Explainer`, takes a `Subject` where the engine lives,
and explains it in a thread.
"""

from __future__ import annotations

from evenmatch.engine.engine import Engine
from evenmatch.explain.explanations import Explainer
from evenmatch.explain.snapshot import subject_of
from evenmatch.model.explanation import Explanation


def explain(engine: Engine, ticket_id: str, now: float) -> Explanation:
    """Return why a ticket still waits, or how it ended.

    Args:
        engine: The engine, which is only read.
        ticket_id: A ticket that it has accepted.
        now: Engine time, not before that of the engine's last input.

    Raises:
        UnknownTicket: It was never accepted.
        Forgotten: It ended long ago.

    Complexity:
        O(tickets of its queues). Keep an `Explainer` to explain several.
    """
    return Explainer().explain(subject_of(engine, ticket_id, now))
