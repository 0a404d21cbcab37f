"""The figures that a restructuring is judged by, on a checkout of a few lines."""

import json
from pathlib import Path

import pytest

from tools import sizes

FILES = {
    "src/evenmatch/__init__.py": """
        from evenmatch.model.queue import Queue as Queue
        __all__ = ["Queue"]
        """,
    "src/evenmatch/testing/__init__.py": "__all__ = []",
    "src/evenmatch/empty/__init__.py": "'''Nothing yet.'''",
    "src/evenmatch/model/queue.py": """
        '''What waits.

        And why.
        '''
        import math

        # How long.
        LONG = 60.0
        '''Seconds.'''


        class Queue:
            '''One queue.'''

            def __init__(self) -> None:
                from evenmatch.criteria import registry as kinds
                self.rows = [
                    kinds,

                    LONG,
                ]
        """,
    "src/evenmatch/criteria/registry.py": """
        from evenmatch import Queue
        from evenmatch.criteria.kinds.same import Same
        KINDS: dict[str, type] = {"same": Same, "pair_limit": PairLimit}
        """,
    "src/evenmatch/criteria/kinds/same.py": """
        class Same:
            same = 1
        class Row: ...
        class Queue: ...
        class _Own: ...
        """,
    "src/evenmatch/criteria/kinds/words.py": """
        class Row: ...
        class _Own: ...
        """,
    "src/evenmatch/demo/world.py": "x = 1",
    "papers/xu.py": "def play(pair_limit): return 'same'",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = text.strip("\n").splitlines()
        path.write_text(
            "\n".join(line.removeprefix("        ") for line in lines) + "\n" * bool(text)
        )
    return tmp_path


def test_modules_that_hold_something_are_counted_with_their_lines_of_code(checkout: Path) -> None:
    found = sizes.sizes_of(checkout)
    of_queue = 7
    assert sizes.size_of(sizes.read(checkout, Path("src/evenmatch/model"), Path("src"))) == (
        1,
        of_queue,
    )
    assert found.wheel == (7, 1 + 1 + of_queue + 1 + 5 + 2 + 1)
    assert found.apart == {"papers": (1, 1), "demo": (1, 1), "tools": (0, 0)}


def test_circles_of_imports_are_found_also_by_public_names_and_in_functions(checkout: Path) -> None:
    found = sizes.sizes_of(checkout).circles
    assert found == [["evenmatch.criteria.registry", "evenmatch.model.queue"]]


def test_class_names_for_several_things_are_found(checkout: Path) -> None:
    found = sizes.sizes_of(checkout)
    assert found.names == {
        "Queue": ["evenmatch.criteria.kinds.same", "evenmatch.model.queue"],
        "Row": ["evenmatch.criteria.kinds.same", "evenmatch.criteria.kinds.words"],
    }
    assert list(found.public_names) == ["Queue"]


def test_files_that_name_a_kind_are_found(checkout: Path) -> None:
    kinds, paper = "src/evenmatch/criteria/registry.py", "papers/xu.py"
    same = "src/evenmatch/criteria/kinds/same.py"
    # The plain word `same` as a name is no sign of the kind.
    assert sizes.sizes_of(checkout).kinds == {
        "same": [same, kinds, paper],
        "pair_limit": [kinds, paper],
    }


def test_figures_are_printed_for_people_and_programs(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sizes.main([str(checkout)]) == 0
    told = capsys.readouterr().out
    assert "import circles: 1\n  evenmatch.criteria.registry, evenmatch.model.queue\n" in told
    assert "  pair_limit: 1 + 1\n" in told
    assert sizes.main([str(checkout), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["wheel"]["modules"] == 7


def test_folder_without_the_source_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sizes.main([str(tmp_path)]) == 2
    assert "has no src/evenmatch" in capsys.readouterr().err
