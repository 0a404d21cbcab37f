"""`evenmatch demo`: real players of an evening, or players of the world, and a real server."""

from __future__ import annotations

import math
import sys
from typing import Annotated

from cyclopts import Parameter

from evenmatch.errors import ConfigError

SECONDS_MIN = 3.0
SECONDS_MAX = 86_400.0
HOURS_MAX = 1_000.0
WORLDS = ("duel", "3v3", "5v5")
START_SECONDS = 3.0
"""What a server takes to start; what it takes more, to compile kernels, is added to the run."""
SETTLE_SECONDS = 3.0
"""Real seconds after the last arrival in which those who wait may still be matched."""
CHECKS_PER_SECOND = 2_000.0
"""Tickets that a slow machine checks in a second; the settling ends early enough for it."""


def demo(
    *,
    seconds: float | None = None,
    speed: float | None = None,
    hours: str | None = None,
    world: str = "duel",
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Watch a server match real arrivals, or parties from all over the world.

    --world says who arrives. `duel` replays the Halo 2 beta of August 2004: all players who queued
    for one against one, by default in its busiest five hours, which take three minutes here. In
    `3v3`, 200 players arrive per minute at 20:00 Central European Time, alone or with friends, from
    eleven regions. In `5v5` there are 200 per minute too, and they have roles.

    The demo starts a real server with a journal in a temporary directory and a clock that runs
    faster than real time; the players connect to it over HTTP. Every match is proposed first; some
    players decline or never answer, and the server replaces them. Open the address that is printed
    first to see the dashboard. At the end the demo checks that no ticket was lost and none was
    matched twice.

    Waits run from a player's ticket to the match, by the server's clock. At the default speed a
    message to the server takes about a second of that clock. At a higher speed it takes longer, and
    the output says so where it matters.

    Ctrl-C ends the run early and still prints the summary. On a terminal, without --seconds, the
    demo starts over after each run until you press Ctrl-C.

    For example:

        evenmatch demo --seconds 20 --json
        evenmatch demo --hours 1
        evenmatch demo --world 5v5

    Args:
        seconds: How long the whole run takes, in real seconds; the speed then follows from --hours.
            By default 60, and for duel as long as its hours take at 100 times real time.
        speed: Seconds of the server's clock per real second; by default 100 for duel, 30 for 3v3
            and 10 for 5v5.
        hours: How many consecutive hours of the recording to play, the busiest ones, or `all`; 5 by
            default.
        world: Who arrives: duel, 3v3 or 5v5.
        json: Print one JSON object and nothing else.
    """
    if world not in WORLDS:
        raise ConfigError(
            f"--world must be {', '.join(WORLDS[:-1])} or {WORLDS[-1]}, got {world!r}"
        )
    if seconds is not None and not SECONDS_MIN <= seconds <= SECONDS_MAX:
        raise ConfigError(
            f"--seconds must be from {SECONDS_MIN:g} to {SECONDS_MAX:g}, got {seconds:g}"
        )
    if speed is not None and not speed > 0.0:
        raise ConfigError(f"--speed must be above 0, got {speed:g}")
    return _show(world, seconds, speed, _hours(hours), is_json=json)


def _hours(given: str | None) -> float | None:
    """Return a number of hours; `all` is inf."""
    if given is None:
        return None
    if given == "all":
        return math.inf
    try:
        hours = float(given)
    except ValueError:
        hours = math.nan
    if not 0.0 < hours <= HOURS_MAX:
        raise ConfigError(
            f"--hours must be above 0 and at most {HOURS_MAX:g}, or all, got {given!r}"
        )
    return hours


def _show(
    world: str, seconds: float | None, speed: float | None, hours: float | None, *, is_json: bool
) -> int:
    """Run the demo and print what it came to; the code is 1 if a ticket was lost or duplicated."""
    # Imported here so that --help needs none of it.
    import asyncio
    import time

    import msgspec
    from rich.console import Console

    from evenmatch.client.client import AsyncClient
    from evenmatch.demo.ledger import DemoFigures, TicketLedger
    from evenmatch.demo.run import DemoRun, simulated_wait
    from evenmatch.demo.server import ended_by_signals, server, stopped_by_ctrl_c
    from evenmatch.demo.view import TerminalView, print_address, print_goodbye, print_summary
    from evenmatch.demo.world import SETTINGS

    began = time.monotonic()
    setting = SETTINGS[world]
    plan = setting.plan(seconds, speed, hours)
    checking = len(plan.guests) / CHECKS_PER_SECOND

    async def play(url: str, view: TerminalView, settle_until: float) -> tuple[DemoFigures, bool]:
        async with AsyncClient(url) as client:
            run = DemoRun(client, plan.guests, setting, speed=plan.speed, tell=view.tell)
            with stopped_by_ctrl_c(run.stop):
                return await run.play(settle_until), run.is_stopped

    console = Console(quiet=is_json)
    with ended_by_signals(), server(setting.server_config(plan.speed), _say) as url:
        print_address(console, url)
        if seconds is None:
            ends_at = time.monotonic() + plan.seconds + SETTLE_SECONDS + checking
        else:
            ends_at = max(began, time.monotonic() - START_SECONDS) + seconds
        with TerminalView(console, ends_at - time.monotonic(), setting.title) as shown:
            shown.tell(TicketLedger(url))
            figures, is_stopped = asyncio.run(play(url, shown, ends_at - checking))
        if setting.is_recorded and not is_stopped:
            figures = msgspec.structs.replace(figures, simulated=simulated_wait(setting, plan))
        if is_json:
            print(msgspec.json.encode(figures).decode())
        else:
            print_summary(console, figures)
        if seconds is None and console.is_terminal and not (is_json or is_stopped):
            print_goodbye(console, url)
            with TerminalView(Console(quiet=True), plan.seconds, "") as hidden:
                while not is_stopped:
                    _, is_stopped = asyncio.run(play(url, hidden, time.monotonic()))
    return 1 if figures.lost or figures.duplicated else 0


def _say(sentence: str) -> None:
    """Tell people what the server is busy with before players can come."""
    print(f"evenmatch: {sentence}", file=sys.stderr, flush=True)
