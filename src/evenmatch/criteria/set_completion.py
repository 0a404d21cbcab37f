"""Which tickets can fill a match together, told by kinds: sizes, sides and roles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from evenmatch.criteria.roles import Masks, fill_seats, find_seats, mask_of
from evenmatch.criteria.rules import side_of
from evenmatch.criteria.team_packing import Kind, fillable
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket


class Labels:
    """The kinds of a queue's tickets: tickets of one kind fill a match alike.

    Without roles a kind's label is the team that a ticket insists on, -1 if none. With roles it is
    a number for that team and the sets of roles that the ticket's players accept.

    `closed` are the sides on which no ticket insists now: whoever asks for one is like a flexible
    ticket. Where sides are wishes, all are closed; a policy may set others, before it asks for
    kinds again.

    Args:
        queue: Gives seats, sides and roles.
    """

    def __init__(self, queue: Queue) -> None:
        form = queue.format
        self._seats = form.players
        self._k = form.k
        self._sides = form.sides
        self.closed = frozenset(form.sides).difference(form.insisted)
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
        """Forget the kinds of tickets that are gone; none may be left."""
        self._numbers.clear()
        self._known.clear()

    def may_fill(
        self,
        chosen: Mapping[Kind, int],
        left: Mapping[Kind, int],
        seats: tuple[int, ...] | None = None,
    ) -> bool | None:
        """Return whether some match holds these kinds and fills up from those; None: unknown.

        Seats and sides are answered exactly, and so are roles where all play alone: then all who
        are chosen have a role, and the others fill the rest, iff both conditions below hold. With
        parties they are necessary only.

        Args:
            chosen: Tickets of the match, by kind.
            left: Tickets that may join them, by kind.
            seats: Players of each team, where a match smaller than a full one is asked for.
        """
        seats = self._seats if seats is None else seats
        if self._roles and not self._may_fill_roles(chosen, left, self._k - sum(seats)):
            return False
        # More than fit into a match make no difference, and alike questions are remembered.
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
        # Whoever is not there leaves a seat of any role empty.
        have[(1 << len(self._roles)) - 1] += empty
        return fill_seats(_sorted({m: min(n, self._k) for m, n in have.items()}), self._role_seats)

    def _seat_kind(self, kind: Kind) -> Kind:
        return (kind[0], self._known[kind[1]][0]) if self._roles else kind


def _joined(kinds: list[tuple[Kind, int]]) -> tuple[tuple[Kind, int], ...]:
    """Return kinds with their numbers added up, without those of which there are none."""
    total: Counter[Kind] = Counter()
    for kind, count in kinds:
        if count > 0:
            total[kind] += count
    return tuple(sorted(total.items()))


def _sorted(counts: Mapping[int, int]) -> Masks:
    return tuple(sorted([(mask, count) for mask, count in counts.items() if count]))
