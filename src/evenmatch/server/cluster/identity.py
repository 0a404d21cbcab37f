"""Who a node is: its name, where others reach it, and the secret that all nodes share."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from evenmatch.errors import ConfigError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
ADDRESS = re.compile(r"(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]{1,253}):([0-9]{1,5})")
NOTE = re.compile(NAME.pattern.encode() + rb" [^ ]* [^ ]* [0-9]+ [0-9a-f]{64}")
KEY_BYTES = (16, 4096)
"""Bytes of the shared secret, at least and at most."""
LEASE_SECONDS = 5.0
"""Length of the lease of a node: so long, and a second, nobody is answered when it dies."""
SIGNED = "evenmatch"
"""What each signature is about, beside its purpose."""
NOTE_SECONDS = 60.0
"""For how long a note counts, by wall clocks of two machines, which may differ."""
OWNERS_MOST = 1_024
"""Owners whose addresses are remembered: each request that is handed on asks for some."""
Purpose = Literal["request", "nodes", "frames"]
"""What a note is for: a client's request, what nodes ask each other, a connection for frames."""


class PeerNote(NamedTuple):
    """The signed note that a node sends with a request to another node.

    Args:
        client: Address of the client for whom it asks.
        about: The shard that is asked, as TENANT/SHARD, or the owner's name of who asks.
    """

    client: str
    about: str


class NodeIdentity(msgspec.Struct, frozen=True):
    """The identity of a node of a cluster.

    Args:
        name: Unlike those of all other nodes.
        address: HOST:PORT at which the others reach it.
        key: The secret that all nodes share.
        token: New at each start, so that a process never takes the lease of an older one for its
            own.
        wall: Unix time, by which notes count.
    """

    name: str
    address: str
    key: bytes
    token: str
    wall: Callable[[], float] = lambda: time.time()

    @property
    def owner(self) -> str:
        """Return the name under which it holds leases."""
        return f"{self.name}/{self.token}@{self.address}"

    def place_of(self, owner: str) -> tuple[str, int] | None:
        """Return host and port of another node, by the name under which it owns leases.

        None if there is no other node there: an owner at this node's own address is this node, or
        the one that ran here before it was started anew, and answers nobody.
        """
        place = address_of(owner)
        return None if place == address_of(self.owner) else place

    def sign(self, client: str, about: str = "", *, purpose: Purpose = "request") -> bytes:
        """Return a signed note for another node of who asks.

        Args:
            client: Address of the client.
            about: The shard that is asked; for what nodes ask each other, who asks.
            purpose: What the note is for; it counts for nothing else.
        """
        said = f"{self.name} {client} {about} {int(self.wall())}"
        return f"{said} {_digest(self.key, purpose, said)}".encode()

    def note_of(self, signed: bytes, *, purpose: Purpose = "request") -> PeerNote | None:
        """Return for whom another node asks, and about what; None if none of ours did just now.

        Args:
            signed: What came with what is asked.
            purpose: What it must have been made for.
        """
        said, _, digest = signed.decode("latin-1").rpartition(" ")
        wanted = _digest(self.key, purpose, said)
        if not hmac.compare_digest(digest.encode("latin-1"), wanted.encode()):
            return None
        parts = said.split(" ")
        if len(parts) != 4 or abs(self.wall() - float(parts[3])) > NOTE_SECONDS:
            return None
        return PeerNote(parts[1], parts[2])


def node_identity(name: str, address: str, key: Path) -> NodeIdentity:
    """Return the identity of a node.

    Args:
        name: Of the node.
        address: HOST:PORT.
        key: A file with the secret.

    Raises:
        ConfigError: One of them cannot be used.
    """
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"--node must have 1 to 63 letters, digits, dots, dashes or underscores and begin "
            f"with a letter or digit, got {name[:80]!r}"
        )
    check_address(address)
    try:
        secret = key.read_bytes().strip()
    except OSError as error:
        raise ConfigError(f"--cluster-key {key} cannot be read: {error.strerror}") from None
    least, most = KEY_BYTES
    if not least <= len(secret) <= most:
        raise ConfigError(
            f"--cluster-key {key} must hold {least} to {most:,} bytes, the same for all nodes, "
            f"got {len(secret):,}; make one: openssl rand -hex 32 > {key.name}"
        )
    return NodeIdentity(name, address, secret, secrets.token_hex(4))


def check_address(address: str) -> None:
    """Refuse a text that is no address of a node.

    Raises:
        ConfigError: It is not HOST:PORT.
    """
    parts = ADDRESS.fullmatch(address)
    if parts is None or not 1 <= int(parts[2]) <= 65_535:
        raise ConfigError(
            f"--node-address must be HOST:PORT as the other nodes reach it, and [ADDRESS]:PORT "
            f"with an IPv6 address, got {address[:80]!r}"
        )


@lru_cache(OWNERS_MOST)
def address_of(owner: str) -> tuple[str, int] | None:
    """Return host and port at which an owner of a lease is reached; None if it is no node.

    >>> address_of("eu-1/3f2a@10.0.0.5:8080"), address_of("laptop-77aa")
    (('10.0.0.5', 8080), None)
    """
    parts = ADDRESS.fullmatch(owner.rpartition("@")[2]) if "@" in owner else None
    return None if parts is None else (parts[1].strip("[]"), int(parts[2]))


def name_of(owner: str) -> str:
    """Return the name of the node that holds a lease.

    >>> name_of("eu-1/3f2a@10.0.0.5:8080")
    'eu-1'
    """
    return owner.partition("/")[0]


def has_form_of_note(signed: bytes) -> bool:
    """Return whether a node of some cluster may have signed this.

    >>> has_form_of_note(b"x"), has_form_of_note(b"a 10.9.8.7 /s0 1790000000 " + b"0" * 64)
    (False, True)
    """
    return NOTE.fullmatch(signed) is not None


def _digest(key: bytes, purpose: Purpose, said: str) -> str:
    text = f"{SIGNED}-{purpose} {said}".encode("latin-1", "replace")
    return hmac.new(key, text, sha256).hexdigest()
