"""Files of batches: the arrays of a round (`.npz`), or tickets and how they are judged."""

from __future__ import annotations

from pathlib import Path

from evenmatch.errors import ConfigError
from evenmatch.lab.solve.arrays import ALIASES, Given, read_arrays
from evenmatch.lab.solve.json_batch import read_tickets


def read_batch(path: Path) -> Given:
    """Return the batch in a file.

    Raises:
        ConfigError: The file cannot be read, or what it holds cannot be solved.
    """
    if path.suffix not in (".npz", ".json"):
        raise ConfigError(f"{path}: a batch is a file .npz or .json")
    if not path.is_file():
        raise ConfigError(f"{path} {'is no file' if path.exists() else 'does not exist'}")
    if path.suffix == ".json":
        return read_tickets(path)
    return Given(read_arrays(path), ("skill",), ALIASES)
