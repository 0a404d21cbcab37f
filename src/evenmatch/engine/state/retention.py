"""How long the engine keeps what has ended."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, takewhile
from typing import TypeVar

from evenmatch.engine.state.rosters import finish, lay_down
from evenmatch.engine.state.rows import KEEP_ENDED
from evenmatch.engine.state.state import Tables

KEEP_MATCHES = 86_400.0
"""Seconds for which matches are kept."""
KEEP_MATCHES_MOST = 100_000
"""Matches kept at the most."""
KEEP_ENDED_MOST = 500_000
"""Ended tickets kept at the most; beyond, the oldest are forgotten sooner."""
KEYS_MOST = 500_000
"""Idempotency keys kept at the most; beyond, new ones are refused."""
KEEP_PENALTIES = 86_400.0
"""Seconds after which a player's failed ready-checks are forgotten."""
ROSTERS_MOST = 50_000
"""Rosters kept at the most; beyond, the oldest matches can no longer be filled or called off."""
PENALTIES_MOST = 100_000
"""Players of a group whose failed ready-checks are kept at the most."""
FORGET_EVERY = 10.0
"""Seconds between two looks at what is too old."""

Row = TypeVar("Row")


def forget(tables: Tables) -> None:
    """Drop what is kept long enough.

    In batches: walking past the deleted front of a dict at every record would be quadratic.
    """
    is_over = (
        len(tables.ended) >= 2 * KEEP_ENDED_MOST or len(tables.matches) >= 2 * KEEP_MATCHES_MOST
    )
    now = tables.now
    if now < tables.forget_at and not is_over:
        return
    tables.forget_at = now + FORGET_EVERY
    before = now - KEEP_ENDED
    _drop(tables.ended, lambda end: end.ended_at < before, KEEP_ENDED_MOST)
    _drop(tables.keys, lambda key: key.at < before, KEYS_MOST)
    _drop(tables.failed, lambda failed: failed.at < before, KEEP_ENDED_MOST)
    _drop(tables.dissolved, lambda until: until <= now, KEEP_ENDED_MOST)
    before = now - KEEP_PENALTIES
    for penalties in tables.penalties.values():
        _drop(penalties, lambda penalty: penalty.at < before, PENALTIES_MOST)
    for match_id in _first(tables.rosters, lambda _: False, ROSTERS_MOST):
        lay_down(tables, match_id)
    before = now - KEEP_MATCHES
    for match_id in _first(
        tables.matches, lambda kept: kept.match.at < before and not kept.live, KEEP_MATCHES_MOST
    ):
        finish(tables, match_id)
        kept = tables.matches.pop(match_id)
        tables.rosters.pop(match_id, None)
        tables.forgotten[kept.match.queue] = kept.made


def _drop(rows: dict[str, Row], is_old: Callable[[Row], bool], most: int) -> None:
    for key in _first(rows, is_old, most):
        del rows[key]


def _first(rows: dict[str, Row], is_old: Callable[[Row], bool], most: int) -> list[str]:
    """Return the ids of the rows at the front that are old, or more than are kept."""
    old = [row_id for row_id, _ in takewhile(lambda item: is_old(item[1]), rows.items())]
    surplus = len(rows) - most
    return old if len(old) >= surplus else list(islice(rows, surplus))
