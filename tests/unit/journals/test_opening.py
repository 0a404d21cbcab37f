"""Addresses of journals."""

import asyncio
import re
from pathlib import Path

import pytest

from evenmatch.errors import ConfigError, NotSupported
from evenmatch.journals.copying import check_path
from evenmatch.journals.nats import NatsJournal
from evenmatch.journals.nats_link import parse_address
from evenmatch.journals.opening import check_address, name_of, open_journal, without_password
from evenmatch.journals.postgres import PostgresJournal
from evenmatch.journals.sqlite import SqliteJournal


def test_each_scheme_opens_its_journal(tmp_path: Path) -> None:
    postgres = open_journal("postgresql://db/games")
    assert isinstance(postgres, PostgresJournal)
    assert postgres.schema == "evenmatch"
    nats = open_journal("nats://u:p@one:4222,two:4222,three:4222")
    assert isinstance(nats, NatsJournal)
    assert nats.name == "evenmatch"
    sqlite = open_journal(f"sqlite:{tmp_path}/j.db")
    assert isinstance(sqlite, SqliteJournal)
    asyncio.run(sqlite.close())
    assert sqlite.path == tmp_path / "j.db"


def test_games_have_journals_of_their_own(tmp_path: Path) -> None:
    names = {name_of(game) for game in ("", "chess", "Chess", "a-b", "a_b", "x" * 99)}
    assert len(names) == 6
    for name in names:
        PostgresJournal("postgresql://db/games", schema=name)
        NatsJournal("nats://one:4222", name=name)
    sqlite = open_journal(f"sqlite:{tmp_path}/j.db", game="chess")
    assert isinstance(sqlite, SqliteJournal)
    asyncio.run(sqlite.close())
    assert sqlite.path == tmp_path / "j-chess.db"


@pytest.mark.parametrize(
    "address", ["", "data", "valkey://u:secret@x", "postgresql:", "postgresql://", "sqlite:"]
)
def test_what_means_no_journal_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="a journal is postgresql://") as raised:
        open_journal(address)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("password", "hint"),
    [(f"se{sign}cret:x", "write @ as %40") for sign in "@/?#[]"],
)
def test_password_that_is_not_encoded_is_refused_and_not_shown(password: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=hint) as raised:
        check_address(f"postgresql://evenmatch:{password}@127.0.0.1:15499/games")
    assert not {"se", "cret", "x@"} & set(re.split(r"\W", str(raised.value)))
    with pytest.raises(ConfigError, match="write @ as %40"):
        open_journal(f"postgresql://evenmatch:{password}@127.0.0.1:15499/games")


@pytest.mark.parametrize("sign", "/?#[]")
def test_password_of_nats_that_ends_too_early_is_refused(sign: str) -> None:
    with pytest.raises(ConfigError, match="NATS takes USER and PASSWORD as they are") as raised:
        check_address(f"nats://evenmatch:se{sign}cret@one:4222")
    assert "cret" not in str(raised.value)


@pytest.mark.parametrize(
    "hosts", ["", "db:99999", "db:0", "db:x", "db:", ":5432", "one,,two", "one,two:70000", "a:1:2"]
)
@pytest.mark.parametrize("scheme", ["postgresql", "nats"])
def test_host_or_port_that_cannot_be_is_refused(scheme: str, hosts: str) -> None:
    with pytest.raises(ConfigError, match="port from 1 to 65535") as raised:
        check_address(f"{scheme}://me:secret@{hosts}/games")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:p%40ss%3Ax@db-1:5433,db-2/games#chess",
        "postgresql:///games?host=/var/run/postgresql&password=p@ss",
        "postgresql://u@[::1]:5432/games",
        "postgresql://u@%2Fvar%2Frun/games",
        "nats://u:p@ss@one:4222,two/?replicas=1#chess",
    ],
)
def test_address_that_can_be_read_is_taken(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize("schema", ["", "1a", "Evenmatch", "a;drop", "x" * 41])
def test_schema_that_would_need_quotes_is_refused(schema: str) -> None:
    with pytest.raises(ConfigError, match="the schema of a journal"):
        PostgresJournal("postgresql://db/games", schema=schema)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("nats://a:secret@one:4222,two:4222", "nats://one:4222,two:4222"),
        ("postgresql://a:secret@db/games?sslmode=require", "postgresql://db/games?sslmode=require"),
        ("postgresql://db/games?user=a&password=secret", "postgresql://db/games?user=a&password=..."),
        ("postgresql://db/games?sslpassword=secret&user=a",
         "postgresql://db/games?sslpassword=...&user=a"),
        ("postgresql://db/games?Password=secret", "postgresql://db/games?Password=..."),
        ("postgresql://db/games?user=a&password=my@secret", "postgresql://..."),
        ("postgresql://a:my@secret?and=more@db/games", "postgresql://..."),
        ("postgresql:/a:secret@db/games", "postgresql:db/games"),
        ("postgresql//a:secret@db/games", "postgresql//a:db/games"),
        ("postgres://a:se?secret@db/games", "postgres://db/games"),
        ("sqlite:a@b", "sqlite:a@b"),
        ("data@home", "data@home"),
    ],
)  # fmt: skip
def test_password_is_never_shown(address: str, shown: str) -> None:
    assert without_password(address) == shown


@pytest.mark.parametrize("address", ["postgresql:/a:secret@db/g", "postgress://a:secret@db/g"])
def test_address_with_a_slip_is_refused_without_its_password(address: str) -> None:
    for check in (check_path, check_address):
        with pytest.raises(ConfigError) as refused:
            check(address)
        assert "secret" not in str(refused.value)


def test_password_that_nats_does_not_take_is_not_shown() -> None:
    with pytest.raises(ConfigError, match=r"got 'nats://one:4222\?password'"):
        parse_address("nats://one:4222?password=secret&replicas=3")


def test_sqlite_has_a_path_and_no_host() -> None:
    for address in ("sqlite:///tmp/journal.db", "sqlite://journal.db"):
        with pytest.raises(ConfigError, match="sqlite:PATH, got"):
            check_address(address)


@pytest.mark.parametrize(
    ("address", "servers", "replicas"),
    [
        ("nats://one:4222", 1, 1),
        ("nats://one:4222,two:4222", 2, 1),
        ("nats://one:4222,two:4222,three:4222", 3, 3),
        ("nats://one:4222?replicas=3", 1, 3),
        ("nats://one:4222,two:4222,three:4222/?replicas=1", 3, 1),
    ],
)
def test_nats_keeps_as_many_replicas_as_its_address_says(
    address: str, servers: int, replicas: int
) -> None:
    parsed = parse_address(address)
    assert (len(parsed.servers), parsed.replicas) == (servers, replicas)


@pytest.mark.parametrize("package", ["asyncpg", "nats"])
def test_address_of_a_missing_package_says_how_to_get_it(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = {"asyncpg": "postgres_link", "nats": "nats_link"}[package]
    monkeypatch.setattr(f"evenmatch.journals.{module}.find_spec", lambda name: None)
    address, extra = {
        "asyncpg": ("postgresql://db/games", "postgres"),
        "nats": ("nats://one:4222", "nats"),
    }[package]
    with pytest.raises(NotSupported, match=rf"pip install 'evenmatch\[{extra}\]'"):
        open_journal(address)
