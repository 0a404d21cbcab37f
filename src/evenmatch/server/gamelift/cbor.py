"""CBOR (RFC 8949), as much of it as AWS's clients send and read, and nothing that needs guessing.

Whole numbers of up to 64 bits, floats, strings, arrays, maps with different texts as keys,
`true`, `false`, `null`, and instants (tag 1) as plain numbers. Lengths may be left open, as the
format allows. Everything else is refused: other tags and simple values, lengths beyond the end,
what nests deeper than `DEPTH_MAX`, and bytes after the end.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

DEPTH_MAX = 32
"""Arrays and maps in each other."""
OPEN = 31
"""What stands for a length that is left open."""
BREAK = 0xFF
INSTANT = 1
"""The tag of seconds since 1970."""
_SIZES = {24: 1, 25: 2, 26: 4, 27: 8}
_FLOATS = {25: ">e", 26: ">f", 27: ">d"}
_SIMPLE: dict[int, bool | None] = {20: False, 21: True, 22: None, 23: None}


class Instant(NamedTuple):
    """An instant to encode: seconds since 1970."""

    seconds: float


class InvalidCbor(ValueError):
    """The bytes are no value of the part of CBOR that is supported here."""


def decode(body: bytes) -> Any:
    """Return the value that bytes hold.

    Raises:
        InvalidCbor: They hold none, or more than one.

    >>> decode(bytes.fromhex("a1616183010203"))
    {'a': [1, 2, 3]}
    """
    reader = _Reader(body)
    value = reader.value(0)
    if reader.at != len(body):
        raise InvalidCbor(f"{len(body) - reader.at} bytes follow the value")
    return value


class _Reader:
    """A position in some bytes."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.at = 0

    def value(self, depth: int) -> Any:
        """Return the value at the position, and move behind it."""
        if depth > DEPTH_MAX:
            raise InvalidCbor(f"it nests deeper than {DEPTH_MAX}")
        kind, short = self._head()
        if kind == 0:
            return self._number(short)
        if kind == 1:
            return -1 - self._number(short)
        if kind in (2, 3):
            return self._string(kind, short)
        if kind == 4:
            return self._array(short, depth)
        if kind == 5:
            return self._map(short, depth)
        if kind == 6:
            return self._instant(short, depth)
        if short in _FLOATS:
            return struct.unpack(_FLOATS[short], self._take(_SIZES[short]))[0]
        if short in _SIMPLE:
            return _SIMPLE[short]
        raise InvalidCbor(f"simple value {short} is not one of false, true and null")

    def _head(self) -> tuple[int, int]:
        byte = self._take(1)[0]
        return byte >> 5, byte & 0x1F

    def _take(self, count: int) -> bytes:
        found = self._body[self.at : self.at + count]
        if len(found) < count:
            raise InvalidCbor("it ends in the middle of a value")
        self.at += count
        return found

    def _number(self, short: int) -> int:
        if short < 24:
            return short
        if short not in _SIZES:
            raise InvalidCbor(f"a number cannot have the length {short}")
        return int.from_bytes(self._take(_SIZES[short]), "big")

    def _count(self, short: int) -> int:
        """Return how many values follow, each of at least a byte."""
        count = self._number(short)
        if count > len(self._body) - self.at:
            raise InvalidCbor("it is longer than the body")
        return count

    def _is_over(self) -> bool:
        if self.at < len(self._body) and self._body[self.at] == BREAK:
            self.at += 1
            return True
        return False

    def _string(self, kind: int, short: int) -> str | bytes:
        parts: list[bytes] = []
        if short != OPEN:
            parts.append(self._take(self._count(short)))
        else:
            while not self._is_over():
                part_kind, part = self._head()
                if part_kind != kind or part == OPEN:
                    raise InvalidCbor("a string holds parts that are none")
                parts.append(self._take(self._count(part)))
        if kind == 2:
            return b"".join(parts)
        try:
            return "".join([part.decode() for part in parts])
        except UnicodeDecodeError as error:
            raise InvalidCbor(f"a text is not UTF-8: {error.reason}") from None

    def _array(self, short: int, depth: int) -> list[Any]:
        if short != OPEN:
            return [self.value(depth + 1) for _ in range(self._count(short))]
        found = []
        while not self._is_over():
            found.append(self.value(depth + 1))
        return found

    def _map(self, short: int, depth: int) -> dict[str, Any]:
        left = -1 if short == OPEN else self._count(short)
        found: dict[str, Any] = {}
        while left and not (left < 0 and self._is_over()):
            key = self.value(depth + 1)
            if not isinstance(key, str):
                raise InvalidCbor("the keys of a map must be texts")
            if key in found:
                raise InvalidCbor(f"a map has the key {key[:64]!r} twice")
            found[key] = self.value(depth + 1)
            left -= 1
        return found

    def _instant(self, short: int, depth: int) -> float:
        tag = self._number(short)
        value = self.value(depth + 1)
        if tag != INSTANT or isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidCbor(f"tag {tag} is not read here; only tag 1 of a number is")
        return value


def encode(value: Any) -> bytes:
    """Return a value as bytes.

    Args:
        value: None, a boolean, a number, a text, an `Instant`, or a list, tuple or dict of such;
            the keys of a dict are texts.

    Raises:
        TypeError: It is something else.

    >>> encode({"a": [1, 2, 3]}).hex()
    'a1616183010203'
    """
    out = bytearray()
    _write(out, value)
    return bytes(out)


def _write(out: bytearray, value: Any) -> None:
    if value is None:
        out.append(0xF6)
    elif isinstance(value, bool):
        out.append(0xF5 if value else 0xF4)
    elif isinstance(value, int):
        _write_head(out, 0 if value >= 0 else 1, value if value >= 0 else -1 - value)
    elif isinstance(value, float):
        out += b"\xfb" + struct.pack(">d", value)
    elif isinstance(value, str):
        text = value.encode()
        _write_head(out, 3, len(text))
        out += text
    elif isinstance(value, Instant):
        _write_head(out, 6, INSTANT)
        _write(out, value.seconds)
    elif isinstance(value, list | tuple):
        _write_head(out, 4, len(value))
        for each in value:
            _write(out, each)
    elif isinstance(value, dict):
        _write_head(out, 5, len(value))
        for key, each in value.items():
            _write(out, key)
            _write(out, each)
    else:
        raise TypeError(f"CBOR is written of plain values only, got {type(value).__name__}")


def _write_head(out: bytearray, kind: int, number: int) -> None:
    """Write a kind and its number in as few bytes as it takes."""
    if number < 24:
        out.append(kind << 5 | number)
        return
    for short, size in _SIZES.items():
        if number < 1 << 8 * size:
            out.append(kind << 5 | short)
            out += number.to_bytes(size, "big")
            return
    raise TypeError(f"a whole number has at most 64 bits, got {number}")
