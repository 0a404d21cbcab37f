"""Searches for tickets for the free seats of a proposal, so that the others keep theirs.

Only the free seats are filled: whoever is seated stays. Candidates most like those who left are
looked at first, since they change the match least. One look asks and evaluates no more than a few;
where it found nobody among them, the next one, `GO_ON` later, goes on with the others. Where nobody
fits yet, the search says when waiting alone may change that.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.objective import Seating
from evenmatch.criteria.roles import mask_of
from evenmatch.criteria.scales import Floats
from evenmatch.engine.matching.pool import Pool
from evenmatch.engine.matching.waiting_columns import TicketColumns
from evenmatch.model.ticket import Ticket

SEATINGS_MOST = 4
"""Divisions into teams that one look evaluates; it takes the best match among them."""
FITTING_MOST = 16
"""Candidates among whom one look chooses where several seats are free."""
ASKED_MOST = 100
"""Candidates of whom one look asks the rules whether they may join now."""
GO_ON = 0.05
"""Seconds between two looks of which the second goes on where the first had to stop."""

LOOK_AGAIN = 0.5
"""Seconds between two looks at all who wait, and where it is too dear to say when one may help.

A repair lasts seconds; running matches, which may be many, look half as often
(`backfill.search.LOOK_AGAIN`).
"""
CLOSELY_MOST = 50
"""Candidates of whom one look asks the rules when they may join."""

SeatedTickets = tuple[list[Ticket], Seating]
"""All tickets of the match by age, and their division."""


class StayingTickets:
    """The tickets that stay in a match, as columns: made once for all looks of a repair.

    Args:
        pool: The queue's pool.
        tickets: They.
    """

    def __init__(self, pool: Pool, tickets: Sequence[Ticket]) -> None:
        columns, seats = pool.columns, pool.columns.seats
        self._pool, self._seats = pool, seats
        self.pairs: Floats = np.array([pool.pairs.row(ticket) for ticket in tickets]).T
        self.extents = pool.least_cost.joined(
            np.array([pool.least_cost.row(ticket) for ticket in tickets]).T
        )
        self.regions = [columns.regions.row(ticket) for ticket in tickets]
        self.youngest = max([ticket.enqueued_at for ticket in tickets])
        first, *others = [seats.kind_of(ticket) for ticket in tickets]
        self._taken = seats.start(first)
        for kind in others:
            self._taken = seats.after(self._taken, kind)
        self._leave: dict[int, bool] = {}

    def hold_for(self, pool: Pool) -> bool:
        """Return whether they were made for a pool as it is, kinds of seats included."""
        return self._pool is pool and self._seats is pool.columns.seats

    def leave_seats(self, kinds: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which tickets find seats beside these, by their sizes, sides and roles."""
        known, asked = self._leave, kinds.tolist()
        for kind in {*asked}.difference(known):
            known[kind] = bool(self._taken and self._seats.after(self._taken, kind))
        return np.array([known[kind] for kind in asked], dtype=np.bool_)


class Vacancy(msgspec.Struct, frozen=True, gc=False):
    """The free seats of a match, and the tickets that stay.

    Args:
        staying: The tickets that stay.
        stayers: The same as columns; None if there is none.
        departed: Those who left.
        free: Free seats.
        bots: Seats that computer players fill.
        quality_min: The least that the match may be worth; None where quality is not known.
        quality: What it was worth with those who left: nothing better is looked for.
    """

    staying: tuple[Ticket, ...]
    stayers: StayingTickets | None
    departed: tuple[Ticket, ...]
    free: int
    bots: int = 0
    quality_min: float | None = None
    quality: float | None = None


class ReplacementResult(msgspec.Struct):
    """The result of a search for replacements.

    Args:
        match: The match; None if there is none yet.
        again_at: The next instant at which another look may find one; inf if none ever does.
        seen: Ids of candidates whom the next look leaves out, because it goes on with the others;
            empty if all were looked at.
    """

    match: SeatedTickets | None = None
    again_at: float = math.inf
    seen: frozenset[str] = frozenset()


def find_replacements(
    pool: Pool,
    vacancy: Vacancy,
    among: TicketColumns,
    now: float,
    barred: Collection[str] = (),
    seen: frozenset[str] = frozenset(),
) -> ReplacementResult:
    """Return the cheapest match found that fills the seats, is legal now and good enough.

    Where several seats are free each candidate is joined by who fits next, and nobody else is tried
    beside them.

    Args:
        pool: The queue's pool.
        vacancy: The seats.
        among: Waiting tickets, longest waiting first; those whom the pool keeps are passed over.
        now: The present instant.
        barred: Ids of tickets that may not join.
        seen: Those whom the looks before this one have seen, by `ReplacementResult.seen`.

    Complexity:
        O(n criteria + n log n) in columns for n tickets, then `ASKED_MOST` questions to the rules
        for each ticket that stays, and `SEATINGS_MOST` divisions into teams.
    """
    early = _early(pool, vacancy, among, barred)
    possible = np.flatnonzero(early < math.inf)
    if not len(possible) and not seen:
        return ReplacementResult()
    order = possible[_by_likeness(pool, vacancy, among, possible)]
    ready = order[early[order] <= now].tolist()
    left = list(islice(_unseen(among.tickets, ready, seen), ASKED_MOST + 1))
    sought = ReplacementResult()
    fitting: list[Ticket] = []
    # One seat is taken by one candidate; where more are free, others have to join them.
    most = SEATINGS_MOST if vacancy.free == 1 else FITTING_MOST
    asked = _ask(pool, vacancy, left[:ASKED_MOST], now, fitting, most)
    done = _evaluate(pool, vacancy, fitting, now, sought)
    if sought.match is not None:
        return sought
    # Who fits but was not evaluated has its turn at the next look; so has who was not asked.
    later = {ticket.id for ticket in fitting[done:]}
    if later or asked < len(left):
        sought.seen = seen.union([t.id for t in left[:asked] if t.id not in later])
        sought.again_at = now + GO_ON
        return sought
    if seen:
        # Others were seen at earlier instants: a new round may say more of them.
        sought.again_at = min(sought.again_at, now + LOOK_AGAIN)
    if len(possible) and vacancy.staying:
        sought.again_at = min(sought.again_at, _ready_next(pool, vacancy, among, early, now))
    return sought


def _unseen(
    tickets: Sequence[Ticket], places: Sequence[int], seen: Collection[str]
) -> Iterator[Ticket]:
    for place in places:
        if (ticket := tickets[place]).id not in seen:
            yield ticket


def _early(pool: Pool, vacancy: Vacancy, among: TicketColumns, barred: Collection[str]) -> Floats:
    """Return the instant from which each ticket may play with all who stay; inf if it never may.

    It is never later than the truth, and inf where the match would be worth less than it may be.
    """
    stayers, regions = vacancy.stayers, pool.columns.regions
    fits = among.sizes <= vacancy.free
    if stayers is not None:
        if not vacancy.bots:
            fits &= stayers.leave_seats(among.kinds)
        if vacancy.quality_min is not None:
            quality = pool.least_cost.of(stayers.extents[:, None], among.extents)[1]
            fits &= quality >= vacancy.quality_min
    if not fits.any():
        return np.full(len(fits), math.inf)
    if stayers is None:
        early: Floats = among.pairs[0].copy()
    else:
        pairs: Floats = pool.pairs.ready_at(among.pairs[:, :, None], stayers.pairs[:, None, :])
        early = pairs.max(axis=1)
        if regions.says_something:
            ready_at = regions.ready_at(
                stayers.regions, stayers.youngest, among.pairs[0], among.regions
            )
            np.maximum(early, ready_at, out=early)
    early[~fits] = math.inf
    if barred or pool.held_until or pool.delayed_until:
        kept = [t.id in barred or pool.is_kept(t.id) for t in among.tickets]
        early[kept] = math.inf
    return early


def _ask(
    pool: Pool,
    vacancy: Vacancy,
    left: list[Ticket],
    now: float,
    fitting: list[Ticket],
    most: int,
) -> int:
    """Add candidates who may join those who stay until they are enough; return how many asked."""
    if pool.columns.are_exact:
        fitting += left[:most]
        return len(fitting)
    for asked, ticket in enumerate(left):
        if len(fitting) >= most:
            return asked
        if _may_join(pool, vacancy.staying, ticket, now):
            fitting.append(ticket)
    return len(left)


def _evaluate(
    pool: Pool, vacancy: Vacancy, fitting: list[Ticket], now: float, sought: ReplacementResult
) -> int:
    """Look for the cheapest match with each candidate; return how many have had their turn.

    A match that is worth what it was before is taken at once.
    """
    seatings = 0
    for first in range(len(fitting)):
        if seatings == SEATINGS_MOST:
            return first
        joining = _filled(pool, vacancy.free, fitting[first:], now, sought)
        if joining is None:
            continue
        tickets = sorted([*vacancy.staying, *joining], key=lambda ticket: ticket.age_key)
        seating = pool.objective.seat(tickets, vacancy.bots, now)
        seatings += 1
        if seating is None or not _is_good(seating, vacancy, now):
            sought.again_at = min(sought.again_at, _good_at(pool, seating, vacancy, now))
            continue
        if sought.match is None or seating.criteria_cost < sought.match[1].criteria_cost:
            sought.match = tickets, seating
        if _is_as_good(seating, vacancy):
            return first + 1
    return len(fitting)


def helps_at(pool: Pool, vacancy: Vacancy, among: TicketColumns, now: float) -> float:
    """Return the instant from which one of some tickets may take a seat; inf if never."""
    early = _early(pool, vacancy, among, ())
    ready = np.flatnonzero(early <= now).tolist()
    if pool.columns.are_exact:
        return now if ready else float(early.min(initial=math.inf))
    if any(_may_join(pool, vacancy.staying, among.tickets[place], now) for place in ready):
        return now
    return _ready_next(pool, vacancy, among, early, now)


def without_them(pool: Pool, vacancy: Vacancy, now: float) -> SeatedTickets | None:
    """Return the match of the tickets that stay, where it may start before it is full."""
    if not pool.queue.format.is_variable or not vacancy.staying:
        return None
    tickets = sorted(vacancy.staying, key=lambda ticket: ticket.age_key)
    seating = pool.objective.seat(tickets, vacancy.bots, now)
    if seating is None or not _is_good(seating, vacancy, now):
        return None
    return tickets, seating


def _is_good(seating: Seating, vacancy: Vacancy, now: float) -> bool:
    if seating.ready_at > now:
        return False
    least, quality = vacancy.quality_min, seating.quality
    return least is None or quality is None or quality >= least


def _is_as_good(seating: Seating, vacancy: Vacancy) -> bool:
    before, quality = vacancy.quality, seating.quality
    return before is not None and quality is not None and quality >= before


def _good_at(pool: Pool, seating: Seating | None, vacancy: Vacancy, now: float) -> float:
    """Return when tickets that are no match yet may be one; inf if waiting does not help them."""
    if seating is None:
        return math.inf
    least, quality = vacancy.quality_min, seating.quality
    if least is None or quality is None or quality >= least:
        return seating.ready_at
    # Another division may become legal that is better: nobody knows when.
    return now + LOOK_AGAIN if pool.objective.rules.depend_on_teams else math.inf


def _ready_next(
    pool: Pool, vacancy: Vacancy, among: TicketColumns, early: Floats, now: float
) -> float:
    """Return when the next candidate may be in a match with each of those who stay."""
    if pool.columns.are_exact:
        return float(np.min(early, where=early > now, initial=math.inf))
    next_at = math.inf
    for asked, place in enumerate(np.argsort(early, kind="stable").tolist()):
        if early[place] >= next_at:
            break
        if asked == CLOSELY_MOST:
            return min(next_at, now + LOOK_AGAIN)
        at = _joins_at(pool, vacancy.staying, among.tickets[place])
        next_at = min(next_at, at if at > now else math.inf)
    return next_at


def _joins_at(pool: Pool, others: Sequence[Ticket], ticket: Ticket) -> float:
    ready_at = pool.objective.rules.pair_ready_at
    return max([ready_at(other, ticket) for other in others])


def _may_join(pool: Pool, others: Sequence[Ticket], ticket: Ticket, now: float) -> bool:
    ready_at = pool.objective.rules.pair_ready_at
    return all(ready_at(other, ticket) <= now for other in others)


def _filled(
    pool: Pool, free: int, candidates: Sequence[Ticket], now: float, sought: ReplacementResult
) -> list[Ticket] | None:
    """Return tickets that take exactly the free seats: the first candidate, then who fits next.

    Where two do not agree yet, the search looks again when they do.
    """
    joining: list[Ticket] = []
    for ticket in candidates:
        if ticket.size > free:
            continue
        if not _may_join(pool, joining, ticket, now):
            sought.again_at = min(sought.again_at, _joins_at(pool, joining, ticket))
            continue
        joining.append(ticket)
        free -= ticket.size
        if free == 0:
            return joining
    return None


def _by_likeness(
    pool: Pool, vacancy: Vacancy, among: TicketColumns, possible: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the order in which possible candidates are looked at.

    Those come first who are most like those who left, or else like those who stay; of equals, who
    has waited longest. Who takes none of the roles that became free comes last.
    """
    alike = vacancy.departed or vacancy.staying
    if not alike or len(possible) <= 1:
        return np.arange(len(possible))
    strangeness = np.zeros(len(possible))
    means = pool.columns.means(alike)
    for values, mean in zip(among.values[:, possible], means, strict=True):
        gaps = np.abs(values - mean)
        strangeness += gaps / (gaps.max() or 1.0)
    roles = 0
    for ticket in vacancy.departed:
        for player in ticket.players:
            roles |= mask_of(player, pool.queue.format.roles) if player.roles else 0
    if roles:
        strangeness[(among.roles[possible] & roles) == 0] = math.inf
    return np.argsort(strangeness, kind="stable")
