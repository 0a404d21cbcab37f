"""Brackets of rating that halve where many play and merge where few do.

Every bracket of the initial width is the root of a binary tree. A bracket is (depth, index) and
holds the ratings from index * width / 2^depth up to, but not including, the next multiple; so
its halves are (depth + 1, 2 index) and (depth + 1, 2 index + 1), and whether two brackets touch
is a question about whole numbers. Only brackets that are halved are stored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Bracket = tuple[int, int]

DEPTH_MAX = 16
"""A bracket is never halved more often: 500 points become 0.008."""
QUIET_FRAMES = 2
"""Frames with few matches after which two halves merge."""


class BracketTree:
    """The brackets of now, and the matches of this frame.

    Args:
        width: Of an initial bracket, in points, > 0.
        split_at: Matches in a frame from which on a bracket is halved.
        merge_below: Two halves with fewer matches together, in two frames running, merge.
        memory: What `memory()` said before a restart.
    """

    def __init__(
        self, width: float, split_at: int, merge_below: int, memory: Mapping[str, Any]
    ) -> None:
        self._width = width
        self._split_at = split_at
        self._merge_below = merge_below
        # Each halved bracket, and for how many frames its halves have been quiet.
        self._halved: dict[Bracket, int] = {
            (depth, index): quiet for depth, index, quiet in memory.get("halved", ())
        }
        self._matches: dict[Bracket, float] = {
            (depth, index): count for depth, index, count in memory.get("matches", ())
        }

        # Whether this frame's matches halve a bracket already.
        self._halves_one = any(self._is_to_halve(*each) for each in self._matches.items())

    def of(self, rating: float) -> Bracket:
        """Return the bracket that a rating is in.

        Complexity:
            O(depth).
        """
        place = rating / self._width
        bracket = (0, math.floor(place))
        while bracket in self._halved:
            depth = bracket[0] + 1
            bracket = (depth, math.floor(math.ldexp(place, depth)))
        return bracket

    def width(self, bracket: Bracket) -> float:
        """Return the width of a bracket in points."""
        return math.ldexp(self._width, -bracket[0])

    def reach(self, one: Bracket, two: Bracket) -> float:
        """Return the largest difference at which two brackets may meet; -1 if they may not."""
        if one != two:
            (depth, index), (other_depth, other) = sorted((one, two), key=_low)
            if (index + 1) << other_depth != other << depth:
                return -1.0
        return min(self.width(one), self.width(two))

    def count(self, one: Bracket, two: Bracket) -> None:
        """Count a match: half for the bracket of each player."""
        for bracket in (one, two):
            count = self._matches.get(bracket, 0.0) + 0.5
            self._matches[bracket] = count
            self._halves_one |= self._is_to_halve(bracket, count)

    @property
    def will_change(self) -> bool:
        """Return whether the end of this frame, or of a quiet one to come, moves a bracket."""
        return bool(self._halved) or self._halves_one

    def end_frame(self) -> bool:
        """Halve and merge by the matches of the frame; return whether any bracket changed."""
        matches = self._matches
        to_halve = [each for each, count in matches.items() if self._is_to_halve(each, count)]
        quiet: dict[Bracket, int] = {}
        for parent, before in self._halved.items():
            halves = _halves(parent)
            together = sum(matches.get(half, 0.0) for half in halves)
            # A half that is halved itself cannot merge with the other.
            is_innermost = not any(half in self._halved for half in halves)
            frames = before + 1 if is_innermost and together < self._merge_below else 0
            if frames < QUIET_FRAMES:
                quiet[parent] = frames
        has_changed = bool(to_halve) or len(quiet) < len(self._halved)
        self._halved = {**quiet, **dict.fromkeys(to_halve, 0)}
        self._matches = {}
        self._halves_one = False
        return has_changed

    def memory(self) -> dict[str, list[list[float]]]:
        """Return plain data: halved brackets with their quiet frames, and this frame's matches."""
        return {
            "halved": [[*bracket, quiet] for bracket, quiet in sorted(self._halved.items())],
            "matches": [[*bracket, count] for bracket, count in sorted(self._matches.items())],
        }

    def _is_to_halve(self, bracket: Bracket, count: float) -> bool:
        return count >= self._split_at and bracket[0] < DEPTH_MAX


def _halves(bracket: Bracket) -> tuple[Bracket, Bracket]:
    depth, index = bracket
    return (depth + 1, 2 * index), (depth + 1, 2 * index + 1)


def _low(bracket: Bracket) -> float:
    depth, index = bracket
    return math.ldexp(index, -depth)
