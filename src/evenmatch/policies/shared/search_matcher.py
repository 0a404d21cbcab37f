"""The matcher of policies that search again and again, and start what is good enough.

A matcher keeps a **tentative division** of those who wait. While players come and go it asks for
searches, one at a time, as jobs: what the matcher itself does when somebody comes does not depend
on how many wait. The last search's matches stay until they start, lose a player, or a newer search
divides everybody anew. When a match starts is up to a `StartRule`, the one thing in which
`rolling` and `threshold` differ.

Whatever a match waits for is an instant that is known beforehand, so nothing depends on how often
the matcher is asked.

Where more wait than one search can hold, a `SearchPool` says who takes part: the longest waiting
first, and some of the newest beside them, so that a crowd that can't play keeps nobody else from
playing. A ticket that was searched for in vain rests for one search, then for two, four and so on,
since looking at it costs as much as looking at any other.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from evenmatch.criteria.expansion import TICKS, last_change, round_up
from evenmatch.criteria.objective import Objective
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Job, JobResult, Memory
from evenmatch.policies.shared.condition_round import rounds_of
from evenmatch.policies.shared.round_clock import is_due
from evenmatch.policies.shared.search_job import (
    SearchEffort,
    SearchJob,
    found_in,
    legal_at,
    seed_of,
)
from evenmatch.policies.shared.start_rule import StartRule, TentativeMatch, start_of, tentative_of

NEWEST = 0.25
"""Share of a search for those who came last."""
RESTS_MAX = 64
"""Searches for which a ticket rests at the most."""

MISSES_MAX = 16
"""Parties too large for the room that is left, after which nobody else is asked."""

Age = tuple[float, int]


class SearchPool:
    """The tickets of a queue whose turn it is.

    Args:
        players: Players whom a search holds at the most.
        memory: What `memory()` said before a restart.
    """

    def __init__(self, players: int, memory: Mapping[str, Any]) -> None:
        self._most = players
        # By age; who rests stands in `_resting` instead, and in `_until` with its number.
        self._ready: list[Age] = []
        self._resting: dict[int, dict[int, None]] = {
            number: dict.fromkeys(tickets) for number, tickets in memory.get("resting", ())
        }
        self._until = {each: number for number, found in self._resting.items() for each in found}
        self._vain: dict[int, int] = dict(memory.get("vain", ()))
        self._unseen: bool = memory.get("unseen", False)

    @property
    def has_more(self) -> bool:
        """Return whether somebody could take part in a search who was not in the last one."""
        return self._unseen

    @property
    def has_resting(self) -> bool:
        """Return whether somebody rests."""
        return bool(self._until)

    def enter(self, ticket: Ticket) -> None:
        """Let a ticket take part, unless it rested before a restart: O(log n)."""
        if ticket.sequence not in self._until:
            insort(self._ready, ticket.age_key)

    def leave(self, ticket: Ticket) -> None:
        """Forget a ticket: O(log n)."""
        self._vain.pop(ticket.sequence, None)
        self._wake(ticket.sequence)
        self._take_out(ticket)

    def restored(self, tickets: Mapping[int, Ticket]) -> None:
        """Forget whom a memory knows and who did not come back after a restart."""
        self._vain = {each: count for each, count in self._vain.items() if each in tickets}
        for sequence in [each for each in self._until if each not in tickets]:
            self._wake(sequence)

    def chosen(self, tickets: Mapping[int, Ticket], players: int, number: int) -> list[Ticket]:
        """Return who takes part in a search, longest waiting first.

        Args:
            tickets: All who wait, by sequence.
            players: How many they are; if one search holds them all, nobody rests.
            number: Of the search; they ascend.

        Complexity:
            O(tickets that it holds), and O(log n) for each that has rested.
        """
        everybody = players <= self._most
        for due in [each for each in self._resting if everybody or each <= number]:
            for sequence in list(self._resting[due]):
                self._wake(sequence)
                insort(self._ready, tickets[sequence].age_key)
        oldest, room = self._take(tickets, 0, 1, self._most * (1.0 - NEWEST))
        newest, _ = self._take(tickets, len(self._ready) - 1, -1, self._most * NEWEST + room)
        seen = set(oldest)
        both = oldest + [each for each in reversed(newest) if each not in seen]
        self._unseen = len(both) < len(self._ready)
        return [tickets[sequence] for sequence in both]

    def note_failed_search(
        self, chosen: Collection[Ticket], seated: Collection[int], number: int, waiting: int
    ) -> None:
        """Note for whom a search found nothing.

        Args:
            chosen: Who took part and still waits.
            seated: Sequences of those who are in some match now.
            number: Of the search.
            waiting: Players who wait.
        """
        for ticket in chosen:
            sequence = ticket.sequence
            if sequence in seated or waiting <= self._most:
                self._vain.pop(sequence, None)
                continue
            count = self._vain[sequence] = self._vain.get(sequence, 0) + 1
            if self._take_out(ticket):
                until = number + min(2 ** min(count, 10), RESTS_MAX)
                self._resting.setdefault(until, {})[sequence] = None
                self._until[sequence] = until

    def memory(self) -> dict[str, Any]:
        """Return who rests until which search, and how often each was searched for in vain."""
        return {
            "vain": [[sequence, count] for sequence, count in self._vain.items()],
            "resting": [[number, list(found)] for number, found in self._resting.items()],
            "unseen": self._unseen,
        }

    def _wake(self, sequence: int) -> None:
        """Let a ticket rest no longer."""
        until = self._until.pop(sequence, None)
        if until is not None:
            del self._resting[until][sequence]
            if not self._resting[until]:
                del self._resting[until]

    def _take_out(self, ticket: Ticket) -> bool:
        at = bisect_left(self._ready, ticket.age_key)
        if self._ready[at : at + 1] != [ticket.age_key]:
            return False
        del self._ready[at]
        return True

    def _take(
        self, tickets: Mapping[int, Ticket], start: int, step: int, room: float
    ) -> tuple[list[int], float]:
        """Return tickets from one end on as long as they fit, and how much room is left."""
        found: list[int] = []
        at, misses = start, 0
        while 0 <= at < len(self._ready) and room >= 1.0 and misses < MISSES_MAX:
            sequence = self._ready[at][1]
            size = tickets[sequence].size
            if size <= room:
                found.append(sequence)
                room -= size
            else:
                misses += 1
            at += step
        return found, room


STARTS_MAX = 1
"""Matches that one decision starts at the most; the others start in the next, right afterwards."""
EVALUATIONS_PER_SECOND = 7_500.0
"""A small search is soon followed by the next, a large one after `StartRule.every`."""
BEAT_GROWTH = 0.125
"""While rules widen and nothing else happens, searches become the rarer the longer that lasts."""
WRITTEN = 4
"""Tickets whose facts are written into columns with each call: they come one by one, and so no
search begins with writing thousands."""
TICK = 1.0 / TICKS
LATE = 4.0 * TICK
"""Seconds after the end of a rule's growth from which on a search surely takes the widest limit."""
LONG_AGO = 3_600.0
"""Seconds before its newest ticket came from which on any match that is due could have started."""
REFUSED_MAX = 64
"""Matches remembered that rules refused after a search had found them."""


class SearchingMatcher:
    """The waiting tickets, their tentative matches, and the search that runs.

    Args:
        queue: As configured.
        rule: Says when matches start.
        effort: Of each search.
        players_max: Players whom a search holds.
        wait_max: Who has waited so long starts with the best match there is, s.
        seed: Of all chance.
        memory: What `memory()` said before a restart.
        halves: Whether every search also says what half of its players would make.
    """

    def __init__(
        self,
        queue: Queue,
        rule: StartRule,
        effort: SearchEffort,
        *,
        players_max: int,
        wait_max: float,
        seed: int,
        memory: Memory,
        halves: bool = False,
    ) -> None:
        # Loaded here: a policy can be chosen and explained without compiling kernels.
        from evenmatch.policies.shared.ticket_batch import BatchRoster

        self.evaluations = 0
        self.rule = rule
        self._effort, self._halves = effort, halves
        self._seed = f"{seed}/{queue.name}"
        self._k, self._k_min = queue.format.k, queue.format.k_min
        self._wait_max = wait_max
        self._objective = Objective(queue)
        self._roster = BatchRoster(queue)
        self._pool = SearchPool(players_max, memory.get("pool", {}))
        # Whether some rule widens for ever; the growth of the others has an end.
        self._widens = any(last_change(each.expand, each.limit) == math.inf for each in queue.rules)
        self._rounds = rounds_of(queue)
        self._last_wait = max(_last_growth(queue), self._rounds.last_wait if self._rounds else 0.0)
        # When rules or conditions change for the last time for somebody who has come.
        self._changes_until: float = _number(memory.get("changes_until"), -math.inf)
        self._matches: list[TentativeMatch] = [
            msgspec.convert(each, TentativeMatch) for each in memory.get("matches", ())
        ]
        self._number: int = memory.get("number", 0)
        self._running: dict[int, Ticket] | None = None
        self._newest: int = memory.get("newest", 0)
        # A search that was lost with its process is asked for again.
        self._has_news: bool = memory.get("has_news", False)
        self._search_at: float = _number(memory.get("search_at"), -math.inf)
        self._searched_at: float = _number(memory.get("searched_at"), math.inf)
        self._changed_at: float = memory.get("changed_at", 0.0)
        # From then on matches may start again, after as many as may start at once.
        self._go_on_at: float = _number(memory.get("go_on_at"), -math.inf)
        # How often each was found and refused.
        self._refused: dict[tuple[int, ...], int] = {
            tuple(each): count for each, count in memory.get("refusals", ())
        }
        self._passed_over: int | None = memory.get("passed_over")
        self._returning = bool(memory)
        self._expected: list[int] | None = memory.get("waiting")

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in; the next search may seat it: O(log n)."""
        if isinstance(entry, OpenMatch):
            return
        is_known = entry.sequence <= self._newest
        if not (self._returning and is_known):
            self._end_return(now)
        self._roster.enter(entry)
        self._roster.write_some(WRITTEN)
        self._pool.enter(entry)
        if self._last_wait > 0.0:
            last = round_up(entry.enqueued_at + self._last_wait)
            self._changes_until = max(self._changes_until, last)
        self.evaluations += 1
        self._newest = max(self._newest, entry.sequence)
        if self._returning:
            # It waited here before a restart, and the memory knows.
            return
        self.rule.advance(now, False)
        self.rule.entered(entry, now)
        self._news(now)
        if is_known:
            self._time_starts()

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket; its tentative match falls apart: O(matches)."""
        sequence = self._roster.number.get(entry_id)
        if sequence is None:
            return
        self._end_return(now)
        ticket = self._roster.tickets[sequence]
        self._take_out(ticket)
        self.rule.advance(now, False)
        self.rule.left(ticket, now)
        self._matches = [each for each in self._matches if sequence not in each.tickets]
        self._news(now)
        self._time_starts()

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Start the matches that are due, and ask for a search where something has changed."""
        self._end_return(now)
        if is_due(self.rule.next_at, now, fired):
            self.rule.advance(now, fired)
            self._time_starts()
        groups = self._start(now, fired)
        job = None
        if fired and self._wants_search(now):
            job = self._ask(now)
        return Decision(tuple(groups), self._wake_at(now, fired), job)

    def settle(self, result: JobResult, now: float) -> Decision:
        """Take the matches of a search in the place of all others."""
        self._end_return(now)
        if self._running is None or result.number != self._number:
            return Decision(wake_at=self._wake_at(now, False))
        asked, self._running = self._running, None
        tickets = self._roster.tickets
        # Whoever left and came back meanwhile is another ticket than the one that was searched for.
        still = [t for sequence, t in asked.items() if tickets.get(sequence) is t]
        here = {ticket.sequence for ticket in still}
        kept = [each for each in self._matches if not here.issuperset(each.tickets)]
        held = {sequence for each in kept for sequence in each.tickets}
        self._matches = []
        for sequences, quality, teams in found_in(result.data):
            if here.issuperset(sequences):
                match = tentative_of([tickets[s] for s in sequences], quality)
                match.teams = teams
                self._matches.append(match)
        seated = {sequence for each in self._matches for sequence in each.tickets}
        self._matches += [each for each in kept if seated.isdisjoint(each.tickets)]
        self._pool.note_failed_search(still, seated | held, self._number, self._roster.players)
        seated |= held
        alone = [ticket for ticket in still if ticket.sequence not in seated]
        self.rule.advance(now, False)
        self.rule.found(self._matches, alone, result.data, now)
        self._time_starts()
        return self.decide(now)

    def confirmed(self, seconds: float, now: float) -> None:
        """Hear how long the players of a match had to be asked before it was made."""
        self.rule.advance(now, False)
        self.rule.confirmed(seconds)

    def starts(self) -> dict[str, float]:
        """Return when each tentative match is to start, by the tickets in it."""
        tickets, found = self._roster.tickets, {}
        for match in self._matches:
            names = [tickets[each].id for each in match.tickets if each in tickets]
            if match.start_at is not None and len(names) == len(match.tickets):
                found.update(dict.fromkeys(names, match.start_at))
        return found

    def memory(self) -> Memory:
        """Return the division, what was learnt, and who rests from searches."""
        return {
            "matches": [msgspec.to_builtins(each) for each in self._matches],
            "go_on_at": _or_none(self._go_on_at),
            "number": self._number,
            "waiting": _sum_of(self._roster.tickets),
            "newest": self._newest,
            "has_news": self._has_news or self._running is not None,
            "search_at": _or_none(self._search_at),
            "searched_at": _or_none(self._searched_at),
            "changed_at": self._changed_at,
            "changes_until": _or_none(self._changes_until),
            "refusals": [[list(each), count] for each, count in self._refused.items()],
            "passed_over": self._passed_over,
            "pool": self._pool.memory(),
            "rule": self.rule.memory(),
        }

    def _end_return(self, now: float) -> None:
        """Forget what a memory said of tickets that did not come back after a restart."""
        if self._returning:
            self._returning = False
            here = self._roster.tickets
            # Where others wait than the memory knows, it has not heard all the news.
            self._has_news |= self._expected is not None and self._expected != _sum_of(here)
            # Nor has it if it is newer than the pool: then its instants are still to come.
            self._search_at = min(self._search_at, now + round_up(self.rule.every))
            if self._searched_at < math.inf:
                self._searched_at = min(self._searched_at, now)
            self._changed_at = min(self._changed_at, now)
            self._go_on_at = min(self._go_on_at, now + TICK)
            self._matches = [each for each in self._matches if here.keys() >= set(each.tickets)]
            self._pool.restored(here)
            self.rule.restored(here)

    def _news(self, now: float) -> None:
        self._has_news = True
        self._changed_at = now

    def _take_out(self, ticket: Ticket) -> None:
        self._pool.leave(ticket)
        self._roster.leave(ticket.id)

    # Searches

    def _wants_search(self, now: float) -> bool:
        return self._next_search() <= now

    def _next_search(self) -> float:
        """Return when the next search begins as things stand."""
        if self._running is not None or self._roster.players < self._k_min:
            return math.inf
        if self._has_news or self._pool.has_more:
            return self._search_at
        widens = self._widens or self._searched_at < self._changes_until
        if (widens or self._pool.has_resting) and self._searched_at < math.inf:
            beat = max(self.rule.every, BEAT_GROWTH * (self._searched_at - self._changed_at))
            return max(self._search_at, self._searched_at + round_up(beat))
        return math.inf

    def _ask(self, now: float) -> Job:
        """Return a search among those whose turn it is."""
        self._number += 1
        waiting = self._roster.players
        chosen = self._pool.chosen(self._roster.tickets, waiting, self._number)
        chosen = [ticket for ticket in chosen if ticket.sequence != self._passed_over]
        self._passed_over = None
        self._running = {ticket.sequence: ticket for ticket in chosen}
        self._has_news = False
        self._searched_at = now
        players = sum(ticket.size for ticket in chosen)
        self.evaluations += len(chosen)
        parts = self._effort.parts * (1.5 if self._halves else 1.0)
        spent = self._effort.evaluations(players) * parts
        self._search_at = now + round_up(min(spent / EVALUATIONS_PER_SECOND, self.rule.every))
        worths = {t.sequence: self.rule.worth(t, now) / self._k for t in chosen}

        def maker(tickets: list[Ticket]) -> Any:
            return self._roster.later(tickets, now, [worths[t.sequence] for t in tickets])

        return SearchJob(
            self._number,
            maker(chosen),
            chosen,
            self._effort,
            seed=seed_of(self._seed, self._number),
            with_half=maker(chosen[::2]) if self._halves else None,
            conditions=legal_at(self._rounds, now),
        )

    # Starts

    def _time_starts(self) -> None:
        """Set when each match starts: O(matches)."""
        tickets = self._roster.tickets
        for match in self._matches:
            at = self.rule.start_at(match, [tickets[each] for each in match.tickets])
            at = min(at, match.oldest + self._wait_max)
            at = at if match.after is None else max(at, match.after)
            match.start_at = max(at, match.newest - LONG_AGO) if at < math.inf else None

    def _start(self, now: float, fired: bool) -> list[Grouping]:
        """Start matches that are due, the best first; the rules have the last word."""
        groups: list[Grouping] = []
        if not is_due(self._go_on_at, now, fired):
            return groups
        for _ in range(STARTS_MAX):
            due = [each for each in self._matches if is_due(start_of(each), now, fired)]
            if not due:
                return groups
            match = max(due, key=lambda each: (self.rule.value(each, now), -each.tickets[0]))
            tickets = [self._roster.tickets[sequence] for sequence in match.tickets]
            tickets.sort(key=lambda ticket: ticket.age_key)
            self.evaluations += 1
            ready_at, teams = self._ready_at(match, tickets, now)
            if ready_at == math.inf:
                self._refuse(match, now)
                continue
            if ready_at > now:
                match.after = ready_at
                match.start_at = max(start_of(match), ready_at)
                continue
            groups.append(Grouping(tuple([ticket.id for ticket in tickets]), teams=teams))
            self._matches.remove(match)
            for ticket in tickets:
                self._take_out(ticket)
            self.rule.played(match, tickets, now)
            self._news(now)
            self._time_starts()
        self._go_on_at = now + TICK if fired else now
        return groups

    def _ready_at(
        self, match: TentativeMatch, tickets: list[Ticket], now: float
    ) -> tuple[float, tuple[tuple[str, ...], ...] | None]:
        """Return when a match is legal first, and its teams where conditions have a say."""
        if match.teams is None:
            return self._objective.legal_at(tickets), None
        here = self._roster.tickets
        teams = tuple([tuple([here[each] for each in team]) for team in match.teams])
        names = tuple([tuple([ticket.id for ticket in team]) for team in teams])
        return self._objective.rules.ready_at(teams, now), names

    def _refuse(self, match: TentativeMatch, now: float) -> None:
        """Drop a match that searches think legal and the rules do not.

        The next search leaves its newest ticket out, else it would find the same again; where the
        same is found later, the one that came before, and so on. Who of them may play without the
        others is found like this, and after as many searches it is left alone.
        """
        self._matches.remove(match)
        key = tuple(match.tickets)
        count = self._refused.pop(key, 0) + 1
        self._refused[key] = count
        if count <= len(key):
            self._passed_over = key[-count]
            self._news(now)
        while len(self._refused) > REFUSED_MAX:
            del self._refused[next(iter(self._refused))]

    def _wake_at(self, now: float, fired: bool) -> float:
        at = min((start_of(each) for each in self._matches), default=math.inf)
        at = min(max(at, self._go_on_at), self.rule.next_at, self._next_search())
        return at if at > now else now + TICK if fired else now


def _last_growth(queue: Queue) -> float:
    """Return the wait at which searches see the last limit at its end; 0 if none has an end."""
    ends = [last_change(rule.expand, rule.limit) for rule in queue.rules if rule.expand is not None]
    # Searches take limits a few ticks late; see `batch_rules`.
    return max([round_up(end) + LATE for end in ends if end < math.inf], default=0.0)


def _sum_of(sequences: Collection[int]) -> list[int]:
    """Return what tells one set of tickets from another: how many they are, and their sum."""
    return [len(sequences), sum(sequences)]


def _number(value: float | None, absent: float) -> float:
    return absent if value is None else value


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
