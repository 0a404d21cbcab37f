"""What a message in NATS says before the records: versions of two formats must tell them apart."""

from typing import Any

import msgspec
import pytest

from evenmatch.engine.records import FORMAT
from evenmatch.errors import JournalCorrupt
from evenmatch.journals.nats import FIRST_FORMAT, NatsHead, decode_head, encode_head
from evenmatch.journals.nats_link import NatsMessage


def batch(**more: Any) -> NatsHead:
    head = NatsHead("batch", "w", "one", 1, 5.0, 1, last_seq=2, first_seq=1)
    return msgspec.structs.replace(head, **more)


def test_messages_name_their_format_so_that_older_versions_refuse_them() -> None:
    assert FIRST_FORMAT < FORMAT
    written = encode_head(batch(format=FORMAT), "s0", b"")
    assert b'"format":%d' % FORMAT in written
    assert decode_head(NatsMessage(1, written), "s0").format == FORMAT


def test_message_without_a_format_has_the_first_one() -> None:
    written = encode_head(batch(), "s0", b"")
    assert b"format" not in written
    assert decode_head(NatsMessage(1, written), "s0").format == FIRST_FORMAT


def test_newer_formats_are_refused() -> None:
    written = encode_head(batch(format=FORMAT + 1), "s0", b"")
    with pytest.raises(JournalCorrupt, match=f"has format {FORMAT + 1}"):
        decode_head(NatsMessage(1, written), "s0")
