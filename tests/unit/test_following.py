"""How soon a client that lost its server asks for news again."""

from types import SimpleNamespace
from typing import Any

import pytest

from evenmatch.client.streams import RESUME_MOST, _pause

READY_CHECK = 10.0
"""Seconds that games give players to answer."""
ANSWER = 4.0
"""Seconds that a player takes to answer."""


@pytest.mark.parametrize("drawn", [0.0, 0.5, 1.0])
def test_whoever_comes_back_after_a_long_outage_has_time_to_answer(drawn: float) -> None:
    exchange: Any = SimpleNamespace(chance=lambda: drawn)
    pauses = [_pause(exchange, tried, 0.0) for tried in range(1, 30)]
    assert max(pauses) <= RESUME_MOST
    assert max(pauses) + ANSWER < READY_CHECK
    assert pauses == sorted(pauses)
