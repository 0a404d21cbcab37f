"""The command line itself: what it says of a command that there is not."""

import subprocess
import sys

import pytest

from evenmatch.cli.main import BAD_INPUT, COMMANDS, main


def test_mistyped_command_is_told_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smulate", "duel.toml"]) == BAD_INPUT
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(
        "evenmatch: there is no command 'smulate'; did you mean simulate? There is serve, cluster"
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


def test_option_that_there_is_not_names_the_one_that_is_meant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["advise", "--online", "500"]) == 2
    said = "evenmatch: there is no option --online; did you mean --players-online?\n"
    assert capsys.readouterr().err == said
    assert main(["serve", "--zzz"]) == 2
    assert "there is no option --zzz (see --help)" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "option"), [("compare", "--rules")])
def test_option_that_does_nothing_is_not_in_the_help(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert option not in said
    assert "later version" not in said
