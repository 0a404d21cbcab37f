import json
import math
from typing import Any

import numpy as np
import pytest

from evenmatch.cli import theory as command
from evenmatch.cli.theory import compute
from evenmatch.cli.theory_text import lines, words_of

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
        "mean     grows for ever  mean wait per player, s",
        "p50      1.25            median wait, s",
        "note     the limit solo_rate -> 0 is another number",
        "exact:  the same as fractions",
        "  mean  3/2",
        "margins:  what is left of each condition of stability, per second",
        "  set=a, b  margin=0.1",
        "  set=c  margin=undefined",
        "pi       0.5, undefined",
    ]


def test_long_lists_take_a_line_per_entry_and_are_cut_at_a_dozen() -> None:
    assert list(lines({"pi": [0.125] * 40, "none": []})) == [
        "pi:",
        *["  0.125"] * 12,
        "  and 28 more; --json has them all",
        "none  none",
    ]


def test_a_stable_queue_has_no_growth_to_read_of() -> None:
    found = compute("sides", ["a=0.3", "b=0.3", "flexible=0.4"])
    assert {"kind", "growth", "starved"} <= found.keys()
    texts = list(lines(found))
    assert not any(text.startswith(("kind", "growth", "starved")) for text in texts)
    assert not any("undefined" in text or " none" in text for text in texts)


@pytest.mark.parametrize(("a", "kind", "growth"), [(0.6, "transient", "0.2"), (0.5, "null", "0 ")])
def test_waits_of_the_starved_grow_and_nothing_is_said_of_the_others(
    a: float, kind: str, growth: str
) -> None:
    found = compute("sides", [f"a={a}", "b=0.3", "flexible=0.1" if a > 0.5 else "flexible=0.2"])
    texts = list(lines(found))
    growing = [text.split()[0] for text in texts if "grows for ever  mean wait" in text]
    assert growing == ["mean", "mean_a"]
    assert any(text.startswith("kind") and f"  {kind}" in text for text in texts)
    assert any(text.startswith("growth") and f"  {growth}" in text for text in texts)
    assert not any(text.startswith(("mean_b", "mean_flexible", "p0", "exact")) for text in texts)


def test_what_does_not_come_has_no_wait() -> None:
    texts = list(lines(compute("two_v_two", ["solo_rate=0", "party_rate=1"])))
    assert not any(text.startswith(("mean_solo", "var_solo")) for text in texts)
    assert any(text.startswith("mean_party") for text in texts)
    assert not any(
        text.startswith("note") for text in lines(compute("team_stability", ["k=2", "rates=1,1"]))
    )


def test_long_mappings_are_cut_but_no_figure_is() -> None:
    figures = {f"figure {i}": i for i in range(14)} | {"classes": {f"c{i}": i for i in range(14)}}
    text = list(lines(figures))
    assert [line.split()[1] for line in text[:14]] == [str(i) for i in range(14)]
    assert text[14:] == [
        "classes:",
        *(f"  c{i:<2}  {i}" for i in range(12)),
        "  and 2 more; --json has them all",
    ]


def test_a_word_of_a_formula_goes_before_the_common_one() -> None:
    assert words_of("wu")["greedy_cost"] != words_of("schlup")["greedy_cost"]
    assert words_of("wu")["mean"] == words_of("nobody")["mean"]
    assert list(lines({"share": 0.1}, words=words_of("zone_cuts"))) == ["share  0.1"]


def test_a_class_may_be_called_like_a_figure() -> None:
    assert list(lines({"means": {"growth": None, "note": None}}))[1:] == [
        "  growth  undefined",
        "  note    undefined",
    ]
