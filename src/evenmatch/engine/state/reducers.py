"""What each event changes in the tables, for the live engine and for recovery alike.

A reducer stores what the event says, and computes nothing that a later version might compute
otherwise. The one exception is `changed`, the number of the record after which the owner of a
ticket is told about it. A later version may tell owners about more events, as one did about
acceptances; if it folds older records, the number may be higher, and a client is told the state of
its ticket once more. No decision reads the number. It makes digests of states (`state_hash`) differ
between versions, but no journal and no snapshot holds such a digest.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, TypeVar

from msgspec.structs import replace

from evenmatch.criteria.percentile import parts_of, remember
from evenmatch.criteria.remembered_matches import BY_MATCHES, BY_MEETINGS
from evenmatch.engine.admission.ticket_update import refreshed
from evenmatch.engine.records import Record
from evenmatch.engine.state.encounters import (
    forget_unasked,
    forget_unlimited,
    note_meetings,
    note_played,
    with_counts,
    with_meetings,
)
from evenmatch.engine.state.rosters import (
    begin_roster,
    closed,
    finish,
    lay_down,
    opened,
    registered,
    reserve,
    voided,
    with_server,
)
from evenmatch.engine.state.rows import (
    KEEP_ENDED,
    FailedProposal,
    IdempotencyKey,
    KeptMatch,
    LiveTicket,
    Penalty,
    Proposal,
)
from evenmatch.engine.state.state import Tables
from evenmatch.engine.state.stored_ratings import OUTCOME_REDUCERS, accepted_ticket, seed_ratings
from evenmatch.engine.state.transitions import CANCELLED, EXPIRED, MATCHED
from evenmatch.model.events import (
    WITHDRAWN,
    Accepted,
    Assigned,
    Cancelled,
    Closed,
    Configured,
    Confirmed,
    Dissolved,
    Event,
    Existing,
    Expired,
    Finished,
    JobAsked,
    JobSettled,
    LeftQueue,
    Matched,
    Opened,
    Penalised,
    Prolonged,
    Proposed,
    Refused,
    Registered,
    Repaired,
    SeatsFreed,
    Skipped,
    Updated,
    Voided,
)
from evenmatch.model.inputs import Assign, Configure, Enqueue, Input, Update
from evenmatch.model.ticket import Ticket


def apply(tables: Tables, record: Record) -> None:
    """Fold a whole record, as recovery does."""
    for event in record.events:
        fold(tables, record.input, event)
    seal(tables, record)


def fold(tables: Tables, input_: Input, event: Event) -> None:
    """Fold one event of a record that is applied; the live engine asks `REDUCERS` itself."""
    REDUCERS[type(event)](tables, input_, event)


def seal(tables: Tables, record: Record) -> None:
    """End a record: note its number, instant and key, and forget old rows."""
    input_ = record.input
    tables.sequence, tables.now = record.sequence, input_.now
    if type(input_) is Enqueue and input_.key is not None:
        tables.keys[input_.key] = IdempotencyKey(input_.digest, input_.now, tables.results(record))
    # At once where twice as much has ended as is kept.
    if (
        input_.now >= tables.forget_at
        or len(tables.ended) >= 2 * KEEP_ENDED_MOST
        or len(tables.matches) >= 2 * KEEP_MATCHES_MOST
    ):
        forget(tables)


def _accepted(tables: Tables, input_: Input, event: Accepted) -> None:
    assert type(input_) is Enqueue
    new = input_.tickets[event.item]
    if event.ratings or event.defaults:
        new = accepted_ticket(new, event)
    names = new.queues or (next(iter(tables.queues)),)
    group = tables.queues[names[0]].group
    players = new.players
    if tables.met or tables.played:
        queues = [tables.queues[name] for name in names]
        if tables.met:
            players = with_meetings(new, queues, tables.met)
        if played := tables.played.get(group):
            players = with_counts(new, players, queues, played, input_.now)
    ticket = Ticket(event.ticket, event.sequence, input_.now, players, names, new.attributes)
    if event.percentiles or tables.recent:
        places = {key: placed.places for key, placed in event.percentiles.items()}
        ticket = replace(ticket, percentiles=places)
        remember(new, names, event.percentiles, tables.recent)
    tables.waiting[event.ticket] = LiveTicket(ticket, names, tables.sequence + 1)
    live = tables.players.get(group)
    if live is None:
        live = tables.players[group] = {}
    for player in new.players:
        live[player.id] = event.ticket
    tables.counters.accepted += 1


def _matched(tables: Tables, input_: Input, event: Matched) -> None:
    match, now = event.match, input_.now
    proposal = tables.proposals.pop(match.id, None)
    if proposal is not None:
        tables.counters.repaired += proposal.version > 0
    queue = tables.queues[match.queue] if proposal is None else proposal.queue
    base = tables.matches.get(match.extends) if match.extends is not None else None
    roster = tables.rosters.get(match.extends) if match.extends is not None else None
    playing = roster.teams if roster is not None else ()
    if queue.rating is not None:
        seed_ratings(tables, match, queue)
    has_roster = match.extends is not None or queue.keeps_rosters
    tickets: dict[str, Ticket] = {}
    if has_roster:
        tickets = {ticket_id: tables.waiting[ticket_id].ticket for ticket_id in match.tickets}
    if not BY_MEETINGS.isdisjoint(queue.kinds):
        known = (queue, *tables.queues.values())
        note_played(tables.played, match, tables.waiting, known, playing)
    for ticket_id in match.tickets:
        tables.end(now, ticket_id, MATCHED, None, match.id)
    tables.matches[match.id] = KeptMatch(
        tables.sequence + 1,
        match,
        queue.exclusive_match or queue.backfill is not None,
        now + queue.match_max if base is None else base.ends_at,
    )
    if has_roster:
        begin_roster(tables, match, queue, tickets)
    if queue.exclusive_match:
        busy = tables.busy.setdefault(queue.group, {})
        for team in match.players:
            for player in team:
                busy[player] = match.id
    if not BY_MATCHES.isdisjoint(queue.kinds) and match.queue in tables.queues:
        # The queue that a proposal began with may be in another group by now.
        known = (queue, *tables.queues.values())
        note_meetings(tables.met, match, queue.group, known, playing)
    counters = tables.counters
    counters.matched += len(match.tickets)
    counters.matches += 1
    counters.bots += match.bots
    counters.filled += match.extends is not None


def _configured(tables: Tables, input_: Input, event: Configured) -> None:
    del event
    assert isinstance(input_, Configure)
    tables.queues = {queue.name: queue for queue in input_.queues}
    tables.seed, tables.version, tables.paused = input_.seed, input_.version, input_.pause
    tables.configured_by = input_.by
    for key in [key for key in tables.recent if parts_of(key)[0] not in tables.queues]:
        del tables.recent[key]
    forget_unasked(tables.met, input_.queues)
    forget_unlimited(tables.played, input_.queues)


def _cancelled(tables: Tables, input_: Input, event: Cancelled) -> None:
    tables.end(input_.now, event.ticket, CANCELLED, event.reason, event.match)
    tables.counters.cancelled += 1


def _expired(tables: Tables, input_: Input, event: Expired) -> None:
    tables.end(input_.now, event.ticket, EXPIRED, event.reason)
    tables.counters.expired += 1


def _left_queue(tables: Tables, input_: Input, event: LeftQueue) -> None:
    del input_
    row = tables.waiting[event.ticket]
    queues = tuple([name for name in row.queues if name != event.queue])
    tables.waiting[event.ticket] = replace(row, queues=queues, changed=tables.sequence + 1)


def _updated(tables: Tables, input_: Input, event: Updated) -> None:
    row = tables.waiting[event.ticket]
    # Without an update, matches have become too old to count for a limit.
    ticket = row.ticket
    if isinstance(input_, Update):
        ticket = refreshed(ticket, input_, event.percentiles)
    # A ticket in a proposal keeps the names of queues that are gone until it waits again.
    queues = [tables.queues[name] for name in row.queues if name in tables.queues]
    if queues and (played := tables.played.get(queues[0].group)):
        players = with_counts(ticket, ticket.players, queues, played, input_.now)
        ticket = replace(ticket, players=players)
    tables.waiting[event.ticket] = replace(row, ticket=ticket, changed=tables.sequence + 1)


def _assigned(tables: Tables, input_: Input, event: Assigned) -> None:
    place = event.assignment
    if place is None:
        assert isinstance(input_, Assign)
        place = input_.assignment
    tables.matches[event.match] = replace(
        tables.matches[event.match], assignment=place, assigned=tables.sequence + 1
    )
    with_server(tables, event.match)


def _finished(tables: Tables, input_: Input, event: Finished) -> None:
    finish(tables, event.match, input_.now)


def _job_asked(tables: Tables, input_: Input, event: JobAsked) -> None:
    del input_
    tables.counters.jobs = event.number


def _job_settled(tables: Tables, input_: Input, event: JobSettled) -> None:
    del input_
    tables.counters.dropped += event.dropped


def _proposed(tables: Tables, input_: Input, event: Proposed) -> None:
    match = event.match
    tables.proposals[match.id] = Proposal(
        tables.sequence + 1,
        match,
        tables.queues[match.queue],
        input_.now,
        match.quality,
        event.until,
    )
    _claim(tables, match.tickets, match.id)
    reserve(tables, match, match.id)
    tables.counters.proposed += 1


def _confirmed(tables: Tables, input_: Input, event: Confirmed) -> None:
    del input_
    proposal = tables.proposals[event.match]
    accepted = {
        **proposal.accepted,
        event.ticket: proposal.accepted.get(event.ticket, ()) + event.players,
    }
    tables.proposals[event.match] = replace(proposal, accepted=accepted)
    _claim(tables, (event.ticket,), event.match)


def _seats_freed(tables: Tables, input_: Input, event: SeatsFreed) -> None:
    del input_
    proposal = tables.proposals[event.open.id]
    if proposal.version == 0:
        tables.counters.checks_failed += 1
    seated = {ticket_id for team in event.open.seated for ticket_id in team}
    stay = {player.id for key in seated for player in tables.waiting[key].ticket.players}
    left = [player for team in proposal.match.players for player in team if player not in stay]
    tables.proposals[event.open.id] = replace(
        proposal,
        version=event.open.roster_version,
        left=tuple(dict.fromkeys((*proposal.left, *left))),
        until={key: until for key, until in proposal.until.items() if key in seated},
        accepted={key: players for key, players in proposal.accepted.items() if key in seated},
        open=event.open,
    )


def _repaired(tables: Tables, input_: Input, event: Repaired) -> None:
    del input_
    match = event.match
    proposal = tables.proposals[match.id]
    tables.proposals[match.id] = replace(
        proposal,
        version=proposal.version + 1,
        match=match,
        until={**proposal.until, **event.until},
        open=None,
    )
    _claim(tables, event.joined, match.id)


def _prolonged(tables: Tables, input_: Input, event: Prolonged) -> None:
    del input_
    proposal = tables.proposals[event.match]
    seats = proposal.open
    if seats is not None:
        seats = replace(seats, expires_at=event.expires_at)
    tables.proposals[event.match] = replace(proposal, until=event.until, open=seats)
    _claim(tables, proposal.tickets, event.match)


def _dissolved(tables: Tables, input_: Input, event: Dissolved) -> None:
    proposal = tables.proposals.pop(event.match)
    tables.failed[event.match] = FailedProposal(input_.now, event.reason)
    _claim(tables, event.tickets, None)
    tables.counters.dissolved += 1
    reserve(tables, proposal.match, "")
    if proposal.match.extends is not None and event.reason == WITHDRAWN:
        return
    if proposal.queue.accept is not None:
        players = [player for team in proposal.match.players for player in team]
        tables.note_failed_set(players, input_.now + proposal.queue.accept.again)
    if proposal.version == 0:
        tables.counters.checks_failed += 1


def _penalised(tables: Tables, input_: Input, event: Penalised) -> None:
    penalties = tables.penalties.setdefault(event.group, {})
    penalties.pop(event.player, None)
    penalties[event.player] = Penalty(event.count, input_.now, event.until)


def _nothing(tables: Tables, input_: Input, event: Existing | Refused | Skipped) -> None:
    """Leave the tables as they are: the event is an answer, or concerns policies, only."""


def _claim(tables: Tables, ticket_ids: tuple[str, ...], match_id: str | None) -> None:
    """Note which proposal has these tickets, or that they wait again."""
    waiting, changed = tables.waiting, tables.sequence + 1
    for ticket_id in ticket_ids:
        waiting[ticket_id] = replace(waiting[ticket_id], match=match_id, changed=changed)


REDUCERS: dict[type[Event], Callable[[Tables, Input, Any], None]] = {
    Accepted: _accepted,
    Matched: _matched,
    Assigned: _assigned,
    Closed: closed,
    Opened: opened,
    Registered: registered,
    Voided: voided,
    Cancelled: _cancelled,
    Configured: _configured,
    Confirmed: _confirmed,
    Dissolved: _dissolved,
    Existing: _nothing,
    Expired: _expired,
    Finished: _finished,
    JobAsked: _job_asked,
    JobSettled: _job_settled,
    LeftQueue: _left_queue,
    Penalised: _penalised,
    Prolonged: _prolonged,
    Proposed: _proposed,
    Refused: _nothing,
    Repaired: _repaired,
    SeatsFreed: _seats_freed,
    Skipped: _nothing,
    Updated: _updated,
    **OUTCOME_REDUCERS,
}


# How long the engine keeps what has ended.

KEEP_MATCHES = 86_400.0
"""Seconds for which matches are kept."""
KEEP_MATCHES_MOST = 100_000
"""Matches kept at the most."""
KEEP_ENDED_MOST = 500_000
"""Ended tickets kept at the most; beyond, the oldest are forgotten sooner."""
KEYS_MOST = 500_000
"""Idempotency keys kept at the most; beyond, new ones are refused."""
KEEP_PENALTIES = 86_400.0
"""Seconds after which a player's failed ready-checks are forgotten, unless a cooldown goes on."""
ROSTERS_MOST = 50_000
"""Rosters kept at the most; beyond, the oldest matches can no longer be filled or called off."""
BACKFILLS_MOST = 20_000
"""Requests to fill matches kept at the most; beyond, those that ended first are forgotten."""
PENALTIES_MOST = 100_000
"""Players of a group whose failed ready-checks are kept at the most."""
FORGET_EVERY = 10.0
"""Seconds between two looks at what is too old."""

Row = TypeVar("Row")


def forget(tables: Tables) -> None:
    """Drop the rows that have been kept for long enough.

    In batches: walking past the deleted front of a dict at every record would be quadratic.
    """
    now = tables.now
    tables.forget_at = now + FORGET_EVERY
    before = now - KEEP_ENDED
    _drop(tables.ended, lambda end: end.ended_at < before, KEEP_ENDED_MOST)
    _drop(tables.keys, lambda key: key.at < before, KEYS_MOST)
    _drop(tables.failed, lambda failed: failed.at < before, KEEP_ENDED_MOST)
    _drop(tables.dissolved, lambda until: until <= now, KEEP_ENDED_MOST)
    if tables.backfills:
        _forget_backfills(tables, before)
    for penalties in tables.penalties.values():
        _forget_penalties(penalties, now)
    for match_id in _first(tables.rosters, lambda _: False, ROSTERS_MOST):
        lay_down(tables, match_id, now)
    before = now - KEEP_MATCHES
    for match_id in _first(
        tables.matches, lambda kept: kept.match.at < before and not kept.live, KEEP_MATCHES_MOST
    ):
        finish(tables, match_id, now)
        kept_match = tables.matches.pop(match_id)
        tables.rosters.pop(match_id, None)
        tables.forgotten[kept_match.match.queue] = kept_match.made


def _forget_backfills(tables: Tables, before: float) -> None:
    """Drop the requests that ended long ago; those that wait may be as old as they like."""
    ended = [(row.ended_at, name) for name, row in tables.backfills.items() if row.ended_at]
    surplus = len(tables.backfills) - BACKFILLS_MOST
    for place, (ended_at, name) in enumerate(sorted(ended)):
        if ended_at < before or place < surplus:
            del tables.backfills[name]


def _forget_penalties(penalties: dict[str, Penalty], now: float) -> None:
    """Drop what is too old to count; cooldowns that last longer stay until they are over."""
    old = []
    for player, penalty in penalties.items():
        if penalty.at >= now - KEEP_PENALTIES:
            break
        if penalty.until <= now:
            old.append(player)
    for player in old:
        del penalties[player]
    _drop(penalties, lambda _: False, PENALTIES_MOST)


def _drop(rows: dict[str, Row], is_old: Callable[[Row], bool], most: int) -> None:
    for key in _first(rows, is_old, most):
        del rows[key]


def _first(rows: dict[str, Row], is_old: Callable[[Row], bool], most: int) -> list[str]:
    """Return the ids of the rows at the front that are old, or more than are kept."""
    old = []
    for row_id, row in rows.items():
        if not is_old(row):
            break
        old.append(row_id)
    surplus = len(rows) - most
    return old if len(old) >= surplus else list(islice(rows, surplus))
