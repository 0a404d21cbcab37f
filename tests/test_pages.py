"""What the pages promise is what the commands print; run by `make test-long`.

Programs and console blocks of README and how-tos are run by `tests/test_docs.py`, commands of
docs/papers.md but reproductions by `tests/test_papers.py`. Here commands that docs/status.md names
are run, and the figures beside them are looked for in what they print; and papers are done again,
whole. Each day a fifth of the commands and one paper have their turn; `make test-full` has all.
"""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from evenmatch.cli.main import main
from papers.reproduction import SOURCES, source_of
from tests.extent import in_turn

ROOT = Path(__file__).parent.parent
STATUS = ROOT / "docs" / "status.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "howto").glob("*.md"))]
RUN = ("simulate", "compare", "theory", "advise", "reproduce", "check")
"""Commands whose figures any machine gets."""
NUMBER = re.compile(r"(?<![\w.])-?(?:\d[\d,]*(?:\.\d+)?|\.\d+)")

pytestmark = pytest.mark.long


def status_rows() -> list[tuple[str, str]]:
    """Return each command of ours in the table, once, and the figures seen in all its rows."""
    found = dict[str, str]()
    for line in STATUS.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[1] in ("done", "partly"):
            commands = re.findall(r"`(evenmatch [^`]+)`", cells[2])
            # Whole papers are done once for all tests, below.
            for command in commands:
                if shlex.split(command)[1] in RUN and shlex.split(command)[3:] != ["--quick"]:
                    found[command] = f"{found.get(command, '')} {cells[3]}"
    return [*found.items()]


def printed(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a command prints on standard output; files it writes go to a folder."""
    words = [
        str(folder / word) if word.endswith(".html") else word for word in shlex.split(command)
    ]
    code, told = main(words[1:]), capsys.readouterr()
    assert code == 0, told.err
    return told.out


def numbers(text: str) -> list[tuple[float, int]]:
    """Return the numbers of a text, and how many digits each has behind the point.

    >>> numbers("1,211 matches, mean wait 1.87 s, .993")
    [(1211.0, 0), (1.87, 2), (0.993, 3)]
    """
    found = [match.replace(",", "") for match in NUMBER.findall(text.rstrip("."))]
    return [(float(each), len(each.partition(".")[2])) for each in found]


def missing(page: str, output: str) -> list[float]:
    """Return the page's figures that no figure of the output rounds to."""
    there = [value for value, _ in numbers(output)]
    return [
        value
        for value, digits in numbers(re.sub(r"`[^`]*`", "", page))
        if not any(abs(value - each) <= 0.5000001 * 10.0**-digits for each in there)
    ]


def test_a_wrong_figure_is_found() -> None:
    assert missing("mean wait .99 s against 363 s", "wait, mean 0.4967 s 0.9378 s") == [0.99, 363.0]
    assert missing("mean wait .94 s of 2,424", "tickets 2,424 wait 0.9378 s") == []


@pytest.mark.parametrize(("command", "page"), in_turn(status_rows(), 5))
def test_status_has_the_figures_that_its_command_prints(
    command: str,
    page: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    assert missing(page, printed(command, tmp_path, capsys)) == []


def named_in_pages() -> list[str]:
    """Return commands that README and how-tos name in a sentence, if what they read is there."""
    found = set()
    for page in PAGES:
        prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for command in re.findall(r"`(evenmatch [^`]+)`", prose):
            words = shlex.split(command)
            files = [word for word in words[2:] if word.endswith((".toml", ".json"))]
            if words[1] in (*RUN, "solve") and all((ROOT / file).is_file() for file in files):
                found.add(command)
    whole = {each for each in found if shlex.split(each)[1] == "reproduce" and "--only" not in each}
    return sorted(each for each in found - whole if len(each.split()) > 2 and each.isascii())


@pytest.mark.parametrize(
    "command", [each for each in named_in_pages() if "theory team_stability" not in each]
)
def test_command_of_a_sentence_works(
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    assert printed(command, tmp_path, capsys)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(each, marks=pytest.mark.xdist_group(each))
        for each in in_turn(sorted(SOURCES), len(SOURCES))
    ],
)
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the paper, its rows and its folder, done again with --quick."""
    paper = request.param
    out = tmp_path_factory.mktemp(paper)
    assert main(["reproduce", paper, "--quick", "--out", str(out)]) == 0
    return paper, json.loads((out / "rows.json").read_text(encoding="utf-8"))["rows"], out


def test_every_figure_belongs_to_a_statement_of_its_paper(done: Any) -> None:
    paper, rows, _ = done
    said = {(each.id, each.says) for each in source_of(paper).sayings}
    assert {(row["id"], row["statement"]) for row in rows} == said


def test_every_verdict_but_holds_says_why(done: Any) -> None:
    _, rows, _ = done
    for row in rows:
        assert row["verdict"] in (None, "holds") or row["why"], row["statement"]
        if row["verdict"] == "wrong in print":
            assert row["why"].startswith("Right: ")
        if row["verdict"] == "unresolved":
            assert "runs would" in row["why"]


def test_report_opens_with_a_picture_of_each_kind(done: Any) -> None:
    _, _, out = done
    page = (out / "report.html").read_text(encoding="utf-8")
    opening = page[page.index('<div class="opening">') : page.index("Statement by statement")]
    for kind in ("Confirmed", "Mended", "New"):
        assert f"<h2>{kind}</h2>" in opening
    assert opening.count("<svg") == 3
