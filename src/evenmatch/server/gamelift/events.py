"""GameLift's matchmaking events: what becomes of tickets, as EventBridge envelopes.

    entered, waits again, seeks replacements -> MatchmakingSearching
    proposed, or matched without being asked -> PotentialMatchCreated
    a player accepted, or rejected -> AcceptMatch
    all accepted, one rejected, time is up -> AcceptMatchCompleted
    matched, with a queue: has a server -> MatchmakingSucceeded
    -> MatchmakingTimedOut, MatchmakingCancelled, MatchmakingFailed

They are made from durable records only, of configurations that name a target, and of all while
somebody follows. Requests to fill a match are tickets in them like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import islice
from typing import NamedTuple

from evenmatch.config.gamelift import ConfigurationTable
from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import LifecycleView, MatchWithTickets
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.model.events import (
    WITHDRAWN,
    Assigned,
    Cancelled,
    Closed,
    Confirmed,
    Dissolved,
    Event,
    Expired,
    Finished,
    Opened,
    Registered,
    SeatsFreed,
    Voided,
)
from evenmatch.model.inputs import Decline
from evenmatch.model.match import Match, OpenMatch
from evenmatch.model.ticket import Player, Ticket
from evenmatch.rules.flexmatch.rule_set import RuleSet
from evenmatch.server.gamelift.envelopes import Detail, Envelope, Marks, envelope_of, tickets_of
from evenmatch.server.gamelift.event_log import EventLog
from evenmatch.server.gamelift.memory import is_ours
from evenmatch.server.gamelift.rule_metrics import Metrics, metrics_of_match, metrics_of_ticket
from evenmatch.server.gamelift.ticket_view import WHY, address_in, played_in, side_name

MADE_MAX = 20_000
"""Matches that wait for a server and are remembered; beyond, the oldest are forgotten."""
NOT_KNOWN = "NOT_AVAILABLE"
SILENT = "silent"
LOOKED_AT = 16
"""Tickets that wait and are looked at for `ruleEvaluationMetrics`."""

Seated = tuple[tuple[Ticket, ...], ...]
Lookup = Callable[[str], tuple[str, ConfigurationTable] | None]


class EventSources(NamedTuple):
    """Where events get the facts that records do not contain.

    Args:
        lookup: The configuration of a queue.
        since: Unix time of an engine instant.
        rule_set: A rule set by its name.
        wait: Seconds that a ticket will probably wait, if that is known.
    """

    lookup: Lookup
    since: Callable[[float], float]
    rule_set: Callable[[str], RuleSet]
    wait: Callable[[Engine, str], float | None]


class OpenBackfill(NamedTuple):
    """A request to fill a match: as a ticket of all who play, and who they are by team."""

    row: LiveTicket
    teams: Seated


class GameLiftEvents(LifecycleView):
    """Makes events of tickets that came over GameLift's protocol, from durable records.

    Args:
        send: Takes the target of a configuration and an envelope for it.
        wall: Unix time.
    """

    def __init__(self, send: Callable[[str, Envelope], None], wall: Callable[[], float]) -> None:
        self.log = EventLog()
        self._send = send
        self._wall = wall
        self._sources: EventSources | None = None
        self._engine: Engine | None = None
        self._rows: dict[str, LiveTicket] = {}
        self._waiting: dict[str, dict[str, None]] = {}
        self._made: dict[str, tuple[MatchWithTickets, OpenBackfill | None]] = {}
        self._failed: set[str] = set()
        # Why tickets left their proposals, in the record that was asked about last.
        self._reasons: tuple[Record | None, dict[str, set[str]]] = (None, {})
        # Of each proposal: the match as it is now, and what its players have said.
        self._asked: dict[str, Match] = {}
        self._answers: dict[str, dict[str, bool]] = {}
        self._seeking: set[str] = set()
        self._registered: dict[str, Seated] = {}
        self._asking: dict[str, OpenBackfill] = {}

    def begin(self, sources: EventSources) -> None:
        """Tell of the configurations of these sources."""
        self._sources = sources

    # Records

    def began(self, engine: Engine, live: Collection[LiveTicket]) -> None:
        """Start over; what is told already is not told again."""
        tables = engine.tables
        self._engine = engine
        self._rows = {row.ticket.id: row for row in live if is_ours(row.ticket.id)}
        self._waiting = {}
        for ticket_id, row in self._rows.items():
            self._queue_of(row)[ticket_id] = None
        self._made, self._failed, self._seeking, self._registered = {}, set(), set(), {}
        self._asked = {name: each.match for name, each in tables.proposals.items()}
        self._answers = {
            name: {player: True for players in each.accepted.values() for player in players}
            for name, each in tables.proposals.items()
        }
        self._asking = {
            name: _asking(roster.open, roster.teams)
            for name, roster in tables.rosters.items()
            if roster.open is not None and is_ours(roster.open.ticket)
        }
        self.log.begin(tables.sequence)

    def heard(self, record: Record) -> None:
        """Tell that somebody turns a match down, before what comes of it."""
        self.log.turn(record.sequence)
        input_ = record.input
        if isinstance(input_, Decline) and (match := self._asked.get(input_.match)) is not None:
            row = self._rows.get(input_.ticket)
            named = input_.players or tuple(p.id for p in row.ticket.players) if row else ()
            self._answered(match, named, is_yes=False)

    def entered(self, record: Record, row: LiveTicket) -> None:
        """Tell that a search begins."""
        del record
        if is_ours(row.ticket.id):
            self._rows[row.ticket.id] = row
            self._queue_of(row)[row.ticket.id] = None
            self._searching(row)

    def released(self, record: Record, row: LiveTicket) -> None:
        """Tell that a search goes on, if that was not told when seats became free."""
        del record
        if is_ours(row.ticket.id):
            if row.ticket.id in self._seeking:
                self._seeking.discard(row.ticket.id)
            else:
                self._searching(row)

    def returned(self, record: Record, row: LiveTicket) -> None:
        """Tell that a search goes on for want of a server."""
        self.entered(record, row)

    def proposed(self, record: Record, match: Match) -> None:
        """Tell that players are asked."""
        self._asked[match.id], self._answers[match.id] = match, {}
        self._potential(record, match, is_asked=True, asking=self._asking_for(match))

    def repaired(self, record: Record, match: Match) -> None:
        """Tell that others are asked as well."""
        self._asked[match.id] = match
        self._seeking.difference_update(match.tickets)
        self._potential(record, match, is_asked=True)

    def dissolved(self, record: Record, event: Dissolved, queue: str) -> None:
        """Tell that not all have accepted, if that was not told when seats became free."""
        match = self._asked.pop(event.match, None)
        self._answers.pop(event.match, None)
        if event.match in self._failed:
            self._failed.discard(event.match)
        else:
            how = self._failure_in(record, event.match)
            asking = None if match is None else self._asking_for(match)
            self._completed(queue, self._of(event.tickets), event.match, how, match, asking)
            if asking is not None and event.reason != WITHDRAWN:
                self._searching(asking.row)

    def matched(self, record: Record, made: MatchWithTickets) -> None:
        """Tell of a match; with a queue that it succeeded only when it has a server."""
        match = made.match
        asking = self._asking.pop(match.extends or "", None)
        rows = [row for row in made.tickets if row is not None and is_ours(row.ticket.id)]
        if not rows and asking is None:
            return
        self._failed.discard(match.id)
        if made.was_proposed:
            self._asked.pop(match.id, None)
            self._answers.pop(match.id, None)
            self._completed(match.queue, rows, match.id, "Accepted", match, asking)
        else:
            self._potential(record, match, is_asked=False, asking=asking, rows=rows)
        for row in rows:
            self._forget(row)
        has_queue = (found := self._found(match.queue)) and found[1].mode == "WITH_QUEUE"
        if has_queue:
            self._made[match.id] = made, asking
            while len(self._made) > MADE_MAX:
                del self._made[next(iter(self._made))]
        else:
            self._succeeded(made, asking, {})

    def voided(self, record: Record, event: Voided, made: list[MatchWithTickets]) -> None:
        """Tell that a match has no server; `returned` follows."""
        del record, made
        self._over(event.match)
        lost = self._made.pop(event.match, None)
        if lost is not None:
            reason = {"reason": "PLACEMENT_FAILED", "message": event.reason}
            self._tell_of_match("MatchmakingFailed", *lost, reason)

    def ended(self, record: Record, row: LiveTicket, event: Cancelled | Expired) -> None:
        """Tell that a ticket ended without a match."""
        if row.ticket.id not in self._rows:
            return
        self._forget(row)
        self._seeking.discard(row.ticket.id)
        self._ended(row, event.reason, record.input.now, is_late=isinstance(event, Expired))

    def told(self, record: Record, event: Event) -> None:
        """Tell of answers to proposals, of servers, and of requests to fill matches."""
        if isinstance(event, Confirmed):
            if (match := self._asked.get(event.match)) is not None:
                self._answered(match, event.players, is_yes=True)
        elif isinstance(event, SeatsFreed):
            self._seats_freed(record, event)
        elif isinstance(event, Assigned):
            found = self._made.pop(event.match, None)
            if found is not None:
                given = event.assignment or getattr(record.input, "assignment", {})
                self._succeeded(*found, given)
        elif isinstance(event, Registered):
            self._registered[event.match.id] = event.teams
        elif isinstance(event, Opened):
            self._opened(record, event)
        elif isinstance(event, Closed):
            asking = self._asking.pop(event.match, None)
            if asking is not None:
                is_late = event.reason == "lease"
                reason = {"lease": "deadline", "close": "player"}.get(event.reason, event.reason)
                self._ended(asking.row, reason, record.input.now, is_late=is_late)
        elif isinstance(event, Finished):
            self._over(event.match)

    def _seats_freed(self, record: Record, event: SeatsFreed) -> None:
        """Tell that not all have accepted, and that those who are left search on."""
        rows = self._of(ticket for team in event.open.seated for ticket in team)
        names = {each.id for row in rows for each in row.ticket.players}
        answers = self._answers.get(event.open.id, {})
        self._answers[event.open.id] = {k: v for k, v in answers.items() if k in names}
        if event.open.id not in self._failed:
            self._failed.add(event.open.id)
            match = self._asked.get(event.open.id)
            how = self._failure_in(record, event.open.id)
            self._completed(event.open.queue, rows, event.open.id, how, match)
        for row in rows:
            if row.ticket.id not in self._seeking:
                self._seeking.add(row.ticket.id)
                self._searching(row)

    def _failure_in(self, record: Record, match_id: str) -> str:
        """Return why a proposal lost tickets: nobody turned it down, or somebody did."""
        if self._reasons[0] is not record:
            self._reasons = record, _reasons_in(record)
        return "TimedOut" if self._reasons[1].get(match_id) == {SILENT} else "Rejected"

    def _opened(self, record: Record, event: Opened) -> None:
        """Tell that a match asks for players, under a new name or for the first time."""
        match_id, ticket = event.open.id, event.open.ticket
        teams = self._registered.pop(match_id, None)
        known = self._asking.get(match_id)
        if known is not None and known.row.ticket.id != ticket:
            del self._asking[match_id]
            self._ended(known.row, "replaced", record.input.now, is_late=False)
        if not is_ours(ticket) or not any(event.open.free):
            return
        if teams is None:
            assert self._engine is not None
            roster = self._engine.tables.rosters.get(match_id)
            teams = () if roster is None else roster.teams
        is_new = known is None or known.row.ticket.id != ticket
        asking = self._asking[match_id] = _asking(event.open, teams)
        if is_new:
            self._searching(asking.row)

    def _over(self, match_id: str) -> None:
        """Tell that a match that asked for players is over."""
        asking = self._asking.pop(match_id, None)
        if asking is not None:
            _, message = WHY["match_over"]
            more = {"reason": "MATCH_OVER", "message": message, "matchId": match_id}
            queue = asking.row.ticket.queues[0]
            self._tell(queue, "MatchmakingFailed", [asking.row], more, self._marks_of(asking))

    # Envelopes

    def _searching(self, row: LiveTicket) -> None:
        queue = row.ticket.queues[0]
        if not self._listens(queue):
            return
        assert self._sources is not None
        assert self._engine is not None
        wait = self._sources.wait(self._engine, row.ticket.id)
        known = NOT_KNOWN if wait is None else max(0, round(wait * 1000))
        self._tell(queue, "MatchmakingSearching", [row], {"estimatedWaitMillis": known})

    def _potential(
        self,
        record: Record,
        match: Match,
        *,
        is_asked: bool,
        asking: OpenBackfill | None = None,
        rows: list[LiveTicket] | None = None,
    ) -> None:
        if not self._listens(match.queue):
            return
        found = self._found(match.queue)
        rows = self._of(match.tickets) if rows is None else rows
        more: Detail = {
            "acceptanceRequired": is_asked,
            "ruleEvaluationMetrics": self._around_match(match, rows, asking, record.input.now),
            "matchId": match.id,
        }
        if is_asked and found is not None and found[1].acceptance_timeout is not None:
            more["acceptanceTimeout"] = found[1].acceptance_timeout
        marks = self._marks(match, self._answers.get(match.id), asking)
        self._tell(match.queue, "PotentialMatchCreated", _with(asking, rows), more, marks)

    def _answered(self, match: Match, players: Iterable[str], *, is_yes: bool) -> None:
        answers = self._answers.setdefault(match.id, {})
        answers.update(dict.fromkeys(players, is_yes))
        asking, more = self._asking_for(match), {"matchId": match.id}
        rows, marks = _with(asking, self._of(match.tickets)), self._marks(match, answers, asking)
        self._tell(match.queue, "AcceptMatch", rows, more, marks)

    def _asking_for(self, match: Match) -> OpenBackfill | None:
        """Return the request that newcomers are to fill; None of other matches."""
        return self._asking.get(match.extends) if match.extends is not None else None

    def _completed(
        self,
        queue: str,
        rows: list[LiveTicket],
        match_id: str,
        how: str,
        match: Match | None = None,
        asking: OpenBackfill | None = None,
    ) -> None:
        more = {"acceptance": how, "matchId": match_id}
        marks = None if match is None else self._marks(match, None, asking)
        self._tell(queue, "AcceptMatchCompleted", _with(asking, rows), more, marks)

    def _ended(self, row: LiveTicket, reason: str, now: float, *, is_late: bool) -> None:
        queue = row.ticket.queues[0]
        if not self._listens(queue):
            return
        why, message = WHY.get(reason, ("Cancelled", f"Cancelled: {reason}."))
        kind = "MatchmakingTimedOut" if is_late else "MatchmakingCancelled"
        more: Detail = {
            "reason": why,
            "message": message,
            "ruleEvaluationMetrics": self._around_ticket(row, now),
        }
        self._tell(queue, kind, [row], more)

    def _succeeded(
        self, made: MatchWithTickets, asking: OpenBackfill | None, assignment: dict[str, str]
    ) -> None:
        assert self._engine is not None
        match = made.match
        session: Detail = {
            "gameSessionArn": played_in(self._engine.tables, match.extends or match.id)
        }
        for key, value in zip(
            ("ipAddress", "dnsName", "port"), address_in(assignment), strict=True
        ):
            if value:
                session[key] = value
        self._tell_of_match(
            "MatchmakingSucceeded", made, asking, {}, session, has_place=bool(assignment)
        )

    def _tell_of_match(
        self,
        kind: str,
        made: MatchWithTickets,
        asking: OpenBackfill | None,
        more: Detail,
        session: Detail | None = None,
        *,
        has_place: bool = False,
    ) -> None:
        rows = [row for row in made.tickets if row is not None and is_ours(row.ticket.id)]
        rows = _with(asking, rows)
        marks = self._marks(made.match, None, asking)
        if has_place:
            marks = marks._replace(session=made.match.extends or made.match.id)
        more = {"matchId": made.match.id, **more}
        self._tell(made.match.queue, kind, rows, more, marks, session)

    def _tell(
        self,
        queue: str,
        kind: str,
        rows: Collection[LiveTicket],
        more: Detail,
        marks: Marks | None = None,
        session: Detail | None = None,
    ) -> None:
        """Send an event to the target of the queue's configuration, and to those who follow."""
        found = self._found(queue) if rows and self._listens(queue) else None
        if found is None or self._sources is None:
            return
        name, table = found
        tickets = tickets_of(rows, marks or Marks(), self._sources.since)
        players = [each for ticket in tickets for each in ticket["players"]]
        detail = {
            "tickets": tickets,
            "type": kind,
            "gameSessionInfo": {**(session or {}), "players": players},
            **more,
        }
        if table.custom_event_data:
            detail["customEventData"] = table.custom_event_data
        envelope = envelope_of(name, detail, self._wall())
        if table.notification_target:
            self._send(table.notification_target, envelope)
        if self.log.is_wanted:
            self.log.put(queue, envelope)

    # What is known

    def _found(self, queue: str) -> tuple[str, ConfigurationTable] | None:
        return None if self._sources is None else self._sources.lookup(queue)

    def _listens(self, queue: str) -> bool:
        """Return whether anybody is told of a queue."""
        found = self._found(queue)
        return found is not None and (bool(found[1].notification_target) or self.log.is_wanted)

    def _marks(
        self,
        match: Match,
        answers: dict[str, bool] | None = None,
        asking: OpenBackfill | None = None,
    ) -> Marks:
        """Return what there is to say of the players of a match: their teams, and answers."""
        teams = {} if asking is None else dict(self._marks_of(asking).teams)
        assert self._engine is not None
        for at, team in enumerate(match.players):
            teams |= dict.fromkeys(team, side_name(self._engine.tables, match.queue, at))
        return Marks(teams, answers or {})

    def _marks_of(self, asking: OpenBackfill) -> Marks:
        assert self._engine is not None
        tables, queue = self._engine.tables, asking.row.ticket.queues[0]
        return Marks(
            {
                player.id: side_name(tables, queue, at)
                for at, team in enumerate(asking.teams)
                for ticket in team
                for player in ticket.players
            }
        )

    def _around_match(
        self, match: Match, rows: Collection[LiveTicket], asking: OpenBackfill | None, now: float
    ) -> Metrics:
        """Return what the rules say of a match and of those around it."""
        assert self._engine is not None
        rule_set = self._rule_set(match.queue)
        known = {row.ticket.id: row.ticket for row in rows}
        if rule_set is None or not all(each in known for each in match.tickets):
            return []
        teams = {
            side_name(self._engine.tables, match.queue, at): [known[each] for each in team]
            for at, team in enumerate(match.teams)
        }
        for at, seated in enumerate(() if asking is None else asking.teams):
            teams[side_name(self._engine.tables, match.queue, at)] += seated
        others = self._others(match.queue, known)
        return metrics_of_match(rule_set, teams, others, now)

    def _around_ticket(self, row: LiveTicket, now: float) -> Metrics:
        """Return what the rules say of matches of a ticket that ended, and of who waits."""
        queue = row.ticket.queues[0]
        rule_set = self._rule_set(queue)
        if rule_set is None:
            return []
        others = self._others(queue, (row.ticket.id,))
        return metrics_of_ticket(rule_set, row.ticket, others, now)

    def _others(self, queue: str, without: Collection[str]) -> list[Ticket]:
        """Return some who wait in a queue, longest waiting first."""
        names = (each for each in self._waiting.get(queue, ()) if each not in without)
        return [self._rows[each].ticket for each in islice(names, LOOKED_AT)]

    def _rule_set(self, queue: str) -> RuleSet | None:
        found = self._found(queue)
        return (
            None
            if found is None or self._sources is None
            else (self._sources.rule_set(found[1].rule_set))
        )

    def _queue_of(self, row: LiveTicket) -> dict[str, None]:
        return self._waiting.setdefault(row.ticket.queues[0], {})

    def _forget(self, row: LiveTicket) -> None:
        self._rows.pop(row.ticket.id, None)
        self._queue_of(row).pop(row.ticket.id, None)

    def _of(self, tickets: Iterable[str]) -> list[LiveTicket]:
        return [self._rows[each] for each in tickets if each in self._rows]


def _asking(opened: OpenMatch, teams: Seated) -> OpenBackfill:
    """Return a request to fill a match as a ticket of all who play in it."""
    players: list[Player] = [p for team in teams for each in team for p in each.players]
    ticket = Ticket(
        opened.ticket, opened.sequence, opened.enqueued_at, tuple(players), (opened.queue,)
    )
    return OpenBackfill(LiveTicket(ticket, (opened.queue,), opened.sequence), teams)


def _with(asking: OpenBackfill | None, rows: list[LiveTicket]) -> list[LiveTicket]:
    """Return the tickets of newcomers, after the request that they fill if it is one of ours."""
    return rows if asking is None else [asking.row, *rows]


def _reasons_in(record: Record) -> dict[str, set[str]]:
    """Return by proposal why tickets left it in a record; thousands may in one."""
    found: dict[str, set[str]] = {}
    for each in record.events:
        if isinstance(each, Cancelled) and each.match:
            found.setdefault(each.match, set()).add(each.reason)
    return found
