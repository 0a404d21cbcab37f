"""Who else could take the free seats of a proposal, so that the others need not start over.

Only the free seats are filled: whoever is seated stays. Candidates most like those who left are
looked at first, since they change the match least. One look asks and evaluates no more than a few;
where it found nobody among them, the next one, `GO_ON` later, goes on with the others. Where nobody
fits yet, the search says when waiting alone may change that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from statistics import fmean

import msgspec
import numpy as np

from evenmatch.cost.objective import Seating
from evenmatch.engine.pool import Pool
from evenmatch.model.queue import NUMERIC
from evenmatch.model.ticket import Ticket, attribute_of

LOOK_AT_MOST = 1_000
"""Waiting tickets that are compared with those who left."""
SEATINGS_MOST = 16
"""Divisions into teams that one look evaluates until it has found a match."""
COMPARED_MOST = 8
"""Divisions after which a look takes the best match that it has found."""
ASKED_MOST = 100
"""Candidates of whom one look asks the rules whether they may join now."""
GO_ON = 0.1
"""Seconds between two looks of which the second goes on where the first had to stop."""

LOOK_AGAIN = 0.5
"""Seconds between two looks at all who wait, and where it is too dear to say when one may help.

A repair lasts seconds; running matches, which may be many, look half as often (`fills.LOOK_AGAIN`).
"""
CLOSELY_MOST = 50
"""Candidates of whom one look asks the rules when they may join."""

Found = tuple[list[Ticket], Seating]
"""All tickets of the match by age, and their division."""


class Vacancy(msgspec.Struct, frozen=True, gc=False):
    """Free seats of a match.

    Args:
        seated: The tickets that stay.
        left: Those who left.
        free: Free seats.
        bots: Seats that computer players fill.
        quality_min: The least that the match may be worth; None where quality is not known.
    """

    seated: tuple[Ticket, ...]
    left: tuple[Ticket, ...]
    free: int
    bots: int = 0
    quality_min: float | None = None


class Sought(msgspec.Struct):
    """What a search came to.

    Args:
        found: The match; None if there is none yet.
        again_at: The next instant at which another look may find one; inf if none ever does.
        seen: Ids of candidates whom the next look leaves out, because it goes on with the others;
            empty if all were looked at.
    """

    found: Found | None = None
    again_at: float = math.inf
    seen: frozenset[str] = frozenset()


def find_replacements(
    pool: Pool,
    vacancy: Vacancy,
    candidates: Iterable[Ticket],
    now: float,
    seen: frozenset[str] = frozenset(),
) -> Sought:
    """Return the cheapest match found that fills the seats, is legal now and good enough.

    Where several seats are free each candidate is joined by who fits next, and nobody else is tried
    beside him.

    Args:
        pool: The queue's pool.
        vacancy: The seats.
        candidates: Waiting tickets, longest waiting first.
        now: The present instant.
        seen: Those whom the looks before this one have seen, by `Sought.seen`.

    Complexity:
        O(n criteria + n log n) for n candidates, at most `LOOK_AT_MOST`, then `ASKED_MOST`
        questions to the rules for each ticket that stays, and `SEATINGS_MOST` divisions into
        teams, `COMPARED_MOST` where somebody fits; 2 to 8 ms in 5v5 with roles. Where nobody fits,
        O(n k) more in columns.
    """
    small = [ticket for ticket in islice(candidates, LOOK_AT_MOST) if ticket.size <= vacancy.free]
    if len(small) > SEATINGS_MOST:
        small = _most_alike(pool, vacancy, small)
    left = [ticket for ticket in small if ticket.id not in seen] if seen else small
    sought = Sought()
    fitting: list[Ticket] = []
    asked = done = 0
    # One seat is taken by one candidate: nobody else need be asked before their turn.
    alone = (COMPARED_MOST, SEATINGS_MOST)
    for most in alone if vacancy.free == 1 else (SEATINGS_MOST + vacancy.free,):
        asked += _ask(pool, vacancy, left[asked:ASKED_MOST], now, fitting, most)
        done = _evaluate(pool, vacancy, fitting, done, now, sought)
        if sought.found is not None:
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
    if small and vacancy.seated:
        sought.again_at = min(sought.again_at, _ready_next(pool, vacancy, small, now))
    return sought


def _ask(
    pool: Pool,
    vacancy: Vacancy,
    left: list[Ticket],
    now: float,
    fitting: list[Ticket],
    most: int,
) -> int:
    """Add candidates who may join those who stay until they are enough; return how many asked."""
    for asked, ticket in enumerate(left):
        if len(fitting) >= most:
            return asked
        if _may_join(pool, vacancy.seated, ticket, now):
            fitting.append(ticket)
    return len(left)


def _evaluate(
    pool: Pool,
    vacancy: Vacancy,
    fitting: list[Ticket],
    done: int,
    now: float,
    sought: Sought,
) -> int:
    """Look for the cheapest match with each candidate; return how many have had their turn."""
    for first in range(done, len(fitting)):
        if first >= (SEATINGS_MOST if sought.found is None else COMPARED_MOST):
            return first
        joining = _filled(pool, vacancy.free, fitting[first:], now, sought)
        if joining is None:
            continue
        tickets = sorted([*vacancy.seated, *joining], key=lambda ticket: ticket.age_key)
        seating = pool.objective.seat(tickets, vacancy.bots, now)
        if seating is None or not _is_good(seating, vacancy, now):
            sought.again_at = min(sought.again_at, _good_at(pool, seating, vacancy, now))
            continue
        if sought.found is None or seating.criteria_cost < sought.found[1].criteria_cost:
            sought.found = tickets, seating
    return len(fitting)


def may_help(pool: Pool, vacancy: Vacancy, ticket: Ticket, now: float) -> bool:
    """Return whether a ticket may take one of the seats now, with others or alone."""
    return ticket.size <= vacancy.free and _may_join(pool, vacancy.seated, ticket, now)


def without_them(pool: Pool, vacancy: Vacancy, now: float) -> Found | None:
    """Return the match that those who stay make alone, where it may start before it is full."""
    if not pool.queue.format.is_variable or not vacancy.seated:
        return None
    tickets = sorted(vacancy.seated, key=lambda ticket: ticket.age_key)
    seating = pool.objective.seat(tickets, vacancy.bots, now)
    if seating is None or not _is_good(seating, vacancy, now):
        return None
    return tickets, seating


def _is_good(seating: Seating, vacancy: Vacancy, now: float) -> bool:
    if seating.ready_at > now:
        return False
    least, quality = vacancy.quality_min, seating.quality
    return least is None or quality is None or quality >= least


def _good_at(pool: Pool, seating: Seating | None, vacancy: Vacancy, now: float) -> float:
    """Return when tickets that are no match yet may be one; inf if waiting does not help them."""
    if seating is None:
        return math.inf
    least, quality = vacancy.quality_min, seating.quality
    if least is None or quality is None or quality >= least:
        return seating.ready_at
    # Another division may become legal that is better: nobody knows when.
    return now + LOOK_AGAIN if pool.objective.rules.depend_on_teams else math.inf


def _ready_next(pool: Pool, vacancy: Vacancy, small: list[Ticket], now: float) -> float:
    """Return when the next candidate may be in a match with each of those who stay."""
    seated = vacancy.seated
    rows = np.array([pool.pairs.row(ticket) for ticket in small]).T
    others = np.array([pool.pairs.row(ticket) for ticket in seated]).T
    early = pool.pairs.ready_at(rows[:, :, None], others[:, None, :]).max(axis=1)
    if vacancy.quality_min is not None:
        stay = pool.least.joined(np.array([pool.least.row(ticket) for ticket in seated]).T)
        extents = np.array([pool.least.row(ticket) for ticket in small]).T
        early[pool.least.of(stay[:, None], extents)[1] < vacancy.quality_min] = math.inf
    if pool.pairs.is_exact:
        return float(np.min(early, where=early > now, initial=math.inf))
    next_at = math.inf
    for asked, place in enumerate(np.argsort(early, kind="stable").tolist()):
        if early[place] >= next_at:
            break
        if asked == CLOSELY_MOST:
            return min(next_at, now + LOOK_AGAIN)
        at = _joins_at(pool, seated, small[place])
        next_at = min(next_at, at if at > now else math.inf)
    return next_at


def _joins_at(pool: Pool, others: Sequence[Ticket], ticket: Ticket) -> float:
    ready_at = pool.objective.rules.pair_ready_at
    return max([ready_at(other, ticket) for other in others])


def _may_join(pool: Pool, others: Sequence[Ticket], ticket: Ticket, now: float) -> bool:
    ready_at = pool.objective.rules.pair_ready_at
    return all(ready_at(other, ticket) <= now for other in others)


def _filled(
    pool: Pool, free: int, candidates: Sequence[Ticket], now: float, sought: Sought
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


def _most_alike(pool: Pool, vacancy: Vacancy, candidates: list[Ticket]) -> list[Ticket]:
    """Return candidates, those first who are most like those who left, else like those who stay."""
    left, alike = vacancy.left, vacancy.left or vacancy.seated
    if not alike:
        return candidates
    compared = [each.attribute for each in pool.queue.criteria if each.kind in NUMERIC]
    compared += [each.attribute for each in pool.queue.rules if each.kind in NUMERIC]
    roles = {role for ticket in left for player in ticket.players for role in player.roles}
    strangeness = [0.0] * len(candidates)
    for attribute in dict.fromkeys(compared):
        wanted = fmean([_mean(ticket, attribute) for ticket in alike])
        gaps = [abs(_mean(ticket, attribute) - wanted) for ticket in candidates]
        widest = max(gaps) or 1.0
        for at, gap in enumerate(gaps):
            strangeness[at] += gap / widest
    if roles:
        for at, ticket in enumerate(candidates):
            # Whoever lists no roles takes any.
            if all(player.roles and roles.isdisjoint(player.roles) for player in ticket.players):
                strangeness[at] += math.inf
    order = sorted(range(len(candidates)), key=strangeness.__getitem__)
    return [candidates[at] for at in order]


def _mean(ticket: Ticket, attribute: str) -> float:
    """Return the mean of a number over a ticket's players; 0 where it is none."""
    values = [attribute_of(ticket, player, attribute) for player in ticket.players]
    if len(values) == 1 and type(values[0]) is float:
        return values[0]
    return fmean([value if isinstance(value, float | int) else 0.0 for value in values])
