"""What libraries say becomes lines of the server's log, and no flood."""

import logging
from typing import Any

import pytest
import structlog

from evenmatch.server.runtime import logs
from evenmatch.server.runtime.logs import KINDS_MOST, Relay


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return the lines of the server's log, as they come."""
    capture = structlog.testing.LogCapture()
    log = structlog.wrap_logger(None, processors=[capture])
    monkeypatch.setattr(logs, "log", log)
    found: list[dict[str, Any]] = capture.entries
    return found


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def library(clock: Clock) -> logging.Logger:
    made = logging.Logger("uvicorn.error")
    made.addHandler(Relay(clock))
    return made


def test_same_complaint_is_told_once_a_minute_with_its_count(
    library: logging.Logger, clock: Clock, lines: list[dict[str, Any]]
) -> None:
    for second in range(100):
        clock.now = float(second)
        library.warning("Invalid HTTP request received.")

    assert [(each["text"], each["times"]) for each in lines] == [
        ("Invalid HTTP request received.", 1),
        ("Invalid HTTP request received.", 60),
    ]
    assert {each["log_level"] for each in lines} == {"warning"}


def test_other_complaints_and_other_errors_are_told_beside_it(
    library: logging.Logger, lines: list[dict[str, Any]]
) -> None:
    for error in (ValueError("a"), KeyError("b"), ValueError("c")):
        library.error("no answer", exc_info=error)
    library.warning("slow by %d s", 3)
    library.info("not worth a line")

    assert [(each["text"], type(each["exc_info"])) for each in lines] == [
        ("no answer", ValueError),
        ("no answer", KeyError),
        ("slow by 3 s", type(None)),
    ]


def test_kinds_of_complaints_are_forgotten_beyond_a_limit(
    library: logging.Logger, lines: list[dict[str, Any]]
) -> None:
    for number in (*range(KINDS_MOST + 1), 0, KINDS_MOST):
        library.warning(f"complaint {number}")

    assert len(lines) == KINDS_MOST + 2
