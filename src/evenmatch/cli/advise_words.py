"""Numbers of an advice as people read them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenmatch.lab.advise.answer import Advice
    from evenmatch.lab.advise.base import PlayerBase
    from evenmatch.lab.advise.flexible import Flexible

MINUTE, HOUR = 60.0, 3600.0
AT_ONCE = 0.01
"""Seconds below which a wait is none to people."""
MATCHES_FEW = 3.0
"""Matches' worth of players online below which those who play are missed among the searching."""


def players(count: float | None) -> str:
    """Return a number of players, rounded, with separators.

    >>> players(3987.03), players(None)
    ('3,987', 'no number')
    """
    if count is None or not math.isfinite(count):
        return "no number"
    return f"{count:,.0f}" if count >= 10.0 else f"{count:.2g}"


def seconds(wait: float | None) -> str:
    """Return a wait to three digits, in a unit that people think in.

    >>> seconds(2e-152), seconds(59.99), seconds(273.1), seconds(8000.0), seconds(None)
    ('0 s', '60 s', '4.6 min', '2.2 h', '-')
    """
    if wait is None or not math.isfinite(wait):
        return "-"
    if wait < AT_ONCE:
        return "0 s"
    if wait < 119.5:
        return f"{wait:.2g} s" if wait < 9.95 else f"{wait:.0f} s"
    if wait < 2.0 * HOUR:
        return f"{wait / MINUTE:.1f} min" if wait < 10.0 * MINUTE else f"{wait / MINUTE:.0f} min"
    return f"{wait / HOUR:.1f} h" if wait < 100.0 * HOUR else f"{wait / HOUR:,.0f} h"


def within(wait: float | None) -> str:
    """Return when players are matched who wait no longer than this; None is never.

    >>> within(60.0), within(0.001), within(None)
    ('within 60 s', 'at once', 'never, because so many give up first')
    """
    if wait is None:
        return "never, because so many give up first"
    return "at once" if wait < AT_ONCE else f"within {seconds(wait)}"


def after(wait: float) -> str:
    """Return when players are matched who wait so long on average.

    >>> after(6.8), after(2e-152)
    ('after 6.8 s', 'at once')
    """
    return "at once" if wait < AT_ONCE else f"after {seconds(wait)}"


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.6), percent(0.0333333)
    ('60 %', '3.33 %')
    """
    return f"{100.0 * share:.3g} %"


def part(share: float) -> str:
    """Return a share of players in words where there is one.

    >>> part(0.5), part(0.9)
    ('half', '90 %')
    """
    return "half" if share == 0.5 else percent(share)


def a_tenth(before: float | None, after: float | None) -> str:
    """Return two waits beside each other.

    >>> a_tenth(5.8, 6.08)
    '5.8 s -> 6.1 s'
    """
    return f"{seconds(before)} -> {seconds(after)}"


def worth(flexible: Flexible) -> str | None:
    """Return when a flexible player plays and when not; None where one of both is unknown."""
    then, now = flexible.wait_if_flexible, flexible.wait
    if then is None or now is None:
        return None
    text = f"{after(then)} on average, not {seconds(now)}"
    if flexible.matched is None or flexible.matched_if_flexible is None:
        return text
    more, before = percent(flexible.matched_if_flexible), percent(flexible.matched)
    return f"{text}, and {more} of such players are matched, not {before}"


def match_line(base: PlayerBase) -> str:
    """Return what is advised on, as a line.

    >>> from evenmatch.lab.advise.base import PlayerBase
    >>> match_line(PlayerBase())
    'Matches of 2 teams of 5; a match takes 30 min, and the next search begins 2.0 min after it.'
    """
    teams = base.teams
    even = f"{len(teams)} teams of {teams[0]}"
    who = even if len(set(teams)) == 1 else f"teams of {' against '.join(map(str, teams))}"
    return (
        f"Matches of {who}; a match takes {seconds(base.match_length)}, and the next search begins "
        f"{seconds(base.idle)} after it."
    )


def few_online(advice: Advice) -> Iterator[str]:
    """Yield a warning where so few are online that who plays is missed among those who search."""
    worst = advice.worst
    if worst is None or advice.rate is None:
        return
    if 0.0 < worst.players_online < MATCHES_FEW * advice.base.seats:
        yield (
            f"few players: {players(worst.players_online)} online in {worst.name} are fewer than "
            f"{MATCHES_FEW:g} matches hold; players in a match do not search meanwhile, so waits "
            "may be far longer than these"
        )
