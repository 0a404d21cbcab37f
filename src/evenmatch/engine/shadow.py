"""A shadow engine: what another policy would have done with the tickets of a journal.

The shadow is an engine of its own. It starts with the tickets that wait, and is handed the same
tickets, at the same instants, under the same ids; its matches are only counted. The server's
shadow hears of records as they become durable, `evenmatch replay --policy` reads them back. What
is counterfactual about it:

- A ticket that the live engine matched waits on in the shadow until the shadow matches it, or its
  deadline there. A player who was matched live cancels nothing afterwards, so the shadow cannot
  know whether they would have had the patience.
- Cancels count in both worlds where the ticket still waits.
- A player who was matched live and comes back while they still wait in the shadow stays there with
  their first ticket; the second one is counted as `merged`.
- Ratings are those that the live server knew; nobody plays the shadow's matches.
- Matches of the shadow are final at once, and nobody joins them later: ready-checks, servers,
  backfill, exclusive matches and silence answer live matches, which the shadow did not make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from evenmatch.criteria.objective import Objective
from evenmatch.engine.admission.admission import fits
from evenmatch.engine.admission.shard_limits import UNLIMITED
from evenmatch.engine.engine import Engine
from evenmatch.engine.matching.scheduler import Resolve
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.engine.state.state import Counters, Tables
from evenmatch.engine.state.stored_ratings import accepted_ticket
from evenmatch.errors import MatchmakingError, Refusal
from evenmatch.model.events import Accepted, Existing, Refused
from evenmatch.model.inputs import Advance, Cancel, Configure, Enqueue, Input, Update
from evenmatch.model.queue import Queue, Rule
from evenmatch.policies.hooks import rules_of

WAITING_MAX = 200_000
"""Tickets that may wait in a shadow; one that would need more is dropped."""


class ShadowDropped(Exception):
    """The shadow cannot go on; the text says why."""


class ShadowEngine:
    """The engine of a shadow, fed with the records of a journal.

    Args:
        start: The tables that it starts with, copied; not touched by anybody else any more.
        resolve: Makes a queue's policy.
        tell: Takes the records of the shadow itself.
    """

    def __init__(self, start: Tables, resolve: Resolve, tell: Callable[[Record], None]) -> None:
        self.merged = 0
        self.engine = Engine(resolve, shard="shadow", limits=UNLIMITED)
        self.engine.tables = _world(start, resolve)
        self.engine.resume(start.now)
        self._tell = tell

    def hear(self, record: Record) -> None:
        """Take a durable record of the live shard.

        Raises:
            ShadowDropped: The shadow cannot go on.
        """
        input_ = _translated(record)
        self._catch_up(record.input)
        if input_ is not None:
            self._step(input_)
        faults = self.engine.faults
        if faults:
            raise ShadowDropped(str(faults[0]))
        if len(self.engine.tables.waiting) > WAITING_MAX:
            raise ShadowDropped(f"more than {WAITING_MAX:,} tickets wait in it")

    def _catch_up(self, input_: Input) -> None:
        """Fire the timers due before a live input; those of its own instant if it is `Advance`."""
        now, is_advance = input_.now, isinstance(input_, Advance)
        while (at := self.engine.next_wakeup) < now or (is_advance and at == now):
            self._step(Advance(at))

    def _step(self, input_: Input) -> None:
        try:
            record = self.engine.step(input_)
        except Refusal:
            # A ticket that waits live and has a match in the shadow: too late there.
            return
        except MatchmakingError as error:
            raise ShadowDropped(str(error)) from error
        self.merged += sum(type(event) in (Existing, Refused) for event in record.events)
        self._tell(record)
        for running in self.engine.take_jobs():
            self._step(running.settle(running.solve(), input_.now))


def extract(tables: Tables) -> Tables:
    """Return the state from which a shadow starts, as a copy."""
    return Tables(
        now=tables.now,
        sequence=tables.sequence,
        seed=tables.seed,
        version=tables.version,
        queues=dict(tables.queues),
        paused=tables.paused,
        waiting=dict(tables.waiting),
        counters=Counters(accepted=tables.counters.accepted),
        recent={key: recent.copy() for key, recent in tables.recent.items()},
        met={group: dict(players) for group, players in tables.met.items()},
        played={group: played.copy() for group, played in tables.played.items()},
    )


def specs_of(queues: Mapping[str, Queue]) -> dict[str, str]:
    """Return the shadow policies by queue."""
    return {name: queue.shadow for name, queue in queues.items() if queue.shadow is not None}


def _translated(record: Record) -> Input | None:
    """Return what of a live record is an input of the shadow, too."""
    input_ = record.input
    if isinstance(input_, Enqueue):
        taken = [event for event in record.events if type(event) is Accepted]
        tickets = tuple(
            msgspec.structs.replace(
                accepted_ticket(input_.tickets[event.item], event), id=event.ticket
            )
            for event in taken
        )
        return Enqueue(input_.now, tickets) if tickets else None
    if isinstance(input_, Configure):
        queues = tuple(map(_shadowed, input_.queues))
        return msgspec.structs.replace(input_, queues=queues)
    if isinstance(input_, Cancel):
        return input_
    return input_ if isinstance(input_, Update) else None


def _world(start: Tables, resolve: Resolve) -> Tables:
    """Return the tables of the shadow's engine: everybody waits, under the shadow's policies.

    Who lacks what these compare has no part in the shadow. Nor have tickets of a proposal, which
    goes on under the settings that it began with, if the queues as they are now do not take them.
    """
    queues = {name: _shadowed(queue) for name, queue in start.queues.items()}
    objectives = {name: _objective(queue, resolve) for name, queue in queues.items()}
    waiting: dict[str, LiveTicket] = {}
    for row in start.waiting.values():
        known = [name for name in row.queues if name in queues]
        names = tuple([name for name in known if fits(row.ticket, objectives[name])])
        if names:
            waiting[row.ticket.id] = LiveTicket(row.ticket, names, row.changed)
    players: dict[str, dict[str, str]] = {}
    for row in waiting.values():
        group = players.setdefault(queues[row.queues[0]].group, {})
        group.update((player.id, row.ticket.id) for player in row.ticket.players)
    ended = start.counters.accepted - len(waiting)
    return msgspec.structs.replace(
        start,
        queues=queues,
        waiting=waiting,
        players=players,
        counters=Counters(accepted=start.counters.accepted, matched=ended),
    )


def _objective(queue: Queue, resolve: Resolve) -> Objective:
    """Return what a queue compares, its policy's own rules included."""
    rules: tuple[Rule, ...] = ()
    # A policy that cannot work at all is reported when the shadow first hears a record.
    with suppress(MatchmakingError):
        rules = rules_of(resolve(queue), queue)
    return Objective(msgspec.structs.replace(queue, rules=queue.rules + rules))


def _shadowed(queue: Queue) -> Queue:
    """Return a queue as the shadow plays it."""
    return msgspec.structs.replace(
        queue,
        policy=queue.policy if queue.shadow is None else queue.shadow,
        accept=None,
        exclusive_match=False,
        silent_after=None,
        backfill=None,
        allocation=None,
        rating=None,
        rating_period=None,
    )
