"""`evenmatch check`: is a configuration valid, what does it mean, and do matches keep to it?"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from evenmatch.cli.queue_description import describe_all, warnings_of
from evenmatch.cli.recording_warnings import drawn_instead, uncounted
from evenmatch.cli.scale_warnings import scale_warnings
from evenmatch.cli.setting_warnings import setting_warnings
from evenmatch.config.files import (
    check_hooks,
    check_targets,
    load_document,
    load_scenario,
    load_server,
    load_tenants,
    naming,
    scenario_of,
    server_of,
)
from evenmatch.config.mistakes import mistakes_of
from evenmatch.config.server import ServerSettings
from evenmatch.engine.matching.pool import Pool
from evenmatch.errors import ConfigError, JournalUnavailable
from evenmatch.lab.simulate import plain_if_few, with_policy
from evenmatch.model.scenario import Scenario
from evenmatch.policies.hooks import target_of
from evenmatch.policies.registry import check_kernels, policies_of
from evenmatch.simulation.arrivals.arrivals import arrivals_of
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import History
from evenmatch.simulation.simulator import Simulator

if TYPE_CHECKING:
    from evenmatch.journals.base import Journal
    from evenmatch.server.runtime.recovery import Foreseen

PROBLEMS_MAX = 20
"""Problems of a file that are printed; the rest is counted."""
BAD_INPUT = 2
TRIED = 100
"""Arrivals that are tried."""
WARMING_MOST = 100_000
"""Arrivals among which one after the warm-up is looked for."""
PLAYED = 300
"""Arrivals that are played at least to see what waiting longer buys."""


def check(
    config: Path | None = None,
    /,
    *,
    matches: Path | None = None,
    against: str | None = None,
) -> int:
    """Check a configuration, explain it, and warn about settings that may surprise you.

    For example:

        evenmatch check scenarios/duel.toml
        evenmatch check scenarios/duel.toml --against data
        evenmatch check flexmatch_rules.json

    Args:
        config: A scenario or a server's configuration in TOML, or a FlexMatch rule set or PlayFab
            queues in JSON. If the file has [[tenant]] tables, all games that it names are checked.
        matches: A file of matches to check against the configuration, one JSON object per line.
        against: A server's data directory, or the address of its journal. The command then says how
            many of the tickets waiting there would end under this configuration. The server may
            keep running.
    """
    if config is None:
        raise ConfigError("name a configuration: evenmatch check CONFIG.toml (see --help)")
    if matches is not None and against is not None:
        raise ConfigError("give only one of --matches and --against: they are two checks")
    if config.suffix.lower() == ".json":
        # Configurations are TOML: this is meant as a rule set. What only some checks need is loaded
        # by them, so that the others begin sooner.
        from evenmatch.cli.check_rules import check_rules

        if against is not None:
            raise ConfigError(f"{config}: --against takes a server's configuration, in TOML")
        return check_rules(config, matches)
    try:
        tenants = load_tenants(config)
    except ConfigError:
        if _say_mistakes(config):
            return BAD_INPUT
        raise
    if not tenants:
        return _check_game(config, matches, against)
    if matches is not None:
        raise ConfigError(f"{config}: --matches checks one game; name the file of that game")
    print(f"{config} names {len(tenants)} games.")
    codes = []
    for tenant in tenants:
        print(f"\n[{tenant.name}]")
        codes.append(_check_game(Path(tenant.config), None, against, tenant.name))
    return max(codes)


def _check_game(config: Path, matches: Path | None, against: str | None, tenant: str = "") -> int:
    """Check the configuration of one game, and return the exit code."""
    try:
        scenario = load_scenario(config)
        _, settings, _ = load_server(config)
    except ConfigError:
        if _say_mistakes(config):
            return BAD_INPUT
        raise
    if matches is not None:
        return _check_matches(config, scenario, matches)
    with naming(config):
        _read_keys(settings)
        pools, tried, is_counted = _try_out(scenario)
        warnings = [
            *warnings_of(scenario, pools),
            *drawn_instead(scenario),
            *scale_warnings(scenario.queues, tried),
            *setting_warnings(settings, scenario.queues),
            *([] if is_counted else [uncounted(scenario)]),
        ]
    print(f"{config} is valid.")
    for described in describe_all(scenario.queues, pools):
        print("\n" + described)
    if warnings:
        print()
    for warning in warnings:
        print(f"warning: {warning}")
    if is_counted and any(target_of(pool.queue, pool.policy) is not None for pool in pools):
        from evenmatch.cli.sweep import say_longer_of

        say_longer_of(scenario, PLAYED)
    if against is not None:
        print("\n" + _foreseen(config, against, tenant))
    return 0


def _say_mistakes(config: Path) -> bool:
    """Say what is wrong with a configuration, if that is more than one thing."""

    def read(document: Mapping[str, object]) -> None:
        scenario_of(document, config.parent)
        queues, settings, _ = server_of(document, config.parent)
        check_hooks(queues, settings)
        check_targets(document, settings)

    found = mistakes_of(load_document(config), read)
    if len(found) < 2:
        return False
    for mistake in found[:PROBLEMS_MAX]:
        print(f"evenmatch: {config}: {' '.join(mistake.split())}", file=sys.stderr)
    if (more := len(found) - PROBLEMS_MAX) > 0:
        print(f"evenmatch: {config}: and {more:,} more", file=sys.stderr)
    return True


def _read_keys(settings: ServerSettings) -> None:
    """Read the files of keys and secrets that the settings name, as a server does when it starts.

    Raises:
        ConfigError: It would not start with one of them.
    """
    secrets = [hook.secret_file for hook in settings.allocation.values()]
    secrets += [each.secret_file for each in settings.notifications.values()]
    if settings.log_tickets:
        secrets.append(settings.log_secret_file)
    if settings.tokens is None and settings.keys_file is None and not any(secrets):
        return
    from evenmatch.cli.serve import needs_server

    needs_server()
    from evenmatch.server.allocation.hooks import Hook
    from evenmatch.server.auth.accounts import Accounts
    from evenmatch.server.gamelift.delivery import Target
    from evenmatch.server.runtime.secret_files import read_secret

    Accounts(settings)
    for name, hook in settings.allocation.items():
        Hook(name, hook)
    for name, notification in settings.notifications.items():
        Target(name, notification)
    if settings.log_tickets and settings.log_secret_file is not None:
        read_secret(Path(settings.log_secret_file))


def _foreseen(config: Path, data: str, tenant: str) -> str:
    """Return in words what a configuration would do to the tickets that wait in a journal.

    Raises:
        ConfigError: There is no journal, or it cannot be opened.
        JournalCorrupt: It is damaged.
    """
    from evenmatch.cli.serve import needs_server

    needs_server()
    # Imported here because all else needs no server.
    import asyncio

    from evenmatch.journals.copying import is_address
    from evenmatch.journals.opening import (
        open_journal,
        saying_what_to_check,
        without_password,
    )
    from evenmatch.journals.sqlite import SqliteJournal

    async def look() -> list[str]:
        if is_address(data):
            journal = open_journal(data, game=tenant, is_read_only=True)
        else:
            journal = SqliteJournal.open(Path(data) / tenant, create=False)
        try:
            return await _foreseen_by_shard(journal, await journal.shards(), config, place)
        finally:
            await journal.close()

    place = without_password(data) if is_address(data) else str(Path(data) / tenant)
    try:
        with naming(config), saying_what_to_check(data):
            return "\n".join(asyncio.run(look()))
    except JournalUnavailable as error:
        raise ConfigError(str(error)) from error


async def _foreseen_by_shard(
    journal: Journal, shards: list[str], config: Path, place: str
) -> list[str]:
    """Return a sentence for each shard that the journal has or the configuration makes."""
    from evenmatch.model.shards import FIRST, shards_of
    from evenmatch.server.runtime.recovery import ShardPlan, foresee_against, rebuild

    queues, settings, seed = load_server(config)
    whole = ShardPlan(queues, seed, settings)
    layout = shards_of(queues)
    names = [each.name for each in layout if each.split[1]]
    new = [name for name in names if name not in shards and name.partition("~")[0] in shards]
    found = []
    if new:
        found.append(
            f"This configuration splits a group into more parts than {place} has (new: "
            f"{', '.join(new)}): drain the nodes first, or a player may wait in two parts at once."
        )
    if set(shards) <= {FIRST}:
        # One server has all groups in one shard; so has a cluster whose queues are all together.
        seen = await foresee_against(journal, whole)
        return [_foreseen_sentences(seen, f"{_tickets(seen.waiting)} in {place}"), *found]
    for part in layout:
        own = tuple(queue for queue in queues if queue.name in part.queues)
        plan = msgspec.structs.replace(whole, queues=own, shard=part.name, layout=layout)
        seen = await foresee_against(journal, plan)
        waits = f"{_tickets(seen.waiting)} in shard {part.name} of {place}"
        found.append(_foreseen_sentences(seen, waits))
    for shard in sorted(set(shards) - {part.name for part in layout}):
        rebuilt = await rebuild(journal, msgspec.structs.replace(whole, shard=shard))
        found.append(
            f"{_tickets(len(rebuilt.engine.tables.waiting))} in shard {shard} of {place}, which "
            f"this configuration no longer makes: no node would answer for them again."
        )
    return found


def _foreseen_sentences(seen: Foreseen, waits: str) -> str:
    effect = seen.effect
    told = (
        f"{waits}: {effect.expire:,} would expire with the reason "
        f"queue_changed, {effect.leave:,} would leave a queue and wait on in another, "
        f"{effect.overdue:,} would be past wait_max and end at once: in a match, or with the "
        f"reason deadline."
    )
    if seen.refused:
        told += f" A start with this configuration, and SIGHUP, would be refused: {seen.refused}."
    if seen.set_by:
        told += (
            f" The configuration in force there is another one, and came by {seen.set_by}: a start "
            f"goes on with it, and if this file was edited since, a server starts only with "
            f"--config-from file or --config-from data."
        )
    return told


def _tickets(count: int) -> str:
    return "1 ticket waits" if count == 1 else f"{count:,} tickets wait"


def _try_out(scenario: Scenario) -> tuple[list[Pool], list[Arrival], bool]:
    """Set the queues to work, let the first arrivals come, and return both.

    Also return whether a simulation would count any of all arrivals.

    Raises:
        MatchmakingError: A policy cannot work on its queue or here, or an arrival cannot be taken.
    """
    for queue in scenario.queues:
        for spec in policies_of(queue):
            check_kernels(spec, queue.name)
    queues, resolve = with_policy(scenario.queues, None)
    tried: list[Arrival] = []
    is_counted = True
    with plain_if_few(TRIED, queues, [resolve(queue) for queue in queues]):
        simulator = Simulator(queues, resolve, History(queues[0].name), until=scenario.until)
        pools = list(simulator.engine.pools.values())
        if scenario.arrivals is not None:
            seeds = np.random.SeedSequence(scenario.seed)
            check = simulator.check
            coming = arrivals_of(scenario.arrivals, seeds, queues=queues, check=check)
            if coming.bad is not None:
                print(f"warning: {coming.bad.warning()}", file=sys.stderr)
            tried = list(islice(coming, TRIED))
            simulator.run(tried)
            is_counted = not _are_all_warming(scenario, chain(tried, coming))
    return pools, tried, is_counted


def _are_all_warming(scenario: Scenario, coming: Iterable[Arrival]) -> bool:
    """Return whether nobody comes after the warm-up; False where too many come to tell."""
    if not scenario.warmup:
        return False
    return not any(
        each.at >= scenario.warmup or number == WARMING_MOST for number, each in enumerate(coming)
    )


def _check_matches(config: Path, scenario: Scenario, matches: Path) -> int:
    """Return the exit code: 1 if a line breaks the configuration."""
    from evenmatch.lab.check_matches import MatchCheck

    check = MatchCheck(scenario.queues)
    problems = 0
    for problem in check.problems(matches):
        problems += 1
        if problems <= PROBLEMS_MAX:
            print(f"{matches}: {problem}", file=sys.stderr)
    if problems:
        often = "once" if problems == 1 else f"{problems:,} times"
        print(f"{matches} breaks {config} {often}.", file=sys.stderr)
        return 1
    kept = "1 match keeps" if check.count == 1 else f"{check.count:,} matches keep"
    print(f"{matches}: {kept} to {config}, as far as the file can show.")
    return 0
