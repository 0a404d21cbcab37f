"""`evenmatch advise`: how many players a game needs, or how long those that it has will wait."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evenmatch.cli.options import Whole, WholeOrNone
from evenmatch.cli.output import (
    check_distinct_paths,
    check_writable,
    console,
    print_json,
    write_text,
)
from evenmatch.cli.progress import progress
from evenmatch.errors import ConfigError, NotSupported
from evenmatch.lab.advise.player_base import HOURS, PlayerBase, Split

if TYPE_CHECKING:
    from evenmatch.lab.advise.answer import Advice


# What `evenmatch advise` is told, from texts to a `PlayerBase`.

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
DURATION = re.compile(r"([0-9.]+(?:e[+-]?[0-9]+)?)\s*(s|min|m|h|)")
TEAMS_MAX = 1_000
FILE_BYTES_MAX = 100_000
RENAMED = {"role_shares": "role_share"}
"""Fields of `PlayerBase` whose option has another name."""


@dataclass(frozen=True)
class BaseOptions:
    """The game and its players, as they are typed.

    Args:
        match: Teams: 5v5, 1v4, 1v1v1, or 20x3 for twenty teams of three.
        match_length: How long a match lasts.
        idle: Mean time from the end of a match until the player queues again.
        split: Something that keeps players apart: region=eu:0.6,us:0.4, or modes=2 for equal
            shares. Repeat it for more; every combination is a separate pool.
        parties: Shares of players in parties of 1, 2, 3, ...: 0.7,0.2,0.1.
        roles: Players of a team by role: tank=1,healer=1,dps=3.
        role_share: Shares of players by the roles they accept:
            tank:0.1,tank+healer:0.1,dps:0.6,any:0.2.
        sides: Shares of players who insist on a side: A:0.3,B:0.3,any:0.4.
        patience: Mean time after which a player gives up; by default nobody does.
        levels: Shares of players by level, lowest first; the answer says where to cut zones.
        zones: The most zones to cut the levels into; 2 by default.
        hours: 24 numbers, the players online in each hour of the day, or a file with them; only
            their proportions count.
    """

    match: str = "5v5"
    match_length: str = "30m"
    idle: str = "2m"
    split: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = ()
    parties: str | None = None
    roles: str | None = None
    role_share: str | None = None
    sides: str | None = None
    patience: str | None = None
    levels: str | None = None
    zones: WholeOrNone = None
    hours: str | None = None


def duration(option: str, text: str) -> float:
    """Return the seconds of `90`, `90s`, `30m` or `2h`.

    Raises:
        ConfigError: The text is no duration.

    >>> duration("--idle", "30m")
    1800.0
    """
    found = DURATION.fullmatch(text.strip())
    try:
        return float(found[1]) * UNITS[found[2]] if found else _refuse_duration(option, text)
    except ValueError:
        return _refuse_duration(option, text)


def _refuse_duration(option: str, text: str) -> float:
    raise ConfigError(f"{option} must be seconds, or a time such as 90s, 30m or 2h, got {text!r}")


def teams_of(text: str) -> tuple[int, ...]:
    """Return the players of each team of `5v5`, `1v1v1`, `1v4` or `20x3`, twenty teams of three.

    Raises:
        ConfigError: The text is none of these.

    >>> teams_of("1v4"), teams_of("3x2")
    ((1, 4), (2, 2, 2))
    """
    if found := re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})", text):
        count, size = int(found[1]), int(found[2])
        if count <= TEAMS_MAX:
            return (size,) * count
    elif re.fullmatch(r"[0-9]{1,4}(v[0-9]{1,4})+", text):
        return tuple(map(int, text.split("v")))
    raise ConfigError(
        f"--match must be written like 5v5, 1v4, 1v1v1, or 20x3 for twenty teams of three, "
        f"got {text!r}"
    )


def split_of(text: str) -> Split:
    """Return the split of `modes=2` or `region=eu:0.6,us:0.4`.

    Raises:
        ConfigError: The text is neither.
    """
    name, equals, rest = text.partition("=")
    if not equals or not name or not rest:
        raise ConfigError(
            f"--split must be written like modes=2 or region=eu:0.6,us:0.4, got {text!r}"
        )
    if ":" not in rest:
        return Split.even(name, _whole(f"--split {name}", rest, "a number of equal options"))
    return Split(name, named_shares(f"--split {name}", rest))


def named_shares(option: str, text: str) -> dict[str, float]:
    """Return the shares of `tank:0.1,healer:0.9` by name.

    Raises:
        ConfigError: The text is not of this form, or a name is repeated.
    """
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, colon, share = part.strip().rpartition(":")
        if not colon or not name:
            raise ConfigError(f"{option} must be written like a:0.6,b:0.4, got {part.strip()!r}")
        if name in shares:
            raise ConfigError(f"{option} names {name} twice")
        shares[name] = _number(f"{option}: the share of {name}", share)
    return shares


def role_counts(text: str) -> dict[str, int]:
    """Return the players by role of `tank=1,dps=3`.

    Raises:
        ConfigError: The text is not of this form, or a role is repeated.
    """
    roles: dict[str, int] = {}
    for part in text.split(","):
        name, equals, count = part.strip().partition("=")
        if not equals or not name:
            raise ConfigError(f"--roles must be written like tank=1,dps=3, got {part.strip()!r}")
        if name in roles:
            raise ConfigError(f"--roles names {name} twice")
        roles[name] = _whole(f"--roles {name}", count, "players of a team")
    return roles


def numbers(option: str, text: str) -> tuple[float, ...]:
    """Return the numbers of `0.7,0.3`.

    Raises:
        ConfigError: One of them is no number.
    """
    return tuple(_number(option, part) for part in text.split(","))


def hours_of(text: str) -> tuple[float, ...]:
    """Return the numbers by hour, from the text or from the file that it names.

    Raises:
        ConfigError: The file cannot be read, or a number is none.
    """
    if re.fullmatch(r"[-+0-9.eE,\s]+", text) and "," in text:
        return numbers("--hours", text)
    try:
        with Path(text).open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
        read = raw.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ConfigError(
            f"--hours must be {HOURS} numbers such as 30,22,...,41 or a file that has them, "
            f"and {text!r} cannot be read: {reason}"
        ) from None
    if len(raw) > FILE_BYTES_MAX or not read.strip():
        raise ConfigError(f"--hours: {text} must be a file of {HOURS} numbers")
    return tuple(_number(f"--hours {text}", part) for part in re.split(r"[,;\s]+", read.strip()))


def player_base(options: BaseOptions) -> PlayerBase:
    """Return the game and its players.

    Raises:
        ConfigError: An option cannot be read, or they contradict each other.
    """
    if options.zones is not None and options.levels is None:
        raise ConfigError("--zones says how to cut levels; give --levels 0.4,0.3,0.2,0.1 too")
    read: dict[str, Any] = {
        "teams": teams_of(options.match),
        "match_length": duration("--match-length", options.match_length),
        "idle": duration("--idle", options.idle),
        "splits": tuple(map(split_of, options.split)),
    }
    readers: dict[str, Callable[[str], Any]] = {
        "parties": lambda text: numbers("--parties", text),
        "roles": role_counts,
        "role_shares": lambda text: named_shares("--role-share", text),
        "sides": lambda text: named_shares("--sides", text),
        "patience": lambda text: duration("--patience", text),
        "levels": lambda text: numbers("--levels", text),
        "hours": hours_of,
    }
    for name, reader in readers.items():
        text = getattr(options, RENAMED.get(name, name))
        if text is not None:
            read[name] = reader(text)
    if options.zones is not None:
        read["zones"] = options.zones
    return PlayerBase(**read)


def _number(what: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"{what} must be a number, got {text.strip()!r}")
    return number


def _whole(what: str, text: str, meaning: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"{what} must be {meaning}, a whole number, got {text!r}") from None


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
    """Say how many players a game needs, or how long its players will wait.

    Give --target-wait to learn how many players you need, or --players-online to learn how long
    they will wait. Times are in seconds, or written like 90s, 30m or 2h.

    For example:

        evenmatch advise --match 5v5 --target-wait 60 --split region=eu:0.6,us:0.3,asia:0.1
        evenmatch advise --match 1v1 --players-online 500 --percentile 0.9 --split modes=3

    Args:
        players_online: Players in a match, between matches or in the queue; with --hours, their
            daily average.
        target_wait: The wait within which the share --percentile of the players in every pool
            should be matched. With --hours, give --players-online too.
        percentile: The share of players for --target-wait; 0.5 is half of them.
        base: The game and its players.
        simulate: Also simulate the smallest pool, serving the longest waiting first, and print
            intervals; if theory has no answer, all figures come from the simulation.
        seed: Seed of all random draws in the simulation.
        scenario: Write the smallest pool to this file, as a scenario for `evenmatch simulate`.
        plot: Plot the wait against the players online, and what each split costs, to this .svg or
            .png.
        json: Print one JSON object and nothing else.
    """
    check_writable({"--scenario": scenario, "--plot": plot})
    check_distinct_paths({"--plot": plot, "--scenario": scenario}, [])
    if not 0 <= seed <= SEED_MAX:
        raise ConfigError(f"--seed must be from 0 to {SEED_MAX}, got {seed}")
    if plot is not None:
        from evenmatch.lab.advise.plot import check_plot

        check_plot(plot)
    advice = _work(player_base(base), players_online, target_wait, percentile)
    if simulate:
        advice = _simulated(advice, seed)
    _write(advice, scenario, plot, seed)
    if json:
        print_json(advice.figures())
        return
    from evenmatch.cli.advise_view import print_advice

    out = console()
    print_advice(out, advice)
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
    from evenmatch.lab.advise.pool_simulation import RUNS
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
            why = "nobody is ever matched"
            if advice.players_online == 0.0:
                why = "any number of players will do; ask for a higher --percentile"
            raise NotSupported(f"--plot: there is nothing to draw, since {why}")
