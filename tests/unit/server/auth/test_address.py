"""Whose address counts behind proxies."""

import pytest

from evenmatch.server.auth import address
from evenmatch.server.auth.address import HOPS_MAX, caller_address, household_of, networks_of

TRUSTED = networks_of(["10.0.0.0/8", "127.0.0.1", "fd00::/8"])


@pytest.mark.parametrize(
    ("client", "forwarded", "caller"),
    [
        ("198.51.100.7", ["203.0.113.9"], "198.51.100.7"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["6.6.6.6, 203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["6.6.6.6, 203.0.113.9, 10.1.1.1"], "203.0.113.9"),
        ("127.0.0.1", ["6.6.6.6", "203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["made up, 10.1.1.1"], "10.1.1.1"),
        ("127.0.0.1", ["10.1.1.1"], "10.1.1.1"),
        ("fd00::1", ["2001:db8::9"], "2001:db8::9"),
        ("127.0.0.1", [""], "127.0.0.1"),
        ("::ffff:127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["203.0.113.9, ::ffff:10.1.1.1"], "203.0.113.9"),
        ("::ffff:198.51.100.7", ["203.0.113.9"], "::ffff:198.51.100.7"),
        # Some proxies write the port too.
        ("127.0.0.1", ["6.6.6.6, 203.0.113.9:50123"], "203.0.113.9"),
        ("127.0.0.1", ["203.0.113.9:50123, 10.1.1.1:80"], "203.0.113.9"),
        ("127.0.0.1", ["[2001:db8::9]:50123"], "2001:db8::9"),
        ("127.0.0.1", ["[2001:db8::9]"], "2001:db8::9"),
        ("127.0.0.1", ["203.0.113.9:x"], "127.0.0.1"),
    ],
)
def test_only_what_trusted_proxies_wrote_counts(
    client: str, forwarded: list[str], caller: str
) -> None:
    scope = {
        "client": (client, 1),
        "headers": [(b"x-forwarded-for", each.encode()) for each in forwarded],
    }
    assert caller_address(scope, TRUSTED) == caller


def test_long_header_is_looked_at_only_near_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def alone(hop: str) -> str:
        seen.append(hop)
        return hop

    monkeypatch.setattr(address, "_without_port", alone)
    header = (b"x-forwarded-for", b"10.1.1.1," * 1_000 + b"10.1.1.2")
    assert caller_address({"client": ("127.0.0.1", 1), "headers": [header]}, TRUSTED) == "10.1.1.1"
    assert len(seen) == HOPS_MAX


def test_nothing_is_believed_without_trusted_proxies() -> None:
    scope = {"client": ("127.0.0.1", 1), "headers": [(b"x-forwarded-for", b"203.0.113.9")]}
    assert caller_address(scope, ()) == "127.0.0.1"
    assert caller_address({"client": None, "headers": []}, TRUSTED) == ""


def test_one_subscriber_has_one_address() -> None:
    assert household_of("2001:db8::1") == household_of("2001:db8::ffff")
    assert household_of("2001:db8::1") != household_of("2001:db8:0:1::1")
    assert household_of("::ffff:192.0.2.7") == household_of("192.0.2.7")
    assert household_of("no address") == "no address"
