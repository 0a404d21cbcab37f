import inspect
import json
import re
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from evenmatch.cli.theory import FORMULAS, compute, formula_of, theory
from evenmatch.cli.theory_text import words_of
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
    assert any(line.startswith("greedy_cost              0.686667     ") for line in lines)


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
        ("schlup", ["k"], "settings must be key=value, got k"),
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
def test_a_name_alone_lists_all_its_keys_and_an_example_that_works(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenmatch.theory.floor.GRIDS", (4,))
    theory(name)
    told = capsys.readouterr().out
    for key in inspect.signature(formula_of(name)).parameters:
        assert re.search(rf"^  {key} +[A-Z`].+", told, re.MULTILINE), key
    assert "_MAX" not in told
    command = re.search(rf"^  evenmatch theory {name} (.+)$", told, re.MULTILINE)[1]
    if command == "file=F.json":
        (tmp_path / "F.json").write_text(told.splitlines()[-1])
        command = f"file={tmp_path / 'F.json'}"
    theory(name, *command.split())
    words = words_of(name)
    assert [key for key in compute(name, command.split()) if key not in {*words, "note"}] == []


def test_a_name_alone_says_what_must_and_what_may_be_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    theory("zones")
    assert "may be given" not in capsys.readouterr().out
    theory("two_v_two")
    told = capsys.readouterr().out
    must, may = told.split("Keys that may be given:")
    assert "solo_rate" in must
    assert "fifo`, `lifo`" in may
    assert "By default fifo." in may


def test_errors_show_what_a_file_holds(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'rates, edges must .* such as \{"rates": \{"a": 0.4'):
        compute("graph", [])
    path = tmp_path / "g.json"
    path.write_text('{"classes": {}}')
    with pytest.raises(ConfigError, match=r'allowed are rates, edges, exact, such as \{"rates"'):
        compute("graph", [f"file={path}"])


@pytest.mark.parametrize("as_json", [True, False])
def test_long_work_is_told_on_standard_error(
    as_json: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    @contextmanager
    def shown(what: str, total: int):
        told.append((what, total))
        print(what, file=sys.stderr)
        yield

    monkeypatch.setattr("evenmatch.cli.theory.progress", shown)
    theory("zones", "junior=1", "expert=1", "flexible=1", as_json=as_json)
    assert told == [("theory zones", 1)]
    out = capsys.readouterr()
    assert out.err == "theory zones\n"
    assert "theory zones" not in out.out


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_is_named_in_the_help(name: str) -> None:
    assert f"`{name}`" in (theory.__doc__ or "")


def test_formula_without_its_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_scipy(name: str) -> None:
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy")

    monkeypatch.setattr("evenmatch.cli.theory.import_module", without_scipy)
    with pytest.raises(NotSupported, match="theory k_player needs more packages: pip install"):
        compute("k_player", ["k=2", "rate=1"])
