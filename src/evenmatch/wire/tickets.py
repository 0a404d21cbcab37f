"""Tickets as they go over HTTP: the bodies of requests and answers, and how bad ones are explained.

Types are strict: an unknown field, a wrong type, NaN or an infinity is refused with a JSON pointer
to the offending part. The OpenAPI page is made from these types, so they are the one place where a
name of the interface is written down.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType, inspect

from evenmatch.errors import InvalidTicket, Refusal, nearest_name
from evenmatch.model.ticket import NewTicket, Player, Value, check_player_id
from evenmatch.wire.matches import MatchState

BATCH_MAX = 1_000
"""Tickets of one request, unless the server's limits say less."""

ShapeT = TypeVar("ShapeT")


class CreateTicket(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """A party asks to play.

    Args:
        players: The players of the party, at least one.
        queues: The queues to wait in; by default the server's first queue.
        attributes: Attributes of the party; they count for each of its players.
    """

    players: tuple[Player, ...]
    queues: tuple[str, ...] = ()
    attributes: dict[str, Value] = {}


class TicketCreated(msgspec.Struct, frozen=True, gc=False):
    """A ticket that was created, or that its players already had.

    A ticket that they had stays as it is, whatever else the request says; cancel it to change it.

    Args:
        id: Its id, for all further requests.
        state: Its state: `waiting`, or a later one if it was matched at once.
        queues: The queues that it waits in.
        enqueued_at: When its wait began, engine time in seconds.
    """

    id: str
    state: str
    queues: tuple[str, ...]
    enqueued_at: float


class ItemCreated(msgspec.Struct, frozen=True, gc=False):
    """One created ticket of an array, with the HTTP status that it would have had alone.

    Args:
        status: 201 if the ticket is new, 200 if its players already waited with it.
        id: Its id, for all further requests.
        state: Its state: `waiting`, or a later one if it was matched at once.
        queues: The queues that it waits in.
        enqueued_at: When its wait began, engine time in seconds.
    """

    status: int
    id: str
    state: str
    queues: tuple[str, ...]
    enqueued_at: float


class Problem(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """An error.

    Args:
        error: The error code, on which programs can rely.
        message: What is wrong, what is allowed, and what to do.
        where: JSON pointer to the offending part of the request, or "".
        ticket: The live ticket that stands in the way.
        match: The match that stands in the way.
        next: The `after` with which to read on, if older matches of the feed are no longer kept.
        roster_version: The match's current roster version, if it has changed since the caller read
            it.
        version: The version of the configuration in force, if it has changed since the caller read
            it.
        seconds: Seconds after which to try again, if that is known.
    """

    error: str
    message: str
    where: str = msgspec.field(default_factory=str)
    ticket: str | None = None
    match: str | None = None
    next: int | None = None
    roster_version: int | None = None
    version: int | None = None
    seconds: float | None = None


class ItemProblem(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One refused ticket of an array; the other tickets are not affected.

    Args:
        status: The HTTP status that it would have had alone.
        error: The error code, on which programs can rely.
        message: What is wrong, what is allowed, and what to do.
        where: JSON pointer to the offending part of this ticket, or "".
        ticket: The live ticket that stands in the way.
        match: The match that stands in the way.
        seconds: Seconds after which to try again, if that is known.
    """

    status: int
    error: str
    message: str
    where: str = msgspec.field(default_factory=str)
    ticket: str | None = None
    match: str | None = None
    seconds: float | None = None


class Estimate(msgspec.Struct, frozen=True, gc=False):
    """How long a waiting ticket will probably wait, seconds from now.

    All three are equal if the time is known exactly. No figure lies beyond the ticket's last
    deadline, where its wait ends in any case: a `p50` that is equal to the time left is no median
    of matches, but says that fewer than half of such tickets are matched in time.

    Args:
        p50: Half of such tickets wait no longer.
        low: A tenth of them wait no longer.
        high: Nine tenths of them wait no longer.
    """

    p50: float
    low: float
    high: float


class TicketState(msgspec.Struct, frozen=True, gc=False):
    """A ticket as its owner sees it.

    Args:
        id: Its id.
        state: `waiting`; `proposed` while a match waits for its players' acceptance; `matched`;
            `assigned` once the match has a server; or how it ended without a match.
        wait: Seconds that it has waited so far, or waited in total.
        reason: Why it was cancelled (`player`, `operator`, `silent`, `declined`,
            `waits_elsewhere`) or expired (`deadline`, `queue_changed`).
        match: The id of the match that it is in, or is asked to accept. For a cancelled ticket, the
            match whose ready-check ended it: a `silent` ticket with a match did not answer the
            ready-check, one without stopped sending heartbeats.
        assignment: Where the match is played, as the game's backend has set it.
        estimate: How long it will probably still wait; null while too little is known.
        answer_within: Seconds left to accept; present until all its players have accepted.
        long_wait: True if the players had waited for long before they were asked, and may have
            walked away: alert them more loudly.
        accepted: Its players who have accepted; present while the match waits for acceptance.
    """

    id: str
    state: str
    wait: float
    reason: str | None = None
    match: str | None = None
    assignment: dict[str, str] | None = None
    estimate: Estimate | None = None
    answer_within: float | UnsetType = UNSET
    long_wait: bool | UnsetType = UNSET
    accepted: tuple[str, ...] | UnsetType = UNSET


class TicketListed(TicketState, frozen=True, gc=False, kw_only=True):
    """A ticket in a player's list.

    Args:
        queues: The queues that it waits in, or waited in.
        enqueued_at: When its wait began, engine time in seconds.
    """

    queues: tuple[str, ...]
    enqueued_at: float


class TicketCancelled(msgspec.Struct, frozen=True, gc=False):
    """How a cancelled ticket ended.

    Args:
        state: `cancelled`, or `expired` if its time was already over.
    """

    state: str


class PlayerRating(msgspec.Struct, frozen=True, gc=False):
    """A player's rating in a ladder.

    Args:
        player: The player's id.
        ladder: The ladder that the rating belongs to; queues may share one.
        mean: The estimated strength, in points of the rating system.
        deviation: The standard deviation of the estimate now, in points; it grows while the player
            does not play.
        volatility: Glicko-2's volatility; null with other systems.
    """

    player: str
    ladder: str
    mean: float
    deviation: float
    volatility: float | None


class QueueState(msgspec.Struct, frozen=True, gc=False):
    """A queue, and how many tickets wait in it.

    Args:
        name: Its name.
        players: Seats of each team.
        wait_max: The longest wait in seconds; null without a deadline.
        policy: The SPEC of the policy that makes its matches.
        waiting: Tickets that wait in it now.
        fault: Why the queue has stopped making matches; null while it works.
        paused: Whether an operator has paused it, so that it takes no tickets and makes no matches.
        parts: How many parts its group is split into, of which `?part=0` is the first; left out if
            it is not split.
    """

    name: str
    players: tuple[int, ...]
    wait_max: float | None
    policy: str
    waiting: int
    fault: str | None = None
    paused: bool = False
    parts: int | UnsetType = UNSET


class WaitStats(msgspec.Struct, frozen=True, gc=False):
    """Waits of the most recently matched players, in seconds; null before the first match.

    Args:
        p50: Half of these players waited no longer.
        p90: Nine tenths of these players waited no longer.
        p99: 99 of 100 of these players waited no longer.
    """

    p50: float | None
    p90: float | None
    p99: float | None


class CellWait(msgspec.Struct, frozen=True, gc=False):
    """How long new tickets of one cell will probably wait, in seconds; see `Estimate`.

    Args:
        size: Players of a ticket.
        region: The best region; null if none is known.
        decile: The tenth of the players by skill, from 1 for the weakest to 10; null if it is not
            known.
        waiting: Tickets of the cell that wait now.
        matches: How many matched tickets the figures rest on; older ones count less.
        p50: Half of such tickets wait no longer, seconds.
        low: A tenth of them wait no longer, seconds.
        high: Nine tenths of them wait no longer, seconds.
    """

    size: int
    region: str | None
    decile: int | None
    waiting: int
    matches: float
    p50: float
    low: float
    high: float


class QueueStats(msgspec.Struct, frozen=True, gc=False):
    """The figures of a queue: now, in the last minute of engine time, and since the server started.

    Matches that were called off are not counted.

    Args:
        queue: Its name.
        now: Engine time, seconds.
        waiting: Tickets that wait now.
        arrivals_per_minute: Tickets that arrived in the last minute.
        matches_per_minute: Matches made in the last minute.
        wait: Waits of the most recently matched players.
        arrivals: Tickets that arrived since the server started.
        matched: Players matched since the server started.
        matches: Matches made since the server started.
        recent: The last matches.
        estimate: How long new tickets will probably wait; null while too little is known, and
            while the queue is paused or makes no matches.
        cells: The same by party size, region and skill; empty where `estimate` is null.
    """

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
    estimate: Estimate | None = None
    cells: tuple[CellWait, ...] = ()


_create: msgspec.json.Decoder[CreateTicket | tuple[CreateTicket, ...]] = msgspec.json.Decoder(
    CreateTicket | tuple[CreateTicket, ...]
)
_one: msgspec.json.Decoder[CreateTicket] = msgspec.json.Decoder(CreateTicket)
_items = msgspec.json.Decoder(tuple[msgspec.Raw, ...])


def decode_create(
    body: bytes, *, batch_max: int = BATCH_MAX
) -> CreateTicket | tuple[CreateTicket | Refusal, ...]:
    """Return the ticket or the tickets of a create; in an array, what is wrong with an item.

    Raises:
        InvalidTicket: The body is not a ticket; `where` points into it.
        InvalidRequest: The body is neither a ticket nor an array.
    """
    created: CreateTicket | tuple[CreateTicket | Refusal, ...]
    try:
        created = _create.decode(body)
    except BAD as error:
        if body.lstrip()[:1] != b"[":
            raise explained(error, body, CreateTicket, "a ticket or an array of them") from None
        created = _decode_items(body, batch_max)
    if type(created) is tuple and not 1 <= len(created) <= batch_max:
        raise InvalidTicket(f"an array holds 1 to {batch_max} tickets, got {len(created)}")
    return created


def _decode_items(body: bytes, batch_max: int) -> tuple[CreateTicket | Refusal, ...]:
    """Decode an array that has malformed items one by one, so that the others are taken."""
    try:
        items = _items.decode(body)
    except BAD as error:
        raise explained(error, body, CreateTicket, "an array of tickets") from None
    found: list[CreateTicket | Refusal] = []
    # Beyond the limit the array is refused for its length; only that still counts.
    for raw in items if len(items) <= batch_max else ():
        try:
            found.append(_one.decode(raw))
        except BAD as error:
            refusal = explained(error, bytes(raw), CreateTicket, "a ticket", subject="an item")
            found.append(InvalidTicket(refusal.message, where=refusal.where))
    if not found:
        raise InvalidTicket(f"an array holds 1 to {batch_max} tickets, got {len(items)}")
    return tuple(found)


def decode(body: bytes, shape: type[ShapeT], what: str) -> ShapeT:
    """Return a request's body, `what` in words, as this type.

    Raises:
        InvalidRequest: The body is something else; `where` points into it.
    """
    try:
        return msgspec.json.decode(body, type=shape)
    except BAD as error:
        refusal = explained(error, body, shape, what)
        raise InvalidRequest(refusal.message, where=refusal.where) from None


def new_ticket(created: CreateTicket) -> NewTicket:
    """Return the engine's ticket; sets of words are sorted, so that equal sets are equal.

    Raises:
        InvalidTicket: A player's id cannot be read.
    """
    if created.attributes:
        _sort_sets(created.attributes)
    for at, player in enumerate(created.players):
        if player.attributes:
            _sort_sets(player.attributes)
        check_player_id(player.id, f"/players/{at}/id")
    return NewTicket(created.players, created.queues, created.attributes)


def _sort_sets(values: dict[str, Value]) -> None:
    for name, value in values.items():
        if type(value) is tuple:
            values[name] = tuple(sorted(set(value)))


# How a bad body is explained: in our words, with a JSON pointer to the offending part.

_AT = re.compile(r" - at `(?:key in )?\$(.*)`$")
_BYTE = re.compile(r"\(byte (\d+)\)$")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
BAD = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding raises for a bad body."""
_HALF = re.compile(
    rb"(?<!\\)(?:\\\\)*"
    rb"(?:(\\ud[89ab][0-9a-f]{2})(?!\\ud[c-f])|(?<!\\ud[89ab][0-9a-f]{2})(\\ud[c-f][0-9a-f]{2}))",
    re.IGNORECASE,
)
"""An escape of JSON that is one half of a character in UTF-16, without the other."""
_EXAMPLES = {
    "rating": 'an object such as {"mean": 1500}',
    "players": 'an array such as [{"id": "ada"}]',
    "queues": 'an array such as ["duel"]',
    "attributes": 'an object such as {"mode": "ranked"}',
}
_SENTENCES = {
    "Number out of range": "the number must be between -1.8e308 and 1.8e308",
    "Input data was truncated": "it ends too early, or within an escape",
}
"""Sentences of the decoder in our words."""

_NAMES = {"CreateTicket": "the ticket", "dict": "entry"}
"""What is named in a sentence instead of the body, by type."""
WALKED_MOST = 100
"""Entries of a map or an array that are looked at; beyond, the decoder's own words must do."""

_described = cache(inspect.type_info)
"""To find out what a type is made of takes as long as a hundred sentences."""


class InvalidRequest(Refusal):
    """The request is wrong apart from its tickets: parameters, headers, or the kind of body."""

    code = "invalid_request"


def explained(
    error: Exception, body: bytes, shape: type, what: str, *, subject: str = "the body"
) -> Refusal:
    """Return the refusal that tells a client what is wrong with its body, and where.

    Args:
        error: What decoding raised.
        body: The body, or an item of it, as JSON.
        shape: The type that it should be.
        what: The same in words.
        subject: What `body` is, in words.
    """
    if not body.strip():
        return InvalidRequest(f"the body is empty; send {what} as JSON")
    if isinstance(error, msgspec.ValidationError):
        found = _AT.search(str(error))
        place = _pointer(found.group(1)) if found else ""
        try:
            value = msgspec.json.decode(body)
        except BAD:
            value = None  # Too deep or too large a number: msgspec's own words must do.
        else:
            if not isinstance(value, dict):
                return InvalidRequest(f"{subject} must be {what}, got {_kind(value)}")
            name = _NAMES.get(shape.__name__, "the body")
            for where, sentence in _faults(value, _described(shape), "", name, place):
                return InvalidTicket(sentence, where=where)
        sentence = _AT.sub("", str(error))
        return InvalidTicket(_SENTENCES.get(sentence, sentence), where=place)
    if isinstance(error, RecursionError):
        return InvalidRequest("the JSON is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return InvalidRequest("the body must be JSON in UTF-8")
    if (half := _HALF.search(body)) is not None:
        escape = (half[1] or half[2]).decode()
        sentence = f"the body must be JSON: {escape} is half of a character"
        return InvalidRequest(f"{sentence}; send the whole character")
    sentence = str(error).removeprefix("JSON is malformed: ")
    sentence = _SENTENCES.get(sentence, sentence)
    byte = _BYTE.search(sentence)
    if byte is not None and body.startswith((b"NaN", b"Infinity"), int(byte.group(1))):
        sentence += "; NaN and Infinity are no numbers of JSON"
    return InvalidRequest(f"the body must be JSON: {sentence}")


def _faults(
    value: Any, shape: inspect.Type, where: str, name: str, place: str
) -> Iterator[tuple[str, str]]:
    """Yield what differs, JSON pointer and sentence, at the place where the decoder stopped."""
    shapes = shape.types if isinstance(shape, inspect.UnionType) else (shape,)
    fitting = [each for each in shapes if isinstance(value, _KINDS[type(each)][0])]
    is_flag = any(isinstance(each, inspect.BoolType) for each in shapes)
    if (isinstance(value, bool) and not is_flag) or not fitting:
        wanted = _EXAMPLES.get(name) or " or ".join(map(_wanted, shapes))
        is_part = isinstance(value, float) and "whole" in wanted
        yield where, f"{name} must be {wanted}, got {value if is_part else _kind(value)}"
        return
    fit = fitting[0]
    if isinstance(fit, inspect.LiteralType):
        if value not in fit.values:
            yield where, f"{name} must be {_wanted(fit)}, got {value[:64]!r}"
    elif isinstance(fit, inspect.IntType | inspect.FloatType):
        yield from _out_of_range(value, fit, where, name)
    if isinstance(fit, inspect.StructType):
        yield from _faults_of_fields(value, fit, where, name, place)
    elif isinstance(fit, inspect.VarTupleType):
        step = place.removeprefix(f"{where}/").partition("/")[0]
        start, most = (int(step), 1) if step.isdigit() else (0, WALKED_MOST)
        for at, item in enumerate(value[start : start + most], start):
            yield from _faults(item, fit.item_type, f"{where}/{at}", f"item {at} of {name}", place)
    elif isinstance(fit, inspect.DictType):
        for key, item in islice(value.items(), WALKED_MOST):
            here = f"{where}/{_escaped(key[:64])}"
            yield from _faults(item, fit.value_type, here, f"{name} {key[:64]!r}", place)


def _faults_of_fields(
    value: dict[str, Any], shape: inspect.StructType, where: str, name: str, place: str
) -> Iterator[tuple[str, str]]:
    fields = {field.encode_name: field for field in shape.fields}
    # Below a map the decoder does not say where it has stopped.
    is_told = f"{place}/".startswith(f"{where}/")
    for key, item in value.items():
        if key in fields:
            here = f"{where}/{_escaped(key)}"
            if not is_told or f"{place}/".startswith(f"{here}/"):
                yield from _faults(item, fields[key].type, here, key, place)
            continue
        near = nearest_name(key[:64], fields)
        hint = f"; did you mean {near}?" if near else ""
        if not near and "attributes" in fields and isinstance(item, str | int | float | dict):
            shown = msgspec.json.encode(key[:64]).decode()
            hint = f'; a value of your own goes into "attributes": {{{shown}: ...}}'
        yield (
            f"{where}/{_escaped(key[:64])}",
            f"{name} has no field {key[:64]!r}; allowed: {', '.join(fields)}{hint}",
        )
    for key, field in fields.items():
        if field.required and key not in value:
            yield where, f"{name} must have the field {key}"


def _out_of_range(
    value: float, shape: inspect.IntType | inspect.FloatType, where: str, name: str
) -> Iterator[tuple[str, str]]:
    low = -math.inf if shape.ge is None else shape.ge
    high = math.inf if shape.le is None else shape.le
    if value < low:
        yield where, f"{name} must be at least {_shown(low)}, got {_shown(value)}"
    elif value > high:
        yield where, f"{name} must be at most {_shown(high)}, got {_shown(value)}"


def _shown(value: float) -> str:
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return f"a number of {int(math.log10(abs(value))) + 1} digits"
    is_short = abs(value) < 1e15 and float(value).is_integer()
    return f"{int(value):,}" if is_short else f"{value:g}"


def _wanted(shape: inspect.Type) -> str:
    if isinstance(shape, inspect.LiteralType):
        return "one of " + ", ".join(map(str, shape.values))
    return _KINDS[type(shape)][1]


_KINDS: dict[type, tuple[tuple[type, ...], str]] = {
    inspect.StructType: ((dict,), "an object"),
    inspect.DictType: ((dict,), "an object"),
    inspect.VarTupleType: ((list,), "an array"),
    inspect.StrType: ((str,), "text"),
    inspect.FloatType: ((int, float), "a number"),
    inspect.IntType: ((int,), "a whole number"),
    inspect.BoolType: ((bool,), "true or false"),
    inspect.LiteralType: ((str,), "text"),
    inspect.NoneType: ((type(None),), "null"),
}


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    words = {str: "text", int: "a number", float: "a number", list: "an array", dict: "an object"}
    return words[type(value)]


def _pointer(path: str) -> str:
    """Return msgspec's path as a JSON pointer, up to the first value of a map: it has no name."""
    steps = _STEP.findall(path.split("[...]")[0])
    return "".join(f"/{_escaped(name or index)}" for name, index in steps)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
