"""The ready-check: a match is proposed, its players confirm, and a failed check is repaired.

    proposed --all accept--> matched
       |  ^
       |  `--replacements found--.
       `--someone declines, leaves or is silent--> open --time is up--> dissolved, innocents wait on

Whoever declines or is silent ends, with his party; everyone else keeps his place, his acceptance
and his age. Replacements are sought at once for the free seats only, as they are when a running
match asks for players, then again whenever somebody enters the queue, until `Accept.repair` seconds
are over; only they are asked. They may cost `Accept.loss_max` of the quality that was proposed
first. Cooldowns are for players who fail again and again, and for nobody else.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from evenmatch.cost.expansion import round_up
from evenmatch.engine.check import describe
from evenmatch.engine.deadlines import Entry
from evenmatch.engine.forgetting import KEEP_PENALTIES
from evenmatch.engine.house import House
from evenmatch.engine.lookup import find_match, players_of
from evenmatch.engine.pool import Pool
from evenmatch.engine.replacements import Found, Vacancy, find_replacements, without_them
from evenmatch.engine.rows import Proposal
from evenmatch.errors import NotInMatch, ProposalOver, TooLate
from evenmatch.model.events import (
    Cancelled,
    Confirmed,
    Dissolved,
    Penalised,
    Prolonged,
    Repaired,
    SeatsFreed,
)
from evenmatch.model.inputs import Accept, Decline, Prolong
from evenmatch.model.match import Match, OpenMatch
from evenmatch.model.ticket import Ticket


class Acceptance:
    """The proposals of a house: answers, failures, repairs."""

    def __init__(self, house: House) -> None:
        self._house = house
        # The proposals that have free seats.
        self._open: dict[str, None] = {}
        house.offer = self.offer

    # Inputs

    def accept(self, given: Accept) -> None:
        """Note that players accept; the last one makes the match."""
        proposal = self._asked(given)
        if proposal is None:
            return
        known = proposal.accepted.get(given.ticket, ())
        new = tuple([p for p in self._named(given) if p not in known])
        if not new:
            return
        self._house.emit(Confirmed(given.match, given.ticket, new))
        self._conclude(given.match)

    def decline(self, given: Decline) -> None:
        """Take a declining ticket out of its proposal, and repair the match."""
        house = self._house
        if self._has_declined(given):
            return
        proposal = self._asked(given)
        if proposal is None:
            raise TooLate(f"match {given.match} is made", ticket=given.ticket, match=given.match)
        named = self._named(given)
        self._lose(proposal, {given.ticket: ("declined", named)})
        house.decide(list(house.dirty), fired=False)

    def withdraw(self, ticket_id: str, reason: str, by: str | None) -> None:
        """Cancel a ticket that is proposed: for who asks for it, this is a decline.

        Args:
            ticket_id: The ticket.
            reason: Only what players do themselves (`player`) counts against them.
            by: The player who asks; None where nobody says, and then all who have not accepted.
        """
        row = self._house.tables.waiting[ticket_id]
        assert row.match is not None
        proposal = self._house.tables.proposals[row.match]
        blamed: tuple[str, ...] = ()
        if reason == "player":
            known = proposal.accepted.get(ticket_id, ())
            players = [player.id for player in row.ticket.players]
            open_ = tuple([player for player in players if player not in known])
            blamed = (by,) if by in players else open_ or tuple(players)
        self._lose(proposal, {ticket_id: (reason, blamed)})

    def fire(self, now: float) -> None:
        """Fail the checks whose answers are missing, and end the repairs whose time is up."""
        house = self._house
        for entry in house.answers.take_due(now):
            self._fire(entry, now)

    def offer(self, name: str, fresh: list[str]) -> None:
        """Offer the free seats of a queue's proposals to tickets that were just let in."""
        tables = self._house.tables
        for match_id in list(self._open):
            proposal = tables.proposals[match_id]
            pool = self._where_repaired(proposal)
            if pool is None or pool.name != name:
                continue
            candidates = [pool.tickets[key] for key in fresh if key in pool.tickets]
            self._seek(proposal, pool, candidates)

    def configured(self) -> None:
        """End the repairs that a new configuration leaves no place for."""
        for match_id in list(self._open):
            proposal = self._house.tables.proposals[match_id]
            if self._where_repaired(proposal) is None:
                self._dissolve(proposal, proposal.tickets, "queue_changed")

    def prolong(self, given: Prolong) -> None:
        """Give everybody who is asked more time: for some, the server was not there."""
        house = self._house
        for match_id, proposal in list(house.tables.proposals.items()):
            until = {key: round_up(at + given.seconds) for key, at in proposal.until.items()}
            ends = None if proposal.open is None else proposal.open.expires_at
            if ends is not None:
                ends = round_up(ends + given.seconds)
            house.emit(Prolonged(match_id, until, ends))
            house.watch_proposal(house.tables.proposals[match_id])

    def resume(self) -> None:
        """Take the proposals of a journal up again; the next `fire` sees to what is overdue."""
        for proposal in self._house.tables.proposals.values():
            self._house.watch_proposal(proposal)
            if proposal.open is not None:
                self._open[proposal.match.id] = None

    # Answers

    def _asked(self, given: Accept | Decline) -> Proposal | None:
        """Return the proposal that an answer is about; None if its match is made already.

        Raises:
            UnknownMatch, Forgotten: There was no such proposal, or long ago.
            ProposalOver: It has failed, or the ticket has left it.
            NotInMatch: The ticket was never asked, or has no such player.
        """
        house = self._house
        tables = house.tables
        proposal = tables.proposals.get(given.match)
        if proposal is not None:
            if given.ticket in proposal.tickets:
                return proposal
            ended = tables.ended.get(given.ticket)
            if ended is not None and ended.match == given.match:
                raise ProposalOver(
                    f"ticket {given.ticket} has left match {given.match}", ticket=given.ticket
                )
        else:
            made = find_match(tables, house.shard, given.match).match
            if given.ticket in made.tickets:
                known = tables.knows(given.ticket)
                everybody = tuple([player for team in made.players for player in team])
                _check_named(given, players_of(tables, given.ticket) if known else everybody)
                return None
        raise NotInMatch(
            f"ticket {given.ticket[:64]!r} has no seat in match {given.match}", where="/ticket"
        )

    def _named(self, given: Accept | Decline) -> tuple[str, ...]:
        """Return the players whom an answer is for.

        Raises:
            NotInMatch: One of them is not in the ticket.
        """
        ticket = self._house.tables.waiting[given.ticket].ticket
        ids = tuple([player.id for player in ticket.players])
        _check_named(given, ids)
        return tuple([player for player in ids if player in given.players]) or ids

    def _has_declined(self, given: Decline) -> bool:
        """Return whether the ticket has declined this very proposal before."""
        ended = self._house.tables.ended.get(given.ticket)
        return ended is not None and ended.match == given.match and ended.reason == "declined"

    def _conclude(self, match_id: str) -> None:
        """Make the match if everyone has accepted."""
        house = self._house
        proposal, waiting = house.tables.proposals[match_id], house.tables.waiting
        if proposal.open is not None:
            return
        for ticket_id in proposal.match.tickets:
            if len(proposal.accepted.get(ticket_id, ())) < waiting[ticket_id].ticket.size:
                return
        house.settle(_at(proposal, house.now))

    # Failures

    def _fire(self, entry: Entry, now: float) -> None:
        proposal = self._house.tables.proposals.get(entry[3])
        if proposal is None:
            return
        silent = self._silent(proposal, now)
        if silent:
            self._lose(proposal, {ticket_id: ("silent", who) for ticket_id, who in silent})
            proposal = self._house.tables.proposals.get(entry[3])
        if proposal is None or proposal.open is None:
            return
        assert proposal.open.expires_at is not None
        if proposal.open.expires_at <= now:
            self._give_up(proposal)

    def _silent(self, proposal: Proposal, now: float) -> list[tuple[str, tuple[str, ...]]]:
        """Return the tickets whose time is up, each with the players who have not answered."""
        found = []
        for ticket_id in proposal.tickets:
            if proposal.until[ticket_id] > now:
                continue
            known = proposal.accepted.get(ticket_id, ())
            players = self._house.tables.waiting[ticket_id].ticket.players
            missing = tuple([player.id for player in players if player.id not in known])
            if missing:
                found.append((ticket_id, missing))
        return found

    def _lose(self, proposal: Proposal, gone: dict[str, tuple[str, tuple[str, ...]]]) -> None:
        """Take tickets out of a proposal: by id, the reason and the players to blame."""
        house = self._house
        waiting = house.tables.waiting
        left = tuple([waiting[ticket_id].ticket for ticket_id in gone])
        stay = [ticket_id for ticket_id in proposal.tickets if ticket_id not in gone]
        for ticket_id, (reason, blamed) in gone.items():
            house.emit(Cancelled(ticket_id, reason, proposal.match.id))
            for player in blamed:
                self._blame(player, proposal)
        pool = self._where_repaired(proposal)
        if not stay or pool is None:
            self._dissolve(proposal, stay, next(iter(gone.values()))[0])
            return
        house.emit(SeatsFreed(self._opened(proposal, stay)))
        proposal = house.tables.proposals[proposal.match.id]
        house.watch_proposal(proposal)
        self._open[proposal.match.id] = None
        self._seek(proposal, pool, pool.tickets.values(), left)

    def _blame(self, player: str, proposal: Proposal) -> None:
        """Count a player's failure; from the second within a day on it costs a cooldown."""
        accept, group, now = proposal.queue.accept, proposal.queue.group, self._house.now
        assert accept is not None
        before = self._house.tables.penalties.get(group, {}).get(player)
        count = 1 if before is None or before.at + KEEP_PENALTIES < now else before.count + 1
        cooldowns = accept.cooldowns
        wait = cooldowns[min(count - 2, len(cooldowns) - 1)] if count > 1 and cooldowns else 0.0
        self._house.emit(Penalised(player, group, count, now + wait))

    def _where_repaired(self, proposal: Proposal) -> Pool | None:
        """Return the pool in which replacements are sought; None if none can be.

        A queue that was changed meanwhile judges matches by other rules.
        """
        tables, name = self._house.tables, proposal.match.queue
        accept, pool = proposal.queue.accept, self._house.pools.get(name)
        if accept is None or not accept.repair or pool is None or pool.fault is not None:
            return None
        if name in tables.paused or not tables.queues[name].judges_like(proposal.queue):
            return None
        return pool

    def _opened(self, proposal: Proposal, stay: list[str]) -> OpenMatch:
        """Return the free seats of a proposal that only some tickets stay in."""
        house, match, accept = self._house, proposal.match, proposal.queue.accept
        assert accept is not None
        waiting = house.tables.waiting
        seated = tuple([tuple([t for t in team if t in stay]) for team in match.teams])
        sizes = [sum([waiting[ticket_id].ticket.size for ticket_id in team]) for team in seated]
        free = tuple([len(team) - size for team, size in zip(match.players, sizes, strict=True)])
        since = house.now if proposal.open is None else proposal.open.enqueued_at
        return OpenMatch(
            match.id,
            match.queue,
            proposal.made,
            since,
            seated,
            free,
            roster_version=proposal.version + 1,
            quality_floor=(proposal.quality or 0.0) - accept.loss_max,
            priority="high",
            expires_at=since + accept.repair,
        )

    # Repair

    def _seek(
        self,
        proposal: Proposal,
        pool: Pool,
        among: Iterable[Ticket],
        left: tuple[Ticket, ...] = (),
    ) -> None:
        """Look for replacements among waiting tickets."""
        gone, tables, now = proposal.left, self._house.tables, self._house.now
        candidates = [
            ticket
            for ticket in among
            if not pool.is_kept(ticket.id)
            and not any(player.id in gone for player in ticket.players)
        ]
        found = find_replacements(pool, self._vacancy(proposal, left), candidates, now)
        if found is not None and tables.dissolved_until(found[0]) <= now:
            self._repair(proposal, pool, found)

    def _vacancy(self, proposal: Proposal, left: tuple[Ticket, ...] = ()) -> Vacancy:
        waiting, seats = self._house.tables.waiting, proposal.open
        assert seats is not None
        return Vacancy(
            tuple([waiting[ticket_id].ticket for ticket_id in proposal.tickets]),
            left,
            sum(seats.free),
            proposal.match.bots,
            None if proposal.quality is None else seats.quality_floor,
        )

    def _repair(self, proposal: Proposal, pool: Pool, found: Found) -> None:
        """Fill the free seats; whoever joins is asked, and leaves the pools he waited in."""
        house, (tickets, seating) = self._house, found
        accept, old = proposal.queue.accept, proposal.match
        assert accept is not None
        match = describe(old.id, pool, tickets, seating, old.bots, house.now)
        joined = tuple([t.id for t in tickets if t.id not in proposal.tickets])
        until = {
            ticket.id: accept.answer_by(ticket.enqueued_at, house.now)
            for ticket in tickets
            if ticket.id in joined
        }
        leaves = [(ticket_id, house.tables.waiting[ticket_id].queues) for ticket_id in joined]
        house.emit(Repaired(match, joined, until))
        self._open.pop(old.id, None)
        for ticket_id, queues in leaves:
            house.leave(ticket_id, queues)
        house.watch_proposal(house.tables.proposals[old.id])
        self._conclude(old.id)

    def _give_up(self, proposal: Proposal) -> None:
        """End a repair: play without those who left where that is a match, else dissolve it."""
        pool = self._where_repaired(proposal)
        if pool is not None:
            self._seek(proposal, pool, pool.tickets.values())
            proposal = self._house.tables.proposals[proposal.match.id]
            if proposal.open is None:
                return
            found = without_them(pool, self._vacancy(proposal), self._house.now)
            if found is not None:
                self._repair(proposal, pool, found)
                return
        self._dissolve(proposal, list(proposal.tickets), "no_replacement")

    def _dissolve(self, proposal: Proposal, stay: Iterable[str], reason: str) -> None:
        house, match_id = self._house, proposal.match.id
        innocents = tuple(stay)
        self._open.pop(match_id, None)
        house.emit(Dissolved(match_id, reason, innocents))
        house.come_back(innocents)


def _check_named(given: Accept | Decline, ids: tuple[str, ...]) -> None:
    """Refuse an answer for players who are not among these.

    Raises:
        NotInMatch: One of them is not.
    """
    for at, player in enumerate(given.players):
        if player not in ids:
            raise NotInMatch(
                f"player {player[:64]!r} is not in ticket {given.ticket}", where=f"/players/{at}"
            )


def _at(proposal: Proposal, now: float) -> Match:
    """Return the match as it is made now: everyone has waited while it was proposed."""
    match = proposal.match
    players = sum(map(len, match.players))
    waited = proposal.queue.price * players * (now - match.at)
    return replace(match, at=now, cost=match.cost + waited)
