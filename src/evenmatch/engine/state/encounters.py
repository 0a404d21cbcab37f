"""Who played with whom, and when: kept where a queue limits how often two players meet.

A match is one row, and each player has the numbers of their rows, so that noting a match of k
players costs O(k). The counts that a ticket carries are worked out when it is accepted, and again
whenever one of them falls because a match is so long ago that it counts no more
(`matching.meeting_counts`). They do not rise, since nobody who waits is matched; if newcomers join
a running match that somebody waits beside, their own tickets tell of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Protocol

import msgspec

from evenmatch.criteria.remembered_matches import matches_remembered, meeting_rules
from evenmatch.engine.state.rows import Seated
from evenmatch.model.match import Match
from evenmatch.model.queue import RECENT, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player, Ticket, Value, attribute_of

Parties = tuple[tuple[str, ...], ...]
"""The player ids of a team, party by party."""

SEATS_MOST = 1_000_000
"""Players of kept matches of a group, counted once a match; beyond, the oldest are forgotten."""
MATCHES_MOST = 200
"""Matches that are kept of one player; beyond, their oldest are forgotten."""
SAID = " as said"
"""Behind a rule's attribute: what the caller said, where the engine's counts were added to it."""
FORGOTTEN_AT_ONCE = 8
"""Rows that are dropped for one that is added: old ones go faster than new ones come."""


class EncounterRow(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A match: when it was made, and who was in it.

    Args:
        at: When it was made, or filled.
        teams: Who played from then on.
        newcomers: Of a match that was filled, those who joined it: the others have met already.
            Empty of a new match, and of fills that older versions noted without the others.
    """

    at: float
    teams: tuple[Parties, ...]
    newcomers: tuple[str, ...] = ()


class PlayedMatches(msgspec.Struct):
    """The matches of one group in order, and where to find a player's.

    Args:
        rows: By number, which ascends, written as a text so that they can be sorted as JSON.
        of: The numbers of each player's rows, oldest first.
        first: The lowest number that may still be there.
        seats: The players of all rows.
    """

    rows: dict[str, EncounterRow] = {}
    of: dict[str, tuple[int, ...]] = {}
    first: int = 1
    seats: int = 0

    def copy(self) -> PlayedMatches:
        """Return a copy that later matches do not change."""
        return PlayedMatches(dict(self.rows), dict(self.of), self.first, self.seats)

    def add(self, row: EncounterRow, within: float) -> None:
        """Note a match, and forget a few that count no more after `within` seconds."""
        number = self.first + len(self.rows)
        self.rows[str(number)] = row
        for player in _players(row):
            self.of[player] = (*self.of.get(player, ())[1 - MATCHES_MOST :], number)
            self.seats += 1
        for _ in range(FORGOTTEN_AT_ONCE):
            if self.seats <= SEATS_MOST and self.rows[str(self.first)].at + within > row.at:
                break
            self._forget_first()

    def take_back(self, match: Match) -> None:
        """Stop counting a voided match; its row stays, without players."""
        players = sorted([player for team in match.players for player in team])
        for number in self.of.get(players[0], ()):
            row = self.rows[str(number)]
            if row.at == match.at and sorted(row.newcomers or _players(row)) == players:
                self.rows[str(number)] = EncounterRow(row.at, ())
                self._forget(number, row)

    def _forget_first(self) -> None:
        number, row = self.first, self.rows.pop(str(self.first))
        self.first += 1
        self._forget(number, row)

    def _forget(self, number: int, row: EncounterRow) -> None:
        """Stop counting a row for those who are in it."""
        for player in _players(row):
            self.seats -= 1
            left = tuple([each for each in self.of.get(player, ()) if each != number])
            if left:
                self.of[player] = left
            else:
                self.of.pop(player, None)

    def counts(self, player: str, rule: Rule, now: float) -> dict[str, float]:
        """Return how many matches a player has had with others, as a `pair_limit` counts them.

        Complexity:
            O(matches of the player within the window * k).
        """
        found: dict[str, float] = {}
        for number in reversed(self.of.get(player, ())):
            row = self.rows[str(number)]
            if row.at + rule.within <= now:
                break
            for other in _met(row, player, rule.pairs or "all"):
                found[other] = found.get(other, 0.0) + 1.0
        return found

    def falls_at(self, player: str, rule: Rule, now: float) -> float:
        """Return when the count of the next match of a player ends; inf if none counts now."""
        ends = (self.rows[str(number)].at + rule.within for number in self.of.get(player, ()))
        return min((at for at in ends if at > now), default=math.inf)


class _Live(Protocol):
    @property
    def ticket(self) -> Ticket: ...


def note_played(
    played: dict[str, PlayedMatches],
    match: Match,
    waiting: Mapping[str, _Live],
    queues: Iterable[Queue],
    playing: Seated = (),
) -> None:
    """Note a match of a queue with such a limit, while its tickets are still waiting.

    Args:
        played: What is known so far, by group; it is changed.
        match: The match.
        waiting: The live tickets.
        queues: That of the match, then all; it is kept for as long as any of its group asks.
        playing: Of a match that fills another: who plays in that one already, by team.
    """
    known = list(queues)
    group = known[0].group
    within = max(
        rule.within for each in known if each.group == group for rule in meeting_rules(each)
    )
    teams = tuple(
        [
            tuple([tuple([p.id for p in waiting[ticket].ticket.players]) for ticket in team])
            for team in match.teams
        ]
    )
    row = EncounterRow(match.at, teams)
    if playing:
        there = [tuple([tuple([p.id for p in t.players]) for t in team]) for team in playing]
        whole = tuple([old + new for old, new in zip(there, teams, strict=True)])
        row = EncounterRow(match.at, whole, tuple(_players(row)))
    played.setdefault(group, PlayedMatches()).add(row, within)


def with_counts(
    new: NewTicket | Ticket,
    players: tuple[Player, ...],
    queues: Sequence[Queue],
    played: PlayedMatches,
    now: float,
) -> tuple[Player, ...]:
    """Return the players of a new ticket with how often they met whom.

    Only those are named whom a limit concerns: a pair that has not reached it yet is not refused.
    What the caller says adds to that; of two numbers the larger counts. Players who carry counts
    already get them anew.
    """
    rules = _rules_of(queues)
    return tuple([_with(new, player, rules, played, now) for player in players])


def falls_at(ticket: Ticket, queues: Sequence[Queue], played: PlayedMatches, now: float) -> float:
    """Return when a count that a ticket carries may fall next; inf if it carries none."""
    return min(
        (
            played.falls_at(player.id, rule, now)
            for rule in _rules_of(queues)
            for player in ticket.players
            if rule.attribute + SAID in player.attributes
        ),
        default=math.inf,
    )


def _rules_of(queues: Sequence[Queue]) -> list[Rule]:
    """Return the limits of some queues, the strictest for each attribute."""
    rules: dict[str, Rule] = {}
    for queue in queues:
        for rule in meeting_rules(queue):
            least = rules.setdefault(rule.attribute, rule)
            if rule.limit < least.limit:
                rules[rule.attribute] = rule
    return list(rules.values())


def forget_unlimited(played: dict[str, PlayedMatches], queues: Iterable[Queue]) -> None:
    """Forget the matches of groups in which no queue limits pairs any more."""
    asked = {queue.group for queue in queues if meeting_rules(queue)}
    for group in [group for group in played if group not in asked]:
        del played[group]


def memory_conflict(queues: Iterable[Queue]) -> str | None:
    """Return why two rules cannot read one attribute, or None.

    A ticket carries one count for each pair under each attribute, so all rules of a group that
    read it must count the same matches.
    """
    seen: dict[tuple[str, str], tuple[str, Rule]] = {}
    for queue in queues:
        for rule in meeting_rules(queue):
            name, other = seen.setdefault((queue.group, rule.attribute), (queue.name, rule))
            if (rule.within, rule.pairs or "all") != (other.within, other.pairs or "all"):
                return (
                    f"rules pair_limit of queues {name} and {queue.name} count different matches "
                    f"under the attribute {rule.attribute}: give them the same within and pairs, "
                    f"or another attribute"
                )
    return None


def _with(
    new: NewTicket | Ticket, player: Player, rules: list[Rule], played: PlayedMatches, now: float
) -> Player:
    attributes: dict[str, Value] = dict(player.attributes)
    for rule in rules:
        counts = played.counts(player.id, rule, now)
        reached = {other: count for other, count in counts.items() if count >= rule.limit}
        carried = attributes.pop(rule.attribute + SAID, None)
        said = carried if carried is not None else attribute_of(new, player, rule.attribute)
        own = dict(said) if isinstance(said, dict) else {}
        if reached:
            attributes[rule.attribute + SAID] = dict(own)
            for other, count in reached.items():
                own[other] = max(count, own.get(other, 0.0))
        elif carried is None:
            continue
        if own:
            attributes[rule.attribute] = own
        else:
            del attributes[rule.attribute]
    if attributes == player.attributes:
        return player
    return msgspec.structs.replace(player, attributes=attributes)


def _met(row: EncounterRow, player: str, pairs: str) -> list[str]:
    """Return whom a player met in a match: enemies, teammates or all, but not their own party.

    Whoever played already when others joined met those only.
    """
    own = next(team for team in row.teams if any(player in party for party in team))
    found = []
    for team in row.teams:
        if pairs == "all" or (team is own) == (pairs == "teammates"):
            found += [other for party in team if player not in party for other in party]
    if row.newcomers and player not in row.newcomers:
        return [other for other in found if other in row.newcomers]
    return found


def _players(row: EncounterRow) -> list[str]:
    return [player for team in row.teams for party in team for player in party]


# Whom each player met last: kept in the tables, and handed to tickets when they are accepted.
#
# Both are folded from events, so that a journal rebuilds them; a ticket carries its memory as an
# attribute from its acceptance on, so that matchers, objective and rules look at nothing else.

Meetings = dict[str, dict[str, dict[str, float]]]
"""By group and player, longest inactive first: the others, and how many matches ago they met.

The innermost dicts are the values of tickets' attributes and are never changed.
"""

OTHERS_MOST = 100
"""Others that one player remembers at the most; those of older matches are forgotten first."""
PLAYERS_MOST = 100_000
"""Players of a shard whose meetings are kept; beyond, the longest inactive are forgotten."""
SURPLUS = 1_000
"""Players forgotten at a time: one by one, finding the next would be slow."""


def note_meetings(
    meetings: Meetings,
    match: Match,
    group: str,
    queues: Iterable[Queue],
    playing: Seated = (),
) -> None:
    """Note who met whom in a match of a queue that remembers meetings.

    Args:
        meetings: What is known so far; it is changed.
        match: The match.
        group: The group of its queue.
        queues: That of the match, then all; the group remembers as far back as any of its queues
            asks.
        playing: Of a match that fills another: who plays in that one already, by team. They meet
            the newcomers in the match that they are in.

    Complexity:
        O(k * (k + OTHERS_MOST)).
    """
    depth = max(matches_remembered(queue) for queue in queues if queue.group == group)
    known = meetings.setdefault(group, {})
    there = [[player.id for ticket in team for player in ticket.players] for team in playing]
    whole: Sequence[Sequence[str]] = match.players
    if there:
        whole = [[*old, *new] for old, new in zip(there, match.players, strict=True)]
    for place, team in enumerate(match.players):
        for player in team:
            _meet(known, player, _others(player, place, whole), 1.0, depth)
    for place, seated in enumerate(there):
        for player in seated:
            _meet(known, player, _others(player, place, match.players), 0.0, depth)
    if sum(map(len, meetings.values())) > PLAYERS_MOST:
        largest = max(meetings.values(), key=len)
        for player in list(islice(largest, SURPLUS)):
            del largest[player]


def _others(player: str, place: int, teams: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the others of a match as just met: teammates are negative."""
    return {
        other: -1.0 if at == place else 1.0
        for at, others in enumerate(teams)
        for other in others
        if other != player
    }


def _meet(
    known: dict[str, dict[str, float]],
    player: str,
    own: dict[str, float],
    older_by: float,
    depth: int,
) -> None:
    """Let a player remember others before whom they met until now, some matches longer ago."""
    own.update(
        (other, ago + math.copysign(older_by, ago))
        for other, ago in known.pop(player, {}).items()
        if other not in own and abs(ago) + older_by <= depth
    )
    known[player] = dict(islice(own.items(), OTHERS_MOST))


def with_meetings(
    new: NewTicket, queues: Sequence[Queue], meetings: Meetings
) -> tuple[Player, ...]:
    """Return the players of a new ticket with what is known of their meetings.

    What the caller says of a player, or of the whole party, is left as it is.
    """
    known = meetings.get(queues[0].group)
    if (
        not known
        or RECENT in new.attributes
        or not any(matches_remembered(queue) for queue in queues)
    ):
        return new.players
    return tuple([_with_opponents(player, known) for player in new.players])


def _with_opponents(player: Player, known: dict[str, dict[str, float]]) -> Player:
    own = known.get(player.id)
    if own is None or RECENT in player.attributes:
        return player
    return msgspec.structs.replace(player, attributes={**player.attributes, RECENT: own})


def forget_unasked(meetings: Meetings, queues: Iterable[Queue]) -> None:
    """Forget the meetings of groups in which no queue asks for them any more."""
    asked = {queue.group for queue in queues if matches_remembered(queue)}
    for group in [group for group in meetings if group not in asked]:
        del meetings[group]
