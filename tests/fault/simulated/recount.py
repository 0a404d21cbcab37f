"""A naive recount of the store's records: what became of each ticket, record by record.

It shares nothing with the engine but the records' types: lists and dicts, one rule at a time.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from evenmatch.engine.records import Record, decode
from evenmatch.model import events
from evenmatch.model.inputs import Assign, Configure, Decline, Enqueue, Prolong, Skip
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket
from evenmatch.server.runtime.clock import PAUSE_MAX, RETURN_SECONDS
from tests.fault.simulated.running import WITHDRAWN, RunningMatches
from tests.fault.simulated.store import Commit

ROUNDS = "tests.shuffles.Shuffles"
LIVE = frozenset({"waiting", "proposed"})
NOBODY = ("unknown", None, None)

BESIDE_MOST = 1.0
"""Seconds of engine time for which two who may play each other may wait beside each other."""
TOO_FAST, LATE_MOST = 1.02, 15.0
"""How much faster engine time may be than the world's, and how late a batch may be stored, s."""
ROUNDS_MOST, PASSES_MOST = 12.0, 1.0
"""Seconds for which two wait beside each other whom the next round would pair, and how much of the
time between two records counts of them: a server that was away has held no round meanwhile."""
AWAY_MOST = 2.0
"""Seconds for which a server may be away between asking somebody and giving them time."""

State = tuple[str, str | None, str | None]
"""State, match and reason, as a client sees them."""


class Life(msgspec.Struct):
    """A ticket: who, since when, and each state with the record that brought it."""

    new: NewTicket
    key: str | None
    enqueued_at: float
    sequence: int
    moved_at: float = 0.0
    since: list[int] = msgspec.field(default_factory=list)
    states: list[State] = msgspec.field(default_factory=list)

    @property
    def now(self) -> State:
        """Return the last state."""
        return self.states[-1]

    def within(self, first: int, last: int) -> list[State]:
        """Return the states after any of the records from `first` to `last`."""
        start = bisect_right(self.since, first) - 1
        end = bisect_right(self.since, last)
        known = self.states[max(start, 0) : end]
        return [NOBODY, *known] if start < 0 else known


class Recount:
    """All that the records say.

    Args:
        rows: The store's: sequence, Unix time, body.
        commits: When the store took them.
        newer_from: The first record of the newest format, and the first that was decided when all
            knew of it; newcomers are asked from then on.
    """

    def __init__(
        self,
        rows: Sequence[tuple[int, float, bytes]],
        commits: Sequence[Commit],
        newer_from: tuple[float, float] = (1, 1),
    ) -> None:
        self._newer_from, self._newer_for_all = newer_from
        self.problems: list[str] = []
        self.records: list[Record] = []
        self.lives: dict[str, Life] = {}
        self.matches: dict[str, tuple[int, Match]] = {}
        self.assigned: dict[str, list[tuple[int, Any]]] = {}
        self.keys: dict[str, tuple[int, float | None]] = {}
        self.confirmed: dict[tuple[str, str], int] = {}
        self.accepted: dict[tuple[str, str], set[str]] = {}
        self.failed_sets: list[tuple[float, frozenset[str]]] = []
        self.running = RunningMatches(self.wrong)
        self._skipped_until = -math.inf
        self._attended = 0.0
        self._came: dict[str, float] = {}
        self._made: list[Match] = []
        self._queues: dict[str, Queue] = {}
        self._live: dict[str, str] = {}
        self._proposed: dict[str, Match] = {}
        self._was_proposed: set[str] = set()
        self._ends = [(each.at, each.first_seq + len(each.bodies) - 1) for each in commits]
        self._check_commits(commits)
        for seq, _, body in rows:
            record = decode(body)
            if record.sequence != seq or seq != len(self.records) + 1:
                self.wrong("I15", f"record {record.sequence} stands in the place of {seq}")
            self._take(record)
        self.check_time(commits)

    def wrong(self, invariant: str, sentence: str) -> None:
        """Note a violation."""
        self.problems.append(f"{invariant}: {sentence}")

    def position(self, at: float) -> int:
        """Return the last record that the store had at an instant of the world."""
        place = bisect_right(self._ends, (at, math.inf))
        return self._ends[place - 1][1] if place else 0

    def check_time(self, commits: Sequence[Commit]) -> None:
        """I11: engine time goes as time goes, but for what a restart adds of an absence.

        A batch may reach the store long after it was decided, but was decided after the one before.
        """
        earlier = commits[0].at if commits else 0.0
        for before, after in pairwise(commits):
            passed = after.at - earlier
            earlier = before.at
            told = self._now_after(after) - self._now_after(before)
            if told > passed * TOO_FAST + PAUSE_MAX + LATE_MOST:
                self.wrong("I11", f"{told:.1f} s of engine time within {passed:.1f} s")

    def _now_after(self, commit: Commit) -> float:
        return self.records[commit.first_seq + len(commit.bodies) - 2].input.now

    def _check_commits(self, commits: Sequence[Commit]) -> None:
        """I15: each batch continues the one before it, and no older epoch writes after a newer."""
        last, epoch = 0, 0
        for each in commits:
            if each.first_seq != last + 1:
                self.wrong("I15", f"a batch begins at {each.first_seq} after record {last}")
            if each.holder[1] < epoch:
                self.wrong("I15", f"{each.holder} wrote after epoch {epoch}")
            last, epoch = each.first_seq + len(each.bodies) - 1, each.holder[1]

    # One record after the other

    def _take(self, record: Record) -> None:
        before = self.records[-1].input.now if self.records else 0.0
        if record.input.now < before:
            self.wrong("I11", f"engine time falls at record {record.sequence}")
        if not math.isfinite(record.input.now):
            self.wrong("I13", f"record {record.sequence} has no finite instant")
        self.records.append(record)
        self._attended += min(record.input.now - before, PASSES_MOST)
        if isinstance(record.input, Configure):
            self._queues = {queue.name: queue for queue in record.input.queues}
        for event in record.events:
            self._take_event(record, event)
        self._check_order(record)
        self._check_who_waits(record)
        if isinstance(record.input, Decline) and self.lives[record.input.ticket].now[0] in LIVE:
            self.wrong("I14", f"{record.input.ticket} declined at {record.sequence} and goes on")
        if isinstance(record.input, Enqueue) and record.input.key is not None:
            rating = record.input.tickets[0].players[0].rating
            mean = None if rating is None else rating.mean
            if record.input.key in self.keys:
                self.wrong("I8", f"record {record.sequence} uses {record.input.key} again")
            self.keys[record.input.key] = (record.sequence, mean)

    def _take_event(self, record: Record, event: object) -> None:
        if isinstance(event, events.Accepted):
            self._accept(record, event)
        elif isinstance(event, events.Proposed | events.Repaired):
            self._propose(record, event)
        elif isinstance(event, events.Confirmed):
            self.confirmed.setdefault((event.match, event.ticket), record.sequence)
            self._expect(record, event.ticket, {"proposed"})
            self.accepted.setdefault((event.match, event.ticket), set()).update(event.players)
        elif isinstance(event, events.Prolonged):
            self._prolong(record, event)
        elif isinstance(event, events.Matched):
            self._match(record, event.match)
        elif isinstance(event, events.Dissolved):
            self._dissolve(record, event)
        elif isinstance(event, events.Cancelled):
            self._end(record, event.ticket, ("cancelled", event.match, event.reason))
        elif isinstance(event, events.Expired):
            self._expire(record, event)
        elif isinstance(event, events.Assigned):
            self._assign(record, event)
        elif isinstance(event, events.Penalised):
            self._penalise(record, event)
        elif isinstance(event, events.Opened | events.Closed | events.Finished | events.Voided):
            self.running.take(record.sequence, event)

    def _accept(self, record: Record, event: events.Accepted) -> None:
        assert isinstance(record.input, Enqueue)
        new = record.input.tickets[event.item]
        if event.ticket in self.lives:
            self.wrong("I2", f"the id {event.ticket} was given twice")
        for player in new.players:
            if (other := self._live.get(player.id)) is not None:
                self.wrong("I1", f"{player.id} is in {other} and in {event.ticket}")
            self._live[player.id] = event.ticket
        if match := self.running.playing([player.id for player in new.players]):
            self.wrong("I1", f"{event.ticket} was taken, and one of it plays in {match}")
        self._came[event.ticket] = self._attended
        life = Life(new, record.input.key, record.input.now, event.sequence)
        self.lives[event.ticket] = life
        self._move(record, event.ticket, ("waiting", None, None))

    def _propose(self, record: Record, event: events.Proposed | events.Repaired) -> None:
        self._proposed[event.match.id] = event.match
        self._was_proposed.add(event.match.id)
        asked = event.match.tickets if isinstance(event, events.Proposed) else event.joined
        self._check_match(record, event.match)
        if event.match.extends is not None:
            self.running.ask(record.sequence, event.match)
            if record.sequence < self._newer_from:
                self.wrong("I19", f"{event.match.id} asks newcomers, which is news to older nodes")
        if isinstance(event, events.Proposed):
            players = frozenset(name for team in event.match.players for name in team)
            again = [at for at, failed in self.failed_sets if failed == players]
            if again and record.input.now < again[-1]:
                self.wrong("I14", f"the players of {event.match.id} are asked again too soon")
        for ticket in asked:
            self._expect(record, ticket, {"waiting"})
            self._move(record, ticket, ("proposed", event.match.id, None))

    def _match(self, record: Record, match: Match) -> None:
        if match.id in self.matches:
            self.wrong("I2", f"match {match.id} was made twice")
        accept = self._queues[match.queue].accept
        self.matches[match.id] = (record.sequence, match)
        self._check_match(record, match)
        self._proposed.pop(match.id, None)
        is_exclusive = self._queues[match.queue].exclusive_match
        self.running.make(record.sequence, match, is_exclusive=is_exclusive)
        is_asked = accept is not None
        if match.extends is not None and record.sequence < self._newer_for_all:
            is_asked = match.id in self._was_proposed
        for ticket in match.tickets:
            self._expect(record, ticket, {"proposed"} if is_asked else {"waiting"})
            if is_asked and self.lives[ticket].now[1] != match.id:
                self.wrong("I2", f"{ticket} had been asked for {self.lives[ticket].now[1]}")
            self._end(record, ticket, ("matched", match.id, None))

    def _check_match(self, record: Record, match: Match) -> None:
        """I5, I6 and I13 of one match."""
        queue, seated = self._queues[match.queue], []
        if not (math.isfinite(match.cost) and math.isfinite(match.quality or 0.0)):
            self.wrong("I13", f"match {match.id} has a cost or quality that is no number")
        for tickets, players in zip(match.teams, match.players, strict=True):
            of_tickets = [p.id for each in tickets for p in self.lives[each].new.players]
            if sorted(of_tickets) != sorted(players):
                self.wrong("I5", f"a team of {match.id} is {players}, its parties {of_tickets}")
            seated += players
        if not self._has_sizes(match, queue):
            self.wrong("I6", f"the teams of {match.id} have wrong sizes")
        if len(set(seated)) != len(seated):
            self.wrong("I6", f"a player is twice in {match.id}")
        if match.at < record.input.now:
            self.wrong("I6", f"{match.id} says that it was made before its record")
        if queue.rules:
            self._check_duel(record, match)
        waiting = [each for each in match.tickets if self.lives[each].now[0] == "waiting"]
        late = [each for each in waiting if self.late_from(each) < record.input.now]
        if late:
            self.wrong("I9", f"{late} were matched after their deadline")

    def _has_sizes(self, match: Match, queue: Queue) -> bool:
        """Return whether all seats are taken, or no more than a running match has."""
        sizes = [len(team) for team in match.players]
        if match.extends is None:
            return tuple(sizes) == queue.format.players
        teams = self.running.matches[match.extends].teams
        both = zip(sizes, map(len, teams), queue.format.players, strict=True)
        return any(sizes) and all(size + seated <= most for size, seated, most in both)

    def _check_duel(self, record: Record, match: Match) -> None:
        """I6 of a match under the queue's one rule, which both must accept."""
        now = record.input.now
        one, other = match.tickets
        if self._allowed_from(one, other) > now + 1e-5:
            self.wrong("I6", f"the ratings of {match.id} are too far apart at {now:.3f} s")
        self._made.append(match)

    def _check_order(self, record: Record) -> None:
        """I10: nobody takes the partner of somebody who has waited longer, and could play too."""
        made, self._made = self._made, []
        now = record.input.now
        for match in made:
            first, last = sorted(match.tickets, key=lambda name: self.lives[name].sequence)
            for other in self._beside(match.queue):
                is_older = self.lives[other].sequence < self.lives[first].sequence
                if is_older and self._could_play(other, last, now):
                    self.wrong("I10", f"{first} is given {last} before {other}, which is older")
                elif is_older and self._rating(other) == self._rating(first):
                    self.wrong("I10", f"{first} is matched before {other}, its older equal")

    def _could_play(self, one: str, other: str, now: float) -> bool:
        """Return whether two could play for certain: at once, or since longer than clocks tell."""
        (rule,) = self._queues[self.lives[one].new.queues[0]].rules
        is_near = abs(self._rating(one) - self._rating(other)) <= (rule.limit or 0.0)
        return self._allowed_from(one, other) < now - 1e-5 or is_near

    def _check_who_waits(self, record: Record) -> None:
        """I9 and I17: nobody waits on beside somebody whom the rule has allowed for a while."""
        now = record.input.now
        if isinstance(record.input, Skip):
            # A server that was away makes one round of all that it missed, when it is back.
            self._skipped_until = record.input.until
        if isinstance(record.input, Configure | Prolong) or now <= self._skipped_until:
            return
        for queue in self._queues.values():
            waiting = self._beside(queue.name) if queue.rules else []
            for place, one in enumerate(waiting):
                for other in waiting[:place]:
                    if self._allowed_from(one, other) < now - BESIDE_MOST:
                        self.wrong("I9", f"{one} and {other} may play, and wait at {now:.3f} s")
            if queue.policy.startswith(ROUNDS):
                self._check_rounds(self._beside(queue.name))

    def _check_rounds(self, waiting: Sequence[str]) -> None:
        """I9: a queue whose rounds pair anybody goes on with them."""
        both = [self._came.get(name, self._attended) for name in waiting[:2]]
        if len(both) == 2 and max(both) < self._attended - ROUNDS_MOST:
            self.wrong("I9", f"{waiting[0]} and {waiting[1]} wait for a round that never comes")

    def _beside(self, queue: str) -> list[str]:
        """Return who waits in a queue, by age."""
        return [
            name
            for name in dict.fromkeys(self._live.values())
            if self.lives[name].new.queues == (queue,) and self.lives[name].now[0] == "waiting"
        ]

    def _rating(self, ticket: str) -> float:
        rating = self.lives[ticket].new.players[0].rating
        assert rating is not None
        return rating.mean

    def _allowed_from(self, one: str, other: str) -> float:
        """Return when both have waited long enough for the gap between them."""
        queue = self._queues[self.lives[one].new.queues[0]]
        (rule,) = queue.rules
        assert rule.expand is not None
        gap = abs(self._rating(one) - self._rating(other))
        if gap > (math.inf if rule.expand.max is None else rule.expand.max):
            return math.inf
        wait = max(0.0, gap - (rule.limit or 0.0)) / rule.expand.rate
        return wait + max(self.lives[one].enqueued_at, self.lives[other].enqueued_at)

    def _penalise(self, record: Record, event: events.Penalised) -> None:
        """I14: only who declined, was silent or left is penalised, and not those who accepted."""
        gone = {each.ticket for each in record.events if isinstance(each, events.Cancelled)}
        named = {player.id for name in gone for player in self.lives[name].new.players}
        if event.player not in named or self._has_accepted(record, event.player):
            self.wrong("I14", f"{event.player} is penalised at {record.sequence} for others")

    def _has_accepted(self, record: Record, player: str) -> bool:
        """Return whether a player had accepted what a silent party-mate lets fail."""
        return any(
            isinstance(each, events.Cancelled)
            and each.reason == "silent"
            and player in self.accepted.get((each.match or "", each.ticket), ())
            for each in record.events
        )

    def _prolong(self, record: Record, event: events.Prolonged) -> None:
        """I9: who may not be back yet has no more time than all have, and some to come back."""
        check = self._queues[self._proposed[event.match].queue].accept
        assert isinstance(record.input, Prolong)
        assert check is not None
        most = record.input.now + check.seconds + RETURN_SECONDS + AWAY_MOST
        # Whoever has more already, since the server was away for a while, is given nothing.
        for ticket in record.input.tickets if record.input.seconds > 0.0 else ():
            if event.until.get(ticket, 0.0) > most:
                self.wrong("I9", f"{ticket} may answer until {event.until[ticket]}, not {most}")

    def _dissolve(self, record: Record, event: events.Dissolved) -> None:
        match = self._proposed.pop(event.match, None)
        if match is not None:
            self.running.dissolve(record.sequence, match)
        if match is not None and event.reason != WITHDRAWN:
            accept = self._queues[match.queue].accept
            again = 0.0 if accept is None else accept.again
            players = frozenset(name for team in match.players for name in team)
            self.failed_sets.append((record.input.now + again, players))
        for ticket in event.tickets:
            if self.lives[ticket].now[0] == "proposed":
                self._move(record, ticket, ("waiting", None, None))

    def _expire(self, record: Record, event: events.Expired) -> None:
        if not event.reason:
            self.wrong("I9", f"{event.ticket} expired without a reason")
        if event.reason == "deadline" and record.input.now < self.deadline(event.ticket):
            self.wrong("I9", f"{event.ticket} expired before its deadline")
        self._end(record, event.ticket, ("expired", None, event.reason))

    def _assign(self, record: Record, event: events.Assigned) -> None:
        place = event.assignment
        if place is None and isinstance(record.input, Assign):
            place = record.input.assignment
        self.assigned.setdefault(event.match, []).append((record.sequence, place))
        for ticket in self.matches[event.match][1].tickets:
            self._expect(record, ticket, {"matched", "assigned"})
            self._move(record, ticket, ("assigned", event.match, None))

    def late_from(self, ticket: str) -> float:
        """Return when a ticket must not wait any more: after a failed ready-check, at once."""
        return max(self.deadline(ticket), self.lives[ticket].moved_at)

    def deadline(self, ticket: str) -> float:
        """Return when a ticket's longest wait is over."""
        life = self.lives[ticket]
        names = life.new.queues or tuple(self._queues)[:1]
        waits = [self._queues[name].wait_max for name in names]
        return life.enqueued_at + max(math.inf if each is None else each for each in waits)

    def _expect(self, record: Record, ticket: str, states: Iterable[str]) -> None:
        if ticket not in self.lives or self.lives[ticket].now[0] not in states:
            now = self.lives[ticket].now if ticket in self.lives else NOBODY
            kind = type(record.input).__name__
            self.wrong("I2", f"{ticket} was {now} before record {record.sequence} ({kind})")

    def _end(self, record: Record, ticket: str, state: State) -> None:
        self._expect(record, ticket, LIVE)
        for player in self.lives[ticket].new.players:
            if self._live.get(player.id) == ticket:
                del self._live[player.id]
        self._move(record, ticket, state)

    def _move(self, record: Record, ticket: str, state: State) -> None:
        life = self.lives[ticket]
        life.moved_at = record.input.now
        life.since.append(record.sequence)
        life.states.append(state)
