"""The certificate of a server: renewed by its files alone, and never forgotten until it expires."""

import asyncio
import ssl
import time
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest
from cryptography.hazmat.primitives import serialization

from evenmatch.errors import ConfigError
from evenmatch.server.runtime import certificate as module
from evenmatch.server.runtime import serve
from evenmatch.server.runtime.certificate import Certificate
from tests.certificates import certificate_in

DAY = 86_400.0


class Wall:
    """A wall clock that a test sets."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Mock:
    mock = Mock()
    monkeypatch.setattr(module, "log", mock)
    return mock


def certificate(folder: Path, wall: Wall, *, days: float) -> Certificate:
    cert, key = certificate_in(folder, days=days)
    return Certificate(Path(cert), Path(key), wall=wall)


def test_end_of_a_certificate_is_told_a_week_before_daily_and_when_it_comes(
    tmp_path: Path, log: Mock
) -> None:
    wall = Wall()
    ours = certificate(tmp_path, wall, days=30.0)
    # The ninth day ends within an hour that has begun.
    wall.now += ours.seconds_left - 9.0 * DAY + 1_800.0
    told = []
    for hour in range(1, 24 * 10):
        wall.now += 3_600.0
        ours.tell()
        if log.warning.called or log.error.called:
            told.append((hour, "error" if log.error.called else "warning"))
        log.reset_mock()
    assert told == [(hour, "warning") for hour in range(48, 216, 24)] + [(216, "error")]


def test_certificate_that_lasts_is_no_news(tmp_path: Path, log: Mock) -> None:
    ours = certificate(tmp_path, Wall(), days=30.0)
    ours.tell()
    ours.renew()
    assert log.mock_calls == []


def test_renewed_certificate_counts_from_the_next_look_on(tmp_path: Path, log: Mock) -> None:
    wall = Wall()
    ours = certificate(tmp_path, wall, days=-1.0)
    before = ours.context
    ours.tell()
    assert log.error.call_args.args == ("certificate_expired",)
    certificate_in(tmp_path, days=90.0)
    ours.renew()
    assert ours.context is not before
    assert ours.seconds_left > 89.0 * DAY
    assert log.info.call_args.args == ("certificate_renewed",)


def test_half_of_a_renewal_is_awaited_and_told_only_if_it_stays(tmp_path: Path, log: Mock) -> None:
    ours = certificate(tmp_path, Wall(), days=30.0)
    before = ours.context
    old_key = (tmp_path / "key.pem").read_bytes()
    certificate_in(tmp_path, days=90.0)
    new_key = (tmp_path / "key.pem").read_bytes()
    (tmp_path / "key.pem").write_bytes(old_key)
    ours.renew()
    assert log.mock_calls == []
    for _ in range(3):
        ours.renew()
    assert [each.args for each in log.error.call_args_list] == [("certificate_not_read",)]
    assert ours.context is before
    (tmp_path / "key.pem").write_bytes(new_key)
    ours.renew()
    assert ours.context is not before


@pytest.mark.parametrize("version", [2, 5])
def test_end_is_known_whatever_follows_in_the_chain(tmp_path: Path, version: int) -> None:
    cert, key = map(Path, certificate_in(tmp_path, days=3.0))
    first = ssl.PEM_cert_to_DER_cert(cert.read_text())
    head = bytes.fromhex("a003020102")
    assert head in first
    other = ssl.DER_cert_to_PEM_cert(first.replace(head, head[:-1] + bytes([version]), 1) + b"0")
    cert.write_text(cert.read_text() + other)
    assert Certificate(cert, key).seconds_left < 4.0 * DAY


def test_files_that_could_not_be_read_are_taken_as_soon_as_they_can(
    tmp_path: Path, log: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = certificate(tmp_path, Wall(), days=30.0)
    certificate_in(tmp_path, days=90.0)
    with monkeypatch.context() as patch:
        # They are root's until a hook gives them to the server, which changes no stamp.
        patch.setattr(module, "_read", Mock(side_effect=ConfigError("Permission denied")))
        for _ in range(4):
            ours.renew()
    assert [each.args for each in log.error.call_args_list] == [("certificate_not_read",)]
    ours.renew()
    assert ours.seconds_left > 89.0 * DAY


def test_renewed_key_with_a_passphrase_is_refused_without_asking(tmp_path: Path, log: Mock) -> None:
    ours = certificate(tmp_path, Wall(), days=30.0)
    before, path = ours.context, tmp_path / "key.pem"
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    secret = serialization.BestAvailableEncryption(b"secret")
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret)
    )
    ours.renew()
    ours.renew()
    assert ours.context is before
    assert "has a passphrase" in log.error.call_args.kwargs["error"]


def test_files_that_are_gone_leave_the_certificate_as_it_is(tmp_path: Path, log: Mock) -> None:
    ours = certificate(tmp_path, Wall(), days=30.0)
    before = ours.context
    (tmp_path / "cert.pem").unlink()
    ours.renew()
    ours.renew()
    assert ours.context is before
    assert "No such file" in log.error.call_args.kwargs["error"]


def test_certificate_that_broke_meanwhile_ends_a_start_before_anything_began(
    tmp_path: Path,
) -> None:
    cert, key = map(Path, certificate_in(tmp_path))
    place, running = serve.ListenOptions(tls_cert=cert, tls_key=key), Mock(start=AsyncMock())
    serve.check_certificate(place)
    cert.unlink()
    with pytest.raises(ConfigError, match="No such file"):
        asyncio.run(serve._run(running, place, Mock(), Mock(), is_keyed=False))
    running.start.assert_not_called()


def test_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (cert, _), (_, key) = certificate_in(tmp_path), certificate_in(other)
    with pytest.raises(ConfigError, match="cannot be used"):
        Certificate(Path(cert), Path(key))
