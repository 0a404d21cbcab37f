import subprocess
import sys
from pathlib import Path

import pytest

from evenmatch.solvers import kernel as module
from evenmatch.solvers.kernel import kernel


def sum_of_squares(values):
    total = 0
    for value in values:
        total += value * value
    return total


def test_kernel_computes_what_the_function_does() -> None:
    numpy = pytest.importorskip("numpy")
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


def test_compiled_kernels_are_kept_in_a_folder_of_their_version(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    program = (
        "from evenmatch.solvers.kernel import cache_folder, kernel\n"
        "import tests.unit.solvers.test_kernel as here\n"
        "kernel('int64(int64[::1])')(here.sum_of_squares)\n"
        "print(cache_folder())\n"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(root), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
    )
    folder = Path(done.stdout.strip())
    assert folder.parent == tmp_path / "evenmatch"
    assert folder.name == f"kernels-{module.cache_key()}"
    assert list(folder.rglob("*.nbi"))


def test_no_cache_where_the_folder_cannot_be_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("numba")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    module.cache_folder.cache_clear()
    try:
        assert module.cache_folder() is None
    finally:
        module.cache_folder.cache_clear()
