"""What is told of a match: made, only proposed, or open for more players."""

from __future__ import annotations

from msgspec import UNSET

from evenmatch.engine.engine import Engine
from evenmatch.wire.backfill import BackfillState
from evenmatch.wire.matches import MatchState, match_state, proposal_state


def state_of_match(engine: Engine, match_id: str) -> MatchState:
    """Return a match as it goes over HTTP, made or only proposed.

    Raises:
        UnknownMatch, Forgotten, ProposalOver: There is no such match, or no longer.
    """
    proposal = engine.tables.proposals.get(match_id)
    if proposal is not None:
        return proposal_state(proposal.match, proposal.accepted, proposal.left)
    kept_match = engine.match(match_id)
    return match_state(kept_match.match, kept_match.assignment, kept_match.outcome, kept_match.void)


def state_of_open_match(engine: Engine, match_id: str, now: float) -> BackfillState:
    """Return a running match as its backend sees it.

    Raises:
        UnknownMatch, Forgotten, NotMade, ProposalOver: There is no such match.
        NoBackfill: Nobody can join it.
    """
    roster = engine.roster(match_id)
    opened = roster.open
    expires_at = None if opened is None else opened.expires_at
    return BackfillState(
        match_id,
        opened is not None,
        roster.version,
        roster.players,
        roster.left,
        roster.free,
        (0,) * len(roster.free) if opened is None else opened.free,
        roster.fills,
        None if expires_at is None else max(0.0, expires_at - now),
        roster.proposed or UNSET,
    )
