"""Studies of these tests run in the process of the test, but for those that ask for several."""

import os

import pytest


@pytest.fixture(autouse=True)
def one_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    # A process that starts imports for a second what it then needs for a hundredth.
    if "several_processes" not in request.keywords:
        monkeypatch.setattr(os, "cpu_count", lambda: 1)
