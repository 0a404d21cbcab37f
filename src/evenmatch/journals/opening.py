"""Chooses the adapters of journal and store by an address; `server.runtime.games` asks it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from evenmatch.errors import ConfigError, JournalUnavailable
from evenmatch.journals.store import Store

if TYPE_CHECKING:
    from evenmatch.journals.nats import NatsJournal
    from evenmatch.journals.postgres import PostgresJournal
    from evenmatch.journals.sqlite import SqliteJournal

FORMS = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, nats://HOST:PORT[,...] or sqlite:PATH"
NAME = "evenmatch"
ENCODE = (
    "in USER and PASSWORD write @ as %40, : as %3A, / as %2F, ? as %3F, # as %23, [ as %5B, ] as "
    "%5D and % as %25"
)
TAKEN_AS_IT_IS = (
    "NATS takes USER and PASSWORD as they are, so choose ones without any of the characters / ? # "
    "[ ]"
)
HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:\s]+)(:(?P<port>[0-9]{1,6}))?")


def open_journal(
    address: str, *, game: str = "", is_read_only: bool = False
) -> SqliteJournal | PostgresJournal | NatsJournal:
    """Return the journal at an address; one on a server is connected to at the first call.

    Args:
        address: `postgresql://...`, `nats://HOST:PORT[,...]` or `sqlite:PATH`.
        game: Whose, where several share the address: each has a journal of its own there.
        is_read_only: Make nothing: the journal must be there, and its server may run.

    Raises:
        ConfigError: The address means no journal.
        NotSupported: A package is missing that the journal needs.
        JournalError: The SQLite file cannot be used.

    Example:
        >>> open_journal("valkey://localhost")
        Traceback (most recent call last):
        ...
        evenmatch.errors.ConfigError: a journal is postgresql://USER:PASSWORD@HOST:PORT/DATABASE, \
nats://HOST:PORT[,...] or sqlite:PATH, got 'valkey://localhost'
    """
    check_address(address)
    if is_shared(address):
        return open_on_server(address, game=game, is_read_only=is_read_only)
    from evenmatch.journals.sqlite import SqliteJournal

    return SqliteJournal(_path_of(address, game), create=not is_read_only)


def folder_beside(address: str, *, game: str = "") -> Path:
    """Return the folder for what a game keeps beside a journal in a SQLite file.

    >>> folder_beside("sqlite:games/night.db").as_posix()
    'games/night.db-beside'
    """
    path = _path_of(address, game)
    return path.with_name(f"{path.name}-beside")


def _path_of(address: str, game: str) -> Path:
    path = Path(address.partition(":")[2])
    return path.with_name(f"{path.stem}-{game}{path.suffix}") if game else path


def open_on_server(
    address: str, *, game: str = "", is_read_only: bool = False
) -> PostgresJournal | NatsJournal:
    """Return the journal at the address of a server; it is connected to at the first call.

    Args:
        address: `postgresql://...` or `nats://...`; `#GAME` behind it names the game.
        game: Whose, if the address does not say it.
        is_read_only: Make nothing: the journal must be there, and its server may run.

    Raises:
        ConfigError: The address means no journal, or another game.
        NotSupported: A package is missing that the journal needs.
    """
    place, name = _place_and_name(address, game)
    if place.startswith("nats:"):
        from evenmatch.journals.nats import NatsJournal

        return NatsJournal(place, name=name, is_read_only=is_read_only)
    from evenmatch.journals.postgres import PostgresJournal

    return PostgresJournal(place, schema=name, is_read_only=is_read_only)


def open_store(address: str, *, game: str = "", is_read_only: bool = False) -> Store:
    """Return what a game keeps beside its journal, at the address of a server.

    Args:
        address: `postgresql://...` or `nats://...`; `#GAME` behind it names the game.
        game: Whose, if the address does not say it.
        is_read_only: Make and change nothing.

    Raises:
        ConfigError: The address means no journal on a server, or another game.
        NotSupported: A package is missing.
    """
    place, name = _place_and_name(address, game)
    if place.startswith("nats:"):
        from evenmatch.journals.nats_store import NatsStore

        return NatsStore(place, name=name, is_read_only=is_read_only)
    from evenmatch.journals.postgres_store import PostgresStore

    return PostgresStore(place, schema=name, is_read_only=is_read_only)


def _place_and_name(address: str, game: str) -> tuple[str, str]:
    """Return where the server is, and how the journal of a game is called there.

    Raises:
        ConfigError: The address means no journal on a server, or another game.
    """
    check_address(address)
    place, _, named = address.partition("#")
    if named and game and named != game:
        raise ConfigError(f"the address is of the game {named!r}, not of {game!r}: leave #... out")
    return place, name_of(named or game)


def check_address(address: str) -> None:
    """Refuse a text that is no address of a journal.

    Raises:
        ConfigError: It is none.
    """
    scheme, _, rest = address.partition(":")
    if scheme in ("postgresql", "postgres", "nats"):
        is_one = rest.startswith("//") and len(rest) > 2
    else:
        # Two slashes would begin a host, which a file has not.
        is_one = scheme == "sqlite" and bool(rest) and not rest.startswith("//")
    if not is_one:
        raise ConfigError(f"a journal is {FORMS}, got {without_password(address)!r}")
    if scheme != "sqlite":
        _check_servers(scheme, rest.removeprefix("//"))


def _check_servers(scheme: str, rest: str) -> None:
    """Refuse an address that would be read otherwise than it is meant.

    What may be a piece of a password is never shown.

    Raises:
        ConfigError: It would.
    """
    netloc = re.split("[/?#]", rest, maxsplit=1)[0]
    beyond = rest[len(netloc) :]
    user, at, hosts = netloc.rpartition("@")
    is_nats = scheme == "nats"
    # Behind `?name=` may stand anything; elsewhere an @ there belongs to a password.
    is_cut = "@" in (beyond if "=" not in beyond else beyond.partition("?")[0])
    if is_cut or re.search(r"[\[\]]" if is_nats else r"[\[\]@]", user):
        raise ConfigError(
            f"USER or PASSWORD in the address of the journal, {scheme}://..., holds a character "
            f"that ends it too early: {TAKEN_AS_IT_IS if is_nats else ENCODE}"
        )
    # PostgreSQL on this machine needs no host.
    if not netloc and not is_nats:
        return
    for each in hosts.split(","):
        found = HOST.fullmatch(each)
        if found is None or not 0 < int(found["port"] or 1) < 65_536:
            got = "" if "@" in beyond else f", got {hosts!r}"
            hint = "" if at else f"; {TAKEN_AS_IT_IS if is_nats else ENCODE}"
            raise ConfigError(
                f"the address of the journal, {scheme}://..., must name HOST or HOST:PORT, with a "
                f"port from 1 to 65535, and several with commas between them{got}{hint}"
            )


@contextmanager
def saying_what_to_check(address: str) -> Iterator[None]:
    """Say what to do where the server of a journal does not answer a command.

    Raises:
        JournalUnavailable: It does not.
    """
    try:
        yield
    except JournalUnavailable as error:
        if not is_shared(address):
            raise
        raise JournalUnavailable(
            f"{error}: check the address, and that the server there runs"
        ) from error


def is_shared(address: str) -> bool:
    """Return whether servers on other machines can write to the journal at an address.

    >>> is_shared("postgresql://db/games"), is_shared("sqlite:journal.db")
    (True, False)
    """
    return "://" in address


def without_password(address: str) -> str:
    """Return an address without the password, for logs and messages.

    >>> without_password("postgresql://evenmatch:secret@db/games")
    'postgresql://db/games'
    """
    scheme, colon, rest = address.partition(":")
    if scheme == "sqlite" or not colon:
        return address
    # An address with a slip may lack the slashes.
    start = f"{scheme}:{'//' if rest.startswith('//') else ''}"
    rest = address.removeprefix(start)
    place, mark, query = rest.partition("?")
    if "=" not in query:
        return start + rest.rpartition("@")[2]
    if "@" in query:
        # A value, or the rest of a password that holds a question mark: nobody can say.
        return f"{start}..."
    hidden = re.sub("(?i)((?:^|&)[a-z]*password=)[^&#]*", r"\1...", query)
    return f"{start}{place.rpartition('@')[2]}{mark}{hidden}"


def name_of(game: str) -> str:
    """Return the name under which a server keeps a game's journal: a schema, a stream.

    Two names that differ only in what the server does not take get different checksums.

    >>> name_of(""), name_of("chess")
    ('evenmatch', 'evenmatch_chess_65202614')
    """
    if not game:
        return NAME
    plain = re.sub("[^a-z0-9]", "_", game.lower())[:20]
    return f"{NAME}_{plain}_{crc32(game.encode()):08x}"
