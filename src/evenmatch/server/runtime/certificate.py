"""The certificate of a server that speaks TLS itself: read again when it is renewed, never too old.

Certificates are renewed every few weeks by other programs. A server that read its own once would
show the old one until somebody restarts it, and refuse every client on the day it expires. So its
files are looked at, as those of keys are, and a certificate that nobody renews is told in time.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from evenmatch.errors import ConfigError
from evenmatch.server.runtime.logs import log

LOOK_EVERY = 1.0
"""Seconds between two looks at the files."""
SOON = 7 * 86_400.0
"""Seconds before the end of a certificate from which the log warns."""
TELL_EVERY = 86_400.0
"""Seconds between two warnings."""

Stamp = tuple[tuple[int, int, int], ...]
"""What of the files changes whenever they do."""


class Certificate:
    """The certificate, for new connections; those that are open keep the one they began with.

    Args:
        cert: Its file (PEM).
        key: The file of its private key (PEM).
        wall: Unix time.

    Raises:
        ConfigError: One of the files cannot be used, or they do not fit.
    """

    def __init__(self, cert: Path, key: Path, *, wall: Callable[[], float] = time.time) -> None:
        self._files = cert, key
        self._wall = wall
        self._stamp = self._seen = self._look()
        # What was told of already; who may read a file can change without its stamp.
        self._refused: Stamp = ()
        self._told_at = self._told_left = float("inf")
        self.context, self._ends_at = _read(cert, key)

    @property
    def seconds_left(self) -> float:
        """Return for how long it is valid, negative once it has expired; infinite if unknown."""
        return self._ends_at - self._wall()

    async def watch(self) -> None:
        """Look at the files from time to time, for ever."""
        while True:
            self.tell()
            await asyncio.sleep(LOOK_EVERY)
            self.renew()

    def renew(self) -> None:
        """Take the certificate that is in the files, if they have changed and fit.

        The two files change one after the other, so it is no trouble before the second look.
        """
        stamp, seen = self._look(), self._seen
        self._seen = stamp
        if stamp == self._stamp:
            return
        try:
            self.context, self._ends_at = _read(*self._files, _no_passphrase)
        except ConfigError as error:
            if stamp == seen != self._refused:
                log.error("certificate_not_read", error=str(error), consequence="the old one stays")
                self._refused = stamp
            return
        self._stamp, self._told_at = stamp, float("inf")
        log.info("certificate_renewed", file=str(self._files[0]), expires=self._end)

    def tell(self) -> None:
        """Warn of a certificate that expires soon, or has, once a day and when it does."""
        now, left = self._wall(), self.seconds_left
        is_due = abs(now - self._told_at) >= TELL_EVERY or left <= 0.0 < self._told_left
        if left > SOON or not is_due:
            return
        self._told_at, self._told_left = now, left
        facts = {"file": str(self._files[0]), "expires": self._end}
        remedy = "renew it in these files; the server then reads it by itself"
        if left > 0.0:
            log.warning("certificate_expires_soon", **facts, remedy=remedy)
        else:
            log.error(
                "certificate_expired", **facts, consequence="clients refuse it", remedy=remedy
            )

    @property
    def _end(self) -> str:
        if self._ends_at == float("inf"):
            return "unknown"
        return datetime.fromtimestamp(self._ends_at, UTC).isoformat(timespec="seconds")

    def _look(self) -> Stamp:
        found = []
        for file in self._files:
            try:
                stat = file.stat()
            except OSError:
                found.append((0, 0, 0))
            else:
                found.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
        return tuple(found)


def _no_passphrase() -> str:
    """Refuse a key with a passphrase, for which OpenSSL would stop the server at its terminal."""
    raise ConfigError("the key of --tls-key has a passphrase, which only a start can ask for")


def _read(
    cert: Path, key: Path, passphrase: Callable[[], str] | None = None
) -> tuple[ssl.SSLContext, float]:
    """Return what shows a certificate to clients, and when that expires, Unix seconds."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key, passphrase)
        return context, _end_of(cert.read_bytes())
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"--tls-cert {cert} and --tls-key {key} cannot be used: {reason}; give a certificate "
            f"and its private key, both in PEM"
        ) from None


def _end_of(text: bytes) -> float:
    """Return when the first certificate of a chain expires; infinite if it cannot be told."""
    # Imported here, since most servers have a proxy that speaks TLS.
    from cryptography.x509 import InvalidVersion, load_pem_x509_certificate

    try:
        # OpenSSL takes some behind it that are none here, and these say nothing of its end.
        return load_pem_x509_certificate(text).not_valid_after_utc.timestamp()
    except (ValueError, InvalidVersion):
        return float("inf")
