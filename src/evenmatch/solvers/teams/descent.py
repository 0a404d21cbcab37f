"""The algorithm of the Galactron blog: descent by the best swap, repeated from other starts.

It serves as a baseline, and is made as fast as it can be: it evaluates with the kernels of
`anneal`, examines a pair of matches again only after one of them has changed, and makes new starts
near the sorted one, which is better than random starts.

Source:
    Ronimo's blog, "Designing the matchmaking for Awesomenauts Galactron".

Differs from the paper:
    The blog tries all swaps of all matches, performs the best, and begins again. Here the best swap
    of two matches is performed as soon as these two have been examined. Both end where no swap
    improves anything, but this version gets there with a fraction of the evaluations.
"""

from __future__ import annotations

import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.solvers.teams.batch import Batch, Floats, Pairs, Places, Plan
from evenmatch.solvers.teams.divide import by_size, by_team
from evenmatch.solvers.teams.evaluate import evaluate
from evenmatch.solvers.teams.evaluation_input import Scene, scene_of
from evenmatch.solvers.teams.judge import judge
from evenmatch.solvers.teams.search_state import board_of
from evenmatch.solvers.teams.start import ORDERS, start_matches
from evenmatch.solvers.teams.swaps import (
    BY_MASK,
    EFFORT,
    EVALUATIONS,
    STEP,
    SWAPS,
    Descent,
    descend,
)

ESCAPES = ("restarts", "forced")
FORCED = 12
"""Swaps forced at a time: "a dozen or so"."""
SEMI_RANDOM = (0.05, 1.0)
"""Noise of a new start's sort by skill, lowest and highest, in standard deviations of skill.

Large pools gain from starts near the sorted one, small pools from starts far from it.
"""
ON_BENCH_TOGETHER = 8
"""Parties on the bench that form one group."""
GROUPS_MAX = 4_000


def descent(
    batch: Batch,
    *,
    effort: int,
    seed: int,
    escape: str = "restarts",
    start: str = "skill",
    pairs: Pairs | None = None,
    power: float = 1.0,
) -> Plan:
    """Return the best matches that descents find within an effort.

    Args:
        batch: The batch.
        effort: Evaluations of matches; the last examination of two matches is finished.
        seed: Of all random choices.
        escape: What to do when no swap is better. `restarts`: descend from a new start. `forced`:
            parties of the worst matches change places with random others, a dozen times, and the
            descent continues from there; if the result is worse, it is taken back.
        start: Order of the first start, see `start_matches`; later starts add noise to it.
        pairs: The batch's table of pairs, if it exists already.
        power: See `scene_of`.

    Raises:
        ConfigError: An unknown name, or more than 4,000 groups (matches, or teams if divisions are
            part of the state).

    Complexity:
        Examining two matches takes 2 evaluations for each pair of packs of equal size: 72 for 3v3
        without parties.
    """
    for name, value, allowed in (("escape", escape, ESCAPES), ("start", start, ORDERS)):
        if value not in allowed:
            raise ConfigError(f"descent: {name} must be one of {', '.join(allowed)}, got {value}")
    scene = scene_of(batch, pairs, power=power)
    rng = np.random.default_rng(seed)
    search = Search(scene, start_matches(batch, start, rng))
    energy = search.run(effort)
    best, bench = search.seat.copy(), search.bench.copy()
    while search.evaluations < effort and search.can_move:
        before = search.evaluations
        if escape == "restarts":
            search.begin(start_matches(_with_noise(batch, rng), start, rng))
        else:
            search.return_to(best, bench, is_settled=True)
            search.force(rng)
        found = search.run(effort)
        if found < energy:
            best[:], bench, energy = search.seat, search.bench.copy(), found
        if search.evaluations == before:
            break
    search.return_to(best, bench)
    seated = search.divided()
    quality, legal = judge(scene, batch, seated)
    return Plan(seated, quality, legal, search.evaluations)


class Search:
    """Repeated descents over one batch.

    Args:
        scene: The batch, as kernels read it.
        seated: Matches to start from, team by team.
    """

    def __init__(self, scene: Scene, seated: Places) -> None:
        self.scene = scene
        self.matches = len(seated)
        self._teams = 1 if scene.is_divided else len(scene.team_start) - 1
        sizes = np.diff(scene.first)
        room = ON_BENCH_TOGETHER * int(sizes.max(initial=1))
        waiting = len(sizes) - len(np.unique(scene.party[seated[seated >= 0]]))
        # Another start may bench more parties, but no more than there are players beyond the seats.
        on_bench = -(-max(waiting, len(scene.party) - seated.size, 0) // ON_BENCH_TOGETHER) + 1
        groups = self.matches * self._teams + on_bench
        if groups > GROUPS_MAX:
            raise ConfigError(
                f"descent takes at most {GROUPS_MAX:,} matches (teams, where they are large), "
                f"got {groups:,}; use anneal"
            )
        self._board = board_of(scene, self.matches + 2)
        room = max(room, seated.shape[1])
        self._state = Descent(
            np.zeros(self.matches + 2),
            np.full((on_bench, room), -1, dtype=np.int32),
            np.array([self.matches, self._teams, 0, 0, 0, 0], dtype=np.int64),
            np.zeros(groups, dtype=np.int32),
            np.zeros((groups, groups), dtype=np.int32),
            np.zeros((3, 2 * room), dtype=np.int64),
            np.zeros((2, (1 << BY_MASK) + room, 3), dtype=np.int32),
            np.zeros((2, 3), dtype=np.int64),
        )
        self._args = (scene, self._board, self._state)
        self.begin(seated)

    @property
    def seat(self) -> Places:
        """Return a view of the seats."""
        return self._board.seat[: self.matches]

    @property
    def bench(self) -> Places:
        """Return a view of the parties on the bench, by group."""
        return self._state.bench

    @property
    def evaluations(self) -> int:
        """Return how many matches have been evaluated."""
        return int(self._state.counts[EVALUATIONS])

    @property
    def swaps(self) -> int:
        """Return how many swaps have been made."""
        return int(self._state.counts[SWAPS])

    @property
    def can_move(self) -> bool:
        """Return whether there are two groups to swap between."""
        return self.matches * self._teams > 1 or bool((self.bench >= 0).any())

    def begin(self, seated: Places) -> None:
        """Start anew from matches, team by team; all other parties sit on the bench."""
        scene = self.scene
        is_seated = np.zeros(len(scene.first) - 1, dtype=bool)
        is_seated[scene.party[seated[seated >= 0]]] = True
        bench = np.full_like(self.bench, -1)
        for at, party in enumerate(np.flatnonzero(~is_seated).tolist()):
            bench[at // ON_BENCH_TOGETHER, at % ON_BENCH_TOGETHER] = party
        self.return_to(by_size(scene, seated), bench)

    def return_to(self, seat: Places, bench: Places, *, is_settled: bool = False) -> None:
        """Restore earlier seats and bench; `is_settled` if no swap of these is better."""
        state = self._state
        self.seat[:], state.bench[:] = seat, bench
        state.counts[STEP] += 1
        state.changed[:] = 0 if is_settled else state.counts[STEP]
        state.looked[:] = state.counts[STEP] if is_settled else 0
        evaluate(self._args[0], self._args[1], self.matches, state.energies)

    def run(self, effort: int) -> float:
        """Descend until no swap is better or `effort` evaluations are made; return the energy."""
        self._state.counts[EFFORT] = effort
        descend(*self._args)
        return float(self._state.energies[: self.matches].sum())

    def force(self, rng: np.random.Generator) -> None:
        """Swap a party of each of the worst matches with one of equal size in another."""
        energies = self._state.energies[: self.matches]
        worst = np.argsort(-energies, kind="stable")[:FORCED]
        first, party = self.scene.first, self.scene.party
        for row in worst.tolist() * (-(-FORCED // max(1, len(worst)))):
            players = self.seat[row][self.seat[row] >= 0]
            own = int(party[rng.choice(players)])
            size = first[own + 1] - first[own]
            others = self.seat[np.arange(self.matches) != row]
            others = np.unique(party[others[others >= 0]])
            others = others[first[others + 1] - first[others] == size]
            if others.size:
                self._exchange(own, int(rng.choice(others)))
        evaluate(self._args[0], self._args[1], self.matches, self._state.energies)

    def _exchange(self, one: int, two: int) -> None:
        """Swap two parties of one size between different matches."""
        first, seat, state = self.scene.first, self.seat, self._state
        state.counts[STEP] += 1
        where = [np.flatnonzero(seat.ravel() == first[party])[0] for party in (one, two)]
        for at, party in zip(where, (two, one), strict=True):
            members = np.arange(first[party], first[party + 1])
            seat.ravel()[at : at + len(members)] = members
            groups = at // seat.shape[1] * self._teams + np.arange(self._teams)
            state.changed[groups] = state.counts[STEP]

    def divided(self) -> Places:
        """Return the matches team by team, each divided in the best way."""
        return by_team(self.scene, self._board, self.matches)


def _with_noise(batch: Batch, rng: np.random.Generator) -> Batch:
    """Return a batch with noise added to skills, party by party, for sorting."""
    values: Floats = batch.facts.values
    if not len(values):
        return batch
    least, most = SEMI_RANDOM
    size = least * (most / least) ** rng.random() * float(values[0].std())
    noise = rng.normal(0.0, size, len(batch.first) - 1)
    disturbed = values.copy()
    disturbed[0] += np.repeat(noise, np.diff(batch.first))
    return batch._replace(facts=batch.facts._replace(values=disturbed))
