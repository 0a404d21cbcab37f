import re

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.role_stability import role_stability
from evenmatch.theory.sides import sides

SLOTS = {"tank": 1, "healer": 1, "dps": 3}
SETS = [["tank"], ["healer"], ["dps"], ["tank", "healer", "dps"]]


def test_margins_are_those_of_the_reference_worst_first() -> None:
    found = role_stability(slots=SLOTS, role_sets=SETS, rates=[0.10, 0.15, 0.55, 0.20])
    assert (found.stable, found.kind, found.growth, found.starved) == (True, None, None, ())
    margins = {each.roles: float(each.margin) for each in found.margins}
    assert margins == pytest.approx(
        {
            ("healer",): 0.05,
            ("dps",): 0.05,
            ("tank",): 0.1,
            ("healer", "dps"): 0.1,
            ("tank", "healer"): 0.15,
            ("tank", "dps"): 0.15,
        }
    )
    assert list(margins.values()) == sorted(margins.values())


def test_too_many_of_a_role_are_said_and_grow() -> None:
    players = [
        {"roles": roles, "rate": rate}
        for roles, rate in zip(SETS, [0.1, 0.15, 0.65, 0.1], strict=True)
    ]
    found = role_stability(slots=SLOTS, players=players)
    assert (found.stable, found.kind, found.starved) == (False, "transient", ("dps",))
    assert found.margins[0].text == (
        "players who queue only for dps must drop by more than 0.125/s, with the others unchanged: "
        "now 0.65/s, and 3 of 5 slots take 0.6/s"
    )
    # The reference counted some 29,000 in the pool after 240,000 arrivals, one per second.
    assert found.growth == 0.125
    assert 240_000 * found.growth == pytest.approx(29_000, rel=0.05)


def told_room(found, roles):
    (text,) = (each.text for each in found.margins if each.roles == roles)
    return float(re.search(r"([0-9.]+)/s( more|, with)", text)[1])


TIGHT = [["tank"], ["healer", "dps"], ["dps"], ["tank", "healer", "dps"]]


@pytest.mark.parametrize(
    ("sets", "rates", "more"),
    [
        (SETS, [0.10, 0.15, 0.55, 0.20], 0.125),  # not the margin, 0.05: all who come grow too
        (SETS, [0.05, 0.1, 0.3, 0.35], 0.45),
        (TIGHT, [0.05, 0.4, 0.3, 0.2], 0.3),  # with healers it is 5 x 0.25 - 0.95, alone 0.675
    ],
)
def test_as_many_more_as_told_may_come_while_the_others_are_unchanged(sets, rates, more) -> None:
    room = told_room(role_stability(slots=SLOTS, role_sets=sets, rates=rates), ("dps",))
    assert room == pytest.approx(more)
    for part, stable in ((0.999, True), (1.001, False)):
        grown = [*rates[:2], rates[2] + part * room, rates[3]]
        assert role_stability(slots=SLOTS, role_sets=sets, rates=grown).stable is stable


def test_as_many_fewer_as_told_are_the_growth_and_enough() -> None:
    rates = [0.1, 0.15, 0.65, 0.1]
    found = role_stability(slots=SLOTS, role_sets=SETS, rates=rates)
    room = told_room(found, ("dps",))
    assert room == found.growth
    for part, stable in ((0.999, False), (1.001, True)):
        fewer = [*rates[:2], rates[2] - part * room, rates[3]]
        assert role_stability(slots=SLOTS, role_sets=SETS, rates=fewer).stable is stable


def test_a_set_within_a_crowded_one_is_not_told_to_grow() -> None:
    found = role_stability(slots=SLOTS, role_sets=SETS, rates=[0.05, 0.45, 0.45, 0.05])
    (text,) = (each.text for each in found.margins if each.roles == ("dps",))
    assert "are not too many by themselves: now 0.45/s, and 3 of 5 slots take 0.6/s" in text


def test_growth_is_what_the_best_teams_of_drawn_players_leave() -> None:
    rates = [0.1, 0.15, 0.65, 0.1]
    growth = role_stability(slots=SLOTS, role_sets=SETS, rates=rates).growth
    arrivals = 40_000
    tanks, healers, dps, free = np.random.default_rng(3).multinomial(arrivals, rates).tolist()

    def missing(teams):
        return sum(max(0, x) for x in (teams - tanks, teams - healers, 3 * teams - dps))

    teams = max(x for x in range(arrivals // 5 + 1) if missing(x) <= free)
    # A team takes 2.5 others for each missing dps; their number is binomial.
    error = 2.5 * (0.65 * 0.35 / arrivals) ** 0.5
    assert abs((arrivals - 5 * teams) / arrivals - growth) < 3 * error


def test_only_single_roles_are_never_stable() -> None:
    found = role_stability(slots=SLOTS, role_sets=SETS[:3], rates=[0.2, 0.2, 0.6])
    assert (found.stable, found.kind, found.growth) == (False, "null recurrent", 0.0)
    assert found.starved == ("tank", "healer", "dps")
    assert "must be fewer: now 0.2/s, and 1 of 5 slots takes 0.2/s" in found.margins[0].text


@pytest.mark.parametrize(
    "rates", [(0.3, 0.3, 0.4), (0.4, 0.3, 0.3), (0.6, 0.3, 0.1), (0.5, 0.5, 0), (0.55, 0.25, 0.2)]
)
def test_two_roles_of_one_slot_are_sides(rates) -> None:
    roles = role_stability(
        slots={"a": 1, "b": 1}, role_sets=[["a"], ["b"], ["a", "b"]], rates=rates
    )
    found = sides(a=rates[0], b=rates[1], flexible=rates[2])
    assert (roles.stable, roles.kind) == (found.stable, found.kind)
    assert roles.growth == pytest.approx(found.growth, abs=1e-15)


def test_one_role_is_always_stable() -> None:
    found = role_stability(slots={"any": 5}, role_sets=[["any"]], rates=[0.1])
    assert (found.stable, found.margins) == (True, ())


def test_ten_roles_have_a_margin_for_every_proper_set() -> None:
    slots = {f"r{i}": i % 3 + 1 for i in range(10)}
    sets = [[role] for role in slots] + [list(slots)]
    found = role_stability(slots=slots, role_sets=sets, rates=[0.01] * 10 + [1.0])
    assert len(found.margins) == 2**10 - 2
    assert found.stable


PLAYERS = [{"roles": ["tank"], "rate": 1.0}]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"slots": {}, "players": PLAYERS}, "slots must give the slots of a team for 1 to 10"),
        ({"slots": {"tank": 0}, "players": PLAYERS}, "slots of tank must be a whole number from 1"),
        ({"slots": {"tank": True}, "players": PLAYERS}, "slots of tank must be a whole number"),
        ({"slots": SLOTS}, r'players must be given, as \[\{"roles"'),
        ({"slots": SLOTS, "role_sets": [["tank"]]}, "or role_sets together with rates"),
        ({"slots": SLOTS, "players": {"tank": 1}}, "players must be a list"),
        ({"slots": SLOTS, "players": [{"roles": ["tank"]}]}, "must have roles and rate"),
        (
            {"slots": SLOTS, "players": [{"roles": ["mage"], "rate": 1}]},
            r"one or more of tank, healer, dps, each once, got \['mage'\]",
        ),
        ({"slots": SLOTS, "players": [{"roles": [], "rate": 1}]}, "one or more of tank"),
        ({"slots": SLOTS, "players": [{"roles": "tank", "rate": 1}]}, "one or more of tank"),
        ({"slots": SLOTS, "players": PLAYERS * 2}, "players who queue for tank are given twice"),
        ({"slots": SLOTS, "players": [{"roles": ["tank"], "rate": -1}]}, "rate of tank must be 0"),
        ({"slots": SLOTS, "players": []}, "there must be from 1 to 1,000 sets of roles, got 0"),
        ({"slots": SLOTS, "role_sets": SETS, "rates": [1]}, "lists of the same length"),
    ],
)
def test_bad_files_are_one_sentence(settings, sentence) -> None:
    with pytest.raises(ConfigError, match=sentence) as raised:
        role_stability(**settings)
    assert "\n" not in str(raised.value)
