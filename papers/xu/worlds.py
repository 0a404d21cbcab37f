"""The worlds of "Rule Designs": one map with two sides, two zones, two queues, as scenarios.

The papers' players of one against one represent pairs that are already packed into a team. So the
true game of two against two has for each such pair either a duo, or two solos with the same wish:
its classes have the rates `pairs * (1 - solo_share)` and `2 * pairs * solo_share`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict, Unpack

Class = tuple[float, dict[str, Any]]
"""The tickets per second of a class, and the other keys of its table."""

SIDES = ("A", "B", "")
"""The sides that classes wish for, the flexible one last."""
ZONES = (("junior",), ("expert",), ("junior", "expert"))
"""The queues that classes enter, the flexible one last."""


class Run(TypedDict):
    """How a world is run.

    Args:
        policy: SPEC of its queues.
        count: Tickets that arrive.
        seed: Of all randomness.
    """

    policy: str
    count: int
    seed: int


def sides_toml(a: float, b: float, flexible: float, **run: Unpack[Run]) -> str:
    """Return one against one with two sides.

    Args:
        a: Players per second who insist on side A; a class of rate 0 is left out.
        b: Players per second who insist on side B.
        flexible: Players per second who take either.
        run: Policy, count and seed.

    Source:
        Xu, Yu, Wu, section IV, (12)-(18).

    >>> print(sides_toml(0.3, 0.3, 0.4, policy="greedy", count=9, seed=7).splitlines()[0])
    seed = 7
    """
    queue = _queue("map", run["policy"], players=1, sides=("A", "B"))
    rates = zip((a, b, flexible), SIDES, strict=True)
    return _world([queue], [(rate, {"attributes": _wish(side)}) for rate, side in rates], run)


def zones_toml(junior: float, expert: float, flexible: float, **run: Unpack[Run]) -> str:
    """Return one against one in two zones.

    Args:
        junior: Players per second who wait in the junior zone only.
        expert: Players per second who wait in the expert zone only.
        flexible: Players per second who wait in both.
        run: Policy, count and seed.

    Source:
        Xu, Yu, Wu, section V, (19)-(25).
    """
    queues = [_queue(name, run["policy"], players=1) for name in ("junior", "expert")]
    rates = zip((junior, expert, flexible), ZONES, strict=True)
    return _world(queues, [(rate, {"queues": zone}) for rate, zone in rates], run)


def sides_2v2_toml(
    a: float, b: float, flexible: float, solo_share: float, **run: Unpack[Run]
) -> str:
    """Return two against two with two sides, of duos and of solos who are packed into teams.

    Args:
        a: Pairs of players per second who insist on side A, as duos or as solos.
        b: Pairs who insist on side B.
        flexible: Pairs who take either.
        solo_share: Share of the players who come alone, in [0, 1].
        run: Policy, count and seed.
    """
    queue = _queue("map", run["policy"], players=2, sides=("A", "B"))
    rates = zip((a, b, flexible), SIDES, strict=True)
    classes = [
        each for rate, side in rates for each in _parties(rate, solo_share, attributes=_wish(side))
    ]
    return _world([queue], classes, run)


def zones_2v2_toml(
    junior: float, expert: float, flexible: float, solo_share: float, **run: Unpack[Run]
) -> str:
    """Return two against two in two zones, of duos and of solos who are packed into teams.

    Args:
        junior: Pairs of players per second who wait in the junior zone only.
        expert: Pairs who wait in the expert zone only.
        flexible: Pairs who wait in both.
        solo_share: Share of the players who come alone, in [0, 1].
        run: Policy, count and seed.
    """
    queues = [_queue(name, run["policy"], players=2) for name in ("junior", "expert")]
    rates = zip((junior, expert, flexible), ZONES, strict=True)
    classes = [each for rate, zone in rates for each in _parties(rate, solo_share, queues=zone)]
    return _world(queues, classes, run)


def two_queues_toml(solo_rate: float, party_rate: float, **run: Unpack[Run]) -> str:
    """Return two against two with a queue for solos and one for duos.

    Args:
        solo_rate: Solos per second.
        party_rate: Duos per second.
        run: Policy, count and seed.

    Source:
        Xu, Yu, Wu, section III, (4)-(7).
    """
    policy = run["policy"]
    queues = [
        _queue("solo", policy, players=2, party_sizes=(1,)),
        _queue("party", policy, players=2, party_sizes=(2,)),
    ]
    classes: list[Class] = [
        (solo_rate, {"queues": ("solo",)}),
        (party_rate, {"size": 2, "queues": ("party",)}),
    ]
    return _world(queues, classes, run)


def players_toml(k: int, rate: float, **run: Unpack[Run]) -> str:
    """Return matches of k single players.

    Args:
        k: Players of a match.
        rate: Players per second.
        run: Policy, count and seed.

    Source:
        Xu, Yu, Wu, section II-B, (1) and (2).
    """
    queue = _queue("main", run["policy"], teams=k, players=1)
    own = {"process": "poisson", "rate": rate, "count": run["count"]}
    return "\n".join([f"seed = {run['seed']}\n", queue, _table("[arrivals]", own)])


def parties_toml(k: int, rates: Sequence[float], **run: Unpack[Run]) -> str:
    """Return k against k with parties of 1 to k players.

    Args:
        k: Players of a team.
        rates: Parties per second, of 1 player first.
        run: Policy, count and seed.

    Source:
        Xu, Yu, Wu, section II-C and the remark of section III-C.
    """
    queue = _queue("main", run["policy"], players=k)
    classes: list[Class] = [(rate, {"size": size}) for size, rate in enumerate(rates, start=1)]
    return _world([queue], classes, run)


def _parties(pairs: float, solo_share: float, **keys: Any) -> list[Class]:
    """Return the classes of duos and of solos that so many pairs per second make."""
    duos = pairs * (1.0 - solo_share), {"size": 2, **keys}
    return [duos, (2.0 * pairs * solo_share, {"size": 1, **keys})]


def _wish(side: str) -> dict[str, str]:
    return {"side": side}


def _queue(name: str, policy: str, *, players: int, teams: int = 2, **keys: Any) -> str:
    """Return a queue of teams that nobody has to leave."""
    own = {"name": name, "teams": teams, "players": players, **keys}
    return _table("[[queue]]", {**own, "on_deadline": "keep", "policy": policy})


def _world(queues: list[str], classes: Iterable[Class], run: Run) -> str:
    """Return the text of a scenario; classes of rate 0 are left out."""
    arrivals = _table("[arrivals]", {"process": "poisson", "count": run["count"]})
    tables = [
        _table("[[arrivals.classes]]", {"rate": rate, **keys}) for rate, keys in classes if rate
    ]
    return "\n".join([f"seed = {run['seed']}\n", *queues, arrivals, *tables])


def _table(head: str, keys: dict[str, Any]) -> str:
    return "\n".join([head, *(f"{key} = {_toml(value)}" for key, value in keys.items()), ""])


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + "}"
    return repr(value)
