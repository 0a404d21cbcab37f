"""Reference files that lie beside the repository, for tests that need them."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def shared_file(name: str) -> Path:
    """Return a reference file, or skip the test; $EVENMATCH_SHARED says where they are."""
    folder = Path(os.environ.get("EVENMATCH_SHARED", ROOT.parent / "shared"))
    path = folder / name
    if not path.is_file():
        pytest.skip(f"{path} is missing; EVENMATCH_SHARED names the folder that holds {name}")
    return path
