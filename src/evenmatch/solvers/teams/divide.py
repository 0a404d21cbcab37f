"""Convert matches between the order of a search and the order of teams in play."""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import Ints, Places
from evenmatch.solvers.teams.evaluate import option_of
from evenmatch.solvers.teams.evaluation_input import Scene
from evenmatch.solvers.teams.search_state import Board, load_pairs


def by_size(scene: Scene, seated: Places) -> Places:
    """Return matches in a board's order: larger parties first if evaluations divide them."""
    if not scene.is_divided:
        return seated
    party = scene.party[seated]
    order = np.lexsort((seated, party, -np.diff(scene.first)[party]), axis=1)
    return np.take_along_axis(seated, order, axis=1)


def by_team(scene: Scene, board: Board, matches: int) -> Places:
    """Return the first matches of a board team by team, each divided in the best way."""
    seat = board.seat[:matches].copy()
    if not scene.is_divided:
        return seat
    chosen: Ints = np.zeros(matches, dtype=np.int64)
    _choose_options(scene, board, chosen)
    for row, option in enumerate(chosen.tolist()):
        seat[row] = seat[row][np.argsort(scene.option_teams[option], kind="stable")]
    return seat


@kernel("void(Scene, Board, int64[::1])", allocates=False)
def _choose_options(scene: Scene, board: Board, chosen: Ints) -> None:
    """Write the index of the best option of each match."""
    for row in range(chosen.shape[0]):
        load_pairs(scene, board, row)
        chosen[row] = option_of(scene, board, row)
