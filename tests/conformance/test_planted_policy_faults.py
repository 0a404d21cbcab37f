"""The policy kit finds faults: each policy here breaks one promise, and the kit names it.

`Pairs`, `Rounds` and `Shuffles` are right; each fault changes a few lines of one of them.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import pytest

from evenmatch.criteria.rules import Rules
from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Job, JobResult, Matcher, Memory, NoJobs
from evenmatch.testing import check_policy, queue, rule
from evenmatch.testing.policy_promises import BOUND
from tests.extent import extent, more
from tests.shuffles import Pairing, Shuffles, ShufflesMatcher


class Pairs(NoJobs):
    """Plays every pair of a duel as soon as the rules allow it, the longest waiting first."""

    def __init__(self, queue: Queue, memory: Memory) -> None:
        if not queue.format.is_duel:
            raise ConfigError("duels only")
        self.rules = Rules(queue)
        self.pool: list[Ticket] = []

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        assert isinstance(entry, Ticket)
        self.pool.append(entry)
        self.pool.sort(key=self.order)

    def leave(self, entry_id: str, now: float) -> None:
        self.pool = [ticket for ticket in self.pool if ticket.id != entry_id]

    def decide(self, now: float, fired: bool = False) -> Decision:
        matches = []
        for first, second, at in self.pairs():
            born = max(first.enqueued_at, second.enqueued_at)
            due = at < now or (at == now and (fired or at == born))
            if due and self.free(first, second):
                matches.append(Grouping((first.id, second.id)))
                self.take(first, second)
        return Decision(tuple(matches), self.next())

    def order(self, ticket: Ticket) -> Any:
        return ticket.age_key

    def pairs(self) -> Iterator[tuple[Ticket, Ticket, float]]:
        pool = list(self.pool)
        for index, first in enumerate(pool):
            for second in pool[index + 1 :]:
                yield first, second, self.ready_at(first, second)

    def ready_at(self, first: Ticket, second: Ticket) -> float:
        return self.rules.pair_ready_at(first, second)

    def free(self, first: Ticket, second: Ticket) -> bool:
        return first in self.pool and second in self.pool

    def take(self, first: Ticket, second: Ticket) -> None:
        self.pool.remove(first)
        self.pool.remove(second)

    def next(self) -> float:
        return min((at for _, _, at in self.pairs()), default=math.inf)


class ForgetsTimer(Pairs):
    """Forgets its next timer when somebody leaves, until somebody enters."""

    forgets = False

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        super().enter(entry, now)
        self.forgets = False

    def leave(self, entry_id: str, now: float) -> None:
        super().leave(entry_id, now)
        self.forgets = True

    def next(self) -> float:
        return math.inf if self.forgets else super().next()


class TakesFewBack(Pairs):
    """Takes as many back after a restart as it remembers, and no more until it has decided."""

    def __init__(self, queue: Queue, memory: Memory) -> None:
        super().__init__(queue, memory)
        self.room: float = memory.get("count", math.inf)

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        if self.room > 0:
            super().enter(entry, now)
        self.room -= 1

    def decide(self, now: float, fired: bool = False) -> Decision:
        self.room = math.inf
        return super().decide(now, fired)

    def memory(self) -> Memory:
        return {"count": len(self.pool)}


class MissesSomebody(Pairs):
    """Looks after a restart for all whom it remembers."""

    def __init__(self, queue: Queue, memory: Memory) -> None:
        super().__init__(queue, memory)
        self.known: list[str] = list(memory.get("known", ()))

    def decide(self, now: float, fired: bool = False) -> Decision:
        here = {ticket.id: ticket for ticket in self.pool}
        for name in self.known:
            del here[name]
        self.known = []
        return super().decide(now, fired)

    def memory(self) -> Memory:
        return {"known": [ticket.id for ticket in self.pool]}


class StartsWithTheLeft(Pairs):
    """Says when it starts with everybody who ever came."""

    def __init__(self, queue: Queue, memory: Memory) -> None:
        super().__init__(queue, memory)
        self.ever: list[str] = []

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        super().enter(entry, now)
        self.ever.append(entry.id)

    def starts(self) -> dict[str, float]:
        return dict.fromkeys(self.ever, math.inf)


class StartsByAsking(Pairs):
    """Lets go of whom it is asked about."""

    def starts(self) -> dict[str, float]:
        self.pool = self.pool[1:]
        return {}


class MatchesLeft(Pairs):
    """Does not hear of it when somebody leaves."""

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        if entry not in self.pool:
            super().enter(entry, now)

    def leave(self, entry_id: str, now: float) -> None:
        pass


class UsesTwice(Pairs):
    """Looks at the pool as it was before the first match."""

    def free(self, first: Ticket, second: Ticket) -> bool:
        return True

    def take(self, first: Ticket, second: Ticket) -> None:
        self.pool = [ticket for ticket in self.pool if ticket not in (first, second)]


class DependsOnIds(Pairs):
    """Lets the tickets choose in the order of their ids."""

    def order(self, ticket: Ticket) -> Any:
        return ticket.id


class PlaysTooEarly(Pairs):
    """Believes that a pair may play when the rules allow it within two seconds."""

    def ready_at(self, first: Ticket, second: Ticket) -> float:
        at = super().ready_at(first, second)
        return max(at - 2.0, first.enqueued_at, second.enqueued_at)


class Crashes(Pairs):
    """Takes it for impossible that the longest waiting ticket leaves."""

    def leave(self, entry_id: str, now: float) -> None:
        self.pool.remove(next(ticket for ticket in self.pool[1:] if ticket.id == entry_id))


class Rounds(NoJobs):
    """Plays whoever is there every three seconds, counted from the first entry."""

    every = 3.0

    def __init__(self, queue: Queue, memory: Memory) -> None:
        if not queue.format.is_duel or not Rules(queue).are_none:
            raise ConfigError("duels without rules only")
        self.pool: list[Ticket] = []
        self.anchor: float | None = memory.get("anchor")
        self.round_at: float | None = memory.get("round_at")

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        assert isinstance(entry, Ticket)
        self.pool.append(entry)
        self.pool.sort(key=lambda ticket: ticket.age_key)
        if self.anchor is None:
            self.anchor = now
        self.round_at = self.next_round(now)

    def next_round(self, now: float) -> float:
        # A memory may be newer than the pool.
        if self.round_at is None or self.round_at > now:
            return self.after(now) if self.round_at is None else min(self.round_at, self.after(now))
        return self.round_at

    def leave(self, entry_id: str, now: float) -> None:
        self.pool = [ticket for ticket in self.pool if ticket.id != entry_id]

    def decide(self, now: float, fired: bool = False) -> Decision:
        matches = []
        if self.round_at is not None and (self.round_at < now or (self.round_at == now and fired)):
            while len(self.pool) > 1:
                matches.append(Grouping((self.pool.pop(0).id, self.pool.pop(0).id)))
            self.round_at = self.after(now)
        return Decision(tuple(matches), math.inf if self.round_at is None else self.round_at)

    def after(self, now: float) -> float:
        assert self.anchor is not None
        return self.anchor + ((now - self.anchor) // self.every + 1) * self.every

    def memory(self) -> Memory:
        return {"anchor": self.anchor, "round_at": self.round_at}


class WaitsForItsMemory(Rounds):
    """Holds its next round when a memory says, however far ahead that is."""

    def next_round(self, now: float) -> float:
        return self.after(now) if self.round_at is None else self.round_at


class DependsOnCalls(Rounds):
    """Begins its three seconds again whenever it is asked."""

    def decide(self, now: float, fired: bool = False) -> Decision:
        decision = super().decide(now, fired)
        if self.round_at is not None and self.round_at > now:
            self.round_at = now + self.every
        return Decision(
            decision.matches, decision.wake_at if self.round_at is None else self.round_at
        )


class RoundsByTheClock(Rounds):
    """Plays at multiples of three seconds, wherever the clock began."""

    def after(self, now: float) -> float:
        return (now // self.every + 1) * self.every


class ForgetsItsRounds(Rounds):
    """Begins its rounds anew after a restart."""

    def memory(self) -> Memory:
        return {}


class GoesBack(Rounds):
    """Says when the round before this one was."""

    def after(self, now: float) -> float:
        return super().after(now) - self.every


class DecidesAgain(Rounds):
    """Plays one pair a call and expects to be called again."""

    def decide(self, now: float, fired: bool = False) -> Decision:
        assert self.anchor is None or now >= self.anchor
        matches = []
        if len(self.pool) > 1:
            matches.append(Grouping((self.pool.pop(0).id, self.pool.pop(0).id)))
        return Decision(tuple(matches))


class Dice(Pairs):
    """Goes on counting from one matcher to the next."""

    made = 0

    def ready_at(self, first: Ticket, second: Ticket) -> float:
        return super().ready_at(first, second) + Dice.made % 2

    def take(self, first: Ticket, second: Ticket) -> None:
        super().take(first, second)
        Dice.made += 1


class Counts(Pairs):
    """Counts the pairs that it looks at, two passes over all of them at the most."""

    def __init__(self, queue: Queue, memory: Memory) -> None:
        super().__init__(queue, memory)
        self.evaluations = 0

    def ready_at(self, first: Ticket, second: Ticket) -> float:
        self.evaluations += 1
        return super().ready_at(first, second)


class LooksAgain(Counts):
    """Looks at all pairs again for each ticket that has waited long, beyond what it declares."""

    def decide(self, now: float, fired: bool = False) -> Decision:
        for ticket in self.pool:
            if now - ticket.enqueued_at > 10.0:
                self.next()
        return super().decide(now, fired)


class CountsNothing(Pairs):
    """Has a count that stands still."""

    evaluations = 0


class Bounded:
    """A policy that declares its evaluations: a pair of tickets is looked at twice."""

    evaluations_max = (0, 0, 1)

    def __init__(self, kind: Callable[[Queue, Memory], Matcher]) -> None:
        self.kind = kind

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        return self.kind(queue, memory or {})


class Made:
    """A policy whose matchers are of the given kind."""

    def __init__(self, kind: Callable[[Queue, Memory], Matcher], name: str) -> None:
        self.kind = kind
        self.__class__ = type(name, (Made,), {})

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        return self.kind(queue, memory or {})


class AsksWhileOneRuns(ShufflesMatcher):
    """Does not look whether its last job is over."""

    def decide(self, now: float, fired: bool = False) -> Decision:
        if fired and self.clock.is_due(now, fired):
            self.running = None
        return super().decide(now, fired)


class AsksOnInput(ShufflesMatcher):
    """Asks for a job as soon as a ticket enters."""

    entered = False

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        super().enter(entry, now)
        self.entered = True

    def decide(self, now: float, fired: bool = False) -> Decision:
        job = self.pairing(now) if self.entered and self.running is None else None
        self.entered = False
        return Decision(wake_at=max(self.clock.round_at, now + fired), job=job)


class AsksTwiceAtOnce(ShufflesMatcher):
    """Plays one match of a plan, and asks again at the same instant."""

    def settle(self, result: JobResult, now: float) -> Decision:
        if result.number == self.running and len(result.matches) > 1:
            self.clock.round_at = now
        return super().settle(JobResult(result.number, result.matches[:1]), now)


class SharesItsTickets(ShufflesMatcher):
    """Lets its job look at the tickets of the moment."""

    def pairing(self, now: float) -> Job | None:
        job = super().pairing(now)
        return None if job is None else Live(job, self)


class Live:
    """A job over a matcher's own tickets."""

    def __init__(self, job: Job, owner: ShufflesMatcher) -> None:
        self.number, self.parts, self.owner = job.number, 1, owner

    def solve(self, part: int) -> list[str]:
        return list(self.owner.pool)

    def combine(self, results: Sequence[Any]) -> JobResult:
        (ids,) = results
        return JobResult(self.number, tuple(zip(ids[::2], ids[1::2], strict=False)))


class LetsPartsShareChance(ShufflesMatcher):
    """Gives all parts one generator."""

    def pairing(self, now: float) -> Job | None:
        job = super().pairing(now)
        return None if job is None else OneGenerator(job)


class OneGenerator:
    """A job whose parts draw from one stream."""

    def __init__(self, job: Job) -> None:
        self.number, self.parts, self.job = job.number, 3, job
        self.rng = np.random.default_rng(1)

    def solve(self, part: int) -> object:
        return self.job.solve(int(self.rng.integers(1000)))

    def combine(self, results: Sequence[Any]) -> JobResult:
        return self.job.combine(results)


class TrustsItsPlan(ShufflesMatcher):
    """Plays what it planned, not what is left of it."""

    def pairing(self, now: float) -> Job | None:
        job = super().pairing(now)
        self.plan = () if job is None else solved(job)
        return job

    def settle(self, result: JobResult, now: float) -> Decision:
        if result.number != self.running:
            return super().settle(result, now)
        self.running = None
        for ticket_id in chain.from_iterable(self.plan):
            self.pool.pop(ticket_id, None)
        return Decision(tuple(map(Grouping, self.plan)), max(self.clock.round_at, now))


def solved(job: Job) -> tuple[tuple[str, ...], ...]:
    return job.combine([job.solve(part) for part in range(job.parts)]).matches


class FailsOnAnEmptyPlan(ShufflesMatcher):
    """Takes it for impossible that nothing is left of a plan."""

    def settle(self, result: JobResult, now: float) -> Decision:
        if result.number == self.running:
            assert result.matches[0]
        return super().settle(result, now)


class WaitsForMore(ShufflesMatcher):
    """Takes an empty plan for none."""

    def settle(self, result: JobResult, now: float) -> Decision:
        if not result.matches:
            return Decision(wake_at=max(self.clock.round_at, now))
        return super().settle(result, now)


class RemembersItsJob(ShufflesMatcher):
    """Waits after a restart for the plan of the job that ran before it."""

    def __init__(self, chosen: Shuffles, queue: Queue, seed: int, memory: Memory) -> None:
        super().__init__(chosen, queue, seed, memory)
        self.running = memory.get("running")

    def memory(self) -> Memory:
        return {**super().memory(), "running": self.running}


class TakesAnyPlan(ShufflesMatcher):
    """Does not look at the number of a plan."""

    def settle(self, result: JobResult, now: float) -> Decision:
        return super().settle(JobResult(self.running or 0, result.matches), now)


class PlansAgainstRules(ShufflesMatcher):
    """Plans matches that the rules forbid."""

    def pairing(self, now: float) -> Job | None:
        job = super().pairing(now)
        if isinstance(job, Pairing):
            job.may_play[:] = True
        return job


class SettlesIntoThePast(ShufflesMatcher):
    """Says after a plan when the last round was."""

    def settle(self, result: JobResult, now: float) -> Decision:
        decision = super().settle(result, now)
        return Decision(decision.matches, now - 1.0)


class FailsInItsJob(ShufflesMatcher):
    """Hands over a job that cannot be solved."""

    def pairing(self, now: float) -> Job | None:
        job = super().pairing(now)
        return None if job is None else msgspec.structs.replace(job, ids=())  # type: ignore[type-var]


class WithJobs:
    """A policy with jobs whose matchers are of the given kind."""

    jobs = True

    def __init__(self, kind: type[ShufflesMatcher], name: str) -> None:
        self.kind = kind
        self.__class__ = type(name, (WithJobs,), {})

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        if not queue.format.is_duel:
            raise ConfigError("duels only")
        return self.kind(Shuffles(every=3.0), queue, seed, memory or {})


TIMER = "no match waits for somebody else to ask: before wake_at there is nothing to do: "
LEFT = "a ticket may leave at any time, and is never matched after that: "
LEGAL = "every match is legal, as full as its format asks, of waiting tickets, each used once: "
EXTRA = "extra calls of decide change nothing: "
LABEL = "other ids of tickets and players change nothing: "
SHIFT = "shifting all times shifts the matches and changes nothing else: "
RESTORE = "a matcher restored half-way gives the same rest: "
OLD = "with a memory older or newer than the pool, a matcher goes on and forgets nobody: "
PACE = "with a memory older or newer than the pool, a matcher comes back to its pace: "
AHEAD = "wake_at lies ahead: "
HOOKS = (
    "what it says beside its decisions is of the kind that is documented, and changes no match: "
)
TWICE = "a second decide at the same instant is empty and says the same wake_at: "
EQUAL = "equal calls and seed give equal results: "

JOBS = "a job is asked for only when fired, one at a time and one at an instant: "
PURE = "solving a job again, later or in another order of its parts, gives the same plan: "
LATE = "a plan may come late, when some of its tickets are gone: "
OVER = "a job is over when its plan has come, whatever is left of it: "
STRAYS = "a plan with an unknown number changes nothing: "
AGAIN = "a restored matcher asks again for the job that was out: "

JOB_FAULTS: list[tuple[type[ShufflesMatcher], str, str]] = [
    (AsksWhileOneRuns, JOBS, r"decide\(.*\): a second job was asked for while one runs$"),
    (AsksOnInput, JOBS, r"decide\(.*\): a job is asked for only by a decide with fired=True$"),
    (AsksTwiceAtOnce, JOBS, r"decide\(.*\): a second job was asked for at \d.* s$"),
    (SharesItsTickets, PURE, r"at \d.* s it gave another plan than at \d.*$"),
    (LetsPartsShareChance, PURE, r"at \d.* s its parts backwards gave another plan$"),
    (TrustsItsPlan, LEFT, r"the match t\d\d\+t\d\d at \d.* s has t\d\d, which has left$"),
    (FailsOnAnEmptyPlan, LATE, r"settle\(JobResult\(\d+, \(\)\), \d.*\) raised IndexError: .*$"),
    (WaitsForMore, OVER, r"a new matcher made t\d\d\+.* at .* s, but not the one before it$"),
    (RemembersItsJob, AGAIN, r"restored at \d.* s, it asked for no job, though t\d\d\+t\d\d still"),
    (TakesAnyPlan, STRAYS, r"at \d.* s it matched t\d\d\+t\d\d$"),
    (PlansAgainstRules, LEGAL, r"the plan at \d.* s has t\d\d\+t\d\d, which may not play$"),
    (SettlesIntoThePast, AHEAD, r"settle\(JobResult\(.*\) returned wake_at .*$"),
    (FailsInItsJob, LEGAL, r"its job raised ValueError: .*$"),
]


FAULTS: list[tuple[type[Pairs] | type[Rounds], str, str]] = [
    (ForgetsTimer, TIMER, r"asked at \d.* s it matched t\d\d\+t\d\d, though its wake_at was inf$"),
    (StartsWithTheLeft, HOOKS, r"starts\(\) at \d.* names 't\d\d', which does not wait$"),
    (StartsByAsking, HOOKS, r"asking its hooks after each decision turned .* into .*$"),
    (MatchesLeft, LEFT, r"the match t\d\d\+t\d\d at \d.* s has t\d\d, which has left$"),
    (UsesTwice, LEGAL, r"the match t\d\d\+t\d\d at \d.* s uses t\d\d twice$"),
    (DependsOnCalls, EXTRA, r"an extra call of decide turned .* into .*$"),
    (DependsOnIds, LABEL, r"naming the tickets in the reverse order turned t\d\d\+.* into t\d\d.*"),
    (PlaysTooEarly, LEGAL, r"the match .* is allowed by the rules only from \d.* s on$"),
    (Crashes, LEFT, r"leave\('t\d\d', \d.*\) raised StopIteration: $"),
    (RoundsByTheClock, SHIFT, r"4096 s more on every clock turned .* into .*$"),
    (ForgetsItsRounds, RESTORE, r"a restart turned .* into .*$"),
    (GoesBack, AHEAD, r"decide\(.*\) returned wake_at .*$"),
    (DecidesAgain, TWICE, r"the second decide\(.*\) matched t\d\d\+t\d\d$"),
    (TakesFewBack, OLD, r"a matcher without any memory made t\d\d\+.* at .* s, but not this one$"),
    (MissesSomebody, OLD, r"decide\(.*\) raised KeyError: 't\d\d'$"),
    (
        WaitsForItsMemory,
        PACE,
        r"tickets that came long after a recovery with a newer memory waited .* s, and .* s",
    ),
    (Dice, EQUAL, r"a third run turned .* into .*$"),
]


@more
@pytest.mark.parametrize("kind", [Pairs, Rounds], ids=lambda kind: kind.__name__)
def test_right_version_keeps_every_promise(kind: type[Pairs] | type[Rounds]) -> None:
    check_policy(Made(kind, kind.__name__), seeds=range(extent(1, 12)))


@pytest.mark.parametrize(
    ("kind", "promise", "detail"), FAULTS, ids=[kind.__name__ for kind, _, _ in FAULTS]
)
def test_planted_fault_is_found(
    kind: type[Pairs] | type[Rounds], promise: str, detail: str
) -> None:
    start = rf"policy {kind.__name__} on queue \w+, seed \d+: "
    with pytest.raises(AssertionError) as caught:
        check_policy(Made(kind, kind.__name__))
    assert str(caught.value).startswith(promise)
    rest = str(caught.value).removeprefix(promise)
    with pytest.raises(AssertionError, match="^" + start + detail):
        raise AssertionError(rest)


@more
def test_right_version_with_jobs_keeps_every_promise() -> None:
    check_policy(WithJobs(ShufflesMatcher, "ShufflesMatcher"), seeds=range(extent(1, 12)))


@pytest.mark.parametrize(
    ("kind", "promise", "detail"), JOB_FAULTS, ids=[kind.__name__ for kind, _, _ in JOB_FAULTS]
)
def test_planted_fault_of_a_job_is_found(
    kind: type[ShufflesMatcher], promise: str, detail: str
) -> None:
    start = rf"policy {kind.__name__} on queue \w+, seed \d+: "
    with pytest.raises(AssertionError) as caught:
        check_policy(WithJobs(kind, kind.__name__))
    assert str(caught.value).startswith(promise)
    rest = str(caught.value).removeprefix(promise)
    with pytest.raises(AssertionError, match="^" + start + detail):
        raise AssertionError(rest)


def test_policy_that_does_not_say_that_it_has_jobs_is_found() -> None:
    made = WithJobs(ShufflesMatcher, "Silent")
    type(made).jobs = False
    with pytest.raises(
        AssertionError, match="a policy that asks for jobs says so with jobs = True"
    ):
        check_policy(made)


RATED = queue("rated", rules=(rule(limit=100, rate=25.0),), wait_max=24.0)


def test_policy_that_keeps_to_its_evaluations_is_accepted() -> None:
    assert check_policy(Bounded(Counts), queue=RATED, seeds=[1]) == ()


@pytest.mark.parametrize(
    ("kind", "detail"),
    [
        (
            LooksAgain,
            r"on .*, decide\(.*\) with \d+ waiting made [\d,]+ evaluations, and [\d,]+ are",
        ),
        (CountsNothing, r"on a burst it made matches and counted no evaluations$"),
        (Pairs, r"its matcher counts no evaluations, got None$"),
    ],
)
def test_policy_that_does_more_than_it_declares_is_found(kind: type[Pairs], detail: str) -> None:
    start = rf"{BOUND}: policy Bounded on queue rated, seed 1: "
    with pytest.raises(AssertionError, match="^" + start + detail):
        check_policy(Bounded(kind), queue=RATED, seeds=[1])


@pytest.mark.parametrize(
    ("hook", "value", "detail"),
    [
        ("held_back", 3, r"held_back is 3, not of type str$"),
        ("serves_overdue", "yes", r"serves_overdue is 'yes', not of type bool$"),
        ("horizon", -1.0, r"horizon is -1.0, not seconds >= 0$"),
        ("is_wide", lambda first, second: None, r"is_wide said None, not True or False$"),
        ("is_wide", lambda first, second: first["mean"], r"is_wide\(.*\) raised TypeError: "),
    ],
)
def test_policy_whose_hook_is_of_another_kind_is_found(hook: str, value: Any, detail: str) -> None:
    made = Bounded(Counts)
    kind = type("Odd", (Bounded,), {hook: staticmethod(value) if callable(value) else value})
    with pytest.raises(AssertionError, match=f"^{HOOKS}.*{detail}"):
        check_policy(kind(made.kind), queue=RATED, seeds=[1])


def test_policy_that_declares_nothing_is_reported_as_not_checked() -> None:
    found = check_policy(Made(Pairs, "Pairs"), queue=RATED, seeds=[1])
    assert found == (f"{BOUND}: Pairs has no evaluations_max",)
