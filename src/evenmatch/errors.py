"""Every error that evenmatch raises on purpose.

MatchmakingError
|-- ConfigError         (ValueError)   a scenario, a queue or a SPEC that cannot be used
|-- ArrivalsError       (ValueError)   a recorded arrival that cannot be read: file, line, column
|-- Refusal             (ValueError)   an input that was refused and changed nothing
|   |-- InvalidTicket                  the request itself is wrong; repeating it won't help
|   |-- UnknownQueue    (LookupError)  no such queue
|   |-- UnknownTicket   (LookupError)  no such ticket was ever accepted
|   |-- UnknownMatch    (LookupError)  no such match was ever made
|   |-- UnknownPlayer   (LookupError)  nothing is known about this player
|   |-- Forgotten       (LookupError)  it existed, ended long ago, and is no longer kept
|   |-- AlreadyWaiting                 a player of the ticket is in another live ticket or match
|   |-- KeyReused                      an idempotency key came back with another body
|   |-- TooLate                        the ticket was matched before the cancel
|   |-- NotMade                        the match is only proposed; its players must accept first
|   |-- ProposalOver                   the proposal has failed, or the ticket has left it
|   |-- NotInMatch                     the ticket or player has no seat in the match
|   |-- InvalidOpening                 free seats, or a lease, that the match cannot have
|   |-- NoBackfill                     the match is not one that can be filled
|   |-- StaleRoster                    the match was filled since; `roster_version` says how often
|   |-- InvalidOutcome                 the outcome does not fit the match
|   |-- NotHost                        a player who is not the first host assigns the match
|   |-- OutcomeDiffers                 another outcome was reported before, and stays
|   |-- OutcomeDisputed                the players could not agree in time
|   |-- Cooldown                       the player failed ready-checks; `seconds` is what is left
|   |-- StaleVersion                   the configuration was changed since; `version` is in force
|   |-- Overloaded                     a limit is reached; try again later
|   |   `-- Paused                     an operator lets the queue take nobody for a while
|   `-- Draining                       the server is about to stop and takes no new tickets
|-- PolicyError         (ValueError)   a policy broke its contract
|-- NotSupported        (ValueError)   the name is known, the feature is not in this version
`-- JournalError        (RuntimeError) the journal did not take or give a record
    |-- StaleOwner                     another owner has taken the shard over
    |-- SequenceGap                    the batch does not continue the journal
    |-- JournalCorrupt                 a stored record fails its checksum or order
    `-- JournalUnavailable             locked, full or unreadable storage
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MatchmakingError(Exception):
    """The root of the tree: catch this to catch all that evenmatch raises on purpose."""


class ConfigError(MatchmakingError, ValueError):
    """A scenario, a queue or a SPEC cannot be used as written."""


class ArrivalsError(MatchmakingError, ValueError):
    """A row of recorded arrivals cannot be read."""


class NotSupported(MatchmakingError, ValueError):
    """This version, or the record format in which it writes now, cannot do it."""


class Refusal(MatchmakingError, ValueError):
    """An input was refused; nothing changed and nothing was journalled.

    Args:
        message: What was given, what is allowed, what to do.
        where: JSON pointer to the offending part of the request, or "".
        ticket: The live ticket that stands in the way, if one does.
        match: The match that came first, if one did.
    """

    code = "refused"

    def __init__(
        self,
        message: str,
        *,
        where: str = "",
        ticket: str | None = None,
        match: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.ticket = ticket
        self.match = match


class InvalidTicket(Refusal):
    """The request itself is wrong; repeating it will not help."""

    code = "invalid_ticket"


class UnknownQueue(Refusal, LookupError):
    """No queue has this name."""

    code = "unknown_queue"


class UnknownTicket(Refusal, LookupError):
    """No ticket with this id was ever accepted."""

    code = "unknown_ticket"


class UnknownMatch(Refusal, LookupError):
    """No match with this id was ever made."""

    code = "unknown_match"


class UnknownPlayer(Refusal, LookupError):
    """Nothing is known about this player."""

    code = "unknown_player"


class Forgotten(Refusal, LookupError):
    """The ticket or match ended long ago and is no longer kept."""

    code = "forgotten"


class AlreadyWaiting(Refusal):
    """A player of the ticket is already in another live ticket or match of the group."""

    code = "already_waiting"


class KeyReused(Refusal):
    """The idempotency key was used before with another body."""

    code = "key_reused"


class TooLate(Refusal):
    """The ticket was matched before the cancel; `match` says by which match."""

    code = "too_late"


class NotMade(Refusal):
    """The match is only proposed; its players have to accept it first."""

    code = "not_made"


class ProposalOver(Refusal):
    """The proposal has failed, or the ticket has left it."""

    code = "proposal_over"


class NotInMatch(Refusal):
    """The ticket or the player has no seat in the match."""

    code = "not_in_match"


class InvalidOpening(Refusal):
    """The match has no such free seats, or cannot be open for so long."""

    code = "invalid_request"


class NoBackfill(Refusal):
    """The match cannot be filled: its queue has no backfill, it is over, or it fills another."""

    code = "no_backfill"


class StaleRoster(Refusal):
    """The match was filled since the caller last looked; `roster_version` is the present one."""

    code = "stale_roster"

    def __init__(self, message: str, *, match: str, roster_version: int) -> None:
        super().__init__(message, where="/roster_version", match=match)
        self.roster_version = roster_version


class Cooldown(Refusal):
    """A player failed ready-checks and may queue again after `seconds`."""

    code = "cooldown"

    def __init__(self, message: str, *, seconds: float) -> None:
        super().__init__(message, where="/players")
        self.seconds = seconds


class InvalidOutcome(Refusal):
    """The outcome does not fit the match: its players, or a number for each team."""

    code = "invalid_outcome"


class NotHost(Refusal):
    """A player may assign a match only if they are the first of its hosts."""

    code = "not_host"


class OutcomeDiffers(Refusal):
    """A different outcome of the match was reported before, and stays."""

    code = "outcome_differs"


class OutcomeDisputed(Refusal):
    """The players could not agree in time; only the game's backend may decide now."""

    code = "outcome_disputed"


class Overloaded(Refusal):
    """A limit is reached; the same request may succeed later, after `seconds` if they are known."""

    code = "overloaded"

    def __init__(
        self,
        message: str,
        *,
        where: str = "",
        ticket: str | None = None,
        match: str | None = None,
        seconds: float | None = None,
    ) -> None:
        super().__init__(message, where=where, ticket=ticket, match=match)
        self.seconds = seconds


class Paused(Overloaded):
    """A queue takes no tickets for a while, because an operator paused it."""

    code = "paused"


class StaleVersion(Refusal):
    """The configuration was changed since the caller last looked; `version` is in force now."""

    code = "stale_version"

    def __init__(self, message: str, *, version: int) -> None:
        super().__init__(message, where="/if_version")
        self.version = version


class Draining(Refusal):
    """The server takes no new tickets, because it is about to stop; try again soon."""

    code = "draining"


class PolicyError(MatchmakingError, ValueError):
    """A policy broke its contract; the message names the policy, the rule and the tickets."""


class JournalError(MatchmakingError, RuntimeError):
    """The journal did not take or give a record."""


class StaleOwner(JournalError):
    """Another owner has taken the shard over; this one must stop writing.

    Args:
        message: What was refused, and why.
        holder: The present owner, where it is known.
    """

    def __init__(self, message: str, holder: str = "") -> None:
        super().__init__(message)
        self.holder = holder


class SequenceGap(JournalError):
    """The batch does not continue the journal where it ends."""


class JournalCorrupt(JournalError):
    """A stored record fails its checksum, its order or its format."""


class JournalUnavailable(JournalError):
    """The storage is locked, full or unreadable; nothing of the batch was stored."""


OTHER_NAMES = {"winner": "ranks", "winners": "ranks", "result": "ranks", "scores": "points"}
"""What is called so elsewhere, and what it is here."""


def nearest_name(word: str, allowed: Iterable[str]) -> str | None:
    """Return the name that was probably meant by one that there is not; None if none is near.

    A name with the same parts in another order counts, and one that has more of them.

    >>> nearest_name("max_wait", ["wait_max", "match_max"]), nearest_name("winner", ["ranks"])
    ('wait_max', 'ranks')
    >>> nearest_name("--online", ["--zones", "--players-online"]), nearest_name("colour", ["ranks"])
    ('--players-online', None)
    """
    names = list(allowed)
    if OTHER_NAMES.get(word) in names:
        return OTHER_NAMES[word]
    parts = _parts(word)
    if parts and (fuller := [name for name in names if parts <= _parts(name)]):
        return min(fuller, key=len)
    near = difflib.get_close_matches(word, names, n=1)
    return near[0] if near else None


def _parts(name: str) -> set[str]:
    return set(name.replace("-", "_").split("_")) - {""}
