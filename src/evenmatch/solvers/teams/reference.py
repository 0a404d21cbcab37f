"""The value of a match of a batch, in plain Python: the definition that kernels are tested by."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from evenmatch.solvers.matching.pairs import CAPPED, RAW, STEP_SLACK
from evenmatch.solvers.teams.batch import (
    ALL,
    APART,
    COLUMN,
    ENEMIES,
    FREE_SEATS,
    HOME_GAP,
    HOSTS_LACK,
    KIND,
    KNEE,
    LISTED_GAP,
    MATES,
    MEAN_GAP,
    MODERATE,
    NOT_ENEMIES,
    NOT_MATES,
    OPEN,
    PAIR_GAP,
    PARTY_GAP,
    PING_GAP,
    RANK_GAP,
    REGION_GAP,
    SHAPE,
    SPREAD,
    STEP,
    TONGUES_GAP,
    TOP,
    WEIGHT,
    WORDS_GAP,
    Batch,
    Facts,
    Floats,
    venues_of,
)

Teams = Sequence[Sequence[int]]
"""Player numbers by team."""


def cost_of(batch: Batch, teams: Teams) -> float:
    """Return the weighted cost of one match; its quality is 1 - this.

    Complexity:
        O(k^2 + k * regions), and all role assignments of each team.
    """
    total = pair_costs(batch, teams) + math.fsum(_term_cost(batch, t, teams) for t in batch.terms)
    total += batch.parity * parity_gap(batch, teams)
    total += float(batch.hosts[min(2, len(hosts_of(batch, teams)))])
    total += batch.fullness * free_share(batch, teams)
    if batch.role_seats.size:
        players = sum(map(len, teams))
        total += math.fsum(_role_cost(batch, team) for team in teams) * batch.k / players
    return total


def is_legal(batch: Batch, teams: Teams) -> bool:
    """Return whether a match has legal sizes and roles and breaks no hard rule."""
    sizes = [len(team) for team in teams]
    if any(
        n < low or n > high
        for n, low, high in zip(sizes, batch.seats_min, batch.seats, strict=True)
    ):
        return False
    if batch.role_seats.size and any(math.isinf(_role_cost(batch, team)) for team in teams):
        return False
    if batch.sides.size and any(
        batch.sides[p] not in (-1, at) for at, team in enumerate(teams) for p in team
    ):
        return False
    return _pairs_are_legal(batch.facts, teams) and all(
        _rule_holds(batch, rule, tolerances, teams)
        for rule, tolerances in zip(batch.rules, batch.tolerances, strict=True)
    )


def free_share(batch: Batch, teams: Teams) -> float:
    """Return the free seats as a share of those that may stay free; 0 if none may."""
    room = int((batch.seats - batch.seats_min).sum())
    return (batch.k - sum(map(len, teams))) / room if room else 0.0


def pair_costs(batch: Batch, teams: Teams) -> float:
    """Return the costs averaged over pairs of a match, or over its players to one region."""
    facts = batch.facts
    everyone = [p for team in teams for p in team]
    place = {p: t for t, team in enumerate(teams) for p in team}
    pairs = list(combinations(everyone, 2))
    enemies = [(i, j) for i, j in pairs if place[i] != place[j]]
    mates = [(i, j) for i, j in pairs if place[i] == place[j]]
    total = 0.0
    for term in facts.gaps:
        values = facts.values[int(term[COLUMN])]
        costs = [shaped_gap(term, abs(values[i] - values[j])) for i, j in pairs]
        total += term[WEIGHT] * _mean(costs)
    for weight, chosen in zip(facts.ping_weights, (enemies, mates, pairs), strict=False):
        if weight:
            total += weight * _mean([ping_cost(facts, ping_of(facts, i, j)) for i, j in chosen])
    if facts.ping_weights[3]:
        total += facts.ping_weights[3] * region_cost(batch, everyone, 0)
    if len(facts.met):
        total += facts.met_weight * _mean([_met_cost(facts, i, j, place) for i, j in pairs])
    for codes, weight in zip(facts.words, facts.words_weight, strict=True):
        if math.isfinite(weight):
            total += weight * _mean([float(codes[i] != codes[j]) for i, j in pairs])
    for sets, weight in zip(facts.tongues, facts.tongues_weight, strict=True):
        if math.isfinite(weight):
            total += weight * _mean([float(not sets[i] & sets[j]) for i, j in pairs])
    return float(total)


def ping_of(facts: Facts, i: int, j: int) -> float:
    """Return the milliseconds between two players; inf if no region joins them."""
    if facts.ping.size:
        return float(facts.ping[i, j])
    both = facts.latency[i].astype(np.float64) + facts.latency[j]
    return float(both.min(initial=math.inf))


def ping_cost(facts: Facts, ping: float) -> float:
    """Return the cost of a ping in [0, 1]."""
    best, worst = facts.ping_scale
    return ms_cost(ping, best, worst)


def ms_cost(ping: float, best: float, worst: float) -> float:
    """Return the cost of milliseconds in [0, 1]."""
    if ping >= worst:
        return 1.0
    return min(1.0, max(0.0, math.log(max(ping, best) / best) / math.log(worst / best)))


def region_cost(batch: Batch, everyone: Sequence[int], venue: int) -> float:
    """Return the mean cost (or milliseconds) of the best region that rules allow a match now.

    If they allow none yet, that of the best region that they will ever allow; 1 if there is none.
    """
    attribute, best, worst, furthest = venues_of(batch.facts)[venue]
    ever = [ms for ms in _regions(batch.facts, everyone, venue) if max(ms) <= furthest]
    limit = math.inf
    for (kind, column, accept), tolerances in zip(
        batch.rules.tolist(), batch.tolerances, strict=True
    ):
        if kind == REGION_GAP and venues_of(batch.facts)[int(column)][0] == attribute:
            own = [float(tolerances[player]) for player in everyone]
            limit = min(limit, max(own) if accept else min(own))
    chosen = [ms for ms in ever if max(ms) <= limit] or ever
    costs = [
        math.fsum(ms_cost(each, best, worst) if worst else each for each in ms) for ms in chosen
    ]
    return min(costs) / len(everyone) if costs else 1.0


def _regions(facts: Facts, everyone: Sequence[int], venue: int) -> list[list[float]]:
    """Return the latencies of some players to each region that all of them know."""
    attribute = int(venues_of(facts)[venue][0])
    own = facts.more_latency[attribute - 1] if attribute else facts.latency
    columns: list[list[float]] = own[list(everyone)].T.astype(np.float64).tolist()
    return [ms for ms in columns if max(ms) < math.inf]


def _met_cost(facts: Facts, i: int, j: int, place: dict[int, int]) -> float:
    one, two = facts.met[:, 0], facts.met[:, 1]
    total = 0.0
    for _, _, fresh, were_mates in facts.met[(one == i) & (two == j) | (one == j) & (two == i)]:
        same = bool(were_mates) == (place[i] == place[j])
        total += float(fresh) * (1.0 if same else 0.5)
    return total


def shaped_gap(term: Floats, gap: float) -> float:
    """Return what a gap costs before the weight of its term."""
    if term[STEP] > 0.0:
        gap = math.floor(gap / term[STEP] + STEP_SLACK) * term[STEP]
    if term[SHAPE] == RAW:
        return gap
    gap = min(gap, term[TOP])
    if term[SHAPE] == CAPPED:
        return float(gap / term[TOP])
    return math.log1p(gap / term[KNEE]) / math.log1p(term[TOP] / term[KNEE])


def raw_gap(kind: float, values: Floats, teams: Teams) -> float:
    """Return the unscaled gap of one kind in a match; empty teams do not count."""
    own = [[float(values[p]) for p in team] for team in teams if team]
    everyone = [v for team in own for v in team]
    if kind == SPREAD:
        return max(everyone) - min(everyone)
    if kind == PAIR_GAP:
        return _mean([abs(a - b) for a, b in combinations(everyone, 2)])
    sums = [math.fsum(team) / (len(team) if kind == MEAN_GAP else 1) for team in own]
    return max(sums) - min(sums)


def _term_cost(batch: Batch, term: Floats, teams: Teams) -> float:
    column, everyone = int(term[COLUMN]), [p for team in teams for p in team]
    if term[KIND] == REGION_GAP:
        return float(term[WEIGHT]) * region_cost(batch, everyone, column)
    if term[KIND] == PING_GAP:
        pings = _related_pings(batch.facts, teams, column)
        return float(term[WEIGHT]) * _mean([ms_cost(ms, term[KNEE], term[TOP]) for ms in pings])
    if term[KIND] == HOSTS_LACK:
        return float(term[WEIGHT]) * (0.0, 0.4, 1.0)[_hosts_lack(batch, teams, column)]
    gap = raw_gap(term[KIND], batch.facts.values[int(term[COLUMN])], teams)
    return float(term[WEIGHT]) * shaped_gap(term, gap)


def parity_gap(batch: Batch, teams: Teams) -> float:
    """Return .6 x + .4 x^2 for the two teams whose parties differ most; empty ones do not count."""
    x = party_gap(batch, teams)
    return 0.6 * x + 0.4 * x * x


def party_gap(batch: Batch, teams: Teams) -> float:
    """Return x: half the L1 distance of the teams' sorted party sizes, over the seats less 1."""
    party = np.searchsorted(batch.first, np.arange(batch.players), side="right") - 1
    shapes = []
    n = max(map(len, teams))
    for team in [own for own in teams if own]:
        sizes = sorted(np.unique(party[list(team)], return_counts=True)[1].tolist(), reverse=True)
        shapes.append(sizes + [0] * (n - len(sizes)))
    worst = max(
        (sum(abs(p - q) for p, q in zip(a, b, strict=True)) for a, b in combinations(shapes, 2)),
        default=0,
    )
    return float(worst / 2 / max(n - 1, 1))


def rank_gap(batch: Batch, teams: Teams) -> float:
    """Return the mean rank of the assigned roles, divided by the last rank."""
    last, players = batch.role_seats.size - 1, sum(map(len, teams))
    if last <= 0 or batch.rank_share == 0.0:
        return 0.0
    cost = math.fsum(_role_cost(batch, team) for team in teams) * batch.k / players
    worst = players * last
    return round(cost / batch.rank_share * worst) / worst if math.isfinite(cost) else math.inf


def hosts_of(batch: Batch, teams: Teams) -> list[int]:
    """Return the players who reach everyone in the match."""
    everyone = [p for team in teams for p in team]
    return [i for i in everyone if all(reaches(batch.facts, i, j) for j in everyone if j != i)]


def _hosts_lack(batch: Batch, teams: Teams, column: int) -> int:
    """Return by how many the hosts fall short of two."""
    if column == 0:
        return 2 - min(2, len(hosts_of(batch, teams)))
    table, everyone = batch.facts.more_connect[column - 1], [p for team in teams for p in team]
    found = [i for i in everyone if all(table[i, j] for j in everyone if j != i)]
    return 2 - min(2, len(found))


def _related(teams: Teams, pairs: int) -> list[tuple[int, int]]:
    """Return the pairs of players that a rule or term compares."""
    place = {p: at for at, team in enumerate(teams) for p in team}
    return [
        (i, j)
        for i, j in combinations(place, 2)
        if pairs == ALL or (place[i] == place[j]) == (pairs == MATES)
    ]


def _related_pings(facts: Facts, teams: Teams, column: int) -> list[float]:
    attribute, pairs = divmod(column, 3)
    if attribute == 0:
        return [ping_of(facts, i, j) for i, j in _related(teams, pairs)]
    if facts.more_ping.size:
        return [float(facts.more_ping[attribute - 1, i, j]) for i, j in _related(teams, pairs)]
    ms = facts.more_latency[attribute - 1]
    return [float((ms[i] + ms[j]).min(initial=math.inf)) for i, j in _related(teams, pairs)]


def _listed_gap(facts: Facts, teams: Teams, column: int) -> float:
    """Return the largest gap of a listed pair."""
    found = [
        gap
        for one, two, number, gap, pairs in facts.listed.tolist()
        if number == column
        and ({int(one), int(two)} in [{i, j} for i, j in _related(teams, int(pairs))])
    ]
    return max(found, default=0.0)


def _home_gap(facts: Facts, teams: Teams, column: int) -> float:
    """Return the most players of one household, see `criteria.kinds.household_limit`."""
    home, pairs = divmod(column, 3)
    counts = [Counter(k for p in team for k in facts.homes[home, p] if k >= 0) for team in teams]
    if pairs == MATES:
        return float(max((n for own in counts for n in own.values()), default=0))
    total = sum(counts, Counter())
    if pairs == ENEMIES:
        total = Counter({k: n for k, n in total.items() if all(own[k] < n for own in counts)})
    return float(max(total.values(), default=0))


def reaches(facts: Facts, i: int, j: int) -> bool:
    """Return whether a player can connect to another."""
    if facts.connect.size:
        return bool(facts.connect[i, j])
    if not facts.network.size:
        return True
    pair = (int(facts.network[i]), int(facts.network[j]))
    return OPEN in pair or pair == (MODERATE, MODERATE)


def _role_cost(batch: Batch, team: Sequence[int]) -> float:
    """Return the least cost of an assignment of a team to its roles; inf if there is none."""
    best = {tuple([0] * batch.role_seats.size): 0.0}
    for player in team:
        after: dict[tuple[int, ...], float] = {}
        for used, cost in best.items():
            for role, own in enumerate(batch.role_cost[player]):
                if used[role] < batch.role_seats[role] and math.isfinite(own):
                    state = (*used[:role], used[role] + 1, *used[role + 1 :])
                    after[state] = min(after.get(state, math.inf), cost + float(own))
        best = after
    return min(best.values(), default=math.inf)


def _pairs_are_legal(facts: Facts, teams: Teams) -> bool:
    everyone = [p for team in teams for p in team]
    place = {p: t for t, team in enumerate(teams) for p in team}
    for codes, weight in zip(facts.words, facts.words_weight, strict=True):
        if math.isinf(weight) and len({int(codes[p]) for p in everyone}) > 1:
            return False
    for sets, weight in zip(facts.tongues, facts.tongues_weight, strict=True):
        if math.isinf(weight) and not np.bitwise_and.reduce(sets[everyone]):
            return False
    for one, two, flags in facts.avoid.tolist():
        if one in place and two in place:
            relation = NOT_MATES if place[one] == place[two] else NOT_ENEMIES
            if flags & (APART | relation):
                return False
    near = [min(facts.region_max[i], facts.region_max[j]) for i, j in combinations(everyone, 2)]
    for (i, j), limit in zip(combinations(everyone, 2), near, strict=True):
        worst = np.maximum(facts.latency[i], facts.latency[j])
        if limit < math.inf and not (worst <= limit).any():
            return False
    return _words_are_minded(facts, everyone) and _pings_are_legal(facts, everyone, place)


def _words_are_minded(facts: Facts, everyone: Sequence[int]) -> bool:
    """Return whether no player meets a word that they do not accept now, pair by pair."""
    for i, j in combinations(everyone, 2):
        for codes, minds in zip(facts.words, facts.words_mind, strict=False):
            if codes[i] != codes[j] and (minds[i] or minds[j]):
                return False
        for sets, minds in zip(facts.tongues, facts.tongues_mind, strict=False):
            if not sets[i] & sets[j] and (minds[i] or minds[j]):
                return False
    return True


def _pings_are_legal(facts: Facts, everyone: Sequence[int], place: dict[int, int]) -> bool:
    """Return whether each pair's ping is within what both players accept."""
    for i, j in combinations(everyone, 2):
        own = facts.ping_max[1 if place[i] == place[j] else 0]
        limit = min(own[i], own[j])
        if math.isfinite(limit) and ping_of(facts, i, j) > limit:
            return False
    return True


def gap_of(batch: Batch, kind: float, column: int, teams: Teams) -> float:
    """Return the gap that a rule of one kind limits."""
    facts, everyone = batch.facts, [p for team in teams for p in team]
    if kind <= PAIR_GAP:
        return raw_gap(kind, facts.values[column], teams)
    if kind == REGION_GAP:
        return min((max(ms) for ms in _regions(facts, everyone, column)), default=math.inf)
    if kind == PING_GAP:
        return max(_related_pings(facts, teams, column), default=0.0)
    if kind == WORDS_GAP:
        return float(len({int(facts.words[column, p]) for p in everyone}) > 1)
    if kind == TONGUES_GAP:
        return float(not np.bitwise_and.reduce(facts.tongues[column, everyone]))
    return {
        FREE_SEATS: lambda: free_share(batch, teams),
        PARTY_GAP: lambda: party_gap(batch, teams),
        RANK_GAP: lambda: rank_gap(batch, teams),
        HOSTS_LACK: lambda: float(_hosts_lack(batch, teams, column)),
        LISTED_GAP: lambda: _listed_gap(facts, teams, column),
        HOME_GAP: lambda: _home_gap(facts, teams, column),
    }[kind]()


def _rule_holds(batch: Batch, rule: Floats, tolerances: Floats, teams: Teams) -> bool:
    kind, column, accept = rule
    gap = gap_of(batch, float(kind), int(column), teams)
    limits = [float(tolerances[p]) for team in teams for p in team]
    return gap <= (max(limits) if accept else min(limits))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
