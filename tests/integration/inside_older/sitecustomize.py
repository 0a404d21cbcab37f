"""Runs first in a server that stands for the version before: it knows no format but 3.

It cannot decode what format 4 brought, and refuses journals, snapshots and messages of that number
with this version's own checks.
"""

from functools import reduce
from operator import or_
from types import UnionType
from typing import get_args

from evenmatch.model import events, inputs

FORMAT = 3


def _without(union: UnionType, newer: type) -> UnionType:
    return reduce(or_, [each for each in get_args(union) if each is not newer])


inputs.Input = _without(inputs.Input, inputs.Register)  # type: ignore[misc]
events.Event = _without(events.Event, events.Registered)  # type: ignore[misc]
from evenmatch.engine import records  # noqa: E402  # its decoder is made here

records.FORMAT = FORMAT
