"""Whom players met last, bounded by player and in total."""

import msgspec
import pytest

from evenmatch.policies import weighted
from evenmatch.policies.weighted import Opponents


def test_factor_comes_back_with_every_match_with_others() -> None:
    met = Opponents(3, {})
    met.meet("a", "b", ())
    factors = []
    for other in ("c", "d", "e", "f"):
        factors.append(met.novelty("a", "b"))
        met.meet("a", other, ())

    assert factors == [1 / 4, 2 / 4, 3 / 4, 1.0]
    # b has played nobody since.
    assert met.novelty("b", "a") == 1 / 4


def test_another_match_with_the_same_begins_anew() -> None:
    met = Opponents(3, {})
    for other in ("b", "c", "b"):
        met.meet("a", other, ())
    assert met.faded("a") == {"b": 0.25, "c": 0.5}


def test_depth_of_nothing_remembers_nothing() -> None:
    met = Opponents(0, {})
    met.meet("a", "b", ())
    assert met.novelty("a", "b") == 1.0
    assert met.memory() == {"opponents": []}


def test_restart_keeps_opponents_and_their_order() -> None:
    before = Opponents(2, {})
    for one, two in (("z", "b"), ("a", "b"), ("z", "c")):
        before.meet(one, two, ())
    after = Opponents(2, msgspec.json.decode(msgspec.json.encode(before.memory())))
    assert after.memory() == before.memory()
    assert after.faded("b") == {"z": 2 / 3, "a": 1 / 3}


def test_players_who_played_longest_ago_are_forgotten_unless_they_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(weighted, "PLAYERS_MAX", 10)
    monkeypatch.setattr(weighted, "FORGOTTEN", 4)
    met = Opponents(2, {})
    for number in range(0, 12, 2):
        met.meet(f"p{number}", f"p{number + 1}", {"p0"})

    remembered = [player for player, _ in met.memory()["opponents"]]
    assert remembered == ["p0", "p5", "p6", "p7", "p8", "p9", "p10", "p11"]
