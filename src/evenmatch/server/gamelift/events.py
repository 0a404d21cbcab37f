"""GameLift's matchmaking events: what becomes of tickets, as EventBridge envelopes.

    entered, waits again -> MatchmakingSearching
    proposed, or matched without being asked -> PotentialMatchCreated
    a player accepted -> AcceptMatch
    all accepted, one rejected, time is up -> AcceptMatchCompleted
    matched, with a queue: has a server -> MatchmakingSucceeded
    -> MatchmakingTimedOut, MatchmakingCancelled, MatchmakingFailed

They are made from durable records only, of configurations that name a target. Which rules turned
down how many matches is not counted here, so `ruleEvaluationMetrics` is always empty.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from typing import Any

from evenmatch.config.gamelift import ConfigurationTable
from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import LifecycleView, MatchWithTickets
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.engine.state.state import Tables
from evenmatch.model.events import (
    Assigned,
    Cancelled,
    Confirmed,
    Dissolved,
    Event,
    Expired,
    SeatsFreed,
    Voided,
)
from evenmatch.model.inputs import Accept
from evenmatch.model.match import Match
from evenmatch.server.gamelift import arns
from evenmatch.server.gamelift.memory import PREFIX, is_ours
from evenmatch.server.gamelift.ticket_view import WHY, address_in, player_session

MADE_MAX = 20_000
"""Matches that wait for a server and are remembered; beyond, the oldest are forgotten."""
NOT_KNOWN = "NOT_AVAILABLE"
SILENT = "silent"

Detail = dict[str, Any]
Envelope = dict[str, Any]
Lookup = Callable[[str], tuple[str, ConfigurationTable] | None]


class GameLiftEvents(LifecycleView):
    """Hears of durable records and tells of the tickets that came over GameLift's protocol.

    Args:
        send: Takes the target of a configuration and an envelope for it.
        wall: Unix time.
    """

    def __init__(self, send: Callable[[str, Envelope], None], wall: Callable[[], float]) -> None:
        self._send = send
        self._wall = wall
        self._lookup: Lookup = lambda _: None
        self._since: Callable[[float], float] = lambda at: at
        self._tables: Tables | None = None
        self._rows: dict[str, LiveTicket] = {}
        self._made: dict[str, MatchWithTickets] = {}
        self._failed: set[str] = set()

    def begin(self, lookup: Lookup, since: Callable[[float], float]) -> None:
        """Tell of the configurations that `lookup` finds by queue; `since` turns engine time."""
        self._lookup, self._since = lookup, since

    # Records

    def began(self, engine: Engine, live: Collection[LiveTicket]) -> None:
        """Begin anew; what is told already is not told again."""
        self._tables = engine.tables
        self._rows = {row.ticket.id: row for row in live if is_ours(row.ticket.id)}
        self._made = {}
        self._failed = set()

    def entered(self, record: Record, row: LiveTicket) -> None:
        """Tell that a search begins."""
        del record
        if is_ours(row.ticket.id):
            self._rows[row.ticket.id] = row
            self._searching(row)

    def released(self, record: Record, row: LiveTicket) -> None:
        """Tell that a search goes on."""
        del record
        if is_ours(row.ticket.id):
            self._searching(row)

    def returned(self, record: Record, row: LiveTicket) -> None:
        """Tell that a search goes on for want of a server."""
        self.entered(record, row)

    def proposed(self, record: Record, match: Match) -> None:
        """Tell that players are asked."""
        self._potential(record, match, is_asked=True)

    def repaired(self, record: Record, match: Match) -> None:
        """Tell that others are asked as well."""
        self._potential(record, match, is_asked=True)

    def dissolved(self, record: Record, event: Dissolved, queue: str) -> None:
        """Tell that not all have accepted, if that was not told when seats became free."""
        if event.match in self._failed:
            self._failed.discard(event.match)
        else:
            self._completed(queue, self._of(event.tickets), event.match, _failure_in(record))

    def matched(self, record: Record, made: MatchWithTickets) -> None:
        """Tell of a match; with a queue that it succeeded only when it has a server."""
        match = made.match
        rows = [row for row in made.tickets if row is not None and is_ours(row.ticket.id)]
        if not rows:
            return
        self._failed.discard(match.id)
        if made.was_proposed:
            if isinstance(given := record.input, Accept) and given.match == match.id:
                # The last answer makes the match, and no more is said of it.
                names = [each.id for row in rows for each in row.ticket.players]
                more = {"matchId": match.id}
                self._tell(match.queue, "AcceptMatch", rows, more, match, accepted=names)
            self._completed(match.queue, rows, match.id, "Accepted", match)
        else:
            self._potential(record, match, is_asked=False)
        found = self._lookup(match.queue)
        if found is not None and found[1].mode == "WITH_QUEUE":
            self._made[match.id] = made
            while len(self._made) > MADE_MAX:
                del self._made[next(iter(self._made))]
        else:
            self._succeeded(made, {})
        for row in rows:
            self._rows.pop(row.ticket.id, None)

    def voided(self, record: Record, event: Voided, made: list[MatchWithTickets]) -> None:
        """Tell that a match has no server; `returned` follows."""
        del record, made
        lost = self._made.pop(event.match, None)
        if lost is not None:
            reason = {"reason": "PLACEMENT_FAILED", "message": event.reason}
            self._tell_of_match("MatchmakingFailed", lost, reason)

    def ended(self, record: Record, row: LiveTicket, event: Cancelled | Expired) -> None:
        """Tell that a ticket ended without a match."""
        del record
        if self._rows.pop(row.ticket.id, None) is None:
            return
        reason, message = WHY.get(event.reason, ("Cancelled", f"Cancelled: {event.reason}."))
        is_late = isinstance(event, Expired)
        self._tell(
            row.ticket.queues[0],
            "MatchmakingTimedOut" if is_late else "MatchmakingCancelled",
            [row],
            {"reason": reason, "message": message, "ruleEvaluationMetrics": []},
        )

    def told(self, record: Record, event: Event) -> None:
        """Tell of answers to proposals, and of servers."""
        if isinstance(event, Confirmed):
            self._accepted(event)
        elif isinstance(event, SeatsFreed):
            rows = self._of(ticket for team in event.open.seated for ticket in team)
            self._failed.add(event.open.id)
            self._completed(event.open.queue, rows, event.open.id, _failure_in(record))
        elif isinstance(event, Assigned):
            made = self._made.pop(event.match, None)
            if made is not None:
                given = event.assignment or getattr(record.input, "assignment", {})
                self._succeeded(made, given)

    # Envelopes

    def _searching(self, row: LiveTicket) -> None:
        known = {"estimatedWaitMillis": NOT_KNOWN}
        self._tell(row.ticket.queues[0], "MatchmakingSearching", [row], known)

    def _potential(self, record: Record, match: Match, *, is_asked: bool) -> None:
        del record
        found = self._lookup(match.queue)
        timeout = None if found is None else found[1].acceptance_timeout
        more: Detail = {
            "acceptanceRequired": is_asked,
            "ruleEvaluationMetrics": [],
            "matchId": match.id,
        }
        if is_asked and timeout is not None:
            more["acceptanceTimeout"] = timeout
        self._tell(match.queue, "PotentialMatchCreated", self._of(match.tickets), more, match)

    def _accepted(self, event: Confirmed) -> None:
        assert self._tables is not None
        proposal = self._tables.proposals.get(event.match)
        match = None if proposal is None else proposal.match
        rows = self._of((event.ticket,) if match is None else match.tickets)
        if not rows:
            return
        done = {} if proposal is None else proposal.accepted
        names = {name for each in done.values() for name in each} | set(event.players)
        more = {"matchId": event.match}
        self._tell(rows[0].ticket.queues[0], "AcceptMatch", rows, more, match, accepted=names)

    def _completed(
        self,
        queue: str,
        rows: Collection[LiveTicket],
        match_id: str,
        how: str,
        match: Match | None = None,
    ) -> None:
        more = {"acceptance": how, "matchId": match_id}
        self._tell(queue, "AcceptMatchCompleted", rows, more, match)

    def _succeeded(self, made: MatchWithTickets, assignment: dict[str, str]) -> None:
        session: Detail = {"gameSessionArn": arns.session_of(made.match.extends or made.match.id)}
        address, name, port = address_in(assignment)
        if address:
            session["ipAddress"] = address
        if name:
            session["dnsName"] = name
        if port:
            session["port"] = port
        self._tell_of_match("MatchmakingSucceeded", made, {}, session, has_place=bool(assignment))

    def _tell_of_match(
        self,
        kind: str,
        made: MatchWithTickets,
        more: Detail,
        session: Detail | None = None,
        *,
        has_place: bool = False,
    ) -> None:
        rows = [row for row in made.tickets if row is not None and is_ours(row.ticket.id)]
        more = {"matchId": made.match.id, **more}
        self._tell(made.match.queue, kind, rows, more, made.match, session, has_place=has_place)

    def _tell(
        self,
        queue: str,
        kind: str,
        rows: Collection[LiveTicket],
        more: Detail,
        match: Match | None = None,
        session: Detail | None = None,
        *,
        accepted: Collection[str] | None = None,
        has_place: bool = False,
    ) -> None:
        """Send an event to the target of the queue's configuration, if it has one."""
        found = self._lookup(queue) if rows else None
        if found is None or not found[1].notification_target:
            return
        name, table = found

        def player(each: str) -> Detail:
            told: Detail = {"playerId": each}
            if match is not None and (team := self._team(match, each)) is not None:
                told["team"] = team
            if accepted is not None:
                told["accepted"] = each in accepted
            if has_place and match is not None:
                told["playerSessionId"] = player_session(match.extends or match.id, each)
            return told

        tickets = [
            {
                "ticketId": row.ticket.id.removeprefix(PREFIX),
                "startTime": iso(self._since(row.ticket.enqueued_at)),
                "players": [player(each.id) for each in row.ticket.players],
            }
            for row in rows
        ]
        players = [each for ticket in tickets for each in ticket["players"]]
        detail = {
            "tickets": tickets,
            "type": kind,
            "gameSessionInfo": {**(session or {}), "players": players},
            **more,
        }
        if table.custom_event_data:
            detail["customEventData"] = table.custom_event_data
        self._send(table.notification_target, envelope_of(name, detail, self._wall()))

    def _team(self, match: Match, player: str) -> str | None:
        assert self._tables is not None
        queue = self._tables.queues.get(match.queue)
        for at, team in enumerate(match.players):
            if player in team:
                sides = () if queue is None else queue.format.sides
                return sides[at] if at < len(sides) else f"team_{at + 1}"
        return None

    def _of(self, tickets: Iterable[str]) -> list[LiveTicket]:
        return [self._rows[each] for each in tickets if each in self._rows]


def _failure_in(record: Record) -> str:
    """Return why a proposal lost tickets in a record: nobody turned it down, or somebody did."""
    left = [each for each in record.events if isinstance(each, Cancelled) and each.match]
    return "TimedOut" if left and all(each.reason == SILENT for each in left) else "Rejected"


def envelope_of(configuration: str, detail: Detail, at: float) -> Envelope:
    """Return an event as EventBridge hands it on."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "GameLift Matchmaking Event",
        "source": "aws.gamelift",
        "account": arns.ACCOUNT,
        "time": iso(at),
        "region": arns.REGION,
        "resources": [arns.arn_of(arns.CONFIGURATION, configuration)],
        "detail": detail,
    }


def iso(at: float) -> str:
    """Return Unix time as events have it.

    >>> iso(1502226936.421)
    '2017-08-08T21:15:36.421Z'
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
