import json

import pytest

from evenmatch.cli.theory import FORMULAS, compute, theory
from evenmatch.errors import ConfigError, NotSupported


def test_json_is_one_object_with_the_promised_names(capsys: pytest.CaptureFixture[str]) -> None:
    theory("schlup", "k=2", "rate=10", "wait_max=5", "rounds_of=4", "brackets=6", as_json=True)
    found = json.loads(capsys.readouterr().out)
    names = "greedy_cost periodic_cost n_opt multi_queue_cost r_opt bot_probability"
    assert {*names.split(), "bot_probability_bracket", "error_bound"} <= found.keys()
    assert round(found["periodic_cost"], 4) == 0.3622
    assert round(found["multi_queue_cost"], 4) == 0.2311


def test_people_get_a_line_per_figure(capsys: pytest.CaptureFixture[str]) -> None:
    theory("schlup", "k=2", "rate=10", "wait_max=5", "criteria=2")
    lines = capsys.readouterr().out.splitlines()
    assert "n_opt                    undefined    tickets per round that cost least" in lines
    assert "greedy_cost              0.686667" in lines


def test_printed_gives_the_papers_own() -> None:
    setting = ["k=2", "rate=1", "wait_max=5"]
    assert compute("schlup", [*setting, "printed=true"])["bot_probability"] > 0.033
    assert compute("schlup", [*setting, "printed=false"]) == compute("schlup", setting)


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("nobody", [], "theory must be one of schlup, floor"),
        ("schlup", ["k=2"], "rate, wait_max must be given"),
        ("schlup", ["k=2", "speed=3"], "key speed is unknown, allowed are k, rate, wait_max"),
        ("schlup", ["k"], "settings are key=value, got k"),
        ("schlup", ["k=2", "k=3"], "key k is given twice"),
        ("schlup", ["k=2.5"], "k must be a whole number, got '2.5'"),
        ("schlup", ["rate=fast"], "rate must be a number, got 'fast'"),
        ("schlup", ["rate=inf"], "rate must be a number, got 'inf'"),
        ("schlup", ["printed=yes"], "printed must be true or false, got 'yes'"),
        ("schlup", ["k=2", "rate=1e-320", "wait_max=1e-320"], r"rate \* wait_max must be from"),
        ("wu", ["n=2", "q=0.3", "alpha=1", "rate=5e-324"], "beyond the range of numbers"),
        ("schlup", ["k=2", "rate=-1", "wait_max=5"], "rate must be > 0"),
        ("floor", ["rate=0", "weight=2", "wait_max=5"], "rate must be > 0"),
    ],
)
def test_bad_input_is_one_sentence(name: str, settings: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as raised:
        compute(name, settings)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_can_be_loaded(name: str) -> None:
    with pytest.raises(ConfigError, match="must be given"):
        compute(name, [])


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_is_named_in_the_help(name: str) -> None:
    assert f"`{name}`" in (theory.__doc__ or "")


def test_formula_without_its_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_scipy(name: str) -> None:
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy")

    monkeypatch.setattr("evenmatch.cli.theory.import_module", without_scipy)
    with pytest.raises(NotSupported, match="theory k_player needs more packages: pip install"):
        compute("k_player", ["k=2", "rate=1"])
