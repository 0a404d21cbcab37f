"""Docstrings and comments name modules, and what is in them, by names that are there.

A dotted name in backticks, `criteria.rules.relative` say, may leave out the packages in front. The
examples in docstrings give what they say.
"""

import ast
import doctest
import importlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[1] / "src"
DOTTED = re.compile(r"`([a-z_]\w*(?:\.\w+)+)[`(]")

FILES = frozenset({"css", "db", "h", "json", "jsonl"})
"""Ends of names of files; those that end in `py` are looked for."""

OTHER_NAMES = frozenset(
    [
        "accept.seconds",
        "asyncpg.Connection",
        "batch.facts.values",
        "budget.gave_up",
        "budget.steps",
        "facts.values",
        "latency.eu",
        "match.tickets",
        "my_package.policies",
        "pool.seated",
        "runtime.start",
        "segment.first_seq",
        "server.limits.pool_max",
        "tables.sequence",
    ]
)
"""Attributes of variables, keys of files, and what is not ours."""


def modules() -> dict[str, str]:
    """Return the text of each module by its dotted name."""
    found = {}
    for path in sorted((SRC / "evenmatch").rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path.read_text(encoding="utf-8")
    return found


def names_in(body: ast.AST, at: str) -> Iterator[str]:
    """Yield what a module or a class defines, and what is in its classes, each below `at`."""
    for node in ast.iter_child_nodes(body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{at}.{node.name}"
            if isinstance(node, ast.ClassDef):
                yield from names_in(node, f"{at}.{node.name}")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (f"{at}.{each.id}" for each in targets if isinstance(each, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{at}.{each.asname or each.name}" for each in node.names)
        elif isinstance(node, ast.If):
            yield from names_in(node, at)


def endings(texts: dict[str, str]) -> frozenset[str]:
    """Return each name of evenmatch, and each of its ends that has a module in front."""
    ends: set[str] = set()
    for module, text in texts.items():
        depth = module.count(".") + 1
        for name in (module, *names_in(ast.parse(text), module)):
            parts = name.split(".")
            ends.update(".".join(parts[start:]) for start in range(depth))
    return frozenset(ends)


def wrong_names(text: str, known: frozenset[str]) -> Iterator[str]:
    """Yield the dotted names in backticks that stand for nothing."""
    for found in DOTTED.finditer(text):
        name, (first, *_, last) = found[1], found[1].split(".")
        if name in OTHER_NAMES or first in sys.stdlib_module_names or last in FILES:
            continue
        if (name.removesuffix(".py") if last == "py" else name) not in known:
            yield name


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return modules()


@pytest.fixture(scope="module")
def known(texts: dict[str, str]) -> frozenset[str]:
    return endings(texts)


def test_dotted_names_in_docstrings_and_comments_are_there(
    texts: dict[str, str], known: frozenset[str]
) -> None:
    assert len(texts) > 300
    problems: dict[str, list[str]] = defaultdict(list)
    for module, text in texts.items():
        for name in wrong_names(text, known):
            problems[module].append(name)
    assert not problems, "\n".join(f"{module}: {names}" for module, names in problems.items())


@pytest.mark.parametrize(
    ("name", "is_there"),
    [
        ("criteria.rules", True),
        ("solvers.matching.pairs.shape_gap", True),
        ("candidates.Join.net", True),
        ("evenmatch.testing.check_policy", True),
        ("sqlite_file.py", True),
        ("cost.rules", False),
        ("solvers.pairs", False),
        ("criteria.rules.nothing", False),
        ("nothing.py", False),
    ],
)
def test_check_finds_names_that_are_gone(name: str, is_there: bool, known: frozenset[str]) -> None:
    wrong = list(wrong_names(f"See `{name}`.", known))
    assert wrong == ([] if is_there else [name])


def exampled() -> list[str]:
    """Return the names of the modules with examples."""
    return [name for name, text in modules().items() if ">>> " in text]


@pytest.mark.parametrize("name", exampled())
def test_examples_in_docstrings_give_what_they_say(name: str) -> None:
    problems: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    for example in doctest.DocTestFinder().find(importlib.import_module(name)):
        runner.run(example, out=problems.append)
    assert runner.tries > 0
    assert not problems, "".join(problems)
