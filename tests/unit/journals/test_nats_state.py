"""Lists beside a log in NATS: whatever is damaged of one is told of as damage."""

import asyncio
from unittest.mock import AsyncMock, Mock

import pytest

from evenmatch.errors import JournalCorrupt
from evenmatch.journals.base import Segment
from evenmatch.journals.nats_link import NatsMessage
from evenmatch.journals.nats_state import Documents


@pytest.mark.parametrize(
    "stored",
    [
        b"0123abcd\n[]",
        b"0123abcd[]",
        b"0123abcd\x0b[]",
        b"0123abcd 00ff-list-segments5-x\n",
        b"0123abcd 00ff-list-segments5-%b\n" % (b"9" * 5_000),
        b"",
    ],
)
def test_list_with_a_damaged_line_is_damaged(stored: bytes) -> None:
    link = Mock(state="state", state_subject=lambda *parts: ".".join(parts))
    link.last_message = AsyncMock(return_value=NatsMessage(1, stored))
    with pytest.raises(JournalCorrupt, match="the list of segments of shard 'main'"):
        asyncio.run(Documents(link).get("main", "segments", list[Segment]))
