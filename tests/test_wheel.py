"""What is installed: the product and its data, without reproductions, tools and tests."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from evenmatch.cli.main import BAD_INPUT

ROOT = Path(__file__).parents[1]
COMMAND = "evenmatch.cli.main"
POINTS = ("gamedev", "--only", "gamedev.points")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the package alone, as an installation does."""
    folder = tmp_path_factory.mktemp("lib") / "python" / "site-packages"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "evenmatch", folder / "evenmatch", ignore=ignored)
    return folder


def run(installed: Path, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a module of an installation in a folder."""
    return subprocess.run(
        [sys.executable, "-m", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )


def test_reproductions_are_said_to_be_in_the_repository(installed: Path, tmp_path: Path) -> None:
    done = run(installed, COMMAND, "reproduce", "schlup", folder=tmp_path)
    assert done.returncode == BAD_INPUT
    assert done.stdout == ""
    assert done.stderr == (
        "evenmatch: reproductions are not part of what pip installs: in a checkout of the "
        "repository run pip install -e '.[all]', then evenmatch reproduce schlup\n"
    )


def test_help_needs_no_repository(installed: Path, tmp_path: Path) -> None:
    done = run(installed, COMMAND, "reproduce", "--help", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "evenmatch reproduce schlup --quick --out schlup" in done.stdout


def test_papers_run_in_the_repository_as_a_module() -> None:
    done = run(ROOT / "src", "papers", *POINTS, folder=ROOT)
    assert done.returncode == 0, done.stderr
    assert "gamedev.points  holds" in done.stdout


def test_command_finds_papers_from_any_folder(tmp_path: Path) -> None:
    done = run(ROOT / "src", COMMAND, "reproduce", *POINTS, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "gamedev.points  holds" in done.stdout


def test_wheel_is_made_of_the_product_alone() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["src/evenmatch"]}


@pytest.mark.long
def test_wheel_has_neither_papers_nor_tools(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(tmp_path), "."]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("evenmatch-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.split("/")[0] for name in names}
    assert {top.partition("-")[0] for top in tops} == {"evenmatch"}
    assert not {name for name in names if "reproduc" in name} - {"evenmatch/cli/reproduce.py"}
    there = (ROOT / "src" / "evenmatch").rglob("*")
    shipped = {
        f"evenmatch/{path.relative_to(ROOT / 'src' / 'evenmatch').as_posix()}"
        for path in there
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped <= names
