from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest

from evenmatch.cli.theory_settings import BYTES_MAX, LIST_MAX, read_settings
from evenmatch.errors import ConfigError


def skills(
    *,
    types: tuple[float, ...],
    probs: tuple[float, ...] | Literal["uniform"] = "uniform",
    order: Literal["fifo", "lifo"] = "fifo",
    cap: int | None = None,
) -> None:
    raise NotImplementedError


def graph(*, rates: Mapping[str, float], limit: int = 25) -> None:
    raise NotImplementedError


def from_path(*, file: Path) -> None:
    raise NotImplementedError


def test_lists_choices_and_numbers_are_read_by_their_types() -> None:
    read = read_settings(
        "skills", skills, ["types=0,0.5,1", "probs=.2,.3,.5", "order=lifo", "cap=7"]
    )
    assert read == {"types": (0, 0.5, 1), "probs": (0.2, 0.3, 0.5), "order": "lifo", "cap": 7}
    assert isinstance(read["cap"], int)
    assert read_settings("skills", skills, ["types=3", "probs=uniform"]) == {
        "types": (3.0,),
        "probs": "uniform",
    }


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["types=0,x,1"], "skills: types must be numbers joined by commas, as 1,2,0.5, got 'x'"),
        (["types=0,,1"], "numbers joined by commas, as 1,2,0.5, got ''"),
        (["types=nan"], "numbers joined by commas, as 1,2,0.5, got 'nan'"),
        (["types=" + "1," * LIST_MAX + "1"], "types must be at most 10,000 numbers, got 10,001"),
        (["types=1", "probs=even"], "probs must be uniform, or numbers joined by commas"),
        (["types=1", "order=best"], "order must be one of fifo, lifo, got 'best'"),
        (["types=1", "cap=2.5"], "cap must be a whole number, got '2.5'"),
        (["types=1", "cap=1e300"], "cap must have at most 15 digits, got '1e300'"),
        (["order=lifo"], "types must be given, as key=value"),
        (["file=x.json"], "key file is unknown, allowed are types, probs, order, cap"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(settings: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_settings("skills", skills, settings)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_parameters_that_no_text_can_give_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text('{"rates": {"x": 0.5, "y": 1}}', encoding="utf-8")
    assert read_settings("graph", graph, [f"file={path}"]) == {"rates": {"x": 0.5, "y": 1}}
    assert read_settings("graph", graph, ["limit=3", f"file={path}"])["limit"] == 3
    assert read_settings("from_path", from_path, [f"file={path}"]) == {"file": path}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "must be JSON: "),
        ("[" * 100_000, "must be JSON: "),
        ('{"rates": NaN}', "must be JSON: NaN is not a JSON number"),
        ('{"rates": {"a": 1, "a": 2}}', "must be JSON: key 'a' is given twice"),
        ("[1, 2]", "must hold one JSON object"),
        ('{"rates": "' + "x" * BYTES_MAX + '"}', "must have at most 1,000,000 bytes"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, text: str | None, sentence: str
) -> None:
    path = tmp_path / "g.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    for formula in (graph, from_path):
        with pytest.raises(ConfigError) as raised:
            read_settings("model", formula, [f"file={path}"])
        assert sentence in str(raised.value)
        assert "g.json" in str(raised.value)


def test_keys_of_a_file_are_read_like_those_of_the_line(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"rates": {"x": 0.5}, "limit": 1e1}', encoding="utf-8")
    read = read_settings("graph", graph, [f"file={path}"])
    assert read == {"rates": {"x": 0.5}, "limit": 10}
    assert isinstance(read["limit"], int)


@pytest.mark.parametrize(
    ("text", "settings", "sentence"),
    [
        ('{"rate": 1}', [], "g.json: key rate is unknown, allowed are rates, limit"),
        ('{"limit": 3}', ["limit=2"], "key limit is given twice, in "),
        ('{"limit": 3}', [], "rates must be given, as keys of file=F.json"),
        ("{}", ["rates=3"], "key rates is unknown, allowed are file, limit"),
        ('{"limit": "many"}', [], "g.json: limit must be a number, got 'many'"),
        ('{"limit": true}', [], "g.json: limit must be a number, got 'true'"),
        ('{"limit": null}', [], "g.json: limit must be a number, got 'null'"),
        ('{"limit": 2.5}', [], "g.json: limit must be a whole number, got '2.5'"),
    ],
)
def test_keys_of_a_file_are_checked_like_those_of_the_line(
    tmp_path: Path, text: str, settings: list[str], sentence: str
) -> None:
    path = tmp_path / "g.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        read_settings("graph", graph, [f"file={path}", *settings])
    assert sentence in str(raised.value)
