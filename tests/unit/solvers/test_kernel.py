import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy
import pytest
from numpy.typing import NDArray

from evenmatch.solvers import kernel as module
from evenmatch.solvers.kernel import defer, entry, kernel, record

ROOT = Path(__file__).resolve().parents[3]
SOURCE = Path(module.__file__).parents[2]


def sum_of_squares(values):
    total = 0
    for value in values:
        total += value * value
    return total


def test_kernel_computes_what_the_function_does() -> None:
    values = numpy.arange(10, dtype=numpy.int64)
    assert kernel("int64(int64[::1])")(sum_of_squares)(values) == sum_of_squares(values) == 285


def test_kernel_is_the_plain_function_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HAS_NUMBA", False)
    assert kernel("int64(int64[::1])")(sum_of_squares) is sum_of_squares


def test_kernel_leaves_numbas_own_cache_folder_alone() -> None:
    numba = pytest.importorskip("numba")
    before = numba.config.CACHE_DIR
    kernel("int64(int64[::1])")(sum_of_squares)
    assert before == numba.config.CACHE_DIR


def test_kernel_of_another_signature_is_kept_beside() -> None:
    pytest.importorskip("numba")
    floats = kernel("float64(float64[::1])")(sum_of_squares)
    ints = kernel("int64(int64[::1])")(sum_of_squares)
    assert floats(numpy.array([0.5])) == 0.25
    assert ints(numpy.array([2])) == 4


def run(program: str, cache: Path, **environment: str) -> list[str]:
    """Run a program in a new interpreter with a cache of its own; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={
            "XDG_CACHE_HOME": str(cache),
            "PYTHONPATH": f"{SOURCE}:{ROOT}",
            "PATH": "",
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return done.stdout.splitlines()


KERNELS_OF_TREES = """
from evenmatch.solvers import kernel
compiled = []
kernel.on_compile.append(lambda: compiled.append(1))
import evenmatch.solvers.matching.forest as forest
import numpy
top = forest.top_of(numpy.full((forest.ROWS, 9), 8), 0)
print(len(compiled))
print(top)
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache that a process has compiled the kernels of trees into."""
    pytest.importorskip("numba")
    cache = tmp_path_factory.mktemp("compiled")
    assert run(KERNELS_OF_TREES, cache) == ["1", "8"]
    return cache


@pytest.fixture
def own(compiled: Path, tmp_path: Path) -> Path:
    """Return a copy of that cache."""
    shutil.copytree(compiled, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_kernels_of_a_module_are_compiled_once(own: Path) -> None:
    assert run(KERNELS_OF_TREES, own) == ["0", "8"]
    (folder,) = (own / "evenmatch" / "kernels").iterdir()
    assert folder.name.startswith("matching.forest-")
    assert {path.suffix for path in folder.iterdir()} == {".code", ".parts"}


SAYS_THAT_IT_COMPILES = """
from evenmatch.solvers import kernel
kernel.on_compile.append(lambda: print(kernel.compiling()))
add = kernel.kernel("int64(int64, int64)")(lambda a, b: a + b)
print(add(2, 3))
"""


def test_compiling_says_whether_it_happens_once(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    begins = "evenmatch: compiling solvers for this machine; "
    once = f"{begins}it happens once and may take a minute"
    assert run(SAYS_THAT_IT_COMPILES, tmp_path) == [once, "5"]
    closed = tmp_path / "file"
    closed.touch()
    said, answer = run(SAYS_THAT_IT_COMPILES, closed)
    assert answer == "5"
    assert said == (
        f"{begins}every command that needs them may take a minute longer: compiled kernels cannot "
        f"be kept, since {closed} cannot be written to; name another folder in the environment "
        "variable XDG_CACHE_HOME"
    )


def test_kernels_that_check_indices_are_others(own: Path) -> None:
    assert run(KERNELS_OF_TREES, own, NUMBA_BOUNDSCHECK="1") == ["1", "8"]


def test_damaged_kernel_is_compiled_again(own: Path) -> None:
    for path in own.rglob("top_of-*"):
        path.write_bytes(path.read_bytes()[:100])
    assert run(KERNELS_OF_TREES, own) == ["1", "8"]
    assert run(KERNELS_OF_TREES, own) == ["0", "8"], "it is whole again"


READ_ONLY = """
import os, tempfile
def refuse(*args, **keywords):
    raise PermissionError(13, "Permission denied")
tempfile.mkstemp = tempfile.TemporaryFile = os.mkdir = refuse
"""


def test_cache_that_can_only_be_read_is_read(own: Path) -> None:
    assert run(READ_ONLY + KERNELS_OF_TREES, own) == ["0", "8"]
    for path in own.rglob("top_of-*"):
        path.unlink()
    assert run(READ_ONLY + KERNELS_OF_TREES, own) == ["1", "8"]
    assert list(own.rglob("top_of-*")) == []


def test_nothing_is_kept_where_the_folder_cannot_be_made(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    (tmp_path / "file").write_text("")
    assert run(KERNELS_OF_TREES, tmp_path / "file") == ["1", "8"]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_code_is_not_kept_under_the_key_of_sources_that_changed_since(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    package = tmp_path / "evenmatch"
    shutil.copytree(Path(module.__file__).parents[1], package)
    program = (
        f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import evenmatch.solvers.kernel_keys as keys
assert keys.__file__.startswith({str(tmp_path)!r})
keys.sources().key("matching.forest")
with open({str(package / "solvers" / "matching" / "forest.py")!r}, "a") as file:
    file.write("\\n")
"""
        + KERNELS_OF_TREES
    )
    assert run(program, tmp_path / "cache") == ["1", "8"]
    assert list((tmp_path / "cache").rglob("*.code")) == []


def test_kept_kernels_run_without_the_compiler_until_something_is_compiled(own: Path) -> None:
    calling = """
from evenmatch.solvers.matching.forest import top_of
import numpy, sys
table = numpy.full((29, 9), 8)
top_of(table, 0)
print("numba.np.arrayobj" in sys.modules)
import tests.unit.solvers.test_kernel as here
print(here.calling(top_of)(table))
print("numba.np.arrayobj" in sys.modules)
"""
    assert run(calling, own) == ["False", "9", "True"]


def calling(inner):
    """Compile a kernel that calls another; it is a closure, which is kept nowhere."""

    def outer(table):
        return inner(table, 0) + 1

    return kernel("int64(int64[:,::1])")(outer)


def test_kept_kernel_refuses_arguments_of_other_types(own: Path) -> None:
    wrong = """
from evenmatch.solvers.matching.forest import top_of
import numpy
for table in (numpy.full((29, 9), 8.0), numpy.full(29, 8), numpy.full((9, 29), 8).T):
    try:
        top_of(table, 0)
    except TypeError as error:
        print(str(error)[:22])
print(top_of(numpy.full((29, 9), 8), numpy.int64(0)), top_of(numpy.full((29, 9), 8), True))
"""
    assert run(wrong, own) == ["No matching definition"] * 3 + ["8 8"]


def test_kept_kernel_raises_what_it_raised_when_it_was_compiled(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    program = """
import tests.unit.solvers.test_kernel as here
from evenmatch.solvers.kernel import kernel
refusing = kernel("float64[::1](int64)")(here.refusing)
print(type(refusing.compiled).__name__, refusing(2))
try:
    refusing(-1)
except ValueError as error:
    print(error)
"""
    found = [run(program, tmp_path) for _ in range(2)]
    assert found[0] == ["CPUDispatcher [1. 1.]", "no size is below 0"]
    assert found[1] == ["LoadedKernel [1. 1.]", "no size is below 0"]


def refusing(size):
    if size < 0:
        raise ValueError("no size is below 0")
    return numpy.ones(size)


@record("float64[::1], int64")
class Stretch(NamedTuple):
    values: NDArray[numpy.float64]
    first: int


@kernel("float64(Stretch, float64)")
def stretched(stretch: Stretch, by: float) -> float:
    return float(stretch.values[stretch.first]) * by


def test_kernel_reads_the_fields_of_a_record_by_name() -> None:
    stretch = Stretch(numpy.array([1.0, 3.0]), 1)
    assert stretched(stretch, 2.0) == 6.0
    assert entry(stretched)(stretch, 2.0) == 6.0


def test_entry_of_a_plain_function_is_the_function() -> None:
    assert entry(len) is len


def test_entry_of_a_kernel_that_others_compile_meanwhile_is_the_function() -> None:
    with defer(load_kept=False):

        @kernel("int64(int64)")
        def doubled(a: int) -> int:
            return 2 * a

        assert entry(doubled) is doubled
        assert entry(doubled)(4) == 8
