"""Tickets as GameLift shows them: our states in AWS's words.

waiting   -> SEARCHING, or QUEUED while the queue is paused
proposed  -> REQUIRES_ACCEPTANCE; while replacements are sought SEARCHING
matched   -> COMPLETED; with a queue PLACING until there is a server, FAILED if there is none
assigned  -> COMPLETED
cancelled -> CANCELLED
expired   -> TIMED_OUT
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Callable, Mapping
from typing import NamedTuple

from evenmatch.engine.engine import Engine
from evenmatch.engine.state.rows import TicketView
from evenmatch.engine.state.state import Tables
from evenmatch.errors import MatchmakingError
from evenmatch.model.match import Match
from evenmatch.model.ticket import Player
from evenmatch.server.gamelift import arns
from evenmatch.server.gamelift.memory import PREFIX, GameLiftMemory
from evenmatch.server.gamelift.players import shape_of
from evenmatch.server.gamelift.shapes import (
    GameSessionConnectionInfo,
    MatchedPlayerSession,
    MatchmakingTicket,
    PlayerShape,
    Status,
)

WHY = {
    "player": ("Cancelled", "Cancelled by request."),
    "operator": ("Cancelled", "Cancelled by an operator."),
    "replaced": ("Cancelled", "A player of the ticket asked for another match since."),
    "silent": ("AcceptanceTimedOut", "Not all players of the ticket answered in time."),
    "declined": ("AcceptanceRejected", "A player of the ticket turned the match down."),
    "deadline": ("TimedOut", "Removed from matchmaking due to timing out."),
    "match_over": ("Failed", "The match is over: nobody can join it."),
    "queue_changed": ("TimedOut", "The matchmaking configuration takes no such tickets any more."),
}
RETURNED = ("AcceptanceFailed", "Others did not accept the match; the search goes on.")
REPAIR = ("AcceptanceFailed", "Others did not accept the match; their places are being filled.")


class Surroundings(NamedTuple):
    """What it takes to show tickets.

    Args:
        memory: What the engine does not keep of them.
        configuration: The name of the configuration of a queue.
        is_dead: Says of a match whether nobody looks for a server for it any more.
        wall: Unix time of an engine instant.
        wait: Seconds that a ticket will probably wait, if that is known.
    """

    memory: GameLiftMemory
    configuration: Callable[[str], str]
    is_dead: Callable[[str], bool]
    wall: Callable[[float], float]
    wait: Callable[[Engine, str], float | None]


def ticket_shape(engine: Engine, ticket: str, around: Surroundings) -> MatchmakingTicket:
    """Return a ticket as GameLift shows it.

    Raises:
        UnknownTicket, Forgotten: It is not known, or no longer.
    """
    view = engine.view(ticket)
    status, (reason, message) = status_of(engine, view, around)
    match = _match_of(engine, view)
    name = around.configuration(view.queues[0])
    wait = around.wait(engine, ticket) if status == "SEARCHING" else None
    return MatchmakingTicket(
        ticket_id=ticket.removeprefix(PREFIX),
        configuration_name=name,
        configuration_arn=arns.arn_of(arns.CONFIGURATION, name),
        status=status,
        status_reason=reason or None,
        status_message=message or None,
        start_time=around.wall(view.enqueued_at),
        end_time=None if view.ended_at is None else around.wall(view.ended_at),
        players=_players(engine, view, match, around.memory),
        game_session_connection_info=_connection(engine, view, match, status),
        estimated_wait_time=None if wait is None else max(0, round(wait)),
    )


def status_of(
    engine: Engine, view: TicketView, around: Surroundings
) -> tuple[Status, tuple[str, str]]:
    """Return a ticket's state in AWS's words, and why it is in it: a word and a sentence."""
    tables, state = engine.tables, view.state
    if state == "waiting":
        if any(queue in tables.paused for queue in view.queues):
            return "QUEUED", ("", "")
        return "SEARCHING", RETURNED if around.memory.was_returned(view.id) else ("", "")
    if state == "proposed":
        proposal = tables.proposals.get(view.match or "")
        if proposal is not None and proposal.open is not None:
            return "SEARCHING", REPAIR
        return "REQUIRES_ACCEPTANCE", ("", "")
    if state == "matched":
        roster = tables.rosters.get(view.match or "")
        if roster is None or roster.allocation is None:
            return "COMPLETED", ("", "")
        if around.is_dead(view.match or ""):
            return "FAILED", ("PlacementFailed", "No server was to be had for the match.")
        return "PLACING", ("", "")
    if state == "assigned":
        return "COMPLETED", ("", "")
    why = WHY.get(view.reason or "", ("Cancelled", f"Cancelled: {view.reason}."))
    return ("TIMED_OUT" if state == "expired" else "CANCELLED"), why


def team_of(engine: Engine, match: Match, player: str) -> str | None:
    """Return the name of a player's team in a match."""
    for at, team in enumerate(match.players):
        if player in team:
            return side_name(engine.tables, match.queue, at)
    return None


def side_name(tables: Tables, queue: str, at: int) -> str:
    """Return the name of a queue's team number `at`, from 0."""
    known = tables.queues.get(queue)
    sides = () if known is None else known.format.sides
    return sides[at] if at < len(sides) else f"team_{at + 1}"


def played_in(tables: Tables, match: str) -> str:
    """Return the ARN of the game session in which a match is played."""
    kept_match = tables.matches.get(match)
    if kept_match is None or not kept_match.registered:
        return arns.session_of(match)
    session = (kept_match.assignment or {}).get("session", match)
    # Whoever asked without an ARN got one with the id of the first such match.
    return arns.session_of(session) if session in tables.matches else session


def _match_of(engine: Engine, view: TicketView) -> Match | None:
    """Return the match that a ticket is in, made or proposed; None of what is not kept."""
    if view.match is None or view.state in ("cancelled", "expired"):
        return None
    proposal = engine.tables.proposals.get(view.match)
    if proposal is not None:
        return proposal.match
    try:
        return engine.match(view.match).match
    except MatchmakingError:
        return None


def _players(
    engine: Engine, view: TicketView, match: Match | None, memory: GameLiftMemory
) -> tuple[PlayerShape, ...]:
    players = memory.players_of(view.id)
    if players is None:
        live, ended = engine.tables.waiting.get(view.id), engine.tables.ended.get(view.id)
        if live is not None:
            players = live.ticket.players
        else:
            players = tuple(Player(each) for each in (ended.players if ended else ()))
    return tuple(
        shape_of(each, None if match is None else team_of(engine, match, each.id))
        for each in players
    )


def _connection(
    engine: Engine, view: TicketView, match: Match | None, status: Status
) -> GameSessionConnectionInfo | None:
    if status != "COMPLETED" or match is None:
        return None
    played = match.extends or match.id
    arn = played_in(engine.tables, played)
    if not view.assignment:
        return GameSessionConnectionInfo(game_session_arn=arn)
    ended = engine.tables.ended.get(view.id)
    address, name, port = address_in(view.assignment)
    return GameSessionConnectionInfo(
        game_session_arn=arn,
        ip_address=address,
        dns_name=name,
        port=port,
        matched_player_sessions=tuple(
            MatchedPlayerSession(player_id=each, player_session_id=player_session(played, each))
            for each in (ended.players if ended else ())
        ),
    )


def player_session(match: str, player: str) -> str:
    """Return the id of a player's session: the same for everybody who knows match and player.

    >>> player_session("s0-m1", "ada")
    'psess-4e0c439f-40b8-b336-acbe-76470960b912'
    """
    digest = hashlib.sha256(f"{match}/{player}".encode()).hexdigest()
    return f"psess-{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"


def address_in(assignment: Mapping[str, str]) -> tuple[str | None, str | None, int | None]:
    """Return IP address, name and port of an assignment, as far as it says them.

    >>> address_in({"connection": "10.0.0.1:7777"}), address_in({"dns": "a.example", "port": "80"})
    (('10.0.0.1', None, 7777), (None, 'a.example', 80))
    """
    host, _, end = assignment.get("connection", "").rpartition(":")
    host = assignment.get("ip") or assignment.get("address") or host or end
    port = assignment.get("port") or end
    name = assignment.get("dns") or None
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else 0
    try:
        address: str | None = str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        address, name = None, name or host or None
    return address, name, number if 1 <= number <= 65_535 else None
