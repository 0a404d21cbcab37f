"""Criteria of sort rules: what players are to who has waited longest."""

import msgspec
import pytest

from evenmatch.criteria.objective import Objective
from evenmatch.criteria.registry import comparison_of
from evenmatch.criteria.validation.queue import check_queue
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Format, Queue, Scale, Sort
from evenmatch.model.ticket import Player, Ticket, Value
from evenmatch.rules.flexmatch.compile import compile_rule_set
from evenmatch.rules.flexmatch.reader import load_rule_set

SETS = {"hill": 100.0, "lake": 10.0}


def party(number: int, *values: Value | None) -> Ticket:
    players = tuple(
        Player(f"p{number}{place}", attributes={} if value is None else {"maps": value})
        for place, value in enumerate(values)
    )
    return Ticket(f"t{number}", number, float(number), players, ("main",))


def queue_with(sort: Sort, knee: float = 100.0) -> Queue:
    criterion = Criterion("anchor_sort", "maps", scale=Scale(knee=knee), sort=sort)
    return Queue("main", Format((3, 3), players_min=(1, 1)), criteria=(criterion,))


def cost(sort: Sort, *tickets: Ticket, knee: float = 100.0) -> float:
    queue = queue_with(sort, knee)
    teams = (tickets[:1], tickets[1:])
    found = comparison_of(queue.criteria[0], queue).cost(teams)
    assert comparison_of(queue.criteria[0], queue).cost((tickets[1:], tickets[:1])) == found
    return found


LIKED = Sort(order="high", key="max")


def test_key_is_that_of_who_has_waited_longest() -> None:
    hill, lake = party(1, SETS), party(2, {"hill": 0.0, "lake": 100.0})
    # The first likes the hill best, which the other gives 0; the other way round it gives 10.
    assert cost(LIKED, hill, lake) == 0.9
    other = msgspec.structs.replace(lake, enqueued_at=0.0)
    assert cost(LIKED, hill, other) == pytest.approx(90 / 110)


def test_least_value_names_the_key_too() -> None:
    least = Sort(order="high", key="min")
    assert cost(least, party(1, SETS), party(2, {"hill": 0.0, "lake": 100.0})) == 0.45


@pytest.mark.parametrize(
    ("order", "expected"), [("high", 0.72), ("low", 0.28), ("near", 75 / 175), ("far", 100 / 175)]
)
def test_order_says_whose_value_is_best(order: str, expected: float) -> None:
    sort = msgspec.convert({"order": order, "key": "max"}, Sort)
    assert cost(sort, party(1, SETS), party(2, {"hill": 25.0})) == pytest.approx(expected)


@pytest.mark.parametrize("how", ["avg", "min", "max"])
def test_party_is_merged(how: str) -> None:
    sort = msgspec.convert({"order": "near", "key": "max", "party": how}, Sort)
    value = {"avg": 40.0, "min": 20.0, "max": 60.0}[how]
    gap = 100.0 - value
    found = cost(sort, party(1, SETS), party(2, {"hill": 20.0}, {"hill": 60.0}))
    assert found == pytest.approx(gap / (gap + 100.0))


def test_each_player_counts_but_those_of_the_longest_waiting_party() -> None:
    same, stranger = {"hill": 100.0}, {"lake": 1.0}
    near = Sort(order="near", key="max")
    found = cost(near, party(1, SETS, SETS), party(2, same, same), party(3, stranger))
    assert found == pytest.approx(1 / 3)


def test_who_brings_no_map_has_the_declared_one() -> None:
    near = Sort(order="near", key="max", default=(("hill", 100.0),))
    assert cost(near, party(1, None), party(2, SETS)) == 0.0
    assert cost(Sort(order="near", key="max"), party(1, SETS), party(2, None)) == 1.0


def test_of_equal_keys_the_first_by_name_counts() -> None:
    near = Sort(order="near", key="max")
    assert cost(near, party(1, {"b": 5.0, "a": 5.0}), party(2, {"a": 5.0})) == 0.0


def test_number_is_compared_without_a_key() -> None:
    assert cost(Sort(order="high"), party(1, 7.0), party(2, 300.0)) == 0.225


@pytest.mark.parametrize("order", ["low", "high"])
@pytest.mark.parametrize("knee", [1.0, 100.0])
def test_order_of_numbers_on_both_sides_of_zero_is_kept(order: str, knee: float) -> None:
    values = [-1e15, -5000.0, -500.0, -5.0, -1e-6, 0.0, 1e-6, 5.0, 500.0, 5000.0]
    sort = msgspec.convert({"order": order}, Sort)
    costs = [cost(sort, party(1, 0.0), party(2, value), knee=knee) for value in values]
    ordered = sorted(set(costs), reverse=order == "high")
    assert costs == ordered
    assert 0.0 <= min(costs) < max(costs) <= 1.0


def test_quality_knows_it() -> None:
    queue = queue_with(Sort(order="near", key="max"))
    check_queue(queue)
    teams = ((party(1, SETS),), (party(2, {"hill": 0.0}),))
    assert Objective(queue).judge(teams).quality == 0.5


def test_other_kinds_have_no_order() -> None:
    queue = queue_with(LIKED)
    (criterion,) = queue.criteria
    wrong = msgspec.structs.replace(criterion, kind="spread")
    with pytest.raises(ConfigError, match="anchor_sort"):
        check_queue(msgspec.structs.replace(queue, criteria=(wrong,)))
    bare = msgspec.structs.replace(criterion, sort=None)
    with pytest.raises(ConfigError, match="kind must be one of spread"):
        check_queue(msgspec.structs.replace(queue, criteria=(bare,)))


def criteria_of(*rules: dict[str, str]) -> tuple[Criterion, ...]:
    named = [{"name": f"rule{number}"} | rule for number, rule in enumerate(rules)]
    text = msgspec.json.encode(
        {
            "ruleLanguageVersion": "1.0",
            "playerAttributes": [
                {"name": "skill", "type": "number", "default": 10},
                {"name": "maps", "type": "string_number_map", "default": {"hill": 1}},
            ],
            "teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 3, "quantity": 2}],
            "rules": named,
        }
    )
    return compile_rule_set(load_rule_set(text.decode())).criteria


def sort_rule(kind: str, by: str, direction: str, key: str | None = None) -> dict[str, str]:
    rule = {"type": f"{kind}Sort", "sortAttribute": by, "sortDirection": direction}
    return rule if key is None else rule | {"mapKey": key}


def test_sort_rules_become_criteria_in_their_order() -> None:
    maps = sort_rule("absolute", "maps", "descending", "maxValue") | {"partyAggregation": "min"}
    first, second = criteria_of(maps, sort_rule("distance", "skill", "ascending"))
    sort = Sort(order="high", key="max", party="min", default=(("hill", 1.0),))
    assert (first.kind, first.sort) == ("anchor_sort", sort)
    assert (second.kind, second.sort) == ("imbalance", None)
    assert (first.weight, second.weight) == (4.0, 2.0)


@pytest.mark.parametrize(
    ("kind", "direction", "order"),
    [
        ("absolute", "ascending", "low"),
        ("absolute", "descending", "high"),
        ("distance", "ascending", "near"),
        ("distance", "descending", "far"),
    ],
)
def test_direction_of_a_sort_rule_is_kept(kind: str, direction: str, order: str) -> None:
    (found,) = criteria_of(sort_rule(kind, "maps", direction, "minValue"))
    assert found.sort is not None
    assert (found.sort.order, found.sort.key, found.weight) == (order, "min", None)
    (number,) = criteria_of(sort_rule(kind, "skill", direction))
    assert (number.sort.order if number.sort else "near") == order
