"""The patient chain and the decision process, computed exactly: lemmas, theorem, implications."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from evenmatch.errors import ConfigError
from evenmatch.theory.skill_mdp import Choice, SkillPolicies, skill_mdp
from evenmatch.theory.skill_pools import Pools, long_run_shares, run_long
from evenmatch.theory.wu import patient_law, wu
from papers.shared.findings import Findings, Part, Row, Verdict, judged
from papers.shared.words import table_of_rows

TEAMS = (1, 2, 3, 5)
SHARE = 0.3
"""The q used for statements that hold for every q."""
EXACT = 1e-9
HIGH_LOW = (0.0, 1.0)
FROM = "alpha from which on waiting pays"
PAYOFFS = {"A": (10, 1), "B": (8, 8), "C": (1, 10)}
"""The paper's example: the payoff of each action after Heads and after Tails."""


def chain() -> list[Part]:
    """Return the parts that need no simulation."""
    return [
        _part(
            "Matches of two skills",
            "All pools and sets, one by one. Where q is not given it is .3.",
            ("imbalance", "even_set", "lemma3.1", "coin", "footnote9"),
            sets,
        ),
        _part(
            "The chain of the patient policy",
            "Fractions, from balance equations in which the lemma is not put in. At q = 0 and "
            "q = 1 the chain has 2n pools, and the lemma fails.",
            ("states", "lemma3.2", "delta"),
            law,
        ),
        _part(
            "The theorem",
            "Printed: what the policy costs that the theorem names. Exact: the least cost of all "
            "stationary policies, by a decision process on pools of at most cap players.",
            ("theorem3.3", "threshold", "cap"),
            theorem,
        ),
        _part(
            "What follows",
            "The costs' differences, and the alpha from which on waiting pays.",
            ("implication1", "implication2", "implication3", "abstract"),
            implications,
        ),
    ]


def _part(title: str, text: str, names: Sequence[str], rows: Callable[[None], list[Row]]) -> Part:
    def finish(results: Sequence[list[Row]]) -> Findings:
        return Findings(tuple(results[0]), (table_of_rows(title, text, results[0]),))

    return Part(tuple(f"wu.{name}" for name in names), rows, (None,), finish)


def sets(_: None) -> list[Row]:
    """Return the statements about single matches."""
    return [*_even(), *_coin(), *_pure()]


def law(_: None) -> list[Row]:
    """Return the statements about the patient policy's chain."""
    return [*_states(), *_deltas()]


def theorem(_: None) -> list[Row]:
    """Return the statements about the best policy."""
    return [*_theorem(), *_thresholds(), *_caps()]


def implications(_: None) -> list[Row]:
    """Return the statements that the paper derives."""
    return [*_by_alpha(), *_by_q(), *_by_n()]


def _stated(
    name: str,
    exact: float,
    params: dict[str, Any],
    *,
    printed: float | None = None,
    verdict: Verdict | None = None,
) -> Row:
    """Return a row without randomness; a printed figure is judged by itself."""
    if verdict is None and printed is not None:
        verdict = judged(printed, truth=exact, half_width=EXACT)
    return Row(id=f"wu.{name}", params=params, printed=printed, exact=exact, verdict=verdict)


def _if(is_true: bool) -> Verdict:
    return "holds" if is_true else "wrong in print"


def _best(n: int, q: float, alpha: float, cap: int | None = None) -> SkillPolicies:
    return skill_mdp(types=HIGH_LOW, probs=(1.0 - q, q), n=n, alpha=alpha, cap=cap or 2 * n + 1)


def _even() -> Iterator[Row]:
    for n in TEAMS:
        pools = Pools(HIGH_LOW, (1.0 - SHARE, SHARE), n, 2 * n + 1)
        most = float(pools.imbalances.max())
        what = "largest I of the best division of any 2n"
        yield _stated("imbalance", most, {"n": n, "what": what}, printed=1.0)
        many = pools.counts[pools.level(2 * n + 1)]
        share = sum(_has_even(int(low), int(high), n) for low, high in many) / len(many)
        what = "share of pools of 2n + 1 from which a match without imbalance can be made"
        yield _stated("even_set", share, {"n": n, "what": what}, printed=1.0)
    for n in TEAMS:
        for alpha in (0.5, 5.0):
            share = _at_once(_best(n, SHARE, alpha).policy, n)
            what = "share of pools with an even set, of all that the best policy meets, where it "
            what += "plays one at once"
            params = {"n": n, "q": SHARE, "alpha": alpha, "what": what}
            yield _stated("lemma3.1", share, params, printed=1.0)


def _has_even(low: int, high: int, n: int) -> bool:
    return any(h <= high and 2 * n - h <= low for h in range(0, 2 * n + 1, 2))


def _at_once(policy: Sequence[Choice], n: int) -> float:
    asked = [(pool, match) for pool, match in policy if _has_even(pool[0], pool[1], n)]
    return sum(match is not None and match[1] % 2 == 0 for _, match in asked) / len(asked)


def _coin() -> Iterator[Row]:
    """Yield the paper's example of an action that is best on average but after no flip."""
    means = {action: sum(pays) / 2 for action, pays in PAYOFFS.items()}
    margin = means["B"] - max(means["A"], means["C"])
    what = "what B pays on average, above the best of the others"
    yield _stated("coin", margin, {"what": what}, verdict=_if(margin > 0))
    for place, side in enumerate(("Heads", "Tails")):
        lost = PAYOFFS["B"][place] - max(pays[place] for pays in PAYOFFS.values())
        what = f"what B pays after {side}, above the best action then"
        yield _stated("coin", float(lost), {"what": what}, verdict=_if(lost < 0))


def _states() -> Iterator[Row]:
    """Yield the chain's size and the lemma, inside and at the edge, where neither holds."""
    for n, q in [*((n, SHARE) for n in TEAMS), (2, 0.0), (2, 1.0)]:
        shares = patient_law(n=n, q=q)
        verdict: Verdict = "holds" if 0.0 < q < 1.0 else "holds if"
        params = {"n": n, "q": q, "what": "pools that the patient policy meets"}
        printed = 2.0 * n * (n + 1)
        yield _stated("states", len(shares), params, printed=printed, verdict=verdict)
        three = [shares.get(pool, Fraction(0)) for pool in ((0, 1), (1, 0), (0, 0))]
        apart = float(max(three) - min(three))
        params = {"n": n, "q": q, "what": "largest difference of pi(0,1), pi(1,0) and pi(0,0)"}
        yield _stated("lemma3.2", apart, params, printed=0.0, verdict=verdict)


def _deltas() -> Iterator[Row]:
    for n in TEAMS:
        for q in (SHARE, 0.5):
            share = Fraction(repr(q))
            one, two = (
                sum(
                    comb(2 * n - 1, k) * share**k * (1 - share) ** (2 * n - 1 - k)
                    for k in range(2 * n)
                    if k % 2 == odd
                )
                for odd in (1, 0)
            )
            params = {"n": n, "q": q, "what": "delta1 + delta2"}
            yield _stated("delta", float(one + two), params, printed=1.0)


def _theorem() -> Iterator[Row]:
    for n in TEAMS:
        for q in (SHARE, 0.5):
            tie = wu(n=n, q=q, alpha=0).threshold or 0.0
            for alpha in (0.0, 0.5, 0.999 * tie, tie, 1.001 * tie, 5.0):
                yield _least(n, q, alpha, 2 * n + 1)
    for q in (0.0, 1.0):
        yield _least(2, q, 5.0, 5)
    n, alpha = 2, 5.0
    pools = Pools(HIGH_LOW, (1.0 - SHARE, SHARE), n, 2 * n)
    forced = run_long(pools, *pools.after(pools.least_moves()))
    exact = forced.wait + 2 * n * alpha * forced.imbalance
    params = {"n": n, "q": SHARE, "alpha": alpha, "cap": 2 * n, "what": "no 2n may wait"}
    holds: Verdict = "holds if"
    yield _stated("theorem3.3", exact, params, printed=float(n), verdict=holds)


def _least(n: int, q: float, alpha: float, cap: int) -> Row:
    given = wu(n=n, q=q, alpha=alpha)
    is_greedy = given.threshold is None or alpha <= given.threshold
    named = given.greedy_cost if is_greedy else given.patient_cost
    params = {"n": n, "q": q, "alpha": round(alpha, 6), "cap": cap, "what": "least cost per period"}
    return _stated("theorem3.3", _best(n, q, alpha, cap).cost, params, printed=named)


def _thresholds() -> Iterator[Row]:
    """Yield the alpha where the exact costs of the two policies meet: they are lines in it."""
    for n in TEAMS:
        for q in (0.05, SHARE, 0.5):
            none, one = _best(n, q, 0.0), _best(n, q, 1.0)
            meets = (_patient(none) - none.greedy) / (one.greedy - none.greedy)
            printed = 1.0 / (1.0 - (2.0 * q - 1.0) ** (2 * n))
            yield _stated("threshold", meets, {"n": n, "q": q, "what": FROM}, printed=printed)


def _patient(found: SkillPolicies) -> float:
    """Return the cost of patient; with two skills the cap never forces a match."""
    if found.patient is None:
        raise ConfigError("patient has no cost at this cap; give a higher one")
    return found.patient


def _caps() -> Iterator[Row]:
    """Yield the gain of a larger pool: none, beyond one more player than a match has."""
    n, alpha = 2, 5.0
    for cap in (5, 6, 7, 9, 12):
        what = "least cost per period if a match must be made at cap players"
        params = {"n": n, "q": SHARE, "alpha": alpha, "cap": cap, "what": what}
        yield _stated("cap", _best(n, SHARE, alpha, cap).cost, params, printed=float(n))


def _by_alpha() -> Iterator[Row]:
    what = "cost of greedy less that of patient"
    for alpha, sign in ((0.25, -1), (0.5, -1), (2.0, 1), (4.0, 1)):
        found = _best(2, SHARE, alpha)
        gain = found.greedy - _patient(found)
        params = {"n": 2, "q": SHARE, "alpha": alpha, "what": what}
        yield _stated("implication1", gain, params, verdict=_if(gain * sign > 0))


def _by_q() -> Iterator[Row]:
    least = 0.0
    for q in (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.01):
        threshold = wu(n=2, q=q, alpha=1).threshold or 0.0
        params = {"n": 2, "q": q, "what": FROM}
        yield _stated("implication2", threshold, params, verdict=_if(threshold > least))
        least = threshold


def _by_n() -> Iterator[Row]:
    """Yield the third implication, and the abstract, which forgets its condition."""
    most = math.inf
    for n in TEAMS:
        threshold = wu(n=n, q=SHARE, alpha=1).threshold or 0.0
        params = {"n": n, "q": SHARE, "what": FROM}
        yield _stated("implication3", threshold, params, verdict=_if(threshold < most))
        most = threshold
    for n in TEAMS:
        threshold = wu(n=n, q=0.5, alpha=1).threshold or 0.0
        params = {"n": n, "q": 0.5, "what": FROM}
        yield _stated("abstract", threshold, params, verdict="holds if")


def _pure() -> Iterator[Row]:
    """Yield the cost of matches of a single type: high and low players gather by themselves."""
    what = "cost per period of matches of a single type; patient costs n"
    for n in TEAMS:
        size = 2 * n
        high, low = np.divmod(np.arange(size * size), size)
        nexts = ((high + 1) % size * size + low, high * size + (low + 1) % size)
        shares = np.repeat([SHARE, 1.0 - SHARE], size * size)
        places = (np.tile(np.arange(size * size), 2), np.concatenate(nexts))
        gathering = csr_matrix((shares, places), shape=(size * size,) * 2)
        cost = float(long_run_shares(gathering) @ (high + low))
        yield _stated("footnote9", cost, {"n": n, "q": SHARE, "what": what})
