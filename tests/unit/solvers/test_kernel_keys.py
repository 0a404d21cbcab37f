import ast
import zipfile
import zipimport
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from evenmatch.solvers.kernel_keys import DECORATOR, PACKAGE, Sources, root, sources

FILES = {
    "__init__.py": "",
    "base.py": "ONE = 1\n",
    "middle.py": "from evenmatch.solvers.base import ONE\n",
    "top.py": "from evenmatch.solvers.middle import ONE\n",
    "apart.py": "import numpy\n",
    "kernel.py": "from evenmatch.solvers.base import ONE\n",
    "deep/__init__.py": "",
    "deep/inner.py": "from evenmatch.solvers.kernel import kernel\n",
    "deep/other.py": "",
}


def written(folder: Path, **changes: str) -> Sources:
    """Write a package of solvers, some of its modules with another text, and return its sources."""
    texts = FILES | {f"{name.replace('__', '/')}.py": text for name, text in changes.items()}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Sources(str(folder), SourceFileLoader(PACKAGE, str(folder / "__init__.py")))


def keys(found: Sources) -> dict[str, str | None]:
    return {module: found.key(module) for module in found.modules()}


def test_change_of_a_dependency_changes_its_dependents_keys_and_no_others(tmp_path: Path) -> None:
    before = keys(written(tmp_path))
    after = keys(written(tmp_path, base="ONE = 2\n"))
    assert {name for name in before if before[name] != after[name]} == {"base", "middle", "top"}


def test_keys_are_of_content_and_not_of_place_or_time(tmp_path: Path) -> None:
    assert keys(written(tmp_path / "a")) == keys(written(tmp_path / "b"))


def test_change_of_the_decorator_changes_no_key(tmp_path: Path) -> None:
    before = keys(written(tmp_path))
    assert keys(written(tmp_path, kernel="import os\n")) == before


@pytest.mark.parametrize(
    "text",
    [
        "from evenmatch.solvers.base import ONE",
        "from evenmatch.solvers.base import (\n    ONE,  # the first :)\n    TWO,\n)",
        "from evenmatch.solvers.base import *",
        "from evenmatch.solvers import apart, base",
        "from evenmatch.solvers import (\n    apart,\n    base,\n)",
        "from evenmatch.solvers import apart, \\\n    base as b",
        "import evenmatch.solvers.base",
        "import numpy, evenmatch.solvers.base as b",
        "def f():\n    from evenmatch.solvers.base import ONE",
        "if True: from evenmatch.solvers.base import ONE",
        "from .base import ONE",
        "from . import base",
        "importlib.import_module('evenmatch.solvers.base')",
    ],
)
def test_imports_of_every_form_are_found(tmp_path: Path, text: str) -> None:
    assert "base" in written(tmp_path, middle=text).imports("middle")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from .. import base", {"base"}),
        ("from ..base import ONE", {"base"}),
        ("from . import other", {"deep", "deep.other"}),
        ("from .other import x", {"deep", "deep.other"}),
        ("from evenmatch.solvers.deep import other", {"deep", "deep.other"}),
        ("from evenmatch.solvers import deep", {"deep", "deep.other"}),
        ("from evenmatch.errors import ConfigError", set()),
        ("from evenmatch.solvers.kernel import kernel", set()),
    ],
)
def test_imports_of_a_package(tmp_path: Path, text: str, found: set[str]) -> None:
    assert written(tmp_path, deep__inner=text).imports("deep.inner") == found


def test_circles_end(tmp_path: Path) -> None:
    circle = written(tmp_path, base="def f():\n    from evenmatch.solvers.top import x\n")
    assert circle.closure("base") == circle.closure("top") == {"base", "middle", "top"}
    assert circle.key("base") != written(tmp_path).key("base")


def test_module_without_source_has_no_key(tmp_path: Path) -> None:
    assert written(tmp_path).key("nowhere") is None


def test_package_in_a_zip_file_has_the_same_keys(tmp_path: Path) -> None:
    plain = written(tmp_path / "plain")
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for name, text in FILES.items():
            file.writestr(f"solvers/{name}", text)
    zipped = Sources(str(archive / "solvers"), zipimport.zipimporter(str(archive)))
    assert {name: zipped.key(name) for name in plain.modules()} == keys(plain)


def test_imports_of_the_solvers_are_those_that_the_parser_finds() -> None:
    found = sources()
    modules = found.modules()
    assert "teams.anneal" in modules
    for module in modules:
        named = found.imports(module)
        assert parsed(module) - DECORATOR - {module} <= named
        # A package's own file is named too; all else would be compiled for nothing.
        assert named & set(modules) == parsed(module) & set(modules)


def parsed(module: str) -> set[str]:
    """Return the solvers that a module imports, as the parser sees it."""
    text = Path(root(), *module.split(".")).with_suffix(".py").read_text()
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            below = str(node.module)[len(PACKAGE) + 1 :]
            inner = {f"{below}.{each.name}".strip(".") for each in node.names}
            names |= {name for name in inner if sources().text(name) is not None} or {below}
    return names
