from itertools import pairwise

import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.flexibility import WORK_MAX, flexibility, with_flexible
from evenmatch.theory.graph import compatibility_graph
from evenmatch.theory.sides import sides
from evenmatch.theory.zones import zones
from tests.extent import only

SIDES = [("a", "b"), ("a", "both"), ("b", "both"), ("both", "both")]
ZONES = [("junior", "junior"), ("expert", "expert")]


def test_flexible_side_is_the_flexible_class_of_sides() -> None:
    rates = {"a": 0.4, "b": 0.3, "both": 0.3}
    found = flexibility(rates=rates, edges=SIDES, share=0.25)
    now = sides(a=0.4, b=0.3, flexible=0.3)
    gain = found.classes["a"]
    assert (found.mean, gain.mean) == (now.mean, now.mean_a)
    assert gain.mean_flexible == now.mean_flexible
    assert gain.improvement == pytest.approx(now.improvement_a)
    then = sides(a=0.3, b=0.3, flexible=0.4)
    assert gain.others["a"] == pytest.approx(then.mean_a)
    assert gain.others["flexible a"] == pytest.approx(then.mean_flexible)
    # Side b and those who were flexible before lose their scarce opponents' haste.
    assert gain.losers == ("b", "both")


def test_flexible_players_gain_nothing_by_being_flexible() -> None:
    gain = flexibility(rates={"a": 0.4, "b": 0.3, "both": 0.3}, edges=SIDES).classes["both"]
    assert (gain.improvement, gain.losers) == (1.0, ())


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_flexible_expert_is_the_flexible_class_of_zones(share) -> None:
    found = flexibility(rates={"junior": 0.5, "expert": 0.5}, edges=ZONES, share=share)
    gain = found.classes["expert"]
    then = zones(junior=0.5, expert=0.5 * (1 - share), flexible=0.5 * share)
    assert gain.mean_flexible == 0.25
    assert gain.others["expert"] == pytest.approx(then.mean_expert, rel=1e-12)
    assert gain.others["flexible expert"] == pytest.approx(then.mean_flexible, rel=1e-12)
    assert gain.losers == ("expert",)  # those who stay experts, as the reference says


def test_class_may_accept_some_classes_only() -> None:
    rates = {"low": 1.0, "middle": 1.0, "high": 0.5}
    loops = [(name, name) for name in rates]
    found = flexibility(rates=rates, edges=loops, accepts={"high": ["middle"]})
    rates_, edges, free = with_flexible(rates, loops, "high", ["middle"], 0.0)
    assert (free, rates_[free]) == ("flexible high", 0.0)
    assert {pair for pair in edges if free in pair} == {
        ("middle", free),
        ("high", free),
        (free, free),
    }
    single = compatibility_graph(rates=rates_, edges=edges).means[free]
    assert found.classes["high"].mean_flexible == single
    assert single > flexibility(rates=rates, edges=loops).classes["high"].mean_flexible


def test_class_that_never_plays_does_if_it_is_flexible() -> None:
    gain = flexibility(rates={"a": 1, "b": 0}, edges=[("a", "a"), ("b", "b")]).classes["b"]
    assert (gain.mean, gain.mean_flexible, gain.improvement) == (None, 0.5, None)


def test_name_of_the_flexible_class_is_free() -> None:
    rates = {"a": 1.0, "flexible a": 1.0}
    pairs = [("a", "a"), ("flexible a", "flexible a")]
    assert with_flexible(rates, pairs, "a", list(rates), 0.5)[2] == "flexible a'"


def test_unstable_graph_says_how_many_of_whom_must_become_flexible() -> None:
    found = flexibility(rates={"a": 2, "b": 1}, edges=[("a", "b")])
    assert (found.stable, found.mean, found.classes) == (False, None, {})
    assert (found.starved, found.growth) == (("a",), 1.0)
    # 1.5 of a against 1 of b and 0.5 who take either.
    assert found.needed == pytest.approx({"a": 0.5})
    assert found.reason == (
        "a exceed b by 1/s, and may meet nobody else; more than 0.5/s of a must become flexible, "
        "25 % of them"
    )
    assert found.figures()["classes"] == {}


@pytest.mark.parametrize("share", [0.249, 0.251])
def test_as_many_as_are_needed_make_it_stable(share) -> None:
    rates, edges, _ = with_flexible({"a": 2, "b": 1}, [("a", "b")], "a", ["a", "b"], share)
    assert compatibility_graph(rates=rates, edges=edges).stable is (share > 0.25)


def test_on_the_boundary_any_flexible_player_helps() -> None:
    found = flexibility(rates={"a": 1, "b": 1}, edges=[("a", "b")])
    assert (found.starved, found.growth, found.needed) == (("a", "b"), 0.0, {"a": 0.0, "b": 0.0})
    assert found.reason.endswith("some of a and b must become flexible, however few")


def test_where_flexible_players_would_not_do_it_says_so() -> None:
    accepts = {"a": ["a"]}  # they would still meet b only
    for rate in (2, 1):
        found = flexibility(rates={"a": rate, "b": 1}, edges=[("a", "b")], accepts=accepts)
        assert (found.stable, found.needed) == (False, {})
        assert "too few could play them" in found.reason


@pytest.mark.parametrize(
    ("length", "sets", "work"), only([(16, "2,584", 100_000), (26, "317,811", WORK_MAX)], 0)
)
def test_a_path_that_would_take_minutes_is_refused(
    length: int, sets: str, work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenmatch.theory.flexibility.WORK_MAX", work)
    names = [f"c{i}" for i in range(length)]
    edges = [*pairwise(names), (names[0],) * 2, (names[-1],) * 2]
    with pytest.raises(ConfigError, match=f"{length} classes with {sets} sets that may wait"):
        flexibility(rates=dict.fromkeys(names, 1.0), edges=edges)


def test_a_single_flexible_player_is_solved_once_for_all_classes(monkeypatch) -> None:
    solved = []

    def counted(**graph):
        solved.append(len(graph["rates"]))
        return compatibility_graph(**graph)

    monkeypatch.setattr("evenmatch.theory.flexibility.compatibility_graph", counted)
    flexibility(rates={"a": 0.4, "b": 0.3, "both": 0.3}, edges=SIDES)
    assert solved == [3, *[4] * 4]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"share": 0}, r"share must be in \(0, 1\], got 0"),
        ({"accepts": {"z": []}}, "accepts must give lists of classes that have rates by class"),
        ({"accepts": {"junior": ["z"]}}, "accepts must give lists of classes that have rates"),
        ({"accepts": ["junior"]}, "accepts must give lists of classes by class"),
    ],
)
def test_bad_settings_are_one_sentence(more, sentence) -> None:
    with pytest.raises(ConfigError, match=sentence):
        flexibility(rates={"junior": 0.5, "expert": 0.5}, edges=ZONES, **more)


def test_too_many_classes_are_refused() -> None:
    rates = {str(i): 1.0 for i in range(31)}
    with pytest.raises(ConfigError, match="at most 30 classes here, got 31"):
        flexibility(rates=rates, edges=[(name, name) for name in rates])
