"""Extreme numbers get a figure or one sentence from every formula, never a warning or a trace."""

import json
import warnings
from collections.abc import Iterator

import pytest

from evenmatch.cli.theory import FORMULAS, compute
from evenmatch.errors import ConfigError

EXTREMES = ("0", "5e-324", "1e-300", "1e-12", "1e12", "1e300", "1.7e308", "nan", "inf", "-1")
GRAPH = {"rates": {"x": 0.5, "y": 0.25, "z": 0.4}, "edges": [["x", "y"], ["x", "x"], ["z", "z"]]}
ROLES = {"slots": {"tank": 2, "dps": 3}, "role_sets": [["dps"], ["tank", "dps"]], "rates": [1, 2]}
IN_FILES = {"graph": GRAPH, "graph_laws": GRAPH, "flexibility": GRAPH, "role_stability": ROLES}
LINES = {
    "schlup": "k=2 rate=10 wait_max=5 rounds_of=2 brackets=3 criteria=2",
    "k_player": "k=4 rate=1 patience_rate=.01",
    "two_v_two": "solo_rate=.5 party_rate=.25",
    "sides": "a=.3 b=.3 flexible=.4",
    "zones": "junior=.5 expert=.3 flexible=.2",
    "flexibility": "share=.1",
    "zone_cuts": "shares=1,2,3,4 rate=1",
    "team_stability": "k=5 rates=.4,.1,.05,.025,.03",
    "wu": "n=2 q=.3 alpha=1 rate=1 wait_price=1",
    "skill_mdp": "types=0,.5,1 probs=.2,.3,.5 n=1 alpha=2 cap=5",
    "recommend_window": "alpha=16 rate=1 density=1 wait_price=1",
}


def changed(line: str) -> Iterator[list[str]]:
    """Yield the settings with one number replaced by an extreme one."""
    settings = [each.split("=") for each in line.split()]
    for place, (_, text) in enumerate(settings):
        numbers = text.split(",")
        for at in range(len(numbers)):
            for extreme in EXTREMES:
                other = ",".join([*numbers[:at], extreme, *numbers[at + 1 :]])
                texts = [value for _, value in settings]
                texts[place] = other
                yield [f"{key}={value}" for (key, _), value in zip(settings, texts, strict=True)]


def changed_rates(model: dict) -> Iterator[dict]:
    rates = model["rates"]
    for place in rates if isinstance(rates, dict) else range(len(rates)):
        for extreme in EXTREMES:
            other = rates.copy()
            other[place] = float(extreme)
            yield {**model, "rates": other}


def answer(name: str, settings: list[str]) -> bool:
    """Return whether there was an answer; fail if there is neither one nor a short sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            figures = compute(name, settings)
        except ConfigError as error:
            refusal = str(error)
        else:
            json.dumps(figures, allow_nan=False)
            return True
    assert "\n" not in refusal
    assert len(refusal) < 300
    return False


def test_every_formula_is_tried() -> None:
    # The floor takes seconds for each answer.
    assert {*LINES, *IN_FILES, "floor"} == FORMULAS.keys()


@pytest.mark.parametrize("name", sorted(LINES.keys() - IN_FILES.keys()))
def test_extreme_settings_give_a_figure_or_a_sentence(name: str) -> None:
    assert answer(name, LINES[name].split())
    answers = [answer(name, settings) for settings in changed(LINES[name])]
    assert not all(answers)


@pytest.mark.parametrize("name", IN_FILES)
def test_extreme_rates_of_a_file_give_a_figure_or_a_sentence(name: str, tmp_path) -> None:
    path = tmp_path / "F.json"
    path.write_text(json.dumps(IN_FILES[name]))
    beside = LINES.get(name, "")
    assert answer(name, [f"file={path}", *beside.split()])
    for settings in changed(beside):
        answer(name, [f"file={path}", *settings])
    answers = []
    for model in changed_rates(IN_FILES[name]):
        path.write_text(json.dumps(model))
        answers.append(answer(name, [f"file={path}", *beside.split()]))
    assert not all(answers)


@pytest.mark.parametrize(("rate", "wait_max"), [("5e-324", "1"), ("1e-300", "1"), ("1e300", "1e9")])
def test_floor_refuses_what_leaves_the_range(rate: str, wait_max: str) -> None:
    assert not answer("floor", [f"rate={rate}", "weight=1", f"wait_max={wait_max}"])
