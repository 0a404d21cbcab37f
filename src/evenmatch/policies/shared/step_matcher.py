"""The matcher of all policies whose steps are compiled: it hands tickets over as array columns.

The steps themselves are in `solvers`, one module a policy; a compiled run calls the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import ClassVar, Literal

import msgspec
import numpy as np

from evenmatch.criteria.expansion import round_up
from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.shared.step_columns import StepColumns
from evenmatch.solvers.kernel import entry as entry_of
from evenmatch.solvers.matching.pairs import FIRST_VALUE, SIDE, TIME, Floats
from evenmatch.solvers.steps.skip_list import AXIS, NO_AXIS, REACH, link
from evenmatch.solvers.steps.waiting import (
    COUNTS,
    FLAG,
    FREE_TOP,
    NEWEST,
    NONE,
    NOTED,
    OLDEST,
    PARTNER,
    PRICE,
    SEQUENCE,
    SIZE,
    WAIT_MAX,
    WAKE,
    WEIGHT,
    YOUNGER,
    YOUNGEST,
    Ints,
    WaitingRoster,
    grow,
    make_waiting,
    take_slot,
)

SLOTS = 64
"""Room of a new pool; it doubles when it is full."""
PAIRS_A_TURN = 400_000
"""Pairs that those who come back after a restart are compared with at one instant."""
TURN = 0.05
"""Seconds between two such instants."""
SAMPLED = 256
"""Arrivals that a newcomer is compared with at the most, to learn from."""


class Steps(msgspec.Struct, frozen=True):
    """The step functions of one policy.

    Args:
        kind: What `solvers.steps.play` calls the policy.
        arrive: (waiting, slot, now): note a newcomer, whose values stand in the slot.
        come_back: The same for a ticket that has been here before.
        decide: (waiting, now, fired, out) -> number of matches, their slots in the rows of `out`.
        leave: (waiting, slot): let a ticket go that was not matched here.
        samples: How many of the last arrivals are remembered.
        learnt_numbers: Which numbers the steps change, beside parameters.
        look: The mark that says when a player looks around at all others; None if they never do.
        axis: In the order of which values slots are kept: those of the weightiest term, or those of
            a gate, so that nobody beyond it is looked at.
    """

    kind: int
    arrive: Callable[[WaitingRoster, int, float], None]
    come_back: Callable[[WaitingRoster, int, float], None]
    decide: Callable[[WaitingRoster, float, bool, Ints], int]
    leave: Callable[[WaitingRoster, int], None]
    samples: int = 1
    learnt_numbers: tuple[int, ...] = ()
    look: int | None = None
    axis: Literal["term", "gate"] | None = None


def make_pool(
    queue: Queue, columns: StepColumns, steps: Steps, numbers: Mapping[int, float]
) -> WaitingRoster:
    """Return an empty pool with a policy's parameters.

    Args:
        queue: Gives prices and deadlines.
        columns: The queue's rows.
        steps: The policy's.
        numbers: The parameters by place.
    """
    waiting = make_waiting(SLOTS, columns.table, steps.samples)
    known = waiting.numbers
    known[PRICE] = queue.price
    known[WAIT_MAX] = math.inf if queue.wait_max is None else queue.wait_max
    known[WEIGHT] = math.fsum(columns.table[0][:, 0].tolist())
    known[AXIS], known[REACH] = _axis(columns, steps)
    for place, number in numbers.items():
        known[place] = number
    return waiting


def _take_over(old: Floats, samples: Floats, noted: int) -> int:
    """Fill in what was sampled before a restart; return how many arrivals count as noted.

    An earlier version may have remembered more or fewer: then the newest stand first, by age.
    """
    if old.shape == samples.shape:
        samples[:] = old
        return noted
    known = min(noted, old.shape[1])
    newest = np.arange(noted - min(known, samples.shape[1]), noted) % old.shape[1]
    samples[:, : len(newest)] = old[:, newest]
    return len(newest)


def _axis(columns: StepColumns, steps: Steps) -> tuple[float, float]:
    """Return the row in whose order slots are kept, and how far apart two may be there."""
    terms, gates = columns.table[:2]
    if steps.axis == "term":
        # Without criteria all are alike, and the order is that of age.
        return float(FIRST_VALUE + terms[:, 0].argmax() if len(terms) else TIME), math.inf
    # Gates of equal values come first, and numbers keep more apart.
    closed = [gate for gate, width in enumerate(gates) if width < math.inf]
    if steps.axis is None or not closed:
        return NO_AXIS, math.inf
    return float(FIRST_VALUE + len(terms) + closed[-1]), float(gates[closed[-1]])


def check_solo(queue: Queue, policy: str, *, is_duel: bool) -> None:
    """Raise ConfigError unless a queue is one of single players, each a team of their own."""
    players = queue.format.players
    if max(players) > 1 or (is_duel and len(players) != 2):
        wanted = "one player against one" if is_duel else "teams of one player"
        shape = " against ".join(map(str, players))
        better = "rolling, or greedy" if max(players) > 1 else "group_price"
        raise ConfigError(
            f"policy {policy} is for {wanted}; queue {queue.name} has {shape}: choose {better}"
        )


def check_wait_price(queue: Queue, policy: str, instead: str = "") -> None:
    """Raise ConfigError if waiting costs nothing in a queue.

    Args:
        queue: As configured.
        policy: Its policy's name.
        instead: What else helps, for the message.
    """
    if queue.price == 0.0:
        raise ConfigError(
            f"policy {policy} weighs cost against waiting, and in queue {queue.name} waiting "
            f"costs nothing: set wait_price above 0{instead}"
        )


def check_without_rules(queue: Queue, policy: str) -> None:
    """Raise ConfigError if a queue has rules or sides."""
    if queue.rules or queue.format.strict_sides:
        which = "rules" if queue.rules else "sides"
        raise ConfigError(
            f"policy {policy} supports no rules or sides; queue {queue.name} has {which}: "
            f"choose {'price or window' if queue.format.is_duel else 'group_price or greedy'}"
        )


class SteppedPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A policy whose steps are compiled: it says which, and turns its parameters into numbers."""

    evaluations_max = (256, 2, 1)
    """Steps are compiled and not counted one by one: each ticket counts as if it looked at all."""
    name: ClassVar[str]
    compiled: ClassVar[Steps]

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher that calls the steps one by one."""
        del seed
        return StepMatcher(queue, self.name, self.compiled, self.numbers(queue), memory)

    def steps(self, queue: Queue) -> Steps:
        """Return the compiled steps."""
        del queue
        return self.compiled

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return the parameters of the steps by place; policies override this.

        Raises:
            ConfigError: A parameter is out of range, or the policy cannot work on this queue.
        """
        raise NotImplementedError


class StepMatcher(NoJobs):
    """Tickets in the slots of a pool.

    Args:
        queue: With all its rules.
        policy: The policy's name for messages.
        steps: The policy's.
        numbers: The policy's parameters by place.
        memory: What an earlier matcher knew.
    """

    def __init__(
        self,
        queue: Queue,
        policy: str,
        steps: Steps,
        numbers: Mapping[int, float],
        memory: Memory | None = None,
    ) -> None:
        self._columns = StepColumns(queue, policy)
        self._steps = steps
        self._take_slot, self._link = entry_of(take_slot), entry_of(link)
        self._arrive, self._decide = entry_of(steps.arrive), entry_of(steps.decide)
        self._leave = entry_of(steps.leave)
        self._waiting = make_pool(queue, self._columns, steps, numbers)
        self._seats = queue.format.k
        self._out = np.zeros((SLOTS, self._seats), dtype=np.int64)
        self._tickets: dict[int, Ticket] = {}
        self._slots: dict[str, int] = {}
        self._known: dict[int, list[float | None]] = {}
        # While tickets come back: the slots of those who have, and who waits for which partner.
        self.evaluations = 0
        self._recalled: dict[int, int] = {}
        # Who has come back since the last decision, and has to look around: slot and sequence.
        self._back: list[tuple[int, int]] = []
        self._expecting: dict[int, list[int]] = {}
        if memory:
            self._restore(memory)

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in; what an earlier matcher noted about it is taken over."""
        if isinstance(entry, OpenMatch):
            return
        counts = self._waiting.counts
        if counts[FREE_TOP] == 0:
            room = 2 * self._waiting.points.shape[1]
            self._waiting = grow(self._waiting, room)
            self._out = np.zeros((room, self._seats), dtype=np.int64)
        waiting = self._waiting
        self.evaluations += SAMPLED + len(self._tickets)
        points = waiting.points
        slot = int(self._take_slot(waiting, entry.sequence, entry.enqueued_at))
        points[SIDE, slot] = self._columns.side(entry)
        for row, value in enumerate(self._columns.row(entry), FIRST_VALUE):
            points[row, slot] = value
        self._link(points, waiting.links, waiting.numbers, waiting.counts, slot)
        self._tickets[slot] = entry
        self._slots[entry.id] = slot
        if entry.sequence > waiting.counts[NEWEST]:
            waiting.counts[NEWEST] = entry.sequence
            self._arrive(waiting, slot, entry.enqueued_at)
        elif entry.sequence in self._known:
            self._recall(entry.sequence, slot, now)
            return
        else:
            self._steps.come_back(waiting, slot, now)
        if entry.enqueued_at < now and self._steps.look is not None:
            self._back.append((slot, entry.sequence))

    def _take_turns(self, look: int, now: float) -> None:
        """Let those who have come back after a restart look around a few at a time.

        They looked at each other when they came, so there is hardly anything to find; and each look
        is at all who wait: a hundred thousand at one instant would take minutes.
        """
        marks, links = self._waiting.marks, self._waiting.links
        for count, (slot, sequence) in enumerate(self._back):
            turn = count * len(self._tickets) // PAIRS_A_TURN
            if turn and slot in self._tickets and links[SEQUENCE, slot] == sequence:
                marks[look, slot] = round_up(now + turn * TURN)
        self._back.clear()

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        slot = self._slots.pop(entry_id, None)
        if slot is not None:
            self.evaluations += len(self._tickets)
            self._leave(self._waiting, slot)
            ticket = self._tickets.pop(slot)
            self._columns.release(ticket)
            self._recalled.pop(ticket.sequence, None)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Let the steps make the matches of this instant."""
        self._end_return(now)
        if self._back and self._steps.look is not None:
            self._take_turns(self._steps.look, now)
        waiting, out = self._waiting, self._out
        self.evaluations += len(self._tickets) ** 2
        found = int(self._decide(waiting, now, fired, out))
        matches = []
        for row in out[:found].tolist():
            tickets = [self._tickets.pop(slot) for slot in row]
            for ticket in tickets:
                del self._slots[ticket.id]
                self._columns.release(ticket)
                self._recalled.pop(ticket.sequence, None)
            matches.append(Grouping(tuple(ticket.id for ticket in tickets)))
        return Decision(tuple(matches), float(waiting.numbers[WAKE]))

    def memory(self) -> Memory:
        """Return what was learnt from arrivals, and what is noted about each ticket."""
        marks, links, numbers = self._waiting.marks, self._waiting.links, self._waiting.numbers
        counts, samples = self._waiting.counts, self._waiting.samples
        tickets = []
        slot = int(counts[OLDEST])
        while slot != NONE:
            partner = int(links[PARTNER, slot])
            sequence = 0 if partner == NONE else int(links[SEQUENCE, partner])
            noted = [None if math.isinf(mark) else mark for mark in marks[:, slot].tolist()]
            tickets.append([int(links[SEQUENCE, slot]), int(links[FLAG, slot]), sequence, *noted])
            slot = int(links[YOUNGER, slot])
        return {
            "learnt": [float(numbers[place]) for place in self._steps.learnt_numbers],
            "counts": counts[:COUNTS].tolist(),
            # The last row is one to work in.
            "samples": samples[:-1].tolist(),
            "tickets": tickets,
        }

    def _restore(self, memory: Memory) -> None:
        numbers, counts = self._waiting.numbers, self._waiting.counts
        samples = self._waiting.samples
        for place, number in zip(self._steps.learnt_numbers, memory["learnt"], strict=True):
            numbers[place] = number
        kept = {place: counts[place] for place in (SIZE, OLDEST, YOUNGEST, FREE_TOP)}
        counts[:COUNTS] = memory["counts"]
        for place, count in kept.items():
            counts[place] = count
        counts[NOTED] = _take_over(np.asarray(memory["samples"]), samples[:-1], int(counts[NOTED]))
        self._known = {int(row[0]): row for row in memory["tickets"]}

    def _recall(self, sequence: int, slot: int, now: float) -> None:
        """Note about a ticket what the earlier matcher had noted; partners enter in any order."""
        marks, links = self._waiting.marks, self._waiting.links
        _, flag, partner, *noted = self._known.pop(sequence)
        links[FLAG, slot] = 1 if flag else 0
        marks[:, slot] = [math.inf if mark is None else mark for mark in noted]
        self._waiting.numbers[WAKE] = -math.inf  # whoever is due is found anew
        self._recalled[sequence] = slot
        if partner in self._recalled:
            links[PARTNER, slot] = self._recalled[int(partner or 0)]
        elif partner:
            self._expecting.setdefault(int(partner), []).append(sequence)
        for follower in self._expecting.pop(sequence, ()):
            if follower in self._recalled:
                links[PARTNER, self._recalled[follower]] = slot
        if not self._known:
            self._end_return(now)

    def _end_return(self, now: float) -> None:
        """Forget what was noted about tickets that did not come back: the steps go on now.

        Whoever was to play with one of them looks around again. And one that still comes, from a
        failed ready-check say, comes as if it were new: the others have gone on without it.
        """
        for followers in self._expecting.values():
            for slot in [self._recalled[each] for each in followers if each in self._recalled]:
                self._steps.come_back(self._waiting, slot, now)
        self._known.clear()
        self._recalled.clear()
        self._expecting.clear()
