"""`rematch` and `handicap` in a file: what is built, and the sentence that each mistake gets."""

import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.criteria.kinds.rematch import redraw_rule
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Handicap, Queue


def queue(text: str) -> Queue:
    return parse_scenario(f"[[queue]]\n{text}").queues[0]


def criterion(text: str) -> str:
    return f'criteria = [{{kind = "rematch"{text}}}]'


def rule(text: str) -> str:
    return f'rules = [{{kind = "rematch"{text}}}]'


def test_criterion_needs_nothing_but_its_kind() -> None:
    assert queue(criterion("")).criteria == (Criterion("rematch", "recent"),)
    full = criterion(', attribute = "foes", weight = 2.0, matches = 5')
    assert queue(full).criteria == (Criterion("rematch", "foes", 2.0, matches=5),)


def test_rule_says_how_many_redraws_and_how_far_apart() -> None:
    text = rule(", redraws = 3, every = 4.0, matches = 2")
    assert queue(text).rules == (redraw_rule(3, every=4.0, matches=2),)


@pytest.mark.parametrize(
    ("before", "every"),
    [("", 10.0), ("wait_max = 60.0\n", 15.0), ('wait_max = 60.0\non_deadline = "keep"\n', 10.0)],
)
def test_draws_divide_the_wait_evenly_unless_it_has_no_end(before: str, every: float) -> None:
    assert queue(before + rule(", redraws = 3")).rules == (redraw_rule(3, every=every),)


def test_handicap_is_read() -> None:
    assert queue("handicap = {factor = 0.01}").handicap == Handicap(0.01)
    full = 'handicap = {factor = 0.5, max = 9.0, step = 1.0, attribute = "mu"}'
    assert queue(full).handicap == Handicap(0.5, 9.0, 1.0, "mu")


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        (criterion(", matches = 0"), "criteria[0].matches must be between 1 and 20, got 0"),
        (criterion(", scale = {}"), 'scale does not go with kind = "rematch", which takes attribu'),
        (criterion(", step = 1.0"), 'step does not go with kind = "rematch"'),
        (rule(', redraws = 1, attribute = ""'), "attribute"),
        (rule(""), "rules[0].redraws is missing; it is how often a rematch is refused before"),
        (rule(", redraws = 0"), "rules[0].redraws must be between 1 and 100, got 0"),
        (rule(", redraws = 1, every = 0.0"), "every must be between 1e-6 and 1e7 s, got 0.0"),
        (rule(", redraws = 1, every = nan"), "rules[0].every must be a finite number, got nan"),
        (rule(", redraws = 1, limit = 2.0"), 'limit does not go with kind = "rematch", which'),
        (rule(", redraws = 1, matches = 99"), "rules[0].matches must be between 1 and 20, got 99"),
        (
            "wait_max = 5.0\n" + rule(", redraws = 2, every = 2.5"),
            "every = 2.5 s and redraws = 2 take 5 s, and wait_max is 5 s; leave every out",
        ),
        (
            "wait_max = 1e-6\n" + rule(", redraws = 1"),
            "rules[0].redraws = 1 would divide wait_max = 1e-06 s into draws less than 1e-6 s",
        ),
        (
            'criteria = [{kind = "spread", attribute = "r", matches = 2}]',
            'criteria[0].matches goes only with kind = "rematch"',
        ),
        (
            'rules = [{kind = "spread", attribute = "r", limit = 1.0, redraws = 2}]',
            'rules[0].redraws goes only with kind = "rematch"',
        ),
        ("handicap = {max = 1.0}", "factor"),
        ("handicap = {factor = -1.0}", "handicap.factor must be between 1e-9 and 1e15, got -1.0"),
    ],
)
def test_mistake_gets_a_sentence(text: str, fragment: str) -> None:
    with pytest.raises(ConfigError) as caught:
        queue(text)
    sentence = str(caught.value)
    assert fragment in sentence
    assert sentence.startswith("queue")
