"""The parts into which an operator may split a group that is too large for one node.

A ticket belongs to one part by its first player: by a hash of their id, which spreads evenly, or by
the band in which a number of theirs lies, which keeps those together who would meet anyway. Players
of two parts never meet, and nobody knows in one part who waits in another.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal
from zlib import crc32

import msgspec

PARTS_MAX = 64
TEXT = "hash:PARTS, bands:rating:PARTS or bands:ATTRIBUTE:CUT,CUT,..."
USUAL = (1500.0, 350.0)
"""Mean and deviation of the ratings by whose quantiles bands are cut where only their number is
given: what Elo's and Glicko's systems begin with."""
NAMED = "rating"
HASH = re.compile(r"hash:([0-9]{1,3})")
BANDS = re.compile(r"bands:([^:,]{1,100}):([-+0-9.,eE]{1,1000})")


class GroupSplit(msgspec.Struct, frozen=True):
    """How a group is split.

    Args:
        kind: By what.
        parts: How many there are.
        attribute: The number that is compared, for bands.
        cuts: Where bands begin but for the first one, ascending.
    """

    kind: Literal["hash", "bands"]
    parts: int
    attribute: str = ""
    cuts: tuple[float, ...] = ()

    def part_of(self, player: str, value: object) -> int:
        """Return the part of a ticket.

        Args:
            player: The id of its first player.
            value: The number that is compared; whoever has none belongs to the middle band.

        Example:
            >>> split = read_split("bands:rating:1200,1800")
            >>> [split.part_of("p", value) for value in (1199.0, 1200, 2000.0, None)]
            [0, 1, 2, 1]
        """
        if self.kind == "hash":
            return crc32(player.encode()) % self.parts
        if not isinstance(value, int | float) or isinstance(value, bool):
            return self.parts // 2
        return bisect_right(self.cuts, value)


def read_split(text: str) -> GroupSplit | None:
    """Return what a SPEC means, None if it is empty.

    Args:
        text: It; one whole number up to `PARTS_MAX` behind the attribute counts bands, and a larger
            one is the cut between two.

    Raises:
        ValueError: It is none; the message says what is allowed.

    Example:
        >>> read_split("hash:4")
        GroupSplit(kind='hash', parts=4, attribute='', cuts=())
        >>> read_split("bands:rating:4").cuts
        (1263.9, 1500.0, 1736.1)
    """
    if not text:
        return None
    if found := HASH.fullmatch(text):
        return GroupSplit("hash", _parts(int(found[1])))
    found = BANDS.fullmatch(text)
    if found is None:
        raise ValueError(f"must be {TEXT}, got {text[:80]!r}")
    if found[2].isdigit() and int(found[2]) <= PARTS_MAX:
        if found[1] != NAMED:
            raise ValueError(
                f"must name the cuts where the attribute is not {NAMED}, such as "
                f"bands:{found[1]}:10,20, got {text[:80]!r}"
            )
        # Loaded here, since every queue loads this module and hardly any is split.
        from statistics import NormalDist

        parts, usual = _parts(int(found[2])), NormalDist(*USUAL)
        cuts = tuple(round(usual.inv_cdf(at / parts), 1) for at in range(1, parts))
        return GroupSplit("bands", parts, NAMED, cuts)
    try:
        cuts = tuple(float(each) for each in found[2].split(","))
    except ValueError:
        raise ValueError(f"must have numbers as cuts, got {text[:80]!r}") from None
    if list(cuts) != sorted(set(cuts)) or not all(abs(cut) < 1e15 for cut in cuts):
        raise ValueError(f"must have ascending cuts, got {text[:80]!r}")
    return GroupSplit("bands", _parts(len(cuts) + 1), found[1], cuts)


def _parts(count: int) -> int:
    if not 2 <= count <= PARTS_MAX:
        raise ValueError(f"must have 2 to {PARTS_MAX} parts, got {count}")
    return count
