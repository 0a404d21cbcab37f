"""A source: what stands in its own package, and what a reproduction asks it for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from evenmatch.lab.report.plots import Plot
from papers.shared.findings import Effort, Part, RowsByID
from papers.statements.saying import PaperStatement


class Opening(msgspec.Struct, frozen=True):
    """The first page of a report: its pictures, by name, and what the authors may like to know.

    Args:
        confirmed: The picture of what holds.
        mended: Of what is wrong in print, or needs a condition.
        new: Of what the source does not have.
        words: A sentence or two.
    """

    confirmed: str
    mended: str
    new: str
    words: str


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A paper, a thread or a blog, whose statements are checked.

    Args:
        title: As its authors call it.
        sayings: Its statements.
        parts: Makes the parts, each of which can be repeated by itself; what takes long comes
            first, so that no processor is left with one at the end.
        opening: What the first page of the report shows.
        pictures: Draw what needs the figures of several parts; None where they are missing.
    """

    title: str
    sayings: Sequence[PaperStatement]
    parts: Callable[[Effort], list[Part]]
    opening: Opening
    pictures: Sequence[Callable[[RowsByID], Plot | None]] = ()
