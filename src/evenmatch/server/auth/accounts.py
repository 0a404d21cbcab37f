"""The accounts of one game: its service keys, player tokens, guests and limits.

Files of keys are looked at once a second, beside the requests; a change counts from then on. A file
that has become unreadable changes nothing, so that a slip of an editor locks nobody out and lets
nobody in.

Where the game has no data directory and its journal is on a server, keys and the secret of guests
are documents beside that journal, which a thread looks at as often. While it does not answer, the
keys that were seen last count, for `UNSEEN_MAX` seconds; then none does.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from evenmatch.config.server import ServerSettings, Tokens
from evenmatch.errors import ConfigError
from evenmatch.journals.store import MISSING
from evenmatch.journals.store_thread import StoreThread
from evenmatch.model.ticket import Player, Value
from evenmatch.server.auth.address import networks_of
from evenmatch.server.auth.audit import AuditLog
from evenmatch.server.auth.keys import FILE_NAME, KeyRing, ServiceKey, decode_keys, read_keys
from evenmatch.server.auth.principal import Principal
from evenmatch.server.auth.rate_limits import Buckets, OpenStreams
from evenmatch.server.auth.tokens import Verifier, random_player, read_token_keys, sign
from evenmatch.server.runtime.logs import log

SECRET_NAME = "guests.secret"
SECRET_BYTES = 32
GUEST_AUDIENCE = "evenmatch guests"
GUEST_SECONDS = 30 * 86_400.0
HOUR = 3_600.0

UNSEEN_MAX = 3_600.0
"""Seconds for which keys count that the store beside the journal has not shown since."""

Stamp = tuple[tuple[str | int, ...] | None, ...]


class GuestToken(msgspec.Struct, frozen=True, gc=False):
    """A guest's player token.

    Args:
        player: The guest's id on this server.
        token: The player token, for the header `Authorization: Bearer TOKEN`.
        expires_at: When the token expires, in Unix time.
    """

    player: str
    token: str
    expires_at: float


class Accounts:
    """The credentials of one game, and who may use them.

    Args:
        settings: The game's.
        folder: Its data directory; None keeps everything in memory.
        tenant: Its name; "" where it is the only one.
        wall: Unix time.
        store: What is kept beside a journal on a server, instead of in a directory.

    Raises:
        ConfigError: A file cannot be used.
        JournalError: The store does not answer, or is damaged.
    """

    def __init__(
        self,
        settings: ServerSettings,
        folder: Path | None = None,
        tenant: str = "",
        wall: Callable[[], float] = time.time,
        store: StoreThread | None = None,
    ) -> None:
        self.tenant = tenant
        self.settings = settings
        self.folder = folder
        self.store = store
        self.audit = AuditLog(folder, wall=wall, store=store)
        self.measured = MeasuredLatencies()
        self.free_attributes = frozenset(settings.player_attributes)
        self.ring = KeyRing(())
        self.verifiers: dict[str, Verifier] = {}
        limits = settings.limits
        self.service_buckets = Buckets(limits.key_requests_max, limits.key_burst_max)
        self.player_buckets = Buckets(limits.player_requests_max, limits.player_burst_max)
        self.places = OpenStreams()
        self._wall = wall
        self._newcomers = Buckets(limits.guests_max / HOUR, limits.guests_max)
        self._keys_file = _keys_file(settings, folder)
        self._keys_in = store if self._keys_file is None else None
        if self._keys_in is not None:
            self._keys_in.watch(FILE_NAME)
        self._has_keys = False
        self._is_unseen = False
        self._guest_secret = _guest_secret(folder, store) if settings.guests else None
        self._trouble = ""
        self.generation = 0
        """Rises whenever somebody counts less or more: several gates may share the accounts, and
        each must learn of it."""
        self._stamp = self._look()
        self._read(self._stamp)
        self._live = self._live_keys()
        self.trusted = networks_of(settings.trusted_proxies)

    @property
    def is_keyed(self) -> bool:
        """Return whether callers need a credential."""
        return self._has_keys or bool(self.verifiers)

    # Files

    def reload(self) -> bool:
        """Read files anew that have changed; return whether anyone counts less or more now."""
        self.audit.settle()
        is_changed = self._reload()
        self.generation += is_changed
        return is_changed

    def _reload(self) -> bool:
        if self._is_out_of_sight():
            return self._forget_keys()
        stamp = self._look()
        if stamp == self._stamp and not self._is_unseen:
            return self._note_expired()
        before = self.ring.keys
        try:
            self._read(stamp)
        except ConfigError as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                log.error("keys_unreadable", error=self._trouble, consequence="the old ones count")
                self.audit.note_server("keys unreadable", self._trouble)
            return False
        self._stamp, self._trouble, self._is_unseen = stamp, "", False
        self._live = self._live_keys()
        self.audit.note_server("keys changed", _changes(before, self.ring.keys))
        return True

    def close(self) -> None:
        """Write the last entries of the audit log, and end."""
        self.audit.flush()
        if self.store is not None:
            self.store.close()

    def _is_out_of_sight(self) -> bool:
        """Return whether the store has not shown the keys for too long to trust them."""
        return self._keys_in is not None and self._keys_in.age(FILE_NAME) > UNSEEN_MAX

    def _forget_keys(self) -> bool:
        """Let no key count until the store answers; return whether one did."""
        if not self._is_unseen:
            consequence = "no key counts until it does"
            log.error("keys_unseen", seconds=UNSEEN_MAX, consequence=consequence)
        self._is_unseen, had_some = True, bool(self.ring.keys)
        self.ring, self._live = KeyRing((), self.tenant), frozenset()
        return had_some

    def _live_keys(self) -> frozenset[str]:
        now = self._wall()
        return frozenset(key.id for key in self.ring.keys.values() if key.state(now) == "live")

    def _note_expired(self) -> bool:
        """Return whether other keys are live than at the last look; tell of those that expired."""
        live = self._live_keys()
        if live == self._live:
            return False
        keys = self.ring.keys
        gone = [f"{keys[each].name} ({each})" for each in sorted(self._live - live)]
        self._live = live
        if gone:  # else a clock that was set back has made them live again
            self.audit.note_server("keys expired", ", ".join(gone))
            log.warning("keys_expired", keys=gone, consequence="whoever still uses them gets 401")
        return True

    def _look(self) -> Stamp:
        names = [] if self._keys_file is None else [str(self._keys_file)]
        names += self.settings.tokens.key_files if self.settings.tokens is not None else ()
        stamps = tuple(_stamp_of(name) for name in names)
        if self._keys_in is None:
            return stamps
        document = self._keys_in.seen(FILE_NAME).document
        return (None if document is None else (FILE_NAME, document.revision), *stamps)

    def _read(self, stamp: Stamp) -> None:
        """Take in what the files hold; all of it or, where one is bad, nothing."""
        # A server that had keys never goes back to having none.
        must_be = self.settings.keys_file is not None or self._has_keys
        ring, has_keys = KeyRing((), self.tenant), self._has_keys
        if self._keys_file is not None and (must_be or stamp[0] is not None):
            ring, has_keys = KeyRing(read_keys(self._keys_file), self.tenant), True
        if self._keys_in is not None and (must_be or stamp[0] is not None):
            ring, has_keys = KeyRing(_keys_of(self._keys_in), self.tenant), True
        verifiers: dict[str, Verifier] = {}
        if (tokens := self.settings.tokens) is not None:
            if tokens.audience == GUEST_AUDIENCE:
                raise ConfigError(f"server.tokens.audience must not be {GUEST_AUDIENCE!r}")
            verifiers[tokens.audience] = Verifier(tokens, read_token_keys(tokens), self.tenant)
        if (secret := self._guest_secret) is not None:
            guests = Tokens("HS256", (), GUEST_AUDIENCE, lifetime_max=GUEST_SECONDS)
            verifiers[GUEST_AUDIENCE] = Verifier(guests, (secret,), self.tenant, is_guest=True)
        self.ring, self.verifiers, self._has_keys = ring, verifiers, has_keys

    # Guests

    def wait_of_newcomer(self, address: str, now: float) -> float:
        """Return 0 if an address may have another guest, else the seconds until it may.

        Args:
            address: Of a household.
            now: A clock that never falls, seconds.
        """
        return self._newcomers.take(address, now)

    def guest(self, principal: Principal | None = None) -> GuestToken:
        """Return a new guest's token, or a fresh one for a guest who is known."""
        assert self._guest_secret is not None
        now = self._wall()
        player = random_player() if principal is None else principal.name
        claims: dict[str, object] = {
            "sub": player, "aud": GUEST_AUDIENCE, "iat": int(now), "exp": int(now + GUEST_SECONDS),
        }  # fmt: skip
        return GuestToken(player, sign(claims, self._guest_secret), float(int(now + GUEST_SECONDS)))


def _keys_file(settings: ServerSettings, folder: Path | None) -> Path | None:
    if settings.keys_file is not None:
        return Path(settings.keys_file)
    return None if folder is None else folder / FILE_NAME


def _keys_of(store: StoreThread) -> tuple[ServiceKey, ...]:
    """Return the keys that were seen last beside the journal.

    Raises:
        ConfigError: They are gone, or cannot be read.
    """
    document = store.seen(FILE_NAME).document
    if document is None:
        raise ConfigError(
            f"{FILE_NAME} is gone from beside the journal: make a key with evenmatch keys add NAME "
            "--journal ADDRESS"
        )
    return decode_keys(document.body, f"{FILE_NAME} beside the journal")


def _shared_secret(store: StoreThread) -> bytes:
    """Return the secret that signs guests' tokens at all nodes; the first one makes it."""
    store.put(SECRET_NAME, secrets.token_bytes(SECRET_BYTES), MISSING)
    document = store.get(SECRET_NAME)
    if document is None or len(document.body) != SECRET_BYTES:
        raise ConfigError(
            f"{SECRET_NAME} beside the journal is damaged; delete it, and guests become new players"
        )
    return document.body


def _guest_secret(folder: Path | None, store: StoreThread | None) -> bytes:
    """Return the secret that signs guests' tokens; it is made once and stays in the folder."""
    if store is not None:
        return _shared_secret(store)
    if folder is None:
        return secrets.token_bytes(SECRET_BYTES)
    path = folder / SECRET_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        pass
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from None
    secret = path.read_bytes()
    if len(secret) != SECRET_BYTES:
        raise ConfigError(f"{path} is damaged; delete it, and guests become new players")
    return secret


def _stamp_of(name: str) -> tuple[str | int, ...] | None:
    try:
        found = Path(name).stat()
    except OSError:
        return None
    return (name, found.st_mtime_ns, found.st_size, found.st_ino)


def _changes(before: dict[str, ServiceKey], after: dict[str, ServiceKey]) -> str:
    """Return in words what became of which key; secrets are in neither."""
    words = [
        f"{'added' if old is None else 'revoked' if new.revoked and not old.revoked else 'changed'}"
        f" {new.name} ({key_id}): {', '.join(new.rights)}"
        for key_id, new in after.items()
        if (old := before.get(key_id)) != new
    ]
    words += [f"removed {old.name} ({key})" for key, old in before.items() if key not in after]
    return "; ".join(words) or "keys of player tokens"


# What the game's own servers have measured of players, such as latencies by region.
#
# A player's client may claim what it likes about its connection. Where a service has sent a map
# of the same name for the player, by changing their ticket, its entries win over the client's:
# when the client changes the ticket, and in their next tickets. This is kept in memory, for as
# long as it is worth something.

Sent = TypeVar("Sent")

PLAYERS_MAX = 100_000
MAPS_MAX = 8
ENTRIES_MAX = 64
"""Maps of a player, and entries of each, that are remembered; beyond, the oldest are forgotten."""
VALUE_MAX = 1e15
"""What is larger is no measurement, and no ticket may have it."""
KEPT_SECONDS = 3_600.0


class _Measurement(msgspec.Struct, frozen=True, gc=False):
    until: float
    maps: dict[str, dict[str, float]]


class MeasuredLatencies:
    """The latencies that a game has measured.

    Args:
        most: Players that are remembered; beyond, those measured longest ago are forgotten.
        clock: A clock that never falls, seconds.
    """

    def __init__(
        self, *, most: int = PLAYERS_MAX, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._clock = clock
        self._known: dict[str, _Measurement] = {}

    def __len__(self) -> int:
        """Return how many players are remembered."""
        return len(self._known)

    def note(self, players: tuple[Player, ...]) -> None:
        """Remember the accepted latency maps that a service sent for players."""
        for player in players:
            maps = {
                name: _sound(value)
                for name, value in player.attributes.items()
                if isinstance(value, dict)
            }
            if not any(maps.values()):
                continue
            before = self.of(player.id)
            self._known.pop(player.id, None)
            if len(self._known) >= self._most:
                del self._known[next(iter(self._known))]
            both = {name: _newest(before.get(name, {}), maps[name], ENTRIES_MAX) for name in maps}
            kept = _newest(before, both, MAPS_MAX)
            self._known[player.id] = _Measurement(self._clock() + KEPT_SECONDS, kept)

    def of(self, player: str) -> dict[str, dict[str, float]]:
        """Return the recent measurements of a player, by attribute."""
        measurement = self._known.get(player)
        return (
            measurement.maps
            if measurement is not None and measurement.until > self._clock()
            else {}
        )

    def facts(self, player: str, signed: dict[str, Value]) -> dict[str, Value]:
        """Return facts about a player that count more than their client's: signed or measured."""
        if player not in self._known:
            return signed
        facts = dict(signed)
        for name, value in self.of(player).items():
            other = facts.get(name)
            facts[name] = other | value if isinstance(other, dict) else value
        return facts


def _sound(value: dict[str, float]) -> dict[str, float]:
    return {name: number for name, number in value.items() if abs(number) <= VALUE_MAX}


def _newest(before: dict[str, Sent], new: dict[str, Sent], most: int) -> dict[str, Sent]:
    """Return both, what is new last and first to count, with the oldest left out.

    >>> _newest({"a": 1, "b": 2}, {"a": 3, "c": 4}, most=2)
    {'a': 3, 'c': 4}
    """
    both = {name: value for name, value in before.items() if name not in new} | new
    return dict(list(both.items())[-most:])
