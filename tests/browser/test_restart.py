"""A page outlives its server."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.browsing import Visit
from tests.browser.conftest import CONFIG
from tests.integration.serving import Server, running, ticket

pytestmark = pytest.mark.browser


def test_page_says_that_its_server_is_gone_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path, CONFIG) as server:
        seen = Visit(browser, server.url).open("/?queue=slow")
        server.call("POST", "/v1/tickets", ticket("stays", queue="slow"))
        expect(seen.page.locator("#tile-waiting")).to_have_text("1")
        server.stop()
    expect(seen.page.locator("#health-text")).to_contain_text("does not answer")
    seen.shot("server-gone", whole=False)
    again = Server(tmp_path, CONFIG, port=server.port)
    try:
        expect(seen.page.locator("#health-text")).to_have_text("live")
        expect(seen.page.locator("#tile-waiting")).to_have_text("1")
    finally:
        seen.close()
        again.kill()
