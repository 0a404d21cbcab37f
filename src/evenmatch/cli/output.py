"""What commands write: one JSON object, JSON lines, and tables for people."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import msgspec

from evenmatch.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from evenmatch.lab.report.figures import GroupTable

WIDTH_OF_PIPES = 240
PADDING = re.compile(r" +(?=\n)")


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object on a line of standard output; numbers are not rounded."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")


def console() -> Console:
    """Return where tables are printed: as wide as the terminal, and never cut for a pipe."""
    from rich.console import Console

    if sys.stdout.isatty():
        return Console(highlight=False, markup=False)
    file = cast("IO[str]", _UnpaddedFile(sys.stdout))
    return Console(highlight=False, markup=False, width=WIDTH_OF_PIPES, file=file)


class _UnpaddedFile:
    """A file whose lines end where their words do: rich pads the last column of a table."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(PADDING.sub("", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def print_groups(out: Console, tables: Iterable[GroupTable]) -> None:
    """Print the tables of `--by`."""
    from rich.table import Table
    from rich.text import Text

    for each in tables:
        out.print(f"\nby {each.attribute}", soft_wrap=True)
        table = Table(box=None, pad_edge=False)
        table.add_column(Text(each.attribute), overflow="fold")
        for words in each.heads:
            table.add_column(Text(words), justify="right", overflow="fold")
        for row in each.rows:
            table.add_row(*map(Text, row))
        out.print(table)


def check_writable(outputs: Mapping[str, Path | None]) -> None:
    """Refuse files that cannot be written, before the long work rather than after it.

    Args:
        outputs: A path by the option that names it.

    Raises:
        ConfigError: A folder does not exist, or the path is a folder or empty.
    """
    for option, path in outputs.items():
        if path is None:
            continue
        if path.is_dir():
            raise ConfigError(f"{option}: {path} is a folder; name a file")
        if not path.absolute().parent.is_dir():
            raise ConfigError(f"{option}: {path} cannot be written: its folder does not exist")


def check_distinct_paths(
    outputs: Mapping[str, Path | None], inputs: Iterable[tuple[str, Path]]
) -> None:
    """Refuse an output that would overwrite an input or another output.

    Args:
        outputs: A path by the option that names it.
        inputs: What is read: what people call it, and its path.

    Raises:
        ConfigError: Two names mean one file.
    """
    taken = list(inputs)
    for option, path in outputs.items():
        if path is None:
            continue
        for what, other in taken:
            if _is_one_file(path, other):
                raise ConfigError(f"{option}: {path} is already {what}; name another file")
        taken.append((option, path))


def _is_one_file(path: Path, other: Path) -> bool:
    try:
        # Sees through links, and through names that differ in case only.
        if path.samefile(other):
            return path.is_file()
    except OSError:
        pass
    return path.resolve() == other.resolve() and not path.exists()


@contextmanager
def removed_if_unfinished(*paths: Path) -> Iterator[None]:
    """Remove files that are not written to their end: half of one would pass for the whole.

    Devices stay, and so do links, of which /dev/stdout is one.
    """
    try:
        yield
    except BaseException:
        for path in paths:
            if path.is_file() and not path.is_symlink():
                with suppress(OSError):
                    path.unlink()
        raise


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object a line.

    Raises:
        ConfigError: The file cannot be written.
    """
    encoder = msgspec.json.Encoder()
    try:
        # A file that cannot even be opened is still what it was.
        opened = path.open("wb")
        with removed_if_unfinished(path), opened as file:
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
        # The name of a file may hold what is no character.
        opened = path.open("w", encoding="utf-8", errors="backslashreplace")
        with removed_if_unfinished(path), opened as file:
            file.write(text)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from None
