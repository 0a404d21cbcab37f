"""StartMatchBackfill: a running match of this server asks for players.

Which match a ticket of a backfill stands for is kept in memory. What the engine keeps is that the
match asks for players, and who came; so after a restart the match goes on asking, and its ticket is
not known any more: asking again takes its place.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

import msgspec

from evenmatch.config.gamelift import queue_name_of
from evenmatch.engine.engine import Engine
from evenmatch.errors import MatchmakingError
from evenmatch.model.inputs import Close, Open
from evenmatch.rules.flexmatch.rule_set import RuleSet
from evenmatch.server.gamelift import arns, shapes
from evenmatch.server.gamelift.players import players_of
from evenmatch.server.gamelift.resources import Resources
from evenmatch.server.gamelift.service_errors import invalid
from evenmatch.server.gamelift.shapes import Status
from evenmatch.server.gamelift.ticket_view import WHY
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.wire.backfill import LEASE_MAX

TICKETS_MAX = 10_000
"""Tickets of backfills that are remembered; beyond, the oldest are forgotten."""
FOREIGN = (
    "GameSessionArn: must be that of a match that this server has made, and that still runs; "
    "matches of others cannot be filled yet"
)


class BackfillTicket(msgspec.Struct):
    """A request to fill a match.

    Args:
        name: The configuration's.
        match: The match that asks for players.
        version: How often the match had been filled before.
        players: Who played then.
        start: Unix time.
        status: How it ended, where that is known; "" of one that may still be open.
        end: Unix time of that.
    """

    name: str
    match: str
    version: int
    players: tuple[shapes.PlayerShape, ...]
    start: float
    status: str = ""
    end: float | None = None


class Backfills:
    """The backfills of one server.

    Args:
        runtime: The shard at work.
        resources: Its configurations.
        rule_set: Gives a rule set by its name.
    """

    def __init__(
        self, runtime: Runtime, resources: Resources, rule_set: Callable[[str], RuleSet]
    ) -> None:
        self._runtime = runtime
        self._resources = resources
        self._rule_set = rule_set
        self._tickets: dict[str, BackfillTicket] = {}
        self._by_match: dict[str, str] = {}

    def __contains__(self, ticket: str) -> bool:
        """Return whether a ticket is one of a backfill."""
        return ticket in self._tickets

    async def start(self, given: shapes.StartMatchBackfill) -> shapes.MatchmakingTicket:
        """Let a match ask for players; an earlier request of the same match ends."""
        name, table = self._resources.configuration(given.configuration_name)
        rule_set = self._rule_set(table.rule_set)
        names = [each.id for each in players_of(given.players, rule_set)]
        ticket = given.ticket_id if given.ticket_id is not None else str(uuid.uuid4())
        if not ticket or ticket in self._tickets:
            raise invalid(f"TicketId: {ticket!r} was used before, or is empty")
        match = arns.match_in(given.game_session_arn or "")
        version, left = await self._runtime.look(
            lambda engine: _left_of(engine, match, queue_name_of(name), names)
        )
        lease = float(min(table.request_timeout, LEASE_MAX))
        priority = rule_set.algorithm.backfill_priority
        opening = Open(self._runtime.now(), match, version, left, (), priority, lease)
        await self._runtime.ask(opening)
        self._replace(match, ticket)
        made = BackfillTicket(name, match, version, given.players, self._runtime.wall())
        self._tickets[ticket] = made
        while len(self._tickets) > TICKETS_MAX:
            oldest = next(iter(self._tickets))
            del self._tickets[oldest]
        return self._shape(ticket, made, "QUEUED")

    async def stop(self, ticket: str) -> None:
        """Let a match ask for nobody any more."""
        row = self._tickets[ticket]
        if self._status(self._runtime.engine, row) == "SEARCHING":
            await self._runtime.ask(Close(self._runtime.now(), row.match))
            self._end(row, "CANCELLED")

    def describe(self, engine: Engine, ticket: str) -> shapes.MatchmakingTicket:
        """Return a ticket of a backfill as GameLift shows it; with who came, once it is done."""
        row = self._tickets[ticket]
        return self._shape(ticket, row, self._status(engine, row), engine)

    def queue_of(self, ticket: str) -> str:
        """Return the queue of a backfill."""
        return queue_name_of(self._tickets[ticket].name)

    def _replace(self, match: str, ticket: str) -> None:
        before = self._tickets.get(self._by_match.get(match, ""))
        if before is not None and self._status(self._runtime.engine, before) == "SEARCHING":
            self._end(before, "CANCELLED")
        self._by_match[match] = ticket
        while len(self._by_match) > TICKETS_MAX:
            del self._by_match[next(iter(self._by_match))]

    def _status(self, engine: Engine, row: BackfillTicket) -> Status:
        """Return how a backfill does; what it has come to stays."""
        if row.status:
            return row.status  # type: ignore[return-value]
        roster = engine.tables.rosters.get(row.match)
        if roster is None:
            return self._end(row, "FAILED")
        if not any(roster.free) or (roster.open is None and roster.version > row.version):
            return self._end(row, "COMPLETED")
        return "SEARCHING" if roster.open is not None else self._end(row, "TIMED_OUT")

    def _end(self, row: BackfillTicket, status: Status) -> Status:
        row.status, row.end = status, self._runtime.wall()
        return status

    def _shape(
        self, ticket: str, row: BackfillTicket, status: Status, engine: Engine | None = None
    ) -> shapes.MatchmakingTicket:
        reason, message = "", ""
        if status == "CANCELLED":
            reason, message = WHY["player"]
        elif status == "TIMED_OUT":
            reason, message = WHY["deadline"]
        return shapes.MatchmakingTicket(
            ticket_id=ticket,
            configuration_name=row.name,
            configuration_arn=arns.arn_of(arns.CONFIGURATION, row.name),
            status=status,
            status_reason=reason or None,
            status_message=message or None,
            start_time=row.start,
            end_time=row.end,
            players=_players(engine, row) if engine and status == "COMPLETED" else row.players,
            game_session_connection_info=shapes.GameSessionConnectionInfo(
                game_session_arn=arns.session_of(row.match)
            ),
        )


def _players(engine: Engine, row: BackfillTicket) -> tuple[shapes.PlayerShape, ...]:
    """Return who plays in the match now; of those who came since, the ids and the team."""
    roster = engine.tables.rosters.get(row.match)
    if roster is None:
        return row.players
    queue = engine.tables.queues.get(roster.queue)
    sides = () if queue is None else queue.format.sides
    known = {each.player_id: each for each in row.players}
    return tuple(
        msgspec.structs.replace(
            known.get(name) or shapes.PlayerShape(player_id=name),
            team=sides[at] if at < len(sides) else f"team_{at + 1}",
        )
        for at, team in enumerate(roster.players)
        for name in team
    )


def _left_of(
    engine: Engine, match: str, queue: str, names: list[str]
) -> tuple[int, tuple[str, ...]]:
    """Return how often a match was filled, and who of it is not among its players any more.

    Raises:
        ServiceError: It is not one that could be filled, or has never had one of the players.
    """
    try:
        roster = engine.roster(match)
    except MatchmakingError as error:
        raise invalid(f"{FOREIGN}: {error}") from None
    if roster.queue != queue:
        raise invalid(f"ConfigurationName: match {match} is one of {roster.queue!r}")
    there = {name for team in roster.players for name in team}
    if strangers := [name for name in names if name not in there]:
        raise invalid(f"Players: {strangers[0][:64]!r} does not play in match {match}")
    return roster.version, tuple(sorted(there - set(names)))
