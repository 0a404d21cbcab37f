"""The dashboard of a server that has keys."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.browsing import Visit
from tests.browser.conftest import CONFIG
from tests.integration.serving import Server, ticket

pytestmark = pytest.mark.browser


def new_key(data: Path, name: str, rights: str, queues: str = "") -> str:
    command = [sys.executable, "-m", "evenmatch.cli.main", "keys", "add", name]
    command += ["--data", str(data), "--rights", rights]
    command += ["--queues", queues] if queues else []
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split()[0]


class Keyed:
    """A server with a key for each kind of caller."""

    def __init__(self, folder: Path) -> None:
        data = folder / "data"
        data.mkdir()
        kinds = {"game": "tickets,matches", "reader": "read", "operator": "read,operate,tickets"}
        kinds["all"] = "read,operate,tickets,matches"
        self.keys = {name: new_key(data, name, rights) for name, rights in kinds.items()}
        self.keys["narrow"] = new_key(data, "narrow", "read", "slow")
        self.server = Server(folder, CONFIG)

    def create(self, player: str) -> str:
        headers = {"authorization": f"Bearer {self.keys['game']}"}
        body = ticket(player, rating=1500.0, queue="slow")
        return str(self.server.call("POST", "/v1/tickets", body, headers=headers).body["id"])


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    started = Keyed(tmp_path_factory.mktemp("keys"))
    yield started
    started.server.kill()


@pytest.fixture
def seen(browser: Browser, keyed: Keyed) -> Iterator[Visit]:
    visit = Visit(browser, keyed.server.url)
    visit.page.goto(keyed.server.url + "/?queue=slow")
    yield visit
    visit.close()


def use(page: Page, key: str) -> None:
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Use", exact=True).click()


def test_figures_are_shown_to_those_with_a_key(seen: Visit, keyed: Keyed) -> None:
    page = seen.page
    expect(page.locator("#health-text")).to_have_text("needs a key")
    expect(page.locator("#notices")).to_contain_text("to those who have a key")
    expect(page.locator("#charts")).to_be_hidden()
    seen.shot("needs-a-key")
    use(page, "em_wrong_key")
    expect(page.locator("#health-text")).to_have_text("key refused")
    expect(page.locator("#notices")).to_contain_text("The server refused this key: the key or tok")
    expect(page.locator("#outcome.bad")).to_contain_text("The key was refused: the key or token")
    expect(page.locator("#key-hint")).to_contain_text("The key was refused")
    expect(page.locator("#charts")).to_be_hidden()
    seen.shot("key-refused")
    use(page, keyed.keys["game"])
    expect(page.locator("#notices")).to_contain_text("read")
    expect(page.locator("#outcome.bad")).to_contain_text("refused")
    use(page, keyed.keys["reader"])
    expect(page.locator("#health-text")).to_have_text("live")
    expect(page.locator("#outcome:not(.bad)")).to_have_text("The key is in use.")
    expect(page.locator("#key-hint")).to_contain_text("A key is in use.")
    expect(page.locator("#charts")).to_be_visible()
    page.reload()
    expect(page.locator("#health-text")).to_have_text("live")


def test_reader_sees_why_a_ticket_waits_and_may_change_nothing(seen: Visit, keyed: Keyed) -> None:
    page, name = seen.page, keyed.create("ada")
    use(page, keyed.keys["reader"])
    expect(page.locator("#health-text")).to_have_text("live")
    page.get_by_label("Ticket", exact=True).fill(name)
    page.get_by_role("button", name="Follow").click()
    expect(page.locator("#ticket-state")).to_have_text("It waits for a match.")
    expect(page.locator("#explanation h3")).to_have_text("Why it waits")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Pause slow").click()
    page.locator("#confirm-yes").click()
    expect(page.locator("#outcome.bad")).to_contain_text("operate")
    assert page.evaluate("document.activeElement.id") == "key"


def test_operator_pauses_with_his_key(seen: Visit, keyed: Keyed) -> None:
    page = seen.page
    use(page, keyed.keys["operator"])
    page.get_by_role("button", name="Pause slow").click()
    page.locator("#confirm-yes").click()
    expect(page.locator("#notices")).to_contain_text("Queue slow is paused")
    page.get_by_role("button", name="Resume slow").click()
    page.locator("#confirm-yes").click()
    expect(page.locator("#notices")).to_be_empty()


def test_links_to_what_needs_a_key_are_followed_with_it(seen: Visit, keyed: Keyed) -> None:
    page, game = seen.page, {"authorization": f"Bearer {keyed.keys['game']}"}
    for name in ("lin", "liz"):
        body = ticket(name, rating=1500.0)
        made = keyed.server.call("POST", "/v1/tickets", body, headers=game).body
    match = keyed.server.call("GET", f"/v1/tickets/{made['id']}", headers=game).body["match"]
    use(page, keyed.keys["all"])
    expect(page.locator("#health-text")).to_have_text("live")
    page.get_by_role("link", name="metrics").click()
    expect(page.locator("body")).to_contain_text("# HELP evenmatch_")
    seen.shot("metrics-by-key", whole=False)
    for link in ("The match as JSON", "The feed from its record on"):
        page.goto(f"{keyed.server.url}/?queue=duel#match={match}")
        page.get_by_role("link", name=link).click()
        expect(page.locator("body")).to_contain_text(f'"match":"{match}"')
    page.go_back()
    expect(page.locator("#sheet-body")).to_contain_text("What it cost")


@pytest.mark.parametrize(
    "how", [{"button": "middle"}, {"modifiers": ["Control"]}, {"modifiers": ["Shift"]}]
)
def test_link_that_is_opened_beside_the_page_has_the_key_too(
    seen: Visit, keyed: Keyed, how: dict[str, Any]
) -> None:
    page = seen.page
    use(page, keyed.keys["all"])
    expect(page.locator("#health-text")).to_have_text("live")
    # A window that opens only when the answer is there is a popup, which a browser may block.
    asked: list[int] = []
    page.route(
        "**/metrics", lambda route: (asked.append(len(page.context.pages)), route.continue_())
    )
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="metrics").click(**how)
    expect(opened.value.locator("body")).to_contain_text("# HELP evenmatch_")
    assert asked == [2]
    opened.value.close()
    expect(page.locator("#health-text")).to_have_text("live")


def test_what_can_be_no_key_is_refused_at_the_form(seen: Visit, keyed: Keyed) -> None:
    page = seen.page
    use(page, keyed.keys["reader"])
    expect(page.locator("#health-text")).to_have_text("live")
    for wrong in ("em_abc\u2026def", "em_abc def", "k\u00e9y"):
        use(page, wrong)
        expect(page.locator("#outcome.bad")).to_contain_text("This is no key")
    assert page.evaluate("document.activeElement.id") == "key"
    expect(page.locator("#health-text")).to_have_text("live")
    use(page, keyed.keys["reader"])
    expect(page.locator("#outcome:not(.bad)")).to_have_text("The key is in use.")


def test_key_for_one_queue_opens_the_page_on_that_queue_at_once(seen: Visit, keyed: Keyed) -> None:
    page = seen.page
    use(page, keyed.keys["narrow"])
    expect(page.locator("#health-text")).to_have_text("live")
    # As with a bookmark: no queue in the address, and none refused on the way.
    seen.complaints.clear()
    seen.asked.clear()
    page.goto(keyed.server.url + "/")
    expect(page.locator("#health-text")).to_have_text("live")
    expect(page.get_by_label("Queue")).to_have_value("slow")
    assert page.locator("#queue option").all_inner_texts() == ["slow"]
    assert [each.url for each in seen.asked if "/events" in each.url] == [
        f"{keyed.server.url}/v1/dashboard/events"
    ]
    assert seen.complaints == []
