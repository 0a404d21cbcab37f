"""Service orders by brute force: all subsets of the waiting parties, all ways to divide them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from evenmatch.model.queue import Format
from evenmatch.model.ticket import Ticket

Teams = tuple[tuple[Ticket, ...], ...]


def divisions(tickets: Sequence[Ticket], form: Format, shape: str = "any") -> Iterator[Teams]:
    """Yield every way to fill all teams with all the tickets."""
    teams: list[list[Ticket]] = [[] for _ in form.players]

    def seat(number: int) -> Iterator[Teams]:
        if number == len(tickets):
            if all(size(team) == n for team, n in zip(teams, form.players, strict=True)):
                yield tuple(tuple(team) for team in teams)
            return
        ticket = tickets[number]
        wanted = ticket.attributes.get("side")
        for place, team in enumerate(teams):
            if wanted and form.sides[place] != wanted:
                continue
            if size(team) + ticket.size <= form.players[place]:
                team.append(ticket)
                yield from seat(number + 1)
                team.pop()

    for found in seat(0):
        parts = [tuple(sorted(t.size for t in team)) for team in found]
        if shape == "mirrored" and len(set(parts)) > 1:
            continue
        if shape == "unmixed" and any(len(set(part)) > 1 for part in parts):
            continue
        yield found


def size(tickets: Sequence[Ticket]) -> int:
    return sum(ticket.size for ticket in tickets)


def age(ticket: Ticket) -> tuple[float, int]:
    return ticket.age_key


def by_age(tickets: Sequence[Ticket]) -> list[tuple[float, int]]:
    return sorted(map(age, tickets))


def by_size(tickets: Sequence[Ticket], sizes: Sequence[int]) -> tuple[int, ...]:
    have = Counter(ticket.size for ticket in tickets)
    return tuple(-have[each] for each in sizes)


def kind(ticket: Ticket) -> tuple[int, object]:
    return ticket.size, ticket.attributes.get("side")


class NaivePool:
    """Who waits, and what an order makes of them."""

    def __init__(self, form: Format, order: str, shape: str, theta: int) -> None:
        self.form, self.order, self.shape, self.theta = form, order, shape, theta
        self.waiting: list[Ticket] = []
        self.packs: list[tuple[Ticket, ...]] = []

    def enter(self, ticket: Ticket) -> list[set[str]]:
        self.waiting.append(ticket)
        return self.serve()

    def leave(self, ticket_id: str) -> list[set[str]]:
        for pack in self.packs:
            if any(ticket.id == ticket_id for ticket in pack):
                self.packs.remove(pack)
                self.waiting += pack
                break
        self.waiting = [ticket for ticket in self.waiting if ticket.id != ticket_id]
        return self.serve()

    def serve(self) -> list[set[str]]:
        found: list[set[str]] = []
        step = self.packed if self.order == "packing" else self.chosen
        while match := step():
            found.append({ticket.id for ticket in match})
        return found

    def feasible(self, seats: int) -> Iterator[tuple[Ticket, ...]]:
        pool = sorted(self.waiting, key=age)
        for count in range(1, min(len(pool), seats) + 1):
            for some in combinations(pool, count):
                if size(some) == seats:
                    yield some

    def chosen(self) -> tuple[Ticket, ...]:
        sizes = range(1, max(self.form.players) + 1)
        waiting = Counter(map(kind, self.waiting))
        solos = sum(ticket.size == 1 for ticket in self.waiting)
        # On its own a size that divides no team never plays, so nobody waits for it.
        players = [
            ticket
            for ticket in self.waiting
            if self.shape != "unmixed" or self.form.players[0] % ticket.size == 0
        ]
        oldest = min(players, key=age, default=None)

        def is_allowed(some: tuple[Ticket, ...]) -> bool:
            if self.order == "head_of_line" and oldest not in some:
                return False
            ways = divisions(some, self.form, self.shape)
            if self.order == "reserve" and solos < self.theta:
                ways = (w for w in ways if not any(self.is_of_solos(team) for team in w))
            return next(ways, None) is not None

        def preference(some: tuple[Ticket, ...]) -> tuple[object, ...]:
            if self.order == "lifo":
                return (sorted([(-at, -n) for at, n in map(age, some)]),)
            if self.order in ("largest", "reserve"):
                return by_size(some, sizes[::-1]), by_age(some)
            if self.order == "smallest":
                return by_size(some, sizes), by_age(some)
            if self.order == "max_weight":
                weight = sum(waiting[kind(ticket)] * ticket.size for ticket in some)
                return -weight, by_size(some, sizes[::-1]), by_age(some)
            return (by_age(some),)

        found = min(filter(is_allowed, self.feasible(self.form.k)), key=preference, default=())
        self.waiting = [ticket for ticket in self.waiting if ticket not in found]
        return found

    def is_of_solos(self, team: tuple[Ticket, ...]) -> bool:
        return len(team) > 1 and all(ticket.size == 1 for ticket in team)

    def packed(self) -> tuple[Ticket, ...]:
        seats = self.form.players[0]
        while team := min(filter(self.is_team, self.feasible(seats)), key=by_age, default=()):
            self.packs.append(team)
            self.waiting = [ticket for ticket in self.waiting if ticket not in team]
        for some in combinations(range(len(self.packs)), len(self.form.players)):
            parties = [ticket for place in some for ticket in self.packs[place]]
            teams = {frozenset(t.id for t in self.packs[place]) for place in some}
            for way in divisions(parties, self.form, self.shape):
                if {frozenset(t.id for t in team) for team in way} == teams:
                    self.packs = [p for n, p in enumerate(self.packs) if n not in some]
                    return tuple(parties)
        return ()

    def is_team(self, some: tuple[Ticket, ...]) -> bool:
        sides = {ticket.attributes.get("side") for ticket in some} - {None}
        unmixed = self.shape != "unmixed" or len({ticket.size for ticket in some}) == 1
        return len(sides) <= 1 and unmixed
