"""The promises about recovery from a memory that is not of this very instant.

A memory is as old as the last snapshot, which may lie tens of thousands of records back: tickets
that it knows have left, others have come, and its instants have passed. It may be newer, too, where
a queue goes back to what its journal holds. What was learnt may be lost; nobody who waits may be.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import fmean
from typing import TypeAlias

from msgspec.structs import replace

from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Memory
from evenmatch.testing.play import Case, DecidedMatch, Play, PromiseGuard
from evenmatch.testing.policy_promises import AFTER_THE_END, as_saved, instants, restart
from evenmatch.testing.scripts import Script, Step, draw_ticket, time_unit

RESTARTS = 0.15
"""How often a restart comes between two steps."""
STREAM = 120
"""Tickets of a stream, on which the pace is looked at."""
TAKEN_AT = (0.15, 0.95)
"""Parts of the stream after which the older and the newer memory are taken."""
RESTORED_AT = 0.4
"""Part of the stream after which a matcher is restored with one of them."""
LOOKED_AT = (0.6, 0.9)
"""Parts of the stream whose tickets show the pace, long after that."""
PACE_SLACK = 2.0
"""Mean waits may differ by this factor, and by as many pauses for each seat of a match."""

_Check: TypeAlias = Callable[[Case], None]
OLD = "with a memory older or newer than the pool, a matcher goes on and forgets nobody"
PACE = "with a memory older or newer than the pool, a matcher comes back to its pace"


def _forgets_nobody(case: Case) -> None:
    known = _Remembering(case)
    known.run()
    # One that is newer may hold back whom it knows to have met already; it may only not fail.
    _Outdated(case, known.memories, is_newer=True).run()
    play = _Outdated(case, known.memories, is_newer=False)
    play.run()
    _wait(play)
    _ask_again(play)
    left, until = tuple(play.waiting.values()), play.now
    if not (missed := _missed(play)):
        return
    # Some policies hold people back on purpose: then those who are left would be had they met
    # nobody else, and no restart.
    steps = tuple([Step(ticket.enqueued_at, (ticket,)) for ticket in sorted(left, key=_age)])
    alone = Play(case, Script(steps, until))
    if alone.run():
        case.broken(OLD, f"a matcher without any memory made {missed[0]}, but not this one")


def _wait(play: Play) -> None:
    """Let time pass after the script."""
    play.script = Script((), play.now + AFTER_THE_END)
    play.run()


def _ask_again(play: Play) -> None:
    """Let somebody look in and go as long as there are matches: some policies make one a change."""
    case, made, now = play.case, -1, play.now
    number = 1 + max([ticket.sequence for ticket in play.waiting.values()], default=0)
    while made < len(play.made):
        made = len(play.made)
        ghost = draw_ticket(play.rng, case.queue, case.objective.queue.rules, number, now)
        ghost = replace(ghost, id=f"ghost{number}")
        play.enter(ghost, now)
        play.leave(ghost.id, now)
        del play.left[ghost.id]
        play.decide(now, fired=False)
        number += 1


def _missed(play: Play) -> list[DecidedMatch]:
    """Return what a new matcher without a memory makes of those who are left."""
    made = len(play.made)
    _restore(play, {}, play.now)
    play.fire(play.now)
    _wait(play)
    return play.made[made:]


def _restore(play: Play, memory: Memory, now: float) -> None:
    restart(play, play.promise, now, memory)


def _age(ticket: Ticket) -> tuple[float, int]:
    return ticket.age_key


class _Remembering(Play):
    """Everything is as always; all memories are kept."""

    promise = OLD

    def __init__(self, case: Case, script: Script | None = None) -> None:
        super().__init__(case, script)
        self.memories: list[tuple[float, Memory]] = []

    def between(self, until: float) -> None:
        with PromiseGuard(self.case, self.promise, "memory()"):
            self.memories.append((self.now, as_saved(self.matcher.memory())))


class _Outdated(Play):
    """New matchers take over with memories of other instants."""

    promise = OLD

    def __init__(self, case: Case, memories: list[tuple[float, Memory]], *, is_newer: bool) -> None:
        super().__init__(case)
        self.known = memories
        self.is_newer = is_newer
        self.tampers_until = case.script.until

    def between(self, until: float) -> None:
        if self.now >= self.tampers_until or self.rng.random() >= RESTARTS:
            return
        now = self.rng.choice(instants(self.now, until))
        fitting = [memory for at, memory in self.known if self.is_newer == (at > now)]
        if not fitting:
            return
        _restore(self, self.rng.choice(fitting), now)
        self.now = now
        # As after a recovery, when every queue is due.
        self.fire(now)


def check_pace(case: Case) -> None:
    """Raise AssertionError if waits are others for good after a recovery with another memory."""
    stream = _stream(case)
    plain = _Remembering(case, stream)
    plain.promise = PACE
    plain.run()
    usual, slack = _wait_in(plain), PACE_SLACK * case.queue.format.k * _pause(case)
    for part in TAKEN_AT:
        memory = _memory_at(plain, part)
        play = _Recovered(case, stream, memory)
        play.run()
        found = _wait_in(play)
        if max(found, usual) > PACE_SLACK * min(found, usual) + slack:
            what = "an older" if part < RESTORED_AT else "a newer"
            case.broken(
                PACE,
                f"tickets that came long after a recovery with {what} memory waited {found:.3g} s, "
                f"and {usual:.3g} s without one",
            )


class _Recovered(Play):
    """One recovery, in the middle of a stream."""

    promise = PACE

    def __init__(self, case: Case, script: Script, memory: Memory) -> None:
        super().__init__(case, script)
        self._memory: Memory | None = memory

    def between(self, until: float) -> None:
        if self._memory is not None and self.now >= RESTORED_AT * self.script.steps[-1].at:
            memory, self._memory = self._memory, None
            _restore(self, memory, self.now)
            self.fire(self.now)


def _pause(case: Case) -> float:
    return time_unit(case.queue, case.objective.queue.rules)


def _stream(case: Case) -> Script:
    """Return tickets that come one by one, each after an equal pause."""
    rng, rules, pause = random.Random(case.seed), case.objective.queue.rules, _pause(case)
    steps = [
        Step(number * pause, (draw_ticket(rng, case.queue, rules, number, number * pause),))
        for number in range(1, STREAM + 1)
    ]
    return Script(tuple(steps), (STREAM + 1) * pause)


def _memory_at(play: _Remembering, part: float) -> Memory:
    at = part * play.script.steps[-1].at
    return min(play.memories, key=lambda known: abs(known[0] - at))[1]


def _wait_in(play: Play) -> float:
    """Return the mean wait of the tickets that show the pace; who still waits has till the end."""
    first, last = (int(part * STREAM) for part in LOOKED_AT)
    gone = {name: made.at for made in play.made for name in made.tickets}
    tickets = [ticket for step in play.script.steps[first:last] for ticket in step.enters]
    end = play.script.until
    return fmean([gone.get(ticket.id, end) - ticket.enqueued_at for ticket in tickets])


MEMORY_PROMISES: dict[str, _Check] = {OLD: _forgets_nobody}
"""Sentence -> the function that tries to break it, in the order in which they are tried."""
