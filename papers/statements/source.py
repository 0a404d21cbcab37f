"""The interface between a paper's package and its reproduction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from evenmatch.lab.report.plots import Plot
from papers.shared.findings import Effort, Part, RowsByID
from papers.statements.saying import PaperStatement


class Opening(msgspec.Struct, frozen=True):
    """The first page of a report: its pictures, by name, and a note for the authors.

    Args:
        confirmed: The picture for statements that hold.
        mended: The picture for those that are wrong in print, or need a condition.
        new: The picture for results that the source does not have.
        words: One or two sentences.
    """

    confirmed: str
    mended: str
    new: str
    words: str


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A paper, a thread or a blog, whose statements are checked.

    Args:
        title: The source's title.
        sayings: Its statements.
        parts: Makes the parts, each of which can be repeated by itself; long ones come first, so
            that no processor is left with one at the end.
        opening: The first page of the report.
        pictures: Draws plots from the figures of several parts; None if these are missing.
    """

    title: str
    sayings: Sequence[PaperStatement]
    parts: Callable[[Effort], list[Part]]
    opening: Opening
    pictures: Sequence[Callable[[RowsByID], Plot | None]] = ()
