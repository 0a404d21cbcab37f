"""Print the figures that a restructuring of the source is judged by: `python -m tools.sizes`.

    python -m tools.sizes [CHECKOUT] [--json]

Modules are Python files that hold something. Lines of code are lines with code on them: blank
lines, comments, docstrings (also those of constants) and imports are left out. What a checkout of
an older layout does not have counts as nothing.

An import circle is a set of files each of which imports all others, directly or not; imports count
wherever they stand in a file, also where only type checkers read them. A name that the package
`evenmatch` itself offers counts as an import of the module that defines it.

A class name is used for more than one thing if several modules of the wheel define it; names with a
leading underscore do not count. It is public if `evenmatch` or `evenmatch.testing` offers it.

A file names a kind of criterion or rule if the kind's tag, as configurations write it, or the
kind's class stands in it as a name or as a string of its own. A tag that is also a plain word, such
as `same`, counts as a string alone.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = "evenmatch"
KINDS = Path("src", PACKAGE, "criteria", "registry.py")
PUBLIC = (Path("src", PACKAGE, "__init__.py"), Path("src", PACKAGE, "testing", "__init__.py"))
APART = {
    "papers": Path("papers"),
    "demo": Path("src", PACKAGE, "demo"),
    "tools": Path("tools"),
}
"""What is counted by itself; only the demo is in the wheel."""
SILENT = frozenset(
    {
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
        tokenize.ENCODING, tokenize.ENDMARKER,
    }
)  # fmt: skip
"""Kinds of tokens that are no code."""


class Source(NamedTuple):
    """One file that holds something."""

    name: str
    """Dotted, as it is imported."""
    path: str
    """Below the checkout."""
    text: str
    tree: ast.Module


class Size(NamedTuple):
    """How much there is of a part."""

    modules: int
    lines: int


class Sizes(NamedTuple):
    """All figures of a checkout."""

    wheel: Size
    apart: Mapping[str, Size]
    circles: list[list[str]]
    public_names: Mapping[str, list[str]]
    """Public class names that several modules define, and the modules."""
    names: Mapping[str, list[str]]
    """The same of all class names."""
    kinds: Mapping[str, list[str]]
    """The files that name each kind."""


def main(arguments: list[str] | None = None) -> int:
    """Print the figures of a checkout."""
    parser = argparse.ArgumentParser(prog="python -m tools.sizes", description=__doc__)
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    if not (given.checkout / "src" / PACKAGE).is_dir():
        print(f"sizes: {given.checkout} has no src/{PACKAGE}", file=sys.stderr)
        return 2
    found = sizes_of(given.checkout)
    if given.json:
        print(json.dumps(_as_json(found), indent=1))
    else:
        print("\n".join(_lines(found)))
    return 0


def sizes_of(checkout: Path) -> Sizes:
    """Return all figures of a checkout.

    Args:
        checkout: The folder that holds `src`.
    """
    wheel = list(read(checkout, Path("src", PACKAGE), Path("src")))
    apart = {name: list(read(checkout, below, Path())) for name, below in APART.items()}
    names = class_names(wheel)
    offered = _offered(checkout)
    return Sizes(
        wheel=size_of(wheel),
        apart={name: size_of(sources) for name, sources in apart.items()},
        circles=circles(imports(wheel, public_modules(checkout))),
        public_names={name: where for name, where in names.items() if name in offered},
        names=names,
        kinds=naming(kinds_of(checkout), [*wheel, *apart["papers"], *apart["tools"]]),
    )


def read(checkout: Path, below: Path, start: Path) -> Iterator[Source]:
    """Yield the modules below a folder that hold more than a docstring.

    Args:
        checkout: The folder of the project.
        below: A folder of it; one that does not exist holds nothing.
        start: The folder from which modules are imported.
    """
    for path in sorted((checkout / below).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        if len(tree.body) > (ast.get_docstring(tree) is not None):
            parts = path.relative_to(checkout / start).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            yield Source(name, str(path.relative_to(checkout)), text, tree)


def size_of(sources: Iterable[Source]) -> Size:
    """Return how many modules these are, and their lines of code."""
    counts = [lines_of_code(source.text, source.tree) for source in sources]
    return Size(len(counts), sum(counts))


def lines_of_code(text: str, tree: ast.Module | None = None) -> int:
    r"""Return how many lines have code on them.

    >>> lines_of_code('import math\n\n# twice\nTWO = 2\n"Twice."\nx = [\n    TWO,\n]\n')
    4
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text) if tree is None else tree):
        if _is_text(node) or isinstance(node, ast.Import | ast.ImportFrom):
            assert isinstance(node, ast.stmt)
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def _is_text(node: ast.AST) -> bool:
    """Return whether a statement is nothing but a text: a docstring, also of a constant."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def imports(sources: Iterable[Source], offered: Mapping[str, str]) -> dict[str, set[str]]:
    """Return which modules each module imports, of those that are given.

    Args:
        sources: The modules.
        offered: Names that the package itself offers, and the modules that define them.
    """
    known = {source.name: source for source in sources if source.name != PACKAGE}
    found: dict[str, set[str]] = {name: set() for name in known}
    for name, source in known.items():
        for imported in _imported(source):
            whole = offered.get(imported.removeprefix(f"{PACKAGE}."), imported)
            parent = whole.rpartition(".")[0]
            target = whole if whole in known else parent
            if target in known and target != name:
                found[name].add(target)
    return found


def _imported(source: Source) -> Iterator[str]:
    """Yield dotted names; `from a import b` gives `a.b`, whether b is a module or a name in one."""
    package = source.name.split(".")[: None if source.path.endswith("__init__.py") else -1]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{start}.{alias.name}" for alias in node.names)


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the sets of modules that import each other, each sorted.

    >>> circles({"a": ["b"], "b": ["c"], "c": ["b"], "d": []})
    [['b', 'c']]
    """
    reached = {name: _reached(graph, name) for name in graph}
    found = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return sorted(map(list, found))


def _reached(graph: Mapping[str, Iterable[str]], start: str) -> set[str]:
    """Return what a module imports, directly or not."""
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph[name]
    return found


def class_names(sources: Iterable[Source]) -> dict[str, list[str]]:
    """Return the class names that several modules define, and the modules."""
    found: dict[str, set[str]] = defaultdict(set)
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].add(source.name)
    return {name: sorted(found[name]) for name in sorted(found) if len(found[name]) > 1}


def naming(kinds: Mapping[str, str], sources: Iterable[Source]) -> dict[str, list[str]]:
    """Return the files that name each kind.

    Args:
        kinds: The class of each tag.
        sources: The files to look at.
    """
    found: dict[str, list[str]] = {tag: [] for tag in kinds}
    for source in sources:
        names, texts = _names(source.tree), _texts(source.tree)
        for tag, kind in kinds.items():
            words = {kind, *([tag] if "_" in tag else [])}
            if tag in texts or words & names:
                found[tag].append(source.path)
    return found


def _names(tree: ast.Module) -> set[str]:
    """Return all identifiers, and the parts of the modules that are imported."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.update(node.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            found.update((node.module or "").split("."))
        elif isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
    return found


def _texts(tree: ast.Module) -> set[str]:
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {node.value for node in nodes if isinstance(node.value, str)}


def kinds_of(checkout: Path) -> dict[str, str]:
    """Return the class of each kind by its tag, from the table of kinds."""
    for node in _statements(checkout / KINDS):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "KINDS":
            assert isinstance(node.value, ast.Dict)
            tags = [ast.literal_eval(key) for key in node.value.keys if key is not None]
            return dict(zip(tags, map(ast.unparse, node.value.values), strict=True))
    raise SystemExit(f"sizes: {KINDS} has no table KINDS")


def public_modules(checkout: Path) -> dict[str, str]:
    """Return the names that the package itself offers, and the modules that define them."""
    found = {}
    for node in ast.walk(ast.parse((checkout / PUBLIC[0]).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
            found.update({alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return found


def _offered(checkout: Path) -> set[str]:
    """Return the names that users import."""
    found: set[str] = set()
    for path in PUBLIC:
        for node in _statements(checkout / path):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found.update(ast.literal_eval(node.value))
    return found


def _statements(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text(encoding="utf-8")).body


def _as_json(sizes: Sizes) -> dict[str, object]:
    plain: dict[str, object] = sizes._asdict()
    plain["wheel"] = sizes.wheel._asdict()
    plain["apart"] = {name: size._asdict() for name, size in sizes.apart.items()}
    return plain


def _lines(sizes: Sizes) -> Iterator[str]:
    yield f"wheel: {sizes.wheel.modules:,} modules, {sizes.wheel.lines:,} lines of code"
    for name, size in sizes.apart.items():
        beside = "in the wheel" if name == "demo" else "beside it"
        yield f"{name}, {beside}: {size.modules:,} modules, {size.lines:,} lines of code"
    yield f"import circles: {len(sizes.circles)}"
    for circle in sizes.circles:
        yield f"  {', '.join(circle)}"
    yield f"class names for more than one thing, public: {len(sizes.public_names)}"
    yield from _places(sizes.public_names)
    yield f"class names for more than one thing, all: {len(sizes.names)}"
    yield from _places(sizes.names)
    yield "files that name a kind of criterion or rule, in the wheel and beside it:"
    for tag, files in sizes.kinds.items():
        shipped = sum(file.startswith("src") for file in files)
        yield f"  {tag}: {shipped} + {len(files) - shipped}"


def _places(names: Mapping[str, list[str]]) -> Iterator[str]:
    for name, modules in names.items():
        yield f"  {name}: {', '.join(modules)}"


if __name__ == "__main__":
    sys.exit(main())
