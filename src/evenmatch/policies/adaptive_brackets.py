"""`adaptive_brackets`: where many matches are made, the differences allowed become smaller."""

from __future__ import annotations

import math

import msgspec

from evenmatch.criteria.expansion import TICKS
from evenmatch.criteria.validation.values import GAPS, ROUNDS
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Queue, Rule
from evenmatch.policies.base import Matcher, Memory
from evenmatch.policies.shared.bracket_tree import BracketTree
from evenmatch.policies.shared.clock import RoundClock
from evenmatch.policies.shared.pairing import PairMatcher, TreeTicket
from evenmatch.policies.shared.rated import check_duel, check_number, rating_rule

MATCHES_MAX = 1_000_000
"""Largest `split_at`."""


class AdaptiveBrackets(msgspec.Struct, frozen=True, kw_only=True):
    """Match within brackets of rating that halve where many play and merge where few do.

    Ratings are cut into brackets of `width`. Two players may meet iff they are in one bracket or
    in adjacent ones and |difference| <= the narrower bracket's width; who may meet, meets at
    once, the longest waiting first. Matches are counted by frames of `frame` seconds from the
    first entry on, a match across two brackets half in each. At the end of a frame a bracket with
    `split_at` matches or more is halved, and two halves that had fewer than `merge_below` together
    in each of two frames become one again.

    For populations that change over the day: it learns from the matches themselves how choosy it
    can afford to be, and players never wait for a clock. Two players who are never in reach of
    each other wait for nothing; the queue's `wait_max` ends that.

    When to use:
        One against one where the population changes over the day: it learns from the matches
        themselves how small a difference it can insist on, and nobody waits for a clock. Give
        the queue a `wait_max`: two players out of each other's reach wait for nothing.

    Args:
        width: Of the initial brackets, in points; no bracket is ever wider.
        split_at: Matches in a frame from which on a bracket is halved.
        merge_below: Two halves with fewer matches than this in two frames merge; <= split_at.
        frame: Seconds in which matches are counted.

    Source:
        "Matching players in an online 1vs1 game", the author's third suggestion.

    Complexity:
        O(log n) per arrival, and a step for each ticket within a bracket's width whom other
        rules forbid or who is across a border; O(n) when a frame changes the brackets.
    """

    held_back = "adaptive_brackets looks within a bracket for now"
    fills = False
    evaluations_max = (8, 8, 4, 1)

    width: float = 500.0
    split_at: int = 6
    merge_below: int = 3
    frame: float = 60.0

    def rules(self, queue: Queue) -> tuple[Rule, ...]:
        """Return the limit that holds always: no bracket is wider than `width`."""
        del queue
        check_number("adaptive_brackets: width", self.width, GAPS)
        return (rating_rule(self.width),)

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of duels."""
        del seed
        check_duel("adaptive_brackets", queue)
        check_number("adaptive_brackets: frame", self.frame, ROUNDS)
        if not 1 <= self.split_at <= MATCHES_MAX:
            raise ConfigError(
                f"adaptive_brackets: split_at must be 1 to {MATCHES_MAX}, got {self.split_at}"
            )
        if not 1 <= self.merge_below <= self.split_at:
            raise ConfigError(
                f"adaptive_brackets: merge_below must be 1 to split_at ({self.split_at}), "
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
