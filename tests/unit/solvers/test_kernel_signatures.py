"""Signatures are texts, so neither a linter nor a type checker sees a name in one that is gone."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenmatch

SOURCE = Path(evenmatch.__file__).parent
NAME = re.compile(r"[A-Za-z_]\w*")


def signatures() -> Iterator[tuple[str, str, str]]:
    """Yield the decorator, the signature and the name of everything that kernels are made of."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            for each in node.decorator_list:
                if isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
                    first = each.args[0] if each.args else None
                    if each.func.id in {"kernel", "record"} and isinstance(first, ast.Constant):
                        yield each.func.id, str(first.value), node.name


def test_signatures_name_only_types_that_exist() -> None:
    types = pytest.importorskip("numba").types
    found = list(signatures())
    records = {name for decorator, _, name in found if decorator == "record"}
    assert len(found) > 100
    assert records
    unknown = {
        (owner, name)
        for _, text, owner in found
        for name in NAME.findall(text)
        if name not in records and not hasattr(types, name)
    }
    assert not unknown
