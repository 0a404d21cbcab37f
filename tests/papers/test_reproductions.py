"""Reproductions: the rows agree with the reference, and what is written can be used."""

import csv
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import numpy as np
import pytest

from evenmatch import simulate
from evenmatch.errors import ConfigError
from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.lab.study.study import mean_and_width
from evenmatch.policies.registry import parse_policy
from papers.report.folder import write_folder
from papers.reproduction import Reproduction, parts_of, reproduce
from papers.schlup import ahead, curves, formulas, groups
from papers.shared import sequences
from papers.shared.estimates import mean_of_ratios, ratio, ratio_of_ratios
from papers.shared.findings import Effort, Findings, Row, Table, Verdict, judged
from papers.shared.sequences import Task, measure
from papers.shared.words import line_of, told_of
from papers.shared.worlds import World, file_name
from tests.extent import extent, more
from tests.papers_kit import PARTS, QUICK, ROW_KEYS, assert_near, here


@pytest.fixture(scope="module")
def curve_findings() -> Findings:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curves, "seeds", lambda effort, **_: range(3))
        ids = ["schlup.figure2", "schlup.figure3"]
        return reproduce("schlup", QUICK, ids, here).findings


def test_figures_split_costs_into_criteria_and_time(curve_findings: Findings) -> None:
    whole = {}
    parts: dict[tuple[object, ...], list[float]] = {}
    for row in curve_findings.rows:
        if "parameter" not in row.params:
            continue
        key = tuple(row.params[name] for name in ("rate", "algorithm", "parameter"))
        assert row.simulated is not None
        if "figure" in row.params:
            parts.setdefault(key, []).append(row.simulated)
        else:
            whole[key] = row.simulated
    assert whole.keys() == parts.keys()
    for key, (criteria, time) in parts.items():
        assert criteria + time == pytest.approx(whole[key])
    assert whole[(10.0, "A_DW", 0)] == whole[(10.0, "A_G", 0)] == whole[(10.0, "A_G", 10)]
    assert whole[(10.0, "A_MQ", 1)] == whole[(10.0, "A_PM", 1)] == whole[(10.0, "A_G", 0)]
    # Formula (2) has the two parts of A_G: 2/3 for the criteria, and 1 / (a wait_max) for time.
    assert parts[(10.0, "A_G", 0)] == pytest.approx([2 / 3, 1 / 50], rel=0.06)


def test_larger_parameter_trades_criteria_for_time(curve_findings: Findings) -> None:
    trades = [row for row in curve_findings.rows if "what" in row.params]
    assert len(trades) == 9
    for row in trades:
        if row.params["rate"] >= 10.0:
            assert row.simulated is not None
            assert row.printed is not None
            assert row.simulated >= row.printed - 1


def test_figures_have_a_line_for_greedy_and_a_plot_of_the_parts(curve_findings: Findings) -> None:
    plots = {plot.name: plot for plot in curve_findings.plots}
    assert plots.keys() == {
        f"{name}{tail}"
        for name in ("figure2-a10", "figure2-a13", "figure3-a1")
        for tail in ("", "-parts")
    }
    lines = {line.name: line for line in plots["figure2-a10"].lines}
    assert lines["A_G"].xs == (0.0, 10.0)
    assert lines["A_DW"].xs[0] == 0.0
    split = {line.name for line in plots["figure2-a10-parts"].lines}
    assert {"A_G, time cost", "A_DW, criteria cost"} <= split


# What is drawn, and what is measured


def test_sequence_is_that_of_the_references_generator() -> None:
    times, values = World(rate=3.0).draw(7)
    rng = np.random.default_rng(7)
    arrivals = np.cumsum(rng.exponential(1, 1000))
    criteria = rng.random((1000, 1))
    assert np.array_equal(times, arrivals / 3.0)
    assert np.array_equal(values, criteria.T)


def test_ramp_by_time_moves_the_same_points() -> None:
    times, values = World(rate=3.0, rates="time").draw(7)
    points, same = World(rate=1.0).draw(7)
    assert times == pytest.approx(np.sqrt(points * (1000 / 3.0) / 3.0))
    assert np.array_equal(values, same)


def test_ramp_by_index_has_intervals_that_shrink_with_the_index() -> None:
    times, _ = World(rate=3.0, rates="index").draw(7)
    steps = np.diff(World(rate=1.0).draw(7)[0])
    rates = 6.0 * (np.arange(1, 1000) + 0.5) / 1000
    assert np.diff(times) == pytest.approx(steps / rates)


@pytest.mark.parametrize("spec", ["price", "greedy", "multi_queue:brackets=4"])
def test_compiled_run_costs_what_the_engine_says(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(rate=3.0, count=200)
    given = (world.queue(), parse_policy(spec), *world.draw(5))
    compiled = sequences.play(*given)
    monkeypatch.setattr(sequences, "why_not", lambda *_: "asked to use the engine")
    engine = sequences.play(*given)
    assert np.array_equal(compiled.tickets, engine.tickets)
    assert compiled.costs == pytest.approx(engine.costs)
    assert np.array_equal(compiled.bots, engine.bots)


def test_smallest_parameters_are_greedy() -> None:
    others = ("periodic:rounds_of=1", "multi_queue:brackets=1", "difference_wait:factor=0")
    task = Task(world=World(rate=3.0, count=300), seed=1, policies=("greedy", *others))
    found = measure(task)
    for other in others:
        assert found.costs[other] == pytest.approx(found.costs["greedy"], abs=1e-9)
        assert found.with_bots[other] == found.with_bots["greedy"]


def test_on_a_clock_waits_count_from_the_arrival() -> None:
    task = Task(world=World(rate=3.0, count=300), seed=1, policies=("greedy",))
    at_once = measure(task)
    on_clock = measure(msgspec.structs.replace(task, tick=0.25))
    # Who plays does not change: the first two. Both wait for the tick, half of it on the mean.
    extra = (on_clock.costs["greedy"] - at_once.costs["greedy"]) * 5.0 / 300
    assert extra == pytest.approx(0.125, abs=3 * 0.25 / np.sqrt(12 * 150))


# Estimates and verdicts


def test_ratio_of_sequences_in_proportion_is_certain() -> None:
    found = ratio([2.0, 4.0, 8.0], [1.0, 2.0, 4.0])
    assert (found.value, found.half_width) == (2.0, 0.0)


def test_ratio_to_a_constant_is_a_mean_with_students_half_width() -> None:
    values = [1.0, 2.0, 4.0, 9.0]
    found = ratio(values, [2.0] * 4)
    mean, width = mean_and_width([value / 2.0 for value in values])
    assert found.value == pytest.approx(mean)
    assert found.half_width == pytest.approx(width)


def test_ratio_of_ratios_knows_what_its_four_have_in_common() -> None:
    chance = [1.0, 2.0, 4.0]
    twice = ([6.0 * x for x in chance], chance)
    found = ratio_of_ratios(twice, ([3.0 * x for x in chance], chance))
    assert (found.value, found.half_width, found.runs) == (2.0, pytest.approx(0.0), 3)


def test_ratio_of_ratios_to_constants_scatters_like_a_ratio() -> None:
    values = [1.0, 2.0, 4.0, 9.0]
    found = ratio_of_ratios((values, [2.0] * 4), ([5.0] * 4, [1.0] * 4))
    alone = ratio(values, [10.0] * 4)
    assert found.value == pytest.approx(alone.value)
    assert found.half_width == pytest.approx(alone.half_width)
    # The same chance below instead of above scatters as much, relative to its value.
    below = ratio_of_ratios(([5.0] * 4, [1.0] * 4), (values, [2.0] * 4))
    assert below.half_width / below.value == pytest.approx(alone.half_width / alone.value)


def test_first_half_of_matches_is_the_earlier_one() -> None:
    task = Task(world=World(rate=3.0, count=300), seed=1, policies=("greedy",))
    found = measure(task)
    played = sequences.play(task.world.queue(), parse_policy("greedy"), *task.world.draw(1))
    middle = np.median(played.at)
    assert found.early["greedy"] == pytest.approx(played.costs[played.at < middle].sum())


def test_mean_of_ratios_knows_that_settings_share_their_chance() -> None:
    up, down = [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]
    found = mean_of_ratios([(up, [1.0] * 3), (down, [1.0] * 3)])
    assert found.value == 2.0
    assert found.half_width == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("printed", "truth", "options", "verdict"),
    [
        (1.0, 1.01, {"half_width": 0.02}, "holds"),
        (1.0, 1.01, {"slack": 0.02}, "holds"),
        (1.0, 1.01, {}, "differs"),
        (1.0, 2.0, {"corrected": 2.0}, "wrong in print"),
        (1.0, 2.0, {"corrected": 3.0}, "differs"),
        (2.0, 2.01, {"corrected": 2.005, "half_width": 0.1}, "wrong in print"),
    ],
)
def test_verdict(printed: float, truth: float, options: dict[str, float], verdict: str) -> None:
    assert judged(printed, truth=truth, **options) == verdict


@pytest.fixture(scope="module")
def formula_rows() -> list[Row]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formulas, "seeds", lambda effort, **_: range(effort.seed, effort.seed + 4))
        ids = [f"schlup.{number}" for number in range(2, 10)]
        return list(reproduce("schlup", QUICK, ids, here).findings.rows)


@pytest.mark.parametrize("number", [2, 3, 5])
def test_formula_equals_long_runs(formula_rows: list[Row], number: int) -> None:
    for row in formula_rows:
        if row.id == f"schlup.{number}":
            truth = row.exact if row.exact is not None else row.printed
            assert row.simulated is not None
            assert row.half_width is not None
            # Twice the half-width; and where no match had a bot, one in 10,000.
            assert row.simulated == pytest.approx(truth, abs=2.0 * row.half_width + 1e-4)


@pytest.mark.parametrize(
    ("number", "verdicts"),
    [
        (2, {"holds", "holds if"}),
        (3, {"wrong in print"}),
        (4, {"wrong in print"}),
        (5, {"holds"}),
        (6, {"holds"}),
        (7, {"holds", "wrong in print"}),
        (8, {"wrong in print"}),
        (9, {"holds"}),
    ],
)
def test_verdicts_of_the_formulas(formula_rows: list[Row], number: int, verdicts: set[str]) -> None:
    assert {row.verdict for row in formula_rows if row.id == f"schlup.{number}"} == verdicts


def test_several_criteria_are_where_formula_7_fails(formula_rows: list[Row]) -> None:
    for row in formula_rows:
        if row.id == "schlup.7":
            assert (row.verdict == "holds") == (row.params["criteria"] == 1)


KNOWN_AHEAD = {0.0: 1.339, 0.02: 1.302, 0.05: 1.259, 0.1: 1.213, 0.2: 1.158, 0.4: 1.096}
KNOWN_AHEAD |= {0.8: 1.044}


@pytest.mark.long
def test_more_announced_costs_less_and_as_much_as_in_the_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead, "seeds", lambda *_, **__: range(1))
    rows = reproduce("schlup", QUICK, ["schlup.lookahead"], here).findings.rows
    found = {row.params["horizon"]: row.simulated or 0.0 for row in rows}
    assert list(found.values()) == sorted(found.values(), reverse=True)
    # One short sequence in each setting: the scatter of the mean is about .03.
    assert found == {share: pytest.approx(cost, abs=0.09) for share, cost in KNOWN_AHEAD.items()}


@pytest.mark.long
def test_longer_ticks_cost_more_and_planning_whole_ticks_costs_about_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead, "seeds", lambda *_, **__: range(1))
    rows = reproduce("schlup", QUICK, ["schlup.ticks"], here).findings.rows
    paired, planned = ([row.simulated or 0.0 for row in rows[at : at + 5]] for at in (0, 5))
    assert paired == sorted(paired)
    assert planned[0] < planned[3] < planned[4]
    # Planning gains nothing on pairing together any more: more than a tick is not known ahead.
    assert paired[0] < planned[0]
    assert paired[-1] == pytest.approx(planned[-1], abs=0.03)
    assert paired == pytest.approx([1.352, 1.379, 1.396, 1.485, 1.624], abs=0.09)
    assert planned == pytest.approx([1.347, 1.370, 1.394, 1.473, 1.603], abs=0.09)


GROUPS = {  # k, D, a: greedy, the best multi_queue, its brackets
    (10, 3, 10.0): (9.081, 9.081, 1),
    (10, 3, 30.0): (8.483, 6.601, 2),
    (10, 3, 100.0): (8.274, 4.953, 2),
    (4, 1, 10.0): (2.529, 1.088, 4),
    (4, 2, 30.0): (2.439, 1.173, 3),
}


@more
def test_more_than_two_players_cost_what_the_reference_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = list(enumerate(GROUPS.items()))[:: extent(3, 1)]
    monkeypatch.setattr(groups, "WORLDS", tuple(groups.WORLDS[at] for at, _ in chosen))
    found = reproduce("schlup", QUICK, ["schlup.groups", "schlup.table1"], here).findings.rows
    of_groups = [row for row in found if row.id == "schlup.groups"]
    costs = [row for row in of_groups if "figure" not in row.params]
    criteria, time = (
        {(str(row.params | {"figure": None})): row.simulated for row in of_groups
         if row.params.get("figure") == part}
        for part in PARTS
    )  # fmt: skip
    for row in costs:
        key = str(row.params | {"figure": None})
        assert criteria[key] + time[key] == pytest.approx(row.simulated)
    best = [row for row in found if row.id == "schlup.table1"]
    for at, (_, (setting, (greedy, multi_queue, brackets))) in enumerate(chosen):
        ours = costs[4 * at : 4 * at + 4]
        for row in (*ours, best[at]):
            assert (row.params["k"], row.params["criteria"], row.params["rate"]) == setting
        assert_near(ours[0], greedy)
        assert_near(ours[1], multi_queue)
        assert ours[3].params["policy"] == "group_price"
        assert ours[3].simulated is not None
        assert ours[3].simulated < multi_queue, "group_price is the better policy"
        assert best[at].simulated == brackets
        assert best[at].verdict != "differs"


def test_thread_examples_come_out_as_told() -> None:
    letters = [f"gamedev.{letter}" for letter in "abcdef"]
    rows = reproduce("gamedev", QUICK, letters, here).findings.rows
    assert {row.id for row in rows} == set(letters)
    assert {row.verdict for row in rows} == {"holds"}


def test_chance_at_500_points_is_wrong_in_print() -> None:
    rows = reproduce("gamedev", QUICK, ["gamedev.chance"], here).findings.rows
    assert [round(row.exact or 0.0, 4) for row in rows] == [0.0532, 603.8602]
    assert {row.verdict for row in rows} == {"wrong in print"}


# What is written


def small() -> Reproduction:
    """Return a reproduction of nothing in particular."""
    world = World(rate=3.0, count=50)
    name = file_name(world.name, "greedy")
    line = PlotLine("A_G", (1.0, 2.0), (0.5, 0.25), (0.01, 0.02))
    theory = PlotLine("A_G, formula", (1.0, 2.0), (0.5, 0.25), is_theory=True)
    row = Row(
        id="schlup.2",
        params={"k": 2, "policy": "<greedy>"},
        printed=0.5,
        simulated=0.51,
        half_width=0.02,
        verdict="holds",
        scenario=name,
        command="evenmatch reproduce schlup",
    )
    plot = Plot("figure2", "Figure 2", "What is seen.", "parameter", "cost", (line, theory))
    table = Table("Formulas", "Costs.", ("row", "printed"), (("(2)", "0.5"),))
    findings = Findings((row,), (table,), (plot,), {name: world.toml("greedy", 1)})
    return Reproduction("schlup", QUICK, findings)


def test_folder_holds_page_rows_figures_and_scenarios_that_run(tmp_path: Path) -> None:
    write_folder(tmp_path / "out", small(), "evenmatch reproduce schlup")
    out = tmp_path / "out"
    files = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert files == {
        "report.html",
        "rows.csv",
        "rows.json",
        "figures.csv",
        "figures/figure2.svg",
        "figures/figure2.csv",
        "scenarios/c3-greedy.toml",
    }
    assert simulate(out / "scenarios" / "c3-greedy.toml").summary["tickets"] == 50
    assert ET.parse(out / "figures" / "figure2.svg").getroot().tag.endswith("svg")
    with (out / "figures" / "figure2.csv").open() as file:
        points = list(csv.reader(file))
    assert points[:2] == [
        ["line", "parameter", "cost", "half_width"],
        ["A_G", "1.0", "0.5", "0.01"],
    ]
    assert len(points) == 5
    with (out / "rows.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert list(row) == ROW_KEYS
    assert (row["simulated"], row["exact"]) == ("0.51", "")
    assert json.loads((out / "rows.json").read_text()) == small().as_json()


def test_page_needs_no_network_and_escapes_what_it_shows(tmp_path: Path) -> None:
    write_folder(tmp_path, small(), "evenmatch reproduce schlup")
    page = (tmp_path / "report.html").read_text()
    assert "<svg" in page
    assert "0.5100 ± 0.0200" in page
    assert "1 statement holds." in page
    assert "&lt;greedy&gt;" in page
    assert "<greedy>" not in page
    assert "src=" not in page
    assert "@import" not in page
    assert "http" not in page


def test_page_opens_with_what_was_confirmed_and_its_picture(tmp_path: Path) -> None:
    done = small()
    plots = (msgspec.structs.replace(done.findings.plots[0], name="figure2-a10"),)
    findings = msgspec.structs.replace(done.findings, plots=plots)
    write_folder(tmp_path, msgspec.structs.replace(done, findings=findings), "")
    page = (tmp_path / "report.html").read_text()
    opening = page[page.index('<div class="opening">') : page.index("Statement by statement")]
    assert "<h2>Confirmed</h2>" in opening
    assert opening.count("<svg") == page.count("<svg") == 1, "a picture is shown once"
    assert "<h2>Mended</h2>" not in opening, "there is nothing of the kind"


def test_page_has_words_at_the_left_and_numbers_at_the_right(tmp_path: Path) -> None:
    write_folder(tmp_path, small(), "")
    page = (tmp_path / "report.html").read_text()
    for cell in ("row", "setting", "verdict"):
        assert f'<th class="text">{cell}</th>' in page
    assert "<th>simulated</th>" in page
    assert '<th scope="row" class="text">schlup.2</th>' in page
    assert "<td>0.5100 ± 0.0200</td>" in page
    assert '<td class="text">holds</td>' in page


def test_setting_is_told_in_words_and_a_long_list_keeps_what_comes_after_it() -> None:
    steps = "+".join(f"{10 * n}-{n}" for n in range(1, 31))
    policy = f"window:limit=1,steps={steps},accept=either"
    row = Row(id="gamedev.b", params={"policy": policy, "what": "1 meets 2", "share": 0.5})
    setting = "policy window:limit=1,steps=10-1+20-2+...+300-30,accept=either, 1 meets 2, share 0.5"
    assert line_of(row)[1] == setting


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ({}, "Nothing of it is printed."),
        ({"differs": 1}, "1 statement differs."),
        (
            {"wrong in print": 2, "holds": 4, "holds if": 1, "unresolved": 1},
            "4 statements hold, 1 holds under a condition, 2 are wrong in print, 1 is unresolved.",
        ),
    ],
)
def test_verdicts_are_counted_in_a_sentence(counts: dict[Verdict, int], sentence: str) -> None:
    verdicts = [each for each, count in counts.items() for _ in range(count)]
    assert told_of([*verdicts, None]) == sentence


def test_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "figures").write_text("in the way")
    with pytest.raises(ConfigError, match=r"--out: .* cannot be written"):
        write_folder(tmp_path, small(), "")


def test_scenarios_of_the_thread_read_the_files_beside_them(tmp_path: Path) -> None:
    done = reproduce("gamedev", QUICK, ["gamedev.b", "gamedev.f"], here)
    write_folder(tmp_path, done, "")
    for row in done.findings.rows:
        run = simulate(tmp_path / "scenarios" / str(row.scenario))
        met = [match["at"] for match in run.matches]
        assert met == ([row.simulated] if row.exact else met)


# What is asked for


def test_parts_without_the_wanted_rows_are_left_out() -> None:
    (part,) = parts_of("schlup", QUICK, ["schlup.ticks"])
    assert part.ids == ("schlup.ticks",)


def test_full_effort_is_two_hundred_sequences() -> None:
    (part,) = parts_of("schlup", Effort(quick=False, seed=5), ["schlup.table3"])
    seeds = {task.seed for task in part.tasks if isinstance(task, Task)}
    assert seeds == set(range(5, 205))
