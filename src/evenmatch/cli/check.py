"""`evenmatch check`: is a configuration valid, what does it mean, and do matches keep to it?"""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import numpy as np

from evenmatch.cli.sentences import describe, warnings_of
from evenmatch.config import load_scenario, load_server
from evenmatch.engine.pool import Pool
from evenmatch.errors import ConfigError, NotSupported
from evenmatch.lab.check_matches import MatchCheck
from evenmatch.lab.simulate import with_policy
from evenmatch.model.scenario import Scenario
from evenmatch.sim.arrivals import arrivals_of
from evenmatch.sim.history import History
from evenmatch.sim.simulator import Simulator

PROBLEMS_MAX = 20
"""Problems of a matches file that are printed; the rest is counted."""
TRIED = 100
"""Arrivals that are tried."""


def check(
    config: Path | None = None,
    /,
    *,
    matches: Path | None = None,
    against: Path | None = None,
) -> int:
    """Check a configuration, say what it means, and warn of surprises.

    For example:

        evenmatch check scenarios/duel.toml

    Args:
        config: A scenario or a server's configuration, in TOML.
        matches: A file of matches to check against the configuration, one JSON object a line.
        against: A server's data to compare with (comes with a later version).
    """
    if against is not None:
        raise NotSupported("--against comes with a later version; leave it out")
    if config is None:
        raise ConfigError("name a configuration: evenmatch check CONFIG.toml (see --help)")
    scenario = load_scenario(config)
    load_server(config)
    if matches is not None:
        return _check_matches(config, scenario, matches)
    pools = _try_out(scenario)
    print(f"{config} is valid.")
    for pool in pools:
        print("\n" + "\n".join(describe(pool)))
    warnings = list(warnings_of(scenario, pools))
    if warnings:
        print()
    for warning in warnings:
        print(f"warning: {warning}")
    return 0


def _try_out(scenario: Scenario) -> list[Pool]:
    """Set the queues to work, and let the first arrivals come.

    Raises:
        MatchmakingError: A policy cannot work on its queue, or an arrival cannot be taken.
    """
    queues, resolve = with_policy(scenario.queues, None)
    simulator = Simulator(queues, resolve, History(queues[0].name), until=scenario.until)
    pools = list(simulator.engine.pools.values())
    if scenario.arrivals is not None:
        seeds = np.random.SeedSequence(scenario.seed)
        simulator.run(islice(arrivals_of(scenario.arrivals, seeds, queues=queues), TRIED))
    return pools


def _check_matches(config: Path, scenario: Scenario, matches: Path) -> int:
    """Return the exit code: 1 if a line breaks the configuration."""
    found = MatchCheck(scenario.queues)
    problems = 0
    for problem in found.problems(matches):
        problems += 1
        if problems <= PROBLEMS_MAX:
            print(f"{matches}: {problem}", file=sys.stderr)
    if problems:
        often = "once" if problems == 1 else f"{problems:,} times"
        print(f"{matches} breaks {config} {often}.", file=sys.stderr)
        return 1
    kept = "1 match keeps" if found.count == 1 else f"{found.count:,} matches keep"
    print(f"{matches}: {kept} to {config}, as far as the file can show.")
    return 0
