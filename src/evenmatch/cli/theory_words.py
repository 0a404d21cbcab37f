"""What figures of single formulas of `evenmatch theory` mean to people."""

from __future__ import annotations

from collections.abc import Mapping

from evenmatch.cli.theory_text import MEANINGS

_BY_FORMULA: Mapping[str, Mapping[str, str]] = {
    "schlup": {
        "greedy_cost": "criteria and waiting, per match, if tickets that fit are matched at once",
        "greedy_cost_exact": "the same with bots at the deadline, exact",
        "periodic_cost": "as greedy_cost, in rounds of rounds_of matches, sorted",
        "n_opt": "tickets per round that cost least",
        "multi_queue_cost": "as greedy_cost, in brackets by criterion",
        "r_opt": "brackets per criterion that cost least",
        "bot_probability": "probability that a match has a bot, because too few came in time",
        "bot_probability_bracket": "the same in one of the brackets",
        "error_bound": "relative error of greedy_cost by bots, at most",
        "rounds_of": "matches per round that periodic_cost is for",
        "brackets": "brackets per criterion that multi_queue_cost is for",
    },
    "floor": {
        "cost_per_match": "no policy without foreknowledge costs less, per match (proved)",
        "cost_per_player": "the same per player, half of it",
        "error_per_match": "a known policy costs at most this much more",
    },
    "wu": {
        "greedy_cost": "of matching in order of arrival, per player",
        "patient_cost": "of waiting for even teams, per player",
        "threshold": "alpha from which on waiting pays",
        "best": "the policy that costs less",
        "pi": "share of arrivals that find 0, 1, ... 2n players waiting, if patient",
        "states": "pools that the patient policy meets",
    },
    "skill_mdp": {
        "cost": "of the best policy, per player; one arrival's waiting of one player costs 1",
        "wait": "its part for waiting: mean players left after matches",
        "imbalance": "its part for uneven teams",
        "greedy": "cost of matching the evenest 2n whenever 2n wait",
        "patient": "cost of matching even teams only, and the evenest at the cap",
        "static_threshold": "cost of matching the evenest 2n up to a difference, the best one",
        "static_threshold_delta": "that difference, in units of skill",
        "static_threshold_outer": "the same, far skills first where several are as even",
        "pool_threshold": "cost of matching while at least so many wait, the best number",
        "pool_threshold_players": "that number of players",
        "batch": "cost of matching all once so many wait, the best number",
        "batch_players": "that number of players",
        "pool_max": "players that the best policy leaves waiting, at most",
        "states": "pools of at most cap players",
        "policy": "by players of each type who wait: whom the best policy matches",
    },
    "recommend_window": {
        "delta": "largest difference to accept, in units of skill",
        "cost": "waiting and difference together, per player, in the unit of wait_price",
        "is_measured": "whether the law was measured for windows of this width",
    },
    "flexibility": {
        "share": "the part of a class that becomes flexible where `others` are looked at",
        "classes": "mean wait now, and mean_flexible of a single flexible player, s; "
        "others: mean waits if `share` is flexible, s; losers wait longer then",
        "growth": "how fast the starved classes grow together, players per second",
        "needed": "more than this many of them must become flexible, players per second",
        "reason": "",
    },
    "zone_cuts": {"shares": "part of the players in each zone"},
    "graph_laws": {"classes": "the same by class"},
    "team_stability": {
        "growth": "players per second who cannot be placed",
        "starved": "parties per second who cannot be placed, by size",
    },
    "role_stability": {
        "growth": "players per second who cannot be placed",
        "starved": "those who queue only for these roles pile up",
    },
}


def words_of(name: str) -> dict[str, str]:
    """Return what each figure of a formula means, by key.

    Args:
        name: The formula.
    """
    return {**MEANINGS, **_BY_FORMULA.get(name, {})}
