"""Journals on servers that are reached with TLS, as docs/howto/choose-a-journal.md says."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenmatch.errors import JournalUnavailable
from evenmatch.journals.opening import open_on_server
from tests.certificates import certificate_in
from tests.journal_servers import (
    WHY_NO_NATS,
    WHY_NO_POSTGRES,
    NatsServer,
    PostgresServer,
    nats_program,
    postgres_folder,
    started,
)

pytestmark = pytest.mark.xdist_group("postgres")


class TlsPostgres(PostgresServer):
    """One that takes no connection without TLS."""

    def __init__(self, cert: str, key: str) -> None:
        super().__init__()
        data = self.directory / "data"
        for given, name in ((cert, "server.crt"), (key, "server.key")):
            shutil.copy(given, data / name)
            (data / name).chmod(0o600)
            if self._user is not None:
                shutil.chown(data / name, self._user)
        (data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 trust\n")
        self.settings["ssl"] = "on"


class TlsNats(NatsServer):
    """One that takes no connection without TLS."""

    def __init__(self, cert: str, key: str) -> None:
        super().__init__()
        with (self.directory / "config").open("a") as file:
            file.write(f'\ntls {{ cert_file: "{cert}", key_file: "{key}" }}\n')


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return a certificate that signs itself, and its key."""
    return certificate_in(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def postgres(files: tuple[str, str]) -> Iterator[str]:
    if postgres_folder() is None:
        pytest.skip(WHY_NO_POSTGRES)
    with started(lambda: TlsPostgres(*files)) as server:
        yield server.url


@pytest.fixture(scope="module")
def nats(files: tuple[str, str]) -> Iterator[str]:
    if nats_program() is None:
        pytest.skip(WHY_NO_NATS)
    with started(lambda: TlsNats(*files)) as server:
        yield server.url


async def look(address: str) -> int:
    """Return the last record of a journal."""
    journal = open_on_server(address)
    try:
        return (await journal.last("s0"))[0]
    finally:
        await journal.close()


@pytest.mark.parametrize("query", ["", "?sslmode=require"])
def test_postgres_is_reached_with_tls_where_it_asks_for_that(postgres: str, query: str) -> None:
    assert asyncio.run(look(postgres + query)) == 0


def test_postgres_that_shows_another_certificate_is_refused(
    postgres: str, files: tuple[str, str], tmp_path: Path
) -> None:
    verified = f"{postgres}?sslmode=verify-full&sslrootcert="
    assert asyncio.run(look(verified + files[0])) == 0
    another, _ = certificate_in(tmp_path)
    with pytest.raises(JournalUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
        asyncio.run(look(verified + another))


def test_postgres_without_tls_is_refused_where_the_address_asks_for_it(
    postgres_server: PostgresServer, files: tuple[str, str]
) -> None:
    asked = f"{postgres_server.url}?sslmode=verify-full&sslrootcert={files[0]}"
    with pytest.raises(JournalUnavailable, match="rejected SSL"):
        asyncio.run(look(asked))


def test_nats_is_reached_with_tls_and_its_certificate_is_checked(
    nats: str, files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", files[0])
    assert asyncio.run(look(nats)) == 0
    another, _ = certificate_in(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", another)
    with pytest.raises(JournalUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
        asyncio.run(look(nats))
