"""Reference files for tests that need them: those in the repository, and some beside it."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = Path(__file__).parent / "data"
"""What ships with the tests; NOTICE.md there says whence it comes."""


def shared_file(name: str) -> Path:
    """Return a reference file; skip the test if it neither ships nor lies beside the repository.

    $EVENMATCH_SHARED says where those are that do not ship.
    """
    own = SHIPPED / Path(name).name
    if own.is_file():
        return own
    folder = Path(os.environ.get("EVENMATCH_SHARED", ROOT.parent / "shared"))
    path = folder / name
    if not path.is_file():
        pytest.skip(f"{path} is missing; EVENMATCH_SHARED names the folder that holds {name}")
    return path
