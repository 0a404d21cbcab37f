"""The command line itself: what it says of a command that there is not."""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from errno import EACCES, ENOSPC
from pathlib import Path

import pytest

import evenmatch
from evenmatch.cli.main import BAD_INPUT, COMMANDS, main
from evenmatch.cli.output import write_lines, write_text
from evenmatch.errors import ConfigError


def test_mistyped_command_is_told_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smulate", "duel.toml"]) == BAD_INPUT
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(
        "evenmatch: there is no command 'smulate'; did you mean simulate? The commands are serve"
    )
    assert main(["x" * 1_000]) == BAD_INPUT
    told = capsys.readouterr()
    assert "did you mean" not in told.err
    assert all(command in told.err for command in COMMANDS)
    assert len(told.err) < 300


@pytest.mark.parametrize("argument", ["smulate", "--help"])
def test_answer_that_needs_no_command_loads_none(argument: str) -> None:
    program = (
        "import sys\n"
        "from evenmatch.cli.main import main\n"
        f"main([{argument!r}])\n"
        "loaded = ('numpy', 'numba', 'scipy', 'evenmatch.model.queue', 'evenmatch.cli.simulate')\n"
        "print('loaded:', *[name for name in loaded if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_package_is_the_command_too() -> None:
    words = [sys.executable, "-I", "-m", "evenmatch", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{evenmatch.__version__}\n", "")


def test_option_that_there_is_not_names_the_one_that_is_meant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["advise", "--online", "500"]) == 2
    said = "evenmatch: there is no option --online; did you mean --players-online?\n"
    assert capsys.readouterr().err == said
    assert main(["serve", "--zzz"]) == 2
    assert "there is no option --zzz (see --help)" in capsys.readouterr().err


HEAVY = (
    "asyncio",
    "concurrent.futures",
    "evenmatch.config.gamelift",
    "evenmatch.journals",
    "evenmatch.lab.rule_set_scenario",
    "evenmatch.policies.greedy",
    "evenmatch.policies.shared.condition_matcher",
    "evenmatch.rules",
    "evenmatch.server",
    "importlib.resources",
    "llvmlite",
    "matplotlib",
    "multiprocessing",
    "numba",
    "numpy.ma",
    "rich",
    "scipy",
    "sqlite3",
    "ssl",
    "statistics",
    "subprocess",
)
"""What takes 5 to 300 ms to load, or loads what does, and what a few duels have no use for."""
DUEL = Path(__file__).parents[3] / "scenarios" / "duel.toml"


def loaded_by(*tokens: str) -> list[str]:
    """Return which heavy modules a command loads, called as the program itself calls it."""
    program = (
        "import sys\n"
        "from evenmatch.cli.main import main\n"
        f"sys.argv = ['evenmatch', *{tokens!r}]\n"
        "assert main() == 0\n"
        f"print('loaded:', *[name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].removeprefix("loaded:").split()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["solve"], "solve needs BATCH (see evenmatch solve --help)"),
        (["simulate", "x.toml", "--seed"], "--seed needs a value (see --help)"),
        (["simulate", "--policy", "a", "--policy", "b"], "--policy may be given only once"),
        (
            ["import", "gamelift", "x.json"],
            "FORMAT must be one of flexmatch, playfab, got 'gamelift'",
        ),
        (["import", "--wait-max", "soon"], "--wait-max must be a number, got 'soon'"),
        (["demo", "--json=maybe"], "--json takes no value, got 'maybe'"),
        (["--policy"], "name a command before --policy: evenmatch COMMAND --policy (see --help)"),
    ],
)
def test_unusable_words_are_refused_with_what_is_allowed(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == BAD_INPUT
    assert capsys.readouterr().err == f"evenmatch: {sentence}\n"


def test_json_is_json_where_the_terminal_knows_few_characters(tmp_path: Path) -> None:
    name = "caf\N{LATIN SMALL LETTER E WITH ACUTE} \N{GRINNING FACE}"
    done = subprocess.run(
        [sys.executable, "-m", "evenmatch.cli.main", "keys", "add", name, "--json",
         "--data", tmp_path],
        capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["name"] == name


@pytest.mark.parametrize(
    "words",
    [
        ["check", str(DUEL)],
        ["theory", "schlup", "k=2", "rate=10", "wait_max=5"],
        ["advise", "--target-wait", "9"],
    ],
)
def test_closed_streams_are_no_error_and_take_in_nothing(words: list[str]) -> None:
    command = [sys.executable, "-m", "evenmatch.cli.main", *words]
    for closed in (">&-", "2>&-", "<&- >&- 2>&-"):
        shell = f'"$@" {closed}'
        done = subprocess.run(
            ["sh", "-c", shell, "sh", *command], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), closed
        assert bool(done.stdout) == (closed == "2>&-")


def test_warning_without_a_stream_for_errors_stays_out_of_the_output(tmp_path: Path) -> None:
    recording = tmp_path / "t.csv"
    recording.write_text("at,rating,tier\n1,1500,gold\n2,1510,gold\nsoon,1,gold\n")
    command = [sys.executable, "-m", "evenmatch.cli.main", "simulate", str(DUEL), "--json",
               "--arrivals", str(recording), "--skip-bad"]  # fmt: skip
    done = subprocess.run(
        ["sh", "-c", '"$@" 2>&-', "sh", *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["matches"] == 1


def test_tables_are_printed_where_the_locale_knows_few_characters() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evenmatch.cli.main", "simulate", str(DUEL), "--runs", "2"],
        capture_output=True, text=True, check=False,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "\\u00b1" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", str(DUEL), "--sweep", "wait_max=10..20:5"],
        ["solve", str(DUEL.with_name("evening.json")), "--effort", "500", "--explain"],
        ["advise", "--match", "1v1", "--sides", "attack:0.45,defend:0.3,any:0.25",
         "--players-online", "400"],
        ["simulate", str(DUEL), "--runs", "2"],
    ],
    ids=["sweep", "solve", "advise", "runs"],
)  # fmt: skip
def test_narrow_terminal_cuts_no_figure(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenmatch.cli.output.WIDTH_OF_PIPES", 28)
    assert main(words) == 0
    assert "\N{HORIZONTAL ELLIPSIS}" not in capsys.readouterr().out


def test_name_of_a_file_that_is_no_text_is_printed_with_escapes(tmp_path: Path) -> None:
    config = tmp_path / os.fsdecode(b"half\xff.toml")
    config.write_text(DUEL.read_text())
    done = subprocess.run(
        [sys.executable, "-m", "evenmatch.cli.main", "check", config],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
    )
    assert done.returncode == 0, done.stderr
    assert "half\\udcff.toml is valid." in done.stdout
    page = tmp_path / "page.html"
    write_text(page, f"<title>{config.name}</title>")
    assert page.read_text() == "<title>half\\udcff.toml</title>"


@pytest.mark.parametrize(
    ("problem", "raised"),
    [(OSError(ENOSPC, "No space left on device"), ConfigError), (KeyboardInterrupt(), None)],
)
def test_lines_that_do_not_reach_their_end_leave_no_file(
    tmp_path: Path, problem: BaseException, raised: type[BaseException] | None
) -> None:
    def rows() -> Iterator[dict[str, int]]:
        yield {"row": 1}
        raise problem

    path, link = tmp_path / "matches.jsonl", tmp_path / "link.jsonl"
    with pytest.raises(raised or KeyboardInterrupt):
        write_lines(path, rows())
    assert not path.exists()
    link.symlink_to(tmp_path / "target.jsonl")
    with pytest.raises(raised or KeyboardInterrupt):
        write_lines(link, rows())
    assert link.is_symlink(), "/dev/stdout is a link, too"


def test_file_that_cannot_be_opened_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "matches.jsonl"
    path.write_text("before\n")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ConfigError, match="Permission denied"):
        write_lines(path, [{"row": 1}])
    monkeypatch.undo()
    assert path.read_text() == "before\n"


LONG = "x" * 300
REFUSED = "cannot be used: File name too long; name another path\n"


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", str(DUEL), "--matches", LONG),
        ("compare", str(DUEL), "--policy", "greedy", "--report", LONG),
        ("advise", "--match", "5v5", "--target-wait", "60", "--plot", LONG),
        ("serve", str(DUEL), "--data", LONG),
        ("replay", LONG),
        ("backup", LONG, "copy"),
        ("solve", LONG + ".json"),
        ("check", str(DUEL), "--against", LONG),
    ],
    ids=lambda words: words[0],
)
def test_path_that_the_system_refuses_is_named_in_a_sentence(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(words)) == BAD_INPUT
    said = capsys.readouterr().err
    assert said.startswith(f"evenmatch: {LONG}")
    assert said.endswith(REFUSED)


def test_folder_of_another_user_is_named_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = tmp_path / "theirs" / "matches.jsonl"

    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", refuse)
    assert main(["simulate", str(DUEL), "--matches", str(closed)]) == BAD_INPUT
    assert capsys.readouterr().err == (
        f"evenmatch: {closed} cannot be used: Permission denied; "
        "let the user who runs this command reach and use it, or name another path\n"
    )


def test_check_of_duels_loads_nothing_heavy() -> None:
    assert loaded_by("check", str(DUEL)) == []


def test_simulation_of_duels_loads_no_more_than_what_draws_its_table() -> None:
    # numpy itself loads its masked arrays for a quantile.
    assert loaded_by("simulate", str(DUEL)) == ["numpy.ma", "rich"]


def test_own_process_has_one_thread_of_linear_algebra_and_leaves_memory_at_its_end() -> None:
    program = (
        "import atexit, gc, os, sys\n"
        "from evenmatch.cli.main import main\n"
        "sys.argv = ['evenmatch', 'check', {!r}]\n"
        "assert main() == 0\n"
        "print(os.environ['OPENBLAS_NUM_THREADS'])\n"
        "atexit._run_exitfuncs()\n"
        "print(gc.get_freeze_count() > 10_000)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program.format(str(DUEL))],
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["1", "True"]


def test_a_call_from_python_leaves_collector_and_environment_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    before = gc.get_threshold()
    assert main(["--version"]) == 0
    assert gc.get_threshold() == before
    assert "OPENBLAS_NUM_THREADS" not in os.environ


@pytest.mark.parametrize(("command", "option"), [("compare", "--rules")])
def test_option_that_does_nothing_is_not_in_the_help(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert option not in said
    assert "later version" not in said
