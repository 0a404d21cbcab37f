"""Simulated annealing over whole matches: the solver of rounds.

A search starts from sorted parties, warm, and lets packs of parties change places between matches;
what makes the sum of energies worse is accepted with probability exp(-difference / temperature).
Temperature falls geometrically with the share of the effort that has been spent. All that is
random comes from the seed, and effort is counted in evaluations, so a search can be repeated
exactly; a shell that has a clock may hand in shares of its budget instead.

Source:
    Kirkpatrick, Gelatt, Vecchi, Optimization by Simulated Annealing (1983). Differs from the
    Galactron blog, which descends by the best of all swaps: see `descent`.
"""

from __future__ import annotations

import math

import numpy as np

from evenmatch.solvers.batch.batch import Batch, Floats, Ints, Pairs, Places, Plan, bare
from evenmatch.solvers.batch.board import BOARD, Board, board_of, load_pairs
from evenmatch.solvers.batch.candidates import candidates_of
from evenmatch.solvers.batch.evaluate import energy_of, evaluate
from evenmatch.solvers.batch.judge import judge
from evenmatch.solvers.batch.moves import (
    EFFORT,
    EVALUATIONS,
    MATCHES,
    MOVES,
    ON_BENCH,
    TAKEN,
    WALK,
    Walk,
    propose,
    rewrite,
    uniform,
)
from evenmatch.solvers.batch.scene import SCENE, Scene, scene_of
from evenmatch.solvers.batch.start import start_matches
from evenmatch.solvers.kernel import kernel

HEAT = (0.02, 0.001)
"""Temperature at the start and at the end, in units of quality."""
STRIDE = 64
"""Moves between two looks at the temperature."""


class Annealing:
    """One search, in slices of effort.

    Args:
        scene: The batch, as kernels read it.
        seated: Matches to start from, team by team.
        candidates: The best partners of each player.
        seed: Of all that is random.
    """

    def __init__(self, scene: Scene, seated: Places, candidates: Places, seed: int) -> None:
        self.scene = scene
        matches, k = seated.shape
        self.board = board_of(scene, matches + 2)
        self._seat(seated)
        on_board = seated[seated >= 0]
        is_seated = np.zeros(len(scene.first) - 1, dtype=bool)
        is_seated[scene.party[on_board]] = True
        bench: Places = np.zeros(len(is_seated), dtype=np.int32)
        waiting = np.flatnonzero(~is_seated)
        bench[: len(waiting)] = waiting
        counts: Ints = np.zeros(6, dtype=np.int64)
        counts[MATCHES], counts[ON_BENCH] = matches, len(waiting)
        self.walk = Walk(
            np.zeros(matches + 2),
            self._places(matches, waiting),
            bench,
            counts,
            np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64),
            candidates,
            np.zeros((4, max(k + 2, 6)), dtype=np.int64),
            np.array(HEAT),
        )
        self._args = (bare(scene), bare(self.board), bare(self.walk))
        evaluate(self._args[0], self._args[1], matches, self.walk.energies)

    def run(self, evaluations: int, begin: float = 0.0, end: float = 1.0) -> None:
        """Search on.

        Args:
            evaluations: Effort, about: a move that leads nowhere counts as one evaluation.
            begin: Share of the whole search that is already done.
            end: Share that is done after this.
        """
        _anneal(*self._args, np.array([float(evaluations), begin, end]))

    @property
    def energy(self) -> float:
        """Return what the search lowers."""
        return float(self.walk.energies[: self.walk.counts[MATCHES]].sum())

    def seated(self) -> Places:
        """Return the matches team by team, each divided as well as can be."""
        matches = int(self.walk.counts[MATCHES])
        seat = self.board.seat[:matches].copy()
        if not self.scene.is_divided:
            return seat
        chosen: Ints = np.zeros((matches, 2), dtype=np.int64)
        _options_chosen(self._args[0], self._args[1], chosen)
        for row in range(matches):
            teams = self.scene.option_teams[chosen[row].sum()]
            seat[row] = seat[row][np.argsort(teams, kind="stable")]
        return seat

    def _seat(self, seated: Places) -> None:
        """Write matches onto the board, parties in falling order of size where that is asked."""
        matches = len(seated)
        self.board.seat[:matches] = seated
        if self.scene.is_divided:
            sizes = np.diff(self.scene.first)
            party = self.scene.party[seated]
            order = np.lexsort((seated, party, -sizes[party]), axis=1)
            self.board.seat[:matches] = np.take_along_axis(seated, order, axis=1)

    def _places(self, matches: int, waiting: Ints) -> Places:
        """Return row and place of each player; on the bench -1 and the place of his party."""
        place: Places = np.full((2, len(self.scene.party)), -1, dtype=np.int32)
        rows, places = np.nonzero(self.board.seat[:matches] >= 0)
        who = self.board.seat[rows, places]
        place[0, who], place[1, who] = rows, places
        for at, party in enumerate(waiting.tolist()):
            place[1, self.scene.first[party] : self.scene.first[party + 1]] = at
        return place


def anneal(
    batch: Batch,
    *,
    effort: int,
    seed: int,
    pairs: Pairs | None = None,
    power: float = 1.0,
) -> Plan:
    """Return the best matches that an effort finds.

    Args:
        batch: The batch.
        effort: Evaluations of matches.
        seed: Of all that is random.
        pairs: Its table of pairs, if it is there already.
        power: See `scene_of`.
    """
    scene = scene_of(batch, pairs, power=power)
    seated = start_matches(batch, "skill", np.random.default_rng(seed))
    search = Annealing(scene, seated, candidates_of(scene), seed)
    search.run(effort)
    seated = search.seated()
    quality, legal = judge(scene, batch, seated)
    return Plan(seated, quality, legal, int(search.walk.counts[EVALUATIONS]))


@kernel(f"void({SCENE}, {BOARD}, int64[:,::1])", allocates=False)
def _options_chosen(scene: Scene, board: Board, chosen: Ints) -> None:
    """Write the first option of each match's key and the number of the best from there."""
    first, party, radix, option_first, seat = scene[4], scene[5], scene[17], scene[18], board[0]
    for row in range(chosen.shape[0]):
        load_pairs(scene, board, row, -1)
        energy_of(scene, board, row)
        key, p = 0, 0
        while p < seat.shape[1]:
            own = party[seat[row, p]]
            key += radix[first[own + 1] - first[own]]
            p += first[own + 1] - first[own]
        chosen[row, 0], chosen[row, 1] = option_first[key], board[6][0]


@kernel(f"void({SCENE}, {BOARD}, {WALK}, int64, int64)", inline=True, allocates=False)
def _settle(scene: Scene, board: Board, walk: Walk, row: int, trial: int) -> None:
    """Make a proposal the row itself."""
    seat, local, energies, place = board[0], board[1], walk[0], walk[1]
    for p in range(seat.shape[1]):
        player = seat[trial, p]
        seat[row, p] = player
        if player >= 0:
            place[0, player], place[1, player] = row, p
    for pair in range(local.shape[1]):
        local[row, pair, 0], local[row, pair, 1] = local[trial, pair, 0], local[trial, pair, 1]
    energies[row] = energies[trial]


@kernel(f"void({SCENE}, {WALK})", inline=True, allocates=False)
def _swap_with_bench(scene: Scene, walk: Walk) -> None:
    """Let the parties of the first pack leave the bench, and those of the second sit down."""
    first, place, bench, counts, packs = scene[4], walk[1], walk[2], walk[3], walk[6]
    for at in range(packs[3, 0]):
        # The party already has its seats; its slot is found by search, since places are taken.
        slot = 0
        while bench[slot] != packs[0, at]:
            slot += 1
        counts[ON_BENCH] -= 1
        bench[slot] = bench[counts[ON_BENCH]]
    for at in range(packs[3, 1]):
        own = packs[1, at]
        bench[counts[ON_BENCH]] = own
        counts[ON_BENCH] += 1
        for player in range(first[own], first[own + 1]):
            place[0, player], place[1, player] = -1, -1


@kernel(f"boolean({SCENE}, {BOARD}, {WALK}, float64)", inline=True, allocates=False)
def _try_move(scene: Scene, board: Board, walk: Walk, limit: float) -> bool:
    """Evaluate the proposed move; take it if energies rise by at most a limit."""
    energies, counts, packs = walk[0], walk[3], walk[6]
    seat = board[0]
    matches = counts[MATCHES]
    before, after, evaluated = 0.0, 0.0, 0
    is_inside = packs[2, 0] == packs[2, 3]
    for side in range(2):
        row, trial = packs[2, 3 * side], matches + side
        if row < 0:
            continue
        if is_inside and side == 1:
            break
        for p in range(seat.shape[1]):
            seat[trial, p] = seat[row, p]
        rewrite(scene, board, walk, trial, side)
        if is_inside:
            rewrite(scene, board, walk, trial, 1)
        load_pairs(scene, board, trial, row)
        energies[trial] = energy_of(scene, board, trial)
        evaluated += 1
        before += energies[row]
        after += energies[trial]
    counts[EVALUATIONS] += evaluated
    counts[EFFORT] += evaluated
    if after - before > limit:
        return False
    if packs[2, 0] >= 0:
        _settle(scene, board, walk, packs[2, 0], matches)
    if not is_inside:
        _settle(scene, board, walk, packs[2, 3], matches + 1)
    if packs[2, 0] < 0:
        _swap_with_bench(scene, walk)
    return True


@kernel(f"void({SCENE}, {BOARD}, {WALK}, float64[::1])", allocates=False)
def _anneal(scene: Scene, board: Board, walk: Walk, slice_of: Floats) -> None:
    """Search on; `slice_of` is the effort and the shares of the search at its begin and end."""
    counts, chance, heat = walk[3], walk[4], walk[7]
    effort, begin, end = slice_of[0], slice_of[1], slice_of[2]
    cooling = math.log(heat[1] / heat[0])
    counts[EFFORT] = 0
    while counts[EFFORT] < effort:
        share = begin + (end - begin) * counts[EFFORT] / effort
        heat_now = heat[0] * math.exp(cooling * share)
        for _ in range(STRIDE):
            if not propose(scene, board, walk):
                counts[EFFORT] += 1
                continue
            counts[MOVES] += 1
            if _try_move(scene, board, walk, -heat_now * math.log(uniform(chance))):
                counts[TAKEN] += 1
