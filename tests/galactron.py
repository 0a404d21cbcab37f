"""A second judge of Galactron matches: slow, in plain Python, and without a line of evenmatch.

It follows the blog on the matchmaking of Awesomenauts, factor by factor, with the numbers that
scenarios/galactron.toml states for what the blog leaves open. Tests hold the criteria and
the solvers of evenmatch equal to it; `drawn` makes batches for it, and `best_of` goes through every
way to divide a small batch.

A batch is the content of a `.npz`: `team_size`, and for each player `party`, `skill`,
`previous_match` (-1: none), `previous_team`; `ping` in milliseconds and `connect` for each pair.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

Batch = Mapping[str, Any]
Team = Sequence[int]
"""Numbers of players."""
NAMES = ("team", "player", "premade", "ping", "variation", "host")
WEIGHTS = dict(zip(NAMES, (0.24, 0.22, 0.12, 0.26, 0.04, 0.12), strict=True))
DATA = Path(__file__).parent / "data"


def factors(batch: Batch, red: Team, blue: Team) -> dict[str, float]:
    """Return the six scores of a match, from 0 to 1."""
    judges = (_team, _player, _premade, _ping, _variation, _host)
    return {
        name: judge(batch, list(red), list(blue)) for name, judge in zip(NAMES, judges, strict=True)
    }


def quality(batch: Batch, red: Team, blue: Team) -> float:
    """Return the weighted mean of the six scores."""
    scores = factors(batch, red, blue)
    return math.fsum(WEIGHTS[name] * scores[name] for name in NAMES)


def check(batch: Batch, matches: Sequence[Sequence[Team]]) -> float:
    """Return the mean quality of a solution times 100.

    Raises:
        ValueError: It is none: too few or too many matches, teams that are not full, somebody who
            plays twice, or a party that is divided.
    """
    size, players = int(batch["team_size"]), len(batch["party"])
    if len(matches) != players // (2 * size):
        raise ValueError(f"there are {len(matches)} matches")
    if any(len(match) != 2 or {len(team) for team in match} != {size} for match in matches):
        raise ValueError("a match needs two full teams")
    teams = [team for match in matches for team in match]
    often = Counter(player for team in teams for player in team)
    if often and (max(often.values()) > 1 or not set(often) <= set(range(players))):
        raise ValueError("somebody plays twice, or does not exist")
    whole = Counter(_parties(batch, range(players)))
    for team in teams:
        for party, present in Counter(_parties(batch, team)).items():
            if present < whole[party]:
                raise ValueError(f"party {party} is divided")
    return 100.0 * math.fsum(quality(batch, *match) for match in matches) / len(matches)


def best_of(batch: Batch) -> float:
    """Return the best mean quality times 100 that the batch allows, found by trying everything.

    For a dozen players and one or two on the bench.
    """
    size, players = int(batch["team_size"]), len(batch["party"])
    parties = [
        tuple(p for p in range(players) if batch["party"][p] == name)
        for name in dict.fromkeys(_parties(batch, range(players)))
    ]

    def chosen(names: Sequence[int], count: int) -> Iterator[tuple[int, ...]]:
        for many in range(1, len(names) + 1):
            for some in combinations(names, many):
                if sum(len(parties[name]) for name in some) == count:
                    yield some

    @cache
    def best_split(names: tuple[int, ...]) -> float:
        found = [
            quality(batch, *(
                [p for name in names if (name in reds) is is_red for p in parties[name]]
                for is_red in (True, False)
            ))
            for reds in map(set, chosen(names, size))
        ]  # fmt: skip
        return max(found, default=-math.inf)

    @cache
    def best_rest(names: tuple[int, ...], matches: int) -> float:
        if matches == 0:
            return 0.0
        if not names:
            return -math.inf
        # The first party plays in some match, or sits on the bench.
        found = [best_rest(names[1:], matches)]
        for others in (*chosen(names[1:], 2 * size - len(parties[names[0]])), ()):
            group = (names[0], *others)
            if sum(len(parties[name]) for name in group) == 2 * size:
                rest = tuple(name for name in names if name not in group)
                found.append(best_split(group) + best_rest(rest, matches - 1))
        return max(found)

    matches = players // (2 * size)
    return 100.0 * best_rest(tuple(range(len(parties))), matches) / matches


def drawn(players: int, team_size: int, seed: int) -> dict[str, Any]:
    """Return a batch: friends, beginners and veterans, three continents, strict home networks."""
    chance = random.Random(f"{players} {team_size} {seed}")
    party: list[int] = []
    while len(party) < players:
        room = min(team_size, players - len(party))
        party += [max(party, default=-1) + 1] * min(room, chance.choice([1, 1, 1, 2, 2, 3, 4, 5]))
    homes = [(0.0, 0.0), (90.0, 0.0), (160.0, 60.0)]
    home = {name: chance.choice(homes) for name in set(party)}
    place = [
        tuple(x + chance.gauss(0.0, 12.0)
              for x in (home[name] if chance.random() < 0.9 else chance.choice(homes)))
        for name in party
    ]  # fmt: skip
    is_open = [chance.random() < 0.4 for _ in party]
    ping = np.zeros((players, players), dtype=np.float32)
    connect = np.eye(players, dtype=bool)
    for one, two in combinations(range(players), 2):
        slow = chance.choice([0.0, 0.0, 0.0, 10.0, 60.0, 300.0])
        ping[one, two] = ping[two, one] = 8.0 + math.dist(place[one], place[two]) + slow
        tolerances = is_open[one] or is_open[two] or chance.random() < 0.5
        connect[one, two] = connect[two, one] = tolerances and chance.random() < 0.97
    previous = [number // (2 * team_size) for number in range(players)]
    chance.shuffle(previous)
    came = [chance.random() < 0.8 for _ in party]
    skill = [
        chance.randrange(0, 6_000) if chance.random() < 0.2 else chance.randrange(4_000, 26_000)
        for _ in party
    ]
    return {
        "team_size": np.int32(team_size),
        "party": np.array(party, dtype=np.int32),
        "skill": np.array(skill, dtype=np.uint16),
        "previous_match": np.array(
            [match if has else -1 for match, has in zip(previous, came, strict=True)],
            dtype=np.int32,
        ),
        "previous_team": np.array([chance.randrange(2) for _ in party], dtype=np.int8),
        "ping": ping,
        "connect": connect,
    }


def written(path: Path, batch: Batch) -> Path:
    """Write a batch as the program reads it."""
    np.savez(path, **batch)
    return path


def _parties(batch: Batch, players: Sequence[int]) -> list[int]:
    return [int(batch["party"][player]) for player in players]


def _skills(batch: Batch, players: Sequence[int]) -> list[int]:
    # "Before calculating the skill scores we cap them to 18,000."
    return [min(int(batch["skill"][player]), 18_000) for player in players]


def _falling(gap: float, half: float, worst: float) -> float:
    """Return a score that falls fast at first, from 1 at no gap to 0 at the worst."""
    if gap >= worst:
        return 0.0
    return 1.0 - math.log((half + gap) / half) / math.log((half + worst) / half)


def _team(batch: Batch, red: list[int], blue: list[int]) -> float:
    """Equally skilled teams: the difference of the mean skills, of sums in steps of 16."""
    gap = abs(sum(_skills(batch, red)) - sum(_skills(batch, blue)))
    return _falling((gap - gap % 16) / len(red), 500.0, 9_000.0)


def _player(batch: Batch, red: list[int], blue: list[int]) -> float:
    """Equally skilled players: the mean over all pairs, whatever their teams."""
    pairs = list(combinations(_skills(batch, red + blue), 2))
    return sum(_falling(abs(a - b), 2_000.0, 18_000.0) for a, b in pairs) / len(pairs)


def _premade(batch: Batch, red: list[int], blue: list[int]) -> float:
    """Premades: the same on both sides 100 %, nearly 60 %, a full team against singles 0 %."""
    size = len(red)
    if size == 1:
        return 1.0
    shapes = [sorted(Counter(_parties(batch, team)).values(), reverse=True) for team in (red, blue)]
    red_shape, blue_shape = (shape + [0] * (size - len(shape)) for shape in shapes)
    apart = sum(abs(a - b) for a, b in zip(red_shape, blue_shape, strict=True))
    share = apart / (2.0 * (size - 1))
    return 1.0 - 0.6 * share - 0.4 * share**2


def _ping(batch: Batch, red: list[int], blue: list[int]) -> float:
    """Ping with enemies: 25 ms and less are perfect, 400 and more are worth nothing."""
    scores = []
    for one in red:
        for two in blue:
            ms = min(max(float(batch["ping"][one, two]), 25.0), 400.0)
            scores.append((math.log(400.0) - math.log(ms)) / (math.log(400.0) - math.log(25.0)))
    return sum(scores) / len(scores)


def _variation(batch: Batch, red: list[int], blue: list[int]) -> float:
    """Opponent variation: strangers 1, met with sides changed a half, met likewise 0."""
    match, side = batch["previous_match"], batch["previous_team"]
    scores = []
    for one, two in combinations(red + blue, 2):
        is_met = match[one] >= 0 and match[one] == match[two]
        if not is_met or batch["party"][one] == batch["party"][two]:
            scores.append(1.0)
        else:
            were_mates, are_mates = side[one] == side[two], (one in red) == (two in red)
            scores.append(0.0 if were_mates == are_mates else 0.5)
    return sum(scores) / len(scores)


def _host(batch: Batch, red: list[int], blue: list[int]) -> float:
    """Two possible servers: so many who can reach everybody; the second is for when one leaves."""
    everybody = red + blue
    hosts = [
        one for one in everybody
        if all(batch["connect"][one, two] for two in everybody if two != one)
    ]  # fmt: skip
    return (0.0, 0.6, 1.0)[min(len(hosts), 2)]
