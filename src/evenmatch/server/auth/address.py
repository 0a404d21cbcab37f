"""The address of a client, also of one behind trusted proxies."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from evenmatch.server.http.responses import Scope

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

HOPS_MAX = 16
"""Addresses of a forwarding header that are looked at."""
V6_PREFIX = 64
"""An IPv6 subscriber has this many bits of network; what follows is theirs to choose."""
WITH_PORT = re.compile(r"(?:\[([^\]]+)\]|([^:]+))(?::\d{1,5})?")
"""An address as some proxies write it, with the port of the connection behind it."""


def networks_of(texts: Sequence[str]) -> tuple[Network, ...]:
    """Return networks such as `10.0.0.0/8`, or single addresses; they were checked before."""
    return tuple(ipaddress.ip_network(text) for text in texts)


def caller_address(scope: Scope, trusted: Sequence[Network]) -> str:
    """Return the address that a request comes from.

    `X-Forwarded-For` counts only as far as trusted proxies wrote it: it is read from its end, and
    the first address that is not a trusted proxy's is the caller's. Anything before it may be
    made up.

    Args:
        scope: The request.
        trusted: Networks of our own proxies.
    """
    client = scope.get("client")
    near = str(client[0]) if client else ""
    if not trusted or not _is_among(near, trusted):
        return near
    hops = [
        hop
        for name, value in scope["headers"]
        if name == b"x-forwarded-for"
        for hop in value.decode("latin-1").split(",")
    ]
    for written in reversed(hops[-HOPS_MAX:]):
        hop = _without_port(written.strip())
        if _parsed(hop) is None:
            break
        near = hop
        if not _is_among(hop, trusted):
            break
    return near


def household_of(address: str) -> str:
    """Return the part of an address that one subscriber cannot change.

    >>> household_of("2001:db8:1:2:3:4:5:6"), household_of("192.0.2.7")
    ('2001:db8:1:2::/64', '192.0.2.7')
    """
    parsed = _parsed(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, V6_PREFIX), strict=False))
    return address if parsed is None else str(parsed)


def _without_port(hop: str) -> str:
    """Return an address alone.

    >>> _without_port("192.0.2.7:50123"), _without_port("[2001:db8::1]:443"), _without_port("::1")
    ('192.0.2.7', '2001:db8::1', '::1')
    """
    found = WITH_PORT.fullmatch(hop)
    return hop if found is None else found[1] or found[2]


def _is_among(address: str, trusted: Sequence[Network]) -> bool:
    parsed = _parsed(address)
    return parsed is not None and any(parsed in network for network in trusted)


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an address; one of IPv4 is the same in the form in which IPv6 sockets show it."""
    try:
        parsed = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed
