"""Reads files that hold a secret, and turns their text into the bytes of a key.

Editors and `echo` end a file with a line's end that nobody means, so one is left out. Other blanks
at either end are refused, since nobody can see whether they belong to the secret. Bytes that are
no text are taken as they are: a random one may look like a blank.
"""

from __future__ import annotations

from pathlib import Path

from evenmatch.errors import ConfigError

BYTES_MAX = 16_384


def read_secret(path: Path) -> bytes:
    """Return the secret in a file.

    Raises:
        ConfigError: The file cannot be read, is too long, or begins or ends with blanks.
    """
    data = read_key_file(path)
    if not _is_text(data):
        return data
    line = data.removesuffix(b"\n").removesuffix(b"\r")
    if line != line.strip():
        raise ConfigError(
            f"{path} holds a secret with blanks or empty lines before or after it: remove them; "
            f"a single line break at the end does no harm"
        )
    return line


def read_key_file(path: Path) -> bytes:
    """Return what is in a file of keys.

    Raises:
        ConfigError: It cannot be read, or is too long.
    """
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > BYTES_MAX:
        raise ConfigError(f"{path} must hold at most {BYTES_MAX:,} bytes")
    return data


def _is_text(data: bytes) -> bool:
    try:
        return all(each.isprintable() or each.isspace() for each in data.decode())
    except UnicodeDecodeError:
        return False
