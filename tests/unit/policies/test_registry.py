"""SPEC: what each good one makes, and the sentence that each bad one gets."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Queue
from evenmatch.policies.adaptive_brackets import AdaptiveBrackets
from evenmatch.policies.base import FunctionPolicy, Matcher, Memory, policy
from evenmatch.policies.closest_random import ClosestRandom
from evenmatch.policies.greedy import Greedy
from evenmatch.policies.periodic import Periodic
from evenmatch.policies.registry import POLICIES, parse_policy, policy_class
from evenmatch.policies.virtual_rating import VirtualRating
from evenmatch.policies.weighted import Weighted
from evenmatch.policies.window import Window

ALLOWED = f"allowed: {', '.join(POLICIES)}"


class Mine:
    """A user's policy class."""

    def __init__(self, theta: float = 1.0, name: str = "x", eager: bool = False) -> None:
        self.parameters = (theta, name, eager)

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        return Greedy().matcher(queue, seed=seed, memory=memory)


class Picky:
    """A policy class that raises what it likes."""

    def __init__(self, theta: float) -> None:
        if theta >= 9:
            raise ConfigError(f"theta must be less than 9, got {theta}")
        raise KeyError("theta")


@policy(every=2.0)
def fast(pool: object, now: float, size: int = 2) -> list[list[str]]:
    return []


def my_game(monkeypatch: pytest.MonkeyPatch, **contents: object) -> None:
    """Put a module `my_game.rules` with these contents where imports find it."""
    module = ModuleType("my_game.rules")
    for name, value in contents.items():
        setattr(module, name, value)
    monkeypatch.setitem(sys.modules, "my_game", ModuleType("my_game"))
    monkeypatch.setitem(sys.modules, "my_game.rules", module)


@pytest.mark.parametrize(
    ("spec", "made"),
    [
        ("greedy", Greedy()),
        ("greedy:", Greedy()),
        (" greedy ", Greedy()),
        ("periodic", Periodic()),
        ("periodic:rounds_of=8", Periodic(rounds_of=8)),
        ("periodic:adaptive=true", Periodic(adaptive=True)),
        ("periodic:adaptive=false, sort = ping", Periodic(sort="ping")),
        (
            "closest_random:every=60,limit=300,candidates=20",
            ClosestRandom(every=60.0, limit=300.0, candidates=20),
        ),
        (
            "adaptive_brackets:width=400,split_at=8,merge_below=4,frame=30",
            AdaptiveBrackets(width=400.0, split_at=8, merge_below=4, frame=30.0),
        ),
        (
            "weighted:sigma=100,wait=0.1,recency=3,floor=0.2,every=5",
            Weighted(sigma=100.0, wait=0.1, recency=3, floor=0.2, every=5.0),
        ),
        (
            "virtual_rating:rate=1,limit=100,toward=median",
            VirtualRating(rate=1.0, limit=100.0, toward="median"),
        ),
        ("window", Window()),
        ("window:limit=150,rate=2.5,limit_max=500", Window(limit=150.0, rate=2.5, limit_max=500.0)),
        (
            "window:limit=150,steps=60-250+120-350",
            Window(limit=150.0, steps=((60.0, 250.0), (120.0, 350.0))),
        ),
        (
            "window:limit=1e2,unit=relative,pick=nearest",
            Window(limit=100.0, unit="relative", pick="nearest"),
        ),
        ("window:accept=either,every=2.5", Window(accept="either", every=2.5)),
    ],
)
def test_spec_names_a_policy_and_its_parameters(spec: str, made: object) -> None:
    assert parse_policy(spec) == made


def test_every_name_alone_is_a_spec() -> None:
    for name in POLICIES:
        assert parse_policy(name) == policy_class(name)()


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            "gredy",
            "no policy is called 'gredy'; did you mean greedy? " + ALLOWED,
        ),
        ("", "no policy is called ''; " + ALLOWED),
        (
            "window:limits=3",
            (
                "policy window has no parameter 'limits'; did you mean limit? allowed: "
                "attribute, limit, rate, steps, limit_max, unit, last, accept, pick, every"
            ),
        ),
        ("greedy:theta=3", "policy greedy has no parameter 'theta'; allowed: evaluations_max"),
        (
            "window:limit",
            (
                "policy SPEC 'window:limit': write name:key=value,key=value with each key once, "
                "got 'limit'"
            ),
        ),
        (
            "window:=3",
            "policy SPEC 'window:=3': write name:key=value,key=value with each key once, got '=3'",
        ),
        (
            "window:limit=1,limit=2",
            (
                "policy SPEC 'window:limit=1,limit=2': write name:key=value,key=value with each "
                "key once, got 'limit=2'"
            ),
        ),
        ("window:limit=far", "window:limit must be a number between 0 and 1e15, got 'far'"),
        ("window:limit=inf", "window:limit must be a finite number, got 'inf'"),
        ("window:rate=nan", "window:rate must be a finite number, got 'nan'"),
        (
            "periodic:rounds_of=2.5",
            "periodic:rounds_of must be a whole number between 1 and 10,000, got '2.5'",
        ),
        ("periodic:adaptive=maybe", "periodic:adaptive must be true or false, got 'maybe'"),
        (
            "window:steps=60",
            "window:steps must be pairs such as 60-250+120-350, got '60'",
        ),
        (
            "window:steps=60-a",
            "window:steps must be pairs such as 60-250+120-350, got '60-a'",
        ),
        (
            "no_such_game.rules",
            (
                "cannot import no_such_game for policy no_such_game.rules: No module named "
                "'no_such_game'; is it on PYTHONPATH?"
            ),
        ),
        (
            "my_game.rules.slow",
            "module my_game.rules has no policy slow",
        ),
        (
            "my_game.rules.Mine:tau=1",
            (
                "policy my_game.rules.Mine does not take tau: Mine.__init__() got an unexpected "
                "keyword argument 'tau'"
            ),
        ),
        (
            "my_game.rules.ready:theta=1",
            "policy my_game.rules.ready is an instance and takes no parameters",
        ),
        (
            "my_game.rules.plain",
            (
                "my_game.rules.plain is not a policy: it has no method matcher; put @policy() on a "
                "function"
            ),
        ),
    ],
)
def test_spec_that_cannot_be_used_gets_a_sentence(
    spec: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    my_game(monkeypatch, Mine=Mine, ready=Mine(), plain=len)

    with pytest.raises(ConfigError) as caught:
        parse_policy(spec)

    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("def f(:\n", "SyntaxError: invalid syntax ({file}, line 1)"),
        ("x = 1\ny = z\n", "NameError: name 'z' is not defined ({file}, line 2)"),
        ("\n\n1 / 0\n", "ZeroDivisionError: division by zero ({file}, line 3)"),
        (
            "import no_such_thing\n",
            "ModuleNotFoundError: No module named 'no_such_thing' ({file}, line 1)",
        ),
        ("raise ValueError('a\\nb')\n", "ValueError: a b ({file}, line 1)"),
        (
            "from evenmatch import policy\n@policy(every=0)\ndef fast(pool, now):\n    pass\n",
            "ConfigError: every must be between 0.05 and 1e9 s, got 0 ({file}, line 2)",
        ),
    ],
    ids=["syntax", "name", "zero", "import", "lines", "every"],
)
def test_module_that_fails_is_told_with_file_and_line(
    source: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "my_broken_game.py"
    file.write_text(source)
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ConfigError) as caught:
        parse_policy("my_broken_game.fast")

    assert str(caught.value) == (
        "cannot import my_broken_game for policy my_broken_game.fast: " + sentence.format(file=file)
    )


def test_class_that_refuses_its_parameters_is_told_with_file_and_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    my_game(monkeypatch, Mine=Picky)

    with pytest.raises(
        ConfigError, match=r"Mine cannot be made: KeyError: 'theta' \(.*test_registry.py, line"
    ):
        parse_policy("my_game.rules.Mine:theta=1")
    with pytest.raises(ConfigError, match="theta must be less than 9"):
        parse_policy("my_game.rules.Mine:theta=9")


def test_spec_of_any_length_is_not_taken() -> None:
    with pytest.raises(ConfigError, match="a policy SPEC may have 1000 characters, got 1001"):
        parse_policy("g" * 1001)


@pytest.mark.parametrize("spec", [".fast", "..fast", "a..fast", "fast."])
def test_dots_in_odd_places_are_a_name_that_cannot_be_imported(spec: str) -> None:
    with pytest.raises(ConfigError, match="cannot import"):
        parse_policy(spec)


def test_dotted_name_of_a_class_is_made_with_guessed_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    my_game(monkeypatch, Mine=Mine)

    plain = parse_policy("my_game.rules.Mine")
    made = parse_policy("my_game.rules.Mine:theta=2.5,name=fox,eager=true")
    whole = parse_policy("my_game.rules.Mine:theta=2,eager=false")

    assert isinstance(plain, Mine)
    assert isinstance(made, Mine)
    assert isinstance(whole, Mine)
    assert plain.parameters == (1.0, "x", False)
    assert made.parameters == (2.5, "fox", True)
    assert whole.parameters == (2, "x", False)


def test_dotted_name_of_a_function_takes_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    my_game(monkeypatch, fast=fast)

    assert parse_policy("my_game.rules.fast") is fast
    made = parse_policy("my_game.rules.fast:size=3")
    assert isinstance(made, FunctionPolicy)
    assert made.parameters == {"size": 3}


def test_dotted_name_of_an_instance_is_that_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = Mine()
    my_game(monkeypatch, ready=ready)

    assert parse_policy("my_game.rules.ready") is ready
