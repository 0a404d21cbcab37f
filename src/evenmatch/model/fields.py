"""What fields of configurations may hold: types with bounds, each named once.

`checks` says in a sentence what is outside. Every number has bounds. They lie far beyond any game,
and they keep the arithmetic finite: a cost of inf or NaN could be computed, but the journal could
not give it back.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

PER_SECOND = {"unit": "per second"}
SECOND = {"unit": "s"}

LARGEST = 1e15
"""The largest number of points, milliseconds or anything else that is compared."""

Seconds = Annotated[float, Meta(ge=1e-6, le=1e9, extra=SECOND)]
Wait = Annotated[float, Meta(ge=0.0, le=1e9, extra=SECOND)]
Period = Annotated[float, Meta(ge=1.0, le=1e9, extra=SECOND)]
RoundTime = Annotated[float, Meta(ge=0.05, le=1e9, extra=SECOND)]
"""Between two rounds: where they follow each other faster than they can be decided upon, a server
that catches up with them does nothing else, for ever."""
Weight = Annotated[float, Meta(ge=0.0, le=1e12)]
WaitPrice = Annotated[float, Meta(ge=0.0, le=1e12, extra={"unit": "per player-second"})]
Rate = Annotated[float, Meta(ge=1e-9, le=LARGEST, extra=PER_SECOND)]
Limit = Annotated[float, Meta(ge=0.0, le=LARGEST)]
Quantity = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Gap = Annotated[float, Meta(ge=1e-9, le=LARGEST)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Factor = Annotated[float, Meta(ge=1e-6, le=1e6)]
Power = Annotated[float, Meta(ge=0.0, le=100.0)]
Step = Annotated[float, Meta(ge=0.0, le=LARGEST, extra={"least": 1e-9})]
"""0, or at least so much that multiples of it can be told apart."""
Milliseconds = Annotated[float, Meta(ge=1e-3, le=1e6, extra={"unit": "ms"})]

SLUG = "letters, digits, `_`, `-` or `.`"
Slug = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_.-]{1,64}\Z", description=f"1 to 64 {SLUG}")]
"""A name that can be written in URLs and in cells of CSV files."""
ATTRIBUTE_NAME_MAX = 100
AttributeName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=ATTRIBUTE_NAME_MAX,
        description=f"a name of 1 to {ATTRIBUTE_NAME_MAX} characters",
    ),
]
Duration = Annotated[
    Seconds, Meta(description='seconds, or a text such as "1m30s"', extra={"duration": True})
]
FileName = Annotated[
    str,
    Meta(pattern=r"\A(?!evenmatch:\Z).", description="the name of a file", extra={"file": True}),
]
"""Counts from the folder of the file that says it; `evenmatch:NAME` is one of ours."""
Fact = Quantity | str | tuple[str, ...]
TicketRate = Annotated[float, Meta(ge=1e-9, le=1e9, extra={"unit": "tickets per second"})]
TicketRateOrNone = Annotated[float, Meta(ge=0.0, le=1e9, extra={"unit": "tickets per second"})]
SHARES_SLACK = 1e-6
"""By how much shares may miss 1 in sum."""
INLINE = Meta(extra={"inline": True})
"""Of a struct whose keys stand among those of the table that holds it."""
