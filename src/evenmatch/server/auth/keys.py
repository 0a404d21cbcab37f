"""Service keys, by which a game's backend authenticates itself.

A key is 256 random bits and is shown once; the file holds its SHA-256 and what it may do. Random
bits need no salt and no slow hash: whoever steals the file cannot guess them. Keys are never
deleted from the file, only revoked, so that the file says who could do what when.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from evenmatch.errors import ConfigError
from evenmatch.server.auth.principal import SERVICE_RIGHTS, Principal

try:
    import fcntl
except ImportError:  # Windows: whoever writes last wins.
    fcntl = None  # type: ignore[assignment]

FILE_NAME = "keys.json"
PREFIX = "em"
ID_BYTES = 6
SECRET_BYTES = 32
KEYS_MAX = 1_000
NAME_MAX = 64
FILE_BYTES_MAX = 2_000_000
PRIVATE = 0o600
"""Mode of a file that its owner alone may read."""


class ServiceKey(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One service key, without its secret.

    Args:
        id: The part of the key that may be shown.
        name: Who uses it; several keys may have one name while they are rotated.
        sha256: Of the whole key, in hexadecimal.
        rights: What it may do, of `SERVICE_RIGHTS`.
        queues: The queues that it is for; empty means all.
        created: Unix time.
        expires: Unix time from which it counts no more; None means never.
        revoked: Unix time at which it was revoked; None means that it was not.
        signing: The text of a key that signs requests, which have to be checked by it; None of
            all others.
    """

    id: str
    name: str
    sha256: str
    rights: tuple[str, ...]
    queues: tuple[str, ...] = ()
    created: float = 0.0
    expires: float | None = None
    revoked: float | None = None
    signing: str | None = None

    def state(self, now: float) -> str:
        """Return `live`, `expired` or `revoked`; `now` is Unix time."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "live"


class KeyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a key file."""

    keys: tuple[ServiceKey, ...] = ()


def new_key(
    name: str, rights: tuple[str, ...], *, queues: tuple[str, ...] = (), now: float,
    expires: float | None = None, is_signing: bool = False,
) -> tuple[ServiceKey, str]:  # fmt: skip
    """Return a new key and its text, which is stored nowhere.

    Args:
        name: Who will use it.
        rights: What it may do.
        queues: The queues that it is for; empty means all.
        now: Unix time.
        expires: Unix time from which it counts no more.
        is_signing: Whether it signs requests as AWS's clients do; then the file keeps its text.

    Raises:
        ConfigError: The name is empty or too long, or there is no such right.
    """
    if not (1 <= len(name) <= NAME_MAX and name.isprintable() and not name.isspace()):
        raise ConfigError(f"a key's name has 1 to {NAME_MAX} printable characters, got {name!r}")
    unknown = [right for right in rights if right not in SERVICE_RIGHTS]
    if unknown or not rights:
        allowed = ", ".join(SERVICE_RIGHTS)
        raise ConfigError(f"--rights must be some of {allowed}, got {', '.join(unknown) or 'none'}")
    key_id = secrets.token_hex(ID_BYTES)
    text = f"{PREFIX}_{key_id}_{secrets.token_urlsafe(SECRET_BYTES)}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return ServiceKey(
        key_id,
        name,
        digest,
        tuple(dict.fromkeys(rights)),
        queues,
        now,
        expires,
        signing=text if is_signing else None,
    ), text


class KeyRing:
    """The keys of one game, by id."""

    def __init__(self, keys: tuple[ServiceKey, ...], tenant: str = "") -> None:
        self._tenant = tenant
        self._keys = {key.id: key for key in keys}
        self._digests = {key.id: bytes.fromhex(key.sha256) for key in keys}

    @property
    def keys(self) -> dict[str, ServiceKey]:
        """Return the keys by id, whatever their state."""
        return self._keys

    def principal(self, text: str, now: float) -> Principal | None:
        """Return the principal of a key, None if it is not valid here.

        Args:
            text: The whole key.
            now: Unix time.
        """
        prefix, _, rest = text.partition("_")
        key = self._keys.get(rest.partition("_")[0]) if prefix == PREFIX else None
        if key is None:
            return None
        given = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if not hmac.compare_digest(given, self._digests[key.id]) or key.state(now) != "live":
            return None
        until = float("inf") if key.expires is None else key.expires
        rights = frozenset(("anyone", *key.rights))
        queues = frozenset(key.queues)
        return Principal("service", key.name, rights, self._tenant, key.id, queues, until)

    def signing(self, name: str) -> list[str]:
        """Return the texts of keys of this id or name that sign requests, whatever their state."""
        return [
            key.signing
            for key in self._keys.values()
            if name in (key.id, key.name) and key.signing is not None
        ]


def read_keys(path: Path) -> tuple[ServiceKey, ...]:
    """Return the keys in a file.

    Raises:
        ConfigError: The file cannot be read, or is not one that `evenmatch keys` wrote.
    """
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ConfigError(f"{path} must have at most {FILE_BYTES_MAX:,} bytes")
        body = path.read_bytes()
    except OSError as error:
        advice = ""
        if isinstance(error, FileNotFoundError):
            advice = "; make it with: evenmatch keys add"
        if isinstance(error, PermissionError):
            advice = "; make it readable for the user who runs the server"
        raise ConfigError(f"{path} cannot be read: {error.strerror}{advice}") from None
    return decode_keys(body, path)


def decode_keys(body: bytes, place: Path | str) -> tuple[ServiceKey, ...]:
    """Return the keys that a file or a document holds.

    Raises:
        ConfigError: It is not one that `evenmatch keys` wrote.
    """
    try:
        key_file = msgspec.json.decode(body, type=KeyFile)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{place} is not a file of keys: {error}") from None
    for key in key_file.keys:
        _check(key, place)
    if len({key.id for key in key_file.keys}) != len(key_file.keys):
        raise ConfigError(f"{place} names a key twice")
    return key_file.keys


def encode_keys(keys: tuple[ServiceKey, ...]) -> bytes:
    """Return what a file or a document of these keys holds."""
    return msgspec.json.format(msgspec.json.encode(KeyFile(keys)), indent=1) + b"\n"


def write_keys(path: Path, keys: tuple[ServiceKey, ...]) -> None:
    """Replace the keys in a file at once; whoever could read it still can, and nobody else.

    Raises:
        ConfigError: It is another user's, who could not read it any more.
    """
    fresh = path.with_name(f"{path.name}.new")
    with suppress(FileNotFoundError):
        fresh.unlink()
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as file:
            if not path.exists():
                _give_away(file, path.parent.stat())
            elif not _give_away(file, path.stat(), with_group=True):
                raise ConfigError(
                    f"{path} belongs to user {path.stat().st_uid} and group {path.stat().st_gid}, "
                    "who could not read it after this change: run the command as that user, or as "
                    "root"
                )
            file.write(encode_keys(keys))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _give_away(file: IO[Any], like: os.stat_result, *, with_group: bool = False) -> bool:
    """Give a new file to the owner of another one; return whether it is theirs then.

    Root may change the keys of a server that runs as another user, and the server is to read them.

    Args:
        file: Just made.
        like: Whose it is to be.
        with_group: Whether a group that may read the other one may read it too.
    """
    if not hasattr(os, "fchown"):  # Windows
        return True
    made, group = os.fstat(file.fileno()), like.st_mode & stat.S_IRGRP if with_group else 0
    try:
        if made.st_uid != like.st_uid or (group and made.st_gid != like.st_gid):
            os.fchown(file.fileno(), like.st_uid, like.st_gid)
        os.fchmod(file.fileno(), PRIVATE | group)
    except OSError:
        return False
    return True


@contextmanager
def editing(path: Path) -> Iterator[None]:
    """Lock a key file against other changes.

    Raises:
        ConfigError: Its folder is none, or this user may not write there.
    """
    lock_path = path.with_name(f"{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = _lock_file(lock_path)
    except OSError as error:
        raise ConfigError(f"{lock_path} cannot be written: {error.strerror}") from None
    with lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lock_file(path: Path) -> IO[Any]:
    """Open a file that is only locked, made for the owner of its folder if it is not there.

    Root must neither empty nor give away what the owner of the folder has put there by a link.
    """
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
    try:
        made = os.fdopen(os.open(path, flags | os.O_CREAT | os.O_EXCL, PRIVATE), "w")
    except FileExistsError:
        return os.fdopen(os.open(path, flags), "w")
    _give_away(made, path.parent.stat())
    return made


def _check(key: ServiceKey, path: Path | str) -> None:
    try:
        is_digest = len(bytes.fromhex(key.sha256)) == 32
    except ValueError:
        is_digest = False
    if not is_digest or "_" in key.id or not key.id:
        raise ConfigError(f"{path}: key {key.id[:64]!r} is damaged; revoke it and add another")
    for right in key.rights:
        if right not in SERVICE_RIGHTS:
            raise ConfigError(f"{path}: key {key.id}: there is no right {right[:64]!r}")
