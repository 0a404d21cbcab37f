import json
import math
from typing import Any

import numpy as np
import pytest

from evenmatch.cli import theory as command
from evenmatch.cli.theory_text import lines

FIGURES = {
    "stable": False,
    "mean": math.inf,
    "p50": np.float64(1.25),
    "note": "the limit solo_rate -> 0 is another number",
    "exact": {"mean": "3/2"},
    "margins": [{"set": ["a", "b"], "margin": 0.1}, {"set": ["c"], "margin": -math.inf}],
    "pi": (0.5, math.nan),
}


class Answer:
    def figures(self) -> dict[str, Any]:
        return FIGURES


def answer() -> Answer:
    return Answer()


def test_figures_of_a_result_are_printed_as_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(command.FORMULAS, "answer", f"{__name__}:answer")
    command.theory("answer", as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found == {
        **FIGURES,
        "mean": None,
        "margins": [{"set": ["a", "b"], "margin": 0.1}, {"set": ["c"], "margin": None}],
        "pi": [0.5, None],
    }


def test_people_read_nested_figures_as_indented_blocks() -> None:
    plain = command._plain(FIGURES)
    assert list(lines(plain)) == [
        "stable   no              whether waits stay finite for ever",
        "mean     undefined       mean wait per player, s",
        "p50      1.25            median wait, s",
        "note     the limit solo_rate -> 0 is another number",
        "exact:  the same as fractions",
        "  mean  3/2",
        "margins:  what is left of each condition of stability, per second",
        "  set=a, b  margin=0.1",
        "  set=c  margin=undefined",
        "pi       0.5, undefined",
    ]


def test_long_lists_take_a_line_per_entry() -> None:
    assert list(lines({"pi": [0.125] * 40, "none": []})) == [
        "pi:",
        *["  0.125"] * 40,
        "none  none",
    ]
