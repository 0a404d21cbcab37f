"""The page of `--report`: complete, self-contained, and the same for the same run."""

import importlib.util
import re
from html.parser import HTMLParser

import msgspec
import numpy as np
import pytest

from evenmatch import simulate
from evenmatch.errors import NotSupported
from evenmatch.lab.report.figures import figure, figure_text, figures_of, with_width
from evenmatch.lab.report.plots import (
    Series,
    axis_end,
    matched_curve,
    plot_waits,
    pool_over_time,
    time_unit,
)
from evenmatch.lab.report.report import render
from evenmatch.lab.simulate import Run
from evenmatch.lab.study.study import RepeatedRuns, averages
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Queue, Rule, Scale
from evenmatch.model.scenario import Arrivals, Exponential, Scenario, Uniform
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import History

RATING = {"rating": Uniform(min=0.0, max=1.0)}


def run(policy: str | None = None, *, count: int = 60, scale: str = "linear", by: str = "") -> Run:
    queue = Queue(criteria=(Criterion("spread", "rating", scale=Scale(kind=scale)),), wait_max=3.0)
    world = Scenario((queue,), Arrivals(rate=2.0, count=count, attributes=RATING))
    return simulate(world, policy=policy, by=[by] if by else [])


class Page(HTMLParser):
    """Collects what a page would load, and its ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.opened: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset", "data") and value:
                self.loads.append(value)
            if name == "id" and value:
                self.ids.append(value)


def test_page_of_one_run_has_every_plot_and_loads_nothing() -> None:
    found = run(by="rating_decile")
    html = render("duel.toml", [""], [(found.summary, found)])
    page = Page(html)
    assert page.opened.count("svg") == 3
    assert all(load.startswith("#") for load in page.loads)
    assert "http" not in html
    assert {load[1:] for load in page.loads} <= set(page.ids)
    assert "By rating_decile" in html
    assert "How long players waited" in html
    assert "greedy" in html


def test_page_of_several_policies_puts_them_beside_each_other() -> None:
    specs = ["greedy", "window:limit=0.1,rate=1"]
    runs = [run(spec) for spec in specs]
    several = {"greedy": [1.0, 1.2, 1.1], "window": [2.0, 2.3, 2.2]}
    repeated = RepeatedRuns(
        lambda key: list(several.values()) if key == "wait.mean" else [[], []], 3
    )
    html = render("<duel>", specs, [(found.summary, found) for found in runs], repeated)
    assert "The policies beside each other" in html
    assert "&lt;duel&gt;" in html
    assert Page(html).opened.count("svg") == 4
    assert html.count('class="best"') == 1
    assert "paired differences over 3 runs" in html


def test_page_of_several_runs_has_half_widths() -> None:
    runs = [run(), run(count=80)]
    html = render("duel", [""], [(averages([found.summary for found in runs]), runs[0])])
    assert "half-widths" in html
    assert "±" in html
    assert "Drawn from the first run." in html


def test_same_run_gives_the_same_page() -> None:
    first, second = run(), run()
    assert render("d", [""], [(first.summary, first)]) == render(
        "d", [""], [(second.summary, second)]
    )


def test_costs_stand_in_where_quality_has_no_scale() -> None:
    specs = ["greedy", "window:limit=0.1,rate=1"]
    runs = [run(spec, scale="none") for spec in specs]
    html = render("duel", specs, [(found.summary, found) for found in runs])
    assert Page(html).opened.count("svg") == 3


def test_page_of_nothing_has_no_plots() -> None:
    empty = simulate(Scenario((Queue(),)), arrivals=[])
    html = render("empty", [""], [(empty.summary, empty)])
    assert "svg" not in Page(html).opened
    assert "NaN" not in re.sub(r"<svg.*?</svg>", "", html, flags=re.DOTALL)


def test_players_without_a_match_are_marked_apart() -> None:
    queue = Queue(rules=(Rule("spread", "rating", 0.001),), wait_max=2.0)
    world = Scenario(
        (queue,),
        Arrivals(rate=2.0, count=60, attributes=RATING, patience=Exponential(mean=3.0)),
        until=20.0,
    )
    found = simulate(world)
    states = {"expired", "cancelled", "unfinished"}
    assert all(found.summary[state] for state in states)
    svg = plot_waits([Series("greedy", "#0072b2", found.history)])
    for state in states:
        assert f"<!-- {state}" in svg


def test_pool_counts_those_who_wait() -> None:
    at, pool = pool_over_time(np.array([0.0, 1.0, 5.0]), np.array([2.0, 4.0, 5.0]))
    assert at.tolist() == [0.0, 1.0, 2.0, 4.0, 5.0]
    assert pool.tolist() == [1, 2, 1, 0, 0]


def test_pool_has_those_who_came_in_the_warm_up_too() -> None:
    world = Scenario((Queue(wait_max=60.0),), Arrivals(process="regular", interval=1.0, count=9))
    found = simulate(msgspec.structs.replace(world, warmup=3.0), policy="rounds:every=10")
    series = Series("rounds", "#0072b2", found.history)
    assert len(series.waits) == found.summary["tickets"] == 7
    assert series.pool_at[:5].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert series.pool[:5].tolist() == [1, 2, 3, 4, 5]


def test_drawn_qualities_are_those_of_the_matches_that_count() -> None:
    queue = Queue(criteria=(Criterion("spread", "rating", scale=Scale()),))
    world = Scenario((queue,), Arrivals(rate=2.0, count=200, attributes=RATING), warmup=30.0)
    found = simulate(world, policy="threshold:quality=0.995")
    # Some matches after the warm-up are of players who came in it.
    assert sum(row["at"] >= 30.0 for row in found.matches) > found.summary["matches"]
    series = Series("threshold", "#0072b2", found.history)
    assert len(series.quality) == len(series.match_at) == found.summary["matches"]
    assert series.quality.mean() == pytest.approx(found.summary["quality"]["mean"])


def test_curve_of_waits_never_goes_back() -> None:
    history = History("main")
    for number, wait in enumerate([0.0] * 299 + [500.0]):
        history.accept(str(number), NewTicket((Player(str(number)),)), 0.0)
        history.match(Match("m", "main", wait, (str(number),), ((str(number),),), ((),)))
    series = Series("greedy", "#0072b2", history)
    end = axis_end(series)
    assert end < 500.0
    waits, shares = matched_curve(series, end)
    assert waits.tolist() == sorted(waits)
    assert shares[waits <= end][-1] == pytest.approx(299 / 300)
    assert matched_curve(series, 600.0)[0][-1] == 600.0


@pytest.mark.parametrize(
    ("span", "unit"), [(100.0, "seconds"), (200.0, "minutes"), (2e4, "hours"), (1e6, "days")]
)
def test_time_has_the_unit_in_which_people_read_it(span: float, unit: str) -> None:
    assert time_unit(span)[0] == unit


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = run()
    with pytest.raises(NotSupported, match=r"pip install 'evenmatch\[report\]'"):
        render("duel", [""], [(found.summary, found)])


@pytest.mark.parametrize("count", [0, 1])
def test_policies_without_a_match_are_not_drawn_beside_each_other(count: int) -> None:
    world = Scenario((Queue(),), Arrivals(process="regular", interval=1.0, count=1))
    arrivals = [Arrival(1.0, NewTicket((Player("ada", Rating(1500.0)),)))] * count
    runs = [simulate(world, policy=policy, arrivals=arrivals) for policy in ("greedy", "window")]
    html = render("duel", ["greedy", "window"], [(each.summary, each) for each in runs])
    assert "The policies beside each other" not in html
    assert "All figures" in html


def test_what_is_measured_by_the_best_possible_names_all_costs() -> None:
    found = {"ratio": 2.0, "gap": 11.7627, "quality": {}}
    shown = {
        key: (words, with_width(found, key, unit)) for key, words, unit, _ in figures_of([found])
    }
    assert shown["gap"] == ("all costs, above that bound", "1,176.3 %")
    assert shown["ratio"] == ("all costs, times the best possible", "2")


def test_figures_read_well() -> None:
    assert [figure_text(value) for value in (0.0, 12345.0, 12345.67, 0.00012346, None)] == [
        *("0", "12,345", "12,345.7", "0.0001235", "-")
    ]
    assert with_width({"a": 3.14159, "ci95": {"a": 0.0}}, "a", "s") == "3.142 s"
    assert with_width({"a": 0.25, "ci95": {"a": 0.02}}, "a", "%") == "25.0 ± 2.0 %"
    gaps = {"gaps": {"v1.2: gap": {"mean": 3.0, "p95": 5.0}}, "quality": {}}
    assert [(words, figure(gaps, key)) for key, words, *_ in figures_of([gaps])][-2:] == [
        ("v1.2: gap", 3.0),
        ("v1.2: gap, 95 % below", 5.0),
    ]


def test_axis_of_waits_reaches_the_players_without_a_match() -> None:
    queue = Queue(wait_max=120.0, policy="greedy")
    world = Scenario((queue,), Arrivals(process="regular", interval=1.0, count=301))
    found = simulate(world)
    assert found.summary["expired"] == 1
    assert axis_end(Series("greedy", "#0072b2", found.history)) == 120.0
