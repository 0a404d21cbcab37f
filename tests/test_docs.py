"""The documentation is complete, true and up to date."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

import evenmatch
from evenmatch import errors, testing
from evenmatch.config import tables
from evenmatch.criteria.registry import KINDS
from evenmatch.model.checks import keys_of
from evenmatch.policies.registry import POLICIES, policy_class
from evenmatch.server.http.operation import WEBSOCKET
from evenmatch.server.http.table import OPERATIONS, openapi_document
from tests.extent import extent, in_turn, more

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
GENERATED = "<!-- Written by `make docs`; do not edit. -->"
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
CHOSEN = re.compile(r"^\$ [^|\n]*\| grep -E '([^'\n]*)'\n((?:(?!\$ ).*\n)*)", re.M)
"""A command that ends by choosing lines by a pattern, and what it prints."""
TWO_SENTENCES = re.compile(r"[a-z0-9`)][.!?] +[A-Z`\[]")
ABBREVIATIONS = ("e.g. ", "i.e. ")


def reference(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


def script(name: str, *pages: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / name), "--check", *pages],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=300,
    )
    assert done.returncode == 0, f"\n{done.stdout}{done.stderr}"


# Up to date


def test_generated_pages_are_up_to_date() -> None:
    script("build.py")


@pytest.mark.long
def test_programs_and_commands_in_the_pages_print_what_the_pages_say() -> None:
    if shutil.which("curl") is None or shutil.which("bash") is None:
        pytest.skip("the pages use bash and curl")
    run = [each for each in PAGES if "```console\n" in each.read_text(encoding="utf-8")]
    script("results.py", *map(str, in_turn(run, 5)))


def programs() -> Iterator[Any]:
    """Yield the programs of pages and what each prints; the long tier alone runs the dearest."""
    shown = runpy.run_path(str(ROOT / "docs" / "results.py"))["PROGRAM"]
    for page in PAGES:
        for number, (program, printed) in enumerate(shown.findall(page.read_text("utf-8"))):
            is_dear = (page.name, number) == ("README.md", 0)
            marks = [pytest.mark.long] if is_dear else []
            yield pytest.param(program, printed, id=f"{page_id(page)}-{number}", marks=marks)


@pytest.mark.parametrize(("program", "printed"), list(programs()))
def test_program_prints_what_its_page_says(
    program: str,
    printed: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    exec(compile(program, "program", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip() == printed.strip()


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_that_choose_lines_show_no_others(page: Path) -> None:
    # A page merged from two branches had the command of one and the lines of the other.
    for block in CONSOLE.findall(page.read_text(encoding="utf-8")):
        for pattern, output in CHOSEN.findall(block):
            for line in output.splitlines():
                assert re.search(pattern, line), f"not chosen by {pattern}: {line}"


@pytest.mark.parametrize("page", ["README.md", "docs/howto/write-a-policy.md"])
def test_page_shows_the_example_policy_as_it_is(page: str) -> None:
    source = (ROOT / "examples" / "my_policies.py").read_text(encoding="utf-8")
    assert f"```py\n{source}```" in (ROOT / page).read_text(encoding="utf-8")


# Complete


def commands() -> Iterator[str]:
    from evenmatch.cli.main import COMMANDS

    return iter(COMMANDS)


@pytest.mark.parametrize("command", sorted(commands()))
def test_command_is_documented(command: str) -> None:
    assert f"\n## evenmatch {command}\n" in reference("cli.md")


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_policy_and_its_parameters_are_documented(name: str) -> None:
    text = reference("policies.md").partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert "**When to use it.**" in text
    for field in msgspec.structs.fields(policy_class(name)):
        assert f"| `{field.name}` |" in text, field.name


def shape_types() -> list[type[msgspec.Struct]]:
    """Return the types of all tables of a file: that of the whole, and of what its fields hold."""
    found: dict[str, type[msgspec.Struct]] = {}
    left: list[Any] = [tables.ScenarioTable]
    while left:
        kind = left.pop()
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
            left += get_args(kind)
        elif kind.__name__ not in found:
            found[kind.__name__] = kind
            left += [field.type for field in keys_of(kind).values()]
    assert len(found) > 25
    return [each for each in found.values() if each.__struct_fields__]


@pytest.mark.parametrize("shape", shape_types(), ids=lambda shape: shape.__name__)
def test_every_setting_is_documented(shape: type[msgspec.Struct]) -> None:
    text = reference("configuration.md")
    parts = [set(re.findall(r"^\| `(\w+)` \|", part, re.M)) for part in text.split("\n## ")]
    keys = set(keys_of(shape))
    # The page has one part for the types among which a key chooses.
    assert any(keys <= part for part in parts)


def error_types() -> list[type]:
    found = [each for each in vars(errors).values() if isinstance(each, type)]
    return [each for each in found if issubclass(each, errors.MatchmakingError)]


@pytest.mark.parametrize("kind", error_types(), ids=lambda kind: kind.__name__)
def test_error_is_documented_and_drawn(kind: type) -> None:
    assert f"| `{kind.__name__}` |" in reference("errors.md")
    assert kind.__name__ in (errors.__doc__ or "")


def test_every_code_over_http_is_documented() -> None:
    from evenmatch.server.http.responses import STATUS

    documented = set(re.findall(r"^\| `([a-z_]+)` \| \d{3} \|", reference("errors.md"), re.M))
    assert set(STATUS) <= documented
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "src" / "evenmatch" / "server").rglob("*.py"))
    )
    assert set(re.findall(r'Problem\(\s*"([a-z_]+)"', source)) <= documented


NEVER_FOR_PLAYERS = {"config_error", "no_backfill", "stale_roster", "stale_version"}
"""Codes of requests that only backends and operators may make."""


def test_page_for_game_clients_says_what_to_do_about_every_code_that_they_meet() -> None:
    page = (ROOT / "docs" / "howto" / "write-a-game-client.md").read_text(encoding="utf-8")
    table = page.partition("## When a request is refused")[2].partition("## ")[0]
    rows = [
        re.findall(r"`([a-z_]+)`", row.split("|")[1]) for row in table.splitlines() if "|" in row
    ]
    codes = set(re.findall(r"^\| `([a-z_]+)` \| \d{3} \|", reference("errors.md"), re.M))
    assert codes >= NEVER_FOR_PLAYERS
    assert sorted(chain.from_iterable(rows[1:])) == sorted(codes - NEVER_FOR_PLAYERS)


def test_every_route_is_documented() -> None:
    text = reference("http.md")
    for row in OPERATIONS:
        if row.method != WEBSOCKET and row.path not in ("/", "/openapi.json"):
            assert f"\n### {row.method} {row.path}\n" in text


def test_every_refusal_is_documented() -> None:
    text = reference("http.md")
    head, paths = text.partition("\n## ")[0], openapi_document()["paths"]
    for row in OPERATIONS:
        section = text.partition(f"\n### {row.method} {row.path}\n")[2].partition("\n### ")[0]
        if section:
            for status in paths[row.path][row.method.lower()]["responses"]:
                assert f" {status}" in head + section, f"{row.method} {row.path}: {status}"


PUBLIC = [
    *(f"evenmatch.{name}" for name in evenmatch.__all__),
    *(f"evenmatch.testing.{name}" for name in testing.__all__),
    "evenmatch.client.client.AsyncClient",
    "evenmatch.client.client.Client",
]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_is_documented(name: str) -> None:
    assert f"\n## {name}\n" in reference("python.md")


def test_index_names_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / target).resolve() for target in LINK.findall(prose(index))}
    pages = {page for page in PAGES if page.is_relative_to(index.parent) and page != index}
    assert pages <= linked


# Sound


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_resolve(page: Path) -> None:
    for target in LINK.findall(prose(page)):
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path), target


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_markdown_has_one_sentence_a_line(page: Path) -> None:
    for line in prose(page).splitlines():
        if line.startswith("|") or any(each in line for each in ABBREVIATIONS):
            continue
        plain = re.sub(r"`[^`]*`", "code", line)
        assert not TWO_SENTENCES.search(plain), line


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_items_of_a_generated_list_have_lines_of_their_own(page: Path) -> None:
    assert not re.findall(r"[.:;] - `\w+`: ", page.read_text(encoding="utf-8"))


def test_batch_of_the_how_to_has_a_scale_that_holds_its_skills() -> None:
    page = (ROOT / "docs" / "howto" / "solve-a-batch.md").read_text(encoding="utf-8")
    batch = json.loads(page.partition("```json\n")[2].partition("```")[0])
    (criterion,) = batch["criteria"]
    for ticket in batch["tickets"]:
        for player in ticket["players"]:
            scale, skill = criterion["scale"], player["attributes"][criterion["attribute"]]
            assert scale["min"] <= skill <= scale["max"]


@pytest.mark.parametrize("page", ["README.md", "docs/howto/small-game-without-backend.md"])
def test_page_knows_how_long_the_script_for_godot_is(page: str) -> None:
    count = len((ROOT / "examples" / "godot" / "matchmaking.gd").read_text().splitlines())
    assert f" {count} lines of GDScript" in (ROOT / page).read_text()


def test_tutorial_shows_the_file_that_the_bots_come_with() -> None:
    page = (ROOT / "docs" / "tutorial-hero.md").read_text(encoding="utf-8")
    config = (ROOT / "examples" / "hero" / "hero.toml").read_text(encoding="utf-8")
    assert f"<!-- file: hero.toml -->\n\n```toml\n{config}```\n" in page


PLAYERS = extent(150, 400)
GAMES = {
    "Duel": ("teams = 2", PLAYERS),
    "Ranked 5v5": ("teams = 2\nplayers = 5\nroles = {tank = 1, damage = 2, support = 2}", PLAYERS),
    "Battle royale": ("teams = 20", PLAYERS),
    "Co-op": ("teams = 1\nplayers = 4", PLAYERS),
    "Party game": ("teams = 6", PLAYERS),
}
"""A small queue for each game of the table, and how many players come."""
GAME = """
[[queue]]
wait_max = 300.0
{format}
[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {{kind = "linear", min = 0.0, max = 1.0}}
[arrivals]
rate = 2.0
count = {count}
[attributes]
rating = {{distribution = "uniform"}}
"""


def rows_of(page: str, table: int = 0) -> list[list[str]]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(r"^\|[-|: ]+\|\n((?:\|.*\n)+)", text, re.M)[table]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in found.splitlines()]


def advised() -> list[tuple[str, str]]:
    return [
        (row[0], name)
        for row in rows_of("which-policy.md")
        for name in re.findall(r"`(\w+)`", row[2] + row[4])
    ]


def test_every_game_has_a_row() -> None:
    assert [row[0] for row in rows_of("which-policy.md")] == list(GAMES)


@more
@pytest.mark.parametrize(("game", "policy"), advised())
def test_policy_advised_for_a_game_makes_its_matches(game: str, policy: str) -> None:
    from evenmatch.config.files import parse_scenario

    form, count = GAMES[game]
    run = evenmatch.simulate(parse_scenario(GAME.format(format=form, count=count)), policy=policy)
    assert run.summary["players"] == count
    assert run.summary["matches"] * run.queues[0].format.k * 2 >= count


def test_page_for_those_who_come_from_elsewhere_names_what_there_is() -> None:
    text = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
    kinds = set(re.findall(r'kind = "(\w+)"', text))
    assert len(kinds) > 5
    settings = set(keys_of(tables.QueueTable))
    known = {*settings, "weight", "steps", "rate", "max", "expand", "pairs"}
    assert kinds <= set(KINDS)
    for row in chain.from_iterable(rows_of("coming-from.md", table) for table in range(4)):
        words = re.findall(r"`(\w+)`", row[1])
        assert set(words) <= known, row


def test_site_has_the_pages_of_the_index_and_no_link_that_leaves_them() -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import build_site
    finally:
        sys.path.pop(0)
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    menu = build_site.menu(index)
    assert [title for part in menu for title in part] == ["How-to", "Reference", "Explanation"]
    assert "howto/backfill.md" in menu[0]["How-to"]
    page = ROOT / "docs" / "howto" / "small-game-without-backend.md"
    text = build_site.inside(page, page.read_text(encoding="utf-8"))
    assert "../../examples" not in text
    assert "`examples/godot/server.toml`" in text


def test_site_notices_what_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import build_site
    finally:
        sys.path.pop(0)
    page = tmp_path / "a.html"
    for text, expected in [
        ('<script src="https://unpkg.com/x"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', True),
        ('<img src="hero.png"><a href="https://example.org">elsewhere</a>', False),
    ]:
        page.write_text(text)
        assert build_site.loads_from_elsewhere(page) is expected
