"""Tables of text cells from CSV and Parquet files, with errors that say where."""

from __future__ import annotations

import csv
import difflib
import gzip
import importlib
import math
import re
import zlib
from array import array
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, repeat
from pathlib import Path
from typing import Any, TextIO, cast

from evenmatch.errors import ArrivalsError
from evenmatch.model.scenario import SHIPPED
from evenmatch.model.ticket import Value

COLUMNS_MAX = 1000
CELL_MAX = 10_000
LINE_MAX = 1_000_000
FORMATS = ".csv, .tsv, .csv.gz, .tsv.gz or .parquet"
SEPARATORS = (",", ";", "\t")
HINT = re.compile(r'"?sep=[,;\t]"?\s*', re.IGNORECASE)
QUOTED = re.compile(r'"[^"]*"')
DECIMAL_COMMAS = re.compile(r"\s*[+-]?\d+,\d+(\s*\|\s*[+-]?\d+(,\d+)?)*\s*", re.ASCII)
"""A number with a comma for its point, or one for each player of a party."""
LINE_ENDS = re.compile(rb"\r\n?|\n")
DATA = "evenmatch.data"
NUMBERS_MAX = 10_000_000
NUMBER_MAX = 1e15

Rows = Iterator[tuple[int, list[str]]]
"""Line numbers and stripped cells; every row has as many cells as the header."""


class ArrivalTable:
    """A file's header and its rows, read while they are taken.

    Args:
        file: The name for messages.
        lines: Line numbers and cells, the header first.
        unit: What a line number counts: `line` or `row`.

    `rows` has the rows that are left, and raises at the first that is bad; who goes on after a
    bad row takes each from `lines` and checks it by `cells_of`.
    """

    def __init__(self, file: str, lines: Rows, unit: str = "line") -> None:
        self.file, self.unit = file, unit
        first = next(lines, None)
        if first is None:
            raise self.error("is empty; the first line must name the columns")
        self.header = tuple(name.strip() for name in first[1])
        self._check_header(first[0])
        self.lines = lines
        self.rows: Rows = ((line, self.cells_of(line, raw)) for line, raw in lines)

    def error(
        self, sentence: str, line: int | None = None, index: int | None = None
    ) -> ArrivalsError:
        """Return an error that names the file, the line and the column."""
        where = self.file
        if line is not None:
            where += f", {self.unit} {line}"
        if index is not None:
            where += f", column {self.header[index]}"
        return ArrivalsError(f"{where}: {sentence}")

    def index(self, column: str) -> int:
        """Return the position of a column.

        Raises:
            ArrivalsError: There is no such column; the message names the nearest.
        """
        if column in self.header:
            return self.header.index(column)
        raise self.error(self.lacks(column))

    def lacks(self, column: str) -> str:
        """Return the sentence about a column that there is not; it names the nearest."""
        near = difflib.get_close_matches(column, self.header, n=1)
        hint = f"; did you mean {near[0]}?" if near else ";"
        return f"has no column {column}{hint} columns are {', '.join(self.header[:50])}"

    def _check_header(self, line: int) -> None:
        if len(self.header) > COLUMNS_MAX:
            raise self.error(f"must have at most {COLUMNS_MAX:,} columns, got {len(self.header):,}")
        for index, name in enumerate(self.header):
            if not name or len(name) > 200:
                number = index + 1
                raise self.error(f"column {number} must have a name of 1 to 200 characters", line)
            if name in self.header[:index]:
                raise self.error(f"column {name} is named twice; names must be different", line)

    def cells_of(self, line: int, raw: list[str]) -> list[str]:
        """Return the stripped cells of a row.

        Raises:
            ArrivalsError: They are more or fewer than the header's, or one is too long.
        """
        if len(raw) != len(self.header):
            width = len(self.header)
            raise self.error(f"must have {width} cells like the header, got {len(raw)}", line)
        cells = [cell.strip() for cell in raw]
        for index, cell in enumerate(cells):
            if len(cell) > CELL_MAX:
                raise self.error(f"must have at most {CELL_MAX:,} characters", line, index)
        return cells


def open_table(name: str, base_dir: Path | None = None) -> ArrivalTable:
    """Open a CSV or Parquet file.

    Args:
        name: The file; `evenmatch:NAME` is one that comes with evenmatch.
        base_dir: The folder from which relative names count.

    Raises:
        ArrivalsError: The file is missing or is not what its name says. Errors further down in
            the file are raised when its rows are taken.
    """
    path = _locate(name, base_dir)
    kind = path.name.lower()
    if kind.endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz")):
        return ArrivalTable(name, _csv_lines(name, path, is_packed=kind.endswith(".gz")))
    if kind.endswith(".parquet"):
        from evenmatch.simulation.arrivals.tables import parquet_lines

        return ArrivalTable(name, parquet_lines(name, path), unit="row")
    raise ArrivalsError(f"{name}: must be a file that ends in {FORMATS}")


def numbers_in(name: str, column: str) -> array[float]:
    """Return all filled cells of a column, which must be numbers.

    Args:
        name: The file; `evenmatch:NAME` is one that comes with evenmatch.
        column: As its header names it.

    Raises:
        ArrivalsError: There is no such file or column, a cell is no number, or there are none or
            more than `NUMBERS_MAX`.
    """
    table = open_table(name)
    index = table.index(column)
    found = array("d")
    for line, cells in table.rows:
        if not cells[index]:
            continue
        try:
            value = number_of(cells[index])
        except ValueError as error:
            raise table.error(str(error), line, index) from None
        if value is None or abs(value) > NUMBER_MAX:
            allowed = f"a number between -{NUMBER_MAX:g} and {NUMBER_MAX:g}"
            raise table.error(f"must be {allowed}, got {cells[index]:.40}", line, index)
        if len(found) == NUMBERS_MAX:
            raise table.error(f"must have at most {NUMBERS_MAX:,} values", line, index)
        found.append(value)
    if not found:
        raise table.error(f"has no value in column {column}")
    return found


def number_of(text: str) -> float | None:
    """Return the number that the whole text stands for, or None for a word.

    Raises:
        ValueError: The text says NaN or infinity.

    >>> number_of("1e3"), number_of("ranked")
    (1000.0, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value):
        raise ValueError(f"must be a finite number, or empty for none, got {text}")
    return None if "_" in text else value


def value_of(text: str) -> Value:
    """Return a cell as an attribute: a number, a word, or a set of words joined by `+`.

    Raises:
        ValueError: The text says NaN or infinity, or a member of the set is empty.

    >>> value_of("12.5"), value_of("en"), value_of("fr+en")
    (12.5, 'en', ('en', 'fr'))
    """
    number = number_of(text)
    return words_of(text) if number is None else number


def words_of(text: str) -> str | tuple[str, ...]:
    """Return a cell as a word, even if it looks like a number, or a set of words joined by `+`.

    Raises:
        ValueError: A member of the set is empty.

    >>> words_of("007"), words_of("12+9")
    ('007', ('12', '9'))
    """
    if "+" not in text:
        return text
    words = {word.strip() for word in text.split("+")}
    if "" in words:
        raise ValueError(f'must be a set of words joined by "+", none of them empty, got "{text}"')
    return tuple(sorted(words))


def _locate(name: str, base_dir: Path | None) -> Path:
    if not name.startswith(SHIPPED):
        return Path(name) if base_dir is None else base_dir / name
    file = name.removeprefix(SHIPPED)
    # Loaded here, since most arrivals do not come with the package.
    from importlib.resources import files

    folder = Path(str(files(DATA)))
    if not re.fullmatch(r"[\w-][\w.-]*", file) or not (folder / file).is_file():
        shipped = sorted(each.name for each in folder.glob("*.csv.gz"))
        raise ArrivalsError(
            f"{name}: no such file comes with evenmatch; there are {', '.join(shipped)}"
        )
    return folder / file


def _csv_lines(name: str, path: Path, *, is_packed: bool) -> Rows:
    line, reader = 0, None
    try:
        with _open_text(path, is_packed=is_packed) as file:
            lines = _physical_lines(name, file)
            before, head = _header_of(lines)
            separator = separator_of(head)
            counted = chain(repeat("\n", before), [head], lines)
            reader = csv.reader(counted, strict=True, delimiter=separator)
            for cells in reader:
                line = reader.line_num
                if cells:
                    yield line, cells if separator != ";" else [_with_point(each) for each in cells]
    except csv.Error as error:
        raise ArrivalsError(f"{name}, line {line + 1}: must be valid CSV: {error}") from None
    except UnicodeDecodeError as error:
        # Text is decoded in blocks: all lines that ended before this one have been read.
        read = 0 if reader is None else reader.line_num
        broken = read + 1 + len(LINE_ENDS.findall(error.object[: error.start]))
        where = "its first line" if broken == 1 else f"line {broken:,}"
        raise ArrivalsError(f"{name}: must be UTF-8 text, and {where} is not") from None
    except gzip.BadGzipFile:
        raise ArrivalsError(f"{name}: must be a gzip file, and it is not") from None
    except (EOFError, zlib.error):
        where = f"after line {line}" if line else "near its start"
        raise ArrivalsError(f"{name}: must be a whole gzip file; it breaks {where}") from None
    except (OSError, ValueError) as error:
        if isinstance(error, ArrivalsError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise ArrivalsError(f"{name}: cannot be read: {reason}") from None


def _open_text(path: Path, *, is_packed: bool) -> TextIO:
    if is_packed:
        return cast("TextIO", gzip.open(path, "rt", encoding="utf-8-sig", newline=""))
    return path.open(encoding="utf-8-sig", newline="")


def _header_of(lines: Iterator[str]) -> tuple[int, str]:
    """Return how many lines come before the header, and the header; "" if there is none.

    Before it may be empty lines, and a line `sep=;`, which tells a spreadsheet the separator.
    """
    before = 0
    for line in lines:
        if line.strip("\r\n") and (before or not HINT.fullmatch(line)):
            return before, line
        before += 1
    return before, ""


def separator_of(head: str) -> str:
    """Return what separates the cells of a header: the most frequent outside quotes.

    >>> separator_of("at;player;rating"), separator_of("at")
    (';', ',')
    """
    plain = QUOTED.sub("", head)
    return max(SEPARATORS, key=plain.count)


def _with_point(cell: str) -> str:
    """Return a cell of a file that is separated by `;`, because its numbers have commas.

    >>> _with_point("1500,5"), _with_point("1500,5|1480"), _with_point("eu,us")
    ('1500.5', '1500.5|1480', 'eu,us')
    """
    return cell.replace(",", ".") if DECIMAL_COMMAS.fullmatch(cell) else cell


def _physical_lines(name: str, file: TextIO) -> Iterator[str]:
    """Yield lines; a file without line ends must not fill the memory."""
    number = 0
    while text := file.readline(LINE_MAX + 1):
        number += 1
        if len(text) > LINE_MAX:
            raise ArrivalsError(f"{name}, line {number}: must have at most {LINE_MAX:,} characters")
        yield text


# The one place that knows pyarrow: Parquet files as lines of text cells.

BATCH = 10_000


def parquet_lines(name: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the column names as row 0, then every row as text cells, numbered from 1.

    Cells mean the same as in a CSV file; null is an empty cell.

    Args:
        name: The file's name for messages.
        path: The file.

    Raises:
        ArrivalsError: pyarrow is missing, or the file or a value in it cannot be read.
    """
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ArrivalsError(
            f'{name}: Parquet needs pyarrow; install it with: pip install "evenmatch[parquet]"'
        ) from None
    # pyarrow's errors are ValueErrors and OSErrors; ours is a ValueError too and passes through.
    try:
        with parquet.ParquetFile(path) as file:
            header = list(file.schema_arrow.names)
            yield 0, header
            row = 0
            for batch in file.iter_batches(batch_size=BATCH):
                columns = [column.to_pylist() for column in batch.columns]
                for values in zip(*columns, strict=True):
                    row += 1
                    yield row, [_cell(name, row, header[i], each) for i, each in enumerate(values)]
    except (OSError, ValueError, NotImplementedError) as error:
        if isinstance(error, ArrivalsError):
            raise
        reason = " ".join(str(error).split())
        raise ArrivalsError(f"{name}: cannot be read as Parquet: {reason}") from None


def _cell(name: str, row: int, column: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    if isinstance(value, datetime):
        return value.isoformat()
    kind = type(value).__name__
    raise ArrivalsError(
        f"{name}, row {row}, column {column}: must be a number, a time or text, got {kind}"
    )


def write_parquet(path: Path, columns: dict[str, list[Any]]) -> None:
    """Write columns of equal length: of texts, of whole numbers, or of numbers with gaps.

    Raises:
        ArrivalsError: pyarrow is missing, or the file cannot be written.
    """
    try:
        pyarrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ArrivalsError(
            f'{path}: Parquet needs pyarrow; install it with: pip install "evenmatch[parquet]"'
        ) from None
    kinds = {"at": pyarrow.float64(), "leaves_at": pyarrow.float64(), "size": pyarrow.int64()}
    table = pyarrow.table(
        {
            name: pyarrow.array(values, kinds.get(name, pyarrow.string()))
            for name, values in columns.items()
        }
    )
    try:
        parquet.write_table(table, path)
    except OSError as error:
        raise ArrivalsError(f"{path}: cannot be written: {error}") from None
