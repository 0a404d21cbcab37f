"""`evenmatch demo`: real players, a real server, two days of theirs in a minute of ours."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from evenmatch.errors import ConfigError

SECONDS_MIN = 3.0
SECONDS_MAX = 86_400.0
SPEED_MAX = 1_000_000.0
FEED_SHARE = 0.75
"""Part of the run in which players come; then the queue settles and tickets are checked."""
CHECKS_PER_SECOND = 2_000.0
"""Tickets that a slow machine checks in a second; the settling ends early enough for it."""


def demo(
    *,
    seconds: float = 60.0,
    speed: float | None = None,
    world: str = "halo",
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Show a server at work on 9,690 real arrivals: the Halo 2 beta of August 2004.

    A server starts on a journal in a temporary directory, and the players come in over HTTP,
    faster than they did. The server's clock runs as fast, so all waits are as the players would
    have felt them. At the end every ticket is checked: none lost, none matched twice.

    For example:

        evenmatch demo --seconds 20 --json

    Args:
        seconds: Length of the whole run, real seconds.
        speed: Trace seconds per real second; by default all players come in 3/4 of the run.
        world: Who arrives; halo.
        json: Print one JSON object and nothing else.
    """
    if world != "halo":
        raise ConfigError(f"--world must be halo in this version, got {world!r}")
    if not SECONDS_MIN <= seconds <= SECONDS_MAX:
        raise ConfigError(
            f"--seconds must be from {SECONDS_MIN:g} to {SECONDS_MAX:g}, got {seconds:g}"
        )
    if speed is not None and not 0.0 < speed <= SPEED_MAX:
        raise ConfigError(f"--speed must be above 0 and at most {SPEED_MAX:g}, got {speed:g}")
    return _show(seconds, speed, is_json=json)


def _show(seconds: float, speed: float | None, *, is_json: bool) -> int:
    """Run the demo and print what it came to; the code is 1 if a ticket was lost or duplicated."""
    # Imported here so that --help needs none of it.
    import asyncio
    import time

    import msgspec
    from rich.console import Console

    from evenmatch.cli.demo_run import Figures, Ledger, Run
    from evenmatch.cli.demo_view import View, print_summary
    from evenmatch.cli.demo_world import ended_by_signals, halo, server
    from evenmatch.client import AsyncClient

    ends_at = time.monotonic() + seconds
    guests = halo()
    feed_seconds = seconds * FEED_SHARE
    pace = speed if speed is not None else guests[-1].at / feed_seconds
    # Half a trace second more, so that rounding leaves nobody out.
    comers = [guest for guest in guests if guest.at <= feed_seconds * pace + 0.5]
    settle_until = ends_at - len(comers) / CHECKS_PER_SECOND

    async def play(url: str, view: View) -> Figures:
        async with AsyncClient(url) as client:
            run = Run(client, comers, speed=pace, tell=view.tell)
            return await run.play(settle_until)

    console = Console(quiet=is_json)
    with ended_by_signals(), server(pace) as url, View(console, seconds) as view:
        view.tell(Ledger(url))
        figures = asyncio.run(play(url, view))
        if (left := ends_at - time.monotonic()) > 0:
            time.sleep(left)
    if is_json:
        print(msgspec.json.encode(figures).decode())
    else:
        print_summary(console, figures)
    return 1 if figures.lost or figures.duplicated else 0
