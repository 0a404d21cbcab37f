"""Files for tests: those that ship with them, and some that may lie beside the repository."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = Path(__file__).parent / "data"
"""What ships with the tests; NOTICE.md there says whence it comes."""


def shipped(name: str) -> Path:
    """Return a file that ships with the tests."""
    return SHIPPED / name


def beside(name: str) -> Path | None:
    """Return a file that doesn't ship, if it lies beside the repository or in $EVENMATCH_SHARED.

    Tests that need one are left out where it is missing: others, on what ships, are in their place.
    """
    path = Path(os.environ.get("EVENMATCH_SHARED", ROOT.parent / "shared")) / name
    return path if path.is_file() else None
