"""The promises of a policy, each a function that tries to break it.

`evenmatch.testing.policies` runs them; `play.py` drives the matcher and checks every match.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import msgspec

from evenmatch.criteria.expansion import TICKS
from evenmatch.model.ticket import Ticket, Value
from evenmatch.policies.base import Decision, Memory
from evenmatch.policies.hooks import evaluations_limit, hook_value
from evenmatch.testing.play import LEFT, LEGAL, Case, DecidedMatch, Play, PromiseGuard
from evenmatch.testing.scripts import Script, draw_crowds

SHIFT_BY = 4096.0
AFTER_THE_END = 1000.0
"""Seconds for which a policy that waits for nothing is still asked."""

_Check: TypeAlias = Callable[[Case], None]
PROMISES: dict[str, _Check] = {}
"""Sentence -> the function that tries to break it, in the order in which they are tried."""


def _promise(sentence: str) -> Callable[[_Check], _Check]:
    def keep(check: _Check) -> _Check:
        PROMISES[sentence] = check
        return check

    return keep


@_promise(LEGAL)
def _is_legal(case: Case) -> None:
    case.made = Play(case).run()


@_promise(LEFT)
def _lets_go(case: Case) -> None:
    _Leaving(case).run()


class _Leaving(Play):
    """Anyone may leave at any time, sometimes everyone at once."""

    promise = LEFT

    def between(self, until: float) -> None:
        if self.waiting and self.rng.random() < 0.3:
            now = self.rng.choice(instants(self.now, until))
            everyone = list(self.waiting)
            count = len(everyone) if self.rng.random() < 0.2 else 1
            for ticket_id in self.rng.sample(everyone, count):
                self.leave(ticket_id, now)
            self.now = now
            self.decide(now, fired=False)


EQUAL = "equal calls and seed give equal results"


@_promise(EQUAL)
def _is_deterministic(case: Case) -> None:
    first, second = Play(case), Play(case)
    case.expect_same(EQUAL, first.run(), "a second run")
    case.expect_same(EQUAL, second.run(), "a third run")
    for one, other in zip(first.said, second.said, strict=True):
        if one != other:
            case.broken(EQUAL, f"{_called(one)}, and the next time {_called(other)}")


HOOKS = "what it says beside its decisions is of the kind that is documented, and changes no match"


@_promise(HOOKS)
def _says_what_is_documented(case: Case) -> None:
    policy = case.policy
    for hook, kind in (("held_back", str), ("in_rounds", bool), ("serves_overdue", bool)):
        if not isinstance(value := hook_value(policy, hook), kind):
            case.broken(HOOKS, f"{hook} is {value!r:.80}, not of type {kind.__name__}")
    horizon = hook_value(policy, "horizon")
    if not (isinstance(horizon, int | float) and horizon >= 0.0):
        case.broken(HOOKS, f"horizon is {horizon!r:.80}, not seconds >= 0")
    with PromiseGuard(case, HOOKS, "is_wide(1500.0, 1700.0)"):
        if not isinstance(value := hook_value(policy, "is_wide")(1500.0, 1700.0), bool):
            case.broken(HOOKS, f"is_wide said {value!r:.80}, not True or False")
    case.expect_same(HOOKS, _Asked(case).run(), "asking its hooks after each decision")


class _Asked(Play):
    """Somebody asks after each decision when matches will start, and when rounds begin."""

    promise = HOOKS

    def decided(self, now: float, fired: bool, decision: Decision) -> None:
        with PromiseGuard(self.case, HOOKS, f"starts() at {now}"):
            starts = dict(hook_value(self.matcher, "starts")())
        for ticket_id, at in starts.items():
            if ticket_id not in self.waiting:
                self.case.broken(
                    HOOKS, f"starts() at {now} names {ticket_id!r}, which does not wait"
                )
            if not isinstance(at, int | float) or math.isnan(at):
                self.case.broken(HOOKS, f"starts() at {now} says {at!r:.80}, not an instant")
        for ticket_id in self.waiting:
            with PromiseGuard(self.case, HOOKS, f"promise({ticket_id!r}, {now})"):
                promise = hook_value(self.matcher, "promise")(ticket_id, now)
            if promise is not None and not now <= promise.expected <= promise.latest:
                self.case.broken(HOOKS, f"at {now} it promised {ticket_id} the round {promise}")


TWICE = "a second decide at the same instant is empty and says the same wake_at"


@_promise(TWICE)
def _decides_once(case: Case) -> None:
    case.expect_same(TWICE, _Twice(case).run(), "asking twice at each instant")


class _Twice(Play):
    """Each call comes twice."""

    promise = TWICE

    def decided(self, now: float, fired: bool, decision: Decision) -> None:
        again = self.ask(now, fired)
        if found := found_in(again):
            self.case.broken(TWICE, f"the second decide({now}, fired={fired}) {found}")
        if again.wake_at != decision.wake_at:
            one, other = (now, fired, decision.wake_at), (now, fired, again.wake_at)
            self.case.broken(TWICE, f"{_called(one)}, and then {_called(other)}")


TIMER = "no match waits for somebody else to ask: before wake_at there is nothing to do"


@_promise(TIMER)
def _keeps_timers(case: Case) -> None:
    _Impatient(case).run()


class _Impatient(Play):
    """Somebody asks whether anything is due, all the time before wake_at."""

    promise = TIMER

    def between(self, until: float) -> None:
        for now in instants(self.now, until):
            promised = self.wake_at
            decision = self.ask(now, fired=True)
            if found := found_in(decision):
                self.case.broken(
                    TIMER, f"asked at {now} s it {found}, though its wake_at was {promised}"
                )


EXTRA = "extra calls of decide change nothing"


@_promise(EXTRA)
def _ignores_extra_calls(case: Case) -> None:
    case.expect_same(EXTRA, _Extra(case).run(), "an extra call of decide")


class _Extra(Play):
    """Calls with `fired=False` up to the very next instant, and `fired=True` after inputs."""

    promise = EXTRA

    def between(self, until: float) -> None:
        calls = [(self.now, False), (self.now, True)]
        times = instants(self.now, until)[1:]
        calls += [(now, False) for now in times if self.rng.random() < 0.7]
        if until < self.script.until:
            calls.append((until, False))
        for now, fired in calls:
            decision = self.ask(now, fired)
            if found := found_in(decision):
                self.case.broken(EXTRA, f"an extra decide({now}, fired={fired}) {found}")


SHIFT = "shifting all times shifts the matches and changes nothing else"


@_promise(SHIFT)
def _shifts(case: Case) -> None:
    steps = tuple(
        msgspec.structs.replace(
            step,
            at=step.at + SHIFT_BY,
            enters=tuple(
                msgspec.structs.replace(ticket, enqueued_at=ticket.enqueued_at + SHIFT_BY)
                for ticket in step.enters
            ),
        )
        for step in case.script.steps
    )
    shifted = Play(case, Script(steps, case.script.until + SHIFT_BY)).run()
    back = [msgspec.structs.replace(made, at=made.at - SHIFT_BY) for made in shifted]
    case.expect_same(SHIFT, back, f"{SHIFT_BY:g} s more on every clock")


LABEL = "other ids of tickets and players change nothing"


@_promise(LABEL)
def _ignores_ids(case: Case) -> None:
    old: dict[str, str] = {}

    def relabel(ticket: Ticket) -> Ticket:
        players = tuple(
            msgspec.structs.replace(
                player, id=_mirrored(player.id), attributes=_relabelled(player.attributes)
            )
            for player in ticket.players
        )
        name = _mirrored(ticket.id)
        old[name] = ticket.id
        return msgspec.structs.replace(ticket, id=name, players=players)

    steps = tuple(
        msgspec.structs.replace(step, enters=tuple(relabel(ticket) for ticket in step.enters))
        for step in case.script.steps
    )
    found = Play(case, Script(steps, case.script.until)).run()
    back = [
        DecidedMatch(made.at, tuple(old[name] for name in made.tickets), made.bots)
        for made in found
    ]
    case.expect_same(LABEL, back, "naming the tickets in the reverse order")


RESTORE = "a matcher restored half-way gives the same rest"


@_promise(RESTORE)
def _restores(case: Case) -> None:
    case.expect_same(RESTORE, _Restored(case).run(), "a restart")


class _Restored(Play):
    """New matchers take over, with what the old one's memory says after a trip through JSON."""

    promise = RESTORE

    def between(self, until: float) -> None:
        if self.rng.random() < 0.6:
            return
        now = self.rng.choice(instants(self.now, until))
        restart(self, RESTORE, now)
        if found := found_in(self.ask(now, fired=True)):
            self.case.broken(RESTORE, f"restored at {now} s it {found} at once")


def restart(play: Play, promise: str, now: float, known: Memory | None = None) -> None:
    """Let a new matcher take over; a job that runs is forgotten.

    Args:
        play: What is played.
        promise: Is broken if that fails.
        now: The present instant.
        known: What the new matcher is to remember; None: what the old one does.
    """
    case = play.case
    with PromiseGuard(case, promise, "making a new matcher with memory()"):
        memory = as_saved(play.matcher.memory() if known is None else known)
        play.matcher = case.policy.matcher(play.queue, seed=case.seed, memory=memory)
    play.forget_job()
    for ticket in sorted(play.waiting.values(), key=lambda ticket: ticket.age_key):
        play.enter(ticket, now)


def as_saved(memory: Memory) -> Memory:
    """Return a memory after a trip through JSON."""
    found: Memory = msgspec.json.decode(msgspec.json.encode(memory))
    return found


def found_in(decision: Decision) -> str:
    """Return what a decision does, "" if it does nothing.

    >>> found_in(Decision((Grouping(("a", "b")),)))
    'matched a+b'
    """
    if decision.matches:
        return f"matched {'+'.join(decision.matches[0].tickets)}"
    return "asked for a job" if decision.job is not None else ""


def instants(now: float, until: float) -> list[float]:
    """Return instants from `now` on, the first and last possible ones before `until` among them.

    >>> instants(0.0, 4.0)[::2]
    [0.0, 1.0, 3.9999990463256836]
    """
    end = until if until < math.inf else now + AFTER_THE_END
    tick = 1 / TICKS
    found = [now, now + tick, now + (end - now) / 4, now + (end - now) / 2, end - tick]
    return sorted({at for at in found if now <= at < until})


def _mirrored(name: str) -> str:
    """Return an id of another look that sorts the other way round."""
    return "id" + "".join(chr(ord("~") - ord(letter) + ord("!")) for letter in name)


def _relabelled(attributes: dict[str, Value]) -> dict[str, Value]:
    """Return attributes with other ids in maps and sets; other words there are renamed alike."""
    return {name: _renamed(value) for name, value in attributes.items()}


def _renamed(value: Value) -> Value:
    if isinstance(value, dict):
        return {_mirrored(other): number for other, number in value.items()}
    if isinstance(value, tuple):
        return tuple(sorted(map(_mirrored, value)))
    return value


def _called(said: tuple[float, bool, float]) -> str:
    now, fired, wake_at = said
    return f"decide({now}, fired={fired}) returned wake_at {wake_at}"


# The promise about work: no call evaluates more than the policy declares, whoever waits.

BOUND = "a call makes no more evaluations than the policy declares"


def check_evaluations(case: Case) -> None:
    """Raise AssertionError if a call on a crowd of the queue makes more than is declared."""
    rules = case.objective.queue.rules
    for what, script in draw_crowds(case.queue, rules, case.seed):
        run = _Counted(case, script, what)
        if run.run() and not run.count():
            case.broken(BOUND, f"on {what} it made matches and counted no evaluations")


class _Counted(Play):
    """Each call of the matcher is held to the declared number.

    Args:
        case: What is played.
        script: A crowd.
        what: What the crowd is called.
    """

    promise = BOUND

    def __init__(self, case: Case, script: Script, what: str) -> None:
        super().__init__(case, script)
        self.what = what

    def count(self) -> int:
        """Return what the matcher has evaluated."""
        found = getattr(self.matcher, "evaluations", None)
        if not isinstance(found, int):
            self.case.broken(BOUND, f"its matcher counts no evaluations, got {found!r:.80}")
        return found

    def enter(self, ticket: Ticket, now: float) -> None:
        """Let a ticket wait."""
        with self._held(f"enter({ticket.id}, {now})", 1):
            super().enter(ticket, now)

    def leave(self, ticket_id: str, now: float) -> None:
        """Take a waiting ticket out."""
        with self._held(f"leave({ticket_id!r}, {now})", 0):
            super().leave(ticket_id, now)

    def ask(self, now: float, fired: bool) -> Decision:
        """Call `decide`."""
        with self._held(f"decide({now}, fired={fired})", 0):
            return super().ask(now, fired)

    def settle(self, now: float) -> None:
        """Hand in a plan."""
        with self._held(f"settle at {now}", 0):
            super().settle(now)

    @contextmanager
    def _held(self, call: str, entering: int) -> Iterator[None]:
        before, waiting = self.count(), len(self.waiting) + entering
        yield
        spent, most = self.count() - before, evaluations_limit(self.case.policy, waiting)
        if most is not None and not 0 <= spent <= most:
            self.case.broken(
                BOUND,
                f"on {self.what}, {call} with {waiting} waiting made {spent:,} evaluations, "
                f"and {most:,} are declared",
            )
