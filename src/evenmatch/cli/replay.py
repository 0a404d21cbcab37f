"""`evenmatch replay`: decide a server's journal again, and tell what became of whom."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evenmatch.cli.output import console, print_json
from evenmatch.cli.progress import progress
from evenmatch.cli.replay_view import (
    comparison_as_json,
    print_comparison,
    print_redecided,
    print_story,
    redecided_as_json,
    story_as_json,
)
from evenmatch.errors import ConfigError
from evenmatch.lab.replay.counterfactual import with_other_policy
from evenmatch.lab.replay.redecide import redecide
from evenmatch.lab.replay.source import Say, Source, opened
from evenmatch.lab.replay.timeline import match_story, player_story, ticket_story

STEPS = 100
STORIES = {"match": match_story, "ticket": ticket_story, "player": player_story}


def replay(
    journal: Path | None = None,
    /,
    *,
    match: str | None = None,
    ticket: str | None = None,
    player: str | None = None,
    policy: str | None = None,
    queue: str | None = None,
    shard: str = "s0",
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Make all of a server's decisions again, from the inputs in its journal alone, and compare.

    The exit code is 1 if a decision differs now, or the journal is damaged. The server may keep
    running. Records that keep_days has deleted cannot be replayed; the replay begins after them.

    For example:

        evenmatch replay data
        evenmatch replay data --match s0-m12
        evenmatch replay data --player ada
        evenmatch replay data --policy window:limit=100

    Args:
        journal: A server's data directory, or the journal.db in it.
        match: Show how this match came about instead.
        ticket: Show what happened to this ticket instead.
        player: Show what happened to all tickets of this player instead, and to their matches.
        policy: Say what this policy would have done with the same inputs instead, in every queue.
        queue: Only this queue gets the other policy.
        shard: Which shard of the journal.
        json: Print one JSON object and nothing else.
    """
    if journal is None:
        raise ConfigError("name a server's data directory: evenmatch replay DATA (see --help)")
    stories = {"match": match, "ticket": ticket, "player": player}
    asked = [name for name, it in {**stories, "policy": policy}.items() if it]
    if len(asked) > 1:
        raise ConfigError(f"give only one of --{' and --'.join(asked)}")
    if queue is not None and policy is None:
        raise ConfigError("--queue says which queue gets the other policy: give --policy, too")
    if not journal.exists():
        raise ConfigError(f"there is nothing at {journal}: name the data directory of a server")
    with opened(journal, shard) as source:
        if any(name is not None for name in stories.values()):
            return _tell(source, stories, is_json=json)
        if policy is not None:
            return _compare(source, policy, queue, is_json=json)
        return _redecide(source, is_json=json)


def _redecide(source: Source, *, is_json: bool) -> int:
    with _told("Deciding again") as say:
        found = redecide(source, say)
    if is_json:
        print_json(redecided_as_json(found))
    else:
        print_redecided(console(), found)
    return 0 if found.found is None else 1


def _tell(source: Source, asked: dict[str, str | None], *, is_json: bool) -> int:
    what, name = next((what, name) for what, name in asked.items() if name is not None)
    with _told("Reading the journal") as say:
        lines = STORIES[what](source, name, say)
    if is_json:
        print_json(story_as_json(asked, lines))
    else:
        print_story(console(), lines)
    return 0


def _compare(source: Source, policy: str, queue: str | None, *, is_json: bool) -> int:
    with _told("Playing again") as say:
        found = with_other_policy(source, policy, say, queue=queue)
    if is_json:
        print_json(comparison_as_json(found))
    else:
        print_comparison(console(), found)
    return 0


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
