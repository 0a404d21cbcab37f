"""An advice as a colleague would give it: the answer, the pools, warnings, and what to do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evenmatch.lab.advise.player_base import name_of
from evenmatch.lab.advise.splits import shared_split

if TYPE_CHECKING:
    from rich.console import Console

    from evenmatch.lab.advise.answer import Advice
    from evenmatch.lab.advise.flexible_theory import Flexible
    from evenmatch.lab.advise.hours import Day
    from evenmatch.lab.advise.market import SplitPool
    from evenmatch.lab.advise.player_base import PlayerBase
    from evenmatch.lab.advise.pool_simulation import MeanInterval
    from evenmatch.lab.advise.splits import SplitEffect


CELLS_SHOWN = 12
LINES_MAX = 6
OF_ALL = ("mean", "50 %", "90 %", "95 % below")
OF_SOME = ("mean of matched", "50 % of all", "90 % of all", "95 % of all below")
"""What waits are called where some give up: only who is matched counts in the mean."""
BAR = 24
"""Width of the bars of the hours."""


def print_advice(out: Console, advice: Advice) -> None:
    """Print the whole of it."""
    for line in answer(advice):
        out.print(line, soft_wrap=True)
    out.print(match_line(advice.base), style="dim", soft_wrap=True)
    if advice.rate is not None:
        _print_cells(out, advice)
        _print_classes(out, advice)
    sections = (
        ("Will the queues stay short?", margins(advice)),
        ("What each split costs", split_lines(advice)),
        ("What a flexible player is worth", flexible_lines(advice)),
        ("Where to cut levels into zones", cut_lines(advice)),
    )
    for title, lines in sections:
        _print_section(out, title, list(lines))
    if advice.day is not None:
        _print_section(out, "Hours", list(day_lines(advice, advice.day)))
    _print_section(out, "Simulated", list(simulated_lines(advice)))
    _print_section(out, "How sure this is", [*few_online(advice), *sources(advice)])
    _print_section(out, "Next", list(next_steps(advice)))


def _print_section(out: Console, title: str, lines: Sequence[str]) -> None:
    if lines:
        out.print(f"\n{title}", style="bold", soft_wrap=True)
    for line in lines:
        out.print(f"  {line}", soft_wrap=True)


def answer(advice: Advice) -> Iterator[str]:
    """Yield the answer in a sentence or two."""
    if advice.known.pool is None:
        yield _of_unstable(advice)
    elif advice.target_wait is not None and not (advice.day and advice.given):
        yield from _of_target(advice, advice.target_wait)
    else:
        yield from _of_players(advice)
    if advice.day is not None and advice.target_wait is not None and advice.known.pool is not None:
        met = sum(each.meets is True for each in advice.day.hours)
        online = players(advice.players_online)
        yield (
            f"With {online} on average over the day {met} of 24 hours keep to "
            f"{seconds(advice.target_wait)}."
        )


def _of_unstable(advice: Advice) -> str:
    share = advice.known.growth
    if advice.base.patience is not None:
        return "No number of players is enough: nobody can ever be placed, and all give up."
    text = "No number of players is enough: the queue grows without limit in any service order."
    if share == 0.0:
        return (
            "No number of players is enough: some are just too many, and waits get longer and "
            "longer."
        )
    if share:
        text += f" Of every 100 players who search, {100.0 * share:.3g} can never be placed."
    return text


def _of_target(advice: Advice, wait: float) -> Iterator[str]:
    who, limit = part(advice.percentile), within(wait)
    needed, pooled = advice.players_online, advice.pooled_players
    width = advice.players_half_width
    plus = "" if width is None else f" (± {width:,.0f})"
    count = len(advice.cells)
    where = "" if count == 1 else f" of each of the {count:,} pools"
    if needed == 0.0:
        yield (
            f"Any number will do: {who} of the players{where} never wait, because others "
            "are already waiting. Ask for a higher --percentile."
        )
        return
    if advice.rate is None:
        yield f"No number of players is enough for {who} of them to be matched {limit}."
        return
    yield _sentence(
        f"{_as_if(advice)}you need about {players(needed)}{plus} players online for {who} of the "
        f"players{where} to be matched {limit}."
    )
    worst = advice.worst
    if pooled is not None and needed is not None and worst is not None and pooled < 0.99 * needed:
        yield (
            f"{players(pooled)} are enough for {who} of all players together, but then "
            f"{_of_worst(advice, worst.name)}."
        )


def _of_worst(advice: Advice, name: str) -> str:
    """Return what the worst pool's players get where only all players together meet the target."""
    then = advice.worst_wait_if_pooled
    if then is None:
        few = part(advice.percentile)
        return f"fewer than {few} of those in {name} are ever matched, because many give up first"
    return f"{part(1.0 - advice.percentile)} of those in {name} wait longer than {seconds(then)}"


def _as_if(advice: Advice) -> str:
    """Return what a guess is made of; "" where waits are known or simulated."""
    pool = advice.known.pool
    if pool is None or pool.of_quantiles != "estimate":
        return ""
    return "Counted as if everybody could play with everybody, "


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _of_players(advice: Advice) -> Iterator[str]:
    who = part(advice.percentile)
    given = players(advice.players_online)
    if advice.rate is None:
        count = len(advice.cells)
        yield (
            f"{given} players online are too few for {count:,} "
            f"pool{'s'[: count != 1]}: on average that many wait in half-filled matches, and "
            "hardly anybody plays."
        )
        return
    worst = advice.worst
    assert worst is not None, "players can be matched, so that there are pools"
    if advice.pooled.wait is None:
        yield (
            f"With {given} players online no more than {percent(advice.pooled.matched or 0.0)} of "
            "those who search are ever matched; the others give up before."
        )
        return
    if len(advice.cells) == 1:
        yield _sentence(
            f"{_as_if(advice)}with {given} players online {who} of them are matched "
            f"{within(advice.pooled.wait)}."
        )
        return
    yield _sentence(
        f"{_as_if(advice)}with {given} players online {who} of all players are matched "
        f"{within(advice.pooled.wait)}; in the worst pool, {worst.name}, "
        f"{within(worst.figures.wait)}."
    )


def _print_cells(out: Console, advice: Advice) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    has_needs = advice.target_wait is not None and len(advice.cells) > 1
    leaves = advice.base.patience is not None
    heads = ["pool", "share", "online", *(OF_SOME if leaves else OF_ALL)]
    heads += ["matched"] * leaves + ["meets the target with"] * has_needs
    for head in heads:
        table.add_column(head, justify="left" if head == "pool" else "right", overflow="fold")
    groups = grouped(advice.cells)
    shown = groups if len(groups) <= CELLS_SHOWN else [*groups[: CELLS_SHOWN - 4], *groups[-4:]]
    for name, cell in shown:
        figures = cell.figures
        row = [name, percent(cell.share), players(cell.players_online)]
        row += [seconds(each) for each in (figures.mean, figures.p50, figures.p90, figures.p95)]
        row += [percent(figures.matched or 0.0)] * leaves
        row += [players(cell.needs)] * has_needs
        table.add_row(*row)
    out.print()
    out.print(table)
    if len(groups) > len(shown):
        hidden = len(groups) - len(shown)
        out.print(f"{hidden:,} sizes in between are left out; --json has them all", style="dim")


def grouped(cells: Sequence[SplitPool]) -> list[tuple[str, SplitPool]]:
    """Return pools of one size as one line, the largest first."""
    lines = []
    ordered = sorted(cells, key=lambda cell: -cell.share)
    for _, group in itertools.groupby(ordered, key=lambda cell: f"{cell.share:.12g}"):
        alike = list(group)
        name = alike[0].name
        if len(alike) == len(cells) > 1:
            name = f"each of {len(alike):,} equal pools"
        elif len(alike) > 1:
            name += f" (and {len(alike) - 1:,} more like it)"
        lines.append((name, alike[0]))
    return lines


def _print_classes(out: Console, advice: Advice) -> None:
    from rich.table import Table

    if not advice.classes:
        return
    table = Table(box=None, pad_edge=False)
    for head in ("who", "share", "mean", "50 %", "90 %", "95 % below"):
        table.add_column(head, justify="left" if head == "who" else "right", overflow="fold")
    for each in advice.classes:
        waits = (each.figures.mean, each.figures.p50, each.figures.p90, each.figures.p95)
        table.add_row(each.name, percent(each.share), *map(seconds, waits))
    out.print()
    out.print(table)


def margins(advice: Advice) -> Iterator[str]:
    """Yield every condition of stability, the tightest first."""
    evidence = advice.known
    if not evidence.margins:
        if evidence.stable:
            why = "any waiting players can play with each other"
            if not advice.base.is_plain:
                why = "nobody can be too many for the others"
            yield f"Yes, at any number of players: {why}."
        elif evidence.stable is None:
            yield "Theory cannot tell for such teams and parties; --simulate can."
        return
    tightest = evidence.margins[0]
    if evidence.stable is False:
        yield "No. These are too many for the others to play with:"
    elif tightest.margin <= 0.0:
        yield "Only because players give up; otherwise the queue would grow without limit:"
    elif evidence.stable is None:
        yield "Every condition that theory knows holds; whether they suffice is not known:"
    else:
        yield "Yes, as long as each of these holds, the tightest first:"
    for each in evidence.margins[: 2 * LINES_MAX]:
        mark = "!" if each.margin <= 0.0 else "close:" if each.players <= CLOSE else "-"
        yield f"{mark} {each.text}"
    if len(evidence.margins) > 2 * LINES_MAX:
        yield f"and {len(evidence.margins) - 2 * LINES_MAX} more; --json has them all"


CLOSE = 0.05
"""Share of all players below which, where so few are left, waits are several times as long."""


def split_lines(advice: Advice) -> Iterator[str]:
    """Yield what each split costs, the costliest first."""
    has_target = advice.target_wait is not None
    if advice.splits and not has_target and advice.worst is not None:
        wait = seconds(advice.worst.figures.wait)
        yield f"counted as players who could be missing while the worst pool still waits {wait}:"
    for effect in advice.splits[:LINES_MAX]:
        yield from _split(effect)
    if advice.base.splits and not advice.splits:
        yield from _without_waits(advice)


def _without_waits(advice: Advice) -> Iterator[str]:
    """Yield why a part is left out where the share of the players that was asked never waits."""
    if advice.rate is None or advice.worst is None or advice.worst.figures.wait != 0.0:
        return
    more = 0.9 if advice.percentile < 0.9 else 0.99
    again = f", such as {more:g}" if advice.percentile < more else ""
    yield (
        f"left out: {part(advice.percentile)} of the players never wait, because others are "
        f"already waiting. Ask for a higher --percentile{again}."
    )


def _split(effect: SplitEffect) -> Iterator[str]:
    need = effect.without
    options = f"{effect.options} option{'s' * (effect.options != 1)}"
    yield (
        f"{effect.name} ({options}): {players(need.saves_players)} players online; "
        f"without it {players(need.players_online)} would do, and the worst pool would "
        + ("still match too few" if need.wait is None else f"wait {seconds(need.wait)}")
    )
    for option, dropped in effect.dropped[:3]:
        name = name_of(effect.name, option)
        if effect.options > 2:
            yield (
                f"  dropping {name} saves {players(dropped.saves_players)}: "
                f"{players(dropped.players_online)} would do"
            )


def flexible_lines(advice: Advice) -> Iterator[str]:
    """Yield what players gain who are less particular, and who loses."""
    for each in advice.flexible[: 2 * LINES_MAX]:
        if (gain := worth(each)) is None:
            continue
        yield f"a player of {each.who} who takes {each.becomes} plays {gain}"
        if each.others:
            changes = ", ".join(
                f"{name} {a_tenth(now, then)}"
                for name, (now, then) in list(each.others.items())[:LINES_MAX]
            )
            seen = " (simulated)" if each.others_source == "simulated" else ""
            yield f"  if a tenth of them did so{seen}: {changes}"
    is_open = bool(advice.flexible) and not any(each.others for each in advice.flexible)
    if is_open and shared_split(advice.base, advice.splits) is not None:
        yield "--simulate shows what happens to the others if many do so"


def cut_lines(advice: Advice) -> Iterator[str]:
    """Yield the best cut into each number of zones."""
    for cut in advice.cuts:
        starts = (1, *cut.first_levels)
        ends = (*(start - 1 for start in cut.first_levels), len(advice.base.levels))
        zones = ", ".join(
            f"{low}-{high} ({percent(share)})" if low < high else f"{low} ({percent(share)})"
            for low, high, share in zip(starts, ends, cut.shares, strict=True)
        )
        yield (
            f"{cut.zones} zones: levels {zones}; takes {players(cut.players_online)} players "
            "online, and with today's the smallest zone "
            + ("matches too few" if cut.wait is None else f"waits {seconds(cut.wait)}")
        )
    if advice.cuts and advice.base.patience is None:
        yield (
            "wherever you cut into so many zones, the mean wait of all players is the same; it is "
            "only shared out; two zones make it twice as long as one, three three times"
        )
    if advice.base.levels and advice.base.zones > 1 and not advice.cuts:
        yield from _without_waits(advice)


def day_lines(advice: Advice, day: Day) -> Iterator[str]:
    """Yield the hours as bars, and what to do about those that miss the target."""
    top = max(each.players_online for each in day.hours) or 1.0
    for each in day.hours:
        bar = "#" * round(BAR * each.players_online / top)
        verdict = {None: "", True: "  meets", False: "  misses"}[each.meets]
        if each.play_minutes is not None:
            verdict += f"; meets it if they come within {each.play_minutes:.0f} min"
        yield (
            f"{each.hour:02}:00 {bar:<{BAR}} {players(each.players_online):>8} online "
            f"{seconds(each.wait):>8}{verdict}"
        )
    if advice.target_wait is None:
        yield "add --target-wait to compare each hour with it"
    elif day.shared_minutes is not None:
        missed = sum(each.meets is False for each in day.hours)
        yield (
            f"{missed} of 24 hours miss the target; if all their players came together, "
            f"they would meet it for {seconds(60.0 * day.shared_minutes)}"
        )
        if day.needed_mean is not None:
            yield f"every hour meets it with {players(day.needed_mean)} online on average"


def sources(advice: Advice) -> Iterator[str]:
    """Yield how each figure is known."""
    for each in advice.known.statements:
        yield f"{each.figure}: {each.source}; {each.text}"


def simulated_lines(advice: Advice) -> Iterator[str]:
    """Yield what a simulation of the smallest pool came to, with intervals."""
    simulated = advice.simulated
    if simulated is None:
        return
    yield (
        f"{simulated.runs} runs of {simulated.policy}, {simulated.players:,} players, "
        f"{simulated.rate:.4g} players per second; ± is a 95 % interval"
    )
    words = {"mean": "mean wait", "p50": "half below", "p90": "90 % below", "p95": "95 % below"}
    yield ", ".join(f"{text} {_interval(simulated.figures[key])}" for key, text in words.items())
    if simulated.classes:
        yield "mean wait of " + ", ".join(
            f"{name} {_interval(each)}" for name, each in simulated.classes.items()
        )


def _interval(figure: MeanInterval) -> str:
    if figure.value is None or figure.half_width is None:
        return "-"
    unit = 1.0 if figure.value < 600.0 else 60.0
    name = "s" if unit == 1.0 else "min"
    return f"{figure.value / unit:.3g} ± {figure.half_width / unit:.2g} {name}"


def next_steps(advice: Advice) -> Iterator[str]:
    """Yield what can be done with the answer."""
    pool = advice.known.pool
    if pool is None:
        yield "try other shares: the players who are too many above must become fewer"
        return
    if pool.of_quantiles == "estimate" and advice.simulated is None and advice.rate is not None:
        yield (
            "theory ends here: the same command with --simulate measures the waits, and shows what "
            "a flexible player gains"
        )
    yield (
        "--scenario pool.toml writes the smallest pool for evenmatch simulate, so that you "
        "can add ratings, pings and rules; --plot advice.svg draws this"
    )


# Numbers of an advice as people read them.

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

    >>> from evenmatch.lab.advise.player_base import PlayerBase
    >>> match_line(PlayerBase())
    'Matches of 2 teams of 5; a match takes 30 min, and the next search begins 2.0 min after it.'
    """
    teams = base.teams
    even = f"{len(teams)} team{'s' * (len(teams) != 1)} of {teams[0]}"
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
