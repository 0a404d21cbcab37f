"""The formulas of Schlup's "Automatic Game Matching", corrected.

Players arrive in a Poisson process; their criteria are uniform on [0, 1] and independent; a match
has k players; weights are k/D for each of D criteria and a second of waiting costs 1/wait_max, so
a player's criteria and their wait cost at most 1 each. Costs are **per match**; all except
`greedy_cost_exact` ignore bots.

`printed=True` gives the paper's own version wherever it differs.

Source:
    C. Schlup, Automatic Game Matching, ETH Zurich.
"""

from __future__ import annotations

import math

from evenmatch.errors import ConfigError
from evenmatch.theory.rates import EXPECTED_MAX, check_expected

Figures = dict[str, float | None]
TERMS_MAX = 1_000_000
"""The largest k: the probabilities are sums of k terms."""


def greedy_cost(*, k: int, rate: float, wait_max: float) -> float:
    """Return the expected cost of one match when the first k players play.

    Args:
        k: Players of a match, >= 2.
        rate: Tickets per second, > 0.
        wait_max: Deadline in seconds, > 0.

    Returns:
        Criteria and time cost per match, for any number of criteria; ignores bots.

    Source:
        Schlup, eq. (2).

    >>> round(greedy_cost(k=2, rate=10, wait_max=5), 4)
    0.6867
    """
    return k * (k - 1) / (k + 1) + k * (k - 1) / (2 * rate * wait_max)


def greedy_cost_exact(*, k: int, rate: float, wait_max: float) -> float:
    """Return the expected cost of one match when the first k players play, bots included.

    Let N be the number of further arrivals in the first player's `wait_max`, Poisson with mean
    rate * wait_max:

    - N >= k - 1: the criteria cost k (k-1)/(k+1). The last player comes after S, Gamma(k-1), and
      the k - 2 between are uniform before it, so the mean of all waits is k S / 2, and
      E[S; N >= k-1] = (k-1)/rate * P(N >= k).
    - N = m <= k - 2: the first player waits `wait_max`, m others half of it, and k - 1 - m bots
      count as if they had waited `wait_max`; the criteria cost their weights, k in all.

    Args:
        k: Players of a match, >= 2.
        rate: Tickets per second, > 0.
        wait_max: Deadline in seconds, > 0.

    Returns:
        Criteria and time cost per match, for any number of criteria; at most 2k.

    Complexity:
        O(k).

    >>> round(greedy_cost_exact(k=2, rate=1, wait_max=5), 4)
    0.881
    >>> round(greedy_cost_exact(k=2, rate=0.01, wait_max=5), 3)
    3.862
    """
    mean = rate * wait_max
    chance = [_chance(more, mean) for more in range(k)]
    full = max(0.0, 1.0 - math.fsum(chance[: k - 1]))
    in_time = full * k * (k - 1) / (k + 1) + k * (k - 1) / 2.0 * (_tail(k, mean) / mean)
    with_bots = math.fsum(chance[m] * (2.0 * k - m / 2.0) for m in range(k - 1))
    return in_time + with_bots


def _chance(count: int, mean: float) -> float:
    """Return the probability of a Poisson variable, by logarithms, so that nothing overflows."""
    if mean == 0.0:
        return float(count == 0)
    return math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))


def _tail(k: int, mean: float) -> float:
    """Return P(N >= k) of a Poisson variable, with a small relative error even if it is tiny."""
    if mean >= k:
        return max(0.0, 1.0 - math.fsum(_chance(count, mean) for count in range(k)))
    total, term, count = 0.0, _chance(k, mean), k
    while term > 1e-17 * total:
        total += term
        count += 1
        term *= mean / count
    return total


def bot_probability(*, k: int, rate: float, wait_max: float, printed: bool = False) -> float:
    """Return the probability that a match has a bot because too few players came in time.

    Args:
        k: Players of a match.
        rate: Tickets per second.
        wait_max: Deadline in seconds.
        printed: The paper's own sum.

    Source:
        Schlup, eq. (3).

    Differs from the paper:
        The clock starts with the first player, so a bot comes when at most k - 2 *more* players
        arrive: the sum runs over 0..k-2, not 1..k-1. `test_bot_probability_*` simulates it.

    >>> round(bot_probability(k=2, rate=1, wait_max=5), 4)
    0.0067
    >>> round(bot_probability(k=2, rate=1, wait_max=5, printed=True), 4)
    0.0337
    """
    mean = rate * wait_max
    first, last = (1, k - 1) if printed else (0, k - 2)
    return min(1.0, math.fsum(_chance(x, mean) for x in range(first, last + 1)))


def error_bound(*, k: int, rate: float, wait_max: float, printed: bool = False) -> float:
    """Return a bound on the relative error of `greedy_cost` due to bots, at any rate.

    Source:
        Schlup, eq. (4).

    Differs from the paper:
        The printed square of the cost does not follow, and the probability must be that of the
        corrected eq. (3). Moreover, the error has two parts of opposite sign: matches with bots
        cost from 3k/2 + 1 to 2k each, but (2) counts for them the criteria of full matches, and
        the waits for players who do not come in time: Prob k (k-1)/(k+1) +
        P(N <= k-1) k (k-1)/(2 rate wait_max). The error is the difference; with few players, (2)
        is too high by nearly all of that, while 2k Prob / cost falls to 0. At k = 2 the bound is
        the error.
    """
    cost = greedy_cost(k=k, rate=rate, wait_max=wait_max)
    chance = bot_probability(k=k, rate=rate, wait_max=wait_max, printed=printed)
    if printed:
        return 2 * k * chance / cost**2
    fewer = min(1.0, chance + _chance(k - 1, rate * wait_max))
    counted = chance * k * (k - 1) / (k + 1) + fewer * k * (k - 1) / (2 * rate * wait_max)
    return max(2 * k * chance - counted, counted - (1.5 * k + 1) * chance) / cost


def periodic_cost(n: float, *, k: int, rate: float, wait_max: float) -> float:
    """Return the expected cost of one match under periodic matching, for one criterion.

    Args:
        n: Tickets collected per round; a multiple of k.
        k: Players of a match.
        rate: Tickets per second, Poisson, > 0.
        wait_max: Deadline in seconds, > 0.

    Source:
        Schlup, eq. (5).

    >>> round(periodic_cost(8, k=2, rate=10, wait_max=5), 4)
    0.3622
    """
    return k * (k - 1) / (n + 1) + k * (n - 1) / (2 * rate * wait_max)


def n_opt(*, k: int, rate: float, wait_max: float) -> float:
    """Return the number of tickets per round that minimises `periodic_cost`; not rounded.

    Source:
        Schlup, eq. (6).

    >>> round(n_opt(k=2, rate=10, wait_max=5), 9)
    9.0
    """
    return math.sqrt(2 * rate * (k - 1) * wait_max) - 1


def multi_queue_cost(
    brackets: float,
    *,
    k: int,
    rate: float,
    wait_max: float,
    criteria: int = 1,
    printed: bool = False,
) -> float:
    """Return the expected cost of one match with r brackets for each criterion.

    Args:
        brackets: r, brackets per criterion.
        k: Players of a match.
        rate: Tickets per second.
        wait_max: Deadline in seconds.
        criteria: D.
        printed: The paper's own formula, for D = 1 whatever D is.

    Source:
        Schlup, eq. (7).

    Differs from the paper:
        Table 1 gives it for any D. With D criteria there are r^D brackets, and each gets 1/r^D of
        the arrivals; for D = 1 the two agree. `test_multi_queue_*` simulates it.

    >>> round(multi_queue_cost(6, k=2, rate=10, wait_max=5), 4)
    0.2311
    """
    share = brackets ** (1 if printed else criteria)
    return k * (k - 1) / (brackets * (k + 1)) + share * k * (k - 1) / (2 * rate * wait_max)


def bot_probability_bracket(
    brackets: int,
    *,
    k: int,
    rate: float,
    wait_max: float,
    criteria: int = 1,
    printed: bool = False,
) -> float:
    """Return the probability that a bracket's players need a bot or players of other brackets.

    It is approximate: players taken by a neighbouring bracket are missing in their own.

    Source:
        Schlup, eq. (8).

    Differs from the paper:
        The sum of eq. (3), and rate / r^D arrivals per bracket.
    """
    share = brackets if printed else brackets**criteria
    return bot_probability(k=k, rate=rate / share, wait_max=wait_max, printed=printed)


def r_opt(
    *, k: int, rate: float, wait_max: float, criteria: int = 1, printed: bool = False
) -> float:
    """Return the number of brackets per criterion that minimises `multi_queue_cost`; not rounded.

    Source:
        Schlup, eq. (9).

    Differs from the paper:
        Printed for any D, it holds for D = 1; see `multi_queue_cost`.

    >>> round(r_opt(k=2, rate=10, wait_max=5), 2)
    5.77
    >>> round(r_opt(k=10, rate=10, wait_max=5, criteria=3), 1)
    1.3
    """
    d = 1 if printed else criteria
    best: float = (2 * rate * wait_max / (d * (k + 1))) ** (1 / (d + 1))
    return best


def schlup(
    *,
    k: int,
    rate: float,
    wait_max: float,
    rounds_of: int | None = None,
    brackets: int | None = None,
    criteria: int = 1,
    printed: bool = False,
) -> Figures:
    """Return all figures of the paper for one setting.

    Args:
        k: Players of a match, >= 2.
        rate: Tickets per second, > 0.
        wait_max: Deadline in seconds, > 0.
        rounds_of: Matches per round; None = the number of least cost.
        brackets: Brackets per criterion; None = the number of least cost.
        criteria: Number of criteria. Periodic matching sorts by one: with more, its figures are
            undefined (None).
        printed: The paper's own formulas.

    Returns:
        The figures by name, and the `rounds_of` and `brackets` that they are for.

    Raises:
        ConfigError: A number is out of range.

    Differs from the paper:
        Where few come, the best of (6) and (9) lies below one match per round and one bracket,
        even below 0; the least that there can be is then the best, since both costs are convex.
    """
    _check(k=k, rate=rate, wait_max=wait_max)
    _check_counts(rounds_of=rounds_of, brackets=brackets, criteria=criteria)
    best_n = n_opt(k=k, rate=rate, wait_max=wait_max)
    best_r = r_opt(k=k, rate=rate, wait_max=wait_max, criteria=criteria, printed=printed)

    def periodic(x: int) -> float:
        return periodic_cost(x * k, k=k, rate=rate, wait_max=wait_max)

    def multi(r: int) -> float:
        return multi_queue_cost(
            r, k=k, rate=rate, wait_max=wait_max, criteria=criteria, printed=printed
        )

    if not printed:
        best_n, best_r = max(float(k), best_n), max(1.0, best_r)
    # Both costs are convex, so the best whole number is next to the best real one.
    x = rounds_of or min(_neighbours(best_n / k), key=periodic)
    r = brackets or min(_neighbours(best_r), key=multi)
    sorts = criteria == 1 or printed
    return {
        "greedy_cost": greedy_cost(k=k, rate=rate, wait_max=wait_max),
        "greedy_cost_exact": greedy_cost_exact(k=k, rate=rate, wait_max=wait_max),
        "periodic_cost": periodic(x) if sorts else None,
        "n_opt": best_n if sorts else None,
        "multi_queue_cost": multi(r),
        "r_opt": best_r,
        "bot_probability": bot_probability(k=k, rate=rate, wait_max=wait_max, printed=printed),
        "bot_probability_bracket": bot_probability_bracket(
            r, k=k, rate=rate, wait_max=wait_max, criteria=criteria, printed=printed
        ),
        "error_bound": error_bound(k=k, rate=rate, wait_max=wait_max, printed=printed),
        "rounds_of": x if sorts else None,
        "brackets": r,
    }


def _neighbours(value: float) -> tuple[int, int]:
    low = max(1, math.floor(value))
    return low, low + 1


def _check(*, k: int, rate: float, wait_max: float) -> None:
    if not 2 <= k <= TERMS_MAX:
        raise ConfigError(f"k must be from 2 to {TERMS_MAX:,}, got {k}")
    for name, value in (("rate", rate), ("wait_max", wait_max)):
        if not (0.0 < value < math.inf):
            unit = "tickets per second" if name == "rate" else "s"
            raise ConfigError(f"{name} must be > 0 {unit} and finite, got {value:g}")
    check_expected(rate, wait_max)


def _check_counts(*, rounds_of: int | None, brackets: int | None, criteria: int) -> None:
    given = (("rounds_of", rounds_of), ("brackets", brackets), ("criteria", criteria))
    for name, value in given:
        if value is not None and not 1 <= value <= TERMS_MAX:
            raise ConfigError(f"{name} must be from 1 to {TERMS_MAX:,}, got {value}")
    if (brackets or 1) ** min(criteria, 60) > EXPECTED_MAX or criteria > 60:
        raise ConfigError(f"criteria must be from 1 to 60, with fewer brackets, got {criteria}")
