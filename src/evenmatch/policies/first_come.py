"""`first_come`: play as soon as whole parties fill the teams; a service order says which ones."""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from evenmatch.criteria.base import Form
from evenmatch.criteria.registry import kind_with
from evenmatch.criteria.rules import side_of
from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.ticket import NewTicket, Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.solvers.service_orders.lines import KIND, NONE, PACK, SEQUENCE, add_party, widen
from evenmatch.solvers.service_orders.packs import ServicePlan, bind, leave, members_of, serve
from evenmatch.solvers.service_orders.plan import (
    SETS_MAX,
    Kind,
    Layout,
    Order,
    Shape,
    make_plan,
    make_pools,
)

SLOTS = 64
"""Room of a new pool; it doubles when it is full."""
MIRRORED_MAX, MIRRORED_MAX_OF_MORE = 16, 6
"""Players of a match of two or of more teams all of whose divisions the engine looks at."""


class FirstCome(msgspec.Struct, frozen=True, kw_only=True):
    """Make a match as soon as whole parties fill the teams, in a given order of service.

    The order matters only if a newcomer could play with several sets of parties:

    - `oldest`: first come, first matched. The longest waiting party that can play now plays, with
      it the next longest waiting that still fits, and so on.
    - `lifo`: the same, but the shortest waiting first.
    - `packing`: parties become a fixed team as soon as they fill one, the longest waiting first;
      teams play in the order in which they were formed. For two against two this is the same as
      `oldest`.
    - `largest`: the set with the most parties of the largest size, then of the next size, and so
      on.
    - `smallest`: the set with the most single players, then the most pairs, and so on.
    - `head_of_line`: only sets with the longest waiting party of all; the others wait for it, even
      if they could play. A party that can never play holds nobody up.
    - `max_weight`: the set with the largest weight, the sum over its parties of how many players
      wait in parties of the same size and side; of equal ones the one that `largest` prefers.
    - `reserve`: like `largest`, but a team of single players only is made only while `theta` or
      more of them wait; fewer are kept for larger parties, which nobody else can complete.

    If an order ranks several sets equally, the one whose parties have waited longest plays; of each
    party size, always the longest waiting play (with `lifo` the shortest waiting). The order
    decides who plays; the engine then divides them into the best teams. These can differ from the
    teams of `packing`, and from four against four on also from those of `unmixed`.

    When to use:
        If only waiting counts, and parties of several sizes share a queue. In light traffic
        `oldest` has nearly the shortest mean wait, and the least variance; `largest` has a slightly
        shorter mean. `smallest` and `head_of_line` are worse. `lifo` shows the worst that mixed-up
        arrival times could cost. If there are only just enough solos to complete the larger
        parties, `reserve` shortens the mean by a fifth, but solos wait four times as long: look at
        `--by size` before you choose a theta. Mirrored teams make waits 2 to 2.5 times as long. If
        closeness counts too, choose `rolling`.

    Args:
        order: Which set of parties plays, see above.
        theta: For `reserve`: how many single players must wait before a team of them is made.
        shape: Which teams are allowed. `any`: all; `mirrored`: all teams of a match have the same
            party sizes, as with a rule `party_parity` of limit 0; `unmixed`: each team has parties
            of one size only, so parties whose size does not divide a team never play. With
            `unmixed`, a team of solos may still meet a team of pairs; to keep them apart, give each
            size its own queue.

    Source:
        Xu, Yu, Wu, Rule Designs for Optimal Online Game Matchmaking, section III, for two against
        two; larger teams and the orders from `largest` on are ours. Differs from the paper: packing
        is not optimal from three against three on.

    Complexity:
        O(sets x kinds) per arrival: a few sets for duels with sides, a few dozen up to five against
        five, and a thousand if parties of five insist on sides.
    """

    held_back = "first_come serves others first"
    evaluations_max = (4 * SETS_MAX, 2 * SETS_MAX)
    """Each newcomer, and each match, is a look at all sets of kinds that fill one."""

    order: Order = "oldest"
    theta: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    shape: Shape = "any"

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue without rules and roles."""
        del seed
        return FirstComeMatcher(Kinds(queue, self.layout(queue)), self.plan(queue), memory or {})

    def rules(self, queue: Queue) -> tuple[Rule, ...]:
        """Return the rule that mirrored teams are: no difference of party sizes.

        Raises:
            ConfigError: The teams are more or larger than can always be divided so.
        """
        form = queue.format
        if self.shape != "mirrored" or form.solo_only or len(form.players) == 1:
            return ()
        if form.k > (MIRRORED_MAX if len(form.players) == 2 else MIRRORED_MAX_OF_MORE):
            raise ConfigError(
                f"first_come: shape=mirrored allows at most {MIRRORED_MAX} players in two teams, "
                f"or {MIRRORED_MAX_OF_MORE} in more teams; queue {queue.name} has {form.k}"
            )
        return (Rule(kind_with(Form.PARTIES)),)

    def layout(self, queue: Queue) -> Layout:
        """Return who fits into a match.

        Raises:
            ConfigError: The queue has rules or roles, or teams too different for order or shape.
        """
        form = queue.format
        if queue.rules or form.roles:
            raise ConfigError(
                f"policy first_come supports neither rules nor roles; queue {queue.name} has "
                f"{'rules' if queue.rules else 'roles'}: choose greedy"
            )
        sizes = tuple(size for size in range(1, max(form.players) + 1) if form.admits(size))
        return Layout(form.players, sizes, bool(form.strict_sides), self.shape)

    def plan(self, queue: Queue) -> ServicePlan:
        """Return the arrays of the order for a queue.

        Raises:
            ConfigError: A parameter is out of range, or the queue is not one for it.
        """
        self._check()
        self.rules(queue)
        layout = self.layout(queue)
        alike = "packing" if self.order == "packing" else "mirrored"
        if alike in (self.order, self.shape) and len(set(layout.seats)) > 1:
            shape = " against ".join(map(str, layout.seats))
            raise ConfigError(
                f"first_come: {alike} needs teams of the same number of seats; queue "
                f"{queue.name} has {shape}"
            )
        plan = make_plan(layout, self.order, self.theta or 0)
        if plan is None:
            raise ConfigError(
                f"first_come looks at up to {SETS_MAX:,} sets of party sizes that fill a match; "
                f"queue {queue.name} has more: give it fewer party_sizes or no sides, or choose "
                "greedy"
            )
        if not len(plan.parties.needs) or (self.order == "packing" and not len(plan.packs.needs)):
            raise ConfigError(
                f"first_come: no parties of sizes {', '.join(map(str, layout.sizes))} fill the "
                f"teams of queue {queue.name} with shape={self.shape}: admit single players"
            )
        return plan

    def _check(self) -> None:
        check_parameters(self)
        if (self.order == "reserve") != (self.theta is not None):
            raise ConfigError(
                "first_come: theta belongs to order=reserve, as the single players who must wait "
                "before a team of them is made: first_come:order=reserve,theta=5"
            )


class Kinds:
    """The kinds of a queue's tickets as numbers, in the order of the layout.

    Args:
        queue: Names the sides that tickets may insist on.
        layout: Lists the kinds.
    """

    def __init__(self, queue: Queue, layout: Layout) -> None:
        self._labels = {side: label for label, side in enumerate(queue.format.strict_sides, 1)}
        self._numbers: dict[Kind, int] = {kind: n for n, kind in enumerate(layout.kinds)}
        self.seats = sum(layout.seats)

    def number(self, size: int, side: str) -> int:
        """Return the number of a size and the side that is insisted on, "" if none."""
        return self._numbers[size, self._labels.get(side, 0)]

    def of(self, ticket: Ticket | NewTicket) -> int:
        """Return the number of a ticket's kind."""
        return self.number(len(ticket.players), side_of(ticket) if self._labels else "")


class FirstComeMatcher(NoJobs):
    """Tickets in the lines of their kinds, and packed teams in lines of their own.

    Newcomers are taken in one after the other when the matcher decides, as if each had come alone.

    Args:
        kinds: Of the queue.
        plan: Of the policy.
        memory: What an earlier matcher knew: who was packed with whom.
    """

    def __init__(self, kinds: Kinds, plan: ServicePlan, memory: Memory) -> None:
        self._kinds = kinds
        self._plan = plan
        self._is_packing = plan.made.shape[0] > 0
        self._parties, self._packs = make_pools(plan, SLOTS)
        self._free = list(range(SLOTS))[::-1]
        self._out = np.zeros(kinds.seats, dtype=np.int64)
        self._tickets: dict[int, Ticket] = {}
        self._slots: dict[str, int] = {}
        # Who has entered since the last decision, and stands in no line yet.
        self._coming: dict[str, int] = {}
        self._packed: list[list[int]] = memory.get("packs", [])
        self._is_changed = False
        self.evaluations = 0

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in."""
        del now
        if isinstance(entry, OpenMatch):
            return
        if not self._free:
            self._grow()
        slot = self._free.pop()
        ages, links, _ = self._parties
        ages[slot] = entry.enqueued_at
        links[SEQUENCE, slot], links[PACK, slot] = entry.sequence, NONE
        links[KIND, slot] = self._kinds.of(entry)
        self._tickets[slot] = entry
        self._slots[entry.id] = self._coming[entry.id] = slot

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket; if it was packed, the others of its pack are free again."""
        del now
        slot = self._slots.pop(entry_id, None)
        if slot is None:
            return
        if self._coming.pop(entry_id, None) is None:
            leave(self._parties, self._packs, slot)
            self._is_changed = True
        del self._tickets[slot]
        self._free.append(slot)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Let the newcomers stand in line one by one, and serve whoever can play."""
        del now, fired
        matches: list[Grouping] = []
        if self._is_changed:
            self._is_changed = False
            self._serve(matches)
        if self._packed:
            self._bind_again()
        for slot in self._coming.values():
            add_party(self._parties, slot, self._parties.links[KIND, slot])
            self._serve(matches)
        self._coming.clear()
        return Decision(tuple(matches))

    def memory(self) -> Memory:
        """Return the sequences of who is packed with whom, in the order of packing."""
        if not self._is_packing:
            return {}
        sequences = self._parties.links[SEQUENCE]
        packs = members_of(self._parties, self._packs)
        return {"packs": self._packed or [sequences[slots].tolist() for slots in packs]}

    def _serve(self, matches: list[Grouping]) -> None:
        """Make all matches that can be made."""
        sets = len(self._plan.parties.needs) + len(self._plan.packs.needs)
        self.evaluations += sets
        while count := int(serve(self._parties, self._packs, self._plan, self._out)):
            self.evaluations += sets
            slots = self._out[:count].tolist()
            tickets = sorted([self._tickets.pop(slot) for slot in slots], key=_age)
            for ticket in tickets:
                del self._slots[ticket.id]
            self._free += slots
            matches.append(Grouping(tuple([ticket.id for ticket in tickets])))

    def _bind_again(self) -> None:
        """Bind those who have come back as an earlier matcher had bound them, if all have."""
        sequences = self._parties.links[SEQUENCE]
        back = {int(sequences[slot]): ticket for ticket, slot in self._coming.items()}
        for members in self._packed:
            if all(member in back for member in members):
                slots = [self._coming.pop(back.pop(member)) for member in members]
                bind(self._parties, self._packs, self._plan, slots)
        self._packed = []

    def _grow(self) -> None:
        room = len(self._parties[0])
        self._parties = widen(self._parties, 2 * room)
        if self._is_packing:
            self._packs = widen(self._packs, 2 * room)
        self._free = list(range(room, 2 * room))[::-1]


def _age(ticket: Ticket) -> tuple[float, int]:
    return ticket.age_key
