"""The dashboard opens, shows what happens, and loads nothing from elsewhere."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.browsing import Visit
from tests.integration.serving import Server, ticket


def test_page_shows_live_figures(visit: Callable[..., Visit], server: Server) -> None:
    seen = visit().open("/?queue=slow")
    page = seen.page
    expect(page.locator("#tile-waiting")).to_have_text("0")
    for number in range(3):
        server.call("POST", "/v1/tickets", ticket(f"smoke{number}", queue="slow"))
    expect(page.locator("#tile-waiting")).to_have_text("3")
    expect(page.locator("#crowd-summary")).to_have_text("3 tickets wait. They name no region.")
    assert page.locator("canvas").count() >= 5
