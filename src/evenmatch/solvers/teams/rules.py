"""By how much a division of a match breaks rules, and what criteria that compare no numbers cost.

A broken rule counts by the players who would have to leave, if that number is defined, so that a
search can approach a legal match step by step.
"""

from __future__ import annotations

import math

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import (
    ALL,
    COLUMN,
    FREE_SEATS,
    HOME_GAP,
    HOSTS_LACK,
    KIND,
    KNEE,
    LISTED_GAP,
    MATES,
    PAIR_GAP,
    PARTY_GAP,
    PING_GAP,
    RANK_GAP,
    REGION_GAP,
    TONGUES_GAP,
    TOP,
    WEIGHT,
    WORDS_GAP,
)
from evenmatch.solvers.teams.criterion_kernels import party_gap, raw_gap
from evenmatch.solvers.teams.evaluation_input import HAS_REGION, JOINT, Scene
from evenmatch.solvers.teams.pairs import ping_between, reaches
from evenmatch.solvers.teams.search_state import Board

ONE_HOST = 0.4
"""Cost of a match with one host, see `criteria.host_reach`."""

_ROW = "Scene, Board, int64"


@kernel("int64(Scene, int64)", inline=True, allocates=False)
def _team_at(scene: Scene, place: int) -> int:
    team_start, team = scene.team_start, 0
    while place >= team_start[team + 1]:
        team += 1
    return team


@kernel("boolean(int64, boolean)", inline=True, allocates=False)
def _counts(pairs: int, is_mate: bool) -> bool:
    return pairs == ALL or (pairs == MATES) == is_mate


@kernel("float64(Scene, int64, int64, int64)", allocates=False)
def _ping(scene: Scene, attribute: int, i: int, j: int) -> float:
    """Return the milliseconds between two players by one attribute; inf if nothing joins them."""
    latencies, pings = scene.match_facts.latencies, scene.match_facts.pings
    if attribute == 0:
        return ping_between(scene.measures, i, j)
    if pings.shape[0] > 0:
        return float(pings[attribute - 1, i, j])
    least = np.inf
    for region in range(latencies.shape[2]):
        least = min(least, latencies[attribute, i, region] + latencies[attribute, j, region])
    return least


@kernel("float64(float64, float64, float64)", inline=True, allocates=False)
def _cost_of_ms(ms: float, best: float, worst: float) -> float:
    if not ms < worst:
        return 1.0
    return math.log(max(ms, best) / best) / math.log(worst / best)


@kernel(f"float64({_ROW}, int64, float64, float64)", allocates=False)
def _pings(scene: Scene, board: Board, row: int, column: int, best: float, worst: float) -> float:
    """Return the mean cost of the pings of a match, or the largest one if `worst` is 0."""
    seat, order = board.seat, board.order
    total, count, most = 0.0, 0, 0.0
    for a in range(seat.shape[1]):
        if order[0, a] < 0:
            continue
        team = _team_at(scene, a)
        for b in range(a + 1, seat.shape[1]):
            if order[0, b] < 0 or not _counts(column % 3, _team_at(scene, b) == team):
                continue
            ping = _ping(scene, column // 3, seat[row, order[0, a]], seat[row, order[0, b]])
            most = max(most, ping)
            if worst > 0.0:
                total += _cost_of_ms(ping, best, worst)
            count += 1
    return total / max(count, 1) if worst > 0.0 else most


@kernel(f"float64({_ROW}, int64)", inline=True, allocates=False)
def _accepted(scene: Scene, board: Board, row: int, rule: int) -> float:
    """Return the largest gap of a rule that a match accepts, by all players or by any one."""
    rules, tolerances, seat = scene.rules, scene.tolerances, board.seat
    narrow, wide = np.inf, -np.inf
    for p in range(seat.shape[1]):
        if seat[row, p] >= 0:
            limit = tolerances[rule, seat[row, p]]
            narrow, wide = min(narrow, limit), max(wide, limit)
    return wide if rules[rule, 2] != 0.0 else narrow


@kernel(f"float64({_ROW}, int64, float64)", allocates=False)
def _least_mean(scene: Scene, board: Board, row: int, venue: int, limit: float) -> float:
    """Return the mean cost of the region that suits a match best; inf if it has none.

    Args:
        scene: The batch.
        board: Its matches.
        row: One of them.
        venue: The row of `Facts.venues` by which the region is chosen.
        limit: Regions with a larger latency for any player are excluded.

    Complexity:
        O(k * regions).
    """
    seat, costs = board.seat, scene.match_facts.region_costs
    latencies, attribute = scene.match_facts.latencies, scene.match_facts.venue_of[venue]
    players, best = 0, np.inf
    for p in range(seat.shape[1]):
        players += 1 if seat[row, p] >= 0 else 0
    for region in range(costs.shape[2]):
        total = 0.0
        for p in range(seat.shape[1]):
            player = seat[row, p]
            if player >= 0:
                total += costs[venue, player, region]
                if not (total < best and latencies[attribute, player, region] <= limit):
                    total = np.inf
                    break
        best = min(best, total)
    return best / max(players, 1)


@kernel(f"float64({_ROW}, int64)", allocates=False)
def _region_cost(scene: Scene, board: Board, row: int, venue: int) -> float:
    """Return the mean cost of the region of a match: the best that rules allow now.

    If they allow none now, that of the best region that will ever be allowed; 1 if there is none.
    """
    rules, venue_of = scene.rules, scene.match_facts.venue_of
    limit = np.inf
    for q in range(rules.shape[0]):
        if rules[q, 0] == REGION_GAP and venue_of[int(rules[q, 1])] == venue_of[venue]:
            limit = min(limit, _accepted(scene, board, row, q))
    mean = _least_mean(scene, board, row, venue, limit)
    if mean == np.inf and limit < np.inf:
        mean = _least_mean(scene, board, row, venue, np.inf)
    return mean if mean < np.inf else 1.0


@kernel(f"int64({_ROW}, int64, float64)", inline=True, allocates=False)
def _too_far(scene: Scene, board: Board, row: int, venue: int, limit: float) -> int:
    """Return how many players would have to leave before some region is near enough to the rest."""
    seat, latencies, attribute = (
        board.seat,
        scene.match_facts.latencies,
        scene.match_facts.venue_of[venue],
    )
    fewest = seat.shape[1]
    if limit == np.inf:
        return 0
    for region in range(latencies.shape[2]):
        far = 0
        for p in range(seat.shape[1]):
            if seat[row, p] >= 0 and not latencies[attribute, seat[row, p], region] <= limit:
                far += 1
                if far >= fewest:
                    break
        fewest = min(fewest, far)
    return fewest


@kernel(f"float64({_ROW})", allocates=False)
def place_cost(scene: Scene, board: Board, row: int) -> float:
    """Return the weighted cost of a match's region, which does not depend on the division."""
    terms, numbers = scene.terms, scene.numbers
    cost = 0.0
    if numbers[HAS_REGION] == 0.0:
        return cost
    if numbers[JOINT] != 0.0:
        cost += numbers[JOINT] * _region_cost(scene, board, row, 0)
    for d in range(terms.shape[0]):
        if terms[d, KIND] == REGION_GAP:
            cost += terms[d, WEIGHT] * _region_cost(scene, board, row, int(terms[d, COLUMN]))
    return cost


@kernel(f"int64({_ROW})", inline=True, allocates=False)
def far_players(scene: Scene, board: Board, row: int) -> int:
    """Return by how much a match breaks the rules on regions, which ignore the division."""
    rules, broken = scene.rules, 0
    if scene.numbers[HAS_REGION] == 0.0:
        return 0
    for q in range(rules.shape[0]):
        if rules[q, 0] == REGION_GAP:
            limit = _accepted(scene, board, row, q)
            broken += _too_far(scene, board, row, int(rules[q, 1]), limit)
    return broken


@kernel(f"int64({_ROW}, int64)", allocates=False)
def _hosts_lack(scene: Scene, board: Board, row: int, column: int) -> int:
    """Return by how many the hosts fall short of two."""
    seat, order, more = board.seat, board.order, scene.match_facts.more_connect
    found = 0
    for a in range(seat.shape[1]):
        can_host = order[0, a] >= 0
        for b in range(seat.shape[1]):
            if can_host and b != a and order[0, b] >= 0:
                one, two = seat[row, order[0, a]], seat[row, order[0, b]]
                if column == 0:
                    can_host = reaches(scene.measures, one, two)
                else:
                    can_host = more[column - 1, one, two] != 0
        found += 1 if can_host else 0
    return 2 - min(2, found)


@kernel(f"int64({_ROW}, int64)", allocates=False)
def _odd_words(scene: Scene, board: Board, row: int, column: int) -> int:
    """Return how many players have another word than the most common one of the match."""
    words, seat, order = scene.measures.words, board.seat, board.order
    players, most = 0, 0
    for a in range(seat.shape[1]):
        if order[0, a] < 0:
            continue
        players += 1
        equal = 0
        for b in range(seat.shape[1]):
            if order[0, b] >= 0:
                own = words[column, seat[row, order[0, a]]]
                equal += 1 if words[column, seat[row, order[0, b]]] == own else 0
        most = max(most, equal)
    return players - most


@kernel(f"int64({_ROW}, int64)", allocates=False)
def _odd_tongues(scene: Scene, board: Board, row: int, column: int) -> int:
    """Return how many players lack the element that most players of the match share."""
    tongues, seat, order = scene.measures.tongues, board.seat, board.order
    shared = np.uint64(0xFFFFFFFFFFFFFFFF)
    players, most = 0, 0
    for at in range(seat.shape[1]):
        if order[0, at] >= 0:
            shared &= tongues[column, seat[row, order[0, at]]]
            players += 1
    if shared != 0 or players == 0:
        return 0
    for bit in range(64):
        count = 0
        for at in range(seat.shape[1]):
            if order[0, at] >= 0:
                own = tongues[column, seat[row, order[0, at]]]
                count += 1 if (own >> np.uint64(bit)) & np.uint64(1) else 0
        most = max(most, count)
    return players - most


@kernel(f"int64({_ROW}, int64, float64)", allocates=False)
def _listed_beyond(scene: Scene, board: Board, row: int, column: int, limit: float) -> int:
    """Return how many listed pairs are in a match although their gap exceeds a limit."""
    seat, order = board.seat, board.order
    first, listed, gaps = (
        scene.match_facts.listed_first,
        scene.match_facts.listed,
        scene.match_facts.listed_gaps,
    )
    found = 0
    for a in range(seat.shape[1]):
        if order[0, a] < 0:
            continue
        player, team = seat[row, order[0, a]], _team_at(scene, a)
        for at in range(first[player], first[player + 1]):
            if listed[1, at] != column or not gaps[at] > limit:
                continue
            # The entry is stored at both ends; only one of them counts it.
            for b in range(a + 1, seat.shape[1]):
                if order[0, b] >= 0 and seat[row, order[0, b]] == listed[0, at]:
                    found += 1 if _counts(listed[2, at], _team_at(scene, b) == team) else 0
    return found


@kernel(f"int64({_ROW}, int64)", allocates=False)
def _housemates(scene: Scene, board: Board, row: int, column: int) -> int:
    """Return the most players of one household, as in `criteria.kinds.household_limit`."""
    seat, order, homes = board.seat, board.order, scene.match_facts.homes
    most, pairs, home = 0, column % 3, column // 3
    for a in range(seat.shape[1]):
        if order[0, a] < 0:
            continue
        team = _team_at(scene, a)
        for at in range(homes.shape[2]):
            key = homes[home, seat[row, order[0, a]], at]
            if key < 0:
                continue
            everywhere, mates = 0, 0
            for b in range(seat.shape[1]):
                if order[0, b] < 0:
                    continue
                for other in range(homes.shape[2]):
                    if homes[home, seat[row, order[0, b]], other] == key:
                        everywhere += 1
                        mates += 1 if _team_at(scene, b) == team else 0
            count = everywhere
            if pairs == MATES:
                count = mates
            elif pairs != ALL and everywhere == mates:
                count = 0
            most = max(most, count)
    return most


@kernel(f"int64({_ROW}, float64, int64, float64, float64)", allocates=False)
def _broken(
    scene: Scene, board: Board, row: int, kind: float, column: int, rank: float, limit: float
) -> int:
    """Return 0 if a rule beyond numbers and regions holds, else by how much it is broken."""
    if kind == PARTY_GAP:
        return 1 if party_gap(scene, board, row) > limit else 0
    if kind == RANK_GAP:
        return 1 if rank > limit else 0
    if kind == PING_GAP:
        return 1 if _pings(scene, board, row, column, 0.0, 0.0) > limit else 0
    if kind == HOSTS_LACK:
        lack = _hosts_lack(scene, board, row, column)
        return lack if lack > limit else 0
    if kind == WORDS_GAP:
        return _odd_words(scene, board, row, column) if limit < 1.0 else 0
    if kind == TONGUES_GAP:
        return _odd_tongues(scene, board, row, column) if limit < 1.0 else 0
    if kind == LISTED_GAP:
        return _listed_beyond(scene, board, row, column, limit)
    if kind == HOME_GAP:
        beyond = _housemates(scene, board, row, column) - limit
        return math.ceil(beyond) if beyond > 0.0 else 0
    return 0


@kernel(f"int64({_ROW}, float64)", allocates=False)
def broken_rules(scene: Scene, board: Board, row: int, rank: float) -> int:
    """Return how many rules the division in `order` breaks: limits of gaps, words, sides.

    Rules on regions are left out: see `far_players`.

    Args:
        scene: The batch.
        board: Its matches.
        row: One of them.
        rank: The mean rank of its roles, see `RANK_GAP`.
    """
    rules, sides, seat, order = scene.rules, scene.match_facts.sides, board.seat, board.order
    broken = 0
    for q in range(rules.shape[0]):
        kind, column = rules[q, 0], int(rules[q, 1])
        if kind == REGION_GAP:
            continue
        limit = _accepted(scene, board, row, q)
        if kind > FREE_SEATS:
            broken += _broken(scene, board, row, kind, column, rank, limit)
        elif raw_gap(scene, seat, row, order, kind, column) > limit:
            broken += 1
    tongues_weight = scene.measures.tongues_weight
    for w in range(tongues_weight.shape[0]):
        if tongues_weight[w] == np.inf:
            broken += _odd_tongues(scene, board, row, w)
    if sides.shape[0] > 0:
        for at in range(seat.shape[1]):
            if order[0, at] >= 0:
                side = sides[seat[row, order[0, at]]]
                broken += 1 if side >= 0 and side != _team_at(scene, at) else 0
    return broken


@kernel(f"float64({_ROW})", allocates=False)
def other_terms(scene: Scene, board: Board, row: int) -> float:
    """Return the weighted costs of the terms that compare neither columns nor regions."""
    terms, total = scene.terms, 0.0
    for d in range(terms.shape[0]):
        kind, column = terms[d, KIND], int(terms[d, COLUMN])
        if kind <= PAIR_GAP or kind == REGION_GAP:
            continue
        if kind == PING_GAP:
            cost = _pings(scene, board, row, column, terms[d, KNEE], terms[d, TOP])
        else:
            lack = _hosts_lack(scene, board, row, column)
            cost = ONE_HOST if lack == 1 else lack / 2.0
        total += terms[d, WEIGHT] * cost
    return total
