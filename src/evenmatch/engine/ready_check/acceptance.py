"""The ready-check proposes a match to its players and collects their answers.

    proposed --all accept--> matched
       |  ^
       |  `--replacements found--.
       `--someone declines, leaves or is silent--> open --time is up--> dissolved, innocents wait on

Whoever declines or is silent ends, with their party; all others keep their place, acceptance and
age; replacements are sought (`repairs`), and only they are asked. Cooldowns are for players
who fail again and again, and for nobody else.

Newcomers of a running match are asked in the same way, and those who play already are not. Such a
proposal is not repaired: its innocents wait on, and the running match asks for players anew.
"""

from __future__ import annotations

from msgspec.structs import replace

from evenmatch.criteria.expansion import round_up
from evenmatch.engine.matching.deadlines import Entry
from evenmatch.engine.matching.scheduler import Scheduler
from evenmatch.engine.ready_check.repairs import Repairs
from evenmatch.engine.state.reducers import KEEP_PENALTIES
from evenmatch.engine.state.rows import Proposal
from evenmatch.engine.state.state import find_match, players_of
from evenmatch.errors import NotInMatch, ProposalOver, TooLate
from evenmatch.model.events import (
    WITHDRAWN,
    Cancelled,
    Confirmed,
    Penalised,
    Prolonged,
    SeatsFreed,
)
from evenmatch.model.inputs import Accept, Decline, Prolong
from evenmatch.model.match import Match, OpenMatch


class Proposals:
    """Handles the proposals of a scheduler: answers, failures, repairs."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._repairs = Repairs(scheduler, self._conclude)
        scheduler.withdraw_fill = self._withdraw_fill

    # Inputs

    def accept(self, accept: Accept) -> None:
        """Note that players accept; the last one makes the match."""
        proposal = self._asked(accept)
        if proposal is None:
            return
        known = proposal.accepted.get(accept.ticket, ())
        new = tuple([p for p in self._named(accept) if p not in known])
        if not new:
            return
        self._scheduler.emit(Confirmed(accept.match, accept.ticket, new))
        self._conclude(accept.match)

    def decline(self, decline: Decline) -> None:
        """Take a declining ticket out of its proposal, and repair the match."""
        scheduler = self._scheduler
        if self._has_declined(decline):
            return
        proposal = self._asked(decline)
        if proposal is None:
            raise TooLate(
                f"match {decline.match} is already made", ticket=decline.ticket, match=decline.match
            )
        named = self._named(decline)
        if not decline.players:
            named = self._undecided(proposal, decline.ticket)
        self._lose(proposal, {decline.ticket: ("declined", named)})
        scheduler.decide(list(scheduler.dirty), fired=False)

    def withdraw(self, ticket_id: str, reason: str, by: str | None) -> None:
        """Cancel a proposed ticket, which counts as a decline.

        Args:
            ticket_id: The ticket.
            reason: Only what players do themselves (`player`) counts against them.
            by: The player who asks; None where nobody says, and then all who have not accepted.
        """
        row = self._scheduler.tables.waiting[ticket_id]
        assert row.match is not None
        proposal = self._scheduler.tables.proposals[row.match]
        blamed: tuple[str, ...] = ()
        if reason == "player":
            players = [player.id for player in row.ticket.players]
            blamed = (by,) if by in players else self._undecided(proposal, ticket_id)
        self._lose(proposal, {ticket_id: (reason, blamed)})

    def fire(self, now: float) -> None:
        """Fail the checks whose answers are overdue, and end the repairs whose time is up."""
        scheduler = self._scheduler
        for entry in scheduler.answers.take_due(now):
            self._fire(entry, now)
        self._repairs.fire(now)

    def configured(self) -> None:
        """End the repairs for which a new configuration has no place."""
        self._repairs.configured()

    def prolong(self, prolong: Prolong) -> None:
        """Give players more time to answer after the server was away.

        A repair has more time only where everybody has: it need not wait for who may come back.
        """
        scheduler = self._scheduler
        proposals, waiting = scheduler.tables.proposals, scheduler.tables.waiting
        matches = list(proposals)
        if prolong.tickets:
            about = {waiting[each].match for each in prolong.tickets if each in waiting}
            matches = [match_id for match_id in matches if match_id in about]
        tickets = frozenset(prolong.tickets)
        for match_id in matches:
            proposal = proposals[match_id]
            until = dict(proposal.until)
            named = [each for each in until if each in tickets] if tickets else list(until)
            if not named:
                continue
            for ticket_id in named:
                until[ticket_id] = round_up(until[ticket_id] + prolong.seconds)
            ends = None if proposal.open is None else proposal.open.expires_at
            if ends is not None and not prolong.tickets:
                ends = round_up(ends + prolong.seconds)
            scheduler.emit(Prolonged(match_id, until, ends))
            scheduler.watch_proposal(scheduler.tables.proposals[match_id])

    def silent(self, until: float) -> list[str]:
        """Return the tickets whose time is up by an instant, and who have not all accepted."""
        tables = self._scheduler.tables
        due = dict.fromkeys([entry[3] for entry in self._scheduler.answers.due(until)])
        overdue = [self._silent(tables.proposals[match_id], until) for match_id in due]
        return [ticket_id for each in overdue for ticket_id, _ in each]

    def resume(self) -> None:
        """Restore the proposals of a journal; the next `fire` handles those that are overdue."""
        for proposal in self._scheduler.tables.proposals.values():
            self._scheduler.watch_proposal(proposal)
            if proposal.open is not None:
                self._repairs.resume(proposal)

    # Answers

    def _asked(self, answer: Accept | Decline) -> Proposal | None:
        """Return the proposal that an answer is about; None if its match is made already.

        Raises:
            UnknownMatch, Forgotten: There was no such proposal, or long ago.
            ProposalOver: It has failed, or the ticket has left it.
            NotInMatch: The ticket was never asked, or has no such player.
        """
        scheduler = self._scheduler
        tables = scheduler.tables
        proposal = tables.proposals.get(answer.match)
        if proposal is not None:
            if answer.ticket in proposal.tickets:
                return proposal
        else:
            match = find_match(tables, scheduler.shard, answer.match).match
            if answer.ticket in match.tickets:
                known = tables.knows(answer.ticket)
                everybody = tuple([player for team in match.players for player in team])
                _check_named(answer, players_of(tables, answer.ticket) if known else everybody)
                return None
        ended = tables.ended.get(answer.ticket)
        if ended is not None and ended.match == answer.match:
            raise ProposalOver(
                f"ticket {answer.ticket} has left match {answer.match}", ticket=answer.ticket
            )
        raise NotInMatch(
            f"ticket {answer.ticket[:64]!r} has no seat in match {answer.match}", where="/ticket"
        )

    def _named(self, answer: Accept | Decline) -> tuple[str, ...]:
        """Return the players whom an answer is for.

        Raises:
            NotInMatch: One of them is not in the ticket.
        """
        ticket = self._scheduler.tables.waiting[answer.ticket].ticket
        ids = tuple([player.id for player in ticket.players])
        _check_named(answer, ids)
        return tuple([player for player in ids if player in answer.players]) or ids

    def _undecided(self, proposal: Proposal, ticket_id: str) -> tuple[str, ...]:
        """Return the players of a ticket who have not accepted; all of them if everyone has."""
        known = proposal.accepted.get(ticket_id, ())
        players = self._scheduler.tables.waiting[ticket_id].ticket.players
        ids = tuple([player.id for player in players])
        return tuple([player for player in ids if player not in known]) or ids

    def _has_declined(self, decline: Decline) -> bool:
        """Return whether the ticket has declined this very proposal before."""
        ended = self._scheduler.tables.ended.get(decline.ticket)
        return ended is not None and ended.match == decline.match and ended.reason == "declined"

    def _conclude(self, match_id: str) -> None:
        """Make the match if everyone has accepted."""
        scheduler = self._scheduler
        proposal, waiting = scheduler.tables.proposals[match_id], scheduler.tables.waiting
        if proposal.open is not None:
            return
        for ticket_id in proposal.match.tickets:
            if len(proposal.accepted.get(ticket_id, ())) < waiting[ticket_id].ticket.size:
                return
        whole = proposal.match.extends
        if whole is not None and whole not in scheduler.tables.rosters:
            # So many matches began since that the roster of this one was laid down.
            self._repairs.dissolve(proposal, proposal.tickets, WITHDRAWN)
            self._reopen(proposal)
            scheduler.decide(list(scheduler.dirty), fired=False)
            return
        pool = scheduler.pools.get(proposal.match.queue)
        if pool is not None and whole is None:
            pool.confirmed(scheduler.now - proposal.proposed_at, scheduler.now)
        scheduler.settle(_at(proposal, scheduler.now))

    # Failures

    def _fire(self, entry: Entry, now: float) -> None:
        proposal = self._scheduler.tables.proposals.get(entry[3])
        if proposal is None:
            return
        silent = self._silent(proposal, now)
        if silent:
            self._lose(proposal, {ticket_id: ("silent", who) for ticket_id, who in silent})
            proposal = self._scheduler.tables.proposals.get(entry[3])
        if proposal is None or proposal.open is None:
            return
        assert proposal.open.expires_at is not None
        if proposal.open.expires_at <= now:
            self._repairs.give_up(proposal)

    def _silent(self, proposal: Proposal, now: float) -> list[tuple[str, tuple[str, ...]]]:
        """Return the tickets whose time is up, each with the players who have not answered."""
        overdue = []
        for ticket_id in proposal.tickets:
            if proposal.until[ticket_id] > now:
                continue
            known = proposal.accepted.get(ticket_id, ())
            players = self._scheduler.tables.waiting[ticket_id].ticket.players
            missing = tuple([player.id for player in players if player.id not in known])
            if missing:
                overdue.append((ticket_id, missing))
        return overdue

    def _lose(self, proposal: Proposal, gone: dict[str, tuple[str, tuple[str, ...]]]) -> None:
        """Take tickets out of a proposal: by id, the reason and the players to blame."""
        scheduler = self._scheduler
        waiting = scheduler.tables.waiting
        left = tuple([waiting[ticket_id].ticket for ticket_id in gone])
        stay = [ticket_id for ticket_id in proposal.tickets if ticket_id not in gone]
        for ticket_id, (reason, blamed) in gone.items():
            scheduler.emit(Cancelled(ticket_id, reason, proposal.match.id))
            for player in blamed:
                self._blame(player, proposal)
        pool = self._repairs.where(proposal, stay)
        if not stay or pool is None:
            self._repairs.dissolve(proposal, stay, next(iter(gone.values()))[0])
            self._reopen(proposal)
            return
        scheduler.emit(SeatsFreed(self._opened(proposal, stay)))
        self._repairs.begin(scheduler.tables.proposals[proposal.match.id], pool, left)

    def _reopen(self, proposal: Proposal) -> None:
        """Let the running match that a failed proposal was to fill look for players again."""
        scheduler, whole = self._scheduler, proposal.match.extends
        if whole is None:
            return
        roster = scheduler.tables.rosters.get(whole)
        if roster is None:
            # It was laid down meanwhile: nobody can join, and nothing is reserved any more.
            scheduler.fills.close(whole, proposal.match.queue)
        elif roster.open is not None and roster.queue in scheduler.pools:
            scheduler.fills.open(whole, roster.queue)

    def _withdraw_fill(self, match_id: str) -> None:
        """Let the newcomers wait on who are asked to join a match, if there are any."""
        roster = self._scheduler.tables.rosters.get(match_id)
        if roster is not None and roster.proposed:
            proposal = self._scheduler.tables.proposals[roster.proposed]
            self._repairs.dissolve(proposal, proposal.tickets, WITHDRAWN)

    def _blame(self, player: str, proposal: Proposal) -> None:
        """Count a player's failure; from the second within a day on it costs a cooldown."""
        accept, group, now = proposal.queue.accept, proposal.queue.group, self._scheduler.now
        assert accept is not None
        before = self._scheduler.tables.penalties.get(group, {}).get(player)
        count = 1 if before is None or before.at + KEEP_PENALTIES < now else before.count + 1
        cooldowns = accept.cooldowns
        wait = cooldowns[min(count - 2, len(cooldowns) - 1)] if count > 1 and cooldowns else 0.0
        self._scheduler.emit(Penalised(player, group, count, now + wait))

    def _opened(self, proposal: Proposal, stay: list[str]) -> OpenMatch:
        """Return the free seats of a proposal that only some tickets stay in."""
        scheduler, match, accept = self._scheduler, proposal.match, proposal.queue.accept
        assert accept is not None
        waiting = scheduler.tables.waiting
        seated = tuple([tuple([t for t in team if t in stay]) for team in match.teams])
        sizes = [sum([waiting[ticket_id].ticket.size for ticket_id in team]) for team in seated]
        free = tuple([len(team) - size for team, size in zip(match.players, sizes, strict=True)])
        since, until = scheduler.now, scheduler.now + accept.repair
        if proposal.open is not None:
            # It goes on, and has the time that was given back after an outage, too.
            assert proposal.open.expires_at is not None
            since, until = proposal.open.enqueued_at, proposal.open.expires_at
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
            expires_at=until,
        )


def _check_named(answer: Accept | Decline, ids: tuple[str, ...]) -> None:
    """Refuse an answer for players who are not among these.

    Raises:
        NotInMatch: One of them is not.
    """
    for at, player in enumerate(answer.players):
        if player not in ids:
            raise NotInMatch(
                f"player {player[:64]!r} is not in ticket {answer.ticket}", where=f"/players/{at}"
            )


def _at(proposal: Proposal, now: float) -> Match:
    """Return the match as it is made now: everyone has waited while it was proposed."""
    match = proposal.match
    players = sum(map(len, match.players))
    waited = proposal.queue.price * players * (now - match.at)
    return replace(match, at=now, cost=match.cost + waited)
