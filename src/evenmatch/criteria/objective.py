"""How good a match is: criteria and waits in one cost, and quality for people to read.

    cost = sum_d f_d q_d(match) + wait_price * (sum of its players' waits + wait_max per bot)
    quality = 1 - sum_d f_d q_d(match) / sum_d f_d

With a bot, every q_d of a match is 1. Quality ignores waits. With `spread` criteria and the default
price 1/wait_max, the cost is Schlup's eq. (1); other criteria and prices give the objectives of the
other sources.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from evenmatch.criteria.base import Seats
from evenmatch.criteria.divisions import Divider, DivisionTable, Teams, division_of, teams_of
from evenmatch.criteria.kinds.numeric import Numeric
from evenmatch.criteria.percentile import samples_of
from evenmatch.criteria.registry import comparison_of
from evenmatch.criteria.roles import role_problem
from evenmatch.criteria.rules import Rules, side_of
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.venue import Venues
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Ticket, Value, attribute_of
from evenmatch.model.ticket_names import origin_of

Cost = TypeVar("Cost", float, Floats)
COST_SLACK = 1e-12
"""Divisions whose costs differ by less than this count as equal; the first of them is taken."""
DESCENTS_MAX = 50
"""Most swaps of a descent, which replaces exhaustive search if there are too many divisions."""
LOOK_AGAIN = 64
"""Divisions, best by the table, that the reference judges again if there are rules on teams."""


class Seating(msgspec.Struct, frozen=True, gc=False):
    """Tickets divided into teams, with the cost and the earliest instant of the match.

    Args:
        teams: Tickets by team.
        criteria_cost: sum_d f_d q_d, if the match is made as soon as requested and legal.
        quality: In [0, 1]; None if no criterion is scaled to [0, 1].
        ready_at: Instant from which every rule holds for every ticket.
        roles: Each player's role by team, party by party; None if the queue has no roles.
    """

    teams: Teams
    criteria_cost: float
    quality: float | None
    ready_at: float
    roles: tuple[tuple[str, ...], ...] | None = None


def weights_of(queue: Queue) -> list[float]:
    """Return the weight of each criterion: k / (number of criteria) if none is given."""
    default = queue.format.k / max(1, len(queue.criteria))
    return [default if c.weight is None else c.weight for c in queue.criteria]


class Objective:
    """The criteria, prices and rules of one queue, compiled."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.rules = Rules(queue)
        self.venues = Venues(queue)
        self.weights = weights_of(queue)
        self._wait_price = queue.price
        scaled = [c.scale.kind != "none" for c in queue.criteria]
        compared = [comparison_of(criterion, queue) for criterion in queue.criteria]
        self._terms = list(zip(compared, self.weights, scaled, strict=True))
        self._scaled_weight = math.fsum(weight for _, weight, counts in self._terms if counts)
        self._quality_of_nothing = 1.0 if all(scaled) else None
        self._divided = [each for each in self._terms if each[0].is_by_team]
        self._by_team = bool(self._divided) or self.rules.depend_on_teams
        self._one_each = max(queue.format.players) == 1 and not queue.format.sides
        self._is_plain_duel = queue.format.is_duel and not queue.format.sides
        self._divider = Divider(queue.format)
        compared += [comparison_of(rule, queue) for rule in queue.rules]
        checks = [
            (each.definition.attribute, each.plain_values, each.problem)
            for each in compared
            if each.definition.attribute
        ]
        if queue.handicap:
            checks.append((queue.handicap.attribute, Numeric.plain_values, Numeric.problem))
        self._checks = tuple(dict.fromkeys(checks))
        sizes = range(1, max(queue.format.players) + 1)
        self.party_sizes = frozenset([size for size in sizes if queue.format.admits(size)])
        self._has_rule_set = any(rule.condition is not None for rule in queue.rules)
        sides = ("side",) if queue.format.sides else ()
        self.samples = samples_of(queue)
        self.id_lists = frozenset(c.definition.attribute for c in compared if c.is_list_of_players)
        self.declared = frozenset(
            (*(attribute for attribute, _, _ in self._checks), *queue.attributes, *sides)
        )

    def missing(self, ticket: Ticket | NewTicket) -> str | None:
        """Return a sentence about a missing or wrong attribute of the ticket, or None."""
        for player in ticket.players:
            for attribute, plain, problem in self._checks:
                value = attribute_of(ticket, player, attribute)
                if type(value) not in plain and (wrong := problem(value)):
                    whose = f" of player {player.id}" if len(ticket.players) > 1 else ""
                    origin = origin_of(attribute) if self._has_rule_set else ""
                    return f"attribute {attribute}{whose} {wrong}{origin}"
        if self.rules.may_be_hopeless and (wrong := self.rules.hopeless(ticket)):
            return wrong
        form = self.queue.format
        if form.sides and (wrong := _side_problem(ticket, form.sides)):
            return wrong
        return role_problem(ticket, form.roles) if form.roles else None

    def seat(
        self, tickets: Sequence[Ticket], bots: int = 0, now: float = math.inf
    ) -> Seating | None:
        """Divide tickets into teams in the way that is best by the criteria.

        Args:
            tickets: By (enqueued_at, sequence).
            bots: Seats that computer players fill.
            now: A division that is legal now is preferred to a better one that is not legal yet.
                Regions that are allowed by then count, see `Comparison.cost_at`.

        Returns:
            The best division found, or None if the tickets do not fill a match.

        Complexity:
            One evaluation if no criterion compares teams. Otherwise all divisions of two teams of
            at most 16 parties, and up to `divisions.FEW` of other formats; if there are more, a
            descent from an even division by swaps of two parties.
        """
        if self._is_plain_duel and len(tickets) == 2 and not bots:
            return self._seat_duel(tickets[0], tickets[1], now)
        if self._one_each:
            form = self.queue.format
            if not form.k_min <= len(tickets) + bots <= form.k:
                return None
            alone = [(ticket,) for ticket in tickets]
            return self._evaluate((*alone, *((),) * (form.k - len(alone))), bots, now)
        if self._by_team and not bots:
            return self._best(tickets, now)
        teams = self._divider.first(tickets, bots)
        return None if teams is None else self._evaluate(teams, bots, now)

    def legal_at(self, tickets: Sequence[Ticket]) -> float:
        """Return the instant from which some division of the tickets is legal; inf if none ever is.

        Args:
            tickets: By (enqueued_at, sequence).

        Returns:
            The `ready_at` that `seat` returns before anything is legal, ignoring the criteria.

        Complexity:
            That of the rules on the divisions that `seat` examines.
        """
        if not self.rules.depend_on_teams:
            teams = self._divider.first(tickets)
            return math.inf if teams is None else self.rules.ready_at(teams)
        tables, are_all = self._divider.tables(tickets)
        if not are_all:
            seating = self._best(tickets, -math.inf)
            return math.inf if seating is None else seating.ready_at
        if not tables:
            return math.inf
        early = np.concatenate([self._late(tickets, table, -math.inf) for table in tables])
        best = math.inf
        for row in np.argsort(early, kind="stable")[:LOOK_AGAIN].tolist():
            if early[row] >= best:
                break
            best = min(best, self.rules.ready_at(_row_of(tickets, tables, row)))
        return best

    def judge(self, teams: Teams, now: float = math.inf) -> Seating:
        """Return a given division with its cost, and the instant from which the rules allow it.

        Args:
            teams: Tickets by team; seats may be free, but at least two people play. Sides and roles
                are not checked.
            now: When the match is made, if rules allow it by then.
        """
        return self._evaluate(teams, 0, now)

    def factors(
        self, teams: Seats, bots: int = 0, *, region: str | None = None
    ) -> tuple[float, ...]:
        """Return the cost q_d of each criterion in the queue's order, without waits.

        Args:
            teams: Tickets by team, `Seating.teams` or any other division.
            bots: Seats that computer players fill; with any, every criterion costs 1.
            region: Where the match is played; None: in the best region that rules ever allow.
        """
        if bots:
            return (1.0,) * len(self._terms)
        return tuple([compared.cost_in(teams, region) for compared, _, _ in self._terms])

    def cost(self, seating: Seating, bots: int, at: float) -> float:
        """Return the total cost of a match made at the instant `at`."""
        waits = 0.0
        for team in seating.teams:
            for ticket in team:
                waits += len(ticket.players) * (at - ticket.enqueued_at)
        if bots:
            waits += bots * (self.queue.wait_max or 0.0)
        return seating.criteria_cost + self._wait_price * waits

    def cheapest(self, tickets: Sequence[Ticket], accepts: Callable[[Teams], bool]) -> Teams | None:
        """Return the cheapest division by the criteria among those that `accepts` allows.

        Args:
            tickets: By (enqueued_at, sequence).
            accepts: Called with one division after the other, the cheapest first.

        Returns:
            None if it accepts none of the first `LOOK_AGAIN`, or if there are too many divisions to
            examine all.
        """
        tables, are_all = self._divider.tables(tickets)
        if not tables or not are_all:
            return None
        costs = np.concatenate([self._costs(tickets, table) for table in tables])
        for row in np.argsort(costs, kind="stable")[:LOOK_AGAIN].tolist():
            teams = _row_of(tickets, tables, row)
            if accepts(teams):
                return teams
        return None

    def _best(self, tickets: Sequence[Ticket], now: float) -> Seating | None:
        """Return the best of many divisions: legal soonest, then cheapest, then first."""
        tables, are_all = self._divider.tables(tickets)
        if not tables:
            return None
        if not are_all:
            tables = self._descend(tickets, tables[0], now)
        costs = np.concatenate([self._costs(tickets, table) for table in tables])
        if not self.rules.depend_on_teams:
            row = int(np.argmax(costs <= costs.min() + COST_SLACK))
            return self._evaluate(_row_of(tickets, tables, row), 0, now)
        late = np.concatenate([self._late(tickets, table, now) for table in tables])
        best: tuple[float, float] | None = None
        chosen = None
        for row in np.lexsort((costs, late))[:LOOK_AGAIN].tolist():
            # The table is never late: a later division is legal no sooner than the table says. And
            # divisions that never become legal are all equal.
            if best is not None and (late[row] > best[0] or best[0] == math.inf == late[row]):
                break
            seating = self._evaluate(_row_of(tickets, tables, row), 0, now)
            key = (max(seating.ready_at, now), seating.criteria_cost)
            if best is None or key < best:
                best, chosen = key, seating
        return chosen

    def _descend(
        self, tickets: Sequence[Ticket], table: DivisionTable, now: float
    ) -> tuple[DivisionTable, ...]:
        """Return a division that no swap of two parties improves, as a table of its own."""
        late, cost = self._late(tickets, table, now)[0], self._costs(tickets, table)[0]
        for _ in range(DESCENTS_MAX):
            around = self._divider.neighbours(tickets, table, 0)
            if not len(around.orders):
                break
            lates, costs = self._late(tickets, around, now), self._costs(tickets, around)
            row = int(np.lexsort((costs, lates))[0])
            if (lates[row], costs[row] + COST_SLACK) >= (late, cost):
                break
            late, cost = lates[row], costs[row]
            table = DivisionTable(table.layout, around.orders[row : row + 1])
        return (table,)

    def _costs(self, tickets: Sequence[Ticket], table: DivisionTable) -> Floats:
        """Return the part of each division's criteria cost that depends on the division."""
        costs: Floats = np.zeros(len(table.orders))
        for compared, weight, _ in self._divided:
            costs += weight * compared.cost_table(tickets, table.orders, table.layout)
        return costs

    def _late(self, tickets: Sequence[Ticket], table: DivisionTable, now: float) -> Floats:
        """Return the instant from which each division is legal, `now` if it is already."""
        if not self.rules.depend_on_teams:
            return np.full(len(table.orders), now)
        return np.maximum(self.rules.ready_table(tickets, table.orders, table.layout), now)

    def _seat_duel(self, one: Ticket, two: Ticket, now: float) -> Seating:
        """Return the only division of a duel, computed by a shorter way."""
        ready_at = self.rules.duel_ready_at(one, two)
        at = max(ready_at, now)
        total = scaled = 0.0
        for compared, weight, counts in self._terms:
            cost = weight * compared.cost_of_duel(one, two, at)
            total += cost
            if counts:
                scaled += cost
        return Seating(((one,), (two,)), total, self.quality(scaled), ready_at)

    def _evaluate(self, teams: Teams, bots: int, now: float) -> Seating:
        # Without an instant, a match counts from when it is first legal.
        ready_at = self.rules.ready_at(teams, now if now < math.inf else -math.inf)
        at = max(ready_at, now)
        roles = self._divider.roles(teams)
        if bots:
            worst = self.quality(self._scaled_weight)
            return Seating(teams, math.fsum(self.weights), worst, ready_at, roles)
        total = scaled = 0.0
        for compared, weight, counts in self._terms:
            cost = weight * compared.cost_at(teams, at)
            total += cost
            if counts:
                scaled += cost
        return Seating(teams, total, self.quality(scaled), ready_at, roles)

    def quality(self, scaled: Cost) -> Cost | float | None:
        """Return the quality of a match, or of many, from its scaled criteria cost.

        Returns:
            In [0, 1]; None if no criterion is scaled to [0, 1].
        """
        if self._scaled_weight:
            return 1.0 - scaled / self._scaled_weight
        return self._quality_of_nothing


def _side_problem(ticket: Ticket | NewTicket, sides: tuple[str, ...]) -> str | None:
    """Return a sentence about a side that the queue does not have, or two sides in one party."""
    insisted = side_of(ticket)
    for player in ticket.players:
        side = attribute_of(ticket, player, "side")
        if side is None or side == "":
            continue
        if side not in sides:
            allowed = f"one of {', '.join(sides)}, or absent"
            return f"side must be {allowed}, got {_shown(side)}"
        if side != insisted:
            return f"side must be the same for a whole party, got {insisted} and {side}"
    return None


def _shown(value: Value) -> str:
    return f"{value:.80}" if isinstance(value, str) else f"{value!r:.80}"


def _row_of(tickets: Sequence[Ticket], tables: Sequence[DivisionTable], row: int) -> Teams:
    """Return a division by its number, counted through several tables."""
    party_of = [party for party, ticket in enumerate(tickets) for _ in ticket.players]
    for layout, orders in tables:
        if row < len(orders):
            return teams_of(tickets, division_of(orders[row].tolist(), layout, party_of))
        row -= len(orders)
    raise IndexError(row)
