"""What commands write: one JSON object, JSON lines, and tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evenmatch.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

WIDTH_OF_PIPES = 240


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object on a line of standard output; numbers are not rounded."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")


def console() -> Console:
    """Return where tables are printed: as wide as the terminal, and never cut for a pipe."""
    from rich.console import Console

    return Console(
        highlight=False, markup=False, width=None if sys.stdout.isatty() else WIDTH_OF_PIPES
    )


def check_writable(*paths: Path | None) -> None:
    """Refuse files that cannot be written, before the long work rather than after it.

    Raises:
        ConfigError: A folder does not exist, or the path is a folder.
    """
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise ConfigError(f"{path} is a folder; name a file")
        if not path.absolute().parent.is_dir():
            raise ConfigError(f"{path} cannot be written: its folder does not exist")


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object a line.

    Raises:
        ConfigError: The file cannot be written.
    """
    encoder = msgspec.json.Encoder()
    try:
        with path.open("wb") as file:
            for row in rows:
                file.write(encoder.encode(row) + b"\n")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file.

    Raises:
        ConfigError: The file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from None
