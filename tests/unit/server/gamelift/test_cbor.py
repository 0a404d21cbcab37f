"""CBOR: the examples of its standard, botocore as a witness, and bytes that are none."""

import math
import random
from typing import Any

import pytest
from botocore.parsers import RpcV2CBORParser
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.server.gamelift.cbor import DEPTH_MAX, Instant, InvalidCbor, decode, encode
from tests.extent import extent

EXAMPLES: list[tuple[str, Any]] = [
    ("00", 0), ("17", 23), ("1818", 24), ("1903e8", 1000), ("1a000f4240", 1_000_000),
    ("1bffffffffffffffff", 2**64 - 1), ("20", -1), ("3863", -100), ("3bffffffffffffffff", -(2**64)),
    ("f90000", 0.0), ("f93c00", 1.0), ("f97bff", 65504.0), ("fa47c35000", 100000.0),
    ("fb3ff199999999999a", 1.1), ("f97c00", math.inf), ("f4", False), ("f5", True), ("f6", None),
    ("f7", None), ("c11a514b67b0", 1363896240), ("c1fb41d452d9ec200000", 1363896240.5),
    ("4401020304", b"\x01\x02\x03\x04"), ("60", ""), ("6449455446", "IETF"), ("62c3bc", "\u00fc"),
    ("80", []), ("8301820203820405", [1, [2, 3], [4, 5]]), ("a0", {}),
    ("a26161016162820203", {"a": 1, "b": [2, 3]}), ("7f657374726561646d696e67ff", "streaming"),
    ("5f42010243030405ff", b"\x01\x02\x03\x04\x05"), ("9fff", []), ("9f018202039f0405ffff",
    [1, [2, 3], [4, 5]]), ("bf61610161629f0203ffff", {"a": 1, "b": [2, 3]}),
]  # fmt: skip
"""From appendix A of RFC 8949, as far as they are read here."""
WRONG = [
    ("", "ends"), ("18", "ends"), ("ff", "simple"), ("1c", "length"), ("c001", "tag"),
    ("c101ff", "follow"), ("c16161", "tag"), ("c1f5", "tag"), ("c249010000000000000000", "tag"),
    ("f8ff", "simple"), ("f0", "simple"), ("9b7fffffffffffffff", "longer"), ("bbffffffffffffffff",
    "longer"), ("7b7fffffffffffffff", "longer"), ("6161" * 2, "follow"), ("61ff", "UTF-8"),
    ("a10102", "keys"), ("a2616101616102", "twice"), ("7f4101ff", "parts"),
    ("7f7f6161ffff", "parts"), ("9f01", "ends"), ("bf6161", "ends"), ("bf6161ff", "simple"),
    ("81" * 100 + "01", "deeper"), ("9f" * 100_000, "deeper"),
]  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(("body", "value"), EXAMPLES, ids=[each for each, _ in EXAMPLES])
def test_examples_of_the_standard_are_read(body: str, value: Any) -> None:
    assert decode(bytes.fromhex(body)) == value


@pytest.mark.parametrize(("body", "said"), WRONG, ids=[each[:20] for each, _ in WRONG])
def test_what_is_not_read_is_refused_in_words(body: str, said: str) -> None:
    with pytest.raises(InvalidCbor, match=said):
        decode(bytes.fromhex(body))


@given(VALUES)
def test_what_is_written_is_read_again(value: Any) -> None:
    assert decode(encode(value)) == value


@given(st.dictionaries(st.text(), VALUES.filter(lambda value: value is not None)))
def test_botocore_reads_what_is_written(value: dict[str, Any]) -> None:
    parser = RpcV2CBORParser()
    stream = parser.get_peekable_stream_from_bytes(encode(value))
    assert parser.parse_data_item(stream) == _without_none(value)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return [_without_none(each) for each in value] if isinstance(value, list) else value


def test_nothing_else_can_be_written() -> None:
    for value in (object(), {1, 2}, 2**64, -(2**64) - 1):
        with pytest.raises(TypeError):
            encode(value)
    assert encode(Instant(0)) == bytes.fromhex("c100")


def test_depth_has_a_limit_and_what_is_just_below_is_read() -> None:
    deep = bytes.fromhex("81" * DEPTH_MAX + "01")
    assert str(decode(deep)).count("[") == DEPTH_MAX
    with pytest.raises(InvalidCbor):
        decode(b"\x81" + deep)


def test_random_bytes_are_read_or_refused_and_nothing_else() -> None:
    chance = random.Random(7)
    read = 0
    for _ in range(extent(2_000, 50_000)):
        body = chance.randbytes(chance.randrange(1, 40))
        if chance.random() < 0.5:
            whole = bytearray(encode({"TicketId": "t", "Players": [{"PlayerId": "p", "N": 1.5}]}))
            for _ in range(chance.randrange(1, 4)):
                whole[chance.randrange(len(whole))] = chance.randrange(256)
            body = bytes(whole)
        try:
            decode(body)
            read += 1
        except InvalidCbor:
            continue
    assert read
