"""`evenmatch.simulate` says what is wrong with what it is given."""

from typing import Any

import pytest

from evenmatch.config import parse_scenario
from evenmatch.errors import ConfigError
from evenmatch.lab.simulate import simulate

CLOCK = "[[queue]]\n[arrivals]\nprocess='regular'\ninterval=2\ncount=4"


def test_one_name_to_split_by_is_one_name() -> None:
    assert list(simulate(parse_scenario(CLOCK), by="size").summary["by"]) == ["size"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"seed": 1.5}, "seed must be a whole number or a numpy SeedSequence, got 1.5"),
        ({"seed": True}, "seed must be a whole number"),
        ({"arrivals": 3}, "arrivals must be a file's path, or a sequence"),
        ({"policy": 3}, "policy must be a SPEC"),
        ({"by": 3}, "by must be a name or several"),
        ({"by": [1]}, "by must be a name or several"),
        ({"scenario": {}}, "scenario must be the path of a TOML file or a Scenario, got dict"),
    ],
)
def test_wrong_type_is_a_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        simulate(**{"scenario": parse_scenario(CLOCK), **given})
