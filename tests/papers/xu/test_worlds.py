"""The scenarios of Xu, Yu and Wu's games are what they say."""

from evenmatch.config.files import parse_scenario
from evenmatch.model.scenario import Scenario
from papers.xu import worlds


def _parse(text: str) -> Scenario:
    return parse_scenario(text)


RUN: worlds.Run = {"policy": "greedy", "count": 100, "seed": 3}


def _rates(scenario: Scenario) -> list[float]:
    assert scenario.arrivals is not None
    return [each.rate or 0.0 for each in scenario.arrivals.classes]


def test_sides_has_a_queue_with_two_sides_and_a_class_for_each_wish() -> None:
    scenario = _parse(worlds.sides_toml(0.3, 0.2, 0.4, **RUN))
    assert scenario.queues[0].format.sides == ("A", "B")
    assert scenario.arrivals is not None
    assert [each.attributes["side"] for each in scenario.arrivals.classes] == ["A", "B", ""]
    assert _rates(scenario) == [0.3, 0.2, 0.4]


def test_zones_are_two_queues_and_the_flexible_wait_in_both() -> None:
    scenario = _parse(worlds.zones_toml(0.8, 0.2, 0.001, **RUN))
    assert [queue.name for queue in scenario.queues] == ["junior", "expert"]
    assert scenario.arrivals is not None
    assert scenario.arrivals.classes[2].queues == ("junior", "expert")
    assert _rates(scenario) == [0.8, 0.2, 0.001]


def test_classes_of_rate_zero_are_left_out() -> None:
    assert _rates(_parse(worlds.sides_toml(0.3, 0.0, 0.4, **RUN))) == [0.3, 0.4]
    scenario = _parse(worlds.zones_2v2_toml(0.25, 0.5, 0.0, 1.0, **RUN))
    assert _rates(scenario) == [0.5, 1.0]


def test_true_games_have_as_many_players_as_pairs_say() -> None:
    for make in (worlds.sides_2v2_toml, worlds.zones_2v2_toml):
        scenario = _parse(make(0.25, 0.5, 0.25, 0.5, **RUN))
        assert scenario.arrivals is not None
        classes = scenario.arrivals.classes
        assert sum((each.rate or 0.0) * each.size for each in classes) == 2.0
        assert sum(each.rate or 0.0 for each in classes if each.size == 1) == 1.0


def test_two_queues_keep_solos_and_duos_apart() -> None:
    scenario = _parse(worlds.two_queues_toml(0.5, 0.25, **RUN))
    assert [queue.format.party_sizes for queue in scenario.queues] == [(1,), (2,)]
    assert scenario.arrivals is not None
    assert [each.queues for each in scenario.arrivals.classes] == [("solo",), ("party",)]
