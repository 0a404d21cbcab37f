"""A real Chromium: where it is, how it starts, and what a page under test may not do.

`python -m tests.browser.browsing` prints the browser that the tests will use, or says how to get
one and ends with 1.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
NAME = "CHROMIUM"
DEBIAN = Path("/usr/bin/chromium")
SWITCHES = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
PATIENCE = 90_000
"""Milliseconds until what a page should show is missing: a busy machine is no fault of the page."""
HOW = (
    "THE DASHBOARD WAS NOT TESTED: no Chromium was found. Install one (apt install chromium, or "
    "playwright install chromium), or name one by CHROMIUM=/path/to/chromium"
)


def found() -> Path | None:
    """Return the browser: the one of $CHROMIUM, Debian's, or playwright's own."""
    if named := os.environ.get(NAME):
        return Path(named) if Path(named).exists() else None
    if DEBIAN.exists():
        return DEBIAN
    with sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
    return own if own.exists() else None


@contextmanager
def browsing() -> Iterator[Browser]:
    path = found()
    assert path is not None, HOW
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=SWITCHES)
        try:
            yield browser
        finally:
            browser.close()


def artefacts() -> Path:
    folder = Path(os.environ.get("ARTEFACTS") or ROOT / "build" / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Visit:
    """A page in a window of its own, and all that it asked for and complained of."""

    def __init__(self, browser: Browser, url: str, **settings: Any) -> None:
        settings.setdefault("viewport", {"width": 1280, "height": 900})
        self.url = url
        self.context = browser.new_context(**settings)
        self.context.set_default_timeout(PATIENCE)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.asked: list[Any] = []
        self.sizes: dict[str, int] = {}
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request))

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} ({message.location.get('url')})")

    def open(self, path: str = "/") -> "Visit":
        self.page.goto(self.url + path)
        self.page.wait_for_selector("#health[data-state=good]")
        return self

    @property
    def hosts(self) -> set[str]:
        return {urlsplit(request.url).netloc for request in self.asked}

    def shot(self, name: str, *, whole: bool = True) -> None:
        if whole:
            self.page.evaluate("scrollTo(0, 0)")
        # Whatever slides in has arrived by then.
        self.page.wait_for_timeout(250)
        self.page.screenshot(path=artefacts() / f"{name}.png", full_page=whole)

    def close(self) -> None:
        self.context.close()


if __name__ == "__main__":
    path = found()
    print(path or HOW, file=sys.stdout if path else sys.stderr)
    sys.exit(0 if path else 1)
