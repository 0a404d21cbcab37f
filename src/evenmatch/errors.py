"""Every error that evenmatch raises on purpose.

MatchmakingError
|-- ConfigError         (ValueError)   a scenario, queue or SPEC cannot be used as written
|-- ArrivalsError       (ValueError)   a recorded arrival cannot be read: file, line, column
|-- Refusal             (ValueError)   an input was refused; nothing changed
|   |-- InvalidTicket                  the request is wrong; sending it again will not help
|   |-- UnknownQueue    (LookupError)  no queue has this name
|   |-- UnknownTicket   (LookupError)  no ticket has ever had this id
|   |-- UnknownMatch    (LookupError)  no match has ever had this id
|   |-- UnknownPlayer   (LookupError)  the server knows nothing about this player
|   |-- Forgotten       (LookupError)  it ended long ago and has been deleted
|   |-- AlreadyWaiting                 a player of the ticket is in another live ticket or match
|   |-- KeyReused                      the idempotency key was used with another body
|   |-- TooLate                        the ticket was matched before it could be cancelled
|   |-- NotMade                        the match is only proposed; its players must accept it
|   |-- ProposalOver                   the proposal has failed, or the ticket has left it
|   |-- NotInMatch                     the ticket or player has no seat in the match
|   |-- InvalidOpening                 the match cannot have these free seats or this lease
|   |-- NoBackfill                     the match cannot be backfilled
|   |-- StaleRoster                    the roster has changed since the caller last read it
|   |-- InvalidOutcome                 the outcome does not fit the match
|   |-- NotHost                        only the first host among the players may assign it
|   |-- OutcomeDiffers                 a different outcome was reported first and stands
|   |-- OutcomeDisputed                the players did not agree on the outcome in time
|   |-- Cooldown                       the player failed ready-checks; wait `seconds`
|   |-- StaleVersion                   the configuration has changed since the caller read it
|   |-- Overloaded                     a limit is reached; try again later
|   |   `-- Paused                     an operator has paused the queue
|   `-- Draining                       the server is shutting down and takes no new tickets
|-- PolicyError         (ValueError)   a policy broke its contract
|-- NotSupported        (ValueError)   this version does not have the feature
`-- JournalError        (RuntimeError) the journal could not write or read a record
    |-- StaleOwner                     another owner has taken over the shard
    |-- SequenceGap                    the batch does not follow the journal's last record
    |-- JournalCorrupt                 a stored record has a wrong checksum or order
    `-- JournalUnavailable             the storage is locked, full or unreadable
        `-- ShardFailed                an unexpected error; the shard is being rebuilt
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MatchmakingError(Exception):
    """The base of all errors that evenmatch raises on purpose; catch it to catch them all."""


class ConfigError(MatchmakingError, ValueError):
    """A scenario, a queue or a SPEC cannot be used as written; correct the file or the SPEC."""


class ArrivalsError(MatchmakingError, ValueError):
    """A row of recorded arrivals cannot be read."""


class NotSupported(MatchmakingError, ValueError):
    """This version cannot do it, or not with the record format that it writes now."""


class Refusal(MatchmakingError, ValueError):
    """An input was refused; nothing changed, and the journal holds nothing of it.

    Args:
        message: What is wrong, what is allowed, and what to do.
        where: JSON pointer to the offending part of the request, or "".
        ticket: The live ticket that stands in the way, if one does.
        match: The match that stands in the way, if one does.
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
    """The request is wrong; correct it, since sending it again will not help."""

    code = "invalid_ticket"


class UnknownQueue(Refusal, LookupError):
    """No queue has this name."""

    code = "unknown_queue"


class UnknownTicket(Refusal, LookupError):
    """No ticket has ever had this id."""

    code = "unknown_ticket"


class UnknownMatch(Refusal, LookupError):
    """No match has ever had this id."""

    code = "unknown_match"


class UnknownPlayer(Refusal, LookupError):
    """The server knows nothing about this player."""

    code = "unknown_player"


class Forgotten(Refusal, LookupError):
    """The ticket or match ended long ago, and the server has deleted it."""

    code = "forgotten"


class AlreadyWaiting(Refusal):
    """A player of it already waits in `ticket`, or plays in `match` until it is finished."""

    code = "already_waiting"


class KeyReused(Refusal):
    """The idempotency key was already used with another body; use a new key."""

    code = "key_reused"


class TooLate(Refusal):
    """The ticket was matched before it could be cancelled: it plays in `match`."""

    code = "too_late"


class NotMade(Refusal):
    """The match is only proposed; its players must accept it first."""

    code = "not_made"


class ProposalOver(Refusal):
    """The proposal has failed, or the ticket has left it."""

    code = "proposal_over"


class NotInMatch(Refusal):
    """The ticket or the player has no seat in the match."""

    code = "not_in_match"


class InvalidOpening(Refusal):
    """The match does not have these free seats, or cannot stay open for so long."""

    code = "invalid_request"


class NoBackfill(Refusal):
    """The match cannot be filled: its queue has no backfill, it is over, or it fills another."""

    code = "no_backfill"


class StaleRoster(Refusal):
    """The match was filled since the caller read it; `roster_version` is its current version."""

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
    """The outcome does not fit the match: wrong players, or not one number for each team."""

    code = "invalid_outcome"


class NotHost(Refusal):
    """Only the player who is the first of the match's hosts may assign it."""

    code = "not_host"


class OutcomeDiffers(Refusal):
    """A different outcome of the match was reported first, and it stands."""

    code = "outcome_differs"


class OutcomeDisputed(Refusal):
    """The players did not agree in time; only the game's backend can report the outcome now."""

    code = "outcome_disputed"


class Overloaded(Refusal):
    """A limit is reached; try again later, after `seconds` if the answer has them."""

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
    """An operator has paused the queue, so it takes no tickets; try again later."""

    code = "paused"


class StaleVersion(Refusal):
    """The configuration has changed since the caller read it; `version` is in force now."""

    code = "stale_version"

    def __init__(self, message: str, *, version: int) -> None:
        super().__init__(message, where="/if_version")
        self.version = version


class Draining(Refusal):
    """The server is shutting down and takes no new tickets; try again soon."""

    code = "draining"


class PolicyError(MatchmakingError, ValueError):
    """A policy broke its contract; the message names the policy, the rule and the tickets."""


class JournalError(MatchmakingError, RuntimeError):
    """The journal could not write or read a record."""


class StaleOwner(JournalError):
    """Another owner has taken over the shard; this one must stop writing.

    Args:
        message: What was refused, and why.
        holder: The present owner, where it is known.
        left: For how long its lease is not over for certain, seconds, where that is known.
        length: Of its lease, seconds.
    """

    def __init__(
        self, message: str, holder: str = "", *, left: float = 0.0, length: float = 0.0
    ) -> None:
        super().__init__(message)
        self.holder = holder
        self.left = left
        self.length = length


class SequenceGap(JournalError):
    """The first record of the batch does not follow the last one of the journal."""


class JournalCorrupt(JournalError):
    """A stored record has a wrong checksum, is out of order or is malformed."""


class JournalUnavailable(JournalError):
    """The storage is locked, full or unreadable; nothing of the batch was stored."""


class ShardFailed(JournalUnavailable):
    """An unexpected error has ended a shard, which is rebuilt from its journal."""


OTHER_NAMES = {"winner": "ranks", "winners": "ranks", "result": "ranks", "scores": "points"}
"""Names used elsewhere, and the names that mean the same here."""


def nearest_name(word: str, allowed: Iterable[str]) -> str | None:
    """Return the allowed name that an unknown word probably stands for; None if none is near.

    A name also counts if it has the same parts in another order, or those parts and more.

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
