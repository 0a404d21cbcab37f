"""`evenmatch demo`: players of two days or of an evening, and a real server, in a minute."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from cyclopts import Parameter

from evenmatch.errors import ConfigError

SECONDS_MIN = 3.0
SECONDS_MAX = 86_400.0
SPEED_MAX = 1_000_000.0
WORLDS = ("duel", "3v3")
SECONDS = 60.0
"""Length of a run that nobody set a length for; on a terminal it goes on after that."""
START_SECONDS = 3.0
"""What a server takes to start; what it takes more, to compile kernels, is added to the run."""
FEED_SHARE = 0.75
"""Part of the run in which players come; then the queue settles and tickets are checked."""
CHECKS_PER_SECOND = 2_000.0
"""Tickets that a slow machine checks in a second; the settling ends early enough for it."""


def demo(
    *,
    seconds: float | None = None,
    speed: float | None = None,
    world: str = "duel",
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Show a server at work on 9,690 real arrivals, or on parties from all over the world.

    The world `duel` is the Halo 2 beta of August 2004: everybody who queued to play one against
    one. In the world `3v3` 200 players a minute come at 20:00 Central European Time, alone and
    with friends, each from one of eleven regions.

    A server starts on a journal in a temporary directory, and the players come in over HTTP,
    faster than they did. Every match is proposed first: 90 of 100 parties accept, 8 decline and 2
    never answer; then the match is repaired with somebody else. The server's address, printed
    first, shows the dashboard. At the end every ticket is checked: none lost, none matched twice.

    The server's clock runs as fast as the players come. A player has three real seconds to answer,
    which are hours of that clock, so of the two waits shown the one until he is asked is what he
    would have felt.

    On a terminal and without --seconds the players then come again and again, until Ctrl-C.

    For example:

        evenmatch demo --seconds 20 --json
        evenmatch demo --world 3v3

    Args:
        seconds: Length of the whole run, real seconds; by default 60, and on until Ctrl-C.
        speed: World seconds per real second. By default all players of the duel come in 3/4 of
            the run, and those of 3v3 sixty times as fast as they would.
        world: Who arrives; duel or 3v3.
        json: Print one JSON object and nothing else.
    """
    if world not in WORLDS:
        raise ConfigError(f"--world must be {' or '.join(WORLDS)}, got {world!r}")
    if seconds is not None and not SECONDS_MIN <= seconds <= SECONDS_MAX:
        raise ConfigError(
            f"--seconds must be from {SECONDS_MIN:g} to {SECONDS_MAX:g}, got {seconds:g}"
        )
    if speed is not None and not 0.0 < speed <= SPEED_MAX:
        raise ConfigError(f"--speed must be above 0 and at most {SPEED_MAX:g}, got {speed:g}")
    return _show(world, seconds, speed, is_json=json)


def _show(world: str, seconds: float | None, speed: float | None, *, is_json: bool) -> int:
    """Run the demo and print what it came to; the code is 1 if a ticket was lost or duplicated."""
    # Imported here so that --help needs none of it.
    import asyncio
    import time

    import msgspec
    from rich.console import Console

    from evenmatch.cli.demo_ledger import Figures, Ledger
    from evenmatch.cli.demo_run import Run
    from evenmatch.cli.demo_server import ended_by_signals, server
    from evenmatch.cli.demo_view import View, print_address, print_goodbye, print_summary
    from evenmatch.cli.demo_world import SETTINGS
    from evenmatch.client import AsyncClient

    began = time.monotonic()
    setting, length = SETTINGS[world], seconds or SECONDS
    comers, pace = setting.guests(length * FEED_SHARE, speed)

    async def play(url: str, view: View, settle_until: float) -> Figures:
        async with AsyncClient(url) as client:
            run = Run(client, comers, speed=pace, queue=setting.queue, tell=view.tell)
            return await run.play(settle_until)

    console = Console(quiet=is_json)
    with ended_by_signals(), server(setting.server_config(pace)) as url:
        print_address(console, url)
        with View(console, length, setting.title) as shown:
            ends_at = max(began, time.monotonic() - START_SECONDS) + length
            shown.tell(Ledger(url))
            settle_until = ends_at - len(comers) / CHECKS_PER_SECOND
            figures = asyncio.run(play(url, shown, settle_until))
            if (left := ends_at - time.monotonic()) > 0:
                time.sleep(left)
        if is_json:
            print(msgspec.json.encode(figures).decode())
        else:
            print_summary(console, figures)
        if seconds is None and console.is_terminal and not is_json:
            print_goodbye(console, url)
            with suppress(KeyboardInterrupt), View(Console(quiet=True), length, "") as hidden:
                while True:
                    asyncio.run(play(url, hidden, time.monotonic()))
    return 1 if figures.lost or figures.duplicated else 0
