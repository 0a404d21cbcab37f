"""A page outlives its server, and says so when it hears nothing."""

import os
import signal
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
    expect(seen.page.locator("#verdict")).to_contain_text("what it shows is old")
    seen.shot("server-gone", whole=False)
    again = Server(tmp_path, CONFIG, port=server.port)
    try:
        expect(seen.page.locator("#health-text")).to_have_text("live")
        expect(seen.page.locator("#tile-waiting")).to_have_text("1")
    finally:
        seen.close()
        again.kill()


def test_page_says_that_it_hears_nothing_and_asks_again(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path, CONFIG, durable=False) as server:
        seen = Visit(browser, server.url)
        seen.page.clock.install()
        page = seen.open("/?queue=slow").page
        health, verdict = page.locator("#health-text"), page.locator("#verdict")
        expect(verdict).to_have_text("No alarms.")
        os.kill(server.process.pid, signal.SIGSTOP)
        try:
            expect(health).to_contain_text("no news for")
            expect(page.locator("#health")).to_have_attribute("data-state", "bad")
            expect(verdict).to_contain_text("what it shows is old")
            page.get_by_text("1 hour").click()
            expect(verdict).to_contain_text("what it shows is old")
            seen.shot("server-silent", whole=False)
            seen.asked.clear()
            page.clock.fast_forward(20_000)
            with page.expect_request(lambda asked: "/v1/dashboard/events" in asked.url):
                page.clock.fast_forward(2_000)
            expect(health).to_contain_text("no news for")
        finally:
            os.kill(server.process.pid, signal.SIGCONT)
        expect(health).to_have_text("live")
        expect(verdict).to_contain_text("stalls")
        seen.close()


def test_page_is_calm_again_when_a_silent_server_speaks(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path, CONFIG, durable=False) as server:
        seen = Visit(browser, server.url)
        page = seen.open("/?queue=slow").page
        health, verdict = page.locator("#health-text"), page.locator("#verdict")
        seen.asked.clear()
        os.kill(server.process.pid, signal.SIGSTOP)
        try:
            expect(health).to_contain_text("no news for")
        finally:
            os.kill(server.process.pid, signal.SIGCONT)
        expect(health).to_have_text("live")
        expect(verdict).not_to_contain_text("what it shows is old")
        assert not [each for each in seen.asked if "/v1/dashboard/events" in each.url]
        seen.close()
