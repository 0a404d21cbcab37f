"""StartMatchmaking, DescribeMatchmaking, StopMatchmaking, AcceptMatch: inputs of the engine."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from evenmatch.config.gamelift import ConfigurationTable, queue_name_of
from evenmatch.engine.engine import Engine
from evenmatch.engine.state.rows import TicketView
from evenmatch.errors import MatchmakingError, Refusal, TooLate
from evenmatch.model.events import Refused
from evenmatch.model.inputs import Accept, Cancel, Decline, Enqueue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.rules.flexmatch.reader import load_rule_set
from evenmatch.rules.flexmatch.rule_set import RuleSet
from evenmatch.server.auth.creation_rights import ELSEWHERE
from evenmatch.server.auth.ownership import check_ticket
from evenmatch.server.auth.principal import Forbidden, Principal
from evenmatch.server.gamelift import arns, shapes
from evenmatch.server.gamelift.backfill import Backfills
from evenmatch.server.gamelift.events import EventSources
from evenmatch.server.gamelift.memory import PREFIX
from evenmatch.server.gamelift.players import players_of, shape_of
from evenmatch.server.gamelift.resources import Resources
from evenmatch.server.gamelift.service_errors import NOT_FOUND, ServiceError, invalid, missing
from evenmatch.server.gamelift.ticket_view import Surroundings, status_of, ticket_shape
from evenmatch.server.runtime.services import Services
from evenmatch.server.runtime.shedding import LoadShedding

TRIES = 3
"""How often older tickets of the players are looked for, if others ask at the same time."""
REPLACED = "replaced"


class Tickets:
    """The tickets of one server."""

    def __init__(self, services: Services, resources: Resources) -> None:
        self._services = services
        self._runtime = services.runtime
        self._resources = resources
        self._rule_sets: dict[str, tuple[str, RuleSet]] = {}
        self._shedding = LoadShedding(
            lambda: services.runtime.lag.standing, services.runtime.commit_age
        )
        self._backfills = Backfills(
            services.runtime, resources, self._rule_set, self._wall, services.gamelift
        )
        services.gamelift_events.begin(
            EventSources(resources.of_queue, self._wall, self._rule_set, self._estimate)
        )
        self.around = Surroundings(
            services.gamelift, self._configuration, self._is_dead, self._wall, self._estimate
        )

    async def start(
        self, request: shapes.StartMatchmaking, caller: Principal
    ) -> shapes.TicketAnswer:
        """Let players wait; older tickets of theirs are cancelled."""
        name, table = self._own_configuration(request.configuration_name, caller)
        queue = queue_name_of(name)
        players = players_of(request.players, self._rule_set(table.rule_set))
        if request.ticket_id is not None and request.ticket_id in self._backfills:
            raise invalid(f"TicketId: {request.ticket_id!r} was used before")
        if request.ticket_id == "":
            raise invalid("TicketId: must have 1 to 128 characters; left out, one is made")
        ticket = request.ticket_id or str(uuid.uuid4())
        began = await self._shedding.enter()
        try:
            view = await self._enqueue(NewTicket(players, (queue,), id=PREFIX + ticket), caller)
        finally:
            self._shedding.leave(began)
        return shapes.TicketAnswer(
            matchmaking_ticket=shapes.MatchmakingTicket(
                ticket_id=ticket,
                configuration_name=name,
                configuration_arn=arns.arn_of(arns.CONFIGURATION, name),
                status="QUEUED",
                start_time=self._wall(view.enqueued_at),
                players=tuple(shape_of(each) for each in players),
            )
        )

    async def backfill(
        self, request: shapes.StartMatchBackfill, caller: Principal
    ) -> shapes.TicketAnswer:
        """Let a running match ask for players."""
        self._own_configuration(request.configuration_name, caller)
        return shapes.TicketAnswer(matchmaking_ticket=await self._backfills.start(request, caller))

    async def describe(
        self, request: shapes.DescribeMatchmaking, caller: Principal
    ) -> shapes.TicketsAnswer:
        """Show tickets; those that there are not, or no longer, are left out, as AWS does."""

        def query(engine: Engine) -> tuple[shapes.MatchmakingTicket, ...]:
            found = []
            for ticket in dict.fromkeys(request.ticket_ids):
                if ticket in self._backfills:
                    if not caller.queues or self._backfills.queue_of(ticket) in caller.queues:
                        found.append(self._backfills.describe(engine, ticket))
                    continue
                try:
                    _check_own(caller, engine.view(PREFIX + ticket).queues)
                    found.append(ticket_shape(engine, PREFIX + ticket, self.around))
                except MatchmakingError:
                    continue
            return tuple(found)

        return shapes.TicketsAnswer(ticket_list=await self._runtime.look(query))

    async def stop(self, request: shapes.StopMatchmaking, caller: Principal) -> shapes.Nothing:
        """Take a waiting ticket back; one that is cancelled already stays so."""
        if request.ticket_id in self._backfills:
            if caller.queues and self._backfills.queue_of(request.ticket_id) not in caller.queues:
                raise missing("matchmaking ticket", request.ticket_id)
            await self._backfills.stop(request.ticket_id)
            return shapes.Nothing()
        view = await self._view(request.ticket_id, caller)
        if view.state == "cancelled":
            return shapes.Nothing()
        if view.state == "expired":
            raise invalid(f"ticket {request.ticket_id!r} has ended: TIMED_OUT")
        try:
            await self._runtime.ask(Cancel(self._runtime.now(), view.id))
        except TooLate:
            raise invalid(f"ticket {request.ticket_id!r} has a match already") from None
        return shapes.Nothing()

    async def accept(self, request: shapes.AcceptMatch, caller: Principal) -> shapes.Nothing:
        """Accept a match for players of a ticket, or turn it down."""
        view = await self._view(request.ticket_id, caller)
        names = self._names(view)
        if strangers := [each for each in request.player_ids if each not in names]:
            raise invalid(f"PlayerIds: ticket {request.ticket_id!r} has no {strangers[0][:64]!r}")
        players = tuple(dict.fromkeys(request.player_ids))
        is_yes = request.acceptance_type == "ACCEPT"
        if view.state == "proposed" and view.match is not None:
            if is_yes and set(players) <= set(view.accepted):
                return shapes.Nothing()
            kind = Accept if is_yes else Decline
            await self._runtime.ask(kind(self._runtime.now(), view.match, view.id, players))
            return shapes.Nothing()
        queue = self._runtime.engine.tables.queues.get(view.queues[0])
        if is_yes and view.state in ("matched", "assigned") and queue and queue.accept:
            # Somebody accepts once more, and the last of the others was quicker.
            return shapes.Nothing()
        status, _ = status_of(self._runtime.engine, view, self.around)
        raise invalid(f"ticket {request.ticket_id!r} is {status}, and not REQUIRES_ACCEPTANCE")

    # Inputs

    async def _enqueue(self, new: NewTicket, caller: Principal) -> TicketView:
        """Enter a ticket, and cancel those that its players wait with.

        Whether it may enter at all is known before anything is cancelled: that its players wait
        already is the last thing that the engine minds.

        Raises:
            ServiceError: It may not.
        """
        for _ in range(TRIES):
            input_ = self._runtime.in_turn(Enqueue(self._runtime.now(), (new,)))
            (result,) = await self._runtime.ask(input_)
            if isinstance(result, TicketView) and result.id == new.id:
                return result
            if isinstance(result, Refused) and result.code != "already_waiting":
                raise _refused(result, (new.id or "").removeprefix(PREFIX))
            await self._cancel_older(new.players, caller)
        raise ServiceError("ThrottlingException", "players of the ticket keep asking for others")

    async def _cancel_older(self, players: Iterable[Player], caller: Principal) -> None:
        """Cancel the tickets with which players wait; all are the caller's, or none is cancelled.

        Raises:
            ServiceError: One is in a queue that the caller's key is not for.
        """
        live = self._runtime.engine.tables.players.get("default", {})
        older = tuple(dict.fromkeys(live[each.id] for each in players if each.id in live))
        for ticket in older:
            try:
                check_ticket(caller, self._runtime.engine, ticket)
            except Refusal:
                raise invalid(f"Players: {ELSEWHERE}") from None
        for ticket in older:
            try:
                await self._runtime.ask(Cancel(self._runtime.now(), ticket, REPLACED))
            except MatchmakingError:
                continue  # It has ended meanwhile.

    # Reading

    def _own_configuration(self, name: str, caller: Principal) -> tuple[str, ConfigurationTable]:
        """Return a configuration and its plain name.

        Whether there is one that the key is not for, is not told.

        Raises:
            Forbidden: The key is for other queues.
            ServiceError: There is none.
        """
        _check_own(caller, (queue_name_of(arns.name_in(name)),))
        return self._resources.configuration(name)

    async def _view(self, ticket: str, caller: Principal) -> TicketView:
        try:
            view: TicketView = await self._runtime.look(lambda engine: engine.view(PREFIX + ticket))
            _check_own(caller, view.queues)
        except (LookupError, Forbidden):
            raise missing("matchmaking ticket", ticket) from None
        return view

    def _names(self, view: TicketView) -> tuple[str, ...]:
        tables = self._runtime.engine.tables
        row, ended = tables.waiting.get(view.id), tables.ended.get(view.id)
        if row is not None:
            return tuple(each.id for each in row.ticket.players)
        return ended.players if ended is not None else ()

    def _rule_set(self, name: str) -> RuleSet:
        body = self._resources.table().rule_sets[name].body
        known = self._rule_sets.get(name)
        if known is None or known[0] is not body:
            if len(self._rule_sets) > 1_000:
                self._rule_sets.clear()
            known = self._rule_sets[name] = body, load_rule_set(body)
        return known[1]

    def _configuration(self, queue: str) -> str:
        found = self._resources.of_queue(queue)
        return queue if found is None else found[0]

    def _is_dead(self, match: str) -> bool:
        return any(each.match == match for each in self._services.allocations.states("dead"))

    def _wall(self, at: float) -> float:
        clock = self._runtime.clock
        return round(self._runtime.wall() - (clock.now() - at) / clock.speed, 3)

    def _estimate(self, engine: Engine, ticket: str) -> float | None:
        estimate = self._services.waits.estimate(engine, ticket, self._runtime.now())
        return None if estimate is None else estimate.p50


def _check_own(caller: Principal, queues: Iterable[str]) -> None:
    """Refuse a key that is for other queues.

    Raises:
        Forbidden: It is.
    """
    if caller.queues and caller.queues.isdisjoint(queues):
        raise Forbidden(f"the key is for {', '.join(sorted(caller.queues))} only")


def _refused(result: Refused, ticket: str) -> ServiceError:
    """Return why a ticket could not enter, in AWS's words."""
    if result.code in ("overloaded", "paused"):
        return ServiceError("ServiceUnavailableException", result.message, 503)
    if result.where.endswith("/id") and "was used before" in result.message:
        return invalid(f"TicketId: {ticket!r} was used before; give another, or none")
    if result.code == "unknown_queue":
        return ServiceError(NOT_FOUND, result.message)
    return invalid(f"Players: {result.message}" if "players" in result.where else result.message)
