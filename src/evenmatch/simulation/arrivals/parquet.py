"""The one place that knows pyarrow: Parquet files as lines of text cells."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenmatch.errors import ArrivalsError

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
    kind = type(value).__name__
    raise ArrivalsError(f"{name}, row {row}, column {column}: must be a number or text, got {kind}")


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
