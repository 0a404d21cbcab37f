"""One short test of the dashboard runs with all others, the rest by `make test-browser`."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.browsing import HOW, PATIENCE, Visit, browsing, found
from tests.integration.serving import Server, running

expect.set_options(timeout=PATIENCE)
ALL = "EVENMATCH_BROWSER"
CONFIG = """
[[queue]]
name = "duel"
teams = 2
players = 1
wait_max = 300
policy = "window"
attributes = ["region"]
[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {kind = "linear", min = 0, max = 3000}
[[queue.rules]]
kind = "spread"
attribute = "rating"
limit = 100.0
expand = {rate = 1.0, max = 400.0}

[[queue]]
name = "slow"
teams = 2
players = 1
policy = "periodic:rounds_of=10000"
attributes = ["region"]
group = "slow"

[[queue]]
name = "ranked"
teams = 2
players = 1
policy = "greedy"
group = "ranked"
accept = {seconds = 60}

[[queue]]
name = "spare"
teams = 2
players = 1
policy = "greedy"
group = "spare"
[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {kind = "linear", min = 0, max = 3000}
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if "tests/browser" in item.path.as_posix()]
    if here and found() is None:
        for item in here:
            item.add_marker(pytest.mark.skip(reason=HOW))
    elif not os.environ.get(ALL):
        for item in here:
            if item.get_closest_marker("browser") is not None:
                item.add_marker(pytest.mark.skip(reason="runs by: make test-browser"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Run a browser for one module: its event loop would be in the way of other tests' loops."""
    with browsing() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("browser"), CONFIG, durable=False) as started:
        yield started


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Callable[..., Visit]]:
    """Open windows on the server, and check of each that it kept to the rules."""
    visits: list[Visit] = []

    def opened(**settings: Any) -> Visit:
        visits.append(Visit(browser, server.url, **settings))
        return visits[-1]

    yield opened
    for each in visits:
        each.close()
    for each in visits:
        assert each.hosts <= {server.url.removeprefix("http://")}
        assert each.complaints == []
