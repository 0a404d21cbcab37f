"""The engine's memory: tickets, matches, keys and counters, folded from events and nothing else.

    waiting --> proposed --> matched --> assigned
       |  ^--------'  |         ^
       |--------------+---------'
       |------> cancelled <-----'
       `------> expired

Each ticket is in exactly one state and ends exactly once. Nothing but the folds of
`reducers` changes the tables; the live engine and recovery call the same ones, so a journal always
rebuilds the state it came from. Nothing here decides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from evenmatch.criteria.percentile import RecentValues
from evenmatch.engine.records import Record
from evenmatch.engine.state.encounters import Meetings, PlayedMatches
from evenmatch.engine.state.rows import (
    KEEP_ENDED,
    BackfillTicket,
    EndedTicket,
    FailedProposal,
    IdempotencyKey,
    KeptMatch,
    Ladder,
    LiveTicket,
    Penalty,
    Period,
    Proposal,
    Roster,
    TicketView,
    live_view,
)
from evenmatch.engine.state.transitions import BEFORE, CONCERNED, NEW, PROPOSED, WAITING
from evenmatch.errors import Forgotten, NotMade, ProposalOver, TooLate, UnknownMatch, UnknownTicket
from evenmatch.model.events import Accepted, Event, Existing, Refused
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket

# Totals that the tables keep beside their rows.


class Counters(msgspec.Struct, gc=False):
    """Totals since the shard was created.

    `accepted` + `returned` = waiting + `matched` + `cancelled` + `expired`.

    `jobs` were asked for; `dropped` are the matches of their plans that came too late.

    Of the `proposed` matches, `checks_failed` lost a player; `repaired` were played all the same,
    and the `dissolved` came to nothing. Of the `matches`, `filled` brought newcomers to running
    ones, and `voided` were called off, so that `returned` tickets waited again.

    The `outcomes` of matches counted, those that were `disputed` did not; `rated` new ratings came
    of them.
    """

    accepted: int = 0
    matched: int = 0
    cancelled: int = 0
    expired: int = 0
    matches: int = 0
    bots: int = 0
    jobs: int = 0
    dropped: int = 0
    proposed: int = 0
    checks_failed: int = 0
    repaired: int = 0
    dissolved: int = 0
    filled: int = 0
    voided: int = 0
    returned: int = 0
    outcomes: int = 0
    disputed: int = 0
    rated: int = 0


COPIED = (
    "queues",
    "waiting",
    "ended",
    "matches",
    "keys",
    "forgotten",
    "proposals",
    "failed",
    "dissolved",
    "rosters",
    "backfills",
)
"""Tables whose rows are frozen: a shallow copy is a snapshot."""
COPIED_BY_GROUP = ("players", "busy", "met", "penalties", "ratings")
"""The same with a table for each group or ladder."""


class Tables(msgspec.Struct):
    """Everything the engine remembers; rows are frozen, so a shallow copy is a snapshot.

    Args:
        now: Instant of the last record, seconds.
        sequence: Number of the last record.
        seed: Root of the policies' chance.
        version: Number of the configuration.
        configured_by: What brought it; empty if the server was started with it.
        queues: The configuration, in order.
        paused: Queues that take and match nobody.
        waiting: Live tickets by id, in order of acceptance; those in a proposal too.
        ended: Ended tickets by id, in order of their end.
        matches: Kept matches by id, in order of making.
        keys: Idempotency keys, in order of use.
        players: Live ticket by player, by group.
        busy: Live exclusive match by player, by group.
        counters: Totals.
        forgotten: Highest record whose matches are no longer kept, by queue.
        forget_at: Instant from which old rows are looked for again.
        recent: The last values of accepted tickets, where percentiles are taken among them.
        met: Whom players met last, by group; only where a queue asks for it.
        played: Who played with whom and when, by group; only where a queue limits that.
        proposals: Matches that wait for acceptance, by id.
        failed: Proposals that came to nothing, in order of their end.
        dissolved: Until when a set of players is not proposed again, by the set's digest.
        penalties: Who failed ready-checks, by group and player, the last one last.
        rosters: Who plays in matches that may be filled, or that have no server yet, by id.
        ratings: What is stored of players, by ladder.
        periods: The rating period that collects outcomes now, by ladder.
        closing: The rating period whose outcomes are being rated, by ladder.
        backfills: Requests to fill matches, by their callers' names, in order of their start.
    """

    now: float = 0.0
    sequence: int = 0
    seed: int = 0
    version: int = 0
    configured_by: str = ""
    queues: dict[str, Queue] = {}
    paused: tuple[str, ...] = ()
    waiting: dict[str, LiveTicket] = {}
    ended: dict[str, EndedTicket] = {}
    matches: dict[str, KeptMatch] = {}
    keys: dict[str, IdempotencyKey] = {}
    players: dict[str, dict[str, str]] = {}
    busy: dict[str, dict[str, str]] = {}
    counters: Counters = msgspec.field(default_factory=Counters)
    forgotten: dict[str, int] = {}
    forget_at: float = 0.0
    recent: dict[str, RecentValues] = {}
    met: Meetings = {}
    played: dict[str, PlayedMatches] = {}
    proposals: dict[str, Proposal] = {}
    failed: dict[str, FailedProposal] = {}
    dissolved: dict[str, float] = {}
    penalties: dict[str, dict[str, Penalty]] = {}
    rosters: dict[str, Roster] = {}
    ratings: dict[str, Ladder] = {}
    periods: dict[str, Period] = {}
    closing: dict[str, Period] = {}
    backfills: dict[str, BackfillTicket] = {}

    @property
    def numbered(self) -> int:
        """Return how many ids of matches were given: to matches made, failed or proposed now."""
        return self.counters.matches + self.counters.dissolved + len(self.proposals)

    def view(self, ticket_id: str, now: float | None = None) -> TicketView:
        """Return a ticket as its owner sees it.

        Raises:
            Forgotten: It ended more than `KEEP_ENDED` seconds ago.
        """
        row = self.waiting.get(ticket_id)
        if row is not None:
            return live_view(row, None if row.match is None else self.proposals[row.match])
        end = self.ended.get(ticket_id)
        if end is None or (now is not None and end.ended_at + KEEP_ENDED < now):
            raise Forgotten(f"ticket {ticket_id} ended more than {KEEP_ENDED:g} s ago")
        state, changed, assignment = end.state, end.changed, None
        kept_match = self.matches.get(end.match) if end.match and state == "matched" else None
        if kept_match is not None and kept_match.assignment is not None:
            state, changed, assignment = "assigned", kept_match.assigned, kept_match.assignment
        return TicketView(
            ticket_id,
            state,
            end.queues,
            end.enqueued_at,
            changed,
            end.ended_at,
            end.reason,
            end.match,
            assignment,
            size=len(end.players),
        )

    def knows(self, ticket_id: str) -> bool:
        """Return whether a ticket waits or is kept under this id."""
        return ticket_id in self.waiting or ticket_id in self.ended

    def is_last_of_id(self, ticket: Ticket) -> bool:
        """Return whether no newer ticket waits, or is kept, under a ticket's id."""
        if (row := self.waiting.get(ticket.id)) is not None:
            return row.ticket.sequence == ticket.sequence
        ended = self.ended.get(ticket.id)
        return ended is None or ended.sequence == ticket.sequence

    def results(self, record: Record) -> tuple[TicketView | Refused, ...]:
        """Return what became of each ticket of an `Enqueue`, right after its record."""
        found: list[TicketView | Refused] = []
        for event in record.events:
            if type(event) is Accepted or type(event) is Existing:
                found.append(self.view(event.ticket))
            elif type(event) is Refused:
                found.append(event)
        return tuple(found)

    def note_failed_set(self, players: Iterable[str], until: float) -> None:
        """Note that players are not matched as the same set again until an instant."""
        key = _key_of_set(list(players))
        self.dissolved.pop(key, None)
        self.dissolved[key] = until

    def dissolved_until(self, tickets: Iterable[Ticket]) -> float:
        """Return until when the players of tickets are not proposed together; 0 if they may be."""
        if not self.dissolved:
            return 0.0
        return self.dissolved.get(_key_of_set([p.id for t in tickets for p in t.players]), 0.0)

    @property
    def miscounted(self) -> int:
        """Return by how many the counts differ if each accepted ticket is not in exactly one (I3).

        Those that wait again after a void match have ended once more than they were accepted.
        """
        counters = self.counters
        ended = counters.matched + counters.cancelled + counters.expired
        return abs(counters.accepted + counters.returned - len(self.waiting) - ended)

    def shallow_copy(self) -> Tables:
        """Return a consistent snapshot that later folds do not touch."""
        copied = msgspec.structs.replace(self, counters=msgspec.structs.replace(self.counters))
        for name in COPIED:
            setattr(copied, name, dict(getattr(self, name)))
        for name in COPIED_BY_GROUP:
            groups: dict[str, dict[str, object]] = getattr(self, name)
            setattr(copied, name, {group: dict(rows) for group, rows in groups.items()})
        copied.periods = {name: period.copy() for name, period in self.periods.items()}
        copied.closing = {name: period.copy() for name, period in self.closing.items()}
        copied.played = {group: played.copy() for group, played in self.played.items()}
        copied.recent = {key: recent.copy() for key, recent in self.recent.items()}
        return copied

    def end(
        self, now: float, ticket_id: str, state: str, reason: str | None, match: str | None = None
    ) -> None:
        """Move a live ticket to those that have ended."""
        ticket = self.waiting.pop(ticket_id).ticket
        party = ticket.players
        names = (party[0].id,) if len(party) == 1 else tuple([player.id for player in party])
        # The ticket's queues may be gone from the configuration by now, its group is not.
        for players in self.players.values():
            for name in names:
                if players.get(name) == ticket_id:
                    del players[name]
        self.ended[ticket_id] = EndedTicket(
            state,
            ticket.sequence,
            ticket.queues,
            ticket.enqueued_at,
            now,
            self.sequence + 1,
            reason,
            match,
            names,
        )

    def wait_again(self, ticket: Ticket) -> None:
        """Take a ticket back whose match is void, as old as it was.

        Players who wait in a newer ticket by now stay with that one.
        """
        self.ended.pop(ticket.id, None)
        self.waiting[ticket.id] = LiveTicket(ticket, ticket.queues, self.sequence + 1)
        group = self.players.setdefault(self.group_of(ticket), {})
        for player in ticket.players:
            group.setdefault(player.id, ticket.id)

    def group_of(self, ticket: Ticket) -> str:
        """Return the group in which a ticket waits, even if queues of it are gone by now."""
        queues = (self.queues[name] for name in ticket.queues if name in self.queues)
        return next((queue.group for queue in queues), "default")

    def check_event(self, event: Event) -> None:
        """Assert that the tickets of an event are in a state in which it may happen (I2).

        The live engine asks before it notes an event. Recovery does not: what is written has
        happened.
        """
        kind = type(event)
        if (tickets_in := CONCERNED.get(kind)) is None:
            return
        concerned, possible, waiting = tickets_in(event), BEFORE[kind], self.waiting
        for ticket_id in (concerned,) if type(concerned) is str else concerned:
            if (row := waiting.get(ticket_id)) is not None:
                state = WAITING if row.match is None else PROPOSED
            else:
                ended = self.ended.get(ticket_id)
                state = NEW if ended is None else ended.state
            assert state in possible, (
                f"I2: {kind.__name__} cannot happen to ticket {ticket_id}, which is {state}"
            )

    def _check(self) -> None:
        """Assert what must hold between records: I1, I2, I3 and the index of players."""
        assert not self.miscounted, "I3: a ticket was lost"
        assert not self.waiting.keys() & self.ended.keys(), "I2: a ticket in two states"
        seen: dict[tuple[str, str], str] = {}
        for ticket_id, row in self.waiting.items():
            assert row.queues, f"I2: ticket {ticket_id} waits in no queue"
            if row.match is not None:
                assert ticket_id in self.proposals[row.match].tickets, "I2: not in its proposal"
                continue
            group = self.queues[row.queues[0]].group
            for player in row.ticket.players:
                assert (group, player.id) not in seen, f"I1: player {player.id} waits twice"
                seen[group, player.id] = ticket_id
        for match_id, proposal in self.proposals.items():
            for ticket_id in proposal.tickets:
                assert self.waiting[ticket_id].match == match_id, "I2: a ticket in two proposals"
                for player in self.waiting[ticket_id].ticket.players:
                    group = proposal.queue.group
                    assert (group, player.id) not in seen, f"I1: player {player.id} waits twice"
                    seen[group, player.id] = ticket_id
            if (base := proposal.match.extends) in self.rosters:
                assert self.rosters[base].proposed == match_id, "two fills for the same seats"
        index = {(g, p): t for g, players in self.players.items() for p, t in players.items()}
        assert index == seen, "I1: the index of players differs from the tickets"
        self._check_rosters()

    def _check_rosters(self) -> None:
        """Assert that running matches hold the players who play, and nobody who left."""
        for match_id, roster in self.rosters.items():
            seated = [player for team in roster.players for player in team]
            kept_match = self.matches[match_id]
            assert kept_match.void is None, f"match {match_id} is void and runs"
            assert len(set(seated)) == len(seated), f"I1: a player is twice in match {match_id}"
            assert not set(seated) & set(roster.left), f"who left match {match_id} is in it"
            assert min(roster.free) >= 0, f"match {match_id} has more players than seats"
            assert roster.version == len(roster.fills), f"match {match_id} lost a fill"
            assert all(self.matches[fill].match.extends == match_id for fill in roster.fills)
            if roster.proposed:
                match = self.proposals[roster.proposed].match
                assert match.extends == match_id, f"match {match_id} keeps seats for nobody"
            opened = roster.open
            if opened is not None:
                assert opened.roster_version == roster.version, f"{match_id} has a stale opening"
                free = zip(opened.free, roster.free, strict=True)
                assert all(0 <= wanted <= room for wanted, room in free)
                if opened.ticket:
                    assert self.backfills[opened.ticket].match == match_id, "a lost backfill"
        for name, row in self.backfills.items():
            known = self.rosters.get(row.match)
            asks = known is not None and known.open is not None and known.open.ticket == name
            assert asks == (row.ended_at is None), f"backfill {name} is {row.state}"


def _key_of_set(players: list[str]) -> str:
    """Return what stands for a set of players."""
    named = msgspec.json.encode(sorted(players))
    return hashlib.blake2b(named, digest_size=16).hexdigest()


# Finding tickets and matches by id, and telling what never was from what is forgotten.


def find_ticket(tables: Tables, shard: str, ticket_id: str) -> TicketView:
    """Return a ticket as its owner sees it.

    Raises:
        UnknownTicket: It was never accepted.
        Forgotten: It ended long ago.
    """
    if ticket_id not in tables.waiting and ticket_id not in tables.ended:
        if _was_given(f"{shard}-", ticket_id, tables.counters.accepted):
            raise Forgotten(f"ticket {ticket_id[:64]} ended long ago")
        raise UnknownTicket(f"no ticket has the id {ticket_id[:64]!r}")
    return tables.view(ticket_id)


def find_match(tables: Tables, shard: str, match_id: str) -> KeptMatch:
    """Return a match.

    Raises:
        UnknownMatch: It was never made.
        Forgotten: It is no longer kept.
        NotMade: Its players have not accepted it yet.
        ProposalOver: It was proposed, and its proposal failed.
    """
    kept_match = tables.matches.get(match_id)
    if kept_match is None:
        if match_id in tables.proposals:
            raise NotMade(
                f"match {match_id} is proposed; its players have to accept it first",
                match=match_id,
            )
        if match_id in tables.failed:
            raise ProposalOver(
                f"match {match_id} was never made: its proposal failed", match=match_id
            )
        if _was_given(f"{shard}-m", match_id, tables.numbered):
            raise Forgotten(f"match {match_id[:64]} is no longer kept")
        raise UnknownMatch(f"no match has the id {match_id[:64]!r}")
    return kept_match


def too_late(view: TicketView) -> TooLate:
    """Return the refusal of an operation for which a ticket must be waiting."""
    return TooLate(f"ticket {view.id} is {view.state}", ticket=view.id, match=view.match)


def players_of(tables: Tables, ticket_id: str) -> tuple[str, ...]:
    """Return the ids of a ticket's players; the ticket waits, or is kept."""
    row = tables.waiting.get(ticket_id)
    if row is not None:
        return tuple([player.id for player in row.ticket.players])
    return tables.ended[ticket_id].players


def _was_given(prefix: str, name: str, last: int) -> bool:
    """Return whether the engine gave this id: the n-th is the prefix and n."""
    number = name.removeprefix(prefix)
    if name == number or len(number) > 18 or not (number.isascii() and number.isdigit()):
        return False
    return number[0] != "0" and int(number) <= last
