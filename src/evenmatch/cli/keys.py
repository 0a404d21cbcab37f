"""`evenmatch keys`: who may call a server."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter

from evenmatch.cli.options import WholeOrNone
from evenmatch.errors import ConfigError
from evenmatch.journals.opening import check_address, folder_beside, is_shared

if TYPE_CHECKING:
    from evenmatch.cli.key_places import KeyPlace
    from evenmatch.server.auth.keys import ServiceKey

ACTIONS = ("add", "list", "revoke", "rotate", "copy")
NAMELESS = ("list", "copy")
"""Actions on all keys of a place."""
RIGHTS = "tickets,matches,read"
ONLY_FOR = {
    "--rights": ("add",),
    "--queues": ("add",),
    "--days": ("add",),
    "--signing": ("add",),
    "--keep-hours": ("rotate",),
    "--json": ("add", "list", "revoke", "rotate"),
}
"""The actions that an option goes with; with another it would look as if it had been heeded."""
DAY = 86_400.0
HOUR = 3_600.0
DAYS_MAX = 3_650
HOURS_MAX = 8_760
KEEP_HOURS = 24


def keys(
    action: str,
    name: str | None = None,
    /,
    *,
    data: Path | None = None,
    file: Path | None = None,
    journal: str = "",
    rights: str | None = None,
    queues: str | None = None,
    days: WholeOrNone = None,
    keep_hours: WholeOrNone = None,
    signing: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Make, list and revoke a server's service keys; a running server applies changes at once.

    `add` makes a key and shows it once, because only its hash is stored. `list` shows all keys and
    their state. `rotate` makes a new key like the newest one of that name; the old ones stay valid
    for a while. `revoke` ends one key by its id, or all keys of a name. `copy` copies all keys from
    --data or --file to a --journal that has none yet.

    For example:

        evenmatch keys add backend --data ./data --rights tickets,matches
        evenmatch keys add backend --journal postgresql://evenmatch@db/games

    Args:
        action: add, list, revoke, rotate or copy.
        name: Who uses the key; for revoke, a name or an id.
        data: The server's data directory; its keys are in keys.json there.
        file: The file of keys, if the server's configuration names one (keys_file).
        journal: The address of the journal, if the server has no --data; all its nodes find the
            keys there.
        rights: What a new key may do, any of tickets, matches, operate and read; by default
            tickets,matches,read.
        queues: The queues that a new key may use, separated by commas; by default all.
        days: Days until a new key expires; by default it never does.
        keep_hours: Hours for which the old keys stay valid after `rotate`; 24 by default.
        signing: Make a key with which AWS's clients can sign GameLift calls: its id is the access
            key id, its text is the secret access key. The key itself is then stored, not only its
            hash.
        json: Print one JSON object and nothing else.
    """
    given = (rights, queues, days, signing or None, keep_hours, json or None)
    _check_fits(action, name, dict(zip(ONLY_FOR, given, strict=True)))
    if action == "copy":
        _copy(_path(data, file), journal)
        return
    place = _place(data, file, journal)
    if action == "list":
        _show(place.must_read(), is_json=json)
        return
    assert name is not None

    def edit() -> None:
        if action == "add":
            words = _words(RIGHTS if rights is None else rights)
            _add(place, (name, words, _queues(queues)), (days, signing), is_json=json)
        elif action == "rotate":
            hours = KEEP_HOURS if keep_hours is None else keep_hours
            _rotate(place, name, _within(hours, 0, HOURS_MAX, "--keep-hours"), is_json=json)
        else:
            _revoke(place, name, is_json=json)

    place.edit(edit)


def _check_fits(action: str, name: str | None, given: Mapping[str, object]) -> None:
    """Refuse a name and options that an action would pass over, and a name that it lacks."""
    if action not in ACTIONS:
        raise ConfigError(
            f"the action of keys must be one of {', '.join(ACTIONS)}, got {action!r} (see --help)"
        )
    if action in NAMELESS and name is not None:
        raise ConfigError(f"keys {action} takes no name, got {name!r}: it is for all keys")
    if action not in NAMELESS and not name:
        raise ConfigError(f"say whose key it is: evenmatch keys {action} NAME (see --help)")
    for option, actions in ONLY_FOR.items():
        if given[option] is not None and action not in actions:
            allowed = ", ".join(actions)
            raise ConfigError(f"{option} goes with keys {allowed}, not with {action}: leave it out")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(","))


def _queues(text: str | None) -> tuple[str, ...]:
    """Return the names of queues in a list, none for all."""
    if text is None:
        return ()
    names = _words(text)
    if not all(names):
        raise ConfigError(
            "--queues must be names of queues separated by commas, "
            f"got {text!r}; without it the key is for all"
        )
    return names


def _copy(path: Path, journal: str) -> None:
    """Bring the keys of a file to a journal that has none."""
    from evenmatch.cli.key_places import JournalKeys
    from evenmatch.server.auth.accounts import SECRET_NAME
    from evenmatch.server.auth.keys import read_keys

    if not is_shared(journal):
        raise ConfigError("copy takes the keys to --journal postgresql://... or nats://...")
    keys, place = read_keys(path), JournalKeys(journal)

    def edit() -> None:
        if present := place.read():
            raise ConfigError(
                f"{place} already holds {len(present)} keys: add or revoke keys there instead"
            )
        place.write(keys)

    place.edit(edit)
    print(f"{len(keys)} keys of {path} are at {place} now.")
    secret = path.with_name(SECRET_NAME)
    if secret.is_file() and place.keep(SECRET_NAME, secret.read_bytes()):
        print("So is the secret of guests, who stay the players that they are.")


def _add(
    place: KeyPlace, wanted: tuple[str, tuple[str, ...], tuple[str, ...]],
    how: tuple[int | None, bool], *, is_json: bool,
) -> None:  # fmt: skip
    from evenmatch.server.auth.keys import new_key

    (name, rights, queues), (days, is_signing) = wanted, how
    now = time.time()
    expires = None if days is None else now + _within(days, 1, DAYS_MAX, "--days") * DAY
    key, text = new_key(
        name, rights, queues=queues, now=now, expires=expires, is_signing=is_signing
    )
    present = place.read()
    place.write((*present, key))
    _tell(key, text, place, is_json=is_json)
    if not (present or is_json):
        print(f"It is the first key at {place}: make sure that the server looks there.")


def _rotate(place: KeyPlace, name: str, keep_hours: int, *, is_json: bool) -> None:
    from evenmatch.server.auth.keys import new_key

    now = time.time()
    present = place.read()
    live = [key for key in present if key.name == name and key.state(now) == "live"]
    if not live:
        raise ConfigError(f"no live key is called {name!r}; evenmatch keys list shows all")
    last = live[-1]
    lifetime = None if last.expires is None else now + last.expires - last.created
    key, text = new_key(
        name,
        last.rights,
        queues=last.queues,
        now=now,
        expires=lifetime,
        is_signing=last.signing is not None,
    )
    end = now + keep_hours * HOUR
    ids = {each.id for each in live}
    keys = tuple(
        msgspec.structs.replace(each, expires=min(end, each.expires or end))
        if each.id in ids
        else each
        for each in present
    )
    place.write((*keys, key))
    _tell(key, text, place, is_json=is_json)


def _revoke(place: KeyPlace, name: str, *, is_json: bool) -> None:
    now = time.time()
    present = place.must_read()
    meant = [key for key in present if name in (key.id, key.name)]
    if not meant:
        raise ConfigError(f"no key has the id or name {name!r}; evenmatch keys list shows all")
    ended = [key for key in meant if key.revoked is None]
    if not ended:
        raise ConfigError(f"all keys with the id or name {name!r} are revoked already")
    ids = {key.id for key in ended}
    place.write(
        tuple(
            msgspec.structs.replace(key, revoked=now) if key.id in ids else key for key in present
        ),
    )
    if is_json:
        print(msgspec.json.encode({"revoked": sorted(ids)}).decode())
    else:
        for key in ended:
            print(f"revoked {key.id} ({key.name})")


def _place(data: Path | None, file: Path | None, journal: str) -> KeyPlace:
    """Return where the keys are."""
    from evenmatch.cli.key_places import FileKeys, JournalKeys
    from evenmatch.server.auth.keys import FILE_NAME

    if not journal:
        return FileKeys(_path(data, file))
    if data is not None or file is not None:
        raise ConfigError("give only one of --journal, --data and --file")
    check_address(journal)
    if is_shared(journal):
        return JournalKeys(journal)
    return FileKeys(folder_beside(journal) / FILE_NAME)


def _path(data: Path | None, file: Path | None) -> Path:
    from evenmatch.server.auth.keys import FILE_NAME

    if (data is None) == (file is None):
        raise ConfigError(
            "say where the keys are: --data DIR of the server, --file KEYS.json, or --journal "
            "ADDRESS of a server without --data"
        )
    return data / FILE_NAME if data is not None else file or Path(FILE_NAME)


def _tell(key: ServiceKey, text: str, place: KeyPlace, *, is_json: bool) -> None:
    if is_json:
        print(msgspec.json.encode({"id": key.id, "name": key.name, "key": text}).decode())
        return
    print(text)
    kept = "its hash" if key.signing is None else "its text, since it signs: guard that file"
    print(
        f"\nThis is the only time that the key is shown; {place} keeps {kept}.\n"
        f"It may do: {', '.join(key.rights)}; queues: {_named(key.queues)}; "
        f"expires: {_day(key.expires)}.\n"
        f"Send it as: Authorization: Bearer {text[:6]}..."
    )
    if key.signing is not None:
        print(f"Or sign with it: AWS_ACCESS_KEY_ID={key.id}, and the key as AWS_SECRET_ACCESS_KEY.")


def _show(keys: tuple[ServiceKey, ...], *, is_json: bool) -> None:
    now = time.time()
    if is_json:
        rows = [
            {**msgspec.to_builtins(key), "state": key.state(now)} for key in keys
        ]  # the hash tells nobody the key
        for row in rows:
            del row["sha256"]
            row.pop("signing", None)
        print(msgspec.json.encode({"keys": rows}).decode())
        return
    for key in keys:
        print(
            f"{key.id}  {key.state(now):8}  {key.name}  {','.join(key.rights)}  "
            f"queues: {_named(key.queues)}  made {_day(key.created)}, "
            f"expires: {_day(key.expires)}"
        )


def _named(queues: tuple[str, ...]) -> str:
    """Return the queues of a key; older keys may have one without a name, which none is."""
    return ", ".join(name or '""' for name in queues) if queues else "all"


def _day(at: float | None) -> str:
    return "never" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def _within(value: int, low: int, high: int, option: str) -> int:
    if not low <= value <= high:
        raise ConfigError(f"{option} must be from {low} to {high}, got {value}")
    return value
