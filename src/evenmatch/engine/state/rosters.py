"""Rosters: who plays in a running match, while players may still join it or it may be void.

    begun --opened--> open --filled (version + 1)--> begun     until the match is over
                       `----closed-----------------> begun

A roster keeps whole tickets, because rules and criteria look at all players of a match that is
filled, and because the tickets of a void match wait again. Who joined and who left stays with the
match itself when its roster goes. What is here folds events; `backfill` decides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import Generic, TypeVar

from msgspec.structs import replace

from evenmatch.engine.state.rows import BackfillTicket, KeptMatch, Roster
from evenmatch.engine.state.state import Tables
from evenmatch.engine.state.transitions import CANCELLED, EXPIRED, MATCHED
from evenmatch.model.events import Assigned, Closed, Event, Finished, Opened, Registered, Voided
from evenmatch.model.inputs import Input
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket

OPENS_PER_MINUTE = 10
"""How often one match may be opened in a minute; heartbeats do not count."""
MINUTE = 60.0


def begin_roster(tables: Tables, match: Match, queue: Queue, tickets: Mapping[str, Ticket]) -> None:
    """Keep the roster of a new match, whose queue asks for it, or let a match be filled.

    Args:
        tables: They are changed.
        match: The new match.
        queue: Its queue.
        tickets: Its tickets by id.
    """
    teams = tuple([tuple([tickets[ticket_id] for ticket_id in team]) for team in match.teams])
    roles = _roles_of(match)
    base = tables.rosters.get(match.extends) if match.extends is not None else None
    if base is not None and match.extends is not None:
        _end_backfill(tables, match.at, base, MATCHED, fill=match.id)
        joined = zip(base.teams, teams, strict=True)
        tables.rosters[match.extends] = replace(
            base,
            teams=tuple([old + new for old, new in joined]),
            roles={**base.roles, **roles},
            version=base.version + 1,
            fills=(*base.fills, match.id),
            open=None,
            proposed="",
        )
    elif match.extends is None:
        tables.rosters[match.id] = Roster(
            match.queue,
            queue.format.players,
            teams,
            roles,
            match.region,
            since=match.at,
            backfill=queue.backfill,
            allocation=queue.allocation,
        )


def reserve(tables: Tables, match: Match, proposal: str) -> None:
    """Note which proposal has the free seats of the match that it is to fill; empty: none has."""
    base = tables.rosters.get(match.extends) if match.extends is not None else None
    if base is not None and match.extends is not None:
        tables.rosters[match.extends] = replace(base, proposed=proposal)


def with_server(tables: Tables, match_id: str) -> None:
    """Note that a match has a server; where nobody may join it, its roster is done with."""
    roster = tables.rosters.get(match_id)
    if roster is None:
        return
    if roster.backfill is None:
        del tables.rosters[match_id]
    elif roster.allocation is not None:
        tables.rosters[match_id] = replace(roster, allocation=None)


def without(ticket: Ticket, left: Collection[str]) -> Ticket | None:
    """Return a ticket without the players who have left; None if nobody stays.

    >>> from evenmatch.model.ticket import Player
    >>> party = Ticket("a", 1, 0.0, (Player("x"), Player("y")), (), {}, {"q/r": (0.1, 0.2)})
    >>> stays = without(party, ["x"])
    >>> stays.players[0].id, stays.percentiles
    ('y', {'q/r': (0.2,)})
    """
    stay = [place for place, player in enumerate(ticket.players) if player.id not in left]
    if len(stay) == ticket.size:
        return ticket
    if not stay:
        return None
    places = {
        key: tuple([values[place] for place in stay]) for key, values in ticket.percentiles.items()
    }
    players = tuple([ticket.players[place] for place in stay])
    return replace(ticket, players=players, percentiles=places)


def opened(tables: Tables, input_: Input, event: Opened) -> None:
    """Fold that a match asks for players, or for longer."""
    match_id = event.open.id
    roster = tables.rosters[match_id]
    is_renewed = (
        roster.open is not None
        and replace(roster.open, expires_at=event.open.expires_at) == event.open
    )
    known = roster.opened
    ticket = event.open.ticket
    if roster.open is not None and roster.open.ticket != ticket:
        _end_backfill(tables, input_.now, roster, CANCELLED, "replaced")
    if ticket and ticket not in tables.backfills:
        tables.backfills[ticket] = BackfillTicket(event.open.queue, match_id, input_.now)
    if any(event.open.free) and not is_renewed:
        known = (*[at for at in known if at > input_.now - MINUTE], input_.now)[-OPENS_PER_MINUTE:]
    teams, roles = roster.teams, roster.roles
    if event.left:
        kept = [[without(ticket, event.left) for ticket in team] for team in teams]
        teams = tuple([tuple([t for t in team if t is not None]) for team in kept])
        roles = {player: role for player, role in roles.items() if player not in event.left}
        _let_go(tables, (match_id, *roster.fills), event.left)
    tables.rosters[match_id] = replace(
        roster,
        teams=teams,
        roles=roles,
        since=event.open.enqueued_at,
        left=(*roster.left, *event.left),
        open=event.open if any(event.open.free) else None,
        opened=known,
    )


def closed(tables: Tables, input_: Input, event: Closed) -> None:
    """Fold that a match asks for nobody any more."""
    roster = tables.rosters[event.match]
    how, why = (EXPIRED, "deadline") if event.reason == "lease" else (CANCELLED, event.reason)
    _end_backfill(tables, input_.now, roster, how, "player" if why == "close" else why)
    tables.rosters[event.match] = replace(roster, open=None)


def registered(tables: Tables, input_: Input, event: Registered) -> None:
    """Fold that a match that was made elsewhere is known, as long as it asks for players."""
    del input_
    match = event.match
    place = {"session": event.session}
    made = tables.sequence + 1
    tables.matches[match.id] = KeptMatch(
        made, match, True, event.ends_at, place, made, registered=True
    )
    tables.rosters[match.id] = Roster(
        match.queue,
        tables.queues[match.queue].format.players,
        event.teams,
        region=match.region,
        since=match.at,
        backfill="manual",
        session=event.session,
    )


def voided(tables: Tables, input_: Input, event: Voided) -> None:
    """Fold that a match is void: its tickets wait again, as old as they were.

    It counts for no `pair_limit`. Who met whom in it stays remembered for `rematch`.
    """
    _end_backfill(tables, input_.now, tables.rosters[event.match], CANCELLED, "match_over")
    del tables.rosters[event.match]
    changed = tables.sequence + 1
    for match_id in (event.match, *event.fills):
        finish(tables, match_id, input_.now)
        match = tables.matches[match_id].match
        for played in tables.played.values():
            played.take_back(match)
        tables.matches[match_id] = replace(
            tables.matches[match_id], void=event.reason, voided=changed
        )
    for ticket in event.tickets:
        tables.wait_again(ticket)
    tables.note_failed_set([p.id for t in event.tickets for p in t.players], event.again_at)
    tables.counters.voided += 1 + len(event.fills)
    tables.counters.returned += len(event.tickets)


def finish(tables: Tables, match_id: str, now: float) -> None:
    """Let the players of a live match queue again; nobody joins it any more."""
    kept_match = tables.matches.get(match_id)
    if kept_match is None or not kept_match.live:
        return
    over(tables, match_id, now)
    tables.matches[match_id] = replace(tables.matches[match_id], live=False)
    for busy in tables.busy.values():
        for team in kept_match.match.players:
            for player in team:
                if busy.get(player) == match_id:
                    del busy[player]


def over(tables: Tables, match_id: str, now: float) -> None:
    """Forget the roster of a match that is over, and end those that filled it."""
    lay_down(tables, match_id, now)
    for fill in tables.matches[match_id].fills:
        finish(tables, fill, now)


def lay_down(tables: Tables, match_id: str, now: float) -> None:
    """Forget the roster of a match at an instant, except what a later outcome needs."""
    roster = tables.rosters.pop(match_id, None)
    if roster is not None:
        _end_backfill(tables, now, roster, CANCELLED, "match_over")
    if roster is not None and (roster.fills or roster.left):
        kept_match = tables.matches[match_id]
        tables.matches[match_id] = replace(kept_match, fills=roster.fills, left=roster.left)


def _end_backfill(
    tables: Tables,
    now: float,
    roster: Roster,
    state: str,
    reason: str | None = None,
    fill: str | None = None,
) -> None:
    """End the request that has a roster open, if its caller has a name for it."""
    if roster.open is None or not roster.open.ticket:
        return
    row = tables.backfills[roster.open.ticket]
    tables.backfills[roster.open.ticket] = replace(
        row, state=state, reason=reason, ended_at=now, fill=fill
    )


def _roles_of(match: Match) -> dict[str, str]:
    if match.roles is None:
        return {}
    teams = zip(match.players, match.roles, strict=True)
    return {
        player: role
        for players, roles in teams
        for player, role in zip(players, roles, strict=True)
    }


def _let_go(tables: Tables, matches: tuple[str, ...], left: Collection[str]) -> None:
    """Let players who have left a match queue again."""
    for busy in tables.busy.values():
        for player in left:
            if busy.get(player) in matches:
                del busy[player]


# What was counted of matches that may be called off yet, so that it can be taken back.
#
# A match may be void as long as its roster is kept and it has no place to be played; see
# `rosters`. Folds of records count it when it is made, and would count its players twice if it is
# void and they are matched again.

Count = TypeVar("Count")
Item = TypeVar("Item")

KEPT_MOST = 10_000
"""Matches that are kept; beyond that the oldest counts for good."""


class VoidableMatches(Generic[Count]):
    """The last matches that may be voided, and what was counted of each."""

    def __init__(self, queues: Iterable[Queue] = ()) -> None:
        self._names: set[str] = set()
        self._kept: dict[str, list[Count]] = {}
        self.configure(queues)

    def configure(self, queues: Iterable[Queue]) -> None:
        """Hear of queues. Matches made earlier may be void yet, so no queue is forgotten."""
        self._names.update(queue.name for queue in queues if queue.keeps_rosters)

    def keep(self, match: Match, counted: Count) -> list[Count]:
        """Keep what was counted of a match if it may be void; return what counts for good now."""
        if match.queue not in self._names:
            return [counted]
        # A match that fills another is called off with it, if that can be yet.
        if match.extends is not None and match.extends not in self._kept:
            return [counted]
        self._kept.setdefault(match.extends or match.id, []).append(counted)
        if len(self._kept) > KEPT_MOST:
            return self._kept.pop(next(iter(self._kept)))
        return []

    def settle(self, event: Event) -> list[Count]:
        """Return what counts for good after an event."""
        if isinstance(event, Assigned | Finished):
            return self._kept.pop(event.match, [])
        return []

    def take_back(self, event: Voided) -> list[Count]:
        """Return what was counted of a match that is void now, and of its fills."""
        return self._kept.pop(event.match, [])


def remove_last(kept: deque[Item], value: Item) -> bool:
    """Remove a value where it came last; return whether it was still kept."""
    for place in range(len(kept) - 1, -1, -1):
        if kept[place] == value:
            del kept[place]
            return True
    return False
