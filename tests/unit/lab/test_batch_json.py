"""Batches of tickets: what they say, and sentences for what they get wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenmatch
from evenmatch.criteria.objective import Objective
from evenmatch.errors import ConfigError
from evenmatch.lab.solve.arrays import FileBatch
from evenmatch.lab.solve.arrays import batch_of as batch_of_arrays
from evenmatch.lab.solve.json_batch import batch_of_tickets, read_tickets
from evenmatch.lab.solve.solution import cost_of
from evenmatch.model.ticket import Ticket
from tests.unit.lab.batches import SKILL, SPREAD, arrays, batch_of, exported, player, singles
from tools import world_tickets

EVENING = Path(__file__).parents[3] / "scenarios" / "evening.json"


@pytest.mark.parametrize(("players", "team_size"), [(26, 2), (40, 3), (33, 5)])
def test_export_of_arrays_is_judged_as_the_arrays_are(players: int, team_size: int) -> None:
    data = arrays(players, team_size, seed=3)
    of_arrays, of_tickets = batch_of_arrays(data), batch_of_tickets(exported(data)).batch
    found = evenmatch.solve(exported(data), effort=2_000)

    assert len(found.plan.seating) > 0
    own = 1.0 - cost_of(of_arrays, found.plan.seating)
    # Attributes are float64 on both ways; pings are float32 on both.
    assert found.plan.quality == pytest.approx(own, abs=1e-6)
    assert cost_of(of_tickets, found.plan.seating) == pytest.approx(1.0 - own, abs=1e-6)


def test_shipped_batch_is_what_the_world_gives() -> None:
    assert EVENING.read_text(encoding="utf-8") == world_tickets.text_of(
        world_tickets.world_tickets(*world_tickets.EVENING)
    )


def seated(given: FileBatch, teams: list[list[int]]) -> list[list[Ticket]]:
    assert given.people is not None
    return [given.people._tickets(team) for team in teams]


def quality_of(raw: dict[str, Any], teams: list[list[int]]) -> float:
    """Return what the criteria, which never heard of batches, say of a match."""
    from evenmatch.config.files import queue_of

    given = batch_of_tickets(raw)
    table = {"criteria": raw["criteria"], "rules": raw.get("rules", []), **raw["format"]}
    objective = Objective(queue_of({"name": "any", "policy": "greedy", **table}))
    costs = objective.factors(tuple(map(tuple, seated(given, teams))))
    total = sum(objective.weights)
    return 1.0 - sum(w * c for w, c in zip(objective.weights, costs, strict=True)) / total


def role_batch() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    wishes = [["tank", "dps"], ["dps"], ["dps", "healer"], ["healer", "tank"], []]
    tickets = [
        {"players": [player(f"p{at}", float(s), roles=wishes[at % 5])]}
        for at, s in enumerate(rng.integers(0, 3000, 20))
    ]
    raw = batch_of(tickets, SKILL, {"kind": "role_rank", "weight": 2.0}, players=3)
    raw["format"]["roles"] = {"tank": 1, "healer": 1, "dps": 1}
    return raw


def test_roles_are_given_and_their_ranks_count() -> None:
    raw = role_batch()
    found = evenmatch.solve(raw, effort=20_000)

    assert len(found.matches) == 3
    for match in found.matches:
        assert [sorted(team) for team in match["roles"]] == [["dps", "healer", "tank"]] * 2
        assert match["quality"] / 100 == pytest.approx(quality_of(raw, match["teams"]), abs=1e-6)
    assert "role_rank" in found.matches[0]["factors"]


def test_players_who_all_want_one_role_are_left_over_with_the_reason() -> None:
    raw = role_batch()
    for ticket in raw["tickets"]:
        ticket["players"][0]["roles"] = ["tank"]
    found = evenmatch.solve(raw, effort=2_000)

    assert (found.matches, len(found.bench)) == ([], 20)
    assert found.reason.startswith("no match is possible")


def test_matches_below_the_maximum_cost_what_their_free_seats_say() -> None:
    raw = batch_of(singles([float(100 * at) for at in range(11)]), SKILL, {"kind": "fullness"})
    raw["format"] |= {"players": 4, "players_min": 2}
    found = evenmatch.solve(raw, effort=20_000)

    assert sum(len(team) for match in found.matches for team in match["teams"]) == 11
    for match in found.matches:
        assert all(2 <= len(team) <= 4 for team in match["teams"])
        assert match["quality"] / 100 == pytest.approx(quality_of(raw, match["teams"]), abs=1e-6)


def test_region_and_hosts_travel_with_a_match() -> None:
    tickets = singles([1000.0] * 4)
    for at, ticket in enumerate(tickets):
        facts = ticket["players"][0]["attributes"]
        facts["latency"] = {"eu": 20.0 + at, "us": 120.0 + at}
        facts["connect"] = "open" if at < 2 else "strict"
    criteria = ({"kind": "latency", "pairs": "region"}, {"kind": "host_options"})
    (match,) = evenmatch.solve(batch_of(tickets, *criteria), effort=100).matches

    assert match["region"] == "eu"
    assert set(match["hosts"]) == {"p0", "p1"}
    assert sorted(map(sorted, match["ids"])) == [
        sorted(f"p{p}" for p in team) for team in sorted(map(sorted, match["teams"]))
    ]


def test_hosts_come_from_the_table_where_there_is_one() -> None:
    connect = np.ones((4, 4), dtype=int)
    connect[0, 1] = connect[3, 2] = 0
    raw = batch_of(
        singles([1.0, 2.0, 3.0, 4.0]),
        {"kind": "host_options"},
        pairs={"connect": connect.tolist()},
    )
    (match,) = evenmatch.solve(raw, effort=100).matches
    assert match["hosts"] == ["p1", "p2"]


def test_no_legal_match_is_an_empty_result_with_the_reason() -> None:
    rule = {"kind": "spread", "attribute": "skill", "limit": 10.0}
    raw = batch_of(singles([0.0, 500.0, 1000.0, 1500.0]), rules=[rule])
    found = evenmatch.solve(raw, effort=500)

    assert (found.matches, found.quality, found.bench) == ([], None, [0, 1, 2, 3])
    assert found.reason.startswith("no match is possible")


def test_rule_that_no_match_keeps_leaves_all_without_one() -> None:
    parties = [
        {"players": [player("a", 1.0), player("b", 1.0)]},
        {"players": [player("c", 1.0)]},
        {"players": [player("d", 1.0)]},
    ]
    rules = [{"kind": "party_parity", "limit": 0.1}]
    found = evenmatch.solve(batch_of(parties, rules=rules), effort=500)

    assert found.matches == []
    assert "rule party_parity" in found.reason


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"colour": 1}, "the batch has no key 'colour'; allowed: format, rules_file, criteria"),
        ({"format": {"team": 2}}, "format has no key 'team'"),
        ({"format": []}, "format must be an object"),
        ({"criteria": [{"kind": "beauty"}]}, "beauty"),
        ({"tickets": {}}, "tickets must be a list"),
        ({"tickets": [{"players": 3}]}, r"tickets\[0\]: Expected `array`"),
        ({"tickets": [{"players": [player("a", 1.0)], "colour": 1}]}, "colour"),
        ({"tickets": [{"players": [player("a", 1.0)], "queues": ["x"]}]}, "no queues"),
        ({"tickets": [{"players": []}]}, r"tickets\[0\]"),
        ({"tickets": [{"players": [{"id": "a"}]}]}, "attribute skill is missing"),
        ({"tickets": [{"players": [player("a", 1e30)]}]}, r"tickets\[0\]"),
        (
            {"tickets": [{"players": [player(f"p{at}", 1.0) for at in range(3)]}]},
            r"tickets\[0\]: it takes parties of 1, 2, got 3 players",
        ),
        (
            {"tickets": [{"players": [player("a", 1.0), player("a", 2.0)]}]},
            "the player id 'a' stands in",
        ),
        (
            {"tickets": [{"players": [player("a", 1.0)]}, {"players": [player("a", 1.0)]}]},
            r"tickets\[1\]: the player id 'a' stands in tickets\[0\] already",
        ),
        (
            {"tickets": [{"id": "x", "players": [player(n, 1.0)]} for n in "ab"]},
            "the ticket id 'x' stands in",
        ),
        ({"pairs": {"pong": []}}, "pairs has no key 'pong'"),
        ({"pairs": {"ping": [[0, 1], [1]]}}, "pairs.ping must be a list of rows of numbers"),
        ({"pairs": {"ping": [["0"]]}}, "pairs.ping must be a list of rows of numbers"),
        ({"pairs": {"ping": [[0, 1], [1, 0]]}}, r"pairs.ping must be 4 x 4, got \(2, 2\)"),
        ({"pairs": {"connect": (2 * np.ones((4, 4))).tolist()}}, "must hold true or false"),
    ],
)
def test_what_cannot_be_solved_is_one_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as raised:
        batch_of_tickets(batch_of(singles([1.0, 2.0, 3.0, 4.0])) | change)
    assert "\n" not in str(raised.value)


def test_role_that_no_team_has_room_for_is_refused() -> None:
    raw = role_batch()
    raw["tickets"][0]["players"] = [player(n, 1.0, roles=["tank"]) for n in ("x", "y")]
    with pytest.raises(ConfigError, match=r"tickets\[0\]: the party's roles do not go together"):
        batch_of_tickets(raw)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "must be valid JSON"),
        ("[]", "must be an object"),
        ("{}", "must have a key tickets, the list of who waits"),
        ('{"tickets": [NaN]}', "must hold finite numbers, got NaN"),
        ("[" * 100_000, "cannot be read"),
        (
            '{"tickets": [{"id": "\\ud83d\\ude00 \\uDE00"}]}',
            r"must be valid JSON: \\ude00 is half of a character; write the character itself",
        ),
        ('{"tickets": [{"id": "\\ud83d\\ude00", "x": 1}]}', "has no key 'x'|unknown field `x`"),
    ],
)
def test_file_that_is_no_batch_is_named(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "batch.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=sentence) as raised:
        read_tickets(path)
    assert str(raised.value).startswith(str(path))


def test_ping_rule_without_a_criterion_over_the_same_pairs_needs_latencies() -> None:
    ping = np.ones((4, 4)).tolist()
    rule = {"kind": "latency", "pairs": "teammates", "limit": 100.0}
    raw = batch_of(singles([1.0] * 4), SPREAD, rules=[rule], pairs={"ping": ping})
    with pytest.raises(ConfigError, match="rule latency over teammates needs `latency`"):
        batch_of_tickets(raw)


def test_tickets_under_rules_on_whole_matches_are_solved_and_bounded() -> None:
    regions = ({"eu": 20.0, "us": 130.0}, {"eu": 140.0, "us": 15.0})
    tickets = [
        {
            "players": [
                {
                    "id": f"p{at}",
                    "attributes": {
                        "skill": 100.0 * (at % 5),
                        "latency": regions[at % 2],
                        "connect": ("open", "strict")[at % 3 == 0],
                        "house": f"h{at // 3}",
                        "side": ("", "red", "blue")[at % 3],
                    },
                }
            ]
        }
        for at in range(16)
    ]
    near = {"kind": "latency", "attribute": "latency", "pairs": "region"}
    raw = batch_of(tickets, SKILL, near, {**near, "best": 5.0}, players=2)
    raw["format"]["sides"] = ["red", "blue"]
    raw["rules"] = [
        {**near, "limit": 90.0},
        {"kind": "household_limit", "attribute": "house", "limit": 2},
        {"kind": "host_options", "attribute": "connect", "limit": 1.0},
    ]
    found = evenmatch.solve(raw, effort=3_000, bound=True, bound_seconds=2)

    assert len(found.plan.seating) == 4
    assert found.plan.legal.all()
    assert found.bound is not None
    assert found.bound >= found.quality
    given = batch_of_tickets(raw)
    for row, quality in zip(found.plan.seating, found.plan.quality, strict=True):
        teams = [row[:2].tolist(), row[2:].tolist()]
        assert given.people is not None
        assert given.people.objection(teams) == ""
        assert quality_of(raw, teams) == pytest.approx(quality, abs=1e-6)
