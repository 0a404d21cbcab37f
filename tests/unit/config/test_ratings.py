"""Rating systems and outcomes in a file: what is built, and the sentence that each mistake gets."""

import pytest

from evenmatch.config.files import parse_scenario, parse_server
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import OutcomeModel


def queue(text: str) -> Queue:
    return parse_scenario(f"[[queue]]\n{text}").queues[0]


def test_rating_system_is_read() -> None:
    built = queue('rating = "glicko2:tau=0.5"\nrating_period = 86400\nladder = "ranked"')

    assert (built.rating, built.rating_period) == ("glicko2:tau=0.5", 86_400.0)
    assert built.rated_in == "ranked"
    assert queue('group = "west"').rated_in == "west"
    assert parse_server('[[queue]]\nrating = "elo"')[0][0].rating == "elo"


def test_outcomes_are_read() -> None:
    assert parse_scenario("[[queue]]").outcomes is None
    assert parse_scenario("[[queue]]\n[outcomes]").outcomes == OutcomeModel()
    full = '[[queue]]\n[outcomes]\nskill = "mu"\nscale = 8.3\ndraws = 0.1\nlasts = 0'
    assert parse_scenario(full).outcomes == OutcomeModel("mu", 8.3, 0.1, 0.0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('rating = ""', 'rating must be a SPEC of 1 to 500 characters such as "glicko2"'),
        ("rating_period = 60", "rating_period needs rating, the system by which"),
        ('rating = "elo"\nrating_period = 0.5', "rating_period must be between 1 and 1e9 s"),
        ('ladder = "a b"', "ladder must be 1 to 64 letters"),
        ("[outcomes]\nscale = 0", "outcomes.scale must be between 1e-6 and 1e9, got 0"),
        ("[outcomes]\ndraws = 1.5", "outcomes.draws must be between 0 and 1, got 1.5"),
        ("[outcomes]\nlast = 1", "did you mean lasts?"),
    ],
)
def test_mistakes_are_named(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        queue(text)

    assert sentence in str(refused.value)
