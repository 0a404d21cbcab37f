"""`evenmatch.simulate`: one run of a scenario, with its figures, matches and tickets."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, nullcontext
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from evenmatch.config.files import load_scenario
from evenmatch.engine.matching.scheduler import Resolve
from evenmatch.errors import ArrivalsError, ConfigError, NotSupported
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import NewTicket, Ticket
from evenmatch.policies.base import Policy
from evenmatch.policies.registry import check_kernels, parse_policy
from evenmatch.simulation.arrivals.arrivals import arrivals_of, recorded_arrivals
from evenmatch.simulation.arrivals.recording import Check
from evenmatch.simulation.arrivals.stream import Arrival, ArrivalStream, BadRows
from evenmatch.simulation.compiled.compilable import (
    are_ordered,
    has_steps_alone,
    is_worth_loading,
    why_engine,
    why_engine_of_recording,
)
from evenmatch.simulation.groups import WITHOUT_TICKETS
from evenmatch.simulation.history import CANCELLED, History
from evenmatch.simulation.metrics import Summary, summarize
from evenmatch.simulation.outcomes import OutcomeSimulator
from evenmatch.simulation.seeds import generator
from evenmatch.simulation.simulator import Simulator
from evenmatch.simulation.splits import Parts
from evenmatch.solvers.kernel import INSTALL, compiling, on_compile, uncompiled

if not on_compile:
    # From Python, nothing else would explain why the first run takes a minute.
    on_compile.append(lambda: print(compiling(), file=sys.stderr, flush=True))

PLAIN_MOST = 500
"""Most arrivals of duels that plain Python simulates in the time that loading numba takes."""
SMALL_FILE = 100_000
"""Files of at most this many bytes have their rows counted, to find out whether they are few."""
Arrivals = str | Path | Iterable[Ticket | Arrival]
"""A file, or tickets by ascending `enqueued_at`, or arrivals by ascending `at`."""


class Run:
    """One simulation: its figures and its history.

    Args:
        history: The events of the run.
        summary: The figures, as `--json` prints them.
        queues: The queues as simulated.
    """

    def __init__(self, history: History, summary: Summary, queues: tuple[Queue, ...]) -> None:
        self.history = history
        self.summary = summary
        self.queues = queues

    @cached_property
    def matches(self) -> list[dict[str, Any]]:
        """Return the lines of the matches' JSONL file, in order of making."""
        return list(self.history.match_rows())

    @cached_property
    def tickets(self) -> list[dict[str, Any]]:
        """Return the lines of the tickets' JSONL file, in order of arrival."""
        return list(self.history.ticket_rows())

    def __repr__(self) -> str:
        matches, tickets = self.summary["matches"], self.summary["tickets"]
        return f"Run(matches={matches}, tickets={tickets})"


def simulate(
    scenario: str | Path | Scenario,
    *,
    arrivals: Arrivals | None = None,
    policy: str | Policy | None = None,
    seed: int | np.random.SeedSequence | None = None,
    optimum: bool = False,
    by: str | Iterable[str] = (),
) -> Run:
    r"""Simulate a scenario with the engine that the server runs.

    If only arrivals and deadlines can happen, a compiled run replaces the engine and makes the same
    matches; see `simulation.compiled.run`.

    All randomness comes from the seed, and arrivals have streams of their own: with the same seed,
    another policy gets the same tickets.

    Args:
        scenario: A TOML file, or a scenario.
        arrivals: Arrivals in place of the scenario's own.
        policy: The policy of every queue: a SPEC such as `window:limit=150`, or a Policy.
        seed: Root of all randomness; None takes the scenario's.
        optimum: Whether to add the least cost that was possible.
        by: Attributes, or `size`, `queue`, `queues`, `NAME_decile`, by which to split waits and
            quality; one name or several.

    Returns:
        The run. Times in `Run.matches` and `Run.tickets` are those of the arrivals' file.

    Raises:
        ConfigError: The scenario or the policy cannot be used.
        ArrivalsError: An arrival cannot be read or is refused.
        PolicyError: A policy broke its contract.

    Example:
        >>> from evenmatch.config.files import parse_scenario
        >>> clock = parse_scenario("[[queue]]\n[arrivals]\nprocess='regular'\ninterval=2\ncount=4")
        >>> simulate(clock).summary["wait"]["mean"]
        1.0
    """
    world = _world(scenario)
    seeds = _seeds(world.seed if seed is None else seed)
    queues, resolve = with_policy(world.queues, policy)
    stream = _stream(world, arrivals, seeds, checked_by(queues, resolve))
    parts = Parts(queues)
    queues = parts.queues
    split_by = _split_by(by)
    history = History(
        queues[0].name,
        warmup=world.warmup,
        offset=stream.offset,
        keeps_tickets=optimum or not set(split_by) <= WITHOUT_TICKETS,
    )
    figures: Summary = {}
    policies = [resolve(queue) for queue in queues]
    if arrivals is None and not parts.are_several and not why_engine(world, queues, policies):
        _run_compiled(world, queues, policies, seeds, history)
    else:
        coming = _left_to_play(world, parts, policies, stream, history)
        if coming is not None:
            with plain_if_few(_count_of(world, arrivals), queues, policies):
                simulator = _simulator(world, queues, resolve, history, seeds)
                simulator.run(coming)
                figures = simulator.figures()
    summary = {**summarize(history, queues, split_by), **figures}
    if stream.bad is not None:
        summary["skipped"] = stream.bad.count
    if optimum:
        summary.update(_optimum_of(history, queues, world.until, summary))
    return Run(history, summary, queues)


def bad_rows(
    scenario: Scenario, arrivals: Arrivals | None = None, policy: str | None = None
) -> BadRows | None:
    """Return which rows of a recording a run would leave out; None if all are good.

    Raises:
        ArrivalsError: The file cannot be read, or has bad rows that are not to be skipped.
    """
    check = checked_by(*with_policy(scenario.queues, policy))
    return _stream(scenario, arrivals, _seeds(scenario.seed), check).bad


def checked_by(queues: tuple[Queue, ...], resolve: Resolve) -> Check:
    """Return a function that tells, before a run, why the queues would refuse an arrival."""

    @cache
    def simulator() -> Simulator:
        with uncompiled():
            return Simulator(queues, resolve, History(queues[0].name))

    return lambda arrival: simulator().check(arrival)


def _simulator(
    world: Scenario,
    queues: tuple[Queue, ...],
    resolve: Resolve,
    history: History,
    seeds: np.random.SeedSequence,
) -> Simulator:
    """Return the engine in virtual time, with the players' behaviour of the scenario."""
    outcomes = world.outcomes
    return Simulator(
        queues,
        resolve,
        history,
        seed=_policy_seed(seeds),
        until=world.until,
        solve_time=world.solve_time,
        answers=(world.answers, seeds),
        played=None
        if outcomes is None
        else OutcomeSimulator(outcomes, generator(seeds, "outcomes")),
    )


def _run_compiled(
    world: Scenario,
    queues: Sequence[Queue],
    policies: Sequence[Policy],
    seeds: np.random.SeedSequence,
    history: History,
) -> None:
    """Fill in the history of a scenario that needs no engine."""
    # Imported here, since loading the kernels of either takes longer than most runs by the engine.
    if are_ordered(policies):
        from evenmatch.simulation.compiled.parties import ordered_history

        ordered_history(world, queues, policies, seeds, history)
    else:
        from evenmatch.simulation.compiled.run import compiled_history

        compiled_history(world, queues[0], policies[0], seeds, history)


def plain_if_few(
    count: int | None, queues: Sequence[Queue], policies: Sequence[Policy]
) -> AbstractContextManager[None]:
    """Return a context that runs kernels as plain Python for a few duels, which takes little time.

    Args:
        count: Number of arrivals; None if unknown.
        queues: The queues they enter.
        policies: One for each queue.
    """
    if count is None or count > PLAIN_MOST:
        return nullcontext()
    ways = zip(queues, policies, strict=True)
    return uncompiled() if all(has_steps_alone(*each) for each in ways) else nullcontext()


def _count_of(world: Scenario, arrivals: Arrivals | None) -> int | None:
    """Return the number of arrivals, if it is known beforehand."""
    if arrivals is not None:
        if isinstance(arrivals, str | Path):
            return _rows_of(arrivals)
        return len(arrivals) if isinstance(arrivals, Sized) else None
    return None if world.arrivals is None else world.arrivals.count


def _left_to_play(
    world: Scenario,
    parts: Parts,
    policies: Sequence[Policy],
    stream: ArrivalStream,
    history: History,
) -> Iterator[Arrival] | None:
    """Return the arrivals left for an engine; None if the history was filled without one."""
    if parts.are_several:
        return parts.placed(stream)
    return _play_recording(world, parts.queues, policies, stream, history)


def _rows_of(path: str | Path) -> int | None:
    """Return an upper bound on the rows of a small text file; None for any other."""
    try:
        if not str(path).endswith((".csv", ".tsv")) or os.path.getsize(path) > SMALL_FILE:
            return None
        return Path(path).read_bytes().count(b"\n")
    except OSError:
        return None  # the later attempt to read the file reports the error


def _play_recording(
    world: Scenario,
    queues: Sequence[Queue],
    policies: Sequence[Policy],
    stream: ArrivalStream,
    history: History,
) -> Iterator[Arrival] | None:
    """Fill in the history of a recording that needs no engine; else return its arrivals."""
    if why_engine_of_recording(world, queues, policies):
        return stream
    arrivals = list(stream)
    if not is_worth_loading(len(arrivals)):
        return iter(arrivals)
    from evenmatch.simulation.compiled.run import read_recording, recorded_history

    recording = read_recording(arrivals, queues[0])
    if recording is None:
        return iter(arrivals)
    recorded_history(recording, queues[0], policies[0], history)
    return None


def _optimum_of(
    history: History, queues: tuple[Queue, ...], until: float | None, summary: Summary
) -> dict[str, float | None]:
    """Return the figures of the least cost that was possible with the tickets of a run.

    It keeps to the rules of the queues and to the parts of a split group, but not to the rules that
    a policy adds. Unless the scenario ends the run, the last tickets wait for a match or their
    deadline like all others.

    Args:
        history: The run.
        queues: As simulated.
        until: Where the scenario ends the run.
        summary: The figures of the run.
    """
    from evenmatch.lab.optimum.optimum import optimum_figures

    arrivals = [
        Arrival(at, ticket, history.leaves_at.get(place))
        for place, (at, ticket) in enumerate(zip(history.enqueued_at, history.tickets, strict=True))
    ]
    cost = summary["cost"] + summary["cost_waiting"]
    matches = [
        (match.cost, [history.index[ticket] for ticket in match.tickets])
        for match in history.matches
        if not match.bots
    ]
    return optimum_figures(
        queues,
        arrivals,
        cost,
        end=until,
        first_counted=history.first_counted,
        matches=matches,
        cancelled_at={
            place: history.ended_at[place]
            for place, state in enumerate(history.states)
            if state == CANCELLED
        },
    )


def with_policy(
    queues: tuple[Queue, ...], policy: str | Policy | None
) -> tuple[tuple[Queue, ...], Resolve]:
    """Return the queues under one policy, and the function that makes each queue's policy.

    Args:
        queues: As configured.
        policy: Replaces that of every queue; None leaves them.
    """
    specs = [queue.policy for queue in queues] if policy is None else [policy]
    for spec in specs:
        _warn_of_slow(spec if isinstance(spec, str) else "")
    if policy is None:
        return queues, lambda queue: parse_policy(queue.policy)
    chosen = parse_policy(policy) if isinstance(policy, str) else policy
    name = policy if isinstance(policy, str) else _name_of(policy)
    if isinstance(chosen, type) or not hasattr(chosen, "matcher"):
        raise ConfigError(
            f"policy must be a SPEC such as 'greedy', or a Policy (it has a method matcher), "
            f"got {policy!r}"
        )
    return tuple(msgspec.structs.replace(q, policy=name) for q in queues), lambda _: chosen


@cache
def _warn_of_slow(spec: str) -> None:
    """Warn once on standard error that a run will be slow, since kernels are not compiled."""
    try:
        check_kernels(spec, "")
    except NotSupported:
        print(
            f"evenmatch: {spec} takes seconds for what takes milliseconds with numba: {INSTALL}",
            file=sys.stderr,
        )


def _name_of(policy: Policy) -> str:
    """Return the name that errors use for a policy without a SPEC."""
    function = getattr(policy, "function", None)
    return getattr(function, "__name__", type(policy).__name__)


def _world(scenario: object) -> Scenario:
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, str | Path):
        return load_scenario(scenario)
    raise ConfigError(
        f"scenario must be the path of a TOML file or a Scenario, got {type(scenario).__name__}"
    )


def _split_by(by: object) -> tuple[str, ...]:
    names = (by,) if isinstance(by, str) else by
    if isinstance(names, Iterable):
        found = tuple(names)
        if all(isinstance(name, str) for name in found):
            return found
    raise ConfigError(f"by must be a name or several, such as ['rating', 'size'], got {by!r}")


def _seeds(seed: object) -> np.random.SeedSequence:
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise ConfigError(f"seed must be a whole number or a numpy SeedSequence, got {seed!r}")
    if seed < 0:
        raise ConfigError(f"seed must be >= 0, got {seed}")
    return np.random.SeedSequence(int(seed))


def _policy_seed(seeds: np.random.SeedSequence) -> int:
    """Return the root of the policies' random streams, separate from those of the arrivals."""
    key = (*seeds.spawn_key, *b"policies")
    own = np.random.SeedSequence(seeds.entropy, spawn_key=key)
    return int(own.generate_state(1, np.uint64)[0] >> np.uint64(11))


def _stream(
    world: Scenario, given: Arrivals | None, seeds: np.random.SeedSequence, check: Check
) -> ArrivalStream:
    if given is None:
        if world.arrivals is None:
            raise ConfigError(
                "nothing arrives: add [arrivals] to the scenario, or give a file (--arrivals FILE)"
            )
        return arrivals_of(world.arrivals, seeds, queues=world.queues, check=check)
    if isinstance(given, str | Path):
        arrivals = recorded_arrivals(given, world.arrivals)
        return arrivals_of(arrivals, seeds, queues=world.queues, check=check)
    if not isinstance(given, Iterable):
        raise ConfigError(
            "arrivals must be a file's path, or a sequence of Tickets or Arrivals, "
            f"got {type(given).__name__}"
        )
    rows = list(given)
    offset = float(math.floor(_at(0, rows[0]))) if rows else 0.0
    return ArrivalStream(_shifted(rows, offset), offset)


def _shifted(given: Iterable[Ticket | Arrival], offset: float) -> Iterator[Arrival]:
    """Yield tickets as arrivals, with times from the whole second of the first, as in a file."""
    for row, item in enumerate(given):
        at = _at(row, item) - offset
        if isinstance(item, Ticket):
            yield Arrival(at, NewTicket(item.players, item.queues, item.attributes, item.id))
            continue
        ticket = item.ticket
        if ticket.id is None:
            ticket = msgspec.structs.replace(ticket, id=str(row))
        yield Arrival(at, ticket, None if item.leaves_at is None else item.leaves_at - offset)


def _at(row: int, item: object) -> float:
    if isinstance(item, Arrival):
        return item.at
    if isinstance(item, Ticket):
        return item.enqueued_at
    raise ArrivalsError(
        f"arrival {row}: give a Ticket (its enqueued_at says when) or an Arrival(at, ticket), "
        f"got {type(item).__name__}"
    )
