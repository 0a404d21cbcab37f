"""The group that a ticket completes soonest, and the first in order that it completes by now."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.columns.sets import SetTable
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.seat_completion import SeatCompletion
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.group_search import (
    JUDGED_MAX,
    PAIR,
    PASS,
    Effort,
    Group,
    GroupCandidates,
    GroupSearch,
    InstantLimit,
    Search,
    age,
)
from evenmatch.policies.shared.waiting_table import CELLS_A_STEP, NOBODY, WaitingTable

CONSIDERED_MAX = 96
"""Tickets among which members are chosen, the soonest; and more while they fill no match."""
QUOTA = 4
"""Of tickets of one kind, so many times as many are considered as fit into a match."""
IMPROVEMENTS_MAX = 32
"""Groups tried for one ticket, each legal sooner than the one before."""
PLACED_MAX = 4
"""Groups judged for one place and limit where columns do not tell whether they may play there.

Where no place comes to a match so, all are gone through again, as long as the effort lasts.
"""
ANSWERS_MAX = 4_096
"""Answers to which kinds fill a match that are remembered."""
ORDERED_A_STEP = 16
"""Tickets put in order within one evaluation."""


class SoonestGroup:
    """Groups of one queue with rules.

    Args:
        search: Chooses members.
        table: The waiting tickets.
        seats: To be filled; a policy may set others.
        cells_max: Numbers of one pass; where more wait, only the longest waiting are compared.
    """

    def __init__(
        self, search: GroupSearch, table: WaitingTable, seats: SeatCompletion, *, cells_max: int
    ) -> None:
        self._rules, self._joint = search.rules, search.joint
        self._table = table
        self._search = search
        self._seats = seats
        self._cells_max = cells_max
        self._k = search.rules.queue.format.k
        self._answers: dict[tuple[int, bytes], bool] = {}
        self._is_told_by_pairs = (
            search.rules.queue.format.is_duel and self._joint.is_whole and not self._joint.places
        )

    @property
    def has_places(self) -> bool:
        """Return whether a rule asks for a place at which all meet."""
        return bool(self._joint.places)

    def use(self, seats: SeatCompletion) -> None:
        """Fill other seats from now on: kinds have been given anew."""
        self._seats = seats
        self._answers.clear()

    def by(self, anchor: Ticket, end: int, limit: InstantLimit, effort: Effort) -> Search:
        """Return the first group, soonest and longest waiting members first, legal by a limit.

        Args:
            anchor: A ticket that is in the group.
            end: Others stand before this place of the table.
            limit: What is soon enough.
            effort: Pays for it.
        """
        around = self._around(anchor, end, effort)
        at = around.ready_at(effort)
        pair = self._first_pair(around, at, limit, effort, limit.at)
        if pair is not None:
            return pair
        return (yield from self._among(around, at, None, limit, effort, limit.at))

    def placed(self, anchor: Ticket, end: int, limit: InstantLimit, effort: Effort) -> Search:
        """Return a group legal by a limit, at the first place that has one; see `by`."""
        around = self._around(anchor, end, effort)
        group = yield from self._first_placed(around, limit, effort)
        if group is None and around.is_to_go_on(effort):
            group = yield from self._first_placed(around, limit, effort)
        return group

    def soonest(self, anchor: Ticket, end: int, effort: Effort) -> Search:
        """Return the group that is legal soonest; None if none ever is, or none was found.

        Args:
            anchor: A ticket that is in the group.
            end: Others stand before this place of the table.
            effort: Pays for it.
        """
        around = self._around(anchor, end, effort)
        at = around.ready_at(effort)
        pair = self._first_pair(around, at, InstantLimit(math.inf, False), effort)
        if pair is not None:
            return pair
        if not self._may_fill(around, at < math.inf, effort):
            return None
        best = yield from self._soonest_placed(around, effort)
        if best is None and around.is_to_go_on(effort):
            best = yield from self._soonest_placed(around, effort)
        return best

    def with_youngest(self, anchor: Ticket, now: float, effort: Effort) -> Search:
        """Return the first group that is legal now with a ticket or older ones beside it.

        Of all groups with the ticket it is found in which the youngest is oldest, and then what
        that one plays first.

        Args:
            anchor: A ticket that came back.
            now: The present instant.
            effort: Pays for it.
        """
        around = self._around(anchor, len(self._table), effort)
        limit = InstantLimit(now)
        there = np.flatnonzero(limit.allowed(around.ready_at(effort)))
        effort.spend(1 + len(there) // ORDERED_A_STEP)
        needed = self._needed(around, around.kinds[there].tolist(), effort)
        if needed is None:
            return None
        for place in [around.place, *there[max(0, needed - 1) :].tolist()]:
            if place < around.place or self._table.tickets[place] is None:
                continue
            youngest = self._ticket(place)
            group = yield from self.by(youngest, place, InstantLimit(now), effort)
            if group is not None or effort.total <= 0:
                return group
        return None

    def _first_pair(
        self,
        around: _Around,
        at: Floats,
        limit: InstantLimit,
        effort: Effort,
        now: float = -math.inf,
    ) -> Group | None:
        """Return the first pair of a duel; None where it has to be searched for.

        No pair is legal sooner than the columns say. So the one that they say is legal soonest, the
        longest waiting of several, is the first in order if it is legal just then. `now` is the
        present instant, -inf if the pair is one for later.
        """
        if not self._is_told_by_pairs or around.is_cut or effort.groups_left <= 0 or not len(at):
            return None
        place = int(at.argmin())
        early = float(at[place])
        if not limit.allows(early) or self._needed(around, [int(around.kinds[place])], effort) != 1:
            return None
        pair = sorted([self._ticket(place), around.anchor], key=age)
        if self._search.judge(pair, effort, now) != early:
            return None
        return Group(early, pair, is_first=True)

    def _around(self, anchor: Ticket, end: int, effort: Effort) -> _Around:
        most = max(1, self._cells_max // self._table.width)
        return _Around(self._table, self._joint, anchor, end, most, effort)

    def _first_placed(self, around: _Around, limit: InstantLimit, effort: Effort) -> Search:
        """Return a group legal by a limit at the first place that has one."""
        for place in around.places():
            if effort.evaluations_left <= 0:
                yield
            at = around.ready_at(effort, place)
            group = yield from self._among(around, at, place, limit, effort, limit.at, by_age=True)
            if group is not None or effort.total <= 0:
                return group
        return None

    def _soonest_placed(self, around: _Around, effort: Effort) -> Search:
        """Return the group that is legal soonest of all places."""
        best: Group | None = None
        for place in around.places():
            if effort.evaluations_left <= 0:
                yield
            limit = InstantLimit(math.inf if best is None else best.ready_at, False)
            at = around.ready_at(effort, place)
            if not self._may_fill(around, limit.allowed(at), effort):
                continue
            group = yield from self._at_place(around, at, place, limit, effort)
            if group is not None:
                best = group
            if effort.total <= 0:
                effort.gave_up = True
                break
        return best

    def _at_place(
        self, around: _Around, at: Floats, place: int | None, limit: InstantLimit, effort: Effort
    ) -> Search:
        """Return the group that is legal soonest at one place, sooner than a limit."""
        if effort.evaluations_left <= 0:
            yield
        early, _ = self._considered(around, at, place, limit, effort)
        if early is None:
            return None
        if effort.evaluations_left <= 0:
            yield
        early = max(early, self._not_before(around, limit.allowed(at), effort))
        if not limit.allows(early):
            return None
        # No group is legal before enough tickets may meet the anchor and, by each rule on numbers
        # alone, each other; with one rule most often one is just then.
        best = yield from self._among(around, at, place, InstantLimit(early), effort)
        for _ in range(IMPROVEMENTS_MAX):
            if best is not None:
                limit = InstantLimit(best.ready_at, False)
            if not limit.allows(early):
                return best
            group = yield from self._among(around, at, place, limit, effort)
            if group is None:
                return best
            best = group
        effort.gave_up = True
        return best

    def _among(
        self,
        around: _Around,
        at: Floats,
        place: int | None,
        limit: InstantLimit,
        effort: Effort,
        now: float = -math.inf,
        *,
        by_age: bool = False,
    ) -> Search:
        """Return the first group of those who may meet the anchor soon enough."""
        if effort.evaluations_left <= 0:
            yield
        if not self._may_fill(around, limit.allowed(at), effort):
            return None
        best_at = None if by_age else place
        early, places = self._considered(around, at, best_at, limit, effort)
        if early is None:
            return None
        is_cut = len(places) < int(limit.allowed(at).sum())
        tickets = [self._ticket(other) for other in places]
        if not self._joint.is_whole:
            effort.spend(PAIR * len(tickets))
            told = [self._rules.pair_ready_at(other, around.anchor) for other in tickets]
            order = sorted(range(len(told)), key=lambda n: (told[n], places[n]))
            places = [places[n] for n in order if limit.allows(told[n])]
            tickets = [self._ticket(other) for other in places]
            if effort.evaluations_left <= 0:
                yield
        everyone = [around.place, *places]
        kinds = self._table.kinds(len(self._table))[everyone].tolist()
        scene = GroupCandidates(
            [around.anchor, *tickets], kinds, self._table.rows(everyone), place, limit
        )
        scene.judged = around.judged
        effort.spend(PASS)
        if effort.evaluations_left <= 0:
            yield
        group = yield from self._search.choose(scene, self._seats, effort, now)
        effort.gave_up |= group is None and is_cut
        return group

    def _ticket(self, place: int) -> Ticket:
        ticket = self._table.tickets[place]
        assert ticket is not None
        return ticket

    def _may_fill(self, around: _Around, fits: NDArray[np.bool_], effort: Effort) -> bool:
        """Return whether the kinds of some tickets fill a match with the anchor."""
        seats, kinds = self._seats, around.kinds[fits]
        counts = np.bincount(kinds, minlength=len(seats.sizes))
        most = self._k // np.array(seats.sizes)
        counts = np.minimum(counts, most)
        effort.spend(1 + len(fits) // CELLS_A_STEP)
        key = (around.kind, counts.tobytes())
        known = self._answers.get(key)
        if known is None:
            before = seats.steps
            line = np.repeat(np.arange(len(counts)), counts).tolist()
            known = seats.filled_at(seats.start(around.kind), line) is not None
            effort.spend(seats.steps - before + len(line) // ORDERED_A_STEP)
            if len(self._answers) >= ANSWERS_MAX:
                self._answers.clear()
            self._answers[key] = known
        return known

    def _considered(
        self, around: _Around, at: Floats, place: int | None, limit: InstantLimit, effort: Effort
    ) -> tuple[float | None, list[int]]:
        """Return the instant from which enough may meet the anchor for a match, and whom to choose.

        Those are the soonest, longest waiting first or, at one place, best off first; of each kind
        not more than a few matches take.
        """
        there = np.flatnonzero(limit.allowed(at))
        if place is None:
            there = there[np.argsort(at[there], kind="stable")]
        else:
            # Those who are best off at a place are those whom it suits to meet there.
            there = there[np.lexsort((self._table.column(1, place)[there], at[there]))]
        effort.spend(1 + len(there) // ORDERED_A_STEP)
        sizes = np.array(self._seats.sizes)
        kinds = around.kinds[there]
        chosen = np.flatnonzero(_ranks(kinds) * sizes[kinds] <= QUOTA * self._k)
        line = kinds[chosen].tolist()
        needed, count = None, CONSIDERED_MAX
        while True:
            needed = self._needed(around, line[:count], effort)
            if needed is not None or count >= len(line):
                break
            count *= 2
        if needed is None:
            return None, []
        early = float(at[there[chosen[needed - 1]]]) if needed else around.anchor.enqueued_at
        return early, there[chosen[:count]].tolist()

    def _not_before(self, around: _Around, fits: NDArray[np.bool_], effort: Effort) -> float:
        """Return an instant before which no group of the anchor and of some others is legal."""
        needed = self._k - around.anchor.size
        if not needed:
            # It fills a match by itself.
            return -math.inf
        there = np.flatnonzero(fits)
        sizes = np.array(self._seats.sizes)[around.kinds[there]]
        effort.spend(PASS + len(there) // ORDERED_A_STEP)
        numbers = self._table.numbers
        return self._joint.not_before(numbers[:, around.place], numbers[:, there], sizes, needed)

    def _needed(self, around: _Around, line: Sequence[int], effort: Effort) -> int | None:
        before = self._seats.steps
        needed = self._seats.filled_at(self._seats.start(around.kind), line)
        effort.spend(self._seats.steps - before)
        return needed


class _Around:
    """One ticket of a table together with each older one, or with each other one.

    Args:
        table: The waiting tickets.
        joint: The rules' columns.
        anchor: The ticket.
        end: Only who stands before this place.
        most: Only so many of them, the longest waiting.
        effort: Pays for the pass.
    """

    def __init__(
        self,
        table: WaitingTable,
        joint: SetTable,
        anchor: Ticket,
        end: int,
        most: int,
        effort: Effort,
    ) -> None:
        before = table.steps
        self.table, self.joint, self.anchor = table, joint, anchor
        self.is_cut, end = end > most, min(end, most)
        """Whether some are left out."""
        is_told = all(each.counts_from != "nobody" for each in joint.places)
        self.judged = JUDGED_MAX if is_told else PLACED_MAX
        """Groups judged for one place and limit."""
        self.place = table.place(anchor)
        self.joined = table.joined(self.place, end)
        kinds = table.kinds(end)
        self.is_there = kinds != NOBODY
        if self.place < end:
            self.is_there[self.place] = False
        self.kinds = kinds.copy()
        self.kind = int(table.kinds(len(table))[self.place])
        effort.spend(table.steps - before + end // CELLS_A_STEP)

    def ready_at(self, effort: Effort, place: int | None = None) -> Floats:
        """Return the instant from which the ticket may be in one match with each; inf if never."""
        effort.spend(PASS + sum(block.size for block in self.joined) // CELLS_A_STEP)
        at = self.joint.ready_at(self.joined, place)
        return np.where(self.is_there, at, math.inf)

    def is_to_go_on(self, effort: Effort) -> bool:
        """Judge more groups from now on; return whether some were left out, and effort is left."""
        if self.judged == JUDGED_MAX or not effort.gave_up or effort.total <= 0:
            return False
        self.judged, effort.gave_up = JUDGED_MAX, False
        return True

    def places(self) -> Sequence[int | None]:
        """Return the places at which the ticket may meet others, the best first."""
        if not self.joint.places:
            return (None,)
        own, first = self.table.rows([self.place])[1][:, 0], self.joint.places[0]
        known = np.flatnonzero(own < first.unknown)
        places = [int(place) for place in known[np.argsort(own[known], kind="stable")]]
        # Waiting may lift a rule on words, and then they need none in common.
        return [*places, None] if first.unknown < math.inf else places


def _ranks(kinds: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return for each which of its kind it is, counted from 1."""
    order = np.argsort(kinds, kind="stable")
    arranged = kinds[order]
    places = np.arange(len(kinds))
    is_first = np.ones(len(kinds), dtype=np.bool_)
    is_first[1:] = arranged[1:] != arranged[:-1]
    ranks = np.empty(len(kinds), dtype=np.intp)
    ranks[order] = places - np.maximum.accumulate(np.where(is_first, places, 0)) + 1
    return ranks
