"""`evenmatch advise`: how many players a game needs, or how long those that it has will wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evenmatch.cli.advise_options import BaseOptions, duration, player_base
from evenmatch.cli.options import Whole
from evenmatch.cli.output import check_apart, check_writable, console, print_json, write_text
from evenmatch.cli.progress import progress
from evenmatch.errors import ConfigError, NotSupported

if TYPE_CHECKING:
    from evenmatch.lab.advise.answer import Advice
    from evenmatch.lab.advise.base import PlayerBase

SEED_MAX = 2**62
NO_OPTIONS = BaseOptions()


def advise(
    *,
    players_online: float | None = None,
    target_wait: str | None = None,
    percentile: float = 0.5,
    base: Annotated[BaseOptions, Parameter(name="*")] = NO_OPTIONS,
    simulate: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    seed: Whole = 1,
    scenario: Path | None = None,
    plot: Path | None = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> None:
    """Say how many players a game needs, or how long the players it has will wait.

    Give --target-wait to learn how many players it takes, or --players-online to learn how long
    they wait. Times are seconds, or texts such as 90s, 30m, 2h.

    For example:

        evenmatch advise --match 5v5 --target-wait 60 --split region=eu:0.6,us:0.3,asia:0.1
        evenmatch advise --match 1v1 --players-online 500 --percentile 0.9 --split modes=3

    Args:
        players_online: Players in a match, pausing or searching; with --hours on average.
        target_wait: The wait within which a share of the players of every pool should be matched.
            With --hours it goes together with --players-online.
        percentile: That share; 0.5 is half of the players.
        base: The game and its players.
        simulate: Simulate the smallest pool, the longest waiting first, and print intervals; if
            theory has no answer, all figures then come from the simulation.
        seed: Seed of all random draws in the simulation.
        scenario: Write the smallest pool as a scenario for `evenmatch simulate` into this file.
        plot: Draw waits over players online, and what each split costs, into this .svg or .png.
        json: Print one JSON object and nothing else.
    """
    check_writable({"--scenario": scenario, "--plot": plot})
    check_apart({"--plot": plot, "--scenario": scenario}, [])
    if not 0 <= seed <= SEED_MAX:
        raise ConfigError(f"--seed must be from 0 to {SEED_MAX}, got {seed}")
    if plot is not None:
        from evenmatch.lab.advise.plot import check_plot

        check_plot(plot)
    found = _work(player_base(base), players_online, target_wait, percentile)
    if simulate:
        found = _simulated(found, seed)
    _write(found, scenario, plot, seed)
    if json:
        print_json(found.figures())
        return
    from evenmatch.cli.advise_view import print_advice

    out = console()
    print_advice(out, found)
    for what, path in (("scenario", scenario), ("plot", plot)):
        if path is not None:
            out.print(f"{what}: {path}", soft_wrap=True)


def _work(
    base: PlayerBase, players_online: float | None, target_wait: str | None, percentile: float
) -> Advice:
    if find_spec("scipy") is None:
        raise NotSupported("advise needs more packages: pip install 'evenmatch[theory]'")
    from evenmatch.lab.advise.advice import advise as advise_on

    wait = None if target_wait is None else duration("--target-wait", target_wait)
    return advise_on(base, players_online=players_online, target_wait=wait, percentile=percentile)


def _simulated(advice: Advice, seed: int) -> Advice:
    if find_spec("numba") is None:
        raise NotSupported("--simulate needs more packages: pip install 'evenmatch[solve]'")
    from evenmatch.lab.advise.advice import simulate
    from evenmatch.lab.advise.simulated import RUNS
    from evenmatch.lab.study.study import map_all

    with progress("simulating", 2 * RUNS) as on_done:

        def map_(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
            return map_all(function, items, on_done)

        return simulate(advice, seed, map_)


def _write(advice: Advice, scenario: Path | None, plot: Path | None, seed: int) -> None:
    """Write the files that are asked for."""
    if scenario is not None:
        from evenmatch.lab.advise.advice import scenario_of

        pool = scenario_of(advice, seed)
        rows = pool.csv()
        csv = scenario.with_suffix(".csv")
        if rows is not None:
            check_writable({"--scenario": csv})
            write_text(csv, rows)
        write_text(scenario, pool.toml(None if rows is None else csv.name))
    if plot is not None:
        from evenmatch.lab.advise.plot import write_plot

        if not write_plot(advice, plot):
            raise NotSupported("--plot: there is nothing to draw, since nobody is ever matched")
