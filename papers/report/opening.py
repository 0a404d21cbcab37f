"""The first page of a report: what was confirmed, what was mended, what is new."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from papers.statements.saying import Statement

LINES_MAX = 6
"""Statements of a kind that the first page names; all are below."""


class Chosen(msgspec.Struct, frozen=True):
    """The pictures of a paper's first page, by name, and what its authors may like to know.

    Args:
        confirmed: Of what holds.
        mended: Of what is wrong in print, or needs a condition.
        new: Of what the paper doesn't have.
        words: A sentence or two.
    """

    confirmed: str
    mended: str
    new: str
    words: str


CHOSEN = {
    "schlup": Chosen(
        "figure2-a10", "bots", "policies",
        "The algorithms do what the paper says of them, and the formulas choose their parameters "
        "well. The slips in (3), (4) and (8), and in (7) and Table 1 for several criteria, are "
        "mended by one term each.",
    ),
    "gamedev": Chosen(
        "lonely", "chance", "trade",
        "Every suggestion of the thread was built and meets the same players. The examples come "
        "out as told, and it is lonely at the top.",
    ),
    "galactron": Chosen(
        "pool", "roots", "streams-200",
        "The rules, the descents and the rounds were built as the blog tells them, on players "
        "drawn from our own model of the world.",
    ),
    "wu": Chosen(
        "cost_by_alpha", "threshold_by_q", "cost_by_threshold",
        "The theorem holds, checked against the best of all stationary policies; it needs skills "
        "of both kinds, and room for one player more than a match has.",
    ),
    "xu": Chosen(
        "figure9", "figure5-printed", "reserve",
        "All mean waits of the paper hold, each by an exact chain and by simulation. The three "
        "variances are wrong in print, and so is the minimum that follows from one of them; the "
        "order of the curves stays as printed.",
    ),
}  # fmt: skip


class Block(msgspec.Struct, frozen=True):
    """A third of the first page.

    Args:
        title: One word or two.
        text: A sentence.
        picture: Name of its plot.
        lines: A statement, and what there is to say of it.
        more: How many others there are.
    """

    title: str
    text: str
    picture: str
    lines: tuple[tuple[str, str], ...]
    more: int


def blocks(paper: str, statements: Sequence[Statement]) -> list[Block]:
    """Return the first page of a paper; what has no statement is left out."""
    chosen = CHOSEN[paper]
    held = [each for each in statements if each.verdict == "holds"]
    mended = [each for each in statements if each.verdict == "wrong in print"]
    conditions = [each for each in statements if each.verdict == "holds if"]
    new = [each for each in statements if each.verdict is None and each.printed is None]
    others = ("differs", "unresolved", "undefined in the source")
    asked = [each for each in statements if each.verdict in others]
    found = [
        _block("Confirmed", f"{_count(held)} as printed.", chosen.confirmed, held),
        _block(
            "Mended",
            f"{_count(mended)} wrong in print, {len(conditions)} in need of a condition.",
            chosen.mended,
            [*mended, *conditions],
        ),
        _block("New", f"{_count(new)} beside the paper's.", chosen.new, new),
        _block(
            "To ask the authors", f"{_count(asked)}: different here, open, or undefined.", "", asked
        ),
    ]
    return [each for each in found if each.lines]


def _count(statements: Sequence[Statement]) -> str:
    return f"{len(statements)} {'statement' if len(statements) == 1 else 'statements'}"


def _block(title: str, text: str, picture: str, statements: Sequence[Statement]) -> Block:
    # Those that have something to say first; the sort keeps the paper's order otherwise.
    first = sorted(statements, key=lambda each: not each.why)[:LINES_MAX]
    lines = tuple((each.statement, _first_words(each.why)) for each in first)
    return Block(title, text, picture, lines, len(statements) - len(first))


def _first_words(why: str) -> str:
    """Return the first two sentences.

    >>> _first_words("Right: 2 / x. The print has 1. In 3 of 4 settings.")
    'Right: 2 / x. The print has 1.'
    """
    parts = why.split(". ")
    return why if len(parts) <= 2 else ". ".join(parts[:2]) + "."
