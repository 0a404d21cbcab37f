"""Every row of docs/papers.md is built by something that is there, or says why not."""

import json
import re
import shlex
from pathlib import Path

import pytest

from evenmatch.cli.main import main
from evenmatch.policies.registry import parse_policy
from papers.reproduction import SOURCES, parts_of
from papers.shared.findings import Effort

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "papers.md"
QUICK = Effort(quick=True, seed=0)


def rows() -> list[tuple[str, str]]:
    """Return what each row is about, and what builds it."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [(about, built) for about, _, built in cells if not about.startswith("what the ")]


def spans(start: str) -> list[str]:
    """Return all code in the last cells that starts so, each once."""
    found = [code for _, built in rows() for code in re.findall(r"`([^`]+)`", built)]
    return sorted({code for code in found if code.startswith(start)})


def test_every_row_is_built_or_says_why_not() -> None:
    assert len(rows()) > 70
    for about, built in rows():
        is_built = re.match(r"`(evenmatch |tests/|make test ARGS=tests/)", built)
        assert is_built or built.startswith("Not built: "), about


@pytest.mark.parametrize("paper", SOURCES)
def test_every_id_of_a_reproduction_has_a_row(paper: str) -> None:
    ids = {each for part in parts_of(paper, QUICK) for each in part.ids}
    named = set(re.findall(rf"--only ({paper}\.[\w.]+)", PAGE.read_text(encoding="utf-8")))
    assert named == ids


@pytest.mark.parametrize("node", [*spans("tests/"), *spans("make test ARGS=tests/")])
def test_named_test_exists(node: str) -> None:
    file, _, name = node.removeprefix("make test ARGS=").partition("::")
    assert (ROOT / file).is_file()
    assert not name or re.search(rf"^def {name}\(", (ROOT / file).read_text("utf-8"), re.M)


@pytest.mark.parametrize("command", spans("evenmatch reproduce"))
def test_named_reproduction_is_there(command: str) -> None:
    _, _, paper, *options = shlex.split(command)
    assert options[::2] == ["--only"] * (len(options) // 2)
    assert parts_of(paper, QUICK, options[1::2])


@pytest.mark.parametrize(
    "command",
    [
        *spans("evenmatch theory"),
        *spans("evenmatch simulate"),
        *(pytest.param(each, marks=pytest.mark.long) for each in spans("evenmatch compare")),
    ],
)
def test_named_command_works(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    told = main(shlex.split(command)[1:]), capsys.readouterr()
    assert told[0] == 0, told[1].err
    assert told[1].out


@pytest.mark.parametrize("command", spans("evenmatch compare"))
def test_named_comparison_works_on_a_few_arrivals(
    command: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("evenmatch.cli.compare.floor_of", lambda _: None)
    _, _, file, *options = shlex.split(command)
    few, count = re.subn(r"(?m)^count = .*$", "count = 200", Path(file).read_text("utf-8"))
    assert count == 1
    (tmp_path / "few.toml").write_text(few, encoding="utf-8")
    told = main(["compare", str(tmp_path / "few.toml"), *options]), capsys.readouterr()
    assert told[0] == 0, told[1].err
    found = [run["policy"] for run in json.loads(told[1].out)["runs"]]
    assert found == [word for at, word in enumerate(options) if options[at - 1] == "--policy"]


@pytest.mark.parametrize("spec", spans("multi_queue:"))
def test_named_policy_can_be_made(spec: str) -> None:
    assert parse_policy(spec)
