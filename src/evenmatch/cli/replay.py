"""`evenmatch replay`: decide a server's journal again, and tell what became of whom."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from cyclopts import Parameter

from evenmatch.cli.output import console, print_json
from evenmatch.cli.progress import progress
from evenmatch.engine.replay import Difference
from evenmatch.errors import ConfigError
from evenmatch.journals.copying import as_path, check_path
from evenmatch.journals.reading import shards_at
from evenmatch.lab.replay.counterfactual import with_other_policy
from evenmatch.lab.replay.redecide import FirstDifference, ReplayResult, kind_of, redecide
from evenmatch.lab.replay.source import Say, open_source
from evenmatch.lab.replay.timeline import (
    Cast,
    event_sentences,
    match_story,
    player_story,
    plural,
    ticket_story,
)
from evenmatch.model.events import Event
from evenmatch.model.inputs import Advance, Input
from evenmatch.model.shards import FIRST, is_shard_name, shard_of

if TYPE_CHECKING:
    from rich.console import Console

    from evenmatch.lab.replay.counterfactual import CounterfactualResult, Figures
    from evenmatch.lab.replay.timeline import TimelineEntry


STEPS = 100
ID = re.compile(r".+-m?\d+", re.ASCII)
"""An id that a shard gave to a match or ticket; it begins with the shard."""
STORIES = {"match": match_story, "ticket": ticket_story, "player": player_story}


def replay(
    journal: str | None = None,
    /,
    *,
    match: str | None = None,
    ticket: str | None = None,
    player: str | None = None,
    policy: str | None = None,
    queue: str | None = None,
    shard: str | None = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Repeat a server's decisions from the inputs in its journal, and compare them.

    The exit code is 1 if a decision differs now or the journal is damaged. The server may keep
    running. The replay begins after the records that keep_days has deleted. The journal of a
    cluster has several shards, which are replayed one after the other.

    For example:

        evenmatch replay data
        evenmatch replay data --match s0-m12
        evenmatch replay data --player ada
        evenmatch replay data --policy window:limit=100
        evenmatch replay postgresql://evenmatch@db/games

    Args:
        journal: A server's data directory, the journal.db in it, or the address of a journal, which
            is then copied first.
        match: Instead, show how this match came about.
        ticket: Instead, show what happened to this ticket.
        player: Instead, show what happened to all tickets and matches of this player.
        policy: Instead, say what this policy would have done with the same inputs, in every queue.
        queue: Use --policy in this queue only.
        shard: Read this shard only. Otherwise the id of a match or ticket says which one is read,
            and without such an id, all are.
        json: Print one JSON object and nothing else; if several shards are read, it lists them
            under `shards`.
    """
    if journal is None:
        raise ConfigError("name a server's data directory: evenmatch replay DATA (see --help)")
    stories = {"match": match, "ticket": ticket, "player": player}
    asked = [name for name, it in {**stories, "policy": policy}.items() if it]
    if len(asked) > 1:
        raise ConfigError(f"give only one of --{' and --'.join(asked)}")
    if queue is not None and policy is None:
        raise ConfigError("--queue says which queue gets the other policy: give --policy, too")
    check_path(journal)
    with as_path(journal, lambda: _told("Copying the journal")) as path:
        shards = _shards_to_read(path, shard, match or ticket)
        if any(name is not None for name in stories.values()):
            return _tell(path, shards, stories, is_json=json)
        if policy is not None:
            return _compare(path, shards, (policy, queue), is_json=json)
        return _redecide(path, shards, is_json=json)


def _shards_to_read(path: Path, shard: str | None, name: str | None) -> list[str]:
    """Return the shards that are meant: by --shard, by the id of a match or ticket, or all."""
    if shard is not None:
        return [shard]
    # A journal without any shard is refused where the first one is opened.
    known = shards_at(path) or [FIRST]
    if name is not None and ID.fullmatch(name):
        prefix = shard_of(name)
        if prefix in known or is_shard_name(prefix):
            return [prefix]
    # Callers of GameLift's API choose the ids of their tickets.
    return known


def _redecide(path: Path, shards: list[str], *, is_json: bool) -> int:
    results = []
    for shard in shards:
        with open_source(path, shard) as source, _told("Deciding again") as say:
            results.append(redecide(source, say))
        if not is_json:
            # At once: the next one may be damaged.
            print_redecided(console(), results[-1])
    is_same = all(each.first_difference is None for each in results)
    if is_json:
        objects = [redecided_as_json(each) for each in results]
        print_json(objects[0] if len(objects) == 1 else {"same": is_same, "shards": objects})
    return 0 if is_same else 1


def _tell(path: Path, shards: list[str], asked: dict[str, str | None], *, is_json: bool) -> int:
    what, name = next((what, name) for what, name in asked.items() if name is not None)
    found: dict[str, list[TimelineEntry]] = {}
    unknown = []
    for shard in shards:
        with open_source(path, shard) as source, _told("Reading the journal") as say:
            try:
                found[shard] = STORIES[what](source, name, say)
            except ConfigError as error:
                # A player need not have been in every shard.
                unknown.append(str(error))
    if not found:
        raise ConfigError("; ".join(unknown))
    if is_json and len(shards) == 1:
        print_json(story_as_json(asked, found[shards[0]]))
    elif is_json:
        parts = [{"shard": at, "story": msgspec.to_builtins(it)} for at, it in found.items()]
        print_json({**asked, "shards": parts})
    else:
        for at, lines in found.items():
            _head(at, shards)
            print_story(console(), lines)
    return 0


def _compare(path: Path, shards: list[str], under: tuple[str, str | None], *, is_json: bool) -> int:
    """Compare with a policy, in one queue or in all; shards without that queue are left out."""
    policy, queue = under
    results: dict[str, CounterfactualResult] = {}
    for shard in shards:
        with open_source(path, shard) as source, _told("Playing again") as say:
            results[shard] = with_other_policy(source, policy, say, queue=queue)
    if queue is not None:
        names = [name for each in results.values() for name in each.journal]
        results = {shard: each for shard, each in results.items() if queue in each.journal}
        if not results:
            known = ", ".join(dict.fromkeys(names))
            raise ConfigError(f"the journal has no queue {queue!r}; it has {known}")
    if is_json and len(shards) == 1:
        print_json(comparison_as_json(results[shards[0]]))
    elif is_json:
        parts = [{"shard": at, **comparison_as_json(each)} for at, each in results.items()]
        print_json({"policy": policy, "shards": parts})
    else:
        for at, each in results.items():
            _head(at, shards)
            print_comparison(console(), each)
    return 0


def _head(shard: str, shards: list[str]) -> None:
    """Say which shard is shown, where it is not the only one."""
    if len(shards) > 1:
        console().print(f"shard {shard}", soft_wrap=True)


@contextmanager
def _told(what: str) -> Iterator[Say]:
    """Show a bar over the records."""
    shown = 0
    with progress(what, STEPS) as step:

        def say(done: int, total: int) -> None:
            nonlocal shown
            while shown < STEPS * done // max(1, total):
                shown += 1
                step()

        yield say


# How `evenmatch replay` shows what it found.

EVENTS_SHOWN = 3
"""Events of either side that are shown of a difference; the rest is counted."""
FIELDS_SHOWN = 5
"""Fields that are shown where two events differ."""
VALUE_MOST = 60
"""Characters of a value there."""
LEFT_OUT = (
    "The other policy played the same tickets, cancels and refreshed facts at the same instants; "
    "ready-checks, backfill and exclusive matches are answers to the matches that were made, and "
    "are left out."
)


def print_redecided(out: Console, result: ReplayResult) -> None:
    """Print how many records were decided the same, and the first difference."""
    for line in _redecided(result):
        out.print(line, soft_wrap=True)


def _redecided(result: ReplayResult) -> Iterable[str]:
    if result.first > 1:
        yield f"records before {result.first:,} are deleted; a snapshot holds their results"
    inputs = ", ".join(f"{count:,} {kind}" for kind, count in result.inputs.most_common())
    yield (
        f"{plural(result.records, 'record')} of shard {result.shard}"
        + (f" ({inputs})" if inputs else "")
        + f": {plural(result.tickets, 'ticket')}, {plural(result.matches, 'match')}"
    )
    if result.starts:
        before = ", ".join(f"{at:,}" for at in result.starts)
        yield f"the server was started again before record {before}"
    if result.first_difference is None:
        yield "the inputs alone lead to the same decisions"
    else:
        yield from _difference(result.first_difference)
    for first, last in result.skipped:
        yield (
            f"records {first:,} to {last:,} were not compared: they follow a difference, and the "
            "replay went on after them"
        )


def _difference(difference: FirstDifference) -> Iterable[str]:
    it = difference.difference
    record = it.record
    yield (
        f"record {record.sequence:,} is decided differently now: {kind_of(record)} at "
        f"{record.input.now:,.3f} s, {_date(difference.wall)}"
    )
    yield from _side("recorded", record.events[it.first :], record.input)
    if it.refused:
        yield f"  now: refused, {it.refused}"
    elif it.at == record.input.now:
        yield from _side("now", it.decided[it.first :], record.input)
    else:
        # Only a timer fires where the journal has no input.
        yield from _side(f"now, at {it.at:,.3f} s already", it.decided, Advance(it.at))
    yield from _fields(it)
    yield from (f"  perhaps because {reason}" for reason in difference.reasons)


def _side(name: str, events: Sequence[Event], input_: Input) -> Iterable[str]:
    if not events:
        yield f"  {name}: nothing{' more' if name == 'recorded' else ''}"
    for event in events[:EVENTS_SHOWN]:
        yield f"  {name}: {'; '.join(event_sentences(event, input_, Cast()))}"
    if len(events) > EVENTS_SHOWN:
        yield f"  {name}: {plural(len(events) - EVENTS_SHOWN, 'event')} more"


def _fields(it: Difference) -> Iterable[str]:
    """Yield in which fields the first two events differ, where they are of one kind."""
    pair = [side[it.first : it.first + 1] for side in (it.record.events, it.decided)]
    if not all(pair) or type(pair[0][0]) is not type(pair[1][0]):
        return
    was, now = (_flat(msgspec.to_builtins(side[0])) for side in pair)
    names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    told_ = [f"{name} was {_brief(was.get(name))}, is {_brief(now.get(name))}" for name in names]
    more = f"; and {len(names) - FIELDS_SHOWN} more" if len(names) > FIELDS_SHOWN else ""
    yield f"  in detail: {'; '.join(told_[:FIELDS_SHOWN])}{more}"


def _flat(event: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an event, those of its match among them."""
    inner = event.get("match")
    return {**event, "match": None, **inner} if isinstance(inner, dict) else event


def _brief(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= VALUE_MOST else f"{text[:VALUE_MOST]}..."


def redecided_as_json(result: ReplayResult) -> dict[str, Any]:
    """Return the object of --json."""
    difference = None
    if result.first_difference is not None:
        it = result.first_difference.difference
        difference = {
            "record": it.record.sequence,
            "wall": result.first_difference.wall,
            "input": msgspec.to_builtins(it.record.input),
            "recorded": msgspec.to_builtins(it.record.events),
            "at": it.at,
            "decided": msgspec.to_builtins(it.decided),
            "refused": it.refused or None,
            "reasons": list(result.first_difference.reasons),
        }
    return {
        "shard": result.shard,
        "first": result.first,
        "records": result.records,
        "inputs": dict(result.inputs),
        "tickets": result.tickets,
        "matches": result.matches,
        "starts": result.starts,
        "same": difference is None,
        "skipped": result.skipped,
        "difference": difference,
    }


def print_story(out: Console, lines: Sequence[TimelineEntry]) -> None:
    """Print a line for each record of a story: its number, its instants, and what it did."""
    from rich.table import Table
    from rich.text import Text

    out.print(
        f"began on {_date(lines[0].wall)}; seconds are those of the server's own clock",
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False)
    for head in ("record", "second", "time"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("what happened", overflow="fold")
    for line in lines:
        at = datetime.fromtimestamp(line.wall, UTC).strftime("%H:%M:%S")
        cells = (f"{line.record:,}", f"{line.at:,.3f}", at, "\n".join(line.words))
        table.add_row(*map(Text, cells))
    out.print(table)


def story_as_json(asked: dict[str, str | None], lines: Sequence[TimelineEntry]) -> dict[str, Any]:
    """Return the object of --json; `asked` are the ids by what they are of."""
    return {**asked, "story": msgspec.to_builtins(lines)}


def print_comparison(out: Console, result: CounterfactualResult) -> None:
    """Print both worlds side by side, queue by queue."""
    from rich.table import Table
    from rich.text import Text

    out.print(
        f"{plural(result.records, 'record')} over {result.seconds:,.1f} s of the server's time",
        soft_wrap=True,
    )
    for queue, journal in result.journal.items():
        out.print(f"\n{queue}", soft_wrap=True)
        table = Table(box=None, pad_edge=False)
        for head in ("", "in the journal", f"under {result.policy}"):
            table.add_column(Text(head), justify="right" if head else "left", overflow="fold")
        rows = zip(_rows(journal), _rows(result.other[queue]), strict=True)
        for (name, was), (_, would) in rows:
            table.add_row(name, was, would)
        out.print(table)
    out.print(f"\n{LEFT_OUT}", soft_wrap=True)
    if result.merged:
        out.print(
            f"{plural(result.merged, 'ticket')} came for players who still waited there, and "
            "counted as one with their first.",
            soft_wrap=True,
        )


def _rows(figures: Figures) -> list[tuple[str, str]]:
    wait = figures["wait"]
    quality = figures["quality"]
    return [
        ("matches", f"{figures['matches']:,}"),
        ("players in them", f"{figures['players']:,}"),
        ("bots", f"{figures['bots']:,}"),
        ("mean wait", _span(wait["mean"])),
        ("half waited at most", _span(wait["p50"])),
        ("nine in ten at most", _span(wait["p90"])),
        ("mean quality", "-" if quality is None else f"{quality:.3f}"),
        ("tickets expired", f"{figures['expired']:,}"),
        ("tickets waiting at the end", f"{figures['waiting']:,}"),
    ]


def comparison_as_json(result: CounterfactualResult) -> dict[str, Any]:
    """Return the object of --json."""
    return {
        "policy": result.policy,
        "records": result.records,
        "seconds": result.seconds,
        "merged": result.merged,
        "queues": {
            name: {"journal": result.journal[name], "policy": result.other[name]}
            for name in result.journal
        },
    }


def _span(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f} s"


def _date(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
