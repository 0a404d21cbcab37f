"""The contract between the engine and a policy: `Policy`, `Matcher`, `Decision`, `Job`, `@policy`.

A **policy** is frozen parameters plus the algorithm. A **matcher** is the policy at work on one
queue: its private index and memory. The engine tells a matcher who enters and leaves, and asks it
to decide:

- after every input that changed the pool, with `fired=False`: an instant equal to `now` is not
  yet due, because more arrivals may share it, and `wake_at` may equal `now`;
- when the instant `wake_at` or a deadline has come, with `fired=True`: every instant <= now is
  due, and `wake_at` must be later than `now`.

`enter` and `leave` only update memory. `decide` and `settle` are the only sources of matches; the
entries that they match have left when they return. A matcher is restored by making a new one with
`memory` and entering the waiting tickets in order, so a matcher must not depend on anything else.

What takes long is a **job**: copied arrays that the matcher hands over with a decision, solved by
whoever drives the engine, in threads or at once, while tickets come and go.

- The policy says `jobs = True`. A decision may ask for a job only with `fired=True`, while none of
  the matcher's runs, and once at an instant: a second job then is refused, so rounds that fall due
  meanwhile are skipped, and whoever wants to ask again at once says a `wake_at` after `now`.
- `settle` gets the plan as if by an input, so as after `decide` with `fired=False`: no bots, no
  new job, and `wake_at` may be `now`. Of the plan the engine has left only matches whose tickets
  still wait here and which the rules allow now; those may be played without another look, and an
  empty plan still says that the job is over. Every job is settled once, however late, unless the
  matcher is replaced. A result with another number is nobody's: it changes nothing.
- A job that runs is no memory: a restored matcher has none, and asks again when it is due to.

`evenmatch.testing.check_policy` proves all this for any policy.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, overload, runtime_checkable

import msgspec

from evenmatch.errors import ConfigError, PolicyError
from evenmatch.model.checks import is_in, range_of
from evenmatch.model.fields import RoundTime
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.round_clock import RoundClock

Memory = Mapping[str, Any]
"""Plain data (numbers, strings, lists, dicts) that entering the tickets again cannot restore."""


class Grouping(msgspec.Struct, frozen=True, gc=False):
    """One match of a decision: ticket ids in any order, and bots.

    A policy may also give the teams; otherwise the engine divides the tickets into teams. `extends`
    is None: the engine itself fills running matches.
    """

    tickets: tuple[str, ...]
    bots: int = 0
    extends: str | None = None
    teams: tuple[tuple[str, ...], ...] | None = None


class JobResult(msgspec.Struct, frozen=True):
    """The plan that a job found.

    Args:
        number: The job's.
        matches: Groups of ticket ids that may be played as soon as the plan is there.
        data: Plain data for the matcher alone, which the engine journals and hands on unread:
            matches that may be played later, say, or what was learnt on the way.
    """

    number: int
    matches: tuple[tuple[str, ...], ...] = ()
    data: Memory = {}


class Job(Protocol):
    """A decision's long computation: copied arrays and independent `parts`.

    It shares nothing with its matcher, since it is solved in other threads. The number of parts is
    the policy's parameter, never a property of the machine; each part's effort is counted in
    evaluations and its chance comes from a child of the seed, so equal jobs have equal plans.
    """

    @property
    def number(self) -> int:
        """Return how the matcher knows the job again; it gives each of its jobs another number."""
        ...

    @property
    def parts(self) -> int:
        """Return how many parts there are, from 1 to `PARTS_MAX`."""
        ...

    def solve(self, part: int) -> object:
        """Compute part 0 to `parts - 1`; pure, and without the GIL where it is long."""
        ...

    def combine(self, results: Sequence[Any]) -> JobResult:
        """Return the best part's plan, ties to the lower part; `results` are in order."""
        ...


PARTS_MAX = 1024
"""The most parts of a job."""


class Decision(msgspec.Struct, frozen=True, gc=False):
    """What a matcher decides: matches to make now, when to ask it again, and at most one job."""

    matches: tuple[Grouping, ...] = ()
    wake_at: float = math.inf
    job: Job | None = None


NOTHING = Decision()


class Matcher(Protocol):
    """One queue's live index."""

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a waiting entry in; an `enqueued_at` before `now` is a return."""
        ...

    def leave(self, entry_id: str, now: float) -> None:
        """Forget an entry that was cancelled, expired or matched elsewhere."""
        ...

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Return the matches of this instant and the next instant to be asked again."""
        ...

    def settle(self, result: JobResult, now: float) -> Decision:
        """Take the plan of a finished job, and return the matches of this instant."""
        ...

    def memory(self) -> Memory:
        """Return what re-entering cannot restore."""
        ...


class NoJobs:
    """A mixin for matchers without jobs: an empty `settle` and no memory."""

    def settle(self, result: JobResult, now: float) -> Decision:
        """Return the present decision: there is no job to settle."""
        return self.decide(now)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Return the decision; matchers override this."""
        raise NotImplementedError

    def memory(self) -> Memory:
        """Return nothing: everything is restored by entering."""
        return {}


@runtime_checkable
class Policy(Protocol):
    """Frozen parameters, and the algorithm that makes matches with them.

    It may also have what `policies.hooks.PolicyHooks` lists, and its matchers what `MatcherHooks`
    lists.
    """

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a new matcher for the queue.

        Raises:
            ConfigError: The policy cannot work on this queue.
        """
        ...


MatchFunction = Callable[..., Iterable[Sequence[Ticket | str]]]


class FunctionPolicy(msgspec.Struct, frozen=True):
    """A plain function `f(pool, now, **parameters) -> matches` at work as a policy.

    The function gets the waiting tickets, longest waiting first, and returns groups of tickets
    (or of ticket ids). It is called after each arrival, or every `every` seconds.
    """

    function: MatchFunction
    every: float | None = None
    parameters: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """Return the function's name, for messages."""
        return str(getattr(self.function, "__name__", "policy"))

    def __call__(self, **parameters: Any) -> FunctionPolicy:
        """Return the same policy with other parameters, as a SPEC does.

        Raises:
            ConfigError: The function has no such parameter, or its default is of another type.
        """
        allowed = dict(list(inspect.signature(self.function).parameters.items())[2:])
        name = self.name
        for key, value in parameters.items():
            if key not in allowed:
                names = ", ".join(allowed) or "none"
                raise ConfigError(f"policy {name} has no parameter {key!r}; allowed: {names}")
            default = allowed[key].default
            if isinstance(default, float | int) and not isinstance(value, float | int):
                raise ConfigError(f"{name}:{key} must be a number, got {value!r}")
        return msgspec.structs.replace(self, parameters={**self.parameters, **parameters})

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher that calls the function over the whole pool."""
        del queue, seed
        return _FunctionMatcher(self, memory or {})


class _FunctionMatcher(NoJobs):
    """Calls a function over the pool, on changes or on a clock anchored at the first entry."""

    def __init__(self, policy: FunctionPolicy, memory: Memory) -> None:
        self.policy = policy
        every = policy.every
        self.clock = None if every is None else RoundClock(every, memory)
        self.pool: dict[str, Ticket] = {}
        self.changed = False
        self.newest: int = memory.get("decided_to") or 0
        # A ticket that the function has seen before a restart is not a change.
        self.decided_to: int = self.newest

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        if isinstance(entry, OpenMatch):
            return
        last = next(reversed(self.pool.values()), None)
        self.pool[entry.id] = entry
        if last is not None and entry.age_key < last.age_key:
            self.pool = {t.id: t for t in sorted(self.pool.values(), key=lambda t: t.age_key)}
        self.newest = max(self.newest, entry.sequence)
        if entry.sequence > self.decided_to:
            self.changed = True
        if self.clock is not None:
            self.clock.start(now)

    def leave(self, entry_id: str, now: float) -> None:
        del now
        if self.pool.pop(entry_id, None) is not None:
            self.changed = True
        if not self.pool and self.clock is not None:
            self.clock.stop()

    def decide(self, now: float, fired: bool = False) -> Decision:
        self.decided_to = 0
        if self.clock is not None:
            if not self.clock.is_due(now, fired):
                return Decision(wake_at=self.clock.round_at)
            groups = self._call(now)
            if self.pool:
                self.clock.move_on(now)
            else:
                self.clock.stop()
            return Decision(groups, self.clock.round_at)
        if not self.changed:
            return NOTHING
        self.changed = False
        return Decision(self._call(now))

    def memory(self) -> Memory:
        beat = {} if self.clock is None else self.clock.memory()
        return {**beat, "decided_to": 0 if self.changed else self.newest}

    def _call(self, now: float) -> tuple[Grouping, ...]:
        pool = tuple(self.pool.values())
        groups = []
        found = self.policy.function(pool, now, **self.policy.parameters)
        if isinstance(found, str) or not isinstance(found, Iterable):
            raise PolicyError(
                f"policy {self.policy.name} must return groups of tickets, got {found!r:.80}"
            )
        for group in found:
            ids = tuple(t if isinstance(t, str) else t.id for t in group)
            groups.append(Grouping(ids))
            for entry_id in ids:
                self.pool.pop(entry_id, None)
        return tuple(groups)


@overload
def policy(function: MatchFunction, /) -> FunctionPolicy: ...


@overload
def policy(*, every: float | None = None) -> Callable[[MatchFunction], FunctionPolicy]: ...


def policy(
    function: MatchFunction | None = None, /, *, every: float | None = None
) -> FunctionPolicy | Callable[[MatchFunction], FunctionPolicy]:
    """Turn a function `f(pool, now) -> matches` into a policy; use it with or without parentheses.

    Args:
        function: The function, if the decorator is written without parentheses.
        every: Seconds between calls, counted from the first ticket; by default the function is
            called whenever the pool has changed.

    Raises:
        ConfigError: `every` is not a number of seconds >= 0.05.

    Example:
        >>> from evenmatch import policy
        >>> @policy(every=2.0)
        ... def pairs(pool, now):
        ...     return zip(pool[::2], pool[1::2])
    """
    if every is not None and not is_in(every, RoundTime):
        raise ConfigError(f"every must be {range_of(RoundTime)}, got {every!r}")

    def wrap(function: MatchFunction) -> FunctionPolicy:
        if not callable(function):
            raise ConfigError(f"@policy goes on a function, got {function!r:.80}")
        return FunctionPolicy(function, every)

    return wrap if function is None else wrap(function)
