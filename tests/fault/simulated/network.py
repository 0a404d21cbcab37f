"""The network between clients, nodes and the store: it delays, loses, repeats and reorders.

A message is a call at the other end. Whether it gets there is decided when it is sent, and again
when it arrives: a link that was cut meanwhile has swallowed it.
"""

import hashlib
import math
import struct
from collections import Counter
from collections.abc import Callable

from tests.fault.simulated.loop import World

STORE = "store"
CLIENTS = "clients"
USUAL = (0.0005, 0.01)
SLOW = (0.05, 1.5)
_INSTANT = struct.Struct("<dI")


class Network:
    """All links.

    Args:
        world: Where it is.
        lost: Share of messages between clients and nodes that are lost.
        repeated: Share that arrive twice.
        slow: Share that others overtake.
    """

    def __init__(self, world: World, *, lost: float, repeated: float, slow: float) -> None:
        self.world = world
        self.lost = lost
        self.repeated = repeated
        self.slow = slow
        self.faults: Counter[str] = Counter()
        self.messages = 0
        self._trace = hashlib.blake2b(digest_size=16)
        self._places: dict[tuple[str, str, str], bytes] = {}
        self._chance = world.chance("network")
        # How often each link is cut now; cuts may overlap.
        self._cut: Counter[tuple[str, str]] = Counter()
        self._cuts = 0
        self._mended_at: dict[tuple[str, str], float] = {}

    def cut(self, one: str, other: str) -> None:
        """Let nothing pass between two ends, in either direction."""
        self._cut[_link(one, other)] += 1
        self._cuts += 1

    def mend(self, one: str, other: str) -> None:
        """Take a cut back."""
        self._cut[_link(one, other)] -= 1
        self._cuts -= 1
        self._mended_at[_link(one, other)] = self.world.now

    def is_cut(self, one: str, other: str) -> bool:
        """Return whether nothing passes between two ends."""
        return self._cuts > 0 and self._cut[_link(one, other)] > 0

    def is_whole_since(self, at: float, one: str, other: str) -> bool:
        """Return whether all has passed between two ends since an instant."""
        mended_at = self._mended_at.get(_link(one, other), -math.inf)
        return not self.is_cut(one, other) and mended_at < at

    def note(self, *facts: object) -> None:
        """Make facts part of the run's trace."""
        self._trace.update(repr((self.world.now, *facts)).encode())

    def _note_fate(self, one: str, other: str, fate: str, what: bytes) -> None:
        """Make it part of the trace what became of a message; `note` takes twice as long."""
        place = self._places.get((one, other, fate))
        if place is None:
            place = self._places[one, other, fate] = f"{one}>{other} {fate} ".encode()
        self._trace.update(_INSTANT.pack(self.world.now, len(what)) + place + what)

    def trace(self) -> str:
        """Return a digest of all that was noted, in order."""
        return self._trace.hexdigest()

    def send(self, one: str, other: str, what: bytes, call: Callable[[], object]) -> None:
        """Send a message as datagrams go: it may be lost, arrive late, or twice."""
        draw = self._chance.random
        if draw() < self.lost:
            self._fault("message lost")
            self._note_fate(one, other, "lost", what)
            return
        self.carry(one, other, what, call)
        if draw() < self.repeated:
            self._fault("message repeated")
            self.carry(one, other, what, call)

    def carry(self, one: str, other: str, what: bytes, call: Callable[[], object]) -> None:
        """Send a message as a connection does: it arrives once, unless the link is cut."""
        is_slow = self._chance.random() < self.slow
        delay = self._chance.uniform(*(SLOW if is_slow else USUAL))
        if is_slow:
            self._fault("message overtaken")

        def arrive() -> None:
            is_cut = self.is_cut(one, other)
            self._note_fate(one, other, "cut" if is_cut else "arrives", what)
            if not is_cut:
                self.messages += 1
                call()

        if not self.is_cut(one, other):
            self.world.after(delay, arrive)

    def pipe(
        self, one: str, other: str, swallowed: Callable[[], object] | None = None
    ) -> Callable[[bytes, Callable[[], object]], None]:
        """Return what sends the parts of one answer in order; the first that is lost is the last.

        So does a connection: its other end hears nothing any more, and is not told why.

        Args:
            one: Who sends.
            other: Who hears it.
            swallowed: Called for each part that is lost.
        """
        last, is_broken = 0.0, False

        def send(what: bytes, call: Callable[[], object]) -> None:
            nonlocal last
            last = max(last, self.world.now + self._chance.uniform(*USUAL))

            def arrive() -> None:
                nonlocal is_broken
                is_broken = is_broken or self.is_cut(one, other)
                self._note_fate(one, other, "cut" if is_broken else "arrives", what)
                if not is_broken:
                    self.messages += 1
                    call()
                elif swallowed is not None:
                    swallowed()

            self.world.at(last, arrive)

        return send

    def _fault(self, kind: str) -> None:
        self.faults[kind] += 1


def _link(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)
