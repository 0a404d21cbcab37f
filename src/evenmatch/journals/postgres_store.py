"""What a game keeps beside its journal, in the journal's schema of a PostgreSQL database.

A document is a row that is replaced only where its revision is the expected one. Notes get their
numbers under a lock on their table, so that whoever reads up to a number misses none before it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from evenmatch.errors import JournalUnavailable
from evenmatch.journals.base import AnswerLost
from evenmatch.journals.postgres_link import LOCK, Connection, PostgresLink, has_table
from evenmatch.journals.store import (
    MISSING,
    NOTES_KEPT,
    Document,
    Note,
    StoredNote,
    changed_document_error,
    check_body,
    check_name,
    check_notes,
    seal_document,
)

TRIM_EVERY = 100
"""Notes between two looks whether the oldest must give way."""

_TABLES = """
CREATE SEQUENCE {0}.revisions;
CREATE TABLE {0}.documents (
  name text PRIMARY KEY, revision bigint NOT NULL, crc bigint NOT NULL, body bytea NOT NULL
);
CREATE TABLE {0}.notes (
  number bigint PRIMARY KEY, series text NOT NULL, id text NOT NULL UNIQUE, body bytea NOT NULL
);
CREATE INDEX notes_series ON {0}.notes (series, number);
"""

_T = TypeVar("_T")


class PostgresStore:
    """Documents and notes of one game.

    Nothing is opened before the first call.

    Args:
        url: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
        schema: Where the tables are; they are made if they are missing.
        timeout: Longest wait for an answer, seconds.
        is_read_only: Make and change nothing.

    Raises:
        NotSupported: The package asyncpg is missing.
        ConfigError: The schema has no usable name.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = "evenmatch",
        timeout: float = 5.0,
        is_read_only: bool = False,
    ) -> None:
        self.url = url
        self.schema = schema
        self._link = PostgresLink(url, schema, timeout, is_read_only=is_read_only)
        self._is_read_only = is_read_only
        self._has_tables = False
        self._added = 0

    async def get(self, name: str) -> Document | None:
        """Return a document, None if there is none."""
        check_name(name)

        async def work(connection: Connection) -> tuple[int, int, bytes] | None:
            row = await connection.fetchrow(
                f"SELECT revision, crc, body FROM {self.schema}.documents WHERE name = $1", name
            )
            return None if row is None else (row[0], row[1], row[2])

        row = await self._run(work, None)
        if row is None:
            return None
        revision, crc, body = row
        if seal_document(name, body) != crc:
            raise changed_document_error(name, "PostgreSQL")
        return Document(str(revision), body)

    async def put(self, name: str, body: bytes, expected: str | None = None) -> str | None:
        """Put a document in the place of another one."""
        check_body(name, body)
        s = self.schema
        next_one, values = f"nextval('{s}.revisions')", (name, seal_document(name, body), body)
        insert = f"INSERT INTO {s}.documents VALUES ($1, {next_one}, $2, $3) ON CONFLICT"
        if expected is None:
            asked = f"{insert} (name) DO UPDATE SET revision = {next_one}, crc = $2, body = $3"
        elif expected == MISSING:
            asked = f"{insert} DO NOTHING"
        else:
            asked = (
                f"UPDATE {s}.documents SET revision = {next_one}, crc = $2, body = $3"
                f" WHERE name = $1 AND revision = {int(expected)}"
            )

        async def work(connection: Connection) -> str | None:
            revision = await connection.fetchval(f"{asked} RETURNING revision", *values)
            return None if revision is None else str(revision)

        try:
            return await self._run(work, None)
        except AnswerLost as lost:
            # It was stored, or was not yet: what is there now tells.
            present = await self.get(name)
            if present is not None and present.body == body and present.revision != expected:
                return present.revision
            raise JournalUnavailable(f"{lost}; whether {name} was stored is not known") from lost

    async def delete(self, name: str) -> None:
        """Forget a document."""
        check_name(name)
        await self._run(
            lambda connection: connection.execute(
                f"DELETE FROM {self.schema}.documents WHERE name = $1", name
            ),
            None,
        )

    async def names(self, prefix: str = "") -> list[str]:
        """Return the names that begin so, in order."""

        async def work(connection: Connection) -> list[str]:
            rows = await connection.fetch(f"SELECT name FROM {self.schema}.documents")
            return sorted(name for (name,) in rows if name.startswith(prefix))

        return await self._run(work, [])

    async def add(self, series: str, notes: Sequence[Note]) -> None:
        """Store notes at the end of a series."""
        check_notes(series, notes)
        s = self.schema

        async def work(connection: Connection) -> None:
            async with connection.transaction():
                await connection.execute(f"LOCK TABLE {s}.notes IN SHARE ROW EXCLUSIVE MODE")
                for note in notes:
                    await connection.execute(
                        f"INSERT INTO {s}.notes SELECT coalesce(max(number), 0) + 1, $1, $2, $3"
                        f" FROM {s}.notes ON CONFLICT (id) DO NOTHING",
                        series,
                        note.id,
                        note.body,
                    )

        await self._run(work, None)
        self._added += len(notes)
        if self._added >= TRIM_EVERY:
            self._added = 0
            await self._run(
                lambda connection: connection.execute(
                    f"DELETE FROM {s}.notes WHERE series = $1 AND number <= (SELECT number FROM"
                    f" {s}.notes WHERE series = $1 ORDER BY number DESC OFFSET $2 LIMIT 1)",
                    series,
                    NOTES_KEPT,
                ),
                None,
            )

    async def notes(self, after: int | None, most: int) -> list[StoredNote]:
        """Return the first notes after a number; without one, the last of all."""
        s = self.schema

        async def work(connection: Connection) -> list[StoredNote]:
            if after is None:
                asked = f"SELECT number, body FROM {s}.notes ORDER BY number DESC LIMIT $1"
                rows = reversed(await connection.fetch(asked, most))
            else:
                asked = (
                    f"SELECT number, body FROM {s}.notes WHERE number > $1 ORDER BY number LIMIT $2"
                )
                rows = await connection.fetch(asked, after, most)
            return [StoredNote(number, body) for number, body in rows]

        return await self._run(work, [])

    async def close(self) -> None:
        """Close the connection, after the work that is on its way."""
        await self._link.close()

    async def _run(self, work: Callable[[Connection], Awaitable[_T]], nothing: _T) -> _T:
        """Do the work where the tables are; who may only read finds nothing where there are none.

        Raises:
            JournalUnavailable: The server does not answer.
        """

        async def prepared(connection: Connection) -> _T:
            if not self._has_tables:
                self._has_tables = await self._prepare(connection)
            return await work(connection) if self._has_tables else nothing

        return await self._link.run(prepared)

    async def _prepare(self, connection: Connection) -> bool:
        if await has_table(connection, self.schema, "notes"):
            return True
        if self._is_read_only:
            return False
        async with connection.transaction():
            await connection.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
            # Another process may have made the tables since we looked.
            if not await has_table(connection, self.schema, "notes"):
                await connection.execute(_TABLES.format(self.schema))
        return True
