"""Compares the policies of a switchback: folds durable records into sums by block.

A ticket counts for the policy in whose block it came, unless it came in the trimmed first part of
the block, where it met the pool that the policy before had left. A ticket that the next policy
matches still counts for its own: leaving it out would favour policies that let people wait. The
blocks of one round are compared with each other, so that a busy evening counts for all alike; the
interval is Student's, over the rounds.

Figures begin anew with the server and with other blocks or policies.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Sequence

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import LifecycleView, MatchWithTickets
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.forecast.student import student_t
from evenmatch.model.events import Cancelled, Expired, Voided
from evenmatch.model.inputs import Configure
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue, Switchback
from evenmatch.wire.operate import ArmFigures, SwitchbackStats

BLOCKS_MAX = 20_000
"""Blocks kept of a queue; the oldest are forgotten."""


class _Block(msgspec.Struct):
    """The sums of the tickets that came in one block."""

    tickets: int = 0
    players: int = 0
    wait: float = 0.0
    rated: int = 0
    quality: float = 0.0
    expired: int = 0


class _WaitingTicket(msgspec.Struct, frozen=True, gc=False):
    """A waiting ticket and the blocks that it counts for."""

    enqueued_at: float
    size: int
    blocks: tuple[tuple[str, int], ...]


class Switchbacks(LifecycleView):
    """Counts, from durable records, for each queue whose policies take turns."""

    def __init__(self) -> None:
        self._turns: dict[str, Switchback] = {}
        self._blocks: dict[str, dict[int, _Block]] = {}
        self._since: dict[str, float] = {}
        self._known: dict[str, _WaitingTicket] = {}
        # Of matches that may be called off yet, what their tickets counted for.
        self._counted: dict[str, list[tuple[str, _WaitingTicket, tuple[_Block, ...]]]] = {}

    def began(self, engine: Engine, live: Collection[LiveTicket]) -> None:
        """Go on with this engine; earlier counts are kept."""
        self._configure(tuple(engine.tables.queues.values()), engine.tables.now)
        waiting = {row.ticket.id for row in live}
        self._known = {at: ticket for at, ticket in self._known.items() if at in waiting}

    def configured(
        self, record: Record, configuration: Configure, live: Collection[LiveTicket]
    ) -> None:
        """Start over for queues with other blocks or policies."""
        del record, live
        self._configure(configuration.queues, configuration.now)

    def of(self, queue: str, now: float) -> SwitchbackStats | None:
        """Return how the policies of a queue compare; `now` is engine time."""
        turns = self._turns.get(queue)
        if turns is None:
            return None
        present = block_at(turns, now)
        arms = [
            _Arm(queue, turns, self._blocks[queue], self._whole(queue, turns, present), arm)
            for arm in range(len(turns.policies))
        ]
        policy = turns.policies[arm_of(turns, present, queue)]
        rounds = len(arms[0].rounds)
        ends = (present + 1) * turns.block
        return SwitchbackStats(policy, ends, rounds, tuple(arm.figures(arms[0]) for arm in arms))

    def _whole(self, queue: str, turns: Switchback, present: int) -> list[int]:
        """Return the rounds of blocks that are over and were seen from their beginning."""
        count = len(turns.policies)
        first = math.ceil(self._since[queue] / turns.block / count)
        kept = self._blocks[queue]
        oldest = min(kept, default=0) // count + (len(kept) >= BLOCKS_MAX)
        return list(range(max(first, oldest), present // count))

    def _configure(self, queues: Sequence[Queue], now: float) -> None:
        turns = {queue.name: queue.switchback for queue in queues if queue.switchback is not None}
        for name, each in turns.items():
            if self._turns.get(name) != each:
                self._blocks[name] = {}
                self._since[name] = now
                self._forget(name)
        self._turns = turns

    def _forget(self, queue: str) -> None:
        """Forget for which blocks of a queue tickets count that wait now: those sums are gone."""
        kept = {}
        for ticket_id, ticket in self._known.items():
            blocks = tuple([at for at in ticket.blocks if at[0] != queue])
            if blocks:
                kept[ticket_id] = msgspec.structs.replace(ticket, blocks=blocks)
        self._known = kept

    def entered(self, record: Record, row: LiveTicket) -> None:
        """Let a ticket count for the present block of each of its queues."""
        if not self._turns:
            return
        now, found = record.input.now, []
        for name in row.queues:
            turns = self._turns.get(name)
            if turns is None:
                continue
            number = block_at(turns, now)
            if now - number * turns.block >= turns.trim * turns.block:
                found.append((name, number))
                self._block(name, number).tickets += 1
        if found:
            self._known[row.ticket.id] = _WaitingTicket(now, row.ticket.size, tuple(found))

    def matched(self, record: Record, made: MatchWithTickets) -> None:
        """Count a match for those of its tickets that count for blocks."""
        del record
        if not self._known:
            return
        tickets = []
        for ticket_id in made.match.tickets:
            ticket = self._known.pop(ticket_id, None)
            if ticket is not None:
                blocks = tuple([self._block(*at) for at in ticket.blocks])
                tickets.append((ticket_id, ticket, blocks))
                _add(made.match, ticket, blocks, 1)
        if tickets:
            self._counted[made.match.id] = tickets

    def settled(self, record: Record, made: MatchWithTickets) -> None:
        """Let a match count for good."""
        del record
        self._counted.pop(made.match.id, None)

    def voided(self, record: Record, event: Voided, made: list[MatchWithTickets]) -> None:
        """Take back a voided match; its tickets count for their blocks again."""
        del record
        sizes = {ticket.id: ticket.size for ticket in event.tickets}
        for each in made:
            for ticket_id, known, blocks in self._counted.pop(each.match.id, ()):
                _add(each.match, known, blocks, -1)
                kept = tuple(
                    (name, number)
                    for (name, number), block in zip(known.blocks, blocks, strict=True)
                    if self._blocks[name].get(number) is block
                )
                if ticket_id in sizes and kept:
                    # Without those of its players who have left the match.
                    self._known[ticket_id] = _WaitingTicket(
                        known.enqueued_at, sizes[ticket_id], kept
                    )

    def ended(self, record: Record, row: LiveTicket, event: Cancelled | Expired) -> None:
        """Count a ticket that expired; one that was taken back counts for nothing."""
        del record
        ticket = self._known.pop(row.ticket.id, None)
        if ticket is not None and type(event) is Expired:
            for name, number in ticket.blocks:
                if name in self._turns:
                    self._block(name, number).expired += 1

    def _block(self, queue: str, number: int) -> _Block:
        blocks = self._blocks[queue]
        block = blocks.get(number)
        if block is None:
            block = blocks[number] = _Block()
            if len(blocks) > BLOCKS_MAX:
                del blocks[min(blocks)]
        return block


def _add(match: Match, ticket: _WaitingTicket, blocks: Sequence[_Block], sign: int) -> None:
    """Add a matched ticket to the sums of its block in the match's queue, or take it away."""
    players = sign * ticket.size
    for (name, _), block in zip(ticket.blocks, blocks, strict=True):
        if name == match.queue:
            block.players += players
            block.wait += (match.at - ticket.enqueued_at) * players
            if match.quality is not None:
                block.rated += players
                block.quality += match.quality * players


class _Arm:
    """One policy of a queue, over the whole rounds."""

    def __init__(
        self,
        queue: str,
        turns: Switchback,
        blocks: dict[int, _Block],
        rounds: list[int],
        arm: int,
    ) -> None:
        count = len(turns.policies)
        self.policy = turns.policies[arm]
        self.rounds = [
            next(
                blocks.get(block, _Block())
                for block in range(each * count, (each + 1) * count)
                if arm_of(turns, block, queue) == arm
            )
            for each in rounds
        ]

    def figures(self, first: _Arm) -> ArmFigures:
        """Return the figures, beside those of the first policy."""
        rounds = self.rounds
        players, rated = sum(b.players for b in rounds), sum(b.rated for b in rounds)
        waits = [(_ratio(b.wait, b.players)) for b in rounds]
        qualities = [(_ratio(b.quality, b.rated)) for b in rounds]
        base = [_ratio(b.wait, b.players) for b in first.rounds]
        base_qualities = [_ratio(b.quality, b.rated) for b in first.rounds]
        none = (None, None)
        return ArmFigures(
            self.policy,
            len(rounds),
            sum(b.tickets for b in rounds),
            players,
            _ratio(sum(b.wait for b in rounds), players),
            _ratio(sum(b.quality for b in rounds), rated),
            sum(b.expired for b in rounds),
            *(none if first is self else _difference(waits, base)),
            *(none if first is self else _difference(qualities, base_qualities)),
        )


def _difference(
    mine: Sequence[float | None], base: Sequence[float | None]
) -> tuple[float | None, float | None]:
    """Return the mean of paired differences and half the width of its 95 % interval."""
    pairs = zip(mine, base, strict=True)
    gaps = [a - b for a, b in pairs if a is not None and b is not None]
    if not gaps:
        return None, None
    count = len(gaps)
    mean = math.fsum(gaps) / count
    if count < 2:
        return mean, None
    variance = math.fsum((gap - mean) ** 2 for gap in gaps) / (count - 1)
    return mean, student_t(count - 1) * math.sqrt(variance / count)


def _ratio(total: float, count: int) -> float | None:
    return total / count if count else None


# Whose turn it is in a switchback: a function of engine time, so a restart changes nothing.
#
# Blocks are counted from the shard's birth. Each round of blocks has every policy once, in an
# order drawn from the seed, so no policy gets the evenings for itself and none has more blocks
# than others.


def block_at(switchback: Switchback, now: float) -> int:
    """Return the number of the block at an instant of engine time, from 0."""
    return math.floor(now / switchback.block)


def arm_of(switchback: Switchback, block: int, name: str) -> int:
    """Return which policy has a block, as its index among the policies.

    Args:
        switchback: The policies.
        block: Number of the block.
        name: The queue's; two queues with one seed have different orders.

    >>> turns = Switchback(("greedy", "patient"), seed=3)
    >>> [arm_of(turns, block, "duel") for block in range(8)]
    [1, 0, 1, 0, 0, 1, 1, 0]
    """
    count = len(switchback.policies)
    of_round, place = divmod(block, count)

    def drawn(arm: int) -> bytes:
        return hashlib.sha256(f"{switchback.seed}/{name}/{of_round}/{arm}".encode()).digest()

    return sorted(range(count), key=drawn)[place]


def with_current_policies(queues: Iterable[Queue], now: float) -> tuple[Queue, ...]:
    """Return queues with the policies whose turn it is at an instant of engine time."""
    found = []
    for queue in queues:
        turns = queue.switchback
        if turns is not None:
            policy = turns.policies[arm_of(turns, block_at(turns, now), queue.name)]
            queue = msgspec.structs.replace(queue, policy=policy)
        found.append(queue)
    return tuple(found)


def next_turn(queues: Iterable[Queue], now: float) -> float:
    """Return the next instant at which a block ends; inf without a switchback."""
    ends = [
        (block_at(queue.switchback, now) + 1) * queue.switchback.block
        for queue in queues
        if queue.switchback is not None
    ]
    return min(ends, default=math.inf)
