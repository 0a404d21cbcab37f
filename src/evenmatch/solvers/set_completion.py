"""Complete a set of items: start from one item, in a given order, until all seats are filled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

STEPS_MAX = 20_000
"""Pairs of items that a search may examine after its first dead end, before it gives up."""

Kind = tuple[int, int]
"""Seats that an item takes, and a label; items of one kind fill seats alike."""
MayFill = Callable[[Mapping[Kind, int], Mapping[Kind, int]], bool]
"""Whether these items and some of those could fill all seats exactly; False is always right."""
Pair = Callable[[int, int], bool]
Accepts = Callable[[list[int]], bool]


@dataclass
class CompletionBudget:
    """What a search may still spend; one budget serves one question.

    Args:
        seatings: Full sets that may still be passed to `accepts`.
        steps: Pairs of items that may still be examined after the first dead end.
        gave_up: Whether a search stopped before it had examined everything.
    """

    seatings: int = 64
    steps: int = STEPS_MAX
    gave_up: bool = False


@dataclass(frozen=True)
class CompletionProblem:
    """Items in order of preference, and the conditions that a set of them must meet.

    Args:
        kinds: The items' kinds; item 0 is the anchor.
        target: Seats to fill.
        may_fill: Whether the remaining kinds may still complete the chosen ones.
        fits: Whether two items may be in one set; None if any two may.
        accepts: Whether a set that fills the target is allowed; None if every one is.
    """

    kinds: Sequence[Kind]
    target: int
    may_fill: MayFill
    fits: Pair | None = None
    accepts: Accepts | None = None


def complete(problem: CompletionProblem, budget: CompletionBudget) -> list[int] | None:
    """Return the first set that contains item 0 and fills the target exactly.

    Items are tried in their order, depth first, so sets with early items win. If kinds alone
    decide, the answer is exact; otherwise `budget.gave_up` tells whether it may be incomplete.

    Returns:
        Indices in the order of choice, or None.

    Complexity:
        Linear if nothing has to be undone, with at most one call of `may_fill` per item chosen
        and kind passed over. After the first dead end, at most `budget.steps` pairs.

    >>> fill = CompletionProblem([(1, 0), (2, 0), (1, 0)], 3, lambda chosen, left: True)
    >>> complete(fill, CompletionBudget(seatings=9))
    [0, 1]
    """
    anchor, *others = problem.kinds
    if not problem.may_fill({anchor: 1}, Counter(others)):
        return None
    found = _dive(problem)
    if problem.fits is None and problem.accepts is None:
        return found
    return found if found and _is_accepted(problem, budget, found) else _go_back(problem, budget)


def _is_accepted(problem: CompletionProblem, budget: CompletionBudget, found: list[int]) -> bool:
    """Return whether a full set is allowed; give up if the budget has no seatings left."""
    if problem.accepts is None:
        return True
    if budget.seatings <= 0:
        budget.gave_up = True
        return False
    budget.seatings -= 1
    return problem.accepts(found)


def _dive(problem: CompletionProblem) -> list[int] | None:
    """Return the set found without backtracking, or None."""
    kinds, fits = problem.kinds, problem.fits
    chosen, room = [0], problem.target - kinds[0][0]
    have, left = Counter({kinds[0]: 1}), Counter(kinds[1:])
    hopeless: set[Kind] = set()
    for item in range(1, len(kinds)):
        if room == 0:
            break
        kind = kinds[item]
        left[kind] -= 1
        if kind in hopeless or kind[0] > room:
            continue
        if fits is not None and not all(fits(other, item) for other in chosen):
            continue
        have[kind] += 1
        if problem.may_fill(have, left):
            chosen.append(item)
            room -= kind[0]
        else:
            # Later there are more items chosen and fewer left: the kind stays hopeless.
            have[kind] -= 1
            hopeless.add(kind)
    return None if room else chosen


def _go_back(problem: CompletionProblem, budget: CompletionBudget) -> list[int] | None:
    """Return the first set found depth first; each choice narrows the remaining items."""
    kinds, fits = problem.kinds, _remembered(problem.fits)
    chosen, room = [0], problem.target - kinds[0][0]
    have = Counter({kinds[0]: 1})
    levels = [_narrowed(0, range(1, len(kinds)), fits, budget)]
    places = [0]
    while levels and not budget.gave_up:
        level, place = levels[-1], places[-1]
        if room == 0 and _is_accepted(problem, budget, chosen):
            return chosen
        if room == 0 or place == len(level):
            levels.pop()
            places.pop()
            last = kinds[chosen.pop()]
            have[last] -= 1
            room += last[0]
            continue
        places[-1] += 1
        item = level[place]
        size = kinds[item][0]
        if size > room:
            continue
        rest = _narrowed(item, level[place + 1 :], fits, budget) if size < room else []
        have[kinds[item]] += 1
        if problem.may_fill(have, Counter([kinds[other] for other in rest])):
            chosen.append(item)
            room -= size
            levels.append(rest)
            places.append(0)
        else:
            have[kinds[item]] -= 1
    return None


def _narrowed(item: int, rest: Sequence[int], fits: Pair, budget: CompletionBudget) -> list[int]:
    """Return the remaining items that fit an item; give up if the budget has no steps left."""
    budget.steps -= 1 + len(rest)
    budget.gave_up |= budget.steps < 0
    return [] if budget.gave_up else [other for other in rest if fits(item, other)]


def _remembered(fits: Pair | None) -> Pair:
    """Return a function that calls `fits` only once for each pair."""
    answers: dict[tuple[int, int], bool] = {}

    def fits_once(one: int, other: int) -> bool:
        answer = answers.get((one, other))
        if answer is None:
            answer = answers[one, other] = fits is None or fits(one, other)
        return answer

    return fits_once
