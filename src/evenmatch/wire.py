"""What goes over HTTP: request and response types, and how a bad body is explained.

Types are strict: an unknown field, a wrong type, NaN or an infinity is refused with a JSON pointer
to the offending part. The OpenAPI page is made from these types, so they are the one place where a
name of the interface is written down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from evenmatch.errors import InvalidTicket, Refusal
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player, Value

BATCH_MAX = 1_000
"""Tickets of one request, unless the server's limits say less."""

ShapeT = TypeVar("ShapeT")


class CreateTicket(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """A party asks to play.

    Args:
        players: Who plays together: 1 or more.
        queues: Where to wait; empty means the server's first queue.
        attributes: Facts of the party; they count for each of its players.
    """

    players: tuple[Player, ...]
    queues: tuple[str, ...] = ()
    attributes: dict[str, Value] = {}


class TicketCreated(msgspec.Struct, frozen=True, gc=False):
    """The ticket of a create, new or live already; `enqueued_at` is engine time in seconds."""

    id: str
    state: str
    queues: tuple[str, ...]
    enqueued_at: float


class ItemCreated(msgspec.Struct, frozen=True, gc=False):
    """One ticket of an array: as if it had been created alone with this HTTP status."""

    status: int
    id: str
    state: str
    queues: tuple[str, ...]
    enqueued_at: float


class Problem(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """An error.

    Args:
        error: A code that programs may rely on.
        message: What was given, what is allowed, what to do.
        where: JSON pointer to the offending part of the request, or "".
        ticket: The live ticket that stands in the way.
        match: The match that came first.
    """

    error: str
    message: str
    where: str = msgspec.field(default_factory=str)
    ticket: str | None = None
    match: str | None = None


class ItemProblem(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One ticket of an array that was refused; the others are not affected."""

    status: int
    error: str
    message: str
    where: str = msgspec.field(default_factory=str)
    ticket: str | None = None
    match: str | None = None


class Estimate(msgspec.Struct, frozen=True, gc=False):
    """How long a waiting ticket will probably wait, seconds from now."""

    p50: float
    low: float
    high: float


class TicketState(msgspec.Struct, frozen=True, gc=False):
    """A ticket as its owner sees it; `wait` is how long it waited or has waited, seconds."""

    id: str
    state: str
    wait: float
    reason: str | None = None
    match: str | None = None
    assignment: dict[str, str] | None = None
    estimate: Estimate | None = None


class TicketCancelled(msgspec.Struct, frozen=True, gc=False):
    """How a cancelled ticket ended."""

    state: str


class MatchState(msgspec.Struct, frozen=True, gc=False):
    """A match: ticket ids and player ids by team; `at` is engine time in seconds."""

    match: str
    queue: str
    at: float
    tickets: tuple[str, ...]
    teams: tuple[tuple[str, ...], ...]
    bots: int
    cost: float
    quality: float | None
    players: tuple[tuple[str, ...], ...]
    assignment: dict[str, str] | None = None


class FeedMatch(MatchState, frozen=True, gc=False):
    """A match in the feed; `seq` is the number of the record that made it."""

    seq: int = 0


class FeedPage(msgspec.Struct, frozen=True, gc=False):
    """Matches in order; ask again with `after` = `next`."""

    matches: tuple[FeedMatch, ...]
    next: int


class QueueState(msgspec.Struct, frozen=True, gc=False):
    """A queue's name, seats per team, deadline in seconds and policy."""

    name: str
    players: tuple[int, ...]
    wait_max: float | None
    policy: str
    waiting: int


class WaitStats(msgspec.Struct, frozen=True, gc=False):
    """Waits of the players matched last, seconds; null before the first match."""

    p50: float | None
    p90: float | None
    p99: float | None


class QueueStats(msgspec.Struct, frozen=True, gc=False):
    """How a queue does: now, in the last minute of engine time, and since the server started."""

    queue: str
    now: float
    waiting: int
    arrivals_per_minute: float
    matches_per_minute: float
    wait: WaitStats
    arrivals: int
    matched: int
    matches: int
    recent: tuple[MatchState, ...]


_create: msgspec.json.Decoder[CreateTicket | tuple[CreateTicket, ...]] = msgspec.json.Decoder(
    CreateTicket | tuple[CreateTicket, ...]
)
_AT = re.compile(r" - at `(?:key in )?\$(.*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")


def decode_create(
    body: bytes, *, batch_max: int = BATCH_MAX
) -> CreateTicket | tuple[CreateTicket, ...]:
    """Return the ticket or the tickets of a create.

    Raises:
        InvalidTicket: The body is not what a create takes; `where` points into it.
    """
    try:
        created = _create.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise explained(error) from None
    if type(created) is tuple and not 1 <= len(created) <= batch_max:
        raise InvalidTicket(f"an array holds 1 to {batch_max} tickets, got {len(created)}")
    return created


def decode(body: bytes, shape: type[ShapeT]) -> ShapeT:
    """Return a request's body as this type.

    Raises:
        InvalidTicket: The body is something else; `where` points into it.
    """
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise explained(error) from None


def explained(error: Exception) -> Refusal:
    """Return the refusal that tells a client what is wrong with its body, and where."""
    if isinstance(error, msgspec.ValidationError):
        text = str(error)
        found = _AT.search(text)
        where = _pointer(found.group(1)) if found else ""
        return InvalidTicket(_AT.sub("", text), where=where)
    if isinstance(error, RecursionError):
        return InvalidTicket("the JSON nests too deep")
    if isinstance(error, UnicodeDecodeError):
        return InvalidTicket("the body must be JSON in UTF-8")
    return InvalidTicket(f"the body must be JSON: {error}")


def declared(queues: Iterable[Queue]) -> frozenset[str]:
    """Return the attributes that tickets of these queues may carry."""
    names = {"side"}
    for queue in queues:
        names.update(queue.attributes)
        names.update(criterion.attribute for criterion in queue.criteria)
        names.update(rule.attribute for rule in queue.rules)
    return frozenset(names)


def check_attributes(created: CreateTicket, allowed: frozenset[str]) -> None:
    """Refuse attributes that none of the ticket's queues declares.

    Raises:
        InvalidTicket: It names the attribute and those that are allowed.
    """
    _check_names(created.attributes, allowed, "/attributes")
    for at, player in enumerate(created.players):
        if player.attributes:
            _check_names(player.attributes, allowed, f"/players/{at}/attributes")


def new_ticket(created: CreateTicket) -> NewTicket:
    """Return the engine's ticket; sets of words are sorted, so that equal sets are equal."""
    _sort_sets(created.attributes)
    for player in created.players:
        _sort_sets(player.attributes)
    return NewTicket(created.players, created.queues, created.attributes)


def match_state(match: Match, assignment: dict[str, str] | None = None) -> MatchState:
    """Return a match as it goes over HTTP."""
    return MatchState(*_columns(match), assignment)


def feed_match(match: Match, assignment: dict[str, str] | None, seq: int) -> FeedMatch:
    """Return a match as the feed shows it."""
    return FeedMatch(*_columns(match), assignment, seq)


def _columns(
    match: Match,
) -> tuple[
    str,
    str,
    float,
    tuple[str, ...],
    tuple[tuple[str, ...], ...],
    int,
    float,
    float | None,
    tuple[tuple[str, ...], ...],
]:
    return (
        match.id,
        match.queue,
        match.at,
        match.tickets,
        match.teams,
        match.bots,
        match.cost,
        match.quality,
        match.players,
    )


def _check_names(values: dict[str, Value], allowed: frozenset[str], where: str) -> None:
    for name in values:
        if name not in allowed:
            raise InvalidTicket(
                f"attribute {name[:64]!r} is not declared by the ticket's queues; "
                f"allowed: {', '.join(sorted(allowed))}",
                where=f"{where}/{_escaped(name[:64])}",
            )


def _sort_sets(values: dict[str, Value]) -> None:
    for name, value in values.items():
        if type(value) is tuple:
            values[name] = tuple(sorted(set(value)))


def _pointer(path: str) -> str:
    """Return msgspec's path as a JSON pointer, up to the first value of a map: it has no name."""
    steps = _STEP.findall(path.split("[...]")[0])
    return "".join(f"/{_escaped(name or index)}" for name, index in steps)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
