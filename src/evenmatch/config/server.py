"""From `[server]` to a server's settings, and from `[[tenant]]` to the games that it serves."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import cast, get_args

import msgspec

from evenmatch.config.decode import WAITS, Place
from evenmatch.config.distributions import locate_file
from evenmatch.config.shapes import (
    AllocationShape,
    LimitsShape,
    ServerShape,
    TenantShape,
    TokensShape,
)
from evenmatch.criteria.validation.values import Bounds
from evenmatch.model.scenario import (
    Algorithm,
    Allocation,
    HookKind,
    ServerLimits,
    ServerSettings,
    Tenant,
    Tokens,
    WhenFailed,
)

SPEEDS = Bounds(1e-6, 1e6)
DAYS = Bounds(1e-6, 3650.0)
LIFETIMES = Bounds(1.0, 31_536_000.0, unit="s")
LEEWAYS = Bounds(0.0, 300.0, unit="s")
LIMIT_MAX = 1_000_000_000
ORIGIN = re.compile(r"\*|https?://[^\s/?#]+")
COLLECTOR = re.compile(r"https?://[^\s?#]+")
TENANT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
TENANTS_MAX = 100
KEY_FILES_MAX = 8
PROXIES_MAX = 100
NAME_LENGTH_MAX = 256
HOOK_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
HOOK_URL = re.compile(r"https?://[A-Za-z0-9._:\[\]-]+(/[!-~]*)?")
URL_LENGTH_MAX = 2_000
SELECTORS_MAX = 16
TIMEOUTS = Bounds(0.05, 300.0, unit="s")


def build_settings(shape: ServerShape, folder: Path | None, at: Place) -> ServerSettings:
    """Return a server's settings.

    Args:
        shape: The table.
        folder: From which relative file names count; None leaves them as they are.
        at: Where the table stands.

    Raises:
        ConfigError: A value cannot be used.
    """
    for index, origin in enumerate(shape.origins):
        if not ORIGIN.fullmatch(origin):
            at.at("origins").at(index).refuse_value(
                'an origin such as "https://example.com", or "*"', origin
            )
    _check_proxies(shape.trusted_proxies, at.at("trusted_proxies"))
    return ServerSettings(
        clock_speed=at.at("clock_speed").within(shape.clock_speed, SPEEDS),
        keep_days=at.at("keep_days").within(shape.keep_days, DAYS),
        origins=shape.origins,
        drain_max=at.at("drain_max").within(shape.drain_max, WAITS),
        log_tickets=shape.log_tickets,
        log_lines_max=at.at("log_lines_max").between(shape.log_lines_max, 1, LIMIT_MAX),
        log_secret_file=_file(shape.log_secret_file, folder, at.at("log_secret_file")),
        traces=_collector(shape.traces, at.at("traces")),
        keys_file=_file(shape.keys_file, folder, at.at("keys_file")),
        guests=shape.guests,
        trusted_proxies=shape.trusted_proxies,
        player_attributes=shape.player_attributes,
        tokens=None if shape.tokens is None else _tokens(shape.tokens, folder, at.at("tokens")),
        allocation=tuple(
            _hook(name, each, folder, at.at("allocation").at(name))
            for name, each in shape.allocation.items()
        ),
        limits=_limits(shape.limits, at.at("limits")),
    )


def _collector(address: str | None, at: Place) -> str | None:
    if address is not None and not COLLECTOR.fullmatch(address):
        at.refuse_value('the address of a collector such as "http://collector:4318"', address)
    return address


def build_tenants(
    shapes: tuple[TenantShape, ...], folder: Path | None, at: Place
) -> tuple[Tenant, ...]:
    """Return the games of one process.

    Args:
        shapes: The tables.
        folder: From which relative file names count; None leaves them as they are.
        at: Where the tables stand.

    Raises:
        ConfigError: A name cannot be used or is taken, or there are too many.
    """
    if len(shapes) > TENANTS_MAX:
        at.refuse(f"must be given at most {TENANTS_MAX} times, got {len(shapes)}")
    names: set[str] = set()
    found = []
    for index, shape in enumerate(shapes):
        here = at.at(index)
        if not TENANT_NAME.fullmatch(shape.name):
            here.at("name").refuse_value(
                "1 to 32 of a-z, 0-9, - and _, since it names a folder", shape.name
            )
        if shape.name in names:
            here.at("name").refuse(f'"{shape.name}" is taken; names must be different')
        names.add(shape.name)
        found.append(Tenant(shape.name, locate_file(shape.config, folder, here.at("config"))))
    return tuple(found)


def _tokens(shape: TokensShape, folder: Path | None, at: Place) -> Tokens:
    algorithm = at.at("algorithm").one_of(shape.algorithm, get_args(Algorithm))
    if not 1 <= len(shape.key_files) <= KEY_FILES_MAX:
        given = len(shape.key_files)
        at.at("key_files").refuse(f"must name 1 to {KEY_FILES_MAX} files, got {given}")
    for key, text in (("audience", shape.audience), ("issuer", shape.issuer or "x")):
        if not 1 <= len(text) <= NAME_LENGTH_MAX:
            at.at(key).refuse_value(f"1 to {NAME_LENGTH_MAX} characters", text)
    return Tokens(
        cast("Algorithm", algorithm),
        tuple(
            locate_file(name, folder, at.at("key_files").at(i))
            for i, name in enumerate(shape.key_files)
        ),
        shape.audience,
        shape.issuer,
        at.at("lifetime_max").within(shape.lifetime_max, LIFETIMES),
        at.at("leeway").within(shape.leeway, LEEWAYS),
    )


def _hook(name: str, shape: AllocationShape, folder: Path | None, at: Place) -> Allocation:
    if not HOOK_NAME.fullmatch(name):
        at.refuse_value("called by 1 to 64 letters, digits, `_`, `-` or `.`", name)
    if not HOOK_URL.fullmatch(shape.url) or len(shape.url) > URL_LENGTH_MAX:
        at.at("url").refuse_value('an address such as "https://fleet.example.com/find"', shape.url)
    if len(shape.selectors) > SELECTORS_MAX:
        at.at("selectors").refuse(f"must be at most {SELECTORS_MAX}, got {len(shape.selectors)}")
    return Allocation(
        name,
        cast("HookKind", at.at("kind").one_of(shape.kind, get_args(HookKind))),
        shape.url,
        _file(shape.secret_file, folder, at.at("secret_file")),
        at.at("timeout").within(shape.timeout, TIMEOUTS),
        at.at("retries").between(shape.retries, 0, 100),
        at.at("concurrency").between(shape.concurrency, 1, 1_000),
        cast("WhenFailed", at.at("failed").one_of(shape.failed, get_args(WhenFailed))),
        shape.namespace,
        shape.selectors,
    )


def _check_proxies(proxies: tuple[str, ...], at: Place) -> None:
    if len(proxies) > PROXIES_MAX:
        at.refuse(f"must name at most {PROXIES_MAX} networks, got {len(proxies)}")
    for index, text in enumerate(proxies):
        try:
            ipaddress.ip_network(text)
        except ValueError:
            at.at(index).refuse_value('a network such as "10.0.0.0/8", or an address', text)


def _file(name: str | None, folder: Path | None, at: Place) -> str | None:
    return None if name is None else locate_file(name, folder, at)


def _limits(shape: LimitsShape, at: Place) -> ServerLimits:
    given = {
        key: value for key, value in msgspec.structs.asdict(shape).items() if value is not None
    }
    for key, value in given.items():
        at.at(key).between(value, 1, LIMIT_MAX)
    return ServerLimits(**given)
