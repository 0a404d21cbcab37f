"""`adaptive_brackets`: brackets of rating become narrower where many matches are made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from evenmatch.criteria.expansion import TICKS
from evenmatch.errors import ConfigError
from evenmatch.model.fields import Gap, RoundTime
from evenmatch.model.queue import Queue, Rule
from evenmatch.policies.base import Matcher, Memory
from evenmatch.policies.shared.pair_matcher import PairMatcher, TreeTicket
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.policies.shared.rated_duels import check_duel, rating_rule
from evenmatch.policies.shared.round_clock import RoundClock

Matches = Annotated[int, Meta(ge=1, le=1_000_000)]
"""Largest `split_at`."""


class AdaptiveBrackets(msgspec.Struct, frozen=True, kw_only=True):
    """Match players within brackets of rating, which become narrower where many play.

    Ratings are cut into brackets of `width`. Two players may meet if they are in the same bracket
    or in adjacent ones, and their ratings differ by at most the width of the narrower bracket.
    Players who may meet play at once, the longest waiting first. From the first ticket on, the
    policy counts matches in frames of `frame` seconds; a match across two brackets counts half in
    each. At the end of a frame it halves each bracket that had `split_at` matches or more. Two
    halves become one bracket again if together they had fewer than `merge_below` matches in each of
    two frames.

    Two players whose ratings stay too far apart never meet; only the queue's `wait_max` ends their
    wait.

    When to use:
        For one against one if the number of players changes over the day: the policy learns from
        the matches how small a difference it can insist on, and nobody waits for a round. Give the
        queue a `wait_max`, because two players too far apart would wait for ever.

    Args:
        width: Width of the initial brackets, in points; no bracket is ever wider.
        split_at: A bracket with at least so many matches in a frame is halved.
        merge_below: Two halves merge if together they had fewer matches than this in each of two
            frames; <= split_at.
        frame: Length in seconds of the frames in which matches are counted.

    Source:
        "Matching players in an online 1vs1 game", the author's third suggestion.

    Complexity:
        O(log n) per arrival, plus a step for each ticket within a bracket's width that other rules
        forbid or that is across a border; O(n) when a frame changes the brackets.
    """

    held_back = "adaptive_brackets looks within a bracket for now"
    evaluations_max = (8, 8, 4, 1)

    width: Gap = 500.0
    split_at: Matches = 6
    merge_below: Matches = 3
    frame: RoundTime = 60.0

    def rules(self, queue: Queue) -> tuple[Rule, ...]:
        """Return the limit that holds always: no bracket is wider than `width`."""
        del queue
        check_parameters(self)
        return (rating_rule(self.width),)

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of duels."""
        del seed
        check_duel("adaptive_brackets", queue)
        check_parameters(self)
        if self.merge_below > self.split_at:
            raise ConfigError(
                f"adaptive_brackets: merge_below must be from 1 to split_at ({self.split_at}), "
                f"got {self.merge_below}"
            )
        known = memory or {}
        full = msgspec.structs.replace(queue, rules=queue.rules + self.rules(queue))
        tree = BracketTree(self.width, self.split_at, self.merge_below, known)
        return AdaptiveBracketsMatcher(full, tree, RoundClock(self.frame, known))


class AdaptiveBracketsMatcher(PairMatcher):
    """The brackets, the frames, and a timer for each ticket.

    While nothing can move a bracket, the frames need no wake-ups: those that passed are ended at
    the next decision.
    """

    def __init__(self, queue: Queue, brackets: BracketTree, frames: RoundClock) -> None:
        super().__init__(queue)
        self._brackets = brackets
        self._frames = frames

    def entered(self, waiting: TreeTicket, now: float) -> None:
        """Begin to count frames with the first entry."""
        del waiting
        self._frames.start(now)

    def before(self, now: float, fired: bool) -> None:
        """End the frames that have passed, and let play who may play in the new brackets."""
        frames, has_changed = self._frames, False
        # A frame that ends now goes on until fired, for others may still enter and play in it.
        ended = now if fired else now - 1 / TICKS
        while frames.is_due(now, fired):
            end = frames.round_at
            has_changed |= self._brackets.end_frame()
            # Once no bracket is halved, the frames in which nobody played all end alike.
            frames.move_on(end if self._brackets.will_change else max(end, ended))
        if has_changed:
            self.set_all_timers()

    def matched(self, one: TreeTicket, two: TreeTicket) -> None:
        """Count a match for this frame."""
        self._brackets.count(self._brackets.of(one.rating), self._brackets.of(two.rating))

    def wakes(self, now: float) -> float:
        """Return the end of the frame while it may let somebody play."""
        del now
        return self._frames.round_at if self.waiting and self._brackets.will_change else math.inf

    def bound(self, waiting: TreeTicket, gap: float) -> float:
        """Return never for whom not even one's own bracket's width allows."""
        width = self._brackets.width(self._brackets.of(waiting.rating))
        return -math.inf if gap <= width else math.inf

    def ready_at(self, waiting: TreeTicket, gap: float, other: TreeTicket) -> float:
        """Return the instant from which the rules allow a pair; never across the brackets."""
        brackets = self._brackets
        if gap > brackets.reach(brackets.of(waiting.rating), brackets.of(other.rating)):
            return math.inf
        return self.rules.pair_ready_at(other.ticket, waiting.ticket)

    def memory(self) -> Memory:
        """Return the frames and the brackets."""
        return {**self._frames.memory(), **self._brackets.memory()}


# Brackets of rating that halve where many play and merge where few do.
#
# Every bracket of the initial width is the root of a binary tree. A bracket is (depth, index) and
# holds the ratings from index * width / 2^depth up to, but not including, the next multiple; so
# its halves are (depth + 1, 2 index) and (depth + 1, 2 index + 1), and whether two brackets touch
# is a question about whole numbers. Only brackets that are halved are stored.

Bracket = tuple[int, int]

DEPTH_MAX = 16
"""A bracket is never halved more often: 500 points become 0.008."""
QUIET_FRAMES = 2
"""Frames with few matches after which two halves merge."""


class BracketTree:
    """The brackets of now, and the matches of this frame.

    Args:
        width: Of an initial bracket, in points, > 0.
        split_at: A bracket with at least so many matches in a frame is halved.
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
