"""The public names: sorted, complete, importable, loaded lazily."""

import ast
import collections.abc
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import evenmatch


def test_all_is_sorted_without_repeats() -> None:
    assert evenmatch.__all__ == sorted(set(evenmatch.__all__))


def test_all_names_exactly_the_table() -> None:
    assert set(evenmatch.__all__) == set(evenmatch._PUBLIC)


@pytest.mark.parametrize("name", evenmatch.__all__)
def test_public_name_is_importable(name: str) -> None:
    value = getattr(evenmatch, name)
    assert getattr(value, "__module__", evenmatch._PUBLIC[name]).startswith("evenmatch.")


def test_dir_lists_every_public_name() -> None:
    assert set(evenmatch.__all__) <= set(dir(evenmatch))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = evenmatch.nothing


def test_type_checkers_see_the_same_names_from_the_same_modules() -> None:
    path = Path(evenmatch.__file__)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guard = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module
        for node in guard.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == evenmatch._PUBLIC


def test_import_loads_none_of_the_modules_behind_the_names() -> None:
    program = (
        "import sys, evenmatch\n"
        "loaded = sorted(set(evenmatch._PUBLIC.values()) & set(sys.modules))\n"
        "assert not loaded, loaded\n"
        "evenmatch.MatchmakingError\n"
        "assert 'evenmatch.errors' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_version_is_the_installed_one() -> None:
    from importlib.metadata import version

    assert evenmatch.__version__ == version("evenmatch")


@pytest.mark.parametrize("client", [evenmatch.AsyncClient, evenmatch.Client])
def test_everything_that_a_client_takes_and_gives_is_importable(client: type) -> None:
    spoken = set()
    for name, method in vars(client).items():
        if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
            spoken |= {*" ".join(map(str, inspect.get_annotations(method).values())).split()}
    words = set(re.findall(r"[A-Z]\w+", " ".join(spoken)))
    abroad = {*collections.abc.__all__, "SSLContext", "None", "Chance"}
    assert len(words) > 15
    assert words - abroad <= set(evenmatch.__all__)
