"""Keep the shape of the source: who may import whom, purity of the core, sizes.

Every problem is reported as `file:line: rule`.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import evenmatch
from papers.reproduction import SOURCES
from tools import sizes

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"evenmatch": ROOT / "src", "papers": ROOT, "tools": ROOT}

MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70


class Row(NamedTuple):
    """What one layer may import: parts of evenmatch, and packages of others.

    A name with a dot allows that module alone: `policies.base`, not all of `policies`.
    """

    ours: frozenset[str]
    third_party: frozenset[str]


def row(ours: str = "", third_party: str = "") -> Row:
    return Row(frozenset(ours.split()), frozenset(third_party.split()))


# A layer may always import itself and errors. Layers without a directory are there for later.
TABLE: dict[str, Row] = {
    "errors": row(),
    "data": row(),
    "model": row("", "msgspec"),
    "criteria": row("model", "msgspec numpy"),
    "solvers": row("", "numpy numba llvmlite highspy rustworkx"),
    "policies": row("model criteria solvers", "msgspec numpy"),
    "engine": row("model criteria solvers policies.base policies.hooks", "msgspec numpy"),
    "explain": row(
        "model criteria solvers policies.base policies.hooks policies.shared.nearest_legal_match "
        "engine",
        "msgspec numpy",
    ),
    "rules": row("model criteria solvers", "msgspec"),
    "config": row("model criteria policies rules simulation.arrivals.tables", "msgspec"),
    "warming": row("model solvers policies engine", "numba"),
    "journals": row("model engine.records", "msgspec asyncpg nats"),
    "ratings": row("model", "msgspec numpy"),
    "theory": row("", "numpy scipy"),
    "forecast": row("model", "msgspec numpy"),
    "simulation": row(
        "model criteria solvers policies engine ratings rules forecast",
        "msgspec numpy pyarrow",
    ),
    "lab": row(
        "model criteria solvers policies engine explain config ratings rules forecast simulation "
        "journals theory",
        "msgspec numpy scipy pyarrow jinja2 matplotlib",
    ),
    "wire": row("model", "msgspec h11"),
    "client": row("wire", "msgspec websockets"),
    "server": row(
        "model criteria solvers policies engine explain config ratings rules journals forecast "
        "wire warming",
        "msgspec numpy starlette uvicorn uvloop httptools websockets prometheus_client "
        "structlog jwt cryptography opentelemetry",
    ),
    "testing": row("model criteria policies engine journals", "msgspec numpy hypothesis"),
}
TABLE["demo"] = row("model criteria config simulation lab wire client", "msgspec numpy rich")
TABLE["cli"] = Row(
    frozenset(TABLE),
    frozenset({"cyclopts", "rich"}).union(*(each.third_party for each in TABLE.values())),
)
TABLE["__main__"] = row("cli")

# Packages beside evenmatch, which the wheel does not have: what each part may import of them. Each
# may import all of evenmatch. Nothing of evenmatch imports them, but the command that runs papers
# finds it by name.
BESIDE: dict[str, frozenset[str]] = {
    name: frozenset(parts.split())
    for name, parts in {
        "papers.shared": "",
        "papers.statements": "papers.shared",
        **{f"papers.{source}": "papers.shared papers.statements" for source in SOURCES},
        "papers.reproduction": "papers.shared papers.statements",
        "papers.report": "papers.shared papers.statements papers.reproduction",
        "papers.command": "papers.shared papers.statements papers.reproduction papers.report",
        "papers.studies": "",
        "papers.__main__": "",
        "tools": "papers",
    }.items()
}
BESIDE_THIRD_PARTY = frozenset(["jinja2", "matplotlib", "msgspec", "numpy", "rich", "scipy"])
FINDS_PAPERS = "evenmatch.cli.reproduce"

PURE = frozenset({"model", "criteria", "solvers", "policies", "engine", "explain", "ratings"})
# The one decorator of compiled kernels keeps a cache of what it compiled.
PURITY_EXEMPT = frozenset(
    {
        "evenmatch.solvers.kernel",
        "evenmatch.solvers.kernel_cache",
        "evenmatch.solvers.kernel_keys",
        "evenmatch.solvers.kernel_loader",
    }
)
IMPURE_MODULES = {
    "clock": "time datetime calendar sched zoneinfo timeit",
    "randomness": "random secrets uuid",
    "threads and processes": "asyncio threading _thread multiprocessing concurrent subprocess "
    "queue signal contextvars",
    "network": "socket ssl select selectors socketserver http urllib ftplib smtplib xmlrpc",
    "files and environment": "os io pathlib shutil tempfile glob fileinput sqlite3 shelve dbm "
    "mmap platform getpass locale",
    "logging": "logging warnings syslog",
}
IMPURE_CALLS = frozenset({"open", "print", "input", "breakpoint"})
GLOBAL_RANDOM = frozenset({"np.random", "numpy.random"})
SEEDED_RANDOM = frozenset(
    {"Generator", "SeedSequence", "BitGenerator", "PCG64", "PCG64DXSM", "Philox", "SFC64"}
)

# The packages that users import from; all others hold their docstring only.
PUBLIC_PACKAGES = frozenset({"evenmatch", "evenmatch.testing"})

HEAVY = ("numba", "scipy", "pyarrow", "matplotlib", "starlette", "uvicorn")


class Module(NamedTuple):
    """One parsed source file."""

    name: str  # dotted, "evenmatch" for the top
    path: str
    text: str
    tree: ast.Module
    nodes: list[ast.AST]  # of the tree: eight checks go through them all
    is_package: bool = False

    @property
    def layer(self) -> str:
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else ""

    @property
    def is_beside(self) -> bool:
        """Whether the wheel does not have it."""
        return self.name.split(".")[0] != "evenmatch"


class Problem(NamedTuple):
    path: str
    line: int
    rule: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}"


def parse(name: str, text: str, path: str = "example.py", is_package: bool = False) -> Module:
    tree = ast.parse(text, path)
    return Module(name, path, text, tree, list(ast.walk(tree)), is_package)


def read_modules() -> list[Module]:
    modules = []
    for package, folder in PACKAGES.items():
        for path in sorted((folder / package).rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            text = path.read_text(encoding="utf-8")
            modules.append(parse(name, text, str(path.relative_to(ROOT)), is_package))
    return modules


def imported_names(module: Module) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of all imports, also in functions and under TYPE_CHECKING.

    `from a import b` gives `a.b`, whether b is a module or a name in one.
    """
    package = module.name.split(".") if module.is_package else module.name.split(".")[:-1]
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{start}.{alias.name}"


def part_imported(name: str) -> str | None:
    """Return what `name` is inside evenmatch, `policies.base.Policy` say, or None for the top.

    A public name taken from the top counts as an import of the module that defines it.
    """
    parts = name.split(".")
    if len(parts) > 1 and parts[1] in evenmatch._PUBLIC:
        parts = [*evenmatch._PUBLIC[parts[1]].split("."), parts[1]]
    rest = ".".join(parts[1:])
    return None if rest in {"", "__version__"} else rest


def import_problems(module: Module) -> Iterator[Problem]:
    if module.is_beside or module.name == "evenmatch":
        return  # the top loads public names lazily; tests/test_exports.py looks after it
    allowed = TABLE.get(module.layer)
    if allowed is None:
        yield Problem(module.path, 1, f"{module.layer!r} has no row in the import table")
        return
    ours = {*allowed.ours, module.layer, "errors"}
    for line, name in imported_names(module):
        top = name.split(".")[0]
        if top == "evenmatch":
            part = part_imported(name)
            if part is not None and not any(f"{part}.".startswith(f"{x}.") for x in ours):
                yield Problem(module.path, line, f"{module.layer} may not import evenmatch.{part}")
        elif top not in sys.stdlib_module_names and top not in allowed.third_party:
            yield Problem(module.path, line, f"{module.layer} may not import the package {top}")


def beside_problems(module: Module) -> Iterator[Problem]:
    """Find what a part of papers or tools may not import."""
    if not module.is_beside:
        return
    top, _, rest = module.name.partition(".")
    part = top if top in BESIDE or not rest else f"{top}.{rest.partition('.')[0]}"
    if part not in BESIDE and rest:
        yield Problem(module.path, 1, f"{part} has no row in the table of what is beside evenmatch")
        return
    for line, name in imported_names(module):
        start = name.split(".")[0]
        if start in PACKAGES and start != "evenmatch":
            if not any(f"{name}.".startswith(f"{each}.") for each in {*BESIDE.get(part, ()), part}):
                yield Problem(module.path, line, f"{part} may not import {name}")
        elif start not in sys.stdlib_module_names | BESIDE_THIRD_PARTY | {"evenmatch"}:
            yield Problem(module.path, line, f"{part} may not import the package {start}")


def naming_problems(module: Module) -> Iterator[Problem]:
    """Find what evenmatch loads by name, though the wheel does not have it."""
    if module.is_beside or module.name == FINDS_PAPERS:
        return
    for node in module.nodes:
        if isinstance(node, ast.Call) and _called(node.func) in ("import_module", "find_spec"):
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            for text in (str(each).split(".")[0] for each in texts):
                if text in PACKAGES and text != "evenmatch":
                    yield Problem(module.path, node.lineno, f"{FINDS_PAPERS} alone finds {text}")


def _called(function: ast.expr) -> str:
    """Return the last word of what is called."""
    return getattr(function, "attr", "") or getattr(function, "id", "")


def _dotted(value: ast.expr) -> str:
    """Return a name, or a name and an attribute of it, as they are written."""
    if isinstance(value, ast.Attribute):
        return f"{_dotted(value.value)}.{value.attr}"
    return value.id if isinstance(value, ast.Name) else ""


def is_pure(module: Module) -> bool:
    return not module.is_beside and module.layer in PURE and module.name not in PURITY_EXEMPT


def impure_import_problems(module: Module) -> Iterator[Problem]:
    if not is_pure(module):
        return
    kinds = {name: kind for kind, names in IMPURE_MODULES.items() for name in names.split()}
    for line, name in imported_names(module):
        top = name.split(".")[0]
        if top in kinds:
            rule = f"{module.layer} is pure and may not import {top} ({kinds[top]})"
            yield Problem(module.path, line, rule)
        elif name.startswith("numpy.random."):
            yield from _random_problem(module, line, name.split(".")[2], has_seed=True)


def impure_call_problems(module: Module) -> Iterator[Problem]:
    if not is_pure(module):
        return
    calls = [node for node in module.nodes if isinstance(node, ast.Call)]
    seeded = {id(call.func) for call in calls if call.args or call.keywords}
    for call in calls:
        if isinstance(call.func, ast.Name):
            if call.func.id in IMPURE_CALLS:
                rule = f"{module.layer} is pure and may not call {call.func.id}()"
                yield Problem(module.path, call.lineno, rule)
            elif call.func.id == "default_rng" and id(call.func) not in seeded:
                yield from _random_problem(module, call.lineno, "default_rng", has_seed=False)
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and _dotted(node.value) in GLOBAL_RANDOM:
            yield from _random_problem(module, node.lineno, node.attr, has_seed=id(node) in seeded)


def _random_problem(module: Module, line: int, name: str, *, has_seed: bool) -> Iterator[Problem]:
    if name == "default_rng" and not has_seed:
        yield Problem(module.path, line, f"{module.layer} is pure: default_rng() needs a seed")
    elif name not in SEEDED_RANDOM | {"default_rng"}:
        rule = f"{module.layer} is pure and may not use the global generator: numpy.random.{name}"
        yield Problem(module.path, line, rule)


def init_problems(module: Module) -> Iterator[Problem]:
    """Find packages that hold code, and those that do not say what they hold."""
    if not module.is_package or module.name in PUBLIC_PACKAGES:
        return
    docstring = ast.get_docstring(module.tree)
    has_docstring = docstring is not None
    if len(module.tree.body) > has_docstring:
        yield Problem(module.path, 1, "the __init__ of a subpackage holds its docstring alone")
    if not has_docstring:
        yield Problem(module.path, 1, "a package says what lives in it")
    elif module.name.startswith("evenmatch.") and not says_imports(docstring or ""):
        yield Problem(module.path, 1, "a package says what it may import and what it never does")


def says_imports(docstring: str) -> bool:
    """Return whether a docstring says what is imported, and what never is or happens."""
    words = set(re.findall(r"[a-z]+", docstring.lower()))
    return bool(words & {"import", "imports"}) and bool(words & {"never", "nothing", "no"})


def size_problems(module: Module) -> Iterator[Problem]:
    lines = len(module.text.splitlines())
    if lines > MODULE_LINES_MAX:
        rule = f"a module has at most {MODULE_LINES_MAX} lines, this one has {lines}"
        yield Problem(module.path, MODULE_LINES_MAX + 1, rule)
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                rule = (
                    f"a function has at most {FUNCTION_LINES_MAX} lines, {node.name} has {length}"
                )
                yield Problem(module.path, node.lineno, rule)


def todo_problems(module: Module) -> Iterator[Problem]:
    for number, line in enumerate(module.text.splitlines(), start=1):
        found = re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line)
        if found:
            yield Problem(module.path, number, f"no {found[0]} in the source")


CHECKS: list[Callable[[Module], Iterator[Problem]]] = [
    import_problems,
    beside_problems,
    naming_problems,
    impure_import_problems,
    impure_call_problems,
    init_problems,
    size_problems,
    todo_problems,
]


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    return read_modules()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_source_has_no(check: Callable[[Module], Iterator[Problem]], modules: list[Module]) -> None:
    problems = [str(problem) for module in modules for problem in check(module)]
    assert not problems, "\n" + "\n".join(problems)


@pytest.mark.parametrize("is_beside", [False, True], ids=["evenmatch", "beside"])
def test_modules_import_each_other_in_no_circle(is_beside: bool, modules: list[Module]) -> None:
    sources = [
        sizes.Source(each.name, each.path, each.text, each.tree)
        for each in modules
        if each.is_beside is is_beside
    ]
    assert len(sources) > 60
    offered = {} if is_beside else sizes.public_modules(ROOT)
    assert sizes.circles(sizes.imports(sources, offered)) == []


# Words that are kinds, and what they mean elsewhere.
WORDS_BESIDE = {
    "spread": "cli/solve.py model/world.py lab/solve/solve.py "
    "demo/ledger.py demo/run.py demo/view.py",
    "imbalance": "cli/theory_text.py",
    "same": "cli/replay.py",
    "latency": "model/ticket.py rules/flexmatch/rule_reader.py rules/flexmatch/rule_set.py",
}


def test_a_kind_is_named_by_its_module_the_registry_and_the_public_scripts(
    modules: list[Module],
) -> None:
    src = ROOT / "src" / "evenmatch"
    sources = [
        sizes.Source(each.name, each.path, each.text, each.tree)
        for each in modules
        if not each.is_beside
    ]
    for kind, files in sizes.naming(sizes.kinds_of(ROOT), sources).items():
        found = {str(Path(ROOT, each).relative_to(src)) for each in files}
        assert "criteria/registry.py" in found
        found -= {"criteria/registry.py", "testing/scripts.py"}
        found -= set(WORDS_BESIDE.get(kind, "").split())
        # A kind may build on another one.
        assert found, kind
        assert all(each.startswith("criteria/kinds/") for each in found), kind


def test_import_table_has_no_cycle() -> None:
    waiting = {layer: {x.split(".")[0] for x in each.ours} for layer, each in TABLE.items()}
    while waiting:
        free = {layer for layer, needs in waiting.items() if not needs & waiting.keys()}
        assert free, f"these layers import each other: {sorted(waiting)}"
        waiting = {layer: needs for layer, needs in waiting.items() if layer not in free}


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("model.a", "import numpy", "model may not import the package numpy"),
        (
            "model.a",
            "from evenmatch.criteria import roles",
            "model may not import evenmatch.criter",
        ),
        ("model.a", "from ..criteria.scales import x", "model may not import evenmatch.criteria"),
        ("model.a", "from evenmatch import Engine", "model may not import evenmatch.engine.engine"),
        ("engine.a", "from evenmatch.policies import registry", "engine may not import"),
        ("engine.a", "import evenmatch.policies.bases", "engine may not import"),
        ("journals.a", "def f():\n    import evenmatch.engine.shard", "journals may not import"),
        ("solvers.a", "from evenmatch.model.ticket import Ticket", "solvers may not import"),
        (
            "server.a",
            "from evenmatch.simulation.metrics import x",
            "server may not import evenmatch.s",
        ),
        ("theory.a", "import evenmatch.criteria.roles", "theory may not import evenmatch.criteria"),
        ("client", "if TYPE_CHECKING:\n    import evenmatch.model", "client may not import"),
        ("stray", "", "'stray' has no row in the import table"),
        ("criteria.a", "from time import monotonic", "criteria is pure and may not import time"),
        ("ratings.a", "import os.path", "ratings is pure and may not import os"),
        ("policies.a", "np.random.rand(3)", "global generator: numpy.random.rand"),
        ("policies.a", "from numpy.random import shuffle", "global generator"),
        ("policies.a", "np.random.default_rng()", "default_rng() needs a seed"),
        ("engine.a", "text = open('x')", "engine is pure and may not call open()"),
        ("engine.a", "# TO" + "DO later", "in the source"),
        ("engine.a", "def f():\n" + "    x = 1\n" * 70, "f has 71"),
        ("engine.a", "x = 1\n" * 601, "this one has 601"),
    ],
)
def test_checks_find(name: str, text: str, rule: str) -> None:
    module = parse(f"evenmatch.{name}", text)
    problems = [str(problem) for check in CHECKS for problem in check(module)]
    assert len(problems) == 1
    assert rule in problems[0]
    assert problems[0].startswith("example.py:")


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("evenmatch.lab.a", "from papers.shared import words", "may not import the package papers"),
        ("evenmatch.lab.a", "import_module('papers.command')", "evenmatch.cli.reproduce alone"),
        ("evenmatch.cli.a", "importlib.util.find_spec('tools')", "evenmatch.cli.reproduce alone"),
        ("papers.xu.a", "from papers.wu import chain", "papers.xu may not import papers.wu.chain"),
        ("papers.shared.a", "import papers.reproduction", "papers.shared may not import papers.r"),
        ("papers.xu.a", "from tools import sizes", "papers.xu may not import tools.sizes"),
        ("papers.stray", "from papers.xu import sides", "papers.stray has no row in the table"),
        ("tools.a", "import networkx", "tools may not import the package networkx"),
        ("papers.wu.a", "x = 1\n" * 601, "this one has 601"),
    ],
)
def test_checks_find_beside_evenmatch(name: str, text: str, rule: str) -> None:
    module = parse(name, text)
    (problem,) = [problem for check in CHECKS for problem in check(module)]
    assert rule in problem.rule


def test_package_beside_evenmatch_that_does_not_say_what_it_holds_is_found() -> None:
    module = parse("papers.new", "", is_package=True)
    (problem,) = init_problems(module)
    assert problem.rule == "a package says what lives in it"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("model.a", "import math\nimport msgspec\nfrom evenmatch.errors import MatchmakingError"),
        ("engine.a", "from evenmatch.policies.base import Policy\nfrom evenmatch import Ticket"),
        ("engine.a", "from evenmatch.policies import base"),
        ("journals.a", "import os, time, sqlite3\nfrom ..engine.records import Record"),
        (
            "policies.a",
            "rng = np.random.Generator(np.random.PCG64(3))\nx = np.random.default_rng(3)",
        ),
        ("policies.a", "def f(rng: np.random.Generator) -> None: ..."),
        ("solvers.kernel", "import os\nimport numba"),
        (
            "cli.a",
            "import rich\nfrom evenmatch.lab import simulate\nfrom evenmatch import __version__",
        ),
        ("simulation.a", "open('x')\nnp.random.rand()"),
    ],
)
def test_checks_allow(name: str, text: str) -> None:
    module = parse(f"evenmatch.{name}", text)
    assert [str(problem) for check in CHECKS for problem in check(module)] == []


def test_init_of_a_subpackage_that_holds_code_is_found() -> None:
    module = parse("evenmatch.model", '"""Imports nothing."""\nx = 1', is_package=True)
    assert [problem.rule for problem in init_problems(module)] == [
        "the __init__ of a subpackage holds its docstring alone"
    ]


@pytest.mark.parametrize(
    "text", ["Values.", "Values. May import numpy.", "Values. Never changes anything."]
)
def test_a_package_that_does_not_say_what_it_imports_is_found(text: str) -> None:
    module = parse("evenmatch.model", f'"""{text}"""', is_package=True)
    assert [problem.rule for problem in init_problems(module)] == [
        "a package says what it may import and what it never does"
    ]


def test_import_loads_nothing_heavy() -> None:
    assert heavy_after("import evenmatch") == []


def test_importing_the_core_loads_nothing_heavy(modules: list[Module]) -> None:
    layers = tuple(f"evenmatch.{layer}." for layer in (*sorted(PURE), "journals", "simulation"))
    names = [each.name for each in modules if each.name.startswith(layers)]
    light = [name for name in names if name not in PURITY_EXEMPT - {"evenmatch.solvers.kernel"}]
    assert len(light) > 200
    imports = f"import importlib\nfor name in {light!r}: importlib.import_module(name)"
    assert heavy_after(imports) == []


def test_help_loads_nothing_heavy() -> None:
    assert heavy_after("from evenmatch.cli.main import main\nrun(main)") == []


def heavy_after(statement: str) -> list[str]:
    """Run a statement in a new interpreter, with --help as argument; return what it loaded."""
    program = (
        "import sys\n"
        "sys.argv = ['evenmatch', '--help']\n"
        "def run(main):\n"
        "    try:\n"
        "        code = main()\n"
        "    except SystemExit as stop:\n"
        "        code = stop.code\n"
        "    assert not code, f'--help ended with {code}'\n"
        f"{statement}\n"
        f"print('loaded:', *[name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].removeprefix("loaded:").split()
