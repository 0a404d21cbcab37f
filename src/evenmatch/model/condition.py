"""Conditions over the teams of a match, as values: what is measured, compared and joined.

An **expression** measures a match: what players of teams have, or a function of that. A **test**
compares expressions with bounds. Tests are joined, and a **phase** says from which age of the match
on which test stands, so that every schedule is constant between two ages. What does not exist, such
as the average of an empty team, makes its test neither true nor false; `criteria.condition` says
what a match is worth under all this.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Literal

import msgspec

from evenmatch.model.ticket import LATENCY

ValueKind = Literal["number", "string", "string_list", "string_number_map"]
Clock = Literal["newest", "oldest", "each"]
"""Whose age counts in a match: that of its newest ticket, of its oldest, or of each of them: then a
match must pass as the condition stands at the age of every ticket."""
NumberMerge = Literal["min", "max", "avg"]
SetMerge = Literal["union", "intersection"]
FoldName = Literal[
    "min",
    "max",
    "avg",
    "median",
    "sum",
    "count",
    "stddev",
    "stddev_sample",
    "flatten",
    "set_intersection",
]
Operator = Literal["<", "<=", "=", "!=", ">", ">="]

# What is measured.


class FixedValue(msgspec.Struct, frozen=True, gc=False, tag="fixed"):
    """A number, a string or a list of strings."""

    value: float | str | tuple[str, ...]


class TeamProperty(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag="teams"):
    """Something of teams: themselves, their players, or what players have.

    Args:
        teams: Numbers of teams, from 0 on.
        is_grouped: Whether the value is a list by team, not one list of all their players.
        what: `teams` (their names), `players`, `player_ids`, `attribute`, or `party_sizes`: of each
            player how many players their ticket has.
        attribute: Its name, or "".
        kind: What the attribute is.
        default: Of players who lack it.
        is_optional: Whether players who lack it are left out, in place of a default.
    """

    teams: tuple[int, ...]
    is_grouped: bool
    what: Literal["teams", "players", "player_ids", "attribute", "party_sizes"]
    attribute: str = ""
    kind: ValueKind = "number"
    default: float | str | tuple[str, ...] | None = None
    is_optional: bool = False


class FoldOf(msgspec.Struct, frozen=True, gc=False, tag="fold"):
    """A function of the innermost lists of an expression; `flatten` takes the outermost away."""

    name: FoldName
    of: Measured


Measured = FixedValue | TeamProperty | FoldOf


def depth_of(measured: Measured) -> int:
    """Return how deep the lists of an expression nest; 0 is a single value."""
    if isinstance(measured, FixedValue):
        return int(isinstance(measured.value, tuple))
    if isinstance(measured, TeamProperty):
        if measured.what == "teams":
            return int(measured.is_grouped)
        return 1 + measured.is_grouped + (measured.kind == "string_list")
    inner = depth_of(measured.of)
    return max(1, inner - 1) if measured.name == "flatten" else inner - 1


# What is demanded.


class AttributeTest(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag="attribute"):
    """Each player has an attribute of some kind.

    Args:
        attribute: Its name.
        kind: What it is.
        is_needed: Whether it may not be missing.
        is_filled: Whether a map or a list may not be empty.
    """

    attribute: str
    kind: ValueKind
    is_needed: bool = True
    is_filled: bool = False


class SizeTest(msgspec.Struct, frozen=True, gc=False, tag="size"):
    """Each team has so many players, from `least` to `most`; and there is one player at least."""

    least: tuple[int, ...]
    most: tuple[int, ...]


class ValueTest(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag="value"):
    """Each value that is measured compares with a reference; without one all equal or all differ.

    Args:
        measured: What is measured.
        operator: How it compares.
        reference: One value.
        party: How numbers of a party are merged; None: each player's own.
        is_once: Whether a merged number stands once for its party, not once for each player.
    """

    measured: tuple[Measured, ...]
    operator: Operator
    reference: Measured | None = None
    party: NumberMerge | None = None
    is_once: bool = False


class DistanceTest(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag="distance"):
    """Each number that is measured is so far from a reference."""

    measured: tuple[Measured, ...]
    reference: Measured
    least: float | None = None
    most: float | None = None
    party: NumberMerge | None = None
    is_once: bool = False


class SpreadTest(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag="range"):
    """Of all players a number differs by so much at most; without it, a string is the same."""

    of: TeamProperty
    most: float | None = None
    party: NumberMerge | None = None


class SetTest(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag="set"):
    """How many strings collections share, or how many of them hold a string.

    Args:
        measured: Lists of strings, or lists of them.
        counts: `shared` strings of all collections, collections that are `holders` of the
            reference, or strings of each collection that the reference has (`in_reference`).
        reference: What is held or overlapped.
        least: Fewest.
        most: Most.
        party: How collections of a party are merged; None: each player's own.
        is_once: Whether a merged collection counts once for its party, not once for each player.
    """

    measured: tuple[Measured, ...]
    counts: Literal["shared", "holders", "in_reference"]
    reference: Measured | None = None
    least: float | None = None
    most: float | None = None
    party: SetMerge | None = None
    is_once: bool = False


ONCE = "/once"
"""Ends the name of a merge whose value stands once for a party."""


def merge_of(test: ValueTest | DistanceTest | SetTest) -> str | None:
    """Return how a party's values are merged, and how often they stand; None: each player's own."""
    return f"{test.party}{ONCE}" if test.party and test.is_once else test.party


class PlaceTest(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag="place"):
    """One place suits all tickets, for both bounds at once.

    Args:
        attribute: The map from places to milliseconds.
        ms_max: Milliseconds at most.
        distance_max: How far each ticket may be from the reference, in milliseconds.
        reference: The least or the average latency to the place.
        party: How a party's latencies are merged, where all its players report the place.
    """

    attribute: str = LATENCY
    ms_max: float | None = None
    distance_max: float | None = None
    reference: Literal["min", "avg"] = "min"
    party: NumberMerge = "avg"


# How demands are joined.


class AllOf(msgspec.Struct, frozen=True, gc=False, tag="and"):
    """Every part holds; without parts always."""

    parts: tuple[Test, ...] = ()


class AnyOf(msgspec.Struct, frozen=True, gc=False, tag="or"):
    """Some part holds."""

    parts: tuple[Test, ...]


class ExactlyOne(msgspec.Struct, frozen=True, gc=False, tag="xor"):
    """One part holds, and no other."""

    parts: tuple[Test, ...]


class NotOf(msgspec.Struct, frozen=True, gc=False, tag="not"):
    """The part does not hold."""

    part: Test


class Phases(msgspec.Struct, frozen=True, gc=False, tag="phases"):
    """A test that changes with the age of the match.

    Args:
        waits: Ages in seconds, rising from 0; each is the first at which its part stands.
        parts: As many tests.
    """

    waits: tuple[float, ...]
    parts: tuple[Test, ...]


Leaf = AttributeTest | SizeTest | ValueTest | DistanceTest | SpreadTest | SetTest | PlaceTest
Test = Leaf | AllOf | AnyOf | ExactlyOne | NotOf | Phases


class Condition(msgspec.Struct, frozen=True, gc=False):
    """What a match must be like, by its age.

    Args:
        name: What people call it.
        test: The demand.
        clock: Whose age counts.
    """

    name: str
    test: Test
    clock: Clock = "newest"


def waits_of(test: Test) -> tuple[float, ...]:
    """Return the ages at which a test may change, rising, from 0 on."""
    waits = {0.0}
    stack: list[Test] = [test]
    while stack:
        each = stack.pop()
        if isinstance(each, Phases):
            waits.update(each.waits)
        if isinstance(each, AllOf | AnyOf | ExactlyOne | Phases):
            stack += each.parts
        elif isinstance(each, NotOf):
            stack.append(each.part)
    return tuple(sorted(waits))


def at_age(test: Test, age: float) -> Test:
    """Return a test as it stands at an age, without phases."""
    if isinstance(test, Phases):
        begun = bisect_right(test.waits, age)
        return at_age(test.parts[max(begun, 1) - 1], age)
    if isinstance(test, NotOf):
        return NotOf(at_age(test.part, age))
    if isinstance(test, AllOf | AnyOf | ExactlyOne):
        return type(test)(tuple([at_age(part, age) for part in test.parts]))
    return test
