"""The parties that complete a match, from the seats that each can take, as bits of one number.

A **state** is what the parties chosen so far make of the teams. If there are few states, it is a
number whose bits are ways to fill the seats, by team and role, so that a party moves all of them at
once: sizes, sides and roles are exact. For teams too large for that, a state is the count of
parties by kind, and `Labels` decides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from evenmatch.criteria.roles import Masks, fill_seats, find_seats, mask_of
from evenmatch.criteria.rules import side_of
from evenmatch.criteria.team_packing import Kind, fillable
from evenmatch.model.queue import Format, Queue
from evenmatch.model.ticket import Ticket

BITS_MAX = 1 << 16
"""Most ways to fill seats that are told apart."""
BITS_A_STEP = 1 << 12
"""Bits moved in one evaluation."""
QUESTION = 16
"""Evaluations that one call of `Labels` counts for."""

State = Any
"""The seats that the chosen parties make; false if they do not fit together."""


class CompletedSeats(NamedTuple):
    """A choice that fills all seats.

    Args:
        chosen: Indices of the parties, ascending: the first choice in their order.
        last: The last index at which a choice can begin; later ones are hopeless.
    """

    chosen: list[int]
    last: int


class SeatCompletion(Protocol):
    """The seats of one format."""

    sizes: list[int]
    """Players by kind."""
    steps: int
    """Evaluations made so far."""

    def kind_of(self, ticket: Ticket) -> int:
        """Return the number of a ticket's kind: tickets of one kind fill seats alike."""
        ...

    def forget(self) -> None:
        """Forget the kinds of tickets that are gone; no tickets may be left."""
        ...

    def start(self, kind: int) -> State:
        """Return the state of one party."""
        ...

    def after(self, state: State, kind: int) -> State:
        """Return the state with one more party."""
        ...

    def complete(self, state: State, kinds: Sequence[int]) -> CompletedSeats | None:
        """Return the parties that complete a state, the earliest first; None if none do."""
        ...

    def filled_at(self, state: State, kinds: Sequence[int]) -> int | None:
        """Return how many of the parties, in order, complete a state; None if all are too few.

        `CountedSeats` may return too small a number.
        """
        ...


def seats_of(queue: Queue, closed: frozenset[str]) -> SeatCompletion:
    """Return the seats of a queue's matches.

    Args:
        queue: Has the teams, sides and roles.
        closed: Sides on which no ticket insists.
    """
    form = queue.format
    insisted = [side for side in form.sides if side not in closed]
    if form.solo_only and not insisted and not form.roles:
        return SoloSeats(form)
    rooms = _rooms(form, is_one=form.solo_only and not insisted)
    if math.prod(room + 1 for team in rooms for room in team) <= BITS_MAX:
        return PackedSeats(form, closed, rooms)
    return CountedSeats(queue, closed)


class SoloSeats:
    """Seats for single players, each of whom takes any seat."""

    def __init__(self, form: Format) -> None:
        self._k, self.sizes, self.steps = form.k, [1], 0

    def kind_of(self, ticket: Ticket) -> int:
        """Return the only kind."""
        del ticket
        return 0

    def forget(self) -> None:
        """Forget nothing."""

    def start(self, kind: int) -> State:
        """Return the number of players."""
        del kind
        return 1

    def after(self, state: State, kind: int) -> State:
        """Return the number of players with one more; 0 if there is no seat."""
        del kind
        return (state + 1) % (self._k + 1)

    def complete(self, state: State, kinds: Sequence[int]) -> CompletedSeats | None:
        """Return the first players that are needed."""
        self.steps += 1
        room = self._k - int(state)
        return CompletedSeats(list(range(room)), len(kinds) - room) if len(kinds) >= room else None

    def filled_at(self, state: State, kinds: Sequence[int]) -> int | None:
        """Return how many players are needed."""
        room = self._k - int(state)
        return room if len(kinds) >= room else None


class PackedSeats:
    """Seats by team and role; each bit of a state is one way to have filled them.

    Args:
        form: Teams, sides and roles.
        closed: Sides on which no ticket insists.
        rooms: Seats by team, and within a team by role.

    Complexity:
        A few operations on numbers of at most `BITS_MAX` bits for each party.
    """

    def __init__(
        self, form: Format, closed: frozenset[str], rooms: tuple[tuple[int, ...], ...]
    ) -> None:
        self._form, self._closed, self._rooms = form, closed, rooms
        self._k = form.k
        self._are_alike = not form.sides and len(set(rooms)) == 1
        flat = [room for team in rooms for room in team]
        bits = math.prod(room + 1 for room in flat)
        self._step = 1 + bits // BITS_A_STEP
        self._full = 1 << (bits - 1)
        # The players on each seat of a team and role, for each bit; and the shift of one more.
        self._strides = [math.prod(room + 1 for room in flat[:at]) for at in range(len(flat))]
        numbers = np.arange(bits)
        self._taken = [
            numbers // stride % (room + 1) for stride, room in zip(self._strides, flat, strict=True)
        ]
        self._masks: dict[tuple[int, tuple[int, ...]], int] = {}
        self.steps = 0
        self.forget()

    def forget(self) -> None:
        """Forget all kinds."""
        self.sizes: list[int] = []
        self._numbers: dict[tuple[int, int, Masks], int] = {}
        self._by_ways: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
        self._ways: list[tuple[tuple[int, int], ...]] = []
        self._first: list[tuple[tuple[int, int], ...]] = []

    def kind_of(self, ticket: Ticket) -> int:
        """Return the number of a ticket's kind."""
        form = self._form
        side = side_of(ticket) if form.sides else ""
        team = form.sides.index(side) if side and side not in self._closed else -1
        masks: Masks = ()
        if form.roles:
            masks = tuple(
                sorted(Counter([mask_of(player, form.roles) for player in ticket.players]).items())
            )
        key = (ticket.size, team, masks)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._number(*key)
        return number

    def start(self, kind: int) -> State:
        """Return the state of one party, in the first of interchangeable teams."""
        state = 0
        for mask, shift in self._first[kind]:
            state |= (1 & mask) << shift
        return state

    def after(self, state: State, kind: int) -> State:
        """Return the state with one more party."""
        found = 0
        for mask, shift in self._ways[kind]:
            found |= (state & mask) << shift
        self.steps += self._step
        return found

    def complete(self, state: State, kinds: Sequence[int]) -> CompletedSeats | None:
        """Return the parties that complete a state.

        Going backwards over the parties, it computes from which states the remaining ones can fill
        up; then, in order, it takes each party that leads to such a state.
        """
        goal = self._full
        if state & goal:
            return CompletedSeats([], -1)
        goals = [goal] * (len(kinds) + 1)
        left: dict[int, int] = {}
        last = -1
        for place in range(len(kinds) - 1, -1, -1):
            kind = kinds[place]
            count = left.get(kind, 0)
            # More parties of a kind than fit make no difference.
            if count * self.sizes[kind] < self._k:
                left[kind] = count + 1
                before = goal
                for mask, shift in self._ways[kind]:
                    goal |= (before >> shift) & mask
                self.steps += self._step
            goals[place] = goal
            if last < 0 and state & goal:
                last = place
        if last < 0:
            return None
        chosen: list[int] = []
        for place, kind in enumerate(kinds):
            taken = self.after(state, kind)
            if taken & goals[place + 1]:
                chosen.append(place)
                state = taken
                if state & self._full:
                    break
        return CompletedSeats(chosen, last)

    def filled_at(self, state: State, kinds: Sequence[int]) -> int | None:
        """Return how many of the parties, in order, it takes to complete a state."""
        taken: dict[int, int] = {}
        for place, kind in enumerate(kinds):
            if state & self._full:
                return place
            count = taken.get(kind, 0)
            if count * self.sizes[kind] < self._k:
                taken[kind] = count + 1
                state |= self.after(state, kind)
        return len(kinds) if state & self._full else None

    def _number(self, size: int, team: int, masks: Masks) -> int:
        teams = range(len(self._rooms)) if team < 0 or len(self._rooms) == 1 else (team,)
        uses = _uses(masks, self._rooms[0]) if masks else [(size,)]
        ways = tuple([way for each in teams for use in uses if (way := self._way(each, use))])
        number = self._by_ways.setdefault((size, ways), len(self.sizes))
        if number == len(self.sizes):
            self.sizes.append(size)
            self._ways.append(ways)
            alone = range(1) if self._are_alike else teams
            first = [way for each in alone for use in uses if (way := self._way(each, use))]
            self._first.append(tuple(first))
        return number

    def _way(self, team: int, use: tuple[int, ...]) -> tuple[int, int] | None:
        """Return the states in which a team has these seats free, and by how much they shift."""
        rooms, at = self._rooms[team], sum(map(len, self._rooms[:team]))
        if any(count > room for count, room in zip(use, rooms, strict=True)):
            return None
        shift = sum(count * stride for count, stride in zip(use, self._strides[at:], strict=False))
        mask = self._masks.get((team, use))
        if mask is None:
            free = np.ones(len(self._taken[0]), dtype=np.bool_)
            for place, (count, room) in enumerate(zip(use, rooms, strict=True), at):
                free &= self._taken[place] + count <= room
            mask = int.from_bytes(np.packbits(free, bitorder="little").tobytes(), "little")
            self._masks[team, use] = mask
        return mask, shift


class CountedSeats:
    """Seats of formats with too many ways to fill them: counts of kinds, and `Labels`.

    Exact for sizes and sides, and for roles of single players; with parties and roles, a choice
    may be missed.
    """

    def __init__(self, queue: Queue, closed: frozenset[str]) -> None:
        self._k = queue.format.k
        self._labels = Labels(queue)
        self._labels.closed = closed
        self.steps = 0
        self.forget()

    def forget(self) -> None:
        """Forget all kinds."""
        self._labels.forget()
        self.sizes: list[int] = []
        self._kinds: list[tuple[int, int]] = []
        self._numbers: dict[tuple[int, int], int] = {}

    def kind_of(self, ticket: Ticket) -> int:
        """Return the number of a ticket's kind."""
        kind = self._labels.kind_of(ticket)
        number = self._numbers.setdefault(kind, len(self._kinds))
        if number == len(self._kinds):
            self._kinds.append(kind)
            self.sizes.append(kind[0])
        return number

    def start(self, kind: int) -> State:
        """Return the seats left and the only party."""
        return self._k - self.sizes[kind], {self._kinds[kind]: 1}

    def after(self, state: State, kind: int) -> State:
        """Return the state with one more party; None if it has too few seats."""
        room, have = state
        room -= self.sizes[kind]
        self.steps += 1
        own = self._kinds[kind]
        return None if room < 0 else (room, {**have, own: have.get(own, 0) + 1})

    def complete(self, state: State, kinds: Sequence[int]) -> CompletedSeats | None:
        """Return the parties found without backtracking."""
        room, given = state
        have, left = Counter(given), Counter([self._kinds[kind] for kind in kinds])
        self.steps += len(kinds)
        if not self._may_fill(have, left):
            return None
        chosen: list[int] = []
        hopeless: set[int] = set()
        for place, kind in enumerate(kinds):
            if room == 0:
                break
            own = self._kinds[kind]
            left[own] -= 1
            if kind in hopeless or own[0] > room:
                continue
            have[own] += 1
            if self._may_fill(have, left):
                chosen.append(place)
                room -= own[0]
            else:
                # Later there are more parties chosen and fewer left: the kind stays hopeless.
                have[own] -= 1
                hopeless.add(kind)
        return None if room else CompletedSeats(chosen, len(kinds) - 1)

    def filled_at(self, state: State, kinds: Sequence[int]) -> int | None:
        """Return a lower bound on how many parties are needed, tested in doubling steps."""
        _, given = state
        count = min(1, len(kinds))
        while True:
            self.steps += count
            left = Counter([self._kinds[kind] for kind in kinds[:count]])
            if self._may_fill(given, left):
                return count // 2
            if count == len(kinds):
                return None
            count = min(2 * count, len(kinds))

    def _may_fill(
        self, have: Mapping[tuple[int, int], int], left: Mapping[tuple[int, int], int]
    ) -> bool:
        answer = self._labels.may_fill(have, left)
        self.steps += QUESTION
        return answer is True


def _rooms(form: Format, *, is_one: bool) -> tuple[tuple[int, ...], ...]:
    """Return the seats by team and role; all teams as one if all players are single."""
    teams = len(form.players)
    if is_one:
        return (tuple([n * teams for _, n in form.roles]) or (form.k,),)
    if form.roles:
        return (tuple([n for _, n in form.roles]),) * teams
    return tuple([(seats,) for seats in form.players])


def _uses(masks: Masks, rooms: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the ways in which the players of a party may take seats, by role."""
    uses = {(0,) * len(rooms)}
    for mask, count in masks:
        roles = [role for role in range(len(rooms)) if mask >> role & 1]
        for _ in range(count):
            uses = {
                (*use[:role], use[role] + 1, *use[role + 1 :])
                for use in uses
                for role in roles
                if use[role] < rooms[role]
            }
    return sorted(uses)


# Which tickets can fill a match together, by their kinds: sizes, sides and roles.


class Labels:
    """The kinds of a queue's tickets: tickets of one kind fill a match alike.

    Without roles, a kind's label is the team that a ticket insists on, -1 if none. With roles, it
    is a number for that team and the sets of roles that the ticket's players accept.

    `closed` holds the sides on which no ticket may insist now: a ticket that asks for one counts as
    flexible. If sides are wishes, all are closed; a policy may set others before it asks for kinds
    again.

    Args:
        queue: Has the seats, sides and roles.
    """

    def __init__(self, queue: Queue) -> None:
        form = queue.format
        self._seats = form.players
        self._k = form.k
        self._sides = form.sides
        self.closed = frozenset(form.sides).difference(form.strict_sides)
        self._roles = form.roles
        self._role_seats = tuple([count * len(form.players) for _, count in form.roles])
        self._numbers: dict[tuple[int, Masks], int] = {}
        self._known: list[tuple[int, Masks]] = []

    def kind_of(self, ticket: Ticket) -> Kind:
        """Return a ticket's size and label."""
        side = side_of(ticket) if self._sides else ""
        team = self._sides.index(side) if side and side not in self.closed else -1
        if not self._roles:
            return ticket.size, team
        masks = Counter([mask_of(player, self._roles) for player in ticket.players])
        own = (team, tuple(sorted(masks.items())))
        number = self._numbers.setdefault(own, len(self._known))
        if number == len(self._known):
            self._known.append(own)
        return ticket.size, number

    def forget(self) -> None:
        """Forget the kinds of tickets that are gone; no tickets may be left."""
        self._numbers.clear()
        self._known.clear()

    def may_fill(
        self,
        chosen: Mapping[Kind, int],
        left: Mapping[Kind, int],
        seats: tuple[int, ...] | None = None,
    ) -> bool | None:
        """Return whether some match has all of `chosen` and is filled from `left`; None: unknown.

        Seats and sides are exact, and so are roles if all players are single: then all chosen
        players have a role and the others fill the rest iff both conditions below hold. With
        parties, the conditions are necessary only.

        Args:
            chosen: Tickets of the match, by kind.
            left: Tickets that may join them, by kind.
            seats: Players of each team, for a match smaller than a full one.
        """
        seats = self._seats if seats is None else seats
        if self._roles and not self._may_fill_roles(chosen, left, self._k - sum(seats)):
            return False
        # More tickets than fit make no difference; repeated calls are answered from memory.
        some = [(self._seat_kind(kind), min(n, self._k // kind[0])) for kind, n in left.items()]
        sure = [(self._seat_kind(kind), n) for kind, n in chosen.items()]
        return fillable(_joined(sure), _joined(some), seats)

    def _may_fill_roles(
        self, chosen: Mapping[Kind, int], left: Mapping[Kind, int], empty: int
    ) -> bool:
        have: Counter[int] = Counter()
        for (_, label), count in chosen.items():
            for mask, players in self._known[label][1]:
                have[mask] += players * count
        if not find_seats(_sorted(have), self._role_seats):
            return False
        for (_, label), count in left.items():
            for mask, players in self._known[label][1]:
                have[mask] += players * count
        # A missing player leaves a seat of any role empty.
        have[(1 << len(self._roles)) - 1] += empty
        return fill_seats(_sorted({m: min(n, self._k) for m, n in have.items()}), self._role_seats)

    def _seat_kind(self, kind: Kind) -> Kind:
        return (kind[0], self._known[kind[1]][0]) if self._roles else kind


def _joined(kinds: list[tuple[Kind, int]]) -> tuple[tuple[Kind, int], ...]:
    """Return kinds with their counts added up, without kinds of count 0."""
    total: Counter[Kind] = Counter()
    for kind, count in kinds:
        if count > 0:
            total[kind] += count
    return tuple(sorted(total.items()))


def _sorted(counts: Mapping[int, int]) -> Masks:
    return tuple(sorted([(mask, count) for mask, count in counts.items() if count]))
