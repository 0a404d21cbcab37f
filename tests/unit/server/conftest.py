"""What several tests of the server need."""

import io

import pytest
import structlog

from evenmatch.server.runtime.logs import log


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Return what the log is told."""
    lines = io.StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(lines))
    return lines
