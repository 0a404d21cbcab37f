"""The quality of a match: the blog's six factors, its scales and its sums, without randomness."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from evenmatch.lab.solve.arrays import SKILL_CAP, batch_of
from evenmatch.lab.solve.search import parse_objective
from evenmatch.lab.study.study import student_t
from evenmatch.simulation.world.parties import Geography, WorldDraws
from evenmatch.solvers.teams.options import count_of
from papers.galactron.pools import EVENING_WORLD, TEAM_SIZE, K, named_factors, quality_of
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Findings, Part, Row, judged
from papers.shared.words import table_of_rows

CROWD = 200_000
"""Parties among which those above the cap are counted."""
TWICE = 2.0
WORST_OF_PLAYERS = 40.0
SLACK = 0.05
"""Relative error allowed to a "factor of two" that the blog mentions in passing."""
EXAMPLE = ((0.50, 0.90), (0.55, 0.80))
"""Two matches before the change that the blog discusses, and after it."""


def scoring(effort: Effort) -> Part:
    """Return the part on the rules."""
    ids = tuple(f"galactron.{name}" for name in ("factors", "scale", "cap", "root"))
    return Part(ids, _rows, (effort.seed,), _finish)


def _finish(results: Sequence[list[Row]]) -> Findings:
    rows = results[0]
    text = (
        "Matches made up for the purpose, judged by the code that judges all others. Percentages "
        "of the six factors; the team's and the players' scales, and the host's, are ours."
    )
    return Findings(tuple(rows), (table_of_rows("The rules", text, rows),))


def _rows(seed: int) -> list[Row]:
    return [*_factor_rows(), *_scale_rows(), *_cap_rows(seed), *_root_rows()]


def match_of(**changes: Any) -> dict[str, float]:
    """Return the six factors of the match of players 0 to 2 against 3 to 5, in percent.

    Args:
        changes: Arrays that replace those of six equal strangers who live close together.
    """
    arrays: Mapping[str, Any] = {
        "team_size": np.asarray(TEAM_SIZE),
        "party": np.arange(K),
        "skill": np.full(K, 8000),
        "previous_match": np.full(K, -1),
        "previous_team": np.full(K, -1),
        "ping": np.full((K, K), 25.0),
        "connect": np.ones((K, K), dtype=bool),
        **changes,
    }
    batch = batch_of(arrays)
    seated = np.arange(K, dtype=np.int32)[None, :]
    return {name: quality_of(each.alone, seated) for name, each in named_factors(batch).items()}


def _exactly(row_id: str, what: str, truth: float, printed: float | None = None) -> Row:
    """Return a row of a figure without randomness."""
    verdict = None if printed is None else judged(printed, truth=truth, half_width=1e-6)
    # Sums of sixths and fifteenths are accurate to 1e-12; no more digits are needed.
    truth = round(truth, 9) + 0.0
    return Row(id=row_id, params={"what": what}, printed=printed, exact=truth, verdict=verdict)


def _pings(*pairs: tuple[int, int], ms: float = 400.0) -> dict[str, Any]:
    """Return pings, with the worst value for some pairs."""
    table = np.full((K, K), 25.0)
    for one, two in pairs:
        table[one, two] = table[two, one] = ms
    return {"ping": table}


def _met(matches: Sequence[int], teams: Sequence[int]) -> dict[str, Any]:
    return {"previous_match": np.array(matches), "previous_team": np.array(teams)}


def _reached(hosts: int) -> dict[str, Any]:
    """Return the connections with which a number of players reach everybody."""
    table = np.zeros((K, K), dtype=bool)
    table[:hosts] = True
    return {"connect": table}


def _factor_rows() -> list[Row]:
    exactly = partial(_exactly, "galactron.factors")
    trio = [0, 0, 0]
    uneven = match_of(skill=np.array([2000, 6000, 10_000, 5000, 6000, 7000]))
    one_far = match_of(**_pings((0, 3)))["ping"]
    mates_far = match_of(**_pings((0, 1)))["ping"]
    again = match_of(**_met([0, -1, -1, 0, -1, -1], [0, -1, -1, 1, -1, -1]))["variation"]
    turned = match_of(**_met([0, -1, -1, 0, -1, -1], [0, -1, -1, 0, -1, -1]))["variation"]
    pros = match_of(skill=np.array([SKILL_CAP] * TEAM_SIZE + [0.0] * TEAM_SIZE))
    return [
        exactly("premades: three against three", _premade([*trio, 1, 1, 1]), 100.0),
        exactly("premades: three against two and one", _premade([*trio, 1, 1, 2]), 60.0),
        exactly("premades: three against three alone", _premade([*trio, 1, 2, 3]), 0.0),
        exactly("teams of equal means, whatever their players", uneven["team"], 100.0),
        exactly("pairs that equal players are a mean of", _pairs_of_players(), 15.0),
        exactly("pairs that the ping is a mean of", _share_of_one(one_far), 9.0),
        exactly("ping with enemies when two teammates have the worst", mates_far, 100.0),
        exactly("pairs that opponent variation is a mean of", _share_of_one(again)),
        exactly("variation: enemies are enemies again", _of_one(again)),
        exactly("variation: mates are enemies now", _of_one(turned)),
        exactly("hosts: nobody reaches everybody", match_of(**_reached(0))["host"]),
        exactly("hosts: one does", match_of(**_reached(1))["host"]),
        exactly("hosts: two do", match_of(**_reached(2))["host"], 100.0),
        exactly("divisions of six players that are tried", count_of((TEAM_SIZE, TEAM_SIZE))),
        exactly("equal teams: three pros against three beginners", pros["team"], 0.0),
        _row_of_pros(pros["player"]),
    ]


def _row_of_pros(found: float) -> Row:
    """Return the least possible mean over pairs: six of 15 are still of equal players."""
    return Row(
        id="galactron.factors",
        params={"what": "equal players: the worst there is, three pros and three beginners"},
        printed=0.0,
        corrected=WORST_OF_PLAYERS,
        exact=found,
        verdict=judged(0.0, truth=found, half_width=1e-6, corrected=WORST_OF_PLAYERS),
    )


def _premade(party: Sequence[int]) -> float:
    return match_of(party=np.array(party))["premade"]


def _pairs_of_players() -> float:
    """Return the number of pairs in the players' factor: one different player changes five."""
    apart = match_of(skill=np.array([18_000, 0, 0, 0, 0, 0]))["player"]
    return (K - 1) * _share_of_one(apart)


def _share_of_one(quality: float) -> float:
    """Return the number of parts of a mean of which one is 0 and all others are 100."""
    return 100.0 / (100.0 - quality)


def _of_one(quality: float) -> float:
    """Return the value of one of 15 pairs, if the others have 100."""
    return 100.0 - 15.0 * (100.0 - quality)


def _scale_rows() -> list[Row]:
    every = [(i, j) for i in range(TEAM_SIZE) for j in range(TEAM_SIZE, K)]
    at = {ms: match_of(**_pings(*every, ms=ms))["ping"] for ms in (100.0, 110.0, 200.0, 210.0)}
    far, near = at[200.0] - at[210.0], at[100.0] - at[110.0]
    times = near / far
    return [
        _exactly("galactron.scale", "points of ping for 200 ms in place of 210", far),
        _exactly("galactron.scale", "points of ping for 100 ms in place of 110", near),
        Row(
            id="galactron.scale",
            params={"what": "the second is worth so many times the first"},
            printed=TWICE,
            exact=times,
            verdict=judged(TWICE, truth=times, slack=SLACK),
        ),
    ]


def _cap_rows(seed: int) -> list[Row]:
    equal = match_of(skill=np.full(K, SKILL_CAP))
    above = match_of(skill=np.array([20_000, *[SKILL_CAP] * (K - 1)]))
    seeds = np.random.SeedSequence(seed)
    draws = WorldDraws(EVENING_WORLD, Geography(EVENING_WORLD), seeds)
    ratings = draws.crowd(np.full(CROWD, EVENING_WORLD.hour)).rating
    share = 100.0 * float(np.mean(ratings > SKILL_CAP))
    # Friends are alike, so parties, not players, are the independent draws.
    error = 100.0 * math.sqrt(share / 100.0 / CROWD)
    found = Estimate(share, student_t(CROWD) * error)
    lost = above["player"] - equal["player"]
    return [
        _exactly("galactron.cap", "points that 20,000 among 18,000 costs equal players", lost, 0.0),
        Row(
            id="galactron.cap",
            params={"what": "percent of players above 18,000, in the world that we assume"},
            printed=0.3,
            simulated=found.value,
            half_width=found.half_width,
            verdict=judged(0.3, truth=found.value, half_width=found.half_width),
        ),
    ]


def _root_rows() -> list[Row]:
    """Return the figures on square roots, which prefer 55 and 80 % to 50 and 90 %."""
    before, after = (np.array(each) for each in EXAMPLE)
    rows = []
    for name in ("mean", "sqrt", "rms"):
        gain = 100.0 * (parse_objective(name).value(after) - parse_objective(name).value(before))
        row = _exactly(
            "galactron.root", f"gain by the {name} from 50 and 90 % to 55 and 80 %", gain
        )
        if name == "sqrt":
            row = Row(id=row.id, params=row.params, exact=gain, verdict=_preferred(gain))
        rows.append(row)
    least = power_that_prefers(EXAMPLE)
    rows.append(_exactly("galactron.root", "the change is a gain for powers below", least))
    return rows


def _preferred(gain: float) -> Any:
    return "holds" if gain > 0.0 else "wrong in print"


def power_that_prefers(example: tuple[tuple[float, float], tuple[float, float]]) -> float:
    """Return the power below which a mean of powers prefers the second pair of qualities.

    The power 0 is the geometric mean.
    """
    before, after = example

    def is_preferred(power: float) -> bool:
        if power == 0.0:
            return math.prod(after) > math.prod(before)
        gain = math.fsum(q**power for q in after) - math.fsum(q**power for q in before)
        return gain * power > 0.0

    low, high = -50.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_preferred(middle) else (low, middle)
    return low
