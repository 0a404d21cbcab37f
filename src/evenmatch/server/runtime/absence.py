"""Extends ready-checks by the time for which nobody could answer them."""

from __future__ import annotations

from evenmatch.engine.state.rows import Proposal
from evenmatch.engine.state.state import Tables
from evenmatch.model.inputs import Prolong


def whole_time(proposal: Proposal) -> float:
    """Return how many seconds its players are given to answer at the most."""
    check = proposal.queue.accept
    return 0.0 if check is None else max(check.seconds, check.long_seconds or 0.0)


def more_time(proposal: Proposal, ticket_id: str, now: float, grace: float) -> float:
    """Return how many more seconds a player has to answer after an absence of the server.

    Nobody has more time than all are asked with and `grace`, whatever they were given before.

    Args:
        proposal: What they are asked.
        ticket_id: Who.
        now: Engine time.
        grace: Seconds that clients take to come back, engine time.
    """
    whole = whole_time(proposal)
    left = proposal.until[ticket_id] - now
    return max(0.0, min(grace, whole + grace - left))


def time_back(tables: Tables, now: float, grace: float) -> list[Prolong]:
    """Return the inputs that give players the time of an absence back.

    The first input is at the instant at which the server went away: no deadline since has fired.
    The others are at the present one, so that the journal says that this absence is made up for:
    a server that fails again at once must not count it twice. Nor has anybody more time than they
    were asked with and `grace`, however often it fails.

    Args:
        tables: As recovered.
        now: Engine time.
        grace: Seconds that clients take to come back, engine time.
    """
    if not tables.proposals:
        return []
    more: dict[float, list[str]] = {}
    for proposal in tables.proposals.values():
        for ticket_id in proposal.tickets:
            seconds = more_time(proposal, ticket_id, tables.now, grace)
            more.setdefault(seconds, []).append(ticket_id)
    # Named, so that a repair under way waits no longer than the server was away.
    named = [Prolong(now, seconds, tuple(tickets)) for seconds, tickets in more.items()]
    return [Prolong(tables.now, now - tables.now), *named]
