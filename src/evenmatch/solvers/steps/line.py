"""Players who wait on a line, by the value of one criterion, and what the gaps will cost.

The values were fitted to the exact solution for players who arrive all over the line, in units of
the length in which waiting and gaps balance.
"""

from __future__ import annotations

import math

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.pairs import FIRST_VALUE, TIME, Floats, shaped
from evenmatch.solvers.steps.price import GUESS, WORTH
from evenmatch.solvers.steps.waiting import (
    LEFT,
    NONE,
    OLDEST,
    PRICE,
    RIGHT,
    SIZE,
    WAIT_MAX,
    WAITING,
    YOUNGER,
    Waiting,
    free_slot,
)

IS_BOUNDED, LOWEST, LINKED, LOW_END, HIGH_END, FALLS = range(GUESS + 1, GUESS + 7)
"""Numbers: 1 if all values lie in [0, 1]; the first player by value, and how many are linked;
between which values players come; how often silence has lowered the rate. The others are those of
`price`."""
GAP_FAR, GAP_RISE, GAP_NEAR = 0.3443, 0.1555, 2.519
END_FAR, END_RISE, END_NEAR = 0.248, 0.295, 1.374
AGE_COST = 1.063


@kernel("float64(float64, float64)", inline=True)
def gap_value(gap: float, length: float) -> float:
    """Return what a gap between neighbours will cost, over the weight; both as distances."""
    if not length > 0.0:
        return 0.0
    near = max(0.0, GAP_NEAR - gap / length)
    return length * (GAP_FAR + GAP_RISE * near * near)


@kernel("float64(float64, float64)", inline=True)
def end_value(gap: float, length: float) -> float:
    """Return the same for the gap between the first or last player and the end of the line."""
    if not length > 0.0:
        return 0.0
    near = max(0.0, END_NEAR - gap / length)
    return length * (END_FAR + END_RISE * near * near)


@kernel(
    "float64(float64[:,::1], float64[:,::1], float64[::1], float64[:,::1], int64, int64, float64)",
    inline=True,
)
def between(
    points: Floats,
    marks: Floats,
    numbers: Floats,
    terms: Floats,
    left: int,
    right: int,
    scale: float,
) -> float:
    """Return what the gap between two players would cost if they were neighbours.

    `NONE` is an end of the line; between both ends nobody waits, and that costs nothing.
    """
    if left == NONE and right == NONE:
        return 0.0
    if left == NONE:
        gap = points[FIRST_VALUE, right] - numbers[LOW_END]
        return end_value(shaped(terms, 0, max(gap, 0.0)), scale * marks[WORTH, right])
    if right == NONE:
        gap = numbers[HIGH_END] - points[FIRST_VALUE, left]
        return end_value(shaped(terms, 0, max(gap, 0.0)), scale * marks[WORTH, left])
    gap = points[FIRST_VALUE, right] - points[FIRST_VALUE, left]
    length = 0.5 * scale * (marks[WORTH, left] + marks[WORTH, right])
    return gap_value(shaped(terms, 0, gap), length)


@kernel("float64(float64[:,::1], float64[::1], int64, float64)", inline=True)
def age_value(points: Floats, numbers: Floats, slot: int, now: float) -> float:
    """Return what a player's nearness to its deadline will cost."""
    wait_max = numbers[WAIT_MAX]
    if wait_max == np.inf:
        return 0.0
    age: float = (now - points[TIME, slot]) / wait_max
    # The power 4.25, without the price of a general one.
    square = age * age
    return AGE_COST * numbers[PRICE] * wait_max * square * square * math.sqrt(math.sqrt(age))


@kernel(f"float64({WAITING}, int64, int64, float64, float64)", inline=True)
def change(waiting: Waiting, left: int, right: int, scale: float, now: float) -> float:
    """Return how much less the others will cost, without ages, if two players go; negative."""
    points, marks, links, numbers, _, terms = waiting[:6]
    before, after = links[LEFT, left], links[RIGHT, right]
    kept = between(points, marks, numbers, terms, before, left, scale) + between(
        points, marks, numbers, terms, right, after, scale
    )
    if links[RIGHT, left] == right:
        kept += between(points, marks, numbers, terms, left, right, scale)
        change = between(points, marks, numbers, terms, before, after, scale) - kept
    else:
        inner, outer = links[RIGHT, left], links[LEFT, right]
        kept += between(points, marks, numbers, terms, left, inner, scale) + between(
            points, marks, numbers, terms, outer, right, scale
        )
        if inner == outer:
            change = between(points, marks, numbers, terms, before, inner, scale) + between(
                points, marks, numbers, terms, inner, after, scale
            )
        else:
            change = between(points, marks, numbers, terms, before, inner, scale) + between(
                points, marks, numbers, terms, outer, after, scale
            )
        change -= kept
    ages = age_value(points, numbers, left, now) + age_value(points, numbers, right, now)
    return terms[0, 0] * change - ages


@kernel(f"void({WAITING}, int64)", inline=True)
def link(waiting: Waiting, slot: int) -> None:
    """Give a player its place in the order of values, right of equal ones."""
    points, _, links, numbers = waiting[:4]
    value = points[FIRST_VALUE, slot]
    left, right = NONE, int(numbers[LOWEST])
    while right != NONE and points[FIRST_VALUE, right] <= value:
        left, right = right, links[RIGHT, right]
    links[LEFT, slot], links[RIGHT, slot] = left, right
    if left == NONE:
        numbers[LOWEST] = slot
    else:
        links[RIGHT, left] = slot
    if right != NONE:
        links[LEFT, right] = slot
    numbers[LINKED] += 1.0


@kernel(f"void({WAITING})", inline=True)
def link_all(waiting: Waiting) -> None:
    """Put all in order, by value and then by age, if players came without being linked."""
    links, numbers, counts = waiting[2], waiting[3], waiting[4]
    if numbers[LINKED] == counts[SIZE]:
        return
    numbers[LOWEST], numbers[LINKED] = NONE, 0.0
    slot = counts[OLDEST]
    while slot != NONE:
        link(waiting, slot)
        slot = links[YOUNGER, slot]


@kernel(f"void({WAITING}, int64)", inline=True)
def unlink(waiting: Waiting, slot: int) -> None:
    """Let a player go, in both orders."""
    links, numbers, counts = waiting[2], waiting[3], waiting[4]
    if numbers[LINKED] == counts[SIZE]:
        left, right = links[LEFT, slot], links[RIGHT, slot]
        if left == NONE:
            numbers[LOWEST] = right
        else:
            links[RIGHT, left] = right
        if right != NONE:
            links[LEFT, right] = left
        numbers[LINKED] -= 1.0
    free_slot(waiting, slot)
