"""The connections of the PostgreSQL journal: opens them, makes tables, maps errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit, urlunsplit

from evenmatch.engine.records import FORMAT
from evenmatch.errors import (
    ConfigError,
    JournalCorrupt,
    JournalUnavailable,
    MatchmakingError,
    NotSupported,
)
from evenmatch.journals.base import FIRST_FORMAT, NO_JOURNAL_THERE, AnswerLost

Connection: TypeAlias = Any
"""An `asyncpg.Connection`; the package has no types."""

INSTALL = "a journal in PostgreSQL needs one more package: pip install 'evenmatch[postgres]'"
SCHEMA_PATTERN = r"[a-z_][a-z0-9_]{0,39}"

_TABLES = """
CREATE TABLE {0}.about (format integer NOT NULL);
CREATE TABLE {0}.heads (
  shard text PRIMARY KEY,
  owner text NOT NULL, epoch bigint NOT NULL, ttl float8 NOT NULL, renewals bigint NOT NULL,
  lease_crc bigint NOT NULL, turn bigint NOT NULL,
  last_seq bigint NOT NULL, last_wall float8 NOT NULL, end_crc bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE {0}.batches (
  shard text NOT NULL, first_seq bigint NOT NULL, last_seq bigint NOT NULL,
  wall float8 NOT NULL, crc bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (shard, last_seq)
);
CREATE TABLE {0}.segments (
  shard text NOT NULL, seq bigint NOT NULL, wall float8 NOT NULL, crc bigint NOT NULL,
  body bytea NOT NULL, PRIMARY KEY (shard, seq)
);
CREATE TABLE {0}.snapshots (
  shard text NOT NULL, seq bigint NOT NULL, wall float8 NOT NULL, crc bigint NOT NULL,
  body bytea NOT NULL, PRIMARY KEY (shard, seq)
);
"""
# An update of a head then stays on its page and touches no index; see `fillfactor` above.

LOCK = 0x65766D6A
"""`evmj` in ASCII: the advisory lock under which tables are made."""

_T = TypeVar("_T")


class PostgresLink:
    """A connection that is opened on demand, and dropped after each error.

    Args:
        url: Where the server is, with user, password and database.
        schema: Where the tables are; they are made if they are missing.
        timeout: Longest wait for a connection, and for an answer unless the call says otherwise;
            seconds.
        is_read_only: Make and change nothing; the tables must be there.
    """

    def __init__(
        self, url: str, schema: str, timeout: float, *, is_read_only: bool = False
    ) -> None:
        if find_spec("asyncpg") is None:
            raise NotSupported(INSTALL)
        if re.fullmatch(SCHEMA_PATTERN, schema) is None:
            raise ConfigError(
                "the schema of a journal has at most 40 small letters, digits and underscores and "
                f"begins with none of the digits, got {schema!r}: name another one"
            )
        # The host that took the last connection comes first.
        self._urls = hosts_of(url)
        self._schema = schema
        self._timeout = timeout
        self._place = place_of(url)
        self._is_read_only = is_read_only
        self._lock = asyncio.Lock()
        self._connection: Connection | None = None
        self._warnings: list[str] = []
        self._is_closed = False

    async def run(
        self, work: Callable[[Connection], Awaitable[_T]], timeout: float | None = None
    ) -> _T:
        """Do the work, after all that was handed in before.

        Raises:
            AnswerLost: It failed after it began; it may have been done.
            JournalUnavailable: There is no connection; nothing was done.
            JournalCorrupt: What is stored contradicts itself.
        """
        async with self._lock:
            if self._is_closed:
                raise JournalUnavailable("the journal was closed: open it again")
            connection = self._connection
            if connection is None or connection.is_closed():
                connection = await self._guarded(self._open(), self._timeout, JournalUnavailable)
            self._connection = connection
            self._warnings.clear()
            wait = self._timeout if timeout is None else timeout
            done = await self._guarded(work(connection), wait, AnswerLost)
            if self._warnings:
                # A commit whose wait for the standbys was cut short succeeds, with a warning.
                self._drop()
                raise AnswerLost(f"PostgreSQL at {self._place} warns: {self._warnings[0]}")
            return done

    async def close(self) -> None:
        """Close the connection; a second call does nothing."""
        async with self._lock:
            self._is_closed = True
            connection, self._connection = self._connection, None
            if connection is not None:
                try:
                    await connection.close(timeout=self._timeout)
                except Exception:  # noqa: BLE001
                    connection.terminate()

    async def _guarded(
        self, work: Awaitable[_T], timeout: float, kind: type[JournalUnavailable]
    ) -> _T:
        import asyncpg

        try:
            async with asyncio.timeout(timeout):
                return await work
        except asyncpg.UniqueViolationError as error:
            self._drop()
            raise JournalCorrupt(
                f"PostgreSQL at {self._place} holds records beyond the end of the journal "
                f"({error}): keep the database for inspection and restore a copy"
            ) from error
        except MatchmakingError:
            self._drop()
            raise
        # Bytes that are no answer make the driver fail in any way: with an IndexError, too.
        except Exception as error:
            self._drop()
            detail = str(error) or f"no answer for {timeout:g} s"
            raise kind(
                f"PostgreSQL at {self._place} cannot be used ({type(error).__name__}: {detail})"
            ) from error
        except BaseException:
            # Cancelled half-way: what the server still does with it, nobody hears any more.
            self._drop()
            raise

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    async def _open(self) -> Connection:
        """Return a connection to the first host that takes writes.

        Each gets its share of the time: one that is silent keeps nobody from the next.
        """
        error: Exception | None = None
        for url in list(self._urls):
            try:
                async with asyncio.timeout(self._timeout / len(self._urls)):
                    connection = await self._connect(url)
            except MatchmakingError:
                raise
            except Exception as present:  # noqa: BLE001
                error = present
            else:
                self._urls.remove(url)
                self._urls.insert(0, url)
                return connection
        assert error is not None
        raise error

    async def _connect(self, url: str) -> Connection:
        import asyncpg

        # A query may ask for another kind of server; one that can only be read is of no use.
        is_asked = "target_session_attrs" in url
        # A session that may only read is none that takes writes, on a primary too.
        wanted = "primary" if self._is_read_only else "read-write"
        asked = {} if is_asked else {"target_session_attrs": wanted}
        connection = await asyncpg.connect(
            url,
            timeout=self._timeout,
            # A pooler passes no other setting on from here.
            server_settings={"application_name": "evenmatch"},
            **asked,
        )
        try:
            await self._prepare(connection)
        except BaseException:
            connection.terminate()
            raise
        connection.add_log_listener(self._note_warning)
        return connection

    async def _prepare(self, connection: Connection) -> None:
        """Refuse a server that forgets, and make the tables if they are missing."""
        # Who waits for a lock longer than its caller would only stand in the way.
        await connection.execute(f"SET lock_timeout = {max(1, round(self._timeout * 1e3))}")
        if self._is_read_only:
            await connection.execute("SET default_transaction_read_only = on")
            if not await self._has_tables(connection):
                raise ConfigError(
                    f"PostgreSQL at {self._place} holds no journal in schema {self._schema}: "
                    f"{NO_JOURNAL_THERE}"
                )
            await self._check_format(connection)
            return
        if await connection.fetchval("SHOW fsync") != "on":
            raise JournalUnavailable(
                f"PostgreSQL at {self._place} runs with fsync = off, so a crash of its machine "
                "would take back what was acknowledged: set fsync = on"
            )
        if await connection.fetchval("SHOW synchronous_commit") == "off":
            await connection.execute("SET synchronous_commit = on")
        if not await self._has_tables(connection):
            async with connection.transaction():
                await connection.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
                # Another process may have made the tables since we looked.
                if not await self._has_tables(connection):
                    await self._make_tables(connection)
        await self._check_format(connection)

    async def _check_format(self, connection: Connection) -> None:
        present: int = await connection.fetchval(f"SELECT format FROM {self._schema}.about")
        if present > FORMAT:
            raise JournalCorrupt(
                f"the journal in schema {self._schema} of PostgreSQL at {self._place} has format "
                f"{present}, and this evenmatch knows formats up to {FORMAT}: use the version that "
                "wrote it, or a newer one"
            )

    async def _has_tables(self, connection: Connection) -> bool:
        return await has_table(connection, self._schema, "about")

    async def _make_tables(self, connection: Connection) -> None:
        schema = self._schema
        known = "SELECT 1 FROM pg_namespace WHERE nspname = $1"
        if await connection.fetchval(known, schema) is None:
            await connection.execute(f"CREATE SCHEMA {schema}")
        await connection.execute(_TABLES.format(schema))
        await connection.execute(f"INSERT INTO {schema}.about VALUES ({FIRST_FORMAT})")

    def _note_warning(self, connection: Connection, message: Any) -> None:
        if message.severity_en == "WARNING":
            self._warnings.append(message.message)


async def has_table(connection: Connection, schema: str, table: str) -> bool:
    """Return whether a table is there now.

    The catalogue itself is asked. `to_regclass` answers from what the session remembers, and
    whoever has just waited for the lock under which another one made the table would not see it.
    """
    asked = (
        "SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
        " WHERE nspname = $1 AND relname = $2"
    )
    return await connection.fetchval(asked, schema, table) is not None


def hosts_of(url: str) -> list[str]:
    """Return an address of each host that an address names.

    >>> hosts_of("postgresql://me@db-1:5433,db-2/games")
    ['postgresql://me@db-1:5433/games', 'postgresql://me@db-2/games']
    """
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    if "," not in hosts:
        return [url]
    return [urlunsplit(parts._replace(netloc=f"{user}{at}{each}")) for each in hosts.split(",")]


def place_of(url: str) -> str:
    """Return the part of an address that may be shown, without user and password.

    >>> place_of("postgresql://evenmatch:secret@db-1:5432,db-2/games")
    'db-1:5432,db-2/games'
    """
    parts = urlsplit(url)
    return parts.netloc.rpartition("@")[2] + parts.path
