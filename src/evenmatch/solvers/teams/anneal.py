"""Simulated annealing over whole matches: one search, in slices of effort.

A search starts from sorted parties at a high temperature and exchanges packs of parties between
matches; a move that raises the sum of energies is accepted with probability
exp(-difference / temperature). The temperature falls geometrically with the share of the effort
spent. All randomness comes from the seed, and effort is counted in evaluations, so a search can be
repeated exactly; a shell with a clock may pass in shares of its time budget instead.

Source:
    Kirkpatrick, Gelatt, Vecchi, Optimization by Simulated Annealing (1983). Differs from the
    Galactron blog, which descends by the best of all swaps: see `descent`.
"""

from __future__ import annotations

import math

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import Floats, Ints, Places
from evenmatch.solvers.teams.divide import by_size, by_team
from evenmatch.solvers.teams.evaluate import (
    IMPOSSIBLE,
    PER_VIOLATION,
    energy_at,
    energy_of,
    evaluate,
    gain_of,
    least_energy,
)
from evenmatch.solvers.teams.evaluation_input import HAS_WORTH, ILLEGAL, POWER, Scene
from evenmatch.solvers.teams.moves import (
    EFFORT,
    END_HEAT,
    EVALUATIONS,
    MATCHES,
    ON_BENCH,
    START_HEAT,
    TO_ROW,
    Walk,
    propose,
    rewrite,
    uniform,
)
from evenmatch.solvers.teams.search_state import (
    ALL_RULES,
    Board,
    board_of,
    load_changes,
)
from evenmatch.solvers.teams.two_team_division import split_matches

PATIENT = (0.02, 0.001, 0.7, 0.0)
HASTY = (0.006, 0.0015, 0.85, 0.5)
"""`Walk.habits` of a search with plenty of effort and of one with little, temperatures in units of
quality. Chosen among ten settings on 3v3 of 99 to 3,000 players, most of which differ by less than
searches with different seeds; but a short search has no time for a high temperature."""
PLENTY, LITTLE = 2_500.0, 400.0
"""Evaluations per player that count as plenty, and as little."""
RMS_SLOPE = 0.3
"""Slope, at a quality of .85, of the square of what a match lacks of 1, against what it lacks."""
STRIDE = 64
"""Moves between two updates of the temperature."""


def habits_for(effort: float, players: int) -> Floats:
    """Return `Walk.habits` for a search, between those for little and for plenty of effort.

    Args:
        effort: Approximate evaluations of the whole search.
        players: Of the batch.

    >>> habits_for(750_000, 300).tolist(), habits_for(100_000, 300).tolist()
    ([0.02, 0.001, 0.7, 0.0], [0.006, 0.0015, 0.85, 0.5])
    """
    each = min(max(effort / max(players, 1), LITTLE), PLENTY)
    share = math.log(each / LITTLE) / math.log(PLENTY / LITTLE)
    return (1.0 - share) * np.array(HASTY) + share * np.array(PATIENT)


class Annealing:
    """One search.

    Args:
        scene: The batch, as kernels read it.
        seated: Matches to start from, team by team.
        candidates: The best partners of each player.
        seed: Of all random choices.
    """

    def __init__(self, scene: Scene, seated: Places, candidates: Places, seed: int) -> None:
        self.scene = scene
        matches, k = seated.shape
        self.board = board_of(scene, matches + 2)
        self.board.seat[:matches] = by_size(scene, seated)
        is_seated = np.zeros(len(scene.first) - 1, dtype=bool)
        is_seated[scene.party[seated[seated >= 0]]] = True
        waiting = np.flatnonzero(~is_seated)
        bench: Places = np.zeros(len(is_seated), dtype=np.int32)
        bench[: len(waiting)] = waiting
        counts: Ints = np.zeros(4, dtype=np.int64)
        counts[MATCHES], counts[ON_BENCH] = matches, len(waiting)
        self.walk = Walk(
            np.zeros(matches + 2),
            self._places(matches),
            bench,
            counts,
            np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64).astype(np.uint64),
            candidates,
            np.zeros((4, max(k + 2, 6)), dtype=np.int64),
            np.array(PATIENT),
        )
        self.pace(PLENTY * len(scene.party))
        self._args = (scene, self.board, self.walk)
        evaluate(self._args[0], self._args[1], matches, self.walk.energies)

    def pace(self, effort: float) -> None:
        """Choose the habits of a search with a given number of evaluations, see `habits_for`.

        If powers of qualities are summed, a difference of energy is smaller than one of quality, so
        temperatures are multiplied by about the slope of that power.
        """
        self.walk.habits[:] = habits_for(effort, len(self.scene.party))
        power = float(self.scene.numbers[POWER])
        self.walk.habits[: END_HEAT + 1] *= power if power > 0.0 else RMS_SLOPE

    def run(self, evaluations: int, begin: float = 0.0, end: float = 1.0) -> None:
        """Continue the search.

        Args:
            evaluations: Approximate effort; a move that leads nowhere counts as one evaluation.
            begin: Share of the whole search that is done before this call.
            end: Share that is done after it.
        """
        _anneal(*self._args, np.array([float(evaluations), begin, end]))

    def finish(self, evaluations: int) -> None:
        """Divide the parties of pairs of matches anew, in the best way, neighbours first."""
        matches = int(self.walk.counts[MATCHES])
        if self.scene.is_divided and matches > 1:
            pairs = neighbours(self.walk.place, self.walk.candidates, matches)
            parts: Ints = np.zeros((2, 2 * self.board.seat.shape[1]), dtype=np.int64)
            resolve_pairs(*self._args, np.ascontiguousarray(pairs), parts, evaluations)

    @property
    def energy(self) -> float:
        """Return the sum of energies, which the search lowers."""
        return float(self.walk.energies[: self.walk.counts[MATCHES]].sum())

    @property
    def evaluations(self) -> int:
        """Return how many matches have been evaluated."""
        return int(self.walk.counts[EVALUATIONS])

    def seated(self) -> Places:
        """Return the matches team by team, each divided in the best way."""
        matches = int(self.walk.counts[MATCHES])
        if self.scene.is_divided:
            return by_team(self.scene, self.board, matches)
        return split_matches(self.scene, self.board.seat[:matches].copy())

    def _places(self, matches: int) -> Places:
        """Return row and place of each player, -1 for the bench."""
        place: Places = np.full((2, len(self.scene.party)), -1, dtype=np.int32)
        rows, places = np.nonzero(self.board.seat[:matches] >= 0)
        who = self.board.seat[rows, places]
        place[0, who], place[1, who] = rows, places
        return place


@kernel("void(Board, Walk, int64, int64)", inline=True, allocates=False)
def _settle(board: Board, walk: Walk, row: int, trial: int) -> None:
    """Replace a row by its proposal."""
    seat, local, keys = board.seat, board.local, board.keys
    energies, place = walk.energies, walk.place
    for p in range(seat.shape[1]):
        player = seat[trial, p]
        seat[row, p] = player
        if player >= 0:
            place[0, player], place[1, player] = row, p
    for pair in range(local.shape[1]):
        local[row, pair, 0], local[row, pair, 1] = local[trial, pair, 0], local[trial, pair, 1]
    energies[row], keys[row] = energies[trial], keys[trial]


@kernel("void(Scene, Walk)", inline=True, allocates=False)
def _swap_with_bench(scene: Scene, walk: Walk) -> None:
    """Seat the parties of the first pack, and move those of the second to the bench."""
    first, place, bench = scene.first, walk.place, walk.bench
    counts, packs = walk.counts, walk.packs
    for at in range(packs[3, 0]):
        # The party is seated already, so the places tell nothing: search the bench for its slot.
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


@kernel("float64(Scene, Board, Walk)", inline=True, allocates=False)
def least_after(scene: Scene, board: Board, walk: Walk) -> float:
    """Return the `least_energy` that the second group's match has after the move, unwritten.

    Most moves end here, so only each player's lower bound is read.
    """
    first, floor, worth, numbers = scene.first, scene.floor, scene.worth, scene.numbers
    seat, packs = board.seat, walk.packs
    row, has_worth = packs[2, TO_ROW], numbers[HAS_WORTH] > 0.0
    cost, value = 0.0, 0.0
    for p in range(seat.shape[1]):
        player = seat[row, p]
        if player >= 0:
            cost += floor[player]
            value += worth[player] if has_worth else 0.0
    for side in range(2):
        sign = 1.0 if side == 0 else -1.0
        for at in range(packs[3, side]):
            own = packs[side, at]
            for player in range(first[own], first[own + 1]):
                cost += sign * floor[player]
                value += sign * worth[player] if has_worth else 0.0
    return -gain_of(numbers, cost) - value


@kernel("void(Scene, Board, Walk, float64)", inline=True, allocates=False)
def _try_move(scene: Scene, board: Board, walk: Walk, limit: float) -> None:
    """Evaluate the proposed move; take it if energies rise by at most `limit`.

    The first side is the one that usually loses. If the second cannot make up for the loss even
    with the least energy that its players allow, it is not evaluated. And if a match breaks so many
    rules that the move is refused anyway, its evaluation stops.
    """
    energies, counts, packs = walk.energies, walk.counts, walk.packs
    seat, found = board.seat, board.found
    numbers = scene.numbers
    is_inside = packs[2, 0] == packs[2, 3]
    rise = 0.0
    for side in range(2):
        row, trial = packs[2, 3 * side], counts[MATCHES] + side
        if row < 0:
            continue
        if side == 1 and least_after(scene, board, walk) - energies[row] + rise > limit:
            return
        for p in range(seat.shape[1]):
            seat[trial, p] = seat[row, p]
        is_alike = rewrite(scene, board, walk, trial, side)
        if is_inside:
            is_alike = rewrite(scene, board, walk, trial, 1) and is_alike
        load_changes(scene, board, trial, row, is_alike)
        most = limit - rise + energies[row]
        if side == 0 and not is_inside:
            # No match has an energy below this negative bound.
            most += energies[packs[2, 3]] + numbers[ILLEGAL] - 3.0
        most = (most - numbers[ILLEGAL]) / PER_VIOLATION + 1e-6
        found[2] = 1 + int(min(max(most, 0.0), float(ALL_RULES)))
        energies[trial] = energy_of(scene, board, trial)
        is_refused = numbers[ILLEGAL] <= energies[trial] < IMPOSSIBLE and found[1] >= found[2]
        found[2] = ALL_RULES
        counts[EVALUATIONS] += 1
        counts[EFFORT] += 1
        if is_refused:
            return
        rise += energies[trial] - energies[row]
        if is_inside:
            break
    if rise > limit:
        return
    if packs[2, 0] >= 0:
        _settle(board, walk, packs[2, 0], counts[MATCHES])
    if not is_inside:
        _settle(board, walk, packs[2, 3], counts[MATCHES] + 1)
    if packs[2, 0] < 0:
        _swap_with_bench(scene, walk)


@kernel("void(Scene, Board, Walk, float64[::1])", allocates=False)
def _anneal(scene: Scene, board: Board, walk: Walk, slice_of: Floats) -> None:
    """Search on; `slice_of` holds the effort and the search's shares at its begin and end."""
    counts, chance, habits = walk.counts, walk.chance, walk.habits
    effort, begin, end = slice_of[0], slice_of[1], slice_of[2]
    cooling = math.log(habits[END_HEAT] / habits[START_HEAT])
    counts[EFFORT] = 0
    while counts[EFFORT] < effort:
        share = begin + (end - begin) * counts[EFFORT] / effort
        heat = habits[START_HEAT] * math.exp(cooling * share)
        for _ in range(STRIDE):
            if propose(scene, board, walk):
                _try_move(scene, board, walk, -heat * math.log(uniform(chance)))
            else:
                counts[EFFORT] += 1


# A last polish: divide the parties of two matches between them anew, in the best way.

PARTIES_MAX = 13
"""Two matches with more parties in all are left alone: there are 2^(parties - 1) divisions."""
GAIN_MIN = 1e-9


def neighbours(place: Places, candidates: Places, matches: int) -> Ints:
    """Return pairs of matches, first those whose players are most often each other's candidates.

    Args:
        place: `Walk.place`.
        candidates: The best partners of each player.
        matches: Number of matches.

    Returns:
        Shape (pairs, 2).
    """
    row = place[0].astype(np.int64)
    one = np.repeat(row, candidates.shape[1])
    other = np.where(candidates.ravel() >= 0, row[candidates.ravel()], -1)
    is_pair = (one >= 0) & (other >= 0) & (one != other)
    low, high = np.minimum(one, other)[is_pair], np.maximum(one, other)[is_pair]
    codes, counts = np.unique(low * matches + high, return_counts=True)
    codes = codes[np.argsort(-counts, kind="stable")]
    return np.stack((codes // max(matches, 1), codes % max(matches, 1)), axis=1)


@kernel("int64(Scene, Board, int64, int64[:,::1], int64)", allocates=False)
def _add_parts(scene: Scene, board: Board, row: int, parts: Ints, count: int) -> int:
    """Add the parties of a row to a list sorted by falling size; return the new count."""
    first, party, seat = scene.first, scene.party, board.seat
    p = 0
    while p < seat.shape[1]:
        own = party[seat[row, p]]
        size = first[own + 1] - first[own]
        at = count
        while at > 0 and parts[1, at - 1] < size:
            parts[0, at], parts[1, at] = parts[0, at - 1], parts[1, at - 1]
            at -= 1
        parts[0, at], parts[1, at] = own, size
        count += 1
        p += size
    return count


@kernel("boolean(Scene, Board, Walk, int64[:,::1], int64, int64)", allocates=False)
def _deal(scene: Scene, board: Board, walk: Walk, parts: Ints, count: int, mask: int) -> bool:
    """Write the two proposals of a mask; return whether both can be divided into teams."""
    first, radix, option_first, seat = scene.first, scene.radix, scene.option_first, board.seat
    k, trial = seat.shape[1], walk.counts[MATCHES]
    filled = 0
    for part in range(count):
        filled += parts[1, part] if (mask >> part) & 1 == 0 else 0
    if filled != k:
        return False
    for side in range(2):
        p, key = 0, 0
        for part in range(count):
            if (mask >> part) & 1 == side:
                key += radix[parts[1, part]]
                for s in range(parts[1, part]):
                    seat[trial + side, p] = first[parts[0, part]] + s
                    p += 1
        if option_first[key] == option_first[key + 1]:
            return False
    return True


@kernel("void(Scene, Board, Walk, int64[:,::1], int64[:,::1], int64)", allocates=False)
def resolve_pairs(
    scene: Scene, board: Board, walk: Walk, pairs: Ints, parts: Ints, effort: int
) -> None:
    """Divide the parties of pairs of matches anew, if that lowers the energies.

    Parties stay whole. Only for formats in which evaluations find the best divisions themselves.

    Args:
        scene: The scene.
        board: The board.
        walk: The search.
        pairs: Shape (p, 2): pairs of matches, see `neighbours`.
        parts: Shape (2, 2 k): workspace.
        effort: Evaluations after which no further pair is begun.

    Complexity:
        At most 2^(parties - 1) evaluations of both matches of a pair: 462 for 3v3 without parties.
    """
    energies, place, counts, seat = walk.energies, walk.place, walk.counts, board.seat
    trial, begun = counts[MATCHES], counts[EVALUATIONS]
    for pair in range(pairs.shape[0]):
        if counts[EVALUATIONS] - begun >= effort:
            return
        one, two = pairs[pair, 0], pairs[pair, 1]
        count = _add_parts(scene, board, two, parts, _add_parts(scene, board, one, parts, 0))
        if count > PARTIES_MAX:
            continue
        best, chosen = energies[one] + energies[two] - GAIN_MIN, -1
        # Matches are interchangeable, so the largest party may always be in the first.
        for mask in range(0, 1 << count, 2):
            if not _deal(scene, board, walk, parts, count, mask):
                continue
            energy = energy_at(scene, board, trial)
            counts[EVALUATIONS] += 1
            if energy + least_energy(scene, board, trial + 1) >= best:
                continue
            energy += energy_at(scene, board, trial + 1)
            counts[EVALUATIONS] += 1
            if energy < best:
                best, chosen = energy, mask
        if chosen >= 0:
            _deal(scene, board, walk, parts, count, chosen)
            for side, row in ((0, one), (1, two)):
                for p in range(seat.shape[1]):
                    player = seat[trial + side, p]
                    seat[row, p] = player
                    place[0, player], place[1, player] = row, p
                energies[row] = energy_at(scene, board, row)
