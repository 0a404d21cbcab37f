"""Showing the figures of `evenmatch theory` to people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MEANINGS: dict[str, str] = {
    "mean": "mean wait per player, s",
    "var": "variance of the wait per player, s^2",
    "p50": "median wait, s",
    "p90": "nine of ten wait no longer, s",
    "p95": "19 of 20 wait no longer, s",
    "p99": "99 of 100 wait no longer, s",
    "p_no_wait": "probability that the arrival itself starts the match",
    "p_match": "probability of a match before patience ends",
    "time_in_queue": "mean seconds until a match or leaving",
    "mean_solo": "mean wait of a player who comes alone, s",
    "mean_party": "mean wait of a party, s",
    "var_solo": "variance of the wait of players who come alone, s^2",
    "var_party": "variance of the wait of a party, s^2",
    "mean_per_party": "mean wait of an arrival, alone or a party, s",
    "var_printed": "the paper's own variance, which is wrong",
    "stable": "whether waits stay finite for ever",
    "margins": "what is left of each condition of stability, per second",
    "growth": "how fast the starved class grows, per second",
    "kind": "transient: it grows for ever; null recurrent: on the boundary",
    "starved": "who wait longer and longer",
    "mean_a": "mean wait of those who insist on side a, s",
    "mean_b": "mean wait of those who insist on side b, s",
    "mean_junior": "mean wait of those who play in the junior zone only, s",
    "mean_expert": "mean wait of those who play in the expert zone only, s",
    "mean_flexible": "mean wait of those who take either, s",
    "p0": "probability that nobody waits",
    "improvement": "mean wait of flexible players, over that of experts",
    "improvement_a": "mean wait of flexible players, over that of side a",
    "improvement_b": "mean wait of flexible players, over that of side b",
    "means": "mean wait by class, s",
    "vars": "variance of the wait by class, s^2",
    "independent_sets": "sets of classes that may wait together",
    "mean_floor": "no rule has a shorter mean wait, s",
    "first_levels": "lowest level of each zone but the first",
    "waits": "mean wait of those who play in one zone only, s",
    "waits_flexible": "mean wait of those who also play in the zone below, s",
    "worst": "longest mean wait of a zone, s",
    "gap": "mean difference in level of two players of a zone",
    "exact": "the same as fractions",
}
"""What a figure says, where its key alone would not; whatever formula it comes from."""

ABSENT = frozenset(
    {
        *("kind", "growth", "starved", "exact", "note", "reason", "needed"),
        *("p_match", "time_in_queue", "mean_solo", "mean_party", "var_solo", "var_party"),
    }
)
"""Figures that are left out where there is nothing to say: a stable queue has no growth."""
ENDLESS = "grows for ever"
ENTRIES_MAX = 12
"""Entries of a list or mapping that people are shown."""
LINE_MAX = 100
"""Characters of a list that still goes on one line."""


def lines(
    figures: Mapping[str, Any], indent: str = "", words: Mapping[str, str] = MEANINGS
) -> Iterator[str]:
    """Yield a line per figure: key, value, what it means; nested figures as indented blocks.

    Figures in a block repeat those outside it, or are keyed by classes: nothing to explain. What
    does not apply is left out, as the waits of an unstable queue but those that grow for ever.

    Args:
        figures: Values are None, bool, numbers, texts, lists and mappings.
        indent: Put before every line; where there is one, only `ENTRIES_MAX` figures are shown.
        words: What figures mean, by key.
    """
    if not indent:
        figures = {key: value for key, value in _endless(figures).items() if _is_said(key, value)}
    more = len(figures) - ENTRIES_MAX if indent else 0
    if more > 0:
        figures = dict(list(figures.items())[:ENTRIES_MAX])
    width = max(map(len, figures), default=0)
    plain = {key: _shown(value) for key, value in figures.items() if not _is_block(value)}
    value_width = max((len(text) for text in plain.values() if len(text) <= 24), default=0)
    for key, value in figures.items():
        meaning = "" if indent else words.get(key, "")
        if key in plain:
            line = f"{key:<{width}}  {plain[key]:<{value_width}}  {meaning}"
            yield f"{indent}{line}".rstrip()
            continue
        yield f"{indent}{key}:  {meaning}".rstrip()
        yield from _block(value, indent + "  ")
    if more > 0:
        yield indent + _rest(more)


def _rest(more: int) -> str:
    return f"and {more:,} more; --json has them all"


def _endless(figures: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what there is to say of an unstable queue.

    The waits of the starved grow for ever, and so the mean of all does. The others may find
    somebody at once, of which these figures say nothing.
    """
    if figures.get("stable") is not False:
        return figures
    growing = {"mean", *(f"mean_{name}" for name in figures.get("starved") or ())}
    said = {
        key: ENDLESS if value is None and key in growing else value
        for key, value in figures.items()
    }
    return {key: value for key, value in said.items() if value is not None}


def _is_said(key: str, value: Any) -> bool:
    return key not in ABSENT or isinstance(value, int | float) or bool(value)


def _block(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from lines(value, indent)
        return
    for each in value[:ENTRIES_MAX]:
        if isinstance(each, Mapping) and not any(map(_is_block, each.values())):
            yield indent + "  ".join(f"{key}={_shown(part)}" for key, part in each.items())
        elif _is_block(each):
            yield from _block(each, indent + "  ")
        else:
            yield indent + _shown(each)
    if len(value) > ENTRIES_MAX:
        yield indent + _rest(len(value) - ENTRIES_MAX)


def _is_block(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value)
    if not isinstance(value, list):
        return False
    return any(isinstance(each, Mapping | list) for each in value) or len(_shown(value)) > LINE_MAX


def _shown(value: Any) -> str:
    if value is None:
        return "undefined"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | Mapping):
        return ", ".join(map(_shown, value)) or "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


# What figures of single formulas of `evenmatch theory` mean to people.

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
