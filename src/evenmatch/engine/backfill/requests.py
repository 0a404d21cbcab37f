"""Keeps the requests of running matches for players: how long and how often a match may ask.

    running --open--> open --newcomers--> running, filled: a new version of its roster
                       `--close, lease over, match over--> running or over

The game's backend opens a match and names who has left; repeating that is a heartbeat. A match
whose backend falls silent closes by itself. Who has left never comes back to a match by it, and a
backend that has not heard of the last fill is refused until it has, so that no two fills race.

A heartbeat is journalled only when the lease has half run out, so an open match costs two records
in the time of a lease, however often it is heard of; what is left of a lease after a heartbeat is
at least its half. Its search for players goes on as if nothing had been heard.
"""

from __future__ import annotations

from msgspec.structs import replace

from evenmatch.engine.backfill.candidates import can_compare
from evenmatch.engine.backfill.registration import registered_of
from evenmatch.engine.backfill.search import BackfillSearch
from evenmatch.engine.matching.deadlines import Deadlines, Entry
from evenmatch.engine.matching.scheduler import Scheduler
from evenmatch.engine.state.rosters import MINUTE, OPENS_PER_MINUTE
from evenmatch.engine.state.rows import Roster
from evenmatch.engine.state.state import find_match
from evenmatch.errors import (
    InvalidOpening,
    NoBackfill,
    Overloaded,
    StaleRoster,
    TooLate,
    UnknownQueue,
)
from evenmatch.model.events import Assigned, Cancelled, Closed, Finished, Opened, Voided
from evenmatch.model.inputs import Assign, Close, Open, Register, Void
from evenmatch.model.match import OpenMatch, Priority
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket

Steps = tuple[tuple[float, Priority], ...]
OPEN_MOST = 200
"""Matches of one queue that may be open at the same time."""
FILLS_MOST = 200
"""How often one match may be filled."""
AUTOMATIC_LEASE = 60.0
"""Seconds for which a match is open that opened itself, unless its backend is heard of."""

VOID_PAUSE = 10.0
"""Seconds for which the players of a match that was called off are not the same match again.

Without it two players alone in a queue would ask for one server after the other.
"""


class BackfillRequests:
    """Opens, closes and calls off the running matches of a scheduler."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._fills = BackfillSearch(scheduler)
        self._leases = Deadlines(self._is_lease)
        self._steps = Deadlines(self._is_step)
        scheduler.add_timer(self._leases)
        scheduler.add_timer(self._steps)
        scheduler.fills = self._fills
        scheduler.on_made = self._made

    # Inputs

    def open(self, request: Open) -> None:
        """Let a running match ask for players, or go on asking.

        Raises:
            UnknownMatch, Forgotten, NotMade, ProposalOver: There is no such match.
            NoBackfill: It is over, everybody has left, or its queue has no backfill.
            StaleRoster: It was filled since.
            InvalidOpening: Somebody is said to have left who was not in it, it has no such seats,
                or a named request asks for none.
            Overloaded: It, or its queue, is opened too often.
        """
        roster = self.roster(request.match)
        if request.ticket:
            self._check_ticket(request.ticket)
        if request.roster_version != roster.version:
            raise StaleRoster(
                f"the roster of match {request.match} has version {roster.version}, not "
                f"{request.roster_version}; read it, and open it with the version that it has",
                match=request.match,
                roster_version=roster.version,
            )
        left = self._left(request, roster)
        opened = self._opened(request, roster, left)
        if request.ticket and not any(opened.free):
            raise InvalidOpening(
                f"no seat of match {request.match} is to be filled, so there is nobody to find",
                where="/free",
                match=request.match,
            )
        if roster.open is not None and not left and _is_heartbeat(opened, roster.open):
            assert opened.expires_at is not None
            known = roster.open.expires_at
            if known is not None and opened.expires_at - known < request.lease / 2:
                return
            if replace(roster.open, expires_at=opened.expires_at) == opened:
                # Its search goes on: begun anew with each heartbeat, it would never get far.
                self._scheduler.emit(Opened(opened, left))
                self._watch_lease(opened)
                return
        else:
            if any(opened.free):
                self._check_pace(request.match, roster)
            self._scheduler.withdraw_fill(request.match)
        self._emit_opened(opened, left)
        self._scheduler.decide(list(self._scheduler.dirty), fired=False)

    def register(self, register: Register) -> None:
        """Let a match that was made elsewhere ask for players.

        Raises:
            UnknownQueue: There is no such queue.
            NoBackfill: The queue has no backfill.
            InvalidOpening, InvalidTicket: Its roster does not fit the queue, or the name of the
                request was used before.
            Overloaded: Too many matches of the queue are open.
        """
        scheduler = self._scheduler
        queue = scheduler.tables.queues.get(register.queue)
        if queue is None:
            raise UnknownQueue(f"no queue is called {register.queue[:64]!r}", where="/queue")
        if queue.backfill is None:
            raise NoBackfill(f"queue {queue.name} has no backfill; set backfill to manual")
        if register.ticket:
            self._check_ticket(register.ticket)
        made = scheduler.tables.sequence + 1
        objective, match_id = scheduler.objectives[queue.name], f"{scheduler.shard}-r{made}"
        registered = registered_of(register, objective, scheduler.tables, match_id)
        older = [
            (name, roster)
            for name in self._fills.open_matches()
            if register.session
            and (roster := scheduler.tables.rosters.get(name)) is not None
            and roster.session == register.session
        ]
        if not older and self._fills.count(queue.name) >= OPEN_MOST:
            raise Overloaded(f"queue {queue.name} has {OPEN_MOST} open matches; try again later")
        for match_id, roster in older:
            self._close(match_id, roster, "replaced")
        scheduler.emit(registered)
        match = registered.match
        scheduler.watch_match(scheduler.tables.matches[match.id])
        roster = scheduler.tables.rosters[match.id]
        opened = OpenMatch(
            match.id,
            queue.name,
            made,
            register.now,
            match.teams,
            roster.free,
            priority=register.priority,
            expires_at=register.now + register.lease,
            ticket=register.ticket,
            steps=_steps_at(register.now, register.steps),
        )
        self._emit_opened(opened, ())
        scheduler.decide(list(scheduler.dirty), fired=False)

    def close(self, close: Close) -> None:
        """Let a running match ask for no more players; repeating it changes nothing.

        Raises:
            UnknownMatch, Forgotten, NotMade, ProposalOver: There is no such match.
            NoBackfill: Its queue has no backfill, or it is over.
        """
        roster = self.roster(close.match)
        if roster.open is not None:
            self._close(close.match, roster, "close")
            self._scheduler.decide(list(self._scheduler.dirty), fired=False)

    def assign(self, assign: Assign) -> None:
        """Give a match and its newcomers their place to play.

        Raises:
            TooLate: It was called off.
        """
        scheduler = self._scheduler
        kept_match = scheduler.tables.matches[assign.match]
        if kept_match.void is not None:
            raise TooLate(
                f"match {assign.match} was called off: its tickets wait again", match=assign.match
            )
        scheduler.emit(Assigned(assign.match))
        for fill in scheduler.tables.rosters.get(assign.match, kept_match).fills:
            scheduler.emit(Assigned(fill, assign.assignment))

    def void(self, void: Void) -> None:
        """Call a match off: its tickets wait again, in their old place.

        Callers may use an id again once its ticket is long forgotten: the newer ticket keeps it.

        Raises:
            UnknownMatch, Forgotten, NotMade, ProposalOver: There is no such match.
            TooLate: It has a place to be played, or is over.
        """
        scheduler = self._scheduler
        kept_match = find_match(scheduler.tables, scheduler.shard, void.match)
        if kept_match.void is not None:
            return
        roster = scheduler.tables.rosters.get(void.match)
        if roster is None or kept_match.assignment is not None:
            raise TooLate(f"match {void.match} cannot be called off now", match=void.match)
        scheduler.withdraw_fill(void.match)
        by_age = sorted([t for team in roster.teams for t in team], key=lambda t: t.age_key)
        known = {t.id: t for t in by_age}
        tickets = [t for t in by_age if known[t.id] is t and scheduler.tables.is_last_of_id(t)]
        if roster.open is not None:
            self._fills.close(void.match, roster.queue)
        elsewhere = [t.id for t in tickets if self._are_taken(void.match, roster, t)]
        again_at = void.now + VOID_PAUSE
        scheduler.emit(Voided(void.match, void.reason, tuple(tickets), again_at, roster.fills))
        for ticket_id in elsewhere:
            scheduler.emit(Cancelled(ticket_id, "waits_elsewhere"))
        scheduler.come_back([t.id for t in tickets if t.id not in elsewhere])
        scheduler.decide(list(scheduler.dirty), fired=False)

    # Time

    def fire(self, now: float) -> None:
        """Close the matches whose lease is over, and let others look for newcomers."""
        for entry in self._leases.take_due(now):
            # Two openings of a match may end at the same instant.
            if not self._is_lease(entry):
                continue
            self._close(entry[3], self._scheduler.tables.rosters[entry[3]], "lease")
        for entry in self._steps.take_due(now):
            self._fills.open(entry[3], entry[4])
        self._fills.fire(now)

    def resume(self) -> None:
        """Reopen the open matches of a journal, or under a new configuration."""
        for match_id, roster in self._scheduler.tables.rosters.items():
            if roster.open is not None:
                self._watch(match_id, roster.open)

    def configured(self) -> None:
        """Close the matches that the queues of a new configuration would not open."""
        tables = self._scheduler.tables
        for match_id, roster in list(tables.rosters.items()):
            if roster.open is None:
                continue
            queue = tables.queues.get(roster.queue)
            if queue is None or queue.backfill is None or not self._suits(roster, queue):
                self._close(match_id, roster, "queue_changed")
            else:
                self._fills.open(match_id, roster.queue)

    # Steps

    def open_seats(self, queue: str) -> tuple[int, ...]:
        """Return the most players of one party for whom each match of a queue asks."""
        return self._fills.open_seats(queue)

    def roster(self, match_id: str) -> Roster:
        """Return the roster of a match that may be filled."""
        scheduler = self._scheduler
        kept_match = find_match(scheduler.tables, scheduler.shard, match_id)
        if kept_match.match.extends is not None:
            raise NoBackfill(
                f"match {match_id} brings newcomers to match {kept_match.match.extends}: "
                "open that one",
                match=kept_match.match.extends,
            )
        roster = scheduler.tables.rosters.get(match_id)
        queue = scheduler.tables.queues.get(kept_match.match.queue)
        if queue is None:
            raise NoBackfill(
                f"queue {kept_match.match.queue} is gone: nobody can join its match {match_id}",
                match=match_id,
            )
        if queue.backfill is None:
            raise NoBackfill(
                f"queue {kept_match.match.queue} has no backfill; "
                "set backfill to manual or automatic",
                match=match_id,
            )
        if roster is None or roster.backfill is None or not kept_match.live:
            raise NoBackfill(f"match {match_id} is over: nobody can join it", match=match_id)
        if not self._suits(roster, queue):
            raise NoBackfill(
                f"queue {queue.name} has changed: it has other teams, or compares attributes that "
                f"the players of match {match_id} do not have; let the match end as it is",
                match=match_id,
            )
        return roster

    def _suits(self, roster: Roster, queue: Queue) -> bool:
        """Return whether a queue, as it is now, can compare newcomers with those who play."""
        objective = self._scheduler.objectives[queue.name]
        return queue.format.players == roster.seats and can_compare(roster, objective)

    def _left(self, request: Open, roster: Roster) -> tuple[str, ...]:
        """Return who has left since the last time."""
        seated = [player for team in roster.players for player in team]
        for at, player in enumerate(request.left):
            if player not in seated and player not in roster.left:
                raise InvalidOpening(
                    f"player {player[:64]!r} is not in match {request.match}",
                    where=f"/left/{at}",
                    match=request.match,
                )
        left = tuple(dict.fromkeys([p for p in request.left if p in seated]))
        if len(left) == len(seated):
            raise NoBackfill(
                f"everybody has left match {request.match}: finish it", match=request.match
            )
        return left

    def _opened(self, request: Open, roster: Roster, left: tuple[str, ...]) -> OpenMatch:
        stay = [len([p for p in team if p not in left]) for team in roster.players]
        most = tuple([seats - count for seats, count in zip(roster.seats, stay, strict=True)])
        free = request.free or most
        if len(free) != len(most) or any(
            not 0 <= n <= room for n, room in zip(free, most, strict=True)
        ):
            raise InvalidOpening(
                f"free must give the number of seats to fill for each team, at most {list(most)} "
                f"in match {request.match}, got {list(free)}",
                where="/free",
                match=request.match,
            )
        return OpenMatch(
            request.match,
            roster.queue,
            self._scheduler.tables.matches[request.match].made,
            request.now if left else roster.since,
            _seated(roster, left),
            free,
            roster.version,
            request.quality_floor,
            request.priority,
            request.now + request.lease,
            request.ticket,
            _steps_at(request.now, request.steps),
        )

    def _check_ticket(self, name: str) -> None:
        tables = self._scheduler.tables
        if name in tables.backfills or tables.knows(name):
            raise InvalidOpening(f"the ticket id {name[:128]!r} was used before", where="/ticket")

    def _check_pace(self, match_id: str, roster: Roster) -> None:
        """Refuse a match, or a queue, that opens again and again."""
        now = self._scheduler.now
        if len([at for at in roster.opened if at > now - MINUTE]) >= OPENS_PER_MINUTE:
            raise Overloaded(
                f"match {match_id} was opened {OPENS_PER_MINUTE} times within a minute; "
                f"try again later",
                match=match_id,
            )
        if len(roster.fills) >= FILLS_MOST:
            raise NoBackfill(f"match {match_id} was filled {FILLS_MOST} times", match=match_id)
        if roster.open is None and self._fills.count(roster.queue) >= OPEN_MOST:
            raise Overloaded(
                f"queue {roster.queue} has {OPEN_MOST} open matches; try again later",
                match=match_id,
            )

    def _emit_opened(self, opened: OpenMatch, left: tuple[str, ...]) -> None:
        self._scheduler.emit(Opened(opened, left))
        self._fills.close(opened.id, opened.queue)
        if any(opened.free):
            self._watch(opened.id, opened)

    def _watch(self, match_id: str, opened: OpenMatch) -> None:
        self._fills.open(match_id, opened.queue)
        self._watch_lease(opened)
        for at, _ in opened.steps:
            if at > self._scheduler.now:
                self._steps.add((at, opened.sequence, 0, match_id, opened.queue))

    def _watch_lease(self, opened: OpenMatch) -> None:
        if opened.expires_at is not None:
            self._leases.add((opened.expires_at, opened.sequence, 0, opened.id, opened.queue))

    def _close(self, match_id: str, roster: Roster, reason: str) -> None:
        self._scheduler.withdraw_fill(match_id)
        self._fills.close(match_id, roster.queue)
        self._scheduler.emit(Closed(match_id, reason))
        if roster.session:
            self._scheduler.emit(Finished(match_id, "closed"))

    def _made(self, match_id: str) -> None:
        """Let a match that has just been made or filled open itself, where its queue says so."""
        roster = self._scheduler.tables.rosters.get(match_id)
        if roster is not None:
            self._fills.close(match_id, roster.queue)
        if roster is not None and roster.session:
            self._scheduler.emit(Finished(match_id, "filled"))
            return
        if roster is None or roster.backfill != "automatic" or not any(roster.free):
            return
        # A match that was proposed is made even if its queue is gone, or has changed meanwhile.
        queue = self._scheduler.tables.queues.get(roster.queue)
        if queue is None or queue.backfill != "automatic" or not self._suits(roster, queue):
            return
        full = self._fills.count(roster.queue) >= OPEN_MOST
        if full or len(roster.fills) >= FILLS_MOST or roster.open is not None:
            return
        made, now = self._scheduler.tables.matches[match_id].made, self._scheduler.now
        opened = OpenMatch(
            match_id,
            roster.queue,
            made,
            roster.since,
            _seated(roster, ()),
            roster.free,
            roster.version,
            expires_at=now + AUTOMATIC_LEASE,
        )
        self._emit_opened(opened, ())

    def _are_taken(self, match_id: str, roster: Roster, ticket: Ticket) -> bool:
        """Return whether a player of a ticket waits or plays elsewhere by now."""
        tables = self._scheduler.tables
        group = tables.group_of(ticket)
        busy, mine = tables.busy.get(group, {}), (match_id, *roster.fills)
        waits = tables.players.get(group, {})
        return any(p.id in waits or busy.get(p.id, match_id) not in mine for p in ticket.players)

    def _is_step(self, entry: Entry) -> bool:
        roster = self._scheduler.tables.rosters.get(entry[3])
        opened = None if roster is None else roster.open
        return opened is not None and any(at == entry[0] for at, _ in opened.steps)

    def _is_lease(self, entry: Entry) -> bool:
        roster = self._scheduler.tables.rosters.get(entry[3])
        return roster is not None and roster.open is not None and roster.open.expires_at == entry[0]


def _is_heartbeat(new: OpenMatch, open_match: OpenMatch) -> bool:
    """Return whether an opening asks for nothing else than the one before."""
    return (new.free, new.priority, new.quality_floor, new.ticket) == (
        open_match.free,
        open_match.priority,
        open_match.quality_floor,
        open_match.ticket,
    )


def _steps_at(now: float, steps: tuple[tuple[float, Priority], ...]) -> Steps:
    """Return the later priorities of a request by the instants from which they hold."""
    return tuple((now + wait, priority) for wait, priority in steps)


def _seated(roster: Roster, left: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the tickets that stay, by team."""
    return tuple(
        [
            tuple([t.id for t in team if any(p.id not in left for p in t.players)])
            for team in roster.teams
        ]
    )
